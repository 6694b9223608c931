package lowering

// Elements says which element of an array in memory each bitline of a grid holds.
// The array begins at the origin of the lattice space.
type Elements struct {
	g      *Grid
	first  int64
	size   [MaxDims]int64
	step   [MaxDims]int64
	offset []int64          // of each bitline, from the element of the first one of its tile
	local  [][MaxDims]int32 // coordinates of each bitline in its tile
	whole  []uint64         // the mask of all bitlines
}

// NewElements returns the elements of an array of a size, where first is the element at the
// origin, and step the number of elements in memory from a cell to the next one in each
// dimension. Dimensions beyond
// size have the one coordinate 0. It takes time and memory for one tile.
func NewElements(g *Grid, first int64, size, step []int64) *Elements {
	e := &Elements{g: g, first: first, size: [MaxDims]int64{1, 1, 1}}
	copy(e.size[:], size)
	copy(e.step[:], step)
	n := g.Bitlines()
	e.offset, e.local, e.whole = make([]int64, n), make([][MaxDims]int32, n), make([]uint64, (n+63)/64)
	for b := range n {
		e.whole[b/64] |= 1 << (b % 64)
		x := int64(b)
		for d := range MaxDims {
			c := x % g.dim[d].tile
			x /= g.dim[d].tile
			e.local[b][d] = int32(c)
			e.offset[b] += c * e.step[d]
		}
	}
	return e
}

// Tile sets at to the element on each bitline of a tile, and mask to the bitlines
// that hold one: bit b of word k stands for bitline 64k+b. What at has for the others
// is not in the array. any is false if there are none, and nothing is set then.
func (e *Elements) Tile(t int, at []int64, mask []uint64) (any bool) {
	var left [MaxDims]int64 // elements from the first bitline of the tile to the end of the array
	base, whole, n := e.first, true, int64(t)
	for d := range MaxDims {
		x := n % e.g.dim[d].tiles * e.g.dim[d].tile
		n /= e.g.dim[d].tiles
		base += x * e.step[d]
		left[d] = e.size[d] - x
		if left[d] <= 0 {
			return false
		}
		whole = whole && left[d] >= e.g.dim[d].tile
	}
	if n > 0 {
		return false
	}
	at = at[:len(e.offset)]
	for b, o := range e.offset {
		at[b] = base + o
	}
	copy(mask, e.whole)
	if whole {
		return true
	}
	for b := range e.local {
		l := &e.local[b]
		if int64(l[0]) >= left[0] || int64(l[1]) >= left[1] || int64(l[2]) >= left[2] {
			mask[b/64] &^= 1 << (b % 64)
		}
	}
	return true
}
