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
	"github.com/bitsched/bitsched/tile"
)

// TestCosts holds the costs of a kernel's operations against the lengths of programs.
func TestCosts(t *testing.T) {
	ctx := context.Background()
	k, err := kernels.Get("conv2d")
	require.NoError(t, err)
	p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{})
	require.NoError(t, err)
	store := arith.NewStore("")
	m := tile.Default()
	c, err := lowering.Costs(ctx, p, store, m)
	require.NoError(t, err)
	for name, op := range map[string]scalar.Op{"fp32.add": scalar.Add, "fp32.mul": scalar.Mul, "fp32.sub": scalar.Sub, "fp32.min": scalar.Min} {
		q, err := arith.Build(ctx, arith.Spec{Op: name, Tech: "neural-cache", Rows: m.UsableRows()})
		require.NoError(t, err)
		require.Equal(t, float64(q.Latency()), c.Compute[egraph.Operation{Op: op, Type: scalar.FP32}], name)
	}
	add := egraph.Operation{Op: scalar.Add, Type: scalar.Int8}
	require.Equal(t, egraph.DefaultCost(1).Compute[add], c.Compute[add])

	// 64 banks of 16 ways of 16 arrays of 256 bitlines; a quarter of the banks has a
	// quarter of the lanes, and each element that moves takes four times the share.
	require.EqualValues(t, 1<<22, c.Lanes)
	require.NoError(t, m.Set("mesh.cols", "4"))
	require.NoError(t, m.Set("mesh.rows", "4"))
	q, err := lowering.Costs(ctx, p, store, m)
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, q.Lanes)
	require.InEpsilon(t, 4*c.MoveElement, q.MoveElement, 1e-12)
	require.InEpsilon(t, 4*c.BroadcastElement, q.BroadcastElement, 1e-12)
	require.Equal(t, c.Compute, q.Compute)
}
