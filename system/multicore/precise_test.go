package multicore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/se"
)

// randomChase is a random function of loops that go through lists: one after another, whose
// results the next ones take or not, under conditions, with stores of the core in between.
func randomChase(r *rand.Rand) string {
	var b strings.Builder
	typ := []string{"int32_t", "float", "int64_t", "uint16_t"}[r.IntN(4)]
	fmt.Fprintf(&b, "#include \"bitsched.h\"\nvoid f(int N, int32_t L[N], const int32_t M[N], const %s V[N], int32_t C[N], int64_t S[4])\n{\n"+
		"inf_array(L, N); inf_array(M, N); inf_array(V, N); inf_array(C, N); inf_array(S, 4);\n", typ)
	for n := range 1 + r.IntN(2) {
		list := "LM"[r.IntN(2)]
		next := fmt.Sprintf("p = ((uint32_t)%c[p] >> %d) %% (uint32_t)N;\n", list, r.IntN(4))
		fmt.Fprintf(&b, "int64_t sum%[1]d = %[2]d, last%[1]d = 0;\nfor (int q = 0; q < %[3]d; q++) {\nuint32_t p = (q * %[4]d + %[2]d) %% N;\nint left = 1 + (q * 13) %% %[5]d;\n", n, r.IntN(9), 1+r.IntN(30), 1+r.IntN(9), 1+r.IntN(90))
		if r.IntN(3) == 0 {
			fmt.Fprintf(&b, "%c[q] = q * 77;\n", "LC"[r.IntN(2)])
		}
		b.WriteString([]string{"while (left > 0) {\n", "while (left > 0 && V[p] != 7) {\n", "while (left > 0 && p > 3) {\n"}[r.IntN(3)])
		switch r.IntN(5) {
		case 0:
			fmt.Fprintf(&b, "sum%d += (int32_t)V[p];\n", n)
		case 1:
			fmt.Fprintf(&b, "if (V[p] > 5) sum%d += (int32_t)V[p] ^ q;\n", n)
		case 2:
			fmt.Fprintf(&b, "if (M[p] & 1) sum%d++;\n", n)
		case 3:
			fmt.Fprintf(&b, "sum%[1]d = sum%[1]d * 3 + M[p];\n", n)
		}
		b.WriteString(next + "left--;\n}\n")
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&b, "last%[1]d = last%[1]d * 3 + p;\n", n)
		case 1:
			b.WriteString("C[q % N] = (int32_t)p + left;\n")
		}
		fmt.Fprintf(&b, "}\nS[%[1]d] = sum%[1]d * 5 + last%[1]d;\n", n)
	}
	b.WriteString("}\n")
	return b.String()
}

