package sram

import (
	"fmt"
	"math/rand/v2"
)

// naive executes the first k instructions for one pattern with one bool a row,
// as the definitions in program.go say it. Rows that hold nothing are missing.
func naive(p *Program, in []bool, k int) map[Place]bool {
	row := map[Place]bool{}
	for i, x := range p.Inputs {
		row[x.Place] = in[i]
	}
	value := func(array uint16, o Operand) bool {
		switch o {
		case Zero:
			return false
		case One:
			return true
		}
		v, ok := row[Place{int(array), o.Row()}]
		if !ok {
			panic("the generated program reads a row that holds nothing")
		}
		return v != o.Negated()
	}
	for _, ins := range p.Instrs[:k] {
		var v bool
		if ins.Op == Copy {
			v = value(ins.From, ins.Src[0])
		} else {
			ones := 0
			for _, s := range ins.Src {
				if value(ins.Array, s) {
					ones++
				}
			}
			v = ins.Op == Maj && ones >= 2 || ins.Op == Xor && ones%2 == 1
		}
		row[Place{int(ins.Array), int(ins.Dst)}] = v
	}
	return row
}

// naiveOutputs executes the whole program for one pattern.
func naiveOutputs(p *Program, in []bool) []bool {
	row := naive(p, in, len(p.Instrs))
	out := make([]bool, len(p.Outputs))
	for i, o := range p.Outputs {
		switch {
		case o.Operand == Zero:
		case o.Operand == One:
			out[i] = true
		default:
			out[i] = row[Place{o.Array, o.Operand.Row()}] != o.Operand.Negated()
		}
	}
	return out
}

// randomProgram makes a valid program that passes CheckRows. A quarter of the
// operands are constants; operands repeat, and destinations are often operands.
func randomProgram(rng *rand.Rand, g Geometry, inputs, instrs, outputs int) *Program {
	p := &Program{Geometry: g}
	held := make([][]int, g.Arrays) // rows that hold something
	has := map[Place]bool{}
	input := map[Place]bool{}
	for i := 0; i < inputs && i < g.Arrays*g.Rows; i++ {
		at := Place{rng.IntN(g.Arrays), rng.IntN(g.Rows)}
		if has[at] {
			continue
		}
		has[at], input[at] = true, true
		held[at.Array] = append(held[at.Array], at.Row)
		p.Inputs = append(p.Inputs, Input{fmt.Sprintf("x%d", i), at})
	}
	operand := func(a int) Operand {
		if len(held[a]) == 0 || rng.IntN(4) == 0 {
			return Zero + Operand(rng.IntN(2))
		}
		return Row(held[a][rng.IntN(len(held[a]))], rng.IntN(2) == 0)
	}
	for len(p.Instrs) < instrs {
		at := Place{rng.IntN(g.Arrays), rng.IntN(g.Rows)}
		if input[at] {
			instrs--
			continue
		}
		ins := Instr{Op: Op(rng.IntN(3)), Array: uint16(at.Array), Dst: uint16(at.Row)}
		if ins.Op == Copy {
			from := rng.IntN(g.Arrays)
			if from == at.Array || len(held[from]) == 0 {
				instrs--
				continue
			}
			ins.From = uint16(from)
			ins.Src[0] = Row(held[from][rng.IntN(len(held[from]))], false)
		} else {
			for i := range ins.Src {
				ins.Src[i] = operand(at.Array)
			}
		}
		if !has[at] {
			has[at] = true
			held[at.Array] = append(held[at.Array], at.Row)
		}
		p.Instrs = append(p.Instrs, ins)
	}
	for i := range outputs {
		a := rng.IntN(g.Arrays)
		o := Output{fmt.Sprintf("y%d", i), a, operand(a)}
		if o.Operand.IsConst() {
			o.Array = 0
		}
		p.Outputs = append(p.Outputs, o)
	}
	return p
}

// randomWords returns n random words.
func randomWords(rng *rand.Rand, n int) []uint64 {
	w := make([]uint64, n)
	for i := range w {
		w[i] = rng.Uint64()
	}
	return w
}

// pattern returns the bits of pattern b of n bit-sliced signals of w words.
func pattern(words []uint64, n, w, b int) []bool {
	bits := make([]bool, n)
	for i := range bits {
		bits[i] = words[i*w+b/64]>>(b%64)&1 != 0
	}
	return bits
}
