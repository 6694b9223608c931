package multicore_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
)

// chaseC goes through lists of random lengths, one after another: what each finds does not
// depend on the one before, but for its place.
const chaseC = `#include "bitsched.h"
void f(int N, const int32_t next[N], const int64_t V[N], int64_t S[3])
{
	inf_array(next, N); inf_array(V, N); inf_array(S, 3);
	int64_t sum = 0, last = 0;
	for (int q = 0; q < 40; q++) {
		uint32_t p = q * 7;
		int left = 1 + (q * 13) % 90;
		while (left > 0) {
			if (V[p] > 5)
				sum += V[p] ^ q;
			p = ((uint32_t)next[p] >> 1) % (uint32_t)N;
			left--;
		}
		last = last * 3 + p;
	}
	S[0] = sum;
	S[1] = last;
}
`

// TestChase compares loops that chase pointers with what they mean, and breaks their
// messages.
func TestChase(t *testing.T) {
	for _, c := range multicore.Configurations[1:] {
		p, want := compiled(t, chaseC, 1000, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: c.Name, Warm: true})
		require.NoError(t, err, c.Name)
		require.NoError(t, sameMemory(p, want), c.Name)
		near := c.Name != "ns-core" && c.Name != "ns-no-comp" && c.Name != "inst"
		require.Equal(t, near, r.Streams.Bank.Operations > 0, c.Name)
		t.Log(c.Name, r.Cycles)
	}
	breakMessages(t, func(f func(m *se.Message) bool) error {
		p, want := compiled(t, chaseC, 1000, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: "ns", Warm: true, Intercept: f, MaxCycles: 1 << 20})
		if err == nil {
			err = sameMemory(p, want)
		}
		return orEnded(r, err)
	}, []mutant{
		{"lost", []se.MessageKind{se.MsgConfigure, se.MsgMigrate, se.MsgFinal}, func(*se.Message) bool { return false }},
		{"wrong", []se.MessageKind{se.MsgFinal}, wrongElement},
		{"of another group", []se.MessageKind{se.MsgFinal}, func(m *se.Message) bool { m.Group++; return true }},
	})
}

// storedC writes the list in the core right in front of each loop that goes through it.
const storedC = `#include "bitsched.h"
void f(int N, int32_t next[N], const int64_t V[N], int64_t S[1])
{
	inf_array(next, N); inf_array(V, N); inf_array(S, 1);
	int64_t sum = 0;
	for (int q = 0; q < 30; q++) {
		uint32_t p = q * 5;
		int left = 20;
		next[q * 5] = q * 77;
		while (left > 0) {
			sum += V[p];
			p = ((uint32_t)next[p] >> 1) % (uint32_t)N;
			left--;
		}
	}
	S[0] = sum;
}
`

// readC writes an array in the core in front of short loops at the L3 that read it, of which
// several are under way.
const readC = `#include "bitsched.h"
void f(int N, const int32_t A[N], int32_t B[64], int32_t E[8][64])
{
	inf_array(A, N); inf_array(B, 64); inf_array(E, 8, 64);
	for (int t = 0; t < 10; t++) {
		for (int k = 0; k < 8; k++)
			B[k * 8] += A[k] + t;
		for (int u = 0; u < 8; u++)
			for (int e = 0; e < 64; e++)
				E[u][e] = B[e] * 3 + u;
	}
}
`

// TestStoresInFront has streams that begin when the core executes a load, which is long before it
// has performed its stores in front of that: they find what those have written.
func TestStoresInFront(t *testing.T) {
	for _, x := range []struct{ name, text string }{{"chase", storedC}, {"instances", readC}} {
		for _, c := range []string{"ns", "ns-no-sync"} {
			t.Run(x.name+" "+c, func(t *testing.T) {
				p, want := compiled(t, x.text, 1000, 1)
				r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: c, MaxCycles: 1 << 20})
				require.NoError(t, err)
				require.NoError(t, sameMemory(p, want))
				require.GreaterOrEqual(t, r.Streams.Core.Offloaded, uint64(30))
				require.Zero(t, r.Streams.Core.Ended[se.Alias])
			})
		}
	}
}

