package multicore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
)

// strandC are serial loops that can be split into strands: a sum, a minimum under a condition, a
// greatest float over elements that are updated, and one that goes through columns.
const strandC = `#include "bitsched.h"
void f(int N, const int32_t A[N], int32_t B[N], float C[N], const float D[N], int32_t E[N][3], int64_t S[4])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(S, 4);
	int64_t sum = 3;
	int least = 1 << 30;
	float most = -1;
	for (int i = 1; i < N; i++) {
		B[i] = A[i] * 3 + i;
		sum += A[i];
	}
	S[0] = sum;
#pragma omp simd reduction(min: least)
	for (int i = 0; i < N; i++)
		if (A[i] & 1)
			least = B[i] < least ? B[i] : least;
	S[1] = least;
#pragma omp simd reduction(max: most)
	for (int i = 3; i < N - 2; i++) {
		float d = C[i] < D[i] ? C[i] : D[i];
		C[i] = d;
		most = d > most ? d : most;
	}
	S[2] = most > 0;
	for (int i = 0; i < N; i++)
		E[i][1] += A[i];
}
`

func strands(t *testing.T, n int64, seed uint64, set []string, opt multicore.Options) (*multicore.Report, error) {
	p, want := compiled(t, strandC, n, seed)
	opt.Machine = machine(t, "nsc-small", "ooo8")
	opt.Threads, opt.Config = 1, "near-l3"
	for i := 0; i < len(set); i += 2 {
		require.NoError(t, opt.Machine.Set(set[i], set[i+1]))
	}
	r, err := multicore.Run(context.Background(), p, opt)
	if err == nil {
		err = sameMemory(p, want)
	}
	return r, err
}

// TestStrands runs loops of all sizes whole and in strands, which are in all banks at once, also
// while streams are ended at any time.
func TestStrands(t *testing.T) {
	all := []string{"streams.core.offload", "always"}
	ended := [se.NumReasons]uint64{}
	for n := int64(260); n < 6000; n += 911 {
		split, err := strands(t, n, 1, all, multicore.Options{})
		require.NoError(t, err, n)
		whole, err := strands(t, n, 1, append([]string{"streams.l3.strands", "false"}, all...), multicore.Options{})
		require.NoError(t, err, n)
		if n > 1000 {
			assert.Less(t, split.Cycles, whole.Cycles, n)
		}
		assert.Equal(t, whole.Streams.Bank.Operations, split.Streams.Bank.Operations, n)
		r := rand.New(rand.NewPCG(uint64(n), 1))
		for range 6 {
			inject := &se.Inject{Fault: r.Float64() / 4, Switch: 0.01 * r.Float64()}
			set := append([]string{"streams.l2.slices", fmt.Sprint(1 + r.IntN(32))}, all...)
			x, err := strands(t, n, 1, set, multicore.Options{Inject: inject, Seed: r.Uint64(), Warm: true, MaxCycles: 1 << 22})
			require.NoError(t, err, "%d, %+v", n, inject)
			for k, c := range x.Streams.Core.Ended {
				ended[k] += c
			}
		}
	}
	assert.Positive(t, ended[se.Fault])
	assert.Positive(t, ended[se.Switch])
}

// TestStrandMutants loses and changes messages of strands.
func TestStrandMutants(t *testing.T) {
	run := func(f func(m *se.Message) bool) error {
		r, err := strands(t, 2300, 1, []string{"streams.core.offload", "always"}, multicore.Options{Warm: true, Intercept: f, MaxCycles: 1 << 20})
		return orEnded(r, err)
	}
	count := breakMessages(t, run, []mutant{
		{"lost", []se.MessageKind{se.MsgConfigure, se.MsgCredit, se.MsgForward, se.MsgDone, se.MsgFinal}, func(*se.Message) bool { return false }},
		{"to another bank", []se.MessageKind{se.MsgConfigure, se.MsgCredit, se.MsgForward}, func(m *se.Message) bool { m.To ^= 5; return true }},
		{"of another strand", []se.MessageKind{se.MsgFinal}, func(m *se.Message) bool { m.Strand ^= 1; return true }},
		{"one iteration short", []se.MessageKind{se.MsgCredit, se.MsgDone}, func(m *se.Message) bool { m.End--; return true }},
	})
	require.GreaterOrEqual(t, count, 30)
}

// TestStrandAlone: of a serial loop of four rounds over more than the L1 strands leave the core in
// each, where streams that go from bank to bank stay, as the next round has the same elements.
func TestStrandAlone(t *testing.T) {
	const roundsC = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], int32_t B[N])\n{\n" +
		"\tinf_array(A, N); inf_array(B, N);\n\tfor (int t = 0; t < 4; t++)\n\t\tfor (int i = 0; i < N; i++)\n\t\t\tB[i] += A[i] + t;\n}\n"
	offloaded := func(n int64, strands string) (times, migrations uint64) {
		p, want := compiled(t, roundsC, n, 1)
		m := machine(t, "nsc-small", "ooo8")
		require.NoError(t, m.Set("streams.l3.strands", strands))
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "near-l3", Warm: true})
		require.NoError(t, err)
		require.NoError(t, sameMemory(p, want))
		return r.Streams.Core.Offloaded, r.Streams.Bank.Migrations
	}
	times, migrations := offloaded(1024, "true") // 8 kB, of 2 kB and 16 kB
	assert.EqualValues(t, 4, times)
	assert.Zero(t, migrations) // the arrays begin where a bank's part does
	times, migrations = offloaded(1024, "false")
	assert.Zero(t, times)
	assert.Zero(t, migrations)
}

