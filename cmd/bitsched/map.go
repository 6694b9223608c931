package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/mapstudy"
	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/onnx"
	"github.com/bitsched/bitsched/lowering/mapping/plan"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
	mapsearch "github.com/bitsched/bitsched/lowering/mapping/search"
)

// workFlags are the flags of commands that take WORK.
type workFlags struct {
	batch int
	bits  string
	dims  []string
	skip  bool
	data  string
}

func (f *workFlags) add(fl *pflag.FlagSet) {
	fl.IntVar(&f.batch, "batch", 1, "`inferences` at a time, of a network of the zoo")
	fl.StringArrayVar(&f.dims, "dim", nil, "size of an open dimension of an ONNX model, as `NAME=SIZE`, without a name as INPUT[DIMENSION]=SIZE; may be given several times")
	fl.BoolVar(&f.skip, "skip-unmapped", false, "leave out nodes of an ONNX model that are not known, where it gives their shapes")
	fl.StringVar(&f.data, "data", "random", "`values` of weights: random, by seed, or model, those of an ONNX model rounded to their bits")
	fl.StringVar(&f.bits, "bits", "a=8,w=8", "`types`: bits of activations and weights, with u behind a number for unsigned ones")
}

const workHelp = `WORK is a network of the zoo (bitsched layers --list), a layer of one as in
resnet50/conv3_1b, a layer of the paper's Table IV as table4/C5, one operator as in
conv:N=4,K=64,H=56,W=56,C=64,R=3,S=3,stride=1 or gemm:M=1024,K=1024,N=1024, or a file:
ONNX (.onnx), or YAML or JSON as layers -o writes it. H and W are sizes of the output.`

// types reads --bits.
func (f *workFlags) types(cmd *cobra.Command) (dnn.Bits, error) {
	b := dnn.DefaultBits
	for _, part := range strings.Split(f.bits, ",") {
		key, text, ok := strings.Cut(part, "=")
		to := map[string]*dnn.Type{"a": &b.Activation, "w": &b.Weight}[key]
		if ok && key == "acc" && text == "auto" {
			continue
		}
		number, unsigned := strings.CutSuffix(text, "u")
		n, err := strconv.Atoi(number)
		if !ok || to == nil || err != nil || n < 1 || n > 16 || n < 2 && !unsigned {
			return b, usageError(cmd, "--bits %q, expected a=BITS,w=BITS with 2 to 16 bits, or 1u to 16u", f.bits)
		}
		*to = dnn.Type{Bits: n, Signed: !unsigned}
	}
	return b, nil
}

