package gearbox

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/figuretest"
	"github.com/bitsched/bitsched/system/sparse"
)

// TestArithmetic holds the entries that execute nothing to their gates: sections 6
// and 7, tables 1, 2, 3, 5 and 6, figures 4 and 9.
func TestArithmetic(t *testing.T) {
	l := NewLab(Options{})
	entries, err := l.Paper(context.Background(), []string{"table1", "table2", "table3", "table5", "table6", "sec6", "sec7.5", "fig4", "fig9", "fig18"})
	require.NoError(t, err)
	for _, e := range entries {
		require.Empty(t, e.Failed())
		require.NotEmpty(t, e.Rows)
	}
	shapes := figuretest.Read(t, Draw(entries[4:5]))
	require.NotEmpty(t, shapes)
	_, err = l.Paper(context.Background(), []string{"fig99"})
	require.ErrorContains(t, err, `unknown entry "fig99"`)
}

func TestPublishedTimes(t *testing.T) {
	require.Len(t, PublishedTimes(), 17)
	x, ok := published("road_usa", "pagerank")
	require.True(t, ok)
	require.InDelta(t, 8.66, x.Millis/float64(x.Rounds), 0.01)
}

// TestStudies runs every entry that executes kernels on a small set.
func TestStudies(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds")
	}
	m := sparse.Default()
	m.Organisation.Layers, m.Organisation.Vaults, m.Organisation.Banks, m.Organisation.Subarrays = 1, 2, 4, 6
	l := NewLab(Options{Machine: m, Scale: 3600, Locality: .5, Datasets: []string{"cit-Patents"}, Seed: 1, Threads: 1, Check: true})
	entries, err := l.Paper(context.Background(), []string{"table4", "fig5", "fig12", "fig14b", "fig15", "fig16a", "fig16b", "fig17a", "fig17b", "readings", "stacks"})
	require.NoError(t, err)
	for _, e := range entries {
		require.NotEmpty(t, e.Rows, e.ID)
		if e.ID == "table4" || e.ID == "fig5" || e.ID == "fig14b" {
			require.Empty(t, e.Failed())
		}
	}
}
