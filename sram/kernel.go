package sram

import (
	"fmt"
	"slices"
)

// Kernel is a straight-line program of micro-instructions on one array of any
// technology. Its operands and results are words that lie transposed: bit i of
// a word is in row Base+i, and every bitline holds a word of its own.
//
// Other than in a [Program], the row of an input may be written: that is how a
// result replaces an operand. One instruction takes one cycle.
type Kernel struct {
	Tech    *Technology
	Rows    int // rows of the array, reserved ones included
	Inputs  []Port
	Instrs  []Micro
	Outputs []Port
}

// Port is a word of a kernel.
type Port struct {
	Name  string
	Base  int // row of bit 0
	Width int // in bits, at least 1
}

// Micro is a micro-instruction, 12 bytes. What its operation does not use is
// zero.
type Micro struct {
	Op     Opcode // index into Technology.Ops
	Masked bool   // write only where the tag is set
	Dst    uint16
	Src    [3]Operand
}

// KernelError says which instruction of a kernel is wrong, and why.
type KernelError struct {
	Index int    // of the instruction, from 0
	Text  string // the instruction
	Msg   string
}

func (e *KernelError) Error() string {
	return fmt.Sprintf("sram: instruction %d (%s): %s", e.Index, e.Text, e.Msg)
}

// Cycles returns the cycles that the kernel takes.
func (k *Kernel) Cycles() int { return len(k.Instrs) }

// Usable returns the number of rows that are not reserved.
func (k *Kernel) Usable() int { return k.Rows - k.Tech.Reserved }

// Counts returns the number of instructions of each class.
func (k *Kernel) Counts() [numClasses]int {
	var n [numClasses]int
	for i := range k.Instrs {
		n[k.Tech.Ops[k.Instrs[i].Op].Class]++
	}
	return n
}

// Energy returns the energy of executing k once in the units of e. Every
// instruction counts as a computation: what the instructions of a technology
// cost apart from each other is for a cost table by [Class].
func (k *Kernel) Energy(e Energy) float64 { return float64(len(k.Instrs)) * e.Compute }

// RowsUsed returns the number of rows that hold an input or are written.
func (k *Kernel) RowsUsed() int {
	used := make([]bool, k.Rows)
	for _, p := range k.Inputs {
		for r := range p.Width {
			used[p.Base+r] = true
		}
	}
	for i := range k.Instrs {
		if k.Tech.Ops[k.Instrs[i].Op].Writes {
			used[k.Instrs[i].Dst] = true
		}
	}
	n := 0
	for _, u := range used {
		if u {
			n++
		}
	}
	return n
}

// Check reports the first way in which k must not be executed, or nil: rows
// outside the array or reserved, words that overlap, operands that the
// technology does not have, and reads of rows or latches that hold nothing. A
// kernel is a straight line, so this is exact. It takes time linear in k.
func (k *Kernel) Check() error {
	if k.Tech == nil {
		return fmt.Errorf("sram: kernel without a technology")
	}
	if k.Rows < 1 || k.Rows > MaxRows {
		return fmt.Errorf("sram: %d rows, expected 1 to %d", k.Rows, MaxRows)
	}
	held := make([]bool, k.Usable())
	for _, in := range k.Inputs {
		if err := k.checkPort(in, "input"); err != nil {
			return err
		}
		for r := in.Base; r < in.Base+in.Width; r++ {
			if held[r] {
				return fmt.Errorf("sram: input %s in row %d, which holds another input", in.Name, r)
			}
			held[r] = true
		}
	}
	var set Latch
	for i := range k.Instrs {
		m := &k.Instrs[i]
		if msg := k.check(m, held, set); msg != "" {
			return &KernelError{i, k.text(m), msg}
		}
		info := &k.Tech.Ops[m.Op]
		set |= info.Sets
		if info.Writes {
			held[m.Dst] = true
		}
	}
	for _, o := range k.Outputs {
		if err := k.checkPort(o, "output"); err != nil {
			return err
		}
		if r := slices.Index(held[o.Base:o.Base+o.Width], false); r >= 0 {
			return fmt.Errorf("sram: output %s in row %d, which was never written", o.Name, o.Base+r)
		}
	}
	return nil
}

func (k *Kernel) checkPort(p Port, what string) error {
	if p.Width < 1 || p.Base < 0 || p.Base+p.Width > k.Usable() {
		return fmt.Errorf("sram: %s %s in %d rows from row %d, expected rows below %d", what, p.Name, p.Width, p.Base, k.Usable())
	}
	return nil
}

