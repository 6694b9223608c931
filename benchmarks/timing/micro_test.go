package timing

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/mem"
)

// described is the machine of a description.
func described(t testing.TB, name, core string) *machine.Spec {
	m, err := tile.LoadMachine(name)
	require.NoError(t, err)
	m.Core = core
	s, err := machine.Of(m)
	require.NoError(t, err)
	return s
}

func micro(t testing.TB, spec *machine.Spec, name string, n int, bytes uint64) *MicroResult {
	for _, b := range Micros() {
		if b.Name == name {
			r, err := b.Run(context.Background(), spec, n, bytes)
			require.NoError(t, err)
			return r
		}
	}
	require.Fail(t, "no micro "+name)
	return nil
}

// small is a machine of 2x2 tiles.
func small(t testing.TB, change func(m *tile.Machine)) *machine.Spec {
	m, err := tile.LoadMachine("nsc")
	require.NoError(t, err)
	m.Mesh.Cols, m.Mesh.Rows, m.NoC.MemoryControllers = 2, 2, 1
	m.Cores.OOO8.StoresInFlight = 8
	// Caches of a few lines, so that a small array streams.
	m.L1D.Bytes, m.L2.Bytes, m.L3.ArraysPerWay = 4<<10, 16<<10, 1
	change(m)
	s, err := machine.Of(m)
	require.NoError(t, err)
	return s
}

// TestMicrosAreBounded holds microbenchmarks against what the machine allows.
func TestMicrosAreBounded(t *testing.T) {
	spec := small(t, func(*tile.Machine) {})
	// A stream through DRAM: three bytes cross the bus for three that count, and it
	// comes near to the bus with four cores.
	peak := spec.Memory.DRAM.PeakGBs() / spec.ClockGHz
	r := micro(t, spec, "stream", 4, 3<<20)
	require.Less(t, r.Value, peak)
	require.Greater(t, r.Value, 0.3*peak)
	require.InEpsilon(t, 3<<20/64, r.DRAMReads, 0.1, "every line comes once")
	// A chase that hits takes the latency of the L1, one in the L2 that of the L2.
	hit := micro(t, spec, "chase", 1, 2<<10)
	require.InDelta(t, spec.Core.HitUse, hit.Value, 1)
	second := micro(t, spec, "chase", 1, 10<<10)
	require.Greater(t, second.Value, hit.Value+5)
	require.Less(t, second.Value, float64(spec.Private.L2.Latency+spec.Core.HitUse+8))
	// One line that all write is slower than a line for each.
	require.Greater(t, micro(t, spec, "false-sharing", 4, 1<<20).Value, 1.2*micro(t, spec, "padded", 4, 1<<20).Value)
	// More cores make a barrier dearer; one alone does not wait.
	one, four := micro(t, spec, "barrier", 1, 1<<20), micro(t, spec, "barrier", 4, 1<<20)
	require.Greater(t, four.Value, 2*one.Value)
	require.Equal(t, uint64(4*barriers), four.Work)
}

// TestMetamorphic: more ways, banks of DRAM, bandwidth or registers for misses, or a
// shorter latency, never make a stream slower.
func TestMetamorphic(t *testing.T) {
	// With LRU and without prefetchers, which take what is there for more. What is not
	// of the DRAM is tried with a memory of fixed latency: in DRAM, what comes sooner
	// may close a row that others would have used.
	run := func(name string, change func(m *tile.Machine)) float64 {
		spec := small(t, func(m *tile.Machine) {
			m.L1D.Replacement, m.L2.Replacement, m.L3.Replacement, m.Prefetch.L1, m.Prefetch.L2 = "lru", "lru", "lru", "none", "none"
			change(m)
		})
		if !strings.Contains(name, "DRAM") {
			spec.Memory.DRAM, spec.Memory.Fixed = nil, &mem.FixedSpec{Latency: 160, Bus: 5}
		}
		return micro(t, spec, "stream", 4, 3<<19).Value
	}
	base := map[bool]float64{true: run("DRAM", func(*tile.Machine) {}), false: run("", func(*tile.Machine) {})}
	for name, change := range map[string]func(m *tile.Machine){
		"ways of the L3":      func(m *tile.Machine) { m.L3.Ways *= 2 },
		"ways of the L2":      func(m *tile.Machine) { m.L2.Ways, m.L2.Bytes = 2*m.L2.Ways, 2*m.L2.Bytes },
		"banks of DRAM":       func(m *tile.Machine) { m.DRAM.Banks *= 2 },
		"controllers of DRAM": func(m *tile.Machine) { m.NoC.MemoryControllers = 2 },
		"latency of L3":       func(m *tile.Machine) { m.L3.LatencyCycles /= 2 },
		"registers":           func(m *tile.Machine) { m.L1D.MSHRs *= 2; m.Cores.OOO8.MaxRequests *= 2 },
		"width of links":      func(m *tile.Machine) { m.NoC.LinkBytes *= 2 },
		"latency of DRAM":     func(m *tile.Machine) { m.DRAM.Timing.CL /= 2; m.DRAM.Timing.CWL /= 2 },
		"stores in flight":    func(m *tile.Machine) { m.Cores.OOO8.StoresInFlight *= 2 },
		"stages of routers":   func(m *tile.Machine) { m.NoC.RouterStages = 3 },
	} {
		got, least := run(name, change), base[strings.Contains(name, "DRAM")]
		require.GreaterOrEqual(t, got, 0.98*least, name)
	}
	// And the bandwidth of the memory in all, not for each controller, is less.
	require.Less(t, run("DRAM", func(m *tile.Machine) { m.NoC.MemoryControllers, m.DRAM.Reading = 2, "total" }), run("DRAM", func(m *tile.Machine) { m.NoC.MemoryControllers = 2 }))
}

// TestMicroIsDeterministic runs one twice.
func TestMicroIsDeterministic(t *testing.T) {
	spec := small(t, func(*tile.Machine) {})
	require.Equal(t, micro(t, spec, "barrier", 4, 1<<20), micro(t, spec, "barrier", 4, 1<<20))
}
