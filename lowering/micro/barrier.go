package micro

import (
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile/uop"
)

// Threads meet at the end of a parallel loop and wait for the next one, in one of two
// ways. The central one is a counter that all add to and a word that all wait for, as in
// libgomp. The tree is that of LLVM's libomp ("hyper", kmp_barrier.cpp): each thread waits
// for words of its children, which have lines of their own, and then writes the word that
// its parent waits for; the next loop is passed on the other way. Only thread 0 waits for
// the end of a loop, the others for the beginning of the next.

// meet adds a thread to the counter. The last one tells thread 0.
func (m *team) meet(t *thread, r *parallel) error {
	m.leaveValues(t, r)
	o := m.count
	o.Flags |= uop.Blocking | uop.Racy
	t.word(o, m.line(countLine), 1)
	t.wait = func(old []byte) error {
		after := func() error {
			if t.id == 0 {
				for id := 1; id < len(r.partials); id++ {
					m.joinValues(t, r, id)
				}
			}
			return m.after(t, r)
		}
		last := word(old) == scalar.Value(len(m.p.threads)-1)
		if last {
			t.word(m.reset, m.line(countLine), 0)
			t.word(m.done.store, m.line(doneLine), scalar.Value(r.number))
		}
		if last || t.id != 0 {
			return after()
		}
		t.until(&m.done, m.line(doneLine), r.number, after)
		return nil
	}
	return nil
}

// children returns the threads that a thread waits for in a tree, the nearest first.
func (m *team) children(id int) (list []int) {
	n, fanout := len(m.p.threads), m.p.opt.Fanout
	for span := 1; span < n && id/span%fanout == 0; span *= fanout {
		for k := 1; k < fanout && id+k*span < n; k++ {
			list = append(list, id+k*span)
		}
	}
	return list
}

// gather waits for children, adds what they have reduced, and tells the parent.
func (m *team) gather(t *thread, r *parallel, children []int) error {
	if len(children) == 0 {
		if t.id != 0 {
			m.leaveValues(t, r)
			t.word(m.arrived.store, m.of(t.id, arrivedLine), scalar.Value(r.number))
		}
		return m.after(t, r)
	}
	t.until(&m.arrived, m.of(children[0], arrivedLine), r.number, func() error {
		m.joinValues(t, r, children[0])
		return m.gather(t, r, children[1:])
	})
	return nil
}

// wake lets the children of a thread in a tree go on, the furthest first.
func (m *team) wake(t *thread, number int) {
	if m.p.opt.Fanout == 0 {
		return // they wait for the word itself
	}
	children := m.children(t.id)
	for i := len(children) - 1; i >= 0; i-- {
		t.word(m.release.store, m.of(children[i], goLine), scalar.Value(number))
	}
}

// awaitStart waits for a parallel loop to be started.
func (m *team) awaitStart(t *thread, number int, then func() error) {
	if m.p.opt.Fanout == 0 {
		t.until(&m.start, m.line(startLine), number, then)
		return
	}
	t.until(&m.release, m.of(t.id, goLine), number, func() error {
		m.wake(t, number)
		t.word(m.what, m.line(startLine), scalar.Value(number))
		return then()
	})
}
