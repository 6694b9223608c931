package arith

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

// TestRoutine evaluates (x*y + 3) max z in one array and compares it with the
// processor.
func TestRoutine(t *testing.T) {
	ctx := context.Background()
	for _, tech := range sram.Technologies() {
		r, err := NewRoutine(tech, 256)
		require.NoError(t, err)
		var in []Arg
		for _, name := range []string{"x", "y", "z"} {
			a, err := r.Input(name, 16)
			require.NoError(t, err)
			in = append(in, a)
		}
		p, err := r.Do(ctx, "int.mul", 16, in[0], in[1])
		require.NoError(t, err)
		s, err := r.DoOver(ctx, 0, "int.add", 16, p, Const(3))
		require.NoError(t, err)
		require.ErrorContains(t, r.Free(p), "freed")
		m, err := r.DoOver(ctx, 1, "int.max", 16, in[2], s)
		require.NoError(t, err)
		require.NoError(t, r.Output("y", m))
		require.NoError(t, r.Output("x", in[0]))
		code, err := r.Compile()
		require.NoError(t, err)
		const n = 5000
		rng := rand.New(rand.NewPCG(1, 3))
		x, y, z, out, same := make([]uint32, n), make([]uint32, n), make([]uint32, n), make([]uint32, n), make([]uint32, n)
		for i := range n {
			x[i], y[i], z[i] = rng.Uint32()&0xffff, rng.Uint32()&0xffff, rng.Uint32()&0xffff
		}
		require.NoError(t, RunCode(ctx, code, 2, [][]uint32{out, same}, x, y, z))
		for i := range n {
			want := max(int16(x[i])*int16(y[i])+3, int16(z[i]))
			require.Equal(t, uint32(uint16(want)), out[i])
			require.Equal(t, x[i], same[i])
		}
		require.LessOrEqual(t, r.Peak(), 256-tech.Reserved)
	}
}

// TestRoutineOfFloats runs Horner's rule with products and sums rounded each.
func TestRoutineOfFloats(t *testing.T) {
	ctx := context.Background()
	for _, tech := range sram.Technologies() {
		r, err := NewRoutine(tech, 256)
		require.NoError(t, err)
		x, err := r.Input("x", 32)
		require.NoError(t, err)
		coefficients := []float32{0.5, -1.25, 3, 1e-3}
		y := Const(uint64(math.Float32bits(coefficients[0])))
		for i, c := range coefficients[1:] {
			if i == 0 {
				y, err = r.Do(ctx, "fp32.mul", 0, x, y)
			} else {
				y, err = r.DoOver(ctx, 1, "fp32.mul", 0, x, y)
			}
			require.NoError(t, err)
			y, err = r.DoOver(ctx, 0, "fp32.add", 0, y, Const(uint64(math.Float32bits(c))))
			require.NoError(t, err)
		}
		require.NoError(t, r.Output("y", y))
		code, err := r.Compile()
		require.NoError(t, err)
		const n = 3000
		rng := rand.New(rand.NewPCG(1, 4))
		xs, ys := make([]uint32, n), make([]uint32, n)
		for i := range n {
			xs[i] = math.Float32bits(float32(rng.NormFloat64()))
		}
		require.NoError(t, RunCode(ctx, code, 1, [][]uint32{ys}, xs))
		for i := range n {
			v, want := math.Float32frombits(xs[i]), coefficients[0]
			for _, c := range coefficients[1:] {
				want = float32(v*want) + c
			}
			require.Equal(t, math.Float32bits(want), ys[i])
		}
	}
}

// TestRoutineRows counts the registers that fit beside an operation: the number
// that Registers says, and not one more.
func TestRoutineRows(t *testing.T) {
	ctx := context.Background()
	for _, tech := range sram.Technologies() {
		scratch := map[string]int{}
		for _, op := range []string{"fp32.add", "fp32.sub", "fp32.mul"} {
			scratch[op] = mustBuild(t, Spec{Op: op, Tech: tech.Name}).Scratch
		}
		f := Registers(tech, 256, scratch)[0]
		for _, extra := range []int{0, 1} {
			r, err := NewRoutine(tech, 256)
			require.NoError(t, err)
			var regs []Arg
			for i := range f.Registers - 1 + extra { // one for the result
				a, err := r.Input(string(rune('a'+i)), 32)
				require.NoError(t, err)
				regs = append(regs, a)
			}
			_, err = r.Do(ctx, "fp32.mul", 0, regs[0], regs[1])
			if extra == 0 {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrRows)
				for _, a := range regs {
					require.NoError(t, r.Free(a))
				}
			}
		}
	}
}

func TestRoutineErrors(t *testing.T) {
	ctx := context.Background()
	_, err := NewRoutine(&sram.NeuralCache, 2)
	require.ErrorContains(t, err, "expected 3")
	r, err := NewRoutine(&sram.NeuralCache, 64)
	require.NoError(t, err)
	a, err := r.Input("a", 16)
	require.NoError(t, err)
	b, err := r.Input("b", 8)
	require.NoError(t, err)
	_, err = r.Input("c", 64)
	require.ErrorIs(t, err, ErrRows)
	_, err = r.Do(ctx, "int.add", 16, a, b)
	require.ErrorContains(t, err, "operand b of 8 bits, expected 16")
	_, err = r.Do(ctx, "int.add", 16, a)
	require.ErrorContains(t, err, "1 operands, expected 2")
	_, err = r.Do(ctx, "int.add", 16, a, Arg{word: 9})
	require.ErrorIs(t, err, errRoutine)
	_, err = r.DoOver(ctx, 1, "int.add", 16, a, Const(1))
	require.ErrorContains(t, err, "expected one that is a word")
	_, err = r.Do(ctx, "int.frob", 16, a)
	require.ErrorContains(t, err, "no operation")
	y, err := r.DoOver(ctx, 0, "int.mul", 16, a, a) // cannot lie over one of two equal operands
	require.NoError(t, err)
	require.ErrorContains(t, r.Free(a), "freed")
	_, err = r.Input("d", 1)
	require.ErrorContains(t, err, "after an operation")
	require.ErrorContains(t, r.Output("y", a), "freed")
	require.NoError(t, r.Output("y", y))
	_, err = r.Compile()
	require.NoError(t, err)
}
