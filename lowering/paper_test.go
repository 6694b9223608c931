package lowering_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tile"
)

// The claims of Infinity Stream (ASPLOS 2023), sections 4.1, 4.2 and 5.2.
//
// Figure 9 writes the outer dimension first, with dimension 1 fastest among
// bitlines and tiles; section 4.1 has dimension 0 innermost, and so has this
// package. So the figure's A[0,4)x[0,3), moved along dimension 1, is [0,3)x[0,4)
// here, moved along dimension 0.

func box(bounds ...int64) lattice.Box {
	var b lattice.Box
	for i := 0; i < len(bounds); i += 2 {
		b = append(b, lattice.Range{Lo: bounds[i], Hi: bounds[i+1]})
	}
	return b
}

func grid(t testing.TB, size []int64, tile lowering.Shape) *lowering.Grid {
	g, err := lowering.NewGrid(size, tile)
	require.NoError(t, err)
	return g
}

// Section 4.2, figure 9: columns [0,3) of a 4x4 array in tiles of 2x2, on arrays
// of 4 bitlines, are whole tiles 0 and 2 and a part of tiles 1 and 3.
func TestPaperFigure9Decomposition(t *testing.T) {
	g := grid(t, []int64{4, 4}, lowering.Shape{2, 2})
	require.Equal(t, 4, g.Bitlines())
	parts := g.Decompose(nil, box(0, 3, 0, 4))
	require.Len(t, parts, 2)
	require.Equal(t, box(0, 2, 0, 4), g.Box(parts[0]))
	require.Equal(t, box(2, 3, 0, 4), g.Box(parts[1]))
	bitlines, tiles := g.Patterns(parts[0])
	require.Equal(t, "0:1:4", bitlines.String())
	require.Equal(t, "0:2:2", tiles.String())
	bitlines, tiles = g.Patterns(parts[1])
	require.Equal(t, "0:2:2", bitlines.String())
	require.Equal(t, "1:2:2", tiles.String())
}

// Section 4.2, figure 9: the move by one column is CMD 0 and 2 within tiles and
// CMD 1 between tiles, whose patterns the text gives; what CMD 2 would move on to
// the next tile is no bitline, so that there is no further command.
func TestPaperFigure9Commands(t *testing.T) {
	g := grid(t, []int64{4, 4}, lowering.Shape{2, 2})
	var got []string
	shifts := g.Move(nil, box(0, 3, 0, 4), 0, 1)
	for _, s := range shifts {
		got = append(got, s.String())
	}
	require.Equal(t, []string{
		"bitlines 0:2:2 of tiles 0:2:2 by +1 bitlines",
		"bitlines 1:2:2 of tiles 0:2:2 by +1 tiles, -1 bitlines",
		"bitlines 0:2:2 of tiles 1:2:2 by +1 bitlines",
	}, got)
	// Step 3: with two tiles a bank, CMD 0 is for both banks. (The text says tiles 0
	// and 1 here; the tiles of CMD 0 in the figure are 0 and 2.)
	require.Equal(t, []int{0, 1}, banksOf(shifts[0].Tiles, 2))
	// With four tiles a bank, the second bank skips it.
	require.Equal(t, []int{0}, banksOf(shifts[0].Tiles, 4))
}

// Algorithm 1: the cases of one dimension, by the lines that they take.
func TestPaperAlgorithm1(t *testing.T) {
	g := grid(t, []int64{32}, lowering.Shape{4})
	for _, c := range []struct {
		why  string
		in   lattice.Box
		want []lattice.Box
	}{
		{"line 13: aligned at both ends", box(4, 16), []lattice.Box{box(4, 16)}},
		{"line 13: one whole tile", box(4, 8), []lattice.Box{box(4, 8)}},
		{"lines 10, 12, 15: head, middle, tail", box(3, 14), []lattice.Box{box(3, 4), box(4, 12), box(12, 14)}},
		{"lines 10, 12: head and middle", box(1, 12), []lattice.Box{box(1, 4), box(4, 12)}},
		{"lines 13, 15: middle and tail", box(4, 13), []lattice.Box{box(4, 12), box(12, 13)}},
		{"lines 10, 15: head and tail, no middle", box(3, 6), []lattice.Box{box(3, 4), box(4, 6)}},
		{"line 10: head up to the boundary", box(3, 4), []lattice.Box{box(3, 4)}},
		{"line 15: tail only", box(4, 7), []lattice.Box{box(4, 7)}},
		{"line 17: within a tile", box(5, 7), []lattice.Box{box(5, 7)}},
	} {
		var got []lattice.Box
		for _, p := range g.Decompose(nil, c.in) {
			got = append(got, g.Box(p))
		}
		require.Equal(t, c.want, got, c.why)
	}
	// Several dimensions: the cross product, and no cut where all is aligned.
	g = grid(t, []int64{8, 8, 8}, lowering.Shape{4, 4, 4})
	require.Len(t, g.Decompose(nil, box(0, 8, 0, 8, 0, 8)), 1)
	require.Len(t, g.Decompose(nil, box(0, 8, 1, 8, 0, 7)), 4)
	g = grid(t, []int64{12, 12, 12}, lowering.Shape{4, 4, 4})
	require.Len(t, g.Decompose(nil, box(1, 11, 1, 11, 1, 11)), 27)
}

