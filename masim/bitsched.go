package masim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bitsched/bitsched/sram"
)

// effortWork bounds the work of one effort: steps of schedules simulated, or as
// much of other work as takes the same time (very roughly 0.1 microseconds).
// Small graphs converge sooner and get perGate for each gate.
var effortWork = [...]struct{ perGate, most int64 }{
	Fast:   {20_000, 16_000_000},
	Normal: {670_000, 320_000_000},
	High:   {8_000_000, 3_000_000_000},
}

// patience is how many idle rounds in a row do not end the search.
var patience = [...]int{Fast: 0, Normal: 1, High: 1}

// nearBound is the part of the copies by which a schedule may be above the bound for an effort
// to end.
var nearBound = [...]float64{Normal: 0.05, High: 0}

const (
	frontierShare = 0.3  // of the work of the first round for orders
	ordersAgain   = 0.2  // of that of later ones, which seldom find better orders
	raceShare     = 0.25 // for the race of the starts; the rest for the best two
	finalists     = 2    // that get the rest
	tileShare     = 0.05 // for each of two lots of tilings
	winningShare  = 0.5  // instead of it where a tiling is the best start: which one is chance
	winnerShare   = 0.7  // of it for the better one
	hotStart      = 0.7  // temperatures in copies
	coldEnd       = 0.03
	manyGates     = 50_000  // gates beyond which fewer partitions are tried
	worthwhile    = 1.3     // times the best is what another kind of start may cost to go on
	fewCopies     = 10      // and so many more copies
	roundGrowth   = 4       // times the work of a round is that of the next: slow cooling finds more
	leastGain     = 0.005   // of the copies: a round that brings less is idle
	searchLimit   = 500_000 // gates beyond which plans are not annealed at Fast effort
)

// runBitsched is our scheduler. MASIM decides one gate after another; this one
// takes the whole schedule as an order of the gates and an array for each, and
// the copies as what follows (see evaluator).
//
// It runs in rounds, see efforts:
//
//  1. Orders: the graph's own and a depth-first one (see eager), improved by
//     minimum cuts until few values are live at any time (see frontier), for
//     computing in the first array with room and for computing in the next.
//  2. Starts: each order in these two arrays, changing from one to the other at
//     the best of some times, and spread over several arrays along partitions of
//     the graph (see hypergraph), some of which give each array no more than it holds
//     at any time of an order by fronts of the dataflow, or of one of the others (see tiled).
//  3. A race: the best starts are annealed for a while (see search); the best two
//     of them go on, and into the next round.
func runBitsched(ctx context.Context, p Problem, o Options) (*Result, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Graph.NumGates() == 0 {
		prog, err := emit(p, nil)
		return &Result{Program: prog}, err
	}
	if p.Graph.NumInputs() > (maxSearchArrays-1)*p.Geometry.Rows {
		return spread(ctx, p, o) // the inputs alone take more arrays than the search looks at
	}
	in := newInstance(p, min(p.Geometry.Arrays, maxSearchArrays))
	b := &bitsched{ctx: ctx, in: in, o: o, best: infeasible, pool: make(map[int]*orderPool)}
	if o.Objective == MinRows {
		return b.fewestRows(ctx)
	}
	c := newCosts(in, o)
	switch {
	case o.Distance != nil: // the bound is of copies
	case o.Rematerialize: // no gate is computed again yet: so few copies would do
		b.floorAgain = c.floor(ctx, p, o)
		b.floor = b.floorAgain / max(int(c.copy[0]), 1)
	default:
		b.floor = o.leastCopies(ctx, p)
	}
	b = b.byArrays(ctx)
	in = b.in
	if b.best == infeasible {
		r, err := spread(ctx, p, o)
		if errors.Is(err, ErrInfeasible) && o.Distance == nil && o.Objective != MinRows {
			r, err = settle(ctx, p, o, err)
		}
		if err == nil || !o.Rematerialize {
			return r, err
		}
	}
	switch {
	case c == nil:
	case c.rematerial:
		b, c = b.rematerialize(ctx, c)
		if b.best == infeasible {
			return nil, fmt.Errorf("masim: %w: no plan fits, even with gates computed again", ErrInfeasible)
		}
	default:
		b.weigh(ctx, c)
	}
	if b.clones != nil {
		in = in.withClones(b.clones.root, b.clones.fanin)
	}
	prog, err := in.program(b.plan, c)
	if err != nil {
		return nil, err
	}
	return &Result{Program: prog, Copies: prog.Copies(), Trials: b.trials, Stopped: ctx.Err() != nil}, nil
}

