package masim

import "slices"

// idle is the root of a clone that is not in use.
const idle = -1

// idleArray is the array of an idle clone: none.
const idleArray = 255

// cloneUses is how many gates can read a clone at the most.
const cloneUses = 8

// isIdle reports whether gate g is a clone that is not in use.
func (in *instance) isIdle(g int32) bool { return g >= in.base && in.root[g-in.base] == idle }

// rootOf returns the value of the graph that value v is.
func (in *instance) rootOf(v int32) int32 {
	if c := v - in.first - in.base; c >= 0 {
		return in.first + in.root[c]
	}
	return v
}

// withClones returns an instance of the same problem in which gates can be
// computed again, at times and in arrays of their own: it has clones, which are
// gates like others with fanins and users; each gate that reads the value of
// a cloned gate reads it from the gate or from one of its clones. in must have
// no clones. root has the gate of the graph that each clone computes, or idle, and
// fanin what each gate and clone reads; both belong to the new instance.
//
// It takes about 90 bytes a gate: the lists of uses have places to grow.
func (in *instance) withClones(root []int32, fanin [][3]int32) *instance {
	x := *in
	n := int32(len(root))
	x.gates, x.values = in.gates+n, in.values+n
	x.root, x.fanin = root, fanin
	x.isOut = append(append(make([]bool, 0, x.values), in.isOut...), make([]bool, n)...)
	x.home = append(make([]int16, 0, x.values), in.home...)
	for range n {
		x.home = append(x.home, -1)
	}
	x.useStart = make([]int32, x.values+1)
	for v := range x.values {
		places := int32(cloneUses)
		if v < in.values {
			uses := in.useEnd[v] - in.useStart[v]
			places = 2*uses + min(uses, cloneUses)
		}
		x.useStart[v+1] = x.useStart[v] + places
	}
	x.user = make([]int32, x.useStart[x.values])
	x.useEnd = append([]int32(nil), x.useStart[:x.values]...)
	for g := range x.fanin {
		for _, v := range x.fanin[g] {
			if v != 0 {
				x.user[x.useEnd[v]] = int32(g)
				x.useEnd[v]++
			}
		}
	}
	return &x
}

// cloneSpacing is how many gates there are to a clone.
const cloneSpacing = 8

// spaced returns a plan of the instance, all of whose clones are idle, from one
// without clones: they stand evenly between the gates.
func (in *instance) spaced(pl *plan) *plan {
	x := &plan{order: make([]int32, 0, in.gates), array: slices.Clone(pl.array)}
	for range in.root {
		x.array = append(x.array, idleArray)
	}
	c := int32(0)
	for t, g := range pl.order {
		x.order = append(x.order, g)
		for n := int64(len(in.root)) * int64(t+1) / int64(in.base); int64(c) < n; c++ {
			x.order = append(x.order, in.base+c)
		}
	}
	return x
}

// full reports whether the list of uses of v has no place left.
func (in *instance) full(v int32) bool { return in.useEnd[v] == in.useStart[v+1] }

// firstUse returns the index of the first use of v at time t or later.
func (e *evaluator) firstUse(v, t int32) int32 {
	lo, hi := e.in.useStart[v], e.in.useEnd[v]
	for lo < hi {
		if m := (lo + hi) / 2; e.useTime[m] < t {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// setFanin makes value w fanin j of gate u, in place of another value; 0 is
// none. The list of uses of w must have a place.
func (e *evaluator) setFanin(u int32, j int, w int32) {
	in := e.in
	t, a := e.pos[u], e.plan.array[u]
	from := t
	if v := in.fanin[u][j]; v != 0 {
		k := e.findUse(v, t)
		from = min(from, e.reach(v, k, t, a))
		end := in.useEnd[v] - 1
		copy(e.useTime[k:end], e.useTime[k+1:end+1])
		copy(e.useArray[k:end], e.useArray[k+1:end+1])
		users := in.uses(v)
		for i := range users {
			if users[i] == u {
				users[i] = users[len(users)-1]
				break
			}
		}
		in.useEnd[v] = end
	}
	if w != 0 {
		k, end := e.firstUse(w, t), in.useEnd[w]
		copy(e.useTime[k+1:end+1], e.useTime[k:end])
		copy(e.useArray[k+1:end+1], e.useArray[k:end])
		e.useTime[k], e.useArray[k] = t, a
		in.user[end] = u
		in.useEnd[w] = end + 1
		from = min(from, e.reach(w, k, t, a))
	}
	in.fanin[u][j] = w
	// Until u is last read, it may be computed again from its fanins.
	to := t
	if v := in.first + u; in.useEnd[v] > in.useStart[v] {
		to = max(to, e.useTime[in.useEnd[v]-1])
	}
	e.dirty(from, to)
}

// reach returns the time from which the state can depend on use k of v, which is
// at time t in array a.
func (e *evaluator) reach(v, k, t int32, a uint8) int32 {
	start := e.in.useStart[v]
	for j := k - 1; j >= start; j-- {
		if e.useArray[j] == a {
			return e.earlier(v, e.useTime[j])
		}
	}
	return e.born(v, t)
}

// earlier returns the time from which the state can depend on the uses of v from
// the one at time t on: with rematerialisation, gates computed from v may be
// forgotten as long as v is used.
func (e *evaluator) earlier(v, t int32) int32 {
	if e.costs != nil && e.costs.rematerial && v >= e.in.first {
		return min(t, e.useTime[e.in.useStart[v]])
	}
	return t
}

// setRoot makes idle clone c, which stays where it is, one of gate root in an
// array, or makes a clone idle. It reads nothing and nothing reads it.
func (e *evaluator) setRoot(c, root int32, array uint8) {
	e.in.root[c-e.in.base] = root
	e.plan.array[c] = array
	e.dirty(e.pos[c], e.pos[c])
}
