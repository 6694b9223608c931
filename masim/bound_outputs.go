package masim

import (
	"context"
	"math"
)

// outputsBound bounds the copies by what must be held at the end.
//
// With h, r, U, H, S and B as in [cutBound], let D be the gates computed outside
// h. At the end every output that a gate drives is held somewhere, at most r of
// them in h, so D and S hold at least e = outputs - r of them. A gate of D reads
// values of D, S and U only, and a gate of D with a user in H is in B. So a
// choice of S and D that meets these with the least |S| + |B| bounds the copies
// beyond those of U.
//
// With rematerialisation a gate may be computed on both sides, H being all that
// are computed in h, and instead of being in B a gate of D with a user in H can
// be in H too. So each of these costs a copy or a second computation, whichever is
// less; where copies alone are counted, that is nothing.
//
// The least cost is found by refuting lower ones in ascending order. For k copies the
// members of S that have a user in D are tried in all ways, in ascending order
// of nodes. (A member without one counts at most one output, as does any output
// copied out.) The gates that could be in D follow from S: all of whose fanins
// are in S, in U or follow. Where enough outputs follow, D is made: as many of
// these gates as can be, given which of them are in B, or in H too, which are
// tried as well.
type outputsBound struct {
	in      *instance
	copy    float64 // cost of a copy
	both    float64 // cost of a gate of D that is read in h
	need    int32   // outputs to hold outside
	have    int32   // outputs that are chosen or follow
	chosen  []bool  // by node
	follows []bool  // by node: chosen, or follows
	missing []int32 // by gate: fanins that are not chosen and do not follow
	trail   []int32 // nodes that follow, as they came
	nodes   []int32 // that may be chosen
	work    *meter  // nodes that may still be looked at

	shared []bool // by gate: in B, or in H too
	out    []bool // by gate: follows, but cannot be in D
}

// outputsWork is how many nodes are looked at: some tenths of a second.
const outputsWork = 60_000_000

// costEpsilon is far below the difference of any two costs.
const costEpsilon = 1e-9

// newOutputsBound returns the bound for costs of a copy, which is above 0, and of
// a gate computed again.
func newOutputsBound(ctx context.Context, in *instance, copyCost, again float64) *outputsBound {
	b := &outputsBound{in: in, copy: copyCost, both: min(copyCost, again)}
	work := int64(outputsWork)
	if b.both > 0 && b.both < copyCost {
		work *= 2 // more costs to refute
	}
	b.work = newMeter(ctx, work)
	rows := int32(in.p.Geometry.Rows)
	inputs := in.first - 1
	full := inputs / rows * rows
	if inputs > full {
		b.need -= rows - (inputs - full)
	}
	for v := in.first; v < in.values; v++ {
		if in.isOut[v] {
			b.need++
		}
	}
	if b.need <= 0 || full == inputs {
		return b
	}
	b.chosen = make([]bool, in.values)
	b.follows = make([]bool, in.values)
	b.shared = make([]bool, in.gates)
	b.out = make([]bool, in.gates)
	b.missing = make([]int32, in.gates)
	for g, f := range in.fanin {
		for _, v := range f {
			if v != 0 {
				b.missing[g]++
			}
		}
	}
	for v := int32(1); v <= full; v++ {
		b.add(v)
	}
	for v := full + 1; v < in.values; v++ {
		if len(in.uses(v)) > 0 {
			b.nodes = append(b.nodes, v)
		}
	}
	return b
}

// least returns the least cost, knowing a cost that it is not below.
func (b *outputsBound) least(known float64) float64 {
	if b.chosen == nil {
		return known
	}
	// Costs up to less than a copy more are refuted together; when one of them
	// suffices, they are one by one.
	base := known
	for n := 1.0; b.refutes(known + b.copy*(1-1e-6)); n++ {
		known = base + n*b.copy
	}
	for b.both > 0 && b.both < b.copy && b.refutes(known) {
		known = b.next(known)
	}
	return known
}

// refutes reports whether a cost is known not to suffice.
func (b *outputsBound) refutes(cost float64) bool {
	b.work.spend(100) // costs may lie close to each other
	return b.work.more() && !b.suffice(0, cost) && b.work.more()
}

// next returns the least cost above the given one that copies and second
// computations can add up to.
func (b *outputsBound) next(cost float64) float64 {
	most := math.Floor(cost/b.copy+costEpsilon) + 1
	next := most * b.copy
	for k := 0.0; k < most && b.both > 0; k++ {
		n := math.Floor((cost-k*b.copy)/b.both+costEpsilon) + 1
		next = min(next, k*b.copy+n*b.both)
	}
	return next
}

