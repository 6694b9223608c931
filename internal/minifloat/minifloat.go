// Package minifloat converts between float64 and the binary floating-point
// formats that are narrower, of any width of exponent and fraction up to those of
// fp32: one implementation for element types and for the references of programs.
//
// It is not an oracle: internal/softfloat does the same by definition, and tests
// compare the two.
//
// Operations compute in float64 and round once more. With p bits of precision in
// a format, 53 >= 2p+2 makes that the same as rounding once for add, subtract,
// multiply, divide and square root (Figueroa, 1995), also where the result is
// subnormal; a fused multiply-add rounds to odd first ([FMA]).
package minifloat

import "math"

// Format is a format as IEEE 754 has them: a sign, Exp bits of a biased exponent,
// 2 to 8, and Man bits of a fraction, 1 to 23.
type Format struct {
	Exp, Man int
	FTZ      bool // subnormal operands and results count as zero of the same sign
}

// Width returns the bits of a number.
func (f Format) Width() int { return 1 + f.Exp + f.Man }

// Bias returns the bias of the exponent.
func (f Format) Bias() int { return 1<<(f.Exp-1) - 1 }

// NaN returns the canonical NaN: positive and quiet, nothing else set.
func (f Format) NaN() uint64 { return ones(f.Exp)<<f.Man | 1<<(f.Man-1) }

// Inf returns positive infinity.
func (f Format) Inf() uint64 { return ones(f.Exp) << f.Man }

// Float64 returns the number that bits of the format are, exactly.
func (f Format) Float64(bits uint64) float64 {
	exp, man := bits>>f.Man&ones(f.Exp), bits&ones(f.Man)
	var v float64
	switch {
	case exp == ones(f.Exp) && man != 0:
		return math.NaN()
	case exp == ones(f.Exp):
		v = math.Inf(1)
	case exp == 0 && f.FTZ:
		v = 0
	case exp == 0:
		v = math.Ldexp(float64(man), 1-f.Bias()-f.Man)
	default:
		// Normal numbers of all formats are normal as float64.
		v = math.Float64frombits((exp+uint64(1023-f.Bias()))<<52 | man<<(52-f.Man))
	}
	if bits>>(f.Width()-1)&1 != 0 {
		v = -v
	}
	return v
}

// Round returns the bits of the number nearest to v, ties to even. With FTZ a
// number that stays below the normal ones when it is rounded to their precision
// is zero.
func (f Format) Round(v float64) uint64 {
	if v != v {
		return f.NaN()
	}
	u := math.Float64bits(v)
	sign := u >> 63 << (f.Width() - 1)
	exp := int(u>>52&0x7ff) - 1023 + f.Bias()
	man := u&ones(52) | 1<<52
	switch {
	case u<<1 == 0:
		return sign
	case exp > int(ones(f.Exp)):
		return sign | f.Inf() // also infinity
	case u>>52&0x7ff == 0:
		return sign // subnormal as float64 is nothing in any format here
	}
	drop := 52 - f.Man
	if exp <= 0 {
		if f.FTZ {
			if exp == 0 && man+1<<(drop-1) >= 1<<53 {
				return sign | 1<<f.Man
			}
			return sign
		}
		drop += 1 - exp
		exp = 0
		if drop > 54 {
			return sign
		}
	}
	half := uint64(1) << (drop - 1)
	q := man >> drop
	if rest := man & ones(drop); rest > half || rest == half && q&1 != 0 {
		q++
	}
	// A carry out of the fraction moves the exponent up, to infinity at the end.
	r := q
	if exp != 0 {
		r = uint64(exp-1)<<f.Man + q
	}
	return sign | min(r, f.Inf())
}

// FMA returns x*y+z rounded to odd to 53 bits, for x*y exact, so that one more
// rounding is the only one (Boldo and Melquiond, 2008).
func FMA(x, y, z float64) float64 {
	p := float64(x * y)
	s := float64(p + z)
	if math.IsInf(s, 0) || s != s {
		return s
	}
	// The error of the sum (Knuth, TAOCP 2, 4.2.2).
	b := s - p
	e := (p - (s - b)) + (z - b)
	if e != 0 && math.Float64bits(s)&1 == 0 {
		// The result lies between s and its neighbour in the direction of e.
		if (e > 0) == (s > 0) {
			s = math.Float64frombits(math.Float64bits(s) + 1)
		} else {
			s = math.Float64frombits(math.Float64bits(s) - 1)
		}
	}
	return s
}

// ones returns n ones, n below 64.
func ones(n int) uint64 { return 1<<n - 1 }
