package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// typed is a value with its type.
type typed struct {
	typ scalar.Type
	v   scalar.Value
}

// naive executes a graph by walking it, with a map for the names: the oracle of
// Program. It counts what each stream does.
type naive struct {
	g      *stream.Graph
	mem    stream.Memory
	env    map[string]typed // what has a value now
	last   map[string]typed // what streams had for a value
	counts map[string]*stream.Count
}

// get returns the value of a name, which must have one.
func (n *naive) get(name string) typed {
	v, ok := n.env[name]
	if !ok {
		panic("no value of " + name)
	}
	return v
}

func (n *naive) set(name string, v typed) { n.env[name], n.last[name] = v, v }

// stop ends a naive run: an access is out of bounds.
type stop struct{ err stream.BoundsError }

func (n *naive) affine(x lattice.Expr) int64 {
	values := map[string]int64{}
	for _, name := range x.Symbols() {
		v := n.get(name)
		values[name] = scalar.ToInt(v.typ, v.v)
	}
	v, err := x.Eval(values)
	if err != nil {
		panic(err)
	}
	return v
}

func (n *naive) expr(x *stream.Expr, elem typed, ops *int64) typed {
	switch x.Kind {
	case stream.ElemExpr:
		return elem
	case stream.RefExpr:
		return n.get(x.Name)
	case stream.ConstExpr:
		return typed{x.Type, x.Bits}
	case stream.ConvertExpr:
		a := n.expr(x.Args[0], elem, ops)
		*ops++
		return typed{x.Type, scalar.Convert(a.typ, x.Type, a.v)}
	}
	var args []scalar.Value
	var t scalar.Type
	var types []scalar.Type
	for _, y := range x.Args {
		a := n.expr(y, elem, ops)
		args, types, t = append(args, a.v), append(types, a.typ), a.typ
	}
	for i := range types {
		if types[i] != x.Op.ArgType(t, i) {
			panic("types of " + x.String())
		}
	}
	*ops++
	return typed{x.Op.Result(t), scalar.Eval(x.Op, t, args...)}
}

// place returns the element that a stream is at.
func (n *naive) place(s *stream.Stream, where string) *scalar.Value {
	a := n.g.Array(s.Array)
	at, mult := int64(0), int64(1)
	for d, x := range s.Index {
		v, size := n.affine(x), n.affine(a.Size[d])
		if v < 0 || v >= size {
			panic(stop{stream.BoundsError{Stream: s.Name, Array: s.Array, Iteration: where, Dim: d, Index: v, Size: size}})
		}
		at += v * mult
		mult *= size
	}
	return &n.mem[s.Array][at]
}

func (n *naive) stream(s *stream.Stream, where string, types map[*stream.Stream]scalar.Type) {
	count := n.counts[s.Name]
	count.Iterations++
	var ops int64
	defer func() { count.Ops += ops }()
	if s.If != nil && n.expr(s.If, typed{}, &ops).v == 0 {
		if s.Kind != stream.Reduce {
			n.set(s.Name, typed{types[s], 0})
		}
		return
	}
	count.Executed++
	var elem typed
	var p *scalar.Value
	if s.Array != "" {
		p = n.place(s, where)
		elem = typed{n.g.Array(s.Array).Type, *p}
		if s.Kind != stream.Store {
			count.BytesRead += int64(elem.typ.Bytes())
		}
	}
	v := elem
	if s.Value != nil {
		v = n.expr(s.Value, elem, &ops)
	}
	if s.Kind == stream.Store || s.Kind == stream.RMW {
		*p = v.v
		count.BytesWritten += int64(v.typ.Bytes())
	}
	if v.typ != types[s] {
		panic("type of " + s.Name)
	}
	n.set(s.Name, v)
}

