package arith

import (
	"math"
	"math/bits"
)

// The latencies of others, n being the width.
var (
	neuralCacheAdd = Formula{"Neural Cache", "n+1", func(n int) int { return n + 1 }}
	neuralCacheMul = Formula{"Neural Cache", "n^2+5n-2", func(n int) int { return n*n + 5*n - 2 }}
	neuralCacheDiv = Formula{"Neural Cache", "1.5n^2+5.5n", func(n int) int { return (3*n*n + 11*n) / 2 }}
	simdramAdd     = Formula{"SIMDRAM", "8n+1", func(n int) int { return 8*n + 1 }}
	simdramMul     = Formula{"SIMDRAM", "11n^2-5n-1", func(n int) int { return 11*n*n - 5*n - 1 }}
	infinityAdd    = Formula{"Infinity Stream simulator", "n", func(n int) int { return n }}
	infinityMul    = Formula{"Infinity Stream simulator", "n^2/2", func(n int) int { return n * n / 2 }}
	infinityMac    = Formula{"Infinity Stream simulator", "2n^2", func(n int) int { return 2 * n * n }}
	infinityFloat  = Formula{"Infinity Stream simulator", "n^2", func(n int) int { return n * n }}
)

// at32 is a figure that is published for 32 bits only; 0 stands for none.
func at32(source string, cycles int) Formula {
	return Formula{source, "n=32", func(n int) int {
		if n == 32 {
			return cycles
		}
		return 0
	}}
}

func one(v uint64) Value { return Value{Lo: v} }

func flag(b bool) Value {
	if b {
		return Value{Lo: 1}
	}
	return Value{}
}

func bitWide(Type) int { return 1 }

// shiftBits is the width of a shift amount: it holds 0 to n-1, and at least a
// bit.
func shiftBits(n int) int { return max(1, bits.Len(uint(n-1))) }

func shiftWidths(t Type, arg int) int {
	if arg == 1 {
		return shiftBits(t.Width)
	}
	return t.Width
}

func twice(t Type) int { return 2 * t.Width }

// countBits is the width of a number of bits, 0 to n.
func countBits(t Type) int { return bits.Len(uint(t.Width)) }

var (
	unary  = []string{"a"}
	binary = []string{"a", "b"}
)

