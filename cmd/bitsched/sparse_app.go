package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/system/sparse"
	"github.com/bitsched/bitsched/system/sparse/matrix"
)

type sparseAppFlags struct {
	input   sparseInput
	stack   sparseStack
	variant []string

	orientation string
	replicate   bool

	typ      string
	fidelity string
	every    int
	network  string
	flip     string
	stacks   int
	shard    string
	exchange string
	check    bool
	threads  int
	cost     costFlags
	json     bool
	svg      string
	stats    string
	trace    string
	target   string
	coalesce int
	apply    string
	o        sparse.AppOptions
}

// addApp adds the flags that an application takes.
func (f *sparseAppFlags) addApp(cmd *cobra.Command, app string) {
	fl := cmd.Flags()
	switch app {
	case "bfs", "sssp":
		f.o.Source = -1
		fl.Var((*sourceFlag)(&f.o.Source), "source", "`vertex` to begin at, or max-degree")
	case "pagerank":
		fl.Float64Var(&f.o.Damping, "damping", f.o.Damping, "damping `factor`")
		fl.Float64Var(&f.o.Tolerance, "tolerance", f.o.Tolerance, "`change` of all ranks that ends the run")
	case "spknn":
		fl.IntVar(&f.o.Queries, "queries", f.o.Queries, "`number` of rows whose neighbours are sought")
		fl.IntVar(&f.o.Top, "top", f.o.Top, "`number` of neighbours of each")
	case "svm":
		fl.IntVar(&f.o.Queries, "queries", f.o.Queries, "`number` of rows to be classified")
		fl.StringVar(&f.o.Kernel, "kernel", f.o.Kernel, "`kernel`: linear or rbf")
		fl.Float64Var(&f.o.Gamma, "gamma", f.o.Gamma, "`factor` of rbf; 0 for one over the number of columns")
	case "spmv", "spmspv":
		var names []string
		for _, s := range sparse.Semirings() {
			names = append(names, s.Name)
		}
		fl.StringVar(&f.o.Semiring, "semiring", "", "`semiring`: "+strings.Join(names, ", ")+"; by default plus-times of the type")
	}
	switch app {
	case "spmspv":
		fl.Float64Var(&f.o.Density, "density", f.o.Density, "`share` of the input that is there")
	case "bfs", "sssp", "cc", "pagerank":
		fl.IntVar(&f.o.Iterations, "iterations", 0, "`iterations` at most; 0 for as many as it takes (pagerank: 50)")
	}
}

// sourceFlag is a vertex, or max-degree as -1.
type sourceFlag int

func (s *sourceFlag) String() string {
	if *s < 0 {
		return "max-degree"
	}
	return strconv.Itoa(int(*s))
}

func (s *sourceFlag) Type() string { return "vertex" }

