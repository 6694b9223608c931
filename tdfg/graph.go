package tdfg

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// MaxDims is the most dimensions a lattice space has: the layout of arrays in
// memory knows three (Infinity Stream, table 1).
const MaxDims = 3

// Array is a data structure of the program.
type Array struct {
	Name string
	Type scalar.Type
	Size []lattice.Expr // elements in each dimension, dimension 0 contiguous in memory

	// Axes has the lattice dimension in which each dimension of the array lies. In
	// all other lattice dimensions the array has the one coordinate 0. An array without
	// axes has no place in the lattice: only streams and views have its elements.
	Axes []int

	// View is not nil for a view of another array.
	View *View

	// Iota says that the array, of one dimension, has the number of each element: it is in
	// no memory of the program, and nothing writes it.
	Iota bool
}

// Own reports whether an array is one of the program, with memory of its own.
func (a *Array) Own() bool { return a.View == nil && !a.Iota }

// View says which elements of an array in memory another one is: those at a stride, such
// as A[2*i+1], in the order of a reversed index, or in more dimensions than the array has.
// A view lies in the lattice as an array of its own, and has no memory of its own.
type View struct {
	Of    string         // the array, which is no view
	Index []lattice.Expr // its subscripts, dimension 0 first, of sizes and of [Coord]
}

// Coord is the symbol of a coordinate of a view in the subscripts of its array: ".0" of
// dimension 0.
func Coord(dim int) string { return "." + strconv.Itoa(dim) }

// Step returns how far the subscript of a dimension of the array goes from one element
// of the view to the next one in a dimension.
func (v *View) Step(of, dim int) int64 { return v.Index[of].Coef(Coord(dim)) }

// Scope is what the nodes of a graph refer to.
type Scope struct {
	Dims   int            // of the lattice space, 1 to MaxDims
	Space  *lattice.Space // sizes, and variables of the loops around the graph
	Arrays []*Array
	Params []Param // scalars whose values are known when the graph is executed
}

// Param is a scalar variable of the host.
type Param struct {
	Name string
	Type scalar.Type
}

// NodeID is the position of a node in its graph.
type NodeID int32

// None is no node.
const None NodeID = -1

// Kind is the kind of a node.
type Kind uint8

// The kinds of nodes.
const (
	Tensor    Kind = iota + 1 // elements Rect of Array, which may be a view
	Const                     // Value, Param or Index everywhere
	Compute                   // Op of Args, where all have a point
	Convert                   // Args[0] as Type
	Move                      // Args[0] moved by Dist along Dim
	Broadcast                 // Args[0], one coordinate in Dim, copied to Count coordinates from Dist past its own
	Shrink                    // Args[0] where its coordinate in Dim is in Range
	Reduce                    // groups along Dim reduced by Op to their first points
	Final                     // the groups of a Reduce reduced to one point
	Stream                    // what Stream gives
)

var kinds = [...]string{Tensor: "tensor", Const: "const", Compute: "cmp", Convert: "convert", Move: "mv", Broadcast: "bc",
	Shrink: "shrink", Reduce: "reduce", Final: "final", Stream: "strm"}