func (n *naive) body(body []stream.Stmt, where string, types map[*stream.Stream]scalar.Type) {
	var ops int64 // those of loops belong to no stream
	for _, st := range body {
		switch st := st.(type) {
		case *stream.Stream:
			n.stream(st, where, types)
		case *stream.Loop:
			sub := &stream.Graph{Body: st.Body}
			var inits []typed
			for _, s := range sub.Streams() {
				if s.Over == st.Var {
					inits = append(inits, n.expr(s.Init, typed{}, &ops))
				}
			}
			lo := n.affine(st.Range.Lo)
			var list []int64
			hi := int64(0)
			if !st.Open {
				hi = n.affine(st.Range.Hi)
			}
			for _, s := range sub.Streams() {
				if s.Over == st.Var {
					n.set(s.Name, inits[0])
					inits = inits[1:]
				}
			}
			// forget drops the values of the iteration; a reduction over an inner loop
			// has none before that loop.
			forget := func() {
				sub.Walk(func(inner []*stream.Loop, s *stream.Stream) {
					if s.Kind != stream.Reduce || slices.ContainsFunc(inner, func(l *stream.Loop) bool { return l.Var == s.Over }) {
						delete(n.env, s.Name)
					}
				})
			}
			if st.Open {
				list = append(list, lo)
			} else {
				for v := lo; v < hi && st.Step >= 0; v += st.Stride() {
					list = append(list, v)
				}
				for v := hi - 1; v >= lo && st.Step < 0; v += st.Step {
					list = append(list, v)
				}
			}
			for i := 0; i < len(list); i++ {
				v := list[i]
				if st.Open {
					list = append(list, v+st.Stride())
				}
				n.env[st.Var] = typed{scalar.Int64, scalar.Value(v)}
				if st.While != nil && n.expr(st.While, typed{}, &ops).v == 0 {
					break
				}
				inner := fmt.Sprintf("%s=%d", st.Var, v)
				if where != "" {
					inner = where + " " + inner
				}
				n.body(st.Body, inner, types)
				forget()
			}
			delete(n.env, st.Var)
		}
	}
}

// runNaive executes the graph on mem, and returns the counts or where it stopped.
func runNaive(g *stream.Graph, mem stream.Memory, args stream.Args, types map[*stream.Stream]scalar.Type) (n *naive, err error) {
	n = &naive{g, mem, map[string]typed{}, map[string]typed{}, map[string]*stream.Count{}}
	for name, v := range args.Symbols {
		n.env[name] = typed{scalar.Int64, scalar.Value(v)}
	}
	for _, p := range g.Params {
		n.env[p.Name] = typed{p.Type, args.Params[p.Name]}
	}
	for _, s := range g.Streams() {
		n.counts[s.Name] = &stream.Count{Stream: s}
	}
	defer func() {
		if r := recover(); r != nil {
			s, ok := r.(stop)
			if !ok {
				panic(r)
			}
			err = &s.err
		}
	}()
	n.body(g.Body, "", types)
	return n, nil
}

// generator makes random graphs that Check accepts: nests of loops, also
// triangular and backward, with all kinds of streams.
type generator struct {
	r       *rand.Rand
	g       *stream.Graph
	names   int
	visible []typedName
	elem    scalar.Type
}

type typedName struct {
	name  string
	typ   scalar.Type
	isVar bool // variable of a loop
	small bool // an integer that may be a subscript
}

func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

func (g *generator) typ() scalar.Type {
	return scalar.Types()[g.r.IntN(len(scalar.Types()))]
}

func word(r *rand.Rand, t scalar.Type) scalar.Value {
	switch {
	case t.Float() && r.IntN(4) > 0:
		return scalar.FromFloat(t, float64(r.IntN(65)-32)/8)
	case t.Float():
		return stream.Const(t, r.Uint64()).Bits
	case r.IntN(2) == 0:
		return scalar.FromInt(t, int64(r.IntN(7)-3))
	}
	return r.Uint64() & t.Mask()
}

