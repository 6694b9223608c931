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
	// Many curves share out over panels, in each of which the others stand behind.
	panels := max(1, (len(series)+curvesAPanel-1)/curvesAPanel)
	share := (len(series) + panels - 1) / panels
	columns := min(panels, 2)
	if panels > 1 {
		plot.Width = 460
		desc += " Grey: the curves of the other panels."
	}
	entries := make([]figure.Entry, len(series))
	for i := range series {
		entries[i] = figure.Entry{Style: figure.Series(i), Text: series[i].Name, Shown: figure.ShownLine}
	}
	pitch := figure.Margin + plot.Room() + plot.Width
	s := figure.New(float64(columns)*pitch+figure.Margin, 0, title, desc)
	top := s.Heading()
	for first := 0; first < len(series); first += share * columns {
		next := top
		var plots []figure.Plot
		for k := range columns {
			from, to := min(first+k*share, len(series)), min(first+(k+1)*share, len(series))
			if from == to {
				break
			}
			legend := slices.Clone(entries[from:to])
			if crosses {
				legend = append(legend, figure.Entry{Text: reference, Shown: figure.ShownCross})
			}
			p := plot
			p.Left = float64(k)*pitch + figure.Margin + plot.Room()
			next = max(next, s.LegendIn(p.Left-plot.Room(), pitch-figure.Margin, top, legend))
			plots = append(plots, p)
		}
		for k := range plots {
			p := &plots[k]
			p.Top = next + 4
			p.Draw(s)
			from, to := first+k*share, min(first+(k+1)*share, len(series))
			for i := range series {
				if i < from || i >= to {
					drawLatencies(s, p, &series[i], figure.Style{Colour: figure.Rule}, reference, true)
				}
			}
			for i := from; i < to; i++ {
				drawLatencies(s, p, &series[i], entries[i].Style, reference, false)
			}
		}
		top = next + 4 + plot.Height + figure.PlotFoot + between
	}
	s.Height = top - between
	return s.Bytes()
}

// between is the height between panels.
const between = 24.0

// curvesAPanel is how many curves one can tell apart when they cross.
const curvesAPanel = 8

// drawLatencies draws a curve, without its points if it stands behind.
func drawLatencies(s *figure.Canvas, plot *figure.Plot, c *LatencySeries, style figure.Style, reference string, behind bool) {
	points := slices.SortedStableFunc(slices.Values(c.Points), func(a, b LatencyPoint) int { return cmp.Compare(a.Load, b.Load) })
	var line []figure.Point
	for _, p := range points {
		line = append(line, plot.At(p.Load, p.Latency))
		if p.Margin > 0 && !behind {
			// An interval may reach below what there is of the scale.
			s.Interval(plot.AtX(p.Load), plot.AtY(max(p.Latency-p.Margin, plot.Y.Ticks[0])), plot.AtY(p.Latency+p.Margin), style.Colour)
		}
	}
	if behind {
		if len(line) > 1 {
			s.Polyline(line, style, 0.75)
		}
		return
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
