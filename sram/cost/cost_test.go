package cost

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

// TestTables reads every table that comes with the program and checks that each
// has the name of its file and is found by it.
func TestTables(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("data", "*"))
	require.NoError(t, err)
	require.Len(t, Tables(), len(files))
	for i, table := range Tables() {
		require.Equal(t, filepath.Join("data", table.Name+".yaml"), files[i])
		got, err := Load(table.Name)
		require.NoError(t, err)
		require.Equal(t, table, got)
		fromFile, err := Load(files[i])
		require.NoError(t, err)
		require.Equal(t, table, fromFile)
	}
}

// TestFigures pins the published figures.
func TestFigures(t *testing.T) {
	for _, c := range []struct {
		table, what string
		value       float64
		unit        string
		confirmed   bool
	}{
		{"masim", "copy.energy", 1.87, "compute", true},
		{"cacti-22nm-8kb", "read.energy", 3.07, "pJ", true},
		{"cacti-22nm-8kb", "write.energy", 6.79, "pJ", true},
		{"cacti-22nm-8kb", "leakage.power", 1.5, "mW", true},
		{"cacti-22nm-16kb", "write.energy", 11.6, "pJ", true},
		{"neural-cache", "compute.energy", 15.4, "pJ", false},
		{"neural-cache", "access.energy", 8.6, "pJ", false},
		{"mve", "compute.energy", 34.53 / 4, "pJ", true},
		{"mve", "access.energy", 19.28 / 4, "pJ", true},
		{"mve", "host.energy", 2 * 29.70, "pJ", true},
		{"magicache", "compute.energy", 1.54, "access", true},
		{"magicache", "compute.time", 1.6, "ns", true},
		{"compute-sram-28nm", "compute.energy", 5.4, "pJ", false},
		{"compute-sram-28nm", "compute.time", 8.77, "ns", true},
	} {
		table, err := Load(c.table)
		require.NoError(t, err)
		v := table.Get(c.what)
		require.NotNil(t, v, "%s %s", c.table, c.what)
		require.InDelta(t, c.value, *v.Value, 1e-9, "%s %s", c.table, c.what)
		require.Equal(t, c.unit, v.Unit)
		require.Equal(t, c.confirmed, *v.Confirmed, "%s %s", c.table, c.what)
	}
	// What is derived follows from what it is derived from.
	require.InDelta(t, 5.4, 1/5.27/9*256, 0.01)
	require.InDelta(t, 8.77, 1e3/114, 0.01)
	masim, err := Load("masim")
	require.NoError(t, err)
	require.Equal(t, sram.DefaultEnergy.Copy, *masim.Get("copy.energy").Value)
	require.Equal(t, sram.DefaultEnergy.Compute, *masim.Get("compute.energy").Value)
}

func small() *sram.Program {
	row := func(r int) sram.Operand { return sram.Row(r, false) }
	return &sram.Program{
		Geometry: sram.Geometry{Arrays: 3, Rows: 256, Cols: 256},
		Inputs:   []sram.Input{{Name: "a"}, {Name: "b", Place: sram.Place{Row: 1}}, {Name: "c", Place: sram.Place{Row: 2}}},
		Instrs: []sram.Instr{
			{Op: sram.Maj, Dst: 3, Src: [3]sram.Operand{row(0), row(1), row(2)}},
			{Op: sram.Copy, Array: 1, Dst: 0, Src: [3]sram.Operand{row(3)}},
			{Op: sram.Copy, Array: 1, Dst: 1, Src: [3]sram.Operand{row(0)}},
			{Op: sram.Xor, Array: 1, Dst: 2, Src: [3]sram.Operand{row(0), row(1), sram.One}},
			{Op: sram.Xor, Array: 1, Dst: 2, Src: [3]sram.Operand{row(2), sram.Zero, sram.One}},
		},
		Outputs: []sram.Output{
			{Name: "y", Array: 1, Operand: row(2)}, {Name: "z", Array: 1, Operand: sram.Row(2, true)},
			{Name: "k", Operand: sram.One}, {Name: "m", Operand: row(3)},
		},
	}
}

func TestOf(t *testing.T) {
	require.NoError(t, small().Validate())
	require.Equal(t, Counts{Computes: 3, Copies: 2, InputRows: 3, OutputRows: 2, Arrays: 2, Rows: 256, Cols: 256}, Of(small()))
}

