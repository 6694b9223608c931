// Package softfloat is IEEE 754-2019 binary arithmetic in any small format, by
// definition: the exact result as an integer times a power of two, and then one
// rounding. It is the reference that circuits and array programs are checked
// against, so it is plain and shares no code with them; an operation takes about
// a microsecond.
//
// Rounding is to nearest, ties to even. There are subnormals, infinities and
// signed zeros. Every result that is not a number is the canonical NaN: positive
// and quiet, all of the fraction but its top bit zero; payloads are not carried
// over, and signalling NaNs are NaNs like others. There are no flags.
//
// With FlushToZero a subnormal operand counts as the zero of its sign, and a
// result that is subnormal becomes the zero of its sign. Whether a result is
// subnormal is decided after rounding it to the precision of a normal number, as
// the bits FTZ and DAZ of x86's MXCSR have it: a value that rounds up to the
// smallest normal number is that.
package softfloat

import (
	"fmt"
	"math/big"
)

// Format is a binary floating-point format: a sign, Exp bits of biased exponent
// and Frac bits of fraction, from the top down in the low bits of a uint64. Bits
// above these must be 0.
type Format struct {
	Exp, Frac   int
	FlushToZero bool
}

// The formats of the processor and of machine learning.
var (
	Half     = Format{Exp: 5, Frac: 10}  // binary16
	BFloat16 = Format{Exp: 8, Frac: 7}   // bfloat16
	Single   = Format{Exp: 8, Frac: 23}  // binary32
	Double   = Format{Exp: 11, Frac: 52} // binary64
)

// maxExp keeps the exact sums, of up to 2^Exp bits, short.
const maxExp = 15

// Check tells whether the format is one this package can compute with: 2 to 15
// bits of exponent, a fraction, and 64 bits at most.
func (f Format) Check() error {
	if f.Exp < 2 || f.Exp > maxExp || f.Frac < 1 || f.Bits() > 64 {
		return fmt.Errorf("softfloat: %d exponent and %d fraction bits, expected 2 to %d and at least 1, at most 63 together", f.Exp, f.Frac, maxExp)
	}
	return nil
}

// Bits is the number of bits of a word of the format.
func (f Format) Bits() int { return 1 + f.Exp + f.Frac }

// Bias is what is added to the exponent of a normal number.
func (f Format) Bias() int { return 1<<(f.Exp-1) - 1 }

// NaN is the canonical NaN.
func (f Format) NaN() uint64 { return f.Inf(false) | 1<<(f.Frac-1) }

// Inf is an infinity.
func (f Format) Inf(negative bool) uint64 { return f.signed(negative, (1<<f.Exp-1)<<f.Frac) }

// Zero is a zero.
func (f Format) Zero(negative bool) uint64 { return f.signed(negative, 0) }

// MaxFinite is the largest finite number.
func (f Format) MaxFinite() uint64 { return f.Inf(false) - 1 }

// MinNormal is the smallest positive normal number.
func (f Format) MinNormal() uint64 { return 1 << f.Frac }

// IsNaN tells whether x is a NaN of any sort.
func (f Format) IsNaN(x uint64) bool { return f.magnitude(x) > f.Inf(false) }

// Neg is x with its sign inverted, whatever x is.
func (f Format) Neg(x uint64) uint64 { return x ^ f.signBit() }

// Abs is x with its sign cleared, whatever x is.
func (f Format) Abs(x uint64) uint64 { return f.magnitude(x) }

func (f Format) signBit() uint64           { return 1 << (f.Exp + f.Frac) }
func (f Format) magnitude(x uint64) uint64 { return x &^ f.signBit() }
func (f Format) isNegative(x uint64) bool  { return x&f.signBit() != 0 }
func (f Format) quantum() int              { return 1 - f.Bias() - f.Frac }
func (f Format) isInf(x uint64) bool       { return f.magnitude(x) == f.Inf(false) }
func (f Format) isZero(x uint64) bool      { return f.magnitude(f.flush(x)) == 0 }
func (f Format) anyNaN(xs ...uint64) (b bool) {
	for _, x := range xs {
		b = b || f.IsNaN(x)
	}
	return b
}

func (f Format) signed(negative bool, magnitude uint64) uint64 {
	if negative {
		return magnitude | f.signBit()
	}
	return magnitude
}

// flush makes a subnormal operand a zero if the format says so.
func (f Format) flush(x uint64) uint64 {
	if f.FlushToZero && f.magnitude(x) < f.MinNormal() {
		return x & f.signBit()
	}
	return x
}

// exact is the number mant 2^exp.
type exact struct {
	mant *big.Int
	exp  int
}

// exact is the value of a finite x.
func (f Format) exact(x uint64) exact {
	x = f.flush(x)
	m, e := f.magnitude(x)&(f.MinNormal()-1), int(f.magnitude(x)>>f.Frac)
	if e > 0 {
		m |= f.MinNormal()
		e--
	}
	v := exact{new(big.Int).SetUint64(m), e + f.quantum()}
	if f.isNegative(x) {
		v.mant.Neg(v.mant)
	}
	return v
}

