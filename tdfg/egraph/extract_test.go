package egraph

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// extractionOf saturates a random graph with few nodes.
func extractionOf(t testing.TB, r *rand.Rand, steps, nodes int) *extraction {
	for {
		g, _ := randomGraph(t, r, steps, nil)
		if len(g.Outputs) == 0 {
			continue
		}
		opt := Options{Cost: weights, Nodes: nodes}
		require.NoError(t, opt.fill())
		var stats Stats
		s := newSaturation(g, opt, &stats)
		outputs, err := s.read(g)
		require.NoError(t, err)
		for phase := range phases {
			_, err := s.run(context.Background(), phase)
			require.NoError(t, err)
		}
		m, err := newMeter(&g.Scope, opt.Cost, nil)
		require.NoError(t, err)
		x, err := newExtraction(s.graph, outputs, m)
		require.NoError(t, err)
		return x
	}
}

// cheapest tries all choices of nodes for the classes that are open, one after the
// other, and returns the cost of the cheapest one without circles, or that it takes
// more steps than there are.
func cheapest(x *extraction, open []classID, chosen map[classID]nodeID, steps *int) int64 {
	if *steps--; *steps < 0 {
		return 0
	}
	for len(open) > 0 {
		if _, done := chosen[open[0]]; !done {
			break
		}
		open = open[1:]
	}
	if len(open) == 0 {
		done := map[classID]bool{}
		for range chosen {
			for c, n := range chosen {
				all := true
				for _, a := range x.argsOf(n) {
					all = all && done[x.find(a)]
				}
				if all {
					done[c] = true
				}
			}
		}
		var sum int64
		for c, n := range chosen {
			sum += x.cost[n]
			if !done[c] {
				return unreachable
			}
		}
		return sum
	}
	c := open[0]
	best := int64(unreachable)
	for _, n := range x.each(c) {
		chosen[c] = n
		next := append([]classID(nil), open[1:]...)
		for _, a := range x.argsOf(n) {
			next = append(next, x.find(a))
		}
		best = min(best, cheapest(x, next, chosen, steps))
	}
	delete(chosen, c)
	return best
}

// TestExact compares branch and bound with all choices there are.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	done, hard := 0, 0
	for done < 100 {
		x := extractionOf(t, r, 8, 40)
		steps := 3000
		best := cheapest(x, append([]classID(nil), x.outputs...), map[classID]nodeID{}, &steps)
		if steps < 0 {
			continue
		}
		done++
		x.begin()
		x.total = unreachable
		require.True(t, x.exact(context.Background(), 1e5))
		require.Equal(t, best, x.total)
		total, ok := x.evaluate(false)
		require.True(t, ok)
		require.Equal(t, best, total)
		if x.tree[x.outputs[0]] != best {
			hard++
		}
	}
	require.Greater(t, hard, 20, "graphs with something shared")
}

// TestAnneal compares annealing with branch and bound on e-graphs that are larger.
func TestAnneal(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	var lost, all int64
	for range 60 {
		x := extractionOf(t, r, 14, 150)
		x.search(context.Background(), 4000)
		annealed := x.total
		total, ok := x.evaluate(false)
		require.True(t, ok)
		require.Equal(t, annealed, total)
		x.exact(context.Background(), 1e6)
		all += x.total
		lost += annealed - x.total
	}
	require.GreaterOrEqual(t, lost, int64(0))
	require.Less(t, lost, all/100)
}
