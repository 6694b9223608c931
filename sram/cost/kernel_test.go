package cost

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

func TestOfKernel(t *testing.T) {
	k, err := sram.ParseKernel(strings.NewReader(`.kernel neural-cache 1
.array rows=64
.input a 0 3
.input b 3 4
carry #0 #0
add 9  0 3
.output y 9 1
.end`), "k")
	require.NoError(t, err)
	require.Equal(t, Counts{Computes: 2, InputRows: 7, OutputRows: 1, Arrays: 1, Rows: 64, Cols: 128,
		Kinds: &Kinds{Computes: 1, LatchReads: 1}}, OfKernel(k, 128))
}

// TestKindsOfInstructions counts each kind by hand and prices it: where a table
// has accesses they are not charged as computes, and what no table has is.
func TestKindsOfInstructions(t *testing.T) {
	k, err := sram.ParseKernel(strings.NewReader(`.kernel neural-cache 1
.array rows=64
.input a 0 3
carry 0 0
tag.copy 1
tag.xor 0 1
tag.carry
and 5 0 1
and 6 2 2
add 6 0 #1
not? 6 5
wtag 7
wcarry? 7
xor 8 5 6
.output y 8 1
.end`), "k")
	require.NoError(t, err)
	require.NoError(t, k.Check())
	c := OfKernel(k, 256)
	require.Equal(t, Kinds{Computes: 3, Moves: 2, Writes: 2, LatchReads: 2, Latches: 1, LatchOnly: 1}, *c.Kinds)
	require.Equal(t, k.Cycles(), c.Computes)

	for _, x := range []struct {
		table  string
		energy any // of the instructions
		lines  map[string]any
	}{
		{"mve", 3*8.6325 + 2*8.6325 + 2*4.82 + 2*4.82 + 8.6325 + 8.6325, map[string]any{"write": 2 * 4.82, "load latch": 2 * 4.82, "move": 2 * 8.6325, "latch": 8.6325}},
		{"masim", 11.0, map[string]any{"write": 2.0, "move": 2.0}},
		{"cacti-22nm-8kb", nil, map[string]any{"compute": nil, "move": 2 * (3.07 + 6.79), "write": 2 * 6.79, "load latch": 2 * 3.07, "set latch": nil}},
	} {
		table, err := Load(x.table)
		require.NoError(t, err)
		b := table.Breakdown(c)
		if x.energy == nil {
			require.Nil(t, b.Instructions())
		} else {
			require.InDelta(t, x.energy, *b.Instructions(), 1e-9, x.table)
		}
		found := 0
		cycles := 0.0
		for _, l := range b.Lines[:b.instructions] {
			cycles += l.Count
			if want, ok := x.lines[l.Name]; ok {
				found++
				if want == nil {
					require.Nil(t, l.Energy, l.Name)
				} else {
					require.InDelta(t, want, *l.Energy, 1e-9, "%s of %s", l.Name, x.table)
				}
			}
		}
		require.Len(t, x.lines, found)
		require.Equal(t, 11.0, cycles)
	}
	// A program of xmg has one kind.
	k, err = sram.ParseKernel(strings.NewReader(".kernel xmg 1\n.array rows=8\n.input a 0 2\nmaj 3 0 1 #0\n.output y 3 1\n.end"), "k")
	require.NoError(t, err)
	require.Nil(t, OfKernel(k, 256).Kinds)
}
