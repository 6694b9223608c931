package mem

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/event"
)

// tester drives private caches, homes and a memory at random, through a network
// whose messages overtake each other. There is an order in which accesses are
// performed, that of the events. The oracle is a memory beside the machine that
// writes are performed on in that order: a load must find in the copy that serves it
// what the oracle has, which is sequential consistency for each location, and when a
// core writes, no other core may have a copy that serves loads.
type tester struct {
	engine  *event.Engine
	net     *Direct
	cores   []*testCore
	homes   []*Home
	memory  *Fixed
	oracle  map[Line]*Bytes
	rng     *rand.Rand
	lines   int
	left    int
	done    int
	version uint64
	err     error
	check   int // writes until the copies of other cores are looked at
	every   int
	asked   map[copyOf][]asking // requests before their Unblock
	kept    map[copyOf]Message  // forwarded, and early
	early   int
}

type testCore struct {
	*tester
	id      int
	caches  *Private
	next    event.Handler
	line    Line
	word    int
	write   bool
	waiting bool
	since   event.Time
}

func (t *tester) fail(err error) {
	if t.err == nil {
		t.err = err
		t.engine.Stop()
	}
}

// testShape is how large things are in a random test.
type testShape struct {
	cores, banks, lines, accesses, delay, every int
	shared                                      bool // look-ups of the L1 wait in queues
	direct                                      bool // every other request to write has memory answer who asks
}

func newTester(protocol *Protocol, seed uint64, shape testShape) *tester {
	t := &tester{engine: event.New(), oracle: map[Line]*Bytes{}, asked: map[copyOf][]asking{}, kept: map[copyOf]Message{}, rng: rand.New(rand.NewPCG(seed, 1)), lines: shape.lines, left: shape.accesses, every: shape.every}
	t.net = NewDirect(t.engine, func(*Message) event.Time {
		d := event.Time(t.rng.IntN(shape.delay))
		if t.rng.IntN(8) == 0 {
			d *= 10 // some are overtaken by whole transactions
		}
		return d
	}, func(p Place) Receiver {
		switch p.Kind {
		case Core:
			if shape.direct {
				return &newHome{t.cores[p.Index]}
			}
			return t.cores[p.Index].caches
		case Bank:
			return t.homes[p.Index]
		}
		return t.memory
	})
	t.memory = NewFixed(t.engine, FixedSpec{Latency: 20, Bus: 2}, NewStore(), t.net)
	// Caches of a few lines, so that lines leave them all the time.
	spec := &PrivateSpec{
		L1: CacheSpec{ArraySpec: ArraySpec{Bytes: 2 * LineBytes, Ways: 1, Policy: LRU}, MSHRs: 2},
		L2: CacheSpec{ArraySpec: ArraySpec{Bytes: 4 * LineBytes, Ways: 2, Policy: LRU}, Latency: 3, MSHRs: 2, Prefetcher: "ip_stride"},
	}
	if shape.shared {
		spec.L1.Latency, spec.L1.Lookups, spec.L1.Sharers, spec.L1.Prefetcher = 1, 1, 2, "ip_stride"
	}
	home := &HomeSpec{ArraySpec: ArraySpec{Bytes: 4 * LineBytes, Ways: 2, Policy: BRRIP, NearShare: 0.03}, Latency: 4, MSHRs: 3}
	homeOf := func(line Line) Place { return Place{Bank, int16(line % uint64(shape.banks))} }
	var net Network = t.net
	if shape.direct {
		net = newHomes{t}
	}
	for i := range shape.cores {
		c := &testCore{tester: t, id: i}
		c.caches = NewPrivate(t.engine, spec, protocol, i, net, homeOf, c, t.fail)
		c.next = t.engine.Handle(func(now event.Time, _ uint64) { c.access(now) })
		t.engine.At(event.Time(t.rng.IntN(10)), c.next, 0)
		t.cores = append(t.cores, c)
	}
	for i := range shape.banks {
		t.homes = append(t.homes, NewHome(t.engine, home, protocol, i, shape.banks, 1, t.net, func(Line) Place { return Place{Controller, 0} }, t.fail))
	}
	return t
}

// newHomes is the network of cores, which ask as new homes now and then: those send no Unblock.
type newHomes struct{ *tester }

type copyOf struct {
	line Line
	core int16
}

type asking struct{ direct, silent bool } // silent: what was asked for did not come from another core

func (n newHomes) Send(m *Message) {
	c := copyOf{m.Line, m.From.Index}
	switch m.Kind {
	case MsgGetS, MsgGetM:
		m.Direct = m.Kind == MsgGetM && n.rng.IntN(2) == 0
		n.asked[c] = append(n.asked[c], asking{direct: m.Direct})
	case MsgUnblock: // of the oldest
		a := n.asked[c][0]
		n.asked[c] = n.asked[c][1:]
		if kept, ok := n.kept[c]; ok {
			delete(n.kept, c)
			n.net.Send(&kept)
		}
		if a.silent {
			return
		}
	}
	n.net.Send(m)
}

// newHome keeps what is forwarded to a core that does not yet have the line.
type newHome struct{ *testCore }

func (c *newHome) Receive(now event.Time, m *Message) {
	at := copyOf{m.Line, int16(c.id)}
	if n := len(c.asked[at]); n > 0 && c.asked[at][n-1].direct {
		last := &c.asked[at][n-1]
		switch m.Kind {
		case MsgDataM, MsgAckM:
			last.silent = m.From.Kind != Core
		case MsgFwdGetS, MsgFwdGetM:
			c.early++
			c.kept[at] = *m
			return
		}
	}
	c.caches.Receive(now, m)
}

