package lowering

import (
	"fmt"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Inputs are what a graph leaves open until it is executed.
type Inputs struct {
	Symbols map[string]int64
	Scalars map[string]scalar.Value
	Streams map[tdfg.NodeID]scalar.Value // of the streams that give a value
}

// Uniform returns the value of a node that is the same everywhere, which the host
// computes. An error says what it depends on that in does not have.
func Uniform(g *tdfg.Graph, id tdfg.NodeID, in Inputs) (scalar.Value, error) {
	n := &g.Nodes[id]
	switch {
	case n.Kind == tdfg.Stream:
		v, ok := in.Streams[id]
		if !ok {
			return 0, fmt.Errorf("lowering: node %d: no value of the stream yet", id)
		}
		return v, nil
	case n.Kind == tdfg.Const && n.Param != "":
		v, ok := in.Scalars[n.Param]
		if !ok {
			return 0, fmt.Errorf("lowering: no value for scalar %s", n.Param)
		}
		return v, nil
	case n.Kind == tdfg.Const && n.Index != nil:
		k, err := n.Index.Eval(in.Symbols)
		return scalar.FromInt(n.Type, k), err
	case n.Kind == tdfg.Const:
		return n.Value, nil
	}
	args := make([]scalar.Value, len(n.Args))
	for i, a := range n.Args {
		var err error
		if args[i], err = Uniform(g, a, in); err != nil {
			return 0, err
		}
	}
	switch {
	case n.Kind == tdfg.Convert:
		return scalar.Convert(g.Nodes[n.Args[0]].Type, n.Type, args[0]), nil
	case n.Kind == tdfg.Compute && n.Domain.Everywhere():
		return scalar.Eval(n.Op, g.Nodes[n.Args[len(n.Args)-1]].Type, args...), nil
	}
	return 0, fmt.Errorf("lowering: node %d: %s is not the same everywhere", id, n.Kind)
}
