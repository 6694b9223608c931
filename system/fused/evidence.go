package fused

import (
	"maps"
	"math"
	"slices"
)

// step is a part as it was executed once, from where thread 0 came to it to where it came to the next:
// what others still did then is the next one's.
type step struct {
	part   int
	place  Place
	begun  int64
	cycles int64
	eq2    bool // Eq. 2 would have it in memory
	open   bool // it had not ended when the run was stopped
}

// The most steps that are noted of a run, and of runs in which a part may change its place.
const (
	maxSteps = 1 << 14
	maxTurns = 1 << 12
)

// evidence is what rehearsals have shown of each part of a function, and what closed forms say of
// what they have not.
type evidence struct {
	p     *predictor
	wide  int // bytes that lie in a bank together where threads have streams
	plain int // and otherwise
	forms map[int][]forms
	seen  [][numPlaces][]observation // of each part
	order []int                      // parts, in the order in which a run had them
	gap   float64                    // cycles of a run that are of no part
	sums  [numPlaces]history         // of all parts that were seen at a place
	cache map[setupKey]float64
	names map[string]int // bits of arrays
	now   int            // interleave of the forms that parts have
}

// forms are the closed forms of a part for one way to share lines out to banks.
type forms struct{ form, first, cold [numPlaces]float64 }

// observation is what a part took once, of which it was expected that so much is done once.
type observation struct {
	cycles, setup float64
	interleave    int
	open          bool // it took more than that
}

// setupKey is what setup depends on.
type setupKey struct {
	part     int
	place    Place
	where    uint64 // two bits for each array
	reserved bool
	times    int64
}

// newEvidence evaluates the closed forms of all parts.
func newEvidence(x *run) (*evidence, error) {
	p := x.predictor
	e := &evidence{p: p, wide: x.interleave, plain: x.machine.L3.InterleaveBytes, forms: map[int][]forms{}, names: map[string]int{}, seen: make([][numPlaces][]observation, len(p.parts))}
	for _, w := range []int{e.plain, e.wide} {
		x.interleave = w
		p.meet = p.meeting()
		var list []forms
		for _, q := range p.parts {
			if err := p.forms(q, p.begins(q)); err != nil {
				return nil, err
			}
			list = append(list, forms{q.form, q.first, q.cold})
			for _, name := range q.names {
				if _, ok := e.names[name]; !ok {
					e.names[name] = len(e.names)
				}
			}
			for name := range q.fetch {
				if _, ok := e.names[name]; !ok {
					e.names[name] = len(e.names)
				}
			}
		}
		e.forms[w] = list
	}
	// Until a run was seen, each part is reached as often as its loops say.
	for i, q := range p.parts {
		n := min(q.remaining(p.begins(q)), maxTurns)
		for range int64(max(1, n)) {
			e.order = append(e.order, i)
		}
	}
	return e, nil
}

// use gives parts the forms of a way to share lines out to banks.
func (e *evidence) use(interleave int) {
	if e.now == interleave {
		return
	}
	e.now = interleave
	for i, f := range e.forms[interleave] {
		q := e.p.parts[i]
		q.form, q.first, q.cold = f.form, f.first, f.cold
	}
	e.cache = map[setupKey]float64{}
}

// state is where arrays are as parts follow each other.
type state struct {
	e        *evidence
	where    map[string]Place
	packed   uint64
	reserved bool
	times    []int64 // that each part was in memory
}

func (e *evidence) begin() *state {
	return &state{e: e, where: map[string]Place{}, times: make([]int64, len(e.p.parts))}
}

// enter returns what is done once before a part is at a place, and has it be there.
func (s *state) enter(part int, k Place) float64 {
	q := s.e.p.parts[part]
	key := setupKey{part, k, s.packed, s.reserved, 0}
	if k == InMemory {
		key.times = min(s.times[part], q.lowers)
		s.times[part]++
	}
	once, ok := s.e.cache[key]
	if !ok || len(s.e.names) > 32 {
		once = s.e.p.setup(q, k, s.where, s.reserved, key.times)
		s.e.cache[key] = once
	}
	s.reserved = s.reserved || k == InMemory
	for _, name := range q.names {
		at := q.home(k)
		s.where[name] = at
		if bit := 2 * s.e.names[name]; bit < 64 {
			s.packed = s.packed&^(3<<bit) | uint64(at+1)<<bit
		}
	}
	return once
}

