package micro

import (
	"slices"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
)

// Affine streams are linear in the variables of up to three loops (section III.A), so that one
// configuration is for all rows of an array, and for those of several planes: the core goes from one
// to the next without a wait for what streams still write. Where a subscript is not linear, as that of a neighbour at the border,
// rows are cut into parts in which it is (index-set splitting).

// nest is the loop around an innermost one whose streams go on from row to row.
type nest struct {
	around *loopInfo
	slot   int32
	deps   []int // scalars of its body that subscripts follow from, in order
	outer  *nest // the loop around that, through whose iterations they go on, too; nil: none
}

// maxRows bounds the rows of a configuration, and so the work to find out whether they are linear.
const maxRows = 256

// nested finds the loop through whose iterations the streams of a loop may go on; nil if there is
// none: each row of theirs must be as long and begin the same, take the same values but for
// addresses, and write elements that no other access of any row takes. Streams that stay in the core
// only fetch lines, which stores make stale, so that what rows write does not matter to them.
func (p *Program) nested(near *nearLoop) *nest {
	l := near.info
	if p.opt.Streams.Rival != NoRival || p.opt.Streams.Rows || p.opt.Units.has(l.src) || !l.inner || l.guard != nil || len(l.body) == 0 || near.racy || len(near.atomics)+len(near.closures)+len(l.rowsInside) > 0 {
		return nil
	}
	all := p.graph.Loops(p.streams[l.body[0]].s)
	if len(all) < 2 || l.src.Parallel != nil {
		return nil
	}
	n := p.nestedIn(near, nil, all[len(all)-2:], false)
	if n == nil && len(near.streams) == 0 {
		return p.nestedIn(near, nil, all[len(all)-2:], true)
	}
	if n != nil && len(all) > 2 && all[len(all)-2].Parallel == nil && n.around.guard == nil && p.opt.Streams.Strands == 0 {
		n.outer = p.nestedIn(near, n, all[len(all)-3:], false)
	}
	return n
}

// nestedIn makes the nest of the first of some loops, the last of which has the streams; inner is that
// of the loops inside of it. Fetches says that streams only fetch lines.
func (p *Program) nestedIn(near *nearLoop, inner *nest, all []*stream.Loop, fetches bool) *nest {
	l, o := near.info, all[0]
	k := slices.IndexFunc(p.loops, func(x *loopInfo) bool { return x.src == o })
	if o.Open || o.While != nil || len(p.besides(o, all)) > 0 {
		return nil
	}
	n := &nest{around: p.loops[k], slot: p.names[o.Var]}
	changes := func(name string) bool { // from row to row
		slot := p.names[name]
		return name == o.Var || int(slot) < len(p.streams) && p.within(p.streams[slot], n.around)
	}
	for _, x := range all[1:] {
		if slices.ContainsFunc(append(x.Range.Lo.Symbols(), x.Range.Hi.Symbols()...), changes) {
			return nil
		}
	}
	var mine []*nearStream
	for _, list := range [][]nearStream{near.streams, near.ahead} {
		for i := range list {
			mine = append(mine, &list[i])
		}
	}
	for _, s := range mine {
		if s.where != nil || s.row != nil || s.task || s.kind == se.Reduce || s.tm.s.If != nil || s.value.varies(p, n.around) || s.cond.varies(p, n.around) {
			return nil
		}
		for _, x := range s.tm.s.Index {
			for _, name := range x.Symbols() {
				if !slices.ContainsFunc(all, func(x *stream.Loop) bool { return x.Var == name }) && changes(name) && !p.follows(n, inner, name) {
					return nil
				}
			}
		}
		if s.kind != se.Load && !fetches && !p.ownRows(s.tm.s, o, all) {
			return nil
		}
	}
	slices.Sort(n.deps)
	if fetches {
		return n
	}
	clash := false
	p.graph.Walk(func(in []*stream.Loop, x *stream.Stream) {
		if x.Array == "" || !slices.Contains(in, o) {
			return
		}
		own := in[len(in)-1] == l.src
		for _, s := range mine {
			m := s.tm.s
			if m == x || !p.together(m.Array, x.Array) || m.Kind == stream.Load && x.Kind == stream.Load || own && p.opt.Streams.Plan.Of(m) == p.opt.Streams.Plan.Of(x) {
				continue
			}
			clash = clash || own || !p.disjoint(m, x)
		}
	})
	if clash {
		return nil
	}
	return n
}