// randomTeam is a random function of loops on several threads, each of which writes elements of its
// own, counts in those of all, and reduces integers: streams of several cores are at each bank.
func randomTeam(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N], int32_t D[N], int64_t E[N], int64_t S[4])\n{\n" +
		"inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(E, N); inf_array(S, 4);\n")
	for n := range 1 + r.IntN(3) {
		free, sum, count := "", "", []string{"N", "N", "40"}[r.IntN(3)]
		if r.IntN(3) == 0 {
			free = "#pragma s_sync_free\n"
		}
		reduces := r.IntN(2) == 0
		if reduces {
			fmt.Fprintf(&b, "int64_t s%d = %d;\n", n, r.IntN(9))
			sum = fmt.Sprintf(" reduction(+: s%d)", n)
		}
		fmt.Fprintf(&b, "%s#pragma omp parallel for%s%s\nfor (int i = 0; i < N; i++) {\n", free, []string{"", " schedule(dynamic, 70)"}[r.IntN(2)], sum)
		k := fmt.Sprintf("((uint32_t)A[i] >> %d) %% (uint32_t)", r.IntN(9))
		switch r.IntN(6) {
		case 0:
			b.WriteString("C[i] = A[i] * B[i] + i;\n")
		case 1:
			b.WriteString("E[i] += A[i] ^ B[i];\n")
		case 2:
			b.WriteString("if (A[i] > B[i]) C[i] = C[i] * 3 + B[i];\n")
		case 3:
			fmt.Fprintf(&b, "C[i] = B[%sN] + i;\n", k)
		}
		if r.IntN(3) == 0 {
			fmt.Fprintf(&b, "#pragma omp atomic\nD[%s%s] += %s;\n", k, count, []string{"1", "i", "A[i]"}[r.IntN(3)])
		}
		if reduces {
			fmt.Fprintf(&b, "s%d += %s;\n", n, []string{"A[i]", "A[i] * (int64_t)B[i]", "B[" + k + "N]"}[r.IntN(3)])
		}
		b.WriteString("}\n")
		if reduces {
			fmt.Fprintf(&b, "S[%d] = s%d;\n", n, n)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// randomPlain is a random function of serial loops whose arrays are apart, so that streams can be
// split into strands: stores, updates, sums and minima, of lanes or one after another.
func randomPlain(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N], int32_t D[N], const uint8_t E[N], int64_t F[N], int64_t S[4])\n{\n" +
		"inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(E, N); inf_array(F, N); inf_array(S, 4);\n")
	for n := range 1 + r.IntN(3) {
		op, simd := []string{"+", "min", "max", "^"}[r.IntN(4)], ""
		if r.IntN(2) == 0 {
			simd = fmt.Sprintf("#pragma omp simd reduction(%s: s%d)\n", op, n)
		}
		step := 1 + r.IntN(3)/2
		if step > 1 {
			simd = ""
		}
		fmt.Fprintf(&b, "int32_t s%d = %d;\n%sfor (int i = %d; i < N - %d; i += %d) {\n", n, r.IntN(9), simd, r.IntN(4), 3+r.IntN(9), step)
		if r.IntN(4) > 0 {
			b.WriteString([]string{"C[i] = A[i + 1] * 3 + i;\n", "D[i] += A[i] + B[i + 2];\n", "F[i] = F[i] * 5 + E[i];\n", "if (A[i] > 9) C[i] = B[i];\n", "D[i] = A[i] + B[i] + E[i];\nC[i] = A[i] ^ E[i + 3];\n"}[r.IntN(5)])
		}
		if x := []string{"A[i]", "B[i + 1]", "(int32_t)E[i]"}[r.IntN(3)]; simd != "" || r.IntN(2) == 0 {
			switch op {
			case "min":
				fmt.Fprintf(&b, "s%[1]d = %[2]s < s%[1]d ? %[2]s : s%[1]d;\n", n, x)
			case "max":
				fmt.Fprintf(&b, "s%[1]d = %[2]s > s%[1]d ? %[2]s : s%[1]d;\n", n, x)
			default:
				fmt.Fprintf(&b, "s%[1]d = s%[1]d %[3]s %[2]s;\n", n, x, op)
			}
		}
		fmt.Fprintf(&b, "}\nS[%d] = s%d;\n", n, n)
	}
	b.WriteString("}\n")
	return b.String()
}

// randomIndirect is a random function of loops whose arrays are apart, with each kind of indirect
// stream: loads for the core, for others and of what follows from them, stores, updates, with and
// without conditions, members of a structure beside the subscript, and reductions.
func randomIndirect(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("#include \"bitsched.h\"\ntypedef struct { int32_t to, weight; } edge;\n" +
		"void f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N], int32_t D[N], int32_t E[N], int64_t F[N], const edge G[N], int64_t S[4])\n{\n" +
		"inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(E, N); inf_array(F, N); inf_array(G, N); inf_array(S, 4);\n")
	for n := range 1 + r.IntN(3) {
		free, count := "", []string{"N", "N", "700 % (uint32_t)N", "8"}[r.IntN(4)]
		if r.IntN(4) == 0 {
			free = "#pragma s_sync_free\n"
		}
		fmt.Fprintf(&b, "int64_t s%d = %d;\n%sfor (int i = 0; i < N; i++) {\n", n, r.IntN(9), free)
		k := fmt.Sprintf("((uint32_t)A[i] >> %d) %% (uint32_t)%s", r.IntN(9), count)
		switch r.IntN(7) {
		case 0:
			fmt.Fprintf(&b, "D[%s] = %s;\n", k, []string{"i", "A[i]", "7"}[r.IntN(3)])
		case 1:
			fmt.Fprintf(&b, "E[%[1]s] = E[%[1]s] * 3 + %[2]s;\n", k, []string{"i", "A[i]"}[r.IntN(2)])
		case 2:
			fmt.Fprintf(&b, "if (A[i] & %d) F[%s] += i;\n", 1+r.IntN(3), k)
		case 3:
			fmt.Fprintf(&b, "if (F[%[1]s] < 0) F[%[1]s] = i;\n", k)
		case 4:
			fmt.Fprintf(&b, "E[(uint32_t)G[i].to %% (uint32_t)%s] += G[i].weight;\n", count)
		}
		switch r.IntN(5) {
		case 0:
			fmt.Fprintf(&b, "C[i] = B[%s] + i;\n", k)
		case 1: // the core takes it
			fmt.Fprintf(&b, "s%d = s%d * 3 + B[%s];\n", n, n, k)
		case 2:
			fmt.Fprintf(&b, "uint8_t k%d = (B[%s] >> %d) & 31; s%d = s%d * 3 + k%d;\n", n, k, r.IntN(9), n, n, n)
		case 3:
			fmt.Fprintf(&b, "s%d += B[%s];\n", n, k)
		}
		fmt.Fprintf(&b, "}\nS[%d] = s%d;\n", n, n)
	}
	b.WriteString("}\n")
	return b.String()
}

