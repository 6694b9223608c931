package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/reproduce"
)

// Comparison shows schedulers beside each other.
func Comparison(title string, c *benchmarks.Comparison) []Section {
	tables, notes := c.Tables()
	var parts []Part
	for _, f := range c.Figures() {
		parts = append(parts, &Figure{SVG: f.SVG})
	}
	for i, t := range tables {
		part := &Table{Table: t}
		if i == len(tables)-1 {
			for k, n := range notes {
				part.Notes = append(part.Notes, fmt.Sprintf("[%d] %s", k+1, n))
			}
		}
		parts = append(parts, part)
	}
	return []Section{{ID: "comparison", Title: title, Lead: "Every program was replayed and executed. Figures that a paper published stand in columns of their own.", Parts: parts}}
}

// ComparisonReport shows what the JSON of a comparison has.
func ComparisonReport(title string, r *benchmarks.Report) []Section {
	head := func(unit string) *Table {
		t := &Table{Table: benchmarks.Table{Title: unit, Columns: []benchmarks.Column{{Name: "circuit", Left: true}, {Name: "rows"}, {Name: "gates"}}}}
		return t
	}
	copies, energy := head("Copies"), head("Energy, in computes")
	copies.Columns = append(copies.Columns, benchmarks.Column{Name: "at least"})
	paper := map[string]bool{}
	for _, c := range r.Circuits {
		for _, x := range c.Results {
			paper[x.Scheduler] = paper[x.Scheduler] || x.PaperCopies != nil
		}
	}
	for _, s := range r.Schedulers {
		copies.Columns = append(copies.Columns, benchmarks.Column{Name: s})
		energy.Columns = append(energy.Columns, benchmarks.Column{Name: s})
	}
	for _, s := range r.Schedulers {
		if paper[s] {
			copies.Columns = append(copies.Columns, benchmarks.Column{Name: s + ", published"})
		}
	}
	number := func(n *int) string {
		if n == nil {
			return "-"
		}
		return strconv.Itoa(*n)
	}
	var notes []string
	for _, c := range r.Circuits {
		row := []string{c.Name, strconv.Itoa(c.Rows), strconv.Itoa(c.Gates), strconv.Itoa(c.LowerBound.Copies)}
		power := []string{c.Name, strconv.Itoa(c.Rows), strconv.Itoa(c.Gates)}
		var published []string
		for _, s := range r.Schedulers {
			i := slices.IndexFunc(c.Results, func(x benchmarks.ResultReport) bool { return x.Scheduler == s })
			if i < 0 {
				row, power = append(row, "-"), append(power, "-")
				if paper[s] {
					published = append(published, "-")
				}
				continue
			}
			x := &c.Results[i]
			row = append(row, number(x.Copies))
			e := "-"
			if x.Energy != nil {
				e = fmt.Sprintf("%.1f", *x.Energy)
			}
			power = append(power, e)
			if paper[s] {
				published = append(published, number(x.PaperCopies))
			}
			if x.Note != "" {
				notes = append(notes, fmt.Sprintf("%s, %s: %s", c.Name, s, x.Note))
			}
		}
		copies.Rows = append(copies.Rows, append(row, published...))
		energy.Rows = append(energy.Rows, power)
	}
	copies.Notes = notes
	return []Section{{ID: "comparison", Title: title, Lead: fmt.Sprintf("Effort %s, seed %d, at most %d arrays; every program was replayed and executed.", r.Effort, r.Seed, r.Arrays), Parts: []Part{copies, energy}}}
}

