package nearstream

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// Limits of the hardware (table V and section IV.D).
const (
	MaxStreams = 12 // of a core
	MaxInputs  = 8  // of a computation: other streams and values that do not change
)

// Address is the address pattern of a stream.
type Address uint8

// The address patterns (table II; whether a computation has several operands is apart).
const (
	NoPattern      Address = iota
	Affine                 // in the variables of up to three loops
	Indirect               // follows from the value of one other stream
	PointerChasing         // follows from what was read at the last one
)

var addressNames = [...]string{"none", "affine", "indirect", "pointer-chasing"}

func (a Address) String() string { return addressNames[a] }

// Place is where a stream can be executed.
type Place uint8

// The places.
const (
	InCore      Place = iota // nothing of it leaves the core
	AddressNear              // its addresses are made near the L3; data goes to the core
	Near                     // it computes, stores or feeds others near the L3
)

var placeNames = [...]string{"core", "address near L3", "near L3"}

func (p Place) String() string { return placeNames[p] }

// Plan is what the compiler found in a function.
type Plan struct {
	Graph   *stream.Graph
	Streams []*Stream // in the order of the program
	Loops   []*Loop   // that have streams in their bodies

	of map[*stream.Stream]*Stream
	// computes has the stream that computes a value of the graph without an access.
	computes map[*stream.Stream]*Stream
}

// Stream is a sequence of accesses that is configured at once, or a reduction.
type Stream struct {
	Name    string
	Kind    stream.Kind
	Address Address
	Array   string
	// Parts are the accesses of the graph in it: one, or several to the same element or the
	// same structure. A reduction without an element of its own has its value.
	Parts []*stream.Stream
	Loop  *Loop
	Dims  int // loops that its address goes through, 1 to stream.MaxDims
	Base  *Stream
	// Inputs are streams whose values its computation, condition or length takes.
	Inputs []*Stream
	Atomic bool
	// Invariants is how many values that do not change in the loop its computation takes.
	Invariants int
	// Ops are the operations that are computed with it.
	Ops []*stream.Expr
	// Join is the operation on the value so far of a reduction over an indirect stream, so that
	// banks can reduce in parts; NoOp for others.
	Join scalar.Op
	// Element is what it reads or writes, Result what it sends to the core in each iteration;
	// Invalid for nothing. Final says that the core takes a value after the loop.
	Element, Result scalar.Type
	Final           bool
	Conditional     bool

	Place Place
	Why   string // why its place is not better; "" if it is Near
	nodes []*node
	// simple says that each operation is one of a cycle.
	simple bool
}

// PEOperations is how many operations of a cycle the PE of a stream engine does for one element. The
// paper says that the computations of graphs and pointers are simple enough for it, but for those of
// scores, which are two of floats (section VII.C), and no number: as many as a function has inputs.
const PEOperations = MaxInputs

// OnPE reports whether the PE of the stream engine can do the computation: what a type has a name
// for, or a few operations on integers, one in a cycle.
func (s *Stream) OnPE() bool { return s.Scalar() || s.simple && len(s.Ops) <= PEOperations }

// Scalar reports whether a type has a name for the computation: at most one operation, and no
// division or root (section IV.D). Others are functions, whose pointer is in the configuration.
func (s *Stream) Scalar() bool {
	if len(s.Ops) > 1 {
		return false
	}
	for _, x := range s.Ops {
		if x.Op == scalar.Div || x.Op == scalar.Rem || x.Op == scalar.Sqrt {
			return false
		}
	}
	return true
}

// MultiOperand reports whether the computation takes values of other streams than the one
// that its address follows from.
func (s *Stream) MultiOperand() bool {
	for _, in := range s.Inputs {
		if in != s.Base && in != s {
			return len(s.Ops) > 0 || s.Kind == stream.Store
		}
	}
	return false
}

// Loop is a loop with streams in its body.
type Loop struct {
	Source  *stream.Loop
	Outer   *Loop // nil: the function
	Streams []*Stream
	// SyncFree says that a pragma of this loop, or of one around it, promises that streams
	// are not aliased.
	SyncFree bool
	// Nested says that lengths and parameters of its streams follow from streams of the loop
	// around it, which can configure them; Why says why not.
	Nested bool
	// Decoupled says that nothing of an iteration is left for the core, so that the loop
	// vanishes when streams need no order.
	Decoupled bool
	Why       string

	depth   int
	barrier bool // parallel loops are inside
	inner   []*stream.Loop
}

// Of returns the stream that an access or a value of the graph belongs to, nil for what the
// core computes, and for no stream.
func (p *Plan) Of(s *stream.Stream) *Stream {
	if t := p.of[s]; t != nil {
		return t
	}
	return p.computes[s]
}

// Analyze finds streams and assigns computations. The error is that of a graph that Check
// does not accept.
func Analyze(g *stream.Graph) (*Plan, error) {
	types, err := g.ValueTypes()
	if err != nil {
		return nil, err
	}
	a := &analysis{plan: &Plan{Graph: g, of: map[*stream.Stream]*Stream{}, computes: map[*stream.Stream]*Stream{}}, g: g, types: types, byName: map[string]*stream.Stream{}, loopOf: map[*stream.Stream]*Loop{}, index: map[*stream.Stream]int{}}
	a.collect(g.Body, nil, false)
	for _, l := range slices.Backward(a.plan.Loops) { // inner loops first
		a.values(l)
	}
	for _, l := range a.plan.Loops {
		a.streams(l)
	}
	for _, l := range slices.Backward(a.plan.Loops) {
		a.assign(l)
	}
	slices.SortStableFunc(a.plan.Streams, func(s, t *Stream) int { return a.index[s.Parts[0]] - a.index[t.Parts[0]] })
	for _, l := range a.plan.Loops { // what a loop's length follows from is known before what is in it
		a.nest(l)
	}
	a.limit()
	for _, l := range slices.Backward(a.plan.Loops) {
		a.places(l)
		a.decouple(l)
	}
	for _, l := range a.plan.Loops {
		a.locals(l)
	}
	return a.plan, nil
}

// analysis is the work on one graph.
type analysis struct {
	plan   *Plan
	g      *stream.Graph
	types  map[*stream.Stream]scalar.Type
	byName map[string]*stream.Stream
	loopOf map[*stream.Stream]*Loop // that the stream is directly in, nil for none
	index  map[*stream.Stream]int   // in the order of the program
	bodies map[*Loop]*body
}

// collect lists loops and streams. A loop of one iteration is none.
func (a *analysis) collect(list []stream.Stmt, in *Loop, free bool) {
	for _, st := range list {
		switch st := st.(type) {
		case *stream.Stream:
			a.byName[st.Name] = st
			a.index[st] = len(a.index)
			a.loopOf[st] = in
		case *stream.Loop:
			if n, ok := st.Range.Len().Const(); ok && n == 1 && !st.Open {
				a.collect(st.Body, in, free)
				continue
			}
			l := &Loop{Source: st, Outer: in, SyncFree: free || st.Parallel != nil && st.Parallel.SyncFree}
			if in != nil {
				l.depth = in.depth + 1
				in.inner = append(in.inner, st)
			}
			a.plan.Loops = append(a.plan.Loops, l)
			a.collect(st.Body, l, l.SyncFree)
			if in != nil {
				in.barrier = in.barrier || l.barrier || st.Parallel != nil
			}
		}
	}
}
