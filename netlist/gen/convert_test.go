package gen

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/softfloat"
)

// conversions are the kinds tested here.
var conversions = []string{"fconvert", "ffromint", "ftoint"}

// convert tests a circuit of one operand on all words if there are few, else on
// what draw gives.
func convert(t *testing.T, name, kind string, o Options, operandBits int, want func(x uint64) uint64, draw func(rnd *rand.Rand) uint64) {
	t.Run(kind+"/"+name, func(t *testing.T) {
		t.Parallel()
		for _, and := range []bool{false, true} {
			o.AndInverter = and
			n := build(t, kind, o)
			require.NoError(t, n.Check())
			require.Equal(t, operandBits, n.NumInputs())
			tidy(t, n, and)
			b := &batch{t: t, net: n, ports: []int{operandBits}, want: func(x []uint64) uint64 { return want(x[0]) }}
			if operandBits <= 11 {
				for x := range uint64(1) << operandBits {
					b.add(x)
				}
			} else {
				rnd := rand.New(rand.NewPCG(3, uint64(operandBits)))
				for range *floatPatterns / 4 {
					b.add(draw(rnd))
				}
			}
			b.flush()
		}
	})
}

// TestConvert tries pairs of formats.
func TestConvert(t *testing.T) {
	formats := []softfloat.Format{softfloat.Half, softfloat.BFloat16, softfloat.Single, softfloat.Double,
		{Exp: 2, Frac: 1}, {Exp: 2, Frac: 5}, {Exp: 3, Frac: 2}, {Exp: 4, Frac: 3}, {Exp: 5, Frac: 2}, {Exp: 6, Frac: 1}, {Exp: 7, Frac: 3}}
	for _, f := range formats {
		for _, g := range formats {
			for flush := range 2 {
				f, g := f, g
				f.FlushToZero, g.FlushToZero = flush != 0, flush != 0
				o := Options{Width: f.Bits(), Extra: map[string]int{"exponent": f.Exp, "width-y": g.Bits(), "exponent-y": g.Exp, "flush": flush}}
				back := g
				back.FlushToZero = false
				convert(t, formatName(f)+"-"+formatName(g), "fconvert", o, f.Bits(),
					func(x uint64) uint64 { return f.ConvertTo(g, x) },
					func(rnd *rand.Rand) uint64 {
						if rnd.IntN(2) == 0 { // near what the other format has, and its ties
							x := back.ConvertTo(f, operand(rnd, back, rnd.Uint64()))
							return (x ^ 1<<rnd.IntN(f.Frac+1) - rnd.Uint64N(2)) & (f.Neg(0)<<1 - 1)
						}
						return operand(rnd, f, rnd.Uint64())
					})
			}
		}
	}
}

// TestFromInt tries integers of all lengths.
func TestFromInt(t *testing.T) {
	for _, f := range []softfloat.Format{softfloat.Half, softfloat.BFloat16, softfloat.Single, softfloat.Double, {Exp: 2, Frac: 1}, {Exp: 3, Frac: 2}, {Exp: 4, Frac: 8}} {
		for _, width := range []int{1, 2, 3, 5, 8, 11, 16, 17, 24, 25, 32, 53, 64} {
			for signed := range 2 {
				o := Options{Width: width, Extra: map[string]int{"width-y": f.Bits(), "exponent-y": f.Exp, "signed": signed}}
				convert(t, fmt.Sprintf("%d-%s/%d", width, formatName(f), signed), "ffromint", o, width,
					func(x uint64) uint64 { return f.FromInt(x, width, signed != 0) },
					func(rnd *rand.Rand) uint64 {
						x := rnd.Uint64() >> rnd.IntN(64)
						switch rnd.IntN(4) {
						case 0:
							x &^= 1<<rnd.IntN(64) - 1
						case 1:
							x = 1<<rnd.IntN(64) - rnd.Uint64N(3)
						}
						if rnd.IntN(2) == 0 {
							x = -x
						}
						return x & (^uint64(0) >> (64 - width))
					})
			}
		}
	}
}

// TestToInt tries numbers of all magnitudes.
func TestToInt(t *testing.T) {
	for _, f := range []softfloat.Format{softfloat.Half, softfloat.BFloat16, softfloat.Single, softfloat.Double, {Exp: 2, Frac: 1}, {Exp: 2, Frac: 6}, {Exp: 3, Frac: 2}, {Exp: 3, Frac: 7}, {Exp: 5, Frac: 4}} {
		for _, width := range []int{1, 2, 3, 8, 15, 16, 17, 24, 32, 64} {
			for variant := range 8 {
				signed, round, flush := variant&1, variant>>1&1, variant>>2
				if flush != 0 && f.Exp > 2 {
					continue
				}
				f := f
				f.FlushToZero = flush != 0
				o := Options{Width: f.Bits(), Extra: map[string]int{"exponent": f.Exp, "width-y": width, "signed": signed, "round": round, "flush": flush}}
				convert(t, fmt.Sprintf("%s-%d/%d%d", formatName(f), width, signed, round), "ftoint", o, f.Bits(),
					func(x uint64) uint64 { return f.ToInt(x, width, signed != 0, softfloat.Rounding(round)) },
					func(rnd *rand.Rand) uint64 {
						if rnd.IntN(4) == 0 {
							return operand(rnd, f, rnd.Uint64())
						}
						// An integer, half of one, or nearly.
						x := f.FromInt(rnd.Uint64()>>rnd.IntN(64), 64, true)
						if rnd.IntN(2) == 0 && f.Abs(x) > f.MinNormal() {
							x -= rnd.Uint64N(2) << f.Frac
						}
						return (x + rnd.Uint64N(3) - 1) & (f.Neg(0)<<1 - 1)
					})
			}
		}
	}
}
