package lowering

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg"
)

// sort makes the order of the nodes that outputs need, and the positions of
// their uses.
func (p *planner) sort() {
	g := p.g
	need := make([]int, len(g.Nodes))
	byNeed := func(args []tdfg.NodeID) []tdfg.NodeID {
		args = slices.Clone(args)
		slices.SortStableFunc(args, func(a, b tdfg.NodeID) int { return need[b] - need[a] })
		return args
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for j, a := range byNeed(n.Args) {
			need[i] = max(need[i], need[a]+j)
		}
		if n.Kind != tdfg.Tensor && n.Kind != tdfg.Const {
			need[i] = max(need[i], 1)
		}
	}
	done := make([]bool, len(g.Nodes))
	var visit func(id tdfg.NodeID)
	visit = func(id tdfg.NodeID) {
		if done[id] {
			return
		}
		done[id] = true
		for _, a := range byNeed(g.Nodes[id].Args) {
			visit(a)
		}
		p.order = append(p.order, id)
	}
	for _, o := range g.Outputs {
		visit(o.Node)
	}
	for i, id := range p.order {
		for _, a := range g.Nodes[id].Args {
			p.uses[a] = append(p.uses[a], i)
		}
	}
	for _, o := range g.Outputs {
		p.uses[o.Node] = append(p.uses[o.Node], len(p.order))
	}
}
