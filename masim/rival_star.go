package masim

// starOrder is the execution sequence of STAR [9]: it goes for the value in
// memory that can be removed soonest, that is for which the fewest gates are left
// to compute until all its fanouts are, and takes the first gate that is ready
// among those. While there is no such value it takes the ready gate whose own
// result could be removed soonest.
//
// Inputs and outputs are never removed. An output comes last of the ready gates.
//
// The MASIM paper says "the minimum number of nodes that need to be computed
// before node v can be removed". Taking v to be the ready gate itself throughout
// gives 963 copies in the geometric mean over Table II, in a first run, and up to
// four times the rows; this reading gives 818 and lands near each figure of the
// paper (835).
//
// It takes time in proportion to the gates times the values live at once, a tenth
// of a second for log2, and returns nil if stop says so.
func starOrder(net *cicppNet, r ranks, stop func() bool) []int32 {
	s := &star{
		net:     net,
		r:       r,
		missing: pendingFanins(net),
		uses:    append([]int32(nil), net.uses...),
		done:    make([]bool, net.nodes),
		seen:    make([]int32, net.nodes),
	}
	for g := int32(net.first); int(g) < net.nodes; g++ {
		if s.missing[g] == 0 {
			s.enter(g)
		}
	}
	order := make([]int32, 0, net.gates())
	for {
		if len(order)&stopMask == 0 && stop() {
			return nil
		}
		g := s.next()
		if g == 0 {
			return order
		}
		order = append(order, g)
		s.compute(g)
	}
}

type star struct {
	net     *cicppNet
	r       ranks
	missing []int8  // by gate: fanins to compute
	uses    []int32 // by value: fanouts to compute
	done    []bool

	// A key of live and ready is the step at which its count was made plus the
	// count: since a gate computed takes at most one from each count, the count
	// is now at least that less the present step.
	live    gateHeap // values in memory; some may have been removed since
	ready   gateHeap // gates; some may have been computed since
	outputs gateHeap // ready gates that drive outputs, too
	step    uint32

	seen    []int32 // by node: stamp of the count that met it
	stamp   int32
	stack   []int32
	counted []gateKey
}

// starReach is how many gates a count looks at, at least, before it gives up. It
// decides nothing: fewer make it give up, and count again, more often.
const starReach = 32

// enter makes g ready.
func (s *star) enter(g int32) {
	if s.net.keep[g] {
		s.outputs.push(gateKey{0, s.r.of(g), g})
	} else {
		s.ready.push(gateKey{s.step, s.r.of(g), g})
	}
}

// next returns the gate to compute, 0 if all are.
func (s *star) next() int32 {
	if v := s.first(&s.live, func(v int32) bool { return s.uses[v] == 0 }); v != 0 {
		_, _, g := s.count(v, ^uint32(0))
		return g
	}
	isDone := func(g int32) bool { return s.done[g] }
	if g := s.first(&s.ready, isDone); g != 0 {
		return g
	}
	for len(s.outputs) > 0 {
		if g := s.outputs.pop().gate; !s.done[g] {
			return g
		}
	}
	return 0
}

// first returns the value of the lowest count in the heap, 0 if it is empty, and
// takes the entries that are gone out of the heap.
func (s *star) first(h *gateHeap, gone func(v int32) bool) int32 {
	best := gateKey{priority: ^uint32(0)}
	s.counted = s.counted[:0]
	for len(*h) > 0 && (best.gate == 0 || (*h)[0].priority <= best.priority) {
		k := h.pop()
		if gone(k.gate) {
			continue
		}
		count, exact, _ := s.count(k.gate, max(2*(k.priority-s.step), starReach))
		k.priority = s.step + count
		if !exact {
			h.push(k)
			continue
		}
		if k.before(best) {
			best = k
		}
		s.counted = append(s.counted, k)
	}
	for _, k := range s.counted {
		h.push(k)
	}
	return best.gate
}

func (s *star) compute(g int32) {
	s.done[g] = true
	s.step++
	for _, f := range s.net.faninsOf(g) {
		s.uses[f]--
	}
	if s.uses[g] > 0 && !s.net.keep[g] {
		s.live.push(gateKey{s.step, s.r.of(g), g})
	}
	for _, h := range s.net.fanoutsOf(g) {
		if s.missing[h]--; s.missing[h] == 0 {
			s.enter(h)
		}
	}
}

// count returns how many gates have to be computed until v is needed no more,
// itself left out, and the first of them that is ready. It stops above the limit;
// what it returns is then a lower bound.
func (s *star) count(v int32, limit uint32) (count uint32, exact bool, ready int32) {
	s.stamp++
	s.seen[v] = s.stamp
	s.stack = s.stack[:0]
	best := gateKey{priority: 1}
	meet := func(g int32) {
		if int(g) < s.net.first || s.done[g] || s.seen[g] == s.stamp {
			return
		}
		s.seen[g] = s.stamp
		s.stack = append(s.stack, g)
		count++
		if s.missing[g] == 0 {
			if k := (gateKey{0, s.r.of(g), g}); k.before(best) {
				best = k
			}
		}
	}
	for _, h := range s.net.fanoutsOf(v) {
		meet(h)
	}
	for len(s.stack) > 0 && count <= limit {
		g := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		for _, f := range s.net.faninsOf(g) {
			meet(f)
		}
	}
	return count, count <= limit, best.gate
}
