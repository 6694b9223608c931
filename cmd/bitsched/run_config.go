package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
)

// configFlags are the flags of run that say on which configuration a whole function
// runs, and how.
type configFlags struct {
	configs     []string
	cores       []string
	ompThreads  int
	caches      string
	maxCycles   int64
	races       bool
	sample      float64
	inject      []string
	svg         string
	latencies   string
	overlap     bool
	timeline    bool
	inBanks     bool
	parts       bool
	with        string
	withDefines []string
	rehearsals  int

	injected *multicore.Inject
}

// configs are the names of configurations that run a whole function in time.
var configs = configNames()

func configNames() (names []string) {
	for _, c := range multicore.Configurations {
		names = append(names, c.Name)
	}
	for _, c := range fused.Configurations {
		names = append(names, c.Name)
	}
	return names
}

func (f *configFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringSliceVar(&f.configs, "config", nil, "run the whole function in time on `configurations`, not only what arrays compute: "+strings.Join(configs, ", ")+"; several give a table side by side")
	fl.StringSliceVar(&f.cores, "core", nil, "with --config, `cores` of the machine: io4, ooo4, ooo8; several give a table side by side")
	fl.IntVar(&f.ompThreads, "omp-threads", 0, "with --config, `threads` of the program, one a core; 0 for all cores")
	fl.StringVar(&f.caches, "caches", cachesCold, "with --config, where arrays are when the function is called: in memory (`cold`), or in the L3 as far as they fit (warm)")
	fl.Int64Var(&f.maxCycles, "max-cycles", 0, "with --config, stop a program that has not ended after so many `cycles`, 0 for never; --check-races ends after more iterations of loops than cores, banks and arrays could begin in them")
	fl.BoolVar(&f.races, "check-races", false, "with --config, look first for races of parallel loops that change results, and name both statements")
	fl.Float64Var(&f.sample, "sample", 0, "with --config, simulate windows in time that are so large a `share` of it, and execute what is between them without; 0 for all in time")
	fl.StringSliceVar(&f.inject, "inject", nil, "with --config, end streams on purpose, to see that the state stays precise: `alias|fault|switch[:rate]`, the probability that an access of a core seems to be aliased (0.001 if there is no rate), that a page of a range is missing (0.01), that a core gets another context in a cycle (0.0001); the same for a --seed")
	fl.StringVar(&f.svg, "svg", "", "with --config, draw what cycles went into and the traffic by class, a bar for each run, in an SVG `file`")
	fl.BoolVar(&f.timeline, "timeline", false, "with --config, print what each stage of the function took and where it ran: a call of another function, or a statement")
	fl.StringVar(&f.latencies, "latencies", latenciesArrays, "with --config in-l3, inf-s, `cycles` of operations in arrays: those of the programs that they execute (arrays), or the formulas of the authors' simulator (paper)")
	fl.BoolVar(&f.overlap, "overlap-jit", false, "with --config in-l3, inf-s, thread 0 lowers a region while arrays are fetched for it and the region before is executed")
	fl.BoolVar(&f.inBanks, "bank-lowering", false, "with --config in-l3, inf-s, banks find the commands that concern them, and thread 0 does not")
	fl.BoolVar(&f.parts, "parts", false, "with --config in-l3, inf-s, a region whose data exceed the arrays that compute is executed in parts, one after another; otherwise it stays on cores")
	fl.IntVar(&f.rehearsals, "rehearsals", fused.DefaultRehearsals, "with --config auto, simulate the function so many `times` at most before a plan is chosen, --threads of them at a time")
	fl.StringVar(&f.with, "with", "", "with --config, run another `kernel` at the same time on the other half of the cores, with half of the arrays that compute: both are compared, and what they lose by each other is printed")
	fl.StringArrayVar(&f.withDefines, "with-define", nil, "value of a size of the kernel of --with: `NAME=VALUE`")
	complete(cmd, "latencies", latenciesArrays, latenciesPaper)
	complete(cmd, "config", configs...)
	complete(cmd, "core", tile.CoreNames()...)
	complete(cmd, "caches", cachesCold, cachesWarm)
}

// Where arrays are at first.
const (
	cachesCold = "cold"
	cachesWarm = "warm"
)

// arraysOnly are the flags that say how arrays execute commands.
var arraysOnly = []string{"fidelity", "clock", "timing-only", "every", "optimize", "decide", "finals", "tile", "rows"}

