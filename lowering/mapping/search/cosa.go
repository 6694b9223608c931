package search

import (
	"context"
	"math"
	"slices"

	"github.com/crillab/gophersat/solver"

	"github.com/bitsched/bitsched/lowering/mapping"
)

// cosa schedules in one shot, after CoSA (ISCA 2021): every prime factor of every loop
// goes to one slot, capacities are linear in logarithms, and so is what is minimised:
// invocations, what is loaded between them, and sums over units. The optimum of that linear
// problem is then repaired and priced by the model. It is a rival: what is not linear in
// logarithms (rows of words, padding, overlap) it does not see.
type cosa struct{}

func (cosa) Name() string { return "cosa" }
func (cosa) Doc() string {
	return "CoSA: prime factors to slots by one pseudo-Boolean optimum of a linear objective, then repaired"
}

// logScale is a logarithm of base 2 as a whole number.
const logScale = 4

// cosaGap: the search of the bound ends within a share of 1/cosaGap of the optimum.
const cosaGap = 4

func scaled(x float64) int { return int(math.Round(logScale * math.Log2(x))) }

func primes(n uint32) []uint32 {
	var out []uint32
	for p := uint32(2); p*p <= n; p++ {
		for n%p == 0 {
			out = append(out, p)
			n /= p
		}
	}
	if n > 1 {
		out = append(out, n)
	}
	return out
}

// placed is one more of equal prime factors of a loop in a slot: variables count, so that
// equal factors are not told apart.
type placed struct {
	loop, slot int
	prime      uint32
	cost       int
}

func (cosa) Search(ctx context.Context, q *mapping.Problem, o Options) (*Result, error) {
	r := newRun(ctx, q, o, o.evals(), 0)
	v := newMoves(q)
	for f := range q.Functions() {
		for _, swap := range q.Orders(f) {
			if r.over() {
				break
			}
			m := mapping.Unit()
			m.Function, m.Swap = uint8(f), swap
			n, ok := oneShot(ctx, q, v, m)
			if !ok {
				continue
			}
			d := &descent{run: r, v: v}
			for _, double := range []bool{false, true} {
				x := n
				x.Double, x.DoubleTile = double, double && q.Tiles()
				if !q.Repair(&x, 200) {
					continue
				}
				if s := r.price(&x); s != illegal {
					d.polish(x, s)
				}
			}
		}
	}
	return r.finish()
}

// oneShot solves the linear problem of a function and an order of its operands.
func oneShot(ctx context.Context, q *mapping.Problem, v *moves, m mapping.Mapping) (mapping.Mapping, bool) {
	var vars []placed // variable i+1
	var fixed []linear
	slots := append([]int{mapping.SlotWave}, v.slots...)
	bySlot := map[int][]int{} // variables
	for l := range q.Loops() {
		all := primes(q.Extent(l))
		for i := 0; i < len(all); {
			p, n := all[i], 0
			for ; i < len(all) && all[i] == p; i++ {
				n++
			}
			var lits []int
			for _, s := range slots {
				if v.legal(&m, s)>>l&1 == 0 {
					continue
				}
				for k := range n {
					vars = append(vars, placed{l, s, p, weight(q, &m, l, s) * scaled(float64(p))})
					lits = append(lits, len(vars))
					bySlot[s] = append(bySlot[s], len(vars))
					if k > 0 { // the one before, or not this one
						fixed = append(fixed, linear{[]int{len(vars), len(vars) - 1}, []int{1, -1}, -1, 0})
					}
				}
			}
			ones := make([]int, len(lits))
			for i := range ones {
				ones[i] = 1
			}
			fixed = append(fixed, linear{lits, ones, n, n})
		}
	}
	if len(vars) == 0 {
		return m, true
	}
	capacity := func(over []int, limit float64) {
		if len(over) == 0 {
			return
		}
		var lits, weights []int
		for _, x := range over {
			lits, weights = append(lits, x), append(weights, scaled(float64(vars[x-1].prime)))
		}
		fixed = append(fixed, linear{lits, weights, 0, scaled(limit)})
	}
	for i := range q.Levels() {
		capacity(bySlot[mapping.SlotLevel+i], float64(q.FanOut(i)))
	}
	// Dimensions: each by the largest size that a unit takes alone, those along one axis together.
	fn := &q.Platform.Functions[m.Function]
	together := map[string][]int{}
	room := map[string]float64{}
	for d := range fn.Dims {
		most := largest(q, &m, v, d)
		capacity(bySlot[d], most)
		for o := range fn.Operands {
			for _, axis := range []string{"row", "column"} {
				dims, _ := fn.Axis(o, axis)
				for _, x := range dims {
					if x == d {
						key := axis + fn.Operands[o].Name
						together[key] = append(together[key], bySlot[d]...)
						room[key] = max(room[key], most)
					}
				}
			}
		}
	}
	for o := range fn.Operands {
		for _, axis := range []string{"row", "column"} {
			if key := axis + fn.Operands[o].Name; len(together[key]) > 0 {
				capacity(together[key], room[key])
			}
		}
	}
	// The least cost, by a search of the bound: each decision by a solver of its own, each
	// model looked at again.
	worst := 0
	var lits, weights []int
	for i, x := range vars {
		worst += x.cost
		if x.cost > 0 {
			lits, weights = append(lits, i+1), append(weights, x.cost)
		}
	}
	decide := func(bound int) ([]bool, int, bool) {
		all := append(slices.Clone(fixed), linear{lits, weights, 0, bound})
		model, ok := solveOnce(ctx, all)
		for i := range all {
			ok = ok && all[i].holds(model)
		}
		return model, linear{lits: lits, weights: weights}.sum(model), ok
	}
	best, hi, ok := decide(worst)
	if !ok {
		return m, false
	}
	for lo := 0; hi-lo > hi/cosaGap && ctx.Err() == nil; {
		mid := (lo + hi) / 2
		if model, cost, ok := decide(mid); ok {
			best, hi = model, cost
		} else {
			lo = mid + 1
		}
	}
	for i, x := range vars {
		if i < len(best) && best[i] {
			m.Factor[x.slot][x.loop] *= x.prime
		}
	}
	return m, true
}

