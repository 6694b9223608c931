package micro

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// TestEstimate has counts by hand of a sum of arrays on 4 threads: 16 rows of 512 elements each.
func TestEstimate(t *testing.T) {
	for _, typ := range []string{"float", "int"} {
		estimate(t, typ)
	}
}

func estimate(t *testing.T, typ string) {
	g, err := cfront.CompileWhole(context.Background(), "f.c", strings.ReplaceAll(`#include "bitsched.h"
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
`, "float", typ), cfront.Options{})
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
	vector := map[string]float64{"float": e.Vector, "int": e.VectorI}
	require.Equal(t, float64(mine*steps), vector[typ])
	require.Equal(t, float64(mine*steps), e.Vector+e.VectorI)
	require.Equal(t, float64(2*mine*steps), e.Lines, "of A, and of B, which is an update")
	require.Zero(t, e.Stores, "as they are loaded before")
	require.Equal(t, map[string]float64{"A": rows * 2048, "B": rows * 2048}, e.Bytes)
	require.Equal(t, 1.0, e.Configured, "streams go through all rows of a thread")
	require.Zero(t, e.Waits, "as rows are apart, several are under way")
	require.Equal(t, float64(2*mine*steps), e.Streamed)
	require.Zero(t, e.Left, "nothing of an iteration is left")
	require.Zero(t, e.Shared)

	caches.Again = "t"
	require.Zero(t, p.Estimate(around, values, caches).Lines, "kept since the last time")
	caches.Others = 1 << 20
	require.Positive(t, p.Estimate(around, values, caches).Lines, "and others come between")
}

// TestEstimateOfStores has stores by hand, on 4 threads: rows of 1,000 elements of 4 bytes follow each
// other, so that all but the first six lines of a thread's are brought by a prefetcher that needs five misses; two
// halves of an array are not the same lines.
func TestEstimateOfStores(t *testing.T) {
	g, err := cfront.CompileWhole(context.Background(), "f.c", `#include "bitsched.h"
void f(int N, int A[2 * N][1000], int B[N][1000])
{
	inf_array(A, 2 * N, 1000);
	inf_array(B, N, 1000);
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		for (int j = 0; j < 1000; j++)
		{
			A[i][j] = B[i][j] + 1;
			A[N + i][j] = B[i][j] + 2;
		}
}
`, cfront.Options{})
	require.NoError(t, err)
	const rows = 64
	memory := stream.Memory{"A": make([]scalar.Value, 2*rows*1000), "B": make([]scalar.Value, rows*1000)}
	p, err := New(g, memory, stream.Args{Symbols: map[string]int64{"N": rows}}, Options{Threads: 4, Vector: 64})
	require.NoError(t, err)
	e := p.Estimate(g.Body, map[string]int64{"N": rows}, Caches{L1: 1 << 12, L2: 1 << 14, Banks: 16, Interleave: 1024, Train: 5})
	const lines = rows / 4 * 1000 * 4 / lineBytes
	require.InDelta(t, 2*lines, e.Stores, 2)
	require.InDelta(t, 2*(lines-6), e.Ahead, 2)
	require.InDelta(t, 3*lines, e.Lines, 3)
	require.Equal(t, map[string]bool{"A": true, "B": false}, e.Written)
	require.Zero(t, p.Estimate(g.Body, map[string]int64{"N": rows}, Caches{L1: 1 << 12, L2: 1 << 14, Banks: 16, Interleave: 1024}).Ahead)
}

// TestEstimateCondition has statements under one condition, which is evaluated once for all of them: each
// more is a product and a store.
func TestEstimateCondition(t *testing.T) {
	ops := func(statements string) float64 {
		g, err := cfront.CompileWhole(context.Background(), "f.c", `#include "bitsched.h"
void f(const int A[1024], int B[1024], int C[1024])
{
	inf_array(A, 1024);
	inf_array(B, 1024);
	inf_array(C, 1024);
	for (int i = 0; i < 1024; i++)
		if (i == 3 || i == 70) {
`+statements+`
		}
}
`, cfront.Options{})
		require.NoError(t, err)
		memory := stream.Memory{}
		for _, name := range []string{"A", "B", "C"} {
			memory[name] = make([]scalar.Value, 1024)
		}
		p, err := New(g, memory, stream.Args{}, Options{Threads: 1, Vector: 64})
		require.NoError(t, err)
		return p.Estimate(g.Body, map[string]int64{}, Caches{L1: 1 << 12, L2: 1 << 20, Banks: 16, Interleave: 64}).MicroOps
	}
	one, both := ops("B[i] = A[i] * 5;"), ops("B[i] = A[i] * 5; C[i] = A[i] * 7;")
	require.Equal(t, 2*1024/16.0, both-one)
}
