//go:build unix

package egraph

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// BenchmarkSaturate reports the throughput of the e-graph, without extraction:
// nodes added per second, and per second of processor time since other work takes
// its share of a machine; the share of rebuilding; and the nodes.
func BenchmarkSaturate(b *testing.B) {
	for _, g := range benchGraphs(b) {
		b.Run(g.Name, func(b *testing.B) {
			var stats Stats
			added, start := 0, cpuTime(b)
			for b.Loop() {
				var opt Options
				require.NoError(b, opt.fill())
				s := newSaturation(g, opt, &stats)
				_, err := s.read(g)
				require.NoError(b, err)
				for phase := range phases {
					stop, err := s.run(context.Background(), phase)
					require.NoError(b, err)
					if stats.Stop = stop; stop != Saturated {
						break
					}
				}
				added += len(s.nodes)
			}
			b.ReportMetric(float64(added)/b.Elapsed().Seconds(), "nodes/s")
			b.ReportMetric(float64(added)/(cpuTime(b)-start).Seconds(), "nodes/cpu-s")
			b.ReportMetric(100*float64(stats.RebuildTime)/float64(stats.RebuildTime+stats.SearchTime), "%rebuild")
			b.ReportMetric(float64(added)/float64(b.N), "nodes")
		})
	}
}

// cpuTime returns the time that the process has had of the processor.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkOptimize reports what the graphs cost after all, in percent.
func BenchmarkOptimize(b *testing.B) {
	for _, g := range benchGraphs(b) {
		b.Run(g.Name, func(b *testing.B) {
			var stats Stats
			for b.Loop() {
				var err error
				_, stats, err = Optimize(context.Background(), g, Options{Cost: weights})
				require.NoError(b, err)
			}
			b.ReportMetric(100*stats.After.Cost/stats.Before.Cost, "%cost")
		})
	}
}

func benchGraphs(b *testing.B) []*tdfg.Graph {
	list := []*tdfg.Graph{stencil3d(b, scalar.Int32), conv2d(b, scalar.Int32, false), conv2d(b, scalar.Int32, true), conv3d(b, scalar.Int32)}
	for i, name := range []string{"stencil3d", "conv2d-9-weights", "conv2d-3-weights", "conv3d-4-weights"} {
		list[i].Name = name
	}
	return list
}
