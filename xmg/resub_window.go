package xmg

import (
	"math"
	"math/bits"
)

// resubWindow is a small circuit with the values of every node for all patterns that
// can occur at its inputs: the whole of a small graph, or a part of a large one.
// Nodes are numbered as in a [Graph]: the constant, the inputs, the gates in
// topological order. What its outputs are for those patterns is its function;
// everything else is free.
type resubWindow struct {
	inputs int
	words  int      // words of values for each node
	nodes  []gate   // gates as in a Graph, hashed and without trivial ones
	val    []uint64 // words for each node
	refs   []int32  // uses by gates and outputs
	outs   []Lit
}

func (w *resubWindow) first() int { return w.inputs + 1 }
func (w *resubWindow) gates() int { return len(w.nodes) - w.inputs - 1 }

func (w *resubWindow) row(node int) []uint64 { return w.val[node*w.words:][:w.words] }

// reset makes w an empty window; the values of its inputs are to be set.
func (w *resubWindow) reset(inputs, words int) {
	w.inputs, w.words = inputs, words
	w.nodes = resize(w.nodes, inputs+1)
	w.val = resize(w.val, (inputs+1)*words)
	w.outs = w.outs[:0]
	clear(w.nodes)
	clear(w.val[:words])
}

// copyFrom makes w equal to src.
func (w *resubWindow) copyFrom(src *resubWindow) {
	w.inputs, w.words = src.inputs, src.words
	w.nodes = append(w.nodes[:0], src.nodes...)
	w.val = append(w.val[:0], src.val...)
	w.refs = append(w.refs[:0], src.refs...)
	w.outs = append(w.outs[:0], src.outs...)
}

// eval appends the values of the last gate.
func (w *resubWindow) eval() {
	id := len(w.nodes) - 1
	w.val = resize(w.val, (id+1)*w.words)
	evalGate(w.row(id), w.nodes[id], w.val, w.words)
}

// countRefs sets the uses of all nodes.
func (w *resubWindow) countRefs() {
	w.refs = resize(w.refs, len(w.nodes))
	clear(w.refs)
	for _, f := range w.nodes[w.first():] {
		w.refs[f[0]>>1]++
		w.refs[f[1]>>1]++
		w.refs[f[2]>>1]++
	}
	for _, l := range w.outs {
		w.refs[l>>1]++
	}
}

// evalGate computes a gate from the rows of its fanins.
func evalGate(dst []uint64, f gate, val []uint64, words int) {
	a, b, c := val[int(f[0]>>1)*words:][:len(dst)], val[int(f[1]>>1)*words:][:len(dst)], val[int(f[2]>>1)*words:][:len(dst)]
	if f[0] > f[1] {
		for k := range dst {
			dst[k] = a[k] ^ b[k] ^ c[k]
		}
		return
	}
	ma, mb, mc := -uint64(f[0]&1), -uint64(f[1]&1), -uint64(f[2]&1)
	for k := range dst {
		x, y, z := a[k]^ma, b[k]^mb, c[k]^mc
		dst[k] = x&y | (x|y)&z
	}
}

// allPatternsInto sets the inputs' rows to all patterns of them.
func (w *resubWindow) allPatternsInto() {
	for i := range w.inputs {
		row := w.row(i + 1)
		for k := range row {
			if i < 6 {
				row[k] = tableInputs[i]
			} else {
				row[k] = -uint64(k >> (i - 6) & 1)
			}
		}
	}
}

func patternWords(inputs int) int { return 1 << max(0, inputs-6) }

// resize returns s with length n; what is beyond the old length is undefined.
func resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	grown := make([]T, n, n+n/4+16)
	copy(grown, s)
	return grown
}

// changeStep is a gate of a change. The operand of node newNode+i is step i.
type changeStep struct {
	xor bool
	in  [3]Lit
}

const newNode = 1 << 30

// replaced says which edge takes the place of a node.
type replaced struct {
	node int
	by   Lit // of a node that does not depend on a replaced one, or a step
}

// windowRebuilder makes windows anew with some nodes replaced.
type windowRebuilder struct {
	lit  []Lit    // by old node
	step []Lit    // by step
	hash []uint32 // as in Graph
	made []gate
	from []uint32 // by made gate: the old node with its values, or 0
	live []bool
	to   []Lit // by made node
}

