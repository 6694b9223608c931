package se

import (
	"fmt"
	"maps"
	"slices"
)

// The buffer of a bank has the operands and results of computations until they are written or sent
// on. It is divided among cores: each has a share of it, and its engine lets a range begin where
// there is room for all of it in each of its banks (section IV.B, resource management). With
// sharing, which the paper leaves to future work, a core asks the bank for room before it uses any.
// It gets what nobody has, above its share, too, and gives all of it back when its loops
// have ended. A core that has less than its share gets that whatever others have: the bank takes
// back what they have above theirs, as soon as what lies there is written. A range takes its room in
// all banks before it begins, so that none that has begun waits for any.

// need is the bytes of the buffer that an iteration of a stream takes at its bank: its operands,
// in whose place the result comes. What a plain load reads is sent on at once.
func (g *Group) need(sid int) (n int64) {
	s := &g.Streams[sid]
	switch {
	case g.Fine, s.Task, s.Scattered, s.Kind == Chase:
		return 0 // rivals have no such buffer; of parts of sums and of chases there is one for each bank, and each stream
	case s.Indirect: // what its address follows from, until the request is made
		return int64(g.Streams[s.Near].Bytes * (1 + len(s.Fields)))
	case s.Kind == Load && s.Func == nil:
		return 0
	}
	for _, in := range s.Inputs {
		if x := &g.Streams[in]; !x.still() { // that one is kept once
			n += int64(x.sent())
		}
	}
	if s.Kind == Update || s.Kind == Load {
		n += int64(s.Bytes)
	}
	return max(n, int64(s.Bytes))
}

// Fit halves ranges until each has room at a bank, and reports whether it has. room is the bytes of
// a core's share; 0: there is enough for all.
func (g *Group) Fit(room int64) bool {
	if room == 0 {
		return true
	}
	n := int64(0)
	for sid := range g.Streams {
		n += g.need(sid)
	}
	for g.Range*n > room && g.Range/g.Lanes%2 == 0 { // strands are of whole ranges
		g.Range /= 2
	}
	return g.Range*n <= room
}

// place is bytes of the buffer of a bank.
type place struct {
	bank  int
	bytes int64
}

// stay is the room of a range that has begun.
type stay struct {
	end    int64
	places []place
}

// places is the room that a range takes.
func (a *active) places(k int64) (list []place) {
	g := a.g
	first, end := g.start(k), g.start(k+1)
	for sid := range g.Streams {
		n := g.needs[sid]
		for i := first; i < end && n > 0; {
			_, last := g.chunk(sid, i)
			bank := a.c.bankOf(g.line(sid, i))
			at := slices.IndexFunc(list, func(p place) bool { return p.bank == bank })
			if at < 0 {
				at = len(list)
				list = append(list, place{bank: bank})
			}
			list[at].bytes += (last - i) * n
			i = last
		}
	}
	return list
}

// rooms is what the engine of a core knows of the buffers of banks.
type rooms struct {
	used    []int64 // by bank
	held    []int64 // with sharing: what it may use
	asked   []bool
	refused []bool // others have all that is above its share, and it has let go of nothing since
	capped  []bool // what it has above its share is to be given back
	freed   bool   // since loops that wait looked last
}

// enters takes the room of the next range of a loop, if there is enough. A loop leaves as much as a
// range of those in front of it may need, which it waits for.
func (a *active) enters() bool {
	c := a.c
	if c.spec.Room == 0 {
		return true
	}
	if c.rooms.used == nil {
		n := c.spec.Banks
		c.rooms = rooms{used: make([]int64, n), held: make([]int64, n), asked: make([]bool, n), refused: make([]bool, n), capped: make([]bool, n)}
		for i := range c.rooms.held {
			if !c.spec.Sharing {
				c.rooms.held[i] = c.spec.Room
			}
		}
	}
	if a.wanted == nil {
		a.wanted = a.places(a.credited)
	}
	front := int64(0)
	for _, o := range c.loops {
		if o == a {
			break
		}
		if !o.over() && o.credited < o.g.ranges() {
			front = max(front, o.g.most())
		}
	}
	a.blocked = false
	for _, p := range a.wanted {
		r := &c.rooms
		limit := r.held[p.bank]
		if r.capped[p.bank] || front > 0 {
			limit = min(limit, c.spec.Room)
		}
		if c.spec.Broken == OverShare {
			continue
		}
		if r.used[p.bank]+p.bytes+front > limit {
			a.blocked = true
			if c.spec.Sharing && r.used[p.bank]+p.bytes > r.held[p.bank] {
				c.ask(a, p.bank)
			}
		}
	}
	if a.blocked {
		return false
	}
	for _, p := range a.wanted {
		c.rooms.used[p.bank] += p.bytes
	}
	a.stays = append(a.stays, stay{a.g.start(a.credited + 1), a.wanted})
	a.wanted = nil
	c.rooms.freed = c.rooms.freed || a.credited+1 == a.g.ranges() // it leaves nothing to those behind it any more
	return true
}

// most is the bytes that a range may take at one bank.
func (g *Group) most() (n int64) {
	for _, x := range g.needs {
		n += x * g.Range
	}
	return n
}

// leaves lets go of the room of ranges that are done before an iteration.
func (a *active) leaves(before int64) {
	c := a.c
	n := 0
	for ; n < len(a.stays) && a.stays[n].end <= before; n++ {
		for _, p := range a.stays[n].places {
			c.rooms.used[p.bank] -= p.bytes
			c.rooms.refused[p.bank] = false
			c.returns(p.bank)
		}
		c.rooms.freed = true
	}
	a.stays = a.stays[n:]
}

