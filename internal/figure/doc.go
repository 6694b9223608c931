// Package figure draws: plots, bars and graphs of boxes, as SVG files of one style.
//
// It is not a plotting library: it has what the figures of this project need. A
// [Canvas] takes shapes and texts, a [Plot] has axes, [Series] gives each series a
// style of its own, and a [Graph] lays out boxes and arrows.
//
//	c := figure.New(600, 400, "Copies against rows", "Fewer are better.")
//	p := figure.Plot{Left: 70, Top: c.Heading(), Width: 500, Height: 280, ...}
//	p.Draw(c)
//	c.Polyline(points, figure.Series(0), 2)
//	c.Mark(p.At(64, 12), figure.Series(0), "64 rows: 12 copies")
//	svg := c.Bytes()
//
// Invariants: equal calls give equal bytes. A drawing is well-formed whatever the
// texts are, has a white background of its own, so that it can be read on a dark
// page, and needs no other file. Series differ by more than colour: lines by dashes
// and markers, areas by hatching, so that a figure can be read in black and white
// and with any colour vision. Widths of texts are estimates from above, as it is not
// known with which font a drawing will be shown.
//
// The algorithm of graph.go is that of Sugiyama, Tagawa and Toda, "Methods for
// Visual Understanding of Hierarchical System Structures" (1981), with places
// chosen by isotonic regression. The colours are based on those of Okabe and Ito,
// "Color Universal Design" (2008).
package figure
