package xmg

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireEqual compares two graphs on all input patterns, on 4096 random ones
// if there are more.
func requireEqual(t *testing.T, want, got *Graph) {
	t.Helper()
	require.NoError(t, got.Check())
	require.Equal(t, want.inputNames, got.inputNames)
	require.Equal(t, want.NumOutputs(), got.NumOutputs())
	w := 64
	in := randomWords(want.NumInputs() * w)
	if want.NumInputs() <= 12 {
		in, w = allPatterns(want.NumInputs())
	}
	require.True(t, equalWords(want.Simulate(in, w), got.Simulate(in, w)), "not equal")
	for i, o := range want.Outputs() {
		require.Equal(t, o.Name, got.Output(i).Name)
	}
}

// smaller are the passes of this kind, with bounds that make tests quick.
var smaller = []struct {
	name string
	run  func(ctx context.Context, g *Graph, seed uint64) (*Graph, error)
}{
	{"resub", func(ctx context.Context, g *Graph, seed uint64) (*Graph, error) {
		return Resubstitute(ctx, g, ResubOptions{Seed: seed})
	}},
	{"small windows", func(ctx context.Context, g *Graph, seed uint64) (*Graph, error) {
		return Resubstitute(ctx, g, ResubOptions{Seed: seed, MaxInputs: 4, MaxGates: 7})
	}},
	{"anneal", func(ctx context.Context, g *Graph, seed uint64) (*Graph, error) {
		return Anneal(ctx, g, AnnealOptions{Seed: seed, Work: 4e5})
	}},
	{"anneal slack", func(ctx context.Context, g *Graph, seed uint64) (*Graph, error) {
		return Anneal(ctx, g, AnnealOptions{Seed: seed, Work: 4e5, Slack: 3})
	}},
}

func TestSmallerKeepsFunction(t *testing.T) {
	for _, pass := range smaller {
		t.Run(pass.name, func(t *testing.T) {
			for seed := range uint64(24) {
				r := rand.New(rand.NewPCG(seed, 5))
				inputs := r.IntN(9)
				if seed%4 == 0 {
					inputs = 15 + r.IntN(10) // searched in windows
				}
				g := randomGraph(r, inputs, r.IntN(150), r.IntN(12))
				g.AddOutput("constant", True)
				if inputs > 0 {
					g.AddOutput("input", MakeLit(1, true))
				}
				h, err := pass.run(t.Context(), g, seed)
				require.NoError(t, err)
				requireEqual(t, g, h)
				require.LessOrEqual(t, h.NumGates(), g.Sweep().NumGates())
				again, err := pass.run(t.Context(), g, seed)
				require.NoError(t, err)
				require.Equal(t, h.nodes, again.nodes)
				require.Equal(t, h.outputs, again.outputs)
			}
		})
	}
}

