package se

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// An atomic update whose old value the core takes is made in two steps (section IV.C): its
// bank computes what the element becomes and sends what it was, and keeps the line from all
// others until the core has committed the range; then it writes. Updates of one stream see
// what earlier ones have computed. With locks for many readers and one writer, updates that
// leave their element as it is share a line. Locks are taken in no order and released in
// that of the program, so that streams may wait for each other: they are ended after a
// timeout (restore.go).

// lock is a line that streams have taken.
type lock struct {
	data    *mem.Bytes // nil until it is here
	holders map[key]*hold
	queue   []*attempt
}

// hold is the updates of a stream that have been made on a line and are not committed.
type hold struct{ reads, writes int }

// attempt is an update that has come to its bank.
type attempt struct {
	key
	m     *Message
	s     *Stream
	since event.Time
	waits bool // for others
}

// made is an update that is not committed.
type made struct {
	iter    int64
	addr    uint64
	found   uint64
	value   uint64
	changes bool
}

// attempt takes the next update of a stream, in their order.
func (b *Bank) attempt(now event.Time, k key, m *Message, s *Stream) {
	line := m.Low / mem.LineBytes
	l := b.locks[line]
	if l == nil {
		l = &lock{holders: map[key]*hold{}}
		b.locks[line] = l
		b.agent.lock(line, func(data *mem.Bytes) {
			l.data = data
			b.grant(b.engine.Now(), line)
		})
	}
	b.Counters.Atomics++
	l.queue = append(l.queue, &attempt{key: k, m: m, s: s, since: now})
	b.grant(now, line)
}

// grant makes the updates of a line that need not wait, in the order in which they have
// come: the first that waits lets all others wait, but those of streams that have the line.
func (b *Bank) grant(now event.Time, line mem.Line) {
	l := b.locks[line]
	if l.data == nil {
		return
	}
	behind := map[key]bool{} // one that waits
	queue := l.queue
	l.queue = nil
	for _, t := range queue {
		if behind[t.key] || len(behind) > 0 && l.holders[t.key] == nil || !b.make(now, l, t) {
			behind[t.key] = true
			if !t.waits && l.data != nil {
				t.waits = true
				b.Counters.Conflicts++
			}
			l.queue = append(l.queue, t)
		}
	}
	b.unlock(line)
}

// make makes an update if no other stream keeps it from its line, and sends what the
// element was.
func (b *Bank) make(now event.Time, l *lock, t *attempt) bool {
	m, s := t.m, t.s
	old := word(l.data, m.Low, s.Bytes)
	for _, x := range b.made[t.key] { // the stream's own come first
		if x.addr == m.Low && x.changes {
			old = x.value
		}
	}
	v, ok := s.Func.Eval(old, m.Values, m.First)
	changes := ok && v != old
	for k, h := range l.holders {
		if b.spec.Broken == NoLock || k == t.key {
			continue
		}
		if !b.spec.MultiReader || h.writes > 0 || changes && b.spec.Broken != ReaderWrites {
			return false
		}
	}
	h := l.holders[t.key]
	if h == nil {
		h = &hold{}
		l.holders[t.key] = h
	}
	if changes {
		h.writes++
	} else {
		h.reads++
	}
	if t.waits {
		b.Counters.ConflictCycles += uint64(now - t.since)
	}
	b.Counters.Reads++
	b.Counters.Computed++
	b.Counters.Operations += uint64(s.Func.Ops())
	list := b.made[t.key]
	at := len(list)
	for at > 0 && list[at-1].iter > m.First { // one that waited longer, for another line
		at--
	}
	b.made[t.key] = slices.Insert(list, at, made{m.First, m.Low, old, v, changes})
	b.at(b.occupy(now, s, 1, 1), func(event.Time) {
		if !b.dead(int(t.core), t.group) {
			b.was(t.key, m, s, old)
		}
	})
	return true
}

