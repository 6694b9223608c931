package fused

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/tc"
)

// TestInTurn orders lines of 4 groups of 128 lines each, of which the last one has fewer: as by hand,
// with what is written as a whole where it was.
func TestInTurn(t *testing.T) {
	group := func(l mem.Line) int { return int(l / 128 % 4) }
	var all []mem.Line
	for l := range mem.Line(3*128 + 2) {
		all = append(all, l)
	}
	lines := tc.Lines{Bank: 6, Lines: append([]mem.Line{9999, 5}, all...), Whole: 2}
	inTurn(&lines, group)
	require.Equal(t, []mem.Line{9999, 5, 256, 384, 0, 128, 257, 385, 1, 129, 258, 2, 130, 259}, lines.Lines[:14], "bank 6 begins with group 2")
	rest := slices.Sorted(slices.Values(lines.Lines[2:]))
	require.Equal(t, all, rest)
	none := tc.Lines{Bank: 1}
	inTurn(&none, group)
	require.Empty(t, none.Lines)
}
