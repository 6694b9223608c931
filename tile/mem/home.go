package mem

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/bitsched/bitsched/internal/prefetch"
	"github.com/bitsched/bitsched/tile/event"
)

// MaxCores is how many cores a directory tells apart. Those beyond keep no copies: what they
// read is not noted, and what they own they give back at once.
const MaxCores = 64

// HomeSpec is a bank of the L3 and the directory of the lines whose home it is. The
// directory is full: it knows every line that a private cache has, whether the bank
// has it or not.
type HomeSpec struct {
	ArraySpec  `yaml:",inline"`
	Latency    int `yaml:"latency_cycles" json:"latency_cycles"` // of a look-up
	Return     int `yaml:"return_cycles" json:"return_cycles"`   // from an answer to the core
	MissReturn int `yaml:"miss_return" json:"miss_return"`       // the same of a line that came from memory
	MSHRs      int `yaml:"mshrs" json:"mshrs"`                   // lines asked from memory
	Lookups    int `yaml:"lookups" json:"lookups"`               // that begin in a cycle at most; 0: no limit
}

// Validate refuses what cannot be built.
func (s *HomeSpec) Validate() error {
	if err := s.ArraySpec.Validate("L3 bank"); err != nil {
		return err
	}
	for _, p := range []struct {
		name        string
		value, most int
		least       int
	}{{"latency_cycles", s.Latency, 10_000, 0}, {"return_cycles", s.Return, 10_000, 0}, {"miss_return", s.MissReturn, 10_000, 0},
		{"mshrs", s.MSHRs, 1 << 16, 1}, {"lookups", s.Lookups, 64, 0}} {
		if p.value < p.least || p.value > p.most {
			return fmt.Errorf("mem: L3 bank with %s of %d, expected %d to %d", p.name, p.value, p.least, p.most)
		}
	}
	return nil
}

// HomeCounters are what a home has done.
type HomeCounters struct {
	Reads        uint64 `json:"reads" desc:"requests to read"`
	Writes       uint64 `json:"writes" desc:"requests to write"`
	Hits         uint64 `json:"hits" desc:"requests whose line the bank has"`
	Misses       uint64 `json:"misses" desc:"lines that came from memory"`
	Direct       uint64 `json:"direct" desc:"of these, lines that went to their new home, and not through the bank"`
	MissLatency  uint64 `json:"miss_latency" unit:"Cycle" desc:"from miss to fill, in all, but for those"`
	Forwards     uint64 `json:"forwards" desc:"requests that the owner of the line served"`
	Invalidated  uint64 `json:"invalidated" desc:"copies that had to vanish"`
	GivenBack    uint64 `json:"given_back" desc:"lines that cores gave back"`
	WrittenBack  uint64 `json:"written_back" desc:"lines written to memory"`
	Waits        uint64 `json:"waits" desc:"requests that waited for another one of their line"`
	DirectoryMax uint64 `json:"directory_max" desc:"lines that the directory knew at once, at most"`
}

// Home is a bank and its directory. A line may get a new home, by a GetM that is Direct: bytes that only
// memory has come to it from there, and if no core has to hand the line over, it owns it from when
// the request is served, sends no Unblock, and keeps what is forwarded to it until it has the line.
type Home struct {
	Counters HomeCounters

	engine   *event.Engine
	spec     *HomeSpec
	protocol *Protocol
	net      Network
	memory   func(Line) Place
	self     Place
	fail     func(error)

	l3       *array
	entries  directory
	fetching int
	stalled  []Line            // that wait for a miss register
	leaving  map[Line]*leaving // to memory
	next     event.Time        // look-up
	instant  bool              // answers at once
	together *Message          // answer to requests for several lines, nil without

	lookup   event.Handler
	deliver  event.Handler
	pool     []Message
	poolFree []int32
	out      Message // that is sent
}

// leaving is a written line on its way to memory.
type leaving struct {
	data  Bytes
	again bool // it was written once more meanwhile
}

// NewHome returns a home whose bank is empty; it is number index of banks, which
// share lines out by interleave lines. memory finds the controller of a line.
func NewHome(e *event.Engine, spec *HomeSpec, protocol *Protocol, index, banks, interleave int, net Network, memory func(Line) Place, fail func(error)) *Home {
	h := &Home{engine: e, spec: spec, protocol: protocol, net: net, memory: memory, self: Place{Bank, int16(index)}, fail: fail,
		l3: newArray(e.Memory(), spec.ArraySpec, banks, interleave, 1<<32+uint64(index)), entries: newDirectory(e.Memory()), leaving: map[Line]*leaving{}}
	h.lookup = e.Handle(func(now event.Time, i uint64) {
		h.request(now, &h.pool[i]) // it stays as it is if the pool grows meanwhile
		h.poolFree = append(h.poolFree, int32(i))
	})
	e.Ahead(h.lookup, func(i uint64) { h.prefetch(h.pool[i].Line) }, func(i uint64) { h.prefetchData(&h.pool[i]) })
	h.deliver = e.Handle(func(_ event.Time, i uint64) {
		h.net.Send(&h.pool[i])
		h.poolFree = append(h.poolFree, int32(i))
	})
	return h
}

