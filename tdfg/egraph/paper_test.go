package egraph

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// The text of Infinity Stream at hand has no drawings, so the numbers of nodes that
// figures 4, 6 and 20 show are those that the sections around them describe. Each
// test says how they come about.

var paperSizes = map[string]int64{"N": 12, "M": 12, "L": 12}

func optimize(t testing.TB, g *tdfg.Graph, opt Options) (*tdfg.Graph, Stats) {
	opt.Sizes = paperSizes
	h, stats, err := Optimize(context.Background(), g, opt)
	require.NoError(t, err)
	require.NoError(t, h.Check())
	if g.Arrays[0].Type.Int() {
		newWorld(t, &g.Scope, map[string]int64{"N": 7, "M": 6, "L": 5}, rand.New(rand.NewPCG(1, 1))).requireSame(t, g, h)
	}
	return h, stats
}

// ops counts the computations of a graph by operation.
func ops(g *tdfg.Graph) map[scalar.Op]int {
	count := map[scalar.Op]int{}
	for i := range g.Nodes {
		if g.Nodes[i].Kind == tdfg.Compute {
			count[g.Nodes[i].Op]++
		}
	}
	return count
}

// TestFigure4 has the graphs of figure 4 in which nothing can be saved: (a), the
// stencil B[i] = A[i-1]+A[i]+A[i+1] with its two moves and two sums, and (c), a step
// of Gaussian elimination, in which A[k,k+1)x[k+1,N) and two more tensors are
// broadcast. The step is there twice: equal parts become one, and no more.
func TestFigure4(t *testing.T) {
	g := stencil(t, "figure4a", plane(t, scalar.FP32, 1), [][]int64{{-1}, {0}, {1}}, func([]int64) string { return "" })
	for _, free := range []bool{false, true} {
		_, stats := optimize(t, g, Options{Cost: weights, Reassociate: free})
		require.True(t, stats.Kept && stats.Cheapest && stats.Stop == Saturated)
		require.Equal(t, [3]int{2, 2, 2 * (12 - 2)}, [3]int{stats.After.Moves, stats.After.Computes, int(stats.After.MovedElements)})
	}
	h, stats := optimize(t, elimination(t, scalar.FP32), Options{Cost: weights})
	require.True(t, stats.Cheapest && stats.Stop == Saturated)
	require.Equal(t, [3]int{6, 0, 6}, [3]int{stats.Before.Broadcasts, stats.Before.Moves, stats.Before.Computes})
	require.Equal(t, [3]int{3, 0, 3}, [3]int{stats.After.Broadcasts, stats.After.Moves, stats.After.Computes})
	require.Equal(t, map[scalar.Op]int{scalar.Div: 1, scalar.Mul: 1, scalar.Sub: 1}, ops(h))
}

// TestFigure20 is the example of the appendix: by 4a, 5 and 9 one product of the
// whole array takes the place of those of its two parts. Two moves stay, of as many
// elements as before. It needs no associativity, so it holds for floating-point
// numbers as they are.
func TestFigure20(t *testing.T) {
	for _, typ := range []scalar.Type{scalar.FP32, scalar.Int32} {
		g := figure20(t, typ)
		require.Equal(t, map[scalar.Op]int{scalar.Mul: 2, scalar.Add: 1}, ops(g))
		h, stats := optimize(t, g, Options{Cost: weights})
		require.Equal(t, Saturated, stats.Stop)
		require.Equal(t, map[scalar.Op]int{scalar.Mul: 1, scalar.Add: 1}, ops(h))
		require.Equal(t, 2, stats.Before.Moves)
		require.Equal(t, 2, stats.After.Moves)
		require.Equal(t, int64(2*(12-2)), stats.Before.MovedElements)
		require.Equal(t, int64(2*(12-2)), stats.After.MovedElements)
		if typ.Int() {
			continue
		}
		// The last line of the example: M(S(0, 0, n-2, C(xV, T(0, n))), 0, 1) and its like.
		var moved []string
		for i := range h.Nodes {
			n := &h.Nodes[i]
			switch {
			case n.Kind == tdfg.Tensor:
				require.Equal(t, "[0,N)", n.Rect.String())
			case n.Kind == tdfg.Move:
				from := &h.Nodes[n.Args[0]]
				require.Equal(t, tdfg.Shrink, from.Kind)
				require.Equal(t, scalar.Mul, h.Nodes[from.Args[0]].Op)
				moved = append(moved, from.Domain.String()+" by "+n.Dist.String())
			}
		}
		require.ElementsMatch(t, []string{"[0,N-2) by 1", "[2,N) by -1"}, moved)
	}
}

