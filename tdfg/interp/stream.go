package interp

import (
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// streamRun is what streams have done: what each array that they name is then, and the
// values of reductions.
type streamRun struct {
	mem    stream.Memory
	values map[string]scalar.Value
}

// stream returns the result of a node of streams, which are executed once for all
// nodes that have the same.
func (x *executor) stream(ctx context.Context, id tdfg.NodeID) (view, error) {
	n := &x.g.Nodes[id]
	if x.streams == nil {
		x.first, x.streams = x.g.SameStreams(), map[tdfg.NodeID]streamRun{}
	}
	run, ok := x.streams[x.first[id]]
	if !ok {
		var err error
		if run, err = x.runStreams(ctx, n); err != nil {
			return view{}, err
		}
		x.streams[id] = run
	}
	array := x.g.ArrayIndex(n.Stream.Result)
	if array < 0 {
		v, ok := run.values[n.Stream.Result]
		if !ok {
			return view{}, fmt.Errorf("no value of %s", n.Stream.Result)
		}
		return constant(v), nil
	}
	v, err := x.array(array)
	v.data = run.mem[n.Stream.Result]
	return v, err
}

// runStreams runs the stream graph of a node. It works on copies of the arrays that it
// writes or that operands take the place of, so that what others read stays as it
// was.
func (x *executor) runStreams(ctx context.Context, n *tdfg.Node) (streamRun, error) {
	st := n.Stream
	mem := stream.Memory{}
	copied := map[string]bool{}
	for i := range st.Graph.Arrays {
		name := st.Graph.Arrays[i].Name
		mem[name] = x.m.Arrays[name].Elems
	}
	own := func(name string) {
		if !copied[name] {
			mem[name], copied[name] = slices.Clone(mem[name]), true
		}
	}
	st.Graph.Walk(func(_ []*stream.Loop, s *stream.Stream) {
		if s.Kind == stream.Store || s.Kind == stream.RMW {
			own(s.Array)
		}
	})
	args := stream.Args{Symbols: x.values, Params: map[string]scalar.Value{}}
	for _, p := range st.Graph.Params {
		v, ok := x.m.Scalars[p.Name]
		if ok {
			args.Params[p.Name] = v
		}
	}
	for i, name := range st.Args {
		v := x.views[n.Args[i]]
		array := x.g.ArrayIndex(name)
		if array < 0 {
			if !v.everywhere {
				return streamRun{}, fmt.Errorf("operand %d is a tensor, expected the value of %s", i, name)
			}
			args.Params[name] = v.data[0]
			continue
		}
		own(name)
		dst, err := x.array(array)
		if err != nil {
			return streamRun{}, err
		}
		dst.data = mem[name]
		scratch := make([]scalar.Value, v.box[0].Len())
		rows(v.box, func(p []int64) { dst.setRow(v.box, p, v.row(v.box, p, scratch)) })
	}
	values, ops, err := walk(ctx, st.Graph, mem, args)
	if err != nil {
		return streamRun{}, err
	}
	if x.opt.Stats != nil {
		x.opt.Stats.Streamed += ops
	}
	return streamRun{mem, values}, nil
}
