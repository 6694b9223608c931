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

// randomOlds is a random function of short loops inside of others whose atomic updates find what
// the core goes on with, so that their instances are configured ahead of those before: of one
// thread, where each old value follows from the order of the program, or of several, which only
// count how often they find something that is there once.
func randomOlds(r *rand.Rand, threads int) string {
	var b strings.Builder
	b.WriteString("#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N], const int32_t D[N], int32_t E[N], int32_t F[N], int64_t S[4])\n{\n" +
		"inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(E, N); inf_array(F, N); inf_array(S, 4);\n")
	for n := range 1 + r.IntN(2) {
		if threads > 1 {
			b.WriteString([]string{"#pragma omp parallel for\n", "#pragma omp parallel for schedule(dynamic, 5)\n"}[r.IntN(2)])
		}
		fmt.Fprintf(&b, "for (int c = 0; c < 4; c++) {\nint32_t s = %d;\n", n)
		begin := []string{"int u = 16 * c", "int u = 16 * c + 1", "int u = 16 * c + 15"}[r.IntN(3)]
		step, while := "u++", "u < 16 * c + 16"
		if strings.HasSuffix(begin, "15") {
			step, while = "u--", "u >= 16 * c"
		}
		at, other := "C", "E"
		if r.IntN(3) == 0 {
			at, other = other, at
		}
		fmt.Fprintf(&b, "for (%s; %s; %s) {\nint q = (uint32_t)B[u] %% 64, first = (uint32_t)A[q] %% (uint32_t)(N - 64), last = first + (B[%s] & %d), v = D[q];\n", begin, while, step, []string{"u", "q"}[r.IntN(2)], []int{1, 3, 15, 31}[r.IntN(4)])
		fmt.Fprintf(&b, "for (int e = first; e < last; e++) {\nuint32_t k = ((uint32_t)A[e] >> %d) %% (uint32_t)%s;\n", r.IntN(9), []string{"N", "40", "9"}[r.IntN(3)])
		update := ""
		if threads > 1 { // what elements become is the same in any order
			update = []string{"__atomic_fetch_add(&%s[k], 1, __ATOMIC_RELAXED)", "inf_fetch_min(&%s[k], A[e])"}[r.IntN(2)]
		} else {
			update = []string{"__atomic_fetch_add(&%s[k], v, __ATOMIC_RELAXED)", "inf_fetch_min(&%s[k], A[e] ^ v)", "__atomic_exchange_n(&%s[k], v + 1, __ATOMIC_RELAXED)",
				"(__atomic_load_n(&%[1]s[k], __ATOMIC_RELAXED) > 9 && __sync_bool_compare_and_swap(&%[1]s[k], v, 3))"}[r.IntN(4)]
		}
		update = fmt.Sprintf(update, at)
		if r.IntN(4) == 0 {
			update = fmt.Sprintf("(A[e] %% 3 == 0 ? 0 : %s)", update)
		}
		fmt.Fprintf(&b, "s = s * 3 + %s;\n", update)
		if r.IntN(4) == 0 {
			fmt.Fprintf(&b, "#pragma omp atomic\n%s[(uint32_t)A[e] %% (uint32_t)N] += v;\n", other)
		}
		b.WriteString("}\n")
		if threads == 1 {
			b.WriteString([]string{"", "", "F[q] = s;\n", "S[1] += F[u];\n", "F[u] += C[first];\n", "if (q & 1) S[2] += q;\n"}[r.IntN(6)])
		}
		b.WriteString("}\n")
		if threads == 1 {
			b.WriteString("F[c] += s;\n")
		} else {
			b.WriteString("F[c] = s > 0;\n")
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// TestRandomOlds compares such functions with their sequential meaning, while streams are ended at
// any time; BITSCHED_STREAMS=10000 runs more.
func TestRandomOlds(t *testing.T) {
	programs := 30
	if n, err := strconv.Atoi(os.Getenv("BITSCHED_STREAMS")); err == nil {
		programs = n
	}
	configs := []string{"ns", "ns", "ns", "ns-no-sync", "ns-decouple"}
	var ended [se.NumReasons]uint64
	ahead, atomics := int64(0), uint64(0)
	seeds := []uint64{303, 198, 5337, 5590} // restored twice, paused, restored ahead of the core's own updates, computed in another order
	for k := range programs {
		seeds = append(seeds, uint64(first()+k))
	}
	for _, seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 16))
		threads := 1
		if r.IntN(4) == 0 {
			threads = 3
		}
		text := randomOlds(r, threads)
		p, want := compiled(t, text, 600+int64(r.IntN(500)), seed)
		m := small(t, []string{"io4", "ooo4", "ooo8"}[r.IntN(3)])
		if r.IntN(3) == 0 {
			m.Streams.L2.Slices = 1
		}
		if r.IntN(3) == 0 {
			m.Streams.L3.Locks = "exclusive"
		}
		opt := multicore.Options{Machine: m, Threads: threads, Config: configs[r.IntN(len(configs))], Warm: r.IntN(2) == 0, Seed: seed, MaxCycles: 1 << 22}
		if r.IntN(3) > 0 {
			rate := func() float64 { return []float64{0, 0.003, 0.01, 0.1}[r.IntN(4)] }
			opt.Inject = &se.Inject{Alias: rate() / 10, Fault: rate(), Switch: rate() / 10}
		}
		report, err := multicore.Run(context.Background(), p, opt)
		require.NoError(t, err, "seed %d, %s, %+v\n%s", seed, opt.Config, opt.Inject, text)
		if threads > 1 { // what updates find is in the order of the machine
			delete(want, "F")
			g := *p.Graph
			p.Graph = &g
			g.Arrays = slices.DeleteFunc(slices.Clone(g.Arrays), func(a stream.Array) bool { return a.Name == "F" })
		}
		require.NoError(t, sameMemory(p, want), "seed %d, %s, %+v\n%s", seed, opt.Config, opt.Inject, text)
		if opt.Inject == nil && threads == 1 { // nobody else has lines
			require.Zero(t, report.Streams.Core.Ended[se.Timeout], "seed %d, %s\n%s", seed, opt.Config, text)
		}
		for k, n := range report.Streams.Core.Ended {
			ended[k] += n
		}
		atomics += report.Streams.Bank.Atomics
		for _, l := range report.Streams.Loops {
			ahead += l.Ahead
		}
	}
	t.Log(ahead, atomics, ended)
	require.Greater(t, ahead, int64(10*programs))
	require.Positive(t, ended[se.Fault])
	require.Positive(t, ended[se.Switch])
}

