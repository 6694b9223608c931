package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

type verifyFlags struct {
	patterns   int
	prove      bool
	budget     time.Duration
	exhaustive bool
	seed       uint64
	threads    int
	stuck      []string
	tech       string
	width      int
	rows       int
	cost       costFlags
	json       bool
}

const verifyLong = `Verify executes a program on the model of the arrays, compares every bitline
with the circuit, and names the first output bit that differs, with its pattern
and its bitline. The exit code is then 1.

It also replays the program against the gates of the circuit, and says whether
every rule of a schedule is kept; for a circuit of MAJ and XOR gates that proves
the program right for all inputs. A circuit of other logic has many forms in MAJ
and XOR gates: the replay then is against the gates that the program itself
computes, and that these are the circuit is proved as by --prove; --prove=false
leaves that out. A program that keeps the rules of no schedule of the circuit
passes only with such a proof, or if all input patterns were run, since some of
them are no proof. A --budget bounds the proof, and nothing else.

--stuck runs the program again with a cell that is stuck at a value, and tests
the rows that it uses by writing zeros and ones to them and reading these back.
The second finds a stuck cell in a used row always; the first says whether it
shows in the outputs, or is masked. The exit code is 1 if either detects it.

OP is an operation, as int32.add or fp32.mul (bitsched ops lists them). Its
program is compared with the processor, on special operands and then on random
ones, and its array is number 0.`

const verifyExample = `  bitsched verify mult.aig mult.bsp
  bitsched verify mult.aig mult.bsp --patterns 1000000
  bitsched verify adder.v adder.bsp --exhaustive --json
  bitsched verify mult.aig mult.bsp --prove
  bitsched verify adder.v adder.bsp --stuck 0,64,17,1
  bitsched verify fp32.mul --tech xmg --stuck 0,17,3,1
  bitsched schedule adder.v --rows 32 -o - | bitsched verify adder.v -`

func (a *app) verifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:     "verify (FILE PROG | OP)",
		Short:   "Execute a program and compare every bit with the circuit",
		Long:    verifyLong,
		Example: verifyExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if isOperation(args[0], f.width) {
					return nil
				}
				if err := noOperation(args[0], f.width); err != nil {
					return usageError(cmd, "%w", err)
				}
			}
			return exactArgs("FILE", "PROG")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return a.verifyOperation(cmd, args[0], f)
			}
			for _, flag := range []string{"tech", "width", "rows"} {
				if cmd.Flags().Changed(flag) {
					return usageError(cmd, "--%s with a program, expected an operation", flag)
				}
			}
			return a.verify(cmd, args[0], args[1], f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&f.patterns, "patterns", masim.DefaultPatterns, "input `patterns` to run: directed ones, then random ones")
	fl.BoolVar(&f.prove, "prove", false, proveUsage)
	fl.DurationVar(&f.budget, "budget", 0, "give up the proof after this `time` from the start, for example 60s (0 = when all is tried)")
	fl.BoolVar(&f.exhaustive, "exhaustive", false, fmt.Sprintf("run all patterns (at most %d inputs)", masim.MaxExhaustive))
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the random patterns")
	fl.IntVar(&f.threads, "threads", 0, "`number` of threads (0 = all cores); does not change the result")
	fl.StringArrayVar(&f.stuck, "stuck", nil, "see whether a stuck cell, `array,row,bitline,value`, is detected (repeatable)")
	fl.StringVar(&f.tech, "tech", sram.NeuralCache.Name, "array `technology` of an operation: "+strings.Join(techNames(), ", "))
	fl.IntVar(&f.width, "width", 32, "width in `bits` of an operation whose type does not say it")
	fl.IntVar(&f.rows, "rows", 0, "`rows` of the array of an operation (default 256)")
	f.cost.add(cmd, fl)
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	complete(cmd, "tech", techNames()...)
	exclusive(cmd, "patterns", "exhaustive")
	return cmd
}

type verifyResult struct {
	Netlist  netlistReport `json:"netlist"`
	Program  programReport `json:"program"`
	Verified verifyReport  `json:"verified"`

	Rule       string `json:"rule"`       // the first rule that the replay found broken; "" = none
	Recomputed int    `json:"recomputed"` // gates computed again, as --rematerialize allows

	Names   string `json:"names"`   // how names differ; ports are matched by position
	Refused string `json:"refused"` // why the program could not be run on this circuit; "" = it ran

	WrongPatterns int             `json:"wrong_patterns"`
	WrongOutputs  int             `json:"wrong_outputs"`
	First         *mismatchReport `json:"first_mismatch"`

	Stuck []stuckReport `json:"stuck,omitempty"`
	Cost  *costReport   `json:"cost,omitempty"`

	CPUSeconds  float64 `json:"cpu_seconds"`
	WallSeconds float64 `json:"wall_seconds"`
}

