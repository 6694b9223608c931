package cfront

import (
	"maps"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"modernc.org/cc/v4"
)

// frame is a loop of the source, for break and continue.
type frame struct {
	broken, continued *variable
	may               bool // one of them may be true here
}

// jumps says which jumps out of its own iterations a loop's body has.
func jumps(s *cc.Statement) (brk, cont, ret bool) {
	var walk func(s *cc.Statement, inside bool)
	walk = func(s *cc.Statement, inside bool) {
		if s == nil {
			return
		}
		switch s.Case {
		case cc.StatementCompound:
			for l := s.CompoundStatement.BlockItemList; l != nil; l = l.BlockItemList {
				if l.BlockItem.Case == cc.BlockItemStmt {
					walk(l.BlockItem.Statement, inside)
				}
			}
		case cc.StatementSelection:
			walk(s.SelectionStatement.Statement, inside)
			walk(s.SelectionStatement.Statement2, inside)
		case cc.StatementIteration:
			walk(s.IterationStatement.Statement, true)
		case cc.StatementJump:
			switch s.JumpStatement.Case {
			case cc.JumpStatementBreak:
				brk = brk || !inside
			case cc.JumpStatementContinue:
				cont = cont || !inside
			case cc.JumpStatementReturn:
				ret = true
			}
		}
	}
	walk(s, false)
	return brk, cont, ret
}

// wholeLoop converts a loop of any kind.
func (c *converter) wholeLoop(s *cc.IterationStatement, guard *expr, out *[]stmt) {
	at := c.u.pos(s)
	sh := c.sharingAt(at)
	parallel := sh.parallel
	if parallel != nil && sh.collapse > 1 {
		c.push()
		c.collapsed(s, sh, guard, out)
		c.pop()
		return
	}
	brk, cont, ret := jumps(s.Statement)
	if parallel != nil && (brk || ret) {
		fail(at, "a parallel loop with break or return, which OpenMP does not allow")
	}
	isFor := s.Case == cc.IterationStatementFor || s.Case == cc.IterationStatementForDecl
	c.push()
	defer c.pop()
	f := &frame{}
	if cont {
		f.continued = c.declare("continued", localVar, scalar.Bool, at)
	}
	if isFor && !brk && !ret && c.counted(s, f, sh, guard, out) {
		return
	}
	if parallel != nil {
		fail(at, "a parallel loop that does not count: expected for (int i = a; i < b; i++) with bounds that the loop does not change")
	}
	var cond, inc cc.ExpressionNode
	switch s.Case {
	case cc.IterationStatementFor:
		if s.ExpressionList != nil {
			c.effect(s.ExpressionList, guard, out)
		}
		cond, inc = s.ExpressionList2, s.ExpressionList3
	case cc.IterationStatementForDecl:
		c.declaration(s.Declaration, guard, out)
		cond, inc = s.ExpressionList, s.ExpressionList2
	default:
		cond = s.ExpressionList
	}
	if brk {
		f.broken = c.flag("broken", false, at, out, nil)
	}
	goes := c.declare("go", localVar, scalar.Bool, at)
	test := func(guard *expr, out *[]stmt) {
		outer, around := c.out, c.guard
		c.out, c.guard = out, guard
		x := intConst(at, scalar.Bool, 1)
		if cond != nil && !(cond == s.ExpressionList && isFor && s.Case == cc.IterationStatementFor) {
			x = c.condition1(cond)
		}
		c.out, c.guard = outer, around
		*out = append(*out, c.assign(ref(goes, at), and(guard, x), nil, at))
	}
	if s.Case == cc.IterationStatementDo {
		g := guard
		if g == nil {
			g = intConst(at, scalar.Bool, 1)
		}
		*out = append(*out, c.assign(ref(goes, at), g, nil, at))
	} else {
		test(guard, out)
	}
	l := &loop{v: c.declare("w", loopVar, scalar.Int64, at), step: 1, pos: at, while: goes}
	l.v.symbol = true
	c.loops = append(c.loops, l)
	c.frames = append(c.frames, f)
	if cont {
		c.set(f.continued, false, at, &l.body, nil)
	}
	may := c.inside()
	c.statement(s.Statement, nil, &l.body)
	c.frames = c.frames[:len(c.frames)-1]
	live := c.live(nil, at)
	c.outside(may)
	if f.broken != nil {
		live = and(live, not(ref(f.broken, at)))
	}
	if inc != nil {
		outer, around := c.out, c.guard
		c.out, c.guard = &l.body, live
		c.effect(inc, live, &l.body)
		c.out, c.guard = outer, around
	}
	test(live, &l.body)
	c.loops = c.loops[:len(c.loops)-1]
	*out = append(*out, l)
}

