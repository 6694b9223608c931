package cfront

import (
	"maps"
	"slices"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// piece is an assignment in a part of the iterations of its loops, with the conditions
// on their variables decided.
type piece struct {
	*assign
	within map[*loop]lattice.Interval // of loops of which it is a part only
}

// maxPieces bounds into how many parts conditions cut an assignment.
const maxPieces = 32

// cut takes an assignment apart along conditions that compare a variable of one of
// the loops with what is the same in all iterations, such as i == 0 || j == N-1: each
// becomes parts of the lattice, in which it is true or false. why says what keeps it
// from that.
func (p *planner) cut(a *assign, loops []*loop, hosts []*loop) (list []piece, why string) {
	space := p.space(hosts)
	var split func(pc piece)
	split = func(pc piece) {
		if why != "" {
			return
		}
		atom := findAtom(pc.assign, loops)
		if atom == nil {
			if pc.guard == nil || pc.guard.kind != constExpr || pc.guard.value != 0 {
				if pc.guard != nil && pc.guard.kind == constExpr {
					pc.guard = nil
				}
				list = append(list, pc)
			}
			return
		}
		if len(list) > maxPieces {
			why = "conditions on indices make too many parts"
			return
		}
		l, op, bound := atomOf(atom, loops)
		at, ok := pc.within[l]
		if !ok {
			at = lattice.Interval{Lo: l.lo, Hi: l.hi}
		}
		for _, part := range p.parts(space, at, op, bound) {
			if part.bad {
				why = "cannot tell where in the loop " + l.v.source() + " is " + bound.String() + ": give sizes values with -D"
				return
			}
			within := maps.Clone(pc.within)
			if within == nil {
				within = map[*loop]lattice.Interval{}
			}
			within[l] = part.Interval
			b := *pc.assign
			b.guard, b.value = decide(b.guard, atom, part.truth), decide(b.value, atom, part.truth)
			b.target = decide(b.target, atom, part.truth)
			split(piece{&b, within})
		}
	}
	split(piece{assign: a})
	return list, why
}

type part struct {
	lattice.Interval
	truth bool
	bad   bool
}

// parts cuts an interval into the parts where a comparison of its coordinate with a
// bound is true and where it is false.
func (p *planner) parts(space *lattice.Space, at lattice.Interval, op scalar.Op, bound lattice.Expr) []part {
	var list []part
	add := func(lo, hi lattice.Expr, truth bool) {
		if !space.LessEqual(hi, lo) {
			list = append(list, part{lattice.Interval{Lo: lo, Hi: hi}, truth, false})
		}
	}
	// cuts returns the interval before and after a point, which may be outside.
	cuts := func(at lattice.Interval, x lattice.Expr) (before, after lattice.Interval, ok bool) {
		switch {
		case space.LessEqual(x, at.Lo):
			return lattice.Interval{Lo: at.Lo, Hi: at.Lo}, at, true
		case space.LessEqual(at.Hi, x):
			return at, lattice.Interval{Lo: at.Hi, Hi: at.Hi}, true
		}
		inside := []lattice.Expr{x.Sub(at.Lo), at.Hi.Sub(x)}
		if space.LessEqual(lattice.Const(0), inside[0]) && space.LessEqual(lattice.Const(0), inside[1]) {
			return lattice.Interval{Lo: at.Lo, Hi: x}, lattice.Interval{Lo: x, Hi: at.Hi}, true
		}
		for _, y := range append(inside, x.Sub(at.Hi), at.Lo.Sub(x)) {
			if !space.LessEqual(lattice.Const(0), y) && p.enlarge(y) {
				panic(retry{})
			}
		}
		return before, after, false
	}
	point := bound
	if op == scalar.Le || op == scalar.Gt {
		point = bound.Plus(1)
	}
	before, after, ok := cuts(at, point)
	if !ok {
		return []part{{bad: true}}
	}
	switch op {
	case scalar.Lt, scalar.Le:
		add(before.Lo, before.Hi, true)
		add(after.Lo, after.Hi, false)
	case scalar.Gt, scalar.Ge:
		add(before.Lo, before.Hi, false)
		add(after.Lo, after.Hi, true)
	default:
		equal, after, ok := cuts(after, bound.Plus(1))
		if !ok {
			return []part{{bad: true}}
		}
		if !equal.Hi.Sub(equal.Lo).Equal(lattice.Const(1)) {
			equal.Hi = equal.Lo // the bound is outside
		}
		add(before.Lo, before.Hi, op == scalar.Ne)
		add(equal.Lo, equal.Hi, op == scalar.Eq)
		add(after.Lo, after.Hi, op == scalar.Ne)
	}
	return list
}

// findAtom returns a condition of an assignment that cuts loops, nil for none.
func findAtom(a *assign, loops []*loop) *expr {
	var found *expr
	for _, x := range []*expr{a.guard, a.value, a.target} {
		x.walk(func(y *expr) {
			if found == nil {
				if l, _, _ := atomOf(y, loops); l != nil {
					found = y
				}
			}
		})
	}
	return found
}

// atomOf returns the loop whose variable a condition compares with a bound that is
// the same in all loops, nil if it is no such condition.
func atomOf(x *expr, loops []*loop) (l *loop, op scalar.Op, bound lattice.Expr) {
	if x.kind != opExpr || !x.op.Compares() || !x.args[0].typ.Int() || !mentions(x, loops) {
		return nil, op, bound
	}
	a, ok := affine(x.args[0])
	if !ok {
		return nil, op, bound
	}
	b, ok := affine(x.args[1])
	if !ok {
		return nil, op, bound
	}
	if x.args[0].typ.Unsigned() && (!rising(a) || !rising(b)) {
		return nil, op, bound // a difference or a product may have wrapped
	}
	diff, op := a.Sub(b), x.op
	for _, y := range loops {
		if diff.Coef(y.v.name) == 0 {
			continue
		}
		if l != nil {
			return nil, op, bound
		}
		l = y
	}
	if l == nil {
		return nil, op, bound
	}
	c := diff.Coef(l.v.name)
	rest := diff.Sub(lattice.Sym(l.v.name).Scale(c))
	switch k, isConst := rest.Const(); {
	case c == 1:
		return l, op, rest.Scale(-1)
	case c == -1:
		return l, flipped(op), rest
	case isConst && (op == scalar.Lt || op == scalar.Ge) && c > 0: // c*i + k < 0
		return l, op, lattice.Const(-floorDiv(k, c))
	case isConst && (op == scalar.Le || op == scalar.Gt) && c > 0:
		return l, op, lattice.Const(floorDiv(-k, c))
	}
	return nil, op, bound
}

// floorDiv returns a/b towards minus infinity, for b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// rising reports whether an expression is a sum of a constant and variables, none of which
// is negative.
func rising(e lattice.Expr) bool {
	return e.Offset() >= 0 && !slices.ContainsFunc(e.Symbols(), func(s string) bool { return e.Coef(s) != 1 })
}

// flipped returns the comparison of the negated operands.
func flipped(op scalar.Op) scalar.Op {
	switch op {
	case scalar.Lt:
		return scalar.Gt
	case scalar.Le:
		return scalar.Ge
	case scalar.Gt:
		return scalar.Lt
	case scalar.Ge:
		return scalar.Le
	}
	return op
}

// mentions reports whether a variable of one of the loops is in x.
func mentions(x *expr, loops []*loop) bool {
	found := false
	x.walk(func(y *expr) {
		found = found || y.kind == varExpr && slices.ContainsFunc(loops, func(l *loop) bool { return l.v == y.v })
	})
	return found
}

// decide returns x with a condition's value in its place.
func decide(x, cond *expr, truth bool) *expr {
	v := int64(0)
	if truth {
		v = 1
	}
	return rewrite(x, func(y *expr) *expr {
		if y.same(cond) {
			return intConst(y.pos, scalar.Bool, v)
		}
		return nil
	})
}

// rewrite returns x with the expressions that f gives in the place of its parts, and
// what is constant then computed.
func rewrite(x *expr, f func(*expr) *expr) *expr {
	if x == nil {
		return nil
	}
	if y := f(x); y != nil {
		return y
	}
	if len(x.args) == 0 && len(x.index) == 0 {
		return x
	}
	y := *x
	y.args, y.index = slices.Clone(x.args), slices.Clone(x.index)
	for i, a := range y.args {
		y.args[i] = rewrite(a, f)
	}
	for i, a := range y.index {
		y.index[i] = rewrite(a, f)
	}
	return simpler(&y)
}

// simpler decides what constants decide.
func simpler(x *expr) *expr {
	if x.kind == convertExpr && x.args[0].kind == constExpr {
		return convert(x.args[0], x.typ)
	}
	if x.kind != opExpr {
		return x
	}
	is := func(i int) bool { return x.args[i].kind == constExpr }
	switch {
	case x.op == scalar.Select && is(0) && x.args[0].value != 0:
		return x.args[1]
	case x.op == scalar.Select && is(0):
		return x.args[2]
	case x.typ == scalar.Bool && (x.op == scalar.And || x.op == scalar.Or) && (is(0) || is(1)):
		k, y := x.args[0], x.args[1]
		if !is(0) {
			k, y = y, k
		}
		if (k.value != 0) == (x.op == scalar.And) {
			return y
		}
		return k
	}
	return fold(x)
}

// maxInlined bounds expressions that stand for variables.
const maxInlined = 256

func (x *expr) count() int {
	n := 0
	x.walk(func(*expr) { n++ })
	return n
}

// inlineConditions puts the values of variables that conditions on indices decide in
// the place of their uses: such a variable has a value only in a part of the lattice.
func inlineConditions(k *kernel) {
	walkStmts(k.body, nil, func(s stmt, loops []*loop) {
		if l, ok := s.(*loop); ok {
			inlineIn(l, append(slices.Clip(loops), l))
		}
	})
}

func inlineIn(l *loop, loops []*loop) {
	wanted := map[*variable]bool{}
	for _, s := range l.body {
		if a, ok := s.(*assign); ok && a.target.kind == varExpr && a.target.v.kind == localVar && a.target.v.scope == l && findAtom(a, loops) != nil {
			wanted[a.target.v] = true
		}
	}
	for changed := true; changed; { // what they are made of, if it is conditional on such
		changed = false
		for _, s := range l.body {
			a, ok := s.(*assign)
			if !ok || a.target.kind != varExpr || a.target.v.scope != l || a.target.v.kind != localVar || wanted[a.target.v] {
				continue
			}
			for _, x := range []*expr{a.value, a.guard} {
				x.walk(func(y *expr) {
					if y.kind == varExpr && wanted[y.v] && !wanted[a.target.v] {
						wanted[a.target.v], changed = true, true
					}
				})
			}
		}
	}
	for len(wanted) > 0 {
		body, bad := inlined(l, wanted)
		if bad == nil {
			l.body = body
			return
		}
		delete(wanted, bad)
	}
}

// inlined returns the body of a loop with variables replaced by their values, or a
// variable that cannot be.
func inlined(l *loop, wanted map[*variable]bool) (body []stmt, bad *variable) {
	values := map[*variable]*expr{}
	subst := func(x *expr) *expr {
		return rewrite(x, func(y *expr) *expr {
			if y.kind == varExpr && wanted[y.v] {
				if v := values[y.v]; v != nil {
					return v
				}
				bad = y.v
			}
			return nil
		})
	}
	// spoilt finds a variable whose value has what a statement changes.
	spoilt := func(target *expr) {
		for v, x := range values {
			if x.uses(target) {
				delete(values, v) // a later use finds none
			}
		}
	}
	var list func(in []stmt, top bool) []stmt
	list = func(in []stmt, top bool) []stmt {
		var out []stmt
		for _, s := range in {
			switch s := s.(type) {
			case *loop:
				c := *s
				walkStmts(s.body, nil, func(t stmt, _ []*loop) {
					if a, ok := t.(*assign); ok {
						spoilt(a.target)
					}
				})
				c.body = list(s.body, false)
				s.body = c.body
				out = append(out, s)
			case *assign:
				if s.target.kind == varExpr && wanted[s.target.v] {
					if !top {
						bad = s.target.v
						continue
					}
					x := subst(s.value)
					if s.guard != nil {
						old := values[s.target.v]
						if old == nil {
							old = &expr{kind: constExpr, typ: x.typ, pos: x.pos}
						}
						x = simpler(&expr{kind: opExpr, typ: x.typ, pos: x.pos, op: scalar.Select, args: []*expr{subst(s.guard), x, old}})
					}
					if x.count() > maxInlined {
						bad = s.target.v
					}
					spoilt(s.target)
					values[s.target.v] = x
					continue
				}
				c := *s
				c.value, c.guard, c.target = subst(s.value), subst(s.guard), subst(s.target)
				spoilt(s.target)
				out = append(out, &c)
			}
		}
		return out
	}
	before := map[*loop][]stmt{}
	walkStmts(l.body, nil, func(s stmt, _ []*loop) {
		if x, ok := s.(*loop); ok {
			before[x] = x.body
		}
	})
	body = list(l.body, true)
	if bad != nil {
		for x, b := range before {
			x.body = b
		}
	}
	return body, bad
}
