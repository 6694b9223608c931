package scalar

import (
	"math"
	"math/bits"

	"github.com/bitsched/bitsched/internal/minifloat"
)

// Eval computes the operation on elements of type t; for a comparison t is the
// type of its operands. Bits of the operands above their type are ignored. It
// panics where Supports is false or the number of operands is wrong: what builds
// a graph has looked at both.
func Eval(o Op, t Type, args ...Value) Value {
	var a [3]Value
	if len(args) != o.Arity() || !o.Supports(t) {
		panic("scalar: " + o.String() + " of " + t.String())
	}
	copy(a[:], args)
	return eval(o, t, a[0], a[1], a[2])
}

func eval(o Op, t Type, a, b, c Value) Value {
	if o == Select {
		if a&1 != 0 {
			return b & t.Mask()
		}
		return c & t.Mask()
	}
	switch {
	case t == FP32:
		return evalFP32(o, uint32(a), uint32(b), uint32(c))
	case t == FP64:
		return evalFP64(o, a, b, c)
	case t.Float():
		return evalSmall(o, t, a, b, c)
	case t == Bool:
		return evalInt(o, Bool, int64(a&1), int64(b&1), 0) & 1
	case t.Unsigned():
		return evalUint(o, t, a&t.Mask(), b&t.Mask(), c)
	}
	return evalInt(o, t, ToInt(t, a), ToInt(t, b), ToInt(t, c))
}

func flag(b bool) Value {
	if b {
		return 1
	}
	return 0
}

func evalInt(o Op, t Type, a, b, c int64) Value {
	var r int64
	switch o {
	case Add:
		r = a + b
	case Sub:
		r = a - b
	case Mul:
		r = a * b
	case FMA:
		r = a*b + c
	case Div:
		switch {
		case b == 0:
			r = -1
		case b == -1:
			r = -a // Go panics for no operands here, but other widths must wrap too
		default:
			r = a / b
		}
	case Rem:
		switch b {
		case 0:
			r = a
		case -1:
			r = 0
		default:
			r = a % b
		}
	case Min:
		r = min(a, b)
	case Max:
		r = max(a, b)
	case And:
		r = a & b
	case Or:
		r = a | b
	case Xor:
		r = a ^ b
	case Not:
		r = ^a
	case Shl:
		r = a << (uint64(b) & uint64(t.Bits()-1))
	case Shr:
		r = a >> (uint64(b) & uint64(t.Bits()-1))
	case Neg:
		r = -a
	case Abs:
		r = max(a, -a)
	case ReLU:
		r = max(a, 0)
	case Eq:
		return flag(a == b)
	case Ne:
		return flag(a != b)
	case Lt:
		return flag(a < b)
	case Le:
		return flag(a <= b)
	case Gt:
		return flag(a > b)
	case Ge:
		return flag(a >= b)
	}
	return Value(r) & t.Mask()
}

// evalUint has what is not the same for unsigned integers as for signed ones.
func evalUint(o Op, t Type, a, b, c uint64) Value {
	switch o {
	case Div:
		if b == 0 {
			return t.Mask()
		}
		return a / b
	case Rem:
		if b == 0 {
			return a
		}
		return a % b
	case Min:
		return min(a, b)
	case Max:
		return max(a, b)
	case Shr:
		return a >> (b & uint64(t.Bits()-1))
	case Abs, ReLU:
		return a
	case Lt:
		return flag(a < b)
	case Le:
		return flag(a <= b)
	case Gt:
		return flag(a > b)
	case Ge:
		return flag(a >= b)
	}
	return evalInt(o, t, int64(a), int64(b), int64(c))
}

func canonical32(f float32) Value {
	if f != f {
		return nan(FP32)
	}
	return Value(math.Float32bits(f))
}

// evalFP32 computes with the processor's float32. Conversions of products keep
// the compiler from fusing them with the addition that follows.
func evalFP32(o Op, a, b, c uint32) Value {
	x, y := math.Float32frombits(a), math.Float32frombits(b)
	switch o {
	case Add:
		return canonical32(x + y)
	case Sub:
		return canonical32(x - y)
	case Mul:
		return canonical32(float32(x * y))
	case Div:
		return canonical32(x / y)
	case Sqrt:
		return canonical32(float32(math.Sqrt(float64(x))))
	case FMA:
		return canonical32(float32(minifloat.FMA(float64(x), float64(y), float64(math.Float32frombits(c)))))
	case Neg:
		return Value(a ^ 1<<31)
	case Abs:
		return Value(a &^ (1 << 31))
	}
	return evalOrder(o, FP32, float64(x), float64(y))
}

func canonical64(f float64) Value {
	if f != f {
		return nan(FP64)
	}
	return math.Float64bits(f)
}

