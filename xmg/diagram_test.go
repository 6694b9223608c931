package xmg

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// rotator returns a rotator of n bits, each output a choice among all bits by decoded
// amounts: n gates and more for each output.
func rotator(n, stages int) *Graph {
	g := New("rotator")
	data := make([]Lit, n)
	for i := range n {
		data[i] = g.AddInput(fmt.Sprintf("d[%d]", i))
	}
	var amount []Lit
	for i := range stages {
		amount = append(amount, g.AddInput(fmt.Sprintf("s[%d]", i)))
	}
	for i := range n {
		out := False
		for k := range n {
			term := data[(i+k)%n]
			for s, l := range amount {
				term = g.And(term, l.NotIf(k>>s&1 == 0))
			}
			out = g.Or(out, term)
		}
		g.AddOutput(fmt.Sprintf("y[%d]", i), out)
	}
	return g.Sweep()
}

// A rotator takes one and a half gates a bit and stage, whatever it was made of.
func TestDiagramRotator(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	g := rotator(16, 4)
	require.Greater(t, g.NumGates(), 500)
	d, err := asDiagram(ctx, g, Options{})
	require.NoError(t, err)
	require.NoError(t, d.Check())
	out, err := ShareSelections(ctx, d, Options{})
	require.NoError(t, err)
	require.NoError(t, out.Check())
	require.Equal(t, 16*4*3/2, out.NumGates())
	for _, h := range []*Graph{d, out} {
		e, err := Equivalent(ctx, g, h, EquivalenceOptions{})
		require.NoError(t, err)
		require.Equal(t, Equal, e.Verdict)
	}
}

// A multiplier has no small diagram.
func TestDiagramGivesUp(t *testing.T) {
	t.Parallel()
	_, err := asDiagram(context.Background(), reference(product{bits: 16}), Options{})
	require.ErrorIs(t, err, errNotThis)
}
