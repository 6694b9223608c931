package cfront

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// streamer makes a stream graph of a nest, in the order of the program: elements
// that are read become loads, assignments to elements stores, or updates in place
// where they read what they write. A variable is an expression of these, and a
// reduction where a loop carries it from iteration to iteration.
type streamer struct {
	e     *emitter
	r     *region
	g     *stream.Graph
	out   []*[]stream.Stmt // statements of the open loops, outermost first
	loops []*loop
	env   map[*variable]*stream.Expr
	taken map[string]bool
	inits map[*variable]string // parameters that are read

	whole bool                    // a whole function
	many  bool                    // more loops are in the subscripts at hand than a pattern may have
	cache map[string]*stream.Expr // loads of the loop at hand whose elements have not been changed since
}

// stream emits a nest as stream nodes, one for each array that it writes and each
// variable that is used after it.
func (e *emitter) stream(n *nest, r *region) {
	loops := map[*loop]bool{}
	walkStmts([]stmt{n.stmt}, nil, func(s stmt, _ []*loop) {
		if l, ok := s.(*loop); ok {
			loops[l] = true
		}
	})
	for _, v := range e.k.vars {
		e.scope[v] = v.kind == localVar && v.scope != nil && loops[v.scope]
	}
	st := &streamer{
		e: e, r: r, env: map[*variable]*stream.Expr{}, taken: maps.Clone(e.k.taken), inits: map[*variable]string{},
		g: &stream.Graph{Name: e.k.name, Symbols: r.scope.Space},
	}
	st.out = []*[]stream.Stmt{&st.g.Body}
	s := n.stmt
	if a, ok := s.(*assign); ok {
		// A variable needs a loop that carries it.
		s = &loop{v: &variable{name: e.k.fixed("once"), kind: loopVar, typ: scalar.Int64}, lo: lattice.Const(0), hi: lattice.Const(1), step: 1, body: []stmt{a}, pos: a.pos}
	}
	st.loop(s.(*loop))
	written := map[string]bool{}
	st.g.Walk(func(_ []*stream.Loop, s *stream.Stream) {
		if s.Array != "" && st.g.Array(s.Array) == nil {
			a := r.scope.Arrays[r.scope.ArrayIndex(s.Array)]
			st.g.Arrays = append(st.g.Arrays, stream.Array{Name: a.Name, Type: a.Type, Size: a.Size})
		}
		if s.Kind == stream.Store || s.Kind == stream.RMW {
			written[s.Array] = true
		}
	})
	if l, ok := s.(*loop); ok {
		r.line = l.pos.Line
	}
	node := tdfg.Node{Kind: tdfg.Stream, Stream: &tdfg.StreamNode{Graph: st.g}}
	for _, v := range e.k.vars {
		if st.inits[v] == "" {
			continue
		}
		st.g.Params = append(st.g.Params, stream.Param{Name: v.name, Type: v.typ})
		if now, ok := r.scalars[v]; ok {
			if !r.everywhere(now) {
				panic(&refusal{why: "a stream uses variable " + v.name + " of a tensor", cut: true})
			}
			node.Args = append(node.Args, now.id)
			node.Stream.Args = append(node.Stream.Args, v.name)
		} else if v.kind == localVar {
			r.reads[v] = true
		}
	}
	for i := range st.g.Arrays {
		name := st.g.Arrays[i].Name
		r.apart(r.scope.ArrayIndex(name))
		list := r.pending[r.scope.ArrayIndex(name)]
		if len(list) == 0 {
			continue
		}
		if len(list) == 1 {
			r.materialise(r.scope.ArrayIndex(name))
			list = r.pending[r.scope.ArrayIndex(name)]
		}
		if len(list) > 1 {
			panic(&refusal{why: "a stream uses array " + name + " that was written in parts", cut: true})
		}
		node.Args = append(node.Args, list[0].id)
		node.Stream.Args = append(node.Stream.Args, name)
	}
	type result struct {
		array int
		v     *variable
		id    tdfg.NodeID
	}
	var results []result
	give := func(name string, t scalar.Type, array int, v *variable) {
		c := node
		s := *node.Stream
		s.Result = name
		c.Stream = &s
		c.Type = t
		results = append(results, result{array, v, r.add(c)})
	}
	for i, a := range r.scope.Arrays {
		if written[a.Name] {
			give(a.Name, a.Type, i, nil)
		}
	}
	for _, v := range e.k.vars {
		if x := st.env[v]; x != nil && !e.scope[v] && x.Kind == stream.RefExpr && x.Name != v.name {
			give(x.Name, v.typ, -1, v)
		}
	}
	for _, x := range results {
		if x.v != nil {
			r.scalars[x.v] = value{id: x.id}
		} else {
			r.store(x.array, r.scope.ArrayRect(x.array), value{id: x.id})
		}
	}
}

