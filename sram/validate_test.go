package sram

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// good returns a program that the tables below break in one place.
func good() *Program {
	return &Program{
		Geometry: Geometry{Arrays: 2, Rows: 8, Cols: 256},
		Inputs:   []Input{{"a", Place{0, 0}}, {"b", Place{0, 1}}, {"c", Place{1, 0}}},
		Instrs: []Instr{
			{Op: Maj, Array: 0, Dst: 2, Src: [3]Operand{Row(0, false), Row(1, true), One}},
			{Op: Copy, Array: 1, Dst: 3, From: 0, Src: [3]Operand{Row(2, false)}},
			{Op: Xor, Array: 1, Dst: 3, Src: [3]Operand{Row(3, false), Row(0, false), Zero}},
		},
		Outputs: []Output{{"y", 1, Row(3, true)}, {"z", 0, One}},
	}
}

func TestValidate(t *testing.T) {
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		spoil func(p *Program)
		want  string
		instr int // -1: not an instruction
	}{
		{"no array", func(p *Program) { p.Geometry.Arrays = 0 }, "sram: 0 arrays, expected 1 to 65536", -1},
		{"arrays", func(p *Program) { p.Geometry.Arrays = 65537 }, "sram: 65537 arrays, expected 1 to 65536", -1},
		{"no row", func(p *Program) { p.Geometry.Rows = 0 }, "sram: 0 rows, expected 1 to 32766", -1},
		{"rows", func(p *Program) { p.Geometry.Rows = 32767 }, "sram: 32767 rows, expected 1 to 32766", -1},
		{"no column", func(p *Program) { p.Geometry.Cols = 0 }, "sram: 0 columns, expected 1 to 1073741824", -1},
		{"input row", func(p *Program) { p.Inputs[1].Row = 8 }, "sram: input 1 (b) in array 0 row 8, expected one of 2 arrays of 8 rows", -1},
		{"input array", func(p *Program) { p.Inputs[1].Array = -1 }, "sram: input 1 (b) in array -1 row 1, expected one of 2 arrays of 8 rows", -1},
		{"input twice", func(p *Program) { p.Inputs[1].Row = 0 }, "sram: inputs 0 (a) and 1 (b) are both in array 0 row 0", -1},
		{"op", func(p *Program) { p.Instrs[0].Op = 3 }, "sram: instruction 0 (op(3) 0 2  0 ~1 #1): no such operation, expected maj, xor or copy", 0},
		{"array", func(p *Program) { p.Instrs[0].Array = 2 }, "sram: instruction 0 (maj 2 2  0 ~1 #1): array 2, expected 0 to 1", 0},
		{"dst", func(p *Program) { p.Instrs[2].Dst = 8 }, "sram: instruction 2 (xor 1 8  3 0 #0): destination row 8, expected 0 to 7", 2},
		{"operand", func(p *Program) { p.Instrs[2].Src[1] = Row(8, true) }, "sram: instruction 2 (xor 1 3  3 ~8 #0): operand row 8, expected 0 to 7", 2},
		{"last operand", func(p *Program) { p.Instrs[2].Src[2] = Row(32766, true) }, "sram: instruction 2 (xor 1 3  3 0 ~32766): operand row 32766, expected 0 to 7", 2},
		{"from", func(p *Program) { p.Instrs[1].From = 2 }, "sram: instruction 1 (copy 1 3  2 2): source array 2, expected 0 to 1", 1},
		{"self", func(p *Program) { p.Instrs[1].From = 1 }, "sram: instruction 1 (copy 1 3  1 2): copy from an array to itself, expected another array", 1},
		{"copy of negated", func(p *Program) { p.Instrs[1].Src[0] = Row(2, true) }, "sram: instruction 1 (copy 1 3  0 ~2): copy of ~2, expected a plain row", 1},
		{"copy of constant", func(p *Program) { p.Instrs[1].Src[0] = One }, "sram: instruction 1 (copy 1 3  0 #1): copy of #1, expected a plain row", 1},
		{"copy source", func(p *Program) { p.Instrs[1].Src[0] = Row(8, false) }, "sram: instruction 1 (copy 1 3  0 8): source row 8, expected 0 to 7", 1},
		{"copy operands", func(p *Program) { p.Instrs[1].Src[2] = Row(1, false) }, "sram: instruction 1 (copy 1 3  0 2): copy with more than one operand, expected zero in the others", 1},
		{"compute from", func(p *Program) { p.Instrs[2].From = 1 }, "sram: instruction 2 (xor 1 3  3 0 #0): source array 1 of an operation without one, expected 0", 2},
		{"output row", func(p *Program) { p.Outputs[0].Operand = Row(8, false) }, "sram: output 0 (y) in array 1 row 8, expected one of 2 arrays of 8 rows", -1},
		{"output array", func(p *Program) { p.Outputs[0].Array = 2 }, "sram: output 0 (y) in array 2 row 3, expected one of 2 arrays of 8 rows", -1},
		{"constant output", func(p *Program) { p.Outputs[1].Array = 1 }, "sram: constant output 1 (z) in array 1, expected array 0", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := good()
			c.spoil(p)
			expectError(t, p.Validate(), c.want, c.instr)
			_, err := Compile(p)
			expectError(t, err, c.want, c.instr)
		})
	}
}

