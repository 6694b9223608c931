package arith

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/internal/softfloat"
	"github.com/bitsched/bitsched/sram"
)

// soft is each operation by definition; a missing one fails the tests.
var soft = map[string]func(f softfloat.Format, a []uint64) uint64{
	"fp.add":  func(f softfloat.Format, a []uint64) uint64 { return f.Add(a[0], a[1]) },
	"fp.sub":  func(f softfloat.Format, a []uint64) uint64 { return f.Sub(a[0], a[1]) },
	"fp.mul":  func(f softfloat.Format, a []uint64) uint64 { return f.Mul(a[0], a[1]) },
	"fp.fma":  func(f softfloat.Format, a []uint64) uint64 { return f.FMA(a[0], a[1], a[2]) },
	"fp.div":  func(f softfloat.Format, a []uint64) uint64 { return f.Div(a[0], a[1]) },
	"fp.sqrt": func(f softfloat.Format, a []uint64) uint64 { return f.Sqrt(a[0]) },
	"fp.eq":   func(f softfloat.Format, a []uint64) uint64 { return truth(f.Compare(a[0], a[1]) == softfloat.Equal) },
	"fp.ne":   func(f softfloat.Format, a []uint64) uint64 { return truth(f.Compare(a[0], a[1]) != softfloat.Equal) },
	"fp.lt":   func(f softfloat.Format, a []uint64) uint64 { return truth(f.Compare(a[0], a[1]) == softfloat.Less) },
	"fp.le":   func(f softfloat.Format, a []uint64) uint64 { return truth(f.Compare(a[0], a[1]) <= softfloat.Equal) },
	"fp.gt":   func(f softfloat.Format, a []uint64) uint64 { return truth(f.Compare(a[0], a[1]) == softfloat.Greater) },
	"fp.ge": func(f softfloat.Format, a []uint64) uint64 {
		c := f.Compare(a[0], a[1])
		return truth(c == softfloat.Equal || c == softfloat.Greater)
	},
	"fp.min":     func(f softfloat.Format, a []uint64) uint64 { return f.Min(a[0], a[1]) },
	"fp.max":     func(f softfloat.Format, a []uint64) uint64 { return f.Max(a[0], a[1]) },
	"fp.neg":     func(f softfloat.Format, a []uint64) uint64 { return f.Neg(a[0]) },
	"fp.abs":     func(f softfloat.Format, a []uint64) uint64 { return f.Abs(a[0]) },
	"fp.tofp32":  func(f softfloat.Format, a []uint64) uint64 { return f.ConvertTo(alike(f, softfloat.Single), a[0]) },
	"fp.tofp16":  func(f softfloat.Format, a []uint64) uint64 { return f.ConvertTo(alike(f, softfloat.Half), a[0]) },
	"fp.tobf16":  func(f softfloat.Format, a []uint64) uint64 { return f.ConvertTo(alike(f, softfloat.BFloat16), a[0]) },
	"fp.fromint": func(f softfloat.Format, a []uint64) uint64 { return f.FromInt(a[0], 32, true) },
	"fp.toint":   func(f softfloat.Format, a []uint64) uint64 { return f.ToInt(a[0], 32, true, softfloat.TowardZero) },
}

