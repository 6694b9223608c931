package fused

import (
	"maps"
	"math"
	"slices"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
)

// AutoPredicted is the configuration that chooses where each part of a function runs by what it expects
// of each place: closed forms, corrected by what parts have taken in this run.
const AutoPredicted = "auto-predicted"

// Place is where a part of a function is executed.
type Place uint8

// The places.
const (
	OnCores  Place = iota // with prefetchers
	AtL3                  // on cores that have streams at the L3, in place of prefetchers
	InMemory              // in arrays, with streams near them
	numPlaces
)

func (p Place) String() string { return [...]string{"cores", "L3", "memory"}[p] }

// Choice is what was expected of a part of a function, and what it took. A part is a unit, or an
// outermost loop of the rest.
type Choice struct {
	Name    string      `json:"name"`
	Reached int64       `json:"reached"`
	Tried   int64       `json:"tried"` // times that it was elsewhere than where it was expected to be fastest
	Places  []Placement `json:"places"`
}

// Placement is a part at a place. Cycles are of thread 0.
type Placement struct {
	Place     string  `json:"place"`
	First     float64 `json:"closed_form"` // expected the first time that the part was reached
	Times     int64   `json:"times"`
	Predicted float64 `json:"predicted"` // of these times, each before it began
	Cycles    int64   `json:"cycles"`    // and measured
}

// part is one that is executed at one place at a time.
type part struct {
	stmts  []stream.Stmt
	around []*stream.Loop
	unit   int // -1: of no unit
	last   [numPlaces]history
	place  Place
	setup  float64 // what is done once there, as it was expected
	jit    float64 // of these, lowering

	// Closed forms, as of the values at hand: of a time that finds data where it needs them, and, on
	// cores, of one that does not.
	form, first [numPlaces]float64
	cold        [numPlaces]float64     // of one that finds them in memory, but for its bandwidth
	plain       bool                   // there are no streams at the L3
	names       []string               // of arrays that it accesses, sorted
	arrays      map[string]float64     // and bytes of each
	written     map[string]bool        // of these
	fetch       map[string]system.Need // to bitlines where they are not there
	lower       float64                // lowering anew, beyond what it takes from then on
	lowers      int64                  // the times that it is
	stale       float64                // until lines that others have asked for are on bitlines again
	displaced   float64                // until arrays that are in its way have left bitlines
	report      *Choice
}

// history is what a part took the last time at a place.
type history struct {
	cycles, form float64
	times        int // in turn
}

// predictor chooses places.
type predictor struct {
	x     *run
	parts []*part
	tried [numPlaces]history // sums over parts, of the last time of each
	where map[string]Place   // arrays that have come from memory
	meet  int                // hops from threads to the lines that they meet at
	mode  Place
	once  int64 // cycles of fetching, flushing and lowering before the part at hand
}

// The limits of trials. Closed forms are right within a factor of doubt (assumed), and a trial may
// cost a share of what the part takes from now on at its best place.
const (
	doubt      = 4
	trialShare = 0.015
	leastGain  = 0.03
	settled    = 2     // times in turn after which caches have what they can keep
	recent     = 0.125 // weight of the last time from then on
	leastCost  = 0.25  // of a trial, of what the part takes
)

// dramShare is how much of the bandwidth of the memory cores get that go through several arrays: 15 of
// 25.6 GB/s (measured, docs/fused.md).
const dramShare = 15 / 25.6

// rest finds the outermost loops that are in no unit, and have none inside: those that are shared
// out among threads, and others without such.
func rest(g *stream.Graph, units []*unit) (list []*part) {
	unit := map[stream.Stmt]bool{}
	for _, u := range units {
		for _, st := range u.stmts {
			unit[st] = true
		}
	}
	var holds func(body []stream.Stmt) bool
	holds = func(body []stream.Stmt) bool {
		return slices.ContainsFunc(body, func(st stream.Stmt) bool {
			l, ok := st.(*stream.Loop)
			return unit[st] || ok && (l.Parallel != nil || holds(l.Body))
		})
	}
	var walk func(body []stream.Stmt, around []*stream.Loop)
	walk = func(body []stream.Stmt, around []*stream.Loop) {
		for _, st := range body {
			l, ok := st.(*stream.Loop)
			switch {
			case !ok || unit[st]:
			case l.Parallel == nil && holds(l.Body):
				walk(l.Body, append(slices.Clip(around), l))
			default:
				list = append(list, &part{stmts: []stream.Stmt{l}, around: around, unit: -1})
			}
		}
	}
	walk(g.Body, nil)
	return list
}

