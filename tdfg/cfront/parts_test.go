package cfront_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// step is a file with a region that a function calls twice.
const step = `static void step(int N, int by, const float X[N], float Y[N])
{
	int twice = 2 * by;
#pragma bitsched region
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		Y[i] = X[i] + twice;
}
`

const parts = `#include "bitsched.h"
#include "step.h"
void k(int N, int M, float A[N], float B[N], float C[N], int32_t I[N])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(I, N);
	step(N, 1, A, B);
	for (int i = 0; i < M; i++)
		B[I[i]] += A[i];
	step(N, M, B, C);
#pragma bitsched region
	for (int i = 0; i < N; i++)
		A[i] = B[i] + C[i];
}
`

func compileParts(t *testing.T, source string) (*tdfg.Program, error) {
	t.Helper()
	return cfront.Compile(context.Background(), "k.c", source, cfront.Options{Parts: true, Defines: map[string]int64{"N": 64, "M": 5}, Files: fstest.MapFS{"step.h": {Data: []byte(step)}}})
}

// TestParts has regions of a function and of one that it calls, and executes them with the
// statements between: all bits are those of the whole function.
func TestParts(t *testing.T) {
	p, err := compileParts(t, parts)
	require.NoError(t, err)
	require.Len(t, p.Regions(), 3)
	require.Len(t, p.Arrays, 3, "I is in no region")
	g, err := cfront.CompileWhole(context.Background(), "k.c", parts, cfront.Options{Files: fstest.MapFS{"step.h": {Data: []byte(step)}}})
	require.NoError(t, err)
	// Places of both are the same, and tell the calls apart.
	in := map[string]int{}
	g.Walk(func(loops []*stream.Loop, s *stream.Stream) {
		for _, l := range loops {
			if l.Parallel != nil {
				require.Contains(t, s.At, "step.h:7:")
			}
		}
		for i, r := range p.Regions() {
			for _, at := range r.At {
				if at == s.At {
					in[at] = i
				}
			}
		}
	})
	require.Len(t, in, 7)
	require.Contains(t, in, "step.h:7:3, in step called at 6:2")
	require.Equal(t, 1, in["step.h:7:3, in step called at 9:2"])

	r := rand.New(rand.NewPCG(1, 1))
	whole, pieces := stream.Memory{}, memory.New()
	for _, a := range g.Arrays {
		elems := make([]scalar.Value, 64)
		for i := range elems {
			elems[i] = scalar.FromFloat(scalar.FP32, float64(r.Float32()))
			if a.Name == "I" {
				elems[i] = scalar.FromInt(scalar.Int32, int64(r.IntN(64)))
			}
		}
		whole[a.Name] = append([]scalar.Value(nil), elems...)
		pieces.Add(a.Name, a.Type, []int64{64}, elems)
	}
	_, err = g.Run(context.Background(), whole, stream.Args{Symbols: map[string]int64{"N": 64, "M": 5}})
	require.NoError(t, err)
	for i, st := range p.Body {
		one := *p
		one.Body = []tdfg.Stmt{st}
		require.NoError(t, interp.Run(context.Background(), &one, nil, pieces, interp.Options{}))
		for k := range 5 { // the loop between
			if i > 0 {
				break
			}
			b := pieces.Arrays["B"].Elems
			n := scalar.ToInt(scalar.Int32, pieces.Arrays["I"].Elems[k])
			b[n] = scalar.FromFloat(scalar.FP32, float64(float32(scalar.ToFloat(scalar.FP32, b[n]))+float32(scalar.ToFloat(scalar.FP32, pieces.Arrays["A"].Elems[k]))))
		}
	}
	for name, elems := range whole {
		require.Equal(t, elems, pieces.Arrays[name].Elems, name)
	}
}

