package noc

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBookSim compares with latencies that BookSim 2 measured: within 5 % up to a
// load of 0.3 and within 15 % at 0.4, as the issue asks. The runs are short here;
// `bitsched noc --reference` makes long ones (docs/noc.md).
//
// What the reference measured has noise of its own, most of it from the distances
// that were drawn. So the cycles beyond the latency of an empty network with the
// same average distance are compared as well: they say whether contention is
// modelled alike. Up to a load of 0.3 they agree within a quarter of a cycle or a
// tenth.
func TestBookSim(t *testing.T) {
	file, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "noc", "booksim_mesh8x8.csv"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the latencies of BookSim are not at ../shared/data/noc")
	}
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"traffic", "packet_flits", "injected_flits_per_node_per_cycle", "avg_packet_latency_cycles", "avg_hops"}, rows[0])
	require.Len(t, rows, 21)
	for _, row := range rows[1:] {
		var v [4]float64
		for i := range v {
			v[i], err = strconv.ParseFloat(row[i+1], 64)
			require.NoError(t, err)
		}
		flits, load, latency, hops := v[0], v[1], v[2], v[3]
		t.Run(fmt.Sprintf("%s/flits=%g/load=%g", row[0], flits, load), func(t *testing.T) {
			e := Experiment{Config: DefaultConfig(8, 8), Pattern: row[0], Load: load, Flits: int(flits), Seed: 1, Warmup: 2000, Window: 8000}
			if load > 0.3 {
				e.Warmup, e.Window = 4000, 16_000
			}
			m, err := e.Run(context.Background())
			require.NoError(t, err)
			require.False(t, m.Saturated)
			tolerance := 0.05
			if load > 0.3 {
				tolerance = 0.15
			}
			require.InEpsilon(t, latency, m.Latency, tolerance)
			require.InEpsilon(t, hops, m.Hops, 0.02)
			require.InDelta(t, load, m.Accepted, 0.1*load)
			if load <= 0.3 {
				queued := latency - (5*hops + 2 + flits - 1)
				require.InDelta(t, queued, m.Queue, max(0.25, 0.1*queued))
			}
			require.False(t, math.IsNaN(m.Interval))
		})
	}
}

// TestBookSimSmallBuffers is where the time that credits take counts: uniform traffic of
// three flits at a load of 0.15 over two virtual channels with two flits each, for which
// BookSim 2 measured 66.7 to 71.0 cycles by its seed.
func TestBookSimSmallBuffers(t *testing.T) {
	cfg := DefaultConfig(8, 8)
	cfg.VCs, cfg.Depth = 2, 2
	e := Experiment{Config: cfg, Pattern: "uniform", Load: 0.15, Flits: 3, Seed: 1, Warmup: 10_000, Window: 100_000}
	m, err := e.Run(context.Background())
	require.NoError(t, err)
	require.False(t, m.Saturated)
	require.True(t, m.Latency > 66.7 && m.Latency < 71, "latency %g", m.Latency)
}