// around returns the loops around a statement, outermost first.
func around(g *stream.Graph, st stream.Stmt) (list []*stream.Loop) {
	var walk func(body []stream.Stmt, loops []*stream.Loop) bool
	walk = func(body []stream.Stmt, loops []*stream.Loop) bool {
		for _, x := range body {
			if x == st {
				list = slices.Clone(loops)
				return true
			}
			if l, ok := x.(*stream.Loop); ok && walk(l.Body, append(slices.Clip(loops), l)) {
				return true
			}
		}
		return false
	}
	walk(g.Body, nil)
	return list
}

func newPredictor(x *run) *predictor {
	p := &predictor{x: x, where: map[string]Place{}}
	for i, u := range x.units {
		p.parts = append(p.parts, &part{stmts: u.stmts, around: around(x.p.Graph, u.stmts[0]), unit: i})
	}
	p.parts = append(p.parts, rest(x.p.Graph, x.units)...)
	for _, q := range p.parts {
		name := ""
		if q.unit >= 0 {
			name = x.report.Regions[q.unit].Name
		} else {
			g := stream.Graph{Body: q.stmts}
			name = "loop " + q.stmts[0].(*stream.Loop).Var
			if list := g.Streams(); len(list) > 0 && list[0].At != "" {
				name += " at " + list[0].At
			}
		}
		q.report = &Choice{Name: name, Places: make([]Placement, numPlaces)}
		for k := range numPlaces {
			q.report.Places[k].Place = k.String()
		}
		x.report.Choices = append(x.report.Choices, q.report)
	}
	return p
}

// remaining returns how often a part will be reached from now on, this time included. Loops
// without an end that is known count as they do in closed forms.
func (q *part) remaining(values map[string]int64) float64 {
	total, inside := 1.0, 1.0
	for i := len(q.around) - 1; i >= 0; i-- {
		l := q.around[i]
		lo, err := l.Range.Lo.Eval(values)
		hi, err2 := l.Range.Hi.Eval(values)
		if err != nil || err2 != nil || l.Open {
			continue
		}
		v, stride := values[l.Var], l.Stride()
		n, left := float64((hi-lo)/max(stride, -stride)), float64((hi-1-v)/max(1, stride))
		if stride < 0 {
			left = float64((v - lo) / -stride)
		}
		total += left * inside
		inside *= max(1, n)
	}
	return total
}

// choose decides where a part is executed this time.
func (p *predictor) choose(q *part, values map[string]int64) (Place, error) {
	if err := p.forms(q, values); err != nil {
		return OnCores, err
	}
	left := q.remaining(values)
	reached := func(r *part) (Place, bool) { return r.place, r.report.Reached > 0 }
	var setup, each, total [numPlaces]float64
	best := OnCores
	for k := range numPlaces {
		setup[k] = p.setup(q, k, p.where, p.x.reserved, q.report.Places[InMemory].Times)
		each[k] = q.form[k]*p.ratio(q, k) + p.moves(q, k, reached)
		total[k] = setup[k] + left*each[k]
		if q.report.Reached == 0 && !math.IsInf(q.form[k], 1) {
			q.report.Places[k].First = q.form[k] + setup[k]
		}
		if total[k] < total[best] {
			best = k
		}
	}
	h := &q.last[q.place]
	switch {
	case q.report.Reached == 0 && q.untried(best): // as planned
		best = q.place
	case q.report.Reached == 0:
	case total[best] > (1-leastGain)*total[q.place] && !q.untried(best):
		best = q.place
	case q.place != InMemory && h.times < settled && each[q.place] < doubt*each[best]:
		best = q.place // the first time had to fetch what others have
	}
	// A place that was not tried may be better than it looks.
	try, gain := best, 0.0
	for k := range numPlaces {
		if k == best || !q.untried(k) || math.IsInf(q.form[k], 1) || h.times < settled {
			continue // the first times are not what a place takes
		}
		hope := total[best] - (setup[k] + left*each[k]/doubt)
		cost := setup[k] + max(each[k], (1+leastCost)*each[best]) - each[best]
		if cost <= trialShare*total[best] && hope > max(gain, cost) {
			try, gain = k, hope
		}
	}
	if try != best {
		q.report.Tried++
	}
	q.setup, q.place, q.jit = setup[try], try, 0
	if q.report.Places[InMemory].Times < q.lowers {
		q.jit = q.lower
	}
	q.report.Reached++
	q.report.Places[try].Predicted += setup[try] + each[try]
	return try, nil
}

