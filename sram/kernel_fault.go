package sram

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
)

// FaultyKernel is a [KernelCode] with faults. It is not changed by execution; any
// number of machines may share it.
//
// Faults strike where cells are written, sensed and activated, and where latches
// are set. What an instruction does to bits that are right or wrong is left to
// the executor of the technology: an instruction that a fault strikes is executed
// on its own, on the rows as they were sensed, and all others as without faults.
// The executor of a further technology is therefore faulty as it is.
//
// The rows that a technology reserves for constants are cells like others: the
// host writes those that the kernel reads before it writes the inputs.
type FaultyKernel struct {
	code   *KernelCode
	faults Faults
	cols   int

	steps   []faultyStep
	ops     []microOp // each instruction, reading the slots of what was sensed
	slots   int
	sensed  uint32      // first of three slots that hold what was sensed
	consts  []constRow  // that are read
	in, out []uint32    // slot of each bit of the inputs and outputs
	used    []uint32    // slots of the rows in use, in order of first use
	fixed   []stuckCell // cells and latches that are stuck in every block
}

// faultyStep is what an instruction does to cells and latches.
type faultyStep struct {
	rows   [3]uint32 // slots of the different rows that it activates
	active uint8     // how many
	dst    uint32    // slot that it writes, 0 = none
	masked bool
	sets   Latch
}

// constRow is a row that holds a constant.
type constRow struct {
	slot uint32
	ones bool
}

// WithFaults returns the code with faults, for arrays of some bitlines. The
// Array of a stuck cell must be 0; a stuck cell of a row that is not used has no
// effect. It takes time linear in the kernel and 44 bytes an instruction; the
// code itself stays as it is and as fast.
func (c *KernelCode) WithFaults(f Faults, cols int) (*FaultyKernel, error) {
	k := c.kernel
	if cols < 1 {
		return nil, fmt.Errorf("sram: %d bitlines, expected at least 1", cols)
	}
	if err := f.Validate(Geometry{Arrays: 1, Rows: k.Rows, Cols: cols}); err != nil {
		return nil, err
	}
	fk := &FaultyKernel{code: c, faults: f, cols: cols, slots: c.slots, steps: make([]faultyStep, len(k.Instrs)), ops: make([]microOp, len(k.Instrs))}
	fk.sensed = uint32(fk.slots)
	fk.slots += 3
	for i := range k.Instrs {
		fk.steps[i], fk.ops[i] = fk.step(&k.Instrs[i])
	}
	for _, p := range k.Inputs {
		for b := range p.Width {
			fk.in = append(fk.in, uint32(slotRows+p.Base+b))
		}
	}
	for _, p := range k.Outputs {
		for b := range p.Width {
			fk.out = append(fk.out, uint32(slotRows+p.Base+b))
		}
	}
	used := k.UsedRows()
	for _, r := range used {
		slot := fk.slot(r)
		fk.used = append(fk.used, slot)
		if slot == slotZeros || slot == slotOnes {
			fk.consts = append(fk.consts, constRow{slot, slot == slotOnes})
		}
	}
	if err := f.checkCells(len(fk.used), cols); err != nil {
		return nil, err
	}
	for _, s := range f.Stuck {
		if slices.Contains(used, s.Row) {
			fk.fixed = append(fk.fixed, stuckCell{fk.slot(s.Row), s.Bitline, s.Value})
		}
	}
	for _, s := range f.StuckLatches {
		fk.fixed = append(fk.fixed, stuckCell{s.Latch.slot(), s.Bitline, s.Value})
	}
	return fk, nil
}

// slot returns the slot of a row; those of the constants are the first.
func (fk *FaultyKernel) slot(row int) uint32 {
	if r := row - fk.code.kernel.Usable(); r >= 0 {
		return slotZeros + uint32(r)
	}
	return uint32(slotRows + row)
}

// operandRow returns the row that an operand reads: for a constant the one that
// the technology reserves, -1 if there is none.
func (k *Kernel) operandRow(o Operand) int {
	switch {
	case !o.IsConst():
		return o.Row()
	case k.Tech.Reserved == 0:
		return -1
	case o == One:
		return k.Usable() + 1
	}
	return k.Usable()
}

// Activated returns how many different rows instruction i activates; a constant
// is a row where the technology reserves rows for constants.
func (k *Kernel) Activated(i int) int {
	m := &k.Instrs[i]
	var rows [3]int
	n := 0
	for _, o := range m.Src[:k.Tech.Ops[m.Op].Operands] {
		if r := k.operandRow(o); r >= 0 && !slices.Contains(rows[:n], r) {
			rows[n] = r
			n++
		}
	}
	return n
}

// Sets returns the latches that the kernel sets.
func (k *Kernel) Sets() Latch {
	var l Latch
	for i := range k.Instrs {
		l |= k.Tech.Ops[k.Instrs[i].Op].Sets
	}
	return l
}

// UsedRows returns the rows that hold a constant which is read, hold an input or
// are written: the constants first, the others in order of first use.
func (k *Kernel) UsedRows() []int {
	seen := make([]bool, k.Rows)
	var consts, rows []int
	for i := range k.Instrs {
		m := &k.Instrs[i]
		for _, o := range m.Src[:k.Tech.Ops[m.Op].Operands] {
			if r := k.operandRow(o); o.IsConst() && r >= 0 && !seen[r] {
				seen[r] = true
				consts = append(consts, r)
			}
		}
	}
	slices.Sort(consts)
	use := func(r int) {
		if !seen[r] {
			seen[r] = true
			rows = append(rows, r)
		}
	}
	for _, p := range k.Inputs {
		for b := range p.Width {
			use(p.Base + b)
		}
	}
	for i := range k.Instrs {
		if k.Tech.Ops[k.Instrs[i].Op].Writes {
			use(int(k.Instrs[i].Dst))
		}
	}
	return append(consts, rows...)
}

