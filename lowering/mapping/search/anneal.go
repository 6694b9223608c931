package search

import (
	"context"
	"math"

	"github.com/bitsched/bitsched/lowering/mapping"
)

// anneal goes to random neighbours, to worse ones too while it is hot.
type anneal struct{}

func (anneal) Name() string { return "anneal" }
func (anneal) Doc() string  { return "simulated annealing over the neighbours of bitsched" }

func (anneal) Search(ctx context.Context, q *mapping.Problem, o Options) (*Result, error) {
	return chains(ctx, q, o, 4, func(r *run, _ int) {
		d := &descent{run: r, v: newMoves(q)}
		m, ok := q.Random(r.rng, 100)
		if !ok {
			return
		}
		s := r.price(&m)
		total := float64(r.left)
		for !r.over() {
			// From half of the score to a thousandth of it.
			t := 0.5 * math.Pow(0.002, 1-float64(r.left)/total)
			n := m
			d.kick(&n)
			x := r.price(&n)
			if x == illegal {
				continue
			}
			if x <= s || r.rng.Float64() < math.Exp(-float64(x-s)/float64(s)/t) {
				m, s = n, x
			}
		}
	})
}
