package micro_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

// formsC has a result that does not depend on the order of threads.
const formsC = `#include "bitsched.h"
void forms(int n, const int A[n], int B[n][3], int H[8], double D[4], int64_t L[16], unsigned U[4])
{
	inf_array(A, n); inf_array(B, n, 3); inf_array(H, 8); inf_array(D, 4); inf_array(L, 16); inf_array(U, 4);
	int64_t sum = 3, product = 1, least = 1000, most = -1000;
	int all = 1, some = 0, odd = 5, count = 0, top = 0;
	double low = 100;
	#pragma omp parallel for reduction(+: sum) reduction(*: product) reduction(min: least, low) reduction(max: most) reduction(&&: all) reduction(||: some) reduction(^: odd) schedule(dynamic, 2)
	for (int i = 0; i < n; i++) {
		sum += A[i];
		product *= A[i] % 3 + 1;
		least = A[i] < least ? A[i] : least;
		if (A[i] > most)
			most = A[i];
		if (A[i] * 0.5 < low)
			low = A[i] * 0.5;
		all = all && A[i] != 3;
		some = some || A[i] == 7;
		odd ^= A[i];
	}
	L[0] = sum; L[1] = product; L[2] = least; L[3] = most; L[4] = all; L[5] = some; L[6] = odd;
	D[0] = low;
	#pragma omp parallel for collapse(2)
	for (int i = 0; i < n; i++)
		for (int j = 0; j < 3; j++) {
			int tmp[4] = {i, j};
			for (int k = 0; k < 2; k++)
				tmp[2 + k] = tmp[k] * 3;
			B[i][j] = tmp[2] - tmp[3];
		}
	#pragma omp parallel for schedule(static, 1)
	for (int i = 0; i < n; i++) {
		#pragma omp critical
		{
			count += A[i];
			if (A[i] > top)
				top = A[i];
		}
		#pragma omp critical(other)
		L[7] += i;
		#pragma omp atomic
		D[1] += A[i] * 0.25;
		#pragma omp atomic
		L[8] = L[8] * 3;
		#pragma omp atomic
		U[0] ^= A[i] << (i & 7);
		int seen = __atomic_fetch_or(&U[1], 1u << (A[i] & 31), __ATOMIC_RELAXED);
		if (!(seen & 1u << (A[i] & 31)))
			__atomic_fetch_add(&L[9], 1, __ATOMIC_RELAXED);
		inf_fetch_max(&L[10], (int64_t)A[i] * 2);
		#pragma omp atomic compare
		if (A[i] < H[0]) { H[0] = A[i]; }
		int old = __atomic_load_n(&H[1], __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(&H[1], &old, old + 2, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
	}
	L[11] = count;
	L[12] = top;
}
`

// TestForms executes what threads share, on 1 to 7 threads in random orders.
func TestForms(t *testing.T) {
	g, err := cfront.CompileWhole(context.Background(), "forms.c", formsC, cfront.Options{})
	require.NoError(t, err)
	for seed := range uint64(8) {
		threads := int(1 + seed%7)
		r := rand.New(rand.NewPCG(seed, 8))
		n := int64(1 + r.IntN(40))
		args := stream.Args{Symbols: map[string]int64{"n": n}}
		mem := stream.Memory{}
		for _, a := range g.Arrays {
			if a.Scope != stream.Argument {
				continue
			}
			size := int64(1)
			for _, x := range a.Size {
				k, err := x.Eval(args.Symbols)
				require.NoError(t, err)
				size *= k
			}
			for range size {
				mem[a.Name] = append(mem[a.Name], scalar.FromFloat(scalar.FP64, float64(r.IntN(16))))
				if a.Type.Int() {
					mem[a.Name][len(mem[a.Name])-1] = scalar.FromInt(a.Type, int64(r.IntN(20)))
				}
			}
		}
		want := clone(mem)
		_, err := g.Run(context.Background(), want, args)
		require.NoError(t, err)
		p, err := micro.New(g, mem, args, micro.Options{Threads: threads, Vector: 64})
		require.NoError(t, err)
		m := newMachine(p)
		m.run(t, p, seed)
		m.compare(t, p, g, want)
	}
}

// TestExtremes has minima and maxima that the source chooses, as gcc 12 has them with
// -fopenmp-simd: SIMD (vmaxps, vpminsd) where a reduction is said to be one, scalar code
// where the order would decide what becomes of NaN. SIMD code has a load for 16 elements.
func TestExtremes(t *testing.T) {
	for _, c := range []struct {
		pragma, body string
		lanes        int
	}{
		{"#pragma omp simd reduction(max: most)", "most = x > most ? x : most;", 16},
		{"#pragma omp simd reduction(max: most)", "most = most < x ? x : most;", 16},
		{"#pragma omp simd reduction(min: most)", "most = most < x ? most : x;", 16},
		{"#pragma omp simd reduction(min: at)", "if (x == 3) at = i < at ? i : at;", 16},
		{"", "most = x > most ? x : most;", 1},
		{"#pragma omp simd reduction(max: most)", "most = x > most ? x : 7;", 1},
		{"#pragma omp simd reduction(max: most)", "most = x > 7 ? x : most;", 1},
	} {
		g, err := cfront.CompileWhole(context.Background(), "f.c", `#include "bitsched.h"
void f(int n, const float A[n], float B[1], int C[1])
{
	inf_array(A, n); inf_array(B, 1); inf_array(C, 1);
	float most = 1;
	int at = n;
`+c.pragma+`
	for (int i = 0; i < n; i++) {
		float x = A[i];
		`+c.body+`
	}
	B[0] = most;
	C[0] = at;
}
`, cfront.Options{})
		require.NoError(t, err)
		const n = 256
		mem := stream.Memory{"A": nil, "B": {0}, "C": {0}}
		for i := range n {
			mem["A"] = append(mem["A"], scalar.FromFloat(scalar.FP32, float64(i*37%101)))
		}
		args := stream.Args{Symbols: map[string]int64{"n": n}}
		want := clone(mem)
		_, err = g.Run(context.Background(), want, args)
		require.NoError(t, err)
		p, err := micro.New(g, mem, args, micro.Options{Threads: 1, Vector: 64})
		require.NoError(t, err)
		m := newMachine(p)
		m.run(t, p, 1)
		m.compare(t, p, g, want)
		require.Equal(t, n/c.lanes, m.counts[uop.Load], c.body)
	}
}
