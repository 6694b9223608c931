package se

import (
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// Beyond is where a stream of the core goes on after its loop has ended: streams are linear in the
// variables of up to three loops (section III.A), so that the engine, which stays in the core for
// too few iterations to run ahead by much, knows what the instances behind this one will access. A
// bank needs none: what leaves the core is long, or goes on through rows itself.
type Beyond struct {
	PC    uint32
	Write bool   // lines are asked for to be written
	Base  uint64 // of the bytes of this instance
	Bytes uint64
	Row   int64 // bytes from one instance to the next
	Plane int64 // bytes from an instance of one plane to that of the next
	// At is which instance of its plane this is, of Rows; Planes is how many there are behind it.
	At, Rows, Planes int64
}

// base is where the instance k behind this one begins, of those that are elsewhere; false if there is
// none.
func (b *Beyond) base(k int64) (uint64, bool) {
	if b.Row == 0 {
		return b.Base + uint64(k*b.Plane), k <= b.Planes
	}
	k += b.At
	plane := k / b.Rows
	return b.Base + uint64(plane*b.Plane+(k%b.Rows-b.At)*b.Row), plane <= b.Planes
}

// elementLines is how many lines ahead a stream is that has an element of each instance: such streams are
// one for each row that an instance goes through, and leave the others room.
const elementLines = 1

// frontier is how far the instances of a loop have been asked for.
type frontier struct {
	at    uint64 // where this one begins
	next  uint64 // and the next one that is elsewhere
	asked int64  // instances behind this one
	last  mem.Line
}

// lines is how many an instance has.
func (b *Beyond) lines() int64 {
	return int64((b.Base+b.Bytes-1)/mem.LineBytes - b.Base/mem.LineBytes + 1)
}

// wide reports whether each instance has lines of its own.
func (b *Beyond) wide() bool {
	return b.Row != 0 && (b.lines() > 1 || max(b.Row, -b.Row) >= mem.LineBytes)
}

// goBeyond asks for lines of instances behind this one, as many as the FIFO has room for: one of a
// stream that has one for several instances, those of the next plane where an instance has the same as the one
// before, and what is left for the others. They go to the caches, which have them until the loop begins
// again, in miss registers that the core does not need, as those of prefetchers.
func (c *Core) goBeyond(now event.Time, g *Group) {
	if c.warm != nil {
		return
	}
	if c.frontiers == nil {
		c.frontiers = map[uint32][]frontier{}
	}
	list := c.frontiers[g.Loop]
	if len(list) != len(g.Beyond) {
		list = make([]frontier, len(g.Beyond))
		c.frontiers[g.Loop] = list
	}
	left, wide := int64(c.spec.FIFO/mem.LineBytes), int64(0)
	for i := range g.Beyond {
		switch b := &g.Beyond[i]; {
		case b.wide():
			wide++
		case b.Row != 0:
			left -= elementLines
		}
	}
	for i := range g.Beyond {
		b, f := &g.Beyond[i], &list[i]
		switch {
		case f.asked > 0 && f.next == b.Base:
			f.asked--
		case f.asked == 0 || f.at != b.Base:
			*f = frontier{last: ^mem.Line(0)}
		}
		f.at = b.Base
		f.next, _ = b.base(1)
		first, end := b.Base/mem.LineBytes, (b.Base+b.Bytes-1)/mem.LineBytes
		most, room := int64(1), int64(c.spec.FIFO/mem.LineBytes)
		switch {
		case b.wide():
			room = max(1, left/wide)
			most = (room + b.lines() - 1) / b.lines()
		case b.Row != 0:
			most = elementLines * mem.LineBytes / max(b.Row, -b.Row)
		}
		for f.asked < most {
			base, ok := b.base(f.asked + 1)
			if !ok {
				break
			}
			f.asked++
			if room >= b.lines() {
				c.history.expects(b.PC, interval{base, base + b.Bytes})
			}
			from := base / mem.LineBytes
			for line := from; line <= (base+b.Bytes-1)/mem.LineBytes && int64(line-from) < room; line++ {
				if line == f.last || first <= line && line <= end {
					continue
				}
				f.last = line
				if c.caches.Fetch(now, b.PC, line, b.Write) {
					c.Counters.Beyond++
				}
			}
		}
	}
}
