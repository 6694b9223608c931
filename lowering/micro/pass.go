package micro

import (
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/uop"
)

// Instances of plain loops with streams are skipped whole, with all rows that their streams would go through:
// what is decided of them is remembered, but no streams are configured, values in memory change as they
// would, and the thread counts the work that instances with streams have been.

// Untimed says that threads are executed without time from now on, or in time again, in a window.
func (p *Program) Untimed(on bool) {
	if p.untimed, p.fresh = on, false; !on {
		p.known = append(p.known[:0], p.entered...)
	}
}

// Fresh reports whether a thread has come to a loop, since there is no time, that none had come to before the
// last window: whose time no window may say.
func (p *Program) Fresh() bool { return p.fresh }

func (p *Program) enters(id int) {
	if p.entered == nil {
		p.entered = make([]bool, len(p.loops))
	}
	p.fresh = p.fresh || p.untimed && (p.known == nil || !p.known[id])
	p.entered[id] = true
}

// maxPassed bounds the iterations of a row that is skipped, all of them at once: threads go on in turns.
const maxPassed = 1 << 16

// passed is what is skipped at the next Skip.
type passed struct {
	l        *loopState // nil: nothing
	first, n int64      // its iterations: from which one on, and how many
	work     *work      // what they are
	sinks    int64      // streams that compute them elsewhere
	id       int        // of the loop
	rows     int64      // that are skipped behind it
}

// work is the micro-ops that instances of a loop with streams have left to a thread.
type work struct {
	groups, ops int64 // groups of iterations, and theirs
	rows, frame int64 // rows that were configured, and those that began and ended their streams
}

// workOf is that of streams of a loop.
func (t *thread) workOf(l *nearLoop, id int) *work {
	if len(l.streams) > 0 {
		return &t.counts[id].work[0]
	}
	return &t.counts[id].work[1]
}

// passesRow skips the next row of an instance that is skipped.
func (t *thread) passesRow(id int) bool {
	if t.pass.l = nil; t.pass.rows == 0 || t.pass.id != id || !t.single {
		t.pass.rows = 0
		return false
	}
	t.pass.rows--
	t.pass.l = t.depth[len(t.depth)-1]
	return true
}

// passes reports whether an instance, n iterations in each of some rows, is skipped, and lets all before it end.
func (t *thread) passes(l *nearLoop, id int, n, rows int64) bool {
	w := t.workOf(l, id)
	top := t.depth[len(t.depth)-1]
	if !t.single || !l.info.plain || l.racy || n > maxPassed || w.groups == 0 || w.rows == 0 || top.info != l.info ||
		len(t.planned) > 0 || len(t.unfinished) > 0 && t.lately.racy {
		return false
	}
	t.release(0)
	delete(t.clean, l.region)
	t.pass = passed{l: top, work: w, id: id, rows: rows - 1}
	if l.gone {
		for k := range l.streams {
			if l.streams[k].kind != se.Load {
				t.pass.sinks++
			}
		}
	}
	return true
}

// Within implements uop.Skipper.
func (t *thread) Within() bool { return t.pass.l != nil || t.pass.rows > 0 }

// settledStreams reports whether no streams of the thread are under way, nor what they do may be taken back.
func (t *thread) settledStreams() bool {
	return t.near == nil && !t.underWay() && (t.log == nil || t.log.until <= t.handed)
}

// passOver skips what is to be skipped.
func (t *thread) passOver(read func(addr, bytes uint64), write func(addr uint64, data []byte)) uop.Skipped {
	l, w := t.pass.l, t.pass.work
	t.pass.l = nil
	t.counts[l.id].passed++
	n, lanes := t.cursor.Left(), int64(l.info.lanes)
	t.execute(l, n, read, write)
	return uop.Skipped{MicroOps: uint64(n*w.ops/(lanes*w.groups) + w.frame/w.rows), Elsewhere: n * t.pass.sinks}
}

// beginAfterAll configures the streams of an instance that was to be skipped, when time goes on before it has begun.
func (t *thread) beginAfterAll() error {
	x := t.pass
	t.pass = passed{}
	if t.next < t.count || len(t.depth) == 0 || t.depth[len(t.depth)-1] != x.l || !t.cursor.Group(1) {
		return nil // it went another way
	}
	return t.beginAt(x.l, x.first, x.n)
}

// measured counts a group of a loop with streams, whose micro-ops begin at one.
func (t *thread) measured(l *loopState, from int) {
	s := t.near
	if s == nil || s.between || s.l.info != l.info {
		return
	}
	w := t.workOf(s.l, l.id)
	w.groups++
	w.ops += int64(len(t.out.Ops) - from)
}

// framed counts the micro-ops that begin or end streams, which begin at one; nil: none have been configured.
func (t *thread) framed(s *nearState, from int) {
	if s != nil {
		t.workOf(s.l, s.id).frame += int64(max(0, len(t.out.Ops)-from)) // a wait makes room
	}
}
