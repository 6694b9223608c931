package se

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

// Spec is the stream engines of a machine, alike for all tiles. Times are cycles.
type Spec struct {
	FIFO     int  // bytes of a core's engine
	Ranges   int  // that are credited and not done, at most
	Init     int  // from the engine of a bank to the contexts of its tile
	Width    int  // operations that these begin in a cycle
	ScalarPE bool // the engine computes scalars itself
	Issue    int  // chunks of streams in a cycle
	Requests int  // lines of a stream under way
}

// PCs of the micro-ops that streams add to a program: a table that a program and the engine
// of its core share.
type PCs struct {
	Configure uint32    // the last one of a configuration
	Step      [2]uint32 // an iteration of the loop: one, and as many as there are lanes
}

// Source hands out the groups that a thread configures, in its order.
type Source interface{ NextGroup() *Group }

// Window is where loads of the core find what streams have: a page of 2 MB that no program
// has. Groups have parts of it in turn, and in these each stream has windowSlots lines in
// turn, one for each of the core's iterations; behind them are those of [Sync] and of [Final].
const (
	Window        = uint64(1) << 46
	windowSlots   = 128
	windowStreams = 15
	windowGroups  = 16
	syncStream    = 13
	finalStream   = 14
)

// Element is where the core loads the elements of a stream of a group that one of its
// iterations takes. Groups count from 1 for each thread.
func Element(group uint32, sid int, iteration int64) uint64 {
	n := (uint64(group%windowGroups)*windowStreams+uint64(sid))*windowSlots + uint64(iteration)%windowSlots
	return Window + n*mem.LineBytes
}

// Sync is where it waits until a range may begin.
func Sync(group uint32, n int64) uint64 { return Element(group, syncStream, n) }

// Final is where it waits for all streams to end; the first 8 bytes have what stream sid
// has reduced.
func Final(group uint32, sid int) uint64 { return Element(group, finalStream, int64(sid)) }

// CoreCounters are what the engine of a core has done.
type CoreCounters struct {
	Groups     uint64 `json:"groups" desc:"loops whose streams were configured"`
	Offloaded  uint64 `json:"offloaded" desc:"of these, at the L3"`
	Iterations uint64 `json:"iterations" desc:"iterations of offloaded loops, by elements"`
	Prefetched uint64 `json:"prefetched" desc:"lines fetched for streams in the core"`
	Served     uint64 `json:"served" desc:"loads that the FIFO served"`
	Flushed    uint64 `json:"flushed" desc:"lines of the FIFO that a store or another core made stale"`
	Ranges     uint64 `json:"ranges" desc:"ranges credited"`
	Checks     uint64 `json:"checks" desc:"accesses of the core compared with ranges of streams"`
}

// Core is the stream engine of a core, SE_core. It stands between the core and its caches.
type Core struct {
	Counters CoreCounters

	engine *event.Engine
	spec   *Spec
	id     int
	net    Network
	bankOf func(mem.Line) int
	caches *mem.Private
	client mem.Client
	source Source
	pcs    PCs
	fail   func(error)
	ids    uint32

	// Of streams in the core.
	fifo *fifo
	left []*fifo // of loops before, whose lines are still on their way

	// Of streams at the L3.
	g         *Group
	committed int64 // iterations
	credited  int64 // ranges
	told      int64 // ranges whose commit is sent
	done      []int64
	final     []uint64
	ended     []bool
	data      []map[int64]uint64 // elements by iteration
	waiting   []wait
	reply     event.Handler
	replying  bool
}

// wait is a load of the core that has no answer yet.
type wait struct {
	line mem.Line
	id   uint64
}

// NewCore returns the engine of a core; client is the core.
func NewCore(e *event.Engine, spec *Spec, id int, net Network, bankOf func(mem.Line) int, client mem.Client, fail func(error)) *Core {
	c := &Core{engine: e, spec: spec, id: id, net: net, bankOf: bankOf, client: client, fail: fail}
	c.reply = e.Handle(func(now event.Time, _ uint64) {
		c.replying = false
		c.answer(now)
	})
	return c
}

