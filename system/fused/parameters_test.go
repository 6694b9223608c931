package fused_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
)

// TestParameters changes each parameter that only runs with regions in memory depend on.
func TestParameters(t *testing.T) {
	sizes := map[string]int64{"N": 1024, "K": 16, "D": 16}
	run := func(path, value string) *fused.Report {
		m := small(t)
		require.NoError(t, m.Set("lot.release_miss_rate", "1"))
		if path != "" {
			require.NoError(t, m.Set(path, value))
		}
		return execute(t, "kmeans_outer", sizes, fused.Options{Options: multicore.Options{Config: "in-l3", Machine: m, Threads: 2}})
	}
	before := run("", "")
	require.Empty(t, before.Releases)
	require.Greater(t, run("transpose.lines_per_cycle", "0.05").Cycles.DRAM, before.Cycles.DRAM)
	require.Greater(t, run("tensor.command_cache_bytes", "64").Tensor.CacheFull, before.Tensor.CacheFull)
	late := run("lot.release_cycles", "160")
	require.Equal(t, "time", late.Releases[0].Why)
	asked := run("lot.release_requests", "1")
	require.NotEmpty(t, asked.Releases)
	require.Equal(t, "requests", asked.Releases[0].Why)
	missed := run("lot.release_miss_rate", "0.01")
	require.Equal(t, "miss rate", missed.Releases[0].Why)
}
