package egraph

import (
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
)

func moveBroadcast(s *search, n nodeID) {
	x := *s.headOf(n)
	for _, m := range s.each(s.arg(n, 0)) {
		h := *s.headOf(m)
		if h.kind != tdfg.Broadcast || !s.match() {
			continue
		}
		if h.dim == x.dim {
			s.same(n, s.broadcast(s.arg(m, 0), h.dim, s.sum(h.dist, x.dist), h.count))
		} else {
			s.same(n, s.broadcast(s.move(s.arg(m, 0), x.dim, x.dist), h.dim, h.dist, h.count))
		}
	}
}

func broadcastMove(s *search, n nodeID) {
	x := *s.headOf(n)
	for _, m := range s.each(s.arg(n, 0)) {
		h := *s.headOf(m)
		if h.kind != tdfg.Move || !s.match() {
			continue
		}
		if h.dim == x.dim {
			s.same(n, s.broadcast(s.arg(m, 0), x.dim, s.sum(h.dist, x.dist), x.count))
		} else {
			s.same(n, s.move(s.broadcast(s.arg(m, 0), x.dim, x.dist, x.count), h.dim, h.dist))
		}
	}
}

func broadcastBroadcast(s *search, n nodeID) {
	x := *s.headOf(n)
	for _, m := range s.each(s.arg(n, 0)) {
		if h := *s.headOf(m); h.kind == tdfg.Broadcast && h.dim != x.dim && s.match() {
			s.same(n, s.broadcast(s.broadcast(s.arg(m, 0), x.dim, x.dist, x.count), h.dim, h.dist, h.count))
		}
	}
}

func broadcastOne(s *search, n nodeID) {
	x := *s.headOf(n)
	if s.exprs[x.count].Equal(lattice.Const(1)) && s.match() {
		s.same(n, s.move(s.arg(n, 0), x.dim, x.dist))
	}
}

// mergeBroadcasts is 8b from right to left: a broadcast of what is broadcast along
// the same dimension elsewhere becomes a part of one that reaches both.
func mergeBroadcasts(s *search, n nodeID) {
	x := *s.headOf(n)
	a := s.arg(n, 0)
	from := s.interval(s.domainOf(a), x.dim)
	mine := s.domainOf(s.classOf(n))
	parents := s.classes[a].parents
	for _, m := range parents {
		h := s.headOf(m)
		if m == n || s.nodes[m].dead || h.kind != tdfg.Broadcast || h.dim != x.dim {
			continue
		}
		i, j := s.interval(mine, x.dim), s.interval(s.domainOf(s.classOf(m)), x.dim)
		lo, err := s.scope.Space.Min(i.Lo, j.Lo)
		if err != nil {
			continue
		}
		hi, err := s.scope.Space.Max(i.Hi, j.Hi)
		if err != nil || lo.Equal(i.Lo) && hi.Equal(i.Hi) || !s.match() {
			continue
		}
		s.same(n, s.shrink(mine, s.broadcast(a, x.dim, s.expr(lo.Sub(from.Lo)), s.expr(hi.Sub(lo)))))
	}
}