// network reads WORK.
func (f *workFlags) network(cmd *cobra.Command, work string) (*dnn.Network, error) {
	bits, err := f.types(cmd)
	if err != nil {
		return nil, err
	}
	if f.data != "random" && f.data != "model" {
		return nil, usageError(cmd, "--data %q, expected random or model", f.data)
	}
	if f.data == "model" && !strings.HasSuffix(work, ".onnx") {
		return nil, usageError(cmd, "--data model is for ONNX models, %s is none", work)
	}
	if f.batch < 1 || f.batch > 1<<20 {
		return nil, usageError(cmd, "--batch %d, expected 1 to %d", f.batch, 1<<20)
	}
	if isWorkFile(work) {
		file, err := os.Open(work)
		if err != nil {
			return nil, fmt.Errorf("bitsched: %s: %w", work, cause(err))
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil && info.Size() > onnx.MaxSize { // before it is read
			return nil, fmt.Errorf("bitsched: %s: %d bytes, expected at most %d", work, info.Size(), onnx.MaxSize)
		}
		return f.read(cmd, file, work, bits)
	}
	return dnn.Lookup(work, f.batch, bits)
}

// isWorkFile tells files from names: they have an extension or a directory, and no
// description of an operator does.
func isWorkFile(work string) bool {
	if strings.Contains(work, ":") {
		return false
	}
	for _, e := range []string{".onnx", ".yaml", ".yml", ".json"} {
		if strings.HasSuffix(work, e) {
			return true
		}
	}
	return strings.HasPrefix(work, "./") || strings.HasPrefix(work, "/") || strings.HasPrefix(work, "../")
}

// read reads a network in ONNX, YAML or JSON.
func (f *workFlags) read(cmd *cobra.Command, r io.Reader, file string, bits dnn.Bits) (*dnn.Network, error) {
	if !strings.HasSuffix(file, ".onnx") {
		return dnn.ReadYAML(r, file, bits)
	}
	o := onnx.Options{Bits: bits, Skip: f.skip, Data: f.data == "model", Dims: map[string]int{}}
	for _, d := range f.dims {
		name, text, ok := strings.Cut(d, "=")
		n, err := strconv.Atoi(text)
		if !ok || name == "" || err != nil || n < 1 || n > 1<<30 {
			return nil, usageError(cmd, "--dim %q, expected NAME=SIZE with a size of at least 1", d)
		}
		o.Dims[name] = n
	}
	data, err := io.ReadAll(io.LimitReader(r, 1<<31))
	if err != nil {
		return nil, fmt.Errorf("bitsched: %s: %w", file, cause(err))
	}
	return onnx.Read(data, file, o)
}

type mapFlags struct {
	work      workFlags
	platform  string
	optimizer string
	evals     int64
	effort    string
	seed      uint64
	threads   int
	budget    time.Duration
	execute   string
	every     int
	cold      bool
	warm      bool
	space     string
	pipeline  bool
	joint     bool
	objective string
	explain   bool
	svg       string
	nodes     int
	mixed     float64
	nonlinear string
	trace     string
	stats     string
	output    string
	html      string
	json      bool
}

const mapLong = `Map searches a mapping of a network or of one operator onto a memory that computes,
clocks it, executes it and compares every output with a plain loop nest, and then
reports cycles with their breakdown, the lower bound and what the paper's template
takes (ARES). Bit-serial arrays execute every instruction on every bitline, crossbars compute
exact integers with their converters, lanes beside banks read words from where the
mapping put them. Equal layers are searched once.

` + workHelp

func (a *app) mapCommand() *cobra.Command {
	var f mapFlags
	cmd := &cobra.Command{
		Use:   "map WORK --platform NAME|FILE",
		Short: "Map a neural network onto a memory that computes, execute and compare it",
		Long:  mapLong,
		Example: `  bitsched map table4/C5 --platform logic-sram
  bitsched map resnet18 --platform mvm-reram --effort fast
  bitsched map gemm:M=64,K=256,N=64 --platform pnm-hbm -o gemm.yaml
  bitsched map net.onnx --platform ./mine.yaml
  bitsched map resnet18 --platform logic-sram,pnm-hbm,core-avx2 --joint`,
		Args:              exactArgs("WORK"),
		ValidArgsFunction: completeWork,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.mapWork(cmd, args[0], &f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.platform, "platform", "logic-sram", "memory that computes: a `name` (see bitsched platform) or a file; several, separated by commas, with --joint")
	f.work.add(fl)
	fl.StringVar(&f.optimizer, "optimizer", "bitsched", "how to search, by `name`: "+strings.Join(optimizerNames(), ", "))
	fl.Int64Var(&f.evals, "evals", 0, "`number` of mappings that may be priced for each operator (0 = by --effort)")
	fl.StringVar(&f.effort, "effort", "normal", "how hard to search, a `level`: fast, normal or high (1000, 10000 or 100000 mappings)")
	fl.DurationVar(&f.budget, "budget", 0, "stop the search after this `time`, for example 60s (0 = when it is done)")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the random choices, and of the data")
	fl.IntVar(&f.threads, "threads", 0, "`number` of threads (0 = all cores); does not change the result")
	fl.StringVar(&f.execute, "execute", "gate", "`fidelity` of the execution: gate, word or none")
	fl.IntVar(&f.every, "every", 64, "at word fidelity, execute every `n`-th unit by gates too")
	fl.BoolVar(&f.cold, "cold", false, "count loading static operands that stay")
	fl.BoolVar(&f.warm, "warm", false, "do not, for a network either")
	fl.StringVar(&f.space, "space", "default", "`space` of mappings: default, or paper (each loop in one dimension, none empty)")
	fl.StringVar(&f.objective, "objective", "latency", "`what` is minimised: latency, energy, edp (their product), or pareto, a front of cycles, energy and units of one operator")
	fl.BoolVar(&f.explain, "explain", false, "say how many candidates each rule refused, and what energy is made of")
	fl.StringVar(&f.svg, "svg", "", "draw the mapping and its breakdown, or the front, into this `file`")
	fl.StringVar(&f.trace, "trace", "", "write what cycles are spent on when into this `file`, for ui.perfetto.dev")
	fl.StringVar(&f.stats, "stats", "", "write counters of each layer into this `file`, in the form of gem5")
	fl.BoolVar(&f.joint, "joint", false, "plan a network as a whole: layouts between layers, activations that stay in the buffer, and with several platforms where each layer runs")
	fl.BoolVar(&f.pipeline, "pipeline", true, "run networks on crossbars in segments of layer pipelines; false: one layer after another")
	fl.Float64Var(&f.mixed, "mixed", -1, "give each layer as few bits, 2 to those of --bits, as keep the sum of their largest errors within this `percentage` of their largest results")
	fl.StringVar(&f.nonlinear, "nonlinear", "near", "`where` requantising, ReLU, sums and pools of largest elements are done: near memory, in no time, or in memory, as programs of its arrays")
	fl.IntVar(&f.nodes, "nodes", 1, "`number` of chips: groups of the outermost level and buffer are multiplied")
	fl.StringVarP(&f.output, "output", "o", "", "write the mapping, of one operator, to this `file` (- for stdout)")
	addHTML(fl, &f.html)
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	complete(cmd, "platform", platform.Names()...)
	complete(cmd, "optimizer", optimizerNames()...)
	complete(cmd, "effort", "fast", "normal", "high")
	complete(cmd, "execute", "gate", "word", "none")
	complete(cmd, "space", "default", "paper")
	complete(cmd, "nonlinear", "near", "memory")
	return cmd
}

func completeWork(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return dnn.ZooNames(), cobra.ShellCompDirectiveDefault
}

func optimizerNames() []string {
	var names []string
	for _, o := range mapsearch.Optimizers() {
		names = append(names, o.Name())
	}
	return names
}

// evalsOf is the number of evaluations of a level of effort.
func evalsOf(effort string) int64 {
	return map[string]int64{"fast": 1000, "normal": 10000, "high": 100000}[effort]
}

// options looks at the flags.
func (f *mapFlags) options(cmd *cobra.Command, net *dnn.Network, p *platform.Platform) (o plan.Options, err error) {
	switch {
	case f.budget < 0:
		return o, usageError(cmd, "--budget %v, expected a time that is not negative", f.budget)
	case f.evals < 0:
		return o, usageError(cmd, "--evals %d, expected 0 or more", f.evals)
	case evalsOf(f.effort) == 0:
		return o, usageError(cmd, "--effort %q, expected fast, normal or high", f.effort)
	case !slices.Contains([]string{"gate", "word", "none"}, f.execute):
		return o, usageError(cmd, "--execute %q, expected gate, word or none", f.execute)
	case f.every < 1:
		return o, usageError(cmd, "--every %d, expected at least 1", f.every)
	case f.cold && f.warm:
		return o, usageError(cmd, "--cold and --warm exclude each other")
	case f.space != "default" && f.space != "paper":
		return o, usageError(cmd, "--space %q, expected default or paper", f.space)
	case !slices.Contains([]string{"", "latency", "energy", "edp", "pareto"}, f.objective):
		return o, usageError(cmd, "--objective %q, expected latency, energy, edp or pareto", f.objective)
	case f.objective == "pareto" && len(net.MACs()) > 1:
		return o, usageError(cmd, "--objective pareto is for one operator, %s has %d", net.Name, len(net.MACs()))
	case f.joint && f.objective != "" && f.objective != "latency":
		return o, usageError(cmd, "--joint minimises latency, not %s", f.objective)
	case cmd.Flags().Changed("mixed") && !(f.mixed >= 0 && f.mixed <= 1e6):
		return o, usageError(cmd, "--mixed %v, expected a percentage of at least 0", f.mixed)
	case f.mixed >= 0 && (f.joint || f.output != "" || f.objective != "" && f.objective != "latency"):
		return o, usageError(cmd, "--mixed is not for --joint, --objective or -o")
	case !slices.Contains([]string{"", "near", "memory"}, f.nonlinear):
		return o, usageError(cmd, "--nonlinear %q, expected near or memory", f.nonlinear)
	case f.nonlinear == "memory" && p.Executor != platform.ArrayExecutor:
		return o, usageError(cmd, "--nonlinear memory is for arrays, %s has none", p.Name)
	case f.nonlinear == "memory" && (f.joint || f.mixed >= 0 || f.objective != "" && f.objective != "latency"):
		return o, usageError(cmd, "--nonlinear memory is not for --joint, --mixed or --objective")
	case f.trace != "" && (f.joint || f.pipeline && p.Executor == platform.CrossbarExecutor && len(net.MACs()) > 1):
		return o, usageError(cmd, "--trace is of layers one after another: without --joint, on crossbars with --pipeline=false")
	case f.nodes < 0 || f.nodes > 1<<16:
		return o, usageError(cmd, "--nodes %d, expected 1 to %d", f.nodes, 1<<16)
	case f.output == "-" && f.json:
		return o, usageError(cmd, "--json and -o - both want stdout")
	}
	if _, err := mapsearch.Lookup(f.optimizer); err != nil {
		return o, err
	}
	if f.evals == 0 {
		f.evals = evalsOf(f.effort)
	}
	o = plan.Options{Objective: f.objective, Pipeline: f.pipeline && (f.objective == "" || f.objective == "latency"), Optimizer: f.optimizer, Evals: f.evals, Prove: f.effort == "high", Seed: f.seed, Cold: f.cold, Paper: f.space == "paper", Execute: f.execute, Every: f.every, Nonlinear: f.nonlinear == "memory"}
	if f.mixed >= 0 {
		o.Precisions, o.Mixed, o.Pipeline = true, f.mixed/100, false
	}
	// Layers of a network that run one after another do not stay in units; in banks they do.
	if len(net.MACs()) > 1 && p.Executor != platform.SIMDExecutor && !f.warm {
		o.Cold = true
	}
	if len(net.MACs()) > 1 && f.output != "" {
		return o, usageError(cmd, "-o is for one operator, %s has %d", net.Name, len(net.MACs()))
	}
	o.Threads, err = threads(cmd, f.threads)
	return o, err
}

// loadPlatform reads a platform by name or from a file.
func loadPlatform(name string) (*platform.Platform, error) {
	p, err := platform.Load(name)
	if errors.Is(err, platform.ErrUnknown) {
		return nil, fmt.Errorf("%w (see bitsched platform)", err)
	}
	return p, err
}

func (a *app) mapWork(cmd *cobra.Command, work string, f *mapFlags) error {
	var others []*platform.Platform
	names := strings.Split(f.platform, ",")
	for _, name := range names[1:] {
		q, err := loadPlatform(name)
		if err != nil {
			return err
		}
		others = append(others, q)
	}
	p, err := loadPlatform(names[0])
	if err != nil {
		return err
	}
	net, err := f.work.network(cmd, work)
	if err != nil {
		return err
	}
	o, err := f.options(cmd, net, p)
	if err != nil {
		return err
	}
	if len(others) > 0 && !f.joint {
		return usageError(cmd, "%d platforms, expected one, or --joint", len(names))
	}
	o.Joint, o.Platforms = f.joint, others
	if f.joint {
		o.Cold = f.cold // layers decide by their platforms
	}
	if f.nodes == 0 {
		return usageError(cmd, "--nodes 0, expected at least 1")
	}
	if p, err = p.Nodes(f.nodes); err != nil {
		return err
	}
	if f.objective == "pareto" && f.html != "" {
		return usageError(cmd, "--html is not for --objective pareto")
	}
	if f.objective != "latency" {
		node := net.MACs()[0]
		q, err := mapping.New(context.Background(), net.Nodes[node].Op, p, mapping.Options{Cold: o.Cold, Paper: o.Paper, Weights: plan.Constants(net, node, p, o.Seed)})
		if err != nil {
			return err
		}
		if err := q.KnowsEnergy(); err != nil {
			return err
		}
		if f.objective == "pareto" {
			return a.mapPareto(cmd, q, o, f)
		}
	}
	if err := a.checkWritable(f.output, append([]string{work}, names...)...); err != nil {
		return err
	}
	if err := a.checkHTML(cmd, f.html, f.json, work, f.platform); err != nil {
		return err
	}
	for _, file := range []string{f.trace, f.stats} {
		if err := a.checkWritable(file, append([]string{work}, names...)...); err != nil {
			return err
		}
	}
	if err := checkDistinct(f.output, f.html, f.trace, f.stats); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	o.Progress = func(p plan.Progress) { line.planning(p) }
	s := a.startStoppable(f.budget, line, "finishing with the best mapping so far")
	defer s.end()
	rep, err := plan.Map(s.ctx, context.Background(), net, p, o)
	stopped := s.stopped()
	s.end()
	line.clear()
	if err != nil {
		return planError(err)
	}
	if f.output != "" {
		l := &rep.Layers[0]
		if err := a.writeFile(f.output, func(w io.Writer) error { return l.Problem.Write(w, &l.Mapping) }); err != nil {
			return err
		}
	}
	if f.html != "" {
		if err := a.writeResult(f.html, work, newMapReport(rep, stopped, f)); err != nil {
			return err
		}
	}
	if f.svg != "" && !f.joint {
		if err := a.writeBytes(f.svg, mapstudy.MappingFigure(rep)); err != nil {
			return err
		}
	}
	if f.stats != "" {
		if err := a.writeFile(f.stats, func(w io.Writer) error { return writeMapStats(w, rep) }); err != nil {
			return err
		}
	}
	if f.trace != "" {
		if err := a.writeFile(f.trace, func(w io.Writer) error { return writeMapTrace(w, rep) }); err != nil {
			return err
		}
	}
	if f.joint && !f.json && f.output != "-" {
		return a.printText(a.jointText(rep, stopped))
	}
	if f.json {
		r := newMapReport(rep, stopped, f)
		r.CPUSeconds, r.WallSeconds = cpuTime().Seconds(), time.Since(a.start).Seconds()
		return a.printJSON(r)
	}
	if f.output == "-" || f.html == "-" {
		return nil
	}
	return a.printText(a.mapText(rep, stopped, f))
}

// planError gives a failed check its exit code.
func planError(err error) error {
	if errors.Is(err, plan.ErrCheck) {
		return fmt.Errorf("%w: %w", errCheck, err)
	}
	return err
}

// mapReport is the JSON form of a mapped network.
type mapReport struct {
	Work        string           `json:"work"`
	Title       string           `json:"title"`
	Platform    string           `json:"platform"`
	ClockGHz    float64          `json:"clock_ghz"`
	Optimizer   string           `json:"optimizer"`
	Seed        uint64           `json:"seed"`
	Cold        bool             `json:"cold"`
	Cycles      int64            `json:"cycles,omitempty"` // this, the bound and the baseline not of a joint plan
	Nanoseconds float64          `json:"nanoseconds"`
	Bound       int64            `json:"bound,omitempty"`
	Gap         float64          `json:"gap_percent"`
	Baseline    int64            `json:"baseline_cycles,omitempty"`
	Breakdown   map[string]int64 `json:"breakdown,omitempty"`
	Energy      float64          `json:"known_energy_nanojoules,omitempty"`
	Unknown     []string         `json:"energy_unknown,omitempty"` // events
	Layers      []mapLayer       `json:"layers"`
	Segments    []mapSegment     `json:"segments,omitempty"`
	Joint       *mapJoint        `json:"joint,omitempty"`
	Passes      []mapPass        `json:"nonlinear_in_memory,omitempty"`
	NotTimed    map[string]int64 `json:"not_timed"`
	Checked     mapChecked       `json:"checked"`
	Stopped     string           `json:"stopped"`
	Determinist bool             `json:"deterministic"`
	CPUSeconds  float64          `json:"cpu_seconds"`
	WallSeconds float64          `json:"wall_seconds"`
}

type mapChecked struct {
	Outputs     int64  `json:"outputs"`
	Of          int64  `json:"of"`
	Differences int64  `json:"differences"`
	Oracle      string `json:"oracle"`
	Fidelity    string `json:"fidelity"`
	Cycles      bool   `json:"cycles_agree"` // of closed form and clock, in the layers that were clocked
	Unclocked   int    `json:"layers_not_clocked"`
	Skipped     int    `json:"layers_not_executed"`
	Clipped     int64  `json:"outputs_of_clipping_converters"` // compared with a quantising reference instead
}

// mapSegment is a part of a network whose layers run as a pipeline.
type mapSegment struct {
	Layers  []string `json:"layers"`
	Alone   bool     `json:"programmed_in_rounds"`
	Units   int64    `json:"crossbars"`
	Program int64    `json:"programming_cycles"`
	Cycles  int64    `json:"cycles"`
	Slowest int64    `json:"slowest_stage_cycles,omitempty"`
}

// mapPass is what a node that is no sum of products takes in arrays.
type mapPass struct {
	Name      string           `json:"name"`
	Op        string           `json:"op"`
	Elements  int64            `json:"elements"`
	Cycles    int64            `json:"cycles"`
	Bound     int64            `json:"bound"`
	Reason    string           `json:"bound_reason"`
	Rounds    int64            `json:"rounds"`
	Breakdown map[string]int64 `json:"breakdown"`
	Compared  int64            `json:"elements_compared"` // with the word level
}

type mapLayer struct {
	Name        string           `json:"name"`
	Operator    string           `json:"operator"`
	MACs        int64            `json:"macs"`
	Function    string           `json:"function"`
	Mapping     string           `json:"mapping"`
	Cycles      int64            `json:"cycles"`
	Breakdown   map[string]int64 `json:"breakdown"`
	Bound       int64            `json:"bound"`
	Reason      string           `json:"bound_reason"`
	Proved      bool             `json:"proved"`
	Baseline    int64            `json:"baseline_cycles"`
	Template    string           `json:"template"`
	Units       int64            `json:"units"`
	Waves       int64            `json:"waves"`
	Utilisation float64          `json:"utilisation"`
	Traffic     map[string]int64 `json:"traffic_bytes"`
	Evaluations int64            `json:"evaluations"`
	Refused     map[string]int64 `json:"refused,omitempty"` // candidates, by rule
	Outputs     int64            `json:"outputs_compared"`
	Same        string           `json:"same_as,omitempty"`
	Weights     *mapInstructions `json:"weights_as_instructions,omitempty"`
	Bits        int              `json:"bits,omitempty"`
	ErrorBound  float64          `json:"error_bound,omitempty"`
	ErrorFound  float64          `json:"error_executed,omitempty"`
	Clipped     int64            `json:"clipped_samples,omitempty"`
	Samples     int64            `json:"samples,omitempty"`
	SQNR        float64          `json:"sqnr_db,omitempty"`
	MaxError    int64            `json:"max_error,omitempty"`
}

// mapInstructions counts weights that are instructions.
type mapInstructions struct {
	Weights int64 `json:"weights"`
	Zeros   int64 `json:"zeros"`
	Bits    int64 `json:"one_bits"`
	Digits  int64 `json:"digits"`
	Sums    int64 `json:"sums"`
	Cycles  int64 `json:"cycles"`
	Dense   int64 `json:"cycles_of_all_bits"`
}

func breakdown(parts [mapping.NumParts]int64) map[string]int64 {
	out := map[string]int64{}
	for i, c := range parts {
		out[mapping.Part(i).String()] = c
	}
	return out
}

func newMapReport(rep *plan.Report, stopped string, f *mapFlags) *mapReport {
	r := &mapReport{
		Work: rep.Network.Name, Title: rep.Network.Title, Platform: rep.Platform.Name, ClockGHz: rep.Platform.ClockGHz, Optimizer: rep.Options.Optimizer,
		Seed: rep.Options.Seed, Cold: rep.Options.Cold, Cycles: rep.Cycles, Nanoseconds: float64(rep.Cycles) / rep.Platform.ClockGHz, Bound: rep.Bound,
		Gap: 100 * (float64(rep.Cycles)/float64(rep.Bound) - 1), Baseline: rep.Baseline, Breakdown: breakdown(rep.Parts), NotTimed: map[string]int64{},
		Checked: mapChecked{Outputs: rep.Outputs, Of: rep.All, Oracle: "loop nest", Fidelity: rep.Options.Execute, Cycles: true, Unclocked: rep.Unclocked, Skipped: rep.Skipped, Clipped: clippedOutputs(rep)},
		Stopped: stopped, Determinist: f.budget == 0 && stopped == "",
	}
	for i := range rep.Passes {
		p := &rep.Passes[i]
		r.Passes = append(r.Passes, mapPass{p.Name, string(p.Work.Op), p.Work.Elements, p.Cost.Cycles, p.Bound.Cycles, p.Bound.Reason, p.Cost.Waves, breakdown(p.Cost.Parts), p.Checked})
	}
	for k, n := range rep.Near {
		r.NotTimed[string(k)] = n
	}
	if len(rep.Platform.Energy) > 0 {
		pj, unknown := energyOf(rep)
		r.Energy, r.Unknown = pj/1000, unknown
	}
	if rep.Options.Joint {
		// Several platforms have no cycle in common.
		r.Joint = newMapJoint(rep)
		r.Cycles, r.Bound, r.Baseline, r.Breakdown = 0, 0, 0, nil
		r.Nanoseconds, r.Gap = r.Joint.Nanoseconds, 100*(float64(rep.Picos)/float64(rep.BoundPicos)-1)
	}
	for _, x := range rep.Segments {
		m := mapSegment{Alone: x.Alone, Units: x.Units, Program: x.Program, Cycles: x.Cycles}
		for i := x.First; i <= x.Last; i++ {
			m.Layers = append(m.Layers, rep.Layers[i].Name)
		}
		for _, st := range x.Stages {
			m.Slowest = max(m.Slowest, st.Cycles)
		}
		r.Segments = append(r.Segments, m)
	}
	for i := range rep.Layers {
		l := &rep.Layers[i]
		x := mapLayer{
			Name: l.Name, Operator: l.Op.String(), MACs: l.Op.MACs(), Function: l.Problem.Platform.Functions[l.Mapping.Function].Name, Mapping: l.Problem.String(&l.Mapping),
			Cycles: l.Cost.Cycles, Breakdown: breakdown(l.Cost.Parts), Bound: l.Bound.Cycles, Reason: l.Bound.Reason, Template: l.Template,
			Units: l.Cost.Units, Waves: l.Cost.Waves, Utilisation: l.Problem.Utilisation(&l.Cost), Traffic: traffic(l.Problem.Platform, &l.Cost), Outputs: l.Outputs,
		}
		if l.Search != nil {
			x.Evaluations, x.Proved, x.Refused = l.Search.Evaluations, l.Search.Proved, map[string]int64{}
			for v, n := range l.Search.Killed {
				if n > 0 {
					x.Refused[mapping.Violation(v).String()] = n
				}
			}
		}
		if l.Baseline != nil {
			x.Baseline = l.Baseline.Cycles
		}
		if l.Same >= 0 {
			x.Same = rep.Layers[l.Same].Name
		}
		if p := l.Precision; p != nil {
			x.Bits, x.ErrorBound, x.ErrorFound = p.Bits, p.Error, p.Measured
		}
		if i := l.Instructions; i != nil {
			x.Weights = (*mapInstructions)(i)
		}
		if e := l.Executed; e != nil && e.Quantised != nil {
			x.Samples, x.Clipped, x.SQNR, x.MaxError = e.Quantised.Samples, e.Quantised.Clipped, e.Quantised.SQNR, e.Quantised.MaxError
		}
		r.Layers = append(r.Layers, x)
	}
	return r
}

func traffic(p *platform.Platform, c *mapping.Cost) map[string]int64 {
	out := map[string]int64{}
	for i, l := range p.Levels {
		out[l.Name] = c.Traffic[i]
	}
	if p.OffChip != nil {
		out["off-chip"] = c.Traffic[len(p.Levels)]
	}
	return out
}

// timeText is a number of cycles as time.
func timeText(cycles int64, ghz float64) string {
	ns := float64(cycles) / ghz
	for _, u := range []struct {
		name string
		ns   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}} {
		if ns >= u.ns {
			return fmt.Sprintf("%.4g %s", ns/u.ns, u.name)
		}
	}
	return fmt.Sprintf("%.4g ns", ns)
}

// partsText lists the parts of cycles that there are.
func partsText(s *summary, parts [mapping.NumParts]int64, cycles int64) {
	for i, c := range parts {
		if c > 0 {
			s.add("  "+mapping.Part(i).String(), "%12d  %5.1f %%", c, 100*float64(c)/float64(cycles))
		}
	}
}

func (a *app) mapText(rep *plan.Report, stopped string, f *mapFlags) string {
	var s summary
	p := rep.Platform
	s.add("work", "%s: %s", rep.Network.Name, rep.Network.Title)
	s.add("platform", "%s: %s", p.Name, p.Title)
	evals := int64(0)
	for i := range rep.Layers {
		if l := &rep.Layers[i]; l.Same < 0 && l.Search != nil {
			evals += l.Search.Evaluations
		}
	}
	s.add("search", "%s, %d mappings priced, seed %d, %s", rep.Options.Optimizer, evals, rep.Options.Seed, map[bool]string{true: "cold", false: "warm"}[rep.Options.Cold])
	if stopped != "" {
		s.add("stopped", "early by %s: another run may differ", stopped)
	} else if f.budget > 0 {
		s.add("note", "the search ended within the budget of %v; where it does not, the result may differ", f.budget)
	}
	s.gap()
	if len(rep.Layers) == 1 {
		layerText(&s, rep, &rep.Layers[0])
	} else {
		s.add("layers", "%d, %d different", len(rep.Layers), different(rep))
		if n := len(rep.Segments); n > 0 {
			alone := 0
			for _, x := range rep.Segments {
				if x.Alone {
					alone++
				}
			}
			s.add("segments", "%d: pipelines of layers whose weights fit %d crossbars together; %d of them one layer that is programmed in rounds", n, p.Units(), alone)
		}
	}
	s.gap()
	s.add("cycles", "%d, %s at %g GHz", rep.Cycles, timeText(rep.Cycles, p.ClockGHz), p.ClockGHz)
	partsText(&s, rep.Parts, rep.Cycles)
	s.add("at least", "%d (%.1f %% above it)%s", rep.Bound, 100*(float64(rep.Cycles)/float64(max(rep.Bound, 1))-1), boundReason(rep))
	if rep.Baseline > 0 {
		s.add("template", "%d by %s: 1-t/t_base %.2f %%, t_base/t-1 %.2f %%", rep.Baseline, rep.Layers[0].Template,
			100*(1-float64(rep.Cycles)/float64(rep.Baseline)), 100*(float64(rep.Baseline)/float64(rep.Cycles)-1))
	}
	if len(rep.Platform.Energy) > 0 {
		s.add("energy", "%s", mapEnergyText(rep))
	}
	instructionsText(&s, rep)
	precisionText(&s, rep)
	passesText(&s, rep)
	if f.explain {
		explainText(&s, rep)
	}
	s.gap()
	if rep.Options.Execute == "none" {
		s.add("checked", "nothing was executed; %s", clockText(rep))
	} else {
		clipped := clippedOutputs(rep)
		if rep.Outputs < rep.All {
			s.add("checked", "%d of %d outputs, of every %dth cluster of units after the interrupt, agree with the loop nest; %s", rep.Outputs, rep.All, rep.Sample, clockText(rep))
		} else if clipped == 0 {
			s.add("checked", "all %d outputs agree with the loop nest; %s", rep.Outputs, clockText(rep))
		} else {
			s.add("checked", "%d outputs agree with the loop nest, %d, where converters clip, with a quantising reference; %s", rep.Outputs-clipped, clipped, clockText(rep))
		}
		for i := range rep.Layers {
			if e := rep.Layers[i].Executed; e != nil && e.Quantised != nil && e.Quantised.Clipped > 0 {
				s.add("clipped", "%s: %d of %d samples; %.1f dB, largest error %d; equal to the quantising reference", rep.Layers[i].Name, e.Quantised.Clipped, e.Quantised.Samples, e.Quantised.SQNR, e.Quantised.MaxError)
			}
		}
		s.add("executed", "%s", executedText(rep))
	}
	if len(rep.Near) > 0 {
		var parts []string
		for _, k := range sortedKinds(rep.Near) {
			parts = append(parts, fmt.Sprintf("%s %d", k, rep.Near[k]))
		}
		s.add("not timed", "elements near memory: %s", strings.Join(parts, ", "))
	}
	for _, n := range rep.Network.Notes {
		s.add("note", "%s", n)
	}
	if f.output != "" {
		s.add("written", "%s", f.output)
	}
	s.add("time", "%.2f s", time.Since(a.start).Seconds())
	text := s.String()
	if len(rep.Passes) > 0 {
		text += "\n" + renderTable(passesTable(rep)) + "\n"
	}
	if len(rep.Layers) > 1 {
		if len(rep.Segments) > 0 {
			text += "\n" + renderTable(segmentsTable(rep)) + "\n"
		}
		text += "\n" + renderTable(layersTable(rep)) + "\n"
	}
	return text
}

// clockText says how far closed form and clock were compared.
func clockText(rep *plan.Report) string {
	text := "closed form and clock agree to the cycle"
	if rep.Unclocked > 0 {
		text += fmt.Sprintf(" in %d of %d layers, the others have too many waves to clock one by one", len(rep.Layers)-rep.Unclocked, len(rep.Layers))
	}
	if rep.Skipped > 0 {
		text += fmt.Sprintf("; %d layers were not executed any more", rep.Skipped)
	}
	return text
}

// passesText says what is done in arrays beside products, and what was compared.
func passesText(s *summary, rep *plan.Report) {
	if len(rep.Passes) == 0 {
		return
	}
	var cycles, elements, checked int64
	for i := range rep.Passes {
		p := &rep.Passes[i]
		cycles, elements, checked = cycles+p.Cost.Cycles, elements+p.Work.Elements, checked+p.Checked
	}
	text := "none was executed"
	if checked > 0 {
		text = fmt.Sprintf("%d elements executed by gates agree with the word level", checked)
	}
	s.add("nonlinear", "%d operations on %d elements in arrays, %d of the cycles; %s", len(rep.Passes), elements, cycles, text)
}

// passesTable sums what is done in arrays beside products by operation.
func passesTable(rep *plan.Report) benchmarks.Table {
	t := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "nonlinear", Left: true}, {Name: "nodes"}, {Name: "elements"}, {Name: "cycles"}, {Name: "at least"}, {Name: "compute"},
	}}
	at := map[mapping.PointOp]int{}
	var sums [][5]int64
	for i := range rep.Passes {
		p := &rep.Passes[i]
		k, ok := at[p.Work.Op]
		if !ok {
			k = len(sums)
			at[p.Work.Op] = k
			sums = append(sums, [5]int64{})
			t.Rows = append(t.Rows, []string{string(p.Work.Op)})
		}
		for j, v := range []int64{1, p.Work.Elements, p.Cost.Cycles, p.Bound.Cycles, p.Cost.Parts[mapping.Compute]} {
			sums[k][j] += v
		}
	}
	for k, row := range sums {
		for _, v := range row {
			t.Rows[k] = append(t.Rows[k], fmt.Sprint(v))
		}
	}
	return t
}

