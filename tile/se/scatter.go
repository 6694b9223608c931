package se

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bitsched/bitsched/tile/event"
)

// A reduction over an indirect stream has a part in each bank that the stream comes to: the
// bank reduces the elements of its requests, and the engine of the core joins the parts when
// the loop ends (section IV.C, indirect reduction). The bank sets elements of iterations aside
// that the core may not have committed. What has visited which bank is known where requests
// are made; it goes to the core, which asks each of these banks for its part.

// tally is a bank's part of a reduction.
type tally struct {
	taken int64 // requests
	value uint64
	aside []element
	asked *Message // for the part, which lacks requests
}

// element is the operands of an iteration that is set aside.
type element struct {
	iter int64
	in   []uint64
}

// settled is the iteration before which the core has committed all when it credits one.
func (g *Group) settled(i int64, ranges int) int64 {
	if g.SyncFree {
		return g.N
	}
	n := (i/g.Range+1)*g.Range - max(g.Range, int64(ranges)*g.Window)
	return max(0, n/g.Range*g.Range)
}

// reduce takes the element of a request, v, for the reductions over its stream.
func (b *Bank) reduce(now event.Time, h *head, i int64, v, base uint64) {
	g := h.g
	for _, sid := range g.Streams[h.sid].reducers {
		s := &g.Streams[sid]
		in := b.values(len(s.Inputs))
		for k, from := range s.Inputs {
			if in[k] = v; from != h.sid {
				in[k] = base
			}
		}
		b.Counters.Computed++
		b.Counters.Operations += uint64(s.Func.Ops())
		k := newKey(h.core, g.id, sid)
		b.at(b.occupy(now, s, 1, 1), func(event.Time) {
			if b.dead(int(k.core), k.group) {
				return
			}
			x := b.tally(k, s)
			x.taken++
			x.aside = append(x.aside, element{i, in})
			x.fold(s, g.settled(i, b.spec.Ranges))
			b.part(k, g, x)
		})
	}
}

func (b *Bank) tally(k key, s *Stream) *tally {
	x := b.tallies[k]
	if x == nil {
		x = &tally{value: s.Zero}
		b.tallies[k] = x
	}
	return x
}

// fold reduces what was set aside of the iterations before one.
func (x *tally) fold(s *Stream, before int64) {
	x.aside = slices.DeleteFunc(x.aside, func(e element) bool {
		if e.iter >= before {
			return false
		}
		if v, ok := s.Func.Eval(x.value, e.in, e.iter); ok {
			x.value = v
		}
		return true
	})
}

// collect is asked for the part of a reduction.
func (b *Bank) collect(k key, m *Message) {
	g := m.head.g
	if m.Stream < 0 || !g.Streams[m.Stream].Scattered {
		b.fail(fmt.Errorf("se: bank %d: is asked for its part of what is no reduction over banks", b.bank))
		return
	}
	x := b.tally(k, &g.Streams[m.Stream])
	x.asked = m
	b.part(k, g, x)
}

// part sends the part of a reduction when all requests have come.
func (b *Bank) part(k key, g *Group, x *tally) {
	switch m := x.asked; {
	case m == nil || x.taken < m.Last:
	case x.taken > m.Last:
		b.fail(fmt.Errorf("se: bank %d: has taken %d elements of stream %s, expected %d", b.bank, x.taken, g.Streams[k.sid].Name, m.Last))
	default:
		x.fold(&g.Streams[k.sid], m.First)
		delete(b.tallies, k)
		b.emit(Message{Kind: MsgFinal, From: b.bank, To: int(k.core), Core: int(k.core), Group: k.group, Stream: int(k.sid), Values: []uint64{x.value}})
	}
}

// issuedRange tells the core that the requests of a range have been made, and at the end to
// which banks.
func (b *Bank) issuedRange(h *head, end int64) {
	g := h.g
	if end != g.N && end%g.Range != 0 {
		return
	}
	for _, sid := range g.Streams[h.sid].reducers {
		b.done(newKey(h.core, g.id, sid), (end-1)/g.Range*g.Range, end)
	}
	if end == g.N {
		b.emit(Message{Kind: MsgVisited, From: b.bank, To: h.core, Core: h.core, Group: g.id, Stream: h.sid, head: h.moved()})
	}
}

// joining is a reduction whose parts the engine of the core joins.
type joining struct {
	init    uint64 // of what has been joined before
	asked   bool
	missing map[int]bool // banks
	value   uint64
}

// Scatters reports whether there is a reduction over banks.
func (g *Group) Scatters() bool {
	return slices.ContainsFunc(g.Streams, func(s Stream) bool { return s.Scattered })
}

// gather asks for the parts of the iterations before one, and tells whether all are there.
func (a *active) gather(at int64) bool {
	all := true
	for sid := range a.g.Streams {
		s := &a.g.Streams[sid]
		if !s.Scattered {
			continue
		}
		x := a.joins[sid]
		if !x.asked {
			h := a.visits[s.Near]
			if h == nil {
				all = false
				continue
			}
			x.asked, x.value, x.missing = true, x.init, map[int]bool{}
			for _, bank := range slices.Sorted(maps.Keys(h.issued)) {
				x.missing[bank] = true
				a.send(Message{Kind: MsgCollect, To: bank, Stream: sid, First: at, Last: h.issued[bank], head: a.g.itself()})
			}
		}
		all = all && len(x.missing) == 0
	}
	return all
}

// joined takes the part of a bank.
func (a *active) joined(m *Message) {
	x := a.joins[m.Stream]
	if !x.missing[m.From] {
		a.c.fail(fmt.Errorf("se: core %d: bank %d sends a part of stream %s that it was not asked for", a.c.id, m.From, a.g.Streams[m.Stream].Name))
		return
	}
	delete(x.missing, m.From)
	x.value = a.g.Streams[m.Stream].Join(x.value, m.Values[0])
}

// conclude joins reductions over banks when the core has committed the loop, or is promised that
// it will.
func (a *active) conclude() {
	if a.leaving || !a.g.SyncFree && a.committed < a.g.N || len(a.joins) == 0 || !a.gather(a.g.N) {
		return
	}
	for sid, x := range a.joins {
		a.final[sid], a.ended[sid] = x.value, true
	}
}

// recall takes streams back that reductions over banks follow, from where they have come to
// the end of what is credited, and joins the parts of the iterations before one. It tells
// whether that is done.
func (a *active) recall(at int64) bool {
	g := a.g
	to := min(a.credited*g.Range, g.N)
	for sid := range g.Streams {
		if g.Streams[sid].Scattered && a.done[sid] < to {
			return false
		}
	}
	for sid := range g.Streams {
		if s := &g.Streams[sid]; len(s.reducers) > 0 && to < g.N && !a.recalled[sid] {
			a.recalled[sid] = true
			a.send(Message{Kind: MsgEnd, To: a.c.bankOf(g.line(sid, to)), Stream: sid, head: g.itself(), First: to})
		}
	}
	return a.gather(at)
}
