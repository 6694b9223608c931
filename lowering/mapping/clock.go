package mapping

import (
	"cmp"
	"context"
	"fmt"

	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// Clock runs through the commands of a mapping one by one and adds up when each is
// done, with the lengths of the programs that are executed and the bytes of tiles
// that were counted element by element. It shares no formula with [Problem.Cost] and
// must agree with it to the cycle. It takes time proportional to the waves.
func (q *Problem) Clock(ctx context.Context, m *Mapping) (*Cost, error) {
	return q.runClock(ctx, m, nil)
}

// Record runs the clock and calls f with what it spends cycles on, in order.
func (q *Problem) Record(ctx context.Context, m *Mapping, f func(p Part, start, cycles int64)) error {
	_, err := q.runClock(ctx, m, f)
	return err
}

func (q *Problem) runClock(ctx context.Context, m *Mapping, record func(p Part, start, cycles int64)) (*Cost, error) {
	if err := q.Check(m); err != nil {
		return nil, err
	}
	sizes := q.countTiles(m)
	unit, err := q.unitTimes(m)
	if err != nil {
		return nil, err
	}
	k := clock{q: q, m: m, tiles: sizes, unit: unit, record: record}
	for o := range 3 {
		for i := range q.levels {
			k.link[o][i] = k.linkBytes(o, i)
		}
	}
	c := &k.cost
	c.Units = 1
	for i := range q.levels {
		for l := range q.loops {
			c.Units *= int64(m.Factor[SlotLevel+i][l])
		}
	}
	k.spend(Program, unit.start)
	var prev *Wave
	var held Wave
	q.Waves(m, func(w, next *Wave) bool {
		k.wave(prev, w, next)
		held = *w
		prev = &held
		return k.err == nil && (c.Waves%4096 != 0 || ctx.Err() == nil)
	})
	if err := cmp.Or(ctx.Err(), k.err); err != nil {
		return nil, err
	}
	c.Cycles = k.now
	sum := int64(0)
	for _, p := range c.Parts {
		sum += p
	}
	if sum != c.Cycles {
		return nil, fmt.Errorf("mapping: clock: parts sum to %d cycles of %d", sum, c.Cycles)
	}
	return c, nil
}

// unitTimes are the cycles of what a unit does, from its programs.
type unitTimes struct {
	invoke   [NumParts]int64
	write    [3]int64
	finish   [NumParts]int64
	start    int64
	wport    Part                         // of writing the first source
	products func(w *Wave) (int64, error) // of weights that are instructions; nil: they are operands
}

// tileSizes are the elements of tiles.
type tileSizes struct {
	unit [3]int64
	at   [platform.MaxLevels][3]int64
	chip [3]int64
}

// countTiles counts the elements of tiles by marking them.
func (q *Problem) countTiles(m *Mapping) *tileSizes {
	var z tileSizes
	count := func(o, below int) int64 {
		t := &q.Op.Tensors[m.Tensor(o)]
		along := make([]int64, len(t.Access))
		for d, row := range t.Access {
			var loops []int
			span := int64(1)
			for l, a := range row {
				if a != 0 {
					loops = append(loops, l)
					span += int64(max(a, -a)) * (m.Below(l, below) - 1)
				}
			}
			got := span
			switch insert := t.Insert != nil && t.Insert[d] > 1; {
			case insert:
				got = (span + int64(t.Insert[d]) - 1) / int64(t.Insert[d])
			case len(loops) == 1:
				got = m.Below(loops[0], below)
			case len(loops) == 2:
				seen := make([]bool, span)
				got = 0
				a, b := row[loops[0]], row[loops[1]]
				for i := range m.Below(loops[0], below) {
					for j := range m.Below(loops[1], below) {
						at := i*int64(max(a, -a)) + j*int64(max(b, -b))
						if !seen[at] {
							seen[at] = true
							got++
						}
					}
				}
			}
			along[d] = min(got, int64(t.Extents[d]))
		}
		// Dimensions with loops in common have no more elements than those loops have iterations.
		n := int64(1)
		done := make([]bool, len(t.Access))
		for d := range t.Access {
			if done[d] {
				continue
			}
			done[d] = true
			box, members, loops := along[d], 1, map[int]bool{}
			for l, a := range t.Access[d] {
				loops[l] = a != 0
			}
			for more := true; more; {
				more = false
				for k, row := range t.Access {
					touches := false
					for l, a := range row {
						touches = touches || a != 0 && loops[l]
					}
					if done[k] || !touches {
						continue
					}
					done[k], more = true, true
					members++
					box *= along[k]
					for l, a := range row {
						loops[l] = loops[l] || a != 0
					}
				}
			}
			if members > 1 {
				iterations := int64(1)
				for l, in := range loops {
					if in {
						iterations *= m.Below(l, below)
					}
				}
				box = min(box, iterations)
			}
			n *= box
		}
		return n
	}
	for o := range 3 {
		z.unit[o] = count(o, SlotLevel)
		for i := range q.levels {
			z.at[i][o] = count(o, SlotLevel+i+1)
		}
		z.chip[o] = count(o, SlotTile)
	}
	return &z
}

// clock is the state between commands. Transfers begin with the wave beside which they
// run; a wave is over when its units and transfers are.
type clock struct {
	q       *Problem
	m       *Mapping
	tiles   *tileSizes
	unit    *unitTimes
	cost    Cost
	now     int64
	tileAt  int64                        // when the tile began
	stored  int64                        // bytes of the tile before that are still to be stored
	busy    int64                        // cycles of the tile in which the link off chip serves what passes the buffer by
	pending bool                         // a result is still to be drained
	link    [3][platform.MaxLevels]int64 // bytes of an operand on a link
	known   [2][4]bool
	moved   [2][4]transferred // by drain and operands
	took    [2][4]int64       // of a transfer, by drain and operands
	as      [2][4]Part
	err     error
	record  func(p Part, start, cycles int64) // nil: nobody listens
}

func (k *clock) spend(p Part, cycles int64) {
	if k.record != nil && cycles > 0 {
		k.record(p, k.now, cycles)
	}
	k.cost.Parts[p] += cycles
	k.now += cycles
}

// transfer returns how long a transfer takes on the slowest link; each kind is worked
// out once.
func (k *clock) transfer(load uint8, drain bool) (int64, Part) {
	d, o := 0, load&3
	if drain {
		d = 1
	}
	if !k.known[d][o] {
		k.took[d][o], k.as[d][o] = k.slowest(load, drain)
		k.known[d][o] = true
	}
	return k.took[d][o], k.as[d][o]
}

func (k *clock) slowest(load uint8, drain bool) (int64, Part) {
	q := k.q
	part := Distribute
	if drain {
		part = Drain
	}
	if q.Platform.Executor == platform.SIMDExecutor {
		return 0, part // commands of the units themselves
	}
	slowest, latency := int64(0), int64(0)
	use := func(bytes, milli, lat int64, p Part) {
		if bytes == 0 {
			return
		}
		latency += lat
		if c := (bytes*1000 + milli - 1) / milli; c > slowest {
			slowest, part = c, p
		}
	}
	for i := range q.levels {
		bytes := int64(0)
		for o := range 3 {
			if o == Dst && drain || o < Dst && load>>o&1 == 1 {
				bytes += k.link[o][i]
			}
		}
		p := Distribute
		if drain {
			p = Drain
		}
		if q.Platform.Levels[i].Transpose {
			p = Transpose
		}
		use(bytes, platform.Milli(q.Platform.Levels[i].BytesPerCycle), int64(q.Platform.Levels[i].LatencyCycles), p)
	}
	if q.Platform.OffChip != nil {
		bytes := int64(0)
		for o := range 3 {
			if (o == Dst && drain || o < Dst && load>>o&1 == 1) && !k.m.Keep[o] {
				bytes += k.throughBytes(o)
			}
		}
		use(bytes, platform.Milli(q.Platform.OffChip.BytesPerCycle), int64(q.Platform.OffChip.LatencyCycles), OffChip)
	}
	if slowest == 0 {
		return 0, part
	}
	return slowest + latency, part
}

func (k *clock) bits(o int) int64 {
	if o == Dst {
		return int64(k.q.Op.AccBits())
	}
	return int64(k.q.Op.Tensors[k.m.Tensor(o)].Type.Bits)
}

// linkBytes are those of an operand that pass the link into one group of a level.
func (k *clock) linkBytes(o, level int) int64 {
	q := k.q
	if o == Src2 && k.unit.products != nil {
		return 0
	}
	spread := int64(1)
	reduce := int64(1)
	for l := range q.loops {
		f := int64(k.m.Factor[SlotLevel+level][l])
		spread *= f
		if q.Op.Reduction(l) {
			reduce *= f
		}
	}
	if o == Dst {
		b := (k.tiles.at[level][o]*k.bits(o) + 7) / 8
		if q.Platform.Levels[level].NoReduction {
			b *= reduce
		}
		return b
	}
	if q.Platform.Levels[level].Multicast {
		return (k.tiles.at[level][o]*k.bits(o) + 7) / 8
	}
	below := k.tiles.unit[o]
	if level > 0 {
		below = k.tiles.at[level-1][o]
	}
	return (below*k.bits(o) + 7) / 8 * spread
}

// unfinished reports whether a result that leaves comes back: loops in time reduce and
// others come round.
func (k *clock) unfinished(slots ...int) bool {
	reduces, rounds := false, false
	for _, s := range slots {
		for l := range k.q.loops {
			if k.m.Factor[s][l] > 1 {
				if k.q.Op.Reduction(l) {
					reduces = true
				} else {
					rounds = true
				}
			}
		}
	}
	return reduces && rounds
}

func (k *clock) outBits(slots ...int) int64 {
	if k.unfinished(slots...) {
		return 2 * k.bits(Dst) // read, added, written
	}
	return int64(k.q.Op.Tensors[0].Type.Bits)
}

// resident reports whether an operand lies in the buffer all the time.
func (k *clock) resident(o int) bool { return k.q.Options.Resident[k.m.Tensor(o)] }

// throughBytes are those of an operand that passes the buffer by.
func (k *clock) throughBytes(o int) int64 {
	if k.resident(o) || o == Src2 && k.unit.products != nil {
		return 0
	}
	all := k.tiles.at[k.q.levels-1][o]
	if o == Dst {
		return (all*k.outBits(SlotWave, SlotTile) + 7) / 8
	}
	return (all*k.bits(o) + 7) / 8
}

// bufferBytes are those of the tiles of kept operands that are loaded.
func (k *clock) bufferBytes(load uint8) int64 {
	n := int64(0)
	for o := range 2 {
		if load>>o&1 == 1 && k.m.Keep[o] && !k.resident(o) && (o != Src2 || k.unit.products == nil) {
			n += (k.tiles.chip[o]*k.bits(o) + 7) / 8
		}
	}
	return n
}

func (k *clock) offTime(bytes int64) int64 {
	if bytes == 0 {
		return 0
	}
	milli := platform.Milli(k.q.Platform.OffChip.BytesPerCycle)
	return (bytes*1000+milli-1)/milli + int64(k.q.Platform.OffChip.LatencyCycles)
}

// transferred is what passes links in a transfer: it is counted when one like it is first made.
type transferred struct {
	known   bool
	loads   [3]int64
	traffic [platform.MaxLevels + 1]int64
	busy    int64
}

func (k *clock) passed(load uint8, drain bool) {
	d, o := 0, load&3
	if drain {
		d = 1
	}
	t := &k.moved[d][o]
	if !t.known {
		k.count(t, load, drain)
	}
	for i, n := range t.loads {
		k.cost.Loads[i] += n
	}
	for i := range k.q.levels + 1 {
		k.cost.Traffic[i] += t.traffic[i]
	}
	k.busy += t.busy
}

func (k *clock) count(t *transferred, load uint8, drain bool) {
	q := k.q
	t.known = true
	through := int64(0)
	for o := range 3 {
		if o == Dst && !drain || o < Dst && load>>o&1 == 0 {
			continue
		}
		t.loads[o] = 1
		for i := range q.levels {
			t.traffic[i] += k.link[o][i]
		}
		if q.Platform.OffChip != nil && !k.m.Keep[o] {
			through += k.throughBytes(o)
		}
	}
	if q.Platform.OffChip != nil {
		t.traffic[q.levels] = through
		t.busy = ceilDiv(through*1000, platform.Milli(q.Platform.OffChip.BytesPerCycle))
	}
}

// write spends the cycles in which units take operands.
func (k *clock) write(load uint8, fresh bool) {
	if load>>Src1&1 == 1 {
		k.spend(k.unit.wport, k.unit.write[Src1])
	}
	if load>>Src2&1 == 1 {
		k.spend(Distribute, k.unit.write[Src2])
	}
	if fresh {
		k.spend(Distribute, k.unit.write[Dst])
	}
}

// wave runs one wave, between the one before and the one after.
func (k *clock) wave(prev, w, next *Wave) {
	q, m := k.q, k.m
	k.cost.Waves++
	if w.TileFirst {
		if prev == nil && q.Platform.OffChip != nil {
			b := k.bufferBytes(w.TileLoad)
			k.spend(OffChip, k.offTime(b))
			k.cost.Traffic[q.levels] += b
		}
		k.tileAt, k.busy = k.now, 0
		k.write(w.Load, w.Fresh)
		t, p := k.transfer(w.Load, false)
		k.spend(p, t)
		k.passed(w.Load, false)
	}
	begin := k.now
	for p, c := range k.unit.invoke {
		k.spend(Part(p), c)
	}
	if k.unit.products != nil {
		c, err := k.unit.products(w)
		if err != nil {
			k.err = err
		}
		k.spend(Compute, c)
	}
	if w.Finish {
		for p, c := range k.unit.finish {
			k.spend(Part(p), c)
		}
		k.passed(0, true)
	}
	var load uint8
	if !w.TileLast {
		load = next.Load
		k.write(load, next.Fresh)
		k.passed(load, false)
	}
	loaded, loadPart := k.transfer(load, false)
	drained, drainPart := k.transfer(0, true)
	if m.Double {
		over, part := loaded, loadPart
		if k.pending && !w.TileFirst && drained > over {
			over, part = drained, drainPart
		}
		if begin+over > k.now {
			k.spend(part, begin+over-k.now)
		}
		k.pending = w.Finish
		if w.TileLast && w.Finish {
			k.spend(drainPart, drained)
			k.pending = false
		}
	} else {
		k.spend(loadPart, loaded)
		if w.Finish {
			k.spend(drainPart, drained)
		}
	}
	if !w.TileLast || q.Platform.OffChip == nil {
		return
	}
	var fetch, store int64
	if next != nil {
		fetch = k.bufferBytes(next.TileLoad)
	}
	if w.TileStore && m.Keep[Dst] && !k.resident(Dst) {
		store = (k.tiles.chip[Dst]*k.outBits(SlotTile) + 7) / 8
	}
	k.cost.Traffic[q.levels] += fetch + store
	if !m.DoubleTile {
		k.spend(OffChip, k.offTime(fetch)+k.offTime(store))
		return
	}
	if over := k.offTime(fetch) + k.offTime(k.stored); over > 0 && k.tileAt+over+k.busy > k.now {
		k.spend(OffChip, k.tileAt+over+k.busy-k.now)
	}
	k.stored = store
	if next == nil {
		k.spend(OffChip, k.offTime(store))
	}
}
