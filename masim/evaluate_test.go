package masim

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// randomGraph returns a graph whose gates mostly read recent values.
func randomGraph(r *rand.Rand, inputs, gates, outputs int) *xmg.Graph {
	g := xmg.New("random")
	lits := []xmg.Lit{xmg.False}
	for range inputs {
		lits = append(lits, g.AddInput(""))
	}
	pick := func() xmg.Lit {
		n := len(lits)
		k := r.IntN(n)
		if r.IntN(3) > 0 {
			k = max(n-1-r.IntN(30), 0)
		}
		return lits[k].NotIf(r.IntN(2) == 0)
	}
	for tries := 0; g.NumGates() < gates && tries < 20*gates; tries++ {
		before := g.NumGates()
		var l xmg.Lit
		if r.IntN(2) == 0 {
			l = g.Maj(pick(), pick(), pick())
		} else {
			l = g.Xor(pick(), pick(), pick())
		}
		if g.NumGates() > before {
			lits = append(lits, l)
		}
	}
	for range outputs {
		g.AddOutput("", pick())
	}
	return g
}

// lineOf are the distances of arrays in a line.
func lineOf(arrays int) [][]float64 {
	d := make([][]float64, arrays)
	for i := range d {
		d[i] = make([]float64, arrays)
		for j := range d[i] {
			d[i][j] = math.Abs(float64(i - j))
		}
	}
	return d
}

// fileOrder is the order of the graph, all in one array.
func fileOrder(in *instance, array int) *plan {
	pl := &plan{order: make([]int32, in.gates), array: make([]uint8, in.gates)}
	for i := range pl.order {
		pl.order[i] = int32(i)
		pl.array[i] = uint8(array)
	}
	return pl
}

// A changed plan costs the same whether it is tried from the last run or
// evaluated from the start by a fresh evaluator; with clones too, whose users are
// those that read them.
func TestTryEqualsReset(t *testing.T) {
	added, removed := 0, 0
	for seed := range draws(16) {
		r := rand.New(rand.NewPCG(seed, 1))
		gates, moves := 300+r.IntN(1500), 120
		if seed >= 6 { // small, and many moves: more of them matter
			gates, moves = 200+r.IntN(200), 400
		}
		g := randomGraph(r, 3+r.IntN(20), gates, 5)
		rows := 16 + g.NumGates()/10
		in := newInstance(Problem{g, sram.Geometry{Arrays: 6, Rows: rows, Cols: 1}}, 6)
		var c *costs
		if seed%2 == 1 || seed >= 6 {
			o := Options{Rematerialize: seed%4 == 1 || seed >= 6}
			if seed%4 == 1 {
				o.Distance = lineOf(6)
			}
			c = newCosts(in, o)
		}
		pl := fileOrder(in, in.fullArrays()+1)
		arrays := []uint8{uint8(in.fullArrays()), uint8(in.fullArrays() + 1), 5}
		if c != nil && c.rematerial && seed >= 6 {
			k := in.newClones(int(in.gates) / 4)
			in = in.withClones(k.root, k.fanin)
			pl = in.spaced(pl)
		}
		s := newSearch(t.Context(), in, pl, arrays, c, r)
		if s.cost == infeasible {
			continue
		}
		check := func() int {
			ev := newEvaluator(in, s.ev.plan.clone(), true)
			ev.costs = c
			return ev.reset()
		}
		for i := range moves {
			if !s.propose() {
				continue
			}
			got := s.ev.try()
			require.Equal(t, check(), got, "seed %d move %d", seed, i)
			for _, change := range s.undoClones {
				if change.kind == changeRoot && change.a == idle {
					added++
				} else if change.kind == changeRoot {
					removed++
				}
			}
			if r.IntN(2) == 0 && got != infeasible && (seed < 6 || got <= s.cost+s.cost/50 || len(s.undoClones) > 0) {
				s.commit(got)
			} else {
				s.undo()
				s.ev.reject()
			}
		}
		t.Logf("seed %d: %d gates, %d rows, %d copies, %d steps", seed, in.gates, rows, s.ev.total, s.ev.work)
		require.Equal(t, check(), s.ev.total)
		requireUsers(t, in)
	}
	t.Logf("%d clones added, %d removed", added, removed)
	require.Greater(t, added, 200)
	require.Greater(t, removed, 50)
}

