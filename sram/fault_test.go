package sram

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// countdown is a skipper that looks at one bit after another.
type countdown struct {
	p    float64
	rng  *rand.PCG
	left float64
}

func newCountdown(p float64, group, kind uint64) *countdown {
	c := &countdown{p: p, rng: rand.NewPCG(group, mix(kind))}
	if p > 0 {
		c.draw()
	}
	return c
}

func (c *countdown) draw() {
	u := float64(c.rng.Uint64()>>11+1) / (1 << 53)
	c.left = math.Floor(math.Log(u) * (1 / math.Log1p(-c.p)))
}

func (c *countdown) hit() bool {
	if c.p == 0 {
		return false
	}
	if c.left > 0 {
		c.left--
		return false
	}
	c.draw()
	return true
}

// naiveFaulty executes one group of n words, one bit at a time, as the comments
// of Faults say it. cell returns the value at which a cell is stuck.
func naiveFaulty(p *Program, f *Faults, in [][]bool, bits int, group uint64, cell func(at Place, bit int) (value, stuck bool)) [][]bool {
	write, read, disturb := newCountdown(f.Write, group, 1), newCountdown(f.Read, group, 2), newCountdown(f.Disturb, group, 3)
	rows := map[Place][]bool{}
	set := func(at Place, x []bool, c *countdown) {
		y := make([]bool, bits)
		for b := range y {
			y[b] = x[b]
			if c.hit() {
				y[b] = !y[b]
			}
			if v, stuck := cell(at, b); stuck {
				y[b] = v
			}
		}
		rows[at] = y
	}
	get := func(array int, o Operand) []bool {
		x := make([]bool, bits)
		for b := range x {
			switch {
			case o.IsConst():
				x[b] = o == One
			default:
				x[b] = rows[Place{array, o.Row()}][b] != o.Negated()
				if read.hit() {
					x[b] = !x[b]
				}
			}
		}
		return x
	}
	for i, x := range p.Inputs {
		set(x.Place, in[i], write)
	}
	for _, ins := range p.Instrs {
		to := Place{int(ins.Array), int(ins.Dst)}
		if ins.Op == Copy {
			set(to, get(int(ins.From), ins.Src[0]), write)
			continue
		}
		var ops [3][]bool
		var active []Place
		for i, s := range ins.Src {
			if s.IsConst() {
				ops[i] = get(0, s)
				continue
			}
			at := Place{int(ins.Array), s.Row()}
			if before := slices.IndexFunc(ins.Src[:i], func(o Operand) bool { return !o.IsConst() && o.Row() == s.Row() }); before >= 0 {
				ops[i] = make([]bool, bits) // the row is sensed once
				for b, x := range ops[before] {
					ops[i][b] = x != (s.Negated() != ins.Src[before].Negated())
				}
				continue
			}
			ops[i] = get(at.Array, s)
			active = append(active, at)
		}
		if len(active) > 1 {
			for _, at := range active {
				set(at, rows[at], disturb)
			}
		}
		x := make([]bool, bits)
		for b := range x {
			ones := 0
			for _, o := range ops {
				if o[b] {
					ones++
				}
			}
			x[b] = ins.Op == Maj && ones >= 2 || ins.Op == Xor && ones%2 == 1
		}
		set(to, x, write)
	}
	var out [][]bool
	for _, o := range p.Outputs {
		out = append(out, get(o.Array, o.Operand))
	}
	return out
}

