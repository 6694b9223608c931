package cfront_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestWholeForms compares what OpenMP programs are made of with a C compiler: local
// arrays and structures, critical sections, loops that are collapsed, reductions of all
// operators, atomic updates of all forms.
func TestWholeForms(t *testing.T) {
	small := func(r *rand.Rand, array string, i int) (scalar.Value, bool) {
		return scalar.Value(r.IntN(50)), array[0] != 'D'
	}
	runWhole(t, []wholeCase{
		{name: "local", sizes: []int64{20}, fill: small, source: `#include "bitsched.h"
typedef struct point { int x, y; float w; } point;
static int sum(int n, const int *v) { int s = 0; for (int i = 0; i < n; i++) s += v[i]; return s; }
static void add(int *total, int by) { *total += by; }
void local(int n, int A[n], int B[n], double D[n])
{
	inf_array(A, n); inf_array(B, n); inf_array(D, n);
	int table[4] = {1, 2, 3}, grid[2][3] = {{1, 2, 3}, {4, 5}};
	double zeros[8] = {0};
	point p = {3, 4, 0.5f}, q = p, list[5];
	int total = 7;
	q.x += 2;
	for (int i = 0; i < 5; i++) {
		list[i].x = A[i];
		list[i].y = i;
		list[i].w = p.w * i;
	}
	list[1] = q;
	p = list[2];
	for (int i = 0; i < n; i++) {
		int here[3] = {i, table[i & 3], grid[i & 1][i % 3]};
		here[1] += here[0];
		B[i] = sum(3, here);
		zeros[i & 7] += here[2] * 0.25;
		add(&total, B[i]);
	}
	for (int i = 0; i < 8; i++)
		D[i] = zeros[i];
	A[0] = total + p.x + q.y + list[1].x;
	A[1] = p.w > 0.75f;
}
`},
		{name: "loops", sizes: []int64{6, 7}, source: `#include "bitsched.h"
void loops(int n, int m, int A[n][m], int B[n][m], long long R[12], double D[4])
{
	inf_array(A, n, m); inf_array(B, n, m); inf_array(R, 12); inf_array(D, 4);
	#pragma omp parallel for collapse(2) schedule(static, 4)
	for (int i = 0; i < n; i++)
		for (int j = m - 1; j > 0; j -= 2) {
			if (A[i][j] == 0)
				continue;
			B[i][j] = A[i][j] * 2 + i * j;
		}
	long long sum = 1, minus = 5, product = 1;
	unsigned bits = ~0u, any = 0, odd = 0;
	int all = 1, some = 0, least = 100, most = -100, t = 0, twice = 3;
	double low = 1e9, high = -1e9;
	#pragma omp parallel for schedule(guided) private(t) firstprivate(twice) reduction(+: sum) reduction(-: minus) reduction(*: product) reduction(&: bits) reduction(|: any) reduction(^: odd) \
		reduction(&&: all) reduction(||: some) reduction(min: least, low) reduction(max: most, high)
	for (int i = 0; i < n; i++) {
		t = A[i][i % m] & 1023;
		sum += t * twice;
		minus -= t;
		product = product * (t % 3 + 1);
		bits &= t | 3;
		any |= t;
		odd ^= t;
		all = all && t != 512;
		some = some || t > 1000;
		least = t < least ? t : least;
		if (t > most)
			most = t;
		if (t * 0.5 < low) low = t * 0.5;
		high = t * 0.25 > high ? t * 0.25 : high;
	}
	R[0] = sum; R[1] = minus; R[2] = product; R[3] = bits; R[4] = any; R[5] = odd; R[6] = all; R[7] = some; R[8] = least; R[9] = most;
	D[0] = low; D[1] = high;
}
`},
		{name: "atomics", sizes: []int64{30}, fill: small, source: `#include "bitsched.h"
void atomics(int n, int A[n], unsigned H[8], int O[n], double D[n], long long L[8])
{
	inf_array(A, n); inf_array(H, 8); inf_array(O, n); inf_array(D, n); inf_array(L, 8);
	int tail = 0, most = 0;
	double total = 0;
	#pragma omp parallel for
	for (int i = 0; i < n; i++) {
		int v, w, e = 3;
		#pragma omp atomic capture
		v = tail++;
		#pragma omp atomic capture
		w = O[v % 4] += 2;
		#pragma omp atomic capture
		{ e = H[2]; H[2] += A[i]; }
		#pragma omp atomic capture
		{ H[3] -= 1; e = H[3]; }
		#pragma omp atomic compare
		if (A[i] > most) { most = A[i]; }
		#pragma omp atomic compare
		L[0] = L[0] < v ? v : L[0];
		#pragma omp atomic update
		total += D[i] * 0.5;
		#pragma omp atomic
		L[1] = L[1] * 3;
		#pragma omp atomic
		H[4] &= ~(1u << (v & 7));
		#pragma omp atomic write
		O[5 + (v & 1)] = w;
		int s;
		#pragma omp atomic read
		s = O[4];
		O[i] += s + (e & 1);
		L[2] += __atomic_fetch_xor(&H[5], A[i], __ATOMIC_RELAXED) & 7;
		L[3] += __atomic_or_fetch(&H[6], A[i], __ATOMIC_SEQ_CST) & 7;
		unsigned old = H[7];
		while (!__atomic_compare_exchange_n(&H[7], &old, old * 5 + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		#pragma omp critical
		{
			if (D[i] > D[0])
				D[0] = D[i];
			L[4]++;
		}
		#pragma omp critical (other)
		L[5] += i;
		L[6] += inf_fetch_max(&L[7], (long long)A[i]);
	}
	A[0] = tail;
	A[1] = most;
	D[1] = total;
}
`},
	})
}

