package stream

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// MaxDims is the number of loops that the address of one stream may vary with
// (Near-Stream Computing, section IV.D; Infinity Stream, section 3.3). Loops
// further out belong to the host, which configures the stream anew.
const MaxDims = 3

// Error says what is wrong with a graph.
type Error struct {
	Graph string
	Stmt  Stmt // the loop or stream that is wrong; nil for a declaration
	Msg   string
}

func (e *Error) Error() string {
	switch s := e.Stmt.(type) {
	case *Loop:
		return fmt.Sprintf("stream: graph %s: loop %s: %s", e.Graph, s.Var, e.Msg)
	case *Stream:
		return fmt.Sprintf("stream: graph %s: stream %s: %s", e.Graph, s.Name, e.Msg)
	}
	return fmt.Sprintf("stream: graph %s: %s", e.Graph, e.Msg)
}

// Check reports whether the graph can run, the first mistake as an *Error.
func (g *Graph) Check() error {
	_, err := g.resolve()
	return err
}

// keywords may follow an expression in the text form, so that they are no names, and
// neither are its literals. Words that begin a line are names elsewhere.
var (
	keywords = append(strings.Fields("inf over from if while step"), literals...)
	literals = strings.Fields("true false NaN Inf")
)

// nameKind is what a name stands for.
type nameKind uint8

const (
	symbolName nameKind = iota + 1
	paramName
	loopName
	streamName
)

// binding is what a name means at some place of the graph.
type binding struct {
	name   string
	kind   nameKind
	typ    scalar.Type
	stream *Stream
}

// checker walks the graph in program order with the names that are visible.
type checker struct {
	g     *Graph
	types map[*Stream]scalar.Type // of the values
	scope []binding
	taken map[string]string // what a name is declared as, loops apart
	loops []*Loop
	elem  scalar.Type // of @ in the expression at hand, Invalid for none
	// typed has the types of the subexpressions of the expression at hand, Invalid
	// for one that is being typed.
	typed map[*Expr]scalar.Type
}

// resolve checks the graph and returns the types of the values of all streams.
func (g *Graph) resolve() (map[*Stream]scalar.Type, error) {
	c := &checker{g: g, taken: map[string]string{}, types: map[*Stream]scalar.Type{}}
	if err := c.graph(); err != nil {
		var e *Error
		if !errors.As(err, &e) {
			err = &Error{Graph: g.Name, Msg: err.Error()}
		}
		return nil, err
	}
	return c.types, nil
}

func (c *checker) fail(at Stmt, format string, args ...any) error {
	return &Error{Graph: c.g.Name, Stmt: at, Msg: fmt.Sprintf(format, args...)}
}

// declare takes a name for what it is declared as.
func (c *checker) declare(what, name string) error {
	switch old, taken := c.taken[name]; {
	case !isName(name):
		return fmt.Errorf("%s %q: expected a name of letters, digits, dots and underscores", what, name)
	case slices.Contains(keywords, name):
		return fmt.Errorf("%s %s: the name is a keyword", what, name)
	case taken:
		return fmt.Errorf("%s %s: the name is already that of the %s", what, name, old)
	}
	c.taken[name] = what
	return nil
}

func (c *checker) graph() error {
	if !isName(c.g.Name) {
		return fmt.Errorf("%q, expected a name of letters, digits, dots and underscores", c.g.Name)
	}
	if c.g.Symbols != nil {
		for _, s := range c.g.Symbols.Symbols() {
			if err := c.declare("symbol", s.Name); err != nil {
				return err
			}
			c.scope = append(c.scope, binding{s.Name, symbolName, scalar.Int64, nil})
		}
	}
	for _, a := range c.g.Arrays {
		if err := c.declare("array", a.Name); err != nil {
			return err
		}
		if !slices.Contains(scalar.Types(), a.Type) {
			return fmt.Errorf("array %s: type %s, expected one that is in memory", a.Name, a.Type)
		}
		if a.Scope > Lock || a.Scope != Argument && a.Field != nil {
			return fmt.Errorf("array %s: expected an argument, or a shared or private array of numbers", a.Name)
		}
		if len(a.Size) == 0 {
			return fmt.Errorf("array %s: expected at least one dimension", a.Name)
		}
		for _, x := range a.Size {
			for _, name := range x.Symbols() {
				if c.lookup(name) == nil {
					return fmt.Errorf("array %s: size %s, but %s is not a symbol of the graph", a.Name, x, name)
				}
			}
		}
	}
	for _, p := range c.g.Params {
		if err := c.declare("param", p.Name); err != nil {
			return err
		}
		if !p.Type.Valid() {
			return fmt.Errorf("param %s: type %s", p.Name, p.Type)
		}
		c.scope = append(c.scope, binding{p.Name, paramName, p.Type, nil})
	}
	for _, s := range c.g.Streams() {
		if err := c.declare("stream", s.Name); err != nil {
			return c.fail(s, "%s", strings.TrimPrefix(err.Error(), "stream "+s.Name+": "))
		}
	}
	return c.body(c.g.Body)
}

