package masim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/netlist/gen"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

func generated(tb testing.TB, kind string, width, arrays, rows int) Problem {
	tb.Helper()
	n, err := gen.Build(context.Background(), kind, gen.Options{Width: width})
	require.NoError(tb, err)
	g, err := xmg.FromNetwork(context.Background(), n, xmg.Options{})
	require.NoError(tb, err)
	return Problem{g, sram.Geometry{Arrays: arrays, Rows: rows, Cols: 256}}
}

// reordered returns the same graph with its gates in a random topological order.
func reordered(g *xmg.Graph, r *rand.Rand) *xmg.Graph {
	first, nodes := g.FirstGate(), g.NumNodes()
	waits := make([]int, nodes)
	users := make([][]int, nodes)
	var ready []int
	for id := first; id < nodes; id++ {
		for _, f := range g.Fanins(id) {
			if f.Node() >= first {
				waits[id]++
				users[f.Node()] = append(users[f.Node()], id)
			}
		}
		if waits[id] == 0 {
			ready = append(ready, id)
		}
	}
	h := xmg.New(g.Name)
	lits := make([]xmg.Lit, nodes)
	for i := range g.NumInputs() {
		lits[i+1] = h.AddInput(g.InputName(i))
	}
	lit := func(l xmg.Lit) xmg.Lit { return lits[l.Node()].NotIf(l.Complemented()) }
	for len(ready) > 0 {
		k := r.IntN(len(ready))
		id := ready[k]
		ready[k] = ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		f := g.Fanins(id)
		if g.Kind(id) == xmg.Maj {
			lits[id] = h.Maj(lit(f[0]), lit(f[1]), lit(f[2]))
		} else {
			lits[id] = h.Xor(lit(f[0]), lit(f[1]), lit(f[2]))
		}
		for _, u := range users[id] {
			if waits[u]--; waits[u] == 0 {
				ready = append(ready, u)
			}
		}
	}
	for _, o := range g.Outputs() {
		h.AddOutput(o.Name, lit(o.Lit))
	}
	return h
}

// The order of the gates in the file matters little, and more effort never gives
// more copies.
func TestOrdersAndEfforts(t *testing.T) {
	t.Parallel()
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	sum, count := 0.0, 0
	for _, c := range []struct {
		kind        string
		width, rows int
	}{{"multiplier", 6, 16}, {"divider", 6, 18}, {"sqrt", 12, 22}, {"priority", 24, 18}} {
		p := generated(t, c.kind, c.width, 8, c.rows)
		fast, err := runBitsched(context.Background(), p, Options{})
		require.NoError(t, err, c.kind)
		for seed := range uint64(1) {
			q := p
			q.Graph = reordered(p.Graph, rand.New(rand.NewPCG(seed, 1)))
			require.Equal(t, p.Graph.NumGates(), q.Graph.NumGates())
			res, err := runBitsched(context.Background(), q, Options{})
			require.NoError(t, err, c.kind)
			sum += math.Log(float64(max(res.Copies, 1)) / float64(max(fast.Copies, 1)))
			count++
		}
	}
	require.Less(t, math.Exp(sum/float64(count)), 1.15)

	p := generated(t, "divider", 3, 8, 9)
	least := infeasible
	for effort := Fast; effort <= Normal; effort++ {
		res, err := runBitsched(context.Background(), p, Options{Effort: effort})
		require.NoError(t, err)
		require.LessOrEqual(t, res.Copies, least)
		least = res.Copies
	}
}

// BenchmarkReordered prints the geometric mean of copies on MASIM's netlists, as
// they are (order 0) and with their gates in random orders, at Normal effort.
func BenchmarkReordered(b *testing.B) {
	for order := range uint64(4) {
		b.Run(fmt.Sprintf("order%d", order), func(b *testing.B) {
			for b.Loop() {
				sum := 0.0
				names := []string{"int2float", "router", "cavlc", "priority", "dec", "adder", "max", "sin", "sqrt", "multiplier", "div", "log2"}
				for _, name := range names {
					p := sharedProblem(b, name)
					if order > 0 {
						p.Graph = reordered(p.Graph, rand.New(rand.NewPCG(order, 77)))
					}
					res, err := runBitsched(context.Background(), p, Options{Effort: Normal, Seed: 1, Threads: 2})
					require.NoError(b, err)
					sum += math.Log(float64(max(res.Copies, 1)))
				}
				b.ReportMetric(math.Exp(sum/float64(len(names))), "copies(geomean)")
			}
		})
	}
}