// randomLocks is a random function of atomic updates on several threads, whose old values the core
// takes: sums of them, and conditions that always hold, do not depend on the order.
func randomLocks(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], int32_t C[N], int32_t D[N], int32_t E[N], int64_t S[4])\n{\n" +
		"inf_array(A, N); inf_array(C, N); inf_array(D, N); inf_array(E, N); inf_array(S, 4);\n")
	for n := range 1 + r.IntN(2) {
		fmt.Fprintf(&b, "int64_t s%[1]d = 3;\n#pragma omp parallel for reduction(+: s%[1]d)%[2]s\nfor (int i = 0; i < N; i++) {\nuint32_t k = ((uint32_t)A[i] >> %[3]d) %% (uint32_t)%[4]s;\n", n, []string{"", " schedule(dynamic, 70)"}[r.IntN(2)], r.IntN(9), []string{"N", "600 % (uint32_t)N", "40", "3"}[r.IntN(4)])
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&b, "s%d += __atomic_fetch_add(&C[k], %d, __ATOMIC_RELAXED);\n", n, 1+r.IntN(3))
		case 1:
			fmt.Fprintf(&b, "if (inf_fetch_min(&D[k], %s) >= -2147483647 - 1) s%d++;\n", []string{"i", "A[i] >> 4", "(i & 3) * -i", "-(i >> 4)"}[r.IntN(4)], n)
		case 2:
			fmt.Fprintf(&b, "int32_t old = __atomic_fetch_add(&C[k], 1, __ATOMIC_RELAXED);\nE[i] = (old | 1) & 1;\n")
		}
		fmt.Fprintf(&b, "}\nS[%d] = s%d;\n", n, n)
	}
	b.WriteString("}\n")
	return b.String()
}

// preciseCase is a random program on a random machine.
type preciseCase struct {
	kind, text string
	n          int64
	m          *tile.Machine
	opt        multicore.Options
	reassoc    bool
}

