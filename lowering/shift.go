package lowering

import (
	"fmt"

	"github.com/bitsched/bitsched/lattice"
)

// Shift is a command that moves the bits of some bitlines of some tiles by the
// same distances: bitline b of tile t goes to bitline b+BitlineDist of tile
// t+TileDist. Every pair of a tile and a bitline stands for a cell.
type Shift struct {
	Bitlines, Tiles Pattern // what is moved
	TileDist        int     // 0: within tiles
	BitlineDist     int
}

// Intra reports whether the shift is within tiles.
func (s *Shift) Intra() bool { return s.TileDist == 0 }

func (s Shift) String() string {
	if s.Intra() {
		return fmt.Sprintf("bitlines %v of tiles %v by %+d bitlines", s.Bitlines, s.Tiles, s.BitlineDist)
	}
	return fmt.Sprintf("bitlines %v of tiles %v by %+d tiles, %+d bitlines", s.Bitlines, s.Tiles, s.TileDist, s.BitlineDist)
}

// Move lowers a move of a tensor by dist along a dimension to shifts (Infinity
// Stream, section 4.2) and appends them to dst. What lies outside the bounding box
// or would leave it is not moved; shifts of no bitline are left out. No two shifts
// write the same cell.
//
// A move by 0 is a copy and no shift, so that it gives none.
//
// It takes time proportional to the shifts, at most 54 for three dimensions, and
// allocates nothing if dst has room.
func (g *Grid) Move(dst []Shift, a lattice.Box, dim int, dist int64) []Shift {
	var room [27]Part
	var box [MaxDims]lattice.Range
	copy(box[:], a)
	size := g.dim[dim].size
	if dist >= size || dist <= -size {
		return dst
	}
	box[dim] = box[dim].Intersect(lattice.Range{Lo: -dist, Hi: size - dist})
	for _, p := range g.Decompose(room[:0], box[:g.dims]) {
		dst = g.shift(dst, &p, dim, dist)
	}
	return dst
}

// shift is Algorithm 2: it lowers the move of one part. The cells of each tile are
// split in two by where they land: those of a mask stay together, the others reach
// one tile further.
func (g *Grid) shift(dst []Shift, p *Part, k int, d int64) []Shift {
	d0 := &g.dim[k]
	t, abs := d0.tile, max(d, -d)
	inter, intra := abs/t, abs%t // distances in tiles and in cells
	rest := t - intra
	emit := func(mask lattice.Range, inter, intra int64) {
		if bitlines, ok := g.bitlines(p, k, mask); ok {
			dst = append(dst, Shift{
				Bitlines: bitlines, Tiles: g.tiles(p),
				TileDist: int(inter * d0.tileStride), BitlineDist: int(intra * d0.bitStride),
			})
		}
	}
	switch {
	case d > 0:
		emit(lattice.Range{Lo: 0, Hi: rest}, inter, intra)
		if intra > 0 {
			emit(lattice.Range{Lo: rest, Hi: t}, inter+1, -rest)
		}
	case d < 0:
		if intra > 0 {
			emit(lattice.Range{Lo: 0, Hi: intra}, -(inter + 1), rest)
		}
		emit(lattice.Range{Lo: intra, Hi: t}, -inter, -intra)
	}
	return dst
}
