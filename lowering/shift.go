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
	r := g.region(a)
	return shifts(dst, g.move(newCourse(), nil, &r, dim, fixed(dist)))
}

// linearShift is a Shift with linear numbers.
type linearShift struct {
	bitlines, tiles       linearPattern
	tileDist, bitlineDist linear
	intra                 bool
}

func shifts(dst []Shift, list []linearShift) []Shift {
	for i := range list {
		s := &list[i]
		dst = append(dst, Shift{s.bitlines.pattern(), s.tiles.pattern(), int(s.tileDist.v), int(s.bitlineDist.v)})
	}
	return dst
}

func (g *Grid) move(c *course, dst []linearShift, a *region, dim int, dist linear) []linearShift {
	var room [27]Part
	size := fixed(g.dim[dim].size)
	if c.equal(dist, linear{}) || !c.less(dist, size) || !c.less(dist.negative(), size) {
		return dst
	}
	box := *a
	box[dim] = c.intersect(box[dim], span{dist.negative(), size.minus(dist)})
	for _, p := range g.decompose(c, room[:0], &box) {
		dst = g.shift(c, dst, &p, dim, dist)
	}
	return dst
}

// shift is Algorithm 2: it lowers the move of one part. The cells of each tile are
// split in two by where they land: those of a mask stay together, the others reach
// one tile further.
func (g *Grid) shift(c *course, dst []linearShift, p *Part, k int, d linear) []linearShift {
	d0 := &g.dim[k]
	t := fixed(d0.tile)
	down := c.less(d, linear{})
	abs := d
	if down {
		abs = d.negative()
	}
	inter := c.div(abs, d0.tile) // distances in tiles and in cells
	intra := abs.mod(d0.tile, inter)
	rest := t.minus(intra)
	emit := func(mask span, inter, intra linear) {
		if bitlines, ok := g.bitlines(c, p, k, mask); ok {
			dst = append(dst, linearShift{
				bitlines: bitlines, tiles: g.tiles(c, p), intra: c.equal(inter, linear{}),
				tileDist: inter.times(d0.tileStride), bitlineDist: intra.times(d0.bitStride),
			})
		}
	}
	switch split := !c.equal(intra, linear{}); {
	case !down:
		emit(span{linear{}, rest}, inter, intra)
		if split {
			emit(span{rest, t}, inter.add(1), rest.negative())
		}
	default:
		if split {
			emit(span{linear{}, intra}, inter.add(1).negative(), rest)
		}
		emit(span{intra, t}, inter.negative(), intra.negative())
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
	r := g.region(a)
	return shifts(dst, g.moveAround(newCourse(), nil, &r, dim, fixed(dist)))
}

func (g *Grid) moveAround(c *course, dst []linearShift, a *region, dim int, dist linear) []linearShift {
	d := &g.dim[dim]
	size := fixed(d.size)
	if c.equal(dist, linear{}) || !c.less(dist, size) || !c.less(dist.negative(), size) {
		return dst
	}
	box := *a
	box[dim] = c.intersect(box[dim], span{dist.negative(), size.minus(dist)})
	var p Part
	for i := range MaxDims {
		r := c.intersect(box[i], span{linear{}, fixed(g.dim[i].size)})
		if box[i] = r; !c.less(r.lo, r.hi) {
			return dst
		}
		p.dim[i] = c.touched(&g.dim[i], r)
	}
	// In the dimension of the move, each of the two masks has the tiles in which it
	// has a cell of the tensor: these have a tile to go to.
	t := fixed(d.tile)
	inter := c.div(dist, d.tile)
	intra := dist.mod(d.tile, inter)
	for _, half := range [2]struct {
		mask         span
		tiles, cells linear
	}{{span{linear{}, t.minus(intra)}, inter, intra}, {span{t.minus(intra), t}, inter.add(1), intra.minus(t)}} {
		if !c.less(half.mask.lo, half.mask.hi) {
			continue
		}
		tiles := span{
			c.div(box[dim].lo.minus(half.mask.hi).plus(t), d.tile), // the least tile that has a cell from lo on in the mask
			c.up(box[dim].hi.minus(half.mask.lo), d.tile),
		}
		if !c.less(tiles.lo, tiles.hi) {
			continue
		}
		q := p
		q.dim[dim] = d.whole(tiles)
		bitlines, _ := g.bitlines(c, &q, dim, half.mask)
		dst = append(dst, linearShift{
			bitlines: bitlines, tiles: g.tiles(c, &q), intra: c.equal(half.tiles, linear{}),
			tileDist: half.tiles.times(d.tileStride), bitlineDist: half.cells.times(d.bitStride),
		})
	}
	return dst
}
