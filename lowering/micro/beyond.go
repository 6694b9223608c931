package micro

import (
	"fmt"
	"math"
	"slices"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
)

// later is the loops around an innermost one whose streams are in the core, in whose variables
// they are linear: the engine asks for what the next instances access.
type later struct {
	inner      *loopInfo // between the innermost one and row, of instances that go through all of its iterations; nil: there is none
	row, plane *loopInfo // plane is around row; nil: there is none
	shift      int64     // of inner's first iteration from one of plane to the next
	beside     [2]beside // row and plane
	accesses   []*template
}

// later finds them, of instances that go through so many loops around the innermost one; nil if there
// are none.
func (p *Program) later(near *nearLoop, through int) *later {
	l := near.info
	if len(near.streams) > 0 || len(near.ahead) == 0 || !l.inner || l.src.Parallel != nil {
		return nil
	}
	all := p.graph.Loops(p.streams[l.body[0]].s)
	q := &later{}
	around := func(k int, shifts bool) *loopInfo { // k loops around; inner may begin elsewhere in each of its iterations
		if len(all) <= k {
			return nil
		}
		o := all[len(all)-1-k]
		i := slices.IndexFunc(p.loops, func(x *loopInfo) bool { return x.src == o })
		if i < 0 || o.Open || o.While != nil {
			return nil
		}
		for _, x := range all[len(all)-k:] {
			if shifts && q.inner != nil && x == q.inner.src && p.shifts(x, p.loops[i]) {
				q.shift = x.Range.Lo.Coef(o.Var) * o.Stride()
				continue
			}
			if slices.ContainsFunc(append(x.Range.Lo.Symbols(), x.Range.Hi.Symbols()...), func(name string) bool { return p.changes(name, p.loops[i]) }) {
				return nil
			}
		}
		return p.loops[i]
	}
	q.row = around(1+through, false)
	loops := []*loopInfo{l}
	if through > 0 {
		if q.inner = around(1, false); q.inner == nil || q.inner.src.Parallel != nil {
			return nil
		}
		loops = append(loops, q.inner)
	}
	if q.row == nil {
		return nil
	}
	loops = append(loops, q.row)
	if q.row.src.Parallel == nil {
		q.plane = around(2+through, true)
	}
	own := func(name string) bool {
		return slices.ContainsFunc(loops, func(o *loopInfo) bool { return o.src.Var == name }) || q.plane != nil && q.plane.src.Var == name
	}
	linear := func(tm *template) bool {
		return tm.array >= 0 && tm.s.If == nil && p.graph.Arrays[tm.array].Scope != stream.Private &&
			!slices.ContainsFunc(tm.s.Index, func(x lattice.Expr) bool {
				return slices.ContainsFunc(x.Symbols(), func(name string) bool {
					return !own(name) && p.changes(name, q.outermost())
				})
			})
	}
	for i := range near.ahead {
		if tm := near.ahead[i].tm; linear(tm) {
			q.accesses = append(q.accesses, tm)
		}
	}
	for _, o := range loops { // what is the same in all of an instance, too
		for _, i := range o.body {
			if tm := p.streams[i]; tm.s.Kind == stream.Load && (o != l || tm.hoisted) && linear(tm) && !slices.Contains(q.accesses, tm) {
				q.accesses = append(q.accesses, tm)
			}
		}
	}
	if len(q.accesses) == 0 {
		return nil
	}
	q.beside[0] = p.beside(q.row.src, all)
	if q.plane != nil {
		q.beside[1] = p.beside(q.plane.src, all)
	}
	return q
}

// beside is what other loops inside of one access, between two of its iterations: the bytes of all of
// these arrays, and which of them are written.
type beside struct {
	bytes   int64
	written []int // arrays
}

func (p *Program) beside(o *stream.Loop, all []*stream.Loop) (x beside) {
	var arrays []int
	for _, tm := range p.besides(o, all) {
		if tm.s.Kind != stream.Load && !slices.Contains(x.written, tm.array) {
			x.written = append(x.written, tm.array)
		}
		if slices.Contains(arrays, tm.array) {
			continue
		}
		arrays = append(arrays, tm.array)
		bytes := int64(p.arrays[tm.array].stride)
		for _, n := range p.graph.Arrays[tm.array].Size {
			size, err := n.Eval(p.args.Symbols)
			if err != nil { // as large as can be
				size = math.MaxInt32
			}
			bytes = min(bytes*max(size, 1), math.MaxInt32)
		}
		x.bytes += bytes
	}
	return x
}

// shifts reports whether a loop has as many iterations in each of one around it, and begins so
// much later in each as the one before: blocks of a loop.
func (p *Program) shifts(x *stream.Loop, o *loopInfo) bool {
	lo, hi := x.Range.Lo, x.Range.Hi
	if _, ok := hi.Sub(lo).Const(); !ok || x.Stride() < 0 {
		return false
	}
	return !slices.ContainsFunc(lo.Symbols(), func(name string) bool { return name != o.src.Var && p.changes(name, o) })
}

func (q *later) outermost() *loopInfo {
	if q.plane != nil {
		return q.plane
	}
	return q.row
}

// maxBeyond bounds the rows of an instance whose elements are asked for row by row.
const maxBeyond = 16

// iteration is a loop around an instance: its slot and what that has, which iteration this is, of how many, and
// the stride.
type iteration struct {
	slot           int32
	at, it, of, by int64
}

// position is where an instance is in the loops of later: inner is the first of the rows that it goes
// through.
type position struct{ inner, row, plane iteration }

