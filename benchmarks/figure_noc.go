package benchmarks

import (
	"fmt"
	"slices"
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

// seriesColours tell the curves of a LatencyFigure apart.
var seriesColours = []string{"#1f77b4", "#d1495b", "#2a9d8f", "#e9a23b", "#7b4fa3", "#5f6b76", "#8c564b", "#c2559d", "#4f7d2a"}

// LatencyFigure draws latencies against the load, a curve for each series, with
// the references as crosses. It returns nil if there is nothing to draw.
func LatencyFigure(title, reference string, series []LatencySeries) []byte {
	const (
		left       = 70.0
		plotWidth  = 640.0
		plotHeight = 340.0
		cross      = 4.5
		bar        = 3.0 // half the width of the end of an interval
	)
	var maxLoad, maxLatency float64
	crosses := false
	for _, s := range series {
		for _, p := range slices.Concat(s.Points, s.Reference) {
			maxLoad, maxLatency = max(maxLoad, p.Load), max(maxLatency, p.Latency+p.Margin)
		}
		crosses = crosses || len(s.Reference) > 0
	}
	if maxLoad == 0 {
		return nil
	}
	desc := "Mean from source queue to ejection of the last flit; bars are 95 % intervals"
	if crosses {
		desc += ", crosses " + reference
	}
	desc += "."
	s := newSVG(left+plotWidth+30, 0, title, desc)
	s.heading()
	var entries []legendEntry
	for i := range series {
		entries = append(entries, legendEntry{seriesColours[i%len(seriesColours)], series[i].Name})
	}
	top := 86 + s.legend(headingX, 82, s.width-2*headingX, entries) + 4
	base := top + plotHeight
	s.height = base + 60
	loads, latencies := ticks(maxLoad, 8), ticks(maxLatency, 8)
	x := func(v float64) float64 { return left + v/loads[len(loads)-1]*plotWidth }
	y := func(v float64) float64 { return base - v/latencies[len(latencies)-1]*plotHeight }
	for _, v := range latencies {
		s.line(left, y(v), left+plotWidth, y(v), gridColour, 1)
		s.text(left-8, y(v)+4, tickText(v), textStyle{size: 11, anchor: "end"})
	}
	s.line(left, base, left+plotWidth, base, axisColour, 1)
	for _, v := range loads {
		s.line(x(v), base, x(v), base+5, axisColour, 1)
		s.text(x(v), base+20, tickText(v), textStyle{size: 11, anchor: "middle"})
	}
	s.text(left+plotWidth/2, base+44, "load, flits per node and cycle", textStyle{anchor: "middle"})
	s.text(20, top+plotHeight/2, "packet latency, cycles", textStyle{anchor: "middle", rotate: -90})
	for i, c := range series {
		colour := entries[i].colour
		points := slices.SortedStableFunc(slices.Values(c.Points), func(a, b LatencyPoint) int {
			if a.Load < b.Load {
				return -1
			}
			return 1
		})
		var line []point
		for _, p := range points {
			line = append(line, point{x(p.Load), y(p.Latency)})
			if p.Margin > 0 {
				low, high := y(p.Latency-p.Margin), y(p.Latency+p.Margin)
				s.line(x(p.Load), low, x(p.Load), high, colour, 1)
				s.line(x(p.Load)-bar, low, x(p.Load)+bar, low, colour, 1)
				s.line(x(p.Load)-bar, high, x(p.Load)+bar, high, colour, 1)
			}
		}
		if len(line) > 1 {
			s.polyline(line, colour, 2)
		}
		for j, p := range points {
			s.circle(line[j].x, line[j].y, 3.5, colour, fmt.Sprintf("%s at %s: %.2f cycles", c.Name, tickText(p.Load), p.Latency))
		}
		for _, p := range c.Reference {
			px, py := x(p.Load), y(p.Latency)
			s.line(px-cross, py-cross, px+cross, py+cross, inkColour, 1.5)
			s.line(px-cross, py+cross, px+cross, py-cross, inkColour, 1.5)
		}
	}
	return s.bytes()
}
