package micro

import (
	"slices"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
)

// indirect finds the address of an access as a function of the elements of an affine load of
// the same loop, and whether the access is made, as far as that is known there; nil if
// it is not like that, or its elements fit into the caches of the core.
func (p *Program) indirect(l *loopInfo, tm *template) *nearStream {
	plan := p.opt.Streams.Plan.Of(tm.s)
	if plan == nil || plan.Address != nearstream.Indirect || plan.Base == nil || tm.array < 0 || tm.hoisted || p.graph.Arrays[tm.array].Scope == stream.Private {
		return nil
	}
	base := slices.IndexFunc(l.body, func(i int) bool { return slices.Contains(plan.Base.Parts, p.streams[i].s) })
	if base < 0 {
		return nil
	}
	of := p.streams[l.body[base]]
	if of.s.Kind != stream.Load || of.s.Value != nil || of.s.If != nil || of.s.Racy || of.hoisted || !p.affine(of) || p.reach(tm, l) <= p.opt.Streams.Private {
		return nil
	}
	for _, i := range l.body { // what addresses follow from is the same whenever it is read
		if o := p.streams[i].s; (o.Kind == stream.Store || o.Kind == stream.RMW) && p.together(o.Array, of.s.Array) {
			return nil
		}
	}
	x := &nearStream{name: tm.s.Name, tm: tm, index: l.body[base], inputs: []int{l.body[base]}}
	b := &termBuilder{p: p, l: l, of: tm, x: x, done: map[*stream.Expr]*term{}}
	x.value = b.element(tm)
	if b.failed || b.own || len(x.inputs) != 1 {
		return nil
	}
	if tm.s.If == nil {
		return x
	}
	ids := b.ids
	if c := b.expr(tm.s.If); !b.failed && !b.own && len(x.inputs) == 1 {
		x.cond = c
		return x
	}
	x.inputs, b.ids = x.inputs[:1], ids
	if tm.s.Kind == stream.Load { // it must be known where the address is
		return nil
	}
	return x
}

// takes reports whether a computation has an operand.
func (x *term) takes() bool {
	return x != nil && (x.kind == inTerm || slices.ContainsFunc(x.args, (*term).takes))
}

// reach is how many bytes the elements lie in that an indirect access may take.
func (p *Program) reach(tm *template, l *loopInfo) int64 {
	n, all := int64(tm.bytes), int64(tm.bytes)
	for d, x := range tm.s.Index {
		size, err := p.graph.Arrays[tm.array].Size[d].Eval(p.args.Symbols)
		if err != nil {
			return 0
		}
		all *= size
		if slices.ContainsFunc(x.Symbols(), func(name string) bool {
			slot := p.names[name]
			return int(slot) < len(p.streams) && slices.Contains(l.body, int(slot))
		}) {
			n = all
		}
	}
	return n
}

// element makes the number of the element of an access.
func (b *termBuilder) element(tm *template) *term {
	p := b.p
	a := &p.graph.Arrays[tm.array]
	integer := func(op scalar.Op, args ...*term) *term {
		t := &term{kind: applyTerm, op: op, typ: scalar.Int64, args: args, id: b.ids}
		b.ids++
		return t
	}
	number := func(v int64) *term {
		t := &term{kind: constTerm, value: scalar.Value(v), id: b.ids}
		b.ids++
		return t
	}
	sum, size := number(0), int64(1)
	for d, x := range tm.s.Index {
		at := number(x.Offset())
		for _, name := range x.Symbols() {
			v := b.ref(name)
			if v.id == 0 { // a name that stands for itself
				v.id = b.ids
				b.ids++
			}
			from := scalar.Int64
			if slot := p.names[name]; int(slot) < len(p.streams) {
				from = p.streams[slot].typ
			} else if q := p.graph.Param(name); q != nil {
				from = q.Type
			}
			wide := &term{kind: convertTerm, typ: from, to: scalar.Int64, args: []*term{v}, id: b.ids}
			b.ids++
			at = integer(scalar.Add, at, integer(scalar.Mul, number(x.Coef(name)), wide))
		}
		sum = integer(scalar.Add, sum, integer(scalar.Mul, number(size), at))
		n, err := a.Size[d].Eval(p.args.Symbols)
		if err != nil {
			return b.fail()
		}
		size *= n
	}
	return sum
}

