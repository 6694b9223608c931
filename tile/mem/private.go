package mem

import (
	"fmt"
	"unsafe"

	"github.com/bitsched/bitsched/internal/hugepage"
	"github.com/bitsched/bitsched/internal/prefetch"
	"github.com/bitsched/bitsched/tile/event"
)

// PrivateSpec is the private caches of a core: L1 for data and L2. Times are cycles.
type PrivateSpec struct {
	L1 CacheSpec `yaml:"l1" json:"l1"`
	L2 CacheSpec `yaml:"l2" json:"l2"`
	// HitReturn is from the L2's answer to the line in the L1, MissReturn from one
	// level to the one above when the lower one had to ask further.
	HitReturn  int `yaml:"hit_return" json:"hit_return"`
	MissReturn int `yaml:"miss_return" json:"miss_return"`
	// Release is from the fill of a line until its miss register is free.
	Release int `yaml:"release" json:"release"`
}

// CacheSpec is one level.
type CacheSpec struct {
	ArraySpec `yaml:",inline"`
	Latency   int `yaml:"latency_cycles" json:"latency_cycles"` // of a look-up
	MSHRs     int `yaml:"mshrs" json:"mshrs"`                   // misses under way
	// Lookups begin in a cycle at most, of the L1; each keeps its stage for a cycle
	// more than the latency, and there are as many stages as fit the latency. Those of
	// the prefetcher come after those of the core, from a queue. 0: no limit.
	Lookups int `yaml:"lookups,omitempty" json:"lookups,omitempty"`
	// Sharers are the parts above that look lines up in the L1, 0 as 1: the core alone. In
	// a cycle loads, and requests to write, begin at most so many of the look-ups that
	// are free as there are for each of them, at least one, writes first; what is left is
	// the prefetcher's, also where loads wait.
	Sharers int `yaml:"sharers,omitempty" json:"sharers,omitempty"`
	// Prefetcher is the name of one of Prefetchers, or empty.
	Prefetcher string      `yaml:"prefetcher,omitempty" json:"prefetcher,omitempty"`
	Bingo      *BingoSpec  `yaml:"bingo,omitempty" json:"bingo,omitempty"`   // nil: DefaultBingo
	Stride     *StrideSpec `yaml:"stride,omitempty" json:"stride,omitempty"` // nil: DefaultStride
}

// Validate refuses what cannot be built.
func (s *PrivateSpec) Validate() error {
	for _, c := range []struct {
		name string
		spec *CacheSpec
	}{{"L1", &s.L1}, {"L2", &s.L2}} {
		if err := c.spec.Validate(c.name); err != nil {
			return err
		}
	}
	for _, p := range []struct {
		name  string
		value int
	}{{"hit_return", s.HitReturn}, {"miss_return", s.MissReturn}, {"release", s.Release}} {
		if p.value < 0 || p.value > 10_000 {
			return fmt.Errorf("mem: %s of %d cycles, expected 0 to 10000", p.name, p.value)
		}
	}
	return nil
}

// Validate refuses what cannot be built; name says which cache it is.
func (s *CacheSpec) Validate(name string) error {
	if err := s.ArraySpec.Validate(name); err != nil {
		return err
	}
	switch {
	case s.Latency < 0 || s.Latency > 10_000:
		return fmt.Errorf("mem: %s latency of %d cycles, expected 0 to 10000", name, s.Latency)
	case s.MSHRs < 1 || s.MSHRs > 4096:
		return fmt.Errorf("mem: %s with %d MSHRs, expected 1 to 4096", name, s.MSHRs)
	case s.Lookups < 0 || s.Lookups > 64:
		return fmt.Errorf("mem: %s with %d look-ups a cycle, expected 0 to 64", name, s.Lookups)
	case s.Sharers < 0 || s.Sharers > 64:
		return fmt.Errorf("mem: %s with %d parts that look lines up, expected 0 to 64", name, s.Sharers)
	case s.Sharers > 1 && (s.Lookups == 0 || s.Latency == 0):
		return fmt.Errorf("mem: %s with %d parts that share %d look-ups a cycle of %d cycles, expected at least one of each", name, s.Sharers, s.Lookups, s.Latency)
	case s.Prefetcher != "" && Prefetchers[s.Prefetcher] == nil:
		return fmt.Errorf("mem: %s with prefetcher %q, expected none or %s", name, s.Prefetcher, prefetcherNames())
	}
	return nil
}

// Client is the core above private caches.
type Client interface {
	// Performed tells that a load that has missed is performed now: these are the
	// bytes of the copy that serves it. They are in the L1 at the time filled.
	Performed(now, filled event.Time, id uint64, line *Bytes)
	// Found tells that a load that has waited for a look-up hits now.
	Found(now event.Time, id uint64, line *Bytes)
	// Owned tells that the line may be written now.
	Owned(now event.Time, line Line)
	// Lost tells that the line leaves the core.
	Lost(now event.Time, line Line)
}

