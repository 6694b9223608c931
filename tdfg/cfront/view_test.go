package cfront_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

const viewHead = `#include "bitsched.h"
void k(int N, int A[2*N], int B[N], int C[2*N+2][2*N+2], int D[N][N], float R[8*N], float I[8*N], float W[4])
{
	inf_array(A, 2*N); inf_array(B, N); inf_array(C, 2*N+2, 2*N+2); inf_array(D, N, N); inf_array(R, 8*N); inf_array(I, 8*N); inf_array(W, 4);
#pragma bitsched region
`

// TestStrides has kernels whose elements lie at strides, backwards, or in more loops than
// their arrays have dimensions: none of them has a stream, and gcc agrees.
func TestStrides(t *testing.T) {
	var list []compiled
	for _, body := range []string{
		// max-pool 2x2
		`for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) {
			int m = C[2*i][2*j];
			for (int y = 0; y < 2; y++) for (int x = 0; x < 2; x++) m = m > C[2*i+y][2*j+x] ? m : C[2*i+y][2*j+x];
			D[i][j] = m;
		}`,
		// stride-2 convolution
		`for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) {
			int s = 0;
			for (int y = 0; y < 3; y++) for (int x = 0; x < 3; x++) s += C[2*i+y][2*j+x] * (y + 2 * x - 3);
			D[i][j] = s;
		}`,
		// a stage of a radix-2 FFT, neighbours and with a distance
		`for (int i = 0; i < 4*N; i++) {
			float r = R[2*i+1] * W[1] - I[2*i+1] * W[2], m = R[2*i+1] * W[2] + I[2*i+1] * W[1];
			float a = R[2*i], b = I[2*i];
			R[2*i] = a + r; I[2*i] = b + m; R[2*i+1] = a - r; I[2*i+1] = b - m;
		}`,
		`for (int i = 0; i < N; i++) for (int j = 0; j < 4; j++) {
			float r = R[8*i+j+4] * W[j] - I[8*i+j+4], m = R[8*i+j+4] + I[8*i+j+4] * W[j];
			float a = R[8*i+j], b = I[8*i+j];
			R[8*i+j] = a + r; I[8*i+j] = b + m; R[8*i+j+4] = a - r; I[8*i+j+4] = b - m;
		}`,
		// odd-even transposition sort
		`for (int t = 0; t < N; t++) {
			for (int i = 0; i < N; i++) { int a = A[2*i], b = A[2*i+1]; A[2*i] = a < b ? a : b; A[2*i+1] = a < b ? b : a; }
			for (int i = 0; i < N-1; i++) { int a = A[2*i+1], b = A[2*i+2]; A[2*i+1] = a < b ? a : b; A[2*i+2] = a < b ? b : a; }
		}`,
		"for (int t = 0; t < N; t++) { for (int i = 0; i < 2*N; i += 2) { int a = A[i]; if (A[i+1] < a) { A[i] = A[i+1]; A[i+1] = a; } } for (int i = 1; i < 2*N-1; i += 2) { int a = A[i]; if (A[i+1] < a) { A[i] = A[i+1]; A[i+1] = a; } } }",
		"for (int i = 0; i < N; i++) { B[i] = A[2*i]; D[0][i] = A[2*i+1]; }",                                                                   // de-interleave
		"for (int i = 0; i < N; i++) { A[2*i] = B[i]; A[2*i+1] = (B[i] + B[i]) / 3; }",                                                         // upsample
		"for (int i = 0; i < N; i++) B[i] = (A[2*i] + A[2*i+1]) >> 1;",                                                                         // downsample
		"for (int i = 0; i < N; i++) A[2*i] = 7;",                                                                                              // others stay
		"for (int i = 0; i < N; i++) B[i] = A[2*N-1-i] + A[2*N-2-2*i];",                                                                        // backwards
		"for (int i = 0; i < N; i++) D[i][i] = B[i];",                                                                                          // a diagonal
		"for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) D[i][j] = D[i][j] + A[i+j];",                                                  // a window
		"for (int i = 0; i < N; i++) B[i] = C[i][i] + C[i+1][2*N-i];",                                                                          // diagonals
		"for (int i = 0; i < N; i++) for (int j = 0; j < 2; j++) A[2*i+j] = A[2*i+j] * B[i];",                                                  // more loops than dimensions
		"for (int i = N-2; i >= 0; i -= 2) B[i/1] = 3;",                                                                                        // no affine number of iterations
		"{ int s = 0; for (int i = 0; i < N; i++) s += A[2*i+1] * B[i]; B[0] = s; }",                                                           // reduced
		"for (int i = 0; i < N; i++) { A[2*i] = B[i]; B[i] = A[2*i] + 1; }",                                                                    // used after it is written
		"for (int i = 0; i < N; i++) A[2*i] = B[i]; ",                                                                                          //
		"{ for (int i = 0; i < N; i++) A[2*i] = B[i]; for (int i = 0; i < 2*N; i++) A[i] += 1; for (int i = 0; i < N; i++) B[i] = A[2*i+1]; }", // in order
		"for (int t = 0; t < 3; t++) { for (int i = 1; i < 2*N; i++) A[i] = A[i] + 2; for (int i = 0; i < N; i++) A[2*i] = A[2*i+1]; }",
		"for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) C[2*i][2*j+1] = i == 0 || j == 2 ? C[2*i][2*j] : C[2*i+1][2*j] - D[i][j];",
		"for (int k = 0; k < 3; k++) for (int i = 0; i < N; i++) B[i] += C[k][2*i] * C[2*k][i];", // rows of a loop of the host
	} {
		list = append(list, compiled{source: viewHead + "\t" + body + "\n}\n", n: 8})
	}
	for i, p := range againstGCC(t, list, "-ffp-contract=off") {
		if !strings.Contains(list[i].source, "i/1") {
			require.Zero(t, streamsIn(p), "%s\n%s", list[i].source, p)
		}
	}
}

