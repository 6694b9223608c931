package cfront

import (
	"maps"
	"slices"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"modernc.org/cc/v4"
)

// pointer is a variable that points to an element of an array: its index, -1 for NULL.
type pointer struct {
	array  *array  // of numbers, or
	object *object // of structures
	index  *variable
}

// place is what an expression designates: an array or object, with subscripts, fewer
// than it has dimensions where it is a pointer to the rest.
type place struct {
	array    *array
	object   *object
	index    []*expr
	variable *variable // a member of a local structure
}

// place returns what an expression designates, if that is an array, a part of one, or
// an element.
func (c *converter) place(n cc.ExpressionNode) (p place, ok bool) {
	n = unwrap(n)
	at := c.u.pos(n)
	switch n := n.(type) {
	case *cc.PrimaryExpression:
		switch x := c.lookup(identifier(n)).(type) {
		case *array:
			if x.single {
				return place{array: x, index: []*expr{intConst(at, scalar.Int64, 0)}}, true
			}
			return place{array: x}, true
		case *object:
			if x.single && x.vars == nil {
				return place{object: x, index: []*expr{intConst(at, scalar.Int64, 0)}}, true
			}
			return place{object: x}, true
		case *pointer:
			return place{array: x.array, object: x.object, index: []*expr{ref(x.index, at)}}, true
		}
	case *cc.PostfixExpression:
		switch n.Case {
		case cc.PostfixExpressionPrimary:
			return c.place(n.PrimaryExpression)
		case cc.PostfixExpressionIndex:
			p, ok := c.place(n.PostfixExpression)
			if !ok {
				return p, false
			}
			i := c.offset(n.ExpressionList)
			if i.kind == doubleExpr || !promoted(i.typ).Int() {
				fail(i.pos, "a subscript of type %s, expected an integer", cName(i.typ))
			}
			if c.pointsInto(n.PostfixExpression) { // p[i] of a pointer
				return c.moved(p, i), true
			}
			p.index = append(slices.Clip(p.index), i)
			return p, true
		case cc.PostfixExpressionSelect, cc.PostfixExpressionPSelect:
			p, ok := c.place(n.PostfixExpression)
			if !ok || p.object == nil {
				return p, false
			}
			return c.member(p, n.Token2.SrcStr(), at), true
		}
	case *cc.UnaryExpression:
		switch n.Case {
		case cc.UnaryExpressionPostfix:
			return c.place(n.PostfixExpression)
		case cc.UnaryExpressionDeref:
			p, ok := c.place(n.CastExpression)
			if ok && len(p.index) == 0 {
				p.index = []*expr{intConst(at, scalar.Int64, 0)}
			}
			return p, ok
		case cc.UnaryExpressionAddrof:
			return c.place(n.CastExpression)
		}
	case *cc.CastExpression:
		if n.Case == cc.CastExpressionUnary {
			return c.place(n.UnaryExpression)
		}
		if n.TypeName.AbstractDeclarator != nil {
			return c.place(n.CastExpression)
		}
	case *cc.AdditiveExpression:
		p, ok := c.place(n.AdditiveExpression)
		if !ok || !c.isPointer(n.AdditiveExpression) {
			return p, false
		}
		by := c.offset(n.MultiplicativeExpression)
		if n.Case == cc.AdditiveExpressionSub {
			by = binary(at, scalar.Sub, intConst(at, scalar.Int64, 0), by)
		}
		return c.moved(p, by), true
	}
	return p, false
}

// offset converts a subscript, or what is added to a pointer, unless only the array is looked for.
func (c *converter) offset(n cc.ExpressionNode) *expr {
	if c.peeks {
		return intConst(c.u.pos(n), scalar.Int64, 0)
	}
	return c.expr(n)
}

