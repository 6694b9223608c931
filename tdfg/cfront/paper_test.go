package cfront_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Claims of Infinity Stream about its compiler, by section. What is different here is
// said at each.

// nodes lists the nodes of a graph as text, without facts, numbers and what is common
// to all.
func nodes(g *tdfg.Graph) []string {
	var list []string
	for _, line := range strings.Split(g.String(), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "%") || strings.HasPrefix(line, "store") {
			list = append(list, line)
		}
	}
	return list
}

func one(t *testing.T, source string) *tdfg.Graph {
	t.Helper()
	p, err := compile(source, nil)
	require.NoError(t, err)
	require.Len(t, p.Regions(), 1)
	return p.Regions()[0].Graph
}

func kinds(g *tdfg.Graph) map[tdfg.Kind]int {
	m := map[tdfg.Kind]int{}
	for _, n := range g.Nodes {
		m[n.Kind]++
	}
	return m
}

// TestFigure4a is section 3.1 and figure 4(a): three load streams become tensors, of
// which A[0,N-2) and A[2,N) move by one to align with A[1,N-1).
func TestFigure4a(t *testing.T) {
	g := one(t, region("", "for (int i = 1; i < N - 1; i++) B[i] = A[i - 1] + A[i] + A[i + 1];"))
	require.Equal(t, []string{
		"%0 = tensor A [0,N-2)x[0,1)", "%1 = mv %0 dim 0 dist 1", "%2 = tensor A [1,N-1)x[0,1)", "%3 = cmp add %1 %2",
		"%4 = tensor A [2,N)x[0,1)", "%5 = mv %4 dim 0 dist -1", "%6 = cmp add %3 %5", "store %6 B",
	}, nodes(g))
}

// TestFigure4b is figure 4(b) and section 3.3: a reduction is split into a partial one
// in the memory and a final one near it. Sums of floats are split only where the
// pragma says that their order does not matter; the paper does not say what its
// compiler asks for.
func TestFigure4b(t *testing.T) {
	body := "{ float v = 0; for (int i = 0; i < N; i++) v += A[i]; B[0] = v; }"
	require.Equal(t, []string{
		"%0 = const fp32 0", "%1 = tensor A [0,N)x[0,1)", "%2 = reduce add %1 dim 0 group 0", "%3 = final add %2 dim 0", "%4 = cmp add %0 %3", "store %4 B",
	}, nodes(one(t, region("reassociate", body))))
	g := one(t, region("", body))
	require.Zero(t, kinds(g)[tdfg.Reduce])
	require.Equal(t, 1, kinds(g)[tdfg.Stream])
	// Integers have the same sum in any order, and so have minima of floats.
	require.Equal(t, 1, kinds(one(t, region("", "{ int v = 0; for (int i = 0; i < N; i++) v += I[i]; I[0] = v; }")))[tdfg.Reduce])
	require.Equal(t, 1, kinds(one(t, region("", "{ float v = A[0]; for (int i = 1; i < N; i++) v = fminf(v, A[i]); B[0] = v; }")))[tdfg.Reduce])
}

// TestFigure4c is figure 4(c) and section 3.2: in each round of the sequential loop,
// row A[k,k+1)x[k+1,N) is broadcast along the other dimension, to align with
// A[k+1,N)x[k+1,N), and so are the factors m. The paper leaves the division to a
// stream for its low parallelism; here it is in the memory too, and package system
// decides for whole regions.
func TestFigure4c(t *testing.T) {
	p, err := compile(`#include "bitsched.h"
void gauss(int N, float A[N][N])
{
	inf_array(A, N, N);
#pragma bitsched region
	for (int k = 0; k < N; k++)
		for (int i = k + 1; i < N; i++) {
			float m = A[i][k] / A[k][k];
			for (int j = k + 1; j < N; j++)
				A[i][j] -= m * A[k][j];
		}
}
`, nil)
	require.NoError(t, err)
	loop, ok := p.Body[0].(*tdfg.Loop)
	require.True(t, ok)
	require.Equal(t, "k", loop.Var)
	require.Len(t, p.Regions(), 1)
	g := p.Regions()[0].Graph
	var broadcasts []string
	for _, n := range g.Nodes {
		if n.Kind == tdfg.Broadcast {
			broadcasts = append(broadcasts, fmt.Sprintf("%s along %d to %s", g.Nodes[n.Args[0]].Domain, n.Dim, n.Domain))
		}
	}
	require.Equal(t, []string{
		"[k,k+1)x[k,k+1) along 1 to [k,k+1)x[k+1,N)", // the pivot
		"[k,k+1)x[k+1,N) along 0 to [k+1,N)x[k+1,N)", // m
		"[k+1,N)x[k,k+1) along 1 to [k+1,N)x[k+1,N)", // row k
	}, broadcasts)
	require.Zero(t, kinds(g)[tdfg.Move])
	require.Equal(t, "[k+1,N)x[k+1,N)", g.Nodes[g.Outputs[0].Node].Domain.String())
}

// TestLattice is section 3.2: the lattice has as many dimensions as the array with
// most of them, and each array lies at its origin.
func TestLattice(t *testing.T) {
	require.Equal(t, 2, one(t, region("", "for (int i = 0; i < N; i++) A[i] = B[i];")).Dims)
	g := one(t, region("", "for (int i = 0; i < N; i++) for (int j = 0; j < M; j++) C[i][j] = D[i][j] * s;"))
	require.Equal(t, "[0,M)x[0,N)", g.Nodes[g.Outputs[0].Node].Domain.String())
}