// share chooses the first places, and how lines are shared out to banks, before any is in one: as
// without streams, or as where streams are at the L3, whichever all parts are expected to take less
// with.
func (p *predictor) share() error {
	x := p.x
	streams := x.interleave
	p.meet = p.meeting()
	wide, err := p.plan()
	if err != nil || streams == x.machine.L3.InterleaveBytes {
		return err
	}
	x.interleave = x.machine.L3.InterleaveBytes
	p.meet = p.meeting()
	narrow, err := p.plan()
	if err == nil && wide < narrow {
		x.interleave = streams
		p.meet = p.meeting()
		_, err = p.plan()
	}
	x.m.Share(x.interleave)
	return err
}

// plan chooses the first place of each part, all together: a part that has arrays at hand where
// the one before left them takes less. It returns the cycles that are expected of all.
func (p *predictor) plan() (float64, error) {
	for _, q := range p.parts {
		if err := p.forms(q, p.begins(q)); err != nil {
			return 0, err
		}
	}
	best, least := make([]Place, len(p.parts)), math.Inf(1)
	for start := range numPlaces {
		for _, q := range p.parts {
			if q.place = start; math.IsInf(q.form[start], 1) {
				q.place = OnCores
			}
		}
		now := p.expected()
		for again := true; again; {
			again = false
			for _, q := range p.parts {
				was := q.place
				for k := range numPlaces {
					old := q.place
					if q.place = k; k == old || math.IsInf(q.form[k], 1) {
						q.place = old
					} else if n := p.expected(); n < now {
						now = n
					} else {
						q.place = old
					}
				}
				again = again || q.place != was
			}
		}
		if now < least {
			least = now
			for i, q := range p.parts {
				best[i] = q.place
			}
		}
	}
	for i, q := range p.parts {
		q.place = best[i]
	}
	return least, nil
}

// begins is the sizes, and the variables of the loops around a part in their first iterations.
func (p *predictor) begins(q *part) map[string]int64 {
	values := maps.Clone(p.x.p.Sizes)
	for _, l := range q.around {
		if v, err := l.Range.Lo.Eval(values); err == nil {
			values[l.Var] = v
		}
	}
	return values
}

// expected returns the cycles of all parts where they are.
func (p *predictor) expected() (total float64) {
	where, reserved := map[string]Place{}, false
	for _, q := range p.parts {
		total += p.setup(q, q.place, where, reserved, 0) + q.remaining(p.begins(q))*(q.form[q.place]+p.moves(q, q.place, func(r *part) (Place, bool) { return r.place, true }))
		q.enter(where)
		reserved = reserved || q.place == InMemory
	}
	return total
}

