package nearstream

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// assign gives the computations of a loop's body to streams.
func (a *analysis) assign(l *Loop) {
	b := a.bodies[l]
	b.pointers()
	for _, s := range l.Streams { // what an address follows from is computed where it is read
		if s.Address != Indirect {
			continue
		}
		for _, n := range b.nodes {
			if slices.ContainsFunc(n.sinks, func(k sink) bool { return k.kind == addressSink && k.stream == s.Parts[0] }) {
				list, _ := b.slice(s.Base, n, nil)
				b.give(s.Base, list)
			}
		}
	}
	for _, s := range slices.Clone(l.Streams) {
		if s.Kind == stream.Load && s.Address != NoPattern {
			b.shrink(s)
		}
	}
	work := map[*Stream][]*node{}
	var takers []*Stream
	for _, n := range b.nodes {
		if n.kind != phiNode || n.owner != nil || n.update == nil {
			continue
		}
		if s, list := b.reduction(n); s != nil {
			takers = append(takers, s)
			work[s] = list
		}
	}
	for _, s := range l.Streams {
		if s.Kind == stream.Store || s.Kind == stream.RMW {
			if list, ok := b.written(s); ok {
				takers = append(takers, s)
				work[s] = list
			}
		}
	}
	b.share(takers, work)
	b.configures()
}

// configures gives what is computed for streams of a loop inside to the last load that it
// takes, so that streams can configure them (section III.A).
func (b *body) configures() {
	for _, n := range b.nodes {
		if n.kind != opNode || n.owner != nil || n.free() || !slices.ContainsFunc(n.sinks, func(k sink) bool {
			in := b.a.loop(k.loop)
			return (k.kind == innerSink || k.kind == boundSink) && in != nil && (slices.Contains(b.a.parameters(in), k.name) || slices.Contains(bounds(in.Source), k.name))
		}) {
			continue
		}
		if list, why := b.slice(nil, n, nil); why == "" {
			if last := b.last(n); last != nil {
				b.give(last, list)
			}
		}
	}
}

// last is the affine load that comes last among those that a value is computed from; nil if
// the value goes from iteration to iteration.
func (b *body) last(n *node) (last *Stream) {
	for _, leaf := range n.leaves() {
		if leaf.kind == phiNode || leaf.kind == innerNode {
			return nil
		}
		if leaf.kind == accessNode {
			if t := b.a.plan.of[leaf.stream]; t.Kind == stream.Load && t.Address != NoPattern && (last == nil || b.a.index[leaf.stream] > b.a.index[last.Parts[0]]) {
				last = t
			}
		}
	}
	if last != nil && last.Address == Indirect {
		return nil // operands could not be sent to it
	}
	return last
}

// pointers gives what moves a pointer on, and what ends its loop, to the stream that
// follows it.
func (b *body) pointers() {
	for _, s := range b.loop.Streams {
		if s.Address != PointerChasing || !b.points(s) {
			continue
		}
		for _, n := range b.nodes {
			if n.kind != phiNode || n.update == nil || n.owner != nil {
				continue
			}
			moves := b.chase(n)
			ends := !slices.ContainsFunc(n.sinks, func(k sink) bool { return k.kind != whileSink && k.kind != afterSink }) && len(n.users) == 0 &&
				slices.ContainsFunc(n.sinks, func(k sink) bool { return k.kind == whileSink })
			if moves || ends {
				if list, why := b.slice(s, n.update, n); why == "" {
					n.owner = s
					b.a.plan.computes[n.stream] = s
					b.give(s, list)
				}
			}
		}
		return // the first one has them
	}
}

// points reports whether a pointer is read by a stream.
func (b *body) points(s *Stream) bool {
	return slices.ContainsFunc(b.nodes, func(n *node) bool {
		return n.kind == phiNode && n.update != nil && b.chase(n) && slices.ContainsFunc(n.update.leaves(), func(m *node) bool { return m.kind == accessNode && b.a.plan.of[m.stream] == s })
	})
}

