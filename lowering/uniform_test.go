package lowering_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestUniform computes nodes that are the same everywhere, where p is 5 and k is 7.
func TestUniform(t *testing.T) {
	space := lattice.NewSpace()
	require.NoError(t, space.Declare("k", lattice.Const(0), lattice.Const(9), true))
	b := tdfg.NewBuilder("u", tdfg.Scope{Dims: 1, Space: space, Params: []tdfg.Param{{Name: "p", Type: scalar.Int16}, {Name: "x", Type: scalar.FP32}},
		Arrays: []*tdfg.Array{{Name: "A", Type: scalar.Int16, Axes: []int{0}, Size: []lattice.Expr{lattice.Const(4)}}}})
	p := b.Param("p")
	index := b.Index(scalar.Int16, lattice.Sym("k").Scale(2).Plus(1))
	three := b.Const(scalar.Int16, 3)
	x := b.Param("x")
	less := b.Compute(scalar.Lt, three, p)
	in := lowering.Inputs{Symbols: map[string]int64{"k": 7}, Scalars: map[string]scalar.Value{"p": 5, "x": scalar.FromFloat(scalar.FP32, 1.5)}}
	for _, c := range []struct {
		id   tdfg.NodeID
		want scalar.Value
	}{
		{p, 5},
		{index, 15},
		{three, 3},
		{b.Compute(scalar.Neg, p), 1<<16 - 5},
		{b.Compute(scalar.Sub, index, p), 10},
		{less, 1},
		{b.Compute(scalar.Select, less, p, three), 5},
		{b.Compute(scalar.Select, b.Compute(scalar.Lt, p, three), p, three), 3},
		{b.Compute(scalar.FMA, p, three, index), 30},
		{b.Convert(scalar.FP32, index), scalar.FromFloat(scalar.FP32, 15)},
		{b.Compute(scalar.Add, x, b.Convert(scalar.FP32, p)), scalar.FromFloat(scalar.FP32, 6.5)},
	} {
		n := b.Node(c.id)
		got, err := lowering.Uniform(graphOf(b, c.id), c.id, in)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%v %v", n.Kind, n.Op)
	}
	tensor := b.Tensor(0, lattice.Rect{lattice.Upto(lattice.Const(4))})
	sum := b.Compute(scalar.Add, tensor, p)
	stream := b.Compute(scalar.Neg, x)
	for _, c := range []struct {
		id   tdfg.NodeID
		in   lowering.Inputs
		want string
	}{
		{stream, lowering.Inputs{}, "lowering: no value for scalar x"},
		{index, lowering.Inputs{}, "lattice: no value for k"},
		{tensor, in, "lowering: node 14: tensor is not the same everywhere"},
		{sum, in, "lowering: node 14: tensor is not the same everywhere"},
	} {
		_, err := lowering.Uniform(graphOf(b, c.id), c.id, c.in)
		require.EqualError(t, err, c.want)
	}

	// A value of streams is there once they have run.
	g := graphOf(b, p)
	g.Nodes = append(g.Nodes, tdfg.Node{Kind: tdfg.Stream, Facts: tdfg.Facts{Type: scalar.Int16}})
	id := tdfg.NodeID(len(g.Nodes) - 1)
	_, err := lowering.Uniform(g, id, in)
	require.ErrorContains(t, err, "no value of the stream yet")
	in.Streams = map[tdfg.NodeID]scalar.Value{id: 77}
	got, err := lowering.Uniform(g, id, in)
	require.NoError(t, err)
	require.EqualValues(t, 77, got)
}

// graphOf returns the nodes of a builder up to one.
func graphOf(b *tdfg.Builder, last tdfg.NodeID) *tdfg.Graph {
	g := &tdfg.Graph{Name: "g"}
	for id := range last + 1 {
		g.Nodes = append(g.Nodes, b.Node(id))
	}
	return g
}
