package cfront

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// region is a graph in the making. It is kept in a form that a nest can be taken
// back from, and becomes a tdfg.Graph at the end.
type region struct {
	e       *emitter
	scope   tdfg.Scope
	nodes   []tdfg.Node
	known   map[string]tdfg.NodeID // nodes by what they do
	pending map[int][]write        // to arrays, in order
	scalars map[*variable]value
	hosts   []*loop
	line    int                // of the source, that nodes are made of
	reads   map[*variable]bool // scalars that have their value from before the region
}

// value is the result of an expression in a nest: a node, and for each dimension the
// loop whose iterations lie along it, nil where it has one coordinate.
type value struct {
	id    tdfg.NodeID
	along [tdfg.MaxDims]*loop
}

// write is a part of an array that a statement has written.
type write struct {
	rect lattice.Rect
	value
}

// refusal stops the emission of a nest: it cannot become tensors in this way.
type refusal struct {
	why string
	// cut says that it may in a region of its own.
	cut bool
}

func refuse(format string, args ...any) { panic(&refusal{why: fmt.Sprintf(format, args...)}) }

func (r *region) snapshot() func() {
	n, pending, scalars, reads := len(r.nodes), maps.Clone(r.pending), maps.Clone(r.scalars), maps.Clone(r.reads)
	for a := range pending {
		pending[a] = slices.Clone(pending[a])
	}
	return func() {
		r.nodes, r.pending, r.scalars, r.reads = r.nodes[:n], pending, scalars, reads
		maps.DeleteFunc(r.known, func(_ string, id tdfg.NodeID) bool { return int(id) >= n })
	}
}

// add appends a node, or finds one that does the same.
func (r *region) add(n tdfg.Node) tdfg.NodeID {
	var key strings.Builder
	fmt.Fprintf(&key, "%d %d %v %d %s %d %s %s %v %d %x %s %d", n.Kind, n.Op, n.Args, n.Array, n.Rect, n.Dim, n.Dist, n.Count, n.Range, n.Group, n.Value, n.Param, n.Type)
	if n.Index != nil {
		key.WriteString(n.Index.String())
	}
	if n.Stream == nil {
		if id, ok := r.known[key.String()]; ok {
			return id
		}
	}
	args := make([]tdfg.Facts, len(n.Args))
	for i, a := range n.Args {
		args[i] = r.nodes[a].Facts
	}
	f, err := r.scope.Infer(&n, args)
	if err != nil {
		refuse("%v", err)
	}
	n.Facts, n.Line = f, r.line
	r.nodes = append(r.nodes, n)
	id := tdfg.NodeID(len(r.nodes) - 1)
	if n.Stream == nil {
		r.known[key.String()] = id
	}
	return id
}

func (r *region) domain(id tdfg.NodeID) lattice.Rect { return r.nodes[id].Domain }

func (r *region) everywhere(v value) bool { return r.domain(v.id).Everywhere() }

func (r *region) constant(t scalar.Type, v scalar.Value) value {
	return value{id: r.add(tdfg.Node{Kind: tdfg.Const, Value: v, Facts: tdfg.Facts{Type: t}})}
}

// move moves a value so that its first coordinate in a dimension is to.
func (r *region) move(v value, dim int, to lattice.Expr) value {
	from := r.domain(v.id)[dim]
	dist := to.Sub(from.Lo)
	if dist.Equal(lattice.Const(0)) {
		return v
	}
	v.id = r.add(tdfg.Node{Kind: tdfg.Move, Args: []tdfg.NodeID{v.id}, Dim: dim, Dist: dist})
	r.expect(v.id, dim, from.Shift(dist))
	return v
}

// broadcast copies a value of one coordinate in a dimension to those of an interval,
// in which the iterations of a loop lie.
func (r *region) broadcast(v value, dim int, to lattice.Interval, l *loop) value {
	from := r.domain(v.id)[dim]
	if !r.scope.Space.LessEqual(lattice.Const(0), to.Len()) {
		r.e.require(to.Len())
	}
	v.id = r.add(tdfg.Node{Kind: tdfg.Broadcast, Args: []tdfg.NodeID{v.id}, Dim: dim, Dist: to.Lo.Sub(from.Lo), Count: to.Len()})
	v.along[dim] = l
	r.expect(v.id, dim, to)
	return v
}

// expect refuses a nest whose elements left the bounding hyperrectangle.
func (r *region) expect(id tdfg.NodeID, dim int, want lattice.Interval) {
	if !r.domain(id)[dim].Equal(want) {
		refuse("elements leave the lattice")
	}
}

