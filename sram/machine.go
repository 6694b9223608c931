package sram

import (
	"fmt"
	"math/bits"
)

// A Machine executes a program on groups of 2048 bitlines: the same row of
// eight arrays of 256 bitlines lies adjacent, as 32 words, so that the decoding
// of an instruction is shared by eight blocks of patterns. What is left over at
// the end of a run, and small runs, go in groups of 256 bitlines.
const (
	groupWords = 32 // words of a row in a group
	smallWords = 4  // words of a row in a small group
)

// Code is a checked program in the form that a [Machine] executes. It is not
// changed by execution; any number of machines may share it.
//
// Rows are numbered densely in order of first use, whatever the geometry, so
// that memory is taken for the rows a program uses only. Constants and
// negations are folded into the kind of a microOp and two mask bits.
type Code struct {
	prog    *Program
	ops     []microOp
	slots   int
	slot    *RowTable // slot of a row, plus 1
	inputs  []uint32  // slot of each input
	outputs []outOp
}

// outOp says where an output is read.
type outOp struct {
	slot uint32
	kind outKind
}

type outKind uint8

const (
	outRow outKind = iota
	outNegated
	outZero
	outOne
)

// microOp is an instruction with its rows resolved, 16 bytes.
//
// dst holds slot<<4 | negate<<3 | kind; the operands hold slot<<1 | negate.
// Negations are normalised: those of XOR are gathered in the result's, and of
// the operands of MAJ at most one stays, since the function is self-dual.
type microOp struct {
	dst     uint32
	a, b, c uint32
}

// The kinds of microOp. All may negate their result.
const (
	opMaj3 = iota // majority of ~?a, b and c
	opXor3        // parity of a, b and c
	opAnd2        // ~?a and ~?b: a majority with one constant
	opXor2        // a xor b: a parity with one constant
	opMove        // a: a copy, and what is left with two constants or so
	opFill        // zero: an instruction whose operands are all constants
)

// maxSlots bounds the rows that a program may use, so that a slot fits a microOp.
const maxSlots = 1 << 28

// Compile checks p and translates it. It returns the error of [Program.Validate]
// or [Program.CheckRows] where p must not be executed, so that execution needs
// no checks. The code keeps a reference to p, which must not change.
func Compile(p *Program) (*Code, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := p.CheckRows(); err != nil {
		return nil, err
	}
	c := &Code{prog: p, slot: NewRowTable(p.Geometry), ops: make([]microOp, len(p.Instrs))}
	for _, in := range p.Inputs {
		c.inputs = append(c.inputs, c.place(in.Array, in.Row))
	}
	for i := range p.Instrs {
		c.ops[i] = c.translate(&p.Instrs[i])
		if c.slots > maxSlots {
			return nil, &InstrError{i, p.Instrs[i], fmt.Sprintf("more than %d rows used", maxSlots)}
		}
	}
	for _, o := range p.Outputs {
		switch {
		case o.Operand == Zero:
			c.outputs = append(c.outputs, outOp{kind: outZero})
		case o.Operand == One:
			c.outputs = append(c.outputs, outOp{kind: outOne})
		case o.Operand.Negated():
			c.outputs = append(c.outputs, outOp{c.place(o.Array, o.Operand.Row()), outNegated})
		default:
			c.outputs = append(c.outputs, outOp{c.place(o.Array, o.Operand.Row()), outRow})
		}
	}
	return c, nil
}

// place returns the slot of a row, a new one if it has none.
func (c *Code) place(array, row int) uint32 {
	s := c.slot.Get(array, row)
	if s == 0 {
		c.slots++
		s = uint32(c.slots)
		c.slot.Set(array, row, s)
	}
	return s - 1
}

