package xmg

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExclusive(t *testing.T) { testPass(t, Exclusive) }

// minterm makes the AND of n inputs from the first on, complemented as the bits
// of value are 0.
func minterm(g *Graph, n int, value uint64) Lit {
	l := True
	for i := range n {
		l = g.And(l, MakeLit(1+i, value>>i&1 == 0))
	}
	return l
}

// An OR of n minterms takes one gate for every two of them after the first.
func TestExclusiveMinterms(t *testing.T) {
	for n := 2; n < 40; n++ {
		for _, not := range []bool{false, true} {
			g := New("table")
			for range 8 {
				g.AddInput("")
			}
			or := False
			for v := range uint64(n) {
				or = g.Or(or, minterm(g, 8, v*37%256))
			}
			g.AddOutput("", or.NotIf(not))
			before := g.NumGates()
			got, err := Exclusive(context.Background(), g, Options{})
			require.NoError(t, err)
			require.LessOrEqual(t, got.NumGates(), before-(n-1)+n/2, "%d minterms", n)
			in, w := allPatterns(8)
			require.True(t, equalWords(got.Simulate(in, w), g.Simulate(in, w)))
		}
	}
}

// The digit of a radix-4 Booth multiplier selects one of a few multiples.
func TestExclusiveBooth(t *testing.T) {
	g := New("booth")
	var in [5]Lit
	for i := range in {
		in[i] = g.AddInput("")
	}
	one := g.Xor2(in[0], in[1])
	two := g.And(g.Xor2(in[1], in[2]), one.Not())
	pp := g.Xor2(g.Or(g.And(one, in[3]), g.And(two, in[4])), in[2])
	g.AddOutput("", pp)
	// The OR in front of the XOR becomes an XOR of its own; covering joins them.
	require.Equal(t, 7, g.NumGates())
	got, err := Exclusive(context.Background(), g, Options{})
	require.NoError(t, err)
	got, err = Map(context.Background(), got, Options{})
	require.NoError(t, err)
	require.LessOrEqual(t, got.NumGates(), 6)
}

// Terms that random patterns never see together may still be true together.
func TestExclusiveNeedsProof(t *testing.T) {
	for _, n := range []int{8, 9, 10, 11, 12, 16, 24} {
		g := New("rare")
		for range n {
			g.AddInput("")
		}
		first := minterm(g, n-1, 1<<(n-1)-1)
		last := True
		for i := 1; i < n; i++ {
			last = g.And(last, MakeLit(1+i, false))
		}
		terms := []Lit{first, last, minterm(g, n, 5)}
		or := False
		for _, l := range terms {
			or = g.Or(or, l)
		}
		g.AddOutput("", or)
		got, err := Exclusive(context.Background(), g, Options{})
		require.NoError(t, err)
		pattern := make([]uint64, n)
		for i := range pattern {
			pattern[i] = ^uint64(0) // all ones, and the last input alone 0
		}
		pattern[n-1] = 2
		require.True(t, equalWords(got.Simulate(pattern, 1), g.Simulate(pattern, 1)), "%d inputs", n)
	}
}
