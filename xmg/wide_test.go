package xmg

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// chainOf is the conjunction of n inputs, one after another, and tree one by pairs.
func chainOf(n int, tree bool) *Graph {
	g := New("and")
	var l []Lit
	for i := range n {
		l = append(l, g.AddInput(fmt.Sprint("x", i)))
	}
	for len(l) > 1 {
		if !tree {
			l = append([]Lit{g.And(l[0], l[1])}, l[2:]...)
			continue
		}
		l = append(l[2:], g.And(l[0], l[1]))
	}
	g.AddOutput("y", l[0])
	return g
}

// Gates of a wide AND are hardly ever 1, so that random patterns leave them all alike:
// each pair was refuted by SAT, in time in proportion to the chain, and annealing made
// batch after batch of changes that were none. Patterns in which one input differs tell
// them apart.
func TestWideGatesAreToldApart(t *testing.T) {
	for _, tree := range []bool{false, true} {
		g := chainOf(2000, tree)
		s := newFraig(context.Background(), g, defaultEffort)
		require.NoError(t, s.run())
		require.Equal(t, g.NumGates(), s.out.NumGates())
		require.Less(t, s.refuted, 100, "tree: %v", tree)
		require.Less(t, s.work(), int64(1500*g.NumGates()), "tree: %v", tree)
	}
}

func TestIsWide(t *testing.T) {
	equal := New("all equal")
	var in []Lit
	for i := range 40 {
		in = append(in, equal.AddInput(fmt.Sprint("x", i)))
	}
	all, none := in[0], in[0]
	for _, l := range in[1:] {
		all, none = equal.And(all, l), equal.Or(none, l)
	}
	equal.AddOutput("y", equal.Or(all, none.Not()))
	require.True(t, isWide(equal))
	require.True(t, isWide(chainOf(100, false)))
	require.False(t, isWide(chainOf(10, false)), "so small that nothing takes long")
	for _, name := range []string{"router", "priority"} {
		g, err := FromNetwork(context.Background(), readData(t, "epfl/"+name+".aig"), Options{NoMap: true})
		require.NoError(t, err)
		require.False(t, isWide(g), name)
	}

	c := passContext{wide: true}
	require.Less(t, c.annealing(equal), (&passContext{}).annealing(equal)/4)
	small, report, err := Synthesize(context.Background(), equal, SynthOptions{Effort: Normal, Seed: 1})
	require.NoError(t, err)
	require.LessOrEqual(t, small.NumGates(), equal.NumGates())
	require.NotEmpty(t, report.Passes)
}