// rebuild makes out the window w with some nodes replaced by edges of steps: it
// is hashed, trivial gates are propagated and dead ones removed. The cone marks
// the replaced nodes and all that depends on them. O(nodes x words).
func (r *windowRebuilder) rebuild(out, w *resubWindow, cone []bool, steps []changeStep, nodes []replaced) {
	first := w.first()
	r.lit = resize(r.lit, len(w.nodes))
	size := 64
	for size < 2*(len(w.nodes)+len(steps)) {
		size *= 2
	}
	r.hash = resize(r.hash, size)
	clear(r.hash)
	r.made = resize(r.made, first)
	r.from = resize(r.from, first)
	for id := range first {
		r.lit[id] = Lit(id) << 1
	}
	for id := first; id < len(w.nodes); id++ {
		r.lit[id] = noLit
		if !cone[id] {
			r.lit[id] = r.copyGate(w.nodes[id], uint32(id))
		}
	}
	r.step = resize(r.step, len(steps))
	at := func(l Lit) Lit {
		if l>>1 >= newNode {
			return r.step[l>>1-newNode] ^ l&1
		}
		return r.lit[l>>1] ^ l&1
	}
	for i, s := range steps {
		r.step[i] = r.add(s.xor, at(s.in[0]), at(s.in[1]), at(s.in[2]), 0)
	}
	for _, n := range nodes {
		r.lit[n.node] = at(n.by)
	}
	for id := first; id < len(w.nodes); id++ {
		if r.lit[id] == noLit {
			r.lit[id] = r.copyGate(w.nodes[id], 0)
		}
	}
	r.live = resize(r.live, len(r.made))
	clear(r.live)
	for _, l := range w.outs {
		r.live[r.lit[l>>1]>>1] = true
	}
	for id := len(r.made) - 1; id >= first; id-- {
		if r.live[id] {
			f := r.made[id]
			r.live[f[0]>>1], r.live[f[1]>>1], r.live[f[2]>>1] = true, true, true
		}
	}
	// Ids only move down in order, so gates stay in their normal form.
	words := w.words
	out.reset(w.inputs, words)
	copy(out.val, w.val[:first*words])
	r.to = resize(r.to, len(r.made))
	for id := range first {
		r.to[id] = Lit(id) << 1
	}
	for id := first; id < len(r.made); id++ {
		if !r.live[id] {
			r.to[id] = noLit
			continue
		}
		f := r.made[id]
		r.to[id] = Lit(len(out.nodes)) << 1
		out.nodes = append(out.nodes, gate{r.to[f[0]>>1] ^ f[0]&1, r.to[f[1]>>1] ^ f[1]&1, r.to[f[2]>>1] ^ f[2]&1})
		if from := int(r.from[id]); from != 0 {
			out.val = append(out.val, w.val[from*words:][:words]...)
		} else {
			out.eval()
		}
	}
	for _, l := range w.outs {
		m := r.lit[l>>1] ^ l&1
		out.outs = append(out.outs, r.to[m>>1]^m&1)
	}
	out.countRefs()
}

const noLit Lit = math.MaxUint32

func (r *windowRebuilder) copyGate(f gate, from uint32) Lit {
	a, b, c := r.lit[f[0]>>1]^f[0]&1, r.lit[f[1]>>1]^f[1]&1, r.lit[f[2]>>1]^f[2]&1
	return r.add(f[0] > f[1], a, b, c, from)
}

// add makes a gate; its values are those of node from, if that is not 0 and the
// gate is not complemented by its normal form.
func (r *windowRebuilder) add(xor bool, a, b, c Lit, from uint32) Lit {
	var f gate
	var l Lit
	var trivial bool
	if xor {
		f, l, trivial = xorGate(a, b, c)
	} else {
		f, l, trivial = majGate(a, b, c)
	}
	if trivial {
		return l
	}
	if l != 0 {
		from = 0
	}
	mask := uint32(len(r.hash) - 1)
	for h := f.hash() & mask; ; h = (h + 1) & mask {
		id := r.hash[h]
		if id == 0 {
			id = uint32(len(r.made))
			r.hash[h] = id
			r.made = append(r.made, f)
			r.from = append(r.from, from)
			return Lit(id)<<1 ^ l
		}
		if r.made[id] == f {
			return Lit(id)<<1 ^ l
		}
	}
}

// sameOutputs tells whether both windows compute the same outputs.
func (w *resubWindow) sameOutputs(v *resubWindow) bool {
	for i, l := range w.outs {
		k := v.outs[i]
		m := -uint64((l ^ k) & 1)
		a, b := w.row(int(l>>1)), v.row(int(k>>1))
		for j := range a {
			if a[j]^b[j] != m {
				return false
			}
		}
	}
	return true
}

func onesCount(s []uint64) int {
	n := 0
	for _, x := range s {
		n += bits.OnesCount64(x)
	}
	return n
}

// graph returns the window as a graph with the names of another one.
func (w *resubWindow) graph(names *Graph) *Graph {
	out := names.emptyCopy(w.gates())
	lit := make([]Lit, len(w.nodes))
	for id := range w.first() {
		lit[id] = Lit(id) << 1
	}
	for id := w.first(); id < len(w.nodes); id++ {
		lit[id] = out.copyGate(w.nodes[id], lit)
	}
	for i, l := range w.outs {
		out.AddOutput(names.outputs[i].Name, lit[l>>1]^l&1)
	}
	return out
}

// wholeOf returns a swept graph as a window without values.
func wholeOf(g *Graph) *resubWindow {
	w := &resubWindow{inputs: g.NumInputs(), nodes: append([]gate(nil), g.nodes...)}
	for _, o := range g.outputs {
		w.outs = append(w.outs, o.Lit)
	}
	w.countRefs()
	return w
}

// plain returns the window as a graph without names.
func (w *resubWindow) plain() *Graph {
	names := New("")
	for range w.inputs {
		names.AddInput("")
	}
	names.outputs = make([]Output, len(w.outs))
	return w.graph(names)
}

// fill computes the values of all nodes for all patterns of the inputs.
func (w *resubWindow) fill() {
	w.words = patternWords(w.inputs)
	w.val = resize(w.val, len(w.nodes)*w.words)
	clear(w.val[:w.words])
	w.allPatternsInto()
	w.simulate()
}

// simulate computes the values of all gates from those of the inputs.
func (w *resubWindow) simulate() {
	for id := w.first(); id < len(w.nodes); id++ {
		evalGate(w.row(id), w.nodes[id], w.val, w.words)
	}
}

// now returns the edge that a node of the old window has become, or noLit if it
// is dead.
func (r *windowRebuilder) now(node int) Lit {
	l := r.lit[node]
	if m := r.to[l>>1]; m != noLit {
		return m ^ l&1
	}
	return noLit
}
