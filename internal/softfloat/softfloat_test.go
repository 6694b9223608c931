package softfloat

import (
	"flag"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var patterns = flag.Int("patterns", 20000, "random patterns for each operation in the comparisons with the processor")

// word returns a pattern of a format: of any exponent, or near a power of two,
// near another number, at the edges of the range, subnormal or special.
func word(rnd *rand.Rand, f Format, near uint64) uint64 {
	all := uint64(1)<<f.Bits() - 1
	if f.Bits() == 64 {
		all = math.MaxUint64
	}
	x := rnd.Uint64() & all
	sign := x & f.signBit()
	frac := x & (f.MinNormal() - 1)
	switch rnd.IntN(12) {
	case 0: // few bits of fraction
		x &^= f.MinNormal()>>rnd.IntN(f.Frac) - 1
	case 1: // just below or above a power of two
		x = x&^(f.MinNormal()-1) + rnd.Uint64N(5) - 2
	case 2: // subnormal, of any magnitude
		x = sign | frac>>rnd.IntN(f.Frac)
	case 3, 4: // near the other operand, of the same or the other sign
		x = near&^(3<<f.Frac) | x&(3<<f.Frac)
	case 5:
		x = near&^f.signBit() + rnd.Uint64N(9) - 4 | sign
	case 6: // a short run of ones, for ties
		x = x&^(f.MinNormal()-1) | f.MinNormal() - 1<<rnd.IntN(f.Frac+1)
	case 7: // near the exponent of one
		x = sign | uint64(f.Bias()-4+rnd.IntN(8))<<f.Frac&f.Inf(false) | frac
	case 8:
		x = sign | f.MinNormal() + rnd.Uint64N(5) - 2
	case 9:
		x = sign | f.MaxFinite() - rnd.Uint64N(5)
	case 10:
		s := specials(f)
		x = s[rnd.IntN(len(s))]
	}
	return x & all
}

// specials are the values where something happens.
func specials(f Format) []uint64 {
	one := uint64(f.Bias()) << f.Frac
	var s []uint64
	for _, x := range []uint64{0, 1, 2, 3, f.MinNormal() - 1, f.MinNormal(), f.MinNormal() + 1, f.MinNormal() << 1, one - 1, one, one + 1,
		one + f.MinNormal()>>1, one + f.MinNormal(), one + f.MinNormal() + 1, f.MaxFinite() - 1, f.MaxFinite(), f.Inf(false), f.Inf(false) + 1, f.NaN(), f.NaN() + 1,
		uint64(f.Bias()-f.Frac) << f.Frac, uint64(f.Bias()-f.Frac-1) << f.Frac, uint64(f.Bias()+f.Frac) << f.Frac, uint64(f.Bias()/2) << f.Frac} {
		s = append(s, x&^f.signBit(), f.Neg(x&^f.signBit()))
	}
	return s
}

// triples calls f with all pairs of special values and with random triples.
func triples(f Format, seed uint64, each func(x, y, z uint64)) {
	s := specials(f)
	for i, x := range s {
		for _, y := range s {
			each(x, y, s[(7*i)%len(s)])
			each(x, y, s[(5*i+3)%len(s)])
		}
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	var x, y, z uint64
	for range *patterns {
		x = word(rnd, f, z)
		y = word(rnd, f, x)
		z = word(rnd, f, y)
		each(x, y, z)
	}
}

func single(x float32) uint64 {
	if x != x {
		return Single.NaN()
	}
	return uint64(math.Float32bits(x))
}

func double(x float64) uint64 {
	if x != x {
		return Double.NaN()
	}
	return math.Float64bits(x)
}

func same(t *testing.T, want, got uint64, what string, args ...uint64) {
	t.Helper()
	if want != got {
		t.Fatalf("%s of %#x is %#x, expected %#x", what, args, got, want)
	}
}

// outcome is the processor's comparison.
func outcome(x, y float64) Order {
	switch {
	case x < y:
		return Less
	case x == y:
		return Equal
	case x > y:
		return Greater
	}
	return Unordered
}

// fused is x*y + z in single precision: the exact product, which double
// precision holds, plus z rounded to odd (Boldo and Melquiond, IEEE ToC 2008),
// and then to single precision.
func fused(x, y, z float32) float32 {
	p, c := float64(x)*float64(y), float64(z)
	s := p + c
	if math.IsInf(s, 0) || s != s {
		return float32(s)
	}
	b := s - p
	rest := float64(p-float64(s-b)) + float64(c-b)
	if rest != 0 && math.Float64bits(s)&1 == 0 {
		if (rest > 0) == (s > 0) {
			s = math.Float64frombits(math.Float64bits(s) + 1)
		} else {
			s = math.Float64frombits(math.Float64bits(s) - 1)
		}
	}
	return float32(s)
}

func TestSingle(t *testing.T) {
	f := Single
	triples(f, 32, func(a, b, c uint64) {
		x, y, z := math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b)), math.Float32frombits(uint32(c))
		same(t, single(float32(x+y)), f.Add(a, b), "sum", a, b)
		same(t, single(float32(x-y)), f.Sub(a, b), "difference", a, b)
		same(t, single(float32(x*y)), f.Mul(a, b), "product", a, b)
		same(t, single(float32(x/y)), f.Div(a, b), "quotient", a, b)
		same(t, single(float32(math.Sqrt(float64(x)))), f.Sqrt(a), "root", a)
		same(t, single(fused(x, y, z)), f.FMA(a, b, c), "fused", a, b, c)
		same(t, double(float64(x)), f.ConvertTo(Double, a), "double", a)
		same(t, single(-x), f.ConvertTo(f, f.Neg(a)), "negative", a)
		require.Equal(t, outcome(float64(x), float64(y)), f.Compare(a, b))
		least, most := single(min(x, y)), single(max(x, y))
		switch { // Go's give a NaN
		case x != x:
			least, most = single(y), single(y)
		case y != y:
			least, most = single(x), single(x)
		}
		same(t, least, f.Min(a, b), "min", a, b)
		same(t, most, f.Max(a, b), "max", a, b)
	})
}

