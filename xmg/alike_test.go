package xmg

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/netlist"
)

// What is found alike is equal for all patterns, of mapped circuits and of circuits with a
// gate changed; there are such gates.
func TestAlike(t *testing.T) {
	equal, found := 0, 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 32))
		inputs := 2 + r.IntN(9)
		a, err := FromNetwork(context.Background(), randomNetwork(r, inputs, 20+r.IntN(400), 1+r.IntN(8), netlist.And, netlist.Xor, netlist.Mux), Options{NoMap: true})
		require.NoError(t, err)
		b, err := Map(context.Background(), a, Options{})
		require.NoError(t, err)
		changed := seed%3 == 0 && b.NumGates() > 0
		if changed {
			b = mutate(b, r)
		}
		in, w := allPatterns(inputs)
		g := a.Sweep()
		first := g.NumNodes()
		search := newAlike(g)
		values := map[string]bool{}
		words := func(all []uint64, id int) []uint64 { return all[id*w:][:w] }
		key := func(v []uint64) string {
			k := make([]byte, 0, 8*len(v))
			for _, x := range v {
				for i := range 8 {
					k = append(k, byte(x>>(8*i)))
				}
			}
			return string(k)
		}
		of := g.SimulateNodes(in, w)
		for id := range first {
			values[key(words(of, id))] = true
		}
		lit := make([]Lit, b.NumNodes())
		as := map[int]Lit{}
		for id := range lit {
			if id < b.FirstGate() {
				lit[id] = Lit(id) << 1
				continue
			}
			size := g.NumNodes()
			l := g.copyGate(b.nodes[id], lit)
			if l.Node() == size {
				here := words(g.SimulateNodes(in, w), size)
				if n, ok := search.find(size); ok {
					require.Less(t, int(n), first)
					require.Equal(t, words(of, int(n)), here, "seed %d, gate %d", seed, id)
					as[size] = Lit(n) << 1
					found++
				}
				if values[key(here)] && !changed {
					equal++
				}
			}
			if to, ok := as[l.Node()]; ok {
				l = to ^ l&1
			}
			lit[id] = l
		}
	}
	t.Logf("%d gates found of %d that equal one", found, equal)
	require.Greater(t, found, 500)
}

// A deep circuit is proved equal to what mapping makes of it without SAT and without
// patterns.
func TestEquivalentDeep(t *testing.T) {
	g := New("deep")
	var in []Lit
	for range 16 {
		in = append(in, g.AddInput(""))
	}
	r := rand.New(rand.NewPCG(1, 33))
	x, y := in[0], in[1]
	for i := range 8000 { // full adders of ANDs
		a := in[i%16]
		either, both := g.Or(x, a), g.And(x, a)
		half := g.And(either, both^1)
		x, y = g.Or(g.And(half, y^1), g.And(half^1, y)), g.Or(both, g.And(either, y))
		if r.IntN(4) == 0 {
			x, y = y, x
		}
	}
	g.AddOutput("", x)
	g.AddOutput("", y)
	h, err := Map(context.Background(), g, Options{})
	require.NoError(t, err)
	require.Less(t, h.NumGates(), g.NumGates()/2)
	require.Greater(t, h.NumGates(), 8000)
	e, err := Equivalent(context.Background(), g, h, EquivalenceOptions{})
	require.NoError(t, err)
	require.Equal(t, Equal, e.Verdict)
	require.Zero(t, e.Stats.BySAT)
	require.Zero(t, e.Stats.Patterns)
	t.Logf("%d and %d gates, depth %d: %+v", g.NumGates(), h.NumGates(), g.Depth(), e.Stats)
}
