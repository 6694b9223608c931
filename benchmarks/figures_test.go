package benchmarks

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

// shape is an element of an SVG file.
type shape struct {
	name  string
	attrs map[string]string
	hint  string // text of its title
	text  string
}

func (s shape) num(t *testing.T, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s.attrs[name], 64)
	require.NoError(t, err, "%s of %v", name, s)
	require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "%s of %v", name, s)
	return v
}

// shapes reads an SVG file with a strict parser, and checks that nothing lies
// outside of it.
func shapes(t *testing.T, svg []byte) []shape {
	t.Helper()
	var all []shape
	var open []int // indices of the open elements
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			s := shape{name: e.Name.Local, attrs: map[string]string{}}
			for _, a := range e.Attr {
				s.attrs[a.Name.Local] = a.Value
			}
			open = append(open, len(all))
			all = append(all, s)
		case xml.EndElement:
			i := open[len(open)-1]
			open = open[:len(open)-1]
			if all[i].name == "title" {
				all[open[len(open)-1]].hint = all[i].text
			}
		case xml.CharData:
			if len(open) > 0 {
				all[open[len(open)-1]].text += string(e)
			}
		}
	}
	require.Empty(t, open)
	require.Equal(t, "svg", all[0].name)
	width, height := all[0].num(t, "width"), all[0].num(t, "height")
	inside := func(s shape, x, y float64) {
		require.True(t, x >= 0 && x <= width && y >= 0 && y <= height, "%v is outside of %g x %g", s, width, height)
	}
	for _, s := range all[1:] {
		switch s.name {
		case "rect":
			if s.attrs["width"] != "100%" {
				x, y := s.num(t, "x"), s.num(t, "y")
				require.GreaterOrEqual(t, s.num(t, "height"), 0.0)
				inside(s, x, y)
				inside(s, x+s.num(t, "width"), y+s.num(t, "height"))
			}
		case "circle":
			inside(s, s.num(t, "cx"), s.num(t, "cy"))
		case "line":
			inside(s, s.num(t, "x1"), s.num(t, "y1"))
			inside(s, s.num(t, "x2"), s.num(t, "y2"))
		case "text":
			x, y, w := s.num(t, "x"), s.num(t, "y"), textWidth(s.text, s.num(t, "font-size"))
			switch _, turned := s.attrs["transform"]; {
			case turned:
				inside(s, x, y)
			case s.attrs["text-anchor"] == "middle":
				inside(s, x-w/2, y)
				inside(s, x+w/2, y)
			case s.attrs["text-anchor"] == "end":
				inside(s, x-w, y)
			default:
				inside(s, x, y)
				inside(s, x+w, y)
			}
		}
	}
	return all
}

func hinted(t *testing.T, all []shape, hint string) shape {
	t.Helper()
	for _, s := range all[1:] {
		if s.hint == hint {
			return s
		}
	}
	require.Fail(t, "no shape", hint)
	return shape{}
}

func texts(all []shape) (list []string) {
	for _, s := range all {
		if s.name == "text" {
			list = append(list, s.text)
		}
	}
	return list
}

func figure(t *testing.T, c *Comparison, file string) []shape {
	t.Helper()
	for _, f := range c.Figures() {
		if f.File == file {
			return shapes(t, f.SVG)
		}
	}
	require.Fail(t, "no figure", file)
	return nil
}

func TestFigure2(t *testing.T) {
	c := fake()
	all := figure(t, c, "fig2.svg")
	// 100 copies and 199 gates.
	computes := hinted(t, all, "int2float, masim: 199 computes, energy 199.0")
	copies := hinted(t, all, "int2float, masim: 100 copies, energy 187.0")
	require.InDelta(t, 187.0/199, copies.num(t, "height")/computes.num(t, "height"), 0.001)
	require.InDelta(t, computes.num(t, "y"), copies.num(t, "y")+copies.num(t, "height"), 0.011, "stacked")
	require.Equal(t, computes.num(t, "height"), hinted(t, all, "one, star: 20 computes, energy 20.0").num(t, "height"))
	require.Contains(t, texts(all), "48%") // 187/386
	require.Contains(t, texts(all), "–", "star has nothing on dec")
	require.NotContains(t, texts(all), "masim-noimpr", "a variant")

	// Where the circuits of the paper's figure are there, only these are shown.
	c.Rows[1].Name = "div"
	all = figure(t, c, "fig2.svg")
	require.Contains(t, texts(all), "div")
	require.NotContains(t, texts(all), "int2float")
}

func TestFigure8(t *testing.T) {
	c := fake()
	all := figure(t, c, "fig8.svg")
	star := hinted(t, all, "int2float, star: 1.000 (energy 573.0, 200 copies)")
	masim := hinted(t, all, "int2float, masim: 0.674 (energy 386.0, 100 copies)")
	require.InDelta(t, 386.0/573, masim.num(t, "height")/star.num(t, "height"), 0.001)
	// cbrt of 386/573, 21.96/21.96 and 27.48/49.92
	mean := hinted(t, all, "geometric mean, masim: 0.718")
	require.InDelta(t, 0.7185, mean.num(t, "height")/star.num(t, "height"), 0.001)
	for _, s := range all[1:] {
		require.NotContains(t, s.hint, "geometric mean, star", "it has no result on dec")
	}
	for _, name := range []string{"int2float", "dec", "one", "geomean", "masim", "star", "bitsched"} {
		require.Contains(t, texts(all), name)
	}
}