type programReport struct {
	File         string `json:"file"`
	Arrays       int    `json:"arrays"`
	ArraysUsed   int    `json:"arrays_used"`
	Rows         int    `json:"rows"`
	Cols         int    `json:"cols"`
	Computes     int    `json:"computes"`
	Copies       int    `json:"copies"`
	Instructions int    `json:"instructions"`
}

func newProgramReport(file string, p *sram.Program) programReport {
	return programReport{
		File: file, Arrays: p.Geometry.Arrays, ArraysUsed: p.ArraysUsed(), Rows: p.Geometry.Rows, Cols: p.Geometry.Cols,
		Computes: p.Computes(), Copies: p.Copies(), Instructions: len(p.Instrs),
	}
}

type mismatchReport struct {
	Output  int    `json:"output"`
	Name    string `json:"name"`
	Pattern int    `json:"pattern"`
	Block   int    `json:"block"`
	Bitline int    `json:"bitline"`
	Inputs  string `json:"inputs"`
	Got     bool   `json:"got"`
	Want    bool   `json:"want"`
}

func (a *app) verify(cmd *cobra.Command, file, progFile string, f verifyFlags) error {
	workers, err := threads(cmd, f.threads)
	switch {
	case err != nil:
		return err
	case f.patterns < 1:
		return usageError(cmd, "--patterns %d, expected at least 1", f.patterns)
	case f.budget < 0:
		return usageError(cmd, "--budget %v, expected a time that is not negative", f.budget)
	case file == "-" && progFile == "-":
		return usageError(cmd, "FILE and PROG are both -, expected at most one to be read from stdin")
	}
	table, err := f.cost.load()
	if err != nil {
		return err
	}
	cells, err := parseStuck(cmd, f.stuck)
	if err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	n, err := a.readCircuit(context.Background(), file, line)
	if err != nil {
		return err
	}
	if f.exhaustive && n.NumInputs() > masim.MaxExhaustive {
		return usageError(cmd, "--exhaustive with %d inputs, expected at most %d", n.NumInputs(), masim.MaxExhaustive)
	}
	line.phase("reading " + fileName(progFile))
	prog, lines, err := a.readProgram(progFile)
	if err != nil {
		return err
	}
	if err := (&sram.Faults{Stuck: cells}).Validate(prog.Geometry); err != nil {
		return usageError(cmd, "%w", err)
	}

	if err := sameInterface(n, file, prog, progFile); err != nil {
		return err
	}

	g, own, err := gatesOf(n, prog, line)
	if err != nil {
		return err
	}
	prove := f.prove || own && !cmd.Flags().Changed("prove")
	gates := "these gates"
	if own {
		gates = "the gates that the program computes"
	}

	r := &verifyResult{
		Netlist: newNetlistReport(file, n.Name, g),
		Program: newProgramReport(fileName(progFile), prog),
	}
	if _, err := masim.Check(g, prog, masim.CheckOptions{}); err != nil {
		r.Rule = instructionReason(err, progFile, lines)
		if again, err := masim.Check(g, prog, masim.CheckOptions{Rematerialize: true}); err == nil {
			r.Rule, r.Recomputed = "", again.Recomputed
		}
	}
	verdict, err := a.execute(n, prog, f, workers, line)
	if err != nil {
		r.Refused = instructionReason(err, progFile, lines)
		verdict = &masim.VerifyReport{}
	}
	if r.Refused == "" && verdict.Equal() {
		if r.Stuck, err = a.verifyStuck(n, prog, cells, f, workers, line); err != nil {
			return err
		}
	}
	var proof *proofReport
	if prove && (f.prove || !verdict.Exhaustive) && r.Refused == "" && verdict.Equal() {
		if proof, err = a.prove(n, prog, f.budget, line); err != nil {
			return err
		}
	}
	line.clear()
	r.Verified = newVerifyReport(r.Rule == "", verdict, proof)
	r.Verified.Proved = r.Verified.Proved && r.Refused == ""
	r.Names = verdict.Names
	r.WrongPatterns, r.WrongOutputs = verdict.WrongPatterns, verdict.WrongOutputs
	if m := verdict.First; m != nil {
		r.First = &mismatchReport{m.Output, m.Name, m.Pattern, m.Block, m.Bitline, m.Inputs, m.Got, m.Want}
	}
	r.Cost = f.cost.report(table, prog)
	r.CPUSeconds, r.WallSeconds = cpuTime().Seconds(), time.Since(a.start).Seconds()

	if f.json {
		err = a.printJSON(r)
	} else {
		err = a.printText(r.text(verdict, gates) + stuckText(r.Stuck) + r.Cost.text())
	}
	file, progFile = fileName(file), fileName(progFile)
	switch {
	case r.Refused != "":
		return fmt.Errorf("%w: %s cannot run as %s: %s", errCheck, progFile, file, r.Refused)
	case !verdict.Equal():
		return fmt.Errorf("%w: %s does not compute %s: %v", errCheck, progFile, file, verdict.First)
	case proof.check(progFile, file) != nil:
		return proof.check(progFile, file)
	case r.Rule != "" && !verdict.Exhaustive && !proof.proved():
		return fmt.Errorf("%w: %s is no schedule of %s, and %s that agree are no proof: %s", errCheck, progFile, file, count(verdict.Patterns, "pattern"), r.Rule)
	}
	if err == nil {
		err = stuckError(progFile, r.Stuck)
	}
	return err
}

