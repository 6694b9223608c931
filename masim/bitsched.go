package masim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/bitsched/bitsched/sram"
)

// effortWork bounds the work of one effort: steps of schedules simulated, or as
// much of other work as takes the same time (very roughly 0.1 microseconds).
// Small graphs converge sooner and get perGate for each gate.
var effortWork = [...]struct{ perGate, most int64 }{
	Fast:   {20_000, 12_000_000},
	Normal: {400_000, 220_000_000},
	High:   {4_000_000, 2_400_000_000},
}

const (
	frontierShare = 0.2     // of the work of an effort for orders
	raceShare     = 0.25    // for the race of the starts; the rest for the best two
	finalists     = 2       // that get the rest
	searchLimit   = 500_000 // gates beyond which plans are not annealed at Fast effort
	hotStart      = 0.2     // temperatures in copies
	coldEnd       = 0.03
)

// runBitsched is our scheduler. MASIM decides one gate after another; this one
// takes the whole schedule as an order of the gates and an array for each, and
// the copies as what follows (see evaluator).
//
//  1. Orders: the graph's own and a depth-first one, improved by minimum cuts
//     until few values are live at any time (see frontier), for computing in the
//     first array with room and for computing in an empty one.
//  2. Starts: each order in each of those arrays.
//  3. A race: every start is annealed for a while (see search); the best go on.
//
// Each effort first does all that the lower efforts do and continues from their
// best plan, so more effort never gives more copies.
func runBitsched(ctx context.Context, p Problem, o Options) (*Result, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	in := newInstance(p, min(p.Geometry.Arrays, maxSearchArrays))
	b := &bitsched{in: in, o: o, best: infeasible}
	for effort := Fast; effort <= o.Effort && ctx.Err() == nil && b.best != 0; effort++ {
		b.run(ctx, effort)
	}
	if b.best == infeasible {
		return b.fallBack(ctx)
	}
	prog, err := in.program(b.plan)
	if err != nil {
		return nil, err
	}
	return &Result{Program: prog, Copies: prog.Copies(), Trials: b.trials, Stopped: ctx.Err() != nil}, nil
}

type bitsched struct {
	in *instance
	o  Options

	mu     sync.Mutex // guards the fields below while workers run
	best   int
	plan   *plan
	trials int
}

// offer keeps the plan if it is better than all before. Callers offer in an
// order that does not depend on the threads.
func (b *bitsched) offer(pl *plan, cost int) {
	if cost < b.best {
		b.best, b.plan = cost, pl.clone()
	}
}