func (s *sourceFlag) Set(text string) error {
	if text == "max-degree" {
		*s = -1
		return nil
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < 0 {
		return fmt.Errorf("%q, expected a vertex or max-degree", text)
	}
	*s = sourceFlag(v)
	return nil
}

func (a *app) sparseAppCommand(app sparse.App) *cobra.Command {
	f := sparseAppFlags{o: sparse.DefaultAppOptions()}
	cmd := &cobra.Command{
		Use:   app.Name + " MATRIX",
		Short: "Execute " + app.Name + ": " + app.Text,
		Long: "Executes " + app.Name + ": " + app.Text + `.

The result is compared with plain loops; if it differs, the exit code is 1. The
first Ctrl-C ends after the running iteration and prints what is complete, the
second aborts. Results, cycles and counters depend on the flags, not on --threads.
See bitsched sparse --help for what MATRIX may be, docs/sparse.md for the model.`,
		Example: `  bitsched sparse ` + app.Name + ` graph.txt --undirected
  bitsched sparse ` + app.Name + ` gen:rmat,scale=14,undirected --variant all
  bitsched sparse ` + app.Name + ` standin:road_usa --scale 64 --layers 1 --vaults 4 --svg steps.svg`,
		Args: exactArgs("MATRIX"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.sparseApp(cmd, app.Name, args[0], &f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.addApp(cmd, app.Name)
	fl.StringSliceVar(&f.variant, "variant", []string{"v3"}, "`versions` of the stack: v0, v1, hypo, v2, v3 or all; or bank: a core for each bank")
	fl.StringVar(&f.orientation, "orientation", "", "process `columns` or rows, whatever the version does")
	fl.BoolVar(&f.replicate, "replicate", true, "replicate long outputs in each SPU; by default as the version does")
	fl.StringVar(&f.typ, "type", "f32", "`words` that are added: f32, or u32 modulo 2^32")
	fl.StringVar(&f.fidelity, "fidelity", "pair", "`how` SPUs are executed: pair by pair, or instr by instr; the same cycles")
	fl.IntVar(&f.every, "every", 64, "at fidelity pair, interpret one in so many `SPUs` too, and repeat one in so many sums; 0 for none")
	fl.StringVar(&f.network, "network", "cycle", "`how` pairs move: cycle by cycle, or bound: the busiest link is the time, a lower bound")
	fl.StringVar(&f.target, "target", "stack", "execute on the `stack`, or on sram: the chip of bitsched machine infinity-stream")
	fl.IntVar(&f.coalesce, "coalesce", 8, "`pairs` of a packet of the SRAM chip, 1 to 8")
	fl.BoolVar(&f.check, "check", true, "compare the result with plain loops")
	if app.Name == "pagerank" {
		fl.StringVar(&f.apply, "apply", "spu", "step 6 on the SRAM chip: by each `spu`, or bits: in all bitlines at once")
	}
	if app.Name == "bfs" || app.Name == "sssp" || app.Name == "pagerank" || app.Name == "cc" {
		fl.IntVar(&f.stacks, "stacks", 0, "execute on several `stacks`, 1 to 16, each with a block of the columns; by default on one that has all")
		fl.StringVar(&f.shard, "shard", "", "execute the I-th of N stacks, as in `I/N`, the others being other processes'")
		fl.StringVar(&f.exchange, "exchange", "", "`folder` through which the processes of --shard pass what their stacks give, a file for each iteration")
	}
	fl.StringVar(&f.flip, "flip", "", "run again with a flipped bit in this `share` of the bytes of rows and pairs, and compare; or month: 1.86375e-8")
	f.stack.add(fl)
	f.input.add(fl)
	fl.IntVar(&f.threads, "threads", 0, "number of `threads`, 0 for all cores")
	fl.StringVar(&f.cost.table, "cost", "", "price energy by a `table`: a name (see bitsched costs) or a file; by default that of the machine")
	fl.BoolVar(&f.cost.explain, "explain-cost", false, "print each number of the table with its source")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	fl.StringVar(&f.svg, "svg", "", "draw where time and energy went into this `file`")
	fl.StringVar(&f.stats, "stats", "", "write counters into this `file`, in the form of gem5")
	fl.StringVar(&f.trace, "trace", "", "write what happened when into this `file`, for ui.perfetto.dev")
	complete(cmd, "variant", "v0", "v1", "hypo", "v2", "v3", "bank", "all")
	return cmd
}

// sparseRun is a run as it is reported.
type sparseRun struct {
	Matrix   string   `json:"matrix"`
	Format   string   `json:"format"`
	Machine  string   `json:"machine"`
	Layers   int      `json:"layers"`
	Seed     uint64   `json:"seed"`
	Fidelity string   `json:"fidelity"`
	Readings []string `json:"readings"` // that are not the default
	*sparse.Result
	Read       matrix.Info `json:"read"`
	Explained  *cost.Table `json:"explained,omitempty"`
	CPUSeconds float64     `json:"cpu_seconds"` // of the execution of all variants, reading and placement included
	Rate       float64     `json:"nonzeros_per_second"`
	CoreRate   float64     `json:"nonzeros_per_cpu_second"` // a core's, whatever else runs
	Threads    int         `json:"threads"`
}

// config is how the flags want a kernel executed.
func (f *sparseAppFlags) config(cmd *cobra.Command) (sparse.Config, error) {
	var cfg sparse.Config
	mach, err := f.stack.load(cmd)
	if err != nil {
		return cfg, err
	}
	n, err := threads(cmd, f.threads)
	if err != nil {
		return cfg, err
	}
	cfg = sparse.Config{Machine: mach, Type: sparse.Type(f.typ), Long: f.stack.longN, Seed: f.input.seed, Threads: n, Check: f.check, Every: f.every, Buffer: f.stack.buffer}
	switch f.network {
	case "", "cycle":
	case "bound":
		cfg.Bound = true
	default:
		return cfg, usageError(cmd, "--network %q, expected cycle or bound", f.network)
	}
	switch {
	case cfg.Type != sparse.F32 && cfg.Type != sparse.U32:
		return cfg, usageError(cmd, "--type %q, expected f32 or u32", f.typ)
	case f.every < 0:
		return cfg, usageError(cmd, "--every %d, expected 0 or more", f.every)
	case f.stack.buffer < 0:
		return cfg, usageError(cmd, "--buffer-rows %d, expected 0 or more", f.stack.buffer)
	case f.fidelity == "instr":
		cfg.Instr = 1
	case f.fidelity == "pair":
		cfg.Instr = f.every
	default:
		return cfg, usageError(cmd, "--fidelity %q, expected pair or instr", f.fidelity)
	}
	return cfg, nil
}

func (a *app) sparseApp(cmd *cobra.Command, app, text string, f *sparseAppFlags) error {
	variants, err := parseVariants(cmd, f.variant)
	if err != nil {
		return err
	}
	var replicate *bool
	if cmd.Flags().Changed("replicate") {
		replicate = &f.replicate
	}
	for i, v := range variants {
		if variants[i], err = v.Switched(f.orientation, replicate); err != nil {
			return usageError(cmd, "%w", err)
		}
	}
	cfg, err := f.config(cmd)
	if err != nil {
		return err
	}
	if f.o.Iterations < 0 {
		return usageError(cmd, "--iterations %d, expected 0 or more", f.o.Iterations)
	}
	f.o.Weights = f.input.seed
	table, err := f.cost.load()
	if err != nil {
		return err
	}
	if f.cost.table == "" {
		name := cfg.Machine.CostTable
		if f.target == "sram" {
			name = chipTable
		}
		if table, err = cost.Load(name); err != nil {
			return fmt.Errorf("bitsched: machine %s: cost_table: %w", cfg.Machine.Name, costError(err))
		}
	}
	outputs := []string{f.svg, f.stats, f.trace}
	for _, file := range outputs {
		if file == "-" {
			return usageError(cmd, "--svg, --stats or --trace -, expected a file")
		}
		if err := a.checkWritable(file, text, f.stack.machine); err != nil {
			return err
		}
	}
	if err := checkDistinct(outputs...); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	f.input.weights = app == "sssp"
	m, info, err := a.loadMatrix(cmd, text, &f.input, line)
	if err != nil {
		return err
	}
	s := a.startStoppable(0, line, "stopping after this iteration")
	defer s.end()
	report := a.searchProgress(line)
	if f.apply != "" && f.apply != sparse.ApplySPU && f.apply != sparse.ApplyBits {
		return usageError(cmd, "--apply %q, expected spu or bits", f.apply)
	}
	switch f.target {
	case "stack":
		if f.apply == sparse.ApplyBits {
			return usageError(cmd, "--apply bits with --target stack, expected sram")
		}
	case "sram":
		if cfg.Bound {
			return usageError(cmd, "--network bound with --target sram, expected cycle")
		}
		if f.stacks != 0 || f.shard != "" || f.exchange != "" || f.flip != "" {
			return usageError(cmd, "--stacks, --shard, --exchange or --flip with --target sram, expected the stack")
		}
		if f.svg != "" || f.stats != "" || f.trace != "" {
			return usageError(cmd, "--svg, --stats or --trace with --target sram, expected the stack")
		}
		return a.sparseChip(s, app, text, m, f, cfg, table, report)
	default:
		return usageError(cmd, "--target %q, expected stack or sram", f.target)
	}
	if f.stacks != 0 || f.shard != "" || f.exchange != "" {
		return a.sparseStacks(cmd, s, app, text, m, f, cfg, variants, report)
	}
	if f.flip != "" {
		return a.sparseFlipped(cmd, s, app, text, m, f, cfg, variants, report)
	}
	var runs []*sparseRun
	for _, v := range variants {
		cfg.Variant = v
		cfg.Progress = iterationProgress(report, v.Name+" ")
		var trace *sparse.Trace
		if f.trace != "" && len(runs) == 0 {
			trace = &sparse.Trace{}
		}
		began, cpu := time.Now(), cpuTime()
		res, err := sparse.Run(s.ctx, app, m, f.o, cfg, trace)
		if err != nil {
			if s.interrupted() && errors.Is(err, errInterrupt) && len(runs) > 0 {
				break
			}
			return sparseError(err)
		}
		if res.Stopped != "" && len(res.Iterations) == 0 && len(runs) == 0 {
			return errNoIteration()
		}
		res.Energy = sparse.Price(res, table)
		r := &sparseRun{Matrix: text, Format: info.Format, Read: info, Machine: cfg.Machine.Name, Layers: cfg.Machine.Organisation.Layers, Seed: f.input.seed, Fidelity: f.fidelity,
			Readings: f.stack.readings, Result: res, Threads: cfg.Threads, Rate: float64(res.Nonzeros) / time.Since(began).Seconds(), CoreRate: float64(res.Nonzeros) / max(1e-9, (cpuTime()-cpu).Seconds())}
		if f.cost.explain {
			r.Explained = table
		}
		runs = append(runs, r)
		if trace != nil {
			if err := a.writeFile(f.trace, trace.Write); err != nil {
				return err
			}
		}
		if res.Stopped != "" {
			break
		}
		freeMemory()
	}
	s.end()
	line.clear()
	for _, r := range runs {
		r.CPUSeconds = cpuTime().Seconds()
	}
	if f.stats != "" {
		if err := a.writeFile(f.stats, func(w io.Writer) error { return sparse.WriteStats(w, runs[0].Result) }); err != nil {
			return err
		}
	}
	if f.svg != "" {
		results := make([]*sparse.Result, len(runs))
		for i, r := range runs {
			results[i] = r.Result
		}
		svg := sparse.StepsFigure(fmt.Sprintf("%s of %s", app, text), results)
		if err := a.writeBytes(f.svg, svg); err != nil {
			return err
		}
	}
	if f.json {
		if len(runs) == 1 {
			return a.printJSON(runs[0])
		}
		return a.printJSON(map[string]any{"runs": runs})
	}
	out := ""
	if len(runs) > 1 {
		out = variantsText(runs)
	} else {
		out = runs[0].text()
	}
	if f.cost.explain {
		out += "\n" + explanation(table)
	}
	return a.printText(out)
}

// sparseStacks executes an application on several stacks.
func (a *app) sparseStacks(cmd *cobra.Command, s *search, app, text string, m *matrix.Matrix, f *sparseAppFlags, cfg sparse.Config, variants []sparse.Variant, report func(masim.Progress)) error {
	part, parts, err := parseShard(cmd, f.shard)
	if err != nil {
		return err
	}
	if f.stacks == 0 {
		f.stacks = parts
	}
	var exchange *sparse.Exchange
	switch {
	case (f.shard == "") != (f.exchange == ""):
		return usageError(cmd, "--shard without --exchange, or the other way round, expected both")
	case parts != 0 && parts != f.stacks:
		return usageError(cmd, "--shard %s of --stacks %d, expected as many", f.shard, f.stacks)
	case f.stacks < 1 || f.stacks > 16:
		return usageError(cmd, "--stacks %d, expected 1 to 16", f.stacks)
	case f.flip != "" || f.svg != "" || f.stats != "" || f.trace != "":
		return usageError(cmd, "--flip, --svg, --stats or --trace with --stacks, expected one stack")
	case len(variants) != 1 || variants[0].Rows:
		return usageError(cmd, "--variant %s with --stacks, expected one of v1, hypo, v2 and v3", strings.Join(f.variant, ","))
	}
	if f.exchange != "" {
		if err := a.checkWritable(filepath.Join(f.exchange, "iteration")); err != nil {
			return err
		}
		exchange = &sparse.Exchange{Dir: f.exchange, Stack: part - 1, Write: a.writeFile}
	}
	cfg.Variant = variants[0]
	cfg.Progress = iterationProgress(report, "")
	return a.sparseElsewhere(s, text, m, f.json, func() (*elsewhere, error) {
		res, err := sparse.RunStacks(s.ctx, app, m, f.o, cfg, f.stacks, exchange)
		if err != nil {
			return nil, err
		}
		return &elsewhere{result: res, digest: res.Digest, checked: res.Checked, compared: res.Compared, iterations: res.Iterations, stopped: res.Stopped,
			machine: []string{"stacks", fmt.Sprintf("%d of %s SPUs, variant %s", res.Stacks, bigCount(int64(cfg.Machine.SPUs())), res.Variant)},
			time:    fmt.Sprintf("%s, %s: %s in stacks, %s between them (%s bytes), %s of reduction", stackTime(res.Seconds), count(res.Iterations, "iteration"), stackTime(res.Products), stackTime(res.Exchange), bigCount(res.Bytes), stackTime(res.Reduce))}, nil
	})
}

// elsewhere is a result on other than one stack, as it is printed.
type elsewhere struct {
	result     any // the whole
	machine    []string
	summary    string
	digest     string
	checked    string
	compared   int64
	iterations int
	time       string
	stopped    string
	more       [][]string
}

// elsewhereDocument is a result on other than one stack in JSON.
type elsewhereDocument struct {
	matrix string
	result any
}

// MarshalJSON puts what every run has around the result.
func (e *elsewhereDocument) MarshalJSON() ([]byte, error) {
	var parts [][]byte
	for _, part := range []any{struct {
		Matrix string `json:"matrix"`
	}{e.matrix}, e.result, struct {
		CPUSeconds float64 `json:"cpu_seconds"`
	}{cpuTime().Seconds()}} {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		parts = append(parts, text[1:len(text)-1]) // without braces
	}
	return slices.Concat([]byte("{"), bytes.Join(parts, []byte(",")), []byte("}")), nil
}

// sparseElsewhere executes an application by run and prints its result, or what was
// complete when it was stopped.
func (a *app) sparseElsewhere(s *search, text string, m *matrix.Matrix, asJSON bool, run func() (*elsewhere, error)) error {
	e, err := run()
	if err != nil {
		return s.reasonOf(sparseError(err))
	}
	if e.stopped != "" && e.iterations == 0 {
		return errNoIteration()
	}
	s.end()
	if asJSON {
		return a.printJSON(&elsewhereDocument{text, e.result})
	}
	var out summary
	out.add("matrix", "%s, %s x %s, %s nonzeros", text, bigCount(int64(m.Rows)), bigCount(int64(m.Cols)), bigCount(m.NNZ()))
	out.add(e.machine[0], "%s", e.machine[1])
	if e.summary != "" {
		out.add("result", "%s", e.summary)
	}
	if e.digest != "" {
		out.add("digest", "%s", e.digest)
	}
	if e.checked != "" {
		out.add("checked", "equal to the reference (%s), %s values compared", e.checked, bigCount(e.compared))
	}
	out.add("time", "%s", e.time)
	addStopped(&out, e.stopped)
	for _, line := range e.more {
		out.add(line[0], "%s", line[1])
	}
	return a.printText(out.String())
}

// errNoIteration is the end of a run that was stopped too early to print anything.
func errNoIteration() error {
	return fmt.Errorf("bitsched: stopped by %w before the first iteration was complete", errInterrupt)
}

// addStopped says that a run was stopped, if it was.
func addStopped(out *summary, by string) {
	if by != "" {
		out.add("", "stopped by %s: the iterations that were complete", by)
	}
}

// iterationProgress shows which step of which iteration runs.
func iterationProgress(report func(masim.Progress), prefix string) func(iteration int, step string) {
	return func(iteration int, step string) {
		report(masim.Progress{Phase: fmt.Sprintf("%siteration %d, %s", prefix, iteration, step), Best: -1})
	}
}

// sparseFlipped executes an application without and with flipped bits.
func (a *app) sparseFlipped(cmd *cobra.Command, s *search, app, text string, m *matrix.Matrix, f *sparseAppFlags, cfg sparse.Config, variants []sparse.Variant, report func(masim.Progress)) error {
	share, err := strconv.ParseFloat(f.flip, 64)
	if f.flip == "month" {
		share, err = sparse.FlipsAMonth, nil
	}
	if err != nil || !(share > 0 && share <= 0.1) {
		return usageError(cmd, "--flip %s, expected a share above 0, up to 0.1, or month", f.flip)
	}
	if f.svg != "" || f.stats != "" || f.trace != "" {
		return usageError(cmd, "--svg, --stats or --trace with --flip, expected one run")
	}
	var list []*sparse.Damage
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "variant", Left: true}, {Name: "flips in rows"}, {Name: "in pairs"}, {Name: "pairs lost"}, {Name: "wrong values"}, {Name: "of"}, {Name: "wrong levels"}, {Name: "Kendall tau"}, {Name: "iterations"}, {Name: "without flips"}}}
	for _, v := range variants {
		if v.Rows {
			return usageError(cmd, "--flip with --variant %s, expected v1, hypo, v2 or v3", v.Name)
		}
		cfg.Variant = v
		cfg.Progress = iterationProgress(report, v.Name+" ")
		d, err := sparse.RunFlipped(s.ctx, app, m, f.o, cfg, share)
		if err != nil {
			return s.reasonOf(sparseError(err))
		}
		if d.Clean.Stopped != "" || d.Faulty.Stopped != "" {
			return fmt.Errorf("bitsched: stopped by %w before both runs were complete", errInterrupt)
		}
		list = append(list, d)
		t.Rows = append(t.Rows, []string{v.Name, bigCount(d.Rows), bigCount(d.Sent), bigCount(d.Lost), bigCount(d.Wrong), bigCount(d.Values), bigCount(d.Levels), fmt.Sprintf("%.6f", d.Tau), strconv.Itoa(d.Steps), strconv.Itoa(d.CleanSteps)})
	}
	s.end()
	if f.json {
		return a.printJSON(map[string]any{"matrix": text, "seed": f.input.seed, "runs": list})
	}
	var out summary
	out.add("matrix", "%s, %s x %s, %s nonzeros", text, bigCount(int64(m.Rows)), bigCount(int64(m.Cols)), bigCount(m.NNZ()))
	out.add("kernel", "%s: %s", app, list[0].Clean.Summary)
	out.add("flips", "a bit in %g of the bytes of pairs in rows, and of pairs on their way", share)
	return a.printText(out.String() + "\n" + renderTable(t) + "\n")
}

// chipTable prices the parts of the SRAM chip.
const chipTable = "chip-22nm"

// sparseChip executes an application on an SRAM chip.
func (a *app) sparseChip(s *search, app, text string, m *matrix.Matrix, f *sparseAppFlags, cfg sparse.Config, table *cost.Table, report func(masim.Progress)) error {
	return a.sparseElsewhere(s, text, m, f.json, func() (*elsewhere, error) {
		res, err := sparse.RunChip(s.ctx, app, m, f.o, sparse.ChipConfig{Type: cfg.Type, Seed: cfg.Seed, Check: cfg.Check, Instr: cfg.Instr, Coalesce: f.coalesce, Apply: f.apply, Progress: iterationProgress(report, "")})
		if err != nil {
			return nil, err
		}
		res.Energy = sparse.PriceChip(res, table)
		e := &elsewhere{result: res, summary: res.App + ": " + res.Summary, digest: res.Digest, checked: res.Checked, compared: res.Compared, iterations: len(res.Iterations), stopped: res.Stopped,
			machine: []string{"chip", fmt.Sprintf("infinity-stream, %s SPUs, %d long rows and columns", bigCount(int64(res.SPUs)), res.Long)},
			time:    fmt.Sprintf("%s, %s cycles, %s, %s of accumulation", stackTime(res.Seconds), bigCount(res.Cycles), count(len(res.Iterations), "iteration"), count(res.Rounds, "round"))}
		memory := "the matrix stays in the arrays"
		if !res.Resident {
			memory = fmt.Sprintf("%s bytes from DRAM each iteration, %.3f ms", bigCount(res.DRAMBytes), res.DRAMMillis)
		}
		e.more = append(e.more, []string{"memory", memory})
		if res.ApplyBits > 0 {
			e.more = append(e.more, []string{"step 6", fmt.Sprintf("by %s; %s cycles by SPUs, %s in bitlines", res.Apply, bigCount(res.ApplySPU), bigCount(res.ApplyBits))})
		}
		e.more = append(e.more, []string{"mesh", fmt.Sprintf("%s pairs in %s packets", bigCount(res.PairsIn), bigCount(res.Packets))})
		e.more = append(e.more, energyLines(res.Energy)...)
		return e, nil
	})
}

// stackTime is a time on the stack for a person.
func stackTime(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.2f us", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3f ms", s*1e3)
	}
	return fmt.Sprintf("%.3f s", s)
}

