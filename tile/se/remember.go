package se

import (
	"encoding/binary"
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
//
// Strands are configured at many banks, and loops of them often many times, as the rounds of furthest
// sampling are. Where banks keep patterns they remember these, too: until the addresses of the loop
// change, its strands are configured with what differs.

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

// configured says which stream of the program an entry is of, and for strands with which pattern.
type configured struct {
	loop        uint32
	sid, config int
	pattern     string
}

// pattern is what configurations of the strands of a loop say, but for values: where elements are, also of
// the streams that take others', and how iterations are shared out.
func (g *Group) pattern() string {
	if g.patterns == "" {
		var b []byte
		add := func(list ...int64) {
			for _, v := range list {
				b = binary.LittleEndian.AppendUint64(b, uint64(v))
			}
		}
		add(g.N, g.Row, g.Plane, g.Lanes, g.Range, int64(g.Strands), g.Block, g.Shift)
		for i := range g.Streams {
			s := &g.Streams[i]
			add(int64(s.Base), s.Stride, s.RowStride, s.PlaneStride, int64(s.Bytes), int64(s.Result), int64(s.Kind))
		}
		g.patterns = string(b)
	}
	return g.patterns
}

// record is an entry: a place of a core's streams in the tables of banks.
type record struct {
	configured
	group uint32 // the last instance that has it
	known banks  // that have it
	times int    // that it was written anew
}

// placing is the banks at which strands of a stream were configured. The core knows that they remember it
// once its loop has ended, and those before it that had the entry, as messages may overtake each other.
type placing struct {
	a     *active
	entry int
	times int
	at    banks
}

// place gives a stream that chases pointers an entry, with the configuration that it needs if there is one.
func (a *active) place(h *head) {
	if s := &a.g.Streams[h.sid]; a.c.spec.Remember && s.Kind == Chase {
		var r *record
		if h.entry, r = a.record(configured{loop: a.g.Loop, sid: h.sid, config: s.Config}); r != nil {
			h.where = slices.Clone(r.known)
		}
	}
}

// placeStrands gives the strands of a stream an entry, and says which banks remember them and which are
// to be told; 0 for none.
func (a *active) placeStrands(sid int) (entry int, known, told banks) {
	c := a.c
	if !c.spec.KeepPatterns {
		return 0, nil, nil
	}
	waits := map[int]bool{}
	c.placings = slices.DeleteFunc(c.placings, func(p placing) bool {
		if p.a.gone || p.a.g.id <= c.forgot {
			return true
		}
		if waits[p.entry] = waits[p.entry] || !p.a.over(); waits[p.entry] {
			return false
		}
		if r := &c.records[p.entry-1]; r.times == p.times {
			for i, word := range p.at {
				r.known[i] |= word
			}
		}
		return true
	})
	is := configured{a.g.Loop, sid, a.g.Streams[sid].Config, a.g.pattern()}
	entry, r := a.record(is)
	if r == nil {
		return 0, nil, nil
	}
	told = newBanks(c.spec.Banks)
	c.placings = append(c.placings, placing{a, entry, r.times, told})
	return entry, r.known, told
}

// record returns an entry for a configuration, numbered from 1, 0 if all are in use: that which has it, or
// else one of the same stream, or else that which was used last the longest ago.
func (a *active) record(is configured) (int, *record) {
	c, g := a.c, a.g
	if c.records == nil {
		c.records = make([]record, c.spec.Streams)
	}
	best := slices.IndexFunc(c.records, func(r record) bool { return r.configured == is })
	if best < 0 {
		best = slices.IndexFunc(c.records, func(r record) bool { return r.group > 0 && r.loop == is.loop && r.sid == is.sid })
	}
	if best < 0 {
		for i := range c.records {
			if best >= 0 && c.records[best].group <= c.records[i].group {
				continue
			}
			if !slices.ContainsFunc(c.loops, func(o *active) bool { return o.g.Loop == c.records[i].loop && !o.over() }) {
				best = i
			}
		}
	}
	if best < 0 {
		return 0, nil
	}
	r := &c.records[best]
	if r.configured != is || r.group <= c.forgot {
		r.known = newBanks(c.spec.Banks)
		r.times++
	}
	r.configured, r.group = is, g.id
	return best + 1, r
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
	at, is := [2]int{h.core, h.entry}, configured{loop: h.g.Loop, sid: h.sid, config: s.Config}
	if h.g.Strands > 0 {
		is.pattern = h.g.pattern()
	}
	if h.short {
		b.Counters.Remembered++
		if b.table[at] != is {
			b.fail(fmt.Errorf("se: bank %d: has no configuration of stream %s", b.bank, s.Name))
		}
		return
	}
	b.table[at] = is
}
