package tdfg_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

func rect(t testing.TB, s string) lattice.Rect {
	r, err := lattice.ParseRect(s)
	require.NoError(t, err)
	return r
}

func expr(t testing.TB, s string) lattice.Expr {
	x, err := lattice.ParseExpr(s)
	require.NoError(t, err)
	return x
}

// scope has vectors A and B of N elements, and a matrix C of N columns and M rows.
func scope(t testing.TB) tdfg.Scope {
	s := lattice.NewSpace()
	require.NoError(t, s.Declare("N", lattice.Const(4), lattice.Expr{}, false))
	require.NoError(t, s.Declare("M", lattice.Const(4), lattice.Expr{}, false))
	require.NoError(t, s.Declare("k", lattice.Const(0), expr(t, "N-1"), true))
	n, m := lattice.Sym("N"), lattice.Sym("M")
	return tdfg.Scope{Dims: 2, Space: s, Params: []tdfg.Param{{Name: "sum", Type: scalar.FP32}}, Arrays: []*tdfg.Array{
		{Name: "A", Type: scalar.FP32, Size: []lattice.Expr{n}, Axes: []int{0}},
		{Name: "B", Type: scalar.FP32, Size: []lattice.Expr{n}, Axes: []int{0}},
		{Name: "C", Type: scalar.FP32, Size: []lattice.Expr{n, m}, Axes: []int{0, 1}},
	}}
}

// TestStencil is figure 4(a) of Infinity Stream: B[i] = A[i-1]+A[i]+A[i+1].
func TestStencil(t *testing.T) {
	b := tdfg.NewBuilder("stencil", scope(t))
	row := func(r string) tdfg.NodeID { return b.Tensor(0, rect(t, r+"x[0,1)")) }
	left := b.Move(row("[0,N-2)"), 0, lattice.Const(1))
	right := b.Move(row("[2,N)"), 0, lattice.Const(-1))
	sum := b.Compute(scalar.Add, b.Compute(scalar.Add, left, row("[1,N-1)")), right)
	require.Equal(t, "[1,N-1)x[0,1)", b.Node(sum).Domain.String())
	b.Store(sum, 1)
	g, err := b.Finish()
	require.NoError(t, err)
	bound, err := g.Bind(map[string]int64{"N": 10, "M": 4})
	require.NoError(t, err)
	require.Equal(t, "[1,9)x[0,1)", bound.Nodes[sum].Domain.String())
}

