package xmg

import (
	"math/bits"
	"slices"
)

// window decides whether two nodes of a growing graph are equal by the truth
// tables of a common cut: a set of leaves that separates both from the inputs.
// Nodes that are equal as functions of the leaves are equal; nodes that are not
// may still be, where the leaves depend on each other, unless all leaves are
// inputs.
//
// A cut grows from the two nodes by taking, again and again, the leaf whose
// fanins add the fewest leaves, of these the one of the highest level.
// It takes 8 bytes a node of the graph and the tables.
type window struct {
	g      *Graph
	sizes  []windowSize
	level  []int32  // by node
	mark   []uint32 // by node: 2 x stamp for a leaf, and 1 more for an inner node
	slot   []uint32 // by marked node: index of its table
	stamp  uint32
	leaves []uint32
	inner  []uint32
	tables []uint64
	work   int64 // words of tables computed, and leaves looked at
}

// windowSize bounds a cut and the nodes between it and the two nodes.
type windowSize struct{ leaves, inner int }

// windowSizes are tried one after the other: the first costs a word a node.
var windowSizes = [...]windowSize{{6, 30}, {9, 80}, {12, 160}}

// added notes the next node of the graph.
func (w *window) added(id int) {
	l := int32(0)
	if w.g.IsGate(id) {
		f := w.g.nodes[id]
		l = 1 + max(w.level[f[0]>>1], w.level[f[1]>>1], w.level[f[2]>>1])
	}
	w.level = append(w.level, l)
	w.mark = append(w.mark, 0)
	w.slot = append(w.slot, 0)
}

// equal tells whether a and b are proved equal. If they are proved different,
// leaves holds inputs only, and pattern numbers values of them that tell a from
// b: bit i is the value of leaf i.
func (w *window) equal(a, b Lit) (equal, different bool, pattern int) {
	w.stamp++
	w.leaves, w.inner = w.leaves[:0], w.inner[:0]
	w.addLeaf(a)
	w.addLeaf(b)
	for _, size := range w.sizes {
		if !w.grow(size) {
			continue
		}
		at, ok := w.compare(a, b)
		if ok {
			return true, false, 0
		}
		if !slices.ContainsFunc(w.leaves, func(l uint32) bool { return w.g.IsGate(int(l)) }) {
			return false, true, at
		}
	}
	return false, false, 0
}

func (w *window) addLeaf(l Lit) {
	if n := l >> 1; n != 0 && w.mark[n]>>1 != w.stamp {
		w.mark[n] = w.stamp << 1
		w.leaves = append(w.leaves, uint32(n))
	}
}

// grow expands leaves within bounds; it reports whether it found any to expand.
func (w *window) grow(size windowSize) bool {
	first := uint32(w.g.FirstGate())
	grown := false
	for len(w.inner) < size.inner {
		best, bestCost, bestLevel := -1, size.leaves-len(w.leaves)+1, int32(0)
		w.work += int64(len(w.leaves))
		for i, l := range w.leaves {
			if l < first {
				continue
			}
			cost := -1
			for _, f := range w.g.nodes[l] {
				if n := f >> 1; n != 0 && w.mark[n]>>1 != w.stamp {
					cost++
				}
			}
			if cost < bestCost || cost == bestCost && best >= 0 && w.level[l] > bestLevel {
				best, bestCost, bestLevel = i, cost, w.level[l]
			}
		}
		if best < 0 {
			break
		}
		l := w.leaves[best]
		w.leaves[best] = w.leaves[len(w.leaves)-1]
		w.leaves = w.leaves[:len(w.leaves)-1]
		w.mark[l] |= 1
		w.inner = append(w.inner, l)
		for _, f := range w.g.nodes[l] {
			w.addLeaf(f)
		}
		grown = true
	}
	return grown
}

// compare computes the tables; if they differ, it returns where.
func (w *window) compare(a, b Lit) (at int, equal bool) {
	slices.Sort(w.inner)
	words := 1
	if k := len(w.leaves); k > 6 {
		words = 1 << (k - 6)
	}
	need := (1 + len(w.leaves) + len(w.inner)) * words
	w.work += int64(need)
	if len(w.tables) < need {
		w.tables = make([]uint64, need)
	}
	t := w.tables
	clear(t[:words]) // the constant
	w.slot[0] = 0
	for i, l := range w.leaves {
		w.slot[l] = uint32((1 + i) * words)
		dst := t[w.slot[l]:][:words]
		for k := range dst {
			if i < 6 {
				dst[k] = tableInputs[i]
			} else {
				dst[k] = -(uint64(k) >> (i - 6) & 1)
			}
		}
	}
	for i, n := range w.inner {
		f := w.g.nodes[n]
		w.slot[n] = uint32((1 + len(w.leaves) + i) * words)
		dst := t[w.slot[n]:][:words]
		x, y, z := t[w.slot[f[0]>>1]:][:words], t[w.slot[f[1]>>1]:][:words], t[w.slot[f[2]>>1]:][:words]
		if f[0] > f[1] {
			for k := range dst {
				dst[k] = x[k] ^ y[k] ^ z[k]
			}
			continue
		}
		mx, my, mz := -uint64(f[0]&1), -uint64(f[1]&1), -uint64(f[2]&1)
		for k := range dst {
			x, y, z := x[k]^mx, y[k]^my, z[k]^mz
			dst[k] = x&y | (x|y)&z
		}
	}
	x, y := t[w.slot[a>>1]:][:words], t[w.slot[b>>1]:][:words]
	m := -uint64((a ^ b) & 1)
	for k := range x {
		if d := x[k] ^ y[k] ^ m; d != 0 {
			return 64*k + bits.TrailingZeros64(d), false
		}
	}
	return 0, true
}
