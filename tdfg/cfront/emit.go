package cfront

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// emitter makes a program of a plan.
type emitter struct {
	*planner
	layout   *layout
	program  *tdfg.Program
	arrays   map[*array]int // in those of graphs
	inGraphs []*tdfg.Array  // arrays of the program, and views
	params   []tdfg.Param
	regions  []*region
	graphs   []*tdfg.Region // of the regions
	open     *region
	of       int // of the function that the nest at hand is in, see Pos

	// Of the nest at hand.
	nest   *nest
	scope  map[*variable]bool         // variables that are declared in it
	inside map[*loop]lattice.Interval // the part of its loops that a piece of a statement is for

	// maybe counts the conditions under which C evaluates the expression at hand: what
	// is read then may be outside of its array where they do not hold.
	maybe int
}

// retry starts the emission again, with another plan.
type retry struct{}

// emit returns the statements of the host for items.
func (e *emitter) emit(items []item, hosts []*loop) []tdfg.Stmt {
	var body []tdfg.Stmt
	for _, it := range items {
		if it.host != nil {
			e.open = nil
			l := it.host
			inner := e.emit(it.body, append(slices.Clip(hosts), l))
			e.open = nil
			body = append(body, &tdfg.Loop{Var: l.v.name, Lo: l.lo, Hi: l.hi, Step: l.step, Body: inner})
			continue
		}
		if part := placeOf(it.nest.stmt).part; part != e.of {
			e.open, e.of = nil, part // other statements are between
		}
		if e.open != nil && !e.try(it.nest, e.open) {
			e.open = nil
		}
		if e.open == nil {
			r := e.newRegion(hosts)
			if !e.try(it.nest, r) {
				panic(retry{})
			}
			e.open = r
			e.regions = append(e.regions, r)
			g := &tdfg.Region{}
			e.graphs = append(e.graphs, g)
			body = append(body, g)
		}
		e.places(it.nest)
	}
	return body
}

// places notes which elements of the source the region at hand is made of.
func (e *emitter) places(n *nest) {
	at := &e.graphs[len(e.graphs)-1].At
	note := func(x *expr) {
		if s := x.pos.place(); x.kind == elemExpr && x.pos.Line > 0 && !slices.Contains(*at, s) {
			*at = append(*at, s)
		}
	}
	walkStmts([]stmt{n.stmt}, nil, func(s stmt, _ []*loop) {
		if a, ok := s.(*assign); ok {
			for _, x := range []*expr{a.target, a.value, a.guard} {
				if x != nil {
					x.walk(note)
				}
			}
		}
	})
}

func (e *emitter) newRegion(hosts []*loop) *region {
	return &region{
		e: e, hosts: hosts, known: map[string]tdfg.NodeID{}, pending: map[int][]write{}, scalars: map[*variable]value{}, reads: map[*variable]bool{},
		scope: tdfg.Scope{Dims: e.dims, Space: e.space(hosts), Arrays: e.inGraphs, Params: e.params},
	}
}

// try emits a nest into a region. It reports false, with the region as it was, where
// the region does not do; where none does, the statement is refused.
func (e *emitter) try(n *nest, r *region) (ok bool) {
	undo := r.snapshot()
	fresh := r.empty()
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		f, is := x.(*refusal)
		if !is {
			panic(x)
		}
		undo()
		if fresh || !f.cut {
			if n.stream {
				fail(placeOf(n.stmt), "%s", f.why)
			}
			e.refused[n.stmt] = f.why
			panic(retry{})
		}
		ok = false
	}()
	e.nest, e.scope, e.maybe, e.ownIota = n, map[*variable]bool{}, 0, n.ownIota
	for _, v := range e.k.vars {
		e.scope[v] = v.kind == localVar && slices.Contains(n.loops, v.scope)
	}
	if n.stream {
		e.stream(n, r)
	} else {
		e.stmts([]stmt{n.stmt}, nil, r)
	}
	for _, v := range e.k.vars {
		if e.scope[v] {
			delete(r.scalars, v)
		}
	}
	return true
}

func placeOf(s stmt) Pos {
	switch s := s.(type) {
	case *loop:
		return s.pos
	case *assign:
		return s.pos
	}
	return Pos{}
}

func (e *emitter) stmts(body []stmt, loops []*loop, r *region) {
	for _, s := range body {
		switch s := s.(type) {
		case *loop:
			e.stmts(s.body, append(slices.Clip(loops), s), r)
		case *assign:
			e.assign(s, loops, r)
		}
	}
}

// iterations returns the iterations of a loop that a statement is for.
func (e *emitter) iterations(l *loop) lattice.Interval {
	if at, ok := e.inside[l]; ok {
		return at
	}
	return lattice.Interval{Lo: l.lo, Hi: l.hi}
}

