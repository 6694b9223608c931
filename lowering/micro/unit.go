package micro

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

// Units are parts of a program that others may execute in place of its threads: statements
// that are neighbours in a body outside of parallel loops, at least one of them a loop.
type Units struct {
	List [][]stream.Stmt
	// Stay says of units that threads execute them each time, so that streams may go on from one
	// instance to the next; nil: of none.
	Stay []bool
	// Begin decides whether a unit is executed elsewhere this time, for values of the
	// variables of the loops around it. Thread 0 then waits at [Program.UnitAddress], by an
	// atomic operation, until the machine lets it execute that.
	Begin func(unit int, values map[string]int64) (elsewhere bool, err error)
	// End says that the unit is done: the memory of the program is to have what it did. It
	// returns the values that reductions came to, by the names of their streams.
	End func(unit int) (map[string]scalar.Value, error)
	// Passed, if it is not nil, says that thread 0 has left a unit that threads executed.
	Passed func(unit int)
}

// has reports whether a loop is itself a statement of a unit, so that each instance of it may be
// executed elsewhere.
func (u *Units) has(l *stream.Loop) bool {
	if u == nil {
		return false
	}
	for i, list := range u.List {
		if slices.Contains(list, stream.Stmt(l)) {
			return u.Stay == nil || !u.Stay[i]
		}
	}
	return false
}

// seat is the place of a statement in a unit.
type seat struct {
	unit        int // -1: in none
	first, last bool
}

// seats finds the places of statements in units.
func (p *Program) seats() {
	if p.opt.Units == nil {
		return
	}
	p.loopUnit, p.streamUnit = make([]seat, len(p.loops)), make([]seat, len(p.streams))
	for _, list := range [][]seat{p.loopUnit, p.streamUnit} {
		for i := range list {
			list[i].unit = -1
		}
	}
	for u, list := range p.opt.Units.List {
		for k, st := range list {
			s := seat{u, k == 0, k == len(list)-1}
			for i, l := range p.loops {
				if st == stream.Stmt(l.src) {
					p.loopUnit[i] = s
				}
			}
			for i, tm := range p.streams {
				if tm != nil && st == stream.Stmt(tm.s) {
					p.streamUnit[i] = s
				}
			}
		}
	}
}

// UnitAddress is where thread 0 waits for units.
func (p *Program) UnitAddress() uint64 { return p.team.line(unitLine) }

// outside takes a step of a unit that others execute; it reports false for all others.
func (t *thread) outside(e *stream.Event) (done bool, err error) {
	s := seat{unit: -1}
	switch e.What {
	case stream.Enter, stream.Leave:
		s = t.p.loopUnit[e.Stream]
	case stream.Step:
		s = t.p.streamUnit[e.Stream]
	}
	if s.unit < 0 {
		return false, nil
	}
	if s.first && e.What != stream.Leave {
		values := map[string]int64{}
		for _, l := range t.depth {
			values[l.info.src.Var] = int64(t.val[l.info.slot])
		}
		t.unit, t.called = -1, false
		there, err := t.p.opt.Units.Begin(s.unit, values)
		if err != nil {
			return true, err
		}
		if there {
			t.unit = s.unit
		}
	}
	if t.unit != s.unit {
		if f := t.p.opt.Units.Passed; f != nil && s.last && e.What != stream.Enter {
			f(s.unit)
		}
		return false, nil
	}
	switch e.What {
	case stream.Enter:
		t.depth = append(t.depth, &loopState{info: t.p.loops[e.Stream], id: int(e.Stream)})
		t.cursor.Skip()
		if !t.called {
			t.called = true
			o := t.p.team.unit
			o.Flags |= uop.Blocking | uop.Racy
			t.word(o, t.p.UnitAddress(), 1)
			t.wait = func([]byte) error { return nil }
		}
		return true, nil
	case stream.Leave:
		t.depth = t.depth[:len(t.depth)-1]
	default:
		t.set(int(e.Stream), e.Value, t.p.home[e.Stream])
	}
	if s.last {
		t.unit = -1
		values, err := t.p.opt.Units.End(s.unit)
		if err != nil {
			return true, err
		}
		for i, tm := range t.p.streams {
			if v, ok := values[tm.s.Name]; ok && tm.s.Kind == stream.Reduce {
				t.cursor.SetValue(i, v)
				t.set(i, v, t.p.home[i])
			}
		}
	}
	return true, nil
}
