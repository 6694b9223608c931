package xmg

import "slices"

// alike finds gates of one circuit among those of another in the same graph, without
// simulation: a gate and one that it equals over a cut of few leaves. Mapping and rewriting
// leave most gates so, and the time is linear whatever the depth, where candidates of
// random patterns are many that are not equal (nodes that are hardly ever 1) and each of
// them takes a proof.
//
// Cuts are of nodes of the first circuit only, since it is built before, and what a cut
// separates from the inputs there is found from its leaves upwards.
type alike struct {
	g                *Graph // the first circuit, and above it what the second has beyond that
	first            int    // nodes of the first circuit
	offsets, targets []int32
	work             int64 // values of gates, of 64 patterns

	// Of the cut at hand: where a node is in values, or -1.
	at     []int32
	inside []uint32 // nodes between the gate and the leaves
	nodes  []uint32 // what values are of
	values []alikeTable

	cuts  []alikeCut // of the gate, in the order in which they are tried
	stack []uint32
}

// alikeCut is the leaves of a cut, ascending.
type alikeCut struct {
	n    uint8
	leaf [alikeLeaves]uint32
}

// Bounds of a search for one gate.
const (
	alikeLeaves = 8
	alikeInside = 48   // nodes between a gate and the leaves
	alikeNodes  = 96   // nodes above the leaves
	alikeUses   = 4096 // uses of these that are looked at
	alikeCuts   = 24
)

// alikeTable is a function of the leaves, as truth6 has it.
type alikeTable [1 << alikeLeaves / 64]uint64

func newAlike(g *Graph) *alike {
	a := &alike{g: g, first: len(g.nodes), at: make([]int32, len(g.nodes))}
	a.offsets, a.targets = g.Fanouts()
	for i := range a.at {
		a.at[i] = -1
	}
	return a
}

// find returns the node of the first circuit that equals gate id, the last of the graph.
// 0 is the constant; ok is false if there is none near.
func (a *alike) find(id int) (node uint32, ok bool) {
	for len(a.at) <= id {
		a.at = append(a.at, -1)
	}
	a.cuts = a.cuts[:0]
	if !a.begin(id) {
		return 0, false
	}
	for k := 0; k < len(a.cuts); k++ {
		cut := a.cuts[k]
		if node, ok := a.match(id, &cut); ok {
			return node, true
		}
		for i := range int(cut.n) {
			if len(a.cuts) < alikeCuts {
				a.replace(&cut, i)
			}
		}
	}
	return 0, false
}

// begin makes the first cut: of the nodes of the first circuit that are nearest.
func (a *alike) begin(id int) bool {
	var cut alikeCut
	a.stack = append(a.stack[:0], uint32(id))
	for k := 0; k < len(a.stack); k++ {
		for _, l := range a.g.nodes[a.stack[k]] {
			n := uint32(l >> 1)
			switch {
			case n == 0:
			case int(n) < a.first:
				if !cut.add(n) {
					return false
				}
			case !slices.Contains(a.stack, n):
				if len(a.stack) == alikeInside {
					return false
				}
				a.stack = append(a.stack, n)
			}
		}
	}
	a.cuts = append(a.cuts, cut)
	return true
}

// add adds a leaf, and reports whether there was room.
func (c *alikeCut) add(n uint32) bool {
	i, found := slices.BinarySearch(c.leaf[:c.n], n)
	if found {
		return true
	}
	if int(c.n) == len(c.leaf) {
		return false
	}
	copy(c.leaf[i+1:c.n+1], c.leaf[i:c.n])
	c.leaf[i] = n
	c.n++
	return true
}

