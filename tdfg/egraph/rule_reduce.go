package egraph

import "github.com/bitsched/bitsched/tdfg"

// liftReduction takes what happens to the operand of a reduction in other dimensions
// out of it. The groups of a reduction depend on the coordinates in its own
// dimension alone, so these must stay what they are: no bit changes, whatever the
// groups.
func liftReduction(s *search, n nodeID) {
	final := s.nodes[n].head
	dim := s.heads[final].dim
	domain := s.domainOf(s.classOf(n))
	for _, m := range s.each(s.arg(n, 0)) {
		part := s.nodes[m].head
		if h := s.heads[part]; h.kind != tdfg.Reduce || h.dim != dim {
			continue
		}
		operand := s.arg(m, 0)
		s.lists[0] = s.roots(operand, s.lists[0])
		for _, a := range s.lists[0] {
			same := s.interval(s.domainOf(a), dim).Equal(s.interval(s.domainOf(operand), dim))
			if a != operand && same && s.match() {
				s.same(n, s.shrink(domain, s.add(final, s.add(part, a))))
			}
		}
		for _, k := range s.each(operand) {
			h := s.nodes[k].head
			if x := s.heads[h]; (x.kind != tdfg.Move && x.kind != tdfg.Broadcast) || x.dim == dim || !s.match() {
				continue
			}
			s.same(n, s.apply(h, s.add(final, s.add(part, s.arg(k, 0)))))
		}
	}
}
