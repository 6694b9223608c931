package masim

import (
	"context"
	"math/rand/v2"
)

// frontier looks for an order of the gates with few live values at any time:
// the values that are computed and still to be read, or are outputs. Copies come
// from live values that do not fit, so this is the order to schedule by.
//
// A prefix of an order is a set of gates closed under fanins, and the number of
// its live values is a submodular function of the set. So if S is a set with
// the fewest live values among those between two prefixes, running first the
// gates of S and then the others, each part in the old order, raises the number
// of live values at no step: live(P and S) + live(P or S) <= live(P) + live(S).
// S is a minimum cut. The search takes such cuts in windows of the order, of
// all sizes, each with one gate forced in and a later one forced out so that it
// is not an end of the window, and keeps what does not make the sum worse.
//
// Inputs whose home is not the array that computes count as live from their
// first use to their last.
type frontier struct {
	in       *instance
	floating []bool // by value: an input that takes a row while it is needed
	capacity int32  // live values beyond it weigh more

	order []int32
	pos   []int32
	live  []int32 // by time: live values after the step

	net           flowNet
	r             *rand.Rand
	node          []int32 // by value: node of the flow network
	seen          []int32 // by value: stamp
	stamp         int32
	near          []int32 // values of the window that are not computed in it
	span, spanBuf []int32 // what propose proposes
	spanAt        int32
	saved         []int32
	delta         []int32
	work          int64
}

// newFrontier starts from an order. home is the array that computes: its inputs
// take no rows.
func newFrontier(in *instance, order []int32, home int, r *rand.Rand) *frontier {
	f := &frontier{
		in: in, r: r, capacity: in.room[home],
		floating: make([]bool, in.values),
		order:    append([]int32(nil), order...),
		pos:      make([]int32, in.gates),
		live:     make([]int32, in.gates),
		node:     make([]int32, in.values),
		seen:     make([]int32, in.values),
		delta:    make([]int32, in.gates),
	}
	for v := int32(1); v < in.first; v++ {
		f.floating[v] = int(in.home[v]) != home
	}
	for t, g := range f.order {
		f.pos[g] = int32(t)
	}
	f.count(0, in.gates)
	return f
}

// reorder takes an order anew.
func (f *frontier) reorder(order []int32) {
	f.put(0, order)
	f.count(0, f.in.gates)
}

// penalty is what a step with that many live values costs.
func (f *frontier) penalty(live int32) int64 {
	p := int64(live)
	if over := int64(live - f.capacity); over > 0 {
		p += 8*over + over*over
	}
	return p
}

func (f *frontier) sum(lo, hi int32) int64 {
	s := int64(0)
	for _, l := range f.live[lo:hi] {
		s += f.penalty(l)
	}
	return s
}

// windowSizes are the window widths that improve chooses from.
var windowSizes = [...]int32{10, 16, 24, 40, 60, 90, 140, 210, 320, 480, 720, 1100, 1700, 2600, 4000, 6000, 9000, 14000, 20000}

// improve cuts windows until about `work` units of work are done: arcs of flow
// networks looked at and steps counted. Widths are drawn by what they have
// gained lately per unit of work, with some drawn evenly; half of the windows lie
// where live values exceed the capacity.
func (f *frontier) improve(ctx context.Context, work int64, tick func(done float64)) {
	n := f.in.gates
	if n < 4 {
		return
	}
	sizes := windowSizes[:1]
	for len(sizes) < len(windowSizes) && windowSizes[len(sizes)] <= n {
		sizes = windowSizes[:len(sizes)+1]
	}
	// Every width starts as good as any, by one cut of it that gained 1.
	var gain, spent [len(windowSizes)]float64
	for i := range sizes {
		gain[i], spent[i] = 1, float64(sizes[i])*float64(sizes[i])/8
	}
	start := f.work
	polled := start
	for i := 0; f.work-start < work; i++ {
		if i%16 == 0 || f.work-polled > pollWork {
			if polled = f.work; ctx.Err() != nil {
				return
			}
			if tick != nil {
				tick(float64(f.work-start) / float64(work))
			}
		}
		k := f.drawSize(gain[:len(sizes)], spent[:len(sizes)])
		w := min(sizes[k], n)
		middle := int32(f.r.IntN(int(n)))
		if f.r.IntN(2) == 0 {
			for range 16 {
				if f.live[middle] > f.capacity {
					break
				}
				middle = int32(f.r.IntN(int(n)))
			}
		}
		lo := min(max(middle-int32(f.r.IntN(int(w))), 0), n-w)
		hi := lo + w
		p := lo + int32(f.r.IntN(int(w-1)))
		q := p + 1 + int32(f.r.IntN(int(hi-p-1)))
		before := f.work
		g := f.cut(lo, hi, p, q)
		gain[k] = gain[k]*0.95 + float64(g)
		spent[k] = spent[k]*0.95 + float64(f.work-before)
	}
}

