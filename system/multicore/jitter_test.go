package multicore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
)

// TestJitter: each part of what is random in time changes the cycles of a cold program, by the
// seed and by nothing else, and no value; without it runs do not depend on a seed.
func TestJitter(t *testing.T) {
	run := func(config string, j *multicore.Jitter) (cycles int64) {
		p, d := program(t, "stencil1d", map[string]int64{"N": 16384, "T": 1})
		before := arrays(p.Graph, d)
		opt := multicore.Options{Machine: machine(t, "nsc-small", "ooo8"), Threads: 16, Config: config, Jitter: j, Seed: 7}
		r, err := multicore.Run(context.Background(), p, opt)
		require.NoError(t, err)
		v, err := multicore.Check(context.Background(), p, before, opt)
		require.NoError(t, err)
		require.Empty(t, v.First)
		return r.Cycles
	}
	for _, config := range []string{"base", "ns-decouple"} {
		seen := map[int64]bool{run(config, nil): true}
		for _, j := range []*multicore.Jitter{{Seed: 1}, {Seed: 2}, {Seed: 1, Late: 100}, {Seed: 2, Late: 100}} {
			cycles := run(config, j)
			require.False(t, seen[cycles], "%s %+v", config, j)
			seen[cycles] = true
		}
		require.True(t, seen[run(config, &multicore.Jitter{Seed: 1, Late: 100})], config)
		require.Len(t, seen, 5)
	}
}
