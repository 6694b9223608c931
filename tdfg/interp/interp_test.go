package interp_test

import (
	"context"
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

// oracle evaluates a node at a single point by the definitions: no tensors, no
// boxes, no inferred domains.
type oracle struct {
	g      *tdfg.Graph
	m      *memory.Memory
	values map[string]int64
	size   []int64 // of the bounding hyperrectangle
}

func newOracle(t testing.TB, g *tdfg.Graph, m *memory.Memory, values map[string]int64) *oracle {
	o := &oracle{g: g, m: m, values: values, size: make([]int64, g.Dims)}
	for d := range o.size {
		o.size[d] = 1
		for _, a := range g.Arrays {
			for i, axis := range a.Axes {
				if axis == d {
					o.size[d] = max(o.size[d], o.num(t, a.Size[i]))
				}
			}
		}
	}
	return o
}

func (o *oracle) num(t testing.TB, x lattice.Expr) int64 {
	v, err := x.Eval(o.values)
	require.NoError(t, err)
	return v
}

func with(p []int64, d int, x int64) []int64 {
	q := append([]int64(nil), p...)
	q[d] = x
	return q
}

// at returns the value of a node at a point, if it has one there.
func (o *oracle) at(t testing.TB, id tdfg.NodeID, p []int64) (scalar.Value, bool) {
	n := &o.g.Nodes[id]
	for d, x := range p {
		if x < 0 || x >= o.size[d] {
			return 0, false
		}
	}
	switch n.Kind {
	case tdfg.Tensor:
		a := o.g.Arrays[n.Array]
		for d, i := range n.Rect {
			if p[d] < o.num(t, i.Lo) || p[d] >= o.num(t, i.Hi) {
				return 0, false
			}
		}
		at, step := int64(0), int64(1)
		for i, d := range a.Axes {
			at += p[d] * step
			step *= o.num(t, a.Size[i])
		}
		return o.m.Arrays[a.Name].Elems[at], true
	case tdfg.Const:
		switch {
		case n.Param != "":
			return o.m.Scalars[n.Param], true
		case n.Index != nil:
			return scalar.FromInt(n.Type, o.num(t, *n.Index)), true
		}
		return n.Value, true
	case tdfg.Compute:
		var args []scalar.Value
		for _, a := range n.Args {
			v, ok := o.at(t, a, p)
			if !ok {
				return 0, false
			}
			args = append(args, v)
		}
		return scalar.Eval(n.Op, o.g.Nodes[n.Args[len(n.Args)-1]].Type, args...), true
	case tdfg.Convert:
		v, ok := o.at(t, n.Args[0], p)
		return scalar.Convert(o.g.Nodes[n.Args[0]].Type, n.Type, v), ok
	case tdfg.Move:
		return o.at(t, n.Args[0], with(p, n.Dim, p[n.Dim]-o.num(t, n.Dist)))
	case tdfg.Broadcast:
		for x := range o.size[n.Dim] {
			if v, ok := o.at(t, n.Args[0], with(p, n.Dim, x)); ok {
				c := p[n.Dim] - x - o.num(t, n.Dist)
				return v, c >= 0 && c < o.num(t, n.Count)
			}
		}
		return 0, false
	case tdfg.Shrink:
		v, ok := o.at(t, n.Args[0], p)
		return v, ok && p[n.Dim] >= o.num(t, n.Range.Lo) && p[n.Dim] < o.num(t, n.Range.Hi)
	case tdfg.Final:
		// The points along the dimension, group by group; each group is a tree
		// over all its places, where absent ones leave the others as they are.
		r := &o.g.Nodes[n.Args[0]]
		first := int64(-1)
		var acc scalar.Value
		group := int64(r.Group)
		for g := int64(0); g < o.size[n.Dim]; g += group {
			var tree func(i, len int64, step int64) (scalar.Value, bool)
			tree = func(i, len, step int64) (scalar.Value, bool) {
				if len == 1 {
					v, ok := o.at(t, r.Args[0], with(p, n.Dim, g+i))
					if ok && first < 0 {
						first = g + i
					} else if ok {
						first = min(first, g+i)
					}
					return v, ok
				}
				// Halving: place i takes place i + half, so that a tree over the
				// places that agree modulo step has its halves interleaved.
				a, aok := tree(i, len/2, 2*step)
				b, bok := tree(i+step, len/2, 2*step)
				switch {
				case aok && bok:
					return scalar.Eval(n.Op, n.Type, a, b), true
				case aok:
					return a, true
				}
				return b, bok
			}
			had := first >= 0
			if v, ok := tree(0, group, 1); ok {
				if had {
					acc = scalar.Eval(n.Op, n.Type, acc, v)
				} else {
					acc = v
				}
			}
		}
		return acc, first >= 0 && p[n.Dim] == first
	}
	t.Fatalf("kind %s", n.Kind)
	return 0, false
}

// TestRandomGraphs compares every element of every array after a graph has run.
func TestRandomGraphs(t *testing.T) {
	elements := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		types := scalar.Types()
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: types[seed%uint64(len(types))], Nodes: 12, Reuse: true})
		m := memory.New()
		require.NoError(t, m.Allocate(g.Arrays, nil))
		for _, a := range g.Arrays {
			data := m.Arrays[a.Name]
			for i := range data.Elems {
				data.Elems[i] = scalar.FromInt(a.Type, r.Int64N(200)-100)
			}
		}
		m.Scalars["p"] = scalar.FromInt(g.Params[0].Type, 3)
		before := m.Clone()
		require.NoError(t, interp.RunGraph(context.Background(), g, nil, m, interp.Options{}))
		o := newOracle(t, g, before, nil)
		want := before.Clone()
		for _, out := range g.Outputs {
			a := g.Arrays[out.Array]
			box := make(lattice.Box, g.Dims)
			for d := range box {
				box[d].Hi = o.size[d]
			}
			for p, more := box.First(), true; more; more = box.Next(p) {
				if v, ok := o.at(t, out.Node, p); ok {
					at, step := int64(0), int64(1)
					for i, d := range a.Axes {
						at += p[d] * step
						step *= want.Arrays[a.Name].Size[i]
					}
					want.Arrays[a.Name].Elems[at] = v
					elements++
				}
			}
		}
		require.Empty(t, want.Diff(m), "seed %d", seed)
	}
	require.Greater(t, elements, 5000)
}

