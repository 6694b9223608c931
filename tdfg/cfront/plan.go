package cfront

import (
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// item is a part of the program: a loop of the host, or a nest.
type item struct {
	host *loop // nil for a nest
	body []item
	nest *nest
}

// nest is a statement, usually a nest of loops, that becomes nodes of a graph.
type nest struct {
	stmt  stmt
	hosts []*loop

	// stream says that it is executed as a stream, in the order of the program. What
	// follows is of tensors only.
	stream  bool
	loops   []*loop // those that become dimensions of the lattice
	demands []demand
	arrays  []*array              // where its elements lie
	ownIota bool                  // see planner
	chains  [][]*loop             // loops around each statement, outermost first
	pieces  map[*assign][]piece   // of statements with conditions on indices
	reduce  map[*assign]reduction // statements, or pieces of them, that reduce
	offset  map[*loop]lattice.Expr
}

// demand says that a dimension of an array, numbered as in C, lies along a loop.
type demand struct {
	array *array
	dim   int
	loop  *loop
}

// reduction is an assignment target = op(target, value) over loops that the target
// does not depend on.
type reduction struct {
	op    scalar.Op
	value *expr
	loops []*loop // innermost last; none, where every iteration has a target of its own
}

// planner decides which loops become what.
type planner struct {
	ctx       context.Context
	k         *kernel
	dims      int
	sizes     *lattice.Space
	refused   map[stmt]string // why a statement does not become tensors
	pieces    map[*loop][]stmt
	mirrors   map[*loop]*loop
	swapped   map[*loop]*loop
	unblocked map[*loop][]stmt
	nests     []*nest                 // of tensors, so far
	views     []*array                // that nests have asked for, and numbers of iterations
	ownIota   bool                    // each loop has numbers of its own, not those of its name
	enlarge   func(lattice.Expr) bool // a size, if that makes an expression of it no longer negative
}

// canceled ends the compilation with the context's error.
type canceled struct{ error }

func (p *planner) checkContext() {
	if err := p.ctx.Err(); err != nil {
		panic(canceled{err})
	}
}

// plan decides what becomes of statements. A loop becomes the outermost dimension of
// a nest of tensors if it can. Else it is taken apart, or it becomes a loop of the
// host if something in it becomes tensors, or a stream.
func (p *planner) plan(body []stmt, hosts []*loop) []item {
	var items []item
	for _, s := range p.unblock(body, hosts) {
		items = append(items, p.planStmt(s, hosts)...)
	}
	return items
}

func (p *planner) planStmt(s stmt, hosts []*loop) []item {
	if p.refused[s] == "" {
		n, why := p.fit(s, hosts)
		if n != nil {
			return []item{{nest: n}}
		}
		p.refused[s] = why
	}
	l, ok := s.(*loop)
	if !ok {
		return []item{{nest: &nest{stmt: s, hosts: hosts, stream: true}}}
	}
	mark := len(p.nests)
	if pieces := p.distribute(l, hosts); len(pieces) > 1 {
		for _, piece := range pieces {
			adopt(l, piece.(*loop))
		}
		items := p.plan(pieces, hosts)
		if anyTensors(items) {
			return items
		}
		p.nests = p.nests[:mark]
		if len(hosts) == 0 && streamable(l) {
			return items // streams of their own, each with one result
		}
		for _, piece := range pieces {
			adopt(piece.(*loop), l)
		}
	}
	host := l
	if l.step < 0 {
		if p.mirrors[l] == nil {
			p.mirrors[l] = mirror(p.k, l)
		}
		host = p.mirrors[l]
	}
	items := p.plan(host.body, append(slices.Clip(hosts), host))
	if turned := p.interchange(l, hosts, mark, max(1, deepest(items))); turned != nil {
		return turned
	}
	if anyTensors(items) || !streamable(l) {
		return []item{{host: host, body: items}}
	}
	p.nests = p.nests[:mark]
	return []item{{nest: &nest{stmt: s, hosts: hosts, stream: true}}}
}

// fit returns a statement as a nest of tensors for which there is a place beside the others,
// or why it is none.
func (p *planner) fit(s stmt, hosts []*loop) (*nest, string) {
	p.ownIota = false
	for {
		n, why := p.analyse(s, hosts)
		if why != "" {
			return nil, why
		}
		p.nests = append(p.nests, n)
		if solve(p.placed(p.nests), p.dims, p.nests) != nil {
			return n, ""
		}
		p.nests = p.nests[:len(p.nests)-1]
		if p.ownIota || !slices.ContainsFunc(n.arrays, func(a *array) bool { return a.view != nil && a.view.Iota }) {
			return nil, "the arrays would have to lie in other dimensions than elsewhere"
		}
		p.ownIota = true
	}
}

// anyTensors reports whether there are nests of tensors with more than a point.
func anyTensors(items []item) bool {
	for _, i := range items {
		if i.nest != nil && !i.nest.stream && len(i.nest.loops) > 0 || anyTensors(i.body) {
			return true
		}
	}
	return false
}

// space returns the space of the sizes and the variables of loops.
func (p *planner) space(loops []*loop) *lattice.Space {
	s := p.sizes.Clone()
	for _, l := range loops {
		declare(s, l, l.v.name, func(e lattice.Expr) lattice.Expr { return e })
	}
	return s
}

// analyse returns the statement as a nest of tensors, or why it cannot become one.
func (p *planner) analyse(s stmt, hosts []*loop) (*nest, string) {
	n := &nest{stmt: s, hosts: hosts, ownIota: p.ownIota, pieces: map[*assign][]piece{}, reduce: map[*assign]reduction{}, offset: map[*loop]lattice.Expr{}}
	why := ""
	refuse := func(format string, args ...any) {
		if why == "" {
			why = fmt.Sprintf(format, args...)
		}
	}
	var assigns []*assign
	inside := map[*loop]bool{}
	walkStmts([]stmt{s}, nil, func(s stmt, loops []*loop) {
		switch s := s.(type) {
		case *loop:
			n.loops = append(n.loops, s)
			inside[s] = true
			switch {
			case s.step != 1 && s.step != -1:
				refuse("loop %s has step %d", s.v.source(), s.step)
			case len(loops)+1 > p.dims:
				refuse("more loops than dimensions")
			case usesLoops(s.lo, loops) || usesLoops(s.hi, loops):
				refuse("loop %s has bounds that vary", s.v.source())
			}
		case *assign:
			assigns = append(assigns, s)
			n.chains = append(n.chains, slices.Clone(loops))
		}
	})
	if why != "" {
		return nil, why
	}
	whole, chains := assigns, n.chains
	assigns, n.chains = nil, nil
	for i, a := range whole {
		pieces, bad := p.cut(a, chains[i], hosts)
		if bad != "" {
			refuse("%s", bad)
		}
		n.pieces[a] = pieces
		for _, pc := range pieces {
			assigns, n.chains = append(assigns, pc.assign), append(n.chains, chains[i])
			if _, is := p.reduction(pc.assign, chains[i]); pc.within != nil && !is && a.target.kind == varExpr {
				refuse("variable %s has a value in a part of the loops only", a.target.v.source())
			}
		}
	}
	var list []access
	for i, a := range assigns {
		chain := n.chains[i]
		r, is := p.reduction(a, chain)
		if is {
			n.reduce[a] = r
		}
		if a.target.kind == varExpr && !is && len(outliving(a.target.v, chain)) > 0 {
			refuse("variable %s goes from iteration to iteration", a.target.v.source())
		}
		list = append(list, accesses(a, chain, i, r.op)...)
		for _, x := range []*expr{a.target, a.value, a.guard} {
			p.demands(n, x, refuse)
		}
		if a.target.kind == elemExpr {
			if s, bad := p.seat(a.target, n.loops, hosts); bad == "" && s.array.of != nil && !s.array.distinct {
				refuse("%s has an element in several iterations", a.target.array.name)
			}
		}
	}
	if why != "" {
		return nil, why
	}
	p.checkScalars(n, assigns, refuse)
	space := p.space(hosts)
	for i := range list {
		p.checkContext()
		for j := range list {
			a, b := list[i], list[j]
			if a.array != b.array || !a.write && !b.write || a.at < b.at || a.at == b.at && !a.write {
				continue
			}
			if a.reduce != scalar.NoOp && a.reduce == b.reduce {
				continue
			}
			if carried(space, a, b) {
				refuse("%s goes from iteration to iteration", a.array.name)
			}
		}
	}
	if why == "" {
		p.offsets(n, assigns)
	}
	return n, why
}

// outliving returns the loops of a chain that a variable outlives.
func outliving(v *variable, chain []*loop) []*loop {
	i := slices.Index(chain, v.scope)
	return chain[i+1:]
}

// reduction recognises target = op(target, value), where the order does not matter.
func (p *planner) reduction(a *assign, chain []*loop) (r reduction, ok bool) {
	t := a.target
	x := a.value
	if x.kind != opExpr || len(x.args) != 2 {
		return r, false
	}
	op := x.op
	var value *expr
	switch {
	case op.Commutative() && !op.Compares() && x.args[0].same(t):
		value = x.args[1]
	case op.Commutative() && !op.Compares() && x.args[1].same(t):
		value = x.args[0]
	case op == scalar.Sub && x.args[0].same(t):
		op = scalar.Add
		value = &expr{kind: opExpr, typ: x.typ, pos: x.pos, op: scalar.Neg, args: []*expr{x.args[1]}}
	default:
		return r, false
	}
	if !op.Associative(t.typ) && !p.k.reassociate || value.uses(t) || a.guard != nil && a.guard.uses(t) {
		return r, false
	}
	if _, has := op.Identity(t.typ); a.guard != nil && !has {
		return r, false
	}
	r = reduction{op: op, value: value}
	if t.kind == varExpr {
		r.loops = outliving(t.v, chain)
		return r, true
	}
	index := subscripts(t)
	if index == nil {
		return r, false
	}
	for _, l := range chain {
		if !slices.ContainsFunc(index, func(e lattice.Expr) bool { return e.Coef(l.v.name) != 0 }) {
			r.loops = append(r.loops, l)
		}
	}
	return r, true
}

// demands collects what the elements of an expression demand of the axes of arrays,
// and refuses what no tensor has.
func (p *planner) demands(n *nest, x *expr, refuse func(string, ...any)) {
	var data func(x *expr)
	data = func(x *expr) {
		switch {
		case x == nil:
		case x.kind == varExpr && slices.ContainsFunc(n.loops, func(l *loop) bool { return l.v == x.v }):
			s, why := p.seat(x, n.loops, n.hosts)
			if why != "" {
				refuse("%s", why)
				return
			}
			n.need(s)
		case x.kind == elemExpr:
			s, why := p.seat(x, n.loops, n.hosts)
			if why != "" {
				refuse("%s", why)
				return
			}
			n.need(s)
		}
		for _, y := range x.argList() {
			data(y)
		}
	}
	data(x)
}

// need notes where elements lie.
func (n *nest) need(s seat) {
	if !slices.Contains(n.arrays, s.array) {
		n.arrays = append(n.arrays, s.array)
	}
	for d, l := range s.along {
		if l != nil {
			n.demands = append(n.demands, demand{s.array, d, l})
		}
	}
}

// placed returns the arrays that lie in the lattice, views behind the others.
func (p *planner) placed(nests []*nest) []*array {
	return append(slices.Clip(p.k.arrays), p.viewsOf(nests)...)
}

func (x *expr) argList() []*expr {
	if x == nil {
		return nil
	}
	return x.args
}

// checkScalars refuses variables that are reduced and used otherwise in the loops
// that they are reduced over.
func (p *planner) checkScalars(n *nest, assigns []*assign, refuse func(string, ...any)) {
	for i, a := range assigns {
		r, ok := n.reduce[a]
		if !ok || a.target.kind != varExpr || len(r.loops) == 0 {
			continue
		}
		for j, b := range assigns {
			other, is := n.reduce[b]
			if i == j || is && b.target.same(a.target) && other.op == r.op {
				continue
			}
			used := b.value.uses(a.target) || b.guard != nil && b.guard.uses(a.target) || b.target.uses(a.target)
			if used && slices.ContainsFunc(n.chains[j], func(l *loop) bool { return slices.Contains(r.loops, l) }) {
				refuse("variable %s is used while it is reduced", a.target.v.source())
			}
		}
	}
}

// offsets chooses where the iterations of the loops of a nest lie: where the first
// elements do that it writes, or else reads.
func (p *planner) offsets(n *nest, assigns []*assign) {
	var writes, reads []seat
	for _, a := range assigns {
		read := func(x *expr) {
			x.walk(func(y *expr) {
				if y.kind == elemExpr {
					s, _ := p.seat(y, n.loops, n.hosts)
					reads = append(reads, s)
				}
			})
		}
		read(a.value)
		read(a.guard)
		if a.target.kind == elemExpr {
			s, _ := p.seat(a.target, n.loops, n.hosts)
			writes = append(writes, s)
		}
	}
	for _, s := range append(writes, reads...) {
		for d, l := range s.along {
			if _, ok := n.offset[l]; l != nil && !ok {
				n.offset[l] = s.at[d].Sub(lattice.Sym(l.v.name))
			}
		}
	}
}

// interchange plans a loop and the one that is all of its body the other way round: the
// inner one becomes a loop of the host, and the outer one, whose iterations need nothing
// of each other, a dimension of tensors. It returns nil where that cannot be, or where nests have
// no more dimensions than so many. mark is the number of nests before the loop.
func (p *planner) interchange(l *loop, hosts []*loop, mark, most int) []item {
	if len(l.body) != 1 {
		return nil
	}
	inner, ok := l.body[0].(*loop)
	if !ok || inner.step < 0 || l.while != nil || inner.while != nil || usesLoops(inner.lo, []*loop{l}) || usesLoops(inner.hi, []*loop{l}) || !p.independent(l, hosts) {
		return nil
	}
	outer := p.swapped[l]
	if outer == nil {
		o, i := *inner, *l
		i.body, o.body = inner.body, []stmt{&i}
		p.swapped[l], outer = &o, &o
	}
	adopt(inner, outer.body[0].(*loop))
	nests := slices.Clone(p.nests)
	p.nests = p.nests[:mark]
	items := p.plan(outer.body, append(slices.Clip(hosts), outer))
	views := slices.ContainsFunc(p.nests[mark:], func(n *nest) bool {
		return slices.ContainsFunc(n.arrays, func(a *array) bool { return a.of != nil })
	})
	if deepest(items) > most && !views { // of views it is not known whether all is inside of the array
		return []item{{host: outer, body: items}}
	}
	p.nests = nests
	adopt(outer.body[0].(*loop), inner)
	return nil
}

// deepest returns the most dimensions that nests of tensors have.
func deepest(items []item) (most int) {
	for _, i := range items {
		if i.nest != nil && !i.nest.stream {
			most = max(most, len(i.nest.loops))
		}
		most = max(most, deepest(i.body))
	}
	return most
}

// independent reports whether iterations of a loop access no element in common that one of
// them writes, and hand on no variable.
func (p *planner) independent(l *loop, hosts []*loop) bool {
	var early, late []access // copies, whose loops but this one are others
	free := true
	walkStmts([]stmt{l}, nil, func(s stmt, loops []*loop) {
		a, ok := s.(*assign)
		if !ok {
			return
		}
		if a.target.kind == varExpr && slices.Contains(outliving(a.target.v, loops), l) {
			free = false
		}
		others := slices.Clone(loops)
		for i := range others[1:] {
			c := *others[i+1]
			others[i+1] = &c
		}
		early = append(early, accesses(a, slices.Clone(loops), 0, scalar.NoOp)...)
		late = append(late, accesses(a, others, 0, scalar.NoOp)...)
	})
	return free && !p.backward(p.space(hosts), early, late)
}

// distribute takes a loop apart: statements, or groups of them, each in a loop of
// its own, where no iteration needs what a later part of an earlier one does.
func (p *planner) distribute(l *loop, hosts []*loop) []stmt {
	if pieces, ok := p.pieces[l]; ok {
		return pieces
	}
	groups := p.groups(l, hosts)
	var pieces []stmt
	if len(groups) > 1 {
		for _, g := range groups {
			c := *l
			c.body = g
			pieces = append(pieces, &c)
		}
	}
	p.pieces[l] = pieces
	return pieces
}

// adopt makes the variables that are declared in a loop and used in another with
// some of the same statements variables of that.
func adopt(from, to *loop) {
	body := to.body
	if len(from.body) < len(to.body) {
		body = from.body
	}
	walkStmts(body, nil, func(s stmt, _ []*loop) {
		if a, ok := s.(*assign); ok {
			for _, x := range []*expr{a.target, a.value, a.guard} {
				x.walk(func(y *expr) {
					if y.kind == varExpr && y.v.kind == localVar && y.v.scope == from {
						y.v.scope = to
					}
				})
			}
		}
	})
}

// groups returns the least groups of neighbouring statements that a loop can be
// taken apart into.
func (p *planner) groups(l *loop, hosts []*loop) [][]stmt {
	n := len(l.body)
	lists := make([][]access, n)
	vars := make([]map[*variable]bool, n)
	for i, s := range l.body {
		vars[i] = map[*variable]bool{}
		walkStmts([]stmt{s}, []*loop{l}, func(s stmt, loops []*loop) {
			a, ok := s.(*assign)
			if !ok {
				return
			}
			lists[i] = append(lists[i], accesses(a, slices.Clone(loops), i, scalar.NoOp)...)
			for _, x := range []*expr{a.target, a.value, a.guard} {
				x.walk(func(y *expr) {
					if y.kind == varExpr && y.v.kind == localVar {
						vars[i][y.v] = vars[i][y.v] || a.target.same(y)
					}
				})
			}
		})
	}
	space := p.space(hosts)
	together := make([]bool, n) // with the statement before
	for j := 1; j < n; j++ {
		p.checkContext()
		for i := 0; i < j; i++ {
			if p.backward(space, lists[j], lists[i]) || shared(vars[i], vars[j]) {
				for m := i + 1; m <= j; m++ {
					together[m] = true
				}
			}
		}
	}
	var groups [][]stmt
	for i, s := range l.body {
		if i > 0 && together[i] {
			groups[len(groups)-1] = append(groups[len(groups)-1], s)
			continue
		}
		groups = append(groups, []stmt{s})
	}
	return groups
}

// shared reports whether statements have a variable in common that one assigns.
func shared(a, b map[*variable]bool) bool {
	for v, written := range a {
		if other, ok := b[v]; ok && (written || other) {
			return true
		}
	}
	return false
}

// backward reports whether an element of late may be one of early in a later
// iteration.
func (p *planner) backward(space *lattice.Space, late, early []access) bool {
	for _, a := range late {
		for _, b := range early {
			if a.array == b.array && (a.write || b.write) && carried(space, a, b) {
				return true
			}
		}
	}
	return false
}
