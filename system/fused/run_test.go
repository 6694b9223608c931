package fused_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile"
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
	require.NoError(t, err)
	require.Empty(t, v.First)
	return r, nil
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
