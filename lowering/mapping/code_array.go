package mapping

import (
	"fmt"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
	"github.com/bitsched/bitsched/sram"
)

// arrayCode is what the arrays execute for a mapping: kernels placed on rows, and the
// moves between them.
type arrayCode struct {
	shape  shape
	rows   rowPlan
	m      int64                 // columns of the parallel dimensions
	k2     int64                 // groups of columns that are added
	mac    [][2][2]*placedKernel // by word of the sources and their copies
	rounds []sumRound            // sums over columns, then over units

	rowDims   []int // dimensions along rows that are added
	constants *constantKernels
}

// placedKernel is a program on rows, with what it takes.
type placedKernel struct {
	code *sram.KernelCode
	time timing
}

// sumRound adds the second half of groups of columns, or of units, to the first.
type sumRound struct {
	level   int // -1: columns
	n, stay int64
	width   int  // of the moved sums
	extend  bool // the sum gets another bit, which takes its sign
	add     *placedKernel
}

// newArrayCode places the programs of a mapping; to run makes them ready for that, and not only
// for being timed.
func (q *Problem) newArrayCode(m *Mapping, run bool) (*arrayCode, error) {
	c := &arrayCode{m: 1, k2: 1, shape: shape{m: m}}
	if v := q.shape(&c.shape); v != Legal {
		return nil, &IllegalError{v, v.String(), "slots"}
	}
	s := &c.shape
	c.rows = q.rows(s)
	for d := range s.f.dims {
		switch {
		case !s.f.Reduction(d):
			c.m *= s.size[d]
		case s.f.colDims[d]:
			c.k2 *= s.size[d]
		}
	}
	r := &c.rows
	for d := range s.f.dims {
		if s.f.Reduction(d) && !s.f.colDims[d] {
			c.rowDims = append(c.rowDims, d)
		}
	}
	if s.f.program {
		c.constants = &constantKernels{q: q, m: m, rows: r, run: run, made: map[kernelKey]*placedKernel{}}
	}
	for j := range r.words[0] {
		if s.f.program {
			break // by the weights of each wave
		}
		var set [2][2]*placedKernel
		for a := range max(1, r.copies[0]) {
			for b := range max(1, r.copies[1]) {
				if !run && a+b > 0 {
					continue // as long as the first
				}
				k, err := q.placeMAC(m, r, j, a, b, run)
				if err != nil {
					return nil, err
				}
				set[a][b] = k
			}
		}
		c.mac = append(c.mac, set)
	}
	width := r.column
	round := func(level int, n int64) error {
		for n > 1 {
			stay := (n + 1) / 2
			if level < 0 { // columns: the power of two below
				for stay = 1; 2*stay < n; {
					stay *= 2
				}
			}
			next := min(width+1, r.final)
			add, err := q.placeAdd(next, 0, word{base: r.temp, width: width, sign: width}, r.temp+width, run)
			if err != nil {
				return err
			}
			c.rounds = append(c.rounds, sumRound{level, n, stay, width, next > width, add})
			width, n = next, stay
		}
		return nil
	}
	if err := round(-1, c.k2); err != nil {
		return nil, err
	}
	for i := range q.levels {
		if err := round(i, s.reduce[i]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// word is where the bits of an operand lie: width rows from base on; bits beyond are
// its sign, or zero. A fixed one is a value that instructions read as constants.
type word struct {
	base, width, sign int
	fixed             bool
	value             uint64
}

// operand returns where a bit of a word is read.
func (w word) operand(bit int, signed bool) sram.Operand {
	if w.fixed {
		return sram.Zero + sram.Operand(w.value>>bit&1)
	}
	if bit < w.width {
		return sram.Row(w.base+bit, false)
	}
	if signed {
		return sram.Row(w.base+w.sign-1, false)
	}
	return sram.Zero
}

// place rewrites the rows of a program: the operands as given, the result from row res
// on, scratch from row scratch on.
func (q *Problem) place(p *arith.Program, args []word, signed []bool, res, scratch int) []sram.Micro {
	k := p.Kernel
	out := k.Outputs[0]
	where := make([]sram.Operand, k.Rows)
	for i := range where {
		where[i] = sram.Row(max(0, scratch+i-out.Base-out.Width), false)
	}
	for i, in := range k.Inputs {
		for b := range in.Width {
			where[in.Base+b] = args[i].operand(b, signed[i])
		}
	}
	for b := range out.Width {
		where[out.Base+b] = sram.Row(res+b, false)
	}
	ins := make([]sram.Micro, 0, len(k.Instrs))
	for _, m := range k.Instrs {
		info := &k.Tech.Ops[m.Op]
		if info.Writes {
			m.Dst = uint16(where[m.Dst].Row())
		}
		for i, x := range m.Src[:info.Operands] {
			if x.IsConst() {
				continue
			}
			y := where[x.Row()]
			if x.Negated() {
				y ^= 1
			}
			m.Src[i] = y
		}
		if info.Copies && !m.Masked && m.Src[0] == sram.Row(int(m.Dst), false) {
			continue
		}
		ins = append(ins, m)
	}
	return ins
}

// compile makes a kernel of instructions whose inputs are rows that hold something; what is not
// run is only timed.
func (q *Problem) compile(ins []sram.Micro, reads []word, what string, run bool) (*placedKernel, error) {
	if !run {
		return &placedKernel{time: q.time(ins, q.mac.tech)}, nil
	}
	k := &sram.Kernel{Tech: q.mac.tech, Rows: q.Platform.Array.Rows, Instrs: ins}
	if q.row != nil {
		for i := range ins {
			info := &q.mac.tech.Ops[ins[i].Op]
			if info.Writes {
				ins[i].Dst = uint16(q.physical(int(ins[i].Dst)))
			}
			for n, x := range ins[i].Src[:info.Operands] {
				if !x.IsConst() {
					ins[i].Src[n] = sram.Row(q.physical(x.Row()), x.Negated())
				}
			}
		}
	}
	for i, w := range reads {
		if q.row == nil {
			k.Inputs = append(k.Inputs, sram.Port{Name: fmt.Sprintf("x%d", i), Base: w.base, Width: w.width})
			continue
		}
		for b := range w.width { // faults may lie between the rows of a word
			k.Inputs = append(k.Inputs, sram.Port{Name: fmt.Sprintf("x%d.%d", i, b), Base: q.physical(w.base + b), Width: 1})
		}
	}
	code, err := k.Compile()
	if err != nil {
		return nil, fmt.Errorf("mapping: %s: %w", what, err)
	}
	return &placedKernel{code, q.time(ins, q.mac.tech)}, nil
}

// source is where word j of a source lies, in one of its copies.
func (r *rowPlan) sourceWord(o, j, copy int) word {
	return word{base: r.source[o] + (copy*r.words[o]+j)*r.width[o], width: r.width[o], sign: r.width[o]}
}

// placeMAC makes the product of word j of the sources, added to the sum.
func (q *Problem) placeMAC(m *Mapping, r *rowPlan, j, a, b int, run bool) (*placedKernel, error) {
	t := q.mac
	x, y := r.sourceWord(0, j, a), r.sourceWord(1, j, b)
	product := word{base: r.temp, width: t.width, sign: t.width}
	signed := []bool{q.Op.Tensors[m.Tensor(0)].Type.Signed, q.Op.Tensors[m.Tensor(1)].Type.Signed}
	ins := q.place(t.mul, []word{x, y}, signed, r.temp, r.temp+t.width)
	sum := word{width: r.column, sign: r.column}
	ins = append(ins, q.place(t.add[r.column], []word{sum, product}, []bool{t.signed, t.signed}, 0, r.temp+t.width)...)
	return q.compile(ins, []word{sum, x, y}, "product and sum", run)
}

// placeAdd adds a word to the sum from row 0 on, of width bits.
func (q *Problem) placeAdd(width, sum int, x word, scratch int, run bool) (*placedKernel, error) {
	t := q.mac
	ins := q.place(t.add[width], []word{{base: sum, width: width, sign: width}, x}, []bool{t.signed, t.signed}, sum, scratch)
	return q.compile(ins, []word{{base: sum, width: width, sign: width}, x}, "sum", run)
}

// unitTimes adds up the cycles of what a unit does from the programs that it executes.
func (q *Problem) unitTimes(m *Mapping) (*unitTimes, error) {
	switch q.Platform.Executor {
	case platform.CrossbarExecutor:
		return q.crossbarTimes(m), nil
	case platform.SIMDExecutor:
		return q.simdTimes(m), nil
	}
	c, err := q.newArrayCode(m, false)
	if err != nil {
		return nil, err
	}
	a := q.Platform.Array
	active := int64(1)
	for l := range q.loops {
		active *= int64(m.Factor[SlotLevel][l])
	}
	u := &unitTimes{wport: Distribute}
	if c.constants != nil {
		u.products = q.waveClock(m, c, active)
	}
	for j := range c.mac {
		u.invoke[Compute] += q.throttled(c.mac[j][0][0].time, active)
	}
	for o := range 2 {
		u.write[o] = q.rowTime(int64(c.rows.words[o]*c.rows.width[o]), int64(a.RowWriteCycles), active)
	}
	u.write[Dst] = q.rowTime(int64(c.rows.column), int64(a.RowWriteCycles), active)
	width := c.rows.column
	results := int64(1)
	for l := range q.loops {
		if !q.Op.Reduction(l) {
			results *= min(m.Below(l, SlotLevel), int64(q.Op.Loops[l].Extent))
		}
	}
	for i := range c.rounds {
		r := &c.rounds[i]
		if r.level < 0 {
			u.finish[Reduce] += q.rowTime(int64(r.width), q.shiftCycles(c.m*r.stay), active)
		} else {
			groups := int64(1)
			for j := range r.level + 1 {
				for l := range q.loops {
					if !q.Op.Reduction(l) {
						groups *= int64(m.Factor[SlotLevel+j][l])
					}
				}
			}
			l := &q.Platform.Levels[r.level]
			b := (results*int64(r.width) + 7) / 8 * groups * (r.n - r.stay)
			u.finish[Reduce] += ceilDiv(b*1000, platform.Milli(l.BytesPerCycle)) + int64(l.LatencyCycles)
			u.finish[Reduce] += q.rowTime(int64(r.width), int64(a.RowWriteCycles), active)
		}
		if r.extend {
			u.finish[Reduce] += q.rowTime(1, int64(a.RowWriteCycles), active)
			width = r.width + 1
		}
		u.finish[Reduce] += q.throttled(r.add.time, active)
	}
	u.finish[Drain] = q.rowTime(int64(width), int64(a.RowReadCycles), active)
	return u, nil
}

func (q *Problem) crossbarTimes(m *Mapping) *unitTimes {
	c := q.Platform.Crossbar
	u := &unitTimes{wport: Program}
	bits := q.Op.Tensors[m.Tensor(Src2)].Type.Bits
	for i := 0; i < bits+(c.PipelineDepth-1)*c.DACBits; i += c.DACBits { // bits of the vector, and the stages behind
		u.invoke[Compute] += int64(c.StageCycles)
	}
	u.write[Src1] = int64(c.ProgramCycles)
	u.finish[Reduce] = q.streamedTimes(m)
	return u
}

// streamedTimes are the cycles of sums over units that are added where they arrive.
func (q *Problem) streamedTimes(m *Mapping) int64 {
	out, cycles := int64(1), int64(0)
	for d := range q.Op.Output().Access {
		for l, a := range q.Op.Output().Access[d] {
			if a != 0 {
				out *= min(m.Below(l, SlotLevel), int64(q.Op.Output().Extents[d]))
			}
		}
	}
	groups := int64(1)
	for i, level := range q.Platform.Levels {
		reduce := int64(1)
		for l := range q.loops {
			f := int64(m.Factor[SlotLevel+i][l])
			if q.Op.Reduction(l) {
				reduce *= f
			} else {
				groups *= f
			}
		}
		bytes := (out*int64(q.Op.AccBits()) + 7) / 8 * groups * (reduce - 1)
		if reduce > 1 {
			cycles += ceilDiv(bytes*1000, platform.Milli(level.BytesPerCycle)) + int64(level.LatencyCycles)
		}
	}
	return cycles
}

// simdTimes counts the commands of a unit one by one.
func (q *Problem) simdTimes(m *Mapping) *unitTimes {
	d := q.Platform.SIMD
	u := &unitTimes{wport: Idle}
	f := q.Platform.Functions[m.Function]
	k, accs := int64(1), int64(1)
	for l := range q.loops {
		for i := range f.Dims {
			if f.Dims[i].Kind == "reduction" {
				k *= int64(m.Factor[i][l])
			}
		}
		accs *= int64(m.Factor[SlotInner][l])
	}
	row, opened := int64(-1), 0
	for j := range k {
		if r := j * int64(d.ColumnBytes) / int64(d.RowBytes); r != row {
			row = r
			opened++
		}
		u.invoke[Compute] += accs * int64(d.MACCycles)
	}
	if opened > 1 {
		u.invoke[Idle] = int64(opened) * int64(d.RowMissCycles)
	} else {
		u.write[Src1] = int64(d.RowMissCycles)
	}
	spread := func(o int) int64 {
		n := int64(1)
		for l := range q.loops {
			if q.Op.Tensors[m.Tensor(o)].Indexed(l) {
				n *= int64(m.Factor[SlotLevel][l])
			}
		}
		return n
	}
	broadcast := len(f.Operands[Src2].Index) < len(f.Operands[Src1].Index)
	registers := k * accs
	if broadcast {
		registers = ceilDiv(k*accs*int64((q.Op.Tensors[m.Tensor(Src2)].Type.Bits+7)/8), int64(d.ColumnBytes))
	}
	u.write[Src2] = registers * spread(Src2) * int64(d.RegisterWriteCycles)
	units := int64(1)
	columns := k
	for l := range q.loops {
		units *= int64(m.Factor[SlotLevel][l])
		if q.Op.Tensors[m.Tensor(Src1)].Indexed(l) {
			columns *= int64(m.Factor[SlotWave][l]) * int64(m.Factor[SlotTile][l])
		}
	}
	perAcc := ceilDiv(int64(d.Lanes*d.AccumulatorBits), int64(8*d.ColumnBytes))
	u.finish[Drain] = accs * perAcc * units * int64(d.RegisterReadCycles)
	if q.Op.Tensors[m.Tensor(Src1)].Role.String() != "weight" || q.Options.Cold {
		u.start = columns * spread(Src1) * int64(d.RegisterWriteCycles)
	}
	return u
}
