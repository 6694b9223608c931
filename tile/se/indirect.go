package se

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// An indirect stream is a head that follows the one whose elements it takes its addresses
// from: at the bank of an element it sends a request to the bank of the address, which
// loads, or updates and says so (section IV.C). One that writes waits for the commit of its
// range first, and says in each request which iteration the bank got before, so that the
// bank can take them in order.

// chain is the requests of an indirect stream at the bank that they go to.
type chain struct {
	seen int64              // the last iteration that was taken; -1 for none
	held map[int64]*Message // that have overtaken others, by the iteration before
	made event.Time         // the last one is computed: each changes memory behind it
}

// found has elements of a stream for those that follow it.
func (b *Bank) found(h *head, first, end int64, values []uint64, data *mem.Bytes) {
	g := h.g
	for _, sid := range g.Streams[h.sid].followers {
		s := &g.Streams[sid]
		p := part{newKey(h.core, g.id, sid), first}
		x := b.slot(p, g)
		x.base, x.ready = values, true
		for _, at := range s.Fields {
			list := b.values(int(end - first))
			for i := first; i < end; i++ {
				list[i-first] = word(data, g.address(h.sid, i)+uint64(at), g.Streams[h.sid].Bytes)
			}
			x.fields = append(x.fields, list)
		}
		if g.SyncFree {
			continue
		}
		var low, high uint64
		some := false
		for i := first; i < end; i++ {
			if addr, ok := s.At.Eval(0, values[i-first:i-first+1], i); ok {
				if !some || addr < low {
					low = addr
				}
				high, some = max(high, addr+uint64(s.Bytes)), true
			}
		}
		b.emit(Message{Kind: MsgRange, From: b.bank, To: h.core, Core: h.core, Group: g.id, Stream: sid, First: first, End: end, Low: low, High: high})
	}
}

// follows reports whether an indirect stream can go on.
func (b *Bank) follows(h *head) bool {
	s := &h.g.Streams[h.sid]
	if s.sink() && !s.Old && !h.g.SyncFree && h.next >= h.limit {
		return false
	}
	first, _ := h.g.chunk(h.sid, h.next)
	x, _ := b.slots.get(part{newKey(h.core, h.g.id, h.sid), first})
	return x != nil && x.ready
}

// follow sends the request of an element.
func (b *Bank) follow(now event.Time, h *head) {
	g, s := h.g, &h.g.Streams[h.sid]
	i := h.next
	first, end := g.chunk(h.sid, i)
	p := part{newKey(h.core, g.id, h.sid), first}
	x, _ := b.slots.get(p)
	v := x.base[i-first]
	h.next++
	if addr, ok := s.At.Eval(0, []uint64{v}, i); ok {
		to := b.bankOf(addr / mem.LineBytes)
		m := &Message{Kind: MsgRequest, From: b.bank, To: to, Core: h.core, Group: g.id, Stream: h.sid, First: i, End: i + 1, Low: addr, Last: -1, head: h, bytes: g.at(h.sid).Bytes}
		if len(s.Inputs) > 0 {
			m.Values = []uint64{v}
			for _, list := range x.fields {
				m.Values = append(m.Values, list[i-first])
			}
		}
		if h.issued == nil {
			h.issued = map[int]int64{}
		}
		if len(s.reducers) > 0 {
			h.issued[to]++
		}
		if s.sink() {
			if last, ok := h.issued[to]; ok {
				m.Last = last
			}
			h.issued[to] = i
		}
		b.access(now, h, addr, func() { b.net.SendStream(m) })
	} else if s.Old {
		b.emit(Message{Kind: MsgData, From: b.bank, To: h.core, Core: h.core, Group: g.id, Stream: h.sid, First: i, End: i + 1})
	} else if s.sink() {
		b.done(p.key, i, i+1)
	} else {
		b.forward(h, h.sid, i, i+1, []uint64{0})
		if len(s.reducers) > 0 {
			if h.issued == nil {
				h.issued = map[int]int64{}
			}
			h.issued[b.bank]++
			b.reduce(now, h, i, 0, v)
		}
	}
	if h.next == end {
		b.drop(p)
		b.unused = append(b.unused, x)
		if len(s.reducers) > 0 {
			b.issuedRange(h, end)
		}
		b.move(now, h)
	}
}

// request takes a request of an indirect stream, those that write in their order.
func (b *Bank) request(now event.Time, k key, m *Message) {
	if m.head.g.id != m.Group || m.First >= m.head.g.N || b.bankOf(m.Low/mem.LineBytes) != b.bank {
		b.fail(fmt.Errorf("se: bank %d: a request of stream %s of other streams, behind their end, or for an address at another bank", b.bank, m.head.g.Streams[m.Stream].Name))
		return
	}
	s := &m.head.g.Streams[m.Stream]
	if !s.sink() {
		b.load(m, s)
		return
	}
	if b.spec.Broken == NoOrder {
		b.update(now, k, m, s)
		return
	}
	c, ok := b.chains.get(k)
	if !ok {
		c = &chain{seen: -1, held: map[int64]*Message{}}
		b.chains.set(k, c)
	}
	c.held[m.Last] = m
	for next := c.held[c.seen]; next != nil; next = c.held[c.seen] {
		delete(c.held, c.seen)
		c.seen = next.First
		b.update(now, k, next, s)
	}
	if len(c.held) > 0 {
		b.Counters.Reordered++
	}
}

