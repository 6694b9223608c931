package se

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// A stream that chases pointers is a whole loop: it goes to the bank of what it reads next,
// with the values that it has come to, until its condition ends it, and sends to the core
// what the loop leaves behind (section IV.C). It writes nothing.

// Walk is a loop that chases pointers. What it has come to is a list of values, which goes
// from bank to bank.
type Walk interface {
	// Start returns the values with which the loop begins.
	Start() []uint64
	// Next goes on to the next access, and says where that is and how many operations it took.
	// ok is false at the end of the loop.
	Next(state []uint64) (addr uint64, bytes, ops int, ok bool)
	// Take has the element of the access.
	Take(state []uint64, v uint64)
	// Pack forgets values that are not needed any more, and says how many bytes the others have.
	Pack(state []uint64) int
	// Steps is how many iterations have been made, Place where in one of them the access is.
	Steps(state []uint64) int64
	Place(state []uint64) int
	// Bare reports whether the address of the access follows from the values that are needed
	// after it.
	Bare(state []uint64) bool
	// Result is what the loop leaves behind.
	Result(state []uint64) []uint64
}

// chase lets a stream go on until it waits for a line or for credit, goes to another bank, or
// ends.
func (b *Bank) chase(now event.Time, h *head) {
	g, s := h.g, &h.g.Streams[h.sid]
	for {
		if h.addr == 0 && !h.ended {
			addr, bytes, ops, ok := s.Walk.Next(h.state)
			h.addr, h.bytes, h.ended = addr, bytes, !ok
			if n := s.Walk.Steps(h.state); n > h.next {
				b.Counters.Computed += uint64(n - h.next)
				h.next = n
			}
			b.Counters.Operations += uint64(ops)
			h.ops += ops
		}
		line := h.addr / mem.LineBytes
		if h.goesOn(line) {
			b.took(h)
			continue
		}
		ops, operands := h.ops, h.operands
		h.ops, h.operands = 0, 0
		if ops > 0 {
			b.at(b.steps(now, ops, operands, s.PE), func(now event.Time) {
				if !b.dead(h.core, g.id) {
					b.chase(now, h)
				}
			})
			return
		}
		if !g.SyncFree && h.next >= h.told+g.Range && !h.ended {
			b.visited(h)
		}
		if h.ended {
			b.leave(h)
			b.emit(Message{Kind: MsgFinal, From: b.bank, To: h.core, Core: h.core, Group: g.id, Stream: h.sid, First: h.told, Values: s.Walk.Result(h.state), head: h})
			return
		}
		if to := b.bankOf(line); to != b.bank {
			b.leave(h)
			h.bare = s.Walk.Bare(h.state)
			h.packed = s.Walk.Pack(h.state)
			h.goes(to, b.spec)
			b.Counters.Migrations++
			k := newKey(h.core, g.id, h.sid)
			b.trail.set(k, to)
			b.emit(Message{Kind: MsgMigrate, From: b.bank, To: to, Core: h.core, Group: g.id, Stream: h.sid, head: h.moved()})
			return
		}
		if !g.SyncFree && h.next >= h.limit {
			h.armed = true // until there is credit
			return
		}
		if h.lineAt == line && h.data != nil {
			b.took(h)
			continue
		}
		b.Counters.Reads++
		b.read(now, h, h.addr, func(now event.Time, data *mem.Bytes) {
			if b.dead(h.core, g.id) {
				return
			}
			copied := *data
			h.lineAt, h.data = line, &copied
			b.took(h)
			b.chase(now, h)
		})
		return
	}
}

// goesOn reports whether what is computed takes the element of an access, too, and so goes on: it
// is in the line that is at hand, and the computation has not come to the same place of the loop
// yet. What one points to is a structure, whose members are operands of one function.
func (h *head) goesOn(line mem.Line) bool {
	g := h.g
	if h.addr == 0 || h.operands == 0 || h.data == nil || h.lineAt != line || !g.SyncFree && h.next >= min(h.limit, h.told+g.Range) {
		return false
	}
	return h.next == h.from || h.next == h.from+1 && g.Streams[h.sid].Walk.Place(h.state) < h.place
}

// took gives a stream the element that it waits for.
func (b *Bank) took(h *head) {
	if h.operands++; h.operands == 1 {
		h.from, h.place = h.next, h.g.Streams[h.sid].Walk.Place(h.state)
	}
	h.low, h.high = min(h.low, h.addr), max(h.high, h.addr+uint64(h.bytes))
	h.g.Streams[h.sid].Walk.Take(h.state, word(h.data, h.addr, h.bytes))
	h.addr = 0
}

