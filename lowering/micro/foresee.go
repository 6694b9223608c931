package micro

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/uop"
)

// Loops whose updates the core takes old values of are configured some iterations of the loop
// around ahead, as by software pipelining: the core cannot come to the next instance before it
// has the old values of the one at hand. Where an instance begins, how long it is, and what does
// not change in it follow from variables and from memory that nothing in the loop around
// writes (section III.A, nest), so that it is the same when it is read ahead.

// foresight is what instances of a loop follow from that changes in the loop around it.
type foresight struct {
	around *loopInfo
	slot   int32 // of its variable
	deps   []foreseen
	count  uop.Op // the iteration that is looked at
	branch uop.Op // whether there is one
	nested uop.Op // whether the loop has iterations there
}

// foreseen is a value that is made ahead.
type foreseen struct {
	index int // of the template
	ops   []uop.Op
}

// foresee finds what instances of a loop follow from in the iterations of the loop around it;
// nil if they cannot be known ahead.
func (p *Program) foresee(near *nearLoop, o *stream.Loop) *foresight {
	l := near.info
	k := slices.IndexFunc(p.loops, func(x *loopInfo) bool { return x.src == o })
	if o.Open || o.While != nil || l.src.Open || l.src.While != nil || l.lanes != 1 || p.opt.Units.has(l.src) {
		return nil
	}
	q := &foresight{around: p.loops[k], slot: p.names[o.Var]}
	reg, err := p.reg()
	if err != nil {
		return nil
	}
	q.count = uop.Op{PC: p.pc(), Kind: uop.IntALU, Lanes: 1, Dst: reg, Src: [3]uop.Reg{reg}}
	q.branch = uop.Op{PC: p.pc(), Kind: uop.Branch, Lanes: 1, Src: [3]uop.Reg{reg}}
	q.nested = uop.Op{PC: p.pc(), Kind: uop.Branch, Lanes: 1, Src: [3]uop.Reg{reg}}
	names := append(l.src.Range.Lo.Symbols(), l.src.Range.Hi.Symbols()...)
	for i := range near.streams {
		s := &near.streams[i]
		if s.where == nil {
			for _, x := range s.tm.s.Index {
				names = append(names, x.Symbols()...)
			}
		}
		names = s.names(p, names)
		if s.where != nil {
			names = s.where.names(p, names)
		}
	}
	for _, name := range names {
		if name != l.src.Var && !p.foreseen(q, name) {
			return nil
		}
	}
	return q
}

// names adds those of the values that a stream's computation takes.
func (s *nearStream) names(p *Program, list []string) []string {
	var walk func(x *term)
	walk = func(x *term) {
		if x == nil {
			return
		}
		if x.kind == slotTerm {
			for name, slot := range p.names {
				if slot == x.slot {
					list = append(list, name)
				}
			}
		}
		for _, y := range x.args {
			walk(y)
		}
	}
	walk(s.value)
	walk(s.cond)
	return list
}

// foreseen adds a value, and those that it follows from, to what is made ahead; false if it is not
// known there.
func (p *Program) foreseen(q *foresight, name string) bool {
	slot := int(p.names[name])
	if slot >= len(p.streams) || !p.within(p.streams[slot], q.around) || q.find(slot) != nil {
		return true
	}
	tm := p.streams[slot]
	s := tm.s
	if s.If != nil || s.Racy || s.Old || tm.carried || !slices.Contains(q.around.body, slot) {
		return false
	}
	switch {
	case s.Kind == stream.Load && tm.array >= 0 && p.graph.Arrays[tm.array].Scope != stream.Private && (s.Value == nil || tm.one.value != nil):
	case s.Kind == stream.Reduce && s.Array == "" && s.Value != nil && tm.one.value != nil:
	default:
		return false
	}
	ok := true
	p.graph.Walk(func(in []*stream.Loop, x *stream.Stream) {
		if s.Array != "" && slices.Contains(in, q.around.src) && (x.Kind == stream.Store || x.Kind == stream.RMW || x.Racy) && p.together(x.Array, s.Array) {
			ok = false
		}
	})
	from := map[string]uop.Reg{}
	take := func(name string) {
		if ok = ok && p.foreseen(q, name); !ok {
			return
		}
		if name == q.around.src.Var {
			from[name] = q.count.Dst
		} else if d := q.find(int(p.names[name])); d != nil {
			from[name] = d.ops[len(d.ops)-1].Dst
		}
	}
	for _, x := range s.Index {
		for _, name := range x.Symbols() {
			take(name)
		}
	}
	s.Value.Walk(func(x *stream.Expr) {
		if x.Kind == stream.RefExpr {
			take(x.Name)
		}
		ok = ok && (x.Kind != stream.ElemExpr || s.Array != "")
	})
	reg, err := p.reg()
	if !ok || err != nil {
		return false
	}
	d := foreseen{index: slot}
	if s.Kind == stream.Load {
		o := tm.one.access
		o.PC, o.Dst, o.Src = p.pc(), reg, [3]uop.Reg{}
		for _, x := range s.Index {
			for _, name := range x.Symbols() {
				if r := from[name]; r != 0 {
					o.Src[0] = r
				}
			}
		}
		d.ops = append(d.ops, o)
	}
	s.Value.Walk(func(x *stream.Expr) { // one after the other
		if x.Kind != stream.ApplyExpr && x.Kind != stream.ConvertExpr {
			return
		}
		t := p.resultOf(x.Args[len(x.Args)-1], tm)
		if x.Kind == stream.ConvertExpr && free(x, t) {
			return
		}
		o := uop.Op{PC: p.pc(), Kind: kindOf(x, t), Lanes: 1, Dst: reg}
		if len(d.ops) > 0 {
			o.Src[0] = reg
		}
		for _, arg := range x.Args {
			if r := from[arg.Name]; arg.Kind == stream.RefExpr && r != 0 {
				o.Src[1] = r
			}
		}
		d.ops = append(d.ops, o)
	})
	if len(d.ops) == 0 { // a copy
		o := uop.Op{PC: p.pc(), Kind: uop.IntALU, Lanes: 1, Dst: reg}
		for _, r := range from {
			o.Src[0] = r
		}
		d.ops = append(d.ops, o)
	}
	q.deps = append(q.deps, d)
	return true
}

