package xmg

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// arbiter returns a round-robin arbiter of n requests, each grant made by a chain of its
// own from the request that has the turn.
func arbiter(n int) *Graph {
	g := New("arbiter")
	turn, request := make([]Lit, n), make([]Lit, n)
	for i := range n {
		turn[i] = g.AddInput(fmt.Sprintf("turn[%d]", i))
	}
	for i := range n {
		request[i] = g.AddInput(fmt.Sprintf("request[%d]", i))
	}
	for i := range n {
		grant := False
		for k := range n {
			first := turn[(i+n-k)%n]
			for j := 1; j <= k; j++ {
				first = g.And(first, request[(i+n-j)%n]^1)
			}
			grant = g.Or(grant, first)
		}
		g.AddOutput(fmt.Sprintf("grant[%d]", i), g.And(request[i], grant))
	}
	return g.Sweep()
}

// Chains that begin in other places share no gate; as sums of products they do. An
// arbiter that goes round twice needs five gates a request.
func TestCollapseArbiter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := arbiter(24)
	out, err := collapse(ctx, g, Options{})
	require.NoError(t, err)
	require.NoError(t, out.Check())
	require.Less(t, out.NumGates(), 24*15)
	require.Greater(t, g.NumGates(), 24*24*2)
	e, err := Equivalent(ctx, g, out, EquivalenceOptions{})
	require.NoError(t, err)
	require.Equal(t, Equal, e.Verdict)

	again, err := collapse(ctx, g, Options{})
	require.NoError(t, err)
	require.Equal(t, out, again)
}

// A multiplier has no small diagrams.
func TestCollapseGivesUp(t *testing.T) {
	t.Parallel()
	_, err := collapse(context.Background(), reference(product{bits: 20}), Options{})
	require.ErrorIs(t, err, errNotThis)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = collapse(ctx, arbiter(4), Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// Passes of ANDs leave ANDs, and find what they are there for.
func TestAndPasses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := New("")
	var in []Lit
	for i := range 6 {
		in = append(in, g.AddInput(fmt.Sprint(i)))
	}
	// A chain and another one of the same inputs: three gates in common, once balanced.
	g.AddOutput("a", g.And(g.And(g.And(in[0], in[1]), in[2]), in[3]))
	g.AddOutput("b", g.And(g.And(g.And(g.And(in[3], in[2]), in[1]), in[0]), in[4]))
	balanced, err := BalanceAnds(ctx, g, Options{})
	require.NoError(t, err)
	require.Equal(t, 5, balanced.NumGates())

	// An XOR of both ORs, and one of both ANDs.
	h := New("")
	a, b, c := h.AddInput("a"), h.AddInput("b"), h.AddInput("c")
	h.AddOutput("x", h.xorOfAnds(a, b))
	h.AddOutput("y", h.And(h.And(h.And(a, b)^1, h.Or(a, b)), c))
	resub, err := ResubstituteAnds(ctx, h, Options{})
	require.NoError(t, err)
	require.Equal(t, 4, resub.NumGates())

	// A full adder: two XORs and a majority are ten ANDs.
	k := New("")
	a, b, c = k.AddInput("a"), k.AddInput("b"), k.AddInput("c")
	k.AddOutput("sum", k.Xor(a, b, c))
	k.AddOutput("carry", k.Maj(a, b, c))
	rewritten, err := RewriteAnds(ctx, k, 1, Options{})
	require.NoError(t, err)
	require.Equal(t, rewritten.NumGates(), rewritten.CountAnd())
	require.LessOrEqual(t, rewritten.NumGates(), 10)
	for _, x := range []struct{ a, b *Graph }{{g, balanced}, {h, resub}, {k, rewritten}} {
		e, err := Equivalent(ctx, x.a, x.b, EquivalenceOptions{})
		require.NoError(t, err)
		require.Equal(t, Equal, e.Verdict)
	}
}
