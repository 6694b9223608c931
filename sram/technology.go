package sram

import (
	"fmt"
	"strings"
)

// Technology is an array technology: the instruction set of one array as data,
// and a function that executes it. [Technologies] lists them; a further one is
// a table like these and one executor.
type Technology struct {
	Name   string
	Doc    string
	Source string // where the instruction set was published, and what is assumed beyond

	Negate   bool // an operand may be the complement of a row
	Reserved int  // rows of each array that hold constants and serve nothing else
	Ops      []MicroInfo

	// translate makes a step of an instruction whose rows are slots, and exec
	// executes steps on a group.
	translate func(m *Micro, slot func(Operand) uint32, dst uint32) microOp
	exec      func(ops []microOp, rows [][groupWords]uint64)
}

// MicroInfo describes a micro-instruction of a technology.
type MicroInfo struct {
	Name     string
	Operands int   // rows read, each a row or a constant
	Writes   bool  // writes a row
	Masked   bool  // may be made to write only where the tag is set
	Reads    Latch // latches read
	Resets   bool  // reads no latch if its first two operands are the same
	Sets     Latch // latches set
	Class    Class
	Doc      string // what it does on every bitline
}

// Latch is a set of the latches of a bitline's peripheral.
type Latch uint8

// The latches.
const (
	Carry Latch = 1 << iota // carry of the full adder
	Tag                     // enable of the write driver
)

func (l Latch) String() string {
	switch l {
	case Carry:
		return "carry"
	case Tag:
		return "tag"
	}
	return fmt.Sprintf("latch(%d)", uint8(l))
}

// Class is what a micro-instruction costs: cost tables give energies by class.
type Class uint8

// The classes.
const (
	ClassCompute Class = iota // several rows activated at once, one row written
	ClassAccess               // one row read, one row written
	ClassWrite                // no row read, one row written
	ClassLatch                // rows activated, only latches set
	numClasses
)

func (c Class) String() string {
	if c < numClasses {
		return [...]string{"compute", "access", "write", "latch"}[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// Classes lists the classes.
func Classes() []Class { return []Class{ClassCompute, ClassAccess, ClassWrite, ClassLatch} }

// Technologies lists every array technology.
var Technologies = []*Technology{&XMG, &NeuralCache}

// LookupTechnology returns the technology of that name.
func LookupTechnology(name string) (*Technology, error) {
	var names []string
	for _, t := range Technologies {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return nil, fmt.Errorf("sram: no technology %q, expected one of %s", name, strings.Join(names, ", "))
}

// Op returns the number of the instruction of that name, -1 if there is none.
func (t *Technology) Op(name string) int {
	for i := range t.Ops {
		if t.Ops[i].Name == name {
			return i
		}
	}
	return -1
}

// Micro-instructions of [XMG], by number.
const (
	XMGMaj = iota
	XMGXor
)

// XMG is the instruction set that [Program] has too, on one array.
var XMG = Technology{
	Name:   "xmg",
	Doc:    "majority and parity of three rows, each negated or not",
	Source: "XMG-GPPIC, as MASIM uses it (MASIM, section II-B); constants are free there",
	Negate: true,
	Ops: []MicroInfo{
		XMGMaj: {Name: "maj", Operands: 3, Writes: true, Class: ClassCompute, Doc: "majority of three operands"},
		XMGXor: {Name: "xor", Operands: 3, Writes: true, Class: ClassCompute, Doc: "parity of three operands"},
	},
	translate: func(m *Micro, slot func(Operand) uint32, dst uint32) microOp {
		return translateXMG(Op(m.Op), dst, slot(m.Src[0]), slot(m.Src[1]), slot(m.Src[2]))
	},
	exec: execLarge,
}
