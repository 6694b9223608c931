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

// endlessC chases pointers: first along a list, then around a cycle if there is one.
const endlessC = `#include "bitsched.h"
void f(int N, int32_t next[N], int64_t out[1])
{
	inf_array(next, N);
	inf_array(out, 1);
	for (int i = 0; i < N; i++)
		next[i] = %s;
	int64_t s = 0;
	for (int p = 0; p >= 0; p = next[p])
		s += p;
	out[0] = s;
}
`

// TestEndless has pointers that form a cycle, of which the core has nothing to do: cycles pass,
// so that a run can be stopped. One that has an end, after many steps of the program that make no
// micro-op, is taken back as any other one.
func TestEndless(t *testing.T) {
	for _, config := range []string{"base", "ns", "ns-decouple", "single"} {
		p, _, err := arguments(graphOf(t, "f.c", fmt.Sprintf(endlessC, "i + 1 < N ? i + 1 : -1")), 300, 1)
		require.NoError(t, err)
		require.NotNil(t, p)
		p.Graph = graphOf(t, "f.c", fmt.Sprintf(endlessC, "(i + 1) % N"))
		_, err = multicore.Run(context.Background(), p, multicore.Options{Machine: machine(t, "nsc-small", "ooo8"), Threads: 1, Config: config, MaxCycles: 20000})
		require.ErrorIs(t, err, multicore.ErrMaxCycles, config)
	}
	for seed, inject := range []*se.Inject{nil, {Switch: 0.001}, {Fault: 0.01, Alias: 0.001}} {
		p, want := compiled(t, fmt.Sprintf(endlessC, "i + 1 < N ? i + 1 : -1"), 3000, uint64(seed))
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: machine(t, "nsc-small", "ooo8"), Threads: 1, Config: "ns", Inject: inject, Seed: uint64(seed)})
		require.NoError(t, err)
		require.NoError(t, sameMemory(p, want))
		require.Positive(t, r.Streams.Core.Offloaded)
	}
}

