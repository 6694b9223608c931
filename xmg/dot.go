package xmg

import (
	"bufio"
	"fmt"
	"io"

	"github.com/bitsched/bitsched/internal/figure"
)

// WriteDOT writes the graph for Graphviz, inputs at the top and outputs at the
// bottom: MAJ gates are ellipses (AND and OR too, with their sign), XOR gates
// are boxes, and complemented edges are dashed with a dot at the head. Only
// gates that an output depends on are drawn. Equal graphs give equal bytes.
// Errors are those of w.
func (g *Graph) WriteDOT(w io.Writer) error {
	b := bufio.NewWriter(w)
	live := g.liveGates()
	first := g.FirstGate()
	fmt.Fprintf(b, "digraph %s {\n", figure.QuoteDOT(g.Name))
	b.WriteString("\trankdir=TB; nodesep=0.25; ranksep=0.45; splines=true;\n")
	b.WriteString("\tnode [fontname=\"Helvetica\" fontsize=11 style=filled penwidth=1 margin=\"0.08,0.04\" height=0.3 width=0.3];\n")
	b.WriteString("\tedge [arrowhead=none color=\"#444444\" penwidth=0.9];\n")

	b.WriteString("\t{ rank=source; node [shape=invhouse fillcolor=\"#e8e8e8\" color=\"#777777\"];\n")
	for i, name := range g.inputNames {
		if name == "" {
			name = fmt.Sprintf("x%d", i)
		}
		fmt.Fprintf(b, "\t\tn%d [label=%s];\n", i+1, figure.QuoteDOT(name))
	}
	b.WriteString("\t}\n")

	constant := false // an output, not a gate's operand, is the constant
	for i, l := range live {
		if l {
			id := first + i
			style := dotStyles[g.gateForm(id)]
			fmt.Fprintf(b, "\tn%d [label=\"%s\" tooltip=\"%d\" shape=%s fillcolor=\"%s\" color=\"%s\"];\n",
				id, style.label, id, style.shape, style.fill, style.line)
		}
	}
	b.WriteString("\t{ rank=sink; node [shape=house fillcolor=\"#e8e8e8\" color=\"#777777\"];\n")
	for i, o := range g.outputs {
		name := o.Name
		if name == "" {
			name = fmt.Sprintf("y%d", i)
		}
		fmt.Fprintf(b, "\t\to%d [label=%s];\n", i, figure.QuoteDOT(name))
		constant = constant || o.Lit>>1 == 0
	}
	b.WriteString("\t}\n")
	if constant {
		b.WriteString("\tn0 [label=\"0\" shape=square fillcolor=\"#ffffff\" color=\"#777777\"];\n")
	}

	edge := func(l Lit, to string, id int) {
		fmt.Fprintf(b, "\tn%d -> %s%d", l>>1, to, id)
		if l&1 != 0 {
			b.WriteString(" [style=dashed arrowhead=odot arrowsize=0.6]")
		}
		b.WriteString(";\n")
	}
	for i, l := range live {
		if !l {
			continue
		}
		for _, f := range g.nodes[first+i] {
			if f>>1 != 0 { // the label tells the constant
				edge(f, "n", first+i)
			}
		}
	}
	for i, o := range g.outputs {
		edge(o.Lit, "o", i)
	}
	b.WriteString("}\n")
	return b.Flush()
}

// gateForm is what a gate looks like when its constant fanin is left out.
type gateForm uint8

const (
	formMaj gateForm = iota
	formAnd
	formOr
	formXor3
	formXor2
)

func (g *Graph) gateForm(id int) gateForm {
	switch f := g.nodes[id]; {
	case f[0] == False:
		return formAnd
	case f[0] == True:
		return formOr
	case f[0] < f[1]:
		return formMaj
	case f[2] == False:
		return formXor2
	}
	return formXor3
}

var dotStyles = [...]struct{ label, shape, fill, line string }{
	formMaj:  {"MAJ", "ellipse", "#bcd9f5", "#2b6cb0"},
	formAnd:  {"∧", "ellipse", "#e3eefa", "#2b6cb0"},
	formOr:   {"∨", "ellipse", "#e3eefa", "#2b6cb0"},
	formXor3: {"XOR", "box", "#fbd38d", "#b7791f"},
	formXor2: {"⊕", "box", "#fdeccb", "#b7791f"},
}
