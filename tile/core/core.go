package core

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/bitsched/bitsched/internal/hugepage"
	"github.com/bitsched/bitsched/internal/prefetch"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

// Memory is what a core loads from and stores to: private caches.
type Memory interface {
	Load(now event.Time, pc uint32, line mem.Line, id uint64) (*mem.Bytes, int)
	Own(now event.Time, pc uint32, line mem.Line) bool
	Write(line mem.Line) *mem.Bytes
}

// Translator gives the cycles that the translation of an address takes beyond that
// of a hit in the first TLB.
type Translator interface {
	Translate(now event.Time, addr uint64) int
}

// Counters are what a core has done.
type Counters struct {
	Cycles    uint64               `json:"cycles" unit:"Cycle" desc:"until the last micro-op was committed"`
	Committed uint64               `json:"committed" desc:"micro-ops"`
	Kinds     [uop.NumKinds]uint64 `json:"kinds" parts:"alu,mul,div,fpadd,fpmul,fma,fpdiv,shuffle,load,store,gather,scatter,atomic,branch,fence" desc:"micro-ops by kind"`

	Awaited uint64 `json:"awaited" desc:"loads that the thread waited for, to see what other threads do"`

	Branches     uint64 `json:"branches" desc:"conditional branches"`
	Mispredicted uint64 `json:"mispredicted" desc:"of these, foretold wrong"`
	Forwarded    uint64 `json:"forwarded" desc:"loads served by a store in the queue"`
	Replayed     uint64 `json:"replayed" desc:"loads performed again since their line was lost while older loads were not performed"`

	SIMD [uop.NumKinds]uint64 `json:"simd" parts:"alu,mul,div,fpadd,fpmul,fma,fpdiv,shuffle,load,store,gather,scatter,atomic,branch,fence" desc:"micro-ops of more than one lane, by kind"`

	StallEmpty  uint64 `json:"stall_empty" unit:"Cycle" desc:"without a commit: no micro-op in the window"`
	StallBranch uint64 `json:"stall_branch" unit:"Cycle" desc:"the same, after a branch that was foretold wrong"`
	StallSync   uint64 `json:"stall_sync" unit:"Cycle" desc:"without a commit: the oldest micro-op is atomic or a load that threads synchronise with, or was the last before an empty window"`
	StallLoad   uint64 `json:"stall_load" unit:"Cycle" desc:"without a commit: the oldest micro-op waits for memory"`
	StallStore  uint64 `json:"stall_store" unit:"Cycle" desc:"without a commit: the oldest waits for stores before it to be performed, or the window is empty and the SQ full"`
	StallUnit   uint64 `json:"stall_unit" unit:"Cycle" desc:"without a commit: the oldest waits for operands or units"`
	Idle        uint64 `json:"idle" unit:"Cycle" desc:"after the end of the thread"`

	FullROB uint64 `json:"full_rob" unit:"Cycle" desc:"dispatch stopped at a full ROB"`
	FullLQ  uint64 `json:"full_lq" unit:"Cycle" desc:"dispatch stopped at a full LQ"`
	FullSQ  uint64 `json:"full_sq" unit:"Cycle" desc:"dispatch stopped at a full SQ"`
}

// Add adds what another core has done.
func (c *Counters) Add(o *Counters) {
	for k := range c.Kinds {
		c.Kinds[k] += o.Kinds[k]
		c.SIMD[k] += o.SIMD[k]
	}
	for _, f := range []struct{ sum, n *uint64 }{
		{&c.Cycles, &o.Cycles}, {&c.Awaited, &o.Awaited}, {&c.Committed, &o.Committed}, {&c.Branches, &o.Branches}, {&c.Mispredicted, &o.Mispredicted}, {&c.Forwarded, &o.Forwarded},
		{&c.Replayed, &o.Replayed}, {&c.StallEmpty, &o.StallEmpty}, {&c.StallBranch, &o.StallBranch}, {&c.StallSync, &o.StallSync}, {&c.StallLoad, &o.StallLoad},
		{&c.StallStore, &o.StallStore}, {&c.StallUnit, &o.StallUnit}, {&c.Idle, &o.Idle}, {&c.FullROB, &o.FullROB}, {&c.FullLQ, &o.FullLQ}, {&c.FullSQ, &o.FullSQ},
	} {
		*f.sum += *f.n
	}
}

// slot states.
const (
	waiting uint8 = iota // for operands or a unit
	issued
	finished
)

// slot is a micro-op in the window. It fills a line of the host's cache.
type slot struct {
	op       *uop.Op // in its batch
	batch    *batch
	seq      uint64
	store    uint64   // its number among the stores
	next     [3]int32 // edges of the operands in the lists of who makes them
	first    int32    // of the edges to those that use the result
	place    int32    // in the LQ
	pending  int8     // operands that are not there
	state    uint8
	parts    int8 // of an access, not performed
	gen      uint8
	wrong    bool // a branch that was foretold wrong
	blocking bool
}

// pieces are the parts of a load, one bit each.
type pieces struct {
	ask     uint64 // to be asked for
	missing uint64 // not performed
	unequal uint64 // performed, and something else was found
}

// store is a store in the queue or in the buffer behind it.
type store struct {
	seq       uint64
	addr      uint64
	size      int
	data      [mem.LineBytes]byte
	lanes     []uint64 // addresses of a scatter
	pc        uint32
	executed  bool
	committed bool
	accepted  bool // has asked for its line
	pending   bool // and waits for it
	next      int  // part that is to be performed
}

// noEdge ends a list.
const noEdge = -1

