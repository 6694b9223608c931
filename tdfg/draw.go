package tdfg

import (
	"fmt"
	"html"
	"strings"
)

// colors has the fill of each kind of node: data blue, computation green, movement
// orange, what happens near the memory violet.
var colors = [...]string{Tensor: "#dbe9f6", Const: "#eeeeee", Compute: "#d9efdb", Convert: "#d9efdb", Move: "#fde3c8", Broadcast: "#fde3c8",
	Shrink: "#f7f7f7", Reduce: "#d9efdb", Final: "#e5dcf1", Stream: "#e5dcf1"}

// drawing is what both forms of a drawing show: boxes with lines of text, and
// arrows.
type drawing struct {
	boxes  []drawnBox
	arrows [][2]int
}

type drawnBox struct {
	lines []string
	color string
	layer int
}

// draw makes a box of each node and of each output.
func (g *Graph) draw() drawing {
	var d drawing
	for i := range g.Nodes {
		n := &g.Nodes[i]
		layer := 0
		for _, a := range n.Args {
			layer = max(layer, d.boxes[a].layer+1)
			d.arrows = append(d.arrows, [2]int{int(a), i})
		}
		d.boxes = append(d.boxes, drawnBox{[]string{g.label(n), n.Type.String() + " " + n.Domain.String()}, colors[n.Kind], layer})
	}
	for _, o := range g.Outputs {
		name := o.Scalar
		if o.Array >= 0 {
			name = g.Arrays[o.Array].Name
		}
		d.arrows = append(d.arrows, [2]int{int(o.Node), len(d.boxes)})
		d.boxes = append(d.boxes, drawnBox{[]string{name}, "#ffffff", d.boxes[o.Node].layer + 1})
	}
	return d
}

// label is the text of a node without its operands, which the arrows show.
func (g *Graph) label(n *Node) string {
	var words []string
	for _, w := range strings.Fields(g.nodeText(n)) {
		if !strings.HasPrefix(w, "%") {
			words = append(words, w)
		}
	}
	if n.Kind == Tensor {
		words = words[:2] // the domain stands below
	}
	return strings.Join(words, " ")
}

// DOT returns the graph in the language of Graphviz.
func (g *Graph) DOT() string {
	d := g.draw()
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fontsize=10];\n", g.Name)
	for i, box := range d.boxes {
		fmt.Fprintf(&b, "  n%d [label=\"%s\", fillcolor=%q];\n", i, strings.ReplaceAll(strings.Join(box.lines, `\n`), `"`, `\"`), box.color)
	}
	for _, a := range d.arrows {
		fmt.Fprintf(&b, "  n%d -> n%d;\n", a[0], a[1])
	}
	b.WriteString("}\n")
	return b.String()
}

// The measures of an SVG drawing, in its units.
const (
	boxHeight  = 36
	layerGap   = 34
	boxGap     = 14
	charWidth  = 6.2
	boxPadding = 12
	margin     = 16
)

// SVG returns the graph as a drawing: operands above what uses them.
func (g *Graph) SVG() string {
	d := g.draw()
	width := func(b drawnBox) float64 {
		n := 0
		for _, l := range b.lines {
			n = max(n, len(l))
		}
		return float64(n)*charWidth + boxPadding
	}
	layers := 0
	for _, b := range d.boxes {
		layers = max(layers, b.layer+1)
	}
	total := make([]float64, layers)
	for _, b := range d.boxes {
		total[b.layer] += width(b) + boxGap
	}
	widest := 0.0
	for _, w := range total {
		widest = max(widest, w)
	}
	// Boxes go into their layer in order, which for a graph in operand order keeps
	// most arrows short.
	x, next := make([]float64, len(d.boxes)), make([]float64, layers)
	for l := range next {
		next[l] = margin + (widest-total[l])/2
	}
	for i, b := range d.boxes {
		x[i] = next[b.layer]
		next[b.layer] += width(b) + boxGap
	}
	y := func(layer int) float64 { return margin + float64(layer)*(boxHeight+layerGap) }

	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" font-family="sans-serif" font-size="11">`+"\n",
		widest+2*margin, y(layers)-layerGap+margin)
	fmt.Fprintf(&s, "<title>%s</title>\n", html.EscapeString(g.Name))
	s.WriteString(`<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#666"/></marker></defs>` + "\n")
	s.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	for _, a := range d.arrows {
		from, to := d.boxes[a[0]], d.boxes[a[1]]
		fmt.Fprintf(&s, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#666" marker-end="url(#a)"/>`+"\n",
			x[a[0]]+width(from)/2, y(from.layer)+boxHeight, x[a[1]]+width(to)/2, y(to.layer))
	}
	for i, b := range d.boxes {
		fmt.Fprintf(&s, `<rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="5" fill="%s" stroke="#444"/>`+"\n", x[i], y(b.layer), width(b), boxHeight, b.color)
		for j, l := range b.lines {
			top := y(b.layer) + boxHeight/2 + 4 + (float64(j)-float64(len(b.lines)-1)/2)*13
			fmt.Fprintf(&s, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", x[i]+width(b)/2, top, html.EscapeString(l))
		}
	}
	s.WriteString("</svg>\n")
	return s.String()
}
