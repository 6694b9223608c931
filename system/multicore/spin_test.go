package multicore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/system/multicore"
)

// TestSpin holds runs whose threads wait for each other in hollow cycles against those in which each
// cycle is executed: reports are equal, with all counters and energies.
func TestSpin(t *testing.T) {
	cases := []struct {
		kernel, machine, core, config string
		sample                        bool
	}{
		{kernel: "gauss_elim", machine: "nsc-small", core: "ooo8", config: "base"},
		{kernel: "svm", machine: "nsc-small", core: "io4", config: "ns"},
		{kernel: "sssp", machine: "nsc-small", core: "ooo4", config: "ns-decouple"},
		{kernel: "bfs_push", machine: "nsc-small", core: "ooo8", config: "inst"},
		{kernel: "dwt2d", machine: "infinity-stream-small", core: "ooo8", config: "near-l3"},
		{kernel: "gauss_elim", machine: "nsc-small", core: "ooo8", config: "ns", sample: true},
	}
	if invariants.Enabled {
		for _, config := range []string{"ns-core", "single", "ns-no-sync"} {
			for _, kernel := range []string{"pr_push", "bin_tree", "hotspot3D"} {
				c := cases[0]
				c.kernel, c.config = kernel, config
				cases = append(cases, c)
			}
		}
	}
	for _, x := range cases {
		made := func(plain bool) (report, counters string) {
			var p *multicore.Program
			if streamSizes[x.kernel] != nil {
				p, _, _, _ = nearProgram(t, x.kernel)
			} else {
				p, _ = program(t, x.kernel, nil)
			}
			opt := multicore.Options{Machine: machine(t, x.machine, x.core), Threads: 16, Config: x.config, Warm: true, Plain: plain}
			if x.sample {
				opt.Sample = &multicore.Sampling{Share: 0.2, Window: 4000}
			}
			r, err := multicore.Run(context.Background(), p, opt)
			require.NoError(t, err, "%+v", x)
			r.Host = multicore.Host{}
			all, err := json.Marshal(r)
			require.NoError(t, err)
			var text bytes.Buffer
			require.NoError(t, r.Stats().WriteText(&text))
			return string(all), text.String()
		}
		report, counters := made(true)
		got, counted := made(false)
		require.JSONEq(t, report, got, "%+v", x)
		require.Equal(t, counters, counted, "%+v", x)
	}
}
