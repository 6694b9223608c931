package cost

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var chip = ChipCounts{
	Programs: Kinds{Computes: 10, Moves: 20, Writes: 30, LatchReads: 40, Latches: 50, LatchOnly: 60},
	Within:   70, Sent: 80, Received: 90, Loaded: 100, Stored: 110, Tree: 120, ByteHops: 130, Lines: 140, Near: 150,
	Arrays: 3, Rows: 256, Cols: 256, Nanoseconds: 1000,
}

// TestChip prices each line by hand.
func TestChip(t *testing.T) {
	one := "value: 1, unit: pJ, source: s, where: w, confirmed: true}\n"
	value := func(what, v string) string {
		return "  - {what: " + what + ", " + strings.Replace(one, "1", v, 1)
	}
	all := value("compute.energy", "2") + value("read.energy", "3") + value("write.energy", "5") + value("transpose.energy", "7") +
		value("htree.energy", "11") + value("noc.energy", "13") + value("dram.energy", "17") +
		strings.Replace(value("leakage.power", "0.5"), "pJ", "mW", 1)
	head := "name: n\ntitle: t\nvalues:\n"
	unknown := -1.0
	for _, c := range []struct {
		name, text string
		want       []float64 // in the order of lines
		left       []string
	}{
		{"all", all, []float64{2*(10+20+50+60) + 5*30 + 3*40, 2 * 70, 3*80 + 5*90, 5*100 + 3*110, 7 * 210, 11 * 120, 13 * 130, 17 * 140, 0.5 * 3000, unknown}, []string{"near memory"}},
		{"compute", value("compute.energy", "2"), []float64{2 * 210, 140, 340, 420, unknown, unknown, unknown, unknown, unknown, unknown},
			[]string{"transposition", "H-tree", "network", "DRAM", "leakage", "near memory"}},
		{"access", value("access.energy", "4"), []float64{unknown, 8 * 70, 4 * 170, 4 * 210, unknown, unknown, unknown, unknown, unknown, unknown},
			[]string{"programs", "transposition", "H-tree", "network", "DRAM", "leakage", "near memory"}},
		{"other units", strings.ReplaceAll(all, "pJ", "compute"), []float64{2*(10+20+50+60) + 5*30 + 3*40, 2 * 70, 3*80 + 5*90, 5*100 + 3*110, 7 * 210, 11 * 120, 13 * 130, 17 * 140, unknown, unknown},
			[]string{"leakage", "near memory"}},
		{"included", value("compute.energy", "2") + strings.Replace(value("htree.energy", "1"), "value: 1", "included: copy", 1),
			[]float64{2 * 210, 140, 340, 420, unknown, unknown, unknown, unknown, unknown, unknown}, []string{"transposition", "H-tree", "network", "DRAM", "leakage", "near memory"}},
	} {
		table, err := Parse(strings.NewReader(head+c.text), "f.yaml")
		require.NoError(t, err, c.name)
		e := table.Chip(chip)
		require.Len(t, e.Lines, len(c.want))
		total := 0.0
		var includes []string
		for i, l := range e.Lines {
			require.NotEmpty(t, l.How, "%s: %s", c.name, l.Name)
			if c.want[i] == unknown {
				require.Nil(t, l.Energy, "%s: %s", c.name, l.Name)
				continue
			}
			require.InEpsilon(t, c.want[i], *l.Energy, 1e-12, "%s: %s", c.name, l.Name)
			total += c.want[i]
			includes = append(includes, l.Name)
		}
		require.InEpsilon(t, total, *e.Total, 1e-12)
		require.Equal(t, includes, e.Includes)
		require.Equal(t, c.left, e.LeftOut)
	}
}

// TestChipOfNothing has nothing to price, and nothing that is known.
func TestChipOfNothing(t *testing.T) {
	for _, table := range Tables() {
		e := table.Chip(ChipCounts{Arrays: 3, Rows: 256, Cols: 256})
		require.Zero(t, *e.Total)
		require.Empty(t, e.LeftOut)
	}
	table, err := Load("infinity-stream") // no figure of energy
	require.NoError(t, err)
	e := table.Chip(chip)
	require.Nil(t, e.Total)
	require.Len(t, e.LeftOut, len(e.Lines))

	table, err = Load("neural-cache")
	require.NoError(t, err)
	e = table.Chip(chip)
	require.Equal(t, []string{"compute.energy", "access.energy"}, e.Unconfirmed)
	require.Equal(t, "10 compute.energy, 130 at most compute.energy, 70 access.energy", e.Lines[0].How)
	other := chip
	other.Rows = 512
	require.Contains(t, table.Chip(other).Note, "not scaled")
}

// TestCores prices each line of a run on cores by hand.
func TestCores(t *testing.T) {
	text := "name: n\ntitle: t\nvalues:\n"
	for i, what := range []string{"core.energy", "lane-add.energy", "lane-multiply.energy", "l1.energy", "l2.energy", "read.energy", "noc.energy", "dram.energy", "near.energy", "core.power", "leakage.power"} {
		unit := "pJ"
		if strings.HasSuffix(what, ".power") {
			unit = "mW"
		}
		text += "  - {what: " + what + ", value: " + string(rune('1'+i%9)) + ", unit: " + unit + ", source: s, where: w, confirmed: true}\n"
	}
	table, err := Parse(strings.NewReader(text), "f.yaml")
	require.NoError(t, err)
	e := table.Cores(CoreCounts{MicroOps: 10, Adds: 20, Products: 30, L1: 40, L2: 50, L3: 60, RowBytes: 32, ByteHops: 70, Lines: 80, Near: 90, Cores: 2, Private: 3.5, Banks: 5, Nanoseconds: 100})
	// A line of 64 bytes is two rows.
	want := []float64{10, 2 * 20, 3 * 30, 4 * 40, 5 * 50, 6 * 2 * 60, 7 * 70, 8 * 80, 9 * 90, 1 * 200, 2 * 350, 2 * 500}
	require.Len(t, e.Lines, len(want))
	total := 0.0
	for i, l := range e.Lines {
		require.InEpsilon(t, want[i], *l.Energy, 1e-12, l.Name)
		total += want[i]
	}
	require.InEpsilon(t, total, *e.Total, 1e-12)
	require.Empty(t, e.LeftOut)
}