// was sends the core what an element was.
func (b *Bank) was(k key, m *Message, s *Stream, old uint64) {
	b.emit(Message{Kind: MsgData, From: b.bank, To: int(k.core), Core: int(k.core), Group: k.group, Stream: int(k.sid), First: m.First, End: m.End, Values: []uint64{old}, bytes: s.Bytes})
}

// release writes the updates of a stream for some iterations, and lets go of their lines.
func (b *Bank) release(k key, g *Group, first, end int64) {
	s := &g.Streams[k.sid]
	list := b.made[k]
	if len(list) > 0 && list[0].iter < first { // this commit has overtaken another one
		b.early[k] = append(b.early[k], [2]int64{first, end})
		return
	}
	n := 0
	for n < len(list) && list[n].iter < end {
		n++
	}
	if n == 0 {
		b.fail(fmt.Errorf("se: bank %d: commit of iterations %d to %d of stream %s, which are not here", b.bank, first, end, s.Name))
		return
	}
	b.made[k] = list[n:]
	for _, x := range list[:n] {
		line := x.addr / mem.LineBytes
		l := b.locks[line]
		if word(l.data, x.addr, s.Bytes) != x.found {
			b.fail(fmt.Errorf("se: bank %d: the element at %#x has changed since iteration %d of stream %s locked it", b.bank, x.addr, x.iter, s.Name))
		}
		if x.changes {
			b.Counters.Writes++
			put(l.data, x.addr, s.Bytes, x.value)
			if s.Performed != nil {
				s.Performed(x.addr, x.value)
			}
		}
		b.let(l, k, x)
		b.grant(b.engine.Now(), line)
	}
	if len(b.made[k]) == 0 {
		delete(b.made, k)
	}
	b.done(k, first, first+int64(n))
	early := b.early[k]
	delete(b.early, k)
	for _, x := range early {
		b.release(k, g, x[0], x[1])
	}
}

// let takes an update from those that keep a line.
func (b *Bank) let(l *lock, k key, x made) {
	if b.spec.Broken == NoRelease {
		return
	}
	h := l.holders[k]
	if x.changes {
		h.writes--
	} else {
		h.reads--
	}
	if h.reads+h.writes == 0 {
		delete(l.holders, k)
	}
}

// unlock gives a line back that nobody has or waits for.
func (b *Bank) unlock(line mem.Line) {
	if l := b.locks[line]; l != nil && l.data != nil && len(l.holders) == 0 && len(l.queue) == 0 {
		delete(b.locks, line)
		b.agent.unlock(line)
	}
}

