package tc_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/tc"
)

// coherent is a machine in which cores load and write lines at random while banks fetch them,
// write them on their bitlines and give them back, through a network whose messages overtake each
// other. The oracle is a memory beside it, on which writes are performed in the order of events:
// what a load finds, what comes to bitlines and what is in memory in the end has to be there.
type coherent struct {
	*wires
	net     *mem.Direct
	rng     *rand.Rand
	cores   []*client
	homes   []*mem.Home
	memory  *mem.Fixed
	store   *mem.Store
	truth   map[mem.Line]*mem.Bytes
	owned   map[mem.Line]bool // lines on bitlines
	garbage map[mem.Line]bool // of these, whose bytes did not come
	clean   bool              // bitlines do not change what has come
	version uint64
	rounds  int
	done    int
	lost    int
	err     error
}

func (w *coherent) fail(err error) {
	if w.err == nil {
		w.err = err
		w.engine.Stop()
	}
}

func (w *coherent) Send(m *mem.Message) { w.net.Send(m) }

func (w *coherent) line(l mem.Line) *mem.Bytes {
	if w.truth[l] == nil {
		w.truth[l] = new(mem.Bytes)
	}
	return w.truth[l]
}

func (w *coherent) change(l mem.Line) {
	w.version++
	binary.LittleEndian.PutUint64(w.line(l)[:], w.version)
}

func (w *coherent) check(what string, l mem.Line, b *mem.Bytes) {
	if *b != *w.line(l) {
		w.fail(fmt.Errorf("cycle %d: %s line %d: %x, expected %x", w.engine.Now(), what, l, b[:8], w.line(l)[:8]))
	}
}

// Called implements tc.Host.
func (w *coherent) Called(event.Time) {}

// Got implements tc.Host: bitlines change what has come.
func (w *coherent) Got(l mem.Line, b *mem.Bytes) {
	if !w.garbage[l] {
		w.check("to bitlines,", l, b)
	}
	w.owned[l] = true
	if !w.clean {
		w.change(l)
	}
}

// Newest implements tc.Host.
func (w *coherent) Newest(l mem.Line, b *mem.Bytes) {
	if !w.clean {
		w.change(l)
	}
	*b = *w.line(l)
	delete(w.owned, l)
}

// Lost implements tc.Host.
func (w *coherent) Lost(mem.Line) { w.lost++ }

// client is a core with one access at a time.
type client struct {
	*coherent
	caches *mem.Private
	next   event.Handler
	at     mem.Line
	write  bool
	left   int
}

func (c *client) access(now event.Time) {
	if c.left--; c.left < 0 {
		return
	}
	c.at, c.write = mem.Line(c.rng.IntN(24)), c.rng.IntN(3) == 0
	if c.write {
		if c.caches.Own(now, 0, c.at) {
			c.Owned(now, c.at)
		}
	} else if b, _ := c.caches.Load(now, 1, c.at, 1); b != nil {
		c.Performed(now, now, 1, b)
	}
}

func (c *client) finish() {
	c.done++
	c.engine.After(event.Time(1+c.rng.IntN(30)), c.next, 0)
}

func (c *client) Performed(_, _ event.Time, _ uint64, b *mem.Bytes) {
	c.check("loaded,", c.at, b)
	c.finish()
}
func (c *client) Found(now event.Time, id uint64, b *mem.Bytes) { c.Performed(now, now, id, b) }
func (c *client) Owned(_ event.Time, l mem.Line) {
	if !c.write || l != c.at {
		return
	}
	c.write = false
	b := c.caches.Write(l)
	c.check("written,", l, b)
	if c.owned[l] {
		c.fail(fmt.Errorf("line %d is written, and on bitlines", l))
	}
	c.change(l)
	*b = *c.line(l)
	c.finish()
}
func (c *client) Lost(event.Time, mem.Line) {}

// round lets banks fetch lines of their own, and give them back.
func (w *coherent) round(event.Time) {
	if w.rounds--; w.rounds < 0 {
		return
	}
	w.clean = w.rng.IntN(3) == 0
	whole := !w.clean && w.rng.IntN(2) == 0
	clear(w.garbage)
	var list []tc.Lines
	for b := range w.core.Banks {
		l := tc.Lines{Bank: b, Clean: w.clean}
		for i := range 24 {
			if i%len(w.core.Banks) == b && w.rng.IntN(2) == 0 {
				l.Lines = append(l.Lines, mem.Line(i))
				w.garbage[mem.Line(i)] = whole
			}
		}
		if whole {
			l.Whole = len(l.Lines)
		}
		list = append(list, l)
	}
	later := func(f func()) {
		w.engine.After(event.Time(w.rng.IntN(400)), w.engine.Handle(func(event.Time, uint64) { f() }), 0)
	}
	giveBack := func() {
		w.core.Return(list, func(event.Time) { later(func() { w.round(0) }) })
	}
	w.core.Fetch(list, func(event.Time) {
		if w.rng.IntN(2) == 0 {
			later(giveBack)
			return
		}
		later(func() { w.core.Fetch(list, func(event.Time) { later(giveBack) }) }) // what cores took
	})
}