// PrivateCounters are what the private caches of a core have done.
type PrivateCounters struct {
	L1 LevelCounters `json:"l1"`
	L2 LevelCounters `json:"l2"`

	Upgrades      uint64 `json:"upgrades" desc:"requests to write what could be read"`
	Invalidations uint64 `json:"invalidations" desc:"copies taken away by writes of other cores"`
	Forwards      uint64 `json:"forwards" desc:"requests of other cores served"`
	WriteBacks    uint64 `json:"writebacks" desc:"written lines given back to their home"`
	CleanBacks    uint64 `json:"clean_backs" desc:"owned lines given back that were not written"`
}

// LevelCounters are those of one cache.
type LevelCounters struct {
	Loads          uint64 `json:"loads" desc:"loads and reads for the level above"`
	LoadMisses     uint64 `json:"load_misses" desc:"of these, not here"`
	Writes         uint64 `json:"writes" desc:"requests to write"`
	WriteMisses    uint64 `json:"write_misses" desc:"of these, not here or not to be written"`
	Merged         uint64 `json:"merged" desc:"misses of a line that was under way"`
	Full           uint64 `json:"full" desc:"misses that waited for a miss register"`
	MissLatency    uint64 `json:"miss_latency" unit:"Cycle" desc:"from miss to fill, in all"`
	Fills          uint64 `json:"fills" desc:"lines that came from below"`
	FromAbove      uint64 `json:"from_above" desc:"written lines that came from above"`
	Prefetches     uint64 `json:"prefetches" desc:"lines asked for in advance"`
	PrefetchesUsed uint64 `json:"prefetches_used" desc:"of these, used while they were here"`
}

// Private is the L1 and the L2 of a core, and its side of the coherence protocol. A
// line is in both, or in one of them.
type Private struct {
	Counters PrivateCounters
	// Missed, if it is not nil, is told the PC of each access of the core that the L2 does not serve.
	Missed func(pc uint32)

	engine   *event.Engine
	spec     *PrivateSpec
	protocol *Protocol
	net      Network
	home     func(Line) Place
	self     Place
	client   Client
	fail     func(error)

	l1, l2 *array
	misses []miss   // of the L1
	busy   int      // miss registers of the L1 that have been filled and are not free yet
	stall  []access // that wait for a miss register of the L1
	asked  []transaction
	queued []Line // misses of the L1 that wait for a miss register of the L2
	given  []givenBack

	prefetch1, prefetch2 Prefetcher
	reach2               Line // how far from a miss the prefetcher of the L2 mostly looks up
	off                  bool // neither is asked
	candidates           []Line
	timely, owed         float64 // share of prefetches that Warm makes, and what is left of it
	paced1, paced2       Paced   // the same prefetchers, if they hand out a line a cycle
	ports                ports
	reads, writes        []access // that wait for a look-up of a shared L1
	wanted               []access // look-ups of the prefetcher of the L1
	probe, probe2        event.Handler
	probing, probing2    bool

	lookup  event.Handler
	release event.Handler
	serving bool
	out     Message // that is sent
}

// access is a load, or a request to write.
type access struct {
	line  Line
	pc    uint32
	id    uint64
	since event.Time // in the queue of a shared L1
	own   bool
	pref  bool
}

// miss is a line that the L1 waits for.
type miss struct {
	line    Line
	pc      uint32 // of the access that missed first
	since   event.Time
	waiters []uint64 // loads
	own     bool     // a write waits
	pref    bool     // nothing waits but the prefetcher
	below   bool     // looked up in the L2
}

// transaction is a line that the L2 waits for.
type transaction struct {
	line         Line
	since        event.Time
	state        State
	data         Bytes
	needed, have int
	pref         bool // nothing above waits
	up           bool // for the L1
}

// givenBack is a line on its way to its home.
type givenBack struct {
	line  Line
	state State
	data  Bytes
}

// NewPrivate returns empty caches of a core. home finds the home of a line; fail is
// told of breaches of the protocol.
func NewPrivate(e *event.Engine, spec *PrivateSpec, protocol *Protocol, core int, net Network, home func(Line) Place, client Client, fail func(error)) *Private {
	seed := uint64(core)<<8 + 1
	p := &Private{engine: e, spec: spec, protocol: protocol, net: net, home: home, self: Place{Core, int16(core)}, client: client, fail: fail,
		l1: newArray(e.Memory(), spec.L1.ArraySpec, 1, 1, seed), l2: newArray(e.Memory(), spec.L2.ArraySpec, 1, 1, seed+1), timely: 1}
	if f := Prefetchers[spec.L1.Prefetcher]; f != nil {
		p.prefetch1 = f(&spec.L1)
		p.paced1, _ = p.prefetch1.(Paced)
	}
	if f := Prefetchers[spec.L2.Prefetcher]; f != nil {
		p.prefetch2 = f(&spec.L2)
		if s, ok := p.prefetch2.(*stride); ok {
			p.reach2 = Line(s.spec.Ahead)
		}
		p.paced2, _ = p.prefetch2.(Paced)
	}
	p.lookup = e.Handle(func(now event.Time, line uint64) { p.below(now, line) })
	e.Ahead(p.lookup, p.prefetchMiss, p.prefetchData)
	p.ports = ports{width: spec.L1.Lookups, depth: spec.L1.Latency}
	p.probe = e.Handle(func(now event.Time, _ uint64) {
		if p.probing = p.probeAll(now); p.probing {
			e.At(now+1, p.probe, 0)
		}
	})
	p.probe2 = e.Handle(func(now event.Time, _ uint64) { p.pace2(now) })
	p.release = e.Handle(func(now event.Time, _ uint64) {
		p.busy--
		p.unstall(now)
	})
	return p
}

