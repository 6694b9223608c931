package micro

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/uop"
)

// fate is what streams have made of a micro-op.
type fate uint8

const (
	asIs    fate = iota // nothing
	gone                // it has left the core, for a stream that computes or writes
	aside               // it is not needed while streams have the address
	instead             // a load of the window is in its place
	extra               // only streams need it
	redone              // an update has left the core whose place in the order of threads the machine decides
	took                // an update at the L3 has been made in its place, and stays made
)

// mark says what became of a micro-op of a loop with streams.
type mark struct {
	at    int   // where it is in the batch, or what follows it
	iter  int64 // of the loop, by elements
	op    uop.Op
	data  []byte
	group uint32
	fate  fate
	// reduces says that a reduction needs it: its value is restored at the beginning of a
	// range, and what is written may not be loaded again.
	reduces bool
	redo    *redo // of an update that is redone
}

// redo is an update, and what asked for it.
type redo struct {
	tm    *template
	asked stream.Event
}

// snapshot is the values of what a loop reduces before an iteration.
type snapshot struct {
	group  uint32
	iter   int64
	loop   *nearLoop
	values []scalar.Value // by stream, of those that reduce
}

// log is the micro-ops of a thread since the first that may be taken back, with those that
// have left the core among them.
type log struct {
	entries   []entry
	data      uop.Batch // of entries, which have their own micro-ops
	marks     []mark    // of entries that are not as they were
	snapshots []snapshot
	open      []se.RestoredLoop
	until     uint64 // micro-ops that are committed when nothing of it is needed
	room      int    // entries before it is trimmed
}

// trimmed is how many entries a log has at least when it is trimmed: few, so that they stay in the
// caches of the host.
const trimmed = 1 << 10

// entry is a micro-op that was handed out, or that has left the core.
type entry struct {
	seq  uint64 // its number, or that of the next one
	op   int32  // in data, as it was handed out; -1 if it was not
	mark int32  // in marks; -1 if nothing became of it
}

// asItIs is the mark of what has none.
var asItIs mark

// of is what became of an entry.
func (l *log) of(e *entry) *mark {
	if e.mark < 0 {
		return &asItIs
	}
	return &l.marks[e.mark]
}

// marked notes what became of a micro-op that is not handed out as it is.
func (t *thread) marked(f fate, o *uop.Op, owner *stream.Stream) {
	s := t.near
	if !s.ordered {
		return
	}
	m := mark{at: len(t.out.Ops), fate: f, group: s.group, iter: s.done}
	if o != nil {
		m.op = *o
		m.data = t.keep(t.out.Data[o.Data:][:o.DataBytes()])
		m.reduces = owner != nil && s.l.reduces(owner)
	}
	t.marks = append(t.marks, m)
}

// kept is how many bytes of marks are allocated at once.
const kept = 4096

// keep returns a copy of bytes.
func (t *thread) keep(b []byte) []byte {
	if len(b) > cap(t.kept)-len(t.kept) {
		t.kept = make([]byte, 0, max(kept, len(b)))
	}
	n := len(t.kept)
	t.kept = append(t.kept, b...)
	return t.kept[n:len(t.kept):len(t.kept)]
}

// reduces reports whether a stream is a reduction at the L3, or an operand of one.
func (l *nearLoop) reduces(s *stream.Stream) bool {
	for k := range l.streams {
		x := &l.streams[k]
		if x.kind == se.Reduce && (x.tm.s == s || slices.ContainsFunc(x.inputs, func(in int) bool {
			y := &l.streams[in]
			return y.tm.s == s || x.join != scalar.NoOp && y.where != nil && l.streams[y.near].tm.s == s
		})) {
			return true
		}
	}
	return false
}

// remember keeps the values that a loop has reduced, at the beginning of a range.
func (t *thread) remember() {
	s := t.near
	if !s.ordered {
		return
	}
	x := snapshot{group: s.group, iter: s.done, loop: s.l, values: make([]scalar.Value, len(s.l.streams))}
	for k := range s.l.streams {
		if y := &s.l.streams[k]; y.kind == se.Reduce {
			x.values[k] = t.val[y.index]
		}
	}
	t.log.snapshots = append(t.log.snapshots, x)
}

// ordered begins a log when streams are configured that are in order with the core.
func (t *thread) ordered() {
	if t.log == nil {
		t.log = &log{}
		t.marks, t.inLog = t.marks[:0], 0
	}
	t.log.until = ^uint64(0)
}

