package search

import (
	"math/bits"
	"slices"

	"github.com/bitsched/bitsched/lowering/mapping"
)

// canonical returns the factors for an extent that leave different numbers of steps:
// each is the least that leaves as many. Larger ones only add padding.
func canonical(n uint32) []uint32 {
	var out []uint32
	for steps := n; ; {
		f := (n + steps - 1) / steps
		out = append(out, f)
		if f == n {
			return out
		}
		steps = (n + f) / (f + 1) // the steps that the next factor leaves
		for (n+steps-1)/steps == f {
			steps--
		}
	}
}

// moves knows the neighbours of mappings.
type moves struct {
	q      *mapping.Problem
	values map[uint32][]uint32
	powers map[uint32][]uint32          // values with powers of two
	loops  [1 << mapping.MaxLoops][]int // of a mask
	slots  []int                        // with factors that are chosen: all but waves
}

func newMoves(q *mapping.Problem) *moves {
	v := &moves{q: q, values: map[uint32][]uint32{}, powers: map[uint32][]uint32{}}
	for s := range mapping.SlotWave {
		any := uint16(0)
		for f := range q.Functions() {
			for _, swap := range q.Orders(f) {
				any |= q.Legal(f, swap, s)
			}
		}
		if any != 0 && (s < mapping.SlotLevel || s < mapping.SlotLevel+q.Levels()) {
			v.slots = append(v.slots, s)
		}
	}
	if q.Tiles() {
		v.slots = append(v.slots, mapping.SlotTile)
	}
	return v
}

func (v *moves) of(n uint32) []uint32 {
	out, ok := v.values[n]
	if !ok {
		out = canonical(n)
		v.values[n] = out
	}
	return out
}

// choices are the factors of a loop in a slot that may be in an optimum: those without
// needless padding, and all where padding may help.
func (v *moves) choices(m *mapping.Mapping, l, s int) []uint32 {
	left := v.left(m, l, s)
	if !v.q.PaddingHelps(int(m.Function), s) {
		return v.of(left)
	}
	left = min(left, uint32(v.q.Platform.Array.Cols)) // more do not fit
	out := make([]uint32, left)
	for i := range out {
		out[i] = uint32(i) + 1
	}
	return out
}

// few are choices for descents: of the padded ones only powers of two.
func (v *moves) few(m *mapping.Mapping, l, s int) []uint32 {
	left := v.left(m, l, s)
	if !v.q.PaddingHelps(int(m.Function), s) {
		return v.of(left)
	}
	out, ok := v.powers[left]
	if !ok {
		out = slices.Clone(v.of(left))
		for f := uint32(2); f <= left; f *= 2 {
			if at, ok := slices.BinarySearch(out, f); !ok {
				out = slices.Insert(out, at, f)
			}
		}
		v.powers[left] = out
	}
	return out
}

// left is what a slot may cover of a loop: its extent over the slots below.
func (v *moves) left(m *mapping.Mapping, l, s int) uint32 {
	below := m.Below(l, min(s, mapping.SlotWave))
	return uint32((int64(v.q.Extent(l)) + below - 1) / below)
}

// set changes a factor and fits those above it to what is left.
func (v *moves) set(m *mapping.Mapping, l, s int, f uint32) {
	m.Factor[s][l] = f
	for t := s + 1; t < mapping.SlotWave; t++ {
		if x := m.Factor[t][l]; x > 1 {
			left := v.left(m, l, t)
			x = min(x, left)
			steps := (left + x - 1) / x
			m.Factor[t][l] = (left + steps - 1) / steps
		}
	}
	v.complete(m, l)
}

func (v *moves) complete(m *mapping.Mapping, l int) {
	left := v.left(m, l, mapping.SlotWave)
	t := min(m.Factor[mapping.SlotTile][l], left)
	m.Factor[mapping.SlotTile][l] = t
	m.Factor[mapping.SlotWave][l] = (left + t - 1) / t
	// A tile fewer where the last one would be empty.
	w := m.Factor[mapping.SlotWave][l]
	m.Factor[mapping.SlotTile][l] = (left + w - 1) / w
}

// legal returns the loops that may have a factor in a slot.
func (v *moves) legal(m *mapping.Mapping, s int) uint16 {
	return v.q.Legal(int(m.Function), m.Swap, s)
}

// classes groups loops by the operands that they index: among loops of a class the
// order makes no difference to what is loaded.
func (v *moves) classes(m *mapping.Mapping) [][]uint8 {
	var keys []uint8
	var out [][]uint8
	for l := range v.q.Loops() {
		k := uint8(0)
		for o := range 3 {
			if v.q.Op.Tensors[m.Tensor(o)].Indexed(l) {
				k |= 1 << o
			}
		}
		at := -1
		for i := range keys {
			if keys[i] == k {
				at = i
			}
		}
		if at < 0 {
			keys, out = append(keys, k), append(out, nil)
			at = len(out) - 1
		}
		out[at] = append(out[at], uint8(l))
	}
	return out
}

// orders calls f with every order of classes, as an order of loops.
func orders(classes [][]uint8, f func(order [mapping.MaxLoops]uint8) bool) {
	n := len(classes)
	perm := make([]int, n)
	for i := range perm {
		perm[i] = i
	}
	var walk func(k int) bool
	walk = func(k int) bool {
		if k == n {
			var out [mapping.MaxLoops]uint8
			at := 0
			for _, c := range perm {
				for _, l := range classes[c] {
					out[at] = l
					at++
				}
			}
			for i := at; i < mapping.MaxLoops; i++ {
				out[i] = uint8(i)
			}
			return f(out)
		}
		for i := k; i < n; i++ {
			perm[k], perm[i] = perm[i], perm[k]
			ok := walk(k + 1)
			perm[k], perm[i] = perm[i], perm[k]
			if !ok {
				return false
			}
		}
		return true
	}
	walk(0)
}

// loopsOf lists the loops that may have a factor in a slot.
func (v *moves) loopsOf(m *mapping.Mapping, s int) []int {
	mask := v.legal(m, s)
	out := v.loops[mask]
	if out == nil {
		for rest := mask; rest != 0; rest &= rest - 1 {
			out = append(out, bits.TrailingZeros16(rest))
		}
		v.loops[mask] = out
	}
	return out
}
