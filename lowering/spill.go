package lowering

import (
	"fmt"

	"github.com/bitsched/bitsched/tdfg"
)

// next returns the position of the next use of a value.
func (p *planner) next(v *value) int {
	first := len(p.order) + 1
	for _, id := range v.nodes {
		for _, u := range p.uses[id] {
			if u >= p.at {
				first = min(first, u)
				break
			}
		}
	}
	return first
}

// spill makes room: it gives away the rows of an array that needs none yet, or of a value that is
// made again, or moves an array
// of fewer dimensions than the graph to memory, else the value whose next use is furthest, else
// any array. It reports whether there was one. What the step at hand uses stays.
func (p *planner) spill() bool {
	if v := p.furthest(p.arrays, p.unborn); v != nil {
		p.free(v.reg)
		v.spilled = true
		return true
	}
	if v := p.furthest(p.values, p.remade); v != nil {
		p.free(v.reg)
		v.spilled, v.again = true, true
		return true
	}
	pick := p.furthest(p.arrays, func(v *value) bool { return few(p.g, v.array) })
	if pick == nil {
		pick = p.furthest(p.values, func(*value) bool { return true })
	}
	if pick == nil {
		pick = p.furthest(p.arrays, func(*value) bool { return true })
	}
	if pick == nil {
		return false
	}
	p.save(pick)
	p.free(pick.reg)
	return true
}

// few reports whether an array has fewer dimensions than the graph.
func few(g *tdfg.Graph, array int) bool { return len(g.Arrays[array].Axes) < g.Dims }

// Small reports whether a step spills or reloads an array of fewer dimensions than the graph.
func (p *Plan) Small(s *Step) bool { return s.Array > 0 && few(p.Graph, s.Array-1) }

// remade reports whether a value is made again where it is used next: it is another one, moved, which
// has rows until then, and a move costs little beside the way to memory and back
// (rematerialisation: Chaitin, 1982).
func (p *planner) remade(v *value) bool {
	if !p.again || len(v.nodes) == 0 { // a part of a computation
		return false
	}
	n := &p.g.Nodes[v.nodes[0]]
	if n.Kind != tdfg.Move && n.Kind != tdfg.Broadcast {
		return false
	}
	src := p.loc[n.Args[0]].val
	return src != nil && src != v && p.last(src) >= p.next(v)
}

// last returns the position of the last use of a value.
func (p *planner) last(v *value) (last int) {
	for _, id := range v.nodes {
		for _, u := range p.uses[id] {
			last = max(last, u)
		}
	}
	return last
}

// furthest returns the value of a list whose next use is furthest of those that can be spilled.
func (p *planner) furthest(list []*value, can func(v *value) bool) (pick *value) {
	for _, v := range list {
		if v == nil || v.held || v.spilled || v.array >= 0 && p.at == len(p.order) || !can(v) {
			continue
		}
		if pick == nil || p.next(v) > p.next(pick) {
			pick = v
		}
	}
	return pick
}

// save gives a value a copy in memory.
func (p *planner) save(v *value) {
	if v.slot < 0 || v.array >= 0 && p.written(v.array) {
		v.slot = p.plan.Slots
		p.plan.Slots++
		p.emit(Step{Kind: SpillStep, Node: p.nodeOf(v), Src: v.reg, Slot: v.slot, Array: v.array + 1})
	}
	v.spilled = true
}

// nodeOf returns a node that a value is; of an array that no node reads, one that it is
// stored from.
func (p *planner) nodeOf(v *value) tdfg.NodeID {
	if len(v.nodes) > 0 {
		return v.nodes[0]
	}
	for _, o := range p.g.Outputs {
		if o.Array == v.array {
			return o.Node
		}
	}
	return 0
}

// written reports whether an output to an array was stored already.
func (p *planner) written(array int) bool {
	for i, o := range p.g.Outputs {
		if o.Array == array && p.done[i] {
			return true
		}
	}
	return false
}

