package mapping

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
	"github.com/bitsched/bitsched/sram"
)

// PointOp is an operation on elements by themselves that arrays execute.
type PointOp string

// The operations. Sums and the largest of several elements take their sources one after
// another; PointRequantise adds half of a step and leaves the bits above it, PointRequantiseReLU
// also has zero in the place of what is negative.
const (
	PointReLU           PointOp = "relu"
	PointAdd            PointOp = "add" // clipped to the type of the result
	PointMax            PointOp = "max"
	PointRequantise     PointOp = "requantise"
	PointRequantiseReLU PointOp = "requantise+relu"
)

// PointWork is what a pointwise operation is done on.
type PointWork struct {
	Op       PointOp
	Sources  int // elements that a result is made of
	Elements int64
	In, Out  dnn.Type
	// Fetched are the bytes of sources that come from off-chip memory, Stored those of results that
	// go there, and Spilled those that went there beforehand since the buffer does not hold them.
	Fetched, Stored, Spilled int64
}

// Pointwise is an operation on elements by themselves in arrays: an element on a bitline, as
// many at a time as there are bitlines, round after round. The next sources are loaded, and the
// last results drained, while a round computes.
type Pointwise struct {
	PointWork
	q       *Problem
	spread  [platform.MaxLevels]int64 // groups that work, of each level
	at      int64                     // results of a round
	rounds  int64
	acc     [2]int // first rows of what the sources so far amount to, in turn
	wide    int    // rows of it
	source  int    // first row of a source after the first
	result  int    // first row of the result
	combine [2]*placedKernel
	last    []*placedKernel
	shifts  bool // the result is read from a row on that is chosen when it is executed
}

// NewPointwise makes the programs. An error wraps [ErrInfeasible] where the arrays have too few
// rows for them.
func NewPointwise(ctx context.Context, p *platform.Platform, w PointWork) (*Pointwise, error) {
	if p.Executor != platform.ArrayExecutor {
		return nil, fmt.Errorf("%w: %s has no arrays that compute %s", ErrInfeasible, p.Name, w.Op)
	}
	x := &Pointwise{PointWork: w, q: &Problem{Platform: p}}
	q := x.q
	q.setLevels()
	q.holes()
	tech, err := sram.LookupTechnology(p.Array.Technology)
	if err != nil {
		return nil, err
	}
	q.mac = &macTable{tech: tech, usable: q.usableRows(tech)}
	units := ceilDiv(w.Elements, q.cols)
	for i := q.levels - 1; i >= 0; i-- {
		fan := int64(q.fanOut[i])
		if i == 0 && q.good != nil {
			groups := int64(1)
			for _, s := range x.spread[1:q.levels] {
				groups *= s
			}
			fan = q.good[groups-1]
		}
		x.spread[i] = max(1, min(fan, units))
		units = ceilDiv(units, x.spread[i])
	}
	x.at = q.cols
	for i := range q.levels {
		x.at *= x.spread[i]
	}
	x.at = min(x.at, w.Elements)
	x.rounds = ceilDiv(w.Elements, x.at)
	if err := x.program(ctx); errors.Is(err, arith.ErrRows) {
		return nil, fmt.Errorf("%w: %s: %w", ErrInfeasible, w.Op, err)
	} else if err != nil {
		return nil, fmt.Errorf("mapping: %s: %w", w.Op, err)
	}
	return x, nil
}

