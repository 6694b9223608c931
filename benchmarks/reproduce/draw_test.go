package reproduce

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/figuretest"
)

// TestDraw reads figures of a table back: a bar for each cell that is a number, as high as
// it, and nothing outside or over each other.
func TestDraw(t *testing.T) {
	table := &Table{Title: "Speedups", Head: []string{"workload", "base", "a", "b", "of"}}
	for i := range 60 {
		table.Rows = append(table.Rows, []string{fmt.Sprintf("workload %d", i), "1", "2 ±1.5%", "-", "x"})
	}
	table.Rows[0][3] = "4"
	for _, stacked := range []bool{false, true} {
		shapes := figuretest.Read(t, table.bars("times", "Of tests.", stacked, []string{"a", "b"}))
		heights := map[string]float64{}
		for _, s := range shapes {
			if s.Name == "rect" && s.Hint != "" {
				heights[s.Hint] = s.Num(t, "height")
			}
		}
		require.Len(t, heights, 61)
		require.InDelta(t, heights["workload 0, b: 4"], 2*heights["workload 0, a: 2 ±1.5%"], 0.02)
	}
	require.Nil(t, table.bars("times", "", false, []string{"of"}))

	lines := &Table{Title: "Cycles", Head: []string{"elements", "a", "b"}, Rows: [][]string{{"16", "100", "-"}, {"64", "300", "20"}, {"256", "x", "80"}}}
	marks := 0
	for _, s := range figuretest.Read(t, lines.lines("elements", "cycles", "Of tests.", "a", "b")) {
		if s.Name == "path" && s.Hint != "" {
			marks++
		}
	}
	require.Equal(t, 4, marks)

	widths := map[string]float64{}
	for _, s := range figuretest.Read(t, timeline("Stages", "Of tests.", []track{{"base", []span{{"sample", "cores", 600}, {"layer", "arrays", 200}, {"none", "cores", 0}}}, {"other", []span{{"sample", "L3", 1000}}}})) {
		if s.Name == "rect" && s.Hint != "" {
			widths[s.Hint] += s.Num(t, "width") / 2 // what, and where
		}
	}
	require.Len(t, widths, 3)
	require.InDelta(t, widths["base, sample: 600 cycles in cores"], 3*widths["base, layer: 200 cycles in arrays"], 0.02)
}