// forgetLocks lets go of all that streams of a loop have made and not committed.
func (b *Bank) forgetLocks(mine func(key) bool) {
	for k := range b.made {
		if mine(k) {
			delete(b.made, k)
			delete(b.early, k)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(b.locks)) {
		l := b.locks[line]
		for k := range l.holders {
			if mine(k) {
				delete(l.holders, k)
			}
		}
		l.queue = slices.DeleteFunc(l.queue, func(t *attempt) bool { return mine(t.key) })
		b.grant(b.engine.Now(), line)
	}
}

// swap changes an element at once, where streams need no order, and sends what it was.
func (b *Bank) swap(now event.Time, k key, m *Message, s *Stream) {
	b.Counters.Atomics++
	b.Counters.Reads++
	b.Counters.Computed++
	b.Counters.Operations += uint64(s.Func.Ops())
	b.at(b.inOrder(k, b.occupy(now, s, 1, 1)), func(event.Time) {
		b.agent.change(m.Low/mem.LineBytes, func(data *mem.Bytes) {
			old := word(data, m.Low, s.Bytes)
			b.was(k, m, s, old)
			v, ok := s.Func.Eval(old, m.Values, m.First)
			if !ok || v == old {
				return
			}
			b.Counters.Writes++
			put(data, m.Low, s.Bytes, v)
			if s.Performed != nil {
				s.Performed(m.Low, v)
			}
		}, func(event.Time) { b.done(k, m.First, m.End) })
	})
}

// Of the core: updates whose old value it takes.

// taking is what the engine of the core knows of them, of a stream.
type taking struct {
	bank  map[int64]int // by iteration: which has it; -1: none, there is no access
	told  int64         // iterations whose commit was sent
	took  int64         // iterations that the thread has gone past
	owing map[int64]bool
}

// Known is what the element of an update was, if that has come to the core. The thread goes
// on with it, so that the update will be written whatever happens.
func (g *Group) Known(sid int, i int64) (old uint64, ok bool) {
	if g.active == nil {
		return 0, false
	}
	if old, ok = g.active.data[sid][i]; ok {
		g.Took(sid, i)
	}
	return old, ok
}

// Took says that the thread has gone on with what the element of an update was.
func (g *Group) Took(sid int, i int64) { g.active.taking[sid].took = i + 1 }

// arrived notes which bank has made an update.
func (a *active) arrived(m *Message) {
	t := a.taking[m.Stream]
	if a.g.SyncFree {
		if len(m.Values) == 0 {
			a.finished(m.Stream, m.First, m.End)
		}
		return
	}
	t.bank[m.First] = m.From
	if len(m.Values) == 0 {
		t.bank[m.First] = -1
	}
	if t.owing[m.First] {
		delete(t.owing, m.First)
		a.commitOld(m.Stream, m.First, m.First+1)
	}
}

// commitOld lets banks write the updates of some iterations.
func (a *active) commitOld(sid int, first, end int64) {
	t := a.taking[sid]
	t.told = max(t.told, end)
	banks := map[int][2]int64{}
	for i := first; i < end; i++ {
		bank, ok := t.bank[i]
		switch {
		case !ok && a.leaving: // the thread did not take it: nothing becomes of it
			a.finished(sid, i, i+1)
		case !ok:
			t.owing[i] = true
		case bank < 0:
			a.finished(sid, i, i+1)
		default:
			x, ok := banks[bank]
			if !ok {
				x[0] = i
			}
			banks[bank] = [2]int64{x[0], i + 1}
		}
		delete(t.bank, i)
		delete(a.data[sid], i)
	}
	for _, bank := range slices.Sorted(maps.Keys(banks)) {
		a.send(Message{Kind: MsgCommit, To: bank, Stream: sid, head: a.g.itself(), First: banks[bank][0], End: banks[bank][1]})
	}
}

// leaveOld lets banks write what the core has committed, and all that its thread has gone on
// with.
func (a *active) leaveOld() {
	for sid := range a.g.Streams {
		if !a.g.Streams[sid].Old {
			continue
		}
		t := a.taking[sid]
		for i := range t.owing { // what has not come was not taken
			a.finished(sid, i, i+1)
		}
		clear(t.owing)
		for end := max(a.at, t.took); t.told < end; {
			a.commitOld(sid, t.told, min(end, (t.told/a.g.Range+1)*a.g.Range))
		}
	}
}

// behind reports whether a stream that makes updates waits for those of the instance before: what
// updates of one element find is in the order of the program, and they are made, and lines
// locked, when their old values are there.
func (a *active) behind(sid int) bool {
	if s := &a.g.Streams[sid]; !s.Old || a.c.spec.Broken == MixInstances {
		return false
	}
	var last *active
	for _, o := range a.c.loops {
		if o == a {
			break
		}
		if o.g.Loop == a.g.Loop && !o.gone {
			last = o
		}
	}
	return last != nil && last.received[sid] < last.g.N
}

// letGo configures streams that have waited for the instance before.
func (c *Core) letGo() {
	if c.ending != nil {
		return
	}
	for _, a := range c.loops {
		if a.gone || len(a.held) == 0 {
			continue
		}
		a.held = slices.DeleteFunc(a.held, func(sid int) bool {
			if a.behind(sid) {
				return false
			}
			a.send(Message{Kind: MsgConfigure, To: c.bankOf(a.g.line(sid, 0)), Stream: sid, head: newHead(c.id, sid, a.g, 0)})
			return true
		})
		if a.g.SyncFree {
			a.credit()
		}
	}
}
