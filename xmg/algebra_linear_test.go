package xmg

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// topGate is a gate over a, b, c, d (1 to 4) and gates before it (5 and on); negative
// is complemented, 0 false.
type topGate struct {
	maj bool
	in  [3]int
}

// subtractingTop is -c + a + b - 2d modulo 8 in five gates, as synthesis makes the highest
// outputs of a product with digits of Booth. Its outputs are 5, 7 and 9.
var subtractingTop = []topGate{
	{false, [3]int{1, 2, 3}},
	{true, [3]int{2, -1, 3}},
	{false, [3]int{6, 2, 4}},
	{true, [3]int{4, -1, 3}},
	{true, [3]int{4, -2, 8}},
}

// of evaluates the gates for bits a, b, c and d.
func topOf(gates []topGate, in int) (out int) {
	v := []int{0}
	for i := range 4 {
		v = append(v, in>>i&1)
	}
	at := func(i int) int {
		if i < 0 {
			return 1 - v[-i]
		}
		return v[i]
	}
	for _, f := range gates {
		n := at(f.in[0]) + at(f.in[1]) + at(f.in[2])
		if f.maj {
			n >>= 1
		}
		v = append(v, n&1)
	}
	return v[5] | v[7]<<1 | v[9]<<2
}

// topCircuit has the sum of two words of six bits and, over the carry c of it and those of
// three others, three more outputs: by the gates, or without any by full adders.
func topCircuit(gates []topGate) *Graph {
	const bits = 6
	g := New("top")
	m := maker{g, false}
	var words [4][2][]Lit
	for i := range words {
		for k := range words[i] {
			for range bits {
				words[i][k] = append(words[i][k], g.AddInput(""))
			}
		}
	}
	v := []Lit{False}
	for i, w := range words {
		carry := False
		for k := range bits {
			var sum Lit
			sum, carry = m.full(w[0][k], w[1][k], carry)
			if i == 2 {
				g.AddOutput(fmt.Sprintf("y[%d]", k), sum)
			}
		}
		v = append(v, carry)
	}
	if gates == nil {
		a, b, c, d := v[1], v[2], v[3], v[4]
		x, y := m.reduce("array", [][]Lit{{c, c, c}, {a, False, False}, {b, False, False}, {False, d, d}}, 3)
		for k, l := range m.add("ripple", x, y) {
			g.AddOutput(fmt.Sprintf("y[%d]", bits+k), l)
		}
		return g
	}
	at := func(i int) Lit {
		if i < 0 {
			return v[-i] ^ 1
		}
		return v[i]
	}
	for _, f := range gates {
		x, y, z := at(f.in[0]), at(f.in[1]), at(f.in[2])
		if f.maj {
			v = append(v, g.Maj(x, y, z))
		} else {
			v = append(v, g.Xor(x, y, z))
		}
	}
	for k, i := range []int{5, 7, 9} {
		g.AddOutput(fmt.Sprintf("y[%d]", bits+k), v[i])
	}
	return g
}

// TestLinearTops decides highest outputs of which only the sum is linear, and holds the
// answer about each of them with a wrong gate to all values of the four carries.
func TestLinearTops(t *testing.T) {
	for in := range 16 {
		a, b, c, d := in&1, in>>1&1, in>>2&1, in>>3&1
		require.Equal(t, (a+b-c-2*d)&7, topOf(subtractingTop, in))
	}
	plain := topCircuit(nil)
	pattern, decided := compareWords(t, topCircuit(subtractingTop), plain)
	require.True(t, decided)
	require.Nil(t, pattern)
	// Wrong gates and numbers, of which the algebra leaves to SAT what it gets nowhere with.
	try := func(gates []topGate) {
		same := true
		for in := range 16 {
			same = same && topOf(gates, in) == topOf(subtractingTop, in)
		}
		e, err := Equivalent(t.Context(), topCircuit(gates), plain, EquivalenceOptions{})
		require.NoError(t, err)
		require.Equal(t, same, e.Verdict == Equal, "%v", gates)
		require.Equal(t, same, e.Witness == nil, "%v", gates)
	}
	for i, f := range subtractingTop {
		for k := range 4 {
			gates := slices.Clone(subtractingTop)
			if k == 3 {
				gates[i].maj = !f.maj
			} else {
				gates[i].in[k] *= -1
			}
			try(gates)
		}
	}
	for i := 1; i <= 4; i++ { // what counts as another number
		for k := 1; k < i; k++ {
			gates := slices.Clone(subtractingTop)
			for at := range gates {
				for in, v := range gates[at].in {
					switch v {
					case i, -i:
						gates[at].in[in] = v / i * k
					case k, -k:
						gates[at].in[in] = v / k * i
					}
				}
			}
			try(gates)
		}
	}
}

// TestAlgebraIsSoundAfterSynthesis holds answers about synthesised products with a wrong
// gate to all input patterns.
func TestAlgebraIsSoundAfterSynthesis(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 7))
	list := allProducts(4)
	different := 0
	for range 8 {
		p := list[rng.IntN(len(list))]
		g, _, err := Synthesize(t.Context(), p.build(), SynthOptions{Effort: Fast})
		require.NoError(t, err)
		for range 12 {
			b := mutant(g, rng)
			pattern, decided := compareWords(t, b, reference(p))
			if !decided {
				continue
			}
			if pattern == nil {
				for in := range uint64(1) << g.NumInputs() {
					require.Equal(t, evaluate(g, in), evaluate(b, in), "%v at %b", p, in)
				}
				continue
			}
			different++
			in := uint64(0)
			for i, v := range pattern {
				in |= uint64(btoi(v)) << i
			}
			require.NotEqual(t, evaluate(g, in), evaluate(b, in), "%v", p)
		}
	}
	require.Greater(t, different, 20)
}
