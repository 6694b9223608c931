package system_test

import (
	"context"
	"strings"
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
	prepared, err := system.Prepare(ctx, p, sizes, system.Options{Machine: m})
	require.NoError(t, err)

	const tiles, bits = 4, 32
	instructions, reads, writes := 0, 0, 0 // of programs and moves; between tiles
	require.NoError(t, p.Each(ctx, sizes, func(g *tdfg.Graph, values map[string]int64) error {
		plan := prepared.Plans[g]
		cmds, err := plan.Lower(nil, prepared.Grid, values)
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
	e := r.Energy(m, table)
	require.Equal(t, "pJ", e.Unit)
	const transferred = 4 * 1008 * 32 / 256 // rows of both arrays, in and out
	known := map[string]float64{
		"programs":       15.4*float64(n.Computes+n.Moves-r.WithinRows+n.Latches+n.LatchOnly) + 8.6*float64(n.Writes-writes+n.LatchReads-reads),
		"within tiles":   15.4 * float64(r.WithinRows),
		"between tiles":  8.6 * float64(reads+writes),
		"load and store": 8.6 * transferred,
	}
	total := 0.0
	for _, l := range e.Lines {
		want, ok := known[l.Name]
		total += want
		switch {
		case ok:
			require.InEpsilon(t, want, *l.Energy, 1e-9, l.Name)
		case l.Name == "network" || l.Name == "near memory":
			require.Zero(t, *l.Energy, "there is none of it")
		default:
			require.Nil(t, l.Energy, l.Name)
		}
	}
	require.InEpsilon(t, total, *e.Total, 1e-9)
	require.Equal(t, []string{"programs", "within tiles", "between tiles", "load and store"}, e.Includes)
	require.Equal(t, []string{"transposition", "H-tree", "DRAM", "leakage"}, e.LeftOut)
	require.Empty(t, e.Note)

	// A table that has all: a bitline of 3 tiles goes to the next one.
	all, err := cost.Parse(strings.NewReader(everything), "all.yaml")
	require.NoError(t, err)
	e = r.Energy(m, all)
	require.Empty(t, e.LeftOut)
	rows := float64(r.InterBytes) * 8 / 256
	require.InEpsilon(t, 3*32.0/256, rows, 1e-9, "a bitline of each")
	for _, l := range e.Lines {
		want, ok := map[string]float64{
			"between tiles": 5*float64(reads) + 7*float64(writes), "load and store": 7*transferred/2 + 5*transferred/2,
			"transposition": 13 * transferred, "H-tree": 11 * rows, "DRAM": 19 * transferred / 2, "leakage": 0.5 * tiles * float64(r.Cycles.Total) / 2,
		}[l.Name]
		if ok {
			require.InEpsilon(t, want, *l.Energy, 1e-9, l.Name)
		}
	}
	before := e.Lines
	m.L3.LineBytes = 128 // tables are for lines of 64 bytes all the same
	require.Equal(t, before, r.Energy(m, all).Lines)
	m.Array.Rows = 512
	require.Contains(t, r.Energy(m, table).Note, "not scaled")
}

const everything = `name: all
title: a value of everything
values:
  - {what: compute.energy, value: 2, unit: pJ, source: s, where: w, confirmed: true}
  - {what: read.energy, value: 5, unit: pJ, source: s, where: w, confirmed: true}
  - {what: write.energy, value: 7, unit: pJ, source: s, where: w, confirmed: true}
  - {what: htree.energy, value: 11, unit: pJ, source: s, where: w, confirmed: true}
  - {what: transpose.energy, value: 13, unit: pJ, source: s, where: w, confirmed: true}
  - {what: noc.energy, value: 17, unit: pJ, source: s, where: w, confirmed: true}
  - {what: dram.energy, value: 19, unit: pJ, source: s, where: w, confirmed: true}
  - {what: leakage.power, value: 0.5, unit: mW, source: s, where: w, confirmed: true}
`