// peek is place for a look only: what the expression does is not done, and subscripts are not converted,
// which would look at theirs in turn.
func (c *converter) peek(n cc.ExpressionNode) (p place, ok bool) {
	vars, arrays, taken, steps, inlined, out, peeks := len(c.k.vars), len(c.k.arrays), c.k.taken, c.steps, c.inlined, c.out, c.peeks
	c.k.taken = maps.Clone(taken)
	var nothing []stmt
	if out != nil {
		c.out = &nothing
	}
	c.peeks = true
	p, ok = c.place(n)
	c.k.vars, c.k.arrays, c.k.taken, c.steps, c.inlined, c.out, c.peeks = c.k.vars[:vars], c.k.arrays[:arrays], taken, steps, inlined, out, peeks
	return p, ok
}

// member returns a member of a structure.
func (c *converter) member(p place, name string, at Pos) place {
	if v := p.object.vars[name]; v != nil {
		f := p.object.typ.fields[slices.IndexFunc(p.object.typ.fields, func(f field) bool { return f.name == name })]
		if f.ptr {
			return place{object: c.objectOf(f.to, at), index: []*expr{ref(v, at)}}
		}
		return place{variable: v}
	}
	a := p.object.fields[name]
	if a == nil {
		fail(at, "structure %s has no member %s", p.object.typ.name, name)
	}
	if len(p.index) == 0 {
		p.index = []*expr{intConst(at, scalar.Int64, 0)}
	}
	q := place{array: a, index: p.index}
	for _, f := range p.object.typ.fields {
		if f.name == name && f.ptr { // what it points to is an element of the one array of its type
			return place{object: c.objectOf(f.to, at), index: []*expr{c.element1(q, at)}}
		}
	}
	return q
}

// objectOf returns the array that holds structures of a type.
func (c *converter) objectOf(t *structure, at Pos) *object {
	var found *object
	for _, o := range c.whole.objects {
		if o.typ == t {
			if found != nil {
				fail(at, "a pointer to a structure %s, of which %s and %s are arrays: expected one", t.name, found.name, o.name)
			}
			found = o
		}
	}
	if found == nil {
		fail(at, "a pointer to a structure %s, of which no parameter is an array", t.name)
	}
	return found
}

// moved returns a pointer some elements further.
func (c *converter) moved(p place, by *expr) place {
	if len(p.index) == 0 {
		p.index = []*expr{by}
		return p
	}
	p.index = slices.Clone(p.index)
	last := len(p.index) - 1
	p.index[last] = binary(by.pos, scalar.Add, convert(p.index[last], scalar.Int64), convert(by, scalar.Int64))
	return p
}

// pointsInto reports whether an expression is a pointer variable, or a member or sum
// that is a pointer, so that a subscript moves it.
func (c *converter) pointsInto(n cc.ExpressionNode) bool {
	switch n := unwrap(n).(type) {
	case *cc.PrimaryExpression:
		_, ok := c.lookup(identifier(n)).(*pointer)
		return ok
	case *cc.PostfixExpression:
		switch n.Case {
		case cc.PostfixExpressionPrimary:
			return c.pointsInto(n.PrimaryExpression)
		case cc.PostfixExpressionSelect, cc.PostfixExpressionPSelect:
			return c.pointerMember(n)
		}
	case *cc.AdditiveExpression:
		return true
	case *cc.UnaryExpression:
		return n.Case == cc.UnaryExpressionAddrof
	}
	return false
}

// pointerMember reports whether a.f or a->f is a pointer.
func (c *converter) pointerMember(n *cc.PostfixExpression) bool {
	for _, o := range c.whole.objects {
		for _, f := range o.typ.fields {
			if f.name == n.Token2.SrcStr() {
				if p, ok := c.peek(n.PostfixExpression); ok && p.object == o {
					return f.ptr
				}
			}
		}
	}
	return false
}

