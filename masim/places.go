package masim

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// places anneals the arrays of gates, in a fixed order, on what follows from them without a simulation: a value
// takes a copy for each array that reads it beside its own, and a row there from the first use to the last.
// Nothing is evicted: rows beyond those that an array has cost something by the time they last.
//
// A change takes about a microsecond, a hundredth of a simulation, so each gate can be tried in all arrays hundreds
// of times. That pays where live values fill several arrays: the number of copies is then nearly the one of the
// simulation, and partitions, which look at one division at a time, take a tenth more.
type places struct {
	in    *instance
	pos   []int32 // by gate: its time
	array []uint8 // by gate
	home  int     // first array
	parts int     // arrays

	use    []int32 // as instance.user, each value's in order of time
	load   []int32 // by array and slice: rows x placeUnit
	room   []int32 // by array: likewise
	over   int64   // rows x placeUnit beyond the room, over all slices
	copies int
}

const (
	placeSlices = 64
	placeUnit   = 256  // a row through a whole slice
	placeOver   = 0.4  // copies that a row beyond the room costs in a slice
	placeHot    = 1.2  // temperatures in copies
	placeCold   = 0.05 //
	placeSteps  = 8    // work of a move
	placeLeast  = 20   // moves a gate below which it is not worth beginning
	placeFirst  = 0.2  // of the work of the first round, which is mostly for simulated changes
	placeRace   = 0.2  // of it for all starts, before the best goes on
	placeShare  = 0.35 // of that of later ones, where it comes from theirs
)

// newPlaces takes the arrays of a plan, home to home+parts-1, which it then changes.
func newPlaces(in *instance, pl *plan, home, parts int) *places {
	p := &places{in: in, pos: make([]int32, in.gates), array: pl.array, home: home, parts: parts, use: make([]int32, len(in.user)),
		load: make([]int32, parts*placeSlices), room: make([]int32, parts)}
	fill := append([]int32(nil), in.useStart...)
	for t, g := range pl.order {
		p.pos[g] = int32(t)
		for _, v := range in.fanin[g] {
			if v != 0 {
				p.use[fill[v]] = g
				fill[v]++
			}
		}
	}
	for i := range p.room {
		p.room[i] = in.room[home+i] * placeUnit
	}
	for v := int32(1); v < in.values; v++ {
		p.value(v, 1)
	}
	return p
}

// value adds the copies and rows of a value, or takes them away where sign is -1.
//
// It stays where it was last read until another array reads it.
func (p *places) value(v int32, sign int32) {
	in := p.in
	var first, last [maxParts]int32 // by array: when it is there
	var seen uint64
	g := v - in.first
	own := int(in.home[v]) - p.home // array where it takes no copy
	held := int32(math.MaxInt32)    // it is somewhere up to then
	if g >= 0 {
		own = int(p.array[g]) - p.home
		first[own], last[own] = p.pos[g], p.pos[g]+1
		held = p.pos[g] + 1
	}
	if own >= 0 && own < p.parts {
		seen = 1 << own
	}
	for _, u := range p.use[in.useStart[v]:in.useEnd[v]] {
		a, t := int(p.array[u])-p.home, p.pos[u]
		if seen>>a&1 == 0 {
			seen |= 1 << a
			p.copies += int(sign)
			first[a] = min(t, held)
		}
		last[a] = t
		if g >= 0 {
			held = max(held, t)
		}
	}
	if g < 0 && own >= 0 && own < p.parts {
		seen &^= 1 << own // its row is not one of those
	} else if g >= 0 && in.isOut[v] {
		last[own] = in.gates
	}
	for a := range p.parts {
		if seen>>a&1 != 0 {
			p.occupy(a, first[a], last[a], sign)
		}
	}
}

// occupy adds a row of array a from one time to another, or takes it away.
func (p *places) occupy(a int, from, to, sign int32) {
	n := int64(p.in.gates)
	lo, hi := int64(from)*placeSlices*placeUnit/n, int64(to)*placeSlices*placeUnit/n
	for s := lo / placeUnit; s*placeUnit < hi; s++ {
		w := int32(min(hi, (s+1)*placeUnit) - max(lo, s*placeUnit))
		load := &p.load[a*placeSlices+int(s)]
		before := max(*load-p.room[a], 0)
		*load += sign * w
		p.over += int64(max(*load-p.room[a], 0) - before)
	}
}

// move puts gate g into array a.
func (p *places) move(g int32, a uint8) {
	p.values(g, -1)
	p.array[g] = a
	p.values(g, 1)
}

// values adds what has to do with the array of gate g, or takes it away.
func (p *places) values(g, sign int32) {
	for _, v := range p.in.fanin[g] {
		if v != 0 {
			p.value(v, sign)
		}
	}
	p.value(p.in.first+g, sign)
}

