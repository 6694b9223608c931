package machine

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPages: a permutation of frames and its inverse, another one for each seed, which
// leaves hardly any page beside its neighbour.
func TestPages(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 64, 1000, 4097} {
		p := &Pages{Frames: n, Seed: 5}
		seen := make([]bool, n)
		for page := range n {
			f := p.frame(page)
			require.Less(t, f, n)
			require.False(t, seen[f], "two pages in frame %d of %d", f, n)
			seen[f] = true
			require.Equal(t, page, p.page(f))
		}
		require.Equal(t, n+3, p.frame(n+3))
	}
	rapid.Check(t, func(t *rapid.T) {
		p := &Pages{Frames: rapid.Uint64Range(1, 1<<40).Draw(t, "frames"), Seed: rapid.Uint64().Draw(t, "seed")}
		page := rapid.Uint64Range(0, p.Frames-1).Draw(t, "page")
		require.Less(t, p.frame(page), p.Frames)
		require.Equal(t, page, p.page(p.frame(page)))
	})
	a, b := &Pages{Frames: 1 << 22, Seed: 1}, &Pages{Frames: 1 << 22, Seed: 2}
	near, same := 0, 0
	bits := [22]int{}
	for page := range uint64(4096) {
		if a.frame(page+1) == a.frame(page)+1 {
			near++
		}
		if a.frame(page) == b.frame(page) {
			same++
		}
		for k := range bits {
			bits[k] += int(a.frame(page) >> k & 1)
		}
	}
	require.Less(t, near, 3)
	require.Less(t, same, 3)
	for k, n := range bits {
		require.InDelta(t, 2048, n, 6*32, "bit %d", k)
	}
}
