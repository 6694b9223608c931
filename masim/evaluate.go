package masim

import (
	"context"
	"math"
	"math/bits"
	"slices"
)

// plan is a candidate schedule in the form that the search changes: a total
// order of the gates and an array for each. What is copied where and when
// follows from it by the eviction rule of the evaluator.
type plan struct {
	order []int32 // gates by time
	array []uint8 // by gate

	// stores are the arrays that what is evicted goes to, as a set; nothing is computed there. Without
	// any it goes where most room is. Which one of them it is depends on the value alone: so after a
	// change the schedule is soon the same again, and need not be evaluated further.
	stores uint64
}

func (p *plan) clone() *plan {
	return &plan{order: append([]int32(nil), p.order...), array: append([]uint8(nil), p.array...), stores: p.stores}
}

func (p *plan) set(q *plan) {
	copy(p.order, q.order)
	copy(p.array, q.array)
	p.stores = q.stores
}

// infeasible is the cost of a plan that the rows do not suffice for.
const infeasible = math.MaxInt

// event is a copy, or a gate computed again: value arrives somewhere at a time,
// for a cost.
type event struct {
	time  int32
	value int32
	cost  int32

	parked bool // evicted to an array that does not need it
}

// costs are what the evaluator adds up; without any, a copy costs 1.
type costs struct {
	copy       []int32 // by source x arrays + destination
	recompute  int32   // of computing a gate again
	rematerial bool    // gates may be computed again
	ratio      float32 // of recompute to a copy over distance 1
}

func (e *evaluator) copyCost(from, to int) int {
	if e.costs == nil {
		return 1
	}
	return int(e.costs.copy[from*e.in.arrays+to])
}

// snapshot is the state before a step: which values lie in which arrays.
type snapshot struct {
	resident []uint64 // value<<32 | uses passed<<8 | array
	inputs   []int32  // uses passed, by input
	hash     uint64
}

// segment is the part of a run between two snapshots.
type segment struct {
	start   snapshot
	copies  []event
	evicted evictions
}

// evaluator counts the copies that a plan needs. It runs the gates in order and
// keeps in each array the values that are there; a missing operand is copied in,
// and where an array is full a value is evicted.
//
// Eviction extends Belady's rule to several arrays. Dropping a value costs
// nothing where a duplicate is not needed here again; it costs one copy where
// a duplicate is needed here again, or where the only copy of a finished output
// must move; two where the only copy of a value needed here again must move and
// come back. An only copy that is next needed in another array with room moves
// there for nothing, since that copy is due anyway. Among the others the least
// cost per step of the gap to the next use goes.
//
// A change of the plan is evaluated from the last snapshot before the first
// step that it can affect to the first snapshot after the change where the state
// is that of the last accepted run again; so a local change takes time in
// proportion to its reach, not to the graph.
type evaluator struct {
	in    *instance
	plan  *plan
	costs *costs  // nil: copies are counted
	pos   []int32 // by gate: its time

	useTime  []int32 // parallel to instance.user, each value's in order of time
	useArray []uint8

	passed []int32  // by value: index of its next use
	held   []uint64 // by value: arrays that hold it, as a bit mask, homes left out
	slotOf []int16  // by value x arrays: slot in the array
	val    [][]int32
	next   [][]int32 // by array and slot: next use of the value in this array
	count  []int32
	hash   uint64

	stride   int32
	segments []segment // the last accepted run; empty where incremental is off
	total    int       // its cost
	events   int       // its copies and recomputations

	evicted     *evictions // of the segment that is run; nil = they are not noted
	undoing     bool       // changes lead back to the last accepted plan
	trial       []segment  // of a run that is not yet accepted
	trialCount  int
	trialStart  int32 // index of its first segment
	trialTotal  int
	trialEvents int

	dirtyFrom, dirtyTo int32 // times that the changes since the last accept affect

	firsts []firstUse // of the change of order that is made

	pins []int32 // values that stay while others are brought

	ctx      context.Context // ends whole runs; nil = nothing does
	most     int             // cost beyond which a whole run need not go on; 0 = none
	before   []uint64        // by value: arrays that hold it in the last accepted run, while due compares
	expected int             // cost that a trial may have with what is certain to come, see due; 0 = any
	limit    int             // cost beyond which a trial ends as infeasible, at some time of the schedule; 0 = none
	scanned  int64           // values looked at since the context was

	work   int64 // steps simulated, a measure of time that does not depend on the machine
	onStep func(value, array, from int32)
	onDrop func(value, array int32)
}

