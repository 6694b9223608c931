package mapping

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// naive is a machine that is run cycle by cycle, from the fields of a mapping and of a platform
// alone: links carry as many bytes in every cycle as they can, units execute an instruction or move
// a row, and a wave ends when nothing of it is left. Tiles are sets of elements. It shares no code
// with closed form, clock and waves.
type naive struct {
	o *dnn.Operator
	p *platform.Platform
	m *Mapping
	c bool // cold

	cycle int64
}

// below is the product of a loop's factors under a slot.
func (n *naive) below(loop, slot int) int {
	x := 1
	for s := 0; s < slot; s++ {
		x *= int(n.m.Factor[s][loop])
	}
	return x
}

// tensor is the operand of the function.
func (n *naive) tensor(o int) *dnn.Tensor {
	if n.m.Swap && o < 2 {
		o = 1 - o
	}
	return &n.o.Tensors[o]
}

// distinct counts the elements of an operand that the iterations below a slot touch, in sets of
// indices, at most as many as the tensor has along each of its dimensions.
func (n *naive) distinct(o, slot int) int64 {
	all := int64(1)
	for d, row := range n.tensor(o).Access {
		seen := map[int]bool{0: true}
		for l, a := range row {
			if a == 0 {
				continue
			}
			next := map[int]bool{}
			for at := range seen {
				for i := range n.below(l, slot) {
					next[at+i*max(a, -a)] = true
				}
			}
			seen = next
		}
		all *= min(int64(len(seen)), int64(n.tensor(o).Extents[d]))
	}
	return all
}

func (n *naive) indexed(o, loop int) bool {
	for _, row := range n.tensor(o).Access {
		if row[loop] != 0 {
			return true
		}
	}
	return false
}

func (n *naive) reduces(loop int) bool { return !n.indexed(2, loop) }

// accBits are those of a sum that cannot overflow.
func (n *naive) accBits() int {
	terms := 1
	for l, x := range n.o.Loops {
		if n.reduces(l) {
			terms *= x.Extent
		}
	}
	sign := 0 // of an operand that has none
	if n.o.Tensors[0].Type.Signed != n.o.Tensors[1].Type.Signed {
		sign = 1
	}
	return n.o.Tensors[0].Type.Bits + n.o.Tensors[1].Type.Bits + sign + bits.Len(uint(terms-1))
}

func (n *naive) width(o int) int64 {
	if o == 2 {
		return int64(n.accBits())
	}
	return int64(n.tensor(o).Type.Bits)
}

func bytesUp(elements, width int64) int64 { return (elements*width + 7) / 8 }

// pipe is a link that carries thousandths of bytes.
type pipe struct{ left, rate int64 }

// ship is a transfer over several links at once, whose last byte takes their latencies more.
type ship struct {
	pipes   []pipe
	latency int64
}

func (s *ship) tick() (busy bool) {
	for i := range s.pipes {
		if s.pipes[i].left > 0 {
			s.pipes[i].left -= s.pipes[i].rate
			busy = true
		}
	}
	if busy {
		return true
	}
	if s.latency > 0 {
		s.latency--
		return true
	}
	return false
}

func (s *ship) add(bytes int64, rate float64, latency int) {
	if bytes > 0 {
		s.pipes = append(s.pipes, pipe{1000 * bytes, int64(rate*1000 + 0.5)})
		s.latency += int64(latency)
	}
}

func (n *naive) factors(slot int, which func(l int) bool) int64 {
	x := int64(1)
	for l := range n.o.Loops {
		if which(l) {
			x *= int64(n.m.Factor[slot][l])
		}
	}
	return x
}

func every(int) bool { return true }

// shipment is the transfer of operands, a mask, into units, or of a result out of them.
func (n *naive) shipment(mask int) *ship {
	s := &ship{}
	levels := len(n.p.Levels)
	for i, l := range n.p.Levels {
		sum := int64(0)
		for o := range 3 {
			if mask>>o&1 == 0 {
				continue
			}
			here := bytesUp(n.distinct(o, SlotLevel+i+1), n.width(o))
			if o < 2 && !l.Multicast {
				here = bytesUp(n.distinct(o, SlotLevel+i), n.width(o)) * n.factors(SlotLevel+i, every)
			}
			if o == 2 && l.NoReduction {
				here *= n.factors(SlotLevel+i, n.reduces)
			}
			sum += here
		}
		s.add(sum, l.BytesPerCycle, l.LatencyCycles)
	}
	if n.p.OffChip != nil {
		sum := int64(0)
		for o := range 3 {
			if mask>>o&1 == 0 || n.m.Keep[o] {
				continue
			}
			w := n.width(o)
			if o == 2 {
				w = n.leaving(SlotWave, SlotTile)
			}
			sum += bytesUp(n.distinct(o, SlotLevel+levels), w)
		}
		s.add(sum, n.p.OffChip.BytesPerCycle, n.p.OffChip.LatencyCycles)
	}
	return s
}