// TestStrandsOfRows: rows that lie side by side are split by what lies in a bank, also where each is
// one range, and rows that are no whole ranges by as many as lie there.
func TestStrandsOfRows(t *testing.T) {
	const rowsC = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N][N], int32_t B[N][N])\n{\n\tinf_array(A, N, N); inf_array(B, N, N);\n#pragma omp parallel for\n" +
		"\tfor (int m = 0; m < N; m++)\n\t\tfor (int n = 0; n < N - CUT; n++)\n\t\t\tB[m][n] = A[m][n] + 1;\n}\n"
	for _, x := range []struct {
		n, rows int64 // in 1 kB
		cut     string
	}{{128, 2, "0"}, {128, 2, "6"}, {64, 4, "3"}} {
		p, want := compiled(t, strings.ReplaceAll(rowsC, "CUT", x.cut), x.n, 1)
		m := machine(t, "nsc-small", "ooo8")
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 2, Config: "near-l3", Warm: true})
		require.NoError(t, err)
		require.NoError(t, sameMemory(p, want))
		count := map[string]uint64{}
		for _, m := range r.Streams.Messages {
			count[m.Name] = m.Messages
		}
		each := min(x.n/2/x.rows, int64(m.Banks())) // of two streams, at the banks of a thread's part
		assert.EqualValues(t, 2*2*each, count["configure"], "%+v", x)
		assert.Zero(t, count["migrate"], "%+v", x)
	}
}

// TestStrandsRemembered configures a loop again and again: banks that have its strands get what differs,
// iteration and values, as long as the loop has the same elements.
func TestStrandsRemembered(t *testing.T) {
	const rounds, n = 12, 4096
	run := func(index, keep string, inject *se.Inject, seed uint64) (remembered uint64, configured multicore.Class, ended [se.NumReasons]uint64) {
		text := "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N + 8], int32_t B[N])\n{\n\tinf_array(A, N + 8); inf_array(B, N);\n" +
			"\tfor (int t = 0; t < 6; t++)\n\tfor (int h = 0; h < 2; h++)\n\t\tfor (int i = 0; i < N; i++)\n\t\t\tB[i] += A[" + index + "] * (t + 3);\n}\n"
		g := graphOf(t, "f.c", text)
		mem := stream.Memory{"A": make([]scalar.Value, n+8), "B": make([]scalar.Value, n)}
		for i := range mem["A"] {
			mem["A"][i] = uint64(i*i + 1)
		}
		args := stream.Args{Symbols: map[string]int64{"N": n}}
		want := stream.Memory{"A": slices.Clone(mem["A"]), "B": slices.Clone(mem["B"])}
		_, err := g.Run(context.Background(), want, args)
		require.NoError(t, err)
		m := machine(t, "nsc-small", "ooo8")
		require.NoError(t, m.Set("streams.l3.keep_patterns", keep))
		require.NoError(t, m.Set("streams.core.offload", "always"))
		p := &multicore.Program{Graph: g, Memory: mem, Args: args}
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "near-l3", Warm: true, Inject: inject, Seed: seed, MaxCycles: 1 << 22})
		require.NoError(t, err)
		require.Equal(t, want, mem)
		i := slices.IndexFunc(r.Streams.Messages, func(c multicore.Class) bool { return c.Name == "configure" })
		return r.Streams.Bank.Remembered, r.Streams.Messages[i], r.Streams.Core.Ended
	}
	known, whole, _ := run("i", "false", nil, 1)
	require.Zero(t, known)
	strands := uint64(n * 4 / 1024)
	require.Equal(t, rounds*2*strands, whole.Messages)
	known, changed, _ := run("i", "true", nil, 1)
	require.Equal(t, whole.Messages, changed.Messages)
	require.Equal(t, (rounds-1)*2*strands, known)
	// In place of a configuration: six bytes of the iteration, and, of the stream that computes, t + 3.
	require.Equal(t, whole.Bytes/rounds+(rounds-1)*strands*(2*(8+6+6)+8), changed.Bytes)
	known, _, _ = run("i + t", "true", nil, 1)
	require.Equal(t, rounds/2*2*strands, known, "every other time the load has other elements, and tells the stream that takes them so")

	known, _, _ = run("i + 4 * h", "true", nil, 1)
	require.Zero(t, known, "in turn, each has what the other one had")

	r := rand.New(rand.NewPCG(5, 1))
	var ended [se.NumReasons]uint64
	for range 12 {
		known, _, e := run("i", "true", &se.Inject{Fault: r.Float64() / 8, Switch: 0.002 * r.Float64()}, r.Uint64())
		require.LessOrEqual(t, known, (rounds-1)*2*strands)
		for k := range e {
			ended[k] += e[k]
		}
	}
	require.Positive(t, ended[se.Fault])
	require.Positive(t, ended[se.Switch])
}
