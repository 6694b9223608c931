package se

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// BankCounters are what the engine of a bank has done.
type BankCounters struct {
	Reads      uint64 `json:"reads" desc:"lines read for streams"`
	Spared     uint64 `json:"spared" desc:"reads of lines that streams were spared which read together"`
	Broadcasts uint64 `json:"broadcasts" desc:"multicasts of elements that several streams take"`
	Writes     uint64 `json:"writes" desc:"lines written by streams"`
	Shared     uint64 `json:"shared" desc:"lines that were read for two loads or more at once"`
	Computed   uint64 `json:"computed" desc:"iterations computed"`
	Operations uint64 `json:"operations" desc:"operations of them"`
	Atomics    uint64 `json:"atomics" desc:"atomic updates whose old value the core takes"`
	Conflicts  uint64 `json:"conflicts" desc:"of these, that waited for a line that another stream had locked"`
	// ConflictCycles is how long those waited that got the line in the end.
	ConflictCycles uint64 `json:"conflict_cycles" unit:"Cycle" desc:"cycles that they waited, in all"`
	// Translations are the accesses to the TLB of the bank: one for each page of a stream there.
	Translations uint64 `json:"translations" desc:"pages that streams at the bank came to"`
	Walks        uint64 `json:"walks" desc:"of these, that the TLB of the bank did not have"`
	Reordered    uint64 `json:"reordered" desc:"requests of indirect streams that came before earlier ones"`
	Migrations   uint64 `json:"migrations" desc:"streams that went on at another bank"`
	Remembered   uint64 `json:"remembered" desc:"streams that came to a bank which had their configuration"`
	Kept         uint64 `json:"kept" desc:"operands that banks had kept from a row, or a range of it, before"`
	BusySCM      uint64 `json:"busy_scm" unit:"Cycle" desc:"cycles of issue that computations took in the tile's contexts"`
	BusyPE       uint64 `json:"busy_pe" unit:"Cycle" desc:"cycles that the scalar PE computed"`
}

// head is a stream where it is at present.
type head struct {
	// What others look at lies side by side.
	core, sid int
	next      int64 // iteration
	// Of one that may read with others: its stride, and where the next element is, if it was asked
	// for: spotAt is the iteration, and 1.
	spotAt int64
	spot   uint64
	stride int64
	limit  int64 // credited
	asked  int32 // lines that it waits for
	armed  bool  // a Reduce waits for its operands
	shares share
	pace   pace
	registered

	strand int
	g      *Group
	nexts  []int64 // of members, next is the least of them
	value  uint64  // of a Reduce
	page   uint64  // whose translation it has, and 1; 0: none
	known  event.Time
	// Of a Chase: its values, the access that it waits for, the line that it has, whether its
	// loop has ended, what it has visited since it told the core (as any affine one, of what it tells), and the operations, operands and
	// first access, by iteration and place, of what is computed next.
	state     []uint64
	packed    int // bytes of them
	addr      uint64
	bytes     int
	lineAt    mem.Line
	data      *mem.Bytes
	ended     bool
	low, high uint64
	told      int64
	ops       int
	operands  int
	from      int64
	place     int
	// Of a Load that reads with others: the line, and 1, at which it lets others catch up, since when,
	// and whether it has done so in vain.
	waited mem.Line
	since  event.Time
	alone  bool
	ready  event.Time // since when it could go on
	// Of one that banks remember: its entry, counted from 1, the banks that do, the bytes that say so,
	// and whether only what changes is sent.
	entry   int
	where   banks
	telling int
	short   bool
	bare    bool          // the address of a Chase follows from its values
	issued  map[int]int64 // of an indirect one that writes: the last iteration that each bank got
}

// slot has the operands and results of a chunk, in the stream buffer.
type slot struct {
	g         *Group
	end       int64
	missing   int      // values
	inputs    int      // whose elements come in
	room      []uint64 // for these, one input after the other, and what is written
	own       []uint64
	wantOwn   bool
	armed     bool // the stream has come by
	computing bool
	ready     bool
	base      []uint64   // of an indirect stream: what its addresses follow from
	fields    [][]uint64 // and members beside it
	out       []uint64
	kept      []bool // elements that are not written; nil for none
	h         *head  // the stream, of a Reduce and a Load
	bytes     int64  // of the buffer
}