// find finds a value that is made ahead, nil if it is none.
func (q *foresight) find(slot int) *foreseen {
	for i := range q.deps {
		if q.deps[i].index == slot {
			return &q.deps[i]
		}
	}
	return nil
}

// planned is an instance that is configured and that the thread has not come to.
type planned struct {
	s      *nearState
	it     int64 // of the loop around
	v      int64
	values []scalar.Value // of what it follows from
	late   bool           // it begins when the thread comes to it
}

// farthest is how many instances of a loop are configured ahead: there are places for the one at
// hand, and one that ends.
func farthest(l *nearLoop) int {
	return max(1, min(maxInstances, nearstream.MaxStreams/len(l.streams))-2)
}

// lookAhead configures instances of a loop that the thread will come to.
func (t *thread) lookAhead(l *nearLoop, id int) {
	q := l.sight
	if t.single || len(t.depth) < 2 || t.depth[len(t.depth)-2].info != q.around || t.p.keeps() || t.counts[id].aliased > 0 || len(t.planned) > 0 && t.planned[0].late {
		return
	}
	o := t.depth[len(t.depth)-2]
	src := q.around.src
	kept := make([]scalar.Value, 0, 1+len(q.deps))
	kept = append(kept, t.val[q.slot])
	for _, d := range q.deps {
		kept = append(kept, t.val[d.index])
	}
	first := t.firstOf(q.around)
	t.sighted = max(t.sighted, (int64(kept[0])-first)/src.Stride()+1)
	near, elem := t.near, t.elem
	for known := true; known && len(t.planned) < farthest(l); {
		t.out.Ops = append(t.out.Ops, q.count)
		b := q.branch
		if t.sighted >= o.end {
			t.out.Ops = append(t.out.Ops, b)
			break
		}
		b.Flags |= uop.Taken
		t.out.Ops = append(t.out.Ops, b)
		it := t.sighted
		t.sighted++
		t.val[q.slot] = scalar.Value(first + it*src.Stride())
		for k := range q.deps {
			if known = t.ahead(q, &q.deps[k]); !known {
				break
			}
		}
		if !known {
			break
		}
		n, v := t.instance(l)
		b = q.nested
		if n > 0 {
			b.Flags |= uop.Taken
		}
		t.out.Ops = append(t.out.Ops, b)
		if n == 0 {
			continue
		}
		if !t.inside(l, v, v+(n-1)*l.info.src.Stride()) { // it stays in the core, and those behind it come later
			t.sighted--
			break
		}
		x := &planned{s: t.instanceOf(l, id, n, v), it: it, v: v}
		t.counts[id].ahead++
		for _, d := range q.deps {
			x.values = append(x.values, t.val[d.index])
		}
		t.near = x.s
		if x.s.ordered {
			t.ordered()
			t.remember() // what it begins with, if it ends before the thread comes to it
		}
		t.begins(l, func(slot int32) uop.Reg {
			if d := q.find(int(slot)); d != nil {
				return d.ops[len(d.ops)-1].Dst
			}
			return t.register(slot)
		})
		t.near = near
		t.planned = append(t.planned, x)
	}
	t.near, t.elem = near, elem
	t.val[q.slot] = kept[0]
	for k, d := range q.deps {
		t.val[d.index] = kept[k+1]
	}
}

