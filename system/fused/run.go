package fused

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/core"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/tc"
)

// Configuration is a way to use arrays.
type Configuration struct {
	Name    string
	Doc     string
	cores   string // of multicore, for what stays with threads
	streams bool   // steps of regions near the memory
	lowered bool   // before the run
	predict bool   // where each part of the function runs
	tries   bool   // simulates others, and is the fastest of them
}

// Configurations are those of Infinity Stream (section 7) with arrays.
var Configurations = []Configuration{
	{Name: "in-l3", Doc: "regions in memory, lowered at run time; nothing near the memory: what is not in memory runs on cores", cores: multicore.Base},
	{Name: "inf-s", Doc: "regions in memory, with their streams near it; loops on cores have streams at the L3", cores: "near-l3", streams: true},
	{Name: "inf-s-nojit", Doc: "the same, lowered before the run", cores: "near-l3", streams: true, lowered: true},
	{Name: Auto, Doc: "each region and each other loop on cores, with streams at the L3, or in memory, as rehearsals show: base, near-l3, in-l3, inf-s and what follows from these are simulated, and the fastest is taken", tries: true},
	{Name: AutoPredicted, Doc: "the same places by closed forms and by what parts took before in the run, without rehearsals", cores: "near-l3", streams: true, predict: true},
	{Name: Oracle, Doc: "the fastest of auto's rehearsals and of each part of the function at each place, where these are few enough", tries: true},
}

// Find returns the configuration of a name, nil if there is none.
func Find(name string) *Configuration {
	for i := range Configurations {
		if Configurations[i].Name == name {
			return &Configurations[i]
		}
	}
	return nil
}

// Program is a function as threads execute it, and its tensors.
type Program struct {
	*multicore.Program
	Tensors *tdfg.Program // nil: all stays with threads
	Sizes   map[string]int64
	Arrays  *memory.Memory // of the function, as it begins
}

// Options are those of a run on cores, and what arrays need.
type Options struct {
	multicore.Options                 // Config is one of Configurations
	Decide            bool            // by Eq. 2 of the paper; otherwise all that can be is in memory
	Rehearse          RehearseOptions // of auto and oracle
	// Overlap lets thread 0 lower a region while arrays are fetched for it, and while the
	// region before is executed. BankLowering has the banks find the commands that concern
	// them (step 3 of section 4.2): thread 0 does not, and all banks get all commands.
	Overlap, BankLowering bool
	// Parts executes a region whose data exceed the arrays that compute in parts, one after
	// another; otherwise it stays on cores.
	Parts     bool
	Tile      lowering.Shape // of arrays on bitlines; nil chooses one by the heuristics of section 4.1
	Latencies string         // of operations: "" or "arrays": those of the programs that arrays execute; "paper": the formulas of the authors' simulator
	// InterceptTensor breaks messages of tensor controllers, for tests.
	InterceptTensor func(m *tc.Message) bool
	// BrokenTensor leaves a part of what keeps values right out, for tests.
	BrokenTensor Broken

	plan     *Plan        // where parts of the function are; nil: as the configuration says
	prepared func(x *run) // is called in place of the run
}

// Run executes a program. Errors are those of multicore.Run.
func Run(ctx context.Context, p *Program, opt Options) (*Report, error) {
	if c := Find(opt.Config); c != nil && c.tries {
		return NewRehearsals(p, opt).Run(ctx, opt.Config, p)
	}
	list, err := Together(ctx, []*Program{p}, opt)
	if list == nil {
		return nil, err
	}
	return list[0], err
}

