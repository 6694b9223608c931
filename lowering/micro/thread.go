package micro

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/uop"
)

// thread makes the micro-ops of one thread.
type thread struct {
	p      *Program
	id     int
	cursor *stream.Cursor
	events []stream.Event
	next   int // of the events
	count  int
	depth  []*loopState

	out  uop.Batch // that are made and not handed out yet
	done int       // of out, handed out
	wait func(old []byte) error
	// least is what the shared word has at least that t.wait waits for, 0 if it is for something else.
	least scalar.Value
	// What an atomic operation of the core that is waited for makes of its element, and whether
	// the machine has said that it has been performed.
	makes     func(old scalar.Value)
	performed bool
	step      func() error // what comes next
	over      bool
	seen      int       // parallel loops
	loop      *parallel // that it works on
	chunk     int64     // parts of it, so far

	// Of scalar code: what slots have and in which registers, which conditions have been
	// set in this iteration, which comparisons made; what the stream at hand has read; and
	// the registers of nodes, of the step that stamps say.
	val     []scalar.Value
	cur     []uop.Reg
	fresh   []bool
	decided []bool
	elem    scalar.Value
	elemReg uop.Reg
	stamp   []uint32
	reg     []uop.Reg
	now     uint32
	stores  []waiting
	single  bool // groups are made one by one, since others are skipped
	pass    passed
	written []byte // by a group that is skipped

	unit   int  // whose statements others execute, -1 for none
	called bool // they have been asked

	// Of streams: what has been configured and not been taken, the loop at hand, and how
	// often loops were.
	groups []*se.Group
	made   uint32 // groups
	near   *nearState
	clean  map[*stream.Loop]bool // regions in front of which stores were performed
	// Instances of a decoupled loop that may not have ended, and which loop.
	unfinished []uint32
	lately     *nearLoop
	// Instances that are configured ahead, and the iteration of the loop around up to which they have
	// been looked for.
	planned []*planned
	sighted int64
	// Of waits for what streams have: what the thread does instead if they end before their
	// time, and of which loop; what it does next for that reason; and the loop whose update of the
	// iteration at hand has been made all the same.
	instead   func() error
	insteadOf uint32
	redo      func() error
	parts     []part // that come again before
	left      *nearState
	begun     int      // micro-ops that were there when it was configured
	scratch   []uop.Op // what streams take out of those that are made
	// Of what can be taken back: micro-ops that were handed out, what streams have made of
	// those in out, and a log of both, nil while no stream is at the L3 in order with the core.
	handed uint64
	passed uint64 // of these, committed
	marks  []mark
	inLog  int    // of these, at least, that are in the log
	kept   []byte // data of marks
	log    *log
	counts []loopCounts
	// said is what the last instances of loops in the core said of later ones, to be compared.
	said map[*nearLoop][]se.Beyond
	// history is what the engine of the core knows of loops.
	history *se.History
}

// loopCounts is how often streams of a loop were configured, or why not: the history that
// decides (section IV.B of Near-Stream Computing).
type loopCounts struct {
	configured, nested, ahead, through, planes, short, aliased, kept, passed int64
	stayed                                                                   [se.NumChoices]int64
	work                                                                     [2]work // of streams that leave the core, and of those in it
}

// loopState is a loop that a thread is in.
type loopState struct {
	info  *loopInfo
	id    int
	n, it int64
	end   int64 // behind the last iteration of the thread
	// Of a SIMD loop: the iterations that have been gone through and not been made
	// micro-ops of.
	group   [][]stream.Event
	vars    []scalar.Value // of these iterations
	pending int
	hoisted bool
	first   bool // what is hoisted has not been loaded
}

const bufferEvents = 256

func newThread(p *Program, id int) (*thread, error) {
	t := &thread{p: p, id: id, clean: map[*stream.Loop]bool{}, events: make([]stream.Event, bufferEvents), unit: -1}
	c, err := p.program.Start(p.memory, p.args, true)
	if err != nil {
		return nil, err
	}
	c.AskRacy()
	stops := make([]bool, len(p.loops))
	for i, l := range p.loops {
		stops[i] = l.plain || p.near[i] != nil && len(p.near[i].atomics) > 0
	}
	c.StopAt(stops)
	t.cursor = c
	t.step = t.run
	t.val, t.cur = slices.Clone(p.values), slices.Clone(p.home)
	t.fresh, t.decided = make([]bool, len(p.values)), make([]bool, len(p.tests))
	t.counts = make([]loopCounts, len(p.loops))
	t.stamp, t.reg = make([]uint32, p.nodes), make([]uop.Reg, p.nodes)
	if id > 0 {
		t.step = t.waitForWork
	}
	return t, nil
}

