package fused

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// Auto is the configuration that rehearses: the function is simulated under the plans of the
// configurations that do the same with all parts, and under others that follow from what each part took
// in these, and the fastest of all is taken. As with autotuners, rehearsals take no cycles of the run.
const Auto = "auto"

// RehearseOptions say how Auto and Oracle rehearse.
type RehearseOptions struct {
	Most    int  // simulated runs of Auto; 0: DefaultRehearsals
	Threads int  // of the host: rehearsals at a time, on which nothing depends; 0: one
	Check   bool // compare each with the sequential program, as Check does
}

// DefaultRehearsals is how many simulated runs Auto chooses from at most.
const DefaultRehearsals = 10

const (
	// hopeless is how many times the cycles of the best run a plan is expected to take that is not
	// rehearsed. Closed forms are off by up to 18 where the ends of loops are not known (docs/fused.md).
	hopeless = 32
	// second is how many times the cycles of the one that is expected to be fastest a plan may be
	// expected to take that is rehearsed beside it, without a limit.
	second = 3
	// cut is the times the cycles of the best run after which other configurations are stopped: by then
	// most of their parts were seen.
	cut = 2
	// mixGain is what a plan has to be expected to gain that is made of others.
	mixGain = 0.005
	// mostCombinations is how many plans Oracle tries at most.
	mostCombinations = 64
)

// Rehearsed says what a plan was chosen from.
type Rehearsed struct {
	Runs    []Rehearsal `json:"runs"`
	Left    []string    `json:"not_rehearsed"` // plans, with the reason
	Parts   []PartPlan  `json:"parts"`
	Seconds float64     `json:"host_seconds"` // of all runs, one after another
	Stopped bool        `json:"stopped"`      // before all were rehearsed
	// Of Oracle: plans in which each part is always at one place, and whether all were tried.
	Combinations int  `json:"combinations,omitempty"`
	Whole        bool `json:"all_combinations,omitempty"`
}

// Rehearsal is a simulated run.
type Rehearsal struct {
	Plan       string  `json:"plan"`
	Interleave int     `json:"interleave_bytes"`
	Expected   float64 `json:"expected"` // cycles; 0: of none
	Cycles     int64   `json:"cycles"`
	Cut        bool    `json:"cut"` // after these cycles, since others take less
	Chosen     bool    `json:"chosen"`
	Seconds    float64 `json:"host_seconds"`
}

// PartPlan is where a part is in the plan that was chosen, and why.
type PartPlan struct {
	Name    string      `json:"name"`
	Reached int64       `json:"reached"`
	Turns   string      `json:"turns"`
	Places  []PartPlace `json:"places"`
}

// PartPlace is a part at a place: cycles of all times together.
type PartPlace struct {
	Place    string  `json:"place"`
	Cycles   float64 `json:"cycles"`
	Measured bool    `json:"measured"` // in a rehearsal; otherwise by its closed form
}

// Rehearsals are simulated runs of a program.
type Rehearsals struct {
	program *Program // as it begins
	opt     Options
	mu      sync.Mutex // of Progress

	x      *run // that was only prepared
	e      *evidence
	whole  map[string]*rehearsal // by plan
	list   []*rehearsal          // of Auto
	left   []string
	best   *rehearsal
	chosen *rehearsal // by Auto, which may be asked for again
	rated  bool       // Auto has its best
	halted bool
}

// rehearsal is one of them.
type rehearsal struct {
	plan     *Plan
	expected float64
	limit    int64 // 0: none
	program  *Program
	report   *Report
	verdict  *multicore.Verdict
	err      error
	seconds  float64
}

// cut reports whether the run did not end within its limit.
func (r *rehearsal) cut() bool {
	return r.limit > 0 && (r.err != nil || r.report.Report.Cycles > r.limit)
}

// cycles are those until it ended, or was stopped.
func (r *rehearsal) cycles() int64 {
	if r.cut() {
		return r.limit
	}
	return r.report.Report.Cycles
}

// steps are those until the run ended or was stopped, the last one perhaps still open then.
func (r *rehearsal) steps() []step {
	list := slices.Clone(r.report.steps)
	for i := range list {
		s := &list[i]
		end := r.report.Report.Cycles
		switch {
		case i+1 < len(list):
			end = list[i+1].begun
		case r.err != nil: // it was stopped
			end = math.MaxInt64
		}
		if s.begun >= r.cycles() || i == maxSteps {
			return list[:i]
		}
		s.open = r.cut() && end > r.limit
		s.cycles = min(end, r.cycles()) - s.begun
	}
	return list
}

