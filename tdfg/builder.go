package tdfg

import (
	"fmt"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Builder makes a graph node by node. A node that is wrong makes Finish fail with
// its error, and all later calls do nothing.
type Builder struct {
	graph *Graph
	err   error
}

// NewBuilder returns a builder of an empty graph.
func NewBuilder(name string, scope Scope) *Builder {
	return &Builder{graph: &Graph{Name: name, Scope: scope}}
}

// Add appends a node and infers its facts. The Type of n counts for Convert, Const
// and the value of a Stream only.
func (b *Builder) Add(n Node) NodeID {
	if b.err != nil {
		return None
	}
	args := make([]Facts, len(n.Args))
	for i, a := range n.Args {
		if a < 0 || int(a) >= len(b.graph.Nodes) {
			b.err = fmt.Errorf("tdfg: %s: operand %d is node %d, expected 0 to %d", n.Kind, i, a, len(b.graph.Nodes)-1)
			return None
		}
		args[i] = b.graph.Nodes[a].Facts
	}
	if n.Facts, b.err = b.graph.Infer(&n, args); b.err != nil {
		return None
	}
	b.graph.Nodes = append(b.graph.Nodes, n)
	return NodeID(len(b.graph.Nodes) - 1)
}

// Node returns a node added before.
func (b *Builder) Node(id NodeID) Node {
	if id < 0 || b.err != nil {
		return Node{}
	}
	return b.graph.Nodes[id]
}

// Err returns the first error.
func (b *Builder) Err() error { return b.err }

// Tensor adds elements of an array.
func (b *Builder) Tensor(array int, rect lattice.Rect) NodeID {
	return b.Add(Node{Kind: Tensor, Array: array, Rect: rect})
}

// Const adds a value.
func (b *Builder) Const(t scalar.Type, v scalar.Value) NodeID {
	return b.Add(Node{Kind: Const, Value: v, Facts: Facts{Type: t}})
}

// Param adds the value of a scalar parameter.
func (b *Builder) Param(name string) NodeID { return b.Add(Node{Kind: Const, Param: name}) }

// Index adds the value of an expression of symbols as a number of a type.
func (b *Builder) Index(t scalar.Type, x lattice.Expr) NodeID {
	return b.Add(Node{Kind: Const, Index: &x, Facts: Facts{Type: t}})
}

// Compute adds an operation at the points that all operands have.
func (b *Builder) Compute(op scalar.Op, args ...NodeID) NodeID {
	return b.Add(Node{Kind: Compute, Op: op, Args: args})
}

// Convert adds a change of type.
func (b *Builder) Convert(t scalar.Type, a NodeID) NodeID {
	return b.Add(Node{Kind: Convert, Args: []NodeID{a}, Facts: Facts{Type: t}})
}

// Move adds a tensor moved by dist along dimension dim.
func (b *Builder) Move(a NodeID, dim int, dist lattice.Expr) NodeID {
	return b.Add(Node{Kind: Move, Args: []NodeID{a}, Dim: dim, Dist: dist})
}

// Broadcast adds a tensor of one coordinate in dimension dim copied to count
// coordinates, the first of which lies dist past its own.
func (b *Builder) Broadcast(a NodeID, dim int, dist, count lattice.Expr) NodeID {
	return b.Add(Node{Kind: Broadcast, Args: []NodeID{a}, Dim: dim, Dist: dist, Count: count})
}

// Shrink adds a tensor without the points whose coordinate in dimension dim is not
// in r.
func (b *Builder) Shrink(a NodeID, dim int, r lattice.Interval) NodeID {
	return b.Add(Node{Kind: Shrink, Args: []NodeID{a}, Dim: dim, Range: r})
}

// Reduce adds a reduction along dimension dim to one coordinate, the first of the
// operand's: a Reduce in groups (see Node.Group) and a Final.
func (b *Builder) Reduce(op scalar.Op, a NodeID, dim, group int) NodeID {
	p := b.Add(Node{Kind: Reduce, Op: op, Args: []NodeID{a}, Dim: dim, Group: group})
	return b.Add(Node{Kind: Final, Op: op, Args: []NodeID{p}, Dim: dim})
}

// Store writes a node's points into an array.
func (b *Builder) Store(n NodeID, array int) {
	b.graph.Outputs = append(b.graph.Outputs, Output{Node: n, Array: array})
}

// Result gives a node's value to a scalar variable.
func (b *Builder) Result(n NodeID, scalar string) {
	b.graph.Outputs = append(b.graph.Outputs, Output{Node: n, Array: -1, Scalar: scalar})
}

// Finish checks the graph and returns it.
func (b *Builder) Finish() (*Graph, error) {
	if b.err != nil {
		return nil, b.err
	}
	if err := b.graph.Check(); err != nil {
		return nil, err
	}
	return b.graph, nil
}
