package multicore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile/se"
)

// rivalC has what one rival or both can compute: stores of several operands and of none,
// updates, and reductions of one stream, in loops whose lines do not lie beside each other.
const rivalC = `#include "bitsched.h"
void f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N], int64_t D[N], const uint8_t E[N], int64_t S[2])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(E, N); inf_array(S, 2);
	for (int i = 1; i < N - 1; i++) {
		C[i] = A[i - 1] * B[i + 1] + i;
		D[i] += A[i] ^ E[i];
	}
	for (int i = 0; i < N; i++)
		D[i] = D[i] * 5 + i;
	uint32_t hash = 7;
	for (int i = 0; i < N; i++)
		hash = hash * 31 + (uint32_t)C[i];
	S[1] = hash;
}
`

func rivalRun(t *testing.T, config string, f func(m *se.Message) bool) (*multicore.Report, error) {
	p, want := compiled(t, rivalC, 700, 1)
	r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: machine(t, "nsc-small", "ooo8"), Threads: 1, Config: config, Warm: true, Intercept: f, MaxCycles: 1 << 20})
	if err == nil {
		err = sameMemory(p, want)
	}
	return r, err
}

// TestRivals: what each rival offloads, and by which messages.
func TestRivals(t *testing.T) {
	count := func(r *multicore.Report) map[string]uint64 {
		n := map[string]uint64{}
		for _, m := range r.Streams.Messages {
			if m.Messages > 0 {
				n[m.Name] = m.Messages
			}
		}
		return n
	}
	r, err := rivalRun(t, "inst", nil)
	require.NoError(t, err)
	assert.EqualValues(t, 698+698+700, r.Streams.Bank.Computed, "no reduction")
	n := count(r)
	for _, kind := range []string{"offload", "fetch", "forward", "write", "done"} {
		assert.Positive(t, n[kind], kind)
	}
	assert.Equal(t, []uint64{n["fetch"], n["offload"], n["offload"], 0}, []uint64{n["forward"], n["write"], n["done"], n["configure"]}, "one of each for each part of an iteration")
	r, err = rivalRun(t, "single", nil)
	require.NoError(t, err)
	assert.EqualValues(t, 700+700, r.Streams.Bank.Computed, "no computation of several operands")
	n = count(r)
	assert.Equal(t, []uint64{1, 0, 2}, []uint64{n["final"], n["commit"], n["credit"]}, "streams of a line go on by themselves, and two begin at one bank")
}

// TestRivalMutants breaks messages of rivals.
func TestRivalMutants(t *testing.T) {
	lost := func(*se.Message) bool { return false }
	elsewhere := func(m *se.Message) bool { m.To ^= 5; return true }
	later := func(m *se.Message) bool { m.First++; m.End++; return true }
	short := func(m *se.Message) bool { m.End--; return true }
	stream := func(m *se.Message) bool { m.Stream ^= 1; return true }
	count := breakMessages(t, func(f func(m *se.Message) bool) error { _, err := rivalRun(t, "inst", f); return err }, []mutant{
		{"lost", []se.MessageKind{se.MsgOffload, se.MsgFetch, se.MsgForward, se.MsgWrite, se.MsgDone}, lost},
		{"one element wrong", []se.MessageKind{se.MsgForward, se.MsgWrite}, wrongElement},
		{"to another bank", []se.MessageKind{se.MsgFetch, se.MsgForward, se.MsgWrite}, elsewhere},
		{"of the next iteration", []se.MessageKind{se.MsgOffload, se.MsgWrite}, later},
		{"one iteration short", []se.MessageKind{se.MsgOffload, se.MsgFetch, se.MsgDone}, short},
		{"of another stream", []se.MessageKind{se.MsgForward, se.MsgWrite, se.MsgDone}, stream},
	})
	count += breakMessages(t, func(f func(m *se.Message) bool) error { _, err := rivalRun(t, "single", f); return err }, []mutant{
		{"lost", []se.MessageKind{se.MsgConfigure, se.MsgMigrate, se.MsgCredit, se.MsgForward, se.MsgDone, se.MsgFinal}, lost},
		{"one element wrong", []se.MessageKind{se.MsgForward, se.MsgFinal}, wrongElement},
		{"to another bank", []se.MessageKind{se.MsgConfigure, se.MsgMigrate, se.MsgForward}, elsewhere},
	})
	assert.GreaterOrEqual(t, count, 70)
}

