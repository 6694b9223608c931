package main

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/bitsched/bitsched/benchmarks"
)

// columnMark stands between the columns of a table until it is printed, so that
// foldTables finds them.
const columnMark = "\x1f"

// renderTable aligns a table, with a line below its head and above its footer, and
// a columnMark between columns. printText takes these out.
func renderTable(t benchmarks.Table) string {
	style := table.StyleLight
	style.Options = table.Options{SeparateColumns: true, SeparateHeader: true, SeparateFooter: true}
	style.Format = table.FormatOptions{Header: text.FormatDefault, Footer: text.FormatDefault, Row: text.FormatDefault}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Box.MiddleVertical, style.Box.MiddleSeparator, style.Box.TopSeparator, style.Box.BottomSeparator = columnMark, columnMark, columnMark, columnMark
	w := table.NewWriter()
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	head := make(table.Row, len(t.Columns))
	configs := make([]table.ColumnConfig, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = c.Name
		align := text.AlignRight
		if c.Left {
			align = text.AlignLeft
		}
		configs[i] = table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align, AlignFooter: align}
	}
	w.AppendHeader(head)
	w.SetColumnConfigs(configs)
	cells := func(texts []string) table.Row {
		r := make(table.Row, len(texts))
		for i, s := range texts {
			r[i] = s
		}
		return r
	}
	for _, r := range t.Rows {
		w.AppendRow(cells(r))
	}
	for _, r := range t.Footer {
		w.AppendFooter(cells(r))
	}
	return w.Render()
}

// foldTables takes the marks out of the tables of a text. A table that is wider
// than a terminal is cut into several, one below the other, each with the columns
// that tell its rows apart. Width 0 is no terminal, on which nothing is cut.
func foldTables(text string, width int) string {
	if !strings.Contains(text, columnMark) {
		return text
	}
	var out strings.Builder
	var rows [][]string
	flush := func() {
		if len(rows) == 0 {
			return
		}
		for _, line := range foldTable(rows, width) {
			out.WriteString(line + "\n")
		}
		rows = nil
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.Contains(line, columnMark) {
			rows = append(rows, strings.Split(line, columnMark))
			continue
		}
		flush()
		out.WriteString(line)
		if i < len(lines)-1 {
			out.WriteByte('\n')
		}
	}
	flush()
	return out.String()
}

// foldTable returns the lines of a table, whose rows begin with the head and a rule.
func foldTable(rows [][]string, width int) []string {
	var widths []int
	for _, r := range rows {
		for i, cell := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var lines []string
	keys, room := keyColumns(rows), 0
	for _, w := range widths[:keys] {
		room += w
	}
	block := func(columns []int, folded bool) {
		for _, r := range rows {
			if folded && !slices.ContainsFunc(columns[keys:], func(i int) bool { return i < len(r) && strings.TrimSpace(r[i]) != "" }) {
				continue // nothing to say here
			}
			var b strings.Builder
			for _, i := range columns {
				cell := ""
				if i < len(r) {
					cell = r[i]
				}
				b.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
			}
			line := strings.TrimRight(b.String(), " ")
			if folded && isRule(r) {
				line = string([]rune(line)[:min(utf8.RuneCountInString(line), width)])
			}
			lines = append(lines, line)
		}
	}
	total := -2 // the gap after the last column
	for _, w := range widths {
		total += w
	}
	if width <= 0 || total <= width || keys == len(widths) || room > width/2 {
		all := make([]int, len(widths))
		for i := range all {
			all[i] = i
		}
		block(all, false)
		return lines
	}
	for next := keys; next < len(widths); {
		var columns []int
		for i := range keys {
			columns = append(columns, i)
		}
		for used := room; next < len(widths); {
			end := next + 1
			for end < len(widths) && leans(rows[0], end) {
				end++
			}
			more := -2
			for _, w := range widths[next:end] {
				more += w
			}
			if len(columns) > keys && used+more > width {
				break
			}
			for ; next < end; next++ {
				columns = append(columns, next)
			}
			used += more + 2
		}
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		block(columns, true)
	}
	return lines
}

// leans says whether a column stays with the one before it: a head that there is
// twice, such as that of an interval, says only beside that one what it is of.
func leans(head []string, column int) bool {
	for i, name := range head {
		if i != column && column < len(head) && strings.TrimSpace(name) == strings.TrimSpace(head[column]) {
			return true
		}
	}
	return false
}

// keyColumns is the number of columns, from the left, that tell the rows of a table
// apart; the first alone if none do.
func keyColumns(rows [][]string) int {
	most := 0
	for _, r := range rows {
		most = max(most, len(r))
	}
	for n := 1; n < most; n++ {
		seen := map[string]bool{}
		apart := true
		for _, r := range rows {
			key := strings.Join(r[:min(n, len(r))], columnMark)
			if isRule(r) {
				continue
			}
			apart = apart && !seen[key]
			seen[key] = true
		}
		if apart {
			return n
		}
	}
	return 1
}

// isRule says whether a row is a line across the table.
func isRule(row []string) bool { return strings.HasPrefix(row[0], "─") }
