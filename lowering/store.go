package lowering

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
)

// target returns the array that a node can be computed into at once: one that it is
// stored to as a whole, which nothing reads any more but this step, and this step
// only if it can work in place.
func (p *planner) target(id tdfg.NodeID, s *Step) *value {
	g := p.g
	if len(p.uses[id]) != 1 {
		return nil
	}
	for j, o := range g.Outputs {
		if o.Node != id || o.Array < 0 {
			continue
		}
		v := p.arrays[o.Array]
		if v.spilled || !g.Nodes[id].Domain.Equal(g.ArrayRect(o.Array)) || p.stored(o.Array) > 1 || p.readLater(o.Array, nil) {
			return nil
		}
		here := 0
		for i, k := range s.Program.Args {
			if a := s.Args[k]; a.Row == v.reg.Row {
				if !s.Program.InPlace[i] {
					return nil
				}
			}
		}
		for _, a := range g.Nodes[id].Args {
			if p.loc[a].val == v {
				here++
			}
		}
		if v.live > here || s.Program.ResultWidth() != v.reg.Bits {
			return nil
		}
		p.done[j] = true
		return v
	}
	return nil
}

// stored returns how many outputs write an array that have not been stored yet.
func (p *planner) stored(array int) int {
	n := 0
	for i, o := range p.g.Outputs {
		if o.Array == array && !p.done[i] {
			n++
		}
	}
	return n
}

// storeEarly stores a node to its array as soon as nothing reads any more what it overwrites, and
// lets the node be there from now on, so that its rows are free for others.
func (p *planner) storeEarly(id tdfg.NodeID) {
	g := p.g
	l := p.loc[id]
	if l.val == nil || l.val.array >= 0 || len(l.val.nodes) != 1 || l.val.spilled {
		return
	}
	for i, o := range g.Outputs {
		if o.Node != id || o.Array < 0 || p.done[i] {
			continue
		}
		v := p.arrays[o.Array]
		if v == nil { // in memory, where streams have written it
			continue
		}
		if p.wanted(o.Array, id) || l.bits != v.reg.Bits || p.overwrites(i) {
			continue
		}
		if v.spilled && (l.val.reg != v.reg || !g.Nodes[id].Domain.Equal(g.ArrayRect(o.Array))) { // its rows are others' now, or some of what it had is needed: at the end
			continue
		}
		p.done[i] = true
		if v.spilled { // it is there already
			v.spilled = false
			p.loc[id] = location{v, l.bits}
			v.live += l.val.live - 1
			v.nodes = append(v.nodes, id)
			p.values = slices.DeleteFunc(p.values, func(w *value) bool { return w == l.val })
			return
		}
		p.emit(Step{Kind: CopyStep, Node: id, Output: i, Src: Register{l.val.reg.Row, l.bits}, Dst: v.reg, Exact: !g.Nodes[id].Domain.Equal(g.ArrayRect(o.Array))})
		p.loc[id] = location{v, l.bits}
		v.live += l.val.live - 1
		v.nodes = append(v.nodes, id)
		p.drop(l.val)
		return
	}
}

// wanted reports whether something to come reads elements of an array that a node has others for.
func (p *planner) wanted(array int, id tdfg.NodeID) bool {
	g := p.g
	domain := g.Nodes[id].Domain
	for _, other := range p.arrays[array].nodes {
		pending := slices.ContainsFunc(p.uses[other], func(u int) bool { return u > p.at && u < len(p.order) })
		for i, o := range g.Outputs {
			pending = pending || o.Node == other && !p.done[i]
		}
		if pending && !g.Space.Disjoint(g.Nodes[other].Domain, domain) {
			return true
		}
	}
	return p.readLater(array, domain)
}

// overwrites reports whether an output writes elements that an earlier one may write, which was not
// stored yet.
func (p *planner) overwrites(output int) bool {
	o := p.g.Outputs[output]
	for i, q := range p.g.Outputs[:output] {
		if q.Array == o.Array && !p.done[i] && !p.g.Space.Disjoint(p.g.Nodes[q.Node].Domain, p.g.Nodes[o.Node].Domain) {
			return true
		}
	}
	return false
}

