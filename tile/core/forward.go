package core

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

// Pause lets the core fetch nothing more from its thread, or go on. What it has fetched
// goes its way: when nothing is left to do in the machine, Forward may be called.
func (c *Core) Pause(on bool) {
	c.Settle()
	c.paused = on
	if !on && !c.Done() {
		c.lastTick = c.engine.Now()
		c.wake(c.engine.Now() + 1)
	}
}

// Halt lets the core fetch nothing more from its thread, or go on, as Pause, but the time
// between is time in which its thread waits.
func (c *Core) Halt(on bool) {
	c.Settle()
	c.paused = on
	if !on && !c.Done() {
		c.wake(c.engine.Now() + 1)
	}
}

// Forwarded is what Forward has executed.
type Forwarded struct {
	MicroOps uint64
	Skipped  uint64 // of these, passed by all models
	// Elsewhere is iterations that were passed by of loops that leave the core whole, of each stream that computes.
	Elsewhere int64
	Awaited   uint64 // loads that the thread waited for, as Counters.Awaited
	PC        uint32 // of the last of these
	Spins     bool   // all it did was to find once more what it had found
}

// Leave lets a paused core give up what it has fetched and not committed, when nothing more happens in time:
// it may wait for streams. Finish executes that, but for what is squashed before. It reports false, and does
// nothing, where that cannot be: a store that is committed is not performed, or an atomic operation is under way.
func (c *Core) Leave() bool {
	c.Settle()
	if c.sHead != c.sCommit {
		return false
	}
	b, blocked := uop.Batch{}, c.blocked
	for seq := c.head; seq < c.tail; seq++ {
		s := &c.slots[seq&c.mask]
		b.Append(&s.batch.Batch, s.op)
	}
	for k := range c.frontLen {
		f := &c.front[(c.frontHead+k)%len(c.front)]
		b.Append(&f.batch.Batch, f.op)
	}
	for i := range c.batch.Ops[c.at:] {
		b.Append(&c.batch.Batch, &c.batch.Ops[c.at+i])
	}
	if len(b.Ops) == 0 {
		return true
	}
	if !c.Squash(c.engine.Now()) {
		return false
	}
	c.left, c.halted, c.squashed, c.blocked = b, false, false, blocked
	return true
}

// Finish executes without time what the core left, as Forward does.
func (c *Core) Finish(access func(pc uint32, line mem.Line, write bool) *mem.Bytes, ahead func(line mem.Line, near bool), settle func() event.Time) (f Forwarded, err error) {
	b := c.left
	c.left = uop.Batch{} // what is taken back from now on comes from the thread again
	if len(b.Ops) == 0 {
		return f, nil
	}
	done, found, err := c.executeAll(&b, access, ahead, settle)
	f.MicroOps = uint64(done)
	for _, op := range b.Ops[:done] {
		if op.Kind == uop.Load && op.Flags&uop.Blocking != 0 {
			f.Awaited++
		}
	}
	if err == nil && done == len(b.Ops) && !c.squashed && c.blocked {
		err = c.thread.Resolve(found)
	}
	c.blocked = false
	return f, err
}

// awaited is a load that the thread waited for.
type awaited struct {
	addr  uint64
	found [8]byte
}

// spinOps is how many micro-ops come between two loads of a loop that waits: a comparison
// and a branch, and the load.
const spinOps = 3

// Forward executes about n micro-ops of the thread without time, while the core is paused:
// branches train the predictor, accesses go to access, which returns the bytes of a line.
// What follows from a micro-op elsewhere is made by settle, which returns the time that it
// goes by, and may take back those that come behind it: then the thread hands them out again. Forward stops early at a load that
// the thread waits for, to see what other threads do. With read and write, what the thread can
// skip is not executed, but they are told of it. ahead is told of lines twice before they
// are accessed, first at some and then at less distance, to bring into the caches of the host what
// it will look at.
func (c *Core) Forward(n uint64, access func(pc uint32, line mem.Line, write bool) *mem.Bytes, ahead func(line mem.Line, near bool), settle func() event.Time,
	read func(addr, bytes uint64), write func(addr uint64, data []byte)) (f Forwarded, err error) {
	skipper, skips := c.thread.(uop.Skipper)
	if skips {
		defer skipper.Skip(0, nil, nil)
	}
	stored := false
	within := func() bool { return skips && read != nil && skipper.Within() }
	for (f.MicroOps+uint64(f.Elsewhere) < n || within()) && c.more {
		if skips && read != nil {
			if s := skipper.Skip(n-min(n, f.MicroOps+uint64(f.Elsewhere)), read, write); s.MicroOps+uint64(s.Elsewhere) > 0 {
				f.MicroOps, f.Skipped, f.Elsewhere = f.MicroOps+s.MicroOps, f.Skipped+s.MicroOps, f.Elsewhere+s.Elsewhere
				stored = true
				continue
			}
		}
		b := &c.ahead
		b.Reset()
		status, err := c.thread.Next(b, batchSize)
		if err != nil {
			return f, err
		}
		done, found, err := c.executeAll(b, access, ahead, settle)
		f.MicroOps += uint64(done)
		stored = stored || slices.ContainsFunc(b.Ops[:done], func(o uop.Op) bool { return o.Kind.Memory() && o.Kind != uop.Load && o.Kind != uop.Gather })
		if err != nil {
			return f, err
		}
		if done < len(b.Ops) || c.squashed {
			continue
		}
		switch status {
		case uop.Done:
			c.more, c.done = false, true
		case uop.Wait:
			if err := c.thread.Resolve(found); err != nil {
				return f, err
			}
			if op := &b.Ops[len(b.Ops)-1]; op.Kind == uop.Load {
				now := awaited{addr: op.Addr}
				copy(now.found[:], found)
				f.Spins = now == c.waits && f.MicroOps <= spinOps && !stored // as one may that has come to another barrier
				c.waits = now
				f.Awaited++
				f.PC = op.PC
				return f, nil
			}
		}
	}
	return f, nil
}

