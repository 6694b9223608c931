package gen

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/softfloat"
	"github.com/bitsched/bitsched/netlist"
)

var (
	floatPatterns = flag.Int("floatpatterns", 1<<10, "patterns of operands for each floating-point circuit and format")
	exhaustive    = flag.Int("exhaustive", 12, "inputs up to which circuits are compared on all patterns")
)

// floatCircuit is a kind with its format and what it computes on words.
type floatCircuit struct {
	kind     string
	operands int
	want     func(f softfloat.Format, x []uint64) uint64
}

var floatCircuits = []floatCircuit{
	{"fabs", 1, func(f softfloat.Format, x []uint64) uint64 { return f.Abs(x[0]) }},
	{"fadd", 2, func(f softfloat.Format, x []uint64) uint64 { return f.Add(x[0], x[1]) }},
	{"fcmp", 2, func(f softfloat.Format, x []uint64) uint64 {
		return map[softfloat.Order]uint64{softfloat.Less: 1, softfloat.Equal: 2, softfloat.Greater: 4, softfloat.Unordered: 8}[f.Compare(x[0], x[1])]
	}},
	{"fdiv", 2, func(f softfloat.Format, x []uint64) uint64 { return f.Div(x[0], x[1]) }},
	{"ffma", 3, func(f softfloat.Format, x []uint64) uint64 { return f.FMA(x[0], x[1], x[2]) }},
	{"fsqrt", 1, func(f softfloat.Format, x []uint64) uint64 { return f.Sqrt(x[0]) }},
	{"feq", 2, func(f softfloat.Format, x []uint64) uint64 { return bit(f.Compare(x[0], x[1]) == softfloat.Equal) }},
	{"fle", 2, func(f softfloat.Format, x []uint64) uint64 {
		return bit(f.Compare(x[0], x[1]) == softfloat.Equal || f.Compare(x[0], x[1]) == softfloat.Less)
	}},
	{"flt", 2, func(f softfloat.Format, x []uint64) uint64 { return bit(f.Compare(x[0], x[1]) == softfloat.Less) }},
	{"fmax", 2, func(f softfloat.Format, x []uint64) uint64 { return f.Max(x[0], x[1]) }},
	{"fmin", 2, func(f softfloat.Format, x []uint64) uint64 { return f.Min(x[0], x[1]) }},
	{"fmul", 2, func(f softfloat.Format, x []uint64) uint64 { return f.Mul(x[0], x[1]) }},
	{"fneg", 1, func(f softfloat.Format, x []uint64) uint64 { return f.Neg(x[0]) }},
	{"fsub", 2, func(f softfloat.Format, x []uint64) uint64 { return f.Sub(x[0], x[1]) }},
}