// in is room for the elements of an input.
func (x *slot) in(k int) []uint64 {
	n := len(x.room) / (x.inputs + 1)
	return x.room[k*n:][:n:n]
}

// Bank is the stream engine of a bank of the L3, SE_L3, with the tile's contexts that compute
// for it.
type Bank struct {
	Counters BankCounters

	bankTimer
	spec     *Spec
	net      Network
	bank     int
	bankOf   func(mem.Line) int
	fail     func(error)
	agent    *agent
	tlb      *mem.TLB // nil: translations take no time
	heads    heads
	turn     int
	credits  table[int64] // that their streams have not come to: from an iteration to another
	slots    table[*slot]
	buffer   buffer
	commits  table[int64] // that have come before what they let write
	chains   recent[*chain]
	locks    map[mem.Line]*lock
	made     map[key][]made          // updates of streams, by iteration
	early    map[key][][2]int64      // commits of them that have overtaken others
	tallies  map[key]*tally          // parts of reductions over indirect streams
	trail    recent[int]             // where streams that chase pointers have gone
	overtook recent[int64]           // credits of such streams that came before them
	left     table[[2]int64]         // iterations of ranges that are not written, and all of them here
	cut      map[key]int64           // iteration before which a stream ends, in the middle of a range
	ended    map[int]map[uint32]bool // by core: loops whose streams have been ended
	table    map[[2]int]configured   // by core and entry: configurations that are remembered
	taken    map[strand]*Message     // streams that are to be taken back when they come
	kept     table[*kept]            // of loads, by strand
	told     table[*told]            // where patterns are known, by stream
	toldMost int                     // at which those of loops that have ended are forgotten
	unknown  []*Message              // strands whose pattern is not here yet
	ticking  bool
	resting  bool       // nothing more begins
	draining bool       // it looks at the queue of the link again
	next     event.Time // issue
	scm      contexts
	pe       event.Time
	work     []work
	free     []int32
	unused   []*slot
	in       []uint64 // scratch of computed
	joining  []Step   // scratch of occupy
	ordinals []int    // 0, 1, 2, ...
	words    slab[uint64]
	messages slab[Message]
}

// NewBank returns the engine of a bank. bankOf finds the bank of a line of the program, place
// where that lies in memory.
func NewBank(e *event.Engine, spec *Spec, bank int, coherent mem.Network, net Network, bankOf func(mem.Line) int, place func(mem.Line) mem.Line, fail func(error)) *Bank {
	b := &Bank{spec: spec, net: net, bank: bank, bankOf: bankOf, fail: fail, agent: newAgent(coherent, bank, place, fail), cut: map[key]int64{}, ended: map[int]map[uint32]bool{}, table: map[[2]int]configured{}, taken: map[strand]*Message{}, locks: map[mem.Line]*lock{}, made: map[key][]made{}, early: map[key][][2]int64{}, tallies: map[key]*tally{}}
	if spec.TLB != nil {
		b.tlb = mem.NewTLB(spec.TLB, e.Memory())
	}
	b.buffer = buffer{used: map[int]int64{}, held: map[int]int64{}, free: spec.Room * int64(spec.Banks), taken: map[int]bool{}}
	b.bankTimer, b.scm.spec = b.timer(e), spec
	return b
}

// Pending tells whether any stream is here, or anything of one.
func (b *Bank) Pending() bool {
	return len(b.heads.list) > 0 || b.slots.n > 0 || b.credits.n > 0 || b.agent.lines.n > 0 || len(b.locks) > 0 || b.commits.n > 0 || len(b.taken) > 0 || len(b.tallies) > 0 || b.kept.n+len(b.unknown) > 0 || b.lending()
}

// Receive handles a message of the coherence protocol.
func (b *Bank) Receive(now event.Time, m *mem.Message) { b.agent.receive(now, m) }

// work is what a bank does later: it calls a function, or has computed a chunk.
type work struct {
	f func(now event.Time)
	p part
	x *slot
}

// at calls a function at a time.
func (b *Bank) at(when event.Time, f func(now event.Time)) { b.schedule(when, work{f: f}) }

func (b *Bank) schedule(when event.Time, w work) {
	var i int32
	if n := len(b.free); n > 0 {
		i, b.free = b.free[n-1], b.free[:n-1]
		b.work[i] = w
	} else {
		i = int32(len(b.work))
		b.work = append(b.work, w)
	}
	b.engine.At(when, b.later, uint64(i))
}

