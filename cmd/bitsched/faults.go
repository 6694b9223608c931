package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

type faultsFlags struct {
	rows, arrays, cols  int
	effort              string
	stuck               int
	flip, read, disturb float64
	latch               float64
	sweep               []string
	sweepOf             string
	tech, operands      string
	width               int
	few, selfTest       bool
	patterns            int
	trials              int
	seed                uint64
	threads             int
	json                bool
	svg                 string
}

const faultsLong = `Faults executes a program on random input patterns while cells of the arrays
fail, and reports how often its outputs are wrong: the share of patterns with a
wrong bit, and of wrong bits, of all outputs and of each, with 95 % confidence
intervals (Wilson).

The program is read from PROG, or with --rows made from FILE as schedule does
at fast effort. It is compared with the circuit without faults first; the exit
code is 1 if it is wrong then. OP is an operation instead, as int32.add or
fp32.mul (bitsched ops lists them): its program is compared with the processor
when it is built, a pattern is a word on each bitline, and for floating-point
results the report says how large the errors are. A file of such a name is given
as ./fp32.mul.

  --stuck N      N cells in used rows are stuck at random values, others in each trial
  --flip P       a cell that is written takes the other value
  --read P       a bit is sensed wrong; the cell keeps its value
  --disturb P    a cell that is activated together with another row flips
  --latch P      a carry or tag latch that is set takes the other value (OP only)

A trial is one load of the arrays, with a pattern on each bitline. --sweep runs
a campaign for each of several values of one of these, flips if --sweep-of does
not say otherwise, and --svg draws the error rates against them.

--self-test sticks every row that the operation uses, and every latch, at 0 and
at 1, and says what finds each fault: the row self-test, which writes and reads
both values, and the result of the operation on --patterns patterns. The exit code is 1
if one of them is found by neither.

The result depends on the program, the flags and the seed only, not on the
number of threads. Ctrl-C ends the campaign with the trials done by then; a
second Ctrl-C aborts.`

const faultsExample = `  bitsched faults mult.aig mult.bsp --flip 1e-6
  bitsched faults mult.aig --rows 256 --stuck 1 --trials 1000 --json
  bitsched faults mult.aig --rows 256 --sweep 1e-7,1e-6,1e-5,1e-4 --svg flips.svg
  bitsched faults mult.aig mult.bsp --sweep 1,2,4,8 --sweep-of stuck
  bitsched faults fp32.mul --tech neural-cache --flip 1e-6 --trials 10000
  bitsched faults fp32.mul --tech xmg --self-test`

// faultKinds are what can be swept, with the label of the axis.
var faultKinds = []struct{ name, axis string }{
	{"flip", "probability that a written cell flips"},
	{"read", "probability that a bit is sensed wrong"},
	{"disturb", "probability that an activated cell flips"},
	{"latch", "probability that a latch that is set flips"},
	{"stuck", "stuck cells"},
}