// isPointer reports whether an expression is a pointer and no number.
func (c *converter) isPointer(n cc.ExpressionNode) bool {
	if c.whole == nil {
		return false
	}
	switch n := unwrap(n).(type) {
	case *cc.PrimaryExpression:
		switch x := c.lookup(identifier(n)).(type) {
		case *pointer:
			return true
		case *object:
			return !x.single
		case *array:
			return !x.single
		}
	case *cc.PostfixExpression:
		switch n.Case {
		case cc.PostfixExpressionPrimary:
			return c.isPointer(n.PrimaryExpression)
		case cc.PostfixExpressionIndex: // of a row
			p, ok := c.peek(n)
			return ok && p.array != nil && len(p.index) < p.array.rank()
		case cc.PostfixExpressionSelect, cc.PostfixExpressionPSelect:
			return c.pointerMember(n)
		}
	case *cc.UnaryExpression:
		return n.Case == cc.UnaryExpressionAddrof || n.Case == cc.UnaryExpressionPostfix && c.isPointer(n.PostfixExpression)
	case *cc.CastExpression:
		if n.Case == cc.CastExpressionUnary {
			return c.isPointer(n.UnaryExpression)
		}
		return n.TypeName.AbstractDeclarator != nil
	case *cc.AdditiveExpression:
		return c.isPointer(n.AdditiveExpression)
	case *cc.ConditionalExpression:
		return n.Case == cc.ConditionalExpressionCond && c.isPointer(n.ConditionalExpression)
	}
	return false
}

func (a *array) rank() int { return max(len(a.size), 1) }

// element1 returns an element of an array.
func (c *converter) element1(p place, at Pos) *expr {
	a := p.array
	switch {
	case !a.declared:
		name := a.name
		if a.field != nil {
			name = a.field.Of
		}
		fail(at, "%s is a pointer without a size: expected a parameter such as %s[N], or inf_array(%s, N) at the beginning of the function", name, name, name)
	case len(p.index) != len(a.size):
		fail(at, "%d subscripts of %s, which has %d dimensions", len(p.index), a.name, len(a.size))
	}
	return &expr{kind: elemExpr, typ: a.typ, pos: at, array: a, index: p.index}
}

// address returns the index that a pointer is, -1 for NULL.
func (c *converter) address(n cc.ExpressionNode) (p place, index *expr) {
	at := c.u.pos(n)
	for {
		x, ok := unwrap(n).(*cc.CastExpression)
		if !ok || x.Case != cc.CastExpressionCast || x.TypeName.AbstractDeclarator == nil {
			break
		}
		n = x.CastExpression
	}
	if x, ok := unwrap(n).(*cc.ConditionalExpression); ok && x.Case == cc.ConditionalExpressionCond {
		cond := truth(c.expr(x.LogicalOrExpression))
		p, a := c.address(x.ExpressionList)
		q, b := c.address(x.ConditionalExpression)
		if p.object == nil && p.array == nil {
			p = q
		}
		return p, choose(at, cond, a, b)
	}
	if p, ok := c.place(n); ok && c.isPointer(n) {
		switch {
		case len(p.index) == 0:
			return p, intConst(at, scalar.Int64, 0)
		case len(p.index) == 1 && (p.object != nil || p.array.rank() == 1):
			return p, convert(p.index[0], scalar.Int64)
		}
		fail(at, "a pointer into an array of %d dimensions: expected one of arrays of one", p.array.rank())
	}
	x := c.expr(n)
	if x.kind == constExpr && x.typ.Int() && x.value == 0 {
		return place{}, intConst(at, scalar.Int64, -1)
	}
	fail(at, "a pointer of this kind: supported are names of arrays, &A[i], sums of these and numbers, members, and NULL")
	return p, nil
}

// pointerTo declares a pointer.
func (c *converter) pointerTo(name string, t scalar.Type, s *structure, init cc.ExpressionNode, guard *expr, out *[]stmt, at Pos) {
	v := c.declare(name, localVar, scalar.Int64, at)
	p := &pointer{index: v}
	if init != nil {
		target, x := c.address(init)
		p.array, p.object = target.array, target.object
		*out = append(*out, c.assign(ref(v, at), x, guard, at))
	}
	if s != nil && p.object == nil {
		p.object = c.objectOf(s, at)
	}
	if p.array == nil && p.object == nil {
		fail(at, "pointer %s to %s without an array that it begins in: expected one such as %s = A", name, cName(t), name)
	}
	if p.array != nil && p.array.typ != t {
		fail(at, "pointer %s to %s into an array of %s", name, cName(t), cName(p.array.typ))
	}
	c.bind(name, p)
}

