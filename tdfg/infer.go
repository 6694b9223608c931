package tdfg

import (
	"errors"
	"fmt"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Infer returns the facts of a node's result from those of its operands, or an
// error that says what is wrong with the node. It does not look at the positions of
// operands, so that a node outside any graph can be asked about.
func (s *Scope) Infer(n *Node, args []Facts) (Facts, error) {
	f, err := s.infer(n, args)
	if err != nil {
		return f, fmt.Errorf("tdfg: %s: %w", n.Kind, err)
	}
	return f, nil
}

// arity has the number of operands of each kind, -1 where it depends.
var arity = [...]int{Tensor: 0, Const: 0, Compute: -1, Convert: 1, Move: 1, Broadcast: 1, Shrink: 1, Reduce: 1, Final: 1, Stream: -1}

func (s *Scope) infer(n *Node, args []Facts) (f Facts, err error) {
	if int(n.Kind) >= len(arity) || n.Kind == 0 {
		return f, errors.New("no such kind")
	}
	if want := arity[n.Kind]; want >= 0 && len(args) != want {
		return f, fmt.Errorf("%d operands, expected %d", len(args), want)
	}
	for i, a := range args {
		if a.Partial && n.Kind != Final {
			return f, fmt.Errorf("operand %d is a reduce, expected a final to use it", i)
		}
	}
	if len(args) > 0 {
		f = args[0]
	}
	switch n.Kind {
	case Move, Broadcast, Shrink, Reduce, Final:
		if n.Dim < 0 || n.Dim >= s.Dims {
			return f, fmt.Errorf("dimension %d, expected 0 to %d", n.Dim, s.Dims-1)
		}
		if f.Domain.Everywhere() {
			return f, errors.New("operand is the same everywhere, expected a tensor")
		}
	}
	for _, x := range []lattice.Expr{n.Dist, n.Count, n.Range.Lo, n.Range.Hi} {
		if err := s.Space.Knows(x); err != nil {
			return f, err
		}
	}
	switch n.Kind {
	case Tensor:
		return s.inferTensor(n)
	case Const:
		return s.inferConst(n)
	case Compute:
		return s.inferCompute(n, args)
	case Convert:
		if n.Type == scalar.Invalid {
			return f, errors.New("no type to convert to")
		}
		f.Type = n.Type
		return f, nil
	case Move:
		f.Domain, err = s.clip(f.Domain.Shift(n.Dim, n.Dist), n.Dim)
		return f, err
	case Broadcast:
		i := f.Domain[n.Dim]
		if !i.Len().Equal(lattice.Const(1)) {
			return f, fmt.Errorf("operand has coordinates %s in dimension %d, expected one", i, n.Dim)
		}
		if !s.Space.LessEqual(lattice.Const(0), n.Count) {
			return f, fmt.Errorf("count %s, expected at least 0", n.Count)
		}
		lo := i.Lo.Add(n.Dist)
		f.Domain, err = s.clip(f.Domain.With(n.Dim, lattice.Interval{Lo: lo, Hi: lo.Add(n.Count)}), n.Dim)
		return f, err
	case Shrink:
		i, err := s.Space.IntersectInterval(f.Domain[n.Dim], n.Range)
		f.Domain = f.Domain.With(n.Dim, i)
		return f, err
	case Reduce:
		if err := reducible(n.Op, f.Type); err != nil {
			return f, err
		}
		if n.Group < 0 || n.Group&(n.Group-1) != 0 {
			return f, fmt.Errorf("groups of %d, expected a power of two", n.Group)
		}
		f.Partial = true
		return f, nil
	case Final:
		if !f.Partial {
			return f, errors.New("operand is not a reduce")
		}
		if err := reducible(n.Op, f.Type); err != nil {
			return f, err
		}
		f.Domain = f.Domain.With(n.Dim, lattice.At(f.Domain[n.Dim].Lo))
		f.Partial = false
		return f, nil
	}
	return s.inferStream(n, args)
}

func (s *Scope) inferTensor(n *Node) (f Facts, err error) {
	if n.Array < 0 || n.Array >= len(s.Arrays) {
		return f, fmt.Errorf("array %d, expected 0 to %d", n.Array, len(s.Arrays)-1)
	}
	a := s.Arrays[n.Array]
	if len(a.Axes) == 0 {
		return f, fmt.Errorf("array %s has no place in the lattice", a.Name)
	}
	if len(n.Rect) != s.Dims {
		return f, fmt.Errorf("%d dimensions of %s, expected %d", len(n.Rect), a.Name, s.Dims)
	}
	for _, i := range n.Rect {
		for _, x := range []lattice.Expr{i.Lo, i.Hi} {
			if err := s.Space.Knows(x); err != nil {
				return f, err
			}
		}
	}
	if all := s.ArrayRect(n.Array); !s.Space.Contains(all, n.Rect) {
		return f, fmt.Errorf("%s of %s, expected a part of %s", n.Rect, a.Name, all)
	}
	return Facts{Type: a.Type, Domain: n.Rect}, nil
}

func (s *Scope) inferConst(n *Node) (f Facts, err error) {
	f.Type = n.Type
	switch {
	case n.Param != "":
		t, ok := s.ParamType(n.Param)
		if !ok {
			return f, fmt.Errorf("no parameter %s", n.Param)
		}
		if n.Type != scalar.Invalid && n.Type != t {
			return f, fmt.Errorf("parameter %s is %s, expected %s", n.Param, t, n.Type)
		}
		f.Type = t
	case n.Index != nil:
		if err := s.Space.Knows(*n.Index); err != nil {
			return f, err
		}
	}
	if f.Type == scalar.Invalid {
		return f, errors.New("no type")
	}
	return f, nil
}

func (s *Scope) inferCompute(n *Node, args []Facts) (f Facts, err error) {
	if len(args) == 0 || len(args) != n.Op.Arity() {
		return f, fmt.Errorf("%d operands of %s, expected %d", len(args), n.Op, n.Op.Arity())
	}
	t := args[len(args)-1].Type
	if !n.Op.Supports(t) {
		return f, fmt.Errorf("%s of %s is not defined", n.Op, t)
	}
	for i, a := range args {
		if want := n.Op.ArgType(t, i); a.Type != want {
			return f, fmt.Errorf("operand %d of %s is %s, expected %s", i, n.Op, a.Type, want)
		}
		if f.Domain, err = s.Space.Intersect(f.Domain, a.Domain); err != nil {
			return f, err
		}
	}
	f.Type = n.Op.Result(t)
	return f, nil
}

// reducible says whether an order of operands can be chosen: that of floating-point
// numbers changes the result, so whoever builds a Reduce of them answers for it.
func reducible(o scalar.Op, t scalar.Type) error {
	if o.Arity() != 2 || !o.Commutative() || o.Compares() || !o.Supports(t) {
		return fmt.Errorf("reduction by %s of %s is not defined", o, t)
	}
	return nil
}

// clip discards what lies outside the bounding hyperrectangle in a dimension.
func (s *Scope) clip(r lattice.Rect, dim int) (lattice.Rect, error) {
	i := r[dim]
	var err error
	if i.Lo, err = s.Space.Max(i.Lo, lattice.Const(0)); err != nil {
		return nil, err
	}
	// The bound is the greatest of several expressions: Hi stays if one of them is
	// known to be no less.
	bound := s.Bound()[dim]
	for _, b := range bound {
		if s.Space.LessEqual(i.Hi, b) {
			return r.With(dim, i), nil
		}
	}
	if len(bound) > 1 {
		return nil, &lattice.UndecidedError{X: bound[0], Y: bound[1]}
	}
	i.Hi, err = s.Space.Min(i.Hi, bound[0])
	return r.With(dim, i), err
}