func (a *app) faultsCommand() *cobra.Command {
	var f faultsFlags
	cmd := &cobra.Command{
		Use:     "faults (FILE (PROG | --rows R) | OP)",
		Short:   "Execute a program or an operation while cells fail, and count wrong outputs",
		Long:    faultsLong,
		Example: faultsExample,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && (isOperation(args[0], f.width) || cmd.Flags().Changed("rows")):
				return nil
			case len(args) == 1:
				if err := noOperation(args[0], f.width); err != nil {
					return usageError(cmd, "%w", err)
				}
				return usageError(cmd, "missing PROG or --rows")
			case cmd.Flags().Changed("rows"):
				return exactArgs("FILE")(cmd, args)
			}
			return exactArgs("FILE", "PROG")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && isOperation(args[0], f.width) {
				return a.faultsOperation(cmd, args[0], f)
			}
			return a.faults(cmd, args, f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&f.stuck, "stuck", 0, "`number` of stuck cells in each trial")
	fl.Float64Var(&f.flip, "flip", 0, "`probability` that a written cell flips")
	fl.Float64Var(&f.read, "read", 0, "`probability` that a bit is sensed wrong")
	fl.Float64Var(&f.disturb, "disturb", 0, "`probability` that a cell activated with others flips")
	fl.Float64Var(&f.latch, "latch", 0, "`probability` that a latch that is set flips, of an operation")
	fl.StringSliceVar(&f.sweep, "sweep", nil, "run a campaign for each of these `values`")
	fl.StringVar(&f.sweepOf, "sweep-of", "flip", "what the values are of, a `kind`: flip, read, disturb, latch or stuck")
	fl.IntVar(&f.trials, "trials", 100, "`loads` of the arrays")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of patterns and faults")
	fl.IntVar(&f.threads, "threads", 0, "`number` of threads (0 = all cores); does not change the result")
	fl.IntVar(&f.rows, "rows", 0, "schedule FILE onto arrays of this many `rows`; for an operation, rows of its array (default 256)")
	fl.IntVar(&f.arrays, "arrays", 8, "number of `arrays`, with --rows")
	fl.IntVar(&f.cols, "cols", sram.DefaultCols, "`bitlines` of an array, with --rows or an operation")
	fl.StringVar(&f.effort, "effort", masim.Fast.String(), "how hard to search with --rows, a `level`: fast, normal or high")
	fl.StringVar(&f.tech, "tech", sram.NeuralCache.Name, "array `technology` of an operation: "+strings.Join(techNames(), ", "))
	fl.IntVar(&f.width, "width", 32, "width in `bits` of an operation whose type does not say it")
	fl.BoolVar(&f.few, "few-rows", false, "search circuits of operations for orders that need few scratch rows")
	fl.StringVar(&f.operands, "operands", arith.Normal.String(), "how floating-point operands are drawn, a `kind`: normal, of the standard normal distribution, or bits, all alike")
	fl.BoolVar(&f.selfTest, "self-test", false, "stick each row of an operation, and say what finds it")
	fl.IntVar(&f.patterns, "patterns", 1<<14, "`patterns` that --self-test runs the operation on; all there are if these are few")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	fl.StringVar(&f.svg, "svg", "", "draw error rates against the values of --sweep into this `file`")
	complete(cmd, "sweep-of", "flip", "read", "disturb", "latch", "stuck")
	complete(cmd, "tech", techNames()...)
	complete(cmd, "operands", "normal", "bits")
	complete(cmd, "effort", "fast", "normal", "high")
	return cmd
}

// campaign is one campaign of a sweep.
type campaignResult struct {
	Value   float64    `json:"value"`  // of what is swept
	Faults  faultModel `json:"faults"` // all of them
	Trials  int        `json:"trials"`
	Stopped string     `json:"stopped"` // "" or "interrupt"
	*arith.FaultReport
}

type faultModel struct {
	Stuck   int     `json:"stuck"`
	Flip    float64 `json:"flip"`
	Read    float64 `json:"read"`
	Disturb float64 `json:"disturb"`
	Latch   float64 `json:"latch"`
}

type faultsResult struct {
	Netlist     *netlistReport   `json:"netlist,omitempty"`
	Program     *programReport   `json:"program,omitempty"`
	Operation   *operationReport `json:"operation,omitempty"` // instead of the two
	SweepOf     string           `json:"sweep_of"`            // "" = one campaign
	Seed        uint64           `json:"seed"`
	Campaigns   []campaignResult `json:"campaigns"`
	Stopped     string           `json:"stopped"`
	CPUSeconds  float64          `json:"cpu_seconds"`
	WallSeconds float64          `json:"wall_seconds"`
}

