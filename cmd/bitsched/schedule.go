package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks/report"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

type scheduleFlags struct {
	rows, arrays, cols int
	scheduler          string
	effort             string
	budget             time.Duration
	seed               uint64
	threads            int
	output             string
	format             string
	patterns           int
	prove              bool
	copyEnergy         float64
	objective          string
	rematerialize      bool
	topology           string
	cost               costFlags
	html               string
	json               bool
}

const scheduleLong = `Schedule reads a circuit, maps it to MAJ and XOR gates, and schedules these
onto arrays so that few rows are copied between them. A circuit of MAJ and XOR
gates is scheduled as it is; one of other logic is synthesised first, as synth
does at the same --effort, so that it has few gates.

Before anything is printed or written, the schedule is checked twice: a replay
follows which gate's value lies in which row and checks every rule of the
machine, and an execution on the model of the arrays compares every bitline
with the circuit. With --prove it is also proved, for all inputs, that the
program computes the circuit; if that cannot be decided, the exit code is 1.
A third of a --budget is then kept for the proof.

The result depends on the circuit, the flags and the seed only, not on the
number of threads; a --budget that cuts the search short makes it depend on the
machine too. Ctrl-C stops the search and gives the best schedule so far; a
second Ctrl-C aborts. Either holds in every phase: reading, synthesis, bounding,
the search, verification and proof. What was stopped is delivered a second later,
and one more for each million gates; where there is no schedule yet, the exit code
is 130.`

const scheduleExample = `  bitsched schedule mult.aig --rows 256
  bitsched schedule mult.aig --rows 256 -o mult.bsp
  bitsched schedule mult.v --rows 128 --arrays 4 --effort high --json
  bitsched schedule mult.aig --rows 256 --prove -o mult.bsp
  bitsched schedule mult.aig --rows 256 --budget 30s
  bitsched gen adder --width 32 -o - | bitsched schedule - --rows 64`

func (a *app) scheduleCommand() *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use:     "schedule FILE --rows R",
		Short:   "Schedule a circuit onto arrays, and verify the result",
		Long:    scheduleLong + "\n\nSchedulers:\n" + schedulerList(),
		Example: scheduleExample,
		Args:    exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.schedule(cmd, args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&f.rows, "rows", 0, "`rows` of an array (required)")
	fl.IntVar(&f.arrays, "arrays", 8, "number of `arrays`")
	fl.IntVar(&f.cols, "cols", sram.DefaultCols, "`bitlines` of an array")
	fl.StringVar(&f.scheduler, "scheduler", defaultScheduler(), "scheduling algorithm, by `name`")
	fl.StringVar(&f.effort, "effort", masim.Normal.String(), "how hard to search, a `level`: fast, normal or high")
	fl.DurationVar(&f.budget, "budget", 0, "stop the search after this `time`, for example 60s (0 = when it is done)")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the random choices")
	fl.IntVar(&f.threads, "threads", 0, "`number` of threads (0 = all cores); does not change the result")
	fl.StringVarP(&f.output, "output", "o", "", "write the program to this `file` (- for stdout)")
	fl.StringVar(&f.format, "format", "bitsched", "`form` of the program: bitsched or masim")
	fl.IntVar(&f.patterns, "patterns", masim.DefaultPatterns, "input `patterns` to verify on: directed ones, then random ones")
	fl.BoolVar(&f.prove, "prove", false, proveUsage)
	fl.Float64Var(&f.copyEnergy, "copy-energy", sram.DefaultEnergy.Copy, "`energy` of a copy, in units of a compute")
	fl.StringVar(&f.objective, "objective", masim.MinCopies.String(), "what to have few of, a `goal`: copies, energy, cycles, or rows (of a single array)")
	fl.BoolVar(&f.rematerialize, "rematerialize", false, "compute a gate again where that takes less energy than copying it")
	fl.StringVar(&f.topology, "topology", "", "weigh copies by the distances between arrays in this `file`, a matrix of numbers")
	f.cost.add(cmd, fl)
	addHTML(fl, &f.html)
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	complete(cmd, "objective", "copies", "energy", "cycles", "rows")
	complete(cmd, "scheduler", schedulerNames()...)
	complete(cmd, "effort", "fast", "normal", "high")
	complete(cmd, "format", "bitsched", "masim")
	return cmd
}

func defaultScheduler() string { return masim.Schedulers[0].Name }

func schedulerNames() []string {
	var names []string
	for _, s := range masim.Schedulers {
		names = append(names, s.Name)
	}
	return names
}