// take logs micro-ops that are about to be handed out.
func (l *log) take(t *thread, n int) {
	k, seq := t.inLog, t.handed
	for k < len(t.marks) && t.marks[k].at < t.done {
		k++
	}
	add := func(m *mark, at int) {
		e := entry{seq: seq, op: -1, mark: -1}
		if at >= 0 {
			e.op = int32(len(l.data.Ops))
			l.data.Append(&t.out, &t.out.Ops[at])
		}
		if m != nil {
			e.mark = int32(len(l.marks))
			l.marks = append(l.marks, *m)
		}
		l.entries = append(l.entries, e)
	}
	for i := t.done; i < t.done+n; i++ {
		for ; k < len(t.marks) && t.marks[k].at == i && (t.marks[k].fate == gone || t.marks[k].fate == aside || t.marks[k].fate == redone); k++ {
			add(&t.marks[k], -1)
		}
		if k < len(t.marks) && t.marks[k].at == i {
			add(&t.marks[k], i)
			k++
		} else {
			add(nil, i)
		}
		seq++
	}
	if t.done+n == len(t.out.Ops) { // what left the core behind the last one
		for ; k < len(t.marks); k++ {
			add(&t.marks[k], -1)
		}
		t.marks, k = t.marks[:0], 0
	}
	t.inLog = k
	if l.until <= t.passed && t.near == nil {
		t.log = nil
		return
	}
	if len(l.entries) > max(l.room, trimmed) {
		l.trim(t.passed)
	}
}

// from is the iteration of a loop before which nothing will be restored.
func (l *log) from(group uint32) (int64, bool) {
	for _, o := range l.open {
		if o.Group == group {
			return o.From, true
		}
	}
	return 0, false
}

// trim forgets what will not be handed out again.
func (l *log) trim(passed uint64) {
	oldest := uint32(0)
	if len(l.open) > 0 {
		oldest = l.open[0].Group
	}
	needed := func(e *entry) bool {
		if e.seq >= passed {
			return true
		}
		m := l.of(e)
		if m.fate != gone && m.fate != redone {
			return false
		}
		from, open := l.from(m.group)
		return open && m.iter >= from || !open && m.group > oldest && oldest > 0
	}
	k, ops, marks := 0, 0, 0
	for ; k < len(l.entries) && !needed(&l.entries[k]); k++ {
		if l.entries[k].op >= 0 {
			ops++
		}
		if l.entries[k].mark >= 0 {
			marks++
		}
	}
	if l.room = 2 * len(l.entries); k < len(l.entries)/2 {
		return
	}
	// What is left of each list lies together.
	l.entries = l.entries[:copy(l.entries, l.entries[k:])]
	for i := range l.entries {
		if e := &l.entries[i]; e.op >= 0 {
			e.op -= int32(ops)
		}
		if e := &l.entries[i]; e.mark >= 0 {
			e.mark -= int32(marks)
		}
	}
	l.room = 2 * len(l.entries)
	left := copy(l.marks, l.marks[marks:])
	clear(l.marks[left:])
	l.marks = l.marks[:left]
	l.data.Skip(ops)
	l.snapshots = slices.DeleteFunc(l.snapshots, func(s snapshot) bool {
		from, open := l.from(s.group)
		return !(open && s.iter >= from || !open && s.group > oldest)
	})
}

// Passed implements se.Source.
func (t *thread) Passed(committed uint64, loops []se.RestoredLoop) {
	t.passed = committed
	if t.log != nil {
		t.log.open = append(t.log.open[:0], loops...)
	}
}

// Remember implements se.Source.
func (t *thread) Remember(h *se.History) { t.history = h }

