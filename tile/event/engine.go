package event

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/bitsched/bitsched/internal/hugepage"
	"github.com/bitsched/bitsched/tile/stats"
)

// Time is a cycle.
type Time = int64

// Forever is later than all events.
const Forever = Time(math.MaxInt64)

// Func is what an event does; arg is what it was scheduled with.
type Func func(now Time, arg uint64)

// Phase orders the events of a cycle: all of a phase come before those of the next
// one, whenever they were scheduled.
type Phase uint8

// The phases of a cycle. What a part does in Act it may base on all that was delivered
// in the cycle; in Settle, on all that other parts did in it.
const (
	Deliver Phase = iota // what was sent arrives
	Act                  // parts do their work; the phase of events that say none
	Settle               // arbitration among what was asked for in this cycle, and what looks at the whole
	phases
)

// Handler is the number of a Func that an Engine knows.
type Handler int32

// ID names an event that was scheduled. The zero ID names none.
type ID uint64

// Stats are what an Engine has done since it was made.
type Stats struct {
	Scheduled  uint64 `desc:"events scheduled"`
	Executed   uint64 `desc:"events executed"`
	Cancelled  uint64 `desc:"events taken back"`
	Overflowed uint64 `desc:"events further away than the wheel reaches when they were scheduled"`
	Pending    uint64 `desc:"events yet to be executed"`
	MaxPending uint64 `desc:"events yet to be executed, at most"`
}

const (
	// wheelSlots is how many cycles the wheel reaches: more than the latencies of
	// memory and network, so that few events go through the heap.
	wheelSlots = 1024
	// checkEvery is how many events pass between two looks at the context.
	checkEvery = 1 << 12
)

// node is an event, or an unused place for one.
type node struct {
	at         Time
	arg        uint64
	handler    Handler
	phase      Phase
	next, prev int32 // in the list of its cycle, or the list of unused nodes; -1 = none
	generation uint32
	heap       int32 // place in the heap; inWheel, unused
}

const (
	inWheel = -1
	unused  = -2
)

// slot is the lists of the events of a cycle, by phase.
type slot [phases]list

type list struct{ first, last int32 }

// occupied tells whether the cycle has events.
func (s *slot) occupied() bool { return s[Deliver].first&s[Act].first&s[Settle].first >= 0 }

// handler is a Func and when in a cycle it is called. It lies in one line of the host.
type handler struct {
	f     Func
	far   func(arg uint64) // of Ahead
	near  func(arg uint64)
	phase Phase
}

// far is an event in the heap.
type far struct {
	at   Time
	seq  uint64
	node int32
}

func (f far) before(g far) bool { return f.at < g.at || f.at == g.at && f.seq < g.seq }

// Engine executes events in order of time, then of scheduling.
type Engine struct {
	now      Time
	seq      uint64
	handlers []handler
	partOf   []*Component // by handler: whose it is
	nodes    []node
	free     int32 // list of unused nodes
	slots    []slot
	occupied []uint64 // slots with events
	inWheel  int
	overflow []far // binary heap
	stopped  bool
	phase    Phase // of the event that is executed
	stats    Stats

	parts    []*Component
	names    map[string]*Component
	unnamed  Component // whose handlers are those of nobody
	hooks    []*Hooks
	memory   hugepage.Slab
	registry *stats.Registry
}

// New returns an engine at cycle 0 without events.
func New() *Engine { return newEngine(wheelSlots) }

// newEngine takes a power of two of at least 64 slots.
func newEngine(slots int) *Engine {
	e := &Engine{free: -1, slots: make([]slot, slots), occupied: make([]uint64, slots/64)}
	for i := range e.slots {
		for p := range e.slots[i] {
			e.slots[i][p] = list{-1, -1}
		}
	}
	e.names, e.registry = map[string]*Component{}, stats.New()
	e.unnamed.e = e
	e.registry.Register("engine", &e.stats)
	return e
}