// Next implements uop.Thread.
func (t *thread) Next(b *uop.Batch, n int) (uop.Status, error) {
	if t.wait != nil && t.done == len(t.out.Ops) {
		return uop.Wait, fmt.Errorf("micro: thread %d waits for an answer", t.id)
	}
	for n > 0 {
		if t.done == len(t.out.Ops) {
			if t.wait != nil {
				return uop.Wait, nil
			}
			t.emptied()
			for turns := 1; len(t.out.Ops) == 0 && t.wait == nil; turns++ {
				if t.pauses(turns) {
					return uop.More, nil
				}
				if t.single && len(b.Ops) > 0 {
					return uop.More, nil
				}
				if l := t.skips(); l != nil && l == t.pass.l { // by the next Skip
					return uop.More, nil
				}
				if t.over && len(t.parts) == 0 && t.redo == nil {
					if len(b.Ops) == 0 {
						return uop.Done, nil
					}
					return uop.More, nil
				}
				if err := t.goesOn(); err != nil {
					return uop.Done, err
				}
			}
			if len(t.out.Ops) == 0 {
				continue
			}
		}
		k := min(n, len(t.out.Ops)-t.done)
		for i := range t.out.Ops[t.done : t.done+k] {
			b.Append(&t.out, &t.out.Ops[t.done+i])
		}
		if t.log != nil {
			t.log.take(t, k)
		}
		t.done += k
		t.handed += uint64(k)
		n -= k
		if t.wait != nil && t.done == len(t.out.Ops) {
			return uop.Wait, nil
		}
	}
	return uop.More, nil
}

// lookedAhead is how many batches of steps an open loop makes in a cycle of the core that has
// nothing of it.
const lookedAhead = 4

// pauses reports whether the core has to see a cycle pass: a loop that is all at the L3 may have
// no end.
func (t *thread) pauses(turns int) bool {
	if turns%lookedAhead != 0 || len(t.depth) == 0 || !t.depth[len(t.depth)-1].info.src.Open {
		return false
	}
	if t.log != nil {
		t.log.take(t, 0) // what has left the core so far
	}
	return true
}

// Resolve implements uop.Thread.
func (t *thread) Resolve(old []byte) error {
	if t.wait == nil {
		return fmt.Errorf("micro: thread %d does not wait", t.id)
	}
	if t.done == len(t.out.Ops) { // a thread that waits for long makes room for each turn
		t.emptied()
	}
	f := t.wait
	t.wait, t.instead, t.least = nil, nil, 0
	return f(old)
}

// emptied begins a new batch: all micro-ops of the last one have been handed out.
func (t *thread) emptied() {
	t.out.Reset()
	t.done = 0
	t.marks, t.inLog = t.marks[:0], 0
}

// run makes micro-ops of the next steps of the program.
func (t *thread) run() error {
	if t.pass.l != nil && !t.single {
		if err := t.beginAfterAll(); err != nil || len(t.out.Ops) > 0 {
			return err
		}
	}
	if t.next == t.count {
		if len(t.depth) > 0 {
			if l := t.depth[len(t.depth)-1]; l.info.plain && l.pending == 0 && (t.near == nil || len(t.near.l.closures) == 0) {
				for t.cursor.Group(int64(l.info.lanes)) {
					t.pass.l = nil // it was not to be skipped yet
					from := len(t.out.Ops)
					t.group(l)
					t.stream(from)
					t.measured(l, from)
					if t.single || len(t.out.Ops) >= 4*bufferEvents {
						return nil
					}
				}
			}
		}
		events := t.events
		if t.near != nil && t.near.l.racy || t.underWay() && (t.lately.racy || !t.lately.early) || t.id == 0 && t.loop == nil && t.p.opt.Units != nil {
			events = events[:1] // what is behind comes after the updates of the loop, or may need what others do now
		}
		n, err := t.cursor.Next(events)
		t.next, t.count = 0, n
		if n == 0 {
			if err != nil {
				return err
			}
			return t.finish()
		}
	}
	for t.next < t.count && t.wait == nil && len(t.out.Ops) < 4*bufferEvents {
		e := &t.events[t.next]
		t.next++
		if err := t.event(e); err != nil {
			return err
		}
	}
	return nil
}

func (t *thread) finish() error {
	if t.id == 0 && len(t.p.threads) > 1 {
		t.p.team.dismiss(t)
	}
	t.over = true
	return nil
}