// preciseKinds are the generators of programs; threads is 1 where they do not take it.
var preciseKinds = []struct {
	name    string
	threads int // at most
	make    func(r *rand.Rand, threads int) string
	n       func(r *rand.Rand) int64
}{
	{"expressions", 1, func(r *rand.Rand, _ int) string { return randomC(r) }, func(r *rand.Rand) int64 { return 200 + r.Int64N(300) }},
	{"expressions", 1, func(r *rand.Rand, _ int) string { return randomC(r) }, func(r *rand.Rand) int64 { return 200 + r.Int64N(1500) }},
	{"repeated", 1, func(r *rand.Rand, _ int) string { return again(randomC(r)) }, func(r *rand.Rand) int64 { return 200 + r.Int64N(300) }},
	{"neighbours", 1, func(r *rand.Rand, _ int) string { return fmt.Sprintf(nearC, 1+r.IntN(40)) }, func(r *rand.Rand) int64 { return 300 + r.Int64N(300) }},
	{"neighbours", 1, func(r *rand.Rand, _ int) string { return fmt.Sprintf(nearC, 1+r.IntN(40)) }, func(r *rand.Rand) int64 { return 300 + r.Int64N(300) }},
	{"rows", 1, func(r *rand.Rand, _ int) string { return randomRows(r) }, func(r *rand.Rand) int64 { return 300 + r.Int64N(500) }},
	{"instances", 3, randomInstances, func(r *rand.Rand) int64 { return 600 + r.Int64N(500) }},
	{"nests", 3, randomNest, func(r *rand.Rand) int64 { return 20 + r.Int64N(200) }},
	{"atomics", 1, func(r *rand.Rand, _ int) string { return atomicC(r) }, func(r *rand.Rand) int64 { return 600 + r.Int64N(200) }},
	{"chases", 1, func(r *rand.Rand, _ int) string { return randomChase(r) }, func(r *rand.Rand) int64 { return 600 + r.Int64N(500) }},
	{"plain", 1, func(r *rand.Rand, _ int) string { return randomPlain(r) }, func(r *rand.Rand) int64 { return 300 + r.Int64N(3000) }},
	{"indirect", 1, func(r *rand.Rand, _ int) string { return randomIndirect(r) }, func(r *rand.Rand) int64 { return 500 + r.Int64N(1000) }},
	{"locks", 4, func(r *rand.Rand, _ int) string { return randomLocks(r) }, func(r *rand.Rand) int64 { return 500 + r.Int64N(1000) }},
	{"teams", 4, func(r *rand.Rand, _ int) string { return randomTeam(r) }, func(r *rand.Rand) int64 { return 300 + r.Int64N(1500) }},
}

// preciseKind draws what kind of program a seed has, the first thing that is drawn.
func preciseKind(seed uint64) (r *rand.Rand, kind int) {
	r = rand.New(rand.NewPCG(seed, 20))
	return r, r.IntN(len(preciseKinds))
}

// precise draws a program, a machine, and what is injected.
func precise(t testing.TB, seed uint64) *preciseCase {
	r, kind := preciseKind(seed)
	k := &preciseKinds[kind]
	threads := 1 + r.IntN(k.threads)
	x := &preciseCase{kind: k.name, text: k.make(r, threads), n: k.n(r), reassoc: r.IntN(2) == 0}
	x.m = small(t, []string{"io4", "ooo4", "ooo8"}[r.IntN(3)])
	if r.IntN(4) == 0 {
		x.m = machine(t, "nsc-small", "ooo8")
	}
	set := func(one int, name string, values ...string) {
		if v := values[r.IntN(len(values))]; r.IntN(one) == 0 {
			require.NoError(t, x.m.Set(name, v))
		}
	}
	set(2, "streams.l2.slices", "1", "1", "1", "8", "16", "200")
	set(3, "streams.l3.range_policy", "adaptive")
	set(3, "streams.l3.affine_ranges", "l3")
	set(3, "streams.l3.locks", "exclusive")
	if seed%3 == 0 { // draws nothing, so that programs stay what they were
		require.NoError(t, x.m.Set("streams.l3.migrate", "changed"))
	}
	if k := seed % 5; k < 3 {
		require.NoError(t, x.m.Set("streams.l2.segments", []string{"64", "2", "1"}[k]))
	}
	if k := seed % 7; k < 2 {
		require.NoError(t, x.m.Set("streams.l3.instant_flow", "true"))
		require.NoError(t, x.m.Set("streams.l3.instant_end", "true"))
		require.NoError(t, x.m.Set("streams.l3.instant_ack", []string{"false", "true"}[k]))
	}
	if seed%11 == 0 {
		require.NoError(t, x.m.Set("cores."+x.m.Core+".computations", "1"))
	}
	set(3, "streams.core.offload", "always", "computation")
	set(8, "streams.core.timeout_cycles", "150", "400")
	set(4, "streams.core.lock_timeout_cycles", "60", "300")
	set(8, "streams.l3.requests", "1")
	set(8, "streams.l3.range_iterations", "1", "3", "32")
	set(8, "streams.l3.scalar_pe", "false")
	set(2, "memory.placement", "random-4k", "staggered")
	set(4, "tlb.streams.entries", "16")
	set(2, "streams.l3.sharing", "static", "dynamic", "dynamic")
	if set(2, "streams.l3.buffer_bytes", "38400", "16384", "8192"); k.threads > 1 && r.IntN(2) == 0 { // as few ranges as may be, and too little for some loops
		set(1, "mesh.rows", "2")
		set(1, "mesh.cols", "2")
		set(1, "streams.l3.sharing", "dynamic")
		set(1, "streams.l3.buffer_bytes", "4096", "2400", "1024") // cores take it from each other
	}
	configs := []string{"ns", "ns", "ns", "ns", "ns-no-sync", "ns-decouple", "near-l3", "ns-no-comp", "inst", "single"}
	switch {
	case x.kind == "plain" && r.IntN(2) == 0:
		configs = []string{"near-l3"}
	case x.kind == "neighbours" && r.IntN(4) > 0: // what the ranges of streams in order are for
		configs = configs[:1]
	}
	x.opt = multicore.Options{Machine: x.m, Threads: threads, Config: configs[r.IntN(len(configs))], Warm: r.IntN(2) == 0, Seed: seed, MaxCycles: 1 << 23}
	if r.IntN(8) > 0 && (x.kind != "neighbours" || r.IntN(2) == 0) {
		rate := func(most float64) float64 { return []float64{0, 0, 0.01, 0.1, 1}[r.IntN(5)] * most }
		x.opt.Inject = &se.Inject{Alias: rate(0.03), Fault: rate(0.3), Switch: rate(0.03)}
		if r.IntN(20) == 0 {
			x.opt.Inject.Switch = 1 // in each cycle
		}
	}
	return x
}