func (c *checker) lookup(name string) *binding {
	for i := len(c.scope) - 1; i >= 0; i-- {
		if c.scope[i].name == name {
			return &c.scope[i]
		}
	}
	return nil
}

func (c *checker) body(body []Stmt) error {
	for _, st := range body {
		var err error
		switch st := st.(type) {
		case *Loop:
			err = c.loop(st)
		case *Stream:
			err = c.stream(st)
		default:
			err = errors.New("a statement is missing")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) loop(l *Loop) error {
	switch old, isTaken := c.taken[l.Var]; {
	case !isName(l.Var) || slices.Contains(keywords, l.Var):
		return c.fail(l, "expected a name for the variable")
	case isTaken:
		return c.fail(l, "the name is already that of the %s", old)
	case c.lookup(l.Var) != nil:
		return c.fail(l, "a loop around it has the same variable")
	case l.Open && l.While == nil:
		return c.fail(l, "no upper end and no condition: expected one of them")
	case l.Parallel != nil && (l.Open || l.While != nil):
		return c.fail(l, "a parallel loop needs a number of iterations that is known before it")
	case l.Parallel != nil && l.Parallel.Chunk < 0:
		return c.fail(l, "a chunk of %d iterations, expected at least 1", l.Parallel.Chunk)
	case l.Open && l.Stride() < 0:
		return c.fail(l, "no upper end, but step %d: expected a positive one", l.Step)
	}
	bounds := []lattice.Expr{l.Range.Lo, l.Range.Hi}
	if l.Open {
		bounds = bounds[:1]
	}
	for _, x := range bounds {
		if err := c.affine(l, x, "bound"); err != nil {
			return err
		}
	}
	// The reductions over this loop live in front of it: they have a value in the
	// loop and after it.
	var reduces []*Stream
	walk(l.Body, nil, func(_ []*Loop, s *Stream) {
		if s.Kind == Reduce && s.Over == l.Var {
			reduces = append(reduces, s)
		}
	})
	var live []binding
	for _, s := range reduces {
		if s.Init == nil {
			return c.fail(s, "no initial value, expected one for a reduce")
		}
		t, err := c.expr(s, s.Init, scalar.Invalid)
		if err != nil {
			return err
		}
		c.types[s] = t
		live = append(live, binding{s.Name, streamName, t, s})
	}
	c.scope = append(c.scope, live...)
	mark := len(c.scope)
	c.scope = append(c.scope, binding{l.Var, loopName, scalar.Int64, nil})
	c.loops = append(c.loops, l)
	if l.While != nil {
		if err := c.condition(l, l.While, "while"); err != nil {
			return err
		}
	}
	if err := c.body(l.Body); err != nil {
		return err
	}
	c.loops = c.loops[:len(c.loops)-1]
	c.scope = c.scope[:mark]
	return nil
}

func (c *checker) stream(s *Stream) error {
	if err := c.shape(s); err != nil {
		return err
	}
	elem := scalar.Invalid
	if s.Array != "" {
		if err := c.access(s); err != nil {
			return err
		}
		if s.Kind != Store {
			elem = c.g.Array(s.Array).Type
		}
	}
	if s.If != nil { // decides whether there is an element at all
		if err := c.condition(s, s.If, "if"); err != nil {
			return err
		}
	}
	t := elem
	if s.Value != nil {
		var err error
		if t, err = c.expr(s, s.Value, elem); err != nil {
			return err
		}
	}
	switch s.Kind {
	case Store, RMW:
		if want := c.g.Array(s.Array).Type; t != want {
			return c.fail(s, "the value is %s, but array %s has %s: expected %s(...) around it", t, s.Array, want, want)
		}
	case Reduce:
		if want := c.types[s]; t != want {
			return c.fail(s, "the value is %s, but the initial one is %s", t, want)
		}
		return nil
	}
	c.types[s] = t
	c.scope = append(c.scope, binding{s.Name, streamName, t, s})
	return nil
}

// shape checks that the stream has the fields that its kind needs, and no others.
func (c *checker) shape(s *Stream) error {
	switch {
	case s.Kind > Reduce:
		return c.fail(s, "kind %d, expected load, store, rmw or reduce", s.Kind)
	case s.Kind != Reduce && (s.Over != "" || s.Init != nil):
		return c.fail(s, "a %s has no initial value, only a reduce has", s.Kind)
	case s.Kind != Reduce && s.Array == "":
		return c.fail(s, "no array, expected one for a %s", s.Kind)
	case s.Array == "" && len(s.Index) > 0:
		return c.fail(s, "subscripts without an array")
	case (s.Kind == Store || s.Kind == RMW || s.Array == "") && s.Value == nil:
		return c.fail(s, "no computation, expected one for a %s", s.Kind)
	case s.Old && s.Kind != RMW:
		return c.fail(s, "the old value of a %s, only an rmw has one", s.Kind)
	case s.Racy && s.Kind == Reduce:
		return c.fail(s, "a racy %s, expected a load, a store or an rmw", s.Kind)
	case s.Combine != scalar.NoOp && !c.combines(s):
		return c.fail(s, "combines by %s, expected a reduce over a parallel loop, and an operation of two operands with an identity", s.Combine)
	case s.Relaxed && (s.Kind != Load || !s.Racy):
		return c.fail(s, "a relaxed %s, expected a racy load", s.Kind)
	case s.Reassociate && s.Kind != Reduce:
		return c.fail(s, "a %s in any order, only a reduce has operands", s.Kind)
	case s.Kind == Reduce && !slices.ContainsFunc(c.loops, func(l *Loop) bool { return l.Var == s.Over }):
		return c.fail(s, "reduces over %q, expected the variable of a loop around it", s.Over)
	}
	return nil
}

func (c *checker) combines(s *Stream) bool {
	_, ok := s.Combine.Identity(c.types[s])
	return ok && s.Kind == Reduce && slices.ContainsFunc(c.loops, func(l *Loop) bool { return l.Var == s.Over && l.Parallel != nil })
}

func (c *checker) access(s *Stream) error {
	a := c.g.Array(s.Array)
	if a == nil {
		return c.fail(s, "unknown array %s", s.Array)
	}
	if len(s.Index) != len(a.Size) {
		return c.fail(s, "%d subscripts, but array %s has %d dimensions", len(s.Index), s.Array, len(a.Size))
	}
	vars := map[string]bool{}
	for _, x := range s.Index {
		if err := c.affine(s, x, "subscript"); err != nil {
			return err
		}
		for _, name := range x.Symbols() {
			if b := c.lookup(name); b.kind == loopName {
				vars[name] = true
			}
		}
	}
	if len(vars) > MaxDims {
		return c.fail(s, "the address varies with %d loops, expected at most %d: make the outer loops the host's, with symbols for their variables", len(vars), MaxDims)
	}
	return nil
}

// affine checks the names of a bound or a subscript.
func (c *checker) affine(at Stmt, x lattice.Expr, what string) error {
	for _, name := range x.Symbols() {
		switch b := c.lookup(name); {
		case b == nil:
			return c.unknown(at, name, what+" "+x.String())
		case b.kind == paramName:
			return c.fail(at, "%s %s: %s is a parameter, expected a symbol, a loop variable or a stream", what, x, name)
		case b.kind == streamName && !b.typ.Int():
			return c.fail(at, "%s %s: %s is %s, expected an integer", what, x, name, b.typ)
		}
	}
	return nil
}

// unknown tells a name that does not exist from one that has no value yet.
func (c *checker) unknown(at Stmt, name, where string) error {
	if s := c.g.Stream(name); s != nil {
		return c.fail(at, "%s: stream %s has no value here, expected one that is earlier in the same or an enclosing loop, or a reduce", where, name)
	}
	walked := false
	c.g.walkLoops(c.g.Body, func(l *Loop) { walked = walked || l.Var == name })
	if walked {
		return c.fail(at, "%s: %s is the variable of a loop that is not around it", where, name)
	}
	return c.fail(at, "%s: unknown name %s", where, name)
}

func (g *Graph) walkLoops(body []Stmt, visit func(*Loop)) {
	for _, st := range body {
		if l, ok := st.(*Loop); ok {
			visit(l)
			g.walkLoops(l.Body, visit)
		}
	}
}

func (c *checker) condition(at Stmt, x *Expr, what string) error {
	t, err := c.expr(at, x, scalar.Invalid)
	if err == nil && t != scalar.Bool {
		err = c.fail(at, "%s %s: the condition is %s, expected bool", what, x, t)
	}
	return err
}

// expr returns the type of an expression; elem is that of @, Invalid where there
// is none.
func (c *checker) expr(at Stmt, x *Expr, elem scalar.Type) (scalar.Type, error) {
	c.elem, c.typed = elem, map[*Expr]scalar.Type{}
	return c.typeOf(at, x)
}

func (c *checker) typeOf(at Stmt, x *Expr) (scalar.Type, error) {
	if x == nil {
		return 0, c.fail(at, "an operand is missing")
	}
	if t, ok := c.typed[x]; ok {
		if t == scalar.Invalid {
			return 0, c.fail(at, "an expression contains itself")
		}
		return t, nil
	}
	c.typed[x] = scalar.Invalid
	args := make([]scalar.Type, len(x.Args))
	for i, a := range x.Args {
		var err error
		if args[i], err = c.typeOf(at, a); err != nil {
			return 0, err
		}
	}
	t, err := c.result(at, x, args)
	c.typed[x] = t
	return t, err
}

// result returns the type of an expression with operands of the types args.
func (c *checker) result(at Stmt, x *Expr, args []scalar.Type) (scalar.Type, error) {
	switch x.Kind {
	case ElemExpr:
		if c.elem == scalar.Invalid {
			return 0, c.fail(at, "@ where no element is read, expected it in the computation of a load, rmw or reduce with an array")
		}
		return c.elem, nil
	case RefExpr:
		if b := c.lookup(x.Name); b != nil {
			return b.typ, nil
		}
		return 0, c.unknown(at, x.Name, "computation")
	case ConstExpr:
		if !x.Type.Valid() || x.Bits&^x.Type.Mask() != 0 {
			return 0, c.fail(at, "a constant %#x of type %s", x.Bits, x.Type)
		}
		return x.Type, nil
	case ConvertExpr:
		if len(args) != 1 || !x.Type.Valid() {
			return 0, c.fail(at, "a conversion of %d values to %s", len(args), x.Type)
		}
		return x.Type, nil
	case ApplyExpr:
		return c.apply(at, x, args)
	}
	return 0, c.fail(at, "an expression of kind %d", x.Kind)
}

func (c *checker) apply(at Stmt, x *Expr, args []scalar.Type) (scalar.Type, error) {
	if x.Op == scalar.NoOp || x.Op > scalar.Select || len(args) != x.Op.Arity() {
		return 0, c.fail(at, "%s of %d operands", x.Op, len(args))
	}
	t := args[len(args)-1]
	if !x.Op.Supports(t) {
		return 0, c.fail(at, "%s: there is no %s of %s", x, x.Op, t)
	}
	for i, a := range args {
		if want := x.Op.ArgType(t, i); a != want {
			return 0, c.fail(at, "%s: operand %s is %s, expected %s", x, x.Args[i], a, want)
		}
	}
	return x.Op.Result(t), nil
}

// isName reports whether s is a name as package lattice has them.
func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c == '_' || c == '.' || c|0x20 >= 'a' && c|0x20 <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// Types returns the types of the values of all streams.
func (g *Graph) Types() (map[*Stream]scalar.Type, error) { return g.resolve() }