// models are the faults of each campaign, with the values that are swept.
func (f *faultsFlags) models(cmd *cobra.Command) (models []faultModel, values []float64, err error) {
	base := faultModel{f.stuck, f.flip, f.read, f.disturb, f.latch}
	kind := slices.IndexFunc(faultKinds, func(k struct{ name, axis string }) bool { return k.name == f.sweepOf })
	switch {
	case f.trials < 1:
		return nil, nil, usageError(cmd, "--trials %d, expected at least 1", f.trials)
	case kind < 0:
		return nil, nil, usageError(cmd, "--sweep-of %q, expected flip, read, disturb, latch or stuck", f.sweepOf)
	case cmd.Flags().Changed("sweep-of") && len(f.sweep) == 0:
		return nil, nil, usageError(cmd, "--sweep-of without --sweep")
	case f.svg != "" && len(f.sweep) == 0:
		return nil, nil, usageError(cmd, "--svg without --sweep")
	case f.svg == "-":
		return nil, nil, usageError(cmd, "--svg -, expected a file")
	case len(f.sweep) > 0 && cmd.Flags().Changed(f.sweepOf):
		return nil, nil, usageError(cmd, "--%s with a --sweep of it", f.sweepOf)
	}
	if len(f.sweep) == 0 {
		return []faultModel{base}, []float64{0}, base.check(cmd)
	}
	for _, text := range f.sweep {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || slices.Contains(values, v) {
			return nil, nil, usageError(cmd, "--sweep has %q, expected numbers, each once", text)
		}
		m := base
		switch f.sweepOf {
		case "flip":
			m.Flip = v
		case "read":
			m.Read = v
		case "disturb":
			m.Disturb = v
		case "latch":
			m.Latch = v
		case "stuck":
			if v != math.Trunc(v) || v > math.MaxInt32 {
				return nil, nil, usageError(cmd, "--sweep has %q, expected whole numbers of stuck cells", text)
			}
			m.Stuck = int(v)
		}
		if err := m.check(cmd); err != nil {
			return nil, nil, err
		}
		models, values = append(models, m), append(values, v)
	}
	return models, values, nil
}

func (m *faultModel) faults() sram.Faults {
	return sram.Faults{RandomStuck: m.Stuck, Write: m.Flip, Read: m.Read, Disturb: m.Disturb, Latch: m.Latch}
}

func (m *faultModel) check(cmd *cobra.Command) error {
	f := m.faults()
	if err := f.Validate(sram.Geometry{}); err != nil { // no cell is named
		return usageError(cmd, "%w", err)
	}
	return nil
}

func (a *app) faults(cmd *cobra.Command, args []string, f faultsFlags) error {
	for _, name := range operationFlags {
		if cmd.Flags().Changed(name) || name == "latch" && f.sweepOf == name {
			return usageError(cmd, "--%s with a program, expected an operation", name)
		}
	}
	models, values, err := f.models(cmd)
	if err != nil {
		return err
	}
	workers, err := threads(cmd, f.threads)
	if err != nil {
		return err
	}
	effort, err := xmg.ParseEffort(f.effort)
	if err != nil {
		return err
	}
	if len(args) == 2 && args[0] == "-" && args[1] == "-" {
		return usageError(cmd, "FILE and PROG are both -, expected at most one to be read from stdin")
	}
	if err := a.checkWritable(f.svg, args...); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	n, g, err := a.readGraph(args[0], line)
	if err != nil {
		return err
	}

	prog, file, err := a.faultyProgram(args, f, n, masim.BuildOptions{
		Options: masim.Options{Effort: effort, Seed: f.seed, Threads: workers, Energy: sram.DefaultEnergy, Progress: a.searchProgress(line)},
		Graph:   g, Geometry: sram.Geometry{Arrays: f.arrays, Rows: f.rows, Cols: f.cols},
	}, line)
	if err != nil {
		return err
	}
	if err := sameInterface(n, args[0], prog, file); err != nil {
		return err
	}
	verdict, err := masim.Verify(context.Background(), n, prog, masim.VerifyOptions{Seed: f.seed, Threads: workers, Progress: line.patterns})
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s cannot run as %s: %w", errCheck, file, fileName(args[0]), err)
	case !verdict.Equal():
		return fmt.Errorf("%w: %s does not compute %s even without faults: %v", errCheck, file, fileName(args[0]), verdict.First)
	}

	netlist, program := newNetlistReport(args[0], n.Name, g), newProgramReport(file, prog)
	r := &faultsResult{Netlist: &netlist, Program: &program, Seed: f.seed}
	return a.campaigns(r, models, values, f, line, func(ctx context.Context, m faultModel, progress func(done, total int)) (*arith.FaultReport, error) {
		c := sram.Campaign{
			Program: prog, Faults: m.faults(), Trials: f.trials, Seed: f.seed, Threads: workers, Reference: n.Simulate, Progress: progress,
		}
		report, err := c.Run(ctx)
		return &arith.FaultReport{CampaignReport: report}, err
	})
}