// TestNotUnrolled is section 3.3: what is no rectangle of an array stays a stream, such as
// indirect accesses. There strides, diagonals and indices as numbers do too; here
// strides are views, where the number of elements is affine in the sizes.
func TestNotUnrolled(t *testing.T) {
	for _, body := range []string{
		"for (int i = 0; i < N; i++) A[I[i]] = B[i];",                 // indirect, written
		"for (int i = 0; i < N; i++) A[i] = B[I[i]];",                 // indirect, read
		"for (int i = 1; i < N; i++) A[i] = A[i - 1] + B[i];",         // a recurrence
		"for (int i = 0; i < N; i += 2) A[i] = B[i];",                 // a stride, N perhaps odd
		"for (int i = 0; i < N; i++) A[i] = B[i] > 0 ? B[i - 1] : 0;", // perhaps outside
	} {
		g := one(t, region("", body))
		require.Equal(t, 1, kinds(g)[tdfg.Stream], body)
		require.Zero(t, kinds(g)[tdfg.Compute], body)
	}
}

// TestHybrid is section 3.3, of kmeans: tensor operations on what streams gather, and
// a stream that updates indirectly what they computed, in one graph.
func TestHybrid(t *testing.T) {
	p, err := compile(region("", `{
	for (int i = 0; i < N; i++) A[i] = B[I[i]];
	for (int i = 0; i < N; i++) A[i] = A[i] * s;
	for (int i = 0; i < N; i++) B[I[i]] += A[i];
}`), nil)
	require.NoError(t, err)
	require.Len(t, p.Regions(), 1)
	g := p.Regions()[0].Graph
	require.Equal(t, 2, kinds(g)[tdfg.Stream])
	last := g.Nodes[len(g.Nodes)-1]
	require.Equal(t, tdfg.Stream, last.Kind)
	require.Equal(t, []string{"A"}, last.Stream.Args)
	require.Equal(t, tdfg.Compute, g.Nodes[last.Args[0]].Kind)
}

// TestFigure8 is section 3.5 and figure 8: matrix multiplication has three loops and
// no tiles. Of the outer product, each round of k broadcasts a column of A and a row
// of B to all of C and adds the products in place; the inner product is a reduction.
func TestFigure8(t *testing.T) {
	mm := func(clause, body string) *tdfg.Program {
		p, err := compile(`#include "bitsched.h"
void mm(int M, int N, int K, const float A[M][K], const float B[K][N], const float T[N][K], float C[M][N])
{
	inf_array(A, M, K); inf_array(B, K, N); inf_array(T, N, K); inf_array(C, M, N);
#pragma bitsched region `+clause+"\n"+body+"\n}\n", nil)
		require.NoError(t, err)
		require.Len(t, p.Regions(), 1)
		return p
	}
	outer := mm("", "for (int k = 0; k < K; k++) for (int m = 0; m < M; m++) for (int n = 0; n < N; n++) C[m][n] += A[m][k] * B[k][n];")
	require.Equal(t, []string{
		"%0 = tensor C [0,N)x[0,M)", "%1 = tensor A [k,k+1)x[0,M)", "%2 = tensor B [0,N)x[k,k+1)", "%3 = bc %1 dim 0 dist -k count N",
		"%4 = bc %2 dim 1 dist -k count M", "%5 = cmp mul %3 %4", "%6 = cmp add %0 %5", "store %6 C",
	}, nodes(outer.Regions()[0].Graph))
	inner := mm("reassociate", "for (int m = 0; m < M; m++) for (int n = 0; n < N; n++) { float s = 0; for (int k = 0; k < K; k++) s += A[m][k] * T[n][k]; C[m][n] = s; }")
	k := kinds(inner.Regions()[0].Graph)
	require.Equal(t, []int{1, 1, 1}, []int{k[tdfg.Reduce], k[tdfg.Final], k[tdfg.Broadcast]})
	loop, ok := inner.Body[0].(*tdfg.Loop)
	require.True(t, ok)
	require.Equal(t, "m", loop.Var)
}

// TestIntTypes has what C computes as int in the narrowest type with the same bits.
func TestIntTypes(t *testing.T) {
	p, err := compile(`#include "bitsched.h"
void k(int N, int8_t A[N], int8_t B[N], int16_t C[N])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N);
#pragma bitsched region
	for (int i = 0; i < N; i++) {
		B[i] = A[i] + B[i] * 3;
		C[i] = A[i] > B[i] ? A[i] : B[i];
		A[i] = (A[i] + B[i]) / 2;
	}
}
`, nil)
	require.NoError(t, err)
	types := map[scalar.Op]scalar.Type{}
	for _, n := range p.Regions()[0].Graph.Nodes {
		if n.Kind == tdfg.Compute {
			types[n.Op] = max(types[n.Op], n.Type)
		}
	}
	// The sum that is divided needs its ninth bit, and so is one of int.
	require.Equal(t, map[scalar.Op]scalar.Type{scalar.Mul: scalar.Int8, scalar.Add: scalar.Int32, scalar.Max: scalar.Int8, scalar.Div: scalar.Int32}, types)
}
