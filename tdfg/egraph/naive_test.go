package egraph

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// point is a lattice point, 0 in dimensions that there are not.
type point [tdfg.MaxDims]int64

// tensor is the value of a node as the definition has it: a number at each point of
// a set, or one everywhere.
type tensor struct {
	at         map[point]scalar.Value
	everywhere bool
	value      scalar.Value
}

func (t tensor) get(p point) (scalar.Value, bool) {
	if t.everywhere {
		return t.value, true
	}
	v, ok := t.at[p]
	return v, ok
}

// world has what nodes refer to: sizes, the contents of arrays, parameters.
type world struct {
	scope  *tdfg.Scope
	values map[string]int64
	arrays []map[point]scalar.Value
	params map[string]scalar.Value
	bound  point
}

func newWorld(t testing.TB, scope *tdfg.Scope, values map[string]int64, r *rand.Rand) *world {
	w := &world{scope: scope, values: values, params: map[string]scalar.Value{}, bound: point{1, 1, 1}}
	for i, a := range scope.Arrays {
		box, err := scope.ArrayRect(i).Box(values)
		require.NoError(t, err)
		data := map[point]scalar.Value{}
		points(box, func(p point) { data[p] = randomValue(a.Type, r) })
		w.arrays = append(w.arrays, data)
		for d := range box {
			w.bound[d] = max(w.bound[d], box[d].Hi)
		}
	}
	for _, p := range scope.Params {
		w.params[p.Name] = randomValue(p.Type, r)
	}
	return w
}

// randomValue prefers numbers that are small, special or equal to others.
func randomValue(t scalar.Type, r *rand.Rand) scalar.Value {
	switch k := r.IntN(4); {
	case t.Float() && k == 0:
		special := []float64{0, math.Copysign(0, -1), -1, 1, 65504, 1e30, -1e-30, math.NaN(), math.Inf(-1)}
		return scalar.FromFloat(t, special[r.IntN(len(special))])
	case t.Float():
		return scalar.FromFloat(t, r.NormFloat64()*10)
	case k == 0:
		return r.Uint64() & t.Mask()
	}
	return scalar.FromInt(t, r.Int64N(21)-10)
}

func points(b lattice.Box, f func(p point)) {
	if b.Empty() {
		return
	}
	for q, more := b.First(), true; more; more = b.Next(q) {
		var p point
		copy(p[:], q)
		f(p)
	}
}

func (w *world) expr(x lattice.Expr) int64 {
	v, err := x.Eval(w.values)
	if err != nil {
		panic(err)
	}
	return v
}

// node evaluates a node by its definition in package tdfg, from its operands and
// the type of the last of these. Partial results are those of its Final.
func (w *world) node(n *tdfg.Node, args []tensor, from scalar.Type) tensor {
	out := tensor{at: map[point]scalar.Value{}}
	put := func(p point, v scalar.Value) {
		if p[n.Dim] >= 0 && p[n.Dim] < w.bound[n.Dim] {
			out.at[p] = v
		}
	}
	switch n.Kind {
	case tdfg.Tensor:
		box, err := n.Rect.Box(w.values)
		if err != nil {
			panic(err)
		}
		points(box, func(p point) { out.at[p] = w.arrays[n.Array][p] })
	case tdfg.Const:
		out.everywhere, out.value = true, n.Value
		if n.Param != "" {
			out.value = w.params[n.Param]
		} else if n.Index != nil {
			out.value = scalar.FromInt(n.Type, w.expr(*n.Index))
		}
	case tdfg.Compute, tdfg.Convert:
		f := func(p point) (scalar.Value, bool) {
			vals := make([]scalar.Value, len(args))
			for i, a := range args {
				v, ok := a.get(p)
				if !ok {
					return 0, false
				}
				vals[i] = v
			}
			if n.Kind == tdfg.Convert {
				return scalar.Convert(from, n.Type, vals[0]), true
			}
			return scalar.Eval(n.Op, from, vals...), true
		}
		out.everywhere = true
		for _, a := range args {
			if !a.everywhere {
				out.everywhere = false
				for p := range a.at {
					if v, ok := f(p); ok {
						out.at[p] = v
					}
				}
			}
		}
		if out.everywhere {
			out.value, _ = f(point{})
		}
	case tdfg.Move:
		for p, v := range args[0].at {
			p[n.Dim] += w.expr(n.Dist)
			put(p, v)
		}
	case tdfg.Broadcast:
		for p, v := range args[0].at {
			p[n.Dim] += w.expr(n.Dist)
			for range w.expr(n.Count) {
				put(p, v)
				p[n.Dim]++
			}
		}
	case tdfg.Shrink:
		lo, hi := w.expr(n.Range.Lo), w.expr(n.Range.Hi)
		for p, v := range args[0].at {
			if lo <= p[n.Dim] && p[n.Dim] < hi {
				out.at[p] = v
			}
		}
	case tdfg.Reduce:
		return args[0] // see Final: in one group, which is right for integers
	case tdfg.Final:
		first := map[point]int64{}
		for p := range args[0].at {
			q := p
			q[n.Dim] = 0
			if lo, ok := first[q]; !ok || p[n.Dim] < lo {
				first[q] = p[n.Dim]
			}
		}
		for q, lo := range first {
			p := q
			p[n.Dim] = lo
			acc := args[0].at[p]
			for p[n.Dim]++; ; p[n.Dim]++ {
				v, ok := args[0].at[p]
				if !ok {
					break
				}
				acc = scalar.Eval(n.Op, from, acc, v)
			}
			p[n.Dim] = lo
			out.at[p] = acc
		}
	default:
		panic("no value of a " + n.Kind.String())
	}
	return out
}

// graph evaluates all nodes of a graph.
func (w *world) graph(g *tdfg.Graph) []tensor {
	out := make([]tensor, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		args := make([]tensor, len(n.Args))
		from := scalar.Invalid
		for k, a := range n.Args {
			args[k], from = out[a], g.Nodes[a].Type
		}
		out[i] = w.node(n, args, from)
	}
	return out
}

// requireSame requires that two graphs write the same.
func (w *world) requireSame(t testing.TB, g, h *tdfg.Graph) {
	x, y := w.graph(g), w.graph(h)
	require.Equal(t, len(g.Outputs), len(h.Outputs))
	for i := range g.Outputs {
		require.Equal(t, g.Outputs[i].Array, h.Outputs[i].Array)
		require.Equal(t, g.Outputs[i].Scalar, h.Outputs[i].Scalar)
		require.Equal(t, x[g.Outputs[i].Node], y[h.Outputs[i].Node], "output %d at %v", i, w.values)
	}
}