// check refuses what does not go together.
func (f *configFlags) check(cmd *cobra.Command) error {
	if len(f.configs) == 0 {
		for _, flag := range []string{"core", "omp-threads", "caches", "max-cycles", "check-races", "sample", "inject", "svg", "latencies", "overlap-jit", "bank-lowering", "parts", "rehearsals", "timeline", "with", "with-define"} {
			if cmd.Flags().Changed(flag) {
				return usageError(cmd, "--%s without --config, expected --config %s", flag, strings.Join(configs, "|"))
			}
		}
		return nil
	}
	for _, c := range f.configs {
		if !slices.Contains(configs, c) {
			return usageError(cmd, "--config %q, expected %s", c, strings.Join(configs, ", "))
		}
	}
	for _, c := range f.cores {
		if !slices.Contains(tile.CoreNames(), c) {
			return usageError(cmd, "--core %q, expected %s", c, strings.Join(tile.CoreNames(), ", "))
		}
	}
	if cmd.Flags().Changed("html") {
		return usageError(cmd, "--html with --config, expected it without, or --json > FILE and bitsched report FILE -o PAGE")
	}
	for _, flag := range arraysOnly {
		if flag == "decide" && f.fused() {
			continue
		}
		if flag == "decide" && cmd.Flags().Changed(flag) {
			return usageError(cmd, "--decide without regions in memory, expected it with --config in-l3, inf-s or inf-s-nojit, or without --config")
		}
		if cmd.Flags().Changed(flag) {
			return usageError(cmd, "--%s with --config, expected it without: it says how arrays compute", flag)
		}
	}
	if f.latencies != latenciesArrays && f.latencies != latenciesPaper {
		return usageError(cmd, "--latencies %q, expected %s or %s", f.latencies, latenciesArrays, latenciesPaper)
	}
	if other := f.latencies != latenciesArrays || f.overlap || f.inBanks || f.parts; other && !f.fused() {
		return usageError(cmd, "--latencies, --overlap-jit, --bank-lowering or --parts without regions in memory, expected --config in-l3, inf-s or inf-s-nojit")
	}
	if f.caches != cachesCold && f.caches != cachesWarm {
		return usageError(cmd, "--caches %q, expected %s or %s", f.caches, cachesCold, cachesWarm)
	}
	if !(f.sample >= 0 && f.sample < 1) {
		return usageError(cmd, "--sample %g, expected 0 (all of it), or a share below 1, as in 0.05", f.sample)
	}
	if f.injected = nil; len(f.inject) > 0 {
		x, err := multicore.ParseInject(f.inject)
		if err != nil {
			return usageError(cmd, "--%s", strings.TrimPrefix(err.Error(), "multicore: "))
		}
		f.injected = x
		if !slices.ContainsFunc(f.configs, func(c string) bool { return c != multicore.Base }) {
			return usageError(cmd, "--inject with --config %s, which has no streams, expected one of %s", multicore.Base, strings.Join(configs[1:], ", "))
		}
	}
	if f.svg == "-" {
		return usageError(cmd, "--svg -, expected a file")
	}
	if len(f.withDefines) > 0 && f.with == "" {
		return usageError(cmd, "--with-define without --with, expected --with KERNEL")
	}
	if f.rehearsals < 1 {
		return usageError(cmd, "--rehearsals %d, expected 1 or more", f.rehearsals)
	}
	if cmd.Flags().Changed("rehearsals") && !f.rehearses() {
		return usageError(cmd, "--rehearsals without runs to choose from, expected --config %s or %s", fused.Auto, fused.Oracle)
	}
	if f.maxCycles < 0 {
		return usageError(cmd, "--max-cycles %d, expected 0 (no limit) or more", f.maxCycles)
	}
	return nil
}

// configRun is one run of a whole function.
type configRun struct {
	Config string `json:"config"`
	*multicore.Report
	Energy   *cost.ChipEnergy `json:"energy"`
	InMemory *fused.Report    `json:"in_memory,omitempty"` // of regions, nil without
	Arrays   *cost.ChipEnergy `json:"arrays_energy,omitempty"`
	Readings []reading        `json:"readings"`
	Checks   []configCheck    `json:"checks"`
	Checked  bool             `json:"checked"`
}

// reading is a parameter that sources set differently.
type reading struct {
	Parameter string `json:"parameter"`
	Value     string `json:"value"`
}

// configCheck is a comparison of memory after a run.
type configCheck struct {
	Oracle string `json:"oracle"`
	Holds  bool   `json:"holds,omitempty"` // of what is a definition, and no memory to compare with
	multicore.Verdict
}

// configResult is all runs of a function.
type configResult struct {
	Kernel string           `json:"kernel"`
	Sizes  map[string]int64 `json:"sizes"`
	Seed   uint64           `json:"seed"`
	Runs   []*configRun     `json:"runs"`

	Explained *cost.Table `json:"explained,omitempty"` // the table of costs, with sources
	Dropped   int64       `json:"trace_dropped"`       // events beyond the limit

	k     *workload.Kernel
	ended bool // and nothing differs: arrays have results, which are written
}

