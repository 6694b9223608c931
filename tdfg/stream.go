package tdfg

import (
	"errors"
	"fmt"

	"github.com/bitsched/bitsched/scalar"
)

// StreamNode is what a node of kind Stream executes near the memory (Infinity
// Stream, section 3.3): what cannot become a tensor, or should not.
//
// The stream graph sees the arrays and scalars of the node's scope by name. An
// operand of the node takes the place of what it is named after: of a scalar, or of
// the points of an array that the operand has. That is how a stream depends on
// nodes.
type StreamNode struct {
	Args []string // what each operand of the node stands for

	// Result names what the node gives: an array, as it is when the stream is done,
	// or a scalar. Nothing else that the stream writes is seen by others.
	Result string
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
	return s.named(st.Result)
}

// named returns the facts of an array or a scalar.
func (s *Scope) named(name string) (Facts, error) {
	if i := s.ArrayIndex(name); i >= 0 {
		return Facts{Type: s.Arrays[i].Type, Domain: s.ArrayRect(i)}, nil
	}
	if t, ok := s.ParamType(name); ok {
		return Facts{Type: t}, nil
	}
	return Facts{Type: scalar.Invalid}, fmt.Errorf("neither an array nor a scalar is named %s", name)
}
