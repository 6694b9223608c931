package multicore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/core"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/tc"
	"github.com/bitsched/bitsched/tile/uop"
)

// Options say where and how a program runs.
type Options struct {
	Machine *tile.Machine
	Threads int    // of the program, one a core from the first core on
	Config  string // one of Configurations, "" for the first
	// Warm lets arrays be in the L3 when the run begins, as far as they fit; what stays
	// are the lines of the last ones.
	Warm      bool
	MaxCycles int64 // 0: no limit
	Seed      uint64
	Jitter    *Jitter   // nil: nothing is random in time
	Trace     *Trace    // nil: none
	Sample    *Sampling // nil: all of the run is simulated in time
	// Inject disturbs streams on purpose; nil: nothing does. Its seed is that of the run.
	Inject *Inject
	// Offload executes parts of the program elsewhere; nil: threads execute all of it.
	Offload Offload
	// Keeps, if it is not nil, says whether loops stay in the cores at present, on a machine that has
	// both prefetchers and the streams of Config.
	Keeps func() bool
	// Intercept breaks messages of streams, for tests; see machine.Machine.
	Intercept func(m *se.Message) bool
	// Broken leaves a part of the protocol of streams out, for tests.
	Broken se.Broken
	// Plain executes each cycle of loops that wait for other threads, for tests: it changes nothing.
	Plain bool
	// Progress is called from time to time, if it is not nil.
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	Cycles   int64
	MicroOps uint64
	Share    float64 // of the iterations of loops whose number is known
	Seconds  float64 // on the host
}

// Errors of runs.
var (
	// ErrInternal says that a value in the machine is not that of the program.
	ErrInternal = errors.New("multicore: internal check failed")
	// ErrMaxCycles says that a run has not ended within its cycles.
	ErrMaxCycles = errors.New("multicore: the program has not ended")
	// ErrDeadlock says that nothing can happen any more.
	ErrDeadlock = machine.ErrDeadlock
)

// progressCycles is how many cycles pass between looks at the clock of the host.
const progressCycles = 1 << 14

// Run executes a program. If the error is that of the context, ErrMaxCycles or
// ErrDeadlock, the report says what was done so far.
func Run(ctx context.Context, p *Program, opt Options) (*Report, error) {
	list, err := RunTogether(ctx, []Job{{p, opt}})
	if list == nil {
		return nil, err
	}
	return list[0], err
}

// Job is a program that runs beside others, on as many cores as it has threads.
type Job struct {
	Program *Program
	Options Options
}

// RunTogether executes programs at the same time on one machine, on neighbouring cores in their
// order. All have the machine, the configuration and the seed of the first. The reports are theirs
// as far as cores and their caches go; what is behind these is of all. Errors are those of Run.
func RunTogether(ctx context.Context, jobs []Job) ([]*Report, error) {
	all, err := newRunners(ctx, slices.Clone(jobs))
	if err != nil {
		return nil, err
	}
	m := all[0].m
	err = runAll(ctx, all)
	for _, r := range all {
		r.settle()
	}
	all[0].opt.Trace.finish(m.Engine.Now())
	var reports []*Report
	for _, r := range all {
		reports = append(reports, r.report())
	}
	for _, r := range all {
		if err == nil && r.opt.Offload != nil {
			if err = r.opt.Offload.Finish(); err == nil {
				err = r.failed(ctx, m.Continue(ctx, event.Forever))
			}
		}
	}
	for _, r := range all {
		if err == nil {
			err = r.collect()
		}
	}
	switch {
	case err == nil:
	case errors.Is(err, ErrMaxCycles), errors.Is(err, ErrDeadlock), ctx.Err() != nil:
		for _, t := range reports {
			t.Stopped = err.Error()
		}
	default:
		return nil, err
	}
	return reports, err
}

