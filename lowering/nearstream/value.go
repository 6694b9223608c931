package nearstream

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// nodeKind says what a value is.
type nodeKind uint8

const (
	steadyNode nodeKind = iota // the same in all iterations
	varNode                    // the variable of the loop
	accessNode                 // what a stream has read
	phiNode                    // goes from iteration to iteration
	innerNode                  // comes out of a loop inside
	opNode
)

// node is a value in an iteration of a loop.
type node struct {
	kind   nodeKind
	expr   *stream.Expr   // of an opNode
	stream *stream.Stream // of an accessNode, a phiNode and an innerNode
	typ    scalar.Type
	args   []*node
	users  []*node
	sinks  []sink
	update *node   // of a phiNode
	owner  *Stream // that computes it
	text   string
}

// sinkKind says who takes a value, other than an operation.
type sinkKind uint8

const (
	storeSink   sinkKind = iota // is written by a stream
	addressSink                 // is in the subscripts of a stream
	conditionSink
	phiSink   // is the next value of a reduction
	whileSink // ends the loop
	boundSink // is a bound of a loop inside
	innerSink // is used in a loop inside
	afterSink // is used after the loop
)

// sink is a use of a value that is no operation.
type sink struct {
	kind   sinkKind
	stream *stream.Stream // nil for a loop
	loop   *stream.Loop
	name   string // by which a loop inside knows it
}

// body is the values of a loop's body, without those of loops inside.
type body struct {
	a      *analysis
	loop   *Loop
	direct []*stream.Stream
	nodes  []*node
	byKey  map[string]*node
	def    map[*stream.Stream]*node // their values
	access map[*stream.Stream]*node // what they read
	phi    map[*stream.Stream]*node
	asking map[*Stream]bool
}

// refs lists the names in an expression.
func refs(x *stream.Expr) (names []string) {
	x.Walk(func(y *stream.Expr) {
		if y.Kind == stream.RefExpr {
			names = append(names, y.Name)
		}
	})
	return names
}

// taken lists the names that a stream takes, and subscripts' apart.
func taken(s *stream.Stream) (values, address []string) {
	values = append(append(refs(s.Value), refs(s.Init)...), refs(s.If)...)
	for _, x := range s.Index {
		address = append(address, x.Symbols()...)
	}
	return values, address
}

func bounds(l *stream.Loop) []string {
	names := l.Range.Lo.Symbols()
	if !l.Open {
		names = append(names, l.Range.Hi.Symbols()...)
	}
	return names
}

// within reports whether a stream is in a loop, or in one inside it.
func (a *analysis) within(s *stream.Stream, l *Loop) bool {
	for at := a.loopOf[s]; at != nil; at = at.Outer {
		if at == l {
			return true
		}
	}
	return false
}

// steady reports whether a name means the same in all iterations of a loop.
func (a *analysis) steady(name string, l *Loop) bool {
	if s := a.byName[name]; s != nil {
		return !a.within(s, l)
	}
	return name != l.Source.Var
}

// each calls visit for the streams of a list of statements, those of inner loops with the
// outermost of these. A loop of one iteration is not there.
func each(list []stream.Stmt, inner *stream.Loop, visit func(s *stream.Stream, inner *stream.Loop), enter func(l *stream.Loop, in *stream.Loop)) {
	for _, st := range list {
		switch st := st.(type) {
		case *stream.Stream:
			visit(st, inner)
		case *stream.Loop:
			if n, ok := st.Range.Len().Const(); ok && n == 1 && !st.Open {
				each(st.Body, inner, visit, enter)
				continue
			}
			top := inner
			if top == nil {
				top = st
			}
			enter(st, top)
			each(st.Body, top, visit, enter)
		}
	}
}

