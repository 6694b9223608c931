package benchmarks

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// The rivals of section IV-A: [4], [8], [9] and [10].
var rivals = []string{"gppic", "simpler", "star", "date24"}

// TestPaperMeans checks the figures of Table II by the means in its last line,
// which the paper has with one decimal.
func TestPaperMeans(t *testing.T) {
	want := map[string]float64{
		"gppic": 922.4, "simpler": 854.7, "star": 835.3, "date24": 622.5, "masim": 228.8,
		"date24+cicpp": 258.2, "masim-noimpr": 257.9, "date24+impr": 574.7,
	}
	require.Len(t, want, numPub)
	for name, mean := range want {
		var values []float64
		for i := range Paper {
			n, ok := Paper[i].Copies(name)
			require.True(t, ok)
			values = append(values, float64(n))
		}
		require.InDelta(t, mean, GeoMean(values), 0.0501, name)
	}
	for name, mean := range map[string]float64{"date24": 262.9, "masim": 88.6, "gppic": 88.6, "masim-noimpr": 63.1} {
		var values []float64
		for i := range Paper {
			n, ok := Paper[i].Seconds(name)
			require.True(t, ok)
			values = append(values, float64(n))
		}
		require.InDelta(t, mean, GeoMean(values), 0.0501, name)
	}
	_, ok := Paper[0].Copies("gppic-naive")
	require.False(t, ok)
	_, ok = PublishedFor("nothing").Copies("masim")
	require.False(t, ok)
}

// published is a comparison made of the figures of the paper.
func published() *Comparison {
	c := &Comparison{Options: Options{Energy: sram.DefaultEnergy}}
	for i := range Paper {
		p := &Paper[i]
		r := Row{Name: p.Name, File: p.Name, Rows: p.Rows, Gates: p.Gates, Inputs: p.Inputs, Outputs: p.Outputs}
		for j, name := range pubNames {
			r.Cells = append(r.Cells, Cell{Scheduler: name, Status: Done, Copies: p.copies[j], Computes: p.Gates,
				Energy: float64(p.Gates) + sram.DefaultEnergy.Copy*float64(p.copies[j])})
		}
		c.Rows = append(c.Rows, r)
	}
	c.Schedulers = pubNames[:]
	return c
}

// reduction is by how many percent a has less of a quantity than b, on the
// geometric mean.
func reduction(t *testing.T, c *Comparison, a, b quantity) float64 {
	t.Helper()
	m, n := c.mean(ratio(a, b))
	require.Equal(t, len(c.Rows), n)
	return 100 * (1 - *m)
}

// best is the fewest copies of any of the rivals.
func best(r *Row) (float64, bool) {
	n, ok := 0.0, false
	for _, name := range rivals {
		if v, has := copiesOf(name)(r); has && (!ok || v < n) {
			n, ok = v, true
		}
	}
	return n, ok
}

// Claims of section IV, in percent: how much less MASIM, or a part of it, takes.
var claims = []struct {
	section string
	less    string // has fewer
	than    string // "" = the best rival of each circuit
	percent float64
	// low and high bound what must be measured here, at Fast effort. Why it is
	// not the paper's figure is said at TestPaperClaims.
	low, high float64
}{
	{"IV-A", "masim", "gppic", 75.2, 73, 85},
	{"IV-A", "masim", "simpler", 73.2, 71, 84},
	{"IV-A", "masim", "star", 72.6, 70, 84},
	{"IV-A", "masim", "date24", 63.2, 61, 77},
	{"IV-A", "masim", "", 63.1, 61, 77},
	{"IV-C1", "date24+cicpp", "date24", 58.5, 53, 70},
	{"IV-C2", "masim-noimpr", "date24", 58.6, 56, 75},
	{"IV-C3", "date24+impr", "date24", 7.7, 1, 15},
	{"IV-C3", "masim", "masim-noimpr", 11.3, 1, 20},
}

// energyClaims are those of section IV-B.
var energyClaims = []struct {
	than    string
	percent float64
}{{"gppic", 39.4}, {"simpler", 35.4}, {"star", 35.7}, {"date24", 28.0}}