// newRunners builds a machine with its programs.
func newRunners(ctx context.Context, jobs []Job) (all []*runner, err error) {
	opt := &jobs[0].Options
	spec, err := machine.Of(opt.Machine)
	if err != nil {
		return nil, err
	}
	if spec.Pages != nil {
		spec.Pages.Seed = opt.Seed + opt.Jitter.seed()
	}
	config := &Configurations[0]
	if opt.Config != "" {
		if config, err = FindConfiguration(opt.Config); err != nil {
			return nil, err
		}
	}
	spec.Core.Plain = opt.Plain
	first, from := 0, uint64(firstAddress)
	for i := range jobs {
		r := &runner{p: jobs[i].Program, opt: &jobs[i].Options, spec: spec, first: first, start: time.Now()}
		o := r.opt
		switch {
		case o.Threads < 1 || o.Threads > opt.Machine.Banks():
			return nil, fmt.Errorf("multicore: %d threads, expected 1 to %d, one for each core of %s", o.Threads, opt.Machine.Banks(), opt.Machine.Name)
		case first+o.Threads > opt.Machine.Banks():
			return nil, fmt.Errorf("multicore: %d threads of programs together, expected at most %d, one for each core of %s", first+o.Threads, opt.Machine.Banks(), opt.Machine.Name)
		case len(jobs) > 1 && (o.Sample != nil || o.Trace != nil || o.Inject != nil):
			return nil, fmt.Errorf("multicore: several programs with samples, a trace, or streams that are ended on purpose, expected none of them")
		}
		if i == 0 {
			if err := config.apply(spec, opt); err != nil {
				return nil, err
			}
		}
		streams, err := config.streams(r.p, opt.Machine, o)
		if err != nil {
			return nil, err
		}
		var units *micro.Units
		if o.Offload != nil {
			t := o.Offload.Tensor()
			t.Node, t.Owner = first, len(spec.Tensors)
			spec.Tensors, units = append(spec.Tensors, t), o.Offload.Units()
		}
		if r.code, err = r.p.micro(opt.Machine, o, from, streams, units); err != nil {
			return nil, err
		}
		if o.Sample != nil && r.code.Locks() {
			return nil, fmt.Errorf("multicore: samples of loops whose atomic operations take old values at the L3, expected a run of all: lines stay locked between windows")
		}
		if s := o.Sample; s != nil && (!(s.Share > 0 && s.Share < 1) || s.Window < 0 || o.Trace != nil) {
			return nil, fmt.Errorf("multicore: samples of %g of the time in windows of %d cycles, expected a share between 0 and 1 and no trace", s.Share, s.Window)
		}
		for _, s := range r.code.Segments() {
			from = max(from, s.Addr+uint64(len(s.Data)))
		}
		first += o.Threads
		all = append(all, r)
	}
	m, err := machine.New(spec)
	if err != nil {
		return nil, err
	}
	m.Intercept = opt.Intercept
	opt.Jitter.refresh(m)
	owner := 0
	for _, r := range all {
		r.m = m
		if o := r.opt.Offload; o != nil {
			r.tensor = m.Tensors[owner]
			owner++
			r.tensor.Register(r.code.UnitAddress()/mem.LineBytes, m.Cores[r.first].Owned)
			if err := o.Attach(ctx, m, r.tensor, r.code); err != nil {
				return nil, err
			}
		}
		r.watch()
		r.load()
		r.sampler = newSampler(r)
		r.opt.Trace.attach(r)
	}
	return all, nil
}

// runner is a run.
type runner struct {
	p     *Program
	opt   *Options
	spec  *machine.Spec
	code  *micro.Program
	m     *machine.Machine
	start time.Time
	first int // core

	tensor *tc.Core // nil: none

	sampler *sampler // nil: none

	stages []int64 // cycles of each
	stage  int     // that thread 0 is in, -1 before the first
	since  int64   // which cycle
	shown  time.Time
}

// load puts the segments of the program into memory.
func (r *runner) load() {
	segments := r.code.Segments()
	for i := range segments {
		s := &segments[i]
		r.m.Write(s.Addr, s.Data)
		if r.opt.Warm && i < len(segments)-1 { // the last one is what threads share
			for line := s.Addr / mem.LineBytes; line*mem.LineBytes < s.Addr+uint64(len(s.Data)); line++ {
				r.m.Preload(line)
			}
		}
		s.Data = nil
	}
}

