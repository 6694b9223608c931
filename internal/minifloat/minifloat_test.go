package minifloat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/minifloat"
	"github.com/bitsched/bitsched/internal/softfloat"
)

// TestFormats compares with softfloat, which works by definition: every number of
// small formats, random ones of the others, and float64s near their numbers and
// halfway between them.
func TestFormats(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for exp := 2; exp <= 8; exp++ {
		for man := 1; man <= 23; man++ {
			for _, ftz := range []bool{false, true} {
				f := minifloat.Format{Exp: exp, Man: man, FTZ: ftz}
				s := softfloat.Format{Exp: exp, Frac: man, FlushToZero: ftz}
				require.Equal(t, s.Bits(), f.Width())
				require.Equal(t, s.Bias(), f.Bias())
				require.Equal(t, s.NaN(), f.NaN())
				require.Equal(t, s.Inf(false), f.Inf())
				for i := range 300 {
					x := rng.Uint64() & (1<<f.Width() - 1)
					if f.Width() <= 8 {
						x = uint64(i) & (1<<f.Width() - 1)
					}
					v := f.Float64(x)
					require.Equal(t, s.ConvertTo(softfloat.Double, x), bits(v), "%+v %x", f, x)
					for _, w := range []float64{v, math.Nextafter(v, 0), math.Nextafter(v, math.Inf(1)),
						(v + f.Float64((x+1)&(1<<f.Width()-1))) / 2, rng.NormFloat64(), math.Float64frombits(rng.Uint64())} {
						want := softfloat.Double.ConvertTo(s, bits(w))
						require.Equal(t, want, f.Round(w), "%+v of %x", f, bits(w))
					}
				}
			}
		}
	}
}

// bits returns the bits of v, of the canonical NaN for any.
func bits(v float64) uint64 {
	if v != v {
		return softfloat.Double.NaN()
	}
	return math.Float64bits(v)
}

// TestFMA rounds twice, to odd and to a format, and compares with one rounding.
func TestFMA(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, f := range []minifloat.Format{{Exp: 8, Man: 23}, {Exp: 5, Man: 10}, {Exp: 8, Man: 7}, {Exp: 4, Man: 3}} {
		s := softfloat.Format{Exp: f.Exp, Frac: f.Man}
		for range 20000 {
			m := uint64(1)<<f.Width() - 1
			x, y, z := rng.Uint64()&m, rng.Uint64()&m, rng.Uint64()&m
			if rng.IntN(2) == 0 { // nearly cancels
				z = s.Neg(s.Mul(x, y)) ^ rng.Uint64()&3
			}
			require.Equal(t, s.FMA(x, y, z), f.Round(minifloat.FMA(f.Float64(x), f.Float64(y), f.Float64(z))), "%+v %x %x %x", f, x, y, z)
		}
	}
}