// give lets a stream compute values.
func (b *body) give(s *Stream, list []*node) {
	for _, n := range list {
		if n.owner == nil {
			n.owner = s
			s.nodes = append(s.nodes, n)
		}
	}
}

// shrink finds the largest closure of computations on what a load has read whose only
// result is smaller than that.
func (b *body) shrink(s *Stream) {
	var set []*node
	whole := 0
	for _, p := range s.Parts {
		n := b.access[p]
		if n == nil {
			return
		}
		set = append(set, n)
		if len(n.users) > 0 || len(n.sinks) > 0 {
			whole += n.bits()
		}
	}
	first := len(set)
	best, fewest := first, whole
	for {
		var next []*node
		for _, n := range set {
			for _, u := range n.users {
				if !slices.Contains(set, u) && !slices.Contains(next, u) && u.owner == nil && b.computable(s, u, set) {
					next = append(next, u)
				}
			}
		}
		if len(next) == 0 {
			break
		}
		set = append(set, next...)
		var out []*node
		for _, n := range set {
			if len(n.sinks) > 0 || slices.ContainsFunc(n.users, func(u *node) bool { return !slices.Contains(set, u) }) {
				out = append(out, n)
			}
		}
		if len(out) == 1 && !slices.Contains(set[:first], out[0]) && out[0].bits() < whole && out[0].bits() <= fewest {
			best, fewest = len(set), out[0].bits()
		}
	}
	b.give(s, set[first:best])
}

