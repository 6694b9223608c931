package tdfg_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/tdfgtest"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// text has every kind of node and every declaration, in the form of String.
const text = `program example
symbol N in [4,inf)
symbol M in [4,N+1)
array A fp32[N] on 0
array C fp32[M][N] on 1 0
array I int32[M] on 1
scalar s fp32 = 0
scalar n int32 = -3
scalar w fp32 input
for k in [0,M-1) step 1 {
  region row dims 2 {
    array A fp32[N] on 0
    array C fp32[M][N] on 1 0
    array I int32[M] on 1
    param s fp32
    param n int32
    param w fp32
    %0 = tensor C [0,N)x[k,k+1)              # fp32 [0,N)x[k,k+1)
    %1 = mv %0 dim 1 dist -k                 # fp32 [0,N)x[0,1)
    %2 = bc %0 dim 1 dist 1 count M-k-1      # fp32 [0,N)x[k+1,M)
    %3 = const fp32 0.1                      # fp32 everywhere
    %4 = const param w                       # fp32 everywhere
    %5 = const int32 index k+1               # int32 everywhere
    %6 = convert fp32 %5                     # fp32 everywhere
    %7 = cmp fma %2 %4 %6                    # fp32 [0,N)x[k+1,M)
    %8 = shrink %7 dim 0 to [1,N-1)          # fp32 [1,N-1)x[k+1,M)
    %9 = reduce add %1 dim 0 group 256       # fp32 [0,N)x[0,1)
    %10 = final add %9 dim 0                 # fp32 [0,1)x[0,1)
    %11 = cmp lt %3 %1                       # bool [0,N)x[0,1)
    %12 = cmp select %11 %1 %3               # fp32 [0,N)x[0,1)
    %13 = strm fp32 A A=%12 {  # fp32 [0,N)x[0,1)
      graph halve
      symbol N in [4,inf)
      array A fp32[N]
      for i in [0,N) {
        rmw a: A[i] = mul(@, fp32(0.5))
      }
    }
    store %8 C
    store %13 A
    result %10 s
  }
}
`

func TestText(t *testing.T) {
	p, err := tdfg.ParseProgram("example.tdfg", text)
	require.NoError(t, err)
	require.Equal(t, text, p.String())
	g := p.Regions()[0].Graph
	require.Len(t, g.Nodes, 14)
	back, err := tdfg.ParseGraph("graph.tdfg", g.String())
	require.NoError(t, err)
	require.Equal(t, g.String(), back.String())
}

// TestTextOfRandomGraphs reads what was written, and gets the same nodes.
func TestTextOfRandomGraphs(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: scalar.Types()[seed%uint64(len(scalar.Types()))], Nodes: 15, Reuse: true, Views: seed%2 == 0})
		back, err := tdfg.ParseGraph("g", g.String())
		require.NoError(t, err, g.String())
		require.Equal(t, len(g.Nodes), len(back.Nodes))
		for i := range g.Nodes {
			require.Equal(t, g.Nodes[i].Kind, back.Nodes[i].Kind)
			require.Equal(t, g.Nodes[i].Args, back.Nodes[i].Args)
			require.Equal(t, g.Nodes[i].Value, back.Nodes[i].Value)
			require.True(t, g.Nodes[i].Domain.Equal(back.Nodes[i].Domain))
		}
		require.Equal(t, g.Outputs, back.Outputs)
		require.Equal(t, g.String(), back.String())
	}
}

// view is a program with a region that has these arrays and stores to all of them.
func view(arrays string) string {
	text := "program p\nsymbol N in [3,inf)\narray A fp32[2*N]\nregion r dims 2 {\narray A fp32[2*N]\n" + arrays + "\n" +
		"%0 = const fp32 1\n%1 = tensor V [0,1)x[0,1)\nstore %1 V\n"
	if strings.Contains(arrays, "array W") {
		text += "store %1 W\n"
	}
	return text + "}\n"
}