func TestCoherence(t *testing.T) {
	lost, direct, several := 0, uint64(0), map[mem.MessageKind]bool{}
	for seed := range uint64(40) {
		w := &coherent{rng: rand.New(rand.NewPCG(seed, 3)), truth: map[mem.Line]*mem.Bytes{}, owned: map[mem.Line]bool{}, garbage: map[mem.Line]bool{}, store: mem.NewStore(), rounds: 60}
		delay := 5 + w.rng.IntN(80)
		w.wires = &wires{engine: event.New(), cycles: 5, sent: map[tc.MessageKind]int{}}
		w.net = mem.NewDirect(w.engine, func(m *mem.Message) event.Time {
			if m.More != 0 {
				several[m.Kind] = true
			}
			d := w.rng.IntN(delay)
			if w.rng.IntN(8) == 0 {
				d *= 10 // some are overtaken by whole transactions
			}
			return event.Time(d)
		}, func(p mem.Place) mem.Receiver {
			switch {
			case p.Kind == mem.Bank:
				return w.homes[p.Index]
			case p.Kind == mem.Controller:
				return w.memory
			case p.Index < mem.MaxCores:
				return w.cores[p.Index].caches
			}
			return w.core.Banks[p.Index-2*mem.MaxCores]
		})
		banks, protocol := 2, mem.MESI()
		home := func(l mem.Line) int { return int(l) / 8 % banks }
		c, err := tc.New(w.engine, spec(), 3, w.wires, w, home, w.fail)
		require.NoError(t, err)
		w.core, c.Host = c, w
		private := &mem.PrivateSpec{
			L1: mem.CacheSpec{ArraySpec: mem.ArraySpec{Bytes: 2 * mem.LineBytes, Ways: 1, Policy: mem.LRU}, MSHRs: 2},
			L2: mem.CacheSpec{ArraySpec: mem.ArraySpec{Bytes: 4 * mem.LineBytes, Ways: 2, Policy: mem.LRU}, Latency: 3, MSHRs: 2},
		}
		for i := range 5 {
			k := &client{coherent: w, left: 400}
			k.caches = mem.NewPrivate(w.engine, private, protocol, i, w.net, func(l mem.Line) mem.Place { return mem.Place{Kind: mem.Bank, Index: int16(home(l))} }, k, w.fail)
			k.next = w.engine.Handle(func(now event.Time, _ uint64) { k.access(now) })
			w.engine.After(event.Time(i), k.next, 0)
			w.cores = append(w.cores, k)
		}
		for i := range banks {
			w.homes = append(w.homes, mem.NewHome(w.engine, &mem.HomeSpec{ArraySpec: mem.ArraySpec{Bytes: 4 * mem.LineBytes, Ways: 2, Policy: mem.LRU}, Latency: 4, MSHRs: 3}, protocol, i, banks, 8, w.net,
				func(mem.Line) mem.Place { return mem.Place{Kind: mem.Controller} }, w.fail))
		}
		w.memory = mem.NewFixed(w.engine, mem.FixedSpec{Latency: 20, Bus: 2}, w.store, w.net)
		w.round(0)
		require.NoError(t, w.engine.Run(context.Background(), event.Forever))
		require.NoError(t, w.err, "seed %d", seed)
		require.Equal(t, 2000, w.done, "seed %d", seed)
		require.Equal(t, -1, w.rounds, "seed %d: %s", seed, w.core.Waits())
		for _, h := range w.homes {
			require.False(t, h.Pending())
			direct += h.Counters.Direct
		}
		for l := range w.truth {
			b, ok := w.homes[home(l)].Peek(l)
			if !ok {
				b = *w.store.Line(l)
			}
			for _, k := range w.cores {
				if x, ok := k.caches.Peek(l); ok {
					b = x
				}
			}
			w.check("in the end,", l, &b)
		}
		require.NoError(t, w.err, "seed %d", seed)
		lost += w.lost
	}
	require.Greater(t, lost, 100)
	require.Greater(t, direct, uint64(100))
	require.Equal(t, map[mem.MessageKind]bool{mem.MsgGetM: true, mem.MsgAckM: true, mem.MsgPut: true, mem.MsgPutAck: true}, several)
}
