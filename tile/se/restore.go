package se

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tile/event"
)

// Reason says why streams were ended before their time.
type Reason uint8

// The reasons (section IV.B, Fig. 7).
const (
	Alias   Reason = iota // a stream and the core, or two streams, may access the same bytes
	Fault                 // a page of a stream cannot be accessed
	Switch                // the core gets another context
	Timeout               // nothing has happened for long
	NumReasons
)

var reasonNames = [NumReasons]string{"alias", "fault", "switch", "timeout"}

func (r Reason) String() string {
	if r < NumReasons {
		return reasonNames[r]
	}
	return "?"
}

// Processor is what the engine needs of its core to restore the precise state.
type Processor interface {
	// Squash takes back what is not committed; false: not yet. Resume goes on.
	Squash(now event.Time) bool
	Resume(now event.Time)
	// Unperformed reports whether a committed store may still have to write bytes from lo
	// to before hi.
	Unperformed(lo, hi uint64) bool
}

// Restored is the precise state: of the thread, Committed micro-ops are committed.
type Restored struct {
	Committed uint64
	Loops     []RestoredLoop
}

// RestoredLoop is a loop whose streams have ended. What they write is in memory for the
// iterations before At, and for no other. The core finds the value of a reduction, of the
// iterations before From, as its [Final].
type RestoredLoop struct {
	Group    uint32
	At, From int64
	Aliased  bool
}

// ending is the streams of a core that end before their time.
type ending struct {
	reason   Reason
	squashed bool
	loops    []*active
	aliased  []*active // for the history
}

// end ends the streams of all loops that are in order with the core, and with a switch of
// loops that are not, too. Those of aliased are remembered.
func (c *Core) end(now event.Time, why Reason, aliased ...*active) {
	if c.ending != nil {
		return
	}
	e := &ending{reason: why, aliased: aliased}
	for _, a := range c.loops {
		if !a.over() && !a.g.Bound && (!a.g.SyncFree || why == Switch) {
			e.loops = append(e.loops, a)
		}
	}
	if len(e.loops) == 0 {
		return
	}
	c.Counters.Ended[why]++
	c.forgot = c.ids
	c.ending = e
	c.soonEnd(now)
}

// endFaulty lets streams without an order stop where a page is missing, and go on when the
// system has brought it.
func (c *Core) endFaulty(a *active) {
	c.Counters.Ended[Fault]++
	c.ending = &ending{reason: Fault, loops: []*active{a}}
	c.soonEnd(c.engine.Now())
}

// soonEnd goes on with an ending in the next cycle.
func (c *Core) soonEnd(now event.Time) { c.engine.At(now+1, c.goOn, 0) }

// restore goes on with an ending as far as it can: the core gives back what it has not
// committed, banks write what it has, and forget the streams.
func (c *Core) restore(now event.Time) {
	e := c.ending
	if e == nil {
		return
	}
	if c.spec.Broken == NoSquash {
		e.squashed = true
	}
	if !e.squashed && slices.ContainsFunc(e.loops, func(a *active) bool { return !a.g.SyncFree }) {
		if !c.core.Squash(now) {
			c.soonEnd(now)
			return
		}
		e.squashed = true
		c.waiting = nil
	}
	all := true
	for _, a := range e.loops { // each once: one that has been taken back has begun again
		left := a.leave
		if a.g.SyncFree {
			left = a.pause
		}
		a.left = a.left || left()
		all = all && a.left
	}
	if !all {
		return
	}
	for _, a := range e.loops {
		a.left = false
	}
	c.ending = nil
	if e.squashed {
		r := Restored{Committed: c.commits}
		for _, a := range e.loops {
			if !a.g.SyncFree {
				a.gone = true
				a.leaves(a.g.N)
				l := RestoredLoop{Group: a.g.id, At: a.at, From: a.reducedTo(a.at), Aliased: slices.Contains(e.aliased, a)}
				switch c.spec.Broken {
				case RestoreLate:
					l.At++
				case RestoreEarly:
					l.At--
				case NoHistory:
					l.Aliased = false
				case ForgetLoop:
					continue
				}
				r.Loops = append(r.Loops, l)
			}
		}
		if err := c.source.Restore(r); err != nil {
			c.fail(err)
			return
		}
	}
	c.resumed = now
	c.letGo()
	c.core.Resume(now)
	for _, a := range c.loops {
		if !a.over() {
			a.credit()
		}
	}
	c.gives()
	c.soon(now)
}