// soon serves the loads that wait in the next cycle: the core may be busy committing.
func (c *Core) soon(now event.Time) {
	if len(c.waiting) > 0 && !c.replying {
		c.replying = true
		c.engine.At(now+1, c.reply, 0)
	}
}

// Connect gives the engine the caches of its core.
func (c *Core) Connect(caches *mem.Private) { c.caches = caches }

// Run lets the engine take part in a program.
func (c *Core) Run(source Source, pcs PCs) { c.source, c.pcs = source, pcs }

// Commit sees the micro-ops that the core commits.
func (c *Core) Commit(now event.Time, op *uop.Op) {
	if op.Kind.Memory() && !op.Kind.Lanes() && op.Addr < Window {
		writes := op.Kind == uop.Store || op.Kind == uop.Atomic
		for line := op.Addr / mem.LineBytes; line*mem.LineBytes < op.Addr+uint64(op.Size); line++ {
			c.check(line, writes)
		}
	}
	switch op.PC {
	case c.pcs.Configure:
		c.configure(now)
	case c.pcs.Step[0]:
		c.step(now, 1)
	case c.pcs.Step[1]:
		lanes := int64(1)
		if c.g != nil {
			lanes = c.g.Lanes
		} else if c.fifo != nil {
			lanes = c.fifo.g.Lanes
		}
		c.step(now, lanes)
	}
}

// configure begins the streams of a loop.
func (c *Core) configure(now event.Time) {
	g := c.source.NextGroup()
	if g == nil {
		c.fail(fmt.Errorf("se: core %d: a configuration without streams", c.id))
		return
	}
	c.ids++
	g.prepare(c.ids)
	c.Counters.Groups++
	if c.fifo != nil && c.fifo.asked > 0 {
		c.left = append(c.left, c.fifo)
	}
	c.fifo = nil
	if c.g != nil && !c.over() {
		c.fail(fmt.Errorf("se: core %d: a loop is configured while another one's streams are at the L3", c.id))
		return
	}
	c.g = nil
	if len(g.Ahead) > 0 {
		c.fifo = newFIFO(c, g)
		c.fifo.fetch(now)
	}
	if len(g.Streams) == 0 {
		return
	}
	c.Counters.Offloaded++
	n := len(g.Streams)
	c.g, c.committed, c.credited, c.told = g, 0, 0, 0
	c.done, c.final, c.ended, c.data = make([]int64, n), make([]uint64, n), make([]bool, n), make([]map[int64]uint64, n)
	for sid := range g.Streams {
		c.data[sid] = map[int64]uint64{}
		h := &head{core: c.id, sid: sid, g: g, value: g.Streams[sid].Init}
		c.send(&Message{Kind: MsgConfigure, To: c.bankOf(g.line(sid, 0)), Stream: sid, head: h})
	}
	if g.Decoupled {
		c.step(now, g.N)
	}
	c.credit()
	c.soon(now)
}

func (c *Core) send(m *Message) {
	m.From, m.Core, m.Group = c.id, c.id, c.g.id
	c.net.SendStream(m)
}

// credit lets streams go on while there is room for what they fetch and compute.
func (c *Core) credit() {
	least := c.committed
	for sid := range c.g.Streams {
		if c.g.Streams[sid].sink() {
			least = min(least, c.done[sid])
		}
	}
	for c.credited < c.g.ranges() && c.credited*c.g.Range < least+int64(c.spec.Ranges)*c.g.Range {
		first := c.credited * c.g.Range
		c.credited++
		c.Counters.Ranges++
		for sid := range c.g.Streams {
			c.send(&Message{Kind: MsgCredit, To: c.bankOf(c.g.line(sid, first)), Stream: sid, First: first, End: min(first+c.g.Range, c.g.N)})
		}
	}
}

