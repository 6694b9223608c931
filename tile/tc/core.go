package tc

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// Spec is the tensor controllers of a machine. Times are cycles.
type Spec struct {
	Node         int // of TC_core
	Owner        int // of the arrays: number of the program
	CacheBytes   int // of commands, at each bank
	CommandBytes int // of a command, with its patterns
	Preprocess   int // from the arrival of a command until its masks are there
	Requests     int // lines that a bank has asked for and not got, at most
	LineCycles   int // of the transpose unit for a line
	WalkInit     int // from the engine of a bank to its computation
	WalkOps      int // SIMD operations of walks in a cycle, at a bank
	WalkLatency  int // of one that the next one needs
	HeaderBytes  int
	PacketBytes  int // of elements in a packet
	TreeBytes    int // that an H-tree carries in a cycle
}

// Validate refuses what cannot be built.
func (s *Spec) Validate() error {
	switch {
	case s.CommandBytes < 1 || s.CacheBytes < s.CommandBytes:
		return fmt.Errorf("tc: command cache of %d bytes, expected at least one command of %d", s.CacheBytes, s.CommandBytes)
	case s.Requests < 1 || s.LineCycles < 1 || s.WalkOps < 1 || s.TreeBytes < 1 || s.PacketBytes < 1:
		return fmt.Errorf("tc: %d requests, %d cycles a line, %d operations a cycle, packets of %d and H-trees of %d bytes, expected at least 1 each", s.Requests, s.LineCycles, s.WalkOps, s.PacketBytes, s.TreeBytes)
	case s.Preprocess < 0 || s.WalkInit < 0 || s.WalkLatency < 0 || s.HeaderBytes < 0:
		return fmt.Errorf("tc: %d cycles before a command, %d before a walk, headers of %d bytes, expected at least 0", s.Preprocess, s.WalkInit, s.HeaderBytes)
	}
	return nil
}

// Host knows what lines hold and when regions begin.
type Host interface {
	// Called says that thread 0 waits for a region; [Core.Answer] lets it go on.
	Called(now event.Time)
	// Got takes the bytes of a line that has come to a bank.
	Got(line mem.Line, b *mem.Bytes)
	// Newest writes what bitlines hold of a line over its bytes.
	Newest(line mem.Line, b *mem.Bytes)
	// Lost says that a line has left its bank since others asked for it.
	Lost(line mem.Line)
}

// Lines are those that a bank fetches or returns.
type Lines struct {
	Bank  int
	Lines []mem.Line
	Clean bool // going back: they hold what they did when they came
	Whole int  // the first so many are written as a whole before anything reads them: their bytes need not come
}

// Command is what banks do: a part for each, or, as a sync, wait for each other.
type Command struct {
	Name      string // for Observe
	Sync      bool
	Multicast bool // what a bank sends to several banks is the same
	Parts     []Part
}

// Part is what a bank does in a command.
type Part struct {
	Bank         int
	Cycles, Tree int64 // Tree of these the H-tree is taken; 0 without data that leaves a tile
	Flows        []Flow
}

// Flow is packets to another bank.
type Flow struct{ To, Packets int }

// Walk is a stream near the memory that goes from bank to bank: at each it reads elements,
// computes, and takes what it has along.
type Walk struct {
	Stops []Stop
	Bytes int // that it takes along
}

// Stop is what a walk does at a bank.
type Stop struct {
	Bank  int
	Tree  int64 // cycles that the H-tree takes for elements
	Ops   int64 // SIMD operations
	Chain int64 // of these, one after another since each needs the one before
}

type walk struct {
	Walk
	at int
}

// job is lines that banks are fetching or returning.
type job struct {
	back  bool
	lines map[int]Lines // by bank
	left  int           // banks
	done  func(now event.Time)
}

// Counters are what controllers have done.
type Counters struct {
	Commands     uint64 `json:"commands" desc:"commands that banks executed"`
	Syncs        uint64 `json:"syncs" desc:"barriers"`
	Fetched      uint64 `json:"lines_fetched" desc:"lines that came to arrays"`
	Whole        uint64 `json:"lines_whole" desc:"of these, without their bytes: a region writes all of them before it reads any"`
	Returned     uint64 `json:"lines_returned" desc:"lines that went back"`
	Requests     uint64 `json:"requests" desc:"normal requests to transposed data"`
	Blocked      uint64 `json:"blocked" desc:"of these, while a region ran"`
	Packets      uint64 `json:"packets" desc:"packets of elements between banks"`
	TreeWait     uint64 `json:"tree_wait" unit:"Cycle" desc:"that packets and shifts waited for H-trees"`
	CommandStall uint64 `json:"command_stall" unit:"Cycle" desc:"that banks waited for the masks of a command"`
	CacheFull    uint64 `json:"cache_full" desc:"times that TC_core waited for a place in a command cache"`
	Walks        uint64 `json:"walks" desc:"streams that went from bank to bank"`
	WalkOps      uint64 `json:"walk_ops" desc:"SIMD operations of these"`
}

