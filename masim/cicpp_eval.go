package masim

// cicpp is the priority of computing a gate in an array (section III-B1): the
// fewer copies the better, then the greater change in the number of close
// partner pairs, then the smaller random rank.
type cicpp struct {
	copies int32
	delta  int32
	tie    uint32
	place  uint64 // decides equal ranks
}

// impossible is worse than every possible choice.
var impossible = cicpp{copies: 1<<31 - 1}

// before reports whether p is the better choice.
func (p *cicpp) before(q *cicpp) bool {
	switch {
	case p.copies != q.copies:
		return p.copies < q.copies
	case p.delta != q.delta:
		return p.delta > q.delta
	case p.tie != q.tie:
		return p.tie < q.tie
	}
	return p.place < q.place
}

// outline is what can be said about gate g in array a without trying it out.
type outline struct {
	copies int32 // at least so many
	delta  int32 // with that many copies, at most so much
	exact  bool  // both are the true figures
}

// unbounded is a change of close partner pairs that nothing reaches.
const unbounded = 1 << 30

// outline bounds the priority of g in a. Most choices need nothing to be
// overwritten, and then it is exact. Where it takes more than limit copies, it
// does not bother with the change in close partner pairs.
func (s *cicppState) outline(g int32, a int, limit int32) outline {
	f := s.net.faninsOf(g)
	var missing [3]int32
	m, dies := int32(0), false
	delta := int32(0)
	for _, v := range f {
		if v == 0 {
			break
		}
		c := s.cell(v, a)
		if c.pos == absent {
			missing[m] = v
			// Each missing fanin becomes the partner, through g, of those
			// placed before it.
			delta += int32(c.partners) + m
			m++
		}
		if s.uses[v] == 1 && c.pos != home && !s.net.keep[v] {
			dies = true
		}
	}
	if m > limit {
		return outline{m, 0, false}
	}
	st := &s.at[a]
	free, dups := int32(st.free()), int32(st.dups)
	delta += int32(s.cell(g, a).partners)
	if free > m || free == m && dies {
		for _, v := range missing[:m] {
			if s.partners(v, g) {
				delta++
			}
		}
		return outline{m, delta, true}
	}
	// A partner of the result may be among the missing fanins.
	delta += m
	switch {
	case m == 0 && dups == 0:
		// The result goes where a value is moved out (case 3). A fanin may lose
		// up to two partners when g is computed.
		if limit < 1 {
			return outline{1, 0, false}
		}
		_, move := s.bestMove(a)
		if move == -unbounded {
			return outline{anyCopies, 0, false} // no array has room
		}
		return outline{1, delta + move + 2, false}
	case m <= free:
		// Only the result overwrites something, a fanin or another duplicate. A
		// fanin may lose up to two partners when g is computed.
		if m == 0 {
			delta -= max(s.leastLoss(a)-2, 0)
		}
		return outline{m, delta, false}
	case m-free <= dups:
		return outline{m, delta - s.leastLoss(a), false}
	}
	// Fanins go where values are moved out, after all duplicates were
	// overwritten. Before a move, up to three duplicates and two values that
	// were moved before may have left a, and the latter may have arrived where
	// the move goes: seven partners more or less.
	moves := m - free - dups
	if m+moves > limit {
		return outline{m + moves, 0, false}
	}
	move, _ := s.bestMove(a)
	if move == -unbounded {
		return outline{anyCopies, 0, false} // no value may be moved, or nowhere
	}
	return outline{m + moves, delta + moves*(move+7), false}
}

// leastLoss is a lower bound of the number of close partner pairs that end when
// a duplicate in a is overwritten.
func (s *cicppState) leastLoss(a int) int32 {
	st := &s.at[a]
	if st.lossAt == s.epoch {
		return st.loss
	}
	least := int32(unbounded)
	for _, v := range st.values[:st.dups] {
		least = min(least, int32(s.cell(v, a).partners))
	}
	st.loss, st.lossAt = least, s.epoch
	return least
}

// bestMove returns upper bounds of the change in close partner pairs when a
// value is moved from a to another array (case 3): to any array, and to one
// that has room for it now. Without a value or an array to move to it is
// -unbounded. When a gate is computed, the loss of a duplicate can become less by
// two, which the second bound allows for.
func (s *cicppState) bestMove(a int) (anywhere, roomy int32) {
	st := &s.at[a]
	if st.moveAt == s.epoch {
		return st.move, st.roomyMove
	}
	anywhere, roomy = -unbounded, -unbounded
	s.targets = s.targets[:0]
	for b := range s.at {
		o := &s.at[b]
		switch {
		case b == a || o.rows == 0:
		case o.free() > 0:
			s.targets = append(s.targets, target{array: int32(b)})
		case o.dups > 0:
			s.targets = append(s.targets, target{array: int32(b), loss: max(s.leastLoss(b)-2, 0)})
		default:
			s.targets = append(s.targets, target{array: int32(b), loss: unbounded})
		}
	}
	for _, v := range st.values {
		c := s.cells[int(v)*s.arrays:][:s.arrays]
		here := int32(c[a].partners)
		for _, t := range s.targets {
			gain := int32(c[t.array].partners) - here
			anywhere = max(anywhere, gain)
			if t.loss < unbounded {
				roomy = max(roomy, gain-t.loss)
			}
		}
	}
	st.move, st.roomyMove, st.moveAt = anywhere, roomy, s.epoch
	return anywhere, roomy
}