// replace enters the cut that has the fanins of a leaf in its place.
func (a *alike) replace(cut *alikeCut, i int) {
	if !a.g.IsGate(int(cut.leaf[i])) {
		return
	}
	var d alikeCut
	for k, n := range cut.leaf[:cut.n] {
		if k != i {
			d.add(n)
		}
	}
	for _, l := range a.g.nodes[cut.leaf[i]] {
		if l > True && !d.add(uint32(l>>1)) {
			return
		}
	}
	if !slices.Contains(a.cuts, d) {
		a.cuts = append(a.cuts, d)
	}
}

// match computes the gate over the leaves, and compares it with them and with the nodes
// of the first circuit above them.
func (a *alike) match(id int, cut *alikeCut) (node uint32, ok bool) {
	a.nodes, a.values = a.nodes[:0], a.values[:0]
	defer func() {
		for _, n := range a.nodes {
			a.at[n] = -1
		}
	}()
	for i, n := range cut.leaf[:cut.n] {
		var t alikeTable
		for w := range t {
			if i < 6 {
				t[w] = uint64(sixTruth[i])
			} else {
				t[w] = -(uint64(w) >> (i - 6) & 1)
			}
		}
		a.enter(n, t)
	}
	if !a.collect(uint32(id)) {
		return 0, false
	}
	slices.Sort(a.inside)
	for _, n := range a.inside {
		a.enter(n, a.compute(n))
	}
	want := a.values[a.at[id]]
	if want == (alikeTable{}) {
		return 0, true
	}
	for k, n := range a.nodes {
		if int(n) < a.first && a.values[k] == want {
			return n, true
		}
	}
	// Nodes whose fanins are all known are known.
	uses := 0
	for k := 0; k < len(a.nodes) && len(a.nodes) < alikeNodes; k++ {
		n := a.nodes[k]
		if int(n) >= a.first {
			continue
		}
		all := a.targets[a.offsets[n]:a.offsets[n+1]]
		if uses+len(all) > alikeUses {
			continue // found from another leaf, if at all
		}
		uses += len(all)
		a.work += int64(len(all))
		for _, u := range all {
			if a.at[u] >= 0 || !a.known(uint32(u)) {
				continue
			}
			t := a.compute(uint32(u))
			if t == want {
				return uint32(u), true
			}
			a.enter(uint32(u), t)
		}
	}
	return 0, false
}

// collect lists what is between the gate and the leaves of the cut that is entered. It
// reports whether that is little, and goes by the leaves only.
func (a *alike) collect(id uint32) bool {
	a.inside = append(a.inside[:0], id)
	for k := 0; k < len(a.inside); k++ {
		for _, l := range a.g.nodes[a.inside[k]] {
			n := uint32(l >> 1)
			if n == 0 || a.at[n] >= 0 || slices.Contains(a.inside, n) {
				continue
			}
			if !a.g.IsGate(int(n)) || len(a.inside) == alikeInside {
				return false
			}
			a.inside = append(a.inside, n)
		}
	}
	return true
}

func (a *alike) enter(n uint32, t alikeTable) {
	a.at[n] = int32(len(a.nodes))
	a.nodes = append(a.nodes, n)
	a.values = append(a.values, t)
}

func (a *alike) known(n uint32) bool {
	for _, l := range a.g.nodes[n] {
		if l > True && a.at[l>>1] < 0 {
			return false
		}
	}
	return true
}

// compute returns the function of a gate whose fanins are known.
func (a *alike) compute(n uint32) (t alikeTable) {
	a.work += int64(len(t))
	f := a.g.nodes[n]
	var in [3]*alikeTable
	var zero alikeTable
	for k, l := range f {
		in[k] = &zero
		if l > True {
			in[k] = &a.values[a.at[l>>1]]
		}
	}
	x, y, z := -uint64(f[0]&1), -uint64(f[1]&1), -uint64(f[2]&1)
	for w := range t {
		p, q, r := in[0][w]^x, in[1][w]^y, in[2][w]^z
		if f[0] > f[1] {
			t[w] = p ^ q ^ r
		} else {
			t[w] = p&q | (p|q)&r
		}
	}
	return t
}