// NewRehearsals prepares runs of a program. Config of the options does not count.
func NewRehearsals(p *Program, opt Options) *Rehearsals {
	h := &Rehearsals{program: clone(p), opt: opt, whole: map[string]*rehearsal{}}
	if f := opt.Progress; f != nil {
		h.opt.Progress = func(q multicore.Progress) {
			h.mu.Lock()
			defer h.mu.Unlock()
			f(q)
		}
	}
	return h
}

// clone copies what runs change of a program.
func clone(p *Program) *Program {
	q, cores := *p, *p.Program
	cores.Memory = copied(p.Memory)
	q.Program = &cores
	if p.Arrays != nil {
		q.Arrays = p.Arrays.Clone()
	}
	return &q
}

func copied(m stream.Memory) stream.Memory {
	c := stream.Memory{}
	for name, elems := range m {
		c[name] = append([]scalar.Value(nil), elems...)
	}
	return c
}

// Run returns the run of a configuration, Auto, Oracle, or one that does the same with all parts, and
// leaves its memory in p. What was simulated before is not simulated again. Errors are those of
// multicore.Run, of the rehearsal that has failed.
func (h *Rehearsals) Run(ctx context.Context, config string, p *Program) (*Report, error) {
	if err := h.prepare(ctx); err != nil {
		return nil, err
	}
	var r *rehearsal
	var err error
	extra, tried := &Rehearsed{}, []*rehearsal(nil)
	switch config {
	case Auto:
		r, err = h.auto(ctx)
	case Oracle:
		r, tried, err = h.oracle(ctx, extra)
	default:
		if !Rehearses(config) {
			return nil, fmt.Errorf("fused: rehearsal of configuration %q, expected %s, %s or one of %v", config, Auto, Oracle, singles)
		}
		pl := h.pure(config)
		if r = h.whole[pl.key()]; r == nil {
			r = h.simulate(ctx, pl, 0)
			h.keep(r)
		}
		err = r.err
	}
	if r == nil || r.report == nil {
		return nil, err
	}
	if err == nil && h.opt.Trace != nil { // rehearsals have none
		opt := h.options(r.plan, h.opt.MaxCycles)
		opt.Trace = h.opt.Trace
		if _, err = Together(ctx, []*Program{clone(h.program)}, opt); err != nil {
			return nil, err
		}
	}
	for name, elems := range r.program.Memory {
		copy(p.Memory[name], elems)
	}
	report := *r.report
	report.Config = config
	if config == Auto || config == Oracle {
		h.describe(r, append(slices.Clip(h.list), tried...), extra)
		report.Rehearsed = extra
		report.Choices = nil
		if r.plan.predicted {
			report.Choices = r.report.Choices
		}
	}
	return &report, err
}

// Verdict is how the memory of a configuration that has run compares with the sequential program, nil
// if none was asked for.
func (h *Rehearsals) Verdict(r *Report) *multicore.Verdict {
	for _, q := range h.whole {
		if q.report != nil && q.report.Report == r.Report {
			return q.verdict
		}
	}
	return nil
}

// prepare builds a machine with the program on it, for closed forms.
func (h *Rehearsals) prepare(ctx context.Context) error {
	if h.x != nil {
		return nil
	}
	opt := h.options(&Plan{predicted: true}, 0)
	opt.prepared = func(x *run) { h.x = x }
	_, err := Together(ctx, []*Program{clone(h.program)}, opt)
	if h.x == nil || !errors.Is(err, errPrepared) {
		return err
	}
	h.e, err = newEvidence(h.x)
	return err
}

// Rehearses reports whether a configuration does the same with all parts, so that Auto and Oracle may have
// it among their runs.
func Rehearses(config string) bool { return slices.Contains(singles, config) }

func (h *Rehearsals) pure(config string) *Plan {
	return pure(config, len(h.x.units), len(h.x.predictor.parts), h.e.plain, h.e.wide)
}

// options are those of a run under a plan.
func (h *Rehearsals) options(pl *Plan, limit int64) Options {
	opt := h.opt
	opt.Trace, opt.MaxCycles, opt.Decide = nil, limit, false
	opt.Config, opt.plan = AutoPredicted, pl
	if pl.predicted {
		opt.plan = nil
	}
	return opt
}

