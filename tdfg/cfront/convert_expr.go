package cfront

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"modernc.org/cc/v4"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// expr converts an expression.
func (c *converter) expr(n cc.ExpressionNode) *expr {
	at := c.u.pos(n)
	switch n := n.(type) {
	case *cc.PrimaryExpression:
		return c.primary(n, at)
	case *cc.PostfixExpression:
		return c.postfix(n, at)
	case *cc.UnaryExpression:
		return c.unary(n, at)
	case *cc.CastExpression:
		if n.Case == cc.CastExpressionUnary {
			return c.expr(n.UnaryExpression)
		}
		return c.cast(n, at)
	case *cc.MultiplicativeExpression:
		switch n.Case {
		case cc.MultiplicativeExpressionMul:
			return c.operation(at, scalar.Mul, c.expr(n.MultiplicativeExpression), c.expr(n.CastExpression))
		case cc.MultiplicativeExpressionDiv:
			return c.operation(at, scalar.Div, c.expr(n.MultiplicativeExpression), c.expr(n.CastExpression))
		case cc.MultiplicativeExpressionMod:
			return c.operation(at, scalar.Rem, c.expr(n.MultiplicativeExpression), c.expr(n.CastExpression))
		}
		return c.expr(n.CastExpression)
	case *cc.AdditiveExpression:
		switch n.Case {
		case cc.AdditiveExpressionAdd:
			return c.operation(at, scalar.Add, c.expr(n.AdditiveExpression), c.expr(n.MultiplicativeExpression))
		case cc.AdditiveExpressionSub:
			return c.operation(at, scalar.Sub, c.expr(n.AdditiveExpression), c.expr(n.MultiplicativeExpression))
		}
		return c.expr(n.MultiplicativeExpression)
	case *cc.ShiftExpression:
		switch n.Case {
		case cc.ShiftExpressionLsh:
			return c.operation(at, scalar.Shl, c.expr(n.ShiftExpression), c.expr(n.AdditiveExpression))
		case cc.ShiftExpressionRsh:
			return c.operation(at, scalar.Shr, c.expr(n.ShiftExpression), c.expr(n.AdditiveExpression))
		}
		return c.expr(n.AdditiveExpression)
	case *cc.RelationalExpression:
		op := map[cc.RelationalExpressionCase]scalar.Op{cc.RelationalExpressionLt: scalar.Lt, cc.RelationalExpressionGt: scalar.Gt,
			cc.RelationalExpressionLeq: scalar.Le, cc.RelationalExpressionGeq: scalar.Ge}[n.Case]
		if op == scalar.NoOp {
			return c.expr(n.ShiftExpression)
		}
		return c.operation(at, op, c.expr(n.RelationalExpression), c.expr(n.ShiftExpression))
	case *cc.EqualityExpression:
		switch n.Case {
		case cc.EqualityExpressionEq, cc.EqualityExpressionNeq:
			if c.whole != nil && (c.isPointer(n.EqualityExpression) || c.isPointer(n.RelationalExpression)) {
				return c.comparePointers(map[bool]scalar.Op{true: scalar.Eq, false: scalar.Ne}[n.Case == cc.EqualityExpressionEq], n.EqualityExpression, n.RelationalExpression, at)
			}
		}
		switch n.Case {
		case cc.EqualityExpressionEq:
			return c.operation(at, scalar.Eq, c.expr(n.EqualityExpression), c.expr(n.RelationalExpression))
		case cc.EqualityExpressionNeq:
			return c.operation(at, scalar.Ne, c.expr(n.EqualityExpression), c.expr(n.RelationalExpression))
		}
		return c.expr(n.RelationalExpression)
	case *cc.AndExpression:
		if n.Case == cc.AndExpressionAnd {
			return c.operation(at, scalar.And, c.expr(n.AndExpression), c.expr(n.EqualityExpression))
		}
		return c.expr(n.EqualityExpression)
	case *cc.ExclusiveOrExpression:
		if n.Case == cc.ExclusiveOrExpressionXor {
			return c.operation(at, scalar.Xor, c.expr(n.ExclusiveOrExpression), c.expr(n.AndExpression))
		}
		return c.expr(n.AndExpression)
	case *cc.InclusiveOrExpression:
		if n.Case == cc.InclusiveOrExpressionOr {
			return c.operation(at, scalar.Or, c.expr(n.InclusiveOrExpression), c.expr(n.ExclusiveOrExpression))
		}
		return c.expr(n.ExclusiveOrExpression)
	case *cc.LogicalAndExpression:
		if n.Case == cc.LogicalAndExpressionLAnd {
			x := truth(c.expr(n.LogicalAndExpression))
			return and(x, truth(c.where(x, n.InclusiveOrExpression)))
		}
		return c.expr(n.InclusiveOrExpression)
	case *cc.LogicalOrExpression:
		if n.Case == cc.LogicalOrExpressionLOr {
			x := truth(c.expr(n.LogicalOrExpression))
			return fold(&expr{kind: opExpr, typ: scalar.Bool, pos: at, op: scalar.Or, args: []*expr{x, truth(c.where(not(x), n.LogicalAndExpression))}})
		}
		return c.expr(n.LogicalAndExpression)
	case *cc.ConditionalExpression:
		if n.Case == cc.ConditionalExpressionCond {
			if n.ExpressionList == nil {
				fail(at, "?: without a second operand, expected one")
			}
			cond := truth(c.expr(n.LogicalOrExpression))
			return choose(at, cond, c.where(cond, n.ExpressionList), c.where(not(cond), n.ConditionalExpression))
		}
		return c.expr(n.LogicalOrExpression)
	case *cc.AssignmentExpression:
		if n.Case == cc.AssignmentExpressionCond {
			return c.expr(n.ConditionalExpression)
		}
		if c.whole != nil && c.out != nil {
			c.effect(n, c.guard, c.out)
			return c.expr(n.UnaryExpression)
		}
		fail(at, "an assignment inside an expression, expected a statement of its own")
	case *cc.ExpressionList:
		if n.ExpressionList == nil {
			return c.expr(n.AssignmentExpression)
		}
		fail(at, "a comma operator, expected one expression")
	case *cc.ConstantExpression:
		return c.expr(n.ConditionalExpression)
	}
	fail(at, "an expression of a kind that is not supported")
	return nil
}