// interval returns where the iterations of a loop lie.
func (e *emitter) interval(l *loop) lattice.Interval {
	return e.iterations(l).Shift(e.nest.offset[l])
}

func (e *emitter) assign(a *assign, loops []*loop, r *region) {
	r.line = a.pos.Line
	for _, pc := range e.nest.pieces[a] {
		e.inside = pc.within
		e.piece(pc.assign, loops, r)
	}
	e.inside = nil
}

func (e *emitter) piece(a *assign, loops []*loop, r *region) {
	red, ok := e.nest.reduce[a]
	if ok && len(red.loops) > 0 {
		e.reduction(a, red, loops, r)
		return
	}
	if a.guard == nil {
		e.write(a.target, e.expr(a.value, r), loops, r)
		return
	}
	guard := e.expr(a.guard, r)
	e.maybe++
	v := r.compute(scalar.Select, guard, e.expr(a.value, r), e.old(a.target, r))
	e.write(a.target, v, loops, r)
	e.maybe--
}

// old returns the value of a target before a statement; that of a variable that has
// none is 0.
func (e *emitter) old(target *expr, r *region) value {
	if target.kind == varExpr {
		if v, ok := r.scalars[target.v]; ok {
			return e.part(v, r)
		}
		if e.scope[target.v] {
			return r.constant(target.typ, 0)
		}
	}
	return e.expr(target, r)
}

// reduction emits target = op(target, value) over loops.
func (e *emitter) reduction(a *assign, red reduction, loops []*loop, r *region) {
	if a.guard != nil {
		e.maybe++
		defer func() { e.maybe-- }()
	}
	v := e.expr(red.value, r)
	if a.guard != nil {
		id, _ := red.op.Identity(a.target.typ)
		v = r.compute(scalar.Select, e.expr(a.guard, r), v, r.constant(a.target.typ, id))
	}
	if r.everywhere(v) {
		refuse("a reduction of a value that is the same everywhere")
	}
	for i := len(red.loops) - 1; i >= 0; i-- {
		l := red.loops[i]
		d := e.layout.dims[l]
		if at := e.iterations(l); !r.scope.Space.LessEqual(at.Lo.Plus(1), at.Hi) {
			e.require(at.Hi.Sub(at.Lo).Plus(-1))
			refuse("a reduction over a loop that may have no iteration")
		}
		if v.along[d] == nil {
			v = r.broadcast(v, d, e.interval(l), l)
		}
		p := r.add(tdfg.Node{Kind: tdfg.Reduce, Op: red.op, Args: []tdfg.NodeID{v.id}, Dim: d})
		v.id = r.add(tdfg.Node{Kind: tdfg.Final, Op: red.op, Args: []tdfg.NodeID{p}, Dim: d})
		v.along[d] = nil
	}
	old := e.old(a.target, r)
	if !isIdentity(r, old, red.op, a.target.typ) {
		v = r.compute(red.op, old, v)
	}
	e.write(a.target, v, loops, r)
}

// isIdentity reports whether a value is a constant that an operation leaves others
// as they are with.
func isIdentity(r *region, v value, op scalar.Op, t scalar.Type) bool {
	n := r.nodes[v.id]
	id, ok := op.Identity(t)
	return ok && n.Kind == tdfg.Const && n.Param == "" && n.Index == nil && n.Value == id
}

// rect returns the part of an array, or of a view, that an element is over the loops of the
// nest, and which loop lies along each dimension.
func (e *emitter) rect(x *expr) (a *array, rect lattice.Rect, along [tdfg.MaxDims]*loop) {
	rect = make(lattice.Rect, e.dims)
	for d := range rect {
		rect[d] = lattice.Upto(lattice.Const(1))
	}
	s, why := e.seat(x, e.nest.loops, e.nest.hosts)
	if why != "" {
		refuse("%s", why)
	}
	if _, ok := e.arrays[s.array]; !ok {
		refuse("%s has no place in the lattice", s.array.name)
	}
	axes := e.layout.axes[s.array]
	for i, at := range s.at {
		d := axes[len(axes)-1-i]
		rect[d] = lattice.At(at)
		if l := s.along[i]; l != nil {
			rect[d] = e.iterations(l).Shift(at.Sub(lattice.Sym(l.v.name)))
			along[d] = l
		}
	}
	return s.array, rect, along
}

func (e *emitter) write(target *expr, v value, loops []*loop, r *region) {
	if target.kind == varExpr {
		if !e.scope[target.v] && v.along != ([tdfg.MaxDims]*loop{}) {
			refuse("variable %s would have many values", target.v.name)
		}
		r.scalars[target.v] = v
		return
	}
	a, rect, along := e.rect(target)
	if !r.everywhere(v) {
		for d := range rect {
			switch {
			case along[d] != nil && v.along[d] == nil:
				v = r.broadcast(v, d, rect[d], along[d])
			case along[d] != v.along[d]:
				refuse("%s would have many values", target.array.name)
			default:
				v = r.move(v, d, rect[d].Lo)
			}
		}
	}
	e.within(target, a, rect, r)
	r.store(e.arrays[a], rect, v)
}

