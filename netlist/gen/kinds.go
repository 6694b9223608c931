package gen

import "github.com/bitsched/bitsched/netlist"

// Largest widths. What limits most kinds is MaxNodes; these keep the arithmetic
// of the size check far from overflow and the time to see it short.
const (
	maxLinear    = 1 << 22 // gates grow with the width, or little faster
	maxQuadratic = 1 << 14 // gates grow with the square of the width
)

func bitsOf(what string, def, most int) Param {
	return Param{Name: "width", Doc: "bits of " + what, Default: def, Min: 1, Max: most}
}

// widthB is the width of the second operand, which is that of the first unless
// given.
var widthB = []Param{{Name: "width-b", Doc: "bits of b (default: width)", Min: 1, Max: maxQuadratic}}

// doubleWidth is the default of mul-add's word.
func doubleWidth(width, i int) int {
	if i > 0 {
		return 0
	}
	return 2 * width
}

// resizedWidth is the default of resize.
func resizedWidth(width, i int) int {
	if i > 0 {
		return 0
	}
	return width
}

func sameWidth(width, _ int) int { return width }

// Kinds is every circuit that Build knows, by name.
//
// The aliases choose what suits a machine that computes one gate a cycle, where
// depth costs nothing and gates do: adder is the ripple-carry adder and
// adder-prefix the Brent-Kung one, each the smallest of its sort. multiplier is
// the Dadda one: it has exactly as many gates as the array multiplier and is what
// a synthesis tool would hand over, and its columns, unlike the rows of an
// array, give a scheduler something to do.
var Kinds = []Kind{
	{
		Name:  "abs",
		Doc:   "|a| of a signed number; that of the least one is itself",
		Width: wordWidth("a"),
		build: integerAbs,
	},
	{
		Name:  "add",
		Doc:   "a + b, as long as a",
		Width: wordWidth("a and b"),
		build: integerAdd,
	},
	{
		Name: "adder-brent-kung", Aliases: []string{"adder-prefix"},
		Doc:   "a + b, parallel prefix with the fewest cells; y has a bit more than a",
		Width: bitsOf("a and b", 64, maxLinear),
		size:  sizePrefix(cellsBrentKung), build: prefixAdder(brentKung),
	},
	{
		Name:  "adder-carry-select",
		Doc:   "a + b, blocks computed for both carries; y has a bit more than a",
		Width: bitsOf("a and b", 64, maxLinear),
		Extra: []Param{{Name: "block", Doc: "bits of a block (default 0: 2, 2, 3, 4 and so on)", Min: 0, Max: maxLinear}},
		size:  sizeCarrySelect, build: adderCarrySelect,
	},
	{
		Name:  "adder-kogge-stone",
		Doc:   "a + b, parallel prefix of least depth and fan-out; y has a bit more than a",
		Width: bitsOf("a and b", 64, maxLinear),
		size:  sizePrefix(cellsKoggeStone), build: prefixAdder(koggeStone),
	},
	{
		Name: "adder-ripple", Aliases: []string{"adder"},
		Doc:   "a + b, a chain of full adders; y has a bit more than a",
		Width: bitsOf("a and b", 64, maxLinear),
		size:  sizeRipple, build: adderRipple,
	},
	{
		Name:  "adder-sklansky",
		Doc:   "a + b, parallel prefix of least depth; y has a bit more than a",
		Width: bitsOf("a and b", 64, maxLinear),
		size:  sizePrefix(cellsSklansky), build: prefixAdder(sklansky),
	},
	{
		Name:  "and",
		Doc:   "a and b, bit by bit",
		Width: wordWidth("a and b"),
		build: bitwise((*builder).And),
	},
	{
		Name:  "comparator",
		Doc:   "a < b, a = b and a > b as lt, eq and gt",
		Width: bitsOf("a and b", 64, maxLinear),
		size:  sizeComparator, build: comparator,
	},
	{
		Name: "decoder", Aliases: []string{"dec"},
		Doc:   "y[s] is 1 and every other of the 2^width bits of y is 0",
		Width: bitsOf("s", 8, 22),
		size:  sizeDecoder, build: decoder,
	},
	{
		Name: "divider", Aliases: []string{"div"},
		Doc:   "quotient q and remainder r of a / b, restoring; for b = 0, q is all ones and r is a mod 2^width-b",
		Width: bitsOf("a and q", 32, maxQuadratic),
		Extra: []Param{{Name: "width-b", Doc: "bits of b and r (default: width)", Min: 1, Max: maxQuadratic}},
		size:  sizeDivider, build: divider, derive: sameWidth,
	},
	{
		Name:  "eq",
		Doc:   "y is 1 if a = b",
		Width: wordWidth("a and b"),
		build: integerEqual(false),
	},
	{
		Name:  "fabs",
		Doc:   "a with the sign cleared, a floating-point word of any format",
		Width: floatWidth(32),
		build: floatSign(func(lit) lit { return netlist.False }),
	},
	{
		Name:  "fadd",
		Doc:   "a + b in floating point",
		Width: floatWidth(32), Extra: floatParams, derive: exponentOf, check: checkFloat,
		build: floatAdd(false),
	},
	{
		Name:  "fcmp",
		Doc:   "a < b, a = b, a > b and unordered, for a NaN, as lt, eq, gt and un",
		Width: floatWidth(32), Extra: floatParams, derive: exponentOf, check: checkFloat,
		build: floatCompare,
	},
	{
		Name:  "fconvert",
		Doc:   "a in another floating-point format",
		Width: floatWidth(32), Extra: convertParams, derive: convertDefaults, check: checkConvert,
		build: floatConvert,
	},
	{
		Name:  "fdiv",
		Doc:   "a / b in floating point",
		Width: floatWidth(32), Extra: floatParams, derive: exponentOf, check: checkFloat,
		build: floatDiv,
	},
	{
		Name:  "feq",
		Doc:   "y is 1 if a = b in floating point",
		Width: floatWidth(32), Extra: floatParams, derive: exponentOf, check: checkFloat,
		build: floatEqual,
	},
	{
		Name:  "ffma",
		Doc:   "a * b + c in floating point, rounded once",
		Width: floatWidth(32), Extra: floatParams, derive: exponentOf, check: checkFloat,
		build: floatFMA,
	},
	{
		Name:  "ffromint",
		Doc:   "the integer a as a floating-point number, to nearest, ties to even",
		Width: wordWidth("a"), Extra: fromIntParams, derive: fromIntDefaults, check: checkFromInt,
		build: floatFromInt,
	},
	{
		Name:  "fle",
		Doc:   "y is 1 if a <= b in floating point",
		Width: floatWidth(32), Extra: floatParams, derive: exponentOf, check: checkFloat,
		build: floatLessEqual,
	},
	{
		Name:  "flt",
		Doc:   "y is 1 if a < b in floating point",
		Width: floatWidth(32), Extra: floatParams, derive: exponentOf, check: checkFloat,
		build: floatLess,
	},
	{
		Name:  "fmax",
		Doc:   "maximumNumber of a and b: of -0 and +0 it is +0, of a number and a NaN the number",
		Width: floatWidth(32), Extra: floatParams, derive: exponentOf, check: checkFloat,
		build: floatPick(true),
	},
	{
		Name:  "fmin",
		Doc:   "minimumNumber of a and b: of -0 and +0 it is -0, of a number and a NaN the number",
		Width: floatWidth(32), Extra: floatParams, derive: exponentOf, check: checkFloat,
		build: floatPick(false),
	},
	{
		Name:  "fmul",
		Doc:   "a * b in floating point",
		Width: floatWidth(32), Extra: floatParams, derive: exponentOf, check: checkFloat,
		build: floatMul,
	},
	{
		Name:  "fneg",
		Doc:   "a with the other sign, a floating-point word of any format",
		Width: floatWidth(32),
		build: floatSign(lit.Not),
	},
	{
		Name:  "fsqrt",
		Doc:   "square root of a in floating point",
		Width: floatWidth(32), Extra: floatParams, derive: exponentOf, check: checkFloatRoot,
		build: floatSqrt,
	},
	{
		Name:  "fsub",
		Doc:   "a - b in floating point",
		Width: floatWidth(32), Extra: floatParams, derive: exponentOf, check: checkFloat,
		build: floatAdd(true),
	},
	{
		Name:  "ftoint",
		Doc:   "floating-point a as an integer, the nearest there is if it is out of range, the largest for a NaN",
		Width: floatWidth(32), Extra: toIntParams, derive: convertDefaults, check: checkFloat,
		build: floatToInt,
	},
	{
		Name:  "ge",
		Doc:   "y is 1 if a >= b",
		Width: wordWidth("a and b"), Extra: signedParams,
		build: integerOrder(false, true),
	},
	{
		Name:  "gt",
		Doc:   "y is 1 if a > b",
		Width: wordWidth("a and b"), Extra: signedParams,
		build: integerOrder(true, true),
	},
	{
		Name: "hypot", Aliases: []string{"hyp"},
		Doc:   "floor(sqrt(a^2 + b^2)); y has a bit more than a",
		Width: bitsOf("a and b", 32, maxQuadratic),
		size:  sizeHypot, build: hypot,
	},
	{
		Name: "int-to-float", Aliases: []string{"int2float"},
		Doc:   "mantissa m and exponent e with m 2^e closest to a, the least e; the largest float for more",
		Width: bitsOf("a", 11, maxLinear),
		Extra: []Param{
			{Name: "mantissa", Doc: "bits of m, at most width (default: 4, or width if less)", Min: 1, Max: maxLinear},
			{Name: "round", Doc: "1: round half up, 0: towards zero", Default: 1, Min: 0, Max: 1},
		},
		derive: func(width, i int) int { return min(4, width) },
		check:  checkIntToFloat,
		size:   sizeIntToFloat, build: intToFloat,
	},
	{
		Name:  "isqrt",
		Doc:   "floor of the square root of a, without restoring; y has half the bits of a, rounded up",
		Width: wordWidth("a"),
		build: integerRoot,
	},
	{
		Name:  "le",
		Doc:   "y is 1 if a <= b",
		Width: wordWidth("a and b"), Extra: signedParams,
		build: integerOrder(true, false),
	},
	{
		Name: "leading-zeros", Aliases: []string{"lzc"},
		Doc:   "number of zeros above the highest set bit of a; width if a = 0",
		Width: bitsOf("a", 64, maxLinear),
		size:  sizeLeadingZeros, build: leadingZeros,
	},
	{
		Name:  "lt",
		Doc:   "y is 1 if a < b",
		Width: wordWidth("a and b"), Extra: signedParams,
		build: integerOrder(false, false),
	},
	{
		Name:  "max",
		Doc:   "largest of the words x0, x1 and so on as y, and its index as i, the least where several are largest",
		Width: bitsOf("a word", 128, maxLinear/4),
		Extra: []Param{{Name: "words", Doc: "number of words, of at most 4194304 bits together", Default: 4, Min: 1, Max: 1 << 16}},
		check: checkMaximum,
		size:  sizeMaximum, build: maximum,
	},
	{
		Name:  "maximum",
		Doc:   "the larger of a and b",
		Width: wordWidth("a and b"), Extra: signedParams,
		build: integerPick(true),
	},
	{
		Name:  "minimum",
		Doc:   "the smaller of a and b",
		Width: wordWidth("a and b"), Extra: signedParams,
		build: integerPick(false),
	},
	{
		Name:  "mul-add",
		Doc:   "a * b + c, as long as c",
		Width: wordWidth("a and b"), Extra: []Param{{Name: "width-c", Doc: "bits of c and y (default: twice the width)", Min: 1, Max: 2 * maxWord}, signedParam}, derive: doubleWidth,
		build: integerMulAdd,
	},
	{
		Name:  "mul-full",
		Doc:   "a * b, twice as long as a",
		Width: wordWidth("a and b"), Extra: signedParams,
		build: integerMulFull,
	},
	{
		Name:  "mul-high",
		Doc:   "the upper half of a * b, as long as a",
		Width: wordWidth("a and b"), Extra: signedParams,
		build: integerMulHigh,
	},
	{
		Name:  "mul-low",
		Doc:   "the lower half of a * b, as long as a",
		Width: wordWidth("a and b"),
		build: integerMulLow,
	},
	{
		Name:  "multiplier-array",
		Doc:   "a * b, rows of carry-save adders; y has as many bits as a and b together",
		Width: bitsOf("a", 16, maxQuadratic), Extra: widthB, derive: sameWidth,
		size: sizeMultiplier, build: multiplierArray,
	},
	{
		Name:  "multiplier-booth",
		Doc:   "a * b, digits of b in radix 4, Dadda reduction; y has as many bits as a and b together",
		Width: bitsOf("a", 16, maxQuadratic), Extra: widthB, derive: sameWidth,
		size: sizeBooth, build: multiplierBooth,
	},
	{
		Name: "multiplier-dadda", Aliases: []string{"multiplier", "mult"},
		Doc:   "a * b, Dadda reduction and a ripple adder; y has as many bits as a and b together",
		Width: bitsOf("a", 16, maxQuadratic), Extra: widthB, derive: sameWidth,
		size: sizeMultiplier, build: multiplierDadda,
	},
	{
		Name:  "ne",
		Doc:   "y is 1 if a and b differ",
		Width: wordWidth("a and b"),
		build: integerEqual(true),
	},
	{
		Name:  "neg",
		Doc:   "-a",
		Width: wordWidth("a"),
		build: integerNeg,
	},
	{
		Name:  "not",
		Doc:   "a with all bits complemented",
		Width: wordWidth("a"),
		build: bitwiseNot,
	},
	{
		Name:  "or",
		Doc:   "a or b, bit by bit",
		Width: wordWidth("a and b"),
		build: bitwise((*builder).Or),
	},
	{
		Name:  "popcount",
		Doc:   "number of set bits of a",
		Width: bitsOf("a", 64, maxLinear),
		size:  sizePopcount, build: popcount,
	},
	{
		Name:  "priority",
		Doc:   "index of the highest set bit of a as y, 0 if there is none, and whether there is one as valid",
		Width: bitsOf("a", 128, maxLinear),
		size:  sizePriority, build: priority,
	},
	{
		Name:  "quotient",
		Doc:   "a / b towards zero; all ones for b = 0, and a if it is the least signed number and b = -1",
		Width: wordWidth("a and b"), Extra: signedParams,
		build: integerQuotient,
	},
	{
		Name:  "relu",
		Doc:   "a, or 0 if it is negative",
		Width: wordWidth("a"),
		build: integerReLU,
	},
	{
		Name:  "remainder",
		Doc:   "a - b (a / b), with the sign of a; a for b = 0",
		Width: wordWidth("a and b"), Extra: signedParams,
		build: integerRemainder,
	},
	{
		Name:  "resize",
		Doc:   "a cut off or extended to width-y bits",
		Width: wordWidth("a"), Extra: []Param{{Name: "width-y", Doc: "bits of y (default: width)", Min: 1, Max: maxWord}, {Name: "signed", Doc: "1: extended by the sign", Min: 0, Max: 1}}, derive: resizedWidth,
		build: integerResize,
	},
	{
		Name: "rotate-left", Aliases: []string{"barrel", "bar"},
		Doc:   "a rotated up by s places; s has as many bits as hold width-1, and a larger s counts modulo width",
		Width: bitsOf("a", 128, maxLinear),
		size:  sizeBarrel, build: barrel(true, rotateLeft),
	},
	{
		Name:  "rotate-right",
		Doc:   "a rotated down by s places; s has as many bits as hold width-1, and a larger s counts modulo width",
		Width: bitsOf("a", 64, maxLinear),
		size:  sizeBarrel, build: barrel(false, rotateRight),
	},
	{
		Name:  "select",
		Doc:   "a if s is 1, else b",
		Width: wordWidth("a and b"),
		build: integerSelect,
	},
	{
		Name:  "shift-left",
		Doc:   "a shifted up by s places, zeros from below; s has as many bits as hold width-1",
		Width: bitsOf("a", 64, maxLinear),
		size:  sizeBarrel, build: barrel(true, shiftLeft),
	},
	{
		Name:  "shift-right",
		Doc:   "a shifted down by s places, zeros from above; s has as many bits as hold width-1",
		Width: bitsOf("a", 64, maxLinear),
		size:  sizeBarrel, build: barrel(false, shiftRight),
	},
	{
		Name:  "shift-right-arithmetic",
		Doc:   "a shifted down by s places, copies of its top bit from above; s has as many bits as hold width-1",
		Width: bitsOf("a", 64, maxLinear),
		size:  sizeBarrel, build: barrel(false, shiftArithmetic),
	},
	{
		Name:  "sqrt",
		Doc:   "floor of the square root of a, restoring; y has half the bits of a, rounded up",
		Width: bitsOf("a", 64, 2*maxQuadratic),
		size:  sizeSquareRoot, build: squareRoot,
	},
	{
		Name: "squarer", Aliases: []string{"square"},
		Doc:   "a * a; y has twice the bits of a",
		Width: bitsOf("a", 64, maxQuadratic),
		size:  sizeSquare, build: squarer,
	},
	{
		Name:  "sub",
		Doc:   "a - b, as long as a",
		Width: wordWidth("a and b"),
		build: integerSub,
	},
	{
		Name:  "subtractor",
		Doc:   "a - b in two's complement; y has a bit more than a, the borrow",
		Width: bitsOf("a and b", 64, maxLinear),
		size:  sizeRipple, build: subtractor,
	},
	{
		Name:  "voter",
		Doc:   "y is 1 if more than half of the bits of a are",
		Width: bitsOf("a", 1001, maxLinear),
		size:  sizeVoter, build: voter,
	},
	{
		Name:  "xor",
		Doc:   "a exclusive or b, bit by bit",
		Width: wordWidth("a and b"),
		build: bitwise((*builder).Xor),
	},
}
