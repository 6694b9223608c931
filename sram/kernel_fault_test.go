package sram

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
)

// naiveFaultyKernel executes one group of n bits, one bit at a time, as the
// comments of Faults and FaultyKernel say it. stuckRow and stuckLatch return the
// value at which a cell or a latch is stuck.
func naiveFaultyKernel(k *Kernel, f *Faults, in [][]bool, n int, group uint64,
	stuckRow func(row, bit int) (value, stuck bool), stuckLatch func(l Latch, bit int) (value, stuck bool)) [][]bool {
	write, read, disturb, latch := newCountdown(f.Write, group, 1), newCountdown(f.Read, group, 2), newCountdown(f.Disturb, group, 3), newCountdown(f.Latch, group, 4)
	rows := make([][]bool, k.Rows)
	for r := range rows {
		rows[r] = make([]bool, n)
	}
	latches := make([]latchBits, n)
	for b := range latches {
		latches[b] = latchBits{}
	}
	// change flips what is hit, where the mask says, and forces stuck cells.
	change := func(r int, c *countdown, mask []bool) {
		for b := range n {
			if c.hit() && (mask == nil || mask[b]) {
				rows[r][b] = !rows[r][b]
			}
			if v, stuck := stuckRow(r, b); stuck {
				rows[r][b] = v
			}
		}
	}
	sense := func(r int) []bool {
		x := slices.Clone(rows[r])
		for b := range x {
			if read.hit() {
				x[b] = !x[b]
			}
		}
		return x
	}
	constants := [2]int{k.Rows - 2, k.Rows - 1}
	hasRows := k.Tech.Name != "xmg"
	for v, r := range constants {
		isRead := slices.ContainsFunc(k.Instrs, func(m Micro) bool {
			return slices.Contains(m.Src[:k.Tech.Ops[m.Op].Operands], Zero+Operand(v))
		})
		if hasRows && isRead {
			for b := range n {
				rows[r][b] = v == 1
			}
			change(r, write, nil)
		}
	}
	bit := 0
	for _, p := range k.Inputs {
		for r := range p.Width {
			copy(rows[p.Base+r], in[bit])
			change(p.Base+r, write, nil)
			bit++
		}
	}
	for _, m := range k.Instrs {
		info := k.Tech.Ops[m.Op]
		sensed := map[int][]bool{}
		var active []int
		operand := func(j, b int) int {
			o := m.Src[j]
			r := o.Row()
			if o.IsConst() {
				if !hasRows {
					return int(o - Zero)
				}
				r = constants[o-Zero]
			}
			if sensed[r][b] != (!o.IsConst() && o.Negated()) {
				return 1
			}
			return 0
		}
		for _, o := range m.Src[:info.Operands] {
			r := o.Row()
			if o.IsConst() {
				if !hasRows {
					continue
				}
				r = constants[o-Zero]
			}
			if sensed[r] == nil {
				sensed[r] = sense(r)
				active = append(active, r)
			}
		}
		if len(active) > 1 {
			for _, r := range active {
				change(r, disturb, nil)
			}
		}
		mask := make([]bool, n)
		for b := range n {
			var x [3]int
			for j := range info.Operands {
				x[j] = operand(j, b)
			}
			mask[b] = latches[b]["tag"] == 1
			v := bitModel[k.Tech.Name][info.Name](x[0], x[1], x[2], latches[b])
			if info.Writes && (!m.Masked || mask[b]) {
				rows[m.Dst][b] = v == 1
			}
		}
		if info.Writes {
			if !m.Masked {
				mask = nil
			}
			change(int(m.Dst), write, mask)
		}
		for l := range info.Sets.Each() {
			for b := range n {
				if latch.hit() {
					latches[b][l.String()] ^= 1
				}
				if v, stuck := stuckLatch(l, b); stuck {
					latches[b][l.String()] = number(v)
				}
			}
		}
	}
	var out [][]bool
	for _, p := range k.Outputs {
		for r := range p.Width {
			out = append(out, sense(p.Base+r))
		}
	}
	return out
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// randomFaults draws faults of all kinds that a kernel can have.
func randomFaults(rng *rand.Rand, k *Kernel, cols int) Faults {
	f := Faults{EveryBitline: rng.IntN(4) == 0}
	for _, p := range []*float64{&f.Write, &f.Read, &f.Disturb, &f.Latch} {
		if rng.IntN(2) == 0 {
			*p = []float64{0.0001, 0.0002, 0.0003, 0.01, 0.3, 1}[rng.IntN(6)]
		}
	}
	used := k.UsedRows()
	for range rng.IntN(4) {
		f.Stuck = append(f.Stuck, StuckAt{Place{0, used[rng.IntN(len(used))]}, rng.IntN(cols), rng.IntN(2) == 0})
	}
	if rng.IntN(3) == 0 {
		f.StuckLatches = append(f.StuckLatches, StuckLatch{[]Latch{Carry, Tag}[rng.IntN(2)], rng.IntN(cols), rng.IntN(2) == 0})
	}
	return f
}

// TestFaultyKernelAgainstNaive compares every output bit of random kernels of
// every technology with a simulator that goes one bit at a time, on several
// groups of words and blocks that are not whole words.
func TestFaultyKernelAgainstNaive(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	for _, tech := range Technologies() {
		for seed := range uint64(invariants.Draws(5, 10)) {
			rng := rand.New(rand.NewPCG(seed, 17))
			cols := []int{256, 64, 70, 1, 1000}[seed%5]
			k := randomKernel(rng, tech, 1+rng.IntN(6), 9, 3+rng.IntN(35))
			code, err := k.Compile()
			require.NoError(t, err)
			f := randomFaults(rng, k, cols)
			fk, err := code.WithFaults(f, cols)
			require.NoError(t, err)
			w := 1 + rng.IntN(40)
			inputs, outputs := k.Inputs[0].Width, len(k.Outputs)
			in, out := randomWords(rng, inputs*w), make([]uint64, outputs*w)
			require.NoError(t, fk.NewMachine().RunContext(t.Context(), out, in, w, seed))

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
				ins := make([][]bool, inputs)
				for i := range ins {
					ins[i] = make([]bool, 64*n)
					for b := range ins[i] {
						if q := at(b); q >= 0 {
							ins[i][b] = in[i*w+q/64]>>(q%64)&1 != 0
						}
					}
				}
				hits := func(bitline, b int) bool {
					return f.EveryBitline || (first*64+b)%(64*lay.perBlock) == bitline
				}
				want := naiveFaultyKernel(k, &f, ins, 64*n, mix(seed+mix(uint64(first))), func(row, b int) (bool, bool) {
					for _, s := range f.Stuck { // of several, the first
						if s.Row == row && hits(s.Bitline, b) {
							return s.Value, true
						}
					}
					return false, false
				}, func(l Latch, b int) (bool, bool) {
					for _, s := range f.StuckLatches {
						if s.Latch == l && hits(s.Bitline, b) {
							return s.Value, true
						}
					}
					return false, false
				})
				for i := range want {
					for b := range 64 * n {
						if q := at(b); q >= 0 && out[i*w+q/64]>>(q%64)&1 != 0 != want[i][b] {
							t.Fatalf("%s, seed %d: output %d of pattern %d is not %v with %+v", tech.Name, seed, i, q, want[i][b], f)
						}
					}
				}
			}
		}
	}
}