// suffice reports whether copies and second computations of cost `left` more may be
// enough, the copies being those of nodes from an index on. Out of work, it
// returns anything.
func (b *outputsBound) suffice(from int, left float64) bool {
	copies := math.Floor(left/b.copy + costEpsilon)
	if b.have+int32(copies) >= b.need && (b.both == 0 || b.held(left, int32(len(b.trail)))) {
		return true
	}
	if copies == 0 {
		return false
	}
	for i := from; i < len(b.nodes) && b.work.more(); i++ {
		v := b.nodes[i]
		b.work.spend(1)
		if copies == 1 && !b.completes(v) {
			continue // v would have no user in D
		}
		mark := len(b.trail)
		b.add(v)
		ok := b.suffice(i+1, left-b.copy)
		b.undo(v, mark)
		if ok {
			return true
		}
	}
	return false
}

// completes reports whether v follows already, or some gate lacks no fanin but v.
func (b *outputsBound) completes(v int32) bool {
	if b.follows[v] {
		return true
	}
	for _, u := range b.in.uses(v) {
		if b.missing[u] == 1 {
			return true
		}
	}
	return false
}

// add chooses v. All that then follows is on the trail.
func (b *outputsBound) add(v int32) {
	in := b.in
	b.chosen[v] = true
	if b.follows[v] {
		return
	}
	from := len(b.trail)
	b.follows[v] = true
	b.trail = append(b.trail, v)
	for ; from < len(b.trail); from++ {
		w := b.trail[from]
		if in.isOut[w] {
			b.have++
		}
		for _, u := range in.uses(w) {
			b.missing[u]--
			if x := in.first + u; b.missing[u] == 0 && !b.follows[x] {
				b.follows[x] = true
				b.trail = append(b.trail, x)
			}
		}
		b.work.spend(int64(len(in.uses(w))))
	}
}

func (b *outputsBound) undo(v int32, mark int) {
	in := b.in
	b.chosen[v] = false
	for i := len(b.trail) - 1; i >= mark; i-- {
		w := b.trail[i]
		if in.isOut[w] {
			b.have--
		}
		b.follows[w] = false
		for _, u := range in.uses(w) {
			b.missing[u]++
		}
	}
	b.trail = b.trail[:mark]
}

// held reports whether enough outputs can be held outside at a cost of `left`
// more: of gates of D that are read in h, among the first `below` nodes of the
// trail, or of copies of outputs out of h.
func (b *outputsBound) held(left float64, below int32) bool {
	spare := int32(left/b.copy + costEpsilon)
	if b.have+spare < b.need {
		return false // nor with less to spare
	}
	if b.enough(spare) {
		return true
	}
	if left < b.both-costEpsilon {
		return false
	}
	in := b.in
	for i := below - 1; i >= 0 && b.work.more(); i-- {
		v := b.trail[i]
		b.work.spend(1)
		if v < in.first || b.chosen[v] || b.shared[v-in.first] || len(in.uses(v)) == 0 {
			continue
		}
		b.shared[v-in.first] = true
		ok := b.held(left-b.both, i)
		b.shared[v-in.first] = false
		if ok {
			return true
		}
	}
	return false
}

// enough makes D the most it can be and counts the outputs outside.
func (b *outputsBound) enough(spare int32) bool {
	in := b.in
	have := b.have + spare
	isOut := func(v int32) bool { // cannot be in D
		return v >= in.first && !b.chosen[v] && (!b.follows[v] || b.out[v-in.first])
	}
	var removed []int32
	for changed := true; changed && have >= b.need && b.work.more(); {
		changed = false
		for i := len(b.trail) - 1; i >= 0; i-- {
			if b.work.spend(1); !b.work.more() {
				break
			}
			v := b.trail[i]
			g := v - in.first
			if g < 0 || b.chosen[v] || b.out[g] {
				continue
			}
			bad := false
			for _, f := range in.fanin[g] {
				bad = bad || f != 0 && isOut(f)
			}
			if !b.shared[g] {
				for _, u := range in.uses(v) {
					// A chosen user is computed in h.
					x := in.first + u
					bad = bad || b.chosen[x] || isOut(x)
				}
			}
			b.work.spend(int64(len(in.uses(v)) + 3))
			if bad {
				b.out[g] = true
				removed = append(removed, g)
				changed = true
				if in.isOut[v] {
					have--
				}
			}
		}
	}
	for _, g := range removed {
		b.out[g] = false
	}
	return have >= b.need
}
