package xmg

import (
	"math/rand/v2"
	"slices"
)

// grower cuts windows out of a graph (as a window without values, the net):
// from a pivot it takes fanins and fanouts, always what adds the fewest inputs,
// so that the window gets reconvergent logic on both sides of the pivot and
// nearly all its values are used inside it.
type grower struct {
	net *resubWindow
	rng *rand.Rand

	offsets, targets []int32 // the gates that use each node
	state            []uint8 // by node: outside, leaf or inside
	members          []int32 // inside: the gates of the window
	leaves           []int32
	cone             []bool
	at               []Lit // by node of the net: its edge in the window
	steps            []changeStep
	replaced         []replaced
}

const (
	outOfWindow uint8 = iota
	windowLeaf
	inWindow
)

// maxFanouts bounds the fanouts of a node that are looked at.
const maxFanouts = 16

// reset sets the net, and computes its fanouts. O(nodes).
func (g *grower) reset(net *resubWindow) {
	g.net = net
	n := len(net.nodes)
	g.state = resize(g.state, n)
	clear(g.state)
	g.members, g.leaves = g.members[:0], g.leaves[:0]
	g.offsets = resize(g.offsets, n+1)
	clear(g.offsets)
	for _, f := range net.nodes[net.first():] {
		for _, l := range f {
			g.offsets[l>>1+1]++
		}
	}
	sum := int32(0)
	for id := range n {
		count := g.offsets[id+1]
		g.offsets[id+1] = sum
		sum += count
	}
	g.targets = resize(g.targets, int(sum))
	for id := net.first(); id < n; id++ {
		for _, l := range net.nodes[id] {
			at := &g.offsets[l>>1+1]
			g.targets[*at] = int32(id)
			*at++
		}
	}
}

// fanouts returns some of the gates that use a node; of many, a random part.
func (g *grower) fanouts(id int32) []int32 {
	t := g.targets[g.offsets[id]:g.offsets[id+1]]
	if len(t) > maxFanouts {
		from := g.rng.IntN(len(t) - maxFanouts + 1)
		t = t[from : from+maxFanouts]
	}
	return t
}

// missing returns how many fanins of a gate are outside of the window.
func (g *grower) missing(id int32) int {
	n := 0
	for _, l := range g.net.nodes[id] {
		if l>>1 != 0 && g.state[l>>1] == outOfWindow {
			n++
		}
	}
	return n
}

// take makes a gate a part of the window and its fanins leaves, if not inside.
func (g *grower) take(id int32) {
	if g.state[id] == windowLeaf {
		i := slices.Index(g.leaves, id)
		g.leaves = slices.Delete(g.leaves, i, i+1)
	}
	g.state[id] = inWindow
	g.members = append(g.members, id)
	for _, l := range g.net.nodes[id] {
		if l>>1 != 0 && g.state[l>>1] == outOfWindow {
			g.state[l>>1] = windowLeaf
			g.leaves = append(g.leaves, int32(l>>1))
		}
	}
}

func (g *grower) clear() {
	for _, id := range g.members {
		g.state[id] = outOfWindow
	}
	for _, id := range g.leaves {
		g.state[id] = outOfWindow
	}
	g.members, g.leaves = g.members[:0], g.leaves[:0]
}

// grow makes a window around a pivot of at most some inputs and gates. It tells
// whether there is one: no input depends on a gate of the window.
func (g *grower) grow(pivot, maxInputs, maxGates int) bool {
	g.clear()
	g.take(int32(pivot))
	for len(g.members) < maxGates {
		best, least, ties := int32(-1), maxInputs-len(g.leaves)+1, 0
		consider := func(id int32, cost int) {
			switch {
			case cost > least || cost == least && ties == 0:
				return
			case cost < least:
				least, ties = cost, 0
			}
			if ties++; g.rng.IntN(ties) == 0 {
				best = id
			}
		}
		for _, id := range g.leaves {
			if int(id) >= g.net.first() {
				consider(id, g.missing(id)-1)
			}
		}
		if least > 0 {
			for _, list := range [2][]int32{g.members, g.leaves} {
				for _, m := range list {
					for _, id := range g.fanouts(m) {
						if g.state[id] == outOfWindow {
							consider(id, g.missing(id))
						}
					}
				}
				if least == 0 {
					break
				}
			}
		}
		if ties == 0 {
			break
		}
		g.take(best)
	}
	for {
		bad := g.dependentLeaf()
		if bad < 0 {
			return true
		}
		if len(g.leaves)-1+g.missing(bad) > maxInputs {
			return false
		}
		g.take(bad)
	}
}