// TestFaultyKernelIsFaultyProgram says that an xmg kernel and the program of one
// array that it is go wrong in the same way.
func TestFaultyKernelIsFaultyProgram(t *testing.T) {
	made := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 18))
		k := randomKernel(rng, &XMG, 4, 20, 9)
		p, err := k.Program()
		if err != nil {
			continue // it writes the row of an input
		}
		made++
		p.Geometry.Cols = []int{256, 70}[seed%2]
		f := randomFaults(rng, k, p.Geometry.Cols)
		f.RandomStuck = rng.IntN(3)
		c, err := Compile(p)
		require.NoError(t, err)
		fc, err := c.WithFaults(f)
		require.NoError(t, err)
		code, err := k.Compile()
		require.NoError(t, err)
		fk, err := code.WithFaults(f, p.Geometry.Cols)
		require.NoError(t, err)
		w := 1 + rng.IntN(50)
		in := randomWords(rng, 4*w)
		want, got := make([]uint64, len(p.Outputs)*w), make([]uint64, len(p.Outputs)*w)
		require.NoError(t, fc.NewMachine().RunContext(t.Context(), want, in, w, seed))
		require.NoError(t, fk.NewMachine().RunContext(t.Context(), got, in, w, seed))
		require.Equal(t, want, got, "seed %d", seed)
	}
	require.Greater(t, made, 20)
}

