package lowering_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/egraph"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestCosts holds the costs of a kernel's operations against the lengths of programs.
func TestCosts(t *testing.T) {
	ctx := context.Background()
	k, err := kernels.Get("conv2d")
	require.NoError(t, err)
	p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{})
	require.NoError(t, err)
	store := arith.NewStore("")
	c, err := lowering.Costs(ctx, p, store, "neural-cache", 256)
	require.NoError(t, err)
	for name, op := range map[string]scalar.Op{"fp32.add": scalar.Add, "fp32.mul": scalar.Mul, "fp32.sub": scalar.Sub, "fp32.min": scalar.Min} {
		q, err := arith.Build(ctx, arith.Spec{Op: name, Tech: "neural-cache", Rows: 256})
		require.NoError(t, err)
		require.Equal(t, float64(q.Latency()), c.Compute[egraph.Operation{Op: op, Type: scalar.FP32}], name)
	}
	require.Equal(t, egraph.DefaultCost().Compute[egraph.Operation{Op: scalar.Add, Type: scalar.Int8}], c.Compute[egraph.Operation{Op: scalar.Add, Type: scalar.Int8}])
}
