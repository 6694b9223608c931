package se

import "github.com/bitsched/bitsched/tile/event"

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
	queued, held := -1, false // flits that wait for the link of the node, -1: not known yet
	for range b.spec.Issue {
		b.catching.known = false
		var first *head
		for k := range b.heads {
			i := (b.turn + k) % len(b.heads)
			h := b.heads[i]
			if first != nil && !b.ordered(h) || !b.can(h) || b.waits(now, h) {
				continue
			}
			if b.spec.Queue > 0 && b.sends(h) {
				if queued < 0 {
					queued = b.net.Queued(b.bank, b.spec.Queue)
				}
				if queued >= b.spec.Queue {
					held = true
					continue
				}
			}
			if first == nil {
				first, b.turn = h, i+1
				if !b.ordered(h) {
					break
				}
			} else if b.before(now, h, first) {
				first = h
			}
		}
		if first == nil {
			if held && !b.draining {
				b.draining = true
				b.engine.At(now+event.Time(queued-b.spec.Queue+1), b.drained, 0)
			}
			return
		}
		first.ready = now
		b.step(now, first)
	}
	b.next = now + 1
	b.wake(now + 1)
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