// cores are those of the program.
func (r *runner) cores() []*core.Core { return r.m.Cores[r.first : r.first+r.opt.Threads] }

// settle brings counters of cores to the present cycle.
func (r *runner) settle() {
	for _, c := range r.cores() {
		c.Settle()
	}
}

// runAll lets the machine run to the end of all programs.
func runAll(ctx context.Context, all []*runner) error {
	watches := make([]watchdog, len(all))
	for _, r := range all {
		for i, t := range r.code.Threads() {
			if r.m.StreamCores != nil {
				r.m.StreamCores[r.first+i].Run(r.code.Source(i), r.code.PCs())
			}
			r.cores()[i].Start(t)
		}
		r.shown = r.start
	}
	done := func() bool { return !slices.ContainsFunc(all, func(r *runner) bool { return !r.done() }) }
	r := all[0]
	for r.m.Engine.Next() != event.Forever {
		until := r.m.Engine.Now() + progressCycles
		over := done() // what is left are timers
		if r.opt.MaxCycles > 0 && !over {
			until = min(until, r.opt.MaxCycles)
		}
		if t := r.opt.Trace; t != nil {
			until = min(until, t.from+t.Slice)
		}
		if s := r.sampler; s != nil && !over {
			until = min(until, s.next)
		}
		if err := r.m.Continue(ctx, until); err != nil {
			return r.failed(ctx, err)
		}
		if t := r.opt.Trace; t != nil && until == t.from+t.Slice {
			r.settle()
			t.step(until)
		}
		for i, r := range all {
			if watches[i].stuck(r) {
				return fmt.Errorf("%w: since cycle %d threads only wait: %s", ErrDeadlock, watches[i].since, r.waits())
			}
		}
		if s := r.sampler; s != nil && r.m.Engine.Now() == s.next && !r.done() {
			r.settle()
			if err := s.step(ctx, s.next); err != nil {
				return r.failed(ctx, err)
			}
		}
		r.show()
		if r.opt.MaxCycles > 0 && r.m.Engine.Now() >= r.opt.MaxCycles {
			switch bank := r.pending(); {
			case !done():
				return fmt.Errorf("%w in %d cycles: %s", ErrMaxCycles, r.opt.MaxCycles, r.waits())
			case bank >= 0:
				return fmt.Errorf("%w in %d cycles: bank %d still has streams", ErrMaxCycles, r.opt.MaxCycles, bank)
			}
		}
	}
	return r.failed(ctx, r.m.Continue(ctx, event.Forever))
}

// show tells from time to time how far the run is.
func (r *runner) show() {
	if now := time.Now(); r.opt.Progress != nil && now.Sub(r.shown) > 50*time.Millisecond {
		r.shown = now
		r.opt.Progress(Progress{r.sampler.cycles(r.m.Engine.Now()), r.microOps(), r.code.Done(), now.Sub(r.start).Seconds()})
	}
}

// watchdog finds threads that wait for each other in loops, which a machine cannot tell
// from work, also where one of them waits for an answer that never comes.
type watchdog struct {
	since int64
	work  uint64
	done  []uint64 // micro-ops of each core at that time
}

// patience is how many cycles all threads may do nothing but wait.
const patience = 2_000_000

// stuck looks whether anything was committed but loads that a thread waits for, and the
// comparisons and branches of the loops around them, or computed near the memory.
func (w *watchdog) stuck(r *runner) bool {
	now, work := r.m.Engine.Now(), uint64(0)
	if r.opt.Offload != nil {
		work = r.opt.Offload.Progress()
	}
	for _, c := range r.cores() {
		n := &c.Counters
		work += n.Committed - n.Kinds[uop.IntALU] - n.Kinds[uop.Branch] - n.Awaited
	}
	for _, b := range r.m.StreamBanks {
		work += b.Counters.Computed
	}
	if work != w.work || w.done == nil {
		w.work, w.since, w.done = work, now, w.done[:0]
		for _, c := range r.cores() {
			w.done = append(w.done, c.Counters.Committed)
		}
	}
	if now-w.since <= patience || r.done() {
		return false
	}
	for i, c := range r.cores() {
		if !c.Done() && !c.Awaits() && c.Counters.Committed != w.done[i] {
			return false
		}
	}
	return true
}