// inside says that a body is only reached where nothing has been returned from, and
// outside that it is over.
func (c *converter) inside() (may bool) {
	r := c.calls[len(c.calls)-1]
	may, r.may = r.may, false
	return may
}

func (c *converter) outside(may bool) {
	r := c.calls[len(c.calls)-1]
	r.may = r.may || may
}

// condition1 converts the condition of a loop or an if, which may be a pointer or have
// effects in front of a comma.
func (c *converter) condition1(n cc.ExpressionNode) *expr {
	if c.isPointer(n) {
		return c.null(n, c.u.pos(n))
	}
	return truth(c.expr(n))
}

// header is the head of a for loop that counts.
type header struct {
	name       string
	typ        scalar.Type
	outlives   *variable // that was declared in front of the loop
	init, last cc.ExpressionNode
	op         string // of the comparison with last
	step       int64
}

// head reads the head of a for loop, and reports false if it does not count.
func (c *converter) head(s *cc.IterationStatement) (h header, ok bool) {
	at := c.u.pos(s)
	var cond, inc cc.ExpressionNode
	if s.Case == cc.IterationStatementForDecl {
		d := s.Declaration
		if d.InitDeclaratorList == nil || d.InitDeclaratorList.InitDeclaratorList != nil || d.InitDeclaratorList.InitDeclarator.Initializer == nil {
			return h, false
		}
		in := d.InitDeclaratorList.InitDeclarator
		if size, depth := c.dims(in.Declarator); size != nil || depth > 0 || in.Initializer.AssignmentExpression == nil {
			return h, false
		}
		h.name, h.typ = in.Declarator.Name(), c.elementType(d.DeclarationSpecifiers, at)
		h.init, cond, inc = in.Initializer.AssignmentExpression, s.ExpressionList, s.ExpressionList2
	} else {
		if s.ExpressionList == nil {
			return h, false
		}
		a, is := unwrap(s.ExpressionList).(*cc.AssignmentExpression)
		if !is || a.Case != cc.AssignmentExpressionAssign {
			return h, false
		}
		h.name = identifier(a.UnaryExpression)
		v, is := c.lookup(h.name).(*variable)
		if !is || v.kind != localVar {
			return h, false
		}
		h.typ, h.outlives = v.typ, v
		h.init, cond, inc = a.AssignmentExpression, s.ExpressionList2, s.ExpressionList3
	}
	if cond == nil || inc == nil || !h.typ.Int() || changesIn(s.Statement, h.name) {
		return h, false
	}
	if h.step, ok = c.tryStep(inc, h.name); !ok {
		return h, false
	}
	h.op, h.last, ok = compared(cond, h.name)
	return h, ok
}

