package benchmarks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/internal/figure"
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
	points = slices.DeleteFunc(slices.Clone(points), func(p FaultPoint) bool { return p.Value <= 0 || p.Report.Patterns == 0 })
	if len(points) == 0 {
		return nil
	}
	slices.SortStableFunc(points, func(a, b FaultPoint) int { return cmp.Compare(a.Value, b.Value) })
	series := []struct {
		figure.Entry
		rate  func(r *sram.CampaignReport) sram.Rate
		shift float64 // so that intervals do not lie on each other
	}{
		{figure.Entry{Style: figure.Series(0), Text: "patterns with a wrong bit", Shown: figure.ShownLine}, func(r *sram.CampaignReport) sram.Rate { return r.Wrong }, -3},
		{figure.Entry{Style: figure.Series(1), Text: "wrong bits", Shown: figure.ShownLine}, func(r *sram.CampaignReport) sram.Rate { return r.Bits }, 3},
	}
	least := 0.5
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
	plot := figure.Plot{Width: 520, Height: 340,
		X: figure.Axis{Title: axis, Log: true, Inset: 30, Text: figure.ShortText},
		Y: figure.Axis{Title: "error rate", Ticks: figure.LogTicks(least, 1), Log: true, Zero: true, Text: figure.ShortText}}
	for _, p := range points {
		plot.X.Ticks = append(plot.X.Ticks, p.Value)
	}
	plot.X.Ticks = slices.Compact(plot.X.Ticks)
	plot.Left = figure.Margin + plot.Room()

	s := figure.New(plot.Left+plot.Width+figure.Margin, 0, title, "Both axes are logarithmic above the line of 0; bars are 95 % confidence intervals.")
	plot.Top = s.Legend(s.Heading(), []figure.Entry{series[0].Entry, series[1].Entry})
	s.Height = plot.Top + plot.Height + figure.PlotFoot
	plot.Draw(s)
	for _, c := range series {
		var line []figure.Point
		for _, p := range points {
			r := c.rate(p.Report)
			at := plot.At(p.Value, r.Rate)
			at.X += c.shift
			s.Interval(at.X, plot.AtY(r.Low), plot.AtY(r.High), c.Style.Colour)
			line = append(line, at)
		}
		if len(line) > 1 {
			s.Polyline(line, c.Style, 2)
		}
		for i, p := range points {
			r := c.rate(p.Report)
			s.Mark(line[i], c.Style, fmt.Sprintf("%s at %s: %s (%s to %s)", c.Text,
				figure.ShortText(p.Value), figure.ShortText(r.Rate), figure.ShortText(r.Low), figure.ShortText(r.High)))
		}
	}
	return s.Bytes()
}
