package se

import (
	"slices"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// Loads of a loop whose elements are less than a line apart, as A[i-1], A[i] and A[i+1], are one
// stream at the L3, as in the authors' compiler, which coalesces streams that are a constant
// apart: it reads each line once and sends from it what each of them takes.

// coalesce finds such loads. The first of them in the direction of the loop leads, and has the
// others as its members. One that nobody is near reads with streams of other loops where it may
// ([Bank.together]).
func (g *Group) coalesce(spec *Spec) {
	var list []int
	for i := range g.Streams {
		s := &g.Streams[i]
		s.lead = i
		s.members = nil
		if s.Kind == Load && s.Func == nil && !s.Indirect && s.Stride != 0 && len(s.followers)+g.Strands == 0 && !g.Fine {
			s.members = []int{i}
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(x, y int) int {
		a, b := &g.Streams[x], &g.Streams[y]
		if a.Stride < 0 {
			a, b = b, a
		}
		switch {
		case a.Base < b.Base:
			return -1
		case a.Base > b.Base:
			return 1
		}
		return 0
	})
	for i, x := range list {
		lead := &g.Streams[x]
		if lead.lead != x {
			continue
		}
		for _, y := range list[i+1:] {
			s := &g.Streams[y]
			apart := max(s.Base, lead.Base) - min(s.Base, lead.Base)
			if s.lead == y && s.Stride == lead.Stride && s.RowStride == lead.RowStride && s.PlaneStride == lead.PlaneStride && s.Bytes == lead.Bytes && apart < mem.LineBytes {
				s.lead, s.members = x, nil
				lead.members = append(lead.members, y)
			}
		}
		if len(lead.members) == 1 && spec.Broadcast && g.SyncFree && g.Decoupled {
			lead.members = nil
		}
	}
}

// hullOf is the bytes that all loads of a stream access in iterations.
func (g *Group) hullOf(sid int, from, to int64) (lo, hi uint64) {
	lo, hi = g.hull(sid, from, to)
	for _, m := range g.Streams[sid].members {
		l, h := g.hull(m, from, to)
		lo, hi = min(lo, l), max(hi, h)
	}
	return lo, hi
}

// leads reports whether a stream goes from bank to bank itself.
func (g *Group) leads(sid int) bool { return g.Streams[sid].lead == sid }

// newHead is a stream that waits for credit from an iteration on.
func newHead(core, sid int, g *Group, at int64) *head {
	h := &head{core: core, sid: sid, g: g, next: at, limit: at, told: at, value: g.Streams[sid].Init}
	for range g.Streams[sid].members {
		h.nexts = append(h.nexts, at)
	}
	return h
}

// line is where a stream reads next, or waits for its credit.
func (h *head) line() mem.Line {
	if k := h.behind(); k >= 0 {
		return h.g.line(h.g.Streams[h.sid].members[k], h.nexts[k])
	}
	return h.g.line(h.sid, h.next)
}

// behind is the member whose next line the others have passed or have not come to, -1 if none has
// credit.
func (h *head) behind() int {
	g, best := h.g, -1
	var row int64
	var line mem.Line
	for k, sid := range g.Streams[h.sid].members {
		i := h.nexts[k]
		if i >= h.limit {
			continue
		}
		r, l := i/g.row(), g.line(sid, i)
		if g.Streams[h.sid].Stride < 0 {
			l = -l
		}
		if best < 0 || r < row || r == row && l < line {
			best, row, line = k, r, l
		}
	}
	return best
}

// taken is iterations of a member whose elements are in a line.
type taken struct {
	sid        int
	first, end int64
}

// readLine reads a line of a stream, and sends the elements there of all its members, as far as
// they have credit.
func (b *Bank) readLine(now event.Time, h *head) {
	g := h.g
	members := g.Streams[h.sid].members
	k := h.behind()
	b.here(g, members[k], h.nexts[k])
	line, addr := h.line(), g.address(members[k], h.nexts[k])
	var list []taken
	for k, sid := range members {
		x := taken{sid, h.nexts[k], h.nexts[k]}
		for x.end < h.limit && g.line(sid, x.end) == line {
			x.end++
		}
		if x.end > x.first {
			list = append(list, x)
			h.nexts[k] = x.end
		}
	}
	h.next = slices.Min(h.nexts)
	b.accesses(h, h.next)
	b.Counters.Reads++
	if len(list) > 1 {
		b.Counters.Shared++
	}
	h.asked++
	b.read(now, h, addr, func(now event.Time, data *mem.Bytes) {
		if b.dead(h.core, g.id) {
			return
		}
		h.asked--
		b.changed(h)
		for _, x := range list {
			values := b.values(int(x.end - x.first))
			for i := range values {
				values[i] = word(data, g.address(x.sid, x.first+int64(i)), g.Streams[x.sid].Bytes)
			}
			b.send(h, x.sid, x.first, x.end, values)
		}
		b.wake(now)
	})
}