// runConfigs runs a whole function on configurations.
func (a *app) runConfigs(cmd *cobra.Command, nameOrFile string, f runFlags) error {
	machine, err := f.machine.load(cmd)
	if err != nil {
		return err
	}
	if list := machine.Unmodelled(); len(list) > 0 {
		return fmt.Errorf("bitsched: machine %s: %s is %s, and nothing depends on it yet (see bitsched machine): expected it as in a machine that comes with the program", machine.Name, list[0].Path, list[0].Value)
	}
	if f.config.ompThreads < 0 || f.config.ompThreads > machine.Banks() {
		return usageError(cmd, "--omp-threads %d, expected 1 to %d, one for each core of %s, or 0 for all", f.config.ompThreads, machine.Banks(), machine.Name)
	}
	if f.config.ompThreads == 0 {
		f.config.ompThreads = machine.Banks()
	}
	if f.threads, err = threads(cmd, f.threads); err != nil {
		return err
	}
	if len(f.config.cores) == 0 {
		f.config.cores = []string{machine.Core}
	}
	table, err := f.priced(machine)
	if err != nil {
		return err
	}
	several := len(f.config.configs)*len(f.config.cores) > 1
	if f.config.sample > 0 && f.trace != "" {
		return usageError(cmd, "--trace with --sample, expected one of them: a trace has no gaps")
	}
	if several && (f.trace != "" || f.stats != "" || len(f.kernel.data.outputs) > 0) {
		return usageError(cmd, "--trace, --stats or --output with several runs, expected one configuration and one core")
	}
	if err := a.parseData(cmd, &f.kernel.data, nameOrFile); err != nil {
		return err
	}
	if err := f.checkOutputs(a, cmd, nameOrFile); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	s := a.startStoppable(0, line, "stopping")
	defer s.end()
	k, err := a.kernelSource(cmd, nameOrFile, f.kernel)
	if err != nil {
		return err
	}
	values, err := parseValues(cmd, "-D", f.kernel.defines)
	if err != nil {
		return err
	}
	a.phase(line, "compiling")
	if err := k.CompileWhole(s.ctx, values, f.kernel.data.in, f.kernel.some); err != nil {
		return s.reasonOf(kernelError(cmd, err))
	}
	if err := kernelError(cmd, k.Known(f.kernel.data.out)); err != nil {
		return err
	}
	a.phase(line, "making arguments")
	mem, err := k.Arguments(s.ctx, f.seed, f.kernel.data.in)
	if err != nil {
		return s.reasonOf(kernelError(cmd, err))
	}
	var trace *multicore.Trace
	if f.trace != "" {
		trace = &multicore.Trace{}
	}
	if f.config.races {
		a.phase(line, "looking for races")
		if err := raced(s.ctx, k, mem.Clone(), f.config.raceLimit(machine)); err != nil {
			err = s.reasonOf(err)
			s.end()
			line.clear()
			return err
		}
	}
	r := &configResult{Kernel: k.Whole.Name, Sizes: k.Sizes, Seed: f.seed, k: k}
	var got *memory.Memory
	var failed error
	rehearsals := map[string]*fused.Rehearsals{}
	for _, config := range f.config.configs {
		for _, core := range f.config.cores {
			if failed != nil {
				break
			}
			m := *machine
			m.Core = core
			got = mem
			if several {
				got = mem.Clone()
			}
			shared := rehearsals[core]
			run, err := a.runConfig(s.ctx, line, k, got, config, &m, trace, &shared, f)
			rehearsals[core] = shared
			if run != nil {
				run.Energy = run.Report.Energy(&m, table)
				if run.InMemory != nil {
					run.Arrays = run.InMemory.Energy(&m, table)
				}
				r.Runs = append(r.Runs, run)
			}
			failed = err
		}
	}
	if (errors.Is(failed, multicore.ErrInternal) || errors.Is(failed, errDiffer)) && !f.config.races {
		// Threads that race find other values than the program, or leave others.
		a.phase(line, "looking for races")
		if again, err := k.Arguments(s.ctx, f.seed, f.kernel.data.in); err == nil {
			if err := raced(s.ctx, k, again, f.config.raceLimit(machine)); errors.Is(err, errCheck) && !errors.Is(err, stream.ErrRaceLimit) {
				failed = err
			}
		}
	}
	failed = s.reasonOf(failed)
	s.end()
	line.clear()
	if failed != nil && len(r.Runs) == 0 {
		return configError(failed)
	}
	if failed == nil {
		if err := a.writeData(&f.kernel.data, got); err != nil {
			return err
		}
		r.ended = true
	}
	// The part of a run that was stopped is worth a look; its arrays are no result.
	if f.trace != "" {
		r.Dropped = trace.Dropped()
		if err := a.writeFile(f.trace, trace.Write); err != nil {
			return err
		}
	}
	if f.config.svg != "" {
		if err := a.writeBytes(f.config.svg, r.figure()); err != nil {
			return err
		}
	}
	if f.stats != "" {
		if err := a.writeFile(f.stats, r.Runs[0].Stats().WriteText); err != nil {
			return err
		}
	}
	if f.cost.explain {
		r.Explained = table
	}
	if f.json {
		err = a.printJSON(r)
	} else {
		err = a.printText(r.text(&f))
	}
	return errors.Join(configError(failed), err)
}