// operation is binary with the checks of C and of the element types.
func (c *converter) operation(at Pos, op scalar.Op, x, y *expr) *expr {
	x, y = asNumber(x), asNumber(y)
	if (op == scalar.Div || op == scalar.Rem) && y.kind == constExpr && y.typ.Int() && y.value == 0 && !x.typ.Float() && x.kind != doubleExpr {
		fail(at, "a division by zero, which C does not define")
	}
	switch op {
	case scalar.Shl, scalar.Shr:
		t := promoted(x.typ)
		if n := promoted(y.typ); y.kind == constExpr && n.Int() && t.Int() {
			if by := scalar.Convert(y.typ, n, y.value); n.Signed() && scalar.ToInt(n, by) < 0 || by >= uint64(t.Bits()) {
				fail(at, "a shift by %s of %s, which C defines for 0 to %d: convert the operand first, as in (int64_t)x << %[1]s", scalar.Format(n, by), cName(t), t.Bits()-1)
			}
		}
		if !t.Int() || !promoted(y.typ).Int() || x.kind == doubleExpr || y.kind == doubleExpr {
			fail(at, "a shift of %s, expected integers", cName(t))
		}
		return fold(&expr{kind: opExpr, typ: t, pos: at, op: op, args: []*expr{convert(x, t), convert(y, t)}})
	case scalar.Rem, scalar.And, scalar.Or, scalar.Xor:
		t := common(at, x, y)
		if t.Float() {
			fail(at, "%s of %s: supported for floating-point numbers are + - * / and comparisons", cOp(op), cName(t))
		}
	}
	return binary(at, op, x, y)
}

// asNumber returns a condition as the int that it is in C.
func asNumber(x *expr) *expr {
	if x.typ == scalar.Bool {
		return convert(x, scalar.Int32)
	}
	return x
}

func cOp(op scalar.Op) string {
	switch op {
	case scalar.Rem:
		return "%"
	case scalar.And:
		return "&"
	case scalar.Or:
		return "|"
	case scalar.Xor:
		return "^"
	}
	return op.String()
}

