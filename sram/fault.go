package sram

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
)

// Faults is what goes wrong when a program is executed. The zero value is
// nothing. All choices follow from the seed of the run.
//
// A row that is loaded or computed is written once; each operand that is a row,
// and each output that is one, is read once. A Maj or Xor whose operands are at
// least two different rows activates these at once, and may disturb them: first
// the operands are sensed, then the activated cells flip, then the result is
// written. A copy activates one row.
type Faults struct {
	Stuck        []StuckAt // cells that keep a value, whatever is written
	EveryBitline bool      // Stuck holds on every bitline: each pattern lies on the faulty one

	// RandomStuck cells are stuck in each load of the arrays, drawn with their
	// values among the rows that the program uses; one drawn twice counts once.
	RandomStuck int

	Write   float64 // probability that a cell which is written takes the other value
	Read    float64 // probability that a bit is sensed wrong; the cell keeps its value
	Disturb float64 // probability that a cell activated with others flips
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

// None reports whether nothing can go wrong.
func (f *Faults) None() bool {
	return len(f.Stuck) == 0 && f.RandomStuck == 0 && f.Write == 0 && f.Read == 0 && f.Disturb == 0
}

// Validate reports why the faults cannot be those of a machine, or nil.
func (f *Faults) Validate(g Geometry) error {
	for _, s := range f.Stuck {
		if s.Array < 0 || s.Array >= g.Arrays || s.Row < 0 || s.Row >= g.Rows || s.Bitline < 0 || s.Bitline >= g.Cols {
			return fmt.Errorf("sram: %v, expected one of %d arrays of %d rows and %d bitlines", s, g.Arrays, g.Rows, g.Cols)
		}
	}
	if f.RandomStuck < 0 {
		return fmt.Errorf("sram: %d stuck cells, expected 0 or more", f.RandomStuck)
	}
	for _, p := range []float64{f.Write, f.Read, f.Disturb} {
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
	fixed  []stuckCell // of Faults.Stuck, in rows that are used
}

// faultyOp is an instruction with its rows resolved, as written in the program:
// the operands of a microOp are rearranged, and faults tell them apart.
type faultyOp struct {
	op  Op
	dst uint32
	src [3]uint32 // slot<<1 | negate; slot 0 is the row of zeros
}

// stuckCell is a stuck cell of a block of Cols patterns.
type stuckCell struct {
	slot    uint32
	bitline int
	value   bool
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
	for _, s := range f.Stuck {
		if slot := c.slot.Get(s.Array, s.Row); slot != 0 {
			fc.fixed = append(fc.fixed, stuckCell{slot, s.Bitline, s.Value})
		}
	}
	return fc, nil
}

// NewMachine returns a machine for the code.
func (fc *FaultyCode) NewMachine() *FaultyMachine {
	m := &FaultyMachine{fc: fc, rows: make([][groupWords]uint64, fc.code.slots), first: make([]int32, fc.code.slots)}
	for i := range m.first {
		m.first[i] = -1
	}
	return m
}

// FaultyMachine executes a [FaultyCode]. It takes 256 bytes for each row used
// and is not safe for concurrent use.
//
// It is a machine of its own, so that the fault-free one has nothing to ask for.
// Where faults are rare it takes about as long: where the next one hits is drawn
// once, with a geometric distribution, and what lies before is executed by whole
// words.
type FaultyMachine struct {
	fc   *FaultyCode
	rows [][groupWords]uint64
	n    int // words of the group

	first []int32 // first of the stuck cells of a slot in the group, -1 = none
	stuck []stuckMask

	write, read, disturb skipper
	sensed               [3][groupWords]uint64 // operands that were sensed wrong
}

// stuckMask is stuck cells of one word of a row.
type stuckMask struct {
	slot  uint32
	word  int
	mask  uint64
	value uint64 // within mask
	next  int32  // of the same slot, -1 = last
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
		m.n = min(groupWords, lay.words-first)
		group := mix(seed + mix(uint64(first)))
		m.write.start(m.fc.faults.Write, group, 1)
		m.read.start(m.fc.faults.Read, group, 2)
		m.disturb.start(m.fc.faults.Disturb, group, 3)
		m.placeStuck(lay, first, seed)

		for i, slot := range c.inputs {
			lay.load(m.rows[slot][:m.n], inputs[i*w:(i+1)*w], first)
			m.written(slot)
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
			x, neg := *m.sense(0, o), neg(o)
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
			copy(d[:n], m.sense(0, op.src[0])[:n])
			m.written(op.dst)
			continue
		}
		a, b, c := m.sense(0, op.src[0]), m.sense(1, op.src[1]), m.sense(2, op.src[2])
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
		if m.fc.faults.Disturb > 0 {
			m.activated(op)
		}
		copy(d[:n], result[:n])
		m.written(op.dst)
	}
}

// sense returns what is read of an operand, without its negation.
func (m *FaultyMachine) sense(i int, operand uint32) *[groupWords]uint64 {
	slot := operand >> 1
	row := &m.rows[slot]
	if slot == 0 || !m.read.due(m.n) {
		return row
	}
	m.sensed[i] = *row
	m.read.flip(m.sensed[i][:m.n])
	return &m.sensed[i]
}

// written applies faults to a row that was just written.
func (m *FaultyMachine) written(slot uint32) {
	if m.write.due(m.n) {
		m.write.flip(m.rows[slot][:m.n])
	}
	m.force(slot)
}

// activated disturbs the operands of an instruction.
func (m *FaultyMachine) activated(op *faultyOp) {
	var slots [3]uint32
	count := 0
	for _, s := range op.src {
		s >>= 1
		if s != 0 && (count < 1 || slots[0] != s) && (count < 2 || slots[1] != s) {
			slots[count] = s
			count++
		}
	}
	if count < 2 {
		return
	}
	for _, s := range slots[:count] {
		if m.disturb.due(m.n) {
			m.disturb.flip(m.rows[s][:m.n])
			m.force(s)
		}
	}
}

// force gives the stuck cells of a row their values.
func (m *FaultyMachine) force(slot uint32) {
	for i := m.first[slot]; i >= 0; i = m.stuck[i].next {
		s := &m.stuck[i]
		x := &m.rows[slot][s.word]
		*x = *x&^s.mask | s.value
	}
}

// placeStuck finds the stuck cells of the group of words from first on.
func (m *FaultyMachine) placeStuck(lay layout, first int, seed uint64) {
	for _, s := range m.stuck {
		m.first[s.slot] = -1
	}
	m.stuck = m.stuck[:0]
	f := &m.fc.faults
	used := uint64(m.fc.code.slots - 1) // rows
	if used == 0 || len(m.fc.fixed) == 0 && f.RandomStuck == 0 {
		return
	}
	add := func(slot uint32, word int, mask uint64, value bool) {
		s := stuckMask{slot: slot, word: word, mask: mask, next: m.first[slot]}
		if value {
			s.value = mask
		}
		m.first[slot] = int32(len(m.stuck))
		m.stuck = append(m.stuck, s)
	}
	for begin := 0; begin < m.n; { // the words of one block in the group
		block, in := (first+begin)/lay.perBlock, (first+begin)%lay.perBlock
		n := min(m.n-begin, lay.perBlock-in)
		at := func(c stuckCell) {
			if w := c.bitline / 64; w >= in && w < in+n {
				add(c.slot, begin+w-in, 1<<(c.bitline%64), c.value)
			}
		}
		if f.RandomStuck > 0 {
			rng := rand.NewPCG(mix(seed), mix(uint64(block)))
			for range f.RandomStuck {
				x := rng.Uint64()
				at(stuckCell{
					slot:    1 + uint32(x>>32%used),
					bitline: int(x >> 1 & (1<<31 - 1) % uint64(lay.cols)),
					value:   x&1 != 0,
				})
			}
		}
		for _, c := range m.fc.fixed {
			if !f.EveryBitline {
				at(c)
				continue
			}
			for k := range n {
				add(c.slot, begin+k, ^uint64(0), c.value)
			}
		}
		begin += n
	}
}

// skipper says which of a sequence of bits are hit, each with the same
// probability. It draws how many are passed over and not each of them.
type skipper struct {
	left  uint64 // bits before the next one that is hit
	scale float64
	rng   rand.PCG
}

const never = 1 << 62 // bits; more than a run can have

// start begins a sequence, which depends on the probability, the seed and the
// kind of fault.
func (s *skipper) start(p float64, seed, kind uint64) {
	if p == 0 {
		s.left = math.MaxUint64
		s.scale = math.Inf(-1)
		return
	}
	s.scale = 1 / math.Log1p(-p) // -0 for certainty: no bit is passed over
	s.rng.Seed(seed, mix(kind))
	s.left = s.gap()
}

// gap draws the number of bits before the next hit: geometric, by inversion.
func (s *skipper) gap() uint64 {
	u := (float64(s.rng.Uint64()>>11) + 1) * 0x1p-53 // in (0, 1]
	if g := math.Log(u) * s.scale; g < never {
		return uint64(g)
	}
	return never
}

// due passes over w words if none of their bits is hit, else reports true; flip
// must then be called for these words.
func (s *skipper) due(w int) bool {
	bits := 64 * uint64(w)
	if s.left >= bits {
		if s.left < math.MaxUint64 {
			s.left -= bits
		}
		return false
	}
	return true
}

// flip flips the bits of the words that are hit.
func (s *skipper) flip(words []uint64) {
	bits := 64 * uint64(len(words))
	at := s.left
	for at < bits {
		words[at/64] ^= 1 << (at % 64)
		at += 1 + s.gap()
	}
	s.left = at - bits
}

// mix makes a random word of every number (SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