// met counts programs in which something has happened.
type met map[string]int

// watch counts what the messages of a run say: call it with each of them.
func watch(x *preciseCase, in met) func(m *se.Message) bool {
	newest := map[int]uint32{}
	type loop struct {
		core  int
		group uint32
	}
	has := map[loop]met{} // mechanisms
	return func(m *se.Message) bool {
		in["message "+m.Kind.String()]++
		k := loop{m.Core, m.Group}
		if m.Group < newest[m.Core] && m.Kind == se.MsgDone {
			in["several instances at once"]++
		}
		if m.Kind == se.MsgEnd {
			for name := range has[k] {
				in["ended: "+name]++
			}
		}
		g, s := m.Begins()
		if g == nil {
			return true
		}
		newest[m.Core] = max(newest[m.Core], m.Group)
		if has[k] == nil {
			has[k] = met{}
		}
		note := func(yes bool, name string) {
			if yes {
				in[name]++
				has[k][name]++
			}
		}
		note(s.Kind == se.Load && !s.Indirect && s.ToCore, "affine load for the core")
		note(s.Kind == se.Load && s.Func != nil && s.Row == 0, "load that sends what follows from it")
		note(s.Kind == se.Store && !s.Indirect, "affine store")
		note(s.Kind == se.Update && !s.Indirect, "affine update")
		note(s.Kind == se.Reduce && g.Strands == 0, "reduction")
		note(s.Kind == se.Chase, "chase")
		note(s.Indirect && s.Kind == se.Load && s.Row == 0, "indirect load")
		note(s.Indirect && s.Kind == se.Store, "indirect store")
		note(len(s.Fields) > 0, "member beside a subscript")
		note(s.Indirect && s.Kind == se.Update && !s.Old && !s.Relaxed, "indirect update")
		note(s.Indirect && s.Kind == se.Update && !s.Old && s.Relaxed, "relaxed atomic")
		note(s.Old && x.m.Streams.L3.Locks == "exclusive" && !g.SyncFree, "atomic with its old value, exclusive locks")
		note(s.Old && x.m.Streams.L3.Locks != "exclusive" && !g.SyncFree, "atomic with its old value, shared locks")
		note(s.Old && g.SyncFree, "atomic with its old value, without an order")
		note(s.Row > 0, "row of the loop inside")
		note(g.Scatters(), "reduction over banks")
		note(g.Row > 0, "streams through rows")
		note(g.Strands > 0, "strands")
		note(g.Strands > 0 && s.Kind == se.Reduce, "reduction in strands")
		note(g.Fine && !s.Task, "iteration at a bank (inst)")
		note(s.Task, "task for a bank")
		note(g.SyncFree && !g.Decoupled && !g.Fine, "without an order")
		note(g.Decoupled, "vanished loop")
		note(g.Range > g.Window && g.Window > 0, "longer ranges")
		note(g.Lanes > 1, "by SIMD")
		note(x.m.Streams.L2.Slices == 1, "one range at a time")
		note(x.m.Streams.L3.AffineRanges == "l3", "ranges made by banks")
		note(x.m.Streams.L3.Sharing == "static", "shares of buffers")
		note(x.m.Streams.L3.Sharing == "dynamic", "room that is lent")
		note(x.m.Streams.L3.Sharing != "none" && g.Range < g.Lanes*int64(x.m.Streams.L3.RangeIterations), "shorter ranges")
		if x.m.Memory.Placement == "random-4k" && s.Kind != se.Reduce && s.Kind != se.Chase && !s.Indirect && s.Stride != 0 {
			const page = 4096
			bytes := uint64(max(s.Stride, -s.Stride) * g.Range)
			over := s.Base/page != (s.Base+uint64(s.Stride*(g.N-1)))/page
			note(over, "stream over pages of 4 kB")
			note(over && (page%bytes != 0 || s.Base%bytes != 0), "range over the end of a page")
		}
		if _, ok := s.Func.(*conditional); s.Func != nil && !ok && s.Kind != se.Load {
			s.Func = &conditional{s.Func, func() { note(true, "condition that does not hold") }}
		}
		return true
	}
}

