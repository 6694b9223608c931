package multicore_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

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
	configs := []string{"ns", "ns", "ns", "ns-no-comp", "ns-no-sync", "ns-decouple"}
	var ended [se.NumReasons]uint64
	for seed := uint64(first()); seed < uint64(first()+programs); seed++ {
		r := rand.New(rand.NewPCG(seed, 6))
		text := randomC(r)
		p, want := compiled(t, text, 200+int64(r.IntN(300)), seed)
		m := machine(t, "nsc-small", []string{"io4", "ooo4", "ooo8"}[r.IntN(3)])
		if r.IntN(2) == 0 {
			m.Streams.L2.Slices = m.Streams.L3.RangeIterations // one range at a time
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
