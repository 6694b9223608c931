package masim

// commit computes g in a for good.
func (s *cicppState) commit(g int32, a int) bool {
	_, _, ok := s.try(g, a, 1<<31-1)
	s.epoch++
	return ok
}

// step computes g in the array where its priority is highest, which is one
// turn of the CICPP-driven instruction generation of section III-C. If there is
// no such array, it reports false and leaves s as it was.
func (s *cicppState) step(g int32) bool {
	a := s.bestArray(g)
	return a >= 0 && s.commit(g, a)
}

// instructions is the CICPP-driven instruction generation of section III-C: it
// computes the gates in the given order, each in the array where its priority
// is highest. It reports whether all could be computed; if not, s is left where
// it got stuck.
func (s *cicppState) instructions(order []int32) bool {
	for _, g := range order {
		if !s.step(g) {
			return false
		}
	}
	return true
}