// TestOverlap stores an array shifted by one into itself, both ways: what is
// written may not be read.
func TestOverlap(t *testing.T) {
	s := tdfg.Scope{Dims: 1, Space: lattice.NewSpace(), Arrays: []*tdfg.Array{{Name: "A", Type: scalar.Int8, Size: []lattice.Expr{lattice.Const(5)}, Axes: []int{0}}}}
	for dist, want := range map[int64][]scalar.Value{1: {1, 1, 2, 3, 4}, -1: {2, 3, 4, 5, 5}} {
		b := tdfg.NewBuilder("shift", s)
		b.Store(b.Move(b.Tensor(0, s.ArrayRect(0)), 0, lattice.Const(dist)), 0)
		g, err := b.Finish()
		require.NoError(t, err)
		m := memory.New()
		require.NoError(t, m.Allocate(g.Arrays, nil))
		copy(m.Arrays["A"].Elems, []scalar.Value{1, 2, 3, 4, 5})
		require.NoError(t, interp.RunGraph(context.Background(), g, nil, m, interp.Options{}))
		require.Equal(t, want, m.Arrays["A"].Elems)
	}
}

// TestStats counts what graphs of 20 x 6 elements execute by hand, and looks at sums in
// groups of 8 along rows and of all along columns, where A[x,y] is x + 100 y.
func TestStats(t *testing.T) {
	s := tdfg.Scope{Dims: 2, Space: lattice.NewSpace(), Params: []tdfg.Param{{Name: "p", Type: scalar.Int32}}, Arrays: []*tdfg.Array{
		{Name: "A", Type: scalar.Int32, Size: []lattice.Expr{lattice.Const(20), lattice.Const(6)}, Axes: []int{0, 1}},
	}}
	rect := func(x0, x1, y0, y1 int64) lattice.Rect {
		return lattice.Rect{{Lo: lattice.Const(x0), Hi: lattice.Const(x1)}, {Lo: lattice.Const(y0), Hi: lattice.Const(y1)}}
	}
	for _, c := range []struct {
		name string
		make func(b *tdfg.Builder) tdfg.NodeID
		want interp.Stats
		at   [2]int64 // a point
		is   int64    // what is there
	}{
		{"sum of two parts", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Compute(scalar.Add, b.Tensor(0, rect(0, 10, 0, 6)), b.Tensor(0, rect(5, 20, 1, 3)))
		}, interp.Stats{Nodes: 3, Computed: 5 * 2, Operations: 5 * 2}, [2]int64{7, 2}, 2 * 207},
		{"move", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Move(b.Tensor(0, rect(0, 20, 0, 6)), 0, lattice.Const(3))
		}, interp.Stats{Nodes: 2, Moved: 17 * 6}, [2]int64{9, 5}, 506},
		{"broadcast", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Broadcast(b.Tensor(0, rect(0, 20, 2, 3)), 1, lattice.Const(1), lattice.Const(3))
		}, interp.Stats{Nodes: 2, Moved: 20 * 3}, [2]int64{9, 4}, 209},
		// Columns 3 to 18 lie in three groups of 8, so that each of four rows takes 13
		// operations within groups and 2 after them.
		{"sum of rows", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Reduce(scalar.Add, b.Tensor(0, rect(3, 19, 1, 5)), 0, 8)
		}, interp.Stats{Nodes: 3, Computed: 3*4 + 4, Operations: 13*4 + 2*4}, [2]int64{3, 4}, (3+18)*16/2 + 16*400},
		// All six rows are one group of those that the options have, two of the default.
		{"maximum of columns", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Reduce(scalar.Max, b.Tensor(0, rect(0, 20, 0, 6)), 1, 0)
		}, interp.Stats{Nodes: 3, Computed: 2*20 + 20, Operations: 4*20 + 20}, [2]int64{11, 0}, 511},
		// What is the same everywhere is no element.
		{"parameters", func(b *tdfg.Builder) tdfg.NodeID {
			p := b.Compute(scalar.Add, b.Param("p"), b.Const(scalar.Int32, 1))
			return b.Compute(scalar.Mul, b.Tensor(0, rect(0, 20, 0, 6)), b.Compute(scalar.Neg, b.Compute(scalar.Mul, p, b.Index(scalar.Int32, lattice.Sym("k").Plus(2)))))
		}, interp.Stats{Nodes: 2, Computed: 120, Operations: 120}, [2]int64{1, 0}, -6 * 9},
	} {
		scope := s
		scope.Space = lattice.NewSpace()
		require.NoError(t, scope.Space.Declare("k", lattice.Const(0), lattice.Const(9), true))
		b := tdfg.NewBuilder("g", scope)
		b.Store(c.make(b), 0)
		g, err := b.Finish()
		require.NoError(t, err)
		m := memory.New()
		require.NoError(t, m.Allocate(s.Arrays, nil))
		for i := range m.Arrays["A"].Elems {
			m.Arrays["A"].Elems[i] = uint64(i%20 + i/20*100)
		}
		m.Scalars["p"] = 5
		var got interp.Stats
		opt := interp.Options{Stats: &got, Group: func(dim int) int { return []int{16, 4}[dim] }}
		require.NoError(t, interp.RunGraph(context.Background(), g, map[string]int64{"k": 7}, m, opt))
		require.Equal(t, c.want, got, c.name)
		require.Equal(t, c.is, scalar.ToInt(scalar.Int32, m.Arrays["A"].Elems[c.at[0]+20*c.at[1]]), c.name)
	}
}

