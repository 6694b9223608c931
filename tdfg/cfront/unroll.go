package cfront

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Loops with numbers for bounds are unrolled inside of others if they are short: the
// taps of a filter, not the elements of a tensor.
const (
	maxTrip     = 16
	maxUnrolled = 64 // copies of a statement
)

// unroll replaces short loops inside of others by copies of their bodies.
func unroll(k *kernel, body []stmt, outer *loop, copies int64) []stmt {
	var out []stmt
	for _, s := range body {
		l, ok := s.(*loop)
		if !ok {
			out = append(out, s)
			continue
		}
		trip, short := l.trip()
		if outer == nil || !l.literal || l.while != nil || !short || trip*copies > maxUnrolled || digit(l, trip) || blocksOf(l) != nil {
			around := outer
			if !l.literal {
				around = l
			}
			l.body = unroll(k, l.body, around, copies)
			out = append(out, l)
			continue
		}
		for i := range trip {
			v, _ := l.lo.Const()
			v += i * l.step
			if l.step < 0 {
				hi, _ := l.hi.Const()
				v = hi - 1 + i*l.step
			}
			c := newCloner(k, l, outer, intConst(l.pos, l.v.typ, v))
			out = append(out, unroll(k, c.stmts(l.body), outer, copies*trip)...)
		}
	}
	return out
}

// digit reports whether a loop gives the low digit of where something is written, as j in
// A[8*i+j]: its iterations are elements of a tensor then, not taps of a filter.
func digit(l *loop, trip int64) bool {
	found := false
	walkStmts(l.body, nil, func(s stmt, _ []*loop) {
		a, ok := s.(*assign)
		if !ok || a.target.kind != elemExpr {
			return
		}
		for _, e := range subscripts(a.target) {
			c := e.Coef(l.v.name)
			for _, sym := range e.Symbols() {
				by := e.Coef(sym)
				found = found || (c == 1 || c == -1) && sym != l.v.name && max(by, -by) >= trip && trip > 1
			}
		}
	})
	return found
}

// trip returns the number of iterations, if it is a small constant.
func (l *loop) trip() (n int64, short bool) {
	k, ok := l.hi.Sub(l.lo).Const()
	if !ok || k > maxTrip*max(l.step, -l.step) {
		return 0, false
	}
	step := max(l.step, -l.step)
	return max(0, (k+step-1)/step), true
}

// mirror returns a decreasing loop as an increasing one, which counts its iterations.
func mirror(k *kernel, l *loop) *loop {
	v := *l.v
	v.name = k.unique(l.v.name)
	k.vars = append(k.vars, &v)
	m := &loop{v: &v, hi: l.hi.Sub(l.lo), step: -l.step, pos: l.pos, literal: l.literal}
	last := k.expr(l.hi.Plus(-1), l.v.typ, l.pos)
	count := &expr{kind: varExpr, typ: v.typ, pos: l.pos, v: &v}
	c := newCloner(k, l, m, &expr{kind: opExpr, typ: v.typ, pos: l.pos, op: scalar.Sub, args: []*expr{last, count}})
	m.body = c.stmts(l.body)
	return m
}

// singleSteps makes loops with steps count their iterations, so that what they access lies
// at strides, where the number of iterations is affine.
func singleSteps(k *kernel, body []stmt) {
	for i, s := range body {
		l, ok := s.(*loop)
		if !ok {
			continue
		}
		by := max(l.step, -l.step)
		trip, ok := quotient(l.hi.Sub(l.lo).Plus(by-1), by)
		if by > 1 && ok {
			v := *l.v
			v.name = k.unique(l.v.name)
			k.vars = append(k.vars, &v)
			m := &loop{v: &v, hi: trip, step: 1, pos: l.pos, literal: l.literal}
			first := l.lo
			if l.step < 0 {
				first = l.hi.Plus(-1)
			}
			t := l.v.typ
			count := &expr{kind: varExpr, typ: t, pos: l.pos, v: &v}
			far := binary(l.pos, scalar.Mul, count, intConst(l.pos, t, l.step))
			c := newCloner(k, l, m, convert(binary(l.pos, scalar.Add, k.expr(first, t, l.pos), far), t))
			m.body = c.stmts(l.body)
			body[i], l = m, m
		}
		singleSteps(k, l.body)
	}
}

// expr returns an affine expression as one of C.
func (k *kernel) expr(e lattice.Expr, t scalar.Type, at Pos) *expr {
	x := intConst(at, t, e.Offset())
	for _, name := range e.Symbols() {
		i := slices.IndexFunc(k.vars, func(v *variable) bool { return v.name == name })
		v := k.vars[i]
		term := binary(at, scalar.Mul, intConst(at, t, e.Coef(name)), &expr{kind: varExpr, typ: v.typ, pos: at, v: v})
		x = convert(binary(at, scalar.Add, x, term), t)
	}
	return x
}

