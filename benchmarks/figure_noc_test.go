package benchmarks

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/figuretest"
)

// TestLatencyFigure reads the drawing back: a point for each load, higher for a
// higher latency, a cross for each reference where its latency is.
func TestLatencyFigure(t *testing.T) {
	series := []LatencySeries{
		{"uniform <1>", []LatencyPoint{{0.3, 40, 2}, {0.1, 30, 1}}, []LatencyPoint{{0.3, 40, 0}}},
		{"neighbor", []LatencyPoint{{0.1, 20, 0}}, nil},
	}
	svg := LatencyFigure("title", "others.csv", series)
	require.Equal(t, svg, LatencyFigure("title", "others.csv", series))
	all := figuretest.Read(t, svg)
	at := func(hint string) (x, y float64) {
		x, y, ok := figuretest.Hinted(t, all, hint).Mark(t)
		require.True(t, ok)
		return x, y
	}
	x1, y1 := at("uniform <1> at 0.1: 30.00 cycles")
	x2, y2 := at("uniform <1> at 0.3: 40.00 cycles")
	x3, y3 := at("neighbor at 0.1: 20.00 cycles")
	x4, y4 := at("uniform <1>, others.csv at 0.3: 40.00 cycles")
	require.Equal(t, x1, x3)
	require.InDelta(t, y3-y1, y1-y2, 0.02, "a linear scale")
	require.Greater(t, y3, y1)
	require.Equal(t, []float64{x2, y2}, []float64{x4, y4})
	// Loads begin at 0: that of 0.3 is three times as far.
	zero := x1 - (x2-x1)/2
	require.True(t, slices.ContainsFunc(all, func(s figuretest.Shape) bool {
		return s.Name == "text" && s.Text == "0" && s.Attrs["text-anchor"] == "middle" && abs(s.Num(t, "x")-zero) < 0.02
	}))
	// An interval is as long as its margin: 2 cycles of 10 between the points.
	require.True(t, slices.ContainsFunc(all, func(s figuretest.Shape) bool {
		return s.Name == "line" && s.Attrs["x1"] == s.Attrs["x2"] && s.Num(t, "x1") == x2 && abs(abs(s.Num(t, "y1")-s.Num(t, "y2"))-0.4*(y1-y2)) < 0.03
	}))
	require.Contains(t, figuretest.Texts(all), "others.csv")
	require.NotContains(t, figuretest.Texts(figuretest.Read(t, LatencyFigure("t", "others.csv", series[1:]))), "others.csv")
	require.Nil(t, LatencyFigure("t", "", nil))
}

func abs(v float64) float64 { return max(v, -v) }

// TestLatencyFigureSteep: a full mesh does not press all other latencies flat.
func TestLatencyFigureSteep(t *testing.T) {
	all := figuretest.Read(t, LatencyFigure("title", "", []LatencySeries{{"a", []LatencyPoint{{0.1, 20, 0}, {0.5, 200, 190}, {0.9, 2000, 5000}}, nil}}))
	var y []float64
	for _, load := range []string{"0.1: 20", "0.5: 200", "0.9: 2000"} {
		_, at, _ := figuretest.Hinted(t, all, "a at "+load+".00 cycles").Mark(t)
		y = append(y, at)
	}
	require.InDelta(t, y[0]-y[1], y[1]-y[2], 0.02, "logarithmic")
	require.Greater(t, y[0]-y[1], 50.0)
}

// TestLatencyFigureMany: legends of many series and long names stay readable.
func TestLatencyFigureMany(t *testing.T) {
	for _, n := range []int{1, 5, 30} {
		var series []LatencySeries
		for i := range n {
			series = append(series, LatencySeries{fmt.Sprintf("pattern number %d, %d flits", i, i*i), []LatencyPoint{{0.1, float64(10 + i), 1}, {0.2, float64(12 + i), 1}}, nil})
		}
		all := figuretest.Read(t, LatencyFigure("a title", "", series))
		// Each has its point once, its name once, and in all panels the same scale.
		scale := map[string]float64{}
		for i := range series {
			hint := fmt.Sprintf("%s at 0.1: %d.00 cycles", series[i].Name, 10+i)
			marks := 0
			for _, s := range all[1:] {
				if s.Hint == hint {
					marks++
				}
			}
			require.Equal(t, 1, marks, hint)
			names := 0
			for _, text := range figuretest.Texts(all) {
				if text == series[i].Name {
					names++
				}
			}
			require.Equal(t, 1, names, series[i].Name)
		}
		for _, s := range all {
			if s.Name == "line" && s.Attrs["x1"] == s.Attrs["x2"] && s.Attrs["stroke-width"] == "1" && s.Attrs["stroke"] != "#9aa5b1" {
				length := fmt.Sprintf("%.0f", s.Num(t, "y2")-s.Num(t, "y1"))
				scale[length]++
			}
		}
		require.Len(t, scale, 1, "all intervals are as long")
	}
}
