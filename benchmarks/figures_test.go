package benchmarks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/figuretest"
	"github.com/bitsched/bitsched/sram"
)

func drawn(t *testing.T, c *Comparison, file string) []figuretest.Shape {
	t.Helper()
	for _, f := range c.Figures() {
		if f.File == file {
			return figuretest.Read(t, f.SVG)
		}
	}
	require.Fail(t, "no figure", file)
	return nil
}

func TestFigure2(t *testing.T) {
	c := fake()
	all := drawn(t, c, "fig2.svg")
	// 100 copies and 199 gates.
	computes := figuretest.Hinted(t, all, "int2float, masim: 199 computes, energy 199.0")
	copies := figuretest.Hinted(t, all, "int2float, masim: 100 copies, energy 187.0")
	require.InDelta(t, 187.0/199, copies.Num(t, "height")/computes.Num(t, "height"), 0.001)
	require.InDelta(t, computes.Num(t, "y"), copies.Num(t, "y")+copies.Num(t, "height"), 0.011, "stacked")
	require.Equal(t, computes.Num(t, "height"), figuretest.Hinted(t, all, "one, star: 20 computes, energy 20.0").Num(t, "height"))
	require.Contains(t, figuretest.Texts(all), "48%") // 187/386
	require.Contains(t, figuretest.Texts(all), "–", "star has nothing on dec")
	require.NotContains(t, figuretest.Texts(all), "masim-noimpr", "a variant")

	// Where the circuits of the paper's figure are there, only these are shown.
	c.Rows[1].Name = "div"
	all = drawn(t, c, "fig2.svg")
	require.Contains(t, figuretest.Texts(all), "div")
	require.NotContains(t, figuretest.Texts(all), "int2float")
}

