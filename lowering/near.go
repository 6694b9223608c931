package lowering

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// NearPlan is a graph as streams: what executes it where its tensors are not on
// bitlines (Infinity Stream, section 4.1, computing near the memory). Nodes that only
// move are subscripts; a computation is an expression of the stream that needs it,
// unless several need it. It holds for all values of symbols and scalars.
type NearPlan struct {
	Graph  *tdfg.Graph
	Phases []Phase // in the order of their execution
}

// PhaseKind is what a phase does.
type PhaseKind uint8

// The kinds of phases.
const (
	// FillPhase runs streams that compute every element of a buffer.
	FillPhase PhaseKind = iota
	// ReducePhase reduces the elements in the buffer of the operand of a Reduce to one
	// point, as the Reduce and its Final say, into the buffer of the Final.
	ReducePhase
	// PlacePhase runs streams that put an operand of the streams of Node to the elements of
	// the copy of an array that these work on.
	PlacePhase
	// StreamPhase runs the streams of Node.
	StreamPhase
	// StorePhase runs streams that compute an output into its array, which nothing reads
	// any more.
	StorePhase
)

var phaseNames = [...]string{"fill", "reduce", "place", "stream", "store"}

func (k PhaseKind) String() string { return phaseNames[k] }

// Phase is a step of a NearPlan.
type Phase struct {
	Kind    PhaseKind
	Node    tdfg.NodeID
	Output  int    // of a StorePhase
	Array   string // of a PlacePhase: the copy that is written
	Program *stream.Program
	Streams *stream.Graph // of Program

	// Of the streams: nodes whose values are parameters, as they are the same everywhere, and
	// nodes whose results are read.
	Uniform, Reads []tdfg.NodeID
}

// Names in the streams of a NearPlan have a dot where they are not of the program, so
// that they differ from all of its names. UniformName is the parameter that has the
// value of a node, BufferName the array with its result.
func UniformName(id tdfg.NodeID) string { return fmt.Sprintf("uniform.%d", id) }
func BufferName(id tdfg.NodeID) string  { return fmt.Sprintf("node.%d", id) }

// TargetName is the array that a FillPhase, a PlacePhase or a StorePhase writes.
const TargetName = "target."

// ExtentSymbol returns the symbol of the elements of an array of streams in a
// dimension, whose value depends on symbols in ways that are not affine.
func ExtentSymbol(array string, dim int) string { return fmt.Sprintf("extent.%d.%s", dim, array) }

// InPlace reports whether an output is computed into its array at once: nothing reads
// the array but this computation, and that at the point that it writes.
func (p *NearPlan) InPlace(output int) bool {
	return slices.ContainsFunc(p.Phases, func(f Phase) bool { return f.Kind == StorePhase && f.Output == output })
}

// NewNearPlan makes the streams of a graph.
func NewNearPlan(g *tdfg.Graph) (*NearPlan, error) {
	p := &nearPlanner{g: g, plan: &NearPlan{Graph: g}, uses: make([]int, len(g.Nodes)), need: make([]bool, len(g.Nodes)), same: g.SameStreams()}
	if err := p.run(); err != nil {
		return nil, fmt.Errorf("lowering: %s: near the memory: %w", g.Name, err)
	}
	return p.plan, nil
}

type nearPlanner struct {
	g    *tdfg.Graph
	plan *NearPlan
	uses []int
	need []bool // by outputs
	same []tdfg.NodeID
}

