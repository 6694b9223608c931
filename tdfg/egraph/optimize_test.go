package egraph

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/tdfgtest"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// lanes are the bitlines of 64 banks of 16 ways of 16 arrays of 256 (Infinity Stream,
// section 2.2), and weights those of such a machine.
const lanes = 1 << 22

var weights = DefaultCost(lanes)

// TestOptimizeKeepsMeaning puts random graphs through the optimiser: the outputs
// are the same, bit by bit, at the sizes that they were not optimised for too, and
// the cost is no more.
func TestOptimizeKeepsMeaning(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	gained := 0
	for range 300 {
		g, gen := randomGraph(t, r, 4+r.IntN(20), nil)
		opt := Options{Cost: weights, Nodes: 200 + r.IntN(2000), Effort: 1 + r.IntN(1000), Iterations: 1 + r.IntN(30)}
		h, stats, err := Optimize(context.Background(), g, opt)
		require.NoError(t, err)
		require.NoError(t, h.Check())
		require.LessOrEqual(t, stats.After.Cost, stats.Before.Cost)
		require.NoError(t, sameOutputs(g, h))
		require.NotContains(t, needed(h), false, "dead nodes")
		for range 2 {
			newWorld(t, &g.Scope, gen.sizes(), r).requireSame(t, g, h)
		}
		if stats.After.Cost < stats.Before.Cost {
			gained++
		}
	}
	require.Greater(t, gained, 60)
}

// TestReassociate: sums of floating-point numbers keep their order unless the
// caller allows another one.
func TestReassociate(t *testing.T) {
	g := conv2d(t, scalar.FP32, true)
	r := rand.New(rand.NewPCG(4, 4))
	w := newWorld(t, &g.Scope, map[string]int64{"N": 7, "M": 6}, r)
	h, strict, err := Optimize(context.Background(), g, Options{Cost: weights, Nodes: 5000})
	require.NoError(t, err)
	w.requireSame(t, g, h)
	_, free, err := Optimize(context.Background(), g, Options{Cost: weights, Nodes: 5000, Reassociate: true})
	require.NoError(t, err)
	require.Less(t, free.After.Cost, strict.After.Cost)
}

// TestInterpreted does the same with the generator and the interpreter of graphs:
// all types, three dimensions, arrays of other sizes, reductions.
func TestInterpreted(t *testing.T) {
	gained, applied := 0, map[string]int{}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		types := scalar.Types()
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: types[seed%uint64(len(types))], Nodes: 16, Reuse: true, Views: seed%3 == 0})
		h, stats, err := Optimize(context.Background(), g, Options{Cost: weights, Nodes: 2000, Effort: 500})
		require.NoError(t, err)
		require.LessOrEqual(t, stats.After.Cost, stats.Before.Cost)
		if stats.After.Cost < stats.Before.Cost {
			gained++
		}
		for _, x := range stats.Rules {
			applied[x.Name] += x.Applied
		}
		m := memory.New()
		require.NoError(t, m.Allocate(g.Arrays, nil))
		for _, a := range g.Arrays {
			if !a.Own() {
				continue
			}
			for i := range m.Arrays[a.Name].Elems {
				m.Arrays[a.Name].Elems[i] = randomValue(a.Type, r)
			}
		}
		m.Scalars["p"] = randomValue(g.Params[0].Type, r)
		other := m.Clone()
		require.NoError(t, interp.RunGraph(context.Background(), g, nil, m, interp.Options{}))
		require.NoError(t, interp.RunGraph(context.Background(), h, nil, other, interp.Options{}))
		require.Empty(t, m.Diff(other), "seed %d", seed)
	}
	require.Greater(t, gained, 100)
	for _, r := range rules() {
		if r.name != "add negative" { // no operand of a random one is a Neg
			require.Positive(t, applied[r.name], r.name)
		}
	}
}

// TestDeterministic: the same graph, bit by bit, in every run.
func TestDeterministic(t *testing.T) {
	text := func() string {
		h, _, err := Optimize(context.Background(), conv2d(t, scalar.Int32, true), Options{Cost: weights, Nodes: 4000})
		require.NoError(t, err)
		return fmt.Sprintf("%+v %+v", h.Nodes, h.Outputs)
	}
	require.Equal(t, text(), text())
}

