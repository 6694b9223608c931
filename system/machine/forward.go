package machine

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/bitsched/bitsched/tile/core"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/se"
)

// forward is a machine whose threads are executed without time.
type forward struct {
	m      *Machine
	core   int // of the thread at hand
	queue  []mem.Message
	at     mem.Message           // that is delivered
	caches []mem.PrivateCounters // as they were
	homes  []mem.HomeCounters
	tlbs   []mem.TLBCounters
	seen   map[mem.Line]uint64 // lines that were skipped, by 64
	page   mem.Line            // the last of them
	lines  uint64              // of it
	values values              // accesses beside caches

	// Of stream engines: their own engine, and what takes them back into time.
	events  *event.Engine
	timed   []func()
	cores   []se.CoreCounters
	banks   []se.BankCounters
	traffic se.NetworkCounters
}

// Send implements mem.Network.
func (f *forward) Send(m *mem.Message) { f.queue = append(f.queue, *m) }

// settle delivers all messages, and lets streams go on as far as they can. Controllers of
// memory answer at once. It returns the time of streams.
func (f *forward) settle() event.Time {
	if err := f.goOn(context.Background(), func() bool { return false }); err != nil {
		f.m.fail(err)
	}
	return f.events.Now()
}

// goOn does so until it is enough.
func (f *forward) goOn(ctx context.Context, enough func() bool) error {
	for {
		f.deliver()
		next := f.events.Next()
		if next == event.Forever || f.m.err != nil || enough() {
			return f.m.err
		}
		if err := f.events.Run(ctx, next); err != nil {
			return err
		}
	}
}

func (f *forward) deliver() {
	for head := 0; head < len(f.queue); head++ {
		f.at = f.queue[head] // which may move
		m := &f.at
		if m.To.Kind != mem.Controller {
			now := f.m.Engine.Now()
			if m.To.Kind == mem.Core && m.To.Index >= mem.MaxCores {
				now = f.events.Now()
			}
			f.m.receiver(m.To).Receive(now, m)
			continue
		}
		f.queue = append(f.queue, f.m.Memory.Answer(m))
	}
	f.queue = f.queue[:0]
}

// Pause lets cores fetch nothing more and streams begin nothing, and the machine run until nothing is under way.
// Then what cores have fetched and what streams have left of their loops comes to its end without time, and is returned, by
// core. Where something under way waits for that, as a locked line does, and where tensors have arrays, it comes to its end in time first.
// Until Resume, threads are executed by Forward.
func (m *Machine) Pause(ctx context.Context) ([]core.Forwarded, error) {
	if err := m.halt(ctx); err != nil {
		return nil, err
	}
	if !m.still() || !m.leave() {
		m.restBanks(false)
		if err := m.rest(ctx); err != nil {
			return nil, err
		}
	}
	for i, c := range m.Caches {
		if c.Pending() {
			return nil, fmt.Errorf("machine: the caches of core %d still have something under way, and nothing happens any more", i)
		}
	}
	for i, h := range m.Homes {
		if h.Pending() {
			return nil, fmt.Errorf("machine: bank %d still has something under way, and nothing happens any more", i)
		}
	}
	for i, s := range m.StreamCores {
		if what := m.Cores[i].Stuck(); what != "" {
			return nil, fmt.Errorf("machine: core %d %s, and nothing happens any more: %s", i, what, s.Waits())
		}
	}
	if m.paused == nil {
		m.paused, m.skips = make([]mem.PrivateCounters, len(m.Caches)), make([]skips, len(m.Cores))
	}
	for i, c := range m.Caches {
		c.Paused(&m.paused[i])
		m.paused[i] = c.Counters
	}
	for i := range m.skips {
		m.skips[i].fade()
	}
	f, err := m.untimed()
	if err != nil {
		return nil, err
	}
	return f.finish(ctx)
}