// counted converts a for loop that counts, and reports false if it is none: then
// nothing has been converted.
func (c *converter) counted(s *cc.IterationStatement, f *frame, sh *sharing, guard *expr, out *[]stmt) (ok bool) {
	at := c.u.pos(s)
	vars, taken, steps := len(c.k.vars), maps.Clone(c.k.taken), c.steps
	done := len(*out)
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		if _, is := x.(notCounted); !is {
			panic(x)
		}
		c.k.vars, c.k.taken, c.steps = c.k.vars[:vars], taken, steps
		*out = (*out)[:done]
		ok = false
	}()
	l := &loop{pos: at, parallel: sh.parallel, reduces: sh.reduces, simd: sh.simd}
	h, ok := c.head(s)
	if !ok {
		return false
	}
	name, typ, outlives, init, op, right, step := h.name, h.typ, h.outlives, h.init, h.op, h.last, h.step
	l.step = step
	outer, around := c.out, c.guard
	c.out, c.guard = out, guard
	first := convert(c.expr(init), typ)
	last := c.expr(right)
	c.out, c.guard = outer, around
	if last.kind == doubleExpr || !last.typ.Int() || sh.parallel == nil && c.written(last, s.Statement) {
		panic(notCounted{})
	}
	first, last, least := c.limits(&h, first, last, sh.parallel != nil, guard, out, at)
	add := func(x *expr, k int64) *expr { return binary(at, scalar.Add, x, intConst(at, scalar.Int64, k)) }
	switch {
	case (op == "<" || op == "!=" && step == 1) && step > 0:
		l.from, l.to = first, last
	case op == "<=" && step > 0:
		l.from, l.to = first, add(last, 1)
	case (op == ">" || op == "!=" && step == -1) && step < 0:
		l.from, l.to = add(last, 1), add(first, 1)
	case op == ">=" && step < 0 && typ.Signed():
		l.from, l.to = last, add(first, 1)
	default:
		panic(notCounted{})
	}
	if guard != nil { // no iteration where the loop is not reached
		l.guard = guard
		l.to = choose(at, guard, l.to, l.from)
	}
	l.v = c.declare(name, loopVar, typ, at)
	l.v.symbol, l.v.least = true, &least
	c.bind(name, l.v)
	c.loops = append(c.loops, l)
	c.frames = append(c.frames, f)
	c.own(sh, &l.body, at)
	if f.continued != nil {
		c.set(f.continued, false, at, &l.body, nil)
	}
	may := c.inside()
	c.statement(s.Statement, nil, &l.body)
	c.outside(may)
	c.frames = c.frames[:len(c.frames)-1]
	c.loops = c.loops[:len(c.loops)-1]
	*out = append(*out, l)
	if outlives != nil { // the variable's value after the loop
		at := at
		n := binary(at, scalar.Sub, l.to, l.from)
		size := max(step, -step)
		n = binary(at, scalar.Div, add(n, size-1), intConst(at, scalar.Int64, size))
		n = binary(at, scalar.Max, n, intConst(at, scalar.Int64, 0))
		end := binary(at, scalar.Add, first, binary(at, scalar.Mul, n, intConst(at, scalar.Int64, step)))
		*out = append(*out, c.assign(ref(outlives, at), end, guard, at))
	}
	return true
}

// limits are what a loop's variable begins with and is compared with, as numbers, and what it is at least. A loop that may go
// round the values of its type before it ends does not count, nor one near the ends of int64; a parallel one must.
func (c *converter) limits(h *header, first, last *expr, parallel bool, guard *expr, out *[]stmt, at Pos) (from, to *expr, least int64) {
	compared := common(at, &expr{kind: varExpr, typ: promoted(h.typ)}, convert(last, promoted(last.typ)))
	as := convert(last, compared)
	f, l := first.reach(), as.reach()
	if !ends(h.typ, compared, h.op, f, l, h.step) || f.far() || l.far() {
		if !parallel {
			panic(notCounted{})
		}
		if h.typ.Bits() < 32 {
			fail(at, "the variable %s of a parallel loop is %s, which may go round before the loop ends, expected int or int64_t", h.name, cName(h.typ))
		}
	}
	// A value that affine expressions do not have is computed in front of the loop.
	apart := func(x *expr, name string) *expr {
		v := c.declare(name, localVar, scalar.Int64, at)
		*out = append(*out, c.assign(ref(v, at), convert(x, scalar.Int64), guard, at))
		return ref(v, at)
	}
	from, to = convert(first, scalar.Int64), convert(as, scalar.Int64)
	if !f.exact {
		from = apart(first, "first")
	}
	switch {
	case l.exact:
	case l.below && h.step > 0 && f.hi <= largestSize: // where it is less than 0 ours has no iteration, C 2^31 and more
		to = convert(last, scalar.Int64)
	default:
		to = apart(as, "last")
	}
	least = f.lo
	if h.step < 0 {
		least = l.lo
	}
	return from, to, least
}

