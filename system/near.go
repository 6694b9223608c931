package system

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/tc"
)

// nearStep executes a step near the memory: by requests for elements of the
// transposed arrays (section 5.3).
func (r *runner) nearStep(ctx context.Context, p *lowering.Plan, s *lowering.Step, values map[string]int64, in lowering.Inputs) error {
	if err := r.nearData(ctx, p, s, values, in); err != nil {
		return err
	}
	return r.data.err()
}

func (r *runner) nearData(ctx context.Context, p *lowering.Plan, s *lowering.Step, values map[string]int64, in lowering.Inputs) error {
	g := p.Graph
	n := &g.Nodes[s.Node]
	switch s.Kind {
	case lowering.FinalStep:
		return r.final(g, s, n, values)
	case lowering.ResultStep:
		return r.result(g, s, n, values, in)
	case lowering.StreamStep:
		return r.stream(ctx, p, s, n, values, in)
	case lowering.SpillStep:
		r.slots[s.Slot] = r.data.save(s.Src)
		return nil
	case lowering.ReloadStep:
		r.data.restore(s.Dst, r.slots[s.Slot])
		return nil
	}
	return fmt.Errorf("%s is not executed near the memory", s.Kind)
}

// final reduces the first elements of the groups of a reduction: those at a bank by halves
// where each bank does so for itself, and then from bank to bank in order.
func (r *runner) final(g *tdfg.Graph, s *lowering.Step, n *tdfg.Node, values map[string]int64) error {
	box, group, err := r.groups(g, n, values)
	if err != nil || box.Empty() {
		return err
	}
	d := n.Dim
	lo, hi := box[d].Lo, box[d].Hi
	out := box.With(d, lattice.Range{Lo: lo, Hi: lo + 1})
	r.eachTile(out, func(part lattice.Box) {
		q := make([]int64, len(box))
		for pt, more := part.First(), true; more; more = part.Next(pt) {
			copy(q, pt)
			var acc scalar.Value
			for k, bank := range r.banksAlong(q, d, lo/group*group, hi, group) {
				v := r.halves(s, n, q, bank)
				if k > 0 {
					v = scalar.Eval(n.Op, n.Type, acc, v)
				}
				acc = v
			}
			t, b := r.grid().Locate(pt)
			r.data.write(s.Dst, t, b, acc)
		}
	})
	r.report.NearOps += ((hi-1)/group - lo/group) * out.Size()
	return nil
}

// alongBank is groups of a reduction at one bank.
type alongBank struct {
	bank   int
	points []int64 // where they begin along the dimension
}

// banksAlong returns the groups of a reduction through a point, by bank where these reduce for
// themselves, else each by itself.
func (r *runner) banksAlong(point []int64, dim int, lo, hi, group int64) (list []alongBank) {
	q := slices.Clone(point)
	for q[dim] = lo; q[dim] < hi; q[dim] += group {
		b := r.bankOf(q)
		if n := len(list); n > 0 && r.opt.ByBank && list[n-1].bank == b {
			list[n-1].points = append(list[n-1].points, q[dim])
			continue
		}
		list = append(list, alongBank{b, []int64{q[dim]}})
	}
	return list
}

// halves reduces the groups at a bank: the second half of the greatest power of two is added
// to the first, and so on.
func (r *runner) halves(s *lowering.Step, n *tdfg.Node, point []int64, b alongBank) scalar.Value {
	values := make([]scalar.Value, len(b.points))
	for i, x := range b.points {
		point[n.Dim] = x
		values[i] = r.at(s.Src, point)
	}
	half := 1
	for half < len(values) {
		half *= 2
	}
	for half /= 2; half > 0; half /= 2 {
		for i := 0; i+half < len(values) && i < half; i++ {
			values[i] = scalar.Eval(n.Op, n.Type, values[i], values[i+half])
		}
	}
	return values[0]
}

