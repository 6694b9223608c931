package multicore_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile/se"
)

// scatterC are reductions over banks: a sum, a maximum of what is computed of the subscript, too,
// a product under a condition, one that the core takes elements of, and one beside a store.
const scatterC = `#include "bitsched.h"
void f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N], int64_t S[6])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(S, 6);
	int64_t sum = 5;
	for (int i = 0; i < N; i++)
		sum += B[(uint32_t)A[i] % (uint32_t)N];
	S[0] = sum;
	int32_t most = -7;
	for (int i = 0; i < N; i++) {
		int32_t x = B[(uint32_t)A[i] % (uint32_t)N] ^ A[i];
		most = x > most ? x : most;
	}
	S[1] = most;
	uint32_t product = 3;
	for (int i = 0; i < N; i++)
		if (A[i] & 1)
			product *= B[(uint32_t)A[i] % (uint32_t)N] | 1;
	S[2] = product;
	int32_t last = 0, all = 0;
	for (int i = 0; i < N; i++) {
		int32_t x = B[(uint32_t)A[i] % (uint32_t)N];
		last = last * 3 + x;
		all ^= x;
	}
	S[3] = last;
	S[4] = all;
	int32_t least = 99;
	for (int i = 0; i < N; i++) {
		int32_t x = B[(uint32_t)A[i] % (uint32_t)N];
		least = least < x ? least : x;
		C[i] = A[i] * 3;
	}
	S[5] = least;
}
`

// TestScattered reduces over indirect streams in parts, one in each bank: no element goes
// anywhere, each bank that has elements is asked once, and loops that have fewer than four
// elements for each bank stay as they are.
func TestScattered(t *testing.T) {
	const n, banks = 1000, 64
	count := func(n int64, text, config string) (r *multicore.Report, messages func(k se.MessageKind) uint64) {
		p, want := compiled(t, text, n, 1)
		m := small(t, "ooo8")
		require.NoError(t, m.Set("mesh.rows", "8"))
		require.NoError(t, m.Set("mesh.cols", "8"))
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: config, Warm: true})
		require.NoError(t, err, config)
		require.NoError(t, sameMemory(p, want), config)
		return r, func(k se.MessageKind) uint64 { return r.Streams.Messages[k].Messages }
	}
	for _, c := range multicore.Configurations[1:] {
		count(n, scatterC, c.Name)
	}
	const sumC = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const int32_t B[N], int64_t S[1])\n{\n\tinf_array(A, N); inf_array(B, N); inf_array(S, 1);\n" +
		"\tint64_t sum = 5;\n\tfor (int i = 0; i < N; i++)\n\t\tsum += B[(uint32_t)A[i] % (uint32_t)N];\n\tS[0] = sum;\n}\n"
	for _, config := range []string{"ns", "ns-no-sync", "ns-decouple"} {
		r, messages := count(n, sumC, config)
		lines := (n*4 + 1023) / 1024 // of banks
		assert.EqualValues(t, n, r.Streams.Bank.Computed, config)
		assert.EqualValues(t, n, messages(se.MsgRequest))
		assert.EqualValues(t, 1, messages(se.MsgVisited))
		assert.EqualValues(t, lines, messages(se.MsgCollect))
		assert.EqualValues(t, lines, messages(se.MsgFinal))
		assert.Zero(t, messages(se.MsgData))
		assert.Equal(t, config == "ns-decouple", r.Streams.Loops[0].Vanishes)
	}
	for _, some := range []int{4*banks - 1, 4 * banks} {
		_, messages := count(600, strings.ReplaceAll(sumC, "i < N", "i < "+strconv.Itoa(some)), "ns")
		assert.EqualValues(t, some/(4*banks), messages(se.MsgVisited), some)
	}
}

// brokenC has sums and no minima, so that each element counts.
const brokenC = `#include "bitsched.h"
void f(int N, const int32_t A[N], const int32_t B[N], int64_t S[2])
{
	inf_array(A, N); inf_array(B, N); inf_array(S, 2);
	int64_t sum = 5, all = 0;
	for (int i = 0; i < N; i++) {
		sum += B[(uint32_t)A[i] % (uint32_t)N];
		all ^= B[(uint32_t)A[i] % (uint32_t)N] + A[i];
	}
	S[0] = sum;
	S[1] = all;
}
`

// TestScatteredMutants breaks messages of reductions over banks, in loops that end before
// their time and in others.
func TestScatteredMutants(t *testing.T) {
	run := func(config string, inject *se.Inject) func(f func(m *se.Message) bool) error {
		return func(f func(m *se.Message) bool) error {
			p, want := compiled(t, brokenC, 1000, 1)
			r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: config, Warm: true, Intercept: f, Inject: inject, Seed: 3, MaxCycles: 1 << 20})
			if err == nil {
				err = sameMemory(p, want)
			}
			if inject != nil {
				return err
			}
			return orEnded(r, err)
		}
	}
	mutants := []mutant{
		{"lost", []se.MessageKind{se.MsgVisited, se.MsgCollect, se.MsgRequest, se.MsgFinal}, func(*se.Message) bool { return false }},
		{"one element wrong", []se.MessageKind{se.MsgFinal, se.MsgRequest}, func(m *se.Message) bool { return len(m.Values) > 0 && wrongElement(m) }},
		{"to another bank", []se.MessageKind{se.MsgCollect}, func(m *se.Message) bool { m.To ^= 1; return true }},
		{"of another stream", []se.MessageKind{se.MsgVisited, se.MsgCollect, se.MsgFinal}, func(m *se.Message) bool { m.Stream ^= 1; return true }},
		{"of another group", []se.MessageKind{se.MsgVisited, se.MsgCollect, se.MsgFinal}, func(m *se.Message) bool { m.Group++; return true }},
		{"one element short", []se.MessageKind{se.MsgCollect}, func(m *se.Message) bool { m.Last--; return true }},
		{"one element too many", []se.MessageKind{se.MsgCollect}, func(m *se.Message) bool { m.Last++; return true }},
	}
	breakMessages(t, run("ns", nil), mutants)
	often := &se.Inject{Switch: 0.01, Fault: 0.05}
	for i := range mutants { // loops end before their banks are known
		mutants[i].kinds = slices.DeleteFunc(mutants[i].kinds, func(k se.MessageKind) bool { return k == se.MsgVisited })
	}
	breakMessages(t, run("ns", often), append(mutants[1:], mutant{"of fewer iterations", []se.MessageKind{se.MsgCollect}, func(m *se.Message) bool { m.First -= 8; return true }}))
	breakMessages(t, run("ns-no-sync", often), mutants[1:])
	var late error // what is not committed is taken, too
	for _, rate := range []float64{0.003, 0.005, 0.008} {
		err := run("ns", &se.Inject{Switch: rate})(func(m *se.Message) bool {
			if m.Kind == se.MsgCollect {
				m.First = 1 << 40
			}
			return true
		})
		if err != nil {
			late = err
		}
	}
	require.Error(t, late)
}
