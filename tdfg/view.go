package tdfg

import (
	"fmt"

	"github.com/bitsched/bitsched/tdfg/lattice"
)

// Memory returns the position of the array that an array is in memory: that which a view
// is of, or itself.
func (s *Scope) Memory(array int) int {
	if v := s.Arrays[array].View; v != nil {
		return s.ArrayIndex(v.Of)
	}
	return array
}

// checkView returns an error that says what is wrong with a view.
func (s *Scope) checkView(a *Array) error {
	i := s.ArrayIndex(a.View.Of)
	if i < 0 || !s.Arrays[i].Own() {
		return fmt.Errorf("view of %s, expected an array that is no view", a.View.Of)
	}
	of := s.Arrays[i]
	if of.Type != a.Type {
		return fmt.Errorf("view has %s, and %s has %s", a.Type, of.Name, of.Type)
	}
	if len(a.View.Index) != len(of.Size) {
		return fmt.Errorf("view with %d subscripts of %s, expected %d", len(a.View.Index), of.Name, len(of.Size))
	}
	if len(a.Axes) == 0 {
		return fmt.Errorf("view without axes, expected one for each dimension")
	}
	space, err := s.coordinates(a, Coord)
	if err != nil {
		return err
	}
	for d, x := range a.View.Index {
		if err := space.Knows(x); err != nil {
			return err
		}
		if !space.LessEqual(lattice.Const(0), x) || !space.LessEqual(x.Plus(1), of.Size[d]) {
			return fmt.Errorf("view with subscript %s in dimension %d of %s, expected it from 0 to %s", x, d, of.Name, of.Size[d].Plus(-1))
		}
	}
	for k := range a.Size {
		used := false
		for d := range a.View.Index {
			used = used || a.View.Step(d, k) != 0
		}
		if !used {
			return fmt.Errorf("view with no subscript that has %s, expected one for each dimension", Coord(k))
		}
	}
	return nil
}

// coordinates returns the space with the coordinates of an array by their names.
func (s *Scope) coordinates(a *Array, name func(dim int) string) (*lattice.Space, error) {
	space := s.Space.Clone()
	for k, n := range a.Size {
		if err := space.Declare(name(k), lattice.Const(0), n.Plus(-1), true); err != nil {
			return nil, err
		}
	}
	return space, nil
}

// subscripts returns where in memory the elements of an array are, by names of its
// coordinates.
func (a *Array) subscripts(name func(dim int) string) []lattice.Expr {
	if a.View == nil {
		list := make([]lattice.Expr, len(a.Size))
		for k := range list {
			list[k] = lattice.Sym(name(k))
		}
		return list
	}
	list := make([]lattice.Expr, len(a.View.Index))
	for d, x := range a.View.Index {
		for k := range a.Size {
			if Coord(k) != name(k) {
				x = x.Subst(Coord(k), lattice.Sym(name(k)))
			}
		}
		list[d] = x
	}
	return list
}

// other names the coordinates of a second array.
func other(dim int) string { return Coord(dim) + "." }

// Apart reports whether two arrays have no element of memory in common, as far as the
// bounds of the symbols show.
func (s *Scope) Apart(i, j int) bool {
	if s.Memory(i) != s.Memory(j) {
		return true
	}
	if i == j {
		return false
	}
	a, b := s.Arrays[i], s.Arrays[j]
	space, err := s.coordinates(a, Coord)
	if err != nil {
		return false
	}
	space, err = (&Scope{Space: space}).coordinates(b, other)
	if err != nil {
		return false
	}
	x, y := a.subscripts(Coord), b.subscripts(other)
	for d := range x {
		if space.NeverZero(x[d].Sub(y[d])) {
			return true
		}
	}
	return false
}

// Single reports whether no two points of an array are the same element of memory, as far
// as the bounds of the symbols show: what is stored to others depends on an order.
func (s *Scope) Single(array int) bool {
	a := s.Arrays[array]
	if a.View == nil {
		return true
	}
	space, err := s.coordinates(a, Coord)
	if err != nil {
		return false
	}
	if space, err = (&Scope{Space: space}).coordinates(a, other); err != nil {
		return false
	}
	equal := make([]bool, len(a.Size))
	x, y := a.subscripts(Coord), a.subscripts(other)
	for d := range x {
		for _, e := range space.Equations(x[d].Sub(y[d])) {
			for k := range equal {
				same := lattice.Sym(Coord(k)).Sub(lattice.Sym(other(k)))
				equal[k] = equal[k] || e.Equal(same) || e.Equal(same.Scale(-1))
			}
		}
	}
	for _, ok := range equal {
		if !ok {
			return false
		}
	}
	return true
}

// Layout says where the elements of an array are in memory, for values of its symbols.
type Layout struct {
	First int64   // element of memory at coordinates 0
	Step  []int64 // elements of memory from a point to the next one, by the dimensions of the array
}

// Layout returns where the elements of an array are.
func (s *Scope) Layout(array int, values map[string]int64) (l Layout, err error) {
	a := s.Arrays[array]
	l.Step = make([]int64, len(a.Size))
	if a.View == nil {
		step := int64(1)
		for k, n := range a.Size {
			l.Step[k] = step
			size, err := n.Eval(values)
			if err != nil {
				return l, err
			}
			step *= size
		}
		return l, nil
	}
	of := s.Memory(array)
	if of < 0 {
		return l, fmt.Errorf("no array %s", a.View.Of)
	}
	whole, err := s.Layout(of, values)
	if err != nil {
		return l, err
	}
	for d, x := range a.View.Index {
		for k := range a.Size {
			c := a.View.Step(d, k)
			l.Step[k] += c * whole.Step[d]
			x = x.Subst(Coord(k), lattice.Const(0))
		}
		at, err := x.Eval(values)
		if err != nil {
			return l, err
		}
		l.First += at * whole.Step[d]
	}
	return l, nil
}
