package multicore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
)

// TestConvoys has 16 threads begin in the same of 16 banks: they come apart if the loop that is ahead goes
// first and a bank does not read more than its link takes, and not by one of both alone, or where a stream that
// has waited for a cycle goes first.
func TestConvoys(t *testing.T) {
	const text = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N+2048], int32_t B[N])\n{\n" +
		"inf_array(A, N+2048); inf_array(B, N);\n#pragma omp parallel for\nfor (int i = 0; i < N; i++) B[i] = A[i] + A[i+2048] + A[i+1024];\n}\n"
	run := func(set ...string) int64 {
		p, want := compiled(t, text, 16*4096, 1)
		m := machine(t, "nsc", "ooo8")
		set = append([]string{"mesh.rows", "4", "mesh.cols", "4"}, set...)
		for i := 0; i < len(set); i += 2 {
			require.NoError(t, m.Set(set[i], set[i+1]))
		}
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 16, Config: "ns-decouple", Warm: true})
		require.NoError(t, err)
		require.NoError(t, sameMemory(p, want))
		assert.EqualValues(t, 16*4096, r.Streams.Bank.Computed)
		return r.Cycles
	}
	apart := run()
	for _, set := range [][]string{
		{"streams.l3.order", "turns", "streams.l3.queue_flits", "0"},
		{"streams.l3.order", "turns"},
		{"streams.l3.queue_flits", "0"},
		{"streams.l3.patience_cycles", "1"},
	} {
		cycles := run(set...)
		t.Log(apart, cycles, set)
		assert.Less(t, 105*apart, 100*cycles, set)
	}
}