func TestDouble(t *testing.T) {
	f := Double
	triples(f, 64, func(a, b, c uint64) {
		x, y, z := math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c)
		same(t, double(x+y), f.Add(a, b), "sum", a, b)
		same(t, double(x-y), f.Sub(a, b), "difference", a, b)
		same(t, double(float64(x*y)), f.Mul(a, b), "product", a, b)
		same(t, double(x/y), f.Div(a, b), "quotient", a, b)
		same(t, double(math.Sqrt(x)), f.Sqrt(a), "root", a)
		same(t, double(math.FMA(x, y, z)), f.FMA(a, b, c), "fused", a, b, c)
		same(t, single(float32(x)), f.ConvertTo(Single, a), "single", a)
		require.Equal(t, outcome(x, y), f.Compare(a, b))
	})
}

// TestNarrow converts double precision values around those of single precision,
// where the ties are.
func TestNarrow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range *patterns {
		x := math.Float64bits(float64(math.Float32frombits(uint32(word(rnd, Single, 0)))))
		x ^= 1 << rnd.IntN(31)
		same(t, single(float32(math.Float64frombits(x))), Double.ConvertTo(Single, x), "single", x)
	}
}

func TestIntegers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for range *patterns {
		v := rnd.Uint64() >> rnd.IntN(64)
		switch rnd.IntN(4) {
		case 0:
			v = -v
		case 1:
			v &^= 1<<rnd.IntN(64) - 1
		case 2:
			v |= v >> 24
		}
		same(t, single(float32(v)), Single.FromInt(v, 64, false), "from uint64", v)
		same(t, single(float32(int64(v))), Single.FromInt(v, 64, true), "from int64", v)
		same(t, double(float64(v)), Double.FromInt(v, 64, false), "from uint64", v)
		same(t, double(float64(int64(v))), Double.FromInt(v, 64, true), "from int64", v)
		same(t, single(float32(int32(v))), Single.FromInt(v, 32, true), "from int32", v)
		same(t, single(float32(uint8(v))), Single.FromInt(v, 8, false), "from uint8", v)

		x := word(rnd, Double, v)
		if rnd.IntN(2) == 0 {
			x = double(math.Ldexp(float64(int64(v)), -rnd.IntN(70)))
		}
		f := math.Float64frombits(x)
		for _, r := range []Rounding{TowardZero, NearestEven} {
			g := math.Trunc(f)
			if r == NearestEven {
				g = math.RoundToEven(f)
			}
			for _, width := range []int{1, 2, 7, 8, 16, 31, 32, 33, 63, 64} {
				for _, signed := range []bool{false, true} {
					low, high := 0.0, math.Ldexp(1, width) // high is not in range
					if signed {
						low, high = -math.Ldexp(1, width-1), math.Ldexp(1, width-1)
					}
					var want uint64
					switch {
					case g < low:
						want = uint64(int64(low))
					case !(g < high): // also if no number
						want = uint64(1)<<width - 1
						if signed {
							want = uint64(1)<<(width-1) - 1
						}
					case g < 0:
						want = uint64(int64(g))
					default:
						want = uint64(g)
					}
					if width < 64 {
						want &= 1<<width - 1
					}
					same(t, want, Double.ToInt(x, width, signed, r), "integer", x, uint64(width))
				}
			}
		}
	}
}

// list is every finite number of a small format that is not negative, by its
// pattern, from the definition of the standard; patterns beyond the finite ones
// go on as if there were no end, for the rounding to infinity.
func list(f Format) []float64 {
	var l []float64
	for x := range f.Inf(false) + 1 {
		e, m := int(x>>f.Frac), float64(x&(f.MinNormal()-1))/float64(f.MinNormal())
		if e == 0 {
			l = append(l, math.Ldexp(m, 1-f.Bias()))
		} else {
			l = append(l, math.Ldexp(1+m, e-f.Bias()))
		}
	}
	return l
}