// fewArrays is how many arrays are tried before more are.
const fewArrays = 8

// tightShare is the part of the work of a search that one with fewer than fewArrays arrays gets.
const tightShare = 0.25

// arrayCounts returns numbers of arrays to search with, in ascending order. They do not depend on how many
// there are: so a search with more arrays does all that one with fewer does, and gives no more copies.
//
// First come those that just suffice for what is live, which leave least to choose, then eight, or as many as
// leave eight beside those full of inputs, and twice as many each time.
func (b *bitsched) arrayCounts() []int {
	in := b.in
	base := fewArrays
	for base < in.p.Graph.NumInputs()/in.p.Geometry.Rows+fewArrays/2 {
		base *= 2
	}
	least := 0
	if in.gates <= searchLimit {
		home := in.fullArrays()
		live := int32(math.MaxInt32)
		for _, order := range [][]int32{in.graphOrder(), b.depthFirst(), in.dataflow(b.depthFirst())} {
			live = min(live, newFrontier(in, order, min(home, in.arrays-1), nil).peak())
		}
		least = min(home+int(live)/in.p.Geometry.Rows+1, maxSearchArrays)
	}
	var counts []int
	for _, n := range [...]int{least, least + 1} {
		if least > 0 && n < base {
			counts = append(counts, n)
		}
	}
	for n := base; n <= maxSearchArrays; n *= 2 {
		if n >= least {
			counts = append(counts, n)
		}
	}
	return counts
}

// byArrays searches with several numbers of arrays and returns the search that found the best plan, the first
// of equals. Each effort goes through all of them. Numbers beyond the first eight come in only while partitions
// look at more arrays than there are and more of them bring something, and where one does not suffice the next
// are tried in small steps.
//
// No search begins with what another found: plans for few arrays beat what others begin with, and lead nowhere.
func (b *bitsched) byArrays(ctx context.Context) *bitsched {
	if b.o.Distance != nil || b.o.Rematerialize {
		b.efforts(ctx)
		return b
	}
	var searches []*bitsched
	best := b
	counts := b.arrayCounts()
	for effort := Fast; effort <= b.o.Effort; effort++ {
		for i := 0; best.best > b.floor && (best.best == infeasible || ctx.Err() == nil); i++ {
			var last *bitsched
			if i > 0 {
				if last = searches[i-1]; last.enough() {
					break
				}
			}
			if i == len(searches) {
				n := b.nextCount(counts, last, best.best != infeasible)
				if n == 0 {
					break
				}
				searches = append(searches, b.with(n))
			}
			s := searches[i]
			for before := s.trials; s.next <= effort; s.next++ {
				s.rivals = searches[:i]
				s.effort(ctx, s.next)
				b.trials += s.trials - before
				before = s.trials
			}
			s.idle = i > 0 && last.in.arrays >= fewArrays && float64(s.best) > (1-leastGain)*float64(best.best)
			if i > 0 && last != best && effort == b.o.Effort { // not needed any more
				searches[i-1] = &bitsched{in: &instance{arrays: last.in.arrays}, best: last.best, bests: last.bests, wanted: last.wanted, idle: last.idle}
			}
			if s.best < best.best {
				best = s
			}
		}
	}
	if best.best == infeasible && ctx.Err() != nil { // stopped where arrays are few
		b.run(ctx, 0, 1)
		return b
	}
	best.trials = b.trials
	return best
}

// enough reports whether more arrays than those of the search need not be tried.
func (b *bitsched) enough() bool {
	return b.in.arrays >= fewArrays && b.best != infeasible && (b.wanted <= b.in.arrays || b.idle)
}

