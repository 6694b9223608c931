package lattice

import "fmt"

// Space has the symbols that expressions may use, with their ranges.
type Space struct{ symbols []Symbol }

// Symbol is a size or a loop variable. Its bounds may use symbols that were
// declared before it.
type Symbol struct {
	Name    string
	Lo      Expr
	Hi      Expr // the greatest value
	Bounded bool // whether there is a Hi
}

// NewSpace returns a space without symbols.
func NewSpace() *Space { return &Space{} }

// Declare adds a symbol with values from lo to hi, both included, or without a
// greatest one. An error says that the name is taken, or that a bound uses a symbol
// that is not declared.
func (s *Space) Declare(name string, lo, hi Expr, bounded bool) error {
	if !isName(name) {
		return fmt.Errorf("lattice: %q is no name for a symbol", name)
	}
	if s.Has(name) {
		return fmt.Errorf("lattice: symbol %s is declared twice", name)
	}
	if !bounded {
		hi = Expr{}
	}
	for _, x := range []Expr{lo, hi} {
		if err := s.Knows(x); err != nil {
			return err
		}
	}
	s.symbols = append(s.symbols, Symbol{name, lo, hi, bounded})
	return nil
}

// Symbols returns the symbols in the order of their declarations.
func (s *Space) Symbols() []Symbol { return s.symbols }

// Has reports whether a symbol is declared.
func (s *Space) Has(name string) bool {
	for _, sym := range s.symbols {
		if sym.Name == name {
			return true
		}
	}
	return false
}

// Knows returns an error that names a symbol of x which is not declared.
func (s *Space) Knows(x Expr) error {
	for _, t := range x.terms {
		if !s.Has(t.sym) {
			return fmt.Errorf("lattice: symbol %s is not declared", t.sym)
		}
	}
	return nil
}

// Clone returns a copy, to declare more symbols in.
func (s *Space) Clone() *Space { return &Space{append([]Symbol(nil), s.symbols...)} }

// Bind returns the space with the symbols that values has replaced by these.
func (s *Space) Bind(values map[string]int64) *Space {
	c := NewSpace()
	for _, sym := range s.symbols {
		if _, ok := values[sym.Name]; !ok {
			sym.Lo, sym.Hi = sym.Lo.Bind(values), sym.Hi.Bind(values)
			c.symbols = append(c.symbols, sym)
		}
	}
	return c
}

// AtLeast returns a number that x never falls below. ok is false if none is
// known. The later symbols are replaced by their bounds first, since these may
// use the earlier ones.
func (s *Space) AtLeast(x Expr) (k int64, ok bool) {
	for i := len(s.symbols) - 1; i >= 0 && len(x.terms) > 0; i-- {
		sym := &s.symbols[i]
		switch c := x.Coef(sym.Name); {
		case c > 0:
			x = x.Subst(sym.Name, sym.Lo)
		case c < 0 && sym.Bounded:
			x = x.Subst(sym.Name, sym.Hi)
		case c < 0:
			return 0, false
		}
	}
	return x.Const()
}

// LessEqual reports whether x <= y holds for all values of the symbols, as far as
// their bounds show.
func (s *Space) LessEqual(x, y Expr) bool {
	k, ok := s.AtLeast(y.Sub(x))
	return ok && k >= 0
}

// Min returns the lesser of x and y where the bounds of the symbols decide it.
func (s *Space) Min(x, y Expr) (Expr, error) {
	switch {
	case s.LessEqual(x, y):
		return x, nil
	case s.LessEqual(y, x):
		return y, nil
	}
	return Expr{}, &UndecidedError{x, y}
}

// Max returns the greater of x and y where the bounds of the symbols decide it.
func (s *Space) Max(x, y Expr) (Expr, error) {
	m, err := s.Min(x, y)
	if err != nil {
		return m, err
	}
	if m.Equal(x) {
		return y, nil
	}
	return x, nil
}

// UndecidedError says that the bounds of the symbols do not decide which of two
// expressions is the lesser.
type UndecidedError struct{ X, Y Expr }

func (e *UndecidedError) Error() string {
	return fmt.Sprintf("lattice: cannot tell whether %s or %s is less: bind their sizes, or give them bounds", e.X, e.Y)
}

// Intersect returns the points in both. The result may be empty for some values
// of the symbols, with Lo above Hi.
func (s *Space) Intersect(a, b Rect) (Rect, error) {
	if a == nil {
		return b, nil
	}
	if b == nil {
		return a, nil
	}
	r := make(Rect, len(a))
	for d := range a {
		i, err := s.IntersectInterval(a[d], b[d])
		if err != nil {
			return nil, fmt.Errorf("dimension %d: %w", d, err)
		}
		r[d] = i
	}
	return r, nil
}

