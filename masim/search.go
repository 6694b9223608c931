package masim

import (
	"context"
	"math"
	"math/rand/v2"
)

// search is simulated annealing of a plan on its exact number of copies.
//
// Moves change a little at a time: the array of a gate or of a few joined
// gates, or the place of a gate in the order together with those of its
// ancestors or descendants that stand in its way. Three in four start from a
// copy of the current schedule, since only there is something to gain.
type search struct {
	in     *instance
	ev     *evaluator
	r      *rand.Rand
	cost   int
	best   int
	bestPl *plan
	floor  int     // cost to stop at
	arrays []uint8 // arrays that gates may be computed in

	front *frontier // proposes orders; shares the order and positions of ev
	net   flowNet

	mark   []int32
	parked []parking // by value
	node   []int32   // by value: node of net
	seen   []int32   // by value: stamp
	stamp  int32
	queue  []int32
	span   []int32

	undoGates  []int32 // gates whose array was changed, in order
	undoArrays []uint8
	undoLo     int32
	undoOrder  []int32
	undoClones []cloneChange // where the move is one of clones, and then nothing else
	bestClones *clones       // of bestPl, nil where the instance has none
	taken      []int32
}

func newSearch(ctx context.Context, in *instance, pl *plan, arrays []uint8, c *costs, r *rand.Rand) *search {
	s := &search{in: in, ev: newEvaluator(in, pl, true), r: r, arrays: arrays}
	s.ev.ctx, s.ev.costs = ctx, c
	s.mark = make([]int32, in.gates)
	s.node = make([]int32, in.values)
	s.seen = make([]int32, in.values)
	s.front = newFrontier(in, pl.order, int(arrays[0]), r)
	s.front.order, s.front.pos = pl.order, s.ev.pos
	if c == nil {
		pl.stores = uint64(1)<<in.arrays - 1
		for _, a := range arrays {
			pl.stores &^= 1 << a
		}
	}
	if s.cost = s.ev.reset(); s.cost == infeasible && pl.stores != 0 {
		pl.stores = 0
		s.cost = s.ev.reset()
	}
	s.best = s.cost
	s.bestPl = pl.clone()
	if in.gates > in.base {
		s.bestClones = in.saveClones(nil)
	}
	return s
}

// detour is how many times the first temperature a trial may be dearer on the way than in the
// end to be simulated to its end: few of those that are turn out well.
const detour = 8

// doubt is by how many copies a trial may turn out cheaper than it looks where its changes are over: next
// to none does by more.
const doubt = 1

// anneal runs until `work` more steps have been simulated, cooling from one
// temperature (in copies) to another, and keeps the best plan.
func (s *search) anneal(ctx context.Context, work int64, hot, cold float64, tick func(done float64)) {
	start := s.ev.work
	for i := 0; ; i++ {
		done := float64(s.ev.work-start) / float64(work)
		if done >= 1 || s.best <= s.floor {
			return
		}
		if i%64 == 0 {
			if ctx.Err() != nil {
				return
			}
			if tick != nil {
				tick(done)
			}
		}
		temperature := hot + (cold-hot)*done
		if !s.propose() {
			s.ev.work += 16 // a move that came to nothing takes time too
			continue
		}
		most := s.cost + int(-temperature*math.Log(1-s.r.Float64()))
		s.ev.limit = most + int(detour*hot)
		if s.ev.costs == nil {
			s.ev.expected = most + doubt
		}
		c := s.ev.try()
		if c <= most {
			s.commit(c)
		} else {
			s.undo()
			s.ev.reject()
		}
	}
}

// commit accepts the plan last tried, which costs c.
func (s *search) commit(c int) {
	s.ev.accept()
	s.cost = c
	if c < s.best {
		s.best = c
		s.bestPl.set(s.ev.plan)
		if s.bestClones != nil {
			s.in.saveClones(s.bestClones)
		}
	}
}

// undo takes the last proposed move back.
func (s *search) undo() {
	s.ev.undoing = true
	defer func() { s.ev.undoing = false }()
	for i := len(s.undoClones) - 1; i >= 0; i-- {
		s.undoClone(s.undoClones[i])
	}
	for i := len(s.undoGates) - 1; i >= 0; i-- {
		s.ev.setArray(s.undoGates[i], s.undoArrays[i])
	}
	if len(s.undoOrder) > 0 {
		s.ev.setOrder(s.undoLo, s.undoOrder)
	}
}