// Advance lets streams of loops that have vanished go on without time until they have done about so much
// work, in all, or all that they can, and returns how much it was. Cores stay as they are. What is under way
// comes to its end first; where that waits for streams, nothing is done.
func (m *Machine) Advance(ctx context.Context, work int64) (int64, error) {
	if err := m.halt(ctx); err != nil {
		return 0, err
	}
	if !m.still() {
		m.restBanks(false)
		m.goOn()
		return 0, nil
	}
	f, err := m.untimed()
	if err != nil {
		return 0, err
	}
	before, all := f.progress(), func() bool { return false }
	if err := f.goOn(ctx, func() bool { return f.progress()-before >= work }); err != nil {
		return 0, err
	}
	m.restBanks(true)
	if err := f.goOn(ctx, all); err != nil {
		return 0, err
	}
	if !m.still() { // what is under way waits for streams that rest
		m.restBanks(false)
		if err := f.goOn(ctx, all); err != nil {
			return 0, err
		}
		if !m.still() {
			return 0, errors.New("machine: something is still under way out of time, and nothing happens any more")
		}
	}
	work = f.progress() - before
	m.Resume()
	return work, m.err
}

// progress is what streams have done of all loops that have vanished.
func (f *forward) progress() (sum int64) {
	for _, s := range f.m.StreamCores {
		sum += s.Progress
	}
	return sum
}

// halt lets cores fetch nothing more and streams begin nothing, and the machine run until nothing happens.
func (m *Machine) halt(ctx context.Context) error {
	for _, c := range m.Cores {
		c.Pause(true)
	}
	for _, s := range m.StreamCores {
		s.Rest(true)
	}
	if m.Tensors == nil {
		m.restBanks(true)
	}
	return m.rest(ctx)
}

// restBanks lets streams begin nothing more, or go on.
func (m *Machine) restBanks(on bool) {
	for _, b := range m.StreamBanks {
		b.Rest(on)
	}
}

// goOn ends a halt.
func (m *Machine) goOn() {
	for _, s := range m.StreamCores {
		s.Rest(false)
	}
	for _, c := range m.Cores {
		c.Pause(false)
	}
}

// untimed takes the machine out of time.
func (m *Machine) untimed() (*forward, error) {
	f := &forward{m: m, events: event.New(), traffic: m.StreamTraffic}
	for _, c := range m.Caches {
		f.caches = append(f.caches, c.Counters)
		c.SetNetwork(f)
	}
	for _, h := range m.Homes {
		f.homes = append(f.homes, h.Counters)
		h.SetNetwork(f, true)
	}
	for _, t := range m.TLBs {
		f.tlbs = append(f.tlbs, t.Counters)
	}
	f.values.f = f
	m.forward = f
	return f, f.still()
}

// rest runs until nothing happens.
func (m *Machine) rest(ctx context.Context) error {
	if err := m.Engine.Run(ctx, event.Forever); err != nil {
		return err
	}
	return m.err
}

// still reports whether nothing is under way, but for what cores have fetched.
func (m *Machine) still() bool {
	for _, c := range m.Caches {
		if c.Pending() {
			return false
		}
	}
	for _, h := range m.Homes {
		if h.Pending() {
			return false
		}
	}
	for _, b := range m.StreamBanks {
		if b.Locked() {
			return false
		}
	}
	return true
}

// leave lets cores leave what waits for streams, and reports whether they could.
func (m *Machine) leave() bool {
	if m.Tensors != nil {
		return true
	}
	for i, s := range m.StreamCores {
		if !m.Cores[i].Leave() {
			return false
		}
		s.Left()
	}
	return true
}

