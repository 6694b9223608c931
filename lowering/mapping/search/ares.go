package search

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/bitsched/bitsched/lowering/mapping"
)

// ares is the genetic algorithm of the paper (section V-C): crossover exchanges tile
// sizes of two parents; mutation changes a size, an order, a parallel dimension; fitness is
// the time on the model. What it leaves open is as in docs/mapping.md.
type ares struct{}

// The parameters that the paper does not give.
const (
	aresPopulation = 100
	aresElite      = 10
	aresCrossover  = 0.6
	aresMutation   = 0.2
)

func (ares) Name() string { return "ares" }
func (ares) Doc() string {
	return "the genetic algorithm of the paper: population 100, tournaments of 2, 10 % elite, crossover 0.6, mutation 0.2 a gene"
}

type individual struct {
	m     mapping.Mapping
	score int64
}

func (ares) Search(ctx context.Context, q *mapping.Problem, o Options) (*Result, error) {
	r := newRun(ctx, q, o, o.evals(), 1)
	v := newMoves(q)
	stream := func(generation, i int) *rand.Rand {
		return rand.New(rand.NewPCG(o.Seed, uint64(generation)<<32|uint64(i)))
	}
	var pop []individual
	for i := 0; len(pop) < aresPopulation && !r.over(); i++ {
		m, ok := q.Random(stream(0, i), 50)
		if !ok {
			r.res.Refused += 1000
			continue
		}
		pop = append(pop, individual{m, r.price(&m)})
	}
	for g := 1; !r.over() && len(pop) > 1; g++ {
		slices.SortStableFunc(pop, func(a, b individual) int { return cmp.Compare(a.score, b.score) })
		next := slices.Clone(pop[:min(aresElite, len(pop))])
		for i := 0; len(next) < aresPopulation && !r.over(); i++ {
			rng := stream(g, i)
			pick := func() *individual {
				a, b := &pop[rng.IntN(len(pop))], &pop[rng.IntN(len(pop))]
				if b.score < a.score {
					return b
				}
				return a
			}
			a, b := pick(), pick()
			m := a.m
			if rng.Float64() < aresCrossover && a.m.Function == b.m.Function && a.m.Swap == b.m.Swap {
				for l := range q.Loops() {
					if rng.IntN(2) == 0 { // the sizes of a loop come from the other parent
						for s := range mapping.NumSlots {
							m.Factor[s][l] = b.m.Factor[s][l]
						}
					}
				}
			}
			mutate(q, v, &m, rng, aresMutation)
			if !q.Repair(&m, 60) {
				var ok bool
				if m, ok = q.Random(rng, 20); !ok {
					r.res.Refused += 1000
					continue
				}
			}
			next = append(next, individual{m, r.price(&m)})
		}
		pop = next
	}
	return r.finish()
}

// mutate changes each gene with a probability: sizes by loop, orders, flags, binding.
func mutate(q *mapping.Problem, v *moves, m *mapping.Mapping, rng *rand.Rand, p float64) {
	hit := func() bool { return rng.Float64() < p }
	for l := range q.Loops() {
		if !hit() {
			continue
		}
		// One size of the loop, bound, in space or in time.
		s := v.slots[rng.IntN(len(v.slots))]
		if v.legal(m, s)>>l&1 == 1 {
			left := v.left(m, l, s)
			m.Factor[s][l] = 1 + rng.Uint32N(left)
		}
	}
	swap := func(o *[mapping.MaxLoops]uint8) {
		i, j := rng.IntN(q.Loops()), rng.IntN(q.Loops())
		o[i], o[j] = o[j], o[i]
	}
	if hit() {
		swap(&m.Wave)
	}
	if hit() {
		swap(&m.Tile)
	}
	if hit() { // a parallel dimension: another loop takes the place of one in a level
		s := mapping.SlotLevel + rng.IntN(q.Levels())
		i, j := rng.IntN(q.Loops()), rng.IntN(q.Loops())
		m.Factor[s][i], m.Factor[s][j] = m.Factor[s][j], m.Factor[s][i]
	}
	if hit() {
		m.Double = !m.Double
	}
	if q.Tiles() && hit() {
		m.DoubleTile = !m.DoubleTile
	}
	if q.Tiles() && hit() {
		o := rng.IntN(3)
		m.Keep[o] = !m.Keep[o]
	}
	if hit() && rng.IntN(4) == 0 { // the binding of operands: what is not legal there goes
		f := rng.IntN(q.Functions())
		orders := q.Orders(f)
		m.Function, m.Swap = uint8(f), orders[rng.IntN(len(orders))]
		for s := range mapping.SlotWave {
			legal := v.legal(m, s)
			for l := range q.Loops() {
				if legal>>l&1 == 0 {
					m.Factor[s][l] = 1
				}
			}
		}
	}
}
