package masim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bitsched/bitsched/sram"
)

// costUnit is the cost of one unit of energy, or of a copy over distance 1, in
// the whole numbers that the evaluator adds up.
const costUnit = 1000

// newCosts returns what the options make copies and recomputed gates cost, or nil
// where copies are just counted.
func newCosts(in *instance, o Options) *costs {
	if o.Distance == nil && !o.Rematerialize {
		return nil
	}
	e := o.energy()
	if o.Objective == MinCycles {
		e = sram.Energy{Compute: 1, Copy: 1}
	}
	c := &costs{rematerial: o.Rematerialize, recompute: int32(math.Round(e.Compute * costUnit)),
		ratio: float32(e.Compute / max(e.Copy, e.Compute))}
	for i := range in.arrays {
		for j := range in.arrays {
			d := 1.0
			if o.Distance != nil {
				d = o.Distance[i][j]
			}
			c.copy = append(c.copy, int32(math.Round(d*e.Copy*costUnit)))
		}
	}
	return c
}

// floor returns a cost that no schedule of p goes below, with copies over equal
// distances and gates computed again.
func (c *costs) floor(ctx context.Context, p Problem, o Options) int {
	if c.copy[0] == 0 {
		return 0
	}
	e := o.energy()
	var least float64
	if b := o.EnergyBound; b != nil && float64(c.copy[0]) == e.Copy*costUnit && float64(c.recompute) == e.Compute*costUnit {
		least = (b.Energy - float64(p.Graph.NumGates())*e.Compute) * costUnit
	} else {
		least, _, _ = lowerBound(ctx, p, float64(c.copy[0]), float64(c.recompute), false)
	}
	return int(math.Ceil(least - 1e-3)) // costs are whole
}

// weigh improves the best plan for other costs than the number of copies.
// Exchanging whole arrays comes first, since that is what distances are about.
func (b *bitsched) weigh(ctx context.Context, c *costs) {
	in := b.in
	if in.gates == 0 {
		return
	}
	cost := func(pl *plan) int {
		ev := newEvaluator(in, pl, false)
		ev.costs = c
		return ev.reset()
	}
	best := cost(b.plan)
	home := in.fullArrays()
	if b.o.Distance != nil && int64(in.gates)*int64(in.arrays*in.arrays) < 1e9 {
		for better := true; better && ctx.Err() == nil; {
			better = false
			used := int(slices.Max(b.plan.array)) // empty arrays further out are no nearer
			for x := home; x <= used; x++ {
				for y := x + 1; y < in.arrays; y++ {
					pl := b.plan.clone()
					for g, a := range pl.array {
						switch int(a) {
						case x:
							pl.array[g] = uint8(y)
						case y:
							pl.array[g] = uint8(x)
						}
					}
					if k := cost(pl); k < best {
						best, b.plan, better = k, pl, true
					}
				}
			}
		}
	}
	floor := 0
	if b.o.Distance == nil {
		floor = b.floor
	}
	if in.gates > searchLimit || best == infeasible || best <= floor || ctx.Err() != nil {
		return
	}
	e := effortWork[b.o.Effort]
	work := min(e.perGate*int64(in.gates), e.most) / 2
	arrays := b.computeArrays(home, nil, []start{{plan: b.plan}})
	runs := make([]*search, finalists)
	tick := b.ticker("weighing", len(runs))
	b.each(len(runs), func(i int) {
		r := rand.New(rand.NewPCG(b.o.Seed, 1<<40|uint64(i)))
		if c.rematerial {
			k := in.newClones(int(in.gates)/cloneSpacing + 8)
			x := in.withClones(k.root, k.fanin)
			runs[i] = newSearch(ctx, x, x.spaced(b.plan), arrays, c, r)
		} else {
			runs[i] = newSearch(ctx, in, b.plan.clone(), arrays, c, r)
		}
		runs[i].floor = floor
		runs[i].anneal(ctx, work/int64(len(runs)), hotStart*costUnit, coldEnd*costUnit, tick(i))
	})
	for _, s := range runs {
		if s.best < best {
			b.best = s.best
			best, b.plan, b.clones = s.best, s.bestPl, s.bestClones
		}
	}
}

// fewestRows returns a program in a single array that takes few rows: those of
// the inputs and of the most values live at a time. It is the memory footprint
// that SIMPLER, STAR and DATE'24 minimise; the order comes from minimum cuts.
func (b *bitsched) fewestRows(ctx context.Context) (*Result, error) {
	in, o := b.in, b.o
	if in.fullArrays() > 0 || in.p.Graph.NumInputs() > in.p.Geometry.Rows {
		return nil, fmt.Errorf("masim: %w: %d inputs leave no row of a single array of %d rows to compute in",
			ErrInfeasible, in.p.Graph.NumInputs(), in.p.Geometry.Rows)
	}
	e := effortWork[o.Effort]
	work := max(min(e.perGate*int64(in.gates), e.most)/4*frontierRate, 40*int64(in.gates))
	orders := [][]int32{in.graphOrder(), in.eager(in.depthFirst())}
	peaks := make([]int32, len(orders))
	tick := b.ticker("ordering gates", len(orders))
	const rounds, last = 8, 4
	b.each(len(orders), func(i int) {
		f := newFrontier(in, orders[i], 0, rand.New(rand.NewPCG(o.Seed, uint64(i))))
		report := tick(i)
		peaks[i] = f.peak()
		for k := range rounds + last {
			// What stands out above the rest weighs most, and at last what stands out at
			// all: then a row less is looked for until none is found.
			f.capacity = f.peak() - max(peaks[i]/20, 1)
			if k >= rounds {
				f.reorder(orders[i])
				f.capacity = peaks[i] - 1
			}
			f.improve(ctx, work/int64(len(orders)*rounds), nil)
			if report != nil {
				report(float64(k+1) / (rounds + last))
			}
			p := f.peak()
			if k >= rounds && p >= peaks[i] {
				break
			}
			if p <= peaks[i] {
				orders[i] = slices.Clone(f.order)
				peaks[i] = p
			}
		}
	})
	best := 0
	for i := range peaks {
		if peaks[i] < peaks[best] {
			best = i
		}
	}
	order, inputs := orders[best], in.p.Graph.NumInputs()
	need := inputs + int(peaks[best])
	// A search for copies in a row less may find an order without any.
	for need > inputs+1 && ctx.Err() == nil {
		p := Problem{in.p.Graph, sram.Geometry{Arrays: 1, Rows: need - 1, Cols: in.p.Geometry.Cols}}
		fewer := &bitsched{ctx: ctx, in: newInstance(p, 1), o: o, best: infeasible}
		if fewer.efforts(ctx); fewer.best == infeasible {
			break
		}
		order = fewer.plan.order
		need = inputs + int(newFrontier(in, order, 0, nil).peak())
	}
	if need > in.p.Geometry.Rows {
		return nil, fmt.Errorf("masim: %w: the best order found takes %d rows of a single array, it has %d",
			ErrInfeasible, need, in.p.Geometry.Rows)
	}
	prog, err := in.program(in.inArray(order, 0), nil)
	if err != nil {
		return nil, err
	}
	return &Result{Program: prog, Copies: prog.Copies(), Trials: len(orders), Stopped: ctx.Err() != nil}, nil
}

// peak returns the most live values at a time.
func (f *frontier) peak() int32 {
	if len(f.live) == 0 {
		return 0
	}
	return slices.Max(f.live)
}