// stepRows is how many rows are looked at in the time of a step, about.
const stepRows = 64

// newEvaluator returns an evaluator of pl, which it then owns. Where keep is
// set, changes can be tried; otherwise only whole runs, in less memory.
func newEvaluator(in *instance, pl *plan, keep bool) *evaluator {
	e := &evaluator{in: in, plan: pl}
	e.pos = make([]int32, in.gates)
	e.useTime = make([]int32, len(in.user))
	e.useArray = make([]uint8, len(in.user))
	e.passed = make([]int32, in.values)
	e.held = make([]uint64, in.values)
	e.slotOf = make([]int16, int(in.values)*in.arrays)
	e.val = make([][]int32, in.arrays)
	e.next = make([][]int32, in.arrays)
	for a := range e.val {
		e.val[a] = make([]int32, in.room[a])
		e.next[a] = make([]int32, in.room[a])
	}
	e.count = make([]int32, in.arrays)
	if keep {
		e.stride = 32
		rows := int32(0)
		for _, n := range in.room {
			rows += n
		}
		for e.stride < max(128, rows/stepRows) && in.gates > 64*e.stride {
			e.stride *= 2
		}
		n := (in.gates + e.stride - 1) / e.stride
		e.before = make([]uint64, in.values)
		e.segments = make([]segment, n)
		e.trial = make([]segment, n)
	}
	e.cleanDirt()
	return e
}

func (e *evaluator) cleanDirt() { e.dirtyFrom, e.dirtyTo = never, -1 }

// reset reads the plan anew and evaluates all of it. It returns the copies, or
// infeasible.
func (e *evaluator) reset() int {
	in := e.in
	for t, g := range e.plan.order {
		e.pos[g] = int32(t)
	}
	copy(e.passed, in.useStart[:in.values])
	for t, g := range e.plan.order {
		a := e.plan.array[g]
		for _, v := range in.fanin[g] {
			if v != 0 {
				k := e.passed[v]
				e.useTime[k], e.useArray[k] = int32(t), a
				e.passed[v] = k + 1
			}
		}
	}
	e.clear()
	copy(e.passed, in.useStart[:in.values])
	e.cleanDirt()
	if e.stride == 0 {
		return e.runAll()
	}
	e.dirtyFrom, e.dirtyTo = 0, in.gates
	for i := range e.segments { // no state of an older run may be met again
		e.segments[i].start.hash = ^uint64(0)
	}
	c := e.run(0)
	if c != infeasible {
		e.accept()
	}
	return c
}

func (e *evaluator) runAll() int {
	total := 0
	for t := range e.in.gates {
		n := e.step(t, nil)
		if n < 0 || e.stopped() {
			return infeasible
		}
		if total += n; e.most > 0 && total > e.most {
			return infeasible
		}
	}
	e.work += int64(e.in.gates)
	return total
}

// stopped reports whether the context has ended. It looks every some milliseconds.
func (e *evaluator) stopped() bool {
	if e.scanned += 8; e.scanned < pollWork || e.ctx == nil {
		return false
	}
	e.scanned = 0
	return e.ctx.Err() != nil
}

// try evaluates the plan after changes and returns its copies, or infeasible.
// The caller then calls accept, or undoes the changes and calls reject.
func (e *evaluator) try() int {
	if e.dirtyTo < 0 {
		e.trialCount, e.trialStart, e.trialTotal, e.trialEvents = 0, 0, e.total, e.events
		return e.total
	}
	from := max(e.dirtyFrom, 0) / e.stride
	e.load(from)
	return e.run(from)
}

// run simulates from snapshot k on, the state being loaded.
func (e *evaluator) run(k int32) int {
	gates, stride := e.in.gates, e.stride
	e.trialStart, e.trialCount = k, 0
	delta, events := 0, 0
	after := 0 // snapshots after the change
	for ; k < int32(len(e.segments)); k++ {
		t := k * stride
		if t > e.dirtyTo && e.hash == e.segments[k].start.hash {
			break
		}
		if t > e.dirtyTo && e.expected > 0 {
			if after&(after-1) == 0 && e.total+delta+e.due(k) > e.expected {
				e.work += int64((k - e.trialStart + 1) * stride)
				return infeasible
			}
			after++
		}
		seg := &e.trial[e.trialCount]
		e.trialCount++
		e.save(&seg.start)
		seg.copies = seg.copies[:0]
		seg.evicted.reset(e.in.arrays)
		e.evicted = &seg.evicted
		end := min(t+stride, gates)
		for ; t < end; t++ {
			n := e.step(t, &seg.copies)
			if n < 0 || e.stopped() {
				e.work += int64((k - e.trialStart + 1) * stride)
				return infeasible
			}
			delta += n
		}
		for _, c := range e.segments[k].copies {
			delta -= int(c.cost)
		}
		events += len(seg.copies) - len(e.segments[k].copies)
		if e.limit > 0 && e.total+delta > e.limit {
			e.work += int64((k - e.trialStart + 1) * stride)
			return infeasible
		}
	}
	e.work += int64((k-e.trialStart)*stride) + int64(stride)
	e.trialTotal, e.trialEvents = e.total+delta, e.events+events
	return e.trialTotal
}