// conditional tells when the condition of a computation does not hold.
type conditional struct {
	se.Function
	not func()
}

func (c *conditional) Eval(own uint64, in []uint64, i int64) (uint64, bool) {
	v, ok := c.Function.Eval(own, in, i)
	if !ok {
		c.not()
	}
	return v, ok
}

// run runs a program and compares its memory with that of the sequential one; in gets what has
// happened. f, if it is not nil, sees all messages and may break them.
func (x *preciseCase) run(in met, f func(m *se.Message) bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	g, err := cfront.CompileWhole(context.Background(), "f.c", x.text, cfront.Options{})
	if err != nil {
		return err
	}
	p, want, err := arguments(g, x.n, x.opt.Seed)
	if err != nil {
		return err
	}
	p.Reassociate = x.reassoc
	opt, see := x.opt, watch(x, in)
	opt.Intercept = func(m *se.Message) bool { return see(m) && (f == nil || f(m)) }
	r, err := multicore.Run(context.Background(), p, opt)
	if err != nil {
		return err
	}
	s := r.Streams
	for k, n := range s.Core.Ended {
		in["ended by "+se.Reason(k).String()] += int(n)
	}
	if opt.Inject == nil || opt.Inject.Alias == 0 {
		in["ended by alias of the program"] += int(s.Core.Ended[se.Alias])
	}
	in["configured"] += int(s.Core.Offloaded)
	in["update that waited for a lock"] += int(s.Bank.Conflicts)
	in["request that overtook another"] += int(s.Bank.Reordered)
	in["migration"] += int(s.Bank.Migrations)
	in["walk of a bank's TLB"] += int(s.Bank.Walks)
	in["line of the FIFO made stale"] += int(s.Core.Flushed)
	for _, l := range s.Loops {
		in["kept after an alias"] += int(l.Kept)
		in["kept since it is reused"] += int(l.Reused)
		in["kept since it hits"] += int(l.Hits)
		in["too short"] += int(l.Short)
	}
	if opt.Inject == nil && s.Core.Ended[se.Timeout] > 0 && min(10*x.m.Streams.Core.LockTimeoutCycles, x.m.Streams.Core.TimeoutCycles) > 10_000 && s.Bank.Conflicts == 0 {
		return errors.New("streams were ended after a timeout, and nothing was injected")
	}
	return sameMemory(p, want)
}

// preciseMechanisms must be met by random programs, the first ones also in loops whose streams are
// ended before their time.
var preciseMechanisms = []string{
	"affine load for the core", "load that sends what follows from it", "affine store", "affine update", "reduction", "chase", "indirect load", "indirect store", "member beside a subscript", "indirect update", "relaxed atomic",
	"atomic with its old value, exclusive locks", "atomic with its old value, shared locks", "atomic with its old value, without an order", "row of the loop inside", "reduction over banks", "streams through rows",
	"strands", "without an order", "vanished loop", "longer ranges", "by SIMD", "one range at a time", "ranges made by banks", "shares of buffers", "room that is lent", "shorter ranges", "stream over pages of 4 kB", "range over the end of a page", "condition that does not hold",
	"reduction in strands", "iteration at a bank (inst)", "task for a bank", "several instances at once", "ended by alias", "ended by alias of the program", "ended by fault", "ended by switch", "ended by timeout",
	"update that waited for a lock", "request that overtook another", "migration", "walk of a bank's TLB", "kept after an alias", "kept since it is reused", "kept since it hits", "too short",
}

