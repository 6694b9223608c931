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

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile/se"
)

// TestRandomInjections compares random functions, whose streams are ended by aliases, faults
// and switches at any time, with their sequential meaning, some with room for one range at a
// time; BITSCHED_STREAMS=10000 runs more.
func TestRandomInjections(t *testing.T) {
	programs := 30
	if n, err := strconv.Atoi(os.Getenv("BITSCHED_STREAMS")); err == nil {
		programs = n
	}
	configs := []string{"ns", "ns", "ns", "ns-no-comp", "ns-no-sync", "ns-decouple", "near-l3"}
	var ended [se.NumReasons]uint64
	for seed := uint64(first()); seed < uint64(first()+programs); seed++ {
		r := rand.New(rand.NewPCG(seed, 6))
		text := randomC(r)
		if seed%3 == 0 { // later instances may stay in the core
			text = again(text)
		}
		p, want := compiled(t, text, 200+int64(r.IntN(300)), seed)
		m := machine(t, "nsc-small", []string{"io4", "ooo4", "ooo8"}[r.IntN(3)])
		if r.IntN(2) == 0 {
			m = small(t, "ooo8")
		}
		if r.IntN(2) == 0 {
			m.Streams.L2.Slices = 1 // one range at a time
		}
		if r.IntN(3) == 0 {
			m.Streams.L3.RangePolicy = "adaptive"
		}
		if r.IntN(3) == 0 {
			m.Streams.L3.AffineRanges = "l3"
		}
		rate := func() float64 { return []float64{0, 0, 0.003, 0.03, 0.3}[r.IntN(5)] }
		inject := &se.Inject{Alias: rate() / 10, Fault: rate(), Switch: rate() / 10}
		config := configs[r.IntN(len(configs))]
		report, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: config, Warm: r.IntN(2) == 0, Seed: seed, Inject: inject, MaxCycles: 1 << 22})
		require.NoError(t, err, "seed %d, %s, %+v\n%s", seed, config, inject, text)
		require.NoError(t, sameMemory(p, want), "seed %d, %s, %+v\n%s", seed, config, inject, text)
		for k, n := range report.Streams.Core.Ended {
			ended[k] += n
		}
	}
	t.Log(ended)
	for _, k := range []se.Reason{se.Alias, se.Fault, se.Switch} {
		require.Positive(t, ended[k], k)
	}
}

// again is a function that does three times what one does.
func again(text string) string {
	text = strings.Replace(text, "inf_array(S, 4);\n", "inf_array(S, 4);\nfor (int again = 0; again < 3; again++) {\n", 1)
	return strings.TrimSuffix(text, "}\n") + "}\n}\n"
}

// restoreC are loops whose streams are aliased with the core or with each other in some
// iterations, with stores, updates, conditions and reductions that other loops take.
const restoreC = `#include "bitsched.h"
void f(int N, const int32_t A[N], int32_t B[N], int32_t C[N], int32_t D[N], const int32_t I[N], int64_t S[4])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(I, N); inf_array(S, 4);
	int32_t sum = 3, hash = 7;
	for (int i = 0; i < N; i++)
		hash = hash * 31 + A[i];
	S[0] = hash;
	for (int i = 0; i < N; i++) {
		C[i] += A[i] * 3;
		sum = sum * 5 + B[i];
	}
	S[1] = sum;
}
`

// nearC are loops in which a stream is aliased with another one, with loads and with stores of
// the core, so many iterations apart.
const nearC = `#include "bitsched.h"
void f(int N, const int32_t A[N], int32_t B[N], int32_t C[N], int32_t D[N], const int32_t I[64], int64_t S[4])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(I, 64); inf_array(S, 4);
	for (int i = 60; i < N - 60; i++)
		D[i] = D[i - %[1]d] * 3 + A[i];
	for (int i = 60; i < N - 60; i++) {
		C[i] = A[i] + 1;
		if (I[(i * i) & 63] & 1)
			S[2] += C[i - %[1]d];
	}
	for (int i = 60; i < N - 60; i++) {
		C[i] = B[i] + 1;
		if (I[(i * i) & 63] & 1)
			B[i + %[1]d] = i;
	}
}
`

