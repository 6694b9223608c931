package se

import "github.com/bitsched/bitsched/tile/event"

// Step is an operation of a function: how long it takes, and which operations before it its
// operands are. Operands of the function and what it does not change are none. Own says that it
// takes the value so far of a Reduce, for which it waits where the others do not.
type Step struct {
	Latency int
	Args    []int
	Own     bool
}

// Chain is a number of operations that take so long in all: as many one after the other as have a
// cycle each, and the others beside them.
func Chain(ops, latency int) []Step {
	list := make([]Step, ops)
	last := -1
	for i := range list {
		n := latency*(i+1)/ops - latency*i/ops
		list[i].Latency = max(1, n)
		if n == 0 {
			continue
		}
		if last >= 0 {
			list[i].Args = []int{last}
		}
		last = i
	}
	return list
}

// contexts are the stream computing contexts of a tile (SCM and SCCs, section III.C): they
// execute instances of near-stream functions in a loop, beside the core's own thread. The
// operations of all that they have under way share the width of the core.
type contexts struct {
	spec *Spec
	list []computing
	busy []event.Time       // until when each of the instances that may be under way is
	used [issueSlots]issued // by cycle
	end  []event.Time       // of the steps of an instance
}

// computing is a context: the last entries of its reorder buffer in turn, by when they have left.
type computing struct {
	left []event.Time
	next int
	last event.Time // leaves in order
}

// issued is how many operations began in a cycle.
type issued struct {
	at event.Time
	n  int
}

const issueSlots = 1 << 12

// take executes an instance whose operands are in the engine's buffer, and returns when it
// has ended. Each operand, operation and result has an entry of the reorder buffer from when
// one is free until it has ended and all before it have left, so that a part of the next instance
// is there beside it. Operands come from the engine (Init). Operations begin in any order, those that
// take the value of the instance before not before own, when that is there. Contexts without a reorder
// buffer have one instance each. value is when the instance's own value is there, which another
// one may take before this one has left. Where a number of instances is all that may be under way, one
// begins when another one's value is there.
func (c *contexts) take(now event.Time, steps []Step, operands int, own event.Time) (value, ended event.Time) {
	place := c.place()
	if place != nil {
		now = max(now, *place)
	}
	x := c.idle()
	oldest := x.last // of those without a reorder buffer
	enter := func() event.Time {
		if len(x.left) > 0 {
			oldest = x.left[x.next]
		}
		return max(now, oldest)
	}
	leave := func(end event.Time) {
		x.last = max(x.last, end)
		if len(x.left) > 0 {
			x.left[x.next] = x.last
			x.next = (x.next + 1) % len(x.left)
		}
	}
	begin := now
	for range operands {
		there := enter() + event.Time(c.spec.Init)
		begin = max(begin, there)
		leave(there)
	}
	if operands == 0 {
		begin = max(begin, enter()+event.Time(c.spec.Init))
	}
	end := max(begin, own)
	c.end = c.end[:0]
	for _, s := range steps {
		at := max(begin, enter())
		if s.Own {
			at = max(at, own)
		}
		for _, k := range s.Args {
			at = max(at, c.end[k])
		}
		at = c.issue(at) + event.Time(s.Latency)
		c.end = append(c.end, at)
		end = max(end, at)
		leave(at)
	}
	value = end
	if place != nil {
		*place = value
	}
	leave(max(end, enter())) // the result
	return value, x.last
}

// place is when the first of the instances that may be under way is no more, nil without a limit.
func (c *contexts) place() *event.Time {
	if c.spec.Computations == 0 {
		return nil
	}
	if c.busy == nil {
		c.busy = make([]event.Time, c.spec.Computations)
	}
	best := &c.busy[0]
	for i := range c.busy {
		if c.busy[i] < *best {
			best = &c.busy[i]
		}
	}
	return best
}

// idle is the context that has a free entry first.
func (c *contexts) idle() *computing {
	if c.list == nil {
		n := max(1, c.spec.Contexts)
		c.list = make([]computing, n)
		for i := range c.list {
			if c.spec.ContextROB > 0 {
				c.list[i].left = make([]event.Time, max(1, c.spec.ContextROB/n))
			}
		}
	}
	best, free := &c.list[0], event.Time(0)
	for i := range c.list {
		x := &c.list[i]
		t := x.last
		if len(x.left) > 0 {
			t = x.left[x.next]
		}
		if i == 0 || t < free {
			best, free = x, t
		}
	}
	return best
}

// issue finds the first cycle from one on in which an operation can begin.
func (c *contexts) issue(at event.Time) event.Time {
	for ; ; at++ {
		u := &c.used[at%issueSlots]
		if u.at != at {
			*u = issued{at: at}
		}
		if u.n < c.spec.Width {
			u.n++
			return at
		}
	}
}
