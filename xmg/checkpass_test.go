package xmg

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/netlist"
)

// passFunc is what makes a graph smaller.
type passFunc func(context.Context, *Graph, Options) (*Graph, error)

// smallGraphs calls f with random graphs of few inputs, XMGs and AND/INV logic,
// some of them with constant outputs, outputs that are inputs, or no gate.
func smallGraphs(t *testing.T, n uint64, f func(g *Graph)) {
	t.Helper()
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 33))
		inputs := 1 + r.IntN(10)
		g := randomGraph(r, inputs, r.IntN(250), 1+r.IntN(10))
		if seed%2 == 0 {
			n := randomNetwork(r, inputs, r.IntN(300), 1+r.IntN(10), netlist.And)
			var err error
			g, err = FromNetwork(context.Background(), n, Options{NoMap: true})
			require.NoError(t, err)
		}
		g.AddOutput("one", True)
		g.AddOutput("in", MakeLit(1, true))
		f(g)
	}
}

// testPass checks that a pass changes no function and no name, makes no graph
// larger and leaves no dead gate, gives the same graph twice, and stops.
func testPass(t *testing.T, p passFunc) {
	t.Helper()
	ctx := context.Background()
	smallGraphs(t, uint64(invariants.Draws(60, 150)), func(g *Graph) {
		m, err := p(ctx, g, Options{})
		require.NoError(t, err)
		require.NoError(t, m.Check())
		in, w := allPatterns(g.NumInputs())
		require.True(t, equalWords(m.Simulate(in, w), g.Simulate(in, w)), "not equal")
		require.LessOrEqual(t, m.NumGates(), g.Sweep().NumGates())
		require.Same(t, m, m.Sweep(), "dead gates")
		for i, o := range g.Outputs() {
			require.Equal(t, o.Name, m.Output(i).Name)
		}
		again, err := p(ctx, g, Options{})
		require.NoError(t, err)
		require.True(t, slices.Equal(m.nodes, again.nodes), "another graph the second time")
	})
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, err := p(ctx, randomGraph(rand.New(rand.NewPCG(1, 1)), 9, 100, 9), Options{})
	require.True(t, errors.Is(err, context.Canceled), "%v", err)
}
