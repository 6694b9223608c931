package timing

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bitsched/bitsched/internal/figure"
	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tile"
)

// footprints are bytes of all threads together: within the L1 and the L2 of their cores,
// within the L3, and beyond it. The last is bounded, so that a curve takes seconds.
func footprints(spec *machine.Spec, threads int) []uint64 {
	l1, l2, l3 := uint64(spec.Private.L1.Bytes), uint64(spec.Private.L2.Bytes), uint64(spec.Home.Bytes)*uint64(spec.Banks)
	n := uint64(threads)
	const most = 32 << 20
	list := []uint64{n * l1 / 2, n * 2 * l1, n * l2 / 2, n * 2 * l2, l3 / 2, 2 * l3}
	for i := range list {
		list[i] = max(min(list[i], most), n*16*lineBytes) &^ (lineBytes - 1)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Curves runs microbenchmarks on a machine, all or the one of a name, on each number of
// threads and over each footprint; those that share a line or meet at barriers have one.
// No footprints stand for some of each level of the machine. If the context ends, the
// points until then are returned with its error.
func Curves(ctx context.Context, m *tile.Machine, only string, threads []int, bytes []uint64, progress func(done, total int)) ([]*MicroResult, error) {
	spec, err := machine.Of(m)
	if err != nil {
		return nil, err
	}
	type point struct {
		b     Micro
		n     int
		bytes uint64
	}
	var points []point
	for _, b := range Micros() {
		if only != "" && b.Name != only {
			continue
		}
		for _, n := range threads {
			list := bytes
			if len(list) == 0 {
				list = footprints(spec, n)
			}
			if !b.Footprint {
				list = list[:1]
			}
			for _, v := range list {
				points = append(points, point{b, n, v})
			}
		}
	}
	var done []*MicroResult
	for i, p := range points {
		r, err := p.b.Run(ctx, spec, p.n, p.bytes)
		if err != nil {
			return done, err
		}
		done = append(done, r)
		if progress != nil {
			progress(i+1, len(points))
		}
	}
	return done, nil
}

// CurveFigure draws the values of microbenchmarks over footprints, a panel for each, a
// line for each number of threads. It returns nil if there is nothing to draw.
func CurveFigure(title string, points []*MicroResult) []byte {
	var names []string
	var threads []int
	for _, p := range points {
		if !slices.Contains(names, p.Micro) {
			names = append(names, p.Micro)
		}
		if !slices.Contains(threads, p.Threads) {
			threads = append(threads, p.Threads)
		}
	}
	if len(points) == 0 {
		return nil
	}
	var legend []figure.Entry
	for i, n := range threads {
		legend = append(legend, figure.Entry{Style: figure.Series(i), Text: fmt.Sprintf("%d threads", n), Shown: figure.ShownLine})
	}
	plot := figure.Plot{Width: 560, Height: 200}
	plot.Y.Ticks = []float64{0, 1}
	c := figure.New(figure.Margin+80+plot.Width+figure.Margin, 0, title, "Microbenchmarks over the bytes of all threads.")
	top := c.Legend(c.Heading(), legend)
	for _, name := range names {
		least, greatest, most, unit := math.Inf(1), 0.0, 0.0, ""
		for _, p := range points {
			if p.Micro == name {
				least, greatest, most, unit = min(least, float64(p.Bytes)), max(greatest, float64(p.Bytes)), max(most, p.Value), p.Unit
			}
		}
		p := plot
		p.Y = figure.Axis{Title: name + ", " + unit, Ticks: figure.Ticks(most, 5)}
		p.Left, p.Top = figure.Margin+p.Room(), top+8
		p.X = figure.Axis{Title: "bytes", Ticks: figure.LogTicks(least, max(greatest, 2*least)), Log: true, Inset: 8}
		p.Draw(c)
		for i, n := range threads {
			var line []figure.Point
			for _, x := range points {
				if x.Micro == name && x.Threads == n {
					at := p.At(float64(x.Bytes), x.Value)
					line = append(line, at)
					c.Mark(at, legend[i].Style, fmt.Sprintf("%s, %d threads, %d bytes: %.4g %s", name, n, x.Bytes, x.Value, unit))
				}
			}
			if len(line) > 1 {
				c.Polyline(line, legend[i].Style, 1.5)
			}
		}
		top = p.Top + p.Height + figure.PlotFoot
	}
	c.Height = top + 8
	return c.Bytes()
}