// besides are the accesses in loops inside of one that are none of some.
func (p *Program) besides(o *stream.Loop, all []*stream.Loop) (list []*template) {
	for _, x := range p.loops {
		if len(x.body) == 0 || slices.Contains(all, x.src) || !slices.Contains(p.graph.Loops(p.streams[x.body[0]].s), o) {
			continue
		}
		for _, i := range x.body {
			if p.streams[i].array >= 0 {
				list = append(list, p.streams[i])
			}
		}
	}
	return list
}

// varies reports whether a computation takes what changes from row to row.
func (x *term) varies(p *Program, o *loopInfo) bool {
	if x == nil {
		return false
	}
	if x.kind == slotTerm && (x.slot == p.names[o.src.Var] || int(x.slot) < len(p.streams) && p.within(p.streams[x.slot], o) && !p.fixedIn(p.streams[x.slot], o)) {
		return true
	}
	return slices.ContainsFunc(x.args, func(y *term) bool { return y.varies(p, o) })
}

// fixedIn reports whether a load finds the same in all iterations of a loop around its own.
func (p *Program) fixedIn(u *template, o *loopInfo) bool {
	if !u.hoisted {
		return false
	}
	for _, x := range u.s.Index {
		for _, name := range x.Symbols() {
			if slot := p.names[name]; name == o.src.Var || int(slot) < len(p.streams) && p.within(p.streams[slot], o) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(p.streams, func(t *template) bool {
		return t.array >= 0 && t.s.Kind != stream.Load && p.within(t, o) && p.together(t.s.Array, u.s.Array)
	})
}

// follows adds a scalar, and those that it follows from, to those of a nest, but for those of the loop
// inside of it; false if it follows from memory, or from iterations before.
func (p *Program) follows(n, inner *nest, name string) bool {
	slot := int(p.names[name])
	if slot >= len(p.streams) || !p.within(p.streams[slot], n.around) {
		return true
	}
	if slices.Contains(n.deps, slot) {
		return true
	}
	t := p.streams[slot]
	inside := inner != nil && slices.Contains(inner.deps, slot)
	if t.s.Kind != stream.Reduce || t.s.Array != "" || t.carried || t.s.If != nil || t.s.Value == nil || t.one.value == nil || !inside && !slices.Contains(n.around.body, slot) {
		return false
	}
	ok := true
	t.s.Value.Walk(func(x *stream.Expr) {
		ok = ok && (x.Kind != stream.RefExpr || p.follows(n, inner, x.Name)) && x.Kind != stream.ElemExpr
	})
	if !inside {
		n.deps = append(n.deps, slot)
	}
	return ok
}

// disjoint reports whether two accesses never have an element in common, since a subscript of
// theirs has no value in common, and whether the range of the first, which a stream makes, has
// no other bytes: its elements lie side by side.
func (p *Program) disjoint(m, x *stream.Stream) bool {
	plan := p.opt.Streams.Plan.Of(m)
	tm := p.streams[p.names[m.Name]]
	a := &p.arrays[tm.array]
	loops := p.graph.Loops(m)
	if plan == nil || plan.Address != nearstream.Affine || m.Array != x.Array || a.inner != 0 || a.stride != uint64(tm.bytes) || len(loops) == 0 {
		return false
	}
	if c := m.Index[0].Coef(loops[len(loops)-1].Var) * loops[len(loops)-1].Stride(); c != 1 && c != -1 {
		return false
	}
	for d := range m.Index {
		low, high, ok := p.subscript(m, d)
		from, to, also := p.subscript(x, d)
		if ok && also && (high < from || to < low) {
			return true
		}
	}
	return false
}

// subscript is the least and the greatest value of a subscript.
func (p *Program) subscript(s *stream.Stream, d int) (low, high int64, ok bool) {
	low = s.Index[d].Offset()
	high = low
	for _, name := range s.Index[d].Symbols() {
		from, to := int64(0), int64(0)
		if v, param := p.args.Symbols[name]; param {
			from, to = v, v
		} else {
			loops := p.graph.Loops(s)
			k := slices.IndexFunc(loops, func(l *stream.Loop) bool { return l.Var == name })
			if k < 0 || loops[k].Open {
				return 0, 0, false
			}
			var err error
			bound := func(x lattice.Expr) (v int64) {
				if err == nil {
					v, err = x.Eval(p.args.Symbols)
				}
				return v
			}
			from, to = bound(loops[k].Range.Lo), bound(loops[k].Range.Hi)-1
			if err != nil || to < from {
				return 0, 0, false
			}
		}
		c := s.Index[d].Coef(name)
		low, high = low+min(c*from, c*to), high+max(c*from, c*to)
	}
	return low, high, true
}

// through is the rows that streams go through: so many in all, so many in each plane.
type through struct {
	rows, plane int64
	row         map[*nearStream]int64 // bytes from one to the next
	planes      map[*nearStream]int64 // and from one plane to the next
}

// rows returns through how many rows, from the one at hand on, the addresses of all streams are
// linear, and how far apart they are. v is the variable of the loop where it begins.
func (t *thread) rows(l *nearLoop, v int64) through {
	q := l.nest
	x := through{rows: 1}
	if q == nil || len(t.depth) < 2 || t.depth[len(t.depth)-2].info != q.around {
		return x
	}
	o := t.depth[len(t.depth)-2]
	at := t.number(q.around.src.Var, q.around, int64(t.val[q.slot]))
	begin := (at - t.firstOf(q.around)) / q.around.src.Stride()
	var mine []*nearStream
	for _, list := range [][]nearStream{l.streams, l.ahead} {
		for i := range list {
			mine = append(mine, &list[i])
		}
	}
	values, all := slices.Clone(t.val), []*nest{q}
	if q.outer != nil {
		all = append(all, q.outer)
	}
	// go to a row: slots have what they have there.
	to := func(n *nest, at int64) {
		t.val[n.slot] = uint64(at)
		for _, i := range n.deps {
			t.val[i] = t.eval(t.p.streams[i].one.value)
		}
	}
	base := make([]int64, len(mine))
	for k, s := range mine {
		base[k] = int64(t.elementAt(s.tm, l.info, v))
	}
	x.row, x.plane = map[*nearStream]int64{}, 0
	linear := func(plane, row int64) bool { // the first ones say how far apart
		ok := true
		for k, s := range mine {
			apart := int64(t.elementAt(s.tm, l.info, v)) - base[k]
			switch {
			case plane == 0 && row == 1:
				x.row[s] = apart
			case plane == 1 && row == 0:
				x.planes[s] = apart
			}
			ok = ok && apart == row*x.row[s]+plane*x.planes[s]
		}
		return ok
	}
	left := min(maxRows, o.end-begin)
	for ; x.rows < left; x.rows++ {
		to(q, at+x.rows*q.around.src.Stride())
		if !linear(0, x.rows) {
			break
		}
	}
	restore := func() {
		for _, n := range all {
			t.val[n.slot] = values[n.slot]
			for _, i := range n.deps {
				t.val[i] = values[i]
			}
		}
	}
	defer restore()
	if q.outer == nil || begin > 0 || x.rows < o.end || len(t.depth) < 3 || t.depth[len(t.depth)-3].info != q.outer.around {
		return x
	}
	restore()
	around := t.depth[len(t.depth)-3]
	src := q.outer.around.src
	first := t.number(src.Var, q.outer.around, int64(t.val[q.outer.slot]))
	planes, most := int64(1), min(maxRows/x.rows, around.end-(first-t.firstOf(q.outer.around))/src.Stride())
	x.planes = map[*nearStream]int64{}
	for ok := true; ok && planes < most; {
		to(q.outer, first+planes*src.Stride())
		for row := int64(0); row < x.rows && ok; row++ {
			to(q, at+row*q.around.src.Stride())
			ok = linear(planes, row)
		}
		if ok {
			planes++
		}
	}
	if planes > 1 {
		x.plane, x.rows = x.rows, x.rows*planes
	}
	return x
}

// firstOf is the variable of a loop in its first iteration.
func (t *thread) firstOf(l *loopInfo) int64 {
	lo := l.src.Range.Lo
	if l.src.Stride() < 0 {
		lo = l.src.Range.Hi.Plus(-1)
	}
	v := lo.Offset()
	for _, name := range lo.Symbols() {
		v += lo.Coef(name) * t.number(name, l, 0)
	}
	return v
}

// inRows is a computation of streams that go on from row to row: in each its variable begins
// again.
type inRows struct {
	se.Function
	row int64
}

// Eval implements se.Function.
func (f inRows) Eval(own uint64, in []uint64, iteration int64) (v uint64, ok bool) {
	return f.Function.Eval(own, in, iteration%f.row)
}
