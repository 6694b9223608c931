package stream_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// saxpy is Y[i] = a*X[i] + Y[i], and the sum of the new Y.
func saxpy() *stream.Graph {
	syms := lattice.NewSpace()
	if err := syms.Declare("N", lattice.Const(1), lattice.Expr{}, false); err != nil {
		panic(err)
	}
	n, i := []lattice.Expr{lattice.Sym("N")}, []lattice.Expr{lattice.Sym("i")}
	return &stream.Graph{
		Name: "saxpy", Symbols: syms,
		Arrays: []stream.Array{{Name: "X", Type: scalar.FP32, Size: n}, {Name: "Y", Type: scalar.FP32, Size: n}},
		Params: []stream.Param{{Name: "a", Type: scalar.FP32}},
		Body: []stream.Stmt{&stream.Loop{Var: "i", Range: lattice.Upto(lattice.Sym("N")), Body: []stream.Stmt{
			&stream.Stream{Name: "x", Kind: stream.Load, Array: "X", Index: i},
			&stream.Stream{Name: "y", Kind: stream.RMW, Array: "Y", Index: i,
				Value: stream.Apply(scalar.Add, stream.Elem(), stream.Apply(scalar.Mul, stream.Ref("a"), stream.Ref("x")))},
			&stream.Stream{Name: "s", Kind: stream.Reduce, Over: "i", Init: stream.Const(scalar.FP32, 0),
				Value: stream.Apply(scalar.Add, stream.Ref("s"), stream.Ref("y"))},
		}}},
	}
}

func fp32(f float32) scalar.Value { return scalar.FromFloat(scalar.FP32, float64(f)) }

func TestSaxpy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 100
	x, y, mem := [n]float32{}, [n]float32{}, stream.Memory{}
	for i := range n {
		x[i], y[i] = r.Float32(), r.Float32()
		mem["X"], mem["Y"] = append(mem["X"], fp32(x[i])), append(mem["Y"], fp32(y[i]))
	}
	res, err := saxpy().Run(context.Background(), mem, stream.Args{Symbols: map[string]int64{"N": n}, Params: map[string]scalar.Value{"a": fp32(2.5)}})
	require.NoError(t, err)
	sum := float32(0)
	for i := range n {
		y[i] += float32(2.5 * x[i])
		sum += y[i]
		require.Equal(t, fp32(y[i]), mem["Y"][i])
	}
	s, ok := res.Value("s")
	require.True(t, ok)
	require.Equal(t, fp32(sum), s)
	require.Equal(t, stream.Count{Stream: res.Streams[1].Stream, Iterations: n, Executed: n, BytesRead: 4 * n, BytesWritten: 4 * n, Ops: 2 * n}, res.Streams[1])
}

// BenchmarkRun gives the accesses of each kind of loop in a second.
func BenchmarkRun(b *testing.B) {
	const n = 1 << 18
	for _, c := range []struct{ name, body string }{
		{"saxpy", "for i in [0,N) {\nload x: X[i]\nrmw y: Y[i] = add(@, mul(a, x))\n}"},
		{"sum", "for i in [0,N) {\nreduce s: X[i] over i from fp32(0) = add(s, @)\n}"},
		{"stencil", "for i in [1,N-1) {\nload l: X[i-1]\nload m: X[i]\nload r: X[i+1]\nstore y: Y[i] = add(add(l, m), r)\n}"},
		{"short rows", "for i in [0,16384) {\nfor j in [0,16) {\nload z: Z[i][j]\nreduce s over j from fp32(0) = max(s, z)\n}\n}"},
		{"gather", "for i in [0,N) {\nload x: I[i]\nload v: X[x]\nstore y: Y[i] = v\n}"},
		{"histogram", "for i in [0,N) {\nload x: I[i]\nrmw c: C[x] = add(@, int32(1)) if gt(x, int32(5))\n}"},
		{"chase", "for i in [0,N) {\nreduce p: I[p] over i from int32(0)\n}"},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := stream.Compile(parse(b, "graph g\nsymbol N in [1,inf)\narray X fp32[N]\narray Y fp32[N]\narray Z fp32[16384][16]\narray I int32[N]\narray C int32[N]\nparam a fp32\n"+c.body+"\n"))
			require.NoError(b, err)
			mem := stream.Memory{}
			for _, name := range []string{"X", "Y", "Z", "I", "C"} {
				mem[name] = make([]scalar.Value, n)
			}
			r := rand.New(rand.NewPCG(1, 1))
			for i := range n {
				mem["X"][i], mem["I"][i] = fp32(r.Float32()), scalar.Value(r.IntN(n))
			}
			accesses := int64(0)
			for b.Loop() {
				res, err := p.Run(context.Background(), mem, stream.Args{Symbols: map[string]int64{"N": n}, Params: map[string]scalar.Value{"a": fp32(0.5)}})
				require.NoError(b, err)
				for _, s := range res.Streams {
					if s.Stream.Array != "" {
						accesses += s.Executed
					}
				}
			}
			b.ReportMetric(float64(accesses)/b.Elapsed().Seconds()/1e6, "Maccesses/s")
		})
	}
}

