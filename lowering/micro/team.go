package micro

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

// What threads share, each in a line of its own: the number of the parallel loop that
// has been started, that of the last one that all have left, how many have come to its
// end, the next iteration of a dynamic loop, and where thread 0 waits for units. The lines of each thread follow.
const (
	startLine = iota
	doneLine
	countLine
	nextLine
	unitLine
	syncLines
)

// The lines of a thread: of a tree, the loop that it has come to the end of and the one
// that it may start, and the values that it reduces.
const (
	arrivedLine = iota
	goLine
	slotLine
	slotLines   = 2
	threadLines = slotLine + slotLines
)

// maxReductions is how many variables a parallel loop may reduce.
const maxReductions = slotLines * lineBytes / 8

// team is how the threads of a program work together.
type team struct {
	p       *Program
	open    *parallel // that threads execute
	started int       // number of parallel loops so far
	start   syncCode
	done    syncCode
	count   uop.Op
	reset   uop.Op
	take    uop.Op
	leave   uop.Op
	unit    uop.Op // waits for a unit
	join    uop.Op
	add     uop.Op
	arrived syncCode // of trees
	release syncCode
	what    uop.Op
	call    uop.Op
	loops   []*parallel
}

// syncCode is a store of a word, and a loop that waits for it.
type syncCode struct{ store, load, compare, branch uop.Op }

// parallel is a parallel loop that is being executed.
type parallel struct {
	number   int
	info     *loopInfo
	id       int
	n        int64
	state    *stream.State
	partials [][]scalar.Value // of each thread, for each reduction
	depth    []*loopState
	last     bool           // there is no loop: the program ends
	val      []scalar.Value // of slots, and their registers
	cur      []uop.Reg
	fresh    []bool
}

func newTeam(p *Program) *team {
	m := &team{p: p}
	flags, _ := p.reg()
	got, _ := p.reg()
	op := func(k uop.Kind, size uint16, dst uop.Reg, src ...uop.Reg) uop.Op {
		o := uop.Op{PC: p.pc(), Kind: k, Lanes: 1, Dst: dst, Size: size}
		copy(o.Src[:], src)
		return o
	}
	wait := func() syncCode {
		return syncCode{op(uop.Store, 8, 0), op(uop.Load, 8, got), op(uop.IntALU, 0, flags, got), op(uop.Branch, 0, 0, flags)}
	}
	m.start, m.done = wait(), wait()
	m.count = op(uop.Atomic, 8, got)
	m.count.RMW = uop.Add
	m.take = op(uop.Atomic, 8, got)
	m.take.RMW = uop.Add
	m.unit = op(uop.Atomic, 8, got)
	m.unit.RMW = uop.Add
	m.reset = op(uop.Store, 8, 0)
	m.leave = op(uop.Store, 8, 0)
	m.join = op(uop.Load, 8, got)
	m.add = op(uop.FPAdd, 0, flags, flags, got)
	m.arrived, m.release = wait(), wait()
	m.what = op(uop.Load, 8, got)
	m.call = op(uop.IntALU, 0, flags, flags)
	return m
}

func (m *team) line(n int) uint64 { return m.p.sync + uint64(n)*lineBytes }

// of is a line of a thread.
func (m *team) of(thread, line int) uint64 { return m.line(syncLines + threadLines*thread + line) }

// slot is where a thread leaves a value that it reduced.
func (m *team) slot(thread, k int) uint64 { return m.of(thread, slotLine) + 8*uint64(k) }

// word adds an access of 8 bytes.
func (t *thread) word(o uop.Op, addr uint64, v scalar.Value) {
	o.Addr, o.Data = addr, uint32(len(t.out.Data))
	t.out.Data = append(t.out.Data, 0, 0, 0, 0, 0, 0, 0, 0)
	put(t.out.Data[o.Data:], v, 8)
	t.out.Ops = append(t.out.Ops, o)
}

// until waits for a shared word to be at least a number.
func (t *thread) until(c *syncCode, addr uint64, number int, then func() error) {
	o := c.load
	o.Flags |= uop.Blocking | uop.Racy
	t.word(o, addr, 0)
	t.least = scalar.Value(number)
	t.wait = func(old []byte) error {
		again := word(old) < scalar.Value(number)
		b := c.branch
		b.Flags |= uop.Backward
		if again {
			b.Flags |= uop.Taken
		}
		t.out.Ops = append(t.out.Ops, c.compare, b)
		if again {
			t.until(c, addr, number, then)
			return nil
		}
		return then()
	}
}

// Again implements uop.Repeater: of a loop that waits for a shared word.
func (t *thread) Again(old []byte) bool {
	if word(old) >= t.least || t.log != nil || t.done != len(t.out.Ops) {
		return false
	}
	t.handed += uint64(len(t.out.Ops))
	return true
}

// fork starts a parallel loop, which thread 0 has entered.
func (m *team) fork(t *thread, l *loopState) error {
	m.started++
	r := &parallel{number: m.started, info: l.info, id: l.id, n: l.n}
	t.cursor.Share()
	r.state = t.cursor.Save()
	r.partials = make([][]scalar.Value, len(m.p.threads))
	for _, s := range t.depth {
		c := *s
		c.group, c.pending = nil, 0
		r.depth = append(r.depth, &c)
	}
	r.val, r.cur, r.fresh = slices.Clone(t.val), slices.Clone(t.cur), slices.Clone(t.fresh)
	m.open = r
	m.loops = append(m.loops, r)
	for range m.p.opt.ForkCycles {
		t.out.Ops = append(t.out.Ops, m.call)
	}
	if l.info.src.Parallel.Dynamic {
		t.word(m.reset, m.line(nextLine), 0)
	}
	m.begin(t)
	m.late(t, r)
	t.count, t.next = 0, 0
	return m.first(t, r)
}

