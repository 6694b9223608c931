package fused

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlan changes places of parts at random times, and compares them with a list of all.
func TestPlan(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + rng.Int64N(12)
		pl := pure(inL3, 1, 2, 64, 1024)
		want := make([]Place, n)
		for i := range want {
			want[i] = InMemory
		}
		for range rng.IntN(6) {
			from := rng.Int64N(n)
			until := from + 1 + rng.Int64N(n-from)
			k := Place(rng.IntN(int(numPlaces)))
			pl = pl.with(0, k, from, until, n)
			for i := from; i < until; i++ {
				want[i] = k
			}
		}
		uses := [numPlaces]bool{}
		var steps []step
		for i, k := range want {
			require.Equal(t, k, pl.at(0, int64(i)))
			require.Equal(t, OnCores, pl.at(1, int64(i)))
			uses[k] = true
			steps = append(steps, step{place: k}, step{part: 1})
		}
		require.Equal(t, want[n-1], pl.at(0, n+100))
		uses[OnCores] = true // part 1
		for k := range numPlaces {
			require.Equal(t, uses[k], pl.uses(k))
		}
		require.Equal(t, pl.Parts[0], turns(steps, 0))
		require.True(t, pl.stays(1))
		stays := want[0] != InMemory
		for _, k := range want {
			stays = stays && k == want[0]
		}
		require.Equal(t, stays, pl.stays(0))
	}
}