// Interleave shares lines out to banks by so many, before any is in one.
func (h *Home) Interleave(lines int) { h.l3.share(lines) }

// prefetch brings what the home knows of a line into the caches of the host.
func (h *Home) prefetch(line Line) {
	h.entries.prefetch(line)
	h.l3.prefetch(line)
}

// prefetchData brings the bytes that a request needs, if the bank has to give them.
func (h *Home) prefetchData(m *Message) {
	if m.Kind == MsgPut && !m.HasData {
		return
	}
	if i := h.l3.find(m.Line); i >= 0 {
		prefetch.Lines(unsafe.Pointer(&h.l3.data[i]), 1)
	}
}

// Far and Near are told of a message before it is received, to bring what it needs into the caches
// of the host: as the functions of [event.Engine.Ahead].
func (h *Home) Far(m *Message) {
	if m.Kind > MsgPut {
		h.prefetch(m.Line)
	}
}

// Near is told of a message later than Far.
func (h *Home) Near(m *Message) {
	if m.HasData && m.Kind > MsgPut {
		h.l3.prefetchData(m.Line)
	}
}

// Preload puts a line that memory has into the bank, before a run. It goes the way of
// all others if others need its place.
func (h *Home) Preload(line Line, data *Bytes) { h.put(line, data, false) }

// Pending tells whether anything is under way.
func (h *Home) Pending() bool {
	if h.fetching > 0 || len(h.stalled) > 0 || len(h.leaving) > 0 || len(h.pool) > len(h.poolFree) {
		return true
	}
	return h.entries.pending()
}

// keep puts a message into the pool.
func (h *Home) keep(m *Message) uint64 {
	var i int32
	if n := len(h.poolFree); n > 0 {
		i, h.poolFree = h.poolFree[n-1], h.poolFree[:n-1]
	} else {
		i = int32(len(h.pool))
		h.pool = append(h.pool, Message{})
	}
	h.pool[i] = *m
	return uint64(i)
}

// send sends a message after a delay.
func (h *Home) send(delay int, m Message) {
	m.From = h.self
	if delay == 0 || h.instant {
		h.out = m
		h.net.Send(&h.out)
		return
	}
	h.engine.After(event.Time(delay), h.deliver, h.keep(&m))
}

// Receive handles a message. Requests of cores are looked up first.
func (h *Home) Receive(now event.Time, m *Message) {
	switch m.Kind {
	case MsgGetS, MsgGetM, MsgPut:
		if h.instant {
			h.request(now, m)
			return
		}
		at := now
		if k := event.Time(h.spec.Lookups); k > 0 {
			h.next = max(h.next, now*k) + event.Time(bits.OnesCount16(m.More))
			at = h.next / k
			h.next++
		}
		h.engine.At(at+event.Time(h.spec.Latency), h.lookup, h.keep(m))
	case MsgUnblock, MsgCopyBack:
		e := h.entry(m.Line)
		kind := Unblock
		if m.Kind == MsgCopyBack {
			kind = CopyBack
		}
		h.step(now, e, kind, m)
		h.resume(now, e)
	case MsgReadData:
		h.arrived(now, m)
	case MsgWriteAck:
		if l := h.leaving[m.Line]; l.again {
			l.again = false
			h.write(m.Line)
		} else {
			delete(h.leaving, m.Line)
		}
	default:
		h.fail(fmt.Errorf("mem: bank %d: unexpected message %s", h.self.Index, m.Kind))
	}
}

// entry finds what the directory knows of a line, or begins with nothing.
func (h *Home) entry(line Line) int {
	i := h.entries.entry(line)
	h.Counters.DirectoryMax = max(h.Counters.DirectoryMax, uint64(h.entries.n))
	return i
}

