package sram

import (
	"context"
	"fmt"
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
// that memory is taken for the rows a program uses only. Slot 0 is a row of
// zeros that no program has: the constants read it.
type Code struct {
	prog    *Program
	ops     []microOp
	slots   int       // the slots in use, slot 0 included
	slot    *RowTable // slot of a row
	inputs  []uint32  // slot of each input
	outputs []uint32  // slot<<1 | negate of each output
}

// microOp is an instruction with its rows resolved, 16 bytes.
//
// dst holds slot<<3 | negate<<2 | move<<1 | xor; the operands hold slot<<1 |
// negate, and only a may be negated: the negations of XOR are gathered in the
// result's, and of the operands of MAJ at most one stays, since the function is
// self-dual. A copy is the parity of a and two rows of zeros; so is a parity
// with two constants, and move says so.
type microOp struct {
	dst     uint32
	a, b, c uint32
}

const (
	bitXor    = 1 << 0 // parity, else majority
	bitMove   = 1 << 1 // with bitXor: b and c are the row of zeros
	bitNegate = 1 << 2 // negate the result
	dstShift  = 3
)

// maxSlots bounds the rows that a program may use, so that a slot fits a microOp.
const maxSlots = 1 << 29

// Compile checks p and translates it. It returns the error of [Program.Validate]
// or [Program.CheckRows] where p must not be executed, so that execution needs
// no checks. The code keeps a reference to p, which must not change.
//
// It takes time linear in p and 16 bytes an instruction.
func Compile(p *Program) (*Code, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := p.CheckRows(); err != nil {
		return nil, err
	}
	c := &Code{prog: p, slots: 1, slot: NewRowTable(p.Geometry), ops: make([]microOp, len(p.Instrs))}
	for _, in := range p.Inputs {
		c.inputs = append(c.inputs, c.place(in.Array, in.Row))
	}
	for i := range p.Instrs {
		c.ops[i] = c.translate(&p.Instrs[i])
		if c.slots > maxSlots {
			return nil, &InstrError{i, p.Instrs[i], fmt.Sprintf("more than %d rows used", maxSlots-1)}
		}
	}
	for _, o := range p.Outputs {
		c.outputs = append(c.outputs, c.operand(o.Array, o.Operand))
	}
	return c, nil
}

// place returns the slot of a row, a new one if it has none.
func (c *Code) place(array, row int) uint32 {
	s := c.slot.Get(array, row)
	if s == 0 {
		s = uint32(c.slots)
		c.slots++
		c.slot.Set(array, row, s)
	}
	return s
}

// operand returns slot<<1 | negate of an operand.
func (c *Code) operand(array int, o Operand) uint32 {
	if o.IsConst() {
		return uint32(o & 1)
	}
	return c.place(array, o.Row())<<1 | uint32(o&1)
}

func (c *Code) translate(ins *Instr) microOp {
	if ins.Op == Copy {
		a := c.operand(int(ins.From), ins.Src[0])
		return microOp{dst: c.place(int(ins.Array), int(ins.Dst))<<dstShift | bitMove | bitXor, a: a}
	}
	array := int(ins.Array)
	x, y, z := c.operand(array, ins.Src[0]), c.operand(array, ins.Src[1]), c.operand(array, ins.Src[2])
	return translateXMG(ins.Op, c.place(array, int(ins.Dst)), x, y, z)
}

// translateXMG makes a microOp of a Maj or Xor whose destination is a slot and
// whose operands are slot<<1 | negate.
func translateXMG(op Op, dst, x, y, z uint32) microOp {
	var flags uint32
	if op == Xor {
		flags = bitXor | (x^y^z)&1*bitNegate
		x, y, z = x&^1, y&^1, z&^1
		if x == 0 { // constants last
			x, z = z, x
		}
		if x == 0 {
			x, y = y, x
		}
		if y|z == 0 {
			flags |= bitMove
		}
	} else {
		if x&1+y&1+z&1 >= 2 {
			x, y, z, flags = x^1, y^1, z^1, bitNegate
		}
		switch { // the operand that stays negated goes first
		case y&1 != 0:
			x, y = y, x
		case z&1 != 0:
			x, z = z, x
		}
	}
	return microOp{dst: dst<<dstShift | flags, a: x, b: y, c: z}
}

// Program returns the program that the code was made from.
func (c *Code) Program() *Program { return c.prog }

// Machine executes a [Code]. It takes 256 bytes for each row used, from the
// first run on. It is not safe for concurrent use; machines are independent of
// each other.
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

// RunInto is Run with the outputs written to out, which has w words for each
// output.
func (m *Machine) RunInto(out, inputs []uint64, w int) {
	if err := m.RunContext(context.Background(), out, inputs, w); err != nil {
		panic(err)
	}
}

// RunContext is RunInto that stops within some milliseconds when ctx is done; it
// then returns the context's error and out is garbage. Other than RunInto it
// returns an error where the lengths of inputs and out are wrong.
func (m *Machine) RunContext(ctx context.Context, out, inputs []uint64, w int) error {
	c := m.code
	if w < 0 || len(inputs) != len(c.inputs)*w || len(out) != len(c.outputs)*w {
		return fmt.Errorf("sram: %d words of inputs and %d of outputs, expected %d inputs and %d outputs of %d words",
			len(inputs), len(out), len(c.inputs), len(c.outputs), w)
	}
	lay := newLayout(c.prog.Geometry.Cols, w)
	for first := 0; first < lay.words; {
		n := lay.words - first
		var err error
		if n > 3*smallWords { // a large group costs less than four small ones
			n = min(n, groupWords)
			if m.large == nil {
				m.large = make([][groupWords]uint64, c.slots)
			}
			rows := m.large
			m.load(func(slot uint32) []uint64 { return rows[slot][:n] }, inputs, w, lay, first)
			err = inChunks(ctx, c.ops, func(ops []microOp) { fastest.large(ops, rows) })
			m.store(func(slot uint32) []uint64 { return rows[slot][:n] }, out, w, lay, first)
		} else {
			n = min(n, smallWords)
			if m.small == nil {
				m.small = make([][smallWords]uint64, c.slots)
			}
			rows := m.small
			m.load(func(slot uint32) []uint64 { return rows[slot][:n] }, inputs, w, lay, first)
			err = inChunks(ctx, c.ops, func(ops []microOp) { execSmall(ops, rows) })
			m.store(func(slot uint32) []uint64 { return rows[slot][:n] }, out, w, lay, first)
		}
		if err != nil {
			return fmt.Errorf("sram: execution stopped: %w", err)
		}
		first += n
	}
	return nil
}

// inChunks executes the operations in pieces that take some milliseconds, until
// ctx is done.
func inChunks(ctx context.Context, ops []microOp, exec func([]microOp)) error {
	const chunk = 1 << 18
	for len(ops) > chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		exec(ops[:chunk])
		ops = ops[chunk:]
	}
	exec(ops)
	return ctx.Err()
}

// load sets the rows of the inputs for the words from first on; row gives the
// words of a slot.
func (m *Machine) load(row func(uint32) []uint64, inputs []uint64, w int, lay layout, first int) {
	for i, s := range m.code.inputs {
		lay.load(row(s), inputs[i*w:(i+1)*w], first)
	}
}

// store reads the rows of the outputs.
func (m *Machine) store(row func(uint32) []uint64, out []uint64, w int, lay layout, first int) {
	var buf [groupWords]uint64
	for i, o := range m.code.outputs {
		from := row(o >> 1)
		n, to := neg(o), buf[:len(from)]
		for k, x := range from {
			to[k] = x ^ n
		}
		lay.store(out[i*w:(i+1)*w], to, first)
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