// values makes the values of the body of a loop.
func (a *analysis) values(l *Loop) {
	b := &body{a: a, loop: l, byKey: map[string]*node{}, def: map[*stream.Stream]*node{}, access: map[*stream.Stream]*node{}, phi: map[*stream.Stream]*node{}, asking: map[*Stream]bool{}}
	if a.bodies == nil {
		a.bodies = map[*Loop]*body{}
	}
	a.bodies[l] = b
	// A value that is used before it is made is that of the iteration before.
	early, made := map[string]bool{}, map[string]bool{}
	note := func(names []string) {
		for _, n := range names {
			if !made[n] {
				early[n] = true
			}
		}
	}
	note(refs(l.Source.While))
	each(l.Source.Body, nil, func(s *stream.Stream, inner *stream.Loop) {
		v, at := taken(s)
		note(v)
		note(at)
		made[s.Name] = true
		if inner == nil {
			b.direct = append(b.direct, s)
		}
	}, func(in, _ *stream.Loop) {
		note(bounds(in))
		note(refs(in.While))
	})
	for _, s := range b.direct {
		if s.Kind == stream.Reduce && early[s.Name] {
			b.phi[s] = b.add(&node{kind: phiNode, stream: s, typ: a.types[s], text: s.Name})
			b.def[s] = b.phi[s]
		}
	}
	each(l.Source.Body, nil, func(s *stream.Stream, inner *stream.Loop) {
		if inner != nil {
			v, at := taken(s)
			for _, name := range append(v, at...) {
				b.use(name, sink{kind: innerSink, stream: s, loop: inner})
			}
			return
		}
		b.stream(s)
	}, func(in, top *stream.Loop) {
		kind := boundSink
		if in != top {
			kind = innerSink
		}
		for _, name := range append(bounds(in), refs(in.While)...) {
			b.use(name, sink{kind: kind, loop: top})
		}
	})
	if w := l.Source.While; w != nil {
		b.sink(b.node(w, nil), sink{kind: whileSink, loop: l.Source})
	}
	for _, p := range b.nodes {
		if p.kind == phiNode && p.update != nil {
			b.sink(p.update, sink{kind: phiSink, stream: p.stream})
		}
	}
	// What comes after the loop.
	a.g.Walk(func(_ []*stream.Loop, s *stream.Stream) {
		if a.within(s, l) {
			return
		}
		v, at := taken(s)
		for _, name := range append(v, at...) {
			if t := a.byName[name]; t != nil && a.loopOf[t] == l {
				b.sink(b.def[t], sink{kind: afterSink, stream: s})
			}
		}
	})
	for _, o := range a.plan.Loops {
		if o == l || inside(o, l) {
			continue
		}
		for _, name := range append(bounds(o.Source), refs(o.Source.While)...) {
			if t := a.byName[name]; t != nil && a.loopOf[t] == l {
				b.sink(b.def[t], sink{kind: afterSink, loop: o.Source})
			}
		}
	}
}

// inside reports whether a loop is in another one.
func inside(o, l *Loop) bool {
	for at := o.Outer; at != nil; at = at.Outer {
		if at == l {
			return true
		}
	}
	return false
}

// stream makes the values of a stream of the body.
func (b *body) stream(s *stream.Stream) {
	if s.Array != "" && s.Kind != stream.Store {
		b.access[s] = b.add(&node{kind: accessNode, stream: s, typ: b.a.g.Array(s.Array).Type, text: s.Name})
		if b.invariant(s) {
			b.access[s].kind = steadyNode
		}
	}
	for _, x := range s.Index {
		for _, name := range x.Symbols() {
			b.use(name, sink{kind: addressSink, stream: s})
		}
	}
	if s.If != nil {
		b.sink(b.node(s.If, s), sink{kind: conditionSink, stream: s})
	}
	var value *node
	if s.Value != nil {
		value = b.node(s.Value, s)
	}
	switch {
	case s.Kind == stream.Store || s.Kind == stream.RMW:
		if value != nil {
			b.sink(value, sink{kind: storeSink, stream: s})
		}
		b.def[s] = value
		if s.Kind == stream.RMW && s.Old {
			b.def[s] = b.access[s]
		}
	case b.phi[s] != nil:
		b.phi[s].update = value
		if value == nil {
			b.phi[s].update = b.access[s]
		}
	case value != nil:
		b.def[s] = value
	default:
		b.def[s] = b.access[s]
	}
}

// invariant reports whether a load finds the same in all iterations, so that it is made in front
// of the loop: its address does not change, and nothing in the loop writes its array.
func (b *body) invariant(s *stream.Stream) bool {
	if s.Kind != stream.Load || s.Racy || s.If != nil || b.loop.barrier {
		return false
	}
	for _, x := range s.Index {
		for _, name := range x.Symbols() {
			if b.name(name).kind != steadyNode {
				return false
			}
		}
	}
	array, written := b.a.g.Array(s.Array), false
	each(b.loop.Source.Body, nil, func(o *stream.Stream, _ *stream.Loop) {
		if o.Array == "" || o.Kind == stream.Load {
			return
		}
		x := b.a.g.Array(o.Array)
		written = written || x == array || x.Field != nil && array.Field != nil && x.Field.Of == array.Field.Of
	}, func(*stream.Loop, *stream.Loop) {})
	return !written
}