// request serves a request for one line or several. Those of the answers that are alike go together.
func (h *Home) request(now event.Time, m *Message) {
	if m.More == 0 {
		h.one(now, m)
		return
	}
	one, all := *m, Message{Kind: MsgAckM, To: m.From, Line: noLine}
	one.More = 0
	delay := h.spec.Return
	if m.Kind == MsgPut {
		all.Kind, delay = MsgPutAck, 0
	}
	h.together = &all
	m.Lines(func(line Line) {
		one.Line = line
		h.one(now, &one)
	})
	h.together = nil
	if all.Line != noLine {
		h.send(delay, all)
	}
}

// one serves a request of a core, or lets it wait.
func (h *Home) one(now event.Time, m *Message) {
	i := h.entry(m.Line)
	e := &h.entries.slots[i]
	switch m.Kind {
	case MsgGetS:
		h.Counters.Reads++
	case MsgGetM:
		h.Counters.Writes++
	case MsgPut:
		h.Counters.GivenBack++
	}
	if e.fetch || e.queue != noQueue {
		h.Counters.Waits++
		h.entries.wait(i, m)
		return
	}
	h.serve(now, i, m)
	h.entries.forget(i)
}

// serve makes the transition of a request, or fetches the line first.
func (h *Home) serve(now event.Time, i int, m *Message) {
	e := &h.entries.slots[i]
	var kind HomeEvent
	switch {
	case m.Kind == MsgGetS:
		kind = GetS
	case m.Kind == MsgGetM:
		kind = GetM
	case e.owner == m.From.Index:
		kind = PutOwner
	default:
		kind = PutOther
	}
	needs := false
	for _, a := range h.protocol.Home[e.state][kind].Do {
		needs = needs || a == grantShared || a == grantExclusive || a == grantWrite && !h.hasCopy(e, m)
	}
	if needs {
		j := h.l3.find(e.line)
		if j < 0 && h.leaving[e.line] == nil && !m.Direct {
			e.fetch = true
			h.entries.first(i, m).since = now
			h.fetch(e.line)
			return
		}
		if j >= 0 && !e.from {
			h.l3.touch(j)
			h.Counters.Hits++
		}
	}
	if m.Asks >= MaxCores && kind == GetS && (e.state <= HS || e.state == HBS) { // a reader that keeps no copy
		delay := h.spec.Return
		if e.from {
			delay = h.spec.MissReturn
		}
		h.send(delay, Message{Kind: MsgDataS, HasData: true, To: Place{Core, m.Asks}, Line: e.line, Data: *h.data(e.line)})
		return
	}
	h.step(now, i, kind, m)
}

// hasCopy tells whether the core that asks to write has the data, or needs none.
func (h *Home) hasCopy(e *entry, m *Message) bool {
	return m.Whole || m.Upgrade && e.sharers>>uint(m.Asks)&1 != 0
}

// fetch asks memory for a line.
func (h *Home) fetch(line Line) {
	if h.fetching >= h.spec.MSHRs {
		h.stalled = append(h.stalled, line)
		return
	}
	h.fetching++
	h.Counters.Misses++
	h.send(0, Message{Kind: MsgRead, To: h.memory(line), Line: line})
}

// arrived puts a line from memory into the bank.
func (h *Home) arrived(now event.Time, m *Message) {
	h.fetching--
	if len(h.stalled) > 0 {
		line := h.stalled[0]
		h.stalled = append(h.stalled[:0], h.stalled[1:]...)
		h.fetch(line)
	}
	i := h.entry(m.Line)
	e := &h.entries.slots[i]
	if !e.fetch {
		h.fail(fmt.Errorf("mem: bank %d: line %#x came from memory unasked", h.self.Index, m.Line))
		return
	}
	h.Counters.MissLatency += uint64(now - h.entries.queues[e.queue].since)
	h.put(m.Line, &m.Data, false)
	e.fetch, e.from = false, true
	h.resume(now, i)
	h.entries.slots[i].from = false // if it is still there
}

// put puts a line into the bank; what it displaces goes to memory if it was written.
func (h *Home) put(line Line, data *Bytes, dirty bool) {
	j := h.l3.find(line)
	if j < 0 {
		j = h.l3.victim(line)
		if h.l3.ways[j].dirty() {
			h.leave(j)
		}
		h.l3.insert(j, line, S)
	} else {
		h.l3.touch(j)
	}
	h.l3.data[j] = *data
	if dirty {
		h.l3.written(j, true)
	}
}

// write sends a line that leaves the bank to memory.
func (h *Home) write(line Line) {
	h.send(0, Message{Kind: MsgWrite, HasData: true, To: h.memory(line), Line: line, Data: h.leaving[line].data})
}