// sameInterface reports that a program has other inputs and outputs than the
// circuit, so that they cannot be compared.
func sameInterface(n *netlist.Network, file string, prog *sram.Program, progFile string) error {
	if len(prog.Inputs) != n.NumInputs() || len(prog.Outputs) != n.NumOutputs() {
		return fmt.Errorf("bitsched: %s has %s and %s, expected %s and %s as %s has them", fileName(progFile),
			count(len(prog.Inputs), "input"), count(len(prog.Outputs), "output"), count(n.NumInputs(), "input"), count(n.NumOutputs(), "output"), fileName(file))
	}
	return nil
}

// gatesOf returns the gates that a program is replayed against: those of the
// circuit, or the program's own where the circuit is no XMG.
func gatesOf(n *netlist.Network, prog *sram.Program, line *progressLine) (g *xmg.Graph, own bool, err error) {
	if !xmg.IsXMG(n) && len(prog.Inputs) == n.NumInputs() && len(prog.Outputs) == n.NumOutputs() {
		if g, err := masim.Symbolic(prog); err == nil {
			return g, true, nil
		}
		// The machine refuses the program; the replay says why.
	}
	line.phase("making gates")
	g, err = xmg.FromNetwork(context.Background(), n, xmg.Options{NoMap: true, Progress: line.mapping})
	return g, false, err
}

func (a *app) execute(n *netlist.Network, prog *sram.Program, f verifyFlags, workers int, line *progressLine) (*masim.VerifyReport, error) {
	return masim.Verify(context.Background(), n, prog, masim.VerifyOptions{
		Patterns: f.patterns, Exhaustive: f.exhaustive, Seed: f.seed, Threads: workers, Progress: line.patterns,
	})
}

// readProgram reads a program from a file or, for "-", from stdin.
// It also returns the line of each instruction.
func (a *app) readProgram(path string) (*sram.Program, []int32, error) {
	if path == "-" {
		return sram.ParseLines(a.stdin, stdinName)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("bitsched: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, nil, fmt.Errorf("bitsched: %s: is a directory, expected a program", path)
	}
	prog, lines, err := sram.ParseLines(f, path)
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return nil, nil, fmt.Errorf("bitsched: %w", pe)
	}
	return prog, lines, err
}

func (r *verifyResult) text(v *masim.VerifyReport, gates string) string {
	p := &r.Program
	var s summary
	s.add("netlist", "%s: %s, %s", r.Netlist.Name, count(r.Netlist.Inputs, "input"), count(r.Netlist.Outputs, "output"))
	s.add("gates", "%s", r.Netlist.gates())
	s.add("program", "%s: %s, %s", p.File, count(p.Computes, "compute"), copies(p.Copies))
	s.add("arrays", "%d of %d used, %d rows x %d bitlines", p.ArraysUsed, p.Arrays, p.Rows, p.Cols)
	s.gap()
	switch {
	case r.Recomputed > 0:
		s.add("rules", "all kept: a schedule of %s, %s computed again", gates, count(r.Recomputed, "gate"))
	case r.Rule == "":
		s.add("rules", "all kept: a schedule of %s", gates)
	default:
		s.add("rules", "not a schedule of %s: %s", gates, r.Rule)
	}
	switch {
	case r.Refused != "":
		s.add("bits", "NOT RUN: %s", r.Refused)
	case !v.Equal():
		s.add("bits", "WRONG: %s in %s of %s",
			count(v.Mismatches, "output bit"), count(v.WrongPatterns, "pattern"), fmt.Sprint(v.Patterns))
		s.add("first", "%v", v.First)
	default:
		s.add("bits", "%s", agreement(v, p.Cols))
	}
	if p := r.Verified.Proof; p != nil {
		s.add("proof", "%s", p.text())
	}
	if r.Names != "" {
		s.add("names", "%s", r.Names)
	}
	s.add("time", "%s (%s CPU)", seconds(r.WallSeconds), seconds(r.CPUSeconds))
	return s.String()
}

func copies(n int) string {
	if n == 1 {
		return "1 copy"
	}
	return fmt.Sprintf("%d copies", n)
}