// setup returns the cycles of what is done once where a part is executed at a place and has its
// arrays elsewhere, after so many times in memory.
func (p *predictor) setup(q *part, k Place, where map[string]Place, reserved bool, times int64) (cycles float64) {
	if math.IsInf(q.form[k], 1) {
		return q.form[k]
	}
	m := p.x.machine
	if k == InMemory {
		for _, name := range slices.Sorted(maps.Keys(q.fetch)) {
			if at, ok := where[name]; !ok || at != InMemory {
				cycles += p.loading(q.fetch[name], !ok)
			}
		}
		if !reserved {
			sets := 0
			for _, h := range p.x.m.Homes {
				sets = max(sets, h.Sets())
			}
			cycles += float64(sets) / float64(max(1, m.L3.TagsPerCycle))
		}
		return cycles + q.stale + q.displaced + q.lower*float64(max(0, q.lowers-times))
	}
	cold, moved, all, stored, written := 0.0, 0.0, 0.0, 0.0, 1.0
	fits := p.fits(q, reserved)
	for _, name := range q.names {
		at, ok := where[name]
		bytes := q.arrays[name]
		all += bytes
		if q.written[name] {
			written += bytes
			if !ok || !fits && at != InMemory {
				stored += bytes // to memory
			}
		}
		switch {
		case !ok:
			cold += bytes
		case at == InMemory:
			cycles += p.leaving(q, name)
		case !fits:
			cold += bytes
		case at == q.home(k):
			continue
		}
		moved += bytes
	}
	if all > 0 {
		cycles += max(q.form[k]+(q.first[k]-q.form[k])*moved/all+(q.cold[k]-q.first[k])*stored/written, cold/(dramShare*m.DRAMBytesPerCycle())) - q.form[k]
	}
	return cycles
}

// fits reports whether the L3 has room for what a part accesses.
func (p *predictor) fits(q *part, reserved bool) bool {
	m := p.x.machine
	ways, all := m.L3.Ways, 0.0
	if reserved {
		ways -= m.L3.ComputeWays
	}
	for _, bytes := range q.arrays {
		all += bytes
	}
	return all <= float64(m.Banks()*ways*m.L3.ArraysPerWay*m.Array.Rows*m.Array.Cols/8)
}

// home is where a part leaves what it has accessed: without streams in caches of cores.
func (q *part) home(k Place) Place {
	if k == AtL3 && q.plain {
		return OnCores
	}
	return k
}

// enter notes where arrays of a part are from now on.
func (q *part) enter(where map[string]Place) {
	for _, name := range q.names {
		where[name] = q.home(q.place)
	}
}

// moves is what each time costs that other parts of the same loops have arrays of this one in
// memory and it has not, or the other way round.
func (p *predictor) moves(q *part, k Place, place func(r *part) (at Place, known bool)) (cycles float64) {
	if len(q.around) == 0 {
		return 0
	}
	m := p.x.machine
	for _, name := range q.names {
		if slices.ContainsFunc(p.parts, func(r *part) bool {
			at, known := place(r)
			return r != q && known && (at == InMemory) != (k == InMemory) && r.arrays[name] > 0 && slices.Equal(r.around, q.around)
		}) {
			if k == InMemory {
				cycles += p.fetching(q.arrays[name], false, m.Banks())
			} else {
				cycles += p.leaving(q, name)
			}
		}
	}
	return cycles
}

// leaving is what cores wait for until an array is with them that bitlines have: homes ask the banks
// that have its lines, and a copy stays there, so that each store asks once more.
func (p *predictor) leaving(q *part, name string) float64 {
	m, bytes := p.x.machine, q.arrays[name]
	cycles := p.fetching(bytes, false, m.Banks())
	if q.written[name] {
		cycles += bytes / lineBytes / float64(p.x.opt.Threads) * p.trip() / float64(m.CoreVariant().StoresInFlight)
	}
	return cycles
}

// trip returns the cycles of a miss of the L2.
func (p *predictor) trip() float64 {
	m := p.x.machine
	return float64(m.L2.LatencyCycles+m.L3.LatencyCycles) + 2*float64(p.x.timing.Latency(p.distance(), p.x.timing.ControlFlits()))
}

func (q *part) untried(k Place) bool { return q.last[k].form == 0 }

// weight is the cycles of parts at a place that do as their closed forms say, before any was
// measured.
const weight = 5000