// TestFaultyAgainstNaive compares every output bit of random programs with a
// simulator that goes one bit at a time, on several groups of words and blocks
// that are not whole words.
func TestFaultyAgainstNaive(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		cols := []int{256, 64, 70, 1, 1000}[seed%5]
		p := randomProgram(rng, randomGeometry(rng, cols), 1+rng.IntN(6), 5+rng.IntN(25), 6)
		code, err := Compile(p)
		require.NoError(t, err)
		f := Faults{EveryBitline: seed%7 == 0}
		if seed%2 == 0 {
			f.Write = []float64{0.001, 0.03, 0.5, 1}[rng.IntN(4)]
		}
		if seed%3 == 0 {
			f.Read = []float64{0.002, 0.1}[rng.IntN(2)]
		}
		if seed%4 < 2 {
			f.Disturb = []float64{0.001, 0.2, 1}[rng.IntN(3)]
		}
		used := UsedRows(p)
		for range rng.IntN(4) {
			f.Stuck = append(f.Stuck, StuckAt{used[rng.IntN(len(used))], rng.IntN(cols), rng.IntN(2) == 0})
		}
		fc, err := code.WithFaults(f)
		require.NoError(t, err)
		w := 1 + rng.IntN(48)
		in, out := randomWords(rng, len(p.Inputs)*w), make([]uint64, len(p.Outputs)*w)
		require.NoError(t, fc.NewMachine().RunContext(t.Context(), out, in, w, seed))

		lay := newLayout(cols, w)
		for first := 0; first < lay.words; first += groupWords {
			n := min(groupWords, lay.words-first)
			at := func(b int) int { // the pattern of bit b of the group, -1 = none
				pat, k := lay.span(first + b/64)
				if b%64 >= k {
					return -1
				}
				return pat + b%64
			}
			ins := make([][]bool, len(p.Inputs))
			for i := range ins {
				ins[i] = make([]bool, 64*n)
				for b := range ins[i] {
					if q := at(b); q >= 0 {
						ins[i][b] = in[i*w+q/64]>>(q%64)&1 != 0
					}
				}
			}
			want := naiveFaulty(p, &f, ins, 64*n, mix(seed+mix(uint64(first))), func(pl Place, b int) (bool, bool) {
				value, stuck := false, false
				for _, s := range f.Stuck {
					if q := at(b); s.Place == pl && q >= 0 && (q%cols == s.Bitline || f.EveryBitline) {
						if !stuck { // of several, the first
							value, stuck = s.Value, true
						}
					}
				}
				return value, stuck
			})
			for i := range p.Outputs {
				for b := range 64 * n {
					if q := at(b); q >= 0 && out[i*w+q/64]>>(q%64)&1 != 0 != want[i][b] {
						t.Fatalf("seed %d: output %d of pattern %d is not %v", seed, i, q, want[i][b])
					}
				}
			}
		}
	}
}

// TestNoFaults sees that a faulty machine without faults is a machine.
func TestNoFaults(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 8))
		p := randomProgram(rng, randomGeometry(rng, []int{256, 33}[seed%2]), 5, 60, 5)
		code, err := Compile(p)
		require.NoError(t, err)
		f := Faults{}
		require.True(t, f.None())
		fc, err := code.WithFaults(f)
		require.NoError(t, err)
		w := 1 + rng.IntN(70)
		in, out := randomWords(rng, len(p.Inputs)*w), make([]uint64, len(p.Outputs)*w)
		require.NoError(t, fc.NewMachine().RunContext(t.Context(), out, in, w, 1))
		require.Equal(t, code.NewMachine().Run(in, w), out)
		r, err := (&Campaign{Program: p, Trials: 3, Seed: seed}).Run(t.Context())
		require.NoError(t, err)
		require.Zero(t, r.Wrong.Count)
		require.Zero(t, r.Bits.Count)
	}
}

// wires copies its input n times in a chain, so that each write, read or
// disturbance flips the output once.
func wires(n int) *Program {
	p := &Program{Geometry: Geometry{Arrays: 2, Rows: 4, Cols: 256}, Inputs: []Input{{"x", Place{0, 0}}, {"y", Place{0, 1}}}}
	p.Instrs = append(p.Instrs, Instr{Op: Xor, Dst: 2, Src: [3]Operand{Row(0, false), Zero, Zero}})
	for range n {
		p.Instrs = append(p.Instrs, Instr{Op: Xor, Dst: 2, Src: [3]Operand{Row(2, false), Zero, Zero}})
	}
	p.Outputs = []Output{{"x", 0, Row(2, false)}}
	return p
}

// odd is the probability that of n independent flips an odd number happens.
func odd(p float64, n int) float64 { return (1 - math.Pow(1-2*p, float64(n))) / 2 }

