package benchmarks

import (
	"fmt"
	"math"
	"strconv"

	"github.com/bitsched/bitsched/internal/figure"
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
		plotHeight = 280.0
		groupGap   = 18.0
		head       = 34.0 // over a plot, for the numbers of the mean
		most       = 16   // groups of bars beside each other
		plotWidth  = 420.0
	)
	styles := c.styles()
	groups := len(rows)
	if len(rows) > 1 {
		groups++ // the mean
	}
	lines := (groups + most - 1) / most
	columns := (groups + lines - 1) / lines
	// A few bars are wide enough for a plot of the usual width.
	bar := min(40, max(13, math.Floor((plotWidth/float64(columns)-groupGap)/float64(len(schedulers)))))
	inner := bar * float64(len(schedulers))
	group := inner + groupGap
	// Names stand upright in their group, or slanted where they would not fit.
	slanted, label := false, figure.TextWidth(c.longest(rows), 12, false)
	if label > group-4 || len(rows) > 1 && figure.TextWidth("geomean", 12, true) > group-4 {
		slanted = true
		label = max(label, figure.TextWidth("geomean", 12, true))
	}
	plot := figure.Plot{Width: group * float64(columns), Height: plotHeight, Y: figure.Axis{Title: "energy, 1 = the most", Ticks: []float64{0, 0.2, 0.4, 0.6, 0.8, 1},
		Text: func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }}}
	foot := 40.0
	plot.Left = figure.Margin + plot.Room()
	if slanted {
		foot = 34 + label*0.71
		// The first name may reach beyond the axis.
		plot.Left = max(plot.Left, figure.Margin+label*0.71-group/2)
	}

	s := figure.New(max(plot.Left+plot.Width+figure.Margin, 560), 0, "Energy by circuit and scheduler", "Normalised to the scheduler that takes the most for each circuit.")
	top := s.Legend(s.Heading(), legendOf(schedulers, styles))
	s.Height = top + float64(lines)*(head+plotHeight+foot)
	at := func(i int) (left, base float64) {
		plot.Top = top + float64(i/columns)*(head+plotHeight+foot) + head
		return plot.Left + group*float64(i%columns) + groupGap/2, plot.Top + plotHeight
	}
	under := func(x, base float64, name string, bold bool) {
		st := figure.TextStyle{Anchor: figure.Middle, Bold: bold}
		if bold {
			st.Colour = figure.Ink
		}
		if slanted {
			st.Anchor, st.Rotate = figure.End, -45
			s.Text(x+5, base+16, name, st)
			return
		}
		s.Text(x, base+20, name, st)
	}
	values := make([][]float64, len(schedulers))
	for i, r := range rows {
		left, base := at(i)
		if i%columns == 0 {
			plot.Draw(s)
		}
		normal := 0.0
		for _, name := range schedulers {
			if cell := r.cell(name); cell != nil {
				normal = max(normal, cell.Energy)
			}
		}
		for j, name := range schedulers {
			x := left + bar*float64(j)
			cell := r.cell(name)
			if cell == nil {
				s.Text(x+bar/2, base-5, "–", figure.TextStyle{Anchor: figure.Middle})
				continue
			}
			if normal == 0 {
				continue
			}
			v := cell.Energy / normal
			values[j] = append(values[j], v)
			s.Bar(x+0.5, plot.AtY(v), bar-1, base-plot.AtY(v), styles[name],
				fmt.Sprintf("%s, %s: %.3f (energy %.1f, %d copies)", c.label(r), name, v, cell.Energy, cell.Copies))
		}
		under(left+inner/2, base, c.label(r), false)
	}
	if groups > len(rows) {
		left, base := at(len(rows))
		if len(rows)%columns == 0 {
			plot.Draw(s)
		} else {
			s.Line(left-groupGap/2, plot.Top-head+6, left-groupGap/2, base, figure.Rule, 1)
		}
		for j, name := range schedulers {
			x := left + bar*float64(j)
			if len(values[j]) < len(rows) {
				s.Text(x+bar/2, base-5, "–", figure.TextStyle{Anchor: figure.Middle})
				continue // a mean over other circuits cannot be compared
			}
			v := GeoMean(values[j])
			s.Bar(x+0.5, plot.AtY(v), bar-1, base-plot.AtY(v), styles[name], fmt.Sprintf("geometric mean, %s: %.3f", name, v))
			s.Text(x+bar/2+4, plot.AtY(v)-5, strconv.FormatFloat(v, 'f', 2, 64), figure.TextStyle{Size: 10.5, Colour: figure.Ink, Rotate: -90})
		}
		under(left+inner/2, base, "geomean", true)
	}
	return s.Bytes()
}
