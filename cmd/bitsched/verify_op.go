package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/sram"
)

type verifyOperationResult struct {
	Operation   *operationReport `json:"operation"`
	Seed        uint64           `json:"seed"`
	Patterns    int              `json:"patterns"`
	Exhaustive  bool             `json:"exhaustive"`
	Stuck       []stuckReport    `json:"stuck,omitempty"`
	Cost        *costReport      `json:"cost,omitempty"`
	CPUSeconds  float64          `json:"cpu_seconds"`
	WallSeconds float64          `json:"wall_seconds"`
}

// verifyOperation is verify for an operation, whose reference is the processor.
func (a *app) verifyOperation(cmd *cobra.Command, name string, f verifyFlags) error {
	for _, flag := range []string{"prove", "threads"} {
		if cmd.Flags().Changed(flag) {
			return usageError(cmd, "--%s with an operation, expected a circuit and a program", flag)
		}
	}
	if f.patterns < 1 {
		return usageError(cmd, "--patterns %d, expected at least 1", f.patterns)
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
	line.phase("building " + name)
	p, err := a.programs.Build(context.Background(), arith.Spec{Op: name, Width: f.width, Tech: f.tech, Rows: cmp.Or(f.rows, arith.DefaultRows)})
	if err != nil {
		return evalError(err)
	}
	if err := (&sram.Faults{Stuck: cells}).Validate(sram.Geometry{Arrays: 1, Rows: p.Spec.Rows, Cols: sram.DefaultCols}); err != nil {
		return usageError(cmd, "%w", err)
	}
	n, bits := f.patterns, 0
	for _, in := range p.Kernel.Inputs {
		bits += in.Width
	}
	if f.exhaustive {
		if bits > masim.MaxExhaustive {
			return usageError(cmd, "--exhaustive with %d inputs, expected at most %d", bits, masim.MaxExhaustive)
		}
		n = 1 << bits
	}
	line.phase("comparing")
	a.unchecked(p)
	if err := p.Verify(context.Background(), n, f.seed); err != nil {
		return evalError(err)
	}
	r := &verifyOperationResult{Operation: newOperationReport(p, sram.DefaultCols, ""), Seed: f.seed, Patterns: p.Patterns(n)}
	r.Exhaustive = bits < 63 && r.Patterns == 1<<bits
	for _, c := range cells {
		e, err := p.Stuck(context.Background(), c, sram.DefaultCols, n, f.seed)
		if err != nil {
			return err
		}
		s := stuckReport{Row: c.Row, Bitline: c.Bitline, Used: e.Role != "", SelfTest: e.SelfTest, Patterns: e.Words, WrongPatterns: e.Wrong}
		if c.Value {
			s.Value = 1
		}
		switch {
		case e.Wrong > 0:
			s.Effect = "wrong"
		case e.Exhaustive:
			s.Effect = "masked"
		default:
			s.Effect = "none seen"
		}
		r.Stuck = append(r.Stuck, s)
	}
	line.clear()
	r.Cost = f.cost.reportKernel(table, p.Kernel)
	r.CPUSeconds, r.WallSeconds = cpuTime().Seconds(), time.Since(a.start).Seconds()
	if f.json {
		err = a.printJSON(r)
	} else {
		err = a.printText(r.text() + stuckText(r.Stuck) + r.Cost.text())
	}
	if err == nil {
		err = stuckError(r.Operation.Op, r.Stuck)
	}
	return err
}

func (r *verifyOperationResult) text() string {
	var s summary
	r.Operation.summarize(&s)
	all := ""
	if r.Exhaustive {
		all = ", all that there are"
	}
	s.add("bits", "like the processor in %s%s", count(r.Patterns, "pattern"), all)
	s.add("time", "%s (%s CPU)", seconds(r.WallSeconds), seconds(r.CPUSeconds))
	return fmt.Sprint(&s)
}