// Back asks for huge pages of the host where the caches lie that are not in the slab.
func (p *Private) Back(s *hugepage.Slab) { hugepage.Back(s, unsafe.Slice(p, 1)) }

// prefetchLine brings what the caches know of a line into those of the host.
func (p *Private) prefetchLine(line Line) {
	p.l1.prefetch(line)
	p.l2.prefetch(line)
}

// prefetchMiss does so for a line that the L2 looks up, and its prefetcher with it another one.
func (p *Private) prefetchMiss(line Line) {
	p.prefetchLine(line)
	if p.reach2 != 0 {
		p.l2.prefetch(line + p.reach2)
	}
}

// prefetchData brings the bytes that a fill of the L1 moves.
func (p *Private) prefetchData(line Line) {
	p.l2.prefetchData(line)
	i := p.l1.candidate(line)
	prefetch.Lines(unsafe.Pointer(&p.l1.data[i]), 1)
	if w := p.l1.ways[i]; w != empty {
		p.l2.prefetch(w.line())
	}
}

// Far and Near are told of a message before it is received, to bring what it needs into the caches
// of the host: as the functions of [event.Engine.Ahead].
func (p *Private) Far(m *Message) { p.prefetchLine(m.Line) }

// Near is told of a message later than Far.
func (p *Private) Near(m *Message) {
	if m.HasData {
		p.prefetchData(m.Line)
	}
}

// Load reads a line for the core: the bytes of the copy that serves it, and how many
// cycles it waits for a port, or nil if there is none; then the client is told later,
// by id.
func (p *Private) Load(now event.Time, pc uint32, line Line, id uint64) (*Bytes, int) {
	if p.shared() {
		p.reads = append(p.reads, access{line: line, pc: pc, id: id, since: now})
		p.poll(now)
		return nil, 0
	}
	delay := p.ports.take(now)
	return p.read(now, delay, pc, line, id), int(delay)
}

// read looks a load up after a delay, and returns the bytes if it hits.
func (p *Private) read(now, delay event.Time, pc uint32, line Line, id uint64) *Bytes {
	p.Counters.L1.Loads++
	i := p.l1.find(line)
	if i >= 0 && p.protocol.serves(p.l1.state(i), Load) {
		p.used(p.l1, i, &p.Counters.L1)
		p.observe1(now, pc, line, true, false)
		return &p.l1.data[i]
	}
	p.Counters.L1.LoadMisses++
	if p.miss(now+delay, access{line: line, pc: pc, id: id}) {
		p.observe1(now, pc, line, false, false)
	}
	return nil
}

// Own asks to write a line, and tells whether it may be written now; if not, the
// client is told when it may.
func (p *Private) Own(now event.Time, pc uint32, line Line) bool {
	if p.shared() {
		p.writes = append(p.writes, access{line: line, pc: pc, own: true, since: now})
		p.poll(now)
		return false
	}
	return p.own(now, p.ports.take(now), pc, line)
}

// own looks a request to write up after a delay, and tells whether it hits.
func (p *Private) own(now, delay event.Time, pc uint32, line Line) bool {
	p.Counters.L1.Writes++
	i := p.l1.find(line)
	if i >= 0 && p.protocol.serves(p.l1.state(i), Write) {
		p.used(p.l1, i, &p.Counters.L1)
		p.observe1(now, pc, line, true, true)
		return true
	}
	p.Counters.L1.WriteMisses++
	if p.miss(now+delay, access{line: line, pc: pc, own: true}) {
		p.observe1(now, pc, line, false, true)
	}
	return false
}

// Spare is [Private.Load], or with write [Private.Own], if a look-up can begin in this cycle; else ok is
// false.
func (p *Private) Spare(now event.Time, pc uint32, line Line, id uint64, write bool) (b *Bytes, ok bool) {
	switch {
	case !p.shared() && !p.ports.free(now):
		return nil, false
	case write:
		p.Own(now, pc, line)
	default:
		b, _ = p.Load(now, pc, line, id)
	}
	return b, true
}

// Write gives the bytes of a line that may be written, nil if it may not: it has
// been taken away meanwhile, and must be asked for again.
func (p *Private) Write(line Line) *Bytes {
	i := p.l1.find(line)
	if i < 0 || !p.protocol.serves(p.l1.state(i), Write) {
		return nil
	}
	p.l1.become(i, p.protocol.Cache[p.l1.state(i)][Write].Next)
	p.l1.written(i, true)
	return &p.l1.data[i]
}

