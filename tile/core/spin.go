package core

import (
	"bytes"
	"fmt"
	"slices"
	"unsafe"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

// A thread that waits for another one executes the same few micro-ops over and over: it loads a
// word, compares, and branches back. Between two looks at the word nothing of what the core does
// can be seen from elsewhere, and nothing from elsewhere changes what it does. So once two such
// iterations have been alike, the cycles of those that follow are hollow: their events come as before,
// since the order of the events of a cycle hangs on them, but only the look is executed, through the
// TLB and the caches, which count and age as ever. What else an iteration does, its counters and the branch that is
// foretold, comes in its last cycle. As soon as something is not as before, or somebody asks for the state of
// the core, the cycles of the iteration are executed with what the look has found (catchUp).

// Limits of such an iteration.
const (
	spinOpsMost   = 8
	spinTicksMost = 64
)

// counterWords is how many words Counters has; all of them are uint64.
const counterWords = int(unsafe.Sizeof(Counters{}) / 8)

// spin is what a core knows of a loop that waits. What each hollow cycle needs comes first.
type spin struct {
	on        bool // cycles are hollow
	replay    bool // hollow cycles are executed
	noting    bool // cycles in which something happens are noted
	resolved  bool // a blocking load was resolved in this cycle
	looked    bool // in this iteration
	missed    bool // the line was not there
	step      int  // next of ticks
	look      int  // of ticks, that of the look
	end       event.Time
	ticks     []event.Time // cycles of an iteration in which something happens, since the end of the one before
	translate int          // cycles that the translation of the look took
	found     int          // and its delay
	changed   []int32      // words of delta that are not 0

	// Of the iteration that ended last, with the cycle in which its load was resolved.
	ops    []uop.Op // that were fetched then
	leave  []int    // of ticks, those in which they commit
	at     int      // of these, in the front end
	got    [8]byte
	delta  [counterWords]uint64
	wait   int // for a port
	alike  int // iterations that were as the one before
	before Counters

	// Since then.
	noted  []event.Time
	left   []int // of noted: cycles of commits
	looks  int   // of blocking loads
	lookAt event.Time
	slow   bool // one waited for its translation, or a micro-op was held back
	direct bool // the last of them found its line at once
	delay  int  // after so many cycles for a port

	data mem.Bytes // the line that the look has found, where the word is
}

// between tells whether the core has nothing but the beginning of an iteration, in the cycle in which
// a blocking load was resolved and committed.
func (c *Core) between(now event.Time) bool {
	if c.head != c.tail || c.sHead != c.sTail || !c.blocked || c.redirect || c.resumeAt > now || c.unitsFree > now || c.loadDebt > 0 ||
		c.paused || c.halted || c.onLimit != nil || !c.synchronised || len(c.batches) != 1 || c.batches[0] != c.batch || c.batch.left != len(c.batch.Ops) || c.due != [wheelSize / 64]uint64{} {
		return false
	}
	n := len(c.batch.Ops)
	if n > spinOpsMost || c.frontLen != c.at || c.at == 0 {
		return false
	}
	for i := range c.batch.Ops {
		op := &c.batch.Ops[i]
		if last := i == n-1; last != (op.Flags&uop.Blocking != 0) || last != op.Kind.Memory() ||
			last && (op.Kind != uop.Load || op.Size > 8 || op.Addr%mem.LineBytes+uint64(op.Size) > mem.LineBytes || op.Addr != c.awaited) ||
			(i == c.at-1) != (op.Kind == uop.Branch && op.Flags&uop.Taken != 0 && op.Src[0] != 0) || i != c.at-1 && op.Kind == uop.Branch {
			return false
		}
	}
	return true
}

// compare is called at the end of a cycle in which a blocking load was resolved: it compares the iteration
// that ends with the one before.
func (c *Core) compare(now event.Time) {
	p := &c.spin
	noted := p.noting
	p.resolved, p.noting = false, !c.spec.Plain && c.between(now)
	if !p.noting || !noted {
		c.forget()
		p.end, p.before = now, c.Counters
		return
	}
	was, is := words(&p.before), words(&c.Counters)
	var delta [counterWords]uint64
	for i := range delta {
		delta[i] = is[i] - was[i]
	}
	delta[cyclesWord] = 0
	var got [8]byte
	copy(got[:], c.got[(c.head-1)&c.mask])
	look := slices.Index(p.noted, p.lookAt-p.end)
	if p.looks == 1 && !p.slow && p.direct && look >= 0 && p.at == c.at && p.got == got && p.look == look && p.wait == p.delay &&
		c.Counters.Mispredicted == p.before.Mispredicted && delta == p.delta && slices.Equal(p.ticks, p.noted) && slices.Equal(p.leave, p.left) && len(p.left) == len(p.ops) && slices.Equal(p.ops, c.batch.Ops) {
		p.alike++
	} else {
		p.alike = 0
	}
	p.ops = append(p.ops[:0], c.batch.Ops...)
	p.at, p.got, p.delta, p.look, p.wait = c.at, got, delta, look, p.delay
	p.ticks, p.leave = append(p.ticks[:0], p.noted...), append(p.leave[:0], p.left...)
	p.end, p.before = now, c.Counters
	p.renew()
	if p.alike == 0 || c.Quiet != nil && !c.Quiet() {
		return
	}
	p.changed = p.changed[:0]
	for i, d := range delta {
		if d != 0 {
			p.changed = append(p.changed, int32(i))
		}
	}
	p.on, p.noting, p.looked, p.step = true, false, false, 0
}

// forget lets the next iteration be as no other one.
func (c *Core) forget() {
	c.spin.alike, c.spin.at = 0, 0
	c.spin.renew()
}

// renew begins to note an iteration.
func (p *spin) renew() { p.looks, p.slow, p.noted, p.left = 0, false, p.noted[:0], p.left[:0] }

// words are the counters one after another.
func words(c *Counters) *[counterWords]uint64 { return (*[counterWords]uint64)(unsafe.Pointer(c)) }

// Words of Counters that do not only count.
const (
	cyclesWord   = int(unsafe.Offsetof(Counters{}.Cycles) / 8)
	branchesWord = int(unsafe.Offsetof(Counters{}.Branches) / 8)
)

// note remembers a cycle of an iteration in which something happens.
func (p *spin) note(now event.Time) {
	p.noted = append(p.noted, now-p.end)
	p.noting = len(p.noted) < spinTicksMost
}

// hollow is a cycle of an iteration that is as the one before.
func (c *Core) hollow(now event.Time) {
	p := &c.spin
	if at := p.end + p.ticks[p.step]; at != now {
		c.fail(fmt.Errorf("core %d: a loop that waits goes on in cycle %d, expected %d", c.id, now, at))
		return
	}
	if p.step == len(p.ticks)-1 {
		sum := words(&c.Counters)
		for _, i := range p.changed {
			sum[i] += p.delta[i]
		}
		c.Counters.Cycles = uint64(now)
	}
	if c.OnCommit != nil || c.OnAwait != nil {
		c.leaves(now)
	}
	p.step++
	if p.step-1 == p.look && !c.alike(now) {
		c.catchUp()
		if at := c.tickAt; at != never {
			c.tickAt = never
			c.wake(at)
		}
		return
	}
	if p.step == len(p.ticks) {
		p.end, p.step, p.looked = now, 0, false
		if c.lastTick = now; !c.iterate(now) {
			p.on = false
			c.forget()
			c.active = true
			c.sleep(now)
			return
		}
	}
	c.tickAt = p.end + p.ticks[p.step]
	c.tickID = c.engine.At(c.tickAt, c.ticking, 0)
}

// leaves tells of the micro-ops that commit in a hollow cycle.
func (c *Core) leaves(now event.Time) {
	p, b := &c.spin, c.batch
	for i, step := range p.leave {
		if step != p.step {
			continue
		}
		op := &b.Ops[i]
		var got []byte
		if i == len(b.Ops)-1 {
			if got = p.got[:op.Size]; c.OnAwait != nil {
				c.OnAwait(now, op)
			}
		}
		if c.OnCommit != nil {
			c.OnCommit(now, op, got)
		}
	}
}

// alike looks at the word, and tells whether it and the look are as in the iteration before.
func (c *Core) alike(now event.Time) bool {
	p := &c.spin
	op := &p.ops[len(p.ops)-1]
	p.looked, p.translate, p.missed = true, 0, false
	if c.tlb != nil {
		if p.translate = c.tlb.Translate(now, op.Addr); p.translate > 0 {
			return false
		}
	}
	seq := c.tail + uint64(len(p.ops)-1) // it will have, and the generation
	gen := c.slots[seq&c.mask].gen + 1
	line, delay := c.memory.Load(now, op.PC, op.Addr/mem.LineBytes, seq<<16|uint64(gen)<<8)
	if p.missed = line == nil; p.missed {
		return false
	}
	at := op.Addr % mem.LineBytes
	word := line[at:][:op.Size]
	copy(p.data[at:], word)
	p.found = delay
	return delay == p.wait && bytes.Equal(word, p.got[:op.Size])
}

// read is the load of a blocking micro-op; of a hollow cycle, it is what the look has found.
func (c *Core) read(now event.Time, pc uint32, l mem.Line, id uint64) (line *mem.Bytes, delay int) {
	p := &c.spin
	switch {
	case !p.replay || !p.looked || p.translate > 0:
		line, delay = c.memory.Load(now, pc, l, id)
		p.looks++
		p.lookAt, p.direct, p.delay = now, line != nil, delay
	case !p.missed:
		line, delay = &p.data, p.found
	}
	return line, delay
}

// iterate ends an iteration that was as the one before, and begins the next one. It reports false if
// that is another one.
func (c *Core) iterate(now event.Time) bool {
	p, b := &c.spin, c.batch
	last := len(b.Ops) - 1
	got := p.got[:b.Ops[last].Size]
	if c.repeater != nil && c.repeater.Again(got) {
		right := c.guess.Predict(b.Ops[p.at-1].PC, true)
		for k := range c.frontLen {
			f := &c.front[(c.frontHead+k)%len(c.front)]
			f.at = now + event.Time(c.spec.FrontEnd)
			f.wrong = !right && k == p.at-1
		}
		if !right {
			c.Counters.Mispredicted++
			c.redirect = true
		}
		return right
	}
	c.Counters.Branches -= p.delta[branchesWord] // they are fetched
	if err := c.thread.Resolve(got); err != nil {
		c.fail(err)
	}
	c.blocked = false
	c.unused, c.batches = append(c.unused, b), c.batches[:0]
	c.frontLen, c.at = 0, len(b.Ops)
	c.fetch(now)
	return c.blocked && !c.redirect && c.at == p.at && c.frontLen == p.at && slices.Equal(p.ops, c.batch.Ops)
}

// Settle brings the core into the state of this cycle, for who looks at it or changes it.
func (c *Core) Settle() {
	if !c.spin.on {
		return
	}
	at := c.tickAt
	if c.catchUp(); c.tickAt != at {
		c.fail(fmt.Errorf("core %d: a loop that waits goes on in cycle %d, expected %d", c.id, c.tickAt, at))
	}
}

// catchUp executes the hollow cycles of an iteration that have passed, and those that follow as any other.
func (c *Core) catchUp() {
	p := &c.spin
	p.on, p.replay = false, true
	c.tickAt = p.end + 1
	for _, t := range p.ticks[:p.step] {
		if c.tickAt != p.end+t {
			c.fail(fmt.Errorf("core %d: a loop that waits goes on in cycle %d, expected %d", c.id, c.tickAt, p.end+t))
		}
		c.tickAt = never
		c.tick(p.end + t)
	}
	p.replay, p.looked = false, false
	c.forget()
}
