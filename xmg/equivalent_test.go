package xmg

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/netlist"
)

// partialSweeps are parts of the sweep alone: each must be right by itself. Few
// patterns come first, so that much is left to prove and to refute.
var partialSweeps = map[string]sweepEffort{
	"default":  {},
	"simulate": {candidates: 1, exactInputs: 12, words: 1},
	"tables":   {candidates: 2, words: 1, noSAT: true, windows: []windowSize{{16, 1000}}, eager: largeGraph},
	"sat":      {candidates: 2, words: 1, cones: []int{math.MaxInt}, eager: largeGraph},
	"cones":    {candidates: 2, words: 1, cones: []int{10, 20, 40, math.MaxInt}, eager: largeGraph},
	"parts":    {candidates: 2, words: 1, cones: []int{3, 8}, eager: largeGraph},
	"waiting":  {candidates: 2, words: 1, cones: []int{math.MaxInt}, eager: -1},
	"both":     {candidates: 3, words: 1, windows: windowSizes[:1], cones: []int{10, math.MaxInt}, eager: largeGraph},
}

// mutate returns the graph with one gate changed.
func mutate(g *Graph, r *rand.Rand) *Graph {
	out := g.emptyCopy(g.NumGates())
	lit := make([]Lit, len(g.nodes))
	victim := g.FirstGate() + r.IntN(g.NumGates())
	for id := range lit {
		switch {
		case id < g.FirstGate():
			lit[id] = Lit(id) << 1
		case id != victim:
			lit[id] = out.copyGate(g.nodes[id], lit)
		default:
			f := g.nodes[id]
			a, b, c := lit[f[0]>>1]^f[0]&1, lit[f[1]>>1]^f[1]&1, lit[f[2]>>1]^f[2]&1
			switch r.IntN(3) {
			case 0: // another kind
				if f[0] < f[1] {
					lit[id] = out.Xor(a, b, c)
				} else {
					lit[id] = out.Maj(a, b, c)
				}
			case 1: // a negation more
				if f[0] < f[1] {
					lit[id] = out.Maj(a^1, b, c)
				} else {
					lit[id] = out.Xor(a^1, b, c)
				}
			default: // another fanin
				a = MakeLit(r.IntN(out.NumNodes()), false)
				if f[0] < f[1] {
					lit[id] = out.Maj(a, b, c)
				} else {
					lit[id] = out.Xor(a, b, c)
				}
			}
		}
	}
	for _, o := range g.outputs {
		out.AddOutput(o.Name, lit[o.Lit>>1]^o.Lit&1)
	}
	return out
}

// requireWitness evaluates both circuits for a witness.
func requireWitness(t *testing.T, a, b *Graph, w *Witness) {
	t.Helper()
	require.NotNil(t, w)
	in := make([]uint64, a.NumInputs())
	for i, v := range w.Inputs {
		if v {
			in[i] = ^uint64(0)
		}
	}
	x, y := a.ToNetwork().Simulate(in, 1), b.ToNetwork().Simulate(in, 1)
	require.Equal(t, w.A, x[w.Output] != 0)
	require.Equal(t, w.B, y[w.Output] != 0)
	require.NotEqual(t, w.A, w.B)
}