// bigCount is a number with spaces between thousands.
func bigCount(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

func (r *sparseRun) text() string {
	var s summary
	s.add("matrix", "%s (%s), %s x %s, %s nonzeros", r.Matrix, r.Format, bigCount(int64(r.Rows)), bigCount(int64(r.Cols)), bigCount(r.NNZ))
	if d := dropped(r.Read); d != "" {
		s.add("read", "%s", strings.TrimSpace(d))
	}
	s.add("stack", "%s, %s, %s SPUs, variant %s, %d long rows and columns", r.Machine, count(r.Layers, "layer"), bigCount(int64(r.SPUs)), r.Variant, r.Long)
	s.add("result", "%s: %s", r.App, r.Summary)
	if r.Digest != "" {
		s.add("digest", "%s", r.Digest)
	}
	if r.Checked != "" {
		s.add("checked", "equal to the reference (%s), %s values compared", r.Checked, bigCount(r.Compared))
		if r.Replayed > 0 {
			s.add("", "%s sums repeated in the order of their products, equal bits", bigCount(r.Replayed))
		}
	} else {
		s.add("checked", "no")
	}
	if r.Shadowed > 0 {
		s.add("", "%s SPUs interpreted too, equal values, cycles, row switches and pairs", bigCount(r.Shadowed))
	}
	s.gap()
	if r.Network == "bound" {
		s.add("network", "bound: links have no queues, the busiest is the time, which is a lower bound")
	}
	s.add("time", "%s on the stack, %s, %s of accumulation", stackTime(r.Seconds), count(len(r.Result.Iterations), "iteration"), count(r.Rounds, "round"))
	addStopped(&s, r.Stopped)
	s.add("nonzeros", "%s processed: %s local, %s to replicas, %s remote, %s down, %s clean indicators besides", bigCount(r.Nonzeros), bigCount(r.Pairs.Local), bigCount(r.Pairs.Replica), bigCount(r.Pairs.Remote), bigCount(r.Pairs.Down), bigCount(r.Pairs.Clean))
	s.add("network", "%s of the nonzeros went round a ring, %.2f hops in the mean; at most %d pairs waited at a station", percent(r.InterBank), r.MeanRing, r.Backlog)
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "step", Left: true}, {Name: "time"}, {Name: "share"}, {Name: "busiest SPU"}, {Name: "mean SPU"}, {Name: "row switches"}}}
	for _, st := range r.Result.Steps {
		t.Rows = append(t.Rows, []string{st.Name, stackTime(r.Seconds * share(st.Cycles, r.Cycles)), percent(share(st.Cycles, r.Cycles)), bigCount(st.Busiest), bigCount(int64(st.Mean)), bigCount(st.Loads)})
	}
	var e summary
	for _, l := range energyLines(r.Energy) {
		e.add(l[0], "%s", l[1])
	}
	e.add("simulated in", "%s CPU, %.1f M nonzeros/s with %s, %.1f M a CPU second", seconds(r.CPUSeconds), r.Rate/1e6, count(r.Threads, "thread"), r.CoreRate/1e6)
	return s.String() + "\n" + renderTable(t) + "\n\n" + e.String()
}