// indirectSink makes a stream of an indirect store or update.
func (p *Program) indirectSink(l *loopInfo, x *nearStream) *nearStream {
	s := x.tm.s
	switch s.Kind {
	case stream.Store:
		x.kind = se.Store
	case stream.RMW:
		x.kind = se.Update
	default:
		return nil
	}
	if x.where = p.indirect(l, x.tm); x.where == nil {
		return nil
	}
	x.inputs = []int{x.where.index}
	b := &termBuilder{p: p, l: l, of: x.tm, x: x, done: map[*stream.Expr]*term{}}
	x.value = b.expr(s.Value)
	if s.If != nil && x.where.cond == nil {
		x.cond = b.expr(s.If)
	}
	if b.failed || !p.members(x) {
		return nil
	}
	if b.own {
		x.kind = se.Update
	}
	x.ops, x.depth, x.old = b.ops, x.value.depth, s.Old
	return x
}

// places is where elements of an array lie, as a function.
type places struct {
	function
	a   *placed
	own uint64 // of the thread
}

// Eval implements se.Function.
func (f *places) Eval(own uint64, in []uint64, iteration int64) (addr uint64, ok bool) {
	v, ok := f.function.Eval(own, in, iteration)
	return f.a.address(int64(v)) + f.own, ok
}

// addresses makes the function of an indirect stream's addresses for an instance of its loop.
func (t *thread) addresses(s *nearStream, v int64, l *loopInfo) se.Function {
	f := t.bind(s.where, v, l)
	f.mask = ^scalar.Value(0)
	a := &t.p.arrays[s.tm.array]
	return &places{*f, a, uint64(t.id) * a.own}
}

// follow lets the memory of the threads follow that of the machine where the order of updates
// among threads is the machine's; nil elsewhere.
func (t *thread) follow(s *nearStream) func(addr, v uint64) {
	if !s.tm.s.Racy {
		return nil
	}
	a, data := &t.p.arrays[s.tm.array], t.p.memory[s.tm.s.Array]
	return func(addr, v uint64) {
		at := addr - a.base
		elem := at / a.stride
		if a.inner != 0 {
			elem = elem*a.inner + at%a.stride/uint64(a.bytes)
		}
		if elem < uint64(len(data)) { // else it is found when memories are compared
			data[elem] = v
		}
	}
}

// elsewhere takes the step of an update that a stream makes in the time of the machine: what
// the cursor does to the element is taken back.
func (t *thread) elsewhere(tm *template, asked *stream.Event) error {
	if s := t.near; s.ordered {
		t.marks = append(t.marks, mark{at: len(t.out.Ops), fate: redone, group: s.group, iter: s.done, redo: &redo{tm, *asked}})
	}
	data := t.p.memory[tm.s.Array]
	old := data[asked.Elem]
	t.cursor.Answer(asked, old)
	if err := t.settled(tm); err != nil {
		return err
	}
	data[asked.Elem] = old
	return nil
}

// members takes what an indirect sink takes beside the first operand as members of the same
// structure, which come with it in the request; false if they are none.
func (p *Program) members(x *nearStream) bool {
	first := p.streams[x.inputs[0]]
	a := &p.arrays[first.array]
	for _, in := range x.inputs[1:] {
		tm := p.streams[in]
		b := &p.arrays[tm.array]
		same := slices.EqualFunc(tm.s.Index, first.s.Index, func(x, y lattice.Expr) bool { return x.String() == y.String() })
		if !same || !p.together(tm.s.Array, first.s.Array) || tm.s.If != nil || tm.bytes != first.bytes || a.inner != 1 || b.inner != 1 || lineBytes%a.stride != 0 {
			return false
		}
		x.fields = append(x.fields, int(b.base)-int(a.base))
	}
	x.inputs = x.inputs[:1]
	return true
}
