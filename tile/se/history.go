package se

import (
	"cmp"
	"slices"

	"github.com/bitsched/bitsched/tile/mem"
)

// History is what the engine of a core remembers of its loops, and decides by whether the streams
// of an instance leave the core (section IV.B): those of an instance that is larger than the
// core's own caches do. Of others the engine counts, while they are in the core, the lines that
// they ask for and those that miss, and keeps where they have been. Aliases are those of the thread.
type History struct {
	private int64 // bytes of the core's own caches
	first   int64 // of those, the first ones
	touched uint64
	loops   map[uint32]*past
	kept    map[uint32]*past // of what instances in the core have fetched
}

// past is a loop.
type past struct {
	sweeps        []sweep // the latest one last
	lines, misses uint64  // of the last instance that stayed in the core
}

// sweep is the bytes that each stream has gone through in an instance, or in several that lie one
// behind the other: rows of an array.
type sweep struct {
	ranges   []interval
	at, last uint64 // bytes that streams of the core had touched before its first and before its last instance
}

type interval struct{ low, high uint64 }

// sweeps is how many of a loop are kept. The authors' simulator keeps some, too, and does not
// publish how many.
const sweeps = 8

// Choice is what is decided of an instance.
type Choice uint8

// The choices.
const (
	Leaves Choice = iota // for the L3
	Reused               // it stays: most of what it accesses is in the core's own caches, if it was in the core last time, or comes again soon
	Hits                 // it stays: more than half of the lines hit last time
	NumChoices
)

// Choose decides whether the streams of an instance leave the core, and remembers where they go.
// Those of loops with indirect streams do: what they may reach is known.
func (h *History) Choose(g *Group) Choice {
	p := of(&h.loops, g.Loop)
	p.have(len(g.Streams))
	ranges, sizes, weights := make([]interval, len(g.Streams)), make([]int64, len(g.Streams)), make([]int64, len(g.Streams))
	all, largest := int64(0), int64(0)
	indirect := false
	for sid := range g.Streams {
		s := &g.Streams[sid]
		switch {
		case s.Indirect: // each element in another line
			indirect = true
			h.touched += uint64(g.N) * mem.LineBytes
		case s.Kind != Reduce && s.Kind != Chase:
			x := g.interval(sid)
			ranges[sid], sizes[sid] = x, g.footprint(sid)
			largest = max(largest, sizes[sid])
			weights[sid] = sizes[sid]
			if s.Kind == Update { // reads and writes
				weights[sid] *= 2
			}
			all += weights[sid]
		}
	}
	again := h.again(g, sizes)
	found := int64(0) // bytes that the core's caches would still have, or will have for a later instance
	for sid, x := range ranges {
		if again[sid] || slices.ContainsFunc(p.sweeps, func(o sweep) bool { return h.recent(&o, sid, x) }) {
			found += weights[sid]
		}
	}
	choice := Leaves
	switch {
	case indirect || largest > h.private || all == 0:
	case g.Alone && g.Strands > 1 && all > h.first: // banks side by side, in place of one core and its L2 (Infinity Stream, section 8)
		h.writes(g, ranges, h.loops)
	case p.lines > 2*p.misses:
		choice = Hits
	case 2*found > all || 2*h.has(ranges, weights) > all:
		choice = Reused
	}
	if choice == Leaves {
		h.writes(g, ranges, h.kept)
	}
	h.visit(p, ranges, sizes, true)
	return choice
}

// again is which streams have elements that come again before the caches of the core have lost them:
// the engine knows that from where streams go on, before they have been anywhere.
func (h *History) again(g *Group, sizes []int64) []bool {
	row, plane := g.Beside[0], g.Beside[1]
	for sid, n := range sizes {
		row += n
		if g.Streams[sid].Again != NextRow {
			n *= max(1, g.Rows)
		}
		plane += n
	}
	list := make([]bool, len(sizes))
	for sid := range list {
		a := g.Streams[sid].Again
		list[sid] = a == NextRow && row <= h.private || a == NextPlane && plane <= h.private
	}
	return list
}

// Keeps remembers an instance of a loop that is in the core: its caches have what it fetches, for
// other loops, too. Chosen says that it was chosen to stay, and has been counted.
func (h *History) Keeps(g *Group, chosen bool) {
	p := of(&h.kept, g.Loop)
	p.have(len(g.Ahead))
	a := Group{N: g.N, Row: g.Row, Plane: g.Plane, Streams: g.Ahead}
	ranges, sizes := make([]interval, len(a.Streams)), make([]int64, len(a.Streams))
	for sid := range a.Streams {
		ranges[sid], sizes[sid] = a.interval(sid), a.footprint(sid)
	}
	h.visit(p, ranges, sizes, !chosen)
}

// expects remembers what the engine has asked for on behalf of a later instance of a loop in the core: its
// caches have that, for other loops that come before, too.
func (h *History) expects(pc uint32, x interval) {
	p := of(&h.kept, expected|pc)
	p.have(1)
	h.visit(p, []interval{x}, []int64{int64(x.high - x.low)}, true)
}

// expected tells PCs of accesses from loops.
const expected = uint32(1) << 31

// visit remembers where an instance goes. What the caches do not have pushes out what they have.
func (h *History) visit(p *past, ranges []interval, sizes []int64, counts bool) {
	fresh := slices.Clone(ranges)
	for sid, x := range ranges {
		if slices.ContainsFunc(p.sweeps, func(o sweep) bool { return h.recent(&o, sid, x) }) || h.fetched(x) {
			fresh[sid] = interval{}
		}
	}
	p.visit(ranges, h.touched)
	if counts {
		h.touched += union(fresh, sizes)
	}
}

