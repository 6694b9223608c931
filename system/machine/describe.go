package machine

import (
	"fmt"

	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/core"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/mem/dram"
)

// Cycles of the pipeline of a core around the L1 and of the ways between caches that
// descriptions do not have. They are those of the reference (benchmarks/timing): from
// the issue of a load to that of its user are the latency of the L1 and these; from
// the L2's answer to the L1; from a fill until the miss register is free.
const (
	loadPipeline = 3
	fillPipeline = 5
	hitReturn    = 1
	releaseMSHR  = 1
)

// Of returns the machine of a description: its cores, caches, mesh and memory. What
// is not of them, such as arrays and stream engines, is left out.
func Of(m *tile.Machine) (*Spec, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	nodes := m.Banks()
	mesh := m.NoCConfig()
	s := &Spec{Name: m.Name, ClockGHz: m.ClockGHz, Cores: nodes, Banks: nodes, Interleave: max(1, m.L3.InterleaveBytes/mem.LineBytes), Mesh: &mesh}
	if nodes == 1 {
		s.Mesh = nil
	}
	if m.L3.LineBytes != mem.LineBytes {
		return nil, fmt.Errorf("machine: lines of %d bytes, expected %d", m.L3.LineBytes, mem.LineBytes)
	}
	var err error
	if s.Core, err = coreOf(m); err != nil {
		return nil, err
	}
	if s.Private.L1, err = cacheOf("l1d", &m.L1D, m); err != nil {
		return nil, err
	}
	if s.Private.L2, err = cacheOf("l2", &m.L2, m); err != nil {
		return nil, err
	}
	c := m.CoreVariant()
	s.Private.L1.MSHRs = min(s.Private.L1.MSHRs, c.MaxRequests)
	s.Private.L1.Prefetcher, s.Private.L2.Prefetcher = prefetcher(m.Prefetch.L1), prefetcher(m.Prefetch.L2)
	s.Private.HitReturn, s.Private.MissReturn, s.Private.Release = hitReturn, 1+m.L2.FillCycles, releaseMSHR
	s.Core.HitUse = m.L1D.LatencyCycles + loadPipeline
	s.Core.FillUse = m.L1D.FillCycles + fillPipeline
	s.TLB = &mem.TLBSpec{PageBytes: m.Memory.PageBytes, L1Entries: m.TLB.L1.Entries, L1Ways: m.TLB.L1.Ways, L2Entries: m.TLB.L2.Entries, L2Ways: m.TLB.L2.Ways,
		L2Latency: m.TLB.L2.LatencyCycles, Walk: m.TLB.WalkCycles, Walkers: m.TLB.WalksAtATime}
	if m.Memory.Placement == "random-4k" {
		s.Pages = &Pages{Frames: uint64(m.Memory.Bytes / FrameBytes)}
		s.TLB.PageBytes = FrameBytes
	}
	policy, err := policyOf("l3", m.L3.Replacement)
	if err != nil {
		return nil, err
	}
	// What computes is no cache; a description without such ways is all cache.
	array := m.Array.Rows * m.Array.Cols / 8
	s.Home = mem.HomeSpec{
		ArraySpec: mem.ArraySpec{Bytes: m.L3.Ways * m.L3.ArraysPerWay * array, Ways: m.L3.Ways, Policy: policy, NearShare: m.Prefetch.BRRIP},
		Latency:   m.L3.LatencyCycles, Return: 1, MissReturn: 1 + m.L3.FillCycles, MSHRs: m.L3.MSHRs, Lookups: m.L3.TagsPerCycle,
	}
	s.Memory = memoryOf(m)
	return s, s.Validate()
}

func prefetcher(name string) string {
	switch name {
	case "none":
		return ""
	case "ip-stride":
		return "ip_stride"
	}
	return name
}

func policyOf(where, name string) (string, error) {
	switch name {
	case "lru":
		return mem.LRU, nil
	case "brrip":
		return mem.BRRIP, nil
	case "tree-plru":
		return mem.TreePLRU, nil
	}
	return "", fmt.Errorf("machine: %s.replacement %s, expected lru, brrip or tree-plru", where, name)
}

func cacheOf(where string, c *tile.Cache, m *tile.Machine) (mem.CacheSpec, error) {
	policy, err := policyOf(where, c.Replacement)
	b, t := &m.Prefetch.Bingo, &m.Prefetch.Stride
	bingo := mem.DefaultBingo()
	bingo.RegionLines, bingo.Filter, bingo.Accumulation = b.RegionBytes/mem.LineBytes, b.Filter, b.Accumulation
	bingo.Sets, bingo.Ways = max(1, b.Patterns/b.PatternWays), b.PatternWays
	stride := mem.DefaultStride()
	stride.Streams, stride.Train, stride.Ahead = t.Streams, t.Train, t.Distance
	return mem.CacheSpec{ArraySpec: mem.ArraySpec{Bytes: c.Bytes, Ways: c.Ways, Policy: policy, NearShare: m.Prefetch.BRRIP}, Latency: c.LatencyCycles, MSHRs: c.MSHRs,
		Lookups: c.TagsPerCycle, Bingo: &bingo, Stride: &stride}, err
}

