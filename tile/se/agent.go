package se

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// agent is the port of a stream engine to the bank beside it: a participant of the
// coherence protocol that keeps no copies. It reads what the bank, or the core that owns
// the line, has at the time; to write it becomes the owner, and gives the line back at
// once. Its place is that of a core beyond the last one, so that the directory needs no bit
// for it.
type agent struct {
	net   mem.Network
	self  mem.Place
	home  mem.Place
	lines table[*access] // by where they lie, as chunks of no stream
	place func(mem.Line) mem.Line
	fail  func(error)
	out   mem.Message
	data  mem.Bytes // that those who read are shown
	// Unused ones.
	accesses []*access
	writes   []*write
	done     []*write // scratch of perform
}

// access is what is under way for a line: reads together, or one write.
type access struct {
	reads   []func(now event.Time, b *mem.Bytes)
	read    []func(now event.Time, b *mem.Bytes) // that have been called: room for others
	write   *write
	waiting []*write // and reads behind them
}

// write changes a line, or, without change, reads it behind writes.
type write struct {
	change       func(b *mem.Bytes)
	read         func(now event.Time, b *mem.Bytes)
	done         func(now event.Time)
	needed, have int
	data         mem.Bytes
	has          bool // the data, and how many copies are to vanish
	locks        bool // the line stays here until it is unlocked
}

func newAgent(net mem.Network, bank int, place func(mem.Line) mem.Line, fail func(error)) *agent {
	return &agent{net: net, self: mem.Place{Kind: mem.Core, Index: int16(mem.MaxCores + bank)}, home: mem.Place{Kind: mem.Bank, Index: int16(bank)}, place: place, fail: fail}
}

func (a *agent) send(m mem.Message) {
	a.out = m
	a.out.From = a.self
	a.net.Send(&a.out)
}

func (a *agent) line(line mem.Line) *access {
	x, _ := a.lines.get(alone(line))
	if x == nil {
		if k := len(a.accesses); k > 0 {
			x, a.accesses = a.accesses[k-1], a.accesses[:k-1]
		} else {
			x = &access{}
		}
		a.lines.set(alone(line), x)
	}
	return x
}

// read calls back with the bytes of a line.
func (a *agent) read(line mem.Line, done func(now event.Time, b *mem.Bytes)) {
	line = a.place(line)
	x := a.line(line)
	if x.write != nil || len(x.waiting) > 0 {
		x.waiting = append(x.waiting, &write{read: done})
		return
	}
	x.reads = append(x.reads, done)
	if len(x.reads) == 1 { // the others are served with it
		a.send(mem.Message{Kind: mem.MsgGetS, To: a.home, Asks: a.self.Index, Line: line})
	}
}

// change writes a line, and calls back when that is performed.
func (a *agent) change(line mem.Line, change func(b *mem.Bytes), done func(now event.Time)) {
	line = a.place(line)
	x := a.line(line)
	w := a.newWrite()
	w.change, w.done = change, done
	if x.write != nil || len(x.waiting) > 0 || len(x.reads) > 0 {
		x.waiting = append(x.waiting, w)
		return
	}
	a.own(line, x, w)
}

// newWrite returns a write that has nothing yet.
func (a *agent) newWrite() *write {
	k := len(a.writes)
	if k == 0 {
		return &write{needed: -1}
	}
	w := a.writes[k-1]
	a.writes = a.writes[:k-1]
	return w
}

// forget keeps a write that is performed for others.
func (a *agent) forget(w *write) {
	if w.locks { // who has locked the line may look at its bytes
		return
	}
	*w = write{needed: -1}
	a.writes = append(a.writes, w)
}

// lock takes a line, and calls back with its bytes: the bank lets all other accesses to it
// wait until it is unlocked.
func (a *agent) lock(line mem.Line, got func(b *mem.Bytes)) {
	line = a.place(line)
	x := a.line(line)
	w := &write{change: got, done: func(event.Time) {}, needed: -1, locks: true}
	if x.write != nil || len(x.waiting) > 0 || len(x.reads) > 0 {
		x.waiting = append(x.waiting, w)
		return
	}
	a.own(line, x, w)
}