// eachTile calls f for the part of a box in each tile that has one, shared out among
// threads, which must not write to a tile of another.
func (r *runner) eachTile(box lattice.Box, f func(part lattice.Box)) {
	shape := r.grid().Tile()
	n := int64(1)
	for d, x := range box {
		n *= (x.Hi-1)/shape[d] - x.Lo/shape[d] + 1
	}
	threads := max(1, min(int64(r.opt.Threads), n))
	const few = 1 << 10 // points
	if box.Size() < few {
		threads = 1
	}
	var wg sync.WaitGroup
	for k := range threads {
		work := func() {
			part := box.Clone()
			for i := k * n / threads; i < (k+1)*n/threads; i++ {
				rest := i
				for d, x := range box {
					tiles := (x.Hi-1)/shape[d] - x.Lo/shape[d] + 1
					at := (x.Lo/shape[d] + rest%tiles) * shape[d]
					rest /= tiles
					part[d] = x.Intersect(lattice.Range{Lo: at, Hi: at + shape[d]})
				}
				f(part)
			}
		}
		if threads == 1 {
			work()
		} else {
			wg.Go(work)
		}
	}
	wg.Wait()
}

// at returns the word of a register at a lattice point.
func (r *runner) at(reg lowering.Register, point []int64) scalar.Value {
	t, b := r.grid().Locate(point)
	return r.data.read(reg, t, b)
}

func (r *runner) result(g *tdfg.Graph, s *lowering.Step, n *tdfg.Node, values map[string]int64, in lowering.Inputs) error {
	name := g.Outputs[s.Output].Scalar
	if n.Domain.Everywhere() {
		v, err := lowering.Uniform(g, s.Node, in)
		if err != nil {
			return err
		}
		r.m.Scalars[name] = v
		return nil
	}
	box, err := n.Domain.Box(values)
	if err != nil {
		return err
	}
	if box.Size() != 1 {
		return fmt.Errorf("%s has %d elements, expected one for scalar %s", box, box.Size(), name)
	}
	r.m.Scalars[name] = r.at(s.Src, box.First())
	return nil
}

// array returns the declaration of an array of the layout, its box, and its rows as the
// layout override table has them; none while it is in memory.
func (r *runner) array(name string) (a *tdfg.Array, at lowering.Register, box lattice.Box) {
	a = r.arrays[slices.IndexFunc(r.arrays, func(a *tdfg.Array) bool { return a.Name == name })]
	box = make(lattice.Box, r.grid().Dims())
	for d := range box {
		box[d].Hi = 1
	}
	for j, n := range r.m.Arrays[name].Size {
		box[a.Axes[j]].Hi = n
	}
	if i := r.entry(name); i >= 0 {
		at = r.table.Register(i)
	}
	return a, at, box
}

// fetch copies the elements of a box of a register to an array in memory.
func (r *runner) fetch(name string, reg lowering.Register, box lattice.Box, elems []scalar.Value) {
	a, own, all := r.array(name)
	entry := r.entry(name)
	if r.table.Blocked(r.m.Arrays[name].Base) {
		panic("system: request for array " + name + " while its format changes") // regions wait for that
	}
	for p, more := box.First(), !box.Empty(); more; more = box.Next(p) {
		at := position(all, a.Axes, p)
		if reg != own { // an operand, which has no address
			elems[at] = r.at(reg, p)
			continue
		}
		t, b := r.table.Cell(entry, at)
		elems[at] = r.data.read(reg, t, b)
	}
	r.report.NearBytes += box.Size() * int64(a.Type.Bytes())
}

// put copies elements of an array in memory to a box of a register.
func (r *runner) put(name string, reg lowering.Register, box lattice.Box, elems []scalar.Value) {
	a, own, all := r.array(name)
	entry := r.entry(name)
	for p, more := box.First(), !box.Empty(); more; more = box.Next(p) {
		at := position(all, a.Axes, p)
		t, b := r.grid().Locate(p)
		if reg == own {
			t, b = r.table.Cell(entry, at)
		}
		r.data.write(reg, t, b, elems[at])
	}
	r.report.NearBytes += box.Size() * int64(a.Type.Bytes())
}