// finish lets what is under way come to its end without time.
func (f *forward) finish(ctx context.Context) ([]core.Forwarded, error) {
	m := f.m
	list := make([]core.Forwarded, len(m.Cores))
	before := make([]int64, len(m.StreamCores))
	for i, s := range m.StreamCores {
		before[i] = s.Progress
	}
	err := f.goOn(ctx, func() bool { return false })
	for i, s := range m.StreamCores {
		if err != nil {
			return nil, err
		}
		if list[i], err = m.Cores[i].Finish(s.Access, f.ahead(i), f.settle); err != nil {
			return nil, err
		}
	}
	for i, s := range m.StreamCores {
		list[i].Elsewhere = s.Progress - before[i]
	}
	return list, m.err
}

// still takes stream engines out of time.
func (f *forward) still() error {
	m, net := f.m, &near{m: f.m, engine: f.events}
	for i, s := range m.StreamCores {
		f.cores = append(f.cores, s.Counters)
		f.timed = append(f.timed, s.Still(f.events, net, f.warm(i), f.ahead(i)))
	}
	for _, b := range m.StreamBanks {
		f.banks = append(f.banks, b.Counters)
		timed, err := b.Still(f.events, f, net)
		if err != nil {
			return err
		}
		f.timed = append(f.timed, timed)
	}
	return nil
}

// warm makes accesses to the caches of a core at once.
func (f *forward) warm(core int) se.Warm {
	m, caches := f.m, f.m.Caches[core]
	return func(pc uint32, line mem.Line, write bool) *mem.Bytes {
		return caches.Warm(m.Engine.Now(), pc, m.spec.Pages.physical(line), write, func() { f.settle() })
	}
}

// ahead brings what an access of a core will look at into the caches of the host.
func (f *forward) ahead(core int) func(line mem.Line, near bool) {
	m, caches := f.m, f.m.Caches[core]
	return func(line mem.Line, near bool) {
		line = m.spec.Pages.physical(line)
		if caches.Ahead(line, near) {
			m.Homes[m.bank(line)].Ahead(line, near)
		}
	}
}

// read lets the bank that is the home of a line have it if nobody has, as after a read.
func (f *forward) read(addr, bytes uint64) {
	for line := addr / mem.LineBytes; line*mem.LineBytes < addr+bytes; line++ {
		if page := line / 64; page != f.page || f.seen == nil {
			if f.seen == nil {
				f.seen = map[mem.Line]uint64{}
			} else {
				f.seen[f.page] = f.lines
			}
			f.page, f.lines = page, f.seen[page]
		}
		if f.lines>>(line%64)&1 != 0 {
			continue
		}
		f.lines |= 1 << (line % 64)
		at := f.m.spec.Pages.physical(line)
		if h := f.m.Homes[f.m.bank(at)]; !h.Knows(at) {
			h.Preload(at, f.m.Memory.Line(at))
			f.deliver()
		}
	}
}

// write changes all copies of bytes, which stay where they are, but for those that other cores than
// that of the thread have beside streams.
func (f *forward) write(addr uint64, data []byte) {
	f.read(addr, uint64(len(data)))
	for len(data) > 0 {
		line, from := f.m.spec.Pages.physical(addr/mem.LineBytes), addr%mem.LineBytes
		n := copy(f.m.Memory.Line(line)[from:], data)
		bank := f.m.bank(line)
		cores := f.m.Homes[bank].Poke(line, from, data[:n])
		if f.m.StreamCores != nil && cores&^(1<<uint(f.core)) != 0 {
			f.m.StreamBanks[bank].Write(addr/mem.LineBytes, from, data[:n])
			f.deliver()
			cores = 0
		}
		for ; cores != 0; cores &= cores - 1 {
			core := bits.TrailingZeros64(cores)
			f.m.Caches[core].Poke(line, from, data[:n])
			if f.m.StreamCores != nil {
				f.m.StreamCores[core].Stale(addr / mem.LineBytes)
			}
		}
		data, addr = data[n:], addr+uint64(n)
	}
}

