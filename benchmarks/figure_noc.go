package benchmarks

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bitsched/bitsched/internal/figure"
)

// LatencyPoint is a latency at a load.
type LatencyPoint struct {
	Load    float64
	Latency float64 // cycles
	Margin  float64 // half of the confidence interval
}

// LatencySeries is a curve of a LatencyFigure: what was measured, and what another
// simulator did at the same loads, if it did.
type LatencySeries struct {
	Name      string
	Points    []LatencyPoint
	Reference []LatencyPoint
}

// steep is how much higher than the least the highest latency is where a
// logarithmic scale shows more: the curves are flat until the mesh is full.
const steep = 6

// LatencyFigure draws latencies against the load, a curve for each series, with
// the references as crosses. It returns nil if there is nothing to draw.
func LatencyFigure(title, reference string, series []LatencySeries) []byte {
	var maxLoad, most float64
	least := math.Inf(1)
	crosses := false
	for _, s := range series {
		for _, p := range slices.Concat(s.Points, s.Reference) {
			maxLoad, most = max(maxLoad, p.Load), max(most, p.Latency+p.Margin)
			least = min(least, p.Latency)
		}
		crosses = crosses || len(s.Reference) > 0
	}
	if maxLoad == 0 {
		return nil
	}
	desc := "Mean from source queue to ejection of the last flit; bars are 95 % intervals."
	plot := figure.Plot{Width: 640, Height: 340,
		X: figure.Axis{Title: "load, flits per node and cycle", Ticks: figure.Ticks(maxLoad, 8)},
		Y: figure.Axis{Title: "packet latency, cycles", Ticks: figure.Ticks(most, 8)}}
	if least > 0 && most > steep*least {
		plot.Y.Ticks, plot.Y.Log = figure.LogTicks(least, most), true
		desc += " Latencies are on a logarithmic scale."
	}
	plot.Left = figure.Margin + plot.Room()
	s := figure.New(plot.Left+plot.Width+figure.Margin, 0, title, desc)
	var entries []figure.Entry
	for i := range series {
		entries = append(entries, figure.Entry{Style: figure.Series(i), Text: series[i].Name, Shown: figure.ShownLine})
	}
	if crosses {
		entries = append(entries, figure.Entry{Text: reference, Shown: figure.ShownCross})
	}
	plot.Top = s.Legend(s.Heading(), entries) + 4
	s.Height = plot.Top + plot.Height + figure.PlotFoot
	plot.Draw(s)
	for i, c := range series {
		style := entries[i].Style
		points := slices.SortedStableFunc(slices.Values(c.Points), func(a, b LatencyPoint) int { return cmp.Compare(a.Load, b.Load) })
		var line []figure.Point
		for _, p := range points {
			line = append(line, plot.At(p.Load, p.Latency))
			if p.Margin > 0 {
				// An interval may reach below what there is of the scale.
				s.Interval(plot.AtX(p.Load), plot.AtY(max(p.Latency-p.Margin, plot.Y.Ticks[0])), plot.AtY(p.Latency+p.Margin), style.Colour)
			}
		}
		if len(line) > 1 {
			s.Polyline(line, style, 2)
		}
		for j, p := range points {
			s.Mark(line[j], style, fmt.Sprintf("%s at %s: %.2f cycles", c.Name, figure.TickText(p.Load), p.Latency))
		}
		for _, p := range c.Reference {
			s.Cross(plot.At(p.Load, p.Latency), fmt.Sprintf("%s, %s at %s: %.2f cycles", c.Name, reference, figure.TickText(p.Load), p.Latency))
		}
	}
	return s.Bytes()
}