// Handle makes a function known, which is called in the phase Act. Functions stay
// known for ever: parts of a model register theirs when they are made, not for each
// event.
func (e *Engine) Handle(f Func) Handler { return e.unnamed.HandleIn(Act, f) }

// Ahead lets functions see the argument of an event of a handler before it is executed,
// to bring what it needs into the caches of the host: far two events ahead in the cycle,
// then near one event ahead. Either may be nil, and may be called or not; neither may
// change the model.
func (e *Engine) Ahead(h Handler, far, near func(arg uint64)) {
	e.handlers[h].far, e.handlers[h].near = far, near
}

// Memory is where parts of the model have large tables without pointers.
func (e *Engine) Memory() *hugepage.Slab { return &e.memory }

// Now is the cycle of the event that is executed, or the last one that was reached.
func (e *Engine) Now() Time { return e.now }

// Stats returns the statistics.
func (e *Engine) Stats() Stats { return e.stats }

// After schedules an event in that many cycles; 0 is later in the current one. A
// time that has passed is an error of the model, and panics.
func (e *Engine) After(delay Time, h Handler, arg uint64) ID { return e.At(e.now+delay, h, arg) }

// At schedules an event at a cycle, as After does.
func (e *Engine) At(t Time, h Handler, arg uint64) ID {
	if t < e.now {
		panic(fmt.Sprintf("event: scheduled at cycle %d, which has passed at %d", t, e.now))
	}
	phase := e.handlers[h].phase
	if t == e.now && phase < e.phase {
		panic(fmt.Sprintf("event: scheduled in a phase of cycle %d that has passed", t))
	}
	i := e.free
	if i >= 0 {
		e.free = e.nodes[i].next
	} else {
		i = int32(len(e.nodes))
		e.nodes = append(e.nodes, node{})
	}
	n := &e.nodes[i]
	n.at, n.arg, n.handler, n.phase = t, arg, h, phase
	if t-e.now < Time(len(e.slots)) {
		e.link(i)
	} else {
		e.stats.Overflowed++
		e.push(far{t, e.seq, i})
	}
	e.seq++
	e.stats.Scheduled++
	e.stats.Pending++
	e.stats.MaxPending = max(e.stats.MaxPending, e.stats.Pending)
	return ID(n.generation)<<32 | ID(i+1)
}

// Cancel takes an event back. It tells whether there was one: an event that was
// executed or cancelled is none.
func (e *Engine) Cancel(id ID) bool {
	i := int32(uint32(id)) - 1
	if i < 0 || int(i) >= len(e.nodes) || e.nodes[i].generation != uint32(id>>32) || e.nodes[i].heap == unused {
		return false
	}
	if at := e.nodes[i].heap; at >= 0 {
		e.removeFar(int(at))
	} else {
		e.unlink(i)
	}
	e.release(i)
	e.stats.Cancelled++
	return true
}

// Next is the cycle of the next event, Forever if there is none.
func (e *Engine) Next() Time {
	if e.inWheel > 0 {
		return e.nextInWheel()
	}
	if len(e.overflow) > 0 {
		return e.overflow[0].at
	}
	return Forever
}

// Stop ends Run after the event that is executed.
func (e *Engine) Stop() { e.stopped = true }

