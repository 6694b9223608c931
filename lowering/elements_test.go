package lowering_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/lowering"
)

// TestElements holds it against the places of cells, for arrays that are smaller
// than their grid and lie in memory in any order of dimensions.
func TestElements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, bound, shape := drawGrid(t)
		size, step := make([]int64, len(bound)), make([]int64, len(bound))
		n := int64(1)
		for _, d := range rapid.Permutation([]int{0, 1, 2}[:len(bound)]).Draw(t, "order") {
			size[d] = rapid.Int64Range(1, bound[d]).Draw(t, "size")
			step[d] = n
			n *= size[d]
		}
		want := map[place]int64{}
		for p, x := range places(bound, shape) {
			inside, at := true, int64(0)
			for d := range size {
				inside = inside && x[d] < size[d]
				at += x[d] * step[d]
			}
			if inside {
				want[p] = at
			}
		}
		require.Len(t, want, int(n))
		if last := len(size) - 1; last > 0 && size[last] == 1 { // it may be left out
			size, step = size[:last], step[:last]
		}
		e := lowering.NewElements(g, 0, size, step)
		at, mask := make([]int64, g.Bitlines()), make([]uint64, (g.Bitlines()+63)/64)
		for tl := range g.Tiles() {
			any := e.Tile(tl, at, mask)
			found := false
			for b := range at {
				x, ok := want[place{tl, b}]
				found = found || ok
				if any {
					require.Equal(t, ok, mask[b/64]>>(b%64)&1 == 1)
				}
				if ok {
					require.Equal(t, x, at[b])
				}
			}
			require.Equal(t, found, any)
		}
		require.False(t, e.Tile(g.Tiles(), at, mask))
	})
}
