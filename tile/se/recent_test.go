package se

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRecent compares with a plain map that forgets nothing: what is of the last groups of a core is
// the same, and what is left of others does not grow.
func TestRecent(t *testing.T) {
	const cores, streams = 3, 4
	rnd := rand.New(rand.NewPCG(1, 2))
	var r recent[int]
	all := map[key]int{}
	last := [cores]uint32{^uint32(0) - 100, 7, 1 << 30} // the first one wraps around
	for i := range 20000 {
		core := rnd.IntN(cores)
		group := last[core] - rnd.Uint32N(windowGroups-1)
		k := newKey(core, group, rnd.IntN(streams))
		switch rnd.IntN(8) {
		case 0:
			r.remove(k)
			delete(all, k)
		case 1:
			if rnd.IntN(8) == 0 {
				r.forget(core, group)
				for sid := range streams {
					delete(all, newKey(core, group, sid))
				}
			}
		case 2, 3:
			last[core]++
		default:
			r.set(k, i)
			all[k] = i
		}
		k = newKey(core, last[core]-rnd.Uint32N(windowGroups-1), rnd.IntN(streams))
		want, has := all[k]
		got, ok := r.get(k)
		require.Equal(t, has, ok)
		require.Equal(t, want, got)
	}
	require.Greater(t, len(all), 10*cores*windowGroups)
	for core := range r {
		require.LessOrEqual(t, len(r[core].of), 3*windowGroups*streams+windowGroups)
	}
	_, ok := r.get(newKey(cores+1, 0, 0))
	require.False(t, ok)
	r.remove(newKey(cores+1, 0, 0))
	r.forget(cores+1, 0)
}
