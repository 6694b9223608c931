package sram

import (
	"math"
	"math/rand/v2"
)

// stuckCell is a stuck cell of a block of patterns.
type stuckCell struct {
	slot    uint32
	bitline int
	value   bool
}

// faultyRows are the rows of a group of words in a run, and what goes wrong in
// them. It says where faults are; the machines say when rows are written, sensed
// and activated.
type faultyRows struct {
	faults *Faults
	used   []uint32    // slots that random stuck cells are drawn from
	fixed  []stuckCell // cells that are stuck in every block

	rows [][groupWords]uint64
	n    int // words of the group

	first []int32 // first of the stuck cells of a slot in the group, -1 = none
	stuck []stuckMask

	write, read, disturb, latch skipper
	sensed                      [3][groupWords]uint64 // rows that were sensed wrong
}

// stuckMask is stuck cells of one word of a row.
type stuckMask struct {
	slot  uint32
	word  int
	mask  uint64
	value uint64 // within mask
	next  int32  // of the same slot, -1 = last
}

func newFaultyRows(f *Faults, slots int, used []uint32, fixed []stuckCell) faultyRows {
	m := faultyRows{faults: f, used: used, fixed: fixed, rows: make([][groupWords]uint64, slots), first: make([]int32, slots)}
	for i := range m.first {
		m.first[i] = -1
	}
	return m
}

// start begins the group of words from first on.
func (m *faultyRows) start(lay layout, first int, seed uint64) {
	m.n = min(groupWords, lay.words-first)
	group := mix(seed + mix(uint64(first)))
	m.write.start(m.faults.Write, group, 1)
	m.read.start(m.faults.Read, group, 2)
	m.disturb.start(m.faults.Disturb, group, 3)
	m.latch.start(m.faults.Latch, group, 4)
	m.placeStuck(lay, first, seed)
}

// sense returns what is read of a row; i is the number of the row among those
// sensed at once.
func (m *faultyRows) sense(i int, slot uint32) *[groupWords]uint64 {
	row := &m.rows[slot]
	if !m.read.due(m.n) {
		return row
	}
	m.sensed[i] = *row
	m.read.flip(m.sensed[i][:m.n])
	return &m.sensed[i]
}

// written applies faults to a row that was just written: to all of it, or where
// the mask says.
func (m *faultyRows) written(slot uint32, mask *[groupWords]uint64) {
	if m.write.due(m.n) {
		if mask == nil {
			m.write.flip(m.rows[slot][:m.n])
		} else {
			m.write.flipWithin(m.rows[slot][:m.n], mask[:m.n])
		}
	}
	m.force(slot)
}

// activated disturbs different rows that were activated at once.
func (m *faultyRows) activated(slots []uint32) {
	if len(slots) < 2 {
		return
	}
	for _, s := range slots {
		if m.disturb.due(m.n) {
			m.disturb.flip(m.rows[s][:m.n])
			m.force(s)
		}
	}
}

// force gives the stuck cells of a row their values.
func (m *faultyRows) force(slot uint32) {
	for i := m.first[slot]; i >= 0; i = m.stuck[i].next {
		s := &m.stuck[i]
		x := &m.rows[slot][s.word]
		*x = *x&^s.mask | s.value
	}
}

// placeStuck finds the stuck cells of the group of words from first on.
func (m *faultyRows) placeStuck(lay layout, first int, seed uint64) {
	for _, s := range m.stuck {
		m.first[s.slot] = -1
	}
	m.stuck = m.stuck[:0]
	f := m.faults
	random := f.RandomStuck
	if len(m.used) == 0 {
		random = 0
	}
	if len(m.fixed) == 0 && random == 0 {
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
		if random > 0 {
			rng := rand.NewPCG(mix(seed), mix(uint64(block)))
			for range random {
				x := rng.Uint64()
				at(stuckCell{
					slot:    m.used[x>>32%uint64(len(m.used))],
					bitline: int(x >> 1 & (1<<31 - 1) % uint64(lay.cols)),
					value:   x&1 != 0,
				})
			}
		}
		for _, c := range m.fixed {
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
	if s.within(64 * uint64(w)) {
		return true
	}
	s.pass(64 * uint64(w))
	return false
}

// within reports whether one of the next bits is hit.
func (s *skipper) within(bits uint64) bool { return s.left < bits }

// pass passes over bits none of which is hit.
func (s *skipper) pass(bits uint64) {
	if s.left < math.MaxUint64 {
		s.left -= bits
	}
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

// flipWithin flips the bits of the words that are hit and lie in the mask.
func (s *skipper) flipWithin(words, mask []uint64) {
	bits := 64 * uint64(len(words))
	at := s.left
	for at < bits {
		words[at/64] ^= 1 << (at % 64) & mask[at/64]
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
