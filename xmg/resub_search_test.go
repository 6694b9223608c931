package xmg

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// windowOf returns a graph as a window with values.
func windowOf(g *Graph) *resubWindow {
	w := wholeOf(g)
	w.fill()
	return w
}

// liveWith counts the gates that outputs need if a node is replaced by a step
// over other nodes (or by an edge, if none).
func liveWith(w *resubWindow, node int, steps []changeStep, by Lit) int {
	live := map[int]bool{}
	count := 0
	var visit func(l Lit)
	visit = func(l Lit) {
		id := int(l >> 1)
		if id == node {
			if len(steps) == 0 {
				visit(by)
				return
			}
			if !live[-1] {
				live[-1] = true
				count++
				for _, f := range steps[0].in {
					visit(f)
				}
			}
			return
		}
		if id < w.first() || live[id] {
			return
		}
		live[id] = true
		count++
		for _, f := range w.nodes[id] {
			visit(f)
		}
	}
	for _, l := range w.outs {
		visit(l)
	}
	return count
}

// outputsWith evaluates a window of up to six inputs with other values of a node.
func outputsWith(w *resubWindow, node int, value uint64) []uint64 {
	val := make([]uint64, len(w.nodes))
	at := func(l Lit) uint64 { return val[l>>1] ^ -uint64(l&1) }
	for id, f := range w.nodes {
		switch {
		case id == 0:
		case id < w.first():
			val[id] = tableInputs[id-1]
		case f[0] > f[1]:
			val[id] = at(f[0]) ^ at(f[1]) ^ at(f[2])
		default:
			a, b, c := at(f[0]), at(f[1]), at(f[2])
			val[id] = a&b | a&c | b&c
		}
		if id == node {
			val[id] = value
		}
	}
	out := make([]uint64, len(w.outs))
	for i, l := range w.outs {
		out[i] = at(l)
	}
	return out
}

// TestSearchFindsBestGate compares the search for one gate with all gates over
// all divisors, each tried by evaluating the whole window.
func TestSearchFindsBestGate(t *testing.T) {
	found := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 11))
		w := windowOf(randomGraph(r, 2+r.IntN(4), 4+r.IntN(9), 1+r.IntN(3)).Sweep())
		s := &resubSearch{rng: r}
		for node := w.first(); node < len(w.nodes); node++ {
			s.begin(w, node)
			s.stop = noChange
			s.one(&s.levels[0])

			depends := make([]bool, len(w.nodes))
			depends[node] = true
			var edges []Lit
			for id, f := range w.nodes {
				if id > node {
					depends[id] = depends[f[0]>>1] || depends[f[1]>>1] || depends[f[2]>>1]
				}
				require.Equal(t, depends[id], s.cone[id])
				if !depends[id] {
					edges = append(edges, Lit(id)<<1, Lit(id)<<1|1)
				}
			}
			want := outputsWith(w, node, w.row(node)[0])
			value := func(l Lit) uint64 { return w.row(int(l >> 1))[0] ^ -uint64(l&1) }
			equal := func(v uint64) bool {
				for i, o := range outputsWith(w, node, v) {
					if o != want[i] {
						return false
					}
				}
				return true
			}
			least := noChange
			for i, a := range edges {
				if equal(value(a)) {
					least = min(least, liveWith(w, node, nil, a)-w.gates())
				}
				for j, b := range edges[:i] {
					for _, c := range edges[:j] {
						for _, xor := range []bool{false, true} {
							v := value(a)&value(b) | value(a)&value(c) | value(b)&value(c)
							if xor {
								v = value(a) ^ value(b) ^ value(c)
							}
							st := changeStep{xor, [3]Lit{a, b, c}}
							if s.isNode(&st) || !equal(v) {
								continue
							}
							least = min(least, liveWith(w, node, []changeStep{st}, 0)-w.gates())
						}
					}
				}
			}
			require.Equal(t, least, s.delta, "seed %d node %d", seed, node)
			if least != noChange {
				found++
			}
		}
	}
	require.Greater(t, found, 100)
}

// TestSearchDeeper applies what the search for several gates finds.
func TestSearchDeeper(t *testing.T) {
	applied := [maxResubChange + 1]int{}
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 12))
		w := windowOf(randomGraph(r, 3+r.IntN(6), 20+r.IntN(40), 1+r.IntN(8)).Sweep())
		s := &resubSearch{rng: r}
		for node := w.first(); node < len(w.nodes); node++ {
			s.begin(w, node)
			s.stop = noChange
			s.deeper(&s.levels[0], 2+r.IntN(2), 6)
			if s.delta == noChange {
				continue
			}
			var next resubWindow
			new(windowRebuilder).rebuild(&next, w, s.cone, s.found.steps[:s.found.n], []replaced{{node, s.found.out}})
			checkWindow(t, &next)
			require.True(t, next.sameOutputs(w), "seed %d node %d", seed, node)
			require.LessOrEqual(t, next.gates(), w.gates()+s.delta)
			applied[s.found.n]++
		}
	}
	require.Greater(t, applied[2], 50)
	require.Greater(t, applied[3], 50)
}

// checkWindow checks the invariants of a Graph, and the values.
func checkWindow(t *testing.T, w *resubWindow) {
	t.Helper()
	names := New("")
	for range w.inputs {
		names.AddInput("")
	}
	for range w.outs {
		names.AddOutput("", 0)
	}
	g := w.graph(names)
	require.NoError(t, g.Check())
	require.Equal(t, g.NumGates(), w.gates())
	require.Equal(t, g.nodes, w.nodes)
	require.Equal(t, g.References(), w.refs)
	in, words := allPatterns(w.inputs)
	require.Equal(t, g.SimulateNodes(in, words), w.val)
}
