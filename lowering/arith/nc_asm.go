package arith

import "github.com/bitsched/bitsched/sram"

// bit is a row or a constant; a word is its bits, the least significant first.
type (
	bit  = sram.Operand
	word = []bit
)

const (
	zero = sram.Zero
	one1 = sram.One
)

// The two-operand functions by their instruction; the tag is loaded from one by
// tagOf.
const (
	opAnd  = sram.NCAnd
	opNand = sram.NCNand
	opOr   = sram.NCOr
	opNor  = sram.NCNor
	opXor  = sram.NCXor
	opXnor = sram.NCXnor
)

// asm assembles microcode of neural-cache. Rows beyond those of the operands and
// the result are scratch, taken lowest first and given back.
type asm struct {
	code []sram.Micro
	base int    // first scratch row
	used []bool // scratch rows taken
}

// row takes a scratch row.
func (a *asm) row() bit {
	for i, u := range a.used {
		if !u {
			a.used[i] = true
			return sram.Row(a.base+i, false)
		}
	}
	a.used = append(a.used, true)
	return sram.Row(a.base+len(a.used)-1, false)
}

// rows takes n scratch rows.
func (a *asm) rows(n int) word {
	w := make(word, n)
	for i := range w {
		w[i] = a.row()
	}
	return w
}

// free gives scratch rows back; constants and rows of operands are let pass.
func (a *asm) free(w ...bit) {
	for _, b := range w {
		if !b.IsConst() && b != none && b.Row() >= a.base {
			a.used[b.Row()-a.base] = false
		}
	}
}

func (a *asm) emit(op sram.Opcode, masked bool, d, x, y bit) {
	m := sram.Micro{Op: op, Masked: masked, Src: [3]sram.Operand{x, y}}
	if sram.NeuralCache.Ops[op].Writes {
		m.Dst = uint16(d.Row())
	}
	a.code = append(a.code, m)
}

// fn writes a function of two rows, fnm where the tag is set only.
func (a *asm) fn(op sram.Opcode, d, x, y bit)  { a.emit(op, false, d, x, y) }
func (a *asm) fnm(op sram.Opcode, d, x, y bit) { a.emit(op, true, d, x, y) }

// copy writes a row; copying a row to itself takes nothing.
func (a *asm) copy(d, x bit) {
	if d != x {
		a.emit(sram.NCCopy, false, d, x, 0)
	}
}

func (a *asm) copym(d, x bit) {
	if d != x {
		a.emit(sram.NCCopy, true, d, x, 0)
	}
}

func (a *asm) not(d, x bit) { a.emit(sram.NCNot, false, d, x, 0) }

// copyWord and copyWordm copy words bit by bit, from bit 0 up.
func (a *asm) copyWord(d, x word) {
	for i := range d {
		a.copy(d[i], x[i])
	}
}

func (a *asm) copyWordm(d, x word) {
	for i := range d {
		a.copym(d[i], x[i])
	}
}

// add writes the sum of two rows and the carry, and keeps the new carry; addm
// writes where the tag is set only; carry writes nothing.
func (a *asm) add(d, x, y bit)  { a.emit(sram.NCAdd, false, d, x, y) }
func (a *asm) addm(d, x, y bit) { a.emit(sram.NCAdd, true, d, x, y) }
func (a *asm) carry(x, y bit)   { a.emit(sram.NCCarry, false, 0, x, y) }

// loadCarry sets the carry to a row or constant.
func (a *asm) loadCarry(x bit)  { a.carry(x, x) }
func (a *asm) writeCarry(d bit) { a.emit(sram.NCWriteCarry, false, d, 0, 0) }
func (a *asm) writeTag(d bit)   { a.emit(sram.NCWriteTag, false, d, 0, 0) }

// tag loads the tag with a row, tagNot with its complement, tagOf with a
// function of two.
func (a *asm) tag(x bit)                      { a.emit(sram.NCTagCopy, false, 0, x, 0) }
func (a *asm) tagNot(x bit)                   { a.emit(sram.NCTagNot, false, 0, x, 0) }
func (a *asm) tagOf(op sram.Opcode, x, y bit) { a.emit(op-opAnd+sram.NCTagAnd, false, 0, x, y) }
func (a *asm) tagNotCarry()                   { a.emit(sram.NCTagNotCarry, false, 0, 0, 0) }
func (a *asm) tagCarry()                      { a.emit(sram.NCTagCarry, false, 0, 0, 0) }

// complement returns ~x: a constant, or a row that is written, t.
func (a *asm) complement(t, x bit) bit {
	if x.IsConst() {
		return x ^ 1
	}
	a.not(t, x)
	return t
}

// reduce writes op over all of w (and, or, xor) to d, in len(w)-1 cycles.
func (a *asm) reduce(op sram.Opcode, d bit, w word) {
	switch len(w) {
	case 0:
		panic("arith: reduction of no bits")
	case 1:
		a.copy(d, w[0])
		return
	}
	a.fn(op, d, w[0], w[1])
	for _, x := range w[2:] {
		a.fn(op, d, d, x)
	}
}

// reduceNot writes the complement of op over all of w to d, in as many cycles; w
// has two bits or more.
func (a *asm) reduceNot(op sram.Opcode, d bit, w word) {
	last := len(w) - 1
	x := w[0]
	if last > 1 {
		a.reduce(op, d, w[:last])
		x = d
	}
	a.fn(op-opAnd+opNand, d, x, w[last])
}

// ends writes whether any bit of w is one to some, and to all, by op, whether all are
// or not (and or nand). A full adder tells as much of its three operands as its two
// results do: they are all ones, or all zeros, where the operands are. The carry holds
// the last bit of w, and gets next. len(w)+1 cycles; w has three bits or more.
func (a *asm) ends(op sram.Opcode, some, all bit, w word, next bit) {
	last := len(w) - 1
	sum := a.row()
	a.add(sum, w[0], w[1])
	for _, b := range w[2:last] {
		a.add(sum, sum, b)
	}
	a.add(all, next, next)
	a.fn(opOr, some, sum, all)
	a.fn(op, all, sum, all)
	a.free(sum)
}

// isConst reports whether all bits of w are constants.
func isConst(w word) bool {
	for _, b := range w {
		if !b.IsConst() {
			return false
		}
	}
	return true
}

// constWord is a constant as a word.
func constWord(v uint64, n int) word {
	w := make(word, n)
	for i := range w {
		w[i] = zero
		if i < 64 && v>>i&1 != 0 {
			w[i] = one1
		}
	}
	return w
}