// late lets a thread begin its part of a parallel loop later than it could.
func (m *team) late(t *thread, r *parallel) {
	if m.p.opt.Late == nil {
		return
	}
	for range m.p.opt.Late(t.id, r.number) {
		t.out.Ops = append(t.out.Ops, m.call)
	}
}

// begin lets the other threads go on with the loop that has been started.
func (m *team) begin(t *thread) {
	t.word(m.start.store, m.line(startLine), scalar.Value(m.started))
	m.wake(t, m.started)
}

// dismiss ends the other threads.
func (m *team) dismiss(t *thread) {
	m.started++
	m.loops = append(m.loops, &parallel{number: m.started, last: true})
	m.begin(t)
}

// waitForWork waits for the next parallel loop.
func (t *thread) waitForWork() error {
	m := t.p.team
	number := t.seen + 1
	m.awaitStart(t, number, func() error {
		r := m.loops[number-1]
		t.seen++
		if r.last {
			t.over = true
			return nil
		}
		t.cursor.Restore(r.state)
		t.depth = t.depth[:0]
		for _, s := range r.depth {
			c := *s
			t.depth = append(t.depth, &c)
		}
		copy(t.val, r.val)
		copy(t.cur, r.cur)
		copy(t.fresh, r.fresh)
		clear(t.decided)
		for _, s := range r.info.reduces {
			t.cursor.SetValue(s, m.p.streams[s].start)
			t.set(s, m.p.streams[s].start, t.p.home[s])
		}
		m.late(t, r)
		t.count, t.next = 0, 0
		return m.first(t, r)
	})
	return nil
}

// first gives a thread its first part of a parallel loop.
func (m *team) first(t *thread, r *parallel) error {
	t.loop, t.chunk = r, 0
	t.step = t.run
	return m.part(t)
}

// part gives a thread its next part, or lets it come to the end.
func (m *team) part(t *thread) error {
	r := t.loop
	par, threads := r.info.src.Parallel, int64(len(m.p.threads))
	if par.Dynamic {
		size := max(1, par.Chunk)
		o := m.take
		o.Flags |= uop.Blocking | uop.Racy
		t.word(o, m.line(nextLine), scalar.Value(size))
		t.wait = func(old []byte) error {
			from := int64(word(old))
			if from >= r.n {
				return m.end(t, r)
			}
			t.depth[len(t.depth)-1].end = min(r.n, from+size)
			if err := t.beginAt(t.depth[len(t.depth)-1], from, min(r.n, from+size)-from); err != nil {
				return err
			}
			t.cursor.Take(from, min(r.n, from+size))
			return nil
		}
		return nil
	}
	var from, to int64
	if par.Chunk > 0 {
		from = (t.chunk*threads + int64(t.id)) * par.Chunk
		to = min(r.n, from+par.Chunk)
	} else if t.chunk == 0 {
		from, to = r.n*int64(t.id)/threads, r.n*int64(t.id+1)/threads
	}
	t.chunk++
	if from >= to {
		return m.end(t, r)
	}
	t.depth[len(t.depth)-1].end = to
	if err := t.beginAt(t.depth[len(t.depth)-1], from, to-from); err != nil {
		return err
	}
	t.cursor.Take(from, to)
	return nil
}

// end brings a thread to the end of a parallel loop.
func (m *team) end(t *thread, r *parallel) error {
	t.sums(t.depth[len(t.depth)-1])
	for _, s := range r.info.reduces {
		r.partials[t.id] = append(r.partials[t.id], t.cursor.Value(s))
	}
	if m.p.opt.Fanout > 0 {
		return m.gather(t, r, m.children(t.id))
	}
	return m.meet(t, r)
}

// leaveValues leaves what a thread has reduced in its lines.
func (m *team) leaveValues(t *thread, r *parallel) {
	for k, v := range r.partials[t.id] {
		t.word(m.leave, m.slot(t.id, k), v)
	}
}

// joinValues adds what another thread has left to what a thread has reduced.
func (m *team) joinValues(t *thread, r *parallel, other int) {
	for k, s := range r.info.reduces {
		t.word(m.join, m.slot(other, k), r.partials[other][k])
		t.out.Ops = append(t.out.Ops, m.add)
		tm := m.p.streams[s]
		r.partials[t.id][k] = scalar.Eval(tm.combine, tm.typ, r.partials[t.id][k], r.partials[other][k])
	}
}

// after goes on behind a parallel loop: thread 0 with the program, the others wait.
func (m *team) after(t *thread, r *parallel) error {
	t.loop = nil
	if t.id != 0 {
		t.depth = t.depth[:0]
		t.step = t.waitForWork
		return nil
	}
	m.open = nil
	for k, s := range r.info.reduces {
		v := r.partials[0][k]
		t.cursor.SetValue(s, v)
		t.set(s, v, m.add.Dst)
	}
	t.cursor.Rest()
	return nil
}