// BenchmarkLarge schedules circuits of one and ten million gates at Fast effort.
func BenchmarkLarge(b *testing.B) {
	for _, c := range []struct {
		kind                string
		width, arrays, rows int
	}{{"multiplier", 580, 64, 256}, {"divider", 700, 64, 256}, {"multiplier", 1826, 64, 1024}} {
		b.Run(fmt.Sprintf("%s%d", c.kind, c.width), func(b *testing.B) {
			p := generated(b, c.kind, c.width, c.arrays, c.rows)
			for b.Loop() {
				res, err := runBitsched(context.Background(), p, Options{Seed: 1})
				require.NoError(b, err)
				_, err = Check(p.Graph, res.Program, CheckOptions{})
				require.NoError(b, err)
				b.ReportMetric(float64(res.Copies), "copies")
				b.ReportMetric(float64(p.Graph.NumGates()), "gates")
			}
		})
	}
}

// TestBitschedStops stops the search while gates are ordered, which is before anything
// was compared but partitions: then one more evaluation of a plan is enough.
func TestBitschedStops(t *testing.T) {
	p := largeProblem(1000)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := runBitsched(ctx, p, Options{Effort: High, Progress: func(pr Progress) {
		if pr.Phase == "ordering gates" {
			cancel()
		}
	}})
	require.NoError(t, err)
	require.True(t, r.Stopped)
	require.LessOrEqual(t, r.Trials, 10) // some of them tilings, from before orders, and with fewer arrays
	replay(t, p, r.Program)
}

// More arrays never give more copies, and what fits few of them fits more.
func TestMoreArraysNeverMoreCopies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind        string
		width, rows int
		arrays      []int
	}{
		{"multiplier", 5, 9, []int{2, 3, 12}},
		{"divider", 4, 12, []int{1, 2, 6}},
		{"squarer", 6, 8, []int{3, 33}},
		{"adder", 12, 9, []int{2, 5, 20}},
	} {
		least := infeasible
		for _, n := range c.arrays {
			p := generated(t, c.kind, c.width, n, c.rows)
			r, err := runBitsched(context.Background(), p, Options{})
			if errors.Is(err, ErrInfeasible) {
				require.Equal(t, infeasible, least, "%s on %d arrays: %v", c.kind, n, err)
				continue
			}
			require.NoError(t, err, c.kind)
			require.LessOrEqual(t, r.Copies, least, "%s on %d arrays", c.kind, n)
			replay(t, p, r.Program)
			least = r.Copies
		}
		require.Less(t, least, infeasible, c.kind)
	}
}

// No schedule of the search takes fewer rows of a single array than the one that has the
// fewest rows as its goal.
func TestFewestRowsOfTheSearch(t *testing.T) {
	p := generated(t, "multiplier", 20, 1, 1000)
	r, err := runBitsched(context.Background(), p, Options{Objective: MinRows})
	require.NoError(t, err)
	report, err := Check(p.Graph, r.Program, CheckOptions{})
	require.NoError(t, err)
	p.Geometry.Rows = report.MaxRows - 1
	_, err = runBitsched(context.Background(), p, Options{})
	require.ErrorIs(t, err, ErrInfeasible)
}

