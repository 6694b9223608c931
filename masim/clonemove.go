package masim

import "slices"

// cloneShare is one in how many moves is one of clones, where there are any.
const cloneShare = 3

// clones are those of an instance: what withClones takes.
type clones struct {
	root  []int32
	fanin [][3]int32
}

// newClones returns n idle clones.
func (in *instance) newClones(n int) *clones {
	c := &clones{root: make([]int32, n), fanin: make([][3]int32, int(in.gates)+n)}
	copy(c.fanin, in.fanin)
	for i := range c.root {
		c.root[i] = idle
	}
	return c
}

func (c *clones) clone() *clones { return &clones{slices.Clone(c.root), slices.Clone(c.fanin)} }

// saveClones copies the clones of the instance to c, or to new ones if it is nil.
func (in *instance) saveClones(c *clones) *clones {
	if c == nil {
		return (&clones{in.root, in.fanin}).clone()
	}
	copy(c.root, in.root)
	copy(c.fanin, in.fanin)
	return c
}

// cloneChange is a change of clones that can be undone.
type cloneChange struct {
	kind  uint8
	array uint8 // changeRoot: before
	fanin uint8 // changeFanin: index
	gate  int32
	a, b  int32 // changeFanin: value before; changeRoot: root before; changeTime: times before and after
}

const (
	changeFanin = iota
	changeRoot
	changeTime
)

func (s *search) undoClone(c cloneChange) {
	switch c.kind {
	case changeFanin:
		s.ev.setFanin(c.gate, int(c.fanin), c.a)
	case changeRoot:
		s.ev.setRoot(c.gate, c.a, c.array)
	case changeTime:
		s.rotate(c.b, c.a)
	}
}

// rotate moves the gate at time p to time q; those between move by one.
func (s *search) rotate(p, q int32) {
	order := s.ev.plan.order
	s.span = s.span[:0]
	if p < q {
		s.span = append(append(s.span, order[p+1:q+1]...), order[p])
		s.ev.setOrder(p, s.span)
	} else if q < p {
		s.span = append(append(s.span, order[p]), order[q:p]...)
		s.ev.setOrder(q, s.span)
	}
}

func (s *search) setFanin(u int32, j int, v int32) bool {
	old := s.in.fanin[u][j]
	if old == v {
		return true
	}
	if v != 0 && s.in.full(v) {
		return false
	}
	s.undoClones = append(s.undoClones, cloneChange{kind: changeFanin, gate: u, fanin: uint8(j), a: old})
	s.ev.setFanin(u, j, v)
	return true
}

func (s *search) setRoot(c, root int32, array uint8) {
	s.undoClones = append(s.undoClones, cloneChange{kind: changeRoot, gate: c, a: s.in.root[c-s.in.base], array: s.ev.plan.array[c]})
	s.ev.setRoot(c, root, array)
}

// proposeClones adds a clone or a few, ahead of a copy, takes one away, or lets a
// gate read another clone; false if that came to nothing.
func (s *search) proposeClones() bool {
	in, ev := s.in, s.ev
	if ev.events == 0 {
		return false
	}
	e := s.copyEvent()
	x := ev.plan.order[e.time]
	if x >= in.base && e.value == in.first+x && s.r.IntN(2) == 0 {
		return s.removeClone(x)
	}
	v := e.value
	if v < in.first {
		return false
	}
	// The next use, if it is not the one that the event is for.
	if k := ev.firstUse(v, e.time); k < in.useEnd[v] {
		x = ev.plan.order[ev.useTime[k]]
	} else {
		return false
	}
	if s.r.IntN(4) == 0 {
		return s.readOther(x, v)
	}
	t := ev.pos[x]
	a := ev.plan.array[x]
	if s.r.IntN(2) == 0 { // as early as a fanin of it is read in the array
		f := in.fanin[v-in.first][s.r.IntN(3)]
		if f == 0 {
			return false
		}
		for k := ev.firstUse(f, t) - 1; k >= in.useStart[f]; k-- {
			if ev.useArray[k] == a {
				t = min(ev.useTime[k]+1, t)
				break
			}
		}
	} else if s.r.IntN(2) == 0 {
		t -= s.distance(t)
	}
	c := s.addClone(v, a, ev.plan.order[t], 0)
	if c < 0 {
		return false
	}
	return s.take(v, c, s.r.IntN(2) == 0)
}