// Algorithm 2: distances in tiles and within tiles, forward and backward.
func TestPaperAlgorithm2(t *testing.T) {
	g := grid(t, []int64{32}, lowering.Shape{4})
	for _, c := range []struct {
		dist int64
		want []string
	}{
		{0, nil},
		{1, []string{"bitlines 0:1:3 of tiles 2:1:2 by +1 bitlines", "bitlines 3 of tiles 2:1:2 by +1 tiles, -3 bitlines"}},
		{4, []string{"bitlines 0:1:4 of tiles 2:1:2 by +1 tiles, +0 bitlines"}},
		{6, []string{"bitlines 0:1:2 of tiles 2:1:2 by +1 tiles, +2 bitlines", "bitlines 2:1:2 of tiles 2:1:2 by +2 tiles, -2 bitlines"}},
		{-1, []string{"bitlines 0 of tiles 2:1:2 by -1 tiles, +3 bitlines", "bitlines 1:1:3 of tiles 2:1:2 by -1 bitlines"}},
		{-4, []string{"bitlines 0:1:4 of tiles 2:1:2 by -1 tiles, +0 bitlines"}},
		{-6, []string{"bitlines 0:1:2 of tiles 2:1:2 by -2 tiles, +2 bitlines", "bitlines 2:1:2 of tiles 2:1:2 by -1 tiles, -2 bitlines"}},
		{40, nil},
	} {
		var got []string
		for _, s := range g.Move(nil, box(8, 16), 0, c.dist) {
			got = append(got, s.String())
		}
		require.Equal(t, c.want, got, "distance %d", c.dist)
	}
}

// Section 4.2: nothing is shifted beyond the boundary of the array. Moving all of
// a row of 8 by 3 moves cells [0,5) only.
func TestPaperBoundary(t *testing.T) {
	g := grid(t, []int64{8}, lowering.Shape{4})
	n := 0
	for _, s := range g.Move(nil, box(0, 8), 0, 3) {
		n += s.Bitlines.Len() * s.Tiles.Len()
	}
	require.Equal(t, 5, n)
}

// Table 1: the fields of the layout override table and their widths; Table 2: 16
// regions.
func TestPaperTable1(t *testing.T) {
	want := map[string][2]int{"base": {48, 1}, "end": {48, 1}, "size": {8, 1}, "dim": {2, 1}, "S": {32, 3}, "T": {32, 3}, "wl": {10, 1}, "trans": {2, 1}}
	total := 0
	for _, f := range lowering.LOTFields {
		require.Equal(t, want[f.Name], [2]int{f.Bits, f.Count}, f.Name)
		total += f.Bits * f.Count
	}
	require.Len(t, lowering.LOTFields, len(want))
	require.Equal(t, 310, total)

	m := tile.Default()
	lot, err := lowering.NewLOT(m, []int64{256}, lowering.Shape{256})
	require.NoError(t, err)
	for i := range 17 {
		_, err = lot.Add(lowering.Lie{Base: uint64(256 * i), Bytes: 1, Size: []int64{256}, Axes: along([]int64{256})}, 8*i)
		if i < 16 {
			require.NoError(t, err)
		}
	}
	require.ErrorIs(t, err, lowering.ErrRegions)
}

// Section 4.1, constraints (1) and (2): what breaks one of them is refused.
func TestPaperConstraints(t *testing.T) {
	c, err := lowering.ConstraintsOf(tile.Default(), 4)
	require.NoError(t, err)
	size := []int64{2048, 2048}
	require.NoError(t, c.Check(size, size, lowering.Shape{16, 16}))
	require.ErrorIs(t, c.Check(size, size, lowering.Shape{16, 8}), lowering.ErrNoShape)
	c.W = 15 // 16 x 15 elements of a bank align with lines of 16, 8 x 15 do not
	require.NoError(t, c.Check(size, size, lowering.Shape{16, 16}))
	require.ErrorIs(t, c.Check(size, size, lowering.Shape{8, 32}), lowering.ErrNoShape)
	// The innermost dimension must align with cache lines; others need not.
	c.W = 256
	require.ErrorIs(t, c.Check([]int64{2040, 2048}, size, lowering.Shape{16, 16}), lowering.ErrMisaligned)
	require.NoError(t, c.Check([]int64{2048, 2041}, size, lowering.Shape{16, 16}))
}

// Section 2.2, Eq. 1, on neural-cache: the paper's 131072 additions of int32 a
// cycle are for 32 cycles, after Duality Cache. The program here takes one more,
// since its carry latch is cleared by an instruction.
func TestPaperEquation1(t *testing.T) {
	m := tile.Default()
	p, err := arith.Build(context.Background(), arith.Spec{Op: "int32.add", Tech: m.Array.Technology})
	require.NoError(t, err)
	require.Equal(t, 131072, m.Bitlines()/(p.Latency()-1))
	require.Equal(t, 127100, m.Bitlines()/p.Latency())
}
