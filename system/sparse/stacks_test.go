package sparse

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// TestStacks has the digest of one stack on several, and the time of links by hand.
func TestStacks(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=8,undirected", 2)
	require.NoError(t, err)
	for _, app := range []string{"bfs", "sssp", "pagerank", "cc"} {
		for _, typ := range []Type{U32, F32} {
			o := DefaultAppOptions()
			if app == "pagerank" {
				o.Iterations = 2
			}
			cfg := config(small(1, 3, 2), "v3")
			cfg.Type = typ
			want, err := Run(context.Background(), app, m, o, cfg, nil)
			require.NoError(t, err)
			for _, stacks := range []int{1, 3, 6} {
				res, err := RunStacks(context.Background(), app, m, o, cfg, stacks, nil)
				require.NoError(t, err)
				if want.Type == U32 {
					require.Equal(t, want.Digest, res.Digest, app)
					require.Equal(t, want.Nonzeros, res.Nonzeros, app)
				}
				require.Equal(t, stacks > 1, res.Bytes > 0)
				require.NotZero(t, res.Compared)
			}
		}
	}
	c := &cluster{res: &StacksResult{}}
	sent := make([][]int64, 5)
	for k := range sent {
		sent[k] = make([]int64, 5)
	}
	sent[0][1], sent[2][1], sent[0][4], sent[1][1] = 1e6, 2e6, 3e6, 9e9
	require.InEpsilon(t, 24e6/40e9, c.exchange(sent), 1e-12)
	require.EqualValues(t, 48e6, c.res.Bytes)
	sent[0][4] = 0
	require.InEpsilon(t, 24e6/(60e9*8/9*.8), c.exchange(sent), 1e-12)
	for _, k := range []int{0, 17} {
		_, err := RunStacks(context.Background(), "bfs", m, DefaultAppOptions(), config(small(1, 3, 2), "v3"), k, nil)
		require.ErrorContains(t, err, "expected 1 to 16")
	}
}
