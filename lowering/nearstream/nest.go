package nearstream

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// nest says whether streams of the loop around can configure those of a loop: lengths and
// parameters depend on outer streams and on what does not change, and on nothing else
// (section III.A).
func (a *analysis) nest(l *Loop) {
	o := l.Outer
	switch {
	case o == nil:
		l.Why = "no loop is around it"
		return
	case l.Source.Parallel != nil:
		l.Why = "threads share it out"
		return
	case o.barrier:
		l.Why = "barriers of parallel loops are in the loop around it"
		return
	}
	b := a.bodies[o]
	names := bounds(l.Source)
	names = append(names, a.parameters(l)...)
	for _, name := range names {
		if !a.steady(name, l) || a.steady(name, o) {
			continue
		}
		n := b.name(name)
		for _, leaf := range n.leaves() {
			switch leaf.kind {
			case accessNode:
				if t := a.plan.of[leaf.stream]; t == nil || t.Address == NoPattern {
					l.Why = fmt.Sprintf("%s follows from %s, which is no stream", name, leaf.text)
					return
				}
			case phiNode:
				if leaf.owner == nil || leaf.owner.Why != "" {
					l.Why = fmt.Sprintf("%s follows from %s, which goes from iteration to iteration in the core", name, leaf.text)
					return
				}
			case innerNode:
				if a.plan.computes[leaf.stream] == nil {
					l.Why = fmt.Sprintf("%s follows from %s, which a loop inside computes in the core", name, leaf.text)
					return
				}
			}
		}
	}
	l.Nested = true
}

// parameters lists the names that streams of a loop take beyond its bounds.

func (a *analysis) parameters(l *Loop) (names []string) {
	for _, s := range l.Streams {
		if s.Address == NoPattern || s.Why != "" {
			continue
		}
		for _, p := range s.Parts {
			v, at := taken(p)
			names = append(append(names, v...), at...)
		}
		for _, n := range s.nodes {
			names = append(names, refs(n.expr)...)
		}
	}
	for s, n := range a.bodies[l].phi {
		if n.owner != nil && n.owner.Why == "" {
			names = append(names, refs(s.Init)...)
		}
	}
	return names
}

// limit leaves streams in the core that the core's engine has no place for: those of inner
// loops come first.
func (a *analysis) limit() {
	used := map[*Loop]int{} // by a loop and those inside it, at once
	for _, l := range slices.Backward(a.plan.Loops) {
		n := used[l]
		for _, s := range l.Streams {
			if s.Address == NoPattern || s.Why != "" {
				continue
			}
			if n == MaxStreams {
				s.Address, s.Base, s.Place = NoPattern, nil, InCore
				s.Why = fmt.Sprintf("the core has %d streams, which others of the loop and of loops inside take", MaxStreams)
				a.drop(s)
				continue
			}
			n++
		}
		if l.Outer != nil {
			used[l.Outer] = max(used[l.Outer], n)
		}
	}
}

// drop gives the computations of a stream back to the core, and all streams that take its
// value.
func (a *analysis) drop(s *Stream) {
	for _, n := range s.nodes {
		n.owner = nil
	}
	s.nodes = nil
	for _, p := range s.Parts {
		delete(a.plan.computes, p)
	}
	for _, t := range s.Loop.Streams {
		if t == s || t.Address == NoPattern {
			continue
		}
		takes := t.Base == s
		for _, from := range a.bodies[t.Loop].takes(t) {
			takes = takes || from == s
		}
		if takes && t.Kind == stream.Load && t.Base != s {
			a.release(t)
			continue
		}
		if takes {
			t.Why = "takes " + s.Name + ", for which the core has no stream left"
			t.Address, t.Base, t.Place = NoPattern, nil, InCore
			a.drop(t)
		}
	}
}

// release lets a load compute nothing.
func (a *analysis) release(s *Stream) {
	for _, n := range s.nodes {
		n.owner = nil
	}
	s.nodes = nil
}

