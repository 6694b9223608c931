package masim

import "math/bits"

// cicppRun is the random CICPP-driven scheduling of section III-B: at each time
// step, the gate and the array of the highest priority among all ready gates
// and all arrays.
//
// To look at all ready gates at each step and yet not touch them all, it keeps
// for each array the ready gates that miss no fanin there, in buckets by the
// number of their partners in the array. Such a gate takes no copy unless the
// array is full of values that must stay, and its change in close partner
// pairs is that number less what is overwritten; so a scan from the top bucket
// down ends as soon as the buckets can hold nothing better. Only when no gate
// can be computed without a copy are all ready gates looked at.
//
// One rule is added to the paper's: see crowd.
type cicppRun struct {
	s       *cicppState
	missing []int8  // per gate: number of fanins not computed yet
	ready   []int32 // gates
	at      []int32 // per node: index in ready, -1 = not ready
	slots   []slot  // place -> where the gate is in the buckets
	buckets [][buckets][]int32
	used    []uint32 // per array: which buckets hold something

	// crowd is the number of rows with gate values that are still needed, above
	// which a gate that would add to it (it is the last use of none of its
	// fanins) is considered only if no other can be computed. The priority knows
	// nothing of the future need for rows, and with thousands of ready gates that
	// take no copy, as in a multiplier, it fills all arrays with values whose
	// partners then have no room.
	crowd int
}

// buckets is their number for an array; the last is for all higher counts.
const buckets = 16

// slot is the place of a ready gate in the buckets of an array:
// index<<5 | bucket, or noSlot.
type slot uint32

const noSlot slot = 1<<32 - 1

// newCicppRun returns a run from a state in which nothing is computed.
func newCicppRun(s *cicppState, crowd int) *cicppRun {
	n := s.net
	r := &cicppRun{
		s:       s,
		missing: make([]int8, n.nodes),
		at:      make([]int32, n.nodes),
		slots:   make([]slot, n.nodes*s.arrays),
		buckets: make([][buckets][]int32, s.arrays),
		used:    make([]uint32, s.arrays),
		crowd:   crowd,
	}
	for i := range r.slots {
		r.slots[i] = noSlot
	}
	for i := range r.at {
		r.at[i] = -1
	}
	for g := int32(n.first); int(g) < n.nodes; g++ {
		for _, f := range n.faninsOf(g) {
			if int(f) >= n.first {
				r.missing[g]++
			}
		}
	}
	for g := int32(n.first); int(g) < n.nodes; g++ {
		if r.missing[g] == 0 {
			r.enter(g)
		}
	}
	return r
}

// enter makes g ready.
func (r *cicppRun) enter(g int32) {
	r.at[g] = int32(len(r.ready))
	r.ready = append(r.ready, g)
	for a := range r.s.at {
		r.refresh(g, a)
	}
}

// leave takes the computed g out.
func (r *cicppRun) leave(g int32) {
	i, last := r.at[g], int32(len(r.ready)-1)
	r.ready[i] = r.ready[last]
	r.at[r.ready[i]] = i
	r.ready = r.ready[:last]
	r.at[g] = -1
	for a := range r.s.at {
		r.unfile(g, a)
	}
}

// refresh files the ready g under the number of its partners in a if it misses
// no fanin there.
func (r *cicppRun) refresh(g int32, a int) {
	s := r.s
	for _, f := range s.net.faninsOf(g) {
		if f != 0 && !s.holds(f, a) {
			r.unfile(g, a)
			return
		}
	}
	b := min(s.cell(g, a).partners, buckets-1)
	sl := &r.slots[s.place(g, a)]
	if *sl != noSlot && *sl&31 == slot(b) {
		return
	}
	r.unfile(g, a)
	*sl = slot(len(r.buckets[a][b]))<<5 | slot(b)
	r.buckets[a][b] = append(r.buckets[a][b], g)
	r.used[a] |= 1 << b
}

func (r *cicppRun) unfile(g int32, a int) {
	sl := &r.slots[r.s.place(g, a)]
	if *sl == noSlot {
		return
	}
	list := &r.buckets[a][*sl&31]
	last := (*list)[len(*list)-1]
	(*list)[*sl>>5] = last
	r.slots[r.s.place(last, a)] = *sl
	*list = (*list)[:len(*list)-1]
	if len(*list) == 0 {
		r.used[a] &^= 1 << (*sl & 31)
	}
	*sl = noSlot
}

