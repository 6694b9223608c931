package xmg

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStatsAdder(t *testing.T) {
	g := New("")
	a, b, c, d := g.AddInput("a"), g.AddInput("b"), g.AddInput("c"), g.AddInput("d")
	sum := g.Xor(a, b, c)              // used once
	carry := g.Maj(a, b, c^1)          // used twice
	g.AddOutput("s", g.Xor2(carry, d)) // live to the end from here
	g.AddOutput("o", g.Or(carry, d)^1)
	g.AddOutput("p", sum)
	g.AddOutput("one", True)
	require.Equal(t, Stats{
		Inputs: 4, Outputs: 4, Gates: 4, Maj: 2, Xor: 2, And: 1, Xor2: 1, Levels: 2,
		Complemented: 1, ComplementedOutputs: 1,
		MaxFanout: 2, MeanFanout: 13.0 / 8,
		PeakLive: 3, MeanLive: 9.0 / 4,
		LiveProfile: [10]int{1, 1, 2, 2, 2, 3, 3, 3, 3, 3},
	}, g.Stats())
}

func TestStatsOfNothing(t *testing.T) {
	require.Equal(t, Stats{}, New("").Stats())
	g := New("")
	a := g.AddInput("a")
	g.AddOutput("b", a^1)
	require.Equal(t, Stats{Inputs: 1, Outputs: 1, ComplementedOutputs: 1, MaxFanout: 1, MeanFanout: 1}, g.Stats())
}

// Live values by the definition, for each moment anew.
func TestStatsLive(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		g := New("")
		var lits []Lit
		for range 5 {
			lits = append(lits, g.AddInput(""))
		}
		for range 1 + r.IntN(60) {
			pick := func() Lit { return lits[r.IntN(len(lits))] ^ Lit(r.IntN(2)) }
			if r.IntN(2) == 0 {
				lits = append(lits, g.Maj(pick(), pick(), pick()))
			} else {
				lits = append(lits, g.Xor(pick(), pick(), pick()))
			}
		}
		for range 4 {
			g.AddOutput("", lits[r.IntN(len(lits))])
		}
		if r.IntN(2) == 0 {
			g = g.Sweep()
		}
		peak, sum := 0, 0
		for now := g.FirstGate(); now < g.NumNodes(); now++ {
			live := 0
			for id := g.FirstGate(); id <= now; id++ {
				needed := id == now
				for later := now + 1; later < g.NumNodes(); later++ {
					for _, l := range g.Fanins(later) {
						needed = needed || l.Node() == id
					}
				}
				for _, o := range g.Outputs() {
					needed = needed || o.Lit.Node() == id
				}
				if needed {
					live++
				}
			}
			peak, sum = max(peak, live), sum+live
		}
		s := g.Stats()
		require.Equal(t, peak, s.PeakLive)
		require.InDelta(t, float64(sum), s.MeanLive*float64(s.Gates), 1e-6)
		most := 0
		for _, n := range s.LiveProfile {
			most = max(most, n)
		}
		require.Equal(t, peak, most)
		if g.NumGates() > 0 {
			require.NotContains(t, s.LiveProfile, 0)
		}
	}
}
