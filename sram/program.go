package sram

import "fmt"

// Geometry is the size of the machine.
type Geometry struct {
	Arrays int // compute arrays
	Rows   int // rows (wordlines) of an array
	Cols   int // columns (bitlines) of an array
}

// Limits of a Geometry.
const (
	MaxArrays = 1 << 16
	MaxRows   = 1<<15 - 2 // an Operand keeps a row, a negation and two constants in 16 bits
)

// Op is the operation of an instruction.
type Op uint8

// The operations.
const (
	Maj  Op = iota // dst = majority of three operands
	Xor            // dst = parity of three operands
	Copy           // dst = a row of another array
)

func (o Op) String() string {
	if o <= Copy {
		return [...]string{"maj", "xor", "copy"}[o]
	}
	return fmt.Sprintf("op(%d)", uint8(o))
}

// Operand is a row of the instruction's array, possibly negated (row<<1 |
// negated), or one of the constants [Zero] and [One].
type Operand uint16

// The constant operands.
const (
	Zero Operand = 0xFFFE
	One  Operand = 0xFFFF
)

// Row returns the operand that reads a row, negated or not.
func Row(row int, negated bool) Operand {
	o := Operand(row) << 1
	if negated {
		o |= 1
	}
	return o
}

// IsConst reports whether o is Zero or One.
func (o Operand) IsConst() bool { return o >= Zero }

// Row returns the row that o reads; meaningless for a constant.
func (o Operand) Row() int { return int(o >> 1) }

// Negated reports whether the row is negated; for a constant, whether it is One.
func (o Operand) Negated() bool { return o&1 != 0 }

// String returns the text form of the operand.
func (o Operand) String() string { return string(o.append(nil)) }

// Instr is one instruction, 14 bytes.
//
// Maj and Xor read Src[0..2] of Array and write row Dst of Array. Copy reads
// row Src[0] (never negated or constant) of array From and writes row Dst of
// Array. The fields that an operation does not use are zero.
type Instr struct {
	Op    Op
	Array uint16
	Dst   uint16
	From  uint16
	Src   [3]Operand
}

// Place is a row of an array.
type Place struct {
	Array int
	Row   int
}

// Input says where a primary input lies when the program starts. The row may
// never be written.
type Input struct {
	Name string
	Place
}

// Output says where a primary output lies when the program has ended.
type Output struct {
	Name    string
	Array   int
	Operand Operand // row of Array, negated or not, or a constant (Array is then 0)
}

// Program is a sequence of instructions with the places of its inputs and
// outputs.
type Program struct {
	Geometry Geometry
	Inputs   []Input
	Instrs   []Instr
	Outputs  []Output
}

// Computes returns the number of Maj and Xor instructions.
func (p *Program) Computes() int { return len(p.Instrs) - p.Copies() }

// Copies returns the number of Copy instructions.
func (p *Program) Copies() int {
	n := 0
	for i := range p.Instrs {
		if p.Instrs[i].Op == Copy {
			n++
		}
	}
	return n
}

// ArraysUsed returns the number of arrays that hold an input or are written.
func (p *Program) ArraysUsed() int {
	used := make([]bool, p.Geometry.Arrays)
	for _, in := range p.Inputs {
		used[in.Array] = true
	}
	for i := range p.Instrs {
		used[p.Instrs[i].Array] = true
	}
	n := 0
	for _, u := range used {
		if u {
			n++
		}
	}
	return n
}
