package machine

import (
	"github.com/bitsched/bitsched/tile/core"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/mem/dram"
	"github.com/bitsched/bitsched/tile/noc"
)

// Base is the machine of Near-Stream Computing (HPCA 2022, Table V), configuration
// base: 8x8 cores with Bingo at the L1 and a stride prefetcher at the L2, 64 banks of
// 1 MB, four memory controllers at the corners. What the paper does not print is that
// of the authors' simulator where docs/memory.md says so, or assumed.
func Base() *Spec {
	mesh := noc.DefaultConfig(8, 8)
	d := dram.DDR4At3200()
	return &Spec{
		Name: "base", ClockGHz: 2, Cores: 64, Core: OOO8(), Banks: 64, Interleave: 1, Mesh: &mesh,
		Private: mem.PrivateSpec{
			L1:        mem.CacheSpec{ArraySpec: mem.ArraySpec{Bytes: 32 << 10, Ways: 8, Policy: mem.BRRIP, NearShare: 0.03}, Latency: 2, MSHRs: 16, Prefetcher: "bingo"},
			L2:        mem.CacheSpec{ArraySpec: mem.ArraySpec{Bytes: 256 << 10, Ways: 16, Policy: mem.BRRIP, NearShare: 0.03}, Latency: 16, MSHRs: 16, Prefetcher: "stride"},
			HitReturn: 1, MissReturn: 2, Release: 1,
		},
		TLB: &mem.TLBSpec{PageBytes: 2 << 20, L1Entries: 64, L1Ways: 8, L2Entries: 2048, L2Ways: 16, L2Latency: 8, Walk: 16, Walkers: 2},
		Home: mem.HomeSpec{ArraySpec: mem.ArraySpec{Bytes: 1 << 20, Ways: 16, Policy: mem.BRRIP, NearShare: 0.03}, Latency: 20, Return: 1, MissReturn: 1,
			MSHRs: 128, Period: 1},
		Memory: Memory{DRAM: &d, Controllers: []int{0, 7, 56, 63}, Interleave: 1},
	}
}

// OOO8 is the wide core of the papers.
func OOO8() core.Spec {
	return core.Spec{
		Name: "ooo8", Fetch: 8, Dispatch: 8, Issue: 8, Commit: 8, FrontEnd: 5, Buffer: 64, Redirect: 4, Predictor: "hashed-perceptron",
		ROB: 224, IQ: 64, LQ: 72, SQ: 56, Registers: 348, LoadPorts: 2, StorePorts: 2, StoresInFlight: 56, LoadSelect: "age",
		HitUse: 4, FillUse: 4, Forward: 4,
		Units: units(8, 4, 4, 4),
	}
}

// OOO4 is the narrow out-of-order core of Near-Stream Computing.
func OOO4() core.Spec {
	s := OOO8()
	s.Name, s.Fetch, s.Dispatch, s.Issue, s.Commit, s.Buffer = "ooo4", 4, 4, 4, 4, 32
	s.ROB, s.IQ, s.LQ, s.SQ, s.Registers, s.StoresInFlight = 96, 24, 24, 24, 256, 24
	s.Units = units(4, 2, 2, 2)
	return s
}

// IO4 is the in-order core of Near-Stream Computing.
func IO4() core.Spec {
	s := OOO4()
	s.Name, s.InOrder = "io4", true
	// 4 loads and stores together in its queue; a window as far as its buffers reach.
	s.ROB, s.IQ, s.LQ, s.SQ, s.Registers, s.StoresInFlight = 32, 10, 4, 10, 0, 10
	return s
}

// units are those of Table V: integer and SIMD, multiplication and division,
// floating point (4 cycles, as table 2 of Infinity Stream says), its division.
func units(alu, mul, fp, div int) []core.Unit {
	return []core.Unit{
		{Name: "alu", Count: alu, Runs: []core.Run{{Kind: "alu", Latency: 1}, {Kind: "shuffle", Latency: 1}, {Kind: "branch", Width: "scalar", Latency: 1}}},
		{Name: "mul", Count: mul, Runs: []core.Run{{Kind: "mul", Latency: 3}, {Kind: "div", Latency: 12, Interval: 12}}},
		{Name: "fp", Count: fp, Runs: []core.Run{{Kind: "fpadd", Latency: 4}, {Kind: "fpmul", Latency: 4}, {Kind: "fma", Latency: 4}}},
		{Name: "fpdiv", Count: div, Runs: []core.Run{{Kind: "fpdiv", Latency: 12, Interval: 12}}},
	}
}
