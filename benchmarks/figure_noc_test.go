package benchmarks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLatencyFigure reads the drawing back: a point for each load, higher for a
// higher latency, two strokes for each reference where its latency is.
func TestLatencyFigure(t *testing.T) {
	series := []LatencySeries{
		{"uniform <1>", []LatencyPoint{{0.3, 40, 2}, {0.1, 30, 1}}, []LatencyPoint{{0.3, 40, 0}}},
		{"neighbor", []LatencyPoint{{0.1, 20, 0}}, nil},
	}
	svg := LatencyFigure("title", "of others", series)
	require.Equal(t, svg, LatencyFigure("title", "of others", series))
	var points, strokes []shape
	for _, s := range shapes(t, svg) {
		switch {
		case s.name == "circle":
			points = append(points, s)
		case s.name == "line" && s.num(t, "x1") != s.num(t, "x2") && s.num(t, "y1") != s.num(t, "y2"):
			strokes = append(strokes, s)
		}
	}
	require.Len(t, points, 3)
	require.Equal(t, "uniform <1> at 0.1: 30.00 cycles", points[0].hint, "sorted by load")
	require.Greater(t, points[1].num(t, "cx"), points[0].num(t, "cx"))
	require.Less(t, points[1].num(t, "cy"), points[0].num(t, "cy"))
	require.Equal(t, points[0].num(t, "cx"), points[2].num(t, "cx"))
	require.Greater(t, points[2].num(t, "cy"), points[0].num(t, "cy"))
	require.Len(t, strokes, 2, "one cross")
	for _, s := range strokes {
		require.InDelta(t, points[1].num(t, "cx"), (s.num(t, "x1")+s.num(t, "x2"))/2, 0.02)
		require.InDelta(t, points[1].num(t, "cy"), (s.num(t, "y1")+s.num(t, "y2"))/2, 0.02)
	}
	require.Contains(t, string(svg), "crosses of others.")
	require.False(t, strings.Contains(string(LatencyFigure("t", "", series[1:])), "crosses"))
	require.Nil(t, LatencyFigure("t", "", nil))
}