// stream gives a step the result of the streams of its node, which are executed once
// for all nodes that have the same.
func (r *runner) stream(ctx context.Context, p *lowering.Plan, s *lowering.Step, n *tdfg.Node, values map[string]int64, in lowering.Inputs) error {
	g, st := p.Graph, n.Stream
	same, ok := r.same[g]
	if !ok {
		same = g.SameStreams()
		r.same[g] = same
	}
	if r.streams == nil {
		r.streams = map[tdfg.NodeID]*nearRun{}
	}
	run := r.streams[same[s.Node]]
	if run == nil {
		var err error
		if run, err = r.runStreams(ctx, p, s, n, values, in); err != nil {
			return err
		}
		// Others get their results later, when the buffers hold something else.
		for i := range g.Nodes {
			if same[i] != same[s.Node] || tdfg.NodeID(i) == s.Node {
				continue
			}
			if name := g.Nodes[i].Stream.Result; g.ArrayIndex(name) >= 0 && r.resident(p, name) {
				run.arrays[name] = slices.Clone(run.arrays[name])
			}
			r.streams[same[s.Node]] = run
		}
	}
	switch {
	case n.Domain.Everywhere():
		v, ok := run.result.Value(st.Result)
		if !ok {
			return fmt.Errorf("no value of %s", st.Result)
		}
		in.Streams[s.Node] = v
		return nil
	case !r.resident(p, st.Result):
		if r.written == nil {
			r.written = map[tdfg.NodeID][]scalar.Value{}
		}
		r.written[s.Node] = run.arrays[st.Result]
		if s.Dst.Bits > 0 { // tensors use it too
			_, _, box := r.array(st.Result)
			r.put(st.Result, s.Dst, box, run.arrays[st.Result])
		}
		return nil
	}
	_, own, box := r.array(st.Result)
	if s.Dst != own {
		// The result is a copy of the array, in rows of its own: what the streams
		// neither read nor wrote is in the array still.
		for pt, more := box.First(), !box.Empty(); more; more = box.Next(pt) {
			t, b := r.grid().Locate(pt)
			r.data.write(s.Dst, t, b, r.data.read(own, t, b))
		}
	}
	for i, name := range st.Args {
		if name == st.Result {
			if b, err := g.Nodes[n.Args[i]].Domain.Box(values); err == nil {
				r.put(name, s.Dst, b, run.arrays[name])
			}
		}
	}
	r.put(st.Result, s.Dst, r.touched(st.Graph, st.Result, values, true).Intersect(box), run.arrays[st.Result])
	return nil
}

// resident reports whether a plan has rows for an array.
func (r *runner) resident(p *lowering.Plan, array string) bool {
	return p.Arrays[p.Graph.ArrayIndex(array)].Bits > 0
}

// runStreams runs the streams of a node on arrays in memory, and on elements that it
// requests from transposed arrays. The memory of the host serves as their buffer:
// while an array is transposed, what the memory has of it does not count.
func (r *runner) runStreams(ctx context.Context, p *lowering.Plan, s *lowering.Step, n *tdfg.Node, values map[string]int64, in lowering.Inputs) (*nearRun, error) {
	g, st := p.Graph, n.Stream
	if err := r.borrow(ctx, p, st.Graph, values); err != nil {
		return nil, err
	}
	mem := stream.Memory{}
	args := stream.Args{Symbols: values, Params: map[string]scalar.Value{}}
	for i := range st.Graph.Arrays {
		name := st.Graph.Arrays[i].Name
		mem[name] = r.m.Arrays[name].Elems
		if r.resident(p, name) {
			_, reg, box := r.array(name)
			r.fetch(name, reg, r.touched(st.Graph, name, values, false).Intersect(box), mem[name])
		} else if changes(n, name) {
			mem[name] = slices.Clone(mem[name])
		}
	}
	for _, q := range st.Graph.Params {
		if v, ok := r.m.Scalars[q.Name]; ok {
			args.Params[q.Name] = v
		}
	}
	for i, name := range st.Args {
		a := &g.Nodes[n.Args[i]]
		switch w, made := r.written[n.Args[i]]; {
		case a.Domain.Everywhere():
			v, err := lowering.Uniform(g, n.Args[i], in)
			if err != nil {
				return nil, err
			}
			args.Params[name] = v
		case made: // of streams, in memory
			copy(mem[name], w)
		default:
			box, err := a.Domain.Box(values)
			if err != nil {
				return nil, err
			}
			r.fetch(name, s.Args[i].Register, box, mem[name])
		}
	}
	run, err := st.Graph.Run(ctx, mem, args)
	if err != nil {
		return nil, err
	}
	for _, c := range run.Streams {
		r.report.NearOps += c.Ops
	}
	ops := r.simdOps(st.Graph, run)
	if err := r.emit(ctx, &Work{Kind: Streamed, Name: n.Stream.Graph.Name, Ops: ops, Walks: r.streamWalks(p, st.Graph, values, ops), InTurn: inTurn(st.Graph)}); err != nil {
		return nil, err
	}
	return &nearRun{mem, run}, nil
}

