package egraph

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
)

// findHulls finds for each array the least rectangle around its tensors in a graph:
// the only one that expand makes tensors as large as. Where the order of bounds is
// not decided it goes to the end of the array.
func (g *graph) findHulls(from *tdfg.Graph) {
	hulls := make([]lattice.Rect, len(from.Arrays))
	for i := range from.Nodes {
		n := &from.Nodes[i]
		if n.Kind != tdfg.Tensor {
			continue
		}
		h := hulls[n.Array]
		if h == nil {
			hulls[n.Array] = n.Rect
			continue
		}
		all := from.ArrayRect(n.Array)
		h = slices.Clone(h)
		for d, x := range n.Rect {
			var err error
			if h[d].Lo, err = from.Space.Min(h[d].Lo, x.Lo); err != nil {
				h[d].Lo = all[d].Lo
			}
			if h[d].Hi, err = from.Space.Max(h[d].Hi, x.Hi); err != nil {
				h[d].Hi = all[d].Hi
			}
		}
		hulls[n.Array] = h
	}
	g.hulls = make([]rectID, len(hulls))
	for i, h := range hulls {
		g.hulls[i] = g.rect(h)
	}
}

func expand(s *search, n nodeID) {
	h := *s.headOf(n)
	hull := s.hulls[h.index]
	if hull == h.rect || !s.match() {
		return
	}
	s.same(n, s.shrink(h.rect, s.tensor(h.index, hull)))
}

func narrowTensor(s *search, n nodeID) {
	r := s.headOf(n).rect
	for _, m := range s.each(s.arg(n, 0)) {
		if h := *s.headOf(m); h.kind == tdfg.Tensor && s.match() {
			h.rect = r
			s.same(n, s.add(s.head(h)))
		}
	}
}

func shrinkShrink(s *search, n nodeID) {
	r := s.headOf(n).rect
	for _, m := range s.each(s.arg(n, 0)) {
		if s.headOf(m).kind == tdfg.Shrink && s.match() {
			s.same(n, s.shrink(r, s.arg(m, 0)))
		}
	}
}

// liftShrink rewrites an operation of one operand that is a part of something.
func liftShrink(s *search, n nodeID) {
	a := s.arg(n, 0)
	s.lists[0] = s.roots(a, s.lists[0])
	for _, b := range s.lists[0] {
		if b != a && s.match() {
			s.same(n, s.shrink(s.domainOf(s.classOf(n)), s.apply(s.nodes[n].head, b)))
		}
	}
}

func liftShrinkMove(s *search, n nodeID)      { liftShrink(s, n) }
func liftShrinkBroadcast(s *search, n nodeID) { liftShrink(s, n) }

// liftShrinkCompute makes all operands as large as they can be at once: what lies
// between is of no use, since it takes part in less.
func liftShrinkCompute(s *search, n nodeID) {
	args := s.argsOf(n)
	if len(args) > 3 {
		return
	}
	combinations := 1
	for i, a := range args {
		s.lists[i] = s.roots(a, s.lists[i])
		combinations *= len(s.lists[i])
	}
	var of [3]classID
	for k := range min(combinations, maxCombinations) {
		differ := false
		for i, a := range args {
			of[i] = s.lists[i][k%len(s.lists[i])]
			k /= len(s.lists[i])
			differ = differ || of[i] != s.find(a)
		}
		if !differ || !s.match() {
			continue
		}
		s.same(n, s.shrink(s.domainOf(s.classOf(n)), s.add(s.nodes[n].head, of[:len(args)]...)))
		args = s.argsOf(n)
	}
}

// maxCombinations bounds the choices of operands that one node is rewritten with.
const maxCombinations = 8

func sinkShrinkMove(s *search, n nodeID) {
	r := s.headOf(n).rect
	for _, m := range s.each(s.arg(n, 0)) {
		h := s.heads[s.nodes[m].head]
		if h.kind != tdfg.Move || !s.match() {
			continue
		}
		// What was moved out of bounds need not be cut off.
		a := s.arg(m, 0)
		i := s.interval(s.domainOf(a), h.dim)
		if to := s.interval(r, h.dim); !to.Equal(s.interval(s.domainOf(s.classOf(m)), h.dim)) {
			i = to.Shift(s.exprs[h.dist].Scale(-1))
		}
		s.same(n, s.move(s.shrink(s.rect(s.rects[r].With(int(h.dim), i)), a), h.dim, h.dist))
	}
}

func sinkShrinkBroadcast(s *search, n nodeID) {
	r := s.headOf(n).rect
	for _, m := range s.each(s.arg(n, 0)) {
		h := s.heads[s.nodes[m].head]
		if h.kind != tdfg.Broadcast || !s.match() {
			continue
		}
		a := s.arg(m, 0)
		from, to := s.interval(s.domainOf(a), h.dim), s.interval(r, h.dim)
		b := s.shrink(s.rect(s.rects[r].With(int(h.dim), from)), a)
		s.same(n, s.broadcast(b, h.dim, s.expr(to.Lo.Sub(from.Lo)), s.expr(to.Len())))
	}
}

func sinkShrinkCompute(s *search, n nodeID) {
	r := s.headOf(n).rect
	for _, m := range s.each(s.arg(n, 0)) {
		if !isPointwise(s.headOf(m).kind) || !s.match() {
			continue
		}
		s.mapArgs(n, m, func(a classID) classID { return s.shrink(r, a) })
	}
}

// mapArgs says that n is the operation m on operands that are changed by f,
// constants as they are.
func (s *search) mapArgs(n, m nodeID, f func(a classID) classID) {
	var of [3]classID
	count := int(s.nodes[m].count)
	if count > len(of) {
		return
	}
	for i := range count {
		if of[i] = s.arg(m, i); !s.constant(of[i]) {
			of[i] = f(of[i])
		}
	}
	s.same(n, s.add(s.nodes[m].head, of[:count]...))
}