// leave lets banks write the rest of what the core has committed, and forget the streams.
// It tells whether that is all done.
func (a *active) leave() bool {
	g, broken := a.g, a.c.spec.Broken
	if !a.leaving { // the part of a range, too
		a.leaving, a.at, a.acks = true, a.reached(), -1
		if g.tied() {
			a.at = a.reducedTo(a.at)
		}
		a.leaveOld()
		if first := g.start(a.told); first < a.at && broken != NoPartCommit {
			for sid := range g.Streams {
				if s := &g.Streams[sid]; s.writes() && !s.Old {
					a.commit(sid, first, a.at)
				}
			}
		}
	}
	if a.acks >= 0 {
		return a.acks == 0
	}
	from := a.reducedTo(a.at)
	if g.Scatters() {
		if !a.recall(from) {
			return false
		}
		for sid, x := range a.joins {
			a.final[sid] = x.value
		}
	}
	for sid := range g.Streams {
		switch s := &g.Streams[sid]; s.Kind {
		case Store, Update:
			if a.done[sid] < max(a.at, a.taking[sid].told) && broken != NoDoneWait && broken != NoPartCommit {
				return false
			}
		case Reduce:
			if s.Scattered {
				break
			}
			if a.done[sid] < from {
				return false
			}
			v, ok := s.Init, from == 0
			if !ok {
				v, ok = a.partial[sid][from]
			}
			if broken == RestoreOld && from > 0 {
				v, ok = s.Init, true
			}
			if !ok {
				a.c.fail(fmt.Errorf("se: core %d: no value of stream %s before iteration %d", a.c.id, s.Name, from))
			}
			a.final[sid] = v
		}
	}
	if broken == NoEnd {
		a.acks = 0
		return true
	}
	// Banks to which streams may have come, also to wait for their next credit.
	var banks []int
	to := min(g.start(a.credited), g.N-1)
	for sid := range g.Streams {
		for i := min(from, to); i <= to; {
			_, end := g.chunk(sid, i)
			if bank := a.c.bankOf(g.line(sid, i)); !slices.Contains(banks, bank) {
				banks = append(banks, bank)
			}
			i = end
		}
	}
	if g.chases() || slices.ContainsFunc(g.Streams, func(s Stream) bool { return s.Old }) { // any may have a request, or the stream
		banks = banks[:0]
		for bank := range a.c.spec.Banks {
			banks = append(banks, bank)
		}
	}
	a.acks = len(banks)
	for _, bank := range banks {
		a.send(Message{Kind: MsgEnd, To: bank, Stream: everyStream})
	}
	return false
}

// tied reports whether a reduction takes what elements were before an update: as it is
// computed again from the beginning of a range, the update must not be written further.
func (g *Group) tied() bool {
	return slices.ContainsFunc(g.Streams, func(s Stream) bool {
		return s.Kind == Reduce && slices.ContainsFunc(s.Inputs, func(in int) bool { return g.Streams[in].writes() })
	})
}

// everyStream is the stream of a message that concerns all of a loop.
const everyStream = -1

// reached is how many iterations are part of the precise state: none of a loop that chases
// pointers before it has ended.
func (a *active) reached() int64 {
	if a.g.chases() {
		return 0
	}
	return a.committed
}

// reducedTo is the end of the last range of which a reduction has told its value, among the
// iterations before one.
func (a *active) reducedTo(at int64) int64 {
	return a.g.reported(at)
}

// pause takes streams without an order between them from their banks, where they have come
// to the end of what is credited: their progress is part of the state of the program
// (section V). Then they go on from there. It tells whether that is all done.
func (a *active) pause() bool {
	g := a.g
	at := g.start(a.credited)
	if g.Fine {
		at = a.committed
	}
	for sid := range g.Streams {
		s := &g.Streams[sid]
		if a.c.spec.Broken == PauseEarly && !a.g.Decoupled {
			break
		}
		if s.sink() && a.done[sid] < at || s.ToCore && a.received[sid] < at || s.Kind == Reduce && at == g.N && !a.ended[sid] {
			return false
		}
	}
	if g.chases() {
		return a.over()
	}
	if g.Fine {
		a.faulty = -1
		return true // no stream is at a bank
	}
	if at == g.N {
		return true // they have ended by themselves
	}
	if g.Strands > 0 {
		return a.pauseStrands(at)
	}
	if !a.leaving {
		a.leaving, a.acks = true, 0
		for sid := range g.Streams {
			if g.Streams[sid].Scattered || !g.leads(sid) || slices.Contains(a.held, sid) {
				continue
			}
			a.acks++
			a.send(Message{Kind: MsgEnd, To: a.c.bankOf(g.line(sid, at)), Stream: sid, head: g.itself(), First: at})
		}
	}
	if a.acks > 0 || !a.gather(at) {
		return false
	}
	a.leaving, a.faulty = false, -1
	for sid, x := range a.joins { // banks begin with new parts
		a.joins[sid] = &joining{init: x.value}
		delete(a.visits, g.Streams[sid].Near)
	}
	if a.c.spec.Broken == PauseLate {
		at = min(at+g.Range, g.N-1)
	}
	for sid := range g.Streams {
		if g.Streams[sid].Scattered || !g.leads(sid) || slices.Contains(a.held, sid) {
			continue
		}
		h := newHead(a.c.id, sid, g, at)
		if v, ok := a.partial[sid][at]; ok {
			h.value = v
		}
		if t := a.taken[sid]; t != nil && len(g.Streams[sid].reducers) == 0 {
			h.issued = t.issued
		}
		a.send(Message{Kind: MsgConfigure, To: a.c.bankOf(g.line(sid, at)), Stream: sid, head: h})
	}
	return true
}

