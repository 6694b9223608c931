package masim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// masimEffort is how much work an effort means.
type masimEffort struct {
	trials int // complete schedules of each of the two kinds
	passes int // improvement passes of an iteration

	// Bounds for large circuits. A trial in the order of the netlist takes a time
	// that is proportional to the gates, about 1 µs each: at most fixed gates are
	// scheduled in all of these, but at least a few trials made. A random trial
	// looks at all ready gates at each time step: at most random gates squared.
	// The improvement computes at most steps gates in all its passes.
	fixed, random, steps int
}

// The paper has 500 trials and iterations of 500 passes.
var masimEfforts = [...]masimEffort{
	Fast:   {trials: 50, passes: 100, fixed: 200_000, random: 10_000, steps: 10_000_000},
	Normal: {trials: 250, passes: 2000, fixed: 5_000_000, random: 30_000, steps: 150_000_000},
	High:   {trials: 2500, passes: 10_000, fixed: 50_000_000, random: 200_000, steps: 3_000_000_000},
}

// arraySpread is the number of different array limits that trials try.
const arraySpread = 7

// maxCicppArrays is the most arrays used; place and log keep 16 bits for one.
const maxCicppArrays = 1<<15 - 1

// trial is one way to make a complete schedule. All decisions where priorities
// tie follow from the seed.
type trial struct {
	arrays int    // the first so many arrays may be used
	seed   uint64 // ranks equal priorities
	random bool   // pick among all ready gates; otherwise in the order of the netlist
	spare  bool   // count rows as crowded from the first, see cicppRun.crowd
}

// masimTrials lists the trials of an effort on from lo to hi arrays.
//
// The published code starts with instruction generation along the order of the
// netlist and goes on with random scheduling; here there are many of each, which
// differ in how ties are broken and in the number of arrays they may use. The
// paper says nothing about the latter. Fewer arrays keep partners together but
// run out of rows sooner, and which number is best depends on the circuit.
func masimTrials(e masimEffort, gates int, seed uint64, lo, hi int) []trial {
	size := float64(max(gates, 1))
	span := hi - lo + 1
	fixed := min(e.trials, max(span, int(float64(e.fixed)/size)))
	random := min(e.trials, int(math.Pow(float64(e.random)/size, 2)))
	var all []trial
	for i := range fixed + random {
		t := trial{arrays: lo + i%span, seed: mix(mix(seed) + uint64(i))}
		if k := i - fixed; k >= 0 {
			t.random, t.arrays, t.spare = true, lo+k%span, k/span%2 == 1
		}
		all = append(all, t)
	}
	return all
}

// attempt is a trial that was run.
type attempt struct {
	trial
	index int
	order []int32
	state *cicppState // at its end
}

// run makes the schedule of a trial, or returns nil if it gets stuck or stop
// says so.
func (t trial) run(net *cicppNet, rows int, stop func() bool) *attempt {
	s := newCicppState(net, t.arrays, rows)
	s.seed = t.seed
	if !t.random {
		order := netlistOrder(net)
		if !s.instructions(order, stop) {
			return nil
		}
		return &attempt{trial: t, order: order, state: s}
	}
	crowd := s.rows / 2
	if t.spare {
		crowd = 0
	}
	order, ok := newCicppRun(s, crowd).schedule(make([]int32, 0, net.gates()), stop)
	if !ok {
		return nil
	}
	return &attempt{trial: t, order: order, state: s}
}

func netlistOrder(net *cicppNet) []int32 {
	order := make([]int32, net.gates())
	for i := range order {
		order[i] = int32(net.first + i)
	}
	return order
}

// better reports whether a is to be taken before b, which may be nil.
func (a *attempt) better(b *attempt) bool {
	if b == nil || a.state.copies != b.state.copies {
		return b == nil || a.state.copies < b.state.copies
	}
	return a.index < b.index
}