func (c *Code) translate(ins *Instr) microOp {
	var m microOp
	var kind, negate uint32
	switch ins.Op {
	case Copy:
		kind, m.a = opMove, c.place(int(ins.From), ins.Src[0].Row())<<1
	case Xor:
		var rows [3]uint32
		n := 0
		for _, s := range ins.Src {
			negate ^= uint32(s & 1)
			if !s.IsConst() {
				rows[n] = c.place(int(ins.Array), s.Row()) << 1
				n++
			}
		}
		kind = [...]uint32{opFill, opMove, opXor2, opXor3}[n]
		m.a, m.b, m.c = rows[0], rows[1], rows[2]
	case Maj:
		var rows [3]uint32
		n, ones, zeros := 0, 0, 0
		for _, s := range ins.Src {
			switch s {
			case Zero:
				zeros++
			case One:
				ones++
			default:
				rows[n] = c.place(int(ins.Array), s.Row())<<1 | uint32(s&1)
				n++
			}
		}
		switch {
		case zeros >= 2:
			kind = opFill
		case ones >= 2:
			kind, negate = opFill, 1
		case zeros == 1 && ones == 1:
			kind, m.a, negate = opMove, rows[0]&^1, rows[0]&1
		case zeros == 1:
			kind, m.a, m.b = opAnd2, rows[0], rows[1]
		case ones == 1: // a|b = ~(~a&~b)
			kind, m.a, m.b, negate = opAnd2, rows[0]^1, rows[1]^1, 1
		default:
			kind = opMaj3
			if rows[0]&1+rows[1]&1+rows[2]&1 >= 2 {
				rows[0] ^= 1
				rows[1] ^= 1
				rows[2] ^= 1
				negate = 1
			}
			switch { // the operand that stays negated goes first
			case rows[1]&1 != 0:
				rows[0], rows[1] = rows[1], rows[0]
			case rows[2]&1 != 0:
				rows[0], rows[2] = rows[2], rows[0]
			}
			m.a, m.b, m.c = rows[0], rows[1], rows[2]
		}
	}
	m.dst = c.place(int(ins.Array), int(ins.Dst))<<4 | negate<<3 | kind
	return m
}

// Program returns the program that the code was made from.
func (c *Code) Program() *Program { return c.prog }

// RowsUsed returns the number of rows that hold an input or are written.
func (c *Code) RowsUsed() int { return c.slots }

// Machine executes a [Code]. It takes 256 bytes for each row used. It is not
// safe for concurrent use; machines are independent of each other.
type Machine struct {
	code  *Code
	large [][groupWords]uint64 // a row of a group for each slot; nil until needed
	small [][smallWords]uint64
}

// NewMachine returns a machine for the code.
func (c *Code) NewMachine() *Machine { return &Machine{code: c} }

// Run executes the program on 64 x w input patterns and returns the outputs.
//
// Inputs and outputs are bit-sliced as in netlist.Network.Simulate: bit b of
// inputs[i*w+k] is input i in pattern 64*k+b, and likewise for the result. They
// lie one pattern a bitline: pattern p is on bitline p%Cols of the block p/Cols,
// a block being one load of the arrays with Cols patterns.
//
// It takes time proportional to instructions x w and panics if inputs has not
// w words for each input.
func (m *Machine) Run(inputs []uint64, w int) []uint64 {
	out := make([]uint64, len(m.code.outputs)*w)
	m.RunInto(out, inputs, w)
	return out
}

// RunInto is Run with the outputs written to out.
func (m *Machine) RunInto(out, inputs []uint64, w int) {
	c := m.code
	if len(inputs) != len(c.inputs)*w || len(out) != len(c.outputs)*w {
		panic(fmt.Sprintf("sram: Run with %d input and %d output words, expected %d and %d inputs and outputs x %d",
			len(inputs), len(out), len(c.inputs), len(c.outputs), w))
	}
	lay := newLayout(c.prog.Geometry.Cols, w)
	for first := 0; first < lay.words; {
		n := lay.words - first
		if n > 3*smallWords { // a large group costs less than four small ones
			n = min(n, groupWords)
			m.group(out, inputs, w, lay, first, n)
		} else {
			n = min(n, smallWords)
			m.smallGroup(out, inputs, w, lay, first, n)
		}
		first += n
	}
}

