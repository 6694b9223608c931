package cfront

import (
	"regexp"

	"modernc.org/cc/v4"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// statements says which statements are supported.
func (c *converter) statements() string {
	if c.whole != nil {
		return "supported are for, while, do, if, break, continue, return, assignments, declarations and calls"
	}
	return "supported are for loops, if, assignments and declarations"
}

// statement converts a statement and appends to out what it becomes.
func (c *converter) statement(s *cc.Statement, guard *expr, out *[]stmt) {
	c.steps++
	at := c.u.pos(s)
	guard = c.live(guard, at)
	outer, around := c.out, c.guard
	c.out, c.guard = out, guard
	defer func() { c.out, c.guard = outer, around }()
	if c.steps > maxStatements {
		fail(at, "more than %d statements", maxStatements)
	}
	if c.whole != nil && c.directed(s, at, guard, out) {
		return
	}
	switch s.Case {
	case cc.StatementCompound:
		c.block(s.CompoundStatement, guard, out)
	case cc.StatementExpr:
		if e := s.ExpressionStatement.ExpressionList; e != nil {
			c.effect(e, guard, out)
		}
	case cc.StatementSelection:
		c.selection(s.SelectionStatement, guard, out)
	case cc.StatementIteration:
		if c.whole != nil {
			c.wholeLoop(s.IterationStatement, guard, out)
			return
		}
		c.iteration(s.IterationStatement, guard, out)
	case cc.StatementJump:
		c.jump(s.JumpStatement, guard, out, at)
	case cc.StatementLabeled:
		fail(at, "a label: %s", c.statements())
	default:
		fail(at, "asm: %s", c.statements())
	}
}

func (c *converter) block(s *cc.CompoundStatement, guard *expr, out *[]stmt) {
	c.push()
	for l := s.BlockItemList; l != nil; l = l.BlockItemList {
		c.item(l.BlockItem, guard, out)
	}
	c.pop()
}

func (c *converter) item(item *cc.BlockItem, guard *expr, out *[]stmt) {
	switch item.Case {
	case cc.BlockItemDecl:
		outer, around := c.out, c.guard
		c.out, c.guard = out, c.live(guard, c.u.pos(item))
		c.declaration(item.Declaration, c.guard, out)
		c.out, c.guard = outer, around
	case cc.BlockItemStmt:
		c.statement(item.Statement, guard, out)
	default:
		fail(c.u.pos(item), "a label or a nested function: %s", c.statements())
	}
}

// assigned finds what gives a new value to a name, as far as the text shows.
func (c *converter) assigned(name string) bool {
	q := regexp.QuoteMeta(name)
	re := regexp.MustCompile(`(?:\+\+|--)\s*\(*\s*` + q + `\b|\b` + q + `\b[\s)]*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=[^=])`)
	return len(re.FindAllStringIndex(c.u.source, 2)) > 1 // the declaration itself is one
}

func (c *converter) declaration(d *cc.Declaration, guard *expr, out *[]stmt) {
	if l := d.InitDeclaratorList; l != nil && l.InitDeclarator.Declarator.Name() == "__func__" {
		return // the parser declares it in each function
	}
	if d.Case != cc.DeclarationDecl {
		fail(c.u.pos(d), "a declaration of another kind, expected variables such as float x = 0;")
	}
	for s := d.DeclarationSpecifiers; s != nil; s = s.DeclarationSpecifiers {
		if s.StorageClassSpecifier != nil && s.StorageClassSpecifier.Case != cc.StorageClassSpecifierAuto && s.StorageClassSpecifier.Case != cc.StorageClassSpecifierRegister {
			fail(c.u.pos(s), "%s: expected local variables only", s.StorageClassSpecifier.Token.SrcStr())
		}
	}
	for l := d.InitDeclaratorList; l != nil; l = l.InitDeclaratorList {
		dec := l.InitDeclarator.Declarator
		name, at := dec.Name(), c.u.pos(dec)
		if _, twice := c.scopes[len(c.scopes)-1][name]; twice {
			fail(at, "%s is declared twice in one block", name)
		}
		size, depth := c.dims(dec)
		if t := c.structures(d.DeclarationSpecifiers); c.whole != nil && t != nil && depth == 0 {
			c.localStruct(t, dec, l.InitDeclarator.Initializer, guard, out)
			continue
		}
		if c.whole != nil && depth == 1 && size == nil {
			var init cc.ExpressionNode
			if in := l.InitDeclarator.Initializer; in != nil {
				init = in.AssignmentExpression
			}
			t, _ := c.specifiers(d.DeclarationSpecifiers)
			c.pointerTo(name, t, c.structures(d.DeclarationSpecifiers), init, guard, out, at)
			continue
		}
		if depth > 0 {
			what := ""
			if l.InitDeclarator.Initializer != nil && l.InitDeclarator.Initializer.AssignmentExpression != nil {
				if a := c.mentioned(l.InitDeclarator.Initializer.AssignmentExpression); a != nil {
					what = ", a second name of array " + a.name
				}
			}
			fail(at, "pointer %s%s: supported are arrays that are parameters, each under one name", name, what)
		}
		if size != nil && c.whole != nil {
			c.localArray(name, c.elementType(d.DeclarationSpecifiers, c.u.pos(d)), size, l.InitDeclarator.Initializer, guard, out, at)
			continue
		}
		if size != nil {
			fail(at, "local array %s: expected arrays to be parameters", name)
		}
		t := c.elementType(d.DeclarationSpecifiers, c.u.pos(d))
		var init *expr
		if in := l.InitDeclarator.Initializer; in != nil {
			if in.AssignmentExpression == nil {
				fail(at, "a list of initial values for %s, expected one value", name)
			}
			init = c.expr(in.AssignmentExpression)
		}
		if c.whole != nil && c.whole.memory[name] && t != scalar.Bool {
			a := c.newArray(name, t, []lattice.Expr{lattice.Const(1)}, c.scope(), at)
			a.single = true
			c.bind(name, a)
			if init != nil {
				*out = append(*out, c.assign(c.element1(place{array: a, index: []*expr{intConst(at, scalar.Int64, 0)}}, at), init, guard, at))
			}
			continue
		}
		v := c.declare(name, localVar, t, at)
		v.host = len(c.loops) == 0
		if init != nil {
			x := convert(init, t)
			if e, ok := c.index(x); ok && c.whole == nil && t.Int() && t.Bits() >= 32 && !c.assigned(name) {
				v.alias = c.k.expr(e, t, at)
			} else {
				*out = append(*out, c.assign(&expr{kind: varExpr, typ: t, pos: at, v: v}, x, guard, at))
			}
		}
		c.bind(name, v)
	}
}

// index returns an expression that is affine in loop variables.
func (c *converter) index(x *expr) (e lattice.Expr, ok bool) {
	ok = true
	x.walk(func(y *expr) { ok = ok && (y.kind != varExpr || y.v.kind == loopVar) })
	if !ok {
		return e, false
	}
	return affine(x)
}

// mentioned returns an array that an expression names.
func (c *converter) mentioned(n cc.ExpressionNode) *array {
	for _, t := range cc.NodeTokens(n) {
		if a, ok := c.lookup(t.SrcStr()).(*array); ok {
			return a
		}
	}
	return nil
}

func (c *converter) assign(target, value, guard *expr, at Pos) *assign {
	if target.kind == varExpr && target.v.scope == nil && len(c.loops) == 0 {
		target.v.host = true
	}
	return &assign{target: target, value: convert(value, target.typ), guard: guard, pos: at}
}

var assignOps = map[cc.AssignmentExpressionCase]scalar.Op{
	cc.AssignmentExpressionMul: scalar.Mul, cc.AssignmentExpressionDiv: scalar.Div, cc.AssignmentExpressionMod: scalar.Rem,
	cc.AssignmentExpressionAdd: scalar.Add, cc.AssignmentExpressionSub: scalar.Sub, cc.AssignmentExpressionLsh: scalar.Shl,
	cc.AssignmentExpressionRsh: scalar.Shr, cc.AssignmentExpressionAnd: scalar.And, cc.AssignmentExpressionXor: scalar.Xor,
	cc.AssignmentExpressionOr: scalar.Or,
}

// effect converts an expression that is a statement.
func (c *converter) effect(n cc.ExpressionNode, guard *expr, out *[]stmt) {
	at := c.u.pos(n)
	switch n := n.(type) {
	case *cc.ExpressionList:
		for l := n; l != nil; l = l.ExpressionList {
			c.effect(l.AssignmentExpression, guard, out)
		}
		return
	case *cc.PrimaryExpression:
		if n.Case == cc.PrimaryExpressionExpr {
			c.effect(n.ExpressionList, guard, out)
			return
		}
	case *cc.CastExpression:
		if n.Case == cc.CastExpressionCast { // (void)x
			c.expr(n.CastExpression)
			return
		}
	case *cc.AssignmentExpression:
		if c.whole != nil && n.Case != cc.AssignmentExpressionCond {
			if n.Case == cc.AssignmentExpressionAssign && c.copied(n.UnaryExpression, n.AssignmentExpression, nil, guard, out, at) {
				return
			}
			if c.repointed(n, guard, out, at) || c.storedPointer(n, guard, out, at) {
				return
			}
		}
		if n.Case != cc.AssignmentExpressionCond {
			target := c.target(n.UnaryExpression)
			value := c.expr(n.AssignmentExpression)
			if op, ok := assignOps[n.Case]; ok {
				value = c.operation(at, op, target, value)
			}
			a := c.assign(target, value, guard, at)
			c.markAtomic(a, n, at)
			*out = append(*out, a)
			return
		}
	case *cc.PostfixExpression:
		switch n.Case {
		case cc.PostfixExpressionInc, cc.PostfixExpressionDec:
			c.increment(n.PostfixExpression, n.Case == cc.PostfixExpressionInc, guard, out)
			return
		case cc.PostfixExpressionCall:
			c.callStatement(n, at)
			return
		}
	case *cc.UnaryExpression:
		switch n.Case {
		case cc.UnaryExpressionInc, cc.UnaryExpressionDec:
			c.increment(n.UnaryExpression, n.Case == cc.UnaryExpressionInc, guard, out)
			return
		}
	}
	fail(at, "a statement without effect: %s", c.statements())
}

func (c *converter) increment(n cc.ExpressionNode, up bool, guard *expr, out *[]stmt) {
	if p, ok := c.lookup(identifier(n)).(*pointer); ok {
		by := int64(-1)
		if up {
			by = 1
		}
		at := c.u.pos(n)
		*out = append(*out, c.assign(ref(p.index, at), binary(at, scalar.Add, ref(p.index, at), intConst(at, scalar.Int64, by)), guard, at))
		return
	}
	target := c.target(n)
	op := scalar.Sub
	if up {
		op = scalar.Add
	}
	a := c.assign(target, c.operation(target.pos, op, target, intConst(target.pos, scalar.Int32, 1)), guard, target.pos)
	c.markAtomic(a, n, c.u.pos(n))
	*out = append(*out, a)
}

// target converts what is assigned to.
func (c *converter) target(n cc.ExpressionNode) *expr {
	x := c.expr(n)
	switch {
	case x.kind == elemExpr:
		if x.array.constant {
			fail(x.pos, "%s is const", x.array.name)
		}
		return x
	case x.kind == varExpr && x.v.kind == localVar:
		return x
	case x.kind == varExpr && x.v.kind == loopVar:
		fail(x.pos, "%s is changed in its loop, expected only the loop to change it", identifier(n))
	}
	if name := identifier(n); name != "" {
		if v, ok := c.lookup(name).(*variable); ok {
			if v.kind == localVar {
				fail(x.pos, "%s is an index and changed by more than its declaration: expected a value that does not change", name)
			}
			fail(x.pos, "parameter %s is changed, expected a local variable or an element of an array", name)
		}
	}
	fail(x.pos, "assignment to what is neither a variable nor an element of an array")
	return nil
}

func (c *converter) selection(s *cc.SelectionStatement, guard *expr, out *[]stmt) {
	at := c.u.pos(s)
	if s.Case == cc.SelectionStatementSwitch {
		fail(at, "switch: %s", c.statements())
	}
	var cond *expr
	if c.whole != nil {
		cond = c.condition1(s.ExpressionList)
	} else {
		cond = truth(c.expr(s.ExpressionList))
	}
	if cond.kind == constExpr {
		branch := s.Statement
		if cond.value == 0 {
			branch = s.Statement2
		}
		if branch != nil {
			c.statement(branch, guard, out)
		}
		return
	}
	if steady(cond) {
		c.statement(s.Statement, and(guard, cond), out)
		if s.Statement2 != nil {
			c.statement(s.Statement2, and(guard, not(cond)), out)
		}
		return
	}
	// The condition is looked at once: a branch may change what it depends on.
	v := c.declare("if", localVar, scalar.Bool, at)
	v.host = len(c.loops) == 0
	taken := &expr{kind: varExpr, typ: scalar.Bool, pos: at, v: v}
	*out = append(*out, c.assign(taken, and(guard, cond), nil, at))
	c.statement(s.Statement, taken, out)
	if s.Statement2 != nil {
		c.statement(s.Statement2, and(guard, not(taken)), out)
	}
}