func (v exact) plus(w exact) exact {
	if v.exp < w.exp {
		v, w = w, v
	}
	m := new(big.Int).Lsh(v.mant, uint(v.exp-w.exp))
	return exact{m.Add(m, w.mant), w.exp}
}

func (v exact) times(w exact) exact {
	return exact{new(big.Int).Mul(v.mant, w.mant), v.exp + w.exp}
}

// inexact adds a bit below the last one that stands for anything that is not
// zero there. The number must have two bits more than the fraction, so that no
// tie lies between it and the true one.
func (v exact) inexact(more bool) exact {
	m := new(big.Int).Lsh(v.mant, 1)
	if more {
		m.SetBit(m, 0, 1)
	}
	return exact{m, v.exp - 1}
}

// nearest is v in units of 2^quantum, ties to even; v is not negative.
func (v exact) nearest(quantum int) *big.Int {
	drop := quantum - v.exp
	if drop <= 0 {
		return new(big.Int).Lsh(v.mant, uint(-drop))
	}
	whole := new(big.Int).Rsh(v.mant, uint(drop))
	rest := new(big.Int).Sub(v.mant, new(big.Int).Lsh(whole, uint(drop)))
	c := rest.Cmp(new(big.Int).Lsh(big.NewInt(1), uint(drop-1)))
	if c > 0 || c == 0 && whole.Bit(0) == 1 {
		whole.Add(whole, big.NewInt(1))
	}
	return whole
}

// round is v in the format. Where v is zero the sign is that of negative.
func (f Format) round(v exact, negative bool) uint64 {
	if v.mant.Sign() == 0 {
		return f.Zero(negative)
	}
	negative = v.mant.Sign() < 0
	v.mant = new(big.Int).Abs(v.mant)
	q := v.exp + v.mant.BitLen() - 1 - f.Frac // the unit of a normal number
	if q > f.Bias()-f.Frac {
		return f.Inf(negative)
	}
	if f.FlushToZero && q < f.quantum() {
		if q < f.quantum()-1 || v.nearest(q).BitLen() <= f.Frac+1 {
			return f.Zero(negative)
		}
	}
	q = max(q, f.quantum())
	m := v.nearest(q).Uint64()
	// The leading bit of m adds one to the exponent, and so does the carry of
	// the rounding; beyond the largest finite number is infinity.
	return f.signed(negative, uint64(q-f.quantum())<<f.Frac+m)
}

// Add is x + y.
func (f Format) Add(x, y uint64) uint64 {
	negX, negY := f.isNegative(x), f.isNegative(y)
	switch {
	case f.anyNaN(x, y), f.isInf(x) && f.isInf(y) && negX != negY:
		return f.NaN()
	case f.isInf(x):
		return x
	case f.isInf(y):
		return y
	}
	return f.round(f.exact(x).plus(f.exact(y)), f.isZero(x) && negX && negY)
}

// Sub is x - y.
func (f Format) Sub(x, y uint64) uint64 { return f.Add(x, f.Neg(y)) }

// Mul is x * y.
func (f Format) Mul(x, y uint64) uint64 {
	negative := f.isNegative(x) != f.isNegative(y)
	switch {
	case f.anyNaN(x, y), f.isInf(x) && f.isZero(y), f.isZero(x) && f.isInf(y):
		return f.NaN()
	case f.isInf(x) || f.isInf(y):
		return f.Inf(negative)
	}
	return f.round(f.exact(x).times(f.exact(y)), negative)
}

// FMA is x * y + z, rounded once.
func (f Format) FMA(x, y, z uint64) uint64 {
	negative, negZ := f.isNegative(x) != f.isNegative(y), f.isNegative(z)
	inf := f.isInf(x) || f.isInf(y)
	switch {
	case f.anyNaN(x, y, z), f.isInf(x) && f.isZero(y), f.isZero(x) && f.isInf(y), inf && f.isInf(z) && negative != negZ:
		return f.NaN()
	case inf:
		return f.Inf(negative)
	case f.isInf(z):
		return z
	}
	zero := f.isZero(x) || f.isZero(y)
	return f.round(f.exact(x).times(f.exact(y)).plus(f.exact(z)), zero && negative && negZ)
}

// Div is x / y.
func (f Format) Div(x, y uint64) uint64 {
	negative := f.isNegative(x) != f.isNegative(y)
	switch {
	case f.anyNaN(x, y), f.isInf(x) && f.isInf(y), f.isZero(x) && f.isZero(y):
		return f.NaN()
	case f.isInf(x) || f.isZero(y):
		return f.Inf(negative)
	case f.isZero(x) || f.isInf(y):
		return f.Zero(negative)
	}
	n, d := f.exact(f.Abs(x)), f.exact(f.Abs(y))
	up := uint(max(0, f.Frac+3+d.mant.BitLen()-n.mant.BitLen()))
	q, r := new(big.Int).QuoRem(new(big.Int).Lsh(n.mant, up), d.mant, new(big.Int))
	v := exact{q, n.exp - int(up) - d.exp}.inexact(r.Sign() != 0)
	return f.signed(negative, f.round(v, false))
}

