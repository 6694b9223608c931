package search

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/bitsched/bitsched/lowering/mapping"
)

// bitsched is the default: branch and bound where the space is small enough to be
// emptied, and descents from many starts with moves that know what limits a mapping.
type bitsched struct{}

func (bitsched) Name() string { return "bitsched" }
func (bitsched) Doc() string {
	return "branch and bound over sizes with proofs; descents from templates and random starts where the tree is too large"
}

func (bitsched) Search(ctx context.Context, q *mapping.Problem, o Options) (*Result, error) {
	v := newMoves(q)
	small := o.Score == nil && v.treeSize() <= maxTree
	prove := small || o.Score == nil && o.Prove
	first := o
	if small {
		first.Evals = max(4, o.evals()/5) // something to cut the tree with
	} else {
		first.Evals = max(4, o.evals()*3/5) // the rest goes on from the best of all
	}
	res, err := chains(ctx, q, first, 4, func(r *run, i int) {
		d := &descent{run: r, v: newMoves(q)}
		d.search(i)
	})
	if err != nil || res.Proved || res.Stopped {
		return res, err
	}
	r := newRun(ctx, q, o, o.evals()-res.Evaluations, 0)
	r.res, r.base = *res, res.Refused
	d := &descent{run: r, v: v}
	if prove && !small && r.left > 4 {
		// Most of the rest makes the best so good that much of the tree is cut off.
		tree := r.left * 3 / 4
		r.left -= tree
		d.from(r.res.Mapping, r.res.Score)
		r.left += tree
	}
	if prove && !r.res.Stopped {
		r.res.Proved = r.empty(v, max(minNodes, maxNodes/defaultEvals*o.evals()))
	}
	if !r.res.Proved && r.left > 0 && ctx.Err() == nil {
		// Too large: what is left goes to descents from the best.
		d.from(r.res.Mapping, r.res.Score)
	}
	return r.finish()
}

// maxTree is the greatest estimate of sizes for which the tree is walked.
const maxTree = 2e7

// descent goes from a mapping to better neighbours, and on from a disturbed best.
type descent struct {
	*run
	v      *moves
	raised mapping.Mapping // what raise tries
}

func (d *descent) search(chain int) {
	starts := d.starts()
	d.climb(chain, starts, mapping.Mapping{}, illegal)
}

// from goes on from a mapping.
func (d *descent) from(m mapping.Mapping, s int64) { d.climb(0, nil, m, s) }

func (d *descent) climb(chain int, starts []mapping.Mapping, best mapping.Mapping, score int64) {
	// What a chain begins with is priced first: a long way down from a bad start may take all
	// evaluations that there are.
	var first []individual
	if starts != nil {
		for i := chain; i < len(starts); i += 4 {
			first = append(first, individual{m: starts[i]})
		}
		if d.o.Score == nil {
			for _, m := range d.promising() {
				if d.q.Repair(&m, 60) {
					first = append(first, individual{m: m})
				}
			}
		}
		priced := first[:0]
		for _, x := range first {
			if d.over() {
				break
			}
			if x.score = d.price(&x.m); x.score < illegal {
				priced = append(priced, x)
			}
		}
		first = priced
		slices.SortStableFunc(first, func(a, b individual) int { return cmp.Compare(a.score, b.score) })
	}
	for i := 0; !d.over(); i++ {
		var m mapping.Mapping
		var s int64
		switch {
		case len(first) > 0 && i%2 == 0:
			m, s = first[0].m, first[0].score
			first = first[1:]
		case d.rng.IntN(4) == 0 || score == illegal:
			var ok bool
			if m, ok = d.q.Random(d.rng, 20); !ok {
				d.res.Refused += 1000
				continue
			}
			s = d.price(&m)
		default:
			m = best
			d.kick(&m)
			s = d.price(&m)
		}
		if s == illegal {
			continue
		}
		m, s = d.descend(m, s)
		if s < score {
			best, score = m, s
		}
	}
}

// promising looks at boundSteps sizes in each of boundWalks walks, fewer where there are
// fewer evaluations than by default.
const (
	boundWalks = 12
	boundSteps = 6000
)

