package masim

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// The published rivals (section II-C) are put together from an execution
// sequence, an instruction generation along it, and perhaps the iterative
// improvement of the result; the paper's ablation (section IV-C) mixes them. So
// they are tables here, and any combination can be looked up by name.

// rivalOrder makes execution sequences.
type rivalOrder struct {
	name string
	doc  string
	make func(net *cicppNet, r ranks, stop func() bool) []int32 // nil if stopped
	runs [High + 1]int                                          // by effort: at most so many sequences are tried
}

// "The improved existing schedulers are run for multiple times until they reach
// the same runtime as ours" (section IV), which is a number here so that the
// result does not depend on the machine; DATE'24 is run once there.
var rivalOrders = []rivalOrder{
	{"gppic", "XMG-GPPIC: the ready gate that frees the most rows", gppicOrder, [...]int{10, 250, 2500}},
	{"simpler", "SIMPLER MAGIC: depth first by cell usage", simplerOrder, [...]int{10, 250, 2500}},
	{"star", "STAR: towards the value that can be removed soonest", starOrder, [...]int{10, 100, 1000}},
	{"date24", "DATE'24: divide and conquer for the fewest rows", date24Order, [...]int{1, 1, 10}},
}

// rivalGates bounds the gates that are ordered in all runs of an effort; there are
// two runs at least, where an order has as many.
var rivalGates = [High + 1]int{200_000, 3_000_000, 30_000_000}

// rivalGeneration makes instructions along a sequence.
type rivalGeneration struct {
	name string
	doc  string

	// variants returns how many ways there are to do it for one sequence.
	variants func(r *rivalRun) int
	// generate does it; nil if it runs out of rows or is stopped.
	generate func(r *rivalRun, order []int32, variant int, seed uint64) *rivalResult
	// generator returns what improvement passes regenerate with; nil if the
	// generation looks ahead and so cannot be taken up in the middle.
	generator func(r *rivalRun, variant int, seed uint64) rivalGenerator
}

// rivalGenerator is a generator that a whole schedule can be taken from.
type rivalGenerator interface {
	generator
	instructions(order []int32, stop func() bool) bool
	steps() []step
}

// rivalResult is a complete schedule.
type rivalResult struct {
	trial   int
	variant int
	seed    uint64
	order   []int32
	copies  int
	plan    *plan // of the evicting generation
}

func (a *rivalResult) better(b *rivalResult) bool {
	if b == nil || a.copies != b.copies {
		return b == nil || a.copies < b.copies
	}
	return a.trial < b.trial
}

var rivalGenerations = []rivalGeneration{
	{
		name:     "naive",
		doc:      "the first array with room",
		variants: oneVariant,
		generator: func(r *rivalRun, _ int, _ uint64) rivalGenerator {
			return newRivalState(r.net, r.arrays, r.p.Geometry.Rows, true)
		},
	},
	{
		name:     "greedy",
		doc:      "the array with the fewest copies of fanins",
		variants: oneVariant,
		generator: func(r *rivalRun, _ int, _ uint64) rivalGenerator {
			return newRivalState(r.net, r.arrays, r.p.Geometry.Rows, false)
		},
	},
	{
		name:     "cicpp",
		doc:      "CICPP-driven",
		variants: oneVariant,
		generator: func(r *rivalRun, _ int, seed uint64) rivalGenerator {
			s := newCicppState(r.net, r.arrays, r.p.Geometry.Rows)
			s.seed = seed
			return s
		},
	},
	{
		name:     "evict",
		doc:      "our eviction with lookahead",
		variants: func(r *rivalRun) int { return len(r.limits()) + 1 },
		generate: generateEvicting,
	},
}

func oneVariant(*rivalRun) int { return 1 }

// rivalSchedulers are the combinations that have a name of their own.
var rivalSchedulers = []struct {
	name, doc         string
	order, generation string
	improve           bool
}{
	{"gppic", "XMG-GPPIC with greedy instruction generation", "gppic", "greedy", false},
	{"gppic-naive", "XMG-GPPIC with its naive instruction generation", "gppic", "naive", false},
	{"simpler", "SIMPLER MAGIC with greedy instruction generation", "simpler", "greedy", false},
	{"star", "STAR with greedy instruction generation", "star", "greedy", false},
	{"date24", "DATE'24 divide and conquer with greedy instruction generation", "date24", "greedy", false},
	{"date24+cicpp", "DATE'24 with CICPP-driven instruction generation: [10]+IG", "date24", "cicpp", false},
	{"date24+impr", "DATE'24 with greedy instruction generation, improved: [10]+Impr", "date24", "greedy", true},
}