// Restore implements se.Source: the micro-ops that are not committed come again. Those of
// loops whose streams have ended come as if there were none, with what has left the core
// and is not written; what they have reduced is taken from the engine first.
func (t *thread) Restore(r se.Restored) error {
	l := t.log
	if l == nil {
		return fmt.Errorf("micro: thread %d has nothing to restore", t.id)
	}
	l.take(t, len(t.out.Ops)-t.done) // all that is made
	if t.log == nil {
		return fmt.Errorf("micro: thread %d has let go of what is to be restored", t.id)
	}
	loop := map[uint32]*se.RestoredLoop{}
	for i := range r.Loops {
		loop[r.Loops[i].Group] = &r.Loops[i]
	}
	t.out, t.done, t.marks, t.inLog = uop.Batch{}, 0, nil, 0
	t.postpone(loop)
	for i := range r.Loops {
		x := &r.Loops[i]
		if err := t.restored(l, x); err != nil {
			return err
		}
		t.unfinished = slices.DeleteFunc(t.unfinished, func(g uint32) bool { return g == x.Group })
		if t.near != nil && t.near.group == x.Group {
			if t.near.asked == t.near.done {
				t.left = t.near
			}
			t.near = nil
			t.cursor.AskAlso(nil)
		}
		if t.instead != nil && t.insteadOf == x.Group {
			t.wait, t.redo, t.instead, t.least = nil, t.instead, nil, 0
		}
	}
	rest := &log{until: l.until, snapshots: l.snapshots, open: l.open}
	last := -1 // blocking, of those that are handed out
	var parts []part
	split := -1 // the last update that comes again
	for i := range l.entries {
		if m := l.of(&l.entries[i]); m.fate == redone && loop[m.group] != nil && m.iter >= loop[m.group].At {
			split = i
		}
	}
	var begins []*entry // of instances that have not begun, and do so behind it
	for i := range l.entries {
		e := &l.entries[i]
		m := l.of(e)
		x := loop[m.group]
		var o *uop.Op
		from := &l.data
		switch {
		case m.fate == asIs || x == nil:
			if t.postponed(m) {
				continue
			}
			if e.seq < r.Committed {
				if (m.fate == gone || m.fate == redone) && x == nil { // of another loop: it may be restored later
					t.marks = append(t.marks, *m)
					t.marks[len(t.marks)-1].at = len(t.out.Ops)
				}
				continue
			}
			if i < split && l.begins(e) {
				begins = append(begins, e)
				continue
			}
			if m.fate != asIs {
				t.marks = append(t.marks, *m)
				t.marks[len(t.marks)-1].at = len(t.out.Ops)
			}
			if e.op < 0 {
				continue
			}
			o = &l.data.Ops[e.op]
		case m.fate == extra, m.fate == took:
			continue
		case m.fate == redone:
			if m.iter >= x.At {
				again := *m.redo
				if last >= 0 {
					t.out.Ops[last].Flags &^= uop.Blocking
				}
				parts = append(parts, part{out: t.out, marks: t.marks, then: func() error { return t.makeUp(again.tm, again.asked) }})
				t.out, t.marks, last = uop.Batch{}, nil, -1
			}
			if i == split {
				for _, e := range begins {
					t.marks = append(t.marks, *l.of(e))
					t.marks[len(t.marks)-1].at = len(t.out.Ops)
					t.out.Append(&l.data, &l.data.Ops[e.op])
				}
			}
			continue
		case m.fate == gone:
			if m.iter < x.From || m.iter < x.At && !m.reduces {
				continue
			}
			fallthrough
		default:
			if m.fate != gone && e.seq < r.Committed {
				continue
			}
			own := m.op
			own.Data = 0
			o, from = &own, &uop.Batch{Data: m.data}
		}
		t.out.Append(from, o)
		if o.Flags&uop.Blocking != 0 {
			if last >= 0 {
				t.out.Ops[last].Flags &^= uop.Blocking
			}
			last = len(t.out.Ops) - 1
		}
	}
	if last >= 0 && t.wait == nil { // it was answered; now it only takes its time
		t.out.Ops[last].Flags &^= uop.Blocking
	}
	t.handed, t.passed, t.log = r.Committed, r.Committed, rest
	if len(parts) > 0 { // loops that are configured behind them may be restored until all have come
		rest.until = ^uint64(0)
		t.parts = append(parts, part{out: t.out, marks: t.marks, wait: t.wait, makes: t.makes, instead: t.instead, then: t.restoredAll})
		t.out, t.marks, t.wait, t.makes, t.instead, t.least = uop.Batch{}, nil, nil, nil, nil, 0
		return nil
	}
	if (t.near == nil || !t.near.ordered) && !t.underWay() {
		rest.until = t.handed + uint64(len(t.out.Ops))
	}
	return nil
}

// begins reports whether a micro-op begins an instance.
func (l *log) begins(e *entry) bool {
	m := l.of(e)
	return m.fate == extra && e.op >= 0 && l.data.Ops[e.op].Kind == uop.Load && l.data.Ops[e.op].Addr == se.Begin(m.group)
}

// restoredAll ends the log when all that has come again is committed.
func (t *thread) restoredAll() error {
	if t.log != nil && (t.near == nil || !t.near.ordered) && !t.underWay() {
		t.log.until = t.handed
	}
	return nil
}

// part is micro-ops that come again, and what the thread does behind them.
type part struct {
	out     uop.Batch
	marks   []mark
	wait    func([]byte) error
	makes   func(scalar.Value)
	instead func() error
	then    func() error
}

// makeUp makes an update in the core that was to be made at the L3.
func (t *thread) makeUp(tm *template, asked stream.Event) error {
	asked.What = stream.Step // the cursor has gone past it
	return t.perform(tm, &asked, tm.one.access)
}

// restored loads what a loop has reduced so far.
func (t *thread) restored(l *log, x *se.RestoredLoop) error {
	k := slices.IndexFunc(l.snapshots, func(s snapshot) bool { return s.group == x.Group })
	if k < 0 {
		return fmt.Errorf("micro: thread %d has no values of loop %d", t.id, x.Group)
	}
	near := l.snapshots[k].loop
	if x.Aliased {
		t.counts[slices.IndexFunc(t.p.near, func(n *nearLoop) bool { return n != nil && n.info == near.info })].aliased++
	}
	for sid := range near.streams {
		s := &near.streams[sid]
		if s.kind != se.Reduce {
			continue
		}
		k := slices.IndexFunc(l.snapshots, func(s snapshot) bool { return s.group == x.Group && s.iter == x.From })
		if k < 0 {
			return fmt.Errorf("micro: thread %d has no value of %s before iteration %d", t.id, s.name, x.From)
		}
		t.word(s.final, se.Final(x.Group, sid), l.snapshots[k].values[sid])
	}
	return nil
}