// learn takes a run into account.
func (e *evidence) learn(interleave int, steps []step, cycles int64, whole bool) {
	e.use(interleave)
	s, next, sum := e.begin(), make([]int, len(e.p.parts)), 0.0
	fresh := map[[2]int]bool{}
	for _, t := range steps {
		once := s.enter(t.part, t.place)
		n := next[t.part]
		next[t.part]++
		sum += float64(t.cycles)
		if math.IsInf(once, 1) {
			continue
		}
		list := &e.seen[t.part][t.place]
		o := observation{float64(t.cycles), once, interleave, t.open}
		if t.open {
			o.cycles = max(o.cycles, e.cost(t.part, t.place, n, once))
			if n < len(*list) && !(*list)[n].open {
				continue // another run has shown it
			}
		}
		if !fresh[[2]int{t.part, int(t.place)}] {
			fresh[[2]int{t.part, int(t.place)}] = true
			h, form := &e.sums[t.place], e.p.parts[t.part].form[t.place]+once
			h.cycles += o.cycles
			h.form += form
		}
		for len(*list) <= n { // until here it was elsewhere
			*list = append(*list, o)
		}
		(*list)[n] = o
	}
	if whole && len(steps) > 0 { // of one that was stopped, the rest is not known
		e.order = e.order[:0]
		for _, t := range steps {
			e.order = append(e.order, t.part)
		}
		e.gap = max(0, float64(cycles)-sum)
		if len(steps) >= maxSteps {
			e.gap = 0
		}
	}
}

// cost is what a part is expected to take once at a place, with what is done once.
func (e *evidence) cost(part int, k Place, n int, once float64) float64 {
	q := e.p.parts[part]
	list := e.seen[part][k]
	if len(list) == 0 {
		h := e.sums[k]
		return (q.form[k] + once) * (h.cycles + weight) / (h.form + weight)
	}
	o := list[min(n, len(list)-1)]
	cycles := o.cycles
	if o.interleave != e.now {
		if was := e.forms[o.interleave][part].form[k]; was > 0 && !math.IsInf(was, 1) {
			cycles *= min(2, max(0.5, q.form[k]/was))
		}
	}
	return max(cycles+once-o.setup, cycles*leastOfSeen)
}

// leastOfSeen bounds what a part may gain by arrays that are near, of what it took without.
const leastOfSeen = 0.25

// expect returns the cycles of a plan.
func (e *evidence) expect(pl *Plan) float64 {
	e.use(pl.Interleave)
	s, next, total := e.begin(), make([]int, len(e.p.parts)), e.gap
	for _, u := range e.order {
		n := next[u]
		next[u]++
		k := pl.at(u, int64(n))
		if k == InMemory && !e.possible(u, k) {
			k = pl.threads()
		}
		total += e.cost(u, k, n, s.enter(u, k))
	}
	return total
}

// possible reports whether a part can be at a place.
func (e *evidence) possible(part int, k Place) bool {
	return !math.IsInf(e.p.parts[part].form[k], 1)
}

// measured reports whether a part was seen at a place, from its beginning to its end.
func (e *evidence) measured(part int, k Place) bool {
	list := e.seen[part][k]
	return len(list) > 0 && !list[0].open
}

// reached is how often a part is.
func (e *evidence) reached(part int) (n int64) {
	for _, u := range e.order {
		if u == part {
			n++
		}
	}
	return n
}

// splits are how many times at which a part may change its place are looked at.
const splits = 8

// improve changes places of a plan, one part after another, as long as less is expected of it.
func (e *evidence) improve(pl *Plan, interleave int) (*Plan, float64) {
	pl = pl.mixed(mixedName, interleave)
	for u := range pl.Parts { // what cannot be in memory
		if !e.possible(u, InMemory) && slices.ContainsFunc(pl.Parts[u], func(t Turn) bool { return t.Place == InMemory }) {
			pl = pl.with(u, pl.threads(), 0, 1, 1)
		}
	}
	least := e.expect(pl)
	for again, rounds := true, 0; again && rounds < 8; rounds++ {
		again = false
		for u := range pl.Parts {
			n := e.reached(u)
			if n == 0 {
				continue
			}
			best := pl
			try := func(k Place, from, until int64) {
				q := pl.with(u, k, from, until, n).mixed(mixedName, interleave)
				if c := e.expect(q); c < least {
					best, least = q, c
				}
			}
			for k := range numPlaces {
				if !e.possible(u, k) {
					continue
				}
				try(k, 0, n)
				if n == 1 || len(e.order) > maxTurns {
					continue
				}
				for i := range min(int64(splits), n-1) {
					at := 1 + i*(n-1)/min(int64(splits), n-1)
					try(k, at, n)
					try(k, 0, at)
				}
			}
			if best != pl {
				pl, again = best, true
			}
		}
	}
	return pl, least
}

const mixedName = "mixed"

// mixes are plans that follow from others, those of which least is expected first.
func (e *evidence) mixes(from []*Plan) (list []*Plan, cycles []float64) {
	type made struct {
		pl     *Plan
		cycles float64
	}
	found := map[string]made{}
	ways := []int{e.plain}
	if e.wide != e.plain {
		ways = append(ways, e.wide)
	}
	for _, pl := range from {
		for _, w := range ways {
			q, c := e.improve(pl, w)
			found[q.key()] = made{q, c}
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		if x, y := found[a].cycles, found[b].cycles; x != y {
			if x < y {
				return -1
			}
			return 1
		}
		if a < b {
			return -1
		}
		return 1
	}) {
		list, cycles = append(list, found[key].pl), append(cycles, found[key].cycles)
	}
	return list, cycles
}