// dependentLeaf returns a leaf that depends on a gate of the window, or -1.
func (g *grower) dependentLeaf() int32 {
	last, from := slices.Max(g.leaves), slices.Min(g.members)
	g.cone = resize(g.cone, len(g.net.nodes))
	clear(g.cone)
	for id := from; id <= last; id++ {
		f := g.net.nodes[id]
		if g.state[id] == inWindow || g.cone[f[0]>>1] || g.cone[f[1]>>1] || g.cone[f[2]>>1] {
			if g.state[id] == windowLeaf {
				return id
			}
			g.cone[id] = true
		}
	}
	return -1
}

// window makes w the window, with words of values for all patterns of its inputs
// (or none), and its outputs what is used outside of it.
func (g *grower) window(w *resubWindow, words int) {
	slices.Sort(g.leaves)
	slices.Sort(g.members)
	g.at = resize(g.at, len(g.net.nodes))
	w.reset(len(g.leaves), words)
	w.allPatternsInto()
	g.at[0] = 0
	for i, id := range g.leaves {
		g.at[id] = Lit(i+1) << 1
	}
	// Both ids ascend alike but for leaves among the gates, so a gate has to
	// be normalised again.
	for _, id := range g.members {
		f := g.net.nodes[id]
		a, b, c := g.at[f[0]>>1]^f[0]&1, g.at[f[1]>>1]^f[1]&1, g.at[f[2]>>1]^f[2]&1
		var h gate
		var l Lit
		if f[0] > f[1] {
			h, l, _ = xorGate(a, b, c)
		} else {
			h, l, _ = majGate(a, b, c)
		}
		g.at[id] = Lit(len(w.nodes))<<1 ^ l
		w.nodes = append(w.nodes, h)
		w.eval()
	}
	g.replaced = g.replaced[:0]
	w.countRefs()
	for _, id := range g.members {
		if w.refs[g.at[id]>>1] < g.net.refs[id] {
			w.outs = append(w.outs, g.at[id])
			g.replaced = append(g.replaced, replaced{int(id), 0})
		}
	}
	w.countRefs()
}

// replace makes out the net with the window replaced by w, which has the same
// outputs.
func (g *grower) replace(out *resubWindow, r *windowRebuilder, w *resubWindow) {
	edge := func(l Lit) Lit {
		switch id := int(l >> 1); {
		case id == 0:
			return l
		case id <= w.inputs:
			return Lit(g.leaves[id-1])<<1 ^ l&1
		default:
			return Lit(newNode+id-w.first())<<1 ^ l&1
		}
	}
	g.steps = g.steps[:0]
	for _, f := range w.nodes[w.first():] {
		g.steps = append(g.steps, changeStep{f[0] > f[1], [3]Lit{edge(f[0]), edge(f[1]), edge(f[2])}})
	}
	clear(g.cone)
	for i := range g.replaced {
		n := &g.replaced[i]
		n.by = edge(w.outs[i])
		g.cone[n.node] = true
	}
	for id := g.net.first(); id < len(g.net.nodes); id++ {
		f := g.net.nodes[id]
		if g.cone[f[0]>>1] || g.cone[f[1]>>1] || g.cone[f[2]>>1] {
			g.cone[id] = true
		}
	}
	r.rebuild(out, g.net, g.cone, g.steps, g.replaced)
}
