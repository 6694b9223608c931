package xmg

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is known to be in the circuits: comparators of one gate a bit and
// multiplexers of two in max, a Booth multiplier, tables in sin.
func TestArithmeticCircuits(t *testing.T) {
	rewrites := func(ctx context.Context, g *Graph, opt Options) (*Graph, error) {
		var err error
		for seed := range uint64(15) {
			if g, err = Rewrite6(ctx, g, seed, opt); err != nil {
				return nil, err
			}
		}
		return g, nil
	}
	for _, c := range []struct {
		name   string
		passes []passFunc
		most   int
	}{
		{"max", []passFunc{rewrites}, 1250},
		{"multiplier", []passFunc{Map, Exclusive, Map}, 11700},
		{"sin", []passFunc{Exclusive, Map, Decoded}, 2650},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := readData(t, "epfl/"+c.name+".aig")
			ctx := context.Background()
			g, err := FromNetwork(ctx, n, Options{NoMap: true})
			require.NoError(t, err)
			for _, p := range c.passes {
				g, err = p(ctx, g, Options{})
				require.NoError(t, err)
			}
			require.NoError(t, g.Check())
			require.LessOrEqual(t, g.NumGates(), c.most)
			in := randomWords(n.NumInputs() * 64)
			require.True(t, equalWords(g.Simulate(in, 64), n.Simulate(in, 64)))
		})
	}
}

// A pass over a large graph, in gates a second.
func BenchmarkArithmeticPasses(b *testing.B) {
	ctx := context.Background()
	g, err := FromNetwork(ctx, andMultiplier(64), Options{NoMap: true})
	require.NoError(b, err)
	for _, p := range []struct {
		name string
		run  passFunc
	}{
		{"exclusive", Exclusive},
		{"decoded", Decoded},
		{"rewrite6", func(ctx context.Context, g *Graph, opt Options) (*Graph, error) { return Rewrite6(ctx, g, 1, opt) }},
	} {
		b.Run(p.name, func(b *testing.B) {
			for b.Loop() {
				_, err := p.run(ctx, g, Options{})
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(g.NumGates()), "ns/gate")
		})
	}
}
