package se

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

// Spec is the stream engines of a machine, alike for all tiles. Times are cycles.
type Spec struct {
	Streams  int // of a core, at once
	FIFO     int // bytes of a core's engine
	Ranges   int // that are credited and not done, at most
	Indirect int // iterations of a loop with an indirect stream whose values the core takes that are, at most; 0: as of others
	Segments int // of these, each of which is credited by one message; 0: each range is
	Init     int // from the engine of a bank to the contexts of its tile
	Width    int // operations that these begin in a cycle
	Contexts int // of a tile
	// ContextROB is the entries of the reorder buffers of all of them; 0: they execute in order.
	ContextROB int
	// Computations are the instances that all of them have under way at a time; 0: as many as have entries.
	Computations int
	ScalarPE     bool // the engine computes scalars itself
	// Elementwise says that each element of a SIMD loop is computed for itself.
	Elementwise bool
	Issue       int // chunks of streams in a cycle
	Requests    int // lines of a stream under way
	// Ahead lets the streams whose loop is ahead of others go first, but for those that could have gone
	// on for Patience cycles (0: none does). Where Queue flits wait for the link of its node, a bank reads nothing
	// that goes to another one (0: it always does).
	Ahead    bool
	Patience int
	Queue    int
	Window   int   // micro-ops that a core has under way
	Banks    int   // of the L3
	First    int64 // bytes of the first of the core's own caches
	Private  int64 // bytes of the core's own caches
	// Instant are the kinds of messages that take a cycle and no network.
	Instant [NumMessages]bool
	// MultiReader lets updates of several streams that change nothing share a line.
	MultiReader bool
	TLB         *mem.TLBSpec // of a bank; nil: translation takes no time
	// SendRanges lets banks make the ranges of affine streams, too, and send them to the
	// engine of the core.
	SendRanges bool
	// Timeout is how long streams may do nothing at all before they are ended, LockTimeout that of
	// streams that lock lines: they may wait for each other. 0: for ever.
	Timeout, LockTimeout int
	// Distance is how many links are between two banks; nil: they do not matter.
	Distance func(from, to int) int
	// Broadcast lets streams of cores of the same of Teams, by core, and strands, that come to the same line
	// at their bank read it together, and sends it by multicast. Unit is the bytes that lie in a bank
	// side by side; Targets, how many streams take elements of so many bytes in a multicast; Wait, how many
	// cycles one waits for those that have no credit.
	Broadcast bool
	Wait      int
	Teams     []int32
	Unit      uint64
	Targets   func(bytes int) int
	// KeepOperands lets the bank where operands are taken keep those that come again, KeepPatterns lets banks
	// keep the pattern of strands that come back.
	KeepOperands, KeepPatterns bool
	// Room is the bytes of the buffer of a bank that each core has; 0: there is enough for all. With
	// Sharing it may use what others do not.
	Room    int64
	Sharing bool
	// Remember lets banks remember the configuration of streams that were there.
	Remember bool
	// Inject disturbs streams; nil: nothing does.
	Inject *Inject
	// Broken leaves a part of the protocol out, for tests.
	Broken Broken
}

// PCs of the micro-ops that streams add to a program: a table that a program and the engine
// of its core share. Those that step are two for each loop with streams, in a row: of one
// iteration, and of as many as there are lanes.
type PCs struct {
	Configure uint32 // the last one of a configuration
	Step      uint32 // the first one that steps
	Loops     uint32
}

// Source hands out the groups that a thread configures, in its order.
type Source interface {
	NextGroup() *Group
	// Passed says how many micro-ops have been committed, and of loops whose streams are at
	// the L3 in order with the core, before which iteration nothing will be restored.
	Passed(committed uint64, loops []RestoredLoop)
	// Restore lets the thread hand out again what has not been committed, without the
	// streams of some loops.
	Restore(r Restored) error
	// Remember hands out what the engine knows of loops, by which the thread decides.
	Remember(h *History)
}