// raced is an error that names the races of a function, nil if it has none.
func raced(ctx context.Context, k *workload.Kernel, m *memory.Memory, limit stream.RaceLimit) error {
	races, err := k.Races(ctx, m, limit)
	over := errors.Is(err, stream.ErrRaceLimit)
	switch {
	case len(races) > 0 && (err == nil || over):
		return fmt.Errorf("%w: %s", errCheck, strings.Join(races, "\n"))
	case over:
		return fmt.Errorf("%w: looking for races: %w, which are more than the machine begins in the cycles of --max-cycles", errCheck, err)
	}
	return err
}

// raceLimit is what --max-cycles leaves of a search for races, which has no cycles: more
// iterations than the machine begins in so many, so that no run within them is refused.
// An iteration of an open loop is at least a micro-op, of a core or the stream engine of a
// bank; one of another loop may be a byte of SIMD, or a bitline of a command.
func (f *configFlags) raceLimit(m *tile.Machine) stream.RaceLimit {
	open, lanes := 0, 0
	for _, name := range f.cores {
		one := *m
		one.Core = name
		core := one.CoreVariant()
		open, lanes = max(open, f.ompThreads*core.Width+m.Banks()*m.Streams.L3.IssueWidth), max(lanes, core.SIMDBits/8)
	}
	all := open * lanes
	if f.fused() {
		all += m.Bitlines()
	}
	cycles := float64(f.maxCycles)
	if f.sample > 0 { // cycles are those of windows
		cycles /= f.sample
	}
	iterations := func(rate int) int64 {
		if n := cycles * float64(rate); n < 1<<62 {
			return int64(n)
		}
		return 0
	}
	return stream.RaceLimit{All: iterations(all), Open: iterations(open)}
}

// configError says which errors of a run are failed checks.
func configError(err error) error {
	if errors.Is(err, multicore.ErrDeadlock) || errors.Is(err, multicore.ErrMaxCycles) {
		return fmt.Errorf("%w: %w", errCheck, err)
	}
	return err
}

// errDiffer says that arrays are not those of the sequential program.
var errDiffer = errors.New("the machine and the sequential program differ")

// runConfig is one run. The report of one that was stopped says how far it came.
func (a *app) runConfig(ctx context.Context, line *progressLine, k *workload.Kernel, m *memory.Memory, config string, machine *tile.Machine, trace *multicore.Trace, rehearsals **fused.Rehearsals, f runFlags) (*configRun, error) {
	arrays, args := k.Streams(m)
	start, before := m, arrays
	if f.check {
		start = m.Clone()
		before, _ = k.Streams(start)
		if k.Builtin != nil && k.Builtin.Whole { // the definition needs it as it was
			before, _ = k.Streams(m.Clone())
		}
	}
	p := &multicore.Program{Graph: k.Whole, Memory: arrays, Args: args, Reassociate: k.Reassociate}
	opt := multicore.Options{Machine: machine, Config: config, Threads: f.config.ompThreads, Warm: f.config.caches == cachesWarm, MaxCycles: f.config.maxCycles, Seed: f.seed, Trace: trace, Inject: f.config.injected}
	if f.config.sample > 0 {
		opt.Sample = &multicore.Sampling{Share: f.config.sample}
	}
	opt.Progress = a.cycleProgress(line, config+" "+machine.Core)
	a.phase(line, "running "+config+" "+machine.Core)
	run := func() (*configRun, error) {
		report, err := multicore.Run(ctx, p, opt)
		if report == nil {
			return nil, err
		}
		return &configRun{Config: config, Report: report, Readings: readings(machine)}, err
	}
	compare := func() (*multicore.Verdict, error) { return multicore.Check(ctx, p, before, opt) }
	if regionsIn(config) || f.shares(k, config) {
		run, compare = a.fusedRun(ctx, k, m, p, before, opt, rehearsals, &f)
	}
	r, err := run()
	if err != nil || !f.check {
		return r, err
	}
	a.phase(line, "comparing with the sequential program")
	v, err := compare()
	if err != nil {
		return r, err
	}
	r.Checks = append(r.Checks, configCheck{Oracle: "the sequential program's", Verdict: *v})
	if v.First != "" {
		return r, fmt.Errorf("%w: %s: %w: %s", errCheck, k.Whole.Name, errDiffer, v.First)
	}
	if k.Builtin != nil && k.Builtin.Whole {
		if err := k.Builtin.Check(k.Sizes, start, m); err != nil {
			return r, fmt.Errorf("%w: %s: %s", errCheck, k.Whole.Name, reason(err))
		}
		r.Checks = append(r.Checks, configCheck{Oracle: "the definition of the workload, by a plain program (Go)", Holds: true})
		r.Checked = true
		return r, nil
	}
	if k.Builtin != nil && len(f.kernel.data.in) == 0 {
		c := k.Compare(m, f.seed)
		if c.Failed {
			return r, fmt.Errorf("%w: %s: the machine and the plain program differ: %s", errCheck, k.Whole.Name, c.Reference)
		}
		plain := configCheck{Oracle: "the plain program's (Go)", Verdict: multicore.Verdict{Arrays: v.Arrays, Elements: v.Elements, Equal: v.Elements}}
		if c.Distance > 0 {
			plain.Equal, plain.Distance = 0, c.Distance
		}
		r.Checks = append(r.Checks, plain)
	}
	r.Checked = true
	return r, nil
}