// TestInfer has the domain and type of every kind of node, or what is wrong with it.
func TestInfer(t *testing.T) {
	for _, c := range []struct {
		name string
		add  func(b *tdfg.Builder) tdfg.NodeID
		want string
	}{
		{"moved out on the left", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Move(b.Tensor(2, rect(t, "[0,N)x[0,M)")), 0, lattice.Const(-2))
		}, "fp32 [0,N-2)x[0,M)"},
		{"moved out on the right", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Move(b.Tensor(2, rect(t, "[1,N)x[0,M)")), 1, lattice.Const(3))
		}, "fp32 [1,N)x[3,M)"},
		{"moved by a symbol", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Move(b.Tensor(2, rect(t, "[k,k+1)x[0,M)")), 0, expr(t, "-k"))
		}, "fp32 [0,1)x[0,M)"},
		{"broadcast", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Broadcast(b.Tensor(2, rect(t, "[k,k+1)x[0,M)")), 0, expr(t, "-k"), expr(t, "N"))
		}, "fp32 [0,N)x[0,M)"},
		{"broadcast of more than one coordinate", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Broadcast(b.Tensor(2, rect(t, "[0,2)x[0,M)")), 0, lattice.Const(0), expr(t, "N"))
		}, "tdfg: bc: operand has coordinates [0,2) in dimension 0, expected one"},
		{"shrink", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Shrink(b.Tensor(2, rect(t, "[1,N)x[0,M)")), 0, lattice.Interval{Hi: expr(t, "N-1")})
		}, "fp32 [1,N-1)x[0,M)"},
		{"comparison", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Compute(scalar.Lt, b.Tensor(0, rect(t, "[0,N)x[0,1)")), b.Const(scalar.FP32, 0))
		}, "bool [0,N)x[0,1)"},
		{"select", func(b *tdfg.Builder) tdfg.NodeID {
			a := b.Tensor(0, rect(t, "[0,N)x[0,1)"))
			return b.Compute(scalar.Select, b.Compute(scalar.Lt, a, b.Param("sum")), a, b.Const(scalar.FP32, 0))
		}, "fp32 [0,N)x[0,1)"},
		{"select by a number", func(b *tdfg.Builder) tdfg.NodeID {
			a := b.Tensor(0, rect(t, "[0,N)x[0,1)"))
			return b.Compute(scalar.Select, a, a, a)
		}, "tdfg: cmp: operand 0 of select is fp32, expected bool"},
		{"convert", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Convert(scalar.Int8, b.Tensor(0, rect(t, "[0,N)x[0,1)")))
		}, "int8 [0,N)x[0,1)"},
		{"index", func(b *tdfg.Builder) tdfg.NodeID { return b.Index(scalar.Int32, expr(t, "k+1")) }, "int32 everywhere"},
		{"reduction", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Reduce(scalar.Add, b.Tensor(2, rect(t, "[0,N)x[0,M)")), 0, 8)
		}, "fp32 [0,1)x[0,M)"},
		{"groups", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Reduce(scalar.Add, b.Tensor(2, rect(t, "[0,N)x[0,M)")), 0, 6)
		}, "tdfg: reduce: groups of 6, expected a power of two"},
		{"use of partial results", func(b *tdfg.Builder) tdfg.NodeID {
			r := b.Add(tdfg.Node{Kind: tdfg.Reduce, Op: scalar.Add, Args: []tdfg.NodeID{b.Tensor(0, rect(t, "[0,N)x[0,1)"))}})
			return b.Move(r, 0, lattice.Const(1))
		}, "tdfg: mv: operand 0 is a reduce, expected a final to use it"},
		{"beyond the array", func(b *tdfg.Builder) tdfg.NodeID { return b.Tensor(0, rect(t, "[1,N+1)x[0,1)")) },
			"tdfg: tensor: [1,N+1)x[0,1) of A, expected a part of [0,N)x[0,1)"},
		{"sizes that are not comparable", func(b *tdfg.Builder) tdfg.NodeID { return b.Tensor(0, rect(t, "[0,M)x[0,1)")) },
			"tdfg: tensor: [0,M)x[0,1) of A, expected a part of [0,N)x[0,1)"},
		{"types", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Compute(scalar.Add, b.Tensor(0, rect(t, "[0,N)x[0,1)")), b.Const(scalar.Int32, 1))
		}, "tdfg: cmp: operand 0 of add is fp32, expected int32"},
		{"operand count", func(b *tdfg.Builder) tdfg.NodeID { return b.Compute(scalar.Add, b.Param("sum")) },
			"tdfg: cmp: 1 operands of add, expected 2"},
		{"dimension", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Move(b.Tensor(0, rect(t, "[0,N)x[0,1)")), 2, lattice.Const(1))
		}, "tdfg: mv: dimension 2, expected 0 to 1"},
		{"no kind", func(b *tdfg.Builder) tdfg.NodeID { return b.Add(tdfg.Node{}) }, "tdfg: Kind(0): no such kind"},
		{"kind beyond the last", func(b *tdfg.Builder) tdfg.NodeID { return b.Add(tdfg.Node{Kind: tdfg.Stream + 1}) }, "tdfg: Kind(11): no such kind"},
		{"no such operand", func(b *tdfg.Builder) tdfg.NodeID { return b.Move(b.Param("sum")+1, 0, lattice.Const(1)) },
			"tdfg: mv: operand 0 is node 1, expected 0 to 0"},
		{"two operands", func(b *tdfg.Builder) tdfg.NodeID {
			a := b.Tensor(0, rect(t, "[0,N)x[0,1)"))
			return b.Add(tdfg.Node{Kind: tdfg.Move, Args: []tdfg.NodeID{a, a}})
		}, "tdfg: mv: 2 operands, expected 1"},
		{"move of a constant", func(b *tdfg.Builder) tdfg.NodeID { return b.Move(b.Param("sum"), 0, lattice.Const(1)) },
			"tdfg: mv: operand is the same everywhere, expected a tensor"},
		{"convert to nothing", func(b *tdfg.Builder) tdfg.NodeID { return b.Convert(scalar.Invalid, b.Param("sum")) }, "tdfg: convert: no type to convert to"},
		{"negative count", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Broadcast(b.Tensor(2, rect(t, "[k,k+1)x[0,M)")), 0, lattice.Const(0), lattice.Const(-1))
		}, "tdfg: bc: count -1, expected at least 0"},
		{"no coordinates", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Broadcast(b.Tensor(2, rect(t, "[k,k+1)x[0,M)")), 0, expr(t, "-k"), lattice.Const(0))
		}, "fp32 [0,0)x[0,M)"},
		{"differences", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Reduce(scalar.Sub, b.Tensor(0, rect(t, "[0,N)x[0,1)")), 0, 0)
		},
			"tdfg: reduce: reduction by sub of fp32 is not defined"},
		{"reduction by a comparison", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Reduce(scalar.Eq, b.Tensor(0, rect(t, "[0,N)x[0,1)")), 0, 0)
		},
			"tdfg: reduce: reduction by eq of fp32 is not defined"},
		{"reduction by bits", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Reduce(scalar.Xor, b.Tensor(0, rect(t, "[0,N)x[0,1)")), 0, 0)
		},
			"tdfg: reduce: reduction by xor of fp32 is not defined"},
		{"negative groups", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Reduce(scalar.Add, b.Tensor(0, rect(t, "[0,N)x[0,1)")), 0, -4)
		},
			"tdfg: reduce: groups of -4, expected a power of two"},
		{"final of a tensor", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Add(tdfg.Node{Kind: tdfg.Final, Op: scalar.Add, Args: []tdfg.NodeID{b.Tensor(0, rect(t, "[0,N)x[0,1)"))}})
		}, "tdfg: final: operand is not a reduce"},
		{"no such array", func(b *tdfg.Builder) tdfg.NodeID { return b.Tensor(3, rect(t, "[0,N)x[0,1)")) }, "tdfg: tensor: array 3, expected 0 to 2"},
		{"dimensions of the array", func(b *tdfg.Builder) tdfg.NodeID { return b.Tensor(0, rect(t, "[0,N)")) }, "tdfg: tensor: 1 dimensions of A, expected 2"},
		{"unknown symbol", func(b *tdfg.Builder) tdfg.NodeID { return b.Tensor(0, rect(t, "[0,Z)x[0,1)")) }, "tdfg: tensor: lattice: symbol Z is not declared"},
		{"no such parameter", func(b *tdfg.Builder) tdfg.NodeID { return b.Param("total") }, "tdfg: const: no parameter total"},
		{"parameter of another type", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Add(tdfg.Node{Kind: tdfg.Const, Param: "sum", Facts: tdfg.Facts{Type: scalar.Int8}})
		}, "tdfg: const: parameter sum is fp32, expected int8"},
		{"index of an unknown symbol", func(b *tdfg.Builder) tdfg.NodeID { return b.Index(scalar.Int32, lattice.Sym("Z")) }, "tdfg: const: lattice: symbol Z is not declared"},
		{"constant without a type", func(b *tdfg.Builder) tdfg.NodeID { return b.Const(scalar.Invalid, 1) }, "tdfg: const: no type"},
		{"remainders of numbers", func(b *tdfg.Builder) tdfg.NodeID { return b.Compute(scalar.Rem, b.Param("sum"), b.Param("sum")) }, "tdfg: cmp: rem of fp32 is not defined"},
		{"no operands", func(b *tdfg.Builder) tdfg.NodeID { return b.Compute(scalar.Add) }, "tdfg: cmp: 0 operands of add, expected 2"},
		{"moved to where the end is not known", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Move(b.Tensor(2, rect(t, "[0,k+1)x[0,1)")), 0, lattice.Const(1))
		}, "tdfg: mv: lattice: cannot tell whether k+2 or N is less: bind their sizes, or give them bounds"},
		{"domains that are not comparable", func(b *tdfg.Builder) tdfg.NodeID {
			return b.Compute(scalar.Add, b.Tensor(2, rect(t, "[0,3)x[0,1)")), b.Tensor(2, rect(t, "[0,k+1)x[0,1)")))
		}, "tdfg: cmp: dimension 0: lattice: cannot tell whether 3 or k+1 is less: bind their sizes, or give them bounds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := tdfg.NewBuilder("test", scope(t))
			id := c.add(b)
			if b.Err() != nil {
				require.EqualError(t, b.Err(), c.want)
				return
			}
			n := b.Node(id)
			require.Equal(t, c.want, n.Type.String()+" "+n.Domain.String())
			_, err := b.Finish()
			require.NoError(t, err)
		})
	}
}

