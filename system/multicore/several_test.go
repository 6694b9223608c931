package multicore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile/se"
)

// rowsC has many short loops of which nothing is left for the core.
const rowsC = `#include "bitsched.h"
void f(int N, int32_t C[N][31])
{
	inf_array(C, N, 31);
	for (int j = 0; j < N; j++)
		for (int i = 0; i < 31; i++)
			C[j][i] = j;
}
`

// TestManyInstances has a core load for more loops than its engine has configured: in the
// largest reorder buffer that a machine may have there are hundreds of them.
func TestManyInstances(t *testing.T) {
	for _, rob := range []string{"224", "1024", "4096"} {
		p, want := compiled(t, rowsC, 400, 1)
		m := machine(t, "nsc-small", "ooo8")
		for _, name := range []string{"rob", "iq", "lq", "int_registers"} {
			require.NoError(t, m.Set("cores.ooo8."+name, rob))
		}
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns-decouple"})
		require.NoError(t, err, rob)
		require.NoError(t, sameMemory(p, want), rob)
		require.EqualValues(t, 400, r.Streams.Core.Offloaded, rob)
		require.True(t, r.Streams.Loops[0].Vanishes)
	}
}

// TestManyIterations has a core load elements of more iterations than streams have lines for
// in a page of their window.
func TestManyIterations(t *testing.T) {
	p, k, before, after := nearProgram(t, "histogram")
	m := machine(t, "nsc-small", "ooo8")
	for _, name := range []string{"rob", "iq", "lq", "sq", "int_registers"} {
		require.NoError(t, m.Set("cores.ooo8."+name, "4096"))
	}
	_, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns"})
	require.NoError(t, err)
	require.NoError(t, k.Check(streamSizes[k.Name], before, after))
}

// randomInstances is a random function of short loops inside of others, whose instances may be
// under way at once: where they begin and end the loop around reads, and they add atomically, or
// have rows of their own.
func randomInstances(r *rand.Rand, threads int) string {
	var b strings.Builder
	b.WriteString("#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N], const int32_t D[N], int32_t E[64][32], int32_t G[N], int64_t S[4])\n{\n" +
		"inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(E, 64, 32); inf_array(G, N); inf_array(S, 4);\n")
	for range 1 + r.IntN(2) {
		parallel := ""
		if threads > 1 {
			parallel = []string{"#pragma omp parallel for\n", "#pragma omp parallel for schedule(dynamic, 5)\n"}[r.IntN(2)]
		}
		fmt.Fprintf(&b, "%sfor (int u = 0; u < 64; u++) {\nint first = (uint32_t)A[u] %% (uint32_t)(N - 64), last = first + (B[u] & %d), v = D[u];\n", parallel, []int{3, 15, 31}[r.IntN(3)])
		if r.IntN(2) == 0 {
			b.WriteString("G[u] = v + first;\n")
		}
		b.WriteString("for (int e = first; e < last; e++) {\n")
		switch r.IntN(4) {
		case 0, 1:
			fmt.Fprintf(&b, "#pragma omp atomic\nC[((uint32_t)A[e] >> %d) %% (uint32_t)%s] += v;\n", r.IntN(9), []string{"N", "40"}[r.IntN(2)])
		case 2:
			b.WriteString("E[u][e - first] = A[e] * v + e;\n")
		case 3:
			b.WriteString("E[u][e - first] += B[e];\n#pragma omp atomic\nC[(uint32_t)A[e] % (uint32_t)N] += e;\n")
		}
		b.WriteString("}\n")
		if threads == 1 && r.IntN(3) == 0 {
			fmt.Fprintf(&b, "S[0] = S[0] * 3 + %s;\n", []string{"D[last]", "G[u]", "C[u]"}[r.IntN(3)])
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// TestRandomInstances compares such functions with their sequential meaning, while streams are
// ended at any time; BITSCHED_STREAMS=10000 runs more.
func TestRandomInstances(t *testing.T) {
	programs := 10
	if n, err := strconv.Atoi(os.Getenv("BITSCHED_STREAMS")); err == nil {
		programs = n
	}
	configs := []string{"ns", "ns", "ns", "ns-no-sync", "ns-decouple"}
	var ended [se.NumReasons]uint64
	offloaded := uint64(0)
	for seed := uint64(first()); seed < uint64(first()+programs); seed++ {
		r := rand.New(rand.NewPCG(seed, 14))
		threads := 1 + r.IntN(3)
		text := randomInstances(r, threads)
		p, want := compiled(t, text, 600+int64(r.IntN(500)), seed)
		m := small(t, []string{"io4", "ooo4", "ooo8"}[r.IntN(3)])
		if r.IntN(3) == 0 {
			m.Streams.L2.Slices = 1
		}
		opt := multicore.Options{Machine: m, Threads: threads, Config: configs[r.IntN(len(configs))], Warm: r.IntN(2) == 0, Seed: seed, MaxCycles: 1 << 22}
		if r.IntN(3) > 0 {
			rate := func() float64 { return []float64{0, 0.01, 0.1}[r.IntN(3)] }
			opt.Inject = &se.Inject{Alias: rate() / 10, Fault: rate(), Switch: rate() / 10}
		}
		report, err := multicore.Run(context.Background(), p, opt)
		require.NoError(t, err, "seed %d, %s, %+v\n%s", seed, opt.Config, opt.Inject, text)
		require.NoError(t, sameMemory(p, want), "seed %d, %s, %+v\n%s", seed, opt.Config, opt.Inject, text)
		if opt.Inject == nil {
			require.Zero(t, report.Streams.Core.Ended[se.Timeout], "seed %d, %s\n%s", seed, opt.Config, text)
		}
		for k, n := range report.Streams.Core.Ended {
			ended[k] += n
		}
		offloaded += report.Streams.Core.Offloaded
	}
	t.Log(offloaded, ended)
	require.Greater(t, offloaded, uint64(20*programs))
	require.Positive(t, ended[se.Alias]+ended[se.Switch])
}
