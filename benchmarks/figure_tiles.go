package benchmarks

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/internal/figure"
)

// tileParts are the parts of a bar, from the bottom, as in figure 16 of Infinity
// Stream. Neighbours in a bar differ in how bright they are.
var tileParts = []struct {
	name   string
	style  figure.Style
	cycles func(t *TileTime) int64
}{
	{"DRAM", figure.Style{Colour: "#b6bec7"}, func(t *TileTime) int64 { return t.DRAM }},
	{"lowering", figure.Style{Colour: "#e69f00", Hatch: figure.RisingLines}, func(t *TileTime) int64 { return t.JIT }},
	{"compute", figure.Style{Colour: "#0072b2"}, func(t *TileTime) int64 { return t.Compute }},
	{"move within tiles", figure.Style{Colour: "#7fd1b9", Hatch: figure.Dots}, func(t *TileTime) int64 { return t.Move }},
	{"move between tiles", figure.Style{Colour: "#c44500", Hatch: figure.FallingLines}, func(t *TileTime) int64 { return t.Inter }},
	{"last steps of reductions, near the memory", figure.Style{Colour: "#f3d9a4", Hatch: figure.LevelLines}, func(t *TileTime) int64 { return t.Final }},
	{"cores, and streams near the memory", figure.Style{Colour: "#5b6770", Hatch: figure.Checks}, func(t *TileTime) int64 { return t.Rest }},
	{"sync, with the wait for packets", figure.Style{Colour: "#8a4f7d"}, func(t *TileTime) int64 { return t.Sync }},
}

// TileFigure draws cycles against the shape of tiles, a panel for each study and a
// bar for each shape, in units of the best one's: figures 16 and 17 of Infinity
// Stream. It returns nil if there is nothing to draw.
//
// Banks overlap, so that the parts may add up to more than the whole; a bar has the
// height of the whole, shared out in proportion to the parts.
func TileFigure(title string, studies []*TileStudy) []byte {
	const (
		bar, gap   = 15.0, 5.0
		between    = 30.0
		plotHeight = 150.0
		panelHead  = 30.0
		headSize   = 12.0
		nameSize   = 10.5
		maxWidth   = 1000.0
	)
	if len(studies) == 0 {
		return nil
	}
	// Panels fill lines from left to right, in the order of their dimensions.
	studies = slices.Clone(studies)
	slices.SortStableFunc(studies, func(a, b *TileStudy) int { return a.Dims - b.Dims })
	type panel struct {
		study *TileStudy
		head  string
		plot  figure.Plot
		name  float64 // width of the longest name of a shape
		line  int
	}
	var panels []*panel
	room := 0.0               // left of a plot, for its scale
	wide := map[int]float64{} // of the panels of as many dimensions
	for _, t := range studies {
		best, most, name := float64(t.Tiles[t.Best].Time()), 0.0, 0.0
		for i := range t.Tiles {
			most = max(most, float64(t.Tiles[i].Time())/best)
			name = max(name, figure.TextWidth("* "+t.Tiles[i].Tile, nameSize, true))
		}
		p := &panel{study: t, head: t.Kernel + ", " + t.Sizes}
		p.plot = figure.Plot{Height: plotHeight, Width: float64(len(t.Tiles))*(bar+gap) + gap, Y: figure.Axis{Title: "cycles / best", Ticks: figure.Ticks(most, 4)}}
		p.name = name
		panels = append(panels, p)
		room = max(room, p.plot.Room())
		wide[t.Dims] = max(wide[t.Dims], p.plot.Width, figure.TextWidth(p.head, headSize, true))
	}
	feet := []float64{0} // room for the names of shapes, for each line of panels
	x, widest := figure.Margin, 0.0
	for _, p := range panels {
		w := room + wide[p.study.Dims]
		if x > figure.Margin && x+w > maxWidth {
			x = figure.Margin
			feet = append(feet, 0)
		}
		p.plot.Left, p.line = x+room, len(feet)-1
		feet[p.line] = max(feet[p.line], p.name+24)
		widest = max(widest, x+w+figure.Margin)
		x += w + between
	}
	s := figure.New(max(widest, 480), 0, title, "Cycles, 1 is the best shape (*); the bold one is chosen. The parts that overlap in time share a bar in proportion.")
	var entries []figure.Entry
	for _, p := range tileParts {
		entries = append(entries, figure.Entry{Style: p.style, Text: p.name})
	}
	tops := []float64{s.Legend(s.Heading(), entries) - 8}
	for _, foot := range feet {
		tops = append(tops, tops[len(tops)-1]+panelHead+plotHeight+foot)
	}
	s.Height = tops[len(tops)-1]
	for _, p := range panels {
		t := p.study
		best := float64(t.Tiles[t.Best].Time())
		p.plot.Top = tops[p.line] + panelHead
		base := p.plot.Top + plotHeight
		s.Text(p.plot.Left, p.plot.Top-10, p.head, figure.TextStyle{Size: headSize, Colour: figure.Ink, Bold: true})
		p.plot.Draw(s)
		for i := range t.Tiles {
			c := &t.Tiles[i]
			at := p.plot.Left + gap + float64(i)*(bar+gap)
			sum := int64(0)
			for _, part := range tileParts {
				sum += part.cycles(c)
			}
			from := 0.0
			for _, part := range tileParts {
				n := part.cycles(c)
				if n == 0 {
					continue
				}
				to := from + float64(n)/float64(sum)*float64(c.Time())/best
				s.Bar(at, p.plot.AtY(to), bar, p.plot.AtY(from)-p.plot.AtY(to), part.style, fmt.Sprintf("%s of %s: %s %d of %d cycles", t.Kernel, c.Tile, part.name, n, c.Time()))
				from = to
			}
			name, style := c.Tile, figure.TextStyle{Size: nameSize, Anchor: figure.End, Rotate: -90}
			if i == t.Chosen {
				style.Bold, style.Colour = true, figure.Ink
			}
			if i == t.Best {
				name = "* " + name
			}
			s.Text(at+bar/2+4, base+8, name, style)
		}
	}
	return s.Bytes()
}
