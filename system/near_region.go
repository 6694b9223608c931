package system

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// ErrTooLarge is wrapped by the error of a region near the memory whose tensors have
// more elements at a time than the options allow.
var ErrTooLarge = errors.New("tensors too large")

// nearRegion is the execution of a graph near the memory: the streams of its plan one
// phase after another, with the results of nodes in buffers.
type nearRegion struct {
	plan    *lowering.NearPlan
	g       *tdfg.Graph
	values  map[string]int64
	m       *memory.Memory
	in      lowering.Inputs
	group   func(dim int) int
	max     int64                    // elements of buffers; 0 sets no bound
	buffers map[tdfg.NodeID]*buffer  // results of nodes
	outputs map[int]*buffer          // of outputs that are copied at the end
	runs    map[tdfg.NodeID]*nearRun // of streams
	placed  map[string][]scalar.Value
	elems   int64 // in buffers
	ops     int64 // operations of elements
	first   []tdfg.NodeID
}

// buffer has an element for each point of a box.
type buffer struct {
	box   lattice.Box
	elems []scalar.Value
}

// nearRun is what the streams of a node have done.
type nearRun struct {
	arrays map[string][]scalar.Value
	result *stream.Result
}

// runNear executes a graph near the memory, and returns the operations of elements.
func (r *runner) runNear(ctx context.Context, g *tdfg.Graph, values map[string]int64) (int64, error) {
	plan := r.nearPlans[g]
	if plan == nil {
		var err error
		if plan, err = lowering.NewNearPlan(g); err != nil {
			return 0, err
		}
		r.nearPlans[g] = plan
	}
	x := &nearRegion{
		plan: plan, g: g, values: values, m: r.m, max: r.opt.MaxLive, first: g.SameStreams(), group: r.group,
		in:      lowering.Inputs{Symbols: values, Scalars: r.m.Scalars, Streams: map[tdfg.NodeID]scalar.Value{}},
		buffers: map[tdfg.NodeID]*buffer{}, outputs: map[int]*buffer{}, runs: map[tdfg.NodeID]*nearRun{}, placed: map[string][]scalar.Value{},
	}
	for i := range plan.Phases {
		f := &plan.Phases[i]
		if err := x.phase(ctx, f); err != nil {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			return 0, fmt.Errorf("system: %s: node %d: %s: %w", g.Name, f.Node, f.Kind, err)
		}
	}
	if err := x.store(); err != nil {
		return 0, fmt.Errorf("system: %s: %w", g.Name, err)
	}
	return x.ops, nil
}

// group is how many neighbours a reduction along a dimension takes together where the
// graph leaves it open: those of a tile, or of the bitlines of an array where nothing
// is laid out in tiles.
func (r *runner) group(dim int) int {
	if g := r.grid(); g != nil {
		return g.Group(dim)
	}
	return r.opt.Machine.Array.Cols
}

// buffer makes the buffer of a box.
func (x *nearRegion) buffer(box lattice.Box) (*buffer, error) {
	n := int64(1)
	for _, r := range box {
		if r.Len() > 0 && n > (1<<62)/r.Len() {
			n = 1 << 62
		} else {
			n *= r.Len()
		}
	}
	if x.elems += n; x.max > 0 && (x.elems > x.max || x.elems < 0) {
		return nil, fmt.Errorf("%w: %d elements at a time, expected at most %d", ErrTooLarge, x.elems, x.max)
	}
	return &buffer{box.Clone(), make([]scalar.Value, n)}, nil
}

// extents returns the elements in each dimension.
func (b *buffer) extents() []int64 {
	size := make([]int64, len(b.box))
	for d, r := range b.box {
		size[d] = r.Len()
	}
	return size
}