// simulate runs the program under a plan, for so many cycles at most.
func (h *Rehearsals) simulate(ctx context.Context, pl *Plan, limit int64) *rehearsal {
	r := &rehearsal{plan: pl, program: clone(h.program)}
	r.limit = h.opt.MaxCycles
	if limit > 0 && (r.limit == 0 || limit < r.limit) {
		r.limit = limit
	}
	from := time.Now()
	defer func() { r.seconds = time.Since(from).Seconds() }()
	opt := h.options(pl, r.limit)
	list, err := Together(ctx, []*Program{r.program}, opt)
	r.err = err
	if list == nil {
		return r
	}
	r.report = list[0]
	if err == nil && h.opt.Rehearse.Check {
		if r.verdict, r.err = Check(ctx, r.program, copied(h.program.Memory), r.report, opt); r.err == nil && r.verdict.First != "" {
			r.err = fmt.Errorf("%w: the machine and the sequential program differ: %s", multicore.ErrInternal, r.verdict.First)
		}
	}
	return r
}

// keep notes a run that has ended.
func (h *Rehearsals) keep(r *rehearsal) {
	if r.err == nil {
		h.whole[r.plan.key()] = r
	}
}

// candidate is a plan that may be rehearsed.
type candidate struct {
	plan     *Plan
	expected float64
}

// wave rehearses plans that do not depend on each other, at most two at a time, and takes the fastest.
func (h *Rehearsals) wave(ctx context.Context, list []candidate, limit int64) ([]*rehearsal, error) {
	made := make([]*rehearsal, len(list))
	turn := make(chan struct{}, max(1, h.opt.Rehearse.Threads))
	var done sync.WaitGroup
	for i, c := range list {
		if r := h.whole[c.plan.key()]; r != nil { // as if it had been stopped, too
			again := *r
			again.limit = limit
			made[i] = &again
			continue
		}
		done.Add(1)
		turn <- struct{}{}
		go func() {
			defer done.Done()
			made[i] = h.simulate(ctx, c.plan, limit)
			<-turn
		}()
	}
	done.Wait()
	for i, r := range made {
		r.expected = list[i].expected
		h.keep(r)
		switch {
		case r.err == nil:
		case r.report != nil && r.cut() && errors.Is(r.err, multicore.ErrMaxCycles):
		case ctx.Err() != nil && h.best != nil:
			h.halted = true
			return nil, nil
		default:
			return []*rehearsal{r}, r.err
		}
		if !r.cut() && (h.best == nil || r.cycles() < h.best.cycles()) {
			h.best = r
		}
	}
	if h.best == nil { // the run may not take as long as any of these
		return made, made[0].err
	}
	for _, r := range h.whole { // what is not the best one is not asked for again, but for configurations
		if r != h.best && r != h.chosen && !slices.Contains(singles, r.plan.Name) {
			r.program = nil
		}
	}
	return made, nil
}

// learn takes runs into account.
func (h *Rehearsals) learn(made []*rehearsal) {
	for _, r := range made {
		h.list = append(h.list, r)
		h.e.learn(r.report.Interleave, r.steps(), r.cycles(), !r.cut())
	}
}

// auto rehearses, and returns the fastest run.
func (h *Rehearsals) auto(ctx context.Context) (*rehearsal, error) {
	if h.rated {
		return h.best, nil
	}
	h.best, h.chosen, h.list, h.left = nil, nil, nil, nil
	most := h.opt.Rehearse.Most
	if most == 0 {
		most = DefaultRehearsals
	}
	seen := map[string]bool{}
	var list []candidate
	for _, config := range singles {
		pl := h.pure(config)
		if seen[pl.key()] || config == inL3 && !slices.ContainsFunc(h.x.report.Regions, func(r RegionReport) bool { return r.Why == "" }) {
			continue // what cannot be in memory is as in base
		}
		seen[pl.key()] = true
		list = append(list, candidate{pl, h.e.expect(pl)})
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return compareCycles(a.expected, b.expected) })
	n := 1
	if len(list) > 1 && most > 1 && list[1].expected < second*list[0].expected {
		n = 2
	}
	made, err := h.wave(ctx, list[:n], 0)
	if err != nil {
		return made[0], err
	}
	h.learn(made)
	var next []candidate
	for _, c := range list[n:] {
		switch {
		case c.expected > hopeless*float64(h.best.cycles()):
			h.left = append(h.left, fmt.Sprintf("%s: it is expected to take %.0f cycles, more than %d times those of the best run", c.plan.Name, c.expected, hopeless))
		case n+len(next) >= most:
			h.left = append(h.left, fmt.Sprintf("%s: the number of rehearsals, at most %d, was reached", c.plan.Name, most))
		default:
			next = append(next, c)
		}
	}
	if !h.halted {
		made, err := h.wave(ctx, next, cut*h.best.cycles())
		if err != nil {
			return made[0], err
		}
		h.learn(made)
	}
	predicted := &Plan{Name: AutoPredicted, predicted: true}
	several := len(h.e.order) > 1
	for !h.halted && len(h.list) < most {
		var next []candidate
		if several && !seen[predicted.key()] {
			seen[predicted.key()] = true
			next = append(next, candidate{predicted, 0})
		}
		plans, cycles := h.e.mixes(h.starts())
		for i, pl := range plans {
			if len(next) < 2 && len(h.list)+len(next) < most && !seen[pl.key()] && cycles[i] < (1-mixGain)*float64(h.best.cycles()) {
				seen[pl.key()] = true
				next = append(next, candidate{pl, cycles[i]})
			}
		}
		if len(next) == 0 { // closed forms say little about banks
			for _, r := range h.sorted() {
				w := h.e.plain
				if r.report.Interleave == w {
					w = h.e.wide
				}
				if pl := h.places(r).mixed(mixedName, w); !seen[pl.key()] && len(next) < 2 && len(h.list)+len(next) < most {
					seen[pl.key()] = true
					next = append(next, candidate{pl, h.e.expect(pl)})
				}
			}
		}
		if len(next) == 0 {
			break
		}
		made, err := h.wave(ctx, next, h.best.cycles())
		if err != nil {
			return made[0], err
		}
		h.learn(made)
	}
	h.rated, h.chosen = !h.halted, h.best
	return h.best, nil
}

