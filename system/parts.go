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
)

// Parts is a graph with more elements than arrays have bitlines, which is executed a part after
// another along the slowest dimension of its arrays (Infinity Stream, section 6, leaves that as
// future work): what it writes at some coordinates there, from what it reads for these. Each
// part is a graph of its own on windows of the arrays, with a session; parts of the same shape
// share one, so that what was lowered is taken again.
type Parts struct {
	main  *Session
	g     *tdfg.Graph
	dim   int
	fixed []bool // arrays that each part has as a whole: those that are only broadcast along dim
	wide  []bool // nodes whose coordinates are those of the windows
	kept  map[string]*Session
	size  int64 // of a part, 0 until it is known
}

// ErrNoParts is wrapped by the error of a graph that cannot be executed in parts.
var ErrNoParts = errors.New("not in parts")

// Parts returns a graph for its execution in parts, if it is too large as a whole.
func (s *Session) Parts(g *tdfg.Graph) (*Parts, error) {
	p := &Parts{main: s, g: g, dim: -1, fixed: make([]bool, len(g.Arrays)), kept: map[string]*Session{}}
	refuse := func(format string, args ...any) (*Parts, error) {
		return nil, fmt.Errorf("%w: %s", ErrNoParts, fmt.Sprintf(format, args...))
	}
	if why := s.Why(g); why == nil || !errors.Is(why.Err, lowering.ErrTooLarge) {
		return refuse("the graph is not too large")
	}
	for _, o := range g.Outputs {
		if o.Array < 0 {
			return refuse("it has a scalar result")
		}
		axes := g.Arrays[o.Array].Axes
		if d := axes[len(axes)-1]; p.dim >= 0 && d != p.dim {
			return refuse("its results lie along different dimensions")
		} else {
			p.dim = d
		}
	}
	for i, a := range g.Arrays {
		if a.View != nil || a.Iota {
			return refuse("array %s is a view", a.Name)
		}
		if !uses(g, i) {
			p.fixed[i] = true
			continue
		}
		k := slices.Index(a.Axes, p.dim)
		if p.fixed[i] = k < 0; k >= 0 && k < len(a.Axes)-1 {
			return refuse("array %s does not lie along the dimension of the results", a.Name)
		}
	}
	for {
		again, err := p.frames()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoParts, err)
		}
		if !again {
			return p, nil
		}
	}
}

// frames finds the nodes whose coordinates are those of windows. An array that is broadcast
// along the dimension becomes one that parts have as a whole, and all begins again.
func (p *Parts) frames() (again bool, err error) {
	g := p.g
	p.wide = make([]bool, len(g.Nodes))
	from := make([]int, len(g.Nodes)) // the array that a node is made of, -1 if there are several
	for i := range g.Nodes {
		n := &g.Nodes[i]
		from[i] = -1
		switch {
		case n.Kind == tdfg.Stream || n.Kind == tdfg.Reduce || n.Kind == tdfg.Final:
			return false, fmt.Errorf("node %d is a %s", i, n.Kind)
		case n.Domain.Everywhere():
			continue
		case n.Kind == tdfg.Tensor:
			p.wide[i], from[i] = !p.fixed[n.Array], n.Array
		case n.Kind == tdfg.Broadcast && n.Dim == p.dim:
			if p.wide[i] = true; p.wide[n.Args[0]] {
				k := from[n.Args[0]]
				if k < 0 || p.fixed[k] {
					return false, fmt.Errorf("node %d broadcasts what was computed", i)
				}
				p.fixed[k] = true
				return true, nil
			}
		default:
			first := true
			for _, a := range n.Args {
				if g.Nodes[a].Domain.Everywhere() {
					continue
				}
				if !first && p.wide[a] != p.wide[i] {
					return false, fmt.Errorf("node %d has operands of parts and of the whole", i)
				}
				if first {
					from[i] = from[a]
				} else if from[i] != from[a] {
					from[i] = -1
				}
				p.wide[i], first = p.wide[a], false
			}
		}
	}
	for _, o := range g.Outputs {
		if !p.wide[o.Node] || p.fixed[o.Array] {
			return false, fmt.Errorf("array %s would be written by each part", g.Arrays[o.Array].Name)
		}
	}
	return false, nil
}

// Part is a part: its session, with windows of the arrays, what it executes, and where in the
// memory of arrays the windows begin, in elements.
type Part struct {
	Session *Session
	Body    []tdfg.Stmt
	First   map[string]int64
}

// maxParts bounds the parts of a graph.
const maxParts = 1 << 12