// TestWholeExchanges compares atomic functions whose operands are read from memory, and from the
// element itself: they are taken before the update.
func TestWholeExchanges(t *testing.T) {
	few := func(r *rand.Rand, array string, i int) (scalar.Value, bool) {
		return scalar.Value(r.IntN(4)), array != "X"
	}
	index := func(r *rand.Rand, array string, i int) (scalar.Value, bool) {
		if array == "X" {
			return scalar.Value(r.IntN(20)), true
		}
		return few(r, array, i)
	}
	runWhole(t, []wholeCase{{name: "exchanges", sizes: []int64{20}, fill: index, source: `#include "bitsched.h"
void exchanges(int n, int A[n], int O[n], int P[n], int Q[n], int R[n], int X[n], int64_t L[n], int8_t B[n])
{
	inf_array(A, n); inf_array(O, n); inf_array(P, n); inf_array(Q, n); inf_array(R, n); inf_array(X, n); inf_array(L, n); inf_array(B, n);
	for (int i = 0; i < n; i++) {
		int e = 0;
		__atomic_compare_exchange_n(&O[i], &e, A[i], 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		e = A[i];
		if (__atomic_compare_exchange_n(&O[X[i]], &e, A[i] + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			R[i] += 1;
		e = P[i];
		while (!__atomic_compare_exchange_n(&P[i], &e, e + A[i], 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
		R[i] += e;
		__sync_bool_compare_and_swap(&Q[X[i]], 0, A[i]);
		R[i] += 10 * __sync_bool_compare_and_swap(&Q[i], Q[i], Q[i] + 5);
		R[i] += __sync_val_compare_and_swap(&Q[i], A[i], Q[X[i]]);
		R[i] += __sync_val_compare_and_swap(&Q[X[i]], 2, i & 1 ? A[i] : Q[i]);
		int64_t w = 1;
		if (A[i] > 1)
			__atomic_compare_exchange_n(&L[i], &w, (int)B[i], 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		R[i] += w;
		int8_t b = 2;
		__atomic_compare_exchange_n(&B[i], &b, (int8_t)L[i], 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		R[i] += __atomic_fetch_add(&P[X[i]], P[X[i]] * 3 + A[i], __ATOMIC_RELAXED);
		R[i] ^= __atomic_exchange_n(&P[i], P[i] + P[X[i]], __ATOMIC_RELAXED);
	}
}
`}, {name: "compares", sizes: []int64{20}, fill: few, source: `#include "bitsched.h"
void compares(int n, int A[n], int O[n])
{
	inf_array(A, n); inf_array(O, n);
	#pragma omp parallel for
	for (int i = 0; i < n; i++) {
		#pragma omp atomic compare
		if (O[i] == 1) O[i] = A[i];
		#pragma omp atomic compare
		O[i] = O[i] == A[i] ? A[n - 1 - i] + 1 : O[i];
	}
}
`}})
}

