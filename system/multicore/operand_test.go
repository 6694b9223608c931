package multicore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile/se"
)

// operandC has loops that take elements which they do not change: one of each row, one of all rows,
// one of two dimensions around, and one of a loop without rows around it.
const operandC = `#include "bitsched.h"
void f(int N, const float A[restrict N][N], const float B[restrict N][N], float C[restrict N][N], const float K[restrict 3][8], float D[restrict N][N], int32_t E[restrict N], const int32_t F[restrict N])
{
	inf_array(A, N, N); inf_array(B, N, N); inf_array(C, N, N); inf_array(K, 3, 8); inf_array(D, N, N); inf_array(E, N); inf_array(F, N);
	for (int k = 0; k < 3; k++)
#pragma omp parallel for
		for (int m = 0; m < N; m++)
			for (int n = 0; n < N; n++)
				C[m][n] += A[m][k] * B[k][n];
	for (int t = 0; t < 3; t++)
#pragma omp parallel for
		for (int o = 0; o < 4; o++)
			for (int y = 1 + o * (N / 4); y < (o + 1) * (N / 4); y++)
				for (int x = 1; x < N - 1; x++)
					D[y][x] += B[y - 1][x + t - 1] * K[t][o];
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		E[i] += F[i] * F[7];
}
`

// TestOperands compares loops that take such elements with the sequential program: streams compute
// them, elements of rows come as streams of their own, rows of B go to streams of two cores and to
// several strands at once, also while streams are ended at any time.
func TestOperands(t *testing.T) {
	run := func(config string, n int64, set []string, opt multicore.Options) (*multicore.Report, error) {
		p, want := compiled(t, operandC, n, uint64(n))
		opt.Machine = machine(t, "nsc-small", "ooo8")
		opt.Threads, opt.Config, opt.Warm, opt.MaxCycles = 4, config, true, 1<<22
		for i := 0; i < len(set); i += 2 {
			require.NoError(t, opt.Machine.Set(set[i], set[i+1]))
		}
		r, err := multicore.Run(context.Background(), p, opt)
		if err == nil {
			err = sameMemory(p, want)
		}
		return r, err
	}
	always := []string{"streams.core.offload", "always"}
	var ended uint64
	sizes := []int64{131}
	if invariants.Enabled {
		sizes = append(sizes, 128, 201)
	}
	for _, n := range sizes {
		for _, config := range []string{"ns", "ns-decouple", "near-l3"} {
			r, err := run(config, n, always, multicore.Options{})
			require.NoError(t, err, "%s, %d", config, n)
			for _, l := range r.Streams.Loops {
				assert.Positive(t, l.Offloaded, "%s, %d: %+v", config, n, l)
			}
			assert.Equal(t, config == "near-l3", r.Streams.Bank.Broadcasts > 0, config)
			assert.GreaterOrEqual(t, int64(r.Streams.Bank.Operations), 2*(3*n*n+3*4*(n/4-1)*(n-2)), "%s, %d", config, n)
		}
		all, err := run("near-l3", n, always, multicore.Options{})
		require.NoError(t, err)
		for k, set := range []string{"broadcast false", "multicast 1", "broadcast_wait_cycles 0"} { // other streams read together
			name, v, _ := strings.Cut(set, " ")
			r, err := run("near-l3", n, append([]string{"streams.l3." + name, v}, always...), multicore.Options{})
			require.NoError(t, err, set)
			assert.NotEqual(t, all.Streams.Bank.Reads, r.Streams.Bank.Reads, set)
			assert.Equal(t, k > 0, r.Streams.Bank.Spared > 0, set)
			assert.Equal(t, k > 0, r.Streams.Bank.Broadcasts > 0, set)
			assert.Equal(t, all.Streams.Bank.Reads+all.Streams.Bank.Spared, r.Streams.Bank.Reads+r.Streams.Bank.Spared, set)
		}
		r, err := run("near-l3", n, append([]string{"streams.l3.requests", "1"}, always...), multicore.Options{}) // streams that have a line under way go on when it has come
		require.NoError(t, err)
		assert.Greater(t, r.Cycles, all.Cycles)
		assert.Positive(t, r.Streams.Bank.Spared)
		x := rand.New(rand.NewPCG(uint64(n), 3))
		for k := range 2 {
			config := []string{"ns", "near-l3"}[k%2]
			inject := &se.Inject{Fault: x.Float64() / 8, Switch: 0.003 * x.Float64()}
			set := append([]string{"streams.l2.slices", fmt.Sprint(1 + x.IntN(32))}, always...)
			r, err := run(config, n, set, multicore.Options{Inject: inject, Seed: x.Uint64()})
			require.NoError(t, err, "%s, %d, %+v", config, n, inject)
			for _, c := range r.Streams.Core.Ended {
				ended += c
			}
		}
	}
	assert.Positive(t, ended)
	if !invariants.Enabled {
		return // messages that are broken take long
	}
	count := breakMessages(t, func(f func(m *se.Message) bool) error {
		r, err := run("near-l3", 72, always, multicore.Options{Intercept: f})
		return orEnded(r, err)
	}, []mutant{
		{"lost", []se.MessageKind{se.MsgForward}, func(*se.Message) bool { return false }},
		{"wrong", []se.MessageKind{se.MsgForward}, func(m *se.Message) bool {
			m.Values = append([]uint64(nil), m.Values...)
			m.Values[len(m.Values)/2] ^= 1 << 22 // one that a sum does not round off
			return true
		}},
		{"one iteration short", []se.MessageKind{se.MsgForward}, func(m *se.Message) bool { m.End--; return true }},
		{"lost", []se.MessageKind{se.MsgBroadcast}, func(*se.Message) bool { return false }},
		{"wrong", []se.MessageKind{se.MsgBroadcast}, func(m *se.Message) bool {
			m.Values = append([]uint64(nil), m.Values...)
			m.Values[len(m.Values)/2] ^= 1 << 22
			return true
		}},
		{"not to all", []se.MessageKind{se.MsgBroadcast}, func(m *se.Message) bool { m.Targets = m.Targets[1:]; return true }},
		{"to another bank", []se.MessageKind{se.MsgBroadcast}, func(m *se.Message) bool { m.Targets[1].Bank ^= 5; return true }},
		{"for another core", []se.MessageKind{se.MsgBroadcast}, func(m *se.Message) bool { m.Targets[0].Core ^= 2; return true }},
		{"for another iteration", []se.MessageKind{se.MsgBroadcast}, func(m *se.Message) bool {
			n := m.Targets[1].End - m.Targets[1].First
			m.Targets[1].First -= n
			m.Targets[1].End -= n
			return true
		}},
	})
	require.Positive(t, count)
}