// Together executes programs at the same time on one machine: each on as many cores as opt says, in
// their order, and with its share of the ways that compute, which no other has. The reports are in
// that order, too. Errors are those of multicore.RunTogether.
func Together(ctx context.Context, programs []*Program, opt Options) ([]*Report, error) {
	c := Find(opt.Config)
	if opt.plan != nil {
		c = opt.plan.configuration()
	}
	if c == nil {
		return nil, fmt.Errorf("fused: configuration %q, expected one of %d", opt.Config, len(Configurations))
	}
	switch {
	case len(programs) > 1 && opt.Machine.L3.ComputeWays < len(programs):
		return nil, fmt.Errorf("fused: %d programs, expected at most one for each of %d ways that compute", len(programs), opt.Machine.L3.ComputeWays)
	case len(programs) > 1 && (opt.Parts || c.predict || c.tries):
		return nil, fmt.Errorf("fused: several programs with configuration %s or regions in parts, expected in-l3, inf-s or inf-s-nojit, as a whole", c.Name)
	case opt.Sample != nil:
		return nil, fmt.Errorf("fused: configuration %s with samples, expected a run of all", c.Name)
	case opt.Machine.Memory.Placement == "random-4k":
		return nil, fmt.Errorf("fused: configuration %s with memory.placement random-4k, expected arrays that are contiguous: the layout override table has physical ranges", c.Name)
	case opt.Machine.L3.Replacement == "tree-plru":
		return nil, fmt.Errorf("fused: configuration %s with l3.replacement tree-plru, expected lru or brrip, which reserved ways leave alone", c.Name)
	case opt.Latencies != "" && opt.Latencies != "arrays" && opt.Latencies != "paper":
		return nil, fmt.Errorf("fused: latencies %q, expected arrays or paper", opt.Latencies)
	}
	var jobs []multicore.Job
	var all []*run
	var share *shared
	if len(programs) > 1 {
		share = newShared(opt.Machine, len(programs))
	}
	for i, p := range programs {
		x := newRun(c, p, opt)
		if share != nil {
			share.enter(x, i)
		}
		cores := opt.Options
		cores.Config, cores.Offload = c.cores, x
		if x.predictor != nil && (opt.plan == nil || opt.plan.both()) {
			cores.Keeps = func() bool { return x.predictor.mode == OnCores }
		}
		all = append(all, x)
		jobs = append(jobs, multicore.Job{Program: p.Program, Options: cores})
	}
	made, err := multicore.RunTogether(ctx, jobs)
	for _, x := range all {
		if x.stop != nil {
			x.stop()
		}
	}
	if made == nil {
		if err == nil {
			err = errors.New("fused: no report")
		}
		return nil, err
	}
	var reports []*Report
	for i, x := range all {
		x.report.Report = made[i]
		x.finish()
		reports = append(reports, x.report)
	}
	return reports, err
}

func newRun(c *Configuration, p *Program, opt Options) *run {
	x := &run{config: c, p: p, opt: opt, machine: opt.Machine, timing: tile.NewTiming(opt.Machine), lost: map[string]map[uint64]bool{}, inParts: map[*unit]*system.Parts{}, parts: map[*tdfg.Graph]*system.Parts{}, pending: map[string]span64{}, borrowed: map[string]span64{}, wrote: map[string]bool{}}
	x.report = &Report{Config: c.Name, Decide: opt.Decide, Latencies: opt.Latencies}
	if p.Tensors != nil {
		x.units = align(p.Tensors, p.Graph)
		x.scalars()
	}
	if c.predict || opt.plan != nil {
		x.predictor = newPredictor(x)
	}
	return x
}

// run is a run. It is what multicore offloads to, what the controllers ask for the bytes
// of lines, and what surrounds the arrays.
type run struct {
	config  *Configuration
	p       *Program
	opt     Options
	machine *tile.Machine
	timing  tile.Timing
	report  *Report
	units   []*unit

	ctx     context.Context
	m       *machine.Machine
	tensor  *tc.Core
	node    int // the first core
	code    *micro.Program
	share   *shared           // with other programs; nil: there are none
	array   int               // the first one of its own
	session *system.Session   // that has arrays on bitlines, if one has
	layouts []*system.Session // of the units
	mem     *memory.Memory    // of the sessions
	ranges  []place           // of arrays, by address
	first   map[string]int64  // where the windows of a part begin in arrays, in elements

	// What is too large as a whole, and is executed in parts: all of a unit by the part, or else
	// graph by graph.
	inParts map[*unit]*system.Parts
	parts   map[*tdfg.Graph]*system.Parts

	interleave int        // bytes that lie in a bank of the L3 together
	predictor  *predictor // nil: of a configuration that does not choose

	unit     int // that is being executed
	values   map[string]int64
	exposed  map[string]bool // arrays that threads use outside of units
	lost     map[string]map[uint64]bool
	pending  map[string]span64 // elements that threads have not seen
	borrowed map[string]span64
	wrote    map[string]bool // of these, what streams write
	reserved bool
	work     uint64
	reached  event.Time // a unit

	// Of lowering that overlaps: when the region at hand began, when thread 0 had lowered the
	// last one, and how long it then waited for it.
	begun, lowered event.Time
	idle           int64

	// A coroutine executes regions, and waits for the machine.
	next    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	failure error
	busy    bool
	queued  bool // thread 0 waits until the coroutine is free

	lastRegion event.Time
	requests   uint64
	timer      event.Handler
	timed      bool
	releasing  bool
	seen       [2]uint64 // accesses and misses of banks when the last region ended
	ended      bool
}