// TestFaultRates compares error rates with what probability theory says.
func TestFaultRates(t *testing.T) {
	and := &Program{Geometry: Geometry{Arrays: 1, Rows: 4, Cols: 256}, Inputs: []Input{{"x", Place{0, 0}}, {"y", Place{0, 1}}}}
	and.Instrs = []Instr{{Op: Maj, Dst: 2, Src: [3]Operand{Row(0, false), Row(1, false), Zero}}}
	and.Outputs = []Output{{"x", 0, Row(0, false)}}
	for _, c := range []struct {
		name string
		p    *Program
		f    Faults
		want float64
	}{
		// The chain has 12 rows written (the input, 1 + 10) and 12 reads.
		{"write", wires(10), Faults{Write: 0.01}, odd(0.01, 12)},
		{"read", wires(10), Faults{Read: 0.003}, odd(0.003, 12)},
		{"certain", wires(10), Faults{Write: 1}, odd(1, 12)},
		{"certain, odd", wires(9), Faults{Write: 1}, 1},
		{"no disturbance of one row", wires(10), Faults{Disturb: 1}, 0},
		{"disturb", and, Faults{Disturb: 0.02}, 0.02},
		// A stuck cell spoils half the patterns of its bitline: 1 of 256 cells
		// of 4 rows (x, y, 2) that matter to x is one of the 3 rows used.
		{"random stuck", and, Faults{RandomStuck: 1}, 1.0 / 3 / 256 / 2},
		{"stuck row", and, Faults{Stuck: []StuckAt{{Place{0, 0}, 5, true}}, EveryBitline: true}, 0.5},
		{"stuck cell", and, Faults{Stuck: []StuckAt{{Place{0, 0}, 5, true}}}, 0.5 / 256},
		{"stuck elsewhere", and, Faults{Stuck: []StuckAt{{Place{0, 3}, 5, true}}}, 0},
	} {
		const trials = 2000
		r, err := (&Campaign{Program: c.p, Faults: c.f, Trials: trials, Seed: 3, Threads: 2}).Run(t.Context())
		require.NoError(t, err, c.name)
		require.Equal(t, trials*256, r.Patterns)
		sigma := math.Sqrt(c.want * (1 - c.want) / float64(r.Patterns))
		require.InDelta(t, c.want, r.Wrong.Rate, 4.5*sigma+1e-12, c.name)
		require.Equal(t, r.Wrong.Count, r.Bits.Count, "one output")
		require.LessOrEqual(t, r.Wrong.Low, r.Wrong.Rate)
		require.GreaterOrEqual(t, r.Wrong.High, r.Wrong.Rate)
	}
}

// TestCampaignCountsAll sees every pattern counted once and no other, where
// blocks are not whole words.
func TestCampaignCountsAll(t *testing.T) {
	for _, cols := range []int{1, 63, 70, 3000} {
		p := wires(9)
		p.Geometry.Cols = cols
		r, err := (&Campaign{Program: p, Faults: Faults{Write: 1}, Trials: 5, Threads: 2}).Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 5*cols, r.Patterns)
		require.Equal(t, 5*cols, r.Wrong.Count)
		require.Equal(t, Rate{Count: 5 * cols, Of: 5 * cols, Rate: 1, Low: r.Wrong.Low, High: 1}, r.Wrong)
	}
}

// TestCampaignDeterminism sees the same counts for any number of threads, and
// others for another seed.
func TestCampaignDeterminism(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	p := randomProgram(rng, Geometry{Arrays: 3, Rows: 20, Cols: 100}, 8, 200, 10)
	run := func(threads int, seed uint64) *CampaignReport {
		r, err := (&Campaign{Program: p, Faults: Faults{Write: 0.001, Read: 0.001, Disturb: 0.001, RandomStuck: 2}, Trials: 333, Seed: seed, Threads: threads}).Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, 333, r.Trials)
		require.Equal(t, 33300, r.Patterns)
		return r
	}
	one := run(1, 4)
	require.NotZero(t, one.Wrong.Count)
	for _, threads := range []int{2, 3, 8} {
		require.Equal(t, one, run(threads, 4))
	}
	require.NotEqual(t, one, run(1, 5))
}

