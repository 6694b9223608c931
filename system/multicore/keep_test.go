package multicore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile/se"
)

// keptC has rows that take the same elements: a row of another array, a column, one element in all of a row,
// rows of three blocks, and, last, rows of the array that is written.
const keptC = `#include "bitsched.h"
void f(int N, const float A[restrict N][2], const float B[restrict 2][N], float C[restrict N][N], const float P[restrict N][3], const float K[restrict N][3], float D[restrict N][N], float E[restrict N][3 * N], const float G[restrict 3 * N], int32_t H[restrict N][N])
{
	inf_array(A, N, 2); inf_array(B, 2, N); inf_array(C, N, N); inf_array(P, N, 3); inf_array(K, N, 3); inf_array(D, N, N); inf_array(E, N, 3 * N); inf_array(G, 3 * N); inf_array(H, N, N);
	for (int k = 0; k < 2; k++)
#pragma omp parallel for
		for (int m = 0; m < N; m++)
			for (int n = 0; n < N; n++)
				C[m][n] += A[m][k] * B[k][n];
	for (int d = 0; d < 3; d++)
#pragma omp parallel for
		for (int p = 0; p < N; p++)
			for (int c = 0; c < N; c++) {
				float t = P[p][d] - K[c][d];
				D[p][c] += t * t;
			}
#pragma omp parallel for
	for (int m = 0; m < N; m++)
		for (int n = 0; n < 3 * N; n++)
			E[m][n] = G[n] + A[m][0];
#pragma omp parallel for
	for (int m = 1; m < N; m++)
		for (int n = 0; n < N; n++)
			H[m][n] += H[0][n];
}
`

// TestKept has banks keep operands that come again, and patterns of strands that do, and compares memory with
// the sequential program, also while streams are paused, which forget both.
func TestKept(t *testing.T) {
	run := func(set []string, opt multicore.Options) (*multicore.Report, error) {
		p, want := compiled(t, keptC, 128, 5)
		opt.Machine = machine(t, "nsc-small", "ooo8")
		opt.Threads, opt.Config, opt.Warm, opt.MaxCycles = 4, "near-l3", true, 1<<22
		for i := 0; i < len(set); i += 2 {
			require.NoError(t, opt.Machine.Set(set[i], set[i+1]))
		}
		r, err := multicore.Run(context.Background(), p, opt)
		if err == nil {
			err = sameMemory(p, want)
		}
		return r, err
	}
	const n = 128
	always := []string{"streams.core.offload", "always"}
	with, err := run(always, multicore.Options{})
	require.NoError(t, err)
	for _, l := range with.Streams.Loops[:len(with.Streams.Loops)-1] {
		assert.Positive(t, l.Offloaded, "%+v", l)
	}
	without, err := run(append([]string{"streams.l3.keep_operands", "false"}, always...), multicore.Options{})
	require.NoError(t, err)
	assert.Zero(t, without.Streams.Bank.Kept)
	assert.Positive(t, with.Streams.Bank.Kept)
	assert.LessOrEqual(t, int64(with.Streams.Bank.Kept), int64(n*n*(2*2+3*2+2*3+1)))
	b, o := &with.Streams.Bank, &without.Streams.Bank
	assert.Less(t, b.Reads+b.Spared, o.Reads+o.Spared)
	assert.Equal(t, o.Operations, b.Operations)
	moved := func(r *multicore.Report, kinds ...string) (sum uint64) {
		for _, c := range r.Streams.Messages {
			if slices.Contains(kinds, c.Name) {
				sum += c.ByteHops
			}
		}
		return sum
	}
	assert.Less(t, 5*moved(with, "forward", "broadcast"), 4*moved(without, "forward", "broadcast"))
	told, err := run(append([]string{"streams.l3.keep_patterns", "false"}, always...), multicore.Options{})
	require.NoError(t, err)
	assert.Less(t, moved(with, "migrate"), moved(told, "migrate"))

	x := rand.New(rand.NewPCG(7, 3))
	var ended uint64
	for range 3 {
		inject := &se.Inject{Fault: x.Float64() / 8, Switch: 0.003 * x.Float64()}
		r, err := run(append([]string{"streams.l2.slices", fmt.Sprint(16 + x.IntN(32))}, always...), multicore.Options{Inject: inject, Seed: x.Uint64()})
		require.NoError(t, err, "%+v", inject)
		assert.Positive(t, r.Streams.Bank.Kept)
		for _, c := range r.Streams.Core.Ended {
			ended += c
		}
	}
	assert.Positive(t, ended)
}

// shortC has products of rows that are shorter than two ranges.
const shortC = `#include "bitsched.h"
void f(int N, const float X[N][N], const float W[N][32], float Y[N][32])
{
	inf_array(X, N, N); inf_array(W, N, 32); inf_array(Y, N, 32);
#pragma omp parallel for
	for (int m = 0; m < N; m++)
		for (int k = 0; k < N; k++)
			for (int n = 0; n < 32; n++)
				Y[m][n] += X[m][k] * W[k][n];
}
`

// TestShortFetches has streams of instances that are too short to leave the core fetch for it, as
// those that stay for another reason.
func TestShortFetches(t *testing.T) {
	for _, config := range []string{"ns", "near-l3"} {
		p, want := compiled(t, shortC, 64, 3)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: machine(t, "nsc-small", "ooo8"), Threads: 4, Config: config, MaxCycles: 1 << 22})
		require.NoError(t, err, config)
		require.NoError(t, sameMemory(p, want), config)
		require.Len(t, r.Streams.Loops, 1)
		assert.Equal(t, int64(64), r.Streams.Loops[0].Short, config) // one for all rows of W
		assert.Zero(t, r.Streams.Core.Offloaded, config)
		assert.GreaterOrEqual(t, r.Streams.Core.Prefetched, uint64(64*64*2), config) // two lines of each row of W
	}
}
