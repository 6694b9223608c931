package arith

import (
	"fmt"
	"math"

	"github.com/bitsched/bitsched/internal/minifloat"
)

// intBits is the width of the integers that numbers are converted to and from.
const intBits = 32

// floatOperations is the table of the operations on floating-point numbers, IEEE
// 754-2019 rounding to nearest, ties to even. Every NaN that comes out is the
// canonical one, but neg and abs change the sign of any word.
func floatOperations() []Operation {
	// rounded has a reference that computes in float64 and rounds.
	rounded := func(id ID, doc string, args []string, kind string, published []Formula, op func(x []float64) float64) Operation {
		return Operation{ID: id, Doc: doc, Args: args, circuit: xmgFloat(kind, nil), Published: published,
			ref: func(t Type, a []uint64) Value {
				var x [3]float64
				for i := range a {
					x[i] = t.Float.Float64(a[i])
				}
				return one(t.Float.Round(op(x[:])))
			}}
	}
	compare := func(id ID, doc string, order floatOrder, op func(x, y float64) bool) Operation {
		return Operation{ID: id, Doc: doc, Args: binary, circuit: xmgFloatCompare(order),
			resWidth: bitWide, result: func(Type) *Format { return nil },
			ref: func(t Type, a []uint64) Value {
				return flag(op(t.Float.Float64(a[0]), t.Float.Float64(a[1])))
			}}
	}
	pick := func(id ID, doc string, max bool, kind string) Operation {
		return Operation{ID: id, Doc: doc, Args: binary, circuit: xmgFloat(kind, nil),
			ref: func(t Type, a []uint64) Value { return one(t.Float.pick(a[0], a[1], max)) }}
	}
	convert := func(to *Format) Operation {
		return Operation{ID: floatTo(to), Doc: "a in the format " + to.Name, Args: unary,
			resWidth: func(Type) int { return to.Width() }, result: func(Type) *Format { return to },
			circuit: xmgFloat("fconvert", func(_ Type, extra map[string]int) { extra["width-y"], extra["exponent-y"] = to.Width(), to.Exp }),
			ref: func(t Type, a []uint64) Value {
				to := to.Format
				to.FTZ = t.Float.FTZ // on both sides
				return one(to.Round(t.Float.Float64(a[0])))
			}}
	}
	addition := []Formula{infinityFloat, at32("MVE simulator", 351), at32("BITSIMD_V", 3703), at32("AritPIM", 3997)}
	root := rounded(FloatSqrt, "square root of a", unary, "fsqrt", nil, func(x []float64) float64 { return math.Sqrt(x[0]) })
	root.check = func(t Type) error {
		if f := t.Float; f.Bias() <= f.Man {
			return fmt.Errorf("exponents of %d bits beside a fraction of %d, expected more: a root may be subnormal", f.Exp, f.Man)
		}
		return nil
	}
	return []Operation{
		rounded(FloatAdd, "a + b", binary, "fadd", addition, func(x []float64) float64 { return x[0] + x[1] }),
		rounded(FloatSub, "a - b", binary, "fsub", addition, func(x []float64) float64 { return x[0] - x[1] }),
		rounded(FloatMul, "a * b", binary, "fmul",
			[]Formula{infinityFloat, at32("MVE simulator", 346), at32("BITSIMD_V", 5906), at32("AritPIM", 11586)},
			func(x []float64) float64 { return float64(x[0] * x[1]) }),
		rounded(FloatFMA, "a * b + c, rounded once", []string{"a", "b", "c"}, "ffma", []Formula{infinityMac},
			func(x []float64) float64 { return minifloat.FMA(x[0], x[1], x[2]) }),
		rounded(FloatDiv, "a / b", binary, "fdiv", nil, func(x []float64) float64 { return x[0] / x[1] }),
		root,
		compare(FloatEqual, "a = b; zeros are equal, a NaN is equal to nothing", orderEqual, func(x, y float64) bool { return x == y }),
		compare(FloatNotEqual, "a <> b; a NaN is unequal to everything", orderNotEqual, func(x, y float64) bool { return x != y }),
		compare(FloatLess, "a < b", orderLess, func(x, y float64) bool { return x < y }),
		compare(FloatLessEqual, "a <= b", orderLessEqual, func(x, y float64) bool { return x <= y }),
		compare(FloatGreater, "a > b", orderGreater, func(x, y float64) bool { return x > y }),
		compare(FloatGreaterEqual, "a >= b", orderGreaterEqual, func(x, y float64) bool { return x >= y }),
		pick(FloatMin, "lesser of a and b, -0 being less than 0; the number beside a NaN", false, "fmin"),
		pick(FloatMax, "greater of a and b, -0 being less than 0; the number beside a NaN", true, "fmax"),
		{ID: FloatNeg, Doc: "a with the other sign", Args: unary,
			circuit: func(_ *circuit, _ Type, x [][]lit) []lit {
				n := len(x[0])
				return append(append([]lit{}, x[0][:n-1]...), x[0][n-1].Not())
			},
			ref: func(t Type, a []uint64) Value { return one(a[0] ^ 1<<(t.Width-1)) }},
		{ID: FloatAbs, Doc: "a without its sign", Args: unary,
			circuit: func(_ *circuit, _ Type, x [][]lit) []lit {
				n := len(x[0])
				return append(append([]lit{}, x[0][:n-1]...), constLits(0, 1)...)
			},
			ref: func(t Type, a []uint64) Value { return one(a[0] &^ (1 << (t.Width - 1))) }},
		convert(Formats[0]),
		convert(Formats[1]),
		convert(Formats[2]),
		{ID: FloatFromInt, Doc: "the integer a of 32 bits", Args: unary,
			argWidth: func(Type, int) int { return intBits }, argInt: func(int) bool { return true },
			circuit: func(c *circuit, t Type, x [][]lit) []lit {
				return c.kind("ffromint", intBits, map[string]int{"width-y": t.Width, "exponent-y": t.Float.Exp, "signed": 1}, x)
			},
			ref: func(t Type, a []uint64) Value { return one(t.Float.Round(float64(int32(a[0])))) }},
		{ID: FloatToInt, Doc: "a towards zero as an integer of 32 bits; the nearest there is if out of range, the largest for a NaN", Args: unary,
			resWidth: func(Type) int { return intBits }, result: func(Type) *Format { return nil },
			circuit: xmgFloat("ftoint", func(_ Type, extra map[string]int) { extra["width-y"], extra["signed"] = intBits, 1 }),
			ref: func(t Type, a []uint64) Value {
				x := t.Float.Float64(a[0])
				switch {
				case x != x || x >= math.MaxInt32:
					return one(math.MaxInt32)
				case x <= math.MinInt32:
					return one(1 << 31)
				}
				return one(uint64(uint32(int32(x))))
			}},
	}
}

// pick is minimumNumber or maximumNumber of IEEE 754-2019.
func (f *Format) pick(a, b uint64, max bool) uint64 {
	x, y := f.Float64(a), f.Float64(b)
	switch {
	case x != x && y != y:
		return f.NaN()
	case x != x:
		return f.Round(y)
	case y != y:
		return f.Round(x)
	case max:
		return f.Round(math.Max(x, y))
	}
	return f.Round(math.Min(x, y))
}
