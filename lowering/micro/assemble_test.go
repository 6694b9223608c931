package micro_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

// TestAssembled compiles loops whose loads lie rows apart, and counts what brings their lanes
// together: gcc 12 makes registers of 32 bytes of the first, 16 of the second, and leaves the
// third scalar (-O3 -march=skylake-avx512 -mprefer-vector-width=512 -ffp-contract=off, loops alone in a
// function).
func TestAssembled(t *testing.T) {
	const n = 64
	for _, c := range []struct {
		loop         string
		each, groups int // insertions of a group
	}{
		{"float t = x - A[i][k]; B[i] += t * t;", 7, n / 8},
		{"if (A[i][k] < B[i]) I[i] = k;", 3, n / 4},
		{"I[i] = J[i][k];", 0, 0},
	} {
		text := `#include "bitsched.h"
void f(int n, int k, float x, float A[restrict n][n], float B[restrict n], int32_t I[restrict n], int32_t J[restrict n][n])
{
	for (int i = 0; i < n; i++) {
		` + c.loop + `
	}
}
`
		g, err := cfront.CompileWhole(context.Background(), "f.c", text, cfront.Options{})
		require.NoError(t, err)
		args := stream.Args{Symbols: map[string]int64{"n": n, "k": 3}, Params: map[string]scalar.Value{"x": scalar.FromFloat(scalar.FP32, 2)}}
		mem := stream.Memory{}
		for _, a := range g.Arrays {
			size := n
			if len(a.Size) == 2 {
				size *= n
			}
			for i := range size {
				mem[a.Name] = append(mem[a.Name], scalar.FromInt(a.Type, int64(i*7%50)))
			}
		}
		want := clone(mem)
		_, err = g.Run(context.Background(), want, args)
		require.NoError(t, err)
		p, err := micro.New(g, mem, args, micro.Options{Threads: 1, Vector: 64})
		require.NoError(t, err)
		m := newMachine(p)
		m.run(t, p, 1)
		require.Equal(t, want, mem, c.loop)
		require.Equal(t, c.each*c.groups, m.counts[uop.Shuffle], "%s %q", c.loop, p.Why())
	}
}
