package lowering_test

import (
	"context"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tile"
)

// TestSymbols lowers every execution of every region of the kernels, and finds the
// commands of two equal that agree in the symbols of their plan.
func TestSymbols(t *testing.T) {
	ctx := context.Background()
	again := 0
	for _, k := range kernels.All() {
		sizes := maps.Clone(k.Small)
		for name, v := range sizes {
			if name != "T" {
				sizes[name] = (v + 15) / 16 * 16
			}
		}
		p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{})
		require.NoError(t, err)
		m := tile.Default()
		m.Array.Rows = 512
		prepared, err := system.Prepare(ctx, p, sizes, system.Options{Machine: m})
		require.NoError(t, err)
		type key struct {
			plan   *lowering.Plan
			values [4]int64
		}
		made := map[key][]lowering.Command{}
		require.NoError(t, p.Each(context.Background(), sizes, func(g *tdfg.Graph, values map[string]int64) error {
			plan := prepared.Plans[g]
			if plan == nil {
				return nil
			}
			at := key{plan: plan}
			symbols := plan.Symbols()
			require.LessOrEqual(t, len(symbols), len(at.values))
			for i, s := range symbols {
				require.Contains(t, values, s)
				at.values[i] = values[s]
			}
			cmds, err := plan.Lower(nil, prepared.Grid, values)
			require.NoError(t, err)
			if old, ok := made[at]; ok {
				require.Equal(t, old, cmds, k.Name)
				again++
			}
			made[at] = cmds
			return nil
		}))
	}
	require.Positive(t, again) // stencils, whose time steps are alike
}
