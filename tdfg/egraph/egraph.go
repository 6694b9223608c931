package egraph

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// graph is an e-graph: classes of nodes that have the same value at the same
// points, where the operands of nodes are classes. No two nodes are the same
// operation on the same classes, once rebuild is done.
type graph struct {
	*geometry
	nodes   []node
	args    []classID // the operands of all nodes, in a row
	classes []class
	up      []classID // union-find: the class into which a class was merged, itself if into none
	slots   []nodeID  // the nodes by their hash, open addressing; emptySlot, deadSlot
	used    int       // slots that are not empty
	byKind  [tdfg.Stream + 1][]nodeID
	pending []classID // merged, with parents that are not canonical yet
	now     int32     // the iteration, for class.changed and node.born
	buffer  []classID
	of      []factsID
	hulls   []rectID // of the tensors of each array, see expand

	// chaining says that classes are made on the way to others: see class.chain.
	chaining bool
}

type node struct {
	head  headID
	first int32 // of its operands
	count int32
	hash  uint32
	class classID // as it was when the node was added
	born  int32
	dead  bool // the same as another node
}

type class struct {
	nodes   []nodeID
	parents []nodeID // nodes that have the class for an operand
	facts   factsID
	changed int32 // the last iteration that gave it a node, or changed an operand of one
	part    bool  // a node of it is a Shrink: it is a part of another class

	// chain says that the class was only made on the way to a sum of more terms. No
	// rule looks at it.
	chain bool
}

const (
	emptySlot = -1
	deadSlot  = -2
)

func newGraph(scope *tdfg.Scope) *graph {
	g := &graph{geometry: newGeometry(scope), slots: make([]nodeID, 1024)}
	for i := range g.slots {
		g.slots[i] = emptySlot
	}
	return g
}

// find returns the class into which c was merged.
func (g *graph) find(c classID) classID {
	for g.up[c] != c {
		g.up[c] = g.up[g.up[c]]
		c = g.up[c]
	}
	return c
}

func (g *graph) class(c classID) *class      { return &g.classes[g.find(c)] }
func (g *graph) classOf(n nodeID) classID    { return g.find(g.nodes[n].class) }
func (g *graph) headOf(n nodeID) *head       { return &g.heads[g.nodes[n].head] }
func (g *graph) factsOf(c classID) facts     { return g.facts[g.class(c).facts] }
func (g *graph) domainOf(c classID) rectID   { return g.factsOf(c).domain }
func (g *graph) constant(c classID) bool     { return g.domainOf(c) == everywhere }
func (g *graph) arg(n nodeID, i int) classID { return g.find(g.argsOf(n)[i]) }
func (g *graph) argsOf(n nodeID) []classID {
	x := &g.nodes[n]
	return g.args[x.first : x.first+x.count]
}
func (g *graph) each(c classID) []nodeID                    { return g.class(c).nodes }
func (g *graph) interval(r rectID, d int8) lattice.Interval { return g.rects[r][d] }

func hashOf(h headID, args []classID) uint32 {
	x := uint64(h)*0x9e3779b97f4a7c15 + 1
	for _, a := range args {
		x = (x ^ uint64(a)) * 0xbf58476d1ce4e5b9
		x ^= x >> 29
	}
	return uint32(x ^ x>>32)
}

