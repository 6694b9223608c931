package xmg

import (
	"cmp"
	"slices"
)

// wholeAdders returns the graph with the parities and majorities that its gates make over
// two or three nodes as gates of their own, so that adders are whole whatever gates make
// them (the atomic blocks of Mahzoon, Grosse, Drechsler, "RevSCA", DAC 2019). A gate that is
// none stays as it is: nothing else is restructured, as Map would.
func (g *Graph) wholeAdders() *Graph {
	cuts := make([][]cut, len(g.nodes))
	for id := range g.nodes {
		cuts[id] = append(cuts[id], nodeCut(id))
		if id >= g.FirstGate() {
			cuts[id] = append(cuts[id], g.smallCuts(id, cuts)...)
		}
	}
	// The leaves over which there is a carry and a parity: these are adders.
	found := map[[3]uint32]uint8{}
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		for i := range cuts[id][1:] {
			c := &cuts[id][1+i]
			found[c.key()] |= c.adds()
		}
	}
	out := g.emptyCopy(g.NumGates())
	lit := make([]Lit, len(g.nodes))
	for id := range lit {
		if id < g.FirstGate() {
			lit[id] = Lit(id) << 1
			continue
		}
		// What is part of an adder before others.
		var best *cut
		whole := false
		for i := range cuts[id][1:] {
			c := &cuts[id][1+i]
			both := found[c.key()] == isCarry|isParity
			if k := c.adds(); k == 0 || k == isCarry && c.n == 2 && !both {
				continue
			}
			if best == nil || both && !whole {
				best, whole = c, both
			}
		}
		if best == nil {
			lit[id] = out.copyGate(g.nodes[id], lit)
			continue
		}
		var in [3]Lit
		for k, l := range best.leaves() {
			in[k] = lit[l]
		}
		if inv, flip, ok := best.carry(); ok {
			lit[id] = out.Maj(in[0]^inv[0], in[1]^inv[1], in[2]^inv[2]) ^ flip
		} else {
			lit[id] = out.Xor(in[0], in[1], in[2]) ^ Lit(best.fn&1)
		}
	}
	for _, o := range g.outputs {
		out.AddOutput(o.Name, lit[o.Lit>>1]^o.Lit&1)
	}
	return out
}

// nodeCut is the cut of a node that has itself as a leaf.
func nodeCut(id int) cut {
	if id == 0 {
		return cut{}
	}
	return cut{leaf: [4]uint32{uint32(id)}, sig: 1 << (id % 32), fn: inputTruth[0], n: 1}
}

// smallCutsPerNode are the cuts of at most three leaves that are kept for a node.
const smallCutsPerNode = 12

// smallCuts joins cuts of the fanins of a gate to those of it.
func (g *Graph) smallCuts(id int, cuts [][]cut) (list []cut) {
	f := g.nodes[id]
	var ab, abc cut
	for i := range cuts[f[0]>>1] {
		a := &cuts[f[0]>>1][i]
		for j := range cuts[f[1]>>1] {
			b := &cuts[f[1]>>1][j]
			if !ab.join(a, b) || ab.n > 3 {
				continue
			}
			for k := range cuts[f[2]>>1] {
				c := &cuts[f[2]>>1][k]
				if !abc.join(&ab, c) || abc.n > 3 {
					continue
				}
				ta, tb, tc := a.over(&abc)^-truth(f[0]&1), b.over(&abc)^-truth(f[1]&1), c.over(&abc)^-truth(f[2]&1)
				made := abc
				if g.Kind(id) == Maj {
					made.fn = majTruth(ta, tb, tc)
				} else {
					made.fn = ta ^ tb ^ tc
				}
				made.shrink()
				if slices.ContainsFunc(list, func(d cut) bool { return d.within(&made) }) {
					continue
				}
				list = slices.DeleteFunc(list, func(d cut) bool { return made.within(&d) })
				list = append(list, made)
			}
		}
	}
	// Parities and carries before others, and of few leaves before others.
	slices.SortStableFunc(list, func(a, b cut) int {
		return cmp.Or(btoi(a.adds() == 0)-btoi(b.adds() == 0), int(a.n)-int(b.n))
	})
	return list[:min(len(list), smallCutsPerNode)]
}

// What a cut is in an adder.
const isCarry, isParity = 1, 2

// key returns the leaves of a cut of at most three, and zeros.
func (c *cut) key() (k [3]uint32) {
	copy(k[:], c.leaves())
	return k
}

func (c *cut) adds() uint8 {
	if c.n < 2 {
		return 0
	}
	if c.fn.isParity(int(c.n)) {
		return isParity
	}
	if _, _, ok := c.carry(); ok {
		return isCarry
	}
	return 0
}

// isParity reports whether a function is the parity of its first inputs, or its complement.
func (t truth) isParity(n int) bool {
	p := inputTruth[0] ^ inputTruth[1]
	if n == 3 {
		p ^= inputTruth[2]
	}
	return t == p || t == ^p
}

// carry returns which leaves of a cut, and whether the result, are complemented for its
// function to be the majority of three leaves, or the conjunction of two.
func (c *cut) carry() (inv [3]Lit, flip Lit, ok bool) {
	third := inputTruth[2]
	if c.n == 2 {
		third = 0
	}
	for k := range Lit(16) {
		inv, flip = [3]Lit{k & 1, k >> 1 & 1, k >> 2 & 1}, k>>3
		if c.n == 2 {
			inv[2] = 0
		}
		if c.fn == majTruth(inputTruth[0]^-truth(inv[0]), inputTruth[1]^-truth(inv[1]), third^-truth(inv[2]))^-truth(flip) {
			return inv, flip, true
		}
	}
	return inv, 0, false
}
