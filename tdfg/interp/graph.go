package interp

import (
	"context"
	"errors"
	"fmt"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// DefaultGroup is the number of neighbours that a reduction takes together where
// neither the graph nor the options say so: the bitlines of an array.
const DefaultGroup = 256

// Options are what an execution may choose.
type Options struct {
	// Group returns how many neighbours a reduction along a dimension of the lattice
	// takes together, a power of two, where the graph leaves it open. It decides the
	// order of additions of floating-point numbers. nil stands for DefaultGroup.
	Group func(dim int) int

	// Bank returns where a point of the lattice lies. A Final reduces groups that follow each
	// other at one place by halves, and then goes on from place to place in order. nil: each
	// group has a place of its own.
	Bank func(point []int64) int

	// Stats counts what is executed, if it is not nil.
	Stats *Stats

	// Progress is told by Run how many graphs have been executed. May be nil.
	Progress func(graphs int64)

	// MaxLive is the most elements that the results of a graph may have at a time, 8
	// bytes each: see [Live]. 0 sets no bound.
	MaxLive int64
}

// Stats counts executed work: nodes and elements of their results.
type Stats struct {
	Nodes    int64
	Computed int64 // elements of computations
	Moved    int64 // elements of moves and broadcasts
	Streamed int64 // operations of elements in streams

	// Operations of elements in computations: one for each element, and in reductions
	// one less than there are elements to reduce.
	Operations int64
}

// RunGraph executes a graph on the arrays and scalars of its scope. values has
// those of the symbols. A failed run leaves the memory as it was.
func RunGraph(ctx context.Context, g *tdfg.Graph, values map[string]int64, m *memory.Memory, opt Options) error {
	x := &executor{g: g, values: values, m: m, opt: opt, views: make([]view, len(g.Nodes)), lastUse: make([]int, len(g.Nodes))}
	if err := x.prepare(); err != nil {
		return fmt.Errorf("interp: %s: %w", g.Name, err)
	}
	if opt.MaxLive > 0 {
		live, err := Live(g, values, opt)
		if err != nil {
			return fmt.Errorf("interp: %s: %w", g.Name, err)
		}
		if live > opt.MaxLive {
			return fmt.Errorf("interp: %s: %w: %d elements at a time, expected at most %d", g.Name, ErrTooLarge, live, opt.MaxLive)
		}
	}
	for i := range g.Nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.node(ctx, i); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("interp: %s: node %d: %s: %w", g.Name, i, g.Nodes[i].Kind, err)
		}
		for _, a := range g.Nodes[i].Args {
			if x.lastUse[a] == i {
				x.views[a] = view{}
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := x.store(); err != nil {
		return fmt.Errorf("interp: %s: %w", g.Name, err)
	}
	return nil
}

type executor struct {
	g       *tdfg.Graph
	values  map[string]int64
	m       *memory.Memory
	opt     Options
	views   []view
	lastUse []int // the last node that uses each; len(Nodes) for outputs
	bound   lattice.Box
	scratch [3][]scalar.Value
	first   []tdfg.NodeID             // of the nodes with the same streams
	streams map[tdfg.NodeID]streamRun // that were executed, by the first
}

func (x *executor) prepare() error {
	for i := range x.g.Nodes {
		for _, a := range x.g.Nodes[i].Args {
			x.lastUse[a] = i
		}
	}
	for _, o := range x.g.Outputs {
		x.lastUse[o.Node] = len(x.g.Nodes)
	}
	x.bound = make(lattice.Box, x.g.Dims)
	for d := range x.bound {
		x.bound[d].Hi = 1
	}
	for i, a := range x.g.Arrays {
		box, err := x.g.ArrayRect(i).Box(x.values)
		if err != nil {
			return err
		}
		x.bound = x.bound.Hull(box)
		if !a.Own() {
			continue
		}
		have := x.m.Arrays[a.Name]
		if have == nil {
			return fmt.Errorf("no array %s in memory", a.Name)
		}
		if have.Type != a.Type || len(have.Size) != len(a.Size) {
			return fmt.Errorf("array %s in memory is %s %v, expected %s of %d dimensions", a.Name, have.Type, have.Size, a.Type, len(a.Size))
		}
		for j, n := range a.Size {
			size, err := n.Eval(x.values)
			if err != nil {
				return err
			}
			if have.Size[j] != size {
				return fmt.Errorf("array %s in memory has %d in dimension %d, expected %d", a.Name, have.Size[j], j, size)
			}
		}
	}
	return nil
}

// array returns an array as a view in the lattice space.
func (x *executor) array(i int) (view, error) {
	a := x.g.Arrays[i]
	box, err := x.g.ArrayRect(i).Box(x.values)
	if err != nil {
		return view{}, err
	}
	if a.Iota {
		v := dense(box)
		for k := range v.data {
			v.data[k] = scalar.FromInt(a.Type, int64(k))
		}
		return v, nil
	}
	v := view{box: box, data: x.m.Arrays[x.g.Arrays[x.g.Memory(i)].Name].Elems, stride: make([]int64, len(box))}
	lie, err := x.g.Layout(i, x.values)
	if err != nil {
		return v, err
	}
	v.at = lie.First
	low, high := lie.First, lie.First
	for j, d := range a.Axes {
		v.stride[d] = lie.Step[j]
		far := lie.Step[j] * (box[d].Len() - 1)
		low, high = low+min(0, far), high+max(0, far)
	}
	if low < 0 || high >= int64(len(v.data)) {
		return v, fmt.Errorf("%s has elements %d to %d in memory, expected 0 to %d", a.Name, low, high, len(v.data)-1)
	}
	return v, nil
}

func (x *executor) node(ctx context.Context, i int) error {
	n := &x.g.Nodes[i]
	v, err := x.eval(ctx, tdfg.NodeID(i))
	if err != nil {
		return err
	}
	// The domain was inferred with symbols; here it is computed with numbers.
	if !v.everywhere && v.group == 0 {
		want, err := n.Domain.Box(x.values)
		if err != nil {
			return err
		}
		if !want.Equal(v.box) {
			return fmt.Errorf("domain is %s, inferred as %s", v.box, want)
		}
	}
	if st := x.opt.Stats; st != nil && !v.everywhere {
		st.Nodes++
		switch n.Kind {
		case tdfg.Compute, tdfg.Convert, tdfg.Reduce, tdfg.Final:
			st.Computed += v.box.Size()
			st.Operations += v.box.Size()
			if n.Kind == tdfg.Reduce || n.Kind == tdfg.Final {
				st.Operations += x.views[n.Args[0]].box.Size() - 2*v.box.Size()
			}
		case tdfg.Move, tdfg.Broadcast:
			st.Moved += v.box.Size()
		}
	}
	x.views[i] = v
	return nil
}

func (x *executor) eval(ctx context.Context, id tdfg.NodeID) (view, error) {
	n := &x.g.Nodes[id]
	switch n.Kind {
	case tdfg.Tensor:
		box, err := n.Rect.Box(x.values)
		if err != nil {
			return view{}, err
		}
		v, err := x.array(n.Array)
		if err == nil && !v.box.Contains(box) {
			err = fmt.Errorf("%s of %s, which is %s", box, x.g.Arrays[n.Array].Name, v.box)
		}
		return v.part(box), err
	case tdfg.Const:
		return x.constant(n)
	case tdfg.Compute, tdfg.Convert:
		return x.compute(ctx, n)
	case tdfg.Stream:
		return x.stream(ctx, id)
	}
	a := x.views[n.Args[0]]
	switch n.Kind {
	case tdfg.Move:
		dist, err := n.Dist.Eval(x.values)
		if err != nil {
			return a, err
		}
		a = a.moved(n.Dim, dist)
		return a.part(a.box.Intersect(x.bound)), nil
	case tdfg.Broadcast:
		dist, err := n.Dist.Eval(x.values)
		if err != nil {
			return a, err
		}
		count, err := n.Count.Eval(x.values)
		if err != nil {
			return a, err
		}
		lo := a.box[n.Dim].Lo + dist
		a = a.spread(n.Dim, lattice.Range{Lo: lo, Hi: lo + count})
		return a.part(a.box.Intersect(x.bound)), nil
	case tdfg.Shrink:
		lo, err := n.Range.Lo.Eval(x.values)
		if err != nil {
			return a, err
		}
		hi, err := n.Range.Hi.Eval(x.values)
		if err != nil {
			return a, err
		}
		return a.part(a.box.With(n.Dim, a.box[n.Dim].Intersect(lattice.Range{Lo: lo, Hi: hi}))), nil
	case tdfg.Reduce:
		return x.reduce(ctx, n, a)
	case tdfg.Final:
		return x.final(ctx, n, a)
	}
	return a, errors.New("no such kind")
}

func (x *executor) constant(n *tdfg.Node) (view, error) {
	switch {
	case n.Param != "":
		v, ok := x.m.Scalars[n.Param]
		if !ok {
			return view{}, fmt.Errorf("no scalar %s in memory", n.Param)
		}
		return constant(v), nil
	case n.Index != nil:
		k, err := n.Index.Eval(x.values)
		return constant(scalar.FromInt(n.Type, k)), err
	}
	return constant(n.Value), nil
}

// compute applies an operation, or a conversion, at the points that all operands
// have, row by row.
func (x *executor) compute(ctx context.Context, n *tdfg.Node) (view, error) {
	var args [3]view
	var box lattice.Box
	everywhere := true
	for i, id := range n.Args {
		args[i] = x.views[id]
		switch {
		case args[i].everywhere:
		case everywhere:
			box, everywhere = args[i].box, false
		default:
			box = box.Intersect(args[i].box)
		}
	}
	from := x.g.Nodes[n.Args[len(n.Args)-1]].Type
	apply := func(dst []scalar.Value, rows ...[]scalar.Value) {
		if n.Kind == tdfg.Convert {
			for i, v := range rows[0] {
				dst[i] = scalar.Convert(from, n.Type, v)
			}
			return
		}
		scalar.Map(n.Op, from, dst, rows...)
	}
	if everywhere {
		v := constant(0)
		in := make([][]scalar.Value, len(n.Args))
		for i := range in {
			in[i] = args[i].data[:1]
		}
		apply(v.data, in...)
		return v, nil
	}
	v := dense(box)
	const most = 1 << 16 // of a row at a time, so that long ones stop too
	width := min(box[0].Len(), most)
	in := make([][]scalar.Value, len(n.Args))
	for i := range in {
		if int64(len(x.scratch[i])) < width {
			x.scratch[i] = make([]scalar.Value, width)
		}
	}
	stop := stopper{ctx: ctx}
	rows(box, func(p []int64) {
		for lo := box[0].Lo; lo < box[0].Hi; lo += most {
			part := box.With(0, lattice.Range{Lo: lo, Hi: min(lo+most, box[0].Hi)})
			if stop.after(part[0].Len()) {
				return
			}
			for i := range in {
				in[i] = args[i].row(part, p, x.scratch[i])
			}
			apply(v.row(part, p, nil), in...)
		}
	})
	return v, stop.err
}

// stopper looks at the context now and then.
type stopper struct {
	ctx  context.Context
	done int64 // elements since then
	err  error
}

// after counts elements, and reports whether the context ended.
func (s *stopper) after(elems int64) bool {
	const often = 1 << 16
	if s.done += elems; s.done >= often {
		s.done, s.err = 0, s.ctx.Err()
	}
	return s.err != nil
}

// reduce reduces the groups along a dimension by halves: see tdfg.Node.Group.
func (x *executor) reduce(ctx context.Context, n *tdfg.Node, a view) (view, error) {
	g, r := x.opt.group(n), a.box[n.Dim]
	groups := x.opt.groups(n, r)
	v := dense(a.box.With(n.Dim, groups))
	v.group, v.dim = g, n.Dim
	vals, present := make([]scalar.Value, g), make([]bool, g)
	if v.box.Empty() {
		return v, nil
	}
	stop := stopper{ctx: ctx}
	i := 0
	q := make([]int64, len(a.box))
	for p, more := v.box.First(), true; more; more = v.box.Next(p) {
		if stop.after(g) {
			return v, stop.err
		}
		copy(q, p)
		for j := range g {
			q[n.Dim] = p[n.Dim]*g + j
			if present[j] = r.Contains(q[n.Dim]); present[j] {
				vals[j] = a.get(q)
			}
		}
		for half := g / 2; half > 0; half /= 2 {
			for j := range half {
				switch {
				case present[j] && present[j+half]:
					vals[j] = scalar.Eval(n.Op, n.Type, vals[j], vals[j+half])
				case present[j+half]:
					vals[j], present[j] = vals[j+half], true
				}
			}
		}
		v.data[i] = vals[0]
		i++
	}
	return v, nil
}

// group returns how many neighbours a reduce takes together.
func (opt Options) group(n *tdfg.Node) int64 {
	g := int64(n.Group)
	if g == 0 && opt.Group != nil {
		g = int64(opt.Group(n.Dim))
	}
	if g == 0 {
		g = DefaultGroup
	}
	return g
}

// groups returns the numbers of the groups of a reduce over coordinates.
func (opt Options) groups(n *tdfg.Node, r lattice.Range) lattice.Range {
	g := opt.group(n)
	groups := lattice.Range{Lo: floorDiv(r.Lo, g), Hi: floorDiv(r.Hi+g-1, g)}
	if r.Len() == 0 {
		groups.Hi = groups.Lo
	}
	return groups
}

// final reduces the groups of a reduce in order.
func (x *executor) final(ctx context.Context, n *tdfg.Node, a view) (view, error) {
	if a.group == 0 || a.dim != n.Dim {
		return a, fmt.Errorf("operand is not reduced along dimension %d", n.Dim)
	}
	arg := &x.g.Nodes[n.Args[0]]
	lo, err := arg.Domain[n.Dim].Lo.Eval(x.values)
	if err != nil {
		return a, err
	}
	v := dense(a.box.With(n.Dim, lattice.Range{Lo: lo, Hi: lo + 1}))
	switch {
	case v.box.Empty(): // no points to have a result
		return v, nil
	case a.box.Empty():
		return a, errors.New("nothing to reduce")
	}
	groups := a.box[n.Dim]
	q := make([]int64, len(v.box))
	stop := stopper{ctx: ctx}
	i := 0
	for p, more := v.box.First(), true; more; more = v.box.Next(p) {
		if stop.after(groups.Len()) {
			return v, stop.err
		}
		copy(q, p)
		v.data[i] = x.inOrder(n, a, q, groups)
		i++
	}
	return v, nil
}

// inOrder reduces the groups of one result, from place to place.
func (x *executor) inOrder(n *tdfg.Node, a view, q []int64, groups lattice.Range) (acc scalar.Value) {
	combine := func(l, r scalar.Value) scalar.Value { return scalar.Eval(n.Op, n.Type, l, r) }
	first := true
	var there []scalar.Value // at one place
	at := 0
	leave := func() {
		for len(there) > 1 {
			half := 1
			for 2*half < len(there) {
				half *= 2
			}
			for j := half; j < len(there); j++ {
				there[j-half] = combine(there[j-half], there[j])
			}
			there = there[:half]
		}
		if first {
			acc, first = there[0], false
		} else {
			acc = combine(acc, there[0])
		}
		there = there[:0]
	}
	for k := groups.Lo; k < groups.Hi; k++ {
		q[n.Dim] = k
		value := a.get(q)
		bank := len(there)
		if x.opt.Bank != nil {
			q[n.Dim] = k * a.group
			bank = x.opt.Bank(q)
		}
		if len(there) > 0 && (x.opt.Bank == nil || bank != at) {
			leave()
		}
		there, at = append(there, value), bank
	}
	leave()
	return acc
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// store executes the outputs. What is stored may be a view of an array that is
// stored to, so that all results are copied first where there are several, or where
// the array is read and written at different points.
func (x *executor) store() error {
	results := make([]view, len(x.g.Outputs))
	for i, o := range x.g.Outputs {
		results[i] = x.views[o.Node]
		if x.g.Nodes[o.Node].Kind != tdfg.Compute && !results[i].everywhere {
			results[i] = copied(results[i])
		}
	}
	for i, o := range x.g.Outputs {
		v := results[i]
		if o.Array < 0 {
			switch {
			case v.everywhere:
				x.m.Scalars[o.Scalar] = v.data[0]
			case v.box.Size() != 1:
				return fmt.Errorf("output %d: %s has %d elements, expected one for scalar %s", i, v.box, v.box.Size(), o.Scalar)
			default:
				x.m.Scalars[o.Scalar] = v.get(v.box.First())
			}
			continue
		}
		dst, err := x.array(o.Array)
		if err != nil {
			return err
		}
		if !dst.box.Contains(v.box) {
			return fmt.Errorf("output %d: %s of %s, which is %s", i, v.box, x.g.Arrays[o.Array].Name, dst.box)
		}
		rows(v.box, func(p []int64) { dst.setRow(v.box, p, v.row(v.box, p, nil)) })
	}
	return nil
}

// copied returns v with data of its own.
func copied(v view) view {
	c := dense(v.box)
	scratch := make([]scalar.Value, v.box[0].Len())
	rows(v.box, func(p []int64) { copy(c.row(v.box, p, nil), v.row(v.box, p, scratch)) })
	return c
}

// setRow writes elements along dimension 0.
func (v view) setRow(box lattice.Box, point []int64, elems []scalar.Value) {
	at := v.at + (box[0].Lo-v.box[0].Lo)*v.stride[0]
	for d := 1; d < len(box); d++ {
		at += (point[d] - v.box[d].Lo) * v.stride[d]
	}
	for _, e := range elems {
		v.data[at] = e
		at += v.stride[0]
	}
}
