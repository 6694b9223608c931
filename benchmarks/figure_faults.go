package benchmarks

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bitsched/bitsched/sram"
)

// FaultPoint is what a fault campaign found with one value of what was swept.
type FaultPoint struct {
	Value  float64 // a probability, or a number of stuck cells
	Report *sram.CampaignReport
}

// FaultFigure draws the error rates of a sweep against the values on logarithmic
// axes, with their confidence intervals. Rates of which no error was seen lie on
// a line of their own at the bottom; values of 0 have no place on the axis and
// are left out. It returns nil if nothing is left.
func FaultFigure(title, axis string, points []FaultPoint) []byte {
	const (
		left, top  = 84.0, 100.0
		plotWidth  = 520.0
		plotHeight = 340.0
		margin     = 30.0
		zeroHeight = 40.0 // between 0 and the least of the logarithmic scale
		cap        = 4.0  // half the width of the end of an interval
	)
	points = slices.DeleteFunc(slices.Clone(points), func(p FaultPoint) bool { return p.Value <= 0 || p.Report.Patterns == 0 })
	if len(points) == 0 {
		return nil
	}
	slices.SortStableFunc(points, func(a, b FaultPoint) int { return int(math.Copysign(1, a.Value-b.Value)) })
	series := []struct {
		legendEntry
		rate  func(r *sram.CampaignReport) sram.Rate
		shift float64 // so that intervals do not lie on each other
	}{
		{legendEntry{schedulerColours["bitsched"], "patterns with a wrong bit"}, func(r *sram.CampaignReport) sram.Rate { return r.Wrong }, -2.5},
		{legendEntry{schedulerColours["masim"], "wrong bits"}, func(r *sram.CampaignReport) sram.Rate { return r.Bits }, 2.5},
	}
	least := 1.0
	for _, p := range points {
		for _, s := range series {
			r := s.rate(p.Report)
			for _, v := range []float64{r.Low, r.Rate, r.High} {
				if v > 0 {
					least = min(least, v)
				}
			}
		}
	}
	scale := logTicks(min(least, 0.5), 1)
	xs := logTicks(points[0].Value, points[len(points)-1].Value)
	lo, hi := math.Log(scale[0]), math.Log(scale[len(scale)-1])
	base := top + plotHeight
	bottom := base - zeroHeight
	y := func(v float64) float64 {
		if v <= 0 {
			return base
		}
		return bottom - (math.Log(v)-lo)/(hi-lo)*(bottom-top)
	}
	first, last := math.Log(xs[0]), math.Log(xs[len(xs)-1])
	x := func(v float64) float64 {
		return left + margin + (math.Log(v)-first)/(last-first)*(plotWidth-2*margin)
	}

	s := newSVG(left+plotWidth+36, base+64, title, "Both axes are logarithmic above the line of 0; bars are 95 % confidence intervals.")
	s.heading()
	entries := make([]legendEntry, len(series))
	for i := range series {
		entries[i] = series[i].legendEntry
	}
	s.legend(left, 82, plotWidth, entries)
	for _, v := range append([]float64{0}, scale...) {
		s.line(left, y(v), left+plotWidth, y(v), gridColour, 1)
		s.text(left-8, y(v)+4, shortNumber(v), textStyle{size: 11, anchor: "end"})
	}
	s.line(left, base, left+plotWidth, base, axisColour, 1)
	end := math.Inf(-1) // of the last label
	for _, v := range xs {
		s.line(x(v), base, x(v), base+5, axisColour, 1)
		if name := shortNumber(v); x(v)-textWidth(name, 12)/2 > end+4 {
			s.text(x(v), base+21, name, textStyle{anchor: "middle"})
			end = x(v) + textWidth(name, 12)/2
		}
	}
	s.text(left+plotWidth/2, base+46, axis, textStyle{anchor: "middle"})
	s.text(22, top+plotHeight/2, "error rate", textStyle{anchor: "middle", rotate: -90})
	for _, c := range series {
		var line []point
		for _, p := range points {
			r := c.rate(p.Report)
			at := x(p.Value) + c.shift
			s.line(at, y(r.Low), at, y(r.High), c.colour, 1)
			s.line(at-cap, y(r.Low), at+cap, y(r.Low), c.colour, 1)
			s.line(at-cap, y(r.High), at+cap, y(r.High), c.colour, 1)
			line = append(line, point{at, y(r.Rate)})
		}
		if len(line) > 1 {
			s.polyline(line, c.colour, 2)
		}
		for i, p := range points {
			r := c.rate(p.Report)
			s.circle(line[i].x, line[i].y, 4, c.colour, fmt.Sprintf("%s at %s: %s (%s to %s)",
				c.text, shortNumber(p.Value), shortNumber(r.Rate), shortNumber(r.Low), shortNumber(r.High)))
		}
	}
	return s.bytes()
}

// shortNumber prints three digits.
func shortNumber(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
