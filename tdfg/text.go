package tdfg

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// String returns the graph as ParseGraph reads it: declarations, a line for each
// node, with the type and domain of its result as a comment, and the outputs.
//
//	graph stencil dims 1
//	symbol N in [4,inf)
//	array A fp32[N] on 0
//	%0 = tensor A [0,N-1)          # fp32 [0,N-1)
//	%1 = mv %0 dim 0 dist 1        # fp32 [1,N)
//	store %1 A
//
// Sizes of arrays are in the order of C, the contiguous one last, with the lattice
// dimension of each after "on"; all else is in the order of the lattice dimensions. An
// array without "on" has no place in the lattice. A view has its array after "of", with
// the subscripts of its elements, in which .0 is the coordinate in its last dimension:
//
//	array A fp32[2*N]
//	array A.odd fp32[N] on 0 of A [2*.0+1]
//
// An array with "iota" has the numbers of its elements.
func (g *Graph) String() string {
	w := &writer{}
	w.line("graph %s dims %d", g.Name, g.Dims)
	for _, sym := range g.Space.Symbols() {
		w.symbol(sym)
	}
	for _, a := range g.Arrays {
		w.array(a)
	}
	for _, p := range g.Params {
		w.line("param %s %s", p.Name, p.Type)
	}
	w.body(g)
	return w.b.String()
}

// String returns the program as ParseProgram reads it. Its regions have the
// declarations of the program, and those of the loops around them as symbols.
func (p *Program) String() string {
	w := &writer{}
	if p.Reassociate {
		w.line("program %s reassociate", p.Name)
	} else {
		w.line("program %s", p.Name)
	}
	for _, sym := range p.Sizes {
		w.symbol(sym)
	}
	for _, a := range p.Arrays {
		w.array(a)
	}
	for _, s := range p.Scalars {
		if s.Input {
			w.line("scalar %s %s input", s.Name, s.Type)
		} else {
			w.line("scalar %s %s = %s", s.Name, s.Type, scalar.Format(s.Type, s.Init))
		}
	}
	w.stmts(p.Body)
	return w.b.String()
}

type writer struct {
	b      strings.Builder
	indent string
}

func (w *writer) line(format string, args ...any) {
	w.b.WriteString(w.indent)
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

func (w *writer) symbol(sym lattice.Symbol) {
	hi := "inf"
	if sym.Bounded {
		hi = sym.Hi.Plus(1).String()
	}
	w.line("symbol %s in [%s,%s)", sym.Name, sym.Lo, hi)
}

func (w *writer) array(a *Array) {
	var size, axes strings.Builder
	for i := len(a.Size) - 1; i >= 0; i-- {
		fmt.Fprintf(&size, "[%s]", a.Size[i])
	}
	if len(a.Axes) > 0 {
		axes.WriteString(" on")
	}
	for _, d := range slices.Backward(a.Axes) {
		fmt.Fprintf(&axes, " %d", d)
	}
	if a.Iota {
		axes.WriteString(" iota")
	}
	if a.View != nil {
		fmt.Fprintf(&axes, " of %s ", a.View.Of)
		for _, x := range slices.Backward(a.View.Index) {
			fmt.Fprintf(&axes, "[%s]", x)
		}
	}
	w.line("array %s %s%s%s", a.Name, a.Type, size.String(), axes.String())
}

func (w *writer) stmts(body []Stmt) {
	for _, st := range body {
		switch st := st.(type) {
		case *Loop:
			w.line("for %s in [%s,%s) step %d {", st.Var, st.Lo, st.Hi, st.Step)
			w.nested(func() { w.stmts(st.Body) })
		case *Region:
			g := st.Graph
			w.line("region %s dims %d {", g.Name, g.Dims)
			w.nested(func() {
				// The scope is that of the program, but for the places of arrays.
				for _, a := range g.Arrays {
					w.array(a)
				}
				for _, p := range g.Params {
					w.line("param %s %s", p.Name, p.Type)
				}
				w.body(g)
			})
		}
	}
}

func (w *writer) nested(f func()) {
	outer := w.indent
	w.indent += "  "
	f()
	w.indent = outer
	w.line("}")
}

func (w *writer) body(g *Graph) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		text := fmt.Sprintf("%%%d = %s", i, g.nodeText(n))
		facts := n.Type.String() + " " + n.Domain.String()
		if n.Kind == Stream {
			w.line("%s {  # %s", text, facts)
			w.nested(func() {
				for _, l := range strings.Split(strings.TrimRight(n.Stream.Graph.String(), "\n"), "\n") {
					w.line("%s", strings.ReplaceAll(l, "\t", "  "))
				}
			})
			continue
		}
		w.line("%-40s # %s", text, facts)
	}
	for _, o := range g.Outputs {
		if o.Array < 0 {
			w.line("result %%%d %s", o.Node, o.Scalar)
		} else {
			w.line("store %%%d %s", o.Node, g.Arrays[o.Array].Name)
		}
	}
}

// nodeText returns a node as it stands in the text, without its number.
func (g *Graph) nodeText(n *Node) string {
	var b strings.Builder
	b.WriteString(n.Kind.String())
	word := func(format string, args ...any) { fmt.Fprintf(&b, " "+format, args...) }
	args := func() {
		for _, a := range n.Args {
			word("%%%d", a)
		}
	}
	switch n.Kind {
	case Tensor:
		word("%s %s", g.Arrays[n.Array].Name, n.Rect)
	case Const:
		switch {
		case n.Param != "":
			word("param %s", n.Param)
		case n.Index != nil:
			word("%s index %s", n.Type, n.Index)
		default:
			word("%s %s", n.Type, constText(n.Type, n.Value))
		}
	case Compute:
		word("%s", n.Op)
		args()
	case Convert:
		word("%s", n.Type)
		args()
	case Move:
		args()
		word("dim %d dist %s", n.Dim, n.Dist)
	case Broadcast:
		args()
		word("dim %d dist %s count %s", n.Dim, n.Dist, n.Count)
	case Shrink:
		args()
		word("dim %d to %s", n.Dim, n.Range)
	case Reduce:
		word("%s", n.Op)
		args()
		word("dim %d group %d", n.Dim, n.Group)
	case Final:
		word("%s", n.Op)
		args()
		word("dim %d", n.Dim)
	case Stream:
		word("%s %s", n.Type, n.Stream.Result)
		for i, a := range n.Args {
			word("%s=%%%d", n.Stream.Args[i], a)
		}
	}
	return b.String()
}

// constText returns a value so that reading it gives the same bits: a number where
// that does, else the bits.
func constText(t scalar.Type, v scalar.Value) string {
	s := scalar.Format(t, v)
	if back, err := scalar.Parse(t, s); err != nil || back != v {
		return fmt.Sprintf("bits %#x", v)
	}
	return s
}