// How many micro-ops before it is executed the host is told of one.
const (
	farOps  = 24
	nearOps = 12
)

// executeAll executes the micro-ops of a batch until they are taken back, and returns how many
// those were, and what a blocking one has found.
func (c *Core) executeAll(b *uop.Batch, access func(pc uint32, line mem.Line, write bool) *mem.Bytes, ahead func(line mem.Line, near bool), settle func() event.Time) (n int, found []byte, err error) {
	c.squashed = false
	now := settle()
	foresee := func(i int, near bool) {
		if i < len(b.Ops) {
			if op := &b.Ops[i]; op.Kind.Memory() && !op.Kind.Lanes() {
				ahead(op.Addr/mem.LineBytes, near)
			}
		}
	}
	for i := range min(farOps, len(b.Ops)) {
		foresee(i, false)
	}
	for i := range min(nearOps, len(b.Ops)) {
		foresee(i, true)
	}
	for i := range b.Ops {
		op := &b.Ops[i]
		foresee(i+farOps, false)
		foresee(i+nearOps, true)
		if c.Hold != nil {
			for held := 0; c.Hold(now, op, b.Data[op.Data:][:op.DataBytes()]); held++ {
				if now = settle(); c.squashed {
					return i, nil, nil
				}
				if held == 2 {
					return i, nil, fmt.Errorf("core %d: a micro-op may not commit, and nothing more happens, between samples", c.id)
				}
			}
		}
		if found, err = c.execute(b, op, access); err != nil {
			return i, nil, err
		}
		if c.OnCommit != nil {
			c.OnCommit(now, op, nil)
			if now = settle(); c.squashed {
				return i + 1, nil, nil
			}
		}
	}
	return len(b.Ops), found, nil
}

// execute executes a micro-op of a batch, and returns what a blocking one has found.
func (c *Core) execute(b *uop.Batch, op *uop.Op, access func(pc uint32, line mem.Line, write bool) *mem.Bytes) ([]byte, error) {
	if op.Kind == uop.Branch && op.Src[0] != 0 {
		c.guess.Predict(op.PC, op.Flags&uop.Taken != 0)
	}
	if !op.Kind.Memory() {
		return nil, nil
	}
	if c.tlb != nil {
		c.tlb.Translate(c.engine.Now(), op.Addr)
	}
	data := b.Bytes(op)
	n, each := 1, int(op.Size)
	if op.Kind.Lanes() {
		n, each = int(op.Lanes), int(op.Size)/int(op.Lanes)
	}
	var found []byte
	for lane := range n {
		addr := op.Addr
		if op.Kind.Lanes() {
			addr = binary.LittleEndian.Uint64(b.Data[int(op.Data)+8*lane:])
		}
		for k := 0; k < each; {
			at, size := addr+uint64(k), min(each-k, mem.LineBytes-int((addr+uint64(k))%mem.LineBytes))
			line := access(op.PC, at/mem.LineBytes, op.Kind != uop.Load && op.Kind != uop.Gather)
			cell, part := line[at%mem.LineBytes:][:size], data[lane*each+k:][:size]
			switch {
			case op.Kind == uop.Store || op.Kind == uop.Scatter:
				copy(cell, part)
			case op.Kind == uop.Atomic:
				found = bytes.Clone(cell)
				var e []byte
				if op.RMW == uop.CompareSwap {
					e = b.Data[int(op.Data)+each:][:each]
				}
				op.RMW.Apply(cell, found, part, e)
			case op.Flags&uop.Blocking != 0:
				found = append(found, cell...)
			case op.Flags&uop.Racy == 0 && !bytes.Equal(cell, part):
				return nil, fmt.Errorf("core %d: the %s at %d from address %#x found other bytes than the program, between samples", c.id, op.Kind, op.PC, op.Addr)
			}
			k += size
		}
	}
	return found, nil
}