// TestRestoreMutants leaves parts of the protocol out that keeps the state precise, and breaks
// messages of streams that end before their time: each must be noticed by one of some
// programs.
func TestRestoreMutants(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	type program struct {
		text   string
		config string
		inject se.Inject
		slices int
	}
	var programs []program
	add := func(text string, r *rand.Rand) {
		for _, config := range []string{"ns", "ns-no-sync", "ns-decouple"} {
			programs = append(programs, program{text, config, se.Inject{Alias: 0.002, Fault: 0.1, Switch: 0.003}, 8 << r.IntN(5)}, program{text, config, se.Inject{Switch: 0.02}, 64})
		}
	}
	for _, d := range []int{1, 7, 9, 17, 20, 23, 24, 25, 28, 31} {
		programs = append(programs, program{fmt.Sprintf(nearC, d), "ns", se.Inject{}, 32})
	}
	for d := 1; d < 17; d++ { // about a range apart
		programs = append(programs, program{fmt.Sprintf(nearC, d), "ns", se.Inject{}, 1})
	}
	for seed := range uint64(9) {
		r := rand.New(rand.NewPCG(seed, 7))
		if seed < 4 {
			add(restoreC, r)
		} else {
			add(randomC(r), r)
		}
	}
	run := func(i int, broken se.Broken, f func(m *se.Message) bool) error {
		x := &programs[i]
		p, want := compiled(t, x.text, 500, uint64(i))
		m := machine(t, "nsc-small", "ooo8")
		m.Streams.L2.Slices = x.slices
		if i%2 == 0 {
			m.Streams.L2.Segments = 64 // reductions tell each range
		}
		inject := x.inject
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: x.config, Warm: true, Seed: uint64(i), Inject: &inject, Broken: broken, Intercept: f, MaxCycles: 1 << 18})
		if err == nil {
			err = sameMemory(p, want)
		}
		if err = orEnded(r, err); err != nil {
			return err
		}
		for _, l := range r.Streams.Loops { // of one thread: once, and never again
			if l.Aliased > 1 {
				return fmt.Errorf("loop over %s is aliased %d times", l.Var, l.Aliased)
			}
		}
		if n := r.Streams.Core.Ended[se.Alias]; n > 0 && len(r.Streams.Loops) > 0 && !slices.ContainsFunc(r.Streams.Loops, func(l micro.StreamLoop) bool { return l.Aliased > 0 }) {
			return fmt.Errorf("%d aliases are not remembered", n)
		}
		return nil
	}
	for i := range programs {
		require.NoError(t, run(i, "", nil), "%d\n%s", i, programs[i].text)
	}
	caught := func(broken se.Broken, f func() func(m *se.Message) bool) error {
		for i := range programs {
			var g func(m *se.Message) bool
			if f != nil {
				g = f()
			}
			if err := run(i, broken, g); err != nil {
				return err
			}
		}
		return nil
	}
	count := 0
	for _, b := range []se.Broken{se.NoLoadCheck, se.NoStoreCheck, se.NoStreamCheck, se.ShortRange, se.LateRange, se.EarlyCommit, se.NoPartCommit, se.NoDoneWait, se.NoEnd, se.NoSquash, se.DiscardWritten,
		se.RestoreLate, se.RestoreEarly, se.RestoreOld, se.ForgetLoop, se.NoHistory, se.PauseEarly, se.PauseLate} {
		err := caught(b, nil)
		if assert.Error(t, err, b) {
			count++
			t.Logf("%s: %.90s", b, err)
		}
	}
	for _, x := range []struct {
		name string
		kind se.MessageKind
		do   func(m *se.Message) bool
	}{
		{"lost", se.MsgEnd, func(*se.Message) bool { return false }},
		{"to another bank", se.MsgEnd, func(m *se.Message) bool { m.To ^= 3; return true }},
		{"of the loop before", se.MsgEnd, func(m *se.Message) bool { m.Group--; return true }},
		{"of another stream", se.MsgEnd, func(m *se.Message) bool { m.Stream++; return true }},
		{"lost", se.MsgEnded, func(*se.Message) bool { return false }},
		{"of the loop before", se.MsgEnded, func(m *se.Message) bool { m.Group--; return true }},
		{"value of a reduction wrong", se.MsgDone, func(m *se.Message) bool {
			if len(m.Values) > 0 {
				m.Values[0] ^= 8
			}
			return true
		}},
		{"value of a reduction lost", se.MsgDone, func(m *se.Message) bool { m.Values = nil; return true }},
		{"lost", se.MsgDone, func(*se.Message) bool { return false }},
		{"of one iteration less", se.MsgDone, func(m *se.Message) bool { m.End--; return true }},
		{"of one iteration less", se.MsgCommit, func(m *se.Message) bool { m.End--; return true }},
		{"of a part goes one iteration too far", se.MsgCommit, func(m *se.Message) bool {
			if m.End%8 != 0 {
				m.End++
			}
			return true
		}},
		{"of a part is lost", se.MsgCommit, func(m *se.Message) bool { return m.End%8 == 0 }},
		{"begins one iteration late", se.MsgCommit, func(m *se.Message) bool { m.First++; return true }},
		{"of one iteration more", se.MsgCredit, func(m *se.Message) bool { m.End++; return true }},
	} {
		err := caught("", func() func(m *se.Message) bool {
			return func(m *se.Message) bool { return m.Kind != x.kind || x.do(m) }
		})
		if assert.Error(t, err, "%s %s", x.kind, x.name) {
			count++
			t.Logf("message %s %s: %.90s", x.kind, x.name, err)
		}
	}
	require.GreaterOrEqual(t, count, 30)
}