// sorted are the rehearsals, the fastest first.
func (h *Rehearsals) sorted() []*rehearsal {
	list := slices.Clone(h.list)
	slices.SortStableFunc(list, func(a, b *rehearsal) int { return compareCycles(float64(a.cycles()), float64(b.cycles())) })
	return list
}

// places is the plan of a rehearsal, or, of one that has chosen in the run, where parts were.
func (h *Rehearsals) places(r *rehearsal) *Plan {
	if !r.plan.predicted {
		return r.plan
	}
	pl := &Plan{}
	for u := range h.x.predictor.parts {
		t := turns(r.report.steps, u)
		if t == nil {
			t = []Turn{{Place: OnCores}}
		}
		pl.Parts = append(pl.Parts, t)
	}
	return pl
}

// starts are the plans that others are made of: the fastest three, and what Eq. 2 says.
func (h *Rehearsals) starts() (plans []*Plan) {
	for _, r := range h.sorted() {
		pl := h.places(r)
		if len(plans) < 3 {
			plans = append(plans, pl)
		}
		if r.plan.Name == infS {
			eq := *pl
			eq.Parts = slices.Clone(pl.Parts)
			for u := range h.x.units {
				var steps []step
				for _, s := range r.report.steps {
					if s.part == u {
						s.place = AtL3
						if s.eq2 {
							s.place = InMemory
						}
						steps = append(steps, s)
					}
				}
				if t := turns(steps, u); t != nil {
					eq.Parts[u] = t
				}
			}
			plans = append(plans, &eq)
		}
	}
	return plans
}

func compareCycles(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// describe says what was simulated, and where parts are in a run, and why.
func (h *Rehearsals) describe(chosen *rehearsal, made []*rehearsal, r *Rehearsed) {
	if !slices.ContainsFunc(made, func(q *rehearsal) bool { return q.plan.key() == chosen.plan.key() }) {
		made = append(slices.Clip(made), chosen)
	}
	for _, q := range made {
		r.Seconds += q.seconds
		r.Runs = append(r.Runs, Rehearsal{Plan: q.plan.Name, Interleave: q.report.Interleave, Expected: q.expected, Cycles: q.cycles(), Cut: q.cut(), Chosen: q.plan.key() == chosen.plan.key(), Seconds: q.seconds})
	}
	r.Left, r.Stopped = h.left, h.halted
	h.e.use(chosen.report.Interleave)
	state := make([]*state, numPlaces)
	for k := range state {
		state[k] = h.e.begin()
	}
	for u, q := range h.x.predictor.parts {
		p := PartPlan{Name: q.report.Name, Reached: chosen.report.Choices[u].Reached}
		if t := turns(chosen.report.steps, u); t != nil {
			p.Turns = turnText(t)
		}
		for k := range numPlaces {
			if !h.e.possible(u, k) {
				continue
			}
			c := PartPlace{Place: k.String(), Measured: h.e.measured(u, k)}
			for n := range p.Reached {
				if once := state[k].enter(u, k); c.Measured {
					seen := h.e.seen[u][k]
					c.Cycles += seen[min(int(n), len(seen)-1)].cycles
				} else {
					c.Cycles += h.e.cost(u, k, int(n), once)
				}
			}
			c.Cycles = math.Round(c.Cycles)
			p.Places = append(p.Places, c)
		}
		r.Parts = append(r.Parts, p)
	}
}