// TestStoresBehind closes a list to a ring behind a loop that goes through it and leaves nothing
// behind: it must have ended before.
func TestStoresBehind(t *testing.T) {
	const n, text = 500, "#include \"bitsched.h\"\nvoid f(int N, int32_t next[N])\n{\ninf_array(next, N);\n" +
		"int p = 0;\nwhile (next[p] > 0)\np = next[p];\nnext[N - 1] = 1;\n}\n"
	for _, c := range []string{"ns", "ns-no-sync"} {
		next := make([]scalar.Value, n)
		for i := range next {
			next[i] = uint64(i + 1)
		}
		next[n-1] = uint64(uint32(0xffffffff))
		p := &multicore.Program{Graph: graphOf(t, "f.c", text), Memory: stream.Memory{"next": next}, Args: stream.Args{Symbols: map[string]int64{"N": n}}}
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: c, Warm: true, MaxCycles: 1 << 16})
		require.NoError(t, err, c)
		require.EqualValues(t, 1, next[n-1], c)
		require.EqualValues(t, 1, r.Streams.Core.Offloaded, c)
	}
}

// TestMigrateBytes: a look-up in a tree takes along what it has come to: a pointer, and where in its
// loop it is. To a bank that remembers it goes its key in place of the configuration, and which
// banks these are, until that is all of them.
func TestMigrateBytes(t *testing.T) {
	// Table IV: 162 bits of a chase, 60 of its second load, and a function (type, size, pointer)
	// with three arguments, of which the key is a constant.
	const config = (162 + 60 + 4 + 3 + 48 + 3*7 + 64 + 7) / 8
	run := func(migrate string) (uint64, multicore.Class) {
		p, k, before, after := nearProgram(t, "bin_tree")
		m := small(t, "ooo8")
		require.NoError(t, m.Set("streams.l3.migrate", migrate))
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns-decouple", Warm: true, MaxCycles: 1 << 23})
		require.NoError(t, err)
		require.NoError(t, k.Check(streamSizes["bin_tree"], before, after))
		i := slices.IndexFunc(r.Streams.Messages, func(c multicore.Class) bool { return c.Name == "migrate" })
		require.NotEqual(t, -1, i)
		return r.Streams.Bank.Remembered, r.Streams.Messages[i]
	}
	known, whole := run("whole")
	require.Zero(t, known)
	require.Equal(t, whole.Messages*(8+config+1+8), whole.Bytes)
	known, changed := run("changed")
	require.Equal(t, whole.Messages, changed.Messages)
	t.Log(known, changed)
	require.Greater(t, known, changed.Messages*9/10) // of these and of configurations
	require.Less(t, changed.Bytes, whole.Bytes*6/10)
}

// TestChaseInSamples has the machine come to rest behind a window as soon as nothing is under way: a
// timeout of streams that have ended is nothing.
func TestChaseInSamples(t *testing.T) {
	many := strings.NewReplacer("q < 40", "q < 400", "q * 7", "q * 2", "% 90", "% 9").Replace(chaseC)
	run := func(text string, sample *multicore.Sampling) *multicore.Report {
		p, want := compiled(t, text, 1000, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: "ns", Warm: true, Sample: sample})
		require.NoError(t, err)
		require.NoError(t, sameMemory(p, want))
		return r
	}
	full, r := run(many, nil), run(many, &multicore.Sampling{Share: 0.5, Window: 4000})
	t.Logf("%d %d %+v", full.Cycles, r.Cycles, r.Sample)
	require.Positive(t, r.Sample.Forwarded)
	require.Less(t, r.Sample.DetailedCycles, full.Cycles)
	require.InEpsilon(t, full.Cycles, r.Cycles, 0.2)
	// Loops that take longer to come to their end than what is between two windows are all in time.
	few := strings.NewReplacer("q < 40", "q < 80", "% 90", "% 90 + 90").Replace(chaseC)
	full, r = run(few, nil), run(few, &multicore.Sampling{Share: 0.5, Window: 4000})
	t.Logf("%d %d %+v", full.Cycles, r.Cycles, r.Sample)
	require.Positive(t, r.Sample.Windows)
	require.Zero(t, r.Sample.Skipped)
	require.Equal(t, r.Sample.DetailedCycles, r.Cycles)
	require.EqualValues(t, -1, r.Sample.Bound)
	require.InEpsilon(t, full.Cycles, r.Cycles, 0.2)
}