// taskC has indirect stores, whose order matters, updates under a condition, and atomics.
const taskC = `#include "bitsched.h"
void f(int N, const int32_t A[N], int32_t B[N], int32_t C[N], int64_t D[N])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N);
	for (int i = 0; i < N; i++)
		B[((uint32_t)A[i] >> 3) % (uint32_t)N] = i;
	for (int i = 0; i < N; i++)
		if (A[i] & 1)
			C[((uint32_t)A[i] >> 5) % (uint32_t)N] += A[i];
	#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		#pragma omp atomic
		D[((uint32_t)A[i] >> 7) % (uint32_t)N] += 5;
	}
}
`

// TestRivalTasks: rivals send indirect stores and updates one by one, and losing, changing or
// misdirecting a task is noticed.
func TestRivalTasks(t *testing.T) {
	const n = 600
	for _, config := range []string{"inst", "single"} {
		run := func(f func(m *se.Message) bool) (*multicore.Report, error) {
			p, want := compiled(t, taskC, n, 1)
			r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: config, Warm: true, Intercept: f, MaxCycles: 1 << 20})
			if err == nil {
				err = sameMemory(p, want)
			}
			return r, err
		}
		r, err := run(nil)
		require.NoError(t, err)
		p, _ := compiled(t, taskC, n, 1)
		odd := 0
		for _, v := range p.Memory["A"] {
			odd += int(v & 1)
		}
		sent := map[string]uint64{}
		for _, m := range r.Streams.Messages {
			sent[m.Name] = m.Messages
		}
		assert.Equal(t, []uint64{uint64(2*n + odd), uint64(2*n + odd), 0, 0}, []uint64{sent["offload"], sent["done"], sent["request"], sent["forward"]}, config)
		assert.EqualValues(t, 2*n+odd, r.Streams.Bank.Computed, config)
		if config == "single" {
			continue // the same messages
		}
		count := breakMessages(t, func(f func(m *se.Message) bool) error { _, err := run(f); return err }, []mutant{
			{"lost", []se.MessageKind{se.MsgOffload, se.MsgDone}, func(*se.Message) bool { return false }},
			{"to another bank", []se.MessageKind{se.MsgOffload}, func(m *se.Message) bool { m.To ^= 5; return true }},
			{"for the next element", []se.MessageKind{se.MsgOffload}, func(m *se.Message) bool { m.Low += 8; return true }},
			{"of another iteration", []se.MessageKind{se.MsgOffload}, func(m *se.Message) bool { m.First++; m.End++; return true }},
			{"without its order", []se.MessageKind{se.MsgOffload}, func(m *se.Message) bool { m.Last -= 2; return true }},
		})
		assert.Positive(t, count)
	}
}

// TestTasksWithMembers has updates that take a member beside the one that their address follows
// from: rivals send no such tasks, near-stream computing has it in the request.
func TestTasksWithMembers(t *testing.T) {
	for config, near := range map[string]bool{"inst": false, "single": false, "ns": true} {
		p, want := compiled(t, "#include \"bitsched.h\"\ntypedef struct { int32_t to, weight; } edge;\nvoid f(int N, const edge G[N], int32_t D[N])\n{\ninf_array(G, N); inf_array(D, N);\n"+
			"for (int i = 0; i < N; i++)\nD[(uint32_t)G[i].to % (uint32_t)N] += G[i].weight;\n}\n", 1000, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 1, Config: config, Warm: true})
		require.NoError(t, err, config)
		require.NoError(t, sameMemory(p, want), config)
		require.Equal(t, near, r.Streams.Bank.Writes > 0, config)
	}
}
