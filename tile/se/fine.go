package se

import (
	"encoding/binary"
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

// The rival that computes iteration by iteration, as Omni-Compute does (sections II.C and VI):
// for each of its iterations the core sends what is to be computed to the bank where operands
// and result meet with the least way; that one fetches operands, computes, and sends the
// result to the bank of its address. There are no streams at banks. An indirect store or update
// is a task for the bank of its element; Livia, too, sends those one by one.

// offload sends one iteration of the core of a stream that writes, by lines of the result.
func (a *active) offload(sid int, first, end int64) {
	g := a.g
	for i := first; i < end; {
		_, last := g.chunk(sid, i)
		last = min(last, end)
		a.send(Message{Kind: MsgOffload, To: a.meet(sid, i), Stream: sid, First: i, End: last, head: &head{core: a.c.id, sid: sid, g: g}})
		i = last
	}
}

// tasks is what the core has loaded for the tasks of a stream, and the last iteration that each
// bank got.
type tasks struct {
	loaded []uint64
	bytes  int // of an element
	issued map[int]int64
}

// note keeps what the core loads for tasks; data is that of the micro-op, which commits.
func (c *Core) note(op *uop.Op, data []byte) {
	for _, a := range c.loops {
		if !a.g.Fine || a.committed == a.g.N {
			continue
		}
		for sid := range a.g.Streams {
			if s := &a.g.Streams[sid]; s.Task && (s.PC[0] == op.PC || s.PC[1] == op.PC) {
				a.noteOf(sid, op, data)
			}
		}
		return
	}
}

func (a *active) noteOf(sid int, op *uop.Op, data []byte) {
	t := a.tasks[sid]
	if t == nil {
		t = &tasks{issued: map[int]int64{}}
		a.tasks[sid] = t
	}
	n := max(1, int(op.Lanes))
	if op.Kind.Lanes() {
		data = data[8*n:]
	}
	t.bytes, t.loaded = len(data)/n, t.loaded[:0]
	for i := range n {
		var v [8]byte
		copy(v[:], data[i*t.bytes:(i+1)*t.bytes])
		t.loaded = append(t.loaded, binary.LittleEndian.Uint64(v[:]))
	}
}

// task sends what is to be done to elements of an indirect stream, each to its bank, where
// tasks are taken in their order.
func (a *active) task(sid int, first, end int64) {
	c, s, t := a.c, &a.g.Streams[sid], a.tasks[sid]
	if t == nil || int64(len(t.loaded)) != end-first {
		c.fail(fmt.Errorf("se: core %d: tasks of stream %s without what their addresses follow from", c.id, s.Name))
		return
	}
	for i := first; i < end; i++ {
		v := t.loaded[i-first : i-first+1]
		addr, ok := s.At.Eval(0, v, i)
		if !ok {
			a.finished(sid, i, i+1)
			continue
		}
		to := c.bankOf(addr / mem.LineBytes)
		m := Message{Kind: MsgOffload, To: to, Stream: sid, First: i, End: i + 1, Low: addr, Last: -1, head: &head{core: c.id, sid: sid, g: a.g}, bytes: t.bytes}
		if len(s.Inputs) > 0 {
			m.Values = []uint64{v[0]}
		}
		if last, ok := t.issued[to]; ok {
			m.Last = last
		}
		t.issued[to] = i
		a.send(m)
	}
}

// meet is the bank with the least way from those of operands, and to that of the result.
func (a *active) meet(sid int, i int64) int {
	g, c := a.g, a.c
	to := c.bankOf(g.line(sid, i))
	if c.spec.Distance == nil {
		return to
	}
	var from []int
	for _, in := range g.Streams[sid].Inputs {
		from = append(from, c.bankOf(g.line(in, i)))
	}
	if g.Streams[sid].Kind == Update {
		from = append(from, to)
	}
	best, least := to, -1
	for bank := range c.spec.Banks {
		way := c.spec.Distance(bank, to)
		for _, x := range from {
			way += c.spec.Distance(x, bank)
		}
		if least < 0 || way < least || way == least && bank == to {
			best, least = bank, way
		}
	}
	return best
}

// gather takes an iteration to compute, and fetches its operands.
func (b *Bank) gather(now event.Time, k key, m *Message) {
	g := m.head.g
	s := &g.Streams[m.Stream]
	n := int(m.End - m.First)
	p := part{k, m.First}
	x := b.newSlot(p, g, m.End)
	x.armed = true
	for _, in := range s.Inputs {
		b.fetch(m, in)
	}
	if s.Kind == Update {
		x.own = b.values(n)
		x.missing += n
		b.fetch(m, m.Stream)
	}
	b.compute(now, p, x)
}

// fetch asks for elements of a stream.
func (b *Bank) fetch(m *Message, from int) {
	g := m.head.g
	for i := m.First; i < m.End; {
		_, last := g.chunk(from, i)
		last = min(last, m.End)
		b.emit(Message{Kind: MsgFetch, From: b.bank, To: b.bankOf(g.line(from, i)), Core: m.Core, Group: m.Group, Stream: m.Stream, First: i, End: last, Last: m.First, from: from, head: m.head})
		i = last
	}
}

// fetched reads the elements that another bank computes with.
func (b *Bank) fetched(m *Message) {
	g := m.head.g
	s := &g.Streams[m.from]
	b.here(g, m.from, m.First)
	b.Counters.Reads++
	b.agent.read(g.line(m.from, m.First), func(_ event.Time, data *mem.Bytes) {
		values := b.values(int(m.End - m.First))
		for i := range values {
			values[i] = word(data, g.address(m.from, m.First+int64(i)), s.Bytes)
		}
		b.emit(Message{Kind: MsgForward, From: b.bank, To: m.From, Core: m.Core, Group: m.Group, Stream: m.Stream, First: m.First, End: m.End, Last: m.Last, from: m.from, head: m.head, Values: values, bytes: s.Bytes})
	})
}

// met takes elements that were fetched.
func (b *Bank) met(now event.Time, k key, m *Message) {
	p := part{k, m.Last}
	x, _ := b.slots.get(p)
	if x == nil {
		b.fail(fmt.Errorf("se: bank %d: elements of an iteration that is not computed here", b.bank))
		return
	}
	for n, in := range m.head.g.Streams[m.Stream].Inputs {
		if in == m.from {
			copy(x.in(n)[m.First-p.first:], m.Values)
			x.missing -= len(m.Values)
		}
	}
	if m.from == m.Stream {
		copy(x.own[m.First-p.first:], m.Values)
		x.missing -= len(m.Values)
	}
	b.compute(now, p, x)
}

// result sends what was computed of an iteration to the bank that has it.
func (b *Bank) result(p part, x *slot) {
	b.slots.take(p)
	g := x.g
	b.emit(Message{Kind: MsgWrite, From: b.bank, To: b.bankOf(g.line(int(p.sid), p.first)), Core: int(p.core), Group: p.group, Stream: int(p.sid), First: p.first, End: x.end, Values: x.out, kept: x.kept, bytes: g.Streams[p.sid].Bytes, head: g.itself()})
	b.unused = append(b.unused, x)
}

// store writes what another bank has computed.
func (b *Bank) store(k key, m *Message) {
	g := m.head.g
	b.here(g, m.Stream, m.First)
	b.Counters.Writes++
	b.agent.change(g.line(m.Stream, m.First), func(data *mem.Bytes) {
		for i, v := range m.Values {
			if m.kept == nil || !m.kept[i] {
				put(data, g.address(m.Stream, m.First+int64(i)), g.Streams[m.Stream].Bytes, v)
			}
		}
	}, func(event.Time) { b.done(k, m.First, m.End) })
}
