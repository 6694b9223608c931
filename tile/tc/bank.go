package tc

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// Bank is the tensor controller of a bank: it executes commands, and owns the lines of
// arrays that lie in its cells.
type Bank struct {
	c    *Core
	id   int
	self mem.Place
	net  mem.Network
	home func(mem.Line) int
	out  mem.Message
	*common

	// Commands.
	queue    []task
	busy     bool
	started  event.Time // the command before
	end, try event.Handler
	land     event.Handler
	freed    int // commands that TC_core does not know to be done
	sentTo   []int
	sent     int
	told     int // the last MsgArrived
	expected int // packets, by the counts of others
	received int
	atSync   bool
	waiting  event.Time // since when, at a sync
	walking  map[uint64]*walk
	walks    uint64
	step     event.Handler

	// Lines.
	lines   map[mem.Line]*mem.Bytes // that it owns
	copied  map[mem.Line]bool       // of these, whose home or memory has the same bytes
	access  map[mem.Line]*access    // under way
	jobs    []*work
	asked   int
	fetched event.Handler
	blocked []mem.Message
}

// common is what the controllers of programs share at a bank: each has its own command cache, and
// one executes a command at a time.
type common struct {
	runs      *Bank      // a command; nil: none does
	held      []*Bank    // whose next command could begin, in order
	treeFree  event.Time // when the H-tree is free
	ops       event.Time // the engine for walks
	transpose event.Time // the transpose unit
}

// task is a command that a bank has got.
type task struct {
	command *Command
	part    *Part // nil at a sync
	at      event.Time
}

// access is a line on its way to or from a bank.
type access struct {
	back         bool
	data         mem.Bytes
	has          bool
	from         bool // another cache, to which the home has sent the request on
	needed, have int
	w            *work
	asked        []mem.Message // by others, before the line has come
}

// leastBatch is how many lines a message is about at least while others are on their way, if as many lie
// together.
const leastBatch = mem.Batch / 2

// garbage is what cells hold of a line whose bytes did not come.
const garbage = 0xa5

// work is a bank's part of a job.
type work struct {
	j    *job
	next int
	left int
	from event.Time
}

func newBank(c *Core, id int, net mem.Network, home func(mem.Line) int) *Bank {
	b := &Bank{c: c, id: id, self: mem.Place{Kind: mem.Core, Index: int16((2+c.spec.Owner)*mem.MaxCores + id)}, net: net, home: home, sentTo: make([]int, len(c.room)), common: &common{},
		lines: map[mem.Line]*mem.Bytes{}, copied: map[mem.Line]bool{}, access: map[mem.Line]*access{}, walking: map[uint64]*walk{}}
	b.end = c.engine.Handle(func(now event.Time, _ uint64) { b.done(now) })
	b.try = c.engine.Handle(func(now event.Time, _ uint64) {
		b.busy = false
		b.next(now)
	})
	b.land = c.engine.Handle(func(now event.Time, _ uint64) {
		b.received++
		b.check()
	})
	b.step = c.engine.Handle(func(now event.Time, i uint64) {
		w := b.walking[i]
		delete(b.walking, i)
		b.leave(w)
	})
	b.fetched = c.engine.Handle(func(_ event.Time, line uint64) {
		a := b.access[line]
		delete(b.access, line)
		b.finish(a.w)
	})
	return b
}

// Owns reports whether a line is in the cells of the bank.
func (b *Bank) Owns(line mem.Line) bool { return b.lines[line] != nil }

// ReceiveTensor handles a message of another controller.
func (b *Bank) ReceiveTensor(now event.Time, m *Message) {
	switch m.Kind {
	case MsgConfigure:
		if m.walk != nil {
			b.walk(now, m.walk)
			return
		}
		w := &work{j: m.job, left: len(m.job.lines[b.id].Lines), from: now}
		b.jobs = append(b.jobs, w)
		b.ask()
	case MsgCommand:
		t := task{command: m.command, at: now}
		for i, to := range m.To {
			if to == b.id && !m.command.Sync {
				t.part = &m.command.Parts[m.part[i]]
			}
		}
		b.queue = append(b.queue, t)
		b.next(now)
	case MsgData:
		tree := event.Time((b.c.spec.PacketBytes + b.c.spec.TreeBytes - 1) / b.c.spec.TreeBytes)
		at := max(now, b.treeFree)
		b.c.Counters.TreeWait += uint64(at - now)
		b.treeFree = at + tree
		b.c.engine.At(b.treeFree, b.land, 0)
	case MsgCount:
		b.expected += m.Count
		b.check()
	case MsgClear:
		if b.received != b.expected {
			b.c.fail(fmt.Errorf("tc: bank %d: the barrier is cleared with %d packets of %d landed", b.id, b.received, b.expected))
			return
		}
		b.c.observe(b.id, "sync", b.waiting, now)
		b.atSync, b.received, b.expected, b.told = false, 0, 0, 0
		b.queue = b.queue[1:]
		b.next(now)
	case MsgWalk:
		b.walk(now, m.walk)
	default: // those of TC_core
		b.c.receive(now, m)
	}
}

