package system_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tile"
)

// kernelRuns are kernels at small sizes whose innermost dimension fills cache lines,
// with three shapes of tiles each.
var kernelRuns = []struct {
	name  string
	sizes map[string]int64
	tiles []lowering.Shape
}{
	{"vec_add", map[string]int64{"N": 3008}, nil},
	{"array_sum", map[string]int64{"N": 3008}, nil},
	{"stencil1d", map[string]int64{"N": 1008, "T": 2}, []lowering.Shape{{256}}},
	{"stencil2d", map[string]int64{"N": 37, "M": 48, "T": 2}, []lowering.Shape{{16, 16}, {32, 8}, {256, 1}, {4, 64}}},
	{"stencil3d", map[string]int64{"L": 5, "N": 9, "M": 16, "T": 2}, []lowering.Shape{{8, 8, 4}, {16, 4, 4}, {256, 1, 1}}},
	{"dwt2d", map[string]int64{"N": 20, "M": 32}, []lowering.Shape{{16, 16}, {32, 8}, {256, 1}}},
	{"gauss_elim", map[string]int64{"N": 32}, []lowering.Shape{{16, 16}, {4, 64}, {256, 1}}},
	{"conv2d", map[string]int64{"N": 37, "M": 48}, []lowering.Shape{{16, 16}, {32, 8}, {256, 1}}},
	{"conv3d", map[string]int64{"I": 2, "O": 5, "H": 9, "W": 16}, []lowering.Shape{{16, 4, 4}, {8, 8, 4}, {256, 1, 1}}},
	{"mm_inner", map[string]int64{"M": 16, "N": 20, "K": 48}, []lowering.Shape{{16, 16}, {64, 4}, {256, 1}}},
	{"mm_outer", map[string]int64{"M": 20, "N": 32, "K": 16}, []lowering.Shape{{16, 16}, {4, 64}, {256, 1}}},
	{"kmeans_inner", map[string]int64{"N": 48, "K": 16, "D": 32}, []lowering.Shape{{16, 16}}},
	{"kmeans_outer", map[string]int64{"N": 48, "K": 16, "D": 32}, []lowering.Shape{{16, 16}}},
	{"kmeans_transposed", map[string]int64{"N": 48, "K": 16, "D": 32}, []lowering.Shape{{16, 16}}},
	{"gather_mlp_inner", map[string]int64{"M": 32, "N": 16, "K": 32, "R": 48}, []lowering.Shape{{16, 16}}},
	{"gather_mlp_outer", map[string]int64{"M": 32, "N": 16, "K": 32, "R": 48}, []lowering.Shape{{16, 16}}},
}

// compileRun compiles the kernel of a run.
func compileRun(t testing.TB, name string, sizes map[string]int64) (*kernels.Kernel, *tdfg.Program) {
	k, err := kernels.Get(name)
	require.NoError(t, err)
	p, err := cfront.Compile(context.Background(), k.File, k.Source, cfront.Options{Defines: sizes})
	require.NoError(t, err)
	return k, p
}

// TestKernelsFit has no region of the kernels near the memory for want of rows, and none spill.
func TestKernelsFit(t *testing.T) {
	ctx := context.Background()
	for _, c := range kernelRuns {
		_, p := compileRun(t, c.name, c.sizes)
		prepared, err := system.Prepare(ctx, p, c.sizes, system.Options{Machine: tile.Default()})
		require.NoError(t, err)
		for g, plan := range prepared.Plans {
			require.NoError(t, plan.Check())
			require.Zero(t, plan.Slots, "%s %s", c.name, g.Name)
		}
		for g, why := range prepared.Near {
			require.NotEqual(t, system.NoRows, why.Kind, "%s %s", c.name, g.Name)
		}
	}
}

// TestKernels runs the kernels at both fidelities and compares every element with the
// interpreter's.
func TestKernels(t *testing.T) {
	ctx := context.Background()
	for _, c := range kernelRuns {
		k, p := compileRun(t, c.name, c.sizes)
		shapes := c.tiles
		if shapes == nil {
			shapes = []lowering.Shape{nil}
		}
		for _, shape := range shapes {
			t.Run(fmt.Sprintf("%s/%v", c.name, shape), func(t *testing.T) {
				before := k.Data(c.sizes, 1).Memory()
				var reports [2]*system.Report
				for _, f := range []system.Fidelity{system.Gate, system.Word} {
					got := before.Clone()
					rep, err := system.Run(ctx, p, c.sizes, got, system.Options{Machine: tile.Default(), Fidelity: f, Tile: shape, Threads: 2, Check: 3})
					require.NoError(t, err)
					reports[f] = rep
					tileShape := shape
					if rep.Tile != "" {
						tileShape, err = lowering.ParseShape(rep.Tile)
						require.NoError(t, err)
					}
					want := before.Clone()
					require.NoError(t, interp.Run(ctx, p, c.sizes, want, interp.Options{Group: func(d int) int { return int(tileShape[d]) }}))
					require.Empty(t, want.Diff(got), "%v", f)
				}
				require.Equal(t, reports[0].Cycles, reports[1].Cycles)
				t.Logf("%d regions, near %d %v, cycles %+v, near steps %d", reports[0].Regions, reports[0].NearRegions, reports[0].Reasons, reports[0].Cycles, reports[0].NearSteps)
			})
		}
	}
}
