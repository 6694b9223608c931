package multicore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
)

// atomicC is a random function of loops with atomic updates whose old values the core takes,
// beside other streams.
func atomicC(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], int32_t B[N], int32_t C[N], int32_t D[N], int32_t E[N], int64_t S[4])\n{\n" +
		"inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(E, N); inf_array(S, 4);\n")
	for n := range 1 + r.IntN(3) {
		to := string("BC"[r.IntN(2)])
		at := to + "[k]"
		fmt.Fprintf(&b, "int32_t s%d = %d;\nfor (int i = 0; i < N; i++) {\nuint32_t k = ((uint32_t)A[i] >> %d) %% (uint32_t)%s;\nint32_t a = A[i], e = 5 + (a & 15);\n", n, r.IntN(9), r.IntN(9), []string{"N", "N", "40"}[r.IntN(3)])
		value := []string{"i", "a", "(i & 3)", "7"}[r.IntN(4)]
		update := ""
		switch r.IntN(4) {
		case 0:
			update = fmt.Sprintf("__atomic_fetch_add(&%s, %s, __ATOMIC_RELAXED)", at, value)
		case 1:
			update = fmt.Sprintf("inf_fetch_min(&%s, %s)", at, value)
		case 2:
			update = fmt.Sprintf("__atomic_exchange_n(&%s, %s, __ATOMIC_RELAXED)", at, value)
		case 3:
			update = fmt.Sprintf("(__atomic_load_n(&%s, __ATOMIC_RELAXED) > 9 && __sync_bool_compare_and_swap(&%s, e, %s))", at, at, value)
		}
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&b, "s%d = s%d * 3 + %s;\n", n, n, update)
		case 1:
			fmt.Fprintf(&b, "if (%s > %d) s%d++;\n", update, r.IntN(1<<20), n)
		case 2:
			fmt.Fprintf(&b, "D[i] = %s;\n", update)
		}
		switch r.IntN(4) {
		case 0:
			b.WriteString("E[i] += A[i];\n")
		case 1:
			fmt.Fprintf(&b, "s%d ^= E[i];\n", n)
		}
		fmt.Fprintf(&b, "}\nS[%d] = s%d;\n", n, n)
	}
	b.WriteString("}\n")
	return b.String()
}

// TestRandomAtomics compares random functions with atomic updates whose old values the core
// takes, whose streams are ended by aliases, faults and switches at any time, with their
// sequential meaning; BITSCHED_STREAMS=10000 runs more.
func TestRandomAtomics(t *testing.T) {
	programs := 20
	if n, err := strconv.Atoi(os.Getenv("BITSCHED_STREAMS")); err == nil {
		programs = n
	}
	var ended [se.NumReasons]uint64
	atomics := uint64(0)
	for seed := uint64(first()); seed < uint64(first()+programs); seed++ {
		r := rand.New(rand.NewPCG(seed, 8))
		text := atomicC(r)
		p, want := compiled(t, text, 600+int64(r.IntN(200)), seed)
		m := small(t, []string{"io4", "ooo4", "ooo8"}[r.IntN(3)])
		if r.IntN(2) == 0 {
			m.Streams.L2.Slices = 1
		}
		if r.IntN(2) == 0 {
			m.Streams.L3.Locks = "exclusive"
		}
		rate := func() float64 { return []float64{0, 0, 0.003, 0.03, 0.3}[r.IntN(5)] }
		inject := &se.Inject{Alias: rate() / 2, Fault: rate() / 3, Switch: rate() / 10}
		config := []string{"ns", "ns", "ns", "ns-no-comp", "ns-no-sync", "ns-decouple"}[r.IntN(6)]
		report, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: config, Warm: r.IntN(2) == 0, Seed: seed, Inject: inject, MaxCycles: 1 << 22})
		require.NoError(t, err, "seed %d, %s, %+v\n%s", seed, config, inject, text)
		require.NoError(t, sameMemory(p, want), "seed %d, %s, %+v\n%s", seed, config, inject, text)
		atomics += report.Streams.Bank.Atomics
		for k, n := range report.Streams.Core.Ended {
			ended[k] += n
		}
	}
	t.Log(atomics, ended)
	require.Positive(t, atomics)
	assert.Positive(t, ended[se.Fault])
	assert.Positive(t, ended[se.Switch])
	assert.True(t, ended[se.Alias] > 0 || programs < 100) // cores seldom access memory in these loops
}

