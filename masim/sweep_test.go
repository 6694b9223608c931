package masim

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/netlist/gen"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

var (
	sweepStep = flag.Int("sweepstep", 16, "BenchmarkSweep takes every so many-th number of rows from the least that fits to 64 more")
	sweepOnly = flag.String("sweeponly", "", "scheduler that BenchmarkSweep is of; empty = all")
)

// sweepCircuits are the generated circuits of sweeps over rows.
var sweepCircuits = []struct {
	kind  string
	width int
}{
	{"adder-ripple", 64}, {"adder-kogge-stone", 32}, {"adder-brent-kung", 48}, {"adder-sklansky", 32}, {"adder-carry-select", 32},
	{"subtractor", 40}, {"comparator", 64}, {"decoder", 6}, {"divider", 8}, {"divider", 16}, {"multiplier-array", 8}, {"multiplier-array", 16},
	{"multiplier-booth", 12}, {"multiplier-dadda", 16}, {"squarer", 16}, {"sqrt", 24}, {"hypot", 8}, {"int-to-float", 16},
	{"leading-zeros", 64}, {"max", 16}, {"popcount", 64}, {"priority", 64}, {"rotate-left", 32}, {"rotate-right", 16},
	{"shift-left", 32}, {"shift-right", 64}, {"shift-right-arithmetic", 16}, {"voter", 101}, {"abs", 32}, {"and", 64}, {"xor", 48},
	{"select", 32}, {"maximum", 24}, {"mul-add", 8}, {"mul-high", 12}, {"isqrt", 32}, {"eq", 64}, {"fcmp", 16}, {"fadd", 8}, {"relu", 64},
}

func sweepGraph(tb testing.TB, kind string, width int) *xmg.Graph {
	n, err := gen.Build(context.Background(), kind, gen.Options{Width: width})
	require.NoError(tb, err)
	g, err := xmg.FromNetwork(context.Background(), n, xmg.Options{})
	require.NoError(tb, err)
	return g
}

// swept runs a scheduler at fast effort and replays what it gives; false if that is
// nothing.
func swept(tb testing.TB, s Scheduler, p Problem, at string) bool {
	r, err := s.Run(context.Background(), p, Options{Seed: 1})
	var size *SizeError
	if errors.Is(err, ErrInfeasible) || errors.As(err, &size) {
		return false
	}
	require.NoError(tb, err, at)
	_, err = Check(p.Graph, r.Program, CheckOptions{})
	require.NoError(tb, err, at)
	return true
}

// BenchmarkSweep runs every scheduler at fast effort on 40 generated circuits, for
// rows from the least that fits to 64 more, and gives the CPU seconds of the longest run of
// each circuit:
//
//	go test ./masim -run '^$' -bench Sweep -benchtime 1x -sweepstep 1 -timeout 24h -v
func BenchmarkSweep(b *testing.B) {
	for _, c := range sweepCircuits {
		b.Run(fmt.Sprintf("%s-%d", c.kind, c.width), func(b *testing.B) {
			g := sweepGraph(b, c.kind, c.width)
			least := (g.NumInputs() + 7) / 8
			for !swept(b, Schedulers[0], Problem{g, sram.Geometry{Arrays: 8, Rows: least, Cols: 64}}, c.kind) {
				least++
			}
			for b.Loop() {
				sweepRows(b, g, least)
			}
		})
	}
}

// sweepRows schedules a graph at each number of rows, by each scheduler.
func sweepRows(b *testing.B, g *xmg.Graph, least int) {
	longest, runs := 0.0, 0
	for rows := least; rows <= least+64; rows += *sweepStep {
		p := Problem{g, sram.Geometry{Arrays: 8, Rows: rows, Cols: 64}}
		for _, s := range Schedulers {
			if *sweepOnly != "" && s.Name != *sweepOnly {
				continue
			}
			at := fmt.Sprintf("%d rows, %s", rows, s.Name)
			start := processCPU()
			swept(b, s, p, at)
			used := processCPU() - start
			longest = max(longest, used)
			runs++
			if used > 2 {
				b.Logf("%.1f CPU s: %s", used, at)
			}
		}
	}
	b.ReportMetric(longest, "most-CPU-s")
	b.ReportMetric(float64(runs), "runs")
}

// What took minutes or had no end: outputs that do not fit beside the inputs, in a chain
// of gates that could each be computed on both sides. The work of a bound is limited,
// and what it gives is no more than schedules take.
func TestLowerBoundHasALimit(t *testing.T) {
	for _, c := range []struct {
		kind  string
		width int
		rows  []int
	}{{"adder-ripple", 64, []int{66, 72, 78}}, {"adder-kogge-stone", 32, []int{38, 41}}} {
		g := sweepGraph(t, c.kind, c.width)
		for _, rows := range c.rows {
			p := Problem{g, sram.Geometry{Arrays: 8, Rows: rows, Cols: 64}}
			b := newOutputsBound(t.Context(), newInstance(p, 8), 1, 1)
			b.work = newMeter(t.Context(), 2_000_000)
			least := b.least(0)
			require.False(t, b.work.more())
			require.Greater(t, b.work.left, int64(-100_000), "%s, %d rows", c.kind, rows)
			pl := b.in.inArray(b.in.eager(b.in.depthFirst()), 2)
			require.LessOrEqual(t, int(least)+rows, newEvaluator(b.in, pl, false).reset(), "copies of a schedule")
		}
	}
}

// A context that has ended ends the bounds at once, with what needs no search.
func TestLowerBoundStops(t *testing.T) {
	g := sweepGraph(t, "multiplier-dadda", 8)
	p := Problem{g, sram.Geometry{Arrays: 8, Rows: 12, Cols: 64}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := LowerBound(ctx, p)
	require.True(t, b.Partial)
	require.LessOrEqual(t, b.Copies, LowerBound(t.Context(), p).Copies)
	require.GreaterOrEqual(t, b.Copies, 12, "inputs of a full array")
}

// A few runs of BenchmarkSweep.
func TestSweep(t *testing.T) {
	t.Parallel()
	for i, c := range sweepCircuits {
		if i%18 != 8 {
			continue
		}
		g := sweepGraph(t, c.kind, c.width)
		for _, more := range []int{2, 30} {
			p := Problem{g, sram.Geometry{Arrays: 8, Rows: (g.NumInputs()+7)/8 + more, Cols: 64}}
			for _, s := range Schedulers {
				swept(t, s, p, fmt.Sprintf("%s %d, %s", c.kind, c.width, s.Name))
			}
		}
	}
}
