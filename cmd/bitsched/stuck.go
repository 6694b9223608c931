package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
)

// stuckReport is what verify found of one --stuck.
type stuckReport struct {
	Array   int  `json:"array"`
	Row     int  `json:"row"`
	Bitline int  `json:"bitline"`
	Value   int  `json:"value"`
	Used    bool `json:"used"` // the program uses the row

	SelfTest bool `json:"self_test"` // the row self-test found the cell, and nothing else

	// Effect on the outputs: "wrong", "masked" (right for all patterns that there
	// are) or "none seen" (right for those that were run).
	Effect        string          `json:"effect"`
	Patterns      int             `json:"patterns"`
	WrongPatterns int             `json:"wrong_patterns"`
	First         *mismatchReport `json:"first_mismatch"`
}

func (s *stuckReport) detected() bool { return s.SelfTest || s.Effect == "wrong" }

func (s *stuckReport) String() string {
	cell := fmt.Sprintf("array %d row %d bitline %d at %d: ", s.Array, s.Row, s.Bitline, s.Value)
	if !s.Used {
		return cell + "no effect, the program does not use the row"
	}
	verdict := "NOT DETECTED by the row self-test; "
	if s.SelfTest {
		verdict = "DETECTED by the row self-test; "
	}
	switch s.Effect {
	case "wrong":
		return cell + verdict + fmt.Sprintf("outputs WRONG in %d of %s", s.WrongPatterns, count(s.Patterns, "pattern"))
	case "masked":
		return cell + verdict + fmt.Sprintf("masked: outputs right in all %s", count(s.Patterns, "possible pattern"))
	}
	return cell + verdict + fmt.Sprintf("outputs right in %s, which is no proof of masking", count(s.Patterns, "pattern"))
}

// parseStuck reads the values of --stuck.
func parseStuck(cmd *cobra.Command, specs []string) ([]sram.StuckAt, error) {
	var cells []sram.StuckAt
	for _, spec := range specs {
		parts := strings.Split(spec, ",")
		var v [4]int
		ok := len(parts) == len(v)
		for i := range v {
			if ok {
				n, err := strconv.Atoi(strings.TrimSpace(parts[i]))
				v[i], ok = n, err == nil && n >= 0
			}
		}
		if !ok || v[3] > 1 {
			return nil, usageError(cmd, "--stuck %q, expected array,row,bitline,value with numbers from 0 on and value 0 or 1", spec)
		}
		cells = append(cells, sram.StuckAt{Place: sram.Place{Array: v[0], Row: v[1]}, Bitline: v[2], Value: v[3] == 1})
	}
	return cells, nil
}

// stuckExhaustive is the largest number of inputs for which the effect of a stuck
// cell is sought in all patterns: a million.
const stuckExhaustive = 20

// verifyStuck runs the program and the row self-test with each fault on its own.
func (a *app) verifyStuck(n *netlist.Network, prog *sram.Program, cells []sram.StuckAt, f verifyFlags, workers int, line *progressLine) ([]stuckReport, error) {
	var reports []stuckReport
	for _, c := range cells {
		r := stuckReport{Array: c.Array, Row: c.Row, Bitline: c.Bitline}
		if c.Value {
			r.Value = 1
		}
		fault := sram.Faults{Stuck: []sram.StuckAt{c}}
		found, err := sram.SelfTest(context.Background(), prog, fault, f.seed)
		if err != nil {
			return nil, err
		}
		r.SelfTest = slices.Equal(found, fault.Stuck)
		r.Used = slices.Contains(sram.UsedRows(prog), c.Place)
		v, err := masim.Verify(context.Background(), n, prog, masim.VerifyOptions{
			Patterns: f.patterns, Exhaustive: f.exhaustive || n.NumInputs() <= stuckExhaustive, Seed: f.seed, Threads: workers,
			Stuck: fault.Stuck, Progress: line.patterns,
		})
		if err != nil {
			return nil, err
		}
		r.Patterns, r.WrongPatterns = v.Patterns, v.WrongPatterns
		switch {
		case !v.Equal():
			r.Effect = "wrong"
			m := v.First // on the bitline of the fault, one block a pattern
			r.First = &mismatchReport{m.Output, m.Name, m.Pattern, m.Pattern, c.Bitline, m.Inputs, m.Got, m.Want}
		case v.Exhaustive:
			r.Effect = "masked"
		default:
			r.Effect = "none seen"
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// stuckText is a line for each fault, after a blank line; "" for none.
func stuckText(reports []stuckReport) string {
	if len(reports) == 0 {
		return ""
	}
	var s summary
	for i := range reports {
		s.add("stuck", "%v", &reports[i])
	}
	return "\n" + s.String()
}

// stuckError is the failed check of faults that were detected, nil if none was.
func stuckError(progFile string, reports []stuckReport) error {
	detected := 0
	var first *stuckReport
	for i := range reports {
		if reports[i].detected() {
			detected++
			if first == nil {
				first = &reports[i]
			}
		}
	}
	if detected == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s detected in %s: %v", errCheck, count(detected, "stuck-at fault"), progFile, first)
}