// TestKernelWithoutFaults sees that a faulty machine without faults, and one
// whose faults lie in rows that are not used, is a machine.
func TestKernelWithoutFaults(t *testing.T) {
	for _, tech := range Technologies() {
		for seed := range uint64(10) {
			rng := rand.New(rand.NewPCG(seed, 19))
			k := randomKernel(rng, tech, 4, 9, 40)
			k.Rows += 3 // the constants move up
			code, err := k.Compile()
			require.NoError(t, err)
			fk, err := code.WithFaults(Faults{Stuck: []StuckAt{{Place{0, 10}, 3, true}, {Place{0, 10}, 4, false}}}, 256)
			require.NoError(t, err)
			in, out := randomWords(rng, 4*groupWords), make([]uint64, len(k.Outputs)*groupWords)
			require.NoError(t, fk.NewMachine().RunContext(t.Context(), out, in, groupWords, seed))
			s := code.NewState()
			for i := range 4 {
				copy(s.Row(i)[:], in[i*groupWords:])
			}
			s.Run()
			for i, o := range k.Outputs {
				require.Equal(t, s.Row(o.Base)[:], out[i*groupWords:(i+1)*groupWords])
			}
		}
	}
}

// TestKernelConstantsCanBeStuck says that the rows of constants are cells, where
// a technology has them.
func TestKernelConstantsCanBeStuck(t *testing.T) {
	k := &Kernel{Tech: &NeuralCache, Rows: 16, Inputs: []Port{{"a", 0, 1}}, Outputs: []Port{{"y", 1, 1}},
		Instrs: []Micro{{Op: NCAnd, Dst: 1, Src: [3]Operand{Row(0, false), One}}}}
	require.Equal(t, []int{15, 0, 1}, k.UsedRows())
	code, err := k.Compile()
	require.NoError(t, err)
	fk, err := code.WithFaults(Faults{Stuck: []StuckAt{{Place{0, 15}, 0, false}}, EveryBitline: true}, 256)
	require.NoError(t, err)
	out := []uint64{1}
	require.NoError(t, fk.NewMachine().RunContext(t.Context(), out, []uint64{^uint64(0)}, 1, 1))
	require.Zero(t, out[0])
}

