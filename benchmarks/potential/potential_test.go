package potential

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/noc"
)

const addC = `#include "bitsched.h"
void add(int n, const float A[n], const float B[n], float C[n], int T)
{
	inf_array(A, n); inf_array(B, n); inf_array(C, n);
	for (int t = 0; t < T; t++) {
		#pragma omp parallel for
		for (int i = 0; i < n; i++)
			C[i] = A[i] + B[i];
	}
}
`

func program(t *testing.T, n, rounds int64) *Program {
	g, err := cfront.CompileWhole(context.Background(), "add.c", addC, cfront.Options{})
	require.NoError(t, err)
	m := stream.Memory{}
	for _, a := range g.Arrays {
		m[a.Name] = make([]scalar.Value, n)
	}
	return &Program{Graph: g, Memory: m, Args: stream.Args{Symbols: map[string]int64{"n": n, "T": rounds}}}
}

// TestAdd: of c = a + b, the loads are load streams, the addition and the store belong to
// the store stream. Arrays begin at the same bank, so that near the L3 nothing moves; a
// cache that holds all is filled once and emptied once, whatever the rounds.
func TestAdd(t *testing.T) {
	o, err := MicroOps(context.Background(), program(t, 1280, 1))
	require.NoError(t, err)
	require.Equal(t, int64(160), o.Load)
	require.Equal(t, int64(160), o.Store)
	require.Greater(t, o.Other, int64(160), "a loop of vectors has three micro-ops more")

	mesh := noc.DefaultConfig(2, 2)
	sys := System{Mesh: mesh, LineBytes: 64, CacheBytes: 1 << 20}
	one, err := Move(context.Background(), program(t, 1280, 1), sys)
	require.NoError(t, err)
	// Each core goes through all banks equally: the mean distance of a 2x2 mesh is 1 link.
	require.Equal(t, int64(3*1280), one.Accesses)
	require.InEpsilon(t, 3*1280*4, one.NoPrivate, 0.01)
	require.Equal(t, one.NoPrivate, one.Private, "no reuse")
	require.Zero(t, one.NearLLC)
	two, err := Move(context.Background(), program(t, 1280, 2), sys)
	require.NoError(t, err)
	require.Equal(t, 2*one.NoPrivate, two.NoPrivate)
	require.Equal(t, one.Private, two.Private)
	sys.CacheBytes = 64
	small, err := Move(context.Background(), program(t, 1280, 2), sys)
	require.NoError(t, err)
	require.Equal(t, small.NoPrivate, small.Private, "what does not fit is gone")
}
