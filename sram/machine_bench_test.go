package sram

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// mixProgram is a random mix of the operations on two arrays of 256 rows each,
// with negations and one constant in eight operands. Half of the compute rows
// are inputs, so that all rows are in use.
func mixProgram(instrs int) *Program {
	rng := rand.New(rand.NewPCG(1, 2))
	p := &Program{Geometry: Geometry{Arrays: 2, Rows: 256, Cols: 256}}
	for r := range 128 {
		for a := range 2 {
			p.Inputs = append(p.Inputs, Input{Name: fmt.Sprintf("x%d_%d", a, r), Place: Place{Array: a, Row: r}})
		}
	}
	high := [2]int{128, 128} // rows written so far
	for range instrs {
		a := rng.IntN(2)
		ins := Instr{Array: uint16(a)}
		if high[a] < 256 {
			ins.Dst = uint16(high[a])
		} else {
			ins.Dst = uint16(128 + rng.IntN(128))
		}
		switch rng.IntN(5) {
		case 0, 1:
			ins.Op = Maj
		case 2, 3:
			ins.Op = Xor
		default:
			ins.Op, ins.From = Copy, uint16(1-a)
		}
		if ins.Op == Copy {
			ins.Src[0] = Row(rng.IntN(high[1-a]), false)
		} else {
			for i := range ins.Src {
				if rng.IntN(8) == 0 {
					ins.Src[i] = Zero + Operand(rng.IntN(2))
				} else {
					ins.Src[i] = Row(rng.IntN(high[a]), rng.IntN(2) == 1)
				}
			}
		}
		high[a] = max(high[a], int(ins.Dst)+1)
		p.Instrs = append(p.Instrs, ins)
	}
	for i := range 16 {
		p.Outputs = append(p.Outputs, Output{Name: fmt.Sprintf("y%d", i), Operand: Row(128+i, i%2 == 1)})
	}
	return p
}

// BenchmarkMachine reports row operations x bitlines per second on one core,
// loading of inputs and storing of outputs included: one block of 256 bitlines,
// and groups of 8 and 64 blocks; for a program that branch predictors can learn
// and for one that they cannot.
func BenchmarkMachine(b *testing.B) {
	for _, c := range []struct{ instrs, blocks int }{{10000, 1}, {10000, 8}, {10000, 64}, {1000000, 1}, {1000000, 8}} {
		p, blocks := mixProgram(c.instrs), c.blocks
		code, err := Compile(p)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("instrs=%d/blocks=%d", c.instrs, blocks), func(b *testing.B) {
			w := 4 * blocks
			in := make([]uint64, len(p.Inputs)*w)
			rng := rand.New(rand.NewPCG(3, 4))
			for i := range in {
				in[i] = rng.Uint64()
			}
			out := make([]uint64, len(p.Outputs)*w)
			m := code.NewMachine()
			m.RunInto(out, in, w)
			b.ResetTimer()
			for range b.N {
				m.RunInto(out, in, w)
			}
			b.ReportMetric(float64(len(p.Instrs))*float64(64*w)*float64(b.N)/b.Elapsed().Seconds(), "row-ops*bitlines/s")
		})
	}
}

// BenchmarkFaulty is BenchmarkMachine's program under rare faults.
func BenchmarkFaulty(b *testing.B) {
	p := mixProgram(10000)
	code, err := Compile(p)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range []Faults{{}, {Write: 1e-6}, {Disturb: 1e-6}, {Write: 1e-3}} {
		b.Run(fmt.Sprintf("write=%g,disturb=%g", f.Write, f.Disturb), func(b *testing.B) {
			fc, err := code.WithFaults(f)
			if err != nil {
				b.Fatal(err)
			}
			m := fc.NewMachine()
			in, out := make([]uint64, len(p.Inputs)*groupWords), make([]uint64, len(p.Outputs)*groupWords)
			for i := range b.N {
				if err := m.RunContext(b.Context(), out, in, groupWords, uint64(i)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(p.Instrs)*groupWords*64*b.N)/b.Elapsed().Seconds(), "row-ops*bitlines/s")
		})
	}
}