func (p *nearPlanner) run() error {
	g := p.g
	for _, o := range g.Outputs {
		p.need[o.Node] = true
		p.uses[o.Node]++
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		if !p.need[i] {
			continue
		}
		for _, a := range g.Nodes[i].Args {
			p.need[a] = true
			p.uses[a]++
		}
	}
	for i := range g.Nodes {
		if !p.need[i] {
			continue
		}
		if err := p.node(tdfg.NodeID(i)); err != nil {
			return fmt.Errorf("node %d: %s: %w", i, g.Nodes[i].Kind, err)
		}
	}
	for i, o := range g.Outputs {
		n := &g.Nodes[o.Node]
		if o.Array < 0 || p.buffered(o.Node) || n.Kind == tdfg.Stream {
			continue
		}
		kind := FillPhase
		if p.alone(i) {
			kind = StorePhase
		}
		if err := p.streams(Phase{Kind: kind, Node: o.Node, Output: i}); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

// buffered reports whether the result of a node is computed once, into a buffer.
func (p *nearPlanner) buffered(id tdfg.NodeID) bool {
	n := &p.g.Nodes[id]
	if n.Domain.Everywhere() {
		return false
	}
	switch n.Kind {
	case tdfg.Final:
		return true
	case tdfg.Compute, tdfg.Convert:
		// A bool is of no type that memory has, and what it is computed from is near.
		if p.uses[id] > 1 && n.Type != scalar.Bool {
			return true
		}
	}
	// The operand of a reduction, and a point that becomes a scalar.
	for i := range p.g.Nodes {
		if m := &p.g.Nodes[i]; p.need[i] && m.Kind == tdfg.Reduce && m.Args[0] == id {
			return true
		}
	}
	return slices.ContainsFunc(p.g.Outputs, func(o tdfg.Output) bool { return o.Node == id && o.Array < 0 })
}

// node adds the phases of a node.
func (p *nearPlanner) node(id tdfg.NodeID) error {
	n := &p.g.Nodes[id]
	switch {
	case n.Kind == tdfg.Stream:
		if p.same[id] != id {
			return nil
		}
		for i, name := range n.Stream.Args {
			a := n.Args[i]
			if p.g.ArrayIndex(name) < 0 || p.g.Nodes[a].Domain.Everywhere() {
				continue
			}
			if err := p.streams(Phase{Kind: PlacePhase, Node: a, Array: name}); err != nil {
				return err
			}
		}
		prog, err := stream.Compile(n.Stream.Graph)
		if err != nil {
			return err
		}
		p.plan.Phases = append(p.plan.Phases, Phase{Kind: StreamPhase, Node: id, Program: prog, Streams: n.Stream.Graph})
	case n.Kind == tdfg.Final:
		if p.g.Nodes[n.Args[0]].Kind != tdfg.Reduce {
			return fmt.Errorf("of a %s, expected a reduce", p.g.Nodes[n.Args[0]].Kind)
		}
		p.plan.Phases = append(p.plan.Phases, Phase{Kind: ReducePhase, Node: id})
	case n.Kind != tdfg.Reduce && p.buffered(id):
		return p.streams(Phase{Kind: FillPhase, Node: id, Output: -1})
	}
	return nil
}

// alone reports whether an output may be computed into its array at once.
func (p *nearPlanner) alone(output int) bool {
	g := p.g
	array := g.Outputs[output].Array
	for i, o := range g.Outputs {
		if i != output && o.Array == array {
			return false
		}
	}
	// What is read by streams was read when they ran; a phase that comes later must not
	// read it, nor this one at other points.
	for i := range g.Outputs {
		o := &g.Outputs[i]
		if o.Array < 0 || p.buffered(o.Node) || i < output && i != output {
			continue
		}
		if !p.reads(o.Node, array, i == output) {
			return false
		}
	}
	return true
}

// reads reports whether the expression of a node reads an array not at all, or, with
// same, only at the point that is computed.
func (p *nearPlanner) reads(id tdfg.NodeID, array int, same bool) bool {
	n := &p.g.Nodes[id]
	switch {
	case n.Kind == tdfg.Tensor && n.Array == array:
		return same
	case n.Kind == tdfg.Tensor:
		return p.g.Apart(n.Array, array)
	case n.Domain.Everywhere(), n.Kind == tdfg.Stream:
		return true
	case n.Kind == tdfg.Move, n.Kind == tdfg.Broadcast:
		same = false
	}
	for _, a := range n.Args {
		if !p.buffered(a) && !p.reads(a, array, same) {
			return false
		}
	}
	return true
}

// inMemory8 is the type of the elements of a buffer of bools.
const inMemory8 = scalar.Int8

// nearStreams makes the stream graph of a phase.
type nearStreams struct {
	p     *nearPlanner
	phase *Phase
	graph *stream.Graph
	body  []stream.Stmt // of the innermost loop
	made  map[string]*stream.Expr
}

// streams adds a phase that computes all points of a node.
func (p *nearPlanner) streams(f Phase) error {
	g := p.g
	n := &g.Nodes[f.Node]
	symbols := g.Space.Clone()
	s := &nearStreams{p: p, phase: &f, graph: &stream.Graph{Name: fmt.Sprintf("near.%s.%d", f.Kind, f.Node), Symbols: symbols}, made: map[string]*stream.Expr{}}
	vars := make([]string, g.Dims)
	subs := make([]lattice.Expr, g.Dims)
	for d := range vars {
		vars[d] = fmt.Sprintf("i.%d", d)
		subs[d] = lattice.Sym(vars[d])
	}
	domain := n.Domain
	if domain.Everywhere() { // of an output that is the same everywhere
		domain = g.ArrayRect(g.Outputs[f.Output].Array)
	}
	array := -1
	var index []lattice.Expr
	switch f.Kind {
	case FillPhase:
		for d := range subs {
			index = append(index, subs[d].Sub(domain[d].Lo))
		}
	case StorePhase:
		array = g.Outputs[f.Output].Array
	case PlacePhase:
		array = g.ArrayIndex(f.Array)
	}
	if array >= 0 {
		index = along(g.Arrays[array], subs)
	}
	var typ scalar.Type
	if typ = n.Type; array >= 0 {
		typ = g.Arrays[array].Type
	}
	s.array(TargetName, typ, len(index))
	value := s.elem(f.Node, subs)
	if typ == scalar.Bool {
		value = stream.Convert(inMemory8, value)
	}
	var inner []stream.Stmt
	inner = append(s.body, &stream.Stream{Name: "y.", Kind: stream.Store, Array: TargetName, Index: index, Value: value})
	for d := range vars {
		inner = []stream.Stmt{&stream.Loop{Var: vars[d], Range: domain[d], Body: inner}}
	}
	s.graph.Body = inner
	prog, err := stream.Compile(s.graph)
	if err != nil {
		return err
	}
	f.Program, f.Streams = prog, s.graph
	p.plan.Phases = append(p.plan.Phases, f)
	return nil
}

// array declares an array of the streams.
func (s *nearStreams) array(name string, t scalar.Type, dims int) {
	if s.graph.Array(name) != nil {
		return
	}
	if t == scalar.Bool {
		t = inMemory8
	}
	a := stream.Array{Name: name, Type: t}
	for d := range dims {
		sym := ExtentSymbol(name, d)
		if err := s.graph.Symbols.Declare(sym, lattice.Const(0), lattice.Expr{}, false); err != nil {
			panic(err) // the name has not been declared, and 0 has no symbols
		}
		a.Size = append(a.Size, lattice.Sym(sym))
	}
	s.graph.Arrays = append(s.graph.Arrays, a)
}

// load returns the element of an array, which is read once in each iteration.
func (s *nearStreams) load(array string, index []lattice.Expr) *stream.Expr {
	name := fmt.Sprintf("x.%d", len(s.body))
	s.body = append(s.body, &stream.Stream{Name: name, Kind: stream.Load, Array: array, Index: index})
	return stream.Ref(name)
}

// elem returns the element of a node at a point.
func (s *nearStreams) elem(id tdfg.NodeID, at []lattice.Expr) *stream.Expr {
	g := s.p.g
	n := &g.Nodes[id]
	if n.Domain.Everywhere() {
		if !slices.Contains(s.phase.Uniform, id) {
			s.phase.Uniform = append(s.phase.Uniform, id)
			s.graph.Params = append(s.graph.Params, stream.Param{Name: UniformName(id), Type: n.Type})
		}
		return stream.Ref(UniformName(id))
	}
	var key strings.Builder
	fmt.Fprint(&key, id)
	for _, x := range at {
		key.WriteString("," + x.String())
	}
	if x, ok := s.made[key.String()]; ok {
		return x
	}
	x := s.make(id, n, at)
	s.made[key.String()] = x
	return x
}

func (s *nearStreams) make(id tdfg.NodeID, n *tdfg.Node, at []lattice.Expr) *stream.Expr {
	g := s.p.g
	self := s.phase.Node == id && (s.phase.Kind == FillPhase && s.phase.Output < 0)
	switch {
	case n.Kind == tdfg.Stream:
		a := g.ArrayIndex(n.Stream.Result)
		return s.load(s.read(id, len(g.Arrays[a].Axes)), along(g.Arrays[a], at))
	case s.p.buffered(id) && !self:
		index := make([]lattice.Expr, len(at))
		for d := range at {
			index[d] = at[d].Sub(n.Domain[d].Lo)
		}
		x := s.load(s.read(id, len(at)), index)
		if n.Type == scalar.Bool {
			x = stream.Convert(scalar.Bool, x)
		}
		return x
	}
	switch n.Kind {
	case tdfg.Tensor:
		if a := g.Arrays[n.Array]; a.Iota {
			return coordinate(a.Type, at[a.Axes[0]])
		}
		in := g.Arrays[g.Memory(n.Array)]
		s.array(in.Name, in.Type, len(in.Size))
		return s.load(in.Name, along(g.Arrays[n.Array], at))
	case tdfg.Compute, tdfg.Convert:
		args := make([]*stream.Expr, len(n.Args))
		for i, a := range n.Args {
			args[i] = s.elem(a, at)
		}
		if n.Kind == tdfg.Convert {
			return stream.Convert(n.Type, args[0])
		}
		return stream.Apply(n.Op, args...)
	case tdfg.Move:
		from := slices.Clone(at)
		from[n.Dim] = at[n.Dim].Sub(n.Dist)
		return s.elem(n.Args[0], from)
	case tdfg.Broadcast:
		from := slices.Clone(at)
		from[n.Dim] = g.Nodes[n.Args[0]].Domain[n.Dim].Lo
		return s.elem(n.Args[0], from)
	}
	return s.elem(n.Args[0], at) // a shrink
}

// coordinate returns a coordinate as a number of a type.
func coordinate(t scalar.Type, x lattice.Expr) *stream.Expr {
	sum := stream.Int(scalar.Int64, x.Offset())
	for _, name := range x.Symbols() {
		sum = stream.Apply(scalar.Add, sum, stream.Apply(scalar.Mul, stream.Int(scalar.Int64, x.Coef(name)), stream.Ref(name)))
	}
	if t == scalar.Int64 {
		return sum
	}
	return stream.Convert(t, sum)
}

// read notes that streams read the result of a node.
func (s *nearStreams) read(id tdfg.NodeID, dims int) string {
	name := BufferName(id)
	if !slices.Contains(s.phase.Reads, id) {
		s.phase.Reads = append(s.phase.Reads, id)
		s.array(name, s.p.g.Nodes[id].Type, dims)
	}
	return name
}

// along returns the subscripts in memory of the element of an array at a point.
func along(a *tdfg.Array, at []lattice.Expr) []lattice.Expr {
	index := make([]lattice.Expr, len(a.Axes))
	for j, d := range a.Axes {
		index[j] = at[d]
	}
	if a.View == nil {
		return index
	}
	list := make([]lattice.Expr, len(a.View.Index))
	for d, x := range a.View.Index {
		for j, coordinate := range index {
			x = x.Subst(tdfg.Coord(j), coordinate)
		}
		list[d] = x
	}
	return list
}
