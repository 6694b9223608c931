package sram

import (
	"context"
	"fmt"
	"slices"
)

// Faults is what goes wrong when a program is executed. The zero value is
// nothing. All choices follow from the seed of the run.
//
// A row that is loaded or computed is written once; each row that an instruction
// reads, and each output that is a row, is sensed once. An instruction that reads
// at least two different rows activates these at once, and may disturb them:
// first they are sensed, then the activated cells flip, then the result is
// written, and a latch set. A copy activates one row.
type Faults struct {
	Stuck        []StuckAt // cells that keep a value, whatever is written
	EveryBitline bool      // Stuck holds on every bitline: each pattern lies on the faulty one

	// RandomStuck cells are stuck in each load of the arrays, drawn with their
	// values among the rows that the program uses; one drawn twice counts once.
	RandomStuck int

	Write   float64 // probability that a cell which is written takes the other value
	Read    float64 // probability that a bit is sensed wrong; the cell keeps its value
	Disturb float64 // probability that a cell activated with others flips

	// Of the peripherals of a [Kernel] whose technology has latches; nothing to a
	// [Program].
	StuckLatches []StuckLatch
	Latch        float64 // probability that a latch which is set takes the other value
}

// StuckAt is a cell that always holds Value.
type StuckAt struct {
	Place
	Bitline int
	Value   bool
}

func (s StuckAt) String() string {
	v := 0
	if s.Value {
		v = 1
	}
	return fmt.Sprintf("array %d row %d bitline %d stuck at %d", s.Array, s.Row, s.Bitline, v)
}

// StuckLatch is a latch of one bitline, or of all with Faults.EveryBitline, that
// always holds Value.
type StuckLatch struct {
	Latch   Latch // one of them
	Bitline int
	Value   bool
}

func (s StuckLatch) String() string {
	v := 0
	if s.Value {
		v = 1
	}
	return fmt.Sprintf("%v latch of bitline %d stuck at %d", s.Latch, s.Bitline, v)
}

// None reports whether nothing can go wrong.
func (f *Faults) None() bool {
	return len(f.Stuck) == 0 && f.RandomStuck == 0 && f.Write == 0 && f.Read == 0 && f.Disturb == 0 &&
		len(f.StuckLatches) == 0 && f.Latch == 0
}

// Validate reports why the faults cannot be those of a machine, or nil.
func (f *Faults) Validate(g Geometry) error {
	for _, s := range f.Stuck {
		if s.Array < 0 || s.Array >= g.Arrays || s.Row < 0 || s.Row >= g.Rows || s.Bitline < 0 || s.Bitline >= g.Cols {
			return fmt.Errorf("sram: %v, expected one of %d arrays of %d rows and %d bitlines", s, g.Arrays, g.Rows, g.Cols)
		}
	}
	for _, s := range f.StuckLatches {
		if s.Bitline < 0 || s.Bitline >= g.Cols || !s.Latch.one() {
			return fmt.Errorf("sram: %v, expected one latch of one of %d bitlines", s, g.Cols)
		}
	}
	if f.RandomStuck < 0 {
		return fmt.Errorf("sram: %d stuck cells, expected 0 or more", f.RandomStuck)
	}
	for _, p := range []float64{f.Write, f.Read, f.Disturb, f.Latch} {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("sram: probability %v, expected 0 to 1", p)
		}
	}
	return nil
}

// FaultyCode is a [Code] with faults. It is not changed by execution; any number
// of machines may share it.
type FaultyCode struct {
	code   *Code
	faults Faults
	ops    []faultyOp
	used   []uint32    // slots of the rows in use, in order of first use
	fixed  []stuckCell // of Faults.Stuck, in rows that are used
}

// faultyOp is an instruction with its rows resolved, as written in the program:
// the operands of a microOp are rearranged, and faults tell them apart.
type faultyOp struct {
	op  Op
	dst uint32
	src [3]uint32 // slot<<1 | negate; slot 0 is the row of zeros
}

// WithFaults returns the code with faults. It takes time linear in the program
// and 20 bytes an instruction; the code itself stays as it is and as fast.
func (c *Code) WithFaults(f Faults) (*FaultyCode, error) {
	if err := f.Validate(c.prog.Geometry); err != nil {
		return nil, err
	}
	fc := &FaultyCode{code: c, faults: f, ops: make([]faultyOp, len(c.prog.Instrs))}
	for i := range c.prog.Instrs {
		ins := &c.prog.Instrs[i]
		op := faultyOp{op: ins.Op, dst: c.place(int(ins.Array), int(ins.Dst))}
		if ins.Op == Copy {
			op.src[0] = c.operand(int(ins.From), ins.Src[0])
		} else {
			for k, s := range ins.Src {
				op.src[k] = c.operand(int(ins.Array), s)
			}
		}
		fc.ops[i] = op
	}
	for slot := 1; slot < c.slots; slot++ {
		fc.used = append(fc.used, uint32(slot))
	}
	if err := f.checkCells(len(fc.used), c.prog.Geometry.Cols); err != nil {
		return nil, err
	}
	for _, s := range f.Stuck {
		if slot := c.slot.Get(s.Array, s.Row); slot != 0 {
			fc.fixed = append(fc.fixed, stuckCell{slot, s.Bitline, s.Value})
		}
	}
	return fc, nil
}

