package figure

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/internal/figuretest"
)

func TestTicks(t *testing.T) {
	for top, want := range map[float64][]float64{
		1:    {0, 0.2, 0.4, 0.6, 0.8, 1},
		4.2:  {0, 1, 2, 3, 4, 5},
		1.1:  {0, 0.25, 0.5, 0.75, 1, 1.25},
		0:    {0, 1},
		2100: {0, 500, 1000, 1500, 2000, 2500},
	} {
		require.InDeltaSlice(t, want, Ticks(top, 5), 1e-9, "%v", top)
	}
	require.Equal(t, []float64{0, 1}, Ticks(math.Inf(1), 5))
	require.Equal(t, []float64{0, 1}, Ticks(math.NaN(), 5))
	require.Equal(t, []float64{50, 100, 200}, LogTicks(60, 150))
	require.Equal(t, []float64{1, 2}, LogTicks(1, 1))
	require.Equal(t, []float64{10, 20, 50, 100, 200, 500, 1000}, LogTicks(19, 900))
	require.Equal(t, []float64{10, 100, 1000, 10000, 100000}, LogTicks(31, 20001))
	require.Equal(t, LogTicks(1e-307, 1e-307), LogTicks(5e-324, 1e-309), "subnormal")
	require.InDeltaSlice(t, []float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1}, LogTicks(2.9e-6, 1), 1e-12)
}

// TestPlaces puts values on axes by hand.
func TestPlaces(t *testing.T) {
	linear := Axis{Ticks: []float64{0, 5, 10}, Inset: 10}
	require.InDelta(t, 10, linear.place(0, 120), 1e-9)
	require.InDelta(t, 60, linear.place(5, 120), 1e-9)
	require.InDelta(t, 110, linear.place(10, 120), 1e-9)
	log := Axis{Ticks: []float64{1, 10, 100}, Log: true, Zero: true}
	require.InDelta(t, 0, log.place(0, 140), 1e-9)
	require.InDelta(t, 40, log.place(1, 140), 1e-9)
	require.InDelta(t, 90, log.place(10, 140), 1e-9)
	require.InDelta(t, 140, log.place(100, 140), 1e-9)
	one := Axis{Ticks: []float64{7}, Log: true}
	require.InDelta(t, 50, one.place(7, 100), 1e-9)
	p := Plot{Left: 100, Top: 20, Width: 120, Height: 140, X: linear, Y: log}
	require.InDelta(t, 160, p.At(5, 10).X, 1e-9)
	require.InDelta(t, 70, p.At(5, 10).Y, 1e-9, "y grows downwards")
}

// TestPlot: whatever the data are, they lie within the axes, nothing leaves the
// drawing, and no two texts overlap, in any font as wide as that of the test.
func TestPlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := func(name string, n int) []float64 {
			return rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1), rapid.Float64Range(0, 1e9), rapid.Float64Range(0, 1e-9), rapid.Float64Range(0, 1e-306), rapid.Just(0.0)), n, n).Draw(t, name)
		}
		n := rapid.IntRange(1, 12).Draw(t, "n")
		xs, ys := values("x", n), values("y", n)
		top := func(v []float64) (least, most float64) {
			least, most = 1, 0
			for _, x := range v {
				most = max(most, x)
				if x > 0 {
					least = min(least, x)
				}
			}
			return least, max(most, least)
		}
		axis := func(name string, v []float64, n int) Axis {
			least, most := top(v)
			if rapid.Bool().Draw(t, name+" logarithmic") {
				return Axis{Title: name + " of something, unit", Ticks: LogTicks(least, most), Log: true, Zero: true, Text: ShortText}
			}
			return Axis{Title: name + " of something, unit", Ticks: Ticks(most, n), Text: ShortText}
		}
		p := Plot{Width: 400, Height: 300, X: axis("x", xs, 8), Y: axis("y", ys, 6)}
		p.Left = Margin + p.Room()
		c := New(p.Left+p.Width+2*Margin, 0, "A title", strings.Repeat("some words ", rapid.IntRange(0, 40).Draw(t, "words")))
		var entries []Entry
		for i := range rapid.IntRange(0, 20).Draw(t, "entries") {
			entries = append(entries, Entry{Style: Series(i), Text: rapid.SampledFrom([]string{"a", "middling", "rather a long name of a series"}).Draw(t, "entry"), Shown: Shown(i % 3)})
		}
		p.Top = c.Heading()
		if len(entries) > 0 {
			p.Top = c.Legend(p.Top, entries)
		}
		c.Height = p.Top + p.Height + PlotFoot
		p.Draw(c)
		for i := range xs {
			at := p.At(xs[i], ys[i])
			require.True(t, at.X >= p.Left-0.1 && at.X <= p.Left+p.Width+0.1, "%g at %g", xs[i], at.X)
			require.True(t, at.Y >= p.Top-0.1 && at.Y <= p.Top+p.Height+0.1, "%g at %g", ys[i], at.Y)
			for j := range xs {
				require.False(t, xs[i] < xs[j] && p.AtX(xs[i]) > p.AtX(xs[j])+1e-9, "in order")
			}
			c.Mark(at, Series(0), "")
		}
		figuretest.Read(t, c.Bytes())
	})
}

// TestTextIsNoMarkup: texts are anything, and do not get out of their elements.
func TestTextIsNoMarkup(t *testing.T) {
	nasty := "<a href=\"x\">&amp;]]>'\x00\x1b\xff\n\u202e"
	c := New(600, 200, nasty, nasty)
	c.Heading()
	c.Legend(100, []Entry{{Text: nasty}})
	c.Bar(30, 120, 10, 10, Style{Colour: "#ff0000"}, nasty)
	c.Line(30, 30, 40, 40, nasty, 1)
	c.Text(50, 150, nasty, TextStyle{})
	for _, s := range figuretest.Read(t, c.Bytes()) {
		require.NotEqual(t, "a", s.Name)
	}
}
