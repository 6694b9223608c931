package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks/report"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tile"
)

type runFlags struct {
	kernel   kernelFlags
	machine  machineFlags
	fidelity string
	clock    string
	timing   bool
	every    int
	threads  int
	optimize bool
	decide   bool
	finals   string
	seed     uint64
	check    bool
	trace    string
	stats    string
	cost     costFlags
	html     string
	json     bool
	config   configFlags
}

// priced returns the table of costs that is asked for, or that of the machine.
func (f *runFlags) priced(machine *tile.Machine) (*cost.Table, error) {
	table, err := f.cost.load()
	if err != nil {
		return nil, err
	}
	if f.cost.table == "" {
		if table, err = cost.Load(machine.Array.CostTable); err != nil {
			return nil, fmt.Errorf("bitsched: machine %s: array.cost_table: %w", machine.Name, costError(err))
		}
	}
	return table, nil
}

// checkOutputs refuses files that cannot be written, that are inputs, or that are one file.
// It needs --input and --output parsed.
func (f *runFlags) checkOutputs(a *app, cmd *cobra.Command, nameOrFile string) error {
	if f.trace == "-" || f.stats == "-" {
		return usageError(cmd, "--trace or --stats -, expected a file")
	}
	inputs := []string{nameOrFile, f.machine.machine, f.cost.table}
	for i := range f.kernel.data.in {
		inputs = append(inputs, f.kernel.data.in[i].Path)
	}
	outputs := []string{f.trace, f.stats, f.config.svg, f.html}
	for i := range f.kernel.data.out {
		outputs = append(outputs, f.kernel.data.out[i].Path)
	}
	for _, file := range outputs {
		if err := a.checkWritable(file, inputs...); err != nil {
			return err
		}
	}
	return checkDistinct(outputs...)
}

const runLong = `Run executes a kernel on a modelled chip: tensors become commands for its arrays,
which are executed on every bitline, and cycles are counted. The result is compared
with that of an interpreter, every bit of every array; if they differ, the exit code
is 1. What cannot be computed in memory is executed near it, and the reason printed.

At gate fidelity, every command runs its bit-serial program on every bitline. At word
fidelity it computes elements, and every n-th array is executed bit by bit too and
compared. Commands and cycles are the same.

With --config, the whole function runs in time on a configuration of the machine: base
is threads of OpenMP on cores with caches and prefetchers; in ns-core to ns-decouple,
streams of loops prefetch, read or compute near the L3, and inst and single are other
ways to compute there (docs/streams.md); in in-l3 and inf-s, regions of tensors are
computed in memory and the rest on cores (docs/fused.md). auto simulates the function in
base, near-l3, in-l3 and inf-s, and with parts of it at different places, and is the
fastest of these runs, which it lists; auto-predicted decides while it runs, by closed
forms. Cycles are then those of the call of the function, not those in arrays, and are
reported with where they went. Memory is compared with that of the sequential program.

The analytic clock gives commands their time by formulas. That of --clock event has
banks, H-trees, the mesh and channels of DRAM wait for each other, and says what did.

`

const runLongEnd = `

Arguments are random by the seed, but for those that --input has; sizes that -D does
not have are taken from the shapes of these files. The result depends on the flags only, not on
--threads. docs/running.md says what is modelled and what is not.`

