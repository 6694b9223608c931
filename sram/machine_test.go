package sram

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func randomGeometry(rng *rand.Rand, cols int) Geometry {
	return Geometry{Arrays: 1 + rng.IntN(4), Rows: 1 + rng.IntN(20), Cols: cols}
}

func TestMachineAgainstNaive(t *testing.T) {
	for _, cols := range []int{1, 2, 63, 64, 65, 256, 300} {
		t.Run(fmt.Sprintf("cols=%d", cols), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(cols), 1))
			for range 25 {
				p := randomProgram(rng, randomGeometry(rng, cols), rng.IntN(12), rng.IntN(80), rng.IntN(8))
				code, err := Compile(p)
				if err != nil {
					t.Fatal(err)
				}
				m := code.NewMachine() // the same for all runs: nothing of one shows in the next
				for range 3 {
					w := 1 + rng.IntN(7)
					if rng.IntN(4) == 0 {
						w = 12 + rng.IntN(30)
					}
					in := randomWords(rng, len(p.Inputs)*w)
					out := randomWords(rng, len(p.Outputs)*w)
					m.RunInto(out, in, w)
					if !slices.Equal(out, m.Run(in, w)) {
						t.Fatal("RunInto and Run differ")
					}
					for b := range 64 * w {
						want := naiveOutputs(p, pattern(in, len(p.Inputs), w, b))
						if got := pattern(out, len(p.Outputs), w, b); !slices.Equal(got, want) {
							t.Fatalf("%d words, pattern %d: outputs %v, want %v\n%s", w, b, got, want, textOf(t, p))
						}
					}
				}
			}
		})
	}
}

// TestOperandForms executes every combination of operand forms, since Compile
// moves negations and constants around.
func TestOperandForms(t *testing.T) {
	forms := []Operand{Zero, One}
	for r := range 3 {
		forms = append(forms, Row(r, false), Row(r, true))
	}
	p := &Program{Geometry: Geometry{Arrays: 1, Rows: 2000, Cols: 8}}
	for r := range 3 {
		p.Inputs = append(p.Inputs, Input{fmt.Sprint(r), Place{0, r}})
	}
	for _, op := range []Op{Maj, Xor} {
		for _, a := range forms {
			for _, b := range forms {
				for _, c := range forms {
					row := 3 + len(p.Instrs)
					p.Instrs = append(p.Instrs, Instr{Op: op, Dst: uint16(row), Src: [3]Operand{a, b, c}})
					p.Outputs = append(p.Outputs, Output{Name: fmt.Sprint(row), Operand: Row(row, false)})
				}
			}
		}
	}
	code, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []int{1, 16} {
		in := make([]uint64, 3*w)
		for k := range w {
			in[k], in[w+k], in[2*w+k] = 0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0
		}
		out := code.NewMachine().Run(in, w)
		for b := range 64 * w {
			want := naiveOutputs(p, pattern(in, 3, w, b))
			for i, g := range pattern(out, len(p.Outputs), w, b) {
				if g != want[i] {
					t.Errorf("%v of pattern %d: %v", p.Instrs[i], b, g)
				}
			}
		}
	}
}

// TestManyRows uses all rows of 64 arrays of 1024: a chain of negations and
// copies through every row.
func TestManyRows(t *testing.T) {
	p := &Program{Geometry: Geometry{Arrays: 64, Rows: 1024, Cols: 256}}
	p.Inputs = []Input{{"x", Place{0, 0}}}
	for a := range 64 {
		if a > 0 {
			p.Instrs = append(p.Instrs, Instr{Op: Copy, Array: uint16(a), From: uint16(a - 1), Src: [3]Operand{Row(1023, false)}})
		}
		for r := 1; r < 1024; r++ { // 1023 negations an array
			p.Instrs = append(p.Instrs, Instr{Op: Xor, Array: uint16(a), Dst: uint16(r), Src: [3]Operand{Row(r-1, true), Zero, Zero}})
		}
	}
	for a := range 64 {
		p.Outputs = append(p.Outputs, Output{fmt.Sprint(a), a, Row(1023, false)})
	}
	code, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	out := code.NewMachine().Run([]uint64{0x123456789ABCDEF0}, 1)
	for a, x := range out {
		want := uint64(0x123456789ABCDEF0)
		if a%2 == 0 {
			want = ^want
		}
		if x != want {
			t.Fatalf("array %d holds %#x, want %#x", a, x, want)
		}
	}
}