// TestDefaultGroup adds 600 numbers that lose what is below them: groups of 256 are added
// by halves, and then one after another.
func TestDefaultGroup(t *testing.T) {
	s := tdfg.Scope{Dims: 1, Space: lattice.NewSpace(), Arrays: []*tdfg.Array{{Name: "A", Type: scalar.FP32, Size: []lattice.Expr{lattice.Const(600)}, Axes: []int{0}}}}
	b := tdfg.NewBuilder("sum", s)
	b.Store(b.Reduce(scalar.Add, b.Tensor(0, s.ArrayRect(0)), 0, 0), 0)
	g, err := b.Finish()
	require.NoError(t, err)
	m := memory.New()
	require.NoError(t, m.Allocate(g.Arrays, nil))
	x := make([]float32, 768) // with zeros behind
	for i := range 600 {
		x[i] = float32(i*i%97) * float32(math.Pow(10, float64(i%7)))
		m.Arrays["A"].Elems[i] = uint64(math.Float32bits(x[i]))
	}
	for half := 128; half > 0; half /= 2 {
		for i := range 768 {
			if i%256 < half {
				x[i] += x[i+half]
			}
		}
	}
	require.NoError(t, interp.RunGraph(context.Background(), g, nil, m, interp.Options{}))
	require.Equal(t, x[0]+x[256]+x[512], math.Float32frombits(uint32(m.Arrays["A"].Elems[0])))
}