func (x *nearRegion) phase(ctx context.Context, f *lowering.Phase) error {
	switch f.Kind {
	case lowering.ReducePhase:
		return x.reduce(ctx, f.Node)
	case lowering.StreamPhase:
		return x.streams(ctx, f)
	}
	// Streams that compute elements of a target.
	domain := x.g.Nodes[f.Node].Domain
	var target []scalar.Value
	var size []int64
	switch f.Kind {
	case lowering.FillPhase:
		if domain.Everywhere() {
			domain = x.g.ArrayRect(x.g.Outputs[f.Output].Array)
		}
		box, err := domain.Box(x.values)
		if err != nil {
			return err
		}
		b, err := x.buffer(box)
		if err != nil {
			return err
		}
		if f.Output >= 0 {
			x.outputs[f.Output] = b
		} else {
			x.buffers[f.Node] = b
		}
		target, size = b.elems, b.extents()
	case lowering.StorePhase:
		a, err := x.array(x.g.Arrays[x.g.Memory(x.g.Outputs[f.Output].Array)].Name)
		if err != nil {
			return err
		}
		target, size = a.Elems, a.Size
	case lowering.PlacePhase:
		a, err := x.array(f.Array)
		if err != nil {
			return err
		}
		if x.placed[f.Array] == nil {
			x.placed[f.Array] = slices.Clone(a.Elems)
		}
		target, size = x.placed[f.Array], a.Size
	}
	symbols := map[string]int64{}
	for k, v := range x.values {
		symbols[k] = v
	}
	mem := stream.Memory{}
	set := func(name string, elems []scalar.Value, size []int64) {
		mem[name] = elems
		for d, n := range size {
			symbols[lowering.ExtentSymbol(name, d)] = n
		}
	}
	set(lowering.TargetName, target, size)
	for i := range f.Streams.Arrays {
		name := f.Streams.Arrays[i].Name
		if x.g.ArrayIndex(name) < 0 {
			continue
		}
		a, err := x.array(name)
		if err != nil {
			return err
		}
		set(name, a.Elems, a.Size)
	}
	for _, id := range f.Reads {
		n := &x.g.Nodes[id]
		if n.Kind == tdfg.Stream {
			a, err := x.array(n.Stream.Result)
			if err != nil {
				return err
			}
			set(lowering.BufferName(id), x.runs[x.first[id]].arrays[n.Stream.Result], a.Size)
			continue
		}
		b := x.buffers[id]
		set(lowering.BufferName(id), b.elems, b.extents())
	}
	args := stream.Args{Symbols: symbols, Params: map[string]scalar.Value{}}
	for _, id := range f.Uniform {
		v, err := lowering.Uniform(x.g, id, x.in)
		if err != nil {
			return err
		}
		args.Params[lowering.UniformName(id)] = v
	}
	run, err := f.Program.Run(ctx, mem, args)
	if err != nil {
		return err
	}
	x.count(run)
	return nil
}

func (x *nearRegion) count(run *stream.Result) {
	for _, c := range run.Streams {
		x.ops += c.Ops
	}
}

// array returns an array of the graph, which must be as the graph has it.
func (x *nearRegion) array(name string) (*memory.Array, error) {
	i := x.g.ArrayIndex(name)
	have := x.m.Arrays[name]
	if have == nil {
		return nil, fmt.Errorf("no array %s in memory", name)
	}
	a := x.g.Arrays[i]
	for j, s := range a.Size {
		n, err := s.Eval(x.values)
		if err != nil {
			return nil, err
		}
		if len(have.Size) != len(a.Size) || have.Size[j] != n || have.Type != a.Type {
			return nil, fmt.Errorf("array %s in memory is %s %v, expected %s with %d in dimension %d", name, have.Type, have.Size, a.Type, n, j)
		}
	}
	return have, nil
}

// reduce reduces groups of neighbours by halves, and then the groups in order: see
// tdfg.Node.Group.
func (x *nearRegion) reduce(ctx context.Context, id tdfg.NodeID) error {
	n := &x.g.Nodes[id]
	reduce := &x.g.Nodes[n.Args[0]]
	at := reduce.Args[0]
	box, err := x.g.Nodes[at].Domain.Box(x.values)
	if err != nil {
		return err
	}
	src, err := x.operand(at, box)
	if err != nil {
		return err
	}
	out, err := n.Domain.Box(x.values)
	if err != nil {
		return err
	}
	dst, err := x.buffer(out)
	if err != nil {
		return err
	}
	x.buffers[id] = dst
	if box.Empty() || out.Empty() {
		return nil
	}
	group := int64(reduce.Group)
	if group == 0 {
		group = int64(x.group(n.Dim))
	}
	lo, hi := box[n.Dim].Lo, box[n.Dim].Hi
	step := int64(1)
	for _, r := range box[:n.Dim] {
		step *= r.Len()
	}
	line := make([]scalar.Value, hi-lo)
	for i, p := 0, out.First(); ; i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		first := append([]int64(nil), p...)
		first[n.Dim] = lo
		base := box.Index(first)
		for k := range line {
			line[k] = src[base+int64(k)*step]
		}
		var acc scalar.Value
		for start := lo / group * group; start < hi; start += group {
			v, _ := x.tree(n, line, start-lo, 1, group)
			if start <= lo {
				acc = v
				continue
			}
			acc = scalar.Eval(n.Op, n.Type, acc, v)
			x.ops++
		}
		dst.elems[out.Index(p)] = acc
		if !out.Next(p) {
			return nil
		}
	}
}

