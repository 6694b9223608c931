package xmg

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// counter is a circuit of ANDs that counts the ones among bits by adding, at random, counts
// of parts of them, and that compares the count with constants, or gives it.
type counter struct {
	leaves   int
	pairs    bool  // leaves are whether two inputs are equal
	atLeast  []int // what outputs compare the count with
	gives    bool  // the count follows
	reversed bool  // it is of zeros
}

func (c counter) build(r *rand.Rand) *Graph {
	g := New("counter")
	xor := func(a, b Lit) Lit { return g.Or(g.And(a, b^1), g.And(a^1, b)) }
	var words [][]Lit
	var in []Lit
	for range c.leaves * (1 + btoi(c.pairs)) {
		in = append(in, g.AddInput(""))
	}
	for i := range c.leaves {
		l := in[i]
		if c.pairs {
			l = xor(l, in[c.leaves+i]) ^ 1
		}
		words = append(words, []Lit{l ^ Lit(btoi(c.reversed))})
	}
	for len(words) > 1 {
		k := r.IntN(min(len(words)-1, 9))
		a, b := words[k], words[k+1]
		words = slices.Delete(words, k, k+2)
		carry := False
		if one := slices.IndexFunc(words, func(w []Lit) bool { return len(w) == 1 }); one >= 0 && r.IntN(2) == 0 {
			carry = words[one][0]
			words = slices.Delete(words, one, one+1)
		}
		var sum []Lit
		for i := range max(len(a), len(b)) {
			x, y := False, False
			if i < len(a) {
				x = a[i]
			}
			if i < len(b) {
				y = b[i]
			}
			sum = append(sum, xor(xor(x, y), carry))
			switch r.IntN(3) {
			case 0:
				carry = g.Or(g.And(x, y), g.And(carry, xor(x, y)))
			case 1:
				carry = g.Or(g.And(x, y), g.And(carry, g.Or(x, y)))
			default:
				carry = g.And(g.Or(x, y), g.Or(carry, g.And(x, y)))
			}
		}
		words = append(words, append(sum, carry))
	}
	count := words[0]
	for _, t := range c.atLeast {
		reached := True
		for i, l := range count { // from the lowest bit on: count >= t
			if t>>i&1 != 0 {
				reached = g.And(reached, l)
			} else {
				reached = g.Or(reached, l)
			}
		}
		g.AddOutput("", reached)
	}
	if c.gives {
		for _, l := range count[:bits.Len(uint(c.leaves))] {
			g.AddOutput("", l)
		}
	}
	return g
}

// outputs returns what the outputs are for one pattern, by counting.
func (c counter) outputs(in []bool) (out []bool) {
	n := 0
	for i := range c.leaves {
		n += btoi((in[i] != (c.pairs && !in[c.leaves+i])) != c.reversed)
	}
	for _, t := range c.atLeast {
		out = append(out, n >= t)
	}
	for i := 0; c.gives && i < bits.Len(uint(c.leaves)); i++ {
		out = append(out, n>>i&1 != 0)
	}
	return out
}

// Whatever adders count, and in whatever order, two gates for each leaf suffice, and
// some for each comparison; the result counts the same, and is proved.
func TestCountBits(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, c := range []counter{
		{leaves: 21, atLeast: []int{11}},
		{leaves: 40, atLeast: []int{32}},
		{leaves: 60, atLeast: []int{37}},
		{leaves: 70, atLeast: []int{64}, reversed: true},
		{leaves: 45, gives: true},
		{leaves: 40, atLeast: []int{13, 30}, gives: true},
		{leaves: 30, atLeast: []int{9}, pairs: true},
		{leaves: 33, gives: true, pairs: true},
	} {
		g := c.build(r).Sweep()
		h, via, err := countBits(context.Background(), g, Options{})
		require.NoError(t, err)
		most := 2*c.leaves + 10*len(c.atLeast)
		if c.pairs {
			most += 3 * c.leaves
		}
		require.LessOrEqual(t, h.NumGates(), most, "%+v", c)
		require.NoError(t, h.Check())
		for range 64 {
			in, density := make([]bool, g.NumInputs()), r.Float64()
			words := make([]uint64, len(in))
			for i := range in {
				in[i] = r.Float64() < density
				words[i] = uint64(btoi(in[i]))
			}
			for i, v := range h.Simulate(words, 1) {
				require.Equal(t, c.outputs(in)[i], v&1 != 0, "%+v, output %d", c, i)
			}
		}
		e, err := EquivalentAlong(context.Background(), append(append([]*Graph{g}, via...), h), EquivalenceOptions{Conflicts: 1000})
		require.NoError(t, err)
		require.Equal(t, Equal, e.Verdict)
	}
}

// Sums that are said to be equal are not believed: with one gate changed in a circuit, its landmarks
// prove nothing.
func TestLandmarksOfChangedCircuits(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 4))
	c := counter{leaves: 25, atLeast: []int{11}}
	_, via, err := countBits(context.Background(), c.build(r), Options{})
	require.NoError(t, err)
	require.Len(t, via, 2)
	equal, err := equalByLandmarks(context.Background(), via[0], via[1])
	require.NoError(t, err)
	require.True(t, equal)
	in := make([]uint64, c.leaves*16)
	for i := range in {
		in[i] = r.Uint64()
	}
	want := via[1].Simulate(in, 16)
	changed := 0
	for id := via[1].FirstGate(); id < via[1].NumNodes(); id++ {
		h := changeGate(via[1], id)
		if slices.Equal(h.Simulate(in, 16), want) {
			continue
		}
		changed++
		for _, pair := range [][2]*Graph{{via[0], h}, {h, via[0]}} {
			equal, err := equalByLandmarks(context.Background(), pair[0], pair[1])
			require.NoError(t, err)
			require.False(t, equal, "gate %d", id)
		}
	}
	require.Greater(t, changed, 40)
}

// changeGate makes a gate the other kind, MAJ or XOR; landmarks stay.
func changeGate(g *Graph, at int) *Graph {
	out := g.emptyCopy(g.NumGates())
	lit := make([]Lit, len(g.nodes))
	for id := range g.nodes {
		switch f := g.nodes[id]; {
		case id < g.FirstGate():
			lit[id] = Lit(id) << 1
		case id == at && g.Kind(id) == Maj:
			lit[id] = out.Xor(lit[f[0]>>1]^f[0]&1, lit[f[1]>>1]^f[1]&1, lit[f[2]>>1]^f[2]&1)
		case id == at:
			lit[id] = out.Maj(lit[f[0]>>1]^f[0]&1, lit[f[1]>>1]^f[1]&1, lit[f[2]>>1]^f[2]&1)
		default:
			lit[id] = out.copyGate(f, lit)
		}
	}
	to := func(l Lit) Lit { return lit[l>>1] ^ l&1 }
	out.landmarks = &landmarks{}
	for _, l := range g.landmarks.leaves {
		out.landmarks.leaves = append(out.landmarks.leaves, to(l))
	}
	for _, s := range g.landmarks.sums {
		word := make([]Lit, len(s.word))
		for i, l := range s.word {
			word[i] = to(l)
		}
		s.word = word
		out.landmarks.sums = append(out.landmarks.sums, s)
	}
	for _, o := range g.outputs {
		out.AddOutput(o.Name, to(o.Lit))
	}
	return out
}
