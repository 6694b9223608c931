package se

import (
	"slices"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// fifo has the lines that streams of a loop fetch ahead of the core, in order: the prefetch
// element buffer (section III.C). What a store of the core or another core changes is
// flushed, and loads go to the cache as others do.
type fifo struct {
	c       *Core
	g       *Group
	streams []ahead
	done    int64 // iterations that the core has committed
	asked   int   // lines on their way
	beyond  bool  // lines of later instances have been asked for, or there are none
	// Of a loop all of whose streams are here: what the history takes.
	alone         bool
	lines, misses uint64
}

// ahead is a stream that fetches.
type ahead struct {
	// Its lines, and their tags, noLine of what is stale. Both are parts of arrays of at least twice its
	// room, so that letting go of lines seldom moves others.
	lines []entry
	tags  []mem.Line
	all   *window
	next  int64 // iteration whose line is fetched next
	room  int   // lines
}

// window is the arrays of a stream that fetches.
type window struct {
	lines []entry
	tags  []mem.Line
}

// noLine is the line of no address.
const noLine = ^mem.Line(0)

// entry is a line of the FIFO.
type entry struct {
	last  int64 // iteration that takes it
	data  mem.Bytes
	here  bool
	loads []uint64 // that wait
}

// add adds a line. Windows are those of streams that have ended.
func (a *ahead) add(windows *[]*window, line mem.Line, last int64) {
	n := len(a.lines)
	if n == cap(a.lines) {
		if last := len(*windows) - 1; a.all == nil && last >= 0 {
			a.all, *windows = (*windows)[last], (*windows)[:last]
		}
		if a.all == nil || len(a.all.lines) < 2*a.room {
			a.all = &window{make([]entry, 2*a.room), make([]mem.Line, 2*a.room)}
		}
		a.lines, a.tags = a.all.lines[:copy(a.all.lines, a.lines)], a.all.tags[:copy(a.all.tags, a.tags)]
	}
	a.lines, a.tags = a.lines[:n+1], append(a.tags, line)
	e := &a.lines[n]
	e.last, e.here, e.loads = last, false, nil
}

// passed reports whether the core has passed a line, and nothing waits for it.
func (a *ahead) passed(i int, done int64) bool {
	e := &a.lines[i]
	return e.last < done && (e.here || a.tags[i] == noLine) && len(e.loads) == 0
}

// ahead loads are told from those of the core by a bit of their number.
const aheadID = uint64(1) << 63

func newFIFO(c *Core, g *Group) *fifo {
	f := &fifo{c: c, beyond: len(g.Beyond) == 0, alone: len(g.Streams) == 0}
	f.g = &Group{Beyond: g.Beyond, Loop: g.Loop, N: g.N, Row: g.Row, Plane: g.Plane, Lanes: g.Lanes, Range: g.Range, Streams: g.Ahead, id: g.id}
	n := 0 // that keep lines here: stores keep none
	for i := range g.Ahead {
		if g.Ahead[i].Kind == Load {
			n++
		}
	}
	f.streams = make([]ahead, len(g.Ahead))
	for i := range f.streams {
		f.streams[i].room = max(1, c.spec.FIFO/max(1, n)/mem.LineBytes)
	}
	return f
}

// over lets others have the memory of its lines, none of which is on its way.
func (f *fifo) over() {
	for i := range f.streams {
		if a := &f.streams[i]; a.all != nil {
			f.c.windows = append(f.c.windows, a.all)
			a.all, a.lines, a.tags = nil, nil, nil
		}
	}
}

// sid is the stream of whose loads a PC is one, -1 if there is none: the last of several.
func (f *fifo) sid(pc uint32) int {
	for i := len(f.g.Streams) - 1; i >= 0; i-- {
		if s := &f.g.Streams[i]; s.Kind == Load && pc != 0 && (s.PC[0] == pc || s.PC[1] == pc) {
			return i
		}
	}
	return -1
}

// asks reports whether lines are asked for with a PC.
func (f *fifo) asks(pc uint32) bool {
	for i := range f.g.Streams {
		if f.g.Streams[i].PC[0] == pc {
			return true
		}
	}
	return false
}

// fetch lets streams go on while they have room: in time as far as look-ups are free, so that loads of the
// core do not wait for all that is for later.
func (f *fifo) fetch(now event.Time) {
	c := f.c
	if c.warm == nil {
		if !c.fetching {
			f.goOn(now)
		}
		return
	}
	for sid := f.first(); sid >= 0; sid = f.first() {
		s, a := &f.g.Streams[sid], &f.streams[sid]
		line, e := f.next(sid, f.end(sid))
		if a.next < f.g.N {
			after := f.g.line(sid, a.next)
			c.foresee(after, true)
			c.foresee(2*after-line, false) // if they are as far from each other
		}
		if b := c.warm(s.PC[0], line, s.Kind != Load); s.Kind == Load {
			e.data, e.here = *b, true
		}
	}
}

// goOn fetches what there is a look-up for in this cycle, and goes on in the next one; what is behind the
// last line, once all have been asked for.
func (f *fifo) goOn(now event.Time) {
	c := f.c
	for sid := f.first(); sid >= 0; sid = f.first() {
		s, end := &f.g.Streams[sid], f.end(sid)
		id := aheadID | uint64(f.g.id)<<40 | uint64(sid)<<32 | uint64(uint32(end-1))
		b, ok := c.caches.Spare(now, s.PC[0], f.g.line(sid, f.streams[sid].next), id, s.Kind != Load)
		if !ok {
			c.fetching = true
			c.engine.At(now+1, c.coreTimer.fetch, 0)
			return
		}
		f.lines++
		switch _, e := f.next(sid, end); {
		case s.Kind != Load: // to be written; nothing is kept here
		case b != nil:
			e.data, e.here = *b, true
		default:
			f.asked++
		}
	}
	if !f.beyond && !slices.ContainsFunc(f.streams, func(a ahead) bool { return a.next < f.g.N }) {
		f.beyond = true
		c.goBeyond(now, f.g)
	}
}

// first is the stream that the core needs a line of first, of those that have room; -1: none. What
// the core has passed is not fetched any more.
func (f *fifo) first() (sid int) {
	sid = -1
	for i := range f.streams {
		a := &f.streams[i]
		a.next = max(a.next, f.done)
		if a.next < f.g.N && len(a.lines) < a.room && (sid < 0 || a.next < f.streams[sid].next) {
			sid = i
		}
	}
	return sid
}

// end is the iteration behind those that take the next line of a stream.
func (f *fifo) end(sid int) int64 {
	g, at := f.g, f.streams[sid].next
	stride := g.Streams[sid].Stride
	line := g.line(sid, at)
	for at < g.N && g.line(sid, at) == line {
		row := min(g.N, at-at%g.row()+g.row())
		n, from := row-at, int64(g.address(sid, at)%mem.LineBytes)
		switch {
		case stride > 0:
			n = min(n, (mem.LineBytes-from+stride-1)/stride)
		case stride < 0:
			n = min(n, from/-stride+1)
		}
		if at += n; at < row {
			break
		}
	}
	return at
}

// next is the next line of a stream, which iterations before end take, with its entry; the stream goes on there.
func (f *fifo) next(sid int, end int64) (mem.Line, *entry) {
	a := &f.streams[sid]
	line := f.g.line(sid, a.next)
	tag := line
	if f.g.Streams[sid].Kind != Load {
		tag = noLine
	}
	a.add(&f.c.windows, tag, end-1)
	a.next = end
	f.c.Counters.Prefetched++
	return line, &a.lines[len(a.lines)-1]
}

// of reports whether a line was asked for by this loop.
func (f *fifo) of(id uint64) bool { return f != nil && uint32(id>>40)&(1<<23-1) == f.g.id&(1<<23-1) }

// performed takes a line that was fetched.
func (f *fifo) performed(now event.Time, filled event.Time, id uint64, b *mem.Bytes) {
	f.asked--
	a := &f.streams[id>>32&0xff]
	for i := range a.lines {
		e := &a.lines[i]
		if uint32(e.last) != uint32(id) {
			continue
		}
		loads := e.loads
		e.loads = nil
		if a.tags[i] != noLine {
			e.data, e.here = *b, true
		}
		for _, load := range loads {
			f.c.client.Performed(now, filled, load, b)
		}
		return
	}
}

// load serves a load of the core, if its line is here or on its way.
func (f *fifo) load(pc uint32, line mem.Line, id uint64) (b *mem.Bytes, waits bool) {
	sid := f.sid(pc)
	if sid < 0 {
		return nil, false
	}
	a := &f.streams[sid]
	i := slices.Index(a.tags, line)
	if i < 0 {
		return nil, false
	}
	f.c.Counters.Served++
	e := &a.lines[i]
	if e.here {
		return &e.data, false
	}
	e.loads = append(e.loads, id)
	return nil, true
}

// flush forgets a line that has changed.
func (f *fifo) flush(line mem.Line) {
	for sid := range f.streams {
		for i, tag := range f.streams[sid].tags {
			if tag == line {
				f.c.Counters.Flushed++
				f.streams[sid].tags[i] = noLine
			}
		}
	}
}

// step lets go of lines that the core has passed.
func (f *fifo) step(now event.Time, n int64) {
	f.done += n
	for sid := range f.streams {
		a := &f.streams[sid]
		k := 0
		for k < len(a.lines) && a.passed(k, f.done) {
			k++
		}
		a.lines, a.tags = a.lines[k:], a.tags[k:]
	}
	f.fetch(now)
}
