package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/sram/cost"
)

type opsFlags struct {
	tech  string
	width int
	rows  int
	few   bool
	cost  costFlags
	json  bool
}

const opsLong = `Ops lists the operations that can be computed inside an array, with what their
programs take: cycles, scratch rows beyond operands and result, copies between
arrays, and energy in units of one row operation, or by a table with --cost:
that of the row operations on one array of 256 bitlines. Beside them stand latencies
that papers and simulators charge by formula; n is the width in bits.

Every program listed was built and compared with the processor.`

const opsExample = `  bitsched ops
  bitsched ops --tech neural-cache --width 16
  bitsched ops --json`

func (a *app) opsCommand() *cobra.Command {
	var f opsFlags
	cmd := &cobra.Command{
		Use:     "ops",
		Short:   "List the operations that run inside an array, with their latencies",
		Long:    opsLong,
		Example: opsExample,
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.ops(cmd, f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.tech, "tech", "", "array `technology`: "+strings.Join(techNames(), ", ")+" (default: all)")
	fl.IntVar(&f.width, "width", 32, "width of integers in `bits`, 1 to 64")
	fl.IntVar(&f.rows, "rows", arith.DefaultRows, "`rows` of the array")
	fl.BoolVar(&f.few, "few-rows", false, "search circuits for orders that need few scratch rows: seconds each, then kept on disk")
	f.cost.add(cmd, fl)
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	complete(cmd, "tech", techNames()...)
	return cmd
}

func techNames() []string {
	var names []string
	for _, t := range sram.Technologies() {
		names = append(names, t.Name)
	}
	return names
}

type opReport struct {
	Op        string            `json:"op"`
	Doc       string            `json:"doc"`
	Tech      string            `json:"tech"`
	Width     int               `json:"width"`
	Cycles    int               `json:"cycles,omitempty"`
	Scratch   int               `json:"scratch_rows"`
	Copies    int               `json:"copies"`
	Energy    *float64          `json:"energy"` // in row operations, or by a cost table; null = unknown
	Classes   map[string]int    `json:"instructions,omitempty"`
	InPlace   []string          `json:"in_place,omitempty"` // operands that the result may replace
	Published []publishedReport `json:"published,omitempty"`
	Note      string            `json:"note,omitempty"` // why there is no program

	counts cost.Counts
}

type publishedReport struct {
	Source  string `json:"source"`
	Formula string `json:"formula"`
	Cycles  int    `json:"cycles"`
}

type registerReport struct {
	Tech      string `json:"tech"`
	Op        string `json:"op"`
	Rows      int    `json:"rows"`
	Reserved  int    `json:"reserved_rows"`
	Scratch   int    `json:"scratch_rows"`
	Width     int    `json:"register_bits"`
	Registers int    `json:"registers"`
}

func (a *app) ops(cmd *cobra.Command, f opsFlags) error {
	if f.width < 1 || f.width > 64 {
		return usageError(cmd, "--width %d, expected 1 to 64", f.width)
	}
	techs := sram.Technologies()
	if f.tech != "" {
		t, err := sram.LookupTechnology(f.tech)
		if err != nil {
			return err
		}
		techs = []*sram.Technology{t}
	}
	table, err := f.cost.load()
	if err != nil {
		return err
	}
	unit := "" // row operations
	if f.cost.table != "" {
		unit = table.Breakdown(cost.Counts{}).EnergyUnit
	}
	line := a.newProgress()
	defer line.clear()
	var list []opReport
	var registers []registerReport
	for _, t := range techs {
		for _, name := range arith.Names(f.width) {
			line.phase("building " + name + " for " + t.Name)
			r, err := a.opsEntry(name, t, f.rows, f.few)
			if err != nil {
				return err
			}
			if f.cost.table != "" {
				r.Energy = table.Breakdown(r.counts).Instructions()
			}
			list = append(list, r)
		}
		for _, r := range arith.Registers(t, f.rows, list32(list, t)) {
			registers = append(registers, registerReport(r))
		}
	}
	line.clear()
	if f.json {
		doc := map[string]any{"operations": list, "registers": registers, "energy_unit": cmp.Or(unit, "row operation")}
		if f.cost.explain {
			doc["explained"] = table
			doc["note"] = kindsNote(f.cost.table)
		}
		b, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			return err
		}
		return a.printText(string(b) + "\n")
	}
	text := opsText(list, registers, unit)
	if f.cost.explain {
		text += "\n" + explanation(table) + "\nnote: " + kindsNote(f.cost.table) + "\n"
	}
	return a.printText(text)
}