// Core executes the micro-ops of a thread.
type Core struct {
	Counters Counters
	// OnCommit, if it is set, sees every micro-op that commits; got has the bytes of
	// loads that are Racy or Blocking, and what an atomic operation found.
	OnCommit func(now event.Time, op *uop.Op, got []byte)
	// OnAwait, if it is set, is told of each load that the thread waits for when it commits.
	OnAwait func(now event.Time, op *uop.Op)
	// Hold, if it is set, is asked before each micro-op commits, with its data, and says whether it must
	// not commit now. Who holds a micro-op wakes the core, or squashes it.
	Hold func(now event.Time, op *uop.Op, data []byte) bool
	// Quiet, if it is set, tells that Hold need not be asked as long as the thread only waits for others:
	// it would hold nothing back, and change nothing.
	Quiet func() bool

	engine *event.Engine
	spec   *Spec
	memory Memory
	tlb    Translator
	fail   func(error)
	id     int

	thread   uop.Thread
	repeater uop.Repeater // the same, if it is one
	batches  []*batch     // that are not committed, the oldest first
	unused   []*batch
	batch    *batch // that is fetched from
	at       int    // next of the batch
	more     bool
	blocked  bool // the thread waits for a blocking micro-op
	paused   bool // nothing more is fetched from the thread
	halted   bool // the same, between Squash and Resume
	squashed bool // since Forward looked last
	ahead    uop.Batch
	left     uop.Batch // by Leave, for Finish
	waits    awaited   // of Forward
	done     bool      // the thread has nothing more
	resumeAt event.Time
	limit    uint64 // micro-ops to commit until onLimit
	onLimit  func(now event.Time)
	redirect bool // fetch waits for a mispredicted branch
	// synchronised: the last access that was committed is one that its thread waits for.
	synchronised bool
	awaited      uint64 // address of the last such load
	guess        Predictor

	front       []frontOp // ring
	frontHead   int
	frontLen    int
	slots       []slot
	got         [][]byte // by slot: of a load whose value is used
	pieces      []pieces // by slot: of a load
	loadLine    []uint16 // by slot: the bucket of the line of a load, or severalLines, or noLoad
	mask        uint64
	head, tail  uint64
	iqTail      uint64 // those before are in the scheduler
	inIQ        int
	ready       []uint64 // slots whose operands are there
	numReady    int
	nextInOrder uint64
	producer    []uint64 // seq+1 of the last writer of a register
	loads       int      // in the LQ
	lqFree      []uint64 // places of the LQ
	lqSlots     []int32  // by place: the micro-op
	lqReady     []uint64 // loads with an address: by place, or by slot if the oldest goes first
	lqWaiting   int      // of these
	unperformed int      // loads and atomics that are in the window and not performed
	results     int      // registers in flight
	loadDebt    int      // accesses of gathers beyond the ports of a cycle

	stores   []store // ring by number
	sMask    uint64
	sHead    uint64 // oldest that is not performed
	sAccept  uint64 // oldest that has not asked
	sCommit  uint64 // oldest that is not committed
	sTail    uint64
	inSQ     int
	retry    []uint64 // loads that wait for a store to be performed, by number
	unitFree [][]event.Time

	unitsFree event.Time // all units, at the latest

	due      [wheelSize / 64]uint64 // cycles of the wheel with events
	events   []coreEvent
	noEvents int32 // list of unused ones
	ticking  event.Handler
	tickAt   event.Time // of the event that is scheduled, or never
	tickID   event.ID
	lastTick event.Time
	cause    *uint64 // what cycles without a tick are counted as
	full     *uint64
	active   bool
	storesUp int // executed in this cycle

	spin spin

	// Tables are behind all that each cycle needs.
	kinds  [2][uop.NumKinds]issueInfo
	wheel  [wheelSize]struct{ first, last int32 } // lists of events
	loaded [filterSize]uint16                     // loads in the window, by line of each part
	filter [filterSize]uint16                     // stores by granule of 8 bytes
	lines  [filterSize]uint16                     // and by line, for vectors of many granules
}

// frontOp is a micro-op in the front end.
type frontOp struct {
	op    *uop.Op
	batch *batch
	at    event.Time
	wrong bool
}

// batch is micro-ops of the thread, which stay where they are until all are committed.
type batch struct {
	uop.Batch
	left int // not committed
}

// data is what a batch has for one of its micro-ops.
func (b *batch) data(op *uop.Op) []byte {
	if !op.Kind.Memory() {
		return nil
	}
	size := op.DataBytes()
	return b.Data[op.Data:][:size:size]
}

const (
	filterSize = 1024

	severalLines = filterSize // of a load with several parts
	noLoad       = filterSize + 1

	wheelSize = 256
	never     = event.Time(-1)
)

// New returns a core without a thread. Its spec must be valid; tlb may be nil.
func New(e *event.Engine, spec *Spec, id int, tlb Translator, fail func(error)) *Core {
	kinds, err := spec.table()
	if err != nil {
		panic(err)
	}
	size := 1
	for size < spec.ROB {
		size *= 2
	}
	stores := 1
	for stores < spec.SQ+spec.StoreBuffer {
		stores *= 2
	}
	c := &Core{engine: e, spec: spec, kinds: kinds, tlb: tlb, fail: fail, id: id, guess: Predictors[spec.Predictor](),
		slots: make([]slot, size), got: make([][]byte, size), pieces: make([]pieces, size), loadLine: make([]uint16, size), mask: uint64(size - 1), ready: make([]uint64, (size+63)/64), producer: make([]uint64, 256),
		stores: make([]store, stores), sMask: uint64(stores - 1), front: make([]frontOp, spec.Buffer), batch: &batch{}, tickAt: never, done: true, noEvents: noEdge}
	// A load that is performed again may come back when its place is taken.
	places := spec.LQ + spec.ROB
	c.lqFree, c.lqSlots = make([]uint64, (places+63)/64), make([]int32, places)
	for i := range places {
		c.lqFree[i>>6] |= 1 << (i & 63)
	}
	c.lqReady = make([]uint64, max(len(c.lqFree), len(c.ready)))
	for _, u := range spec.Units {
		c.unitFree = append(c.unitFree, make([]event.Time, u.Count))
	}
	c.ticking = e.Handle(func(now event.Time, _ uint64) {
		c.tickAt = never
		if c.spin.on {
			c.hollow(now)
			return
		}
		c.tick(now)
	})
	c.cause = &c.Counters.Idle
	e.Ahead(c.ticking, c.far, c.near)
	return c
}

// far brings what each cycle needs of the core into the caches of the host: those of many cores
// do not fit there at once.
func (c *Core) far(uint64) {
	if c.spin.on {
		prefetch.Lines(unsafe.Pointer(&c.spin), 2)
		return
	}
	prefetch.Lines(unsafe.Pointer(c), int(unsafe.Offsetof(c.spin)/hostLine))
}

// near does so with what that says where it is.
func (c *Core) near(uint64) {
	if c.spin.on {
		return
	}
	prefetch.Lines(unsafe.Pointer(&c.slots[c.head&c.mask]), 2)
	prefetch.Lines(unsafe.Pointer(&c.slots[c.tail&c.mask]), max(1, min(c.frontLen, c.spec.Dispatch)))
	prefetch.Lines(unsafe.Pointer(&c.front[c.frontHead]), 1)
	prefetch.Lines(unsafe.Pointer(&c.wheel[c.engine.Now()&(wheelSize-1)]), 1)
	if c.at < len(c.batch.Ops) {
		prefetch.Lines(unsafe.Pointer(&c.batch.Ops[c.at]), 2)
	}
	if c.sHead < c.sCommit {
		prefetch.Lines(unsafe.Pointer(&c.stores[c.sHead&c.sMask]), 2)
	}
}

