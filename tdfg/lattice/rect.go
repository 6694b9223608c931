package lattice

import (
	"fmt"
	"strings"
)

// Interval is a half-open interval [Lo, Hi) with affine bounds.
type Interval struct{ Lo, Hi Expr }

// At returns the interval of one coordinate.
func At(x Expr) Interval { return Interval{x, x.Plus(1)} }

// Upto returns [0, n).
func Upto(n Expr) Interval { return Interval{Hi: n} }

// Len returns the number of coordinates, where it is not negative.
func (i Interval) Len() Expr { return i.Hi.Sub(i.Lo) }

// Shift returns the interval moved by dist.
func (i Interval) Shift(dist Expr) Interval { return Interval{i.Lo.Add(dist), i.Hi.Add(dist)} }

// Equal reports whether both have the same bounds for all values of the symbols.
func (i Interval) Equal(j Interval) bool { return i.Lo.Equal(j.Lo) && i.Hi.Equal(j.Hi) }

func (i Interval) String() string { return "[" + i.Lo.String() + "," + i.Hi.String() + ")" }

// Rect is a hyperrectangle with affine bounds, dimension 0 first. nil stands for
// all of the lattice space.
type Rect []Interval

// Everywhere reports whether r is all of the lattice space.
func (r Rect) Everywhere() bool { return r == nil }

// Equal reports whether both have the same bounds for all values of the symbols.
func (r Rect) Equal(s Rect) bool {
	if len(r) != len(s) {
		return false
	}
	for i := range r {
		if !r[i].Equal(s[i]) {
			return false
		}
	}
	return true
}

// With returns r with another interval in dimension dim.
func (r Rect) With(dim int, i Interval) Rect {
	c := append(Rect(nil), r...)
	c[dim] = i
	return c
}

// Shift returns r moved by dist along dimension dim.
func (r Rect) Shift(dim int, dist Expr) Rect { return r.With(dim, r[dim].Shift(dist)) }

// Bind returns r with the values of the symbols that values has.
func (r Rect) Bind(values map[string]int64) Rect {
	if r == nil {
		return nil
	}
	c := make(Rect, len(r))
	for d, i := range r {
		c[d] = Interval{i.Lo.Bind(values), i.Hi.Bind(values)}
	}
	return c
}

// Box returns r with numbers for its bounds. It is an error if a symbol has no
// value.
func (r Rect) Box(values map[string]int64) (Box, error) {
	b := make(Box, len(r))
	for d, i := range r {
		var err error
		if b[d].Lo, err = i.Lo.Eval(values); err != nil {
			return nil, err
		}
		if b[d].Hi, err = i.Hi.Eval(values); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// String returns the rectangle as "[0,N)x[1,N-1)", or "everywhere".
func (r Rect) String() string {
	if r == nil {
		return "everywhere"
	}
	parts := make([]string, len(r))
	for i, v := range r {
		parts[i] = v.String()
	}
	return strings.Join(parts, "x")
}

// ParseRect reads what String writes.
func ParseRect(s string) (Rect, error) {
	if s == "everywhere" {
		return nil, nil
	}
	var r Rect
	rest := s
	for {
		end := strings.IndexByte(rest, ')')
		if !strings.HasPrefix(rest, "[") || end < 0 {
			return nil, fmt.Errorf("lattice: %q, expected for example [0,N)x[1,N-1)", s)
		}
		lo, hi, ok := strings.Cut(rest[1:end], ",")
		if !ok {
			return nil, fmt.Errorf("lattice: %q, expected two bounds in each [ )", s)
		}
		l, err := ParseExpr(lo)
		if err != nil {
			return nil, err
		}
		h, err := ParseExpr(hi)
		if err != nil {
			return nil, err
		}
		r = append(r, Interval{l, h})
		rest = rest[end+1:]
		if rest == "" {
			return r, nil
		}
		if rest[0] != 'x' {
			return nil, fmt.Errorf("lattice: %q, expected x between the dimensions", s)
		}
		rest = rest[1:]
	}
}