func (t *thread) event(e *stream.Event) error {
	from := len(t.out.Ops)
	if e.What != stream.Enter {
		t.pass.l = nil // it cannot be skipped
	}
	if t.p.opt.Streams != nil {
		t.begun = 0
		defer func() { t.stream(max(from, t.begun)) }()
	}
	var top *loopState
	if len(t.depth) > 0 {
		top = t.depth[len(t.depth)-1]
	}
	if t.id == 0 && t.loop == nil && t.p.reached != nil {
		t.p.pass(e)
	}
	if t.id == 0 && t.loop == nil && t.p.opt.Units != nil {
		if done, err := t.outside(e); done || err != nil {
			return err
		}
	}
	switch e.What {
	case stream.Enter:
		l := &loopState{info: t.p.loops[e.Stream], id: int(e.Stream), n: e.Elem, end: e.Elem}
		t.p.enters(l.id)
		t.depth = append(t.depth, l)
		t.enter(l)
		if l.info.src.Parallel != nil && t.p.opt.Threads > 1 && t.p.team.open == nil && t.id == 0 && e.Elem > 0 {
			return t.p.team.fork(t, l)
		}
		return t.beginAt(l, 0, e.Elem)
	case stream.Next:
		t.left = nil
		t.iterate(top, e.Value)
	case stream.Leave:
		t.flush(top, true)
		r := t.inRow()
		t.depth = t.depth[:len(t.depth)-1]
		if r != nil {
			t.endRow(r, from)
			return nil
		}
		return t.leaveStreams(from, top, nil)
	case stream.Part:
		t.flush(top, false)
		return t.leaveStreams(from, top, t.p.team.part)
	case stream.Ask:
		return t.ask(e)
	default:
		if top != nil && top.info.lanes > 1 {
			k := &top.group[top.pending-1]
			*k = append(*k, *e)
			return nil
		}
		t.scalar(e)
	}
	return nil
}

// enter begins a loop: whether there are iterations, and what is reduced.
func (t *thread) enter(l *loopState) {
	t.now++
	reached := true
	if g := l.info.guard; g != nil {
		reached = t.branch(g)
	}
	if l.info.check && reached {
		o := l.info.entry[1]
		if l.n == 0 {
			o.Flags |= uop.Taken
		}
		t.out.Ops = append(t.out.Ops, l.info.entry[0], o)
	}
	if reached && l.n > 0 {
		t.out.Ops = append(t.out.Ops, l.info.rows...)
	}
	for _, i := range l.info.begins {
		tm := t.p.streams[i]
		v := t.eval(tm.one.init)
		r := t.p.home[i]
		if !tm.lazy {
			if r = t.value(tm.one.init); r == 0 && tm.carried && reached {
				t.out.Ops = append(t.out.Ops, tm.one.move)
				r = tm.one.move.Dst
			}
		} else if tm.one.init.kind != constNode {
			t.branch(tm.one.init)
		}
		t.set(i, v, r)
		t.fresh[i] = false
	}
}

// set gives a slot a value, in a register.
func (t *thread) set(slot int, v scalar.Value, r uop.Reg) {
	t.val[slot], t.cur[slot] = v, r
	for _, i := range t.p.depend[slot] {
		t.decided[i] = false
	}
}

// iterate begins an iteration: the micro-ops that end the one before.
func (t *thread) iterate(l *loopState, v scalar.Value) {
	if l.info.lanes > 1 {
		if l.pending == l.info.lanes {
			t.vector(l)
		}
		if len(l.group) <= l.pending {
			l.group = append(l.group, nil)
			l.vars = append(l.vars, 0)
		}
		l.group[l.pending], l.vars[l.pending] = l.group[l.pending][:0], v
		l.pending++
		return
	}
	if l.it > 0 {
		t.back(l, true)
	}
	l.it++
	t.begin(l, v)
}

// begin sets the variable of an iteration.
func (t *thread) begin(l *loopState, v scalar.Value) {
	t.set(int(l.info.slot), v, t.p.home[l.info.slot])
	for _, i := range l.info.begins {
		t.fresh[i] = false
	}
}

// back ends an iteration of a scalar loop.
func (t *thread) back(l *loopState, again bool) {
	if !l.info.src.Open {
		t.overhead(&l.info.step, again)
		return
	}
	t.now++
	from := len(t.out.Ops)
	t.branch(l.info.while)
	if n := len(t.out.Ops); again && n > from && t.out.Ops[n-1].Kind == uop.Branch {
		t.out.Ops[n-1].Flags = uop.Backward | uop.Taken
	} else if again {
		o := l.info.step[2]
		o.Flags, o.Src[0] = uop.Backward|uop.Taken, 0
		t.out.Ops = append(t.out.Ops, o)
	}
}

// overhead counts an iteration and jumps.
func (t *thread) overhead(step *[3]uop.Op, taken bool) {
	o := step[2]
	if taken {
		o.Flags |= uop.Taken
	}
	t.out.Ops = append(t.out.Ops, step[0], step[1], o)
}

// flush ends the iterations that are open.
func (t *thread) flush(l *loopState, leaves bool) {
	if l.info.lanes > 1 {
		if l.pending == l.info.lanes {
			t.vector(l)
		}
		from, n := len(t.out.Ops), l.pending
		for i := range l.pending {
			t.begin(l, l.vars[i])
			l.it = 1 // what is hoisted is there
			if i == 0 && !l.hoisted {
				l.it = 0
			}
			for j := range l.group[i] {
				l.first = l.it == 0
				t.scalar(&l.group[i][j])
			}
			t.overhead(&l.info.step, i < l.pending-1)
		}
		if n > 0 {
			l.info.rest = int64(len(t.out.Ops)-from) / int64(n)
		}
		l.pending, l.it = 0, 0
		if leaves {
			t.sums(l)
		}
		return
	}
	if l.it > 0 {
		t.back(l, false)
	}
	l.it = 0
}