// program places the programs on rows: what the sources amount to, twice for taking turns, then
// the next source with its copy, then scratch.
func (x *Pointwise) program(ctx context.Context) error {
	in, signed := x.In.Bits, x.In.Signed
	prefix := map[bool]string{true: "int", false: "uint"}[signed]
	build := func(op string, width int, value *int64) (*arith.Program, error) {
		s := arith.Spec{Op: fmt.Sprintf("%s%d.%s", prefix, width, op), Tech: x.q.mac.tech.Name, Rows: x.q.Platform.Array.Rows}
		if op == "add" || op == "relu" {
			s.Op = fmt.Sprintf("int%d.%s", width, op)
		}
		if value != nil {
			s.Const = map[int]uint64{1: uint64(*value) & (1<<width - 1)}
		}
		return arith.Build(ctx, s)
	}
	x.wide = in
	if x.Op == PointAdd || x.Op == PointRequantise || x.Op == PointRequantiseReLU {
		x.wide = in + 1
	}
	x.acc = [2]int{0, x.wide}
	x.source = 2 * x.wide
	scratch := x.source + 2*in
	used := scratch
	place := func(p *arith.Program, args []word, res int) (*placedKernel, error) {
		var reads []word
		signs := make([]bool, len(args))
		for i, a := range args {
			signs[i] = signed
			if !a.fixed {
				reads = append(reads, a)
			}
		}
		used = max(used, scratch+p.Scratch)
		return x.q.compile(x.q.place(p, args, signs, res, scratch), reads, string(x.Op), true)
	}
	then := func(p *arith.Program, args []word, res int) error {
		k, err := place(p, args, res)
		x.last, x.result = append(x.last, k), res
		return err
	}
	sum := func(turn int) word { return word{base: x.acc[turn], width: x.wide, sign: x.wide} }
	first := word{base: x.acc[0], width: in, sign: in}
	if most := map[PointOp]int{PointAdd: 2, PointMax: 1 << 20}[x.Op]; x.Sources < 1 || x.Sources > max(1, most) {
		return fmt.Errorf("%d sources, expected 1 to %d", x.Sources, max(1, most))
	}
	if x.Sources > 1 {
		name := "max"
		if x.Op == PointAdd {
			name = "add"
		}
		p, err := build(name, x.wide, nil)
		if err != nil {
			return err
		}
		for turn := range x.combine {
			if x.combine[turn], err = place(p, []word{{base: x.acc[turn], width: in, sign: in}, {base: x.source, width: in, sign: in}}, x.acc[1-turn]); err != nil {
				return err
			}
		}
	}
	turn := (x.Sources + 1) % 2 // of what all sources amount to
	x.result = x.acc[turn]
	switch x.Op {
	case PointReLU:
		p, err := build("relu", in, nil)
		if err != nil {
			return err
		}
		if err := then(p, []word{first}, x.acc[1]); err != nil {
			return err
		}
	case PointAdd:
		lo, hi := x.Out.Range()
		clip := func(op string, value int64) error {
			p, err := build(op, x.wide, &value)
			if err != nil {
				return err
			}
			err = then(p, []word{sum(turn)}, x.acc[1-turn])
			turn = 1 - turn
			return err
		}
		if err := clip("min", hi); err != nil {
			return err
		}
		if signed {
			if err := clip("max", lo); err != nil {
				return err
			}
		}
	case PointRequantise, PointRequantiseReLU:
		x.shifts = true
		p, err := build("add", x.wide, nil)
		if err != nil {
			return err
		}
		// Half of a step is known when the program is executed: the same instructions read
		// constants in the place of a row.
		if err := then(p, []word{first, {fixed: true}}, x.acc[1]); err != nil {
			return err
		}
		if signed && (x.Op == PointRequantiseReLU || !x.Out.Signed) {
			p, err := build("relu", x.wide, nil)
			if err != nil {
				return err
			}
			if err := then(p, []word{sum(1)}, x.acc[0]); err != nil {
				return err
			}
		}
	}
	if used > x.q.mac.usable {
		return fmt.Errorf("%w: it takes %d, %d can be used", arith.ErrRows, used, x.q.mac.usable)
	}
	return nil
}

// rounding makes the program that adds half of a step of 2^shift.
func (x *Pointwise) rounding(ctx context.Context, shift int) (*placedKernel, error) {
	p, err := arith.Build(ctx, arith.Spec{Op: fmt.Sprintf("int%d.add", x.wide), Tech: x.q.mac.tech.Name, Rows: x.q.Platform.Array.Rows})
	if err != nil {
		return nil, err
	}
	first := word{base: x.acc[0], width: x.In.Bits, sign: x.In.Bits}
	half := word{fixed: true, value: 1 << shift >> 1}
	ins := x.q.place(p, []word{first, half}, []bool{x.In.Signed, false}, x.acc[1], x.source+2*x.In.Bits)
	return x.q.compile(ins, []word{first}, string(x.Op), true)
}