// randomInstances is a random function of short loops inside of others, whose instances may be
// under way at once: where they begin and end the loop around reads, and they add atomically, or
// have rows of their own, or reduce.
func randomInstances(r *rand.Rand, threads int) string {
	var b strings.Builder
	b.WriteString("#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N], const int32_t D[N], int32_t E[64][32], int32_t G[N], int64_t S[4], double R[64])\n{\n" +
		"inf_array(R, 64); inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(E, 64, 32); inf_array(G, N); inf_array(S, 4);\n")
	for range 1 + r.IntN(2) {
		parallel := ""
		if threads > 1 {
			parallel = []string{"#pragma omp parallel for\n", "#pragma omp parallel for schedule(dynamic, 5)\n"}[r.IntN(2)]
		}
		sums := r.IntN(2) == 0
		length := []string{"(B[u] & 3)", "(B[u] & 15)", "(B[u] & 31)"}[r.IntN(3)]
		if sums {
			length = []string{"64", "40 + (B[u] & 23)", "(B[u] & 63)"}[r.IntN(3)]
		}
		carried := sums && threads == 1 && r.IntN(4) == 0
		if carried { // from one instance to the next one
			b.WriteString("int64_t s = 5;\n")
		}
		fmt.Fprintf(&b, "%sfor (int u = 0; u < 64; u++) {\nint first = (uint32_t)A[u] %% (uint32_t)(N - 64), last = first + %s, v = D[u];\n", parallel, length)
		if r.IntN(2) == 0 {
			b.WriteString("G[u] = v + first;\n")
		}
		form := r.IntN(4)
		if sums {
			form = 4
			if !carried {
				fmt.Fprintf(&b, "int64_t s = %s;\n", []string{"0", "v", "G[u]"}[r.IntN(3)])
			}
			b.WriteString("double d = 1; int32_t m = v;\n")
		}
		b.WriteString("for (int e = first; e < last; e++) {\n")
		switch form {
		case 0, 1:
			fmt.Fprintf(&b, "#pragma omp atomic\nC[((uint32_t)A[e] >> %d) %% (uint32_t)%s] += v;\n", r.IntN(9), []string{"N", "40"}[r.IntN(2)])
		case 2:
			b.WriteString("E[u][e - first] = A[e] * v + e;\n")
		case 3:
			b.WriteString("E[u][e - first] += B[e];\n#pragma omp atomic\nC[(uint32_t)A[e] % (uint32_t)N] += e;\n")
		case 4:
			for range 1 + r.IntN(2) {
				b.WriteString([]string{"s += A[e];\n", "s = s * 3 + B[e];\n", "d = d * 0.5 + A[e];\n", "m = A[e] > m ? A[e] : m;\n", "if (A[e] > v) s ^= A[e];\n", "s += A[e] ^ v;\n"}[r.IntN(6)])
			}
		}
		b.WriteString("}\n")
		if sums {
			switch r.IntN(3) {
			case 0:
				b.WriteString("R[u] = d; G[u] = s; E[u][0] = m;\n")
			case 1: // the core goes another way
				b.WriteString("if (s & 8) G[u] = s + m;\nR[u] = d;\n")
			case 2: // of what later instances may read
				b.WriteString("R[u] = d + m;\nG[u] = s;\nE[u][1] = v;\n")
			}
		}
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
	var seeds []uint64
	programs := 10
	if n, err := strconv.Atoi(os.Getenv("BITSCHED_STREAMS")); err == nil {
		programs = n
	} else {
		seeds = append(seeds, 35) // what is not committed between two loops is taken back with the second one
	}
	for k := range programs {
		seeds = append(seeds, uint64(first()+k))
	}
	configs := []string{"ns", "ns", "ns", "ns-no-sync", "ns-decouple"}
	var ended [se.NumReasons]uint64
	offloaded, beside := uint64(0), uint64(0)
	for _, seed := range seeds {
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
		beside += report.Streams.Core.Beside
	}
	t.Log(offloaded, beside, ended)
	require.Greater(t, offloaded, uint64(20*programs))
	require.Greater(t, beside, uint64(5*programs))
	require.Positive(t, ended[se.Alias]+ended[se.Switch])
}

// TestSums: rows are summed beside each other where sums begin anew in each, and one after the other
// where they go on; the core stores them in order, and goes other ways by them.
func TestSums(t *testing.T) {
	const text = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[24][N], int64_t S[24], int64_t T[24])\n{\n" +
		"inf_array(A, 24, N); inf_array(S, 24); inf_array(T, 24);\nint64_t s = 3, t = 0;\nfor (int i = 0; i < 24; i++) {\n%s\n}\n}\n"
	for name, x := range map[string]struct {
		body   string
		beside bool
	}{
		"anew":          {"s = i;\nfor (int j = 0; j < N; j++) s += A[i][j];\nS[i] = s;", true},
		"two":           {"s = 0; t = 5;\nfor (int j = 0; j < N; j++) { s += A[i][j]; t = A[i][j] > t ? A[i][j] : t; }\nif (t > 1000000000) S[i] = s;\nT[i] = t;", true},
		"going on":      {"for (int j = 0; j < N; j++) s += A[i][j];\nS[i] = s;", false},
		"order is kept": {"s = 1;\nfor (int j = 0; j < N; j++) s = s * 3 - A[i][j];\nS[i] = s;", true},
	} {
		for _, config := range []string{"ns", "ns-decouple"} {
			p, want := compiled(t, fmt.Sprintf(text, x.body), 200, 1)
			r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: config, Warm: true})
			require.NoError(t, err, name)
			require.NoError(t, sameMemory(p, want), name)
			require.EqualValues(t, 24, r.Streams.Core.Offloaded, name)
			require.Equal(t, x.beside, r.Streams.Core.Beside > 12, "%s, %s: %d", name, config, r.Streams.Core.Beside)
		}
	}
}
