package mapping

import (
	"math/rand/v2"
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
		v := q.Cost(m, &c)
		switch v {
		case Legal:
			return true
		case BadColumns, BadRows, BadDims:
			if !q.shrink(m, 0, SlotLevel) {
				return v == BadRows && m.Double && q.noDouble(m)
			}
		case BadFanOut:
			for i := range q.levels {
				n := int64(1)
				for l := range q.loops {
					n *= int64(m.Factor[SlotLevel+i][l])
				}
				if n > int64(q.fanOut[i]) && !q.shrink(m, SlotLevel+i, SlotLevel+i+1) {
					return false
				}
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
	return q.Cost(m, &c) == Legal
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