// runTrials returns the trial with the fewest copies, the first of equals; nil
// if none went through. It also returns how many went through. Trials after one
// with no more copies than the bound are as if never made.
func runTrials(net *cicppNet, rows int, trials []trial, bound, threads int, stop func() bool, done func(done, best int)) (*attempt, int) {
	var (
		next atomic.Int64
		last atomic.Int64 // no trial after this one is needed
		mu   sync.Mutex
		best *attempt
		ran  = make([]bool, len(trials)) // and went through
		n    int
		wg   sync.WaitGroup
	)
	last.Store(int64(len(trials) - 1))
	for range min(threads, len(trials)) {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i > last.Load() || stop() {
					return
				}
				a := trials[i].run(net, rows, stop)
				mu.Lock()
				n++
				if a != nil {
					a.index, ran[i] = int(i), true
					if a.better(best) {
						best = a
					}
					if a.state.copies <= bound {
						last.Store(min(last.Load(), i))
					}
				}
				copies := -1
				if best != nil {
					copies = best.state.copies
				}
				done(n, copies)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	complete := 0
	for _, ok := range ran[:last.Load()+1] {
		if ok {
			complete++
		}
	}
	return best, complete
}

// runMASIM is the scheduler of the paper: many random trials, and the iterative
// improvement of the best.
func runMASIM(ctx context.Context, p Problem, o Options) (*Result, error) {
	return scheduleMASIM(ctx, p, o, true)
}

// runMASIMNoImpr is runMASIM without the improvement ("NoImpr" in section IV-C).
func runMASIMNoImpr(ctx context.Context, p Problem, o Options) (*Result, error) {
	return scheduleMASIM(ctx, p, o, false)
}

func scheduleMASIM(ctx context.Context, p Problem, o Options, improving bool) (*Result, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	net := newCicppNet(p.Graph)
	rows := p.Geometry.Rows
	arrays := min(p.Geometry.Arrays, maxCicppArrays)
	if net.gates() == 0 {
		prog, err := emit(p, nil)
		return &Result{Program: prog}, err
	}
	lo := net.inputs/rows + 1
	if lo > arrays {
		return nil, fmt.Errorf("masim: %w: %d inputs fill all %d arrays of %d rows, no row is left to compute in",
			ErrInfeasible, net.inputs, arrays, rows)
	}
	bound := o.leastCopies(ctx, p)
	effort := masimEfforts[min(o.Effort, High)]
	threads := max(o.Threads, 1)
	stop := func() bool { return ctx.Err() != nil }

	// More arrays than a few above the least are only tried where those do not do.
	var best *attempt
	result := &Result{}
	for hi := min(arrays, lo+arraySpread-1); ; lo, hi = hi+1, min(arrays, 2*hi) {
		from := max(lo, hi-arraySpread+1)
		trials := masimTrials(effort, net.gates(), o.Seed, from, hi)
		var complete int
		best, complete = runTrials(net, rows, trials, bound, threads, stop, func(done, copies int) {
			o.report(Progress{Phase: "random schedules", Done: done, Total: len(trials), Best: copies})
		})
		result.Trials += complete
		if best != nil || hi == arrays || stop() {
			break
		}
	}
	if best == nil {
		if stop() {
			return nil, fmt.Errorf("masim: stopped before the first schedule was complete: %w", context.Cause(ctx))
		}
		return nil, fmt.Errorf("masim: %w: every trial ran out of rows on %d arrays of %d rows", ErrInfeasible, arrays, rows)
	}

	if !improving {
		result.Stopped = stop()
		return finish(p, best.state, result)
	}
	start := best.state.clone()
	start.rewind(0)
	if base := newBaseline(start, best.order, stop); base != nil && base.total() <= best.state.copies {
		start.rewind(0)
		gens := make([]generator, threads)
		for i := range gens {
			gens[i] = start.clone()
		}
		var done bool
		var passes int
		base, passes, done = improve(ctx, base, gens, improveOptions{
			passes: effort.passes,
			steps:  effort.steps,
			bound:  bound,
			seed:   mix(o.Seed ^ 0x696d70726f7665),
			report: func(pass, copies int) {
				o.report(Progress{Phase: "improvement passes", Done: pass, Best: copies})
			},
		})
		result.Trials += passes
		result.Stopped = !done
		start.redo(base.log)
		best.state = start
	} else {
		result.Stopped = stop()
	}
	return finish(p, best.state, result)
}

// finish writes out the schedule that s holds.
func finish(p Problem, s *cicppState, r *Result) (*Result, error) {
	prog, err := emit(p, slices.Clip(s.steps()))
	if err != nil {
		return nil, err
	}
	r.Program, r.Copies = prog, s.copies
	return r, nil
}