// fixed returns a name that is not one of the kernel's, always the same.
func (k *kernel) fixed(name string) string {
	for k.taken[name] {
		name += "."
	}
	return name
}

// name returns a name for a stream.
func (st *streamer) name(base string) string {
	u := base
	for n := 1; st.taken[u] || slices.Contains(reserved, u); n++ {
		u = fmt.Sprintf("%s.%d", base, n)
	}
	st.taken[u] = true
	return u
}

func (st *streamer) add(s stream.Stmt) {
	st.e.checkContext()
	list := st.out[len(st.out)-1]
	*list = append(*list, s)
}

// let gives an expression a name: its value then stays as it is now.
func (st *streamer) let(base string, x *stream.Expr, t scalar.Type) *stream.Expr {
	name := st.name(base)
	st.add(&stream.Stream{Name: name, Kind: stream.Reduce, Over: st.loops[len(st.loops)-1].v.name, Init: stream.Const(t, 0), Value: x})
	return stream.Ref(name)
}

// maxInline is the greatest expression that stands for a variable wherever that is
// used: chains of variables would double it with each.
const maxInline = 40

// size returns the number of operations of an expression when it is written out, at
// most a little more than maxInline.
func (st *streamer) size(x *stream.Expr) int {
	n := 1
	for _, a := range x.Args {
		if n += st.size(a); n > maxInline {
			break
		}
	}
	return n
}

// carriedBy lists the variables that a loop assigns and that outlive it.
func (st *streamer) carriedBy(l *loop) []*variable {
	inside := map[*loop]bool{l: true}
	assigned := map[*variable]bool{}
	walkStmts(l.body, nil, func(s stmt, _ []*loop) {
		switch s := s.(type) {
		case *loop:
			inside[s] = true
		case *assign:
			if s.target.kind == varExpr {
				assigned[s.target.v] = true
			}
		}
	})
	var list []*variable
	for _, v := range st.e.k.vars {
		if assigned[v] && (v.scope == nil || !inside[v.scope]) {
			list = append(list, v)
		}
	}
	return list
}

func (st *streamer) loop(l *loop) {
	bounds := lattice.Interval{Lo: l.lo, Hi: l.hi}
	if l.from != nil {
		var guard *stream.Expr
		if l.guard != nil {
			guard = st.expr(l.guard, nil, nil)
		}
		bounds = lattice.Interval{Lo: st.subscript(l.from, guard), Hi: st.subscript(l.to, guard)}
	}
	carried := st.carriedBy(l)
	if l.parallel != nil {
		for _, v := range carried {
			if l.reduces[v.source()] == scalar.NoOp {
				fail(l.pos, "variable %s goes from iteration to iteration of a parallel loop: expected reduction(+:%[1]s), or its declaration inside of the loop", v.source())
			}
		}
	}
	if st.whole { // what is loaded in front of the loop may change in it
		clear(st.cache)
		defer clear(st.cache)
	}
	reduces := make([]*stream.Stream, len(carried))
	for i, v := range carried {
		reduces[i] = &stream.Stream{Name: st.name(v.name), Kind: stream.Reduce, Over: l.v.name, Init: st.variable(v), Reassociate: l.simd[v.source()]}
		if l.parallel != nil {
			reduces[i].Combine = l.reduces[v.source()]
		}
		st.env[v] = stream.Ref(reduces[i].Name)
	}
	out := &stream.Loop{Var: l.v.name, Range: bounds, Step: l.step, Parallel: l.parallel}
	if l.while != nil {
		out.Range, out.Open = lattice.Interval{}, true
		for i, v := range carried {
			if v == l.while {
				out.While = stream.Ref(reduces[i].Name)
			}
		}
	}
	st.add(out)
	st.out, st.loops = append(st.out, &out.Body), append(st.loops, l)
	for _, s := range l.body {
		switch s := s.(type) {
		case *loop:
			st.loop(s)
		case *assign:
			st.assign(s)
		}
	}
	// All values are taken before any of the variables changes.
	if len(carried) > 1 {
		for _, v := range carried {
			if !st.whole && st.env[v].Kind != stream.RefExpr && st.env[v].Kind != stream.ConstExpr {
				st.env[v] = st.let(v.name, st.env[v], v.typ)
			}
		}
		for i, v := range carried {
			for j := range carried {
				if i != j && st.env[v].Uses(reduces[j].Name) {
					st.env[v] = st.let(v.name, st.env[v], v.typ)
					break
				}
			}
		}
	}
	for i, v := range carried {
		reduces[i].Value = st.env[v]
		st.add(reduces[i])
		st.env[v] = stream.Ref(reduces[i].Name)
	}
	st.out, st.loops = st.out[:len(st.out)-1], st.loops[:len(st.loops)-1]
	for v := range st.env {
		if v.scope == l {
			delete(st.env, v)
		}
	}
}