// Pending tells whether anything is under way.
func (p *Private) Pending() bool {
	return len(p.misses) > 0 || len(p.stall) > 0 || len(p.asked) > 0 || len(p.given) > 0 || len(p.reads) > 0 || len(p.writes) > 0
}

// Fetch asks for a line that the core will need, to write it or not, as a prefetcher would:
// into the L1 while less than half of its miss registers are busy, else into the L2. It tells
// whether the L1 lacks it.
func (p *Private) Fetch(now event.Time, pc uint32, line Line, write bool) bool {
	kind := Load
	if write {
		kind = Write
	}
	if i := p.l1.find(line); i >= 0 && p.protocol.serves(p.l1.state(i), kind) {
		return false
	}
	a := access{line: line, pc: pc, pref: true, own: write}
	if p.ports.width == 0 {
		p.prefetch(now, a)
	} else {
		p.want(a)
		p.poll(now)
	}
	return true
}

// used notes a use of a line of one level.
func (p *Private) used(a *array, i int, c *LevelCounters) {
	a.touch(i)
	if a.ways[i]&aheadBit != 0 {
		a.ahead(i, false)
		c.PrefetchesUsed++
	}
}

func (p *Private) findMiss(line Line) *miss {
	for i := range p.misses {
		if p.misses[i].line == line {
			return &p.misses[i]
		}
	}
	return nil
}

func (p *Private) findAsked(line Line) *transaction {
	for i := range p.asked {
		if p.asked[i].line == line {
			return &p.asked[i]
		}
	}
	return nil
}

func (p *Private) findGiven(line Line) *givenBack {
	for i := range p.given {
		if p.given[i].line == line {
			return &p.given[i]
		}
	}
	return nil
}

// miss joins a miss of the line or begins one; if there is no miss register for it,
// it waits, and is false.
func (p *Private) miss(now event.Time, a access) bool {
	if m := p.findMiss(a.line); m != nil {
		if !a.pref {
			p.Counters.L1.Merged++
			m.pref = false
		}
		m.join(a)
		return true
	}
	if len(p.misses)+p.busy >= p.spec.L1.MSHRs || len(p.stall) > 0 && !p.serving {
		if !a.pref {
			p.Counters.L1.Full++
			p.stall = append(p.stall, a)
		}
		return false
	}
	n := len(p.misses)
	if n < cap(p.misses) {
		p.misses = p.misses[:n+1]
	} else {
		p.misses = append(p.misses, miss{})
	}
	m := &p.misses[n]
	*m = miss{line: a.line, pc: a.pc, since: now, waiters: m.waiters[:0], pref: a.pref}
	m.join(a)
	p.engine.At(now+event.Time(p.spec.L2.Latency), p.lookup, a.line)
	return true
}

func (m *miss) join(a access) {
	switch {
	case a.own:
		m.own = true
	case !a.pref:
		m.waiters = append(m.waiters, a.id)
	}
}

// unstall lets those that wait for a miss register go on, in order.
func (p *Private) unstall(now event.Time) {
	p.serving = true
	done := 0
	for done < len(p.stall) && len(p.misses)+p.busy < p.spec.L1.MSHRs {
		a := p.stall[done]
		done++
		kind := Load
		if a.own {
			kind = Write
		}
		if i := p.l1.find(a.line); i >= 0 && p.protocol.serves(p.l1.state(i), kind) {
			p.used(p.l1, i, &p.Counters.L1)
			if a.own {
				p.client.Owned(now, a.line)
			} else {
				p.client.Performed(now, now, a.id, &p.l1.data[i])
			}
			p.observe1(now, a.pc, a.line, true, a.own)
			continue
		}
		p.miss(now, a)
		p.observe1(now, a.pc, a.line, false, a.own)
	}
	p.stall = append(p.stall[:0], p.stall[done:]...)
	p.serving = false
}

// state is what the core knows of a line that is not under way.
func (p *Private) state(line Line) State {
	if i := p.l1.find(line); i >= 0 {
		return p.l1.state(i)
	}
	if i := p.l2.find(line); i >= 0 {
		return p.l2.state(i)
	}
	return I
}