func TestFigure8(t *testing.T) {
	c := fake()
	all := drawn(t, c, "fig8.svg")
	star := figuretest.Hinted(t, all, "int2float, star: 1.000 (energy 573.0, 200 copies)")
	masim := figuretest.Hinted(t, all, "int2float, masim: 0.674 (energy 386.0, 100 copies)")
	require.InDelta(t, 386.0/573, masim.Num(t, "height")/star.Num(t, "height"), 0.001)
	// cbrt of 386/573, 21.96/21.96 and 27.48/49.92
	mean := figuretest.Hinted(t, all, "geometric mean, masim: 0.718")
	require.InDelta(t, 0.7185, mean.Num(t, "height")/star.Num(t, "height"), 0.001)
	for _, s := range all[1:] {
		require.NotContains(t, s.Hint, "geometric mean, star", "it has no result on dec")
	}
	for _, name := range []string{"int2float", "dec", "one", "geomean", "masim", "star", "bitsched"} {
		require.Contains(t, figuretest.Texts(all), name)
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

// TestTablesOfSizes: every table tells the sizes of a circuit apart.
func TestTablesOfSizes(t *testing.T) {
	c := sizes()
	c.Schedulers = c.Schedulers[:2]
	tables, _ := c.Tables()
	for _, title := range []string{"Copies", "Energy: 1 x computes + 1.87 x copies", "CPU seconds of scheduling"} {
		i := slices.IndexFunc(tables, func(t Table) bool { return t.Title == title })
		require.GreaterOrEqual(t, i, 0, title)
		require.Equal(t, "rows", tables[i].Columns[1].Name)
		for j, want := range []string{"512", "128", "256"} {
			require.Equal(t, want, tables[i].Rows[j][1], title)
		}
		for _, row := range slices.Concat(tables[i].Rows, tables[i].Footer) {
			require.Len(t, row, len(tables[i].Columns), title)
		}
	}
	// Of one size each, these tables are without.
	c.Rows = c.Rows[:1]
	tables, _ = c.Tables()
	require.Equal(t, "gates", tables[slices.IndexFunc(tables, func(t Table) bool { return strings.HasPrefix(t.Title, "Energy") })].Columns[1].Name)
}

func TestFigure9(t *testing.T) {
	c := sizes()
	all := drawn(t, c, "fig9-mult.svg")
	at := func(scheduler string, rows, copies int) figuretest.Shape {
		return figuretest.Hinted(t, all, fmt.Sprintf("%s, %d rows: %d copies", scheduler, rows, copies))
	}
	// The axis of copies is logarithmic: a factor of 3 is the same everywhere.
	y := func(scheduler string, rows, copies int) float64 {
		_, y, _ := at(scheduler, rows, copies).Mark(t)
		return y
	}
	require.InDelta(t, y("bitsched", 128, 100)-y("masim", 128, 300), y("date24", 128, 3000)-y("star", 128, 9000), 0.03)
	require.InDelta(t, y("bitsched", 256, 50)-y("masim", 256, 150), y("date24", 128, 3000)-y("star", 128, 9000), 0.03)
	require.Greater(t, y("bitsched", 512, 0), y("masim", 512, 1), "0 lies below 1")
	require.Equal(t, y("bitsched", 512, 0), y("star", 512, 0))
	// So is that of sizes.
	x := func(rows, copies int) float64 { x, _, _ := at("masim", rows, copies).Mark(t); return x }
	require.InDelta(t, x(512, 1)-x(256, 150), x(256, 150)-x(128, 300), 0.03)

	// Names at the ends of the lines do not overlap.
	var labels []float64
	for _, s := range all {
		if s.Name == "text" && s.Attrs["font-size"] == "12.5" {
			labels = append(labels, s.Num(t, "y"))
		}
	}
	require.Len(t, labels, 5)
	slices.Sort(labels)
	for i := 1; i < len(labels); i++ {
		require.GreaterOrEqual(t, labels[i]-labels[i-1], 16.0)
	}
	for _, want := range []string{"128", "256", "512", "rows of an array", "copies", "bitsched: 0", "date24: 2"} {
		require.Contains(t, figuretest.Texts(all), want)
	}

	// A size without a result breaks the line.
	lines := func() (n int) {
		for _, s := range drawn(t, c, "fig9-mult.svg") {
			if s.Name == "polyline" && s.Attrs["stroke-width"] == "2" {
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
		all := figuretest.Read(t, f.SVG)
		require.NotContains(t, f.File, "<")
		for _, s := range all {
			require.NotEqual(t, "a", s.Name)
		}
		require.True(t, slices.ContainsFunc(figuretest.Texts(all), func(s string) bool { return strings.Contains(s, `<a href="x"`) && strings.Contains(s, "…éé") }), f.File)
	}
}

// TestFiguresLarge draws comparisons of all sizes: nothing leaves the figures, no
// two texts overlap, and every result has its bar.
func TestFiguresLarge(t *testing.T) {
	for _, circuits := range []int{1, 2, 16, 40} {
		for _, schedulers := range []int{2, 9} {
			c := &Comparison{Schedulers: []string{"bitsched", "masim", "gppic", "simpler", "star", "date24", "a new one", "one of a rather long name", "x"}[:schedulers], Options: Options{Energy: sram.DefaultEnergy}}
			for i := range circuits {
				r := Row{Name: fmt.Sprintf("circuit_%d_of_a_generator_of_names", i*i*i), File: fmt.Sprint(i), Rows: 64, Gates: 1000}
				for j, s := range c.Schedulers {
					copies := (i*7 + j*j*31) % 1100
					r.Cells = append(r.Cells, Cell{Scheduler: s, Status: Done, Copies: copies, Computes: 1000, Energy: 1000 + 1.87*float64(copies)})
				}
				c.Rows = append(c.Rows, r)
			}
			all := drawn(t, c, "fig8.svg")
			bars := 0
			for _, s := range all {
				if s.Name == "rect" && s.Hint != "" {
					bars++
				}
			}
			want := circuits * schedulers
			if circuits > 1 {
				want += schedulers // the mean
			}
			require.Equal(t, want, bars)
			// Numbers over the bars of the mean begin below the legend.
			legend := 0.0
			for _, s := range all {
				if s.Name == "rect" && s.Attrs["width"] == "13" && s.Attrs["height"] == "13" {
					legend = max(legend, s.Num(t, "y")+13)
				}
				if s.Attrs["transform"] != "" && s.Attrs["font-size"] == "10.5" {
					require.Less(t, legend, s.Num(t, "y")-10.5*figuretest.Width(s.Text, false))
				}
			}
			require.Positive(t, legend)
			// As high as its share of the most, wherever its line of panels is.
			most := 0.0
			for _, cell := range c.Rows[circuits-1].Cells {
				most = max(most, cell.Energy)
			}
			height := func(i int) float64 {
				cell := c.Rows[circuits-1].Cells[i]
				return figuretest.Hinted(t, all, fmt.Sprintf("%s, %s: %.3f (energy %.1f, %d copies)", shorten(c.Rows[circuits-1].Name), cell.Scheduler, cell.Energy/most, cell.Energy, cell.Copies)).Num(t, "height")
			}
			require.InDelta(t, c.Rows[circuits-1].Cells[1].Energy/c.Rows[circuits-1].Cells[0].Energy, height(1)/height(0), 0.001)
			drawn(t, c, "fig2.svg")
		}
	}
}

// TestFigure2LeavesOut: panels without any copy say nothing, unless there is no
// other.
func TestFigure2LeavesOut(t *testing.T) {
	c := fake()
	for i := range c.Rows[1].Cells {
		c.Rows[1].Cells[i].Copies = 0
	}
	all := drawn(t, c, "fig2.svg")
	require.NotContains(t, figuretest.Texts(all), "dec")
	require.Contains(t, strings.Join(figuretest.Texts(all), " "), "Without any copy, and left out: 1 of 3.")
	for i := range c.Rows {
		for j := range c.Rows[i].Cells {
			c.Rows[i].Cells[j].Copies = 0
		}
	}
	all = drawn(t, c, "fig2.svg")
	require.Contains(t, figuretest.Texts(all), "dec")
	require.NotContains(t, strings.Join(figuretest.Texts(all), " "), "left out")
}
