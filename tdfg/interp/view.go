package interp

import (
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// view is a tensor: an element for each point of a box.
type view struct {
	everywhere bool
	box        lattice.Box
	data       []scalar.Value
	at         int64   // of the first point of the box in data
	stride     []int64 // from a point to the next one in a dimension; 0 in a broadcast

	// group is not 0 in the result of a reduce: coordinates in dimension dim are
	// then numbers of groups.
	group int64
	dim   int
}

// constant returns the view that has a value everywhere.
func constant(v scalar.Value) view { return view{everywhere: true, data: []scalar.Value{v}} }

// dense returns a view of a box with data of its own.
func dense(box lattice.Box) view {
	v := view{box: box, data: make([]scalar.Value, box.Size()), stride: make([]int64, len(box))}
	step := int64(1)
	for d, r := range box {
		v.stride[d] = step
		step *= r.Len()
	}
	return v
}

// part returns the view of a box inside v's.
func (v view) part(box lattice.Box) view {
	if v.everywhere || box.Empty() {
		v.box = box
		return v
	}
	for d := range box {
		v.at += (box[d].Lo - v.box[d].Lo) * v.stride[d]
	}
	v.box = box
	return v
}

// moved returns v with its points dist further along dimension dim.
func (v view) moved(dim int, dist int64) view {
	v.box = v.box.Shift(dim, dist)
	return v
}

// spread returns v, which has one coordinate in dimension dim, with those of r
// instead.
func (v view) spread(dim int, r lattice.Range) view {
	v.box = v.box.With(dim, r)
	v.stride = append([]int64(nil), v.stride...)
	v.stride[dim] = 0
	return v
}

// row returns the elements of v along dimension 0 for the points of box whose other
// coordinates are those of point: a part of its data, or scratch filled with them.
func (v view) row(box lattice.Box, point []int64, scratch []scalar.Value) []scalar.Value {
	n := box[0].Len()
	if v.everywhere {
		return fill(scratch[:n], v.data[0])
	}
	at := v.at + (box[0].Lo-v.box[0].Lo)*v.stride[0]
	for d := 1; d < len(box); d++ {
		at += (point[d] - v.box[d].Lo) * v.stride[d]
	}
	switch v.stride[0] {
	case 1:
		return v.data[at : at+n]
	case 0:
		return fill(scratch[:n], v.data[at])
	}
	for i := range scratch[:n] {
		scratch[i] = v.data[at]
		at += v.stride[0]
	}
	return scratch[:n]
}

func fill(s []scalar.Value, v scalar.Value) []scalar.Value {
	for i := range s {
		s[i] = v
	}
	return s
}

// rows calls f for each row of a box: f gets the first point of the row, which it
// must not change.
func rows(box lattice.Box, f func(point []int64)) {
	if box.Empty() {
		return
	}
	heads := box.With(0, lattice.Range{Lo: box[0].Lo, Hi: box[0].Lo + 1})
	for p, more := heads.First(), true; more; more = heads.Next(p) {
		f(p)
	}
}

// get returns the element at a point of the box.
func (v view) get(point []int64) scalar.Value {
	if v.everywhere {
		return v.data[0]
	}
	at := v.at
	for d := range point {
		at += (point[d] - v.box[d].Lo) * v.stride[d]
	}
	return v.data[at]
}
