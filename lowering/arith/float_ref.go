package arith

import "math"

// The reference computes in float64 and rounds once more. With p bits of
// precision in a format, 53 >= 2p+2 makes that the same as rounding once for
// add, subtract, multiply, divide and square root (Figueroa, 1995), also where
// the result is subnormal. The fused operation rounds to odd first (Boldo and
// Melquiond, 2008).

// Float64 returns the number that bits of the format are, exactly.
func (f *Format) Float64(bits uint64) float64 {
	exp, man := bits>>f.Man&mask(f.Exp), bits&mask(f.Man)
	neg := bits >> (f.Width() - 1) & 1
	var v float64
	switch {
	case exp == mask(f.Exp) && man != 0:
		return math.NaN()
	case exp == mask(f.Exp):
		v = math.Inf(1)
	case exp == 0 && f.FTZ:
		v = 0
	case exp == 0:
		v = math.Ldexp(float64(man), 1-f.bias()-f.Man)
	default:
		// Normal numbers of all formats are normal as float64.
		v = math.Float64frombits((exp+uint64(1023-f.bias()))<<52 | man<<(52-f.Man))
	}
	if neg != 0 {
		v = -v
	}
	return v
}

func (f *Format) bias() int { return 1<<(f.Exp-1) - 1 }

// NaN returns the canonical NaN: positive and quiet, nothing else set.
func (f *Format) NaN() uint64 { return mask(f.Exp)<<f.Man | 1<<(f.Man-1) }

// Inf returns positive infinity.
func (f *Format) Inf() uint64 { return mask(f.Exp) << f.Man }

// Round returns the bits of the number nearest to v, ties to even. With FTZ a
// number that stays below the normal ones when it is rounded to their precision
// is zero.
func (f *Format) Round(v float64) uint64 {
	if v != v {
		return f.NaN()
	}
	u := math.Float64bits(v)
	sign := u >> 63 << (f.Width() - 1)
	exp := int(u>>52&0x7ff) - 1023 + f.bias()
	man := u&mask(52) | 1<<52
	switch {
	case u<<1 == 0:
		return sign
	case exp > int(mask(f.Exp)):
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
	if rest := man & mask(drop); rest > half || rest == half && q&1 != 0 {
		q++
	}
	// A carry out of the fraction moves the exponent up, to infinity at the end.
	var r uint64
	if exp == 0 {
		r = q
	} else {
		r = uint64(exp-1)<<f.Man + q
	}
	return sign | min(r, f.Inf())
}

// fma64 returns x*y+z rounded to odd to 53 bits, for x*y exact.
func fma64(x, y, z float64) float64 {
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
