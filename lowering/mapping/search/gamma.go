package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/bitsched/bitsched/lowering/mapping"
)

// gamma is the genetic algorithm of GAMMA (ICCAD 2020): genes by level, with operators
// of its own that reorder loops, and grow and age levels; growing gives a level that is
// not used a loop, ageing takes one away.
type gamma struct{}

func (gamma) Name() string { return "gamma" }
func (gamma) Doc() string {
	return "genetic algorithm with GAMMA's operators: reorder, grow, age, mutation and crossover by level"
}

func (gamma) Search(ctx context.Context, q *mapping.Problem, o Options) (*Result, error) {
	r := newRun(ctx, q, o, o.evals(), 2)
	v := newMoves(q)
	const population = 100
	var pop []individual
	for len(pop) < population && !r.over() {
		m, ok := q.Random(r.rng, 50)
		if !ok {
			r.res.Refused += 1000
			continue
		}
		pop = append(pop, individual{m, r.price(&m)})
	}
	for !r.over() && len(pop) > 1 {
		slices.SortStableFunc(pop, func(a, b individual) int { return cmp.Compare(a.score, b.score) })
		next := slices.Clone(pop[:population/10])
		for len(next) < population && !r.over() {
			a, b := &pop[r.rng.IntN(population/2)], &pop[r.rng.IntN(population/2)]
			m := a.m
			if r.rng.IntN(2) == 0 && a.m.Function == b.m.Function && a.m.Swap == b.m.Swap {
				s := v.slots[r.rng.IntN(len(v.slots))] // a level of the other parent
				m.Factor[s] = b.m.Factor[s]
			}
			switch r.rng.IntN(4) {
			case 0: // reorder
				i, j := r.rng.IntN(q.Loops()), r.rng.IntN(q.Loops())
				m.Wave[i], m.Wave[j] = m.Wave[j], m.Wave[i]
			case 1: // grow
				s := v.slots[r.rng.IntN(len(v.slots))]
				if loops := v.loopsOf(&m, s); len(loops) > 0 {
					l := loops[r.rng.IntN(len(loops))]
					m.Factor[s][l] = v.left(&m, l, s)
				}
			case 2: // age
				s := v.slots[r.rng.IntN(len(v.slots))]
				m.Factor[s][r.rng.IntN(q.Loops())] = 1
			default:
				mutate(q, v, &m, r.rng, 0.1)
			}
			if !q.Repair(&m, 60) {
				continue
			}
			next = append(next, individual{m, r.price(&m)})
		}
		pop = next
	}
	return r.finish()
}