// TestWholeConversions compares atomic updates in which C's conversions take the element to
// another type, and those that are no operation with an operand.
func TestWholeConversions(t *testing.T) {
	fill := func(r *rand.Rand, array string, i int) (scalar.Value, bool) {
		switch array {
		case "X":
			return scalar.Value(r.IntN(6)), true
		case "F":
			return scalar.FromFloat(scalar.FP32, r.NormFloat64()*100), true
		case "D":
			return scalar.FromFloat(scalar.FP64, r.NormFloat64()*100), true
		case "f":
			return scalar.FromFloat(scalar.FP32, r.NormFloat64()), true
		}
		return 0, false
	}
	const head = "\tinf_array(X, n); inf_array(A, n); inf_array(U, n); inf_array(L, n); inf_array(W, n); inf_array(F, n); inf_array(D, n);\n" +
		"\tinf_array(o, 6); inf_array(u, 6); inf_array(b, 6); inf_array(v, 6); inf_array(l, 6); inf_array(f, 6); inf_array(d, 6);\n"
	const params = "int n, int X[n], int A[n], uint32_t U[n], int64_t L[n], uint64_t W[n], float F[n], double D[n], int o[6], uint32_t u[6], int8_t b[6], uint16_t v[6], int64_t l[6], float f[6], double d[6]"
	var cases []wholeCase
	for i, c := range []string{
		// Integers of another sign or width.
		"o[x] += U[i];", "o[x] += 1u;", "o[x] -= U[i];", "o[x] *= U[i] | 1;", "o[x] &= ~(1u << (i & 31));", "o[x] |= U[i];", "o[x] ^= 0x80000001u;",
		"l[x] += W[i];", "l[x] -= 3ull;", "u[x] += L[i];", "o[x] = U[i] + o[x];", "o[x] = o[x] * 3u;", "b[x] += 1u;", "b[x] += W[i];", "v[x] -= A[i];", "l[x] += U[i];", "o[x]++;", "b[x]--;",
		// No operation with an operand.
		"o[x] = 3 - o[x];", "o[x] = A[i] * 2 - o[x];", "o[x] = 3u - o[x];", "o[x] = o[x] * 5 + 1;", "u[x] = U[i] / (u[x] | 1);", "b[x] = ~b[x];", "o[x] = o[x] % 7 + 1 < 3 ? A[i] : -o[x];", "o[x] = -o[x];", "b[x] <<= 1;", "b[x] /= 3;", "u[x] /= -3;", "o[x] >>= 1u;", "o[x] = U[i] >> (o[x] & 31);",
		// Arithmetic of another type.
		"o[x] += F[i] * 0.5f;", "o[x] += D[i];", "b[x] += F[i] * 0.01f;", "l[x] += D[i] * 3;", "o[x] *= 0.5;",
		"f[x] += 0.5;", "f[x] -= F[i] * 1.0;", "f[x] *= 1.5;", "f[x] /= 3.0;", "f[x] += 0.1;", "f[x] += D[i];", "f[x] += F[i] * 0.3;", "f[x] = 1.0 - f[x];", "f[x] = 3 / f[x];", "f[x] = f[x] * 0.5f + F[i];", "f[x] += A[i];", "f[x] += (double)A[i];", "f[x] += (double)(short)A[i];", "d[x] += F[i];", "d[x] += U[i];", "d[x] = 1 - d[x];",
	} {
		cases = append(cases, wholeCase{name: fmt.Sprint("update", i), sizes: []int64{40}, fill: fill, source: "#include \"bitsched.h\"\nvoid update(" + params + ")\n{\n" + head +
			"\t#pragma omp parallel for\n\tfor (int i = 0; i < n; i++) {\n\t\tint x = X[i];\n\t\t#pragma omp atomic\n\t\t" + c + "\n\t}\n}\n"})
	}
	cases = append(cases, wholeCase{name: "captures", sizes: []int64{40}, fill: fill, source: "#include \"bitsched.h\"\nvoid captures(" + params + ")\n{\n" + head + `
	int c = 5;
	float s = 0;
	#pragma omp parallel for
	for (int i = 0; i < n; i++) {
		int x = X[i], k;
		float g;
		#pragma omp atomic
		c += U[i];
		#pragma omp atomic
		s += D[i] * 0.25;
		#pragma omp atomic capture
		k = o[x] += U[i];
		A[i] += k;
		#pragma omp atomic capture
		{ k = o[x]; o[x] = 7u - o[x]; }
		A[i] += k;
		#pragma omp atomic capture
		{ f[x] += D[i]; g = f[x]; }
		F[i] = g;
		#pragma omp atomic capture
		{ g = f[x]; f[x] = D[i] - f[x]; }
		F[i] += g;
		#pragma omp atomic compare
		if (o[x] > U[i]) o[x] = U[i];
		#pragma omp atomic compare
		l[x] = l[x] < W[i] ? W[i] : l[x];
		#pragma omp atomic compare
		if (o[x] == U[i]) o[x] = U[i] + 1;
		#pragma omp atomic compare
		if (f[x] < D[i]) f[x] = D[i];
		#pragma omp atomic compare capture
		{ k = b[x]; if (b[x] > (U[i] & 15)) b[x] = U[i] & 15; }
		A[i] ^= k;
	}
	A[0] = c;
	F[0] = s;
}
`})
	runWhole(t, cases)
}

