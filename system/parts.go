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

// Parts is what statements do on arrays with more elements than there are bitlines, executed a
// part after another along the slowest dimension of the arrays (Infinity Stream, section 6, leaves
// that as future work): what is written at some coordinates there, from what is read for these, by
// all of the statements before the next part begins. Each part has graphs of its own on windows of
// the arrays, with a session; parts of the same shape share one, so that what was lowered is
// taken again.
type Parts struct {
	main   *Session
	body   []tdfg.Stmt
	graphs []*inParts
	dim    int
	arrays []*tdfg.Array   // of all graphs, each once
	fixed  map[string]bool // that each part has as a whole: those that are only broadcast along dim, and that no graph uses
	wrote  map[string]bool
	kept   map[string]*Session
	size   int64 // of a part, 0 until it is known
}

// inParts is a graph that is executed in parts.
type inParts struct {
	*tdfg.Graph
	wide []bool // nodes whose coordinates are those of the windows
}

// ErrNoParts is wrapped by the error of statements that cannot be executed in parts.
var ErrNoParts = errors.New("not in parts")

// Parts returns statements of the program for their execution in parts, if a graph of theirs is too large as a
// whole.
func (s *Session) Parts(body []tdfg.Stmt) (*Parts, error) {
	p := &Parts{main: s, body: body, dim: -1, fixed: map[string]bool{}, wrote: map[string]bool{}, kept: map[string]*Session{}}
	refuse := func(format string, args ...any) (*Parts, error) {
		return nil, fmt.Errorf("%w: %s", ErrNoParts, fmt.Sprintf(format, args...))
	}
	large := false
	for _, r := range (&tdfg.Program{Body: body}).Regions() {
		g := r.Graph
		p.graphs = append(p.graphs, &inParts{Graph: g})
		switch why := s.Why(g); {
		case why == nil:
		case errors.Is(why.Err, lowering.ErrTooLarge):
			large = true
		default:
			return refuse("%s", why.Text())
		}
		for _, o := range g.Outputs {
			if o.Array < 0 {
				return refuse("it has a scalar result")
			}
			a := g.Arrays[o.Array]
			if d := a.Axes[len(a.Axes)-1]; p.dim >= 0 && d != p.dim {
				return refuse("its results lie along different dimensions")
			} else {
				p.dim = d
			}
			p.wrote[a.Name] = true
		}
	}
	if !large {
		return refuse("the graph is not too large")
	}
	used := map[string]bool{}
	for _, g := range p.graphs {
		for i, a := range g.Arrays {
			if a.View != nil || a.Iota {
				return refuse("array %s is a view", a.Name)
			}
			if !slices.ContainsFunc(p.arrays, func(b *tdfg.Array) bool { return b.Name == a.Name }) {
				p.arrays = append(p.arrays, a)
			}
			if !uses(g.Graph, i) {
				continue
			}
			used[a.Name] = true
			k := slices.Index(a.Axes, p.dim)
			if k >= 0 && k < len(a.Axes)-1 {
				return refuse("array %s does not lie along the dimension of the results", a.Name)
			}
			p.fixed[a.Name] = p.fixed[a.Name] || k < 0
		}
	}
	for _, a := range p.arrays {
		p.fixed[a.Name] = p.fixed[a.Name] || !used[a.Name]
	}
	for again := true; again; {
		again = false
		for _, g := range p.graphs {
			more, err := p.frames(g)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrNoParts, err)
			}
			again = again || more
		}
	}
	return p, nil
}