// do does what is scheduled.
func (b *Bank) do(now event.Time, i uint64) {
	w := b.work[i]
	b.work[i] = work{}
	b.free = append(b.free, int32(i))
	if w.f != nil {
		w.f(now)
		return
	}
	b.computed(now, w.p, w.x)
}

// wake lets the engine issue.
func (b *Bank) wake(now event.Time) {
	if !b.ticking && len(b.heads.list) > 0 {
		b.ticking = true
		b.engine.At(max(now, b.next), b.tick, 0)
	}
}

// ReceiveStream handles a message of streams.
func (b *Bank) ReceiveStream(now event.Time, m *Message) {
	if m.Kind == MsgAsk || m.Kind == MsgReturn {
		b.lends(m)
		return
	}
	k := newKey(m.Core, m.Group, m.Stream)
	if m.Kind == MsgEnd {
		b.end(m)
		return
	}
	if m.Kind == MsgBroadcast {
		b.broadcast(now, m)
		return
	}
	if b.dead(m.Core, m.Group) {
		return // it was under way when they were ended
	}
	if m.head != nil && (m.Stream < 0 || m.Stream >= len(m.head.g.Streams)) {
		b.fail(fmt.Errorf("se: bank %d: message %s of a stream that there is not", b.bank, m.Kind))
		return
	}
	switch m.Kind {
	case MsgConfigure, MsgMigrate:
		b.remembers(m)
		if m.head.g.Streams[m.Stream].Kind == Chase {
			b.arrived(now, m.head)
			break
		}
		if b.bankOf(m.head.line()) != b.bank {
			b.fail(fmt.Errorf("se: bank %d: stream %s goes on at another bank", b.bank, m.head.g.Streams[m.Stream].Name))
		}
		if x := b.toldOf(m.head); m.knows && !x.has(b.bank) { // it has overtaken the pattern, which is longer
			b.unknown = append(b.unknown, m)
			break
		} else if x != nil && !x.has(b.bank) {
			x.add(b.bank) // itself
			defer b.knows(now)
		}
		m.head.ready = now
		b.add(m.head)
		b.credited(k, m.head)
		if end := b.taken[strand{k, m.head.strand}]; end != nil {
			b.end(end)
		}
	case MsgCredit:
		if m.head != nil {
			b.creditChase(now, k, m)
			break
		}
		b.allow(k, m.First, m.End)
		for _, sid := range m.Others {
			b.allow(newKey(m.Core, m.Group, sid), m.First, m.End)
		}
	case MsgOffload:
		if m.head.g.Streams[m.Stream].Task {
			b.request(now, k, m)
			break
		}
		b.gather(now, k, m)
	case MsgFetch:
		b.fetched(m)
	case MsgWrite:
		b.store(k, m)
	case MsgForward:
		if m.head.g.Fine {
			b.met(now, k, m)
			break
		}
		b.here(m.head.g, m.Stream, m.First)
		b.operand(now, k, m)
	case MsgRequest:
		b.request(now, k, m)
	case MsgCollect:
		b.collect(k, m)
	case MsgCommit:
		if m.head.g.Streams[m.Stream].Old {
			b.release(k, m.head.g, m.First, m.End)
			break
		}
		b.here(m.head.g, m.Stream, m.First)
		if m.head.g.Streams[m.Stream].Indirect {
			b.allow(k, m.First, m.End)
			break
		}
		b.commit(now, k, m.head.g, m.First, m.End)
	default:
		b.fail(fmt.Errorf("se: bank %d: unexpected message %s", b.bank, m.Kind))
	}
	b.wake(now)
}

// here checks that an element of a stream is in the bank.
func (b *Bank) here(g *Group, sid int, i int64) {
	if b.bankOf(g.line(sid, i)) != b.bank {
		b.fail(fmt.Errorf("se: bank %d: iteration %d of stream %s is at another bank", b.bank, i, g.Streams[sid].Name))
	}
}

// allow lets a stream go on for a range, when it has come to it.
func (b *Bank) allow(k key, first, end int64) {
	b.credits.set(part{k, first}, end)
	for _, h := range b.heads.list {
		if newKey(h.core, h.g.id, h.sid) == k {
			b.credited(k, h)
		}
	}
}