var predictors = map[string]string{"tage": "tage", "gshare": "gshare", "perceptron": "hashed-perceptron", "perfect": "perfect"}

func coreOf(m *tile.Machine) (core.Spec, error) {
	c := m.CoreVariant()
	s := core.Spec{
		Name: m.Core, InOrder: c.Order == "in", Fetch: c.Width, Dispatch: c.Width, Issue: c.Width, Commit: c.Width,
		FrontEnd: c.FrontEndCycles, Buffer: 16 * c.Width, Redirect: c.RedirectCycles, Predictor: predictors[c.Predictor.Kind],
		ROB: c.ROB, IQ: c.IQ, LQ: c.LQ, SQ: c.SQ, LoadPorts: c.LoadPorts, StorePorts: c.StorePorts,
		StoresInFlight: min(c.StoresInFlight, c.SQ), StorePrefetch: c.StorePrefetch, LoadSelect: "age", Forward: m.L1D.LatencyCycles + c.ForwardCycles,
	}
	if !s.InOrder {
		// Renaming keeps a register for each of those of the instruction set.
		s.Registers = max(1, c.IntRegisters+c.FPRegisters-2*architectural)
	}
	u := &c.Units
	// Divisions share the units of multiplications.
	scalar := func(kind string, unit tile.Unit) core.Run { return run(kind, "scalar", unit) }
	simd := func(kind string, unit tile.Unit) core.Run { return run(kind, "simd", unit) }
	vector := c.FPSIMDUnit()
	s.Units = []core.Unit{
		{Name: "int_alu", Count: u.IntALU.Count, Runs: []core.Run{scalar("alu", u.IntALU), scalar("shuffle", u.IntALU), scalar("branch", u.IntALU)}},
		{Name: "int_mul", Count: u.IntMul.Count, Runs: []core.Run{scalar("mul", u.IntMul), scalar("div", u.IntDiv)}},
		{Name: "fp_alu", Count: u.FPALU.Count, Runs: []core.Run{scalar("fpadd", u.FPALU)}},
		{Name: "fp_mul", Count: u.FPMul.Count, Runs: []core.Run{scalar("fpmul", u.FPMul), scalar("fma", u.FPMul), scalar("fpdiv", u.FPDiv)}},
		{Name: "int_simd", Count: u.IntSIMD.Count, Runs: []core.Run{simd("alu", u.IntSIMD), simd("shuffle", u.IntSIMD), simd("mul", u.IntMul), simd("div", u.IntDiv)}},
		{Name: "fp_simd", Count: vector.Count, Runs: []core.Run{simd("fpadd", vector), simd("fpmul", vector), simd("fma", vector), simd("fpdiv", longer(vector, u.FPDiv))}},
	}
	return s, nil
}

// architectural registers of each file of x86 with AVX-512.
const architectural = 32

func run(kind, width string, u tile.Unit) core.Run {
	r := core.Run{Kind: kind, Width: width, Latency: u.Cycles}
	if !u.Pipelined {
		r.Interval = u.Cycles
	}
	return r
}

// longer is the one of two units that takes longer.
func longer(a, b tile.Unit) tile.Unit {
	if a.Cycles >= b.Cycles {
		return a
	}
	return b
}

func memoryOf(m *tile.Machine) Memory {
	d, t := &m.DRAM, &m.DRAM.Timing
	spec := &dram.Spec{
		Name: fmt.Sprintf("ddr4-%d", d.TransferMTs), Channels: 1, Ranks: d.Ranks, Groups: d.Groups, Banks: d.Banks, Rows: d.Rows, RowLines: d.RowLines, Mapping: d.Mapping,
		ReadQueue: d.ReadQueue, WriteQueue: d.WriteQueue, BankQueue: d.BankQueue, DrainAbove: d.DrainAbove, HitLimit: d.HitLimit,
		Timing: dram.Timing{ClockNs: t.ClockNs, CL: t.CL, CWL: t.CWL, RCD: t.RCD, RP: t.RP, RAS: t.RAS, RFC: t.RFC, REFI: t.REFI, RRDS: t.RRDS, RRDL: t.RRDL,
			WTRS: t.WTRS, WTRL: t.WTRL, FAW: t.FAW, WR: t.WR, RTP: t.RTP, CCDS: t.CCDS, CCDL: t.CCDL, RTRS: t.RTRS, Burst: t.Burst, Forward: t.Forward},
	}
	n := m.NoC.MemoryControllers
	if d.Reading == "total" {
		// All channels together have the bandwidth of one: each is that much narrower.
		spec.Timing.Burst *= n
		spec.Timing.CCDS, spec.Timing.CCDL = max(spec.Timing.CCDS, spec.Timing.Burst), max(spec.Timing.CCDL, spec.Timing.Burst)
	}
	mm := Memory{DRAM: spec, Interleave: max(1, d.InterleaveBytes/mem.LineBytes)}
	for i := range n {
		mm.Controllers = append(mm.Controllers, m.Controller(i))
	}
	return mm
}