// below looks a miss of the L1 up in the L2.
func (p *Private) below(now event.Time, line Line) {
	m := p.findMiss(line)
	if m == nil {
		return
	}
	kind := Load
	if m.own {
		kind = Write
	}
	k, i := p.l1.find(line), p.l2.find(line)
	state := I
	switch {
	case k >= 0:
		state = p.l1.state(k)
	case i >= 0:
		state = p.l2.state(i)
	}
	served := p.protocol.serves(state, kind)
	if !m.below {
		m.below = true
		c := &p.Counters.L2
		here := i >= 0 && served
		if !here && p.Missed != nil {
			p.Missed(m.pc)
		}
		if m.own {
			c.Writes++
			if !here {
				c.WriteMisses++
			}
		} else {
			c.Loads++
			if !here {
				c.LoadMisses++
			}
		}
		if i >= 0 {
			p.used(p.l2, i, c)
		}
		p.observe2(now, m.pc, line, i >= 0, m.own) // which moves nothing
	}
	if served {
		if k < 0 && i >= 0 {
			k = p.fillL1(now, line, state, &p.l2.data[i])
		}
		p.answer(now, m, k, now+event.Time(p.spec.HitReturn))
		return
	}
	if t := p.findAsked(line); t != nil {
		t.up, t.pref = true, false // it will be looked up again
		return
	}
	if len(p.asked) >= p.spec.L2.MSHRs || p.findGiven(line) != nil {
		p.Counters.L2.Full++
		p.queued = append(p.queued, line)
		return
	}
	p.ask(now, line, state, kind, false)
}

// ask begins a transaction.
func (p *Private) ask(now event.Time, line Line, state State, kind Event, pref bool) {
	p.asked = append(p.asked, transaction{line: line, since: now, state: state, pref: pref, up: !pref})
	p.step(now, &p.asked[len(p.asked)-1], nil, kind, nil)
}

// unqueue looks up again what waits for a miss register of the L2, or for a line that
// was given back, now that a line has come or gone. Only that one can be served.
func (p *Private) unqueue(now event.Time, changed Line) {
	for range len(p.queued) {
		if len(p.queued) == 0 {
			return
		}
		line := p.queued[0]
		p.queued = append(p.queued[:0], p.queued[1:]...)
		if line != changed && len(p.asked) >= p.spec.L2.MSHRs && p.findAsked(line) == nil {
			p.Counters.L2.Full++
			p.queued = append(p.queued, line)
			continue
		}
		p.below(now, line)
	}
}

// answer serves those that wait for a miss of the L1: the line is there, in way i, and
// will have come at the time filled.
func (p *Private) answer(now event.Time, m *miss, i int, filled event.Time) {
	line := m.line
	if i < 0 {
		p.fail(fmt.Errorf("mem: core %d: line %#x was filled and is not there", p.self.Index, line))
		return
	}
	p.Counters.L1.MissLatency += uint64(filled - m.since)
	p.Counters.L1.Fills++
	p.l1.ahead(i, m.pref)
	waiters, own := m.waiters, m.own
	// The register is given up before the client is told, who may ask for more.
	last := len(p.misses) - 1
	if free := &p.misses[last]; m != free {
		*m, free.waiters = *free, waiters
	}
	p.misses = p.misses[:last]
	p.busy++
	p.engine.At(filled+event.Time(p.spec.Release), p.release, 0)
	data := &p.l1.data[i]
	for _, id := range waiters {
		p.client.Performed(now, filled, id, data)
	}
	if own {
		p.client.Owned(now, line)
	}
}

// Receive handles a message.
func (p *Private) Receive(now event.Time, m *Message) {
	var e Event
	t := p.findAsked(m.Line)
	switch m.Kind {
	case MsgInv:
		e = Inv
		p.Counters.Invalidations++
	case MsgFwdGetS:
		e = FwdGetS
		p.Counters.Forwards++
	case MsgFwdGetM:
		e = FwdGetM
		p.Counters.Forwards++
	case MsgDataS:
		e = DataS
	case MsgDataE:
		e = DataE
	case MsgDataM:
		e = DataM
		if t != nil && t.have >= int(m.Acks) {
			e = DataMAll
		}
	case MsgAckM:
		e = AckM
		if t != nil && t.have >= int(m.Acks) {
			e = AckMAll
		}
	case MsgInvAck:
		e = InvAck
		if t != nil && (t.state == IMa || t.state == SMa) && t.have+1 >= t.needed {
			e = LastAck
		}
	case MsgPutAck:
		e = PutAck
	default:
		p.fail(fmt.Errorf("mem: core %d: unexpected message %s", p.self.Index, m.Kind))
		return
	}
	var g *givenBack
	if t == nil {
		g = p.findGiven(m.Line)
	}
	p.step(now, t, g, e, m)
}

