package fused_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
)

// shapes has regions on arrays of two shapes, whose lattice together has four times the
// points of each, with sums of rows, which depend on the shape of tiles.
const shapes = `#include "bitsched.h"
static void add(int M, int N, float A[M][N], const float B[M][N], float S[M])
{
#pragma bitsched region reassociate
#pragma omp parallel for
	for (int m = 0; m < M; m++)
		for (int n = 0; n < N; n++)
			A[m][n] += B[m][n];
#pragma bitsched region reassociate
#pragma omp parallel for
	for (int m = 0; m < M; m++) {
		float sum = 0;
		for (int n = 0; n < N; n++)
			sum += A[m][n] * B[m][n];
		S[m] = sum;
	}
}
void shapes(int M, int N, float A[restrict M][N], const float B[restrict M][N], float S[restrict M], float C[restrict N][M], const float D[restrict N][M], float R[restrict N])
{
	inf_array(A, M, N);
	inf_array(B, M, N);
	inf_array(S, M);
	inf_array(C, N, M);
	inf_array(D, N, M);
	inf_array(R, N);
	add(M, N, A, B, S);
	add(N, M, C, D, R);
	add(M, N, A, B, S);
	A[1][0] += C[0][1];
	add(M, N, A, B, S);
}
`

// turns has the like in a loop, in loops of their own.
const turns = `#include "bitsched.h"
void turns(int T, int U, int M, int N, int P, int Q, float A[restrict M][N], const float B[restrict M][N], float C[restrict P][Q], const float D[restrict P][Q], float E[restrict 16])
{
	inf_array(A, M, N);
	inf_array(B, M, N);
	inf_array(C, P, Q);
	inf_array(D, P, Q);
	inf_array(E, 16);
#pragma bitsched region
	for (int t = 0; t < T; t++) {
		for (int u = 0; u < U; u++)
#pragma omp parallel for
			for (int m = 0; m < M; m++)
				for (int n = 0; n < N; n++)
					A[m][n] = A[m][n] * B[m][n] + E[0];
#pragma omp parallel for
		for (int i = 0; i < 16; i++)
			E[i] += 1;
		for (int u = 0; u < U; u++)
#pragma omp parallel for
			for (int m = 0; m < P; m++)
				for (int n = 0; n < Q; n++)
					C[m][n] += D[m][n] * E[0];
	}
}
`

// layers has products of matrices, the second with the result of the first.
const layers = `#include "pointnet.h"
void layers(int M, int K, int N, const float X[restrict M][K], const float W[restrict K][N], float Y[restrict M][N], const float V[restrict N][K], float Z[restrict M][K])
{
	inf_array(X, M, K);
	inf_array(W, K, N);
	inf_array(Y, M, N);
	inf_array(V, N, K);
	inf_array(Z, M, K);
	layer(M, K, N, X, W, Y);
	layer(M, N, K, Y, V, Z);
}
`

// beside has regions on arrays of two sizes.
const beside = `#include "bitsched.h"
static void add(int N, float A[N], const float B[N])
{
#pragma bitsched region
#pragma omp parallel for
	for (int n = 0; n < N; n++)
		A[n] += B[n];
}
void beside(int M, int N, float A[restrict M], const float B[restrict M], float C[restrict N], const float D[restrict N])
{
	inf_array(A, M);
	inf_array(B, M);
	inf_array(C, N);
	inf_array(D, N);
	add(M, A, B);
	add(N, C, D);
	add(M, A, B);
}
`

// pairs reads the row before the one that it has made.
const pairs = `#include "bitsched.h"
void pairs(int M, int K, int N, const float X[restrict M][K], const float W[restrict K][N], float Y[restrict M][N], float Z[restrict M][N])
{
	inf_array(X, M, K);
	inf_array(W, K, N);
	inf_array(Y, M, N);
	inf_array(Z, M, N);
#pragma bitsched region
	for (int m = 1; m < M; m++) {
		for (int k = 0; k < K; k++)
			for (int n = 0; n < N; n++)
				Y[m][n] += X[m][k] * W[k][n];
		for (int n = 0; n < N; n++)
			Z[m][n] = Y[m][n] + Y[m - 1][n];
	}
}
`

