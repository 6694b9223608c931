package xmg

import (
	"math/bits"
	"slices"
)

// cut6 is a set of at most six nodes (leaves, ascending) that separates a node
// from the inputs, and the node's function of them. 48 bytes.
type cut6 struct {
	leaf [6]uint32
	sig  uint32 // bit leaf%32 set for each leaf: a quick test for subsets
	n    uint8
	cost uint8
	fn   truth6 // leaf i is input i; does not depend on inputs beyond n
	flow float32
}

func (c *cut6) leaves() []uint32 { return c.leaf[:c.n] }

// within tells whether all leaves of c are leaves of d.
func (c *cut6) within(d *cut6) bool {
	if c.n > d.n || c.sig&^d.sig != 0 {
		return false
	}
	j := uint8(0)
	for _, l := range c.leaf[:c.n] {
		for j < d.n && d.leaf[j] < l {
			j++
		}
		if j == d.n || d.leaf[j] != l {
			return false
		}
	}
	return true
}

// join makes c the union of the leaves of a and b; it fails if there are more
// than size.
func (c *cut6) join(a, b *cut6, size int) bool {
	if bits.OnesCount32(a.sig|b.sig) > size {
		return false
	}
	i, j, n := uint8(0), uint8(0), 0
	for i < a.n || j < b.n {
		var l uint32
		switch {
		case j == b.n || i < a.n && a.leaf[i] < b.leaf[j]:
			l = a.leaf[i]
			i++
		case i == a.n || a.leaf[i] > b.leaf[j]:
			l = b.leaf[j]
			j++
		default:
			l = a.leaf[i]
			i++
			j++
		}
		if n == size {
			return false
		}
		c.leaf[n] = l
		n++
	}
	c.n = uint8(n)
	c.sig = a.sig | b.sig
	return true
}

// over returns the function of c in terms of the leaves of d, which hold those
// of c.
func (c *cut6) over(d *cut6) truth6 {
	fn := c.fn
	// From the top down, so that an input moves to one that is not in use yet.
	j := int(d.n) - 1
	for i := int(c.n) - 1; i >= 0; i-- {
		for d.leaf[j] != c.leaf[i] {
			j--
		}
		if i != j {
			fn = fn.swap(i, j)
		}
		j--
	}
	return fn
}

// shrink removes the leaves that the function does not depend on.
func (c *cut6) shrink() {
	n := 0
	for i := range int(c.n) {
		if !c.fn.dependsOn(i) {
			continue
		}
		if n != i {
			c.leaf[n] = c.leaf[i]
			c.fn = c.fn.swap(n, i)
		}
		n++
	}
	if n != int(c.n) {
		c.n = uint8(n)
		c.sig = 0
		for _, l := range c.leaf[:n] {
			c.sig |= 1 << (l % 32)
		}
	}
}

// cuts6 finds the cuts of up to six leaves of a gate, those of the least area
// flow first.
type cuts6 struct {
	g        *Graph
	lib      *library6
	keep     int // cuts of a gate
	size     int // leaves of a cut
	lists    [][]cut6
	store    []cut6 // what lists point into, used up from the front
	flow     []float32
	estimate []float32 // by node: estimated uses
	waiting  []int32   // by node: uses by gates that are not looked at yet
	ab       cut6
	found    []cut6
}

func newCuts6(g *Graph, lib *library6, size, keep int) *cuts6 {
	c := &cuts6{
		g: g, lib: lib, keep: keep, size: size,
		lists: make([][]cut6, g.NumNodes()),
		flow:  make([]float32, g.NumNodes()), estimate: make([]float32, g.NumNodes()),
		found: make([]cut6, 0, keep+1),
	}
	for id, r := range g.References() {
		c.estimate[id] = max(1, float32(r))
	}
	c.waiting = g.FanoutCounts()
	return c
}

// gate finds the cuts of a gate; those of its fanins are known.
func (c *cuts6) gate(id int) {
	f := c.g.nodes[id]
	var trivial [3]cut6
	var lists [3][]cut6
	for k, l := range f {
		n := l >> 1
		if n > 0 {
			trivial[k] = cut6{leaf: [6]uint32{uint32(n)}, sig: 1 << (n % 32), fn: sixTruth[0], n: 1}
		}
		lists[k] = c.lists[n]
	}
	c.found = c.found[:0]
	for i := -1; i < len(lists[0]); i++ {
		a := nth6(lists[0], &trivial[0], i)
		for j := -1; j < len(lists[1]); j++ {
			b := nth6(lists[1], &trivial[1], j)
			if !c.ab.join(a, b, c.size) {
				continue
			}
			for k := -1; k < len(lists[2]); k++ {
				c.try(f, a, b, nth6(lists[2], &trivial[2], k))
			}
		}
	}
	if len(c.store) < len(c.found) {
		c.store = make([]cut6, 1<<12)
	}
	n := copy(c.store, c.found)
	c.lists[id] = c.store[:n:n]
	c.store = c.store[n:]
	c.flow[id] = c.found[0].flow / c.estimate[id]
	for _, l := range f {
		if c.waiting[l>>1]--; c.waiting[l>>1] == 0 {
			c.lists[l>>1] = nil // so that its memory can go
		}
	}
}

func nth6(list []cut6, trivial *cut6, i int) *cut6 {
	if i < 0 {
		return trivial
	}
	return &list[i]
}

func (c *cuts6) leafFlow(d *cut6) (flow float32) {
	for _, n := range d.leaf[:d.n] {
		flow += c.flow[n]
	}
	return flow
}

// try enters the cut of the gate that joins ab and d into the list if it is one
// of the best.
func (c *cuts6) try(f gate, a, b, d *cut6) {
	var e cut6
	if !e.join(&c.ab, d, c.size) {
		return
	}
	e.flow = c.leafFlow(&e)
	full := len(c.found) == c.keep
	if full && e.flow >= c.found[c.keep-1].flow {
		return
	}
	ta, tb, td := a.over(&e)^-truth6(f[0]&1), b.over(&e)^-truth6(f[1]&1), d.over(&e)^-truth6(f[2]&1)
	if f[0] > f[1] {
		e.fn = ta ^ tb ^ td
	} else {
		e.fn = ta&tb | (ta|tb)&td
	}
	if n := e.n; true {
		if e.shrink(); e.n != n {
			e.flow = c.leafFlow(&e)
		}
	}
	cost := c.lib.cost(e.fn)
	e.cost = uint8(cost)
	e.flow += float32(cost)
	if full && e.flow >= c.found[c.keep-1].flow {
		return
	}
	for i := range c.found {
		if o := &c.found[i]; o.cost <= e.cost && o.within(&e) {
			return
		}
	}
	c.found = slices.DeleteFunc(c.found, func(o cut6) bool { return e.cost <= o.cost && e.within(&o) })
	i := len(c.found)
	for i > 0 && (c.found[i-1].flow > e.flow || c.found[i-1].flow == e.flow && c.found[i-1].n > e.n) {
		i--
	}
	c.found = slices.Insert(c.found, i, e)
	if len(c.found) > c.keep {
		c.found = c.found[:c.keep]
	}
}