// step makes a transition: of a transaction, of a line that is given back, or else
// of a line that is here or not.
func (p *Private) step(now event.Time, t *transaction, g *givenBack, e Event, m *Message) {
	var line Line
	var state State
	switch {
	case t != nil:
		line, state = t.line, t.state
	case g != nil:
		line, state = g.line, g.state
	default:
		line = m.Line
		state = p.state(line)
	}
	tr := &p.protocol.Cache[state][e]
	if !tr.valid {
		p.fail(fmt.Errorf("mem: core %d: line %#x in state %s, unexpected event %s", p.self.Index, line, state, e))
		return
	}
	done, forgotten := false, false
	for _, a := range tr.Do {
		switch a {
		case askGetS:
			p.send(Message{Kind: MsgGetS, To: p.home(line), Asks: p.self.Index, Line: line})
		case askGetM:
			if t.state == S {
				p.Counters.Upgrades++
			}
			p.send(Message{Kind: MsgGetM, To: p.home(line), Asks: p.self.Index, Line: line, Upgrade: t.state == S})
		case keepCopy:
			t.data = *p.copyOf(line)
		case dropCopy:
			p.drop(now, line)
		case ackWriter:
			p.send(Message{Kind: MsgInvAck, To: Place{Core, m.Asks}, Line: line})
		case takeData:
			t.data = m.Data
		case countAcks:
			t.needed = int(m.Acks)
		case countAck:
			t.have++
		case sendShared, sendOwned:
			kind := MsgDataS
			if a == sendOwned {
				kind = MsgDataM
			}
			p.send(Message{Kind: kind, HasData: true, To: Place{Core, m.Asks}, Line: line, Data: *p.dataOf(line, g)})
		case copyBack:
			back := Message{Kind: MsgCopyBack, To: p.home(line), Line: line}
			if state == M || state == MIa {
				back.HasData, back.Dirty, back.Data = true, true, *p.dataOf(line, g)
			}
			p.send(back)
		case forgetWrite:
			forgotten = true
		case fill:
			done = true
		}
	}
	switch {
	case done:
		p.complete(now, t, tr.Next)
	case t != nil:
		t.state = tr.Next
	case g != nil:
		g.state = tr.Next
		if forgotten {
			p.expect(I, tr.Next, line, e)
			last := len(p.given) - 1
			*g = p.given[last]
			p.given = p.given[:last]
			p.unqueue(now, line)
		}
	default:
		if tr.Next != I && tr.Next != state {
			p.demote(line, tr.Next)
		}
		p.expect(p.state(line), tr.Next, line, e)
	}
}

// expect checks that copies are what the state after a transition says.
func (p *Private) expect(is, next State, line Line, e Event) {
	if is != next {
		p.fail(fmt.Errorf("mem: core %d: line %#x is in state %s after %s, expected %s", p.self.Index, line, is, e, next))
	}
}

func (p *Private) send(m Message) {
	p.out = m
	p.out.From = p.self
	p.net.Send(&p.out)
}

// copyOf is the newest copy of a line.
func (p *Private) copyOf(line Line) *Bytes {
	if i := p.l1.find(line); i >= 0 {
		return &p.l1.data[i]
	}
	if i := p.l2.find(line); i >= 0 {
		return &p.l2.data[i]
	}
	p.fail(fmt.Errorf("mem: core %d: line %#x is not there", p.self.Index, line))
	return new(Bytes)
}

func (p *Private) dataOf(line Line, g *givenBack) *Bytes {
	if g != nil {
		return &g.data
	}
	return p.copyOf(line)
}

// drop forgets the copies of a line.
func (p *Private) drop(now event.Time, line Line) {
	if i := p.l1.find(line); i >= 0 {
		p.l1.drop(i)
	}
	if i := p.l2.find(line); i >= 0 {
		p.l2.drop(i)
	}
	p.client.Lost(now, line)
}

// demote leaves copies of a line in another state, equal ones.
func (p *Private) demote(line Line, state State) {
	i, j := p.l1.find(line), p.l2.find(line)
	if i >= 0 {
		if j >= 0 && p.l1.ways[i].dirty() {
			p.l2.data[j] = p.l1.data[i]
		}
		p.l1.become(i, state)
		p.l1.written(i, false)
	}
	if j >= 0 {
		p.l2.become(j, state)
		p.l2.written(j, false)
	}
}

// complete ends a transaction: the line is here in a state.
func (p *Private) complete(now event.Time, t *transaction, state State) {
	done := *t
	last := len(p.asked) - 1
	*t = p.asked[last]
	p.asked = p.asked[:last]
	line := done.line
	p.send(Message{Kind: MsgUnblock, To: p.home(line), Line: line})
	p.Counters.L2.MissLatency += uint64(now - done.since)
	p.Counters.L2.Fills++
	j := p.l2.find(line)
	if j < 0 {
		j = p.l2.victim(line)
		p.evictL2(now, j)
		p.l2.insert(j, line, state)
		p.l2.ahead(j, done.pref)
	}
	p.l2.become(j, state)
	p.l2.data[j] = done.data
	i := p.l1.find(line)
	if i >= 0 {
		p.l1.become(i, state)
		p.l1.data[i] = done.data
	}
	if m := p.findMiss(line); m != nil && m.below {
		if i < 0 {
			i = p.fillL1(now, line, state, &done.data)
		}
		filled := now + event.Time(p.spec.MissReturn)
		if m.own && !p.protocol.serves(state, Write) {
			// The reads that came with it are served, the write asks again.
			for _, id := range m.waiters {
				p.client.Performed(now, filled, id, &p.l1.data[i])
			}
			m.waiters = m.waiters[:0]
			p.ask(now, line, state, Write, false)
		} else {
			p.answer(now, m, i, filled)
		}
	}
	p.unqueue(now, line)
}