// cycleProgress shows how far a run on a machine in time is.
func (a *app) cycleProgress(line *progressLine, what string) func(multicore.Progress) {
	return func(p multicore.Progress) {
		if a.progress != nil {
			a.progress(masim.Progress{Phase: "cycles", Done: int(p.Cycles), Best: -1})
		}
		rate := 0.0
		if p.Seconds > 0 {
			rate = float64(p.MicroOps) / p.Seconds / 1e6
		}
		rest := ""
		if p.Share > 0 && p.Seconds > 2 {
			rest = fmt.Sprintf(", %s of the loops, about %s left", percent(p.Share), duration(p.Seconds*(1-p.Share)/p.Share))
		}
		line.showText(fmt.Sprintf("%s: cycle %d, %.1f M micro-ops, %.2f M a second%s", what, p.Cycles, float64(p.MicroOps)/1e6, rate, rest))
	}
}

// readings are the parameters of a machine that sources set differently and that cores,
// caches or memory have.
func readings(m *tile.Machine) (list []reading) {
	for _, p := range m.Parameters() {
		if len(p.Reading) == 0 || strings.HasPrefix(p.Path, "jit.") || strings.HasPrefix(p.Path, "streams.") || strings.HasPrefix(p.Path, "l1i.") || strings.HasPrefix(p.Path, "cores.") && !strings.HasPrefix(p.Path, "cores."+m.Core+".") {
			continue
		}
		list = append(list, reading{p.Path, p.Value})
	}
	return list
}

// text is the report for a person: of one run all, of several a table.
func (r *configResult) text(f *runFlags) string {
	if !f.config.timeline {
		for _, x := range r.Runs {
			x.Stages = nil
		}
	}
	text := r.Runs[0].text(r, f)
	if r.Runs[0].Stages != nil {
		text += r.timeline()
	}
	if len(r.Runs) > 1 {
		text = r.table()
	} else {
		text += r.choices() + r.rehearsed()
	}
	if r.Explained != nil {
		text += "\n" + explanation(r.Explained)
	}
	return text
}

// table has the runs side by side.
func (r *configResult) table() string {
	t := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "configuration", Left: true}, {Name: "core", Left: true}, {Name: "cycles"}, {Name: "speedup"}, {Name: "IPC"}, {Name: "L1 MPKI"}, {Name: "L2 MPKI"}, {Name: "L3 MPKI"},
		{Name: "DRAM GB/s"}, {Name: "traffic"}, {Name: "offloaded"}, {Name: "control"}, {Name: "data"},
		{Name: "nearest bound", Left: true}, {Name: "share"}, {Name: "checked", Left: true},
	}}
	for _, x := range r.Runs {
		near, moved := x.Nearest(), x.Streams
		checked := "no"
		if x.Checked {
			checked = "equal"
			if x.Checks[0].Close > 0 {
				checked = "close"
			}
		}
		if x.Stopped != "" {
			checked = "stopped"
		}
		t.Rows = append(t.Rows, []string{x.Config, x.Core, fmt.Sprint(x.Cycles), fmt.Sprintf("%.2f", float64(r.Runs[0].Cycles)/float64(max(1, x.Cycles))), fmt.Sprintf("%.2f", x.IPC),
			fmt.Sprintf("%.1f", x.Levels[0].MPKI), fmt.Sprintf("%.1f", x.Levels[1].MPKI), fmt.Sprintf("%.1f", x.Levels[2].MPKI), fmt.Sprintf("%.1f", x.Memory.GBs),
			fmt.Sprintf("%.2f", float64(moved.Total())/float64(max(1, r.Runs[0].Streams.Total()))), shareOf(moved, moved.Offloaded), shareOf(moved, moved.Control), shareOf(moved, moved.Data), near.Name, percent(near.Share), checked})
	}
	first := r.Runs[0]
	var s summary
	s.add("kernel", "%s, %s", r.Kernel, r.k.SizeText())
	s.add("machine", "%s, %s, %s caches", first.Machine, count(first.Threads, "thread"), first.Caches)
	s.add("traffic", "bytes x hops, the first row's = 1: of messages for streams, of coherence, of data")
	return s.String() + "\n" + renderTable(t) + "\n" + r.timeline() + r.regions() + r.choices() + r.rehearsed() + r.kept() + r.verdict()
}