func (b *body) add(n *node) *node {
	b.nodes = append(b.nodes, n)
	return n
}

func (b *body) sink(n *node, s sink) {
	if n != nil && !slices.Contains(n.sinks, s) {
		n.sinks = append(n.sinks, s)
	}
}

// use notes that a name of the body is used other than in an expression of it.
func (b *body) use(name string, s sink) {
	if n := b.name(name); n.kind != steadyNode {
		if s.kind == boundSink || s.kind == innerSink {
			s.name = name
		}
		b.sink(n, s)
	}
}

// name is the value of a name in the body.
func (b *body) name(name string) *node {
	a := b.a
	if s := a.byName[name]; s != nil {
		switch at := a.loopOf[s]; {
		case at == b.loop:
			if n := b.def[s]; n != nil {
				return n
			}
		case a.within(s, b.loop):
			return b.keyed("inner "+name, &node{kind: innerNode, stream: s, typ: a.types[s], text: name})
		}
		return b.keyed("steady "+name, &node{kind: steadyNode, typ: a.types[s], text: name})
	}
	typ := scalar.Int64
	if q := a.g.Param(name); q != nil {
		typ = q.Type
	}
	kind := steadyNode
	if name == b.loop.Source.Var {
		kind = varNode
	}
	return b.keyed("name "+name, &node{kind: kind, typ: typ, text: name})
}

func (b *body) keyed(key string, n *node) *node {
	if old := b.byKey[key]; old != nil {
		return old
	}
	b.byKey[key] = n
	return b.add(n)
}

// node is the value of an expression of a stream.
func (b *body) node(x *stream.Expr, s *stream.Stream) *node {
	switch x.Kind {
	case stream.ElemExpr:
		return b.access[s]
	case stream.RefExpr:
		return b.name(x.Name)
	case stream.ConstExpr:
		return b.keyed(x.String(), &node{kind: steadyNode, typ: x.Type, text: x.String()})
	}
	var args []*node
	steady, key := true, x.Op.String()
	if x.Kind == stream.ConvertExpr {
		key = x.Type.String()
	}
	for _, arg := range x.Args {
		n := b.node(arg, s)
		args = append(args, n)
		steady = steady && n.kind == steadyNode
		key += fmt.Sprintf(" %p", n)
	}
	typ := x.Type
	if x.Kind == stream.ApplyExpr {
		typ = x.Op.Result(args[len(args)-1].typ)
	}
	if old := b.byKey[key]; old != nil {
		return old
	}
	n := b.keyed(key, &node{kind: opNode, expr: x, typ: typ, args: args, text: x.String()})
	if steady {
		n.kind = steadyNode // computed in front of the loop
		return n
	}
	for _, arg := range args {
		if !slices.Contains(arg.users, n) {
			arg.users = append(arg.users, n)
		}
	}
	return n
}

// bits is how many bits of a value are sent.
func (n *node) bits() int { return max(8, n.typ.Bits()) }

// free reports whether an operation takes no micro-op: integers whose width changes are
// extended when they are loaded.
func (n *node) free() bool {
	from := n.args[len(n.args)-1].typ
	plain := func(t scalar.Type) bool { return t.Int() || t == scalar.Bool }
	return n.expr.Kind == stream.ConvertExpr && plain(n.typ) && plain(from)
}

// simple reports whether an operation takes one cycle.
func (n *node) simple() bool {
	switch op := n.expr.Op; {
	case n.expr.Kind == stream.ConvertExpr:
		return n.free()
	case n.args[len(n.args)-1].typ.Float():
		return op == scalar.Select || op == scalar.Neg || op == scalar.Abs
	default:
		return op != scalar.Mul && op != scalar.FMA && op != scalar.Div && op != scalar.Rem
	}
}

// leaves lists what a value is computed from.
func (n *node) leaves() (list []*node) {
	seen := map[*node]bool{}
	var walk func(n *node)
	walk = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		if n.kind != opNode {
			list = append(list, n)
		}
		for _, arg := range n.args {
			walk(arg)
		}
	}
	walk(n)
	return list
}

// short is a text of a value for a reason.
func (n *node) short() string {
	const most = 40
	if len(n.text) <= most {
		return n.text
	}
	return strings.TrimSpace(n.text[:most]) + "..."
}