// ratio is what a part takes at a place by its closed form: as the last time, or as others did.
func (p *predictor) ratio(q *part, k Place) float64 {
	if h := q.last[k]; h.form > 0 {
		return h.cycles / h.form
	}
	return (p.tried[k].cycles + weight) / (p.tried[k].form + weight)
}

// took notes what a part took, and how much of that was done once.
func (p *predictor) took(q *part, cycles, once int64) {
	s := &q.report.Places[q.place]
	s.Times++
	s.Cycles += cycles
	if q.place == InMemory {
		once += int64(q.jit)
	}
	h, sum := &q.last[q.place], &p.tried[q.place]
	for k := range numPlaces {
		if k != q.place {
			q.last[k].times = 0
		}
	}
	sum.cycles -= h.cycles
	sum.form -= h.form
	took, form := max(1, float64(cycles-once)), max(1, q.form[q.place])
	if q.place != InMemory { // what is done once cannot be told apart
		form += q.setup
	}
	h.times++
	if h.times > settled { // lines that end at some iterations, and others, are no change
		took = took*recent + h.cycles*(1-recent)*form/h.form
	}
	h.cycles, h.form = took, form
	sum.cycles += h.cycles
	sum.form += h.form
}

// forms evaluates the closed forms of a part.
func (p *predictor) forms(q *part, values map[string]int64) error {
	x := p.x
	m := x.machine
	caches := micro.Caches{L1: int64(m.L1D.Bytes), L2: int64(m.L2.Bytes), Banks: int64(m.Banks()), Interleave: int64(x.interleave)}
	if m.Prefetch.L2 == "stride" {
		caches.Train = int64(m.Prefetch.Stride.Train)
	}
	e := x.code.Estimate(q.stmts, values, caches)
	q.arrays, q.written, q.names = e.Bytes, e.Written, slices.Sorted(maps.Keys(e.Bytes))
	q.first, q.cold = p.threads(&e)
	q.plain = e.Configured == 0
	q.form = q.first
	if n := len(q.around); n > 0 {
		caches.Again = q.around[n-1].Var
		for _, r := range p.parts {
			if r != q && slices.Equal(r.around, q.around) {
				for _, name := range r.names {
					if q.arrays[name] == 0 {
						caches.Others += r.arrays[name] / float64(x.opt.Threads)
					}
				}
			}
		}
		again := x.code.Estimate(q.stmts, values, caches)
		q.form, _ = p.threads(&again)
	}
	q.form[InMemory] = math.Inf(1)
	if q.unit < 0 || x.report.Regions[q.unit].Why != "" || x.session == nil {
		return nil
	}
	return p.inMemory(q, values)
}

