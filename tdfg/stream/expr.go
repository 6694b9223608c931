package stream

import (
	"strings"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Expr is a computation on single elements: a tree, or a graph where
// subexpressions are shared, which are computed once.
type Expr struct {
	Kind ExprKind
	Name string       // of a Ref
	Type scalar.Type  // of a Const; what a Convert converts to
	Bits scalar.Value // of a Const
	Op   scalar.Op    // of an Apply
	Args []*Expr      // of an Apply, and the one of a Convert
}

// ExprKind says what an Expr is.
type ExprKind uint8

// The kinds of expressions.
const (
	ElemExpr    ExprKind = iota // the element that the stream has read
	RefExpr                     // a stream's value, a parameter, or a symbol or variable as an int64
	ConstExpr                   //
	ApplyExpr                   // an operation of package scalar
	ConvertExpr                 // a value as another type
)

// Elem returns the element that the stream has read; it has the array's type.
func Elem() *Expr { return &Expr{Kind: ElemExpr} }

// Ref returns the value of a stream or of a parameter, or a symbol or the variable
// of a loop as an int64.
func Ref(name string) *Expr { return &Expr{Kind: RefExpr, Name: name} }

// Const returns a constant from its bits; every NaN becomes the canonical one.
func Const(t scalar.Type, bits scalar.Value) *Expr {
	bits &= t.Mask()
	if t.Float() {
		bits = scalar.FromFloat(t, scalar.ToFloat(t, bits))
	}
	return &Expr{Kind: ConstExpr, Type: t, Bits: bits}
}

// Int returns an integer as a constant of the type.
func Int(t scalar.Type, v int64) *Expr { return Const(t, scalar.FromInt(t, v)) }

// Apply returns an operation on operands. Their types are as in package scalar.
func Apply(op scalar.Op, args ...*Expr) *Expr { return &Expr{Kind: ApplyExpr, Op: op, Args: args} }

// Convert returns the value of x as type t.
func Convert(t scalar.Type, x *Expr) *Expr {
	return &Expr{Kind: ConvertExpr, Type: t, Args: []*Expr{x}}
}

// Walk calls visit once for x and each of its subexpressions, operands first.
func (x *Expr) Walk(visit func(*Expr)) { x.walk(visit, map[*Expr]bool{}) }

func (x *Expr) walk(visit func(*Expr), seen map[*Expr]bool) {
	if x == nil || seen[x] {
		return
	}
	seen[x] = true
	for _, a := range x.Args {
		a.walk(visit, seen)
	}
	visit(x)
}

// Uses reports whether the name occurs in x.
func (x *Expr) Uses(name string) bool {
	found := false
	x.Walk(func(y *Expr) { found = found || y.Kind == RefExpr && y.Name == name })
	return found
}

// Update takes an RMW apart as processors have it: an operation on the element with an operand,
// or an exchange, with expected only where the element is that. ok is false for others.
func (s *Stream) Update() (op scalar.Op, operand, expected *Expr, ok bool) {
	x := s.Value
	if s.Kind != RMW || x == nil {
		return 0, nil, nil, false
	}
	free := func(y *Expr) bool {
		found := false
		y.Walk(func(z *Expr) { found = found || z.Kind == ElemExpr })
		return !found
	}
	switch {
	case free(x):
		return scalar.NoOp, x, nil, true
	case x.Kind != ApplyExpr:
	case x.Op == scalar.Select && x.Args[0].Kind == ApplyExpr && x.Args[0].Op == scalar.Eq && x.Args[2].Kind == ElemExpr && free(x.Args[1]):
		eq := x.Args[0].Args
		for i := range 2 {
			if eq[i].Kind == ElemExpr && free(eq[1-i]) {
				return scalar.NoOp, x.Args[1], eq[1-i], true
			}
		}
	case len(x.Args) == 2 && x.Args[0].Kind == ElemExpr && free(x.Args[1]):
		return x.Op, x.Args[1], nil, true
	case len(x.Args) == 2 && x.Op.Commutative() && x.Args[1].Kind == ElemExpr && free(x.Args[0]):
		return x.Op, x.Args[0], nil, true
	}
	return 0, nil, nil, false
}

// String returns the expression as Parse reads it: "add(@, fp32(1.5))".
func (x *Expr) String() string {
	var b strings.Builder
	x.write(&b)
	return b.String()
}

func (x *Expr) write(b *strings.Builder) {
	switch x.Kind {
	case ElemExpr:
		b.WriteByte('@')
		return
	case RefExpr:
		b.WriteString(x.Name)
		return
	case ConstExpr:
		b.WriteString(x.Type.String() + "(" + scalar.Format(x.Type, x.Bits) + ")")
		return
	case ApplyExpr:
		b.WriteString(x.Op.String())
	case ConvertExpr:
		b.WriteString(x.Type.String())
	}
	for i, a := range x.Args {
		b.WriteString([]string{"(", ", "}[min(i, 1)])
		a.write(b)
	}
	b.WriteByte(')')
}