// span64 is a range of elements.
type span64 struct{ from, to int64 }

func (s span64) join(t span64) span64 {
	if s.from >= s.to {
		return t
	}
	return span64{min(s.from, t.from), max(s.to, t.to)}
}

// place is where an array lies.
type place struct {
	name     string
	from, to uint64
	bytes    int
}

// commandBytes is the length of a command: opcode and wordlines, and patterns of bitlines
// and tiles as in figure 9, of up to three dimensions (assumed).
const commandBytes = 32

// preprocessCycles are those of a controller for the masks of a command (assumed).
const preprocessCycles = 4

// Tensor implements multicore.Offload.
func (x *run) Tensor() *tc.Spec {
	m := x.machine
	line := 1
	if n := m.Transpose.LinesPerCycle; n > 0 && n < 1 {
		line = int(1/n + 0.5)
	}
	return &tc.Spec{
		CacheBytes: m.Tensor.CommandCacheBytes, CommandBytes: commandBytes, Preprocess: preprocessCycles, Requests: m.Streams.L3.Requests, LineCycles: line,
		WalkInit: m.Streams.L3.ComputeInitCycles, WalkOps: max(1, int(m.Streams.L3.OpsPerCycle)), WalkLatency: m.CoreVariant().FPSIMDUnit().Cycles, HeaderBytes: m.NoC.HeaderBytes, PacketBytes: m.NoC.PacketBytes, TreeBytes: m.HTree.BandwidthBytes,
	}
}

// Units implements multicore.Offload.
func (x *run) Units() *micro.Units {
	u := &micro.Units{Begin: x.begin, End: x.end, Passed: x.passed}
	for _, v := range x.units {
		u.List = append(u.List, v.stmts)
	}
	if x.predictor != nil {
		for _, q := range x.predictor.parts[len(x.units):] {
			u.List = append(u.List, q.stmts)
		}
		if x.opt.plan != nil {
			for i := range u.List {
				u.Stay = append(u.Stay, x.opt.plan.stays(i))
			}
		}
	}
	if len(u.List) == 0 {
		return nil
	}
	return u
}

// Attach implements multicore.Offload.
func (x *run) Attach(ctx context.Context, m *machine.Machine, t *tc.Core, code *micro.Program) error {
	x.ctx, x.m, x.tensor, x.code = ctx, m, t, code
	x.interleave = m.Interleave()
	t.Host = x
	m.InterceptTensor = x.opt.InterceptTensor
	x.share.begin(m)
	if x.opt.Trace != nil {
		t.Observe = func(bank int, what string, from, to event.Time) {
			x.opt.Trace.Span(multicore.TensorBanksAre+bank, what, from, to)
		}
	}
	if x.p.Tensors == nil || x.opt.plan != nil && !x.opt.plan.uses(InMemory) {
		return x.plan()
	}
	x.mem = x.p.Arrays.Clone()
	bases := map[string]uint64{}
	for name, a := range x.mem.Arrays {
		bases[name] = code.Address(name, 0)
		x.ranges = append(x.ranges, place{name, bases[name], bases[name] + uint64(a.Bytes()), a.Type.Bytes()})
	}
	x.mem.Place(bases)
	slices.SortFunc(x.ranges, func(a, b place) int { return int(int64(a.from) - int64(b.from)) })
	opt := system.Options{Machine: x.machine, Fidelity: system.Word, Tile: x.opt.Tile, Finals: !x.config.streams, ByBank: x.config.streams}
	if x.share != nil {
		opt.Cells, opt.FirstArray = x.share.cells, x.array
	}
	if err := x.layOut(ctx, opt); err != nil {
		return err
	}
	x.judge()
	x.expose()
	x.timer = m.Engine.Handle(func(now event.Time, _ uint64) { x.tick(now) })
	return x.plan()
}

// errPrepared ends a run that was only prepared.
var errPrepared = errors.New("fused: prepared")

// plan lets a configuration that chooses places begin.
func (x *run) plan() (err error) {
	switch {
	case x.opt.prepared != nil:
		x.opt.prepared(x)
		return errPrepared
	case x.predictor == nil:
		return nil
	case x.opt.plan == nil:
		err = x.predictor.share()
	case x.opt.plan.Interleave != x.interleave:
		x.interleave = x.opt.plan.Interleave
		x.m.Share(x.interleave)
	}
	x.report.Interleave = x.interleave
	return err
}

