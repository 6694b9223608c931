package core

import (
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/uop"
)

// Squash takes back all micro-ops that are not committed, and fetches no more until
// [Core.Resume]: the thread hands them out again, maybe in another form. Stores that are
// committed are performed all the same. It reports false, and does nothing, while the oldest
// micro-op is an atomic operation that is under way: it cannot be undone, and commits soon.
// It must not be called while the core calls.
func (c *Core) Squash(event.Time) bool {
	c.Settle()
	if c.head < c.tail {
		if s := &c.slots[c.head&c.mask]; s.op.Kind == uop.Atomic && s.state != waiting {
			return false
		}
	}
	for seq := c.head; seq < c.tail; seq++ {
		s := &c.slots[seq&c.mask]
		if s.op.Kind == uop.Load || s.op.Kind == uop.Gather {
			c.countLoad(s, ^uint16(0))
		}
	}
	for k := c.sCommit; k < c.sTail; k++ {
		c.count(&c.stores[k&c.sMask], ^uint16(0))
		c.inSQ--
	}
	c.sTail = c.sCommit
	clear(c.ready)
	clear(c.lqReady)
	for i := range c.lqSlots {
		c.lqFree[i>>6] |= 1 << (i & 63)
	}
	for r, p := range c.producer {
		if p > c.head {
			c.producer[r] = 0
		}
	}
	c.tail, c.iqTail, c.nextInOrder = c.head, c.head, c.head
	c.inIQ, c.numReady, c.lqWaiting, c.loads, c.unperformed, c.results, c.loadDebt = 0, 0, 0, 0, 0, 0, 0
	c.retry = c.retry[:0]
	c.frontHead, c.frontLen, c.redirect = 0, 0, false
	c.unused = append(c.unused, c.batches...)
	c.batches, c.batch, c.at = c.batches[:0], &batch{}, 0
	c.left.Reset()
	c.blocked, c.halted, c.squashed = false, true, true
	return true
}

// Resume lets the core commit again, and after Squash fetch what its thread has from now on.
func (c *Core) Resume(now event.Time) {
	c.Settle()
	squashed := c.halted
	if squashed {
		c.halted, c.more, c.done = false, true, false
	}
	if c.paused { // time does not pass
		return
	}
	if squashed {
		c.resumeAt = now + event.Time(c.spec.Redirect)
	}
	c.wake(now + 1)
}

// Unperformed reports whether a store that is committed and not performed may write bytes
// from lo to before hi.
func (c *Core) Unperformed(lo, hi uint64) bool {
	for k := c.sHead; k < c.sCommit; k++ {
		s := &c.stores[k&c.sMask]
		for i := range s.count() {
			if addr, _, size := s.part(i); addr < hi && lo < addr+uint64(size) {
				return true
			}
		}
	}
	return false
}