// scalar makes the micro-ops of a step.
func (t *thread) scalar(e *stream.Event) {
	tm := t.p.streams[e.Stream]
	c := &tm.one
	t.now++
	if tm.lazy {
		t.set(int(e.Stream), e.Value, 0)
		t.fresh[e.Stream] = true
		return
	}
	r := t.cur[e.Stream]
	if c.cond != nil {
		t.branch(c.cond)
		if e.Skipped {
			t.set(int(e.Stream), e.Value, 0)
			if tm.s.Kind == stream.Reduce {
				t.cur[e.Stream] = r
			}
			return
		}
	}
	t.elem = element(tm, e)
	if tm.array >= 0 && tm.s.Kind != stream.Store && c.access.Kind == uop.Load && !(tm.hoisted && t.again()) { // an atomic has been handed out when it asked
		o := c.access
		if tm.s.Racy {
			o.Flags |= uop.Racy
		}
		o.Src[0] = t.indexed(tm)
		t.access(o, tm, e.Elem, t.elem)
	}
	t.elemReg = c.access.Dst
	r = c.access.Dst
	if t.closure(tm, 1, func(int) scalar.Value { return e.Value }) {
		t.set(int(e.Stream), e.Value, c.move.Dst)
		return
	}
	if tm.rmw == uop.NoRMW && c.value != nil {
		if r = t.value(c.value); r == 0 && tm.carried && chosen(t, c.value) {
			t.out.Ops = append(t.out.Ops, c.move)
			r = c.move.Dst
		}
		if c.store.Kind == uop.Store && c.store.Size > 0 {
			o := c.store
			o.Src[0], o.Src[1] = r, t.indexed(tm)
			t.access(o, tm, e.Elem, e.Value)
		}
	}
	t.set(int(e.Stream), result(tm, e), r)
}

// result returns the value of a stream after a step.
func result(tm *template, e *stream.Event) scalar.Value {
	if tm.s.Old {
		return e.Old
	}
	return e.Value
}

// chosen reports whether the value of a reduction has become a constant, and was not one
// that it keeps.
func chosen(t *thread, n *node) bool {
	for {
		switch n.kind {
		case sameNode:
			n = n.args[0]
		case selectNode:
			if t.eval(n.args[0]) != 0 {
				n = n.args[1]
			} else {
				n = n.args[2]
			}
		default:
			return n.kind == constNode
		}
	}
}

// again reports whether the innermost loop has had an iteration, so that what is the same
// in all has been loaded.
func (t *thread) again() bool {
	l := t.depth[len(t.depth)-1]
	if l.info.lanes > 1 {
		return !l.first
	}
	return l.it > 1
}

// indexed returns the register that an address waits for.
func (t *thread) indexed(tm *template) uop.Reg {
	if len(tm.one.address) == 0 {
		return 0
	}
	r := t.cur[tm.one.address[0]]
	if o := tm.one.lea; o.Dst != 0 {
		o.Src[0] = r
		t.out.Ops = append(t.out.Ops, o)
		r = o.Dst
	}
	return r
}

// element returns what a stream has found in memory.
func element(tm *template, e *stream.Event) scalar.Value {
	if tm.s.Kind == stream.Load && tm.s.Value == nil && tm.s.If == nil {
		return e.Value
	}
	return e.Old
}

// address returns where an element of an array of the thread lies.
func (t *thread) address(array int, elem int64) uint64 {
	a := &t.p.arrays[array]
	return a.address(elem) + uint64(t.id)*a.own
}

// access adds an access of one element.
func (t *thread) access(o uop.Op, tm *template, elem int64, v scalar.Value) {
	o.Addr = t.address(tm.array, elem)
	o.Data = uint32(len(t.out.Data))
	t.out.Data = append(t.out.Data, 0, 0, 0, 0, 0, 0, 0, 0)[:len(t.out.Data)+tm.bytes]
	put(t.out.Data[o.Data:], v, tm.bytes)
	t.out.Ops = append(t.out.Ops, o)
}

// ask hands out a racy access and waits for what it finds.
func (t *thread) ask(e *stream.Event) error {
	tm := t.p.streams[e.Stream]
	c := &tm.one
	t.now++
	asked := *e
	if done, err := t.taken(tm, &asked); done || err != nil {
		return err
	}
	if t.near != nil && t.near.l.drop[tm.s] {
		return t.elsewhere(tm, &asked)
	}
	if c.cond != nil {
		t.branch(c.cond)
	}
	o := c.access
	o.Src[0] = t.indexed(tm)
	if tm.s.Kind == stream.RMW && !tm.any {
		o.Src[2] = t.value(c.operand)
	}
	return t.perform(tm, &asked, o)
}