// align brings values to the same coordinates.
func (r *region) align(list []value) {
	for d := range r.scope.Dims {
		var along *loop
		var at *lattice.Interval
		for _, v := range list {
			if r.everywhere(v) {
				continue
			}
			i := r.domain(v.id)[d]
			switch {
			case v.along[d] != nil && along != nil && along != v.along[d]:
				refuse("two loops along one dimension")
			case v.along[d] != nil:
				along, at = v.along[d], &i
			case at == nil:
				at = &i
			}
		}
		for i, v := range list {
			switch {
			case r.everywhere(v) || v.along[d] != nil:
			case along != nil:
				list[i] = r.broadcast(v, d, *at, along)
			default:
				list[i] = r.move(v, d, at.Lo)
			}
		}
	}
}

// compute applies an operation to values.
func (r *region) compute(op scalar.Op, args ...value) value {
	r.align(args)
	n := tdfg.Node{Kind: tdfg.Compute, Op: op}
	var out value
	for _, a := range args {
		n.Args = append(n.Args, a.id)
		for d, l := range a.along {
			if l != nil {
				out.along[d] = l
			}
		}
	}
	out.id = r.add(n)
	return out
}

// read returns the newest value of a part of an array.
func (r *region) read(array int, rect lattice.Rect) tdfg.NodeID {
	s := r.scope.Space
	r.apart(array)
	list := r.pending[array]
	for i := len(list) - 1; i >= 0; i-- {
		w := list[i]
		if s.Contains(w.rect, rect) {
			id := w.id
			if r.domain(id).Everywhere() {
				return id
			}
			for d := range rect {
				if !rect[d].Equal(r.domain(id)[d]) {
					id = r.add(tdfg.Node{Kind: tdfg.Shrink, Args: []tdfg.NodeID{id}, Dim: d, Range: rect[d]})
				}
			}
			return id
		}
		if !s.Disjoint(w.rect, rect) {
			panic(&refusal{why: "a part of " + r.scope.Arrays[array].Name + " is read that was written in parts", cut: true})
		}
	}
	return r.add(tdfg.Node{Kind: tdfg.Tensor, Array: array, Rect: rect})
}

// apart starts a new region where parts of an array are used under one name that were
// written under another: as an array and as views of it.
func (r *region) apart(array int) {
	for other := range r.scope.Arrays {
		if other != array && len(r.pending[other]) > 0 && !r.scope.Apart(array, other) {
			panic(&refusal{why: "parts of " + r.scope.Arrays[r.scope.Memory(array)].Name + " are used that were written at another stride", cut: true})
		}
	}
}

// store makes a value the newest one of a part of an array. The value lies there, or
// is the same everywhere.
func (r *region) store(array int, rect lattice.Rect, v value) {
	r.apart(array)
	list := slices.DeleteFunc(slices.Clone(r.pending[array]), func(w write) bool { return r.scope.Space.Contains(rect, w.rect) })
	r.pending[array] = append(list, write{rect, v})
}

// materialise gives constants that were stored a place, which they do not have by
// themselves: what is stored is chosen from one and the elements that it replaces.
func (r *region) materialise(array int) {
	for i, w := range r.pending[array] {
		if r.everywhere(w.value) {
			old := value{id: r.add(tdfg.Node{Kind: tdfg.Tensor, Array: array, Rect: w.rect})}
			r.pending[array][i].id = r.compute(scalar.Select, r.constant(scalar.Bool, 1), w.value, old).id
		}
	}
}

// finish returns the graph. wanted says which scalars are used after the region.
func (r *region) finish(name string, wanted map[*variable]bool) (*tdfg.Graph, error) {
	for a := range r.scope.Arrays {
		r.materialise(a)
	}
	used := make([]bool, len(r.nodes))
	for a := range r.scope.Arrays {
		for _, w := range r.pending[a] {
			used[w.id] = true
		}
	}
	for _, v := range r.e.k.vars {
		if s, ok := r.scalars[v]; ok && wanted[v] {
			used[s.id] = true
		}
	}
	for i := len(r.nodes) - 1; i >= 0; i-- {
		if used[i] {
			for _, a := range r.nodes[i].Args {
				used[a] = true
			}
		}
	}
	b := tdfg.NewBuilder(name, r.scope)
	id := make([]tdfg.NodeID, len(r.nodes))
	for i, n := range r.nodes {
		if !used[i] {
			continue
		}
		n.Args = slices.Clone(n.Args)
		for j, a := range n.Args {
			n.Args[j] = id[a]
		}
		id[i] = b.Add(n)
	}
	for a := range r.scope.Arrays {
		for _, w := range r.pending[a] {
			b.Store(id[w.id], a)
		}
	}
	for _, v := range r.e.k.vars {
		if s, ok := r.scalars[v]; ok && wanted[v] {
			b.Result(id[s.id], v.name)
		}
	}
	return b.Finish()
}

// empty reports whether nothing was written yet.
func (r *region) empty() bool { return len(r.pending) == 0 && len(r.scalars) == 0 }
