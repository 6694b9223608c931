package egraph

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// plane has arrays A and B of a type and of dims dimensions with the sizes N, M, L,
// at least 4.
func plane(t testing.TB, typ scalar.Type, dims int) tdfg.Scope {
	s := lattice.NewSpace()
	a := tdfg.Array{Name: "A", Type: typ}
	for d, name := range []string{"N", "M", "L"}[:dims] {
		require.NoError(t, s.Declare(name, lattice.Const(4), lattice.Expr{}, false))
		a.Size = append(a.Size, lattice.Sym(name))
		a.Axes = append(a.Axes, d)
	}
	b := a
	b.Name = "B"
	return tdfg.Scope{Dims: dims, Space: s, Arrays: []*tdfg.Array{&a, &b}}
}

// tap adds the element of array 0 at a distance from each inner point, as the C
// front end does: the elements that are read, moved to where they are used.
func tap(b *tdfg.Builder, s *tdfg.Scope, at []int64) tdfg.NodeID {
	r := s.ArrayRect(0)
	for d, x := range at {
		r[d] = lattice.Interval{Lo: r[d].Lo.Plus(1 + x), Hi: r[d].Hi.Plus(x - 1)}
	}
	n := b.Tensor(0, r)
	for d, x := range at {
		if x != 0 {
			n = b.Move(n, d, lattice.Const(-x))
		}
	}
	return n
}

// stencil adds up the weighted neighbours of each inner point of array 0. weight
// names the weight of each; where it is "" the element counts as it is.
func stencil(t testing.TB, name string, s tdfg.Scope, taps [][]int64, weight func(at []int64) string) *tdfg.Graph {
	typ := s.Arrays[0].Type
	seen := map[string]bool{}
	for _, at := range taps {
		if w := weight(at); w != "" && !seen[w] {
			seen[w] = true
			s.Params = append(s.Params, tdfg.Param{Name: w, Type: typ})
		}
	}
	b := tdfg.NewBuilder(name, s)
	sum := tdfg.None
	for _, at := range taps {
		x := tap(b, &s, at)
		if w := weight(at); w != "" {
			x = b.Compute(scalar.Mul, b.Param(w), x)
		}
		if sum == tdfg.None {
			sum = x
		} else {
			sum = b.Compute(scalar.Add, sum, x)
		}
	}
	b.Store(sum, 1)
	g, err := b.Finish()
	require.NoError(t, err)
	return g
}

// conv2d is figure 4(c) of Infinity Stream in its three weights, or with nine.
func conv2d(t testing.TB, typ scalar.Type, shared bool) *tdfg.Graph {
	var taps [][]int64
	for y := int64(-1); y <= 1; y++ {
		for x := int64(-1); x <= 1; x++ {
			taps = append(taps, []int64{x, y})
		}
	}
	return stencil(t, "conv2d", plane(t, typ, 2), taps, func(at []int64) string {
		if shared {
			return []string{"C2", "C1", "C0"}[at[0]*at[0]+at[1]*at[1]]
		}
		return string(rune('e'+at[0]+3*at[1])) + "w"
	})
}

// stencil3d has seven points, the centre with a weight of its own.
func stencil3d(t testing.TB, typ scalar.Type) *tdfg.Graph {
	taps := [][]int64{{0, 0, 0}, {-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}}
	return stencil(t, "stencil3d", plane(t, typ, 3), taps, func(at []int64) string {
		if at[0] == 0 && at[1] == 0 && at[2] == 0 {
			return "C0"
		}
		return "C1"
	})
}

// figure20 is C(+, C(xV, M(T(0,n-2),0,1)), C(xV, M(T(2,n),0,-1))).
func figure20(t testing.TB, typ scalar.Type) *tdfg.Graph {
	return stencil(t, "figure20", plane(t, typ, 1), [][]int64{{-1}, {1}}, func([]int64) string { return "V" })
}

// conv3d has 27 points, with a weight for each distance from the centre.
func conv3d(t testing.TB, typ scalar.Type) *tdfg.Graph {
	var taps [][]int64
	for i := range int64(27) {
		taps = append(taps, []int64{i%3 - 1, i/3%3 - 1, i/9 - 1})
	}
	return stencil(t, "conv3d", plane(t, typ, 3), taps, func(at []int64) string {
		return []string{"C3", "C2", "C1", "C0"}[at[0]*at[0]+at[1]*at[1]+at[2]*at[2]]
	})
}

// elimination is a step of Gaussian elimination, with the loop variable k:
// A[i][j] -= A[i][k] / A[k][k] * A[k][j] for i, j > k. B is written likewise, which
// computes the factors again.
func elimination(t testing.TB, typ scalar.Type) *tdfg.Graph {
	n, k := lattice.Sym("N"), lattice.Sym("k")
	s := plane(t, typ, 2)
	s.Space = lattice.NewSpace()
	require.NoError(t, s.Space.Declare("N", lattice.Const(2), lattice.Expr{}, false))
	require.NoError(t, s.Space.Declare("k", lattice.Const(0), n.Plus(-2), true))
	for _, a := range s.Arrays {
		a.Size = []lattice.Expr{n, n}
	}
	b := tdfg.NewBuilder("elimination", s)
	pivot, after := lattice.At(k), lattice.Interval{Lo: k.Plus(1), Hi: n}
	count := n.Sub(k).Plus(-1)
	part := func() tdfg.NodeID {
		diagonal := b.Broadcast(b.Tensor(0, lattice.Rect{pivot, pivot}), 1, lattice.Const(1), count)
		factor := b.Compute(scalar.Div, b.Tensor(0, lattice.Rect{pivot, after}), diagonal)
		row := b.Broadcast(b.Tensor(0, lattice.Rect{after, pivot}), 1, lattice.Const(1), count)
		product := b.Compute(scalar.Mul, b.Broadcast(factor, 0, lattice.Const(1), count), row)
		return b.Compute(scalar.Sub, b.Tensor(0, lattice.Rect{after, after}), product)
	}
	b.Store(part(), 0)
	b.Store(part(), 1)
	g, err := b.Finish()
	require.NoError(t, err)
	return g
}

// outer is a step of the outer product form of a matrix product, in which the
// result of a type change is broadcast: B[i][j] += A[i][k] * A[k][j], with the row
// converted and scaled after it was broadcast.
func outer(t testing.TB) *tdfg.Graph {
	n, k := lattice.Sym("N"), lattice.Sym("k")
	s := plane(t, scalar.Int32, 2)
	s.Space = lattice.NewSpace()
	require.NoError(t, s.Space.Declare("N", lattice.Const(1), lattice.Expr{}, false))
	require.NoError(t, s.Space.Declare("k", lattice.Const(0), n.Plus(-1), true))
	for _, a := range s.Arrays {
		a.Size = []lattice.Expr{n, n}
	}
	s.Params = []tdfg.Param{{Name: "alpha", Type: scalar.Int32}}
	b := tdfg.NewBuilder("outer", s)
	all := lattice.Upto(n)
	column := b.Broadcast(b.Tensor(0, lattice.Rect{lattice.At(k), all}), 0, k.Scale(-1), n)
	row := b.Broadcast(b.Tensor(0, lattice.Rect{all, lattice.At(k)}), 1, k.Scale(-1), n)
	row = b.Compute(scalar.Mul, b.Param("alpha"), b.Convert(scalar.Int32, b.Convert(scalar.Int16, row)))
	b.Store(b.Compute(scalar.Add, b.Tensor(1, lattice.Rect{all, all}), b.Compute(scalar.Mul, column, row)), 1)
	g, err := b.Finish()
	require.NoError(t, err)
	return g
}
