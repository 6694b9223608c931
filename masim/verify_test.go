package masim

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/netlist/gen"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// genProblem builds a circuit and its problem.
func genProblem(tb testing.TB, kind string, width, arrays, rows int) (*netlist.Network, Problem) {
	tb.Helper()
	n, err := gen.Build(context.Background(), kind, gen.Options{Width: width})
	require.NoError(tb, err)
	g, err := xmg.FromNetwork(context.Background(), n, xmg.Options{})
	require.NoError(tb, err)
	return n, Problem{g, sram.Geometry{Arrays: arrays, Rows: rows, Cols: 256}}
}

// scheduleWith runs a scheduler at Fast effort.
func scheduleWith(tb testing.TB, name string, p Problem) *sram.Program {
	tb.Helper()
	s, err := Lookup(name)
	require.NoError(tb, err)
	r, err := s.Run(context.Background(), p, Options{Seed: 1, Threads: 1})
	require.NoError(tb, err)
	return r.Program
}

func TestVerifyEqual(t *testing.T) {
	n, p := genProblem(t, "multiplier", 5, 4, 16)
	prog := scheduleWith(t, "masim", p)
	for _, c := range []struct {
		name     string
		o        VerifyOptions
		patterns int
		all      bool
	}{
		{"default is enough for all", VerifyOptions{}, 1024, true},
		{"exhaustive", VerifyOptions{Exhaustive: true, Patterns: 1}, 1024, true},
		{"enough patterns for all", VerifyOptions{Patterns: 1024}, 1024, true},
		{"one less", VerifyOptions{Patterns: 1023}, 1023, false},
		{"one", VerifyOptions{Patterns: 1}, 1, false},
		{"threads", VerifyOptions{Patterns: 777, Threads: 3}, 777, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls, last := 0, 0
			c.o.Progress = func(done, total int) {
				require.Equal(t, c.patterns, total)
				require.Greater(t, done, last)
				calls, last = calls+1, done
			}
			r, err := Verify(context.Background(), n, prog, c.o)
			require.NoError(t, err)
			require.Equal(t, &VerifyReport{Patterns: c.patterns, Exhaustive: c.all}, r)
			require.True(t, r.Equal())
			require.NotZero(t, calls)
			require.Equal(t, c.patterns, last)
		})
	}
}

// The counts and the first mismatch are those that a naive comparison finds.
func TestVerifyMismatches(t *testing.T) {
	n, p := genProblem(t, "multiplier", 4, 4, 12)
	prog := scheduleWith(t, "bitsched", p)
	p2 := *prog
	p2.Instrs = append([]sram.Instr(nil), prog.Instrs...)
	for i := range p2.Instrs {
		if p2.Instrs[i].Op == sram.Maj && i > len(p2.Instrs)/2 {
			p2.Instrs[i].Op = sram.Xor
			break
		}
	}
	for _, cols := range []int{1, 7, 64, 100, 256} {
		p2.Geometry.Cols = cols
		got, err := naiveTable(&p2)
		require.NoError(t, err)
		want := graphTable(p.Graph)
		outs := n.NumOutputs()
		expect := &VerifyReport{Patterns: 256, Exhaustive: true}
		wrongOutputs, wrongPatterns := map[int]bool{}, map[int]bool{}
		for k := range want {
			if got[k] == want[k] {
				continue
			}
			o, pattern := k%outs, k/outs
			expect.Mismatches++
			wrongOutputs[o], wrongPatterns[pattern] = true, true
			if expect.First == nil {
				expect.First = &Mismatch{Output: o, Name: n.Output(o).Name, Pattern: pattern, Block: pattern / cols,
					Bitline: pattern % cols, Got: got[k], Want: want[k]}
				for i := range n.NumInputs() {
					expect.First.Inputs += fmt.Sprint(pattern >> i & 1)
				}
			}
		}
		require.NotNil(t, expect.First)
		expect.WrongOutputs, expect.WrongPatterns = len(wrongOutputs), len(wrongPatterns)
		r, err := Verify(context.Background(), n, &p2, VerifyOptions{Exhaustive: true})
		require.NoError(t, err)
		require.Equal(t, expect, r)
	}
}

