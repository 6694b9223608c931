package masim

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// bruteState is what the memory holds, as sets of nodes, and which gates were
// computed. Inputs in their homes are left out.
type bruteState struct {
	done uint32
	held [3]uint32
}

// bruteOptimum finds the least copies by looking at every state of the memory
// that can be reached, breadth first by copies. It shares nothing with the
// bounds and the schedulers. known is false if there are more than limit states;
// copies is -1 if there is no schedule.
func bruteOptimum(p Problem, again bool, limit int) (copies int, known bool) {
	g, geo := p.Graph, p.Geometry
	if g.NumNodes() > 32 || geo.Arrays > 3 {
		return 0, false
	}
	var home [3]uint32
	for i := range g.NumInputs() {
		home[i/geo.Rows] |= 1 << (i + 1)
	}
	need := make([]uint32, g.NumNodes()) // operands of a gate
	users := make([]uint32, g.NumNodes())
	all, outs := uint32(0), uint32(0)
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		all |= 1 << id
		for _, f := range g.Fanins(id) {
			if n := f.Node(); n > 0 {
				need[id] |= 1 << n
				users[n] |= 1 << id
			}
		}
	}
	for _, o := range g.Outputs() {
		if g.IsGate(o.Lit.Node()) {
			outs |= 1 << o.Lit.Node()
		}
	}
	size := func(s uint32) (n int) {
		for ; s != 0; s &= s - 1 {
			n++
		}
		return n
	}
	seen := map[bruteState]bool{}
	now, next := []bruteState{{}}, []bruteState(nil)
	for cost := 0; len(now) > 0; cost++ {
		for len(now) > 0 {
			s := now[len(now)-1]
			now = now[:len(now)-1]
			if seen[s] {
				continue
			}
			seen[s] = true
			if len(seen) > limit {
				return 0, false
			}
			if s.done == all && outs&^(s.held[0]|s.held[1]|s.held[2]) == 0 {
				return cost, true
			}
			// put writes v to array a, over each of the values there or to a free
			// row, and forgets what nobody needs.
			put := func(to *[]bruteState, done uint32, v, a int) {
				if s.held[a]>>v&1 != 0 {
					return
				}
				write := func(t bruteState) {
					t.done = done
					t.held[a] |= 1 << v
					if !again {
						for b := range t.held {
							for w := range users {
								if outs>>w&1 == 0 && users[w]&^done == 0 {
									t.held[b] &^= 1 << w
								}
							}
						}
					}
					*to = append(*to, t)
				}
				room := geo.Rows - size(home[a])
				if size(s.held[a]) < room {
					write(s)
					return
				}
				for w := range users {
					if s.held[a]>>w&1 != 0 {
						t := s
						t.held[a] &^= 1 << w
						write(t)
					}
				}
			}
			for a := range geo.Arrays {
				here := home[a] | s.held[a]
				for v := 1; v < g.NumNodes(); v++ {
					if g.IsGate(v) && need[v]&^here == 0 && (again || s.done>>v&1 == 0) {
						put(&now, s.done|1<<v, v, a)
					}
					elsewhere := false
					for b := range geo.Arrays {
						elsewhere = elsewhere || b != a && (home[b]|s.held[b])>>v&1 != 0
					}
					if elsewhere && here>>v&1 == 0 {
						put(&next, s.done, v, a)
					}
				}
			}
		}
		now, next = next, nil
	}
	return -1, true
}

// tinyProblem draws a problem small enough for bruteOptimum.
func tinyProblem(r *rand.Rand) Problem {
	arrays := 2 + r.IntN(2)
	rows := 2 + r.IntN(3)
	inputs := 1 + r.IntN(min(6, arrays*rows-1))
	g := randomGraph(r, inputs, 2+r.IntN(6), 1+r.IntN(6))
	if r.IntN(2) == 0 { // every gate that nobody reads is an output
		h := xmg.New("outputs")
		lit := make([]xmg.Lit, g.NumNodes())
		used := make([]bool, g.NumNodes())
		for i := range g.NumInputs() {
			lit[i+1] = h.AddInput("")
		}
		for id := g.FirstGate(); id < g.NumNodes(); id++ {
			f := g.Fanins(id)
			var l [3]xmg.Lit
			for j := range f {
				used[f[j].Node()] = true
				l[j] = lit[f[j].Node()].NotIf(f[j].Complemented())
			}
			if g.Kind(id) == xmg.Maj {
				lit[id] = h.Maj(l[0], l[1], l[2])
			} else {
				lit[id] = h.Xor(l[0], l[1], l[2])
			}
		}
		for id := g.FirstGate(); id < g.NumNodes(); id++ {
			if !used[id] || r.IntN(4) == 0 {
				h.AddOutput("", lit[id])
			}
		}
		g = h
	}
	return Problem{g, sram.Geometry{Arrays: arrays, Rows: rows, Cols: 1}}
}

