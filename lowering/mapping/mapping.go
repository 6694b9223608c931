package mapping

import (
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// The slots of a loop's factors, from the innermost. A loop's index is a number in
// mixed radix, whose digits are the positions in the slots.
const (
	SlotDim   = 0 // of the compute function: three
	SlotInner = 3 // in time, within an invocation: accumulators of a unit with registers
	SlotLevel = 4 // in space: a slot for each level of the platform
	SlotWave  = SlotLevel + platform.MaxLevels
	SlotTile  = SlotWave + 1 // in time, between loads of the buffer
	NumSlots  = SlotTile + 1
)

// MaxLoops is the number of loops that an operator may have.
const MaxLoops = dnn.MaxLoops

// Source numbers of operands of a compute function.
const (
	Src1 = iota
	Src2
	Dst
)

// Mapping says where and when every iteration of an operator is computed. It is data:
// emitters, clock and checker read nothing else.
type Mapping struct {
	Function uint8
	Swap     bool // Src1 is the second operand of the operator, Src2 the first
	// Factor has the sizes of loops in slots, at least 1. Their product for a loop is
	// at least its extent; what lies beyond it is padding.
	Factor [NumSlots][MaxLoops]uint32
	// Wave and Tile are the loops in the order of these slots, the outermost first.
	Wave, Tile [MaxLoops]uint8
	Double     bool    // load the next operands of units while they compute
	DoubleTile bool    // load the next tile of the buffer meanwhile
	Keep       [3]bool // operands kept in the buffer, others go through
}

// Unit returns a mapping with all factors 1 and loops in their own order.
func Unit() Mapping {
	var m Mapping
	for s := range m.Factor {
		for l := range m.Factor[s] {
			m.Factor[s][l] = 1
		}
	}
	for l := range m.Wave {
		m.Wave[l], m.Tile[l] = uint8(l), uint8(l)
	}
	m.Keep = [3]bool{true, true, true}
	return m
}

// Tensor returns which tensor of the operator is an operand of the function.
func (m *Mapping) Tensor(operand int) int {
	if m.Swap && operand < Dst {
		return 1 - operand
	}
	return operand
}

// Below returns the product of a loop's factors in the slots below one.
func (m *Mapping) Below(loop, slot int) int64 {
	n := int64(1)
	for s := range slot {
		n *= int64(m.Factor[s][loop])
	}
	return n
}