// changes reports whether streams of a node write an array, or an operand takes the
// place of its elements.
func changes(n *tdfg.Node, array string) bool {
	if slices.Contains(n.Stream.Args, array) {
		return true
	}
	found := false
	n.Stream.Graph.Walk(func(_ []*stream.Loop, s *stream.Stream) {
		found = found || s.Array == array && (s.Kind == stream.Store || s.Kind == stream.RMW)
	})
	return found
}

// touched returns a box with all elements of an array that the streams of a graph
// access, or write: the exact bounds where subscripts are affine, all of a dimension
// where one depends on data.
func (r *runner) touched(g *stream.Graph, array string, values map[string]int64, writes bool) lattice.Box {
	a, _, all := r.array(array)
	var hull lattice.Box
	g.Walk(func(loops []*stream.Loop, s *stream.Stream) {
		if s.Array != a.Name || writes && (s.Kind == stream.Load || s.Kind == stream.Reduce) {
			return
		}
		space := lattice.NewSpace()
		known := true
		for _, l := range loops {
			lo, hi := l.Range.Lo.Bind(values), l.Range.Hi.Bind(values)
			if l.Open || space.Declare(l.Var, lo, hi.Plus(-1), true) != nil {
				known = false
			}
		}
		box := all.Clone()
		for i, x := range s.Index {
			if !known {
				break
			}
			x = x.Bind(values)
			lo, ok := space.AtLeast(x)
			high, ok2 := space.AtLeast(x.Scale(-1))
			if ok && ok2 {
				box[a.Axes[i]] = lattice.Range{Lo: lo, Hi: -high + 1}
			}
		}
		if hull == nil {
			hull = box
		} else {
			hull = hull.Hull(box)
		}
	})
	if hull == nil {
		hull = all.Clone()
		for d := range hull {
			hull[d].Hi = hull[d].Lo
		}
	}
	return hull
}

// nearWork hands on what is known of a step without executing it: the transfer of
// spills that arrays have no room for, and the operations of last reductions.
func (r *runner) nearWork(ctx context.Context, p *lowering.Plan, step int, values map[string]int64) error {
	g, s := p.Graph, &p.Steps[step]
	r.report.NearSteps++
	switch s.Kind {
	case lowering.SpillStep, lowering.ReloadStep:
		if cmds := r.stash(p, step); cmds != nil {
			return r.emit(ctx, &Work{Kind: Executed, Name: "spill", Plan: p, Commands: cmds})
		}
		load, reg := s.Kind == lowering.ReloadStep, s.Src
		if load {
			reg = s.Dst
		}
		return r.emit(ctx, &Work{Kind: Transferred, Name: "spill", Bytes: r.spillBytes(g, s, reg), Moved: r.spillBytes(g, s, reg), Load: load})
	case lowering.FinalStep:
		n := &g.Nodes[s.Node]
		box, group, err := r.groups(g, n, values)
		if err != nil || box.Empty() {
			return err
		}
		inside, between := r.finalWalks(s, n, box, group)
		for _, w := range [][]tc.Walk{inside, between} {
			if err := r.emit(ctx, &Work{Kind: Finals, Walks: w}); err != nil {
				return err
			}
		}
		along := box[n.Dim]
		r.report.FinalOps += ((along.Hi-1)/group - along.Lo/group) * (box.Size() / along.Len())
	}
	return nil
}

// spillBytes returns the bytes of a word of all bitlines, which goes to memory, or of the
// elements of an array.
func (r *runner) spillBytes(g *tdfg.Graph, s *lowering.Step, reg lowering.Register) int64 {
	if s.Array > 0 {
		return int64(reg.Bits+7) / 8 * r.elements(g.Arrays[s.Array-1])
	}
	return int64(r.grid().Tiles() * r.grid().Bitlines() * reg.Bits / 8)
}

// elements returns how many an array or a view has.
func (r *runner) elements(a *tdfg.Array) int64 {
	n := int64(1)
	for _, size := range a.Bind(r.sizes).Size {
		k, _ := size.Const()
		n *= k
	}
	return n
}

// groups returns the box of the reduction that a Final ends, and how many neighbours
// it has taken together.
func (r *runner) groups(g *tdfg.Graph, n *tdfg.Node, values map[string]int64) (lattice.Box, int64, error) {
	reduce := &g.Nodes[n.Args[0]]
	box, err := reduce.Domain.Box(values)
	group := int64(reduce.Group)
	if group == 0 {
		group = int64(r.grid().Group(n.Dim))
	}
	return box, group, err
}
