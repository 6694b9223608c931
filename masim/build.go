package masim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/netlist/gen"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// BuildOptions say how [Build] makes a program of a circuit.
type BuildOptions struct {
	// Options are those of the scheduler. The effort and the seed are also those of the
	// synthesis; those bounds that are set are not computed.
	Options
	Scheduler Scheduler     // the zero value is the first of [Schedulers]
	Geometry  sram.Geometry // of the machine
	// Graph has the gates to schedule. Nil means those of the circuit: as they are if
	// they are MAJ and XOR gates, see [xmg.IsXMG], else made few by [xmg.Synthesize].
	Graph    *xmg.Graph
	Patterns int  // that the program is executed on; 0 means DefaultPatterns
	Prove    bool // also prove the program equal to the circuit for all inputs
	// Budget is the time until ctx will end, for phases to share; 0 means that it is
	// not known. With Prove a third of it is for the proof.
	Budget time.Duration
}

// Built is a verified program and how it came about.
type Built struct {
	Network *netlist.Network
	Graph   *xmg.Graph // what was scheduled
	Problem Problem
	Result  *Result
	Replay  *Report          // of [Check]
	Verdict *VerifyReport    // of [Verify], without a mismatch
	Proof   *xmg.Equivalence // of [Prove] if that was asked for; else nil
	Bound   Bound            // of schedules such as this one
	Energy  *EnergyBound     // where gates may be computed again; else nil
	Stopped bool             // ctx ended before synthesis, search or verification did
	Effort  Effort           // of the search: a synthesis that was stopped leaves Fast
}

// ErrUnverified is what errors of programs that failed a check are: a defect of the
// scheduler, or of what checks.
var ErrUnverified = errors.New("check failed")

type unverified struct{ error }

func (unverified) Is(target error) bool { return target == ErrUnverified }

func (e unverified) Unwrap() error { return e.error }

// ErrStopped is wrapped, beside the cause of the context, by the errors of what was
// stopped before there was anything to deliver.
var ErrStopped = errors.New("stopped")

// The shares of a budget that go to synthesis and to bounds, one in so many.
const (
	synthesisShare = 3
	boundShare     = 6
)

// errShare is the cause of the end of what comes before a proof.
var errShare = errors.New("its share of the budget")

// leastPatterns are run in any case.
const leastPatterns = 64

// LateGates is how many gates a graph may have for a search to begin when ctx has
// ended: so many are scheduled in about a second.
const LateGates = 500_000

// BuildFile reads a circuit and builds a program, see [Build].
func BuildFile(ctx context.Context, path string, o BuildOptions) (*Built, error) {
	n, err := ReadCircuit(ctx, func() (*netlist.Network, error) {
		return netlist.ReadFileWith(path, netlist.ReadOptions{Words: gen.Words{}})
	})
	if err != nil {
		return nil, err
	}
	return Build(ctx, n, o)
}

// ReadCircuit reads a circuit by a function, [netlist.ReadFile] for one, until ctx ends;
// then the error wraps [ErrStopped], and the function is left to itself.
func ReadCircuit(ctx context.Context, read func() (*netlist.Network, error)) (*netlist.Network, error) {
	type result struct {
		n   *netlist.Network
		err error
	}
	if ctx.Err() != nil { // else what is read fast enough might be taken
		return nil, stoppedBefore(ctx, "the circuit was read")
	}
	done := make(chan result, 1)
	go func() {
		n, err := read()
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-ctx.Done():
		return nil, stoppedBefore(ctx, "the circuit was read")
	}
}

func stoppedBefore(ctx context.Context, what string) error {
	return fmt.Errorf("masim: %w by %w before %s", ErrStopped, context.Cause(ctx), what)
}

// Build makes gates of a circuit, schedules them, replays the program by the rules of
// the machine (see [Check]) and executes it beside the circuit (see [Verify]). What
// it returns has passed both.
//
// When ctx ends, every phase ends with the best it has, and the phases after it do the
// least that they must: a program is replayed and executed on some patterns in any
// case. That takes about a second, and one more for each million gates. An error wraps
// [ErrStopped] if there was no schedule by then, [ErrInfeasible] if none was found, and
// is [ErrUnverified] if a check failed.
func Build(ctx context.Context, n *netlist.Network, o BuildOptions) (*Built, error) {
	b := &Built{Network: n, Effort: o.Effort}
	if o.Scheduler.Run == nil {
		o.Scheduler = Schedulers[0]
	}
	search := ctx
	if o.Prove && o.Budget > 0 {
		var cancel context.CancelFunc
		search, cancel = context.WithTimeoutCause(ctx, o.Budget*2/3, errShare)
		defer cancel()
	}
	if err := b.synthesize(search, o); err != nil {
		return nil, err
	}
	b.Problem = Problem{Graph: b.Graph, Geometry: o.Geometry}
	if err := b.Problem.Validate(); err != nil {
		return nil, err
	}
	b.bound(search, &o)
	if err := b.schedule(search, o); err != nil {
		return nil, err
	}
	if err := b.verify(ctx, o); err != nil {
		return nil, err
	}
	return b, nil
}

// phases turns the reports of package xmg into those of a search.
func (o *Options) phases() func(xmg.Progress) {
	return func(m xmg.Progress) { o.report(Progress{Phase: m.Phase, Done: m.Done, Total: m.Total, Best: -1}) }
}