// TestTensorExpansion is the first of the transformations that section 3.2 shows on
// figure 6: two moves by the same distance, of [0,N-2)x[0,M-2) and
// [0,N-2)x[1,M-1), become one of [0,N-2)x[0,M-1). (Our dimension 0 is the paper's
// second.) Different weights keep the two apart after that.
func TestTensorExpansion(t *testing.T) {
	g := stencil(t, "expansion", plane(t, scalar.FP32, 2), [][]int64{{-1, -1}, {-1, 0}}, func(at []int64) string {
		return []string{"w1", "w0"}[-at[1]]
	})
	h, stats := optimize(t, g, Options{Cost: movesFirst()})
	require.Equal(t, 3, stats.Before.Moves)
	require.Equal(t, 2, stats.After.Moves)
	require.Equal(t, int64((12-2)*(12-2)*3), stats.Before.MovedElements)
	require.Less(t, stats.After.MovedElements, stats.Before.MovedElements)
	expanded := 0
	for i := range h.Nodes {
		if n := &h.Nodes[i]; n.Kind == tdfg.Move && n.Dim == 0 {
			expanded++
			require.True(t, n.Dist.Equal(lattice.Const(1)))
		}
	}
	require.Equal(t, 1, expanded)
}

// movesFirst has moves that cost more than products.
func movesFirst() *Cost {
	c := DefaultCost(lanes)
	c.MoveBit *= 100
	return c
}

// TestFigure6 is the 2-D convolution of figures 4(c) and 6: nine products, with C0
// at the corners, C1 at the edges and C2 in the middle. Unoptimised, each corner
// takes two moves and each edge one.
//
// Common computations are reused: one product by each weight is left. The sum H of
// the left and the right neighbour serves the row itself and, times C0, the rows
// above and below, by two moves; two more moves bring the neighbours above and
// below: six moves. Those of the dimension that comes first have M(N-2) elements each,
// N = M, and those of the other (N-2)(M-2).
//
// Where moves cost more than products, four are enough: C0·H+C1·A is moved up and
// down as a whole, and C1·H+C2·A stays. That takes four products.
func TestFigure6(t *testing.T) {
	const inner, tall = (12 - 2) * (12 - 2), (12 - 2) * 12
	for _, typ := range []scalar.Type{scalar.Int32, scalar.FP32} {
		g := conv2d(t, typ, true)
		require.Equal(t, map[scalar.Op]int{scalar.Mul: 9, scalar.Add: 8}, ops(g))

		h, stats := optimize(t, g, Options{Cost: weights, Reassociate: true, Nodes: 10000})
		require.Equal(t, 12, stats.Before.Moves)
		require.Equal(t, int64(12*inner), stats.Before.MovedElements)
		require.Equal(t, map[scalar.Op]int{scalar.Mul: 3, scalar.Add: 6}, ops(h))
		require.Equal(t, 6, stats.After.Moves)
		require.Equal(t, int64(2*tall+4*inner), stats.After.MovedElements)

		h, stats = optimize(t, g, Options{Reassociate: true, Cost: movesFirst(), Nodes: 10000})
		require.Equal(t, map[scalar.Op]int{scalar.Mul: 4, scalar.Add: 5}, ops(h))
		require.Equal(t, 4, stats.After.Moves)
		require.Equal(t, int64(2*tall+2*inner), stats.After.MovedElements)
	}
}

// TestFigure6InOrder: where sums must keep their order, moves are shared and the
// products are reused all the same, since 4a, 5 and 9 change no bit. One product by
// each weight is left. C0·A is moved left and right once, and so is C1·A. The terms
// of the first row are added up first, so they are moved down together; the three
// of the last row are moved up one by one. That is 2+2+1+3 moves in the place of 12.
func TestFigure6InOrder(t *testing.T) {
	h, stats := optimize(t, conv2d(t, scalar.FP32, true), Options{Cost: weights})
	require.Equal(t, map[scalar.Op]int{scalar.Mul: 3, scalar.Add: 8}, ops(h))
	require.Equal(t, 8, stats.After.Moves)
}

// TestNineWeights: with nine weights nothing can be reused, but the moves merge:
// three products of a row are added up before they are moved, four moves in all.
func TestNineWeights(t *testing.T) {
	h, stats := optimize(t, conv2d(t, scalar.Int32, false), Options{Cost: weights, Nodes: 10000})
	require.Equal(t, map[scalar.Op]int{scalar.Mul: 9, scalar.Add: 8}, ops(h))
	require.Equal(t, 12, stats.Before.Moves)
	require.Equal(t, 4, stats.After.Moves)
}

// TestStencil3D: seven points with two weights. The six moves stay, the products of
// the neighbours become one.
func TestStencil3D(t *testing.T) {
	h, stats := optimize(t, stencil3d(t, scalar.Int32), Options{Cost: weights, Nodes: 10000})
	require.Equal(t, 6, stats.After.Moves)
	require.Equal(t, map[scalar.Op]int{scalar.Mul: 2, scalar.Add: 6}, ops(h))
	require.LessOrEqual(t, stats.After.MovedElements, stats.Before.MovedElements)
}
