package cfront_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestMeaning executes what random kernels do not have, and compares with plain
// loops on X and Y, N numbers each.
func TestMeaning(t *testing.T) {
	const n = 9
	for name, c := range map[string]struct {
		body string
		do   func(x, y []int32)
	}{
		"guard of a subscript": {"for (int i = 0; i < N; i++) if (i > 0) Y[i] = X[i - 1]; else Y[i] = -1;", func(x, y []int32) {
			for i := range x {
				y[i] = -1
				if i > 0 {
					y[i] = x[i-1]
				}
			}
		}},
		"guard by an operator": {"for (int i = 0; i < N; i++) Y[i] = i + 1 < N && X[i + 1] > 3 ? X[i] : 7;", func(x, y []int32) {
			for i := range x {
				y[i] = 7
				if i+1 < n && x[i+1] > 3 {
					y[i] = x[i]
				}
			}
		}},
		"guard by data": {"for (int i = 0; i < N - 1; i++) Y[i] = X[i] >= 0 && X[i] < N ? X[X[i]] : X[i + 1];", func(x, y []int32) {
			for i := range n - 1 {
				y[i] = x[i+1]
				if x[i] >= 0 && x[i] < n {
					y[i] = x[x[i]]
				}
			}
		}},
		"exchange of variables": {"{ int a = 0, b = 1; for (int i = 0; i < N; i++) { Y[i] = a; int c = a + b; a = b; b = c; } X[0] = a; }", func(x, y []int32) {
			a, b := int32(0), int32(1)
			for i := range y {
				y[i] = a
				a, b = b, a+b
			}
			x[0] = a
		}},
		"position of the least": {"{ int best = X[0]; int at = 0; for (int i = 1; i < N; i++) { if (X[i] < best) { best = X[i]; at = i; } } Y[0] = at; Y[1] = best; }", func(x, y []int32) {
			at := 0
			for i := range x {
				if x[i] < x[at] {
					at = i
				}
			}
			y[0], y[1] = int32(at), x[at]
		}},
		"declared at the top": {"{ int i, t; for (i = 0; i < N; i++) { t = X[i] * 2; Y[i] = t + 1; } for (i = 0; i < N; ++i) { t = Y[i]; X[i] -= t; } }", func(x, y []int32) {
			for i := range x {
				y[i] = 2*x[i] + 1
				x[i] -= y[i]
			}
		}},
		"downwards, in place": {"for (int i = N - 1; i >= 1; i--) X[i] = X[i] + X[i - 1];", func(x, _ []int32) {
			for i := n - 1; i >= 1; i-- {
				x[i] += x[i-1]
			}
		}},
		"downwards, a recurrence": {"for (int i = N - 2; i >= 0; i--) X[i] = X[i] + X[i + 1];", func(x, _ []int32) {
			for i := n - 2; i >= 0; i-- {
				x[i] += x[i+1]
			}
		}},
		"operators": {"for (int i = 0; i < N; i++) { X[i] *= 3; X[i] <<= 2; X[i] |= 1; X[i] ^= Y[i]; X[i] &= 1023; X[i] >>= 1; X[i] %= 7; X[i]++; --Y[i]; Y[i] = ~Y[i] + !Y[i] - abs(Y[i]); }",
			func(x, y []int32) {
				for i := range x {
					v := x[i] * 3
					v <<= 2
					v |= 1
					v ^= y[i]
					v &= 1023
					v >>= 1
					v %= 7
					x[i] = v + 1
					w := y[i] - 1
					not, abs := int32(0), w
					if w == 0 {
						not = 1
					}
					if w < 0 {
						abs = -w
					}
					y[i] = ^w + not - abs
				}
			}},
		"an index of one's own": {"for (int i = 0; i < N - 2; i++) { const int j = i + 1; Y[j + 1] = X[j]; }", func(x, y []int32) {
			copy(y[2:], x[1:n-1])
		}},
		"taken apart": {"for (int i = 1; i < N; i++) { X[i] = 2 * X[i]; Y[i] = Y[i - 1] + X[i]; }", func(x, y []int32) {
			for i := 1; i < n; i++ {
				x[i] *= 2
				y[i] = y[i-1] + x[i]
			}
		}},
		"a sum with conditions": {"{ int s = 5; for (int i = 0; i < N; i++) if (X[i] > Y[i]) s -= X[i]; Y[0] = s; }", func(x, y []int32) {
			s := int32(5)
			for i := range x {
				if x[i] > y[i] {
					s -= x[i]
				}
			}
			y[0] = s
		}},
		"outer sequential, inner sum": {"for (int k = 1; k < N; k++) { int s = 0; for (int i = 0; i < N; i++) s += X[i] * Y[k]; X[k] = s & 255; }", func(x, y []int32) {
			for k := 1; k < n; k++ {
				s := int32(0)
				for i := range x {
					s += x[i] * y[k]
				}
				x[k] = s & 255
			}
		}},
		"sums of nothing": {"for (int k = 0; k < N; k++) for (int i = k + 1; i < N; i++) for (int j = 0; j < N; j++) Y[i] += X[j] * X[k];", func(x, y []int32) {
			for k := range x {
				for i := k + 1; i < n; i++ {
					for j := range x {
						y[i] += x[j] * x[k]
					}
				}
			}
		}},
		"sums so far": {"{ int s = 0; for (int i = 0; i < N; i++) { s += X[i]; Y[i] = s; } }", func(x, y []int32) {
			s := int32(0)
			for i := range x {
				s += x[i]
				y[i] = s
			}
		}},
		"kept from before": {"{ int t; for (int i = 0; i < N; i++) { for (int j = i; j < 4; j++) t = X[j] + i; Y[i] = t; } }", func(x, y []int32) {
			t := int32(0)
			for i := range x {
				for j := i; j < 4; j++ {
					t = x[j] + int32(i)
				}
				y[i] = t
			}
		}},
		"nothing to do": {"for (int i = N; i < N; i++) X[i - 1] = 1;", func(_, _ []int32) {}},
	} {
		source := "#include \"bitsched.h\"\nvoid k(int N, int32_t X[N], int32_t Y[N])\n{\n\tinf_array(X, N); inf_array(Y, N);\n#pragma bitsched region\n" + c.body + "\n}\n"
		for _, defines := range []map[string]int64{nil, {"N": n}} {
			p, err := cfront.Compile(context.Background(), "k.c", source, cfront.Options{Defines: defines})
			require.NoError(t, err, name)
			x, y := []int32{3, -1, 4, 1, -5, 9, 2, 6, 5}, []int32{2, 7, 1, 8, 2, 8, 1, 0, 4}
			m := memory.New()
			for array, list := range map[string][]int32{"X": x, "Y": y} {
				m.Arrays[array] = &memory.Array{Type: scalar.Int32, Size: []int64{n}}
				for _, v := range list {
					m.Arrays[array].Elems = append(m.Arrays[array].Elems, scalar.FromInt(scalar.Int32, int64(v)))
				}
			}
			sizes := map[string]int64{}
			for _, s := range p.Sizes {
				sizes[s.Name] = n
			}
			require.NoError(t, interp.Run(context.Background(), p, sizes, m, interp.Options{}), name)
			c.do(x, y)
			for array, list := range map[string][]int32{"X": x, "Y": y} {
				var got []int32
				for _, v := range m.Arrays[array].Elems {
					got = append(got, int32(v))
				}
				require.Equal(t, list, got, "%s: %s\n%s", name, array, p)
			}
		}
	}
}

