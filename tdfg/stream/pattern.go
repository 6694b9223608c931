package stream

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Pattern is the address pattern of a stream (Near-Stream Computing, section II.A
// and Table II).
type Pattern uint8

// The address patterns.
const (
	Affine         Pattern = iota // A[i]
	Indirect                      // A[B[i]]: a subscript has the value of a stream
	PointerChasing                // A[p], where p follows from what was read at the last p
	MultiOperand                  // affine, and the computation takes values of other streams
)

var patternNames = [...]string{"affine", "indirect", "pointer-chasing", "multi-operand"}

func (p Pattern) String() string { return patternNames[p] }

// Patterns returns the address pattern of each stream. A Reduce without an array
// has that of its operand, as the paper associates it with that stream, or is
// MultiOperand.
func (g *Graph) Patterns() map[*Stream]Pattern {
	in, out := map[*Stream][]Dep{}, map[*Stream][]Dep{}
	for _, d := range g.Deps() {
		if to, ok := d.To.(*Stream); ok {
			in[to] = append(in[to], d)
			out[d.From] = append(out[d.From], d)
		}
	}
	byName, pointers := map[string]*Stream{}, map[*Stream]bool{}
	patterns := map[*Stream]Pattern{}
	streams := g.Streams()
	for _, s := range streams {
		pointers[s] = s.Kind == Reduce && chases(s, out)
		byName[s.Name] = s
	}
	for _, s := range streams {
		p := Affine
		for _, d := range in[s] {
			if d.Kind == AddressDep {
				p = max(p, Indirect)
				if pointers[d.From] {
					p = PointerChasing
				}
			}
		}
		if p == Affine && s.Value != nil {
			switch from := operands(s, byName); {
			case s.Array == "" && len(from) == 1:
				p = patterns[from[0]]
			case s.Array != "" && len(from) > 0 || len(from) > 1:
				p = MultiOperand
			}
		}
		patterns[s] = p
	}
	return patterns
}

// operands lists the other streams whose values a computation takes.
func operands(s *Stream, byName map[string]*Stream) []*Stream {
	var list []*Stream
	for _, name := range refs(s.Value) {
		if t := byName[name]; t != nil && t != s && !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	return list
}

// chases reports whether the value of a Reduce is part of an address that its own
// next value depends on.
func chases(s *Stream, out map[*Stream][]Dep) bool {
	type state struct {
		s       *Stream
		address bool
	}
	seen := map[state]bool{}
	todo := []state{{s, false}}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, d := range out[at.s] {
			next := state{d.To.(*Stream), at.address || d.Kind == AddressDep}
			if next.s == s && next.address {
				return true
			}
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return false
}

// IsAffine reports whether the elements that the stream may access follow from the
// symbols alone: no subscript and no bound of a loop around it has the value of a
// stream, and no loop around it has a condition. The stream itself may have one.
func (g *Graph) IsAffine(s *Stream) bool {
	names := map[string]bool{}
	g.Walk(func(_ []*Loop, t *Stream) { names[t.Name] = true })
	list := []string{}
	for _, x := range s.Index {
		list = append(list, x.Symbols()...)
	}
	for _, l := range g.Loops(s) {
		if l.Open || l.While != nil {
			return false
		}
		list = append(list, bounds(l)...)
	}
	for _, name := range list {
		if names[name] {
			return false
		}
	}
	return true
}

// Footprint is what a stream accesses of its array.
type Footprint struct {
	// Rect has all elements that are accessed.
	Rect lattice.Rect
	// Exact says that every element of Rect is accessed if no loop is empty: the
	// domain of the stream is a hyperrectangle of the array (Infinity Stream, section
	// 3.2).
	Exact bool
}

// Footprint returns what a stream accesses. ok is false where that depends on data
// (see IsAffine), or there is no array.
func (g *Graph) Footprint(s *Stream) (f Footprint, ok bool) {
	if s.Array == "" || !g.IsAffine(s) {
		return f, false
	}
	loops := g.Loops(s)
	f.Exact = s.If == nil
	for i, l := range loops {
		for _, outer := range loops[:i] {
			f.Exact = f.Exact && l.Range.Lo.Coef(outer.Var) == 0 && l.Range.Hi.Coef(outer.Var) == 0
		}
	}
	dims := map[string]int{} // how many dimensions a variable is in
	for _, x := range s.Index {
		for _, l := range loops {
			c := x.Coef(l.Var)
			if c == 0 {
				continue
			}
			dims[l.Var]++
			f.Exact = f.Exact && (c == 1 || c == -1) && (l.Stride() == 1 || l.Stride() == -1) && dims[l.Var] == 1
		}
		i := lattice.Interval{Lo: x, Hi: x}
		for k := len(loops) - 1; k >= 0; k-- {
			v, least, most := loops[k].Var, loops[k].Range.Lo, loops[k].Range.Hi.Plus(-1)
			if n, is := loops[k].Range.Len().Const(); is && n > 0 {
				// The last value is known, also where the step is not 1.
				size := max(loops[k].Stride(), -loops[k].Stride())
				if short := (n - 1) % size; loops[k].Stride() > 0 {
					most = most.Plus(-short)
				} else {
					least = least.Plus(short)
				}
			}
			if i.Lo.Coef(v) > 0 {
				i.Lo = i.Lo.Subst(v, least)
			} else {
				i.Lo = i.Lo.Subst(v, most)
			}
			if i.Hi.Coef(v) > 0 {
				i.Hi = i.Hi.Subst(v, most)
			} else {
				i.Hi = i.Hi.Subst(v, least)
			}
		}
		i.Hi = i.Hi.Plus(1)
		f.Rect = append(f.Rect, i)
	}
	return f, true
}

// Trips returns how often a stream is reached, for values of the symbols, where
// that does not depend on data.
func (g *Graph) Trips(ctx context.Context, s *Stream, symbols map[string]int64) (int64, error) {
	if !g.IsAffine(s) {
		return 0, fmt.Errorf("stream: %s: the number of iterations depends on data", s.Name)
	}
	values := map[string]int64{}
	for name, v := range symbols {
		values[name] = v
	}
	return trips(ctx, g.Loops(s), values)
}

func trips(ctx context.Context, loops []*Loop, values map[string]int64) (int64, error) {
	if len(loops) == 0 {
		return 1, nil
	}
	l := loops[0]
	lo, err := l.Range.Lo.Eval(values)
	if err != nil {
		return 0, err
	}
	hi, err := l.Range.Hi.Eval(values)
	if err != nil {
		return 0, err
	}
	first, n := tripCount(lo, hi, l.Stride())
	if n == 0 {
		return 0, nil
	}
	defer delete(values, l.Var)
	values[l.Var] = first
	varies := false
	for _, inner := range loops[1:] {
		varies = varies || inner.Range.Lo.Coef(l.Var) != 0 || inner.Range.Hi.Coef(l.Var) != 0
	}
	if !varies {
		each, err := trips(ctx, loops[1:], values)
		if each > 0 && n > math.MaxInt64/each {
			return 0, fmt.Errorf("stream: more than 2^63 iterations of loop %s", l.Var)
		}
		return n * each, err
	}
	total := int64(0)
	for i := int64(0); i < n; i++ {
		values[l.Var] = first + i*l.Stride()
		each, err := trips(ctx, loops[1:], values)
		if err == nil && i%chunk == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return 0, err
		}
		if total += each; total < 0 {
			return 0, fmt.Errorf("stream: more than 2^63 iterations of loop %s", l.Var)
		}
	}
	return total, nil
}

// AccessPattern returns the loops around a stream and its access in the notation
// of Infinity Stream, Fig. 5: "i_0^N j_{i+1}^N A[i][j]"; in place of the value of a
// load stands its own access, as in "i_0^N A[B[i]]".
func (g *Graph) AccessPattern(s *Stream) string {
	var parts []string
	for _, l := range g.Loops(s) {
		hi := "inf"
		if !l.Open {
			hi = l.Range.Hi.String()
		}
		part := l.Var + "_" + braced(l.Range.Lo.String()) + "^" + braced(hi)
		if l.Stride() != 1 {
			part += fmt.Sprintf(":%d", l.Stride())
		}
		parts = append(parts, part)
	}
	if s.Array != "" {
		parts = append(parts, g.reference(s))
	}
	return strings.Join(parts, " ")
}

// reference returns the access of a stream, such as A[B[i]+1].
func (g *Graph) reference(s *Stream) string {
	index := make([]lattice.Expr, len(s.Index))
	for d, x := range s.Index {
		for _, name := range x.Symbols() {
			if t := g.Stream(name); t != nil && t.Kind == Load && t.Value == nil {
				x = x.Subst(name, lattice.Sym(g.reference(t)))
			}
		}
		index[d] = x
	}
	return s.Array + subscripts(index)
}

func braced(s string) string {
	if len(s) == 1 {
		return s
	}
	return "{" + s + "}"
}

// Reduction returns the operation and the operand of a Reduce whose computation is
// one operation on the value so far and an operand that does not depend on it:
// the form that can be split where the operation is associative.
func (s *Stream) Reduction() (op scalar.Op, operand *Expr, ok bool) {
	x := s.Value
	if s.Kind != Reduce || x == nil || x.Kind != ApplyExpr || len(x.Args) != 2 {
		return scalar.NoOp, nil, false
	}
	acc, operand := x.Args[0], x.Args[1]
	if x.Op.Commutative() && operand.Kind == RefExpr && operand.Name == s.Name {
		acc, operand = operand, acc
	}
	if acc.Kind != RefExpr || acc.Name != s.Name || operand.Uses(s.Name) {
		return scalar.NoOp, nil, false
	}
	return x.Op, operand, true
}

// ValueTypes returns the types of the values of all streams of a graph that Check
// accepts.
func (g *Graph) ValueTypes() (map[*Stream]scalar.Type, error) { return g.resolve() }
