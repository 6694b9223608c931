package benchmarks

import (
	"fmt"
	"strconv"
)

// figure8 shows the energy of each circuit and scheduler, normalised to the most
// among the schedulers for that circuit, and the geometric mean of these.
func (c *Comparison) figure8() []byte {
	schedulers := c.drawn()
	rows := c.results(schedulers)
	if len(rows) == 0 || len(schedulers) < 2 {
		return nil
	}
	const (
		right      = 24.0
		plotHeight = 280.0
		bar        = 12.0
		groupGap   = 18.0
	)
	colours := c.colours()
	inner := bar * float64(len(schedulers))
	group := inner + groupGap
	groups := len(rows)
	if len(rows) > 1 {
		groups++ // the mean
	}
	// Names stand upright in their group, or slanted where they would not fit.
	slanted, footer := false, 40.0
	for _, r := range rows {
		w := textWidth(c.label(r), 12)
		slanted = slanted || w > group-4
		footer = max(footer, 30+w*0.72)
	}
	left := 56.0
	if !slanted {
		footer = 40
	} else {
		// The first name may reach beyond the axis.
		left = max(left, 8+textWidth(c.label(rows[0]), 12)*0.72-(inner+groupGap)/2)
	}
	meanGap := 0.0
	if groups > len(rows) {
		meanGap = 16
	}
	plotWidth := group*float64(groups) + meanGap
	total := left + plotWidth + right

	s := newSVG(total, 0, "Energy by circuit and scheduler", "Normalised to the scheduler that takes the most for each circuit.")
	s.heading()
	top := 82 + s.legend(headingX, 82, s.width-2*headingX, legendOf(schedulers, colours)) + 12
	base := top + plotHeight
	s.height = base + footer
	y := func(v float64) float64 { return base - v*plotHeight }
	for i := 0; i <= 5; i++ {
		v := float64(i) / 5
		s.line(left, y(v), left+plotWidth, y(v), gridColour, 1)
		s.text(left-8, y(v)+4, strconv.FormatFloat(v, 'f', 1, 64), textStyle{size: 11, anchor: "end"})
	}
	normal := func(r *Row) float64 {
		most := 0.0
		for _, name := range schedulers {
			if cell := r.cell(name); cell != nil {
				most = max(most, cell.Energy)
			}
		}
		return most
	}
	under := func(x float64, name string, bold bool) {
		st := textStyle{anchor: "middle", bold: bold}
		if bold {
			st.colour = inkColour
		}
		if slanted {
			st.anchor, st.rotate = "end", -45
			s.text(x+5, base+16, name, st)
			return
		}
		s.text(x, base+20, name, st)
	}
	values := make([][]float64, len(schedulers))
	for i, r := range rows {
		x0 := left + group*float64(i) + groupGap/2
		most := normal(r)
		for j, name := range schedulers {
			cell := r.cell(name)
			if cell == nil {
				s.text(x0+bar*(float64(j)+0.5), base-5, "–", textStyle{anchor: "middle"})
				continue
			}
			if most == 0 {
				continue
			}
			v := cell.Energy / most
			values[j] = append(values[j], v)
			s.rect(x0+bar*float64(j)+0.5, y(v), bar-1, base-y(v), colours[name],
				fmt.Sprintf("%s, %s: %.3f (energy %.1f, %d copies)", c.label(r), name, v, cell.Energy, cell.Copies))
		}
		under(x0+inner/2, c.label(r), false)
	}
	if groups > len(rows) {
		x0 := left + group*float64(len(rows)) + groupGap/2 + meanGap
		s.line(x0-groupGap/2-meanGap/2, top-4, x0-groupGap/2-meanGap/2, base, axisColour, 1)
		for j, name := range schedulers {
			if len(values[j]) < len(rows) {
				s.text(x0+bar*(float64(j)+0.5), base-5, "–", textStyle{anchor: "middle"})
				continue // a mean over other circuits cannot be compared
			}
			v := GeoMean(values[j])
			s.rect(x0+bar*float64(j)+0.5, y(v), bar-1, base-y(v), colours[name], fmt.Sprintf("geometric mean, %s: %.3f", name, v))
			s.text(x0+bar*(float64(j)+0.5)+4, y(v)-5, strconv.FormatFloat(v, 'f', 2, 64),
				textStyle{size: 10.5, colour: inkColour, rotate: -90})
		}
		under(x0+inner/2, "geomean", true)
	}
	s.line(left, base, left+plotWidth, base, axisColour, 1)
	return s.bytes()
}