// TestOldsMutants breaks the order of updates among instances, and messages that name them: one of
// some programs must notice.
func TestOldsMutants(t *testing.T) {
	run := func(seed uint64, broken se.Broken, f func(m *se.Message) bool) error {
		r := rand.New(rand.NewPCG(seed, 17))
		p, want := compiled(t, randomOlds(r, 1), 700, seed)
		report, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: "ns", Warm: true, Seed: seed, Broken: broken, Intercept: f, MaxCycles: 1 << 19})
		if err == nil {
			err = sameMemory(p, want)
		}
		return orEnded(report, err)
	}
	const programs = 6
	for seed := range uint64(programs) {
		require.NoError(t, run(seed, "", nil), seed)
	}
	later := func(kind se.MessageKind, by uint32) func(m *se.Message) bool {
		n := 0
		return func(m *se.Message) bool {
			if m.Kind != kind {
				return true
			}
			if n++; n == 40 {
				m.Group += by
			}
			return true
		}
	}
	for _, x := range []struct {
		name   string
		broken se.Broken
		f      func() func(m *se.Message) bool
	}{
		{"no order", se.MixInstances, nil},
		{"an old value of the instance behind", "", func() func(m *se.Message) bool { return later(se.MsgData, 1) }},
		{"an old value of the instance before", "", func() func(m *se.Message) bool { return later(se.MsgData, ^uint32(0)) }},
		{"a commit of the instance behind", "", func() func(m *se.Message) bool { return later(se.MsgCommit, 1) }},
		{"a commit of the instance before", "", func() func(m *se.Message) bool { return later(se.MsgCommit, ^uint32(0)) }},
		{"done of the instance behind", "", func() func(m *se.Message) bool { return later(se.MsgDone, 1) }},
		{"a request of the instance behind", "", func() func(m *se.Message) bool { return later(se.MsgRequest, 1) }},
	} {
		var err error
		for seed := uint64(0); seed < programs && err == nil; seed++ {
			var f func(m *se.Message) bool
			if x.f != nil {
				f = x.f()
			}
			err = run(seed, x.broken, f)
		}
		if assert.Error(t, err, x.name) {
			t.Logf("%s: %.100s", x.name, err)
		}
	}
}

// TestLongBefore has short instances wait for a long one that goes on for longer than streams may do
// nothing: none of them ends before its time.
func TestLongBefore(t *testing.T) {
	const text = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N], int64_t S[1])\n{\ninf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(S, 1);\n" +
		"int64_t s = 0;\nfor (int u = 0; u < 16; u++) {\nint first = (uint32_t)B[u] % 64, last = first + (u % 4 ? 3 : 900);\n" +
		"for (int e = first; e < last; e++)\ns += __atomic_fetch_add(&C[(uint32_t)A[e] % (uint32_t)N], 1, __ATOMIC_RELAXED);\n}\nS[0] = s;\n}\n"
	for cycles := 400; cycles < 500; cycles += 25 {
		p, want := compiled(t, text, 1000, 1)
		m := small(t, "ooo8")
		m.Streams.Core.LockTimeoutCycles = cycles
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns", Warm: true})
		require.NoError(t, err)
		require.NoError(t, sameMemory(p, want))
		require.Greater(t, r.Cycles, int64(4*4*cycles))
		require.EqualValues(t, 15, r.Streams.Loops[0].Ahead)
		require.Zero(t, r.Streams.Core.Ended[se.Timeout], cycles)
	}
}