func TestKernelFaultErrors(t *testing.T) {
	code, err := randomKernel(rand.New(rand.NewPCG(1, 1)), &NeuralCache, 2, 6, 10).Compile()
	require.NoError(t, err)
	rows := len(code.kernel.UsedRows())
	for _, c := range []struct {
		f    Faults
		want string
	}{
		{Faults{Stuck: []StuckAt{{Place{1, 0}, 0, true}}}, "expected one of 1 arrays of 8 rows and 64 bitlines"},
		{Faults{Stuck: []StuckAt{{Place{0, 8}, 0, true}}}, "row 8"},
		{Faults{StuckLatches: []StuckLatch{{Carry, 64, true}}}, "carry latch of bitline 64"},
		{Faults{StuckLatches: []StuckLatch{{Carry | Tag, 0, true}}}, "expected one latch"},
		{Faults{Latch: 2}, "probability 2"},
		{Faults{RandomStuck: rows*64 + 1}, "stuck cells, expected at most"},
	} {
		_, err := code.WithFaults(c.f, 64)
		require.ErrorContains(t, err, c.want)
	}
	_, err = code.WithFaults(Faults{RandomStuck: rows * 64}, 64)
	require.NoError(t, err)
	_, err = code.WithFaults(Faults{}, 0)
	require.ErrorContains(t, err, "0 bitlines")
	fk, err := code.WithFaults(Faults{}, 64)
	require.NoError(t, err)
	require.ErrorContains(t, fk.NewMachine().RunContext(t.Context(), nil, nil, 1, 0), "expected 2 inputs")
}

func BenchmarkFaultyKernel(b *testing.B) {
	for _, tech := range Technologies() {
		for _, p := range []float64{0, 1e-6, 1e-4} {
			b.Run(tech.Name+"/"+map[float64]string{0: "none", 1e-6: "1e-6", 1e-4: "1e-4"}[p], func(b *testing.B) {
				code, err := randomKernel(rand.New(rand.NewPCG(9, 9)), tech, 8, 100, 1000).Compile()
				require.NoError(b, err)
				fk, err := code.WithFaults(Faults{Write: p}, 256)
				require.NoError(b, err)
				m := fk.NewMachine()
				in, out := make([]uint64, len(fk.in)*groupWords), make([]uint64, len(fk.out)*groupWords)
				for b.Loop() {
					if err := m.RunContext(b.Context(), out, in, groupWords, 1); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*1000*GroupCols/b.Elapsed().Seconds(), "rowop-bitlines/s")
			})
		}
	}
}

// TestSelfTestKernel sticks cells of every row at both values in turn: those of
// used rows are found, exactly, and others are not; and so for the latches.
func TestSelfTestKernel(t *testing.T) {
	for _, tech := range Technologies() {
		k := randomKernel(rand.New(rand.NewPCG(3, 20)), tech, 3, 12, 12)
		k.Instrs = append(k.Instrs, Micro{Op: 0, Dst: 1, Src: [3]Operand{Row(0, false), One}})
		used := k.UsedRows()
		require.Less(t, len(used), k.Rows)
		cells, latches, err := SelfTestKernel(t.Context(), k, Faults{}, 70, 1)
		require.NoError(t, err)
		require.Empty(t, cells)
		require.Empty(t, latches)
		for _, v := range []bool{false, true} {
			for _, b := range []int{0, 63, 64, 69} {
				for r := range k.Rows {
					s := StuckAt{Place{0, r}, b, v}
					cells, latches, err := SelfTestKernel(t.Context(), k, Faults{Stuck: []StuckAt{s}}, 70, 1)
					require.NoError(t, err)
					require.Empty(t, latches)
					if slices.Contains(used, r) {
						require.Equal(t, []StuckAt{s}, cells)
					} else {
						require.Empty(t, cells)
					}
				}
				for _, l := range append(slices.Collect(tech.Latches().Each()), Carry, Tag) {
					s := StuckLatch{l, b, v}
					cells, latches, err := SelfTestKernel(t.Context(), k, Faults{StuckLatches: []StuckLatch{s}}, 70, 1)
					require.NoError(t, err)
					require.Empty(t, cells)
					if tech.Latches()&l != 0 {
						require.Equal(t, []StuckLatch{s}, latches)
					} else {
						require.Empty(t, latches)
					}
				}
			}
		}
	}
}