// sizes is a circuit at three sizes of arrays.
func sizes() *Comparison {
	c := &Comparison{Schedulers: []string{"bitsched", "masim", "star", "date24", "new"}, Options: Options{Energy: sram.DefaultEnergy}}
	for i, rows := range []int{512, 128, 256} { // not in order
		r := Row{Name: "mult", File: "mult.v", Rows: rows, Gates: 1000}
		for _, copies := range [][]int{{0, 100, 50}, {1, 300, 150}, {0, 9000, 7000}, {2, 3000, 1000}, {0, 999, 999}} {
			r.Cells = append(r.Cells, Cell{Scheduler: c.Schedulers[len(r.Cells)], Status: Done, Copies: copies[i], Computes: 1000})
		}
		c.Rows = append(c.Rows, r)
	}
	return c
}

func TestFigure9(t *testing.T) {
	c := sizes()
	all := figure(t, c, "fig9-mult.svg")
	at := func(scheduler string, rows, copies int) shape {
		return hinted(t, all, fmt.Sprintf("%s, %d rows: %d copies", scheduler, rows, copies))
	}
	// The axis of copies is logarithmic: a factor of 3 is the same everywhere.
	y := func(scheduler string, rows, copies int) float64 { return at(scheduler, rows, copies).num(t, "cy") }
	require.InDelta(t, y("bitsched", 128, 100)-y("masim", 128, 300), y("date24", 128, 3000)-y("star", 128, 9000), 0.03)
	require.InDelta(t, y("bitsched", 256, 50)-y("masim", 256, 150), y("date24", 128, 3000)-y("star", 128, 9000), 0.03)
	require.Greater(t, y("bitsched", 512, 0), y("masim", 512, 1), "0 lies below 1")
	require.Equal(t, y("bitsched", 512, 0), y("star", 512, 0))
	// So is that of sizes.
	x := func(rows, copies int) float64 { return at("masim", rows, copies).num(t, "cx") }
	require.InDelta(t, x(512, 1)-x(256, 150), x(256, 150)-x(128, 300), 0.03)

	// Names at the ends of the lines do not overlap.
	var labels []float64
	for _, s := range all {
		if s.name == "text" && s.attrs["font-size"] == "12.5" {
			labels = append(labels, s.num(t, "y"))
		}
	}
	require.Len(t, labels, 5)
	slices.Sort(labels)
	for i := 1; i < len(labels); i++ {
		require.GreaterOrEqual(t, labels[i]-labels[i-1], 16.0)
	}
	for _, want := range []string{"128", "256", "512", "rows of an array", "copies", "bitsched  0", "date24  2"} {
		require.Contains(t, texts(all), want)
	}

	// A size without a result breaks the line.
	lines := func() (n int) {
		for _, s := range figure(t, c, "fig9-mult.svg") {
			if s.name == "polyline" && s.attrs["stroke-width"] == "2.25" {
				n++
			}
		}
		return n
	}
	require.Equal(t, 5, lines())
	c.Rows[2].Cells[0] = Cell{Scheduler: "bitsched", Status: Infeasible}
	require.Equal(t, 4, lines())

	// Nothing to see: no copies at any size, or one size only.
	for i := range c.Rows {
		for j := range c.Rows[i].Cells {
			c.Rows[i].Cells[j].Copies = 0
		}
	}
	for _, f := range c.Figures() {
		require.False(t, strings.HasPrefix(f.File, "fig9"), f.File)
	}
}

// Names are anything: they must not end up as markup, nor outside.
func TestFiguresNames(t *testing.T) {
	c := sizes()
	for i := range c.Rows {
		c.Rows[i].Name = `<a href="x">&]]>` + strings.Repeat("é", 50)
	}
	figs := c.Figures()
	require.Len(t, figs, 3)
	for _, f := range figs {
		all := shapes(t, f.SVG)
		require.NotContains(t, f.File, "<")
		for _, s := range all {
			require.NotEqual(t, "a", s.name)
		}
		require.True(t, slices.ContainsFunc(texts(all), func(s string) bool { return strings.Contains(s, `<a href="x">&]]>é`) }), f.File)
	}
}

func TestTicks(t *testing.T) {
	for top, want := range map[float64][]float64{
		1:    {0, 0.2, 0.4, 0.6, 0.8, 1},
		4.2:  {0, 1, 2, 3, 4, 5},
		1.1:  {0, 0.25, 0.5, 0.75, 1, 1.25},
		0:    {0, 1},
		2100: {0, 500, 1000, 1500, 2000, 2500},
	} {
		require.InDeltaSlice(t, want, ticks(top, 5), 1e-9, "%v", top)
	}
	require.Equal(t, []float64{50, 100, 200}, logTicks(60, 150))
	require.Equal(t, []float64{1, 2}, logTicks(1, 1))
	require.Equal(t, []float64{10, 20, 50, 100, 200, 500, 1000}, logTicks(19, 900))
	require.Equal(t, []float64{10, 100, 1000, 10000, 100000}, logTicks(31, 20001))
}