// timeline has the stages of the runs side by side: cycles, share of the first run, and where
// they were executed.
func (r *configResult) timeline() string {
	first := r.Runs[0].Stages
	if len(first) == 0 {
		return ""
	}
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "stage", Left: true}, {Name: "at", Left: true}}}
	for i, x := range r.Runs {
		t.Columns = append(t.Columns, benchmarks.Column{Name: x.Config})
		if i == 0 {
			t.Columns = append(t.Columns, benchmarks.Column{Name: "share"})
		}
		t.Columns = append(t.Columns, benchmarks.Column{Name: "in", Left: true})
	}
	for i := range first {
		row := []string{first[i].Name, first[i].At}
		if row[0] == "" {
			row[0] = "statement"
		}
		for j, x := range r.Runs {
			s := multicore.Stage{}
			if i < len(x.Stages) { // those of a run that was stopped too
				s = x.Stages[i]
			}
			row = append(row, fmt.Sprint(s.Cycles))
			if j == 0 {
				row = append(row, percent(float64(s.Cycles)/float64(max(1, x.Cycles))))
			}
			row = append(row, s.Place)
		}
		t.Rows = append(t.Rows, row)
	}
	return "\nstages, from where thread 0 begins one to where it begins the next\n\n" + renderTable(t) + "\n"
}

// verdict says which run is the fastest, what it gains over the first, and what of the
// function computes outside of the cores. Runs that were stopped do not count.
func (r *configResult) verdict() string {
	runs := slices.DeleteFunc(slices.Clone(r.Runs), func(x *configRun) bool { return x.Stopped != "" })
	if len(runs) < 2 || runs[0] != r.Runs[0] {
		return ""
	}
	first, best := runs[0], runs[0]
	for _, x := range runs[1:] {
		if x.Cycles < best.Cycles {
			best = x
		}
	}
	name := func(x *configRun) string {
		if slices.ContainsFunc(runs, func(y *configRun) bool { return y.Core != x.Core }) {
			return x.Config + " " + x.Core
		}
		return x.Config
	}
	var s summary
	s.gap()
	if best == first {
		s.add("verdict", "%s, the first row, is the fastest", name(best))
	} else {
		s.add("verdict", "%s is the fastest, %.2fx over %s, with %s of the traffic and %s of the micro-ops (those of waiting cores included)", name(best), float64(first.Cycles)/float64(max(1, best.Cycles)), name(first),
			percent(float64(best.Streams.Total())/float64(max(1, first.Streams.Total()))), percent(float64(best.MicroOps)/float64(max(1, first.MicroOps))))
	}
	if best.InMemory != nil {
		n := 0
		for i := range best.InMemory.Regions {
			if best.InMemory.Regions[i].InMemory > 0 {
				n++
			}
		}
		s.add("", "%d of %s in memory", n, count(len(best.InMemory.Regions), "region"))
	}
	most, near := best, len(nearLoops(best))
	for _, x := range runs {
		if n := len(nearLoops(x)); n > near || most.Streams.Loops == nil && x.Streams.Loops != nil {
			most, near = x, n
		}
	}
	if loops := most.Streams.Loops; len(loops) > 0 {
		text := fmt.Sprintf("computing or writing at the L3 in %s: %d of %s", name(most), near, count(len(loops), "innermost loop"))
		if near > 0 {
			text += " (over " + strings.Join(nearLoops(most), ", ") + ")"
		}
		if why, n := mainReason(loops); n > 0 {
			text += fmt.Sprintf("; %d in the cores", len(loops)-near)
			if n < len(loops)-near {
				text += fmt.Sprintf(", %d of them", n)
			}
			text += ": " + why
		}
		s.add("", "%s", text)
	}
	return s.String()
}

// computesNear reports whether streams of a loop computed or wrote at the L3.
func computesNear(l *micro.StreamLoop) bool { return l.Offloaded > 0 && l.Instances+l.Nested > 0 }

// nearLoops are the variables of the loops of a run that computed at the L3.
func nearLoops(x *configRun) (list []string) {
	for i := range x.Streams.Loops {
		if l := &x.Streams.Loops[i]; computesNear(l) {
			list = append(list, l.Var)
		}
	}
	return list
}

// mainReason is why most of the other loops did not, and of how many loops that is so; the
// first of several that are as frequent.
func mainReason(loops []micro.StreamLoop) (why string, most int) {
	n := map[string]int{}
	for i := range loops {
		if l := &loops[i]; !computesNear(l) {
			n[whyKept(l)]++
		}
	}
	for i := range loops {
		if w := whyKept(&loops[i]); n[w] > most {
			why, most = w, n[w]
		}
	}
	return why, most
}

// shareOf is a part of the traffic of a run.
func shareOf(s *multicore.StreamReport, n uint64) string {
	return percent(float64(n) / float64(max(1, s.Total())))
}