const userTable = `name: mine
title: all that there is
values:
  - {what: compute.energy, value: 2, unit: pJ, source: s, where: w, confirmed: true}
  - {what: read.energy, value: 3, unit: pJ, source: s, where: w, confirmed: true}
  - {what: write.energy, value: 5, unit: pJ, source: s, where: w, confirmed: false}
  - {what: transpose.energy, value: 7, unit: pJ, source: s, where: w, confirmed: true}
  - {what: htree.energy, value: 11, unit: pJ, source: s, where: w, confirmed: true}
  - {what: host.energy, value: 13, unit: pJ, source: s, where: w, confirmed: true}
  - {what: compute.time, value: 1, unit: ns, source: s, where: w, confirmed: true}
  - {what: access.time, value: 2, unit: ns, source: s, where: w, confirmed: true}
  - {what: htree.time, included: copy, unit: ns, source: s, where: w, confirmed: true}
  - {what: leakage.power, value: 0.5, unit: mW, source: s, where: w, confirmed: true}
  - {what: array.area, value: 0.01, unit: mm2, source: s, where: w, confirmed: true}
  - {what: array.overhead, value: 10, unit: "%", source: s, where: w, confirmed: true}
`

// TestBreakdown compares with sums done by hand: 3 computes, 2 copies, 5 rows in
// and out, which are 1280 bits or 3 lines, and 2 arrays.
func TestBreakdown(t *testing.T) {
	table, err := Parse(strings.NewReader(userTable), "mine.yaml")
	require.NoError(t, err)
	b := table.Breakdown(Of(small()))
	var energies, times []any
	for _, l := range b.Lines {
		energies, times = append(energies, deref(l.Energy)), append(times, deref(l.Time))
	}
	// compute, copy, leakage, transposition, H-tree, host copies
	require.Equal(t, []any{6.0, 16.0, 0.5 * 2 * 11, 35.0, 22.0, 39.0}, energies)
	require.Equal(t, []any{3.0, 8.0, 0.0, nil, 0.0, nil}, times)
	require.InDelta(t, 6+16+11+35+22+39, *b.Total.Energy, 1e-9)
	require.InDelta(t, 11, *b.Total.Time, 1e-9)
	require.Empty(t, b.LeftOut)
	require.Equal(t, []string{"transposition", "host copies"}, b.TimeLeftOut)
	require.Equal(t, []string{"write.energy"}, b.Unconfirmed)
	require.InDelta(t, 0.01*1e6*2*1.1, *b.Area, 1e-6)
	require.Equal(t, "pJ", b.EnergyUnit)
	require.Equal(t, "ns", b.TimeUnit)
}

func deref(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}

// TestUnknown sees that what a table lacks is unknown and named, and that what
// does not happen costs nothing whatever the table lacks.
func TestUnknown(t *testing.T) {
	cacti, err := Load("cacti-22nm-8kb")
	require.NoError(t, err)
	b := cacti.Breakdown(Of(small()))
	require.Equal(t, []string{"compute", "leakage", "transposition", "H-tree", "host copies"}, b.LeftOut)
	require.InDelta(t, 2*(3.07+6.79), *b.Total.Energy, 1e-9)
	require.InDelta(t, 2*8500, *b.Area, 1e-6)
	require.Contains(t, b.AreaNote, "no array.overhead")

	b = cacti.Breakdown(Counts{Copies: 10, Arrays: 2, Rows: 128, Cols: 256})
	require.Equal(t, 0.0, *b.Lines[0].Energy)
	require.Equal(t, []string{"H-tree"}, b.LeftOut)
	require.InDelta(t, 1.5*2*10*2*0.137, *b.Lines[2].Energy, 1e-9)
	require.Contains(t, b.Note, "not scaled")

	masim, err := Load("masim")
	require.NoError(t, err)
	b = masim.Breakdown(Of(small()))
	require.InDelta(t, small().Energy(sram.DefaultEnergy), *b.Total.Energy, 1e-9)
	require.Equal(t, 0.0, *b.Lines[4].Energy, "the H-tree is in the copy")
	require.Equal(t, "compute", b.EnergyUnit)
	require.InDelta(t, 5, *b.Total.Time, 1e-9)

	area, err := Load("infinity-stream")
	require.NoError(t, err)
	b = area.Breakdown(Of(small()))
	require.Nil(t, b.Total.Energy)
	require.Nil(t, b.Total.Time)
	require.Nil(t, b.Area)

	nc, err := Load("neural-cache")
	require.NoError(t, err)
	require.Equal(t, []string{"compute.energy", "access.energy"}, nc.Breakdown(Of(small())).Unconfirmed)
}

