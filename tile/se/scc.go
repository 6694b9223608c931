package se

import "github.com/bitsched/bitsched/tile/event"

// contexts are the stream computing contexts of a tile (SCM and SCCs, section III.C): they
// execute instances of near-stream functions in a loop, beside the core's own thread.
type contexts struct {
	spec  *Spec
	next  event.Time // from when on an instance begins to issue
	slots int        // of that cycle that are taken
	under []instance // that have not left their reorder buffers, in order
	used  int        // entries of these
}

// instance is one execution of a function on an element, or on as many as there are lanes.
type instance struct {
	until   event.Time
	entries int
}

// take executes an instance whose operands are in the engine's buffer, and returns when it
// has ended. It has its entries of the reorder buffer while it waits for operands, which come
// from the engine (Init), until all before it have left, too. Contexts without a reorder
// buffer have one instance each.
func (c *contexts) take(now event.Time, ops, operands, latency int) (end event.Time) {
	entries, room := ops+operands+1, c.spec.ContextROB // with a load for each operand, and a store
	if room == 0 {
		entries, room = 1, max(1, c.spec.Contexts)
	}
	begin := now
	for c.used > 0 && (c.used+entries > room || c.under[0].until <= begin) {
		begin = max(begin, c.under[0].until)
		c.used -= c.under[0].entries
		c.under = c.under[1:]
	}
	issue := begin + event.Time(c.spec.Init)
	if issue > c.next {
		c.next, c.slots = issue, 0
	}
	c.slots += ops
	c.next += event.Time(c.slots / c.spec.Width)
	c.slots %= c.spec.Width
	end = c.next + event.Time(latency)
	if c.slots > 0 {
		end++
	}
	if n := len(c.under); n > 0 {
		end = max(end, c.under[n-1].until)
	}
	c.under = append(c.under, instance{end, entries})
	c.used += entries
	return end
}
