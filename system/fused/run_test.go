package fused_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/tc"
)

// execute runs a kernel and compares its memory with that of the sequential program.
func execute(t testing.TB, name string, sizes map[string]int64, opt fused.Options) *fused.Report {
	k, err := workload.Builtin(name, false)
	require.NoError(t, err)
	require.NoError(t, k.CompileWhole(context.Background(), sizes, nil, true))
	r, err := runKernel(t, k, opt)
	require.NoError(t, err)
	return r
}

func runKernel(t testing.TB, k *workload.Kernel, opt fused.Options) (*fused.Report, error) {
	ctx := context.Background()
	m, err := k.Arguments(ctx, 1, nil)
	require.NoError(t, err)
	before, _ := k.Streams(m.Clone())
	begins := m.Clone()
	arrays, args := k.Streams(m)
	p := &fused.Program{Program: &multicore.Program{Graph: k.Whole, Memory: arrays, Args: args, Reassociate: k.Reassociate}, Tensors: k.Program, Sizes: k.Sizes, Arrays: begins}
	r, err := fused.Run(ctx, p, opt)
	if err != nil {
		return r, err
	}
	v, err := fused.Check(ctx, p, before, r, opt)
	if err == nil {
		require.Empty(t, v.First)
	}
	return r, err
}

func small(t testing.TB) *tile.Machine {
	m, err := tile.LoadMachine("infinity-stream-small")
	require.NoError(t, err)
	return m
}

func TestWorkloads(t *testing.T) {
	for _, name := range []string{"vec_add", "stencil1d", "array_sum", "mm_outer", "gauss_elim", "conv2d", "dwt2d", "stencil2d", "stencil3d", "conv3d", "mm_inner", "kmeans_inner", "kmeans_outer", "gather_mlp_inner", "gather_mlp_outer"} {
		for _, config := range []string{"in-l3", "inf-s"} {
			t.Run(name+"/"+config, func(t *testing.T) {
				r := execute(t, name, nil, fused.Options{Options: multicore.Options{Config: config, Machine: small(t), Threads: 8}})
				t.Logf("%d cycles, %+v", r.Report.Cycles, r.Cycles)
				for _, x := range r.Regions {
					t.Logf("%+v", x)
				}
			})
		}
	}
}

// own is a kernel whose region is in memory, and whose other loop changes what that reads.
const own = `#include "bitsched.h"
void own(int N, int T, int U, float A[N], float B[N], int32_t I[N])
{
	inf_array(A, N);
	inf_array(B, N);
	inf_array(I, N);
#pragma bitsched region
	for (int t = 0; t < T; t++) {
		for (int u = 0; u < U; u++)
#pragma omp parallel for
			for (int i = 1; i < N - 1; i++)
				B[i] += A[i - 1] + A[i + 1];
		for (int i = 0; i < 64; i++)
			A[I[i]] += B[i];
	}
}
`

func ownKernel(t testing.TB, sizes map[string]int64) *workload.Kernel {
	k := workload.FromSource("own.c", own, nil)
	require.NoError(t, k.CompileWhole(context.Background(), sizes, nil, false))
	return k
}

// TestBetween has cores change a part of an array between two regions that read it.
func TestBetween(t *testing.T) {
	for _, config := range []string{"in-l3", "inf-s"} {
		opt := fused.Options{Options: multicore.Options{Config: config, Machine: small(t), Threads: 4}}
		r, err := runKernel(t, ownKernel(t, map[string]int64{"N": 8192, "T": 3, "U": 2}), opt)
		require.NoError(t, err)
		require.EqualValues(t, 6, r.Regions[0].InMemory)
		if config == "in-l3" {
			require.Positive(t, r.Refetched)
			require.Positive(t, r.Tensor.Requests)
		}
	}
}

// TestMutants breaks what keeps values right: each is found, by a wrong value, a check or a
// deadlock.
func TestMutants(t *testing.T) {
	k := ownKernel(t, map[string]int64{"N": 8192, "T": 3, "U": 2})
	opt := fused.Options{Options: multicore.Options{Config: "in-l3", Machine: small(t), Threads: 2}}
	for _, part := range []string{"refresh", "newest", "settle"} {
		broken := opt
		broken.Skip = map[string]bool{part: true}
		_, err := runKernel(t, k, broken)
		require.ErrorIs(t, err, multicore.ErrInternal, part)
	}
	seen := map[tc.MessageKind]bool{}
	for kind := range tc.NumMessages {
		for _, how := range []string{"lost", "one less"} {
			broken, done := opt, false
			broken.InterceptTensor = func(m *tc.Message) bool {
				if m.Kind != kind || done || how == "one less" && m.Count == 0 {
					return true
				}
				done = true
				if how == "one less" {
					m.Count--
					return true
				}
				return false
			}
			_, err := runKernel(t, k, broken)
			if !done {
				continue
			}
			seen[kind] = true
			if !errors.Is(err, multicore.ErrDeadlock) {
				require.ErrorIs(t, err, multicore.ErrInternal, "%s %s", kind, how)
				continue
			}
			require.ErrorContains(t, err, "ensor", "%s %s", kind, how) // who waits for what
		}
	}
	require.GreaterOrEqual(t, len(seen), 7)
}

// TestOverlap has lowering that arrays do not wait for: as much in all, and less time.
func TestOverlap(t *testing.T) {
	opt := fused.Options{Options: multicore.Options{Config: "inf-s", Machine: small(t), Threads: 2}}
	plain := execute(t, "stencil1d", map[string]int64{"N": 4096, "T": 3}, opt)
	opt.Overlap = true
	r := execute(t, "stencil1d", map[string]int64{"N": 4096, "T": 3}, opt)
	require.Equal(t, plain.Cycles.JIT, r.Cycles.JIT+r.Cycles.Hidden)
	require.Equal(t, plain.Report.Cycles-r.Cycles.Hidden, r.Report.Cycles)
	opt.BankLowering = true
	banks := execute(t, "stencil1d", map[string]int64{"N": 4096, "T": 3}, opt)
	require.Less(t, banks.Cycles.JIT+banks.Cycles.Hidden, plain.Cycles.JIT)
}

// TestAuto: never slower than with all regions in memory, or all on cores.
func TestAuto(t *testing.T) {
	k, err := workload.Builtin("kmeans_outer", false)
	require.NoError(t, err)
	require.NoError(t, k.CompileWhole(context.Background(), nil, nil, false))
	m, err := k.Arguments(context.Background(), 1, nil)
	require.NoError(t, err)
	program := func() *fused.Program {
		begins, after := m.Clone(), m.Clone()
		arrays, args := k.Streams(after)
		return &fused.Program{Program: &multicore.Program{Graph: k.Whole, Memory: arrays, Args: args, Reassociate: k.Reassociate}, Tensors: k.Program, Sizes: k.Sizes, Arrays: begins}
	}
	opt := fused.Options{Options: multicore.Options{Config: "inf-s", Machine: small(t), Threads: 4}}
	p, r, err := fused.RunAuto(context.Background(), program, opt)
	require.NoError(t, err)
	before, _ := k.Streams(m.Clone())
	v, err := fused.Check(context.Background(), p, before, r, opt)
	require.NoError(t, err)
	require.Empty(t, v.First)
	for _, choose := range [][]bool{nil, make([]bool, len(r.Regions))} {
		opt.Choose = choose
		one, err := fused.Run(context.Background(), program(), opt)
		require.NoError(t, err)
		require.LessOrEqual(t, r.Report.Cycles, one.Report.Cycles)
	}
}
