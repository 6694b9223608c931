package xmg

import (
	"cmp"
	"fmt"
	"slices"
)

// careGate is a gate of a net that changes: unlike those of a Graph it has no normal
// form, since the complement that such a form pushes to its users would change them too.
type careGate struct {
	xor bool
	in  [3]Lit
}

// careNet is a graph that is changed in place. Gates have ranks: those of its fanins
// are lower. What a gate is replaced by has to have lower ranks, so that no cycle
// comes of it and no order has to be made anew.
type careNet struct {
	inputs int
	nodes  []careGate
	rank   []int64
	users  [][]uint32 // by node: gates that use it, once for each use
	outs   []int32    // by node: uses by outputs
	refs   []int32    // by node: users and outs
	dead   []bool
	order  []uint32 // gates by rank, dead ones too
	out    []Lit

	words int      // of values for each node
	val   []uint64 // by node
	fresh [careFresh][]uint64
	used  int // of fresh
	slot  int // the next word of val to be overwritten
}

// careFresh is how many words of new patterns are kept apart, word after word, before
// they go to the values by node: eight words of a node are a cache line.
const careFresh = 8

// rankStep is the distance of ranks at first: each gate that comes between halves it.
const rankStep = 1 << 32

func newCareNet(g *Graph, order []uint32, words int) *careNet {
	n := &careNet{inputs: g.NumInputs(), order: order, words: words}
	n.nodes = make([]careGate, g.NumNodes(), g.NumNodes()+g.NumNodes()/4)
	n.rank = make([]int64, g.NumNodes(), cap(n.nodes))
	n.users = make([][]uint32, g.NumNodes(), cap(n.nodes))
	n.outs = make([]int32, g.NumNodes(), cap(n.nodes))
	n.refs = make([]int32, g.NumNodes(), cap(n.nodes))
	n.dead = make([]bool, g.NumNodes(), cap(n.nodes))
	for i, id := range order {
		n.rank[id] = int64(i+1) * rankStep
		f := g.nodes[id]
		n.nodes[id] = careGate{f[0] > f[1], f}
		n.use(id)
	}
	for _, o := range g.outputs {
		n.out = append(n.out, o.Lit)
		n.outs[o.Lit>>1]++
		n.refs[o.Lit>>1]++
	}
	n.val = make([]uint64, len(n.nodes)*words, cap(n.nodes)*words)
	for i := range n.fresh {
		n.fresh[i] = make([]uint64, len(n.nodes), cap(n.nodes))
	}
	return n
}

func (n *careNet) isGate(id uint32) bool { return int(id) > n.inputs }

// use counts the uses that a gate makes of its fanins.
func (n *careNet) use(id uint32) {
	for _, l := range n.nodes[id].in {
		n.users[l>>1] = append(n.users[l>>1], id)
		n.refs[l>>1]++
	}
}

// unuse takes back a use that a gate made of a node.
func (n *careNet) unuse(id uint32, l Lit) {
	u := n.users[l>>1]
	u[slices.Index(u, id)] = u[len(u)-1]
	n.users[l>>1] = u[:len(u)-1]
	n.drop(uint32(l >> 1))
}

// drop takes a reference away; a gate without one dies.
func (n *careNet) drop(id uint32) {
	if n.refs[id]--; n.refs[id] == 0 && n.isGate(id) {
		n.dead[id] = true
		for _, l := range n.nodes[id].in {
			n.unuse(id, l)
		}
	}
}

// add makes a gate that nothing uses yet, of a rank between those of its fanins and of a
// gate above it. It tells whether there was room.
func (n *careNet) add(f careGate, above uint32) (id uint32, ok bool) {
	low := int64(0)
	for _, l := range f.in {
		low = max(low, n.rank[l>>1])
	}
	rank := low + (n.rank[above]-low)/2
	if rank <= low {
		return 0, false
	}
	at, _ := slices.BinarySearchFunc(n.order, rank, func(m uint32, r int64) int { return cmp.Compare(n.rank[m], r) })
	id = uint32(len(n.nodes))
	n.order = slices.Insert(n.order, at, id)
	n.nodes = append(n.nodes, f)
	n.rank = append(n.rank, rank)
	n.users = append(n.users, nil)
	n.outs = append(n.outs, 0)
	n.refs = append(n.refs, 0)
	n.dead = append(n.dead, false)
	n.val = resize(n.val, len(n.nodes)*n.words)
	for i := range n.fresh {
		n.fresh[i] = append(n.fresh[i], 0)
	}
	n.use(id)
	return id, true
}

// become makes a gate another one.
func (n *careNet) become(id uint32, f careGate) {
	old := n.nodes[id]
	n.nodes[id] = f
	n.use(id)
	for _, l := range old.in {
		n.unuse(id, l)
	}
}