func (c *converter) primary(n *cc.PrimaryExpression, at Pos) *expr {
	switch n.Case {
	case cc.PrimaryExpressionIdent:
		name := n.Token.SrcStr()
		switch x := c.lookup(name).(type) {
		case *variable:
			if x.alias != nil {
				return x.alias
			}
			return &expr{kind: varExpr, typ: x.typ, pos: at, v: x}
		case *array:
			if x.single {
				return c.element1(place{array: x, index: []*expr{intConst(at, scalar.Int64, 0)}}, at)
			}
			fail(at, "array %s without a subscript: pointers and their arithmetic are not supported, write %s[i]", name, name)
		}
		if p, ok := c.lookup(name).(*pointer); ok { // whether it is not NULL
			return binary(at, scalar.Ne, ref(p.index, at), intConst(at, scalar.Int64, -1))
		}
		if name == "NULL" {
			return intConst(at, scalar.Int64, 0)
		}
		if name == "INFINITY" {
			return &expr{kind: constExpr, typ: scalar.FP32, pos: at, value: scalar.FromFloat(scalar.FP32, math.Inf(1))}
		}
		c.undeclared(at, name)
	case cc.PrimaryExpressionInt:
		return c.integer(n.Token.SrcStr(), at)
	case cc.PrimaryExpressionFloat:
		return c.float(n.Token.SrcStr(), at)
	case cc.PrimaryExpressionChar:
		if s, err := strconv.Unquote(n.Token.SrcStr()); err == nil && len(s) == 1 {
			return intConst(at, scalar.Int32, int64(int8(s[0])))
		}
		fail(at, "character %s, expected a number", n.Token.SrcStr())
	case cc.PrimaryExpressionExpr:
		return c.expr(n.ExpressionList)
	}
	fail(at, "a string or another expression that is no number")
	return nil
}

func (c *converter) integer(text string, at Pos) *expr {
	digits := strings.TrimRight(text, "uUlL")
	suffix := strings.ToLower(text[len(digits):])
	v, err := strconv.ParseUint(digits, 0, 64)
	if err != nil || strings.Contains(digits, "_") {
		fail(at, "number %s: supported are integers of up to 64 bits", text)
	}
	// The first type that has the number; one in hexadecimal may be unsigned.
	unsigned, long := strings.Contains(suffix, "u"), strings.Contains(suffix, "l")
	decimal := !strings.HasPrefix(digits, "0") || digits == "0"
	for _, t := range []scalar.Type{scalar.Int32, scalar.UInt32, scalar.Int64, scalar.UInt64} {
		if long && t.Bits() == 32 || unsigned && t.Signed() || !unsigned && decimal && t.Unsigned() {
			continue
		}
		if high := t.Mask(); v <= high && (t.Unsigned() || v <= high>>1) {
			return &expr{kind: constExpr, typ: t, pos: at, value: v}
		}
	}
	fail(at, "number %s is larger than those of int64_t, expected %sU", text, text)
	return nil
}

func (c *converter) float(text string, at Pos) *expr {
	digits := strings.TrimRight(text, "fFlL")
	if strings.HasPrefix(strings.ToLower(text), "0x") {
		digits = text
		if strings.HasSuffix(strings.ToLower(text), "f") && strings.ContainsAny(text, "pP") {
			digits = text[:len(text)-1]
		}
	}
	suffix := strings.ToLower(text[len(digits):])
	if suffix == "l" {
		fail(at, "number %s is a long double: expected a float such as 0.5f", text)
	}
	if suffix == "f" {
		v, err := strconv.ParseFloat(digits, 32)
		if err != nil {
			fail(at, "number %s, expected one that a float holds", text)
		}
		return &expr{kind: constExpr, typ: scalar.FP32, pos: at, value: scalar.FromFloat(scalar.FP32, v)}
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		fail(at, "number %s, expected one that a double holds", text)
	}
	if c.whole != nil {
		return &expr{kind: constExpr, typ: scalar.FP64, pos: at, value: scalar.FromFloat(scalar.FP64, v)}
	}
	return &expr{kind: doubleExpr, typ: scalar.FP32, pos: at, double: v}
}

