package sparse

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

func BenchmarkRing(b *testing.B) {
	for _, ways := range []string{"one", "both"} {
		b.Run(ways, func(b *testing.B) { benchmarkRing(b, ways) })
	}
}

func benchmarkRing(b *testing.B, ways string) {
	const pairs = 6400000
	m := Default()
	m.Readings.Ring = ways
	for b.Loop() {
		_, err := RingTraffic{Pattern: "uniform", Pairs: pairs, Seed: 1}.Run(context.Background(), m)
		require.NoError(b, err)
	}
	b.ReportMetric(pairs*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpairs/s")
}

// run is a run of an application on the stack that a benchmark has.
func benchmarkRun(b *testing.B, app, set string, scale, layers, iterations int) {
	m, err := matrix.Standin(set, scale, 0.5, 1)
	require.NoError(b, err)
	mach := Default()
	mach.Organisation.Layers, mach.Organisation.Vaults = layers, 4*layers
	cfg := config(mach, "v3")
	cfg.Check, cfg.Every, cfg.Instr = false, 0, 0
	o := DefaultAppOptions()
	o.Iterations = iterations
	nonzeros, rounds := int64(0), 0
	for b.Loop() {
		res, err := Run(context.Background(), app, m, o, cfg, nil)
		require.NoError(b, err)
		nonzeros += res.Nonzeros
		rounds += len(res.Iterations)
	}
	b.ReportMetric(float64(nonzeros)/b.Elapsed().Seconds()/1e6, "Mnnz/s")
	b.ReportMetric(b.Elapsed().Seconds()/float64(rounds)*1e6, "us/iteration")
}

func BenchmarkPageRank(b *testing.B) {
	b.Run("layer", func(b *testing.B) { benchmarkRun(b, "pagerank", "hollywood-2009", 32, 2, 1) })
	b.Run("stack", func(b *testing.B) { benchmarkRun(b, "pagerank", "hollywood-2009", 1, 8, 1) })
}

func BenchmarkPlace(b *testing.B) {
	m, err := matrix.Standin("hollywood-2009", 8, 0.5, 1)
	require.NoError(b, err)
	for b.Loop() {
		_, err := Place(m, Default(), PlaceOptions{Long: -1, Deal: "same-bank", Balance: "count", Seed: 1})
		require.NoError(b, err)
	}
	b.ReportMetric(float64(m.NNZ())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mnnz/s")
}

// BenchmarkIdle is a search along a road: thousands of iterations of few vertices.
func BenchmarkIdle(b *testing.B) { benchmarkRun(b, "bfs", "road_usa", 64, 8, 300) }

// BenchmarkRelax is a search for distances along a road: rounds of some thousand
// vertices, whose nonzeros are few in each column.
func BenchmarkRelax(b *testing.B) { benchmarkRun(b, "sssp", "road_usa", 64, 1, 700) }