// repointed assigns to a pointer variable. It reports false if the target is none.
func (c *converter) repointed(n *cc.AssignmentExpression, guard *expr, out *[]stmt, at Pos) bool {
	p, ok := c.lookup(identifier(n.UnaryExpression)).(*pointer)
	if !ok {
		return false
	}
	var x *expr
	switch n.Case {
	case cc.AssignmentExpressionAssign:
		var q place
		q, x = c.address(n.AssignmentExpression)
		if q.object != nil && q.object != p.object || q.array != nil && q.array != p.array {
			fail(at, "pointer %s would point into another array than before", identifier(n.UnaryExpression))
		}
	case cc.AssignmentExpressionAdd, cc.AssignmentExpressionSub:
		x = binary(at, assignOps[n.Case], ref(p.index, at), c.expr(n.AssignmentExpression))
	default:
		fail(at, "a pointer is changed by =, += and -= only")
	}
	*out = append(*out, c.assign(ref(p.index, at), x, guard, at))
	return true
}

// storedPointer assigns to a member that is a pointer.
func (c *converter) storedPointer(n *cc.AssignmentExpression, guard *expr, out *[]stmt, at Pos) bool {
	m, ok := unwrap(n.UnaryExpression).(*cc.PostfixExpression)
	if !ok || m.Case != cc.PostfixExpressionSelect && m.Case != cc.PostfixExpressionPSelect || !c.pointerMember(m) {
		return false
	}
	p, _ := c.place(m.PostfixExpression)
	if len(p.index) == 0 {
		p.index = []*expr{intConst(at, scalar.Int64, 0)}
	}
	_, x := c.address(n.AssignmentExpression)
	*out = append(*out, c.assign(c.element1(place{array: p.object.fields[m.Token2.SrcStr()], index: p.index}, at), x, guard, at))
	return true
}

// comparePointers converts p == q and p != q.
func (c *converter) comparePointers(op scalar.Op, a, b cc.ExpressionNode, at Pos) *expr {
	_, x := c.address(a)
	_, y := c.address(b)
	return binary(at, op, x, y)
}

// null converts a pointer to the condition that it is not NULL.
func (c *converter) null(n cc.ExpressionNode, at Pos) *expr {
	_, x := c.address(n)
	return binary(at, scalar.Ne, x, intConst(at, scalar.Int64, -1))
}

// wholeElement converts an element or a member, which must be a number.
func (c *converter) wholeElement(n cc.ExpressionNode, at Pos) *expr {
	if c.isPointer(n) {
		return c.null(n, at)
	}
	p, ok := c.place(n)
	if ok && p.variable != nil {
		return ref(p.variable, at)
	}
	if !ok || p.array == nil {
		if x, isIndex := n.(*cc.PostfixExpression); isIndex && x.Case == cc.PostfixExpressionIndex {
			if name := identifier(x.PostfixExpression); name != "" && c.lookup(name) == nil {
				fail(at, "%s is not declared in the function: expected a parameter or a local array", name)
			}
		}
		fail(at, "what is neither an element of an array nor a member of a structure in one")
	}
	if len(p.index) == 0 {
		p.index = []*expr{intConst(at, scalar.Int64, 0)}
	}
	return c.element1(p, at)
}

// argument binds a parameter that is an array to an array, or to a pointer into one.
func (c *converter) argument(param string, n cc.ExpressionNode, at Pos) any {
	switch x := c.lookup(identifier(n)).(type) {
	case *array, *object, *pointer:
		return x
	}
	if !c.isPointer(n) {
		fail(c.u.pos(n), "argument %s, expected an array or a pointer into one", param)
	}
	p, x := c.address(n)
	v := c.declare(param, localVar, scalar.Int64, at)
	*c.out = append(*c.out, c.assign(ref(v, at), x, c.guard, at))
	return &pointer{array: p.array, object: p.object, index: v}
}
