package masim

import "math/bits"

// pieceSet is a set of the gates of a piece, of which there are at most 128.
type pieceSet [2]uint64

func (s *pieceSet) has(i int32) bool { return s[i>>6]>>(i&63)&1 != 0 }
func (s *pieceSet) add(i int32)      { s[i>>6] |= 1 << (i & 63) }

// piece is a small part of a netlist, to be scheduled for the fewest rows: the
// least peak of live values, counted after each gate. Gates are 0 to n-1 in
// topological order; the values are those of the gates and those computed before
// that the piece reads, from n on. A value is live from when it is computed until
// its last use in the piece, and to the end if it is kept.
type piece struct {
	n      int
	fanins [][3]int32 // by gate: values, -1 = none
	users  []pieceSet // by value: gates that read it
	kept   []bool     // by value
	start  int        // values live at the start

	failed map[pieceSet]struct{} // states that do not lead to the end within the rows
	budget int                   // states that may still be looked at
	order  []int32               // gates so far
	states []pieceState          // by depth, scratch
}

// pieceState is a moment of a schedule: the gates computed.
type pieceState struct {
	done    pieceSet
	live    int
	length  int // of order
	targets []pieceTarget
	next    int
}

// pieceTarget is a way to go on: compute the gates of a set, in order.
type pieceTarget struct {
	gates pieceSet
	count int
}

func (p *piece) isLive(v int32, done *pieceSet) bool {
	u := &p.users[v]
	return p.kept[v] || u[0]&^done[0]|u[1]&^done[1] != 0
}

// compute adds gate g to done, all its fanins being there, and returns the
// change in live values.
func (p *piece) compute(g int32, done *pieceSet) int {
	done.add(g)
	change := 0
	if p.isLive(g, done) {
		change++
	}
	for _, v := range p.fanins[g] {
		if v >= 0 && !p.isLive(v, done) {
			change--
		}
	}
	return change
}

// peak returns the most values that are live after any gate of the order.
func (p *piece) peak(order []int32) int {
	var done pieceSet
	live := p.start
	most := live
	for _, g := range order {
		live += p.compute(g, &done)
		most = max(most, live)
	}
	return most
}

// schedule returns an order of the fewest rows, starting from one that is known,
// and whether it is proven that there is none with fewer. At most budget states
// are looked at.
func (p *piece) schedule(known []int32, budget int) (order []int32, optimal bool) {
	order = known
	peak := p.peak(order)
	var done pieceSet
	end := p.start
	for _, g := range order {
		end += p.compute(g, &done)
	}
	p.budget = budget
	for peak > max(p.start, end) {
		found := p.search(peak - 1)
		if !found {
			return order, p.budget > 0
		}
		order = append([]int32(nil), p.order...)
		peak = p.peak(order)
	}
	return order, true
}

// search looks for an order that never has more than rows values live, and leaves
// it in p.order.
//
// It goes from one value that is removed to the next. Until the first is, every
// gate adds a live value, so all gates but those that the removal depends on (the
// value's readers and their ancestors, in any order) can as well wait until right
// after it. And a gate that does not raise the number of live values can always
// be computed at once.
func (p *piece) search(rows int) bool {
	p.failed = map[pieceSet]struct{}{}
	p.order = p.order[:0]
	if len(p.states) == 0 {
		p.states = make([]pieceState, p.n+2)
	}
	done, live := p.settle(pieceSet{}, p.start)
	p.enter(0, done, live, rows)
	for depth := 0; depth >= 0; {
		s := &p.states[depth]
		if s.next == len(s.targets) {
			if p.finish(s) {
				return true
			}
			p.failed[s.done] = struct{}{}
			depth--
			continue
		}
		if p.budget == 0 {
			return false
		}
		p.budget--
		t := &s.targets[s.next]
		s.next++
		p.order = p.order[:s.length]
		done, live := s.done, s.live
		for w := range t.gates {
			for left := t.gates[w]; left != 0; left &= left - 1 {
				g := int32(w<<6 | bits.TrailingZeros64(left))
				live += p.compute(g, &done)
				p.order = append(p.order, g)
			}
		}
		done, live = p.settle(done, live)
		if _, known := p.failed[done]; !known {
			depth++
			p.enter(depth, done, live, rows)
		}
	}
	return false
}

// settle computes gates that are ready and do not raise the number of live
// values, until there are none.
func (p *piece) settle(done pieceSet, live int) (pieceSet, int) {
	for again := true; again; {
		again = false
		for g := range int32(p.n) {
			if done.has(g) || !p.ready(g, &done) {
				continue
			}
			after := done
			if c := p.compute(g, &after); c <= 0 {
				done, live, again = after, live+c, true
				p.order = append(p.order, g)
			}
		}
	}
	return done, live
}

func (p *piece) ready(g int32, done *pieceSet) bool {
	for _, v := range p.fanins[g] {
		if v >= 0 && int(v) < p.n && !done.has(v) {
			return false
		}
	}
	return true
}

// enter makes a state and lists the ways to go on from it, those with the fewest
// gates first. All but the last gate of a target may add a live value, and the
// rows suffice for them.
func (p *piece) enter(depth int, done pieceSet, live, rows int) {
	s := &p.states[depth]
	*s = pieceState{done: done, live: live, length: len(p.order), targets: s.targets[:0]}
	most := rows - live + 1
	for v := range p.users {
		if p.kept[v] {
			continue
		}
		var t pieceTarget
		ok := true
		u := p.users[v]
		if u == (pieceSet{}) && !done.has(int32(v)) {
			ok = p.need(&t, int32(v), &done, most) // a gate that nothing reads
		}
		for w := range u {
			for left := u[w] &^ done[w]; left != 0 && ok; left &= left - 1 {
				ok = p.need(&t, int32(w<<6|bits.TrailingZeros64(left)), &done, most)
			}
		}
		if !ok || t.count == 0 {
			continue
		}
		i := len(s.targets)
		s.targets = append(s.targets, t)
		for i > 0 && s.targets[i-1].count > t.count {
			s.targets[i] = s.targets[i-1]
			i--
		}
		s.targets[i] = t
	}
}

// need adds g and what has to be computed before it to t; false if that makes
// more than most gates.
func (p *piece) need(t *pieceTarget, g int32, done *pieceSet, most int) bool {
	if int(g) >= p.n || done.has(g) || t.gates.has(g) {
		return true
	}
	t.gates.add(g)
	if t.count++; t.count > most {
		return false
	}
	for _, v := range p.fanins[g] {
		if v >= 0 && !p.need(t, v, done, most) {
			return false
		}
	}
	return true
}

// finish computes the rest if all of it only adds values, which are then all
// live at the end. The rows suffice, for the end of every order is the same.
func (p *piece) finish(s *pieceState) bool {
	p.order = p.order[:s.length]
	done := s.done
	for g := range int32(p.n) {
		if done.has(g) {
			continue
		}
		if p.compute(g, &done) <= 0 {
			return false
		}
		p.order = append(p.order, g)
	}
	return true
}