// asksAhead asks for the room of the next range before it is that one's turn.
func (a *active) asksAhead() {
	c := a.c
	if c.spec.Room == 0 || !c.spec.Sharing || a.credited >= a.g.ranges() || c.rooms.held == nil {
		return
	}
	if a.wanted == nil {
		a.wanted = a.places(a.credited)
	}
	for _, p := range a.wanted {
		if p.bytes > c.rooms.held[p.bank] {
			c.ask(a, p.bank)
		}
	}
}

// ask asks a bank for the room of all that may soon be under way there.
func (c *Core) ask(a *active, bank int) {
	r := &c.rooms
	if r.asked[bank] || r.refused[bank] || r.capped[bank] {
		return
	}
	want := r.used[bank]
	limit := a.g.start(a.credited) + a.g.window(c.spec)
	for k := a.credited; k < a.g.ranges() && (k == a.credited || a.g.start(k) < limit); k++ {
		for _, p := range a.places(k) {
			if p.bank == bank {
				want += p.bytes
			}
		}
	}
	r.asked[bank] = true
	c.net.SendStream(&Message{Kind: MsgAsk, From: c.id, To: bank, Core: c.id, Last: want})
}

// lent takes what a bank grants, or is to give back what it has above its share.
func (c *Core) lent(m *Message) {
	r := &c.rooms
	switch {
	case m.Kind == MsgRecall && c.spec.Broken != NoReturn:
		r.capped[m.From] = true
		c.returns(m.From)
	case m.Kind == MsgGrant && !r.asked[m.From]:
		c.fail(fmt.Errorf("se: core %d: bank %d grants room that it was not asked for", c.id, m.From))
	case m.Kind == MsgGrant:
		r.asked[m.From] = false
		r.held[m.From] += m.Last
		r.refused[m.From] = m.Last == 0 && r.held[m.From] >= c.spec.Room // else the ask overtook what was given back
		r.freed = true
		c.returns(m.From)
	}
	for _, a := range c.loops {
		if a.blocked && !a.over() {
			a.credit()
		}
	}
	c.gives()
}

// returns gives back what a bank has asked for, as far as nothing lies there. The message may have
// overtaken a grant.
func (c *Core) returns(bank int) {
	r := &c.rooms
	if !r.capped[bank] {
		return
	}
	keep := max(c.spec.Room, r.used[bank])
	c.giveBack(bank, r.held[bank]-keep)
	r.capped[bank] = r.held[bank] > c.spec.Room || r.asked[bank]
}

func (c *Core) giveBack(bank int, n int64) {
	if n > 0 {
		c.rooms.held[bank] -= n
		c.net.SendStream(&Message{Kind: MsgReturn, From: c.id, To: bank, Core: c.id, Last: n})
	}
}

// gives gives all room back when no loop has streams at the L3.
func (c *Core) gives() {
	if !c.spec.Sharing || c.rooms.held == nil || slices.ContainsFunc(c.loops, func(a *active) bool { return !a.over() }) {
		return
	}
	for bank, n := range c.rooms.held {
		c.giveBack(bank, n-c.rooms.used[bank])
		c.rooms.refused[bank] = false
		c.rooms.capped[bank] = c.rooms.capped[bank] && c.rooms.asked[bank]
	}
}

// buffer is that of a bank.
type buffer struct {
	used  map[int]int64 // by core: what lies there
	held  map[int]int64 // with sharing: what each core may use, of which free is left
	free  int64
	asks  []*Message
	taken map[int]bool // what they have above their shares is asked for
}

// enter notes what comes into the buffer, or leaves it.
func (b *Bank) enter(core int, n int64) {
	if b.spec.Room == 0 || n == 0 {
		return
	}
	x := &b.buffer
	x.used[core] += n
	may := b.spec.Room
	if b.spec.Sharing {
		may = x.held[core]
	}
	if x.used[core] > may {
		b.fail(fmt.Errorf("se: bank %d: %d bytes of core %d are in the buffer, expected at most %d", b.bank, x.used[core], core, may))
	}
}

// lends handles what cores ask for and return.
func (b *Bank) lends(m *Message) {
	x := &b.buffer
	if m.Kind == MsgAsk {
		x.asks = append(x.asks, m)
	} else {
		x.held[m.Core] -= m.Last
		x.free += m.Last
		if x.held[m.Core] <= b.spec.Room {
			delete(x.taken, m.Core)
		}
		if x.held[m.Core] < x.used[m.Core] {
			b.fail(fmt.Errorf("se: bank %d: core %d returns room in which there is something", b.bank, m.Core))
		}
	}
	for len(x.asks) > 0 {
		m := x.asks[0]
		has := x.held[m.Core]
		give := max(0, min(m.Last-has, x.free))
		if has+give < min(m.Last, b.spec.Room) { // others have what is this core's
			for _, core := range slices.Sorted(maps.Keys(x.held)) {
				if x.held[core] > b.spec.Room && !x.taken[core] {
					x.taken[core] = true
					b.net.SendStream(&Message{Kind: MsgRecall, From: b.bank, To: core, Core: core})
				}
			}
			return
		}
		x.asks = x.asks[1:]
		if b.spec.Broken != LendTwice {
			x.free -= give
		}
		x.held[m.Core] += give
		b.net.SendStream(&Message{Kind: MsgGrant, From: b.bank, To: m.Core, Core: m.Core, Last: give})
	}
}

// lending reports whether any core has room of the buffer.
func (b *Bank) lending() bool {
	return b.spec.Sharing && b.buffer.free != b.spec.Room*int64(b.spec.Banks) || len(b.buffer.asks) > 0
}
