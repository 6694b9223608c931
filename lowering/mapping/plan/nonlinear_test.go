package plan

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// TestNonlinear executes what is no sum of products in arrays: every element is that of the word
// level, the cycles are those of layers and passes together, and mutants of programs are seen.
func TestNonlinear(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	ctx := context.Background()
	b := dnn.NewBuilder("pools", "pools that overlap and reach into padding", dnn.DefaultBits, 1, 3, 9, 7)
	x := b.Unary("r1", dnn.ReLU, b.Conv("c1", 0, 6, 3, 1, 1, 1))
	y := b.Pool("p1", dnn.MaxPool, x, 3, 2, 1, false)
	z := b.Unary("r2", dnn.ReLU, b.Add2("sum", y, b.Conv("c2", y, 6, 1, 1, 0, 1)))
	b.Pool("p2", dnn.AvgPool, z, 2, 1, 0, false)
	pools, err := b.Done()
	require.NoError(t, err)
	for _, net := range []*dnn.Network{branching(t), pools} {
		for _, name := range []string{"logic-sram", "logic-dram"} {
			o := Options{Evals: 100, Seed: 3, Threads: 2, Execute: "gate", Cold: true}
			plain, err := Map(ctx, ctx, net, load(t, name), o)
			require.NoError(t, err)
			o.Nonlinear = true
			rep, err := Map(ctx, ctx, net, load(t, name), o)
			require.NoError(t, err)
			sum, ops := plain.Cycles, map[mapping.PointOp]int{}
			for _, p := range rep.Passes {
				sum += p.Cost.Cycles
				ops[p.Work.Op]++
				require.Equal(t, p.Work.Elements, p.Checked)
				require.LessOrEqual(t, p.Bound.Cycles, p.Cost.Cycles)
			}
			require.Equal(t, sum, rep.Cycles)
			require.Positive(t, ops[mapping.PointRequantiseReLU])
			require.Positive(t, ops[mapping.PointMax])
			require.Positive(t, ops[mapping.PointAdd])
			require.Zero(t, rep.Near[dnn.ReLU]+rep.Near[dnn.Add]+rep.Near[dnn.MaxPool]+rep.Near["requantise"])
			parts := int64(0)
			for _, c := range rep.Parts {
				parts += c
			}
			require.Equal(t, rep.Cycles, parts)
		}
	}
	rep, err := Map(ctx, ctx, pools, load(t, "logic-sram"), Options{Evals: 50, Seed: 3, Threads: 1, Execute: "gate", Cold: true, Nonlinear: true})
	require.NoError(t, err)
	in := [][]int32{Values(&dnn.Tensor{Extents: pools.Nodes[2].Shape, Type: dnn.DefaultBits.Activation}, 5, "x")}
	want, err := pools.Evaluate(3, in, 1)
	require.NoError(t, err)
	_, done, err := rep.inArrays(ctx, 3, nil, in, want)
	require.NoError(t, err)
	require.True(t, done)
	want[4]++
	_, _, err = rep.inArrays(ctx, 3, nil, in, want)
	require.ErrorIs(t, err, ErrCheck)
}