// Progress implements multicore.Offload.
func (x *run) Progress() uint64 {
	return x.work + x.tensor.Counters.Commands + x.tensor.Counters.Fetched
}

// scalars finds values that units would need from threads, or threads from units, and that
// neither hands out.
func (x *run) scalars() {
	for _, u := range x.units {
		r := RegionReport{}
		for _, g := range u.regions {
			if r.Name != "" {
				r.Name += "+"
			}
			r.Name += g.Name
			for _, q := range g.Params {
				if s := x.p.Tensors.Scalar(q.Name); s != nil && !s.Input {
					r.Why = fmt.Sprintf("it needs %s, which the function computes", q.Name)
				}
			}
		}
		inside := map[string]bool{}
		for _, s := range u.streams {
			inside[s.Name] = true
		}
		x.p.Graph.Walk(func(_ []*stream.Loop, s *stream.Stream) {
			if inside[s.Name] {
				return
			}
			for name := range inside {
				used := s.Value != nil && s.Value.Uses(name) || s.If != nil && s.If.Uses(name) || s.Init != nil && s.Init.Uses(name)
				for _, e := range s.Index {
					used = used || e.Coef(name) != 0
				}
				if used && x.p.Tensors.Scalar(name) == nil && (s.Array != "" || x.used(s)) {
					r.Why = fmt.Sprintf("threads need %s of it", name)
				}
			}
		})
		x.report.Regions = append(x.report.Regions, r)
	}
}

// used reports whether another stream or a loop needs the value of one.
func (x *run) used(v *stream.Stream) (yes bool) {
	x.p.Graph.Walk(func(loops []*stream.Loop, s *stream.Stream) {
		if s == v {
			return
		}
		for _, e := range []*stream.Expr{s.Value, s.If, s.Init} {
			yes = yes || e != nil && e.Uses(v.Name)
		}
		for _, e := range s.Index {
			yes = yes || e.Coef(v.Name) != 0
		}
		for _, l := range loops {
			yes = yes || l.While != nil && l.While.Uses(v.Name) || l.Range.Lo.Coef(v.Name) != 0 || l.Range.Hi.Coef(v.Name) != 0
		}
	})
	return yes
}

// judge says which units cannot be in memory.
func (x *run) judge() {
	for i, u := range x.units {
		r, session := &x.report.Regions[i], x.layouts[i]
		large := func(g *tdfg.Graph) bool {
			why := session.Why(g)
			return why != nil && errors.Is(why.Err, lowering.ErrTooLarge)
		}
		if x.opt.Parts && slices.ContainsFunc(u.regions, large) {
			if parts, err := session.Parts(u.graphs); err == nil {
				x.inParts[u] = parts
			}
		}
		for _, g := range u.regions {
			why := session.Why(g)
			if why == nil {
				continue
			}
			text := why.Text()
			if x.opt.Parts {
				parts, err := session.Parts([]tdfg.Stmt{&tdfg.Region{Graph: g}})
				if err == nil {
					x.parts[g] = parts
					continue
				}
				if large(g) {
					text += "; " + err.Error()
				}
			}
			if r.Why == "" {
				r.Why = text
			}
		}
	}
}

// expose finds the arrays that threads use outside of units, or in parts of them that they
// execute.
func (x *run) expose() {
	x.exposed = map[string]bool{}
	inside := map[*stream.Stream]bool{}
	for i, u := range x.units {
		if x.report.Regions[i].Why != "" {
			continue
		}
		for _, st := range u.stmts {
			if s, ok := st.(*stream.Stream); ok {
				x.exposed[s.Array] = true // its step is taken, and what it writes replaced
			}
		}
		for _, s := range u.streams {
			inside[s] = true
		}
	}
	x.p.Graph.Walk(func(_ []*stream.Loop, s *stream.Stream) {
		if !inside[s] {
			x.exposed[s.Array] = true
		}
	})
}

// passed notes what threads took for a part.
func (x *run) passed(u int) {
	n := x.m.Engine.Now() - x.reached
	if u < len(x.units) {
		x.report.Regions[u].OnCores += n
	}
	x.took(u, n, 0)
}

