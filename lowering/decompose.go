package lowering

import "github.com/bitsched/bitsched/tdfg/lattice"

// Part is a subtensor whose range in each dimension is a number of whole tiles, or
// lies within one tile. So it is the same bitlines of all its tiles.
type Part struct {
	dim [MaxDims]partDim
}

type partDim struct {
	tileLo, tileHi int64 // tiles, along the dimension
	lo, hi         int64 // cells of each of these tiles
}

// Box returns the cells of a part.
func (g *Grid) Box(p Part) lattice.Box {
	b := make(lattice.Box, g.dims)
	for i := range b {
		d, t := &p.dim[i], g.dim[i].tile
		b[i] = lattice.Range{Lo: d.tileLo*t + d.lo, Hi: (d.tileHi-1)*t + d.hi}
	}
	return b
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
	var cuts [MaxDims][3]partDim
	var n [MaxDims]int
	for i := range cuts {
		r := lattice.Range{Lo: 0, Hi: 1}
		if i < len(a) {
			r = a[i].Intersect(lattice.Range{Lo: 0, Hi: g.dim[i].size})
		}
		if n[i] = cut(&cuts[i], r.Lo, r.Hi, g.dim[i].tile); n[i] == 0 {
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

// cut is Algorithm 1 in one dimension: it cuts [p, q) along the multiples of t,
// and returns into how many pieces. The names are those of the paper, whose line
// 13 gives an empty piece where p is aligned and q in the same tile; it is left out.
func cut(to *[3]partDim, p, q, t int64) (n int) {
	if p >= q {
		return 0
	}
	a, b := p/t*t, (p+t-1)/t*t
	c := q / t * t
	add := func(lo, hi int64) { // within one tile, or whole tiles
		if first := lo / t; hi-first*t <= t {
			to[n] = partDim{first, first + 1, lo - first*t, hi - first*t}
		} else {
			to[n] = partDim{first, hi / t, 0, t}
		}
		n++
	}
	if b > c { // a = c < p < q < b: within one tile
		add(p, q)
		return n
	}
	if a < p {
		add(p, b)
	}
	if b < c {
		add(b, c)
	}
	if c < q {
		add(c, q)
	}
	return n
}

// bitlines returns the bitlines of a part whose cells in dimension k are also in
// mask. ok is false if there are none.
func (g *Grid) bitlines(p *Part, k int, mask lattice.Range) (pat Pattern, ok bool) {
	for i := range MaxDims {
		lo, hi := p.dim[i].lo, p.dim[i].hi
		if i == k {
			lo, hi = max(lo, mask.Lo), min(hi, mask.Hi)
			if lo >= hi {
				return pat, false
			}
		}
		s := g.dim[i].bitStride
		pat.start += int32(lo * s)
		pat.push(int32(s), int32(hi-lo))
	}
	return pat, true
}

// tiles returns the tiles of a part.
func (g *Grid) tiles(p *Part) (pat Pattern) {
	for i := range MaxDims {
		d, s := &p.dim[i], g.dim[i].tileStride
		pat.start += int32(d.tileLo * s)
		pat.push(int32(s), int32(d.tileHi-d.tileLo))
	}
	return pat
}

// Patterns returns the bitlines and the tiles of a part: what a command acts on
// that moves nothing.
func (g *Grid) Patterns(p Part) (bitlines, tiles Pattern) {
	bitlines, _ = g.bitlines(&p, -1, lattice.Range{})
	return bitlines, g.tiles(&p)
}
