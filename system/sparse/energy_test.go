package sparse

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// TestPriceChip holds the energy of a chip to sums by hand: shares are those of the total,
// DRAM counts lines of 64 bytes an iteration, and what has no value is named.
func TestPriceChip(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=8,undirected", 1)
	require.NoError(t, err)
	o := DefaultAppOptions()
	o.Iterations = 2
	res, err := RunChip(context.Background(), "pagerank", m, o, ChipConfig{Type: U32, Check: true, Coalesce: 8, Apply: ApplyBits})
	require.NoError(t, err)
	res.DRAMBytes = 6400 // as if it did not fit
	table, err := cost.Load("chip-22nm")
	require.NoError(t, err)
	e := PriceChip(res, table)
	sum, shares := 0.0, 0.0
	joules := map[string]float64{}
	for _, l := range e.Lines {
		if l.Joules != nil {
			sum += *l.Joules
			shares += l.Share
			joules[l.Name] = *l.Joules
		}
	}
	require.InEpsilon(t, sum, e.Total, 1e-12)
	require.InDelta(t, 1, shares, 1e-12)
	require.InEpsilon(t, 2*100*10400e-12, joules["DRAM, lines of 64 bytes"], 1e-12)
	require.InEpsilon(t, 4.8e-12*float64(res.FlitHops), joules["mesh, bytes x links"], 1e-12)
	require.InEpsilon(t, 16384*1.5e-3*res.Seconds, joules["leakage, arrays x ns"], 1e-12)
	require.Equal(t, []string{"step 6 in bitlines", "cores and stream engines"}, e.LeftOut)
	require.Contains(t, e.Unconfirmed, "noc.energy")
	table, err = cost.Load("fulcrumsort") // of another machine
	require.NoError(t, err)
	require.Zero(t, PriceChip(res, table).Total)
}
