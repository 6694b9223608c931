package se

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// active is a loop whose streams are at the L3, as the engine of its core knows it.
type active struct {
	c         *Core
	g         *Group
	committed int64 // iterations
	credited  int64 // ranges
	told      int64 // ranges whose commit is sent
	done      []int64
	final     []uint64
	parts     [][]uint64 // of reductions in strands
	missing   []int      // strands of reductions, and those that are there:
	arrivals  []map[int]bool
	ended     []bool
	data      []map[int64]uint64 // elements by iteration
	rows      []map[int64][]uint64
	visited   int64     // iterations of a Chase that has ended whose addresses were sent
	ranged    []int64   // iterations of indirect streams whose addresses are known
	spans     []span    // those addresses
	prefix    []prefix  // done from the first one on
	taking    []*taking // of updates whose old value the core takes

	// Of what restores the precise state.
	partial  []map[int64]uint64 // values of reductions at the ends of ranges
	received []int64            // elements
	closing  []closed
	faulty   int64  // range that cannot be credited; -1: none
	progress uint64 // messages and iterations; seen: when it was looked last
	seen     uint64
	first    bool // it was the oldest loop then
	watch    event.ID
	leaving  bool
	left     bool             // of those that are being ended: it is done
	at       int64            // iteration before which streams end
	acks     int              // of banks that are missing; -1: they have not been asked
	taken    map[int]*head    // streams that have been taken back
	gone     bool             // streams have ended before their time
	tasks    map[int]*tasks   // by stream
	visits   map[int]*head    // by stream: the banks to which one has come that is reduced there
	joins    map[int]*joining // by stream: of reductions over banks
	stays    []stay           // of ranges that are under way, in order
	wanted   []place          // of the next range; nil: not known
	blocked  bool             // it waits for room
	recalled map[int]bool     // streams that are taken back for these
	held     []int            // streams whose updates come behind those of the instance before
	loaded   uint64           // results that the core has loaded and committed, as a set
}

// begin configures the streams of a loop at the banks of their first elements.
func (c *Core) begin(now event.Time, g *Group) {
	n := len(g.Streams)
	a := &active{c: c, g: g, done: make([]int64, n), final: make([]uint64, n), ended: make([]bool, n), data: make([]map[int64]uint64, n), rows: make([]map[int64][]uint64, n),
		partial: make([]map[int64]uint64, n), received: make([]int64, n), faulty: -1, ranged: make([]int64, n), prefix: make([]prefix, n), taking: make([]*taking, n), taken: map[int]*head{}, tasks: map[int]*tasks{}, visits: map[int]*head{}, joins: map[int]*joining{}, recalled: map[int]bool{}, parts: make([][]uint64, n), missing: make([]int, n), arrivals: make([]map[int]bool, n)}
	for len(c.loops) > 0 && c.loops[0].g.id+oldGroups <= g.id {
		if !c.loops[0].over() {
			c.fail(fmt.Errorf("se: core %d: more than %d loops have streams at the L3", c.id, oldGroups))
			return
		}
		c.engine.Cancel(c.loops[0].watch) // else the machine would come to rest only then
		c.loops = c.loops[1:]
	}
	if slices.ContainsFunc(c.loops, func(o *active) bool { return !o.over() }) {
		c.Counters.Beside++
	}
	c.loops = append(c.loops, a)
	g.broken, g.active = c.spec.Broken, a
	g.keepAll(c.spec, c.bankOf)
	c.Counters.Offloaded++
	for sid := range g.Streams {
		a.data[sid], a.partial[sid], a.rows[sid] = map[int64]uint64{}, map[int64]uint64{}, map[int64][]uint64{}
		a.taking[sid] = &taking{bank: map[int64]int{}, owing: map[int64]bool{}}
		if g.Streams[sid].Scattered { // it comes with the stream that it follows
			a.joins[sid] = &joining{init: g.Streams[sid].Init}
			continue
		}
		if g.Fine || !g.leads(sid) {
			continue
		}
		if a.behind(sid) {
			a.held = append(a.held, sid)
			continue
		}
		h := newHead(c.id, sid, g, 0)
		if w := g.Streams[sid].Walk; w != nil { // it is sent to the bank of its first access
			state := w.Start()
			addr, _, _, _ := w.Next(state)
			h.bare = w.Bare(state)
			h.packed = w.Pack(state)
			a.configure(c.bankOf(addr/mem.LineBytes), h)
			continue
		}
		if g.Strands > 0 {
			a.beginStrands(sid)
			continue
		}
		a.send(Message{Kind: MsgConfigure, To: c.bankOf(g.line(sid, 0)), Stream: sid, head: h})
	}
	if g.chases() {
		a.committed = g.N
	} else {
		if g.Decoupled {
			a.step(g.N)
		}
		a.credit()
	}
	a.lookAfter(now)
	if gap := c.inject.gap(); gap > 0 {
		c.engine.At(now+gap, c.switching, uint64(g.id))
	}
}