// nextCount returns the number of arrays to search with after the last search: the next of the counts, or
// somewhat more than the last one has if these do not suffice. If nothing else is left, and no schedule was found, it is
// all there are; 0 means no further search.
func (b *bitsched) nextCount(counts []int, last *bitsched, found bool) int {
	all, before := b.in.arrays, 0
	if last != nil {
		before = last.in.arrays
	}
	n := all
	for _, c := range counts {
		if c > before {
			n = c
			break
		}
	}
	if last != nil && last.best == infeasible {
		n = min(n, before+max(1, before/8))
	}
	if n > all && !found {
		n = all
	}
	if n > all || n <= before {
		return 0
	}
	return n
}

// with returns a search with n arrays.
func (b *bitsched) with(n int) *bitsched {
	s := &bitsched{ctx: b.ctx, in: b.in, o: b.o, best: infeasible, floor: b.floor, eager: b.eager, share: 1, pool: b.pool}
	if n != b.in.arrays {
		s.in = newInstance(b.in.p, n)
	}
	if n < fewArrays {
		s.share = tightShare
	}
	return s
}

// efforts runs the search with all efforts up to that of the options.
func (b *bitsched) efforts(ctx context.Context) {
	for effort := Fast; effort <= b.o.Effort; effort++ {
		b.effort(ctx, effort)
	}
}

// effort runs the search in rounds, each of four times the work of the one before: one round
// for Fast effort, and for each further effort as many as its work allows, on top of what the
// lower efforts did. So more effort never gives more copies. A round, or some in a row, that brought
// next to nothing ends an effort, and so does a schedule near the bound; one that meets it ends the search.
func (b *bitsched) effort(ctx context.Context, effort Effort) {
	gates := int64(b.in.gates)
	e := effortWork[effort]
	left := max(min(e.perGate*gates, e.most), 40*gates) // large graphs: at least some passes over all
	if b.share > 0 {
		left = int64(b.share * float64(left))
	}
	if effort == Fast {
		b.work = left
	}
	idle := 0
	for b.work = min(b.work, left); left > 0; b.work *= roundGrowth {
		if ctx.Err() != nil || b.best <= b.floor {
			return
		}
		if float64(b.best-b.floor) < nearBound[effort]*float64(b.best) {
			return
		}
		if effort > Fast && b.behind() {
			return
		}
		if left < 2*b.work {
			b.work = left // no small rest
		}
		before := b.best
		b.run(ctx, b.round, b.work)
		if before == infeasible && b.best < infeasible || float64(before-b.best) >= max(leastGain*float64(before), 1) {
			idle = -1
		}
		idle++
		left -= b.work
		b.bests = append(b.bests, b.best)
		b.round++
		if idle > patience[effort] {
			return
		}
	}
}

// behind reports whether a search with fewer arrays had, after as many rounds, about as few copies: then the room of
// more arrays is not what is missing.
func (b *bitsched) behind() bool {
	n := len(b.bests)
	for _, s := range b.rivals {
		if len(s.bests) > 0 && n > 0 && float64(b.bests[n-1]) > (1-leastGain)*float64(s.bests[min(n, len(s.bests))-1]) {
			return s.best != infeasible
		}
	}
	return false
}

type bitsched struct {
	ctx   context.Context // ends evaluations; nil = nothing does
	in    *instance
	o     Options
	costs *costs  // nil: copies are counted
	floor int     // cost that no schedule goes below
	eager []int32 // of depthFirst, once it is known
	share float64 // of the work of an effort; 0 = all
	next  Effort  // not yet done
	work  int64   // of the next round
	round int

	lines [2]start // the best without a partition and with one
	bests []int    // after each round

	orderings *orderPool
	pool      map[int]*orderPool // by the last array to compute in: those that searches share; nil = none

	rivals []*bitsched // searches with fewer arrays
	vain   [phases]int // rounds in a row that a phase brought nothing

	wanted int  // arrays that partitions look at, if there are as many
	idle   bool // next to nothing came of more arrays

	floorAgain int // the same by costs, with gates computed again

	mu     sync.Mutex // guards the fields below while workers run
	best   int
	plan   *plan
	clones *clones // of the plan; nil = none
	copies int     // to report where costs are others: of a schedule without; -1 = none
	trials int
}