// pick returns the choice of the highest priority, array -1 if nothing can be
// computed.
func (r *cicppRun) pick() (gate int32, array int) {
	best := choice{cicpp: impossible, array: -1}
	if r.s.alive > r.crowd {
		r.scan(&best, func(g int32) bool { return !r.adds(g) })
		if best.array >= 0 {
			return best.gate, best.array
		}
	}
	r.pickFree(&best)
	if best.array < 0 || best.copies > 0 {
		r.scan(&best, func(int32) bool { return true })
	}
	return best.gate, best.array
}

// choice is a gate and an array with their priority.
type choice struct {
	cicpp
	gate  int32
	array int
}

func (c *choice) offer(p cicpp, g int32, a int) {
	if p.before(&c.cicpp) {
		c.cicpp, c.gate, c.array = p, g, a
	}
}

// scan offers all ready gates that may be computed.
func (r *cicppRun) scan(best *choice, may func(g int32) bool) {
	s := r.s
	spare := s.spare()
	for _, g := range r.ready {
		if !may(g) {
			continue
		}
		for a := range s.at {
			if s.usable(a, spare) {
				best.offer(s.evaluate(g, a, &best.cicpp), g, a)
			}
		}
	}
}

// pickFree offers the gates that miss no fanin, those that may be the best.
func (r *cicppRun) pickFree(best *choice) {
	s := r.s
	spare := s.spare()
	for a := range s.at {
		if !s.usable(a, spare) {
			continue
		}
		roomy, dups := s.at[a].free() > 0, s.at[a].dups > 0
		least := int32(0) // pairs that end at least when a duplicate is overwritten
		if !roomy && dups {
			// When g is computed, a fanin may lose two partners first.
			least = max(s.leastLoss(a)-2, 0)
		}
		for left := r.used[a]; left != 0; {
			b := bits.Len32(left) - 1
			left &^= 1 << b
			if best.copies == 0 && b < buckets-1 && int32(b) < best.delta {
				break
			}
			for _, g := range r.buckets[a][b] {
				p := cicpp{delta: int32(s.cell(g, a).partners)}
				if best.copies == 0 && p.delta < best.delta {
					continue
				}
				p.tie, p.place = s.tie(g, a), s.place(g, a)
				if roomy || r.dies(g, a) {
					best.offer(p, g, a)
					continue
				}
				p.delta -= least
				if dups && p.before(&best.cicpp) {
					best.offer(s.evaluate(g, a, &best.cicpp), g, a)
				}
			}
			if roomy {
				break // lower buckets hold nothing better
			}
		}
	}
}

// adds reports whether the number of gate values that are needed grows when g
// is computed.
func (r *cicppRun) adds(g int32) bool {
	s := r.s
	if s.dead(g) {
		return false
	}
	for _, f := range s.net.faninsOf(g) {
		if int(f) >= s.net.first && s.uses[f] == 1 && !s.net.keep[f] {
			return false
		}
	}
	return true
}

// dies reports whether a fanin of g in a writable row of a feeds only g.
func (r *cicppRun) dies(g int32, a int) bool {
	s := r.s
	for _, f := range s.net.faninsOf(g) {
		if f != 0 && s.uses[f] == 1 && !s.net.keep[f] && s.cell(f, a).pos >= 0 {
			return true
		}
	}
	return false
}

// commit computes g in a and brings the ready gates up to date.
func (r *cicppRun) commit(g int32, a int) bool {
	s, n := r.s, r.s.net
	mark := len(s.log)
	if !s.commit(g, a) {
		return false
	}
	r.leave(g)
	for _, op := range s.log[mark:] {
		if op.from == opCompute {
			continue
		}
		v, b := op.value, int(op.array)
		if s.uses[v] == 0 {
			continue
		}
		for _, h := range n.fanoutsOf(v) {
			if r.at[h] >= 0 {
				r.refresh(h, b)
			}
		}
		for _, e := range n.edgesOf(v) {
			if r.at[e.other] >= 0 {
				r.refresh(e.other, b)
			}
		}
	}
	for _, h := range n.fanoutsOf(g) {
		if r.missing[h]--; r.missing[h] == 0 {
			r.enter(h)
		}
	}
	return true
}

// schedule runs to the end and appends the gates to order as they are computed.
// It reports false if it got stuck, or if stop said so.
func (r *cicppRun) schedule(order []int32, stop func() bool) ([]int32, bool) {
	for len(r.ready) > 0 {
		if len(order)&stopMask == 0 && stop() {
			return order, false
		}
		g, a := r.pick()
		if a < 0 || !r.commit(g, a) {
			return order, false
		}
		order = append(order, g)
	}
	return order, true
}
