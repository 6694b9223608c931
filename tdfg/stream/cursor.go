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
	Next                   // an iteration of a loop begins; Elem is its number, Value that of the variable
	Leave                  // of a loop, after its last iteration; Elem is how many there were
	Ask                    // a racy stream is about to access Elem: see [Cursor.Answer]
	Part                   // the iterations of [Cursor.Share] have been executed: see there
)

// Event is a step of a cursor.
type Event struct {
	What    EventKind
	Skipped bool  // the stream's condition was false: nothing was accessed
	Stream  int32 // number of the stream in program order; of a loop otherwise, in the order of Graph.Loops
	Ops     int32 // operations and conversions, those of the condition included
	Elem    int64 // number of the element in the array, in the order of memory; -1 without an array
	Value   scalar.Value
	Old     scalar.Value // the element before it, if that is not skipped
}

// Cursor executes a program step by step, as [Program.Run] does at once. Any number of
// cursors may step through one program, on one memory or on several; each is used by
// one goroutine at a time.
type Cursor struct {
	m      *machine
	frames []frame
	err    error
	loops  bool
	ask    bool // racy streams wait for an answer
	asking bool // the next span has asked
	stops  []bool
	also   []bool // relaxed streams that wait, too
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
	shared    bool  // iterations are given in parts
	waits     bool  // for the next part
	from, all int64 // of a shared loop: the first of the part, and all iterations
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
		case f.waits || c.asking && n > 0:
			return n, c.err
		case f.fresh && f.shared && f.it == f.n:
			f.waits = true
			buf[n] = Event{What: Part, Stream: int32(f.l.id)}
			return n + 1, nil
		case f.l != &outside && !f.entered:
			f.entered, f.fresh = true, true
			if c.loops {
				buf[n] = Event{What: Enter, Stream: int32(f.l.id), Elem: f.n}
				n++
				if f.l.src.Parallel != nil || f.l.id < len(c.stops) && c.stops[f.l.id] { // the caller may want to share it out
					return n, nil
				}
			}
		case f.fresh:
			f.fresh = false
			if f.it == f.n || !c.begin(f) {
				n += c.leave(buf[n:], f)
			} else if c.loops {
				buf[n] = Event{What: Next, Stream: int32(f.l.id), Elem: f.it, Value: c.m.regs[f.l.reg]}
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
			if p := &m.plans[sp.access]; uint64(e.Elem) < uint64(len(p.data)) {
				e.Old = p.data[e.Elem]
			}
			if info.stream.Racy && (!info.stream.Relaxed || int(sp.stream) < len(c.also) && c.also[sp.stream]) && info.stream.Kind != Store && c.ask && !c.asking {
				if c.question(e, sp, info, seg, f) {
					return n + 1
				}
				*e = Event{Stream: sp.stream, Ops: int32(info.ops + info.condOps), Elem: e.Elem}
			}
			c.asking = false
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

// AskRacy makes the cursor stop in front of each racy access that is not relaxed, with an
// event of the kind Ask: its value is open until [Cursor.Answer]. Value is then the operand of an RMW, and
// Old what a compare-and-swap expects.
func (c *Cursor) AskRacy() { c.ask = true }

// AskAlso makes the cursor stop in front of the relaxed loads of a list of streams, too,
// from now on.
func (c *Cursor) AskAlso(streams []bool) { c.also = streams }

// question executes a racy stream to see what it would do, and takes it back. It reports
// false where its condition does not hold.
func (c *Cursor) question(e *Event, sp *span, info *streamInfo, seg *segment, f *frame) bool {
	m, data := c.m, c.m.plans[sp.access].data
	inside := uint64(e.Elem) < uint64(len(data))
	var old scalar.Value
	if inside {
		old = data[e.Elem]
	}
	before, value := m.executed[sp.stream], m.regs[info.reg]
	_, err := m.execFrom(seg.code[:sp.to], int(sp.from), f.l, f.first, f.it, f.it+1)
	done := err == nil && (info.stream.If == nil || m.executed[sp.stream] != before)
	m.executed[sp.stream] = before
	if inside {
		data[e.Elem] = old
	}
	if !done {
		m.regs[info.reg] = value
		return false // an error comes again
	}
	e.What, e.Value, e.Old = Ask, 0, 0
	if info.rmw.a >= 0 {
		e.Value = m.regs[info.rmw.a]
	}
	if info.rmw.e >= 0 {
		e.Old = m.regs[info.rmw.e]
	}
	m.regs[info.reg] = value
	c.asking = true
	return true
}

// Answer says what the element of the last Ask is when it is accessed.
func (c *Cursor) Answer(e *Event, old scalar.Value) {
	c.m.plans[c.accessOf(e.Stream)].data[e.Elem] = old
}

func (c *Cursor) accessOf(s int32) int {
	for i := range c.m.p.accesses {
		if c.m.p.accesses[i].stream == c.m.p.streams[s].stream {
			return i
		}
	}
	return -1
}

// Share takes the iterations of the loop that was entered with the last event apart: the
// cursor executes those that [Cursor.Take] gives, and stops after each part with an
// event of the kind Part, until [Cursor.Rest] leaves the loop.
func (c *Cursor) Share() {
	f := &c.frames[len(c.frames)-1]
	f.shared, f.it, f.n, f.all, f.fresh = true, 0, 0, f.n, true
}

// Take goes on with iterations from to end of a shared loop.
func (c *Cursor) Take(from, end int64) {
	f := &c.frames[len(c.frames)-1]
	f.it, f.n, f.from, f.waits, f.fresh = from, end, from, false, true
}

// Skip leaves the loop that was entered with the last event without an iteration: others
// have executed it.
func (c *Cursor) Skip() {
	f := &c.frames[len(c.frames)-1]
	f.it, f.fresh = f.n, true
}

// Done returns the share of the program that is behind the cursor, as if all iterations of
// a loop were alike, and all loops beside each other. Of one that has no upper end, or is
// shared out, it knows what is certain or comes to its part.
func (c *Cursor) Done() float64 {
	done, width := 0.0, 1.0
	if len(c.frames) == 0 {
		return 1
	}
	for i := range c.frames {
		f := &c.frames[i]
		it, n := f.it, f.n
		switch {
		case f.l.src.Open:
			return done
		case !f.shared:
		case f.l.src.Parallel.Dynamic || f.l.src.Parallel.Chunk > 0:
			n = f.all
		default:
			it, n = f.it-f.from, f.n-f.from
		}
		if n > 0 {
			width /= float64(n)
			done += width * float64(min(it, n))
		}
		loops, before := 0, 0
		for k := range f.body {
			if f.body[k].loop != nil {
				loops++
				if k < f.seg {
					before++
				}
			}
		}
		if inside := i+1 < len(c.frames); loops > 0 {
			if inside {
				before-- // the one that it is in
			}
			width /= float64(loops)
			done += width * float64(before)
		}
	}
	return min(done, 1)
}

// Rest leaves a shared loop.
func (c *Cursor) Rest() {
	f := &c.frames[len(c.frames)-1]
	f.shared, f.waits, f.fresh = false, false, true
}

// Value returns the value of a stream at present, and SetValue changes it: threads reduce
// for themselves, and their values are brought together after a parallel loop.
func (c *Cursor) Value(s int) scalar.Value { return c.m.regs[c.m.p.streams[s].reg] }

// SetValue changes the value of a stream.
func (c *Cursor) SetValue(s int, v scalar.Value) { c.m.regs[c.m.p.streams[s].reg] = v }

// Atomic says what a racy stream does to its element: an operation with an operand, or,
// with compare, an exchange where the element is what is expected. ok is false if it is
// neither.
func (p *Program) Atomic(s int) (op scalar.Op, compare, ok bool) {
	r := p.streams[s].rmw
	return r.op, r.e >= 0, r.a >= 0
}

// Plain reports whether groups of iterations of a loop can be executed at once: it has no
// loops in it, no condition, and none of its streams is racy, has a condition, or finds
// in memory what another one of the loop wrote.
func (p *Program) Plain(l *Loop) bool {
	if l.While != nil || l.Open {
		return false
	}
	written := map[string]bool{}
	for _, st := range l.Body {
		s, ok := st.(*Stream)
		if !ok || s.If != nil || s.Racy || written[s.Array] && s.Array != "" {
			return false
		}
		if s.Kind == Store || s.Kind == RMW {
			written[s.Array] = true
		}
	}
	return len(l.Body) > 0
}

// StopAt makes [Cursor.Next] return behind the Enter of loops, by their numbers, so that
// [Cursor.Group] can go on.
func (c *Cursor) StopAt(loops []bool) { c.stops = loops }

// Group reports whether the cursor is at the beginning of an iteration of a plain loop
// and the addresses of the next n iterations are known. [Cursor.At] then says which, and
// [Cursor.Go] executes the iterations.
func (c *Cursor) Group(n int64) bool {
	if len(c.frames) == 0 || c.err != nil {
		return false
	}
	f := &c.frames[len(c.frames)-1]
	if !f.fresh || f.waits || f.it+n > f.n || len(f.body) != 1 || f.body[0].loop != nil {
		return false
	}
	for i := range f.body[0].spans {
		if a := f.body[0].spans[i].access; a >= 0 && !c.m.plans[a].ok {
			return false
		}
	}
	return true
}

// Left returns how many iterations of the innermost loop have not begun.
func (c *Cursor) Left() int64 {
	f := &c.frames[len(c.frames)-1]
	return f.n - f.it
}

// At returns the element that stream k of the loop's body accesses in the next iteration,
// how far apart those of iterations are, and the elements of its array.
func (c *Cursor) At(k int) (elem, stride int64, data []scalar.Value) {
	f := &c.frames[len(c.frames)-1]
	p := &c.m.plans[f.body[0].spans[k].access]
	return p.base + f.it*p.stride, p.stride, p.data
}

// Go executes n iterations of a group.
func (c *Cursor) Go(n int64) {
	f := &c.frames[len(c.frames)-1]
	_, err := c.m.exec(f.body[0].code, f.l, f.first, f.it, f.it+n)
	c.fail(err)
	c.m.iterations[f.l.id] += n
	f.it += n
}
