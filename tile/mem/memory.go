package mem

import (
	"math"

	"github.com/bitsched/bitsched/internal/hugepage"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem/dram"
)

// Store is the contents of memory. Pages that nothing was written to are zero.
type Store struct {
	pages map[uint64]*[pageLines]Bytes
	last  *[pageLines]Bytes
	at    uint64
	slab  hugepage.Slab // of the pages
}

const pageLines = 64

// NewStore returns a memory of zeros.
func NewStore() *Store { return &Store{pages: map[uint64]*[pageLines]Bytes{}, at: ^uint64(0)} }

// Line returns the bytes of a line, to read and to write.
func (s *Store) Line(line Line) *Bytes {
	n := line / pageLines
	if n != s.at {
		p := s.pages[n]
		if p == nil {
			p = &hugepage.Make[[pageLines]Bytes](&s.slab, 1)[0]
			s.pages[n] = p
		}
		s.last, s.at = p, n
	}
	return &s.last[line%pageLines]
}

// Write puts bytes at an address.
func (s *Store) Write(addr uint64, data []byte) {
	for len(data) > 0 {
		n := copy(s.Line(addr / LineBytes)[addr%LineBytes:], data)
		data, addr = data[n:], addr+uint64(n)
	}
}

// Read takes bytes from an address.
func (s *Store) Read(addr uint64, data []byte) {
	for len(data) > 0 {
		n := copy(data, s.Line(addr / LineBytes)[addr%LineBytes:])
		data, addr = data[n:], addr+uint64(n)
	}
}

// MemoryCounters are what a memory controller has done.
type MemoryCounters struct {
	Reads   uint64 `json:"reads" desc:"lines read"`
	Writes  uint64 `json:"writes" desc:"lines written"`
	Latency uint64 `json:"latency" unit:"Cycle" desc:"from arrival of reads to their data, in all"`
}

// FixedSpec is a memory that reads a line some cycles after the bus has taken the
// request; the bus takes one at a time.
type FixedSpec struct {
	Latency int `yaml:"latency_cycles" json:"latency_cycles"`
	Bus     int `yaml:"bus_cycles" json:"bus_cycles"` // of a line, read or written
}

// Fixed is such a memory.
type Fixed struct {
	Counters MemoryCounters
	// Instant lets memory answer at once, to warm caches up.
	Instant bool
	spec    FixedSpec
	engine  *event.Engine
	net     Network
	store   *Store
	free    event.Time
	answer  event.Handler
	pool    pool
}

// NewFixed returns a controller of memory.
func NewFixed(e *event.Engine, spec FixedSpec, store *Store, net Network) *Fixed {
	f := &Fixed{spec: spec, engine: e, store: store, net: net}
	f.answer = e.Handle(func(_ event.Time, i uint64) { f.pool.send(f.net, int32(i)) })
	return f
}

// Receive takes a read or a write.
func (f *Fixed) Receive(now event.Time, m *Message) {
	if f.Instant {
		f.engine.At(now, f.answer, uint64(f.pool.reply(f.store, m)))
		return
	}
	start := max(now, f.free)
	f.free = start + event.Time(f.spec.Bus)
	at := start
	if m.Kind == MsgRead {
		at += event.Time(f.spec.Latency)
		f.Counters.Reads++
		f.Counters.Latency += uint64(at - now)
	} else {
		f.Counters.Writes++
	}
	f.engine.At(at, f.answer, uint64(f.pool.reply(f.store, m)))
}

// pool has the answers that are not sent yet.
type pool struct {
	list []Message
	free []int32
	when []event.Time
}

// reply performs an access and keeps its answer.
func (p *pool) reply(store *Store, m *Message) int32 {
	var i int32
	if n := len(p.free); n > 0 {
		i, p.free = p.free[n-1], p.free[:n-1]
	} else {
		i = int32(len(p.list))
		p.list = append(p.list, Message{})
		p.when = append(p.when, 0)
	}
	p.list[i] = store.Answer(m)
	return i
}

func (p *pool) send(net Network, i int32) {
	net.Send(&p.list[i])
	p.free = append(p.free, i)
}

// DDR is a controller with channels of DDR4.
type DDR struct {
	Counters MemoryCounters
	// Instant lets memory answer at once, to warm caches up.
	Instant  bool
	engine   *event.Engine
	net      Network
	store    *Store
	spec     *dram.Spec
	layout   dram.Layout
	channels []*ddrChannel
	ratio    float64 // cycles in a clock of the DRAM
	local    func(Line) Line
	answer   event.Handler
	pool     pool
}

type ddrChannel struct {
	*dram.Channel
	waiting []arrival // what has no place in the queues, in order, from head on
	head    int
	tick    event.Handler
	at      event.Time // of the event that is scheduled, none
	id      event.ID
}