// configure sends a stream to the bank where it begins.
func (a *active) configure(to int, h *head) {
	a.place(h)
	h.goes(to, a.c.spec)
	a.send(Message{Kind: MsgConfigure, To: to, Stream: h.sid, head: h})
}

func (a *active) send(m Message) {
	m.From, m.Core, m.Group = a.c.id, a.c.id, a.g.id
	a.c.net.SendStream(a.c.messages.put(m))
}

// credit lets streams go on while there is room for what they fetch and compute, and while
// their ranges, which are made here, are apart.
func (a *active) credit() {
	c := a.c
	a.creditRanges()
	a.asksAhead()
	for c.rooms.freed { // loops behind it may have waited for that
		c.rooms.freed = false
		for _, o := range c.loops {
			if o != a && o.blocked && !o.over() {
				o.creditRanges()
			}
		}
	}
}

func (a *active) creditRanges() {
	c, g := a.c, a.g
	if g.chases() { // it reports where it is, and is credited there
		return
	}
	if g.SyncFree && len(a.held) > 0 { // nothing that cannot go on is at a bank when streams pause
		return
	}
	least := a.least()
	a.leaves(least)
	if a.credited > 0 && min(g.start(a.credited)+g.segment(c.spec), g.N) > least+max(g.Range, g.window(c.spec)) {
		return // it comes with others
	}
	var list []Message
	defer func() { a.sendAll(list) }()
	for c.ending == nil && a.credited < g.ranges() && (a.credited == 0 || g.start(a.credited) < least+g.window(c.spec) && g.start(a.credited)+g.Range <= least+max(g.Range, g.window(c.spec))) {
		first, end := g.start(a.credited), g.start(a.credited+1)
		if a.faulty < 0 && !g.Bound && c.inject.fault() {
			a.faulty = a.credited
		}
		if a.faulty == a.credited { // nothing but the core can tell the system, when it comes there
			list = a.sendAll(list)
			switch {
			case g.SyncFree && least >= first:
				c.endFaulty(a)
			case !g.SyncFree && a.committed >= first:
				c.end(c.engine.Now(), Fault)
			}
			return
		}
		if !a.enters() {
			return
		}
		a.credited++
		if !g.SyncFree {
			if o := a.crossed(); o != nil {
				a.credited--
				list = a.sendAll(list)
				c.alias(c.engine.Now(), a, o)
				return
			}
		}
		c.Counters.Ranges++
		if c.spec.Broken == EarlyCommit && !g.SyncFree {
			for sid := range g.Streams {
				if s := &g.Streams[sid]; s.writes() && !s.Old {
					a.commit(sid, first, end)
				}
			}
		}
		for sid := range g.Streams {
			if g.Fine || g.Streams[sid].Indirect || g.Streams[sid].Scattered || !g.leads(sid) || g.again(sid, first) { // it goes on with the one that it follows, or is where it is taken
				continue
			}
			list = a.adds(list, sid, first, end)
		}
	}
}