// Window is where loads of the core find what streams have, at addresses that no program has.
// Each group has a part of its own: a core may load for many groups before it commits the
// configuration of the first. In it each stream has windowSlots lines in turn, one for each of
// the core's iterations; behind them are those of [Begin], [Sync] and [Final].
const (
	Window          = uint64(1) << 46
	windowSlots     = 1 << 14 // twice the largest reorder buffer
	windowStreams   = 15
	windowGroups    = 64  // nothing is under way of a group that was configured so many ago
	oldGroups       = 8   // that have been configured, and that the core may load from
	translatedSlots = 128 // in pages that a TLB sees
	beginStream     = 12
	syncStream      = 13
	finalStream     = 14
)

// Element is where the core loads the elements of a stream of a group that one of its
// iterations takes. Groups count from 1 for each thread.
func Element(group uint32, sid int, iteration int64) uint64 {
	n := (uint64(group)*windowStreams+uint64(sid))*windowSlots + uint64(iteration)%windowSlots
	return Window + n*mem.LineBytes
}

// Translated is the address that a TLB sees of one that a core accesses: groups have 8 MB in
// turn.
func Translated(addr uint64) uint64 {
	if addr < Window {
		return addr
	}
	n := (addr - Window) / mem.LineBytes
	stream, slot := n/windowSlots%(windowGroups*windowStreams), n%translatedSlots
	return Window + (stream*translatedSlots+slot)*mem.LineBytes + addr%mem.LineBytes
}

// Sync is where it waits until a range may begin.
func Sync(group uint32, n int64) uint64 { return Element(group, syncStream, n) }

// Begin is where it configures a group that writes nothing.
func Begin(group uint32) uint64 { return Element(group, beginStream, 0) }

// Final is where it waits for all streams to end; the first 8 bytes have what stream sid
// has reduced.
func Final(group uint32, sid int) uint64 { return Element(group, finalStream, int64(sid)) }

// CoreCounters are what the engine of a core has done.
type CoreCounters struct {
	Groups     uint64 `json:"groups" desc:"loops whose streams were configured"`
	Offloaded  uint64 `json:"offloaded" desc:"of these, at the L3"`
	Beside     uint64 `json:"beside" desc:"of these, that began while another one of the core had not ended"`
	Iterations uint64 `json:"iterations" desc:"iterations of offloaded loops, by elements"`
	Prefetched uint64 `json:"prefetched" desc:"lines fetched for streams in the core"`
	Beyond     uint64 `json:"beyond" desc:"lines asked for that later instances of loops in the core access, which the L1 did not have"`
	Served     uint64 `json:"served" desc:"loads that the FIFO served"`
	Flushed    uint64 `json:"flushed" desc:"lines of the FIFO that a store or another core made stale"`
	Ranges     uint64 `json:"ranges" desc:"ranges credited"`
	Checks     uint64 `json:"checks" desc:"ranges of streams compared with accesses of the core and with other ranges"`
	// Ended counts how often streams ended before their time.
	Ended [NumReasons]uint64 `json:"ended" parts:"alias,fault,switch,timeout" desc:"times that streams were ended and the precise state restored, by reason"`
}

// Caches are those of the core.
type Caches interface {
	Load(now event.Time, pc uint32, line mem.Line, id uint64) (*mem.Bytes, int)
	Own(now event.Time, pc uint32, line mem.Line) bool
	Write(line mem.Line) *mem.Bytes
	Spare(now event.Time, pc uint32, line mem.Line, id uint64, write bool) (*mem.Bytes, bool)
	Fetch(now event.Time, pc uint32, line mem.Line, write bool) bool
}

// Core is the stream engine of a core, SE_core. It stands between the core and its caches.
type Core struct {
	Counters CoreCounters
	// Progress is how much of vanished loops has been done, by streams that compute.
	Progress int64

	coreTimer
	spec   *Spec
	id     int
	net    Network
	bankOf func(mem.Line) int
	caches Caches
	client mem.Client
	source Source
	pcs    PCs
	fail   func(error)
	ids    uint32
	next   *Group // that has no place yet

	// Of streams in the core.
	fifo     *fifo
	left     []*fifo   // of loops before, whose lines are still on their way
	windows  []*window // of streams that have ended
	fetching bool      // the FIFO goes on in the next cycle

	// Of streams at the L3: loops whose streams have not ended, or whose results the core
	// may still take, in the order of the program.
	loops    []*active
	core     Processor
	commits  uint64 // micro-ops
	open     []RestoredLoop
	zones    []zone
	ending   *ending // nil: none
	inject   *injector
	rooms    rooms
	records  []record // in the tables of banks
	placings []placing
	forgot   uint32     // the last loop when these were forgotten
	resumed  event.Time // after streams were ended or paused
	history  History
	// Of loops in the core: how far each stream has been asked for.
	frontiers map[uint32][]frontier
	waiting   []wait
	other     []wait // room for those that go on waiting
	messages  slab[Message]
	found     mem.Bytes // by a load of the window
	replying  bool
	resting   bool // nothing is looked after
	warm      Warm // of an engine that is out of time, nil in time
	foresee   func(line mem.Line, near bool)
}

