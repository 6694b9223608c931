package system_test

import (
	"context"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tile"
)

// BenchmarkRun runs kernels on the whole machine of the paper with both cores; a run
// includes both transpositions. mm_outer has 16 of the 2048 rounds of the paper's size.
func BenchmarkRun(b *testing.B) {
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		sizes map[string]int64
	}{
		{"vec_add", map[string]int64{"N": 4 << 20}},
		{"stencil2d", map[string]int64{"N": 2048, "M": 2048, "T": 1}},
		{"mm_outer", map[string]int64{"M": 2048, "N": 2048, "K": 16}},
	} {
		k, err := kernels.Get(c.name)
		require.NoError(b, err)
		p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: c.sizes})
		require.NoError(b, err)
		m := k.Data(c.sizes, 1).Memory()
		for _, f := range []system.Fidelity{system.Gate, system.Word} {
			b.Run(c.name+"/"+f.String(), func(b *testing.B) {
				var ops int64
				for b.Loop() {
					r, err := system.Run(ctx, p, c.sizes, m, system.Options{Machine: tile.Default(), Fidelity: f, Threads: 2})
					require.NoError(b, err)
					require.Zero(b, r.NearRegions, r.Reasons)
					ops = r.RowOps * int64(tile.Default().Array.Cols)
				}
				b.ReportMetric(float64(ops)*float64(b.N)/b.Elapsed().Seconds(), "row-ops×bitlines/s")
			})
		}
	}
}

// BenchmarkLower makes the commands of all regions of the kernels at the sizes of the
// paper, those of the first round of loops, which has the most.
func BenchmarkLower(b *testing.B) {
	ctx := context.Background()
	machine := tile.Default()
	for _, k := range kernels.All() {
		p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: k.Paper})
		require.NoError(b, err)
		prepared, err := system.Prepare(ctx, p, k.Paper, system.Options{Machine: machine})
		require.NoError(b, err)
		type region struct {
			plan   *lowering.Plan
			values map[string]int64
		}
		var regions []region
		seen := map[*tdfg.Graph]bool{}
		require.NoError(b, p.Each(context.Background(), k.Paper, func(g *tdfg.Graph, values map[string]int64) error {
			if !seen[g] {
				seen[g] = true
				if plan := prepared.Plans[g]; plan != nil {
					regions = append(regions, region{plan, maps.Clone(values)})
				}
			}
			return nil
		}))
		b.Run(k.Name, func(b *testing.B) {
			var cmds []lowering.Command
			n := 0
			for b.Loop() {
				n = 0
				for _, r := range regions {
					cmds, err = r.plan.Lower(cmds[:0], prepared.Grid, r.values)
					require.NoError(b, err)
					n += len(cmds)
				}
			}
			b.ReportMetric(float64(n), "commands")
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "commands/s")
		})
	}
}

// BenchmarkPatch makes the commands of all rounds of loops of the host at the sizes of the
// paper by patching those of the round before, where BenchmarkLower makes them anew.
func BenchmarkPatch(b *testing.B) {
	ctx := context.Background()
	machine := tile.Default()
	for _, name := range []string{"gauss_elim", "mm_inner", "mm_outer", "kmeans_outer", "gather_mlp_outer"} {
		k, err := kernels.Get(name)
		require.NoError(b, err)
		p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: k.Paper})
		require.NoError(b, err)
		prepared, err := system.Prepare(ctx, p, k.Paper, system.Options{Machine: machine})
		require.NoError(b, err)
		rounds := map[*lowering.Plan][]map[string]int64{}
		var longest *lowering.Plan
		require.NoError(b, p.Each(ctx, k.Paper, func(g *tdfg.Graph, values map[string]int64) error {
			if plan := prepared.Plans[g]; plan != nil {
				rounds[plan] = append(rounds[plan], maps.Clone(values))
				if longest == nil || len(rounds[plan]) > len(rounds[longest]) {
					longest = plan
				}
			}
			return nil
		}))
		list := rounds[longest]
		step := map[string]int64{}
		for sym, v := range list[1] {
			if d := v - list[0][sym]; d != 0 {
				step[sym] = d
			}
		}
		b.Run(name, func(b *testing.B) {
			var done lowering.Patched
			for b.Loop() {
				b.StopTimer()
				t, err := longest.Template(prepared.Grid, list[0], step, machine.ArraysPerBank())
				require.NoError(b, err)
				b.StartTimer()
				done = lowering.Patched{}
				for _, values := range list[1:] {
					d, ok, err := t.Patch(values)
					if !ok || err != nil {
						b.Fatal(ok, err)
					}
					done.Numbers, done.Banks = done.Numbers+d.Numbers, done.Banks+d.Banks
					done.Steps, done.Commands = done.Steps+d.Steps, done.Commands+d.Commands
				}
			}
			n := float64(len(list) - 1)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/round")
			b.ReportMetric(float64(done.Numbers)/n, "numbers/round")
			b.ReportMetric(float64(done.Banks)/n, "banks/round")
			b.ReportMetric(float64(done.Commands)/n, "commands/round")
		})
	}
}