// adds lets a stream go on for a range, by the credit that it gets for those before if there is one.
func (a *active) adds(list []Message, sid int, first, end int64) []Message {
	g := a.g
	k := 0
	if g.Strands > 0 {
		k, _ = g.local(first)
	}
	for i := range slices.Backward(list) {
		if m := &list[i]; m.Stream == sid && m.Strand == k {
			if g.reads(sid, g.after(m.End)) == first {
				m.End = end
				return list
			}
			break
		}
	}
	return append(list, Message{Kind: MsgCredit, To: a.c.bankOf(g.line(sid, first)), Stream: sid, Strand: k, First: first, End: end})
}

// sendAll sends credits, those for the same iterations at the same bank as one message; none are left.
func (a *active) sendAll(list []Message) []Message {
	for len(list) > 0 {
		m, rest := list[0], list[:0]
		for _, o := range list[1:] {
			if o.To == m.To && o.First == m.First && o.End == m.End {
				m.Others = append(m.Others, o.Stream)
			} else {
				rest = append(rest, o)
			}
		}
		a.send(m)
		list = rest
	}
	return list
}

// commit lets banks write what a stream has computed for iterations.
func (a *active) commit(sid int, first, end int64) {
	a.send(Message{Kind: MsgCommit, To: a.c.bankOf(a.g.line(sid, first)), Stream: sid, head: a.g.itself(), First: first, End: end})
}

// step counts iterations that the core has committed, and lets what streams computed for
// whole ranges be written.
func (a *active) step(n int64) {
	c, g := a.c, a.g
	before := a.least()
	a.committed += n
	a.progress++
	c.Counters.Iterations += uint64(n)
	for sid := range g.Streams {
		if g.Fine && g.Streams[sid].writes() {
			if g.Streams[sid].Task {
				a.task(sid, a.committed-n, a.committed)
			} else {
				a.offload(sid, a.committed-n, a.committed)
			}
		}
	}
	if a.committed > g.N {
		c.fail(fmt.Errorf("se: core %d: %d iterations of a loop of %d", c.id, a.committed, g.N))
		return
	}
	for a.told < g.ranges() && g.start(a.told+1) <= a.committed {
		first, end := g.start(a.told), g.start(a.told+1)
		a.told++
		for sid := range g.Streams {
			switch s := &g.Streams[sid]; {
			case s.Old && g.SyncFree:
				for i := first; i < end; i++ {
					delete(a.data[sid], i)
				}
			case s.Old:
				a.commitOld(sid, first, end)
			case g.SyncFree && s.Kind != Load:
			case s.writes():
				if c.spec.Broken != EarlyCommit {
					a.commit(sid, first, end)
				}
			case s.ToCore:
				for i := first; i < end; i++ {
					delete(a.data[sid], i)
					delete(a.rows[sid], i)
				}
			case s.Kind == Reduce && g.reports(end): // that before is not needed any more
				delete(a.partial[sid], g.reported(first))
			}
		}
	}
	a.close(before)
	a.credit()
	a.conclude()
}

