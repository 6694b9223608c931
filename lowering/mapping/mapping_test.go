package mapping

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// randomValues draws the operands of an operator.
func randomValues(o *dnn.Operator, r *rand.Rand) [][]int32 {
	var out [][]int32
	for _, t := range o.Operands() {
		lo, hi := t.Type.Range()
		v := make([]int32, t.Elements())
		for i := range v {
			v[i] = int32(lo + r.Int64N(hi-lo+1))
		}
		out = append(out, v)
	}
	return out
}

var smallWorks = []string{
	"conv:N=2,K=5,H=6,W=7,C=3,R=3,S=3",
	"conv:N=1,K=4,H=5,W=5,C=6,R=3,S=2,stride=2,pad=1",
	"conv:N=1,K=6,H=4,W=4,C=6,R=3,S=3,groups=3",
	"conv:N=1,K=3,H=7,W=7,C=2,R=3,S=3,stride=2,transposed=1",
	"conv:N=1,K=3,W=9,C=4,S=3,dilation=2",
	"gemm:M=9,K=17,N=5",
	"gemm:M=4,K=6,N=5,batch=3,dynamic=1",
	"conv:N=1,K=2,D=3,H=3,W=3,C=2,Q=2,R=2,S=2",
}

func testPlatform(t *testing.T, platformName string, bits dnn.Bits, rounds int) {
	p, err := platform.Load(platformName)
	require.NoError(t, err)
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 2))
	for _, work := range smallWorks {
		o, err := dnn.Parse(work, bits)
		require.NoError(t, err)
		for _, cold := range []bool{false, true} {
			q, err := New(ctx, o, p, Options{Cold: cold})
			require.NoError(t, err)
			for range rounds {
				m, ok := q.Random(r, 100)
				require.True(t, ok, work)
				var c Cost
				require.Equal(t, Legal, q.Cost(&m, &c))
				clocked, err := q.Clock(ctx, &m)
				require.NoError(t, err)
				require.Equal(t, *clocked, c, "%s: %+v", work, m)
				require.LessOrEqual(t, q.LowerBound().Cycles, c.Cycles, "%s: %+v", work, m)
				sizes, v := q.SizesBound(&m)
				require.Equal(t, Legal, v)
				require.LessOrEqual(t, sizes, c.Cycles, "%s: %+v", work, m)
				schedule, v := q.ScheduleBound(&m)
				require.Equal(t, Legal, v)
				require.LessOrEqual(t, schedule, c.Cycles, "%s: %+v", work, m)
				x := randomValues(o, r)
				want, err := o.Run(ctx, 1, x...)
				require.NoError(t, err)
				got, err := q.Execute(ctx, &m, ExecuteOptions{Threads: 2}, x...)
				require.NoError(t, err)
				require.Equal(t, want, got.Output, "%s: %+v", work, m)
				require.Equal(t, c.Parts[Compute], got.Compute)
				words, err := q.Execute(ctx, &m, ExecuteOptions{Threads: 2, Fidelity: WordLevel, Every: 3}, x...)
				require.NoError(t, err)
				require.Equal(t, want, words.Output)
				require.Equal(t, c.Waves, got.Waves)
			}
		}
	}
	_ = runtime.NumCPU
}

func TestLogicSRAM(t *testing.T) { testPlatform(t, "logic-sram", dnn.DefaultBits, 10) }

func TestLogicSRAMMixed(t *testing.T) {
	testPlatform(t, "logic-sram", dnn.Bits{Activation: dnn.Type{Bits: 8}, Weight: dnn.Type{Bits: 8, Signed: true}}, 1)
	testPlatform(t, "logic-sram", dnn.Bits{Activation: dnn.Type{Bits: 4}, Weight: dnn.Type{Bits: 3}}, 1)
}

func TestLogicDRAM(t *testing.T) { testPlatform(t, "logic-dram", dnn.DefaultBits, 1) }

func TestCrossbar(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	testPlatform(t, "mvm-reram", dnn.DefaultBits, 20)
	testPlatform(t, "mvm-reram", dnn.Bits{Activation: dnn.Type{Bits: 8}, Weight: dnn.Type{Bits: 7, Signed: true}}, 3)
}

func TestSIMD(t *testing.T) { testPlatform(t, "pnm-hbm", dnn.DefaultBits, 20) }

