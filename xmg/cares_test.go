package xmg

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func cares(t *testing.T, g *Graph, opt CareOptions) *Graph {
	t.Helper()
	out, err := ResubstituteCares(context.Background(), g, opt)
	require.NoError(t, err)
	return out
}

func TestCares(t *testing.T) {
	t.Parallel()
	testPass(t, func(ctx context.Context, g *Graph, opt Options) (*Graph, error) {
		out, err := ResubstituteCares(ctx, g, CareOptions{Rounds: 2, Seed: 3})
		if err == nil {
			err = ctx.Err() // the pass itself gives what it has
		}
		return out, err
	})
}

// No gate of a result can be a constant or one of its fanins without an output that shows
// it, by looking at all outputs for all patterns with each gate forced.
func TestCaresLeaveNoRedundantGate(t *testing.T) {
	t.Parallel()
	left := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 71))
		g := randomGraph(r, 3+r.IntN(4), 10+r.IntN(50), 1+r.IntN(3)).Sweep()
		before := redundantEdges(g)
		h := cares(t, g, CareOptions{Rounds: 20, Seed: seed})
		require.Zero(t, redundantEdges(h), "seed %d", seed)
		left += before
	}
	require.Greater(t, left, 60)
}

// redundantEdges counts the gates that could be a constant, or one of their fanins.
func redundantEdges(g *Graph) int {
	in, _ := allPatterns(g.NumInputs())
	run := func(node int, by Lit) []uint64 {
		val := make([]uint64, g.NumNodes())
		copy(val[1:], in)
		at := func(l Lit) uint64 { return val[l>>1] ^ -uint64(l&1) }
		for id := g.FirstGate(); id < g.NumNodes(); id++ {
			f := g.nodes[id]
			a, b, c := at(f[0]), at(f[1]), at(f[2])
			switch {
			case id == node:
				val[id] = at(by)
			case g.Kind(id) == Xor:
				val[id] = a ^ b ^ c
			default:
				val[id] = a&b | b&c | c&a
			}
		}
		var out []uint64
		for _, o := range g.outputs {
			out = append(out, at(o.Lit))
		}
		return out
	}
	want := run(-1, 0)
	count := 0
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		f := g.nodes[id]
		for _, l := range []Lit{False, True, f[0], f[0] ^ 1, f[1], f[1] ^ 1, f[2], f[2] ^ 1} {
			if slices.Equal(run(id, l), want) {
				count++
				break
			}
		}
	}
	return count
}

// v implies that u is false, since both read s, forty gates below. So in v & (!u & q) the
// u is not needed, and !u & q is no function of any other gate.
func TestCaresSeeFarBelow(t *testing.T) {
	t.Parallel()
	g := New("far")
	s, q := g.AddInput("s"), g.AddInput("q")
	var in [40]Lit
	for i := range in {
		in[i] = g.AddInput("")
	}
	u, v := s, s^1
	for i, x := range in {
		u = g.And(u, g.Xor2(x, in[(i+5)%len(in)]))
		v = g.And(v, g.Or(x, in[(i+9)%len(in)]))
	}
	g.AddOutput("y", g.And(v, g.And(u^1, q)))
	require.Equal(t, 162, g.NumGates())
	h := cares(t, g, CareOptions{Rounds: 5, Seed: 1})
	e, err := Equivalent(context.Background(), g, h, EquivalenceOptions{})
	require.NoError(t, err)
	require.Equal(t, Equal, e.Verdict)
	require.LessOrEqual(t, h.NumGates(), 81)
}

// A work of nearly nothing gives the graph itself, more work no larger one, and an ended
// context what was found.
func TestCaresStop(t *testing.T) {
	g := randomGraph(rand.New(rand.NewPCG(5, 5)), 8, 300, 12).Sweep()
	least := g.NumGates()
	require.Equal(t, least, cares(t, g, CareOptions{Work: 1}).NumGates())
	for work := int64(10_000); work < 1e8; work *= 10 {
		n := cares(t, g, CareOptions{Work: work}).NumGates()
		require.LessOrEqual(t, n, least)
		least = n
	}
	require.Less(t, least, g.NumGates())
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	h, err := ResubstituteCares(ctx, g, CareOptions{Progress: func(Progress) {
		if calls++; calls == 2 {
			cancel()
		}
	}})
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	e, err := Equivalent(context.Background(), g, h, EquivalenceOptions{})
	require.NoError(t, err)
	require.Equal(t, Equal, e.Verdict)
}

// consistent compares all that a net counts and keeps with its gates.
func (n *careNet) consistent(t *testing.T) {
	t.Helper()
	refs, users := make([]int32, len(n.nodes)), make([][]uint32, len(n.nodes))
	for _, id := range n.order {
		if n.dead[id] {
			require.Zero(t, n.refs[id])
			continue
		}
		for _, l := range n.nodes[id].in {
			require.Less(t, n.rank[l>>1], n.rank[id])
			require.False(t, n.dead[l>>1])
			refs[l>>1]++
			users[l>>1] = append(users[l>>1], id)
		}
	}
	for _, l := range n.out {
		refs[l>>1]++
	}
	for id := range n.nodes {
		if !n.dead[id] {
			require.Equal(t, refs[id], n.refs[id])
			slices.Sort(users[id])
			require.Equal(t, users[id], slices.Sorted(slices.Values(n.users[id])), "of %d", id)
		}
	}
}

// A net changed at random is what a graph of the same changes is.
func TestCareNet(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 91))
		g := randomGraph(r, 6, 60, 4).Sweep()
		order := make([]uint32, g.NumGates())
		for i := range order {
			order[i] = uint32(g.FirstGate() + i)
		}
		n := newCareNet(g, order, 8)
		in, _ := allPatterns(6)
		for k := range careFresh {
			copy(n.fresh[k][1:], in)
			n.simulate(n.fresh[k])
			n.added()
		}
		for range 30 {
			id := n.order[r.IntN(len(n.order))]
			if n.dead[id] {
				continue
			}
			below := func() Lit { // of a lower rank and alive
				for {
					m := uint32(r.IntN(len(n.nodes)))
					if !n.dead[m] && n.rank[m] < n.rank[id] {
						return MakeLit(int(m), r.IntN(2) > 0)
					}
				}
			}
			if r.IntN(3) == 0 {
				n.replace(id, below())
			} else {
				made, ok := n.add(careGate{r.IntN(2) > 0, [3]Lit{below(), below(), below()}}, id)
				require.True(t, ok)
				n.become(id, careGate{r.IntN(2) > 0, [3]Lit{MakeLit(int(made), false), below(), below()}})
			}
			n.consistent(t)
		}
		// By definition, gate after gate.
		val := make([]uint64, len(n.nodes))
		copy(val[1:], in)
		for _, id := range n.order {
			if f := n.nodes[id]; !n.dead[id] {
				a, b, c := val[f.in[0]>>1]^-uint64(f.in[0]&1), val[f.in[1]>>1]^-uint64(f.in[1]&1), val[f.in[2]>>1]^-uint64(f.in[2]&1)
				val[id] = a&b | b&c | c&a
				if f.xor {
					val[id] = a ^ b ^ c
				}
				n.evalRow(id)
				require.Equal(t, val[id], n.row(id)[3])
			}
		}
		h := n.graph(g)
		require.NoError(t, h.Check())
		out := h.Simulate(in, 1)
		for i, l := range n.out {
			require.Equal(t, val[l>>1]^-uint64(l&1), out[i])
		}
	}
}
