package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

type synthFlags struct {
	output     string
	to         string
	effort     string
	script     string
	objective  string
	rows       int
	copyEnergy float64
	budget     time.Duration
	seed       uint64
	list       bool
	json       bool
}

const synthLong = `Synth makes a circuit of few MAJ and XOR gates. Each of these is a cycle and a
unit of energy in an array, so that fewer gates are a faster and leaner program.

The result is proved equal to the circuit, with the procedure of cec, before it
is written; what could not be proved is not written.

An effort is a script of passes; --script runs another one, as names of passes
and groups in parentheses: (...)* repeats a group while it gains, (...)*3 three
times at most; A & B runs B only where A gained. --passes lists the passes and the
scripts of the efforts.

With --objective energy the result is the one that is estimated to take the
least energy on arrays of --rows, computes and copies together, since a smaller
circuit can have more values to keep.

The result depends on the circuit and the flags only; a --budget that cuts the
search short makes it depend on the machine too: two thirds of it are for the
search, the rest for the proof. Ctrl-C stops either; a second Ctrl-C aborts. What is
given then is the smallest circuit on the way that is proved by a second later.`

const synthExample = `  bitsched synth mult.aig -o mult.v
  bitsched synth mult.aig -o mult.blif --effort high --budget 5m
  bitsched synth mult.aig --effort fast --json
  bitsched synth mult.aig -o mult.v --objective energy --rows 256
  bitsched synth mult.aig -o mult.v --script "map (ties cover)*"`

func (a *app) synthCommand() *cobra.Command {
	var f synthFlags
	cmd := &cobra.Command{
		Use:     "synth FILE [-o OUT]",
		Short:   "Make a small circuit of MAJ and XOR gates, proved equal",
		Long:    synthLong,
		Example: synthExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return exactArgs()(cmd, args)
			}
			return exactArgs("FILE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return a.printText(passTable())
			}
			return a.synth(cmd, args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.output, "output", "o", "", "write the circuit to this `file` (- for stdout)")
	fl.StringVar(&f.to, "to", "", "`format`: aig, aag, blif, verilog or bench (default: by the ending; aag for stdout)")
	fl.StringVar(&f.effort, "effort", xmg.Normal.String(), "how hard to search, a `level`: fast, normal or high")
	fl.StringVar(&f.script, "script", "", "`passes` to run instead of those of the effort")
	fl.StringVar(&f.objective, "objective", "gates", "what to have little of, a `goal`: gates, or energy on arrays of --rows")
	fl.IntVar(&f.rows, "rows", 256, "`rows` of an array, for --objective energy")
	fl.Float64Var(&f.copyEnergy, "copy-energy", sram.DefaultEnergy.Copy, "`energy` of a copy, in units of a compute, for --objective energy")
	fl.DurationVar(&f.budget, "budget", 0, "stop the search after this `time`, for example 60s (0 = when it is done)")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the random choices")
	fl.BoolVar(&f.list, "passes", false, "list the passes and the scripts of the efforts")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	complete(cmd, "to", formatNames...)
	complete(cmd, "effort", "fast", "normal", "high")
	complete(cmd, "objective", "gates", "energy")
	return cmd
}

type synthResult struct {
	Netlist       netlistReport `json:"netlist"` // the result
	NodesRead     int           `json:"nodes_read"`
	Levels        int           `json:"levels"`
	Effort        string        `json:"effort"`
	Script        string        `json:"script"`
	Objective     string        `json:"objective"`
	Seed          uint64        `json:"seed"`
	Passes        []passReport  `json:"passes"`
	Stopped       string        `json:"stopped"`       // "", "budget" or "interrupt"
	Deterministic bool          `json:"deterministic"` // a rerun gives the same circuit
	Proved        bool          `json:"proved"`        // equal to the circuit read
	CPUSeconds    float64       `json:"cpu_seconds"`
	WallSeconds   float64       `json:"wall_seconds"`
}

type passReport struct {
	Pass   string `json:"pass"`
	Before int    `json:"gates_before"`
	After  int    `json:"gates_after"`
}

// check looks at the values of the flags before anything is read.
func (f *synthFlags) check(cmd *cobra.Command) (opt xmg.SynthOptions, to netlist.Format, err error) {
	switch {
	case f.budget < 0:
		return opt, to, usageError(cmd, "--budget %v, expected a time that is not negative", f.budget)
	case f.objective != "gates" && f.objective != "energy":
		return opt, to, usageError(cmd, "--objective %q, expected gates or energy", f.objective)
	case f.rows < 4 || f.rows > sram.MaxRows:
		return opt, to, usageError(cmd, "--rows %d, expected 4 to %d", f.rows, sram.MaxRows)
	case !(f.copyEnergy >= 0):
		return opt, to, usageError(cmd, "--copy-energy %v, expected a number that is not negative", f.copyEnergy)
	case f.output == "" && f.to != "":
		return opt, to, usageError(cmd, "--to without -o FILE")
	case f.output == "-" && f.json:
		return opt, to, usageError(cmd, "--json and -o - both want stdout")
	case f.script != "" && cmd.Flags().Changed("effort"):
		return opt, to, usageError(cmd, "--script and --effort both say what to run, expected one of them")
	}
	opt.Seed, opt.Script = f.seed, f.script
	if opt.Effort, err = xmg.ParseEffort(f.effort); err != nil {
		return opt, to, err
	}
	if f.script != "" {
		opt.Effort = xmg.High
		if _, err = xmg.ParseScript(f.script); err != nil {
			return opt, to, err
		}
	}
	if f.objective == "energy" {
		opt.Cost = func(g *xmg.Graph) float64 {
			return sram.DefaultEnergy.Compute*float64(g.NumGates()) + f.copyEnergy*float64(g.Copies(f.rows))
		}
	}
	if f.output != "" {
		to, err = outputFormat(f.output, f.to)
	}
	return opt, to, err
}