// Cost is what all rounds take, in closed form.
func (x *Pointwise) Cost() Cost {
	q, a := x.q, x.q.Platform.Array
	active := x.spread[0]
	var unit [NumParts]int64
	unit[Distribute] = int64(x.Sources) * q.rowTime(int64(x.In.Bits), int64(a.RowWriteCycles), active)
	if x.Sources > 1 {
		unit[Compute] += int64(x.Sources-1) * q.throttled(x.combine[0].time, active)
	}
	for _, k := range x.last {
		unit[Compute] += q.throttled(k.time, active)
	}
	unit[Drain] = q.rowTime(int64(x.Out.Bits), int64(a.RowReadCycles), active)
	var load, drain [platform.MaxLevels + 1]int64
	n := q.cols
	c := Cost{Units: 1, Waves: x.rounds}
	for i := range q.levels {
		n *= x.spread[i]
		load[i] = bytesOf(min(n, x.at)*int64(x.Sources), int64(x.In.Bits))
		drain[i] = bytesOf(min(n, x.at), int64(x.Out.Bits))
		c.Units *= x.spread[i]
	}
	load[q.levels], drain[q.levels] = ceilDiv(x.Fetched, x.rounds), ceilDiv(x.Stored, x.rounds)
	in, inPart := q.linkTime(&load, false)
	out, outPart := q.linkTime(&drain, true)
	for i := range q.levels + 1 {
		c.Traffic[i] = x.rounds * (load[i] + drain[i])
	}
	c.Traffic[q.levels] += x.Spilled
	c.Loads = [3]int64{x.rounds * int64(x.Sources), 0, x.rounds}
	work := int64(0)
	for p := range NumParts {
		work += unit[p]
		c.Parts[p] += x.rounds * unit[p]
	}
	c.Parts[OffChip] += q.offTime(x.Spilled)
	c.Parts[inPart] += in // of the first round
	c.Parts[outPart] += out
	longer := func(count, t int64, part Part) { c.Parts[part] += count * max(0, t-work) }
	if x.rounds > 1 {
		longer(1, in, inPart) // beside the first round
		longer(1, out, outPart)
		if out > in {
			longer(x.rounds-2, out, outPart)
		} else {
			longer(x.rounds-2, in, inPart)
		}
	}
	for p := range NumParts {
		c.Cycles += c.Parts[p]
	}
	return c
}

// Bound is cycles below which no way to do the work in these arrays can be.
func (x *Pointwise) Bound() Bound {
	q := x.q
	b := Bound{0, "nothing to do"}
	out, in := bytesOf(x.Elements, int64(x.Out.Bits)), bytesOf(x.Elements*int64(x.Sources), int64(x.In.Bits))
	for _, n := range []int64{out, in} {
		if c := ceilDiv(n*1000, q.milli[q.levels-1]); c > b.Cycles {
			b = Bound{c, fmt.Sprintf("%d bytes over the link of level %s", n, q.Platform.Levels[q.levels-1].Name)}
		}
	}
	if q.buffer > 0 {
		if c := ceilDiv((max(x.Fetched, x.Stored)+x.Spilled)*1000, q.offMilli); c > b.Cycles {
			b = Bound{c, fmt.Sprintf("%d bytes on the link off chip", max(x.Fetched, x.Stored)+x.Spilled)}
		}
	}
	return b
}

// Clock runs through the rounds one by one. It shares no formula with Cost and must agree
// with it.
func (x *Pointwise) Clock(ctx context.Context) (Cost, error) {
	q, p := x.q, x.q.Platform
	var c Cost
	spend := func(part Part, cycles int64) {
		c.Parts[part] += cycles
		c.Cycles += cycles
	}
	move := func(words, bits, off int64, drain bool) (int64, Part) {
		slowest, latency, part := int64(0), int64(0), Distribute
		if drain {
			part = Drain
		}
		lanes := int64(1)
		use := func(bytes int64, bandwidth float64, lat int, as Part) {
			if bytes == 0 {
				return
			}
			latency += int64(lat)
			m := platform.Milli(bandwidth)
			if t := (bytes*1000 + m - 1) / m; t > slowest {
				slowest, part = t, as
			}
		}
		plain := part
		_, cols := p.GoodColumns()
		for i, l := range p.Levels {
			lanes *= x.spread[i]
			bytes := (min(lanes*int64(cols), x.at)*words*bits + 7) / 8
			c.Traffic[i] += bytes
			as := plain
			if l.Transpose {
				as = Transpose
			}
			use(bytes, l.BytesPerCycle, l.LatencyCycles, as)
		}
		if p.OffChip != nil {
			c.Traffic[len(p.Levels)] += off
			use(off, p.OffChip.BytesPerCycle, p.OffChip.LatencyCycles, OffChip)
		}
		return slowest + latency, part
	}
	fetch := func() (int64, Part) {
		c.Loads[Src1] += int64(x.Sources)
		return move(int64(x.Sources), int64(x.In.Bits), (x.Fetched+x.rounds-1)/x.rounds, false)
	}
	store := func() (int64, Part) {
		c.Loads[Dst]++
		return move(1, int64(x.Out.Bits), (x.Stored+x.rounds-1)/x.rounds, true)
	}
	if x.Spilled > 0 {
		m := platform.Milli(p.OffChip.BytesPerCycle)
		spend(OffChip, (x.Spilled*1000+m-1)/m+int64(p.OffChip.LatencyCycles))
		c.Traffic[len(p.Levels)] += x.Spilled
	}
	c.Units = 1
	for i := range p.Levels {
		c.Units *= x.spread[i]
	}
	t, part := fetch()
	spend(part, t)
	for done := int64(0); done < x.Elements; done += x.at {
		if c.Waves++; c.Waves%4096 == 0 && ctx.Err() != nil {
			return c, ctx.Err()
		}
		began := c.Cycles
		for s := range x.Sources {
			spend(Distribute, q.rowTime(int64(x.In.Bits), int64(p.Array.RowWriteCycles), x.spread[0]))
			if s > 0 {
				spend(Compute, q.throttled(x.combine[(s+1)%2].time, x.spread[0]))
			}
		}
		for _, k := range x.last {
			spend(Compute, q.throttled(k.time, x.spread[0]))
		}
		spend(Drain, q.rowTime(int64(x.Out.Bits), int64(p.Array.RowReadCycles), x.spread[0]))
		beside, as := int64(0), Distribute
		if done+x.at < x.Elements {
			beside, as = fetch()
		}
		if done > 0 { // the round before
			if t, part := store(); t > beside {
				beside, as = t, part
			}
		}
		if over := beside - (c.Cycles - began); over > 0 {
			spend(as, over)
		}
	}
	t, part = store()
	spend(part, t)
	return c, nil
}

