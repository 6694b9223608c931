package interp

import (
	"errors"
	"math"
	"math/bits"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// ErrTooLarge is wrapped by the error of a graph whose tensors have more elements
// than the options allow.
var ErrTooLarge = errors.New("tensors too large")

// Live returns the most elements of results that [RunGraph] has at a time, the arrays
// and scalars in memory apart, or the greatest number there is if there are more:
// broadcasts make tensors of any size of small arrays. Moves, broadcasts and shrinks
// are views of their operands.
func Live(g *tdfg.Graph, values map[string]int64, opt Options) (int64, error) {
	end := len(g.Nodes)
	root := make([]int, end)    // whose elements a node has
	lastUse := make([]int, end) // of a root, by any view of it
	own := make([]int64, end)   // elements
	first := g.SameStreams()
	for i := range g.Nodes {
		n := &g.Nodes[i]
		root[i] = i
		switch n.Kind {
		case tdfg.Move, tdfg.Broadcast, tdfg.Shrink:
			root[i] = root[n.Args[0]]
		case tdfg.Stream: // kept, for others with the same streams
			root[i] = int(first[i])
			lastUse[root[i]] = end
		}
		for _, a := range n.Args {
			lastUse[root[a]] = max(lastUse[root[a]], i)
		}
		if root[i] != i {
			continue
		}
		var err error
		if own[i], err = opt.elements(g, n, values); err != nil {
			return 0, err
		}
	}
	var copies int64
	for _, o := range g.Outputs {
		lastUse[root[o.Node]] = end
		if n := &g.Nodes[o.Node]; n.Kind != tdfg.Compute && !n.Domain.Everywhere() {
			box, err := n.Domain.Box(values)
			if err != nil {
				return 0, err
			}
			copies = sum(copies, points(box))
		}
	}
	var live, most int64
	for i := range end {
		live = sum(live, own[i])
		most = max(most, live)
		for _, a := range g.Nodes[i].Args {
			if j := root[a]; lastUse[j] == i && live < math.MaxInt64 {
				live -= own[j]
				own[j] = 0
			}
		}
	}
	return max(most, sum(live, copies)), nil
}

// elements returns the elements that the result of a node takes of its own.
func (opt Options) elements(g *tdfg.Graph, n *tdfg.Node, values map[string]int64) (int64, error) {
	switch n.Kind {
	case tdfg.Stream:
		return streamElements(g, n, values)
	case tdfg.Tensor:
		if !g.Arrays[n.Array].Iota {
			return 0, nil
		}
		box, err := g.ArrayRect(n.Array).Box(values)
		return points(box), err
	case tdfg.Compute, tdfg.Convert, tdfg.Reduce, tdfg.Final:
	default:
		return 0, nil
	}
	if n.Domain.Everywhere() {
		return 1, nil
	}
	box, err := n.Domain.Box(values)
	if err != nil || n.Kind != tdfg.Reduce {
		return points(box), err
	}
	return points(box.With(n.Dim, opt.groups(n, box[n.Dim]))), nil
}

// streamElements returns the elements of the copies that the streams of a node write.
func streamElements(g *tdfg.Graph, n *tdfg.Node, values map[string]int64) (int64, error) {
	copied := map[string]bool{}
	for _, name := range n.Stream.Args {
		copied[name] = true
	}
	n.Stream.Graph.Walk(func(_ []*stream.Loop, s *stream.Stream) {
		if s.Kind == stream.Store || s.Kind == stream.RMW {
			copied[s.Array] = true
		}
	})
	var total int64
	for i, a := range g.Arrays {
		if copied[a.Name] {
			box, err := g.ArrayRect(i).Box(values)
			if err != nil {
				return 0, err
			}
			total = sum(total, points(box))
		}
	}
	return total, nil
}

// points is the size of a box, or the greatest number.
func points(b lattice.Box) int64 {
	n := uint64(1)
	for _, r := range b {
		hi, lo := bits.Mul64(n, uint64(max(0, r.Len())))
		if hi > 0 || lo > math.MaxInt64 {
			// Another side may be empty.
			if b.Empty() {
				return 0
			}
			return math.MaxInt64
		}
		n = lo
	}
	return int64(n)
}

// sum of two numbers of elements, or the greatest number.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