// evaluator returns an evaluator of whole runs of pl by the costs of the search.
func (b *bitsched) evaluator(pl *plan) *evaluator { return b.evaluatorOf(pl, b.costs) }

func (b *bitsched) evaluatorOf(pl *plan, c *costs) *evaluator {
	ev := newEvaluator(b.in, pl, false)
	ev.ctx, ev.costs = b.ctx, c
	return ev
}

// wholeRun returns the cost of a plan, infeasible if that is more than the best.
func (b *bitsched) wholeRun(pl *plan) int {
	ev := b.evaluator(pl)
	ev.most = b.best
	return ev.reset()
}

// depthFirst returns an order that goes from the outputs, see eager.
func (b *bitsched) depthFirst() []int32 {
	if b.eager == nil {
		b.eager = b.in.eager(b.in.depthFirst())
	}
	return b.eager
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
			if b.costs != nil {
				best = b.copies
			}
			b.o.report(Progress{Phase: phase, Done: int(1000 * sum / float64(tasks)), Total: 1000, Best: best})
		}
	}
}

// run is a round of the search with so much work. All but the first begin with what the ones
// before found.
func (b *bitsched) run(ctx context.Context, round int, work int64) {
	in := b.in
	seed := func(stream int) *rand.Rand {
		return rand.New(rand.NewPCG(b.o.Seed, uint64(round)<<32|uint64(stream)))
	}

	// A complete plan before anything that takes time.
	home := in.fullArrays()
	last := min(home+1, in.arrays-1)
	if home >= in.arrays {
		home = in.arrays - 1
	}
	if round == 0 {
		first := [][]int32{in.graphOrder()}
		if in.gates > searchLimit {
			// The order of a large graph may be one of many live values, of which an
			// evaluation takes minutes.
			first = [][]int32{b.depthFirst(), first[0]}
		}
		for _, order := range first {
			for a := home; a <= last && b.best > b.floor; a++ {
				pl := in.inArray(order, a)
				b.offer(pl, b.wholeRun(pl))
			}
		}
	}
	if in.gates > searchLimit { // one kind of start: time and memory count
		if home = last; b.plan != nil {
			home = int(b.plan.array[0])
		}
		last = home
	}

	if b.best <= b.floor || ctx.Err() != nil && in.gates > searchLimit {
		return
	}
	forOrders := frontierShare
	if round > 0 {
		forOrders = ordersAgain
	}
	flows := [][]int32{in.dataflow(b.depthFirst()), b.depthFirst()}
	if round > 0 && b.plan != nil {
		flows = append(flows, b.plan.order)
	}
	tiles := b.tiled(ctx, flows, home, int64(tileShare*float64(work)), seed(60))
	for _, s := range tiles {
		b.offer(s.plan, s.cost)
	}
	ordering := int64(forOrders * float64(work))
	if round == 0 && b.best == infeasible {
		b.pool = nil // orders of its own, with its share of the work: it may not find a schedule at all
	} else if b.pool != nil && b.share > 0 {
		ordering = int64(float64(ordering) / b.share) // other searches have them too
	}
	fronts := b.orders(ctx, ordering, home, last, seed)
	starts := b.starts(ctx, fronts, home, last, ordering)
	spread := fronts[:min(2, len(fronts))]
	if in.gates > manyGates {
		spread = spread[:1]
	}
	starts = append(starts, b.partitioned(ctx, spread, home, seed(50))...)
	starts = append(starts, tiles...)
	if in.gates <= searchLimit {
		starts = append(starts, b.tiled(ctx, [][]int32{fronts[0].order}, home, int64(tileShare*float64(work)), seed(61))...)
	}
	for _, s := range b.lines {
		if s.plan != nil {
			starts = append(starts, s)
		}
	}
	forPlaces := placeFirst
	if round > 0 {
		forPlaces = placeShare
	}
	places := b.hope(placement) * forPlaces * float64(work)
	if b.pool != nil && b.share > 0 {
		places /= b.share // the fewer arrays the better, and other searches end if they are no better
	}
	placed := b.placed(ctx, starts, fronts[0], home, int64(places), seed(70))
	b.gained(placement, len(placed) > 0)
	if starts = append(starts, placed...); round == 0 || len(placed) == 0 {
		forPlaces = 0
	}
	if b.plan != nil && round == 0 {
		starts = append(starts, start{b.plan, b.best, 0})
	}
	for _, s := range starts {
		b.offer(s.plan, s.cost)
	}
	starts = slices.DeleteFunc(starts, func(s start) bool { return s.plan == nil })
	b.trials += len(starts)
	starts = slices.DeleteFunc(starts, func(s start) bool { return s.cost == infeasible })
	if len(starts) == 0 || b.best <= b.floor || round == 0 && in.gates > searchLimit {
		return
	}
	unit := 1.0
	if b.costs != nil {
		unit = costUnit
	}
	if round > 0 {
		starts = slices.DeleteFunc(starts, func(s start) bool { return float64(s.cost) > worthwhile*(float64(b.best)+fewCopies*unit) })
	}
	if starts = runners(starts); len(starts) == 0 {
		return
	}
	arrays := b.computeArrays(home, fronts, starts)
	before := b.best
	work = int64(b.hope(annealing) * float64(work))
	defer func() { b.gained(annealing, b.best < before) }()
	runs := make([]run, len(starts))
	race := func(phase string, share, first, hot, cold float64) {
		tick := b.ticker(phase, len(runs))
		b.each(len(runs), func(i int) {
			if runs[i].search == nil {
				runs[i] = run{newSearch(ctx, in, starts[i].plan.clone(), arrays, b.costs, seed(100+i)), starts[i].parts}
				runs[i].floor = b.floor
			}
			part := first
			if i > 0 {
				part = (1 - first) / float64(len(runs)-1)
			}
			runs[i].anneal(ctx, int64(part*share*float64(work)), hot*unit, cold*unit, tick(i))
		})
		slices.SortStableFunc(runs, func(x, y run) int { return x.best - y.best })
		for _, s := range runs {
			b.offer(s.bestPl, s.best)
			if line := &b.lines[min(s.parts, 1)]; line.plan == nil || s.best < line.cost {
				*line = start{s.bestPl.clone(), s.best, s.parts}
			}
		}
	}
	race("racing starts", raceShare, 1/float64(len(runs)), hotStart/2, coldEnd)
	if runs = goOn(runs); len(runs) == 1 {
		race("improving", 1-forOrders-raceShare-forPlaces, 1, hotStart, coldEnd)
		return
	}
	race("improving", 1-forOrders-raceShare-forPlaces, winnerShare, hotStart, coldEnd)
}

