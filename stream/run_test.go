package stream_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lattice"
	"github.com/bitsched/bitsched/scalar"
	"github.com/bitsched/bitsched/stream"
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

func BenchmarkSaxpy(b *testing.B) {
	const n = 1 << 20
	p, err := stream.Compile(saxpy())
	require.NoError(b, err)
	mem := stream.Memory{"X": make([]scalar.Value, n), "Y": make([]scalar.Value, n)}
	for b.Loop() {
		_, err := p.Run(context.Background(), mem, stream.Args{Symbols: map[string]int64{"N": n}, Params: map[string]scalar.Value{"a": 1}})
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.N)*n*3/b.Elapsed().Seconds()/1e6, "Mstreamelem/s")
}