// threads returns the closed forms of cores: the greatest of what their parts take. With streams,
// these take lines at the L3 as often as loops access them. Cold are those of lines in memory, for
// which stores wait one after another.
func (p *predictor) threads(e *micro.Estimate) (form, cold [numPlaces]float64) {
	x := p.x
	m, t := x.machine, x.timing
	c := m.CoreVariant()
	hop := float64(t.Latency(p.distance(), t.ControlFlits()))
	trip := p.trip()
	levels, fanout := 1.0, float64(p.x.opt.Threads)
	if m.Threads.Barrier == "tree" {
		fanout = float64(m.Threads.Fanout)
		levels = math.Ceil(math.Log(float64(p.x.opt.Threads)) / math.Log(fanout))
	}
	// At each level of the tree a thread reads the lines of those below it, which these have written,
	// and on the way down writes others of theirs, one after another.
	turn := float64(m.L2.LatencyCycles+m.L3.LatencyCycles) + 4*float64(t.Latency(p.meet, t.ControlFlits()))
	forks := e.Forks * (float64(m.Threads.ForkCycles) + 2*levels*fanout*turn)
	rate, units := float64(c.Width)/2, c.FPSIMDUnit()
	vectors := e.Vector / float64(units.Count)
	if !units.Pipelined {
		vectors *= float64(units.Cycles)
	}
	vectors = max(vectors, e.VectorI/float64(c.Units.IntSIMD.Count))
	misses := trip / float64(min(c.MaxRequests, m.L1D.MSHRs))
	stores := (e.Stores*trip + e.Shared*2*hop + max(0, e.Stores1-e.Stores)*float64(m.L2.LatencyCycles)) / float64(c.StoresInFlight)
	chain := e.Chain*float64(c.Units.FPALU.Cycles) + e.ChainInts*float64(c.Units.IntALU.Cycles) + e.Carried*float64(c.Units.FPALU.Cycles+m.L1D.LatencyCycles+c.ForwardCycles)
	times := func(stores float64) float64 {
		return max(e.MicroOps/rate, vectors, chain, e.Lines*misses, stores, e.Hot*float64(t.Flits())) + forks
	}
	d := &m.DRAM.Timing
	memory := 2*hop + float64(d.RCD+d.CL+d.Burst)*d.ClockNs*m.ClockGHz
	form[AtL3] = times(stores) // without prefetchers
	cold[AtL3] = times(stores + e.Stores*memory/float64(c.StoresInFlight))
	ahead := stores - e.Ahead*(trip-float64(m.L2.LatencyCycles))/float64(c.StoresInFlight)
	form[OnCores] = times(ahead)
	cold[OnCores] = times(ahead + (e.Stores-e.Ahead)*memory/float64(c.StoresInFlight))
	if e.Configured > 0 {
		written := (e.RestStores*trip + e.RestShared*2*hop) / float64(c.StoresInFlight)
		next := hop * lineBytes / float64(x.interleave) // on the way to the next bank
		turns := max(chain+e.Turns*(float64(m.Streams.L3.ComputeInitCycles)+next), e.Longest*next)
		form[AtL3] = max(e.Left/rate, e.Rest*misses, written, turns, e.Streamed*trip/float64(m.Streams.L3.Requests), e.Back*(trip+2*hop)/float64(c.StoresInFlight)) + e.Configured*hop + e.Waits*(trip+float64(m.Streams.L3.ComputeInitCycles)) + forks
		cold[AtL3] = max(form[AtL3], e.RestStores*memory/float64(c.StoresInFlight)+forks)
	}
	return form, cold
}

// meeting returns the hops from threads to the homes of the lines that they meet at, in the mean.
func (p *predictor) meeting() int {
	x := p.x
	list := x.code.Segments()
	s, mesh := &list[len(list)-1], x.machine.NoCConfig()
	hops, n := 0, 0
	for line := s.Addr / lineBytes; line*lineBytes < s.Addr+uint64(len(s.Data)); line++ {
		bank := int(line * lineBytes / uint64(x.interleave) % uint64(x.machine.Banks()))
		for i := range x.opt.Threads {
			hops += mesh.Distance(x.node+i, bank)
			n++
		}
	}
	return int(math.Round(float64(hops) / float64(max(1, n))))
}

// distance returns the hops between two tiles, in the mean.
func (p *predictor) distance() int {
	cols, rows := float64(p.x.machine.Mesh.Cols), float64(p.x.machine.Mesh.Rows)
	return int(math.Round((cols-1/cols)/3 + (rows-1/rows)/3))
}

