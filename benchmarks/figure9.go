package benchmarks

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// figure9 shows the copies for one circuit against the rows of an array, on a
// logarithmic scale, a line for each scheduler. The rows come in rising order. No
// copies at all, where that is reached, lie on a line of their own at the bottom.
func (c *Comparison) figure9(rows []*Row) []byte {
	schedulers := slices.DeleteFunc(c.drawn(), func(s string) bool {
		return !slices.ContainsFunc(rows, func(r *Row) bool { return r.cell(s) != nil })
	})
	const (
		left, top   = 72.0, 84.0
		plotWidth   = 460.0
		plotHeight  = 330.0
		margin      = 36.0 // between the plot's sides and the first and last size
		zeroHeight  = 40.0 // between 0 and the least of the logarithmic scale
		labelHeight = 17.0
		size        = 12.5
	)
	colours := c.colours()
	least, most := math.Inf(1), 0.0 // that are not 0
	zero, label := false, 0.0
	for _, name := range schedulers {
		for _, r := range rows {
			if cell := r.cell(name); cell != nil {
				if cell.Copies == 0 {
					zero = true
				} else {
					least, most = min(least, float64(cell.Copies)), max(most, float64(cell.Copies))
				}
				label = max(label, textWidth(fmt.Sprintf("%s  %s", name, tickText(float64(cell.Copies))), size))
			}
		}
	}
	if most == 0 {
		return nil
	}
	scale := logTicks(least, most)
	lo, hi := math.Log(scale[0]), math.Log(scale[len(scale)-1])
	base := top + plotHeight
	desc, bottom := "Both axes are logarithmic; fewer copies are better.", base // of the logarithmic part
	if zero {
		desc, bottom = "Both axes are logarithmic above the line of 0 copies; fewer copies are better.", base-zeroHeight
	}
	y := func(copies int) float64 {
		if copies == 0 {
			return base
		}
		return bottom - (math.Log(float64(copies))-lo)/(hi-lo)*(bottom-top)
	}
	first, last := math.Log(float64(rows[0].Rows)), math.Log(float64(rows[len(rows)-1].Rows))
	x := func(size int) float64 {
		if first == last {
			return left + plotWidth/2
		}
		return left + margin + (math.Log(float64(size))-first)/(last-first)*(plotWidth-2*margin)
	}

	s := newSVG(left+plotWidth+24+label+24, base+64, "Copies against array size: "+shorten(rows[0].Name), desc)
	s.heading()
	tick := func(v int) {
		s.line(left, y(v), left+plotWidth, y(v), gridColour, 1)
		s.text(left-8, y(v)+4, tickText(float64(v)), textStyle{size: 11, anchor: "end"})
	}
	for _, v := range scale {
		tick(int(v))
	}
	if zero {
		tick(0)
	}
	s.line(left, base, left+plotWidth, base, axisColour, 1)
	end := math.Inf(-1) // of the last label
	for _, r := range rows {
		name := strconv.Itoa(r.Rows)
		s.line(x(r.Rows), base, x(r.Rows), base+5, axisColour, 1)
		if w := textWidth(name, 12); x(r.Rows)-w/2 > end+4 {
			s.text(x(r.Rows), base+21, name, textStyle{anchor: "middle"})
			end = x(r.Rows) + w/2
		}
	}
	s.text(left+plotWidth/2, base+46, "rows of an array", textStyle{anchor: "middle"})
	s.text(20, top+plotHeight/2, "copies", textStyle{anchor: "middle", rotate: -90})

	type name struct {
		scheduler string
		from      point // end of its line
		copies    int
		y         float64
	}
	var names []name
	for _, scheduler := range schedulers {
		var line []point
		var tip name
		flush := func() {
			if len(line) > 1 {
				s.polyline(line, colours[scheduler], 2.25)
			}
			line = nil
		}
		for _, r := range rows {
			cell := r.cell(scheduler)
			if cell == nil {
				flush() // no line over a size without a result
				continue
			}
			p := point{x(r.Rows), y(cell.Copies)}
			line = append(line, p)
			tip = name{scheduler, p, cell.Copies, p.y}
		}
		flush()
		for _, r := range rows {
			if cell := r.cell(scheduler); cell != nil {
				s.circle(x(r.Rows), y(cell.Copies), 4.5, colours[scheduler],
					fmt.Sprintf("%s, %d rows: %d copies", scheduler, r.Rows, cell.Copies))
			}
		}
		names = append(names, tip)
	}
	// Each line has its name at its end. Names that would overlap move apart.
	slices.SortStableFunc(names, func(a, b name) int { return int(math.Copysign(1, a.from.y-b.from.y)) })
	at := top - 4
	for i := range names {
		names[i].y = max(names[i].y, at)
		at = names[i].y + labelHeight
	}
	limit := base
	for i := len(names) - 1; i >= 0; i-- {
		names[i].y = min(names[i].y, limit)
		limit = names[i].y - labelHeight
	}
	for _, n := range names {
		s.polyline([]point{{n.from.x + 6, n.from.y}, {left + plotWidth + 4, n.y}, {left + plotWidth + 18, n.y}}, colours[n.scheduler], 0.75)
		s.rect(left+plotWidth+18, n.y-1.25, 8, 2.5, colours[n.scheduler], "")
		s.text(left+plotWidth+31, n.y+4.5, fmt.Sprintf("%s  %s", n.scheduler, tickText(float64(n.copies))),
			textStyle{size: size, colour: inkColour, bold: n.scheduler == "bitsched"})
	}
	return s.bytes()
}

// logTicks returns round values around least to most, both at least 1: powers of
// ten, and between them 2 and 5 times these where there would be few.
func logTicks(least, most float64) []float64 {
	fits := func(steps []float64) []float64 {
		var t []float64
		for unit := math.Pow(10, math.Floor(math.Log10(least))); ; unit *= 10 {
			for _, m := range steps {
				v := m * unit
				if v <= least*1.0001 {
					t = t[:0] // a lower start would only leave space below
				}
				t = append(t, v)
				if v >= most*0.9999 && len(t) > 1 {
					return t
				}
			}
		}
	}
	if t := fits([]float64{1}); len(t) > 4 {
		return t
	}
	return fits([]float64{1, 2, 5})
}
