package stream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// TestPatterns has streams whose pattern is not plain from their subscripts.
func TestPatterns(t *testing.T) {
	g := parse(t, `graph g
symbol N in [1,inf)
array A int32[N][N]
array B int32[N]
array left int32[N]
array right int32[N]
param key int32
for i in [0,N) step 2 {
	load b: B[i+1]
	load x: A[b][b+i]
	load y: A[x][0]
	load half: B[i] = shr(@, int32(1))
	load z: B[half]
	reduce count over i from int32(0) = add(count, int32(1)) if lt(b, key)
	store packed: B[count] = b
	reduce sum over i from int32(0) = add(sum, b)
	reduce dot over i from int32(0) = add(dot, mul(b, x))
	for j in [i,N) {
		load w: A[i][j]
	}
}
for n in [0,inf) while ne(p, int32(-1)) {
	load k: B[p]
	load l: left[p]
	load r: right[p]
	load v: B[k]
	reduce p over n from int32(0) = select(lt(key, k), l, r)
}
`)
	want := map[string]string{
		"b": "affine, i_0^N:2 B[i+1]", "x": "indirect, i_0^N:2 A[B[i+1]][B[i+1]+i]", "y": "indirect, i_0^N:2 A[A[B[i+1]][B[i+1]+i]][0]",
		"half": "affine, i_0^N:2 B[i]", "z": "indirect, i_0^N:2 B[half]",
		"count": "affine, i_0^N:2", "packed": "indirect, i_0^N:2 B[count]", "sum": "affine, i_0^N:2", "dot": "multi-operand, i_0^N:2",
		"w": "affine, i_0^N:2 j_i^N A[i][j]",
		"k": "pointer-chasing, n_0^{inf} B[p]", "l": "pointer-chasing, n_0^{inf} left[p]", "r": "pointer-chasing, n_0^{inf} right[p]",
		"v": "indirect, n_0^{inf} B[B[p]]", "p": "multi-operand, n_0^{inf}",
	}
	patterns := g.Patterns()
	for _, s := range g.Streams() {
		require.Equal(t, want[s.Name], patterns[s].String()+", "+g.AccessPattern(s))
		delete(want, s.Name)
	}
	require.Empty(t, want)

	var deps []string
	for _, d := range g.Deps() {
		to := "loop"
		if s, ok := d.To.(*stream.Stream); ok {
			to = s.Name
		}
		deps = append(deps, fmt.Sprintf("%s %s %s", d.From.Name, d.Kind, to))
	}
	require.Equal(t, strings.Split("b address x,x address y,half address z,count value count,b condition count,count address packed,b value packed,"+
		"sum value sum,b value sum,dot value dot,b value dot,x value dot,p loop loop,p address k,p address l,p address r,k address v,k value p,l value p,r value p", ","), deps)
}

func TestReduction(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{"add(s, a)", "add a"},
		{"add(a, s)", "add a"},
		{"max(mul(a, a), s)", "max mul(a, a)"},
		{"sub(s, a)", "sub a"},
		{"sub(a, s)", ""},
		{"add(s, s)", ""},
		{"add(a, a)", ""},
		{"neg(s)", ""},
	} {
		g := parse(t, "graph g\narray A int32[8]\nfor i in [0,8) {\nload a: A[i]\nreduce s over i from int32(0) = "+c.value+"\n}\n")
		op, x, ok := g.Stream("s").Reduction()
		require.Equal(t, c.want != "", ok, c.value)
		if ok {
			require.Equal(t, c.want, op.String()+" "+x.String())
		}
	}
}

// TestFootprint runs random affine nests and compares what they touch with what
// Footprint and Trips say.
func TestFootprint(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	exact, hulls := 0, 0
	for range 3000 {
		const size = 90
		g := &stream.Graph{Name: "g", Symbols: lattice.NewSpace(), Arrays: []stream.Array{{Name: "A", Type: scalar.Int8, Size: []lattice.Expr{lattice.Const(size), lattice.Const(size)}}}}
		require.NoError(t, g.Symbols.Declare("N", lattice.Const(1), lattice.Expr{}, false))
		n := int64(1 + r.IntN(6))
		s := &stream.Stream{Name: "s", Kind: stream.Store, Array: "A", Value: stream.Int(scalar.Int8, 1)}
		vars := []string{"i", "j", "k"}[:1+r.IntN(3)]
		body := &g.Body
		for k, v := range vars {
			l := &stream.Loop{Var: v, Range: lattice.Interval{Lo: lattice.Const(int64(r.IntN(2))), Hi: lattice.Sym("N").Plus(2)}}
			if r.IntN(4) == 0 {
				l.Range.Hi = lattice.Const(2 + int64(r.IntN(6)))
			}
			if k > 0 && r.IntN(4) == 0 {
				l.Range.Lo = lattice.Sym(vars[r.IntN(k)])
			}
			if r.IntN(3) == 0 {
				l.Step = []int64{-1, 2, -2, 3}[r.IntN(4)]
			}
			*body = append(*body, l)
			body = &l.Body
		}
		*body = append(*body, s)
		for range 2 {
			x := lattice.Const(43 + int64(r.IntN(3)))
			for _, v := range vars {
				if r.IntN(2) == 0 {
					x = x.Add(lattice.Sym(v).Scale([]int64{1, 1, 1, -1, 2, -2}[r.IntN(6)]))
				}
			}
			s.Index = append(s.Index, x)
		}
		args := stream.Args{Symbols: map[string]int64{"N": n}}
		mem := stream.Memory{"A": make([]scalar.Value, size*size)}
		res, err := g.Run(context.Background(), mem, args)
		require.NoError(t, err)
		trips, err := g.Trips(context.Background(), s, args.Symbols)
		require.NoError(t, err)
		require.Equal(t, res.Streams[0].Iterations, trips)

		f, ok := g.Footprint(s)
		require.True(t, ok)
		box, err := f.Rect.Box(args.Symbols)
		require.NoError(t, err)
		touched := 0
		for at, v := range mem["A"] {
			if v != 0 {
				require.True(t, box.Has([]int64{int64(at % size), int64(at / size)}), "%s%s", g, f.Rect)
				touched++
			}
		}
		if f.Exact && trips > 0 {
			exact++
			require.EqualValues(t, box.Size(), touched, "%s%s", g, f.Rect)
		} else {
			hulls++
		}
	}
	require.Greater(t, exact, 200)
	require.Greater(t, hulls, 200)
}