// hostLine is a line of the host's caches.
const hostLine = 64

// Back asks for huge pages of the host where the core lies. It is to be called when all of a
// machine is built.
func (c *Core) Back(s *hugepage.Slab) {
	hugepage.Back(s, unsafe.Slice(c, 1))
	hugepage.Back(s, c.slots)
	hugepage.Back(s, c.got)
	hugepage.Back(s, c.pieces)
	hugepage.Back(s, c.stores)
	hugepage.Back(s, c.front)
	hugepage.Back(s, c.producer)
}

// Connect gives the core its memory.
func (c *Core) Connect(m Memory) { c.memory = m }

// Start lets the core execute a thread from the next cycle on.
func (c *Core) Start(thread uop.Thread) {
	c.thread, c.done, c.more = thread, false, true
	c.repeater, _ = thread.(uop.Repeater)
	c.lastTick = c.engine.Now()
	c.wake(c.engine.Now() + 1)
}

// Done tells whether the thread has ended and all that it stored is performed.
func (c *Core) Done() bool {
	return c.done && !c.halted && c.at == len(c.batch.Ops) && c.head == c.tail && c.frontLen == 0 && c.sHead == c.sTail
}

// Stuck says what a paused core waits for, "" if nothing is left of what it has fetched.
func (c *Core) Stuck() string {
	if c.at == len(c.batch.Ops) && c.head == c.tail && c.frontLen == 0 && c.sHead == c.sTail {
		return ""
	}
	return c.Waits()
}

// After calls a function when that many further micro-ops have been committed.
func (c *Core) After(n uint64, f func(now event.Time)) {
	c.Settle()
	c.limit, c.onLimit = c.Counters.Committed+n, f
}

// Awaits tells whether the last access that was committed is one that its thread waits
// for, as those of loops that wait for other threads are.
func (c *Core) Awaits() bool { return c.synchronised }

// Waits says what the core waits for, for reports of deadlocks.
func (c *Core) Waits() string {
	c.Settle()
	switch {
	case c.Done():
		return "is done"
	case c.head == c.tail && c.sHead != c.sTail:
		s := &c.stores[c.sHead&c.sMask]
		return fmt.Sprintf("waits to perform a store to %#x", s.addr)
	case c.head == c.tail:
		return "waits for micro-ops"
	}
	s := &c.slots[c.head&c.mask]
	if !s.op.Kind.Memory() {
		return fmt.Sprintf("waits for the %s at %d", s.op.Kind, s.op.PC)
	}
	return fmt.Sprintf("waits for the %s at %d, address %#x", s.op.Kind, s.op.PC, s.op.Addr)
}

// WaitsAt is the address of what the core waits for: that of a load which its thread
// repeats to see what others do, or of the access that Waits tells of.
func (c *Core) WaitsAt() (addr uint64, ok bool) {
	c.Settle()
	switch {
	case c.Done():
	case c.synchronised:
		return c.awaited, true
	case c.head != c.tail:
		op := c.slots[c.head&c.mask].op
		return op.Addr, op.Kind.Memory()
	case c.sHead != c.sTail:
		return c.stores[c.sHead&c.sMask].addr, true
	}
	return 0, false
}

// wake lets the core tick at a cycle, if it does not earlier.
func (c *Core) wake(at event.Time) {
	if c.tickAt != never {
		if c.tickAt <= at {
			return
		}
		if !c.spin.replay {
			c.engine.Cancel(c.tickID)
		}
	}
	c.tickAt = at
	if c.spin.replay {
		return
	}
	c.tickID = c.engine.At(at, c.ticking, 0)
}

// later puts an event of a micro-op into the wheel.
func (c *Core) later(at event.Time, what uint64) {
	k := at & (wheelSize - 1)
	i := c.noEvents
	if i == noEdge {
		i = int32(len(c.events))
		c.events = append(c.events, coreEvent{})
	} else {
		c.noEvents = c.events[i].next
	}
	c.events[i] = coreEvent{what, noEdge}
	if list := &c.wheel[k]; c.due[k>>6]>>(k&63)&1 != 0 {
		c.events[list.last].next, list.last = i, i
	} else {
		list.first, list.last = i, i
		c.due[k>>6] |= 1 << (k & 63)
	}
	c.wake(at)
}

// coreEvent is an event of the wheel.
type coreEvent struct {
	what uint64
	next int32 // of the list; noEdge = none
}

// Events of the wheel: a micro-op is finished, or an address is translated.
const (
	evFinish = iota
	evAccess
	evKinds
)

func (s *slot) event(kind uint64) uint64 { return (s.seq<<8|uint64(s.gen))*evKinds + kind }

// find returns the micro-op of an event, nil if it has been taken back.
func (c *Core) find(what uint64) *slot {
	seq, gen := what/evKinds>>8, uint8(what/evKinds)
	s := &c.slots[seq&c.mask]
	if s.seq != seq || s.gen != gen || seq < c.head || seq >= c.tail {
		return nil
	}
	return s
}

// tick executes a cycle.
func (c *Core) tick(now event.Time) {
	if gap := now - c.lastTick - 1; gap > 0 {
		*c.cause += uint64(gap)
		if c.full != nil {
			*c.full += uint64(gap)
		}
		c.loadDebt = max(0, c.loadDebt-int(min(gap, event.Time(c.loadDebt)))*c.spec.LoadPorts)
	}
	if c.spin.noting {
		c.spin.note(now)
	}
	ports := c.loadPorts()
	c.full = nil
	c.lastTick = now
	c.active = false
	c.storesUp = 0
	if k := now & (wheelSize - 1); c.due[k>>6]>>(k&63)&1 != 0 {
		c.active = true
		c.due[k>>6] &^= 1 << (k & 63)
		for i := c.wheel[k].first; i != noEdge; {
			e := &c.events[i]
			what, next := e.what, e.next
			e.next, c.noEvents = c.noEvents, i
			i = next
			if s := c.find(what); s != nil {
				if what%evKinds == evFinish {
					c.finish(now, s)
				} else {
					c.access(now, s)
				}
			}
		}
	}
	c.commit(now)
	c.fillScheduler()
	if c.lqWaiting > 0 {
		c.selectLoads(now, ports)
	}
	if c.spec.InOrder {
		c.issueInOrder(now)
	} else {
		c.issue(now)
	}
	c.drain(now)
	c.dispatch(now)
	c.fetch(now)
	c.sleep(now)
	if c.spin.resolved {
		c.compare(now)
	}
}