// load reads an element and gives it to those that take it.
func (b *Bank) load(m *Message, s *Stream) {
	b.Counters.Reads++
	b.agent.read(m.Low/mem.LineBytes, func(now event.Time, data *mem.Bytes) {
		if s.Row > 0 {
			b.row(now, m, s, data)
			return
		}
		v := word(data, m.Low, s.Bytes)
		if s.Func != nil { // what follows from the element is sent
			b.Counters.Computed++
			b.Counters.Operations += uint64(s.Func.Ops())
			b.at(b.occupy(now, s, 1, 1), func(event.Time) {
				v, _ := s.Func.Eval(v, m.Values, m.First)
				b.send(m.head, m.head.sid, m.First, m.End, []uint64{v})
			})
			return
		}
		b.send(m.head, m.head.sid, m.First, m.End, []uint64{v})
		if len(s.reducers) > 0 && !b.dead(m.Core, m.Group) {
			var base uint64
			if len(m.Values) > 0 {
				base = m.Values[0]
			}
			b.reduce(now, m.head, m.First, v, base)
		}
	})
}

// row reduces the elements of a row: an instance of a loop that the stream has configured
// (section III.A).
func (b *Bank) row(now event.Time, m *Message, s *Stream, data *mem.Bytes) {
	if b.dead(m.Core, m.Group) {
		return
	}
	in, each := b.values(s.Row), s.Bytes/s.Row
	for k := range in {
		in[k] = word(data, m.Low+uint64(k*each), each)
	}
	if s.Func == nil {
		b.send(m.head, m.head.sid, m.First, m.End, in)
		return
	}
	b.Counters.Computed++
	b.Counters.Operations += uint64(s.Work)
	b.at(b.occupy(now, s, 1, 1), func(event.Time) {
		v, _ := s.Func.Eval(0, in, m.First)
		b.send(m.head, m.head.sid, m.First, m.End, []uint64{v})
	})
}

// update changes an element, while the bank has its line for itself.
func (b *Bank) update(now event.Time, k key, m *Message, s *Stream) {
	switch {
	case s.Old && m.head.g.SyncFree:
		b.swap(now, k, m, s)
		return
	case s.Old:
		b.attempt(now, k, m, s)
		return
	}
	if s.Kind == Update {
		b.Counters.Reads++
	}
	b.Counters.Writes++
	b.Counters.Computed++
	b.Counters.Operations += uint64(s.Func.Ops())
	b.at(b.inOrder(k, b.occupy(now, s, 1, 1)), func(event.Time) {
		b.agent.change(m.Low/mem.LineBytes, func(data *mem.Bytes) {
			v, ok := s.Func.Eval(word(data, m.Low, s.Bytes), m.Values, m.First)
			if !ok {
				return
			}
			put(data, m.Low, s.Bytes, v)
			if s.Performed != nil {
				s.Performed(m.Low, v)
			}
		}, func(event.Time) { b.done(k, m.First, m.End) })
	})
}

// inOrder is when a stream changes memory by what is computed at a time: not before what was
// requested before, as contexts of the tile may end in another order.
func (b *Bank) inOrder(k key, at event.Time) event.Time {
	c, ok := b.chains.get(k)
	if !ok {
		return at
	}
	c.made = max(c.made, at)
	return c.made
}

// span is the addresses of some iterations of an indirect stream.
type span struct {
	sid        int
	first, end int64
	low, high  uint64
}

// ranges takes a report of addresses.
func (a *active) ranges(m *Message) {
	a.ranged[m.Stream] += m.End - m.First
	for _, sid := range a.g.Streams[m.Stream].members {
		if sid != m.Stream {
			a.ranged[sid] += m.End - m.First
		}
	}
	if a.g.Streams[m.Stream].Kind == Chase && m.End > m.First { // where it is, or was
		if !a.g.Bound && a.c.inject.fault() {
			a.c.end(a.c.engine.Now(), Fault)
			return
		}
		a.send(Message{Kind: MsgCredit, To: m.From, Stream: m.Stream, First: m.First, End: m.End + int64(a.c.spec.Ranges)*a.g.Range, head: a.g.itself()})
	}
	if s := &a.g.Streams[m.Stream]; !s.Indirect && s.Kind != Chase { // it is compared as any affine range, when it is credited
		if lo, hi := a.g.hullOf(m.Stream, m.First, m.End); lo != m.Low || hi != m.High {
			a.c.fail(fmt.Errorf("se: core %d: bank %d says that stream %s accesses %#x to %#x, expected %#x to %#x", a.c.id, m.From, a.g.Streams[m.Stream].Name, m.Low, m.High, lo, hi))
		}
		return
	}
	if m.Low < m.High {
		a.spans = append(a.spans, span{m.Stream, m.First, m.End, m.Low, m.High})
		if o := a.crossed(); o != nil {
			a.c.alias(a.c.engine.Now(), a, o)
		}
	}
}

// known reports whether the addresses of all iterations up to one are known.
func (a *active) known(end int64) bool {
	for sid := range a.g.Streams {
		if s := &a.g.Streams[sid]; (s.Indirect || a.c.spec.SendRanges && s.Kind != Reduce && s.Kind != Chase) && !a.g.SyncFree && a.ranged[sid] < min(end, a.g.N) {
			return false
		}
	}
	return true
}