// inMemory evaluates the closed form of a unit in memory.
func (p *predictor) inMemory(q *part, values map[string]int64) error {
	x := p.x
	u := x.units[q.unit]
	program := tdfg.Program{Body: u.graphs}
	q.fetch, q.stale, q.displaced = map[string]system.Need{}, 0, 0
	if slices.ContainsFunc(u.regions, func(g *tdfg.Graph) bool { return x.parts[g] != nil }) {
		q.form[InMemory] = 0
		return program.Each(x.ctx, values, func(g *tdfg.Graph, values map[string]int64) error {
			d, err := x.parts[g].Worth(x.ctx, values)
			q.form[InMemory] += float64(d.Latencies + d.JIT)
			for _, a := range g.Arrays {
				q.form[InMemory] += p.fetching(float64(x.mem.Arrays[a.Name].Bytes()), true, x.machine.Banks())
			}
			return err
		})
	}
	const always, seldom = 64, 8
	again, form, lower := q.report.Reached < always || q.report.Reached%seldom == 0, 0.0, 0.0
	lowers, layout := int64(1), x.layouts[q.unit]
	err := program.Each(x.ctx, values, func(g *tdfg.Graph, values map[string]int64) error {
		for name, n := range layout.Needs(g, values) {
			if old, ok := q.fetch[name]; !ok || n.Bytes > old.Bytes {
				q.fetch[name] = n
			}
		}
		for _, n := range layout.Displaces(g) {
			q.displaced += p.asking(float64(n.Bytes), x.timing.ControlFlits(), x.timing.Flits(), n.Banks)
		}
		if !again {
			return nil
		}
		f, err := layout.Forecast(g, values)
		if err != nil {
			return err
		}
		form += float64(f.Commands + f.Near)
		lower += float64(f.JIT)
		if slices.ContainsFunc(f.Symbols, func(s string) bool {
			return slices.ContainsFunc(q.around, func(l *stream.Loop) bool { return l.Var == s })
		}) {
			form += float64(f.Patch)
			lower -= float64(f.Patch)
			lowers = 2 // the second time makes a template
		}
		return nil
	})
	if again {
		q.lower, q.lowers = lower, lowers
		q.form[InMemory] = form
	} else if h := q.last[InMemory]; h.form > 0 {
		q.form[InMemory] = h.form
	}
	lost := 0
	for name, lines := range x.lost {
		if layout.Has(name) {
			lost += len(lines)
		}
	}
	q.stale = p.fetching(float64(lost*lineBytes), false, x.machine.Banks())
	return err
}

// loading returns the cycles until what is needed of an array is at the banks.
func (p *predictor) loading(n system.Need, cold bool) float64 {
	return p.fetching(float64(n.Bytes), cold, n.Banks) + p.asking(float64(n.Whole), p.x.timing.ControlFlits(), 2*p.x.timing.ControlFlits(), n.Banks)
}

// fetching returns the cycles until bytes are at so many banks, from memory or from caches.
func (p *predictor) fetching(bytes float64, cold bool, banks int) float64 {
	t := p.x.timing
	n := p.asking(bytes, t.Flits(), 2*t.ControlFlits(), banks)
	if cold {
		d := &p.x.machine.DRAM.Timing
		n = max(n, bytes/(p.x.machine.DRAMBytesPerCycle()*(1-float64(d.RFC)/float64(d.REFI))))
	}
	return n
}

// asking returns the cycles in which banks and the homes of lines exchange these, with so many flits
// for each to the bank and to its home, which all banks are.
func (p *predictor) asking(bytes float64, bank, home, banks int) float64 {
	m, t := p.x.machine, p.x.timing
	trip := float64(m.L3.LatencyCycles) + 2*float64(t.Latency(p.distance(), t.ControlFlits()))
	n := float64(max(1, banks))
	return bytes / lineBytes * max(float64(bank)/n+float64(home)/float64(m.Banks()), perLine(m)/n, trip/float64(m.Streams.L3.Requests)/n)
}

// perLine is the cycles of a transpose unit for a line.
func perLine(m *tile.Machine) float64 {
	if m.Transpose.LinesPerCycle == 0 {
		return 0
	}
	return 1 / m.Transpose.LinesPerCycle
}

// enter lets a part begin at its place.
func (p *predictor) enter(q *part) {
	q.enter(p.where)
	if plan := p.x.opt.plan; q.place != InMemory && (plan == nil || plan.both()) {
		p.set(q.place)
	}
	p.once = p.done()
}

// done returns the cycles so far of what is done once.
func (p *predictor) done() int64 {
	c := &p.x.report.Cycles
	return c.DRAM + c.Flush + c.Return
}

// set turns streams on and prefetchers off, or the other way round.
func (p *predictor) set(mode Place) {
	p.mode = mode
	for _, c := range p.x.m.Caches {
		c.Prefetching(mode == OnCores)
	}
}
