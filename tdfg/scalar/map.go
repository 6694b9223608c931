package scalar

import "math"

// Map computes the operation on many elements: dst[i] from the i-th of each operand.
// All slices have the length of dst, which may be one of the operands. It is Eval
// for all of them, with loops of their own for what kernels are made of.
func Map(o Op, t Type, dst []Value, args ...[]Value) {
	if len(args) != o.Arity() || !o.Supports(t) {
		panic("scalar: " + o.String() + " of " + t.String())
	}
	a := args[0][:len(dst)]
	b, c := a, a
	if len(args) > 1 {
		b = args[1][:len(dst)]
	}
	if len(args) > 2 {
		c = args[2][:len(dst)]
	}
	switch {
	case t == FP32 && mapFP32(o, dst, a, b):
	case t.Int() && mapInt(o, t.Mask(), dst, a, b):
	default:
		for i := range dst {
			dst[i] = eval(o, t, a[i], b[i], c[i])
		}
	}
}

// mapFP32 reports whether it has a loop for the operation. A NaN is rare, so that
// the test for it costs little.
func mapFP32(o Op, dst, a, b []Value) bool {
	switch o {
	case Add:
		for i := range dst {
			dst[i] = canonical32(math.Float32frombits(uint32(a[i])) + math.Float32frombits(uint32(b[i])))
		}
	case Sub:
		for i := range dst {
			dst[i] = canonical32(math.Float32frombits(uint32(a[i])) - math.Float32frombits(uint32(b[i])))
		}
	case Mul:
		for i := range dst {
			dst[i] = canonical32(math.Float32frombits(uint32(a[i])) * math.Float32frombits(uint32(b[i])))
		}
	case Div:
		for i := range dst {
			dst[i] = canonical32(math.Float32frombits(uint32(a[i])) / math.Float32frombits(uint32(b[i])))
		}
	default:
		return false
	}
	return true
}

// mapInt reports whether it has a loop for the operation, one that does not care
// about the sign.
func mapInt(o Op, mask Value, dst, a, b []Value) bool {
	switch o {
	case Add:
		for i := range dst {
			dst[i] = (a[i] + b[i]) & mask
		}
	case Sub:
		for i := range dst {
			dst[i] = (a[i] - b[i]) & mask
		}
	case Mul:
		for i := range dst {
			dst[i] = a[i] * b[i] & mask
		}
	default:
		return false
	}
	return true
}
