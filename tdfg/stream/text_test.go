package stream_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/stream"
)

// everything uses every part of the text form.
const everything = `graph everything
symbol N in [4,inf)
symbol k in [0,N-1)
array A fp32[N][2*N]
array I int16[N]
array next int32[N]
array H fp16[N+1]
param alpha fp32
param start int32
load akk: A[k][k]
for i in [k+1,N) step 2 {
	load x: I[N-i-1] if lt(i, int64(4))
	store c: A[i][x+1] = div(akk, fma(alpha, fp32(-1.5), fp32(i)))
	for j in [N-3,2*N) step -1 {
		rmw r: A[i][j] = select(lt(@, akk), @, sub(@, mul(c, akk))) if ne(x, int16(0))
		reduce m: A[i][j] over i from fp32(-Inf) = max(m, @)
	}
}
for n in [0,inf) while and(ne(p, int32(-1)), lt(n, int64(100))) {
	reduce s over n from fp16(0) = add(s, fp16(p))
	reduce p: next[p] over n from start
}
store out: H[N] = s if bool(true)
`

func TestTextRoundTrip(t *testing.T) {
	g := parse(t, everything)
	require.Equal(t, everything, g.String())
	again := parse(t, strings.NewReplacer("\n", " # comment\n\n", "\t", "  ").Replace(everything))
	require.Equal(t, g, again)
}

// saxpyText is the example of the package's documentation.
const saxpyText = `graph saxpy
symbol N in [1,inf)
array X fp32[N]
array Y fp32[N]
param a fp32
for i in [0,N) {
	load x: X[i]
	rmw y: Y[i] = add(@, mul(a, x))
	reduce s over i from fp32(0) = add(s, y)
}
`

// TestBind has the same graph where N is 6 and k is 2, by hand.
func TestBind(t *testing.T) {
	g := parse(t, everything)
	require.Equal(t, `graph everything
array A fp32[6][12]
array I int16[6]
array next int32[6]
array H fp16[7]
param alpha fp32
param start int32
load akk: A[2][2]
for i in [3,6) step 2 {
	load x: I[-i+5] if lt(i, int64(4))
	store c: A[i][x+1] = div(akk, fma(alpha, fp32(-1.5), fp32(i)))
	for j in [3,12) step -1 {
		rmw r: A[i][j] = select(lt(@, akk), @, sub(@, mul(c, akk))) if ne(x, int16(0))
		reduce m: A[i][j] over i from fp32(-Inf) = max(m, @)
	}
}
for n in [0,inf) while and(ne(p, int32(-1)), lt(n, int64(100))) {
	reduce s over n from fp16(0) = add(s, fp16(p))
	reduce p: next[p] over n from start
}
store out: H[6] = s if bool(true)
`, g.Bind(map[string]int64{"N": 6, "k": 2}).String())
	require.Equal(t, everything, g.String(), "the graph itself stays")

	// Symbols in computations and conditions are numbers then.
	const text = "graph g\nsymbol N in [4,9)\narray A int64[N]\nfor i in [0,N) while lt(i, N) {\n\tstore a: A[i] = sub(N, i) if ne(N, i)\n\treduce s: A[i] over i from N = add(s, @)\n}\n"
	require.Equal(t, "graph g\narray A int64[5]\nfor i in [0,5) while lt(i, int64(5)) {\n\tstore a: A[i] = sub(int64(5), i) if ne(int64(5), i)\n\treduce s: A[i] over i from int64(5) = add(s, @)\n}\n",
		parse(t, text).Bind(map[string]int64{"N": 5}).String())
}

func TestTextOfBuiltGraph(t *testing.T) {
	require.Equal(t, saxpyText, saxpy().String())
}

