package tdfg

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// StreamNode is what a node of kind Stream executes near the memory (Infinity
// Stream, section 3.3): what cannot become a tensor, or should not.
//
// The stream graph sees the arrays and scalars of the node's scope by name. An
// operand of the node takes the place of what it is named after: of a scalar, or of
// the points of an array that the operand has. That is how a stream depends on
// nodes.
type StreamNode struct {
	Graph *stream.Graph
	Args  []string // what each operand of the node stands for

	// Result names what the node gives: an array, as it is when the streams are
	// done, or a Reduce outside all loops, whose value it is; the type of a node for
	// a value is given with it. Nothing else that the streams write is seen by
	// others.
	Result string
}

// SameStreams returns for each node of kind Stream the first one with the same streams
// and operands, itself if there is none before it, and None for other nodes. Nodes
// with the same streams give several results of them; to execute these once is enough,
// since all reading of a graph is before its outputs.
func (g *Graph) SameStreams() []NodeID {
	first := make([]NodeID, len(g.Nodes))
	var streams []NodeID
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if first[i] = None; n.Kind != Stream {
			continue
		}
		first[i] = NodeID(i)
		for _, j := range streams {
			if m := &g.Nodes[j]; slices.Equal(m.Args, n.Args) && m.Stream.same(n.Stream) {
				first[i] = j
				break
			}
		}
		if first[i] == NodeID(i) {
			streams = append(streams, NodeID(i))
		}
	}
	return first
}

// same reports whether two nodes have the same streams, perhaps in copies.
func (n *StreamNode) same(m *StreamNode) bool {
	return slices.Equal(n.Args, m.Args) && (n.Graph == m.Graph || n.Graph.String() == m.Graph.String())
}

func (s *Scope) inferStream(n *Node, args []Facts) (f Facts, err error) {
	st := n.Stream
	if st == nil {
		return f, errors.New("no stream")
	}
	if len(args) != len(st.Args) {
		return f, fmt.Errorf("%d operands, expected %d", len(args), len(st.Args))
	}
	for i, name := range st.Args {
		have, err := s.named(name)
		if err != nil {
			return f, err
		}
		if have.Type != args[i].Type {
			return f, fmt.Errorf("operand %d is %s, and %s has %s", i, args[i].Type, name, have.Type)
		}
		if have.Domain.Everywhere() {
			continue
		}
		if args[i].Domain.Everywhere() || !s.Space.Contains(have.Domain, args[i].Domain) {
			return f, fmt.Errorf("operand %d is %s, expected a part of %s, which is %s", i, args[i].Domain, name, have.Domain)
		}
	}
	if err := s.knows(st.Graph); err != nil {
		return f, err
	}
	if v := st.Graph.Stream(st.Result); v != nil {
		if v.Kind != stream.Reduce || n.Type == scalar.Invalid {
			return f, fmt.Errorf("result %s, expected an array or a reduction of a type", st.Result)
		}
		return Facts{Type: n.Type}, nil
	}
	if st.Graph.Array(st.Result) == nil {
		return f, fmt.Errorf("result %s, expected an array or a reduction of %s", st.Result, st.Graph.Name)
	}
	return s.named(st.Result)
}

// knows returns an error that says what of a stream graph is not in the scope.
func (s *Scope) knows(g *stream.Graph) error {
	if g == nil {
		return errors.New("no stream graph")
	}
	if err := g.Check(); err != nil {
		return err
	}
	if g.Symbols != nil {
		for _, sym := range g.Symbols.Symbols() {
			if !s.Space.Has(sym.Name) {
				return fmt.Errorf("symbol %s of %s is not declared", sym.Name, g.Name)
			}
		}
	}
	for i := range g.Arrays {
		a := &g.Arrays[i]
		j := s.ArrayIndex(a.Name)
		if j >= 0 && !s.Arrays[j].Own() {
			return fmt.Errorf("array %s of %s is a view or iota, expected one in memory", a.Name, g.Name)
		}
		if j < 0 || s.Arrays[j].Type != a.Type || len(s.Arrays[j].Size) != len(a.Size) {
			return fmt.Errorf("array %s of %s is not that of the graph", a.Name, g.Name)
		}
		for d, x := range a.Size {
			if !x.Equal(s.Arrays[j].Size[d]) {
				return fmt.Errorf("array %s of %s has %s in dimension %d, expected %s", a.Name, g.Name, x, d, s.Arrays[j].Size[d])
			}
		}
	}
	for _, p := range g.Params {
		if t, ok := s.ParamType(p.Name); !ok || t != p.Type {
			return fmt.Errorf("scalar %s of %s is not that of the graph", p.Name, g.Name)
		}
	}
	return nil
}

// named returns the facts of an array or a scalar.
func (s *Scope) named(name string) (Facts, error) {
	if i := s.ArrayIndex(name); i >= 0 {
		if len(s.Arrays[i].Axes) == 0 || !s.Arrays[i].Own() {
			return Facts{}, fmt.Errorf("array %s is no array that streams have in the lattice", name)
		}
		return Facts{Type: s.Arrays[i].Type, Domain: s.ArrayRect(i)}, nil
	}
	if t, ok := s.ParamType(name); ok {
		return Facts{Type: t}, nil
	}
	return Facts{Type: scalar.Invalid}, fmt.Errorf("neither an array nor a scalar is named %s", name)
}
