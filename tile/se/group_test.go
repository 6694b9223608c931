package se

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRows goes through rows as nested loops do, and compares what a group says of its iterations:
// addresses, ranges, what the core takes together, and the bytes of rows.
func TestRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		rows, row, lanes := 1+r.Int64N(4), 1+r.Int64N(70), int64(1)<<r.IntN(5)
		g := &Group{N: rows * row, Lanes: lanes, Range: lanes * (1 + r.Int64N(8))}
		if rows > 1 || r.IntN(2) == 0 {
			g.Row = row
		}
		s := Stream{Base: 1 << 20, Stride: []int64{4, -4, 64, 0}[r.IntN(4)], RowStride: r.Int64N(4000) - 2000, Bytes: 4}
		g.Streams = []Stream{s}
		var begins []int64 // of ranges
		i, step := int64(0), int64(0)
		for at := range rows {
			for c := int64(0); c < row; {
				n := int64(1)
				if c+lanes <= row {
					n = lanes
				}
				first, count := g.step(step)
				require.Equal(t, []int64{i, n}, []int64{first, count})
				require.Equal(t, step, g.stepsTo(i))
				for range n {
					if c%g.Range == 0 {
						begins = append(begins, i)
					}
					require.EqualValues(t, int64(s.Base)+at*s.RowStride+c*s.Stride, g.address(0, i))
					require.EqualValues(t, len(begins)-1, g.RangeOf(i))
					require.Equal(t, c%g.Range == 0, g.Begins(i))
					i, c = i+1, c+1
				}
				step++
			}
		}
		require.EqualValues(t, len(begins), g.ranges())
		for k, at := range begins {
			require.Equal(t, at, g.start(int64(k)))
		}
		require.Equal(t, g.N, g.start(g.ranges()))
		require.True(t, g.Begins(g.N))
		from := r.Int64N(g.N)
		to := from + 1 + r.Int64N(g.N-from)
		parts := map[int64]interval{} // by row
		all := interval{1 << 40, 0}
		for k := range g.N {
			x := interval{g.address(0, k), g.address(0, k) + 4}
			all = interval{min(all.low, x.low), max(all.high, x.high)}
			if y, ok := parts[k/row]; ok {
				x = interval{min(x.low, y.low), max(x.high, y.high)}
			}
			if k >= from && k < to {
				parts[k/row] = x
			}
		}
		at := from / row
		require.False(t, g.hulls(0, from, to, func(lo, hi uint64) bool {
			require.Equal(t, parts[at], interval{lo, hi}, "%+v, %d to %d", g, from, to)
			at++
			return false
		}))
		require.Equal(t, (to-1)/row+1, at)
		require.Equal(t, all, g.interval(0))
		for k := range g.N { // elements of one line and range, side by side
			first, end := g.chunk(0, k)
			require.True(t, first <= k && k < end)
			for o := first; o < end; o++ {
				require.Equal(t, g.line(0, k), g.line(0, o))
				require.Equal(t, g.RangeOf(k), g.RangeOf(o))
			}
		}
	}
}
