package stream

import (
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// The text form of a graph, one declaration or statement a line:
//
//	graph NAME
//	symbol NAME in [LO,HI)                        # HI may be inf
//	array NAME TYPE[SIZE]...                      # outermost dimension first, as in C
//	array NAME TYPE[SIZE] of STRUCTS at OFFSET every STRIDE  # a member, in bytes
//	array NAME TYPE[SIZE] shared                  # no argument; or private, or lock
//	param NAME TYPE
//	for VAR in [LO,HI) step INT while EXPR {      # step and while are optional; HI may be inf
//	for VAR in [LO,HI) parallel dynamic chunk INT syncfree { # all after parallel is optional
//		load NAME: ARRAY[INDEX]... = EXPR if EXPR # a computation and a condition are optional
//		store NAME: ARRAY[INDEX]... = EXPR if EXPR
//		rmw NAME old racy: ARRAY[INDEX]... = EXPR if EXPR # old and racy are optional; racy and relaxed of a load too
//		reduce NAME reassociate: ARRAY[INDEX]... over VAR from EXPR = EXPR if EXPR # reassociate and combine OP are optional
//	}
//
// A reduce may do without ": ARRAY[INDEX]...". Bounds, sizes and subscripts are as
// lattice.ParseExpr reads them. An expression is @, a name, a constant such as
// fp32(1.5), a conversion such as int8(x), or an operation of package scalar such
// as add(x, y). A # starts a comment.

// String returns the graph in the form that Parse reads.
func (g *Graph) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "graph %s\n", g.Name)
	if g.Symbols != nil {
		for _, s := range g.Symbols.Symbols() {
			fmt.Fprintf(&b, "symbol %s in %s\n", s.Name, symbolRange(s))
		}
	}
	for _, a := range g.Arrays {
		fmt.Fprintf(&b, "array %s %s%s", a.Name, a.Type, subscripts(a.Size))
		if f := a.Field; f != nil {
			fmt.Fprintf(&b, " of %s at %d every %d", f.Of, f.Offset, f.Stride)
		}
		if a.Scope != Argument {
			b.WriteString(" " + scopeNames[a.Scope])
		}
		b.WriteByte('\n')
	}
	for _, p := range g.Params {
		fmt.Fprintf(&b, "param %s %s\n", p.Name, p.Type)
	}
	writeBody(&b, g.Body, 0)
	return b.String()
}

func writeBody(b *strings.Builder, body []Stmt, depth int) {
	for _, st := range body {
		b.WriteString(strings.Repeat("\t", depth))
		switch st := st.(type) {
		case *Stream:
			fmt.Fprintln(b, st)
		case *Loop:
			fmt.Fprintf(b, "%s {\n", st)
			writeBody(b, st.Body, depth+1)
			b.WriteString(strings.Repeat("\t", depth) + "}\n")
		}
	}
}

// String returns the head of the loop in text form.
func (l *Loop) String() string {
	text := "for " + l.Var + " in " + l.Range.String()
	if l.Open {
		text = "for " + l.Var + " in [" + l.Range.Lo.String() + ",inf)"
	}
	if l.Stride() != 1 {
		text += fmt.Sprintf(" step %d", l.Step)
	}
	if l.While != nil {
		text += " while " + l.While.String()
	}
	if p := l.Parallel; p != nil {
		text += " parallel"
		if p.Dynamic {
			text += " dynamic"
		}
		if p.Chunk != 0 {
			text += fmt.Sprintf(" chunk %d", p.Chunk)
		}
		if p.SyncFree {
			text += " syncfree"
		}
	}
	return text
}

// String returns the stream in text form.
func (s *Stream) String() string {
	text := s.Kind.String() + " " + s.Name
	if s.Old {
		text += " old"
	}
	if s.Racy {
		text += " racy"
	}
	if s.Relaxed {
		text += " relaxed"
	}
	if s.Reassociate {
		text += " reassociate"
	}
	if s.Combine != scalar.NoOp {
		text += " combine " + s.Combine.String()
	}
	if s.Array != "" {
		text += ": " + s.Array + subscripts(s.Index)
	}
	if s.Kind == Reduce {
		text += " over " + s.Over
		if s.Init != nil {
			text += " from " + s.Init.String()
		}
	}
	if s.Value != nil {
		text += " = " + s.Value.String()
	}
	if s.If != nil {
		text += " if " + s.If.String()
	}
	return text
}

// subscripts returns expressions as subscripts of C, the outermost first.
func subscripts(list []lattice.Expr) string {
	text := ""
	for _, x := range list {
		text = "[" + x.String() + "]" + text
	}
	return text
}

// symbolRange returns the values of a symbol as "[4,inf)".
func symbolRange(s lattice.Symbol) string {
	if !s.Bounded {
		return "[" + s.Lo.String() + ",inf)"
	}
	return "[" + s.Lo.String() + "," + s.Hi.Plus(1).String() + ")"
}