// check returns what is wrong with an instruction, "" if nothing.
func (k *Kernel) check(m *Micro, held []bool, set Latch) string {
	if int(m.Op) >= len(k.Tech.Ops) {
		return fmt.Sprintf("operation %d, expected 0 to %d", m.Op, len(k.Tech.Ops)-1)
	}
	info := &k.Tech.Ops[m.Op]
	reads := info.Reads
	if info.Resets && m.Src[0] == m.Src[1] {
		reads = 0
	}
	if m.Masked {
		reads |= k.Tech.Enable
	}
	switch missing := reads &^ set; {
	case missing != 0:
		return fmt.Sprintf("reads the %v latch, which was never set", missing&-missing)
	case m.Masked && !info.Masked:
		return "cannot write where the tag is set only"
	case info.Writes && int(m.Dst) >= len(held):
		return fmt.Sprintf("writes row %d, expected 0 to %d", m.Dst, len(held)-1)
	case !info.Writes && m.Dst != 0:
		return fmt.Sprintf("row %d of an instruction that writes none, expected 0", m.Dst)
	case m.Masked && !held[m.Dst]:
		return fmt.Sprintf("writes some bitlines of row %d, which was never written", m.Dst)
	}
	for j, s := range m.Src {
		switch {
		case j >= info.Operands:
			if s != 0 {
				return fmt.Sprintf("operand %v, expected %d operands", s, info.Operands)
			}
		case s.IsConst():
		case s.Negated() && !k.Tech.Negate:
			return fmt.Sprintf("operand %v, which %s cannot negate", s, k.Tech.Name)
		case s.Row() >= len(held):
			return fmt.Sprintf("reads row %d, expected 0 to %d", s.Row(), len(held)-1)
		case !held[s.Row()]:
			return fmt.Sprintf("reads row %d, which was never written", s.Row())
		}
	}
	return ""
}

// GroupCols is the number of bitlines that a [State] holds: those of eight
// arrays of 256.
const GroupCols = 64 * groupWords

// The slots of a State before its rows.
const (
	slotZeros = iota
	slotOnes
	slotLatches
	slotRows = slotLatches + maxLatches
)

// KernelCode is a checked kernel in the form that is executed. Any number of
// states may share it.
type KernelCode struct {
	kernel *Kernel
	ops    []microOp
	slots  int
}

// Compile checks k and translates it; the code keeps a reference to k, which
// must not change. It takes time linear in k and 16 bytes an instruction.
func (k *Kernel) Compile() (*KernelCode, error) {
	if err := k.Check(); err != nil {
		return nil, err
	}
	c := &KernelCode{kernel: k, ops: make([]microOp, len(k.Instrs)), slots: slotRows}
	row := func(r int) uint32 {
		c.slots = max(c.slots, slotRows+r+1)
		return uint32(slotRows + r)
	}
	operand := func(o Operand) uint32 {
		if o.IsConst() {
			return slotZeros<<1 | uint32(o&1)
		}
		return row(o.Row())<<1 | uint32(o&1)
	}
	for _, p := range slices.Concat(k.Inputs, k.Outputs) {
		row(p.Base + p.Width - 1)
	}
	for i := range k.Instrs {
		m := &k.Instrs[i]
		c.ops[i] = k.Tech.translate(m, operand, row(int(m.Dst)))
	}
	return c, nil
}

// Kernel returns the kernel that the code was made from.
func (c *KernelCode) Kernel() *Kernel { return c.kernel }

// State is a group of [GroupCols] bitlines of arrays that execute a kernel. It
// takes 256 bytes a row and is not safe for concurrent use.
type State struct {
	code *KernelCode
	rows [][groupWords]uint64
}

// NewState returns a state for the code, all rows and latches zero.
func (c *KernelCode) NewState() *State {
	s := &State{code: c, rows: make([][groupWords]uint64, c.slots)}
	for k := range s.rows[slotOnes] {
		s.rows[slotOnes][k] = ^uint64(0)
	}
	return s
}

// Row returns a row, whose bit b of word k is bitline 64k+b. The row must be one
// that the kernel uses.
func (s *State) Row(r int) *[groupWords]uint64 { return &s.rows[slotRows+r] }

// Latch returns a latch.
func (s *State) Latch(l Latch) *[groupWords]uint64 { return &s.rows[l.slot()] }

// Run executes the kernel on what the rows of its inputs hold. It allocates
// nothing.
func (s *State) Run() { s.code.kernel.Tech.exec(s.code.ops, s.rows) }

// RunRange executes instructions from up to, not including, to. A caller may
// look at rows and change them between two calls.
func (s *State) RunRange(from, to int) { s.code.kernel.Tech.exec(s.code.ops[from:to], s.rows) }

// Program returns an [XMG] kernel as a program of one array, bit by bit: input
// and output i of a word are named as in a[i]. An error means another technology,
// or a kernel that writes a row of an input, which no program may.
func (k *Kernel) Program() (*Program, error) {
	if k.Tech != &XMG {
		return nil, fmt.Errorf("sram: a kernel of %s, expected one of %s", k.Tech.Name, XMG.Name)
	}
	if err := k.Check(); err != nil {
		return nil, err
	}
	p := &Program{Geometry: Geometry{Arrays: 1, Rows: k.Rows, Cols: DefaultCols}}
	for _, in := range k.Inputs {
		for i := range in.Width {
			p.Inputs = append(p.Inputs, Input{fmt.Sprintf("%s[%d]", in.Name, i), Place{0, in.Base + i}})
		}
	}
	for i := range k.Instrs {
		m := &k.Instrs[i]
		p.Instrs = append(p.Instrs, Instr{Op: Op(m.Op), Dst: m.Dst, Src: m.Src})
	}
	for _, o := range k.Outputs {
		for i := range o.Width {
			p.Outputs = append(p.Outputs, Output{Name: fmt.Sprintf("%s[%d]", o.Name, i), Operand: Row(o.Base+i, false)})
		}
	}
	if err := p.CheckRows(); err != nil {
		return nil, err
	}
	return p, nil
}
