package machine

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

// TestConservation runs threads of random accesses, each on memory of its own, on
// four tiles of a mesh: memory ends as each thread says, every load finds what the
// thread expects, every request is answered, and what is counted at one end of a way
// is counted at the other one.
func TestConservation(t *testing.T) {
	for _, name := range []string{"io4", "ooo8"} {
		d, err := tile.LoadMachine("nsc")
		require.NoError(t, err)
		d.Core, d.Mesh.Cols, d.Mesh.Rows = name, 2, 2
		d.L1D.Bytes, d.L2.Bytes, d.L3.ArraysPerWay = 1<<10, 4<<10, 1
		spec, err := Of(d)
		require.NoError(t, err)
		m, err := New(spec)
		require.NoError(t, err)
		truth := map[uint64]byte{}
		var threads []uop.Thread
		for k := range uint64(4) {
			rng := rand.New(rand.NewPCG(k, 5))
			s := &script{}
			for i := range 4000 {
				// Words of a line belong to all threads in turn.
				addr := uint64(rng.IntN(12_000))*64 + 16*k + 8*uint64(rng.IntN(2))
				if rng.IntN(2) == 0 {
					s.store(addr, uint64(i)&0xff)
					truth[addr] = byte(i)
				} else {
					s.load(addr, uint64(truth[addr]), uop.Reg(1+rng.IntN(20)), uop.Reg(1+rng.IntN(20)))
				}
			}
			threads = append(threads, s)
		}
		require.NoError(t, m.Run(context.Background(), threads...))
		contents := m.Contents()
		for addr, v := range truth {
			var b [8]byte
			m.Read(addr, b[:])
			require.Equal(t, [8]byte{v}, b, "address %#x", addr)
			line := contents.Line(addr / mem.LineBytes)
			require.Equal(t, b[:], line[addr%mem.LineBytes:][:8], "address %#x", addr)
		}
		var misses, written, reads, writes, back uint64
		for i, c := range m.Cores {
			require.True(t, c.Done())
			require.Equal(t, uint64(4000), c.Counters.Committed)
			require.False(t, m.Caches[i].Pending())
			back += m.Caches[i].Counters.WriteBacks
		}
		for _, h := range m.Homes {
			require.False(t, h.Pending())
			misses, written = misses+h.Counters.Misses, written+h.Counters.WrittenBack
		}
		for _, d := range m.DDR {
			reads, writes = reads+d.Counters.Reads, writes+d.Counters.Writes
		}
		require.Equal(t, misses, reads)
		require.GreaterOrEqual(t, written, writes) // some are written once for two times
		require.Positive(t, back)
		n := m.Mesh.Counters()
		require.Equal(t, n.Injected, n.Completed)
		require.Equal(t, n.InjectedFlits, n.EjectedFlits)
		require.NoError(t, m.Mesh.Check())
	}
}

// TestDescriptions: every machine that comes with the program can be built, and runs.
func TestDescriptions(t *testing.T) {
	for _, name := range tile.MachineNames() {
		d, err := tile.LoadMachine(name)
		require.NoError(t, err)
		spec, err := Of(d)
		require.NoError(t, err, name)
		spec.Cores, spec.Home.Bytes = min(spec.Cores, 2), spec.Home.Ways*mem.LineBytes*16 // as much memory as the test needs
		m, err := New(spec)
		require.NoError(t, err, name)
		s := &script{}
		s.store(0x1000, 7)
		s.load(0x1000, 7, 1, 0)
		s.load(0x9000, 0, 2, 1)
		require.NoError(t, m.Run(context.Background(), s), name)
	}
}

func TestRefuses(t *testing.T) {
	for want, change := range map[string]func(s *Spec){
		"0 cores":                   func(s *Spec) { s.Cores = 0 },
		"65 cores":                  func(s *Spec) { s.Cores = 65 },
		"no memory controller":      func(s *Spec) { s.Memory.Controllers = nil },
		"memory controller at":      func(s *Spec) { s.Memory.Controllers = []int{64} },
		"either fixed or dram":      func(s *Spec) { s.Memory.DRAM = nil },
		"a mesh of 64 nodes":        func(s *Spec) { s.Banks = 128 },
		"rob of 0":                  func(s *Spec) { s.Core.ROB = 0 },
		"L1 of 100 bytes":           func(s *Spec) { s.Private.L1.Bytes = 100 },
		`prefetcher "oracle"`:       func(s *Spec) { s.Private.L2.Prefetcher = "oracle" },
		"pages of 1000 bytes":       func(s *Spec) { s.TLB.PageBytes = 1000 },
		"interleave of 0 and 1":     func(s *Spec) { s.Interleave = 0 },
		"clock of 0 GHz":            func(s *Spec) { s.ClockGHz = 0 },
		"L3 bank with mshrs of 0":   func(s *Spec) { s.Home.MSHRs = 0 },
		"L3 bank with policy \"x\"": func(s *Spec) { s.Home.Policy = "x" },
	} {
		s := described(t, "nsc", "ooo8")
		change(s)
		_, err := New(s)
		require.ErrorContains(t, err, want)
	}
}