const endableMechanisms = 31

// TestKeptAmongEarly has programs in which an instance that stays in the core is followed by ones
// that begin ahead of the core: its iterations are not theirs.
func TestKeptAmongEarly(t *testing.T) {
	for _, seed := range []uint64{203972, 205206, 205946, 206995} {
		x := precise(t, seed)
		in := met{}
		require.NoError(t, x.run(in, nil), "%s\n%s", x, x.text)
		require.Positive(t, in["kept since it is reused"]+in["kept since it hits"], "seed %d", seed)
	}
}

// TestCreditOvertakesChase has a stream that chases pointers and comes to a bank behind the credit
// that followed it there: it goes on, and does not wait until streams end for want of progress.
func TestCreditOvertakesChase(t *testing.T) {
	x := precise(t, 302556)
	x.m.Streams.Core.TimeoutCycles, x.m.Streams.Core.LockTimeoutCycles = 0, 0
	in := met{}
	require.NoError(t, x.run(in, nil), "%s\n%s", x, x.text)
	require.Positive(t, in["chase"])
}

// TestPreciseState draws programs of all kinds, machines and disturbances, and compares memory
// with that of the sequential program: no deadlock, and each mechanism is met often enough.
// BITSCHED_STREAMS=10000 -v -timeout 4h runs as many, on all host cores, and says what they have met;
// BITSCHED_STREAMS_FROM is the first seed.
func TestPreciseState(t *testing.T) {
	programs := 60
	if n, err := strconv.Atoi(os.Getenv("BITSCHED_STREAMS")); err == nil {
		programs = n
	}
	var mu sync.Mutex
	all, per := met{}, met{} // events, and programs that have some
	cases := make(chan *preciseCase)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for x := range cases {
				in := met{"program of " + x.kind: 1, "in " + x.opt.Config: 1}
				err := x.run(in, nil)
				mu.Lock()
				for name, n := range in {
					all[name] += n
					if n > 0 {
						per[name]++
					}
				}
				if err != nil {
					t.Errorf("%s: %v\n%s", x, err, x.text)
				}
				mu.Unlock()
			}
		}()
	}
	for seed := range uint64(programs) {
		cases <- precise(t, uint64(first())+seed)
	}
	close(cases)
	wait.Wait()
	t.Logf("%d programs", programs)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Logf("%-55s %9d in %5d programs", name, all[name], per[name])
	}
	if programs >= 1000 {
		for i, name := range preciseMechanisms {
			assert.GreaterOrEqual(t, per[name], programs/250, name)
			if i < endableMechanisms {
				assert.GreaterOrEqual(t, per["ended: "+name], programs/500, name)
			}
		}
		for k := range se.NumMessages {
			assert.GreaterOrEqual(t, per["message "+k.String()], programs/250, k)
		}
	}
}

func (x *preciseCase) String() string {
	return fmt.Sprintf("seed %d, %s in %s on %d threads, %+v, %+v", x.opt.Seed, x.kind, x.opt.Config, x.opt.Threads, x.opt.Inject, x.m.Streams)
}