// unlock gives a locked line back, with what has been written into its bytes.
func (a *agent) unlock(line mem.Line) {
	line = a.place(line)
	x, _ := a.lines.get(alone(line))
	a.back(line, x.write)
}

func (a *agent) own(line mem.Line, x *access, w *write) {
	x.write = w
	a.send(mem.Message{Kind: mem.MsgGetM, To: a.home, Asks: a.self.Index, Line: line})
}

// receive handles a message of the coherence protocol.
func (a *agent) receive(now event.Time, m *mem.Message) {
	x, _ := a.lines.get(alone(m.Line))
	if x == nil {
		a.fail(fmt.Errorf("se: bank %d: unexpected message %s of line %#x", a.home.Index, m.Kind, m.Line))
		return
	}
	w := x.write
	switch m.Kind {
	case mem.MsgDataS:
		if m.From.Kind == mem.Core { // the home waits
			a.send(mem.Message{Kind: mem.MsgUnblock, To: a.home, Line: m.Line})
		}
		reads := x.reads
		x.reads, x.read = x.read[:0], nil
		a.data = m.Data
		for i, f := range reads {
			f(now, &a.data)
			reads[i] = nil
		}
		x.read = reads[:0]
		a.next(m.Line, x)
	case mem.MsgDataM:
		w.data, w.has, w.needed = m.Data, true, int(m.Acks)
		a.perform(now, m.Line, x)
	case mem.MsgInvAck:
		w.have++
		a.perform(now, m.Line, x)
	case mem.MsgFwdGetS: // the bank has not seen yet that the line is given back
		a.send(mem.Message{Kind: mem.MsgDataS, HasData: true, To: mem.Place{Kind: mem.Core, Index: m.Asks}, Line: m.Line, Data: w.data})
		a.send(mem.Message{Kind: mem.MsgCopyBack, HasData: true, Dirty: true, To: a.home, Line: m.Line, Data: w.data})
	case mem.MsgFwdGetM:
		a.send(mem.Message{Kind: mem.MsgDataM, HasData: true, To: mem.Place{Kind: mem.Core, Index: m.Asks}, Line: m.Line, Data: w.data})
	case mem.MsgPutAck:
		x.write = nil
		a.forget(w)
		a.next(m.Line, x)
	default:
		a.fail(fmt.Errorf("se: bank %d: unexpected message %s of line %#x", a.home.Index, m.Kind, m.Line))
	}
}

// perform changes a line when it may be written, and gives it back. It is performed then: whoever
// asks for the line gets it from here until the bank has it.
func (a *agent) perform(now event.Time, line mem.Line, x *access) {
	w := x.write
	if !w.has || w.have < w.needed {
		return
	}
	w.change(&w.data)
	if w.locks {
		return
	}
	done := append(a.done[:0], w)
	for len(x.waiting) > 0 && x.waiting[0].change != nil && !x.waiting[0].locks { // while the line is here
		also := x.waiting[0]
		x.waiting = x.waiting[1:]
		also.change(&w.data)
		done = append(done, also)
	}
	a.back(line, w)
	a.done = done
	for _, x := range done {
		x.done(now)
		if x != w {
			a.forget(x)
		}
	}
}

// back gives a line back.
func (a *agent) back(line mem.Line, w *write) {
	a.send(mem.Message{Kind: mem.MsgUnblock, To: a.home, Line: line})
	a.send(mem.Message{Kind: mem.MsgPut, HasData: true, Dirty: true, To: a.home, Line: line, Data: w.data})
}

// next begins what waits for a line.
func (a *agent) next(line mem.Line, x *access) {
	for len(x.waiting) > 0 && x.write == nil {
		w := x.waiting[0]
		if w.change != nil && len(x.reads) > 0 {
			return
		}
		x.waiting = x.waiting[1:]
		if w.change != nil {
			a.own(line, x, w)
			return
		}
		x.reads = append(x.reads, w.read)
		if len(x.reads) == 1 {
			a.send(mem.Message{Kind: mem.MsgGetS, To: a.home, Asks: a.self.Index, Line: line})
		}
	}
	if x.write == nil && len(x.reads) == 0 && len(x.waiting) == 0 {
		a.lines.take(alone(line))
		a.accesses = append(a.accesses, x)
	}
}