// expr returns an expression of type t.
func (g *generator) expr(t scalar.Type, depth int) *stream.Expr {
	if depth > 0 && g.r.IntN(4) > 0 {
		for {
			op := scalar.Ops()[g.r.IntN(len(scalar.Ops()))]
			in := t
			if op.Compares() {
				in = g.typ()
			}
			if op.Result(in) != t || !op.Supports(in) {
				if t != scalar.Bool && g.r.IntN(8) == 0 {
					return stream.Convert(t, g.expr(append(scalar.Types(), scalar.Bool)[g.r.IntN(len(scalar.Types())+1)], depth-1))
				}
				continue
			}
			x := &stream.Expr{Kind: stream.ApplyExpr, Op: op}
			for i := range op.Arity() {
				if i > 0 && g.r.IntN(8) == 0 && op.ArgType(in, i) == op.ArgType(in, i-1) {
					x.Args = append(x.Args, x.Args[i-1]) // shared
					continue
				}
				x.Args = append(x.Args, g.expr(op.ArgType(in, i), depth-1))
			}
			return x
		}
	}
	var list []*stream.Expr
	if g.elem == t {
		list = append(list, stream.Elem())
	}
	for _, v := range g.visible {
		if v.typ == t {
			list = append(list, stream.Ref(v.name))
		}
	}
	if len(list) == 0 || g.r.IntN(4) == 0 {
		return stream.Const(t, word(g.r, t))
	}
	return list[g.r.IntN(len(list))]
}

// index returns a subscript that is most often inside an array of 2*N+6.
func (g *generator) index(vars int) lattice.Expr {
	x := lattice.Const(int64(g.r.IntN(4)))
	if g.r.IntN(40) == 0 {
		x = x.Plus(-2)
	}
	for _, v := range g.visible {
		if (v.isVar || v.small) && vars > 0 && g.r.IntN(2) == 0 {
			vars--
			c := int64(1)
			if g.r.IntN(6) == 0 {
				c = 2
			}
			if g.r.IntN(6) == 0 {
				x, c = x.Add(lattice.Sym("N")), -1
			}
			x = x.Add(lattice.Sym(v.name).Scale(c))
		}
	}
	return x
}

func (g *generator) stream(over []string) *stream.Stream {
	s := &stream.Stream{Name: g.name("s"), Kind: stream.Kind(g.r.IntN(4))}
	a := &g.g.Arrays[g.r.IntN(len(g.g.Arrays))]
	if s.Kind == stream.Reduce && len(over) == 0 || a.Name == "I" {
		s.Kind = stream.Load
	}
	g.elem = scalar.Invalid
	if g.r.IntN(4) == 0 {
		s.If = g.expr(scalar.Bool, 2)
	}
	if s.Kind != stream.Reduce || g.r.IntN(2) == 0 {
		s.Array = a.Name
		for range a.Size {
			s.Index = append(s.Index, g.index(2))
		}
		if s.Kind != stream.Store {
			g.elem = a.Type
		}
	}
	t := a.Type
	switch {
	case s.Kind == stream.Load && a.Name == "I":
		// Stays a subscript.
	case s.Kind == stream.Load:
		if g.r.IntN(2) == 0 {
			t = g.typ()
			s.Value = g.expr(t, 3)
		}
	case s.Kind == stream.Reduce:
		s.Over = over[g.r.IntN(len(over))]
		if s.Array == "" || g.r.IntN(4) > 0 {
			t = g.typ()
			g.visible = append(g.visible, typedName{s.Name, t, false, false})
			s.Value = g.expr(t, 3)
			g.visible = g.visible[:len(g.visible)-1]
		}
		g.elem = scalar.Invalid
		s.Init = stream.Const(t, word(g.r, t))
	default:
		s.Value = g.expr(t, 3)
	}
	g.visible = append(g.visible, typedName{s.Name, t, false, a.Name == "I" && s.Kind == stream.Load})
	return s
}

