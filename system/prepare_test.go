package system_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/system"
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

		prepared, err := system.Prepare(ctx, p, c.sizes, opt.Machine, nil)
		require.NoError(t, err)
		if want.Tile != "" {
			require.Equal(t, want.Tile, prepared.Layout.Grid.Tile().String(), c.name)
			require.Equal(t, want.Arrays, prepared.Layout.Grid.Tiles())
		}
		require.Equal(t, len(p.Regions()), len(prepared.Plans)+len(prepared.Near))

		if c.name == "array_sum" || c.name == "mm_inner" { // they have no streams
			require.Equal(t, want.NearOps, want.FinalOps, c.name)
			require.Positive(t, want.FinalOps, c.name)
		}

		// What depends on data, and times of the clock.
		want.NearOps, want.NearBytes, want.LowerSeconds, want.WallSeconds = 0, 0, 0, 0
		got.LowerSeconds, got.WallSeconds = 0, 0
		require.Equal(t, want, got, c.name)
	}
}