// visited reports the addresses of some iterations.
func (b *Bank) visited(h *head) {
	b.emit(Message{Kind: MsgRange, From: b.bank, To: h.core, Core: h.core, Group: h.g.id, Stream: h.sid, First: h.told, End: h.next, Low: h.low, High: h.high})
	h.told, h.low, h.high = h.next, ^uint64(0), 0
}

// steps takes the scalar PE or the tile's contexts for operations one after another.
func (b *Bank) steps(now event.Time, ops, operands, most int) event.Time {
	if ops <= most && b.idlePE(now) {
		return b.takePE(now, int64(ops))
	}
	b.Counters.BusySCM += uint64((ops + b.spec.Width - 1) / b.spec.Width)
	_, ended := b.scm.take(now, Chain(ops, ops), max(1, operands), now)
	return ended
}

// creditChase lets a credit go after a stream that has gone on, or lets that go on.
func (b *Bank) creditChase(now event.Time, k key, m *Message) {
	for _, h := range b.heads.list {
		if h.core == m.Core && h.g.id == m.Group && h.sid == m.Stream {
			h.limit = max(h.limit, m.End)
			if h.armed && h.next < h.limit {
				h.armed = false
				b.chase(now, h)
			}
			return
		}
	}
	if to, ok := b.trail.get(k); ok {
		again := *m
		again.From, again.To = b.bank, to
		b.net.SendStream(&again)
		return
	}
	limit, _ := b.overtook.get(k)
	b.overtook.set(k, max(limit, m.End)) // or the stream has ended here
}

// arrived takes a stream that chases pointers.
func (b *Bank) arrived(now event.Time, h *head) {
	k := newKey(h.core, h.g.id, h.sid)
	b.trail.remove(k)
	if h.state == nil {
		h.state = h.g.Streams[h.sid].Walk.Start()
		h.limit = int64(b.spec.Ranges) * h.g.Range
		h.low = ^uint64(0)
	}
	limit, _ := b.overtook.get(k)
	h.limit = max(h.limit, limit)
	b.overtook.remove(k)
	b.add(h)
	b.chase(now, h)
}

// leave forgets a stream that goes on elsewhere, or has ended.
func (b *Bank) leave(h *head) {
	if i, ok := b.heads.place(h); ok {
		b.remove(i)
		return
	}
	b.fail(fmt.Errorf("se: bank %d: stream %s is not here", b.bank, h.g.Streams[h.sid].Name))
}

// room reports whether there are places for the streams of one more loop.
func (c *Core) room(g *Group) bool {
	used := 0
	for _, a := range c.loops {
		over := a.over()
		if a.g.id+oldGroups <= c.ids+1 && (!over || a.loaded&a.results() != a.results()) {
			return false
		}
		if over {
			continue
		}
		used += a.g.places()
	}
	return used == 0 || used+g.places() <= c.spec.Streams
}

// chases reports whether the group is a loop that chases pointers.
func (g *Group) chases() bool { return len(g.Streams) > 0 && g.Streams[0].Kind == Chase }

// results are those of a loop that the core loads, as a set.
func (a *active) results() (set uint64) {
	if a.g.chases() {
		if !a.gone {
			set = 1<<a.g.Results - 1
		}
		return set
	}
	for sid := range a.g.Streams {
		if a.g.Streams[sid].Kind == Reduce {
			set |= 1 << sid
		}
	}
	return set
}

// took notes a result of a loop that the core has loaded and committed.
func (c *Core) took(now event.Time, addr uint64) {
	n := (addr - Window) / mem.LineBytes
	if n/windowSlots%windowStreams != finalStream {
		return
	}
	if a := c.of(uint32(n / (windowSlots * windowStreams))); a != nil {
		a.loaded |= 1 << (n % windowSlots)
		c.soon(now) // there may be room now
	}
}

// places is how many streams of the core a loop takes.
func (g *Group) places() int {
	if g.Places > 0 {
		return g.Places
	}
	return len(g.Streams)
}

// early configures the streams of a loop when the core executes the load that stands for it, in
// the order of the program: it may be in front of others that the core has not committed yet.
func (c *Core) early(now event.Time, group uint32) bool {
	if group != c.ids+1 {
		return group <= c.ids
	}
	if c.ending != nil { // the core gives it back, and would begin it again
		return false
	}
	if c.next == nil {
		c.next = c.source.NextGroup()
	}
	if c.next == nil || !c.room(c.next) {
		return false
	}
	g := c.next
	c.next = nil
	c.start(now, g)
	return true
}
