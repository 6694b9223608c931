package system_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tile"
)

// TestEnergy counts the instructions of a run once more, command by command, and
// prices them by hand with the two figures of a table.
func TestEnergy(t *testing.T) {
	ctx := context.Background()
	p, err := cfront.Compile(ctx, "far.c", `void far(int N, const int A[N], int B[N]) {
		inf_array(A, N);
		inf_array(B, N);
		#pragma bitsched region
		for (int i = 1; i < N; i++) B[i] = A[i - 1] + 5;
	}`, cfront.Options{})
	require.NoError(t, err)
	sizes := map[string]int64{"N": 1008}
	m := tile.Default()
	r, err := system.Run(ctx, p, sizes, nil, system.Options{Machine: m, TimingOnly: true})
	require.NoError(t, err)
	prepared, err := system.Prepare(ctx, p, sizes, m, nil)
	require.NoError(t, err)

	const tiles, bits = 4, 32
	instructions, reads, writes := 0, 0, 0 // of programs and moves; between tiles
	require.NoError(t, p.Each(ctx, sizes, func(g *tdfg.Graph, values map[string]int64) error {
		plan := prepared.Plans[g]
		cmds, err := plan.Lower(nil, prepared.Layout.Grid, values)
		require.NoError(t, err)
		for _, c := range cmds {
			switch c.Kind {
			case lowering.Compute:
				instructions += c.Tiles.Len() * plan.Steps[c.Step].Program.Latency()
			case lowering.Copy, lowering.ShiftIntra, lowering.Fill:
				instructions += c.Tiles.Len() * bits
			case lowering.ShiftInter:
				require.Equal(t, 3, c.Tiles.Len(), "to the next tile, from all but the last")
				reads += 3 * bits
				writes += 3 * bits
			}
		}
		return nil
	}))
	require.Positive(t, reads)
	n := r.Instructions
	require.Equal(t, int(r.RowOps), instructions)
	require.Equal(t, instructions+reads+writes, n.Computes+n.Moves+n.Writes+n.LatchReads+n.Latches+n.LatchOnly)
	require.GreaterOrEqual(t, n.Moves, tiles*bits) // shifts within tiles
	require.GreaterOrEqual(t, n.LatchReads, reads)

	table, err := cost.Load("neural-cache")
	require.NoError(t, err)
	b := r.Energy(m, table)
	require.Equal(t, "pJ", b.EnergyUnit)
	want := 15.4*float64(n.Computes+n.Moves+n.Latches+n.LatchOnly) + 8.6*float64(n.Writes+n.LatchReads)
	require.InEpsilon(t, want, *b.Instructions(), 1e-9)
	require.Empty(t, b.Note)
	m.Array.Rows = 512
	require.Contains(t, r.Energy(m, table).Note, "not scaled")
}
