package stream

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// EventKind says what a step of a cursor is.
type EventKind uint8

// The kinds of events.
const (
	Step  EventKind = iota // a stream was reached, in an iteration of its loop
	Enter                  // of a loop, before its first iteration; Elem is their number
	Next                   // an iteration of a loop begins; Elem is its number
	Leave                  // of a loop, after its last iteration; Elem is how many there were
)

// Event is a step of a cursor.
type Event struct {
	What    EventKind
	Skipped bool  // the stream's condition was false: nothing was accessed
	Stream  int32 // number of the stream in program order; of a loop otherwise, in the order of Graph.Loops
	Ops     int32 // operations and conversions, those of the condition included
	Elem    int64 // number of the element in the array, in the order of memory; -1 without an array
	Value   scalar.Value
	Old     scalar.Value // the element before a Store or an RMW that is not skipped
}

// Cursor executes a program step by step, as [Program.Run] does at once. Any number of
// cursors may step through one program, on one memory or on several; each is used by
// one goroutine at a time.
type Cursor struct {
	m      *machine
	frames []frame
	err    error
	loops  bool
}

// frame is a body that is being executed.
type frame struct {
	l         *loop
	body      []segment
	seg       int // of the body
	span      int // of the segment
	first, it int64
	n         int64 // iterations
	fresh     bool  // the iteration has not begun
	entered   bool
}

// Start returns a cursor at the beginning of the program. With loops, its events
// include those of loops, not only of streams.
func (p *Program) Start(mem Memory, args Args, loops bool) (*Cursor, error) {
	m := &machine{
		p: p, ctx: context.Background(), regs: append([]scalar.Value(nil), p.preset...),
		plans: make([]plan, len(p.accesses)), iterations: make([]int64, p.loops), executed: make([]int64, len(p.streams)),
	}
	if err := m.bind(mem, args); err != nil {
		return nil, fmt.Errorf("stream: graph %s: %w", p.graph.Name, err)
	}
	return &Cursor{m: m, loops: loops, frames: []frame{{l: &outside, body: p.body, n: 1}}}, nil
}

// Next executes steps until buf is full, and returns how many. Fewer are the last
// ones. The error is that of [Program.Run], at the step that has it.
func (c *Cursor) Next(buf []Event) (n int, err error) {
	for n < len(buf) && len(c.frames) > 0 && c.err == nil {
		f := &c.frames[len(c.frames)-1]
		switch {
		case f.l != &outside && !f.entered:
			f.entered, f.fresh = true, true
			if c.loops {
				buf[n] = Event{What: Enter, Stream: int32(f.l.id), Elem: f.n}
				n++
			}
		case f.fresh:
			f.fresh = false
			if f.it == f.n || !c.begin(f) {
				n += c.leave(buf[n:], f)
			} else if c.loops {
				buf[n] = Event{What: Next, Stream: int32(f.l.id), Elem: f.it}
				n++
			}
		case f.seg == len(f.body):
			if f.l == &outside {
				c.frames = c.frames[:0]
				break
			}
			c.m.iterations[f.l.id]++
			f.it++
			f.seg, f.span, f.fresh = 0, 0, true
		case f.body[f.seg].loop != nil:
			f.seg++
			c.enter(f.body[f.seg-1].loop)
		default:
			n += c.spans(buf[n:], f)
		}
	}
	return n, c.err
}

// begin sets the variable of an iteration, and reports whether the loop goes on.
func (c *Cursor) begin(f *frame) bool {
	if f.l.reg >= 0 {
		c.m.regs[f.l.reg] = scalar.Value(f.first + f.it*f.l.src.Stride())
	}
	code := f.l.while
	if f.l.inBody > 0 {
		code = f.body[0].code[:f.l.inBody]
	}
	if len(code) == 0 {
		return true
	}
	done, err := c.m.exec(code, f.l, f.first, f.it, f.it+1)
	c.fail(err)
	return done > f.it
}

func (c *Cursor) fail(err error) {
	if err != nil {
		c.err = err
	}
}