// integerOperations is the table of the operations on integers. Names that
// begin with uint are for unsigned numbers; where the sign does not matter there
// is the one that begins with int.
func integerOperations() []Operation {
	compare := func(id ID, doc string, want func(a, b int64, x, y uint64) bool, circ func(*circuit, Type, [][]lit) []lit) Operation {
		return Operation{ID: id, Doc: doc, Args: binary, resWidth: bitWide, circuit: circ,
			ref: func(t Type, a []uint64) Value {
				return flag(want(signed(a[0], t.Width), signed(a[1], t.Width), a[0], a[1]))
			}}
	}
	pick := func(id ID, doc string, first func(a, b int64, x, y uint64) bool, sgn, max bool) Operation {
		return Operation{ID: id, Doc: doc, Args: binary, circuit: xmgMinMax(sgn, max),
			ref: func(t Type, a []uint64) Value {
				if first(signed(a[0], t.Width), signed(a[1], t.Width), a[0], a[1]) {
					return one(a[0])
				}
				return one(a[1])
			}}
	}
	logic := func(id ID, doc string, f func(a, b uint64) uint64, circ func(c *circuit, a, b lit) lit) Operation {
		return Operation{ID: id, Doc: doc, Args: binary,
			circuit: func(c *circuit, _ Type, x [][]lit) []lit {
				return c.each(x[0], x[1], func(a, b lit) lit { return circ(c, a, b) })
			},
			ref: func(_ Type, a []uint64) Value { return one(f(a[0], a[1])) }}
	}
	shift := func(id ID, doc string, kind shiftKind, f func(t Type, a uint64, s int) uint64) Operation {
		return Operation{ID: id, Doc: doc, Args: []string{"a", "s"}, argWidth: shiftWidths, circuit: xmgShift(kind),
			ref: func(t Type, a []uint64) Value { return one(f(t, a[0], int(a[1]))) }}
	}
	multiply := func(id ID, doc string, sgn bool, part mulPart) Operation {
		o := Operation{ID: id, Doc: doc, Args: binary, circuit: xmgMultiply(sgn, part),
			Published: []Formula{neuralCacheMul}}
		if part == mulFull {
			o.resWidth = twice
			o.Published = append(o.Published, simdramMul)
		}
		o.ref = func(t Type, a []uint64) Value {
			n := t.Width
			v := fullProduct(a[0], a[1], n, sgn)
			if part == mulHigh {
				return one(v.Lo>>n | shl(v.Hi, 64-n))
			}
			return v
		}
		return o
	}
	divide := func(id ID, doc string, sgn, rem bool) Operation {
		o := Operation{ID: id, Doc: doc, Args: binary, circuit: xmgDivide(sgn, rem),
			Published: []Formula{neuralCacheDiv}}
		o.ref = func(t Type, a []uint64) Value {
			q, r := quotient(a[0], a[1], t.Width, sgn)
			if rem {
				return one(r)
			}
			return one(q)
		}
		return o
	}
	mul := multiply(IntMul, "low word of a * b", false, mulLow)
	mul.Published = []Formula{neuralCacheMul, infinityMul, at32("MVE simulator", 560), at32("BITSIMD_V", 3664), at32("AritPIM", 18123)}
	return []Operation{
		{ID: IntAdd, Doc: "a + b", Args: binary, circuit: xmgAdd,
			Published: []Formula{neuralCacheAdd, simdramAdd, infinityAdd, at32("MVE simulator", 32), at32("BITSIMD_V", 193), at32("AritPIM", 577)},
			ref:       func(_ Type, a []uint64) Value { return one(a[0] + a[1]) }},
		{ID: IntSub, Doc: "a - b", Args: binary, circuit: xmgSub,
			ref: func(_ Type, a []uint64) Value { return one(a[0] - a[1]) }},
		{ID: IntNeg, Doc: "-a", Args: unary, circuit: xmgNeg,
			ref: func(_ Type, a []uint64) Value { return one(-a[0]) }},
		{ID: IntAbs, Doc: "a or -a, whichever is not negative; the most negative number stays", Args: unary, circuit: xmgAbs,
			ref: func(t Type, a []uint64) Value {
				if signed(a[0], t.Width) < 0 {
					return one(-a[0])
				}
				return one(a[0])
			}},
		compare(IntEqual, "a = b", func(_, _ int64, x, y uint64) bool { return x == y }, xmgEqual(false)),
		compare(IntNotEqual, "a <> b", func(_, _ int64, x, y uint64) bool { return x != y }, xmgEqual(true)),
		compare(IntLess, "a < b, signed", func(a, b int64, _, _ uint64) bool { return a < b }, xmgLess(true, false, false)),
		compare(IntLessEqual, "a <= b, signed", func(a, b int64, _, _ uint64) bool { return a <= b }, xmgLess(true, true, true)),
		compare(IntGreater, "a > b, signed", func(a, b int64, _, _ uint64) bool { return a > b }, xmgLess(true, true, false)),
		compare(IntGreaterEqual, "a >= b, signed", func(a, b int64, _, _ uint64) bool { return a >= b }, xmgLess(true, false, true)),
		compare(UintLess, "a < b, unsigned", func(_, _ int64, a, b uint64) bool { return a < b }, xmgLess(false, false, false)),
		compare(UintLessEqual, "a <= b, unsigned", func(_, _ int64, a, b uint64) bool { return a <= b }, xmgLess(false, true, true)),
		compare(UintGreater, "a > b, unsigned", func(_, _ int64, a, b uint64) bool { return a > b }, xmgLess(false, true, false)),
		compare(UintGreaterEqual, "a >= b, unsigned", func(_, _ int64, a, b uint64) bool { return a >= b }, xmgLess(false, false, true)),
		pick(IntMin, "lesser of a and b, signed", func(a, b int64, _, _ uint64) bool { return a < b }, true, false),
		pick(IntMax, "greater of a and b, signed", func(a, b int64, _, _ uint64) bool { return a > b }, true, true),
		pick(UintMin, "lesser of a and b, unsigned", func(_, _ int64, a, b uint64) bool { return a < b }, false, false),
		pick(UintMax, "greater of a and b, unsigned", func(_, _ int64, a, b uint64) bool { return a > b }, false, true),
		{ID: IntSelect, Doc: "a if c is 1, else b", Args: []string{"c", "a", "b"}, circuit: xmgSelect,
			argWidth: func(t Type, arg int) int {
				if arg == 0 {
					return 1
				}
				return t.Width
			},
			ref: func(_ Type, a []uint64) Value {
				if a[0] == 1 {
					return one(a[1])
				}
				return one(a[2])
			}},
		logic(IntAnd, "bits of a and b", func(a, b uint64) uint64 { return a & b }, (*circuit).and),
		logic(IntOr, "bits of a or b", func(a, b uint64) uint64 { return a | b }, (*circuit).or),
		logic(IntXor, "bits where a and b differ", func(a, b uint64) uint64 { return a ^ b }, (*circuit).xor),
		{ID: IntNot, Doc: "complement of a", Args: unary,
			circuit: func(c *circuit, _ Type, x [][]lit) []lit {
				return c.each(x[0], x[0], func(a, _ lit) lit { return a.Not() })
			},
			ref: func(_ Type, a []uint64) Value { return one(^a[0]) }},
		shift(IntShiftLeft, "a shifted up by s places, zeros from below", shiftLeft, func(_ Type, a uint64, s int) uint64 { return shl(a, s) }),
		shift(UintShiftRight, "a shifted down by s places, zeros from above", shiftRight, func(_ Type, a uint64, s int) uint64 { return a >> s }),
		shift(IntShiftRight, "a shifted down by s places, signs from above", shiftSigned, func(t Type, a uint64, s int) uint64 { return uint64(signed(a, t.Width) >> s) }),
		shift(IntRotateLeft, "a rotated up by s places; s counts modulo n", rotateLeft, func(t Type, a uint64, s int) uint64 {
			s %= t.Width
			return shl(a, s) | a>>(t.Width-s)
		}),
		shift(IntRotateRight, "a rotated down by s places; s counts modulo n", rotateRight, func(t Type, a uint64, s int) uint64 {
			s %= t.Width
			return a>>s | shl(a, t.Width-s)
		}),
		mul,
		multiply(IntMulHigh, "high word of a * b, signed", true, mulHigh),
		multiply(UintMulHigh, "high word of a * b, unsigned", false, mulHigh),
		multiply(IntMulWide, "both words of a * b, signed", true, mulFull),
		multiply(UintMulWide, "both words of a * b, unsigned", false, mulFull),
		{ID: IntMAC, Doc: "low word of a * b + c", Args: []string{"a", "b", "c"}, circuit: xmgMac,
			Published: []Formula{infinityMac},
			ref:       func(_ Type, a []uint64) Value { return one(a[0]*a[1] + a[2]) }},
		divide(IntDiv, "a / b towards zero, signed; -1 for b = 0", true, false),
		divide(UintDiv, "a / b, unsigned; all ones for b = 0", false, false),
		divide(IntRem, "remainder of a / b with the sign of a; a for b = 0", true, true),
		divide(UintRem, "remainder of a / b, unsigned; a for b = 0", false, true),
		{ID: UintSqrt, Doc: "floor of the square root of a", Args: unary, circuit: xmgSqrt,
			resWidth: func(t Type) int { return (t.Width + 1) / 2 },
			ref:      func(_ Type, a []uint64) Value { return one(squareRoot(a[0])) }},
		{ID: IntPopcount, Doc: "number of ones of a", Args: unary, resWidth: countBits, circuit: xmgPopcount,
			ref: func(_ Type, a []uint64) Value { return one(uint64(bits.OnesCount64(a[0]))) }},
		{ID: IntLeadingZeros, Doc: "number of zeros above the highest one of a; n for a = 0", Args: unary, resWidth: countBits, circuit: xmgLeadingZeros,
			ref: func(t Type, a []uint64) Value { return one(uint64(t.Width - bits.Len64(a[0]))) }},
		{ID: IntWiden, Doc: "a with twice the bits, signed", Args: unary, resWidth: twice, circuit: xmgWiden(true),
			ref: func(t Type, a []uint64) Value {
				x := signed(a[0], t.Width)
				return Value{uint64(x), uint64(x >> 63)}
			}},
		{ID: UintWiden, Doc: "a with twice the bits, unsigned", Args: unary, resWidth: twice, circuit: xmgWiden(false),
			ref: func(_ Type, a []uint64) Value { return one(a[0]) }},
		{ID: IntNarrow, Doc: "the lower half of the bits of a, rounded up", Args: unary, resWidth: func(t Type) int { return (t.Width + 1) / 2 },
			circuit: func(_ *circuit, t Type, x [][]lit) []lit { return x[0][:(t.Width+1)/2] },
			ref:     func(_ Type, a []uint64) Value { return one(a[0]) }},
		{ID: IntReLU, Doc: "a if it is positive, else 0", Args: unary, circuit: xmgReLU,
			ref: func(t Type, a []uint64) Value { return one(uint64(max(signed(a[0], t.Width), 0))) }},
	}
}

// shl is a << s, 0 for s of 64 or more.
func shl(a uint64, s int) uint64 { return a << uint(s) }

// fullProduct multiplies words of n bits to 2n bits.
func fullProduct(a, b uint64, n int, sgn bool) Value {
	if !sgn {
		hi, lo := bits.Mul64(a, b)
		return Value{lo, hi}
	}
	x, y := signed(a, n), signed(b, n)
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	if x < 0 {
		hi -= uint64(y)
	}
	if y < 0 {
		hi -= uint64(x)
	}
	return Value{lo, hi}
}

func quotient(a, b uint64, n int, sgn bool) (q, r uint64) {
	switch {
	case b == 0:
		return ^uint64(0), a
	case !sgn:
		return a / b, a % b
	case signed(b, n) == -1:
		return -a, 0
	}
	x, y := signed(a, n), signed(b, n)
	return uint64(x / y), uint64(x % y)
}

func squareRoot(a uint64) uint64 {
	r := uint64(math.Sqrt(float64(a)))
	for r > math.MaxUint32 || r*r > a {
		r--
	}
	for r < math.MaxUint32 && (r+1)*(r+1) <= a {
		r++
	}
	return r
}
