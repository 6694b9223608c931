package lattice

import (
	"fmt"
	"strings"
)

// Range is a half-open interval [Lo, Hi) of coordinates. It is empty where Lo is
// not below Hi.
type Range struct{ Lo, Hi int64 }

// Len returns the number of coordinates.
func (r Range) Len() int64 { return max(0, r.Hi-r.Lo) }

// Contains reports whether x is in r.
func (r Range) Contains(x int64) bool { return r.Lo <= x && x < r.Hi }

// Intersect returns what is in both.
func (r Range) Intersect(s Range) Range { return Range{max(r.Lo, s.Lo), min(r.Hi, s.Hi)} }

// Hull returns the least range that has both, to which an empty one adds nothing.
func (r Range) Hull(s Range) Range {
	switch {
	case r.Lo >= r.Hi:
		return s
	case s.Lo >= s.Hi:
		return r
	}
	return Range{min(r.Lo, s.Lo), max(r.Hi, s.Hi)}
}

func (r Range) String() string { return fmt.Sprintf("[%d,%d)", r.Lo, r.Hi) }

// Box is a hyperrectangle of lattice points, dimension 0 first.
type Box []Range

// Empty reports whether there is no point in b.
func (b Box) Empty() bool {
	for _, r := range b {
		if r.Hi <= r.Lo {
			return true
		}
	}
	return false
}

// Size returns the number of points.
func (b Box) Size() int64 {
	n := int64(1)
	for _, r := range b {
		n *= r.Len()
	}
	return n
}

// Equal reports whether both have the same points; all empty boxes are equal.
func (b Box) Equal(c Box) bool {
	if b.Empty() || c.Empty() {
		return b.Empty() && c.Empty()
	}
	for i, r := range b {
		if r != c[i] {
			return false
		}
	}
	return len(b) == len(c)
}

// Contains reports whether all points of c are in b.
func (b Box) Contains(c Box) bool {
	if c.Empty() {
		return true
	}
	for i, r := range b {
		if c[i].Lo < r.Lo || c[i].Hi > r.Hi {
			return false
		}
	}
	return true
}

// Has reports whether the point is in b.
func (b Box) Has(point []int64) bool {
	for i, r := range b {
		if !r.Contains(point[i]) {
			return false
		}
	}
	return true
}

// Intersect returns the points in both.
func (b Box) Intersect(c Box) Box {
	r := make(Box, len(b))
	for i := range b {
		r[i] = b[i].Intersect(c[i])
	}
	return r
}

// Hull returns the least box around both.
func (b Box) Hull(c Box) Box {
	if b.Empty() {
		return c.Clone()
	}
	if c.Empty() {
		return b.Clone()
	}
	r := make(Box, len(b))
	for i := range b {
		r[i] = Range{min(b[i].Lo, c[i].Lo), max(b[i].Hi, c[i].Hi)}
	}
	return r
}

// Shift returns b moved by dist along dimension dim.
func (b Box) Shift(dim int, dist int64) Box {
	r := b.Clone()
	r[dim].Lo += dist
	r[dim].Hi += dist
	return r
}

// With returns b with another range in dimension dim.
func (b Box) With(dim int, r Range) Box {
	c := b.Clone()
	c[dim] = r
	return c
}

// Clone returns a copy.
func (b Box) Clone() Box { return append(Box(nil), b...) }

// Index returns the position of a point of b in order, dimension 0 fastest.
func (b Box) Index(point []int64) int64 {
	var i int64
	for d := len(b) - 1; d >= 0; d-- {
		i = i*b[d].Len() + point[d] - b[d].Lo
	}
	return i
}

// Next moves point to the next one of b in the order of Index, and reports
// whether there was one.
func (b Box) Next(point []int64) bool {
	for d, r := range b {
		if point[d]++; point[d] < r.Hi {
			return true
		}
		point[d] = r.Lo
	}
	return false
}

// First returns the first point of b in the order of Index.
func (b Box) First() []int64 {
	p := make([]int64, len(b))
	for d, r := range b {
		p[d] = r.Lo
	}
	return p
}

// String returns the box as "[0,4)x[1,3)".
func (b Box) String() string {
	parts := make([]string, len(b))
	for i, r := range b {
		parts[i] = r.String()
	}
	return strings.Join(parts, "x")
}
