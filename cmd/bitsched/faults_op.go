package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/sram"
)

// operationFlags are the flags of faults that only an operation has.
var operationFlags = []string{"latch", "tech", "width", "few-rows", "operands", "self-test", "patterns"}

// isOperation reports whether an argument is an operation and not a file.
func isOperation(name string, width int) bool {
	_, _, err := arith.Resolve(name, width)
	return err == nil
}

// noOperation is why an argument that is no file is no operation either; nil if
// it is a file, or does not look like an operation.
func noOperation(name string, width int) error {
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(name, ".") || strings.ContainsAny(name, `/\`) {
		return nil
	}
	_, _, err := arith.Resolve(name, width)
	return err
}

type operationReport struct {
	Op       string `json:"op"`
	Tech     string `json:"tech"`
	Cycles   int    `json:"cycles"`
	Rows     int    `json:"rows"`
	Used     int    `json:"rows_used"` // those of constants included
	Cols     int    `json:"cols"`
	Operands string `json:"operands"` // how they are drawn
}

func newOperationReport(p *arith.Program, cols int, operands string) *operationReport {
	return &operationReport{
		Op: p.Spec.Op, Tech: p.Spec.Tech, Cycles: p.Latency(), Rows: p.Spec.Rows, Used: len(p.Kernel.UsedRows()), Cols: cols, Operands: operands,
	}
}

func (o *operationReport) summarize(s *summary) {
	s.add("operation", "%s on %s: %s", o.Op, o.Tech, count(o.Cycles, "cycle"))
	s.add("array", "%d of %d rows used, %d bitlines", o.Used, o.Rows, o.Cols)
	switch o.Operands {
	case arith.Normal.String():
		s.add("operands", "of the standard normal distribution")
	case arith.UniformBits.String():
		s.add("operands", "of uniform random bits")
	}
}

// faultsOperation is faults for an operation.
func (a *app) faultsOperation(cmd *cobra.Command, name string, f faultsFlags) error {
	for _, flag := range []string{"arrays", "effort"} {
		if cmd.Flags().Changed(flag) {
			return usageError(cmd, "--%s with an operation, which is a program of one array", flag)
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
	operands, err := arith.ParseOperands(f.operands)
	if err != nil {
		return usageError(cmd, "--operands %q, expected normal or bits", f.operands)
	}
	switch {
	case f.cols < 1 || f.cols > sram.MaxCols:
		return usageError(cmd, "--cols %d, expected 1 to %d", f.cols, sram.MaxCols)
	case f.patterns < 1:
		return usageError(cmd, "--patterns %d, expected at least 1", f.patterns)
	case f.selfTest && (len(f.sweep) > 0 || models[0] != faultModel{}):
		return usageError(cmd, "--self-test with other faults, expected one or the other")
	case !f.selfTest && cmd.Flags().Changed("patterns"):
		return usageError(cmd, "--patterns without --self-test")
	}
	if err := a.checkWritable(f.svg); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	line.phase("building " + name)
	rows := cmp.Or(f.rows, arith.DefaultRows)
	p, err := a.programs.Build(context.Background(), arith.Spec{Op: name, Width: f.width, Tech: f.tech, Rows: rows, FewRows: f.few})
	if err != nil {
		return evalError(err)
	}
	if p.Kernel.Sets() == 0 && (models[0].Latch > 0 || f.sweepOf == "latch") {
		return usageError(cmd, "%s on %s sets no latch", p.Spec.Op, p.Spec.Tech)
	}
	if f.selfTest {
		return a.selfTest(p, f, line)
	}
	if !slices.ContainsFunc(p.Args, func(i int) bool { return p.Op.ArgFormat(p.Type, i) != nil }) {
		operands = arith.UniformBits // none is a floating-point number
	}
	r := &faultsResult{Operation: newOperationReport(p, f.cols, operands.String()), Seed: f.seed}
	return a.campaigns(r, models, values, f, line, func(ctx context.Context, m faultModel, progress func(done, total int)) (*arith.FaultReport, error) {
		c := arith.FaultCampaign{
			Program: p, Faults: m.faults(), Operands: operands, Trials: f.trials, Cols: f.cols, Seed: f.seed, Threads: workers, Progress: progress,
		}
		return c.Run(ctx)
	})
}

// floatText says how wrong floating-point results are, "" for others or if none
// is wrong.
func (r *faultsResult) floatText() string {
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: cmp.Or(r.SweepOf, "campaign")}, {Name: "NaN"}, {Name: "infinite"}, {Name: "special lost"},
		{Name: "not zero"}, {Name: "finite"}, {Name: "median error"}, {Name: "90 %"}, {Name: "99 %"}, {Name: "largest"}}}
	for i := range r.Campaigns {
		c := &r.Campaigns[i]
		if e := c.Float; e != nil && c.Wrong.Count > 0 {
			t.Rows = append(t.Rows, []string{r.label(c), rateText(e.NaN.Rate), rateText(e.Inf.Rate), rateText(e.Lost.Rate), rateText(e.FromZero.Rate),
				rateText(e.Finite.Rate), rateText(e.Median), rateText(e.P90), rateText(e.P99), rateText(e.Max)})
		}
	}
	if len(t.Rows) == 0 {
		return ""
	}
	return "\nwrong words of all, by what they are, and relative errors of those that are finite\n" + renderTable(t) + "\n"
}

// bitsText is the error rate of each bit of the result, the highest first.
func (r *faultsResult) bitsText(c *campaignResult) string {
	o, typ, err := arith.Resolve(r.Operation.Op, 0)
	if err != nil {
		return "" // it was built
	}
	format := o.ResultFormat(typ)
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "bit"}, {Name: "of", Left: true}, {Name: "wrong"}, {Name: "95 % interval"}}}
	for i := len(c.Outputs) - 1; i >= 0; i-- {
		part := "integer"
		if format != nil {
			switch {
			case i == format.Width()-1:
				part = "sign"
			case i >= format.Man:
				part = "exponent"
			default:
				part = "fraction"
			}
		}
		x := c.Outputs[i].Rate
		t.Rows = append(t.Rows, []string{strconv.Itoa(i), part, rateText(x.Rate), interval(x)})
	}
	text := "\n" + renderTable(t) + "\n"
	if len(r.Campaigns) > 1 {
		text += "in the last campaign; --json has all\n"
	}
	return text
}

// selfTestResult is what --self-test found.
type selfTestResult struct {
	Operation   *operationReport    `json:"operation"`
	Seed        uint64              `json:"seed"`
	Patterns    int                 `json:"patterns"`
	Exhaustive  bool                `json:"exhaustive"` // they are all that there are
	Faults      int                 `json:"faults"`
	SelfTest    int                 `json:"found_by_self_test"`
	Result      int                 `json:"found_by_result"`
	Detected    int                 `json:"detected"`
	Hidden      []stuckEffectReport `json:"not_in_result"` // faults that no result shows
	CPUSeconds  float64             `json:"cpu_seconds"`
	WallSeconds float64             `json:"wall_seconds"`
}

type stuckEffectReport struct {
	Row      int    `json:"row"` // -1 for a latch
	Holds    string `json:"holds"`
	Value    int    `json:"value"`
	SelfTest bool   `json:"self_test"`
	Why      string `json:"why"`
}

// whyHidden says why no result shows a fault.
func whyHidden(e *arith.StuckEffect) string {
	switch {
	case strings.HasPrefix(e.Role, "constant") && e.Only:
		return "the row holds that constant"
	case e.Only && e.Exhaustive:
		return fmt.Sprintf("the row never holds another value, in all %s", count(e.Words, "possible pattern"))
	case e.Exhaustive:
		return fmt.Sprintf("masked: results right in all %s", count(e.Words, "possible pattern"))
	case e.Only:
		return fmt.Sprintf("the row held no other value in %s", count(e.Words, "pattern"))
	}
	return fmt.Sprintf("results right in %s, which is no proof of masking", count(e.Words, "pattern"))
}

// selfTest sticks each row and latch of an operation.
func (a *app) selfTest(p *arith.Program, f faultsFlags, line *progressLine) error {
	effects, err := p.StuckRows(context.Background(), f.patterns, f.seed, line.patterns)
	if err != nil {
		return err
	}
	line.clear()
	r := &selfTestResult{Operation: newOperationReport(p, sram.DefaultCols, ""), Seed: f.seed, Faults: len(effects), Hidden: []stuckEffectReport{}}
	for i := range effects {
		e := &effects[i]
		r.Patterns, r.Exhaustive = e.Words, e.Exhaustive
		if e.SelfTest {
			r.SelfTest++
		}
		if e.Detected() {
			r.Detected++
		}
		if e.Wrong > 0 {
			r.Result++
			continue
		}
		h := stuckEffectReport{Row: e.Row, Holds: e.Role, SelfTest: e.SelfTest, Why: whyHidden(e)}
		if e.Value {
			h.Value = 1
		}
		r.Hidden = append(r.Hidden, h)
	}
	r.CPUSeconds, r.WallSeconds = cpuTime().Seconds(), time.Since(a.start).Seconds()
	if f.json {
		err = a.printJSON(r)
	} else {
		err = a.printText(r.text())
	}
	if err == nil && r.Detected < r.Faults {
		return fmt.Errorf("%w: %d of %s of %s not detected", errCheck, r.Faults-r.Detected, count(r.Faults, "stuck-at fault"), r.Operation.Op)
	}
	return err
}

func (r *selfTestResult) text() string {
	var s summary
	r.Operation.summarize(&s)
	s.add("faults", "%d: each used row and each latch stuck at 0 and at 1", r.Faults)
	s.add("self-test", "finds %d of %d", r.SelfTest, r.Faults)
	all := ""
	if r.Exhaustive {
		all = ", all that there are"
	}
	s.add("result", "wrong for %d of %d in %s%s", r.Result, r.Faults, count(r.Patterns, "pattern"), all)
	for _, h := range r.Hidden {
		where := h.Holds
		if h.Row >= 0 {
			where = fmt.Sprintf("row %d (%s)", h.Row, h.Holds)
		}
		s.add("right", "with %s at %d: %s", where, h.Value, h.Why)
	}
	verdict := "every fault is DETECTED"
	if r.Detected < r.Faults {
		verdict = fmt.Sprintf("%d of %d faults are NOT DETECTED", r.Faults-r.Detected, r.Faults)
	}
	s.add("verdict", "%s", verdict)
	s.add("time", "%s (%s CPU)", seconds(r.WallSeconds), seconds(r.CPUSeconds))
	return s.String()
}
