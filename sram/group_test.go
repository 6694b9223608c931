package sram

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGroup runs one kernel after another on the same cells, and holds them
// against states of their own.
func TestGroup(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	k := &Kernel{
		Tech: &NeuralCache, Rows: 16,
		Inputs: []Port{{"a", 0, 2}, {"b", 2, 2}},
		Instrs: []Micro{
			{Op: NCCarry, Src: [3]Operand{Zero, Zero}},
			{Op: NCAdd, Dst: 4, Src: [3]Operand{Row(0, false), Row(2, false)}},
			{Op: NCAdd, Dst: 5, Src: [3]Operand{Row(1, false), Row(3, false)}},
			{Op: NCXor, Dst: 6, Src: [3]Operand{Row(5, false), One}},
		},
		Outputs: []Port{{"y", 4, 3}},
	}
	code, err := k.Compile()
	require.NoError(t, err)
	require.Equal(t, 7, code.Rows())
	groups := NewGroups(3, 14)
	s := code.NewState()
	for i, g := range groups {
		require.Equal(t, 14, g.Rows())
		for row := range 14 {
			require.Zero(t, *g.Row(row), "group %d row %d", i, row)
			for w := range GroupWords {
				x := r.Uint64()
				g.Row(row)[w] = x
				if row < 7 {
					s.Row(row)[w] = x
				}
			}
		}
		above := *g.Row(9)
		for range 2 {
			code.RunGroup(g)
			s.Run()
			for row := range 7 {
				require.Equal(t, *s.Row(row), *g.Row(row))
			}
		}
		require.Equal(t, above, *g.Row(9))
	}
}
