package cfront

import (
	"github.com/bitsched/bitsched/tdfg/scalar"
	"modernc.org/cc/v4"
)

// atomics are GCC's functions: the operation on the element, and whether the value is
// the old one.
var atomics = map[string]struct {
	op   scalar.Op // NoOp: exchange
	old  bool
	args int
}{
	"__atomic_fetch_add": {scalar.Add, true, 3}, "__atomic_fetch_sub": {scalar.Sub, true, 3}, "__atomic_fetch_and": {scalar.And, true, 3},
	"__atomic_fetch_or": {scalar.Or, true, 3}, "__atomic_fetch_xor": {scalar.Xor, true, 3}, "__atomic_exchange_n": {scalar.NoOp, true, 3},
	"__atomic_add_fetch": {scalar.Add, false, 3}, "__atomic_sub_fetch": {scalar.Sub, false, 3}, "__atomic_and_fetch": {scalar.And, false, 3},
	"__atomic_or_fetch": {scalar.Or, false, 3}, "__atomic_xor_fetch": {scalar.Xor, false, 3},
	"__sync_fetch_and_add": {scalar.Add, true, 2}, "__sync_fetch_and_sub": {scalar.Sub, true, 2}, "__sync_fetch_and_and": {scalar.And, true, 2},
	"__sync_fetch_and_or": {scalar.Or, true, 2}, "__sync_fetch_and_xor": {scalar.Xor, true, 2}, "__sync_lock_test_and_set": {scalar.NoOp, true, 2},
	"__sync_add_and_fetch": {scalar.Add, false, 2}, "__sync_sub_and_fetch": {scalar.Sub, false, 2},
	"inf_fetch_min": {scalar.Min, true, 2}, "inf_fetch_max": {scalar.Max, true, 2},
}

// atomic converts a call of an atomic function. ok is false if it is none.
func (c *converter) atomic(name string, args []cc.ExpressionNode, at Pos) (value *expr, ok bool) {
	if c.whole == nil || c.out == nil {
		return nil, false
	}
	want := func(n int) {
		if len(args) != n {
			fail(at, "%s with %d arguments, expected %d", name, len(args), n)
		}
	}
	target := func() *expr {
		p, ok := c.place(args[0])
		if !ok || p.array == nil {
			fail(at, "%s of what is no element of an array: expected &A[i]", name)
		}
		if len(p.index) == 0 {
			p.index = []*expr{intConst(at, scalar.Int64, 0)}
		}
		return c.element1(p, at)
	}
	update := func(elem, value *expr, old bool) *expr { return c.update(elem, value, old, c.guard, c.out, at) }
	switch name {
	case "__atomic_load_n":
		want(2)
		x := *target()
		x.racy, x.relaxed = true, c.relaxed(args[1])
		v := c.declare("atomic", localVar, x.typ, at)
		*c.out = append(*c.out, c.assign(ref(v, at), &x, c.guard, at))
		return ref(v, at), true
	case "__atomic_store_n":
		want(3)
		elem := target()
		a := c.assign(elem, c.expr(args[1]), c.guard, at)
		a.racy = true
		*c.out = append(*c.out, a)
		return intConst(at, scalar.Int32, 0), true
	case "__sync_bool_compare_and_swap", "__sync_val_compare_and_swap":
		want(3)
		elem := target()
		e := c.operand(convert(c.expr(args[1]), elem.typ), at)
		x := c.operand(convert(c.expr(args[2]), elem.typ), at)
		old := update(elem, choose(at, binary(at, scalar.Eq, elem, e), x, elem), true)
		if name == "__sync_val_compare_and_swap" {
			return old, true
		}
		return binary(at, scalar.Eq, old, e), true
	case "__atomic_compare_exchange_n":
		want(6)
		elem := target()
		name := ""
		if a, ok := unwrap(args[1]).(*cc.UnaryExpression); ok && a.Case == cc.UnaryExpressionAddrof {
			name = identifier(unwrap(a.CastExpression))
		}
		v, isVar := c.lookup(name).(*variable)
		if !isVar || v.kind != localVar {
			fail(at, "__atomic_compare_exchange_n expects the address of a local variable as its second argument")
		}
		e := convert(ref(v, at), elem.typ)
		// What is expected is taken before it is overwritten.
		was := c.declare("expected", localVar, elem.typ, at)
		*c.out = append(*c.out, c.assign(ref(was, at), e, c.guard, at))
		x := c.operand(convert(c.expr(args[2]), elem.typ), at)
		old := update(elem, choose(at, binary(at, scalar.Eq, elem, ref(was, at)), x, elem), true)
		*c.out = append(*c.out, c.assign(ref(v, at), old, c.guard, at))
		return binary(at, scalar.Eq, old, ref(was, at)), true
	}
	f, ok := atomics[name]
	if !ok {
		return nil, false
	}
	want(f.args)
	elem := target()
	x := convert(c.expr(args[1]), elem.typ)
	if x.uses(elem) {
		x = c.operand(x, at)
	}
	if f.op != scalar.NoOp {
		x = &expr{kind: opExpr, typ: elem.typ, pos: at, op: f.op, args: []*expr{elem, x}}
	}
	return update(elem, x, f.old), true
}

