package micro

import (
	"slices"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/uop"
)

// closures adds values that loads compute and send to the core in place of their elements
// (section III.B, load).
func (p *Program) closures(l *loopInfo, sinks map[*stream.Stream]*nearStream) {
	needed := p.needed(l, sinks)
	for _, i := range l.body {
		tm := p.streams[i]
		s := tm.s
		plan := p.opt.Streams.Plan.Of(s)
		if s.Kind != stream.Reduce || s.Array != "" || tm.carried || tm.lazy || s.If != nil || s.Value == nil || sinks[s] != nil || !needed[s.Name] ||
			plan == nil || plan.Kind != stream.Load || plan.Place != nearstream.Near || plan.Address != nearstream.Affine && plan.Address != nearstream.Indirect {
			continue
		}
		x := &nearStream{name: s.Name, kind: se.Load, index: i, result: tm, toCore: true, config: plan.ConfigBytes(p.opt.Streams.Plan), varies: plan.ValueBytes()}
		for _, j := range l.body {
			if u := p.streams[j]; u.s == plan.Parts[0] {
				x.tm = u
			}
		}
		if x.tm == nil || x.tm.s.If != nil || x.tm.hoisted {
			continue
		}
		if plan.Address == nearstream.Indirect { // its request brings what its address follows from
			if x.where = p.indirect(l, x.tm); x.where == nil || p.opt.Streams.Rival != NoRival {
				continue
			}
			x.inputs = []int{x.where.index}
		} else if !p.affine(x.tm) {
			continue
		}
		b := &termBuilder{p: p, l: l, of: x.tm, x: x, done: map[*stream.Expr]*term{}}
		x.value = b.of1(s.Value, tm)
		if b.failed || !b.own || len(x.inputs) > nearstream.MaxInputs || x.where != nil && len(x.inputs) > 1 || tm.typ.Bytes() >= x.tm.bytes {
			continue
		}
		x.ops, x.depth = b.ops, x.value.depth
		sinks[s] = x
	}
}

// closure makes the load of a value that a stream has computed; none if the core computes it.
func (t *thread) closure(tm *template, lanes int, value func(lane int) scalar.Value) bool {
	s := t.near
	if s == nil || len(s.l.closures) == 0 {
		return false
	}
	k, ok := s.l.closures[tm.s]
	if !ok {
		return false
	}
	w := 0
	if lanes > 1 {
		w = 1
	}
	x := s.l.streams[k].load[w]
	if s.ordered { // what the core does if streams end before their time
		from := len(t.out.Ops)
		if lanes > 1 {
			t.out.Ops = append(t.out.Ops, tm.many.ops...)
		} else {
			t.value(tm.one.value)
		}
		s.computed = append(s.computed, slices.Clone(t.out.Ops[from:]))
		t.out.Ops = t.out.Ops[:from]
	}
	bytes := tm.typ.Bytes()
	x.Kind, x.Lanes, x.Size, x.Data, x.Addr = uop.Load, uint8(lanes), uint16(lanes*bytes), uint32(len(t.out.Data)), se.Window // its place is found with its iteration
	for i := range lanes {
		at := len(t.out.Data)
		t.out.Data = append(t.out.Data, 0, 0, 0, 0, 0, 0, 0, 0)[:at+bytes]
		put(t.out.Data[at:], value(i), bytes)
	}
	t.out.Ops = append(t.out.Ops, x)
	return true
}