const runExample = `  bitsched run vec_add -D N=65536
  bitsched run stencil2d -D N=256 -D M=256 --fidelity gate --tile 16x16
  bitsched run mine.c --input A=a.npy --input B=b.npy --output C=c.npy
  bitsched run conv3d --paper-sizes --timing-only --clock event
  bitsched run mine.c -D N=1024 --machine mine.yaml --trace trace.json --stats stats.txt
  bitsched run vec_add -D N=65536 --config base --machine nsc --core ooo8 --omp-threads 64
  bitsched run vec_add -D N=65536 --config base,ns-core,ns --machine nsc --caches warm
  bitsched run vec_add -D N=65536 --config ns --machine nsc --inject alias:0.001,fault,switch
  bitsched run stencil2d -D N=256 -D M=256 --config base,near-l3,in-l3,inf-s --machine infinity-stream-small
  bitsched run mine.c -D N=1024 --config base,inf-s,auto --machine infinity-stream-slice
  bitsched run stencil1d --with mm_outer --config base,inf-s --machine infinity-stream-small`

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:               "run KERNEL",
		Short:             "Execute a kernel in the arrays of a modelled chip, and count cycles",
		Long:              runLong + wholeHelp("With --config", workload.WholeNames()) + runLongEnd,
		Example:           runExample,
		Args:              exactArgs("KERNEL"),
		ValidArgsFunction: completeWhole,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.config.check(cmd); err != nil {
				return err
			}
			if f.config.with != "" {
				return a.runWith(cmd, args[0], f)
			}
			if len(f.config.configs) > 0 {
				return a.runConfigs(cmd, args[0], f)
			}
			return a.runKernel(cmd, args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.kernel.add(fl)
	f.kernel.data.add(fl)
	f.machine.add(cmd, fl)
	f.machine.addTile(fl)
	fl.StringVar(&f.fidelity, "fidelity", system.Word.String(), "`how` commands are executed: gate or word")
	fl.StringVar(&f.clock, "clock", system.Analytic.String(), "`how` commands get their time: analytic, by formulas, or event, by components that wait for each other")
	fl.BoolVar(&f.timing, "timing-only", false, "count cycles and execute nothing: what depends on data is not counted")
	fl.IntVar(&f.every, "every", system.DefaultCheck, "at word fidelity, execute one in so many `arrays` bit by bit too")
	fl.BoolVar(&f.optimize, "optimize", false, "optimise the graphs by equality saturation")
	fl.BoolVar(&f.decide, "decide", false, "execute regions near the memory where Eq. 2 of the paper says so")
	addFinals(cmd, fl, &f.finals)
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the arguments")
	fl.BoolVar(&f.check, "check", true, "compare the result with the interpreter's")
	fl.IntVar(&f.threads, "threads", 0, "number of `threads`, 0 for all cores")
	fl.StringVar(&f.trace, "trace", "", "write what happened when into this `file`, for ui.perfetto.dev")
	fl.StringVar(&f.stats, "stats", "", "write counters into this `file`, in the form of gem5")
	fl.StringVar(&f.cost.table, "cost", "", "price energy by a `table`: a name (see bitsched costs) or a file; by default that of the machine")
	fl.BoolVar(&f.cost.explain, "explain-cost", false, "print each number of the table with its source")
	addHTML(fl, &f.html)
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	f.config.add(cmd)
	complete(cmd, "cost", cost.Names()...)
	complete(cmd, "clock", system.Analytic.String(), system.Event.String())
	complete(cmd, "fidelity", system.Gate.String(), system.Word.String())
	return cmd
}

// runResult is a run as it is reported.
type runResult struct {
	Kernel    string           `json:"kernel"`
	Sizes     map[string]int64 `json:"sizes"`
	Machine   string           `json:"machine"`
	Fidelity  string           `json:"fidelity"`
	Clock     string           `json:"clock"`
	Every     int              `json:"every"` // 0 = at gate fidelity
	Optimized bool             `json:"optimized"`
	Seed      uint64           `json:"seed"`
	InArrays  *float64         `json:"in_arrays"` // share of the operations on elements; null = there were none
	Checked   bool             `json:"checked"`   // equal to the interpreter's result
	Checks    []check          `json:"checks"`    // what it was compared with
	*system.Report
	Reasons     []string         `json:"reasons"`             // why regions were executed near the memory
	Cycles      *system.Cycles   `json:"cycles"`              // null = nothing was timed
	Energy      *cost.ChipEnergy `json:"energy"`              // null = nothing was timed
	Explained   *cost.Table      `json:"explained,omitempty"` // the table, with sources
	Dropped     int64            `json:"trace_dropped"`       // events beyond the limit
	CPUSeconds  float64          `json:"cpu_seconds"`
	BitlineRate float64          `json:"row_op_bitlines_per_second"` // of the simulation

	k    *workload.Kernel
	cols int
	ghz  float64
}

// energyFigure is an energy for a person, with a fitting unit.
func energyFigure(e *float64, unit string) string {
	if e == nil {
		return "unknown"
	}
	v := *e
	if unit == "pJ" {
		for _, u := range []string{"nJ", "uJ", "mJ", "J"} {
			if v < 1000 {
				break
			}
			v, unit = v/1000, u
		}
	} else if unit != "" {
		unit = "x " + unit
	}
	return strings.TrimSpace(strconv.FormatFloat(v, 'g', 4, 64) + " " + unit)
}

