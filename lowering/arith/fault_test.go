package arith

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/sram"
)

// TestStuckCellsAreDetected sticks every row that operations use, and every latch,
// at both values. The self-test finds each. The results show it too, but where the
// row never holds another value, or where no operands that there are show it: for
// these all were run.
func TestStuckCellsAreDetected(t *testing.T) {
	for _, tech := range sram.Technologies() {
		for _, name := range []string{"int4.add", "int4.mul", "int3.div", "int5.abs", "uint4.lt", "e3m2.mul", "e3m2.add", "fp16.add", "fp32.mul"} {
			p := mustBuild(t, Spec{Op: name, Tech: tech.Name, Rows: 512})
			effects, err := p.StuckRows(t.Context(), 2000, 1, nil)
			require.NoError(t, err)
			cells := 0
			for _, e := range effects {
				what := fmt.Sprintf("%s on %s, row %d (%s) at %v", name, tech.Name, e.Row, e.Role, e.Value)
				require.True(t, e.SelfTest, what)
				require.True(t, e.Detected(), what)
				require.Equal(t, p.Patterns(2000), e.Words)
				if e.Latch == 0 {
					cells++
				}
				if e.Wrong == 0 {
					require.True(t, e.Only || e.Exhaustive, what)
				}
			}
			require.Equal(t, 2*len(p.Kernel.UsedRows()), cells)
			require.Equal(t, tech.Latches() != 0, len(effects) > cells)
		}
	}
}

// TestStuckCellsOfEveryOperation does so for all integer operations on few bits,
// and all on tiny floating-point numbers of up to two operands: all operands are
// run, so that a fault which no result shows is proved to be masked.
func TestStuckCellsOfEveryOperation(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	programs := 0
	for _, tech := range sram.Technologies() {
		for i := range Operations {
			o := &Operations[i]
			name, width := string(o.ID), 3
			if o.IsFloat() {
				name, width = "e3m2"+string(o.ID)[len("fp"):], 6
			}
			if !o.Supports(tech) {
				continue
			}
			p, err := Build(t.Context(), Spec{Op: name, Width: width, Tech: tech.Name, Rows: 512})
			if err != nil {
				require.ErrorContains(t, err, "e3m2", "%s", name) // a conversion that does not exist
				continue
			}
			if p.argBits() > exhaustiveBits {
				continue
			}
			programs++
			effects, err := p.StuckRows(t.Context(), 1, 1, nil)
			require.NoError(t, err)
			for _, e := range effects {
				require.True(t, e.SelfTest, "%s on %s, row %d (%s) at %v", name, tech.Name, e.Row, e.Role, e.Value)
				require.True(t, e.Wrong > 0 || e.Exhaustive, name)
			}
		}
	}
	require.Greater(t, programs, 100)
}

// TestStuckCellsOfEveryBitline finds single cells of fp32.mul wherever they are:
// every row at one bitline, other bitlines and values row by row.
func TestStuckCellsOfEveryBitline(t *testing.T) {
	for _, tech := range sram.Technologies() {
		k := mustBuild(t, Spec{Op: "fp32.mul", Tech: tech.Name}).Kernel
		for i, r := range k.UsedRows() {
			for _, b := range []int{0, 255, 37 * i % 256} {
				cell := sram.StuckAt{Place: sram.Place{Row: r}, Bitline: b, Value: (i+b)%2 == 0}
				found, latches, err := sram.SelfTestKernel(t.Context(), k, sram.Faults{Stuck: []sram.StuckAt{cell}}, sram.DefaultCols, 1)
				require.NoError(t, err)
				require.Equal(t, []sram.StuckAt{cell}, found)
				require.Empty(t, latches)
			}
		}
	}
}