// TestCheckFindsChanges spoils a graph in many ways; each must be seen.
func TestCheckFindsChanges(t *testing.T) {
	build := func() *tdfg.Graph {
		b := tdfg.NewBuilder("test", scope(t))
		a := b.Tensor(0, rect(t, "[0,N-1)x[0,1)"))
		b.Store(b.Move(a, 0, lattice.Const(1)), 1)
		b.Result(b.Reduce(scalar.Add, a, 0, 0), "sum")
		g, err := b.Finish()
		require.NoError(t, err)
		return g
	}
	for name, spoil := range map[string]func(g *tdfg.Graph){
		"later operand":    func(g *tdfg.Graph) { g.Nodes[1].Args[0] = 1 },
		"domain":           func(g *tdfg.Graph) { g.Nodes[1].Domain = g.Nodes[0].Domain },
		"type":             func(g *tdfg.Graph) { g.Nodes[0].Type = scalar.FP16 },
		"unknown symbol":   func(g *tdfg.Graph) { g.Nodes[1].Dist = lattice.Sym("Z") },
		"final":            func(g *tdfg.Graph) { g.Nodes[3].Op = scalar.Min },
		"output node":      func(g *tdfg.Graph) { g.Outputs[0].Node = 9 },
		"output array":     func(g *tdfg.Graph) { g.Outputs[0].Array = 3 },
		"output too large": func(g *tdfg.Graph) { g.Outputs[1] = tdfg.Output{Node: 0, Array: -1, Scalar: "sum"} },
		"output partial":   func(g *tdfg.Graph) { g.Outputs[0].Node = 2 },
		"unknown scalar":   func(g *tdfg.Graph) { g.Outputs[1].Scalar = "s" },
		"array type":       func(g *tdfg.Graph) { g.Arrays[1].Type = scalar.FP16 },
		"axes":             func(g *tdfg.Graph) { g.Arrays[2].Axes = []int{1, 1} },
		"dims":             func(g *tdfg.Graph) { g.Dims = 4 },
		"name":             func(g *tdfg.Graph) { g.Arrays[1].Name = "A" },
	} {
		g := build()
		require.NoError(t, g.Check())
		spoil(g)
		require.Error(t, g.Check(), name)
	}
}