// TestRandomStrides compares random kernels: any strides, distances and dimensions, some
// of which need an order.
func TestRandomStrides(t *testing.T) {
	var list []compiled
	for seed := range uint64(60) {
		w := &words{Rand: rand.New(rand.NewPCG(seed, 10))}
		n := 3 + w.IntN(6)
		// subscript returns one that stays from 0 to 8*N-1 over loops below N.
		subscript := func(vars []string) string {
			low, high := 0, 0
			var text []string
			for _, v := range vars {
				c := w.IntN(7) - 2
				if c == 0 || w.IntN(3) > 0 && len(vars) == 1 {
					c = 1 + w.IntN(3)
				}
				low, high = low+min(0, c*(n-1)), high+max(0, c*(n-1))
				text = append(text, fmt.Sprintf("%d*%s", c, v))
			}
			return fmt.Sprintf("%s + %d", strings.Join(text, " + "), -low+w.IntN(min(4, 8*n-high+low)))
		}
		element := func(vars []string, one, two []string) string {
			switch {
			case len(vars) == 2 && w.IntN(3) > 0:
				a, b := vars[0], vars[1]
				if w.IntN(8) == 0 {
					a, b = b, a
				}
				return fmt.Sprintf("%s[%s][%s]", w.pick(two...), subscript([]string{a}), subscript([]string{b}))
			case len(vars) == 2 && w.IntN(3) > 0:
				i := w.IntN(2)
				return fmt.Sprintf("%s[%s]", w.pick(one...), subscript(vars[i:i+1]))
			}
			return fmt.Sprintf("%s[%s]", w.pick(one...), subscript(vars))
		}
		var body strings.Builder
		for range 1 + w.IntN(3) {
			vars := []string{"i"}
			head := w.pick("for (int i = 0; i < N; i++)", "for (int i = 0; i < N; i++)", "for (int i = N-1; i >= 0; i--)", fmt.Sprintf("for (int i = 1; i < %d; i += 2)", n))
			if w.IntN(2) == 0 {
				vars = append(vars, "j")
				head += " for (int j = 0; j < N; j++)"
			}
			body.WriteString("\t" + head + " {\n")
			for range 1 + w.IntN(3) {
				from, to := []string{"X", "X", "Y", "Y", "Z"}, []string{"Z", "Z", "Z", "Z", "Y"}
				from2, to2 := []string{"P", "P", "P", "Q"}, []string{"Q", "Q", "Q", "P"}
				value := fmt.Sprintf("%s %s %s", element(vars, from, from2), w.pick("+", "-", "*", "^"), element(vars, from, from2))
				target := element(vars, to, to2)
				fmt.Fprintf(&body, "\t\t%s %s %s;\n", target, w.pick("=", "=", "+="), value)
			}
			body.WriteString("\t}\n")
		}
		list = append(list, compiled{n: int64(n), source: `#include "bitsched.h"
void k(int N, int X[8*N], int Y[8*N], int Z[8*N], int P[8*N][8*N], int Q[8*N][8*N])
{
	inf_array(X, 8*N); inf_array(Y, 8*N); inf_array(Z, 8*N); inf_array(P, 8*N, 8*N); inf_array(Q, 8*N, 8*N);
#pragma bitsched region
{
` + body.String() + "}\n}\n"})
	}
	views, tensors := 0, 0
	for _, p := range againstGCC(t, list) {
		if streamsIn(p) == 0 {
			tensors++
		}
		for _, a := range p.Regions()[0].Graph.Arrays {
			if a.View != nil {
				views++
			}
		}
	}
	t.Logf("%d of %d without streams, %d views", tensors, len(list), views)
	require.Greater(t, tensors, 8)
	require.Greater(t, views, 100)
}