// updateC has atomic updates that are no operation with an operand, beside loads of the same
// elements: cores repeat them until no other thread came between.
const updateC = `#include "bitsched.h"
void f(int N, const int32_t A[N], const double D[N], int32_t B[N], float F[N], int64_t L[N], float S[2])
{
	inf_array(A, N); inf_array(D, N); inf_array(B, N); inf_array(F, N); inf_array(L, N); inf_array(S, 2);
	float sum = 0;
	#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		uint32_t k = ((uint32_t)A[i] >> 4) % 50u;
		#pragma omp atomic
		B[k] = 3 - B[k];
		#pragma omp atomic
		F[k] += D[i] * 0.1;
		#pragma omp atomic
		sum += D[i];
		#pragma omp atomic
		L[i] = A[i] / (L[i] | 1);
	}
	#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		#pragma omp atomic
		L[i] += D[i];
	}
	S[0] = sum;
}
`

// TestUpdates compares these in all configurations with their sequential meaning, and on
// several threads but for the order of sums.
func TestUpdates(t *testing.T) {
	for _, c := range multicore.Configurations {
		for _, threads := range []int{1, 4} {
			p, _ := compiled(t, updateC, 500, 2)
			before := stream.Memory{}
			for _, a := range p.Graph.Arrays {
				if a.Scope != stream.Argument {
					delete(p.Memory, a.Name)
				}
			}
			for name, list := range p.Memory {
				before[name] = slices.Clone(list)
			}
			opt := multicore.Options{Machine: small(t, "ooo8"), Threads: threads, Config: c.Name, Warm: true, MaxCycles: 1 << 22}
			_, err := multicore.Run(context.Background(), p, opt)
			require.NoError(t, err, c.Name)
			v, err := multicore.Check(context.Background(), p, before, opt)
			require.NoError(t, err, c.Name)
			require.Empty(t, v.First, c.Name)
			require.Zero(t, v.Open, c.Name)
			require.Equal(t, threads > 1, v.Close > 0, c.Name)
		}
	}
}

// lockC counts, and finds minima, on several threads: what elements become does not depend on
// the order of the updates, what each update finds (D) does.
const lockC = `#include "bitsched.h"
void f(int N, const int32_t A[N], int32_t B[N], int32_t C[N], int32_t D[N])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N);
	#pragma omp parallel for
	for (int i = 0; i < N; i++)
		D[i] = __atomic_fetch_add(&B[((uint32_t)A[i] >> 4) %% (uint32_t)%[1]s], 1, __ATOMIC_RELAXED);
	#pragma omp parallel for
	for (int i = 0; i < N; i++)
		D[i] += inf_fetch_min(&C[((uint32_t)A[i] >> 9) %% (uint32_t)%[1]s], i ^ A[i]);
}
`