// credited lets a stream go on by the ranges that follow those it has.
func (b *Bank) credited(k key, h *head) {
	for {
		end, ok := b.credits.take(part{k, h.limit})
		if !ok {
			return
		}
		if h.next >= h.limit {
			h.ready = b.engine.Now()
		}
		h.limit = h.g.reads(h.sid, h.g.after(end))
		b.changed(h)
	}
}

// pace is by what a stream goes on, kept in its head: banks ask each cycle.
type pace uint8

const (
	unasked  pace = iota
	byCredit      // and as lines come
	byValues      // that another one has read
	byVisit       // of an element: by itself
)

// paced is by what a stream goes on.
func (h *head) paced() pace {
	if h.pace == unasked {
		switch s := &h.g.Streams[h.sid]; {
		case s.Indirect:
			h.pace = byValues
		case s.Kind == Chase:
			h.pace = byVisit
		default:
			h.pace = byCredit
		}
	}
	return h.pace
}

// may reports whether a stream can go on, or is to be asked.
func (b *Bank) may(h *head) bool {
	return h.paced() == byValues || h.pace == byCredit && h.next < h.limit && !h.armed && int(h.asked) < b.spec.Requests
}

// can reports whether a stream can go on.
func (b *Bank) can(h *head) bool { return b.may(h) && (h.pace == byCredit || b.follows(h)) }

// step does what a stream does with its next chunk.
func (b *Bank) step(now event.Time, h *head) {
	g, s := h.g, &h.g.Streams[h.sid]
	if s.Indirect {
		b.follow(now, h)
		return
	}
	if s.members != nil {
		b.readLine(now, h)
		b.move(now, h)
		return
	}
	first, end := g.chunk(h.sid, h.next)
	alone := s.Kind == Load && len(s.Inputs)+g.Strands == 0 // elements come with nothing of other banks
	for alone && end < h.limit && g.line(h.sid, end) == g.line(h.sid, first) {
		end++
	}
	if first != h.next || end > h.limit {
		b.fail(fmt.Errorf("se: bank %d: stream %s goes on at iteration %d, in the middle of a line", b.bank, s.Name, h.next))
		return
	}
	if s.Kind != Reduce {
		b.accesses(h, end)
	}
	switch {
	case s.Kind == Load && s.Func == nil:
		list := b.together(h)
		b.readTogether(now, list)
		for _, x := range list {
			x.h.next = x.h.g.reads(x.h.sid, x.h.g.after(x.end))
			b.move(now, x.h)
		}
		return
	default:
		p := part{newKey(h.core, g.id, h.sid), first}
		x, ok := b.slots.get(p)
		if !ok {
			x = b.newSlot(p, g, end)
		}
		x.armed, x.h = true, h
		if s.Kind == Update || s.Kind == Load {
			b.Counters.Reads++
			x.wantOwn = true
			b.read(now, h, g.address(h.sid, first), func(now event.Time, data *mem.Bytes) {
				if b.dead(h.core, g.id) {
					return
				}
				x.own = b.values(int(end - first))
				for i := first; i < end; i++ {
					x.own[i-first] = word(data, g.address(h.sid, i), s.Bytes)
				}
				if s.Kind == Update {
					b.forward(h, h.sid, first, end, x.own)
				}
				b.compute(now, p, x)
			})
		}
		if s.Kind == Reduce {
			h.armed = true
			b.changed(h)
			b.compute(now, p, x)
			return // it goes on when it has computed
		}
		b.compute(now, p, x)
	}
	h.next = g.after(end)
	b.move(now, h)
}

// accesses tells the core the addresses of each range up to an iteration that is complete now, one
// range for all loads of a stream, where banks make them.
func (b *Bank) accesses(h *head, to int64) {
	g := h.g
	if !b.spec.SendRanges || g.SyncFree {
		return
	}
	for h.told < to {
		end := g.start(g.RangeOf(h.told) + 1)
		if end > to {
			return
		}
		lo, hi := g.hullOf(h.sid, h.told, end)
		b.emit(Message{Kind: MsgRange, From: b.bank, To: h.core, Core: h.core, Group: g.id, Stream: h.sid, First: h.told, End: end, Low: lo, High: hi})
		h.told = end
	}
}

