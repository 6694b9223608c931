package system

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
)

// hints collects along which dimensions the graphs move tensors (section 3.4), and
// what the slowest of their reductions takes for a round and, where each bank reduces what it
// has, does of the last step in a cycle.
func hints(opt *Options, graphs []*tdfg.Graph, sizes map[string]int64) lowering.Hints {
	m, h := opt.Machine, lowering.Hints{Finals: opt.Finals}
	least := func(a *int64, n int) {
		if v := int64(max(1, n)); *a == 0 || v < *a {
			*a = v
		}
	}
	var extents [lowering.MaxDims]int64
	for _, g := range graphs {
		for i := range g.Nodes {
			switch n := &g.Nodes[i]; n.Kind {
			case tdfg.Reduce:
				h.Reduce |= lowering.Dims(n.Dim)
				extents[n.Dim] = max(extents[n.Dim], extentOf(g.Nodes[n.Args[0]].Domain, n.Dim, sizes))
				// Where there is no such program, the graph is not executed in memory.
				if c, err := lowering.RoundCycles(context.Background(), opt.Programs, m.Array.Technology, n.Op, n.Type); err == nil {
					h.Round = max(h.Round, c)
				}
				if opt.ByBank {
					least(&h.Lanes, m.CoreVariant().SIMDBits/(8*n.Type.Bytes()))
					least(&h.Words, 8*m.HTree.BandwidthBytes/n.Type.Bits())
				}
			case tdfg.Move:
				h.Shift |= lowering.Dims(n.Dim)
			case tdfg.Broadcast:
				h.Broadcast |= lowering.Dims(n.Dim)
			}
		}
	}
	for d, n := range extents {
		if n < math.MaxInt64 {
			h.Extent[d] = n
		}
	}
	return h
}

// extentOf is how long a domain is in a dimension, math.MaxInt64 if that is not known before.
func extentOf(domain lattice.Rect, d int, sizes map[string]int64) int64 {
	if domain == nil {
		return math.MaxInt64
	}
	lo, err1 := domain[d].Lo.Eval(sizes)
	hi, err2 := domain[d].Hi.Eval(sizes)
	if err1 != nil || err2 != nil {
		return math.MaxInt64
	}
	return hi - lo
}

// arraysOf returns the arrays of graphs, each once, with the place that the first
// graph gives it, and the dimensions of the lattice space. A graph with other
// dimensions, or another place for an array, is not in the list that is returned.
func arraysOf(graphs []*tdfg.Graph) (arrays []*tdfg.Array, dims int, fit []*tdfg.Graph) {
	for _, g := range graphs {
		if dims == 0 {
			dims = g.Dims
		}
		same := g.Dims == dims
		for _, a := range g.Arrays {
			i := slices.IndexFunc(arrays, func(b *tdfg.Array) bool { return b.Name == a.Name })
			same = same && (i < 0 || slices.Equal(arrays[i].Axes, a.Axes) && sameView(arrays[i], a))
		}
		if !same {
			continue
		}
		fit = append(fit, g)
		for _, a := range g.Arrays {
			if !slices.ContainsFunc(arrays, func(b *tdfg.Array) bool { return b.Name == a.Name }) {
				arrays = append(arrays, a)
			}
		}
	}
	return arrays, dims, fit
}

// sameView reports whether two arrays of one name are views of the same elements, or none.
func sameView(a, b *tdfg.Array) bool {
	if a.View == nil || b.View == nil {
		return a.View == b.View
	}
	equal := func(x, y lattice.Expr) bool { return x.Equal(y) }
	return a.View.Of == b.View.Of && slices.EqualFunc(a.View.Index, b.View.Index, equal) && slices.EqualFunc(a.Size, b.Size, equal)
}

