package masim

// anyCopies limits nothing.
const anyCopies = 1<<31 - 1

// commit computes g in a for good.
func (s *cicppState) commit(g int32, a int) bool {
	_, _, ok := s.try(g, a, anyCopies)
	s.epoch++
	return ok
}

// step computes g in the array where its priority is highest: one turn of the
// CICPP-driven instruction generation of section III-C. If there is no such
// array, it reports false and leaves s as it was.
func (s *cicppState) step(g int32) bool {
	a := s.bestArray(g)
	return a >= 0 && s.commit(g, a)
}

// instructions is the CICPP-driven instruction generation of section III-C: it
// computes the gates in the given order, each in the array where its priority
// is highest. It reports whether all could be computed. If not, or if stop says
// so, s is left where it got to.
func (s *cicppState) instructions(order []int32, stop func() bool) bool {
	for i, g := range order {
		if i&stopMask == 0 && stop() || !s.step(g) {
			return false
		}
	}
	return true
}

// stopMask says how often a schedule looks whether it is to stop: whenever
// the time step has none of these bits set.
const stopMask = 1<<12 - 1

// steps turns the log of a schedule into instructions with rows. A value takes
// the free row that was given up last, or the lowest one never used.
func (s *cicppState) steps() []step {
	rowOf := make([]uint16, len(s.cells))
	free := make([][]uint16, s.arrays)
	fresh := make([]uint16, s.arrays)
	for a := range fresh {
		fresh[a] = uint16(s.at[a].homes)
	}
	out := make([]step, 0, s.net.gates()+s.copies)
	for _, op := range s.log {
		a := int(op.array)
		switch op.from {
		case opCompute:
		case opDrop:
			free[a] = append(free[a], rowOf[s.place(op.value, a)])
		default:
			var r uint16
			if k := len(free[a]); k > 0 {
				r, free[a] = free[a][k-1], free[a][:k-1]
			} else {
				r = fresh[a]
				fresh[a]++
			}
			rowOf[s.place(op.value, a)] = r
			from := int32(computed)
			if op.from >= 0 {
				from = int32(op.from)
			}
			out = append(out, step{op.value, uint16(a), r, from})
		}
	}
	return out
}