// resume serves those that wait, in order, while the line is not busy.
func (h *Home) resume(now event.Time, i int) {
	for {
		e := &h.entries.slots[i]
		if e.queue == noQueue || e.fetch || e.state > HX && !(e.state == HBS && h.entries.queues[e.queue].waiting[0].Kind == MsgGetS) {
			break
		}
		m := h.entries.next(i)
		h.serve(now, i, &m)
	}
	h.entries.forget(i)
}

// step makes a transition.
func (h *Home) step(now event.Time, i int, kind HomeEvent, m *Message) {
	e := &h.entries.slots[i]
	tr := &h.protocol.Home[e.state][kind]
	if !tr.valid {
		h.fail(fmt.Errorf("mem: bank %d: line %#x in state %s, unexpected event %s", h.self.Index, e.line, e.state, kind))
		return
	}
	delay := h.spec.Return
	if e.from {
		delay = h.spec.MissReturn
	}
	next := tr.Next
	others := e.sharers &^ (1 << uint(m.Asks))
	core := Place{Core, m.Asks}
	had := h.hasCopy(e, m)
	for _, a := range tr.Do {
		switch a {
		case grantShared:
			h.send(delay, Message{Kind: MsgDataS, HasData: true, To: core, Line: e.line, Data: *h.data(e.line)})
		case grantExclusive:
			h.send(delay, Message{Kind: MsgDataE, HasData: true, To: core, Line: e.line, Data: *h.data(e.line)})
		case grantWrite:
			g := Message{Kind: MsgDataM, To: core, Line: e.line, Acks: int16(bits.OnesCount64(others))}
			switch {
			case had && others == 0 && h.together != nil:
				h.together.add(e.line)
				continue
			case had:
				g.Kind = MsgAckM
			case m.Direct && h.l3.find(e.line) < 0 && h.leaving[e.line] == nil:
				// The register of the miss is that of the new home.
				h.Counters.Misses++
				h.Counters.Direct++
				h.send(0, Message{Kind: MsgRead, Direct: true, To: h.memory(e.line), Asks: m.Asks, Acks: g.Acks, Line: e.line})
				continue
			default:
				g.HasData, g.Data = true, *h.data(e.line)
			}
			h.send(delay, g)
		case invalidate:
			for s := others; s != 0; s &= s - 1 {
				h.Counters.Invalidated++
				h.send(0, Message{Kind: MsgInv, To: Place{Core, int16(bits.TrailingZeros64(s))}, Asks: m.Asks, Line: e.line})
			}
		case forwardGetS, forwardGetM:
			h.Counters.Forwards++
			f := Message{Kind: MsgFwdGetS, To: Place{Core, e.owner}, Asks: m.Asks, Line: e.line}
			if a == forwardGetM {
				f.Kind = MsgFwdGetM
			}
			h.send(0, f)
		case addSharer:
			e.sharers |= 1 << uint(m.Asks)
		case ownerShares:
			e.sharers |= 1 << uint(e.owner)
			e.owner = -1
		case setOwner:
			e.owner, e.sharers = m.Asks, 0
		case clearOwner:
			e.owner = -1
		case dropSharer:
			e.sharers &^= 1 << uint(m.From.Index)
			if e.sharers == 0 {
				next = HI
			}
		case storeData:
			if m.HasData {
				h.put(e.line, &m.Data, m.Dirty)
			}
		case ackPut:
			if h.together != nil {
				h.together.add(e.line)
				continue
			}
			h.send(0, Message{Kind: MsgPutAck, To: m.From, Line: e.line})
		case countRead:
			e.reads++
		case countUnblock:
			if e.reads--; e.reads < 0 {
				h.fail(fmt.Errorf("mem: bank %d: line %#x: core %d has read what it was not given", h.self.Index, e.line, m.From.Index))
			} else if e.reads > 0 {
				next = e.state
			}
		case wait:
			h.Counters.Waits++
			h.entries.wait(i, m)
		}
	}
	if m.Direct && next == HBX && e.state <= HS {
		next = HX
	}
	e.state = next
}

// data is the newest copy of a line here.
func (h *Home) data(line Line) *Bytes {
	if j := h.l3.find(line); j >= 0 {
		return &h.l3.data[j]
	}
	if l := h.leaving[line]; l != nil {
		return &l.data
	}
	h.fail(fmt.Errorf("mem: bank %d: line %#x is not there", h.self.Index, line))
	return new(Bytes)
}

// Peek returns the bytes of a line that the bank has.
func (h *Home) Peek(line Line) (b Bytes, ok bool) {
	if j := h.l3.find(line); j >= 0 {
		return h.l3.data[j], true
	}
	if l := h.leaving[line]; l != nil {
		return l.data, true
	}
	return b, false
}