// move lets a stream go to the bank of its next element, or end.
func (b *Bank) move(now event.Time, h *head) {
	if h.next < h.g.N && b.bankOf(h.line()) == b.bank {
		b.changed(h)
		return
	}
	b.leave(h)
	if h.next >= h.g.N {
		if h.g.Streams[h.sid].Kind == Reduce {
			b.reduced(now, h)
		}
		return
	}
	b.Counters.Migrations++
	to := b.bankOf(h.line())
	x := b.toldOf(h)
	next := h.moved()
	next.entry, next.short = 0, false // where a strand begins remembers it
	b.emit(Message{Kind: MsgMigrate, From: b.bank, To: to, Core: h.core, Group: h.g.id, Stream: h.sid, head: next, knows: x.has(to)})
	x.add(to)
}

// emit sends a message.
func (b *Bank) emit(m Message) { b.net.SendStream(b.messages.put(m)) }

// values is room for elements, all 0.
func (b *Bank) values(n int) []uint64 { return b.words.make(n) }

// moved is the stream as it goes to another bank.
func (h *head) moved() *head {
	c := *h
	c.asked, c.armed, c.data, c.page, c.known, c.registered = 0, false, nil, 0, 0, registered{}
	return &c
}

// send gives elements of a stream to those that take them, and to the core.
func (b *Bank) send(h *head, sid int, first, end int64, values []uint64) {
	b.forward(h, sid, first, end, values)
	if s := &h.g.Streams[sid]; s.ToCore {
		b.emit(Message{Kind: MsgData, From: b.bank, To: h.core, Core: h.core, Group: h.g.id, Stream: sid, First: first, End: end, Values: values, bytes: s.sent()})
	}
}

// forward gives elements to the streams that take them.
func (b *Bank) forward(h *head, sid int, first, end int64, values []uint64) {
	g, s := h.g, &h.g.Streams[sid]
	for _, r := range s.receivers {
		for i := first; i < end; {
			to, last := b.run(g, s, r, i, end)
			v := values[i-first : last-first]
			if s.still() {
				v = v[:1]
			}
			b.emit(Message{Kind: MsgForward, From: b.bank, To: to, Core: h.core, Group: g.id, Stream: r, head: h, from: sid, First: i, End: last, Values: v, bytes: s.sent()})
			i = last
		}
	}
}

// slot finds the slot of a chunk, or takes one.
func (b *Bank) slot(p part, g *Group) *slot {
	x, ok := b.slots.get(p)
	if !ok {
		_, end := g.chunk(int(p.sid), p.first)
		x = b.newSlot(p, g, end)
	}
	return x
}

// newSlot takes a slot for a chunk.
func (b *Bank) newSlot(p part, g *Group, end int64) *slot {
	var x *slot
	if k := len(b.unused); k > 0 {
		x, b.unused = b.unused[k-1], b.unused[:k-1]
	} else {
		x = &slot{}
	}
	n, inputs := int(end-p.first), len(g.Streams[p.sid].Inputs)
	room := slices.Grow(x.room[:0], n*(inputs+1))[:n*(inputs+1)]
	clear(room)
	*x = slot{g: g, end: end, missing: n * inputs, inputs: inputs, room: room}
	b.slots.set(p, x)
	x.bytes = int64(n) * g.needs[p.sid]
	b.enter(int(p.core), x.bytes)
	if g.kept != nil {
		for _, in := range g.Streams[p.sid].Inputs {
			if g.kept[in] != 0 {
				b.takeKept(p, x, in)
			}
		}
	}
	return x
}

// drop forgets the slot of a chunk.
func (b *Bank) drop(p part) {
	if x, ok := b.slots.take(p); ok {
		b.enter(int(p.core), -x.bytes)
	}
}

// operand puts elements of another stream into the buffer.
func (b *Bank) operand(now event.Time, k key, m *Message) {
	g := m.head.g
	if g.kept != nil && g.kept[m.from] != 0 {
		b.keep(now, k, m)
		return
	}
	still := g.Streams[m.from].still()
	for i := m.First; i < m.End; {
		first, last := g.chunk(int(k.sid), i)
		end := min(last, m.End)
		p := part{k, first}
		x, ok := b.slots.get(p)
		if !ok {
			x = b.newSlot(p, g, last)
		}
		for n, in := range g.Streams[k.sid].Inputs {
			if in != m.from {
				continue
			}
			if still {
				for j := i; j < end; j++ {
					x.in(n)[j-first] = m.Values[0]
				}
			} else {
				copy(x.in(n)[i-first:], m.Values[i-m.First:])
			}
			x.missing -= int(end - i)
		}
		b.compute(now, p, x)
		i = end
	}
}

