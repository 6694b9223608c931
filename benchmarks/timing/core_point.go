package timing

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tile/event"
)

// CorePoint is a measurement of cores and caches that the reference has.
type CorePoint struct {
	ID       string
	Core     string // one of CoreNames
	Prefetch string // one of PrefetchNames
	Memory   string // one of MemoryNames
	Kernel   Kernel
	Warm     int // micro-ops before those that are measured, those that touch lines included
	Instr    int // micro-ops that are measured
	Use      string

	Cycles     float64 // of the reference
	Mispredict float64
	L1Misses   float64
	MissLat    float64
}

// CoreResult is what the model measures at a point.
type CoreResult struct {
	Cycles       int64   `json:"cycles"`
	IPC          float64 `json:"ipc"`
	Loads        uint64  `json:"l1_loads"`
	LoadMisses   uint64  `json:"l1_load_misses"`
	WriteMisses  uint64  `json:"l1_write_misses"`
	Merged       uint64  `json:"l1_merged"`
	MissLatency  float64 `json:"l1_miss_latency_cycles"`
	L2Misses     uint64  `json:"l2_misses"`
	L3Misses     uint64  `json:"l3_misses"`
	MemoryReads  uint64  `json:"memory_reads"`
	MemoryWrites uint64  `json:"memory_writes"`
	Mispredicted uint64  `json:"mispredicted"`
	Prefetches   uint64  `json:"prefetches"`
}

// snapshot is the counters of a machine of one core.
type snapshot struct {
	now event.Time
	CoreResult
	missLatency, fills uint64
}

func counters(m *machine.Machine, now event.Time) (s snapshot) {
	p, h := &m.Caches[0].Counters, &m.Homes[0].Counters
	s.now = now
	s.Loads, s.LoadMisses, s.WriteMisses, s.Merged = p.L1.Loads, p.L1.LoadMisses, p.L1.WriteMisses, p.L1.Merged
	s.L2Misses, s.L3Misses = p.L2.LoadMisses+p.L2.WriteMisses, h.Misses
	s.Mispredicted = m.Cores[0].Counters.Mispredicted
	s.Prefetches = p.L1.Prefetches + p.L2.Prefetches
	s.missLatency, s.fills = p.L1.MissLatency, p.L1.Fills
	for _, f := range m.Fixed {
		s.MemoryReads += f.Counters.Reads
		s.MemoryWrites += f.Counters.Writes
	}
	for _, d := range m.DDR {
		s.MemoryReads += d.Counters.Reads
		s.MemoryWrites += d.Counters.Writes
	}
	return s
}

// Validate refuses what cannot be run.
func (p *CorePoint) Validate() error {
	if err := p.Kernel.Validate(); err != nil {
		return err
	}
	if p.Instr < 1 || p.Instr > 1<<30 || p.Warm < p.Kernel.Warm() || p.Warm > 1<<30 {
		return fmt.Errorf("timing: %d micro-ops after %d, expected at least one after at least the %d that touch the lines", p.Instr, p.Warm, p.Kernel.Warm())
	}
	s, err := Champsim(p.Core, p.Memory, p.Prefetch, p.Kernel.param("lat", 1))
	if err != nil {
		return err
	}
	return s.Validate()
}

// Run measures a valid point.
func (p *CorePoint) Run(ctx context.Context) (*CoreResult, error) {
	spec, err := Champsim(p.Core, p.Memory, p.Prefetch, p.Kernel.param("lat", 1))
	if err != nil {
		return nil, err
	}
	return p.RunOn(ctx, spec)
}

// RunOn measures the point on a machine of one core.
func (p *CorePoint) RunOn(ctx context.Context, spec *machine.Spec) (*CoreResult, error) {
	m, err := machine.New(spec)
	if err != nil {
		return nil, err
	}
	var begin, end snapshot
	// Memory answers at once until the measurement begins.
	m.Instant(true)
	m.Cores[0].After(uint64(p.Warm), func(now event.Time) {
		m.Instant(false)
		begin = counters(m, now)
		m.Cores[0].After(uint64(p.Instr), func(now event.Time) {
			end = counters(m, now)
			m.Engine.Stop()
		})
	})
	if err := m.Run(ctx, p.Kernel.Thread()); err != nil {
		return nil, err
	}
	r := end.CoreResult
	r.Cycles = end.now - begin.now
	r.IPC = float64(p.Instr) / float64(r.Cycles)
	r.Loads -= begin.Loads
	r.LoadMisses -= begin.LoadMisses
	r.WriteMisses -= begin.WriteMisses
	r.Merged -= begin.Merged
	r.L2Misses -= begin.L2Misses
	r.L3Misses -= begin.L3Misses
	r.MemoryReads -= begin.MemoryReads
	r.MemoryWrites -= begin.MemoryWrites
	r.Mispredicted -= begin.Mispredicted
	r.Prefetches -= begin.Prefetches
	if n := end.fills - begin.fills; n > 0 {
		r.MissLatency = float64(end.missLatency-begin.missLatency) / float64(n)
	}
	return &r, nil
}
