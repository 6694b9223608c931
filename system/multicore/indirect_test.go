package multicore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/se"
)

// indirectC is a loop of each kind of indirect stream: a load that goes to the core, one that
// another stream takes, stores of which the last one counts, updates with and without a
// condition, and one of which the address says whether there is an access.
const indirectC = `#include "bitsched.h"
void f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N], int32_t D[N], int32_t E[N], int32_t F[N], int64_t S[1])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(E, N); inf_array(F, N); inf_array(S, 1);
	for (int i = 0; i < N; i++)
		C[i] = B[(uint32_t)A[i] % (uint32_t)N] + i;
	for (int i = 0; i < N; i++)
		D[((uint32_t)A[i] >> 4) % 800] = i;
	for (int i = 0; i < N; i++)
		E[(uint32_t)A[i] % 700] = E[(uint32_t)A[i] % 700] * 3 + A[i];
	for (int i = 0; i < N; i++)
		if (A[i] & 1)
			F[(uint32_t)A[i] % 600] += i;
	int64_t sum = 0;
	for (int i = 0; i < N; i++) {
		sum = sum * 3 + B[(uint32_t)A[i] % (uint32_t)N];
		if (F[(uint32_t)A[i] % 900] < 0)
			F[(uint32_t)A[i] % 900] = i;
	}
	S[0] = sum;
}
`

// small is a machine whose cores have caches that arrays do not fit into.
func small(t testing.TB, core string) *tile.Machine {
	m := machine(t, "nsc-small", core)
	require.NoError(t, m.Set("l2.ways", "4"))
	require.NoError(t, m.Set("l2.bytes", "2048"))
	return m
}

// TestIndirectStreams compares indirect streams in all configurations with what the loops
// mean.
func TestIndirectStreams(t *testing.T) {
	for _, c := range multicore.Configurations[1:] {
		p, want := compiled(t, indirectC, 1000, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: c.Name, Warm: true})
		require.NoError(t, err, c.Name)
		require.NoError(t, sameMemory(p, want), c.Name)
		for _, l := range r.Streams.Loops {
			t.Logf("%s: %+v", c.Name, l)
		}
		t.Log(r.Cycles, r.Streams.Messages[se.MsgRequest], r.Streams.Messages[se.MsgRange])
	}
}

// orderC writes the same few elements again and again, so that the order of its requests
// counts.
const orderC = `#include "bitsched.h"
void f(int N, const int32_t A[N], int32_t D[N])
{
	inf_array(A, N); inf_array(D, N);
	for (int i = 0; i < N; i++)
		D[((uint32_t)A[i] & 1) * 512] = i;
}
`

// TestIndirectMutants breaks messages of indirect streams. Of two requests to a bank the
// later one may come first, and must be taken second: where a message does not say what it
// comes after, the result is wrong.
func TestIndirectMutants(t *testing.T) {
	with := func(text string) func(f func(m *se.Message) bool) error {
		return func(f func(m *se.Message) bool) error {
			p, want := compiled(t, text, 1000, 1)
			r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: "ns", Warm: true, Intercept: f, MaxCycles: 1 << 20})
			if err == nil {
				err = sameMemory(p, want)
			}
			return orEnded(r, err)
		}
	}
	run := with(indirectC)
	breakMessages(t, run, []mutant{
		{"lost", []se.MessageKind{se.MsgRequest, se.MsgRange}, func(*se.Message) bool { return false }},
		{"one element wrong", []se.MessageKind{se.MsgRequest}, func(m *se.Message) bool { return len(m.Values) > 0 && wrongElement(m) }},
		{"to another bank", []se.MessageKind{se.MsgRequest}, func(m *se.Message) bool { m.To ^= 5; return true }},
		{"of another address", []se.MessageKind{se.MsgRequest}, func(m *se.Message) bool { m.Low ^= 4; return true }},
		{"one iteration short", []se.MessageKind{se.MsgRange}, func(m *se.Message) bool { m.End--; return true }},
		{"of another group", []se.MessageKind{se.MsgRequest, se.MsgRange}, func(m *se.Message) bool { m.Group++; return true }},
		{"behind another one", []se.MessageKind{se.MsgRequest}, func(m *se.Message) bool {
			if m.Last < 0 { // a load has no order
				return false
			}
			m.Last--
			return true
		}},
	})
	// swapped exchanges two requests of one stream to one bank while they are on the mesh.
	swapped := func(forget bool) func(m *se.Message) bool {
		var before *se.Message
		return func(m *se.Message) bool {
			if m.Kind != se.MsgRequest {
				return true
			}
			if forget {
				m.Last = -1
			}
			if before != nil && before.To == m.To && m.From != m.To && m.First == before.First+1 && m.First%8 > 0 { // sent a cycle later
				*before, *m = *m, *before
				before = nil
				return true
			}
			before = m
			return true
		}
	}
	order := with(orderC)
	require.NoError(t, order(swapped(false)))
	require.Error(t, order(swapped(true)))
}

// TestGathersOfManyLines runs four gathers a vector on caches that do not hold the lines of
// those in flight: a line that leaves must cost the lanes that it had, not whole gathers
// whose other lines leave meanwhile.
func TestGathersOfManyLines(t *testing.T) {
	p, want := compiled(t, `#include "bitsched.h"
void f(int N, const uint16_t A0[N], uint16_t A1[N], const float A2[N], const int32_t A3[N], const uint16_t A4[N])
{
	inf_array(A0, N); inf_array(A1, N); inf_array(A2, N); inf_array(A3, N); inf_array(A4, N);
	for (int i = 3; i < N - 3; i += 1)
		A1[i] = ((int32_t)A2[(uint32_t)A1[i] % (uint32_t)N] ^ (int32_t)A3[i-3]) - ((int32_t)A4[(uint32_t)A4[i] % (uint32_t)N] + (int32_t)A3[(uint32_t)A1[i] % (uint32_t)N]);
}
`, 569, 119)
	r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Warm: true, Config: "base", MaxCycles: 100_000})
	require.NoError(t, err)
	require.NoError(t, sameMemory(p, want))
	t.Logf("%d cycles, %d micro-ops", r.Cycles, r.MicroOps)
}