// TestFootprintByHand has the least rectangles, and whether all of them is accessed.
func TestFootprintByHand(t *testing.T) {
	for text, want := range map[string]string{
		"for i in [0,8) {\nload a: A[i+1]\n}\n":                        "[1,9) true",
		"for i in [0,8) {\nload a: A[9-i]\n}\n":                        "[2,10) true",
		"for i in [0,8) step -1 {\nload a: A[i]\n}\n":                  "[0,8) true",
		"for i in [0,8) step 3 {\nload a: A[i]\n}\n":                   "[0,7) false", // 0, 3, 6
		"for i in [0,8) step -3 {\nload a: A[i]\n}\n":                  "[1,8) false", // 7, 4, 1
		"for i in [0,7) step 3 {\nload a: A[9-i]\n}\n":                 "[3,10) false",
		"for i in [0,4) {\nload a: A[2*i]\n}\n":                        "[0,7) false",
		"for i in [0,4) {\nload a: A[i] if lt(i, int64(3))\n}\n":       "[0,4) false",
		"for i in [2,4) {\nfor j in [0,8) {\nload a: B[i][j]\n}\n}\n":  "[0,8)x[2,4) true",
		"for i in [2,4) {\nfor j in [0,8) {\nload a: B[j][i]\n}\n}\n":  "[2,4)x[0,8) true",
		"for i in [2,4) {\nload a: B[i][i]\n}\n":                       "[2,4)x[2,4) false",
		"for i in [2,5) {\nfor j in [i,8) {\nload a: A[j]\n}\n}\n":     "[2,8) false",
		"for i in [2,5) {\nfor j in [0,i) {\nload a: A[j]\n}\n}\n":     "[0,4) false",
		"for i in [2,5) {\nfor j in [0,4) {\nload a: A[2*i-j]\n}\n}\n": "[1,9) false",
		"for i in [0,N) {\nload a: A[i]\n}\n":                          "[0,N) true",
		"for i in [0,N) step 2 {\nload a: A[N-i-1]\n}\n":               "[0,N) false",
	} {
		g := parse(t, "graph g\nsymbol N in [1,10)\narray A int32[10]\narray B int32[8][8]\n"+text)
		f, ok := g.Footprint(g.Stream("a"))
		require.True(t, ok)
		require.Equal(t, want, fmt.Sprint(f.Rect, f.Exact), text)
	}
}

func TestFootprintOfData(t *testing.T) {
	g := parse(t, "graph g\narray A int32[8]\nfor i in [0,8) {\nload a: A[i]\nload b: A[a]\nload c: A[7-i] if ne(a, b)\nfor j in [0,a) {\nload d: A[j]\n}\n}\nfor k in [0,8) while lt(k, int64(3)) {\nload e: A[k]\n}\n")
	for name, want := range map[string]string{"a": "[0,8) true", "b": "", "c": "[0,8) false", "d": "", "e": ""} {
		s := g.Stream(name)
		f, ok := g.Footprint(s)
		require.Equal(t, want != "", ok, name)
		require.Equal(t, ok, g.IsAffine(s))
		if ok {
			require.Equal(t, want, fmt.Sprint(f.Rect, f.Exact))
		}
	}
	_, err := g.Trips(context.Background(), g.Stream("d"), nil)
	require.EqualError(t, err, "stream: d: the number of iterations depends on data")
}

func TestDOT(t *testing.T) {
	g := parse(t, "graph g\narray A int32[8]\nload n: A[0]\nfor i in [0,n) {\nload a: A[i]\nload b: A[a]\nstore c: A[i] = b if ne(a, b)\n}\n")
	var b strings.Builder
	require.NoError(t, g.WriteDOT(&b))
	require.Equal(t, `digraph "g" {
	node [shape=box, fontname=monospace];
	s0 [label="load n: A[0]"];
	subgraph cluster_1 {
		label="for i in [0,n)"; labeljust=l;
		l1 [shape=point];
		s2 [label="load a: A[i]"];
		s3 [label="load b: A[a]"];
		s4 [label="store c: A[i] = b if ne(a, b)"];
	}
	s0 -> l1 [style=dotted];
	s2 -> s3 [style=dashed];
	s3 -> s4 [style=solid];
	s2 -> s4 [style=dotted];
	s3 -> s4 [style=dotted];
}
`, b.String())
	require.Equal(t, []string{"n", "a", "b", "c"}, names(g.Streams()))
}

func names(list []*stream.Stream) []string {
	var n []string
	for _, s := range list {
		n = append(n, s.Name)
	}
	return slices.Clip(n)
}
