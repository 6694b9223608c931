package main

import (
	"context"
	"fmt"
	"time"

	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

const proveUsage = "prove by symbolic execution that the program computes the circuit for all inputs"

// proofReport is the answer of --prove.
type proofReport struct {
	Verdict   string         `json:"verdict"`   // equal, different or undecided
	Witness   *witnessReport `json:"witness"`   // a is the circuit, b the program; null unless different
	Undecided []int          `json:"undecided"` // outputs neither proved equal nor known to differ
	Stopped   string         `json:"stopped"`   // "", "budget" or "interrupt"

	outputs int
}

// prove compares what a program computes with the circuit as it was read, for
// all inputs. Ctrl-C stops the proof, and so does the budget, which counts from the start
// of the program; 0 is none.
func (a *app) prove(n *netlist.Network, prog *sram.Program, budget time.Duration, line *progressLine) (*proofReport, error) {
	g, err := xmg.FromNetwork(context.Background(), n, xmg.Options{NoMap: true, Progress: a.graphProgress(line)})
	if err != nil {
		return nil, err
	}
	s := a.startStoppable(budget, line, "stopping the proof")
	defer s.end()
	e, err := masim.Prove(s.ctx, g, prog, xmg.EquivalenceOptions{Progress: a.graphProgress(line)})
	stopped := s.stopped()
	if err != nil && stopped == "" {
		return nil, err
	}
	return newProofReport(g, &e, stopped), nil
}

// newProofReport reports a proof about the circuit g; nil for none.
func newProofReport(g *xmg.Graph, e *xmg.Equivalence, stopped string) *proofReport {
	if e == nil {
		return nil
	}
	p := &proofReport{Verdict: e.Verdict.String(), Witness: newWitnessReport(g, e.Witness), Undecided: []int{}, outputs: g.NumOutputs()}
	if e.Verdict == xmg.Undecided {
		p.Undecided = append(p.Undecided, e.Undecided...)
		p.Stopped = stopped
	}
	return p
}

// proved tells whether there was a proof, and it is one of equality.
func (p *proofReport) proved() bool { return p != nil && p.Verdict == xmg.Equal.String() }

// text is the answer in words.
func (p *proofReport) text() string {
	switch {
	case p.proved():
		return "proved equal to the circuit for all inputs"
	case p.Witness != nil:
		return fmt.Sprintf("DIFFERENT: circuit and program: %v", p.Witness)
	}
	return "UNDECIDED: " + undecided(len(p.Undecided), p.outputs, p.Stopped)
}

// check is the error of a proof that was asked for and is not one of equality.
func (p *proofReport) check(prog, circuit string) error {
	if p == nil || p.proved() {
		return nil
	}
	if p.Stopped == errInterrupt.Error() {
		return fmt.Errorf("%w: %s is not proved to compute %s: stopped by %w", errCheck, prog, circuit, errInterrupt)
	}
	return fmt.Errorf("%w: %s is not proved to compute %s: %s", errCheck, prog, circuit, p.text())
}