// alike is a format that flushes if f does.
func alike(f, to softfloat.Format) softfloat.Format {
	to.FlushToZero = f.FlushToZero
	return to
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// testFormats are small enough for all pairs, or nearly.
var testFormats = []string{"e3m2", "e3m2ftz", "e4m2", "e4m2ftz", "e4m3", "e3m4", "e5m2", "e5m2ftz", "fp16", "fp16ftz", "bf16", "bf16ftz", "e8m5", "e3m14", "e3m14ftz", "e4m11", "fp32", "fp32ftz"}

// TestFloatReference compares the references with arithmetic by definition, on
// all operands of small formats and on special and random ones of large ones.
func TestFloatReference(t *testing.T) {
	for i := range Operations {
		o := &Operations[i]
		if !o.IsFloat() {
			continue
		}
		def := soft[string(o.ID)]
		require.NotNil(t, def, string(o.ID))
		for _, name := range testFormats {
			f, ok := LookupFormat(name)
			require.True(t, ok, name)
			typ := Type{Width: f.Width(), Float: f}
			s := softfloat.Format{Exp: f.Exp, Frac: f.Man, FlushToZero: f.FTZ}
			p := &Program{Op: o, Type: typ, Kernel: &sram.Kernel{}}
			for j := range o.Args {
				p.Kernel.Inputs = append(p.Kernel.Inputs, sram.Port{Width: o.ArgWidth(typ, j)})
			}
			g := newPatterns(p, 5, 2*2200)
			args := make([]uint64, len(o.Args))
			for range min(g.combos, 2200) + 1500 {
				g.next(args)
				require.Equal(t, def(s, args), o.Eval(typ, args...).Lo, "%s.%s %x", name, string(o.ID), args)
			}
		}
	}
}

// TestFloatHardware compares the references with the processor's float32.
func TestFloatHardware(t *testing.T) {
	f, _ := LookupFormat("fp32")
	canonical := func(x float32) uint64 {
		if x != x {
			return f.NaN()
		}
		return uint64(math.Float32bits(x))
	}
	hw := map[string]func(x, y float32) float32{
		"fp32.add": func(x, y float32) float32 { return x + y },
		"fp32.sub": func(x, y float32) float32 { return x - y },
		"fp32.mul": func(x, y float32) float32 { return float32(x * y) },
	}
	for name, op := range hw {
		o, typ, err := Resolve(name, 0)
		require.NoError(t, err)
		sp := specialFloats(f)
		for i := range 40000 {
			a, b := uint64(rand.Uint32()), uint64(rand.Uint32())
			if i < len(sp)*len(sp) {
				a, b = sp[i%len(sp)], sp[i/len(sp)]
			}
			x, y := math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b))
			require.Equal(t, canonical(op(x, y)), o.Eval(typ, a, b).Lo, "%s %x %x", name, a, b)
		}
	}
}

// TestFloats builds every floating-point operation, which compares it with the
// reference on all operands where these are few.
func TestFloats(t *testing.T) {
	for i := range Operations {
		o := &Operations[i]
		if !o.IsFloat() {
			continue
		}
		for _, tech := range sram.Technologies() {
			if !o.Supports(tech) {
				continue
			}
			for _, name := range testFormats {
				f, _ := LookupFormat(name)
				if string(o.ID) == "fp.sqrt" && f.Bias() <= f.Man {
					_, err := Build(context.Background(), Spec{Op: name + ".sqrt", Tech: tech.Name})
					require.ErrorContains(t, err, "may be subnormal")
					continue
				}
				p := mustBuild(t, Spec{Op: o.FullName(Type{Float: f}), Tech: tech.Name, Rows: 2048})
				patterns := 1 << invariants.Draws(11, 12)
				if bits := p.argBits(); bits <= invariants.Draws(14, 18) && f.Exp < 8 {
					patterns = 1 << bits
				}
				require.NoError(t, p.Verify(context.Background(), patterns, 99))
			}
		}
	}
}

// TestFloatMulFormats multiplies in formats whose significands have any number of
// bits beside a power of two, of which the stages of the normalisation are made,
// with both operands on the bitlines and with one that is constant.
func TestFloatMulFormats(t *testing.T) {
	for _, name := range []string{"e4m4", "e4m5", "e5m6", "e5m7", "e5m8", "e5m11", "e5m12", "e6m14", "e6m15", "e8m16", "e8m22"} {
		f, ok := LookupFormat(name)
		require.True(t, ok)
		spec := Spec{Op: name + ".mul"}
		require.NoError(t, mustBuild(t, spec).Verify(context.Background(), 1<<14, 3))
		for i, c := range []uint64{0, 1, 1 << f.Man, mask(f.Exp) << f.Man, f.NaN(), 0x55555555 & mask(f.Width())} {
			spec.Const = map[int]uint64{i % 2: c}
			require.NoError(t, mustBuild(t, spec).Verify(context.Background(), 1<<11, 3))
		}
	}
}

// TestFloatRuns compares whole runs with the processor.
func TestFloatRuns(t *testing.T) {
	const n = 30000
	rng := rand.New(rand.NewPCG(8, 8))
	a, b, y := make([]uint32, n), make([]uint32, n), make([]uint32, n)
	for i := range n {
		a[i], b[i] = rng.Uint32(), rng.Uint32()
	}
	require.NoError(t, Run(context.Background(), mustBuild(t, Spec{Op: "fp32.mul"}), 2, y, a, b))
	for i := range n {
		want := float32(math.Float32frombits(a[i]) * math.Float32frombits(b[i]))
		if want != want {
			require.Equal(t, uint32(0x7fc00000), y[i])
		} else {
			require.Equal(t, math.Float32bits(want), y[i])
		}
	}
}

