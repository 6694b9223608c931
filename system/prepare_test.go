package system_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tile"
)

// TestTimingOnly holds a run that executes nothing to the cycles and bytes of one
// that does, and Prepare to what a run says of its layout.
func TestTimingOnly(t *testing.T) {
	ctx := context.Background()
	for _, c := range kernelRuns {
		k, err := kernels.Get(c.name)
		require.NoError(t, err)
		p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{})
		require.NoError(t, err)
		opt := system.Options{Machine: tile.Default(), Fidelity: system.Word, Check: 1 << 20}
		want, err := system.Run(ctx, p, c.sizes, k.Data(c.sizes, 1).Memory(), opt)
		require.NoError(t, err)
		opt.TimingOnly = true
		got, err := system.Run(ctx, p, c.sizes, nil, opt)
		require.NoError(t, err)

		prepared, err := system.Prepare(ctx, p, c.sizes, system.Options{Machine: opt.Machine})
		require.NoError(t, err)
		if want.Tile != "" {
			require.Equal(t, want.Tile, prepared.Grid.Tile().String(), c.name)
			require.Equal(t, want.Arrays, prepared.Grid.Tiles())
		}
		require.Equal(t, len(p.Regions()), len(prepared.Plans)+len(prepared.Near))

		if c.name == "array_sum" || c.name == "mm_inner" { // they have no streams
			require.Equal(t, want.NearOps, want.FinalOps, c.name)
			require.Positive(t, want.FinalOps, c.name)
		}

		// What depends on data, and times of the clock.
		want.NearOps, want.NearBytes, want.Compared, want.LowerSeconds, want.WallSeconds = 0, 0, 0, 0, 0
		got.LowerSeconds, got.WallSeconds = 0, 0
		require.Equal(t, want, got, c.name)
	}
}

// TestPrepareReasons has programs that are not laid out, and why, and the limits of one of
// bytes: 64 elements fill a cache line.
func TestPrepareReasons(t *testing.T) {
	ctx := context.Background()
	m := tile.Default()
	for _, c := range []struct{ name, body, want string }{
		{"odd", "void k(int N, int8_t A[N]) {\n inf_array(A, N);\n#pragma bitsched region\n for (int i = 0; i < N; i++) A[i] = A[i] + 1;\n}\n",
			"not in memory: lowering: innermost dimension does not align with cache lines: 100 elements, expected a multiple of 64"},
		{"streams", "void k(int N, const int8_t A[N], int H[N]) {\n inf_array(A, N);\n inf_array(H, N);\n#pragma bitsched region\n for (int i = 0; i < N; i++) H[A[i]] += 1;\n}\n",
			"not in memory: no tensors, only streams"},
	} {
		p, err := cfront.Compile(ctx, c.name, "#include \"bitsched.h\"\n"+c.body, cfront.Options{})
		require.NoError(t, err)
		got, err := system.Prepare(ctx, p, map[string]int64{"N": 100}, system.Options{Machine: m})
		require.NoError(t, err)
		require.Nil(t, got.Grid)
		require.Empty(t, got.Plans)
		g := p.Regions()[0].Graph
		require.Len(t, got.Near, 1)
		require.Equal(t, c.want, got.Near[g].Text())

		got, err = system.Prepare(ctx, p, map[string]int64{"N": 1024}, system.Options{Machine: m})
		require.NoError(t, err)
		if c.name == "odd" {
			require.Empty(t, got.Near)
			require.Equal(t, lowering.Constraints{B: 256, W: 256, L: 64, N: 16384, Remote: 3}, got.Limits)
			require.Equal(t, map[string]lowering.Register{"A": {Row: 0, Bits: 8}}, got.Rows)
			require.Equal(t, 8, got.Used)
			require.Equal(t, 4, got.Grid.Tiles())
		}
	}
	_, err := system.Prepare(ctx, kernel(t, "vec_add"), map[string]int64{"N": 1024}, system.Options{Machine: m, Tile: lowering.Shape{128}})
	require.ErrorContains(t, err, "tiles of 128 have 128 elements, expected 256")
	_, err = system.Prepare(ctx, kernel(t, "vec_add"), nil, system.Options{Machine: m})
	require.ErrorContains(t, err, "no value for N")
}

// kernel compiles a workload with sizes as symbols.
func kernel(t *testing.T, name string) *tdfg.Program {
	k, err := kernels.Get(name)
	require.NoError(t, err)
	p, err := cfront.Compile(context.Background(), k.File, k.Source, cfront.Options{})
	require.NoError(t, err)
	return p
}