func (t *tester) truth(line Line) *Bytes {
	if t.oracle[line] == nil {
		t.oracle[line] = new(Bytes)
	}
	return t.oracle[line]
}

// access begins a load or a write of a word.
func (c *testCore) access(now event.Time) {
	if c.left == 0 {
		return
	}
	c.left--
	c.line, c.word, c.write = Line(c.rng.IntN(c.lines)), c.rng.IntN(8), c.rng.IntN(3) == 0
	c.waiting, c.since = true, now
	if c.write {
		if c.caches.Own(now, 0, c.line) {
			c.Owned(now, c.line)
		}
		return
	}
	if b, _ := c.caches.Load(now, uint32(c.line%3), c.line, 1); b != nil {
		c.Performed(now, now, 1, b)
	}
}

func (c *testCore) finish() {
	c.waiting = false
	c.done++
	c.engine.After(event.Time(c.rng.IntN(20)), c.next, 0)
}

// Performed implements Client.
func (c *testCore) Performed(now, _ event.Time, id uint64, line *Bytes) {
	if !c.waiting || c.write {
		c.fail(fmt.Errorf("core %d: a load that nobody asked for", c.id))
		return
	}
	if want := c.truth(c.line); *line != *want {
		c.fail(fmt.Errorf("cycle %d: core %d loads %x from line %d, expected %x", now, c.id, line[:8], c.line, want[:8]))
	}
	c.finish()
}

// Owned implements Client.
func (c *testCore) Owned(now event.Time, line Line) {
	if !c.waiting || !c.write || line != c.line {
		return
	}
	b := c.caches.Write(line)
	if b == nil {
		c.fail(fmt.Errorf("core %d: line %d is owned and may not be written", c.id, line))
		return
	}
	if want := c.truth(line); *b != *want {
		c.fail(fmt.Errorf("cycle %d: core %d writes to %x in line %d, expected %x", now, c.id, b[:8], line, want[:8]))
		return
	}
	c.version++
	binary.LittleEndian.PutUint64(b[8*c.word:], c.version)
	*c.truth(line) = *b
	if c.check--; c.check < 0 {
		c.check = c.every
		for _, o := range c.cores {
			if o != c && o.caches.state(line) != I {
				c.fail(fmt.Errorf("cycle %d: core %d writes line %d, which core %d has in state %s", now, c.id, line, o.id, o.caches.state(line)))
			}
		}
	}
	c.finish()
}

// Found implements Client.
func (c *testCore) Found(now event.Time, id uint64, line *Bytes) { c.Performed(now, now, id, line) }

// Lost implements Client.
func (c *testCore) Lost(event.Time, Line) {}

// run performs all accesses, and says what went wrong: a wrong value, two copies, an
// event that the protocol does not expect, an access that never ends, or a memory
// that differs from the oracle.
func (t *tester) run() error {
	for t.done < t.left+t.done && t.err == nil {
		before := t.done
		if err := t.engine.Run(context.Background(), t.engine.Now()+100_000); err != nil {
			return err
		}
		if t.err != nil {
			return t.err
		}
		if t.engine.Next() == event.Forever {
			break
		}
		if t.done == before {
			return fmt.Errorf("nothing was performed in 100000 cycles")
		}
	}
	if t.err == nil {
		if err := t.engine.Run(context.Background(), event.Forever); err != nil {
			return err
		}
	}
	if t.err != nil {
		return t.err
	}
	for _, c := range t.cores {
		if c.waiting {
			return fmt.Errorf("core %d waits for line %d for ever", c.id, c.line)
		}
		if c.caches.Pending() {
			return fmt.Errorf("core %d has something under way", c.id)
		}
	}
	for _, h := range t.homes {
		if h.Pending() {
			return fmt.Errorf("bank %d has something under way", h.self.Index)
		}
	}
	for line, want := range t.oracle {
		if got := t.newest(line); got != *want {
			return fmt.Errorf("line %d ends as %x, expected %x", line, got[:8], want[:8])
		}
	}
	return nil
}

// newest is the contents of a line wherever it is.
func (t *tester) newest(line Line) Bytes {
	for _, c := range t.cores {
		if c.caches.state(line) != I {
			return *c.caches.copyOf(line)
		}
	}
	h := t.homes[line%uint64(len(t.homes))]
	if j := h.l3.find(line); j >= 0 {
		return h.l3.data[j]
	}
	return *t.memory.store.Line(line)
}

func TestRandomCoherence(t *testing.T) {
	seeds, accesses := 4, 40_000
	if os.Getenv("BITSCHED_COHERENCE") == "full" {
		seeds, accesses = 20, 10_000_000
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			cores, lines := 64, 12
			if seed%4 == 1 {
				cores, lines = 3, 40
			}
			x := newTester(MESI(), seed, testShape{cores: cores, banks: 4, lines: lines, accesses: accesses, delay: 60, every: 8, shared: seed%4 == 2, direct: seed%2 == 1})
			require.NoError(t, x.run())
			require.GreaterOrEqual(t, x.done, accesses)
			direct := uint64(0)
			for _, h := range x.homes {
				direct += h.Counters.Direct
			}
			require.Equal(t, seed%2 == 1, direct > 0)
			require.Equal(t, seed%2 == 1, x.early > 0)
			require.Empty(t, x.kept)
			t.Logf("%d accesses in %d cycles, %d messages", x.done, x.engine.Now(), x.net.Counters.Messages)
		})
	}
}