// sleep finds the next cycle in which something can happen.
func (c *Core) sleep(now event.Time) {
	if c.active {
		c.wake(now + 1)
		return
	}
	if t := c.nextDue(now); t != never {
		c.wake(t)
	}
	if c.frontLen > 0 {
		if at := c.front[c.frontHead].at; at > now {
			c.wake(at)
		}
	}
	if c.resumeAt > now && !c.redirect {
		c.wake(c.resumeAt)
	}
	if c.unitsFree <= now {
		return
	}
	for i := range c.unitFree {
		for _, free := range c.unitFree[i] {
			if free > now {
				c.wake(free)
			}
		}
	}
}

// nextDue is the next cycle for which the wheel has an event, never if there is none.
func (c *Core) nextDue(now event.Time) event.Time {
	from := int(now+1) & (wheelSize - 1)
	for k := 0; k <= len(c.due); k++ { // that of the beginning twice
		w := (from>>6 + k) & (len(c.due) - 1)
		set := c.due[w]
		if k == 0 {
			set = set >> (from & 63) << (from & 63)
		}
		if set != 0 {
			at := w<<6 | bits.TrailingZeros64(set)
			return now + 1 + event.Time((at-from)&(wheelSize-1))
		}
	}
	return never
}

// finish makes a result known.
func (c *Core) finish(now event.Time, s *slot) {
	s.state = finished
	for edge := s.first; edge != noEdge; {
		user := &c.slots[edge>>2]
		next := user.next[edge&3]
		if user.pending--; user.pending == 0 && user.seq < c.iqTail {
			c.setReady(user)
		}
		edge = next
	}
	s.first = noEdge
	switch s.op.Kind {
	case uop.Branch:
		if s.wrong {
			c.redirect = false
			c.resumeAt = now + event.Time(c.spec.Redirect)
		}
	case uop.Load, uop.Gather:
		if c.spec.EarlyLQ {
			c.leaveLQ(s)
		}
		if s.blocking {
			c.resolve(c.gotBy(s))
			c.spin.resolved = true
		}
	case uop.Atomic:
		if s.blocking {
			c.resolve(c.gotBy(s))
		}
	}
}

// resolve lets the thread go on.
func (c *Core) resolve(old []byte) {
	if err := c.thread.Resolve(old); err != nil {
		c.fail(err)
	}
	c.blocked = false
	c.active = true
}

func (c *Core) setReady(s *slot) {
	i := s.seq & c.mask
	c.ready[i>>6] |= 1 << (i & 63)
	c.numReady++
}

func (c *Core) clearReady(s *slot) {
	i := s.seq & c.mask
	c.ready[i>>6] &^= 1 << (i & 63)
	c.numReady--
}

// fillScheduler lets the oldest that have not issued compete.
func (c *Core) fillScheduler() {
	for c.iqTail < c.tail && c.inIQ < c.spec.IQ {
		s := &c.slots[c.iqTail&c.mask]
		c.iqTail++
		c.inIQ++
		if s.pending == 0 {
			c.setReady(s)
		}
	}
}

// issue issues those that are ready, the oldest first.
func (c *Core) issue(now event.Time) {
	if c.numReady == 0 {
		return
	}
	left, stores := c.spec.Issue, c.spec.StorePorts
	n := len(c.ready) // a power of two
	from := int(c.head & c.mask)
	// The words of the set from that of the head round to it again.
	for k := 0; k <= n && left > 0; k++ {
		w := (from>>6 + k) & (n - 1)
		set := c.ready[w]
		switch {
		case k == 0:
			set = set >> (from & 63) << (from & 63)
		case k == n:
			set &= 1<<(from&63) - 1
		}
		for ; set != 0 && left > 0; set &= set - 1 {
			s := &c.slots[w<<6|bits.TrailingZeros64(set)]
			if c.start(now, s, &stores) {
				left--
			}
		}
	}
}

// issueInOrder issues in the order of the program.
func (c *Core) issueInOrder(now event.Time) {
	left, stores := c.spec.Issue, c.spec.StorePorts
	for left > 0 && c.nextInOrder < c.iqTail {
		s := &c.slots[c.nextInOrder&c.mask]
		if s.pending > 0 || !c.start(now, s, &stores) {
			return
		}
		left--
	}
}

// selectLoads sends loads whose address is there to the cache.
func (c *Core) selectLoads(now event.Time, ports int) {
	c.active = true
	n, from := len(c.lqReady), 0
	bySlot := c.spec.LoadSelect == "slot"
	if !bySlot {
		n, from = len(c.ready), int(c.head&c.mask)
	}
	for k := 0; k <= n && ports > 0 && c.lqWaiting > 0; k++ {
		w := from>>6 + k
		if w >= n {
			w -= n
		}
		set := c.lqReady[w]
		switch {
		case k == 0:
			set = set >> (from & 63) << (from & 63)
		case k == n:
			set &= 1<<(from&63) - 1
		}
		for ; set != 0 && ports > 0; set &= set - 1 {
			bit := bits.TrailingZeros64(set)
			c.lqReady[w] &^= 1 << bit
			c.lqWaiting--
			ports--
			i := w<<6 | bit
			if bySlot {
				i = int(c.lqSlots[i])
			}
			s := &c.slots[i]
			if s.op.Kind == uop.Gather {
				c.loadDebt += int(s.op.Lanes) - 1
			}
			c.translate(now, s)
		}
	}
}

// leaveLQ frees the place of a load.
func (c *Core) leaveLQ(s *slot) {
	c.loads--
	c.lqFree[s.place>>6] |= 1 << (s.place & 63)
}

func (c *Core) enterLQ(s *slot) {
	c.loads++
	for w, free := range c.lqFree {
		if free != 0 {
			s.place = int32(w<<6 | bits.TrailingZeros64(free))
			c.lqFree[w] &= free - 1
			c.lqSlots[s.place] = int32(s.seq & c.mask)
			return
		}
	}
}

// loadPorts is how many loads may issue in this cycle, after the gathers of earlier
// ones, which use the ports of every cycle until all their lanes are through.
func (c *Core) loadPorts() int {
	ports := c.spec.LoadPorts
	if c.loadDebt > 0 {
		used := min(ports, c.loadDebt)
		c.loadDebt -= used
		ports -= used
	}
	return ports
}