// The verdict is that of the truth tables, for equal circuits of other
// structure and for circuits with one gate changed.
func TestEquivalentRandom(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type pair struct {
		a, b *Graph
		want Verdict
	}
	// Few of them are among seeds 60 to 89, of which one needs all of a cone's parts.
	first := invariants.Draws(60, 0)
	pairs := make([]pair, invariants.Draws(30, 150))
	for seed := range pairs {
		r := rand.New(rand.NewPCG(uint64(first+seed), 31))
		inputs := 2 + r.IntN(9)
		a, err := FromNetwork(ctx, randomNetwork(r, inputs, 20+r.IntN(250), 1+r.IntN(8), netlist.And, netlist.Xor, netlist.Mux), Options{NoMap: true})
		require.NoError(t, err)
		b, err := Map(ctx, a, Options{})
		require.NoError(t, err)
		if seed%3 == 0 && b.NumGates() > 0 {
			b = mutate(b, r)
		}
		if seed%2 == 0 {
			a, b = b, a
		}
		in, w := allPatterns(inputs)
		pairs[seed] = pair{a, b, Different}
		if equalWords(a.Simulate(in, w), b.Simulate(in, w)) {
			pairs[seed].want = Equal
		}
	}
	for name, effort := range partialSweeps {
		verdicts := map[Verdict]int{}
		var stats EquivalenceStats
		for seed := range pairs {
			a, b, want := pairs[seed].a, pairs[seed].b, pairs[seed].want
			e, err := Equivalent(ctx, a, b, EquivalenceOptions{effort: effort})
			require.NoError(t, err)
			if (name == "tables" || name == "parts") && e.Verdict == Undecided {
				continue // too many leaves on the way to the inputs, or gates
			}
			require.Equal(t, want, e.Verdict, "%s, seed %d", name, seed)
			verdicts[e.Verdict]++
			if e.Verdict == Different {
				requireWitness(t, a, b, e.Witness)
			} else {
				require.Empty(t, e.Undecided)
				require.Nil(t, e.Witness)
			}
			stats.ByTable += e.Stats.ByTable
			stats.BySAT += e.Stats.BySAT
			stats.Refuted += e.Stats.Refuted
		}
		if name != "parts" {
			require.Greater(t, verdicts[Equal], len(pairs)*6/10, name)
			require.Greater(t, verdicts[Different], len(pairs)/8, name)
		}
		if name == "tables" || name == "both" {
			require.Positive(t, stats.ByTable, name)
		}
		if name == "sat" || name == "cones" || name == "parts" || name == "both" {
			require.Positive(t, stats.BySAT, name)
		}
		if name == "tables" || name == "sat" {
			require.Positive(t, stats.Refuted, name)
		}
	}
}

// smallEPFL are the circuits that take little time.
var smallEPFL = []string{"int2float", "router", "cavlc", "priority", "dec", "adder", "max"}

// epflPair is a circuit of ANDs and the same one mapped.
func epflPair(t testing.TB, name string) (a, b *Graph) {
	n := readData(t, "epfl/"+name+".aig")
	a, err := FromNetwork(context.Background(), n, Options{NoMap: true})
	require.NoError(t, err)
	b, err = Map(context.Background(), a, Options{})
	require.NoError(t, err)
	return a, b
}

func TestEquivalentEPFL(t *testing.T) {
	ctx := context.Background()
	for _, name := range smallEPFL {
		a, b := epflPair(t, name)
		e, err := Equivalent(ctx, a, b, EquivalenceOptions{})
		require.NoError(t, err)
		require.Equal(t, Equal, e.Verdict, name)
		masim, err := FromNetwork(ctx, readData(t, "masim/"+name+".v"), Options{})
		require.NoError(t, err)
		e, err = Equivalent(ctx, masim, b, EquivalenceOptions{})
		require.NoError(t, err)
		require.Equal(t, Equal, e.Verdict, "MASIM's %s", name)
		r := rand.New(rand.NewPCG(1, 32))
		for range invariants.Draws(1, 2) {
			// Where random patterns find a difference, so must Equivalent.
			c := mutate(b, r)
			in := randomWords(a.NumInputs() * 16)
			e, err := Equivalent(ctx, a, c, EquivalenceOptions{})
			require.NoError(t, err)
			if !equalWords(a.Simulate(in, 16), c.Simulate(in, 16)) {
				require.Equal(t, Different, e.Verdict, name)
			}
			if e.Verdict == Different {
				requireWitness(t, a, c, e.Witness)
			}
		}
	}
}

// wideAnd is the AND of some inputs, in a chain or in a tree; odd inputs count
// negated.
func wideAnd(inputs int, tree bool) *Graph {
	g := New("and")
	var ls []Lit
	for i := range inputs {
		ls = append(ls, g.AddInput("").NotIf(i%2 == 1))
	}
	for len(ls) > 1 {
		l := g.And(ls[0], ls[1])
		if tree {
			ls = append(ls[2:], l)
		} else {
			ls = append([]Lit{l}, ls[2:]...)
		}
	}
	g.AddOutput("y", ls[0])
	return g
}

// One pattern of 2^60 tells the circuits apart: no random one finds it.
func TestEquivalentFindsTheOnePattern(t *testing.T) {
	a, b := wideAnd(60, false), New("never")
	for range 60 {
		b.AddInput("")
	}
	b.AddOutput("y", False)
	e, err := Equivalent(context.Background(), a, b, EquivalenceOptions{})
	require.NoError(t, err)
	require.Equal(t, Different, e.Verdict)
	requireWitness(t, a, b, e.Witness)
	for i, v := range e.Witness.Inputs {
		require.Equal(t, i%2 == 0, v)
	}
	e, err = Equivalent(context.Background(), a, wideAnd(60, true), EquivalenceOptions{})
	require.NoError(t, err)
	require.Equal(t, Equal, e.Verdict)
}

