package xmg

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/netlist"
)

func TestRewrite6(t *testing.T) {
	t.Parallel()
	testPass(t, func(ctx context.Context, g *Graph, opt Options) (*Graph, error) { return Rewrite6(ctx, g, 7, opt) })
}

// A comparator in groups of some bits, each with a generate and a propagate
// over the whole group, becomes one gate a bit.
func TestRewrite6Carries(t *testing.T) {
	t.Parallel()
	for _, group := range []int{1, 2, 3} {
		n := netlist.New("less")
		const width = 12
		var a, b [width]netlist.Lit
		for i := range a {
			a[i], b[i] = n.AddInput(""), n.AddInput("")
		}
		carry := netlist.False
		for i := 0; i < width; i += group {
			generate, propagate := netlist.False, netlist.True
			for j := i; j < i+group; j++ {
				p := n.Or(a[j]^1, b[j])
				generate = n.Or(n.And(a[j]^1, b[j]), n.And(p, generate))
				propagate = n.And(propagate, p)
			}
			carry = n.Or(generate, n.And(propagate, carry))
		}
		n.AddOutput("", carry)
		g := gatesOf(t, n)
		want := g.Simulate(randomWords(2*width), 1)
		for seed := range uint64(20) {
			var err error
			g, err = Rewrite6(context.Background(), g, seed, Options{})
			require.NoError(t, err)
		}
		require.Equal(t, width, g.NumGates(), "groups of %d", group)
		require.Equal(t, want, g.Simulate(randomWords(2*width), 1))
	}
}
