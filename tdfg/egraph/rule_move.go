package egraph

import "github.com/bitsched/bitsched/tdfg"

func liftMove(s *search, n nodeID)      { lift(s, n, tdfg.Move) }
func liftBroadcast(s *search, n nodeID) { lift(s, n, tdfg.Broadcast) }

// lift takes a move or broadcast that all operands have, constants apart, out of a
// computation.
func lift(s *search, n nodeID, kind tdfg.Kind) {
	var of [3]classID
	count := int(s.nodes[n].count)
	first := 0
	for first < count && s.constant(s.arg(n, first)) {
		first++
	}
	if first == count || count > len(of) {
		return
	}
	for _, m := range s.each(s.arg(n, first)) {
		h := s.nodes[m].head
		if s.heads[h].kind != kind {
			continue
		}
		all := true
		for i := 0; i < count && all; i++ {
			switch a := s.arg(n, i); {
			case i == first:
				of[i] = s.arg(m, 0)
			case s.constant(a):
				of[i] = a
			default:
				of[i] = s.under(h, a)
				all = of[i] != none
			}
		}
		if all && s.match() {
			s.same(n, s.apply(h, s.add(s.nodes[n].head, of[:count]...)))
		}
	}
}

// under returns the class of which c is the result by an operation of one operand,
// or none.
func (s *search) under(h headID, c classID) classID {
	for _, n := range s.each(c) {
		if s.nodes[n].head == h {
			return s.arg(n, 0)
		}
	}
	return none
}

// sink applies a move or broadcast of a computation to its operands.
func sink(s *search, n nodeID) {
	for _, m := range s.each(s.arg(n, 0)) {
		if isPointwise(s.headOf(m).kind) && s.match() {
			s.mapArgs(n, m, func(a classID) classID { return s.apply(s.nodes[n].head, a) })
		}
	}
}

func moveMove(s *search, n nodeID) {
	x := *s.headOf(n)
	for _, m := range s.each(s.arg(n, 0)) {
		if h := *s.headOf(m); h.kind == tdfg.Move && h.dim == x.dim && s.match() {
			s.same(n, s.move(s.arg(m, 0), x.dim, s.sum(x.dist, h.dist)))
		}
	}
}

func exchangeMoves(s *search, n nodeID) {
	x := *s.headOf(n)
	for _, m := range s.each(s.arg(n, 0)) {
		if h := *s.headOf(m); h.kind == tdfg.Move && h.dim != x.dim && s.match() {
			s.same(n, s.move(s.move(s.arg(m, 0), x.dim, x.dist), h.dim, h.dist))
		}
	}
}
