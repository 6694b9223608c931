package benchmarks

import (
	"fmt"
	"slices"
)

// tileParts are the parts of a bar, from the bottom, as in figure 16 of Infinity
// Stream.
var tileParts = []struct {
	name, colour string
	cycles       func(t *TileTime) int64
}{
	{"DRAM", "#9aa5b1", func(t *TileTime) int64 { return t.DRAM }},
	{"lowering", "#e9a23b", func(t *TileTime) int64 { return t.JIT }},
	{"compute", "#1f77b4", func(t *TileTime) int64 { return t.Compute }},
	{"move within tiles", "#2a9d8f", func(t *TileTime) int64 { return t.Move }},
	{"move between tiles", "#d1495b", func(t *TileTime) int64 { return t.Inter }},
	{"last steps of reductions, near the memory", "#8c564b", func(t *TileTime) int64 { return t.Final }},
	{"sync, with the wait for packets", "#7b4fa3", func(t *TileTime) int64 { return t.Sync }},
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
		axis       = 46.0 // left of a panel, for its scale
		between    = 26.0
		plotHeight = 150.0
		panelHead  = 26.0
		labels     = 92.0 // under a panel, for names of shapes
		maxWidth   = 1000.0
	)
	if len(studies) == 0 {
		return nil
	}
	width := func(t *TileStudy) float64 { return axis + float64(len(t.Tiles))*(bar+gap) + gap }
	// Panels fill lines from left to right, in the order of their dimensions.
	studies = slices.Clone(studies)
	slices.SortStableFunc(studies, func(a, b *TileStudy) int { return a.Dims - b.Dims })
	type panel struct {
		study *TileStudy
		x     float64
		line  int
	}
	var panels []panel
	x, line, widest := headingX, 0, 0.0
	for _, t := range studies {
		w := width(t)
		if x > headingX && x+w > maxWidth {
			x, line = headingX, line+1
		}
		panels = append(panels, panel{t, x, line})
		widest = max(widest, x+w+headingX)
		x += w + between
	}
	s := newSVG(widest, 0, title, "Cycles, 1 is the best shape (*); the bold one is chosen. Parts share a bar in proportion.")
	s.heading()
	var entries []legendEntry
	for _, p := range tileParts {
		entries = append(entries, legendEntry{p.colour, p.name})
	}
	top := 84 + s.legend(headingX, 82, s.width-2*headingX, entries)
	s.height = top + float64(line+1)*(panelHead+plotHeight+labels)
	for _, p := range panels {
		t := p.study
		base := top + float64(p.line)*(panelHead+plotHeight+labels) + panelHead + plotHeight
		best := float64(t.Tiles[t.Best].Time())
		most := 0.0
		for i := range t.Tiles {
			most = max(most, float64(t.Tiles[i].Time())/best)
		}
		scale := ticks(most, 4)
		y := func(v float64) float64 { return base - v/scale[len(scale)-1]*plotHeight }
		left, right := p.x+axis, p.x+width(t)
		s.text(left, base-plotHeight-10, t.Kernel+", "+t.Sizes, textStyle{size: 12, colour: inkColour, bold: true})
		for _, v := range scale {
			s.line(left, y(v), right, y(v), gridColour, 1)
			s.text(left-6, y(v)+4, tickText(v), textStyle{size: 10.5, anchor: "end"})
		}
		s.line(left, base, right, base, axisColour, 1)
		for i := range t.Tiles {
			c := &t.Tiles[i]
			at := left + gap + float64(i)*(bar+gap)
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
				s.rect(at, y(to), bar, y(from)-y(to), part.colour, fmt.Sprintf("%s of %s: %s %d of %d cycles", t.Kernel, c.Tile, part.name, n, c.Time()))
				from = to
			}
			name, style := c.Tile, textStyle{size: 10.5, anchor: "end", rotate: -90}
			if i == t.Chosen {
				style.bold, style.colour = true, inkColour
			}
			if i == t.Best {
				name = "* " + name
			}
			s.text(at+bar/2+4, base+8, name, style)
		}
	}
	return s.bytes()
}
