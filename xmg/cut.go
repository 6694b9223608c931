package xmg

import "math/bits"

// cut is a set of at most four nodes (leaves, ascending) that separates a node
// from the inputs, and the node's function of them. 24 bytes.
type cut struct {
	leaf [4]uint32
	sig  uint32 // bit leaf%32 set for each leaf: a quick test for subsets
	fn   truth  // leaf i is input i; does not depend on inputs beyond n
	n    uint8
	cost uint8 // gates that the library takes for fn
}

func (c *cut) leaves() []uint32 { return c.leaf[:c.n] }

// within tells whether all leaves of c are leaves of d.
func (c *cut) within(d *cut) bool {
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
// than four.
func (c *cut) join(a, b *cut) bool {
	if bits.OnesCount32(a.sig|b.sig) > 4 {
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
		if n == 4 {
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
func (c *cut) over(d *cut) truth {
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

// swap exchanges inputs i < j.
func (t truth) swap(i, j int) truth {
	m := inputTruth[i] &^ inputTruth[j]
	s := 1<<j - 1<<i
	return t&^(m|m<<s) | t&m<<s | t>>s&m
}

// shrink removes the leaves that the function does not depend on.
func (c *cut) shrink() {
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

// cutStore holds the cuts of all nodes in chunks, so that it grows without
// being copied. Set count to 0 to use it again.
type cutStore struct {
	chunks [][]cut
	count  int
}

const chunkCuts = 1 << 16

func (s *cutStore) at(i uint32) *cut { return &s.chunks[i/chunkCuts][i%chunkCuts] }

// span returns n cuts from i on; they lie in one chunk.
func (s *cutStore) span(i uint32, n int) []cut {
	return s.chunks[i/chunkCuts][i%chunkCuts:][:n]
}

// add appends the cuts of a node and returns the index of the first.
func (s *cutStore) add(cuts []cut) uint32 {
	if room := chunkCuts - s.count%chunkCuts; room < len(cuts) {
		s.count += room
	}
	if s.count == len(s.chunks)*chunkCuts {
		s.chunks = append(s.chunks, make([]cut, chunkCuts))
	}
	i := uint32(s.count)
	copy(s.span(i, len(cuts)), cuts)
	s.count += len(cuts)
	return i
}