// group executes the program on words first to first+n-1 of the layout.
func (m *Machine) group(out, inputs []uint64, w int, lay layout, first, n int) {
	if m.large == nil {
		m.large = make([][groupWords]uint64, m.code.slots)
	}
	for i, s := range m.code.inputs {
		lay.load(m.large[s][:n], inputs[i*w:(i+1)*w], first)
	}
	execLarge(m.code.ops, m.large)
	for i, o := range m.code.outputs {
		var row [groupWords]uint64
		if o.kind < outZero {
			row = m.large[o.slot]
		}
		if o.kind&1 != 0 {
			for k := range row {
				row[k] = ^row[k]
			}
		}
		lay.store(out[i*w:(i+1)*w], row[:n], first)
	}
}

// smallGroup is group for up to smallWords words.
func (m *Machine) smallGroup(out, inputs []uint64, w int, lay layout, first, n int) {
	if m.small == nil {
		m.small = make([][smallWords]uint64, m.code.slots)
	}
	for i, s := range m.code.inputs {
		lay.load(m.small[s][:n], inputs[i*w:(i+1)*w], first)
	}
	execSmall(m.code.ops, m.small)
	for i, o := range m.code.outputs {
		var row [smallWords]uint64
		if o.kind < outZero {
			row = m.small[o.slot]
		}
		if o.kind&1 != 0 {
			for k := range row {
				row[k] = ^row[k]
			}
		}
		lay.store(out[i*w:(i+1)*w], row[:n], first)
	}
}

// layout maps 64 x w patterns, packed in words, to bitlines: each block of cols
// patterns starts in a new word.
type layout struct {
	cols     int
	perBlock int // words of a block
	packed   int // words of packed patterns
	words    int // words of all blocks that hold a pattern
}

func newLayout(cols, w int) layout {
	l := layout{cols: cols, perBlock: (cols + 63) / 64, packed: w}
	if cols%64 == 0 {
		l.words = w
		return l
	}
	full, rest := 64*w/cols, 64*w%cols
	l.words = full*l.perBlock + (rest+63)/64
	return l
}

// span returns the first pattern of a word of the blocks and how many it holds.
func (l layout) span(word int) (pattern, n int) {
	block, in := word/l.perBlock, word%l.perBlock
	pattern = block*l.cols + 64*in
	return pattern, min(64, l.cols-64*in, 64*l.packed-pattern)
}

// load sets the words of a row from the packed patterns of an input.
func (l layout) load(row, packed []uint64, first int) {
	if l.cols%64 == 0 {
		copy(row, packed[first:])
		return
	}
	for k := range row {
		p, n := l.span(first + k)
		x := packed[p/64] >> (p % 64)
		if p%64+n > 64 {
			x |= packed[p/64+1] << (64 - p%64)
		}
		row[k] = x & (^uint64(0) >> (64 - n))
	}
}

// store sets the packed patterns of an output from the words of a row. The words
// of packed that no earlier group has touched are overwritten.
func (l layout) store(packed, row []uint64, first int) {
	if l.cols%64 == 0 {
		copy(packed[first:], row)
		return
	}
	for k := range row {
		p, n := l.span(first + k)
		x := row[k] & (^uint64(0) >> (64 - n))
		at, sh := p/64, p%64
		if sh == 0 {
			packed[at] = x
		} else {
			packed[at] |= x << sh
		}
		if sh+n > 64 {
			packed[at+1] = x >> (64 - sh)
		}
	}
}

// RowMask returns the bits of word k of a row that are bitlines, for a geometry
// of cols columns.
func RowMask(cols, k int) uint64 {
	switch n := cols - 64*k; {
	case n >= 64:
		return ^uint64(0)
	case n <= 0:
		return 0
	default:
		return ^uint64(0) >> (64 - bits.Len64(1<<(n-1)))
	}
}