// wait is a load of the core that has no answer yet.
type wait struct {
	line mem.Line
	id   uint64
}

// NewCore returns the engine of a core; client is the core.
func NewCore(e *event.Engine, spec *Spec, id int, net Network, bankOf func(mem.Line) int, client mem.Client, fail func(error)) *Core {
	c := &Core{spec: spec, id: id, net: net, bankOf: bankOf, client: client, fail: fail}
	c.coreTimer = c.timer(e)
	if spec.Inject != nil {
		c.inject = newInjector(*spec.Inject, id)
	}
	return c
}

// soon serves the loads that wait in the next cycle: the core may be busy committing. Out of time they go on
// waiting.
func (c *Core) soon(now event.Time) {
	if len(c.waiting) > 0 && !c.replying && c.warm == nil {
		c.replying = true
		c.engine.At(now+1, c.reply, 0)
	}
}

// Connect gives the engine the caches of its core, and the core itself.
func (c *Core) Connect(caches Caches, core Processor) { c.caches, c.core = caches, core }

// Run lets the engine take part in a program.
func (c *Core) Run(source Source, pcs PCs) {
	c.source, c.pcs = source, pcs
	c.history = History{private: c.spec.Private, first: c.spec.First}
	source.Remember(&c.history)
}

// Commit sees the micro-ops that the core commits.
func (c *Core) Commit(now event.Time, op *uop.Op) {
	if c.commits++; c.commits%passedOps == 0 && c.source != nil {
		c.passed()
	}
	switch k := op.PC - c.pcs.Step; {
	case op.Kind == uop.Load && op.Addr >= Window:
		c.took(now, op.Addr)
	case op.PC == c.pcs.Configure:
		c.configure(now)
	case k < 2*c.pcs.Loops:
		c.step(now, k/2, k%2 == 1)
	}
}

// passedOps is after how many micro-ops a thread is told what has been committed.
const passedOps = 256

// passed tells the thread what it need not keep any more.
func (c *Core) passed() {
	c.open = c.open[:0]
	for _, a := range c.loops {
		if !a.over() && !a.g.SyncFree && !a.g.Bound {
			at := a.reached()
			c.open = append(c.open, RestoredLoop{Group: a.g.id, At: at, From: a.reducedTo(at)})
		}
	}
	c.source.Passed(c.commits, c.open)
}

// step counts an iteration of the core of a loop.
func (c *Core) step(now event.Time, loop uint32, lanes bool) {
	n := func(g *Group) int64 {
		if lanes {
			return g.Lanes
		}
		return 1
	}
	if c.fifo != nil && c.fifo.g.Loop == loop {
		c.fifo.step(now, n(c.fifo.g))
	}
	for _, a := range c.loops {
		if a.g.Loop == loop && !a.gone && a.committed < a.g.N {
			a.step(n(a.g))
			c.gives()
			break
		}
	}
	c.soon(now)
}

// configure begins the streams of a loop.
func (c *Core) configure(now event.Time) {
	g := c.source.NextGroup()
	if g == nil {
		c.fail(fmt.Errorf("se: core %d: a configuration without streams", c.id))
		return
	}
	c.start(now, g)
}

// start begins the streams of a loop.
func (c *Core) start(now event.Time, g *Group) {
	c.ids++
	g.prepare(c.ids, c.spec)
	c.Counters.Groups++
	if f := c.fifo; f != nil {
		if f.alone {
			c.history.stayed(f.g.Loop, f.lines, f.misses)
		}
		if f.asked > 0 {
			c.left = append(c.left, f)
		} else {
			f.over()
		}
		c.fifo = nil
	}
	if len(g.Ahead) > 0 {
		c.fifo = newFIFO(c, g)
		c.fifo.fetch(now)
	}
	if len(g.Streams) > 0 {
		c.begin(now, g)
	}
	c.soon(now)
}