// start issues a micro-op if ports and units allow it.
func (c *Core) start(now event.Time, s *slot, stores *int) bool {
	latency := 1
	switch s.op.Kind {
	case uop.Load, uop.Gather:
		// In order, those that wait for a port stop those behind them.
		if s.blocking && c.unperformed > 1 || c.spec.InOrder && c.lqWaiting >= c.spec.LoadPorts {
			return false
		}
		c.took(s)
		i := s.seq & c.mask
		if c.spec.LoadSelect == "slot" {
			i = uint64(s.place)
		}
		c.lqReady[i>>6] |= 1 << (i & 63)
		c.lqWaiting++
		c.wake(now + 1)
		return true
	case uop.Store, uop.Scatter:
		if *stores == 0 {
			return false
		}
		*stores--
		c.storesUp++
		t := &c.stores[s.store&c.sMask]
		t.executed = true
		if c.spec.StorePrefetch {
			for i := range t.count() {
				addr, _, _ := t.part(i)
				c.memory.Own(now, t.pc, addr/mem.LineBytes)
			}
		}
		c.again(now)
	case uop.Atomic, uop.Fence:
		// At the head, and after all stores before it.
		if s.seq != c.head || c.sHead != s.store {
			return false
		}
		if s.op.Kind == uop.Fence {
			c.unperformed--
		} else {
			c.took(s)
			if c.memory.Own(now, s.op.PC, s.op.Addr/mem.LineBytes) {
				c.perform(now, s)
			}
			return true
		}
	default:
		w := 0
		if s.op.Lanes > 1 {
			w = 1
		}
		info := c.kinds[w][s.op.Kind]
		if free := c.unitFree[info.unit]; len(free) > 0 {
			found := false
			for i := range free {
				if free[i] <= now {
					free[i] = now + event.Time(info.interval)
					c.unitsFree = max(c.unitsFree, free[i])
					found = true
					break
				}
			}
			if !found {
				return false
			}
		}
		latency = info.latency
	}
	c.took(s)
	c.later(now+event.Time(latency), s.event(evFinish))
	return true
}

// took notes that a micro-op has issued.
func (c *Core) took(s *slot) {
	c.active = true
	s.state = issued
	c.inIQ--
	c.clearReady(s)
	if c.spec.InOrder {
		c.nextInOrder = s.seq + 1
	}
}

// translate begins a load.
func (c *Core) translate(now event.Time, s *slot) {
	if c.tlb != nil {
		delay := 0
		if c.spin.replay && c.spin.looked {
			delay = c.spin.translate
		} else {
			delay = c.tlb.Translate(now, s.op.Addr)
		}
		if s.op.Kind == uop.Gather {
			for i := 1; i < int(s.op.Lanes); i++ {
				delay = max(delay, c.tlb.Translate(now, c.lane(s, i)))
			}
		}
		if delay > 0 {
			c.spin.slow = c.spin.slow || s.blocking
			c.later(now+event.Time(delay), s.event(evAccess))
			return
		}
	}
	c.access(now, s)
}

func (c *Core) lane(s *slot, i int) uint64 { return binary.LittleEndian.Uint64(s.data()[8*i:]) }

// data is what the batch has for the micro-op.
func (s *slot) data() []byte { return s.batch.data(s.op) }

// gotBy is the bytes that a load or an atomic operation has found, if they are used.
func (c *Core) gotBy(s *slot) []byte {
	if s.op.Kind == uop.Atomic || s.op.Kind.Memory() && s.op.Flags&(uop.Racy|uop.Blocking) != 0 {
		return c.got[s.seq&c.mask]
	}
	return nil
}

// expect makes room for what a load or an atomic operation finds.
func (c *Core) expect(s *slot) {
	got := &c.got[s.seq&c.mask]
	*got = append((*got)[:0], make([]byte, s.op.Size)...)
}

// part returns one of the pieces of an access, none of which crosses a line: the
// lanes of a gather, or the one or two of another access.
func (c *Core) part(s *slot, i int) (addr uint64, at, size int) {
	if s.op.Kind.Lanes() {
		size = int(s.op.Size) / int(s.op.Lanes)
		return c.lane(s, i), size * i, size
	}
	return split(s.op.Addr, int(s.op.Size), i)
}

// split returns the i-th piece of an access that may cross a line.
func split(addr uint64, bytes, i int) (uint64, int, int) {
	first := min(bytes, mem.LineBytes-int(addr%mem.LineBytes))
	if i == 0 {
		return addr, 0, first
	}
	return addr + uint64(first), first, bytes - first
}

func (s *slot) count() int {
	if s.op.Kind.Lanes() {
		return int(s.op.Lanes)
	}
	if int(s.op.Addr%mem.LineBytes)+int(s.op.Size) > mem.LineBytes {
		return 2
	}
	return 1
}

// expected is the values that the batch has for an access.
func (s *slot) expected() []byte {
	if s.op.Kind.Lanes() {
		return s.data()[8*int(s.op.Lanes):]
	}
	return s.data()
}

// access asks for what a load has not asked for: in stores in the queue, or in the cache.
func (c *Core) access(now event.Time, s *slot) {
	pieces := &c.pieces[s.seq&c.mask]
	if pieces.ask == 0 {
		return // it has been here for two reasons at once
	}
	finished := event.Time(0)
	blocked := false
	for ask := pieces.ask; ask != 0; ask &= ask - 1 {
		i := bits.TrailingZeros64(ask)
		addr, at, size := c.part(s, i)
		if c.mayForward(addr, size) {
			switch from := c.older(s, addr, size); {
			case from == nil:
			case from.executed && from.lanes == nil && addr >= from.addr && addr+uint64(size) <= from.addr+uint64(from.size):
				c.Counters.Forwarded++
				pieces.ask &^= 1 << i
				c.take(s, i, at, from.data[addr-from.addr:][:size])
				finished = max(finished, now+event.Time(max(1, c.spec.Forward-1)))
				continue
			default:
				blocked = true
				continue
			}
		}
		pieces.ask &^= 1 << i
		id := s.seq<<16 | uint64(s.gen)<<8 | uint64(i)
		var line *mem.Bytes
		delay := 0
		if s.blocking {
			line, delay = c.read(now, s.op.PC, addr/mem.LineBytes, id)
		} else {
			line, delay = c.memory.Load(now, s.op.PC, addr/mem.LineBytes, id)
		}
		if line != nil {
			c.take(s, i, at, line[addr%mem.LineBytes:][:size])
			finished = max(finished, now+event.Time(c.spec.HitUse-1+delay))
		}
	}
	if blocked { // until a store has been performed, or has its data
		c.retry = append(c.retry, s.seq)
	}
	if s.parts == 0 {
		c.performed(now, s, finished)
	}
}

