package fused

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/tc"
)

// TestInTurn orders lines of 4 groups of 24 lines each, of which the last one has fewer: as by hand, those
// of 16 that begin at a multiple of that in a row, with what is written as a whole where it was.
func TestInTurn(t *testing.T) {
	group := func(l mem.Line) int { return int(l / 24 % 4) }
	var all []mem.Line
	for l := range mem.Line(3*24 + 2) {
		all = append(all, l)
	}
	var want []mem.Line
	for _, x := range [][2]mem.Line{{48, 64}, {72, 74}, {0, 16}, {24, 32}, {64, 72}, {16, 24}, {32, 48}} {
		for l := x[0]; l < x[1]; l++ {
			want = append(want, l)
		}
	}
	lines := tc.Lines{Bank: 6, Lines: append([]mem.Line{9999, 5}, all...), Whole: 2}
	inTurn(&lines, group)
	require.Equal(t, []mem.Line{9999, 5}, lines.Lines[:2])
	require.Equal(t, want, lines.Lines[2:], "bank 6 begins with group 2")
	none := tc.Lines{Bank: 1}
	inTurn(&none, group)
	require.Empty(t, none.Lines)
}