// due returns how many more copies are certain to come after snapshot k than in the last accepted
// run: of values in arrays where they are needed again and are not.
func (e *evaluator) due(k int32) int {
	more := 0
	for _, r := range e.segments[k].start.resident {
		v, a := int32(r>>32), int(r&0xFF)
		e.before[v] |= 1 << a
		if e.held[v]>>a&1 == 0 && e.nextIn(v, a) != never {
			more++
		}
	}
	for a := range e.val {
		for s, v := range e.val[a][:e.count[a]] {
			if e.before[v]>>a&1 == 0 && e.next[a][s] != never {
				more--
			}
		}
	}
	for _, r := range e.segments[k].start.resident {
		e.before[r>>32] = 0
	}
	return more
}

// accept makes the run of the last try the one that later ones compare with.
func (e *evaluator) accept() {
	for i := range e.trialCount {
		k := int(e.trialStart) + i
		e.segments[k], e.trial[i] = e.trial[i], e.segments[k]
	}
	e.total, e.events = e.trialTotal, e.trialEvents
	e.cleanDirt()
}

// reject forgets the last try; the plan must be as it was.
func (e *evaluator) reject() { e.cleanDirt() }

func (e *evaluator) clear() {
	for a := range e.val {
		for _, v := range e.val[a][:e.count[a]] {
			e.held[v] = 0
		}
		e.count[a] = 0
	}
	e.hash = 0
}

func (e *evaluator) save(s *snapshot) {
	in := e.in
	s.hash = e.hash
	s.resident = s.resident[:0]
	for a := range e.val {
		for _, v := range e.val[a][:e.count[a]] {
			s.resident = append(s.resident, uint64(v)<<32|uint64(e.passed[v]-in.useStart[v])<<8|uint64(a))
		}
	}
	s.inputs = append(s.inputs[:0], e.passed[1:in.first]...)
}

func (e *evaluator) load(k int32) {
	in := e.in
	e.clear()
	s := &e.segments[k].start
	e.work += int64(len(s.resident)) / stepRows
	if in.gates > in.base { // changes of clones change how many uses have passed
		for v := int32(1); v < in.first; v++ {
			e.passed[v] = e.firstUse(v, k*e.stride)
		}
		for _, r := range s.resident {
			v, a := int32(r>>32), int(r&0xFF)
			e.passed[v] = e.firstUse(v, k*e.stride)
			e.put(v, a)
		}
		return
	}
	copy(e.passed[1:in.first], s.inputs)
	for _, r := range s.resident {
		v, a := int32(r>>32), int(r&0xFF)
		e.passed[v] = in.useStart[v] + int32(r>>8&0xFFFFFF)
		e.put(v, a)
	}
}

func key(v int32, a int) uint64 {
	x := (uint64(v)<<8 | uint64(a)) * 0x9E3779B97F4A7C15
	x ^= x >> 32
	return x * 0xD6E8FEB86659FD93
}

// put adds v to array a, which has room.
func (e *evaluator) put(v int32, a int) {
	s := e.count[a]
	e.val[a][s] = v
	e.next[a][s] = e.nextIn(v, a)
	e.slotOf[int(v)*e.in.arrays+a] = int16(s)
	e.count[a] = s + 1
	e.held[v] |= 1 << a
	e.hash ^= key(v, a)
}

func (e *evaluator) drop(v int32, a int) {
	if e.onDrop != nil {
		e.onDrop(v, int32(a))
	}
	s := int32(e.slotOf[int(v)*e.in.arrays+a])
	last := e.count[a] - 1
	if s != last {
		w := e.val[a][last]
		e.val[a][s], e.next[a][s] = w, e.next[a][last]
		e.slotOf[int(w)*e.in.arrays+a] = int16(s)
	}
	e.count[a] = last
	e.held[v] &^= 1 << a
	e.hash ^= key(v, a)
}