func schedulerList() string {
	var b strings.Builder
	for _, s := range masim.Schedulers {
		fmt.Fprintf(&b, "  %-12s %s\n", s.Name, s.Doc)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

type netlistReport struct {
	Name    string `json:"name"`
	Inputs  int    `json:"inputs"`
	Outputs int    `json:"outputs"`
	Gates   int    `json:"gates"`
	And     int    `json:"and"` // of the maj: with a constant fanin
	Maj     int    `json:"maj"`
	Xor     int    `json:"xor"`
}

func newNetlistReport(file, model string, g *xmg.Graph) netlistReport {
	maj, xor := g.Counts()
	return netlistReport{netlistName(file, model), g.NumInputs(), g.NumOutputs(), g.NumGates(), g.CountAnd(), maj, xor}
}

// netlistName is the name of a circuit in reports: that of its file, since the
// models of benchmark files are often all called top.
func netlistName(file, model string) string {
	if file != "-" {
		base := filepath.Base(file)
		if name := strings.TrimSuffix(base, filepath.Ext(base)); name != "" {
			return name
		}
		return base
	}
	if model != "" {
		return model
	}
	return stdinName
}

// gates names the kinds of gates that are there.
func (r netlistReport) gates() string {
	return countedGates(r.Gates, r.And, r.Maj, r.Xor)
}

// countedGates is a number of gates by their kinds, maj with those that are and: "3 (2 and,
// 1 xor)".
func countedGates(gates, and, maj, xor int) string {
	r := readReport{And: and, Maj: maj - and, Xor: xor}
	return r.text(strconv.Itoa(gates))
}

type scheduleResult struct {
	Netlist        netlistReport `json:"netlist"`
	Rows           int           `json:"rows"`
	Cols           int           `json:"cols"`
	ArraysAllowed  int           `json:"arrays_allowed"`
	ArraysUsed     int           `json:"arrays_used"`
	Scheduler      string        `json:"scheduler"`
	Effort         string        `json:"effort"`
	Seed           uint64        `json:"seed"`
	Trials         int           `json:"trials"`        // complete schedules that were evaluated
	Stopped        string        `json:"stopped"`       // "", "budget" or "interrupt"
	Deterministic  bool          `json:"deterministic"` // a rerun gives the same program
	Objective      string        `json:"objective"`
	Computes       int           `json:"computes"`
	Recomputed     int           `json:"recomputed"`      // computes beyond one for each gate
	MaxRows        int           `json:"max_rows"`        // the most rows used in an array
	WeightedCopies float64       `json:"weighted_copies"` // copies times distance
	Copies         int           `json:"copies"`
	CopiesOfInputs int           `json:"copies_of_inputs"` // which cannot be computed instead
	CopiesOfGates  int           `json:"copies_of_gates"`
	Instructions   int           `json:"instructions"`
	Energy         float64       `json:"energy"`
	CopyEnergy     float64       `json:"copy_energy"`
	LowerBound     boundReport   `json:"lower_bound"`
	Verified       verifyReport  `json:"verified"`
	Cost           *costReport   `json:"cost,omitempty"`
	CPUSeconds     float64       `json:"cpu_seconds"`
	WallSeconds    float64       `json:"wall_seconds"`
}

type boundReport struct {
	Copies int    `json:"copies"`
	Reason string `json:"reason"`

	// Of --rematerialize, where the fewest copies need not be the least energy.
	Energy       float64 `json:"energy,omitempty"`
	EnergyReason string  `json:"energy_reason,omitempty"`
}

// met reports whether no schedule takes less energy.
func (b boundReport) met(energy float64) bool { return energy <= b.Energy*(1+1e-9) }

// verifyReport is what the checks found.
type verifyReport struct {
	Replay     bool `json:"replay"`     // the replay kept every rule
	Patterns   int  `json:"patterns"`   // input patterns that were executed
	Mismatches int  `json:"mismatches"` // output bits that differ from the circuit
	Proved     bool `json:"proved"`     // for all inputs: by --prove, or the patterns were all that there are

	Proof *proofReport `json:"proof,omitempty"` // of --prove
}

// check looks at the values of the flags before anything is read.
func (f *scheduleFlags) check(cmd *cobra.Command) (s masim.Scheduler, o masim.Options, err error) {
	switch {
	case f.budget < 0:
		return s, o, usageError(cmd, "--budget %v, expected a time that is not negative", f.budget)
	case f.patterns < 1:
		return s, o, usageError(cmd, "--patterns %d, expected at least 1", f.patterns)
	case !(f.copyEnergy >= 0) || math.IsInf(f.copyEnergy, 0):
		return s, o, usageError(cmd, "--copy-energy %v, expected a number that is not negative", f.copyEnergy)
	case f.format != "bitsched" && f.format != "masim":
		return s, o, usageError(cmd, "--format %q, expected bitsched or masim", f.format)
	case f.output == "" && cmd.Flags().Changed("format"):
		return s, o, usageError(cmd, "--format without -o FILE")
	case f.output == "-" && f.json:
		return s, o, usageError(cmd, "--json and -o - both want stdout")
	}
	if s, err = masim.Lookup(f.scheduler); err != nil {
		return s, o, err
	}
	o.Seed = f.seed
	if o.Effort, err = xmg.ParseEffort(f.effort); err != nil {
		return s, o, err
	}
	if o.Objective, err = masim.ParseObjective(f.objective); err != nil {
		return s, o, err
	}
	o.Rematerialize = f.rematerialize
	o.Energy = sram.Energy{Compute: sram.DefaultEnergy.Compute, Copy: f.copyEnergy}
	switch {
	case !s.Extended && (f.rematerialize || f.topology != "" || o.Objective != masim.MinCopies):
		return s, o, usageError(cmd, "--objective, --rematerialize and --topology are for --scheduler %s, not %s", defaultScheduler(), s.Name)
	case o.Objective == masim.MinRows && (f.rematerialize || f.topology != ""):
		return s, o, usageError(cmd, "--objective rows has no copies to weigh, expected no --rematerialize or --topology")
	}
	if f.topology != "" {
		file, err := os.Open(f.topology)
		if err != nil {
			return s, o, fmt.Errorf("bitsched: %w", err)
		}
		defer file.Close()
		if o.Distance, err = masim.ReadDistances(file, f.topology, f.arrays); err != nil {
			return s, o, err
		}
	}
	o.Threads, err = threads(cmd, f.threads)
	return s, o, err
}

func (a *app) schedule(cmd *cobra.Command, file string, f scheduleFlags) error {
	scheduler, opts, err := f.check(cmd)
	if err != nil {
		return err
	}
	table, err := f.cost.load()
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("rows") {
		return usageError(cmd, "missing --rows")
	}
	if err := a.checkWritable(f.output, file, f.topology, f.cost.table); err != nil {
		return err
	}
	if err := a.checkHTML(cmd, f.html, f.json, file, f.topology, f.cost.table); err != nil {
		return err
	}
	if err := checkDistinct(f.output, f.html); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	s := a.startBudget(f.budget)
	defer s.end()
	n, err := a.readCircuit(s.ctx, file, line)
	if err != nil {
		return err
	}
	const what = "finishing with the best schedule so far"
	opts.Progress = a.onceThereIs(s, line, what, a.searchProgress(line))
	if n.NumGates() <= masim.LateGates { // so many are scheduled even then
		a.onInterrupt(s, line, what)
	}
	a.unchecked(&scheduler)
	built, err := masim.Build(s.ctx, n, masim.BuildOptions{
		Options: opts, Scheduler: scheduler, Geometry: sram.Geometry{Arrays: f.arrays, Rows: f.rows, Cols: f.cols},
		Patterns: f.patterns, Prove: f.prove, Budget: f.budget,
	})
	if err != nil {
		return buildError(file, err)
	}
	stopped := ""
	if built.Stopped {
		stopped = cmp.Or(s.stopped(), errBudget.Error())
	}
	proof := newProofReport(built.Graph, built.Proof, s.stopped())
	unproved := proof.check("the program", file)
	if unproved != nil && proof.Stopped == "" {
		return unproved
	}
	g, result, replay, verdict := built.Graph, built.Result, built.Replay, built.Verdict
	if f.output != "" && unproved == nil {
		line.phase("writing")
		err := a.writeFile(f.output, func(w io.Writer) error { return writeProgram(w, g, result.Program, f.format) })
		if err != nil {
			return err
		}
	}
	line.clear()

	energy := sram.Energy{Compute: sram.DefaultEnergy.Compute, Copy: f.copyEnergy}
	bound := boundReport{Copies: built.Bound.Copies, Reason: built.Bound.Reason}
	if e := built.Energy; e != nil {
		bound.Energy, bound.EnergyReason = e.Energy, e.Reason
	}
	r := &scheduleResult{
		Netlist:        newNetlistReport(file, n.Name, g),
		Rows:           f.rows,
		Cols:           f.cols,
		ArraysAllowed:  f.arrays,
		ArraysUsed:     replay.ArraysUsed,
		Scheduler:      scheduler.Name,
		Effort:         built.Effort.String(),
		Seed:           f.seed,
		Trials:         result.Trials,
		Stopped:        stopped,
		Deterministic:  f.budget == 0 && stopped == "",
		Objective:      opts.Objective.String(),
		Computes:       replay.Computes,
		Recomputed:     replay.Recomputed,
		MaxRows:        replay.MaxRows,
		WeightedCopies: weightedCopies(result.Program, opts.Distance),
		Copies:         replay.Copies,
		CopiesOfInputs: replay.InputCopies,
		CopiesOfGates:  replay.Copies - replay.InputCopies,
		Instructions:   replay.Instructions,
		Energy:         result.Program.Energy(energy),
		CopyEnergy:     f.copyEnergy,
		LowerBound:     bound,
		Verified:       newVerifyReport(true, verdict, proof),
		Cost:           f.cost.report(table, result.Program),
		CPUSeconds:     cpuTime().Seconds(),
		WallSeconds:    time.Since(a.start).Seconds(),
	}
	r.Cost.noteCopyEnergy(f.copyEnergy)
	if f.html != "" && unproved == nil {
		page, err := schedulePage(r, g, result.Program)
		if err == nil {
			err = a.writePage(f.html, page)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case f.html == "-":
	case f.json:
		err = a.printJSON(r)
	case f.output != "-" || unproved != nil: // else stdout holds the program
		err = a.printText(r.text(f, verdict, unproved == nil) + r.Cost.text())
	}
	return cmp.Or(err, unproved)
}

// schedulePage is a page of a schedule and of its circuit.
func schedulePage(r *scheduleResult, g *xmg.Graph, p *sram.Program) (*report.Page, error) {
	sections, err := report.Schedule("Schedule", g, p)
	if err != nil {
		return nil, err
	}
	bound := strconv.Itoa(r.LowerBound.Copies)
	if r.LowerBound.Copies == r.Copies {
		bound += ", met"
	}
	facts, _ := sections[0].Parts[0].(report.Facts)
	sections[0].Parts[0] = append(facts, report.Facts{
		{Name: "copies at least", Value: bound}, {Name: "scheduler", Value: r.Scheduler}, {Name: "effort", Value: r.Effort}, {Name: "seed", Value: strconv.FormatUint(r.Seed, 10)},
		{Name: "energy, in computes", Value: fmt.Sprintf("%.1f", r.Energy)}, {Name: "patterns executed", Value: strconv.Itoa(r.Verified.Patterns)},
	}...)
	return &report.Page{
		Title: r.Netlist.Name + " on arrays", Sections: append(sections, report.Circuit("Circuit", g)...),
		Lead: fmt.Sprintf("%s, on arrays of %d rows. The program was replayed by its rules and executed; every bitline agrees with the circuit.", gateText(r.Netlist), r.Rows),
	}, nil
}

// gateText counts gates in words.
func gateText(r netlistReport) string {
	n, kinds, ok := strings.Cut(r.gates(), " (")
	if !ok {
		return n + " gates"
	}
	return n + " gates: " + strings.TrimSuffix(kinds, ")")
}

// weightedCopies is the sum of the distances that the copies go.
func weightedCopies(p *sram.Program, distance [][]float64) float64 {
	if distance == nil {
		return float64(p.Copies())
	}
	sum := 0.0
	for _, in := range p.Instrs {
		if in.Op == sram.Copy {
			sum += distance[in.From][in.Array]
		}
	}
	return sum
}

// buildError gives the error of [masim.Build] its exit code.
func buildError(file string, err error) error {
	if errors.Is(err, masim.ErrUnverified) {
		return fmt.Errorf("%w: %s: %w", errCheck, fileName(file), err)
	}
	return err
}

// readGraph reads a circuit and makes its graph, with little effort.
func (a *app) readGraph(file string, line *progressLine) (*netlist.Network, *xmg.Graph, error) {
	n, err := a.readCircuit(context.Background(), file, line)
	if err != nil {
		return nil, nil, err
	}
	line.phase("mapping to gates")
	g, err := xmg.FromNetwork(context.Background(), n, xmg.Options{Progress: a.graphProgress(line)})
	if err != nil {
		return nil, nil, err
	}
	return n, g, nil
}

func writeProgram(w io.Writer, g *xmg.Graph, prog *sram.Program, format string) error {
	if format == "masim" {
		return masim.WriteMASIM(w, g, prog)
	}
	_, err := prog.WriteTo(w)
	return err
}

func newVerifyReport(replay bool, v *masim.VerifyReport, p *proofReport) verifyReport {
	return verifyReport{
		Replay: replay, Patterns: v.Patterns, Mismatches: v.Mismatches,
		Proved: v.Exhaustive && v.Equal() || p.proved(), Proof: p,
	}
}

func (r *scheduleResult) text(f scheduleFlags, v *masim.VerifyReport, written bool) string {
	var s summary
	s.add("netlist", "%s: %s, %s", r.Netlist.Name, count(r.Netlist.Inputs, "input"), count(r.Netlist.Outputs, "output"))
	s.add("gates", "%s", r.Netlist.gates())
	s.add("arrays", "%d of %d used, %d rows x %d bitlines", r.ArraysUsed, r.ArraysAllowed, r.Rows, r.Cols)
	s.add("scheduler", "%s, effort %s, seed %d", r.Scheduler, r.Effort, r.Seed)
	s.gap()
	if r.Copies == r.LowerBound.Copies {
		s.add("copies", "%d, the fewest possible", r.Copies)
	} else {
		s.add("copies", "%d", r.Copies)
	}
	if f.rematerialize && r.Copies > 0 {
		s.add("of these", "%d of inputs, which cannot be computed, %d of gates", r.CopiesOfInputs, r.CopiesOfGates)
	}
	switch {
	case r.Copies == 0 || f.rematerialize: // the bound of the energy says more
	case r.LowerBound.Copies == 0:
		s.add("bound", "none found: %s", r.LowerBound.Reason)
	default:
		s.add("at least", "%d: %s", r.LowerBound.Copies, r.LowerBound.Reason)
	}
	if f.topology != "" {
		s.add("distance", "%g, the copies weighted by %s", r.WeightedCopies, f.topology)
	}
	if f.rematerialize {
		s.add("computes", "%d, %d of them again", r.Computes, r.Recomputed)
	} else {
		s.add("computes", "%d", r.Computes)
	}
	if r.Objective == masim.MinRows.String() {
		s.add("rows used", "%d: %s and %s", r.MaxRows, count(r.Netlist.Inputs, "input"), count(r.MaxRows-r.Netlist.Inputs, "live value"))
	}
	least := ""
	if f.rematerialize && r.LowerBound.met(r.Energy) {
		least = ", the least possible"
	}
	s.add("energy", "%.1f (compute %.1f, copy %g)%s", r.Energy, sram.DefaultEnergy.Compute, r.CopyEnergy, least)
	if f.rematerialize {
		s.add("at least", "%.1f: %s", r.LowerBound.Energy, r.LowerBound.EnergyReason)
	}
	s.gap()
	s.add("verified", "rules replayed; %s", agreement(v, r.Cols))
	if p := r.Verified.Proof; p != nil {
		s.add("proof", "%s", p.text())
	}
	s.add("time", "%s (%s CPU)", seconds(r.WallSeconds), seconds(r.CPUSeconds))
	switch {
	case r.Stopped != "":
		s.add("note", "the search was stopped by %s; a rerun may differ", r.Stopped)
	case !r.Deterministic:
		s.add("note", "the search ended within the budget of %v; where it does not, the result may differ", f.budget)
	}
	if f.output != "" && written {
		s.add("written", "%s", f.output)
	}
	return s.String()
}

// agreement says on what the bits of a program agree with the circuit.
func agreement(v *masim.VerifyReport, cols int) string {
	blocks := (v.Patterns + cols - 1) / cols
	switch {
	case v.Exhaustive:
		if v.Patterns == 1 { // no inputs
			return "the only possible input pattern agrees with the circuit"
		}
		return fmt.Sprintf("all %s agree with the circuit", count(v.Patterns, "possible input pattern"))
	case v.Patterns%cols == 0:
		return fmt.Sprintf("all %d bitlines x %s agree with the circuit (%s)", cols, count(blocks, "block"), count(v.Patterns, "pattern"))
	default:
		return fmt.Sprintf("all %s agree with the circuit (%s of %d bitlines)", count(v.Patterns, "pattern"), count(blocks, "block"), cols)
	}
}