// fillL1 puts a line into the L1, and returns its way.
func (p *Private) fillL1(now event.Time, line Line, state State, data *Bytes) int {
	i := p.l1.victim(line)
	old, oldData := p.l1.ways[i], p.l1.data[i]
	p.l1.data[i] = *data
	p.l1.insert(i, line, state)
	// The line is there before what it displaces goes to the L2, where it might
	// displace the line in turn.
	if old != empty {
		p.spill(now, old, &oldData)
	}
	return i
}

// spill lets a line leave the L1. A written one goes to the L2.
func (p *Private) spill(now event.Time, w way, data *Bytes) {
	j := p.l2.find(w.line())
	if !w.dirty() {
		if j < 0 {
			p.evict(now, w.line(), w.state(), data)
		}
		return
	}
	p.Counters.L2.FromAbove++
	if j < 0 {
		j = p.l2.victim(w.line())
		p.evictL2(now, j)
		p.l2.insert(j, w.line(), w.state())
	} else {
		p.l2.touch(j)
	}
	p.l2.data[j] = *data
	p.l2.become(j, w.state())
	p.l2.written(j, true)
}

// evictL2 empties a way of the L2. What the L1 has stays there.
func (p *Private) evictL2(now event.Time, j int) {
	w := p.l2.ways[j]
	if w == empty {
		return
	}
	p.l2.drop(j)
	if i := p.l1.find(w.line()); i >= 0 {
		if w.dirty() {
			p.l1.written(i, true)
		}
		return
	}
	p.evict(now, w.line(), w.state(), &p.l2.data[j])
}

// evict lets a line leave the core.
func (p *Private) evict(now event.Time, line Line, state State, data *Bytes) {
	if p.findAsked(line) != nil {
		p.client.Lost(now, line) // the transaction has a copy
		return
	}
	tr := &p.protocol.Cache[state][Evict]
	if !tr.valid {
		p.fail(fmt.Errorf("mem: core %d: line %#x in state %s, unexpected event %s", p.self.Index, line, state, Evict))
		return
	}
	given := false
	for _, a := range tr.Do {
		switch a {
		case dropCopy:
			p.client.Lost(now, line)
		case giveBack:
			given = true
			p.given = append(p.given, givenBack{line, tr.Next, *data})
			put := Message{Kind: MsgPut, To: p.home(line), Line: line}
			if state == M {
				put.HasData, put.Dirty, put.Data = true, true, *data
				p.Counters.WriteBacks++
			} else {
				p.Counters.CleanBacks++
			}
			p.send(put)
			p.client.Lost(now, line)
		}
	}
	if !given {
		p.expect(I, tr.Next, line, Evict)
	}
}

// Prefetching turns prefetchers on, as they are at first, or off.
func (p *Private) Prefetching(on bool) { p.off = !on }

// observe1 lets the prefetcher of the L1 see an access.
func (p *Private) observe1(now event.Time, pc uint32, line Line, found, write bool) {
	if p.prefetch1 == nil || p.off {
		return
	}
	p.candidates = p.prefetch1.Observe(pc, line, found, write, p.candidates[:0])
	if p.ports.width == 0 {
		for _, c := range p.candidates {
			p.prefetch(now, access{line: c, pc: pc, pref: true})
		}
		p.candidates = p.candidates[:0]
	}
	for _, c := range p.candidates {
		p.want(access{line: c, pc: pc, pref: true})
	}
	if len(p.wanted) > 0 || p.paced1 != nil {
		p.poll(now)
	}
}

// maxWanted is how many look-ups of a prefetcher wait at most.
const maxWanted = 64

func (p *Private) want(a access) {
	if len(p.wanted) < maxWanted {
		p.wanted = append(p.wanted, a)
	}
}

// shared tells whether loads and requests to write wait in queues.
func (p *Private) shared() bool { return p.spec.L1.Sharers > 1 }

// poll looks in the next cycle at what waits for a look-up in this one.
func (p *Private) poll(now event.Time) {
	if !p.probing {
		p.probing = true
		p.engine.At(now+1, p.probe, 0)
	}
}

// probeAll begins the look-ups of the last cycle that were not begun in it: of a shared L1
// those of the core, and those that the prefetcher wants, as far as the core has left room. It
// tells whether there may be more.
func (p *Private) probeAll(now event.Time) (more bool) {
	last := now - 1
	if p.shared() {
		share := max(1, p.ports.room(last)/p.spec.L1.Sharers)
		p.writes = p.begin(p.writes, last, share, func(a access) {
			if p.own(last, 0, a.pc, a.line) {
				p.client.Owned(now, a.line)
			}
		})
		for ; share > 0 && len(p.reads) > 0 && p.reads[0].since <= last && p.ports.free(last); share-- {
			p.ports.use(last)
			p.readFirst(last)
		}
	}
	p.wanted = p.begin(p.wanted, last, maxWanted, func(a access) { p.prefetch(now, a) })
	if p.paced1 != nil && !p.off && len(p.wanted) < maxWanted {
		var a access
		if a.line, a.pc, more = p.paced1.Next(); more {
			a.pref, a.since = true, now+event.Time(p.spec.L1.Latency)
			p.want(a)
		}
	}
	return more || len(p.writes)+len(p.reads)+len(p.wanted) > 0
}