// TestWholeErrors says where a program leaves the subset, and what is supported.
func TestWholeErrors(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"	#pragma omp sections\n	{ A[0] = 1; }\n", "f.c:5:10: omp sections: supported are parallel for, for, simd, atomic and critical"},
		{"	#pragma omp parallel\n	{\n		int x = 1;\n		#pragma omp for\n		for (int i = 0; i < n; i++) A[i] = x;\n	}\n", "f.c:7:3: a statement in a parallel region that every thread executes: expected loops with #pragma omp for and nothing else in it: write #pragma omp parallel for at each"},
		{"	#pragma omp parallel for reduction(/: n)\n	for (int i = 0; i < n; i++) A[i] = 1;\n", "f.c:5:10: reduction(/:n), expected one of + - * & | ^ && || min max, as in reduction(+: sum)"},
		{"	int s = 0;\n	#pragma omp parallel for\n	for (int i = 0; i < n; i++) s += A[i];\n	A[0] = s;\n", "f.c:7:2: variable s goes from iteration to iteration of a parallel loop: expected reduction(+:s), or its declaration inside of the loop"},
		{"	#pragma omp parallel for\n	for (int i = 0; i < n; i++) { if (A[i]) break; }\n", "f.c:6:2: a parallel loop with break or return, which OpenMP does not allow"},
		{"	#pragma omp parallel for collapse(2)\n	for (int i = 0; i < n; i++)\n		for (int j = 0; j < i; j++) A[i] = j;\n", "f.c:7:3: collapse(2) with bounds that depend on i, expected loops such as for (int i = a; i < b; i++), each the only statement of the one around it, with bounds of none of them"},
		{"	#pragma omp parallel for\n	for (int i = 0; i < n; i++) {\n		#pragma omp parallel for\n		for (int j = 0; j < n; j++) A[j] = i;\n	}\n", "f.c:7:11: a parallel loop inside of another: supported is one level of threads"},
		{"	#pragma omp parallel for schedule(magic)\n	for (int i = 0; i < n; i++) A[i] = 1;\n", "f.c:5:10: schedule magic, expected static, dynamic, guided, auto or runtime"},
		{"	#pragma omp parallel for lastprivate(n)\n	for (int i = 0; i < n; i++) A[i] = 1;\n", "f.c:5:10: clause lastprivate of OpenMP: supported are schedule, reduction, collapse, private, firstprivate, shared, default and nowait"},
		{"	int x;\n	#pragma omp atomic capture\n	x = A[0] * 2;\n", "f.c:7:2: atomic capture: expected one of v = x++, v = x += e, { v = x; x += e; }, { x += e; v = x; }, if (x > e) x = e, and x = x < e ? e : x"},
		{"	int t[3] = {1, 2, 3, 4};\n	A[0] = t[0];\n", "f.c:5:23: more values than t has elements"},
		{"	int t[n] = {1};\n	A[0] = t[0];\n", "f.c:5:6: initial values of t, whose size is no constant"},
		{"	float *t = malloc(n * sizeof(float));\n	A[0] = t[0];\n", "f.c:5:13: a call of malloc: expected a parameter, or a local array of such a size, as in float t[n]"},
		{"	A[0] = T[0];\n", "f.c:5:9: T is not declared in the function: expected a parameter or a local array"},
		{"	switch ((int)A[0]) { case 0: A[0] = 1; }\n", "f.c:5:2: switch: supported are for, while, do, if, break, continue, return, assignments, declarations and calls"},
		{"	struct none s;\n	A[0] = 1;\n", "f.c:5:14: structure none is not declared yet"},
		{"	goto end;\n	end: A[0] = 1;\n", "f.c:5:2: goto: supported are for, while, do, if, break, continue, return, assignments, declarations and calls"},
		{"	union { int i; float f; } u;\n	u.i = A[0];\n", "f.c:5:2: a union: supported are structures of numbers and of pointers to structures"},
		{"	A[0] = printf(1);\n", "f.c:5:9: a call of printf: supported are fmin, fmax, sqrt, fabs, fma, fminf, fmaxf, sqrtf, fabsf, fmaf, expf, abs and functions of the file"},
	} {
		_, err := cfront.CompileWhole(context.Background(), "f.c", "#include \"bitsched.h\"\nvoid f(int n, int A[n])\n{\n	inf_array(A, n);\n"+c.body+"}\n", cfront.Options{})
		require.Error(t, err, c.body)
		if !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.body, err, c.want)
		}
	}
}