// operand gives an operand that reads memory a name: the function is called with its value,
// whatever the element is by then.
func (c *converter) operand(x *expr, at Pos) *expr {
	loads := false
	x.walk(func(y *expr) { loads = loads || y.kind == elemExpr })
	if !loads {
		return x
	}
	v := c.declare("operand", localVar, x.typ, at)
	*c.out = append(*c.out, c.assign(ref(v, at), x, c.guard, at))
	return ref(v, at)
}

// update adds an atomic update, and returns its old or new value.
func (c *converter) update(elem, value *expr, old bool, guard *expr, out *[]stmt, at Pos) *expr {
	v := c.declare("atomic", localVar, elem.typ, at)
	*out = append(*out, &assign{target: elem, value: updated(value, elem), guard: guard, pos: at, atomic: true, old: old, result: v})
	return ref(v, at)
}

// updated returns what becomes of an element as an operation of its own type, which processors
// have, where that gives the same bits: C computes o += 1u without a sign, and s += 0.5 in double.
func updated(value, elem *expr) *expr {
	x := convert(value, elem.typ)
	if x.kind != convertExpr {
		return x
	}
	y := x.args[0]
	switch {
	case x.typ.Int() && y.typ.Int():
		return modular(y, x.typ)
	case x.typ == scalar.FP32 && y.typ == scalar.FP64 && y.kind == opExpr && (y.op == scalar.Add || y.op == scalar.Sub || y.op == scalar.Mul || y.op == scalar.Div):
		// Rounding one result once more changes nothing (Figueroa, 1995).
		if a, b := single(y.args[0]), single(y.args[1]); a != nil && b != nil {
			return &expr{kind: opExpr, typ: x.typ, pos: y.pos, op: y.op, args: []*expr{a, b}}
		}
	}
	return x
}

// modular returns the low bits of an integer computation, which do not depend on whether its
// type has a sign.
func modular(x *expr, t scalar.Type) *expr {
	if !x.typ.Int() || x.typ.Bits() < t.Bits() || x.typ == t {
		return convert(x, t)
	}
	switch x.kind {
	case convertExpr:
		if x.args[0].typ.Int() {
			return modular(x.args[0], t)
		}
	case opExpr:
		c := *x
		c.typ, c.args = t, make([]*expr, len(x.args))
		for i, a := range x.args {
			c.args[i] = modular(a, t)
		}
		switch x.op {
		case scalar.Add, scalar.Sub, scalar.Mul, scalar.And, scalar.Or, scalar.Xor, scalar.Neg, scalar.Not:
			return &c
		case scalar.Select:
			cond := x.args[0]
			if cond.kind == opExpr && cond.op == scalar.Eq && cond.args[0].typ.Int() && cond.args[0].typ.Bits() == t.Bits() {
				e := *cond
				e.args = []*expr{modular(cond.args[0], t), modular(cond.args[1], t)}
				cond = &e
			}
			c.args[0] = cond
			return &c
		}
	}
	return convert(x, t)
}

// single returns a double as the float that it is, nil if it may be none.
func single(x *expr) *expr {
	switch {
	case x.kind == constExpr:
		if y := convert(x, scalar.FP32); convert(y, scalar.FP64).value == x.value {
			return y
		}
	case x.kind == convertExpr && (x.args[0].typ.Float() || x.args[0].typ.Int() && x.args[0].typ.Bits() <= 16):
		return convert(x.args[0], scalar.FP32)
	}
	return nil
}

// relaxed reports whether a memory order is __ATOMIC_RELAXED.
func (c *converter) relaxed(order cc.ExpressionNode) bool {
	x := c.expr(order)
	return x.kind == constExpr && x.value == 0
}