// take lets clone c be read in place of v by gates that run later, all or those
// in its array only. Some must still read v.
func (s *search) take(v, c int32, all bool) bool {
	in, ev := s.in, s.ev
	a := ev.plan.array[c]
	s.taken = s.taken[:0]
	for k := ev.firstUse(v, ev.pos[c]); k < in.useEnd[v] && len(s.taken) < cloneUses; k++ {
		if all || ev.useArray[k] == a {
			s.taken = append(s.taken, ev.plan.order[ev.useTime[k]])
		}
	}
	if len(s.taken) == 0 || len(s.taken) == len(in.uses(v)) && !in.isOut[v] {
		return false
	}
	for _, u := range s.taken {
		if !s.setFanin(u, slices.Index(in.fanin[u][:], v), in.first+c) {
			return false
		}
	}
	return true
}

// cloneDepth is how many levels of gates a move clones at the most.
const cloneDepth = 3

// addClone makes a clone of the gate of v that runs in array a right before gate
// x. Fanins that nothing needs at that time any more are cloned too. It returns
// the clone, -1 if there is none.
func (s *search) addClone(v int32, a uint8, x int32, depth int) int32 {
	in, ev := s.in, s.ev
	c := s.idleNear(ev.pos[x])
	if c < 0 {
		return -1
	}
	p, q := ev.pos[c], ev.pos[x]
	if p < q {
		q--
	}
	s.undoClones = append(s.undoClones, cloneChange{kind: changeTime, a: p, b: q})
	s.rotate(p, q)
	s.setRoot(c, in.rootOf(v)-in.first, a)
	for j, f := range in.fanin[v-in.first] {
		if f == 0 {
			continue
		}
		if f >= in.first {
			if f = s.instanceBefore(f, q); f < 0 {
				return -1
			}
			if k := in.useEnd[f]; (k == in.useStart[f] || ev.useTime[k-1] < q) && !in.isOut[f] && depth < cloneDepth && s.r.IntN(4) != 0 {
				d := s.addClone(f, a, c, depth+1)
				if d < 0 {
					return -1
				}
				f = in.first + d
				q = ev.pos[c]
			}
		}
		if !s.setFanin(c, j, f) {
			return -1
		}
	}
	return c
}

// instanceBefore returns a value that is the same as v, v itself or that of its
// gate or of a clone of it, which is computed before time t; -1 if there is none.
func (s *search) instanceBefore(v, t int32) int32 {
	in, pos := s.in, s.ev.pos
	if pos[v-in.first] < t {
		return v
	}
	if r := in.rootOf(v); pos[r-in.first] < t {
		return r
	}
	return -1
}

// idleNear returns an idle clone that stands near time t in the order, -1 if
// there is none.
func (s *search) idleNear(t int32) int32 {
	const reach = 256
	order := s.ev.plan.order
	for d := range int32(reach) {
		if p := t - d; p >= 0 && s.in.isIdle(order[p]) {
			return order[p]
		}
		if p := t + d; p < s.in.gates && s.in.isIdle(order[p]) {
			return order[p]
		}
	}
	return -1
}

// removeClone makes a clone idle, and clones that only it reads; what reads it
// reads its gate instead.
func (s *search) removeClone(c int32) bool {
	in, ev := s.in, s.ev
	v := in.first + c
	r := in.rootOf(v)
	for in.useEnd[v] > in.useStart[v] {
		k := in.useEnd[v] - 1
		u := ev.plan.order[ev.useTime[k]]
		if ev.pos[u] <= ev.pos[r-in.first] || !s.setFanin(u, slices.Index(in.fanin[u][:], v), r) {
			return false
		}
	}
	for j, f := range in.fanin[c] {
		if f == 0 {
			continue
		}
		s.setFanin(c, j, 0)
		if d := f - in.first; d >= in.base && in.useEnd[f] == in.useStart[f] {
			s.removeClone(d)
		}
	}
	s.setRoot(c, idle, idleArray)
	return true
}

// readOther lets gate x read, in place of value v, its gate or a clone of it that
// runs earlier.
func (s *search) readOther(x, v int32) bool {
	in, ev := s.in, s.ev
	r := in.rootOf(v)
	s.taken = s.taken[:0]
	if r != v && ev.pos[r-in.first] < ev.pos[x] {
		s.taken = append(s.taken, r)
	}
	for c, root := range in.root {
		w := in.first + in.base + int32(c)
		if root == r-in.first && w != v && ev.pos[w-in.first] < ev.pos[x] {
			s.taken = append(s.taken, w)
		}
	}
	if len(s.taken) == 0 {
		return false
	}
	w := s.taken[s.r.IntN(len(s.taken))]
	if !s.setFanin(x, slices.Index(in.fanin[x][:], v), w) {
		return false
	}
	if c := v - in.first; c >= in.base && in.useEnd[v] == in.useStart[v] {
		return s.removeClone(c)
	}
	return true
}
