package xmg

import "math"

// FanoutCounts returns, for each node, the number of gates that it is a fanin
// of. Outputs do not count; see [Graph.References]. O(nodes), 4 bytes a node.
func (g *Graph) FanoutCounts() []int32 {
	counts := make([]int32, len(g.nodes))
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		for _, l := range g.nodes[id] {
			counts[l>>1]++
		}
	}
	return counts
}

// References returns, for each node, the number of gates and outputs that use
// it. A gate without references is dead.
func (g *Graph) References() []int32 {
	counts := g.FanoutCounts()
	for _, o := range g.outputs {
		counts[o.Lit>>1]++
	}
	return counts
}

// Fanouts returns the gates that use each node: those of node id are
// targets[offsets[id]:offsets[id+1]], in ascending order. The constant's are
// listed too. O(nodes); 16 bytes a node in all. It panics beyond 2^31 edges
// (7e8 gates).
func (g *Graph) Fanouts() (offsets, targets []int32) {
	if 3*g.NumGates() > math.MaxInt32 {
		panic("xmg: Fanouts of more than 2^31 edges")
	}
	offsets = make([]int32, len(g.nodes)+1)
	// offsets[id+1] first counts; then it is where the next target of id goes,
	// and ends up where those of id+1 begin.
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		for _, l := range g.nodes[id] {
			offsets[l>>1+1]++
		}
	}
	sum := int32(0)
	for id := range g.nodes {
		count := offsets[id+1]
		offsets[id+1] = sum
		sum += count
	}
	targets = make([]int32, sum)
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		for _, l := range g.nodes[id] {
			at := &offsets[l>>1+1]
			targets[*at] = int32(id)
			*at++
		}
	}
	return offsets, targets
}

// Levels returns the level of each node: 0 for the constant and the inputs, and
// one more than the highest fanin for a gate.
func (g *Graph) Levels() []int32 {
	levels := make([]int32, len(g.nodes))
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		f := g.nodes[id]
		levels[id] = 1 + max(levels[f[0]>>1], levels[f[1]>>1], levels[f[2]>>1])
	}
	return levels
}

// Depth returns the highest level of an output: the number of gates on the
// longest path.
func (g *Graph) Depth() int {
	levels := g.Levels()
	depth := int32(0)
	for _, o := range g.outputs {
		depth = max(depth, levels[o.Lit>>1])
	}
	return int(depth)
}
