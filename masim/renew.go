package masim

// Rematerialisation in the evaluator. A value that is needed in an array is
// computed there again instead of copied, where its fanins are at hand; and a value may
// be forgotten, where they will be at hand when it is needed next. Clones (see
// withClones) are what the search decides; this is what follows from a plan.

// bringGate gets the gate value v into array a at time t and returns the cost, -1
// if there was no room: computed again where its fanins are in a, else copied, or,
// if it was forgotten, from fanins that are brought first. The values in e.pins
// stay.
func (e *evaluator) bringGate(v int32, a int, t int32, log *[]event) int {
	in := e.in
	pins := len(e.pins)
	forgotten := e.held[v] == 0
	if forgotten {
		e.passed[v] = e.firstUse(v, t) // snapshots do not know its uses
	}
	again := in.fanin[v-in.first]
	here := true
	for _, f := range again {
		here = here && (f == 0 || e.holds(f, a))
	}
	if !forgotten {
		from := e.nearest(v, a)
		if !here || int(e.costs.recompute) >= e.copyCost(from, a) {
			n := e.makeRoom(a, t, e.pins, log)
			if n < 0 {
				return -1
			}
			return n + e.copyTo(v, from, a, t, log)
		}
	}
	cost := int(e.costs.recompute)
	e.pins = append(e.pins, again[:]...)
	for _, f := range again {
		if f == 0 || e.holds(f, a) {
			continue
		}
		n := 0
		if h := int(in.home[f]); h < 0 {
			n = e.bringGate(f, a, t, log)
		} else if n = e.makeRoom(a, t, e.pins, log); n >= 0 {
			n += e.copyTo(f, h, a, t, log)
		}
		if n < 0 {
			return -1
		}
		cost += n
	}
	n := e.makeRoom(a, t, e.pins, log)
	if n < 0 {
		return -1
	}
	e.arrive(v, computed, a, t, int(e.costs.recompute), log)
	e.pins = e.pins[:pins]
	return cost + n
}

// forget returns what it costs per step of the gap to the next use to drop v
// from array a and to compute it again there, if that can be done and is less than
// another way to evict it, which costs evict. It need not be looked at where it is
// more than best.
func (e *evaluator) forget(v int32, a int, t int32, evict, best float32, only bool) float32 {
	if e.in.home[v] >= 0 || only && e.in.isOut[v] {
		return evict
	}
	due, b := e.nextAny(v)
	if b < 0 || !only && b != a {
		return evict
	}
	cost := e.costs.ratio / float32(due-t)
	if b != a {
		cost = min(cost, evict/2) // instead of the copy that is due there
	}
	if cost >= evict || cost > best || !e.renewable(v, b, due) {
		return evict
	}
	return cost
}

// renewable reports whether v can be computed again when it is needed next, at
// time due in array b: its fanins are inputs that lie there or gates that are held
// there now and needed there still.
func (e *evaluator) renewable(v int32, b int, due int32) bool {
	in := e.in
	for _, f := range in.fanin[v-in.first] {
		switch {
		case f == 0:
		case in.home[f] >= 0:
			if int(in.home[f]) != b {
				return false
			}
		case e.held[f]>>b&1 == 0 || !e.needed(f, b, due):
			return false
		}
	}
	return true
}

// needed reports whether v is used in array a at time t or later.
func (e *evaluator) needed(v int32, a int, t int32) bool {
	for k := e.in.useEnd[v] - 1; k >= e.in.useStart[v] && e.useTime[k] >= t; k-- {
		if int(e.useArray[k]) == a {
			return true
		}
	}
	return false
}