func newCloner(k *kernel, from, to *loop, value *expr) *cloner {
	c := &cloner{k: k, vars: map[*variable]*variable{}, loops: map[*loop]*loop{from: to}, v: from.v, value: value}
	c.symbol, _ = affine(value)
	return c
}

// cloner copies statements with a value for a loop's variable. Loops and the
// variables that are declared in them become new ones.
type cloner struct {
	k     *kernel
	vars  map[*variable]*variable
	loops map[*loop]*loop
	v     *variable
	value *expr
	// symbol is the value in bounds.
	symbol lattice.Expr
}

func (c *cloner) stmts(body []stmt) []stmt {
	out := make([]stmt, len(body))
	for i, s := range body {
		switch s := s.(type) {
		case *assign:
			a := *s
			a.target, a.value, a.guard = c.expr(s.target), c.expr(s.value), c.expr(s.guard)
			if s.result != nil {
				a.result = c.variable(s.result)
			}
			out[i] = &a
		case *loop:
			l := *s
			c.loops[s] = &l
			l.lo, l.hi = l.lo.Subst(c.v.name, c.symbol), l.hi.Subst(c.v.name, c.symbol)
			for _, old := range c.k.vars {
				if n := c.vars[old]; n != nil && n != old {
					l.lo, l.hi = l.lo.Subst(old.name, lattice.Sym(n.name)), l.hi.Subst(old.name, lattice.Sym(n.name))
				}
			}
			l.v = c.fresh(s.v, s.v.scope)
			l.from, l.to, l.guard = c.expr(s.from), c.expr(s.to), c.expr(s.guard)
			if s.while != nil {
				l.while = c.variable(s.while)
			}
			l.body = c.stmts(s.body)
			out[i] = &l
		}
	}
	return out
}

func (c *cloner) fresh(v *variable, scope *loop) *variable {
	n := *v
	n.name = c.k.unique(v.name)
	n.scope = scope
	c.vars[v] = &n
	c.k.vars = append(c.k.vars, &n)
	return &n
}

// variable returns the copy's variable for one of the original.
func (c *cloner) variable(v *variable) *variable {
	if n := c.vars[v]; n != nil {
		return n
	}
	if v.kind == localVar {
		if l, ok := c.loops[v.scope]; ok && v.scope != nil {
			return c.fresh(v, l)
		}
	}
	return v
}

func (c *cloner) expr(x *expr) *expr {
	if x == nil {
		return nil
	}
	if x.kind == varExpr {
		if x.v == c.v {
			return convert(c.value, x.typ)
		}
		y := *x
		y.v = c.variable(x.v)
		return &y
	}
	y := *x
	y.index, y.args = c.list(x.index), c.list(x.args)
	if y.kind == opExpr {
		return fold(&y)
	}
	if y.kind == convertExpr && y.args[0].kind == constExpr {
		return convert(y.args[0], y.typ)
	}
	return &y
}

func (c *cloner) list(list []*expr) []*expr {
	if list == nil {
		return nil
	}
	out := make([]*expr, len(list))
	for i, x := range list {
		out[i] = c.expr(x)
	}
	return out
}

// narrowScopes gives a variable that is declared outside of a loop, but used inside
// of one loop only, where it is assigned first, the scope of that loop: C programs
// of the older style declare everything at the top.
func narrowScopes(k *kernel) {
	uses := map[*variable][][]*loop{}
	first := map[*variable]*assign{}
	walkStmts(k.body, nil, func(s stmt, loops []*loop) {
		a, ok := s.(*assign)
		if !ok {
			return
		}
		around := append([]*loop(nil), loops...)
		note := func(x *expr) {
			x.walk(func(y *expr) {
				if y.kind == varExpr && y.v.kind == localVar {
					uses[y.v] = append(uses[y.v], around)
					if first[y.v] == nil {
						first[y.v] = a
					}
				}
			})
		}
		note(a.value)
		note(a.guard)
		for _, i := range a.target.index {
			note(i)
		}
		note(a.target)
	})
	for _, v := range k.vars {
		a := first[v]
		if a == nil || a.target.kind != varExpr || a.target.v != v || a.guard != nil || a.value.uses(a.target) {
			continue
		}
		// The first use is an assignment, in the innermost of its loops; all others
		// must be in that loop too.
		where := uses[v][0]
		n := len(where)
		for _, other := range uses[v] {
			m := 0
			for m < n && m < len(other) && where[m] == other[m] {
				m++
			}
			n = m
		}
		if n == len(where) && n > 0 && v.kind == localVar {
			v.scope, v.host = where[n-1], false
		}
	}
}
