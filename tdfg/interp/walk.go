package interp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// walker executes a stream graph as package stream defines it, statement by statement.
// It shares no code with stream.Program, whose results it is compared with: names
// become places in env, statements and expressions functions, and nothing is planned
// ahead.
type walker struct {
	ctx    context.Context
	g      *stream.Graph
	mem    stream.Memory
	env    []scalar.Value
	typ    []scalar.Type
	place  map[string]int
	ops    int64
	rounds int64
	sizes  map[string][]int64
	loops  []*stream.Loop // around the statement that is prepared
}

// walk executes a graph on memory, and returns the values that names have at the end,
// and the operations of streams on elements.
func walk(ctx context.Context, g *stream.Graph, mem stream.Memory, args stream.Args) (map[string]scalar.Value, int64, error) {
	if err := g.Check(); err != nil {
		return nil, 0, err
	}
	w := &walker{ctx: ctx, g: g, mem: mem, place: map[string]int{}, sizes: map[string][]int64{}}
	for name, v := range args.Symbols {
		w.env[w.name(name, scalar.Int64)] = scalar.Value(v)
	}
	for _, p := range g.Params {
		v, ok := args.Params[p.Name]
		if !ok {
			return nil, 0, fmt.Errorf("stream: graph %s: no value for parameter %s", g.Name, p.Name)
		}
		w.env[w.name(p.Name, p.Type)] = v & p.Type.Mask()
	}
	for i := range g.Arrays {
		a := &g.Arrays[i]
		n := int64(1)
		for _, x := range a.Size {
			size, err := x.Eval(args.Symbols)
			if err != nil {
				return nil, 0, fmt.Errorf("stream: graph %s: array %s: %w", g.Name, a.Name, err)
			}
			w.sizes[a.Name] = append(w.sizes[a.Name], size)
			n *= size
		}
		if int64(len(mem[a.Name])) != n {
			return nil, 0, fmt.Errorf("stream: graph %s: array %s has %d elements in memory, expected %d", g.Name, a.Name, len(mem[a.Name]), n)
		}
	}
	if err := w.body(g.Body)(); err != nil {
		return nil, 0, err
	}
	values := map[string]scalar.Value{}
	for name, at := range w.place {
		values[name] = w.env[at]
	}
	return values, w.ops, nil
}

// name returns the place of a name, a new one if it has none.
func (w *walker) name(name string, t scalar.Type) int {
	at, ok := w.place[name]
	if !ok {
		at = len(w.env)
		w.place[name] = at
		w.env, w.typ = append(w.env, 0), append(w.typ, t)
	}
	w.typ[at] = t
	return at
}