// propose changes the plan by a random move; false if the move is none.
func (s *search) propose() bool {
	s.undoGates, s.undoArrays, s.undoOrder = s.undoGates[:0], s.undoArrays[:0], s.undoOrder[:0]
	s.undoClones = s.undoClones[:0]
	if s.bestClones != nil && s.r.IntN(cloneShare) == 0 {
		if !s.proposeClones() {
			s.undo()
			s.ev.reject()
			return false
		}
		return true
	}
	g, t := s.pick()
	if s.in.isIdle(g) {
		return false
	}
	kind := s.draw()

	pos := s.ev.pos
	switch kind {
	case moveFlip:
		s.flip(g, s.otherArray(g))
	case moveFanins:
		s.flipCone(g, s.otherArray(g), 2+s.r.IntN(20), false)
	case moveFanouts:
		s.flipCone(g, s.otherArray(g), 2+s.r.IntN(20), true)
	case movePull:
		p := pos[g] - s.distance(pos[g])
		if t < pos[g] && s.r.IntN(4) == 0 {
			p = t
		}
		s.pull(g, p)
	case movePush:
		q := pos[g] + s.distance(s.in.gates-1-pos[g])
		if t > pos[g] && s.r.IntN(4) == 0 {
			q = t
		}
		s.push(g, q)
	case moveSlack:
		lo, hi := s.slack(g)
		if s.r.IntN(2) == 0 {
			s.pull(g, pos[g]-s.distance(pos[g]-lo))
		} else {
			s.push(g, pos[g]+s.distance(hi-pos[g]))
		}
	case moveFlipCut:
		s.flipCut(g, s.otherArray(g))
	case moveReorder:
		s.reorderCut(t)
	case moveParked:
		if s.ev.events > 0 {
			s.flipParked()
		}
	}
	return len(s.undoGates) > 0 || len(s.undoOrder) > 0
}

// The kinds of moves.
const (
	moveFlip    = iota // a gate to another array
	moveFanins         // a gate and some of its fanins
	moveFanouts        // a gate and some of its fanouts
	movePull           // a gate to an earlier time
	movePush           // a gate to a later time
	moveSlack          // a gate to a time that needs no other to move
	moveReorder        // a window along a cut of live values
	moveFlipCut        // a gate and what is cheapest to move along, to another array
	moveParked         // gates whose values are evicted at once, to where that takes them
	moveKinds
)

// draw returns a random kind of move that the arrays allow.
func (s *search) draw() int {
	if len(s.arrays) < 2 {
		return movePull + s.r.IntN(moveReorder-movePull+1)
	}
	return s.r.IntN(moveKinds)
}

// otherArray returns an array that gates may be computed in other than that of g.
func (s *search) otherArray(g int32) uint8 {
	a := s.arrays[s.r.IntN(len(s.arrays)-1)]
	if a == s.ev.plan.array[g] {
		a = s.arrays[len(s.arrays)-1]
	}
	return a
}

// pick returns a gate to move and a time of interest: mostly a gate near a copy
// of the current schedule, sometimes any.
func (s *search) pick() (gate, t int32) {
	order := s.ev.plan.order
	if s.ev.events > 0 && s.r.IntN(4) != 0 {
		e := s.copyEvent()
		switch s.r.IntN(4) {
		case 0: // the gate that computed the copied value
			if e.value >= s.in.first {
				return e.value - s.in.first, e.time
			}
		case 1: // one that reads it
			if us := s.in.uses(e.value); len(us) > 0 {
				return us[s.r.IntN(len(us))], e.time
			}
		case 2: // a neighbour in time
			u := e.time + int32(s.r.IntN(21)) - 10
			u = min(max(u, 0), s.in.gates-1)
			return order[u], e.time
		}
		return order[e.time], e.time // the one that needed it, or the room
	}
	t = int32(s.r.IntN(len(order)))
	return order[t], t
}

// copyEvent returns a random copy of the current schedule.
func (s *search) copyEvent() event {
	k := s.r.IntN(s.ev.events)
	for i := range s.ev.segments {
		c := s.ev.segments[i].copies
		if k < len(c) {
			return c[k]
		}
		k -= len(c)
	}
	panic("masim: the copies of the segments do not add up")
}

// distance returns 0 to limit, small ones more often (log-uniform).
func (s *search) distance(limit int32) int32 {
	if limit < 1 {
		return 0
	}
	return min(int32(math.Exp(s.r.Float64()*math.Log(float64(limit)+1))), limit)
}

// slack returns the first and the last time at which g can run, all else staying.
func (s *search) slack(g int32) (lo, hi int32) {
	lo, hi = 0, s.in.gates-1
	for _, v := range s.in.fanin[g] {
		if v >= s.in.first {
			lo = max(lo, s.ev.pos[v-s.in.first]+1)
		}
	}
	for _, u := range s.in.uses(s.in.first + g) {
		hi = min(hi, s.ev.pos[u]-1)
	}
	return lo, hi
}

