package se

import (
	"fmt"
	"slices"
)

// Banks may remember the configuration of streams that were there (section IV.D): of those that chase
// pointers, as others come to a bank seldom. It has one of the entries that the core has in the
// tables of all banks, for all instances of its loop, and stays when these go on or end. What goes to
// a bank that remembers it is what changes: iteration, values, and the parameters of the instance.
// Which banks these are goes along until they are all, and to the core with what the loop leaves
// behind. An entry is written again by the next loop that has it, so that nothing need be ended
// that has ended; when streams end before their time the core forgets which banks have what.

// banks is a set of banks.
type banks []uint64

func newBanks(n int) banks { return make(banks, (n+63)/64) }

func (s banks) has(bank int) bool { return s[bank/64]>>(bank%64)&1 != 0 }

func (s banks) add(bank int) { s[bank/64] |= 1 << (bank % 64) }

// all reports whether the set has all of n banks.
func (s banks) all(n int) bool {
	for bank := range n {
		if !s.has(bank) {
			return false
		}
	}
	return true
}

// configured says which stream of the program an entry is of.
type configured struct {
	loop        uint32
	sid, config int
}

// record is an entry: a place of a core's streams in the tables of banks.
type record struct {
	configured
	group uint32 // the last instance that has it
	known banks  // that have it
}

// place gives a stream an entry, with the configuration that it needs if there is one.
func (a *active) place(h *head) {
	c, g := a.c, a.g
	s := &g.Streams[h.sid]
	if !c.spec.Remember || s.Kind != Chase {
		return
	}
	is := configured{g.Loop, h.sid, s.Config}
	if c.records == nil {
		c.records = make([]record, c.spec.Streams)
	}
	best := slices.IndexFunc(c.records, func(r record) bool { return r.configured == is })
	for i := range c.records {
		if best >= 0 && (c.records[best].configured == is || c.records[best].group <= c.records[i].group) {
			continue
		}
		if !slices.ContainsFunc(c.loops, func(o *active) bool { return o.g.Loop == c.records[i].loop && !o.over() }) {
			best = i // that which was used last the longest ago
		}
	}
	if best < 0 {
		return
	}
	r := &c.records[best]
	if r.configured != is || r.group <= c.forgot {
		r.known = newBanks(c.spec.Banks)
	}
	r.configured, r.group = is, g.id
	h.entry, h.where = best+1, slices.Clone(r.known)
}

// goes notes that a stream is sent to a bank: as a whole, or what changes if that remembers it.
func (h *head) goes(to int, spec *Spec) {
	if h.entry == 0 {
		return
	}
	h.short = h.where.has(to)
	h.where.add(to)
	h.telling = 0
	if !h.where.all(spec.Banks) {
		h.telling = (spec.Banks + 7) / 8
	}
}

// learns takes the banks that remember a stream that has ended.
func (a *active) learns(h *head) {
	if c := a.c; h != nil && h.entry > 0 && a.g.id > c.forgot {
		for i, word := range h.where {
			c.records[h.entry-1].known[i] |= word
		}
	}
}

// remembers takes the configuration of a stream, or finds it.
func (b *Bank) remembers(m *Message) {
	h := m.head
	if h.entry == 0 {
		return
	}
	s := &h.g.Streams[h.sid]
	at, is := [2]int{h.core, h.entry}, configured{h.g.Loop, h.sid, s.Config}
	if h.short {
		b.Counters.Remembered++
		if b.table[at] != is {
			b.fail(fmt.Errorf("se: bank %d: has no configuration of stream %s", b.bank, s.Name))
		}
		return
	}
	b.table[at] = is
}
