package nearstream

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// streams makes the streams of a loop out of the accesses in its body.
func (a *analysis) streams(l *Loop) {
	b := a.bodies[l]
	for _, s := range b.direct {
		if s.Array == "" {
			continue
		}
		if old := a.same(l, s); old != nil {
			old.join(s)
			a.plan.of[s] = old
			continue
		}
		n := &Stream{Name: s.Name, Kind: s.Kind, Array: s.Array, Parts: []*stream.Stream{s}, Loop: l, Dims: 1, Atomic: s.Racy && s.Kind == stream.RMW, Element: a.g.Array(s.Array).Type, Conditional: s.If != nil}
		l.Streams = append(l.Streams, n)
		a.plan.Streams = append(a.plan.Streams, n)
		a.plan.of[s] = n
		b.address(n)
	}
}

// same finds the stream of the loop that a further access belongs to: one of the same
// element, or a load of another member of the same structure.
func (a *analysis) same(l *Loop, s *stream.Stream) *Stream {
	x := a.g.Array(s.Array)
	for _, o := range l.Streams {
		t := o.Parts[0]
		y := a.g.Array(t.Array)
		alike := len(s.Index) == len(t.Index) && slices.EqualFunc(s.Index, t.Index, lattice.Expr.Equal)
		members := x.Field != nil && y.Field != nil && x.Field.Of == y.Field.Of && s.Kind == stream.Load && o.Kind == stream.Load
		if alike && (s.Array == t.Array || members) && s.Kind != stream.Reduce && o.Kind != stream.Reduce {
			return o
		}
	}
	return nil
}

// join adds an access of the same element.
func (s *Stream) join(t *stream.Stream) {
	s.Parts = append(s.Parts, t)
	switch {
	case s.Kind == stream.Load && t.Kind != stream.Load: // a load and the following store
		s.Kind = stream.RMW
	case s.Kind == stream.Store && t.Kind == stream.RMW:
		s.Kind = stream.RMW
	}
	s.Atomic = s.Atomic || t.Racy && t.Kind == stream.RMW
	s.Conditional = s.Conditional && t.If != nil
}

// address finds the address pattern of a stream.
func (b *body) address(s *Stream) {
	part := s.Parts[0]
	var from []*node // what the subscripts take that changes
	for _, x := range part.Index {
		for _, name := range x.Symbols() {
			if n := b.name(name); n.kind != steadyNode && n.kind != varNode {
				from = append(from, n)
			}
		}
	}
	moves := slices.ContainsFunc(part.Index, func(x lattice.Expr) bool { return x.Coef(b.loop.Source.Var) != 0 })
	switch {
	case b.loop.barrier:
		s.Why = "the loop has parallel loops inside, whose barriers order memory"
		return
	case part.Racy && !part.Relaxed && part.Kind == stream.Load:
		s.Why = "threads may synchronise by this atomic load: only relaxed ones are streams"
		return
	case len(from) == 0 && !moves:
		s.Why = "its address does not change in the loop over " + b.loop.Source.Var
		return
	}
	if len(from) == 0 {
		s.Address = Affine
		s.Dims = b.a.dims(part, b.loop)
		return
	}
	var phis, inner []*node
	var bases []*Stream
	loops := false
	for _, n := range from {
		for _, leaf := range n.leaves() {
			switch leaf.kind {
			case phiNode:
				if !slices.Contains(phis, leaf) {
					phis = append(phis, leaf)
				}
			case innerNode:
				inner = append(inner, leaf)
			case accessNode:
				if t := b.a.plan.of[leaf.stream]; t != nil && !slices.Contains(bases, t) {
					bases = append(bases, t)
				}
			case varNode:
				loops = loops || n.kind != varNode
			}
		}
	}
	switch {
	case len(inner) > 0:
		s.Why = "its address follows from " + inner[0].text + ", which a loop inside computes"
	case len(phis) == 1 && len(bases) == 0 && b.induction(phis[0]):
		s.Address = Affine
		b.phi[phis[0].stream].owner = s // counted by the stream engine
	case len(phis) == 1 && len(bases) == 0 && b.chase(phis[0]):
		s.Address = PointerChasing
	case len(phis) > 0:
		s.Why = "its address follows from " + phis[0].text + ", which goes from iteration to iteration in the core"
	case len(bases) == 0:
		s.Why = "its address is not affine in " + b.loop.Source.Var
	case len(bases) > 1:
		s.Why = "its address follows from several streams, " + bases[0].Name + " and " + bases[1].Name
	case loops:
		s.Why = "its address takes the variable of the loop and " + bases[0].Name
	case bases[0].Address == NoPattern:
		s.Why = "its address follows from " + bases[0].Name + ", which is no stream"
	default:
		s.Address, s.Base, s.Dims = Indirect, bases[0], bases[0].Dims
	}
}

// dims counts the loops that an affine stream goes through: outwards while bounds do not
// change, at most three, and not beyond a loop that is shared out among threads.
func (a *analysis) dims(s *stream.Stream, l *Loop) int {
	d := 1
	for l.Outer != nil && d < stream.MaxDims && l.Source.Parallel == nil && !l.Source.Open && !l.Outer.Source.Open && l.Source.While == nil {
		o := l.Outer
		if o.barrier {
			return d
		}
		names := bounds(l.Source)
		for _, x := range s.Index {
			for _, name := range x.Symbols() {
				if name != o.Source.Var {
					names = append(names, name)
				}
			}
		}
		for _, name := range names {
			if !a.steady(name, o) && !(a.byName[name] == nil && name != o.Source.Var) {
				return d
			}
		}
		l = o
		d++
	}
	return d
}

// plain takes conversions off that cost nothing.
func plain(n *node) *node {
	for n.kind == opNode && n.free() {
		n = n.args[0]
	}
	return n
}

// induction reports whether a value that goes from iteration to iteration grows by a
// constant in each, or else the loop ends.
func (b *body) induction(p *node) bool {
	if p.update == nil || b.loop.Source.While == nil {
		return false
	}
	var goesOn []*node
	var conditions func(n *node)
	conditions = func(n *node) {
		if n.kind == phiNode && n.update != nil && n.typ == scalar.Bool {
			n = n.update
		}
		if n.kind == opNode && n.expr.Kind == stream.ApplyExpr && n.expr.Op == scalar.And {
			conditions(n.args[0])
			conditions(n.args[1])
			return
		}
		goesOn = append(goesOn, n)
	}
	conditions(b.node(b.loop.Source.While, nil))
	n := plain(p.update)
	if n.kind == opNode && n.expr.Op == scalar.Select && slices.Contains(goesOn, n.args[0]) && plain(n.args[2]) == p {
		n = plain(n.args[1])
	}
	if n.kind != opNode || n.expr.Op != scalar.Add && n.expr.Op != scalar.Sub {
		return false
	}
	return plain(n.args[0]) == p && n.args[1].kind == steadyNode || n.expr.Op == scalar.Add && plain(n.args[1]) == p && n.args[0].kind == steadyNode
}

// chase reports whether the next value of a pointer is read where it points to.
func (b *body) chase(p *node) bool {
	if p.update == nil {
		return false
	}
	found := false
	for _, leaf := range p.update.leaves() {
		switch leaf.kind {
		case steadyNode:
		case accessNode:
			at := leaf.stream
			for _, x := range at.Index {
				for _, name := range x.Symbols() {
					if n := b.name(name); n == p {
						found = true
					} else if n.kind != steadyNode {
						return false
					}
				}
			}
		default:
			return false
		}
	}
	return found
}