// of finds a loop by its number, nil if the core has let go of it.
func (c *Core) of(group uint32) *active {
	for _, a := range c.loops {
		if a.g.id == group {
			return a
		}
	}
	return nil
}

// ReceiveStream handles a message of streams.
func (c *Core) ReceiveStream(now event.Time, m *Message) {
	if m.Kind == MsgGrant || m.Kind == MsgRecall {
		c.lent(m)
		c.soon(now)
		return
	}
	a := c.of(m.Group)
	if a != nil && a.gone {
		return // it was under way when they ended
	}
	if a == nil || a.over() && !a.leaving {
		c.fail(fmt.Errorf("se: core %d: message %s of streams that have ended", c.id, m.Kind))
		return
	}
	if m.Stream < everyStream || m.Stream >= len(a.g.Streams) {
		c.fail(fmt.Errorf("se: core %d: message %s of a stream that there is not", c.id, m.Kind))
		return
	}
	a.receive(m)
	if m.Kind == MsgData {
		c.letGo()
	}
	c.gives()
	if c.ending != nil {
		c.soonEnd(now)
	}
	c.soon(now)
}

// answer serves the loads that wait.
func (c *Core) answer(now event.Time) {
	list := c.waiting
	c.waiting = c.other[:0]
	for _, w := range list {
		if b := c.serve(w.line); b != nil {
			c.client.Performed(now, now, w.id, b)
		} else {
			c.waiting = append(c.waiting, w)
		}
	}
	c.other = list[:0]
}

// serve is what a load of the window finds, nil if that is not there yet.
func (c *Core) serve(line mem.Line) *mem.Bytes {
	n := line - Window/mem.LineBytes
	group := uint32(n / (windowSlots * windowStreams))
	sid, at := int(n/windowSlots%windowStreams), int64(n%windowSlots)
	if sid == beginStream {
		if c.early(c.engine.Now(), group) {
			return &mem.Bytes{}
		}
		return nil
	}
	if group > c.ids { // it is not configured yet
		return nil
	}
	if a := c.of(group); a != nil {
		return a.serve(sid, at)
	}
	c.fail(fmt.Errorf("se: core %d: a load of streams that have ended", c.id))
	return &mem.Bytes{}
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

// Performed implements mem.Client.
func (c *Core) Performed(now, filled event.Time, id uint64, line *mem.Bytes) {
	if id&aheadID != 0 {
		c.fetched(now, filled, id, line)
		return
	}
	c.client.Performed(now, filled, id, line)
}

// Found implements mem.Client.
func (c *Core) Found(now event.Time, id uint64, line *mem.Bytes) {
	if id&aheadID != 0 {
		c.fetched(now, now, id, line)
		return
	}
	c.client.Found(now, id, line)
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
				f.over()
				c.left = append(c.left[:i], c.left[i+1:]...)
			}
			return
		}
	}
}

// Missed tells that an access with a PC has missed the core's own caches.
func (c *Core) Missed(pc uint32) {
	if f := c.fifo; f != nil && f.alone && f.asks(pc) {
		f.misses++
	}
}

// Owned implements mem.Client.
func (c *Core) Owned(now event.Time, line mem.Line) { c.client.Owned(now, line) }

// Lost implements mem.Client.
func (c *Core) Lost(now event.Time, line mem.Line) {
	c.Stale(line)
	c.client.Lost(now, line)
}

// Waits says what streams of the core have not ended, "" for none.
func (c *Core) Waits() string {
	for _, a := range c.loops {
		if text := a.waits(); text != "" {
			return text
		}
	}
	return ""
}

// Add adds what another engine has done.
func (c *CoreCounters) Add(o *CoreCounters) {
	c.Groups += o.Groups
	c.Offloaded += o.Offloaded
	c.Beside += o.Beside
	c.Iterations += o.Iterations
	c.Prefetched += o.Prefetched
	c.Beyond += o.Beyond
	c.Served += o.Served
	c.Flushed += o.Flushed
	c.Ranges += o.Ranges
	c.Checks += o.Checks
	for k := range c.Ended {
		c.Ended[k] += o.Ended[k]
	}
}
