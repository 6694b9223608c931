package sram

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Technology is an array technology: the instruction set of one array as data,
// and a function that executes it. A further one is a file with a table, an
// executor and a call of register; nothing else names it.
type Technology struct {
	Name   string
	Doc    string
	Source string // where the instruction set was published, and what is assumed beyond

	Negate   bool  // an operand may be the complement of a row
	Reserved int   // rows of each array that hold constants and serve nothing else
	Enable   Latch // gates the write driver of masked instructions; 0 = there are none
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
	Masked   bool  // may be made to write only where the latch Technology.Enable is set
	Copies   bool  // dst = a, and nothing else
	Reads    Latch // latches read
	Resets   bool  // reads no latch if its first two operands are the same
	Sets     Latch // latches set
	Class    Class
	Doc      string // what it does on every bitline
}

// Opcode is the number of a micro-instruction: its place in Technology.Ops.
type Opcode uint8

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

var registered []*Technology

// register makes a technology known. Its file calls it when the program starts.
func register(t *Technology) {
	if len(t.Ops) > math.MaxUint8+1 {
		panic(fmt.Sprintf("sram: technology %s has %d instructions, expected at most %d", t.Name, len(t.Ops), math.MaxUint8+1))
	}
	registered = append(registered, t)
	slices.SortFunc(registered, func(a, b *Technology) int { return strings.Compare(a.Name, b.Name) })
}

// Technologies lists every array technology, by name.
func Technologies() []*Technology { return slices.Clone(registered) }

// LookupTechnology returns the technology of that name.
func LookupTechnology(name string) (*Technology, error) {
	var names []string
	for _, t := range registered {
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

// Latches returns the latches that instructions of the technology set.
func (t *Technology) Latches() Latch {
	var l Latch
	for i := range t.Ops {
		l |= t.Ops[i].Sets
	}
	return l
}