// variable returns the value of a variable now.
func (st *streamer) variable(v *variable) *stream.Expr {
	if x := st.env[v]; x != nil {
		return x
	}
	switch {
	case v.bound != nil:
		return stream.Int(v.typ, *v.bound)
	case v.kind == loopVar || v.symbol:
		return convertTo(v.typ, scalar.Int64, stream.Ref(v.name))
	case v.kind == localVar && st.e.scope[v]:
		return stream.Const(v.typ, 0) // it is assigned before it is used, if the C is right
	}
	st.inits[v] = v.name
	return stream.Ref(v.name)
}

func convertTo(t, from scalar.Type, x *stream.Expr) *stream.Expr {
	if t == from {
		return x
	}
	return stream.Convert(t, x)
}

// atomic makes an update in one of an assignment, and gives its value to a variable.
func (st *streamer) atomic(a *assign, guard *stream.Expr) {
	s := &stream.Stream{Name: st.name(a.target.array.name), Kind: stream.RMW, Array: a.target.array.name, If: guard, Old: a.old, Racy: true, At: st.at(a.target.pos)}
	s.Index = st.index(a.target, guard)
	s.Value = st.expr(a.value, guard, a.target)
	st.add(s)
	st.forget(s.Array)
	if a.result != nil {
		st.env[a.result] = stream.Ref(s.Name)
	}
}

// forget drops what has been loaded of an array.
func (st *streamer) forget(array string) {
	maps.DeleteFunc(st.cache, func(key string, _ *stream.Expr) bool { return strings.HasPrefix(key, array+" ") })
}

func (st *streamer) assign(a *assign) {
	guard := (*stream.Expr)(nil)
	if a.guard != nil {
		guard = st.expr(a.guard, nil, nil)
	}
	if a.atomic {
		st.atomic(a, guard)
		return
	}
	if a.target.kind == varExpr {
		x := st.expr(a.value, guard, nil)
		if guard != nil {
			x = stream.Apply(scalar.Select, guard, x, st.variable(a.target.v))
		}
		if st.size(x) > maxInline || st.whole && x.Kind >= stream.ApplyExpr && a.target.v.scope == st.loops[len(st.loops)-1] {
			x = st.let(a.target.v.name, x, a.target.typ)
		}
		st.env[a.target.v] = x
		return
	}
	s := &stream.Stream{Name: st.name(a.target.array.name), Kind: stream.Store, Array: a.target.array.name, If: guard, Racy: a.racy, At: st.at(a.target.pos)}
	s.Index = st.index(a.target, guard)
	if reads(a.value, a.target) {
		s.Kind = stream.RMW
		s.Value = st.expr(a.value, guard, a.target)
	} else {
		s.Value = st.expr(a.value, guard, nil)
	}
	st.add(s)
	st.forget(s.Array)
}

// at returns a place in the source as streams of whole functions have it.
func (st *streamer) at(p Pos) string {
	if !st.whole || p.Line == 0 {
		return ""
	}
	return p.place()
}

// reads reports whether x has the element target, and no other that is loaded under a
// condition, which may depend on target: an update in place has its element only
// when all is loaded.
func reads(x, target *expr) bool {
	found, simple := false, true
	x.walk(func(y *expr) {
		found = found || y.same(target)
		if y.conditional() {
			for _, a := range y.args[1:] {
				a.walk(func(z *expr) { simple = simple && (z.kind != elemExpr || z.same(target)) })
			}
		}
	})
	return found && simple
}

// index converts subscripts: affine in symbols, loops and integer values of streams.
func (st *streamer) index(x *expr, guard *stream.Expr) []lattice.Expr {
	list := make([]lattice.Expr, len(x.index))
	if st.whole {
		used := map[*loop]bool{}
		for _, s := range x.index {
			s.walk(func(y *expr) {
				for _, l := range st.loops {
					used[l] = used[l] || y.kind == varExpr && y.v == l.v
				}
			})
		}
		maps.DeleteFunc(used, func(_ *loop, is bool) bool { return !is })
		st.many = len(used) > stream.MaxDims
		defer func() { st.many = false }()
	}
	for i, s := range x.index {
		list[len(list)-1-i] = st.subscript(s, guard)
	}
	return list
}