// TestOutputErrors has outputs that do not fit what they are written to.
func TestOutputErrors(t *testing.T) {
	for _, c := range []struct {
		add  func(b *tdfg.Builder)
		want string
	}{
		{func(b *tdfg.Builder) { b.Result(b.Const(scalar.Int8, 3), "sum") }, "tdfg: output 0: node 0 is int8, and sum is fp32"},
		{func(b *tdfg.Builder) { b.Result(b.Tensor(0, rect(t, "[1,3)x[0,1)")), "sum") }, "tdfg: output 0: node 0 has coordinates [1,3) in dimension 0, expected one for scalar sum"},
		{func(b *tdfg.Builder) { b.Result(b.Tensor(0, rect(t, "[1,2)x[0,1)")), "sum") }, ""},
		{func(b *tdfg.Builder) { b.Result(b.Tensor(0, rect(t, "[1,2)x[0,1)")), "all") }, `tdfg: output 0: no scalar "all"`},
		{func(b *tdfg.Builder) { b.Store(b.Tensor(0, rect(t, "[1,2)x[0,1)")), 3) }, "tdfg: output 0: array 3, expected 0 to 2"},
		{func(b *tdfg.Builder) { b.Store(b.Convert(scalar.FP16, b.Tensor(0, rect(t, "[1,2)x[0,1)"))), 1) }, "tdfg: output 0: node 1 is fp16, and B has fp32"},
		{func(b *tdfg.Builder) { b.Store(b.Tensor(2, rect(t, "[0,N)x[1,2)")), 1) }, "tdfg: output 0: [0,N)x[1,2) of B, expected a part of [0,N)x[0,1)"},
		{func(b *tdfg.Builder) { b.Store(b.Param("sum"), 1) }, "tdfg: output 0: everywhere of B, expected a part of [0,N)x[0,1)"},
		{func(b *tdfg.Builder) { b.Store(b.Tensor(2, rect(t, "[0,N)x[0,1)")), 1) }, ""},
	} {
		b := tdfg.NewBuilder("test", scope(t))
		c.add(b)
		_, err := b.Finish()
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, c.want)
	}
}