// Run executes the events up to and including those of cycle until. Now is until
// then, or the cycle of the last event if until is Forever. It ends early with
// Stop, and with an error if the context is cancelled; it can be called again to
// go on.
func (e *Engine) Run(ctx context.Context, until Time) error {
	e.stopped = false
	defer func() { e.phase = Deliver }()
	for left := 0; ; left-- {
		t := e.now
		if !e.slots[int(t)&(len(e.slots)-1)].occupied() {
			t = e.Next()
		}
		if t > until || t == Forever {
			break
		}
		if left == 0 {
			if ctx.Err() != nil {
				return fmt.Errorf("event: %w", context.Cause(ctx))
			}
			left = checkEvery
		}
		if t != e.now {
			e.phase = Deliver
			e.moveTo(t)
			if e.stopped { // by a hook
				return nil
			}
		}
		s := &e.slots[t&Time(len(e.slots)-1)]
		p := e.phase // there is nothing in those before
		for s[p].first < 0 {
			p++
		}
		// The first of a list leaves it, with less to do than another one.
		l := &s[p]
		i := l.first
		n := &e.nodes[i]
		number, arg := n.handler, n.arg
		h := &e.handlers[number]
		if l.first = n.next; l.first >= 0 {
			after := &e.nodes[l.first]
			after.prev = -1
			if f := e.handlers[after.handler].near; f != nil {
				f(after.arg)
			}
			if after.next >= 0 {
				after = &e.nodes[after.next]
				if f := e.handlers[after.handler].far; f != nil {
					f(after.arg)
				}
			}
		} else {
			l.last = -1
			if !s.occupied() {
				e.vacate(int(t) & (len(e.slots) - 1))
			}
		}
		e.inWheel--
		n.generation++
		n.heap = unused
		n.next = e.free
		e.free = i
		e.stats.Pending--
		e.stats.Executed++
		e.phase = p
		if len(e.hooks) > 0 {
			e.observe(t, e.partOf[number], p, arg)
		}
		h.f(t, arg)
		if e.stopped {
			return nil
		}
	}
	if until != Forever && until > e.now {
		e.moveTo(until)
	}
	if until == Forever {
		return e.stuck()
	}
	return nil
}

// moveTo sets the time. Events that the wheel reaches now leave the heap, before
// any later event of the same cycle can be scheduled, so that lists stay in order.
func (e *Engine) moveTo(t Time) {
	for _, h := range e.hooks {
		if h.Cycle != nil {
			h.Cycle(e.now, t)
		}
	}
	e.now = t
	for len(e.overflow) > 0 && e.overflow[0].at-t < Time(len(e.slots)) {
		i := e.overflow[0].node
		e.removeFar(0)
		e.link(i)
	}
}

// link appends an event to the list of its cycle.
func (e *Engine) link(i int32) {
	n := &e.nodes[i]
	k := int(n.at) & (len(e.slots) - 1)
	s := &e.slots[k][n.phase]
	n.next, n.prev, n.heap = -1, s.last, inWheel
	if s.last >= 0 {
		e.nodes[s.last].next = i
	} else {
		s.first = i
		e.occupied[k>>6] |= 1 << (k & 63)
	}
	s.last = i
	e.inWheel++
}

func (e *Engine) unlink(i int32) {
	n := &e.nodes[i]
	k := int(n.at) & (len(e.slots) - 1)
	s := &e.slots[k][n.phase]
	if n.prev >= 0 {
		e.nodes[n.prev].next = n.next
	} else {
		s.first = n.next
	}
	if n.next >= 0 {
		e.nodes[n.next].prev = n.prev
	} else {
		s.last = n.prev
	}
	if !e.slots[k].occupied() {
		e.vacate(k)
	}
	e.inWheel--
}

// vacate notes that a slot has no events.
func (e *Engine) vacate(k int) { e.occupied[k>>6] &^= 1 << (k & 63) }

// release makes a node unused; its ID names no event any more.
func (e *Engine) release(i int32) {
	n := &e.nodes[i]
	n.generation++
	n.heap = unused
	n.next = e.free
	e.free = i
	e.stats.Pending--
}

// nextInWheel is the cycle of the first list with events, which exists.
func (e *Engine) nextInWheel() Time {
	mask := len(e.slots) - 1
	from := int(e.now) & mask
	w := from >> 6
	word := e.occupied[w] >> (from & 63) << (from & 63)
	for word == 0 {
		if w++; w == len(e.occupied) {
			w = 0
		}
		word = e.occupied[w]
	}
	k := w<<6 | bits.TrailingZeros64(word)
	return e.now + Time((k-from)&mask)
}
