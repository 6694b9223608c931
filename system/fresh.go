package system

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// fresh are the elements of an array that a region writes and does not read: what memory has
// of them need not come to bitlines.
type fresh struct {
	box           lattice.Box // of the array
	axes          []int
	written, read []lattice.Box
}

// fresh returns those of an array of a graph, nil where there are none.
func (r *runner) fresh(g *tdfg.Graph, array int, values map[string]int64) *fresh {
	a := g.Arrays[array]
	if r.host == nil || a.View != nil || a.Iota || streamed(g, a.Name) {
		return nil
	}
	if v := r.views[a.Name]; v != nil && slices.ContainsFunc(v.others, func(b string) bool { return g.ArrayIndex(b) >= 0 && uses(g, g.ArrayIndex(b)) || r.entry(b) >= 0 }) {
		return nil // the region has its elements under another name
	}
	f := &fresh{axes: a.Axes}
	for _, o := range g.Outputs {
		if o.Array != array {
			continue
		}
		box, err := g.Nodes[o.Node].Domain.Box(values)
		if err != nil {
			return nil
		}
		f.written = append(f.written, box)
	}
	if len(f.written) == 0 {
		return nil
	}
	for i, used := range needed(g) {
		if n := &g.Nodes[i]; used && n.Kind == tdfg.Tensor && n.Array == array {
			box, err := n.Domain.Box(values)
			if err != nil {
				return nil
			}
			f.read = append(f.read, box)
		}
	}
	_, _, f.box = r.array(a.Name)
	return f
}

// all reports whether elements are fresh, by their positions in memory.
func (f *fresh) all(from, to int64) bool {
	if f == nil {
		return false
	}
	p := make([]int64, len(f.box))
	for at := from; at < to; at++ {
		rest := at
		for _, d := range f.axes {
			p[d] = rest % f.box[d].Len()
			rest /= f.box[d].Len()
		}
		in := func(b lattice.Box) bool { return b.Has(p) }
		if !slices.ContainsFunc(f.written, in) || slices.ContainsFunc(f.read, in) {
			return false
		}
	}
	return true
}

// uses reports whether a graph reads or writes an array on bitlines.
func uses(g *tdfg.Graph, array int) bool {
	return writes(g, array) || slices.ContainsFunc(g.Nodes, func(n tdfg.Node) bool { return n.Kind == tdfg.Tensor && n.Array == array })
}

// needed tells which nodes have values that outputs of a graph depend on: not those that only
// give a constant its points, as what select takes when its condition is always true.
func needed(g *tdfg.Graph) []bool {
	used := make([]bool, len(g.Nodes))
	for _, o := range g.Outputs {
		used[o.Node] = true
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- { // operands stand before what uses them
		n := &g.Nodes[i]
		if !used[i] {
			continue
		}
		args := n.Args
		if n.Kind == tdfg.Compute && n.Op == scalar.Select {
			if c := &g.Nodes[args[0]]; c.Kind == tdfg.Const && c.Param == "" && c.Index == nil {
				if c.Value != 0 {
					args = args[:2]
				} else {
					args = args[2:]
				}
			}
		}
		for _, a := range args {
			used[a] = true
		}
	}
	return used
}
