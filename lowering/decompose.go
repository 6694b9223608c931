package lowering

import "github.com/bitsched/bitsched/tdfg/lattice"

// Part is a subtensor whose range in each dimension is a number of whole tiles, or
// lies within one tile. So it is the same bitlines of all its tiles.
type Part struct {
	dim [MaxDims]partDim
}

type partDim struct {
	tiles span // along the dimension
	cells span // of each of these tiles
}

// whole is all cells of a range of tiles.
func (d *gridDim) whole(tiles span) partDim { return partDim{tiles, span{linear{}, fixed(d.tile)}} }

// touched is all cells of the tiles that a range has cells of.
func (c *course) touched(d *gridDim, r span) partDim {
	return d.whole(span{c.div(r.lo, d.tile), c.up(r.hi, d.tile)})
}

// Box returns the cells of a part.
func (g *Grid) Box(p Part) lattice.Box {
	b := make(lattice.Box, g.dims)
	for i := range b {
		d, t := &p.dim[i], g.dim[i].tile
		b[i] = lattice.Range{Lo: d.tiles.lo.v*t + d.cells.lo.v, Hi: (d.tiles.hi.v-1)*t + d.cells.hi.v}
	}
	return b
}

// region is a box with linear bounds; dimensions that a grid does not have are [0, 1).
type region [MaxDims]span

func (g *Grid) region(a lattice.Box) (r region) {
	for i := range r {
		r[i] = span{linear{}, fixed(1)}
		if i < g.dims {
			r[i] = span{fixed(a[i].Lo), fixed(a[i].Hi)}
		}
	}
	return r
}

// Decompose cuts a tensor along the boundaries of tiles (Infinity Stream,
// Algorithm 1) and appends the parts to dst: in each dimension there may be a head
// and a tail that do not fill their tiles, and whole tiles between them, and the
// parts are the cross product of these. What is outside the bounding box is left
// out, and an empty tensor has no parts.
//
// The parts come in the order of the paper: dimension 0 fastest, head, middle,
// tail. The recursion over dimensions is unrolled into loops, as the paper
// recommends for up to three dimensions.
func (g *Grid) Decompose(dst []Part, a lattice.Box) []Part {
	r := g.region(a)
	return g.decompose(newCourse(), dst, &r)
}

func (g *Grid) decompose(c *course, dst []Part, a *region) []Part {
	var cuts [MaxDims][3]partDim
	var n [MaxDims]int
	for i := range cuts {
		d := &g.dim[i]
		if n[i] = c.cut(&cuts[i], c.intersect(a[i], span{linear{}, fixed(d.size)}), d); n[i] == 0 {
			return dst
		}
	}
	for z := range n[2] {
		for y := range n[1] {
			for x := range n[0] {
				dst = append(dst, Part{[MaxDims]partDim{cuts[0][x], cuts[1][y], cuts[2][z]}})
			}
		}
	}
	return dst
}

// cut is Algorithm 1 in one dimension: it cuts r = [p, q) along the multiples of the
// size of a tile, and returns into how many pieces. Its a, b and c are those of the
// paper in tiles. Line 13 of the paper gives an empty piece where p is aligned and q in
// the same tile; it is left out.
func (c *course) cut(to *[3]partDim, r span, dim *gridDim) (n int) {
	t := dim.tile
	p, q := r.lo, r.hi
	if !c.less(p, q) {
		return 0
	}
	a, b, e := c.div(p, t), c.up(p, t), c.div(q, t)
	within := func(tile, lo, hi linear) {
		to[n] = partDim{span{tile, tile.add(1)}, span{lo.minus(tile.times(t)), hi.minus(tile.times(t))}}
		n++
	}
	if c.less(e, b) { // a = c < p < q < b: within one tile
		within(a, p, q)
		return n
	}
	if c.less(a.times(t), p) {
		within(a, p, b.times(t))
	}
	if c.less(b, e) {
		to[n] = dim.whole(span{b, e})
		n++
	}
	if c.less(e.times(t), q) {
		within(e, e.times(t), q)
	}
	return n
}

// bitlines returns the bitlines of a part whose cells in dimension k are also in
// mask. ok is false if there are none.
func (g *Grid) bitlines(c *course, p *Part, k int, mask span) (pat linearPattern, ok bool) {
	for i := range MaxDims {
		r := p.dim[i].cells
		if i == k {
			if r = c.intersect(r, mask); !c.less(r.lo, r.hi) {
				return pat, false
			}
		}
		s := g.dim[i].bitStride
		pat.start = pat.start.plus(r.lo.times(s))
		pat.push(c, s, r.hi.minus(r.lo))
	}
	return pat, true
}

// tiles returns the tiles of a part.
func (g *Grid) tiles(c *course, p *Part) (pat linearPattern) {
	for i := range MaxDims {
		r, s := p.dim[i].tiles, g.dim[i].tileStride
		pat.start = pat.start.plus(r.lo.times(s))
		pat.push(c, s, r.hi.minus(r.lo))
	}
	return pat
}

// Patterns returns the bitlines and the tiles of a part: what a command acts on
// that moves nothing.
func (g *Grid) Patterns(p Part) (bitlines, tiles Pattern) {
	c := newCourse()
	b, _ := g.bitlines(c, &p, -1, span{})
	t := g.tiles(c, &p)
	return b.pattern(), t.pattern()
}
