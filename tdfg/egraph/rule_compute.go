package egraph

import (
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// associate regroups one pair of equal operations. With the normal form of 3b this
// reaches every order.
func associate(s *search, n nodeID) {
	h := s.nodes[n].head
	c := s.classOf(n)
	if !s.associative(s.heads[h].op, s.factsOf(c).typ) || s.class(c).part {
		return
	}
	for i := range 2 {
		for _, m := range s.each(s.arg(n, i)) {
			if s.nodes[m].head != h || !s.match() {
				continue
			}
			p, q, r := s.arg(m, 0), s.arg(m, 1), s.arg(n, 1-i)
			s.same(n, s.add(h, p, s.add(h, q, r)))
			s.same(n, s.add(h, q, s.add(h, p, r)))
		}
	}
}

// unaryBit is the bit of search.distributes for an operation of one operand.
const unaryBit = 1

// factor takes out what two operands have in common.
func factor(s *search, n nodeID) {
	f := *s.headOf(n)
	if f.op.Arity() != 2 || s.class(s.classOf(n)).part {
		return
	}
	x, y := s.arg(n, 0), s.arg(n, 1)
	t := s.factsOf(x).typ
	for _, a := range s.each(x) {
		g := s.nodes[a].head
		if s.heads[g].kind != tdfg.Compute {
			continue
		}
		op := s.heads[g].op
		may := s.distributes(f.op, op, t)
		if may == 0 {
			continue
		}
		unary := may&unaryBit != 0
		for _, b := range s.each(y) {
			if s.nodes[b].head != g {
				continue
			}
			if unary {
				if s.match() {
					s.same(n, s.add(g, s.add(s.nodes[n].head, s.arg(a, 0), s.arg(b, 0))))
				}
				continue
			}
			for i := range 2 {
				for j := range 2 {
					// Of operations that do not commute the common operand is the same one.
					if s.arg(a, i) != s.arg(b, j) || i != j && !op.Commutative() || may&(1<<(i+1)) == 0 || !s.match() {
						continue
					}
					of := [2]classID{s.arg(a, i), s.arg(a, i)}
					of[1-i] = s.add(s.nodes[n].head, s.arg(a, 1-i), s.arg(b, 1-j))
					s.same(n, s.add(g, of[:]...))
				}
			}
		}
	}
}

// distribute is factor from right to left.
func distribute(s *search, n nodeID) {
	g := s.nodes[n].head
	op := s.heads[g].op
	if op.Arity() > 2 || s.class(s.classOf(n)).part {
		return
	}
	for i := range op.Arity() {
		common := 1 - i
		if op.Arity() == 1 {
			common = -1
		}
		bit := uint8(1) << (common + 1)
		t := s.factsOf(s.arg(n, i)).typ
		for _, m := range s.each(s.arg(n, i)) {
			h := s.nodes[m].head
			if s.heads[h].kind != tdfg.Compute || s.distributes(s.heads[h].op, op, t)&bit == 0 || !s.match() {
				continue
			}
			side := func(k int) classID {
				if common < 0 {
					return s.add(g, s.arg(m, k))
				}
				of := [2]classID{s.arg(n, common), s.arg(n, common)}
				of[i] = s.arg(m, k)
				return s.add(g, of[:]...)
			}
			s.same(n, s.add(h, side(0), side(1)))
		}
	}
}

// subtract makes a difference a sum, which has terms that can be grouped. No bit
// changes by that, of floating-point numbers neither.
func subtract(s *search, n nodeID) {
	if s.headOf(n).op == scalar.Sub && !s.class(s.classOf(n)).part && s.match() {
		s.same(n, s.compute(scalar.Add, s.arg(n, 0), s.compute(scalar.Neg, s.arg(n, 1))))
	}
}

// addNegative is subtract from right to left.
func addNegative(s *search, n nodeID) {
	if s.headOf(n).op != scalar.Add || s.class(s.classOf(n)).part {
		return
	}
	neg := s.head(head{kind: tdfg.Compute, op: scalar.Neg})
	for i := range 2 {
		if b := s.under(neg, s.arg(n, i)); b != none && s.match() {
			s.same(n, s.compute(scalar.Sub, s.arg(n, 1-i), b))
		}
	}
}

// fold computes what only constants go into.
func fold(s *search, n nodeID) {
	var of [3]scalar.Value
	count := int(s.nodes[n].count)
	for i := range count {
		v, ok := s.valueOf(s.arg(n, i))
		if !ok {
			return
		}
		of[i] = v
	}
	h := *s.headOf(n)
	t := s.factsOf(s.classOf(n)).typ
	from := s.factsOf(s.arg(n, count-1)).typ
	if _, ok := s.valueOf(s.classOf(n)); ok || !s.match() {
		return
	}
	if h.kind == tdfg.Convert {
		s.same(n, s.value(t, scalar.Convert(from, t, of[0])))
		return
	}
	s.same(n, s.value(t, scalar.Eval(h.op, from, of[:count]...)))
}

// identity drops an operand that changes nothing, such as 0 in a sum. Only of
// integers: an operation makes a NaN canonical, whatever the other operand.
func identity(s *search, n nodeID) {
	op, t := s.headOf(n).op, s.factsOf(s.classOf(n)).typ
	e, ok := op.Identity(t)
	if !ok || t.Float() || s.nodes[n].count != 2 {
		return
	}
	for i := range 2 {
		if v, ok := s.valueOf(s.arg(n, i)); ok && v == e && s.match() {
			s.same(n, s.arg(n, 1-i))
		}
	}
}
