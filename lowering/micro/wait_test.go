package micro

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

// TestWaitingTakesNoMemory lets a thread find many times that its loop has not started.
func TestWaitingTakesNoMemory(t *testing.T) {
	g, err := cfront.CompileWhole(context.Background(), "f.c", `#include "bitsched.h"
void f(int N, float A[N])
{
	inf_array(A, N);
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		A[i] = A[i] + 1.0f;
}
`, cfront.Options{})
	require.NoError(t, err)
	p, err := New(g, stream.Memory{"A": make([]scalar.Value, 64)}, stream.Args{Symbols: map[string]int64{"N": 64}}, Options{Threads: 2, Vector: 64})
	require.NoError(t, err)
	waiting := p.threads[1]
	var b uop.Batch
	for range 10_000 {
		b.Reset()
		status, err := waiting.Next(&b, 8)
		require.NoError(t, err)
		require.Equal(t, uop.Wait, status)
		require.NoError(t, waiting.Resolve(make([]byte, 8)))
	}
	require.Less(t, cap(waiting.out.Ops), 100)
	require.Less(t, cap(waiting.out.Data), 1000)
}