// TestStuckInputBit says in how many words a stuck operand shows: a bit of the
// operand of a complement is wrong in half of all.
func TestStuckInputBit(t *testing.T) {
	for _, tech := range sram.Technologies() {
		p := mustBuild(t, Spec{Op: "int8.not", Tech: tech.Name})
		e, err := p.Stuck(t.Context(), sram.StuckAt{Place: sram.Place{Row: 3}, Bitline: 7, Value: true}, 256, 1, 1)
		require.NoError(t, err)
		require.Equal(t, StuckEffect{Row: 3, Value: true, Role: "a[3]", SelfTest: true, Wrong: 128, Words: 256, Exhaustive: true}, *e)
		e, err = p.Stuck(t.Context(), sram.StuckAt{Place: sram.Place{Row: 200}, Value: true}, 256, 1, 1)
		require.NoError(t, err)
		require.Equal(t, StuckEffect{Row: 200, Value: true, Words: 256, Exhaustive: true}, *e)
		_, err = p.Stuck(t.Context(), sram.StuckAt{Place: sram.Place{Row: 256}}, 256, 1, 1)
		require.ErrorContains(t, err, "row 256")
	}
}

func TestCampaignWithoutFaults(t *testing.T) {
	for _, tech := range sram.Technologies() {
		for _, name := range []string{"fp32.mul", "fp16.lt", "int40.mulw", "int8.sub"} {
			p := mustBuild(t, Spec{Op: name, Tech: tech.Name, Rows: 1024})
			for _, o := range []Operands{UniformBits, Normal} {
				r, err := (&FaultCampaign{Program: p, Operands: o, Trials: 20, Seed: 5, Threads: 2}).Run(t.Context())
				require.NoError(t, err)
				require.Equal(t, 20*256, r.Patterns)
				require.Zero(t, r.Wrong.Count)
				require.Zero(t, r.Bits.Count)
				require.Len(t, r.Outputs, p.ResultWidth())
				require.Equal(t, name == "fp32.mul", r.Float != nil)
				if r.Float != nil {
					require.Equal(t, sram.NewRate(0, 20*256), r.Float.Finite)
					require.Zero(t, r.Float.Max)
				}
			}
		}
	}
}

// TestCampaignReproduces sees the same report for any number of threads, and
// another for another seed.
func TestCampaignReproduces(t *testing.T) {
	for _, tech := range sram.Technologies() {
		p := mustBuild(t, Spec{Op: "fp32.mul", Tech: tech.Name})
		run := func(threads int, seed uint64) *FaultReport {
			f := sram.Faults{Write: 1e-5, Read: 1e-6, Disturb: 1e-6, RandomStuck: 1, Latch: 1e-6}
			r, err := (&FaultCampaign{Program: p, Faults: f, Operands: Normal, Trials: 65, Seed: seed, Threads: threads}).Run(t.Context())
			require.NoError(t, err)
			return r
		}
		one := run(1, 1)
		require.NotZero(t, one.Wrong.Count)
		require.NotZero(t, one.Float.Finite.Count)
		require.Equal(t, one, run(3, 1))
		require.NotEqual(t, one, run(1, 2))
	}
}

// TestCampaignCountsOneBit flips the cells of a result that nothing else reads,
// where the error is known: the rate of each bit is that of a write, and for the
// exponent of a copy the relative error is known.
func TestCampaignRates(t *testing.T) {
	p := mustBuild(t, Spec{Op: "int8.and"})
	const rate = 0.003
	r, err := (&FaultCampaign{Program: p, Faults: sram.Faults{Write: rate}, Trials: 2000, Seed: 1, Threads: 2}).Run(t.Context())
	require.NoError(t, err)
	// A bit is wrong if the write of the result flips, or if one of the operands
	// does where the other is 1; two at once are rare.
	want := rate + 2*rate/2
	for i, o := range r.Outputs {
		require.Equal(t, fmt.Sprintf("y[%d]", i), o.Name)
		require.InDelta(t, want, o.Rate.Rate, 5*math.Sqrt(want/float64(r.Patterns))+rate*rate*4)
	}
	require.InDelta(t, 1-math.Pow(1-want, 8), r.Wrong.Rate, 0.001)
}