// perform makes a racy access in the core, and waits for what it finds.
func (t *thread) perform(tm *template, e *stream.Event, o uop.Op) error {
	if tm.swaps {
		now := t.p.memory[tm.s.Array][e.Elem] & tm.elem.Mask()
		load := tm.one.retry.load
		load.Flags |= uop.Racy
		load.Src[0] = o.Src[0]
		t.access(load, tm, e.Elem, now)
		return t.attempt(tm, *e, now, o.Src)
	}
	o.Flags |= uop.Blocking | uop.Racy
	v := e.Value
	if tm.op == scalar.Sub && tm.rmw != uop.NoRMW {
		v = scalar.Eval(scalar.Neg, tm.elem, v)
	}
	if o.Kind == uop.Load {
		v = t.p.memory[tm.s.Array][e.Elem]
	}
	t.access(o, tm, e.Elem, v)
	if o.RMW == uop.CompareSwap {
		t.expect(tm, e.Old)
	}
	t.performed = false
	if o.Kind == uop.Atomic {
		at := &t.p.memory[tm.s.Array][e.Elem]
		t.makes = func(old scalar.Value) { *at = tm.becomes(old, e) }
	}
	t.wait = func(old []byte) error { return t.answered(tm, e, old) }
	return nil
}

// Performed implements uop.Performer: the memory of the threads follows that of the machine at
// once, as banks may change the element again before the core has its old value.
func (t *thread) Performed(old []byte) {
	if f := t.makes; f != nil {
		t.makes, t.performed = nil, true
		f(word(old))
	}
}

// expect adds what a compare-and-swap expects.
func (t *thread) expect(tm *template, v scalar.Value) {
	at := len(t.out.Data)
	t.out.Data = append(t.out.Data, 0, 0, 0, 0, 0, 0, 0, 0)[:at+tm.bytes]
	put(t.out.Data[at:], v, tm.bytes)
}

// answered goes on with what a racy access has found.
func (t *thread) answered(tm *template, asked *stream.Event, old []byte) error {
	if len(old) != tm.bytes {
		return fmt.Errorf("micro: %d bytes for stream %s, expected %d", len(old), tm.s.Name, tm.bytes)
	}
	at := &t.p.memory[tm.s.Array][asked.Elem]
	now, done := *at, t.performed
	t.makes, t.performed = nil, false
	switch {
	case asked.What == stream.Ask:
		t.cursor.Answer(asked, word(old))
		if err := t.settled(tm); err != nil {
			return err
		}
		if done {
			*at = now
		}
	case !done: // the cursor has gone past it: only the element becomes what it does in the core
		*at = tm.becomes(word(old), asked)
	}
	return nil
}

// becomes is what an atomic update makes of an element.
func (tm *template) becomes(old scalar.Value, asked *stream.Event) scalar.Value {
	v := asked.Value
	switch {
	case tm.rmw == uop.CompareSwap && !tm.swaps && old != asked.Old:
		return old
	case tm.op != scalar.NoOp:
		v = scalar.Eval(tm.op, tm.elem, old, v)
	}
	return v & tm.elem.Mask()
}

// settled takes the step of a racy stream, whose access has been made.
func (t *thread) settled(tm *template) error {
	var one [1]stream.Event
	n, err := t.cursor.Next(one[:])
	if n != 1 || err != nil || one[0].What != stream.Step {
		return fmt.Errorf("micro: stream %s after its answer: %v", tm.s.Name, err)
	}
	e := &one[0]
	t.now++
	r := tm.one.access.Dst
	if tm.swaps {
		r = tm.one.retry.load.Dst
	}
	t.elem, t.elemReg = element(tm, e), r
	if tm.s.Kind == stream.Load && tm.one.value != nil {
		r = t.value(tm.one.value)
	}
	t.set(int(e.Stream), result(tm, e), r)
	return nil
}

// attempt makes an update that processors do not have of a compare-and-swap, which is
// repeated until nothing came between; now is what the element was last.
func (t *thread) attempt(tm *template, asked stream.Event, now scalar.Value, src [3]uop.Reg) error {
	c := &tm.one.retry
	var next scalar.Value
	var r uop.Reg // of next
	if tm.any {
		t.elem, t.elemReg = now, c.load.Dst
		t.renew(tm.one.value)
		next, r = t.eval(tm.one.value), t.value(tm.one.value)
	} else {
		next = scalar.Eval(tm.op, tm.elem, now, asked.Value)
		compute := c.compute
		compute.Src[1], r = src[2], compute.Dst
		t.out.Ops = append(t.out.Ops, compute)
	}
	if tm.op == scalar.Min || tm.op == scalar.Max {
		b := c.skip
		if next == now {
			b.Flags |= uop.Taken
		}
		t.out.Ops = append(t.out.Ops, b)
		if next == now { // and will be, whatever other threads do
			if asked.What != stream.Ask {
				return nil
			}
			return t.settled(tm)
		}
	}
	o := c.swap
	o.Flags |= uop.Blocking | uop.Racy
	o.Src[0], o.Src[2] = src[0], r
	t.access(o, tm, asked.Elem, next)
	t.expect(tm, now)
	at := &t.p.memory[tm.s.Array][asked.Elem]
	t.performed = false
	t.makes = func(old scalar.Value) {
		if old == now {
			*at = next & tm.elem.Mask()
		}
	}
	t.wait = func(old []byte) error {
		b := c.again
		found := word(old)
		if found != now {
			b.Flags |= uop.Taken
		}
		t.out.Ops = append(t.out.Ops, b)
		if found != now {
			t.makes, t.performed = nil, false
			return t.attempt(tm, asked, found, src)
		}
		return t.answered(tm, &asked, old)
	}
	return nil
}