// leaving is the width of a result off chip: requantised, or a sum that is read, added and written.
func (n *naive) leaving(slots ...int) int64 {
	again, more := false, false
	for _, s := range slots {
		again = again || n.factors(s, n.reduces) > 1
		more = more || n.factors(s, func(l int) bool { return !n.reduces(l) }) > 1
	}
	if again && more {
		return 2 * n.width(2)
	}
	return int64(n.o.Tensors[0].Type.Bits)
}

// off is the transfer of tiles of the buffer.
func (n *naive) off(mask int) *ship {
	s := &ship{}
	sum := int64(0)
	for o := range 3 {
		if mask>>o&1 == 0 || !n.m.Keep[o] {
			continue
		}
		w := n.width(o)
		if o == 2 {
			w = n.leaving(SlotTile)
		}
		sum += bytesUp(n.distinct(o, SlotTile), w)
	}
	s.add(sum, n.p.OffChip.BytesPerCycle, n.p.OffChip.LatencyCycles)
	return s
}

func (n *naive) run(s *ship) {
	for s.tick() {
		n.cycle++
	}
}

// unit is what a unit does, as numbers of cycles that are run through.
type unit struct {
	invoke, finish int64
	write          [3]int64
}

// array plans the work of a bitline by its programs, instruction by instruction.
func (n *naive) array(t interface{ Fatal(...any) }) unit {
	a := n.p.Array
	program := func(op string) (count int64) {
		p, err := arith.Build(context.Background(), arith.Spec{Op: op, Tech: a.Technology, Rows: a.Rows})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range p.Kernel.Instrs {
			class := p.Kernel.Tech.Ops[i.Op].Class
			if c, ok := a.ClassCycles[class.String()]; ok {
				count += int64(c)
			} else {
				count += int64(max(1, a.DefaultCycles))
			}
		}
		return count
	}
	signed, mixed := n.o.Tensors[0].Type.Signed || n.o.Tensors[1].Type.Signed, n.o.Tensors[0].Type.Signed != n.o.Tensors[1].Type.Signed
	w := 2
	for o := range 2 {
		b := n.tensor(o).Type.Bits
		if mixed && !n.tensor(o).Type.Signed {
			b++
		}
		w = max(w, b)
	}
	name := "uint"
	if signed {
		name = "int"
	}
	f := &n.p.Functions[n.m.Function]
	words, across, columns, spread := 1, 1, 1, 1
	var along []int // sizes of reductions over columns, in order
	for d := range f.Dims {
		size := int(n.factors(d, every))
		switch {
		case f.Dims[d].Kind == "parallel":
			columns *= size
		case f.Operands[0].Layout["column"][f.Dims[d].Name] != "":
			along = append(along, size)
			across *= size
		default:
			words *= size
		}
	}
	for i := range n.p.Levels {
		spread *= int(n.factors(SlotLevel+i, n.reduces))
	}
	times := int(n.factors(SlotWave, n.reduces) * n.factors(SlotTile, n.reduces))
	log := func(x int) int { return bits.Len(uint(x - 1)) }
	most := max(n.accBits(), 2*w)
	width := min(most, 2*w+log(words*times))
	final := min(most, width+log(across*spread))
	var u unit
	u.invoke = int64(words) * (program(fmt.Sprintf("%s%d.mulw", name, w)) + program(fmt.Sprintf("int%d.add", width)))
	for o := range 2 {
		u.write[o] = int64(words*n.tensor(o).Type.Bits) * int64(a.RowWriteCycles)
	}
	u.write[2] = int64(width) * int64(a.RowWriteCycles)
	grow := func() {
		if width < final {
			u.finish += int64(a.RowWriteCycles)
			width++
		}
		u.finish += program(fmt.Sprintf("int%d.add", width))
	}
	for _, k := range along {
		for k > 1 {
			stay := 1
			for 2*stay < k {
				stay *= 2
			}
			steps := 1
			if a.ShiftSteps != "one" {
				steps = max(1, bits.OnesCount(uint(columns*stay)))
			}
			u.finish += int64(width * a.ShiftCycles * steps)
			grow()
			k = stay
		}
	}
	groups := int64(1)
	for i, l := range n.p.Levels {
		groups *= n.factors(SlotLevel+i, func(l int) bool { return !n.reduces(l) })
		for k := n.factors(SlotLevel+i, n.reduces); k > 1; k = (k + 1) / 2 {
			s := &ship{}
			s.add(bytesUp(n.distinct(2, SlotLevel), int64(width))*groups*(k/2), l.BytesPerCycle, l.LatencyCycles)
			for s.tick() {
				u.finish++
			}
			u.finish += int64(width) * int64(a.RowWriteCycles)
			grow()
		}
	}
	u.finish += int64(width) * int64(a.RowReadCycles)
	return u
}