// position finds it, of an instance in each of some rows whose variable begins with v; false if it
// is no whole one.
func (t *thread) position(q *later, l *nearLoop, v, rows int64) (x position, ok bool) {
	at := len(t.depth) - 2 // of the loop by whose iterations instances follow each other
	if q.inner != nil {
		at--
	}
	if at < 0 || t.depth[at].info != q.row {
		return x, false
	}
	where := func(o *loopInfo, s *loopState) iteration {
		at, by := t.number(o.src.Var, l.info, v), o.src.Stride()
		return iteration{slot: t.p.names[o.src.Var], at: at, it: (at - t.firstOf(o)) / by, of: s.end, by: by}
	}
	x.row = where(q.row, t.depth[at])
	x.plane = iteration{of: 1}
	if q.plane != nil && at > 0 && t.depth[at-1].info == q.plane {
		x.plane = where(q.plane, t.depth[at-1])
	}
	x.inner = iteration{slot: x.row.slot, at: x.row.at, of: 1}
	if q.inner != nil {
		if x.inner = where(q.inner, t.depth[at+1]); x.inner.it != 0 || x.inner.of != rows {
			return x, false
		}
	}
	return x, true
}

// with is what a function is where a loop is in another iteration.
func (t *thread) with(x iteration, value int64, f func() int64) int64 {
	was := t.val[x.slot]
	t.val[x.slot] = uint64(value)
	defer func() { t.val[x.slot] = was }()
	return f()
}

// behind is the loops around by which instances of some rows follow each other; nil: it is not known.
func (l *nearLoop) behind(rows int64) *later {
	if rows > 1 {
		return l.laterRows
	}
	return l.later
}

// comesAgain finds which streams of an instance have elements that a later one has, too.
func (t *thread) comesAgain(l *nearLoop, g *se.Group, v, rows int64) {
	q := l.inCore.behind(rows)
	if q == nil {
		return
	}
	x, ok := t.position(q, l, v, rows)
	if !ok {
		return
	}
	g.Rows, g.Beside = x.row.of, [2]int64{q.beside[0].bytes, q.beside[1].bytes}
	for k := range l.streams {
		s := &l.streams[k]
		if s.where != nil || s.kind == se.Reduce || !slices.Contains(q.accesses, s.tm) {
			continue
		}
		at := func() int64 { return int64(t.elementAt(s.tm, l.info, v)) }
		written := func(k int) bool { return slices.Contains(q.beside[k].written, s.tm.array) }
		switch first := at(); {
		case !written(0) && x.row.it+1 < x.row.of && t.with(x.row, x.row.at+x.row.by, at) == first:
			g.Streams[k].Again = se.NextRow
		case !written(1) && x.plane.it+1 < x.plane.of && t.with(x.inner, x.inner.at+q.shift, func() int64 { return t.with(x.plane, x.plane.at+x.plane.by, at) }) == first:
			g.Streams[k].Again = se.NextPlane
		}
	}
}

// beyond is what instances behind that of n iterations in each of some rows, from the one whose
// variable is v on, access.
func (t *thread) beyond(l *nearLoop, n, v, rows int64) []se.Beyond {
	q := l.behind(rows)
	if q == nil {
		return nil
	}
	x, ok := t.position(q, l, v, rows)
	if !ok {
		return nil
	}
	inner, row, plane, with := x.inner, x.row, x.plane, t.with
	var list []se.Beyond
	for _, tm := range q.accesses {
		at := func() int64 { return int64(t.elementAt(tm, l.info, v)) }
		next := func() int64 { return with(row, row.at+row.by, at) }
		far := func() int64 { return int64(t.elementAt(tm, l.info, v+(n-1)*l.info.src.Stride())) }
		apart := with(inner, inner.at+inner.by, at) - at() // of rows
		end := inner.at                                    // the row that what the first one asks for ends with
		if max(apart, -apart) <= lineBytes {               // no line between them
			end += (inner.of - 1) * inner.by
		}
		for r := range min(inner.of, maxBeyond) {
			of := inner.at + r*inner.by
			first, last := with(inner, of, at), with(inner, of, far)
			if n > 1 && max(last-first, first-last)/(n-1) > lineBytes {
				break // not each line between them
			}
			low, high := min(first, last), max(first, last)
			if r == 0 {
				first, last := with(inner, end, at), with(inner, end, far)
				low, high = min(low, first, last), max(high, first, last)
			}
			b := se.Beyond{PC: tm.one.access.PC, Base: uint64(low), Bytes: uint64(high-low) + uint64(tm.bytes), At: row.it, Rows: row.of, Planes: plane.of - 1 - plane.it}
			if tm.s.Kind != stream.Load {
				b.PC, b.Write = tm.one.store.PC, true
			}
			b.Row = with(inner, of, next) - first
			if b.Planes > 0 {
				b.Plane = with(inner, of+q.shift, func() int64 { return with(plane, plane.at+plane.by, at) }) - first
			}
			if b.Row != 0 || b.Plane != 0 {
				list = append(list, b)
			}
			if end != inner.at || apart == 0 { // of all rows
				break
			}
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
	for k, b := range list {
		nth := 0 // of those of its access, one a row
		for _, y := range list[:k] {
			if y.PC == b.PC {
				nth++
			}
		}
		i := slices.IndexFunc(before, func(x se.Beyond) bool {
			if x.PC == b.PC {
				nth--
			}
			return x.PC == b.PC && nth < 0
		})
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