// has is how many bytes of some ranges instances in the core have fetched and its caches still have.
func (h *History) has(ranges []interval, sizes []int64) (n int64) {
	for sid, x := range ranges {
		if h.fetched(x) {
			n += sizes[sid]
		}
	}
	return n
}

// fetched is whether one instance, or several behind each other, has fetched all of x for the core,
// and not too long ago.
func (h *History) fetched(x interval) bool {
	for _, p := range h.kept {
		if slices.ContainsFunc(p.sweeps, func(o sweep) bool {
			for sid := range o.ranges {
				if h.recent(&o, sid, x) {
					return true
				}
			}
			return false
		}) {
			return true
		}
	}
	return false
}

// recent is whether a stream of a sweep has been at all of x, and not too long ago.
func (h *History) recent(o *sweep, sid int, x interval) bool {
	return o.has(sid, x) && int64(h.touched-o.when(sid, x)) <= h.private
}

// writes forgets what banks are about to write: no cache of the core has it any more.
func (h *History) writes(g *Group, ranges []interval, loops map[uint32]*past) {
	for sid, x := range ranges {
		if !g.Streams[sid].writes() {
			continue
		}
		for _, p := range loops {
			for _, o := range p.sweeps {
				for k, y := range o.ranges {
					if y.low < x.high && x.low < y.high {
						o.ranges[k] = interval{}
					}
				}
			}
		}
	}
}

// of finds what is known of a loop.
func of(loops *map[uint32]*past, loop uint32) *past {
	if *loops == nil {
		*loops = map[uint32]*past{}
	}
	p := (*loops)[loop]
	if p == nil {
		p = &past{}
		(*loops)[loop] = p
	}
	return p
}

// stayed counts an instance that has been in the core.
func (h *History) stayed(loop uint32, lines, misses uint64) {
	if p := of(&h.loops, loop); lines > 0 {
		p.lines, p.misses = lines, misses
	}
}

// have forgets sweeps of other streams: short instances may have fewer.
func (p *past) have(streams int) {
	if len(p.sweeps) > 0 && len(p.sweeps[0].ranges) != streams {
		p.sweeps = nil
	}
}

// visit adds an instance: to the last sweep, if it goes on behind that.
func (p *past) visit(ranges []interval, at uint64) {
	if n := len(p.sweeps); n > 0 && p.sweeps[n-1].goesOn(ranges) {
		p.sweeps[n-1].last = at
		return
	}
	if len(p.sweeps) == sweeps {
		p.sweeps = append(p.sweeps[:0], p.sweeps[1:]...)
	}
	p.sweeps = append(p.sweeps, sweep{ranges, at, at})
}

// has is whether all of x is what the sweep has gone through.
func (s *sweep) has(sid int, x interval) bool {
	y := s.ranges[sid]
	return x.high > 0 && y.low <= x.low && x.high <= y.high
}

// when is how many bytes had been touched when the sweep was at x, if it has gone on evenly.
func (s *sweep) when(sid int, x interval) uint64 {
	y := s.ranges[sid]
	way := y.high - y.low - (x.high - x.low)
	if way == 0 {
		return s.last
	}
	return s.at + uint64(float64(s.last-s.at)*float64(x.low-y.low)/float64(way))
}

// goesOn adds an instance whose streams all begin where those of the sweep end, but for less than
// a line, or did not move.
func (s *sweep) goesOn(ranges []interval) bool {
	for sid, x := range ranges {
		if y := s.ranges[sid]; x != y && (x.low < y.high || x.low >= y.high+mem.LineBytes) {
			return false
		}
	}
	moved := false
	for sid, x := range ranges {
		moved = moved || x != s.ranges[sid]
		s.ranges[sid].high = max(x.high, s.ranges[sid].high)
	}
	return moved
}

// interval is the bytes of all elements of a stream.
func (g *Group) interval(sid int) interval {
	n := g.row()
	a, b, c, d := g.address(sid, 0), g.address(sid, n-1), g.address(sid, g.N-n), g.address(sid, g.N-1)
	return interval{min(a, b, c, d), max(a, b, c, d) + uint64(g.Streams[sid].Bytes)}
}

// footprint is the bytes that the elements of a stream take in a cache: those of its interval, or
// of a line for each element where there are fewer, as in a column of a matrix.
func (g *Group) footprint(sid int) int64 {
	s := g.at(sid)
	row := max(g.row(), 1)
	rows, planes := (g.N+row-1)/row, int64(1)
	if g.Plane > 0 {
		rows, planes = min(rows, g.Plane), (rows+g.Plane-1)/g.Plane
	}
	lines := int64(1)
	for _, d := range []struct{ by, count int64 }{{s.Stride, row}, {s.RowStride, rows}, {s.PlaneStride, planes}} {
		if d.by != 0 {
			lines *= d.count
		}
	}
	x := g.interval(sid)
	return min(int64(x.high-x.low), lines*mem.LineBytes)
}

// union is how many bytes there are in intervals, each counted once, with no more of each than
// its elements take.
func union(list []interval, sizes []int64) (n uint64) {
	list = slices.Clone(list)
	for i := range list {
		list[i].high = min(list[i].high, list[i].low+uint64(sizes[i]))
	}
	list = slices.SortedFunc(slices.Values(list), func(a, b interval) int { return cmp.Compare(a.low, b.low) })
	end := uint64(0)
	for _, x := range list {
		if x.high > end {
			n += x.high - max(x.low, end)
			end = x.high
		}
	}
	return n
}