// try computes g in a, with the copies that it takes (section III-B2), and
// returns how many copies those are and how the number of close partner pairs
// changes by them; ok = false if there is no way. The changes stay; the caller
// undoes them if the choice is not taken. It gives up once it needs more than
// limit copies.
//
// The pairs that end because g is computed do not count: they end in every
// array alike.
func (s *cicppState) try(g int32, a int, limit int32) (copies, delta int32, ok bool) {
	f := s.net.faninsOf(g)
	for _, v := range f {
		if v == 0 {
			break
		}
		if s.holds(v, a) {
			continue
		}
		c, d, ok := s.makeRoom(a, f)
		copies += c + 1
		if !ok || copies > limit {
			return 0, 0, false
		}
		delta += d + int32(s.cell(v, a).partners)
		s.copyTo(v, a)
	}
	s.compute(g)
	c, d, ok := s.makeRoom(a, nil)
	copies += c
	if !ok || copies > limit {
		return 0, 0, false
	}
	delta += d + int32(s.cell(g, a).partners)
	s.result(g, a)
	return copies, delta, true
}

// makeRoom sees to it that array a has a free row (section III-B3) and keeps
// the values in pinned there. It returns the copies it took and the change in
// the number of close partner pairs.
func (s *cicppState) makeRoom(a int, pinned *[3]int32) (copies, delta int32, ok bool) {
	st := &s.at[a]
	if st.free() > 0 { // case 1
		return 0, 0, true
	}
	if v, loss := s.cheapestDuplicate(a, pinned); v != 0 { // case 2
		s.drop(v, a)
		return 0, -loss, true
	}
	return s.moveOut(a, pinned) // case 3
}

// cheapestDuplicate returns the duplicate in a that forms the fewest close
// partner pairs there, and their number; 0 if there is none.
func (s *cicppState) cheapestDuplicate(a int, pinned *[3]int32) (value, loss int32) {
	best := impossible
	st := &s.at[a]
	for _, v := range st.values[:st.dups] {
		if pinned != nil && (v == pinned[0] || v == pinned[1] || v == pinned[2]) {
			continue
		}
		c := cicpp{delta: -int32(s.cell(v, a).partners), place: s.place(v, a)}
		if c.delta < best.delta && best.copies == 0 {
			continue
		}
		c.tie = s.tie(v, a)
		if c.before(&best) {
			best, value = c, v
		}
	}
	return value, -best.delta
}

// target is an array that a value may be moved to.
type target struct {
	array  int32
	victim int32 // the duplicate overwritten there, 0 = there is a free row
	loss   int32 // close partner pairs that this ends
}

// moveOut copies a value from a to another array, where it takes a free row or
// that of the cheapest duplicate, and frees its row in a.
func (s *cicppState) moveOut(a int, pinned *[3]int32) (copies, delta int32, ok bool) {
	spare := s.spare()
	targets := s.targets[:0]
	for b := range s.at {
		if b == a || s.at[b].rows == 0 || s.isEmpty(b) && b != spare {
			continue
		}
		t := target{array: int32(b)}
		if s.at[b].free() == 0 {
			if t.victim, t.loss = s.cheapestDuplicate(b, nil); t.victim == 0 {
				continue
			}
		}
		targets = append(targets, t)
	}
	s.targets = targets
	best := impossible
	var value int32
	var to target
	for _, v := range s.at[a].values {
		if pinned != nil && (v == pinned[0] || v == pinned[1] || v == pinned[2]) {
			continue
		}
		c := s.cells[int(v)*s.arrays:][:s.arrays]
		here := int32(c[a].partners)
		for _, t := range targets {
			p := cicpp{delta: int32(c[t.array].partners) - here - t.loss}
			if best.copies == 0 && p.delta < best.delta {
				continue
			}
			if t.victim != 0 && s.partners(t.victim, v) {
				p.delta--
			}
			p.tie, p.place = s.tie(v, int(t.array)), s.place(v, int(t.array))
			if p.before(&best) {
				best, value, to = p, v, t
			}
		}
	}
	if value == 0 {
		return 0, 0, false
	}
	if to.victim != 0 {
		s.drop(to.victim, int(to.array))
	}
	s.copyTo(value, int(to.array))
	s.drop(value, a)
	return 1, best.delta, true
}

// isEmpty reports whether a holds nothing at all. Arrays that hold nothing are
// all alike, so only one of them, the spare, is ever considered.
func (s *cicppState) isEmpty(a int) bool { return s.at[a].homes == 0 && len(s.at[a].values) == 0 }

// spare returns the lowest array that holds nothing, or -1.
func (s *cicppState) spare() int {
	for a := range s.at {
		if s.isEmpty(a) {
			return a
		}
	}
	return -1
}

// usable reports whether gates may be considered in a.
func (s *cicppState) usable(a, spare int) bool {
	return s.at[a].rows > 0 && (a == spare || !s.isEmpty(a))
}

// evaluate returns the priority of computing g in a. A choice that is not
// before `than` may come back as impossible.
func (s *cicppState) evaluate(g int32, a int, than *cicpp) cicpp {
	o := s.outline(g, a, than.copies)
	p := cicpp{copies: o.copies, delta: o.delta, tie: s.tie(g, a), place: s.place(g, a)}
	if o.exact || !p.before(than) {
		return p
	}
	mark := len(s.log)
	copies, delta, ok := s.try(g, a, than.copies)
	s.undo(mark)
	if !ok {
		return impossible
	}
	p.copies, p.delta = copies, delta
	return p
}

// bestArray returns the array where g has the highest priority, -1 if g can be
// computed in none.
func (s *cicppState) bestArray(g int32) int {
	best, array := impossible, -1
	spare := s.spare()
	for a := range s.at {
		if !s.usable(a, spare) {
			continue
		}
		if p := s.evaluate(g, a, &best); p.before(&best) {
			best, array = p, a
		}
	}
	return array
}