// A schedule near its bound ends an effort before its rounds begin: the trials are those of Fast.
func TestNearTheBound(t *testing.T) {
	g := xmg.New("equal")
	inputs := make([]xmg.Lit, 80)
	for i := range inputs {
		inputs[i] = g.AddInput(fmt.Sprintf("x%d", i))
	}
	all, none := inputs[0], inputs[0].Not()
	for _, x := range inputs[1:] {
		all, none = g.And(all, x), g.And(none, x.Not())
	}
	g.AddOutput("y", g.And(all.Not(), none.Not()))
	p := Problem{g, sram.Geometry{Arrays: 8, Rows: 32, Cols: 64}}
	bound := LowerBound(t.Context(), p)
	fast, err := runBitsched(t.Context(), p, Options{Bound: &bound})
	require.NoError(t, err)
	require.Less(t, float64(fast.Copies-bound.Copies), nearBound[Normal]*float64(fast.Copies))
	normal, err := runBitsched(t.Context(), p, Options{Bound: &bound, Effort: Normal})
	require.NoError(t, err)
	require.Equal(t, fast.Trials, normal.Trials)
	require.Equal(t, fast.Copies, normal.Copies)
}

// A search with more arrays ends where one with fewer had about as few copies after as many rounds, or had ended with as few.
func TestBehind(t *testing.T) {
	for _, c := range []struct {
		rival, own []int
		behind     bool
	}{
		{nil, []int{9}, false},
		{[]int{9}, nil, false},
		{[]int{9, 5}, []int{8}, false},
		{[]int{9, 5}, []int{9}, true},
		{[]int{9, 5}, []int{8, 6}, true},
		{[]int{1000}, []int{996}, true},
		{[]int{1000}, []int{994}, false},
		{[]int{9, 5}, []int{8, 4, 4}, false},
		{[]int{9, 5}, []int{8, 4, 6}, true},
		{[]int{infeasible}, []int{infeasible}, false},
	} {
		rival := &bitsched{best: infeasible, bests: c.rival}
		if n := len(c.rival); n > 0 {
			rival.best = c.rival[n-1]
		}
		b := &bitsched{bests: c.own, rivals: []*bitsched{rival}}
		require.Equal(t, c.behind, b.behind(), "%v after %v", c.own, c.rival)
	}
}

// Searches with different numbers of arrays take the orders that one of them has improved, unless
// that was for less work; where the last array to compute in is another they are others.
func TestSharedOrders(t *testing.T) {
	p := generated(t, "multiplier", 6, 8, 20)
	root := &bitsched{in: newInstance(p, 8), best: infeasible, pool: make(map[int]*orderPool)}
	seed := func(stream int) *rand.Rand { return rand.New(rand.NewPCG(1, uint64(stream))) }
	spent := func(fronts []*frontier) (sum int64) {
		for _, f := range fronts {
			sum += f.work
		}
		return sum
	}
	few, many := root.with(2), root.with(8)
	first := few.orders(t.Context(), 5000, 0, 1, seed)
	before := spent(first)
	require.Positive(t, before)
	require.ElementsMatch(t, first, many.orders(t.Context(), 5000, 0, 1, seed))
	require.Equal(t, before, spent(first))
	many.orders(t.Context(), 10_000, 0, 1, seed)
	require.Greater(t, spent(first), before)
	before = spent(first)
	many.round++
	many.orders(t.Context(), 5000, 0, 1, seed)
	require.Greater(t, spent(first), before)
	for _, f := range root.with(1).orders(t.Context(), 5000, 0, 0, seed) {
		require.NotContains(t, first, f)
	}
}

// What brings nothing gets a quarter of its work the next time, annealing not for the first round.
func TestHope(t *testing.T) {
	b := &bitsched{}
	b.gained(annealing, false)
	require.Equal(t, 1.0, b.hope(annealing))
	b.gained(placement, false)
	require.Equal(t, 0.25, b.hope(placement))
	b.round = 1
	b.gained(annealing, false)
	require.Equal(t, 0.25, b.hope(annealing))
	b.gained(placement, false)
	require.Equal(t, 0.0625, b.hope(placement))
	b.gained(placement, true)
	require.Equal(t, 1.0, b.hope(placement))
	require.Equal(t, 0.25, b.hope(annealing))
}
