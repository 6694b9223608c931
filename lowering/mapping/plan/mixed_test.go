package plan

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// The choice of bits is the best of all that keep the budget.
func TestShareAgainstAllChoices(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + r.IntN(5)
		cycles, errs := make([][]int64, n), make([][]float64, n)
		for i := range n {
			for range 1 + r.IntN(4) {
				cycles[i] = append(cycles[i], r.Int64N(40))
				errs[i] = append(errs[i], float64(r.IntN(9))/8) // whole numbers of steps of a budget of 1
			}
		}
		least := int64(-1)
		var walk func(i int, sum int64, e float64)
		walk = func(i int, sum int64, e float64) {
			if i == n {
				if e <= 1 && (least < 0 || sum < least) {
					least = sum
				}
				return
			}
			for c := range cycles[i] {
				walk(i+1, sum+cycles[i][c], e+errs[i][c])
			}
		}
		walk(0, 0, 0)
		got := apportion(cycles, errs, 1)
		if least < 0 {
			require.Nil(t, got)
			continue
		}
		sum, e := int64(0), 0.0
		for i, c := range got {
			sum, e = sum+cycles[i][c], e+errs[i][c]
		}
		require.LessOrEqual(t, e, 1.0)
		require.Equal(t, least, sum)
	}
}

// No result is further off than the bound, and on the inputs that are worst for a weight of
// each kind nearly as far.
func TestErrorBound(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(4, 2))
	for _, work := range []string{"conv:N=1,K=3,H=4,W=5,C=4,R=3,S=2", "conv:N=1,K=4,H=3,W=3,C=4,R=2,S=2,groups=2", "gemm:M=5,K=9,N=4", "gemm:M=5,K=9,N=4,dynamic=1,batch=2"} {
		op, err := dnn.Parse(work, dnn.DefaultBits)
		require.NoError(t, err)
		for bits := leastBits; bits <= 8; bits++ {
			small := narrowed(op, bits)
			most, bound := int64(0), int64(0)
			for n := range 40 {
				var wide, narrow [][]int32
				for i, x := range op.Operands() {
					v := Values(&x, uint64(n), x.Name)
					if n%2 == 0 { // extremes
						lo, hi := x.Type.Range()
						for k := range v {
							v[k] = int32([]int64{lo, hi}[r.IntN(2)])
						}
					}
					wide, narrow = append(wide, v), append(narrow, dnn.Narrow(v, x.Type, small.Tensors[i].Type))
				}
				weights := wide[1]
				if op.Tensors[1].Role != dnn.Weight {
					weights = nil
				}
				b, full := errorOf(op, small, weights)
				want, err := op.Run(ctx, 1, wide...)
				require.NoError(t, err)
				got, err := small.Run(ctx, 1, narrow...)
				require.NoError(t, err)
				for i := range want {
					d := want[i] - got[i]<<(2*(8-bits))
					d = max(d, -d)
					require.LessOrEqual(t, d, b, "%s, %d bits", work, bits)
					require.LessOrEqual(t, max(want[i], -want[i]), full)
					most, bound = max(most, d), max(bound, b)
				}
			}
			if bits == 8 {
				require.Zero(t, bound)
			} else {
				require.Greater(t, 8*most, bound, "%s, %d bits: a bound that says nothing", work, bits)
			}
		}
	}
}

// Fewer bits take fewer cycles, the errors keep the budget, and what is executed is off by less.
func TestMixedPrecision(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	four := dnn.Type{Bits: 4, Signed: true}
	b := dnn.NewBuilder("small", "", dnn.Bits{Activation: four, Weight: four}, 1, 4, 6, 6)
	x := b.Conv("first", 0, 8, 3, 1, 1, 1)
	x = b.Unary("relu", dnn.ReLU, x)
	x = b.Conv("second", x, 4, 1, 1, 0, 1)
	b.FC("head", b.Flat("flat", x), 5)
	net, err := b.Done()
	require.NoError(t, err)
	p, err := platform.Load("logic-sram")
	require.NoError(t, err)
	first, last := int64(0), int64(1)<<62
	for _, budget := range []float64{0, 0.5, 9} {
		rep, err := Map(context.Background(), context.Background(), net, p, Options{Evals: 200, Seed: 1, Execute: "gate", Mixed: budget, Precisions: true})
		require.NoError(t, err)
		sum := 0.0
		for i := range rep.Layers {
			l := rep.Layers[i].Precision
			require.LessOrEqual(t, l.Measured, l.Error)
			sum += l.Error
		}
		require.LessOrEqual(t, sum, budget)
		require.LessOrEqual(t, rep.Cycles, last)
		if budget == 0 {
			first = rep.Cycles
			require.Equal(t, rep.Uniform[4], first)
		}
		last = rep.Cycles
	}
	require.Less(t, last, first)
}
