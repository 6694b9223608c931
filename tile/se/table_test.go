package se

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTable compares a table with a map, while chunks of few streams come and go.
func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		var list table[int]
		want := map[part]int{}
		most := 1 << r.IntN(8)
		for i := range 2000 {
			p := part{newKey(r.IntN(3), uint32(r.IntN(3)), r.IntN(4)-1), int64(r.IntN(most)) * 16}
			_, ok := want[p]
			switch r.IntN(8) {
			case 0, 1, 2:
				list.set(p, i)
				want[p] = i
			case 3, 4, 5:
				v, had := list.take(p)
				require.Equal(t, ok, had)
				require.Equal(t, want[p], v)
				delete(want, p)
			case 6:
				if r.IntN(50) == 0 {
					mine := func(k key) bool { return k == p.key }
					list.forget(mine)
					for q := range want {
						if mine(q.key) {
							delete(want, q)
						}
					}
				}
			}
			require.Equal(t, len(want), list.n)
			v, had := list.get(p)
			w, ok := want[p]
			require.Equal(t, ok, had)
			require.Equal(t, w, v)
		}
		for p, v := range want {
			got, ok := list.get(p)
			require.True(t, ok)
			require.Equal(t, v, got)
		}
	}
}
