package xmg

import "math/bits"

// classes are the nodes of a graph that simulation has not told apart, up to
// complement. A node of a class of its own is in none: class 0. It takes 9 bytes
// a node and 20 for those in classes.
type classes struct {
	of         []int32  // by node
	complement []bool   // by node: whether it is 1 in the first pattern of all
	members    []uint32 // the nodes in classes, ascending
	count      int      // classes are numbered 1 to count

	table []uint32 // scratch of refine: open addressing, 1 + index in members
	sizes []int32
}

// newClasses puts all nodes of a graph in one class. first holds, by node, the
// value in a pattern.
func newClasses(first []uint64) *classes {
	n := len(first)
	c := &classes{of: make([]int32, n), complement: make([]bool, n), members: make([]uint32, n), count: 1}
	for i, x := range first {
		c.of[i] = 1
		c.complement[i] = x&1 != 0
		c.members[i] = uint32(i)
	}
	return c
}

// refine splits the classes by the values of 64 more patterns, given by node. It
// reports whether a class was split. O(members).
func (c *classes) refine(value []uint64) bool {
	size := 1 << bits.Len(uint(2*len(c.members)))
	if len(c.table) < size {
		c.table = make([]uint32, size)
	}
	table := c.table[:size]
	clear(table)
	mask := uint64(size - 1)
	norm := func(node uint32) uint64 {
		if c.complement[node] {
			return ^value[node]
		}
		return value[node]
	}
	// A new class has the number of its first member until they are counted.
	c.sizes = append(c.sizes[:0], make([]int32, len(c.members))...)
	class := make([]uint32, len(c.members))
	distinct := 0
	for i, node := range c.members {
		x, of := norm(node), c.of[node]
		h := (x ^ uint64(of)*0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9
		h ^= h >> 32
		for h &= mask; ; h = (h + 1) & mask {
			k := table[h]
			if k == 0 {
				table[h] = uint32(i) + 1
				k = uint32(i) + 1
				distinct++
			} else if other := c.members[k-1]; c.of[other] != of || norm(other) != x {
				continue
			}
			class[i] = k - 1
			c.sizes[k-1]++
			break
		}
	}
	if distinct == c.count {
		return false
	}
	c.count = 0
	n := 0
	for i, node := range c.members {
		k := class[i]
		switch {
		case c.sizes[k] == 1:
			c.of[node] = 0
			continue
		case c.sizes[k] > 1: // its first member: from now on the number, negative
			c.count++
			c.sizes[k] = -int32(c.count)
		}
		c.of[node] = -c.sizes[k]
		c.members[n] = node
		n++
	}
	c.members = c.members[:n]
	return true
}