// energyLines tells where energy went, and what is not known of it.
func energyLines(e *sparse.Energy) [][]string {
	what := fmt.Sprintf("%.4g mJ, %.4g W, by table %s; unknown: %s", e.Total*1e3, e.Watts, e.Table, strings.Join(e.LeftOut, ", "))
	if len(e.Unconfirmed) > 0 {
		what += "; not confirmed: " + strings.Join(e.Unconfirmed, ", ")
	}
	lines := [][]string{{"energy", what}}
	for _, l := range e.Lines {
		if l.Joules != nil {
			lines = append(lines, []string{"  " + l.Name, percent(l.Share) + "  " + bigCount(l.Count)})
		}
	}
	return lines
}

func share(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// variantsText is a row for each variant.
func variantsText(runs []*sparseRun) string {
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "variant", Left: true}, {Name: "time"}, {Name: "rounds"}, {Name: "local"}, {Name: "replica"}, {Name: "remote"}, {Name: "down"}, {Name: "row switches"}, {Name: "energy mJ"}, {Name: "W"}, {Name: "digest", Left: true}, {Name: "checked", Left: true}}}
	for _, r := range runs {
		checked := "no"
		if r.Checked != "" {
			checked = "yes"
		}
		if r.Stopped != "" {
			checked = "stopped"
		}
		t.Rows = append(t.Rows, []string{r.Variant, stackTime(r.Seconds), strconv.Itoa(r.Rounds), bigCount(r.Pairs.Local), bigCount(r.Pairs.Replica), bigCount(r.Pairs.Remote), bigCount(r.Pairs.Down),
			bigCount(r.Counters.Loads), fmt.Sprintf("%.4g", r.Energy.Total*1e3), fmt.Sprintf("%.3g", r.Energy.Watts), r.Digest[:min(16, len(r.Digest))], checked})
	}
	var s summary
	r := runs[0]
	s.add("matrix", "%s, %s x %s, %s nonzeros", r.Matrix, bigCount(int64(r.Rows)), bigCount(int64(r.Cols)), bigCount(r.NNZ))
	if d := dropped(r.Read); d != "" {
		s.add("read", "%s", strings.TrimSpace(d))
	}
	s.add("kernel", "%s: %s", r.App, r.Summary)
	return s.String() + "\n" + renderTable(t) + "\n"
}