func (c *converter) postfix(n *cc.PostfixExpression, at Pos) *expr {
	switch n.Case {
	case cc.PostfixExpressionPrimary:
		return c.expr(n.PrimaryExpression)
	case cc.PostfixExpressionIndex, cc.PostfixExpressionSelect, cc.PostfixExpressionPSelect:
		if c.whole != nil {
			return c.wholeElement(n, at)
		}
		if n.Case != cc.PostfixExpressionIndex {
			fail(at, "a member of a structure: supported are arrays of numbers")
		}
		return c.element(n, at)
	case cc.PostfixExpressionCall:
		return c.call(n)
	case cc.PostfixExpressionInc, cc.PostfixExpressionDec:
		if c.whole != nil {
			return c.stepped(n.PostfixExpression, n.Case == cc.PostfixExpressionInc, true, at)
		}
		fail(at, "%s inside an expression, expected a statement of its own", n.Token.SrcStr())
	}
	fail(at, "a compound literal: supported are arrays and variables")
	return nil
}

// element converts A[i][j].
func (c *converter) element(n *cc.PostfixExpression, at Pos) *expr {
	var index []*expr
	var base cc.ExpressionNode = n
	for {
		p, ok := unwrap(base).(*cc.PostfixExpression)
		if !ok || p.Case != cc.PostfixExpressionIndex {
			break
		}
		i := c.expr(p.ExpressionList)
		if i.kind == doubleExpr || !promoted(i.typ).Int() {
			fail(i.pos, "a subscript of type %s, expected an integer", cName(i.typ))
		}
		index = append([]*expr{i}, index...)
		base = p.PostfixExpression
	}
	name := identifier(base)
	a, ok := c.lookup(name).(*array)
	switch {
	case !ok && name != "" && c.lookup(name) == nil:
		c.undeclared(at, name)
	case !ok && name != "":
		fail(at, "%s is not an array", name)
	case !ok:
		fail(at, "a subscript of an expression: pointer arithmetic is not supported, expected the name of an array")
	case !a.declared:
		fail(at, "array %s has no inf_array: expected inf_array(%s, ...) with its sizes in front of the region", a.name, a.name)
	case len(index) != len(a.size):
		fail(at, "%d subscripts of %s, which has %d dimensions", len(index), a.name, len(a.size))
	}
	return &expr{kind: elemExpr, typ: a.typ, pos: at, array: a, index: index}
}

// functions are those of the C library that a kernel may call.
var functions = map[string]struct {
	op    scalar.Op
	arity int
	typ   scalar.Type
}{
	"fminf": {scalar.Min, 2, scalar.FP32}, "fmaxf": {scalar.Max, 2, scalar.FP32},
	"sqrtf": {scalar.Sqrt, 1, scalar.FP32}, "fabsf": {scalar.Abs, 1, scalar.FP32},
	"fmaf": {scalar.FMA, 3, scalar.FP32}, "abs": {scalar.Abs, 1, scalar.Int32},
	"fmin": {scalar.Min, 2, scalar.FP64}, "fmax": {scalar.Max, 2, scalar.FP64},
	"sqrt": {scalar.Sqrt, 1, scalar.FP64}, "fabs": {scalar.Abs, 1, scalar.FP64}, "fma": {scalar.FMA, 3, scalar.FP64},
}

// someFunctions are the ones that a kernel may call.
func (c *converter) someFunctions() string {
	const list = "fminf, fmaxf, sqrtf, fabsf, fmaf, expf, abs and functions of the file"
	if c.whole != nil {
		return "fmin, fmax, sqrt, fabs, fma, " + list
	}
	return list
}

// call converts a call for its value.
func (c *converter) call(n *cc.PostfixExpression) *expr {
	x := c.callOf(n)
	if x == nil {
		fail(c.u.pos(n), "a call of %s, which returns nothing, for its value", identifier(n.PostfixExpression))
	}
	return x
}

// callStatement converts a call whose value is not used.
func (c *converter) callStatement(n *cc.PostfixExpression, at Pos) {
	if c.funcs[identifier(n.PostfixExpression)] == nil {
		mark := 0
		if c.out != nil {
			mark = len(*c.out)
		}
		c.callOf(n)
		if c.out != nil && len(*c.out) > mark { // an atomic operation
			return
		}
		fail(at, "a call whose value is not used: %s", c.statements())
	}
	c.callOf(n)
}

