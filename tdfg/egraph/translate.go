package egraph

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tdfg"
)

// read adds the nodes of a graph that its outputs need. It returns the classes of
// the outputs.
func (g *graph) read(from *tdfg.Graph) ([]classID, error) {
	of := make([]classID, len(from.Nodes))
	need := needed(from)
	for i := range from.Nodes {
		if !need[i] {
			continue
		}
		n := &from.Nodes[i]
		args := make([]classID, len(n.Args))
		for k, a := range n.Args {
			args[k] = of[a]
		}
		c := g.readNode(n, args)
		if c == none || g.class(c).facts != g.internFacts(n.Facts) {
			return nil, fmt.Errorf("node %d: %s has no class with its domain %s", i, n.Kind, n.Domain)
		}
		of[i] = c
	}
	outputs := make([]classID, len(from.Outputs))
	for i, o := range from.Outputs {
		outputs[i] = of[o.Node]
	}
	return outputs, nil
}

func (g *graph) readNode(n *tdfg.Node, args []classID) classID {
	h := head{kind: n.Kind, op: n.Op}
	switch n.Kind {
	case tdfg.Tensor:
		return g.tensor(int32(n.Array), g.rect(n.Rect))
	case tdfg.Const:
		h.typ = n.Type
		switch {
		case n.Param != "":
			h.form = formParam
			h.index = int32(slices.IndexFunc(g.scope.Params, func(p tdfg.Param) bool { return p.Name == n.Param }))
		case n.Index != nil:
			h.form, h.index = formIndex, int32(g.expr(*n.Index))
		default:
			h.value = n.Value
		}
	case tdfg.Convert:
		return g.convert(n.Type, args[0])
	case tdfg.Move:
		return g.move(args[0], int8(n.Dim), g.expr(n.Dist))
	case tdfg.Broadcast:
		return g.broadcast(args[0], int8(n.Dim), g.expr(n.Dist), g.expr(n.Count))
	case tdfg.Shrink:
		return g.shrink(g.rect(n.Domain), args[0])
	case tdfg.Reduce:
		h.dim, h.group = int8(n.Dim), int32(n.Group)
	case tdfg.Final:
		h.dim = int8(n.Dim)
	case tdfg.Stream:
		h.typ = n.Type
		same := func(x *tdfg.StreamNode) bool {
			return x.Graph == n.Stream.Graph && x.Result == n.Stream.Result && slices.Equal(x.Args, n.Stream.Args)
		}
		if h.index = int32(slices.IndexFunc(g.streams, same)); h.index < 0 {
			h.index = int32(len(g.streams))
			g.streams = append(g.streams, n.Stream)
		}
	}
	return g.add(g.head(h), args...)
}

// write returns the graph that has one node of each class that is needed: choice.
func (g *graph) write(from *tdfg.Graph, outputs []classID, choice []nodeID) (*tdfg.Graph, error) {
	w := writer{graph: g, b: tdfg.NewBuilder(from.Name, from.Scope), choice: choice, done: map[classID]tdfg.NodeID{}}
	for i, o := range from.Outputs {
		id := w.emit(g.find(outputs[i]))
		if o.Array < 0 {
			w.b.Result(id, o.Scalar)
		} else {
			w.b.Store(id, o.Array)
		}
	}
	return w.b.Finish()
}

type writer struct {
	*graph
	b      *tdfg.Builder
	choice []nodeID
	done   map[classID]tdfg.NodeID
}

// emit adds the node of a class after those of its operands.
func (w *writer) emit(c classID) tdfg.NodeID {
	if id, ok := w.done[c]; ok {
		return id
	}
	n := w.choice[c]
	args := make([]tdfg.NodeID, w.nodes[n].count)
	for i := range args {
		args[i] = w.emit(w.arg(n, i))
	}
	var id tdfg.NodeID
	if h := w.headOf(n); h.kind == tdfg.Shrink {
		id = args[0]
		from, to := w.rects[w.domainOf(w.arg(n, 0))], w.rects[w.domainOf(c)]
		for d := range to {
			if !from[d].Equal(to[d]) {
				id = w.b.Shrink(id, d, to[d])
			}
		}
	} else {
		x := w.node(w.nodes[n].head)
		x.Args = args
		id = w.b.Add(x)
	}
	w.done[c] = id
	return id
}
