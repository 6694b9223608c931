package timing

import (
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tile/core"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/mem/dram"
)

// CoreNames are the cores of the reference: ooo8m4 has four miss registers in its L1,
// ooo8n an L3 as far away as the round trip over a mesh.
var CoreNames = []string{"ooo8", "ooo4", "io4", "ooo8m4", "ooo8n"}

// MemoryNames are the memories of the reference: one of fixed latency, DRAM with
// lines in a row, DRAM with lines in turn in the bank groups.
var MemoryNames = []string{"fixed", "ds3", "ds3bg"}

// PrefetchNames are the prefetchers of the reference, in the L1 and the L2.
var PrefetchNames = []string{"none", "ip_stride"}

// clockGHz is that of the cores.
const clockGHz = 2

// Champsim is a machine that is shaped like the reference: one core, LRU, no mesh,
// units without limit, an L3 in one piece. lat is the latency of operations that are
// neither additions of integers nor of floating-point numbers.
//
// Latencies follow from the figures that the reference is to be calibrated with (its
// README, section 2): load to use 5, 23, 45 and 207.5 cycles, a miss register busy for
// 18, 40 and 202.5 cycles.
func Champsim(name, memory, prefetch string, lat int) (*machine.Spec, error) {
	unit := func(kind string, latency int) core.Unit {
		return core.Unit{Name: kind, Runs: []core.Run{{Kind: kind, Latency: latency}}}
	}
	s := &machine.Spec{
		Name: "champsim-" + name, ClockGHz: clockGHz, Cores: 1, Banks: 1, Interleave: 1,
		Core: core.Spec{
			Name: name, Fetch: 8, Dispatch: 5, Issue: 8, Commit: 8, FrontEnd: 5, Buffer: 16 * 8, Redirect: 8, Predictor: "hashed-perceptron",
			ROB: 224, IQ: 64, LQ: 72, SQ: 56, Registers: 348, LoadPorts: 2, StorePorts: 2, SharedPorts: true,
			// Stores that have left the SQ are in the write queue of 64 entries, or wait
			// in the miss registers, which take all stores to their line.
			StoreBuffer: 64 + 16*8, StoresInFlight: 64 + 16*8, LoadSelect: "slot", EarlyLQ: true,
			HitUse: 5, FillUse: 6, Forward: 5,
			Units: []core.Unit{unit("alu", 1), unit("mul", lat), unit("div", lat), unit("fpadd", 4), unit("fpmul", 4), unit("fma", 4), unit("fpdiv", 4),
				unit("shuffle", 1), unit("branch", 1)},
		},
		Private: mem.PrivateSpec{
			L1:        mem.CacheSpec{ArraySpec: mem.ArraySpec{Bytes: 32 << 10, Ways: 8, Policy: mem.LRU}, Latency: 2, MSHRs: 16, Lookups: 4, Sharers: 2},
			L2:        mem.CacheSpec{ArraySpec: mem.ArraySpec{Bytes: 256 << 10, Ways: 16, Policy: mem.LRU}, Latency: 16, MSHRs: 32},
			HitReturn: 1, MissReturn: 2, Release: 1,
		},
		Home:   mem.HomeSpec{ArraySpec: mem.ArraySpec{Bytes: 8 << 20, Ways: 16, Policy: mem.LRU}, Latency: 20, Return: 1, MissReturn: 2, MSHRs: 128, Lookups: 1},
		Memory: machine.Memory{Controllers: []int{0}, Interleave: 1},
	}
	switch name {
	case "ooo8":
	case "ooo4", "io4":
		c := &s.Core
		c.Fetch, c.Dispatch, c.Issue, c.Commit, c.Buffer = 4, 4, 4, 4, 16*4
		c.ROB, c.IQ, c.LQ, c.SQ, c.Registers = 96, 24, 24, 24, 256
		if name == "io4" {
			c.InOrder = true
			c.ROB, c.IQ, c.LQ, c.SQ = 32, 10, 4, 10
		}
	case "ooo8m4":
		s.Private.L1.MSHRs = 4
	case "ooo8n":
		s.Private.L1.MSHRs, s.Private.L2.MSHRs, s.Home.Latency = 32, 64, 86
	default:
		return nil, fmt.Errorf("timing: core %q, expected %s", name, strings.Join(CoreNames, ", "))
	}
	switch prefetch {
	case "none":
	case "ip_stride":
		s.Private.L1.Prefetcher, s.Private.L2.Prefetcher = prefetch, prefetch
	default:
		return nil, fmt.Errorf("timing: prefetcher %q, expected %s", prefetch, strings.Join(PrefetchNames, ", "))
	}
	switch memory {
	case "fixed":
		s.Memory.Fixed = &mem.FixedSpec{Latency: 161, Bus: 5}
	case "ds3", "ds3bg":
		d := dram.DDR4At3200()
		d.Timing.ClockNs = 0.624 // as the reference had it in the frame of its core
		if memory == "ds3bg" {
			d.Mapping = "rorabacobgch"
		}
		s.Memory.DRAM = &d
	default:
		return nil, fmt.Errorf("timing: memory %q, expected %s", memory, strings.Join(MemoryNames, ", "))
	}
	return s, nil
}
