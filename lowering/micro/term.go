package micro

import (
	"slices"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/uop"
)

// termKind says what a term is.
type termKind uint8

const (
	constTerm termKind = iota
	slotTerm           // a value that the loop does not change
	varTerm            // the variable of the loop
	ownTerm            // the element, or the value so far
	inTerm             // an operand
	applyTerm
	convertTerm
)

// term is a computation that has left the core, as its engine executes it.
type term struct {
	kind  termKind
	value scalar.Value
	slot  int32
	in    int
	op    scalar.Op
	typ   scalar.Type // of the operands
	to    scalar.Type
	args  []*term
	id    int
	cost  int // cycles of the operation; 0: it is free
	depth int // of the longest chain
}

// termBuilder makes the term of a stream.
type termBuilder struct {
	p      *Program
	l      *loopInfo
	of     *template
	x      *nearStream
	done   map[*stream.Expr]*term
	ids    int
	ops    int
	own    bool // the element itself is taken
	failed bool
	state  map[int32]int    // of a loop that chases pointers: the operands that its values are
	fixed  map[string]int64 // names that are numbers
}

func (b *termBuilder) fail() *term {
	b.failed = true
	return &term{}
}

func (b *termBuilder) expr(x *stream.Expr) *term { return b.of1(x, b.of) }

// of1 makes the term of an expression of a stream.
func (b *termBuilder) of1(x *stream.Expr, tm *template) *term {
	if t := b.done[x]; t != nil {
		return t
	}
	t := b.make(x, tm)
	t.id = b.ids
	b.ids++
	b.done[x] = t
	return t
}

func (b *termBuilder) make(x *stream.Expr, tm *template) *term {
	p := b.p
	switch x.Kind {
	case stream.ElemExpr:
		if tm != b.of {
			return b.fail()
		}
		return &term{kind: ownTerm}
	case stream.ConstExpr:
		return &term{kind: constTerm, value: x.Bits}
	case stream.RefExpr:
		return b.ref(x.Name)
	}
	t := &term{kind: applyTerm, op: x.Op, typ: p.resultOf(x.Args[len(x.Args)-1], tm)}
	if x.Kind == stream.ConvertExpr {
		t.kind, t.to = convertTerm, x.Type
	}
	for _, arg := range x.Args {
		u := b.of1(arg, tm)
		t.args = append(t.args, u)
		t.depth = max(t.depth, u.depth)
	}
	if !(x.Kind == stream.ConvertExpr && free(x, t.typ)) {
		b.ops++
		t.cost = latencyNear(kindOf(x, t.typ))
		t.depth += t.cost
	}
	return t
}

// latencyNear is how long an operation takes in the contexts of a tile (table V of
// Near-Stream Computing).
func latencyNear(k uop.Kind) int {
	switch k {
	case uop.IntMul:
		return 3
	case uop.IntDiv, uop.FPDiv:
		return 12
	case uop.FPAdd, uop.FPMul, uop.FPFMA:
		return 2
	}
	return 1
}