// promising walks over sizes by their bound alone, as annealing does, and returns the
// ones with the least bounds: what a schedule adds to it is found out by pricing.
func (d *descent) promising() []mapping.Mapping {
	type sized struct {
		m mapping.Mapping
		b int64
	}
	var best, here []sized // of all walks, and of one: the best two
	keep := func(m *mapping.Mapping, b int64) {
		at := len(here)
		for i := range here {
			if here[i].m.Factor == m.Factor {
				return
			}
			if at == len(here) && b < here[i].b {
				at = i
			}
		}
		if at < 2 {
			here = slices.Insert(here, at, sized{*m, b})
			here = here[:min(len(here), 2)]
		}
	}
	for range boundWalks {
		here = nil
		m, ok := d.q.Random(d.rng, 20)
		if !ok {
			continue
		}
		m.Double, m.DoubleTile = true, true
		for l := range d.q.Loops() {
			m.Factor[mapping.SlotTile][l] = 1
			d.v.complete(&m, l)
		}
		score := illegal
		steps := int(min(boundSteps, max(boundSteps/4, d.o.evals()*boundSteps/defaultEvals)))
		for step := 0; step < steps && d.ctx.Err() == nil; step++ {
			n := m
			s := d.v.slots[d.rng.IntN(len(d.v.slots))]
			loops := d.v.loopsOf(&n, s)
			if s == mapping.SlotTile || len(loops) == 0 {
				continue
			}
			for range 1 + d.rng.IntN(2) { // with another loop that makes room
				l := loops[d.rng.IntN(len(loops))]
				vals := d.v.few(&n, l, s)
				d.v.set(&n, l, s, vals[d.rng.IntN(len(vals))])
			}
			b, v := d.q.SizesBound(&n)
			d.res.Bounded++
			if v != mapping.Legal {
				continue
			}
			keep(&n, b)
			t := 0.3 * math.Pow(0.003, float64(step)/float64(steps))
			if score == illegal || b <= score || d.rng.Float64() < math.Exp(-float64(b-score)/float64(score)/t) {
				m, score = n, b
			}
		}
		best = append(best, here...)
	}
	slices.SortStableFunc(best, func(a, b sized) int { return cmp.Compare(a.b, b.b) })
	var out []mapping.Mapping
	for _, s := range best {
		out = append(out, s.m)
	}
	return out
}

// starts are the mappings to begin with.
func (d *descent) starts() []mapping.Mapping {
	var out []mapping.Mapping
	for i := range Templates {
		if Templates[i].Executor == d.q.Platform.Executor {
			if m, err := Templates[i].Apply(d.q); err == nil {
				out = append(out, *m)
			}
		}
	}
	for f := range d.q.Functions() {
		for _, swap := range d.q.Orders(f) {
			m := mapping.Unit()
			m.Function, m.Swap = uint8(f), swap
			g := d.greedy(m)
			out = append(out, g)
		}
	}
	return out
}

// greedy fills dimensions and levels with the largest loops that still fit.
func (d *descent) greedy(m mapping.Mapping) mapping.Mapping {
	d.q.Repair(&m, 50)
	for _, s := range d.v.slots {
		if s == mapping.SlotTile {
			continue
		}
		for {
			bl, bf, best := -1, uint32(0), 1.0
			for _, l := range d.v.loopsOf(&m, s) {
				if m.Factor[s][l] > 1 {
					continue
				}
				for _, f := range d.v.few(&m, l, s) {
					if float64(f) <= best {
						continue
					}
					n := m
					d.v.set(&n, l, s, f)
					if d.q.Estimate(&n, &d.cost) == mapping.Legal || d.q.Repair(&n, 20) && n.Factor[s][l] == f {
						bl, bf, best = l, f, float64(f)
					}
				}
			}
			if bl < 0 {
				break
			}
			d.v.set(&m, bl, s, bf)
			d.q.Repair(&m, 20)
		}
	}
	return m
}

// kick changes a few things at random.
func (d *descent) kick(m *mapping.Mapping) {
	for range 2 + d.rng.IntN(4) {
		old := *m
		switch d.rng.IntN(8) {
		case 0:
			m.Double = !m.Double
		case 1:
			d.v.shuffle(d, m)
		case 2:
			o := d.rng.IntN(3)
			m.Keep[o] = !m.Keep[o]
		default:
			s := d.v.slots[d.rng.IntN(len(d.v.slots))]
			if loops := d.v.loopsOf(m, s); len(loops) > 0 {
				l := loops[d.rng.IntN(len(loops))]
				vals := d.v.few(m, l, s)
				d.v.set(m, l, s, vals[d.rng.IntN(len(vals))])
			}
		}
		if !d.q.Repair(m, 60) {
			*m = old
		}
	}
}

func (v *moves) shuffle(d *descent, m *mapping.Mapping) {
	classes := v.classes(m)
	d.rng.Shuffle(len(classes), func(i, j int) { classes[i], classes[j] = classes[j], classes[i] })
	at := 0
	for _, c := range classes {
		for _, l := range c {
			m.Wave[at] = l
			at++
		}
	}
}