// TestOps compares the instructions of all operations with package scalar, on
// elements of which memory has bits above the type.
func TestOps(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const n = 300
	for _, typ := range scalar.Types() {
		mem := stream.Memory{}
		for _, name := range []string{"A", "B", "C"} {
			for range n {
				mem[name] = append(mem[name], word(r, typ)|r.Uint64()&^typ.Mask())
			}
		}
		if typ.Float() { // Inf - Inf is a NaN that processors give a sign
			mem["A"][0], mem["B"][0], mem["C"][0] = scalar.FromFloat(typ, math.Inf(1)), scalar.FromFloat(typ, math.Inf(1)), 0
			mem["A"][1], mem["B"][1], mem["C"][1] = scalar.FromFloat(typ, math.Inf(1)), scalar.FromFloat(typ, math.Inf(-1)), 0
			mem["A"][2], mem["B"][2], mem["C"][2] = scalar.FromFloat(typ, math.Inf(1)), 0, 0
		}
		for _, op := range scalar.Ops() {
			if !op.Supports(typ) {
				continue
			}
			operands := []string{"a", "b", "c"}[:op.Arity()]
			if op == scalar.Select {
				operands[0] = "lt(a, b)"
			}
			result := op.Result(typ)
			out := result
			value := op.String() + "(" + strings.Join(operands, ", ") + ")"
			if out == scalar.Bool {
				out, value = scalar.Int8, "int8("+value+")"
			}
			g := parse(t, fmt.Sprintf("graph g\narray A %[1]s[300]\narray B %[1]s[300]\narray C %[1]s[300]\narray O %[2]s[300]\n"+
				"for i in [0,300) {\nload a: A[i]\nload b: B[i]\nload c: C[i]\nstore o: O[i] = %[3]s\n}\n", typ, out, value))
			mem["O"] = make([]scalar.Value, n)
			_, err := g.Run(context.Background(), mem, stream.Args{})
			require.NoError(t, err)
			for i := range n {
				args := []scalar.Value{mem["A"][i] & typ.Mask(), mem["B"][i] & typ.Mask(), mem["C"][i] & typ.Mask()}[:op.Arity()]
				if op == scalar.Select {
					args[0] = scalar.Eval(scalar.Lt, typ, args[0], args[1])
				}
				require.Equal(t, scalar.Eval(op, typ, args...), mem["O"][i], "%s.%s %x", typ, op, args)
			}
		}
		for _, to := range scalar.Types() {
			g := parse(t, fmt.Sprintf("graph g\narray A %s[300]\narray O %s[300]\nfor i in [0,300) {\nload a: A[i]\nstore o: O[i] = %[2]s(a)\n}\n", typ, to))
			mem["O"] = make([]scalar.Value, n)
			_, err := g.Run(context.Background(), mem, stream.Args{})
			require.NoError(t, err)
			for i := range n {
				require.Equal(t, scalar.Convert(typ, to, mem["A"][i]&typ.Mask()), mem["O"][i])
			}
		}
	}
}