// TestGroupsOnTheDiagonal: groups share a crossbar, with converters that clip and without.
func TestGroupsOnTheDiagonal(t *testing.T) {
	testPlatform(t, "mvm-reram-groups", dnn.DefaultBits, 8)
	p, err := platform.Load("mvm-reram-groups")
	require.NoError(t, err)
	ctx := context.Background()
	o, err := dnn.Parse("conv:N=1,K=28,H=3,W=3,C=28,R=3,S=3,groups=28", dnn.DefaultBits)
	require.NoError(t, err)
	m := Unit()
	m.Function = 1
	m.Swap = true // weights in cells
	m.Factor[2][o.Loop("G")] = 14
	m.Factor[1][o.Loop("R")], m.Factor[1][o.Loop("S")] = 3, 3
	r := rand.New(rand.NewPCG(1, 2))
	for _, adc := range []float64{5, 8, 16} {
		x, err := p.With("crossbar.adc_bits", adc)
		require.NoError(t, err)
		q, err := New(ctx, o, x, Options{})
		require.NoError(t, err)
		q.Complete(&m)
		require.NoError(t, q.Check(&m)) // 14 groups of 9 rows and 4 columns: 126 and 56
		v := randomValues(o, r)
		got, err := q.Execute(ctx, &m, ExecuteOptions{Threads: 1}, v...)
		require.NoError(t, err)
		want, err := q.QuantisedReference(ctx, &m, v...)
		require.NoError(t, err)
		require.Equal(t, want, got.Output, "%v bits", adc)
		require.Equal(t, adc == 5, got.Quantised.Clipped > 0)
	}
	m.Factor[2][o.Loop("G")] = 15
	q, err := New(ctx, o, p, Options{})
	require.NoError(t, err)
	q.Complete(&m)
	require.ErrorContains(t, q.Check(&m), "135 rows of 128")
}

// What the clock records follows each other without gaps and sums to the parts.
func TestRecord(t *testing.T) {
	for _, name := range []string{"logic-sram", "mvm-reram", "pnm-hbm"} {
		q, _ := constantProblem(t, "conv:N=2,K=5,H=6,W=7,C=3,R=3,S=2", name, dnn.DefaultBits, rand.New(rand.NewPCG(1, 1)))
		m, ok := q.Random(rand.New(rand.NewPCG(2, 1)), 100)
		require.True(t, ok)
		var c Cost
		require.Equal(t, Legal, q.Cost(&m, &c))
		at, parts := int64(0), [NumParts]int64{}
		require.NoError(t, q.Record(context.Background(), &m, func(p Part, start, cycles int64) {
			require.Equal(t, at, start)
			at += cycles
			parts[p] += cycles
		}))
		require.Equal(t, c.Cycles, at)
		require.Equal(t, c.Parts, parts)
	}
}

// TestHugeFactors: factors of any size are refused or judged rightly, never taken for others by arithmetic that wraps. The
// oracle multiplies without bounds.
func TestHugeFactors(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	huge := []uint32{1 << 30, 1<<30 - 1, 1 << 16, 1<<31 + 1, math.MaxUint32, 3, 65537, 1 << 22}
	refused := 0
	for _, name := range []string{"logic-sram", "mvm-reram", "pnm-hbm", "logic-dram"} {
		q, _ := constantProblem(t, "conv:N=1,K=4,H=5,W=5,C=3,R=3,S=2", name, dnn.DefaultBits, r)
		for range 300 {
			m, ok := q.Random(r, 100)
			require.True(t, ok)
			for range 1 + r.IntN(6) {
				m.Factor[[]int{SlotWave, SlotTile, r.IntN(NumSlots)}[r.IntN(3)]][r.IntN(q.loops)] = huge[r.IntN(len(huge))]
			}
			err := q.Check(&m)
			waves, below := big.NewInt(1), false
			for l := range q.loops {
				n := big.NewInt(1)
				for s := range NumSlots {
					n.Mul(n, big.NewInt(int64(m.Factor[s][l])))
				}
				if n.Cmp(big.NewInt(maxWaves)) > 0 {
					require.ErrorContains(t, err, "2^40")
				}
				below = below || n.Cmp(big.NewInt(int64(q.extent[l]))) < 0
				waves.Mul(waves, big.NewInt(int64(m.Factor[SlotWave][l])))
				waves.Mul(waves, big.NewInt(int64(m.Factor[SlotTile][l])))
			}
			if waves.Cmp(big.NewInt(maxWaves)) > 0 {
				require.Error(t, err)
			}
			if err != nil {
				require.True(t, below || !strings.Contains(err.Error(), "below its extent"), err)
				refused++
				continue
			}
			var c Cost
			require.Equal(t, Legal, q.Cost(&m, &c))
			require.Equal(t, waves.Int64(), c.Waves)
			require.GreaterOrEqual(t, c.Cycles, q.LowerBound().Cycles)
			sum := big.NewInt(0)
			for _, p := range c.Parts {
				require.GreaterOrEqual(t, p, int64(0), q.String(&m))
				sum.Add(sum, big.NewInt(p))
			}
			require.Equal(t, sum.Int64(), c.Cycles)
			require.True(t, sum.IsInt64())
		}
	}
	require.Positive(t, refused)
}
