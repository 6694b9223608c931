package stream

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/internal/figure"
)

// WriteDOT writes the graph for Graphviz: streams in boxes of their loops, value
// dependences solid, address dependences dashed, conditions dotted.
func (g *Graph) WriteDOT(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n\tnode [shape=box, fontname=monospace];\n", figure.QuoteDOT(g.Name))
	ids := map[Stmt]string{}
	var body func(list []Stmt, indent string)
	body = func(list []Stmt, indent string) {
		for _, st := range list {
			id := strconv.Itoa(len(ids))
			switch st := st.(type) {
			case *Stream:
				ids[st] = "s" + id
				shape := ""
				if st.Kind == Reduce {
					shape = ", style=rounded"
				}
				fmt.Fprintf(&b, "%ss%s [label=%s%s];\n", indent, id, figure.QuoteDOT(st.String()), shape)
			case *Loop:
				ids[st] = "l" + id
				fmt.Fprintf(&b, "%ssubgraph cluster_%s {\n%s\tlabel=%s; labeljust=l;\n", indent, id, indent, figure.QuoteDOT(st.String()))
				fmt.Fprintf(&b, "%s\tl%s [shape=point];\n", indent, id)
				body(st.Body, indent+"\t")
				fmt.Fprintf(&b, "%s}\n", indent)
			}
		}
	}
	body(g.Body, "\t")
	style := [...]string{AddressDep: "dashed", ValueDep: "solid", ConditionDep: "dotted", LoopDep: "dotted"}
	for _, d := range g.Deps() {
		fmt.Fprintf(&b, "\t%s -> %s [style=%s];\n", ids[d.From], ids[d.To], style[d.Kind])
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}