func expectError(t *testing.T, err error, want string, instr int) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	var ie *InstrError
	if errors.As(err, &ie) != (instr >= 0) || ie != nil && ie.Index != instr {
		t.Errorf("error %#v, want an InstrError: %v", err, instr >= 0)
	}
}

func TestCheckRows(t *testing.T) {
	if err := good().CheckRows(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		spoil func(p *Program)
		want  string
		instr int
	}{
		{"write to input", func(p *Program) { p.Instrs[0].Dst = 1 }, "sram: instruction 0 (maj 0 1  0 ~1 #1): writes row 1 of array 0, which holds an input", 0},
		{"copy to input", func(p *Program) { p.Instrs[1].Dst = 0 }, "sram: instruction 1 (copy 1 0  0 2): writes row 0 of array 1, which holds an input", 1},
		{"first operand", func(p *Program) { p.Instrs[0].Src[0] = Row(2, false) }, "sram: instruction 0 (maj 0 2  2 ~1 #1): reads row 2 of array 0, which was never written", 0},
		{"second operand", func(p *Program) { p.Instrs[0].Src[1] = Row(7, true) }, "sram: instruction 0 (maj 0 2  0 ~7 #1): reads row 7 of array 0, which was never written", 0},
		{"third operand", func(p *Program) { p.Instrs[2].Src[2] = Row(1, false) }, "sram: instruction 2 (xor 1 3  3 0 1): reads row 1 of array 1, which was never written", 2},
		{"copy", func(p *Program) { p.Instrs[1].Src[0] = Row(3, false) }, "sram: instruction 1 (copy 1 3  0 3): reads row 3 of array 0, which was never written", 1},
		{"too early", func(p *Program) { p.Instrs[0], p.Instrs[1] = p.Instrs[1], p.Instrs[0] }, "sram: instruction 0 (copy 1 3  0 2): reads row 2 of array 0, which was never written", 0},
		{"output", func(p *Program) { p.Outputs[0].Operand = Row(4, false) }, "sram: output 0 (y) in row 4 of array 1, which was never written", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := good()
			c.spoil(p)
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			expectError(t, p.CheckRows(), c.want, c.instr)
			_, err := Compile(p)
			expectError(t, err, c.want, c.instr)
		})
	}
}

// TestRowTable compares with a map.
func TestRowTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, g := range []Geometry{{1, 1, 1}, {3, 255, 1}, {3, 256, 1}, {3, 257, 1}, {5, 1000, 1}} {
		table, want := NewRowTable(g), map[Place]uint32{}
		for range 2000 {
			at := Place{rng.IntN(g.Arrays), rng.IntN(g.Rows)}
			if rng.IntN(2) == 0 {
				v := rng.Uint32N(3)
				table.Set(at.Array, at.Row, v)
				want[at] = v
			}
			if got := table.Get(at.Array, at.Row); got != want[at] {
				t.Fatalf("%v: %v holds %d, want %d", g, at, got, want[at])
			}
		}
	}
}
