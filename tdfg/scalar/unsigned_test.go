package scalar_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestUnsigned compares unsigned integers with big ones modulo a power of two.
func TestUnsigned(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, typ := range []scalar.Type{scalar.UInt8, scalar.UInt16, scalar.UInt32, scalar.UInt64} {
		mod := new(big.Int).Lsh(big.NewInt(1), uint(typ.Bits()))
		word := func() uint64 {
			if r.IntN(4) == 0 {
				return []uint64{0, 1, typ.Mask(), typ.Mask() >> 1, typ.Mask()>>1 + 1}[r.IntN(5)]
			}
			return r.Uint64() >> r.IntN(64) & typ.Mask()
		}
		for range 20000 {
			a, b := word(), word()
			x, y := new(big.Int).SetUint64(a), new(big.Int).SetUint64(b)
			n := uint(b) % uint(typ.Bits())
			want := map[scalar.Op]*big.Int{
				scalar.Add: new(big.Int).Add(x, y), scalar.Sub: new(big.Int).Sub(x, y), scalar.Mul: new(big.Int).Mul(x, y),
				scalar.Shl: new(big.Int).Lsh(x, n), scalar.Shr: new(big.Int).Rsh(x, n), scalar.Min: x, scalar.Max: x,
				scalar.Div: new(big.Int).Sub(mod, big.NewInt(1)), scalar.Rem: x,
			}
			if b != 0 {
				want[scalar.Div], want[scalar.Rem] = new(big.Int).Quo(x, y), new(big.Int).Rem(x, y)
			}
			if x.Cmp(y) > 0 {
				want[scalar.Min] = y
			} else {
				want[scalar.Max] = y
			}
			for op, w := range want {
				require.Equal(t, new(big.Int).Mod(w, mod).Uint64(), scalar.Eval(op, typ, a, b), "%s.%s %x %x", typ, op, a, b)
			}
			for op, yes := range map[scalar.Op]bool{scalar.Lt: a < b, scalar.Le: a <= b, scalar.Gt: a > b, scalar.Ge: a >= b, scalar.Eq: a == b, scalar.Ne: a != b} {
				require.Equal(t, flag(yes), scalar.Eval(op, typ, a, b), "%s.%s %x %x", typ, op, a, b)
			}
			for _, to := range []scalar.Type{scalar.Int8, scalar.Int16, scalar.Int32, scalar.Int64, scalar.UInt8, scalar.UInt16, scalar.UInt32, scalar.UInt64} {
				require.Equal(t, a&to.Mask(), scalar.Convert(typ, to, a))
			}
			require.Equal(t, uint64(math.Float32bits(float32(a))), scalar.Convert(typ, scalar.FP32, a), "%s to fp32 %x", typ, a)
			require.Equal(t, math.Float64bits(float64(a)), scalar.Convert(typ, scalar.FP64, a), "%s to fp64 %x", typ, a)
			f := float64(a) * r.Float64()
			require.Equal(t, uint64(f), scalar.Convert(scalar.FP64, typ, math.Float64bits(f)))
		}
		for f, want := range map[float64]uint64{-1: 0, math.Inf(-1): 0, math.Inf(1): typ.Mask(), math.NaN(): typ.Mask(), math.Ldexp(1, typ.Bits()): typ.Mask(), -0.5: 0} {
			require.Equal(t, want, scalar.Convert(scalar.FP64, typ, math.Float64bits(f)), "%s of %g", typ, f)
		}
		back, err := scalar.Parse(typ, scalar.Format(typ, typ.Mask()))
		require.NoError(t, err)
		require.Equal(t, typ.Mask(), back)
	}
}

// TestDouble compares fp64 with exact arithmetic, rounded once.
func TestDouble(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	exact := func(f func(z *big.Float)) uint64 {
		z := new(big.Float).SetPrec(2200)
		f(z)
		v, _ := z.Float64()
		return math.Float64bits(v)
	}
	for range 20000 {
		a, b, c := (r.Float64()-0.5)*math.Ldexp(1, r.IntN(80)-40), (r.Float64()-0.5)*math.Ldexp(1, r.IntN(80)-40), r.Float64()
		x, y, w := big.NewFloat(a), big.NewFloat(b), big.NewFloat(c)
		for op, want := range map[scalar.Op]uint64{
			scalar.Add: exact(func(z *big.Float) { z.Add(x, y) }), scalar.Sub: exact(func(z *big.Float) { z.Sub(x, y) }),
			scalar.Mul: exact(func(z *big.Float) { z.Mul(x, y) }), scalar.Div: exact(func(z *big.Float) { z.Quo(x, y) }),
		} {
			require.Equal(t, want, scalar.Eval(op, scalar.FP64, math.Float64bits(a), math.Float64bits(b)), "%s %g %g", op, a, b)
		}
		require.Equal(t, exact(func(z *big.Float) { z.Mul(x, y).Add(z, w) }), scalar.Eval(scalar.FMA, scalar.FP64, math.Float64bits(a), math.Float64bits(b), math.Float64bits(c)))
		require.Equal(t, uint64(math.Float32bits(float32(a))), scalar.Convert(scalar.FP64, scalar.FP32, math.Float64bits(a)))
	}
	nan := uint64(0x7ff8000000000000)
	require.Equal(t, nan, scalar.Eval(scalar.Sub, scalar.FP64, math.Float64bits(math.Inf(1)), math.Float64bits(math.Inf(1))))
	require.EqualValues(t, 0x7fc00000, scalar.Convert(scalar.FP64, scalar.FP32, nan|1<<63|1))
}

// TestHolds compares with all values of small types, by their ends.
func TestHolds(t *testing.T) {
	ends := func(typ scalar.Type) (lo, hi *big.Int) {
		one := big.NewInt(1)
		if typ.Unsigned() {
			return big.NewInt(0), new(big.Int).Sub(new(big.Int).Lsh(one, uint(typ.Bits())), one)
		}
		hi = new(big.Int).Sub(new(big.Int).Lsh(one, uint(typ.Bits()-1)), one)
		return new(big.Int).Not(hi), hi
	}
	for _, to := range scalar.Types() {
		for _, from := range scalar.Types() {
			if !to.Int() || !from.Int() {
				continue
			}
			a, b := ends(to)
			c, d := ends(from)
			require.Equal(t, a.Cmp(c) <= 0 && b.Cmp(d) >= 0, to.Holds(from), "%s in %s", from, to)
		}
		if to.Int() {
			require.Equal(t, to, scalar.Integer(to.Bits(), to.Signed()))
		}
	}
}

// A fused operation of fp32 rounds once: 4097 * 4097 is halfway between two of its values, and an
// addend below what a double of that size holds decides.
func TestFMARoundsOnce(t *testing.T) {
	for _, c := range []struct{ x, addend, want float32 }{
		{4097, 0x1p-40, 16785410},
		{4097, -0x1p-40, 16785408},
		{4099, -0x1p-40, 16801800}, // 16801801, whose even neighbour is 16801800
		{4099, 0x1p-40, 16801802},
	} {
		x, y := uint64(math.Float32bits(c.x)), uint64(math.Float32bits(c.addend))
		got := scalar.Eval(scalar.FMA, scalar.FP32, scalar.Value(x), scalar.Value(x), scalar.Value(y))
		require.Equal(t, c.want, math.Float32frombits(uint32(got)), "%g * %g + %g", c.x, c.x, c.addend)
	}
}