// unborn reports whether an array holds nothing yet that anyone needs: it is written as a
// whole, once, and was not written yet, and nothing reads it.
func (p *planner) unborn(v *value) bool {
	a := p.g.Arrays[v.array]
	if a.View != nil || len(v.nodes) > 0 || p.written(v.array) {
		return false
	}
	outputs := 0
	for _, o := range p.g.Outputs {
		if o.Array >= 0 && p.g.Memory(o.Array) == v.array {
			outputs++
			if !p.g.Nodes[o.Node].Domain.Equal(p.g.ArrayRect(o.Array)) {
				return false
			}
		}
	}
	for i := range p.g.Nodes {
		n := &p.g.Nodes[i]
		if n.Kind == tdfg.Tensor && p.g.Memory(n.Array) == v.array || n.Stream != nil && n.Stream.Graph.Array(a.Name) != nil {
			return false
		}
	}
	return outputs == 1
}

// back brings an array to its rows again that has given them away: what is there makes way.
func (p *planner) back(v *value) error {
	if v == nil || v.array < 0 || !v.spilled {
		return nil
	}
	var there []*value
	for _, w := range p.values {
		if !w.spilled && w.reg.Overlaps(v.reg) {
			there = append(there, w)
		}
	}
	for row := v.reg.Row; row < v.reg.Row+v.reg.Bits; row++ {
		p.rows[row] = true
	}
	p.peak()
	for _, w := range there {
		if w.held {
			return fmt.Errorf("%w: array %s would take rows of the step at hand", ErrRegisters, p.g.Arrays[v.array].Name)
		}
		old := w.reg
		if r, ok := p.freeRows(old.Bits); ok {
			for row := r.Row; row < r.Row+r.Bits; row++ {
				p.rows[row] = true
			}
			p.peak()
			p.emit(Step{Kind: CopyStep, Node: w.nodes[0], Src: old, Dst: r})
			w.reg = r
		} else {
			p.save(w)
		}
		for row := old.Row; row < old.Row+old.Bits; row++ {
			if row < v.reg.Row || row >= v.reg.Row+v.reg.Bits {
				p.rows[row] = false
			}
		}
	}
	if v.spilled = false; v.slot >= 0 {
		p.emit(Step{Kind: ReloadStep, Node: p.nodeOf(v), Dst: v.reg, Slot: v.slot, Array: v.array + 1})
	}
	return nil
}

// arraysBack brings the arrays to their rows that a node needs, and holds them.
func (p *planner) arraysBack(id tdfg.NodeID) error {
	n := &p.g.Nodes[id]
	var list []*value
	for _, a := range n.Args {
		if v := p.loc[a].val; v != nil && v.array >= 0 {
			list = append(list, v)
		}
	}
	for _, v := range p.arrays {
		if v != nil && n.Stream != nil && n.Stream.Graph.Array(p.g.Arrays[v.array].Name) != nil {
			list = append(list, v)
		}
	}
	for _, v := range list {
		v.held = true
	}
	for _, v := range list {
		if err := p.back(v); err != nil {
			return err
		}
	}
	return nil
}

// fetch returns the register of a node's value, reloaded if it was spilled, and
// holds it until the step is done.
func (p *planner) fetch(id tdfg.NodeID) (Register, error) {
	l := p.loc[id]
	v := l.val
	if v.spilled {
		step := Step{Kind: ReloadStep, Node: v.nodes[0], Slot: v.slot}
		if v.again {
			arg := p.g.Nodes[step.Node].Args[0]
			if err := p.back(p.loc[arg].val); err != nil {
				return Register{}, err
			}
			src, err := p.fetch(arg)
			if err != nil {
				return src, err
			}
			step.Kind, step.Src, step.Slot = moves[p.g.Nodes[step.Node].Kind], src, 0
		}
		r, err := p.take(v.reg.Bits)
		if err != nil {
			return r, err
		}
		v.reg, v.spilled, v.again, step.Dst = r, false, false, r
		p.emit(step)
	}
	v.held = true
	return Register{v.reg.Row, l.bits}, nil
}

// letGo ends the holding of all values.
func (p *planner) letGo() {
	for _, v := range p.values {
		v.held = false
	}
	for _, v := range p.arrays {
		if v != nil {
			v.held = false
		}
	}
}

// make gives a node a new value in rows of its own.
func (p *planner) make(bits int) (*value, error) {
	r, err := p.take(bits)
	if err != nil {
		return nil, err
	}
	v := &value{reg: r, array: -1, slot: -1, held: true}
	p.values = append(p.values, v)
	return v, nil
}
