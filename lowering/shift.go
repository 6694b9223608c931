package lowering

import (
	"fmt"

	"github.com/bitsched/bitsched/tdfg/lattice"
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

// MoveAround lowers the same move where it does not matter what the destination
// holds outside of the moved tensor, as in a register that has just been allocated:
// the cells around the tensor in its tiles move along, so that there are no
// boundaries of tiles to cut at, and at most two shifts for any number of
// dimensions. Cells that would leave the grid are left out.
//
// The paper cuts moves along the boundaries (Algorithm 1), and finds that lowering
// and executing the commands for boundary tiles takes half of the time of a stencil
// in three dimensions (section 8).
func (g *Grid) MoveAround(dst []Shift, a lattice.Box, dim int, dist int64) []Shift {
	d := &g.dim[dim]
	if dist == 0 || dist >= d.size || dist <= -d.size {
		return dst
	}
	var box [MaxDims]lattice.Range
	copy(box[:], a)
	box[dim] = box[dim].Intersect(lattice.Range{Lo: max(0, -dist), Hi: d.size - max(0, dist)})
	var p Part
	for i := range MaxDims {
		t := g.dim[i].tile
		r := lattice.Range{Lo: 0, Hi: 1}
		if i < g.dims {
			r = box[i].Intersect(lattice.Range{Lo: 0, Hi: g.dim[i].size})
		}
		if r.Lo >= r.Hi {
			return dst
		}
		p.dim[i] = partDim{r.Lo / t, (r.Hi-1)/t + 1, 0, t}
	}
	// In the dimension of the move, each of the two masks has the tiles in which it
	// has a cell of the tensor: these have a tile to go to.
	t, lo, hi := d.tile, box[dim].Lo, box[dim].Hi
	intra := (dist%t + t) % t
	inter := (dist - intra) / t // rounded down
	for _, half := range [2]struct {
		mask  lattice.Range
		tiles int64
		cells int64
	}{{lattice.Range{Lo: 0, Hi: t - intra}, inter, intra}, {lattice.Range{Lo: t - intra, Hi: t}, inter + 1, intra - t}} {
		if half.mask.Lo == half.mask.Hi {
			continue
		}
		first := (lo - half.mask.Hi + t) / t // the least tile that has a cell from lo on in the mask
		last := (hi - half.mask.Lo + t - 1) / t
		if first >= last {
			continue
		}
		q := p
		q.dim[dim] = partDim{first, last, 0, t}
		bitlines, _ := g.bitlines(&q, dim, half.mask)
		dst = append(dst, Shift{
			Bitlines: bitlines, Tiles: g.tiles(&q),
			TileDist: int(half.tiles * d.tileStride), BitlineDist: int(half.cells * d.bitStride),
		})
	}
	return dst
}