// take notes the bytes that a part of a load has found.
func (c *Core) take(s *slot, i, at int, b []byte) {
	pieces := &c.pieces[s.seq&c.mask]
	if s.op.Flags&(uop.Racy|uop.Blocking) != 0 {
		copy(c.got[s.seq&c.mask][at:], b)
	} else if !bytes.Equal(b, s.expected()[at:at+len(b)]) {
		pieces.unequal |= 1 << i
	}
	pieces.missing &^= 1 << i
	s.parts--
}

// performed notes that a load has all its bytes.
func (c *Core) performed(now event.Time, s *slot, at event.Time) {
	c.unperformed--
	c.later(max(at, now+1), s.event(evFinish))
	if c.unperformed == 1 {
		c.wake(now + 1) // a blocking load may wait for this
	}
}

// Performed implements mem.Client.
func (c *Core) Performed(now, filled event.Time, id uint64, line *mem.Bytes) {
	c.serve(now, id, line, filled+event.Time(c.spec.FillUse-1))
}

// Found implements mem.Client.
func (c *Core) Found(looked event.Time, id uint64, line *mem.Bytes) {
	c.serve(c.engine.Now(), id, line, looked+event.Time(c.spec.HitUse-1))
}

// serve gives a load the bytes of a part; with the last one it is finished at a cycle.
func (c *Core) serve(now event.Time, id uint64, line *mem.Bytes, at event.Time) {
	s := c.find(id >> 8 * evKinds)
	if s == nil {
		return // it was replayed
	}
	i := int(uint8(id))
	addr, from, size := c.part(s, i)
	c.take(s, i, from, line[addr%mem.LineBytes:][:size])
	if s.parts == 0 {
		c.performed(now, s, at)
	}
}

func granules(addr uint64, size int) (first, last uint64) {
	return addr >> 3, (addr + uint64(size) - 1) >> 3
}

// bucket is where a granule is counted.
func bucket(g uint64) uint64 { return (g ^ g>>10 ^ g>>20) & (filterSize - 1) }

// mayForward tells whether stores may overlap an access.
func (c *Core) mayForward(addr uint64, size int) bool {
	if c.sHead == c.sTail {
		return false
	}
	if c.lines[bucket(addr/mem.LineBytes)] == 0 { // an access does not cross lines
		return false
	}
	first, last := granules(addr, size)
	for g := first; g <= last; g++ {
		if c.filter[bucket(g)] > 0 {
			return true
		}
	}
	return false
}

func (c *Core) count(s *store, by uint16) {
	for i := range s.count() {
		addr, _, size := s.part(i)
		c.lines[bucket(addr/mem.LineBytes)] += by
		first, last := granules(addr, size)
		for g := first; g <= last; g++ {
			c.filter[bucket(g)] += by
		}
	}
}

func (s *store) count() int {
	if s.lanes != nil {
		return len(s.lanes)
	}
	if int(s.addr%mem.LineBytes)+s.size > mem.LineBytes {
		return 2
	}
	return 1
}

func (s *store) part(i int) (addr uint64, at, size int) {
	if s.lanes != nil {
		size = s.size / len(s.lanes)
		return s.lanes[i], i * size, size
	}
	return split(s.addr, s.size, i)
}

// older returns the youngest store before a load that overlaps it.
func (c *Core) older(s *slot, addr uint64, size int) *store {
	for k := c.sTail; k > c.sHead; k-- {
		t := &c.stores[(k-1)&c.sMask]
		if t.seq > s.seq {
			continue
		}
		for i := range t.count() {
			a, _, n := t.part(i)
			if t.lanes == nil {
				a, n = t.addr, t.size
			}
			if a < addr+uint64(size) && addr < a+uint64(n) {
				return t
			}
			if t.lanes == nil {
				break
			}
		}
	}
	return nil
}

// commit lets finished micro-ops leave the window in order.
func (c *Core) commit(now event.Time) {
	for n := 0; n < c.spec.Commit; n++ {
		if c.head == c.tail {
			if n == 0 {
				switch {
				case c.synchronised:
					c.stalled(&c.Counters.StallSync)
				case c.inSQ >= c.spec.SQ:
					c.stalled(&c.Counters.StallStore)
				case c.redirect || now < c.resumeAt:
					c.stalled(&c.Counters.StallBranch)
				default:
					c.stalled(&c.Counters.StallEmpty)
				}
			}
			return
		}
		s := &c.slots[c.head&c.mask]
		if s.state != finished {
			if n == 0 {
				switch {
				case s.blocking:
					c.stalled(&c.Counters.StallSync)
				case s.op.Kind == uop.Fence || s.op.Kind == uop.Atomic && s.state == waiting:
					c.stalled(&c.Counters.StallStore)
				case s.state == issued && s.op.Kind.Memory():
					c.stalled(&c.Counters.StallLoad)
				default:
					c.stalled(&c.Counters.StallUnit)
				}
			}
			return
		}
		if c.Hold != nil && !c.spin.replay && c.Hold(now, s.op, s.data()) {
			c.spin.slow = true
			if n == 0 {
				c.stalled(&c.Counters.StallSync)
			}
			return
		}
		c.active = true
		if c.spin.noting {
			c.spin.left = append(c.spin.left, len(c.spin.noted)-1)
		}
		switch s.op.Kind {
		case uop.Load, uop.Gather:
			if !c.spec.EarlyLQ {
				c.leaveLQ(s)
			}
			c.countLoad(s, ^uint16(0))
			if c.pieces[s.seq&c.mask].unequal != 0 {
				c.fail(fmt.Errorf("core %d: the %s at %d from address %#x found other bytes than the program, cycle %d", c.id, s.op.Kind, s.op.PC, s.op.Addr, now))
				return
			}
		case uop.Store, uop.Scatter:
			c.stores[s.store&c.sMask].committed = true
			c.sCommit = s.store + 1
		}
		if s.op.Dst != 0 {
			c.results--
		}
		c.Counters.Committed++
		c.Counters.Kinds[s.op.Kind]++
		if s.op.Lanes > 1 {
			c.Counters.SIMD[s.op.Kind]++
		}
		if s.op.Kind.Memory() {
			c.synchronised = s.blocking
			if s.blocking && s.op.Kind == uop.Load {
				c.Counters.Awaited++
				c.awaited = s.op.Addr
				if c.OnAwait != nil {
					c.OnAwait(now, s.op)
				}
			}
		}
		c.Counters.Cycles = uint64(now)
		c.head++
		if c.OnCommit != nil && !c.spin.replay {
			c.OnCommit(now, s.op, c.gotBy(s))
		}
		if b := c.batches[0]; b.left > 1 {
			b.left--
		} else {
			c.batches = append(c.batches[:0], c.batches[1:]...)
			c.unused = append(c.unused, b)
		}
		if c.onLimit != nil && c.Counters.Committed == c.limit {
			f := c.onLimit
			c.onLimit = nil
			f(now)
		}
	}
}

