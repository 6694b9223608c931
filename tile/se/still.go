package se

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// Between samples the engines go on out of time: on an event engine of their own, whose time
// nobody counts, with messages that arrive at once.

// coreTimer is the time of the engine of a core, and its handlers there.
type coreTimer struct {
	engine                                  *event.Engine
	reply, fetch, goOn, watching, switching event.Handler
}

func (c *Core) timer(e *event.Engine) coreTimer {
	return coreTimer{
		engine: e,
		reply: e.Handle(func(now event.Time, _ uint64) {
			c.replying = false
			c.answer(now)
		}),
		fetch: e.Handle(func(now event.Time, _ uint64) {
			if c.fetching = false; c.fifo != nil {
				c.fifo.goOn(now)
			}
		}),
		goOn:      e.Handle(func(now event.Time, _ uint64) { c.restore(now) }),
		watching:  e.Handle(c.watch),
		switching: e.Handle(c.switches),
	}
}

// bankTimer is the time of the engine of a bank, and its handlers there.
type bankTimer struct {
	engine               *event.Engine
	tick, later, drained event.Handler
}

func (b *Bank) timer(e *event.Engine) bankTimer {
	return bankTimer{
		engine: e,
		tick: e.Handle(func(now event.Time, _ uint64) {
			b.ticking = false
			b.issue(now)
		}),
		later: e.Handle(b.do),
		drained: e.Handle(func(now event.Time, _ uint64) {
			b.draining = false
			b.wake(now)
		}),
	}
}

// Rest lets the engine not look whether streams make progress, so that it comes to rest, or
// look again.
func (c *Core) Rest(on bool) {
	c.resting = on
	for _, a := range c.loops {
		switch {
		case on:
			c.engine.Cancel(a.watch)
		case !a.over():
			a.lookAfter(c.engine.Now())
		}
	}
}

// Rest lets the engine begin nothing more, so that all that is under way comes to its end and streams stay
// where they are, or go on.
func (b *Bank) Rest(on bool) {
	b.resting = on
	if !on {
		b.wake(b.engine.Now())
	}
}

// Locked reports whether lines are under way, or held.
func (b *Bank) Locked() bool { return b.agent.lines.n > 0 }

// Warm makes an access to the caches of a core at once.
type Warm func(pc uint32, line mem.Line, write bool) *mem.Bytes

// Still takes the engine out of time while nothing is under way, to an event engine and a
// network whose messages take no time. Ahead brings what warm will look at into the caches of the host.
func (c *Core) Still(e *event.Engine, net Network, warm Warm, ahead func(line mem.Line, near bool)) (timed func()) {
	was, over := c.coreTimer, c.net
	c.coreTimer, c.net, c.warm, c.foresee = c.timer(e), net, warm, ahead
	return func() {
		c.coreTimer, c.net, c.warm, c.foresee = was, over, nil, nil
		c.soon(c.engine.Now())
	}
}

// Left tells that the core has left what it has fetched, loads that wait for streams among it.
func (c *Core) Left() { c.waiting = c.waiting[:0] }

// Access is an access of the core out of time.
func (c *Core) Access(pc uint32, line mem.Line, write bool) *mem.Bytes {
	if line >= Window/mem.LineBytes {
		b := c.serve(line)
		if b == nil {
			c.fail(fmt.Errorf("se: core %d: a load of what streams do not have, between samples: %s", c.id, c.Waits()))
			b = &mem.Bytes{}
		}
		return b
	}
	if c.fifo != nil && write {
		c.fifo.flush(line)
	} else if c.fifo != nil {
		if b, _ := c.fifo.load(pc, line, 0); b != nil {
			return b
		}
	}
	return c.warm(pc, line, write)
}

// Stale tells that a line has changed which a core has a copy of.
func (c *Core) Stale(line mem.Line) {
	if c.fifo != nil {
		c.fifo.flush(line)
	}
	for _, f := range c.left {
		f.flush(line)
	}
}

// Still takes the engine out of time, as that of a core.
func (b *Bank) Still(e *event.Engine, coherent mem.Network, net Network) (timed func(), err error) {
	if b.Locked() {
		return nil, fmt.Errorf("se: bank %d: its lines are still under way, and nothing happens any more", b.bank)
	}
	was, over, lines := b.bankTimer, b.net, b.agent.net
	b.bankTimer, b.net, b.agent.net = b.timer(e), net, coherent
	b.idle()
	b.Rest(false)
	return func() {
		b.bankTimer, b.net, b.agent.net = was, over, lines
		b.idle()
		b.Rest(false)
	}, nil
}

// Write changes bytes of a line out of time, when its messages are delivered: nobody but the bank has it then.
func (b *Bank) Write(line mem.Line, from uint64, data []byte) {
	b.agent.change(line, func(x *mem.Bytes) { copy(x[from:], data) }, func(event.Time) {})
}

// idle forgets the times of what has been computed.
func (b *Bank) idle() {
	b.next, b.pe, b.scm = 0, 0, contexts{spec: b.spec}
	for _, h := range b.heads.list {
		h.known, h.waited, h.alone, h.ready = 0, 0, false, b.engine.Now()
	}
	if b.tlb != nil {
		b.tlb.Idle()
	}
}