// readFirst looks up the load that has waited longest, and with it all that wait for its line.
func (p *Private) readFirst(at event.Time) {
	a := p.reads[0]
	b := p.read(at, 0, a.pc, a.line, a.id)
	left := p.reads[:0]
	for i, o := range p.reads {
		switch {
		case o.line != a.line || o.since > at:
			left = append(left, o)
		case b != nil:
			p.client.Found(at, o.id, b)
		case i > 0:
			p.miss(at, o)
		}
	}
	p.reads = left
}

// begin begins look-ups of a queue in a cycle, at most so many, and returns what is left.
func (p *Private) begin(queue []access, at event.Time, most int, look func(a access)) []access {
	n := 0
	for ; n < min(most, len(queue)) && queue[n].since <= at && p.ports.free(at); n++ {
		p.ports.use(at)
		look(queue[n])
	}
	return append(queue[:0], queue[n:]...)
}

// prefetch fetches a line: into the L1 while less than half of its miss registers
// are busy, else into the L2, as the reference has it.
func (p *Private) prefetch(now event.Time, a access) {
	switch {
	case p.l1.find(a.line) >= 0 || p.findMiss(a.line) != nil:
	case 2*(len(p.misses)+p.busy) < p.spec.L1.MSHRs:
		p.Counters.L1.Prefetches++
		p.miss(now, a)
	default:
		p.fetchL2(now, a.line)
	}
}

// stages is how far ahead ports are known: the queues in front of a cache are shorter.
const stages = 128

// ports are the stages of look-ups in a cache.
type ports struct {
	width, depth int
	at           [stages]event.Time // of the counts: cycles, taken modulo stages
	used         [stages]int
}

func (p *ports) count(at event.Time) int {
	if at >= 0 && p.at[at&(stages-1)] == at {
		return p.used[at&(stages-1)]
	}
	return 0
}

// free tells whether another look-up can begin in a cycle.
func (p *ports) free(at event.Time) bool { return p.width == 0 || p.room(at) > 0 }

// room is how many more look-ups can begin in a cycle.
func (p *ports) room(at event.Time) int {
	n := p.count(at)
	if n >= p.width {
		return 0
	}
	all := n
	for k := 1; k <= p.depth; k++ {
		all += p.count(at - event.Time(k))
	}
	return max(0, min(p.width-n, p.width*p.depth-all))
}

func (p *ports) use(at event.Time) {
	if p.at[at&(stages-1)] != at {
		p.at[at&(stages-1)], p.used[at&(stages-1)] = at, 0
	}
	p.used[at&(stages-1)]++
}

// take begins a look-up as soon as one can, and returns the cycles until then.
func (p *ports) take(now event.Time) event.Time {
	if p.width == 0 {
		return 0
	}
	at := now
	for !p.free(at) && at < now+stages-8 {
		at++
	}
	p.use(at)
	return at - now
}

// observe2 lets the prefetcher of the L2 see a look-up.
func (p *Private) observe2(now event.Time, pc uint32, line Line, found, write bool) {
	if p.prefetch2 == nil || p.off {
		return
	}
	p.candidates = p.prefetch2.Observe(pc, line, found, write, p.candidates[:0])
	for _, c := range p.candidates {
		p.fetchL2(now, c)
	}
	if p.paced2 != nil && !p.probing2 {
		p.probing2 = true
		p.engine.At(now+1, p.probe2, 0)
	}
}

// pace2 fetches the line of this cycle of a prefetcher that hands out one a cycle.
func (p *Private) pace2(now event.Time) {
	p.probing2 = false
	if p.off {
		return
	}
	if line, _, ok := p.paced2.Next(); ok {
		p.fetchL2(now, line)
		p.probing2 = true
		p.engine.At(now+1, p.probe2, 0)
	}
}

// fetchL2 fetches a line into the L2 in advance, if a miss register is free.
func (p *Private) fetchL2(now event.Time, line Line) {
	if len(p.asked) < p.spec.L2.MSHRs && p.l2.find(line) < 0 && p.l1.find(line) < 0 && p.findAsked(line) == nil && p.findGiven(line) == nil {
		p.Counters.L2.Prefetches++
		p.ask(now, line, I, Load, true)
	}
}

// Lines calls f with each line that Peek finds, some of them twice.
func (p *Private) Lines(f func(Line)) {
	for _, a := range []*array{p.l1, p.l2} {
		for _, w := range a.ways {
			if w.state() != I {
				f(w.line())
			}
		}
	}
	for i := range p.given {
		if p.given[i].state == MIa {
			f(p.given[i].line)
		}
	}
}

// Peek returns the bytes of a line that the core has, or is giving back.
func (p *Private) Peek(line Line) (b Bytes, ok bool) {
	if p.state(line) != I {
		return *p.copyOf(line), true
	}
	if g := p.findGiven(line); g != nil && g.state == MIa {
		return g.data, true
	}
	return b, false
}
