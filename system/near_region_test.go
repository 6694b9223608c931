package system_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/internal/tdfgtest"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// TestNear executes all regions of the kernels near the memory, and compares with the
// plain programs, which have never seen a tensor, and bit by bit with the interpreter,
// whose order of sums is that of the tiles.
func TestNear(t *testing.T) {
	ctx := context.Background()
	for _, c := range kernelRuns {
		t.Run(c.name, func(t *testing.T) {
			k, err := kernels.Get(c.name)
			require.NoError(t, err)
			for _, defines := range []map[string]int64{nil, c.sizes} {
				p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: defines, Values: c.sizes})
				require.NoError(t, err)
				opt := system.Options{Machine: tile.Default(), NearOnly: true}
				d := k.DataExact(c.sizes, 1)
				got := d.Memory()
				report, err := system.Run(ctx, p, c.sizes, got, opt)
				require.NoError(t, err)
				require.NotZero(t, report.Regions)
				require.Equal(t, report.Regions, report.NearRegions)
				require.Zero(t, report.Commands)
				k.Reference(d)
				require.Empty(t, d.Diff(got))

				got = k.Data(c.sizes, 2).Memory()
				want := got.Clone()
				report, err = system.Run(ctx, p, c.sizes, got, opt)
				require.NoError(t, err)
				group := func(int) int { return tile.Default().Array.Cols }
				if prepared, err := system.Prepare(ctx, p, c.sizes, system.Options{Machine: tile.Default()}); err == nil && prepared.Grid != nil {
					group = prepared.Grid.Group
				}
				var stats interp.Stats
				require.NoError(t, interp.Run(ctx, p, c.sizes, want, interp.Options{Group: group, Stats: &stats}))
				require.Empty(t, want.Diff(got))
				t.Logf("%d operations, by the interpreter %d", report.NearOps, stats.Operations+stats.Streamed)
			}
		})
	}
}

// TestNearPlans says of some kernels how their graphs become streams.
func TestNearPlans(t *testing.T) {
	for name, want := range map[string][]lowering.PhaseKind{
		"vec_add":   {lowering.StorePhase},
		"stencil2d": {lowering.StorePhase},
		"array_sum": {lowering.FillPhase, lowering.ReducePhase},
	} {
		k, err := kernels.Get(name)
		require.NoError(t, err)
		p, err := cfront.Compile(context.Background(), k.File, k.Source, cfront.Options{})
		require.NoError(t, err)
		plan, err := lowering.NewNearPlan(p.Regions()[0].Graph)
		require.NoError(t, err)
		var got []lowering.PhaseKind
		for _, f := range plan.Phases {
			got = append(got, f.Kind)
		}
		require.Equal(t, want, got[:min(len(got), len(want))], name)
	}
}

// TestNearRandom executes random graphs near the memory.
func TestNearRandom(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 21))
		typ := []scalar.Type{scalar.Int8, scalar.Int16, scalar.FP16, scalar.Int32, scalar.FP32}[seed%5]
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: typ, Nodes: 8 + int(seed%16), Reuse: true, Open: seed%2 == 0, Views: seed%3 == 0})
		p := tdfgtest.Program(1, g)
		got := memory.New()
		require.NoError(t, got.Allocate(g.Arrays, nil))
		fill(r, got, p.Arrays)
		got.Scalars["p"] = scalar.FromInt(typ, 3)
		want := got.Clone()
		report, err := system.Run(ctx, p, nil, got, system.Options{Machine: small(t), NearOnly: true})
		require.NoError(t, err, "seed %d\n%s", seed, g)
		require.EqualValues(t, 1, report.NearRegions)
		prepared, err := system.Prepare(ctx, p, nil, system.Options{Machine: small(t)})
		require.NoError(t, err)
		opt := interp.Options{Group: func(int) int { return 64 }}
		if prepared.Grid != nil {
			opt.Group = prepared.Grid.Group
		}
		require.NoError(t, interp.Run(ctx, p, nil, want, opt))
		require.Empty(t, want.Diff(got), "seed %d\n%s", seed, g)
	}
}
