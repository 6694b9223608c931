package core

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

const flagAddr = 0x1000

// waiter is a thread that works a little, and then waits until a word is at least the number of the
// round, over and over. What a squash takes back it hands out again.
type waiter struct {
	rounds, round uint64
	spin          bool
	first         bool // of a loop that waits: nothing stands in front of the load
	handed        uop.Batch
	committed     int
	again         int // of handed, to be handed out again
	repeated      int
	blocked       bool
	resolved      []resolved
	kinds         *rand.Rand
	compare       uop.Kind // of the comparison
}

func (w *waiter) put(b *uop.Batch, op uop.Op, data []byte) {
	op.Lanes = 1
	for _, x := range []*uop.Batch{b, &w.handed} {
		o := op
		o.Data = uint32(len(x.Data))
		x.Data = append(x.Data, data...)
		x.Ops = append(x.Ops, o)
	}
}

// look is the load, behind the comparison and the branch of the one before.
func (w *waiter) look(b *uop.Batch) {
	if !w.first {
		w.put(b, uop.Op{PC: 11, Kind: w.compare, Dst: 2, Src: [3]uop.Reg{1}}, nil)
		w.put(b, uop.Op{PC: 12, Kind: uop.Branch, Flags: uop.Taken | uop.Backward, Src: [3]uop.Reg{2}}, nil)
	}
	w.first = false
	w.put(b, uop.Op{PC: 10, Kind: uop.Load, Flags: uop.Blocking | uop.Racy, Dst: 1, Size: 8, Addr: flagAddr}, word(0))
}

func (w *waiter) Next(b *uop.Batch, n int) (uop.Status, error) {
	if w.again < len(w.handed.Ops) {
		for ; n > 0 && w.again < len(w.handed.Ops); n-- {
			b.Append(&w.handed, &w.handed.Ops[w.again])
			w.again++
		}
		if w.again == len(w.handed.Ops) && w.blocked {
			return uop.Wait, nil
		}
		return uop.More, nil
	}
	defer func() { w.again = len(w.handed.Ops) }()
	if w.spin {
		w.look(b)
		w.blocked = true
		return uop.Wait, nil
	}
	if w.round == w.rounds {
		return uop.Done, nil
	}
	w.round++
	for i := range w.kinds.IntN(20) {
		switch w.kinds.IntN(3) {
		case 0:
			w.put(b, uop.Op{PC: 20, Kind: uop.IntALU, Dst: 3, Src: [3]uop.Reg{3}}, nil)
		case 1:
			w.put(b, uop.Op{PC: 21, Kind: uop.Store, Src: [3]uop.Reg{3}, Size: 8, Addr: 0x4000 + 8*uint64(i)}, word(w.round))
		default:
			w.put(b, uop.Op{PC: 22, Kind: uop.Branch, Flags: uop.Flags(w.kinds.IntN(2)) * uop.Taken, Src: [3]uop.Reg{3}}, nil)
		}
	}
	w.spin, w.first, w.blocked = true, true, true
	w.look(b)
	return uop.Wait, nil
}

func (w *waiter) Resolve(old []byte) error {
	if !w.blocked {
		return fmt.Errorf("it does not wait")
	}
	w.blocked, w.resolved = false, append(w.resolved, resolved{len(w.handed.Ops), w.round})
	w.spin = binary.LittleEndian.Uint64(old) < w.round
	return nil
}

// resolved is a load that was answered: how many micro-ops had been handed out, and in which round.
type resolved struct {
	handed int
	round  uint64
}

// back takes back what is not committed, and what follows from it.
func (w *waiter) back() {
	w.again = w.committed
	for i, x := range w.resolved {
		if w.committed < x.handed {
			w.handed.Ops, w.resolved = w.handed.Ops[:x.handed], w.resolved[:i]
			w.spin, w.blocked, w.round = true, true, x.round
			return
		}
	}
}

// repeating is a waiter that says when it goes on as before.
type repeating struct{ *waiter }

func (w repeating) Again(old []byte) bool {
	if binary.LittleEndian.Uint64(old) >= w.round {
		return false
	}
	w.repeated++
	w.resolved = append(w.resolved, resolved{len(w.handed.Ops), w.round})
	w.put(&uop.Batch{}, w.handed.Ops[len(w.handed.Ops)-3], nil)
	w.put(&uop.Batch{}, w.handed.Ops[len(w.handed.Ops)-3], nil)
	w.put(&uop.Batch{}, w.handed.Ops[len(w.handed.Ops)-3], word(0))
	w.again = len(w.handed.Ops)
	return true
}

// port is a memory whose lines are there, with a delay, or come later.
type port struct {
	*flat
	log   *[]string
	delay int
	away  bool
	ready event.Handler
	core  *Core
}

func (p *port) Load(now event.Time, pc uint32, line mem.Line, id uint64) (*mem.Bytes, int) {
	*p.log = append(*p.log, fmt.Sprintf("%d load %d of %#x, part %d", now, pc, line, uint8(id)))
	if p.away {
		p.ids, p.asked = append(p.ids, id), append(p.asked, line)
		p.e.After(37, p.ready, uint64(len(p.ids)-1))
		return nil, 0
	}
	return p.line(line), p.delay
}

// pages is a TLB that sometimes takes its time.
type pages struct {
	log   *[]string
	delay int
}