// renew forgets what has been computed of the element, and reports whether a node takes it.
func (t *thread) renew(n *node) bool {
	takes := n.kind == elemNode
	for _, a := range n.args {
		takes = t.renew(a) || takes
	}
	if takes {
		t.stamp[n.id] = 0
		if n.kind == testNode {
			t.decided[n.test] = false
		}
	}
	return takes
}

func word(b []byte) scalar.Value {
	var v scalar.Value
	for i, x := range b {
		v |= scalar.Value(x) << (8 * i)
	}
	return v
}

// vector makes the micro-ops of a full group of iterations.
func (t *thread) vector(l *loopState) {
	if !l.hoisted {
		l.hoisted = true
		for k := range l.group[0] {
			e := &l.group[0][k]
			tm := t.p.streams[e.Stream]
			if tm.hoisted {
				o := tm.many.access // one element, for all lanes
				o.Size, o.Lanes = uint16(tm.bytes), 1
				t.access(o, tm, e.Elem, element(tm, e))
				t.out.Ops = append(t.out.Ops, tm.many.ops...)
			}
			t.startSum(tm, int(e.Stream))
		}
	}
	lanes := l.info.lanes
	for k := range l.group[0] {
		index := int(l.group[0][k].Stream)
		tm := t.p.streams[index]
		t.set(index, result(tm, &l.group[lanes-1][k]), tm.many.dst)
		if tm.hoisted {
			continue
		}
		if tm.s.If != nil && !tm.same {
			t.out.Ops = append(t.out.Ops, tm.many.cond...)
		}
		if tm.array >= 0 && tm.s.Kind != stream.Store {
			t.lanes(tm, l.group[:lanes], k, tm.many.access, tm.many.gather, func(e *stream.Event) scalar.Value {
				return element(tm, e)
			})
		}
		if t.closure(tm, lanes, func(lane int) scalar.Value { return l.group[lane][k].Value }) {
			continue
		}
		t.out.Ops = append(t.out.Ops, tm.many.ops...)
		if tm.ordered {
			for range lanes {
				t.out.Ops = append(t.out.Ops, tm.many.move, tm.many.lane)
			}
		}
		if tm.s.Kind == stream.Store || tm.s.Kind == stream.RMW {
			t.lanes(tm, l.group[:lanes], k, tm.many.store, tm.many.spread, func(e *stream.Event) scalar.Value { return e.Value })
		}
	}
	l.pending = 0
	t.overhead(&l.info.vstep, true)
}

// group makes the micro-ops of as many iterations of a plain loop as there are lanes.
func (t *thread) group(l *loopState) {
	lanes := l.info.lanes
	if !l.hoisted {
		l.hoisted = true
		for k, i := range l.info.body {
			tm := t.p.streams[i]
			if tm.hoisted {
				elem, _, data := t.cursor.At(k)
				o := tm.many.access
				o.Size, o.Lanes = uint16(tm.bytes), 1
				t.access(o, tm, elem, data[elem])
				t.out.Ops = append(t.out.Ops, tm.many.ops...)
			}
			t.startSum(tm, i)
		}
	}
	stores := t.stores[:0]
	for k, i := range l.info.body {
		tm := t.p.streams[i]
		if tm.hoisted {
			continue
		}
		var elem, stride int64
		var data []scalar.Value
		if tm.array >= 0 {
			elem, stride, data = t.cursor.At(k)
			if tm.pieces != nil {
				o := tm.many.access
				t.assembled(tm, lanes, o.Dst, o.Src[0], func(i int) (int64, scalar.Value) {
					at := elem + int64(i)*stride
					return at, data[at]
				})
			} else if tm.s.Kind != stream.Store {
				t.run1(tm, tm.many.access, tm.many.gather, elem, stride, lanes)
				t.fill(t.out.Ops[len(t.out.Ops)-1], tm, data, elem, stride, lanes)
			}
		}
		t.out.Ops = append(t.out.Ops, tm.many.ops...)
		if tm.ordered {
			for range lanes {
				t.out.Ops = append(t.out.Ops, tm.many.move, tm.many.lane)
			}
		}
		if tm.s.Kind == stream.Store || tm.s.Kind == stream.RMW {
			t.run1(tm, tm.many.store, tm.many.spread, elem, stride, lanes)
			stores = append(stores, waiting{len(t.out.Ops) - 1, tm, data, elem, stride})
		}
	}
	t.cursor.Go(int64(lanes))
	for _, w := range stores { // what is written is there now
		t.fill(t.out.Ops[w.op], w.tm, w.data, w.elem, w.stride, lanes)
	}
	t.stores = stores
	for _, i := range l.info.body {
		t.set(i, t.cursor.Value(i), t.p.streams[i].many.dst)
	}
	t.overhead(&l.info.vstep, true)
}