// Each calls f for the parts of the graph in their order, for values of the symbols.
func (p *Parts) Each(ctx context.Context, values map[string]int64, f func(*Part) error) error {
	var all lattice.Range
	for k, o := range p.g.Outputs {
		box, err := p.g.Nodes[o.Node].Domain.Box(values)
		if err != nil {
			return err
		}
		if k == 0 {
			all = box[p.dim]
		}
		all = lattice.Range{Lo: min(all.Lo, box[p.dim].Lo), Hi: max(all.Hi, box[p.dim].Hi)}
	}
	align := p.align()
	begin := all.Lo / align * align
	for n := int64(2); p.size == 0; n += max(1, n/2) {
		size := ((all.Hi-begin+n-1)/n + align - 1) / align * align
		if n > maxParts || size < 1 {
			return fmt.Errorf("%w: %s has none that fits", ErrNoParts, p.g.Name)
		}
		middle := begin + (all.Hi-begin)/size/2*size
		x, err := p.part(ctx, values, lattice.Range{Lo: middle, Hi: min(all.Hi, middle+size)}, align)
		if err != nil {
			return err
		}
		if x.Session.r.plans[x.graph()] != nil {
			p.size = size
		} else if why := x.Session.Why(x.graph()); why == nil || !errors.Is(why.Err, lowering.ErrTooLarge) {
			return fmt.Errorf("%w: %s", ErrNoParts, why.Text())
		}
	}
	for lo := begin; lo < all.Hi; lo += p.size {
		x, err := p.part(ctx, values, lattice.Range{Lo: max(lo, all.Lo), Hi: min(all.Hi, lo+p.size)}, align)
		if err != nil {
			return err
		}
		if why := x.Session.Why(x.graph()); why != nil {
			return fmt.Errorf("%w: %s", ErrNoParts, why.Text())
		}
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

// Worth is Eq. 2 of the paper for all parts together.
func (p *Parts) Worth(ctx context.Context, values map[string]int64) (sum Decision, err error) {
	err = p.Each(ctx, values, func(x *Part) error {
		d := x.Session.Worth(x.graph(), nil)
		sum.Elements += d.Elements
		sum.Latencies += d.Latencies
		sum.Nodes += d.Nodes
		sum.JIT += d.JIT
		sum.Peak = d.Peak
		return nil
	})
	return sum, err
}

func (x *Part) graph() *tdfg.Graph { return x.Body[0].(*tdfg.Region).Graph }

// align is what windows begin at multiples of, so that no line is in two.
func (p *Parts) align() int64 {
	const elems = 64 // in a line at most
	for _, a := range p.g.Arrays {
		if mem := p.main.r.m.Arrays[a.Name]; len(a.Axes) == 1 || rowOf(mem)*int64(a.Type.Bytes())%int64(p.main.r.opt.Machine.L3.LineBytes) != 0 {
			return elems
		}
	}
	return 1
}

// rowOf is how many elements an array has for a coordinate of its slowest dimension.
func rowOf(a *memory.Array) int64 { return a.Len() / a.Size[len(a.Size)-1] }

// part makes the part that writes a range of coordinates.
func (p *Parts) part(ctx context.Context, values map[string]int64, r lattice.Range, align int64) (*Part, error) {
	need, err := p.needs(values, r)
	if err != nil {
		return nil, err
	}
	window := r
	for i, n := range need {
		if p.g.Nodes[i].Kind == tdfg.Tensor && p.wide[i] && n.Lo < n.Hi {
			window = lattice.Range{Lo: min(window.Lo, n.Lo), Hi: max(window.Hi, n.Hi)}
		}
	}
	window.Lo = window.Lo / align * align
	window.Hi = (window.Hi + align - 1) / align * align
	scope := tdfg.Scope{Dims: p.g.Dims, Space: lattice.NewSpace(), Params: p.g.Params}
	x := &Part{First: map[string]int64{}}
	m := memory.New()
	m.Scalars = p.main.r.m.Scalars
	key := fmt.Sprint(r.Lo-window.Lo, r.Hi-window.Lo)
	for i, a := range p.g.Arrays {
		mem := *p.main.r.m.Arrays[a.Name]
		mem.Size = slices.Clone(mem.Size)
		if !p.fixed[i] {
			last := len(mem.Size) - 1
			row, to := rowOf(&mem), min(window.Hi, mem.Size[last])
			if to <= window.Lo {
				return nil, fmt.Errorf("%w: array %s ends before a part", ErrNoParts, a.Name)
			}
			mem.Size[last] = to - window.Lo
			mem.Elems = mem.Elems[window.Lo*row : to*row]
			mem.Base = mem.Address(window.Lo * row)
			x.First[a.Name] = window.Lo * row
		}
		m.Arrays[a.Name] = &mem
		b := &tdfg.Array{Name: a.Name, Type: a.Type, Axes: a.Axes}
		for _, n := range mem.Size {
			b.Size = append(b.Size, lattice.Const(n))
		}
		scope.Arrays = append(scope.Arrays, b)
		key += fmt.Sprint(mem.Size)
	}
	g, err := p.build(scope, values, need, r, window.Lo)
	if err != nil {
		return nil, err
	}
	key += g.String()
	s := p.kept[key]
	if s == nil {
		program := &tdfg.Program{Name: p.g.Name, Arrays: scope.Arrays, Body: []tdfg.Stmt{&tdfg.Region{Graph: g}}}
		main := p.main.r
		sub := newRunner(program, nil, m, main.opt)
		sub.host, sub.report = main.host, main.report
		if err := sub.prepare(ctx); err != nil {
			return nil, err
		}
		main.windows = append(main.windows, sub)
		s = &Session{sub}
		p.kept[key] = s
	}
	s.r.m = m
	x.Session, x.Body = s, s.r.p.Body
	return x, nil
}

// needs returns the coordinates of nodes along the dimension that a range of the results needs,
// those of windows.
func (p *Parts) needs(values map[string]int64, r lattice.Range) ([]lattice.Range, error) {
	g := p.g
	need := make([]lattice.Range, len(g.Nodes))
	join := func(id tdfg.NodeID, x lattice.Range) error {
		if !p.wide[id] || x.Lo >= x.Hi {
			return nil
		}
		box, err := g.Nodes[id].Domain.Box(values)
		if err != nil {
			return err
		}
		if x = x.Intersect(box[p.dim]); x.Lo >= x.Hi {
			return nil
		}
		if n := need[id]; n.Lo < n.Hi {
			x = lattice.Range{Lo: min(x.Lo, n.Lo), Hi: max(x.Hi, n.Hi)}
		}
		need[id] = x
		return nil
	}
	written := map[int]bool{}
	for _, o := range g.Outputs {
		written[o.Array] = true
		if err := join(o.Node, r); err != nil {
			return nil, err
		}
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := &g.Nodes[i]
		x := need[i]
		if n.Kind == tdfg.Tensor && written[n.Array] && x.Lo < x.Hi && (x.Lo < r.Lo || x.Hi > r.Hi) {
			return nil, fmt.Errorf("%w: it reads elements of %s that other parts write", ErrNoParts, g.Arrays[n.Array].Name)
		}
		if n.Kind == tdfg.Move && n.Dim == p.dim {
			d, err := n.Dist.Eval(values)
			if err != nil {
				return nil, err
			}
			x = lattice.Range{Lo: x.Lo - d, Hi: x.Hi - d}
		}
		for _, a := range n.Args {
			if err := join(a, x); err != nil {
				return nil, err
			}
		}
	}
	return need, nil
}

// build makes the graph of a part on its windows, which begin at a coordinate.
func (p *Parts) build(scope tdfg.Scope, values map[string]int64, need []lattice.Range, r lattice.Range, first int64) (*tdfg.Graph, error) {
	b := tdfg.NewBuilder(p.g.Name, scope)
	number := make([]tdfg.NodeID, len(p.g.Nodes))
	for i := range p.g.Nodes {
		number[i] = tdfg.None
		n := p.g.Nodes[i]
		if p.wide[i] && need[i].Lo >= need[i].Hi {
			continue // none of the part's results needs it
		}
		n.Args = nil
		for _, a := range p.g.Nodes[i].Args {
			n.Args = append(n.Args, number[a])
		}
		if slices.Contains(n.Args, tdfg.None) {
			return nil, fmt.Errorf("%w: node %d has an operand outside of the part", ErrNoParts, i)
		}
		inside := func(x lattice.Range) lattice.Interval {
			return lattice.Interval{Lo: lattice.Const(x.Lo - first), Hi: lattice.Const(x.Hi - first)}
		}
		n.Dist, n.Count = n.Dist.Bind(values), n.Count.Bind(values)
		n.Range = lattice.Interval{Lo: n.Range.Lo.Bind(values), Hi: n.Range.Hi.Bind(values)}
		if n.Index != nil {
			x := n.Index.Bind(values)
			n.Index = &x
		}
		switch {
		case n.Kind == tdfg.Tensor:
			n.Rect = slices.Clone(n.Rect)
			for d, x := range n.Rect {
				n.Rect[d] = lattice.Interval{Lo: x.Lo.Bind(values), Hi: x.Hi.Bind(values)}
			}
			if p.wide[i] {
				n.Rect[p.dim] = inside(need[i])
			}
		case n.Kind == tdfg.Broadcast && n.Dim == p.dim:
			box, err := p.g.Nodes[p.g.Nodes[i].Args[0]].Domain.Box(values)
			if err != nil {
				return nil, err
			}
			n.Dist, n.Count = lattice.Const(need[i].Lo-first-box[p.dim].Lo), lattice.Const(need[i].Hi-need[i].Lo)
		case n.Kind == tdfg.Shrink && n.Dim == p.dim && p.wide[i]:
			n.Range = inside(need[i])
		}
		number[i] = b.Add(n)
	}
	for _, o := range p.g.Outputs {
		id := number[o.Node]
		if id == tdfg.None {
			continue
		}
		want := need[o.Node].Intersect(r)
		box, err := b.Node(id).Domain.Box(nil)
		if err != nil {
			return nil, errors.Join(err, b.Err())
		}
		if box[p.dim].Lo != want.Lo-first || box[p.dim].Hi != want.Hi-first {
			id = b.Shrink(id, p.dim, lattice.Interval{Lo: lattice.Const(want.Lo - first), Hi: lattice.Const(want.Hi - first)})
		}
		b.Store(id, o.Array)
	}
	return b.Finish()
}