// TestSmallerFindsDontCares has circuits whose gates are only needed if nobody
// looks at what the rest does.
func TestSmallerFindsDontCares(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(g *Graph, a, b, c, d Lit)
		gates int
	}{
		{"observability: a & (a ^ b ^ c) is a & !(b ^ c)", func(g *Graph, a, b, c, _ Lit) {
			x := g.Or(g.And(a, b), g.And(a^1, c)) // b where a is 1
			g.AddOutput("", g.And(a, x))
		}, 1},
		{"satisfiability: a & b and a ^ b exclude each other", func(g *Graph, a, b, c, d Lit) {
			x, y := g.And(a, b), g.Xor2(a, b)
			g.AddOutput("", x)
			g.AddOutput("", y)
			g.AddOutput("", g.And(g.Maj(x, y, c), d))
		}, 4}, // (a | b) & c & d
		{"equal in other structures", func(g *Graph, a, b, c, _ Lit) {
			g.AddOutput("", g.Or(g.And(a, b), g.And(a, c)))
			g.AddOutput("", g.And(a, g.Or(b, c)))
		}, 2},
		{"a full adder of AND and XOR", func(g *Graph, a, b, c, _ Lit) {
			h := g.Xor2(a, b)
			g.AddOutput("", g.Xor2(h, c))
			g.AddOutput("", g.Or(g.And(a, b), g.And(h, c)))
		}, 2},
		{"a constant", func(g *Graph, a, b, c, d Lit) {
			x := g.Xor(a, b, c)
			g.AddOutput("", g.And(g.And(x, d), g.Xor(g.Maj(x, d, a), g.Maj(x, d, b), False)))
		}, 0},
	} {
		for _, wide := range []bool{false, true} {
			for _, pass := range smaller {
				t.Run(c.name+" "+pass.name, func(t *testing.T) {
					g := New("")
					a, b, cc, d := g.AddInput("a"), g.AddInput("b"), g.AddInput("c"), g.AddInput("d")
					if wide {
						for range 20 {
							g.AddInput("") // not whole any more
						}
					}
					c.build(g, a, b, cc, d)
					h := g
					for seed := range uint64(3) {
						var err error
						h, err = pass.run(t.Context(), h, seed)
						require.NoError(t, err)
					}
					requireEqual(t, g, h)
					require.LessOrEqual(t, h.NumGates(), c.gates)
				})
			}
		}
	}
}

// TestSmallerStops has contexts that end at once and on the way.
func TestSmallerStops(t *testing.T) {
	n := andMultiplier(10)
	g, err := FromNetwork(t.Context(), n, Options{NoMap: true})
	require.NoError(t, err)
	run := func(ctx context.Context, progress func(Progress)) []*Graph {
		a, err := Resubstitute(ctx, g, ResubOptions{Progress: progress})
		require.NoError(t, err)
		b, err := Anneal(ctx, g, AnnealOptions{Work: 1 << 50, Progress: progress})
		require.NoError(t, err)
		return []*Graph{a, b}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, h := range run(ctx, nil) {
		require.Equal(t, g.nodes, h.nodes)
	}
	ctx, cancel = context.WithCancel(t.Context())
	reports := 0
	for _, h := range run(ctx, func(p Progress) {
		require.LessOrEqual(t, p.Done, p.Total)
		if reports++; reports > 10 {
			cancel()
		}
	}) {
		requireEqual(t, g, h)
	}
	require.Greater(t, reports, 10)
}

// TestSegments has a graph of several segments.
func TestSegments(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 6))
		g := randomGraph(r, 1+r.IntN(9), 1+r.IntN(300), 1+r.IntN(9)).Sweep()
		size := 2 + r.IntN(60)
		gates := 0
		h := eachSegment(g, size, r.IntN(size), func(net *resubWindow, done int) {
			require.Equal(t, gates, done)
			require.LessOrEqual(t, net.gates(), size)
			gates += net.gates()
		})
		require.Equal(t, g.NumGates(), gates)
		requireEqual(t, g, h)
		require.Equal(t, g.NumGates(), h.NumGates())

		a := newAnnealer(t.Context(), AnnealOptions{Seed: seed, Slack: 1, Work: 4e5})
		for _, search := range []func(net *resubWindow, work int64){a.segment, a.exactWindows, a.guidedWindows} {
			h = eachSegment(g, size, r.IntN(size), func(net *resubWindow, _ int) { search(net, 1e5) })
			requireEqual(t, g, h)
			require.LessOrEqual(t, h.NumGates(), g.NumGates())
		}
	}
}