func (c *Core) stalled(cause *uint64) {
	if c.done && c.head == c.tail && c.frontLen == 0 {
		cause = &c.Counters.Idle
	}
	c.cause = cause
	*cause++
}

func (c *Core) stopped(full *uint64) {
	c.full = full
	*full++
}

// drain lets committed stores ask for their lines, and performs them in order.
func (c *Core) drain(now event.Time) {
	ports := c.spec.StorePorts
	if c.spec.SharedPorts {
		ports -= c.storesUp
	}
	room := c.spec.StoresInFlight
	if c.spec.StoreBuffer > 0 {
		room = min(room, c.spec.StoreBuffer)
	}
	for ; ports > 0 && c.sAccept < c.sCommit && int(c.sAccept-c.sHead) < room; ports-- {
		s := &c.stores[c.sAccept&c.sMask]
		c.active = true
		c.sAccept++
		s.accepted = true
		if c.spec.StoreBuffer > 0 {
			c.inSQ--
		}
		c.request(now, s)
	}
	c.performStores(now)
}

// request asks for the line of the part of a store that is to be performed next.
func (c *Core) request(now event.Time, s *store) {
	addr, _, _ := s.part(s.next)
	s.pending = !c.memory.Own(now, s.pc, addr/mem.LineBytes)
}

// performStores writes the oldest stores whose lines may be written.
func (c *Core) performStores(now event.Time) {
	for c.sHead < c.sAccept {
		s := &c.stores[c.sHead&c.sMask]
		addr, at, size := s.part(s.next)
		line := c.memory.Write(addr / mem.LineBytes)
		if line == nil {
			if !s.pending {
				c.request(now, s) // it was taken away
				if !s.pending {
					continue
				}
			}
			return
		}
		copy(line[addr%mem.LineBytes:], s.data[at:at+size])
		if s.next++; s.next < s.count() {
			c.request(now, s)
			continue
		}
		c.count(s, ^uint16(0))
		c.sHead++
		if c.spec.StoreBuffer == 0 {
			c.inSQ--
		}
		c.active = true
		c.wake(now + 1)
		c.again(now)
	}
}

// again lets loads try once more that waited for a store.
func (c *Core) again(now event.Time) {
	for _, seq := range c.retry {
		s := &c.slots[seq&c.mask]
		if s.seq == seq && seq >= c.head && seq < c.tail {
			c.later(now+1, s.event(evAccess))
		}
	}
	c.retry = c.retry[:0]
}

// Owned implements mem.Client.
func (c *Core) Owned(now event.Time, line mem.Line) {
	c.Settle()
	for k := c.sHead; k < c.sAccept; k++ {
		s := &c.stores[k&c.sMask]
		if addr, _, _ := s.part(s.next); addr/mem.LineBytes == line {
			s.pending = false
		}
	}
	if c.head < c.tail {
		if s := &c.slots[c.head&c.mask]; s.op.Kind == uop.Atomic && s.state == issued && s.parts > 0 && s.op.Addr/mem.LineBytes == line {
			c.perform(now, s)
		}
	}
	// Only writes: the caches must not be asked for more while they call.
	for c.sHead < c.sAccept {
		s := &c.stores[c.sHead&c.sMask]
		addr, at, size := s.part(s.next)
		if s.pending || s.next+1 < s.count() {
			break
		}
		b := c.memory.Write(addr / mem.LineBytes)
		if b == nil {
			break
		}
		copy(b[addr%mem.LineBytes:], s.data[at:at+size])
		c.count(s, ^uint16(0))
		c.sHead++
		if c.spec.StoreBuffer == 0 {
			c.inSQ--
		}
	}
	c.again(now)
	c.wake(now + 1)
}

// perform executes an atomic operation on a line that may be written.
func (c *Core) perform(now event.Time, s *slot) {
	line := c.memory.Write(s.op.Addr / mem.LineBytes)
	if line == nil {
		c.fail(fmt.Errorf("core %d: line of %#x is owned and may not be written", c.id, s.op.Addr))
		return
	}
	size := int(s.op.Size)
	b := line[s.op.Addr%mem.LineBytes:][:size]
	got, operands := c.gotBy(s), s.data()
	copy(got, b)
	var e []byte
	if s.op.RMW == uop.CompareSwap {
		e = operands[size : 2*size]
	}
	s.op.RMW.Apply(b, got[:size], operands[:size], e)
	if t, ok := c.thread.(uop.Performer); ok && s.blocking {
		t.Performed(got[:size])
	}
	s.parts = 0
	c.unperformed--
	c.later(now+event.Time(c.spec.HitUse), s.event(evFinish))
}

// Lost implements mem.Client: a load that was performed before older ones must be
// performed again once another core may write its line, or loads would be seen out of
// order.
func (c *Core) Lost(now event.Time, line mem.Line) {
	if c.unperformed == 0 || c.loaded[bucket(line)] == 0 {
		return
	}
	want := uint16(bucket(line))
	at, older := c.head, false // something older than at is not performed
	for seq := c.head; seq < c.tail; seq++ {
		if b := c.loadLine[seq&c.mask]; b != want && b != severalLines {
			continue
		}
		s := &c.slots[seq&c.mask]
		if s.state == waiting || s.blocking || int(s.parts) == s.count() {
			continue
		}
		for ; at < seq && !older; at++ {
			older = c.isUnperformed(&c.slots[at&c.mask])
		}
		if !older {
			continue
		}
		var lost uint64
		for i := range s.count() {
			if addr, _, _ := c.part(s, i); addr/mem.LineBytes == line {
				lost |= 1 << i
			}
		}
		if lost &^= c.pieces[seq&c.mask].missing; lost != 0 {
			c.replay(now, s, lost)
		}
	}
}

// isUnperformed reports whether a micro-op of the window is one that loads behind it are not to be seen before.
func (c *Core) isUnperformed(s *slot) bool {
	switch s.op.Kind {
	case uop.Load, uop.Gather, uop.Atomic, uop.Fence:
		return s.state == waiting || s.parts > 0
	default:
		return false
	}
}