func bit(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

// skips tells which formats a circuit is not made for.
func (c floatCircuit) skips(f softfloat.Format) bool { return c.kind == "fsqrt" && f.Bias() <= f.Frac }

// floatFormats are the formats of the processor, with and without flushing.
func floatFormats() []softfloat.Format {
	var l []softfloat.Format
	for _, f := range []softfloat.Format{softfloat.Half, softfloat.BFloat16, softfloat.Single, softfloat.Double, {Exp: 3, Frac: 9}, {Exp: 2, Frac: 7}, {Exp: 9, Frac: 1}} {
		for _, flush := range []bool{false, true} {
			f.FlushToZero = flush
			l = append(l, f)
		}
	}
	return l
}

func tinyFormats() []softfloat.Format {
	return []softfloat.Format{
		{Exp: 2, Frac: 1}, {Exp: 2, Frac: 2}, {Exp: 3, Frac: 2}, {Exp: 2, Frac: 4}, {Exp: 3, Frac: 3}, {Exp: 4, Frac: 2}, {Exp: 5, Frac: 1},
		{Exp: 2, Frac: 1, FlushToZero: true}, {Exp: 2, Frac: 2, FlushToZero: true}, {Exp: 3, Frac: 2, FlushToZero: true},
		{Exp: 2, Frac: 4, FlushToZero: true}, {Exp: 3, Frac: 3, FlushToZero: true}, {Exp: 4, Frac: 2, FlushToZero: true},
	}
}

func formatName(f softfloat.Format) string {
	s := fmt.Sprintf("%d.%d", f.Exp, f.Frac)
	if f.FlushToZero {
		s += "/flush"
	}
	return s
}

func formatOptions(f softfloat.Format) Options {
	o := Options{Width: f.Bits(), Extra: map[string]int{"exponent": f.Exp}}
	if f.FlushToZero {
		o.Extra["flush"] = 1
	}
	return o
}

// batch collects operand words and results, and simulates 64 x 16 of them at a
// time.
type batch struct {
	t     testing.TB
	net   *netlist.Network
	ports []int // lengths of the operands
	want  func(x []uint64) uint64
	in    [][]uint64
}

const batchSize = 1024

func (c *batch) add(x ...uint64) {
	c.in = append(c.in, append([]uint64(nil), x...))
	if len(c.in) == batchSize {
		c.flush()
	}
}

func (c *batch) flush() {
	const w = batchSize / 64
	in := make([]uint64, c.net.NumInputs()*w)
	for i, x := range c.in {
		at := 0
		for j, n := range c.ports {
			for k := range n {
				in[(at+k)*w+i/64] |= x[j] >> k & 1 << (i % 64)
			}
			at += n
		}
	}
	out := c.net.Simulate(in, w)
	for i, x := range c.in {
		got := uint64(0)
		for k := range c.net.NumOutputs() {
			got |= out[k*w+i/64] >> (i % 64) & 1 << k
		}
		if want := c.want(x); got != want {
			c.t.Fatalf("%s of %#x is %#x, expected %#x", c.net.Name, x, got, want)
		}
	}
	c.in = c.in[:0]
}

// operand returns a word: of any exponent, near a power of two, near another
// operand, at the edges of the range, subnormal or special.
func operand(rnd *rand.Rand, f softfloat.Format, near uint64) uint64 {
	all := ^uint64(0) >> (64 - f.Bits())
	unit, sign := f.MinNormal(), f.Neg(0)
	x := rnd.Uint64() & all
	switch rnd.IntN(12) {
	case 0: // few bits of fraction
		x &^= unit>>rnd.IntN(f.Frac) - 1
	case 1: // around a power of two
		x = x&^(unit-1) + rnd.Uint64N(5) - 2
	case 2: // subnormal, of any magnitude
		x = x&sign | x&(unit-1)>>rnd.IntN(f.Frac)
	case 3: // near the other one, of the same or the other sign
		x = near&^(3*unit) | x&(3*unit)
	case 4:
		x = near&^sign + rnd.Uint64N(9) - 4 | x&sign
	case 5: // an exponent away from the other one's
		x = near&^(unit-1) + (rnd.Uint64N(uint64(2*f.Frac+8))-uint64(f.Frac+4))*unit | x&(unit-1)
	case 6: // a run of ones, for ties and carries
		x = x&^(unit-1) | unit - 1<<rnd.IntN(f.Frac+1)
	case 7: // near one
		x = x&sign | uint64(f.Bias()-4+rnd.IntN(8))*unit&f.Inf(false) | x&(unit-1)
	case 8:
		x = x&sign | unit + rnd.Uint64N(5) - 2
	case 9:
		x = x&sign | f.MaxFinite() - rnd.Uint64N(5)
	case 10:
		s := specialFloats(f)
		x = s[rnd.IntN(len(s))]
	}
	return x & all
}

func specialFloats(f softfloat.Format) []uint64 {
	one, unit := uint64(f.Bias())<<f.Frac, f.MinNormal()
	var s []uint64
	for _, x := range []uint64{0, 1, 2, 3, unit / 2, unit - 1, unit, unit + 1, 2 * unit, one - 1, one, one + 1, one + unit/2, one + unit,
		f.MaxFinite() - unit, f.MaxFinite() - 1, f.MaxFinite(), f.Inf(false), f.Inf(false) + 1, f.NaN(), f.NaN() | 1, f.Neg(0) - 1,
		one - uint64(f.Frac)*unit, one - uint64(f.Frac+1)*unit, one + uint64(f.Frac)*unit, one / 2, one + one/2} {
		x &= f.Neg(0) - 1
		s = append(s, x, f.Neg(x))
	}
	return s
}

func buildFloat(t testing.TB, kind string, f softfloat.Format, and bool) *netlist.Network {
	o := formatOptions(f)
	if k, _ := Lookup(kind); len(k.Extra) == 0 {
		o.Extra = nil
	}
	o.AndInverter = and
	return build(t, kind, o)
}

func newBatch(t testing.TB, c floatCircuit, f softfloat.Format, and bool) *batch {
	n := buildFloat(t, c.kind, f, and)
	require.NoError(t, n.Check())
	b := &batch{t: t, net: n, want: func(x []uint64) uint64 { return c.want(f, x) }}
	for range c.operands {
		b.ports = append(b.ports, f.Bits())
	}
	return b
}

// TestFloat tries pairs of special values and directed random operands.
func TestFloat(t *testing.T) {
	for _, c := range floatCircuits {
		for _, f := range floatFormats() {
			if c.skips(f) {
				continue
			}
			t.Run(c.kind+"/"+formatName(f), func(t *testing.T) {
				t.Parallel()
				n := newBatch(t, c, f, false)
				s := specialFloats(f)
				for i, x := range s {
					for _, y := range s {
						n.add([]uint64{x, y, s[(7*i+5)%len(s)]}[:c.operands]...)
					}
				}
				count := *floatPatterns
				if f.Bits() == 64 {
					count /= 4
				}
				rnd := rand.New(rand.NewPCG(1, uint64(f.Bits())))
				x := make([]uint64, 3)
				for range count {
					x[0] = operand(rnd, f, x[2])
					x[1] = operand(rnd, f, x[0])
					x[2] = operand(rnd, f, x[rnd.IntN(2)])
					switch rnd.IntN(6) {
					case 0: // the addend cancels the product, or nearly
						x[2] = f.Neg(f.Mul(x[0], x[1]))
					case 1:
						x[2] = operand(rnd, f, f.Mul(x[0], x[1]))
					case 2: // the quotient is exact, or nearly
						x[0] = f.Mul(x[1], operand(rnd, f, x[1]))
					case 3: // and so is the root
						x[0] = f.Mul(x[1], x[1])
					}
					n.add(x[:c.operands]...)
				}
				n.flush()
			})
		}
	}
}

// TestFloatTiny tries all operands of tiny formats.
func TestFloatTiny(t *testing.T) {
	for _, c := range floatCircuits {
		for _, f := range tinyFormats() {
			if c.operands*f.Bits() > *exhaustive || c.skips(f) {
				continue
			}
			t.Run(c.kind+"/"+formatName(f), func(t *testing.T) {
				t.Parallel()
				for _, and := range []bool{false, true} {
					n := newBatch(t, c, f, and)
					x := make([]uint64, c.operands)
					for v := range uint64(1) << (c.operands * f.Bits()) {
						for i := range x {
							x[i] = v >> (i * f.Bits()) & (1<<f.Bits() - 1)
						}
						n.add(x...)
					}
					n.flush()
					tidy(t, n.net, and)
				}
			})
		}
	}
}