// evalFP64 computes with the processor's float64.
func evalFP64(o Op, a, b, c uint64) Value {
	x, y := math.Float64frombits(a), math.Float64frombits(b)
	switch o {
	case Add:
		return canonical64(x + y)
	case Sub:
		return canonical64(x - y)
	case Mul:
		return canonical64(float64(x * y))
	case Div:
		return canonical64(x / y)
	case Sqrt:
		return canonical64(math.Sqrt(x))
	case FMA:
		return canonical64(math.FMA(x, y, math.Float64frombits(c)))
	case Neg:
		return a ^ 1<<63
	case Abs:
		return a &^ (1 << 63)
	}
	return evalOrder(o, FP64, x, y)
}

func evalSmall(o Op, t Type, a, b, c Value) Value {
	a, b, c = a&t.Mask(), b&t.Mask(), c&t.Mask()
	x, y := ToFloat(t, a), ToFloat(t, b)
	switch o {
	case Add:
		return FromFloat(t, x+y)
	case Sub:
		return FromFloat(t, x-y)
	case Mul:
		return FromFloat(t, float64(x*y))
	case Div:
		return FromFloat(t, x/y)
	case Sqrt:
		return FromFloat(t, math.Sqrt(x))
	case FMA:
		return FromFloat(t, minifloat.FMA(x, y, ToFloat(t, c)))
	case Neg:
		return a ^ 1<<(t.Bits()-1)
	case Abs:
		return a &^ (1 << (t.Bits() - 1))
	}
	return evalOrder(o, t, x, y)
}

// evalOrder has what is the same for all floating-point types: comparisons, and
// choices between operands.
func evalOrder(o Op, t Type, x, y float64) Value {
	switch o {
	case Eq:
		return flag(x == y)
	case Ne:
		return flag(x != y)
	case Lt:
		return flag(x < y)
	case Le:
		return flag(x <= y)
	case Gt:
		return flag(x > y)
	case Ge:
		return flag(x >= y)
	case ReLU:
		if x > 0 {
			return FromFloat(t, x)
		}
		return 0
	case Min, Max:
		switch {
		case x != x:
			x = y
		case y != y:
		case o == Min:
			x = math.Min(x, y)
		default:
			x = math.Max(x, y)
		}
		return FromFloat(t, x)
	}
	panic("scalar: " + o.String() + " of " + t.String())
}

// Convert returns the value of one type as another: integers wrap, integers and
// floating-point numbers round to nearest even, floating-point numbers become
// integers towards zero, the nearest there is where out of range and the largest
// for a NaN. A Bool is 0 or 1, and what is not zero is true.
func Convert(from, to Type, v Value) Value {
	v &= from.Mask()
	switch {
	case from == to:
		return v
	case to == Bool:
		if from.Float() {
			return flag(ToFloat(from, v) != 0)
		}
		return flag(v != 0)
	case from.Float() && to.Float():
		return FromFloat(to, ToFloat(from, v))
	case to.Float() && from == UInt64 && v>>63 != 0:
		// Rounding to odd to 63 bits keeps the one that follows right.
		return twice(to, FromInt(to, int64(v>>1|v&1)))
	case to.Float() || !from.Float():
		return FromInt(to, ToInt(from, v))
	}
	x := ToFloat(from, v)
	low, high := math.Ldexp(-1, to.Bits()-1), math.Ldexp(1, to.Bits()-1)
	if to.Unsigned() {
		low, high = 0, math.Ldexp(1, to.Bits())
	}
	switch {
	case to.Unsigned() && (x != x || x >= high):
		return to.Mask()
	case to.Unsigned() && x <= low:
		return 0
	case to.Unsigned():
		return uint64(x)
	case x != x || x >= high:
		return to.Mask() >> 1
	case x <= low:
		return 1 << (to.Bits() - 1)
	}
	return FromInt(to, int64(x))
}

// twice returns a number of 2^62 or more, doubled: too large for fp16 already.
func twice(t Type, v Value) Value { return FromFloat(t, 2*ToFloat(t, v)) }

// nan returns the canonical NaN: positive and quiet, nothing else set.
func nan(t Type) Value {
	switch t {
	case FP16:
		return 0x7e00
	case BF16:
		return 0x7fc0
	case FP64:
		return 0x7ff8000000000000
	}
	return 0x7fc00000
}

// roundInt returns the number of a small format nearest to an integer, rounded
// once: float64 does not hold every integer of 64 bits.
func roundInt(t Type, v int64) Value {
	x := uint64(v)
	if v < 0 {
		x = -x
	}
	if drop := bits.Len64(x) - 53; drop > 0 {
		sticky := flag(x&(1<<drop-1) != 0)
		x = x>>drop<<drop | sticky<<drop // to odd, below the precision of any format here
	}
	f := float64(x)
	if v < 0 {
		f = -f
	}
	return FromFloat(t, f)
}
