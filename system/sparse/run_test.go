package sparse

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

func config(m *Machine, variant string) Config {
	v, err := LookupVariant(variant)
	if err != nil {
		panic(err)
	}
	return Config{Machine: m, Variant: v, Type: F32, Long: -1, Seed: 1, Threads: 1, Check: true, Every: 1, Instr: 1}
}

func TestApps(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=9,edgefactor=8,undirected", 1)
	require.NoError(t, err)
	mach := small(2, 16, 5)
	mach.LongPercent = 1
	for _, app := range Apps() {
		for _, typ := range []Type{F32, U32} {
			digest := ""
			for _, v := range []string{"v0", "v1", "hypo", "v2", "v3"} {
				cfg := config(mach, v)
				cfg.Type = typ
				o := DefaultAppOptions()
				if app.Name == "pagerank" {
					o.Iterations = 2
				}
				o.Queries = 3
				res, err := Run(context.Background(), app.Name, m, o, cfg, nil)
				require.NoError(t, err, app.Name+v)
				t.Log(app.Name, typ, v, res.Cycles, res.Seconds, res.Summary, res.Checked, res.Compared, res.Replayed, res.Pairs, res.MeanRing, res.Digest[:8])
				if res.Type == U32 {
					if digest == "" {
						digest = res.Digest
					}
					require.Equal(t, digest, res.Digest, app.Name+v)
				}
			}
		}
	}
}
