package se

import (
	"cmp"
	"slices"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// Broadcast: streams of several cores, or several strands of one, that come to the same line at
// their bank read it together, and elements that several of them send go to all that take them in
// one multicast (Infinity Stream, section 8: the stream engine recognises the pattern in part; streams
// of cores within a group, as in Stream Floating and the authors' simulator). A stream lets those that
// are behind it in its part of the array catch up.

// Target is a stream that takes elements of a broadcast, from its iteration First on.
type Target struct {
	Bank       int
	Core       int
	Group      uint32
	Stream     int
	First, End int64

	head *head // whose elements they are
	from int
}

// at is a stream's chunk among those that are read together.
type at struct {
	h          *head
	first, end int64
}

// piece is elements side by side that targets take.
type piece struct {
	addr    uint64
	bytes   int
	values  []uint64
	targets []Target
}

// share is whether a stream may read with others.
type share uint8

const (
	unknown share = iota
	never
	may
)

// broadcasts reports whether a stream may read with others: nothing has to be put in order, and
// other streams alone take its elements.
func (b *Bank) broadcasts(h *head) bool {
	if h.shares == unknown {
		s := &h.g.Streams[h.sid]
		h.shares, h.stride = never, s.Stride
		if b.spec.Broadcast && h.g.SyncFree && h.g.Decoupled && !h.g.Fine && s.Kind == Load && s.Func == nil && s.members == nil && !s.Indirect && !s.ToCore && len(s.followers)+len(s.reducers) == 0 {
			h.shares = may
		}
	}
	return h.shares == may
}

// lies is where the next element of a stream is.
func (h *head) lies() uint64 {
	if h.spotAt != h.next+1 {
		h.spot, h.spotAt = h.g.address(h.sid, h.next), h.next+1
	}
	return h.spot
}

// together lists the streams that read a line with one, which comes first.
func (b *Bank) together(h *head) []at {
	chunk := func(o *head) at {
		first, end := o.g.chunk(o.sid, o.next)
		return at{o, first, end}
	}
	list := []at{chunk(h)}
	if !b.broadcasts(h) {
		return list
	}
	for _, o := range b.beside(h) {
		list = append(list, chunk(o))
	}
	return list
}

// waits reports whether a stream lets another one catch up that is behind it in the part of the array
// that lies in this bank: one that can go on goes first, and one that has no credit yet gets
// some cycles for it. If it did not come, the stream does so no more until it meets one. The last
// one always goes, so that none waits for ever.
func (b *Bank) waits(now event.Time, h *head) bool {
	if !b.broadcasts(h) || h.stride == 0 {
		return false
	}
	late, can := b.behind(h)
	if can {
		return true
	}
	if h.alone || !late || b.spec.Wait == 0 {
		return false
	}
	if line := h.lies()/mem.LineBytes + 1; h.waited != line {
		h.waited, h.since = line, now
		b.at(now+event.Time(b.spec.Wait), b.wake)
	}
	h.alone = now >= h.since+event.Time(b.spec.Wait)
	return !h.alone
}

// behind reports whether other streams are behind one that it lets catch up, and whether one of these can
// go on: by the first in order of all at its place.
func (b *Bank) behind(h *head) (any, can bool) {
	f, at := b.first(h.corner, h.stride), h.order()
	return f.any < at, f.can < at
}

// order is the line of the next element, in the order in which the stream comes to lines.
func (h *head) order() uint64 {
	line := h.lies() / mem.LineBytes
	if h.stride < 0 {
		return ^line
	}
	return line
}

// gathered gives the elements of one stream, for those that take them, to what is sent.
func (b *Bank) gathered(list []piece, x at, values []uint64) []piece {
	g, s := x.h.g, &x.h.g.Streams[x.h.sid]
	for _, r := range s.receivers {
		for i := x.first; i < x.end; {
			to, last := b.run(g, s, r, i, x.end)
			v := values[i-x.first : last-x.first]
			if s.still() {
				v = v[:1]
			}
			t := Target{to, x.h.core, g.id, r, i, last, x.h, x.h.sid}
			addr := g.address(x.h.sid, i)
			k := slices.IndexFunc(list, func(p piece) bool { return p.addr == addr && p.bytes == s.Bytes && len(p.values) == len(v) })
			if k < 0 {
				k = len(list)
				list = append(list, piece{addr: addr, bytes: s.Bytes, values: v})
			}
			list[k].targets = append(list[k].targets, t)
			i = last
		}
	}
	return list
}

// run is the bank of an element of a stream that takes another one's, and how far both go on there
// in one message.
func (b *Bank) run(g *Group, s *Stream, r int, i, end int64) (bank int, last int64) {
	bank = b.bankOf(g.line(r, i))
	_, last = g.chunk(r, i)
	for s.still() && last < end && b.bankOf(g.line(r, last)) == bank { // one element for all iterations of a bank
		_, last = g.chunk(r, last)
	}
	return bank, min(last, end)
}

// multicast sends elements to all that take them, as many at once as fit into a multicast.
func (b *Bank) multicast(list []piece) {
	for _, p := range list {
		slices.SortStableFunc(p.targets, func(x, y Target) int { return cmp.Compare(x.Bank, y.Bank) })
		for len(p.targets) > 0 {
			n := min(len(p.targets), b.spec.Targets(len(p.values)*p.bytes))
			t := p.targets[0]
			m := Message{Kind: MsgForward, From: b.bank, To: t.Bank, Core: t.Core, Group: t.Group, Stream: t.Stream, head: t.head, from: t.from, First: t.First, End: t.End, Values: p.values, bytes: p.bytes}
			if n > 1 {
				m.Kind, m.Targets = MsgBroadcast, p.targets[:n:n]
				b.Counters.Broadcasts++
			}
			b.emit(m)
			p.targets = p.targets[n:]
		}
	}
}

// targetBytes is what a broadcast says of each stream that takes it but the first one.
const targetBytes = bankBytes + countBytes

// Banks lists the banks that a broadcast goes to.
func (m *Message) Banks() (list []int) {
	for _, t := range m.Targets {
		if !slices.Contains(list, t.Bank) {
			list = append(list, t.Bank)
		}
	}
	return list
}

// For is a broadcast as one of its banks gets it.
func (m *Message) For(bank int) *Message {
	c := *m
	c.To = bank
	return &c
}

// broadcast hands the elements of a broadcast to the streams here that take them.
func (b *Bank) broadcast(now event.Time, m *Message) {
	for _, t := range m.Targets {
		if t.Bank == m.To {
			b.ReceiveStream(now, &Message{Kind: MsgForward, From: m.From, To: m.To, Core: t.Core, Group: t.Group, Stream: t.Stream, head: t.head, from: t.from, First: t.First, End: t.End, Values: m.Values, bytes: m.bytes})
		}
	}
}

// TargetsOf is how many targets there may be in a broadcast of so many bytes that is at most as long
// as a multicast.
func TargetsOf(bytes, longest int) int {
	return max(1, 1+(longest-headerBytes-bytes)/targetBytes)
}

// readTogether reads a line for streams, and sends their elements.
func (b *Bank) readTogether(now event.Time, list []at) {
	b.Counters.Reads++
	h := list[0].h
	for _, x := range list {
		x.h.asked++
		x.h.alone = x.h.alone && len(list) == 1
	}
	b.Counters.Spared += uint64(len(list) - 1)
	b.read(now, h, h.g.address(h.sid, list[0].first), func(now event.Time, data *mem.Bytes) {
		var out []piece
		for _, x := range list {
			g, s := x.h.g, &x.h.g.Streams[x.h.sid]
			if b.dead(x.h.core, g.id) {
				continue
			}
			x.h.asked--
			b.changed(x.h)
			values := b.values(int(x.end - x.first))
			for i := range values {
				values[i] = word(data, g.address(x.h.sid, x.first+int64(i)), s.Bytes)
			}
			if b.broadcasts(x.h) {
				out = b.gathered(out, x, values)
				continue
			}
			b.send(x.h, x.h.sid, x.first, x.end, values)
			b.found(x.h, x.first, x.end, values, data)
		}
		b.multicast(out)
		b.wake(now)
	})
}
