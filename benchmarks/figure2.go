package benchmarks

import (
	"fmt"
	"slices"
	"strconv"
)

const (
	computeColour = "#a9bccb"
	copyColour    = "#d9622b"
)

// figure2 shows what part of the energy goes into copies, for each scheduler, as
// Fig. 2 does for multiplier and div. It shows these two where they are among the
// circuits, else all circuits. Energy is in units of that of the computes.
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
	const (
		left, top   = 64.0, 124.0
		plotHeight  = 250.0
		barWidth    = 40.0
		slot        = 66.0
		panelGap    = 56.0
		panelFoot   = 84.0 // names of schedulers, and space to the next line
		panelsALine = 3
	)
	// All panels have the same width and scale, so that they can be compared.
	width := slot*float64(len(schedulers)) + 20
	columns := min(len(rows), panelsALine)
	lines := (len(rows) + columns - 1) / columns
	total := left + float64(columns)*(width+panelGap) - panelGap + 32
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
	scale := ticks(most*1.07, 5)
	limit := scale[len(scale)-1]

	s := newSVG(total, top+float64(lines)*(plotHeight+panelFoot)-panelFoot+44, "Energy spent on computes and on copies",
		"In units of the computes' energy; the figure above a bar is the copies' share of the whole.")
	s.heading()
	s.legend(headingX, 82, s.width-2*headingX, []legendEntry{{computeColour, "computes"}, {copyColour, "copies"}})
	for i, r := range rows {
		x0 := left + float64(i%columns)*(width+panelGap)
		y0 := top + float64(i/columns)*(plotHeight+panelFoot) // top of the plot
		base := y0 + plotHeight
		y := func(v float64) float64 { return base - v/limit*plotHeight }
		s.text(x0, y0-10, c.label(r), textStyle{size: 14, colour: inkColour, bold: true})
		for _, v := range scale {
			s.line(x0, y(v), x0+width, y(v), gridColour, 1)
			s.text(x0-8, y(v)+4, tickText(v), textStyle{size: 11, anchor: "end"})
		}
		for j, name := range schedulers {
			middle := x0 + 10 + slot*(float64(j)+0.5)
			s.text(middle, base+18, name, textStyle{size: nameSize(name, slot-4), anchor: "middle", bold: name == "bitsched"})
			cell := r.cell(name)
			if cell == nil {
				s.text(middle, base-6, "–", textStyle{anchor: "middle"})
				continue
			}
			share := copyShare(cell)
			hint := func(what string, energy float64) string {
				return fmt.Sprintf("%s, %s: %s, energy %s", c.label(r), name, what, strconv.FormatFloat(energy, 'f', 1, 64))
			}
			computes, copies := float64(cell.Computes)*c.Options.Energy.Compute, float64(cell.Copies)*c.Options.Energy.Copy
			s.rect(middle-barWidth/2, y(1), barWidth, base-y(1), computeColour, hint(fmt.Sprintf("%d computes", cell.Computes), computes))
			s.rect(middle-barWidth/2, y(1+share), barWidth, y(1)-y(1+share), copyColour, hint(fmt.Sprintf("%d copies", cell.Copies), copies))
			s.text(middle, y(1+share)-6, percent(share/(1+share)), textStyle{colour: inkColour, anchor: "middle", bold: true})
		}
		s.line(x0, base, x0+width, base, axisColour, 1)
	}
	return s.bytes()
}

// nameSize is the size of a font in which a name fits a width.
func nameSize(name string, width float64) float64 {
	return min(12, 12*width/textWidth(name, 12))
}

// percent prints a share, finer where it is small.
func percent(share float64) string {
	if share > 0 && share < 0.0995 {
		return strconv.FormatFloat(100*share, 'f', 1, 64) + "%"
	}
	return strconv.FormatFloat(100*share, 'f', 0, 64) + "%"
}
