package micro

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// TestEstimate has counts by hand of a sum of arrays on 4 threads: 16 rows of 512 elements each.
func TestEstimate(t *testing.T) {
	g, err := cfront.CompileWhole(context.Background(), "f.c", `#include "bitsched.h"
void f(int N, float A[N][512], float B[N][512])
{
	inf_array(A, N, 512);
	inf_array(B, N, 512);
	for (int t = 0; t < 9; t++)
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			for (int j = 0; j < 512; j++)
				B[i][j] = A[i][j] + B[i][j];
}
`, cfront.Options{})
	require.NoError(t, err)
	const rows = 64
	sizes := map[string]int64{"N": rows}
	memory := stream.Memory{"A": make([]scalar.Value, rows*512), "B": make([]scalar.Value, rows*512)}
	plan, err := nearstream.Analyze(g)
	require.NoError(t, err)
	p, err := New(g, memory, stream.Args{Symbols: sizes}, Options{Threads: 4, Vector: 64, Streams: &Streams{Plan: plan, Level: Compute, Range: 8, SyncFree: true, Decouple: true}})
	require.NoError(t, err)
	around := g.Body
	for len(around) == 1 && around[0].(*stream.Loop).Parallel == nil {
		around = around[0].(*stream.Loop).Body
	}
	values := map[string]int64{"N": rows, "t": 0}
	caches := Caches{L1: 1 << 12, L2: 1 << 20, Banks: 16, Interleave: 1024}
	e := p.Estimate(around, values, caches)
	const mine, steps = rows / 4, 512 / 16
	require.Equal(t, 1.0, e.Forks)
	require.Equal(t, float64(mine*steps*(2+1+1+3)), e.MicroOps, "two loads, an addition, a store, and the loop")
	require.Equal(t, float64(mine*steps), e.Vector)
	require.Equal(t, float64(2*mine*steps), e.Lines, "of A, and of B, which is an update")
	require.Zero(t, e.Stores, "as they are loaded before")
	require.Equal(t, map[string]float64{"A": rows * 2048, "B": rows * 2048}, e.Bytes)
	require.Equal(t, float64(mine), e.Configured)
	require.Equal(t, float64(2*mine*steps), e.Streamed)
	require.Zero(t, e.Left, "nothing of an iteration is left")
	require.Zero(t, e.Shared)

	caches.Again = "t"
	require.Zero(t, p.Estimate(around, values, caches).Lines, "kept since the last time")
	caches.Others = 1 << 20
	require.Positive(t, p.Estimate(around, values, caches).Lines, "and others come between")
}