// notCounted says that a loop does not count.
type notCounted struct{}

// changesIn reports whether the text of a statement may give a name a new value.
func changesIn(n cc.Node, name string) bool {
	tokens := cc.NodeTokens(n)
	slices.SortStableFunc(tokens, func(a, b cc.Token) int { return int(a.Seq()) - int(b.Seq()) })
	for i, t := range tokens {
		if t.SrcStr() != name {
			continue
		}
		for _, j := range []int{i - 1, i + 1} {
			if j < 0 || j >= len(tokens) {
				continue
			}
			w := tokens[j].SrcStr()
			if w == "++" || w == "--" || j < i && w == "&" && (i < 2 || !operand(tokens[i-2].SrcStr())) ||
				j > i && strings.HasSuffix(w, "=") && w != "==" && w != "!=" && w != "<=" && w != ">=" {
				return true
			}
		}
	}
	return false
}

// operand reports whether a token ends an operand, so that a & after it is binary.
func operand(w string) bool {
	return w == ")" || w == "]" || w != "" && (w[0] >= 'a' && w[0] <= 'z' && w != "return" || w[0] >= 'A' && w[0] <= 'Z' || w[0] == '_' || w[0] >= '0' && w[0] <= '9')
}

// written reports whether a statement may change what an expression has.
func (c *converter) written(x *expr, n cc.Node) bool {
	found := false
	arrays := map[string]bool{}
	x.walk(func(y *expr) {
		switch {
		case y.kind == elemExpr:
			arrays[y.array.name] = true
		case y.kind == varExpr && y.v.kind == localVar:
			found = found || changesIn(n, y.v.source())
		}
	})
	if len(arrays) == 0 {
		return found
	}
	// An array may be changed under the name of a parameter of a function: any
	// assignment to an element of a constant array cannot be.
	x.walk(func(y *expr) {
		if y.kind == elemExpr && !y.array.constant {
			found = true
		}
	})
	return found
}

// tryStep is step without an error.
func (c *converter) tryStep(n cc.ExpressionNode, name string) (int64, bool) {
	step, err := func() (step int64, err error) {
		defer caught(&err)
		return c.step(n, name, Pos{}), nil
	}()
	return step, err == nil
}

// compared takes a comparison of a name with something apart.
func compared(n cc.ExpressionNode, name string) (op string, right cc.ExpressionNode, ok bool) {
	var left cc.ExpressionNode
	switch x := unwrap(n).(type) {
	case *cc.RelationalExpression:
		left, op, right = x.RelationalExpression, x.Token.SrcStr(), x.ShiftExpression
	case *cc.EqualityExpression:
		left, op, right = x.EqualityExpression, x.Token.SrcStr(), x.RelationalExpression
	default:
		return "", nil, false
	}
	if identifier(left) != name {
		left, right = right, left
		op = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}[op]
	}
	return op, right, identifier(left) == name && op != ""
}

// stepped converts x++ and the like for its value.
func (c *converter) stepped(n cc.ExpressionNode, up, old bool, at Pos) *expr {
	x := c.expr(n)
	if old {
		v := c.declare("before", localVar, x.typ, at)
		*c.out = append(*c.out, c.assign(ref(v, at), x, c.guard, at))
		x = ref(v, at)
	}
	c.increment(n, up, c.guard, c.out)
	if !old {
		x = c.expr(n)
	}
	return x
}
