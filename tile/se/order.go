package se

import (
	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/tile/event"
)

// The order in which a bank reads. Where the parts of an array that threads have are as long as all banks
// together, or a multiple, all threads begin in one bank. If their streams take turns there, all leave it
// when the last one has been served, and all come to the next one together. If streams of the loop that is ahead
// go first, the same ones in all banks, and what they send does not wait behind what others have
// sent, threads come apart, and all banks work.

// issue lets streams go on by one chunk each.
func (b *Bank) issue(now event.Time) {
	if b.resting {
		return
	}
	l := link{queued: -1}
	for range b.spec.Issue {
		if invariants.Enabled {
			b.checkHeads()
		}
		x, n := &b.heads, len(b.heads.list)
		var first *head
		for i := range x.from(b.turn, n) {
			h := x.list[i]
			switch {
			case first != nil && !b.ordered(h) || !b.goes(now, h, &l):
				continue
			case first == nil:
				first, b.turn = h, i+1
			case b.before(now, h, first):
				first = h
			}
			if !b.ordered(first) {
				break
			}
		}
		if first == nil {
			if l.held && !b.draining {
				b.draining = true
				b.engine.At(now+event.Time(l.queued-b.spec.Queue+1), b.drained, 0)
			}
			return
		}
		first.ready = now
		b.step(now, first)
	}
	b.next = now + 1
	b.wake(now + 1)
}

// link is the link of the node as streams see it that send: the flits that wait for it, -1: not known yet,
// and whether a stream waits for these.
type link struct {
	queued int
	held   bool
}

// goes reports whether a stream that may go on does so: it need not wait for others, nor for the link.
func (b *Bank) goes(now event.Time, h *head, l *link) bool {
	if !b.can(h) || b.waits(now, h) {
		return false
	}
	if b.spec.Queue > 0 && b.sends(h) {
		if l.queued < 0 {
			l.queued = b.net.Queued(b.bank, b.spec.Queue)
		}
		if l.queued >= b.spec.Queue {
			l.held = true
			return false
		}
	}
	return true
}

// ordered reports whether a stream goes on by how far it is, and does not take its turn with others.
func (b *Bank) ordered(h *head) bool {
	return b.spec.Ahead && !h.g.Streams[h.sid].Indirect && h.g.Strands == 0 && !b.broadcasts(h)
}

// before reports whether a stream goes on before another one: it has been kept for long, or its core has
// begun more loops, or this one has credit for later iterations, which it gets when those before are done. Where
// two have come equally far all banks take that of the same core, and of one loop the stream that is behind,
// as the others wait for it.
func (b *Bank) before(now event.Time, h, o *head) bool {
	if p := event.Time(b.spec.Patience); p > 0 {
		if x, y := now-h.ready > p, now-o.ready > p; x != y {
			return x
		} else if x && h.ready != o.ready {
			return h.ready < o.ready
		}
	}
	switch {
	case h.g.id != o.g.id:
		return h.g.id > o.g.id
	case h.limit != o.limit:
		return h.limit > o.limit
	case h.core != o.core:
		return h.core < o.core
	}
	return h.next < o.next
}

// sends reports whether a stream that reads sends elements to another node from where it is.
func (b *Bank) sends(h *head) bool {
	s := &h.g.Streams[h.sid]
	if s.members == nil {
		return b.sendsOf(h, h.sid, h.next)
	}
	for k, sid := range s.members {
		if h.nexts[k] < h.g.N && b.sendsOf(h, sid, h.nexts[k]) {
			return true
		}
	}
	return false
}

func (b *Bank) sendsOf(h *head, sid int, i int64) bool {
	s := &h.g.Streams[sid]
	if s.Kind != Load && s.Kind != Update || s.Indirect {
		return false
	}
	if s.ToCore && h.core != b.bank {
		return true
	}
	for _, r := range s.receivers {
		if b.bankOf(h.g.line(r, i)) != b.bank {
			return true
		}
	}
	return false
}