// TestStops: what ended saturation is said, and the result is right whatever it was.
func TestStops(t *testing.T) {
	expired, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	g := conv2d(t, scalar.Int32, true)
	w := newWorld(t, &g.Scope, map[string]int64{"N": 6, "M": 5}, rand.New(rand.NewPCG(6, 6)))
	for _, c := range []struct {
		ctx  context.Context
		opt  Options
		g    *tdfg.Graph
		want Stop
	}{
		{context.Background(), Options{Cost: weights}, figure20(t, scalar.Int32), Saturated},
		{context.Background(), Options{Cost: weights, Nodes: 300}, g, NodeLimit},
		{context.Background(), Options{Cost: weights, Iterations: 2}, g, IterationLimit},
		{expired, Options{Cost: weights}, g, TimeLimit},
	} {
		h, stats, err := Optimize(c.ctx, c.g, c.opt)
		require.NoError(t, err)
		require.Equal(t, c.want, stats.Stop)
		require.LessOrEqual(t, stats.After.Cost, stats.Before.Cost)
		if c.g == g {
			w.requireSame(t, g, h)
		}
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	_, _, err := Optimize(stopped, g, Options{Cost: weights})
	require.ErrorIs(t, err, context.Canceled)
}

// TestLoopVariables has graphs whose tensors depend on a loop variable: the result is
// right for all its values.
func TestLoopVariables(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	for _, g := range []*tdfg.Graph{elimination(t, scalar.FP32), elimination(t, scalar.Int16), outer(t)} {
		h, stats, err := Optimize(context.Background(), g, Options{Cost: weights})
		require.NoError(t, err)

		require.Less(t, stats.After.Cost, stats.Before.Cost)
		for n := int64(2); n <= 6; n++ {
			for k := int64(0); k < n-1; k++ {
				newWorld(t, &g.Scope, map[string]int64{"N": n, "k": k}, r).requireSame(t, g, h)
			}
		}
	}
}

// TestStreams: streams are taken as they are, but the same streams on the same
// operands are one node, and their operands are optimised.
func TestStreams(t *testing.T) {
	n := lattice.Sym("N")
	s := plane(t, scalar.Int32, 1)
	sdfg := &stream.Graph{Name: "gather", Symbols: s.Space, Body: []stream.Stmt{
		&stream.Loop{Var: "i", Range: lattice.Upto(n), Body: []stream.Stmt{
			&stream.Stream{Name: "a", Kind: stream.Load, Array: "A", Index: []lattice.Expr{lattice.Sym("i")}},
			&stream.Stream{Name: "total", Kind: stream.Reduce, Over: "i", Init: stream.Int(scalar.Int32, 0),
				Value: stream.Apply(scalar.Add, stream.Ref("total"), stream.Ref("a"))},
			&stream.Stream{Name: "most", Kind: stream.Reduce, Over: "i", Init: stream.Int(scalar.Int32, 0),
				Value: stream.Apply(scalar.Max, stream.Ref("most"), stream.Ref("a"))},
		}},
	}}
	for _, a := range s.Arrays {
		sdfg.Arrays = append(sdfg.Arrays, stream.Array{Name: a.Name, Type: a.Type, Size: a.Size})
	}
	s.Params = []tdfg.Param{{Name: "sum", Type: scalar.Int32}}
	b := tdfg.NewBuilder("streams", s)
	result := func(name string) tdfg.NodeID {
		moved := b.Move(b.Move(b.Tensor(0, s.ArrayRect(0)), 0, lattice.Const(1)), 0, lattice.Const(1))
		return b.Add(tdfg.Node{Kind: tdfg.Stream, Args: []tdfg.NodeID{moved}, Facts: tdfg.Facts{Type: scalar.Int32},
			Stream: &tdfg.StreamNode{Graph: sdfg, Args: []string{"A"}, Result: name}})
	}
	b.Result(b.Compute(scalar.Sub, b.Compute(scalar.Add, result("total"), result("total")), result("most")), "sum")
	b.Store(b.Tensor(0, s.ArrayRect(0)), 1)
	b.Tensor(1, s.ArrayRect(1)) // dead
	g, err := b.Finish()
	require.NoError(t, err)
	h, stats, err := Optimize(context.Background(), g, Options{Cost: weights})
	require.NoError(t, err)
	require.Equal(t, [2]int{3, 6}, [2]int{stats.Before.Streams, stats.Before.Moves})
	require.Equal(t, [2]int{2, 1}, [2]int{stats.After.Streams, stats.After.Moves})
	values := map[string]int64{"N": 6}
	m := memory.New()
	require.NoError(t, m.Allocate(g.Arrays, values))
	for i := range m.Arrays["A"].Elems {
		m.Arrays["A"].Elems[i] = scalar.Value(i * i)
	}
	other := m.Clone()
	require.NoError(t, interp.RunGraph(context.Background(), g, values, m, interp.Options{}))
	require.NoError(t, interp.RunGraph(context.Background(), h, values, other, interp.Options{}))
	require.Empty(t, m.Diff(other))
	require.Equal(t, scalar.Value(2*(0+1+0+1+4+9)-9), other.Scalars["sum"])
}

// TestProgram optimises all regions, in loops too.
func TestProgram(t *testing.T) {
	one, two := figure20(t, scalar.Int32), elimination(t, scalar.Int32)
	// A region on a part of the arrays of the program, in a loop.
	p := &tdfg.Program{Name: "p", Sizes: two.Space.Symbols()[:1], Arrays: two.Arrays}
	loop := &tdfg.Loop{Var: "k", Hi: lattice.Sym("N").Plus(-1), Step: 1, Body: []tdfg.Stmt{&tdfg.Region{Graph: two}}}
	p.Body = []tdfg.Stmt{loop}
	require.NoError(t, p.Check())
	q, list, err := OptimizeProgram(context.Background(), p, Options{Cost: weights, Nodes: 3000})
	require.NoError(t, err)
	require.NoError(t, q.Check())
	require.Len(t, list, 1)
	require.Same(t, two, p.Regions()[0].Graph)
	require.NotSame(t, two, q.Regions()[0].Graph)
	w := newWorld(t, &two.Scope, map[string]int64{"N": 5, "k": 1}, rand.New(rand.NewPCG(12, 12)))
	w.requireSame(t, two, q.Regions()[0].Graph)

	p.Body = append(p.Body, &tdfg.Region{Graph: one}, &tdfg.Region{Graph: conv2d(t, scalar.FP32, true)})
	_, list, err = OptimizeProgram(context.Background(), p, Options{Cost: weights, Nodes: 3000})
	require.NoError(t, err)
	require.Len(t, list, 3)
	p.Reassociate = true
	_, free, err := OptimizeProgram(context.Background(), p, Options{Cost: weights, Nodes: 3000})
	require.NoError(t, err)
	require.Less(t, free[2].After.Cost, list[2].After.Cost)
	_, _, err = OptimizeProgram(context.Background(), p, Options{Cost: weights, Nodes: -1})
	require.EqualError(t, err, "egraph: limit of -1 nodes, expected at least 0")
}

// TestErrors: what is wrong with a graph or a table of costs is said.
func TestErrors(t *testing.T) {
	g := figure20(t, scalar.Int32)
	cost := DefaultCost(lanes)
	delete(cost.Compute, Operation{scalar.Mul, scalar.Int32})
	_, _, err := Optimize(context.Background(), g, Options{Cost: cost})
	require.EqualError(t, err, "egraph: graph figure20: node 3: no cost of mul of int32")
	cost.Compute[Operation{scalar.Mul, scalar.Int32}] = -1
	_, _, err = Optimize(context.Background(), g, Options{Cost: cost})
	require.ErrorContains(t, err, "cost -1 of mul of int32, expected at least 0")
	for _, x := range []float64{math.NaN(), math.Inf(1), -1} {
		cost = DefaultCost(lanes)
		cost.MoveBit = x
		_, _, err = Optimize(context.Background(), g, Options{Cost: cost})
		require.ErrorContains(t, err, "of a mv, expected 0 to 4.398046511104e+12")
	}
	g.Nodes[1].Domain = nil
	_, _, err = Optimize(context.Background(), g, Options{Cost: weights})
	require.ErrorContains(t, err, "tdfg: node")
}

// TestNarrow: what is not used is neither moved nor broadcast, and is not read.
func TestNarrow(t *testing.T) {
	s := plane(t, scalar.Int32, 2)
	n, m := lattice.Sym("N"), lattice.Sym("M")
	b := tdfg.NewBuilder("narrow", s)
	line := b.Tensor(0, lattice.Rect{lattice.Upto(n), lattice.At(lattice.Const(0))})
	plane := b.Broadcast(line, 1, lattice.Const(0), m)
	inner := lattice.Interval{Lo: lattice.Const(1), Hi: n.Plus(-1)}
	whole := b.Tensor(0, s.ArrayRect(0))
	sum := b.Compute(scalar.Sub, b.Compute(scalar.Add, plane, b.Move(whole, 1, lattice.Const(2))), whole)
	b.Store(b.Shrink(b.Shrink(sum, 0, inner), 1, lattice.Interval{Lo: lattice.Const(3), Hi: m}), 1)
	g, err := b.Finish()
	require.NoError(t, err)
	h, err := narrow(g)
	require.NoError(t, err)
	var domains []string
	for i := range h.Nodes {
		domains = append(domains, h.Nodes[i].Kind.String()+" "+h.Nodes[i].Domain.String())
	}
	require.Equal(t, []string{
		"tensor [1,N-1)x[0,1)", "bc [1,N-1)x[3,M)", "tensor [1,N-1)x[1,M-2)", "mv [1,N-1)x[3,M)", "cmp [1,N-1)x[3,M)",
		"tensor [1,N-1)x[3,M)", "cmp [1,N-1)x[3,M)",
	}, domains)
	w := newWorld(t, &g.Scope, map[string]int64{"N": 5, "M": 6}, rand.New(rand.NewPCG(13, 13)))
	w.requireSame(t, g, h)
}