// took notes what a part took, and how much of that was done once.
func (x *run) took(u int, cycles, once int64) {
	p := x.predictor
	if p == nil {
		return
	}
	q := p.parts[u]
	if x.opt.plan == nil {
		p.took(q, cycles, once)
		return
	}
	q.report.Places[q.place].Times++
	q.report.Places[q.place].Cycles += cycles
}

// begin decides about a unit, or, with places to choose from, about any part.
func (x *run) begin(u int, around map[string]int64) (bool, error) {
	values := map[string]int64{}
	for name, v := range x.p.Sizes {
		values[name] = v
	}
	for name, v := range around {
		values[name] = v
	}
	place := InMemory
	if p := x.predictor; p != nil {
		q := p.parts[u]
		if x.opt.plan != nil {
			q.place = x.opt.plan.at(u, q.report.Reached)
			q.report.Reached++
		} else if _, err := p.choose(q, values); err != nil {
			return false, err
		}
		place = q.place
		p.enter(q)
	}
	if u >= len(x.units) {
		x.enter(u)
		return false, nil
	}
	r := &x.report.Regions[u]
	r.Reached++
	there := r.Why == "" && x.session != nil
	if there && !x.config.streams {
		near, err := x.near(u, values)
		if err != nil {
			return false, err
		}
		if near != "" {
			r.Near++
			there = false
		}
	}
	if there {
		there = x.decide(u, values, place)
	}
	if p := x.predictor; p != nil && place == InMemory && !there {
		p.parts[u].place = x.threads()
	}
	x.report.choices = append(x.report.choices, there)
	x.enter(u)
	if !there {
		return false, x.settle(nil)
	}
	x.unit, x.values = u, values
	return true, nil
}

// threads is where a unit runs that cannot be in memory.
func (x *run) threads() Place {
	if x.config.cores == multicore.Base {
		return OnCores
	}
	return AtL3
}

// enter notes that a part begins.
func (x *run) enter(u int) {
	x.reached = x.m.Engine.Now()
	if p := x.predictor; p != nil && len(x.report.steps) <= maxSteps {
		x.report.steps = append(x.report.steps, step{part: u, place: p.parts[u].place, begun: x.reached, eq2: u < len(x.units) && x.report.Regions[u].Decision.InMemory})
	}
}

// near returns a step of a unit that is executed near the memory, "" if there is none.
func (x *run) near(u int, values map[string]int64) (step string, err error) {
	p := tdfg.Program{Body: x.units[u].graphs}
	err = p.Each(x.ctx, values, func(g *tdfg.Graph, values map[string]int64) error {
		if step != "" || x.inParts[x.units[u]] != nil || x.parts[g] != nil { // parts have no such steps
			return nil
		}
		step, err = x.layouts[u].Near(g, values)
		return err
	})
	return step, err
}

// decide evaluates Eq. 2, of all graphs of a unit together.
func (x *run) decide(u int, values map[string]int64, place Place) bool {
	r := &x.report.Regions[u]
	sum, err := x.worth(u, values)
	if err != nil {
		r.Why = err.Error()
	}
	if sum.Peak > 0 {
		sum.Core = float64(sum.Elements) / sum.Peak
	}
	if x.config.lowered {
		sum.JIT = 0
	}
	sum.InMemory = int64(sum.Core) > sum.Latencies+sum.JIT
	r.Decision = sum
	against := x.opt.Decide && !sum.InMemory && x.opt.plan == nil
	if err != nil || against || place != InMemory {
		r.Against++
		return false
	}
	return true
}

// worth has the terms of Eq. 2 of a unit. What cannot be executed in parts as a whole is so graph
// by graph.
func (x *run) worth(i int, values map[string]int64) (sum system.Decision, err error) {
	u := x.units[i]
	if parts := x.inParts[u]; parts != nil {
		if sum, err = parts.Worth(x.ctx, values); !errors.Is(err, system.ErrNoParts) {
			return sum, err
		}
		delete(x.inParts, u)
		sum = system.Decision{}
	}
	p := tdfg.Program{Body: u.graphs}
	err = p.Each(x.ctx, values, func(g *tdfg.Graph, values map[string]int64) error {
		d := x.layouts[i].Worth(g, values)
		if parts := x.parts[g]; parts != nil {
			if d, err = parts.Worth(x.ctx, values); err != nil {
				return err
			}
		}
		sum.Add(d)
		return nil
	})
	return sum, err
}