// TestFloatCancellation adds numbers that nearly cancel, at places all over the range,
// the least normal numbers and products of subnormal ones among them, and compares
// with arithmetic by definition.
func TestFloatCancellation(t *testing.T) {
	const n = 6000
	for _, name := range []string{"fp32", "fp32ftz", "fp16", "fp16ftz", "e3m14", "e3m23", "e3m23ftz", "e4m2ftz", "e5m6", "e8m5ftz"} {
		f, ok := LookupFormat(name)
		require.True(t, ok)
		s := softfloat.Format{Exp: f.Exp, Frac: f.Man, FlushToZero: f.FTZ}
		rng := rand.New(rand.NewPCG(9, uint64(f.Width())))
		words := make([][]uint32, 4)
		for i := range words {
			words[i] = make([]uint32, n)
		}
		a, b, c, y := words[0], words[1], words[2], words[3]
		for i := range n {
			x, z := rng.Uint64()&mask(f.Width()), rng.Uint64()&mask(f.Width())
			switch rng.IntN(4) {
			case 0: // a subnormal factor, or one
				x &= mask(f.Man) >> rng.IntN(f.Man)
			case 1: // a product about the least normal number
				exp := uint64(f.Bias()) + 1 - x>>f.Man&mask(f.Exp) + uint64(rng.IntN(5)) - 2
				z = z&mask(f.Man) | exp&mask(f.Exp)<<f.Man
			}
			a[i], b[i] = uint32(x), uint32(z)
			sum := s.Neg(s.Mul(x, z)) + uint64(1)<<rng.IntN(f.Man) - uint64(1)<<rng.IntN(f.Man) + uint64(rng.IntN(3))<<f.Man
			c[i] = uint32(sum & mask(f.Width()))
		}
		require.NoError(t, Run(t.Context(), mustBuild(t, Spec{Op: name + ".fma", Rows: 512}), 1, y, a, b, c))
		for i := range n {
			require.Equal(t, s.FMA(uint64(a[i]), uint64(b[i]), uint64(c[i])), uint64(y[i]), "%s %x * %x + %x", name, a[i], b[i], c[i])
		}
		for i := range n { // near the other operand
			b[i] = uint32(uint64(c[i]+uint32(rng.IntN(3))<<f.Man-1<<rng.IntN(f.Man)) & mask(f.Width()))
		}
		require.NoError(t, Run(t.Context(), mustBuild(t, Spec{Op: name + ".sub", Rows: 512}), 1, y, b, c))
		for i := range n {
			require.Equal(t, s.Sub(uint64(b[i]), uint64(c[i])), uint64(y[i]), "%s %x - %x", name, b[i], c[i])
		}
	}
}

func TestFloatLatencies(t *testing.T) {
	require.LessOrEqual(t, mustBuild(t, Spec{Op: "fp32.add"}).Latency(), 638)
	require.LessOrEqual(t, mustBuild(t, Spec{Op: "fp32.sub"}).Latency(), 638)
	require.LessOrEqual(t, mustBuild(t, Spec{Op: "fp32ftz.add"}).Latency(), 636)
	require.LessOrEqual(t, mustBuild(t, Spec{Op: "fp32.fma"}).Latency(), 1675)
	require.LessOrEqual(t, mustBuild(t, Spec{Op: "fp32ftz.fma"}).Latency(), 1677)
	require.LessOrEqual(t, mustBuild(t, Spec{Op: "fp32ftz.mul"}).Latency(), 839)
	require.LessOrEqual(t, mustBuild(t, Spec{Op: "fp32.mul"}).Latency(), 1002)
}

func TestFormats(t *testing.T) {
	for _, bad := range []string{"fp64", "e4", "e2m5", "e9m5", "e4m1", "e4m24", "e04m3", "e4m3x", "m3e4", ""} {
		_, ok := LookupFormat(bad)
		require.False(t, ok, bad)
	}
	f, _ := LookupFormat("fp32")
	for _, c := range []struct {
		s    string
		bits uint64
	}{{"1.5", 0x3fc00000}, {"-0", 0x80000000}, {"nan", 0x7fc00000}, {"-inf", 0xff800000}, {"1e39", 0x7f800000}, {"1e-45", 1}} {
		got, err := f.Parse(c.s)
		require.NoError(t, err)
		require.Equal(t, c.bits, got, c.s)
	}
	_, err := f.Parse("x")
	require.Error(t, err)
}