// TestPaperArithmetic derives the paper's percentages from its tables. Its
// energies are of each array size, which it does not publish; with 1.87 for a
// copy at any size they come out within 1.5 points.
func TestPaperArithmetic(t *testing.T) {
	c := published()
	for _, claim := range claims {
		than := copiesOf(claim.than)
		if claim.than == "" {
			than = best
		}
		require.InDelta(t, claim.percent, reduction(t, c, copiesOf(claim.less), than), 0.11, "%s against %q", claim.less, claim.than)
	}
	for _, claim := range energyClaims {
		require.InDelta(t, claim.percent, reduction(t, c, energyOf("masim"), energyOf(claim.than)), 1.5, claim.than)
	}
}

// shared reads a netlist of Table I.
func shared(t *testing.T, p *Published, rows int) Circuit {
	t.Helper()
	file := filepath.Join("..", "..", "shared", "data", "masim", p.Name+".v")
	n, err := netlist.ReadFile(file)
	require.NoError(t, err)
	g, err := xmg.FromNetwork(context.Background(), n, xmg.Options{})
	require.NoError(t, err)
	return Circuit{Name: p.Name, File: file, Network: n, Graph: g, Rows: rows}
}

// TestPaperClaims measures what section IV says on the paper's netlists, at Fast
// effort. What holds, and what does not:
//
//   - MASIM has the fewest copies on every circuit (IV-A), and the reductions are
//     as large as published or larger: our MASIM has about a fifth fewer copies
//     than the published one, mostly on div, sqrt and max, since its trials also
//     take the order of the netlist.
//   - For the same reason the improvement passes (IV-C3) gain less than 11.3 %: the
//     schedules that they start from are better. On [10] they gain less than 7.7 %
//     at Fast effort, where they are few.
//   - "Less than 1/4 and 1/6 of the copies" (IV-A): 1/6 holds for div; for the
//     multiplier it is between 1/4 and 1/3 here.
//   - The reductions of energy (IV-B) hold within 4 points.
//   - "Almost as large as that spent on computation" (section I, Fig. 2): the
//     copies of the best rival take 0.6 to 1 of the energy of computing.
//   - "As expected, the number of copy instructions needed decreases with the array
//     size" (IV-D) holds for all, and MASIM is never worse. The sizes are missing
//     in our text of the paper: 128, 256 and 512 here. With 512 rows the
//     multiplier fits one array, for all but GPPIC.
func TestPaperClaims(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes half a minute of CPU time: go test -tags invariants")
	}
	if _, err := os.Stat(filepath.Join("..", "..", "shared", "data", "masim")); err != nil {
		t.Skipf("the netlists of the paper are not there: %v", err)
	}
	o := Options{Arrays: 8, Cols: sram.DefaultCols, Seed: 1, Threads: runtime.GOMAXPROCS(0), Patterns: 64, Energy: sram.DefaultEnergy}
	var circuits []Circuit
	for i := range Paper {
		circuits = append(circuits, shared(t, &Paper[i], Paper[i].Rows))
	}
	names := append(slices.Clone(rivals), "masim", "masim-noimpr", "date24+cicpp", "date24+impr")
	c := Run(context.Background(), circuits, lookup(t, names...), o)
	require.NoError(t, c.Err())
	get := func(q quantity, r *Row) float64 {
		v, ok := q(r)
		require.True(t, ok, r.Name)
		return v
	}

	t.Run("table I", func(t *testing.T) {
		for i := range c.Rows {
			r := &c.Rows[i]
			require.NotNil(t, r.Published(), r.Name)
			inputs, outputs := Paper[i].Inputs, Paper[i].Outputs
			if r.Name == "adder" {
				inputs, outputs = outputs, inputs // the paper has them the wrong way round
			}
			computed := 0 // outputs that are inputs or constants do not count there
			for _, o := range circuits[i].Graph.Outputs() {
				if circuits[i].Graph.IsGate(o.Lit.Node()) {
					computed++
				}
			}
			require.Equal(t, [3]int{Paper[i].Gates, inputs, outputs}, [3]int{r.Gates, r.Inputs, computed}, r.Name)
		}
	})
	// docs/rivals.md says where the figures differ and why.
	t.Run("table II", func(t *testing.T) {
		for _, name := range append(slices.Clone(rivals), "masim", "date24+cicpp", "date24+impr") {
			var ours, paper []float64
			for i := range c.Rows {
				published, ok := Paper[i].Copies(name)
				require.True(t, ok)
				n := get(copiesOf(name), &c.Rows[i])
				ours, paper = append(ours, n), append(paper, float64(published))
				t.Logf("%-12s %-10s %5g copies, the paper %5d", name, c.Rows[i].Name, n, published)
				if name == "masim" {
					require.LessOrEqual(t, n, 1.25*float64(published), c.Rows[i].Name)
				} else if c.Rows[i].Name == "priority" || c.Rows[i].Name == "adder" { // no choice but which gates read an input elsewhere
					require.EqualValues(t, published, n, name)
				}
			}
			switch name {
			case "masim":
				require.LessOrEqual(t, GeoMean(ours), GeoMean(paper))
			case "date24+cicpp":
				require.InEpsilon(t, GeoMean(paper), GeoMean(ours), 0.2, name)
			default:
				require.InEpsilon(t, GeoMean(paper), GeoMean(ours), 0.15, name)
			}
		}
	})
	t.Run("fewest copies on every circuit", func(t *testing.T) {
		for i := range c.Rows {
			require.LessOrEqual(t, get(copiesOf("masim"), &c.Rows[i]), get(best, &c.Rows[i]), c.Rows[i].Name)
		}
	})
	t.Run("instruction generation is better on every circuit", func(t *testing.T) {
		for i := range c.Rows {
			require.LessOrEqual(t, get(copiesOf("date24+cicpp"), &c.Rows[i]), get(copiesOf("date24"), &c.Rows[i]), c.Rows[i].Name)
		}
	})
	t.Run("reductions of copies", func(t *testing.T) {
		for _, claim := range claims {
			than := copiesOf(claim.than)
			if claim.than == "" {
				than = best
			}
			got := reduction(t, c, copiesOf(claim.less), than)
			t.Logf("%s: %s against %q: %.1f %% (paper %.1f %%)", claim.section, claim.less, claim.than, got, claim.percent)
			require.GreaterOrEqual(t, got, claim.low, "%s against %q", claim.less, claim.than)
			require.LessOrEqual(t, got, claim.high, "%s against %q", claim.less, claim.than)
		}
	})
	t.Run("without improvement as good as the new generation on the rival", func(t *testing.T) {
		require.Positive(t, reduction(t, c, copiesOf("masim-noimpr"), copiesOf("date24+cicpp")))
	})
	t.Run("multiplier and div", func(t *testing.T) {
		for i := range c.Rows {
			r := &c.Rows[i]
			most := map[string]float64{"multiplier": 1. / 3, "div": 1. / 6}[r.Name]
			if most == 0 {
				continue
			}
			require.Less(t, get(ratio(copiesOf("masim"), best), r), most, r.Name)
			share := get(best, r) * o.Energy.Copy / float64(r.Gates)
			t.Logf("%s: copies of the best rival take %.2f of the energy of computing", r.Name, share)
			require.InDelta(t, 0.8, share, 0.2, r.Name)
		}
	})
	t.Run("reductions of energy", func(t *testing.T) {
		for _, claim := range energyClaims {
			got := reduction(t, c, energyOf("masim"), energyOf(claim.than))
			t.Logf("masim against %s: %.1f %% (paper %.1f %%)", claim.than, got, claim.percent)
			require.InDelta(t, claim.percent, got, 4, claim.than)
		}
	})
	t.Run("array sizes", func(t *testing.T) {
		var circuits []Circuit
		for _, rows := range []int{128, 512} {
			circuits = append(circuits, shared(t, PublishedFor("multiplier"), rows))
		}
		names := []string{"simpler", "star", "date24", "masim"}
		s := Run(context.Background(), circuits, lookup(t, names...), o)
		middle := c.Rows[slices.IndexFunc(c.Rows, func(r Row) bool { return r.Name == "multiplier" })]
		sizes := []Row{s.Rows[0], middle, s.Rows[1]}
		for i := range sizes {
			for _, name := range names {
				cell := sizes[i].cell(name)
				require.NotNil(t, cell, "%s, %d rows", name, sizes[i].Rows)
				require.LessOrEqual(t, sizes[i].cell("masim").Copies, cell.Copies, "%s, %d rows", name, sizes[i].Rows)
				if i > 0 {
					require.Less(t, cell.Copies, sizes[i-1].cell(name).Copies, "%s, %d rows", name, sizes[i].Rows)
				}
			}
		}
	})
}
