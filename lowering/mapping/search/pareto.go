package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/bitsched/bitsched/lowering/mapping"
)

// Spot is a mapping of a front: no other found takes less of one of cycles, energy and
// units, and not more of the others.
type Spot struct {
	Mapping    mapping.Mapping
	Cost       mapping.Cost
	Picojoules float64
}

// Dominates reports whether a is at least as good in all three and better in one.
func (a *Spot) Dominates(b *Spot) bool {
	return a.Cost.Cycles <= b.Cost.Cycles && a.Picojoules <= b.Picojoules && a.Cost.Units <= b.Cost.Units &&
		(a.Cost.Cycles < b.Cost.Cycles || a.Picojoules < b.Picojoules || a.Cost.Units < b.Cost.Units)
}

// Front keeps, by exact dominance, what no other dominates; of equal ones the first. The
// result is sorted by cycles, then energy, then units.
func Front(all []Spot) []Spot {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Spot) int {
		return cmp.Or(cmp.Compare(a.Cost.Cycles, b.Cost.Cycles), cmp.Compare(a.Picojoules, b.Picojoules), cmp.Compare(a.Cost.Units, b.Cost.Units))
	})
	var out []Spot
	for i := range all {
		x := &all[i]
		if !slices.ContainsFunc(out, func(o Spot) bool {
			return o.Dominates(x) || o.Cost.Cycles == x.Cost.Cycles && o.Picojoules == x.Picojoules && o.Cost.Units == x.Cost.Units
		}) {
			out = append(out, *x)
		}
	}
	return out
}

// Hypervolume is the share of the rectangle from nothing to a reference, in cycles and energy, that a front
// dominates.
func Hypervolume(front []Spot, cycles int64, picojoules float64) float64 {
	flat := slices.Clone(front)
	slices.SortStableFunc(flat, func(a, b Spot) int { return cmp.Compare(a.Cost.Cycles, b.Cost.Cycles) })
	area, least := 0.0, picojoules
	for _, s := range flat {
		if s.Cost.Cycles >= cycles || s.Picojoules >= least {
			continue
		}
		area += (float64(cycles) - float64(s.Cost.Cycles)) * (least - s.Picojoules)
		least = s.Picojoules
	}
	return area / (float64(cycles) * picojoules)
}

// Objective is what a search minimises: latency, energy or edp, the product of both.
func Objective(q *mapping.Problem, name string) func(m *mapping.Mapping, c *mapping.Cost) int64 {
	switch name {
	case "energy":
		return func(m *mapping.Mapping, c *mapping.Cost) int64 { return score(q.Picojoules(m, c)) }
	case "edp":
		return func(m *mapping.Mapping, c *mapping.Cost) int64 {
			// The logarithm, in millionths, so that the product fits.
			return int64(1e6 * (math.Log2(q.Picojoules(m, c)+1) + math.Log2(float64(c.Cycles)+1)))
		}
	}
	return nil
}

func score(x float64) int64 { return int64(math.Min(x, float64(illegal/4))) }

// Pareto searches a front of cycles, energy and units: by each objective alone, by both, and
// for fewer and fewer units; the evaluations are shared out.
func Pareto(ctx context.Context, q *mapping.Problem, opt Optimizer, o Options) ([]Spot, *Result, error) {
	scores := []func(m *mapping.Mapping, c *mapping.Cost) int64{
		func(_ *mapping.Mapping, c *mapping.Cost) int64 { return c.Cycles },
		Objective(q, "energy"), Objective(q, "edp"),
	}
	for u := int64(q.Platform.Units()) / 4; u > 0; u /= 4 {
		scores = append(scores, func(_ *mapping.Mapping, c *mapping.Cost) int64 {
			if c.Units > u {
				return illegal/8 + c.Units
			}
			return c.Cycles
		})
	}
	o.Evals = max(1, o.evals()/int64(len(scores)))
	var all []Spot
	var sum *Result
	for _, s := range scores {
		x := o
		x.Score = s
		x.Key = func(_ *mapping.Mapping, c *mapping.Cost) uint64 { return uint64(c.Units) }
		r, err := opt.Search(ctx, q, x)
		if r != nil {
			if sum == nil {
				sum = &Result{}
			}
			sum.Evaluations += r.Evaluations
			sum.Stopped = sum.Stopped || r.Stopped
			for _, k := range r.Kinds {
				all = append(all, Spot{k.Mapping, k.Cost, q.Picojoules(&k.Mapping, &k.Cost)})
			}
		}
		if err != nil && (r == nil || !r.Found) && ctx.Err() == nil {
			return nil, sum, err
		}
	}
	front := Front(all)
	if len(front) > 0 {
		sum.Found, sum.Mapping, sum.Cost, sum.Score = true, front[0].Mapping, front[0].Cost, front[0].Cost.Cycles
		return front, sum, nil
	}
	return nil, sum, ctx.Err()
}
