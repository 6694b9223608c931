package lowering

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg"
)

// An orderOf makes an order of the nodes that outputs need, operands first.
type orderOf func(g *tdfg.Graph) []tdfg.NodeID

// orders are tried one after another, where one needs more rows than there are.
var orders = []orderOf{byNeed, byProgram, byPressure}

// byNeed has the operand with the greater need first (Sethi and Ullman, 1970), one output
// after another.
func byNeed(g *tdfg.Graph) (order []tdfg.NodeID) {
	need := make([]int, len(g.Nodes))
	sorted := func(args []tdfg.NodeID) []tdfg.NodeID {
		args = slices.Clone(args)
		slices.SortStableFunc(args, func(a, b tdfg.NodeID) int { return need[b] - need[a] })
		return args
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for j, a := range sorted(n.Args) {
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
		for _, a := range sorted(g.Nodes[id].Args) {
			visit(a)
		}
		order = append(order, id)
	}
	for _, o := range g.Outputs {
		visit(o.Node)
	}
	return order
}

// byProgram has statements in the order of the program: what several of them take is used up
// before what they make is.
func byProgram(g *tdfg.Graph) (order []tdfg.NodeID) {
	order = byNeed(g)
	slices.Sort(order)
	return order
}

// byPressure has that node next which leaves the fewest bits of values that are still needed, the first of
// the program among several. What is stored to an array needs none once nothing reads that any more.
// It takes the square of the nodes, times outputs.
func byPressure(g *tdfg.Graph) (order []tdfg.NodeID) {
	left := byProgram(g)
	uses := make([]int, len(g.Nodes)) // that are to come
	reads := make([]int, len(g.Arrays))
	store := make([]int, len(g.Nodes)) // the array of a node, and 1; 0: none
	for _, id := range left {
		for _, a := range g.Nodes[id].Args {
			uses[a]++
		}
	}
	var stored []tdfg.NodeID
	for _, o := range g.Outputs {
		if store[o.Node] = o.Array + 1; o.Array < 0 {
			uses[o.Node]++
		} else {
			stored = append(stored, o.Node)
		}
	}
	for _, id := range left {
		if n := &g.Nodes[id]; n.Kind == tdfg.Tensor {
			reads[n.Array] += uses[id]
		}
	}
	made := make([]bool, len(g.Nodes))
	bits := func(id tdfg.NodeID) int {
		if n := &g.Nodes[id]; n.Kind != tdfg.Tensor && !n.Domain.Everywhere() {
			return n.Type.Bits()
		}
		return 0
	}
	held := func(id tdfg.NodeID) bool { return uses[id] > 0 || store[id] > 0 && reads[store[id]-1] > 0 }
	take := func(id tdfg.NodeID, by int) {
		for _, a := range g.Nodes[id].Args {
			if uses[a] += by; g.Nodes[a].Kind == tdfg.Tensor {
				reads[g.Nodes[a].Array] += by
			}
		}
		made[id] = by < 0
	}
	rows := func(list []tdfg.NodeID) (sum int) {
		for i, id := range list {
			if made[id] && held(id) && !slices.Contains(list[:i], id) {
				sum += bits(id)
			}
		}
		return sum
	}
	// more is how many bits are needed more with a node, which changes that of its operands, its own, and
	// those of what is to be stored.
	more := func(id tdfg.NodeID) int {
		list := append(append([]tdfg.NodeID{id}, g.Nodes[id].Args...), stored...)
		before := rows(list)
		take(id, -1)
		defer take(id, 1)
		return rows(list) - before
	}
	for len(left) > 0 {
		pick, least := -1, 0
		for i, id := range left {
			if slices.ContainsFunc(g.Nodes[id].Args, func(a tdfg.NodeID) bool { return !made[a] }) {
				continue
			}
			if n := more(id); pick < 0 || n < least {
				pick, least = i, n
			}
		}
		id := left[pick]
		take(id, -1)
		order = append(order, id)
		left = slices.Delete(left, pick, pick+1)
	}
	return order
}

// sort takes an order, and notes the positions of the uses of nodes.
func (p *planner) sort(order orderOf) {
	g := p.g
	p.order = order(g)
	for i, id := range p.order {
		for _, a := range g.Nodes[id].Args {
			p.uses[a] = append(p.uses[a], i)
		}
	}
	for _, o := range g.Outputs {
		p.uses[o.Node] = append(p.uses[o.Node], len(p.order))
	}
}
