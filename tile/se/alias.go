package se

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/uop"
)

// hull is the bytes that a stream accesses in iterations: a range as the range unit makes
// it, from the first to behind the last one (section IV.B).
func (g *Group) hull(sid int, from, to int64) (lo, hi uint64) {
	if g.broken == LateRange && from < to-1 {
		from++
	}
	if g.broken == ShortRange && to-1 > from {
		to--
	}
	a, b := g.address(sid, from), g.address(sid, to-1)
	return min(a, b), max(a, b) + uint64(g.Streams[sid].Bytes)
}

// hulls calls f with the bytes that a stream accesses in iterations, row by row, and reports
// whether f did so of one.
func (g *Group) hulls(sid int, from, to int64, f func(lo, hi uint64) bool) bool {
	for from < to {
		end := to
		if g.Row > 0 {
			end = min(to, (from/g.Row+1)*g.Row)
		}
		if f(g.hull(sid, from, end)) {
			return true
		}
		from = end
	}
	return false
}

// prefix is the iterations of a stream that are done without a gap: banks are done in no
// order.
type prefix struct {
	n      int64
	ranges map[int64]int64 // iterations that are done of later ranges
}

// finished notes iterations that are done.
func (a *active) finished(sid int, first, end int64) {
	a.done[sid] += end - first
	p, g := &a.prefix[sid], a.g
	if p.ranges == nil {
		p.ranges = map[int64]int64{}
	}
	if first < 0 || end > g.N {
		a.c.fail(fmt.Errorf("se: core %d: iterations %d to %d of a loop of %d are done", a.c.id, first, end, g.N))
		return
	}
	for first < end {
		k := g.RangeOf(first)
		n := min(end, g.start(k+1)) - first
		p.ranges[k] += n
		first += n
	}
	for k := g.RangeOf(p.n); p.n < g.N && p.ranges[k] == g.start(k+1)-p.n; k++ {
		delete(p.ranges, k)
		p.n = g.start(k + 1)
	}
}

// least is how many iterations are committed, and done in all streams, without a gap.
func (a *active) least() int64 {
	n := a.committed
	for sid := range a.g.Streams {
		if a.g.Streams[sid].sink() {
			n = min(n, a.prefix[sid].n)
		}
	}
	return n
}

// opened is the iterations of ranges whose elements have been read or may be, and are not all
// written: a range is open as a whole, also since a reduction is computed again from its
// beginning if streams end in the middle.
func (a *active) opened() (from, to int64) {
	return a.reducedTo(a.least()), a.g.start(a.credited)
}

// closed is iterations whose elements have been written while the core may have had loads
// under way that come later.
type closed struct {
	from  int64
	until uint64 // micro-ops that are committed
}

// close notes that iterations from one on are done since it was looked last.
func (a *active) close(from int64) {
	if from < a.least() {
		a.closing = append(a.closing, closed{a.reducedTo(from), a.c.commits + uint64(a.c.spec.Window)})
	}
}

// writes reports whether a stream changes memory.
func (s *Stream) writes() bool { return s.Kind == Store || s.Kind == Update }

// zone is bytes that a stream may access in iterations that are open.
type zone struct {
	sid    int
	lo, hi uint64
	writes bool
}

// zones are those of all streams of a loop.
func (a *active) zones(list []zone) []zone {
	from, to := a.opened()
	if from >= to {
		return list
	}
	for sid := range a.g.Streams {
		if s := &a.g.Streams[sid]; s.Kind != Reduce && !s.Indirect {
			a.g.hulls(sid, from, to, func(lo, hi uint64) bool {
				list = append(list, zone{sid, lo, hi, s.writes()})
				return false
			})
		}
	}
	a.spans = slices.DeleteFunc(a.spans, func(x span) bool { return x.end <= from })
	for _, x := range a.spans {
		list = append(list, zone{x.sid, x.low, x.high, a.g.Streams[x.sid].writes()})
	}
	return list
}