// compute begins the computation of a chunk whose operands are all there, in the scalar PE
// or in the tile's contexts.
func (b *Bank) compute(now event.Time, p part, x *slot) {
	if x.computing || !x.armed || x.missing > 0 || x.wantOwn && x.own == nil {
		return
	}
	x.computing = true
	s := &x.g.Streams[p.sid]
	n := x.end - p.first
	at := now
	if f := s.Func; f != nil {
		b.Counters.Computed += uint64(n)
		b.Counters.Operations += uint64(int64(f.Ops()) * n)
		lanes := x.g.Lanes
		if b.spec.Elementwise {
			lanes = 1
		}
		at = b.occupy(now, s, n, lanes)
	}
	b.schedule(at, work{p: p, x: x})
}

// idlePE reports whether the scalar PE can begin before the tile's contexts could.
func (b *Bank) idlePE(now event.Time) bool {
	if place := b.scm.place(); place != nil {
		now = max(now, *place)
	}
	return b.spec.ScalarPE && b.pe <= now+event.Time(b.spec.Init)
}

// takePE takes the scalar PE for some cycles, and returns when they have passed.
func (b *Bank) takePE(now event.Time, cycles int64) event.Time {
	b.Counters.BusyPE += uint64(cycles)
	b.pe = max(now, b.pe) + event.Time(cycles)
	return b.pe
}

// only is the list of one number.
func (b *Bank) only(k int) []int {
	for len(b.ordinals) <= k {
		b.ordinals = append(b.ordinals, len(b.ordinals))
	}
	return b.ordinals[k : k+1]
}

// occupy takes the scalar PE or the tile's contexts for some iterations of a computation, and
// returns when it has been done.
func (b *Bank) occupy(now event.Time, s *Stream, n, lanes int64) (at event.Time) {
	f := s.Func
	steps, groups := f.Steps(), (n+max(1, lanes)-1)/max(1, lanes)
	chain := s.Kind == Reduce && s.Tree == 0 && s.Join == nil
	if chain {
		groups = n // one after the other
	} else if s.Kind == Reduce && s.Join == nil { // steps that bring a half of the lanes down and join it with the other one
		b.joining = append(b.joining[:0], steps...)
		for range bits.Len64(uint64(min(n, lanes) - 1)) {
			k := len(b.joining)
			b.joining = append(b.joining, Step{Latency: 1, Args: b.only(max(0, k-1))[:min(k, 1)]}, Step{Latency: s.Tree, Args: b.only(k)})
		}
		steps = b.joining
	}
	if cycles := f.PE(); cycles > 0 && lanes == 1 && b.idlePE(now) {
		return b.takePE(now, groups*int64(cycles))
	}
	b.Counters.BusySCM += uint64((int64(len(steps))*groups + int64(b.spec.Width) - 1) / int64(b.spec.Width))
	operands := len(s.Inputs)
	if s.Kind == Update || s.Kind == Load {
		operands++
	}
	own := now // of a chain: the value of the one before
	for at = now; groups > 0; groups-- {
		value, ended := b.scm.take(now, steps, operands, own)
		if at = ended; chain {
			own = value
		}
	}
	return at
}

// computed has the results of a chunk.
func (b *Bank) computed(now event.Time, p part, x *slot) {
	if b.dead(int(p.core), p.group) {
		return
	}
	s := &x.g.Streams[p.sid]
	n := int(x.end - p.first)
	in := slices.Grow(b.in[:0], x.inputs)[:x.inputs]
	b.in = in
	switch {
	case s.Kind == Reduce:
	case s.Kind == Load || x.g.Fine: // they are sent
		x.out = b.values(n)
	default:
		x.out = x.room[len(x.room)-n:]
	}
	for i := range n {
		for k := range in {
			in[k] = x.room[k*n+i]
		}
		var own uint64
		switch s.Kind {
		case Update, Load:
			own = x.own[i]
		case Reduce:
			own = x.h.value
		}
		v, ok := s.Func.Eval(own, in, p.first+int64(i))
		switch {
		case s.Kind != Reduce:
			x.out[i] = v
			if !ok && x.kept == nil {
				x.kept = make([]bool, n)
			}
			if !ok {
				x.kept[i] = true
			}
		case ok:
			x.h.value = v
		}
	}
	x.ready = true
	if s.Kind == Reduce {
		b.drop(p)
		x.h.armed, x.h.next = false, x.g.after(x.end)
		if g := x.g; g.Begins(x.end) && g.Strands > 0 { // it is taken back with its value
			b.done(p.key, g.start(g.RangeOf(x.end-1)), x.end)
		} else if g.Begins(x.end) && (g.reports(x.end) || x.end >= x.h.limit) {
			b.done(p.key, x.h.told, x.end, x.h.value)
			x.h.told = x.end
		}
		h := x.h
		b.unused = append(b.unused, x)
		b.move(now, h)
		b.wake(now)
		return
	}
	if s.Kind == Load {
		b.drop(p)
		b.send(x.h, int(p.sid), p.first, x.end, x.out)
		b.unused = append(b.unused, x)
		return
	}
	if x.g.Fine {
		b.result(p, x)
		return
	}
	if x.g.SyncFree {
		b.commit(now, p.key, x.g, p.first, x.end)
		return
	}
	if end, ok := b.commits.take(p); ok {
		b.commit(now, p.key, x.g, p.first, end)
	}
}

