package cfront_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestCallsCompiled compares kernels with small functions with what gcc makes of them:
// several returns, conditional calls, loops and arrays in functions, functions that
// call others, names that a caller has too.
func TestCallsCompiled(t *testing.T) {
	programs := againstGCC(t, []compiled{{n: 50, source: `#include "bitsched.h"
static int clamp(int x, int lo, int hi)
{
	if (x < lo)
		return lo;
	if (x > hi)
		return hi;
	return x;
}
static inline int twice(int i) { i += i; return clamp(i, -60, 60); }
static void put(int N, int i, int x, int B[N]) { B[i] = x + i * 0; }
void k(int N, const int A[N], int B[N], int C[N], int8_t D[N])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N);
#pragma bitsched region
	for (int i = 0; i < N; i++) {
		int x = twice(A[i]);
		B[i] = A[i] > 5 ? twice(x) : clamp(x, 0, 3);
		C[i] = A[i] > 0 && clamp(A[i], 3, 4) == 3;
		D[i] = twice(D[i]) + clamp(A[i], -5, 5);
	}
}
`}, {n: 30, source: `#include "bitsched.h"
static float dot(int n, const float *x, const float y[n])
{
	float s = 0;
	for (int i = 0; i < n; i++)
		s += x[i] * y[i];
	return s;
}
static void scale(int N, float A[N], float by)
{
	for (int i = 0; i < N; i++)
		A[i] *= by;
}
void k(int N, float A[N], float B[N], float C[N])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N);
#pragma bitsched region
	{
		scale(N, A, 0.5f);
		C[0] = dot(N, A, B);
		scale(N, B, 2);
	}
}
`}, {n: 40, source: `#include "bitsched.h"
static int at(const int *A, int i) { int x = A[i]; return x * 2; }
void k(int N, const int A[N], int B[N])
{
	inf_array(A, N); inf_array(B, N);
#pragma bitsched region
	for (int i = 0; i < N; i++)
		B[i] = A[i] >= 0 && A[i] < N ? at(A, A[i]) : -1;
}
`}}, "-ffp-contract=off")
	for _, n := range programs[0].Regions()[0].Graph.Nodes {
		require.Nil(t, n.Stream, "calls of the first kernel are tensors")
	}
}

func TestCallsRefused(t *testing.T) {
	for functions, want := range map[string]string{
		"static float f(float x) { return f(x); }": ": f calls itself: recursion is not supported",
		"static float g(float);\nstatic float f(float x) { return g(x); }\nstatic float g(float x) { return f(x); }": ": f calls itself: recursion is not supported",
		"static float f(float x, float y) { return x; }":                                                             ": f with 1 arguments, expected 2",
		"static float f(float *x) { return x[0]; }":                                                                  ": argument x of f, expected the name of an array",
		"static void f(float x) { }":                                                                                 ": a call of f, which returns nothing, for its value",
		"static float f(float x) { for (int j = 0; j < 3; j++) return x; return 0; }":                                ": a return inside of a loop of f, expected one at the end",
	} {
		source := "#include \"bitsched.h\"\n" + functions + "\nvoid k(int N, float A[N]) { inf_array(A, N);\n#pragma bitsched region\nfor (int i = 0; i < N; i++) A[i] = f(A[i]); }\n"
		_, err := compile(source, nil)
		require.ErrorContains(t, err, want, functions)
	}
}

// TestExpf compares expf with an exact one, over all exponents and around the ends.
func TestExpf(t *testing.T) {
	const n = 1 << 17
	source := region("", "for (int i = 0; i < N; i++) B[i] = expf(A[i]);")
	p, err := cfront.Compile(context.Background(), "k.c", source, cfront.Options{Defines: map[string]int64{"N": n, "M": 1}})
	require.NoError(t, err)
	m := memory.New()
	require.NoError(t, m.Allocate(p.Arrays, nil))
	for _, s := range p.Scalars {
		m.Scalars[s.Name] = 0
	}
	r := rand.New(rand.NewPCG(1, 1))
	x := m.Arrays["A"].Elems
	for i := range x {
		switch i % 3 {
		case 0:
			x[i] = scalar.FromFloat(scalar.FP32, r.Float64()*176-87.3)
		case 1:
			x[i] = scalar.FromFloat(scalar.FP32, r.NormFloat64())
		default:
			x[i] = scalar.FromFloat(scalar.FP32, math.Float64frombits(r.Uint64()))
		}
	}
	ends := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 88.72283, 88.72284, -87.33654, -87.33655, 88.5, 1e-30, -1e30, 1e30}
	for i, f := range ends {
		x[i] = scalar.FromFloat(scalar.FP32, f)
	}
	require.NoError(t, interp.Run(context.Background(), p, nil, m, interp.Options{}))
	worst := 0.0
	for i, v := range m.Arrays["B"].Elems {
		a, got := scalar.ToFloat(scalar.FP32, x[i]), scalar.ToFloat(scalar.FP32, v)
		want := math.Exp(a)
		switch {
		case a != a:
			require.True(t, got != got)
		case want < 0x1p-126:
			require.Zero(t, got, a)
		case want > math.MaxFloat32*(1+0x1p-25):
			require.True(t, math.IsInf(got, 1), "%g: %g", a, got)
		default:
			_, e := math.Frexp(want)
			worst = max(worst, math.Abs(got-want)/math.Ldexp(1, max(e-24, -149)))
		}
	}
	t.Logf("at most %.3f units in the last place", worst)
	require.Less(t, worst, 1.0)
}

// TestInclude reads files beside the source, with errors in their names.
func TestInclude(t *testing.T) {
	files := fstest.MapFS{
		"lib/f.h": {Data: []byte("static float f(float x) { return x + 1; }\n")},
		"bad.h":   {Data: []byte("static float f(float x)\n{\n\treturn *x;\n}\n")},
		"self.h":  {Data: []byte("#include \"self.h\"\n")},
	}
	source := func(name string) string {
		return "#include \"" + name + "\"\n" + region("", "for (int i = 0; i < N; i++) A[i] = f(A[i]);")
	}
	opt := cfront.Options{Files: files}
	_, err := cfront.Compile(context.Background(), "dir/k.c", source("lib/f.h"), opt)
	require.NoError(t, err)
	_, err = cfront.Compile(context.Background(), "dir/k.c", source("bad.h"), opt)
	require.ErrorContains(t, err, "dir/bad.h:3:9: operator *")
	_, err = cfront.Compile(context.Background(), "dir/k.c", source("none.h"), opt)
	require.ErrorContains(t, err, "dir/k.c:1:10: include file not found")
	_, err = cfront.Compile(context.Background(), "dir/k.c", source("self.h"), opt)
	require.Error(t, err)
	_, err = cfront.Compile(context.Background(), "dir/k.c", source("../x.h"), opt)
	require.ErrorContains(t, err, "include file not found")
}
