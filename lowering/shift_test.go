package lowering_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg/lattice"
)

func join(n []int) string {
	parts := make([]string, len(n))
	for i, x := range n {
		parts[i] = strconv.Itoa(x)
	}
	return strings.Join(parts, ":")
}

// drawGrid draws a grid of one to three dimensions with tiles of any shape.
func drawGrid(t *rapid.T) (*lowering.Grid, []int64, lowering.Shape) {
	n := rapid.IntRange(1, 3).Draw(t, "dims")
	size, tile := make([]int64, n), make(lowering.Shape, n)
	for i := range n {
		size[i] = rapid.Int64Range(1, 11).Draw(t, "size")
		tile[i] = rapid.Int64Range(1, 5).Draw(t, "tile")
	}
	g, err := lowering.NewGrid(size, tile)
	require.NoError(t, err)
	return g, size, tile
}

// drawBox draws a box that may reach beyond the bounding box, or be empty.
func drawBox(t *rapid.T, size []int64) lattice.Box {
	b := make(lattice.Box, len(size))
	for i, s := range size {
		b[i].Lo = rapid.Int64Range(-2, s).Draw(t, "lo")
		b[i].Hi = rapid.Int64Range(b[i].Lo, s+2).Draw(t, "hi")
	}
	return b
}

type place struct{ tile, bitline int }

// places maps every cell to its place, by a model that shares nothing with the
// grid: it counts cells in order, tile by tile.
func places(size []int64, tile lowering.Shape) map[place][3]int64 {
	var s, ts [3]int64
	for i := range s {
		s[i], ts[i] = 1, 1
		if i < len(size) {
			s[i], ts[i] = size[i], tile[i]
		}
	}
	m := map[place][3]int64{}
	n := 0
	for z0 := int64(0); z0 < s[2]; z0 += ts[2] {
		for y0 := int64(0); y0 < s[1]; y0 += ts[1] {
			for x0 := int64(0); x0 < s[0]; x0 += ts[0] {
				b := 0
				for z := z0; z < z0+ts[2]; z++ {
					for y := y0; y < y0+ts[1]; y++ {
						for x := x0; x < x0+ts[0]; x++ {
							if x < s[0] && y < s[1] && z < s[2] {
								m[place{n, b}] = [3]int64{x, y, z}
							}
							b++
						}
					}
				}
				n++
			}
		}
	}
	return m
}

func TestGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, size, tile := drawGrid(t)
		m := places(size, tile)
		require.Equal(t, g.Bound().Size(), int64(len(m)))
		var point [3]int64
		for tl := range g.Tiles() {
			for b := range g.Bitlines() {
				point = [3]int64{}
				want, used := m[place{tl, b}]
				require.Equal(t, used, g.Cell(tl, b, point[:len(size)]))
				if used {
					require.Equal(t, want, point)
					gotTile, gotBit := g.Locate(point[:len(size)])
					require.Equal(t, place{tl, b}, place{gotTile, gotBit})
				}
			}
		}
	})
}

// TestDecompose holds Algorithm 1 to what it is for: the parts are disjoint, are
// together the tensor, and each is the same bitlines of all its tiles.
func TestDecompose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, size, tile := drawGrid(t)
		a := drawBox(t, size)
		m := places(size, tile)
		seen := map[place]bool{}
		parts := g.Decompose(nil, a)
		for _, p := range parts {
			box := g.Box(p)
			require.False(t, box.Empty())
			for i, r := range box {
				whole := r.Lo%tile[i] == 0 && r.Hi%tile[i] == 0
				require.True(t, whole || r.Lo/tile[i] == (r.Hi-1)/tile[i], "%v in tiles of %v", box, tile)
			}
			bitlines, tiles := g.Patterns(p)
			require.Equal(t, box.Size(), int64(bitlines.Len()*tiles.Len()))
			for tl := range tiles.All() {
				for b := range bitlines.All() {
					at := place{tl, b}
					require.False(t, seen[at], "%v twice", at)
					seen[at] = true
					// A part at the boundary box may be whole tiles of the grid only if
					// they are in the box; so every place is a cell.
					cell, ok := m[at]
					require.True(t, ok)
					require.True(t, box.Has(cell[:len(size)]))
				}
			}
		}
		for at, cell := range m {
			require.Equal(t, a.Has(cell[:len(size)]), seen[at], "%v", cell)
		}
	})
}

