package mem

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/hugepage"
)

// TestTreePLRU compares with the rule written down as a recursion: the victim lies in the
// half, and the half of the half, that was not used last.
func TestTreePLRU(t *testing.T) {
	for _, ways := range []int{1, 2, 8, 16} {
		a := newArray(new(hugepage.Slab), ArraySpec{Bytes: 4 * ways * LineBytes, Ways: ways, Policy: TreePLRU}, 1, 1, 1)
		last := map[[3]int]int{} // of a set, from a way on, so many: the half that was used last
		used := func(set, way int) {
			for from, n := 0, ways; n > 1; n /= 2 {
				half := (way - from) / (n / 2)
				last[[3]int{set, from, n}] = half
				from += half * n / 2
			}
		}
		victim := func(set int) int {
			from := 0
			for n := ways; n > 1; n /= 2 {
				// What nothing was used of points to the left.
				if half, ok := last[[3]int{set, from, n}]; ok && half == 0 {
					from += n / 2
				}
			}
			return from
		}
		r := rand.New(rand.NewPCG(1, uint64(ways)))
		for range 4 * ways * 50 {
			line := Line(r.IntN(4 * ways * 2))
			set := int(line % 4)
			i := a.find(line)
			if i >= 0 {
				a.touch(i)
				used(set, i-set*ways)
				continue
			}
			i = a.victim(line)
			if a.ways[i] != empty {
				require.Equal(t, victim(set), i-set*ways)
			}
			a.drop(i)
			a.insert(i, line, S)
			used(set, i-set*ways)
		}
	}
	spec := ArraySpec{Bytes: 3 * LineBytes, Ways: 3, Policy: TreePLRU}
	require.ErrorContains(t, spec.Validate("L2"), "3 ways with tree-plru, expected a power of two")
}