// Multipliers of another order of operands have few nodes in common.
func hardPair(width int) (a, b *Graph) {
	a, _ = FromNetwork(context.Background(), andMultiplier(width), Options{})
	b = a.emptyCopy(a.NumGates())
	lit := make([]Lit, len(a.nodes))
	for id := range lit {
		switch {
		case id == 0:
		case id < a.FirstGate():
			lit[id] = Lit((id-1+width)%(2*width)+1) << 1 // the operands change places
		default:
			lit[id] = b.copyGate(a.nodes[id], lit)
		}
	}
	for _, o := range a.outputs {
		b.AddOutput(o.Name, lit[o.Lit>>1]^o.Lit&1)
	}
	return a, b
}

func TestEquivalentBounds(t *testing.T) {
	ctx := context.Background()
	a, b := hardPair(6)
	e, err := Equivalent(ctx, a, b, EquivalenceOptions{effort: partialSweeps["both"]})
	require.NoError(t, err)
	require.Equal(t, Equal, e.Verdict)

	a, b = hardPair(16)
	e, err = Equivalent(ctx, a, b, EquivalenceOptions{})
	require.NoError(t, err)
	require.Equal(t, Equal, e.Verdict)
	require.Positive(t, e.Stats.ByAlgebra)
	// Without the algebra it is hard.
	for _, opt := range []EquivalenceOptions{{Conflicts: 20}, {Work: 1_000_000}} {
		e, err = equivalent(ctx, a, b, opt)
		require.NoError(t, err)
		require.Equal(t, Undecided, e.Verdict)
		require.NotEmpty(t, e.Undecided)
		require.Less(t, len(e.Undecided), 32, "the low bits are easy")
		again, err := equivalent(ctx, a, b, opt)
		require.NoError(t, err)
		require.Equal(t, e, again, "the same the second time")
	}
	require.Less(t, e.Stats.Work, int64(2_000_000))

	stopped, cancel := context.WithCancel(ctx)
	e, err = equivalent(stopped, a, b, EquivalenceOptions{Progress: func(Progress) { cancel() }})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, Undecided, e.Verdict)
	require.NotEmpty(t, e.Undecided)
}

func TestEquivalentPorts(t *testing.T) {
	two, three := New("two"), New("three")
	a, b := two.AddInput("a"), two.AddInput("b")
	two.AddOutput("y", two.And(a, b))
	for _, name := range []string{"a", "b", "c"} {
		three.AddInput(name)
	}
	_, err := Equivalent(context.Background(), two, three, EquivalenceOptions{})
	require.EqualError(t, err, "xmg: equivalence of circuits with 2 and 3 inputs, expected equal numbers")
	other := New("other")
	other.AddInput("x")
	other.AddInput("y")
	_, err = Equivalent(context.Background(), two, other, EquivalenceOptions{})
	require.EqualError(t, err, "xmg: equivalence of circuits with 1 and 0 outputs, expected equal numbers")
	other.AddOutput("z", False)
	e, err := Equivalent(context.Background(), two, other, EquivalenceOptions{})
	require.NoError(t, err)
	require.Equal(t, &Witness{Inputs: []bool{true, true}, Output: 0, A: true}, e.Witness)
	none, err := Equivalent(context.Background(), New(""), New(""), EquivalenceOptions{})
	require.NoError(t, err)
	require.Equal(t, Equal, none.Verdict)
}

func BenchmarkEquivalent(b *testing.B) {
	for _, c := range epflGates {
		x, y := epflPair(b, c.name)
		for _, changed := range []bool{false, true} {
			name, want := c.name, Equal
			if changed {
				y, want = mutate(y, rand.New(rand.NewPCG(3, 33))), Different
				name = fmt.Sprintf("%s/changed", c.name)
			}
			b.Run(name, func(b *testing.B) {
				var e Equivalence
				for b.Loop() {
					var err error
					e, err = Equivalent(context.Background(), x, y, EquivalenceOptions{})
					require.NoError(b, err)
				}
				if e.Verdict != want {
					b.Logf("verdict %v, expected %v", e.Verdict, want)
				}
				b.ReportMetric(float64(e.Stats.ByTable), "bytable")
				b.ReportMetric(float64(e.Stats.BySAT), "bysat")
				b.ReportMetric(float64(e.Stats.GivenUp), "givenup")
			})
		}
	}
}
