package benchmarks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Table is a table to print. Every row has a text for each column.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]string
	Footer  [][]string // means and ratios
}

// Column is the head of a column.
type Column struct {
	Name string
	Left bool // aligned left, as texts are; numbers are aligned right
}

// isVariant reports whether a scheduler is another one with a part exchanged or
// left out, which the ablation compares with it: "date24+cicpp", "masim-noimpr".
func isVariant(name string) bool { return baseOf(name) != name }

// baseOf returns the scheduler that a variant is a variant of.
func baseOf(name string) string {
	if i := strings.IndexAny(name, "+-"); i > 0 {
		return name[:i]
	}
	return name
}

// tabler builds the tables of a comparison and collects their notes.
type tabler struct {
	c     *Comparison
	notes []string
}

// Tables returns the comparison as tables for people: the copies as in Table II,
// the ablation where variants were run, a summary of means and ratios, energy,
// and CPU time; and the notes that marks as [1] refer to.
func (c *Comparison) Tables() (tables []Table, notes []string) {
	b := &tabler{c: c}
	var main, ablation []string
	for _, s := range c.Schedulers {
		if !isVariant(s) {
			main = append(main, s)
		}
	}
	for _, s := range c.Schedulers {
		if isVariant(s) || slices.ContainsFunc(c.Schedulers, func(v string) bool { return isVariant(v) && baseOf(v) == s }) {
			ablation = append(ablation, s)
		}
	}
	if len(main) > 0 {
		tables = append(tables, b.copies("Copies", main, true))
	}
	if len(ablation) > len(main) || slices.ContainsFunc(ablation, isVariant) {
		t := b.copies("Ablation: copies with parts exchanged or left out", ablation, false)
		if row, found := b.changes(t.Columns, ablation); found {
			t.Footer = append(t.Footer, row)
		}
		tables = append(tables, t)
	}
	tables = append(tables, b.summary())
	if len(main) > 0 {
		tables = append(tables, b.sized(b.energy(main)))
	}
	if b.c.Options.Rematerialize {
		tables = append(tables, b.sized(b.again()))
	}
	tables = append(tables, b.sized(b.cpu()))
	b.general()
	return tables, b.notes
}

// mark returns the reference to a note, which is added if it is new.
func (b *tabler) mark(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	i := slices.Index(b.notes, text)
	if i < 0 {
		i = len(b.notes)
		b.notes = append(b.notes, text)
	}
	return fmt.Sprintf("[%d]", i+1)
}

// copiesText is the entry of a scheduler in a table of copies.
func (b *tabler) copiesText(r *Row, c *Cell) string {
	switch c.Status {
	case Done:
		text := strconv.Itoa(c.Copies)
		if c.Stopped != "" {
			text += b.mark("stopped by %s: the best so far", c.Stopped)
		}
		return text
	case Failed:
		return "FAIL" + b.mark("%v", c.Err)
	case NotRun:
		return ""
	}
	return "-" + b.mark("%s on %s: %v", c.Scheduler, r.Name, c.Err)
}

// column is a scheduler of a table, or the paper's figures for it.
type column struct {
	scheduler string
	paper     bool
}

// columns are the schedulers, each followed by the paper's column where some
// circuit has one.
func (b *tabler) columns(schedulers []string) []column {
	var cols []column
	for _, s := range schedulers {
		cols = append(cols, column{s, false})
		if _, n := b.c.mean(paperCopiesOf(s)); n > 0 {
			cols = append(cols, column{s, true})
		}
	}
	return cols
}

func heads(cols []column) []Column {
	var h []Column
	for _, c := range cols {
		if c.paper {
			h = append(h, Column{Name: "paper"})
		} else {
			h = append(h, Column{Name: c.scheduler})
		}
	}
	return h
}

func (c column) copies() quantity {
	if c.paper {
		return paperCopiesOf(c.scheduler)
	}
	return copiesOf(c.scheduler)
}