// replace has all that uses a gate use an edge of lower rank instead, and goes on with
// gates that become trivial.
func (n *careNet) replace(id uint32, by Lit) {
	type pair struct {
		id uint32
		by Lit
	}
	var todo []pair
	push := func(p pair) {
		todo = append(todo, p)
		n.refs[p.id]++ // both stay until this is done
		n.refs[p.by>>1]++
	}
	for push(pair{id, by}); len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		users := slices.Clone(n.users[p.id])
		slices.Sort(users)
		for _, u := range slices.Compact(users) {
			if n.dead[u] {
				continue
			}
			f := n.nodes[u]
			for k, l := range f.in {
				if uint32(l>>1) == p.id {
					f.in[k] = p.by ^ l&1
				}
			}
			n.become(u, f)
			if l, trivial := f.trivial(); trivial {
				push(pair{u, l})
			}
		}
		if n.outs[p.id] > 0 {
			for i, l := range n.out {
				if uint32(l>>1) == p.id {
					n.out[i] = p.by ^ l&1
				}
			}
			n.outs[p.by>>1] += n.outs[p.id]
			n.refs[p.by>>1] += n.outs[p.id]
			n.refs[p.id] -= n.outs[p.id]
			n.outs[p.id] = 0
		}
		n.drop(p.id)
		n.drop(uint32(p.by >> 1))
	}
}

func (f *careGate) trivial() (Lit, bool) {
	if f.xor {
		_, l, trivial := xorGate(f.in[0], f.in[1], f.in[2])
		return l, trivial
	}
	_, l, trivial := majGate(f.in[0], f.in[1], f.in[2])
	return l, trivial
}

// eval computes a gate for some words of values.
func (f *careGate) eval(dst, a, b, c []uint64) {
	ma, mb, mc := -uint64(f.in[0]&1), -uint64(f.in[1]&1), -uint64(f.in[2]&1)
	a, b, c = a[:len(dst)], b[:len(dst)], c[:len(dst)]
	if f.xor {
		ma ^= mb ^ mc
		for k := range dst {
			dst[k] = a[k] ^ b[k] ^ c[k] ^ ma
		}
		return
	}
	for k := range dst {
		x, y, z := a[k]^ma, b[k]^mb, c[k]^mc
		dst[k] = x&y | (x|y)&z
	}
}

func (n *careNet) row(id uint32) []uint64 { return n.val[int(id)*n.words:][:n.words] }

// evalRow computes all values of a gate.
func (n *careNet) evalRow(id uint32) {
	f := &n.nodes[id]
	a, b, c := uint32(f.in[0]>>1), uint32(f.in[1]>>1), uint32(f.in[2]>>1)
	f.eval(n.row(id), n.row(a), n.row(b), n.row(c))
	for _, col := range n.fresh[:n.used] {
		n.evalIn(col, id)
	}
}

func (n *careNet) evalIn(col []uint64, id uint32) {
	f := &n.nodes[id]
	a, b, c := col[f.in[0]>>1]^-uint64(f.in[0]&1), col[f.in[1]>>1]^-uint64(f.in[1]&1), col[f.in[2]>>1]^-uint64(f.in[2]&1)
	if f.xor {
		col[id] = a ^ b ^ c
	} else {
		col[id] = a&b | (a|b)&c
	}
}

// simulate computes a word of values from those of the inputs in it.
func (n *careNet) simulate(col []uint64) {
	for _, id := range n.order {
		if !n.dead[id] {
			n.evalIn(col, id)
		}
	}
}

// added takes the last fresh word for part of the values.
func (n *careNet) added() {
	if n.used++; n.used < careFresh {
		return
	}
	for id := range n.nodes {
		for k, col := range n.fresh {
			n.val[id*n.words+n.slot+k] = col[id]
		}
	}
	n.used = 0
	n.slot = (n.slot + careFresh) % n.words
}

// checkValues panics where the values kept for a gate are not those of its fanins' values.
func (n *careNet) checkValues() {
	for _, id := range n.order {
		if n.dead[id] {
			continue
		}
		kept := slices.Clone(n.row(id))
		if n.evalRow(id); !slices.Equal(kept, n.row(id)) {
			panic(fmt.Sprintf("xmg: values of gate %d are not kept", id))
		}
	}
}

// graph returns the net as a graph with the names of another one.
func (n *careNet) graph(names *Graph) *Graph {
	out := names.emptyCopy(len(n.order))
	lit := make([]Lit, len(n.nodes))
	for id := range n.inputs + 1 {
		lit[id] = Lit(id) << 1
	}
	for _, id := range n.order {
		if n.dead[id] {
			continue
		}
		f := &n.nodes[id]
		a, b, c := lit[f.in[0]>>1]^f.in[0]&1, lit[f.in[1]>>1]^f.in[1]&1, lit[f.in[2]>>1]^f.in[2]&1
		if f.xor {
			lit[id] = out.Xor(a, b, c)
		} else {
			lit[id] = out.Maj(a, b, c)
		}
	}
	for i, l := range n.out {
		out.AddOutput(names.outputs[i].Name, lit[l>>1]^l&1)
	}
	return out.Sweep()
}
