package masim

import "github.com/bitsched/bitsched/xmg"

// cicppNet is what every schedule of one problem shares and none changes: the
// gates without their constants, the fanouts, and who is whose partner.
//
// Two values are partners while they share a fanout that has not been computed
// (section III-B1). A pair is counted once however many fanouts it shares; the
// pair ends when the last of them is computed.
type cicppNet struct {
	nodes  int // node 0 is the constant
	inputs int
	first  int // first gate

	fanins []([3]int32) // per gate (id-first): the fanins that are no constant, then zeros
	pairs  []([3]int32) // per gate: the pairs (0,1), (0,2), (1,2) of fanins, -1 = none

	fanoutStart []int32 // per node, into fanouts
	fanouts     []int32
	edgeStart   []int32 // per node, into edges
	edges       []partnerEdge

	uses   []int32 // per node: number of fanouts
	shared []int32 // per pair: number of fanouts that both feed
	keep   []bool  // gates that drive an output: one copy must stay
}

// partnerEdge says that the node it belongs to is a partner of other until
// the pair has no shared fanout left.
type partnerEdge struct{ other, pair int32 }

func newCicppNet(g *xmg.Graph) *cicppNet {
	n := &cicppNet{
		nodes:       g.NumNodes(),
		inputs:      g.NumInputs(),
		first:       g.FirstGate(),
		fanins:      make([][3]int32, g.NumGates()),
		pairs:       make([][3]int32, g.NumGates()),
		fanoutStart: make([]int32, g.NumNodes()+1),
		edgeStart:   make([]int32, g.NumNodes()+1),
		uses:        make([]int32, g.NumNodes()),
		keep:        make([]bool, g.NumNodes()),
	}
	for i := range n.fanins {
		k := 0
		for _, l := range g.Fanins(n.first + i) {
			if f := int32(l.Node()); f != 0 {
				n.fanins[i][k] = f
				n.uses[f]++
				k++
			}
		}
		sort3(&n.fanins[i], k)
	}
	for v, u := range n.uses {
		n.fanoutStart[v+1] = n.fanoutStart[v] + u
	}
	n.fanouts = make([]int32, n.fanoutStart[n.nodes])
	fill := append([]int32(nil), n.fanoutStart[:n.nodes]...)
	for i, f := range n.fanins {
		for _, v := range f {
			if v != 0 {
				n.fanouts[fill[v]] = int32(n.first + i)
				fill[v]++
			}
		}
	}
	for _, o := range g.Outputs() {
		if id := o.Lit.Node(); g.IsGate(id) {
			n.keep[id] = true
		}
	}
	n.findPairs()
	return n
}

// sort3 sorts the first k of three values, so that the order in which missing
// fanins are placed depends on the node numbers only.
func sort3(f *[3]int32, k int) {
	if k == 3 && f[1] > f[2] {
		f[1], f[2] = f[2], f[1]
	}
	if k >= 2 && f[0] > f[1] {
		f[0], f[1] = f[1], f[0]
	}
	if k == 3 && f[1] > f[2] {
		f[1], f[2] = f[2], f[1]
	}
}

// findPairs numbers the pairs of fanins. All pairs with the same smaller node
// are found through that node's fanouts, with one slot per larger node to tell
// a pair that was met before.
func (n *cicppNet) findPairs() {
	slot := make([]int32, n.nodes) // larger node -> 1 + pair, for the smaller node in hand
	var ends []([2]int32)          // the two nodes of each pair
	for i := range n.pairs {
		n.pairs[i] = [3]int32{-1, -1, -1}
	}
	corner := [3][2]int{{0, 1}, {0, 2}, {1, 2}}
	for v := int32(1); int(v) < n.nodes; v++ {
		firstPair := len(ends)
		for _, g := range n.fanoutsOf(v) {
			i := int(g) - n.first
			for c, ij := range corner {
				if n.fanins[i][ij[0]] != v {
					continue
				}
				u := n.fanins[i][ij[1]]
				if u == 0 {
					continue
				}
				if slot[u] == 0 {
					ends = append(ends, [2]int32{v, u})
					n.shared = append(n.shared, 0)
					slot[u] = int32(len(ends))
				}
				n.pairs[i][c] = slot[u] - 1
				n.shared[slot[u]-1]++
			}
		}
		for _, e := range ends[firstPair:] {
			slot[e[1]] = 0
		}
	}
	for _, e := range ends {
		n.edgeStart[e[0]+1]++
		n.edgeStart[e[1]+1]++
	}
	for v := range n.nodes {
		n.edgeStart[v+1] += n.edgeStart[v]
	}
	n.edges = make([]partnerEdge, 2*len(ends))
	fill := append([]int32(nil), n.edgeStart[:n.nodes]...)
	for p, e := range ends {
		n.edges[fill[e[0]]] = partnerEdge{e[1], int32(p)}
		n.edges[fill[e[1]]] = partnerEdge{e[0], int32(p)}
		fill[e[0]]++
		fill[e[1]]++
	}
}

func (n *cicppNet) fanoutsOf(v int32) []int32 {
	return n.fanouts[n.fanoutStart[v]:n.fanoutStart[v+1]]
}

func (n *cicppNet) edgesOf(v int32) []partnerEdge {
	return n.edges[n.edgeStart[v]:n.edgeStart[v+1]]
}

func (n *cicppNet) faninsOf(g int32) *[3]int32 { return &n.fanins[int(g)-n.first] }

func (n *cicppNet) gates() int { return n.nodes - n.first }