// TestProgram runs a triangular loop: row k of A is added to all rows after it.
func TestProgram(t *testing.T) {
	n := lattice.Sym("N")
	space := lattice.NewSpace()
	require.NoError(t, space.Declare("N", lattice.Const(2), lattice.Const(50), true))
	sizes := space.Symbols()
	inner := space.Clone()
	require.NoError(t, inner.Declare("k", lattice.Const(0), n.Plus(-2), true))
	a := &tdfg.Array{Name: "A", Type: scalar.Int32, Size: []lattice.Expr{n, n}, Axes: []int{0, 1}}
	k := lattice.Sym("k")
	b := tdfg.NewBuilder("step", tdfg.Scope{Dims: 2, Space: inner, Arrays: []*tdfg.Array{a}})
	row := b.Tensor(0, lattice.Rect{lattice.Upto(n), lattice.At(k)})
	rest := b.Tensor(0, lattice.Rect{lattice.Upto(n), {Lo: k.Plus(1), Hi: n}})
	b.Store(b.Compute(scalar.Add, rest, b.Broadcast(row, 1, lattice.Const(1), n.Sub(k).Plus(-1))), 0)
	g, err := b.Finish()
	require.NoError(t, err)
	p := &tdfg.Program{Name: "triangle", Sizes: sizes, Arrays: []*tdfg.Array{a},
		Body: []tdfg.Stmt{&tdfg.Loop{Var: "k", Hi: n.Plus(-1), Step: 1, Body: []tdfg.Stmt{&tdfg.Region{Graph: g}}}}}
	require.NoError(t, p.Check())
	for _, size := range []int64{2, 3, 7} {
		values := map[string]int64{"N": size}
		m := memory.New()
		require.NoError(t, m.Allocate(p.Arrays, values))
		want := make([]uint64, size*size)
		for i := range want {
			want[i] = uint64(i * i % 17)
		}
		copy(m.Arrays["A"].Elems, want)
		require.NoError(t, interp.Run(context.Background(), p, values, m, interp.Options{}))
		for k := range size - 1 {
			for i := k + 1; i < size; i++ {
				for j := range size {
					want[i*size+j] += want[k*size+j]
				}
			}
		}
		require.Equal(t, want, m.Arrays["A"].Elems)
	}
	require.EqualError(t, interp.Run(context.Background(), p, nil, memory.New(), interp.Options{}), "interp: triangle: no value for N")
	require.EqualError(t, interp.Run(context.Background(), p, map[string]int64{"N": 51}, memory.New(), interp.Options{}), "interp: triangle: N is 51, expected at least 2 and at most 50")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m := memory.New()
	require.NoError(t, m.Allocate(p.Arrays, map[string]int64{"N": 9}))
	require.ErrorIs(t, interp.Run(ctx, p, map[string]int64{"N": 9}, m, interp.Options{}), context.Canceled)
}

func BenchmarkAdd(b *testing.B) {
	const size = 1 << 20
	s := tdfg.Scope{Dims: 1, Space: lattice.NewSpace()}
	for _, name := range []string{"A", "B", "C"} {
		s.Arrays = append(s.Arrays, &tdfg.Array{Name: name, Type: scalar.FP32, Size: []lattice.Expr{lattice.Const(size)}, Axes: []int{0}})
	}
	bu := tdfg.NewBuilder("add", s)
	bu.Store(bu.Compute(scalar.Add, bu.Tensor(0, s.ArrayRect(0)), bu.Tensor(1, s.ArrayRect(1))), 2)
	g, err := bu.Finish()
	require.NoError(b, err)
	m := memory.New()
	require.NoError(b, m.Allocate(g.Arrays, nil))
	for b.Loop() {
		require.NoError(b, interp.RunGraph(context.Background(), g, nil, m, interp.Options{}))
	}
	b.ReportMetric(size*float64(b.N)/b.Elapsed().Seconds(), "elements/s")
}