// Reproduced shows tables and figures of papers beside what is measured here, a section
// for each.
func Reproduced(reports []*reproduce.Report, leftOut []string) []Section {
	place := func(r *reproduce.Report) int {
		return slices.IndexFunc(reproduce.Entries, func(e *reproduce.Entry) bool { return e.ID == r.ID })
	}
	reports = slices.SortedStableFunc(slices.Values(reports), func(a, b *reproduce.Report) int { return place(a) - place(b) })
	counts := map[reproduce.Verdict]int{}
	overview := &Table{Table: benchmarks.Table{Title: "All claims", Columns: []benchmarks.Column{
		{Name: "entry", Left: true}, {Name: "claim", Left: true}, {Name: "section", Left: true}, {Name: "paper"}, {Name: "ours"}, {Name: "off by"}, {Name: "may be"}, {Name: "verdict", Left: true},
	}}}
	var sections []Section
	for _, r := range reports {
		s := Section{ID: r.ID, Title: r.ID, Lead: fmt.Sprintf("%s. %s, %s sizes.", r.Title, r.Paper, r.Size)}
		own := &Table{Table: benchmarks.Table{Title: "Claims", Columns: overview.Columns[1:]}}
		for i := range r.Comparisons {
			c := &r.Comparisons[i]
			counts[c.Verdict]++
			row := claimRow(c)
			own.Rows = append(own.Rows, row)
			overview.Rows = append(overview.Rows, append([]string{r.ID}, row...))
		}
		if len(own.Rows) > 0 {
			s.Parts = append(s.Parts, own)
		}
		for _, o := range r.Orders {
			s.Parts = append(s.Parts, Note("Order: "+o.Text()))
		}
		for i := range r.Comparisons {
			for _, text := range r.Comparisons[i].BoundTexts() {
				s.Parts = append(s.Parts, Note("Bound: "+text))
			}
		}
		if r.Measured != nil {
			for _, f := range r.Figures {
				s.Parts = append(s.Parts, &Figure{SVG: f.SVG})
			}
			for _, m := range r.Tables {
				t := &Table{Table: benchmarks.Table{Title: m.Title, Rows: m.Rows}}
				for i, h := range m.Head {
					t.Columns = append(t.Columns, benchmarks.Column{Name: h, Left: leftColumn(m.Rows, i)})
				}
				t.Rows = evenRows(t.Rows, len(t.Columns))
				s.Parts = append(s.Parts, t)
			}
			for _, f := range r.Failed {
				s.Parts = append(s.Parts, Note("failed: "+f))
			}
			for _, n := range r.Notes {
				s.Parts = append(s.Parts, Note(n))
			}
		}
		sections = append(sections, s)
	}
	first := Section{ID: "claims", Title: "Claims", Lead: "What papers print beside what is measured here, how far they are apart, and how far they may be."}
	facts := Facts{{"entries", strconv.Itoa(len(reports))}, {"claims", strconv.Itoa(len(overview.Rows))}}
	for _, v := range []reproduce.Verdict{reproduce.Reproduced, reproduce.UnderReading, reproduce.BetterThan, reproduce.NotReachable, reproduce.Differs, reproduce.NotMeasured} {
		if counts[v] > 0 {
			facts = append(facts, Fact{string(v), strconv.Itoa(counts[v])})
		}
	}
	first.Parts = []Part{facts, overview}
	for _, l := range leftOut {
		first.Parts = append(first.Parts, Note("Left out: "+l))
	}
	return append([]Section{first}, sections...)
}

// claimRow is a claim as it is printed.
func claimRow(c *reproduce.Comparison) []string {
	unit := ""
	if c.Unit != "" {
		unit = " " + c.Unit
	}
	ours, off, may := "-", "-", fmt.Sprintf("%.0f %%", 100*c.Tolerance)
	if c.Points {
		may = figureText(c.Tolerance) + unit
	}
	if c.Ours != nil {
		ours = figureText(*c.Ours) + c.IntervalText() + unit
	}
	if c.Deviation != nil {
		if off = fmt.Sprintf("%+.1f %%", 100**c.Deviation); c.Points {
			off = fmt.Sprintf("%+.1f%s", *c.Deviation, unit)
		}
	}
	verdict := string(c.Verdict)
	if c.Reading != "" {
		verdict += " " + c.Reading
	}
	return []string{c.Name, c.Section, figureText(c.Paper) + unit, ours, off, may, verdict}
}

// figureText is a figure with three or four digits.
func figureText(v float64) string {
	if v == float64(int64(v)) {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// leftColumn reports whether a column has texts rather than numbers.
func leftColumn(rows [][]string, column int) bool {
	for _, r := range rows {
		if column < len(r) && r[column] != "" && r[column] != "-" {
			return !strings.ContainsAny(r[column][:1], "0123456789+-.")
		}
	}
	return column == 0
}

// evenRows gives each row as many cells as there are columns.
func evenRows(rows [][]string, columns int) [][]string {
	even := make([][]string, len(rows))
	for i, r := range rows {
		even[i] = append(slices.Clone(r), make([]string, max(columns-len(r), 0))...)[:columns]
	}
	return even
}