// computable reports whether an operation takes only what is in the set, what does not
// change, the variable of the loop, and what other loads read, if the address is affine.
func (b *body) computable(s *Stream, n *node, set []*node) bool {
	for _, arg := range n.args {
		switch {
		case slices.Contains(set, arg), arg.kind == steadyNode, arg.kind == varNode:
		case arg.kind == accessNode:
			t := b.a.plan.of[arg.stream]
			if t == nil || t.Kind != stream.Load || t.Address == NoPattern || s.Address != Affine && t != s.Base {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// slice lists the operations that lead to a value, back to streams. why says what in the
// core it takes; self is the reduction that may take itself.
func (b *body) slice(s *Stream, value, self *node) (list []*node, why string) {
	seen := map[*node]bool{}
	var walk func(n *node)
	walk = func(n *node) {
		if seen[n] || why != "" {
			return
		}
		seen[n] = true
		switch n.kind {
		case opNode:
			if n.owner != nil && n.owner != s { // the result of a load with a computation
				return
			}
			for _, arg := range n.args {
				walk(arg)
			}
			list = append(list, n)
		case phiNode:
			if n != self && !(n.owner != nil && n.owner.Address == PointerChasing) {
				why = "takes " + n.text + ", which goes from iteration to iteration in the core"
			}
		case accessNode:
			if t := b.a.plan.of[n.stream]; t == nil || t.Address == NoPattern {
				why = "takes " + n.text + ", which is no stream"
			}
		case innerNode:
			if t := b.a.plan.computes[n.stream]; t == nil || t.Kind != stream.Reduce {
				why = "takes " + n.text + ", which a loop inside computes in the core"
			}
		}
	}
	walk(value)
	return list, why
}

// sources lists the streams whose values operations take from outside.
func (b *body) sources(values ...*node) (from []*Stream) {
	seen := map[*node]bool{}
	add := func(s *Stream) {
		if s != nil && !slices.Contains(from, s) {
			from = append(from, s)
		}
	}
	var walk func(n *node, of *Stream)
	walk = func(n *node, of *Stream) {
		if seen[n] {
			return
		}
		seen[n] = true
		switch n.kind {
		case opNode:
			if n.owner != nil && n.owner != of {
				add(n.owner)
				return
			}
			for _, arg := range n.args {
				walk(arg, of)
			}
		case accessNode:
			add(b.a.plan.of[n.stream])
		case innerNode:
			add(b.a.plan.computes[n.stream])
		}
	}
	for _, v := range values {
		if v != nil {
			walk(v, v.owner)
		}
	}
	return from
}

// operation finds the operation of a reduction that could be taken in parts: one on the
// value so far, under a condition or not.
func operation(p *node) (scalar.Op, bool) {
	n := p.update
	for n.kind == opNode && n.expr.Op == scalar.Select {
		x, y := n.args[1], n.args[2]
		c := n.args[0]
		if c.kind == opNode && c.expr.Op.Compares() && (x == p || y == p) && (slices.Contains(c.args, x) && slices.Contains(c.args, y)) {
			return extreme(c, x, y)
		}
		switch p {
		case y:
			n = x
		case x:
			n = y
		default:
			return scalar.NoOp, false
		}
	}
	if n.kind != opNode || n.expr.Kind != stream.ApplyExpr || len(n.args) != 2 {
		return scalar.NoOp, false
	}
	for i, arg := range n.args {
		if arg == p && !slices.Contains(n.args[1-i].leaves(), p) && (i == 0 || n.expr.Op.Commutative()) {
			return n.expr.Op, true
		}
	}
	return scalar.NoOp, false
}

// extreme finds the minimum or maximum that a selection by a comparison of its operands is.
func extreme(c, x, y *node) (scalar.Op, bool) {
	less := scalar.Min
	switch c.expr.Op {
	case scalar.Lt, scalar.Le:
	case scalar.Gt, scalar.Ge:
		less = scalar.Max
	default:
		return scalar.NoOp, false
	}
	if c.args[0] == y && c.args[1] == x {
		less = scalar.Min + scalar.Max - less
	}
	return less, true
}

// reduction makes a stream of a value that is reduced over streams, or says in the value's
// owner that there is none.
func (b *body) reduction(p *node) (*Stream, []*node) {
	if p.typ == scalar.Bool && slices.ContainsFunc(p.sinks, func(k sink) bool { return k.kind == whileSink }) {
		return nil, nil // it ends the loop
	}
	if n := p.update; n.kind == innerNode { // goes on through a loop inside
		if t := b.a.plan.computes[n.stream]; t != nil {
			t.Parts = append(t.Parts, p.stream)
			b.a.plan.computes[p.stream] = t
			p.owner = t
		}
		return nil, nil
	}
	s := &Stream{Name: p.stream.Name, Kind: stream.Reduce, Array: p.stream.Array, Parts: []*stream.Stream{p.stream}, Loop: b.loop, Dims: 1, Element: p.typ, Final: true}
	if own := b.a.plan.of[p.stream]; own != nil { // with an element of its own
		s = own
		s.Final = true
	}
	list, why := b.slice(s, p.update, p)
	from := b.sources(p.update)
	from = slices.DeleteFunc(from, func(t *Stream) bool { return t.Loop != b.loop })
	indirect := slices.IndexFunc(from, func(t *Stream) bool { return t.Address == Indirect })
	if s.Address == NoPattern && s.Array == "" {
		for _, t := range from {
			if s.Base == nil || t.Address > s.Base.Address {
				s.Base = t
			}
		}
		if s.Base != nil {
			s.Address, s.Dims = s.Base.Address, s.Base.Dims
		}
	}
	used := false
	for _, n := range append([]*node{p}, list...) {
		if n == p || slices.Contains(n.leaves(), p) {
			used = used || slices.ContainsFunc(n.users, func(u *node) bool { return !slices.Contains(list, u) }) ||
				slices.ContainsFunc(n.sinks, func(k sink) bool {
					return !(k.kind == phiSink && k.stream == p.stream) && k.kind != afterSink && !(n == p && k.kind == innerSink)
				})
		}
	}
	switch {
	case why != "":
	case len(from) == 0:
		return nil, nil // a counter of the core
	case used:
		why = "is used in each iteration while it is reduced"
	case b.loop.Source.While != nil && s.Address != PointerChasing:
		why = "is reduced in a loop whose end the core decides"
	case indirect >= 0 && len(from) > 1 && slices.ContainsFunc(from, func(t *Stream) bool { return t != from[indirect] && t != from[indirect].Base }):
		why = "takes " + from[indirect].Name + ", whose bank depends on data, and another stream"
	case indirect >= 0:
		op, ok := operation(p)
		s.Join = op
		switch {
		case !ok:
			why = "is reduced over banks in no order, and its computation is not one operation on the value so far"
		case !op.Associative(p.typ) && !p.stream.Reassociate && !(p.typ.Float() && (op == scalar.Min || op == scalar.Max)):
			why = fmt.Sprintf("is reduced over banks in no order, and %s of %s must keep its order (#pragma omp simd reduction says that it need not)", op, p.typ)
		}
	case len(from) > MaxInputs:
		why = fmt.Sprintf("takes %d streams, and the hardware %d", len(from), MaxInputs)
	}
	s.Why = why
	if s.Array == "" {
		b.loop.Streams = append(b.loop.Streams, s)
		b.a.plan.Streams = append(b.a.plan.Streams, s)
	}
	p.owner = s
	if why != "" {
		return nil, nil
	}
	b.a.plan.computes[p.stream] = s
	return s, list
}

// written lists what is computed for a store or an update, if streams have all that it
// takes.
func (b *body) written(s *Stream) (list []*node, ok bool) {
	if s.Address == NoPattern {
		return nil, false
	}
	for _, x := range s.Parts {
		if _, _, _, ok := x.Update(); x.Racy && x.Kind == stream.RMW && !ok {
			s.Why = "its atomic update is no operation with an operand, and the core repeats it until no other thread came between"
			return nil, false
		}
	}
	var ends []*node
	for _, n := range b.nodes {
		for _, k := range n.sinks {
			if (k.kind == storeSink || k.kind == conditionSink && s.Kind != stream.Load) && slices.Contains(s.Parts, k.stream) {
				ends = append(ends, n)
			}
		}
	}
	from := b.sources(ends...)
	for _, n := range ends {
		more, why := b.slice(s, n, nil)
		if why != "" {
			s.Why = "what it writes " + why
			if !slices.ContainsFunc(n.sinks, func(k sink) bool { return k.kind == storeSink && slices.Contains(s.Parts, k.stream) }) {
				s.Why = "its condition " + why
			}
			return nil, false
		}
		for _, m := range more {
			if !slices.Contains(list, m) {
				list = append(list, m)
			}
		}
	}
	if s.Address != Affine {
		for _, t := range from {
			if t != s && t != s.Base && t.Loop == b.loop && !(s.Base != nil && t == s.Base.Base) {
				s.Why = "takes " + t.Name + ", and its own bank depends on data, so that the operand cannot be sent there"
				return nil, false
			}
		}
	}
	if n := len(slices.DeleteFunc(from, func(t *Stream) bool { return t == s })); n > MaxInputs {
		s.Why = fmt.Sprintf("takes %d streams, and the hardware %d", n, MaxInputs)
		return nil, false
	}
	return list, true
}

// share gives operations to the streams that take them. What several take is computed
// once, with the last load that it takes.
func (b *body) share(takers []*Stream, work map[*Stream][]*node) {
	uses := map[*node]int{}
	for _, s := range takers {
		for _, n := range work[s] {
			uses[n]++
		}
	}
	for _, s := range takers {
		for _, n := range work[s] {
			if n.owner != nil || uses[n] < 2 {
				continue
			}
			last := b.last(n)
			if last == nil {
				last = s
			}
			b.give(last, []*node{n})
		}
	}
	for _, s := range takers {
		b.give(s, work[s])
		s.Place = Near
	}
}