// preciseMutants are messages that are lost, repeated to others or changed.
func preciseMutants() (list []preciseMutant) {
	add := func(name string, do func(m *se.Message) bool, kinds ...se.MessageKind) {
		for _, k := range kinds {
			list = append(list, preciseMutant{name: fmt.Sprintf("message %s %s", k, name), message: func(m *se.Message) bool { return m.Kind != k || do(m) }})
		}
	}
	for k := range se.NumMessages { // one in 7
		n := 0
		add("lost", func(*se.Message) bool { n++; return n%7 != 3 && k != se.MsgRecall }, k) // without some of these, others wait longer
	}
	add("with a wrong element", func(m *se.Message) bool { return len(m.Values) == 0 || wrongElement(m) }, se.MsgForward, se.MsgData, se.MsgFinal, se.MsgRequest, se.MsgWrite)
	add("to another bank", func(m *se.Message) bool { m.To ^= 1; return true }, se.MsgConfigure, se.MsgMigrate, se.MsgCredit, se.MsgForward, se.MsgCommit, se.MsgRequest, se.MsgEnd, se.MsgFetch, se.MsgWrite, se.MsgCollect)
	add("one iteration short", func(m *se.Message) bool { m.End--; return true }, se.MsgCredit, se.MsgCommit, se.MsgDone, se.MsgRange, se.MsgOffload)
	add("one iteration late", func(m *se.Message) bool { m.First++; return true }, se.MsgCredit, se.MsgCommit, se.MsgDone, se.MsgData)
	add("of another stream", func(m *se.Message) bool { m.Stream ^= 1; return true }, se.MsgCredit, se.MsgCommit, se.MsgDone, se.MsgFinal, se.MsgForward, se.MsgRequest)
	add("of another group", func(m *se.Message) bool { m.Group++; return true }, se.MsgForward, se.MsgCredit, se.MsgDone, se.MsgFinal, se.MsgRequest, se.MsgEnd, se.MsgEnded)
	add("of another address", func(m *se.Message) bool { m.Low ^= 4; return true }, se.MsgRequest)
	add("one byte short", func(m *se.Message) bool { m.High--; return m.Low < m.High }, se.MsgRange)
	for _, b := range []se.Broken{se.NoLoadCheck, se.NoStoreCheck, se.NoStreamCheck, se.ShortRange, se.LateRange, se.EarlyCommit, se.NoPartCommit, se.NoDoneWait, se.NoEnd, se.NoSquash, se.DiscardWritten, se.RestoreLate, se.RestoreEarly,
		se.RestoreOld, se.ForgetLoop, se.PauseEarly, se.PauseLate, se.NoLock, se.NoRelease, se.ReaderWrites, se.KeepLocks, se.NoOrder, se.LateFinal, se.OverShare, se.NoReturn, se.LendTwice} {
		list = append(list, preciseMutant{name: string(b), broken: b})
	}
	return list
}

// preciseKindOf are the kinds of programs that have what a part of the protocol is for.
var preciseKindOf = map[se.Broken]string{se.ShortRange: "neighbours", se.LateRange: "neighbours", se.NoLoadCheck: "neighbours", se.NoStoreCheck: "neighbours", se.NoLock: "locks", se.ReaderWrites: "locks", se.LateFinal: "rows"}

type preciseMutant struct {
	name    string
	broken  se.Broken
	message func(m *se.Message) bool
}

// TestPreciseMutants breaks the protocol in each of many ways: programs of TestPreciseState must
// notice it. BITSCHED_STREAMS_FROM is the first seed.
func TestPreciseMutants(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	draw := func(seed uint64) *preciseCase {
		x := precise(t, seed)
		if x.kind == "locks" { // else one program in 400 notices that an update which changes its element shares the line
			x.opt.Config = "ns"
			require.NoError(t, x.m.Set("streams.l3.locks", "multi-reader"))
		}
		x.opt.MaxCycles = 1 << 21
		x.m.Streams.Core.TimeoutCycles = 0 // what is missing ends in a deadlock
		return x
	}
	const programs = 1500
	good := map[uint64]bool{}
	list := preciseMutants()
	for _, x := range list {
		caught, last := 0, first()+programs
		if preciseKindOf[x.broken] != "" { // of one kind
			last += programs
		}
		for seed := uint64(first()); seed < uint64(last) && caught == 0; seed++ {
			if _, k := preciseKind(seed); !slices.Contains([]string{"", preciseKinds[k].name}, preciseKindOf[x.broken]) {
				continue
			}
			c := draw(seed)
			ok, known := good[seed]
			if !known {
				ok = draw(seed).run(met{}, nil) == nil
				good[seed] = ok
			}
			require.True(t, ok, seed)
			c.opt.Broken = x.broken
			if err := c.run(met{}, x.message); err != nil {
				caught++
				t.Logf("%-90s by %s in %s, seed %d: %.100s", x.name, c.kind, c.opt.Config, seed, err)
			}
		}
		assert.Positive(t, caught, "%s is not noticed by %d programs", x.name, last-first())
	}
	require.Greater(t, len(list), 70)
}
