package masim

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomPiece makes a piece of n gates and some values from before.
func randomPiece(rng *rand.Rand, n int) *piece {
	outside := 1 + rng.IntN(4)
	p := &piece{n: n, users: make([]pieceSet, n+outside), kept: make([]bool, n+outside)}
	for g := range n {
		f := [3]int32{-1, -1, -1}
		for i := range 1 + rng.IntN(3) {
			v := int32(rng.IntN(g + outside))
			if int(v) >= g {
				v += int32(n - g)
			}
			if v == f[0] || v == f[1] {
				continue
			}
			f[i] = v
			p.users[v].add(int32(g))
		}
		p.fanins = append(p.fanins, f)
	}
	for v := range p.users {
		p.kept[v] = rng.IntN(5) == 0
		if v >= n && (p.kept[v] || p.users[v] != pieceSet{}) {
			p.start++
		}
	}
	return p
}

// fewestRows tries all orders, with nothing of piece but what it reads: sets of
// gates are bits of an int.
func fewestRows(p *piece) int {
	live := func(done int) int {
		count := 0
		for v := range p.users {
			if v < p.n && done>>v&1 == 0 {
				continue
			}
			wanted := p.kept[v]
			for g := range p.n {
				for _, f := range p.fanins[g] {
					wanted = wanted || int(f) == v && done>>g&1 == 0
				}
			}
			if wanted {
				count++
			}
		}
		return count
	}
	const none = 1 << 30
	best := make([]int, 1<<p.n)
	best[0] = live(0)
	for done := 1; done < len(best); done++ {
		best[done] = none
		for g := range p.n {
			before := done &^ (1 << g)
			ready := before != done
			for _, f := range p.fanins[g] {
				ready = ready && (f < 0 || int(f) >= p.n || before>>f&1 != 0)
			}
			if ready {
				best[done] = min(best[done], best[before])
			}
		}
		if best[done] < none {
			best[done] = max(best[done], live(done))
		}
	}
	return best[len(best)-1]
}

// Small pieces are scheduled for the fewest rows there are.
func TestPieceOptimal(t *testing.T) {
	improved := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 24))
		p := randomPiece(rng, 1+rng.IntN(11))
		known := make([]int32, p.n)
		for i := range known {
			known[i] = int32(i)
		}
		order, optimal := p.schedule(known, 1<<30)
		require.True(t, optimal)
		require.Len(t, order, p.n)
		var done pieceSet
		for _, g := range order {
			require.False(t, done.has(g))
			require.True(t, p.ready(g, &done))
			done.add(g)
		}
		require.Equal(t, fewestRows(p), p.peak(order), "seed %d", seed)
		if p.peak(order) < p.peak(known) {
			improved++
		}
	}
	require.Greater(t, improved, 50)
}