// TestMove executes shifts on a map from place to value, and holds the result
// against the move of the tensor: every cell that has a source has its value, and
// nothing else changes.
func TestMove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, size, tile := drawGrid(t)
		a := drawBox(t, size)
		dim := rapid.IntRange(0, len(size)-1).Draw(t, "dim")
		dist := rapid.Int64Range(-size[dim]-2, size[dim]+2).Draw(t, "dist")
		if dist == 0 {
			require.Empty(t, g.Move(nil, a, dim, 0))
			return
		}
		m := places(size, tile)
		got := map[place][3]int64{} // which cell's value arrived
		for _, s := range g.Move(nil, a, dim, dist) {
			require.Equal(t, s.TileDist == 0, s.Intra())
			for tl := range s.Tiles.All() {
				for b := range s.Bitlines.All() {
					to := place{tl + s.TileDist, b + s.BitlineDist}
					require.True(t, to.tile >= 0 && to.tile < g.Tiles() && to.bitline >= 0 && to.bitline < g.Bitlines())
					require.NotContains(t, got, to)
					require.Contains(t, m, place{tl, b})
					got[to] = m[place{tl, b}]
				}
			}
		}
		bound := g.Bound()
		for at, cell := range m {
			from := cell
			from[dim] -= dist
			if a.Has(from[:len(size)]) && bound.Has(from[:len(size)]) {
				require.Equal(t, from, got[at], "%v", cell)
				delete(got, at)
			}
		}
		require.Empty(t, got, "written outside of the moved tensor")
	})
}

// TestMoveAround executes shifts on a map from place to value: every cell of the
// moved tensor has its value, nothing leaves the grid or goes to one place twice, and
// there are no more than two shifts.
func TestMoveAround(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, size, tile := drawGrid(t)
		a := drawBox(t, size)
		dim := rapid.IntRange(0, len(size)-1).Draw(t, "dim")
		dist := rapid.Int64Range(-size[dim]-2, size[dim]+2).Draw(t, "dist")
		m := places(size, tile)
		got := map[place][3]int64{} // which cell's value arrived
		shifts := g.MoveAround(nil, a, dim, dist)
		require.LessOrEqual(t, len(shifts), 2)
		require.LessOrEqual(t, len(shifts), len(g.Move(nil, a, dim, dist)))
		for _, s := range shifts {
			for tl := range s.Tiles.All() {
				for b := range s.Bitlines.All() {
					to := place{tl + s.TileDist, b + s.BitlineDist}
					require.True(t, to.tile >= 0 && to.tile < g.Tiles() && to.bitline >= 0 && to.bitline < g.Bitlines())
					require.NotContains(t, got, to)
					got[to] = [3]int64{-1, -1, -1}
					if cell, ok := m[place{tl, b}]; ok {
						got[to] = cell
					}
				}
			}
		}
		bound := g.Bound()
		for at, cell := range m {
			from := cell
			from[dim] -= dist
			if dist != 0 && a.Has(from[:len(size)]) && bound.Has(from[:len(size)]) {
				require.Equal(t, from, got[at], "%v", cell)
			}
		}
	})
}

// TestCrossesBanks holds it against all places.
func TestCrossesBanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, size, _ := drawGrid(t)
		perBank := rapid.IntRange(1, 9).Draw(t, "per bank")
		dim := rapid.IntRange(0, len(size)-1).Draw(t, "dim")
		for _, s := range g.Move(nil, drawBox(t, size), dim, rapid.Int64Range(-9, 9).Draw(t, "dist")) {
			want := slices.ContainsFunc(slices.Collect(s.Tiles.All()), func(tl int) bool {
				return tl/perBank != (tl+s.TileDist)/perBank
			})
			require.Equal(t, want, s.CrossesBanks(perBank))
		}
	})
}

func TestGridErrors(t *testing.T) {
	for _, c := range []struct {
		size []int64
		tile lowering.Shape
		want string
	}{
		{nil, nil, "lowering: 0 dimensions, expected 1 to 3"},
		{[]int64{1, 1, 1, 1}, lowering.Shape{1, 1, 1, 1}, "lowering: 4 dimensions, expected 1 to 3"},
		{[]int64{4, 4}, lowering.Shape{4}, "lowering: tile 4 of 1 dimensions, expected 2"},
		{[]int64{4, 0}, lowering.Shape{2, 2}, "lowering: size 0 in dimension 1, expected 1 to 2147483647"},
		{[]int64{4, 4}, lowering.Shape{0, 2}, "lowering: tile size 0 in dimension 0, expected 1 to 2147483647"},
		{[]int64{1 << 30, 1 << 30}, lowering.Shape{1, 1}, "lowering: 1073741824x1073741824 in tiles of 1x1, expected at most 2147483647 tiles and bitlines of a tile"},
	} {
		_, err := lowering.NewGrid(c.size, c.tile)
		require.EqualError(t, err, c.want)
	}
}

func BenchmarkMove(b *testing.B) {
	g, err := lowering.NewGrid([]int64{512, 512, 16}, lowering.Shape{8, 8, 4})
	require.NoError(b, err)
	a := lattice.Box{{Lo: 1, Hi: 511}, {Lo: 1, Hi: 511}, {Lo: 1, Hi: 15}}
	var room [64]lowering.Shift
	n := 0
	for b.Loop() {
		n += len(g.Move(room[:0], a, 0, 1))
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "commands/s")
}