// TestStream adds up A[B[i]] near the memory, where B is a tensor moved by one, and
// counts in C how often each element was taken; the sum and C go on as tensors.
func TestStream(t *testing.T) {
	n := lattice.Sym("N")
	space := lattice.NewSpace()
	require.NoError(t, space.Declare("N", lattice.Const(2), lattice.Expr{}, false))
	array := func(name string) *tdfg.Array {
		return &tdfg.Array{Name: name, Type: scalar.Int32, Size: []lattice.Expr{n}, Axes: []int{0}}
	}
	s := tdfg.Scope{Dims: 1, Space: space, Params: []tdfg.Param{{Name: "sum", Type: scalar.Int32}},
		Arrays: []*tdfg.Array{array("A"), array("B"), array("C")}}
	sdfg := &stream.Graph{Name: "gather", Symbols: space, Body: []stream.Stmt{
		&stream.Loop{Var: "i", Range: lattice.Upto(n), Body: []stream.Stmt{
			&stream.Stream{Name: "b", Kind: stream.Load, Array: "B", Index: []lattice.Expr{lattice.Sym("i")}},
			&stream.Stream{Name: "a", Kind: stream.Load, Array: "A", Index: []lattice.Expr{lattice.Sym("b")}},
			&stream.Stream{Name: "c", Kind: stream.RMW, Array: "C", Index: []lattice.Expr{lattice.Sym("b")},
				Value: stream.Apply(scalar.Add, stream.Elem(), stream.Int(scalar.Int32, 1))},
			&stream.Stream{Name: "total", Kind: stream.Reduce, Over: "i", Init: stream.Ref("sum"),
				Value: stream.Apply(scalar.Add, stream.Ref("total"), stream.Ref("a"))},
		}},
	}, Params: []stream.Param{{Name: "sum", Type: scalar.Int32}}}
	for _, a := range s.Arrays {
		sdfg.Arrays = append(sdfg.Arrays, stream.Array{Name: a.Name, Type: a.Type, Size: a.Size})
	}
	b := tdfg.NewBuilder("gather", s)
	moved := b.Move(b.Tensor(1, s.ArrayRect(1)), 0, lattice.Const(1))
	strm := func(result string, typ scalar.Type) tdfg.NodeID {
		return b.Add(tdfg.Node{Kind: tdfg.Stream, Args: []tdfg.NodeID{moved}, Facts: tdfg.Facts{Type: typ},
			Stream: &tdfg.StreamNode{Graph: sdfg, Args: []string{"B"}, Result: result}})
	}
	total, counts := strm("total", scalar.Int32), strm("C", scalar.Invalid)
	b.Result(total, "sum")
	b.Store(b.Compute(scalar.Mul, counts, total), 2)
	g, err := b.Finish()
	require.NoError(t, err)
	bound, err := g.Bind(map[string]int64{"N": 5})
	require.NoError(t, err)
	for _, g := range []*tdfg.Graph{g, bound} {
		m := memory.New()
		values := map[string]int64{"N": 5}
		require.NoError(t, m.Allocate(g.Arrays, values))
		copy(m.Arrays["A"].Elems, []scalar.Value{10, 20, 30, 40, 50})
		copy(m.Arrays["B"].Elems, []scalar.Value{4, 3, 3, 0, 9}) // read as 4, 4, 3, 3, 0
		m.Scalars["sum"] = 1000
		require.NoError(t, interp.RunGraph(context.Background(), g, values, m, interp.Options{}))
		require.EqualValues(t, 1000+50+50+40+40+10, m.Scalars["sum"])
		require.Equal(t, []scalar.Value{1190, 0, 0, 2 * 1190, 2 * 1190}, m.Arrays["C"].Elems)
		require.Equal(t, []scalar.Value{4, 3, 3, 0, 9}, m.Arrays["B"].Elems)
	}
	b = tdfg.NewBuilder("bad", s)
	b.Add(tdfg.Node{Kind: tdfg.Stream, Stream: &tdfg.StreamNode{Graph: sdfg, Result: "a"}, Facts: tdfg.Facts{Type: scalar.Int32}})
	require.EqualError(t, b.Err(), "tdfg: strm: result a, expected an array or a reduction of a type")
}