// precisionText says how many bits layers have, and what that costs and spares.
func precisionText(s *summary, rep *plan.Report) {
	if rep.Uniform == nil {
		return
	}
	var parts []string
	sum, worst := 0.0, 0.0
	for i := range rep.Layers {
		p := rep.Layers[i].Precision
		parts = append(parts, fmt.Sprint(p.Bits))
		sum += p.Error
		worst = max(worst, p.Measured)
	}
	s.add("bits", "%s, by layer", strings.Join(parts, " "))
	s.add("errors", "at most %.3g %% of the largest results, summed over layers, of %g %% allowed; the largest executed is %.3g %%, in a layer", 100*sum, 100*rep.Options.Mixed, 100*worst)
	parts = nil
	for _, b := range slices.Sorted(maps.Keys(rep.Uniform)) {
		parts = append(parts, fmt.Sprintf("%d: %d", b, rep.Uniform[b]))
	}
	s.add("uniform", "cycles by bits of all layers: %s", strings.Join(parts, ", "))
}

// instructionsText says which weights are instructions, and what their zeros spare.
func instructionsText(s *summary, rep *plan.Report) {
	var t mapping.Instructions
	layers := 0
	for i := range rep.Layers {
		if x := rep.Layers[i].Instructions; x != nil {
			layers++
			t.Weights, t.Zeros, t.Bits, t.Digits = t.Weights+x.Weights, t.Zeros+x.Zeros, t.Bits+x.Bits, t.Digits+x.Digits
			t.Sums, t.Cycles, t.Dense = t.Sums+x.Sums, t.Cycles+x.Cycles, t.Dense+x.Dense
		}
	}
	if layers == 0 {
		return
	}
	s.add("instructions", "%d weights of %d of %d layers are in the program: %.1f %% zero, %.2f one bits and %.2f signed digits each; %d sums; products take %d cycles, %d with a sum for each bit",
		t.Weights, layers, len(rep.Layers), 100*float64(t.Zeros)/float64(t.Weights), float64(t.Bits)/float64(t.Weights), float64(t.Digits)/float64(t.Weights), t.Sums, t.Cycles, t.Dense)
}