// synthesize makes the graph, if there is none.
func (b *Built) synthesize(ctx context.Context, o BuildOptions) error {
	if b.Graph = o.Graph; b.Graph != nil {
		return nil
	}
	g, stopped, err := Synthesize(ctx, b.Network, o.Options, o.Budget)
	if err != nil {
		return err
	}
	b.Graph = g
	if stopped {
		b.Stopped, b.Effort = true, Fast
	}
	return nil
}

// Synthesize makes the graph that [Build] schedules: the gates of a circuit as they are
// if they are MAJ and XOR gates, else made few until ctx ends, which it reports, or a
// share of the budget is used up.
func Synthesize(ctx context.Context, n *netlist.Network, o Options, budget time.Duration) (g *xmg.Graph, stopped bool, err error) {
	o.report(Progress{Phase: "making gates", Best: -1})
	whole := ctx
	if n.NumGates() <= LateGates {
		whole = context.WithoutCancel(ctx) // it takes no time, and so there is a result
	}
	g, err = xmg.FromNetwork(whole, n, xmg.Options{NoMap: true, Progress: o.phases()})
	switch {
	case err != nil && whole.Err() != nil:
		return nil, true, stoppedBefore(ctx, "there were gates to schedule")
	case err != nil || xmg.IsXMG(n):
		return g, false, err
	}
	part, cancel := share(ctx, budget, synthesisShare)
	defer cancel()
	g, _, err = xmg.Synthesize(part, g, xmg.SynthOptions{Effort: o.Effort, Seed: o.Seed, Progress: o.phases()})
	return g, ctx.Err() != nil, err
}

// share returns a context for a part of a budget.
func share(ctx context.Context, budget time.Duration, part time.Duration) (context.Context, context.CancelFunc) {
	if budget <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, budget/part)
}

// bound computes the bounds, once for the search and for who asks how good it is.
func (b *Built) bound(ctx context.Context, o *BuildOptions) {
	o.report(Progress{Phase: "bounding copies", Best: -1})
	part, cancel := share(ctx, o.Budget, boundShare)
	defer cancel()
	switch {
	case o.Rematerialize:
		b.Bound = LowerBoundRematerialized(part, b.Problem)
		if o.EnergyBound == nil {
			e := LowerBoundEnergy(part, b.Problem, o.energy())
			o.EnergyBound = &e
		}
		b.Energy = o.EnergyBound
	case o.Bound != nil:
		b.Bound = *o.Bound
	default:
		b.Bound = LowerBound(part, b.Problem)
		o.Bound = &b.Bound
	}
}

// schedule runs the scheduler.
func (b *Built) schedule(ctx context.Context, o BuildOptions) error {
	o.report(Progress{Phase: "scheduling", Best: -1})
	search, options := ctx, o.Options
	options.Effort = b.Effort
	if ctx.Err() != nil && b.Graph.NumGates() <= LateGates {
		var cancel context.CancelFunc
		search, cancel = xmg.Grace(ctx)
		defer cancel()
	}
	r, err := o.Scheduler.Run(search, b.Problem, options)
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(err, ErrInfeasible):
		return stoppedBefore(ctx, "the first schedule was complete")
	case err != nil:
		return err
	}
	b.Result = r
	b.Stopped = b.Stopped || r.Stopped
	if r.Optimal && r.Copies > b.Bound.Copies {
		b.Bound = Bound{Copies: r.Copies, Reason: "a search of all states of the memory found no schedule of fewer copies"}
	}
	return nil
}

// verify checks the program twice or, with a proof, three times.
func (b *Built) verify(ctx context.Context, o BuildOptions) error {
	var err error
	if b.Replay, err = Check(b.Graph, b.Result.Program, CheckOptions{Rematerialize: o.Rematerialize}); err != nil {
		return unverified{fmt.Errorf("scheduler %s made a program that breaks a rule: %w", o.Scheduler.Name, err)}
	}
	b.Verdict, err = Verify(ctx, b.Network, b.Result.Program, VerifyOptions{
		Patterns: o.Patterns, Least: leastPatterns, Seed: o.Seed, Threads: o.Threads,
		Progress: func(done, total int) {
			o.report(Progress{Phase: "verifying", Done: done, Total: total, Best: b.Replay.Copies})
		},
	})
	switch {
	case err != nil && (ctx.Err() == nil || b.Verdict == nil || b.Verdict.Patterns < leastPatterns && !b.Verdict.Exhaustive):
		return unverified{err}
	case !b.Verdict.Equal():
		return unverified{fmt.Errorf("the program does not compute the circuit: %v", b.Verdict.First)}
	case err != nil:
		b.Stopped = true
	}
	if !o.Prove {
		return nil
	}
	circuit, err := xmg.FromNetwork(ctx, b.Network, xmg.Options{NoMap: true, Progress: o.phases()})
	if err != nil && ctx.Err() == nil {
		return err
	}
	proof := xmg.Equivalence{Verdict: xmg.Undecided}
	if err == nil {
		proof, err = Prove(ctx, circuit, b.Result.Program, xmg.EquivalenceOptions{Progress: o.phases()})
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	b.Proof = &proof
	return nil
}