// The same without gates computed again, where changes are followed back by what was evicted: wide plans
// and narrow ones, with stores and without, and arrays all of which are full.
func TestTryFollowsEvictions(t *testing.T) {
	later, full := 0, 0
	for seed := range draws(60) {
		r := rand.New(rand.NewPCG(seed, 6))
		g := randomGraph(r, 3+r.IntN(20), 200+r.IntN(800), 5)
		if seed%3 == 0 {
			g = scattered(r, 8+r.IntN(8), 150+r.IntN(300))
		}
		n := 3 + r.IntN(4)
		in := newInstance(Problem{g, sram.Geometry{Arrays: n, Rows: 256, Cols: 1}}, n)
		live := int(newFrontier(in, in.graphOrder(), 0, nil).peak())
		rows := max(live*(10+r.IntN(4))/(10*n), 4) + 2 + r.IntN(4) + in.p.Graph.NumInputs()/n
		in = newInstance(Problem{g, sram.Geometry{Arrays: n, Rows: rows, Cols: 1}}, n)
		home := uint8(in.fullArrays())
		if int(home) >= n-1 {
			continue
		}
		var arrays []uint8
		for a := home; int(a) < min(n, int(home)+2+r.IntN(4)); a++ {
			arrays = append(arrays, a)
		}
		pl := fileOrder(in, int(home))
		for i := range pl.array {
			if seed%2 == 0 {
				pl.array[i] = arrays[r.IntN(len(arrays))]
			}
		}
		s := newSearch(t.Context(), in, pl, arrays, nil, r)
		if s.cost == infeasible {
			continue
		}
		for i := range 100 {
			if !s.propose() {
				continue
			}
			if s.ev.dirtyFrom > 64 {
				later++
			}
			got := s.ev.try()
			require.Equal(t, newEvaluator(in, s.ev.plan.clone(), false).reset(), got, "seed %d move %d", seed, i)
			if got != infeasible && (r.IntN(2) == 0 || got <= s.cost) {
				s.commit(got)
			} else {
				s.undo()
				s.ev.reject()
			}
		}
		for i := range s.ev.segments {
			if s.ev.segments[i].evicted.any {
				full++
			}
		}
	}
	require.Greater(t, later, 1000)
	t.Logf("%d later, %d segments with all arrays full", later, full)
	require.Greater(t, full, 4)
}

// scattered is a graph whose gates read values of any age.
func scattered(r *rand.Rand, inputs, gates int) *xmg.Graph {
	g := xmg.New("scattered")
	var lits []xmg.Lit
	for range inputs {
		lits = append(lits, g.AddInput(""))
	}
	for len(lits) < inputs+gates {
		n := len(lits)
		if l := g.Maj(lits[r.IntN(n)], lits[r.IntN(n)].Not(), lits[r.IntN(n)]); l.Node() == g.NumNodes()-1 {
			lits = append(lits, l)
		}
	}
	g.AddOutput("y", lits[len(lits)-1])
	return g
}

// requireUsers compares the users of values with the fanins of gates.
func requireUsers(t *testing.T, in *instance) {
	t.Helper()
	users := make([][]int32, in.values)
	for g := range in.fanin {
		for _, v := range in.fanin[g] {
			if v != 0 {
				users[v] = append(users[v], int32(g))
			}
		}
	}
	for v := int32(1); v < in.values; v++ {
		require.ElementsMatch(t, users[v], in.uses(v), "value %d", v)
	}
	for c, root := range in.root {
		for j, v := range in.fanin[int(in.base)+c] {
			want := int32(0)
			if root != idle {
				want = int32(in.p.Graph.Fanins(int(in.first + root))[j].Node())
			}
			if v != 0 {
				v = in.rootOf(v)
			}
			require.Equal(t, want, v, "clone %d of gate %d", c, root)
		}
	}
}