// campaigns runs the campaigns of a sweep and reports them. One that was
// interrupted is the last.
func (a *app) campaigns(r *faultsResult, models []faultModel, values []float64, f faultsFlags, line *progressLine,
	run func(ctx context.Context, m faultModel, progress func(done, total int)) (*arith.FaultReport, error)) error {
	if len(f.sweep) > 0 {
		r.SweepOf = f.sweepOf
	}
	s := a.startBudget(0)
	defer s.end()
	var first sync.Once
	report := a.searchProgress(line)
	for i, m := range models {
		found, err := run(s.ctx, m, func(done, total int) {
			first.Do(func() { a.onInterrupt(s, line, "finishing with the trials so far") })
			report(masim.Progress{Phase: "trial", Done: done, Total: total, Best: -1})
		})
		if err != nil && !errors.Is(err, errInterrupt) {
			return fmt.Errorf("bitsched: %w", err)
		}
		if found.Trials > 0 {
			c := campaignResult{Value: values[i], Faults: m, Trials: found.Trials, FaultReport: found}
			if err != nil {
				c.Stopped = errInterrupt.Error()
			}
			r.Campaigns = append(r.Campaigns, c)
		}
		if err != nil {
			r.Stopped = errInterrupt.Error()
			break
		}
	}
	s.disarm()
	line.clear()
	if len(r.Campaigns) == 0 {
		return fmt.Errorf("bitsched: stopped by %w before the first trial was complete", context.Cause(s.ctx))
	}
	if f.svg != "" {
		if err := a.writeFaultFigure(r, f); err != nil {
			return err
		}
	}
	r.CPUSeconds, r.WallSeconds = cpuTime().Seconds(), time.Since(a.start).Seconds()
	if f.json {
		return a.printJSON(r)
	}
	return a.printText(r.text(f))
}

// faultyProgram reads the program, or schedules the circuit.
func (a *app) faultyProgram(args []string, f faultsFlags, n *netlist.Network, o masim.BuildOptions, line *progressLine) (*sram.Program, string, error) {
	if len(args) == 2 {
		line.phase("reading " + fileName(args[1]))
		prog, _, err := a.readProgram(args[1])
		return prog, fileName(args[1]), err
	}
	built, err := masim.Build(context.Background(), n, o)
	if err != nil {
		return nil, "", buildError(args[0], err)
	}
	return built.Result.Program, "schedule of " + fileName(args[0]), nil
}

func (a *app) writeFaultFigure(r *faultsResult, f faultsFlags) error {
	axis := ""
	for _, k := range faultKinds {
		if k.name == r.SweepOf {
			axis = k.axis
		}
	}
	var points []benchmarks.FaultPoint
	for _, c := range r.Campaigns {
		points = append(points, benchmarks.FaultPoint{Value: c.Value, Report: c.CampaignReport})
	}
	svg := benchmarks.FaultFigure("Error rate under faults: "+r.name(), axis, points)
	if svg == nil {
		return errors.New("bitsched: --svg: no value above 0 to draw")
	}
	return a.writeBytes(f.svg, svg)
}

// shownOutputs is how many outputs the text names.
const shownOutputs = 10

