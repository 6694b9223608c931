package micro

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/uop"
)

// Atomic updates at the L3 whose old value the core takes: the thread goes on with what the
// engine has, or waits for it. Its own memory follows that of the machine when the bank
// writes, not before.

// runs reports whether a loop may have streams: loops that have others inside only where
// streams configure those, or they are reached under a condition, as what seldom comes.
func (p *Program) runs(l *loopInfo) bool {
	if l.inner || len(l.rowsInside) > 0 {
		return true
	}
	if l.src.Open || l.src.While != nil || l.src.Parallel != nil {
		return false
	}
	inside := false
	for _, o := range p.loops {
		if o == l || len(o.body) == 0 || !slices.Contains(p.graph.Loops(p.streams[o.body[0]].s), l.src) {
			continue
		}
		inside = true
		if !p.seldom(o, l) {
			return false
		}
	}
	return inside
}

// seldom reports whether a loop inside of another one has iterations under a condition only:
// their number is a value of that one which is chosen, and may be none.
func (p *Program) seldom(o, l *loopInfo) bool {
	for _, name := range o.src.Range.Hi.Symbols() {
		slot := int(p.names[name])
		if slot >= len(p.streams) || !slices.Contains(l.body, slot) {
			continue
		}
		if x := p.streams[slot].s.Value; x != nil && x.Kind == stream.ApplyExpr && x.Op == scalar.Select && x.Args[2].Kind == stream.ConstExpr && x.Args[2].Bits == 0 {
			return true
		}
	}
	return false
}

// inside lists the streams of a loop and of those in it.
func (p *Program) inside(l *loopInfo) []int {
	if l.inner {
		return l.body
	}
	var list []int
	for i, tm := range p.streams {
		if p.within(tm, l) {
			list = append(list, i)
		}
	}
	return list
}

// takes notes which accesses of a loop an update makes whose old value the core takes.
func (p *Program) takes(near *nearLoop, x *nearStream, at int) {
	near.asks = make([]bool, len(p.streams))
	for _, i := range near.info.body {
		if s := p.streams[i].s; p.opt.Streams.Plan.Of(s) == p.opt.Streams.Plan.Of(x.tm.s) {
			near.atomics[s] = at
			near.asks[i] = s.Relaxed
		}
	}
}

// takesBy reports whether a micro-op takes the old value of an update.
func (l *nearLoop) takesBy(pc uint32) bool {
	return len(l.atomics) > 0 && slices.ContainsFunc(l.streams, func(x nearStream) bool { return x.old && x.load[0].PC == pc })
}

// taken takes what an update at the L3 has found, in the place of an access of the core; false
// if there is none.
func (t *thread) taken(tm *template, asked *stream.Event) (bool, error) {
	s := t.near
	if s == nil {
		s = t.left
	}
	if s == nil {
		return false, nil
	}
	k, ok := s.l.atomics[tm.s]
	if !ok {
		return false, nil
	}
	if s.asked == s.done { // the other access of it
		return true, t.finds(tm, asked, s.found)
	}
	if s != t.near {
		return false, nil
	}
	x := s.l.streams[k].load[0]
	x.Kind, x.Lanes, x.Size, x.Dst = uop.Load, 1, uint16(tm.bytes), tm.one.access.Dst
	x.Data = uint32(len(t.out.Data))
	x.Addr = se.Element(s.group, k, s.steps)
	t.out.Data = append(t.out.Data, 0, 0, 0, 0, 0, 0, 0, 0)[:len(t.out.Data)+tm.bytes]
	i := s.done
	if old, ok := s.g.Known(k, i); ok {
		put(t.out.Data[x.Data:], old, tm.bytes)
		t.out.Ops = append(t.out.Ops, x)
		s.asked, s.found = i, old
		return true, t.finds(tm, asked, old)
	}
	x.Flags |= uop.Blocking | uop.Racy
	t.out.Ops = append(t.out.Ops, x)
	t.waits(s, func(old []byte) error {
		s.g.Took(k, i)
		s.asked, s.found = i, word(old)
		return t.finds(tm, asked, s.found)
	}, func() error { return t.ask(asked) })
	return true, nil
}

// finds goes on with what an access has found. What it writes is in the memory of the threads
// when the bank has written it.
func (t *thread) finds(tm *template, asked *stream.Event, old scalar.Value) error {
	at := &t.p.memory[tm.s.Array][asked.Elem]
	now := *at
	t.cursor.Answer(asked, old)
	if err := t.settled(tm); err != nil {
		return err
	}
	*at = now
	return nil
}

// waits lets the thread wait for what streams of a loop have. If they end before, it does
// something else instead.
func (t *thread) waits(s *nearState, f func([]byte) error, instead func() error) {
	t.wait = f
	if s.ordered {
		t.instead, t.insteadOf = instead, s.group
	}
}

// goesOn makes the micro-ops that come next.
func (t *thread) goesOn() error {
	if len(t.parts) > 0 {
		x := &t.parts[0]
		if len(x.out.Ops) > 0 {
			t.out, t.marks, t.wait, t.makes, t.instead = x.out, x.marks, x.wait, x.makes, x.instead
			x.out, x.marks, x.wait, x.makes, x.instead = uop.Batch{}, nil, nil, nil, nil
			return nil
		}
		then := x.then
		t.parts = t.parts[1:]
		if then == nil {
			return nil
		}
		return then()
	}
	if f := t.redo; f != nil {
		t.redo = nil
		return f()
	}
	return t.step()
}