// TestLocks compares updates of several threads on the same lines with what they become in
// any order, with locks of both kinds, and leaves parts of the locks out.
func TestLocks(t *testing.T) {
	run := func(size, config, locks string, broken se.Broken, inject *se.Inject, f func(m *se.Message) bool) (*multicore.Report, error) {
		p, want := compiled(t, fmt.Sprintf(lockC, size), 1000, 1)
		m := small(t, "ooo8")
		m.Streams.L2.Slices = 8                   // so that streams seldom wait for each other
		m.Streams.Core.LockTimeoutCycles = 10_000 // nor end before readers and writers have met
		m.Streams.L3.Locks = locks
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 4, Config: config, Warm: true, Broken: broken, Inject: inject, Intercept: f, MaxCycles: 1 << 21})
		if err == nil {
			delete(want, "D") // in the order of the machine
			g := *p.Graph
			p.Graph = &g
			g.Arrays = slices.DeleteFunc(slices.Clone(g.Arrays), func(a stream.Array) bool { return a.Name == "D" })
			err = sameMemory(p, want)
		}
		return r, err
	}
	sharing := func(locks string) float64 { // minima that seldom change
		p, _ := compiled(t, fmt.Sprintf(strings.NewReplacer("__atomic_fetch_add", "inf_fetch_min", ", __ATOMIC_RELAXED", "").Replace(lockC), "700"), 2000, 1)
		m := small(t, "ooo8")
		m.Streams.L3.Locks = locks
		for i := range p.Memory["B"] {
			p.Memory["B"][i], p.Memory["C"][i] = 0x80000000, 0x80000000
		}
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 4, Config: "ns", Warm: true})
		require.NoError(t, err)
		return float64(r.Streams.Bank.Conflicts) / float64(r.Streams.Bank.Atomics)
	}
	assert.Zero(t, sharing("multi-reader"))
	assert.Greater(t, sharing("exclusive"), 0.05)
	for _, c := range []struct{ config, locks string }{{"ns", "exclusive"}, {"ns", "multi-reader"}, {"ns-no-sync", "multi-reader"}, {"base", "exclusive"}} {
		r, err := run("N", c.config, c.locks, "", nil, nil)
		require.NoError(t, err, c)
		require.Equal(t, c.config != "base", r.Streams.Bank.Atomics > 0, c)
		require.Equal(t, c.config == "ns", r.Streams.Bank.Conflicts > 0, c)
		t.Log(c, r.Cycles, r.Streams.Bank.Atomics, r.Streams.Bank.Conflicts, r.Streams.Core.Ended)
	}
	for _, b := range []se.Broken{se.NoLock, se.NoRelease, se.ReaderWrites, se.KeepLocks, se.NoEnd} {
		inject := &se.Inject{}
		if b == se.KeepLocks || b == se.NoEnd {
			inject.Switch = 0.001
		}
		_, err := run("64", "ns", "multi-reader", b, inject, nil)
		assert.Error(t, err, b)
		t.Logf("%s: %.120v", b, err)
	}
	lost := func(*se.Message) bool { return false }
	for _, x := range []mutant{
		{"lost", []se.MessageKind{se.MsgData, se.MsgCommit, se.MsgDone, se.MsgRequest}, lost},
		{"wrong", []se.MessageKind{se.MsgData}, func(m *se.Message) bool { return len(m.Values) == 0 || wrongElement(m) }},
		{"to another bank", []se.MessageKind{se.MsgCommit, se.MsgRequest}, func(m *se.Message) bool { m.To ^= 5; return true }},
		{"of another bank", []se.MessageKind{se.MsgData}, func(m *se.Message) bool { m.From ^= 5; return true }},
		{"one iteration short", []se.MessageKind{se.MsgCommit, se.MsgDone}, func(m *se.Message) bool { m.End--; return true }},
		{"one iteration late", []se.MessageKind{se.MsgCommit}, func(m *se.Message) bool { m.First++; return true }},
		{"of another iteration", []se.MessageKind{se.MsgData}, func(m *se.Message) bool { m.First++; return true }},
		{"behind another one", []se.MessageKind{se.MsgRequest}, func(m *se.Message) bool { m.Last--; return true }},
	} {
		for _, kind := range x.kinds {
			n := 0
			r, err := run("N", "ns", "multi-reader", "", nil, func(m *se.Message) bool {
				if m.Kind != kind {
					return true
				}
				if n++; n == 150 {
					return x.break_(m)
				}
				return true
			})
			assert.Error(t, orEnded(r, err), "%s %s", kind, x.name)
		}
	}
}

