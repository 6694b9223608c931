package benchmarks

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bitsched/bitsched/internal/figure"
)

// figure9 shows the copies for one circuit against the rows of an array, on a
// logarithmic scale, a line for each scheduler. The rows come in rising order. No
// copies at all, where that is reached, lie on a line of their own at the bottom.
func (c *Comparison) figure9(rows []*Row) []byte {
	schedulers := slices.DeleteFunc(c.drawn(), func(s string) bool {
		return !slices.ContainsFunc(rows, func(r *Row) bool { return r.cell(s) != nil })
	})
	const (
		plotWidth  = 460.0
		plotHeight = 330.0
		nameHeight = 17.0
		size       = 12.5
	)
	styles := c.styles()
	least, most := math.Inf(1), 0.0 // that are not 0
	zero, room := false, 0.0
	text := func(scheduler string, copies int) string {
		return fmt.Sprintf("%s: %s", scheduler, figure.TickText(float64(copies)))
	}
	for _, name := range schedulers {
		for _, r := range rows {
			if cell := r.cell(name); cell != nil {
				if cell.Copies == 0 {
					zero = true
				} else {
					least, most = min(least, float64(cell.Copies)), max(most, float64(cell.Copies))
				}
				room = max(room, figure.TextWidth(text(name, cell.Copies), size, name == "bitsched"))
			}
		}
	}
	if most == 0 {
		return nil
	}
	desc := "Both axes are logarithmic; fewer copies are better. At the end of each line: the copies at the most rows."
	if zero {
		desc = "Both axes are logarithmic above the line of 0 copies; fewer copies are better. At the end of each line: the copies at the most rows."
	}
	plot := figure.Plot{Width: plotWidth, Height: plotHeight,
		X: figure.Axis{Title: "rows of an array", Log: true, Inset: 36},
		Y: figure.Axis{Title: "copies", Ticks: figure.LogTicks(least, most), Log: true, Zero: zero}}
	for _, r := range rows {
		plot.X.Ticks = append(plot.X.Ticks, float64(r.Rows))
	}
	plot.Left = figure.Margin + plot.Room()
	right := plot.Left + plotWidth
	s := figure.New(right+31+room+figure.Margin, 0, "Copies against array size: "+shorten(rows[0].Name), desc)
	plot.Top = s.Heading()
	base := plot.Top + plotHeight
	s.Height = base + figure.PlotFoot
	// The names at the ends may need more height than the plot has.
	if need := plot.Top + nameHeight*float64(len(schedulers)); need > s.Height {
		s.Height = need
	}
	plot.Draw(s)

	type name struct {
		scheduler string
		from      figure.Point // end of its line
		copies    int
		y         float64
	}
	var names []name
	for _, scheduler := range schedulers {
		var line []figure.Point
		var tip name
		flush := func() {
			if len(line) > 1 {
				s.Polyline(line, styles[scheduler], 2)
			}
			line = nil
		}
		for _, r := range rows {
			cell := r.cell(scheduler)
			if cell == nil {
				flush() // no line over a size without a result
				continue
			}
			p := plot.At(float64(r.Rows), float64(cell.Copies))
			line = append(line, p)
			tip = name{scheduler, p, cell.Copies, p.Y}
		}
		flush()
		for _, r := range rows {
			if cell := r.cell(scheduler); cell != nil {
				s.Mark(plot.At(float64(r.Rows), float64(cell.Copies)), styles[scheduler], fmt.Sprintf("%s, %d rows: %d copies", scheduler, r.Rows, cell.Copies))
			}
		}
		names = append(names, tip)
	}
	// Each line has its name at its end. Names that would overlap move apart.
	slices.SortStableFunc(names, func(a, b name) int { return cmp.Compare(a.from.Y, b.from.Y) })
	at := plot.Top - 4
	for i := range names {
		names[i].y = max(names[i].y, at)
		at = names[i].y + nameHeight
	}
	limit := max(base, plot.Top+nameHeight*float64(len(names)-1))
	for i := len(names) - 1; i >= 0; i-- {
		names[i].y = min(names[i].y, limit)
		limit = names[i].y - nameHeight
	}
	for _, n := range names {
		thin := figure.Style{Colour: styles[n.scheduler].Colour}
		s.Polyline([]figure.Point{{X: n.from.X + 6, Y: n.from.Y}, {X: right + 4, Y: n.y}, {X: right + 14, Y: n.y}}, thin, 0.75)
		s.Mark(figure.Point{X: right + 20, Y: n.y}, styles[n.scheduler], "")
		s.Text(right+31, n.y+4.5, text(n.scheduler, n.copies), figure.TextStyle{Size: size, Colour: figure.Ink, Bold: n.scheduler == "bitsched"})
	}
	return s.Bytes()
}
