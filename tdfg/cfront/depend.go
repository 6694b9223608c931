package cfront

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// access is a read or a write of an element in a nest of loops.
type access struct {
	array *array
	index []lattice.Expr // nil where a subscript is not affine
	loops []*loop        // of the nest around it, outermost first
	write bool
	at    int // number of its statement, in the order of the text
	pos   Pos

	// reduce is the operation of a reduction that this is an operand or the result
	// of, if its order does not matter.
	reduce scalar.Op
}

// subscripts returns the subscripts of an element as affine expressions, nil if one
// is none.
func subscripts(x *expr) []lattice.Expr {
	list := make([]lattice.Expr, len(x.index))
	for i, s := range x.index {
		e, ok := affine(s)
		if !ok {
			return nil
		}
		list[i] = e
	}
	return list
}

// accesses lists the accesses of a statement: reads, then the write.
func accesses(a *assign, loops []*loop, at int, reduce scalar.Op) []access {
	var list []access
	read := func(x *expr) {
		x.walk(func(y *expr) {
			if y.kind == elemExpr {
				r := access{array: y.array, index: subscripts(y), loops: loops, at: at, pos: y.pos}
				if reduce != scalar.NoOp && y.same(a.target) {
					r.reduce = reduce
				}
				list = append(list, r)
			}
		})
	}
	read(a.value)
	read(a.guard)
	if a.target.kind == elemExpr {
		for _, i := range a.target.index {
			read(i)
		}
		list = append(list, access{array: a.target.array, index: subscripts(a.target), loops: loops, write: true, at: at, pos: a.target.pos, reduce: reduce})
	}
	return list
}

// later returns the name that a loop's variable has in the later of two iterations.
func later(v string) string { return v + ".later" }

// carried reports whether the element of a in some iteration may be that of b in a
// later one of the loops that both are in. space has the sizes and the variables of
// the loops around the nest.
//
// Subscripts are compared dimension by dimension: by the greatest common divisor of
// their coefficients, by the bounds of their difference (Banerjee), both also for what is
// left of it beside multiples of a stride, and where both vary with one loop alike, by the
// distance of the iterations.
func carried(space *lattice.Space, a, b access) bool {
	n := 0
	for n < len(a.loops) && n < len(b.loops) && a.loops[n] == b.loops[n] {
		n++
	}
	common := a.loops[:n]
	if n == 0 {
		return false
	}
	if a.index == nil || b.index == nil {
		return true
	}
	s := space.Clone()
	for _, l := range a.loops {
		declare(s, l, l.v.name, func(e lattice.Expr) lattice.Expr { return e })
	}
	prime := func(e lattice.Expr) lattice.Expr {
		for _, l := range b.loops {
			e = e.Subst(l.v.name, lattice.Sym(later(l.v.name)))
		}
		return e
	}
	for _, l := range b.loops {
		declare(s, l, later(l.v.name), prime)
	}
	distance := make([]*lattice.Expr, n)
	for d := range a.index {
		all := a.index[d].Sub(prime(b.index[d]))
		if s.NeverZero(all) {
			return false
		}
		for _, diff := range s.Equations(all) {
			if s.NeverZero(diff) {
				return false
			}
			for i, l := range common {
				c := diff.Coef(l.v.name)
				if c != 1 && c != -1 || diff.Coef(later(l.v.name)) != -c {
					continue
				}
				// v.later = v + dist
				dist := diff.Scale(c).Sub(lattice.Sym(l.v.name)).Add(lattice.Sym(later(l.v.name)))
				if usesLoops(dist, a.loops, b.loops) {
					continue
				}
				if old := distance[i]; old != nil && s.NeverZero(old.Sub(dist)) {
					return false
				}
				distance[i] = &dist
			}
		}
	}
	// The first loop whose variables differ decides which iteration is later.
	for i, l := range common {
		dist := distance[i]
		if dist == nil {
			return true
		}
		forth := *dist
		if l.step < 0 {
			forth = dist.Scale(-1)
		}
		if !s.LessEqual(forth, lattice.Const(0)) {
			return true
		}
		if s.LessEqual(forth, lattice.Const(-1)) {
			return false
		}
	}
	return false
}

// declare adds a loop's variable to a space.
func declare(s *lattice.Space, l *loop, name string, in func(lattice.Expr) lattice.Expr) {
	if !s.Has(name) {
		// The bounds are of symbols that are declared: an error cannot be.
		_ = s.Declare(name, in(l.lo), in(l.hi).Plus(-1), true)
	}
}

func usesLoops(e lattice.Expr, lists ...[]*loop) bool {
	for _, sym := range e.Symbols() {
		for _, list := range lists {
			if slices.ContainsFunc(list, func(l *loop) bool { return l.v.name == sym || later(l.v.name) == sym }) {
				return true
			}
		}
	}
	return false
}