// checkCells reports whether there are as many cells as shall be stuck.
func (f *Faults) checkCells(rows, cols int) error {
	if f.RandomStuck > rows*cols {
		return fmt.Errorf("sram: %d stuck cells, expected at most %d, which the %d rows in use have", f.RandomStuck, rows*cols, rows)
	}
	return nil
}

// NewMachine returns a machine for the code.
func (fc *FaultyCode) NewMachine() *FaultyMachine {
	return &FaultyMachine{fc: fc, faultyRows: newFaultyRows(&fc.faults, fc.code.slots, fc.used, fc.fixed)}
}

// FaultyMachine executes a [FaultyCode]. It takes 256 bytes for each row used
// and is not safe for concurrent use.
//
// It is a machine of its own, so that the fault-free one has nothing to ask for.
// Where faults are rare it takes about as long: where the next one hits is drawn
// once, with a geometric distribution, and what lies before is executed by whole
// words.
type FaultyMachine struct {
	fc *FaultyCode
	faultyRows
}

// RunContext executes the program as [Machine.RunContext] does, with faults. The
// same seed, w and faults give the same result.
func (m *FaultyMachine) RunContext(ctx context.Context, out, inputs []uint64, w int, seed uint64) error {
	c := m.fc.code
	if w < 0 || len(inputs) != len(c.inputs)*w || len(out) != len(c.outputs)*w {
		return fmt.Errorf("sram: %d words of inputs and %d of outputs, expected %d inputs and %d outputs of %d words",
			len(inputs), len(out), len(c.inputs), len(c.outputs), w)
	}
	lay := newLayout(c.prog.Geometry.Cols, w)
	for first := 0; first < lay.words; first += groupWords {
		m.start(lay, first, seed)
		for i, slot := range c.inputs {
			lay.load(m.rows[slot][:m.n], inputs[i*w:(i+1)*w], first)
			m.written(slot, nil)
		}
		ops := m.fc.ops
		for len(ops) > 0 {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("sram: execution stopped: %w", err)
			}
			n := min(len(ops), 1<<16)
			m.exec(ops[:n])
			ops = ops[n:]
		}
		for i, o := range c.outputs {
			x, neg := m.rows[0], neg(o)
			if slot := o >> 1; slot != 0 {
				x = *m.sense(0, slot)
			}
			for k := range m.n {
				x[k] ^= neg
			}
			lay.store(out[i*w:(i+1)*w], x[:m.n], first)
		}
	}
	return ctx.Err()
}

// exec executes instructions on the group.
func (m *FaultyMachine) exec(ops []faultyOp) {
	n := m.n
	for i := range ops {
		op := &ops[i]
		d := &m.rows[op.dst]
		if op.op == Copy {
			copy(d[:n], m.sense(0, op.src[0]>>1)[:n])
			m.written(op.dst, nil)
			continue
		}
		var active [3]uint32 // rows other than that of zeros
		count := 0
		var x [3]*[groupWords]uint64
		for j, s := range op.src {
			s >>= 1
			x[j] = &m.rows[0]
			if s == 0 {
				continue
			}
			k := slices.Index(active[:count], s)
			if k < 0 {
				k, active[count] = count, s
				count++
				x[j] = m.sense(k, s)
				continue
			}
			for i, t := range op.src[:j] {
				if t>>1 == s {
					x[j] = x[i]
				}
			}
		}
		a, b, c := x[0], x[1], x[2]
		na, nb, nc := neg(op.src[0]), neg(op.src[1]), neg(op.src[2])
		var result [groupWords]uint64 // d may be an operand, and disturbed
		if op.op == Xor {
			for k := range n {
				result[k] = a[k] ^ b[k] ^ c[k] ^ na ^ nb ^ nc
			}
		} else {
			for k := range n {
				x, y, z := a[k]^na, b[k]^nb, c[k]^nc
				result[k] = x&y | x&z | y&z
			}
		}
		m.activated(active[:count])
		copy(d[:n], result[:n])
		m.written(op.dst, nil)
	}
}
