package stream

import (
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Bind returns the graph with the symbols that values has replaced by these.
func (g *Graph) Bind(values map[string]int64) *Graph {
	c := *g
	if g.Symbols != nil {
		c.Symbols = g.Symbols.Bind(values)
	}
	c.Arrays = make([]Array, len(g.Arrays))
	for i, a := range g.Arrays {
		a.Size = bindAll(a.Size, values)
		c.Arrays[i] = a
	}
	c.Body = bindBody(g.Body, values, map[*Expr]*Expr{nil: nil})
	return &c
}

func bindAll(list []lattice.Expr, values map[string]int64) []lattice.Expr {
	out := make([]lattice.Expr, len(list))
	for i, x := range list {
		out[i] = x.Bind(values)
	}
	return out
}

// bindBody copies statements; done keeps subexpressions shared that are shared.
func bindBody(body []Stmt, values map[string]int64, done map[*Expr]*Expr) []Stmt {
	out := make([]Stmt, len(body))
	for i, st := range body {
		switch st := st.(type) {
		case *Loop:
			l := *st
			l.Range = lattice.Interval{Lo: st.Range.Lo.Bind(values), Hi: st.Range.Hi.Bind(values)}
			l.While = bindExpr(st.While, values, done)
			l.Body = bindBody(st.Body, values, done)
			out[i] = &l
		case *Stream:
			s := *st
			s.Index = bindAll(st.Index, values)
			s.Value, s.If, s.Init = bindExpr(st.Value, values, done), bindExpr(st.If, values, done), bindExpr(st.Init, values, done)
			out[i] = &s
		}
	}
	return out
}

func bindExpr(x *Expr, values map[string]int64, done map[*Expr]*Expr) *Expr {
	if y, ok := done[x]; ok {
		return y
	}
	y := *x
	if v, ok := values[x.Name]; ok && x.Kind == RefExpr {
		y = *Int(scalar.Int64, v)
	}
	y.Args = make([]*Expr, len(x.Args))
	for i, a := range x.Args {
		y.Args[i] = bindExpr(a, values, done)
	}
	done[x] = &y
	return &y
}