func (b *termBuilder) ref(name string) *term {
	p := b.p
	slot := p.names[name]
	if v, ok := b.fixed[name]; ok {
		return &term{kind: constTerm, value: scalar.Value(v)}
	}
	if name == b.l.src.Var {
		return &term{kind: varTerm}
	}
	if at, ok := b.state[slot]; ok {
		return &term{kind: inTerm, in: at}
	}
	if int(slot) >= len(p.streams) || !p.within(p.streams[slot], b.l) {
		return &term{kind: slotTerm, slot: slot}
	}
	if r := b.l.rowOf(slot); r != nil {
		k := slices.Index(b.x.inputs, r.index)
		if k < 0 {
			k = len(b.x.inputs)
			b.x.inputs = append(b.x.inputs, r.index)
		}
		return &term{kind: inTerm, in: k}
	}
	if !slices.Contains(b.l.body, int(slot)) {
		return b.fail()
	}
	u := p.streams[slot]
	switch {
	case u == b.of && u.s.Kind == stream.Reduce:
		return &term{kind: ownTerm}
	case b.of.s != nil && b.of.s.Racy && u.s.Relaxed && u.s.If == nil && u.s.Array == b.of.s.Array && p.opt.Streams.Plan.Of(u.s) == p.opt.Streams.Plan.Of(b.of.s):
		b.own = true // a part of the update
		return &term{kind: ownTerm}
	case u.hoisted && b.l.inner && b.state == nil && u.s.Value == nil && u.array >= 0 && p.graph.Arrays[u.array].Scope != stream.Private:
		return b.hoisted(u, slot)
	case u.hoisted:
		return b.fail() // loaded in front of the loop, by the core
	case u.s.Kind == stream.Load && u.s.Value == nil && !u.s.Racy && (p.affine(u) || p.indirect(b.l, u) != nil):
		if b.of.array >= 0 && p.opt.Streams.Plan.Of(u.s) == p.opt.Streams.Plan.Of(b.of.s) && u.s.Array == b.of.s.Array {
			b.own = true
			return b.where(u, &term{kind: ownTerm})
		}
		mine := p.opt.Streams.Plan.Of(u.s)
		k := slices.IndexFunc(b.x.inputs, func(in int) bool { // loads of one element are one stream
			o := p.streams[in].s
			return o.Array == u.s.Array && p.opt.Streams.Plan.Of(o) == mine
		})
		if k < 0 {
			k = len(b.x.inputs)
			b.x.inputs = append(b.x.inputs, int(slot))
		}
		return b.where(u, &term{kind: inTerm, in: k})
	case u.s.Kind == stream.Reduce && u.s.Array == "" && !u.carried && u.s.If == nil && u.s.Value != nil:
		return b.of1(u.s.Value, u)
	}
	return b.fail()
}

// hoisted is an element that the loop does not change: the core loads it, and the configuration
// brings it. Where it changes from row to row of streams that go on through rows, it is an operand.
func (b *termBuilder) hoisted(u *template, slot int32) *term {
	if b.l.spread && b.p.rowwise(u, b.l) {
		k := slices.Index(b.x.inputs, int(slot))
		if k < 0 {
			k = len(b.x.inputs)
			b.x.inputs = append(b.x.inputs, int(slot))
		}
		return &term{kind: inTerm, in: k}
	}
	if !slices.Contains(b.x.hoisted, u) {
		b.x.hoisted = append(b.x.hoisted, u)
	}
	return &term{kind: slotTerm, slot: slot}
}

// rowwise reports whether an element that an innermost loop does not change is another one in each
// iteration of the loop around it.
func (p *Program) rowwise(u *template, l *loopInfo) bool {
	all := p.graph.Loops(u.s)
	return len(all) > 1 && l.src.Parallel == nil && slices.ContainsFunc(u.s.Index, func(x lattice.Expr) bool { return x.Coef(all[len(all)-2].Var) != 0 })
}

// where is the value of a load under its condition: it is 0 where nothing is loaded.
func (b *termBuilder) where(u *template, x *term) *term {
	if u.s.If == nil {
		return x
	}
	x.id = b.ids
	zero := &term{kind: constTerm, id: b.ids + 1}
	b.ids += 2
	c := b.of1(u.s.If, u)
	return &term{kind: applyTerm, op: scalar.Select, typ: u.typ, args: []*term{c, x, zero}, depth: c.depth}
}

// follows reports whether a term follows from an operand.
func (x *term) follows(in int) bool {
	return x.kind == inTerm && x.in == in || slices.ContainsFunc(x.args, func(arg *term) bool { return arg.follows(in) })
}

// function is a term with the values that the loop does not change: what the configuration
// brings to the bank.
type function struct {
	s     *nearStream
	slots map[int32]scalar.Value
	first int64
	step  int64
	mask  scalar.Value
	made  []scalar.Value
	known []bool
}

