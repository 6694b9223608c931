package benchmarks

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bitsched/bitsched/internal/figure"
)

// Styles of the two parts of a bar.
var (
	computeStyle = figure.Style{Colour: "#a9bccb"}
	copyStyle    = figure.Style{Colour: "#d55e00", Hatch: figure.RisingLines}
)

// figure2 shows what part of the energy goes into copies, for each scheduler, as
// Fig. 2 does for multiplier and div. It shows these two where they are among the
// circuits, else all circuits, but none that takes no copy while another does.
// Energy is in units of that of the computes.
func (c *Comparison) figure2() []byte {
	schedulers := c.drawn()
	rows := c.results(schedulers)
	if few := slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool { return r.Name != "multiplier" && r.Name != "div" }); len(few) > 0 {
		rows = few
	}
	rows = slices.DeleteFunc(rows, func(r *Row) bool { return r.Gates == 0 })
	if len(rows) == 0 || c.Options.Energy.Compute <= 0 {
		return nil
	}
	copies := slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool {
		return !slices.ContainsFunc(schedulers, func(s string) bool { cell := r.cell(s); return cell != nil && cell.Copies > 0 })
	})
	desc := "In units of the computes' energy; the number above a bar is the copies' share of the whole."
	if left := len(rows) - len(copies); len(copies) > 0 && left > 0 {
		rows = copies
		desc += fmt.Sprintf(" Without any copy, and left out: %d of %d.", left, left+len(rows))
	}
	const (
		plotHeight  = 250.0
		barWidth    = 40.0
		panelHead   = 26.0
		panelFoot   = 40.0 // names of schedulers, and space to the next line
		panelsALine = 3
	)
	copyShare := func(cell *Cell) (ratio float64) {
		return float64(cell.Copies) * c.Options.Energy.Copy / (float64(cell.Computes) * c.Options.Energy.Compute)
	}
	most := 1.0
	for _, r := range rows {
		for _, s := range schedulers {
			if cell := r.cell(s); cell != nil {
				most = max(most, 1+copyShare(cell))
			}
		}
	}
	slot := 66.0
	for _, name := range schedulers {
		slot = max(slot, figure.TextWidth(name, 12, name == "bitsched")+8)
	}
	// All panels have the same width and scale, so that they can be compared.
	plot := figure.Plot{Width: slot*float64(len(schedulers)) + 20, Height: plotHeight, Y: figure.Axis{Title: "energy / computes' energy", Ticks: figure.Ticks(most*1.07, 5)}}
	columns := min(len(rows), panelsALine)
	lines := (len(rows) + columns - 1) / columns
	pitch := figure.Margin + plot.Room() + max(plot.Width, figure.TextWidth(c.longest(rows), 14, true))

	s := figure.New(max(pitch*float64(columns)+figure.Margin, 480), 0, "Energy spent on computes and on copies", desc)
	top := s.Legend(s.Heading(), []figure.Entry{{Style: computeStyle, Text: "computes"}, {Style: copyStyle, Text: "copies"}})
	for i, r := range rows {
		plot.Left = pitch*float64(i%columns) + figure.Margin + plot.Room()
		plot.Top = top + float64(i/columns)*(panelHead+plotHeight+panelFoot) + panelHead
		base := plot.Top + plotHeight
		s.Text(plot.Left, plot.Top-10, c.label(r), figure.TextStyle{Size: 14, Colour: figure.Ink, Bold: true})
		plot.Draw(s)
		for j, name := range schedulers {
			middle := plot.Left + 10 + slot*(float64(j)+0.5)
			bold := name == "bitsched"
			s.Text(middle, base+18, name, figure.TextStyle{Anchor: figure.Middle, Bold: bold})
			cell := r.cell(name)
			if cell == nil {
				s.Text(middle, base-6, "–", figure.TextStyle{Anchor: figure.Middle})
				continue
			}
			share := copyShare(cell)
			hint := func(what string, energy float64) string {
				return fmt.Sprintf("%s, %s: %s, energy %s", c.label(r), name, what, strconv.FormatFloat(energy, 'f', 1, 64))
			}
			computes, copies := float64(cell.Computes)*c.Options.Energy.Compute, float64(cell.Copies)*c.Options.Energy.Copy
			one, all := plot.AtY(1), plot.AtY(1+share)
			s.Bar(middle-barWidth/2, one, barWidth, base-one, computeStyle, hint(fmt.Sprintf("%d computes", cell.Computes), computes))
			s.Bar(middle-barWidth/2, all, barWidth, one-all, copyStyle, hint(fmt.Sprintf("%d copies", cell.Copies), copies))
			s.Text(middle, all-6, percent(share/(1+share)), figure.TextStyle{Colour: figure.Ink, Anchor: figure.Middle, Bold: true})
		}
	}
	s.Height = top + float64(lines)*(panelHead+plotHeight+panelFoot)
	return s.Bytes()
}

// longest returns the label that takes the most room.
func (c *Comparison) longest(rows []*Row) string {
	long := ""
	for _, r := range rows {
		if l := c.label(r); figure.TextWidth(l, 1, false) > figure.TextWidth(long, 1, false) {
			long = l
		}
	}
	return long
}

// percent prints a share, finer where it is small.
func percent(share float64) string {
	if share > 0 && share < 0.0995 {
		return strconv.FormatFloat(100*share, 'f', 1, 64) + "%"
	}
	return strconv.FormatFloat(100*share, 'f', 0, 64) + "%"
}