func (p *pages) Translate(now event.Time, addr uint64) int {
	*p.log = append(*p.log, fmt.Sprintf("%d translate %#x", now, addr))
	return p.delay
}

// whim foretells branches wrong now and then.
type whim struct{ r *rand.Rand }

func (w whim) Predict(_ uint32, taken bool) bool { return taken != (w.r.IntN(30) == 0) }

// spins executes a thread that waits, while at random cycles the word changes, loads take longer or miss, translations
// take time, or somebody stops the core, takes micro-ops back or looks at it. It returns what
// could be seen of it from elsewhere.
func spins(t *testing.T, seed uint64, plain bool) (log []string, repeated int) {
	r := rand.New(rand.NewPCG(seed, 5))
	spec := *wide()
	spec.Plain = plain
	spec.Predictor = []string{"gshare", "tage", "hashed-perceptron", "perfect"}[seed%4]
	spec.InOrder = seed%3 == 0
	spec.FrontEnd, spec.HitUse = 1+r.IntN(6), 2+r.IntN(5)
	spec.Fetch, spec.EarlyLQ = 1+r.IntN(8), seed%2 == 0
	spec.LoadSelect = []string{"age", "slot"}[r.IntN(2)]
	require.NoError(t, spec.Validate())
	e := event.New()
	tlb := &pages{log: &log}
	c := New(e, &spec, 0, tlb, func(err error) {
		require.NoError(t, err, "seed %d", seed)
	})
	p := &port{flat: &flat{lines: map[mem.Line]*mem.Bytes{}, e: e, c: c}, log: &log, core: c}
	p.ready = e.Handle(func(now event.Time, i uint64) { c.Performed(now, now, p.ids[i], p.line(p.asked[i])) })
	c.Connect(p)
	w := &waiter{rounds: 4 + r.Uint64N(8), kinds: rand.New(rand.NewPCG(seed, 6)), compare: []uop.Kind{uop.IntALU, uop.IntDiv}[seed/3%2]}
	c.OnCommit = func(now event.Time, op *uop.Op, got []byte) {
		w.committed++
		log = append(log, fmt.Sprintf("%d commit %d, found %x", now, op.PC, got))
	}
	var thread uop.Thread = w
	if seed%5 > 1 {
		thread = repeating{w}
	}
	if seed%6 == 5 {
		c.guess = whim{r}
	}
	quiet := true
	wake := e.Handle(func(now event.Time, _ uint64) { c.Resume(now) })
	c.Quiet = func() bool { return quiet }
	c.Hold = func(now event.Time, op *uop.Op, _ []byte) bool {
		if !quiet {
			log = append(log, fmt.Sprintf("%d asks for %d", now, op.PC))
		}
		held := !quiet && op.PC != 10 && r.IntN(2) == 0 // what is resolved commits
		if held {
			e.At(now+3, wake, 0)
		}
		return held
	}
	c.Start(thread)
	look := func() {
		text := c.Waits()
		if addr, ok := c.WaitsAt(); ok {
			text += fmt.Sprintf(" at %#x", addr)
		}
		c.Settle()
		log = append(log, fmt.Sprintf("%d: %+v, %s, stuck %q, %t", e.Now(), c.Counters, text, c.Stuck(), c.Awaits()))
	}
	word := func() []byte { return p.line(flagAddr / mem.LineBytes)[flagAddr%mem.LineBytes:][:8] }
	at, value, stopped := event.Time(0), uint64(0), false
	for !c.Done() {
		at += 1 + event.Time(r.ExpFloat64()*float64([]int{10, 100, 2000}[r.IntN(3)]))
		require.Less(t, at, event.Time(10_000_000))
		require.NoError(t, e.Run(context.Background(), at))
		switch r.IntN(12) {
		case 0:
			look()
		case 1:
			p.delay = r.IntN(3)
		case 2:
			p.away = !p.away
		case 3:
			tlb.delay = 9 * r.IntN(2)
		case 4:
			c.Lost(at, flagAddr/mem.LineBytes)
		case 5:
			c.Owned(at, flagAddr/mem.LineBytes)
		case 6:
			stopped = !stopped
			c.Halt(stopped)
		case 7:
			if !stopped && c.Squash(at) {
				w.back()
				look()
				c.Resume(at)
			}
		case 8:
			quiet = !quiet
			c.Resume(at)
		case 9:
			binary.LittleEndian.PutUint64(word(), value) // as it was, or without what it waits for
			value -= value & 1 & r.Uint64()
		default:
			value++
			binary.LittleEndian.PutUint64(word(), value)
		}
	}
	look()
	return log, w.repeated
}

// TestSpin holds threads that wait in hollow cycles against cores that execute each cycle: what
// they load and commit, and when, and their counters whenever somebody looks.
func TestSpin(t *testing.T) {
	repeated := 0
	for seed := range uint64(80) {
		want, none := spins(t, seed, true)
		require.Zero(t, none)
		got, n := spins(t, seed, false)
		require.Equal(t, len(want), len(got), "seed %d", seed)
		for i := range want {
			require.Equal(t, want[max(0, i-12):i+1], got[max(0, i-12):i+1], "seed %d, line %d", seed, i)
		}
		repeated += n
	}
	require.Greater(t, repeated, 2000, "iterations of hollow cycles")
}
