package system

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLRU compares with a list of keys and of those that were used.
func TestLRU(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	l := newLRU[int](5)
	var queue []int
	used := map[int]bool{}
	for i := range 5000 {
		key := r.IntN(12)
		at := slices.Index(queue, key)
		v, ok := l.get(key)
		require.Equal(t, at >= 0, ok, "use %d", i)
		if ok {
			require.Equal(t, 100*key, v)
			used[key] = true
			continue
		}
		for len(queue) == 5 {
			first := queue[0]
			queue = queue[1:]
			if used[first] {
				queue = append(queue, first)
			}
			delete(used, first)
		}
		queue = append(queue, key)
		l.put(key, 100*key)
	}
}