// kept says which loops of the last run have no streams at the L3.
func (r *configResult) kept() string {
	x := r.Runs[len(r.Runs)-1]
	var b strings.Builder
	for _, l := range x.Streams.Loops {
		if l.Why != "" || l.Short > 0 && l.Instances+l.Nested == 0 {
			fmt.Fprintf(&b, "%s: loop over %s stays in the core: %s\n", x.Config, l.Var, whyKept(&l))
		}
	}
	return b.String()
}

func whyKept(l *micro.StreamLoop) string {
	switch {
	case l.Why != "":
		return l.Why
	case l.Short > 0:
		return "its instances have less than two ranges of iterations"
	case l.Instances > 0:
		return "its streams compute nothing there: they fetch for the core"
	case l.Kept > 0:
		return "there had been an alias"
	case l.Reused+l.Hits > 0:
		return "the core's own caches have what it accesses"
	}
	return "no thread reached it"
}

// streamsText says what streams did.
func (x *configRun) streamsText(s *summary) {
	r := x.Streams
	if r.Loops == nil {
		return
	}
	s.gap()
	s.add("streams", "%d loops configured, %d of them at the L3; %d lines fetched into FIFOs, %d loads served from there, %d lines asked for that later instances access", r.Core.Groups, r.Core.Offloaded, r.Core.Prefetched, r.Core.Served, r.Core.Beyond)
	for _, l := range r.Loops {
		text := fmt.Sprintf("%s, %d of them compute or write at the L3; %d times configured, %d times too short", count(l.Streams, "stream"), l.Offloaded, l.Instances, l.Short)
		if l.Ahead > 0 {
			text += fmt.Sprintf("; %d of these ahead of iterations of those before", l.Ahead)
		}
		if l.Through > 0 {
			text += fmt.Sprintf("; %d rows more that streams went on to", l.Through)
		}
		if l.Nested > 0 {
			text += fmt.Sprintf("; %d times configured by streams of the loop around it", l.Nested)
		}
		if n := l.Reused + l.Hits; n > 0 {
			text += fmt.Sprintf("; %d times in the core: %d by reuse, %d by hits of its caches", n, l.Reused, l.Hits)
		}
		if l.Vanishes {
			text += "; nothing of its iterations is left for the core"
		}
		if l.Why != "" {
			text = "stays in the core: " + l.Why
		}
		s.add("  loop "+l.Var, "%s", text)
	}
	if r.Core.Offloaded > 0 {
		s.add("  at the L3", "%d lines read, for %d more streams too, %d written, %d operations, %d migrations; %d ranges credited", r.Bank.Reads, r.Bank.Spared, r.Bank.Writes, r.Bank.Operations, r.Bank.Migrations, r.Core.Ranges)
		s.add("  contexts", "%d cycles in the contexts of tiles, %d in scalar PEs", r.Bank.BusySCM, r.Bank.BusyPE)
	}
	for _, e := range r.Ended {
		if e.Count > 0 {
			s.add("  "+e.Reason, "%s: %s", count(int(e.Count), "time"), e.Doc)
		}
	}
	for _, m := range r.Messages {
		if m.Messages > 0 {
			s.add("  "+m.Name, "%12s x hops, %d messages", byteCount(int64(m.ByteHops)), m.Messages)
		}
	}
	s.add("  traffic", "%s offloaded, %s control, %s data", shareOf(r, r.Offloaded), shareOf(r, r.Control), shareOf(r, r.Data))
}

// sampleText says what was simulated of a run, and how far its cycles may be off.
func sampleText(t *multicore.Sampled) string {
	switch {
	case t.Windows == 0:
		return "all was simulated in time: the run is shorter than a window, or than what it begins with"
	case t.Skipped == 0:
		return fmt.Sprintf("all was simulated in time: what came to its end behind %s was more than what was to be skipped", count(t.Windows, "window"))
	}
	bound := "with too few windows for a bound"
	if t.Bound >= 0 {
		bound = fmt.Sprintf("within %s of the cycles by how windows differ (95 %% confidence), how rates drift within them (%+.1f %%), and how waits differ in what is between", percent(t.Bound), 100*t.Drift)
	}
	return fmt.Sprintf("%s of %d cycles in time, %s; %d micro-ops without, %d of them passed by caches: what follows the micro-ops is of the former", count(t.Windows, "window"), t.DetailedCycles, bound, t.Forwarded, t.Passed)
}