// crossbar steps the bits of the vector through the stages.
func (n *naive) crossbar() unit {
	x := n.p.Crossbar
	var u unit
	steps := (n.tensor(1).Type.Bits + x.DACBits - 1) / x.DACBits
	u.invoke = int64((steps + x.PipelineDepth - 1) * x.StageCycles)
	u.write[0] = int64(x.ProgramCycles)
	groups := int64(1)
	for i, l := range n.p.Levels {
		groups *= n.factors(SlotLevel+i, func(l int) bool { return !n.reduces(l) })
		if k := n.factors(SlotLevel+i, n.reduces); k > 1 {
			s := &ship{}
			s.add(bytesUp(n.distinct(2, SlotLevel), n.width(2))*groups*(k-1), l.BytesPerCycle, l.LatencyCycles)
			for s.tick() {
				u.finish++
			}
		}
	}
	return u
}

// at is where the loops are at a wave: a number for each loop of a slot in time.
type at struct{ wave, tile [MaxLoops]int }

// order lists all waves, the loops of tiles outside those of waves, as nested loops run.
func (n *naive) order() (out []at) {
	var loops [][2]int // slot and loop, the outermost first
	for i := range n.o.Loops {
		loops = append(loops, [2]int{SlotTile, int(n.m.Tile[i])})
	}
	for i := range n.o.Loops {
		loops = append(loops, [2]int{SlotWave, int(n.m.Wave[i])})
	}
	var x at
	var nest func(k int)
	nest = func(k int) {
		if k == len(loops) {
			out = append(out, x)
			return
		}
		s, l := loops[k][0], loops[k][1]
		p := &x.wave[l]
		if s == SlotTile {
			p = &x.tile[l]
		}
		for i := range n.m.Factor[s][l] {
			*p = int(i)
			nest(k + 1)
		}
		*p = 0
	}
	nest(0)
	return out
}

// moves are the operands that lie elsewhere at another wave, in units or in the buffer.
func (n *naive) moves(a, b at, buffer bool) (mask int) {
	for o := range 3 {
		for l := range n.o.Loops {
			if n.indexed(o, l) && (a.tile[l] != b.tile[l] || !buffer && a.wave[l] != b.wave[l]) {
				mask |= 1 << o
			}
		}
	}
	return mask
}