// nearestIn rounds an exact value by looking through all numbers of a format.
func nearestIn(f Format, l []float64, v float64) uint64 {
	switch {
	case v != v:
		return f.NaN()
	case math.Signbit(v):
		return nearestIn(f, l, -v) | f.signBit()
	}
	if f.FlushToZero && v < l[f.MinNormal()] {
		// The tie with the next number below, if exponents had no end.
		if unit := l[f.MinNormal()+1] - l[f.MinNormal()]; v < l[f.MinNormal()]-unit/4 {
			return 0
		}
		return f.MinNormal()
	}
	if v >= l[len(l)-1] {
		return f.Inf(false)
	}
	best := 0
	for i := range l {
		if d, e := math.Abs(l[i]-v), math.Abs(l[best]-v); d < e || d == e && i%2 == 0 {
			best = i
		}
	}
	return uint64(best)
}

// TestTiny compares all operands of tiny formats with a search through all
// numbers. The values are exact in double precision, or so far from ties that
// it does not matter.
func TestTiny(t *testing.T) {
	for _, f := range []Format{{2, 1, false}, {2, 2, false}, {3, 2, false}, {2, 3, false}, {4, 1, false}, {2, 2, true}, {3, 2, true}, {4, 1, true}} {
		require.NoError(t, f.Check())
		l := list(f)
		value := func(x uint64) float64 {
			m := f.Abs(x)
			v := math.NaN()
			switch {
			case m < f.MinNormal() && f.FlushToZero:
				v = 0
			case m < f.Inf(false):
				v = l[m]
			case m == f.Inf(false):
				v = math.Inf(1)
			}
			return math.Copysign(v, 1-2*float64(x>>(f.Bits()-1)))
		}
		for x := range uint64(1) << f.Bits() {
			vx := value(x)
			same(t, nearestIn(f, l, math.Sqrt(vx)), f.Sqrt(x), "root", x)
			for y := range uint64(1) << f.Bits() {
				vy := value(y)
				same(t, nearestIn(f, l, vx+vy), f.Add(x, y), "sum", x, y)
				same(t, nearestIn(f, l, vx-vy), f.Sub(x, y), "difference", x, y)
				same(t, nearestIn(f, l, float64(vx*vy)), f.Mul(x, y), "product", x, y)
				same(t, nearestIn(f, l, vx/vy), f.Div(x, y), "quotient", x, y)
				require.Equal(t, outcome(vx, vy), f.Compare(x, y))
				for i := range uint64(16) {
					z := (x*37 + y*11 + i*uint64(f.Bits()+2)) % (1 << f.Bits())
					same(t, nearestIn(f, l, math.FMA(vx, vy, value(z))), f.FMA(x, y, z), "fused", x, y, z)
				}
			}
		}
	}
}

// TestFlush holds flushing against the same format without it, in single
// precision.
func TestFlush(t *testing.T) {
	f := Single
	f.FlushToZero = true
	flush := func(x uint64) uint64 {
		if f.Abs(x) < f.MinNormal() {
			return x & f.signBit()
		}
		return x
	}
	wide := Format{Exp: 9, Frac: 23}  // holds the tiny results as normal numbers
	narrow := func(x uint64) uint64 { // exact but for overflow and tiny numbers
		least := Single.ConvertTo(wide, f.MinNormal())
		if wide.Abs(x) < least {
			return Single.Zero(wide.isNegative(x))
		}
		return wide.ConvertTo(Single, x)
	}
	triples(f, 33, func(a, b, c uint64) {
		x, y, z := Single.ConvertTo(wide, flush(a)), Single.ConvertTo(wide, flush(b)), Single.ConvertTo(wide, flush(c))
		same(t, narrow(wide.Add(x, y)), f.Add(a, b), "sum", a, b)
		same(t, narrow(wide.Mul(x, y)), f.Mul(a, b), "product", a, b)
		same(t, narrow(wide.Div(x, y)), f.Div(a, b), "quotient", a, b)
		same(t, narrow(wide.FMA(x, y, z)), f.FMA(a, b, c), "fused", a, b, c)
		same(t, narrow(wide.Sqrt(x)), f.Sqrt(a), "root", a)
		same(t, narrow(wide.Min(x, y)), f.Min(a, b), "min", a, b)
	})
}

func TestCheck(t *testing.T) {
	for _, f := range []Format{Half, BFloat16, Single, Double, {2, 1, false}, {15, 48, true}} {
		require.NoError(t, f.Check())
	}
	for _, f := range []Format{{1, 5, false}, {16, 5, false}, {5, 0, false}, {12, 52, false}, {}} {
		require.ErrorContains(t, f.Check(), "softfloat: ")
	}
}

func BenchmarkFMA(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	x := new(big.Int)
	for b.Loop() {
		a := word(rnd, Single, 0)
		x.SetUint64(Single.FMA(a, word(rnd, Single, a), word(rnd, Single, a)))
	}
}