// end hands what a unit did to the threads.
func (x *run) end(u int) (map[string]scalar.Value, error) {
	if x.failure != nil {
		return nil, x.failure
	}
	if err := x.settle(x.exposed); err != nil {
		return nil, err
	}
	values := map[string]scalar.Value{}
	for _, s := range x.units[u].streams {
		if v, ok := x.layouts[u].Scalar(s.Name); ok && s.Kind == stream.Reduce {
			values[s.Name] = v
		}
	}
	return values, nil
}

// settle lets threads see what units wrote, of some arrays, or all.
func (x *run) settle(only map[string]bool) error {
	if x.opt.BrokenTensor == NoSettle && !x.ended {
		return nil
	}
	for _, q := range x.ranges {
		s, ok := x.pending[q.name]
		if !ok || only != nil && !only[q.name] {
			continue
		}
		delete(x.pending, q.name)
		elems, lost := x.p.Memory[q.name], x.lost[q.name]
		of := func(e int64) uint64 { return (q.from + uint64(e)*uint64(q.bytes)) / lineBytes }
		keep := func(e int64) bool { return lost != nil && lost[of(e)] }
		from := x.mem.Arrays[q.name].Elems
		for e := s.from; e < s.to; e++ {
			if !keep(e) {
				elems[e] = from[e]
			}
		}
		if err := x.session.Each(q.name, s.from, s.to, func(e int64, v scalar.Value) {
			if !keep(e) {
				elems[e] = v
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

const lineBytes = 64

// errStopped ends the coroutine of a run that was stopped.
var errStopped = errors.New("fused: stopped")

// start executes a function that may wait for the machine.
func (x *run) start(f func() error) {
	x.busy = true
	x.next, x.stop = iter.Pull(func(yield func(struct{}) bool) {
		x.yield = yield
		if err := f(); err != nil && !errors.Is(err, errStopped) {
			x.fail(err)
		}
		x.busy = false
	})
	x.step()
}

func (x *run) step() { x.next() }

func (x *run) fail(err error) {
	if x.failure == nil {
		x.failure = err
		x.m.Fail(err)
	}
}

// await lets the machine go on until something is done.
func (x *run) await(begin func(done func(now event.Time))) error {
	ended, waiting := false, false
	begin(func(event.Time) {
		ended = true
		x.work++
		if waiting {
			x.step()
		}
	})
	if ended {
		return nil
	}
	waiting = true
	if !x.yield(struct{}{}) {
		return errStopped
	}
	return x.failure
}

// pass lets cycles pass.
func (x *run) pass(cycles int64) error {
	if cycles <= 0 {
		return nil
	}
	return x.await(func(done func(event.Time)) {
		x.m.Engine.After(cycles, x.m.Engine.Handle(func(now event.Time, _ uint64) { done(now) }), 0)
	})
}

// during adds the cycles that something takes to a part of the report.
func (x *run) during(part *int64, f func() error) error {
	from := x.m.Engine.Now()
	err := f()
	*part += x.m.Engine.Now() - from
	x.traced(x.report.part(part), from)
	return err
}

// traced records what thread 0 has waited for since a cycle.
func (x *run) traced(what string, from event.Time) {
	x.opt.Trace.Span(multicore.TensorTrack, what, from, x.m.Engine.Now())
}

// Called implements tc.Host: thread 0 waits for the unit.
func (x *run) Called(event.Time) {
	if x.busy { // arrays are on their way home
		x.queued = true
		return
	}
	x.start(x.region)
}

// region executes the unit.
func (x *run) region() error {
	r, c := &x.report.Regions[x.unit], &x.report.Cycles
	from := x.m.Engine.Now()
	for i := 1; i < x.opt.Threads; i++ {
		x.m.Cores[x.node+i].Halt(true)
	}
	if err := x.during(&c.Drain, x.drain); err != nil {
		return err
	}
	x.tensor.Run(true)
	if err := x.during(&c.Flush, x.reserve); err != nil {
		return err
	}
	if err := x.change(); err != nil {
		return err
	}
	if err := x.during(&c.DRAM, x.refresh); err != nil {
		return err
	}
	if err := x.graphs(); err != nil {
		return err
	}
	x.written()
	x.tensor.Run(false)
	now := x.m.Engine.Now()
	x.opt.Trace.Span(multicore.RegionTrack, r.Name, from, now)
	r.InMemory++
	r.Cycles += now - from
	if p := x.predictor; p != nil {
		x.took(x.unit, now-from, p.done()-p.once)
	}
	c.Regions += now - from
	x.lastRegion, x.requests = now, x.tensor.Counters.Requests
	x.seen[0], x.seen[1] = x.misses()
	x.rearm()
	for i := 1; i < x.opt.Threads; i++ {
		x.m.Cores[x.node+i].Halt(false)
	}
	x.tensor.Answer(now)
	return nil
}

// change brings arrays back that lie on bitlines as another unit has them.
func (x *run) change() error {
	if x.session == x.layouts[x.unit] {
		return nil
	}
	if err := x.session.Release(x.ctx); err != nil {
		return err
	}
	x.session = x.layouts[x.unit]
	return nil
}

// graphs executes those of the unit.
func (x *run) graphs() error {
	u := x.units[x.unit]
	p := tdfg.Program{Body: u.graphs}
	if x.inParts[u] == nil && !slices.ContainsFunc(u.regions, func(g *tdfg.Graph) bool { return x.parts[g] != nil }) {
		return x.session.Run(x.ctx, p.Body, x.values)
	}
	whole := x.session
	if err := whole.Release(x.ctx); err != nil { // parts need all bitlines
		return err
	}
	part := func(part *system.Part) error {
		x.session, x.first = part.Session, part.First
		err := part.Session.Run(x.ctx, part.Body, nil)
		if err == nil {
			err = part.Session.Release(x.ctx)
		}
		x.session, x.first = whole, nil
		x.report.Parts++
		return err
	}
	if parts := x.inParts[u]; parts != nil {
		return parts.Each(x.ctx, x.values, part)
	}
	return p.Each(x.ctx, x.values, func(g *tdfg.Graph, values map[string]int64) error {
		if x.parts[g] == nil {
			return fmt.Errorf("fused: graph %s is whole, and others of its unit are in parts", g.Name)
		}
		return x.parts[g].Each(x.ctx, values, part)
	})
}

// written notes which elements threads have not seen.
func (x *run) written() {
	for _, g := range x.units[x.unit].regions {
		for _, o := range g.Outputs {
			if o.Array < 0 {
				continue
			}
			a := g.Arrays[o.Array]
			name := a.Name
			if a.View != nil {
				name = a.View.Of
			}
			n := x.mem.Arrays[name].Len()
			if b, ok := x.borrowed[name]; ok && !x.session.Has(name) {
				x.pending[name] = x.pending[name].join(b)
			} else {
				x.pending[name] = span64{0, n}
			}
		}
	}
	clear(x.borrowed)
	clear(x.wrote)
}

// quiet reports whether no request of a core of the program is under way, and without others
// nothing at a bank.
func (x *run) quiet() bool {
	if x.share == nil {
		return x.m.Quiet()
	}
	return x.m.QuietCores(x.node, x.node+x.opt.Threads)
}

// drain waits until no request of a core is under way.
func (x *run) drain() error {
	for !x.quiet() {
		if err := x.pass(4); err != nil {
			return err
		}
	}
	return nil
}

// reserve takes the ways that compute from the L3.
func (x *run) reserve() error {
	if x.reserved || x.share != nil {
		x.reserved = true
		return nil
	}
	x.reserved = true
	sets := 0
	for _, h := range x.m.Homes {
		x.report.Flushed += int64(h.Reserve(x.machine.L3.Ways - x.machine.L3.ComputeWays))
		sets = max(sets, h.Sets())
	}
	if err := x.pass(int64(sets / max(1, x.machine.L3.TagsPerCycle))); err != nil {
		return err
	}
	return x.drain()
}

// refresh fetches lines of arrays on bitlines that others have asked for.
func (x *run) refresh() error {
	if x.opt.BrokenTensor == NoRefresh {
		return nil
	}
	for _, q := range x.ranges {
		lines := x.lost[q.name]
		if len(lines) == 0 {
			continue
		}
		if x.session.Viewed(q.name) {
			if err := x.session.Drop(x.ctx, q.name); err != nil {
				return err
			}
			delete(x.lost, q.name)
			continue
		}
		if !x.session.Has(q.name) {
			delete(x.lost, q.name)
			continue
		}
		w := &system.Work{}
		sorted := make([]uint64, 0, len(lines))
		for l := range lines {
			sorted = append(sorted, l)
		}
		slices.Sort(sorted)
		for _, l := range sorted {
			w.Runs = append(w.Runs, run1(l))
		}
		if err := x.fetch(x.session.Lines(q.name, w)); err != nil {
			return err
		}
		for _, l := range sorted {
			from, to := q.elements(l)
			x.session.Put(q.name, from, to)
		}
		x.report.Refetched += int64(len(sorted))
		delete(x.lost, q.name)
	}
	return nil
}

// elements returns those of a line of an array.
func (q *place) elements(line uint64) (from, to int64) {
	lo, hi := max(line*lineBytes, q.from), min((line+1)*lineBytes, q.to)
	return int64(lo-q.from) / int64(q.bytes), int64(hi-q.from) / int64(q.bytes)
}

// of finds the array of a line, nil if it has none.
func (x *run) of(line uint64) *place {
	i, ok := slices.BinarySearchFunc(x.ranges, line*lineBytes, func(q place, at uint64) int {
		switch {
		case q.to <= at:
			return -1
		case q.from >= at+lineBytes:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return &x.ranges[i]
}

// fetch brings lines to banks.
func (x *run) fetch(lines []tc.Lines) error {
	for i := range lines {
		inTurn(&lines[i], x.m.Group)
	}
	return x.await(func(done func(event.Time)) { x.tensor.Fetch(lines, done) })
}

func (x *run) giveBack(lines []tc.Lines) error {
	return x.await(func(done func(event.Time)) { x.tensor.Return(lines, done) })
}

// homes shares the lines of some elements out to the banks that are their homes.
func (x *run) homes(q *place, s span64) []tc.Lines {
	banks := make([]tc.Lines, x.machine.Banks())
	first, last := (q.from+uint64(s.from)*uint64(q.bytes))/lineBytes, (q.from+uint64(s.to)*uint64(q.bytes)-1)/lineBytes
	for l := first; l <= last; l++ {
		b := x.m.BankOf(l)
		banks[b].Bank = b
		banks[b].Lines = append(banks[b].Lines, l)
	}
	return slices.DeleteFunc(banks, func(l tc.Lines) bool { return len(l.Lines) == 0 })
}

func (x *run) place(name string) *place {
	i := slices.IndexFunc(x.ranges, func(q place) bool { return q.name == name })
	return &x.ranges[i]
}

// rearm looks after some time whether arrays should go back.
func (x *run) rearm() {
	if !x.timed {
		x.timed = true
		x.m.Engine.After(max(1, int64(x.machine.LOT.ReleaseCycles)/16), x.timer, 0)
	}
}

func (x *run) misses() (accesses, misses uint64) {
	for _, h := range x.m.Homes {
		accesses += h.Counters.Reads + h.Counters.Writes
		misses += h.Counters.Misses
	}
	return accesses, misses
}

// leastAccesses is how many a rate of misses is of, at least.
const leastAccesses = 1024

// tick releases arrays that are not used any more (section 5.2, delayed release).
func (x *run) tick(now event.Time) {
	x.timed = false
	over := !slices.ContainsFunc(x.m.Cores[x.node:x.node+x.opt.Threads], func(c *core.Core) bool { return !c.Done() })
	if over || x.busy || !x.session.Transposed() && !x.reserved {
		if x.busy {
			x.rearm()
		}
		return
	}
	lot := &x.machine.LOT
	accesses, misses := x.misses()
	accesses, misses = accesses-x.seen[0], misses-x.seen[1]
	why := ""
	switch {
	case x.tensor.Counters.Requests-x.requests >= uint64(lot.ReleaseRequests):
		why = "requests"
	case accesses >= leastAccesses && float64(misses) > lot.ReleaseMissRate*float64(accesses):
		why = "miss rate"
	case now-x.lastRegion >= int64(lot.ReleaseCycles):
		why = "time"
	default:
		x.rearm()
		return
	}
	x.report.Releases = append(x.report.Releases, Release{now, why})
	x.start(x.release)
}

// release brings all arrays back.
func (x *run) release() error {
	x.releasing = true
	err := x.session.Release(x.ctx)
	x.releasing = false
	if err != nil {
		return err
	}
	clear(x.lost)
	if x.share == nil { // the ways of several programs stay theirs
		for _, h := range x.m.Homes {
			h.Reserve(x.machine.L3.Ways)
		}
	}
	x.reserved = false
	if x.queued {
		x.queued = false
		return x.region()
	}
	return nil
}

// Finish implements multicore.Offload.
func (x *run) Finish() error {
	x.ended = true
	if x.session == nil || x.failure != nil {
		return x.failure
	}
	if err := x.settle(nil); err != nil {
		return err
	}
	if !x.busy {
		x.start(func() error { return x.session.Release(x.ctx) })
	}
	return x.failure
}
