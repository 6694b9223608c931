package benchmarks

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGeoMean(t *testing.T) {
	for _, w := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{5}, 5},
		{[]float64{2, 8}, 4},
		{[]float64{1, 10, 100}, 10},
		{[]float64{0.5, 2}, 1},
		{[]float64{1e300, 1e300, 1e300}, 1e300}, // the product would be too large
	} {
		require.InEpsilon(t, w.want, GeoMean(w.values), 1e-9)
	}
	require.True(t, math.IsNaN(GeoMean(nil)))
}

// The expected values are computed by hand from the table at fake.
func TestSummaries(t *testing.T) {
	all := fake().Summaries()
	require.Len(t, all, 4)
	is := func(want float64, got *float64) {
		t.Helper()
		require.NotNil(t, got)
		require.InEpsilon(t, want, *got, 1e-9)
	}

	ours := all[0]
	require.Equal(t, "bitsched", ours.Scheduler)
	require.Equal(t, 3, ours.Circuits)
	is(math.Cbrt(50*2*1), ours.Copies)         // 0 counts as 1
	is(math.Cbrt(0.5*0.25*0.25), ours.ToMASIM) // 50/100, 2/8, 1/4
	is(50.0/87, ours.ToPaperMASIM)             // int2float only
	is(math.Cbrt((199+93.5)/(199+187)*(7+3.74)/(7+14.96)*20/(20+7.48)), ours.EnergyToMASIM)
	is((199+93.5)/(199+1.87*87), ours.EnergyToPaperMASIM)
	require.Nil(t, ours.PaperCopies)
	require.Nil(t, ours.ToPaper)
	require.Equal(t, 2, ours.AtBound) // dec and one
	require.InDelta(t, 3, ours.CPUSeconds, 1e-9)

	masim := all[1]
	is(math.Cbrt(100*8*4), masim.Copies)
	is(87, masim.PaperCopies)
	is(100.0/87, masim.ToPaper)
	is(1, masim.ToMASIM)
	require.Zero(t, masim.AtBound)

	star := all[2]
	require.Equal(t, 2, star.Circuits)
	is(math.Sqrt(200*16), star.Copies)
	is(222, star.PaperCopies)
	is(math.Sqrt(2*4), star.ToMASIM) // the circuits that both have
	require.InDelta(t, 3+1+3, star.CPUSeconds, 1e-9)
}

func TestTables(t *testing.T) {
	c := fake()
	c.Rows[2].Cells[1].Stopped = "budget"
	tables, notes := c.Tables()
	var titles []string
	for _, table := range tables {
		titles = append(titles, table.Title)
		for _, r := range append(table.Rows, table.Footer...) {
			require.Len(t, r, len(table.Columns), table.Title)
		}
	}
	require.Equal(t, []string{
		"Copies",
		"Ablation: copies with parts exchanged or left out",
		"Summary: geometric means, and ratios to figures of the same circuits",
		"Energy: 1 x computes + 1.87 x copies",
		"CPU seconds of scheduling",
	}, titles)
	names := func(table Table) (s []string) {
		for _, c := range table.Columns {
			s = append(s, c.Name)
		}
		return s
	}

	copies := tables[0]
	require.Equal(t, []string{"circuit", "rows", "gates", "bound", "bitsched", "masim", "paper", "star", "paper"}, names(copies))
	require.Equal(t, [][]string{
		{"int2float", "16", "199", "49", "50", "100", "87", "200", "222"},
		{"dec[1]", "16", "7", "2", "2", "8", "", "-[2]", ""},
		{"one", "32", "20", "0", "0", "4[3]", "", "16", ""},
	}, copies.Rows)
	// cbrt(100), cbrt(3200), sqrt(3200)
	require.Equal(t, [][]string{{"geomean", "", "", "", "4.6", "14.7", "87.0[4]", "56.6[5]", "222.0[4]"}}, copies.Footer)

	// 125/100, 10/8 and 4/4; the paper has 114 copies beside 87.
	ablation := tables[1]
	require.Equal(t, []string{"circuit", "rows", "gates", "masim", "paper", "masim-noimpr", "paper"}, names(ablation))
	require.Equal(t, []string{"change", "", "", "", "", "+16.0%", "+31.0%"}, ablation.Footer[1])

	energy := tables[3]
	require.Equal(t, []string{"circuit", "gates", "bitsched", "masim", "star", "paper's masim"}, names(energy))
	require.Equal(t, []string{"int2float", "199", "292.5", "386.0", "573.0", "361.7"}, energy.Rows[0])
	require.Equal(t, []string{"dec[1]", "7", "10.7", "22.0", "-", ""}, energy.Rows[1])

	require.Equal(t, []string{"/ paper's masim", "", "0.809", "1.067", "1.584", "1.000"}, energy.Footer[1])
	require.Equal(t, []string{"at most", "", "0.809", "1.067", "1.584", "1.000"}, energy.Footer[2])

	require.Equal(t, []string{
		"the paper's dec has 304 gates on arrays of 256 rows; its figures are left out",
		"star on dec: masim: infeasible: no rows",
		"stopped by budget: the best so far",
		"mean over 1 of 3 circuits",
		"mean over 2 of 3 circuits",
		"0 copies count as 1 in means and ratios",
	}, notes)
}

// Energies are compared with the paper's for the same circuit made of other
// gates, copies are not.
func TestOtherGates(t *testing.T) {
	c := fake()
	c.Rows[0].Gates = 180
	tables, notes := c.Tables()
	require.Contains(t, notes, "the paper's int2float has 199 gates on arrays of 16 rows; its copies are left out")
	energy := tables[slices.IndexFunc(tables, func(t Table) bool { return strings.HasPrefix(t.Title, "Energy") })]
	require.Equal(t, "361.7", energy.Rows[0][len(energy.Rows[0])-1])
	s := c.Summaries()[0]
	require.Nil(t, s.ToPaperMASIM)
	require.InDelta(t, 292.5/361.69, *s.EnergyToPaperMASIM, 1e-9)
	require.Equal(t, *s.EnergyToPaperMASIM, *s.MostEnergyToPaperMASIM)
	c.Rows[0].Rows = 32
	require.Nil(t, c.Summaries()[0].EnergyToPaperMASIM)
}

// TestTablesOfParts looks at comparisons that have only some of everything.
func TestTablesOfParts(t *testing.T) {
	c := &Comparison{Schedulers: []string{"masim-noimpr"}}
	c.Rows = []Row{{Name: "x", Cells: []Cell{{Scheduler: "masim-noimpr", Status: NotRun}}}}
	tables, notes := c.Tables()
	require.Len(t, tables, 3, "ablation, summary, CPU")
	require.Equal(t, []string{"x", "0", "0", ""}, tables[0].Rows[0])
	require.Empty(t, tables[0].Footer)
	require.Empty(t, notes)
	require.Empty(t, c.Figures())
	require.Len(t, c.Report().Circuits, 1)
}
