package interp

import (
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/scalar"
	"github.com/bitsched/bitsched/stream"
	"github.com/bitsched/bitsched/tdfg"
)

// stream runs the stream graph of a node. It works on copies of the arrays that it
// writes or that operands take the place of, so that what others read stays as it
// was.
func (x *executor) stream(ctx context.Context, n *tdfg.Node) (view, error) {
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
				return v, fmt.Errorf("operand %d is a tensor, expected the value of %s", i, name)
			}
			args.Params[name] = v.data[0]
			continue
		}
		own(name)
		dst, err := x.array(array)
		if err != nil {
			return v, err
		}
		dst.data = mem[name]
		scratch := make([]scalar.Value, v.box[0].Len())
		rows(v.box, func(p []int64) { dst.setRow(v.box, p, v.row(v.box, p, scratch)) })
	}
	r, err := st.Graph.Run(ctx, mem, args)
	if err != nil {
		return view{}, err
	}
	if x.opt.Stats != nil {
		for _, c := range r.Streams {
			x.opt.Stats.Streamed += c.Ops
		}
	}
	array := x.g.ArrayIndex(st.Result)
	if array < 0 {
		v, ok := r.Value(st.Result)
		if !ok {
			return view{}, fmt.Errorf("no value of %s", st.Result)
		}
		return constant(v), nil
	}
	v, err := x.array(array)
	v.data = mem[st.Result]
	return v, err
}