// TestViews compares graphs whose arrays are views with the same graphs on arrays of their
// own, which get the elements one by one, and give them back.
func TestViews(t *testing.T) {
	views := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 71))
		types := scalar.Types()
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: types[seed%uint64(len(types))], Nodes: 12, Reuse: true, Views: true})
		m := memory.New()
		require.NoError(t, m.Allocate(g.Arrays, nil))
		for _, a := range g.Arrays {
			if a.Own() {
				for i := range m.Arrays[a.Name].Elems {
					m.Arrays[a.Name].Elems[i] = scalar.FromInt(a.Type, r.Int64N(200)-100)
				}
			}
		}
		m.Scalars["p"] = scalar.FromInt(g.Params[0].Type, 3)

		plain := *g
		plain.Arrays = nil
		for _, a := range g.Arrays {
			c := *a
			if c.View, c.Iota = nil, false; len(c.Axes) > 0 {
				plain.Arrays = append(plain.Arrays, &c)
			}
		}
		own := memory.New()
		require.NoError(t, own.Allocate(plain.Arrays, nil))
		own.Scalars["p"] = m.Scalars["p"]
		// each calls f for the elements of an array, and where they are in memory.
		each := func(a *tdfg.Array, f func(elem, at int64)) {
			box := make(lattice.Box, len(a.Size))
			for k, n := range a.Size {
				box[k].Hi, _ = n.Const()
			}
			for p, more := box.First(), true; more; more = box.Next(p) {
				if a.View == nil {
					f(box.Index(p), box.Index(p))
					continue
				}
				values := map[string]int64{}
				for k, x := range p {
					values[tdfg.Coord(k)] = x
				}
				at := int64(0)
				size := m.Arrays[a.View.Of].Size
				for d := len(size) - 1; d >= 0; d-- {
					x, err := a.View.Index[d].Eval(values)
					require.NoError(t, err)
					require.GreaterOrEqual(t, x, int64(0))
					require.Less(t, x, size[d])
					at = at*size[d] + x
				}
				f(box.Index(p), at)
			}
		}
		in := func(a *tdfg.Array) []scalar.Value {
			if a.View != nil {
				return m.Arrays[a.View.Of].Elems
			}
			return m.Arrays[a.Name].Elems
		}
		for _, a := range g.Arrays {
			if a.View != nil {
				views++
			}
			if a.Iota {
				for i := range own.Arrays[a.Name].Elems {
					own.Arrays[a.Name].Elems[i] = scalar.FromInt(a.Type, int64(i))
				}
			} else if len(a.Axes) > 0 {
				each(a, func(elem, at int64) { own.Arrays[a.Name].Elems[elem] = in(a)[at] })
			}
		}
		got := m.Clone()
		require.NoError(t, interp.RunGraph(context.Background(), g, nil, got, interp.Options{}), g.String())
		before := own.Clone()
		require.NoError(t, interp.RunGraph(context.Background(), &plain, nil, own, interp.Options{}))
		for _, o := range g.Outputs {
			a := g.Arrays[o.Array]
			each(a, func(elem, at int64) {
				if v := own.Arrays[a.Name].Elems[elem]; v != before.Arrays[a.Name].Elems[elem] {
					in(a)[at] = v
				}
			})
		}
		require.Empty(t, m.Diff(got), "seed %d\n%s", seed, g)
	}
	require.Greater(t, views, 400)
}

// TestBank adds six groups at three places: those at a place by halves, then the places in
// order. Numbers differ so much that other orders have other sums.
func TestBank(t *testing.T) {
	s := tdfg.Scope{Dims: 1, Space: lattice.NewSpace(), Arrays: []*tdfg.Array{{Name: "A", Type: scalar.FP32, Size: []lattice.Expr{lattice.Const(6)}, Axes: []int{0}}}}
	b := tdfg.NewBuilder("sum", s)
	b.Store(b.Reduce(scalar.Add, b.Tensor(0, s.ArrayRect(0)), 0, 0), 0)
	g, err := b.Finish()
	require.NoError(t, err)
	m := memory.New()
	require.NoError(t, m.Allocate(g.Arrays, nil))
	x := []float32{1e8, 3, -1e8, 5, 7, 16777216}
	for i, v := range x {
		m.Arrays["A"].Elems[i] = uint64(math.Float32bits(v))
	}
	opt := interp.Options{Group: func(int) int { return 1 }, Bank: func(p []int64) int { return []int{0, 0, 0, 4, 4, 5}[p[0]] }}
	require.NoError(t, interp.RunGraph(context.Background(), g, nil, m, opt))
	sum := ((x[0] + x[2]) + x[1]) + (x[3] + x[4])
	sum += x[5]
	require.Equal(t, sum, math.Float32frombits(uint32(m.Arrays["A"].Elems[0])))
	require.NotEqual(t, x[0]+x[1]+x[2]+x[3]+x[4]+x[5], sum)
}