// runText runs a function in C, which may have the stages of PointNet++, compared with the sequential
// program.
func runText(t *testing.T, name, text string, sizes map[string]int64, opt fused.Options) *fused.Report {
	stages, err := workload.Builtin("pointnet_ssg", false)
	require.NoError(t, err)
	k := workload.FromSource(name+".c", text, stages.Files)
	require.NoError(t, k.CompileWhole(context.Background(), sizes, nil, false))
	require.NoError(t, k.NoParts)
	r, err := runKernel(t, k, opt)
	require.NoError(t, err)
	return r
}

// TestLayouts has regions that fit the arrays, but not with each other: arrays go home between them,
// unless they would in each iteration of a loop.
func TestLayouts(t *testing.T) {
	for _, config := range []string{"in-l3", "inf-s"} {
		opt := fused.Options{Options: multicore.Options{Config: config, Machine: tiny(t), Threads: 4}}
		r := runText(t, "shapes", shapes, map[string]int64{"M": 256, "N": 64}, opt)
		require.Len(t, r.Regions, 8)
		for i, x := range r.Regions {
			if i%2 == 0 || config == "inf-s" { // last steps of sums need streams
				require.EqualValues(t, 1, x.InMemory, x.Why)
			}
		}
		c := r.Cycles
		require.LessOrEqual(t, c.Drain+c.Flush+c.DRAM+c.Spill+c.Return+c.JIT+c.Compute+c.Move+c.Between+c.Sync+c.Final+c.Near, c.Regions, "each cycle once")
		r = runText(t, "turns", turns, map[string]int64{"M": 256, "N": 64, "P": 64, "Q": 256, "T": 3, "U": 2}, opt)
		require.Len(t, r.Regions, 3)
		require.EqualValues(t, 6, r.Regions[0].InMemory, "it has more operations")
		require.EqualValues(t, 3, r.Regions[1].InMemory)
		require.Zero(t, r.Regions[2].InMemory)
		require.Contains(t, r.Regions[2].Why, "others of the same loop")
	}
}

// TestLayoutsOfLayers has layers of which the last one is 160 wide, and others have many rows.
func TestLayoutsOfLayers(t *testing.T) {
	all := map[string]int64{"P": 64, "D": 16, "K1": 64, "K2": 4, "N1": 64, "N2": 4, "A1": 16, "B1": 16, "C1": 16, "A2": 16, "B2": 16, "C2": 160, "A3": 16, "B3": 16, "C3": 16, "F1": 16, "F2": 4, "F3": 3, "N3": 4}
	r := execute(t, "pointnet_ssg", all, fused.Options{Options: multicore.Options{Config: "in-l3", Machine: small(t), Threads: 4}})
	require.Len(t, r.Regions, 6)
	for _, x := range r.Regions {
		require.EqualValues(t, 1, x.InMemory, x.Why)
	}
}

// TestPartsTogether has regions of several graphs in parts: each does all of them before the next
// begins, but for one that reads what others write, which does each graph in parts. Regions that fit
// are in memory as a whole beside them, but in a loop that has both.
func TestPartsTogether(t *testing.T) {
	opt := fused.Options{Options: multicore.Options{Config: "inf-s", Machine: tiny(t), Threads: 4}, Parts: true}
	for _, c := range []struct {
		name, text string
		sizes      map[string]int64
		regions    int
		parts      int64
	}{
		{"layers", layers, map[string]int64{"M": 512, "K": 16, "N": 64}, 2, 2 + 2},
		{"layers", layers, map[string]int64{"M": 640, "K": 5, "N": 96}, 2, 5 + 5}, // rows of X and Z are not whole lines: 128 at a time
		{"layers", layers, map[string]int64{"M": 256, "K": 64, "N": 96}, 2, 2 + 2},
		{"pairs", pairs, map[string]int64{"M": 512, "K": 4, "N": 64}, 1, 4*2 + 3}, // with the row before, two parts of Z are too large
		{"beside", beside, map[string]int64{"M": 16000, "N": 40000}, 3, 3},
	} {
		r := runText(t, c.name, c.text, c.sizes, opt)
		require.Len(t, r.Regions, c.regions)
		for _, x := range r.Regions {
			require.EqualValues(t, 1, x.InMemory, x.Why)
		}
		require.Equal(t, c.parts, r.Parts, c.name)
	}
	r := runText(t, "turns", turns, map[string]int64{"M": 256, "N": 64, "P": 1024, "Q": 32, "T": 2, "U": 1}, opt)
	require.Zero(t, r.Parts)
	require.EqualValues(t, 2, r.Regions[0].InMemory)
	require.Contains(t, r.Regions[2].Why, "others of the same loop")
}