// bind makes the function of a stream for an instance of its loop.
func (t *thread) bind(s *nearStream, v int64, l *loopInfo) *function {
	f := &function{s: s, slots: map[int32]scalar.Value{}, first: v, step: l.src.Stride(), mask: s.tm.typ.Mask()}
	switch {
	case s.result != nil:
		f.mask = s.result.typ.Mask()
	case s.kind != se.Reduce:
		f.mask = t.p.graph.Arrays[s.tm.array].Type.Mask()
	}
	n := 0
	var walk func(x *term)
	walk = func(x *term) {
		n = max(n, x.id+1)
		if x.kind == slotTerm {
			f.slots[x.slot] = t.val[x.slot]
		}
		for _, arg := range x.args {
			walk(arg)
		}
	}
	walk(s.value)
	if s.cond != nil {
		walk(s.cond)
	}
	f.made, f.known = make([]scalar.Value, n), make([]bool, n)
	return f
}

// Eval implements se.Function.
func (f *function) Eval(own uint64, in []uint64, iteration int64) (v uint64, ok bool) {
	clear(f.known)
	if f.s.cond != nil && f.eval(f.s.cond, own, in, iteration) == 0 {
		return own, false
	}
	return f.eval(f.s.value, own, in, iteration) & f.mask, true
}

func (f *function) eval(x *term, own uint64, in []uint64, it int64) scalar.Value {
	if f.known[x.id] {
		return f.made[x.id]
	}
	var v scalar.Value
	switch x.kind {
	case constTerm:
		v = x.value
	case slotTerm:
		v = f.slots[x.slot]
	case varTerm:
		v = scalar.Value(f.first + it*f.step)
	case ownTerm:
		v = own
	case inTerm:
		v = in[x.in]
	case convertTerm:
		v = scalar.Convert(x.typ, x.to, f.eval(x.args[0], own, in, it))
	default:
		var args [3]scalar.Value
		for i, arg := range x.args {
			args[i] = f.eval(arg, own, in, it)
		}
		v = scalar.Eval(x.op, x.typ, args[:len(x.args)]...)
	}
	f.known[x.id], f.made[x.id] = true, v
	return v
}

// Ops implements se.Function.
func (f *function) Ops() int { return f.s.ops }

// Steps implements se.Function.
func (f *function) Steps() []se.Step { return f.s.steps() }

// steps are the operations of what a stream computes, each once. Those of a row are counted by
// SIMD registers: they are a chain.
func (s *nearStream) steps() []se.Step {
	if s.made != nil {
		return s.made
	}
	if s.row != nil {
		s.made = se.Chain(s.ops, s.depth)
		if len(s.made) > 0 {
			s.made[0].Own = s.kind == se.Reduce
		}
		return s.made
	}
	s.made = []se.Step{}
	type origin struct {
		steps []int // the operations that a term is, or that its operands are where it is free
		own   bool  // it is the value so far, too
	}
	from := map[*term]origin{}
	var walk func(x *term) origin
	walk = func(x *term) origin {
		if o, ok := from[x]; ok {
			return o
		}
		o := origin{own: x.kind == ownTerm}
		for _, arg := range x.args {
			a := walk(arg)
			o.steps, o.own = append(o.steps, a.steps...), o.own || a.own
		}
		if x.cost > 0 {
			s.made = append(s.made, se.Step{Latency: x.cost, Args: o.steps, Own: o.own && s.kind == se.Reduce})
			o = origin{steps: []int{len(s.made) - 1}}
		}
		from[x] = o
		return o
	}
	for _, x := range []*term{s.cond, s.value} {
		if x != nil {
			walk(x)
		}
	}
	return s.made
}

// Latency implements se.Function.
func (f *function) Latency() int { return f.s.depth }

// PE implements se.Function.
func (f *function) PE() int {
	s := f.s
	switch {
	case s.ops <= 1 && s.depth <= 3:
		return 1
	case s.row == nil && s.ops <= nearstream.PEOperations && !slices.ContainsFunc(s.steps(), func(x se.Step) bool { return x.Latency > 1 }):
		return s.ops
	}
	return 0
}