// each calls f(0) to f(n-1) on the threads of the options.
func (b *bitsched) each(n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(max(b.o.Threads, 1), n) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// ticker returns a function that adds one task's share to the progress of a
// phase.
func (b *bitsched) ticker(phase string, tasks int) func(task int) func(done float64) {
	if b.o.Progress == nil {
		return func(int) func(float64) { return nil }
	}
	done := make([]float64, tasks)
	return func(task int) func(float64) {
		return func(d float64) {
			b.mu.Lock()
			defer b.mu.Unlock()
			done[task] = d
			sum := 0.0
			for _, x := range done {
				sum += x
			}
			best := b.best
			if best == infeasible {
				best = -1
			}
			b.o.report(Progress{Phase: phase, Done: int(1000 * sum / float64(tasks)), Total: 1000, Best: best})
		}
	}
}

func (b *bitsched) run(ctx context.Context, effort Effort) {
	in := b.in
	e := effortWork[effort]
	work := min(e.perGate*int64(in.gates), e.most)
	work = max(work, 40*int64(in.gates)) // large graphs: at least some passes over all
	seed := func(stream int) *rand.Rand {
		return rand.New(rand.NewPCG(b.o.Seed, uint64(effort)<<32|uint64(stream)))
	}

	// A complete plan before anything that takes time.
	home := in.fullArrays()
	last := min(home+1, in.arrays-1)
	if home >= in.arrays {
		home = in.arrays - 1
	}
	if effort == Fast {
		for a := home; a <= last; a++ {
			pl := in.inArray(in.graphOrder(), a)
			b.offer(pl, newEvaluator(in, pl, false).reset())
		}
	}

	var orders [][]int32
	for _, order := range [][]int32{in.graphOrder(), in.depthFirst()} {
		for range last - home + 1 {
			orders = append(orders, order)
		}
	}
	fronts := make([]*frontier, len(orders))
	tick := b.ticker("ordering gates", len(orders))
	b.each(len(orders), func(i int) {
		fronts[i] = newFrontier(in, orders[i], home+i%(last-home+1), seed(i))
		fronts[i].improve(ctx, int64(frontierShare*float64(work)/float64(len(orders)))*frontierRate, tick(i))
	})

	type start struct {
		plan *plan
		cost int
	}
	starts := make([]start, 0, 2*len(fronts)+1)
	for _, f := range fronts {
		for a := home; a <= last; a++ {
			starts = append(starts, start{plan: in.inArray(f.order, a)})
		}
	}
	b.each(len(starts), func(i int) {
		starts[i].cost = newEvaluator(in, starts[i].plan, false).reset()
	})
	if b.plan != nil {
		starts = append(starts, start{b.plan, b.best})
	}
	for _, s := range starts {
		b.offer(s.plan, s.cost)
	}
	b.trials += len(starts)
	starts = slices.DeleteFunc(starts, func(s start) bool { return s.cost == infeasible })
	if len(starts) == 0 || effort == Fast && in.gates > searchLimit {
		return
	}
	slices.SortStableFunc(starts, func(x, y start) int { return x.cost - y.cost })
	starts = starts[:min(len(starts), 5)]

	arrays := b.computeArrays(home, fronts)
	runs := make([]*search, len(starts))
	anneal := func(phase string, share, hot, cold float64) {
		tick := b.ticker(phase, len(runs))
		each := int64(share * float64(work) / float64(len(runs)))
		b.each(len(runs), func(i int) {
			if runs[i] == nil {
				runs[i] = newSearch(in, starts[i].plan.clone(), arrays, seed(100+i))
			}
			runs[i].anneal(ctx, each, hot, cold, tick(i))
		})
		for _, s := range runs {
			b.offer(s.bestPl, s.best)
		}
		slices.SortStableFunc(runs, func(x, y *search) int { return x.best - y.best })
	}
	anneal("racing starts", raceShare, hotStart/2, coldEnd)
	runs = runs[:min(len(runs), finalists)]
	anneal("improving", 1-frontierShare-raceShare, hotStart, coldEnd)
}

// frontierRate is how much work of a frontier takes the time of one step.
const frontierRate = 6

// computeArrays returns the arrays that gates may be computed in: few, since
// copies come from spreading, but enough to hold the live values.
func (b *bitsched) computeArrays(home int, fronts []*frontier) []uint8 {
	live := int32(0)
	for i, f := range fronts {
		most := slices.Max(f.live)
		if i == 0 || most < live {
			live = most
		}
	}
	n := min(3+int(live)/b.in.p.Geometry.Rows, 6)
	var arrays []uint8
	for a := home; a < b.in.arrays && len(arrays) < n; a++ {
		arrays = append(arrays, uint8(a))
	}
	return arrays
}

// fallBack is for machines so small that no plan in one or two arrays fits:
// the paper's scheduler spreads gates wherever there is room.
func (b *bitsched) fallBack(ctx context.Context) (*Result, error) {
	r, err := runMASIM(ctx, b.in.p, Options{Effort: Fast, Seed: b.o.Seed, Threads: b.o.Threads, Progress: b.o.Progress})
	if err != nil {
		if errors.Is(err, ErrInfeasible) {
			return nil, err
		}
		return nil, fmt.Errorf("masim: no plan in one array fits, and spreading gates failed: %w", err)
	}
	return r, nil
}

// inArray returns the plan that computes everything in one array.
func (in *instance) inArray(order []int32, array int) *plan {
	pl := &plan{order: slices.Clone(order), array: make([]uint8, in.gates)}
	for i := range pl.array {
		pl.array[i] = uint8(array)
	}
	return pl
}

// program turns a plan into instructions, giving each value the free row that
// was freed last.
func (in *instance) program(pl *plan) (*sram.Program, error) {
	ev := newEvaluator(in, pl, false)
	rows := in.p.Geometry.Rows
	free := make([][]uint16, in.arrays)
	for a := range free {
		for r := rows - 1; r >= rows-int(in.room[a]); r-- {
			free[a] = append(free[a], uint16(r))
		}
	}
	rowOf := make([]uint16, int(in.values)*in.arrays)
	steps := make([]step, 0, in.gates+in.gates/16)
	ev.onDrop = func(v, a int32) {
		free[a] = append(free[a], rowOf[int(v)*in.arrays+int(a)])
	}
	ev.onStep = func(v, a, from int32) {
		// An eviction copies the victim away before it drops it, so a row is
		// always free here.
		last := len(free[a]) - 1
		row := free[a][last]
		free[a] = free[a][:last]
		rowOf[int(v)*in.arrays+int(a)] = row
		steps = append(steps, step{value: v, array: uint16(a), row: row, from: from})
	}
	if ev.reset() == infeasible {
		return nil, fmt.Errorf("masim: %w: the plan does not fit", ErrInfeasible)
	}
	return emit(in.p, steps)
}