// frames finds the nodes whose coordinates are those of windows. An array that is broadcast
// along the dimension becomes one that parts have as a whole, and all begins again.
func (p *Parts) frames(g *inParts) (again bool, err error) {
	g.wide = make([]bool, len(g.Nodes))
	from := make([]string, len(g.Nodes)) // the array that a node is made of, "" if there are several
	for i := range g.Nodes {
		n := &g.Nodes[i]
		switch {
		case n.Kind == tdfg.Stream || n.Kind == tdfg.Reduce || n.Kind == tdfg.Final:
			return false, fmt.Errorf("node %d is a %s", i, n.Kind)
		case n.Domain.Everywhere():
			continue
		case n.Kind == tdfg.Tensor:
			from[i] = g.Arrays[n.Array].Name
			g.wide[i] = !p.fixed[from[i]]
		case n.Kind == tdfg.Broadcast && n.Dim == p.dim:
			if g.wide[i] = true; g.wide[n.Args[0]] {
				name := from[n.Args[0]]
				if name == "" || p.fixed[name] {
					return false, fmt.Errorf("node %d broadcasts what was computed", i)
				}
				p.fixed[name] = true
				return true, nil
			}
		default:
			first := true
			for _, a := range n.Args {
				if g.Nodes[a].Domain.Everywhere() {
					continue
				}
				if !first && g.wide[a] != g.wide[i] {
					return false, fmt.Errorf("node %d has operands of parts and of the whole", i)
				}
				if first {
					from[i] = from[a]
				} else if from[i] != from[a] {
					from[i] = ""
				}
				g.wide[i], first = g.wide[a], false
			}
		}
	}
	for _, o := range g.Outputs {
		if name := g.Arrays[o.Array].Name; !g.wide[o.Node] || p.fixed[name] {
			return false, fmt.Errorf("array %s would be written by each part", name)
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

// maxParts bounds the parts of statements.
const maxParts = 1 << 12

// Each calls f for the parts in their order, for values of the symbols around the statements.
// The coordinates along the dimension of the parts must not depend on others.
func (p *Parts) Each(ctx context.Context, values map[string]int64, f func(*Part) error) error {
	var all lattice.Range
	for _, g := range p.graphs {
		for _, o := range g.Outputs {
			r, err := p.along(g, o.Node, values)
			if err != nil {
				return err
			}
			all = all.Hull(r)
		}
	}
	align := p.align()
	begin := all.Lo / align * align
	for n := int64(2); p.size == 0; n += max(1, n/2) {
		size := ((all.Hi-begin+n-1)/n + align - 1) / align * align
		if n > maxParts || size < 1 {
			return fmt.Errorf("%w: %s has none that fits", ErrNoParts, p.graphs[0].Name)
		}
		middle := begin + (all.Hi-begin)/size/2*size
		x, err := p.part(ctx, values, lattice.Range{Lo: middle, Hi: min(all.Hi, middle+size)}, align)
		if err != nil {
			return err
		}
		if why := x.why(); why == nil {
			p.size = size
		} else if !errors.Is(why.Err, lowering.ErrTooLarge) {
			return fmt.Errorf("%w: %s", ErrNoParts, why.Text())
		}
	}
	for lo := begin; lo < all.Hi; lo += p.size {
		x, err := p.part(ctx, values, lattice.Range{Lo: max(lo, all.Lo), Hi: min(all.Hi, lo+p.size)}, align)
		if err != nil {
			return err
		}
		if why := x.why(); why != nil {
			return fmt.Errorf("%w: %s", ErrNoParts, why.Text())
		}
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

// along is where a node has elements in the dimension of the parts.
func (p *Parts) along(g *inParts, id tdfg.NodeID, values map[string]int64) (r lattice.Range, err error) {
	d := g.Nodes[id].Domain[p.dim]
	if r.Lo, err = d.Lo.Eval(values); err == nil {
		r.Hi, err = d.Hi.Eval(values)
	}
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrNoParts, err)
	}
	return r, nil
}

// Worth is Eq. 2 of the paper for all parts together.
func (p *Parts) Worth(ctx context.Context, values map[string]int64) (sum Decision, err error) {
	err = p.Each(ctx, values, func(x *Part) error {
		return (&tdfg.Program{Body: x.Body}).Each(ctx, nil, func(g *tdfg.Graph, values map[string]int64) error {
			sum.Add(x.Session.Worth(g, values))
			return nil
		})
	})
	return sum, err
}

// why says why a part has no plan, nil if it has.
func (x *Part) why() *Reason {
	for _, r := range (&tdfg.Program{Body: x.Body}).Regions() {
		if why := x.Session.Why(r.Graph); why != nil {
			return why
		}
	}
	return nil
}

// align is what windows begin at multiples of, so that no line is in two.
func (p *Parts) align() int64 {
	const elems = 64 // in a line at most
	for _, a := range p.arrays {
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
	needs := map[*tdfg.Graph][]lattice.Range{}
	window := r
	for _, g := range p.graphs {
		need, err := p.needs(g, values, r)
		if err != nil {
			return nil, err
		}
		for i, n := range need {
			if g.Nodes[i].Kind == tdfg.Tensor && g.wide[i] {
				window = window.Hull(n)
			}
		}
		needs[g.Graph] = need
	}
	window.Lo = window.Lo / align * align
	window.Hi = (window.Hi + align - 1) / align * align
	x := &Part{First: map[string]int64{}}
	m := memory.New()
	m.Scalars = p.main.r.m.Scalars
	key := fmt.Sprint(r.Lo-window.Lo, r.Hi-window.Lo)
	arrays := map[string]*tdfg.Array{}
	program := &tdfg.Program{Name: p.graphs[0].Name}
	for _, a := range p.arrays {
		mem := *p.main.r.m.Arrays[a.Name]
		mem.Size = slices.Clone(mem.Size)
		if !p.fixed[a.Name] {
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
		program.Arrays = append(program.Arrays, b)
		arrays[a.Name] = b
		key += fmt.Sprint(mem.Size)
	}
	built := map[*tdfg.Graph]*tdfg.Graph{}
	for _, g := range p.graphs {
		scope := tdfg.Scope{Dims: g.Dims, Space: g.Space.Bind(values), Params: g.Params}
		for _, a := range g.Arrays {
			scope.Arrays = append(scope.Arrays, arrays[a.Name])
		}
		q, err := p.build(g, scope, values, needs[g.Graph], r, window.Lo)
		if err != nil {
			return nil, err
		}
		if len(q.Outputs) > 0 { // others write elsewhere
			built[g.Graph] = q
			key += q.String()
		}
	}
	program.Body = replace(p.body, built, values)
	s := p.kept[key]
	if s == nil {
		var err error
		if s, err = p.main.beside(ctx, program, m, nil); err != nil {
			return nil, err
		}
		p.kept[key] = s
	}
	s.r.m = m
	x.Session, x.Body = s, s.r.p.Body
	return x, nil
}

// replace puts other graphs in statements, those that have one.
func replace(body []tdfg.Stmt, graphs map[*tdfg.Graph]*tdfg.Graph, values map[string]int64) (list []tdfg.Stmt) {
	for _, st := range body {
		switch st := st.(type) {
		case *tdfg.Region:
			if g := graphs[st.Graph]; g != nil {
				list = append(list, &tdfg.Region{Graph: g, At: st.At})
			}
		case *tdfg.Loop:
			list = append(list, &tdfg.Loop{Var: st.Var, Lo: st.Lo.Bind(values), Hi: st.Hi.Bind(values), Step: st.Step, Body: replace(st.Body, graphs, values)})
		}
	}
	return list
}

// needs returns the coordinates of nodes along the dimension that a range of the results needs,
// those of windows.
func (p *Parts) needs(g *inParts, values map[string]int64, r lattice.Range) ([]lattice.Range, error) {
	need := make([]lattice.Range, len(g.Nodes))
	join := func(id tdfg.NodeID, x lattice.Range) error {
		if !g.wide[id] || x.Lo >= x.Hi {
			return nil
		}
		all, err := p.along(g, id, values)
		if err != nil {
			return err
		}
		need[id] = need[id].Hull(x.Intersect(all))
		return nil
	}
	for _, o := range g.Outputs {
		if err := join(o.Node, r); err != nil {
			return nil, err
		}
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := &g.Nodes[i]
		x := need[i]
		if n.Kind == tdfg.Tensor && p.wrote[g.Arrays[n.Array].Name] && x.Lo < x.Hi && (x.Lo < r.Lo || x.Hi > r.Hi) {
			return nil, fmt.Errorf("%w: it reads elements of %s that other parts write", ErrNoParts, g.Arrays[n.Array].Name)
		}
		if n.Kind == tdfg.Move && n.Dim == p.dim {
			d, err := n.Dist.Eval(values)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrNoParts, err)
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

// build makes the graph of a part on its windows, which begin at a coordinate. It has no outputs
// where it writes nothing there.
func (p *Parts) build(g *inParts, scope tdfg.Scope, values map[string]int64, need []lattice.Range, r lattice.Range, first int64) (*tdfg.Graph, error) {
	b := tdfg.NewBuilder(g.Name, scope)
	number := make([]tdfg.NodeID, len(g.Nodes))
	for i := range g.Nodes {
		number[i] = tdfg.None
		n := g.Nodes[i]
		if g.wide[i] && need[i].Lo >= need[i].Hi {
			continue // none of the part's results needs it
		}
		n.Args = nil
		for _, a := range g.Nodes[i].Args {
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
			if g.wide[i] {
				n.Rect[p.dim] = inside(need[i])
			}
		case n.Kind == tdfg.Broadcast && n.Dim == p.dim:
			at := g.Nodes[g.Nodes[i].Args[0]].Domain[p.dim].Lo.Bind(values)
			n.Dist, n.Count = lattice.Const(need[i].Lo-first).Sub(at), lattice.Const(need[i].Hi-need[i].Lo)
		case n.Kind == tdfg.Shrink && n.Dim == p.dim && g.wide[i]:
			n.Range = inside(need[i])
		}
		number[i] = b.Add(n)
	}
	for _, o := range g.Outputs {
		id := number[o.Node]
		if id == tdfg.None {
			continue
		}
		want := need[o.Node].Intersect(r)
		rows := lattice.Interval{Lo: lattice.Const(want.Lo - first), Hi: lattice.Const(want.Hi - first)}
		if !b.Node(id).Domain[p.dim].Equal(rows) {
			id = b.Shrink(id, p.dim, rows)
		}
		b.Store(id, o.Array)
	}
	return b.Finish()
}