// opsEntry builds a program and says what it takes. That it does not fit is a
// note and no error.
func (a *app) opsEntry(name string, t *sram.Technology, rows int, few bool) (opReport, error) {
	o, typ, err := arith.Resolve(name, 0)
	if err != nil {
		return opReport{}, err
	}
	r := opReport{Op: name, Doc: o.Doc, Tech: t.Name, Width: typ.Width}
	for _, p := range o.Published {
		if n := p.Cycles(typ.Width); n > 0 {
			r.Published = append(r.Published, publishedReport{p.Source, p.Text, n})
		}
	}
	if !o.Supports(t) {
		r.Note = "no program for this technology"
		return r, nil
	}
	p, err := a.programs.Build(context.Background(), arith.Spec{Op: name, Tech: t.Name, Rows: rows, FewRows: few})
	switch {
	case errors.Is(err, arith.ErrRows):
		r.Note = reason(err)
		return r, nil
	case err != nil:
		return r, err
	}
	r.Cycles, r.Scratch, r.Copies = p.Latency(), p.Scratch, p.Copies()
	r.counts = cost.OfKernel(p.Kernel, sram.DefaultCols)
	energy := p.Kernel.Energy(sram.DefaultEnergy)
	r.Energy = &energy
	r.Classes = map[string]int{}
	for c, n := range p.Kernel.Counts() {
		if n > 0 {
			r.Classes[sram.Class(c).String()] = n
		}
	}
	for i, in := range p.Kernel.Inputs {
		if p.InPlace[i] {
			r.InPlace = append(r.InPlace, in.Name)
		}
	}
	return r, nil
}

// list32 picks the programs of a technology, by name, to count registers for.
func list32(list []opReport, t *sram.Technology) map[string]int {
	scratch := map[string]int{}
	for _, r := range list {
		if r.Tech == t.Name && r.Note == "" {
			scratch[r.Op] = r.Scratch
		}
	}
	return scratch
}

func opsText(list []opReport, registers []registerReport, unit string) string {
	var b strings.Builder
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "operation", Left: true}, {Name: "technology", Left: true}, {Name: "cycles"}, {Name: "scratch"},
		{Name: "copies"}, {Name: strings.TrimSpace("energy " + unit)}, {Name: "published", Left: true}}}
	for _, r := range list {
		var published []string
		for _, p := range r.Published {
			formula := p.Formula
			if formula == "n="+strconv.Itoa(r.Width) {
				published = append(published, fmt.Sprintf("%d (%s)", p.Cycles, p.Source))
				continue
			}
			published = append(published, fmt.Sprintf("%d (%s: %s)", p.Cycles, p.Source, formula))
		}
		energy := "unknown"
		if r.Energy != nil {
			energy = strconv.FormatFloat(*r.Energy, 'f', energyDigits(unit), 64)
		}
		row := []string{r.Op, r.Tech, strconv.Itoa(r.Cycles), strconv.Itoa(r.Scratch), strconv.Itoa(r.Copies), energy, strings.Join(published, ", ")}
		if r.Note != "" {
			row = []string{r.Op, r.Tech, "-", "-", "-", "-", r.Note}
		}
		t.Rows = append(t.Rows, row)
	}
	b.WriteString(renderTable(t))
	b.WriteString("\n")
	for _, r := range registers {
		fmt.Fprintf(&b, "\n%s, %d rows of which %d are reserved: %s needs at most %d scratch rows, which leaves %d registers of %d bits",
			r.Tech, r.Rows, r.Reserved, r.Op, r.Scratch, r.Registers, r.Width)
	}
	if len(registers) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// energyDigits are the digits of an energy: row operations are counted.
func energyDigits(unit string) int {
	if unit == "" {
		return -1
	}
	return 1
}