// publishedRivals returns the schedulers of the table above.
func publishedRivals() []Scheduler {
	var all []Scheduler
	for _, c := range rivalSchedulers {
		s, ok := combination(c.order + "+" + c.generation + map[bool]string{true: "+impr"}[c.improve])
		if !ok {
			panic("masim: rivalSchedulers names what is not there: " + c.name)
		}
		s.Name, s.Doc = c.name, c.doc
		all = append(all, s)
	}
	return all
}

// combination returns the scheduler ORDER+GENERATION or ORDER+GENERATION+impr,
// of the names in the tables above.
func combination(name string) (Scheduler, bool) {
	parts := strings.Split(name, "+")
	improving := len(parts) == 3 && parts[2] == "impr"
	if len(parts) != 2 && !improving {
		return Scheduler{}, false
	}
	for i := range rivalOrders {
		for k := range rivalGenerations {
			o, g := &rivalOrders[i], &rivalGenerations[k]
			if o.name != parts[0] || g.name != parts[1] || improving && g.generator == nil {
				continue
			}
			doc := o.doc + "; instructions: " + g.doc
			if improving {
				doc += "; improved"
			}
			return Scheduler{Name: name, Doc: doc, Run: func(ctx context.Context, p Problem, opts Options) (*Result, error) {
				return runRival(ctx, p, opts, o, g, improving)
			}}, true
		}
	}
	return Scheduler{}, false
}

// rivalRun is a rival at work on a problem.
type rivalRun struct {
	p      Problem
	net    *cicppNet
	in     *instance // of the evicting generation
	arrays int
	lowest int // first array that is not full of inputs
	stop   func() bool
}

// limits returns the numbers of arrays to try where fewer may be better.
func (r *rivalRun) limits() []int {
	var all []int
	for n := r.lowest + 1; n < r.arrays && len(all) < arraySpread-1; n++ {
		all = append(all, n)
	}
	return append(all, r.arrays)
}

// generate makes the schedule of a sequence.
func (r *rivalRun) generate(g *rivalGeneration, order []int32, variant int, seed uint64) *rivalResult {
	if g.generate != nil {
		return g.generate(r, order, variant, seed)
	}
	gen := g.generator(r, variant, seed)
	if !gen.instructions(order, r.stop) {
		return nil
	}
	return &rivalResult{copies: gen.total()}
}

// generateEvicting is the evaluator of our scheduler along the order of a rival:
// all gates in one array, the number of the variant, or in the arrays that the
// greedy generation takes.
func generateEvicting(r *rivalRun, order []int32, variant int, _ uint64) *rivalResult {
	gates := make([]int32, len(order))
	for i, g := range order {
		gates[i] = g - r.in.first
	}
	var pl *plan
	if limits := r.limits(); variant < len(limits) {
		pl = r.in.inArray(gates, limits[variant]-1)
	} else {
		s := newRivalState(r.net, r.in.arrays, r.p.Geometry.Rows, false)
		if !s.instructions(order, r.stop) {
			return nil
		}
		pl = r.in.inArray(gates, 0)
		for i := range pl.array {
			pl.array[i] = uint8(s.loc[int(r.in.first)+i])
		}
	}
	copies := newEvaluator(r.in, pl, false).reset()
	if copies == infeasible {
		return nil
	}
	return &rivalResult{copies: copies, plan: pl}
}