// readLater reports whether a node still to come reads elements of an array in a rectangle, nil for all.
func (p *planner) readLater(array int, rect lattice.Rect) bool {
	for _, id := range p.order[p.at+1:] {
		n := &p.g.Nodes[id]
		if n.Kind == tdfg.Tensor && n.Array == array && !p.g.Space.Disjoint(n.Domain, rect) || n.Stream != nil && n.Stream.Graph.Array(p.g.Arrays[array].Name) != nil {
			return true
		}
	}
	return false
}

// stream emits the execution of streams near the memory.
func (p *planner) stream(id tdfg.NodeID) error {
	n := &p.g.Nodes[id]
	s := Step{Kind: StreamStep, Node: id}
	for _, a := range n.Args {
		var o Operand
		if !p.uniform(a) && p.loc[a].val != nil {
			r, err := p.fetch(a)
			if err != nil {
				return err
			}
			o.Register = r
		}
		s.Args = append(s.Args, o)
	}
	if n.Domain.Everywhere() || InMemoryOnly(p.g, id) { // the host or the memory keeps it
		p.emit(s)
		return nil
	}
	v := p.streamTarget(id)
	if v == nil {
		var err error
		if v, err = p.make(n.Type.Bits()); err != nil {
			return err
		}
	}
	s.Dst = v.reg
	p.emit(s)
	p.bind(id, v, n.Type.Bits())
	return nil
}

// InMemoryOnly reports whether the result of the streams of a node is wanted in memory
// only: in an array that is not resident, and as an operand of other streams.
func InMemoryOnly(g *tdfg.Graph, id tdfg.NodeID) bool {
	i := g.ArrayIndex(g.Nodes[id].Stream.Result)
	if i < 0 || Resident(g)[i] {
		return false
	}
	for _, o := range g.Outputs {
		if o.Node == id && !inMemory(g, o) {
			return false
		}
	}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Kind != tdfg.Stream && slices.Contains(n.Args, id) {
			return false
		}
	}
	return true
}

// streamTarget returns the array that the streams of a node write, if they may do so
// at once: it is stored back to the same array and its old contents are not needed.
func (p *planner) streamTarget(id tdfg.NodeID) *value {
	st := p.g.Nodes[id].Stream
	for i, o := range p.g.Outputs {
		if o.Node == id && o.Array >= 0 && p.g.Arrays[o.Array].Name == st.Result {
			v := p.arrays[o.Array]
			if v != nil && !v.spilled && v.live == 0 && !p.readLater(o.Array, nil) && p.stored(o.Array) == 1 {
				p.done[i], v.held = true, true
				return v
			}
		}
	}
	return nil
}

// outputs emits the copies to arrays and the results that are left. What lies in an
// array that some of them write is moved out of its way first.
func (p *planner) outputs() error {
	g := p.g
	for _, v := range p.arrays {
		if err := p.back(v); err != nil {
			return err
		}
	}
	src := make([]Register, len(g.Outputs))
	for i, o := range g.Outputs {
		l := p.loc[o.Node]
		if l.val == nil || p.done[i] {
			continue
		}
		r, err := p.fetch(o.Node)
		if err != nil {
			return err
		}
		if a := l.val.array; a >= 0 && (a != o.Array && p.stored(a) > 0 || p.stored(a) > 1) {
			v, err := p.make(l.bits)
			if err != nil {
				return err
			}
			p.emit(Step{Kind: CopyStep, Node: o.Node, Src: r, Dst: v.reg})
			r = v.reg
		}
		src[i] = r
	}
	for i, o := range g.Outputs {
		switch {
		case p.done[i] || inMemory(g, o) && p.arrays[o.Array] == nil:
		case o.Array < 0:
			p.emit(Step{Kind: ResultStep, Node: o.Node, Output: i, Src: src[i]})
		case src[i].Row != p.arrays[o.Array].reg.Row:
			p.emit(Step{Kind: CopyStep, Node: o.Node, Output: i, Src: src[i], Dst: p.arrays[o.Array].reg,
				Exact: !g.Nodes[o.Node].Domain.Equal(g.ArrayRect(o.Array))})
		}
	}
	return nil
}
