package cfront

import (
	"slices"
	"strconv"
	"strings"

	"modernc.org/cc/v4"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// ompAt returns the OpenMP pragmas in front of a statement.
func (c *converter) ompAt(at Pos) []ompPragma {
	if c.whole == nil {
		return nil
	}
	var list []ompPragma
	for _, p := range c.u.omp {
		if p.next.Line == at.Line && p.next.Col == at.Col && p.pos.File == at.File {
			list = append(list, p)
		}
	}
	return list
}

// sharing is what the pragmas in front of a loop say.
type sharing struct {
	parallel *stream.Parallel     // nil if iterations are not shared out
	reduces  map[string]scalar.Op // variables that threads reduce, and by what
	simd     map[string]bool      // variables that may be reduced in any order
	private  []string
	first    []string // private, with the value from before the loop
	collapse int64
}

// reductions are the operators of OpenMP's reductions.
var reductions = map[string]scalar.Op{
	"+": scalar.Add, "-": scalar.Add, "*": scalar.Mul, "&": scalar.And, "|": scalar.Or, "^": scalar.Xor,
	"&&": scalar.And, "||": scalar.Or, "min": scalar.Min, "max": scalar.Max,
}

// sharingAt reads the pragmas in front of a loop.
func (c *converter) sharingAt(at Pos) *sharing {
	sh := &sharing{collapse: 1}
	free := false
	for _, o := range c.ompAt(at) {
		if o.words[0] == "s_sync_free" {
			free = true
			continue
		}
		shared, simd := slices.Contains(o.words, "for"), slices.Contains(o.words, "simd")
		if !shared && !simd {
			continue
		}
		if shared {
			if c.scope() == stream.Private {
				fail(o.pos, "a parallel loop inside of another: supported is one level of threads")
			}
			sh.parallel = &stream.Parallel{}
		}
		for _, cl := range o.clauses {
			list := strings.Split(cl.args, ",")
			switch cl.name {
			case "schedule":
				if !shared {
					fail(o.pos, "a schedule of a loop that threads do not share")
				}
				sh.schedule(&o, list)
			case "reduction":
				name, vars, ok := strings.Cut(cl.args, ":")
				op, known := reductions[name]
				if !ok || !known {
					fail(o.pos, "reduction(%s), expected one of + - * & | ^ && || min max, as in reduction(+: sum)", cl.args)
				}
				for _, v := range strings.Split(vars, ",") {
					if shared {
						sh.reduces = put(sh.reduces, v, op)
					}
					if simd {
						sh.simd = put(sh.simd, v, true)
					}
				}
			case "private":
				sh.private = append(sh.private, list...)
			case "firstprivate":
				sh.private, sh.first = append(sh.private, list...), append(sh.first, list...)
			case "collapse":
				n, err := strconv.ParseInt(cl.args, 10, 32)
				if err != nil || n < 1 || n > 8 {
					fail(o.pos, "collapse(%s), expected a number of loops", cl.args)
				}
				sh.collapse = n
			case "shared", "default", "nowait", "num_threads", "proc_bind", "if", "safelen", "simdlen", "aligned", "linear", "nontemporal":
			default:
				fail(o.pos, "clause %s of OpenMP: supported are schedule, reduction, collapse, private, firstprivate, shared, default and nowait", cl.name)
			}
		}
	}
	if sh.parallel != nil {
		sh.parallel.SyncFree = free
	}
	return sh
}

func put[V any](m map[string]V, k string, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[k] = v
	return m
}

func (sh *sharing) schedule(o *ompPragma, args []string) {
	switch _, kind, is := strings.Cut(args[0], ":"); {
	case is: // a modifier
		args[0] = kind
	}
	switch args[0] {
	case "static", "auto", "runtime":
	case "dynamic", "guided":
		sh.parallel.Dynamic = true
	default:
		fail(o.pos, "schedule %s, expected static, dynamic, guided, auto or runtime", args[0])
	}
	if len(args) > 1 {
		n, err := strconv.ParseInt(args[1], 10, 32)
		if err != nil || n < 1 {
			fail(o.pos, "a chunk of %s, expected a number of iterations", args[1])
		}
		sh.parallel.Chunk = n
	}
}

// own gives a loop variables of its own, at the beginning of its body.
func (c *converter) own(sh *sharing, body *[]stmt, at Pos) {
	for _, name := range sh.private {
		switch x := c.lookup(name).(type) {
		case *variable:
			if x.kind == loopVar {
				continue
			}
			v := c.declare(name, localVar, x.typ, at)
			if slices.Contains(sh.first, name) {
				*body = append(*body, c.assign(ref(v, at), ref(x, at), nil, at))
			}
			c.bind(name, v)
		case *array:
			switch {
			case slices.Contains(sh.first, name):
				fail(at, "firstprivate(%s) of an array: supported are numbers", name)
			case len(x.size) == 0:
				fail(at, "private(%s) of an array without a size", name)
			}
			c.bind(name, c.newArray(name, x.typ, x.size, stream.Private, at))
		case nil:
			fail(at, "private(%s): %s is not declared", name, name)
		default:
			fail(at, "private(%s): supported are numbers and arrays of numbers", name)
		}
	}
}

// collapsed converts nested loops whose iterations are shared out together: one loop
// over all of them, whose number gives those of the nested loops.
func (c *converter) collapsed(s *cc.IterationStatement, sh *sharing, guard *expr, out *[]stmt) {
	at := c.u.pos(s)
	type level struct {
		name  string
		typ   scalar.Type
		first *expr
		n     *expr
		step  int64
	}
	var levels []level
	add := func(x *expr, k int64) *expr { return binary(at, scalar.Add, x, intConst(at, scalar.Int64, k)) }
	for range sh.collapse {
		const want = "expected loops such as for (int i = a; i < b; i++), each the only statement of the one around it, with bounds of none of them"
		if s == nil || s.Case != cc.IterationStatementForDecl && s.Case != cc.IterationStatementFor {
			fail(at, "collapse(%d), %s", sh.collapse, want)
		}
		h, ok := c.head(s)
		if !ok {
			fail(c.u.pos(s), "collapse(%d), %s", sh.collapse, want)
		}
		for _, l := range levels {
			if tokensHave(h.init, l.name) || tokensHave(h.last, l.name) {
				fail(c.u.pos(s), "collapse(%d) with bounds that depend on %s, %s", sh.collapse, l.name, want)
			}
		}
		first, last := convert(c.expr(h.init), scalar.Int64), convert(c.expr(h.last), scalar.Int64)
		var n *expr
		switch {
		case (h.op == "<" || h.op == "!=" && h.step == 1) && h.step > 0:
			n = binary(at, scalar.Sub, add(last, h.step-1), first)
		case h.op == "<=" && h.step > 0:
			n = binary(at, scalar.Sub, add(last, h.step), first)
		case (h.op == ">" || h.op == "!=" && h.step == -1) && h.step < 0:
			n = binary(at, scalar.Sub, add(first, -h.step-1), last)
		case h.op == ">=" && h.step < 0:
			n = binary(at, scalar.Sub, add(first, -h.step), last)
		default:
			fail(c.u.pos(s), "collapse(%d) with a condition that a step of %d does not end at", sh.collapse, h.step)
		}
		n = binary(at, scalar.Max, binary(at, scalar.Div, n, intConst(at, scalar.Int64, max(h.step, -h.step))), intConst(at, scalar.Int64, 0))
		v := c.declare("trips", localVar, scalar.Int64, at) // each looked at once
		*out = append(*out, c.assign(ref(v, at), n, guard, at))
		levels = append(levels, level{h.name, h.typ, first, ref(v, at), h.step})
		inner := s.Statement
		for inner != nil && inner.Case == cc.StatementCompound && inner.CompoundStatement.BlockItemList != nil && inner.CompoundStatement.BlockItemList.BlockItemList == nil && inner.CompoundStatement.BlockItemList.BlockItem.Case == cc.BlockItemStmt {
			inner = inner.CompoundStatement.BlockItemList.BlockItem.Statement
		}
		if len(levels) == int(sh.collapse) {
			break
		}
		if inner == nil || inner.Case != cc.StatementIteration {
			fail(c.u.pos(s), "collapse(%d), %s", sh.collapse, want)
		}
		s = inner.IterationStatement
	}
	total := levels[0].n
	for _, l := range levels[1:] {
		total = binary(at, scalar.Mul, total, l.n)
	}
	flat := &loop{pos: at, parallel: sh.parallel, reduces: sh.reduces, simd: sh.simd, step: 1, from: intConst(at, scalar.Int64, 0), to: total}
	if guard != nil {
		flat.guard, flat.to = guard, choose(at, guard, flat.to, flat.from)
	}
	f := &frame{}
	brk, cont, ret := jumps(s.Statement)
	if brk || ret {
		fail(at, "a parallel loop with break or return, which OpenMP does not allow")
	}
	if cont {
		f.continued = c.declare("continued", localVar, scalar.Bool, at)
	}
	flat.v = c.declare("flat", loopVar, scalar.Int64, at)
	flat.v.symbol = true
	c.loops, c.frames = append(c.loops, flat), append(c.frames, f)
	if cont {
		c.set(f.continued, false, at, &flat.body, nil)
	}
	c.own(sh, &flat.body, at)
	rest := ref(flat.v, at)
	for i := len(levels) - 1; i >= 0; i-- {
		l := &levels[i]
		n := rest
		if i > 0 {
			n = binary(at, scalar.Rem, rest, l.n)
			rest = binary(at, scalar.Div, rest, l.n)
		}
		v := c.declare(l.name, localVar, l.typ, at)
		x := binary(at, scalar.Add, l.first, binary(at, scalar.Mul, n, intConst(at, scalar.Int64, l.step)))
		flat.body = append(flat.body, c.assign(ref(v, at), x, nil, at))
		c.bind(l.name, v)
	}
	may := c.inside()
	c.statement(s.Statement, nil, &flat.body)
	c.outside(may)
	c.loops, c.frames = c.loops[:len(c.loops)-1], c.frames[:len(c.frames)-1]
	*out = append(*out, flat)
}

// directed converts a statement behind a pragma that changes what it means. It reports
// false for any other.
func (c *converter) directed(s *cc.Statement, at Pos, guard *expr, out *[]stmt) bool {
	list := c.ompAt(at)
	for i := range list {
		o := &list[i]
		if slices.ContainsFunc(c.opened, func(p Pos) bool { return p == o.pos }) {
			continue
		}
		switch o.words[0] {
		case "parallel":
			if s.Case != cc.StatementIteration && !slices.Contains(o.words, "for") {
				c.region1(o, s)
			}
		case "single", "master", "task", "sections", "barrier":
			fail(o.pos, "omp %s: supported are parallel for, for, simd, atomic and critical", o.words[0])
		case "critical":
			c.opened = append(c.opened, o.pos)
			c.critical(o, s, guard, out)
			c.opened = c.opened[:len(c.opened)-1]
			return true
		case "atomic":
			if c.atomicStatement(o, s, guard, out) {
				return true
			}
		}
	}
	return false
}

// region1 refuses what each thread of a parallel region does for itself: a region may
// consist of loops that threads share, and nothing else, so that the threads that begin
// with each loop do the same.
func (c *converter) region1(o *ompPragma, s *cc.Statement) {
	const want = "expected loops with #pragma omp for and nothing else in it: write #pragma omp parallel for at each"
	if s.Case != cc.StatementCompound {
		fail(o.pos, "a parallel region of one statement, %s", want)
	}
	for l := s.CompoundStatement.BlockItemList; l != nil; l = l.BlockItemList {
		shared := false
		if l.BlockItem.Case == cc.BlockItemStmt {
			for _, p := range c.ompAt(c.u.pos(l.BlockItem.Statement)) {
				shared = shared || slices.Contains(p.words, "for")
			}
		}
		if !shared {
			fail(c.u.pos(l.BlockItem), "a statement in a parallel region that every thread executes: %s", want)
		}
	}
}

// tokensHave reports whether a name is in an expression.
func tokensHave(n cc.Node, name string) bool {
	return slices.ContainsFunc(cc.NodeTokens(n), func(t cc.Token) bool { return t.SrcStr() == name })
}

// critical converts a statement that one thread at a time executes: it waits for a word
// of memory, and gives it back at the end.
func (c *converter) critical(o *ompPragma, s *cc.Statement, guard *expr, out *[]stmt) {
	at := o.pos
	name := "critical"
	for _, cl := range o.clauses {
		if cl.name == "critical" {
			name = "critical." + cl.args
		}
	}
	if c.scope() != stream.Private { // there is one thread
		c.statement(s, guard, out)
		return
	}
	lock := c.whole.locks[name]
	if lock == nil {
		lock = c.newArray(name, scalar.Int32, []lattice.Expr{lattice.Const(1)}, stream.Lock, at)
		c.whole.locks = put(c.whole.locks, name, lock)
	}
	elem := &expr{kind: elemExpr, typ: scalar.Int32, pos: at, array: lock, index: []*expr{intConst(at, scalar.Int64, 0)}}
	waits := c.declare("waits", localVar, scalar.Bool, at)
	begin := guard
	if begin == nil {
		begin = intConst(at, scalar.Bool, 1)
	}
	*out = append(*out, c.assign(ref(waits, at), begin, nil, at))
	l := &loop{v: c.declare("w", loopVar, scalar.Int64, at), step: 1, pos: at, while: waits}
	l.v.symbol = true
	c.loops = append(c.loops, l)
	was := c.declare("was", localVar, scalar.Int32, at)
	c.loops = c.loops[:len(c.loops)-1]
	l.body = []stmt{
		&assign{target: elem, value: intConst(at, scalar.Int32, 1), pos: at, atomic: true, old: true, result: was},
		c.assign(ref(waits, at), binary(at, scalar.Ne, ref(was, at), intConst(at, scalar.Int32, 0)), nil, at),
	}
	*out = append(*out, l)
	c.inCritical++
	c.statement(s, guard, out)
	c.inCritical--
	*out = append(*out, &assign{target: elem, value: intConst(at, scalar.Int32, 0), guard: guard, pos: at})
}

// atomicStatement converts a statement behind #pragma omp atomic capture or compare. It
// reports false for another one.
func (c *converter) atomicStatement(o *ompPragma, s *cc.Statement, guard *expr, out *[]stmt) bool {
	capture, compare := slices.Contains(o.words, "capture"), slices.Contains(o.words, "compare")
	if o.words[0] != "atomic" || !capture && !compare {
		return false
	}
	const want = "expected one of v = x++, v = x += e, { v = x; x += e; }, { x += e; v = x; }, if (x > e) x = e, and x = x < e ? e : x"
	at := c.u.pos(s)
	list := []*cc.Statement{s}
	if s.Case == cc.StatementCompound {
		list = nil
		for l := s.CompoundStatement.BlockItemList; l != nil; l = l.BlockItemList {
			if l.BlockItem.Case != cc.BlockItemStmt {
				fail(at, "atomic: %s", want)
			}
			list = append(list, l.BlockItem.Statement)
		}
	}
	text := func(n cc.Node) string {
		var words []string
		for _, t := range sorted(n) {
			words = append(words, t.SrcStr())
		}
		return strings.Join(words, " ")
	}
	expression := func(s *cc.Statement) cc.ExpressionNode {
		if s.Case != cc.StatementExpr {
			return nil
		}
		return unwrap(s.ExpressionStatement.ExpressionList)
	}
	// change returns what is updated and its new value.
	change := func(n cc.ExpressionNode) (x cc.ExpressionNode, elem, value *expr, old, ok bool) {
		one := intConst(at, scalar.Int32, 1)
		switch n := n.(type) {
		case *cc.PostfixExpression:
			if n.Case == cc.PostfixExpressionInc || n.Case == cc.PostfixExpressionDec {
				op := map[bool]scalar.Op{true: scalar.Add, false: scalar.Sub}[n.Case == cc.PostfixExpressionInc]
				elem = c.target(n.PostfixExpression)
				return n.PostfixExpression, elem, c.operation(at, op, elem, one), true, true
			}
		case *cc.UnaryExpression:
			if n.Case == cc.UnaryExpressionInc || n.Case == cc.UnaryExpressionDec {
				op := map[bool]scalar.Op{true: scalar.Add, false: scalar.Sub}[n.Case == cc.UnaryExpressionInc]
				elem = c.target(n.UnaryExpression)
				return n.UnaryExpression, elem, c.operation(at, op, elem, one), false, true
			}
		case *cc.AssignmentExpression:
			if n.Case == cc.AssignmentExpressionCond {
				return nil, nil, nil, false, false
			}
			elem = c.target(n.UnaryExpression)
			value = c.expr(n.AssignmentExpression)
			if op, is := assignOps[n.Case]; is {
				value = c.operation(at, op, elem, value)
			}
			return n.UnaryExpression, elem, value, false, true
		}
		return nil, nil, nil, false, false
	}
	// bounded returns the update of if (x > e) x = e.
	bounded := func(s *cc.Statement) (x cc.ExpressionNode, elem, value *expr, ok bool) {
		if s.Case != cc.StatementSelection || s.SelectionStatement.Statement2 != nil {
			return nil, nil, nil, false
		}
		inner := s.SelectionStatement.Statement
		if inner.Case == cc.StatementCompound && inner.CompoundStatement.BlockItemList != nil && inner.CompoundStatement.BlockItemList.BlockItemList == nil {
			inner = inner.CompoundStatement.BlockItemList.BlockItem.Statement
		}
		n := expression(inner)
		if n == nil {
			return nil, nil, nil, false
		}
		x, elem, value, _, ok = change(n)
		if !ok {
			return nil, nil, nil, false
		}
		return x, elem, choose(at, c.condition1(s.SelectionStatement.ExpressionList), value, elem), true
	}
	single := func(value, elem *expr) *expr {
		if elem.kind != elemExpr {
			fail(at, "atomic: %s is no element of an array and no variable in memory", text(s))
		}
		return least(value, elem)
	}
	switch len(list) {
	case 1:
		if x, elem, value, ok := bounded(list[0]); ok && x != nil {
			c.update(elem, single(value, elem), false, guard, out, at)
			return true
		}
		n, _ := expression(list[0]).(*cc.AssignmentExpression)
		if n == nil || n.Case == cc.AssignmentExpressionCond {
			break
		}
		if !capture {
			if _, elem, value, _, ok := change(n); ok {
				c.update(elem, single(value, elem), false, guard, out, at)
				return true
			}
			break
		}
		if _, elem, value, old, ok := change(unwrap(n.AssignmentExpression)); ok && n.Case == cc.AssignmentExpressionAssign {
			target := c.target(n.UnaryExpression)
			*out = append(*out, c.assign(target, c.update(elem, single(value, elem), old, guard, out, at), guard, at))
			return true
		}
	case 2:
		for i := range 2 { // the one that reads
			n, _ := expression(list[i]).(*cc.AssignmentExpression)
			if n == nil || n.Case != cc.AssignmentExpressionAssign {
				continue
			}
			var x cc.ExpressionNode
			var elem, value *expr
			ok := false
			if e := expression(list[1-i]); e != nil {
				x, elem, value, _, ok = change(e)
			} else {
				x, elem, value, ok = bounded(list[1-i])
			}
			if !ok || text(unwrap(n.AssignmentExpression)) != text(unwrap(x)) {
				continue
			}
			target := c.target(n.UnaryExpression)
			*out = append(*out, c.assign(target, c.update(elem, single(value, elem), i == 0, guard, out, at), guard, at))
			return true
		}
	}
	fail(at, "atomic %s: %s", strings.Join(o.words[1:], " "), want)
	return true
}

// least returns the choice of the lesser or greater of an element and something else as
// a minimum or maximum, which also atomic units know.
func least(x, elem *expr) *expr {
	if x.kind == convertExpr && x.typ == elem.typ && x.args[0].typ.Int() && x.typ.Int() {
		if y := least(x.args[0], elem); y != x.args[0] {
			return y
		}
	}
	if x.kind != opExpr || x.op != scalar.Select || !x.args[0].op.Compares() || x.args[0].kind != opExpr {
		return x
	}
	a, b := x.args[0].args[0], x.args[0].args[1]
	p, q := x.args[1], x.args[2]
	op := scalar.NoOp
	switch x.args[0].op {
	case scalar.Lt, scalar.Le:
		op = scalar.Min
	case scalar.Gt, scalar.Ge:
		op = scalar.Max
	default:
		return x
	}
	if a.same(q) && b.same(p) {
		op = map[scalar.Op]scalar.Op{scalar.Min: scalar.Max, scalar.Max: scalar.Min}[op]
	} else if !a.same(p) || !b.same(q) {
		return x
	}
	if x.typ.Float() { // of a NaN, or of zeros of both signs, C and the unit differ
		return x
	}
	other := p
	if p.same(elem) {
		other = q
	}
	return &expr{kind: opExpr, typ: x.typ, pos: x.pos, op: op, args: []*expr{elem, other}}
}

// markAtomic makes an assignment an atomic update where OpenMP says so.
func (c *converter) markAtomic(a *assign, n cc.Node, at Pos) {
	for _, o := range c.ompAt(at) {
		if o.words[0] != "atomic" {
			continue
		}
		switch {
		case slices.Contains(o.words, "read"):
			a.value.walk(func(x *expr) { x.racy, x.relaxed = x.kind == elemExpr, x.kind == elemExpr })
		case slices.Contains(o.words, "write"):
			a.racy = true
		case a.target.kind != elemExpr || !a.value.uses(a.target):
			fail(at, "an atomic update, expected one of an element such as A[i] += x")
		default:
			a.atomic, a.value = true, updated(a.value, a.target)
		}
	}
}