// TestBadParts has the messages for regions that cannot be parts.
func TestBadParts(t *testing.T) {
	replace := func(old, by string) string {
		require.Contains(t, parts, old)
		return strings.Replace(parts, old, by, 1)
	}
	for want, source := range map[string]string{
		"k.c:9:9: a call of step, which has a region, inside of a loop, a condition or an expression: expected a statement of its own":            replace("\tstep(N, M, B, C);", "\tif (M) step(N, M, B, C);"),
		"k.c:10:2: a region inside of a loop or a condition, expected all of this statement to be the region":                                     replace("#pragma bitsched region\n\tfor", "\tfor (int t = 0; t < 2; t++)\n#pragma bitsched region\n\tfor"),
		"k.c:10:9: a region that is unlike another in the clause reassociate, expected it at all or at none":                                      replace("#pragma bitsched region", "#pragma bitsched region reassociate"),
		"k.c:14:17: s is not declared, or is computed outside of the region: expected a parameter, or what stays the same and follows from these": replace("#pragma bitsched region", "\tfloat s = A[0];\n#pragma bitsched region\n"),
	} {
		if strings.Contains(want, "s is not") {
			source = strings.Replace(source, "B[i] + C[i]", "B[i] + s", 1)
		}
		_, err := compileParts(t, source)
		require.EqualError(t, err, want)
	}
	_, err := compile(parts, nil)
	require.Error(t, err)
	p, err := compileParts(t, "#include \"bitsched.h\"\nvoid k(int N, int M, float A[N]) { inf_array(A, N); A[0] = M; }\n")
	require.NoError(t, err)
	require.Empty(t, p.Body)
}

// TestExchanged has loops whose inner one must be sequential: it becomes a loop of the host,
// and the outer one, which would be in its way, a dimension.
func TestExchanged(t *testing.T) {
	p, err := compile(`#include "bitsched.h"
void k(int M, int K, int N, const float X[M][K], const float W[K][N], float Y[M][N])
{
	inf_array(X, M, K); inf_array(W, K, N); inf_array(Y, M, N);
#pragma bitsched region
	for (int m = 0; m < M; m++) {
		for (int k = 0; k < K; k++)
			for (int n = 0; n < N; n++)
				Y[m][n] += X[m][k] * W[k][n];
	}
}
`, nil)
	require.NoError(t, err)
	l, ok := p.Body[0].(*tdfg.Loop)
	require.True(t, ok)
	require.Equal(t, "k", l.Var)
	require.Contains(t, nodes(p.Regions()[0].Graph), "store %6 Y")
	// Rows that need the row before stay in their order.
	p, err = compile(`#include "bitsched.h"
void k(int M, int K, int N, const float X[M][K], const float W[K][N], float Y[M][N])
{
	inf_array(X, M, K); inf_array(W, K, N); inf_array(Y, M, N);
#pragma bitsched region
	for (int m = 1; m < M; m++)
		for (int k = 0; k < K; k++)
			for (int n = 0; n < N; n++)
				Y[m][n] += Y[m-1][n] * W[k][n];
}
`, nil)
	require.NoError(t, err)
	l, ok = p.Body[0].(*tdfg.Loop)
	require.True(t, ok)
	require.Equal(t, "m", l.Var) // And those whose exchange would have an element read before it is written, though
	// iterations of the outer loop need nothing of each other in one of the inner.
	p, err = compile(`#include "bitsched.h"
void k(int M, int K, int N, float Z[M][K][N])
{
	inf_array(Z, M, K, N);
#pragma bitsched region
	for (int m = 1; m < M; m++)
		for (int k = 1; k < K - 1; k++)
			for (int n = 0; n < N; n++)
				Z[m][k][n] = Z[m-1][k+1][n] + Z[m][k-1][n];
}
`, map[string]int64{"M": 32, "K": 32, "N": 32})
	require.NoError(t, err)
	l, ok = p.Body[0].(*tdfg.Loop)
	require.True(t, ok)
	require.Equal(t, "m", l.Var)
}
