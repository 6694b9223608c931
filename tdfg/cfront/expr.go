package cfront

import (
	"math"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

func intConst(at Pos, t scalar.Type, v int64) *expr {
	return &expr{kind: constExpr, typ: t, pos: at, value: scalar.FromInt(t, v)}
}

// convert returns x as type t. Integers that become narrower are computed as such,
// where that gives the same bits: in C int8_t is added as int.
func convert(x *expr, t scalar.Type) *expr {
	switch {
	case x.typ == t:
		return x
	case x.kind == doubleExpr:
		if t.Float() {
			return &expr{kind: constExpr, typ: t, pos: x.pos, value: scalar.FromFloat(t, x.double)}
		}
		if t.Int() && math.Abs(x.double) < 1<<31 {
			return intConst(x.pos, t, int64(x.double))
		}
		fail(x.pos, "a double as %s: expected a constant of type float, such as 0.5f", cName(t))
	case x.kind == constExpr:
		return &expr{kind: constExpr, typ: t, pos: x.pos, value: scalar.Convert(x.typ, t, x.value)}
	case t.Int() && x.typ.Int() && t.Bits() < x.typ.Bits():
		if y := narrow(x, t); y != nil {
			return y
		}
	case t.Int() && x.kind == convertExpr && x.typ.Int() && x.args[0].typ.Int() && x.typ.Holds(x.args[0].typ):
		return convert(x.args[0], t)
	}
	return &expr{kind: convertExpr, typ: t, pos: x.pos, args: []*expr{x}}
}

// narrow returns an integer computation in a narrower type, nil if its low bits
// depend on others.
func narrow(x *expr, t scalar.Type) *expr {
	switch x.kind {
	case convertExpr:
		if from := x.args[0].typ; from.Int() {
			return convert(x.args[0], t)
		}
	case opExpr:
		c := *x
		c.typ = t
		switch x.op {
		case scalar.Add, scalar.Sub, scalar.Mul, scalar.And, scalar.Or, scalar.Xor, scalar.Neg, scalar.Not:
			c.args = make([]*expr, len(x.args))
			for i, a := range x.args {
				c.args[i] = convert(a, t)
			}
			return &c
		case scalar.Select:
			c.args = []*expr{x.args[0], convert(x.args[1], t), convert(x.args[2], t)}
			return &c
		case scalar.Min, scalar.Max:
			// The lesser of two numbers that t can hold.
			if a, b := unwidened(x.args[0], t), unwidened(x.args[1], t); a != nil && b != nil {
				c.args = []*expr{a, b}
				return &c
			}
		}
	}
	return nil
}

// unwidened returns an expression of type t that has the value of x, nil if x may
// be a number that t does not hold.
func unwidened(x *expr, t scalar.Type) *expr {
	switch {
	case x.typ.Int() && t.Holds(x.typ):
		return convert(x, t)
	case x.kind == constExpr && x.typ.Int():
		if representable(x, t) {
			return convert(x, t)
		}
	case x.kind == convertExpr && x.args[0].typ.Int() && x.typ.Int() && x.typ.Holds(x.args[0].typ):
		return unwidened(x.args[0], t)
	}
	return nil
}

// representable reports whether a type has the number that an integer constant is.
func representable(x *expr, t scalar.Type) bool {
	v := scalar.Convert(x.typ, t, x.value)
	if scalar.Convert(t, x.typ, v) != x.value {
		return false
	}
	negative := x.typ.Signed() && scalar.ToInt(x.typ, x.value) < 0
	return negative == (t.Signed() && scalar.ToInt(t, v) < 0)
}

// promoted returns the type that an operand has after C's integer promotions.
func promoted(t scalar.Type) scalar.Type {
	if t == scalar.Bool || t.Int() && t.Bits() < 32 {
		return scalar.Int32
	}
	return t
}

// common returns the type that C's usual arithmetic conversions give two operands.
func common(at Pos, x, y *expr) scalar.Type {
	if x.kind == doubleExpr {
		x, y = y, x
	}
	if y.kind == doubleExpr && x.kind != doubleExpr && x.typ == scalar.FP64 {
		return scalar.FP64
	}
	if y.kind == doubleExpr {
		if x.kind != doubleExpr && x.typ.Float() && float64(float32(y.double)) == y.double {
			// Exact: rounding a double result to float once more changes nothing
			// (Figueroa, 1995), but only for one operation.
			fail(y.pos, "arithmetic of type double: write %gf, or convert to double first", y.double)
		}
		fail(y.pos, "arithmetic of type double: expected constants of type float, such as 0.5f")
	}
	a, b := promoted(x.typ), promoted(y.typ)
	switch {
	case a == b:
		return a
	case a == scalar.FP64 || b == scalar.FP64:
		return scalar.FP64
	case a.Float() && b.Float():
		if a != scalar.FP32 && b != scalar.FP32 {
			fail(at, "fp16 and bf16 in one operation: convert one of them")
		}
		return scalar.FP32
	case a.Float():
		return a
	case b.Float():
		return b
	case a.Bits() == b.Bits(): // of one is unsigned, the other becomes it
		return scalar.Integer(a.Bits(), false)
	case a.Bits() > b.Bits():
		return a
	}
	return b
}

// binary returns an operation on two operands, which become of one type.
func binary(at Pos, op scalar.Op, x, y *expr) *expr {
	t := common(at, x, y)
	if op.Compares() {
		for _, n := range []scalar.Type{scalar.Int8, scalar.UInt8, scalar.Int16, scalar.UInt16, scalar.Int32, scalar.UInt32} {
			if a, b := unwidened(x, n), unwidened(y, n); t.Int() && keeps(x, t) && keeps(y, t) && a != nil && b != nil {
				return &expr{kind: opExpr, typ: scalar.Bool, pos: at, op: op, args: []*expr{a, b}}
			}
		}
	}
	return fold(&expr{kind: opExpr, typ: op.Result(t), pos: at, op: op, args: []*expr{convert(x, t), convert(y, t)}})
}

// keeps reports whether an operand has the same value as type t.
func keeps(x *expr, t scalar.Type) bool {
	return t.Holds(x.typ) || x.kind == constExpr && representable(x, t)
}

// fold computes operations on constants.
func fold(x *expr) *expr {
	args := make([]scalar.Value, len(x.args))
	for i, a := range x.args {
		if a.kind != constExpr {
			return x
		}
		args[i] = a.value
	}
	return &expr{kind: constExpr, typ: x.typ, pos: x.pos, value: scalar.Eval(x.op, x.args[len(x.args)-1].typ, args...)}
}

// truth returns x as a condition.
func truth(x *expr) *expr {
	switch {
	case x.typ == scalar.Bool:
		return x
	case x.kind == convertExpr && x.args[0].typ == scalar.Bool:
		return x.args[0]
	case x.kind == doubleExpr:
		fail(x.pos, "a double as a condition: expected a comparison")
	}
	return convert(x, scalar.Bool)
}

// conditional reports whether C may leave out operands of x, those after the first.
func (x *expr) conditional() bool {
	return x.kind == opExpr && (x.op == scalar.Select || x.typ == scalar.Bool && (x.op == scalar.And || x.op == scalar.Or))
}

func not(x *expr) *expr {
	return fold(&expr{kind: opExpr, typ: scalar.Bool, pos: x.pos, op: scalar.Not, args: []*expr{x}})
}

// implies reports whether a conjunction has a condition already.
func (x *expr) implies(y *expr) bool {
	return x.same(y) || x.kind == opExpr && x.op == scalar.And && x.typ == scalar.Bool && (x.args[0].implies(y) || x.args[1].implies(y))
}

func and(x, y *expr) *expr {
	switch {
	case x == nil:
		return y
	case x.implies(y):
		return x
	}
	return fold(&expr{kind: opExpr, typ: scalar.Bool, pos: y.pos, op: scalar.And, args: []*expr{x, y}})
}

// choose returns cond ? x : y. The idioms of minimum and maximum become such
// for integers; those of floating-point numbers differ for NaN and zeros.
func choose(at Pos, cond, x, y *expr) *expr {
	t := x.typ
	if x.typ != y.typ || x.kind == doubleExpr || y.kind == doubleExpr {
		t = common(at, x, y)
	}
	if t == scalar.Bool || t.Int() && t.Bits() < 32 && x.typ == y.typ {
		t = x.typ
	}
	x, y = convert(x, t), convert(y, t)
	if cond.kind == opExpr && cond.op.Compares() && t.Int() {
		a, b := convert(cond.args[0], t), convert(cond.args[1], t)
		least := cond.op == scalar.Lt || cond.op == scalar.Le
		most := cond.op == scalar.Gt || cond.op == scalar.Ge
		if cond.args[0].typ.Bits() <= t.Bits() && (least || most) {
			if a.same(y) && b.same(x) {
				least, most, a, b = most, least, b, a
			}
			if a.same(x) && b.same(y) {
				op := scalar.Min
				if most {
					op = scalar.Max
				}
				return &expr{kind: opExpr, typ: t, pos: at, op: op, args: []*expr{a, b}}
			}
		}
	}
	return fold(&expr{kind: opExpr, typ: t, pos: at, op: scalar.Select, args: []*expr{cond, x, y}})
}

// affine returns an integer expression of constants and symbols. ok is false if it
// is none. Sizes that are found become symbols.
func affine(x *expr) (e lattice.Expr, ok bool) {
	switch x.kind {
	case constExpr:
		if x.typ.Int() {
			return lattice.Const(scalar.ToInt(x.typ, x.value)), true
		}
	case varExpr:
		switch {
		case x.v.bound != nil:
			return lattice.Const(*x.v.bound), true
		case x.v.kind == loopVar, x.v.kind == paramVar && x.v.typ.Int():
			x.v.symbol = true
			return lattice.Sym(x.v.name), true
		}
	case convertExpr:
		// What an int holds, wider types do; indices do not wrap.
		if x.typ.Int() && x.args[0].typ.Int() && x.typ.Bits() >= 32 {
			return affine(x.args[0])
		}
	case opExpr:
		if !x.typ.Int() || len(x.args) == 0 {
			return e, false
		}
		a, ok := affine(x.args[0])
		if !ok {
			return e, false
		}
		if x.op == scalar.Neg {
			return a.Scale(-1), true
		}
		if len(x.args) != 2 {
			return e, false
		}
		b, ok := affine(x.args[1])
		if !ok {
			return e, false
		}
		switch x.op {
		case scalar.Add:
			return a.Add(b), true
		case scalar.Sub:
			return a.Sub(b), true
		case scalar.Mul:
			return a.Mul(b)
		case scalar.Div, scalar.Rem:
			p, isA := a.Const()
			q, isB := b.Const()
			if isA && isB && q != 0 {
				if x.op == scalar.Div {
					return lattice.Const(p / q), true
				}
				return lattice.Const(p % q), true
			}
		}
	}
	return e, false
}

// cName returns what C calls a type.
func cName(t scalar.Type) string {
	switch t {
	case scalar.Bool:
		return "_Bool"
	case scalar.FP32:
		return "float"
	case scalar.FP64:
		return "double"
	case scalar.FP16, scalar.BF16:
		return t.String()
	}
	return t.String() + "_t"
}
