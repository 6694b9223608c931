package sparse

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// TestKendallTau compares with the definition: all pairs.
func TestKendallTau(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "n")
		draw := func(name string) []float64 {
			return rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 9), func(i int) float64 { return float64(i) }), n, n).Draw(t, name)
		}
		x, y := draw("x"), draw("y")
		var sum, nx, ny float64
		sign := func(v float64) float64 {
			switch {
			case v > 0:
				return 1
			case v < 0:
				return -1
			}
			return 0
		}
		for i := range n {
			for j := range i {
				a, b := sign(x[i]-x[j]), sign(y[i]-y[j])
				sum += a * b
				nx += a * a
				ny += b * b
			}
		}
		if nx == 0 || ny == 0 {
			return
		}
		require.InDelta(t, sum/math.Sqrt(nx*ny), KendallTau(x, y), 1e-12)
	})
}

// TestFlips runs with flipped bits: few of them leave most of a result, and the same
// seed flips the same.
func TestFlips(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=9,undirected", 2)
	require.NoError(t, err)
	for _, app := range []string{"bfs", "pagerank", "sssp", "cc"} {
		for _, v := range []string{"v1", "v2", "v3", "hypo"} {
			cfg := config(small(2, 3, 3), v)
			cfg.Instr, cfg.Every = 0, 0
			o := DefaultAppOptions()
			if app == "pagerank" {
				o.Iterations = 2
			}
			d, err := RunFlipped(context.Background(), app, m, o, cfg, 1e-3)
			require.NoError(t, err, app+v)
			require.NotZero(t, d.Rows)
			require.NotZero(t, d.Sent)
			if app != "bfs" && app != "pagerank" {
				continue
			}
			again, err := RunFlipped(context.Background(), app, m, o, cfg, 1e-3)
			require.NoError(t, err)
			require.Equal(t, d.Faulty.Digest, again.Faulty.Digest)
			if app == "pagerank" {
				require.Greater(t, d.Tau, 0.5)
				require.Less(t, d.Tau, 1.0)
			}
		}
	}
	cfg := config(small(2, 3, 3), "v3")
	d, err := RunFlipped(context.Background(), "bfs", m, DefaultAppOptions(), cfg, 1e-9)
	require.NoError(t, err)
	require.Zero(t, d.Rows+d.Sent+d.Wrong+d.Levels)
	require.InDelta(t, 1, d.Tau, 1e-12)
	_, err = RunFlipped(context.Background(), "bfs", m, DefaultAppOptions(), cfg, 2)
	require.ErrorContains(t, err, "expected a share above 0")
}