// TestScopeErrors has declarations that are wrong, each by its error.
func TestScopeErrors(t *testing.T) {
	for want, spoil := range map[string]func(s *tdfg.Scope){
		"tdfg: array C: 0 sizes and 0 axes, expected one axis for each size":         func(s *tdfg.Scope) { s.Arrays[2].Size, s.Arrays[2].Axes = nil, nil },
		"tdfg: array C: 2 sizes and 1 axes, expected one axis for each size":         func(s *tdfg.Scope) { s.Arrays[2].Axes = []int{0} },
		"tdfg: array C: axis 1 of dimension 1, expected different ones from 0 to 1":  func(s *tdfg.Scope) { s.Arrays[2].Axes = []int{1, 1} },
		"tdfg: array C: axis 2 of dimension 0, expected different ones from 0 to 1":  func(s *tdfg.Scope) { s.Arrays[2].Axes = []int{2, 1} },
		"tdfg: array C: axis -1 of dimension 1, expected different ones from 0 to 1": func(s *tdfg.Scope) { s.Arrays[2].Axes = []int{0, -1} },
		"tdfg: array B: elements of type bool, expected one that memory holds":       func(s *tdfg.Scope) { s.Arrays[1].Type = scalar.Bool },
		"tdfg: array B: name declared twice":                                         func(s *tdfg.Scope) { s.Params[0].Name = "B" },
		"tdfg: array A: size N-4 in dimension 0, expected at least 1":                func(s *tdfg.Scope) { s.Arrays[0].Size[0] = lattice.Sym("N").Plus(-4) },
		"tdfg: array A: lattice: symbol Z is not declared":                           func(s *tdfg.Scope) { s.Arrays[0].Size[0] = lattice.Sym("Z") },
		"tdfg: scalar sum: declared twice or without a type":                         func(s *tdfg.Scope) { s.Params[0].Type = scalar.Invalid },
		"": func(s *tdfg.Scope) { s.Arrays[0].Size[0] = lattice.Sym("N").Plus(-3) }, // N is at least 4
	} {
		s := scope(t)
		spoil(&s)
		err := s.Check()
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, want)
	}
}

func TestProgramCheck(t *testing.T) {
	b := tdfg.NewBuilder("r", scope(t))
	b.Store(b.Tensor(2, rect(t, "[k,k+1)x[0,M)")), 2)
	g, err := b.Finish()
	require.NoError(t, err)
	p := &tdfg.Program{Name: "p", Sizes: g.Space.Symbols()[:2], Arrays: g.Arrays, Scalars: []tdfg.Scalar{{Param: g.Params[0]}}}
	loop := &tdfg.Loop{Var: "k", Hi: lattice.Sym("N"), Step: 1, Body: []tdfg.Stmt{&tdfg.Region{Graph: g}}}
	p.Body = []tdfg.Stmt{loop}
	require.NoError(t, p.Check())
	require.Len(t, p.Regions(), 1)
	loop.Var = "j"
	require.EqualError(t, p.Check(), "tdfg: region r: symbol k is neither a size nor a loop around it")
	loop.Var, loop.Step = "k", 0
	require.EqualError(t, p.Check(), "tdfg: loop k: step 0, expected at least 1")
	loop.Step, p.Arrays = 1, p.Arrays[:2]
	require.EqualError(t, p.Check(), "tdfg: region r: array C is not the program's")
}
