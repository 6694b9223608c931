package benchmarks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/internal/figure"
)

// Figure is a drawing of a comparison, in the manner of one in the MASIM paper.
type Figure struct {
	File string // name for it
	SVG  []byte
}

// Figures draws Fig. 2, Fig. 8, and Fig. 9 for each circuit at several sizes of
// arrays. Figures of which there would be nothing to see are left out. A drawing
// depends on the copies and the energies only.
func (c *Comparison) Figures() []Figure {
	var figs []Figure
	add := func(file string, drawing []byte) {
		if drawing != nil {
			figs = append(figs, Figure{file, drawing})
		}
	}
	add("fig2.svg", c.figure2())
	add("fig8.svg", c.figure8())
	var seen []string // files whose circuit was looked at
	for i := range c.Rows {
		file := c.Rows[i].File
		if slices.Contains(seen, file) {
			continue
		}
		seen = append(seen, file)
		var rows []*Row
		for j := range c.Rows {
			if c.Rows[j].File == file {
				rows = append(rows, &c.Rows[j])
			}
		}
		if len(rows) < 2 {
			continue
		}
		slices.SortStableFunc(rows, func(a, b *Row) int { return a.Rows - b.Rows })
		name := "fig9-" + fileName(c.Rows[i].Name)
		for k, used := 2, name; ; k++ {
			if !slices.ContainsFunc(figs, func(f Figure) bool { return f.File == used+".svg" }) {
				add(used+".svg", c.figure9(rows))
				break
			}
			used = name + "-" + strconv.Itoa(k)
		}
	}
	return figs
}

// fileName makes a name of a circuit one that every file system takes.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-_.", r):
			return r
		}
		return '_'
	}, name)
}

// publishedStyles are the numbers of the styles of schedulers, ours the strongest
// and those of the published ones always the same. Others follow.
var publishedStyles = []string{"bitsched", "masim", "simpler", "star", "date24", "", "gppic"}

// styles gives each scheduler of the comparison its style.
func (c *Comparison) styles() map[string]figure.Style {
	m := map[string]figure.Style{}
	next := len(publishedStyles)
	for _, s := range c.Schedulers {
		if i := slices.Index(publishedStyles, s); i >= 0 {
			m[s] = figure.Series(i)
			continue
		}
		m[s] = figure.Series(next)
		next++
	}
	return m
}

// drawn are the schedulers of a figure: published ones in the order of the
// paper, then others, ours last, and no variants while there is anything else.
func (c *Comparison) drawn() []string {
	order := []string{"gppic", "simpler", "star", "date24", "masim"}
	rank := func(s string) int {
		if i := slices.Index(order, s); i >= 0 {
			return i
		}
		if s == "bitsched" {
			return len(order) + 1
		}
		return len(order)
	}
	list := slices.DeleteFunc(slices.Clone(c.Schedulers), isVariant)
	if len(list) == 0 {
		list = slices.Clone(c.Schedulers)
	}
	list = slices.DeleteFunc(list, func(s string) bool {
		return !slices.ContainsFunc(c.Rows, func(r Row) bool { return r.cell(s) != nil })
	})
	slices.SortStableFunc(list, func(a, b string) int { return rank(a) - rank(b) })
	return list
}

// label is the name of a row in a figure, with the size of the arrays where the
// circuit is there at several.
func (c *Comparison) label(r *Row) string {
	for i := range c.Rows {
		if o := &c.Rows[i]; o != r && o.File == r.File && o.Rows != r.Rows {
			return fmt.Sprintf("%s, %d rows", shorten(r.Name), r.Rows)
		}
	}
	return shorten(r.Name)
}

// shorten cuts a name that would take too much room.
func shorten(name string) string { return figure.Shorten(name, 28) }

// legendOf are the legend entries of schedulers.
func legendOf(schedulers []string, styles map[string]figure.Style) []figure.Entry {
	var entries []figure.Entry
	for _, s := range schedulers {
		entries = append(entries, figure.Entry{Style: styles[s], Text: s})
	}
	return entries
}

// results are the rows with a result of one of the schedulers.
func (c *Comparison) results(schedulers []string) []*Row {
	var rows []*Row
	for i := range c.Rows {
		r := &c.Rows[i]
		if slices.ContainsFunc(schedulers, func(s string) bool { return r.cell(s) != nil }) {
			rows = append(rows, r)
		}
	}
	return rows
}
