package machine

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

// step of a litmus test: a store of value to x or y, a load, a fence, or an exchange.
type step struct {
	kind  byte // s, l, f, x
	at    int  // location
	value uint64
}

func st(at int, v uint64) step { return step{'s', at, v} }
func ld(at int) step           { return step{'l', at, 0} }
func xchg(at int, v uint64) step {
	return step{'x', at, v}
}

var fence = step{kind: 'f'}

const (
	x = 0
	y = 1
)

// litmus are the tests of Owens, Sarkar and Sewell, and some more.
var litmus = map[string][][]step{
	"MP":        {{st(x, 1), st(y, 1)}, {ld(y), ld(x)}},
	"SB":        {{st(x, 1), ld(y)}, {st(y, 1), ld(x)}},
	"SB+fences": {{st(x, 1), fence, ld(y)}, {st(y, 1), fence, ld(x)}},
	"SB+xchgs":  {{xchg(x, 1), ld(y)}, {xchg(y, 1), ld(x)}},
	"LB":        {{ld(x), st(y, 1)}, {ld(y), st(x, 1)}},
	"IRIW":      {{st(x, 1)}, {st(y, 1)}, {ld(x), ld(y)}, {ld(y), ld(x)}},
	"CoRR":      {{st(x, 1), st(x, 2)}, {ld(x), ld(x)}},
	"WRC":       {{st(x, 1)}, {ld(x), st(y, 1)}, {ld(y), ld(x)}},
	"n6":        {{st(x, 1), ld(x), ld(y)}, {st(y, 2), st(x, 2)}},
}

// tso is an abstract x86-TSO machine (figure 5 of the paper): a memory, and a queue
// of stores for each thread. It explores every run, and returns the results of all
// loads in the order of threads.
func tso(threads [][]step) map[string]bool {
	type write struct {
		at int
		v  uint64
	}
	results := map[string]bool{}
	seen := map[string]bool{}
	var run func(pc []int, memory [2]uint64, queues [][]write, got [][]uint64)
	run = func(pc []int, memory [2]uint64, queues [][]write, got [][]uint64) {
		key := fmt.Sprint(pc, memory, queues, got)
		if seen[key] {
			return
		}
		seen[key] = true
		end := true
		for t := range threads {
			clone := func() ([]int, [][]write, [][]uint64) {
				p, q, g := slices.Clone(pc), slices.Clone(queues), slices.Clone(got)
				q[t], g[t] = slices.Clone(q[t]), slices.Clone(g[t])
				return p, q, g
			}
			if len(queues[t]) > 0 {
				end = false
				p, q, g := clone()
				m := memory
				m[q[t][0].at] = q[t][0].v
				q[t] = q[t][1:]
				run(p, m, q, g)
			}
			if pc[t] == len(threads[t]) {
				continue
			}
			end = false
			p, q, g := clone()
			m := memory
			s := threads[t][pc[t]]
			p[t]++
			switch s.kind {
			case 's':
				q[t] = append(q[t], write{s.at, s.value})
			case 'l':
				v := memory[s.at]
				for _, w := range q[t] {
					if w.at == s.at {
						v = w.v
					}
				}
				g[t] = append(g[t], v)
			default:
				if len(queues[t]) > 0 {
					continue // after what is in the queue
				}
				if s.kind == 'x' {
					m[s.at] = s.value
				}
			}
			run(p, m, q, g)
		}
		if end {
			results[fmt.Sprint(got)] = true
		}
	}
	n := len(threads)
	run(make([]int, n), [2]uint64{}, make([][]write, n), make([][]uint64, n))
	return results
}