// run is the annealing of a start.
type run struct {
	*search
	parts int // of the start
}

// goOn returns the best two of the runs, which come best first: one with a partition and one
// without unless that is far worse, since what is better at first need not be in the end.
func goOn(runs []run) []run {
	for i := finalists; i < len(runs); i++ {
		if r := runs[i]; min(runs[0].parts, 1) == min(runs[1].parts, 1) && min(r.parts, 1) != min(runs[0].parts, 1) &&
			float64(r.best) <= worthwhile*float64(runs[0].best) {
			runs[1] = r
		}
	}
	return runs[:min(len(runs), finalists)]
}

// start is a plan to anneal.
type start struct {
	plan  *plan
	cost  int
	parts int // of the partition that gave the arrays; 0 = none
}

// runners returns the starts that race: the best few, and the best of other
// numbers of parts, since those lead elsewhere.
func runners(starts []start) []start {
	slices.SortStableFunc(starts, func(x, y start) int { return x.cost - y.cost })
	var chosen []start
	var seen [maxParts + 1]bool
	for i, s := range starts {
		if i < 3 || !seen[s.parts] && (len(chosen) < 6 || s.parts == 0) {
			chosen = append(chosen, s)
			seen[s.parts] = true
		}
	}
	return chosen
}

// maxParts is the most arrays that a start spreads gates over.
const maxParts = 32