// TestCampaignReference counts against another function: the complement.
func TestCampaignReference(t *testing.T) {
	p := wires(3)
	c := &Campaign{
		Program: p, Trials: 9, Seed: 1,
		Patterns: func(in []uint64, w int, _ uint64) {
			for k := range w {
				in[k] = 0xF
			}
		},
		Reference: func(in []uint64, w int) []uint64 {
			out := make([]uint64, w)
			for k := range out {
				out[k] = in[k] &^ 1
			}
			return out
		},
	}
	r, err := c.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 9*256/64, r.Wrong.Count, "one pattern of each 64")
	c.Reference = func([]uint64, int) []uint64 { return nil }
	_, err = c.Run(t.Context())
	require.ErrorContains(t, err, "the reference has 0 words")
	ctx, cancel := context.WithCancel(t.Context())
	c.Reference = nil
	c.Trials = 1000
	c.Progress = func(done, total int) {
		require.Equal(t, 1000, total)
		cancel()
	}
	r, err = c.Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 8, r.Trials, "the first chunk")
	require.Equal(t, 8*256, r.Patterns)
}

func TestWilson(t *testing.T) {
	for _, c := range []struct {
		p         float64
		n         int
		low, high float64
	}{ // to four digits as in Newcombe, Statistics in Medicine 17 (1998), Table I
		{81.0 / 263, 263, 0.2553, 0.3662},
		{15.0 / 148, 148, 0.0624, 0.1605},
		{0, 20, 0, 0.1611},
		{1.0 / 29, 29, 0.0061, 0.1718},
	} {
		low, high := Wilson(c.p, c.n)
		require.InDelta(t, c.low, low, 0.00005)
		require.InDelta(t, c.high, high, 0.00005)
	}
	low, high := Wilson(1, 20)
	require.InDelta(t, 1-0.1611, low, 0.00005)
	require.Equal(t, 1.0, high)
}

// TestSelfTest stucks every cell of every row in turn: those of used rows are
// found, exactly, and others are not.
func TestSelfTest(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	p := randomProgram(rng, Geometry{Arrays: 2, Rows: 9, Cols: 70}, 4, 12, 3)
	used := UsedRows(p)
	require.Less(t, len(used), 18)
	found, err := SelfTest(t.Context(), p, Faults{}, 0)
	require.NoError(t, err)
	require.Empty(t, found)
	for a := range 2 {
		for r := range 9 {
			for _, b := range []int{0, 63, 64, 69} {
				for _, v := range []bool{false, true} {
					s := StuckAt{Place{a, r}, b, v}
					found, err := SelfTest(t.Context(), p, Faults{Stuck: []StuckAt{s}}, 0)
					require.NoError(t, err)
					if slices.Contains(used, s.Place) {
						require.Equal(t, []StuckAt{s}, found)
					} else {
						require.Empty(t, found)
					}
				}
			}
		}
	}
}

func TestFaultsValidate(t *testing.T) {
	g := Geometry{Arrays: 2, Rows: 4, Cols: 8}
	for _, c := range []struct {
		f    Faults
		want string
	}{
		{Faults{Stuck: []StuckAt{{Place{2, 0}, 0, true}}}, "sram: array 2 row 0 bitline 0 stuck at 1, expected one of 2 arrays of 4 rows and 8 bitlines"},
		{Faults{Stuck: []StuckAt{{Place{0, 4}, 0, false}}}, "row 4"},
		{Faults{Stuck: []StuckAt{{Place{0, 0}, 8, false}}}, "bitline 8"},
		{Faults{RandomStuck: -1}, "-1 stuck cells"},
		{Faults{Write: -0.1}, "probability -0.1"},
		{Faults{Read: 1.1}, "probability 1.1"},
		{Faults{Disturb: math.NaN()}, "probability NaN"},
	} {
		require.ErrorContains(t, c.f.Validate(g), c.want)
	}
	_, err := (&Campaign{Program: wires(1)}).Run(t.Context())
	require.ErrorContains(t, err, "0 trials")
}
