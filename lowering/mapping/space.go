package mapping

import (
	"math"
	"math/rand/v2"

	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// Functions returns the number of compute functions.
func (q *Problem) Functions() int { return len(q.functions) }

// Orders returns the orders of operands that a function distinguishes.
func (q *Problem) Orders(function int) []bool {
	if q.functions[function].ok[1] {
		return []bool{false, true}
	}
	return []bool{false}
}

// Legal returns the loops that may have a factor in a slot.
func (q *Problem) Legal(function int, swap bool, slot int) uint16 {
	i := 0
	if swap {
		i = 1
	}
	return q.functions[function].legal[i][slot]
}

// PaddingHelps reports whether a larger factor than needed may be cheaper in a slot: parallel
// columns, over whose number sums are shifted by a step for each one in the distance.
func (q *Problem) PaddingHelps(function, slot int) bool {
	f := &q.functions[function]
	if q.mac == nil || q.Platform.Array.ShiftSteps == "one" || slot >= f.dims || f.Reduction(slot) || !f.colDims[slot] {
		return false
	}
	for d := range f.dims {
		if f.Reduction(d) && f.colDims[d] {
			return true
		}
	}
	return false
}

// Loops returns the number of loops.
func (q *Problem) Loops() int { return q.loops }

// Extent returns the extent of a loop.
func (q *Problem) Extent(l int) uint32 { return q.extent[l] }

// Levels returns the number of levels, and FanOut the groups of one.
func (q *Problem) Levels() int { return q.levels }

// FanOut returns how many groups a level has.
func (q *Problem) FanOut(level int) uint32 { return q.fanOut[level] }

// Tiles reports whether the platform has a buffer, with tiles of its own.
func (q *Problem) Tiles() bool { return q.buffer > 0 }

// Reductions returns the loops that are reductions.
func (q *Problem) Reductions() uint16 { return q.reduction }

// Complete sets the factors of waves, or of tiles where a wave has one already, to what is left of each loop's extent.
func (q *Problem) Complete(m *Mapping) {
	for l := range q.loops {
		below := m.Below(l, SlotWave)
		left := ceilDiv(int64(q.extent[l]), below)
		if t := int64(m.Factor[SlotTile][l]); t > 1 {
			m.Factor[SlotTile][l] = uint32(min(t, left))
			left = ceilDiv(left, int64(m.Factor[SlotTile][l]))
		}
		m.Factor[SlotWave][l] = uint32(left)
	}
}

// Random returns a legal mapping drawn at random, false if none was found in a number
// of tries.
func (q *Problem) Random(r *rand.Rand, tries int) (Mapping, bool) {
	for range tries {
		m := Unit()
		m.Function = uint8(r.IntN(len(q.functions)))
		orders := q.Orders(int(m.Function))
		m.Swap = orders[r.IntN(len(orders))]
		for i, l := range r.Perm(q.loops) {
			m.Wave[i] = uint8(l)
		}
		for i, l := range r.Perm(q.loops) {
			m.Tile[i] = uint8(l)
		}
		m.Double = r.IntN(2) == 0
		m.DoubleTile = q.Tiles() && r.IntN(2) == 0
		for o := range m.Keep {
			m.Keep[o] = !q.Tiles() || r.IntN(4) > 0
		}
		for s := range SlotWave {
			legal := q.Legal(int(m.Function), m.Swap, s)
			for _, l := range r.Perm(q.loops) {
				left := ceilDiv(int64(q.extent[l]), m.Below(l, s))
				if legal>>l&1 == 0 || left == 1 || r.IntN(2) == 0 {
					continue
				}
				m.Factor[s][l] = 1 + uint32(r.Int64N(left))
			}
		}
		if q.Tiles() {
			for l := range q.loops {
				left := ceilDiv(int64(q.extent[l]), m.Below(l, SlotWave))
				if left > 1 && r.IntN(3) == 0 {
					m.Factor[SlotTile][l] = 1 + uint32(r.Int64N(left))
				}
			}
		}
		if q.Repair(&m, 200) {
			return m, true
		}
	}
	return Mapping{}, false
}

// Repair shrinks the largest factor of what a mapping exceeds until it is legal, in at
// most a number of steps. It completes the mapping and reports whether it is legal.
func (q *Problem) Repair(m *Mapping, steps int) bool {
	var c Cost
	for range steps {
		q.Complete(m)
		v := q.Estimate(m, &c)
		switch v {
		case Legal:
			return true
		case BadOverlap:
			m.Double, m.DoubleTile = false, false
		case BadColumns, BadRows, BadDims:
			if !q.shrink(m, 0, SlotLevel) {
				return v == BadRows && m.Double && q.noDouble(m)
			}
		case BadFanOut:
			over := false
			for i := range q.levels {
				n := int64(1)
				for l := range q.loops {
					n *= int64(m.Factor[SlotLevel+i][l])
				}
				if n > int64(q.fanOut[i]) {
					over = true
					if !q.shrink(m, SlotLevel+i, SlotLevel+i+1) {
						return false
					}
				}
			}
			if !over && !q.shrink(m, SlotLevel, SlotLevel+1) { // faulty units
				return false
			}
		case BadBuffer:
			switch {
			case m.DoubleTile:
				m.DoubleTile = false
			case !q.grow(m):
				return false
			}
		default:
			return false
		}
	}
	return false
}

func (q *Problem) noDouble(m *Mapping) bool {
	m.Double = false
	var c Cost
	return q.Estimate(m, &c) == Legal
}

// shrink halves the largest factor in slots, the first of equals.
func (q *Problem) shrink(m *Mapping, from, to int) bool {
	bs, bl, best := 0, 0, uint32(1)
	for s := from; s < to; s++ {
		for l := range q.loops {
			if m.Factor[s][l] > best {
				bs, bl, best = s, l, m.Factor[s][l]
			}
		}
	}
	if best == 1 {
		return false
	}
	m.Factor[bs][bl] = best / 2
	return true
}

// grow moves half of the largest factor of waves to tiles, or lets the largest operand
// pass the buffer by.
func (q *Problem) grow(m *Mapping) bool {
	bl, best := 0, uint32(1)
	for l := range q.loops {
		if m.Factor[SlotWave][l] > best {
			bl, best = l, m.Factor[SlotWave][l]
		}
	}
	if best > 1 {
		m.Factor[SlotTile][bl] = min(m.Factor[SlotTile][bl]*2, q.extent[bl])
		return true
	}
	for o := range m.Keep {
		if m.Keep[o] {
			m.Keep[o] = false
			return true
		}
	}
	return false
}

// vectors calls f with every way to cut a loop into factors of the slots that may have
// one, m with its factors set; the rest of the extent goes round in waves.
func (q *Problem) vectors(m *Mapping, l, s int, f func() bool) bool {
	if s == SlotTile {
		left := ceilDiv(int64(q.extent[l]), m.Below(l, SlotWave))
		top := int64(1)
		if q.Tiles() {
			top = left
		}
		for t := int64(1); t <= top; t++ {
			m.Factor[SlotWave][l] = uint32(ceilDiv(left, t))
			m.Factor[SlotTile][l] = uint32(t)
			if !f() {
				return false
			}
		}
		m.Factor[SlotWave][l], m.Factor[SlotTile][l] = 1, 1
		return true
	}
	if s == SlotWave {
		return q.vectors(m, l, SlotTile, f)
	}
	if s == SlotLevel+q.levels {
		return q.vectors(m, l, SlotWave, f)
	}
	top := int64(1)
	if q.Legal(int(m.Function), m.Swap, s)>>l&1 == 1 {
		top = ceilDiv(int64(q.extent[l]), m.Below(l, s))
		if s >= SlotLevel {
			top = min(top, int64(q.fanOut[s-SlotLevel]))
		}
	}
	for x := int64(1); x <= top; x++ {
		m.Factor[s][l] = uint32(x)
		if !q.vectors(m, l, s+1, f) {
			return false
		}
	}
	m.Factor[s][l] = 1
	return true
}

// Every calls f with every mapping of the space, legal or not: functions, orders of
// operands, factors, orders of the loops that go round, flags. It stops when f returns
// false.
func (q *Problem) Every(f func(m *Mapping) bool) {
	for i := range q.functions {
		for _, swap := range q.Orders(i) {
			m := Unit()
			m.Function, m.Swap = uint8(i), swap
			if !q.everyLoop(&m, 0, f) {
				return
			}
		}
	}
}

func (q *Problem) everyLoop(m *Mapping, l int, f func(m *Mapping) bool) bool {
	if l < q.loops {
		return q.vectors(m, l, 0, func() bool { return q.everyLoop(m, l+1, f) })
	}
	tiled := false
	for l := range q.loops {
		tiled = tiled || m.Factor[SlotTile][l] > 1
	}
	return q.everyOrder(m, &m.Wave, SlotWave, func() bool {
		return q.everyOrder(m, &m.Tile, SlotTile, func() bool {
			keeps, doubles := 1, 2
			if q.Tiles() {
				keeps = 8
				if tiled {
					doubles = 4
				}
			}
			for d := range doubles {
				m.Double, m.DoubleTile = d&1 == 1, d&2 == 2
				for k := range keeps {
					m.Keep = [3]bool{k&1 == 0, k&2 == 0, k&4 == 0}
					if !f(m) {
						return false
					}
				}
			}
			m.Double, m.DoubleTile, m.Keep = false, false, [3]bool{true, true, true}
			return true
		})
	})
}

// everyOrder sets every order of the loops with factors in a slot, the others behind.
func (q *Problem) everyOrder(m *Mapping, to *[MaxLoops]uint8, slot int, f func() bool) bool {
	var loops, rest []uint8
	for l := range q.loops {
		if m.Factor[slot][l] > 1 {
			loops = append(loops, uint8(l))
		} else {
			rest = append(rest, uint8(l))
		}
	}
	var walk func(k int) bool
	walk = func(k int) bool {
		if k == len(loops) {
			copy(to[:], loops)
			copy(to[len(loops):], rest)
			return f()
		}
		for i := k; i < len(loops); i++ {
			loops[k], loops[i] = loops[i], loops[k]
			ok := walk(k + 1)
			loops[k], loops[i] = loops[i], loops[k]
			if !ok {
				return false
			}
		}
		return true
	}
	return walk(0)
}

// SpaceSize returns the number of mappings that [Problem.Every] gives, exactly up to 1e12 and
// nearly above.
func (q *Problem) SpaceSize() float64 {
	total := 0.0
	for i := range q.functions {
		for _, swap := range q.Orders(i) {
			m := Unit()
			m.Function, m.Swap = uint8(i), swap
			// By the number of loops that go round in waves and in tiles.
			var count [MaxLoops + 1][MaxLoops + 1]float64
			count[0][0] = 1
			for l := range q.loops {
				var ways [2][2]float64
				q.vectors(&m, l, 0, func() bool {
					w, t := 0, 0
					if m.Factor[SlotWave][l] > 1 {
						w = 1
					}
					if m.Factor[SlotTile][l] > 1 {
						t = 1
					}
					ways[w][t]++
					return true
				})
				var next [MaxLoops + 1][MaxLoops + 1]float64
				for a := range l + 1 {
					for b := range l + 1 {
						for w := range 2 {
							for t := range 2 {
								next[a+w][b+t] += count[a][b] * ways[w][t]
							}
						}
					}
				}
				count = next
			}
			factorial := 1.0
			fact := [MaxLoops + 1]float64{1}
			for k := 1; k <= MaxLoops; k++ {
				factorial *= float64(k)
				fact[k] = factorial
			}
			for a := range count {
				for b := range count[a] {
					flags := 2.0
					if q.Tiles() {
						flags = 16
						if b > 0 {
							flags = 32
						}
					}
					total += count[a][b] * fact[a] * fact[b] * flags
				}
			}
		}
	}
	return total
}

// WhyEmpty says what keeps the smallest mappings of every function from being legal.
func (q *Problem) WhyEmpty() string {
	for i := range q.functions {
		for _, swap := range q.Orders(i) {
			m := Unit()
			m.Function, m.Swap = uint8(i), swap
			m.Keep = [3]bool{}
			q.Complete(&m)
			if err := q.Check(&m); err != nil {
				return err.Error()
			}
		}
	}
	return "no legal mapping was found"
}

// Takes reports whether a unit has room for dimensions and accumulators of such sizes, by slot,
// whatever its rows hold beside them.
func (q *Problem) Takes(function int, swap bool, sizes []uint32) bool {
	f := &q.functions[function]
	cols, rows, all := int64(1), int64(1), int64(1)
	for d := range f.dims {
		n := int64(sizes[d])
		if n > int64(f.maxSize[d]) {
			return false
		}
		if f.colDims[d] {
			cols *= n
		}
		if f.rowDims[d] {
			rows *= n
		}
		if !f.Reduction(d) {
			all *= n
		}
	}
	switch {
	case q.mac != nil:
		return cols <= q.cols
	case q.Platform.Crossbar != nil:
		c := q.Platform.Crossbar
		return rows <= int64(c.Rows) && cols*q.cells(q.tensors[operand(Src1, swap)].bits) <= int64(c.Cols)
	}
	u := q.Platform.SIMD
	return all <= int64(u.Lanes) && q.accRegisters()*int64(sizes[SlotInner]) < int64(u.Registers)
}

// Most returns a factor of a loop in a slot above which no mapping is legal, whatever the loop has
// in other slots: a level has so many groups, a unit so many places side by side.
func (q *Problem) Most(m *Mapping, loop, slot int) uint32 {
	others := func(n uint64, slot int) uint64 {
		for l := range q.loops {
			if l != loop {
				n /= uint64(m.Factor[slot][l]) // rounded down each time: as by the product
			}
		}
		return n
	}
	if slot >= SlotLevel && slot < SlotWave {
		return uint32(others(uint64(q.fanOut[slot-SlotLevel]), slot))
	}
	f := &q.functions[m.Function]
	if slot == SlotInner && q.Platform.Executor == platform.SIMDExecutor {
		return uint32(others(uint64((int64(q.Platform.SIMD.Registers)-1)/q.accRegisters()), slot))
	}
	if slot >= f.dims {
		return math.MaxUint32
	}
	n := others(uint64(f.maxSize[slot]), slot)
	side, places := f.colDims, uint64(0)
	switch {
	case q.mac != nil:
		places = uint64(q.cols)
		if f.rowDims[slot] && f.Reduction(slot) && !f.program {
			n = min(n, others(uint64(int64(q.mac.usable-q.mac.scratch)/(q.tensors[0].bits+q.tensors[1].bits)), slot))
		}
	case q.Platform.Crossbar != nil:
		places = uint64(int64(q.Platform.Crossbar.Cols) / q.cells(q.tensors[m.Tensor(Src1)].bits))
		if f.rowDims[slot] {
			n = min(n, others(uint64(q.Platform.Crossbar.Rows), slot))
		}
	default:
		places = uint64(q.Platform.SIMD.Lanes)
		for d := range f.dims {
			side[d] = !f.Reduction(d)
		}
	}
	if side[slot] {
		for d := range f.dims {
			if side[d] {
				places = others(places, d)
			}
		}
		n = min(n, places)
	}
	return uint32(n)
}

// Reduces reports whether a dimension of a function is a reduction.
func (q *Problem) Reduces(function, dim int) bool {
	f := &q.functions[function]
	return dim < f.dims && f.Reduction(dim)
}

// LinearOrders reports whether the order of loops decides nothing but how often each operand is
// taken: nothing is loaded beside computing.
func (q *Problem) LinearOrders() bool { return q.Platform.Executor == platform.SIMDExecutor }