// clippedOutputs counts the outputs of layers whose converters clipped: those are
// compared with a quantising reference.
func clippedOutputs(rep *plan.Report) int64 {
	n := int64(0)
	for i := range rep.Layers {
		if e := rep.Layers[i].Executed; e != nil && e.Quantised != nil && e.Quantised.Clipped > 0 {
			n += rep.Layers[i].Outputs
		}
	}
	return n
}

func executedText(rep *plan.Report) string {
	var units, words, rowOps int64
	for i := range rep.Layers {
		if e := rep.Layers[i].Executed; e != nil {
			units += e.Units
			words += e.Word
			rowOps += e.RowOps
		}
	}
	text := fmt.Sprintf("%d units by %s", units, map[string]string{
		platform.ArrayExecutor: "gates", platform.CrossbarExecutor: "bits and converters", platform.SIMDExecutor: "words",
	}[rep.Platform.Executor])
	if rowOps > 0 {
		text += fmt.Sprintf(", %.3g row operations x bitlines", float64(rowOps))
	}
	if words > 0 {
		text += fmt.Sprintf("; %d units by elements", words)
	}
	return text
}

func boundReason(rep *plan.Report) string {
	if len(rep.Layers) != 1 {
		return ""
	}
	l := &rep.Layers[0]
	if l.Search != nil && l.Search.Proved {
		return "; the mapping is proved optimal; bound: " + l.Bound.Reason
	}
	return ": " + l.Bound.Reason
}

