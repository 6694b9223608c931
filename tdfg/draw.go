package tdfg

import (
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/internal/figure"
)

// looks has the fill of each kind of node, and what a legend calls it.
var looks = [...]struct{ colour, name string }{
	Tensor:    {"#cfe3f5", "data"},
	Const:     {"#ececec", "constant"},
	Compute:   {"#d3edd6", "computation"},
	Convert:   {"#d3edd6", "computation"},
	Reduce:    {"#d3edd6", "computation"},
	Move:      {"#fbdcb4", "movement"},
	Broadcast: {"#fbdcb4", "movement"},
	Shrink:    {"#f8f4e6", "part"},
	Final:     {"#e2d3ee", "near the memory"},
	Stream:    {"#e2d3ee", "near the memory"},
}

const (
	resultColour = "#ffffff"
	dot          = "·" // an operand that an arrow brings
)

// drawing makes a box of each output and of each node, except constants: these
// stand in the boxes of what uses them, or their arrows would go everywhere.
func (g *Graph) drawing(linked bool) *figure.Graph {
	d := &figure.Graph{Title: g.Name, Desc: "Operands stand above what uses them. Each box has the type and the domain of its result, dimension 0 first."}
	shown := make([]bool, len(g.Nodes)) // constants that are results
	for _, o := range g.Outputs {
		shown[o.Node] = true
	}
	box := make([]int, len(g.Nodes))
	entries := map[string]bool{}
	add := func(colour, name string, b figure.Box) int {
		if !entries[name] {
			entries[name] = true
			d.Legend = append(d.Legend, figure.Entry{Style: figure.Style{Colour: colour}, Text: name})
		}
		b.Colour = colour
		for i, l := range b.Lines {
			if short := figure.Shorten(l, 60); short != l {
				b.Lines[i], b.Hint = short, strings.TrimPrefix(b.Hint+"\n"+l, "\n")
			}
		}
		d.Boxes = append(d.Boxes, b)
		return len(d.Boxes) - 1
	}
	dots := false
	inside := func(a NodeID) bool { return g.Nodes[a].Kind == Const && !shown[a] }
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if inside(NodeID(i)) {
			continue
		}
		look := looks[n.Kind]
		box[i] = add(look.colour, look.name, figure.Box{
			Lines: []string{g.label(n, inside), n.Type.String() + " " + n.Domain.String()}, Ordered: n.Kind == Stream || n.Kind == Compute && !n.Op.Commutative(),
		})
		dots = dots || strings.Contains(d.Boxes[box[i]].Lines[0], dot)
		if linked {
			d.Boxes[box[i]].Line = n.Line
		}
		for _, a := range n.Args {
			if !inside(a) {
				d.Arrows = append(d.Arrows, figure.Arrow{From: box[a], To: box[i]})
			}
		}
	}
	for _, o := range g.Outputs {
		name := o.Scalar
		if o.Array >= 0 {
			name = g.Arrays[o.Array].Name
		}
		to := add(resultColour, "result", figure.Box{Lines: []string{name}})
		d.Arrows = append(d.Arrows, figure.Arrow{From: box[o.Node], To: to})
	}
	if dots {
		d.Desc += " A dot stands for the value of an arrow, from left to right."
	}
	return d
}

// label is the text of a node with the constants among its operands, and a dot for
// each of the others where there are constants.
func (g *Graph) label(n *Node, inside func(NodeID) bool) string {
	operand := func(a NodeID) string {
		if inside(a) {
			return g.constLabel(&g.Nodes[a])
		}
		return dot
	}
	constants := false
	var operands []string
	for _, a := range n.Args {
		constants = constants || inside(a)
		operands = append(operands, operand(a))
	}
	words := strings.Fields(g.nodeText(n))
	switch n.Kind {
	case Tensor:
		return strings.Join(words[:2], " ") // the domain stands below
	case Const:
		return strings.Join(words, " ")
	case Stream:
		words = words[:len(words)-len(n.Args)]
		for i, a := range n.Args {
			words = append(words, n.Stream.Args[i]+"="+operand(a))
		}
		return strings.Join(words, " ")
	}
	var kept []string
	for _, w := range words {
		if !strings.HasPrefix(w, "%") {
			kept = append(kept, w)
		}
	}
	text := strings.Join(kept, " ")
	if constants {
		text += "(" + strings.Join(operands, ", ") + ")"
	}
	return text
}

// constLabel is the value of a constant.
func (g *Graph) constLabel(n *Node) string {
	switch {
	case n.Param != "":
		return n.Param
	case n.Index != nil:
		return n.Index.String()
	}
	return constText(n.Type, n.Value)
}

// DOT returns the graph in the language of Graphviz.
func (g *Graph) DOT() string {
	d := g.drawing(false)
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fontsize=10];\n", figure.QuoteDOT(g.Name))
	for i, box := range d.Boxes {
		ordered := ""
		if box.Ordered {
			ordered = ", ordering=in"
		}
		fmt.Fprintf(&b, "  n%d [label=%s, fillcolor=%q%s];\n", i, figure.QuoteDOT(strings.Join(box.Lines, "\n")), box.Colour, ordered)
	}
	for _, a := range d.Arrows {
		fmt.Fprintf(&b, "  n%d -> n%d;\n", a.From, a.To)
	}
	b.WriteString("}\n")
	return b.String()
}

// SVG returns the graph as a drawing: operands above what uses them.
func (g *Graph) SVG() string { return string(g.drawing(false).SVG()) }

// LinkedSVG is SVG whose boxes say which line of the source they are of.
func (g *Graph) LinkedSVG() []byte { return g.drawing(true).SVG() }