// Sqrt is the square root of x.
func (f Format) Sqrt(x uint64) uint64 {
	switch {
	case f.isZero(x):
		return f.flush(x)
	case f.IsNaN(x), f.isNegative(x):
		return f.NaN()
	case f.isInf(x):
		return x
	}
	v := f.exact(x)
	up := max(0, 2*(f.Frac+3)-v.mant.BitLen())
	up += (v.exp - up) & 1
	m := new(big.Int).Lsh(v.mant, uint(up))
	root := new(big.Int).Sqrt(m)
	more := m.Cmp(new(big.Int).Mul(root, root)) != 0
	return f.round(exact{root, (v.exp - up) / 2}.inexact(more), false)
}

// Order is how two operands compare.
type Order int

// The four outcomes of a comparison.
const (
	Less Order = iota - 1
	Equal
	Greater
	Unordered // at least one is a NaN
)

// Compare compares x and y; zeros of either sign are equal.
func (f Format) Compare(x, y uint64) Order {
	if f.anyNaN(x, y) {
		return Unordered
	}
	return Order(f.rank(x).Cmp(f.rank(y)))
}

// rank is an integer that orders numbers as their values; an infinity is where
// the next number after the largest finite one would be.
func (f Format) rank(x uint64) *big.Int {
	x = f.flush(x)
	r := new(big.Int).SetUint64(f.magnitude(x))
	if f.isNegative(x) {
		r.Neg(r)
	}
	return r
}

// Min is the operation minimumNumber: the smaller of x and y, where -0 is
// smaller than +0; of a number and a NaN the number; of two NaNs the canonical
// NaN.
func (f Format) Min(x, y uint64) uint64 { return f.pick(x, y, Less) }

// Max is the operation maximumNumber: the larger of x and y, where +0 is larger
// than -0; of a number and a NaN the number; of two NaNs the canonical NaN.
func (f Format) Max(x, y uint64) uint64 { return f.pick(x, y, Greater) }

func (f Format) pick(x, y uint64, want Order) uint64 {
	x, y = f.flush(x), f.flush(y)
	switch {
	case f.anyNaN(x) && f.anyNaN(y):
		return f.NaN()
	case f.IsNaN(x):
		return y
	case f.IsNaN(y):
		return x
	}
	switch f.Compare(x, y) {
	case want:
		return x
	case Equal: // they differ if at all in the sign of zero
		if f.isNegative(x) == (want == Less) {
			return x
		}
	}
	return y
}

// ConvertTo is x in another format. Either format's FlushToZero applies on its
// own side.
func (f Format) ConvertTo(to Format, x uint64) uint64 {
	switch {
	case f.IsNaN(x):
		return to.NaN()
	case f.isInf(x):
		return to.Inf(f.isNegative(x))
	}
	return to.round(f.exact(x), f.isNegative(x))
}

// FromInt is the integer x of width bits, which is 1 to 64: in two's complement
// if signed is set. Bits above the width are not looked at.
func (f Format) FromInt(x uint64, width int, signed bool) uint64 {
	v := new(big.Int).SetUint64(x & mask(width))
	if signed && v.Bit(width-1) == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(width)))
	}
	return f.round(exact{v, 0}, false)
}

// Rounding says which integer stands for a number that is none.
type Rounding int

// The roundings to an integer.
const (
	TowardZero  Rounding = iota // cut off, as conversions in C and Go do
	NearestEven                 // the nearest; of two the even one
)

// ToInt is x as an integer of width bits, which is 1 to 64: in two's complement
// if signed is set. What is out of range gives the nearest integer that is not,
// infinities included, and a NaN gives the largest integer, as in RISC-V. Bits
// above the width are 0.
func (f Format) ToInt(x uint64, width int, signed bool, r Rounding) uint64 {
	low, high := new(big.Int), new(big.Int).SetUint64(mask(width))
	if signed {
		high.Rsh(high, 1)
		low.Not(high)
	}
	switch {
	case f.IsNaN(x), f.isInf(x) && !f.isNegative(x):
		return high.Uint64()
	case f.isInf(x):
		return toWord(low, width)
	}
	v := f.exact(x)
	negative := v.mant.Sign() < 0
	v.mant.Abs(v.mant)
	var n *big.Int
	switch {
	case r == NearestEven:
		n = v.nearest(0)
	case v.exp < 0:
		n = new(big.Int).Rsh(v.mant, uint(-v.exp))
	default:
		n = new(big.Int).Lsh(v.mant, uint(v.exp))
	}
	if negative {
		n.Neg(n)
	}
	switch {
	case n.Cmp(low) < 0:
		n = low
	case n.Cmp(high) > 0:
		n = high
	}
	return toWord(n, width)
}

// toWord is an integer in two's complement.
func toWord(n *big.Int, width int) uint64 {
	if n.Sign() < 0 {
		return -new(big.Int).Neg(n).Uint64() & mask(width)
	}
	return n.Uint64()
}

func mask(width int) uint64 { return ^uint64(0) >> (64 - width) }
