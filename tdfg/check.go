package tdfg

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Check returns an error that says what is wrong with the graph, if anything is:
// its scope, a node, facts that are not what Infer gives, or an output.
func (g *Graph) Check() error {
	if err := g.Scope.Check(); err != nil {
		return err
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		args := make([]Facts, len(n.Args))
		for j, a := range n.Args {
			if a < 0 || int(a) >= i {
				return fmt.Errorf("tdfg: node %d: operand %d is node %d, expected an earlier one", i, j, a)
			}
			args[j] = g.Nodes[a].Facts
		}
		if n.Kind == Final && len(n.Args) == 1 {
			if r := &g.Nodes[n.Args[0]]; r.Kind == Reduce && (r.Op != n.Op || r.Dim != n.Dim) {
				return fmt.Errorf("tdfg: node %d: final %s along dimension %d of a reduce %s along dimension %d", i, n.Op, n.Dim, r.Op, r.Dim)
			}
		}
		f, err := g.Infer(n, args)
		if err != nil {
			return fmt.Errorf("tdfg: node %d: %w", i, err)
		}
		if f.Type != n.Type || !f.Domain.Equal(n.Domain) || f.Partial != n.Partial {
			return fmt.Errorf("tdfg: node %d: recorded as %s %s, expected %s %s", i, n.Type, n.Domain, f.Type, f.Domain)
		}
	}
	for i, o := range g.Outputs {
		if err := g.checkOutput(o); err != nil {
			return fmt.Errorf("tdfg: output %d: %w", i, err)
		}
	}
	return nil
}

func (g *Graph) checkOutput(o Output) error {
	if o.Node < 0 || int(o.Node) >= len(g.Nodes) {
		return fmt.Errorf("node %d, expected 0 to %d", o.Node, len(g.Nodes)-1)
	}
	n := &g.Nodes[o.Node]
	if n.Partial {
		return fmt.Errorf("node %d is a reduce, expected a final to use it", o.Node)
	}
	if o.Array < 0 {
		t, ok := g.ParamType(o.Scalar)
		if !ok {
			return fmt.Errorf("no scalar %q", o.Scalar)
		}
		if t != n.Type {
			return fmt.Errorf("node %d is %s, and %s is %s", o.Node, n.Type, o.Scalar, t)
		}
		for d, i := range n.Domain {
			if !i.Len().Equal(lattice.Const(1)) {
				return fmt.Errorf("node %d has coordinates %s in dimension %d, expected one for scalar %s", o.Node, i, d, o.Scalar)
			}
		}
		return nil
	}
	if o.Array >= len(g.Arrays) {
		return fmt.Errorf("array %d, expected 0 to %d", o.Array, len(g.Arrays)-1)
	}
	a := g.Arrays[o.Array]
	if len(a.Axes) == 0 {
		return fmt.Errorf("array %s has no place in the lattice", a.Name)
	}
	if a.Iota {
		return fmt.Errorf("array %s has the numbers of its elements, expected another that is written", a.Name)
	}
	if !g.Single(o.Array) {
		return fmt.Errorf("view %s may have an element at several points, expected none that is written", a.Name)
	}
	for _, q := range g.Outputs {
		if q.Array >= 0 && q.Array < len(g.Arrays) && q.Array != o.Array && !g.Apart(o.Array, q.Array) {
			return fmt.Errorf("%s and %s may have elements in common, expected that one graph writes one of them", a.Name, g.Arrays[q.Array].Name)
		}
	}
	if a.Type != n.Type {
		return fmt.Errorf("node %d is %s, and %s has %s", o.Node, n.Type, a.Name, a.Type)
	}
	if all := g.ArrayRect(o.Array); n.Domain.Everywhere() || !g.Space.Contains(all, n.Domain) {
		return fmt.Errorf("%s of %s, expected a part of %s", n.Domain, a.Name, all)
	}
	return nil
}

// Check returns an error that says what is wrong with the scope.
func (s *Scope) Check() error {
	if s.Dims < 1 || s.Dims > MaxDims {
		return fmt.Errorf("tdfg: %d dimensions, expected 1 to %d", s.Dims, MaxDims)
	}
	names := map[string]bool{}
	for _, p := range s.Params {
		if names[p.Name] || p.Type == scalar.Invalid {
			return fmt.Errorf("tdfg: scalar %s: declared twice or without a type", p.Name)
		}
		names[p.Name] = true
	}
	for _, a := range s.Arrays {
		if names[a.Name] {
			return fmt.Errorf("tdfg: array %s: name declared twice", a.Name)
		}
		names[a.Name] = true
		if a.Type.Bytes() == 0 {
			return fmt.Errorf("tdfg: array %s: elements of type %s, expected one that memory holds", a.Name, a.Type)
		}
		if len(a.Size) == 0 || len(a.Size) != len(a.Axes) && len(a.Axes) > 0 {
			return fmt.Errorf("tdfg: array %s: %d sizes and %d axes, expected one axis for each size", a.Name, len(a.Size), len(a.Axes))
		}
		for i, d := range a.Axes {
			if d < 0 || d >= s.Dims || slices.Contains(a.Axes[:i], d) {
				return fmt.Errorf("tdfg: array %s: axis %d of dimension %d, expected different ones from 0 to %d", a.Name, d, i, s.Dims-1)
			}
		}
		for i, n := range a.Size {
			if err := s.Space.Knows(n); err != nil {
				return fmt.Errorf("tdfg: array %s: %w", a.Name, err)
			}
			if !s.Space.LessEqual(lattice.Const(1), n) {
				return fmt.Errorf("tdfg: array %s: size %s in dimension %d, expected at least 1", a.Name, n, i)
			}
		}
	}
	for _, a := range s.Arrays {
		if a.Iota && (a.View != nil || len(a.Size) != 1 || len(a.Axes) != 1 || !a.Type.Int()) {
			return fmt.Errorf("tdfg: array %s: iota, expected one dimension of integers in the lattice, and no view", a.Name)
		}
		if a.View == nil {
			continue
		}
		if err := s.checkView(a); err != nil {
			return fmt.Errorf("tdfg: array %s: %w", a.Name, err)
		}
	}
	return nil
}
