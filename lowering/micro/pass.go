package micro

import (
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/uop"
)

// Instances of plain loops with streams are skipped whole: their streams are not configured, values in
// memory change as they would, and the thread counts the work that instances with streams have been.

// maxPassed bounds the iterations of an instance that is skipped, all of them at once: threads go on in turns.
const maxPassed = 1 << 16

// work is what instances of a loop with streams have been for a thread: micro-ops of groups of iterations
// and of what begins and ends streams, and iterations elsewhere, of each stream that computes.
type work struct {
	groups, ops, elsewhere int64
	rows, frame            int64 // rows that were configured, micro-ops for that
}

// passes reports whether an instance of n iterations is skipped, and lets all before it end.
func (t *thread) passes(l *nearLoop, id int, n int64) bool {
	t.passing = nil
	w := &t.counts[id].work
	top := t.depth[len(t.depth)-1]
	if !t.single || !l.info.plain || l.racy || n > maxPassed || w.groups == 0 || w.rows == 0 || top.info != l.info ||
		len(t.planned) > 0 || len(t.unfinished) > 0 && t.lately.racy {
		return false
	}
	t.release(0)
	delete(t.clean, l.region)
	t.passing = top
	return true
}

// settledStreams reports whether no streams of the thread are under way, nor what they do may be taken back.
func (t *thread) settledStreams() bool {
	if t.near != nil || t.underWay() || t.log != nil && t.log.until > t.handed {
		return false
	}
	t.log = nil
	return true
}

// pass skips what is left of an instance.
func (t *thread) pass(l *loopState, read func(addr, bytes uint64), write func(addr uint64, data []byte)) uop.Skipped {
	t.passing = nil
	t.counts[l.id].passed++
	w := &t.counts[l.id].work
	n, lanes := t.cursor.Left(), int64(l.info.lanes)
	t.execute(l, n, read, write)
	return uop.Skipped{MicroOps: uint64(n*w.ops/(lanes*w.groups) + w.frame/w.rows), Elsewhere: n * w.elsewhere / (lanes * w.groups)}
}

// beginAfterAll configures the streams of an instance that was to be skipped, when time goes on before it has begun.
func (t *thread) beginAfterAll() error {
	l := t.passing
	t.passing = nil
	if t.next < t.count || len(t.depth) == 0 || t.depth[len(t.depth)-1] != l || !t.cursor.Group(1) {
		return nil // it went another way
	}
	return t.beginAt(l, t.passingFrom[0], t.passingFrom[1])
}

// measured counts a group of a loop with streams, whose micro-ops begin at one.
func (t *thread) measured(l *loopState, from int) {
	s := t.near
	if s == nil || s.between || s.l.info != l.info {
		return
	}
	w := &t.counts[l.id].work
	w.groups++
	w.ops += int64(len(t.out.Ops) - from)
	if s.l.gone {
		for k := range s.l.streams {
			if s.l.streams[k].kind != se.Load {
				w.elsewhere += int64(l.info.lanes)
			}
		}
	}
}

// begunAt and endedAt count the micro-ops that begin and end streams, which begin at one.
func (t *thread) begunAt(id, from int) {
	if s := t.near; s != nil && s.id == id {
		t.counts[id].work.frame += int64(max(0, len(t.out.Ops)-from))
	}
}

func (t *thread) endedAt(id, from int) {
	t.counts[id].work.frame += int64(max(0, len(t.out.Ops)-from))
}