// within reports whether all tensors of graphs lie in a box, as far as the bounds of
// loop variables show. Arrays that stay in memory need not be in the grid then.
func within(graphs []*tdfg.Graph, box lattice.Box, sizes map[string]int64) bool {
	r := make(lattice.Rect, len(box))
	for d, i := range box {
		r[d] = lattice.Interval{Lo: lattice.Const(i.Lo), Hi: lattice.Const(i.Hi)}
	}
	for _, g := range graphs {
		space := g.Space.Bind(sizes)
		for i := range g.Nodes {
			n := &g.Nodes[i]
			inMemory := n.Kind == tdfg.Stream && lowering.InMemoryOnly(g, tdfg.NodeID(i))
			if !n.Domain.Everywhere() && !inMemory && !space.Contains(r, n.Domain.Bind(sizes)) {
				return false
			}
		}
	}
	return true
}

// wordlines returns the first row of each array of a graph, -1 for one that stays in
// memory: what a plan is made for.
func wordlines(g *tdfg.Graph, rows map[string]int) []int {
	wl := make([]int, len(g.Arrays))
	for i, need := range lowering.Resident(g) {
		wl[i] = -1
		if row, ok := rows[g.Arrays[i].Name]; ok && need {
			wl[i] = row
		}
	}
	return wl
}

// newTable returns the empty layout override table of a machine for arrays in tiles of
// a shape, or of one that is chosen. The reason says why the machine cannot hold them
// transposed; the error, that the shape that was asked for is not possible.
func newTable(opt *Options, arrays []*tdfg.Array, graphs []*tdfg.Graph, rows map[string]int, used int, sizes map[string]int64) (*lowering.LOT, *Reason, error) {
	m, dims := opt.Machine, graphs[0].Dims
	bound := make(lattice.Box, dims)
	for d := range bound {
		bound[d].Hi = 1
	}
	scope := tdfg.Scope{Dims: dims, Arrays: arrays}
	widest, resident := 1, 0
	all, plain := bound, bound // of all arrays; of those on bitlines that are no views
	for i, a := range arrays {
		box, err := scope.ArrayRect(i).Box(sizes)
		if err != nil {
			return nil, nil, fmt.Errorf("system: array %s: %w", a.Name, err)
		}
		all = all.Hull(box)
		if _, ok := rows[a.Name]; ok {
			bound = bound.Hull(box)
			if a.View == nil {
				plain = plain.Hull(box)
			}
			widest = max(widest, a.Type.Bytes())
		}
	}
	for _, g := range graphs {
		n := 0
		for _, need := range lowering.Resident(g) {
			if need {
				n++
			}
		}
		resident = max(resident, n)
	}
	if !within(graphs, bound, sizes) {
		bound = all
	}
	switch {
	case len(rows) == 0 && bound.Size() == 1:
		return nil, &Reason{Kind: OnlyStreams}, nil
	case resident > m.LOT.Regions:
		return nil, &Reason{Kind: NoEntries, Err: fmt.Errorf("%d arrays, expected at most %d, the regions of the layout override table", resident, m.LOT.Regions)}, nil
	case used > m.UsableRows():
		return nil, &Reason{Kind: NoRows, Err: fmt.Errorf("arrays take %d rows, expected at most %d", used, m.UsableRows())}, nil
	}
	size := make([]int64, dims)
	for d := range size {
		size[d] = bound[d].Hi
	}
	c, err := lowering.ConstraintsOf(m, widest)
	if err != nil {
		return nil, &Reason{Kind: NoLayout, Err: err}, nil
	}
	if size[0] > plain[0].Hi {
		// What is wider than all whole arrays are views, whose lines lie apart in any case.
		size[0] = (size[0] + c.L - 1) / c.L * c.L
	}
	shape := opt.Tile
	if shape == nil {
		if shape, err = lowering.Choose(size, c, hints(opt, graphs, sizes)); err != nil {
			return nil, &Reason{Kind: NoLayout, Err: err}, nil
		}
	} else if err := c.Check(size, size, shape); err != nil {
		return nil, nil, err // asked for, and not possible
	}
	t, err := lowering.NewLOT(m, size, shape)
	return t, nil, err
}