// Forward executes about n micro-ops of the thread of a core without time, between Pause
// and Resume. Values, caches with the directory, TLBs, predictors and streams are as after an
// execution in time, in the order in which threads are forwarded; counters stay. With skip, caches of
// cores, TLBs and predictors stay as they are where the thread can skip micro-ops: only values change, and
// banks of the L3 have what was touched. Caches stay as they are for all of a thread that skips three quarters of its micro-ops and more: the few lines
// that the others touch would push out, bit by bit, those that the skipped ones use again and again. Arrays that are laid out for memory that computes have owners whom
// values would pass by, so that nothing is skipped on such a machine that has streams.
func (m *Machine) Forward(core int, n uint64, skip bool) (core.Forwarded, error) {
	f := m.forward
	f.core = core
	access := f.warm(core)
	if m.StreamCores != nil {
		access = m.StreamCores[core].Access
	}
	read, write := f.read, f.write
	if !skip || m.StreamCores != nil && m.Tensors != nil {
		read, write = nil, nil
	}
	if read != nil && m.StreamCores == nil && m.skips[core].most() {
		access, write = f.values.access, f.values.pass
	}
	done, err := m.Cores[core].Forward(n, access, f.ahead(core), f.settle, read, write)
	f.values.write()
	if read != nil {
		m.skips[core].add(done)
	}
	if m.StreamCores != nil {
		m.StreamCores[core].Progress += done.Elsewhere
	}
	if err == nil {
		err = m.err
	}
	return done, err
}

// Resume lets cores go on in time.
func (m *Machine) Resume() {
	f := m.forward
	for i, c := range m.Caches {
		c.Counters = f.caches[i]
		c.SetNetwork(m.net)
	}
	for i, h := range m.Homes {
		h.Counters = f.homes[i]
		h.SetNetwork(m.net, false)
	}
	for i, t := range m.TLBs {
		t.Counters = f.tlbs[i]
	}
	for _, timed := range f.timed {
		timed()
	}
	for i, s := range m.StreamCores {
		s.Counters = f.cores[i]
	}
	for i, b := range m.StreamBanks {
		b.Counters = f.banks[i]
	}
	m.StreamTraffic = f.traffic
	m.forward = nil
	m.goOn()
}

// skips are what a thread has executed without time where it could skip micro-ops, and what of it
// it skipped. What is long ago counts for less.
type skips struct{ all, skipped uint64 }

func (s *skips) add(f core.Forwarded) { s.all, s.skipped = s.all+f.MicroOps, s.skipped+f.Skipped }
func (s *skips) fade()                { s.all, s.skipped = s.all/2, s.skipped/2 }
func (s *skips) most() bool           { return 4*s.skipped > 3*s.all }

// values are accesses that pass the caches of cores by, as those of skipped micro-ops do.
type values struct {
	f       *forward
	line    mem.Line // of the program, the last one
	data    mem.Bytes
	written bool
}

// access returns the bytes of a line, which the caller may write if it said so.
func (v *values) access(_ uint32, line mem.Line, write bool) *mem.Bytes {
	v.write()
	v.f.read(line*mem.LineBytes, mem.LineBytes)
	v.line, v.data, v.written = line, v.f.newest(v.f.m.spec.Pages.physical(line)), write
	return &v.data
}

// pass changes what skipped micro-ops write, in the order of the program.
func (v *values) pass(addr uint64, data []byte) {
	v.write()
	v.f.write(addr, data)
}

// write changes all copies of the last line if it was written.
func (v *values) write() {
	if v.written {
		v.f.write(v.line*mem.LineBytes, v.data[:])
		v.written = false
	}
}

// newest is what an access to a line would find.
func (f *forward) newest(line mem.Line) mem.Bytes {
	h := f.m.Homes[f.m.bank(line)]
	if owner := h.Owner(line); owner >= 0 {
		if data, ok := f.m.Caches[owner].Peek(line); ok {
			return data
		}
	}
	if data, ok := h.Peek(line); ok {
		return data
	}
	return *f.m.Memory.Line(line)
}
