package mapstudy

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// The claims of ARES, section VI, with what does not hold here. Values of means are not
// compared: the paper leaves open on what they depend, and Sensitivity has their intervals.

// Tables I to III (VI-A): every value.
func TestPaperTables(t *testing.T) {
	for _, name := range PaperPlatforms {
		p, err := platform.Load(name)
		require.NoError(t, err)
		require.NotEmpty(t, p.Paper, name)
		for _, r := range p.Paper {
			require.InDelta(t, r.Value, p.PaperValue(r), 1e-6, "%s: %s", name, r.Item)
		}
	}
}

// Fig. 5 (VI-B to D): an improvement on every operator and platform; crossbars gain most,
// then logic in DRAM, in SRAM, and lanes beside banks. The reasons that the paper gives, of
// which three do not hold: here transfers do not dominate on logic in DRAM, whose
// instructions take fifty cycles and are throttled by tFAW, so that units are not what
// decides there either; and layers differ by more than 20 points beside banks, since the
// template's lanes stay empty in layers with few channels.
func TestPaperFig5(t *testing.T) {
	if testing.Short() {
		t.Skip("52 searches")
	}
	bars, means, err := Fig5(context.Background(), Options{Evals: 1000, Seed: 1, Threads: 2, oursOnly: true})
	require.NoError(t, err)
	for _, b := range bars { // at 1000 evaluations; at 10000 all are above 0
		require.GreaterOrEqual(t, b.Reduction, 0.0, "%s %s", b.Platform, b.Operator)
	}
	by := map[string]float64{}
	for _, m := range means {
		by[m.Platform] = m.Reduction
	}
	require.Greater(t, by["mvm-reram"], by["logic-dram"])
	require.Greater(t, by["logic-dram"], by["logic-sram"])
	require.Greater(t, by["logic-sram"], by["pnm-hbm"])
	not := map[string]bool{
		"logic-dram: transfers dominate where maps are large":  true,
		"logic-dram: parallelism decides where maps are small": true,
		"pnm-hbm: the spread between layers is small":          true,
	}
	// On logic in SRAM both are at their thresholds (48.8 % of 50 at 10000 evaluations,
	// 3160 units of 3584 at 2000): the number of evaluations decides.
	undecided := map[string]bool{
		"logic-sram: transfers dominate where maps are large":  true,
		"logic-sram: parallelism decides where maps are small": true,
	}
	for _, s := range Why(bars) {
		if undecided[s.Sentence] {
			continue
		}
		require.Equal(t, !not[s.Sentence], s.Holds, "%s: %s", s.Sentence, s.Figures)
	}
}

// Fig. 5 has the searches of ARES beside ours: of both no mapping is below its bound, and the reductions
// are of the template's cycles.
func TestFig5OfARES(t *testing.T) {
	bars, means, err := Fig5(context.Background(), Options{Platforms: []string{"mvm-reram"}, Evals: 50, Seed: 1, Threads: 2})
	require.NoError(t, err)
	require.Len(t, means, 1)
	sum, n := 0.0, 0
	for _, b := range bars {
		require.GreaterOrEqual(t, b.Bitsched, b.Bound, b.Operator)
		require.GreaterOrEqual(t, b.ARES, b.Bound, b.Operator)
		require.InDelta(t, float64(b.Baseline-b.ARES)/float64(b.Baseline), b.OfARES/100, 1e-9, b.Operator)
		if b.Operator[0] == 'C' {
			sum, n = sum+b.OfARES, n+1
		}
	}
	require.Equal(t, 11, n)
	require.InDelta(t, sum/11, means[0].ARES, 1e-9)
}
