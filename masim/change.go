package masim

// Changes of a plan under evaluation. Each keeps the use lists in order and
// widens the span of times that the next try must simulate again.

// dirty widens the span of affected times.
func (e *evaluator) dirty(from, to int32) {
	e.dirtyFrom = min(e.dirtyFrom, from)
	e.dirtyTo = max(e.dirtyTo, to)
}

// findUse returns the index of the use of v at time t.
func (e *evaluator) findUse(v, t int32) int32 {
	lo, hi := e.in.useStart[v], e.in.useEnd[v]
	for hi-lo > 8 {
		m := (lo + hi) / 2
		if e.useTime[m] <= t {
			lo = m
		} else {
			hi = m
		}
	}
	for e.useTime[lo] != t {
		lo++
	}
	return lo
}

// born returns the time from which the state can depend on the future of v if
// it has not been used before t: when it is computed; an input lies in no slot
// before its first use.
func (e *evaluator) born(v, t int32) int32 {
	if v < e.in.first {
		return t
	}
	return e.pos[v-e.in.first]
}

// setArray moves gate g to array b.
func (e *evaluator) setArray(g int32, b uint8) {
	a := e.plan.array[g]
	if a == b {
		return
	}
	t := e.pos[g]
	from := t
	for _, v := range e.in.fanin[g] {
		if v == 0 {
			continue
		}
		k := e.findUse(v, t)
		e.useArray[k] = b
		if e.undoing {
			continue
		}
		if e.exact() {
			from = min(from, e.sinceFlip(v, k, a, b, min(from, e.dirtyFrom)))
			continue
		}
		// The next use of v in a and in b changes from their last uses on.
		seenA, seenB := false, false
		start := e.in.useStart[v]
		for k--; k >= start && !(seenA && seenB); k-- {
			switch e.useArray[k] {
			case a:
				seenA = true
			case b:
				seenB = true
			default:
				continue
			}
			from = min(from, e.useTime[k])
		}
		if !seenA || !seenB {
			from = min(from, e.born(v, t))
		}
		from = min(from, e.earlier(v, from))
	}
	e.plan.array[g] = b
	e.dirty(from, t)
}

// firstUse is the first use in an array among those of a value that are reordered.
type firstUse struct {
	value int32
	k     int32 // index of the value's first use of all that are reordered
	time  int32 // before
	array uint8
	due   uint8 // array of use k, before
}

// setOrder replaces the gates from time lo on by a permutation of themselves.
func (e *evaluator) setOrder(lo int32, gates []int32) {
	order := e.plan.order
	for len(gates) > 0 && order[lo] == gates[0] {
		gates = gates[1:]
		lo++
	}
	for n := len(gates); n > 0 && order[lo+int32(n)-1] == gates[n-1]; n-- {
		gates = gates[:n-1]
	}
	if len(gates) == 0 {
		return
	}
	hi := lo + int32(len(gates))
	from := lo
	exact := e.exact()
	e.firsts = e.firsts[:0]
	// passed is free between runs: it points to each value's first use in the span.
	for _, g := range gates {
		for _, v := range e.in.fanin[g] {
			if v != 0 {
				e.passed[v] = -1
			}
		}
	}
	for t := lo; t < hi; t++ {
		for _, v := range e.in.fanin[order[t]] {
			if v != 0 && e.passed[v] < 0 {
				k := e.findUse(v, t)
				e.passed[v] = k
				switch {
				case e.undoing:
				case exact:
					e.noteFirsts(v, k, lo, hi)
				default:
					from = min(from, e.earlier(v, e.lastBefore(v, k, lo, hi)))
				}
			}
		}
	}
	copy(order[lo:hi], gates)
	for i, g := range gates {
		t := lo + int32(i)
		e.pos[g] = t
		a := e.plan.array[g]
		for _, v := range e.in.fanin[g] {
			if v != 0 {
				k := e.passed[v]
				e.useTime[k], e.useArray[k] = t, a
				e.passed[v] = k + 1
			}
		}
	}
	for _, u := range e.firsts {
		from = min(from, e.sinceReorder(u, min(from, e.dirtyFrom)))
	}
	e.dirty(from, hi-1)
}

// lastBefore returns the time from which the state can depend on the uses of v
// in [lo, hi), the first of which is use k: for each array with such a use, the
// last one before, or when v is computed.
func (e *evaluator) lastBefore(v, k, lo, hi int32) int32 {
	start, end := e.in.useStart[v], e.in.useEnd[v]
	var arrays uint64
	for j := k; j < end && e.useTime[j] < hi; j++ {
		arrays |= 1 << e.useArray[j]
	}
	from := lo
	for k--; k >= start && arrays != 0; k-- {
		if m := uint64(1) << e.useArray[k]; arrays&m != 0 {
			arrays &^= m
			from = min(from, e.useTime[k])
		}
	}
	if arrays != 0 {
		from = min(from, e.born(v, lo))
	}
	return from
}