// TestLocksAnywhere locks lines of arrays whose pages lie anywhere in memory.
func TestLocksAnywhere(t *testing.T) {
	for seed := range uint64(3) {
		p, want := compiled(t, "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], int32_t B[N], int64_t S[1])\n{\ninf_array(A, N); inf_array(B, N); inf_array(S, 1);\n"+
			"int64_t s = 8;\nfor (int i = 0; i < N; i++)\ns = s * 3 + __atomic_fetch_add(&B[((uint32_t)A[i] >> 3) % (uint32_t)N], i, __ATOMIC_RELAXED);\nS[0] = s;\n}\n", 2500, 1)
		m := small(t, "ooo8")
		require.NoError(t, m.Set("memory.placement", "random-4k"))
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns", Warm: true, Seed: seed, MaxCycles: 1 << 20})
		require.NoError(t, err)
		require.NoError(t, sameMemory(p, want))
		require.EqualValues(t, 2500, r.Streams.Bank.Atomics)
	}
}

// TestSampleLocks: lines that streams keep from others stay so between windows, where nothing
// can wait.
func TestSampleLocks(t *testing.T) {
	p, _ := compiled(t, fmt.Sprintf(lockC, "700"), 1000, 1)
	_, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: "ns", Sample: &multicore.Sampling{Share: 0.1}})
	require.ErrorContains(t, err, "multicore: samples of loops whose atomic operations take old values at the L3, expected a run of all")
}

// TestInjectedWorkloads ends the streams of workloads with atomic updates and pointer chases
// before their time, on several threads, and compares with their definitions.
func TestInjectedWorkloads(t *testing.T) {
	var ended [se.NumReasons]uint64
	for _, name := range []string{"pr_push", "bfs_push", "sssp", "bin_tree", "hash_join"} {
		for i, config := range []string{"ns", "ns", "ns", "ns-no-sync", "ns-decouple"} {
			if i == 0 && name == "pr_push" || i != 1 && name == "sssp" || i == 2 {
				continue
			}
			p, k, before, after := nearProgram(t, name)
			inject := &se.Inject{Alias: 0.02, Fault: 0.02, Switch: 0.0003}
			if i > 0 {
				inject = &se.Inject{Fault: 0.05, Switch: []float64{0.0001, 0.003}[i%2]}
			}
			r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 4, Config: config, Warm: true, Seed: uint64(i), Inject: inject, MaxCycles: 1 << 23})
			require.NoError(t, err, "%s in %s, %d", name, config, i)
			require.NoError(t, k.Check(streamSizes[name], before, after), "%s in %s, %d", name, config, i)
			t.Log(name, config, r.Cycles, r.Streams.Core.Ended)
			for k, n := range r.Streams.Core.Ended {
				ended[k] += n
			}
		}
	}
	for _, k := range []se.Reason{se.Alias, se.Fault, se.Switch} {
		assert.Positive(t, ended[k], k)
	}
}

// redoneC makes atomic updates whose old value nobody takes, by an operation that cores have
// and by one that they do not.
const redoneC = `#include "bitsched.h"
void f(int N, const int32_t A[N], int32_t B[N], float C[N])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N);
	#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		#pragma omp atomic
		B[((uint32_t)A[i] >> 4) % (uint32_t)N] += A[i];
	}
	#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		#pragma omp atomic
		C[((uint32_t)A[i] >> 9) % (uint32_t)N] += 1;
	}
}
`

// TestRedoneMutants ends the streams of atomic updates before their time, which cores then
// make in their place, and leaves parts of that out.
func TestRedoneMutants(t *testing.T) {
	run := func(seed uint64, broken se.Broken) error {
		p, want := compiled(t, redoneC, 1000, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 4, Config: "ns", Warm: true, Seed: seed, Broken: broken, Inject: &se.Inject{Switch: 0.002, Fault: 0.02}, MaxCycles: 1 << 20})
		if err != nil {
			return err
		}
		require.Positive(t, r.Streams.Core.Ended[se.Switch]+r.Streams.Core.Ended[se.Fault])
		return sameMemory(p, want)
	}
	for seed := range uint64(2) {
		require.NoError(t, run(seed, ""))
	}
	for _, b := range []se.Broken{se.RestoreLate, se.RestoreEarly, se.ForgetLoop, se.NoEnd, se.NoSquash, se.NoPartCommit} {
		var err error
		for seed := uint64(0); seed < 5 && err == nil; seed++ {
			err = run(seed, b)
		}
		assert.Error(t, err, b)
		t.Logf("%s: %.100v", b, err)
	}
}