func (w *walker) body(body []stream.Stmt) func() error {
	var list []func() error
	for _, st := range body {
		switch st := st.(type) {
		case *stream.Stream:
			list = append(list, w.stream(st))
		case *stream.Loop:
			list = append(list, w.loop(st))
		}
	}
	return func() error {
		for _, f := range list {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
}

func (w *walker) loop(l *stream.Loop) func() error {
	// The initial values are those of before the loop.
	type start struct {
		name  string
		value expr
	}
	var starts []start
	for _, s := range (&stream.Graph{Body: l.Body}).Streams() {
		if s.Over == l.Var {
			starts = append(starts, start{s.Name, w.expr(s.Init, nil)})
			w.name(s.Name, starts[len(starts)-1].value.typ)
		}
	}
	lo, hi := w.affine(l.Range.Lo), w.affine(l.Range.Hi)
	at := w.name(l.Var, scalar.Int64)
	w.loops = append(w.loops, l)
	var while *expr
	if l.While != nil {
		x := w.expr(l.While, nil)
		while = &x
	}
	body := w.body(l.Body)
	w.loops = w.loops[:len(w.loops)-1]
	return func() error {
		first, end := lo(), int64(0)
		if !l.Open {
			end = hi()
		}
		for _, s := range starts {
			w.env[w.place[s.name]] = s.value.eval()
		}
		step := l.Stride()
		if step < 0 {
			first, end = end-1, first
		}
		for v := first; l.Open || step > 0 && v < end || step < 0 && v >= end; v += step {
			w.env[at] = scalar.Value(v)
			if while != nil && while.eval() == 0 {
				break
			}
			const often = 1 << 14
			if w.rounds++; w.rounds%often == 0 && w.ctx.Err() != nil {
				return w.ctx.Err()
			}
			if err := body(); err != nil {
				return err
			}
		}
		return nil
	}
}

// expr is an expression made ready: its type, and a function that gives its value. elem
// of the walker is what the stream has read.
type expr struct {
	typ  scalar.Type
	eval func() scalar.Value
}

func (w *walker) expr(x *stream.Expr, elem *expr) expr {
	switch x.Kind {
	case stream.ElemExpr:
		return *elem
	case stream.RefExpr:
		at := w.place[x.Name]
		return expr{w.typ[at], func() scalar.Value { return w.env[at] }}
	case stream.ConstExpr:
		return expr{x.Type, func() scalar.Value { return x.Bits }}
	case stream.ConvertExpr:
		a := w.expr(x.Args[0], elem)
		return expr{x.Type, func() scalar.Value { return scalar.Convert(a.typ, x.Type, a.eval()) }}
	}
	args := make([]expr, len(x.Args))
	for i, y := range x.Args {
		args[i] = w.expr(y, elem)
	}
	t := args[len(args)-1].typ
	return expr{x.Op.Result(t), func() scalar.Value {
		var v [3]scalar.Value
		for i := range args {
			v[i] = args[i].eval()
		}
		return scalar.Eval(x.Op, t, v[:len(args)]...)
	}}
}

// operations counts those of expressions; what occurs in one several times is computed
// once.
func operations(list ...*stream.Expr) int64 {
	n := int64(0)
	for _, x := range list {
		x.Walk(func(y *stream.Expr) {
			if y.Kind == stream.ApplyExpr || y.Kind == stream.ConvertExpr {
				n++
			}
		})
	}
	return n
}

func (w *walker) affine(x lattice.Expr) func() int64 {
	type term struct {
		at   int
		coef int64
	}
	var terms []term
	for _, name := range x.Symbols() {
		terms = append(terms, term{w.place[name], x.Coef(name)})
	}
	k := x.Offset()
	return func() int64 {
		v := k
		for _, t := range terms {
			v += t.coef * scalar.ToInt(w.typ[t.at], w.env[t.at])
		}
		return v
	}
}

func (w *walker) stream(s *stream.Stream) func() error {
	var when *expr
	if s.If != nil {
		x := w.expr(s.If, nil)
		when = &x
	}
	var read expr
	var index []func() int64
	var data []scalar.Value
	var elem scalar.Value
	size, loops := w.sizes[s.Array], slices.Clone(w.loops)
	if s.Array != "" {
		data = w.mem[s.Array]
		t := w.g.Array(s.Array).Type
		mask := t.Mask()
		read = expr{t, func() scalar.Value { return elem & mask }}
		for _, x := range s.Index {
			index = append(index, w.affine(x))
		}
	}
	value := read
	if s.Value != nil {
		value = w.expr(s.Value, &read)
	}
	at := w.name(s.Name, value.typ)
	whenOps, valueOps := operations(s.If), operations(s.Value)
	return func() error {
		w.ops += whenOps
		if when != nil && when.eval() == 0 {
			if s.Kind != stream.Reduce {
				w.env[at] = 0
			}
			return nil
		}
		w.ops += valueOps
		where := int64(0)
		for d := len(index) - 1; d >= 0; d-- {
			i := index[d]()
			if i < 0 || i >= size[d] {
				return w.outside(s, loops, index, size)
			}
			where = where*size[d] + i
		}
		if data != nil {
			elem = data[where]
		}
		v := value.eval()
		if s.Kind == stream.Store || s.Kind == stream.RMW {
			data[where] = v
		}
		w.env[at] = v
		return nil
	}
}

// outside says which subscript is out of bounds, the first in the order of memory.
func (w *walker) outside(s *stream.Stream, loops []*stream.Loop, index []func() int64, size []int64) error {
	e := &stream.BoundsError{Stream: s.Name, Array: s.Array}
	for d := range index {
		if i := index[d](); i < 0 || i >= size[d] {
			e.Dim, e.Index, e.Size = d, i, size[d]
			break
		}
	}
	var where []string
	for _, l := range loops {
		where = append(where, fmt.Sprintf("%s=%d", l.Var, int64(w.env[w.place[l.Var]])))
	}
	e.Iteration = strings.Join(where, " ")
	return e
}