// partitioned returns starts that spread the gates over arrays by partitions of
// the graph that few values cross, for several numbers of parts.
func (b *bitsched) partitioned(ctx context.Context, fronts []*frontier, home int, r *rand.Rand) []start {
	in := b.in
	var starts []start
	for _, f := range fronts {
		h := in.valueNets(f.order)
		full := int(f.peak()) / in.p.Geometry.Rows // arrays that the live values fill
		b.wanted = max(b.wanted, home+1+min(2+3*full, maxParts))
		for _, k := range []int{2, 3, 4, 6, 8, 12, 16, 24, maxParts} {
			if k > 2+3*full || home+k > in.arrays || ctx.Err() != nil {
				break
			}
			if in.gates > manyGates && k <= full && k < maxParts || in.gates > searchLimit && len(starts) > 0 {
				continue // a partition takes about a minute for ten million gates
			}
			part := h.partition(ctx, k, r)
			if part == nil {
				break
			}
			best := start{cost: infeasible, parts: k}
			for first := home; first <= home+1 && first+k <= in.arrays && ctx.Err() == nil; first++ {
				pl := in.inArray(f.order, first)
				for g := range pl.array {
					pl.array[g] += part[g]
				}
				if c := b.evaluator(pl).reset(); c < best.cost {
					best.plan, best.cost = pl, c
				}
			}
			if best.plan != nil {
				starts = append(starts, best)
			}
		}
	}
	return starts
}

// switches is at how many times a start may change from one array to another.
const switches = 16

// hopeless returns a cost beyond which a plan is not worth annealing.
func (b *bitsched) hopeless() int {
	if b.best == infeasible || b.in.gates > searchLimit {
		return b.best
	}
	return 4*b.best + 100
}

// starts returns for each order and each pair of the arrays home to last the
// best plan that computes in the first array up to some time and in the second
// from then on, as far as the work allows; the time may be the end. Those that are not evaluated any more, since
// the search is to end and has a plan, are infeasible: an evaluation of a large graph
// takes seconds.
func (b *bitsched) starts(ctx context.Context, fronts []*frontier, home, last int, work int64) []start {
	in := b.in
	n := last - home + 1
	starts := make([]start, len(fronts)*n)
	var found atomic.Bool
	enough := func() bool { return ctx.Err() != nil && (b.plan != nil || found.Load()) }
	b.each(len(starts), func(i int) {
		if enough() {
			starts[i].cost = infeasible
			return
		}
		before, after := home+i%n, home+(i%n+1)%n
		pl := in.inArray(fronts[i/n].order, before)
		ev := b.evaluator(pl)
		ev.most = b.hopeless()
		best := start{pl.clone(), ev.reset(), 0}
		if before != after && in.gates <= searchLimit && best.cost != infeasible {
			at := in.gates
			for k := switches - 1; k > 0 && ev.work < work/int64(len(starts)) && !enough(); k-- {
				from := in.gates * int32(k) / switches
				for ; at > from; at-- {
					pl.array[pl.order[at-1]] = uint8(after)
				}
				if c := ev.reset(); c < best.cost {
					best = start{pl.clone(), c, 0}
				}
			}
		}
		starts[i] = best
		if best.cost != infeasible {
			found.Store(true)
		}
	})
	return starts
}

// orderPool has the orders for computing in some arrays. They do not depend on how many there are beside, so
// all searches share them.
type orderPool struct {
	fronts []*frontier // better from round to round
	work   []int64     // by round: the most that a search has spent on them
}