func litmusSpec(t *testing.T, rng *rand.Rand) *Spec {
	s := described(t, "nsc", "ooo8")
	s.Cores, s.Banks, s.Mesh, s.TLB = 4, 2, nil, nil
	s.Memory = Memory{Fixed: &mem.FixedSpec{Latency: 40, Bus: 4}, Controllers: []int{0}, Interleave: 1}
	switch rng.IntN(4) {
	case 0:
		s.Core = described(t, "nsc", "ooo4").Core
	case 1:
		s.Core = described(t, "nsc", "io4").Core
	case 2:
		s.Core.StoreBuffer = 16 // stores leave the queue when they commit
	}
	if rng.IntN(3) != 0 {
		s.Core.StoresInFlight = 8
	}
	s.Core.StorePrefetch = rng.IntN(2) == 0
	s.Private.L1.Bytes, s.Private.L1.Ways = 4*mem.LineBytes, 2
	s.Private.L2.Bytes, s.Private.L2.Ways = 16*mem.LineBytes, 4
	s.Home.Bytes, s.Home.Ways, s.Core.Predictor = 64*mem.LineBytes, 4, "perfect"
	return s
}

// runLitmus executes a test once, with delays of messages and threads at random, and
// the lines somewhere.
func runLitmus(t *testing.T, threads [][]step, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 7))
	spec := litmusSpec(t, rng)
	m, err := build(spec, func(*mem.Message) event.Time { return event.Time(rng.IntN(1 + rng.IntN(80))) })
	require.NoError(t, err)
	address := func(at int) uint64 { return 0x10000 + uint64(at)*0x1000 }
	got := make([][]uint64, len(threads))
	var list []uop.Thread
	for i, steps := range threads {
		s := &script{}
		// A copy of the lines that may be there, or come late.
		for at := range 2 {
			if rng.IntN(2) == 0 {
				s.racy(address(at), 9)
			}
		}
		s.chain(rng.IntN(120), 1)
		warm := len(s.ops)
		for k, p := range steps {
			if rng.IntN(3) == 0 {
				s.chain(rng.IntN(30), uop.Reg(2+k))
			}
			switch p.kind {
			case 's':
				s.store(address(p.at), p.value)
			case 'l':
				// The address may depend on a chain, so that a later load goes first.
				s.add(uop.Op{Kind: uop.Load, Flags: uop.Racy, Dst: 20, Src: [3]uop.Reg{uop.Reg(2 + k)}, Size: 8, Addr: address(p.at)}, word(0))
			case 'f':
				s.add(uop.Op{Kind: uop.Fence}, nil)
			case 'x':
				s.add(uop.Op{Kind: uop.Atomic, RMW: uop.Exchange, Size: 8, Addr: address(p.at)}, word(p.value))
			}
		}
		m.Cores[i].OnCommit = func(_ event.Time, op *uop.Op, b []byte) {
			if op.Kind == uop.Load && int(op.PC) >= warm {
				got[i] = append(got[i], uint64(b[0]))
			}
		}
		list = append(list, s)
	}
	require.NoError(t, m.Run(context.Background(), list...))
	return fmt.Sprint(got)
}

// TestLitmus runs each test many times: what is seen is allowed by x86-TSO, and what
// tells it from stronger models is seen.
func TestLitmus(t *testing.T) {
	runs := invariants.Draws(200, 400)
	if os.Getenv("BITSCHED_COHERENCE") == "full" {
		runs = 20_000
	}
	for _, name := range slices.Sorted(maps.Keys(litmus)) {
		threads := litmus[name]
		allowed := tso(threads)
		seen := map[string]int{}
		for seed := range uint64(runs) {
			r := runLitmus(t, threads, seed)
			require.True(t, allowed[r], "%s, seed %d: %s, expected one of %v", name, seed, r, slices.Sorted(maps.Keys(allowed)))
			seen[r]++
		}
		missing := []string{}
		for r := range allowed {
			if seen[r] == 0 {
				missing = append(missing, r)
			}
		}
		t.Logf("%-9s %d of %d results: %v; not seen: %s", name, len(seen), len(allowed), seen, strings.Join(missing, ", "))
		switch name {
		case "SB":
			require.Positive(t, seen["[[0] [0]]"], "loads never pass stores")
		case "MP", "LB":
			require.Empty(t, missing, name)
		}
	}
}