func (s *search) flip(g int32, b uint8) {
	a := s.ev.plan.array[g]
	if a == b {
		return
	}
	s.undoGates = append(s.undoGates, g)
	s.undoArrays = append(s.undoArrays, a)
	s.ev.setArray(g, b)
}

// flipCone moves g and up to n-1 gates of its array joined to it to array b: along
// fanouts (up) or fanins.
func (s *search) flipCone(g int32, b uint8, n int, up bool) {
	array := s.ev.plan.array
	a := array[g]
	if a == b {
		return
	}
	s.flip(g, b)
	s.queue = append(s.queue[:0], g)
	for i := 0; i < len(s.queue) && len(s.queue) < n; i++ {
		x := s.queue[i]
		if up {
			for _, u := range s.in.uses(s.in.first + x) {
				if len(s.queue) < n && array[u] == a && s.r.IntN(4) != 0 {
					s.flip(u, b)
					s.queue = append(s.queue, u)
				}
			}
			continue
		}
		for _, v := range s.in.fanin[x] {
			if f := v - s.in.first; f >= 0 && len(s.queue) < n && array[f] == a && s.r.IntN(4) != 0 {
				s.flip(f, b)
				s.queue = append(s.queue, f)
			}
		}
	}
}

// pull moves g to time p, and with it those of its ancestors that run later.
func (s *search) pull(g, p int32) {
	pos := s.ev.pos
	q := pos[g]
	if p >= q {
		return
	}
	s.stamp++
	s.mark[g] = s.stamp
	s.queue = append(s.queue[:0], g)
	for i := 0; i < len(s.queue); i++ {
		for _, v := range s.in.fanin[s.queue[i]] {
			if f := v - s.in.first; f >= 0 && pos[f] >= p && s.mark[f] != s.stamp {
				s.mark[f] = s.stamp
				s.queue = append(s.queue, f)
			}
		}
	}
	s.sort(p, q, true)
}

// push moves g to time q, and with it those of its descendants that run earlier.
func (s *search) push(g, q int32) {
	pos := s.ev.pos
	p := pos[g]
	if p >= q {
		return
	}
	s.stamp++
	s.mark[g] = s.stamp
	s.queue = append(s.queue[:0], g)
	for i := 0; i < len(s.queue); i++ {
		for _, u := range s.in.uses(s.in.first + s.queue[i]) {
			if pos[u] <= q && s.mark[u] != s.stamp {
				s.mark[u] = s.stamp
				s.queue = append(s.queue, u)
			}
		}
	}
	s.sort(p, q, false)
}

// sort runs the marked gates of the times p to q before the others, or after.
func (s *search) sort(p, q int32, marked bool) {
	span := s.ev.plan.order[p : q+1]
	s.span = s.span[:0]
	s.gather(span, marked)
	s.gather(span, !marked)
	s.reorder(p)
}

// gather appends the gates of a span that are marked, or those that are not.
func (s *search) gather(span []int32, marked bool) {
	for _, g := range span {
		if (s.mark[g] == s.stamp) == marked {
			s.span = append(s.span, g)
		}
	}
}

// reorder puts the gathered span into the plan at time lo.
func (s *search) reorder(lo int32) {
	s.undoLo = lo
	s.undoOrder = append(s.undoOrder[:0], s.ev.plan.order[lo:int(lo)+len(s.span)]...)
	s.ev.setOrder(lo, s.span)
}

// width returns the width of a window to cut: a power of two from 8 to 4096,
// wide ones as rarely as their cuts take longer.
func (s *search) width() int32 {
	const even = 64
	for {
		if w := int32(8) << s.r.IntN(10); w <= even || s.r.IntN(int(w)) < even {
			return w
		}
	}
}

// reorderCut reorders a window about time t along a minimum cut of live values.
func (s *search) reorderCut(t int32) {
	n := s.in.gates
	w := min(s.width(), n)
	if w < 4 {
		return
	}
	lo := min(max(t-int32(s.r.IntN(int(w))), 0), n-w)
	hi := lo + w
	p := lo + int32(s.r.IntN(int(w-1)))
	q := p + 1 + int32(s.r.IntN(int(hi-p-1)))
	f := s.front
	before := f.work
	if f.propose(lo, hi, p, q) {
		s.span = append(s.span[:0], f.span...)
		s.reorder(f.spanAt)
	}
	s.ev.work += (f.work - before) / 8
}