// TestGuidedLearns has a comparison with a constant that few random patterns
// meet: what they do not show must be learned, not lost.
func TestGuidedLearns(t *testing.T) {
	g := New("")
	all, parity := True, False
	for range 40 {
		g.AddInput("")
	}
	for i := range 40 {
		all = g.And(all, MakeLit(i+1, i%3 == 0))
		parity = g.Xor2(parity, MakeLit(i+1, false))
	}
	g.AddOutput("all", all)
	g.AddOutput("parity", parity)
	g.AddOutput("either", g.Or(g.And(all, parity), g.And(all^1, parity))) // the parity
	a := newAnnealer(t.Context(), AnnealOptions{Slack: 1})
	net := wholeOf(g)
	a.guided.reset(net.inputs)
	before := slices.Clone(a.guided.patterns)
	a.guided.run(net, 1, 1e7, 1e7)
	h := net.graph(g)
	require.NoError(t, h.Check())
	e, err := Equivalent(t.Context(), g, h, EquivalenceOptions{})
	require.NoError(t, err)
	require.Equal(t, Equal, e.Verdict)
	require.LessOrEqual(t, h.NumGates(), 39+39) // both chains
	require.NotEqual(t, before, a.guided.patterns)
}

// TestGrow compares windows with their definition: they are within bounds, no
// leaf depends on a member, and their outputs are what others use.
func TestGrow(t *testing.T) {
	windows := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		net := wholeOf(randomGraph(r, 3+r.IntN(20), 20+r.IntN(200), 1+r.IntN(9)).Sweep())
		g := &grower{rng: r}
		g.reset(net)
		for range 10 {
			if net.gates() == 0 {
				break
			}
			pivot := net.first() + r.IntN(net.gates())
			inputs, gates := 3+r.IntN(6), 1+r.IntN(50)
			if !g.grow(pivot, inputs, gates) {
				continue
			}
			windows++
			member, isLeaf := map[int]bool{}, map[int]bool{}
			for _, id := range g.members {
				member[int(id)] = true
			}
			for _, id := range g.leaves {
				isLeaf[int(id)] = true
			}
			require.True(t, member[pivot])
			require.LessOrEqual(t, len(isLeaf), inputs)
			depends := make([]bool, len(net.nodes))
			for id := net.first(); id < len(net.nodes); id++ {
				depends[id] = member[id]
				for _, l := range net.nodes[id] {
					depends[id] = depends[id] || depends[l>>1]
					if member[id] {
						require.True(t, l>>1 == 0 || member[int(l>>1)] || isLeaf[int(l>>1)])
					}
				}
				require.False(t, isLeaf[id] && depends[id])
			}
			used := map[int]bool{}
			for id := net.first(); id < len(net.nodes); id++ {
				for _, l := range net.nodes[id] {
					if member[int(l>>1)] && !member[id] {
						used[int(l>>1)] = true
					}
				}
			}
			for _, l := range net.outs {
				if member[int(l>>1)] {
					used[int(l>>1)] = true
				}
			}
			var w, next resubWindow
			g.window(&w, patternWords(len(g.leaves)))
			checkWindow(t, &w)
			require.Len(t, w.outs, len(used))
			for _, n := range g.replaced {
				require.True(t, used[n.node])
			}
			// The window in its own place changes nothing.
			g.replace(&next, new(windowRebuilder), &w)
			require.Equal(t, net.gates(), next.gates())
		}
	}
	require.Greater(t, windows, 200)
}

// BenchmarkSmaller reports the gates of the EPFL circuits after each pass.
func BenchmarkSmaller(b *testing.B) {
	for _, pass := range []struct {
		name string
		run  func(g *Graph) (*Graph, error)
	}{
		{"resub", func(g *Graph) (*Graph, error) {
			return Resubstitute(context.Background(), g, ResubOptions{})
		}},
		{"anneal", func(g *Graph) (*Graph, error) {
			return Anneal(context.Background(), g, AnnealOptions{Work: 2e9})
		}},
	} {
		for _, c := range epflGates {
			b.Run(pass.name+"/"+c.name, func(b *testing.B) {
				g, err := FromNetwork(context.Background(), readData(b, "epfl/"+c.name+".aig"), Options{})
				require.NoError(b, err)
				var h *Graph
				for b.Loop() {
					h, err = pass.run(g)
					require.NoError(b, err)
				}
				b.ReportMetric(float64(g.NumGates()), "gates-before")
				b.ReportMetric(float64(h.NumGates()), "gates")
			})
		}
	}
}