func TestSyntaxErrors(t *testing.T) {
	const head = "graph g\narray A int32[8]\narray B fp32[8][8]\nparam q int32\n"
	for _, c := range []struct{ text, want string }{
		{"", `g.sdfg:1:1: end of text, expected "graph"`},
		{"graph\n", "g.sdfg:1:6: end of line, expected the name of the graph"},
		{"graph g\nloop i\n", `g.sdfg:2:1: "loop", expected symbol, array, param, for, load, store, rmw or reduce`},
		{"graph g\narray A int12[4]\n", `g.sdfg:2:9: "int12", expected a type such as int32 or fp32`},
		{"graph g\nsymbol N in [0,M)\n", "g.sdfg:2:8: symbol M is not declared"},
		{"graph g\narray A int8\n", `g.sdfg:2:13: end of line, expected "["`},
		{head + "load a: A[2**3]\n", `g.sdfg:5:11: "2**3" in "2**3", expected a number, a name or number*name`},
		{head + "load a: A[2\n", `g.sdfg:5:12: end of line, expected "]"`},
		{head + "load a: A[0] = add(@\n", `g.sdfg:5:21: end of line, expected "," or ")"`},
		{head + "load a: A[0] = plus(@, @)\n", `g.sdfg:5:16: "plus", expected an operation such as add or a type such as int32`},
		{head + "load a: A[0] = int8(300)\n", `g.sdfg:5:21: "300", expected an integer of 8 bits`},
		{head + "load a: A[0] @\n", `g.sdfg:5:14: "@", expected the end of the line`},
		{head + "for i in [0,4) step 0 {\n}\n", `g.sdfg:5:21: "0", expected an integer that is not 0`},
		{head + "for i in [0,4) {\n", `g.sdfg:6:1: end of text, expected for, load, store, rmw, reduce or "}"`},
		{head + "for i in [0,4)\n", `g.sdfg:5:15: end of line, expected "{"`},
		// What Check finds is reported at the statement.
		{head + "for i in [0,4) {\n  load a: A[j]\n}\n", "g.sdfg:6:3: stream a: subscript j: unknown name j"},
		{head + "load a: C[0]\n", "g.sdfg:5:1: stream a: unknown array C"},
		{head + "for i in [0,4) {\n}\nload a: A[i]\n", "g.sdfg:7:1: stream a: subscript i: i is the variable of a loop that is not around it"},
		{head + "load a: A[b]\nload b: A[0]\n", "g.sdfg:5:1: stream a: subscript b: stream b has no value here, expected one that is earlier in the same or an enclosing loop, or a reduce"},
		{head + "for i in [0,4) {\nload b: A[i]\n}\nload a: A[b]\n", "g.sdfg:8:1: stream a: subscript b: stream b has no value here, expected one that is earlier in the same or an enclosing loop, or a reduce"},
		{head + "load a: B[0]\n", "g.sdfg:5:1: stream a: 1 subscripts, but array B has 2 dimensions"},
		{head + "load a: A[q]\n", "g.sdfg:5:1: stream a: subscript q: q is a parameter, expected a symbol, a loop variable or a stream"},
		{head + "load b: B[0][0]\nload a: A[b]\n", "g.sdfg:6:1: stream a: subscript b: b is fp32, expected an integer"},
		{head + "store a: A[0]\n", "g.sdfg:5:1: stream a: no computation, expected one for a store"},
		{head + "store a: A[0] = @\n", "g.sdfg:5:1: stream a: @ where no element is read, expected it in the computation of a load, rmw or reduce with an array"},
		{head + "store a: A[0] = fp32(1)\n", "g.sdfg:5:1: stream a: the value is fp32, but array A has int32: expected int32(...) around it"},
		{head + "rmw a: A[0] = add(@, fp32(1))\n", "g.sdfg:5:1: stream a: add(@, fp32(1)): operand @ is int32, expected fp32"},
		{head + "rmw a: B[0][0] = rem(@, @)\n", "g.sdfg:5:1: stream a: rem(@, @): there is no rem of fp32"},
		{head + "rmw a: A[0] = add(@)\n", "g.sdfg:5:1: stream a: add of 1 operands"},
		{head + "load a: A[0] if q\n", "g.sdfg:5:1: stream a: if q: the condition is int32, expected bool"},
		{head + "load a: A[0] if eq(@, q)\n", "g.sdfg:5:1: stream a: @ where no element is read, expected it in the computation of a load, rmw or reduce with an array"},
		{head + "reduce a: A[0] over i from q = add(a, @)\n", `g.sdfg:5:1: stream a: reduces over "i", expected the variable of a loop around it`},
		{head + "for i in [0,4) {\nreduce a: A[i] over i from fp32(0)\n}\n", "g.sdfg:6:1: stream a: the value is int32, but the initial one is fp32"},
		{head + "for i in [0,4) {\nreduce a: A[i]\n}\n", `g.sdfg:6:1: stream a: reduces over "", expected the variable of a loop around it`},
		{head + "load a: A[0] over i from q\n", "g.sdfg:5:1: stream a: a load has no initial value, only a reduce has"},
		{head + "for i in [0,4) {\nfor i in [0,4) {\n}\n}\n", "g.sdfg:6:1: loop i: a loop around it has the same variable"},
		{head + "for A in [0,4) {\n}\n", "g.sdfg:5:1: loop A: the name is already that of the array"},
		{head + "for i in [0,inf) {\n}\n", "g.sdfg:5:1: loop i: no upper end and no condition: expected one of them"},
		{head + "for i in [0,inf) step -1 while bool(true) {\n}\n", "g.sdfg:5:1: loop i: no upper end, but step -1: expected a positive one"},
		{head + "for i in [0,4) {\n}\nreduce a: A[0] over i from q = add(a, @)\n", `g.sdfg:7:1: stream a: reduces over "i", expected the variable of a loop around it`},
		{head + "for i in [0,4) {\nreduce a over i from q\n}\n", "g.sdfg:6:1: stream a: no computation, expected one for a reduce"},
		{head + "for i in [0,4) while q {\n}\n", "g.sdfg:5:1: loop i: while q: the condition is int32, expected bool"},
		{head + "for i in [0,4) while lt(q, fp32(1)) {\n}\n", "g.sdfg:5:1: loop i: lt(q, fp32(1)): operand q is int32, expected fp32"},
		{head + "load a: A[1152921504606846977]\n", "g.sdfg:5:11: 1152921504606846977: a number is out of range, expected at most 1152921504606846976"},
		{head + "load a: A[-9223372036854775807]\n", "g.sdfg:5:11: -9223372036854775807: a number is out of range, expected at most 1152921504606846976"},
		{head + "load a: A[0] = " + strings.Repeat("not(", 501) + "@" + strings.Repeat(")", 501), "g.sdfg:5:2016: expressions nest more than 500 deep"},
		{head + strings.Repeat("for i in [0,1) {\n", 501), "g.sdfg:505:4: loops nest more than 500 deep"},
		{head + "for i in [0,x) {\n}\n", "g.sdfg:5:1: loop i: bound x: unknown name x"},
		{head + "load a: A[0]\nload a: A[1]\n", "g.sdfg:6:1: stream a: the name is already that of the stream"},
		{head + "for i in [0,2) {\nfor j in [0,2) {\nfor k in [0,2) {\nfor l in [0,2) {\nload a: B[i+j][k+l]\n}\n}\n}\n}\n",
			"g.sdfg:9:1: stream a: the address varies with 4 loops, expected at most 3: make the outer loops the host's, with symbols for their variables"},
	} {
		_, err := stream.Parse(c.text, "g.sdfg")
		require.EqualError(t, err, c.want, c.text)
	}
}

// FuzzParse looks for texts that make Parse panic, or that it accepts but that do
// not come back from String.
func FuzzParse(f *testing.F) {
	f.Add(everything)
	f.Add(saxpyText)
	f.Add("graph g\nfor i in [0,inf) while false {\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := stream.Parse(text, "fuzz")
		if err != nil {
			return
		}
		back, err := stream.Parse(g.String(), "again")
		require.NoError(t, err, g.String())
		require.Equal(t, g.String(), back.String())
		_, err = stream.Compile(g)
		require.NoError(t, err)
		require.NoError(t, g.WriteDOT(io.Discard))
		patterns := g.Patterns()
		for _, s := range g.Streams() {
			_, known := patterns[s]
			require.True(t, known)
			f, ok := g.Footprint(s)
			require.Equal(t, ok, s.Array != "" && g.IsAffine(s))
			require.True(t, !ok || len(f.Rect) == len(s.Index))
		}
	})
}
