package scalar_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/internal/softfloat"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// specials are bits that random ones hardly ever are, for a format.
func specials(f softfloat.Format) []uint64 {
	var list []uint64
	for _, neg := range []bool{false, true} {
		sign := f.Zero(neg)
		list = append(list, sign, sign|1, sign|(f.MinNormal()-1), sign|f.MinNormal(), sign|(f.MinNormal()+1), sign|f.MaxFinite(), f.Inf(neg),
			sign|f.NaN(), sign|(f.Inf(false)+1), sign|uint64(f.Bias())<<f.Frac)
	}
	return list
}

// TestFloat compares with IEEE 754 arithmetic by definition.
func TestFloat(t *testing.T) {
	for typ, f := range map[scalar.Type]softfloat.Format{
		scalar.FP16: {Exp: 5, Frac: 10}, scalar.BF16: {Exp: 8, Frac: 7}, scalar.FP32: {Exp: 8, Frac: 23},
	} {
		ops := map[scalar.Op]func(x, y, z uint64) uint64{
			scalar.Add:  func(x, y, _ uint64) uint64 { return f.Add(x, y) },
			scalar.Sub:  func(x, y, _ uint64) uint64 { return f.Sub(x, y) },
			scalar.Mul:  func(x, y, _ uint64) uint64 { return f.Mul(x, y) },
			scalar.Div:  func(x, y, _ uint64) uint64 { return f.Div(x, y) },
			scalar.Sqrt: func(x, _, _ uint64) uint64 { return f.Sqrt(x) },
			scalar.FMA:  func(x, y, z uint64) uint64 { return f.FMA(x, y, z) },
			scalar.Min:  func(x, y, _ uint64) uint64 { return f.Min(x, y) },
			scalar.Max:  func(x, y, _ uint64) uint64 { return f.Max(x, y) },
			scalar.Neg:  func(x, _, _ uint64) uint64 { return f.Neg(x) },
			scalar.Abs:  func(x, _, _ uint64) uint64 { return f.Abs(x) },
			scalar.ReLU: func(x, _, _ uint64) uint64 { return f.Max(x, 0) },
			scalar.Eq:   func(x, y, _ uint64) uint64 { return flag(f.Compare(x, y) == softfloat.Equal) },
			scalar.Ne:   func(x, y, _ uint64) uint64 { return flag(f.Compare(x, y) != softfloat.Equal) },
			scalar.Lt:   func(x, y, _ uint64) uint64 { return flag(f.Compare(x, y) == softfloat.Less) },
			scalar.Gt:   func(x, y, _ uint64) uint64 { return flag(f.Compare(x, y) == softfloat.Greater) },
			scalar.Le: func(x, y, _ uint64) uint64 {
				return flag(f.Compare(x, y) == softfloat.Less || f.Compare(x, y) == softfloat.Equal)
			},
			scalar.Ge: func(x, y, _ uint64) uint64 {
				return flag(f.Compare(x, y) == softfloat.Greater || f.Compare(x, y) == softfloat.Equal)
			},
		}
		r := rand.New(rand.NewPCG(1, uint64(typ)))
		sp := specials(f)
		word := func() uint64 {
			if r.IntN(4) == 0 {
				return sp[r.IntN(len(sp))]
			}
			return r.Uint64() & typ.Mask()
		}
		for n := 0; n < invariants.Draws(8000, 20000); n++ {
			x, y, z := word(), word(), word()
			if r.IntN(3) == 0 { // near each other
				y = x ^ r.Uint64()&7
			}
			for op, want := range ops {
				args := []uint64{x, y, z}[:op.Arity()]
				require.Equal(t, want(x, y, z), scalar.Eval(op, typ, args...), "%s.%s %x %x %x", typ, op, x, y, z)
			}
			for to, g := range map[scalar.Type]softfloat.Format{scalar.FP16: {Exp: 5, Frac: 10}, scalar.BF16: {Exp: 8, Frac: 7}, scalar.FP32: {Exp: 8, Frac: 23}} {
				if to != typ {
					require.Equal(t, f.ConvertTo(g, x), scalar.Convert(typ, to, x), "%s to %s %x", typ, to, x)
				}
			}
			for _, to := range []scalar.Type{scalar.Int8, scalar.Int16, scalar.Int32, scalar.Int64} {
				require.Equal(t, f.ToInt(x, to.Bits(), true, softfloat.TowardZero), scalar.Convert(typ, to, x), "%s to %s %x", typ, to, x)
				i := r.Uint64() >> r.IntN(64) & to.Mask()
				require.Equal(t, f.FromInt(i, to.Bits(), true), scalar.Convert(to, typ, i), "%s to %s %x", to, typ, i)
			}
			if f.Compare(x, x) == softfloat.Equal {
				back, err := scalar.Parse(typ, scalar.Format(typ, x))
				require.NoError(t, err)
				require.Equal(t, x, back, "%s", scalar.Format(typ, x))
			}
		}
	}
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// TestInt compares with integers without bounds, all pairs of int8 and random
// words of the wider types.
func TestInt(t *testing.T) {
	wrap := func(typ scalar.Type, v *big.Int) uint64 {
		m := new(big.Int).Lsh(big.NewInt(1), uint(typ.Bits()))
		return new(big.Int).Mod(v, m).Uint64()
	}
	check := func(typ scalar.Type, a, b uint64) {
		x, y := big.NewInt(scalar.ToInt(typ, a)), big.NewInt(scalar.ToInt(typ, b))
		z := func() *big.Int { return new(big.Int) }
		s := uint(b) % uint(typ.Bits())
		want := map[scalar.Op]uint64{
			scalar.Add: wrap(typ, z().Add(x, y)), scalar.Sub: wrap(typ, z().Sub(x, y)), scalar.Mul: wrap(typ, z().Mul(x, y)),
			scalar.And: a & b, scalar.Or: a | b, scalar.Xor: a ^ b, scalar.Not: ^a & typ.Mask(),
			scalar.Neg: wrap(typ, z().Neg(x)), scalar.Abs: wrap(typ, z().Abs(x)),
			scalar.Shl: wrap(typ, z().Lsh(x, s)), scalar.Shr: wrap(typ, z().Rsh(x, s)),
			scalar.Eq: flag(x.Cmp(y) == 0), scalar.Ne: flag(x.Cmp(y) != 0), scalar.Lt: flag(x.Cmp(y) < 0),
			scalar.Le: flag(x.Cmp(y) <= 0), scalar.Gt: flag(x.Cmp(y) > 0), scalar.Ge: flag(x.Cmp(y) >= 0),
		}
		least, most := x, y
		if x.Cmp(y) > 0 {
			least, most = y, x
		}
		want[scalar.Min], want[scalar.Max] = wrap(typ, least), wrap(typ, most)
		want[scalar.ReLU] = a
		if x.Sign() < 0 {
			want[scalar.ReLU] = 0
		}
		want[scalar.Div], want[scalar.Rem] = typ.Mask(), a
		if y.Sign() != 0 {
			q, r := z().QuoRem(x, y, z())
			want[scalar.Div], want[scalar.Rem] = wrap(typ, q), wrap(typ, r)
		}
		for op, w := range want {
			require.Equal(t, w, scalar.Eval(op, typ, []uint64{a, b}[:op.Arity()]...), "%s.%s %v %v", typ, op, x, y)
		}
		require.Equal(t, wrap(typ, z().Add(z().Mul(x, y), x)), scalar.Eval(scalar.FMA, typ, a, b, a))
		require.Equal(t, a, scalar.Eval(scalar.Select, typ, 1, a, b))
		require.Equal(t, b, scalar.Eval(scalar.Select, typ, 0, a, b))
	}
	for a := range uint64(256) {
		for b := range uint64(256) {
			check(scalar.Int8, a, b)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, typ := range []scalar.Type{scalar.Int16, scalar.Int32, scalar.Int64} {
		edge := []uint64{0, 1, typ.Mask(), typ.Mask() >> 1, typ.Mask()>>1 + 1}
		for _, a := range edge {
			for _, b := range edge {
				check(typ, a, b)
			}
		}
		for range 5000 {
			check(typ, r.Uint64()>>r.IntN(64)&typ.Mask(), r.Uint64()>>r.IntN(64)&typ.Mask())
		}
	}
}

// TestLaws holds what Commutative, Associative and Identity say against Eval.
func TestLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, typ := range scalar.Types() {
		for _, op := range scalar.Ops() {
			if !op.Supports(typ) || op.Arity() != 2 {
				continue
			}
			id, hasID := op.Identity(typ)
			for range 2000 {
				a, b, c := r.Uint64()&typ.Mask(), r.Uint64()&typ.Mask(), r.Uint64()&typ.Mask()
				if typ.Float() {
					a, b, c = scalar.FromFloat(typ, scalar.ToFloat(typ, a)), scalar.FromFloat(typ, scalar.ToFloat(typ, b)), scalar.FromFloat(typ, scalar.ToFloat(typ, c))
				}
				if op.Commutative() {
					require.Equal(t, scalar.Eval(op, typ, a, b), scalar.Eval(op, typ, b, a), "%s.%s", typ, op)
				}
				if op.Associative(typ) {
					require.Equal(t, scalar.Eval(op, typ, scalar.Eval(op, typ, a, b), c), scalar.Eval(op, typ, a, scalar.Eval(op, typ, b, c)), "%s.%s", typ, op)
				}
				if hasID {
					require.Equal(t, a, scalar.Eval(op, typ, a, id), "%s.%s %x", typ, op, a)
				}
			}
		}
	}
}

// TestTable has what operations are defined for and how many operands they take, by hand,
// and finds out by trying whether operands may be exchanged or regrouped.
func TestTable(t *testing.T) {
	all := []scalar.Op{}
	for _, c := range []struct {
		ops                 []scalar.Op
		arity               int
		ints, floats, bools bool
	}{
		{[]scalar.Op{scalar.Add, scalar.Sub, scalar.Mul, scalar.Div, scalar.Min, scalar.Max, scalar.Eq, scalar.Ne, scalar.Lt, scalar.Le, scalar.Gt, scalar.Ge}, 2, true, true, false},
		{[]scalar.Op{scalar.Rem, scalar.Shl, scalar.Shr}, 2, true, false, false},
		{[]scalar.Op{scalar.And, scalar.Or, scalar.Xor}, 2, true, false, true},
		{[]scalar.Op{scalar.Not}, 1, true, false, true},
		{[]scalar.Op{scalar.Neg, scalar.Abs, scalar.ReLU}, 1, true, true, false},
		{[]scalar.Op{scalar.Sqrt}, 1, false, true, false},
		{[]scalar.Op{scalar.FMA}, 3, true, true, false},
		{[]scalar.Op{scalar.Select}, 3, true, true, true},
	} {
		all = append(all, c.ops...)
		for _, op := range c.ops {
			require.Equal(t, c.arity, op.Arity(), op)
			for _, typ := range append(scalar.Types(), scalar.Bool) {
				want := typ.Int() && c.ints || typ.Float() && c.floats || typ == scalar.Bool && c.bools
				require.Equal(t, want, op.Supports(typ), "%s of %s", op, typ)
				_, ok := op.Identity(typ)
				require.Equal(t, slices.Contains([]scalar.Op{scalar.Add, scalar.Mul, scalar.Min, scalar.Max, scalar.And, scalar.Or, scalar.Xor}, op), ok, "%s of %s", op, typ)
				args := make([]uint64, c.arity)
				dst := make([]uint64, 1)
				in := make([][]uint64, c.arity)
				for i := range in {
					in[i] = []uint64{0}
				}
				if want {
					require.Panics(t, func() { scalar.Eval(op, typ, append(args, 0)...) })
					require.Panics(t, func() { scalar.Map(op, typ, dst, append(in, []uint64{0})...) })
				} else {
					require.Panics(t, func() { scalar.Eval(op, typ, args...) })
					require.Panics(t, func() { scalar.Map(op, typ, dst, in...) })
				}
			}
			require.False(t, op.Supports(scalar.Invalid))
		}
	}
	require.ElementsMatch(t, all, scalar.Ops())
	require.False(t, scalar.NoOp.Supports(scalar.Int8))
	require.Equal(t, "Op(200)", scalar.Op(200).String())

	words := map[scalar.Type][]uint64{
		scalar.Int8: {0, 1, 2, 5, 7, 0x7f, 0x80, 0x93, 0xff}, scalar.Bool: {0, 1},
		scalar.FP16: append(specials(softfloat.Format{Exp: 5, Frac: 10}), 0x3555, 0x4321)[:8],
	}
	words[scalar.FP16] = append(words[scalar.FP16], 0x3555, 0xc321, 0x3c01)
	for typ, list := range words {
		for _, op := range scalar.Ops() {
			if !op.Supports(typ) || op.Arity() != 2 {
				continue
			}
			exchange, regroup := true, true
			for _, a := range list {
				for _, b := range list {
					exchange = exchange && scalar.Eval(op, typ, a, b) == scalar.Eval(op, typ, b, a)
					for _, c := range list {
						regroup = regroup && scalar.Eval(op, typ, scalar.Eval(op, typ, a, b), c) == scalar.Eval(op, typ, a, scalar.Eval(op, typ, b, c))
					}
				}
			}
			require.Equal(t, exchange, op.Commutative(), "%s of %s", op, typ)
			if !op.Compares() {
				require.Equal(t, regroup, op.Associative(typ), "%s of %s", op, typ)
			}
		}
	}
}

// TestBool has truth tables, and changes of type from and to Bool. Bits above those of
// the type do not count.
func TestBool(t *testing.T) {
	for a := range uint64(2) {
		for b := range uint64(2) {
			for _, high := range []uint64{0, 0xfe} {
				x, y := a|high, b|high
				require.Equal(t, flag(a == 1 && b == 1), scalar.Eval(scalar.And, scalar.Bool, x, y))
				require.Equal(t, flag(a == 1 || b == 1), scalar.Eval(scalar.Or, scalar.Bool, x, y))
				require.Equal(t, flag(a != b), scalar.Eval(scalar.Xor, scalar.Bool, x, y))
				require.Equal(t, 1-a, scalar.Eval(scalar.Not, scalar.Bool, x))
				require.Equal(t, a, scalar.Eval(scalar.Select, scalar.Bool, 1, x, y))
				require.Equal(t, b, scalar.Eval(scalar.Select, scalar.Bool, 2, x, y))
			}
		}
	}
	var widths []int
	for _, typ := range append(scalar.Types(), scalar.Bool) {
		widths = append(widths, typ.Bits())
	}
	require.Equal(t, []int{8, 16, 32, 64, 8, 16, 32, 64, 16, 16, 32, 64, 1}, widths)
	for _, typ := range scalar.Types() {
		for v, want := range map[uint64]uint64{0: 0, 1: 1, 2: 1, 1 << (typ.Bits() - 2): 1, typ.Mask() >> 1: 1} {
			require.Equal(t, want, scalar.Convert(typ, scalar.Bool, v), "%s %x", typ, v)
		}
		// A negative zero is zero, and a negative integer is not.
		require.Equal(t, flag(typ.Int()), scalar.Convert(typ, scalar.Bool, 1<<(typ.Bits()-1)), "%s", typ)
		if typ.Bits() < 64 {
			require.EqualValues(t, 0, scalar.Convert(typ, scalar.Bool, 1<<typ.Bits()))
			require.Equal(t, scalar.FromInt(typ, 3), scalar.Convert(typ, typ, scalar.FromInt(typ, 3)|1<<typ.Bits()))
		}
		require.Equal(t, scalar.FromInt(typ, 1), scalar.Convert(scalar.Bool, typ, 1))
		require.Equal(t, scalar.FromInt(typ, 0), scalar.Convert(scalar.Bool, typ, 2))
		require.Equal(t, typ.Bits()/8, typ.Bytes())
	}
	require.Equal(t, "true", scalar.Format(scalar.Bool, 1))
	require.Equal(t, "false", scalar.Format(scalar.Bool, 2))
	require.Equal(t, "-1", scalar.Format(scalar.Int8, 255))
	_, err := scalar.Parse(scalar.Bool, "maybe")
	require.EqualError(t, err, `scalar: "maybe", expected true or false`)
	_, err = scalar.Parse(scalar.Invalid, "1")
	require.EqualError(t, err, "scalar: no values of type invalid")
	_, err = scalar.ParseType("invalid")
	require.EqualError(t, err, `scalar: unknown type "invalid", expected int8 to int64, uint8 to uint64, fp16, bf16, fp32, fp64 or bool`)
	require.Equal(t, "Type(99)", scalar.Type(99).String())
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		typ  scalar.Type
		text string
		want uint64
		err  string
	}{
		{scalar.Int8, "-128", 0x80, ""},
		{scalar.Int8, "128", 0, `scalar: "128", expected an integer of 8 bits`},
		{scalar.FP32, "1.5", uint64(math.Float32bits(1.5)), ""},
		{scalar.FP16, "1e9", 0x7c00, ""},
		{scalar.FP32, "one", 0, `scalar: "one", expected a number`},
		{scalar.Bool, "true", 1, ""},
	} {
		v, err := scalar.Parse(c.typ, c.text)
		if c.err != "" {
			require.EqualError(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, v)
	}
	for _, typ := range scalar.Types() {
		back, err := scalar.ParseType(typ.String())
		require.NoError(t, err)
		require.Equal(t, typ, back)
	}
	for _, op := range scalar.Ops() {
		back, err := scalar.ParseOp(op.String())
		require.NoError(t, err)
		require.Equal(t, op, back)
	}
}

// TestMap holds Map against Eval, every operation of every type.
func TestMap(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, typ := range append(scalar.Types(), scalar.Bool) {
		for _, op := range scalar.Ops() {
			if !op.Supports(typ) {
				continue
			}
			args := make([][]scalar.Value, op.Arity())
			for j := range args {
				args[j] = make([]scalar.Value, 100)
				for i := range args[j] {
					args[j][i] = r.Uint64() & op.ArgType(typ, j).Mask()
				}
			}
			dst := make([]scalar.Value, 100)
			scalar.Map(op, typ, dst, args...)
			for i := range dst {
				var one []scalar.Value
				for _, a := range args {
					one = append(one, a[i])
				}
				require.Equal(t, scalar.Eval(op, typ, one...), dst[i], "%s.%s", typ, op)
			}
		}
	}
}

func BenchmarkMap(b *testing.B) {
	x, y, z := make([]scalar.Value, 4096), make([]scalar.Value, 4096), make([]scalar.Value, 4096)
	for i := range x {
		x[i], y[i] = scalar.FromInt(scalar.FP32, int64(i)), scalar.FromInt(scalar.FP32, int64(3*i))
	}
	for _, op := range []scalar.Op{scalar.Add, scalar.Mul, scalar.Min} {
		b.Run("fp32."+op.String(), func(b *testing.B) {
			for b.Loop() {
				scalar.Map(op, scalar.FP32, z, x, y)
			}
			b.ReportMetric(float64(b.N)*4096/b.Elapsed().Seconds(), "elements/s")
		})
	}
}