// crossed finds a loop one of whose streams may access bytes that a stream of a, or of that
// loop, may access, where one of them writes; a itself where the core has still to perform a
// store there.
func (a *active) crossed() *active {
	c := a.c
	c.zones = a.zones(c.zones[:0])
	mine := len(c.zones)
	for _, z := range c.zones { // what the core has stored must be in the range
		if c.core.Unperformed(z.lo, z.hi) {
			return a
		}
	}
	for _, o := range c.loops {
		if o.over() || o.g.SyncFree || c.spec.Broken == NoStreamCheck {
			continue
		}
		c.zones = o.zones(c.zones[:mine])
		for i, x := range c.zones[:mine] {
			for k, y := range c.zones[mine:] {
				if o == a && (k <= i || x.sid == y.sid) || !x.writes && !y.writes || x.sid == y.sid && o.g.Loop == a.g.Loop && a.g.Streams[x.sid].Relaxed {
					continue
				}
				c.Counters.Checks++
				if x.lo < y.hi && y.lo < x.hi {
					return o
				}
			}
		}
	}
	return nil
}

// alias ends streams that are not apart.
func (c *Core) alias(now event.Time, loops ...*active) {
	for _, a := range loops {
		if a.g.Bound {
			c.fail(fmt.Errorf("se: core %d: streams that are not ended before their time are aliased with others or with the core", c.id))
			return
		}
	}
	c.end(now, Alias, loops...)
}

// aliased compares bytes that the core accesses with ranges that are open, and bytes that
// it has loaded with those that were open not long ago.
func (a *active) aliased(addr uint64, size int, writes bool) bool {
	from, to := a.opened()
	if !writes {
		for len(a.closing) > 0 && a.closing[0].until <= a.c.commits {
			a.closing = a.closing[1:]
		}
		if len(a.closing) > 0 {
			from = min(from, a.closing[0].from)
		}
	}
	if from >= to {
		return false
	}
	for sid := range a.g.Streams {
		s := &a.g.Streams[sid]
		if s.Kind == Reduce || s.Indirect || s.Kind == Load && !writes {
			continue
		}
		a.c.Counters.Checks++
		if a.g.hulls(sid, from, to, func(lo, hi uint64) bool { return addr < hi && lo < addr+uint64(size) }) {
			return true
		}
	}
	for _, x := range a.spans {
		if x.end <= from || !writes && !a.g.Streams[x.sid].writes() {
			continue
		}
		a.c.Counters.Checks++
		if addr < x.high && x.low < addr+uint64(size) {
			return true
		}
	}
	return false
}

// Quiet tells that Hold holds nothing back and changes nothing, as long as the core only loads what no
// stream has: all loops are over, and none of what ends them could.
func (c *Core) Quiet() bool {
	return c.ending == nil && c.inject == nil && !slices.ContainsFunc(c.loops, func(a *active) bool { return !a.over() })
}

// Hold is asked before a micro-op of the core commits; data is that of its batch. It holds
// accesses that are aliased with streams, and all while streams are being ended.
func (c *Core) Hold(now event.Time, op *uop.Op, data []byte) bool {
	if op.Kind == uop.Atomic && (c.ending == nil || !c.ending.squashed) {
		return false // it is performed
	}
	if c.ending != nil {
		return true
	}
	if !op.Kind.Memory() || op.Addr >= Window {
		return false
	}
	if op.Kind == uop.Load || op.Kind == uop.Gather {
		c.note(op, data)
	}
	writes := op.Kind == uop.Store || op.Kind == uop.Scatter
	if writes && c.spec.Broken == NoStoreCheck || !writes && c.spec.Broken == NoLoadCheck {
		return false
	}
	for _, a := range c.loops {
		if a.g.SyncFree || a.over() { // a fence is behind them
			continue
		}
		alias := !a.g.Bound && c.inject.alias()
		if op.Kind.Lanes() {
			each := int(op.Size) / int(op.Lanes)
			for i := range int(op.Lanes) {
				alias = alias || a.aliased(binary.LittleEndian.Uint64(data[8*i:]), each, writes)
			}
		} else {
			alias = alias || a.aliased(op.Addr, int(op.Size), writes)
		}
		if alias {
			c.alias(now, a)
			return true
		}
	}
	return false
}