// within refuses a part that may lie outside of its array. If greater sizes would
// keep it inside, they become the least ones.
func (e *emitter) within(x *expr, a *array, rect lattice.Rect, r *region) {
	all := r.scope.ArrayRect(e.arrays[a])
	s := r.scope.Space
	if s.Contains(all, rect) {
		return
	}
	if e.maybe > 0 {
		refuse("%s of %s may be outside of it where a condition does not hold", rect, x.array.name)
	}
	for d := range rect {
		for _, y := range []lattice.Expr{rect[d].Lo, all[d].Hi.Sub(rect[d].Hi)} {
			if !s.LessEqual(lattice.Const(0), y) {
				e.require(y)
				fail(x.pos, "cannot tell whether %s of %s, which has %s, is inside for all sizes: bind sizes with -D NAME=VALUE, or write bounds in terms of the sizes of the array",
					rect[d], x.array.name, all[d])
			}
		}
	}
}

func (e *emitter) expr(x *expr, r *region) value {
	if x.pos.Line > 0 {
		defer func(line int) { r.line = line }(r.line)
		r.line = x.pos.Line
	}
	switch x.kind {
	case constExpr:
		return r.constant(x.typ, x.value)
	case varExpr:
		return e.variable(x, r)
	case elemExpr:
		return e.element(x, r)
	case convertExpr:
		return r.convert(e.expr(x.args[0], r), x.typ)
	case opExpr:
		if v, ok := e.narrow(x, r); ok {
			return v
		}
		args := make([]value, len(x.args))
		args[0] = e.expr(x.args[0], r)
		if x.conditional() {
			e.maybe++
		}
		for i, a := range x.args[1:] {
			args[i+1] = e.expr(a, r)
		}
		if x.conditional() {
			e.maybe--
		}
		return r.compute(x.op, args...)
	}
	fail(x.pos, "arithmetic of type double: expected constants of type float, such as 0.5f")
	return value{}
}

// element returns the elements that an expression is, or the numbers of iterations.
func (e *emitter) element(x *expr, r *region) value {
	a, rect, along := e.rect(x)
	e.within(x, a, rect, r)
	v := value{id: r.read(e.arrays[a], rect)}
	if r.everywhere(v) {
		return v
	}
	v.along = along
	for d, l := range along {
		if l != nil {
			v = r.move(v, d, e.interval(l).Lo)
		}
	}
	return v
}

func (e *emitter) variable(x *expr, r *region) value {
	v := x.v
	if v.kind == loopVar && slices.ContainsFunc(e.nest.loops, func(l *loop) bool { return l.v == v }) {
		return r.convert(e.element(x, r), x.typ)
	}
	if s, ok := r.scalars[v]; ok {
		return e.part(s, r)
	}
	switch {
	case v.bound != nil:
		return r.constant(x.typ, scalar.FromInt(x.typ, *v.bound))
	case v.kind == loopVar || v.symbol:
		index := lattice.Sym(v.name)
		return value{id: r.add(tdfg.Node{Kind: tdfg.Const, Index: &index, Facts: tdfg.Facts{Type: x.typ}})}
	case v.kind == localVar && e.scope[v]:
		fail(x.pos, "%s has no value yet", v.name)
	case v.kind == localVar:
		r.reads[v] = true
	}
	return value{id: r.add(tdfg.Node{Kind: tdfg.Const, Param: v.name})}
}

// part returns the part of a value in which a piece of a statement is.
func (e *emitter) part(v value, r *region) value {
	for d, l := range v.along {
		if l == nil || e.inside == nil {
			continue
		}
		if at := e.interval(l); !r.domain(v.id)[d].Equal(at) {
			v.id = r.add(tdfg.Node{Kind: tdfg.Shrink, Args: []tdfg.NodeID{v.id}, Dim: d, Range: at})
		}
	}
	return v
}

// require makes an expression of one size at least 0, by the least value of that
// size, and starts again.
func (e *emitter) require(x lattice.Expr) {
	if e.enlarge(x) {
		panic(retry{})
	}
}

// finish makes the graphs of all regions.
func (e *emitter) finish() error {
	wanted := map[*variable]bool{}
	for _, r := range e.regions {
		for v := range r.reads {
			wanted[v] = true
		}
	}
	for i, r := range e.regions {
		name := e.k.name
		if len(e.regions) > 1 {
			name = fmt.Sprintf("%s.%d", e.k.name, i+1)
		}
		g, err := r.finish(name, wanted)
		if err != nil {
			return err
		}
		e.graphs[i].Graph = g
	}
	return nil
}