// weight is what a factor of a loop in a slot costs, for each doubling: invocations count
// four times, each operand that is loaded once, sums over units once.
func weight(q *mapping.Problem, m *mapping.Mapping, l, s int) int {
	switch {
	case s == mapping.SlotWave || s == mapping.SlotTile:
		n := 4
		for o := range 3 {
			if q.Op.Tensors[m.Tensor(o)].Indexed(l) {
				n++
			}
		}
		return n
	case s >= mapping.SlotLevel && q.Reductions()>>l&1 == 1:
		return 1
	case s == mapping.SlotInner:
		return 3
	}
	return 0
}

// largest is the size that a dimension takes in a unit when all others are 1.
func largest(q *mapping.Problem, m *mapping.Mapping, v *moves, d int) float64 {
	most := uint32(1)
	for _, l := range v.loopsOf(m, d) {
		for _, f := range v.of(q.Extent(l)) {
			x := *m
			x.Keep = [3]bool{}
			x.Factor[d][l] = f
			if _, bad := q.SizesBound(&x); bad == mapping.Legal {
				most = max(most, f)
			}
		}
	}
	return float64(most)
}

// linear is a constraint: the weights of the variables that are set sum to something from
// least to most.
type linear struct {
	lits, weights []int
	least, most   int
}

func (c linear) sum(model []bool) int {
	n := 0
	for i, x := range c.lits {
		if x-1 < len(model) && model[x-1] {
			n += c.weights[i]
		}
	}
	return n
}

func (c linear) holds(model []bool) bool {
	n := c.sum(model)
	return n >= c.least && n <= c.most
}

// solveOnce decides constraints with a fresh solver, which takes what it is given for its
// own; what does not come back before the context ends is given up.
func solveOnce(ctx context.Context, all []linear) ([]bool, bool) {
	var constrs []solver.PBConstr
	for _, c := range all {
		if len(c.lits) == 2 && c.weights[1] < 0 {
			constrs = append(constrs, solver.PropClause(c.lits[1], -c.lits[0]))
			continue
		}
		if c.least > 0 {
			constrs = append(constrs, solver.GtEq(slices.Clone(c.lits), slices.Clone(c.weights), c.least))
		}
		total := 0
		for _, w := range c.weights {
			total += w
		}
		if c.most < total {
			constrs = append(constrs, solver.LtEq(slices.Clone(c.lits), slices.Clone(c.weights), c.most))
		}
	}
	out := make(chan []bool, 1)
	go func() {
		pb := solver.ParsePBConstrs(constrs)
		if pb.Status == solver.Unsat {
			out <- nil
			return
		}
		if s := solver.New(pb); s.Solve() == solver.Sat {
			out <- s.Model()
			return
		}
		out <- nil
	}()
	select {
	case model := <-out:
		return model, model != nil
	case <-ctx.Done():
		return nil, false
	}
}