// Core is the tensor controller of the core of thread 0, with those of all banks.
type Core struct {
	Counters Counters
	Traffic  NetworkCounters
	Banks    []*Bank
	Host     Host
	// Observe, if it is not nil, is told what a bank did, from one cycle to another: the name
	// of a command, load, write back, stream or sync.
	Observe func(bank int, what string, from, to event.Time)

	engine *event.Engine
	spec   *Spec
	net    Network
	fail   func(error)

	// The register that thread 0 waits at.
	line   mem.Line
	owned  func(now event.Time, line mem.Line)
	called bool
	ready  bool
	bytes  mem.Bytes

	running  bool // a region: requests of cores wait
	commands []Command
	sent     int   // of these
	room     []int // places in command caches
	synced   bool  // the command that was sent last is a sync, and is not cleared
	reports  int
	total    []int // packets that banks have sent, -1: not at the sync yet
	landed   []int
	active   int   // banks that commands use
	using    []int // these
	unfinished
	sending   bool
	send      event.Handler
	preparing int // banks that fetch or return lines
	walks     int
	walked    func(now event.Time)
}

// unfinished is what has not been executed of the commands.
type unfinished struct {
	parts int
	done  func(now event.Time)
}

// New returns the controllers of a machine of so many banks, each at the node of its
// number. coherence carries the messages of lines, and home finds the bank of a line.
func New(e *event.Engine, spec *Spec, banks int, net Network, coherence mem.Network, home func(mem.Line) int, fail func(error)) (*Core, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	c := &Core{engine: e, spec: spec, net: net, fail: fail, room: make([]int, banks), total: make([]int, banks), landed: make([]int, banks)}
	for i := range c.room {
		c.room[i] = spec.CacheBytes / spec.CommandBytes
		c.Banks = append(c.Banks, newBank(c, i, coherence, home))
	}
	c.send = e.Handle(func(now event.Time, _ uint64) {
		c.sending = false
		c.issue(now)
	})
	return c, nil
}

func (c *Core) observe(bank int, what string, from, to event.Time) {
	if c.Observe != nil && to > from {
		c.Observe(bank, what, from, to)
	}
}

// Beside has the controllers share banks with those of another program: H-trees, transpose units,
// engines, and who executes commands.
func (c *Core) Beside(other *Core) {
	for i, b := range c.Banks {
		b.common = other.Banks[i].common
	}
}

func (c *Core) message(m *Message) {
	m.of = c
	m.bytes += c.spec.HeaderBytes
	if len(m.To) > 0 {
		c.net.SendTensor(m)
	}
}

// Fetch lets banks fetch lines, and calls back when all are on bitlines.
func (c *Core) Fetch(lines []Lines, done func(now event.Time)) { c.prepare(lines, false, done) }

// Return lets banks give lines back that they have.
func (c *Core) Return(lines []Lines, done func(now event.Time)) { c.prepare(lines, true, done) }

func (c *Core) prepare(lines []Lines, back bool, done func(now event.Time)) {
	j := &job{back: back, lines: map[int]Lines{}, done: done}
	var to []int
	for _, l := range lines {
		if len(l.Lines) > 0 {
			j.lines[l.Bank] = l
			to = append(to, l.Bank)
		}
	}
	if j.left = len(to); j.left == 0 {
		done(c.engine.Now())
		return
	}
	c.preparing += j.left
	c.message(&Message{Kind: MsgConfigure, From: c.spec.Node, To: to, job: j, bytes: c.spec.CommandBytes})
}

// Execute lets banks execute commands. Each sync concerns the banks that any command uses.
func (c *Core) Execute(commands []Command, done func(now event.Time)) {
	seen := make([]bool, len(c.Banks))
	c.commands, c.sent, c.active, c.using, c.parts = commands, 0, 0, c.using[:0], 0
	for i := range commands {
		for k := range commands[i].Parts {
			b := commands[i].Parts[k].Bank
			for _, f := range commands[i].Parts[k].Flows {
				seen[f.To] = true
			}
			seen[b] = true
			c.parts++
		}
	}
	for b, is := range seen {
		if is {
			c.using = append(c.using, b)
		}
	}
	for i := range commands {
		if commands[i].Sync {
			c.parts++
		}
	}
	c.unfinished.done = done
	if c.parts == 0 {
		done(c.engine.Now())
		return
	}
	c.issue(c.engine.Now())
}

// issue sends the next command if all that it is for have a place for it.
func (c *Core) issue(now event.Time) {
	if c.sent == len(c.commands) || c.sending || c.synced {
		return
	}
	k := &c.commands[c.sent]
	m := &Message{Kind: MsgCommand, From: c.spec.Node, command: k, bytes: c.spec.CommandBytes}
	if k.Sync {
		m.To = c.using
	}
	for i := range k.Parts {
		m.To = append(m.To, k.Parts[i].Bank)
		m.part = append(m.part, int32(i))
	}
	for _, b := range m.To {
		if c.room[b] == 0 {
			c.Counters.CacheFull++
			return // MsgFree goes on
		}
	}
	for _, b := range m.To {
		c.room[b]--
	}
	c.sent++
	if k.Sync {
		c.synced, c.reports = true, 0
		for i := range c.total {
			c.total[i], c.landed[i] = 0, 0
		}
		if len(m.To) == 0 { // nobody has anything to wait for
			c.synced = false
			c.finished(now, 1)
			c.issue(now)
			return
		}
	}
	c.message(m)
	c.sending = true
	c.engine.After(1, c.send, 0)
}

