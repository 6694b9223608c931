package fused_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// together runs kernels at the same time, and compares what each has made of its memory with the
// sequential program, and with graphs and threads without a machine.
func together(t *testing.T, kernels []*workload.Kernel, opt fused.Options) ([]*fused.Report, error) {
	ctx := context.Background()
	var programs []*fused.Program
	var before []stream.Memory
	for i, k := range kernels {
		m, err := k.Arguments(ctx, uint64(1+i), nil)
		require.NoError(t, err)
		b, _ := k.Streams(m.Clone())
		begins := m.Clone()
		arrays, args := k.Streams(m)
		p := &fused.Program{Program: &multicore.Program{Graph: k.Whole, Memory: arrays, Args: args, Reassociate: k.Reassociate}, Tensors: k.Program, Sizes: k.Sizes, Arrays: begins}
		if k.Parts != nil {
			p.Tensors = k.Parts
		}
		programs, before = append(programs, p), append(before, b)
	}
	reports, err := fused.Together(ctx, programs, opt)
	if err != nil {
		return reports, err
	}
	for i, p := range programs {
		v, err := fused.Check(ctx, p, before[i], reports[i], opt)
		if err != nil {
			return reports, err
		}
		require.Empty(t, v.First)
	}
	return reports, nil
}

func builtin(t *testing.T, name string, sizes map[string]int64) *workload.Kernel {
	k, err := workload.Builtin(name, false)
	require.NoError(t, err)
	require.NoError(t, k.CompileWhole(context.Background(), sizes, nil, true))
	return k
}

// TestTogether has two programs on one machine, both with regions in memory at the same time:
// all bits of both are right. Where both have the same arrays of cells, they are not.
func TestTogether(t *testing.T) {
	kernels := []*workload.Kernel{builtin(t, "stencil1d", map[string]int64{"N": 8192, "T": 3}), ownKernel(t, map[string]int64{"N": 8192, "T": 3, "U": 2})}
	for _, config := range []string{"in-l3", "inf-s"} {
		opt := fused.Options{Options: multicore.Options{Config: config, Machine: small(t), Threads: 2}}
		r, err := together(t, kernels, opt)
		require.NoError(t, err, config)
		for i := range kernels {
			require.Positive(t, r[i].Regions[0].Reached)
			require.Equal(t, r[i].Regions[0].Reached, r[i].Regions[0].InMemory)
			require.Positive(t, r[i].Tensor.Commands)
		}
		// Neither is faster than alone, on the same cores with the same share of the arrays.
		alone := opt
		m := *opt.Machine
		m.L3.ComputeWays /= 2
		alone.Machine = &m
		for i, k := range kernels {
			one, err := runKernel(t, k, alone)
			require.NoError(t, err)
			require.GreaterOrEqual(t, float64(r[i].Report.Cycles), 0.9*float64(one.Report.Cycles), "%s, program %d", config, i)
			require.Equal(t, one.Tensor.Commands, r[i].Tensor.Commands)
		}
		opt.BrokenTensor = fused.NoPartition
		_, err = together(t, kernels, opt)
		require.ErrorIs(t, err, multicore.ErrInternal, config)
	}
	opt := fused.Options{Options: multicore.Options{Config: "inf-s", Machine: small(t), Threads: 40}}
	_, err := together(t, kernels, opt)
	require.ErrorContains(t, err, "80 threads of programs together")
	opt.Config, opt.Threads = fused.Auto, 2
	_, err = together(t, kernels, opt)
	require.ErrorContains(t, err, "several programs with configuration auto")
}