// descend takes the best of each group of neighbours until none is better.
func (d *descent) descend(m mapping.Mapping, s int64) (mapping.Mapping, int64) {
	for !d.over() {
		before := s
		m, s = d.polish(m, s)
		for _, at := range d.rng.Perm(len(d.v.slots)) {
			slot := d.v.slots[at]
			for _, l := range d.v.loopsOf(&m, slot) {
				if d.over() {
					return m, s
				}
				m, s = d.factor(m, s, l, slot)
			}
		}
		if s >= before {
			break
		}
	}
	return m, s
}

// factor tries the other factors of a loop in a slot, alone, at the expense of the same loop
// in another slot, and at the expense of another loop in this one.
func (d *descent) factor(m mapping.Mapping, s int64, l, slot int) (mapping.Mapping, int64) {
	best, score := m, s
	try := func(n *mapping.Mapping) bool {
		if d.left <= 0 {
			return false
		}
		if d.o.Score == nil {
			b, v := d.q.ScheduleBound(n)
			if v != mapping.Legal {
				d.res.Refused++
				d.res.Killed[v]++
				return false
			}
			if b >= score { // no order of it is better
				d.res.Bounded++
				return true
			}
		}
		x := d.price(n)
		if x < score {
			best, score = *n, x
		}
		return x != illegal
	}
	for _, f := range d.v.few(&m, l, slot) {
		if f == m.Factor[slot][l] {
			continue
		}
		n := m
		d.v.set(&n, l, slot, f)
		if try(&n) {
			if slot == mapping.SlotTile {
				k := n
				k.DoubleTile = !k.DoubleTile
				try(&k)
			}
		} else {
			k := n
			if d.q.Repair(&k, 30) && k.Factor[slot][l] == f {
				try(&k)
			}
		}
		if f < m.Factor[slot][l] {
			// What is taken away goes to another slot of the loop, or another loop takes its place.
			for _, t := range d.v.slots {
				if t == slot || d.v.legal(&m, t)>>l&1 == 0 {
					continue
				}
				d.raise(&n, l, t, try)
			}
			for _, k := range d.v.loopsOf(&m, slot) {
				if k != l {
					d.raise(&n, k, slot, try)
				}
			}
		}
	}
	return best, score
}

// raise sets a factor to the largest that is legal, and the next one below.
func (d *descent) raise(m *mapping.Mapping, l, slot int, try func(*mapping.Mapping) bool) {
	vals := d.v.few(m, l, slot)
	done := 0
	n := &d.raised
	most := d.q.Most(m, l, slot)
	i := sort.Search(len(vals), func(i int) bool { return vals[i] > most }) - 1
	for ; i >= 0 && vals[i] > m.Factor[slot][l] && done < 1; i-- {
		*n = *m
		d.v.set(n, l, slot, vals[i])
		if try(n) {
			done++
		}
	}
}

// polish finds the best order of classes, of waves and of tiles, and the flags.
func (d *descent) polish(m mapping.Mapping, s int64) (mapping.Mapping, int64) {
	best, score := m, s
	try := func(n *mapping.Mapping) {
		if d.left > 0 {
			if d.o.Score == nil {
				if b, v := d.q.ScheduleBound(n); v != mapping.Legal || b >= score {
					d.res.Bounded++
					return
				}
			}
			if x := d.price(n); x < score {
				best, score = *n, x
			}
		}
	}
	tiled := false
	for l := range d.q.Loops() {
		tiled = tiled || best.Factor[mapping.SlotTile][l] > 1
	}
	for _, slot := range []int{mapping.SlotWave, mapping.SlotTile} {
		if slot == mapping.SlotTile && !tiled {
			continue
		}
		from := best
		d.v.round(&from, slot, func(order [mapping.MaxLoops]uint8) bool {
			n := best
			to := &n.Wave
			if slot == mapping.SlotTile {
				to = &n.Tile
			}
			if *to != order {
				*to = order
				try(&n)
			}
			return !d.over()
		})
	}
	for again := true; again && !d.over(); {
		before := score
		for flag := range 5 {
			n := best
			switch {
			case flag == 0:
				n.Double = !n.Double
			case flag == 1:
				if !tiled {
					continue
				}
				n.DoubleTile = !n.DoubleTile
			case d.q.Tiles():
				n.Keep[flag-2] = !n.Keep[flag-2]
			default:
				continue
			}
			try(&n)
		}
		again = score < before
	}
	return best, score
}