// Skip implements uop.Skipper: what it leaves out are groups of iterations of plain loops
// behind the first one, and those that are left behind them; and loops with streams whole, from their
// beginning on.
func (t *thread) Skip(n uint64, read func(addr, bytes uint64), write func(addr uint64, data []byte)) (s uop.Skipped) {
	if t.single = read != nil; !t.single {
		return s
	}
	l := t.skips()
	if l == nil {
		return s
	}
	if l == t.pass.l {
		return t.passOver(read, write)
	}
	lanes := int64(l.info.lanes)
	left := t.cursor.Left()
	groups := min(int64(n)/l.info.ops, left/lanes)
	each, ops := groups*lanes, groups*l.info.ops
	if left < lanes && l.info.rest > 0 { // what is left is scalar code
		each, ops = left, left*l.info.rest
	}
	if each < 1 || ops > int64(n) || !t.cursor.Group(each) {
		return s
	}
	t.execute(l, each, read, write)
	return uop.Skipped{MicroOps: uint64(ops)}
}

// skips returns the loop whose next iterations Skip may leave out, nil for none.
func (t *thread) skips() *loopState {
	if !t.single || t.done < len(t.out.Ops) || t.wait != nil || t.next < t.count || len(t.depth) == 0 || len(t.parts) > 0 || t.redo != nil {
		return nil
	}
	l := t.depth[len(t.depth)-1]
	switch {
	case !l.info.plain || l.pending > 0:
		return nil
	case l == t.pass.l:
		if !t.cursor.Group(max(1, t.cursor.Left())) || !t.settledStreams() {
			return nil
		}
	case !l.hoisted || t.p.opt.Streams != nil && (t.p.near[l.id] != nil || !t.settledStreams()):
		return nil
	}
	return l
}

// execute lets iterations of a plain loop take place without micro-ops.
func (t *thread) execute(l *loopState, each int64, read func(addr, bytes uint64), write func(addr uint64, data []byte)) {
	t.log = nil // nothing comes again
	stores := t.stores[:0]
	for k, i := range l.info.body {
		tm := t.p.streams[i]
		if tm.array < 0 || tm.hoisted {
			continue
		}
		elem, stride, data := t.cursor.At(k)
		if tm.s.Kind != stream.Store {
			t.runs(tm, elem, stride, each, func(elem, n int64) {
				a := t.address(tm.array, elem)
				read(a, t.address(tm.array, elem+n-1)+uint64(tm.bytes)-a)
			})
		}
		if tm.s.Kind == stream.Store || tm.s.Kind == stream.RMW {
			stores = append(stores, waiting{-1, tm, data, elem, stride})
		}
	}
	t.cursor.Go(each)
	for _, w := range stores {
		t.runs(w.tm, w.elem, w.stride, each, func(elem, n int64) {
			t.written = t.written[:0]
			for j := range n {
				t.written = append(t.written, 0, 0, 0, 0, 0, 0, 0, 0)[:int(j+1)*w.tm.bytes]
				put(t.written[int(j)*w.tm.bytes:], w.data[elem+j], w.tm.bytes)
			}
			write(t.address(w.tm.array, elem), t.written)
		})
	}
	t.stores = stores
	for _, i := range l.info.body {
		t.set(i, t.cursor.Value(i), t.p.streams[i].many.dst)
	}
}

// runs calls f for the parts of n elements, a stride apart, that lie side by side.
func (t *thread) runs(tm *template, elem, stride, n int64, f func(elem, n int64)) {
	if a := &t.p.arrays[tm.array]; stride == 1 && a.inner == 0 && a.stride == uint64(tm.bytes) {
		f(elem, n)
		return
	}
	for i := range n {
		f(elem+i*stride, 1)
		if stride == 0 {
			return
		}
	}
}

// groupOps is how many micro-ops a group of iterations of a loop is.
func (p *Program) groupOps(l *loopInfo) int64 {
	n := len(l.vstep)
	for _, i := range l.body {
		tm := p.streams[i]
		if tm.hoisted {
			continue
		}
		switch c := tm.pieces; {
		case c != nil:
			n += len(c.loads) + len(c.inserts) + len(c.rows)
		case tm.array >= 0 && tm.s.Kind != stream.Store:
			n++
		}
		n += len(tm.many.ops)
		if tm.ordered {
			n += 2 * l.lanes
		}
		if tm.s.Kind == stream.Store || tm.s.Kind == stream.RMW {
			n++
		}
	}
	return int64(n)
}

// waiting is a store whose bytes are not there yet.
type waiting struct {
	op           int
	tm           *template
	data         []scalar.Value
	elem, stride int64
}

