package xmg

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/netlist"
)

// Where all is proved, no two gates of the result are equal up to complement,
// none is constant, and the outputs are those of before.
func TestReduceRandom(t *testing.T) {
	ctx := context.Background()
	for name, effort := range partialSweeps {
		merged := 0
		for seed := range uint64(80) {
			r := rand.New(rand.NewPCG(seed, 41))
			inputs := 1 + r.IntN(8)
			g, err := FromNetwork(ctx, randomNetwork(r, inputs, r.IntN(250), 1+r.IntN(8), netlist.And, netlist.Xor, netlist.Mux), Options{NoMap: true})
			require.NoError(t, err)
			if effort.candidates == 0 {
				effort = defaultEffort
			}
			effort.conflicts = 1 << 40
			out, err := reduce(ctx, g, ReduceOptions{}, effort)
			require.NoError(t, err)
			require.NoError(t, out.Check())
			in, w := allPatterns(inputs)
			require.Equal(t, g.Simulate(in, w), out.Simulate(in, w), "%s, seed %d", name, seed)
			require.LessOrEqual(t, out.NumGates(), g.NumGates())
			merged += g.NumGates() - out.NumGates()
			if out.NumGates() == g.NumGates() {
				require.Same(t, g, out)
			}
			if name == "tables" || name == "parts" || name == "waiting" {
				continue // no cut of few leaves, too many gates, or no second look
			}
			values := out.SimulateNodes(in, w)
			seen := map[string]int{}
			for id := range out.NumNodes() {
				key := ""
				for _, x := range values[id*w:][:w] {
					x ^= -(values[id*w] & 1)
					if inputs < 6 {
						x &= 1<<(1<<inputs) - 1
					}
					key += fmt.Sprintf("%x ", x)
				}
				other, ok := seen[key]
				require.False(t, ok, "%s, seed %d: nodes %d and %d are equal", name, seed, other, id)
				seen[key] = id
			}
		}
		require.Greater(t, merged, 100, name)
	}
}

// A circuit and itself mapped side by side fall into one.
func TestReduceEPFL(t *testing.T) {
	for _, name := range smallEPFL {
		a, b := epflPair(t, name)
		m := newMiter(a, b)
		both, err := Reduce(context.Background(), m.g, ReduceOptions{})
		require.NoError(t, err)
		for i := range m.open {
			require.Equal(t, both.Output(2*i).Lit, both.Output(2*i+1).Lit, "%s, output %d", name, m.open[i])
		}
	}
}

func TestReduceStops(t *testing.T) {
	a, b := hardPair(12)
	g := newMiter(a, b).g
	in := randomWords(g.NumInputs() * 4)
	want := g.Simulate(in, 4)
	whole, err := Reduce(context.Background(), g, ReduceOptions{})
	require.NoError(t, err)
	require.Less(t, whole.NumGates(), g.NumGates())
	require.Equal(t, want, whole.Simulate(in, 4))

	part, err := Reduce(context.Background(), g, ReduceOptions{Work: 1})
	require.NoError(t, err)
	require.Greater(t, part.NumGates(), whole.NumGates())
	require.Equal(t, want, part.Simulate(in, 4))

	ctx, cancel := context.WithCancel(context.Background())
	part, err = Reduce(ctx, g, ReduceOptions{Progress: func(p Progress) {
		if p.Done >= 256 {
			cancel()
		}
	}})
	require.NoError(t, err)
	require.Greater(t, part.NumGates(), whole.NumGates())
	require.Equal(t, want, part.Simulate(in, 4))
	same, err := Reduce(ctx, g, ReduceOptions{})
	require.NoError(t, err)
	require.Same(t, g, same)
}

func BenchmarkReduce(b *testing.B) {
	for _, c := range []struct {
		name string
		net  func() *netlist.Network
	}{
		{"div", func() *netlist.Network { return readData(b, "epfl/div.aig") }},
		{"log2", func() *netlist.Network { return readData(b, "epfl/log2.aig") }},
		{"1e6", func() *netlist.Network { return andMultiplier(320) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			g, err := FromNetwork(context.Background(), c.net(), Options{NoMap: true})
			require.NoError(b, err)
			after := 0
			for b.Loop() {
				out, err := Reduce(context.Background(), g, ReduceOptions{})
				require.NoError(b, err)
				after = out.NumGates()
			}
			b.ReportMetric(float64(g.NumGates()), "before")
			b.ReportMetric(float64(after), "after")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(g.NumGates()), "ns/gate")
		})
	}
}