// text is the report of a run.
func (x *configRun) text(r *configResult, f *runFlags) string {
	var s summary
	s.add("kernel", "%s, %s", r.Kernel, r.k.SizeText())
	s.add("machine", "%s: %s, %s of %s at %g GHz, %s caches, %s of arrays", x.Machine, x.Config, count(x.Threads, "thread"), count(x.Cores, x.Core+" core"), x.ClockGHz, x.Caches, byteCount(x.Bytes))
	var list []string
	for _, p := range x.Readings {
		list = append(list, p.Parameter+" "+p.Value)
	}
	s.add("readings", "%s", strings.Join(list, ", "))
	if x.Stopped != "" {
		s.add("stopped", "in cycle %d: what follows is the part before that", x.Cycles)
	}
	s.gap()
	s.add("cycles", "%d, %s", x.Cycles, duration(x.Seconds))
	if x.Sample != nil {
		s.add("sample", "%s", sampleText(x.Sample))
	}
	s.add("micro-ops", "%d, %.2f a cycle and core; the busiest core has %.2f times those of the mean one", x.MicroOps, x.IPC, x.Imbalance)
	for _, p := range x.Time {
		s.add("  "+p.Name, "%6s of the cycles of cores", percent(p.Share))
	}
	for _, p := range x.Full {
		if p.Cycles > 0 {
			s.add("  full "+p.Name, "%6s", percent(p.Share))
		}
	}
	if x.Branches > 0 {
		s.add("branches", "%d, %d foretold wrong", x.Branches, x.Mispredicted)
	}
	s.gap()
	for _, l := range x.Levels {
		text := fmt.Sprintf("%d accesses, %d misses, %.2f MPKI, %.0f cycles a miss", l.Accesses, l.Misses, l.MPKI, l.MissLatency)
		if l.Prefetches > 0 {
			text += fmt.Sprintf("; %d prefetches, %d used", l.Prefetches, l.Used)
		}
		s.add(l.Name, "%s", text)
	}
	s.add("TLB", "%d accesses, %d misses, %d walks", x.TLB.Accesses, x.TLB.Misses, x.TLB.Walks)
	s.add("DRAM", "%d lines read, %d written: %.1f of %.1f GB/s; rows hit by %s of reads and %s of writes; %.0f cycles a read", x.Memory.Reads, x.Memory.Writes, x.Memory.GBs, x.Memory.PeakGBs,
		percent(x.Memory.ReadHitRate), percent(x.Memory.WriteHitRate), x.Memory.ReadLatency)
	total := uint64(0)
	for _, c := range x.Traffic {
		total += c.ByteHops
	}
	s.add("traffic", "%s x hops", byteCount(int64(total)))
	for _, c := range x.Traffic {
		s.add("  "+c.Name, "%12s x hops, %d messages", byteCount(int64(c.ByteHops)), c.Messages)
	}
	x.streamsText(&s)
	x.regionsText(&s)
	energyText(&s, x.Energy)
	if x.Arrays != nil {
		energyText(&s, x.Arrays)
	}
	s.gap()
	near := x.Nearest()
	s.add("bounds", "nearest is %s, %s of the cycles", near.Name, percent(near.Share))
	for _, b := range x.Bounds {
		s.add("  "+b.Name, "%6s  %.0f cycles: %s", percent(b.Share), b.Cycles, b.Of)
	}
	s.gap()
	switch {
	case x.Checked:
		for _, c := range x.Checks {
			s.add("checked", "%s", c.text())
		}
		s.add("", "loads found the values of the program, and the machine's memory has what the threads computed")
	case x.Stopped != "":
		s.add("checked", "not: the program has not ended")
	default:
		s.add("checked", "not with the sequential program; loads found the values of the threads, and the machine's memory has what they computed")
	}
	for _, file := range []string{f.trace, f.stats, f.config.svg} {
		switch {
		case file == "":
		case x.Stopped != "":
			s.add("written", "%s, of the part before cycle %d", file, x.Cycles)
		default:
			s.add("written", "%s", file)
		}
	}
	if r.Dropped > 0 {
		s.add("", "without the last %s of the trace", count(int(r.Dropped), "event"))
	}
	for _, o := range f.kernel.data.out {
		switch {
		case r.ended:
			s.add("written", "%s, array %s", o.Path, o.Name)
		case x.Stopped != "":
			s.add("not written", "%s, array %s: the program has not ended", o.Path, o.Name)
		default:
			s.add("not written", "%s, array %s: the comparison found a difference, or has not ended", o.Path, o.Name)
		}
	}
	s.add("time", "%s, %.2f M micro-ops a second", seconds(x.Host.Seconds), x.Host.MicroOpsRate/1e6)
	return s.String()
}

func (c *configCheck) text() string {
	if c.Holds {
		return "the result is right by " + c.Oracle
	}
	text := fmt.Sprintf("%d of %d elements of %s agree in all bits with %s", c.Equal, c.Elements, count(c.Arrays, "array"), c.Oracle)
	if c.Equal == 0 && c.Distance > 0 && c.Close == 0 {
		return fmt.Sprintf("sums of another order, within %.2g of the greatest element: as %s", c.Distance, c.Oracle)
	}
	if c.Close > 0 {
		text += fmt.Sprintf("; %d within %.2g, by sums of another order, whose bound is %.2g", c.Close, c.Distance, c.Bound)
	}
	if c.Open > 0 {
		text += fmt.Sprintf("; %d follow from the order of atomic operations, which is open", c.Open)
	}
	if c.Tree != "" {
		text += "; " + c.Tree + ": equal in all bits when executed without a machine"
	}
	return text
}