// energyText is the total energy, and a line for each part of it.
func energyText(s *summary, e *cost.ChipEnergy) {
	text := energyFigure(e.Total, e.Unit)
	if slices.ContainsFunc(e.Lines, func(l cost.EnergyLine) bool { return l.Energy != nil && strings.Contains(l.How, "at most") }) {
		text = "at most " + text
	}
	if len(e.Includes) > 0 {
		text += " in " + strings.Join(e.Includes, ", ")
	}
	text += " by table " + e.Table
	if len(e.Unconfirmed) > 0 {
		text += ", whose values are not confirmed"
	}
	if len(e.LeftOut) > 0 {
		text += "; without " + strings.Join(e.LeftOut, ", ") + ": unknown in this table"
	}
	if e.Note != "" {
		text += "; " + e.Note
	}
	s.add("energy", "%s", text)
	for _, l := range e.Lines {
		if l.Count > 0 {
			s.add("  "+l.Name, "%17s  %s %s: %s", energyFigure(l.Energy, e.Unit), strconv.FormatFloat(math.Round(l.Count), 'f', 0, 64), l.Of, l.How)
		}
	}
}

func (a *app) runKernel(cmd *cobra.Command, nameOrFile string, f runFlags) error {
	fidelity, err := system.ParseFidelity(f.fidelity)
	if err != nil {
		return usageError(cmd, "--fidelity %q, expected gate or word", f.fidelity)
	}
	clock, err := system.ParseClock(f.clock)
	if err != nil {
		return usageError(cmd, "--clock %q, expected analytic or event", f.clock)
	}
	if f.timing {
		for _, flag := range []string{"check", "fidelity", "every", "output"} {
			if cmd.Flags().Changed(flag) {
				return usageError(cmd, "--timing-only with --%s, expected one of them", flag)
			}
		}
		f.check = false
	}
	if f.every < 1 {
		return usageError(cmd, "--every %d, expected at least 1", f.every)
	}
	shape, err := f.machine.shape(cmd)
	if err != nil {
		return err
	}
	finals, err := parseFinals(cmd, f.finals)
	if err != nil {
		return err
	}
	n, err := threads(cmd, f.threads)
	if err != nil {
		return err
	}
	machine, err := f.machine.load(cmd)
	if err != nil {
		return err
	}
	table, err := f.priced(machine)
	if err != nil {
		return err
	}
	if err := a.checkHTML(cmd, f.html, f.json); err != nil {
		return err
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
	k, err := a.readKernel(s.ctx, cmd, nameOrFile, f.kernel)
	if err != nil {
		return s.reasonOf(err)
	}
	if err := kernelError(cmd, k.Known(f.kernel.data.out)); err != nil {
		return err
	}
	var mem *memory.Memory
	if !f.timing {
		line.phase("making arguments")
		if mem, err = k.Arguments(s.ctx, f.seed, f.kernel.data.in); err != nil {
			return s.reasonOf(kernelError(cmd, err))
		}
	}
	program := k.Program
	if f.optimize {
		line.phase("optimising")
		if program, err = a.optimized(s.ctx, k, machine); err != nil {
			return s.reasonOf(err)
		}
	}
	var want *memory.Memory
	if f.check {
		want = mem.Clone()
	}
	opt := system.Options{Machine: machine, Programs: a.programs, Fidelity: fidelity, Clock: clock, TimingOnly: f.timing, Tile: shape, Threads: n, Check: f.every, Decide: f.decide, Finals: finals, MaxLive: maxLiveElems}
	opt.Progress = a.regionProgress(line, program, k.Sizes, "executing region")
	if f.trace != "" || f.html != "" {
		opt.Trace = &system.Trace{}
	}
	line.phase("executing")
	cpu := cpuTime()
	ran, err := system.Run(s.ctx, program, k.Sizes, mem, opt)
	if err != nil {
		return s.reasonOf(err)
	}
	r := &runResult{
		Kernel: k.Program.Name, Sizes: k.Sizes, Machine: machine.Name, Fidelity: fidelity.String(), Clock: clock.String(), Optimized: f.optimize, Seed: f.seed,
		Report: ran, CPUSeconds: (cpuTime() - cpu).Seconds(), k: k, cols: machine.Array.Cols, ghz: machine.ClockGHz,
	}
	if ran.Timed() {
		r.Cycles, r.Energy = &ran.Cycles, ran.Energy(machine, table)
	}
	if total := ran.Operations + ran.NearOps; total > 0 {
		share := float64(ran.Operations) / float64(total)
		r.InArrays = &share
	}
	if f.cost.explain {
		r.Explained = table
	}
	for _, why := range ran.Reasons {
		r.Reasons = append(r.Reasons, reasonText(&why))
	}
	if fidelity == system.Word {
		r.Every = f.every
	}
	if ran.WallSeconds > 0 {
		r.BitlineRate = float64(ran.RowOps) * float64(r.cols) / ran.WallSeconds
	}
	if f.check {
		a.unchecked(mem)
		line.phase("comparing with the interpreter")
		opt.Progress = a.regionProgress(line, k.Program, k.Sizes, "comparing region")
		c := comparison{k: k, executed: program, opt: opt, before: want, got: mem, operations: ran.Operations + ran.NearOps}
		if len(f.kernel.data.in) == 0 {
			c.seed = &f.seed
		}
		if r.Checks, err = c.run(s.ctx); err != nil {
			return s.reasonOf(err)
		}
		r.Checked = true
	}
	var page *report.Page
	if f.html != "" {
		if page, err = kernelPage(s.ctx, r, program, opt); err != nil {
			return s.reasonOf(err)
		}
	}
	s.end()
	line.clear()
	if page != nil {
		if err := a.writePage(f.html, page); err != nil {
			return err
		}
	}
	if f.trace != "" {
		r.Dropped = opt.Trace.Dropped()
		if err := a.writeFile(f.trace, opt.Trace.Write); err != nil {
			return err
		}
	}
	if err := a.writeData(&f.kernel.data, mem); err != nil {
		return err
	}
	if f.stats != "" {
		if err := a.writeFile(f.stats, ran.WriteStats); err != nil {
			return err
		}
	}
	switch {
	case f.json:
		return a.printJSON(r)
	case f.html == "-":
		return nil
	}
	return a.printText(r.text(f))
}

// kernelPage is a page of a run.
func kernelPage(ctx context.Context, r *runResult, program *tdfg.Program, opt system.Options) (*report.Page, error) {
	prepared, err := system.Prepare(ctx, program, r.Sizes, opt)
	if err != nil {
		return nil, err
	}
	k := &report.KernelRun{Title: "Kernel", Source: r.k.Source, Trace: opt.Trace, Banks: opt.Machine.Banks()}
	seen := map[*tdfg.Graph]bool{}
	err = program.Each(ctx, r.Sizes, func(g *tdfg.Graph, values map[string]int64) error {
		if seen[g] {
			return nil
		}
		seen[g] = true
		region := report.KernelRegion{Name: g.Name, Graph: g, Plan: prepared.Plans[g], Near: nearText(prepared.Near[g])}
		if region.Plan != nil {
			var err error
			if region.Commands, err = region.Plan.Lower(nil, prepared.Grid, values); err != nil {
				return err
			}
		}
		k.Regions = append(k.Regions, region)
		return nil
	})
	if err != nil {
		return nil, err
	}
	k.Facts = report.Facts{{Name: "sizes", Value: r.k.SizeText()}, {Name: "regions executed", Value: strconv.FormatInt(r.Regions, 10)}, {Name: "near the memory", Value: strconv.FormatInt(r.NearRegions, 10)},
		{Name: "commands", Value: strconv.FormatInt(r.Commands, 10)}, {Name: "arrays", Value: strconv.Itoa(r.Report.Arrays)}}
	if r.Cycles != nil {
		k.Facts = append(k.Facts, report.Fact{Name: "cycles in memory", Value: strconv.FormatInt(r.Cycles.Total, 10)}, report.Fact{Name: "tiles", Value: r.Tile})
	}
	lead := "Nothing was executed: cycles only."
	switch {
	case r.Checked:
		lead = "Executed on modelled arrays; every bit of every array was compared with an interpreter."
	case !opt.TimingOnly:
		lead = "Executed on modelled arrays, and not compared."
	}
	if r.Optimized {
		k.Notes = append(k.Notes, "The graphs are optimised: what is left of them is not of single lines of C.")
	}
	sections, err := report.Kernel(k)
	if err != nil {
		return nil, err
	}
	return &report.Page{Title: r.Kernel + " on " + r.Machine, Lead: lead, Sections: sections}, nil
}

// regionProgress shows how many regions of a program have been executed.
func (a *app) regionProgress(line *progressLine, p *tdfg.Program, sizes map[string]int64, phase string) func(int64) {
	// A program with wrong bounds fails when it is run.
	total, exact, err := p.Executions(sizes)
	if err != nil || !exact {
		total = 0
	}
	report := a.searchProgress(line)
	return func(done int64) {
		report(masim.Progress{Phase: phase, Done: int(done), Total: int(total), Best: -1})
	}
}

// text is the report for a person.
func (r *runResult) text(f runFlags) string {
	var s summary
	s.add("kernel", "%s, %s", r.Kernel, r.k.SizeText())
	switch {
	case f.timing:
		s.add("machine", "%s, %s clock, timing only", r.Machine, r.Clock)
	case r.Clock != system.Analytic.String():
		s.add("machine", "%s, %s fidelity, %s clock", r.Machine, r.Fidelity, r.Clock)
	default:
		s.add("machine", "%s, %s fidelity", r.Machine, r.Fidelity)
	}
	if r.Tile == "" {
		s.add("layout", "nothing in memory")
	} else {
		s.add("layout", "tiles of %s in %s", r.Tile, count(r.Arrays, "array"))
	}
	if !f.timing { // which does not count what depends on data
		s.add("in arrays", "%s", shareText(r.Operations, r.NearOps))
	}
	s.add("executed", "%s, %d in memory, %d near it", count(int(r.Regions), "region"), r.Regions-r.NearRegions, r.NearRegions)
	for i, why := range r.Reasons {
		s.add("near", "%s", why+moreText(&r.Report.Reasons[i]))
	}
	s.gap()
	r.timeText(&s, f)
	s.gap()
	if r.Cycles != nil {
		s.add("commands", "%d; %s lowered before and taken again, %d patched", r.Commands, count(int(r.Memoized), "region"), r.Patched)
	}
	if f.timing {
		s.add("operations", "%d of elements in memory", r.Operations)
	} else {
		s.add("operations", "%d of elements in memory, %d near it", r.Operations, r.NearOps)
	}
	if r.Cycles != nil {
		s.add("traffic", "%s within tiles, %s between them, %s x hops in the network, %s DRAM, %s near memory",
			byteCount(r.IntraBytes), byteCount(r.InterBytes), byteCount(r.ByteHops), byteCount(r.DRAMBytes), byteCount(r.NearBytes))
		energyText(&s, r.Energy)
	}
	s.gap()
	if r.Checked {
		for _, c := range r.Checks {
			s.add("checked", "%s", c.text())
		}
		if r.Every > 0 && r.Timed() {
			s.add("", "%d of %s in memory were compared with the bits of programs", r.Compared, count(int(r.Operations), "operation"))
		}
	} else if f.timing {
		s.add("checked", "not: nothing was executed")
	} else {
		s.add("checked", "not")
	}
	if f.trace != "" {
		text := f.trace
		if r.Dropped > 0 {
			text += fmt.Sprintf(" (without the last %s)", count(int(r.Dropped), "event"))
		}
		s.add("written", "%s", text)
	}
	if f.stats != "" {
		s.add("written", "%s", f.stats)
	}
	for _, o := range f.kernel.data.out {
		s.add("written", "%s, array %s", o.Path, o.Name)
	}
	text := fmt.Sprintf("%s (%s CPU)", seconds(r.WallSeconds), seconds(r.CPUSeconds))
	if r.Cycles != nil {
		text += fmt.Sprintf(": lowering %s, %.3g row operations x bitlines a second", duration(r.LowerSeconds), r.BitlineRate)
		if r.Every > 0 {
			text += ", as elements"
		}
	}
	s.add("time", "%s", text)
	if r.Explained != nil {
		return s.String() + "\n" + explanation(r.Explained) + "\nnote: " + cost.KindsNote + "\n"
	}
	return s.String()
}

// timeText is where cycles went, and what took none because the model has no time
// for it.
func (r *runResult) timeText(s *summary, f runFlags) {
	c := r.Cycles
	switch {
	case r.Regions == 0:
		s.add("cycles", "none: no region was executed")
	case c == nil:
		s.add("cycles", "none: nothing was executed in memory, and this model has no time for what is near it")
	default:
		s.add("cycles", "%d in memory, %s at %g GHz", c.Total, duration(float64(c.Total)/(r.ghz*1e9)), r.ghz)
		for _, part := range []struct {
			name string
			n    int64
			what string
		}{
			{"dram", c.DRAM, "transfer from and to DRAM, with transposition"},
			{"jit", c.JIT, "lowering, by formula (jit of the machine)"},
			{"compute", c.Compute, ""},
			{"move", c.Move, "within tiles"},
			{"inter", c.Inter, "between tiles"},
			{"sync", c.Sync, "barriers by formula, with the wait for packets"},
		} {
			text := fmt.Sprintf("%12d", part.n)
			if part.what != "" {
				text += "  " + part.what
			}
			s.add("  "+part.name, "%s", text)
		}
		r.waitText(s)
	}
	var near []string
	if r.FinalOps > 0 {
		how := "in memory with --finals memory"
		if f.finals == finalsMemory {
			how = "over more tiles than arrays are good for, or over parts of tiles"
		}
		near = append(near, fmt.Sprintf("%d in last steps of reductions, %s", r.FinalOps, how))
	}
	rest := r.NearOps - r.FinalOps
	switch {
	case r.NearRegions > 0:
		what := count(int(r.NearRegions), "region") + " near the memory"
		if c == nil {
			what = "all of the kernel: " + what
		}
		near = append([]string{fmt.Sprintf("%s, %s", what, count(int(r.NearOps), "operation"))}, near...)
	case rest > 0:
		near = append(near, fmt.Sprintf("%d in streams", rest))
	}
	if r.NearRegions == 0 && len(near) > 0 {
		near[0] = count(int(r.NearOps), "operation") + " near the memory: " + near[0]
	}
	if len(near) > 0 {
		s.add("not timed", "%s", strings.Join(near, "; "))
	}
}

// shareText says how much of the operations on elements arrays have done.
func shareText(inArrays, near int64) string {
	total := inArrays + near
	switch {
	case total == 0:
		return "no operation was executed"
	case inArrays == 0:
		return fmt.Sprintf("none of %s on elements", count(int(total), "operation"))
	case near == 0:
		return fmt.Sprintf("all %s on elements", count(int(total), "operation"))
	}
	// Neither all nor none is rounded to it.
	share := min(max(100*float64(inArrays)/float64(total), 0.01), 99.99)
	return fmt.Sprintf("%.4g %% of %s on elements", share, count(int(total), "operation"))
}

// waitText is what waited for what, by the event-driven clock, and what that made later.
func (r *runResult) waitText(s *summary) {
	w := r.Waits
	if w == nil {
		return
	}
	s.add("waits", "%12d  cycles of packets for H-trees that shifts had, %d that the last before barriers did", w.LandWait, w.LateLand)
	s.add("", "%12d  of shifts for H-trees that packets had, %d that the last before barriers did", w.TreeWait, w.LateBanks)
	s.add("", "%12d  of packets in the mesh beyond the time without load, %d that those of other shifts made the last", w.MeshWait, w.LateMesh)
	s.add("", "%12d  of channels of DRAM for the busiest one", w.Imbalance)
}

// duration prints a time with three digits and its unit.
func duration(s float64) string {
	for _, u := range []struct {
		scale float64
		unit  string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}} {
		if s >= u.scale {
			return strconv.FormatFloat(s/u.scale, 'g', 3, 64) + " " + u.unit
		}
	}
	return strconv.FormatFloat(s*1e9, 'f', 0, 64) + " ns"
}

// byteCount prints a number of bytes.
func byteCount(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, u
	}
	return strconv.FormatFloat(v, 'g', 4, 64) + " " + unit
}