// TestSmallFloats has fp16 and bf16, which C compilers do not all know, element by
// element.
func TestSmallFloats(t *testing.T) {
	for _, typ := range []scalar.Type{scalar.FP16, scalar.BF16} {
		p, err := compile(`#include "bitsched.h"
void k(int N, `+typ.String()+` A[N], `+typ.String()+` B[N], float C[N])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N);
#pragma bitsched region
	for (int i = 0; i < N; i++) {
		C[i] = A[i] * B[i] + 1.5f;
		A[i] = A[i] * B[i] + A[i];
	}
}
`, nil)
		require.NoError(t, err)
		m := memory.New()
		require.NoError(t, m.Allocate(p.Arrays, map[string]int64{"N": 3}))
		a, b := []float64{1.5, 2.75, 1. / 3}, []float64{3.25, 1. / 7, 1024}
		for i := range a {
			m.Arrays["A"].Elems[i], m.Arrays["B"].Elems[i] = scalar.FromFloat(typ, a[i]), scalar.FromFloat(typ, b[i])
		}
		before := m.Clone()
		require.NoError(t, interp.Run(context.Background(), p, map[string]int64{"N": 3}, m, interp.Options{}))
		for i := range a {
			x, y := before.Arrays["A"].Elems[i], before.Arrays["B"].Elems[i]
			product := scalar.Eval(scalar.Mul, typ, x, y)
			require.Equal(t, scalar.Eval(scalar.Add, typ, product, x), m.Arrays["A"].Elems[i])
			require.Equal(t, scalar.Eval(scalar.Add, scalar.FP32, scalar.Convert(typ, scalar.FP32, product), scalar.FromFloat(scalar.FP32, 1.5)), m.Arrays["C"].Elems[i])
		}
	}
}

// TestEmptyReduction has a reduction in a loop that has no iteration in the last
// round of the one around it.
func TestEmptyReduction(t *testing.T) {
	p, err := compile(`#include "bitsched.h"
void k(int N, int32_t X[N], int32_t Y[N], int32_t Z[N][N])
{
	inf_array(X, N); inf_array(Y, N); inf_array(Z, N, N);
#pragma bitsched region
	for (int k = 0; k < N; k++)
		for (int i = k + 1; i < N; i++)
			for (int j = 0; j < N; j++)
				Y[i] += Z[i][j] * X[k];
}
`, nil)
	require.NoError(t, err)
	require.Len(t, p.Body, 1)
	require.Equal(t, 1, kinds(p.Regions()[0].Graph)[tdfg.Reduce])
	const n = 5
	m := memory.New()
	require.NoError(t, m.Allocate(p.Arrays, map[string]int64{"N": n}))
	for i := range scalar.Value(n * n) {
		m.Arrays["X"].Elems[i%n], m.Arrays["Z"].Elems[i] = i%n+2, i*i
	}
	want := make([]scalar.Value, n)
	for k := range n {
		for i := k + 1; i < n; i++ {
			for j := range n {
				want[i] += m.Arrays["Z"].Elems[i*n+j] * m.Arrays["X"].Elems[k]
			}
		}
	}
	require.NoError(t, interp.Run(context.Background(), p, map[string]int64{"N": n}, m, interp.Options{}))
	require.Equal(t, want, m.Arrays["Y"].Elems)
}