// PointSources gives element i of source s.
type PointSources func(s int, i int64) int64

// Execute runs the programs on every bitline and gives the results in order. Shift is the
// number of bits that a result loses when it is requantised.
func (x *Pointwise) Execute(ctx context.Context, threads, shift int, source PointSources, give func(i, v int64)) (rowOps int64, err error) {
	last := x.last
	if x.shifts {
		if shift < 0 || shift > x.In.Bits {
			return 0, fmt.Errorf("mapping: %s by %d bits, expected 0 to %d", x.Op, shift, x.In.Bits)
		}
		k, err := x.rounding(ctx, shift)
		if err != nil {
			return 0, err
		}
		if k.time != last[0].time {
			return 0, fmt.Errorf("mapping: %s: the program for %d bits takes %d cycles, the model has %d", x.Op, shift, k.time.cycles, last[0].time.cycles)
		}
		last = append([]*placedKernel{k}, last[1:]...)
	}
	lanes := int64(sram.GroupCols)
	var ops atomic.Int64
	err = parallel(ctx, threads, int(ceilDiv(x.Elements, lanes)), nil, func() func(int) error {
		g := sram.NewGroups(1, x.q.Platform.Array.Rows)[0]
		run := func(k *placedKernel) {
			x.fail(g)
			k.code.RunGroup(g)
			ops.Add(int64(len(k.code.Kernel().Instrs)) * sram.GroupCols)
		}
		return func(block int) error {
			from := int64(block) * lanes
			n := min(lanes, x.Elements-from)
			for s := range x.Sources {
				at := x.source
				if s == 0 {
					at = x.acc[0]
				}
				for k := int64(0); 64*k < n; k++ {
					var plane [64]uint64
					for i := range min(64, n-64*k) {
						v := uint64(source(s, from+64*k+i))
						for b := range x.In.Bits {
							plane[b] |= v >> b & 1 << i
						}
					}
					for b := range x.In.Bits {
						g.Row(x.q.physical(at + b))[k] = plane[b]
					}
				}
				if s > 0 {
					run(x.combine[(s+1)%2])
				}
			}
			for _, k := range last {
				run(k)
			}
			low := x.result
			width := min(x.Out.Bits, x.wide)
			if x.shifts {
				low += shift
				width = min(x.Out.Bits, x.wide-shift)
			}
			for i := range n {
				v := int64(0)
				for b := range width {
					v |= int64(g.Row(x.q.physical(low + b))[i/64]>>(i%64)&1) << b
				}
				if x.Out.Signed && (x.In.Signed || width == x.Out.Bits) {
					v = v << (64 - width) >> (64 - width)
				}
				give(from+i, v)
			}
			return nil
		}
	})
	return ops.Load(), err
}

// fail gives faulty rows other values than what is written there.
func (x *Pointwise) fail(g sram.Group) {
	if f := x.q.Platform.Faults; f != nil {
		for _, r := range f.Rows {
			row := g.Row(r)
			for k := range row {
				row[k] = ^row[k]
			}
		}
	}
}