// tree combines the elements from a place on of a group at distances of width, in the
// order in which halves of the group are shifted on to each other. A group at the end of
// a line has fewer elements than places; there says whether there is any.
func (x *nearRegion) tree(n *tdfg.Node, line []scalar.Value, at, width, group int64) (v scalar.Value, there bool) {
	if width == group {
		if at < 0 || at >= int64(len(line)) {
			return 0, false
		}
		return line[at], true
	}
	a, left := x.tree(n, line, at, 2*width, group)
	b, right := x.tree(n, line, at+width, 2*width, group)
	switch {
	case !right:
		return a, left
	case !left:
		return b, true
	}
	x.ops++
	return scalar.Eval(n.Op, n.Type, a, b), true
}

// operand returns the elements of the operand of a reduction.
func (x *nearRegion) operand(id tdfg.NodeID, box lattice.Box) ([]scalar.Value, error) {
	if b := x.buffers[id]; b != nil && b.box.Equal(box) {
		return b.elems, nil
	}
	return nil, fmt.Errorf("node %d has no buffer of %s", id, box)
}

// streams runs the streams of a node on copies of what they write, so that what others
// read stays as it was.
func (x *nearRegion) streams(ctx context.Context, f *lowering.Phase) error {
	n := &x.g.Nodes[f.Node]
	st := n.Stream
	mem := stream.Memory{}
	for i := range st.Graph.Arrays {
		name := st.Graph.Arrays[i].Name
		a, err := x.array(name)
		if err != nil {
			return err
		}
		switch mem[name] = a.Elems; {
		case x.placed[name] != nil:
			mem[name] = x.placed[name]
		case changes(n, name):
			mem[name] = slices.Clone(a.Elems)
		}
	}
	clear(x.placed)
	args := stream.Args{Symbols: x.values, Params: map[string]scalar.Value{}}
	for _, p := range st.Graph.Params {
		if v, ok := x.m.Scalars[p.Name]; ok {
			args.Params[p.Name] = v
		}
	}
	for i, name := range st.Args {
		if x.g.ArrayIndex(name) >= 0 {
			continue
		}
		v, err := lowering.Uniform(x.g, n.Args[i], x.in)
		if err != nil {
			return err
		}
		args.Params[name] = v
	}
	run, err := f.Program.Run(ctx, mem, args)
	if err != nil {
		return err
	}
	x.count(run)
	x.runs[f.Node] = &nearRun{mem, run}
	// All nodes with these streams have their results now.
	for i, first := range x.first {
		if first != f.Node || !x.g.Nodes[i].Domain.Everywhere() {
			continue
		}
		v, ok := run.Value(x.g.Nodes[i].Stream.Result)
		if !ok {
			return fmt.Errorf("no value of %s", x.g.Nodes[i].Stream.Result)
		}
		x.in.Streams[tdfg.NodeID(i)] = v
	}
	return nil
}

// store puts results into arrays and scalars, in the order of the outputs.
func (x *nearRegion) store() error {
	scalars := map[string]scalar.Value{}
	for _, o := range x.g.Outputs {
		n := &x.g.Nodes[o.Node]
		b := x.buffers[o.Node]
		switch {
		case o.Array < 0 && n.Domain.Everywhere():
			v, err := lowering.Uniform(x.g, o.Node, x.in)
			if err != nil {
				return err
			}
			scalars[o.Scalar] = v
		case o.Array < 0:
			if b == nil || b.box.Size() != 1 {
				return fmt.Errorf("node %d has no single element for scalar %s", o.Node, o.Scalar)
			}
			scalars[o.Scalar] = b.elems[0]
		}
	}
	for i, o := range x.g.Outputs {
		if o.Array < 0 || x.plan.InPlace(i) {
			continue
		}
		a, err := x.array(x.g.Arrays[x.g.Memory(o.Array)].Name)
		if err != nil {
			return err
		}
		n := &x.g.Nodes[o.Node]
		if n.Kind == tdfg.Stream && !n.Domain.Everywhere() && x.g.Arrays[o.Array].View == nil {
			// Several outputs may be the same result, of which each array has its own.
			a.Elems = slices.Clone(x.runs[x.first[o.Node]].arrays[n.Stream.Result])
			continue
		}
		b := x.outputs[i]
		if b == nil {
			b = x.buffers[o.Node]
		}
		if n.Kind == tdfg.Stream && !n.Domain.Everywhere() {
			box, err := n.Domain.Box(x.values)
			if err != nil {
				return err
			}
			b = &buffer{box, x.runs[x.first[o.Node]].arrays[n.Stream.Result]}
		}
		lie, err := x.g.Layout(o.Array, x.values)
		if err != nil {
			return err
		}
		axes, k := x.g.Arrays[o.Array].Axes, 0
		for p, more := b.box.First(), !b.box.Empty(); more; more = b.box.Next(p) {
			at := lie.First
			for j, d := range axes {
				at += p[d] * lie.Step[j]
			}
			a.Elems[at] = b.elems[k]
			k++
		}
	}
	for name, v := range scalars {
		x.m.Scalars[name] = v
	}
	return nil
}