func (a *app) synth(cmd *cobra.Command, file string, f synthFlags) error {
	opt, to, err := f.check(cmd)
	if err != nil {
		return err
	}
	if err := a.checkWritable(f.output, file); err != nil {
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
	given, err := xmg.FromNetwork(s.ctx, n, xmg.Options{NoMap: true, Progress: a.graphProgress(line)})
	if err != nil {
		return s.reasonOf(err)
	}
	a.onInterrupt(s, line, "finishing with the smallest circuit so far that is proved")
	opt.Progress = a.graphProgress(line)
	search := s.ctx
	if f.budget > 0 { // the rest is for the proof
		var cancel context.CancelFunc
		search, cancel = context.WithDeadline(s.ctx, a.start.Add(f.budget*2/3))
		defer cancel()
	}
	g, report, err := xmg.Synthesize(search, given, opt)
	if err != nil {
		return err
	}
	stopped := ""
	if report.Stopped {
		if stopped = s.stopped(); stopped == "" {
			stopped = errBudget.Error()
		}
	}
	row := append([]*xmg.Graph{given}, report.Trail...)
	proved, err := a.proveResult(s, row, file, line)
	switch {
	case err != nil:
		return err
	case proved < len(row)-1:
		g, stopped = row[proved].Sweep(), s.stopped()
	}
	if f.output != "" {
		line.phase("writing")
		if err := a.writeCircuit(f.output, g.ToNetwork(), to); err != nil {
			return err
		}
	}
	line.clear()

	script := xmg.EffortScript(opt.Effort).String()
	if f.script != "" {
		script = f.script
	}
	r := &synthResult{
		Netlist: newNetlistReport(file, n.Name, g), NodesRead: n.NumGates(), Levels: g.Depth(),
		Effort: opt.Effort.String(), Script: script, Objective: f.objective, Seed: f.seed,
		Stopped: stopped, Deterministic: f.budget == 0 && stopped == "", Proved: true,
		CPUSeconds: cpuTime().Seconds(), WallSeconds: time.Since(a.start).Seconds(),
	}
	for _, p := range report.Passes {
		r.Passes = append(r.Passes, passReport(p))
	}
	switch {
	case f.json:
		return a.printJSON(r)
	case f.output == "-":
		return nil // stdout holds the circuit
	}
	return a.printText(r.text(f))
}

func (r *synthResult) text(f synthFlags) string {
	var s summary
	s.add("netlist", "%s: %s, %s", r.Netlist.Name, count(r.Netlist.Inputs, "input"), count(r.Netlist.Outputs, "output"))
	s.add("read", "%s", count(r.NodesRead, "gate"))
	s.add("gates", "%s, %s", r.Netlist.gates(), count(r.Levels, "level"))
	s.gap()
	for i, p := range r.Passes {
		name := ""
		if i == 0 {
			name = "passes"
		}
		s.add(name, "%-10s %7d -> %d", p.Pass, p.Before, p.After)
	}
	s.gap()
	s.add("proved", "equal to the circuit read, for all inputs")
	s.add("time", "%s (%s CPU)", seconds(r.WallSeconds), seconds(r.CPUSeconds))
	switch {
	case r.Stopped != "":
		s.add("note", "the search was stopped by %s; a rerun may differ", r.Stopped)
	case !r.Deterministic:
		s.add("note", "the search ended within the budget of %v; where it does not, the result may differ", f.budget)
	}
	if f.output != "" {
		s.add("written", "%s", f.output)
	}
	return s.String()
}

// passTable lists the passes and the scripts of the efforts.
func passTable() string {
	var b strings.Builder
	b.WriteString("Passes:\n")
	for _, p := range xmg.Passes() {
		fmt.Fprintf(&b, "  %-10s %s\n", p.Name, p.Doc)
	}
	b.WriteString("\nScripts:\n")
	for e := xmg.Fast; e <= xmg.High; e++ {
		fmt.Fprintf(&b, "  %-10v %v\n", e, xmg.EffortScript(e))
	}
	return b.String()
}

// proveResult checks that the last graph of a row is equal to the first, the circuit
// that it was made from, by way of those between. Where the search is stopped it returns
// the last one that is proved by a second later.
func (a *app) proveResult(s *search, row []*xmg.Graph, file string, line *progressLine) (proved int, err error) {
	ctx, cancel := xmg.Grace(s.ctx)
	defer cancel()
	given := row[0]
	a.unchecked(row)
	e, err := xmg.EquivalentAlong(ctx, row, xmg.EquivalenceOptions{Progress: a.graphProgress(line)})
	switch {
	case err != nil && ctx.Err() != nil:
		return e.Proved, nil
	case err != nil:
		return 0, err
	case e.Verdict == xmg.Different:
		return 0, fmt.Errorf("%w: the result differs from %s: %s", errCheck, file, newWitnessReport(given, e.Witness))
	case e.Verdict == xmg.Undecided:
		return 0, fmt.Errorf("%w: the result and %s: %s", errCheck, file, undecided(len(e.Undecided), given.NumOutputs(), ""))
	}
	return len(row) - 1, nil
}
