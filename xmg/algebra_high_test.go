package xmg

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHighOutputs holds what is made of the highest outputs, from those below and the array
// of full adders, to numbers, for all input patterns.
func TestHighOutputs(t *testing.T) {
	made := 0
	for _, p := range allProducts(5) { // of more inputs than what is expanded may have
		b := p.build()
		for k := 2; k < 2*p.bits; k++ {
			g := reference(p)
			other := g.literals()
			lit := make([]Lit, b.NumNodes())
			for id := range lit {
				lit[id] = Lit(id) << 1
				if b.IsGate(id) {
					lit[id] = g.copyGate(b.nodes[id], lit)
				}
			}
			var low []Lit
			for _, l := range b.literals()[:k] {
				low = append(low, lit[l>>1]^l&1)
			}
			high, err := highOutputs(context.Background(), g, low, other)
			if errors.Is(err, errStuck) {
				continue
			}
			require.NoError(t, err)
			require.Len(t, high, 2*p.bits-k)
			made++
			g.outputs = nil
			for _, l := range append(low, high...) {
				g.AddOutput("", l)
			}
			words, w := allPatterns(g.NumInputs())
			out := g.Simulate(words, w)
			for in := range uint64(1) << g.NumInputs() {
				x, y := int64(in&31), int64(in>>5)
				if p.signed {
					x, y = x<<59>>59, y<<59>>59
				}
				got := uint64(0)
				for i := range g.NumOutputs() {
					got |= out[i*w+int(in/64)] >> (in % 64) & 1 << i
				}
				if got != uint64(x*y)&1023 { // require is slow
					require.Fail(t, "wrong", "%v from %d, of %d and %d", p, k, x, y)
				}
			}
		}
	}
	require.Greater(t, made, 400)
}

func (g *Graph) literals() (list []Lit) {
	for _, o := range g.outputs {
		list = append(list, o.Lit)
	}
	return list
}

// TestSynthesisedProducts decides products whose highest outputs synthesis makes of other gates
// than adders, and finds a wrong gate in them with an input pattern.
func TestSynthesisedProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, p := range []product{
		{bits: 8, parts: "booth", tree: "array", adder: "lookahead"},
		{bits: 8, parts: "booth", tree: "dadda", adder: "select"},
		{bits: 8, signed: true, parts: "booth", tree: "dadda", adder: "kogge-stone"},
	} {
		g, _, err := Synthesize(context.Background(), p.build(), SynthOptions{Effort: Fast})
		require.NoError(t, err)
		pattern, decided := compareWords(t, g, reference(p))
		require.True(t, decided, "%v", p)
		require.Nil(t, pattern, "%v", p)
		for range 4 {
			wrong := mutant(g, rng)
			e, err := Equivalent(context.Background(), wrong, reference(p), EquivalenceOptions{})
			require.NoError(t, err)
			in, w := allPatterns(g.NumInputs())
			same := equalWords(g.Simulate(in, w), wrong.Simulate(in, w))
			if same {
				require.Equal(t, Equal, e.Verdict, "%v", p)
				continue
			}
			require.Equal(t, Different, e.Verdict, "%v", p)
			x := uint64(0)
			for i, v := range e.Witness.Inputs {
				x |= uint64(btoi(v)) << i
			}
			require.NotEqual(t, evaluate(g, x), evaluate(wrong, x), "%v", p)
		}
	}
}
