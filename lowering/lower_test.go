package lowering_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
)

// TestLowerByHand has the commands of broadcasts, reductions, moves and copies of an
// array of 16 elements in tiles of 4, worked out by hand. A is in rows 0 to 7, B in rows
// 8 to 15, registers begin at row 16.
func TestLowerByHand(t *testing.T) {
	for _, c := range []struct {
		why, body string
		kind      lowering.StepKind
		want      []string
	}{
		{"element 5 to 13, 14, 15: to the first bitline of its tile, to that of tile 3 alone, and on within it",
			"%0 = tensor A [5,6)\n%1 = bc %0 dim 0 dist 8 count 3\nstore %1 B\n", lowering.BroadcastStep,
			[]string{
				"shift bitlines 1 tiles 1 rows 0+8 to 16 by -1 bitlines",
				"xshift bitlines 0 tiles 1 rows 16+8 to 16 by +2 tiles +0 bitlines",
				"sync",
				"shift bitlines 0 tiles 3 rows 16+8 to 16 by +1 bitlines",
				"shift bitlines 0:1:2 tiles 3 rows 16+8 to 16 by +2 bitlines",
			}},
		{"element 6 to all: one command for the tiles below, one for those above", "%0 = tensor A [6,7)\n%1 = bc %0 dim 0 dist -6 count 16\nstore %1 B\n", lowering.BroadcastStep,
			[]string{
				"shift bitlines 2 tiles 1 rows 0+8 to 16 by -2 bitlines",
				"xshift bitlines 0 tiles 1 rows 16+8 to 16 by -1 tiles +0 bitlines",
				"xshift bitlines 0 tiles 1 rows 16+8 to 16 by +1 tiles +0 bitlines x2 every 1 tiles",
				"sync",
				"shift bitlines 0 tiles 0:1:4 rows 16+8 to 16 by +1 bitlines",
				"shift bitlines 0:1:2 tiles 0:1:4 rows 16+8 to 16 by +2 bitlines",
			}},
		{"element 8, which is first in its tile, to the tiles before: a copy", "%0 = tensor A [8,9)\n%1 = bc %0 dim 0 dist -7 count 5\nstore %1 B\n", lowering.BroadcastStep,
			[]string{
				"copy bitlines 0 tiles 2 rows 0+8 to 16",
				"xshift bitlines 0 tiles 2 rows 16+8 to 16 by -2 tiles +0 bitlines x2 every 1 tiles",
				"sync",
				"shift bitlines 0 tiles 0:1:2 rows 16+8 to 16 by +1 bitlines",
				"shift bitlines 0:1:2 tiles 0:1:2 rows 16+8 to 16 by +2 bitlines",
			}},
		{"element 12 to 1 up to 5: not to the tile between", "%0 = tensor A [12,13)\n%1 = bc %0 dim 0 dist -11 count 5\nstore %1 B\n", lowering.BroadcastStep,
			[]string{
				"copy bitlines 0 tiles 3 rows 0+8 to 16",
				"xshift bitlines 0 tiles 3 rows 16+8 to 16 by -3 tiles +0 bitlines x2 every 1 tiles",
				"sync",
				"shift bitlines 0 tiles 0:1:2 rows 16+8 to 16 by +1 bitlines",
				"shift bitlines 0:1:2 tiles 0:1:2 rows 16+8 to 16 by +2 bitlines",
			}},
		{"the sum of elements 1 to 10: zeros beside them in tiles 0 and 2, two rounds", "%0 = tensor A [1,11)\n%1 = reduce add %0 dim 0 group 0\n%2 = final add %1 dim 0\nstore %2 B\n", lowering.ReduceStep,
			[]string{
				"copy bitlines all tiles 0:1:3 rows 0+8 to 16",
				"fill bitlines 0 tiles 0 rows 16+8",
				"fill bitlines 3 tiles 2 rows 16+8",
				"shift bitlines all tiles 0:1:3 rows 16+8 to 24 by -2 bitlines",
				"compute bitlines all tiles 0:1:3",
				"shift bitlines all tiles 0:1:3 rows 16+8 to 24 by -1 bitlines",
				"compute bitlines all tiles 0:1:3",
			}},
		{"groups of two take one round", "%0 = tensor A [4,12)\n%1 = reduce add %0 dim 0 group 2\n%2 = final add %1 dim 0\nstore %2 B\n", lowering.ReduceStep,
			[]string{
				"copy bitlines all tiles 1:1:2 rows 0+8 to 16",
				"shift bitlines all tiles 1:1:2 rows 16+8 to 24 by -1 bitlines",
				"compute bitlines all tiles 1:1:2",
			}},
		{"a move by five: three bitlines one tile on, the last one two tiles on; nothing leaves the array", "%0 = tensor A [0,11)\n%1 = mv %0 dim 0 dist 5\nstore %1 B\n", lowering.MoveStep,
			[]string{
				"xshift bitlines 0:1:3 tiles 0:1:3 rows 0+8 to 16 by +1 tiles +1 bitlines",
				"xshift bitlines 3 tiles 0:1:2 rows 0+8 to 16 by +2 tiles -3 bitlines",
			}},
		{"a part of an array is cut along its tiles", "%0 = tensor A [2,13)\nstore %0 B\n", lowering.CopyStep,
			[]string{
				"copy bitlines 2:1:2 tiles 0 rows 0+8 to 8",
				"copy bitlines all tiles 1:1:2 rows 0+8 to 8",
				"copy bitlines 0 tiles 3 rows 0+8 to 8",
			}},
		{"a sum is computed in the tiles that have a part of it", "%0 = tensor A [6,9)\n%1 = tensor B [6,9)\n%2 = cmp add %0 %1\nstore %2 B\n", lowering.ComputeStep,
			[]string{"compute bitlines all tiles 1:1:2"}},
	} {
		p := planOf(t, "A B", 256, c.body)
		g, err := lowering.NewGrid([]int64{16}, lowering.Shape{4})
		require.NoError(t, err)
		cmds, err := p.Lower(nil, g, nil)
		require.NoError(t, err)
		var got []string
		for i, x := range cmds {
			// A sync belongs to the step whose command follows it.
			of := x.Step
			if x.Kind == lowering.Sync && i+1 < len(cmds) {
				of = cmds[i+1].Step
			}
			if p.Steps[of].Kind == c.kind && !(x.Kind == lowering.Sync && i+1 == len(cmds)) {
				got = append(got, x.String())
			}
		}
		require.Equal(t, c.want, got, c.why)
	}
}