func describe(p Problem) string {
	s := fmt.Sprintf("%d arrays of %d rows, %d inputs, outputs", p.Geometry.Arrays, p.Geometry.Rows, p.Graph.NumInputs())
	for _, o := range p.Graph.Outputs() {
		s += fmt.Sprint(" ", o.Lit.Node())
	}
	for id := p.Graph.FirstGate(); id < p.Graph.NumNodes(); id++ {
		f := p.Graph.Fanins(id)
		s += fmt.Sprintf("; %d = %v %d %d %d", id, p.Graph.Kind(id), f[0].Node(), f[1].Node(), f[2].Node())
	}
	return s
}

// No bound exceeds the true optimum, with and without rematerialisation.
func TestLowerBoundSound(t *testing.T) {
	for _, again := range []bool{false, true} {
		bound, problems, limit := LowerBound, uint64(1500), 30_000
		if again {
			bound, problems = LowerBoundRematerialized, 500
		}
		known, none, beyond, tight := 0, 0, 0, 0
		for seed := range problems {
			p := tinyProblem(rand.New(rand.NewPCG(seed, 21)))
			best, ok := bruteOptimum(p, again, limit)
			if !ok {
				continue
			}
			if best < 0 {
				none++
				continue
			}
			known++
			got, reason := bound(p)
			require.LessOrEqual(t, got, best, "seed %d, again %v: %s: %s", seed, again, describe(p), reason)
			if n, _ := inputsBound(p); got > n {
				beyond++
				if got == best {
					tight++
				}
			}
		}
		t.Logf("again %v: %d optima known, %d infeasible; beyond inputs %d, of them tight %d", again, known, none, beyond, tight)
		require.Greater(t, known, 300)
		require.Greater(t, beyond, 10)
		require.Greater(t, tight, 5)
	}
}

// Each argument is sound on its own, whatever the others say.
func TestLowerBoundArguments(t *testing.T) {
	cuts, outputs := 0, 0
	for seed := range uint64(1200) {
		p := tinyProblem(rand.New(rand.NewPCG(seed, 22)))
		best, ok := bruteOptimum(p, false, 10_000)
		if !ok || best < 0 {
			continue
		}
		base := 0
		if p.Graph.NumGates() > 0 {
			base, _ = inputsBound(p)
		}
		in := newInstance(p, p.Geometry.Arrays)
		cut := newCutBound(in, true)
		cut.search()
		out := newOutputsBound(in, true).least(0)
		require.LessOrEqual(t, base+int(cut.best), best, "seed %d: %s", seed, describe(p))
		require.LessOrEqual(t, base+int(out), best, "seed %d: %s", seed, describe(p))
		if cut.best > out {
			cuts++
		}
		if out > cut.best {
			outputs++
		}
	}
	t.Logf("cuts are better %d times, outputs %d times", cuts, outputs)
	require.NotZero(t, cuts)
	require.NotZero(t, outputs)
}

// On published netlists the bound is no more than the copies of schedules that
// were found and replayed, and where it is known to be tight it is that.
func TestLowerBoundShared(t *testing.T) {
	for _, c := range []struct {
		name           string
		atLeast, found int
	}{
		{"int2float", 5, 41}, {"router", 10, 36}, {"cavlc", 0, 7}, {"priority", 128, 128}, {"dec", 6, 6},
		{"adder", 256, 256}, {"max", 512, 518}, {"sin", 0, 29}, {"sqrt", 40, 153}, {"multiplier", 25, 182},
		{"div", 30, 157}, {"log2", 0, 1863},
	} {
		p := sharedProblem(t, c.name)
		got, reason := LowerBound(p)
		t.Logf("%-10s %3d of %4d: %s", c.name, got, c.found, reason)
		require.GreaterOrEqual(t, got, c.atLeast, c.name)
		require.LessOrEqual(t, got, c.found, c.name)
		least, _ := LowerBoundRematerialized(p)
		require.LessOrEqual(t, least, got, c.name)
	}
}