type arrival struct {
	m  Message
	at event.Time
}

const none = event.Time(-1)

// NewDDR returns a controller. clockNs is a cycle; local gives the number of a line
// among those of the controller, whose address in its channels is that times 64.
func NewDDR(e *event.Engine, spec *dram.Spec, clockNs float64, local func(Line) Line, store *Store, net Network) *DDR {
	d := &DDR{engine: e, net: net, store: store, spec: spec, layout: spec.Layout(), ratio: spec.Timing.ClockNs / clockNs, local: local}
	d.answer = e.Handle(func(_ event.Time, i uint64) { d.pool.send(d.net, int32(i)) })
	for range spec.Channels {
		c := &ddrChannel{at: none}
		c.Channel = dram.NewChannel(d.spec, func(_ dram.Time, id uint64) {
			now := e.Now()
			d.Counters.Latency += uint64(now - d.pool.when[id])
			d.pool.send(d.net, int32(id))
		})
		c.tick = e.Handle(func(now event.Time, _ uint64) { d.run(c, now) })
		d.channels = append(d.channels, c)
	}
	return d
}

// Channels returns the counters of the channels.
func (d *DDR) Channels() []dram.Counters {
	var list []dram.Counters
	for _, c := range d.channels {
		list = append(list, c.Channel.Counters())
	}
	return list
}

// Refresh sets when the first refresh of each channel is, of clocks between 1 and those of an
// idle machine. Nothing may have arrived.
func (d *DDR) Refresh(of func(most dram.Time) dram.Time) {
	for _, c := range d.channels {
		c.Channel.Refresh(of)
	}
}

// cycle is the first one that does not begin before a clock of the DRAM; clock is
// the last one that has begun in a cycle.
func (d *DDR) cycle(clock dram.Time) event.Time {
	return event.Time(math.Ceil(float64(clock) * d.ratio))
}
func (d *DDR) clock(now event.Time) dram.Time { return dram.Time(float64(now) / d.ratio) }

// Receive takes a read or a write.
func (d *DDR) Receive(now event.Time, m *Message) {
	if d.Instant {
		d.engine.At(now, d.answer, uint64(d.pool.reply(d.store, m)))
		return
	}
	c := d.channels[d.layout.Of(d.local(m.Line)*LineBytes).Channel]
	d.advance(c, d.clock(now)-1, now)
	c.waiting = append(c.waiting, arrival{*m, now})
	d.schedule(c, now)
}

// run executes the clocks of a channel that are due.
func (d *DDR) run(c *ddrChannel, now event.Time) {
	c.at = none
	d.advance(c, d.clock(now), now)
	d.schedule(c, now)
}

// advance executes clocks up to and including the last.
func (d *DDR) advance(c *ddrChannel, last dram.Time, now event.Time) {
	for c.Clock() <= last {
		if c.ready() {
			d.accept(c, now)
		} else if next := c.Next(); next > c.Clock() {
			c.SkipTo(min(next, last+1))
			continue
		}
		c.Tick()
	}
}

// waits tells whether anything has no place in the queues.
func (c *ddrChannel) waits() bool { return c.head < len(c.waiting) }

// ready tells whether the first that waits has a place.
func (c *ddrChannel) ready() bool {
	return c.waits() && c.Accepts(c.waiting[c.head].m.Kind == MsgWrite)
}

// schedule lets the channel run at its next clock. One that is idle catches up with
// its refreshes when something arrives.
func (d *DDR) schedule(c *ddrChannel, now event.Time) {
	if !c.waits() && !c.Pending() {
		return
	}
	clock := c.Clock()
	if !c.ready() {
		clock = c.Next()
	}
	at := max(d.cycle(clock), now)
	if c.at != none {
		if c.at <= at {
			return
		}
		d.engine.Cancel(c.id)
	}
	c.at = at
	c.id = d.engine.At(at, c.tick, 0)
}

// accept gives the first that waits to the channel.
func (d *DDR) accept(c *ddrChannel, now event.Time) {
	m := &c.waiting[c.head].m
	address := d.local(m.Line) * LineBytes
	write := m.Kind == MsgWrite
	i := d.pool.reply(d.store, m)
	d.pool.when[i] = c.waiting[c.head].at
	c.Add(address, d.layout.Of(address), write, uint64(i))
	if write {
		d.Counters.Writes++
		d.engine.At(now, d.answer, uint64(i))
	} else {
		d.Counters.Reads++
	}
	if c.head++; 2*c.head >= len(c.waiting) { // at most half of it is behind
		c.waiting = append(c.waiting[:0], c.waiting[c.head:]...)
		c.head = 0
	}
}