// receive takes what banks send.
func (a *active) receive(m *Message) {
	a.progress++
	if a.g.Decoupled && m.Kind == MsgDone {
		a.c.Progress += m.End - m.First
	}
	switch m.Kind {
	case MsgData:
		if s := &a.g.Streams[m.Stream]; s.Row > 0 && s.Func == nil {
			if len(m.Values) != s.Row {
				a.c.fail(fmt.Errorf("se: core %d: %d elements of a row of %d", a.c.id, len(m.Values), s.Row))
			}
			a.rows[m.Stream][m.First] = m.Values
		} else {
			for i, v := range m.Values {
				a.data[m.Stream][m.First+int64(i)] = v
			}
		}
		a.received[m.Stream] += m.End - m.First
		if a.g.Streams[m.Stream].Old {
			a.arrived(m)
		}
	case MsgDone:
		before := a.least()
		a.finished(m.Stream, m.First, m.End)
		if len(m.Values) > 0 && (a.g.SyncFree || a.g.reports(m.End)) {
			a.partial[m.Stream][m.End] = m.Values[0]
			if a.g.SyncFree {
				delete(a.partial[m.Stream], m.First)
			}
		}
		a.close(before)
		a.credit()
	case MsgVisited:
		a.visits[m.Stream] = m.head
		a.conclude()
	case MsgEnded:
		if m.head != nil && a.recalled[m.Stream] {
			a.visits[m.Stream] = m.head
			break
		}
		if !a.leaving || a.acks <= 0 {
			a.c.fail(fmt.Errorf("se: core %d: bank %d has ended streams that it was not asked for", a.c.id, m.From))
		}
		a.acks--
		if m.head != nil {
			a.taken[a.g.number(m.Stream, m.head.strand)] = m.head
			if len(m.head.g.Streams[m.Stream].reducers) > 0 {
				a.visits[m.Stream] = m.head
			}
		}
	case MsgFinal:
		if a.g.Streams[m.Stream].Scattered {
			a.joined(m)
			a.conclude()
			break
		}
		if a.g.Strands > 0 {
			a.finalStrand(m)
			break
		}
		if a.leaving && a.c.spec.Broken != LateFinal { // it is of iterations that the core may not have committed
			break
		}
		a.final[m.Stream], a.ended[m.Stream] = m.Values[0], true
		if a.g.Streams[m.Stream].Kind == Chase {
			a.final, a.visited = m.Values, m.First
			a.learns(m.head)
		}
	case MsgRange:
		a.ranges(m)
	default:
		a.c.fail(fmt.Errorf("se: core %d: unexpected message %s", a.c.id, m.Kind))
	}
}

// over reports whether all streams of the loop have ended.
func (a *active) over() bool {
	if a.gone {
		return true
	}
	if a.committed < a.g.N {
		return false
	}
	for sid := range a.g.Streams {
		s := &a.g.Streams[sid]
		if s.sink() && a.done[sid] < a.g.N || (s.Kind == Reduce || s.Kind == Chase) && !a.ended[sid] {
			return false
		}
		if s.Kind == Chase && a.ranged[sid] < a.visited { // reports of addresses that its end has overtaken
			return false
		}
	}
	return true
}

// serve is what a load of the window finds until the next one, nil if that is not there yet.
func (a *active) serve(sid int, at int64) *mem.Bytes {
	b := &a.c.found
	clear(b[:])
	g := a.g
	switch sid {
	case syncStream: // the latest range of that number
		k := at
		for k+windowSlots <= g.RangeOf(a.committed)+windowSlots/2 {
			k += windowSlots
		}
		if a.credited <= k || !a.known(g.start(k+1)) {
			return nil
		}
		return b
	case finalStream:
		if !a.over() {
			return nil
		}
		put(b, 0, 8, a.final[at%int64(len(a.final))])
		return b
	}
	// The core's iteration of that number that is near those it commits.
	now := g.stepsTo(a.committed)
	k := now - now%windowSlots + at
	if k+windowSlots/2 < now {
		k += windowSlots
	}
	first, count := g.step(k)
	s := &g.Streams[sid]
	if s.Row > 0 && s.Func == nil {
		list, ok := a.rows[sid][first]
		if !ok {
			return nil
		}
		for i, v := range list {
			put(b, uint64(i*s.sent()), s.sent(), v)
		}
		return b
	}
	for i := range count {
		v, ok := a.data[sid][first+i]
		if !ok {
			return nil
		}
		put(b, uint64(int(i)*s.sent()), s.sent(), v)
	}
	return b
}

// waits says what has not ended, "" for nothing.
func (a *active) waits() string {
	if a.over() {
		return ""
	}
	text := fmt.Sprintf("streams of a loop of %d iterations, %d committed, %d credited", a.g.N, a.committed, a.g.start(a.credited))
	if e := a.c.ending; e != nil {
		text += fmt.Sprintf(", ending after a %s", e.reason)
	}
	for sid := range a.g.Streams {
		if s := &a.g.Streams[sid]; s.sink() && a.done[sid] < a.g.N {
			text += fmt.Sprintf(", %s done to %d", s.Name, a.done[sid])
		}
	}
	return text
}
