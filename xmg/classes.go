package xmg

import "math/bits"

// classes are the nodes of a graph that simulation has not told apart. A node of
// a class of its own is in none: class 0. It takes 4 bytes a node and 20 more for
// those in classes.
//
// That nodes are equal up to complement needs no thought: no node is the
// complement of another one, since all are 0 where all inputs are 0. (A MAJ gate
// has at most one complemented fanin, a XOR gate none.)
type classes struct {
	of      []int32  // by node
	members []uint32 // the nodes in classes, ascending
	count   int      // classes are numbered 1 to count

	table []uint32 // scratch of refine: open addressing, 1 + index in members
	sizes []int32
}

// newClasses puts all of some nodes in one class.
func newClasses(nodes int) *classes {
	c := &classes{of: make([]int32, nodes), members: make([]uint32, nodes), count: 1}
	for i := range nodes {
		c.of[i] = 1
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
	// A new class has the number of its first member until they are counted.
	c.sizes = append(c.sizes[:0], make([]int32, len(c.members))...)
	class := make([]uint32, len(c.members))
	distinct := 0
	for i, node := range c.members {
		x, of := value[node], c.of[node]
		h := (x ^ uint64(of)*0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9
		h ^= h >> 32
		for h &= mask; ; h = (h + 1) & mask {
			k := table[h]
			if k == 0 {
				table[h] = uint32(i) + 1
				k = uint32(i) + 1
				distinct++
			} else if other := c.members[k-1]; c.of[other] != of || value[other] != x {
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