func TestParseErrors(t *testing.T) {
	edit := func(old, repl string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, repl, 1)
	}
	for _, c := range []struct{ text, want string }{
		{"", "f:1: expected program NAME"},
		{edit("scalar n int32 = -3", "scalar n int32 := -3"), "f:8: expected scalar NAME TYPE input or scalar NAME TYPE = VALUE"},
		{edit("scalar w fp32 input", "scalar w fp32 given"), "f:9: expected scalar NAME TYPE input or scalar NAME TYPE = VALUE"},
		{edit("scalar w fp32 input", "scalar w fp32"), "f:9: expected scalar NAME TYPE input or scalar NAME TYPE = VALUE"},
		{edit("scalar w fp32 input", "scalar w fp32 input = 3"), "f:9: expected scalar NAME TYPE input or scalar NAME TYPE = VALUE"},
		{edit("= mv %0 dim 1", "= mv %0 dimension 1"), `f:19: "dimension", expected dim`},
		{edit("dim 0 group 256", "dim 0 groups 256"), `f:27: "groups", expected group`},
		{edit("dim 0 to [1", "dim 0 from [1"), `f:26: "from", expected to`},
		{edit("result %10 s", "result %10 z"), `f:42: tdfg: output 2: no scalar "z"`},
		{edit("%1 = mv %0", "%1 = mv %7"), "f:19: tdfg: mv: operand 0 is node 7, expected 0 to 0"},
		{edit("%1 = mv", "%2 = mv"), `f:19: "%2", expected %1: nodes are numbered in order`},
		{edit("dist -k  ", "dist -z  "), "f:19: tdfg: mv: lattice: symbol z is not declared"},
		{edit("dim 1 dist -k", "dim 1"), "f:19: end of line, expected more"},
		{edit("= mv", "= shift"), `f:19: "shift", expected one of tensor, const, cmp, convert, mv, bc, shrink, reduce, final, strm`},
		{edit("cmp fma", "cmp fms"), `f:25: scalar: unknown operation "fms"`},
		{edit("const fp32 0.1", "const fp33 0.1"), `f:21: scalar: unknown type "fp33", expected int8 to int64, uint8 to uint64, fp16, bf16, fp32, fp64 or bool`},
		{edit("    store %13 A\n", "    store %13 B\n"), "f:40: no array B"},
		{edit("    store %13 A\n", "    store %12 C extra\n"), "f:40: expected store %N NAME"},
		{edit("step 1", "step one"), `f:10: "one", expected a number`},
		{edit("rmw a", "rmv a"), `f:36:9: "rmv", expected for, load, store, rmw, reduce or "}"`},
		{edit("  }\n}\n", ""), "f:42: end of text, expected } of row"},
		{edit("symbol M in [4,N+1)", "symbol N in [4,N+1)"), "f:3: lattice: symbol N is declared twice"},
		{edit("scalar n int32 = -3", "scalar n int32 = x"), `f:8: scalar: "x", expected an integer of 32 bits`},
		{edit("array A fp32[N] on 0\narray", "array A fp32[N on 0\narray"), "f:4: expected array NAME TYPE[SIZE]... on the dimensions that it lies along, and of ARRAY [SUBSCRIPT]... for a view, or iota"},
		{view("array V fp32[N] on 0 of A [2*.0+2]"), "f:7: tdfg: array V: view with subscript 2*.0+2 in dimension 0 of A, expected it from 0 to 2*N-1"},
		{view("array V fp32[N] on 0 of B [2*.0]"), "f:7: tdfg: array V: view of B, expected an array that is no view"},
		{view("array V int8[N] on 0 of A [2*.0]"), "f:7: tdfg: array V: view has int8, and A has fp32"},
		{view("array V fp32[N] on 0 of A [2*.0][0]"), "f:7: tdfg: array V: view with 2 subscripts of A, expected 1"},
		{view("array V fp32[N] of A [2*.0]"), "f:6: expected array NAME TYPE[SIZE]... on the dimensions that it lies along, and of ARRAY [SUBSCRIPT]... for a view, or iota"},
		{view("array V fp32[N] on 0 of A [5]"), "f:7: tdfg: array V: view with no subscript that has .0, expected one for each dimension"},
		{view("array V fp32[N][N] on 0 1 of A [.0+.1]"), "f:10: tdfg: output 0: view V may have an element at several points, expected none that is written"},
		{view("array V fp32[N] on 0 of A [2*.0]\narray W fp32[N] on 0 of A [N-1-.0]"), "f:12: tdfg: output 0: V and W may have elements in common, expected that one graph writes one of them"},
		{view("array V fp32[N] on 0 iota"), "f:7: tdfg: array V: iota, expected one dimension of integers in the lattice, and no view"},
		{view("array V int32[N] on 0 iota"), "f:10: tdfg: output 0: array V has the numbers of its elements, expected another that is written"},
		{view("array V fp32[N] on 0 of A [2*.0+k]"), "f:7: tdfg: array V: lattice: symbol k is not declared"},
	} {
		_, err := tdfg.ParseProgram("f", c.text)
		require.EqualError(t, err, c.want)
	}
}

