package cfront

import (
	"modernc.org/cc/v4"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

func (c *converter) iteration(s *cc.IterationStatement, guard *expr, out *[]stmt) {
	at := c.u.pos(s)
	if s.Case != cc.IterationStatementFor && s.Case != cc.IterationStatementForDecl {
		fail(at, "%s loop: supported are for loops such as for (int i = 0; i < N; i++)", s.Token.SrcStr())
	}
	c.push()
	defer c.pop()
	l := &loop{pos: at}
	var name string
	var typ scalar.Type
	var init *expr
	var cond, inc cc.ExpressionNode
	if s.Case == cc.IterationStatementForDecl {
		d := s.Declaration
		if d.InitDeclaratorList == nil || d.InitDeclaratorList.InitDeclaratorList != nil || d.InitDeclaratorList.InitDeclarator.Initializer == nil ||
			d.InitDeclaratorList.InitDeclarator.Initializer.AssignmentExpression == nil {
			fail(at, "a loop with several variables or without a start, expected one such as int i = 0")
		}
		in := d.InitDeclaratorList.InitDeclarator
		if size, depth := c.dims(in.Declarator); size != nil || depth > 0 {
			fail(c.u.pos(in.Declarator), "a loop over pointers, expected an integer")
		}
		name, typ = in.Declarator.Name(), c.elementType(d.DeclarationSpecifiers, c.u.pos(d))
		init = c.expr(in.Initializer.AssignmentExpression)
		cond, inc = s.ExpressionList, s.ExpressionList2
	} else {
		a, ok := unwrap(s.ExpressionList).(*cc.AssignmentExpression)
		if !ok || a.Case != cc.AssignmentExpressionAssign {
			fail(at, "a loop without a start, expected for (i = 0; i < N; i++)")
		}
		name = identifier(a.UnaryExpression)
		v, ok := c.lookup(name).(*variable)
		if !ok || v.kind != localVar {
			fail(c.u.pos(a), "a loop over what is no local variable, expected for (int i = 0; i < N; i++)")
		}
		typ = v.typ
		init = c.expr(a.AssignmentExpression)
		cond, inc = s.ExpressionList2, s.ExpressionList3
	}
	if !typ.Int() || typ.Bits() < 32 {
		fail(at, "the loop's variable %s is %s, expected int or int64_t", name, cName(typ))
	}
	l.v = c.declare(name, loopVar, typ, at)
	l.v.symbol = true
	first := c.bound(init, "start")
	from := convert(init, typ).reach()
	if !from.exact {
		fail(at, "loop variable %s is %s and begins with what may be less than 0, expected int or int64_t", name, cName(typ))
	}
	step := c.step(inc, name, at)
	l.step = step
	if typ.Unsigned() && step < 0 {
		fail(at, "loop variable %s is %s and counts down: it is never less than 0, expected int or int64_t", name, cName(typ))
	}
	last, lastExpr := c.condition(cond, name, step, at)
	l.literal = literal(init) && literal(lastExpr)
	if step > 0 {
		l.v.least = &from.lo
	}
	if step > 0 {
		l.lo, l.hi = first, last.Plus(1)
	} else {
		l.lo, l.hi = last, first.Plus(1)
	}
	c.bind(name, l.v)
	c.loops = append(c.loops, l)
	c.statement(s.Statement, guard, &l.body)
	c.loops = c.loops[:len(c.loops)-1]
	*out = append(*out, l)
}

func literal(x *expr) bool {
	found := false
	x.walk(func(y *expr) { found = found || y.kind == varExpr || y.kind == elemExpr })
	return !found
}

func (c *converter) bound(x *expr, what string) lattice.Expr {
	if e, ok := affine(x); ok {
		return e
	}
	fail(x.pos, "a %s of the loop that is not affine: supported are sums of constants, parameters and outer loop variables, each times a constant", what)
	return lattice.Expr{}
}

// unwrap removes parentheses and lists of one expression.
func unwrap(n cc.ExpressionNode) cc.ExpressionNode {
	for {
		switch x := n.(type) {
		case *cc.ExpressionList:
			if x.ExpressionList != nil {
				return n
			}
			n = x.AssignmentExpression
		case *cc.PrimaryExpression:
			if x.Case != cc.PrimaryExpressionExpr {
				return n
			}
			n = x.ExpressionList
		default:
			return n
		}
	}
}

// step returns by how much a loop changes its variable.
func (c *converter) step(n cc.ExpressionNode, name string, at Pos) int64 {
	const want = "expected a step such as i++, i--, i += 2 or i -= 2"
	switch x := unwrap(n).(type) {
	case *cc.PostfixExpression:
		if identifier(x.PostfixExpression) == name && x.Case == cc.PostfixExpressionInc {
			return 1
		}
		if identifier(x.PostfixExpression) == name && x.Case == cc.PostfixExpressionDec {
			return -1
		}
	case *cc.UnaryExpression:
		if x.Case == cc.UnaryExpressionInc && identifier(x.UnaryExpression) == name {
			return 1
		}
		if x.Case == cc.UnaryExpressionDec && identifier(x.UnaryExpression) == name {
			return -1
		}
	case *cc.AssignmentExpression:
		if identifier(x.UnaryExpression) != name {
			break
		}
		sign, by := int64(1), x.AssignmentExpression
		switch x.Case {
		case cc.AssignmentExpressionAdd:
		case cc.AssignmentExpressionSub:
			sign = -1
		case cc.AssignmentExpressionAssign: // i = i + 2
			sum, ok := unwrap(x.AssignmentExpression).(*cc.AdditiveExpression)
			if !ok || identifier(sum.AdditiveExpression) != name {
				fail(c.u.pos(x), "%s", want)
			}
			by = sum.MultiplicativeExpression
			if sum.Case == cc.AdditiveExpressionSub {
				sign = -1
			}
		default:
			fail(c.u.pos(x), "%s", want)
		}
		e, ok := affine(c.expr(by))
		k, isConst := e.Const()
		if !ok || !isConst || k == 0 || k > 1<<30 || k < -1<<30 {
			fail(c.u.pos(by), "a step that is no constant, %s", want)
		}
		return sign * k
	}
	fail(at, "a loop that does not step %s, %s", name, want)
	return 0
}

// condition returns the last value that a loop's variable may have.
func (c *converter) condition(n cc.ExpressionNode, name string, step int64, at Pos) (lattice.Expr, *expr) {
	const want = "expected a condition such as i < N"
	var left, right cc.ExpressionNode
	var op string
	switch x := unwrap(n).(type) {
	case *cc.RelationalExpression:
		left, op, right = x.RelationalExpression, x.Token.SrcStr(), x.ShiftExpression
	case *cc.EqualityExpression:
		left, op, right = x.EqualityExpression, x.Token.SrcStr(), x.RelationalExpression
	default:
		fail(at, "a loop without an end, %s", want)
	}
	if identifier(left) != name {
		left, right = right, left
		op = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<="}[op]
	}
	if identifier(left) != name {
		fail(c.u.pos(n), "a condition on something else than %s, %s", name, want)
	}
	x := c.expr(right)
	e := c.bound(x, "bound")
	switch {
	case op == "<" && step > 0, op == "!=" && step == 1:
		return e.Plus(-1), x
	case op == "<=" && step > 0, op == ">=" && step < 0:
		return e, x
	case op == ">" && step < 0, op == "!=" && step == -1:
		return e.Plus(1), x
	}
	fail(c.u.pos(n), "a condition that a step of %d does not end at, %s", step, want)
	return e, x
}