// TestLowerNothing lowers steps whose domains are empty for the size at hand: there are no
// commands, and for another size there are.
func TestLowerNothing(t *testing.T) {
	g, err := tdfg.ParseGraph("g", `graph g dims 1
symbol N in [4,12)
array A int8[16] on 0
array B int8[16] on 0
array C int8[16] on 0
array D int8[16] on 0
%0 = tensor A [4,N)
%1 = cmp neg %0
%2 = mv %1 dim 0 dist 4
%3 = tensor A [2,3)
%4 = bc %3 dim 0 dist 2 count N-4
%5 = cmp add %1 %4
store %2 B
store %5 C
store %0 D
`)
	require.NoError(t, err)
	p, err := lowering.NewPlan(context.Background(), g, lowering.Target{Tech: "neural-cache", Rows: 256}, []int{0, 8, 16, 24}, nil)
	require.NoError(t, err)
	grid, err := lowering.NewGrid([]int64{16}, lowering.Shape{4})
	require.NoError(t, err)
	cmds, err := p.Lower(nil, grid, map[string]int64{"N": 4})
	require.NoError(t, err)
	require.Empty(t, cmds)
	cmds, err = p.Lower(cmds, grid, map[string]int64{"N": 5})
	require.NoError(t, err)
	steps := map[int32]bool{}
	for _, c := range cmds {
		steps[c.Step] = true
	}
	require.Len(t, steps, len(p.Steps))
	more, err := p.Lower(cmds, grid, map[string]int64{"N": 5})
	require.NoError(t, err)
	require.Equal(t, append(cmds, cmds...), more, "appended")
	_, err = p.Lower(nil, grid, nil)
	require.EqualError(t, err, "lowering: g: node 1: compute: lattice: no value for N")
}