func (p *places) cost() float64 { return float64(p.copies) + placeOver*float64(p.over)/placeUnit }

// crowded returns the gates of the slices where more is live than an array has room for.
func (p *places) crowded() []int32 {
	var full [placeSlices]bool
	for s := range full {
		sum := int32(0)
		for a := range p.parts {
			sum += p.load[a*placeSlices+s]
		}
		full[s] = sum > p.room[p.parts-1]
	}
	var gates []int32
	for g, t := range p.pos {
		if full[int64(t)*placeSlices/int64(p.in.gates)] {
			gates = append(gates, int32(g))
		}
	}
	return gates
}

// anneal tries so many changes of one gate, cooling down.
func (p *places) anneal(ctx context.Context, moves int64, r *rand.Rand) {
	in := p.in
	gates := p.crowded()
	if len(gates) == 0 {
		return
	}
	now := p.cost()
	temperature := placeHot
	for i := range moves {
		if i%256 == 0 {
			if ctx.Err() != nil {
				return
			}
			temperature = placeHot * math.Pow(placeCold/placeHot, float64(i)/float64(moves))
		}
		g := gates[r.IntN(len(gates))]
		// The array of a neighbour, mostly.
		a := uint8(p.home + r.IntN(p.parts))
		if k := r.IntN(8); k < 3 {
			if v := in.fanin[g][k]; v >= in.first {
				a = p.array[v-in.first]
			} else if h := int(in.home[v]); v != 0 && h >= p.home && h < p.home+p.parts {
				a = uint8(h)
			}
		} else if us := in.uses(in.first + g); k < 6 && len(us) > 0 {
			a = p.array[us[r.IntN(len(us))]]
		}
		old := p.array[g]
		if a == old {
			continue
		}
		p.move(g, a)
		if c := p.cost(); c <= now || r.Float64() < math.Exp((now-c)/temperature) {
			now = c
		} else {
			p.move(g, old)
		}
	}
}

// placed returns the start that annealing of places makes in about so much work: of the best start without a
// partition or of that with one, whichever looks cheaper without evictions, and of the best order in as many arrays as its live values
// fill, or one more, beside array home, which is left to what is evicted. All get a part of the work, the best then the rest. There is none
// where everything has room in one array, where the work would not suffice, and where what comes of it is no better than all others.
func (b *bitsched) placed(ctx context.Context, starts []start, best *frontier, home int, work int64, r *rand.Rand) []start {
	in := b.in
	if b.best <= b.floor {
		return nil
	}
	from := [2]start{{cost: infeasible}, {cost: infeasible}} // without a partition and with one
	for _, s := range starts {
		if k := min(s.parts, 1); s.plan != nil && s.cost != infeasible && (from[k].plan == nil || s.cost < from[k].cost) {
			from[k] = s
		}
	}
	var tries []*placing
	try := func(pl *plan, first, parts int) *placing {
		if parts < 2 || parts > maxParts || first+parts > in.arrays {
			return nil
		}
		return &placing{pl, newPlaces(in, pl, first, parts), infeasible}
	}
	var old *placing
	for _, s := range from {
		if s.plan != nil {
			lo, hi := int(slices.Min(s.plan.array)), int(slices.Max(s.plan.array))+1
			hi = max(hi, min(lo+2, in.arrays))
			if t := try(s.plan.clone(), lo, hi-lo); t != nil && (old == nil || t.places.cost() < old.places.cost()) {
				old = t
			}
		}
	}
	full := int(best.peak()) / in.p.Geometry.Rows
	tries = append(tries, old, try(in.inArray(best.order, home+1), home+1, full), try(in.inArray(best.order, home+1), home+1, full+1))
	moves := work / placeSteps
	tries = slices.DeleteFunc(tries, func(t *placing) bool {
		if t == nil {
			return true
		}
		n := int64(len(t.places.crowded()))
		return n == 0 || moves < placeLeast*n
	})
	if len(tries) == 0 {
		return nil
	}
	anneal := func(t *placing, moves int64) {
		t.places.anneal(ctx, moves, r)
		t.plan.stores = 0
		t.cost = b.evaluator(t.plan).reset()
	}
	first := int64(float64(moves) * placeRace)
	for _, t := range tries {
		anneal(t, first/int64(len(tries)))
	}
	winner := slices.MinFunc(tries, func(x, y *placing) int { return cmp.Compare(x.cost, y.cost) })
	s := start{winner.plan.clone(), winner.cost, winner.places.parts}
	if anneal(winner, moves-first); winner.cost < s.cost {
		s.plan, s.cost = winner.plan, winner.cost
	}
	if s.cost < min(from[0].cost, from[1].cost) {
		return []start{s}
	}
	return nil
}

// placing is a plan whose places are annealed.
type placing struct {
	plan   *plan
	places *places
	cost   int
}
