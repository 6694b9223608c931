package stream

import (
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Graph is a stream dataflow graph.
type Graph struct {
	Name string
	// Symbols are the sizes and the variables of the host's loops, bound when the
	// graph runs. nil stands for none.
	Symbols *lattice.Space
	Arrays  []Array
	Params  []Param
	Body    []Stmt // in program order
}

// Array is a structure in memory, contiguous, innermost dimension first.
type Array struct {
	Name string
	Type scalar.Type
	Size []lattice.Expr // of symbols; Size[0] is the innermost dimension

	// Field is not nil for one member of an array of structures.
	Field *Field

	// Scope says who else has the array. One that is not an argument is not in [Memory]:
	// its elements are 0 when a run begins.
	Scope Scope
}

// Scope says whose an array is.
type Scope uint8

// The scopes of arrays.
const (
	Argument Scope = iota // of the graph: in Memory
	Shared                // of the graph's own, one for all threads
	Private               // each thread has one
	Lock                  // one word for all threads, which is not 0 while one is in a critical section
)

var scopeNames = [...]string{"", "shared", "private", "lock"}

// Field says where in memory the elements of an array lie that is one member of an
// array of structures: the first at Offset bytes, and the next Stride bytes further.
type Field struct {
	Of             string // the array of structures
	Offset, Stride int64
}

// Param is a scalar that is set when the graph runs.
type Param struct {
	Name string
	Type scalar.Type
}

// Stmt is a *Loop or a *Stream.
type Stmt interface{ stmt() }

func (*Loop) stmt()   {}
func (*Stream) stmt() {}

// Loop executes its body for the values of a variable in [Lo, Hi). The bounds are
// affine in symbols, variables of outer loops and integer values of outer streams;
// they are evaluated when the loop is entered.
type Loop struct {
	Var   string
	Range lattice.Interval
	Open  bool  // no upper end: Range.Hi is not used, and While ends the loop
	Step  int64 // 0 stands for 1; a negative one starts at Hi-1 and goes down to Lo
	While *Expr // if not nil: the loop ends before the first iteration where it is false
	Body  []Stmt

	// Parallel is not nil where iterations may be shared out among threads: none
	// needs what an earlier one did, apart from atomic updates and reductions.
	Parallel *Parallel
}

// Parallel says how iterations are shared out (OpenMP 5.2, section 11.5).
type Parallel struct {
	Dynamic  bool  // in order of demand; else each thread has a part that is known before
	Chunk    int64 // neighbours that stay together; 0 = as many as there are for each thread, 1 if dynamic
	SyncFree bool  // streams need no order among each other (Near-Stream Computing, section V)
}

// Stride returns the step, 1 where the field is 0.
func (l *Loop) Stride() int64 {
	if l.Step == 0 {
		return 1
	}
	return l.Step
}

// Kind is what a stream does with its element (Near-Stream Computing, Table II).
type Kind uint8

// The kinds of streams. S is the stream's element.
const (
	Load   Kind = iota // value = f(S), the element itself without a computation
	Store              // S = f(): the element is not read
	RMW                // S = f(S), atomic; the value is the new one
	Reduce             // value = f(value, S), from an initial one
)

var kindNames = [...]string{"load", "store", "rmw", "reduce"}

func (k Kind) String() string { return kindNames[k] }

// Stream is a sequence of accesses, one in each iteration of the loop that it is
// in, and what is computed with them.
//
// Others refer to the value of a stream by its name: to that of the same
// iteration, and to a Reduce also before it, which gives the value so far, and
// after the loops that it reduces over, which gives the final one.
type Stream struct {
	Name string
	Kind Kind
	// Array is what is accessed. A Reduce may have none, if it takes only values
	// of other streams.
	Array string
	Index []lattice.Expr // innermost dimension first
	// Value is the computation f. nil is the element, for a Load or a Reduce.
	Value *Expr
	// If is a condition, a Bool. Where it is false nothing is accessed; the value
	// is 0, but a Reduce keeps its own.
	If *Expr
	// Old says that the value of an RMW is what the element was before.
	Old bool
	// Racy says that another thread may change the element at the same time: a Load
	// that expects it, or an RMW whose order among threads is open. Threads do not
	// synchronise by a Relaxed load, which may find what the element was a while ago.
	Racy, Relaxed bool
	// Reassociate says that a Reduce may take its operands in any order, even where that
	// changes rounding.
	Reassociate bool
	// Combine brings together what threads have reduced, for a Reduce over a parallel
	// loop: each begins with the operation's identity, the first one with Init.
	Combine scalar.Op
	// Over is the variable of the outermost loop that a Reduce reduces over. When
	// that loop is entered, the value is set to Init.
	Over string
	Init *Expr
	// At is where the source has the statement, as file:line:col, "" for nowhere. The
	// text form does not have it.
	At string
}

// Array returns the array of that name, nil if there is none.
func (g *Graph) Array(name string) *Array {
	for i := range g.Arrays {
		if g.Arrays[i].Name == name {
			return &g.Arrays[i]
		}
	}
	return nil
}

// Param returns the parameter of that name, nil if there is none.
func (g *Graph) Param(name string) *Param {
	for i := range g.Params {
		if g.Params[i].Name == name {
			return &g.Params[i]
		}
	}
	return nil
}

// Walk calls visit for every stream in program order, with the loops around it,
// outermost first. The slice is only valid during the call.
func (g *Graph) Walk(visit func(loops []*Loop, s *Stream)) { walk(g.Body, nil, visit) }

func walk(body []Stmt, loops []*Loop, visit func([]*Loop, *Stream)) {
	for _, st := range body {
		switch st := st.(type) {
		case *Loop:
			walk(st.Body, append(loops, st), visit)
		case *Stream:
			visit(loops, st)
		}
	}
}

// Streams lists the streams in program order.
func (g *Graph) Streams() []*Stream {
	var list []*Stream
	g.Walk(func(_ []*Loop, s *Stream) { list = append(list, s) })
	return list
}

// Stream returns the stream of that name, nil if there is none.
func (g *Graph) Stream(name string) *Stream {
	for _, s := range g.Streams() {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Loops lists the loops around a stream, outermost first.
func (g *Graph) Loops(s *Stream) []*Loop {
	var found []*Loop
	g.Walk(func(loops []*Loop, t *Stream) {
		if s == t {
			found = append([]*Loop(nil), loops...)
		}
	})
	return found
}
