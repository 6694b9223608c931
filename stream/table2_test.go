package stream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/scalar"
	"github.com/bitsched/bitsched/stream"
)

// parse reads a graph that the test is sure of.
func parse(t testing.TB, text string) *stream.Graph {
	t.Helper()
	g, err := stream.Parse(text, "test")
	require.NoError(t, err)
	return g
}

// data has the arrays of one case of Table II as a plain program sees them.
type data struct {
	typ               scalar.Type
	a, b, c           []scalar.Value // of typ; a is what the stream accesses
	index, head, next []scalar.Value // int32
	n                 int
	k, acc            scalar.Value // a parameter, and the reduction
}

func (d *data) eval(op scalar.Op, args ...scalar.Value) scalar.Value {
	return scalar.Eval(op, d.typ, args...)
}

func newData(typ scalar.Type, r *rand.Rand) *data {
	const n, size = 50, 64
	d := &data{typ: typ, n: n}
	word := func() scalar.Value {
		if typ.Float() {
			return scalar.FromFloat(typ, float64(r.IntN(65)-32)/8)
		}
		return r.Uint64() & typ.Mask()
	}
	for range size {
		d.a, d.b, d.c = append(d.a, word()), append(d.b, word()), append(d.c, word())
		d.index = append(d.index, scalar.FromInt(scalar.Int32, int64(r.IntN(size-1))))
	}
	// One list through all nodes in random order; -1 ends it.
	order := r.Perm(size)
	d.next = make([]scalar.Value, size)
	for i, at := range order {
		d.next[at] = scalar.FromInt(scalar.Int32, -1)
		if i+1 < size {
			d.next[at] = scalar.Value(order[i+1])
		}
	}
	d.head = []scalar.Value{scalar.Value(order[0])}
	d.k, d.acc = word(), word()
	return d
}

// TestTableII executes the 16 combinations of address patterns and kinds of Table
// II of Near-Stream Computing, on every type, and compares memory and the
// reduction with plain loops. The computations are f(x) = x*k + x for one operand,
// and f(x, y) = x*k + y for two.
func TestTableII(t *testing.T) {
	f1 := func(d *data, x scalar.Value) scalar.Value {
		return d.eval(scalar.Add, d.eval(scalar.Mul, x, d.k), x)
	}
	f2 := func(d *data, x, y scalar.Value) scalar.Value {
		return d.eval(scalar.Add, d.eval(scalar.Mul, x, d.k), y)
	}
	const one, two = "add(mul(@, k), @)", "add(mul(@, k), b)"
	// Loops around the stream under test, and what they are as a plain program:
	// places calls visit with the index into a for each iteration.
	patterns := []struct {
		pattern stream.Pattern
		loop    string
		index   string
		places  func(d *data, visit func(i, at int))
	}{
		{stream.Affine, "for i in [0,n) {\n%s\n}", "i+2", func(d *data, visit func(i, at int)) {
			for i := range d.n {
				visit(i, i+2)
			}
		}},
		{stream.Indirect, "for i in [0,n) {\nload x: I[i]\n%s\n}", "x+1", func(d *data, visit func(i, at int)) {
			for i := range d.n {
				visit(i, int(d.index[i])+1)
			}
		}},
		{stream.PointerChasing, "load h: H[0]\nfor i in [0,inf) while ne(p, int32(-1)) {\n%s\nreduce p: next[p] over i from h\n}", "p", func(d *data, visit func(i, at int)) {
			i := 0
			for p := int32(d.head[0]); p != -1; p = int32(d.next[p]) {
				visit(i, int(p))
				i++
			}
		}},
		{stream.MultiOperand, "for i in [0,n) {\nload b: B[i]\n%s\n}", "i", func(d *data, visit func(i, at int)) {
			for i := range d.n {
				visit(i, i)
			}
		}},
	}
	kinds := []struct {
		kind  stream.Kind
		text  string // with the index and the computation
		plain func(d *data, f func(x scalar.Value) scalar.Value, i, at int)
	}{
		{stream.Load, "load s: A[%s] = %s\nstore out: O[i] = s", func(d *data, f func(scalar.Value) scalar.Value, i, at int) {
			d.c[i] = f(d.a[at])
		}},
		{stream.Store, "store s: A[%s] = %s", func(d *data, f func(scalar.Value) scalar.Value, i, at int) {
			d.a[at] = f(d.k)
		}},
		{stream.RMW, "rmw s: A[%s] = %s", func(d *data, f func(scalar.Value) scalar.Value, i, at int) {
			d.a[at] = f(d.a[at])
		}},
		{stream.Reduce, "reduce s: A[%s] over i from start = add(s, %s)", func(d *data, f func(scalar.Value) scalar.Value, i, at int) {
			d.acc = d.eval(scalar.Add, d.acc, f(d.a[at]))
		}},
	}
	count := 0
	for _, p := range patterns {
		for _, k := range kinds {
			count++
			t.Run(p.pattern.String()+"/"+k.kind.String(), func(t *testing.T) {
				for i, typ := range scalar.Types() {
					d := newData(typ, rand.New(rand.NewPCG(uint64(i), uint64(count))))
					compute := one
					if p.pattern == stream.MultiOperand {
						compute = two
					}
					if k.kind == stream.Store {
						compute = strings.ReplaceAll(compute, "@", "k")
					}
					g := parse(t, fmt.Sprintf("graph g\nsymbol n in [1,65)\narray A %[1]s[64]\narray B %[1]s[64]\narray O %[1]s[64]\n"+
						"array I int32[64]\narray H int32[1]\narray next int32[64]\nparam k %[1]s\nparam start %[1]s\n%[2]s\n",
						typ, fmt.Sprintf(p.loop, fmt.Sprintf(k.text, p.index, compute))))
					s := g.Stream("s")
					require.Equal(t, k.kind, s.Kind)
					require.Equal(t, p.pattern, g.Patterns()[s])

					mem := stream.Memory{"I": d.index, "H": d.head, "next": d.next}
					for name, a := range map[string][]scalar.Value{"A": d.a, "B": d.b, "O": d.c} {
						mem[name] = append([]scalar.Value(nil), a...)
					}
					res, err := g.Run(context.Background(), mem, stream.Args{
						Symbols: map[string]int64{"n": int64(d.n)}, Params: map[string]scalar.Value{"k": d.k, "start": d.acc},
					})
					require.NoError(t, err)

					p.places(d, func(i, at int) {
						f := func(x scalar.Value) scalar.Value { return f1(d, x) }
						if p.pattern == stream.MultiOperand {
							f = func(x scalar.Value) scalar.Value { return f2(d, x, d.b[i]) }
						}
						k.plain(d, f, i, at)
					})
					require.Equal(t, d.a, mem["A"])
					require.Equal(t, d.b, mem["B"])
					require.Equal(t, d.c, mem["O"])
					if k.kind == stream.Reduce {
						acc, _ := res.Value("s")
						require.Equal(t, d.acc, acc)
					}
				}
			})
		}
	}
	require.Equal(t, 16, count)
}