func TestErrors(t *testing.T) {
	const ok = "  - {what: compute.energy, value: 2, unit: pJ, source: s, where: w, confirmed: true}\n"
	head := "name: n\ntitle: t\nvalues:\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "f.yaml:1: empty"},
		{"binary", "name: \xff\n", "f.yaml:1: not UTF-8, expected a table of costs"},
		{"large", strings.Repeat("#", 1<<16+1), "f.yaml:1: more than 65536 bytes, expected a table of costs"},
		{"syntax", "name: [", "f.yaml:1: "},
		{"field", head + ok + "colour: red\n", `f.yaml:5: unknown key "colour", expected array`},
		{"field of a value", head + "  - {what: compute.energy, volts: 2}\n", `f.yaml:4: unknown key "volts", expected name, value,`},
		{"twice", head + ok + "name: m\n", `f.yaml:5: key "name" a second time, first on line 1`},
		{"type", head + "  - {what: compute.energy, value: many}\n", `f.yaml:4: values[0].value is "many", expected a number`},
		{"no name", "title: t\nvalues:\n" + ok, "f.yaml:1: no name"},
		{"no title", "name: n\nvalues:\n" + ok, "f.yaml:1: no title"},
		{"no values", "name: n\ntitle: t\nvalues: []\n", "f.yaml:3: no values"},
		{"array", "name: n\ntitle: t\narray: {rows: 0, cols: 1}\nvalues:\n" + ok, "f.yaml:3: array of 0 rows"},
		{"quantity", head + ok + strings.Replace(ok, "compute.energy", "compute.enrgy", 1), `f.yaml:5: unknown quantity "compute.enrgy"`},
		{"unit", head + strings.Replace(ok, "pJ", "J", 1), `f.yaml:4: compute.energy in "J", expected pJ or compute or access`},
		{"units", head + ok + strings.NewReplacer("pJ", "access", "compute", "copy").Replace(ok), "f.yaml:5: copy.energy in access, expected pJ as before"},
		{"no unit", head + strings.Replace(ok, "unit: pJ, ", "", 1), "f.yaml:4: compute.energy without a unit"},
		{"no value", head + strings.Replace(ok, "value: 2, ", "", 1), "f.yaml:4: compute.energy without a value"},
		{"negative", head + strings.Replace(ok, "2", "-2", 1), "f.yaml:4: compute.energy is -2"},
		{"nan", head + strings.Replace(ok, "2", ".nan", 1), "f.yaml:4: compute.energy is NaN"},
		{"both", head + strings.Replace(ok, "unit", "included: copy, unit", 1), "expected one of both"},
		{"included", head + strings.Replace(ok, "value: 2", "included: all", 1), `included in "all"`},
		{"no source", head + strings.Replace(ok, "source: s, ", "", 1), "f.yaml:4: compute.energy without a source"},
		{"no where", head + strings.Replace(ok, "where: w, ", "", 1), "f.yaml:4: compute.energy without where"},
		{"no confirmed", head + strings.Replace(ok, ", confirmed: true", "", 1), "f.yaml:4: compute.energy without confirmed"},
		{"node", head + strings.Replace(ok, "unit", "node_nm: 0, unit", 1), "node of 0 nm"},
		{"repeated", head + ok + ok, "f.yaml:5: second value of compute.energy"},
		{"other", head + strings.Replace(ok, "compute.energy", "other", 1), "f.yaml:4: other without a name"},
		{"documents", head + ok + "---\n" + head + ok, "f.yaml:6: a second document, expected one, a table of costs"},
	} {
		_, err := Parse(strings.NewReader(c.text), "f.yaml")
		require.ErrorContains(t, err, c.want, c.name)
		var e *SyntaxError
		require.ErrorAs(t, err, &e, c.name)
	}
	_, err := Load("nothing")
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorContains(t, err, "masim, mve, near-stream, neural-cache")
	_, err = Load("./nothing.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// FuzzParse holds what is refused to an error with a place, and what is accepted to
// being usable.
func FuzzParse(f *testing.F) {
	f.Add(userTable)
	f.Add("name: n\ntitle: t\narray: {rows: 1, cols: 1}\nvalues:\n  - {what: other, name: x, value: 1e3, unit: \"%\", source: s, where: w, confirmed: false}\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Parse(strings.NewReader(text), "f.yaml")
		if err != nil {
			var e *SyntaxError
			require.ErrorAs(t, err, &e)
			require.Positive(t, e.Line)
			return
		}
		for i := range table.Values {
			require.NotEmpty(t, table.Values[i].Figure()+table.Values[i].Origin())
		}
		table.Breakdown(Of(small()))
	})
}