// step counts iterations that the core has committed, and lets what streams computed for
// whole ranges be written.
func (c *Core) step(now event.Time, n int64) {
	if c.fifo != nil {
		c.fifo.step(now, n)
	}
	if c.g == nil {
		return
	}
	c.committed += n
	c.Counters.Iterations += uint64(n)
	if c.committed > c.g.N {
		c.fail(fmt.Errorf("se: core %d: %d iterations of a loop of %d", c.id, c.committed, c.g.N))
		return
	}
	for c.told < c.g.ranges() && min((c.told+1)*c.g.Range, c.g.N) <= c.committed {
		first, end := c.told*c.g.Range, min((c.told+1)*c.g.Range, c.g.N)
		c.told++
		for sid := range c.g.Streams {
			switch s := &c.g.Streams[sid]; {
			case c.g.SyncFree && s.Kind != Load:
			case s.Kind == Store || s.Kind == Update:
				c.send(&Message{Kind: MsgCommit, To: c.bankOf(c.g.line(sid, first)), Stream: sid, head: &head{g: c.g}, First: first, End: end})
			case s.ToCore:
				for i := first; i < end; i++ {
					delete(c.data[sid], i)
				}
			}
		}
	}
	c.credit()
	c.soon(now)
}

// ReceiveStream handles a message of streams.
func (c *Core) ReceiveStream(now event.Time, m *Message) {
	if c.g == nil || m.Group != c.g.id {
		c.fail(fmt.Errorf("se: core %d: message %s of streams that have ended", c.id, m.Kind))
		return
	}
	switch m.Kind {
	case MsgData:
		for i, v := range m.Values {
			c.data[m.Stream][m.First+int64(i)] = v
		}
	case MsgDone:
		c.done[m.Stream] += m.End - m.First
		c.credit()
	case MsgFinal:
		c.final[m.Stream], c.ended[m.Stream] = m.Values[0], true
	default:
		c.fail(fmt.Errorf("se: core %d: unexpected message %s", c.id, m.Kind))
		return
	}
	c.soon(now)
}

// over reports whether all streams of the loop have ended.
func (c *Core) over() bool {
	if c.committed < c.g.N {
		return false
	}
	for sid := range c.g.Streams {
		s := &c.g.Streams[sid]
		if s.sink() && c.done[sid] < c.g.N || s.Kind == Reduce && !c.ended[sid] {
			return false
		}
	}
	return true
}

// answer serves the loads that wait.
func (c *Core) answer(now event.Time) {
	list := c.waiting
	c.waiting = nil
	for _, w := range list {
		if b := c.serve(w.line); b != nil {
			c.client.Performed(now, now, w.id, b)
		} else {
			c.waiting = append(c.waiting, w)
		}
	}
}

// serve is what a load of the window finds, nil if that is not there yet.
func (c *Core) serve(line mem.Line) *mem.Bytes {
	var b mem.Bytes
	n := line - Window/mem.LineBytes
	group := uint32(n / (windowSlots * windowStreams))
	sid, at := int(n/windowSlots%windowStreams), int64(n%windowSlots)
	switch behind := (c.ids - group) % windowGroups; {
	case behind >= windowGroups/2: // it is not configured yet
		return nil
	case behind > 0 || c.g == nil:
		c.fail(fmt.Errorf("se: core %d: a load of streams that have ended", c.id))
		return &b
	}
	switch sid {
	case syncStream: // the latest range of that number
		k := at
		for k+windowSlots <= c.committed/c.g.Range+windowSlots/2 {
			k += windowSlots
		}
		if c.credited <= k {
			return nil
		}
		return &b
	case finalStream:
		if !c.over() {
			return nil
		}
		put(&b, 0, 8, c.final[at%int64(len(c.final))])
		return &b
	}
	// The core's iteration of that number that is near those it commits.
	steps := c.g.N / c.g.Lanes
	now := min(c.committed/c.g.Lanes, steps) + max(0, c.committed-steps*c.g.Lanes)
	k := now - now%windowSlots + at
	if k+windowSlots/2 < now {
		k += windowSlots
	}
	first, count := k*c.g.Lanes, c.g.Lanes
	if k >= steps {
		first, count = steps*c.g.Lanes+k-steps, 1
	}
	s := &c.g.Streams[sid]
	for i := range count {
		v, ok := c.data[sid][first+i]
		if !ok {
			return nil
		}
		put(&b, uint64(int(i)*s.Bytes), s.Bytes, v)
	}
	return &b
}

