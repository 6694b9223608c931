package micro

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
)

// later is the loops around an innermost one whose streams are in the core, in whose variables
// they are linear: the engine asks for what the next instances access.
type later struct {
	row, plane *loopInfo // plane is around row; nil: there is none
	accesses   []*template
}

// later finds them; nil if there are none.
func (p *Program) later(near *nearLoop) *later {
	l := near.info
	if len(near.streams) > 0 || len(near.ahead) == 0 || !l.inner || l.src.Parallel != nil {
		return nil
	}
	all := p.graph.Loops(p.streams[l.body[0]].s)
	around := func(k int) *loopInfo { // k loops around
		if len(all) <= k {
			return nil
		}
		o := all[len(all)-1-k]
		i := slices.IndexFunc(p.loops, func(x *loopInfo) bool { return x.src == o })
		if i < 0 || o.Open || o.While != nil {
			return nil
		}
		for _, x := range all[len(all)-k:] {
			if slices.ContainsFunc(append(x.Range.Lo.Symbols(), x.Range.Hi.Symbols()...), func(name string) bool { return p.changes(name, p.loops[i]) }) {
				return nil
			}
		}
		return p.loops[i]
	}
	q := &later{row: around(1)}
	if q.row == nil {
		return nil
	}
	if q.row.src.Parallel == nil {
		q.plane = around(2)
	}
	linear := func(tm *template) bool {
		return tm.array >= 0 && tm.s.If == nil && p.graph.Arrays[tm.array].Scope != stream.Private &&
			!slices.ContainsFunc(tm.s.Index, func(x lattice.Expr) bool {
				return slices.ContainsFunc(x.Symbols(), func(name string) bool {
					return name != l.src.Var && name != q.row.src.Var && (q.plane == nil || name != q.plane.src.Var) && p.changes(name, q.outermost())
				})
			})
	}
	for i := range near.ahead {
		if tm := near.ahead[i].tm; linear(tm) {
			q.accesses = append(q.accesses, tm)
		}
	}
	for _, o := range []*loopInfo{l, q.row} { // what is the same in all of an instance, too
		for _, i := range o.body {
			if tm := p.streams[i]; tm.s.Kind == stream.Load && (o != l || tm.hoisted) && linear(tm) && !slices.Contains(q.accesses, tm) {
				q.accesses = append(q.accesses, tm)
			}
		}
	}
	if len(q.accesses) == 0 {
		return nil
	}
	return q
}

func (q *later) outermost() *loopInfo {
	if q.plane != nil {
		return q.plane
	}
	return q.row
}

// beyond is what instances behind that of n iterations, from the one whose variable is v on, access.
func (t *thread) beyond(l *nearLoop, n, v int64) []se.Beyond {
	q, p := l.later, t.p
	if q == nil || len(t.depth) < 2 || t.depth[len(t.depth)-2].info != q.row {
		return nil
	}
	// place is a loop around: its slot and what that has, which iteration this is, of how many, and the stride.
	type place struct {
		slot           int32
		at, it, of, by int64
	}
	where := func(o *loopInfo, s *loopState) place {
		at, by := t.number(o.src.Var, l.info, v), o.src.Stride()
		return place{slot: p.names[o.src.Var], at: at, it: (at - t.firstOf(o)) / by, of: s.end, by: by}
	}
	row := where(q.row, t.depth[len(t.depth)-2])
	plane := place{of: 1}
	if q.plane != nil && len(t.depth) > 2 && t.depth[len(t.depth)-3].info == q.plane {
		plane = where(q.plane, t.depth[len(t.depth)-3])
	}
	with := func(x place, value int64, f func() int64) int64 {
		was := t.val[x.slot]
		t.val[x.slot] = uint64(value)
		defer func() { t.val[x.slot] = was }()
		return f()
	}
	var list []se.Beyond
	for _, tm := range q.accesses {
		at := func() int64 { return int64(t.elementAt(tm, l.info, v)) }
		first, last := at(), int64(t.elementAt(tm, l.info, v+(n-1)*l.info.src.Stride()))
		if n > 1 && max(last-first, first-last)/(n-1) > lineBytes {
			continue // not each line between them
		}
		b := se.Beyond{PC: tm.one.access.PC, Base: uint64(min(first, last)), Bytes: uint64(max(first, last)-min(first, last)) + uint64(tm.bytes), At: row.it, Rows: row.of, Planes: plane.of - 1 - plane.it}
		if tm.s.Kind != stream.Load {
			b.PC, b.Write = tm.one.store.PC, true
		}
		b.Row = with(row, row.at+row.by, at) - first
		if b.Planes > 0 {
			b.Plane = with(plane, plane.at+plane.by, at) - first
		}
		if b.Row != 0 || b.Plane != 0 {
			list = append(list, b)
		}
	}
	if invariants.Enabled {
		t.foretold(l, list)
	}
	return list
}

// foretold compares what an instance accesses with what the one before has said of it.
func (t *thread) foretold(l *nearLoop, list []se.Beyond) {
	if t.said == nil {
		t.said = map[*nearLoop][]se.Beyond{}
	}
	before := t.said[l]
	t.said[l] = slices.Clone(list)
	for _, b := range list {
		i := slices.IndexFunc(before, func(x se.Beyond) bool { return x.PC == b.PC })
		if i < 0 || before[i].Bytes != b.Bytes || before[i].Rows != b.Rows {
			continue
		}
		x := before[i]
		want := x.Base
		switch {
		case x.Planes == b.Planes && b.At == x.At+1:
			want += uint64(x.Row)
		case x.Planes == b.Planes+1 && x.At == x.Rows-1 && b.At == 0:
			want += uint64(x.Plane - x.At*x.Row)
		default:
			continue
		}
		if b.Base != want {
			panic(fmt.Sprintf("micro: an instance of the loop over %s begins at %#x, and %#x was foretold", l.info.src.Var, b.Base, want))
		}
	}
}