// dead reports whether streams of a core have been ended here.
func (b *Bank) dead(core int, group uint32) bool { return b.ended[core][group] }

// end forgets what is here of the streams of a loop; or it takes back one stream that waits
// for credit, as soon as it is here.
func (b *Bank) end(m *Message) {
	if m.Stream != everyStream {
		k := newKey(m.Core, m.Group, m.Stream)
		b.forgetKept(func(s strand) bool { return s == strand{k, m.Strand} })
		for i, h := range b.heads.list {
			if h.core == m.Core && h.g.id == m.Group && h.sid == m.Stream && h.strand == m.Strand {
				b.remove(i)
				delete(b.taken, strand{k, m.Strand})
				b.emit(Message{Kind: MsgEnded, From: b.bank, To: m.Core, Core: m.Core, Group: m.Group, Stream: m.Stream, head: h})
				return
			}
		}
		b.taken[strand{k, m.Strand}] = m
		return
	}
	ended := b.ended[m.Core]
	if ended == nil {
		ended = map[uint32]bool{}
		b.ended[m.Core] = ended
	}
	for g := range ended {
		if g+windowGroups < m.Group {
			delete(ended, g) // nothing of it is under way
		}
	}
	ended[m.Group] = true
	mine := func(k key) bool { return int(k.core) == m.Core && k.group == m.Group }
	if b.spec.Broken == DiscardWritten {
		for _, p := range b.slots.of(mine) {
			if x, _ := b.slots.get(p); x != nil && x.out != nil && x.g.Streams[p.sid].writes() {
				b.commit(0, p.key, x.g, p.first, x.end)
			}
		}
	}
	for i := len(b.heads.list) - 1; i >= 0; i-- {
		if h := b.heads.list[i]; h.core == m.Core && h.g.id == m.Group {
			b.remove(i)
		}
	}
	b.credits.forget(mine)
	for _, p := range b.slots.of(mine) {
		b.drop(p)
	}
	b.commits.forget(mine)
	b.left.forget(mine)
	b.forgetKept(func(s strand) bool { return mine(s.key) })
	if b.spec.Broken != KeepLocks {
		b.forgetLocks(mine)
	}
	b.chains.forget(m.Core, m.Group)
	for k := range b.cut {
		if mine(k) {
			delete(b.cut, k)
		}
	}
	b.emit(Message{Kind: MsgEnded, From: b.bank, To: m.Core, Core: m.Core, Group: m.Group, Stream: everyStream})
}

// patience is how long nothing may happen.
func (a *active) patience() event.Time {
	if slices.ContainsFunc(a.g.Streams, func(s Stream) bool { return s.Old }) {
		return event.Time(a.c.spec.LockTimeout)
	}
	return event.Time(a.c.spec.Timeout)
}

// watch ends streams that have made no progress since it looked last (section IV.B).
func (c *Core) watch(now event.Time, group uint64) {
	a := c.of(uint32(group))
	if a == nil || a.over() || c.ending != nil {
		return
	}
	if a.progress == a.seen && a.first && a.oldest() {
		c.end(now, Timeout)
		return
	}
	a.lookAfter(now)
}

// oldest reports whether no loop of the core is under way that is in front of one: what is behind
// may wait for it, which is no reason to end it when that is over.
func (a *active) oldest() bool {
	return !slices.ContainsFunc(a.c.loops, func(o *active) bool { return o.g.id < a.g.id && !o.over() })
}

// lookAfter lets the engine look later whether streams that may be ended make progress.
func (a *active) lookAfter(now event.Time) {
	a.first = a.oldest()
	if a.seen = a.progress; !a.g.SyncFree && !a.g.Bound && !a.c.resting && a.patience() > 0 {
		a.watch = a.c.engine.At(now+a.patience(), a.c.watching, uint64(a.g.id))
	}
}