func (r *faultsResult) text(f faultsFlags) string {
	var s summary
	what := "patterns"
	if o := r.Operation; o != nil {
		what = "words"
		o.summarize(&s)
	} else {
		p := r.Program
		s.add("netlist", "%s: %s, %s", r.Netlist.Name, count(r.Netlist.Inputs, "input"), count(r.Netlist.Outputs, "output"))
		s.add("program", "%s: %s, %s", p.File, count(p.Computes, "compute"), copies(p.Copies))
		s.add("arrays", "%d of %d used, %d rows x %d bitlines", p.ArraysUsed, p.Arrays, p.Rows, p.Cols)
	}
	s.add("trials", "%s, one %s a bitline, seed %d", count(f.trials, "load"), strings.TrimSuffix(what, "s"), r.Seed)
	m := r.Campaigns[0].Faults
	constant := func(kind, format string, v any, zero bool) {
		if kind != r.SweepOf && !zero {
			s.add("faults", format, v)
		}
	}
	constant("stuck", "%s in each trial", count(m.Stuck, "stuck cell"), m.Stuck == 0)
	constant("flip", "a written cell flips with probability %g", m.Flip, m.Flip == 0)
	constant("read", "a bit is sensed wrong with probability %g", m.Read, m.Read == 0)
	constant("disturb", "an activated cell flips with probability %g", m.Disturb, m.Disturb == 0)
	constant("latch", "a latch that is set flips with probability %g", m.Latch, m.Latch == 0)
	if r.SweepOf == "" && m == (faultModel{}) {
		s.add("faults", "none")
	}

	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: cmp.Or(r.SweepOf, "campaign")}, {Name: what},
		{Name: "wrong " + what}, {Name: "95 % interval"}, {Name: "wrong bits"}, {Name: "95 % interval"}}}
	for i := range r.Campaigns {
		c := &r.Campaigns[i]
		t.Rows = append(t.Rows, []string{r.label(c), strconv.Itoa(c.Patterns), rateText(c.Wrong.Rate), interval(c.Wrong), rateText(c.Bits.Rate), interval(c.Bits)})
	}
	text := s.String() + "\n" + renderTable(t) + "\n" + r.floatText()

	if last := r.Campaigns[len(r.Campaigns)-1]; last.Wrong.Count > 0 && r.Operation != nil {
		text += r.bitsText(&last)
	} else if last.Wrong.Count > 0 {
		worst := slices.Clone(last.Outputs)
		slices.SortStableFunc(worst, func(a, b sram.OutputRates) int { return cmp.Compare(b.Count, a.Count) })
		o := benchmarks.Table{Columns: []benchmarks.Column{{Name: "output", Left: true}, {Name: "wrong"}, {Name: "95 % interval"}}}
		for _, w := range worst[:min(shownOutputs, len(worst))] {
			o.Rows = append(o.Rows, []string{w.Name, rateText(w.Rate.Rate), interval(w.Rate)})
		}
		text += "\n" + renderTable(o) + "\n"
		if len(worst) > shownOutputs {
			text += fmt.Sprintf("the %d worst of %d outputs", shownOutputs, len(worst))
			if len(r.Campaigns) > 1 {
				text += " in the last campaign"
			}
			text += "; --json has all\n"
		}
	}
	var end summary
	if r.Stopped != "" {
		end.add("note", "stopped by %s: the last campaign has %s", r.Stopped, count(r.Campaigns[len(r.Campaigns)-1].Trials, "trial"))
	}
	if f.svg != "" {
		end.add("written", "%s", f.svg)
	}
	end.add("time", "%s (%s CPU)", seconds(r.WallSeconds), seconds(r.CPUSeconds))
	return text + "\n" + end.String()
}

// name is what is executed.
func (r *faultsResult) name() string {
	if r.Operation != nil {
		return r.Operation.Op + " on " + r.Operation.Tech
	}
	return r.Netlist.Name
}

// label names a campaign by the value that is swept.
func (r *faultsResult) label(c *campaignResult) string {
	if r.SweepOf == "" {
		return "1"
	}
	return strconv.FormatFloat(c.Value, 'g', -1, 64)
}

func rateText(p float64) string { return strconv.FormatFloat(p, 'g', 3, 64) }

func interval(r sram.Rate) string { return rateText(r.Low) + " to " + rateText(r.High) }