// countLoad counts the lines of a load.
func (c *Core) countLoad(s *slot, by uint16) {
	for i := range s.count() {
		addr, _, _ := c.part(s, i)
		c.loaded[bucket(addr/mem.LineBytes)] += by
	}
}

// replay performs parts of a load again.
func (c *Core) replay(now event.Time, s *slot, lost uint64) {
	c.Counters.Replayed++
	if s.state == finished && c.spec.EarlyLQ {
		c.enterLQ(s) // for a moment there may be more than the queue has
	}
	if s.parts == 0 {
		c.unperformed++
		s.gen++ // it does not finish
	}
	s.state = issued
	s.parts += int8(bits.OnesCount64(lost))
	p := &c.pieces[s.seq&c.mask]
	p.ask, p.missing, p.unequal = p.ask|lost, p.missing|lost, p.unequal&^lost
	c.later(now+1, s.event(evAccess))
}

// dispatch takes micro-ops from the front end into the window.
func (c *Core) dispatch(now event.Time) {
	for n := 0; n < c.spec.Dispatch && c.frontLen > 0; n++ {
		f := &c.front[c.frontHead]
		if f.at > now {
			return
		}
		kind := f.op.Kind
		switch {
		case c.tail-c.head >= uint64(c.spec.ROB):
			c.stopped(&c.Counters.FullROB)
			return
		case (kind == uop.Load || kind == uop.Gather) && c.loads >= c.spec.LQ:
			c.stopped(&c.Counters.FullLQ)
			return
		case (kind == uop.Store || kind == uop.Scatter) && (c.inSQ >= c.spec.SQ || c.sTail-c.sHead > c.sMask):
			c.stopped(&c.Counters.FullSQ)
			return
		case f.op.Dst != 0 && c.spec.Registers > 0 && c.results >= c.spec.Registers:
			return
		}
		c.active = true
		seq := c.tail
		i := int32(seq & c.mask)
		s := &c.slots[i]
		*s = slot{op: f.op, batch: f.batch, seq: seq, first: noEdge, wrong: f.wrong, gen: s.gen + 1, blocking: f.op.Flags&uop.Blocking != 0}
		c.loadLine[i] = noLoad
		c.tail++
		c.frontHead++
		if c.frontHead == len(c.front) {
			c.frontHead = 0
		}
		c.frontLen--
		for k, r := range s.op.Src {
			if r == 0 {
				continue
			}
			if int(r) >= len(c.producer) {
				continue // nothing has written it yet
			}
			p := c.producer[r]
			if p == 0 || p-1 < c.head {
				continue
			}
			from := &c.slots[(p-1)&c.mask]
			if from.state == finished {
				continue
			}
			s.pending++
			s.next[k] = from.first
			from.first = i<<2 | int32(k)
		}
		if r := int(s.op.Dst); r != 0 {
			for r >= len(c.producer) {
				c.producer = append(c.producer, make([]uint64, len(c.producer))...)
			}
			c.producer[r] = seq + 1
			c.results++
		}
		switch kind {
		case uop.Load, uop.Gather:
			c.enterLQ(s)
			c.unperformed++
			s.parts = int8(s.count())
			all := uint64(1)<<s.parts - 1
			c.pieces[seq&c.mask] = pieces{ask: all, missing: all}
			c.countLoad(s, 1)
			c.loadLine[i] = severalLines
			if s.parts == 1 {
				addr, _, _ := c.part(s, 0)
				c.loadLine[i] = uint16(bucket(addr / mem.LineBytes))
			}
			if s.op.Flags&(uop.Racy|uop.Blocking) != 0 {
				c.expect(s)
			}
		case uop.Fence:
			c.unperformed++
			s.store = c.sTail
		case uop.Atomic:
			c.unperformed++
			s.parts, s.store = 1, c.sTail
			c.expect(s)
		case uop.Store, uop.Scatter:
			s.store = c.sTail
			t := &c.stores[c.sTail&c.sMask]
			*t = store{seq: seq, addr: s.op.Addr, size: int(s.op.Size), pc: s.op.PC, lanes: t.lanes[:0]}
			copy(t.data[:], s.expected())
			if kind == uop.Scatter {
				for k := range int(s.op.Lanes) {
					t.lanes = append(t.lanes, c.lane(s, k))
				}
			} else {
				t.lanes = nil
			}
			c.sTail++
			c.inSQ++
			c.count(t, 1)
		}
	}
}

// fetch takes micro-ops from the thread to the front end.
func (c *Core) fetch(now event.Time) {
	if c.redirect || now < c.resumeAt {
		return
	}
	for n := 0; n < c.spec.Fetch && c.frontLen < len(c.front); n++ {
		if c.at == len(c.batch.Ops) && !c.refill() {
			return
		}
		c.active = true
		op := &c.batch.Ops[c.at]
		c.at++
		k := c.frontHead + c.frontLen
		if k >= len(c.front) {
			k -= len(c.front)
		}
		f := &c.front[k]
		f.op, f.batch, f.at, f.wrong = op, c.batch, now+event.Time(c.spec.FrontEnd), false
		c.frontLen++
		if op.Kind == uop.Branch {
			taken := op.Flags&uop.Taken != 0
			if op.Src[0] != 0 {
				c.Counters.Branches++
				if c.guess.Predict(op.PC, taken) != taken {
					c.Counters.Mispredicted++
					f.wrong = true
					c.redirect = true
					return
				}
			}
			if taken {
				return
			}
		}
	}
}

// batchSize is how many micro-ops a thread hands out at once.
const batchSize = 64

// refill gets more micro-ops. It tells whether there are any.
func (c *Core) refill() bool {
	if !c.more || c.blocked || c.paused || c.halted {
		return false
	}
	b := &batch{}
	if n := len(c.unused); n > 0 {
		b, c.unused = c.unused[n-1], c.unused[:n-1]
		b.Reset()
	}
	c.batch, c.at = b, 0
	status, err := c.thread.Next(&b.Batch, batchSize)
	if err != nil {
		c.fail(err)
		c.more = false
		b.Reset()
		return false
	}
	switch status {
	case uop.Wait:
		c.blocked = true
	case uop.Done:
		c.more, c.done = false, true
	}
	if b.left = len(b.Ops); b.left == 0 {
		c.unused = append(c.unused, b)
		c.active = c.active || c.more && !c.blocked // it has more in the next cycle
		return false
	}
	c.batches = append(c.batches, b)
	return true
}