func TestMismatchString(t *testing.T) {
	m := &Mismatch{Output: 3, Name: "y[3]", Pattern: 300, Block: 1, Bitline: 44, Inputs: "0110", Got: true}
	require.Equal(t, "output 3 (y[3]) is 1, expected 0, in pattern 300 (block 1, bitline 44): inputs 0110", m.String())
}

// The report is the same for any number of threads and any size of the blocks,
// and depends on the seed.
func TestVerifyThreads(t *testing.T) {
	n, p := genProblem(t, "adder", 40, 4, 64)
	prog := scheduleWith(t, "masim", p)
	i := len(prog.Instrs) / 2
	for prog.Instrs[i].Op != sram.Maj {
		i++
	}
	prog.Instrs[i].Src[0] ^= 1
	var first *VerifyReport
	for _, threads := range []int{0, 1, 2, 5} {
		r, err := Verify(context.Background(), n, prog, VerifyOptions{Patterns: 9001, Seed: 3, Threads: threads})
		require.NoError(t, err)
		require.NotZero(t, r.Mismatches)
		if first == nil {
			first = r
		}
		require.Equal(t, first, r)
	}
	r, err := Verify(context.Background(), n, prog, VerifyOptions{Patterns: 9001, Seed: 4})
	require.NoError(t, err)
	require.NotEqual(t, first.Mismatches, r.Mismatches)
}

// The circuit, not the graph, is what the program is compared with.
func TestVerifyOtherCircuit(t *testing.T) {
	_, p := genProblem(t, "adder", 4, 2, 16)
	sub, _ := genProblem(t, "subtractor", 4, 2, 16)
	r, err := Verify(context.Background(), sub, scheduleWith(t, "masim", p), VerifyOptions{})
	require.NoError(t, err)
	require.False(t, r.Equal())
	// a + b and a - b agree in the lowest bit only.
	require.Equal(t, 4, r.WrongOutputs)
	require.Equal(t, 1, r.First.Output)
}

func TestVerifyNames(t *testing.T) {
	n, p := genProblem(t, "adder", 4, 2, 16)
	prog := scheduleWith(t, "masim", p)
	prog.Inputs[1].Name, prog.Inputs[2].Name = prog.Inputs[2].Name, prog.Inputs[1].Name
	prog.Outputs[4].Name = "carry"
	r, err := Verify(context.Background(), n, prog, VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.Equal())
	require.Equal(t, `matched by position, since names differ: `+
		`2 of 8 inputs, the first is input 1: "a[1]" in the circuit, "a[2]" in the program; `+
		`1 of 5 outputs, the first is output 4: "y[4]" in the circuit, "carry" in the program`, r.Names)
}

func TestVerifyErrors(t *testing.T) {
	n, p := genProblem(t, "adder", 4, 2, 16)
	wide, _ := genProblem(t, "adder", 16, 2, 16)
	for _, c := range []struct {
		name   string
		n      *netlist.Network
		o      VerifyOptions
		mutate func(p *sram.Program)
		want   string
	}{
		{"inputs", wide, VerifyOptions{}, nil, "the program has 8 inputs, the circuit 32"},
		{"outputs", n, VerifyOptions{}, func(p *sram.Program) { p.Outputs = p.Outputs[:3] }, "the program has 3 outputs, the circuit 5"},
		{"patterns", n, VerifyOptions{Patterns: -1}, nil, "-1 patterns, expected 1 or more"},
		{"row", n, VerifyOptions{}, func(p *sram.Program) { p.Instrs[3].Dst = 16 }, "instruction 3 ("},
		{"protected", n, VerifyOptions{}, func(p *sram.Program) { p.Instrs[2].Dst = 1 }, "instruction 2 ("},
	} {
		t.Run(c.name, func(t *testing.T) {
			prog := scheduleWith(t, "masim", p)
			if c.mutate != nil {
				c.mutate(prog)
			}
			r, err := Verify(context.Background(), c.n, prog, c.o)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "masim: verify: ")
			require.Nil(t, r)
		})
	}
	_, p = genProblem(t, "adder", 16, 2, 64)
	_, err := Verify(context.Background(), wide, scheduleWith(t, "masim", p), VerifyOptions{Exhaustive: true})
	require.ErrorContains(t, err, "all patterns of 32 inputs, expected at most 30")
}