// run1 adds an access of lanes that are a stride apart, with room for their bytes.
func (t *thread) run1(tm *template, together, apart uop.Op, elem, stride int64, lanes int) {
	a := &t.p.arrays[tm.array]
	o := together
	at := len(t.out.Data)
	size := lanes * tm.bytes
	if stride != 1 || a.inner != 0 || a.stride != uint64(tm.bytes) {
		o = apart
		for i := range lanes {
			t.out.Data = binary.LittleEndian.AppendUint64(t.out.Data, t.address(tm.array, elem+int64(i)*stride))
		}
	}
	o.Lanes, o.Size, o.Data, o.Addr = uint8(lanes), uint16(size), uint32(at), t.address(tm.array, elem)
	t.out.Data = slices.Grow(t.out.Data, size)[:len(t.out.Data)+size]
	t.out.Ops = append(t.out.Ops, o)
}

// fill gives an access of lanes its bytes.
func (t *thread) fill(o uop.Op, tm *template, data []scalar.Value, elem, stride int64, lanes int) {
	at := int(o.Data)
	if o.Kind.Lanes() {
		at += 8 * lanes
	}
	to := t.out.Data[at : at+lanes*tm.bytes]
	if tm.bytes == 4 {
		for i := range lanes {
			binary.LittleEndian.PutUint32(to[4*i:], uint32(data[elem+int64(i)*stride]))
		}
		return
	}
	for i := range lanes {
		put(to[i*tm.bytes:], data[elem+int64(i)*stride], tm.bytes)
	}
}

// lanes adds an access of a group: one of elements side by side, else of lanes apart.
// Lanes whose condition is false are left out.
func (t *thread) lanes(tm *template, group [][]stream.Event, k int, together, apart uop.Op, value func(*stream.Event) scalar.Value) {
	a := &t.p.arrays[tm.array]
	first := &group[0][k]
	dense := !first.Skipped && a.inner == 0 && a.stride == uint64(tm.bytes)
	n := 0
	for i := range group {
		e := &group[i][k]
		dense = dense && !e.Skipped && e.Elem == first.Elem+int64(i)
		if !e.Skipped {
			n++
		}
	}
	if n == 0 {
		return
	}
	if tm.pieces != nil {
		i := -1
		t.assembled(tm, n, together.Dst, together.Src[0], func(int) (int64, scalar.Value) {
			for i++; group[i][k].Skipped; i++ {
			}
			return group[i][k].Elem, value(&group[i][k])
		})
		return
	}
	o := together
	if !dense {
		o = apart
	}
	o.Lanes, o.Size, o.Data = uint8(n), uint16(n*tm.bytes), uint32(len(t.out.Data))
	if dense {
		o.Addr = t.address(tm.array, first.Elem)
	} else {
		for i := range group {
			if e := &group[i][k]; !e.Skipped {
				at := len(t.out.Data)
				t.out.Data = append(t.out.Data, 0, 0, 0, 0, 0, 0, 0, 0)
				put(t.out.Data[at:], t.address(tm.array, e.Elem), 8)
			}
		}
		o.Addr = word(t.out.Data[o.Data : o.Data+8])
	}
	for i := range group {
		if e := &group[i][k]; !e.Skipped {
			at := len(t.out.Data)
			t.out.Data = append(t.out.Data, 0, 0, 0, 0, 0, 0, 0, 0)[:at+tm.bytes]
			put(t.out.Data[at:], value(e), tm.bytes)
		}
	}
	t.out.Ops = append(t.out.Ops, o)
}

// startSum makes the micro-op that begins a reduction in a SIMD register: without it the
// register would be that of the last time the loop was executed, and each time would wait
// for the one before.
func (t *thread) startSum(tm *template, slot int) {
	if !tm.reduces {
		return
	}
	o := tm.many.start
	o.Src[0] = t.cur[slot] // 0 where it begins with a constant
	t.out.Ops = append(t.out.Ops, o)
}

// sums brings the lanes of reductions together at the end of a SIMD loop.
func (t *thread) sums(l *loopState) {
	if !l.hoisted {
		return // no group was full
	}
	l.hoisted = false
	for _, i := range l.info.body {
		tm := t.p.streams[i]
		if !tm.reduces || tm.ordered {
			continue
		}
		n := len(tm.many.ops)
		if n == 0 {
			continue
		}
		op := tm.many.ops[n-1]
		if !tm.op.Associative(tm.typ) && !t.p.opt.Reassociate { // gcc adds lane by lane
			op.Lanes = 1
			swap := tm.many.swap
			swap.Lanes = uint8(l.info.lanes)
			for range l.info.lanes {
				t.out.Ops = append(t.out.Ops, swap, op)
			}
			continue
		}
		for lanes := l.info.lanes; lanes > 1; lanes /= 2 {
			o := op
			o.Lanes = uint8(lanes / 2)
			swap := tm.many.swap
			swap.Lanes = uint8(lanes)
			t.out.Ops = append(t.out.Ops, swap, o)
		}
	}
}
