package lowering

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/tdfg/lattice"
)

// MaxDims is the greatest number of dimensions (Infinity Stream, section 5.2;
// arrays of more dimensions have some of them fused).
const MaxDims = 3

// Shape is the size of a tile in each dimension, dimension 0 first.
type Shape []int64

// String returns the shape as "16x16".
func (s Shape) String() string {
	parts := make([]string, len(s))
	for i, t := range s {
		parts[i] = fmt.Sprint(t)
	}
	return strings.Join(parts, "x")
}

// Bitlines returns the number of bitlines that a tile takes.
func (s Shape) Bitlines() int64 {
	n := int64(1)
	for _, t := range s {
		n *= t
	}
	return n
}

// Grid is the global bounding box of a lattice space, from the origin, cut into
// tiles. Tile 0 is at the origin, and dimension 0 is fastest, among tiles as among
// the bitlines of a tile.
//
// All arrays of a region lie in one grid, whatever their own sizes, so that
// elements of the same lattice cell lie on the same bitline.
type Grid struct {
	dims int
	dim  [MaxDims]gridDim
}

// gridDim is a dimension of a grid; the unused ones have a size of 1.
type gridDim struct {
	size       int64 // of the bounding box
	tile       int64 // of a tile
	tiles      int64 // how many, the last one perhaps with unused bitlines
	bitStride  int64 // bitlines from a cell to the next one in this dimension
	tileStride int64 // tiles from a tile to the next one
}

// NewGrid returns the grid of a bounding box and a tile of these sizes. An error
// says which of them is wrong.
func NewGrid(size []int64, tile Shape) (*Grid, error) {
	if len(size) < 1 || len(size) > MaxDims {
		return nil, fmt.Errorf("lowering: %d dimensions, expected 1 to %d", len(size), MaxDims)
	}
	if len(tile) != len(size) {
		return nil, fmt.Errorf("lowering: tile %v of %d dimensions, expected %d", tile, len(tile), len(size))
	}
	g := &Grid{dims: len(size)}
	bits, tiles := int64(1), int64(1)
	for i := range g.dim {
		d := &g.dim[i]
		*d = gridDim{size: 1, tile: 1}
		if i < len(size) {
			d.size, d.tile = size[i], tile[i]
		}
		if d.size < 1 || d.size > MaxPattern {
			return nil, fmt.Errorf("lowering: size %d in dimension %d, expected 1 to %d", d.size, i, MaxPattern)
		}
		if d.tile < 1 || d.tile > MaxPattern {
			return nil, fmt.Errorf("lowering: tile size %d in dimension %d, expected 1 to %d", d.tile, i, MaxPattern)
		}
		d.tiles = (d.size + d.tile - 1) / d.tile
		d.bitStride, d.tileStride = bits, tiles
		bits *= d.tile
		tiles *= d.tiles
		if bits > MaxPattern || tiles > MaxPattern {
			return nil, fmt.Errorf("lowering: %v in tiles of %v, expected at most %d tiles and bitlines of a tile", Shape(size), tile, MaxPattern)
		}
	}
	return g, nil
}

// Dims returns the number of dimensions.
func (g *Grid) Dims() int { return g.dims }

// Tiles returns the number of tiles.
func (g *Grid) Tiles() int { return int(g.dim[MaxDims-1].tileStride * g.dim[MaxDims-1].tiles) }

// Bitlines returns the number of bitlines of a tile.
func (g *Grid) Bitlines() int { return int(g.dim[MaxDims-1].bitStride * g.dim[MaxDims-1].tile) }

// Tile returns the shape of a tile.
func (g *Grid) Tile() Shape {
	s := make(Shape, g.dims)
	for i := range s {
		s[i] = g.dim[i].tile
	}
	return s
}

// Bound returns the bounding box.
func (g *Grid) Bound() lattice.Box {
	b := make(lattice.Box, g.dims)
	for i := range b {
		b[i] = lattice.Range{Lo: 0, Hi: g.dim[i].size}
	}
	return b
}

// Locate returns the tile of a cell and its bitline there. The point must be
// inside the bounding box.
func (g *Grid) Locate(point []int64) (tile, bitline int) {
	for i, x := range point {
		d := &g.dim[i]
		tile += int(x / d.tile * d.tileStride)
		bitline += int(x % d.tile * d.bitStride)
	}
	return tile, bitline
}

// Cell sets point to the cell that a bitline of a tile holds, and reports whether
// there is one: tiles at the boundary have bitlines that are not used.
func (g *Grid) Cell(tile, bitline int, point []int64) bool {
	t, b := uint32(tile), uint32(bitline) // all sizes fit 31 bits, and short divisions are faster
	inside := true
	for i := range g.dims {
		d := &g.dim[i]
		tiles, size := uint32(d.tiles), uint32(d.tile)
		point[i] = int64(t%tiles)*d.tile + int64(b%size)
		t /= tiles
		b /= size
		inside = inside && point[i] < d.size
	}
	return inside && t == 0 && b == 0
}

// ParseShape reads what String writes.
func ParseShape(text string) (Shape, error) {
	var s Shape
	for _, part := range strings.Split(text, "x") {
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil || n < 1 || len(s) == MaxDims {
			return nil, fmt.Errorf("lowering: tile %q, expected for example 16x16 or 256", text)
		}
		s = append(s, n)
	}
	return s, nil
}