func (g *generator) body(depth int, over []string) []stream.Stmt {
	var list []stream.Stmt
	for range 1 + g.r.IntN(3) {
		if depth > 0 && g.r.IntN(2) == 0 {
			l := &stream.Loop{Var: g.name("i"), Range: lattice.Interval{Lo: lattice.Const(int64(g.r.IntN(3))), Hi: lattice.Sym("N")}}
			for _, v := range g.visible {
				if v.isVar && g.r.IntN(3) == 0 {
					l.Range.Lo = lattice.Sym(v.name).Plus(int64(g.r.IntN(2))) // triangular
				}
				if v.small && g.r.IntN(6) == 0 {
					l.Range.Hi = lattice.Sym(v.name).Plus(1) // depends on data
				}
			}
			if g.r.IntN(2) == 0 {
				l.Step = []int64{-1, 2, 3, -2}[g.r.IntN(4)]
			}
			inner := len(g.visible)
			g.visible = append(g.visible, typedName{l.Var, scalar.Int64, true, false})
			if g.r.IntN(5) == 0 {
				g.elem = scalar.Invalid
				l.While = g.expr(scalar.Bool, 2)
				if l.Step >= 0 && g.r.IntN(2) == 0 {
					l.Open = true
					l.Range.Hi = lattice.Expr{}
					l.While = stream.Apply(scalar.And, l.While, stream.Apply(scalar.Lt, stream.Ref(l.Var), stream.Int(scalar.Int64, 5)))
				}
			}
			l.Body = g.body(depth-1, append(over, l.Var))
			// Of what is in the loop only its own reductions are visible after it.
			g.visible = g.visible[:inner]
			sub := &stream.Graph{Body: l.Body}
			for _, s := range sub.Streams() {
				if s.Over == l.Var {
					g.visible = append(g.visible, typedName{s.Name, s.Init.Type, false, false})
				}
			}
			list = append(list, l)
		} else {
			list = append(list, g.stream(over))
		}
	}
	return list
}

func randomGraph(seed uint64) (*stream.Graph, stream.Memory, stream.Args) {
	r := rand.New(rand.NewPCG(seed, 7))
	syms := lattice.NewSpace()
	if err := syms.Declare("N", lattice.Const(1), lattice.Expr{}, false); err != nil {
		panic(err)
	}
	g := &generator{r: r, g: &stream.Graph{Name: "random", Symbols: syms}}
	n := int64(1 + r.IntN(5))
	side := lattice.Sym("N").Scale(2).Plus(6)
	mem := stream.Memory{}
	g.g.Arrays = []stream.Array{{Name: "I", Type: scalar.Int16, Size: []lattice.Expr{side}}}
	for i := range 3 {
		a := stream.Array{Name: fmt.Sprintf("A%d", i), Type: g.typ()}
		for range 1 + r.IntN(3) {
			a.Size = append(a.Size, side)
		}
		g.g.Arrays = append(g.g.Arrays, a)
	}
	for _, a := range g.g.Arrays {
		total := 1
		for range a.Size {
			total *= int(2*n + 6)
		}
		data := make([]scalar.Value, total)
		for i := range data {
			data[i] = word(r, a.Type)
			if a.Name == "I" {
				data[i] = scalar.Value(r.IntN(int(n) + 1))
			}
		}
		mem[a.Name] = data
	}
	args := stream.Args{Symbols: map[string]int64{"N": n}, Params: map[string]scalar.Value{}}
	g.visible = append(g.visible, typedName{"N", scalar.Int64, false, false})
	for i := range 2 {
		p := stream.Param{Name: fmt.Sprintf("p%d", i), Type: g.typ()}
		g.g.Params = append(g.g.Params, p)
		args.Params[p.Name] = word(r, p.Type)
		g.visible = append(g.visible, typedName{p.Name, p.Type, false, false})
	}
	g.g.Body = g.body(3, nil)
	return g.g, mem, args
}

func clone(mem stream.Memory) stream.Memory {
	c := stream.Memory{}
	for name, a := range mem {
		c[name] = append([]scalar.Value(nil), a...)
	}
	return c
}