// TestIndices has kernels that compute with indices, or compare those of two loops: none
// of them has a stream, and gcc agrees.
func TestIndices(t *testing.T) {
	var list []compiled
	for _, body := range []string{
		"for (int i = 0; i < N; i++) A[i] = i * 3;",
		"for (int i = 0; i < N; i++) F[i] = (float)i * 0.5f + F[i];",
		"for (int i = 2; i < N-1; i++) A[i] = (B[i] ^ i) - (i >> 1);",
		"for (int i = N-1; i >= 0; i--) A[i] = N - i;",
		"for (int i = 0; i < N; i += 2) A[i/1] = 1; ",
		"for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) C[i][j] = i > j ? D[i][j] : 0;",
		"for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) if (i + j < N) C[i][j] = 100 * i + j;",
		"for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) if (j <= i) C[i][j] += A[j]; else D[i][j] = B[i];",
		"for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) D[i][j] = i == j;",                                                     // the identity
		"for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) C[i][j] = (i & 1) == (j & 1) && i != 3 ? D[i][j] : -D[i][j];",          // a chequerboard
		"for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) C[i][j] = i - j > 2 || 2 * j - 3 * i >= N ? 1 : i == 0 ? 7 : D[i][j];", //
		"{ int s = 0; for (int i = 0; i < N; i++) s += i * A[i]; B[0] = s; }",
		"{ int s = 0; for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) if (i < j) s += C[i][j]; B[0] = s; }",
		"{ int k = 0; for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) k = i * j > k ? i * j : k; B[0] = k; }",
		"for (int t = 0; t < 3; t++) for (int i = 0; i < N; i++) A[i] += i > t ? t * i : B[i];",
		"{ for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) C[i][j] = i; for (int j = 0; j < N; j++) for (int i = 0; i < N; i++) D[j][i] = i - j; }", // names exchanged
		"for (unsigned i = 0; i < N; i++) A[i] = i - 3 > 5u;",
		"for (unsigned i = 0; i < N; i++) A[i] = (i - 3 < 5u) + (i * 300000000u > 1000000000u);",
		"for (int i = 0; i < N; i++) A[i] = (int8_t)(i * 20) + (uint8_t)(3 - i) + (i * 100 - 1000 > 3 - i * 9);",
		"for (long i = 0; i < N; i++) A[i] = i * i * 5000000000;",
		"for (int k = 1; k < 5; k++) for (int i = k; i < N; i++) A[i] = A[i] * 2 + i - k;",
	} {
		source := cutHead + "\t" + body + "\n}\n"
		list = append(list, compiled{source: source, n: 16}, compiled{source: source, n: 16, bound: true})
	}
	for i, p := range againstGCC(t, list, "-ffp-contract=off") {
		if !strings.Contains(list[i].source, "i/1") {
			require.Zero(t, streamsIn(p), "%s\n%s", list[i].source, p)
		}
	}
}

// TestRandomIndices compares random kernels with indices in conditions and values.
func TestRandomIndices(t *testing.T) {
	var list []compiled
	for seed := range uint64(40) {
		w := &words{Rand: rand.New(rand.NewPCG(seed, 12)), elems: []string{"i", "j", "i", "j", "C[i][j]", "A[i]", "B[j]", "N", "2", "(i - j)"}}
		body := fmt.Sprintf("if (%s) C[i][j] = %s; else D[i][j] = %s;", w.expr(2), w.expr(2), w.expr(1))
		list = append(list, compiled{n: int64(3 + w.IntN(9)), bound: seed%4 > 0, source: cutHead + "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) {\n" + body + "\n}\n}\n"})
	}
	tensors := 0
	for _, p := range againstGCC(t, list) {
		if streamsIn(p) == 0 {
			tensors++
		}
	}
	t.Logf("%d of %d without streams", tensors, len(list))
	require.Greater(t, tensors, 35)
}

// TestStridesNoted says why strides are not tensors, with what to write instead.
func TestStridesNoted(t *testing.T) {
	for body, want := range map[string]string{
		"for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) A[i+j] += D[i][j];":                                    "A has an element in several iterations",
		"for (int i = 0; i < N; i++) for (int j = 0; j < i; j++) A[2*j+1] = B[i];":                                      "loop j has bounds that vary",
		"for (int i = 0; i < N; i += 2) B[i] = 1;":                                                                      "loop i has step 2",
		"for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int m = 0; m < N; m++) D[i][j] += C[i+m][2*j+m];": "",
	} {
		var notes []cfront.Note
		_, err := cfront.Compile(t.Context(), "k.c", viewHead+body+"\n}\n", cfront.Options{Notes: &notes})
		require.NoError(t, err)
		if want == "" {
			continue
		}
		var all []string
		for _, n := range notes {
			all = append(all, n.What)
			require.NotEmpty(t, n.Remedy, n.What)
		}
		require.Contains(t, all, want, body)
	}
}

// TestCoverage compares well-known kernels with what gcc makes of them. Their arguments are
// eighths, so that sums of any order are exact; softmax is compared where it runs.
func TestCoverage(t *testing.T) {
	files, err := filepath.Glob("../../benchmarks/known/c/*.c")
	require.NoError(t, err)
	require.Len(t, files, 11)
	var list []compiled
	for _, file := range files {
		if filepath.Base(file) == "softmax.c" {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		list = append(list, compiled{source: string(text), n: 12, fill: func(r *rand.Rand, t scalar.Type) scalar.Value {
			if t.Float() {
				return scalar.FromFloat(t, float64(r.IntN(64)-32)/8)
			}
			return scalar.FromInt(t, r.Int64N(200)-100)
		}})
	}
	againstGCC(t, list, "-ffp-contract=off")
}