func (k Kind) String() string {
	if int(k) < len(kinds) && kinds[k] != "" {
		return kinds[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Node is an operation of a graph and its result. Which fields count depends on
// the kind; the others are zero.
type Node struct {
	Kind  Kind
	Op    scalar.Op // Compute, Reduce, Final
	Args  []NodeID  // earlier nodes
	Array int       // Tensor: which of the arrays
	Rect  lattice.Rect
	Dim   int          // Move, Broadcast, Shrink, Reduce, Final
	Dist  lattice.Expr // Move; Broadcast: from the coordinate of the operand to the first of the result
	Count lattice.Expr // Broadcast
	Range lattice.Interval

	// Group is the number of neighbours that a Reduce reduces to one, a power of
	// two: those whose coordinates in Dim agree when divided by it. 0 leaves the
	// number to whatever executes the graph, which then also decides the order of
	// additions of floating-point numbers.
	//
	// A group is reduced by halves: the point at offset i takes that at i+Group/2,
	// and so on with Group/4, as bitlines are shifted and added. Final goes through
	// the groups in order.
	Group int

	Value  scalar.Value // Const, if there is neither Param nor Index
	Param  string       // Const: the value of a scalar parameter
	Index  *lattice.Expr
	Stream *StreamNode

	Line int // of the source that the node was made of, first of all; 0 if of none, and in text

	Facts // of the result
}

// Facts are what is known of a node's result without executing it.
type Facts struct {
	Type   scalar.Type
	Domain lattice.Rect // nil is everywhere

	// Partial says that the result of a Reduce is meant, which has values at the
	// first points of its groups only.
	Partial bool
}

// Output is an effect of a graph. Outputs happen after all reading, in order.
type Output struct {
	Node NodeID

	// Array is written at the points of the node's domain, or, if it is -1, the
	// variable Scalar gets the value of the node, which must have a single point or
	// be the same everywhere.
	Array  int
	Scalar string
}

// Graph is a tensor dataflow graph.
type Graph struct {
	Name string
	Scope
	Nodes   []Node // operands before the nodes that use them
	Outputs []Output
}

// ArrayRect returns the points of an array.
func (s *Scope) ArrayRect(array int) lattice.Rect {
	a := s.Arrays[array]
	r := make(lattice.Rect, s.Dims)
	for d := range r {
		r[d] = lattice.Upto(lattice.Const(1))
	}
	for i, d := range a.Axes {
		r[d] = lattice.Upto(a.Size[i])
	}
	return r
}

// Bound returns the upper bounds of the global bounding hyperrectangle: in each
// dimension it goes from 0 to the greatest of the expressions, those left out that
// others are known to be at least.
func (s *Scope) Bound() [][]lattice.Expr {
	bound := make([][]lattice.Expr, s.Dims)
	for d := range bound {
		for i := range s.Arrays {
			hi := s.ArrayRect(i)[d].Hi
			if slices.ContainsFunc(bound[d], func(x lattice.Expr) bool { return s.Space.LessEqual(hi, x) }) {
				continue
			}
			bound[d] = append(slices.DeleteFunc(bound[d], func(x lattice.Expr) bool { return s.Space.LessEqual(x, hi) }), hi)
		}
		if len(bound[d]) == 0 {
			bound[d] = []lattice.Expr{lattice.Const(1)}
		}
	}
	return bound
}

// ArrayIndex returns the position of the array of that name, -1 if there is none.
func (s *Scope) ArrayIndex(name string) int {
	return slices.IndexFunc(s.Arrays, func(a *Array) bool { return a.Name == name })
}

// ParamType returns the type of a scalar parameter.
func (s *Scope) ParamType(name string) (scalar.Type, bool) {
	for _, p := range s.Params {
		if p.Name == name {
			return p.Type, true
		}
	}
	return scalar.Invalid, false
}

// Bind returns the graph with the symbols that values has replaced by these. The
// arrays are new ones.
func (g *Graph) Bind(values map[string]int64) (*Graph, error) {
	c := &Graph{Name: g.Name, Scope: g.Scope, Outputs: slices.Clone(g.Outputs)}
	c.Space = g.Space.Bind(values)
	c.Arrays = make([]*Array, len(g.Arrays))
	for i, a := range g.Arrays {
		c.Arrays[i] = a.Bind(values)
	}
	b := NewBuilder(c.Name, c.Scope)
	for i := range g.Nodes {
		n := g.Nodes[i]
		n.Rect = n.Rect.Bind(values)
		n.Dist, n.Count = n.Dist.Bind(values), n.Count.Bind(values)
		n.Range = lattice.Interval{Lo: n.Range.Lo.Bind(values), Hi: n.Range.Hi.Bind(values)}
		if n.Index != nil {
			x := n.Index.Bind(values)
			n.Index = &x
		}
		if n.Stream != nil && n.Stream.Graph != nil {
			st := *n.Stream
			st.Graph = st.Graph.Bind(values)
			n.Stream = &st
		}
		b.Add(n)
	}
	b.graph.Outputs = c.Outputs
	return b.Finish()
}

// Bind returns a copy of the array with values for symbols of its sizes.
func (a *Array) Bind(values map[string]int64) *Array {
	c := *a
	c.Size = make([]lattice.Expr, len(a.Size))
	for i, x := range a.Size {
		c.Size[i] = x.Bind(values)
	}
	if a.View != nil {
		c.View = &View{Of: a.View.Of, Index: make([]lattice.Expr, len(a.View.Index))}
		for i, x := range a.View.Index {
			c.View.Index[i] = x.Bind(values)
		}
	}
	return &c
}