// runRival makes schedules along many sequences, the first without randomness,
// takes the best, and improves it if asked to.
func runRival(ctx context.Context, p Problem, o Options, order *rivalOrder, g *rivalGeneration, improving bool) (*Result, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Graph.NumGates() == 0 {
		prog, err := emit(p, nil)
		return &Result{Program: prog}, err
	}
	r := &rivalRun{
		p:      p,
		net:    newCicppNet(p.Graph),
		arrays: min(p.Geometry.Arrays, maxCicppArrays),
		stop:   func() bool { return ctx.Err() != nil },
	}
	r.lowest = r.net.inputs / p.Geometry.Rows
	if r.lowest >= r.arrays {
		return nil, fmt.Errorf("masim: %w: %d inputs fill all %d arrays of %d rows, no row is left to compute in",
			ErrInfeasible, r.net.inputs, r.arrays, p.Geometry.Rows)
	}
	if g.generate != nil {
		r.arrays = min(r.arrays, maxSearchArrays)
		r.in = newInstance(p, r.arrays)
	}
	effort := min(o.Effort, High)
	runs := max(min(order.runs[effort], rivalGates[effort]/r.net.gates()), min(order.runs[effort], 2))
	best, complete, ended := r.trials(order, g, runs, o)
	if best == nil {
		if r.stop() {
			return nil, fmt.Errorf("masim: stopped before the first schedule was complete: %w", context.Cause(ctx))
		}
		return nil, fmt.Errorf("masim: %w: no sequence fits %d arrays of %d rows", ErrInfeasible, p.Geometry.Arrays, p.Geometry.Rows)
	}
	result := &Result{Trials: complete, Copies: best.copies, Stopped: !ended}
	if best.plan != nil {
		prog, err := r.in.program(best.plan, nil)
		result.Program = prog
		return result, err
	}
	gen := g.generator(r, best.variant, best.seed)
	gen.instructions(best.order, func() bool { return false })
	if improving {
		r.improve(ctx, o, gen, best, g, result)
	}
	prog, err := emit(p, gen.steps())
	if err != nil {
		return nil, err
	}
	result.Program, result.Copies = prog, gen.total()
	return result, nil
}

// trials runs every variant of the generation on every sequence, and returns the
// best schedule, the first of equals, how many were completed, and whether that
// was all. Trial 0 is the deterministic one.
func (r *rivalRun) trials(order *rivalOrder, g *rivalGeneration, runs int, o Options) (best *rivalResult, complete int, ended bool) {
	variants := g.variants(r)
	total := runs * variants
	sequences := make([]*sequence, runs)
	for i := range sequences {
		sequences[i] = &sequence{left: variants}
	}
	var (
		next atomic.Int64
		mu   sync.Mutex
		wg   sync.WaitGroup
		done int
	)
	for range min(max(o.Threads, 1), total) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= total || r.stop() {
					return
				}
				run := i / variants
				seed := mix(mix(o.Seed) + uint64(i))
				s := sequences[run]
				gates := s.get(func() []int32 {
					return order.make(r.net, ranks{seed: mix(mix(o.Seed) ^ uint64(run)), random: run > 0}, r.stop)
				})
				var res *rivalResult
				if gates != nil {
					res = r.generate(g, gates, i%variants, seed)
				}
				mu.Lock()
				if s.left--; s.left == 0 {
					s.gates = nil // may be many
				}
				done++
				if res != nil {
					complete++
					res.trial, res.variant, res.seed, res.order = i, i%variants, seed, gates
					if res.better(best) {
						best = res
					}
				}
				copies := -1
				if best != nil {
					copies = best.copies
				}
				o.report(Progress{Phase: "schedules of " + order.name, Done: done, Total: total, Best: copies})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return best, complete, done == total && !r.stop()
}

// sequence is an execution sequence that is made when it is first needed.
type sequence struct {
	once  sync.Once
	gates []int32
	left  int // variants that still need it
}

func (s *sequence) get(f func() []int32) []int32 {
	s.once.Do(func() { s.gates = f() })
	return s.gates
}

// improve is the iterative improvement of section III-C, with the generation
// that made the schedule. gen holds the result.
func (r *rivalRun) improve(ctx context.Context, o Options, gen rivalGenerator, best *rivalResult, g *rivalGeneration, result *Result) {
	gen.rewind(0)
	base := newBaseline(gen, best.order, func() bool { return false })
	gen.rewind(0)
	gens := make([]generator, max(o.Threads, 1))
	for i := range gens {
		gens[i] = g.generator(r, best.variant, best.seed)
	}
	effort := masimEfforts[min(o.Effort, High)]
	base, passes, done := improve(ctx, base, gens, improveOptions{
		passes: effort.passes,
		steps:  effort.steps,
		seed:   mix(o.Seed ^ 0x696d70726f7665),
		report: func(pass, copies int) {
			o.report(Progress{Phase: "improvement passes", Done: pass, Best: copies})
		},
	})
	result.Trials += passes
	result.Stopped = !done
	gen.redo(base.log)
}
