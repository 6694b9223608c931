package se

import (
	"slices"

	"fmt"
	"math/bits"

	"github.com/bitsched/bitsched/tile/event"
)

// Strands are parts of the streams of a loop that nobody has to put in order (Infinity Stream,
// section 7, as the authors' simulator has them): of the lines of a bank that follow each other
// in one part and those of the next bank in the next one, so that all banks work at once, and few
// streams go from bank to bank. Reductions have a value in each strand, which the engine of the
// core joins in the order of strands.

// strand names a part of a stream.
type strand struct {
	key
	n int
}

// after is where a strand goes on that has come to the end of some iterations: behind what is the
// others' there.
func (g *Group) after(end int64) int64 {
	if g.Strands > 1 && (end+g.Shift)%g.Block == 0 {
		return end + int64(g.Strands-1)*g.Block
	}
	return end
}

// from is the first iteration of a strand that is not before one; N or more: there is none.
func (g *Group) from(k int, i int64) int64 {
	n := int64(g.Strands)
	block := (i + g.Shift) / g.Block
	next := block + (int64(k)-block%n+n)%n
	return max(i, next*g.Block-g.Shift)
}

// number tells strands of streams apart.
func (g *Group) number(sid, strand int) int { return sid*max(1, g.Strands) + strand }

// window is the iterations that may be under way: each strand has a buffer at its bank.
func (g *Group) window(spec *Spec) int64 {
	n := int64(spec.Ranges) * g.Window
	if spec.Indirect > 0 && slices.ContainsFunc(g.Streams, func(s Stream) bool { return s.Indirect && (s.ToCore || s.Old) }) {
		n = min(n, max(g.Range, int64(spec.Indirect)))
	}
	return n * int64(max(1, g.Strands))
}

// segment is the iterations that are credited together, and of which reductions tell their value once: a
// part of those that may be under way, and a range at least.
func (g *Group) segment(spec *Spec) int64 {
	if spec.Segments == 0 {
		return g.Range
	}
	return max(g.Range, g.window(spec)/int64(spec.Segments))
}

// strandBytes is what a configuration says of strands: which it is, how many there are, and how
// long a block is; and, of a reduction by SIMD, the other lanes.
func (h *head) strandBytes() int {
	g := h.g
	if g.Strands == 0 {
		return 0
	}
	n := 6
	if s := &g.Streams[h.sid]; s.Kind == Reduce && h.next > g.from(h.strand, 0) {
		n += int(max(1, g.Lanes)-1) * s.Bytes
	}
	return n
}

// beginStrands configures a stream at the banks where its strands begin.
func (a *active) beginStrands(sid int) {
	g := a.g
	s := &g.Streams[sid]
	entry, known, told := a.placeStrands(sid)
	for k := range g.Strands {
		first := g.from(k, 0)
		if first >= g.N {
			continue
		}
		to := a.c.bankOf(g.line(sid, first))
		h := &head{core: a.c.id, sid: sid, strand: k, g: g, next: first, limit: first, value: s.Zero}
		if k == 0 {
			h.value = s.Init
		}
		if s.Kind == Reduce {
			if a.parts[sid] == nil {
				a.parts[sid], a.arrivals[sid] = make([]uint64, g.Strands), map[int]bool{}
			}
			a.parts[sid][k] = s.Zero
			a.missing[sid]++
		}
		if h.entry = entry; entry > 0 {
			h.short = known.has(to)
			told.add(to)
		}
		a.send(Message{Kind: MsgConfigure, To: to, Stream: sid, head: h})
	}
}

// reduced sends the value of a reduction that has ended; one by SIMD joins its lanes before, by
// halves.
func (b *Bank) reduced(now event.Time, h *head) {
	g, s := h.g, &h.g.Streams[h.sid]
	m := &Message{Kind: MsgFinal, From: b.bank, To: h.core, Core: h.core, Group: g.id, Stream: h.sid, Strand: h.strand, Values: []uint64{h.value}}
	if s.Join == nil || g.Lanes <= 1 {
		b.net.SendStream(m)
		return
	}
	b.at(now+event.Time(bits.Len64(uint64(g.Lanes-1))*s.Func.Latency()), func(event.Time) {
		if !b.dead(h.core, g.id) {
			b.net.SendStream(m)
		}
	})
}

// finalStrand takes the value of a strand, and joins all when they are there.
func (a *active) finalStrand(m *Message) {
	s := &a.g.Streams[m.Stream]
	if a.ended[m.Stream] || m.Strand >= len(a.parts[m.Stream]) || a.arrivals[m.Stream][m.Strand] {
		a.c.fail(fmt.Errorf("se: core %d: strand %d of stream %s ends, which there is not", a.c.id, m.Strand, s.Name))
		return
	}
	a.parts[m.Stream][m.Strand], a.arrivals[m.Stream][m.Strand] = m.Values[0], true
	if a.missing[m.Stream]--; a.missing[m.Stream] > 0 {
		return
	}
	v := a.parts[m.Stream][0]
	for _, x := range a.parts[m.Stream][1:] {
		v = s.Join(v, x)
	}
	a.final[m.Stream], a.ended[m.Stream] = v, true
}

// pauseStrands takes strands from their banks, where they wait for credit from an iteration on,
// and lets them go on from there with the values that they had. It tells whether that is done.
func (a *active) pauseStrands(at int64) bool {
	g := a.g
	if !a.leaving {
		a.leaving, a.acks = true, 0
		for sid := range g.Streams {
			for k := range g.Strands {
				if next := g.from(k, at); next < g.N {
					if next = g.reads(sid, next); next >= g.N {
						continue // it has read all that banks keep
					}
					a.acks++
					a.send(Message{Kind: MsgEnd, To: a.c.bankOf(g.line(sid, next)), Stream: sid, Strand: k, head: g.itself(), First: next})
				}
			}
		}
	}
	if a.acks > 0 {
		return false
	}
	a.leaving, a.faulty = false, -1
	g.keptFrom = at // banks keep nothing of streams that are not there
	for sid := range g.Streams {
		for k := range g.Strands {
			next := g.from(k, at)
			if next >= g.N {
				continue
			}
			h := &head{core: a.c.id, sid: sid, strand: k, g: g, next: next, limit: next}
			if t := a.taken[g.number(sid, k)]; t != nil {
				delete(a.taken, g.number(sid, k))
				h.value = t.value
			}
			a.send(Message{Kind: MsgConfigure, To: a.c.bankOf(g.line(sid, next)), Stream: sid, head: h})
		}
	}
	return true
}