func (st *streamer) subscript(x *expr, guard *stream.Expr) lattice.Expr {
	if e, ok := affine(x); ok && st.manyLoops(e) {
		return lattice.Sym(st.let("index", st.expr(convert(x, scalar.Int64), guard, nil), scalar.Int64).Name)
	} else if ok {
		return bind(st.e.k, e)
	}
	if x.kind == opExpr && x.typ.Int() && len(x.args) == 2 {
		switch x.op {
		case scalar.Add:
			return st.subscript(x.args[0], guard).Add(st.subscript(x.args[1], guard))
		case scalar.Sub:
			return st.subscript(x.args[0], guard).Sub(st.subscript(x.args[1], guard))
		case scalar.Mul:
			for i := range 2 {
				if k, ok := affine(x.args[i]); ok {
					if c, isConst := bind(st.e.k, k).Const(); isConst {
						return st.subscript(x.args[1-i], guard).Scale(c)
					}
				}
			}
		}
	}
	if x.kind == convertExpr && x.typ.Int() && x.args[0].typ.Int() && x.typ.Bits() >= x.args[0].typ.Bits() {
		return st.subscript(x.args[0], guard)
	}
	v := st.expr(x, guard, nil)
	if v.Kind != stream.RefExpr || st.g.Param(v.Name) != nil || st.isParam(v.Name) {
		v = st.let("index", v, x.typ)
	}
	return lattice.Sym(v.Name)
}

// manyLoops reports whether more loops are in a subscript than a pattern may have.
func (st *streamer) manyLoops(e lattice.Expr) bool {
	n := 0
	for _, l := range st.loops {
		if e.Coef(l.v.name) != 0 {
			n++
		}
	}
	return n > 1 && st.many
}

func (st *streamer) isParam(name string) bool {
	for v := range st.inits {
		if v.name == name {
			return true
		}
	}
	return false
}

// expr converts an expression. What it loads is loaded where the guard holds, if
// there is one. elem is the element that the stream at hand reads itself.
func (st *streamer) expr(x *expr, guard *stream.Expr, elem *expr) *stream.Expr {
	switch x.kind {
	case constExpr:
		return stream.Const(x.typ, x.value)
	case varExpr:
		return st.variable(x.v)
	case elemExpr:
		if elem != nil && x.same(elem) {
			return stream.Elem()
		}
		s := &stream.Stream{Kind: stream.Load, Array: x.array.name, If: guard, Racy: x.racy, Relaxed: x.relaxed, At: st.at(x.pos)}
		s.Index = st.index(x, guard)
		key := ""
		if st.whole && !x.racy {
			key = fmt.Sprint(s.Array, " ", s.Index, guard)
			if y := st.cache[key]; y != nil {
				return y
			}
		}
		s.Name = st.name(x.array.name)
		st.add(s)
		if key != "" {
			st.cache[key] = stream.Ref(s.Name)
		}
		return stream.Ref(s.Name)
	case convertExpr:
		return stream.Convert(x.typ, st.expr(x.args[0], guard, elem))
	case opExpr:
		args := make([]*stream.Expr, len(x.args))
		args[0] = st.expr(x.args[0], guard, elem)
		for i, a := range x.args[1:] {
			args[i+1] = st.expr(a, st.restrict(x, i+1, args[0], guard, a, elem != nil), elem)
		}
		return stream.Apply(x.op, args...)
	}
	fail(x.pos, "arithmetic of type double: expected constants of type float, such as 0.5f")
	return nil
}

// restrict returns the condition under which C evaluates an operand of x after the
// first; elem tells that the stream at hand reads an element itself.
func (st *streamer) restrict(x *expr, arg int, first, guard *stream.Expr, a *expr, elem bool) *stream.Expr {
	loads := x.conditional()
	if loads {
		loads = false
		a.walk(func(y *expr) { loads = loads || y.kind == elemExpr })
	}
	if loads && elem { // an atomic update has its element last
		first.Walk(func(y *stream.Expr) { loads = loads && y.Kind != stream.ElemExpr })
	}
	if !loads {
		return guard
	}
	cond := first
	if x.op == scalar.Or || arg == 2 {
		cond = stream.Apply(scalar.Not, first)
	}
	if guard != nil {
		cond = stream.Apply(scalar.And, guard, cond)
	}
	return cond
}

// streamScalars lists the scalars that a stream node reads by their names.
func streamScalars(s *tdfg.StreamNode) []string {
	var names []string
	for _, p := range s.Graph.Params {
		names = append(names, p.Name)
	}
	return names
}

// streamable reports whether the addresses of a nest vary with few enough loops.
func streamable(s stmt) bool {
	ok := true
	walkStmts([]stmt{s}, nil, func(s stmt, loops []*loop) {
		a, is := s.(*assign)
		if !is {
			return
		}
		for _, x := range []*expr{a.target, a.value, a.guard} {
			x.walk(func(y *expr) {
				if y.kind != elemExpr {
					return
				}
				n := 0
				for _, l := range loops {
					used := false
					for _, i := range y.index {
						i.walk(func(z *expr) { used = used || z.kind == varExpr && z.v == l.v })
					}
					if used {
						n++
					}
				}
				ok = ok && n <= stream.MaxDims
			})
		}
	})
	return ok
}