// enter begins a loop.
func (c *Cursor) enter(l *loop) {
	if _, err := c.m.exec(l.init, &outside, 0, 0, 1); err != nil {
		c.fail(err)
		return
	}
	first, n := c.m.trips(l)
	if n > 0 {
		c.m.regs[l.reg] = scalar.Value(first)
		for _, i := range l.planned {
			c.m.plan(&c.m.p.accesses[i], &c.m.plans[i], l.src.Stride(), n)
		}
	}
	c.frames = append(c.frames, frame{l: l, body: l.body, first: first, n: n})
}

// leave ends a loop, and returns the number of events.
func (c *Cursor) leave(buf []Event, f *frame) int {
	id, it := f.l.id, f.it
	c.frames = c.frames[:len(c.frames)-1]
	if !c.loops {
		return 0
	}
	buf[0] = Event{What: Leave, Stream: int32(id), Elem: it}
	return 1
}

// spans executes the streams of a segment.
func (c *Cursor) spans(buf []Event, f *frame) (n int) {
	m, seg := c.m, &f.body[f.seg]
	for ; n < len(buf) && f.span < len(seg.spans); f.span++ {
		sp := &seg.spans[f.span]
		info := &m.p.streams[sp.stream]
		e := &buf[n]
		*e = Event{Stream: sp.stream, Ops: int32(info.ops + info.condOps), Elem: -1}
		if sp.access >= 0 {
			e.Elem = m.place(sp.access, f.it)
			if p := &m.plans[sp.access]; info.stream.Kind >= Store && uint64(e.Elem) < uint64(len(p.data)) {
				e.Old = p.data[e.Elem]
			}
		}
		if sp.simple && m.plans[sp.access].ok { // by far the most frequent
			in := &seg.code[sp.from]
			e.Value = m.plans[sp.access].data[e.Elem] & in.mask
			m.regs[in.dst] = e.Value
			n++
			continue
		}
		before := m.executed[sp.stream]
		if _, err := m.execFrom(seg.code[:sp.to], int(sp.from), f.l, f.first, f.it, f.it+1); err != nil {
			c.fail(err)
			return n
		}
		if info.stream.If != nil && m.executed[sp.stream] == before {
			e.Skipped, e.Elem, e.Ops = true, -1, int32(info.condOps)
		}
		e.Value = m.regs[info.reg]
		if info.stream.Old && !e.Skipped {
			e.Value = m.plans[sp.access].data[e.Elem]
		}
		n++
	}
	if f.span == len(seg.spans) {
		f.seg, f.span = f.seg+1, 0
	}
	return n
}

// place returns the place of an access, which may be outside of its array where the
// access is not made.
func (m *machine) place(at int32, it int64) int64 {
	p := &m.plans[at]
	if p.ok {
		return p.base + it*p.stride
	}
	ac := &m.p.accesses[at]
	place := int64(0)
	for d := range ac.index {
		place += ac.index[d].value(m.regs) * p.mult[d]
	}
	return place
}

// Result says what has been done so far.
func (c *Cursor) Result() *Result { return c.m.result() }

// State is where a cursor is, without the memory that it works on.
type State struct {
	regs       []scalar.Value
	plans      []plan
	iterations []int64
	executed   []int64
	frames     []frame
	err        error
}

// Save returns where the cursor is.
func (c *Cursor) Save() *State {
	return &State{
		regs: append([]scalar.Value(nil), c.m.regs...), plans: append([]plan(nil), c.m.plans...), iterations: append([]int64(nil), c.m.iterations...),
		executed: append([]int64(nil), c.m.executed...), frames: append([]frame(nil), c.frames...), err: c.err,
	}
}

// Restore puts the cursor, or another one of the same program, where a state was saved.
// Elements stay as they are.
func (c *Cursor) Restore(s *State) {
	copy(c.m.regs, s.regs)
	copy(c.m.iterations, s.iterations)
	copy(c.m.executed, s.executed)
	for i := range s.plans { // data are those of this cursor's memory
		p := &c.m.plans[i]
		p.ok, p.base, p.stride = s.plans[i].ok, s.plans[i].base, s.plans[i].stride
	}
	c.frames, c.err = append(c.frames[:0], s.frames...), s.err
}