// IntersectInterval returns the coordinates in both.
func (s *Space) IntersectInterval(a, b Interval) (r Interval, err error) {
	if r.Lo, err = s.Max(a.Lo, b.Lo); err != nil {
		return r, err
	}
	r.Hi, err = s.Min(a.Hi, b.Hi)
	return r, err
}

// Hull returns the least rectangle around both, neither of which may be empty.
func (s *Space) Hull(a, b Rect) (Rect, error) {
	if a == nil || b == nil {
		return nil, nil
	}
	r := make(Rect, len(a))
	for d := range a {
		var err error
		if r[d].Lo, err = s.Min(a[d].Lo, b[d].Lo); err != nil {
			return nil, fmt.Errorf("dimension %d: %w", d, err)
		}
		if r[d].Hi, err = s.Max(a[d].Hi, b[d].Hi); err != nil {
			return nil, fmt.Errorf("dimension %d: %w", d, err)
		}
	}
	return r, nil
}

// Contains reports whether all of b is in a for all values of the symbols, as far
// as their bounds show.
func (s *Space) Contains(a, b Rect) bool {
	if a == nil {
		return true
	}
	if b == nil {
		return false
	}
	for d := range a {
		if !s.LessEqual(a[d].Lo, b[d].Lo) || !s.LessEqual(b[d].Hi, a[d].Hi) {
			return false
		}
	}
	return true
}

// Disjoint reports whether two rectangles have no point in common for any values of the symbols,
// as far as their bounds show.
func (s *Space) Disjoint(a, b Rect) bool {
	if a == nil || b == nil {
		return false
	}
	for d := range a {
		if s.LessEqual(a[d].Hi, b[d].Lo) || s.LessEqual(b[d].Hi, a[d].Lo) {
			return true
		}
	}
	return false
}

// NeverZero reports whether an expression of integers is not 0, whatever the symbols are:
// by its bounds, by the greatest common divisor of its coefficients, or because what is
// left of it beside multiples of one of them has bounds without such a multiple.
func (s *Space) NeverZero(x Expr) bool {
	if k, ok := s.AtLeast(x); ok && k > 0 {
		return true
	}
	if k, ok := s.AtLeast(x.Scale(-1)); ok && k > 0 {
		return true
	}
	if g := x.divisor(); g > 1 && x.k%g != 0 {
		return true
	}
	for _, t := range x.terms {
		m := max(t.coef, -t.coef)
		if m < 2 {
			continue
		}
		if lo, hi, ok := s.bounds(x.rest(m)); ok && floorDiv(hi, m) < floorDiv(lo+m-1, m) {
			return true
		}
	}
	return false
}

// Equations returns expressions that are all 0 where x is, and only there: 8*i-8*j+k-n is
// 0 for k and n from 0 to 7 where i-j and k-n are. The least coefficient of each is 1
// where its terms have a common divisor.
func (s *Space) Equations(x Expr) []Expr {
	for _, t := range x.terms {
		m := max(t.coef, -t.coef)
		rest := x.rest(m)
		if m < 2 || len(rest.terms) == len(x.terms) || len(rest.terms) == 0 {
			continue
		}
		// The only multiple of m that the rest can be is 0.
		if lo, hi, ok := s.bounds(rest); ok && lo > -m && hi < m {
			return append(s.Equations(x.Sub(rest)), s.Equations(rest)...)
		}
	}
	if g := x.divisor(); g > 1 && x.k%g == 0 {
		y := Expr{k: x.k / g}
		for _, t := range x.terms {
			y.terms = append(y.terms, term{t.sym, t.coef / g})
		}
		x = y
	}
	return []Expr{x}
}

// rest returns x without the terms that are multiples of m.
func (x Expr) rest(m int64) Expr {
	r := Expr{k: x.k}
	for _, t := range x.terms {
		if t.coef%m != 0 {
			r.terms = append(r.terms, t)
		}
	}
	return r
}

// divisor returns the greatest common divisor of the coefficients, 0 if there are none.
func (x Expr) divisor() (g int64) {
	for _, t := range x.terms {
		a, b := g, max(t.coef, -t.coef)
		for b != 0 {
			a, b = b, a%b
		}
		g = a
	}
	return g
}

// bounds returns the least and the greatest value of an expression, as far as they are
// known.
func (s *Space) bounds(x Expr) (lo, hi int64, ok bool) {
	lo, ok = s.AtLeast(x)
	if !ok {
		return 0, 0, false
	}
	hi, ok = s.AtLeast(x.Scale(-1))
	return lo, -hi, ok
}

// floorDiv returns a/b towards minus infinity, for b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
