package timing

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/noc"
	"github.com/bitsched/bitsched/tile/uop"
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
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
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

// TestOneCoreAlone: on a mesh of one node, loads one after another take what the parts
// between the core and the copy take, to the cycle, at each level; without a mesh, a
// cycle less for each message.
func TestOneCoreAlone(t *testing.T) {
	for _, mesh := range []bool{true, false} {
		spec := small(t, func(m *tile.Machine) {
			m.Mesh.Cols, m.Mesh.Rows, m.NoC.MemoryControllers = 1, 1, 1
			m.L1D.Replacement, m.L2.Replacement, m.L3.Replacement, m.Prefetch.L1, m.Prefetch.L2 = "lru", "lru", "lru", "none", "none"
		})
		const latency, bus = 150, 1
		spec.Memory.DRAM, spec.Memory.Fixed = nil, &mem.FixedSpec{Latency: latency, Bus: bus}
		message := 0
		if mesh {
			c := noc.DefaultConfig(1, 1)
			spec.Mesh, message = &c, 1
		}
		p, h := &spec.Private, &spec.Home
		// From the issue of a load: a cycle for its address, then the look-ups.
		l1 := spec.Core.HitUse
		l2 := p.L2.Latency + p.HitReturn + spec.Core.FillUse
		l3 := p.L2.Latency + 2*message + h.Latency + h.Return + p.MissReturn + spec.Core.FillUse
		memory := p.L2.Latency + 4*message + h.Latency + latency + h.MissReturn + p.MissReturn + spec.Core.FillUse
		for _, c := range []struct {
			level string
			lines int
			want  int
		}{
			{"L1", p.L1.Bytes / lineBytes, l1},
			// More lines than ways in each set: in turn, none stays with LRU.
			{"L2", p.L1.Bytes / lineBytes * (p.L1.Ways + 1) / p.L1.Ways, l2},
			{"L3", p.L2.Bytes / lineBytes * (p.L2.Ways + 1) / p.L2.Ways, l3},
			{"memory", h.Bytes / lineBytes * (h.Ways + 1) / h.Ways, memory},
		} {
			m, err := machine.New(spec)
			require.NoError(t, err)
			var from, to event.Time
			core := m.Cores[0]
			first := max(c.lines, 64)
			core.After(uint64(first), func(now event.Time) {
				from = now
				core.After(100, func(now event.Time) { to = now })
			})
			done := 0
			require.NoError(t, m.Run(context.Background(), &loop{body: func(t *loop) uop.Status {
				t.add(uop.Op{PC: 1, Kind: uop.Load, Dst: 1, Src: [3]uop.Reg{1}, Size: 8, Addr: regionA + uint64(done%c.lines)*lineBytes}, word(0))
				if done++; done == first+100 {
					return uop.Done
				}
				return uop.More
			}}))
			require.Equal(t, event.Time(100*c.want), to-from, "%s, mesh %v", c.level, mesh)
		}
	}
}

// TestMicrosOnMesh holds microbenchmarks of 64 cores against what messages take at
// least: a barrier takes one of 64 cores after another to its counter, and a line that
// all write goes from core to core.
func TestMicrosOnMesh(t *testing.T) {
	if testing.Short() {
		t.Skip("a second and a half")
	}
	spec := described(t, "nsc", "ooo8")
	spec.Home.Bytes = spec.Home.Ways * lineBytes * 16 // as much memory as the test needs
	hop := float64(spec.Mesh.RouterCycles + spec.Mesh.LinkCycles)
	values := map[string]float64{}
	for _, name := range []string{"barrier", "false-sharing", "padded"} {
		r := micro(t, spec, name, 64, 1<<20)
		values[name] = r.Value
		require.Positive(t, r.FlitHops)
	}
	// An owner hands the line on by a message, over a link at least, and that 64 times.
	require.Greater(t, values["barrier"], 64*2*hop)
	require.Greater(t, values["false-sharing"], 1.5*values["padded"])
	eight := micro(t, spec, "barrier", 8, 1<<20).Value
	require.Greater(t, values["barrier"], 4*eight, "the counter goes round")
	require.Less(t, values["barrier"], 64*eight)
}

// BenchmarkMicros executes the microbenchmarks on 64 cores of nsc, on base.
func BenchmarkMicros(b *testing.B) {
	for _, x := range Micros() {
		b.Run(x.Name, func(b *testing.B) {
			var value float64
			for b.Loop() {
				value = micro(b, described(b, "nsc", "ooo8"), x.Name, 64, 6<<20).Value
			}
			b.ReportMetric(value, x.Unit)
			b.ReportMetric(0, "ns/op")
		})
	}
}