func (b *Bank) done(k key, first, end int64, values ...uint64) {
	b.emit(Message{Kind: MsgDone, From: b.bank, To: int(k.core), Core: int(k.core), Group: k.group, Stream: int(k.sid), First: first, End: end, Values: values})
}

// commit writes what was computed for iterations, and lets the next bank go on.
func (b *Bank) commit(_ event.Time, k key, g *Group, first, end int64) {
	s := &g.Streams[k.sid]
	if !g.SyncFree && !g.Begins(end) {
		b.cut[k] = end // the stream ends there
	}
	for first < end {
		line := g.line(int(k.sid), first)
		if to := b.bankOf(line); to != b.bank {
			b.emit(Message{Kind: MsgCommit, From: b.bank, To: to, Core: int(k.core), Group: k.group, Stream: int(k.sid), head: g.itself(), First: first, End: end})
			return
		}
		p := part{k, first}
		x, _ := b.slots.get(p)
		if x == nil || !x.ready {
			b.commits.set(p, end)
			return
		}
		if x.end > end { // the rest is never written
			x.end, x.out = end, x.out[:end-first]
		}
		b.slots.take(p)
		b.Counters.Writes++
		b.agent.change(line, func(data *mem.Bytes) {
			for i, v := range x.out {
				if x.kept != nil && x.kept[i] {
					continue
				}
				put(data, g.address(int(k.sid), p.first+int64(i)), s.Bytes, v)
			}
		}, func(event.Time) {
			b.enter(int(p.core), -x.bytes)
			b.written(p, x)
			b.unused = append(b.unused, x)
		})
		first = x.end
	}
}

// written counts what has been written of a range in this bank, and tells the core when that
// is all.
func (b *Bank) written(p part, x *slot) {
	g := x.g
	begin := g.start(g.RangeOf(p.first))
	r := part{p.key, begin}
	left, ok := b.left.get(r)
	if !ok {
		last := g.start(g.RangeOf(p.first) + 1)
		if cut, ok := b.cut[p.key]; ok {
			last = min(last, max(begin, cut))
		}
		for i := begin; i < last; {
			_, end := g.chunk(int(p.sid), i)
			if b.bankOf(g.line(int(p.sid), i)) == b.bank {
				left[0] += min(end, last) - i
			}
			i = end
		}
		left[1] = left[0]
	}
	left[0] -= x.end - p.first
	if left[0] > 0 {
		b.left.set(r, left)
		return
	}
	b.left.take(r)
	b.done(p.key, begin, begin+left[1])
}

// Add adds what another engine has done.
func (c *BankCounters) Add(o *BankCounters) {
	c.Reads += o.Reads
	c.Spared += o.Spared
	c.Broadcasts += o.Broadcasts
	c.Writes += o.Writes
	c.Shared += o.Shared
	c.Computed += o.Computed
	c.Operations += o.Operations
	c.Atomics += o.Atomics
	c.Conflicts += o.Conflicts
	c.ConflictCycles += o.ConflictCycles
	c.Translations += o.Translations
	c.Walks += o.Walks
	c.Reordered += o.Reordered
	c.Migrations += o.Migrations
	c.Remembered += o.Remembered
	c.Kept += o.Kept
	c.BusySCM += o.BusySCM
	c.BusyPE += o.BusyPE
}