func TestVerifyStops(t *testing.T) {
	n, p := genProblem(t, "adder", 15, 2, 64)
	prog := scheduleWith(t, "masim", p)
	ctx, cancel := context.WithCancel(context.Background())
	r, err := Verify(ctx, n, prog, VerifyOptions{Exhaustive: true, Threads: 2, Progress: func(done, total int) {
		require.Equal(t, 1<<30, total)
		cancel()
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.NotZero(t, r.Patterns)
	require.Less(t, r.Patterns, 1<<30)
	require.False(t, r.Exhaustive)
}

// bitOf is bit p of input i of a filled block.
func bitOf(in []uint64, w, i, p int) int { return int(in[i*w+p/64] >> (p % 64) & 1) }

func TestPatterns(t *testing.T) {
	all := func(s *patternSet, w int) []string {
		in := make([]uint64, s.inputs*w)
		var out []string
		for first := 0; first < (s.total+63)/64; first += w {
			w := min(w, (s.total+63)/64-first)
			s.fill(in[:s.inputs*w], first, w)
			for p := 0; p < 64*w && 64*first+p < s.total; p++ {
				var b strings.Builder
				for i := range s.inputs {
					fmt.Fprint(&b, bitOf(in, w, i, p))
				}
				out = append(out, b.String())
				require.Equal(t, b.String(), s.pattern(64*first+p))
			}
		}
		return out
	}
	for inputs := range 12 {
		s, err := newPatternSet(inputs, VerifyOptions{Exhaustive: true})
		require.NoError(t, err)
		for k, p := range all(s, 3) {
			for i := range inputs {
				require.EqualValues(t, '0'+k>>i&1, p[i])
			}
		}
	}
	for _, c := range []struct{ inputs, patterns, directed int }{
		{40, 1000, 82}, {40, 200, 82}, {100, 200, 100}, {33, 1, 1}, {33, 2, 2}, {33, 8, 4}, {1000, 4096, 2002},
	} {
		s, err := newPatternSet(c.inputs, VerifyOptions{Patterns: c.patterns, Seed: 5})
		require.NoError(t, err)
		require.Equal(t, c.directed, s.directed)
		got := all(s, 1)
		require.Equal(t, got, all(s, 32), "the patterns do not depend on the blocks")
		require.Len(t, got, c.patterns)
		seen := map[string]bool{}
		for k, p := range got[:c.directed] {
			ones := strings.Count(p, "1")
			want := []int{0, c.inputs, 1, c.inputs - 1}[min(k, 2+k%2)]
			require.Equal(t, want, ones, "pattern %d", k)
			require.False(t, seen[p], "pattern %d is there twice", k)
			seen[p] = true
		}
		// The random rest goes by words of 64 patterns: uniform ones have about
		// half of the bits set (within six sigma), sparse ones fewer, dense ones
		// more, and of the last kind nothing is said here.
		for word := (c.directed + 63) / 64; word < c.patterns/64; word++ {
			ones, count := 0, 64*c.inputs
			for _, p := range got[64*word : 64*word+64] {
				ones += strings.Count(p, "1")
				require.False(t, word%4 == 0 && seen[p], "a uniform pattern twice")
				seen[p] = true
			}
			switch word % 4 {
			case 0:
				require.Less(t, (2*ones-count)*(2*ones-count), 36*count, "word %d", word)
			case 1:
				require.Less(t, 3*ones, count, "word %d", word)
			case 2:
				require.Greater(t, 3*ones, 2*count, "word %d", word)
			}
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	n, p := genProblem(b, "multiplier", 32, 8, 256)
	prog := scheduleWith(b, "masim", p)
	for b.Loop() {
		r, err := Verify(context.Background(), n, prog, VerifyOptions{})
		if err != nil || !r.Equal() {
			b.Fatal(r, err)
		}
	}
	b.ReportMetric(float64(b.N)*DefaultPatterns/b.Elapsed().Seconds(), "patterns/s")
}