// TestLateFinal ends streams of short loops that reduce in the middle of a range, when what they have
// come to is on its way to the core: it is that of iterations which the core has not committed.
func TestLateFinal(t *testing.T) {
	const text = "#include \"bitsched.h\"\nvoid f(int N, const uint8_t X[N][32], uint8_t B[N])\n{\ninf_array(X, N, 32); inf_array(B, N);\n" +
		"for (int i = 0; i < N; i++) {\nuint8_t d = 2;\nfor (int k = 0; k < 32; k++)\nd += X[i][k];\nB[i] = d;\n}\n}\n"
	run := func(broken se.Broken) error {
		p, want := compiled(t, text, 100, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: "ns", Warm: true, Inject: &se.Inject{Switch: 0.02}, Broken: broken})
		if err != nil {
			return err
		}
		require.Greater(t, r.Streams.Core.Ended[se.Switch], uint64(50))
		return sameMemory(p, want)
	}
	require.NoError(t, run(""))
	require.Error(t, run(se.LateFinal))
}

// TestReducedUpdates: a sum takes what elements were before an update. It is told range by range, also where
// others are told less often: iterations since then are computed again from elements that must be as they were.
func TestReducedUpdates(t *testing.T) {
	const text = "#include \"bitsched.h\"\nvoid f(int N, int32_t A[N], const int32_t B[N], int32_t S[1])\n{\ninf_array(A, N); inf_array(B, N); inf_array(S, 1);\n" +
		"int32_t s = 0;\nfor (int i = 0; i < N; i++) {\ns = s * 5 + A[i];\nA[i] = B[i];\n}\nS[0] = s;\n}\n"
	ended := uint64(0)
	for seed := range uint64(10) {
		p, want := compiled(t, text, 1000, seed)
		m := small(t, "ooo8")
		m.Streams.L2.Segments = 1
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns", Warm: true, Seed: seed, Inject: &se.Inject{Fault: 0.02, Switch: 0.0005}})
		require.NoError(t, err, seed)
		require.NoError(t, sameMemory(p, want), seed)
		ended += r.Streams.Core.Ended[se.Fault] + r.Streams.Core.Ended[se.Switch]
	}
	require.GreaterOrEqual(t, ended, uint64(5))
}

// TestSwitchInEachCycle: streams without an order are paused and go on, so that a core that gets
// another context in each cycle must come to commit something in between.
func TestSwitchInEachCycle(t *testing.T) {
	for _, config := range []string{"ns", "ns-no-sync", "ns-decouple", "near-l3", "inst", "single"} {
		p, want := compiled(t, loopC, 500, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: config, Warm: true, Inject: &se.Inject{Switch: 1}, MaxCycles: 1 << 20})
		require.NoError(t, err, config)
		require.NoError(t, sameMemory(p, want), config)
		require.Positive(t, r.Streams.Core.Ended[se.Switch], config)
	}
}

// TestTimeouts loses elements that the core takes: streams end after as many cycles as a
// parameter says, another one if they lock lines, and with 0 the deadlock is found.
func TestTimeouts(t *testing.T) {
	const plain = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const int32_t B[N], int64_t S[1])\n{\ninf_array(A, N); inf_array(B, N); inf_array(S, 1);\n" +
		"for (int i = 0; i < N; i++) S[0] += B[(uint32_t)(S[0] + A[i]) % (uint32_t)N];\n}\n"
	const locks = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], int32_t B[N], int32_t C[N])\n{\ninf_array(A, N); inf_array(B, N); inf_array(C, N);\n" +
		"for (int i = 0; i < N; i++) C[i] = __atomic_fetch_add(&B[(uint32_t)A[i] % (uint32_t)N], i, __ATOMIC_RELAXED);\n}\n"
	for _, x := range []struct{ text, name string }{{plain, "timeout_cycles"}, {locks, "lock_timeout_cycles"}} {
		run := func(cycles string) (*multicore.Report, error) {
			p, want := compiled(t, x.text, 1000, 1)
			m := small(t, "ooo8")
			require.NoError(t, m.Set("streams.core."+x.name, cycles))
			lost := 0
			r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns", Warm: true, MaxCycles: 1 << 20, Intercept: func(m *se.Message) bool {
				if m.Kind == se.MsgData {
					lost++
				}
				return m.Kind != se.MsgData || lost != 3
			}})
			if err == nil {
				err = sameMemory(p, want)
			}
			return r, err
		}
		short, err := run("1000")
		require.NoError(t, err, x.name)
		long, err := run("9000")
		require.NoError(t, err, x.name)
		require.EqualValues(t, 1, short.Streams.Core.Ended[se.Timeout], x.name)
		require.InDelta(t, long.Cycles-short.Cycles, 12_000, 5000, x.name) // it looks once in that time
		_, err = run("0")
		require.ErrorContains(t, err, "deadlock", x.name)
	}
}