// failed says what an error of the machine is.
func (r *runner) failed(ctx context.Context, err error) error {
	var bounds *stream.BoundsError
	switch {
	case err == nil, errors.Is(err, ErrDeadlock), ctx.Err() != nil, errors.As(err, &bounds):
		return err
	}
	return fmt.Errorf("%w: %w", ErrInternal, err)
}

func (r *runner) done() bool {
	return !slices.ContainsFunc(r.cores(), func(c *core.Core) bool { return !c.Done() })
}

// pending is the first bank that has streams or anything of them, -1 if none has.
func (r *runner) pending() int {
	return slices.IndexFunc(r.m.StreamBanks, func(b *se.Bank) bool { return b.Pending() })
}

// waits says what the first cores wait for that are not done.
func (r *runner) waits() (what string) {
	text := ""
	if r.tensor != nil {
		if text = r.tensor.Waits(); text != "" {
			text += "; "
		}
		defer func() { what = text + what }()
	}
	return r.waitsOfCores()
}

func (r *runner) waitsOfCores() string {
	text, more := "", 0
	for i, c := range r.cores() {
		switch {
		case c.Done():
		case text == "":
			text = fmt.Sprintf("core %d %s%s", r.first+i, c.Waits(), r.element(c))
			if r.m.StreamCores != nil {
				if what := r.m.StreamCores[r.first+i].Waits(); what != "" {
					text += ", " + what
				}
			}
		default:
			more++
		}
	}
	if more > 0 {
		text += fmt.Sprintf("; %d more cores are not done", more)
	}
	return text
}

// element names the element of an array that a core waits for, "" if it is none.
func (r *runner) element(c *core.Core) string {
	addr, ok := c.WaitsAt()
	for i := range r.p.Graph.Arrays {
		a := &r.p.Graph.Arrays[i]
		n := int64(len(r.p.Memory[a.Name]))
		j := int64(sort.Search(int(n), func(j int) bool { return r.code.Address(a.Name, int64(j)) > addr })) - 1
		if ok && j >= 0 && addr-r.code.Address(a.Name, j) < uint64(a.Type.Bytes()) {
			return fmt.Sprintf(" (at element %d of array %s)", j, a.Name)
		}
	}
	return ""
}

func (r *runner) microOps() (n uint64) {
	for _, c := range r.cores() {
		n += c.Counters.Committed
	}
	if r.sampler != nil {
		n += r.sampler.forwarded
	}
	return n
}

// collect takes the elements of arrays out of the machine, and compares them with what
// the threads computed.
func (r *runner) collect() error {
	if i := r.pending(); i >= 0 {
		return fmt.Errorf("%w: the program has ended, and bank %d still has streams", ErrInternal, i)
	}
	var line [mem.LineBytes]byte
	at, contents := ^uint64(0), r.m.Contents()
	for i := range r.p.Graph.Arrays {
		a := &r.p.Graph.Arrays[i]
		data, bytes := r.p.Memory[a.Name], a.Type.Bytes()
		mask := scalar.Value(1)<<(8*bytes) - 1
		if bytes == 8 {
			mask = ^scalar.Value(0)
		}
		for j, v := range data {
			addr := r.code.Address(a.Name, int64(j))
			if l := addr / mem.LineBytes; l != at {
				line, at = contents.Line(l), l
			}
			var got scalar.Value
			for k := range bytes {
				got |= scalar.Value(line[addr%mem.LineBytes+uint64(k)]) << (8 * k)
			}
			if got != v&mask {
				return fmt.Errorf("%w: %s[%d] is %s in the machine's memory, and the threads computed %s", ErrInternal, a.Name, j, scalar.Format(a.Type, got), scalar.Format(a.Type, v&mask))
			}
			data[j] = got
		}
	}
	return nil
}