// drawSize draws an index: one time in four so that all get the same work,
// otherwise by gain per work squared.
func (f *frontier) drawSize(gain, spent []float64) int {
	weight := func(i int) float64 { r := (gain[i] + 1) / spent[i]; return r * r }
	if f.r.IntN(4) == 0 {
		weight = func(i int) float64 { return 1 / spent[i] }
	}
	sum := 0.0
	for i := range gain {
		sum += weight(i)
	}
	x := f.r.Float64() * sum
	for i := range gain {
		if x -= weight(i); x < 0 {
			return i
		}
	}
	return len(gain) - 1
}

// cut reorders the window [lo, hi) along a minimum cut with the gate at time p
// in and the gate at time q out, if that does not raise the sum of penalties. It
// returns by how much the sum fell.
func (f *frontier) cut(lo, hi, p, q int32) int64 {
	if !f.propose(lo, hi, p, q) {
		return 0
	}
	return f.replace(f.spanAt, f.span)
}

// propose puts into span, to stand from time spanAt on, the gates of the window
// reordered along a minimum cut; false if that changes nothing.
func (f *frontier) propose(lo, hi, p, q int32) bool {
	f.build(lo, hi, p, q)
	before := f.net.work
	f.net.maximise(noCut)
	side := int32(0)
	if f.r.IntN(2) == 0 {
		f.net.sourceSide()
	} else {
		f.net.sinkSide()
		side = -1
	}
	f.work += f.net.work - before + 8*int64(hi-lo)
	f.span = f.spanBuf[:0]
	level := f.net.level
	for t := lo; t < hi; t++ {
		if inS := level[f.gateNode(lo, t)] >= 0; inS == (side == 0) {
			f.span = append(f.span, f.order[t])
		}
	}
	for t := lo; t < hi; t++ {
		if inS := level[f.gateNode(lo, t)] >= 0; inS != (side == 0) {
			f.span = append(f.span, f.order[t])
		}
	}
	f.spanBuf = f.span
	// Only what lies between the first and the last gate that move is new.
	first, last := int32(0), hi-lo
	for first < last && f.span[first] == f.order[lo+first] {
		first++
	}
	for first < last && f.span[last-1] == f.order[lo+last-1] {
		last--
	}
	f.spanAt, f.span = lo+first, f.span[first:last]
	return first < last
}

func (f *frontier) gateNode(lo, t int32) int32 { return 2 + 2*(t-lo) }

// build makes the flow network of a window. A gate is a node, on the source's
// side if it runs early; each value that can be live or not at a cut inside the
// window has a second node "all that read it run early", with an arc of 1
// between the two.
func (f *frontier) build(lo, hi, p, q int32) {
	in, net := f.in, &f.net
	f.stamp++
	f.near = f.near[:0]
	nodes := 2 + 2*(hi-lo)
	for t := lo; t < hi; t++ {
		for _, v := range in.fanin[f.order[t]] {
			if v == 0 || f.seen[v] == f.stamp {
				continue
			}
			f.seen[v] = f.stamp
			if v < in.first {
				if f.floating[v] {
					f.near = append(f.near, v)
					f.node[v] = nodes
					nodes += 2
				}
			} else if f.pos[v-in.first] < lo && !in.isOut[v] {
				f.near = append(f.near, v)
				f.node[v] = nodes
				nodes += 2
			}
		}
	}
	net.reset(int(nodes))
	for _, v := range f.near {
		f.addOutside(v, lo, hi)
	}
	for t := lo; t < hi; t++ {
		g := f.order[t]
		id := f.gateNode(lo, t)
		for _, v := range in.fanin[g] {
			if x := v - in.first; x >= 0 && f.pos[x] >= lo {
				net.arc(id, f.gateNode(lo, f.pos[x]), noCut)
			}
		}
		v := in.first + g
		uses := in.uses(v)
		late := in.isOut[v]
		for i := 0; i < len(uses) && !late; i++ {
			late = f.pos[uses[i]] >= hi
		}
		if late {
			net.arc(id, sink, 1)
			continue
		}
		net.arc(id, id+1, 1)
		for _, u := range uses {
			net.arc(id+1, f.gateNode(lo, f.pos[u]), noCut)
		}
	}
	net.arc(source, f.gateNode(lo, p), noCut)
	net.arc(f.gateNode(lo, q), sink, noCut)
}