// TestBounds looks at where runs stop, and that what comes before has happened.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       string
		written    int // elements of O that are set
	}{
		{"past the end", "for i in [0,N) {\nstore o: O[i] = int32(1)\nload a: A[i+3][0]\n}", "stream: a: index 8 of array A is out of [0,8) in dimension 1 in iteration i=5", 6},
		{"before the start", "for i in [0,N) step -1 {\nstore o: O[i] = int32(1)\nload a: A[i-4][0]\n}", "stream: a: index -1 of array A is out of [0,8) in dimension 1 in iteration i=3", 5},
		{"inside the memory, but not the row", "for i in [0,N) {\nfor j in [i,N) {\nload a: A[i][j+1]\n}\nstore o: O[i] = int32(1)\n}", "stream: a: index 4 of array A is out of [0,4) in dimension 0 in iteration i=0 j=3", 0},
		{"indirect", "for i in [0,N) {\nload x: X[i]\nstore o: O[x] = int32(1)\n}", "stream: o: index -3 of array O is out of [0,8) in dimension 0 in iteration i=2", 2},
		{"outside of loops", "store o: O[0] = int32(1)\nload a: A[N][0]", "stream: a: index 8 of array A is out of [0,8) in dimension 1", 1},
		{"pointer", "load h: X[1]\nfor n in [0,inf) while ne(p, int32(99)) {\nstore o: O[n] = int32(1)\nreduce p: X[p] over n from h\n}", "stream: p: index -3 of array X is out of [0,8) in dimension 0 in iteration n=1", 2},
		{"not where the condition is false", "for i in [0,N) {\nstore o: O[i+3] = int32(1) if lt(i, int64(5))\n}", "", 5},
		{"not after the loop has ended", "for i in [0,100) while lt(i, int64(8)) {\nstore o: O[i] = int32(1)\n}", "", 8},
		{"huge step", "for i in [0,1152921504606846976) step 1152921504606846975 {\nstore o: O[i] = int32(1)\n}", "stream: o: index 1152921504606846975 of array O is out of [0,8) in dimension 0 in iteration i=1152921504606846975", 1},
		{"huge coefficient", "for i in [0,3) {\nstore o: O[1152921504606846976*i] = int32(1)\n}", "stream: o: index 1152921504606846976 of array O is out of [0,8) in dimension 0 in iteration i=1", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := parse(t, "graph g\nsymbol N in [1,inf)\narray A fp32[8][4]\narray O int32[N]\narray X int32[8]\n"+c.body+"\n")
			mem := stream.Memory{"A": make([]scalar.Value, 32), "O": make([]scalar.Value, 8), "X": {7, 2, scalar.FromInt(scalar.Int32, -3), 0, 0, 0, 0, 0}}
			_, err := g.Run(context.Background(), mem, stream.Args{Symbols: map[string]int64{"N": 8}})
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.want)
			}
			written := 0
			for _, v := range mem["O"] {
				written += int(v)
			}
			require.Equal(t, c.written, written)
		})
	}
}

// TestMissing has what a run must be given.
func TestMissing(t *testing.T) {
	g := parse(t, "graph g\nsymbol N in [2,inf)\nsymbol k in [0,N)\narray A fp32[N]\nparam q fp32\nfor i in [k,N) {\nstore a: A[i] = q\n}\n")
	ok := func() (stream.Memory, stream.Args) {
		return stream.Memory{"A": make([]scalar.Value, 4)}, stream.Args{Symbols: map[string]int64{"N": 4, "k": 1}, Params: map[string]scalar.Value{"q": 1}}
	}
	for _, c := range []struct {
		change func(stream.Memory, stream.Args)
		want   string
	}{
		{func(stream.Memory, stream.Args) {}, ""},
		{func(m stream.Memory, _ stream.Args) { delete(m, "A") }, "stream: graph g: array A is not in memory"},
		{func(m stream.Memory, _ stream.Args) { m["A"] = m["A"][1:] }, "stream: graph g: array A has 3 elements in memory, expected 4"},
		{func(_ stream.Memory, a stream.Args) { delete(a.Symbols, "k") }, "stream: graph g: no value for symbol k"},
		{func(_ stream.Memory, a stream.Args) { a.Symbols["k"] = 4 }, "stream: graph g: symbol k is 4, expected [0,N)"},
		{func(_ stream.Memory, a stream.Args) { a.Symbols["N"] = 1 }, "stream: graph g: symbol N is 1, expected [2,inf)"},
		{func(_ stream.Memory, a stream.Args) { delete(a.Params, "q") }, "stream: graph g: no value for parameter q"},
	} {
		mem, args := ok()
		c.change(mem, args)
		_, err := g.Run(context.Background(), mem, args)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, c.want)
	}
	for size, want := range map[string]string{"N-5": "size N-5 is -1 in dimension 0", "1152921504606846976": "size 1152921504606846976 is 1152921504606846976 in dimension 0"} {
		x, err := lattice.ParseExpr(size)
		require.NoError(t, err)
		g.Arrays[0].Size[0] = x
		mem, args := ok()
		_, err = g.Run(context.Background(), mem, args)
		require.EqualError(t, err, "stream: graph g: array A: "+want)
	}
}

// TestWideStride has an array so large, and strides so wide, that the last index
// of the loop wraps to one inside the array.
func TestWideStride(t *testing.T) {
	const size = 1 << 22
	g := parse(t, "graph g\narray A int8[4194304]\nfor i in [0,4398046511105) step 2097152 {\nstore a: A[4194304*i] = int8(1)\n}\n")
	_, err := g.Run(context.Background(), stream.Memory{"A": make([]scalar.Value, size)}, stream.Args{})
	require.EqualError(t, err, "stream: a: index 8796093022208 of array A is out of [0,4194304) in dimension 0 in iteration i=2097152")
}