// step resolves an instruction. Operands that are one row are one slot of what
// was sensed, and only constants that no row holds are left.
func (fk *FaultyKernel) step(m *Micro) (faultyStep, microOp) {
	k := fk.code.kernel
	info := &k.Tech.Ops[m.Op]
	s := faultyStep{masked: m.Masked, sets: info.Sets}
	if info.Writes {
		s.dst = uint32(slotRows) + uint32(m.Dst)
	}
	sensed := *m
	for i, o := range m.Src[:info.Operands] {
		r := k.operandRow(o)
		if r < 0 {
			continue
		}
		slot := fk.slot(r)
		at := slices.Index(s.rows[:s.active], slot)
		if at < 0 {
			at = int(s.active)
			s.rows[at] = slot
			s.active++
		}
		sensed.Src[i] = Row(at, !o.IsConst() && o.Negated())
	}
	op := k.Tech.translate(&sensed, func(o Operand) uint32 {
		if o.IsConst() {
			return slotZeros<<1 | uint32(o&1)
		}
		return (fk.sensed+uint32(o.Row()))<<1 | uint32(o&1)
	}, s.dst)
	return s, op
}

// NewMachine returns a machine for the kernel.
func (fk *FaultyKernel) NewMachine() *FaultyKernelMachine {
	return &FaultyKernelMachine{fk: fk, faultyRows: newFaultyRows(&fk.faults, fk.slots, fk.used, fk.fixed)}
}

// FaultyKernelMachine executes a [FaultyKernel]. It takes 256 bytes for each row
// and is not safe for concurrent use.
type FaultyKernelMachine struct {
	fk *FaultyKernel
	faultyRows
}

// RunContext executes the kernel on 64 x w input patterns, with faults: those of
// [Machine.RunContext], where the inputs are the bits of all words of inputs, one
// after another, and likewise the outputs. A block, which is one load of an
// array, has as many patterns as bitlines. The same seed, w and faults give the
// same result.
func (m *FaultyKernelMachine) RunContext(ctx context.Context, out, inputs []uint64, w int, seed uint64) error {
	fk := m.fk
	if w < 0 || len(inputs) != len(fk.in)*w || len(out) != len(fk.out)*w {
		return fmt.Errorf("sram: %d words of inputs and %d of outputs, expected %d inputs and %d outputs of %d words",
			len(inputs), len(out), len(fk.in), len(fk.out), w)
	}
	lay := newLayout(fk.cols, w)
	for first := 0; first < lay.words; first += groupWords {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("sram: execution stopped: %w", err)
		}
		m.start(lay, first, seed)
		clear(m.rows[slotZeros][:])
		for k := range m.rows[slotOnes] {
			m.rows[slotOnes][k] = ^uint64(0)
		}
		for _, c := range fk.consts {
			m.written(c.slot, nil)
		}
		for i, slot := range fk.in {
			lay.load(m.rows[slot][:m.n], inputs[i*w:(i+1)*w], first)
			m.written(slot, nil)
		}
		m.exec()
		for i, slot := range fk.out {
			lay.store(out[i*w:(i+1)*w], m.sense(0, slot)[:m.n], first)
		}
	}
	return ctx.Err()
}

// exec executes the kernel on the group: stretches that no fault strikes at once.
func (m *FaultyKernelMachine) exec() {
	fk := m.fk
	exec := fk.code.kernel.Tech.exec
	for i := 0; i < len(fk.steps); i++ {
		from := i
		for i < len(fk.steps) && m.quiet(&fk.steps[i]) {
			i++
		}
		exec(fk.code.ops[from:i], m.rows)
		if i < len(fk.steps) {
			m.step(&fk.steps[i], fk.ops[i:i+1])
		}
	}
}

// quiet passes over an instruction if no fault strikes it.
func (m *FaultyKernelMachine) quiet(s *faultyStep) bool {
	word := 64 * uint64(m.n)
	read, written, set := word*uint64(s.active), uint64(0), word*uint64(bits.OnesCount8(uint8(s.sets)))
	disturbed := uint64(0)
	if s.active > 1 {
		disturbed = read
	}
	if s.dst != 0 {
		written = word
	}
	if m.read.within(read) || m.disturb.within(disturbed) || m.write.within(written) || m.latch.within(set) ||
		s.dst != 0 && m.first[s.dst] >= 0 {
		return false
	}
	for l := range s.sets.Each() {
		if m.first[l.slot()] >= 0 {
			return false
		}
	}
	m.read.pass(read)
	m.disturb.pass(disturbed)
	m.write.pass(written)
	m.latch.pass(set)
	return true
}

// step executes one instruction with faults: its rows are sensed, then disturbed,
// then the result is written and latches are set.
func (m *FaultyKernelMachine) step(s *faultyStep, op []microOp) {
	active := s.rows[:s.active]
	for i, slot := range active {
		m.rows[m.fk.sensed+uint32(i)] = *m.sense(i, slot)
	}
	m.activated(active)
	m.fk.code.kernel.Tech.exec(op, m.rows)
	if s.dst != 0 {
		var mask *[groupWords]uint64
		if s.masked {
			mask = &m.rows[m.fk.code.kernel.Tech.Enable.slot()]
		}
		m.written(s.dst, mask)
	}
	for l := range s.sets.Each() {
		slot := l.slot()
		if m.latch.due(m.n) {
			m.latch.flip(m.rows[slot][:m.n])
		}
		m.force(slot)
	}
}