// addOutside adds a value that gates of the window read but none computes: one
// computed before it, or a floating input.
func (f *frontier) addOutside(v, lo, hi int32) {
	in, net := f.in, &f.net
	early, late := v >= in.first, false
	for _, u := range in.uses(v) {
		early = early || f.pos[u] < lo
		late = late || f.pos[u] >= hi
	}
	if early && late {
		return // live throughout
	}
	id := f.node[v]
	net.arc(id, id+1, 1)
	if early {
		net.arc(source, id, noCut)
	}
	if late {
		net.arc(id+1, sink, noCut)
	}
	for _, u := range in.uses(v) {
		if t := f.pos[u]; t >= lo && t < hi {
			if !early {
				net.arc(f.gateNode(lo, t), id, noCut)
			}
			if !late {
				net.arc(id+1, f.gateNode(lo, t), noCut)
			}
		}
	}
}

// replace puts a permutation of a span into the order at lo, unless that raises
// the sum of penalties. It returns by how much the sum fell.
func (f *frontier) replace(lo int32, span []int32) int64 {
	hi := lo + int32(len(span))
	before := f.sum(lo, hi)
	f.saved = append(append(f.saved[:0], f.order[lo:hi]...), f.live[lo:hi]...)
	f.put(lo, span)
	f.count(lo, hi)
	after := f.sum(lo, hi)
	if after > before {
		f.put(lo, f.saved[:hi-lo])
		copy(f.live[lo:hi], f.saved[hi-lo:])
		return 0
	}
	return before - after
}

func (f *frontier) put(lo int32, span []int32) {
	copy(f.order[lo:], span)
	for i, g := range span {
		f.pos[g] = lo + int32(i)
	}
}

// count sets live in [lo, hi) from live[lo-1].
func (f *frontier) count(lo, hi int32) {
	in := f.in
	delta := f.delta[:hi-lo]
	clear(delta)
	f.stamp++
	for t := lo; t < hi; t++ {
		v := in.first + f.order[t]
		delta[t-lo]++
		if !in.isOut[v] {
			f.dies(v, t, lo, hi)
		}
		for _, v := range in.fanin[f.order[t]] {
			if v == 0 || f.seen[v] == f.stamp {
				continue
			}
			f.seen[v] = f.stamp
			switch {
			case v >= in.first:
				if f.pos[v-in.first] < lo && !in.isOut[v] {
					f.dies(v, t, lo, hi)
				}
			case f.floating[v]:
				first := t
				for _, u := range in.uses(v) {
					first = min(first, f.pos[u])
				}
				if first >= lo {
					delta[first-lo]++
				}
				f.dies(v, t, lo, hi)
			}
		}
	}
	live := int32(0)
	if lo > 0 {
		live = f.live[lo-1]
	}
	for t := lo; t < hi; t++ {
		live += delta[t-lo]
		f.live[t] = live
	}
	f.work += 4 * int64(hi-lo)
}

// dies marks the last use of v, if it lies in [lo, hi).
func (f *frontier) dies(v, t, lo, hi int32) {
	last := t
	for _, u := range f.in.uses(v) {
		last = max(last, f.pos[u])
	}
	if last < hi {
		f.delta[last-lo]--
	}
}
