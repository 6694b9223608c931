package search

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping"
)

func spot(cycles int64, pj float64, units int64) Spot {
	return Spot{Cost: mapping.Cost{Cycles: cycles, Units: units}, Picojoules: pj}
}

// TestFront compares with the definition, pair by pair; and the area with counted squares.
func TestFront(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var all []Spot
		for range 1 + r.IntN(30) {
			all = append(all, spot(1+r.Int64N(9), float64(1+r.IntN(9)), 1+r.Int64N(4)))
		}
		front := Front(all)
		for i := range all {
			dominated, in := false, false
			for k := range all {
				dominated = dominated || all[k].Dominates(&all[i])
			}
			for k := range front {
				in = in || front[k].Cost.Cycles == all[i].Cost.Cycles && front[k].Picojoules == all[i].Picojoules && front[k].Cost.Units == all[i].Cost.Units
			}
			require.Equal(t, !dominated, in)
		}
		squares := 0
		for x := range 10 {
			for y := range 10 {
				for _, s := range front {
					if s.Cost.Cycles <= int64(x) && s.Picojoules <= float64(y) {
						squares++
						break
					}
				}
			}
		}
		require.InDelta(t, float64(squares)/100, Hypervolume(front, 10, 10), 1e-9)
	}
}

// TestPareto: the ends of a front are what searches for one objective find, and less energy
// or fewer units cost cycles.
func TestPareto(t *testing.T) {
	q := problem(t, "conv:N=1,K=8,H=8,W=8,C=8,R=3,S=3", "logic-sram")
	front, r, err := Pareto(context.Background(), q, bitsched{}, Options{Evals: 2000, Seed: 1, Threads: 2})
	require.NoError(t, err)
	require.LessOrEqual(t, r.Evaluations, int64(2000))
	require.Greater(t, len(front), 2)
	for i := range front {
		require.NoError(t, q.Check(&front[i].Mapping))
		for k := range front {
			require.False(t, front[k].Dominates(&front[i]))
		}
		e := q.Energy(&front[i].Mapping, &front[i].Cost)
		require.InEpsilon(t, e.Picojoules, front[i].Picojoules, 1e-12)
		require.Contains(t, e.Unknown(), "link:slice")
	}
}
