package multicore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
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