// TestKernelCampaign compares error rates with what probability theory says, and
// sees every pattern counted once whatever the number of threads.
func TestKernelCampaign(t *testing.T) {
	// y = a ^ b: 3 rows are written, 3 sensed, 2 activated at once.
	k := &Kernel{Tech: &NeuralCache, Rows: 16, Inputs: []Port{{"a", 0, 1}, {"b", 1, 1}}, Outputs: []Port{{"y", 2, 1}, {"a", 0, 1}},
		Instrs: []Micro{{Op: NCXor, Dst: 2, Src: [3]Operand{Row(0, false), Row(1, false)}}}}
	carry := &Kernel{Tech: &NeuralCache, Rows: 16, Inputs: []Port{{"a", 0, 1}}, Outputs: []Port{{"y", 2, 1}, {"a", 0, 1}},
		Instrs: []Micro{{Op: NCCarry, Src: [3]Operand{Row(0, false), Row(0, false)}}, {Op: NCWriteCarry, Dst: 2}}}
	masked := &Kernel{Tech: &NeuralCache, Rows: 16, Inputs: []Port{{"a", 0, 1}}, Outputs: []Port{{"y", 2, 1}, {"a", 0, 1}},
		Instrs: []Micro{{Op: NCCopy, Dst: 2, Src: [3]Operand{Row(0, false)}}, {Op: NCTagCopy, Src: [3]Operand{Row(0, false)}}, {Op: NCCopy, Masked: true, Dst: 2, Src: [3]Operand{Row(0, false)}}}}
	chain := &Kernel{Tech: &NeuralCache, Rows: 16, Inputs: []Port{{"a", 0, 1}}, Outputs: []Port{{"y", 2, 1}, {"a", 0, 1}},
		Instrs: []Micro{{Op: NCCopy, Dst: 2, Src: [3]Operand{Row(0, false)}}}}
	for range 20 {
		chain.Instrs = append(chain.Instrs, Micro{Op: NCTagCopy, Src: [3]Operand{Row(2, false)}}, Micro{Op: NCWriteTag, Dst: 2})
	}
	for _, c := range []struct {
		name string
		k    *Kernel
		f    Faults
		y, a float64 // error rates of the outputs
	}{
		{"write", k, Faults{Write: 0.02}, odd(0.02, 3), 0.02},
		{"read", k, Faults{Read: 0.02}, odd(0.02, 3), 0.02},
		{"disturb", k, Faults{Disturb: 0.02}, 0, 0.02},
		{"latch", carry, Faults{Latch: 0.03}, 0.03, 0},
		{"rare latch", chain, Faults{Latch: 0.0002}, odd(0.0002, 20), 0},
		{"rare write", chain, Faults{Write: 0.0002}, odd(0.0002, 22), 0.0002},
		{"rare read", chain, Faults{Read: 0.0002}, odd(0.0002, 22), 0.0002},
		{"no disturbance of one row", carry, Faults{Disturb: 1}, 0, 0},
		{"stuck latch", carry, Faults{StuckLatches: []StuckLatch{{Carry, 3, true}}}, 0.5 / 256, 0},
		// Where a, as it lies in the array, is 0 only the first write counts, where it
		// is 1 only the second: two flips, of a and of y, either way.
		{"masked write", masked, Faults{Write: 0.02}, odd(0.02, 2), 0.02},
	} {
		run := func(threads int) *CampaignReport {
			r, err := (&Campaign{Kernel: c.k, Faults: c.f, Trials: 2000, Seed: 3, Threads: threads}).Run(t.Context())
			require.NoError(t, err, c.name)
			return r
		}
		r := run(1)
		require.Equal(t, r, run(3))
		require.Equal(t, 2000*256, r.Patterns)
		require.Equal(t, "y[0]", r.Outputs[0].Name)
		for i, want := range []float64{c.y, c.a} {
			sigma := 0.0
			if want > 0 && want < 1 {
				sigma = want * (1 - want) / float64(r.Patterns)
			}
			require.InDelta(t, want, r.Outputs[i].Rate.Rate, 4.5*math.Sqrt(sigma)+1e-12, "%s, output %d", c.name, i)
		}
	}
}