// nextIn returns the time of the next use of v in array a.
func (e *evaluator) nextIn(v int32, a int) int32 {
	for k, end := e.passed[v], e.in.useEnd[v]; k < end; k++ {
		if int(e.useArray[k]) == a {
			return e.useTime[k]
		}
	}
	return never
}

// nextAny returns the time and the array of the next use of v; array -1 if none.
func (e *evaluator) nextAny(v int32) (int32, int) {
	if k := e.passed[v]; k < e.in.useEnd[v] {
		return e.useTime[k], int(e.useArray[k])
	}
	return never, -1
}

func (e *evaluator) duplicated(v int32) bool {
	return e.in.home[v] >= 0 || e.held[v]&(e.held[v]-1) != 0
}

func (e *evaluator) holds(v int32, a int) bool {
	return e.held[v]>>a&1 != 0 || int(e.in.home[v]) == a
}

// step runs the gate at time t and returns what that cost, -1 if there was no
// room.
func (e *evaluator) step(t int32, log *[]event) int {
	in := e.in
	g := e.plan.order[t]
	cost := 0
	if g >= in.base {
		if in.isIdle(g) {
			return 0
		}
		cost = int(e.costs.recompute)
		if log != nil {
			*log = append(*log, event{time: t, value: in.first + g, cost: int32(cost)})
		}
	}
	a := int(e.plan.array[g])
	fanin := in.fanin[g]
	for _, v := range fanin {
		if v == 0 || e.holds(v, a) {
			continue
		}
		n := e.bring(v, a, t, fanin, log)
		if n < 0 {
			return -1
		}
		cost += n
	}
	for _, v := range fanin {
		if v != 0 {
			e.passed[v]++
		}
	}
	for _, v := range fanin {
		if v == 0 {
			continue
		}
		if e.passed[v] == in.useEnd[v] && in.home[v] < 0 && !in.isOut[v] {
			for m := e.held[v]; m != 0; m &= m - 1 {
				e.drop(v, bits.TrailingZeros64(m))
			}
			continue
		}
		if e.held[v]>>a&1 == 0 {
			continue
		}
		next := e.nextIn(v, a)
		if next == never && e.duplicated(v) {
			e.drop(v, a)
			continue
		}
		e.next[a][e.slotOf[int(v)*in.arrays+a]] = next
	}
	n := e.makeRoom(a, t, nil, log)
	if n < 0 {
		return -1
	}
	v := in.first + g
	if e.onStep != nil {
		e.onStep(v, int32(a), computed)
	}
	e.passed[v] = in.useStart[v]
	e.put(v, a)
	if in.useStart[v] == in.useEnd[v] && !in.isOut[v] {
		e.drop(v, a)
	}
	return cost + n
}

// bring gets value v into array a for the gate at time t, whose fanins stay, and
// returns the cost, -1 if there was no room.
func (e *evaluator) bring(v int32, a int, t int32, fanin [3]int32, log *[]event) int {
	in := e.in
	from := int(in.home[v])
	if from < 0 {
		if e.costs != nil && e.costs.rematerial {
			e.pins = append(e.pins[:0], fanin[:]...)
			return e.bringGate(v, a, t, log)
		}
		from = e.nearest(v, a)
	}
	n := e.makeRoom(a, t, fanin[:], log)
	if n < 0 {
		return -1
	}
	return n + e.copyTo(v, from, a, t, log)
}

// nearest returns the array that v is copied from to array a at the least cost.
func (e *evaluator) nearest(v int32, a int) int {
	from := bits.TrailingZeros64(e.held[v])
	if e.costs != nil {
		for m := e.held[v]; m != 0; m &= m - 1 {
			if b := bits.TrailingZeros64(m); e.copyCost(b, a) < e.copyCost(from, a) {
				from = b
			}
		}
	}
	return from
}

func (e *evaluator) copyTo(v int32, from, to int, t int32, log *[]event) int {
	cost := e.copyCost(from, to)
	e.arrive(v, from, to, t, cost, log)
	return cost
}

// arrive puts v into array to, from another array or computed.
func (e *evaluator) arrive(v int32, from, to int, t int32, cost int, log *[]event) {
	if log != nil {
		*log = append(*log, event{time: t, value: v, cost: int32(cost)})
	}
	if e.onStep != nil {
		e.onStep(v, int32(to), int32(from))
	}
	e.put(v, to)
}