// copies is the layout of Table II.
func (b *tabler) copies(title string, schedulers []string, bound bool) Table {
	cols := b.columns(schedulers)
	t := Table{Title: title, Columns: []Column{{Name: "circuit", Left: true}, {Name: "rows"}, {Name: "gates"}}}
	if bound {
		t.Columns = append(t.Columns, Column{Name: "bound"})
	}
	fixed := len(t.Columns)
	t.Columns = append(t.Columns, heads(cols)...)
	for i := range b.c.Rows {
		r := &b.c.Rows[i]
		row := []string{b.rowName(r), strconv.Itoa(r.Rows), strconv.Itoa(r.Gates)}
		if bound {
			row = append(row, strconv.Itoa(r.Bound))
		}
		for _, c := range cols {
			text := ""
			if c.paper {
				if n, ok := r.Published().Copies(c.scheduler); ok {
					text = strconv.Itoa(n)
				}
			} else {
				for j := range r.Cells {
					if r.Cells[j].Scheduler == c.scheduler {
						text = b.copiesText(r, &r.Cells[j])
					}
				}
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(b.c.Rows) > 1 {
		t.Footer = append(t.Footer, b.means(fixed, cols, column.copies))
	}
	return t
}

// sized adds the rows of the arrays to a table with a row for each circuit, where
// the names do not tell these apart.
func (b *tabler) sized(t Table) Table {
	if !slices.ContainsFunc(b.c.Rows, func(r Row) bool {
		return slices.ContainsFunc(b.c.Rows, func(o Row) bool { return o.Name == r.Name && o.Rows != r.Rows })
	}) {
		return t
	}
	t.Columns = slices.Insert(t.Columns, 1, Column{Name: "rows"})
	for i := range t.Rows {
		t.Rows[i] = slices.Insert(t.Rows[i], 1, strconv.Itoa(b.c.Rows[i].Rows))
	}
	for i := range t.Footer {
		t.Footer[i] = slices.Insert(t.Footer[i], 1, "")
	}
	return t
}

// rowName is the name of a circuit, with a note where the paper has another of
// that name.
func (b *tabler) rowName(r *Row) string {
	if p := PublishedFor(r.Name); p != nil && !slices.ContainsFunc(b.c.Rows, func(o Row) bool { return o.Name == r.Name && o.Published() != nil }) {
		left := "figures"
		if r.sameCircuit() != nil {
			left = "copies"
		}
		return r.Name + b.mark("the paper's %s has %d gates on arrays of %d rows; its %s are left out", p.Name, p.Gates, p.Rows, left)
	}
	return r.Name
}

// means is a footer of geometric means, with a note on those that do not have
// all circuits.
func (b *tabler) means(fixed int, cols []column, of func(column) quantity) []string {
	row := make([]string, fixed, fixed+len(cols))
	row[0] = "geomean"
	for _, c := range cols {
		m, n := b.c.mean(of(c))
		text := decimals(m, 1)
		if n > 0 && n < len(b.c.Rows) {
			text += b.mark("mean over %d of %d circuits", n, len(b.c.Rows))
		}
		row = append(row, text)
	}
	return row
}

// changes is a footer that says by how many percent the copies of a variant
// differ from those of the scheduler that it is a variant of.
func (b *tabler) changes(heads []Column, schedulers []string) (row []string, found bool) {
	cols := b.columns(schedulers)
	row = make([]string, len(heads)-len(cols), len(heads))
	row[0] = "change"
	for _, c := range cols {
		text := ""
		if isVariant(c.scheduler) {
			base := column{baseOf(c.scheduler), c.paper}
			if m, n := b.c.mean(ratio(c.copies(), base.copies())); n > 0 {
				text = fmt.Sprintf("%+.1f%%", 100*(*m-1))
				found = true
			}
		}
		row = append(row, text)
	}
	return row, found
}

func (b *tabler) summary() Table {
	all := b.c.Summaries()
	type field struct {
		name string
		of   func(*Summary) *float64
		dec  int
	}
	fields := []field{
		{"copies", func(s *Summary) *float64 { return s.Copies }, 1},
		{"paper", func(s *Summary) *float64 { return s.PaperCopies }, 1},
		{"/ paper", func(s *Summary) *float64 { return s.ToPaper }, 3},
		{"/ masim", func(s *Summary) *float64 { return s.ToMASIM }, 3},
		{"/ paper's masim", func(s *Summary) *float64 { return s.ToPaperMASIM }, 3},
		{"energy / masim", func(s *Summary) *float64 { return s.EnergyToMASIM }, 3},
		{"energy / paper's masim", func(s *Summary) *float64 { return s.EnergyToPaperMASIM }, 3},
	}
	t := Table{Title: "Summary: geometric means, and ratios to figures of the same circuits",
		Columns: []Column{{Name: "scheduler", Left: true}, {Name: "circuits"}}}
	fields = slices.DeleteFunc(fields, func(f field) bool {
		return !slices.ContainsFunc(all, func(s Summary) bool { return f.of(&s) != nil })
	})
	for _, f := range fields {
		t.Columns = append(t.Columns, Column{Name: f.name})
	}
	t.Columns = append(t.Columns, Column{Name: "optimal"}, Column{Name: "CPU s"})
	for i := range all {
		s := &all[i]
		row := []string{s.Scheduler, strconv.Itoa(s.Circuits)}
		for _, f := range fields {
			row = append(row, decimals(f.of(s), f.dec))
		}
		t.Rows = append(t.Rows, append(row, strconv.Itoa(s.AtBound), strconv.FormatFloat(s.CPUSeconds, 'f', 1, 64)))
	}
	return t
}

func (b *tabler) energy(schedulers []string) Table {
	e := b.c.Options.Energy
	t := Table{Title: fmt.Sprintf("Energy: %g x computes + %g x copies", e.Compute, e.Copy),
		Columns: []Column{{Name: "circuit", Left: true}, {Name: "gates"}}}
	cols := slices.DeleteFunc(b.columns(schedulers), func(c column) bool { return c.paper })
	t.Columns = append(t.Columns, heads(cols)...)
	paper := b.c.paperEnergyOf("masim")
	if _, n := b.c.mean(paper); n > 0 {
		cols = append(cols, column{"masim", true})
		t.Columns = append(t.Columns, Column{Name: "paper's masim"})
	}
	of := func(c column) quantity {
		if c.paper {
			return b.c.paperEnergyOf(c.scheduler)
		}
		return energyOf(c.scheduler)
	}
	for i := range b.c.Rows {
		r := &b.c.Rows[i]
		row := []string{b.rowName(r), strconv.Itoa(r.Gates)}
		for _, c := range cols {
			row = append(row, r.text(of(c), c, 1))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(b.c.Rows) > 1 {
		t.Footer = append(t.Footer, b.means(2, cols, of))
	}
	if _, n := b.c.mean(paper); n > 0 {
		mean, most := []string{"/ paper's masim", ""}, []string{"at most", ""}
		for _, c := range cols {
			m, _ := b.c.mean(ratio(of(c), paper))
			mean = append(mean, decimals(m, 3))
			most = append(most, decimals(b.c.most(ratio(of(c), paper)), 3))
		}
		t.Footer = append(t.Footer, mean)
		if len(b.c.Rows) > 1 {
			t.Footer = append(t.Footer, most)
		}
	}
	return t
}

func (b *tabler) cpu() Table {
	t := Table{Title: "CPU seconds of scheduling", Columns: []Column{{Name: "circuit", Left: true}}}
	var cols []column
	total := []string{"total"}
	for _, s := range b.c.Summaries() {
		cols = append(cols, column{s.Scheduler, false})
		total = append(total, strconv.FormatFloat(s.CPUSeconds, 'f', 2, 64))
	}
	t.Columns = append(t.Columns, heads(cols)...)
	for i := range b.c.Rows {
		r := &b.c.Rows[i]
		row := []string{b.rowName(r)}
		for _, c := range cols {
			row = append(row, r.text(cpuOf(c.scheduler), c, 2))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(b.c.Rows) > 1 {
		t.Footer = append(t.Footer, total)
	}
	return t
}

// again compares the run with rematerialisation with that without. Copies of
// inputs stand apart, since an input cannot be computed. No schedule takes less
// energy than the column "at least".
func (b *tabler) again() Table {
	t := Table{Title: "Rematerialisation: gates computed again where that takes less energy than copies",
		Columns: []Column{{Name: "circuit", Left: true}, {Name: "gates"}, {Name: "copies"}, {Name: "energy"},
			{Name: "copies now"}, {Name: "of inputs"}, {Name: "of gates"}, {Name: "recomputed"}, {Name: "energy now"}, {Name: "at least"}, {Name: "saved"}, {Name: "CPU s"}}}
	for i := range b.c.Rows {
		r := &b.c.Rows[i]
		row := []string{b.rowName(r), strconv.Itoa(r.Gates), "", ""}
		if p := r.plain(); p != nil {
			row[2] = b.copiesText(r, p)
			if p.Status == Done {
				row[3] = strconv.FormatFloat(p.Energy, 'f', 1, 64)
			}
		}
		c := r.Again
		row = append(row, b.copiesText(r, c))
		if c.Status == Done {
			row = append(row, strconv.Itoa(c.OfInputs), strconv.Itoa(c.Copies-c.OfInputs), strconv.Itoa(c.Recomputed),
				strconv.FormatFloat(c.Energy, 'f', 1, 64), strconv.FormatFloat(r.EnergyBound, 'f', 1, 64), "", strconv.FormatFloat(c.CPU.Seconds(), 'f', 2, 64))
			if s := r.saved(); s != nil {
				row[10] = strconv.FormatFloat(*s, 'f', 2, 64) + "%"
			}
		} else {
			row = append(row, "", "", "", "", "", "", "")
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// plain returns the run that the one with rematerialisation is compared with, nil
// if there is none.
func (r *Row) plain() *Cell {
	for i := range r.Cells {
		if r.Cells[i].Scheduler+againSuffix == r.Again.Scheduler {
			return &r.Cells[i]
		}
	}
	return nil
}

// saved is how many percent of the energy rematerialisation saves.
func (r *Row) saved() *float64 {
	p := r.plain()
	if p == nil || p.Status != Done || r.Again.Status != Done || p.Energy == 0 {
		return nil
	}
	s := 100 * (1 - r.Again.Energy/p.Energy)
	return &s
}

// text is a figure of a row, "-" where a run that was made gave none.
func (r *Row) text(q quantity, c column, dec int) string {
	v, ok := q(r)
	if ok {
		return strconv.FormatFloat(v, 'f', dec, 64)
	}
	for i := range r.Cells {
		if cell := &r.Cells[i]; !c.paper && cell.Scheduler == c.scheduler && cell.Status != NotRun && cell.Status != Done {
			return "-"
		}
	}
	return ""
}

// general adds the notes that no mark refers to.
func (b *tabler) general() {
	for i := range b.c.Rows {
		for j := range b.c.Rows[i].Cells {
			if c := &b.c.Rows[i].Cells[j]; c.Status == Done && c.Copies == 0 {
				b.mark("0 copies count as 1 in means and ratios")
			}
		}
	}
}

// decimals prints a figure that may be missing.
func decimals(v *float64, n int) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', n, 64)
}