// toCore tells TC_core something, and how many commands are done since the last time.
func (b *Bank) toCore(kind MessageKind, count int) {
	b.c.message(&Message{Kind: kind, From: b.id, To: []int{b.c.spec.Node}, Count: count, Freed: b.freed})
	b.freed = 0
}

// next begins the next command if its masks are there.
func (b *Bank) next(now event.Time) {
	if b.busy || b.atSync || len(b.queue) == 0 {
		return
	}
	t := &b.queue[0]
	if t.part == nil {
		b.sync()
		return
	}
	if ready := max(t.at, b.started) + event.Time(b.c.spec.Preprocess); ready > now {
		b.c.Counters.CommandStall += uint64(ready - now)
		b.busy = true
		b.c.engine.At(ready, b.try, 0)
		return
	}
	b.start(now, t)
}

// start executes a command.
func (b *Bank) start(now event.Time, t *task) {
	p := t.part
	if b.runs != nil {
		b.held = append(b.held, b)
		b.busy = true
		return
	}
	if p.Tree > 0 {
		if b.treeFree > now {
			b.c.Counters.TreeWait += uint64(b.treeFree - now)
			b.busy = true
			b.c.engine.At(b.treeFree, b.try, 0)
			return
		}
		b.treeFree = now + event.Time(p.Tree)
	}
	b.busy, b.started, b.runs = true, now, b
	b.c.Counters.Commands++
	for i := 0; i < len(p.Flows); {
		j := i + 1
		for t.command.Multicast && j < len(p.Flows) && p.Flows[j].Packets == p.Flows[i].Packets {
			j++
		}
		var to []int
		for _, f := range p.Flows[i:j] {
			to = append(to, f.To)
			b.sentTo[f.To] += f.Packets
			b.sent += f.Packets
			b.c.Counters.Packets += uint64(f.Packets)
		}
		for range p.Flows[i].Packets {
			b.c.message(&Message{Kind: MsgData, From: b.id, To: to, bytes: b.c.spec.PacketBytes})
		}
		i = j
	}
	b.c.engine.After(event.Time(p.Cycles), b.end, 0)
}

// done ends a command.
func (b *Bank) done(now event.Time) {
	b.busy = false
	b.c.observe(b.id, b.queue[0].command.Name, b.started, now)
	b.queue = b.queue[1:]
	// A quarter of the cache is free, or nothing is left to do: a sync that is next tells it too.
	if b.freed++; len(b.queue) == 0 || b.freed >= max(1, b.c.spec.CacheBytes/b.c.spec.CommandBytes/4) {
		b.toCore(MsgFree, 0)
	}
	b.runs = nil
	for b.runs == nil && len(b.held) > 0 { // those of another program come first
		other := b.held[0]
		b.held = b.held[1:]
		other.busy = false
		other.next(now)
	}
	b.next(now)
}

// sync begins to wait at a barrier.
func (b *Bank) sync() {
	b.atSync, b.waiting = true, b.c.engine.Now()
	told := map[int][]int{} // banks by how many packets: those of one number get the same message
	for to, n := range b.sentTo {
		if n > 0 {
			told[n] = append(told[n], to)
			b.sentTo[to] = 0
		}
	}
	for _, n := range slices.Sorted(maps.Keys(told)) {
		b.c.message(&Message{Kind: MsgCount, From: b.id, To: told[n], Count: n})
	}
	b.toCore(MsgReport, b.sent)
	b.sent = 0
}