// TestHugeGeometry sees that memory follows the rows in use.
func TestHugeGeometry(t *testing.T) {
	p := &Program{Geometry: Geometry{Arrays: MaxArrays, Rows: MaxRows, Cols: MaxCols}}
	p.Inputs = []Input{{"x", Place{MaxArrays - 1, MaxRows - 1}}}
	p.Instrs = []Instr{
		{Op: Xor, Array: MaxArrays - 1, Dst: 0, Src: [3]Operand{Row(MaxRows-1, true), Zero, Zero}},
		{Op: Copy, Array: 7, Dst: MaxRows - 1, From: MaxArrays - 1, Src: [3]Operand{Row(0, false)}},
	}
	p.Outputs = []Output{{"y", 7, Row(MaxRows-1, false)}}
	code, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	if out := code.NewMachine().Run([]uint64{5, 6}, 2); !slices.Equal(out, []uint64{^uint64(5), ^uint64(6)}) {
		t.Errorf("outputs %x", out)
	}
}

func TestRunContext(t *testing.T) {
	p := mixProgram(100)
	code, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	m := code.NewMachine()
	in, out := make([]uint64, len(p.Inputs)), make([]uint64, len(p.Outputs))
	ctx, cancel := context.WithCancel(t.Context())
	if err := m.RunContext(ctx, out, in, 1); err != nil {
		t.Error(err)
	}
	cancel()
	if err := m.RunContext(ctx, out, in, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after cancelling", err)
	}
	for _, c := range []struct{ out, in, w int }{{0, len(in), 1}, {len(out), 0, 1}, {len(out), len(in), 2}, {len(out), len(in), -1}} {
		err := m.RunContext(t.Context(), out[:c.out], in[:c.in], c.w)
		if err == nil || !strings.HasPrefix(err.Error(), "sram: ") {
			t.Errorf("%+v: error %v", c, err)
		}
	}
	if got := m.Run(nil, 0); len(got) != 0 {
		t.Errorf("%d words of output for no pattern", len(got))
	}
}

// TestLongProgram crosses the chunks of RunContext: a counter of instructions
// modulo 2, one negation each.
func TestLongProgram(t *testing.T) {
	p := &Program{Geometry: Geometry{Arrays: 1, Rows: 2, Cols: 256}, Inputs: []Input{{"x", Place{0, 0}}}}
	p.Instrs = append(p.Instrs, Instr{Op: Xor, Dst: 1, Src: [3]Operand{Row(0, false), Zero, Zero}})
	for range 3<<18 + 1 {
		p.Instrs = append(p.Instrs, Instr{Op: Xor, Dst: 1, Src: [3]Operand{Row(1, true), Zero, Zero}})
	}
	p.Outputs = []Output{{"y", 0, Row(1, false)}}
	code, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []int{1, 20} {
		for k, x := range code.NewMachine().Run(make([]uint64, w), w) {
			if x != ^uint64(0) {
				t.Fatalf("word %d of %d is %#x", k, w, x)
			}
		}
	}
}

func TestStepperAgainstNaive(t *testing.T) {
	for _, cols := range []int{1, 63, 64, 65, 256, 300} {
		rng := rand.New(rand.NewPCG(uint64(cols), 2))
		for range 6 {
			p := randomProgram(rng, randomGeometry(rng, cols), rng.IntN(8), rng.IntN(40), 0)
			code, err := Compile(p)
			if err != nil {
				t.Fatal(err)
			}
			w := (cols + 63) / 64
			in := randomWords(rng, len(p.Inputs)*w)
			s, err := code.NewStepper(in)
			if err != nil {
				t.Fatal(err)
			}
			check := func(k int) {
				t.Helper()
				if s.Next() != k {
					t.Fatalf("next is %d, want %d", s.Next(), k)
				}
				for b := range cols {
					want := naive(p, pattern(in, len(p.Inputs), w, b), k)
					for a := range p.Geometry.Arrays {
						for r := range p.Geometry.Rows {
							words, ok := s.Row(a, r)
							v, held := want[Place{a, r}]
							if ok != held {
								t.Fatalf("after %d: row %d of array %d holds something: %v, want %v", k, r, a, ok, held)
							}
							if ok && words[b/64]>>(b%64)&1 != 0 != v {
								t.Fatalf("after %d: bitline %d of row %d of array %d, want %v", k, b, r, a, v)
							}
							if ok && cols%64 != 0 && words[w-1]>>(cols%64) != 0 {
								t.Fatalf("bits beyond the columns: %x", words)
							}
						}
					}
				}
			}
			check(0)
			for k := 1; s.Step(); k++ {
				if k%7 == 1 {
					check(k)
				}
			}
			check(len(p.Instrs))
			for range 3 {
				k := rng.IntN(len(p.Instrs) + 1)
				s.RunTo(k)
				check(k)
			}
			s.RunTo(-1)
			check(0)
			s.RunTo(len(p.Instrs) + 1)
			check(len(p.Instrs))
			for _, at := range []Place{{-1, 0}, {p.Geometry.Arrays, 0}, {0, -1}, {0, p.Geometry.Rows}} {
				if _, ok := s.Row(at.Array, at.Row); ok {
					t.Errorf("%v holds something", at)
				}
			}
			if _, err := code.NewStepper(make([]uint64, len(in)+1)); err == nil {
				t.Error("no error for one word too many")
			}
		}
	}
}