// callOf converts a call, and returns nil for a function that returns nothing.
func (c *converter) callOf(n *cc.PostfixExpression) *expr {
	at := c.u.pos(n)
	name := identifier(n.PostfixExpression)
	var args []cc.ExpressionNode
	for l := n.ArgumentExpressionList; l != nil; l = l.ArgumentExpressionList {
		args = append(args, l.AssignmentExpression)
	}
	if x, ok := c.atomic(name, args, at); ok {
		return x
	}
	f, ok := functions[name]
	def := c.funcs[name]
	if def == nil {
		def = c.funcs[inC[name]]
	}
	switch {
	case name == c.k.name:
		fail(at, "%s calls itself: recursion is not supported", name)
	case name == "inf_array":
		fail(at, "inf_array inside the region, expected it in front")
	case def != nil:
		return c.inline(name, def, args, at)
	case !ok && name == "":
		fail(at, "a call through a pointer: supported are %s", c.someFunctions())
	case !ok && c.whole != nil && slices.Contains([]string{"malloc", "calloc", "realloc", "free"}, name):
		fail(at, "a call of %s: expected a parameter, or a local array of such a size, as in float t[n]", name)
	case !ok:
		fail(at, "a call of %s: supported are %s", name, c.someFunctions())
	}
	list := make([]*expr, len(args))
	for i, a := range args {
		list[i] = convert(c.expr(a), f.typ)
	}
	if len(list) != f.arity {
		fail(at, "%s with %d arguments, expected %d", name, len(list), f.arity)
	}
	return fold(&expr{kind: opExpr, typ: f.typ, pos: at, op: f.op, args: list})
}

func (c *converter) unary(n *cc.UnaryExpression, at Pos) *expr {
	switch n.Case {
	case cc.UnaryExpressionPostfix:
		return c.expr(n.PostfixExpression)
	case cc.UnaryExpressionPlus:
		x := asNumber(c.expr(n.CastExpression))
		return convert(x, promoted(x.typ))
	case cc.UnaryExpressionMinus:
		x := asNumber(c.expr(n.CastExpression))
		if x.kind == doubleExpr {
			return &expr{kind: doubleExpr, typ: scalar.FP32, pos: at, double: -x.double}
		}
		t := promoted(x.typ)
		return fold(&expr{kind: opExpr, typ: t, pos: at, op: scalar.Neg, args: []*expr{convert(x, t)}})
	case cc.UnaryExpressionCpl:
		x := asNumber(c.expr(n.CastExpression))
		t := promoted(x.typ)
		if !t.Int() || x.kind == doubleExpr {
			fail(at, "~ of %s, expected an integer", cName(t))
		}
		return fold(&expr{kind: opExpr, typ: t, pos: at, op: scalar.Not, args: []*expr{convert(x, t)}})
	case cc.UnaryExpressionNot:
		return not(truth(c.expr(n.CastExpression)))
	case cc.UnaryExpressionInc, cc.UnaryExpressionDec:
		if c.whole != nil {
			return c.stepped(n.UnaryExpression, n.Case == cc.UnaryExpressionInc, false, at)
		}
		fail(at, "%s inside an expression, expected a statement of its own", n.Token.SrcStr())
	case cc.UnaryExpressionDeref, cc.UnaryExpressionAddrof:
		if c.whole != nil && n.Case == cc.UnaryExpressionDeref {
			return c.wholeElement(n, at)
		}
		fail(at, "operator %s: pointers and their arithmetic are not supported, write A[i]", n.Token.SrcStr())
	}
	fail(at, "%s: supported are the operators of arithmetic, comparison and logic", n.Token.SrcStr())
	return nil
}

func (c *converter) cast(n *cc.CastExpression, at Pos) *expr {
	var list []*cc.TypeSpecifier
	for s := n.TypeName.SpecifierQualifierList; s != nil; s = s.SpecifierQualifierList {
		if s.TypeSpecifier != nil {
			list = append(list, s.TypeSpecifier)
		}
	}
	t, text := c.typeOf(list)
	if n.TypeName.AbstractDeclarator != nil {
		fail(at, "a cast to a pointer or an array: supported are %s", someTypes)
	}
	if t == scalar.Invalid {
		fail(at, "a cast to %s: supported are %s", text, someTypes)
	}
	x := c.expr(n.CastExpression)
	if t == scalar.Bool {
		return truth(x)
	}
	return convert(x, t)
}

// undeclared refuses a name.
func (c *converter) undeclared(at Pos, name string) {
	if c.inParts {
		fail(at, "%s is not declared, or is computed outside of the region: expected a parameter, or what stays the same and follows from these", name)
	}
	fail(at, "%s is not declared", name)
}