// ahead makes a value of the iteration that is looked at; false if that has no such element.
func (t *thread) ahead(q *foresight, d *foreseen) bool {
	tm := t.p.streams[d.index]
	ops := d.ops
	if tm.s.Kind == stream.Load {
		data := t.p.memory[tm.s.Array]
		elem := t.elementOf(tm, q.around, int64(t.val[q.slot]))
		if elem < 0 || elem >= int64(len(data)) {
			return false
		}
		t.elem = data[elem]
		t.access(ops[0], tm, elem, t.elem)
		ops = ops[1:]
		t.val[d.index] = t.elem
	}
	if tm.s.Value != nil {
		t.val[d.index] = t.eval(tm.one.value)
	}
	t.out.Ops = append(t.out.Ops, ops...)
	return true
}

// instance is how many iterations a loop has, from which value of its variable on.
func (t *thread) instance(l *nearLoop) (n, v int64) {
	src := l.info.src
	bound := func(at int64, names []string, coef func(string) int64) int64 {
		for _, name := range names {
			at += coef(name) * t.number(name, l.info, 0)
		}
		return at
	}
	lo := bound(src.Range.Lo.Offset(), src.Range.Lo.Symbols(), src.Range.Lo.Coef)
	hi := bound(src.Range.Hi.Offset(), src.Range.Hi.Symbols(), src.Range.Hi.Coef)
	step := max(src.Stride(), -src.Stride())
	return max(0, (hi-lo+step-1)/step), t.firstOf(l.info)
}

// register is the register of a value.
func (t *thread) register(slot int32) uop.Reg {
	if int(slot) < len(t.cur) {
		return t.cur[slot]
	}
	return 0
}

// arrive takes the instance that was configured ahead for the iteration at hand; nil if there is
// none.
func (t *thread) arrive(l *nearLoop, n, v int64) (*nearState, error) {
	q := l.sight
	if len(t.planned) == 0 || t.lately != l {
		return nil, nil
	}
	it := (int64(t.val[q.slot]) - t.firstOf(q.around)) / q.around.src.Stride()
	x := t.planned[0]
	if x.it > it {
		return nil, nil
	}
	same := x.it == it && x.v == v && x.s.n == n
	for k, d := range q.deps {
		same = same && x.values[k] == t.val[d.index]
	}
	if !same {
		return nil, fmt.Errorf("micro: thread %d comes to an instance of the loop over %s of %d iterations from %d in iteration %d, and has configured one of %d from %d in iteration %d", t.id, l.info.src.Var, n, v, it, x.s.n, x.v, x.it)
	}
	t.planned = t.planned[1:]
	t.near = x.s
	if x.late {
		t.fence(l)
		t.begins(l, t.register)
	}
	return x.s, nil
}

// instanceOf makes the streams of one instance of a loop.
func (t *thread) instanceOf(l *nearLoop, id int, n, v int64) *nearState {
	g := t.configure(l, id, n, v, through{rows: 1})
	t.counts[id].configured++
	t.groups = append(t.groups, g)
	t.made++
	return &nearState{id: id, l: l, n: g.N, rows: 1, offload: true, group: t.made, ordered: !l.free, g: g, asked: -1}
}

// underWay reports whether there are instances of a loop that may not have ended, or which the
// thread has not come to.
func (t *thread) underWay() bool { return len(t.unfinished)+len(t.planned) > 0 }

// postpone lets instances of which streams have not begun begin when the thread comes to them:
// those in front have ended before their time, and what these do not update the core does.
func (t *thread) postpone(ended map[uint32]*se.RestoredLoop) {
	if t.near != nil && t.near.l.sight != nil && ended[t.near.group] == nil {
		return // nor has the one at hand
	}
	clear(t.clean) // the core accesses what streams do
	late := t.near != nil && ended[t.near.group] != nil
	t.planned = slices.DeleteFunc(t.planned, func(x *planned) bool {
		late = late || ended[x.s.group] != nil
		x.late = x.late || late
		return ended[x.s.group] != nil
	})
	if len(t.planned) == 0 {
		t.sighted = 0 // instances that have ended may be configured again
	}
}

// postponed reports whether a micro-op begins an instance that begins later.
func (t *thread) postponed(m *mark) bool {
	return m.fate == extra && slices.ContainsFunc(t.planned, func(x *planned) bool { return x.late && x.s.group == m.group })
}