func different(rep *plan.Report) int {
	n := 0
	for i := range rep.Layers {
		if rep.Layers[i].Same < 0 {
			n++
		}
	}
	return n
}

func sortedKinds(m map[dnn.Kind]int64) []dnn.Kind {
	var out []dnn.Kind
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// layerText is the mapping of one operator.
func layerText(s *summary, rep *plan.Report, l *plan.Layer) {
	q := l.Problem
	f := rep.Platform.Functions[l.Mapping.Function]
	s.add("operator", "%s, %d products", l.Op, l.Op.MACs())
	s.add("binding", "%s", mapstudy.BindingText(q, &l.Mapping))
	for sl := range mapping.NumSlots {
		var parts []string
		n := int64(1)
		for i := range l.Op.Loops {
			if x := l.Mapping.Factor[sl][i]; x > 1 {
				parts = append(parts, fmt.Sprintf("%s=%d", l.Op.Loops[i].Name, x))
				n *= int64(x)
			}
		}
		if len(parts) == 0 || sl < mapping.SlotInner {
			continue
		}
		name := q.Slot(&l.Mapping, sl)
		switch {
		case sl >= mapping.SlotLevel && sl < mapping.SlotWave:
			s.add(name, "%s: %d of %d in space", strings.Join(parts, " "), n, rep.Platform.Levels[sl-mapping.SlotLevel].FanOut)
		case sl == mapping.SlotWave:
			s.add(name, "%d in time, order %s (outermost first)%s", n, mapstudy.OrderText(l.Op, &l.Mapping, &l.Mapping.Wave, sl), mapstudy.DoubleText(l.Mapping.Double))
		case sl == mapping.SlotTile:
			s.add(name, "%d of the buffer, order %s%s", n, mapstudy.OrderText(l.Op, &l.Mapping, &l.Mapping.Tile, sl), mapstudy.DoubleText(l.Mapping.DoubleTile))
		default:
			s.add(name, "%s: %d accumulators", strings.Join(parts, " "), n)
		}
	}
	if rep.Platform.Buffer != nil {
		var kept, through []string
		for o := range f.Operands {
			name := l.Op.Tensors[l.Mapping.Tensor(o)].Name
			if l.Mapping.Keep[o] {
				kept = append(kept, name)
			} else {
				through = append(through, name)
			}
		}
		s.add("buffer", "keeps %s%s", orNothing(kept), map[bool]string{true: ", passed by " + strings.Join(through, ", "), false: ""}[len(through) > 0])
	}
	s.add("units", "%d of %d, %d invocations each, %.1f %% of the places for products used", l.Cost.Units, rep.Platform.Units(), l.Cost.Waves, 100*q.Utilisation(&l.Cost))
	var links []string
	for i, x := range rep.Platform.Levels {
		links = append(links, fmt.Sprintf("%s %s", x.Name, bytesText(l.Cost.Traffic[i])))
	}
	if rep.Platform.OffChip != nil {
		links = append(links, "off-chip "+bytesText(l.Cost.Traffic[len(rep.Platform.Levels)]))
	}
	s.add("traffic", "%s", strings.Join(links, ", "))
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func bytesText(n int64) string {
	x := float64(n)
	for _, u := range []string{"B", "KiB", "MiB", "GiB"} {
		if x < 1024 || u == "GiB" {
			return fmt.Sprintf("%.4g %s", x, u)
		}
		x /= 1024
	}
	return ""
}

func segmentsTable(rep *plan.Report) benchmarks.Table {
	t := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "segment"}, {Name: "layers", Left: true}, {Name: "crossbars"}, {Name: "programming"}, {Name: "cycles"}, {Name: "slowest stage", Left: true},
	}}
	for i, x := range rep.Segments {
		slowest, name := int64(0), ""
		for _, st := range x.Stages {
			if st.Cycles > slowest {
				slowest, name = st.Cycles, fmt.Sprintf("%s: %d cycles, %d crossbars", rep.Layers[st.Layer].Name, st.Cycles, st.Units)
			}
		}
		if x.Alone {
			name = "programmed in rounds"
		}
		layers := rep.Layers[x.First].Name
		if x.Last > x.First {
			layers += " to " + rep.Layers[x.Last].Name
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(i + 1), layers, fmt.Sprint(x.Units), fmt.Sprint(x.Program), fmt.Sprint(x.Cycles), name})
	}
	return t
}

func layersTable(rep *plan.Report) benchmarks.Table {
	t := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "layer", Left: true}, {Name: "operator", Left: true}, {Name: "cycles"}, {Name: "at least"}, {Name: "gap %"}, {Name: "template"}, {Name: "1-t/t_base %"}, {Name: "used %"},
	}}
	for i := range rep.Layers {
		l := &rep.Layers[i]
		base, gain := "", ""
		if l.Baseline != nil {
			base = fmt.Sprint(l.Baseline.Cycles)
			gain = fmt.Sprintf("%.2f", 100*(1-float64(l.Cost.Cycles)/float64(l.Baseline.Cycles)))
		}
		t.Rows = append(t.Rows, []string{l.Name, l.Op.String(), fmt.Sprint(l.Cost.Cycles), fmt.Sprint(l.Bound.Cycles),
			fmt.Sprintf("%.1f", 100*(float64(l.Cost.Cycles)/math.Max(1, float64(l.Bound.Cycles))-1)), base, gain, fmt.Sprintf("%.1f", 100*l.Problem.Utilisation(&l.Cost))})
	}
	return t
}
