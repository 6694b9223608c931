package tile

import "math/bits"

// Climb counts the arrays of a bank whose bitlines a shift takes through the nodes of
// the H-tree, where an array gives the tree htree.leaf_bytes a cycle and no more. Arrays
// of a way are the leaves of a binary tree; ways, and then the network, are above them.
// It is the count of the authors' simulator (gem-forge-gem5, PUMEngine.cc and
// DataMoveCompiler.cc): subtrees of a level work at the same time, levels one after
// another, and of the arrays of a way one is read at a time for the levels above.
type Climb struct {
	perWay, perBank int
	nodes           [][]int // arrays that turn at each node, by level within ways
	ways            []bool  // that have arrays which go on to other ways
	leave           int     // arrays that go on to other banks
}

// NewClimb returns a Climb that has counted no array.
func (m *Machine) NewClimb() *Climb {
	c := &Climb{perWay: m.L3.ArraysPerWay, perBank: m.ArraysPerBank(), ways: make([]bool, m.L3.ComputeWays)}
	levels := bits.Len(uint(c.perWay - 1))
	for l := range levels {
		c.nodes = append(c.nodes, make([]int, len(c.ways)<<(levels-1-l)))
	}
	return c
}

// Level returns how far up bitlines go on their way from an array of the chip to
// another: the level of a node of their way, or beyond these to other ways, and then to
// other banks. It is -1 if they stay.
func (c *Climb) Level(from, to int) int {
	switch {
	case from/c.perBank != to/c.perBank:
		return len(c.nodes) + 1
	case from/c.perWay != to/c.perWay:
		return len(c.nodes)
	}
	return bits.Len(uint(from%c.perWay^to%c.perWay)) - 1
}

// Add counts an array of the chip whose bitlines go up to a level.
func (c *Climb) Add(array, level int) {
	way := array % c.perBank / c.perWay
	switch n := len(c.nodes); {
	case level > n:
		c.leave++
	case level == n:
		c.ways[way] = true
	case level >= 0: // nodes of a way are numbered as if it had a power of two of arrays
		c.nodes[level][(way<<n+array%c.perWay)>>(level+1)]++
	}
}

// arrays returns how many arrays a row is taken from one after another.
func (c *Climb) arrays() int {
	n := min(c.leave, len(c.ways))
	for _, w := range c.ways {
		if w {
			n++
		}
	}
	for _, level := range c.nodes {
		most := 0
		for _, k := range level {
			most = max(most, k)
		}
		n += most
	}
	return n
}

// Climb returns the cycles of moving elements of a number of bits on so many bitlines of
// each of the arrays that were counted.
func (t Timing) Climb(c *Climb, bits, bitlines int) int64 {
	return int64(bits) * int64(ceil(bitlines, 8*t.m.HTree.LeafBytes)) * int64(c.arrays())
}