// FuzzParse reads anything without a panic, and what it accepts it writes so that it
// reads it back.
func FuzzParse(f *testing.F) {
	f.Add(text)
	f.Add("program p\narray A int8[4] on 0\nregion r dims 1 {\narray A int8[4] on 0\n%0 = tensor A [0,4)\nstore %0 A\n}\n")
	f.Add("program p\nsymbol N in [1,inf)\narray A int8[2*N]\nregion r dims 1 {\narray A int8[2*N]\narray V int8[N] on 0 of A [2*.0+1]\narray W int8[N] on 0 of A [-2*.0+2*N-2]\narray I int8[N] on 0 iota\n%0 = tensor V [0,N)\nstore %0 W\n}\n")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := tdfg.ParseProgram("fuzz", s)
		if err != nil {
			return
		}
		again, err := tdfg.ParseProgram("fuzz", p.String())
		if err != nil {
			t.Fatalf("%v in what was written:\n%s", err, p.String())
		}
		if again.String() != p.String() {
			t.Fatalf("written as\n%s\nthen as\n%s", p.String(), again.String())
		}
	})
}

// TestBind has the graph of the text with N = 8, M = 6 and k = 2, by hand.
func TestBind(t *testing.T) {
	p, err := tdfg.ParseProgram("example.tdfg", text)
	require.NoError(t, err)
	g := p.Regions()[0].Graph
	before := g.String()
	bound, err := g.Bind(map[string]int64{"N": 8, "M": 6, "k": 2})
	require.NoError(t, err)
	require.Equal(t, `graph row dims 2
array A fp32[8] on 0
array C fp32[6][8] on 1 0
array I int32[6] on 1
param s fp32
param n int32
param w fp32
%0 = tensor C [0,8)x[2,3)                # fp32 [0,8)x[2,3)
%1 = mv %0 dim 1 dist -2                 # fp32 [0,8)x[0,1)
%2 = bc %0 dim 1 dist 1 count 3          # fp32 [0,8)x[3,6)
%3 = const fp32 0.1                      # fp32 everywhere
%4 = const param w                       # fp32 everywhere
%5 = const int32 index 3                 # int32 everywhere
%6 = convert fp32 %5                     # fp32 everywhere
%7 = cmp fma %2 %4 %6                    # fp32 [0,8)x[3,6)
%8 = shrink %7 dim 0 to [1,7)            # fp32 [1,7)x[3,6)
%9 = reduce add %1 dim 0 group 256       # fp32 [0,8)x[0,1)
%10 = final add %9 dim 0                 # fp32 [0,1)x[0,1)
%11 = cmp lt %3 %1                       # bool [0,8)x[0,1)
%12 = cmp select %11 %1 %3               # fp32 [0,8)x[0,1)
%13 = strm fp32 A A=%12 {  # fp32 [0,8)x[0,1)
  graph halve
  array A fp32[8]
  for i in [0,8) {
    rmw a: A[i] = mul(@, fp32(0.5))
  }
}
store %8 C
store %13 A
result %10 s
`, bound.String())
	require.Equal(t, before, g.String(), "the graph itself stays")
	require.Equal(t, text, p.String())
}
