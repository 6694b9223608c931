package se

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// writer is a core that adds 1 to lines, one after another.
type writer struct {
	caches *mem.Private
	line   mem.Line
	done   func(now event.Time)
}

func (w *writer) Performed(event.Time, event.Time, uint64, *mem.Bytes) {}
func (w *writer) Found(event.Time, uint64, *mem.Bytes)                 {}
func (w *writer) Lost(event.Time, mem.Line)                            {}
func (w *writer) Owned(now event.Time, line mem.Line) {
	if line == w.line && w.done != nil {
		done := w.done
		w.done = nil
		add(w.caches.Write(line))
		done(now)
	}
}

func add(b *mem.Bytes) {
	binary.LittleEndian.PutUint64(b[:], binary.LittleEndian.Uint64(b[:])+1)
}

// TestAgentCoherence lets cores and the engines of banks add 1 to the same lines at random,
// with messages that overtake each other: no addition may be lost, and what an engine reads
// of a line never goes back.
func TestAgentCoherence(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		e := event.New()
		const cores, banks, lines, writes = 3, 2, 6, 60
		fail := func(err error) { require.NoError(t, err, "seed %d", seed) }
		var privates []*mem.Private
		var homes []*mem.Home
		var engines []*Bank
		var memory *mem.Fixed
		net := mem.NewDirect(e, func(*mem.Message) event.Time { return 1 + event.Time(r.IntN(60)) }, func(p mem.Place) mem.Receiver {
			switch {
			case p.Kind == mem.Core && p.Index >= mem.MaxCores:
				return engines[p.Index-mem.MaxCores]
			case p.Kind == mem.Core:
				return privates[p.Index]
			case p.Kind == mem.Bank:
				return homes[p.Index]
			}
			return memory
		})
		store := mem.NewStore()
		memory = mem.NewFixed(e, mem.FixedSpec{Latency: 30, Bus: 1}, store, net)
		protocol := mem.MESI()
		homeOf := func(line mem.Line) mem.Place { return mem.Place{Kind: mem.Bank, Index: int16(line % banks)} }
		small := mem.CacheSpec{ArraySpec: mem.ArraySpec{Bytes: 2 * mem.LineBytes, Ways: 1, Policy: mem.LRU}, Latency: 2, MSHRs: 4}
		spec := &mem.PrivateSpec{L1: small, L2: small, HitReturn: 1, MissReturn: 1, Release: 1}
		home := &mem.HomeSpec{ArraySpec: mem.ArraySpec{Bytes: 2 * mem.LineBytes, Ways: 1, Policy: mem.LRU}, Latency: 3, Return: 1, MissReturn: 1, MSHRs: 4}
		var want [lines]uint64
		var seen [banks][lines]uint64
		left := 0
		for i := range cores {
			w := &writer{}
			w.caches = mem.NewPrivate(e, spec, protocol, i, net, homeOf, w, fail)
			privates = append(privates, w.caches)
			n := writes
			left += n
			var next event.Handler
			next = e.Handle(func(now event.Time, _ uint64) {
				if n == 0 {
					return
				}
				n--
				w.line = mem.Line(r.IntN(lines))
				want[w.line]++
				again := func(now event.Time) { left--; e.At(now+1+event.Time(r.IntN(40)), next, 0) }
				if w.caches.Own(now, 0, w.line) {
					add(w.caches.Write(w.line))
					again(now)
				} else {
					w.done = again
				}
			})
			e.At(0, next, 0)
		}
		for i := range banks {
			homes = append(homes, mem.NewHome(e, home, protocol, i, banks, 1, net, func(mem.Line) mem.Place { return mem.Place{Kind: mem.Controller} }, fail))
			b := NewBank(e, &Spec{}, i, net, nil, nil, func(line mem.Line) mem.Line { return line }, fail)
			engines = append(engines, b)
			n := 2 * writes
			left += n
			var next event.Handler
			next = e.Handle(func(now event.Time, _ uint64) {
				if n == 0 {
					return
				}
				n--
				line := mem.Line(r.IntN(lines/banks)*banks + i)
				if r.IntN(2) == 0 {
					b.agent.read(line, func(_ event.Time, data *mem.Bytes) {
						left--
						v := binary.LittleEndian.Uint64(data[:])
						require.GreaterOrEqual(t, v, seen[i][line], "seed %d: line %d went back", seed, line)
						seen[i][line] = v
					})
				} else {
					want[line]++
					b.agent.change(line, add, func(event.Time) { left-- })
				}
				e.At(now+1+event.Time(r.IntN(30)), next, 0)
			})
			e.At(0, next, 0)
		}
		require.NoError(t, e.Run(context.Background(), event.Forever))
		require.Zero(t, left, "seed %d: accesses that never ended", seed)
		for line := range mem.Line(lines) {
			data := *store.Line(line)
			if b, ok := homes[line%banks].Peek(line); ok {
				data = b
			}
			for _, p := range privates {
				if b, ok := p.Peek(line); ok {
					data = b
				}
			}
			require.Equal(t, want[line], binary.LittleEndian.Uint64(data[:]), "seed %d, line %d", seed, line)
			require.False(t, engines[line%banks].Pending())
		}
	}
}

// TestChunks: chunks of a stream are the iterations of a line in a range, from whichever
// iteration they are asked for.
func TestChunks(t *testing.T) {
	for _, stride := range []int64{1, 4, 8, 12, 64, 100, -4, -8, -200} {
		g := &Group{N: 1000, Range: 128, Streams: []Stream{{Base: 1 << 30, Stride: stride, Bytes: 1}}}
		for i := int64(0); i < g.N; {
			first, end := g.chunk(0, i)
			require.Equal(t, i, first)
			for k := first; k < end; k++ {
				require.Equal(t, g.line(0, first), g.line(0, k))
				a, b := g.chunk(0, k)
				require.Equal(t, [2]int64{first, end}, [2]int64{a, b})
				require.Equal(t, first/g.Range, k/g.Range)
			}
			if end < g.N && end%g.Range != 0 {
				require.NotEqual(t, g.line(0, first), g.line(0, end))
			}
			i = end
		}
	}
}
