package egraph

import (
	"fmt"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
)

// narrow returns the graph with all tensors as small as their uses allow: rules
// make them large, so that they have more in common, and moves of more elements
// than are used cost for nothing. A node that is used in different parts has the
// least rectangle around these, or what it had where that is not decided. Nodes
// that nothing uses are left out.
func narrow(g *tdfg.Graph) (*tdfg.Graph, error) {
	n := narrowing{from: g, b: tdfg.NewBuilder(g.Name, g.Scope), same: map[string]tdfg.NodeID{}}
	n.demand()
	need := needed(g)
	to := make([]tdfg.NodeID, len(g.Nodes))
	for i := range g.Nodes {
		if need[i] {
			to[i] = n.rebuild(tdfg.NodeID(i), to)
		}
	}
	for _, o := range g.Outputs {
		o.Node = n.fit(to[o.Node], g.Nodes[o.Node].Domain)
		if o.Array < 0 {
			n.b.Result(o.Node, o.Scalar)
		} else {
			n.b.Store(o.Node, o.Array)
		}
	}
	small, err := n.b.Finish()
	if err != nil {
		return nil, err
	}
	return withoutDead(small) // uses of a tensor may all have got their own
}

type narrowing struct {
	from *tdfg.Graph
	b    *tdfg.Builder
	need []lattice.Rect // of each node of from; nil where nothing is known to be needed
	same map[string]tdfg.NodeID
}

// demand finds what is needed of each node, from the outputs to the tensors.
func (w *narrowing) demand() {
	g := w.from
	w.need = make([]lattice.Rect, len(g.Nodes))
	for _, o := range g.Outputs {
		w.ask(o.Node, g.Nodes[o.Node].Domain)
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n, r := &g.Nodes[i], w.need[i]
		if r == nil && !n.Domain.Everywhere() {
			continue
		}
		for _, a := range n.Args {
			w.ask(a, w.source(n, r, g.Nodes[a].Domain))
		}
	}
}

// source returns the points of an operand that the points r of a node come from.
func (w *narrowing) source(n *tdfg.Node, r, operand lattice.Rect) lattice.Rect {
	switch {
	case operand.Everywhere():
		return nil
	case n.Kind == tdfg.Move:
		return r.Shift(n.Dim, n.Dist.Scale(-1))
	case n.Kind == tdfg.Broadcast:
		return r.With(n.Dim, operand[n.Dim])
	case n.Kind == tdfg.Compute || n.Kind == tdfg.Convert || n.Kind == tdfg.Shrink:
		return r
	}
	return operand
}

func (w *narrowing) ask(a tdfg.NodeID, r lattice.Rect) {
	if r == nil {
		return
	}
	if w.need[a] == nil {
		w.need[a] = r
		return
	}
	h, err := w.from.Space.Hull(w.need[a], r)
	if err != nil {
		h = w.from.Nodes[a].Domain
	}
	w.need[a] = h
}

// rebuild adds a node to the new graph, on operands that have at least the points
// that are needed.
func (w *narrowing) rebuild(i tdfg.NodeID, to []tdfg.NodeID) tdfg.NodeID {
	n, r := w.from.Nodes[i], w.need[i]
	args := make([]tdfg.NodeID, len(n.Args))
	for k, a := range n.Args {
		args[k] = to[a]
		switch n.Kind {
		case tdfg.Compute, tdfg.Convert, tdfg.Shrink:
			// What is wider than needed does no harm, but a tensor need not be: each
			// use has its own.
			if w.b.Node(to[a]).Kind == tdfg.Tensor {
				args[k] = w.fit(to[a], r)
			}
		default:
			args[k] = w.fit(to[a], w.source(&n, r, w.from.Nodes[a].Domain))
		}
	}
	n.Args = args
	switch n.Kind {
	case tdfg.Tensor:
		n.Rect = r
	case tdfg.Shrink:
		return w.fit(args[0], r)
	case tdfg.Broadcast:
		to, from := r[n.Dim], w.b.Node(args[0]).Domain
		if from == nil {
			return tdfg.None // after an error, which Finish returns
		}
		n.Dist, n.Count = to.Lo.Sub(from[n.Dim].Lo), to.Len()
	}
	return w.add(n)
}

// fit returns the points of a node that are in r.
func (w *narrowing) fit(a tdfg.NodeID, r lattice.Rect) tdfg.NodeID {
	x := w.b.Node(a)
	if r == nil || x.Domain.Equal(r) || w.b.Err() != nil {
		return a
	}
	if x.Kind == tdfg.Tensor {
		x.Rect = r
		return w.add(x)
	}
	for d := range r {
		if w.b.Err() == nil && !x.Domain[d].Equal(r[d]) {
			a = w.add(tdfg.Node{Kind: tdfg.Shrink, Args: []tdfg.NodeID{a}, Dim: d, Range: r[d]})
			x = w.b.Node(a)
		}
	}
	return a
}

// add appends a node unless there is the same one already.
func (w *narrowing) add(n tdfg.Node) tdfg.NodeID {
	index := ""
	if n.Index != nil {
		index = n.Index.String()
	}
	t := n.Type
	if n.Kind != tdfg.Const && n.Kind != tdfg.Convert {
		t = 0
	}
	key := fmt.Sprint(n.Kind, n.Op, n.Args, n.Array, n.Rect, n.Dim, n.Dist, n.Count, n.Range, n.Group, n.Value, n.Param, index, t)
	if n.Kind != tdfg.Stream {
		if id, ok := w.same[key]; ok {
			return id
		}
	}
	id := w.b.Add(n)
	w.same[key] = id
	return id
}