// simulate returns the cycles of a mapping.
func (n *naive) simulate(u unit) int64 {
	waves := n.order()
	there := func(o int, slots ...int) bool { // before the first inference that counts
		if n.c || n.tensor(o).Role != dnn.Weight {
			return false
		}
		for _, s := range slots {
			if n.factors(s, func(l int) bool { return n.indexed(o, l) }) > 1 {
				return false
			}
		}
		return true
	}
	load, fetch := 7, 3
	for o := range 2 {
		if there(o, SlotWave, SlotTile) {
			load &^= 1 << o
		}
		if there(o, SlotTile) {
			fetch &^= 1 << o
		}
	}
	writes := func(mask int) (c int64) {
		for o := range 3 {
			if mask>>o&1 == 1 {
				c += u.write[o]
			}
		}
		return c
	}
	through := func(mask int) int64 { // cycles of the link off chip for what passes the buffer by
		s := &ship{}
		for o := range 3 {
			if mask>>o&1 == 1 && !n.m.Keep[o] {
				w := n.width(o)
				if o == 2 {
					w = n.leaving(SlotWave, SlotTile)
				}
				s.add(bytesUp(n.distinct(o, SlotLevel+len(n.p.Levels)), w), n.p.OffChip.BytesPerCycle, 0)
			}
		}
		total := &ship{}
		for _, p := range s.pipes {
			if len(total.pipes) == 0 {
				total.pipes = []pipe{{0, p.rate}}
			}
			total.pipes[0].left += p.left
		}
		c := int64(0)
		for total.tick() {
			c++
		}
		return c
	}
	if n.p.OffChip != nil {
		n.run(n.off(fetch))
	}
	pending, stored := false, 0
	var tileBegan, passing int64
	for i, w := range waves {
		first := i == 0 || waves[i-1].tile != w.tile
		last := i == len(waves)-1
		tileLast := last || waves[i+1].tile != w.tile
		next := 7
		if !last {
			next = n.moves(w, waves[i+1], false)
		}
		if first {
			tileBegan, passing = n.cycle, 0
			n.cycle += writes(load)
			n.run(n.shipment(load & 3))
			if n.p.OffChip != nil {
				passing += through(load & 3)
			}
			pending = false
		}
		// The unit works; beside it, what is next is loaded and what was last drained.
		work := u.invoke
		finish := next>>2&1 == 1
		if finish {
			work += u.finish
		}
		in := &ship{}
		if !tileLast {
			work += writes(next)
			in = n.shipment(next & 3)
		}
		if n.p.OffChip != nil {
			if finish {
				passing += through(4)
			}
			if !tileLast {
				passing += through(next & 3)
			}
		}
		if n.m.Double {
			out := &ship{}
			if pending {
				out = n.shipment(4)
			}
			for {
				a, b, c := work > 0, in.tick(), out.tick()
				if !a && !b && !c {
					break
				}
				work--
				n.cycle++
			}
			pending = finish
			if tileLast && finish {
				n.run(n.shipment(4))
				pending = false
			}
		} else {
			n.cycle += work
			n.run(in)
			if finish {
				n.run(n.shipment(4))
			}
		}
		if tileLast && n.p.OffChip != nil {
			fetch, store := 0, 0
			if last {
				store = 4
			} else {
				x := n.moves(w, waves[i+1], true)
				fetch, store = x&3, x&4
			}
			if !n.m.DoubleTile {
				n.run(n.off(fetch))
				n.run(n.off(store))
			} else {
				// The link served these tiles since this one began, when nothing passed the buffer by.
				busy := int64(0)
				for _, s := range []*ship{n.off(fetch), n.off(stored)} {
					for s.tick() {
						busy++
					}
				}
				for busy > 0 && n.cycle < tileBegan+passing+busy {
					n.cycle++
				}
				stored = store
				if last {
					n.run(n.off(store))
				}
			}
		}
		load = next
	}
	return n.cycle
}

// TestCycleByCycle runs random mappings of products of matrices and convolutions on small machines
// cycle by cycle: the clock gives the same.
func TestCycleByCycle(t *testing.T) {
	ctx := context.Background()
	kinds := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlatform(t)
		if p.Executor == platform.SIMDExecutor || p.Programs() || p.Array != nil && p.Array.Throttle != nil {
			t.Skip("not one of those that are simulated")
		}
		o := drawOperator(t)
		for _, x := range o.Tensors {
			loops := map[int]int{}
			for _, row := range x.Access {
				terms := 0
				for l, a := range row {
					if a != 0 {
						terms++
						loops[l]++
					}
				}
				if terms > 2 || x.Insert != nil {
					t.Skip("elements of such a tile are bounded, not counted")
				}
			}
			for _, n := range loops {
				if n > 1 {
					t.Skip("elements of such a tile are bounded, not counted")
				}
			}
		}
		cold := rapid.Bool().Draw(t, "cold")
		q, err := New(ctx, o, p, Options{Cold: cold})
		if err != nil {
			t.Skip(err)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for range 3 {
			m, ok := q.Random(r, 30)
			if !ok {
				t.Skip("no legal mapping was drawn")
			}
			c, err := q.Clock(ctx, &m)
			if err != nil {
				t.Fatal(err)
			}
			if c.Cycles > 300_000 {
				continue
			}
			n := &naive{o: o, p: p, m: &m, c: cold}
			var u unit
			if p.Array != nil {
				u = n.array(t)
			} else {
				u = n.crossbar()
			}
			if got := n.simulate(u); got != c.Cycles {
				t.Fatalf("cycle by cycle %d, clock %d %v\n%s\n%+v", got, c.Cycles, c.Parts, q.String(&m), u)
			}
			kinds[p.Name]++
		}
	})
	t.Log(kinds)
}
