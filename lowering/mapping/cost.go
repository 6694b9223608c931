package mapping

import (
	"math/bits"

	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// Part is what cycles are spent on. The parts of a [Cost] sum to its cycles.
type Part uint8

// The parts.
const (
	OffChip    Part = iota // waiting for loads from and stores to off-chip memory
	Distribute             // waiting for operands on links, and writing them into units
	Program                // writing matrices into crossbars, columns into banks
	Compute                // products and sums
	Reduce                 // sums over bitlines and over units
	Drain                  // reading results out
	Transpose              // waiting for links that turn words into bit rows
	Sync                   // latencies of links at the ends of phases
	Idle                   // waiting for rows of banks to open
	NumParts
)

func (p Part) String() string {
	return [...]string{"off-chip", "distribute", "program", "compute", "reduce", "drain", "transpose", "sync", "idle"}[p]
}

// Cost is what a mapping takes.
type Cost struct {
	Cycles int64 // of the unit's clock
	Parts  [NumParts]int64
	Waves  int64 // invocations of each unit
	// Traffic has the bytes that pass the link into one group of each level, and, at
	// the end, those from and to off-chip memory.
	Traffic [platform.MaxLevels + 1]int64
	Units   int64 // that compute
	// Loads is how often units take a source, and how often a result leaves them.
	Loads [3]int64
}

// Violation is the first rule that a mapping breaks; 0 is none.
type Violation uint8

// The rules, in the order in which they are looked at.
const (
	Legal      Violation = iota
	BadBinding           // B1 or B2
	BadProduct           // factors of a loop below its extent
	BadDims              // B4, and sizes of dimensions
	BadFanOut            // more groups than a level has
	BadColumns           // columns of a unit
	BadRows              // rows, or registers, of a unit
	BadBuffer            // capacity of the buffer
	BadLength            // more than 2^40 invocations
	BadSplit             // B3
	BadOverlap           // loads beside computing, where weights are instructions
	NumViolations
)

func (v Violation) String() string {
	return [...]string{"legal", "binding (B1, B2)", "factors below extent", "dimension", "fan-out", "columns", "rows", "buffer", "length", "split loop (B3)", "overlap"}[v]
}

const maxWaves = 1 << 40

// shape is what follows from the factors, whatever the order of loops.
type shape struct {
	m        *Mapping
	f        *functionInfo
	size     [3]int64                            // of the dimensions
	inner    int64                               // accumulators beside each other
	tileUnit [MaxLoops]int64                     // dimensions and inner
	tile     [platform.MaxLevels][MaxLoops]int64 // with levels up to one
	tileChip [MaxLoops]int64                     // with waves
	spatial  [platform.MaxLevels]int64           // product of a level
	reduce   [platform.MaxLevels]int64           // of it over reductions
	waveLoop uint16                              // loops with factors in time
	tileLoop uint16
	timeRed  int64 // factors of reductions in time
	open     int   // of a quotient: the first class without sizes in units
	leveled  bool  // all have sizes in levels
}

// price is the cycles of the steps of a mapping.
type price struct {
	unit      [NumParts]int64                  // an invocation
	write     [3]int64                         // of an operand that changes, in the unit
	finish    [NumParts]int64                  // of a result, in the unit
	load      [3][platform.MaxLevels + 1]int64 // bytes by level, off chip at the end
	drain     [platform.MaxLevels + 1]int64
	summing   int64    // cycles of sums over units on links, of finish
	tileLoad  [3]int64 // bytes from off chip
	tileDrain int64
	bankWrite int64 // once, at the start
	constants int64 // cycles of all products whose weights are instructions, at least
	columns   int64
	column    int64 // bits of a bitline's sum
	spills    bool  // a result that shall stay in the buffer leaves unfinished
}

// Cost prices a mapping. It allocates nothing. The orders of loops must be
// permutations, which [Problem.Check] looks at.
func (q *Problem) Cost(m *Mapping, c *Cost) Violation { return q.cost(m, c, true) }

// Estimate is Cost where weights are operands. Where they are instructions, cycles are a
// bound from below, as if all programs were equally long: that takes no look at each weight.
func (q *Problem) Estimate(m *Mapping, c *Cost) Violation { return q.cost(m, c, false) }

func (q *Problem) cost(m *Mapping, c *Cost, exact bool) Violation {
	s := shape{m: m}
	var p price
	if v := q.shape(&s); v != Legal {
		return v
	}
	if v := q.price(&s, &p); v != Legal {
		return v
	}
	if p.spills {
		return BadBuffer
	}
	if exact && s.f.program {
		p.constants = q.constantCycles(&s, int(p.column))
	}
	return q.total(&s, &p, c)
}

// shape works out sizes and looks at what they must keep.
func (q *Problem) shape(s *shape) Violation {
	m := s.m
	if int(m.Function) >= len(q.functions) {
		return BadBinding
	}
	s.f = &q.functions[m.Function]
	swap := 0
	if m.Swap {
		swap = 1
	}
	if !s.f.ok[swap] {
		return BadBinding
	}
	legal := &s.f.legal[swap]
	var n [MaxLoops]int64 // of each loop, up to a slot
	for l := range n {
		n[l] = 1
	}
	bad, bound, split := uint16(0), uint16(0), uint16(0)
	for sl := range NumSlots {
		row := &m.Factor[sl]
		used, all, red := uint16(0), int64(1), int64(1)
		for l := range q.loops {
			x := int64(row[l])
			if x == 1 {
				continue
			}
			used |= 1 << l
			all *= x
			n[l] *= x
			if q.reduction>>l&1 == 1 {
				red *= x
			}
		}
		bad |= used &^ legal[sl]
		switch {
		case sl < SlotInner:
			s.size[sl] = all
			split |= bound & used
			bound |= used
		case sl == SlotInner:
			s.inner, s.tileUnit = all, n
		case sl < SlotWave:
			i := sl - SlotLevel
			s.spatial[i], s.reduce[i], s.tile[i] = all, red, n
		case sl == SlotWave:
			s.waveLoop, s.timeRed, s.tileChip = used, red, n
		default:
			s.tileLoop = used
			s.timeRed *= red
		}
	}
	if bad != 0 {
		return BadBinding
	}
	if q.Options.Paper && split != 0 {
		return BadSplit
	}
	if q.relaxed {
		s.leastTiles(q)
	} else {
		for l := range q.loops {
			if n[l] < int64(q.extent[l]) {
				return BadProduct
			}
			if s.tileChip[l] > 1<<31 || m.Factor[SlotTile][l] > 1<<31 {
				return BadLength
			}
		}
	}
	for d := range s.f.dims {
		if s.size[d] > int64(s.f.maxSize[d]) {
			return BadDims
		}
		if q.Options.Paper && s.size[d] == 1 && !q.unitLoop(m, s.f, d) {
			return BadDims
		}
	}
	for i := range q.levels {
		if s.spatial[i] > int64(q.fanOut[i]) {
			return BadFanOut
		}
	}
	if s.f.program && (m.Double || m.DoubleTile) {
		return BadOverlap
	}
	if q.good != nil {
		groups := int64(1)
		for i := 1; i < q.levels; i++ {
			groups *= s.spatial[i]
		}
		if s.spatial[0] > q.good[groups-1] { // the groups with the fewest faults are taken
			return BadFanOut
		}
	}
	return Legal
}

// leastTiles sets the iterations of classes that lie in tiles at least: what is above
// them goes round no more often than it does.
func (s *shape) leastTiles(q *Problem) {
	for l := range q.loops {
		whole, above := int64(q.extent[l]), int64(s.m.Factor[SlotTile][l])
		if l >= s.open {
			whole = 1
		}
		s.tileChip[l] = ceilDiv(whole, above)
		above *= int64(s.m.Factor[SlotWave][l])
		for i := q.levels - 1; i >= 0; i-- {
			s.tile[i][l] = ceilDiv(whole, above)
			above *= int64(s.m.Factor[SlotLevel+i][l])
		}
		s.tileUnit[l] = ceilDiv(whole, above)
	}
}

// unitLoop reports whether a dimension of size 1 may be taken for one that a loop of
// extent 1 is bound to.
func (q *Problem) unitLoop(m *Mapping, f *functionInfo, d int) bool {
	swap := 0
	if m.Swap {
		swap = 1
	}
	for l := range q.loops {
		if q.extent[l] == 1 && f.legal[swap][SlotDim+d]>>l&1 == 1 {
			return true
		}
	}
	return false
}

// ceilDiv divides and rounds up.
func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// bytesOf returns the bytes of elements.
func bytesOf(elements, bits int64) int64 { return (elements*bits + 7) >> 3 }

// price works out what the steps take, and looks at capacities.
func (q *Problem) price(s *shape, p *price) Violation {
	var v Violation
	switch {
	case q.mac != nil:
		v = q.priceArray(s, p)
	case q.Platform.Crossbar != nil && q.Platform.Executor == platform.CrossbarExecutor:
		v = q.priceCrossbar(s, p)
	default:
		v = q.priceSIMD(s, p)
	}
	if v != Legal {
		return v
	}
	return q.priceLinks(s, p)
}

// priceLinks works out the bytes of loads and drains.
func (q *Problem) priceLinks(s *shape, p *price) Violation {
	m := s.m
	kept := int64(0)
	for o := range 3 {
		t := &q.tensors[m.Tensor(o)]
		width := t.bits
		if o == Dst {
			width = int64(q.accBits)
		}
		below := t.elements(&s.tileUnit)
		for i := range q.levels {
			here := t.elements(&s.tile[i])
			b := bytesOf(here, width)
			if o != Dst && !q.Platform.Levels[i].Multicast {
				b = bytesOf(below, width) * s.spatial[i]
			}
			if o == Dst && q.Platform.Levels[i].NoReduction {
				b *= s.reduce[i]
			}
			below = here
			if o == Dst {
				p.drain[i] = b
			} else if o != Src2 || !s.f.program {
				p.load[o][i] = b
			}
		}
		if q.buffer == 0 || o == Src2 && s.f.program {
			continue
		}
		if q.Options.Resident[m.Tensor(o)] {
			loops := s.tileLoop
			if !m.Keep[o] {
				loops |= s.waveLoop
			}
			p.spills = p.spills || o == Dst && s.partialOut(q, loops)
			continue
		}
		if !m.Keep[o] {
			if o == Dst {
				// A sum that is not finished comes back.
				w := int64(q.outBits)
				if s.partialOut(q, s.waveLoop|s.tileLoop) {
					w = 2 * width
				}
				p.drain[q.levels] = bytesOf(below, w)
			} else {
				p.load[o][q.levels] = bytesOf(below, width)
			}
			continue
		}
		chip := t.elements(&s.tileChip)
		b := bytesOf(chip, width)
		if m.DoubleTile && t.indexed&s.tileLoop != 0 {
			kept += 2 * b
		} else {
			kept += b
		}
		if o == Dst {
			w := int64(q.outBits)
			if s.partialOut(q, s.tileLoop) {
				w = 2 * width
			}
			p.tileDrain = bytesOf(chip, w)
		} else {
			p.tileLoad[o] = b
		}
	}
	if kept > q.buffer-q.Options.Held && q.buffer > 0 {
		return BadBuffer
	}
	return Legal
}

// partialOut reports whether results leave before all their products are added: loops
// in time that reduce, and others that come round.
func (s *shape) partialOut(q *Problem, loops uint16) bool {
	return loops&q.reduction != 0 && loops&q.tensors[Dst].indexed != 0
}

// linkTime returns the cycles of bytes on the links of all levels at once, and which
// part they are.
func (q *Problem) linkTime(bytes *[platform.MaxLevels + 1]int64, drain bool) (int64, Part) {
	best, part := int64(0), Distribute
	if drain {
		part = Drain
	}
	lat := int64(0)
	for i := range q.levels {
		if bytes[i] == 0 {
			continue
		}
		lat += q.latency[i]
		if t := ceilDiv(bytes[i]*1000, q.milli[i]); t > best {
			best = t
			if drain {
				part = Drain
			} else {
				part = Distribute
			}
			if q.Platform.Levels[i].Transpose {
				part = Transpose
			}
		}
	}
	if b := bytes[q.levels]; b > 0 && q.offMilli > 0 {
		lat += q.offLatency
		if t := ceilDiv(b*1000, q.offMilli); t > best {
			best, part = t, OffChip
		}
	}
	if best == 0 {
		return 0, part
	}
	return best + lat, part
}

func (q *Problem) offTime(bytes int64) int64 {
	if bytes == 0 {
		return 0
	}
	return ceilDiv(bytes*1000, q.offMilli) + q.offLatency
}

// loadTime returns the cycles of loading operands, a mask, over links.
func (q *Problem) loadTime(p *price, mask uint8) (int64, Part) {
	if q.Platform.Executor == platform.SIMDExecutor || mask&3 == 0 {
		return 0, Distribute
	}
	var sum [platform.MaxLevels + 1]int64
	for o := range 2 {
		if mask>>o&1 == 1 {
			for i := range sum {
				sum[i] += p.load[o][i]
			}
		}
	}
	return q.linkTime(&sum, false)
}

// nest is the loops of a slot in time from the outermost, with what changes when each
// of them goes on and those within begin anew.
type nest struct {
	n       int
	count   [MaxLoops]int64
	changed [MaxLoops]uint8 // operands
}

// nestOf lists the loops of a slot; inner are operands that change with any of them.
func (s *shape) nestOf(q *Problem, order *[MaxLoops]uint8, slot int, inner uint8, out *nest) {
	out.n = 0
	for i := range q.loops {
		l := order[i]
		if f := s.m.Factor[slot][l]; f > 1 {
			out.count[out.n] = int64(f)
			c := uint8(0)
			for o := range 3 {
				c |= uint8(q.tensors[s.m.Tensor(o)].indexed>>l&1) << o
			}
			out.changed[out.n] = c
			out.n++
		}
	}
	mask := inner
	for i := out.n - 1; i >= 0; i-- {
		mask |= out.changed[i]
		out.changed[i] = mask
	}
}

// ends marks the start and the end of a nest in the place of a loop.
const ends = -1

// total sums the phases. Which follow each other is known: between two steps of an
// outer loop the innermost one runs from end to end.
func (q *Problem) total(s *shape, p *price, c *Cost) Violation {
	var waves, tiles, chip nest
	s.nestOf(q, &s.m.Wave, SlotWave, 0, &waves)
	all := uint8(0)
	if waves.n > 0 {
		all = waves.changed[0]
	}
	s.nestOf(q, &s.m.Tile, SlotTile, all, &tiles)
	s.nestOf(q, &s.m.Tile, SlotTile, 0, &chip)
	nw, nt := int64(1), int64(1)
	for i := range waves.n {
		nw *= waves.count[i]
	}
	for i := range tiles.n {
		nt *= tiles.count[i]
	}
	if hi, lo := bits.Mul64(uint64(nw), uint64(nt)); hi != 0 || lo > maxWaves || s.f.program && lo > maxConstantWaves {
		return BadLength
	}
	*c = Cost{Waves: nw * nt, Units: 1}
	for i := range q.levels {
		c.Units *= s.spatial[i]
	}
	t := summer{q: q, s: s, p: p, c: c, waves: &waves, tiles: &tiles, chip: &chip, nw: nw, nt: nt}
	for i := range NumParts {
		t.unit += p.unit[i]
		t.finish += p.finish[i]
	}
	t.drainTime, t.drainPart = q.linkTime(&p.drain, true)
	if q.Platform.Executor == platform.SIMDExecutor {
		t.drainTime = 0
	}
	t.sum()
	t.spread()
	for i := range NumParts {
		c.Cycles += c.Parts[i]
	}
	return Legal
}

// summer adds phases up.
type summer struct {
	q            *Problem
	s            *shape
	p            *price
	c            *Cost
	waves, tiles *nest
	chip         *nest
	nw, nt       int64
	unit, finish int64
	drainTime    int64
	drainPart    Part
	passing      int64 // cycles of the link off chip for what passes the buffer by

	cycles               int64    // of all parts so far
	phases, finishes     int64    // whose work is shared out at the end
	written              [3]int64 // operands
	moved                [8]int64 // operands over links, by mask
	known, passes        uint8    // of what follows, by mask
	loadCycles, passing1 [8]int64
	loadPart             [4]Part
}

func (t *summer) add(part Part, count, cycles int64) {
	t.c.Parts[part] += count * cycles
	t.cycles += count * cycles
}

// load returns what loading operands takes, each mask worked out once.
func (t *summer) load(mask uint8) (int64, Part) {
	mask &= 3
	if t.known>>mask&1 == 0 {
		t.known |= 1 << mask
		t.loadCycles[mask], t.loadPart[mask] = t.q.loadTime(t.p, mask)
	}
	return t.loadCycles[mask], t.loadPart[mask]
}

// spread shares out what was only counted: work of units, and bytes on links.
func (t *summer) spread() {
	c, p := t.c, t.p
	for i := range NumParts {
		c.Parts[i] += t.phases*p.unit[i] + t.finishes*p.finish[i]
	}
	for o, n := range t.written {
		part := Distribute
		if o == Src1 {
			part = t.q.src1Part()
		}
		c.Parts[part] += n * p.write[o]
	}
	var n [3]int64
	for mask, count := range t.moved {
		for o := range 3 {
			n[o] += count * int64(mask>>o&1)
		}
	}
	c.Loads = n
	for i := range t.q.levels + 1 {
		c.Traffic[i] += n[Src1]*p.load[Src1][i] + n[Src2]*p.load[Src2][i] + n[Dst]*p.drain[i]
	}
}

// writes adds the cycles of units that take operands, and returns one phase's.
func (t *summer) writes(mask uint8, count int64) int64 {
	n := int64(0)
	for o := range 3 {
		if mask>>o&1 == 1 {
			t.written[o] += count
			n += t.p.write[o]
		}
	}
	t.cycles += count * n
	return n
}

// src1Part is what writing the first source counts as.
func (q *Problem) src1Part() Part {
	switch q.Platform.Executor {
	case platform.CrossbarExecutor:
		return Program
	case platform.SIMDExecutor:
		return Idle
	}
	return Distribute
}

func (t *summer) traffic(mask uint8, count int64) {
	mask &= 7
	t.moved[mask] += count
	if !t.s.m.DoubleTile || t.q.buffer == 0 {
		return
	}
	if t.passes>>mask&1 == 0 {
		t.passes |= 1 << mask
		through := int64(0)
		for o := range 2 {
			if mask>>o&1 == 1 {
				through += t.p.load[o][t.q.levels]
			}
		}
		t.passing1[mask] = ceilDiv(through*1000, t.q.offMilli)
		if mask>>Dst&1 == 1 {
			t.passing1[mask] += ceilDiv(t.p.drain[t.q.levels]*1000, t.q.offMilli)
		}
	}
	t.passing += count * t.passing1[mask]
}

// phase adds a wave between two steps that are not both ends of a tile.
func (t *summer) phase(count int64, next, prev uint8) {
	unit := t.unit
	t.phases += count
	if next>>Dst&1 == 1 {
		t.finishes += count
		unit += t.finish
	}
	t.cycles += count * unit
	if next&lastWave == 0 {
		unit += t.writes(next, count)
	}
	load, part := t.load(next)
	if !t.s.m.Double {
		t.add(part, count, load)
		if next>>Dst&1 == 1 {
			t.add(t.drainPart, count, t.drainTime)
		}
		return
	}
	longest := load
	if prev>>Dst&1 == 1 && t.drainTime > longest {
		longest, part = t.drainTime, t.drainPart
	}
	if longest > unit {
		t.add(part, count, longest-unit)
	}
}

// sum adds all tiles.
func (t *summer) sum() {
	if t.p.bankWrite > 0 {
		t.add(Program, 1, t.p.bankWrite)
	}
	t.add(Compute, 1, t.p.constants)
	n := t.tiles
	if n.n == 0 {
		t.tile(ends, ends, 1)
		return
	}
	// Every pair of steps around a tile, with how often it occurs.
	last := n.n - 1
	if n.count[last] > 2 {
		t.tile(last, last, (n.count[last]-2)*(t.nt/n.count[last]))
	}
	t.tile(ends, last, 1)
	t.tile(last, ends, 1)
	outer := int64(1)
	for j := range last {
		count := (n.count[j] - 1) * outer
		t.tile(j, last, count)
		t.tile(last, j, count)
		outer *= n.count[j]
	}
}

// startMask is the operands that the first tile loads into units: static ones that
// stay there are loaded already.
func (t *summer) startMask() uint8 {
	mask := uint8(7)
	time := t.s.waveLoop | t.s.tileLoop
	for o := range 2 {
		x := &t.q.tensors[t.s.m.Tensor(o)]
		if x.static && !t.q.Options.Cold && x.indexed&time == 0 {
			mask &^= 1 << o
		}
	}
	return mask
}

// tile adds tiles between two steps.
func (t *summer) tile(prev, next int, count int64) {
	enter, leave := t.startMask(), uint8(7)
	if prev != ends {
		enter = t.tiles.changed[prev]
	}
	if next != ends {
		leave = t.tiles.changed[next]
	}
	before, passed := t.cycles, t.passing
	// Operands before the first wave, waves, the result of the last one.
	t.writes(enter, count)
	load, part := t.load(enter)
	t.add(part, count, load)
	t.traffic(enter&3, count)
	t.inner(count, leave)
	if leave>>Dst&1 == 1 && t.s.m.Double {
		t.add(t.drainPart, count, t.drainTime)
	}
	if leave>>Dst&1 == 1 {
		t.traffic(1<<Dst, count)
	}
	t.offChip(prev, next, count, (t.cycles-before)/count, (t.passing-passed)/count)
}

// inner adds the waves of count tiles whose last result leaves by the mask.
func (t *summer) inner(count int64, leave uint8) {
	n := t.waves
	if n.n == 0 {
		t.phase(count, leave&(1<<Dst)|lastWave, 0)
		return
	}
	last := n.n - 1
	c := n.changed[last]
	if n.count[last] > 2 {
		k := (n.count[last] - 2) * (t.nw / n.count[last])
		t.phase(k*count, c, c)
		t.traffic(c, k*count)
	}
	t.phase(count, c, 0)
	t.traffic(c, count)
	t.phase(count, leave&(1<<Dst)|lastWave, c)
	outer := int64(1)
	for j := range last {
		k := (n.count[j] - 1) * outer * count
		t.phase(k, c, n.changed[j])
		t.phase(k, n.changed[j], c)
		t.traffic(c, k)
		t.traffic(n.changed[j], k)
		outer *= n.count[j]
	}
}

// lastWave marks the wave after which nothing is loaded or cleared: the result leaves,
// what follows belongs to the next tile.
const lastWave = 1 << 7

// offChip adds what loading and storing tiles of the buffer takes beyond the cycles of
// a tile. With the next tile, what passes the buffer by shares the link.
func (t *summer) offChip(prev, next int, count, cycles, passing int64) {
	if t.q.buffer == 0 {
		return
	}
	m := t.s.m
	loads := func(mask uint8) int64 {
		n := int64(0)
		for o := range 2 {
			if mask>>o&1 == 1 {
				n += t.p.tileLoad[o]
			}
		}
		return n
	}
	mask := func(step int, start bool) uint8 {
		if step != ends {
			return t.chip.changed[step]
		}
		if !start {
			return 1 << Dst
		}
		all := uint8(3)
		for o := range 2 {
			x := &t.q.tensors[m.Tensor(o)]
			if x.static && !t.q.Options.Cold && x.indexed&t.s.tileLoop == 0 {
				all &^= 1 << o
			}
		}
		return all
	}
	off := t.q.levels
	if prev == ends {
		b := loads(mask(prev, true))
		t.add(OffChip, count, t.q.offTime(b))
		t.c.Traffic[off] += count * b
	}
	nextMask := mask(next, false)
	loadBytes, drainBytes := loads(nextMask), int64(0)
	if nextMask>>Dst&1 == 1 {
		drainBytes = t.p.tileDrain
	}
	t.c.Traffic[off] += count * (loadBytes + drainBytes)
	if !m.DoubleTile {
		t.add(OffChip, count, t.q.offTime(loadBytes)+t.q.offTime(drainBytes))
		return
	}
	before := int64(0)
	if prev != ends && t.chip.changed[prev]>>Dst&1 == 1 {
		before = t.p.tileDrain
	}
	if x := t.q.offTime(loadBytes) + t.q.offTime(before); x > 0 && x+passing > cycles {
		t.add(OffChip, count, x+passing-cycles)
	}
	if next == ends {
		t.add(OffChip, count, t.q.offTime(drainBytes))
	}
}

// Kept returns the bytes of the buffer that the tiles of a legal mapping take, beside
// tensors that lie there all the time.
func (q *Problem) Kept(m *Mapping) int64 {
	s := shape{m: m}
	if q.buffer == 0 || q.shape(&s) != Legal {
		return 0
	}
	n := int64(0)
	for o := range 3 {
		t := &q.tensors[m.Tensor(o)]
		if !m.Keep[o] || q.Options.Resident[m.Tensor(o)] || o == Src2 && s.f.program {
			continue
		}
		b := bytesOf(t.elements(&s.tileChip), t.bits)
		if m.DoubleTile && t.indexed&s.tileLoop != 0 {
			b *= 2
		}
		n += b
	}
	return n
}