// makeRoom frees a slot of array a if there is none, by evicting a value other
// than those pinned. It returns the cost, -1 if it cannot.
func (e *evaluator) makeRoom(a int, t int32, pinned []int32, log *[]event) int {
	in := e.in
	if e.count[a] < in.room[a] {
		return 0
	}
	if in.room[a] == 0 {
		return -1
	}
	// The cost of evicting a value per step of the gap that this opens. Ties go
	// to the smallest value, so that the choice depends on the state alone.
	var (
		best   = float32(math.MaxFloat32)
		victim = int32(-1)
		move   = false
	)
	end := float32(in.gates - t + 100)
	e.scanned += int64(e.count[a])
	e.work += int64(e.count[a]) / stepRows
	again := e.costs != nil && e.costs.rematerial
	next := e.next[a][:e.count[a]]
	far := int32(math.MinInt32) // nothing that is used before costs less than the best
	for s, v := range e.val[a][:e.count[a]] {
		if next[s] < far || slices.Contains(pinned, v) {
			continue
		}
		var cost float32
		only := !e.duplicated(v)
		switch n := next[s]; {
		case !only && n == never:
			cost = 0
		case !only:
			cost = 1 / float32(n-t)
		case n != never:
			cost = 2 / float32(n-t)
		default:
			due, b := e.nextAny(v)
			switch {
			case b < 0: // a finished output
				cost = 1 / end
			case e.count[b] < in.room[b]: // its copy is due in b anyway
				cost = 1e-6 * float32(due-t) / end
			default:
				cost = 1 / end
			}
		}
		// The next use of all is not after that in this array, so the cost of
		// forgetting is at least that of a gap up to this one.
		if again && (next[s] == never || e.costs.ratio/float32(next[s]-t) <= best) {
			if c := e.forget(v, a, t, cost, best, only); c < cost {
				cost, only = c, false
			}
		}
		if cost < best || cost == best && v < victim {
			best, victim, move = cost, v, only
			if !again {
				far = t + int32(min(0.999/best, 1e8))
			}
		}
	}
	if victim < 0 {
		return -1
	}
	if e.evicted != nil {
		e.evicted.note(victim, a, best, best <= 1/end)
	}
	if !move {
		e.drop(victim, a)
		return 0
	}
	to := e.refuge(victim, a)
	if to < 0 {
		return -1
	}
	cost := e.copyTo(victim, a, to, t, log)
	if log != nil {
		(*log)[len(*log)-1].parked = e.nextIn(victim, to) == never
	}
	e.drop(victim, a)
	return cost
}

// store returns a store with room for v, which leaves array a; -1 if there is none.
func (e *evaluator) store(v int32, a int) int {
	m := e.plan.stores &^ (1 << a)
	n := bits.OnesCount64(m)
	if n == 0 {
		return -1
	}
	after := m // the stores from one of choice on
	for range int(v) % n {
		after &= after - 1
	}
	for _, part := range [...]uint64{after, m &^ after} {
		for ; part != 0; part &= part - 1 {
			if b := bits.TrailingZeros64(part); e.count[b] < e.in.room[b] {
				return b
			}
		}
	}
	return -1
}

// refuge returns an array for the only copy of v, which leaves array a: where it
// is needed next, if there is room, else where most room is, else where a
// duplicate can be dropped. It returns -1 if all arrays are full of only copies.
func (e *evaluator) refuge(v int32, a int) int {
	in := e.in
	if _, b := e.nextAny(v); b >= 0 && b != a && e.count[b] < in.room[b] {
		return b
	}
	if to := e.store(v, a); to >= 0 {
		return to
	}
	to, room := -1, int32(0)
	for b := range e.val {
		r := in.room[b] - e.count[b]
		if b == a || r <= 0 {
			continue
		}
		if to < 0 || e.copyCost(a, b) < e.copyCost(a, to) || r > room && e.copyCost(a, b) == e.copyCost(a, to) {
			to, room = b, r
		}
	}
	if to >= 0 {
		return to
	}
	if e.evicted != nil {
		e.evicted.any = true
	}
	// All full: the duplicate that is needed again last goes, ties to the smallest.
	victim, latest := int32(-1), int32(-1)
	for b := range e.val {
		if b == a {
			continue
		}
		for s, w := range e.val[b][:e.count[b]] {
			if n := e.next[b][s]; e.duplicated(w) && (n > latest || n == latest && w < victim) {
				victim, latest, to = w, n, b
			}
		}
	}
	if to >= 0 {
		e.drop(victim, to)
	}
	return to
}
