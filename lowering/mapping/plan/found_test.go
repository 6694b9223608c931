package plan

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// TestFound: networks that share what was searched are planned as each alone.
func TestFound(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"mvm-reram", "pnm-hbm"} {
		p, err := platform.Load(name)
		require.NoError(t, err)
		found := &Found{}
		for _, net := range []*dnn.Network{branching(t), chain(t)} {
			o := Options{Evals: 30, Seed: 1, Threads: 2, Execute: "none", Pipeline: true}
			alone, err := Map(ctx, ctx, net, p, o)
			require.NoError(t, err)
			o.Found = found
			for again := range 2 {
				before := len(found.of)
				with, err := Map(ctx, ctx, net, p, o)
				require.NoError(t, err)
				require.Equal(t, alone.Cycles, with.Cycles)
				require.Equal(t, alone.Baseline, with.Baseline)
				if again > 0 {
					require.Len(t, found.of, before)
				}
				for i := range alone.Layers {
					require.Equal(t, alone.Layers[i].Name, with.Layers[i].Name)
					require.Equal(t, alone.Layers[i].Mapping, with.Layers[i].Mapping)
				}
			}
		}
		require.NotEmpty(t, found.of)
	}
}