// TestCancel ends loops that would never end: a circle of pointers, an empty
// body, and an inner loop without iterations.
func TestCancel(t *testing.T) {
	for _, body := range []string{
		"for n in [0,inf) while ge(p, int32(0)) {\nreduce p: X[p] over n from int32(0)\n}",
		"for n in [0,inf) while bool(true) {\n}",
		"for n in [0,inf) while bool(true) {\nfor i in [1,0) {\nload a: X[i]\n}\n}",
	} {
		g := parse(t, "graph g\narray X int32[2]\n"+body+"\n")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := g.Run(ctx, stream.Memory{"X": {1, 0}}, stream.Args{})
		require.ErrorIs(t, err, context.Canceled, body)
	}
}

// TestAlias runs streams on two names of one array: an element that was written is
// read in the next iteration.
func TestAlias(t *testing.T) {
	g := parse(t, "graph g\narray A int32[9]\narray B int32[9]\nfor i in [0,8) {\nload a: A[i]\nstore b: B[i+1] = add(a, a)\n}\n")
	one := make([]scalar.Value, 9)
	one[0] = 3
	_, err := g.Run(context.Background(), stream.Memory{"A": one, "B": one}, stream.Args{})
	require.NoError(t, err)
	require.Equal(t, []scalar.Value{3, 6, 12, 24, 48, 96, 192, 384, 768}, one)
}

// TestParallelRuns shares a program between runs; the race detector looks on.
func TestParallelRuns(t *testing.T) {
	g, mem, args := randomGraph(11)
	p, err := stream.Compile(g)
	require.NoError(t, err)
	want := clone(mem)
	_, wantErr := p.Run(context.Background(), want, args)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			got := clone(mem)
			_, err := p.Run(context.Background(), got, args)
			assert.Equal(t, wantErr, err)
			assert.Equal(t, want, got)
		})
	}
	wg.Wait()
}

// TestBuilt has mistakes that only a graph that was built can have.
func TestBuilt(t *testing.T) {
	loop := func(x *stream.Expr) *stream.Graph {
		g := saxpy()
		g.Stream("y").Value = x
		return g
	}
	cyclic := stream.Apply(scalar.Neg, nil)
	cyclic.Args[0] = stream.Apply(scalar.Neg, cyclic)
	for _, c := range []struct {
		g    *stream.Graph
		want string
	}{
		{loop(cyclic), "stream: graph saxpy: stream y: an expression contains itself"},
		{loop(stream.Apply(scalar.Neg, nil)), "stream: graph saxpy: stream y: an operand is missing"},
		{loop(&stream.Expr{Kind: stream.ConstExpr, Type: scalar.Int8, Bits: 256}), "stream: graph saxpy: stream y: a constant 0x100 of type int8"},
		{loop(&stream.Expr{Kind: 17}), "stream: graph saxpy: stream y: an expression of kind 17"},
		{&stream.Graph{Name: "g", Body: []stream.Stmt{nil}}, "stream: graph g: a statement is missing"},
		{&stream.Graph{Name: "g", Body: []stream.Stmt{&stream.Stream{Name: "s", Kind: stream.Reduce, Index: make([]lattice.Expr, 1)}}}, "stream: graph g: stream s: subscripts without an array"},
		{&stream.Graph{Name: "0"}, `stream: graph 0: "0", expected a name of letters, digits, dots and underscores`},
		{&stream.Graph{Name: "g", Params: []stream.Param{{Name: "over", Type: scalar.FP32}}}, "stream: graph g: param over: the name is a keyword"},
		{&stream.Graph{Name: "g", Arrays: []stream.Array{{Name: "A", Type: scalar.Bool}}}, "stream: graph g: array A: type bool, expected one that is in memory"},
		{&stream.Graph{Name: "g", Arrays: []stream.Array{{Name: "A", Type: scalar.FP16}}}, "stream: graph g: array A: expected at least one dimension"},
		{&stream.Graph{Name: "g", Arrays: []stream.Array{{Name: "A", Type: scalar.FP16, Size: []lattice.Expr{lattice.Sym("N")}}}}, "stream: graph g: array A: size N, but N is not a symbol of the graph"},
	} {
		require.EqualError(t, c.g.Check(), c.want)
		_, err := stream.Compile(c.g)
		require.EqualError(t, err, c.want)
	}
}

// TestShared computes a subexpression once that a graph uses twice.
func TestShared(t *testing.T) {
	g := saxpy()
	x := stream.Apply(scalar.Mul, stream.Ref("a"), stream.Ref("x"))
	for range 20 { // as a tree, this has a million operations
		x = stream.Apply(scalar.Add, x, x)
	}
	g.Stream("y").Value = x
	mem := stream.Memory{"X": {fp32(1.5)}, "Y": {0}}
	res, err := g.Run(context.Background(), mem, stream.Args{Symbols: map[string]int64{"N": 1}, Params: map[string]scalar.Value{"a": fp32(2)}})
	require.NoError(t, err)
	require.Equal(t, fp32(3<<20), mem["Y"][0])
	require.EqualValues(t, 21, res.Streams[1].Ops)
}
