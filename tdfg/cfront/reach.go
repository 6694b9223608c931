package cfront

import (
	"math"
	"math/bits"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// reach is where an integer expression lies, ends included; what is beyond int64 is taken for its end.
type reach struct {
	lo, hi int64
	// exact says that affine, which computes without bounds, has the value of C, and below that it
	// has, but for numbers less than 0 that C takes for some of 2^31 and more.
	exact, below bool
}

// reachOf returns the values of a type.
func reachOf(t scalar.Type) reach {
	switch {
	case t == scalar.Bool:
		return reach{0, 1, true, true}
	case t.Unsigned() && t.Bits() >= 64:
		return reach{0, math.MaxInt64, true, true}
	case t.Unsigned():
		return reach{0, 1<<t.Bits() - 1, true, true}
	}
	return reach{-1 << (t.Bits() - 1), 1<<(t.Bits()-1) - 1, true, true}
}

// furthest is where subscripts and bounds of loops are at most.
const furthest = 1 << 59

// far tells whether all of it is beyond what subscripts have.
func (r reach) far() bool { return r.lo > furthest || r.hi < -furthest }

// sizes are at most so many, or arrays of them would not fit.
const largestSize = math.MaxInt32

// reach finds bounds of an integer expression from types, constants and sizes. Signed numbers do not
// overflow, as C has it.
func (x *expr) reach() reach {
	all := reachOf(x.typ)
	switch x.kind {
	case constExpr:
		v := scalar.ToInt(x.typ, x.value)
		if v < 0 && x.typ.Unsigned() { // of 64 bits
			return reach{math.MaxInt64, math.MaxInt64, false, false}
		}
		return reach{v, v, true, true}
	case varExpr:
		switch v := x.v; {
		case v.bound != nil:
			return reach{*v.bound, *v.bound, true, true}
		case v.alias != nil:
			return v.alias.reach()
		case v.inSize:
			return reach{1, min(all.hi, largestSize), true, true}
		case v.least != nil:
			return reach{max(all.lo, *v.least), all.hi, true, true}
		}
	case convertExpr:
		if from := x.args[0]; from.typ.Int() {
			return from.reach().within(x.typ)
		}
	case opExpr:
		list := make([]reach, len(x.args))
		for i, a := range x.args {
			if !a.typ.Int() {
				return all
			}
			list[i] = a.reach()
		}
		r, ok := across(x.op, list)
		switch {
		case !ok:
			return all
		case x.typ.Unsigned() || x.typ.Bits() < 32:
			return r.within(x.typ)
		}
		return reach{max(r.lo, all.lo), min(r.hi, all.hi), r.exact, r.below}
	}
	return all
}

// within is a reach as a type has it whose values are all: where some are not, any may be there.
func (r reach) within(t scalar.Type) reach {
	all := reachOf(t)
	if r.lo < all.lo || r.hi > all.hi {
		return reach{all.lo, all.hi, false, r.below && r.hi <= all.hi && t.Unsigned() && t.Bits() >= 32}
	}
	return r
}

// across is the reach of an operation, before the type of its result.
func across(op scalar.Op, of []reach) (r reach, ok bool) {
	r.exact, r.below = true, true
	for _, x := range of {
		r.exact, r.below = r.exact && x.exact, r.below && x.below
	}
	switch {
	case op == scalar.Neg:
		r.lo, r.hi = minus(0, of[0].hi), minus(0, of[0].lo)
	case op == scalar.Add:
		r.lo, r.hi = plus(of[0].lo, of[1].lo), plus(of[0].hi, of[1].hi)
	case op == scalar.Sub:
		r.lo, r.hi = minus(of[0].lo, of[1].hi), minus(of[0].hi, of[1].lo)
	case op == scalar.Mul && of[0].lo >= 0 && of[1].lo >= 0:
		r.lo, r.hi = times(of[0].lo, of[1].lo), times(of[0].hi, of[1].hi)
	case op == scalar.Min:
		r.lo, r.hi = min(of[0].lo, of[1].lo), min(of[0].hi, of[1].hi)
	case op == scalar.Max:
		r.lo, r.hi = max(of[0].lo, of[1].lo), max(of[0].hi, of[1].hi)
	case op == scalar.Select:
		r.lo, r.hi = min(of[1].lo, of[2].lo), max(of[1].hi, of[2].hi)
	case op == scalar.Div && of[0].lo >= 0 && of[1].lo > 0:
		r.lo, r.hi = of[0].lo/of[1].hi, of[0].hi/of[1].lo
	default:
		return r, false
	}
	return r, true
}

func plus(a, b int64) int64 {
	switch s := a + b; {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	default:
		return s
	}
}

func minus(a, b int64) int64 {
	if b == math.MinInt64 {
		return plus(plus(a, math.MaxInt64), 1)
	}
	return plus(a, -b)
}

// times is for numbers that are not negative.
func times(a, b int64) int64 {
	if hi, lo := bits.Mul64(uint64(a), uint64(b)); hi == 0 && lo <= math.MaxInt64 {
		return int64(lo)
	}
	return math.MaxInt64
}

// ends reports whether a loop's variable of a type, from first on by step, comes to where it is compared
// with last and the loop ends, without going round the values of its type on the way. Where the
// comparison converts it to an unsigned type, it must not be negative.
func ends(t, compared scalar.Type, op string, first, last reach, step int64) bool {
	all := reachOf(t)
	if compared.Unsigned() && t.Signed() && first.lo < 0 {
		return false
	}
	if t.Signed() && t.Bits() >= 32 { // which does not overflow, as C has it
		if step > 0 || !compared.Unsigned() {
			return true
		}
		all.lo = 0 // as in the comparison
	}
	switch op {
	case "<":
		return plus(last.hi, step-1) <= all.hi
	case "<=":
		return plus(last.hi, step) <= all.hi
	case ">":
		return plus(last.lo, step+1) >= all.lo
	case ">=":
		return plus(last.lo, step) >= all.lo
	case "!=":
		if step > 0 {
			return first.hi <= last.lo && last.hi <= all.hi
		}
		return first.lo >= last.hi && last.lo >= all.lo
	}
	return false
}
