package system_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/internal/tdfgtest"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// TestClocks is what all clocks must do: the same bits and the same counts; equal cycles
// where nothing waits for anything, never fewer than the analytic clock's where
// something does, and a counter that says so.
func TestClocks(t *testing.T) {
	ctx := context.Background()
	for _, c := range kernelRuns {
		k, p := compileRun(t, c.name, c.sizes)
		for _, shape := range append([]lowering.Shape{nil}, c.tiles...) {
			t.Run(fmt.Sprintf("%s/%v", c.name, shape), func(t *testing.T) {
				var reports [2]*system.Report
				for _, clock := range []system.ClockKind{system.Analytic, system.Event} {
					d := k.DataExact(c.sizes, 1)
					m := d.Memory()
					opt := system.Options{Machine: tile.Default(), Fidelity: system.Word, Tile: shape, Clock: clock, Finals: true}
					var err error
					reports[clock], err = system.Run(ctx, p, c.sizes, m, opt)
					require.NoError(t, err)
					k.Reference(d)
					require.Empty(t, d.Diff(m), "%v", clock)
				}
				a, e := *reports[system.Analytic], *reports[system.Event]
				require.Nil(t, a.Waits)
				w := e.Waits
				t.Logf("%d and %d cycles, %+v", a.Cycles.Total, e.Cycles.Total, *w)
				if w.TreeWait+w.LandWait+w.LateMesh+w.Imbalance == 0 {
					require.Equal(t, a.Cycles, e.Cycles)
				}
				require.GreaterOrEqual(t, e.Cycles.Total, a.Cycles.Total)
				more := e.Cycles.Total - a.Cycles.Total
				require.LessOrEqual(t, more, int64(w.LateMesh+w.LateLand+w.LateBanks+w.Imbalance))
				require.Nil(t, a.Components)
				require.Equal(t, float64(e.ByteHops), e.Components.Value("noc.byteHops"))
				require.Equal(t, float64(w.Packets), e.Components.Value("noc.injected"))
				require.Zero(t, e.Components.Value("engine.pending"))
				a.Cycles, e.Cycles, e.Waits, e.Components = system.Cycles{}, system.Cycles{}, nil, nil
				a.Compared, e.Compared = 0, 0 // where garbage is alike
				a.LowerSeconds, a.WallSeconds, e.LowerSeconds, e.WallSeconds = 0, 0, 0, 0
				require.Equal(t, a, e)
			})
		}
	}
}

// TestClocksOfRandomGraphs has a bank for each small tile, so that packets of
// different shifts meet.
func TestClocksOfRandomGraphs(t *testing.T) {
	ctx := context.Background()
	machine := small(t)
	machine.Mesh.Cols, machine.Mesh.Rows, machine.L3.ComputeWays, machine.L3.ArraysPerWay = 8, 8, 1, 1
	machine.HTree.BandwidthBytes = 2 // shifts have it for long
	require.NoError(t, machine.Check())
	long := map[int][]lowering.Shape{1: {{64}}, 2: {{8, 8}, {16, 4}, {64, 1}}, 3: {{8, 8, 1}, {8, 2, 4}, {64, 1, 1}}} // a cache line in a tile
	met := 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 31))
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: scalar.Int8, Nodes: 14, Reuse: true, Open: true, Align: 8})
		p := &tdfg.Program{Name: "random", Arrays: g.Arrays, Scalars: []tdfg.Scalar{{Param: g.Params[0], Input: true}}, Body: []tdfg.Stmt{&tdfg.Region{Graph: g}}}
		var reports [2]*system.Report
		for _, clock := range []system.ClockKind{system.Analytic, system.Event} {
			var err error
			reports[clock], err = system.Run(ctx, p, nil, nil, system.Options{Machine: machine, Clock: clock, TimingOnly: true, Tile: long[g.Dims][seed%uint64(len(long[g.Dims]))]})
			require.NoError(t, err)
		}
		a, e := reports[system.Analytic], reports[system.Event]
		w := e.Waits
		require.GreaterOrEqual(t, e.Cycles.Total, a.Cycles.Total, "seed %d", seed)
		require.LessOrEqual(t, e.Cycles.Total-a.Cycles.Total, int64(w.LateMesh+w.LateLand+w.LateBanks+w.Imbalance), "seed %d %+v", seed, *w)
		require.Equal(t, a.ByteHops, e.ByteHops)
		if w.Packets > 0 {
			met++
		}
	}
	require.Positive(t, met)
}

// TestClockSeesWaits has broadcasts whose packets come to banks that send: they wait for
// H-trees beyond the last command.
func TestClockSeesWaits(t *testing.T) {
	ctx := context.Background()
	k, err := kernels.Get("conv3d")
	require.NoError(t, err)
	sizes := map[string]int64{"I": 2, "O": 16, "H": 64, "W": 64}
	p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: sizes})
	require.NoError(t, err)
	m := tile.Default()
	m.Mesh.Cols, m.Mesh.Rows, m.NoC.MemoryControllers, m.L3.ArraysPerWay = 4, 4, 4, 4
	require.NoError(t, m.Check())
	var total [2]int64
	for _, clock := range []system.ClockKind{system.Analytic, system.Event} {
		r, err := system.Run(ctx, p, sizes, nil, system.Options{Machine: m, Clock: clock, TimingOnly: true})
		require.NoError(t, err)
		if total[clock] = r.Cycles.Total; clock == system.Event {
			require.Positive(t, r.Waits.LateLand)
			require.Greater(t, total[system.Event]-total[system.Analytic], int64(r.Waits.Imbalance))
		}
	}
}