// compare runs a graph both ways, and reports whether it ran to its end.
func compare(t *testing.T, seed uint64, g *stream.Graph, mem stream.Memory, args stream.Args) bool {
	types, err := g.ValueTypes()
	require.NoError(t, err, "seed %d\n%s", seed, g)
	want := clone(mem)
	n, wantErr := runNaive(g, want, args, types)
	res, err := g.Run(context.Background(), mem, args)
	require.Equal(t, want, mem, "seed %d\n%s", seed, g)
	if wantErr != nil {
		var e *stream.BoundsError
		require.True(t, errors.As(err, &e), "seed %d: %v\n%s", seed, err, g)
		require.Equal(t, wantErr, e, "seed %d\n%s", seed, g)
		return false
	}
	require.NoError(t, err, "seed %d\n%s", seed, g)
	for _, c := range res.Streams {
		want := *n.counts[c.Stream.Name]
		// A shared subexpression counts once in a run and as often as it is used here.
		require.LessOrEqual(t, c.Ops, want.Ops)
		want.Ops = c.Ops
		require.Equal(t, want, c, "seed %d\n%s", seed, g)
		if c.Iterations > 0 {
			v, _ := res.Value(c.Stream.Name)
			require.Equal(t, n.last[c.Stream.Name].v, v, "seed %d, %s\n%s", seed, c.Stream.Name, g)
		}
	}
	return true
}

// TestRandomGraphs compares runs with those of the naive executor: memory, values,
// counts and errors.
func TestRandomGraphs(t *testing.T) {
	done, stopped, seen := 0, 0, map[string]int{}
	for seed := range uint64(1500) {
		g, mem, args := randomGraph(seed)
		require.NoError(t, g.Check(), "seed %d\n%s", seed, g)
		for _, s := range g.Streams() {
			seen[s.Kind.String()+" "+g.Patterns()[s].String()]++
		}
		back, err := stream.Parse(g.String(), "back")
		require.NoError(t, err, "seed %d\n%s", seed, g)
		require.Equal(t, g.String(), back.String())
		if compare(t, seed, g, mem, args) {
			done++
		} else {
			stopped++
		}
	}
	require.Greater(t, done, 500)
	require.Greater(t, stopped, 30)
	for _, k := range []string{"load", "store", "rmw", "reduce"} {
		for _, p := range []string{"affine", "indirect", "multi-operand"} {
			require.Greater(t, seen[k+" "+p], 20, "%s %s", k, p)
		}
	}
}

// disturb changes something in a graph, which Check may then refuse.
func disturb(r *rand.Rand, g *stream.Graph) {
	streams := g.Streams()
	s := streams[r.IntN(len(streams))]
	bodies := []*[]stream.Stmt{&g.Body}
	names := []string{"N", "p0", "p1"}
	for _, s := range streams {
		names = append(names, s.Name)
		for _, l := range g.Loops(s) {
			bodies, names = append(bodies, &l.Body), append(names, l.Var)
		}
	}
	name := names[r.IntN(len(names))]
	body := bodies[r.IntN(len(bodies))]
	i, j := r.IntN(len(*body)), r.IntN(len(*body))
	switch r.IntN(6) {
	case 0:
		(*body)[i], (*body)[j] = (*body)[j], (*body)[i]
	case 1:
		// The same stream elsewhere.
		other := bodies[r.IntN(len(bodies))]
		moved := (*body)[i]
		if _, ok := moved.(*stream.Stream); ok {
			*body = slices.Delete(*body, i, i+1)
			*other = append(*other, moved)
		}
	case 2:
		if s.Over != "" {
			s.Over = name
		}
	case 3:
		if len(s.Index) > 0 {
			s.Index[0] = lattice.Sym(name)
		}
	default:
		for _, x := range []*stream.Expr{s.Value, s.If, s.Init} {
			x.Walk(func(y *stream.Expr) {
				if y.Kind == stream.RefExpr && r.IntN(2) == 0 {
					y.Name = name
				}
			})
		}
	}
}

// TestCheckIsSound disturbs graphs. Those that Check still accepts must run: the
// naive executor panics where a name has no value, or one of another type.
func TestCheckIsSound(t *testing.T) {
	accepted, refused := 0, 0
	for seed := range uint64(1500) {
		g, mem, args := randomGraph(seed)
		before := g.String()
		r := rand.New(rand.NewPCG(seed, 1))
		for range 1 + r.IntN(2) {
			disturb(r, g)
		}
		switch {
		case g.Check() != nil:
			refused++
		case g.String() != before:
			accepted++
			compare(t, seed, g, mem, args)
		}
	}
	require.Greater(t, accepted, 200)
	require.Greater(t, refused, 200)
}
