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
	sid     map[uint32]int
	// Of a loop all of whose streams are here: what the history takes.
	alone         bool
	pcs           map[uint32]bool
	lines, misses uint64
}

// ahead is a stream that fetches.
type ahead struct {
	lines []entry
	next  int64 // iteration whose line is fetched next
	room  int   // lines
}

// entry is a line of the FIFO.
type entry struct {
	line  mem.Line
	last  int64 // iteration that takes it
	data  mem.Bytes
	here  bool
	stale bool
	loads []uint64 // that wait
}

// ahead loads are told from those of the core by a bit of their number.
const aheadID = uint64(1) << 63

func newFIFO(c *Core, g *Group) *fifo {
	f := &fifo{c: c, beyond: len(g.Beyond) == 0, sid: map[uint32]int{}, alone: len(g.Streams) == 0, pcs: map[uint32]bool{}}
	f.g = &Group{Beyond: g.Beyond, Loop: g.Loop, N: g.N, Row: g.Row, Plane: g.Plane, Lanes: g.Lanes, Range: g.Range, Streams: g.Ahead, id: g.id}
	n := 0 // that keep lines here: stores keep none
	for i := range g.Ahead {
		if g.Ahead[i].Kind == Load {
			n++
		}
	}
	n = max(1, n)
	for i := range g.Ahead {
		f.streams = append(f.streams, ahead{room: max(1, c.spec.FIFO/n/mem.LineBytes)})
		f.pcs[g.Ahead[i].PC[0]] = true // that lines are asked for with
		for _, pc := range g.Ahead[i].PC {
			if pc != 0 && g.Ahead[i].Kind == Load {
				f.sid[pc] = i
			}
		}
	}
	return f
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
		s, e := &f.g.Streams[sid], f.next(sid, f.end(sid))
		b := c.warm(s.PC[0], e.line, s.Kind != Load)
		if e.stale = s.Kind != Load; !e.stale {
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
		switch e := f.next(sid, end); {
		case s.Kind != Load: // to be written; nothing is kept here
			e.stale = true
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
	at := f.streams[sid].next
	line := f.g.line(sid, at)
	for at++; at < f.g.N && f.g.line(sid, at) == line; at++ {
	}
	return at
}

// next is the entry of the next line of a stream, which iterations before end take; it goes on there.
func (f *fifo) next(sid int, end int64) *entry {
	a := &f.streams[sid]
	a.lines = append(a.lines, entry{line: f.g.line(sid, a.next), last: end - 1})
	a.next = end
	f.c.Counters.Prefetched++
	return &a.lines[len(a.lines)-1]
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
		if !e.stale {
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
	sid, ok := f.sid[pc]
	if !ok {
		return nil, false
	}
	for i := range f.streams[sid].lines {
		e := &f.streams[sid].lines[i]
		if e.line != line || e.stale {
			continue
		}
		f.c.Counters.Served++
		if e.here {
			return &e.data, false
		}
		e.loads = append(e.loads, id)
		return nil, true
	}
	return nil, false
}

// flush forgets a line that has changed.
func (f *fifo) flush(line mem.Line) {
	for sid := range f.streams {
		for i := range f.streams[sid].lines {
			if e := &f.streams[sid].lines[i]; e.line == line && !e.stale {
				f.c.Counters.Flushed++
				e.stale = true
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
		for k < len(a.lines) && a.lines[k].last < f.done && (a.lines[k].here || a.lines[k].stale) && len(a.lines[k].loads) == 0 {
			k++
		}
		a.lines = append(a.lines[:0], a.lines[k:]...)
	}
	f.fetch(now)
}