// takes lists the streams whose values a stream takes for what it computes, writes and
// decides.
func (b *body) takes(s *Stream) []*Stream {
	var ends []*node
	for _, n := range b.nodes {
		if n.owner == s && n.kind == opNode {
			ends = append(ends, n)
		}
		if n.kind == phiNode && n.owner == s && (s.Kind == stream.Reduce || s.Address == PointerChasing) {
			ends = append(ends, n.update)
		}
		for _, k := range n.sinks {
			if (k.kind == storeSink || k.kind == conditionSink) && slices.Contains(s.Parts, k.stream) && s.Kind != stream.Load {
				ends = append(ends, n)
			}
		}
	}
	var from []*Stream
	for _, n := range ends {
		list := b.sources(n.args...)
		if n.kind != opNode || n.owner != s {
			list = b.sources(n)
		}
		for _, t := range list {
			if t != s && !slices.Contains(from, t) {
				from = append(from, t)
			}
		}
	}
	return from
}

// places says where streams of a loop go, what they take and what they send to the core.
func (a *analysis) places(l *Loop) {
	b := a.bodies[l]
	for _, s := range l.Streams {
		if s.Address == NoPattern {
			continue
		}
		s.Inputs, s.simple = b.takes(s), true
		steady := map[*node]bool{}
		for _, n := range s.nodes {
			if !n.free() {
				s.Ops = append(s.Ops, n.expr)
				s.simple = s.simple && n.simple()
			}
			for _, arg := range n.args {
				if arg.kind == steadyNode && (arg.expr != nil || !isConst(arg)) && !steady[arg] {
					steady[arg] = true
					s.Invariants++
				}
			}
		}
	}
	for _, s := range l.Streams {
		if s.Address == NoPattern || s.Kind != stream.Load && s.Place != Near {
			continue
		}
		near, core := false, ""
		for _, n := range b.nodes {
			if n.kind == accessNode && a.plan.of[n.stream] == s || n.kind == opNode && n.owner == s || n.kind == phiNode && n.owner == s && s.Kind != stream.Reduce {
				if ne, co, typ := b.consumers(n, s); co != "" || ne {
					near = near || ne
					if co != "" {
						core = co
						if s.Result == scalar.Invalid || typ.Bits() > s.Result.Bits() {
							s.Result = typ
						}
					}
				}
				s.Final = s.Final || slices.ContainsFunc(n.sinks, func(k sink) bool { return k.kind == afterSink })
			}
		}
		if s.Kind != stream.Load {
			continue
		}
		switch {
		case len(s.Ops) > 0 || near || core == "" && s.Final:
			s.Place = Near
		case s.Why == "":
			s.Place = AddressNear
			s.Why = "its elements are not made smaller by what is computed, and go to the core: " + core
			if core == "" {
				s.Place, s.Why = InCore, "nothing takes its value"
			}
		}
	}
}

func isConst(n *node) bool { return n.typ != scalar.Invalid && n.stream == nil && n.isLiteral() }

// isLiteral reports whether a steady value is written as a constant.
func (n *node) isLiteral() bool {
	for _, c := range n.text {
		if c == '(' {
			return true
		}
	}
	return false
}

// consumers says whether streams take a value, and what in the core does.
func (b *body) consumers(n *node, of *Stream) (near bool, core string, typ scalar.Type) {
	typ = n.typ
	for _, u := range n.users {
		switch {
		case u.owner == of, b.idle(u):
		case u.owner != nil:
			near = true
		case u.free():
			ne, co, _ := b.consumers(u, of)
			near = near || ne
			if co != "" {
				core = co
			}
		default:
			core = "the core computes " + u.short()
		}
	}
	for _, k := range n.sinks {
		var t *Stream
		if k.stream != nil {
			t = b.a.plan.of[k.stream]
		}
		switch k.kind {
		case storeSink:
			switch {
			case t == of:
			case t != nil && t.Place == Near:
				near = true
			default:
				core = "the core writes " + k.stream.Array
			}
		case addressSink:
			switch {
			case t != nil && t.Base == of && (t.Kind == stream.Load || t.Place == Near):
				near = true
			case t != nil && t != of && t.Address != PointerChasing:
				core = "the core makes addresses of " + k.stream.Array + " with it"
			}
		case conditionSink:
			switch {
			case t == of:
			case t != nil && t.Kind != stream.Load && t.Place == Near:
				near = true
			case t != nil && t.Kind == stream.Load && t.Address != NoPattern && b.near(t):
				near = true
			default:
				core = "a condition of the core takes it"
			}
		case phiSink:
			if p := b.phi[k.stream]; p.owner != nil && p.owner.Why == "" {
				near = near || p.owner != of
			} else {
				core = "the core computes " + k.stream.Name
			}
		case whileSink:
			if of.Address != PointerChasing {
				core = "it ends the loop"
			}
		case boundSink, innerSink:
			in := b.a.loop(k.loop)
			near = near || in.Nested
			if !in.Decoupled && !(k.stream != nil && in.Nested && b.a.leaves(k.stream)) {
				core = "the loop over " + k.loop.Var + " takes it"
			}
		}
	}
	return near, core, typ
}