// check tells TC_core when all packets have landed that others have told of.
func (b *Bank) check() {
	if b.received > b.expected || b.received < b.expected || b.received == b.told {
		return
	}
	b.told = b.received
	b.toCore(MsgArrived, b.received)
}

// walk does the work of a stream at the bank.
func (b *Bank) walk(now event.Time, w *walk) {
	s := b.c.spec
	stop := &w.Stops[w.at]
	b.ops = max(now+event.Time(s.WalkInit), b.ops) + event.Time(stop.Tree) + event.Time((stop.Ops+int64(s.WalkOps)-1)/int64(s.WalkOps))
	at := b.ops
	if stop.Chain > 0 { // the last results of each come later than the engine is free
		at = max(at, b.ops+event.Time(s.WalkLatency-1), now+event.Time(s.WalkInit)+event.Time(stop.Tree)+event.Time(stop.Chain*int64(s.WalkLatency)))
	}
	b.c.observe(b.id, "stream", now, at)
	b.walks++
	b.walking[b.walks] = w
	b.c.engine.At(at, b.step, b.walks)
}

// leave sends a walk on.
func (b *Bank) leave(w *walk) {
	if w.at++; w.at == len(w.Stops) {
		b.toCore(MsgEnded, 0)
		return
	}
	b.c.message(&Message{Kind: MsgWalk, From: b.id, To: []int{w.Stops[w.at].Bank}, walk: w, bytes: w.Bytes})
}

// ask asks for lines, or gives them back, as many at a time as may be.
func (b *Bank) ask() {
	for b.asked < b.c.spec.Requests && len(b.jobs) > 0 {
		w := b.jobs[0]
		lines := w.j.lines[b.id]
		if w.next == len(lines.Lines) {
			b.jobs = b.jobs[1:]
			continue
		}
		line, n := lines.Lines[w.next], b.together(w)
		if room := b.c.spec.Requests - b.asked; n > room {
			if b.asked > 0 && room < min(n, leastBatch) {
				return
			}
			n = room
		}
		w.next += n
		if here := b.lines[line] != nil; here != w.j.back || b.access[line] != nil {
			b.skip(w) // it is where it should be
			continue
		}
		a := b.begin(line, w)
		var m mem.Message
		switch {
		case !w.j.back:
			m = mem.Message{Kind: mem.MsgGetM, Direct: true, To: b.homeOf(line), Asks: b.self.Index, Line: line, Whole: w.next <= lines.Whole}
		case lines.Clean && b.copied[line]:
			m = mem.Message{Kind: mem.MsgPut, To: b.homeOf(line), Line: line}
		default:
			b.send(mem.Message{Kind: mem.MsgPut, HasData: true, Dirty: true, To: b.homeOf(line), Line: line, Data: a.data})
			continue
		}
		for _, next := range lines.Lines[w.next-n+1 : w.next] {
			m.With(next)
			b.begin(next, w)
		}
		b.send(m)
	}
}

// begin asks for a line, or takes the newest bytes of one that goes back.
func (b *Bank) begin(line mem.Line, w *work) *access {
	a := &access{back: w.j.back, w: w, needed: -1}
	b.asked++
	b.access[line] = a
	if a.back {
		a.data = *b.lines[line]
		b.c.Host.Newest(line, &a.data)
		delete(b.lines, line)
	}
	return a
}

// together is how many of the lines from the next one on the same message is about: those of one group
// and home that come, or go back without bytes.
func (b *Bank) together(w *work) int {
	lines, back := w.j.lines[b.id], w.j.back
	can := func(line mem.Line) bool {
		return b.access[line] == nil && (b.lines[line] != nil) == back && (!back || lines.Clean && b.copied[line])
	}
	end := len(lines.Lines)
	if !back && w.next < lines.Whole {
		end = lines.Whole
	}
	first, to := lines.Lines[w.next], w.next+1
	for last := first; to < end && can(first); to++ {
		next := lines.Lines[to]
		if next <= last || next/mem.Batch != first/mem.Batch || b.home(next) != b.home(first) || !can(next) {
			break
		}
		last = next
	}
	return to - w.next
}

func (b *Bank) homeOf(line mem.Line) mem.Place {
	return mem.Place{Kind: mem.Bank, Index: int16(b.home(line))}
}

func (b *Bank) send(m mem.Message) {
	b.out = m
	b.out.From = b.self
	b.net.Send(&b.out)
}