// lookup returns the node with this head and these operands, or none.
func (g *graph) lookup(h headID, args []classID, hash uint32) nodeID {
	mask := uint32(len(g.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		switch n := g.slots[i]; {
		case n == emptySlot:
			return none
		case n == deadSlot:
		default:
			if x := &g.nodes[n]; x.hash == hash && x.head == h && slices.Equal(g.argsOf(n), args) {
				return n
			}
		}
	}
}

func (g *graph) insert(n nodeID) {
	if 4*g.used >= 3*len(g.slots) {
		old := g.slots
		g.slots = make([]nodeID, 2*len(old))
		for i := range g.slots {
			g.slots[i] = emptySlot
		}
		g.used = 0
		for _, n := range old {
			if n >= 0 {
				g.insert(n)
			}
		}
	}
	mask := uint32(len(g.slots) - 1)
	i := g.nodes[n].hash & mask
	for g.slots[i] >= 0 {
		i = (i + 1) & mask
	}
	if g.slots[i] == emptySlot {
		g.used++
	}
	g.slots[i] = n
}

func (g *graph) remove(n nodeID) {
	mask := uint32(len(g.slots) - 1)
	for i := g.nodes[n].hash & mask; ; i = (i + 1) & mask {
		if g.slots[i] == n {
			g.slots[i] = deadSlot
			return
		}
		if g.slots[i] == emptySlot {
			panic("egraph: a node is not in the table")
		}
	}
}

// canonical brings operands into the one form they have in the table: classes that
// are merged into no others and, by equation 3b, in order where that does not count.
func (g *graph) canonical(h headID, args []classID) {
	for i, a := range args {
		args[i] = g.find(a)
	}
	if g.sorted[h] && args[0] > args[1] {
		args[0], args[1] = args[1], args[0]
	}
}

// add returns the class of a node, which is a new one if there is no such node yet,
// or none where an operand is none or the operation is not defined on the operands.
func (g *graph) add(h headID, args ...classID) classID {
	g.buffer = g.buffer[:0]
	for _, a := range args {
		if a == none {
			return none
		}
		g.buffer = append(g.buffer, a)
	}
	g.canonical(h, g.buffer)
	hash := hashOf(h, g.buffer)
	if n := g.lookup(h, g.buffer, hash); n != none {
		c := g.classOf(n)
		if x := &g.classes[c]; x.chain && !g.chaining {
			x.chain, x.changed = false, g.now
		}
		return c
	}
	g.of = g.of[:0]
	for _, a := range g.buffer {
		g.of = append(g.of, g.classes[a].facts)
	}
	f := g.infer(h, g.of)
	if f == none {
		return none
	}
	n, c := nodeID(len(g.nodes)), classID(len(g.classes))
	g.nodes = append(g.nodes, node{head: h, first: int32(len(g.args)), count: int32(len(g.buffer)), hash: hash, class: c, born: g.now})
	g.args = append(g.args, g.buffer...)
	g.classes = append(g.classes, class{nodes: []nodeID{n}, facts: f, changed: g.now, chain: g.chaining, part: g.heads[h].kind == tdfg.Shrink})
	g.up = append(g.up, c)
	g.insert(n)
	kind := g.heads[h].kind
	g.byKind[kind] = append(g.byKind[kind], n)
	for i, a := range g.buffer {
		if i == 0 || a != g.buffer[i-1] {
			g.classes[a].parents = append(g.classes[a].parents, n)
		}
	}
	return c
}

// union merges two classes and reports whether they were two. Their facts must be
// the same: what gives an equation has looked at that.
func (g *graph) union(a, b classID) bool {
	a, b = g.find(a), g.find(b)
	if a == b {
		return false
	}
	if g.classes[a].facts != g.classes[b].facts {
		panic(fmt.Sprintf("egraph: equal classes with facts %v and %v", g.factsOf(a), g.factsOf(b)))
	}
	if x, y := len(g.classes[a].parents), len(g.classes[b].parents); x < y || x == y && b < a {
		a, b = b, a
	}
	x, y := &g.classes[a], &g.classes[b]
	g.up[b] = a
	x.nodes = append(x.nodes, y.nodes...)
	x.parents = append(x.parents, y.parents...)
	x.chain = x.chain && y.chain
	x.part = x.part || y.part
	x.changed = g.now
	y.nodes, y.parents = nil, nil
	g.pending = append(g.pending, a)
	return true
}

// The following make nodes in their normal form.

// shrink returns the points of a class that are in r. What does nothing is not
// made; a shrink has the domain of its result, so that 6a and 6b need no node of
// their own for it.
func (g *graph) shrink(r rectID, a classID) classID {
	if a == none || r == none {
		return none
	}
	d := g.domainOf(a)
	if d == everywhere {
		return none
	}
	if r = g.meet(d, r); r == none || r == d {
		if r == none {
			return none
		}
		return g.find(a)
	}
	for _, n := range g.each(a) {
		if g.headOf(n).kind == tdfg.Shrink { // 6b
			if b := g.arg(n, 0); g.meet(g.domainOf(b), r) == r {
				a = b
				break
			}
		}
	}
	return g.add(g.head(head{kind: tdfg.Shrink, rect: r}), a)
}

// move returns a class moved. A distance of zero is no move.
func (g *graph) move(a classID, dim int8, dist exprID) classID {
	if a == none || dist == 0 {
		return a
	}
	return g.add(g.head(head{kind: tdfg.Move, dim: dim, dist: dist}), a)
}

// broadcast returns a class broadcast. What goes beyond the bounds is left out of
// the count where that is decided.
func (g *graph) broadcast(a classID, dim int8, dist, count exprID) classID {
	if a == none {
		return none
	}
	h := g.head(head{kind: tdfg.Broadcast, dim: dim, dist: dist, count: count})
	f := g.infer(h, []factsID{g.class(a).facts})
	if f == none {
		return none
	}
	from, to := g.interval(g.domainOf(a), dim), g.interval(g.facts[f].domain, dim)
	h2 := g.head(head{kind: tdfg.Broadcast, dim: dim, dist: g.expr(to.Lo.Sub(from.Lo)), count: g.expr(to.Len())})
	if h2 != h && g.infer(h2, []factsID{g.class(a).facts}) == f {
		h = h2
	}
	return g.add(h, a)
}

func (g *graph) convert(t scalar.Type, a classID) classID {
	if a != none && g.factsOf(a).typ == t {
		return a
	}
	return g.add(g.head(head{kind: tdfg.Convert, typ: t}), a)
}

func (g *graph) compute(op scalar.Op, args ...classID) classID {
	return g.add(g.head(head{kind: tdfg.Compute, op: op}), args...)
}

// apply returns an operation of one operand, a head that was seen elsewhere, on
// another operand.
func (g *graph) apply(h headID, a classID) classID {
	switch x := g.heads[h]; x.kind {
	case tdfg.Move:
		return g.move(a, x.dim, x.dist)
	case tdfg.Broadcast:
		return g.broadcast(a, x.dim, x.dist, x.count)
	case tdfg.Convert:
		return g.convert(x.typ, a)
	}
	return g.add(h, a)
}

// tensor returns elements of an array.
func (g *graph) tensor(array int32, r rectID) classID {
	return g.add(g.head(head{kind: tdfg.Tensor, index: array, rect: r}))
}

// value returns a constant.
func (g *graph) value(t scalar.Type, v scalar.Value) classID {
	return g.add(g.head(head{kind: tdfg.Const, typ: t, value: v}))
}

// valueOf returns the value of a class that is a known constant.
func (g *graph) valueOf(c classID) (scalar.Value, bool) {
	for _, n := range g.each(c) {
		if h := g.headOf(n); h.kind == tdfg.Const && h.form == formValue {
			return h.value, true
		}
	}
	return 0, false
}