// Load implements core.Memory: what streams have, or else the caches.
func (c *Core) Load(now event.Time, pc uint32, line mem.Line, id uint64) (*mem.Bytes, int) {
	if line >= Window/mem.LineBytes {
		b := c.serve(line)
		if b == nil {
			c.waiting = append(c.waiting, wait{line, id})
		}
		return b, 0
	}
	if c.fifo != nil {
		if b, waits := c.fifo.load(pc, line, id); b != nil || waits {
			return b, 0
		}
	}
	return c.caches.Load(now, pc, line, id)
}

// Own implements core.Memory.
func (c *Core) Own(now event.Time, pc uint32, line mem.Line) bool {
	return c.caches.Own(now, pc, line)
}

// Write implements core.Memory.
func (c *Core) Write(line mem.Line) *mem.Bytes {
	if c.fifo != nil {
		c.fifo.flush(line)
	}
	return c.caches.Write(line)
}

// check compares an access of the core, when it commits, with the ranges of streams that are
// credited and not done. A program is asked beforehand whether its streams are aliased, so that it is not
// undone here.
func (c *Core) check(line mem.Line, writes bool) {
	if c.g == nil || c.over() {
		return
	}
	for sid := range c.g.Streams {
		s := &c.g.Streams[sid]
		from := c.committed
		if s.sink() {
			from = min(from, c.done[sid])
		}
		to := min(c.credited*c.g.Range, c.g.N)
		if s.Kind == Reduce || from >= to || s.Kind == Load && !writes {
			continue
		}
		c.Counters.Checks++
		a, b := c.g.line(sid, from), c.g.line(sid, to-1)
		if line < min(a, b) || line > max(a, b) {
			continue
		}
		for i := from; i < to; i++ { // a range is conservative: look closer
			if c.g.line(sid, i) == line {
				c.fail(fmt.Errorf("se: core %d: an access of the core is aliased with stream %s, line %#x (iterations %d to %d of %d)", c.id, s.Name, line, from, to, c.g.N))
				return
			}
		}
	}
}

// Performed implements mem.Client.
func (c *Core) Performed(now, filled event.Time, id uint64, line *mem.Bytes) {
	if id&aheadID != 0 {
		c.fetched(now, filled, id, line)
		return
	}
	c.client.Performed(now, filled, id, line)
}

// fetched takes a line that streams in the core asked for.
func (c *Core) fetched(now, filled event.Time, id uint64, line *mem.Bytes) {
	if c.fifo.of(id) {
		c.fifo.performed(now, filled, id, line)
		return
	}
	for i, f := range c.left {
		if f.of(id) {
			f.performed(now, filled, id, line)
			if f.asked == 0 {
				c.left = append(c.left[:i], c.left[i+1:]...)
			}
			return
		}
	}
}

// Owned implements mem.Client.
func (c *Core) Owned(now event.Time, line mem.Line) { c.client.Owned(now, line) }

// Lost implements mem.Client.
func (c *Core) Lost(now event.Time, line mem.Line) {
	if c.fifo != nil {
		c.fifo.flush(line)
	}
	for _, f := range c.left {
		f.flush(line)
	}
	c.client.Lost(now, line)
}

// Waits says what streams of the core have not ended, "" for none.
func (c *Core) Waits() string {
	if c.g == nil || c.over() {
		return ""
	}
	text := fmt.Sprintf("streams of a loop of %d iterations, %d committed, %d credited", c.g.N, c.committed, min(c.credited*c.g.Range, c.g.N))
	for sid := range c.g.Streams {
		if s := &c.g.Streams[sid]; s.sink() && c.done[sid] < c.g.N {
			text += fmt.Sprintf(", %s done to %d", s.Name, c.done[sid])
		}
	}
	return text
}

// Add adds what another engine has done.
func (c *CoreCounters) Add(o *CoreCounters) {
	c.Groups += o.Groups
	c.Offloaded += o.Offloaded
	c.Iterations += o.Iterations
	c.Prefetched += o.Prefetched
	c.Served += o.Served
	c.Flushed += o.Flushed
	c.Ranges += o.Ranges
	c.Checks += o.Checks
}