// leaves reports whether an access, or what computes a value, has left the core.
func (a *analysis) leaves(s *stream.Stream) bool {
	if s.Array == "" {
		b := a.bodies[a.loopOf[s]]
		n := b.def[s]
		return n != nil && n.owner != nil && n.owner.Why == ""
	}
	t := a.plan.of[s]
	return t != nil && t.Address != NoPattern && (t.Place == Near || t.Kind == stream.Load)
}

// idle reports whether an operation only decides whether a load is made that is a stream
// near the L3, and so is made in any case.
func (b *body) idle(n *node) bool {
	if n.owner != nil {
		return false
	}
	for _, k := range n.sinks {
		if k.kind != conditionSink || b.a.plan.of[k.stream].Kind != stream.Load || b.a.plan.of[k.stream].Address == NoPattern || !b.near(b.a.plan.of[k.stream]) {
			return false
		}
	}
	return !slices.ContainsFunc(n.users, func(u *node) bool { return !b.idle(u) })
}

// near reports whether what a load reads is taken by streams only.
func (b *body) near(s *Stream) bool {
	if b.asking[s] { // whether a part of it is loaded follows from another part
		return true
	}
	b.asking[s] = true
	defer delete(b.asking, s)
	for _, p := range s.Parts {
		n := b.access[p]
		for _, u := range n.users {
			if u.owner == nil && !u.free() && !b.idle(u) {
				return false
			}
		}
		for _, k := range n.sinks {
			if k.kind == storeSink && b.a.plan.of[k.stream].Place != Near || k.kind == whileSink && s.Address != PointerChasing {
				return false
			}
		}
	}
	return true
}

// loop is the loop of the plan for one of the graph.
func (a *analysis) loop(l *stream.Loop) *Loop {
	for _, o := range a.plan.Loops {
		if o.Source == l {
			return o
		}
	}
	return nil
}

// decouple says whether nothing of an iteration is left for the core (section V).
func (a *analysis) decouple(l *Loop) {
	b := a.bodies[l]
	for _, s := range b.direct {
		if s.Array != "" && !(s.Kind == stream.Load && b.access[s].kind == steadyNode) {
			if t := a.plan.of[s]; t == nil || t.Place != Near || t.Result != scalar.Invalid {
				return
			}
		}
	}
	for _, n := range b.nodes {
		switch n.kind {
		case opNode:
			if n.owner == nil && !n.free() && !b.idle(n) {
				return
			}
		case phiNode:
			if n.owner == nil || n.owner.Why != "" {
				return
			}
		}
	}
	for _, in := range l.inner {
		if o := a.loop(in); o == nil || !o.Decoupled {
			return
		}
	}
	l.Decoupled = l.Nested && len(l.Streams) > 0
}

// locals says for each value of the graph without an access which stream computes it.
func (a *analysis) locals(l *Loop) {
	b := a.bodies[l]
	for _, s := range b.direct {
		if s.Array != "" || a.plan.computes[s] != nil {
			continue
		}
		n := b.def[s]
		for n != nil && n.kind == opNode && n.owner == nil && n.free() {
			n = n.args[0]
		}
		if n != nil && n.owner != nil && n.owner.Place == Near {
			a.plan.computes[s] = n.owner
		}
	}
}