// TestFloatErrors counts results by hand.
func TestFloatErrors(t *testing.T) {
	f, _ := LookupFormat("fp32")
	e := newFloatErrors(f)
	nan, inf := math.NaN(), math.Inf(1)
	for _, x := range [][2]float64{ // got, want
		{nan, 1}, {nan, 0}, {inf, 2}, {-inf, inf}, {3, nan}, {nan, inf}, {inf, nan}, {nan, nan}, {1, 0}, {math.Copysign(0, -1), 0},
		{1.5, 1}, {2, 1}, {0, 1}, {-1, 1}, {1 << 20, 1}, {1 + 0x1p-23, 1},
	} {
		e.count(x[0], x[1])
	}
	r := e.report(100)
	counts := []int{r.NaN.Count, r.Inf.Count, r.Lost.Count, r.FromZero.Count, r.Finite.Count}
	require.Equal(t, []int{2, 1, 4, 1, 6}, counts)
	require.Equal(t, 0.02, r.NaN.Rate)
	// The errors are 2^-23, 0.5, 1, 1, 2, 2^20-1.
	require.Equal(t, 1.0, r.Median)
	require.InEpsilon(t, 1<<20, r.P90, 0.01)
	require.Equal(t, float64(1<<20-1), r.Max)

	one := newFloatErrors(f)
	for _, bit := range []int{0, 23} { // the last bit of the fraction, the first of the exponent
		words := make([]uint64, 64)
		for j := range words {
			words[j] = f.Round(1)
		}
		want := make([]uint64, 32)
		sliceBits(want, 1, words)
		got := slices.Clone(want)
		got[bit] ^= 1 << 5
		one.observe(nil, got, want, 1, 6)
		one.observe(nil, got, want, 1, 5) // the word that is wrong is no pattern
	}
	r = one.report(12)
	require.Equal(t, 2, r.Finite.Count)
	require.Equal(t, 0x1p-23, r.Median)
	require.Equal(t, 0.5, r.Max, "half of one")
}

func TestOperands(t *testing.T) {
	for _, o := range []Operands{UniformBits, Normal} {
		got, err := ParseOperands(o.String())
		require.NoError(t, err)
		require.Equal(t, o, got)
	}
	_, err := ParseOperands("gauss")
	require.ErrorContains(t, err, "expected bits or normal")
	// The numbers are normal: mean 0, variance 1, 68.3 % within one deviation.
	p := mustBuild(t, Spec{Op: "fp16.neg"})
	c := &FaultCampaign{Program: p, Operands: Normal}
	in, words := make([]uint64, 16*100), make([]uint64, 6400)
	c.patterns(in, 100, 1)
	joinBits(words, in, 100)
	sum, squares, within := 0.0, 0.0, 0
	for _, x := range words {
		v := p.Type.Float.Float64(x)
		sum, squares = sum+v, squares+v*v
		if math.Abs(v) < 1 {
			within++
		}
	}
	require.InDelta(t, 0, sum/6400, 0.05)
	require.InDelta(t, 1, squares/6400, 0.08)
	require.InDelta(t, 0.683, float64(within)/6400, 0.03)
}

func TestCampaignErrors(t *testing.T) {
	p := mustBuild(t, Spec{Op: "int8.add"})
	_, err := (&FaultCampaign{Program: p, Trials: 0}).Run(t.Context())
	require.ErrorContains(t, err, "arith: int8.add: sram: campaign of 0 trials")
	_, err = (&FaultCampaign{Program: p, Trials: 1, Faults: sram.Faults{Write: 2}}).Run(t.Context())
	require.ErrorContains(t, err, "probability 2")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := (&FaultCampaign{Program: p, Trials: 1}).Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, r.Trials)
}