// orders improves the order of the graph and a depth-first one, for computing in
// each of the arrays home to last: all for a third of the work, the two that
// cost the fewest copies then for the rest. The best come first. What another search has improved as
// often is taken as it is.
func (b *bitsched) orders(ctx context.Context, work int64, home, last int, seed func(stream int) *rand.Rand) []*frontier {
	if shared := b.pool[last]; shared != nil {
		b.orderings = shared
	}
	pool := b.orderings
	if pool == nil {
		pool = &orderPool{}
		for _, order := range [][]int32{b.in.graphOrder(), b.depthFirst()} {
			for a := home; a <= last; a++ {
				pool.fronts = append(pool.fronts, newFrontier(b.in, order, a, seed(len(pool.fronts))))
			}
		}
		if b.pool != nil {
			b.pool[last] = pool
		}
		b.orderings = pool
	}
	for len(pool.work) <= b.round {
		pool.work = append(pool.work, 0)
	}
	known := pool.work[b.round] >= work*9/10
	improve := func(fs []*frontier, work int64) {
		if known {
			return
		}
		tick := b.ticker("ordering gates", len(fs))
		b.each(len(fs), func(i int) {
			fs[i].improve(ctx, frontierRate*work/int64(len(fs)), tick(i))
		})
	}
	improve(pool.fronts, work/3)
	cost := make(map[*frontier]int)
	for i, s := range b.starts(ctx, pool.fronts, home, last, work/3) { // those of one order together
		f := pool.fronts[i/(last-home+1)]
		if c, ok := cost[f]; !ok || s.cost < c {
			cost[f] = s.cost
		}
		if ctx.Err() != nil {
			b.offer(s.plan, s.cost) // others may not be evaluated any more
		}
	}
	best := slices.Clone(pool.fronts)
	slices.SortStableFunc(best, func(x, y *frontier) int { return cost[x] - cost[y] })
	improve(best[:min(2, len(best))], work-work/3)
	pool.work[b.round] = max(pool.work[b.round], work)
	return best
}

// The phases of a round whose work depends on what came of it before.
const (
	placement = iota
	annealing
	phases
)

// hope is the part of its work that a phase gets: a quarter for each round in a row that it brought nothing.
func (b *bitsched) hope(phase int) float64 { return math.Pow(0.25, float64(b.vain[phase])) }

// gained notes whether a phase brought something. Annealing in the first round, which is short, says little.
func (b *bitsched) gained(phase int, something bool) {
	switch {
	case something:
		b.vain[phase] = 0
	case b.round > 0 || phase != annealing:
		b.vain[phase]++
	}
}

// frontierRate is how much work of a frontier takes the time of one step.
const frontierRate = 12

// computeArrays returns the arrays that gates may be computed in: few, since
// copies come from spreading, but enough to hold the live values, and all that
// the starts use.
func (b *bitsched) computeArrays(home int, fronts []*frontier, starts []start) []uint8 {
	end := home + 6
	for _, f := range fronts {
		end = min(end, home+3+int(f.peak())/b.in.p.Geometry.Rows)
	}
	for _, s := range starts {
		end = max(end, int(slices.Max(s.plan.array))+1)
	}
	var arrays []uint8
	for a := home; a < min(end, b.in.arrays); a++ {
		arrays = append(arrays, uint8(a))
	}
	return arrays
}

// spread is for machines whose arrays are so small that no plan of the search
// fits: the paper's scheduler puts gates wherever there is room.
func spread(ctx context.Context, p Problem, o Options) (*Result, error) {
	if o.Objective == MinRows || o.Distance != nil {
		return nil, fmt.Errorf("masim: %w: no plan fits in a few arrays, and spreading gates over more takes no other objective", ErrInfeasible)
	}
	return runMASIM(ctx, p, Options{Effort: Fast, Seed: o.Seed, Threads: o.Threads, Progress: o.Progress})
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
func (in *instance) program(pl *plan, c *costs) (*sram.Program, error) {
	ev := newEvaluator(in, pl, false)
	ev.costs = c
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
		steps = append(steps, step{value: in.rootOf(v), array: uint16(a), row: row, from: from})
	}
	if ev.reset() == infeasible {
		return nil, fmt.Errorf("masim: %w: the plan does not fit", ErrInfeasible)
	}
	return emit(in.p, steps)
}
