package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/sram/cost"
)

const costsLong = `Costs lists the tables of energy, time and area that --cost takes, or every
value of one table with its unit, technology node, voltage and source, and
whether it was confirmed there.

NAME is a table that comes with the program, or a file of your own (with a . or
/ in its name) in the same form; see docs/costs.md. Nothing is scaled between
nodes, voltages or sizes of arrays, and what a source does not say is unknown.`

func (a *app) costsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "costs [NAME]",
		Short: "List the tables of energy, time and area, with sources",
		Long:  costsLong,
		Example: `  bitsched costs
  bitsched costs mve
  bitsched costs ./mine.yaml --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError(cmd, "unexpected argument %q", args[1])
			}
			return nil
		},
		ValidArgs: cost.Names(),
		RunE:      func(_ *cobra.Command, args []string) error { return a.costs(args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (a *app) costs(args []string, asJSON bool) error {
	if len(args) == 0 {
		tables := cost.Tables()
		if asJSON {
			return a.printJSON(map[string]any{"tables": tables})
		}
		t := benchmarks.Table{Columns: []benchmarks.Column{
			{Name: "table", Left: true}, {Name: "compute"}, {Name: "copy"}, {Name: "confirmed"}, {Name: "title", Left: true},
		}}
		for _, c := range tables {
			b := c.Breakdown(cost.Counts{Computes: 1, Copies: 1, Arrays: 1})
			confirmed := 0
			for i := range c.Values {
				if *c.Values[i].Confirmed {
					confirmed++
				}
			}
			t.Rows = append(t.Rows, []string{
				c.Name, costEnergy(b.Lines[0].Energy, b.EnergyUnit), costEnergy(b.Lines[1].Energy, b.EnergyUnit),
				fmt.Sprintf("%d of %d", confirmed, len(c.Values)), c.Title,
			})
		}
		return a.printText(renderTable(t) + "\n")
	}
	t, err := cost.Load(args[0])
	if err != nil {
		return costError(err)
	}
	if asJSON {
		return a.printJSON(t)
	}
	return a.printText(explanation(t))
}

// costError says where tables are listed if there is none of a name.
func costError(err error) error {
	if errors.Is(err, cost.ErrUnknown) {
		return fmt.Errorf("%w (see bitsched costs)", err)
	}
	return err
}

// explanation is every value of a table with where it comes from.
func explanation(t *cost.Table) string {
	var s summary
	s.add("table", "%s: %s", t.Name, t.Title)
	if t.Array != nil {
		s.add("array", "%d rows x %d bitlines", t.Array.Rows, t.Array.Cols)
	} else {
		s.add("array", "size not stated")
	}
	for i := range t.Values {
		v := &t.Values[i]
		s.add(v.Label(), "%s: %s", v.Figure(), v.Origin())
	}
	return s.String()
}

// costFlags are the flags of commands that report the cost of a program.
type costFlags struct {
	table   string
	explain bool
}

func (f *costFlags) add(cmd *cobra.Command, fl *pflag.FlagSet) {
	fl.StringVar(&f.table, "cost", "", "break energy, time and area down by a `table`: a name (see bitsched costs) or a file")
	fl.BoolVar(&f.explain, "explain-cost", false, "print each number of the table with its source; without --cost, of the energies in use")
	complete(cmd, "cost", cost.Names()...)
}

// costReport is what --cost and --explain-cost add to a report; nil if neither
// is given.
type costReport struct {
	Breakdown *cost.Breakdown `json:"breakdown,omitempty"`
	Explained *cost.Table     `json:"explained,omitempty"` // the table, with sources
	Note      string          `json:"note,omitempty"`
}

// load reads the table before anything long begins; nil if none is asked for.
func (f *costFlags) load() (*cost.Table, error) {
	name := f.table
	if name == "" {
		if !f.explain {
			return nil, nil
		}
		name = "masim" // where sram.DefaultEnergy comes from
	}
	t, err := cost.Load(name)
	if err != nil {
		return nil, costError(err)
	}
	return t, nil
}

func (f *costFlags) report(t *cost.Table, p *sram.Program) *costReport {
	return f.reportCounts(t, func() cost.Counts { return cost.Of(p) })
}

// reportCounts is report for anything that can be counted; it is only where a
// table is asked for.
func (f *costFlags) reportCounts(t *cost.Table, counts func() cost.Counts) *costReport {
	if t == nil {
		return nil
	}
	r := &costReport{}
	if f.table != "" {
		r.Breakdown = t.Breakdown(counts())
	}
	if f.explain {
		r.Explained = t
	}
	return r
}

// reportKernel is report for a kernel on one array.
func (f *costFlags) reportKernel(t *cost.Table, k *sram.Kernel) *costReport {
	counts := cost.OfKernel(k, sram.DefaultCols)
	r := f.reportCounts(t, func() cost.Counts { return counts })
	if r != nil && f.explain && counts.Kinds != nil {
		r.Note = kindsNote(f.table)
	}
	return r
}

// kindsNote says what is known of the energies of kinds of instructions.
func kindsNote(table string) string {
	if table == "" {
		return "every instruction counts as a compute: this table does not tell kinds of instructions apart (--cost does, as far as its sources do)"
	}
	return cost.KindsNote
}

// noteCopyEnergy says so where the energy of a copy is not that of the table
// which explains the default.
func (r *costReport) noteCopyEnergy(energy float64) {
	if r != nil && r.Breakdown == nil && energy != sram.DefaultEnergy.Copy {
		r.Note = fmt.Sprintf("the copy energy of %g is that of --copy-energy", energy)
	}
}

// text is the report as tables, after a blank line; "" for nil.
func (r *costReport) text() string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	if r.Breakdown != nil {
		b.WriteString("\n" + breakdownText(r.Breakdown))
	}
	if r.Explained != nil {
		b.WriteString("\n" + explanation(r.Explained))
	}
	if r.Note != "" {
		b.WriteString("\nnote: " + r.Note + "\n")
	}
	return b.String()
}

func breakdownText(c *cost.Breakdown) string {
	t := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "cost", Left: true}, {Name: "count"}, {Name: "of", Left: true},
		{Name: "energy"}, {Name: "time"}, {Name: "by", Left: true},
	}}
	cells := func(l cost.Line) []string {
		return []string{l.Name, strconv.FormatFloat(l.Count, 'f', -1, 64), l.Of, costEnergy(l.Energy, c.EnergyUnit), costFigure(l.Time, c.TimeUnit), l.How}
	}
	for _, l := range c.Lines {
		row := cells(l)
		if l.Name == "leakage" {
			row[4] = "" // it takes no time of its own
		}
		t.Rows = append(t.Rows, row)
	}
	total := cells(c.Total)
	total[1], total[2] = "", ""
	t.Footer = [][]string{total}
	var s summary
	s.add("cost table", "%s, one load of %s x %d bitlines", c.Table, count(c.Counts.Arrays, "array"), c.Counts.Cols)
	s.add("area", "%s (%s)", costFigure(c.Area, "um2"), c.AreaNote)
	if len(c.LeftOut) > 0 {
		s.add("energy", "the total leaves out %s: unknown in this table", strings.Join(c.LeftOut, ", "))
	}
	if len(c.TimeLeftOut) > 0 {
		s.add("time", "the total leaves out %s: unknown in this table", strings.Join(c.TimeLeftOut, ", "))
	}
	if len(c.Unconfirmed) > 0 {
		s.add("NOT CONFIRMED", "%s", strings.Join(c.Unconfirmed, ", "))
	}
	if c.Note != "" {
		s.add("note", "%s", c.Note)
	}
	return s.String() + "\n" + renderTable(t) + "\n"
}

// costFigure is a figure with its unit, or that it is unknown.
func costFigure(x *float64, unit string) string {
	if x == nil {
		return "unknown"
	}
	return strings.TrimSpace(strconv.FormatFloat(*x, 'f', costDigits(*x), 64) + " " + unit)
}

// costEnergy is a figure of energy; units that are no energy are marked by x.
func costEnergy(x *float64, unit string) string {
	if slices.Contains([]string{"compute", "access"}, unit) {
		unit = "x " + unit
	}
	return costFigure(x, unit)
}

// costDigits are the digits after the point that a figure deserves.
func costDigits(x float64) int {
	switch {
	case x == math.Trunc(x) || x >= 1000:
		return 0
	case x >= 10:
		return 1
	}
	return 3
}