// finished counts parts of commands that are done.
func (c *Core) finished(now event.Time, n int) {
	if c.parts -= n; c.parts == 0 {
		done := c.unfinished.done
		c.unfinished.done = nil
		done(now)
	}
}

// Walk lets streams go from bank to bank, and calls back when all have ended.
func (c *Core) Walk(walks []Walk, done func(now event.Time)) {
	c.walks, c.walked = len(walks), done
	if len(walks) == 0 {
		done(c.engine.Now())
		return
	}
	for i := range walks {
		c.Counters.Walks++
		for _, s := range walks[i].Stops {
			c.Counters.WalkOps += uint64(s.Ops)
		}
		c.message(&Message{Kind: MsgConfigure, From: c.spec.Node, To: []int{walks[i].Stops[0].Bank}, walk: &walk{Walk: walks[i]}, bytes: c.spec.CommandBytes})
	}
}

// freed counts commands that a bank has done, and goes on with others.
func (c *Core) freed(now event.Time, m *Message) {
	if m.Freed > 0 {
		c.room[m.From] += m.Freed
		c.finished(now, m.Freed)
		c.issue(now)
	}
}

// receive handles a message to TC_core.
func (c *Core) receive(now event.Time, m *Message) {
	defer c.freed(now, m)
	switch m.Kind {
	case MsgPrepared:
		c.preparing--
		if m.job.left--; m.job.left == 0 {
			m.job.done(now)
		}
	case MsgReport:
		c.reports++
		c.total[m.From] = m.Count
		c.clear(now)
	case MsgArrived:
		if !c.synced {
			c.fail(fmt.Errorf("tc: bank %d has got %d packets, and the barrier was cleared without them", m.From, m.Count))
			return
		}
		c.landed[m.From] = m.Count
		c.clear(now)
	case MsgEnded:
		if c.walks--; c.walks == 0 {
			c.walked(now)
		}
	}
}

// clear clears the barrier once all banks are there and all packets have landed.
func (c *Core) clear(now event.Time) {
	if !c.synced || c.reports < len(c.using) {
		return
	}
	sent, landed := 0, 0
	for i := range c.total {
		sent += c.total[i]
		landed += c.landed[i]
	}
	if sent != landed {
		return
	}
	c.synced = false
	c.Counters.Syncs++
	for _, b := range c.using {
		c.room[b]++ // the sync leaves the cache
	}
	c.message(&Message{Kind: MsgClear, From: c.spec.Node, To: c.using})
	c.finished(now, 1)
	c.issue(now)
}

// Waits says what TC_core waits for, "" for nothing.
func (c *Core) Waits() string {
	switch {
	case c.synced:
		sent, landed := 0, 0
		for i := range c.total {
			sent += c.total[i]
			landed += c.landed[i]
		}
		return fmt.Sprintf("tensor controllers: TC_core is at a sync: %d of %d banks have come, %d packets sent, %d landed", c.reports, len(c.using), sent, landed)
	case c.parts > 0:
		return fmt.Sprintf("tensor controllers: TC_core waits for %d parts of commands, %d of %d commands sent", c.parts, c.sent, len(c.commands))
	case c.walks > 0:
		return fmt.Sprintf("tensor controllers: TC_core waits for %d streams near the memory", c.walks)
	}
	if c.preparing > 0 {
		n := 0
		for _, b := range c.Banks {
			n += len(b.access)
		}
		return fmt.Sprintf("tensor controllers of %d banks have lines to fetch or to return, %d of them under way", c.preparing, n)
	}
	return ""
}

// Run says whether a region runs: requests for transposed data wait until it does not.
func (c *Core) Run(on bool) {
	c.running = on
	if on {
		return
	}
	for _, b := range c.Banks {
		b.release()
	}
}

// Register makes a line the register at which thread 0 calls for a region, by an atomic
// operation; owned tells its core that it may execute that.
func (c *Core) Register(line mem.Line, owned func(now event.Time, line mem.Line)) {
	c.line, c.owned = line, owned
}

// Own is that of the port of a core, ok of the register only.
func (c *Core) Own(now event.Time, line mem.Line) (owns, ok bool) {
	if c.owned == nil || line != c.line {
		return false, false
	}
	if !c.called {
		c.called, c.ready = true, false
		c.Host.Called(now)
	}
	return false, true
}

// Write is that of the port of a core.
func (c *Core) Write(line mem.Line) (b *mem.Bytes, ok bool) {
	if c.owned == nil || line != c.line {
		return nil, false
	}
	if !c.ready {
		return nil, true
	}
	return &c.bytes, true
}

// Answer lets thread 0 go on.
func (c *Core) Answer(now event.Time) {
	c.called, c.ready = false, true
	c.owned(now, c.line)
}