// skip counts a line for which there is nothing to do.
func (b *Bank) skip(w *work) {
	if w.left--; w.left == 0 {
		what := "load"
		if w.j.back {
			what = "write back"
		}
		b.c.observe(b.id, what, w.from, b.c.engine.Now())
		b.c.message(&Message{Kind: MsgPrepared, From: b.id, To: []int{b.c.spec.Node}, job: w.j})
	}
}

// finish counts a line that has come or gone.
func (b *Bank) finish(w *work) {
	b.asked--
	b.skip(w)
	b.ask()
}

// Receive handles a message of the coherence protocol.
func (b *Bank) Receive(now event.Time, m *mem.Message) {
	if m.More != 0 {
		one := *m
		one.More = 0
		m.Lines(func(line mem.Line) {
			one.Line = line
			b.Receive(now, &one)
		})
		return
	}
	a := b.access[m.Line]
	switch m.Kind {
	case mem.MsgDataM:
		b.copied[m.Line] = m.From.Kind != mem.Core
		a.from = m.From.Kind == mem.Core
		a.data, a.has, a.needed = m.Data, true, int(m.Acks)
		b.arrived(now, m.Line, a)
	case mem.MsgAckM:
		b.copied[m.Line] = false
		b.c.Counters.Whole++
		for i := range a.data { // what the region does not write is seen to be wrong
			a.data[i] = garbage
		}
		a.has, a.needed = true, int(m.Acks)
		b.arrived(now, m.Line, a)
	case mem.MsgInvAck:
		a.have++
		b.arrived(now, m.Line, a)
	case mem.MsgPutAck:
		b.c.Counters.Returned++
		delete(b.access, m.Line)
		b.finish(a.w)
	case mem.MsgFwdGetS, mem.MsgFwdGetM:
		if m.Asks < 2*mem.MaxCores {
			b.c.Counters.Requests++
			if b.c.running {
				b.c.Counters.Blocked++
				b.blocked = append(b.blocked, *m)
				return
			}
		}
		b.handOver(m)
	default:
		b.c.fail(fmt.Errorf("tc: bank %d: unexpected message %s of line %#x", b.id, m.Kind, m.Line))
	}
}

// arrived has a line when its data and all acknowledgements are there.
func (b *Bank) arrived(now event.Time, line mem.Line, a *access) {
	if !a.has || a.have < a.needed {
		return
	}
	b.c.Counters.Fetched++
	if a.from {
		b.send(mem.Message{Kind: mem.MsgUnblock, To: b.homeOf(line), Line: line})
	}
	data := a.data
	b.lines[line] = &data
	b.c.Host.Got(line, &data)
	for i := range a.asked {
		b.handOver(&a.asked[i])
	}
	b.transpose = max(now, b.transpose) + event.Time(b.c.spec.LineCycles)
	b.c.engine.At(b.transpose, b.fetched, line)
}

// handOver gives a line to whoever asks for it.
func (b *Bank) handOver(m *mem.Message) {
	data := b.lines[m.Line]
	if data != nil {
		b.c.Host.Newest(m.Line, data)
		delete(b.lines, m.Line)
		b.c.Host.Lost(m.Line)
	} else if a := b.access[m.Line]; a != nil && a.back { // on its way home
		data = &a.data
	} else if a != nil {
		a.asked = append(a.asked, *m)
		return
	} else {
		b.c.fail(fmt.Errorf("tc: bank %d: asked for line %#x, which it does not own", b.id, m.Line))
		return
	}
	to := mem.Place{Kind: mem.Core, Index: m.Asks}
	if m.Kind == mem.MsgFwdGetM {
		b.send(mem.Message{Kind: mem.MsgDataM, HasData: true, To: to, Line: m.Line, Data: *data})
		return
	}
	b.send(mem.Message{Kind: mem.MsgDataS, HasData: true, To: to, Line: m.Line, Data: *data})
	b.send(mem.Message{Kind: mem.MsgCopyBack, HasData: true, Dirty: true, To: b.homeOf(m.Line), Line: m.Line, Data: *data})
}

// release serves the requests that waited for the end of a region.
func (b *Bank) release() {
	list := b.blocked
	b.blocked = nil
	for i := range list {
		b.handOver(&list[i])
	}
}
