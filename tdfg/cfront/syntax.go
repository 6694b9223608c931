package cfront

import (
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/internal/position"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// Pos is a place in a source file.
type Pos struct {
	File      string
	Line, Col int

	via  string // calls that it is in the body of, "" for none
	part int    // region that it is in, where a function has several
}

// place is where a statement is, with the calls that led there: a function has its own
// statements for each call.
func (p Pos) place() string { return p.String() + p.via }

func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

// Error says what is wrong with a kernel, and where.
type Error = position.Error

func errorAt(at Pos, format string, args ...any) *Error {
	return &Error{File: at.File, Line: at.Line, Col: at.Col, Msg: fmt.Sprintf(format, args...)}
}

// fail stops the compilation. Compile recovers it.
func fail(at Pos, format string, args ...any) {
	panic(errorAt(at, format, args...))
}

// caught gives a function's caller what fail threw, deferred; the other results are
// then those of a function that did not get to its return.
func caught(err *error) {
	switch x := recover().(type) {
	case nil:
	case *Error:
		*err = x
	case canceled:
		*err = x.error
	default:
		panic(x)
	}
}

// kernel is what the region of a kernel function says, in the terms of this
// package: only loops and assignments are left, conditions have become guards.
type kernel struct {
	name        string
	pos         Pos
	vars        []*variable // parameters and variables, in the order of their declarations
	arrays      []*array
	body        []stmt
	reassociate bool
	taken       map[string]bool // names
}

// varKind is what a scalar variable is.
type varKind uint8

const (
	paramVar varKind = iota + 1 // a parameter of the kernel
	loopVar                     // the variable of a loop
	localVar                    // any other
)

// variable is a scalar of the kernel.
type variable struct {
	name string // unique in the kernel
	kind varKind
	typ  scalar.Type
	pos  Pos

	// symbol says that subscripts, sizes or bounds use the variable: a size, where it
	// is a parameter, and a loop variable always.
	symbol bool
	inSize bool   // an array has it in its size
	bound  *int64 // the value of a size that -D gives
	least  *int64 // what a loop variable is at least, nil if that is not known
	alias  *expr  // what a local variable that is assigned once stands for, if that is affine
	scope  *loop  // of a local variable: the innermost loop around its declaration, nil for none
	host   bool   // a local variable, declared outside of all loops of the region
}

// source returns the name that a variable has in the source.
func (v *variable) source() string {
	name, _, _ := strings.Cut(v.name, ".")
	return name
}

// array is an array parameter.
type array struct {
	name     string
	typ      scalar.Type
	pos      Pos
	size     []lattice.Expr // as in C, outermost first
	declared bool           // by inf_array, or, in a whole function, with its sizes
	pointer  bool           // declared as a pointer: inf_array has the sizes
	constant bool           // of a const type
	field    *stream.Field  // of an array of structures, nil for a plain array
	inner    []int64        // dimensions of the member
	scope    stream.Scope
	single   bool // a local variable in memory: one element, which is written without a subscript

	// Of a view: the array that it is of, what it becomes, and whether no two points of it
	// are the same element.
	of       *array
	view     *tdfg.Array
	distinct bool
}

// stmt is a *loop or an *assign.
type stmt interface{ stmt() }

// loop executes its body for v in [lo, hi): from lo up by step, or from hi-1 down
// by -step.
type loop struct {
	v      *variable
	lo, hi lattice.Expr
	step   int64
	body   []stmt
	pos    Pos

	// literal says that the source has numbers for the bounds.
	literal bool

	// What follows is of whole functions only. from and to are bounds of any kind, nil
	// for lo and hi; while is not nil for a loop that goes on as long as it is true.
	from, to *expr
	guard    *expr // under which from and to are looked at
	while    *variable
	parallel *stream.Parallel
	reduces  map[string]scalar.Op // variables that the threads of a parallel loop reduce
	simd     map[string]bool      // variables that the loop reduces in any order
}

// assign gives target the value where guard, if there is one, is true.
type assign struct {
	target *expr // a varExpr or an elemExpr
	value  *expr
	guard  *expr
	pos    Pos

	// atomic says that the target is updated in one, and result, if it is not nil, gets
	// its old or its new value.
	atomic bool
	old    bool
	result *variable

	racy bool // a store that other threads may see at any time
}

func (*loop) stmt()   {}
func (*assign) stmt() {}

// exprKind says what an expr is.
type exprKind uint8

const (
	constExpr   exprKind = iota + 1 // value
	varExpr                         // v
	elemExpr                        // array[index]
	opExpr                          // op of args
	convertExpr                     // args[0] as typ
	doubleExpr                      // a constant of type double, which must become something else
)

// expr is an expression with the type that it has in C, or a narrower one where
// that gives the same bits.
type expr struct {
	kind   exprKind
	typ    scalar.Type
	pos    Pos
	value  scalar.Value
	double float64
	v      *variable
	array  *array
	index  []*expr // outermost first
	op     scalar.Op
	args   []*expr
	racy   bool // an elemExpr that other threads may change at the same time

	relaxed bool // no thread waits for what it is
}

// same reports whether two expressions are the same text.
func (x *expr) same(y *expr) bool {
	if x.kind != y.kind || x.typ != y.typ || x.value != y.value || x.double != y.double || x.v != y.v || x.array != y.array || x.op != y.op ||
		len(x.index) != len(y.index) || len(x.args) != len(y.args) {
		return false
	}
	for i := range x.index {
		if !x.index[i].same(y.index[i]) {
			return false
		}
	}
	for i := range x.args {
		if !x.args[i].same(y.args[i]) {
			return false
		}
	}
	return true
}

// walk calls visit for x and all expressions in it, subscripts included.
func (x *expr) walk(visit func(*expr)) {
	if x == nil {
		return
	}
	visit(x)
	for _, i := range x.index {
		i.walk(visit)
	}
	for _, a := range x.args {
		a.walk(visit)
	}
}

// uses reports whether the place that target is occurs in x: the variable, or any
// element of the array.
func (x *expr) uses(target *expr) bool {
	found := false
	x.walk(func(y *expr) {
		found = found || y.kind == target.kind && (y.kind == varExpr && y.v == target.v || y.kind == elemExpr && y.array == target.array)
	})
	return found
}

// walkStmts calls visit for all statements with the loops around them, outermost
// first. The slice of loops is only valid during the call.
func walkStmts(body []stmt, loops []*loop, visit func(s stmt, loops []*loop)) {
	for _, s := range body {
		visit(s, loops)
		if l, ok := s.(*loop); ok {
			walkStmts(l.body, append(loops, l), visit)
		}
	}
}
