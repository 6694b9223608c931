package search

import (
	"github.com/bitsched/bitsched/lowering/mapping"
)

// tree is branch and bound over the whole space, without what cannot be better: factors
// that only add padding where that cannot help, and orders of loops that are loaded alike. A part of the
// space is cut off where a bound reaches the best so far.
type tree struct {
	*run
	v     *moves
	nodes int64 // that may still be looked at
	m     mapping.Mapping
}

// maxNodes bounds the bounds that are looked at, at the default number of evaluations, and
// minNodes those at any number.
const (
	maxNodes = 8_000_000
	minNodes = 400_000
)

// empty walks the tree and reports whether nothing is left of it.
func (r *run) empty(v *moves, nodes int64) bool {
	t := &tree{run: r, v: v, nodes: nodes}
	z := r.q.Quotient()
	for f := range r.q.Functions() {
		for _, swap := range r.q.Orders(f) {
			t.m = mapping.Unit()
			t.m.Function, t.m.Swap = uint8(f), swap
			done := false
			if z != nil {
				done = t.emptyClasses(z)
			} else {
				done = t.sizes(0, 0)
			}
			if !done {
				return false
			}
		}
	}
	return true
}

// treeSize estimates the sizes that a tree has, from the ways to cut each loop.
func (v *moves) treeSize() float64 {
	total := 0.0
	for f := range v.q.Functions() {
		for _, swap := range v.q.Orders(f) {
			m := mapping.Unit()
			m.Function, m.Swap = uint8(f), swap
			n := 1.0
			for l := range v.q.Loops() {
				n *= v.cuts(&m, l, 0)
			}
			total += n
		}
	}
	return total
}

func (v *moves) cuts(m *mapping.Mapping, l, s int) float64 {
	if s == mapping.SlotLevel+v.q.Levels() {
		return 1
	}
	if v.legal(m, s)>>l&1 == 0 {
		return v.cuts(m, l, s+1)
	}
	n := 0.0
	for _, f := range v.choices(m, l, s) {
		if s >= mapping.SlotLevel && f > v.q.FanOut(s-mapping.SlotLevel) {
			break
		}
		m.Factor[s][l] = f
		if n += v.cuts(m, l, s+1); n > maxTree {
			break // large enough to tell
		}
	}
	m.Factor[s][l] = 1
	return n
}

// sizes chooses the factors of loop l from slot s on.
func (t *tree) sizes(l, s int) bool {
	if l == t.q.Loops() {
		return t.leaf()
	}
	if s == mapping.SlotLevel+t.q.Levels() {
		return t.sizes(l+1, 0)
	}
	if t.v.legal(&t.m, s)>>l&1 == 0 {
		return t.sizes(l, s+1)
	}
	limit := uint32(1 << 30)
	if s >= mapping.SlotLevel {
		limit = t.q.FanOut(s - mapping.SlotLevel)
		for k := range l {
			limit /= t.m.Factor[s][k]
		}
	}
	for _, f := range t.v.choices(&t.m, l, s) {
		if f > limit {
			break
		}
		t.m.Factor[s][l] = f
		if s < mapping.SlotLevel && !t.fits() {
			break // larger factors take more
		}
		if !t.sizes(l, s+1) {
			return false
		}
	}
	t.m.Factor[s][l] = 1
	return true
}

// fits reports whether the unit takes the factors so far: what follows takes more.
func (t *tree) fits() bool {
	_, v := t.q.SizesBound(&t.m)
	return v != mapping.BadColumns && v != mapping.BadDims
}

// leaf has all sizes and chooses what goes round in tiles, and flags.
func (t *tree) leaf() bool {
	if t.nodes--; t.nodes < 0 || t.left <= 0 || t.nodes%4096 == 0 && t.ctx.Err() != nil {
		return false
	}
	b, v := t.q.SizesBound(&t.m)
	if v != mapping.Legal {
		return v != mapping.BadLength
	}
	if b >= t.res.Score {
		t.res.Bounded++
		return true
	}
	m := t.m
	return t.tiles(&m, 0)
}

func (t *tree) tiles(m *mapping.Mapping, l int) bool {
	if l < t.q.Loops() {
		left := t.v.left(m, l, mapping.SlotWave)
		values := []uint32{1}
		if t.q.Tiles() {
			values = t.v.of(left)
		}
		for _, f := range values {
			// A tile more than needed is empty: the number of tiles is the least for these waves.
			w := (left + f - 1) / f
			m.Factor[mapping.SlotWave][l], m.Factor[mapping.SlotTile][l] = w, (left+w-1)/w
			if m.Factor[mapping.SlotTile][l] != f {
				continue
			}
			if !t.tiles(m, l+1) {
				return false
			}
		}
		m.Factor[mapping.SlotWave][l], m.Factor[mapping.SlotTile][l] = 1, 1
		return true
	}
	tiled := false
	for l := range t.q.Loops() {
		tiled = tiled || m.Factor[mapping.SlotTile][l] > 1
	}
	keeps, doubles := 1, 2
	if t.q.Tiles() {
		keeps = 8
		if tiled {
			doubles = 4
		}
	}
	if tiled {
		if t.nodes--; t.nodes < 0 {
			return false
		}
		n := *m
		n.Double, n.DoubleTile, n.Keep = false, false, [3]bool{}
		if t.q.TilesBound(&n) >= t.res.Score {
			t.res.Bounded++
			return true
		}
	}
	for d := range doubles {
		for k := range keeps {
			n := *m
			n.Double, n.DoubleTile = d&1 == 1, d&2 == 2
			n.Keep = [3]bool{k&1 == 0, k&2 == 0, k&4 == 0}
			if t.nodes--; t.nodes < 0 {
				return false
			}
			b, v := t.q.ScheduleBound(&n)
			if v != mapping.Legal {
				continue
			}
			if b >= t.res.Score {
				t.res.Bounded++
				continue
			}
			if !t.orders(&n) {
				return false
			}
		}
	}
	return true
}

// orders prices every order of classes of loops that go round.
func (t *tree) orders(m *mapping.Mapping) bool {
	ok := true
	t.v.round(m, mapping.SlotWave, func(wave [mapping.MaxLoops]uint8) bool {
		t.v.round(m, mapping.SlotTile, func(tile [mapping.MaxLoops]uint8) bool {
			if t.left <= 0 {
				ok = false
				return false
			}
			n := *m
			n.Wave, n.Tile = wave, tile
			if t.nodes--; t.nodes < 0 {
				ok = false
				return false
			}
			if b, _ := t.q.OrderedBound(&n); b >= t.res.Score {
				t.res.Bounded++
				return true
			}
			t.price(&n)
			return true
		})
		return ok
	})
	return ok
}

// round calls f with the orders of classes that have a factor in a slot.
func (v *moves) round(m *mapping.Mapping, slot int, f func([mapping.MaxLoops]uint8) bool) {
	var going [][]uint8
	var rest []uint8
	for _, c := range v.classes(m) {
		var some []uint8
		for _, l := range c {
			if m.Factor[slot][l] > 1 {
				some = append(some, l)
			} else {
				rest = append(rest, l)
			}
		}
		if some != nil {
			going = append(going, some)
		}
	}
	if len(going) == 0 {
		var order [mapping.MaxLoops]uint8
		for l := range order {
			order[l] = uint8(l)
		}
		f(order) // any
		return
	}
	orders(going, func(order [mapping.MaxLoops]uint8) bool {
		n := 0
		for _, c := range going {
			n += len(c)
		}
		copy(order[n:], rest)
		return f(order)
	})
}
