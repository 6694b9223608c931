package mapping

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// Canonical signed digits give the value back, have no neighbours and are as few as any
// signed binary form has.
func TestSignedDigits(t *testing.T) {
	least := map[int64]int{0: 0} // by all forms of up to 9 digits
	for shift := range 9 {
		next := map[int64]int{}
		for v, n := range least {
			for _, d := range []int64{-1, 0, 1} {
				x, k := v+d<<shift, n
				if d != 0 {
					k++
				}
				if old, ok := next[x]; !ok || k < old {
					next[x] = k
				}
			}
		}
		least = next
	}
	for v := int64(-128); v <= 255; v++ {
		sum, last := int64(0), -2
		for _, d := range signedDigits(v) {
			require.Greater(t, d.shift, last+1)
			last = d.shift
			if d.minus {
				sum -= 1 << d.shift
			} else {
				sum += 1 << d.shift
			}
		}
		require.Equal(t, v, sum)
		require.Len(t, signedDigits(v), least[v], "%d", v)
	}
}

// constantProblem is a problem whose mappings may have weights as instructions.
func constantProblem(t testing.TB, work, name string, bits dnn.Bits, r *rand.Rand, fields ...any) (*Problem, [][]int32) {
	o, err := dnn.Parse(work, bits)
	require.NoError(t, err)
	data := randomValues(o, r)
	for i := range data[1] { // as sparse as trained weights
		if r.IntN(3) == 0 {
			data[1][i] = 0
		}
	}
	q, err := New(context.Background(), o, load(t, name, fields...), Options{Weights: data[1], Cold: r.IntN(2) == 0})
	require.NoError(t, err)
	return q, data
}

// TestWeightsAsInstructions: what units execute is what the closed form and the clock say,
// computes the nest, and every digit that is not zero is added once for each of its uses.
func TestWeightsAsInstructions(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(3, 5))
	streams := 0
	for _, c := range []struct {
		work, platform string
		bits           dnn.Bits
	}{
		{"conv:N=2,K=5,H=6,W=7,C=3,R=3,S=2", "logic-sram-const", dnn.DefaultBits},
		{"conv:N=1,K=6,H=5,W=4,C=4,R=2,S=2,groups=2,stride=2", "logic-sram-const", dnn.Bits{Activation: dnn.Type{Bits: 5}, Weight: dnn.Type{Bits: 6, Signed: true}}},
		{"gemm:M=9,K=11,N=4", "logic-dram-const", dnn.Bits{Activation: dnn.Type{Bits: 4, Signed: true}, Weight: dnn.Type{Bits: 3}}},
		{"conv:N=1,K=3,H=4,W=5,C=2,R=3,S=3,transposed=1,stride=2", "logic-sram-const", dnn.Bits{Activation: dnn.Type{Bits: 8}, Weight: dnn.Type{Bits: 8}}},
	} {
		q, data := constantProblem(t, c.work, c.platform, c.bits, r, "levels[0].fan_out", 3.0, "levels[1].fan_out", 4.0)
		want, err := q.Op.Run(ctx, 1, data...)
		require.NoError(t, err)
		tried := 0
		for n := 0; tried < 12 && n < 400; n++ {
			m, ok := q.Random(r, 30)
			if !ok || !q.functions[m.Function].program {
				continue
			}
			tried++
			if q.streams(&m) > 1 {
				streams++
			}
			var cost Cost
			require.Equal(t, Legal, q.Cost(&m, &cost))
			k, err := q.Clock(ctx, &m)
			require.NoError(t, err)
			require.Equal(t, cost, *k, "%s\n%s", c.work, q.String(&m))
			got, err := q.Execute(ctx, &m, ExecuteOptions{Threads: 2}, data...)
			require.NoError(t, err)
			require.True(t, slices.Equal(want, got.Output), "%s\n%s", c.work, q.String(&m))
			i := q.Instructions(&m)
			require.Equal(t, i.Cycles, cost.Parts[Compute])
			require.Equal(t, i.Cycles, got.Compute)
			require.Equal(t, i.Sums, got.Sums)
			require.LessOrEqual(t, q.LowerBound().Cycles, cost.Cycles)
			// Another weight is another program: it is seen in the outputs.
			at := r.IntN(len(data[1]))
			old := data[1][at]
			data[1][at] ^= 1
			changed, err := q.Op.Run(ctx, 1, data...)
			require.NoError(t, err)
			other, err := q.Execute(ctx, &m, ExecuteOptions{Threads: 1}, data...) // Options.Weights is the same slice
			require.NoError(t, err)
			require.True(t, slices.Equal(changed, other.Output))
			data[1][at] = old
			m.Double = true
			require.ErrorContains(t, q.Check(&m), "weights are instructions")
		}
		require.Positive(t, tried, c.work)
	}
	require.Positive(t, streams, "programs of their own")
}

// Zeros take no time, and without values weights are operands.
func TestZerosTakeNoInstructions(t *testing.T) {
	o, err := dnn.Parse("conv:N=1,K=2,H=4,W=4,C=2,R=3,S=3", dnn.DefaultBits)
	require.NoError(t, err)
	cycles := func(v int32) int64 {
		w := slices.Repeat([]int32{v}, 36)
		q, err := New(context.Background(), o, load(t, "logic-sram-const"), Options{Weights: w})
		require.NoError(t, err)
		m := Unit()
		m.Function = 1
		m.Factor[0][o.Loop("H")], m.Factor[0][o.Loop("W")] = 4, 4
		q.Complete(&m)
		var c Cost
		require.Equal(t, Legal, q.Cost(&m, &c), "%v", q.Check(&m))
		return c.Parts[Compute]
	}
	require.Zero(t, cycles(0))
	require.Positive(t, cycles(64))
	require.Less(t, cycles(64), cycles(85)) // one digit against four
	q, err := New(context.Background(), o, load(t, "logic-sram-const"), Options{})
	require.NoError(t, err)
	m := Unit()
	m.Function = 1
	q.Complete(&m)
	require.ErrorContains(t, q.Check(&m), "with values")
}
