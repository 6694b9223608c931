package masim

// A change of when and where a value is used next can change the schedule long before that time, from
// the value's last use on, but only where something is evicted. What a run notes of its evictions tells
// whether one of them might turn out otherwise, and where the first is.

// evictions is what is noted of those of a segment.
type evictions struct {
	most    []float32 // by array: the highest cost per step of what was evicted; 0 = nothing was
	idle    uint64    // arrays where that was as low as of what is not needed there again
	values  []int32   // those evicted
	present uint64    // their hashes
	any     bool      // others may have been: the last duplicate anywhere
}

func (x *evictions) reset(arrays int) {
	if len(x.most) != arrays {
		x.most = make([]float32, arrays)
	}
	clear(x.most)
	x.idle, x.present, x.values, x.any = 0, 0, x.values[:0], false
}

func (x *evictions) note(v int32, a int, cost float32, idle bool) {
	x.most[a] = max(x.most[a], cost, 1e-30)
	if idle {
		x.idle |= 1 << a
	}
	x.values = append(x.values, v)
	x.present |= 1 << (uint(v) & 63)
}

func (x *evictions) has(v int32) bool {
	if x.any {
		return true
	}
	if x.present>>(uint(v)&63)&1 != 0 {
		for _, w := range x.values {
			if w == v {
				return true
			}
		}
	}
	return false
}

// exact reports whether changes are followed back by evictions: these do not tell what is computed again.
func (e *evaluator) exact() bool {
	return e.stride > 0 && e.in.gates == e.in.base && (e.costs == nil || !e.costs.rematerial)
}

// sinceFlip returns the time, most if it is not before that, from which the state can depend on whether
// use k of value v is in array a or b. It is in b now.
func (e *evaluator) sinceFlip(v, k int32, a, b uint8, most int32) int32 {
	in := e.in
	start, end := in.useStart[v], in.useEnd[v]
	t := e.useTime[k]
	born := e.born(v, t)
	last := func(x uint8) (time int32, used bool) { // use in x before t, or when v may come to be there
		for j := k - 1; j >= start; j-- {
			if e.useArray[j] == x {
				return e.useTime[j], true
			}
		}
		return born, false
	}
	next := func(x uint8) int32 { // and after
		for j := k + 1; j < end; j++ {
			if e.useArray[j] == x {
				return e.useTime[j]
			}
		}
		return never
	}
	from := most
	if int(in.home[v]) != int(a) { // not needed so soon there any more
		before, used := last(a)
		if after := next(a); used && after == never {
			from = min(from, before) // whether v stays there then
		} else {
			from = e.sooner(a, before, from, after)
		}
	}
	if int(in.home[v]) != int(b) { // needed sooner there
		if before, used := last(b); used && next(b) == never {
			from = min(from, before)
		} else {
			from = e.evicts(v, before, from)
		}
	}
	if in.home[v] < 0 {
		before := born
		if k > start {
			before = e.useTime[k-1]
		}
		from = e.idles(v, k, 0, before, from) // where v itself goes, evictions since its last use in b tell
	}
	return from
}

// noteFirsts notes the first uses of v in [lo, hi), from use k on, in each array.
func (e *evaluator) noteFirsts(v, k, lo, hi int32) {
	if f := v - e.in.first; f >= 0 && e.pos[f] >= lo {
		return // not there before
	}
	arrays := uint64(0)
	for j := k; j < e.in.useEnd[v] && e.useTime[j] < hi; j++ {
		if x := e.useArray[j]; arrays>>x&1 == 0 {
			arrays |= 1 << x
			e.firsts = append(e.firsts, firstUse{v, k, e.useTime[j], x, e.useArray[k]})
		}
	}
}

// sinceReorder returns the time, most if it is not before that, from which the state can depend on the
// order of the uses that follow a first one.
func (e *evaluator) sinceReorder(u firstUse, most int32) int32 {
	in := e.in
	v, k := u.value, u.k
	start := in.useStart[v]
	first := k
	for e.useArray[first] != u.array {
		first++
	}
	from := most
	born := e.born(v, most)
	if time := e.useTime[first]; time != u.time && int(in.home[v]) != int(u.array) {
		before := born
		for j := k - 1; j >= start; j-- {
			if e.useArray[j] == u.array {
				before = e.useTime[j]
				break
			}
		}
		if time > u.time {
			from = e.sooner(u.array, before, from, time)
		} else {
			from = e.evicts(v, before, from)
		}
	}
	if in.home[v] < 0 {
		before := born
		if k > start {
			before = e.useTime[k-1]
		}
		if e.useArray[k] != u.due {
			from = e.evicts(v, before, from)
		}
		from = e.idles(v, k, 1<<u.array, before, from)
	}
	return from
}

// sooner returns the first time in [from, to], to if there is none, where a value may be evicted from array
// x since it is next used there at time next.
func (e *evaluator) sooner(x uint8, from, to, next int32) int32 {
	for k := from / e.stride; k*e.stride < to; k++ {
		if m := e.segments[k].evicted.most[x]; e.segments[k].evicted.any || m > 0 && (next == never || 1/float32(next-k*e.stride) <= m) {
			return max(from, k*e.stride)
		}
	}
	return to
}

// evicts returns the first time in [from, to], to if there is none, where v may be evicted.
func (e *evaluator) evicts(v, from, to int32) int32 {
	for k := from / e.stride; k*e.stride < to; k++ {
		if e.segments[k].evicted.has(v) {
			return max(from, k*e.stride)
		}
	}
	return to
}

// idles returns the first time in [from, to], to if there is none, where v may lie in an array that does
// not need it again, from use k on, nor is among the arrays given, and something like that is evicted.
func (e *evaluator) idles(v, k int32, arrays uint64, from, to int32) int32 {
	for ; k < e.in.useEnd[v]; k++ {
		arrays |= 1 << e.useArray[k]
	}
	for k := from / e.stride; k*e.stride < to; k++ {
		if x := &e.segments[k].evicted; x.any || x.idle&^arrays != 0 {
			return max(from, k*e.stride)
		}
	}
	return to
}
