package masim

// outputsBound bounds the copies by what must be held at the end.
//
// With h, r, U, H, S and B as in [cutBound], let D be the gates computed outside
// h. At the end every output that a gate drives is held somewhere, at most r of
// them in h, so D and S hold at least e = outputs - r of them. A gate of D reads
// values of D, S and U only, and a gate of D with a user in H is in B. So a
// choice of S and D that meets these with the least |S| + |B| bounds the copies
// beyond those of U.
//
// That least number is found by refuting 0, 1, 2, ... copies. For k copies the
// members of S that have a user in D are tried in all ways, in ascending order
// of nodes. (A member without one counts at most one output, as does any output
// copied out.) The gates that could be in D follow from S: all of whose fanins
// are in S, in U or follow. Where enough outputs follow, D is made: as many of
// these gates as can be, given which of them are in B, which are tried too.
//
// With rematerialisation gates may be computed on both sides: B is empty, and D
// is all that follows.
type outputsBound struct {
	in      *instance
	once    bool    // no gate is computed twice
	need    int32   // outputs to hold outside
	have    int32   // outputs that are chosen or follow
	chosen  []bool  // by node
	follows []bool  // by node: chosen, or follows
	missing []int32 // by gate: fanins that are not chosen and do not follow
	trail   []int32 // nodes that follow, as they came
	nodes   []int32 // that may be chosen
	work    int64   // nodes that may still be looked at

	copied []bool // by gate: in B
	out    []bool // by gate: follows, but cannot be in D
}

// outputsWork is how many nodes are looked at: some tenths of a second.
const outputsWork = 60_000_000

func newOutputsBound(in *instance, once bool) *outputsBound {
	b := &outputsBound{in: in, once: once, work: outputsWork}
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
	b.copied = make([]bool, in.gates)
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

// least returns how many copies are needed at least, knowing that `known` are.
func (b *outputsBound) least(known int32) int32 {
	if b.chosen == nil {
		return known
	}
	for b.work > 0 && !b.suffice(0, known) && b.work > 0 {
		known++
	}
	return known
}

// suffice reports whether left more copies, those that choose nodes of nodes
// from an index on, may be enough. Out of work, it returns anything.
func (b *outputsBound) suffice(from int, left int32) bool {
	if b.have+left >= b.need && (!b.once || b.held(left, int32(len(b.trail)))) {
		return true
	}
	if left == 0 {
		return false
	}
	for i := from; i < len(b.nodes) && b.work > 0; i++ {
		v := b.nodes[i]
		b.work--
		if left == 1 && !b.completes(v) {
			continue // v would have no user in D
		}
		mark := len(b.trail)
		b.add(v)
		ok := b.suffice(i+1, left-1)
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
		b.work -= int64(len(in.uses(w)))
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

// held reports whether enough outputs can be held outside, if left more values
// are copied: back into h, those of the first `below` nodes of the trail being
// tried, or outputs out of h.
func (b *outputsBound) held(left, below int32) bool {
	if b.enough(left) {
		return true
	}
	if left == 0 {
		return false
	}
	in := b.in
	for i := below - 1; i >= 0 && b.work > 0; i-- {
		v := b.trail[i]
		if v < in.first || b.chosen[v] || b.copied[v-in.first] || len(in.uses(v)) == 0 {
			continue
		}
		b.copied[v-in.first] = true
		ok := b.held(left-1, i)
		b.copied[v-in.first] = false
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
	for changed := true; changed && have >= b.need && b.work > 0; {
		changed = false
		for i := len(b.trail) - 1; i >= 0; i-- {
			if b.work--; b.work <= 0 {
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
			if !b.copied[g] {
				for _, u := range in.uses(v) {
					// A chosen user is computed in h.
					x := in.first + u
					bad = bad || b.chosen[x] || isOut(x)
				}
			}
			b.work -= int64(len(in.uses(v)) + 3)
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
