package multicore

import (
	"fmt"
	"time"

	"github.com/bitsched/bitsched/tile/core"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/mem/dram"
	"github.com/bitsched/bitsched/tile/stats"
	"github.com/bitsched/bitsched/tile/uop"
)

// Report is what a run took. Cycles are those of the cores' clock.
type Report struct {
	Machine  string  `json:"machine"`
	Core     string  `json:"core"`
	Cores    int     `json:"cores"`
	Threads  int     `json:"threads"`
	ClockGHz float64 `json:"clock_ghz"`
	Caches   string  `json:"caches"` // cold or warm
	Bytes    int64   `json:"bytes"`  // of all arrays
	Stopped  string  `json:"stopped,omitempty"`

	Cycles   int64   `json:"cycles"`    // until the last micro-op was committed
	Seconds  float64 `json:"seconds"`   // of the machine
	MicroOps uint64  `json:"micro_ops"` // committed, those of waiting threads included
	IPC      float64 `json:"ipc"`       // of a core that has a thread
	Kinds    []Count `json:"kinds"`

	// Time has the cycles of all cores that have a thread, by what they did.
	Time         []Part  `json:"time"`
	Full         []Part  `json:"full"` // cycles of dispatch at a full queue, as shares of the same
	Branches     uint64  `json:"branches"`
	Mispredicted uint64  `json:"mispredicted"`
	Imbalance    float64 `json:"imbalance"` // micro-ops of the busiest core by those of the mean one

	Levels  []Level `json:"levels"`
	Direct  uint64  `json:"direct"` // of the misses of the L3, lines that went from memory to arrays
	TLB     TLB     `json:"tlb"`
	Traffic []Class `json:"traffic"`
	Memory  DRAM    `json:"dram"`
	Bounds  []Bound `json:"bounds"`

	// Sample says what was simulated, nil if all was: shares, IPC and what follows are of
	// that, Cycles and MicroOps of all.
	Sample  *Sampled      `json:"sample,omitempty"`
	Streams *StreamReport `json:"streams"`
	Stages  []Stage       `json:"stages,omitempty"` // in the order of the program; none in samples

	Host Host `json:"host"`

	simd  [uop.NumKinds]uint64 // micro-ops of more than one lane
	stats *stats.Snapshot
}

// Count is how many there are of something.
type Count struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// Part is a part of a time.
type Part struct {
	Name   string  `json:"name"`
	Cycles uint64  `json:"cycles"`
	Share  float64 `json:"share"`
}

// Level is a level of caches, all of its kind together.
type Level struct {
	Name        string  `json:"name"`
	Accesses    uint64  `json:"accesses"`
	Misses      uint64  `json:"misses"`
	MPKI        float64 `json:"mpki"`         // misses in a thousand micro-ops
	MissLatency float64 `json:"miss_latency"` // cycles, mean
	Prefetches  uint64  `json:"prefetches"`
	Used        uint64  `json:"prefetches_used"`
}

// TLB is the translations of all cores.
type TLB struct {
	Accesses uint64 `json:"accesses"`
	Misses   uint64 `json:"misses"` // of the first TLB
	Walks    uint64 `json:"walks"`
}

// Class is the traffic of one class.
type Class struct {
	Name     string `json:"name"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	ByteHops uint64 `json:"byte_hops"` // bytes of whole flits times links between routers
}

// DRAM is what all controllers did.
type DRAM struct {
	Reads        uint64  `json:"reads"` // lines
	Writes       uint64  `json:"writes"`
	Bytes        uint64  `json:"bytes"`
	GBs          float64 `json:"gb_s"`      // 10^9 bytes a second
	PeakGBs      float64 `json:"peak_gb_s"` // of all controllers
	ReadHitRate  float64 `json:"read_row_hits"`
	WriteHitRate float64 `json:"write_row_hits"`
	ReadLatency  float64 `json:"read_latency"` // cycles at the controller, mean
}

// Host is what the simulation took here.
type Host struct {
	Seconds      float64 `json:"seconds"`
	MicroOpsRate float64 `json:"micro_ops_per_second"`
}

// ratio is a by b, 0 if there is no b.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// report sums up what the parts of the machine counted.
func (r *runner) report() *Report {
	m, opt := r.m, r.opt
	t := &Report{Streams: r.streamReport(), Machine: opt.Machine.Name, Core: opt.Machine.Core, Cores: r.spec.Cores, Threads: opt.Threads, ClockGHz: r.spec.ClockGHz, Caches: "cold", Bytes: r.p.Bytes()}
	if opt.Warm {
		t.Caches = "warm"
	}
	var all core.Counters
	busiest := uint64(0)
	for _, c := range r.cores() {
		n := c.Counters
		t.Cycles = max(t.Cycles, int64(n.Cycles))
		busiest = max(busiest, n.Committed)
		all.Add(&n)
	}
	t.Seconds = float64(t.Cycles) / t.ClockGHz / 1e9
	t.MicroOps, t.simd = all.Committed, all.SIMD
	total := uint64(t.Cycles) * uint64(opt.Threads)
	t.IPC = ratio(float64(t.MicroOps), float64(total))
	t.Imbalance = ratio(float64(busiest)*float64(opt.Threads), float64(t.MicroOps))
	for k, n := range all.Kinds {
		if n > 0 {
			t.Kinds = append(t.Kinds, Count{uop.Kind(k).String(), n})
		}
	}
	share := func(n uint64) float64 { return ratio(float64(n), float64(total)) }
	stalls := all.StallEmpty + all.StallBranch + all.StallSync + all.StallLoad + all.StallStore + all.StallUnit
	// A core that has ended before the last one counts as idle; its own count of that
	// goes on until something wakes it, and is not used.
	ran := uint64(0)
	for _, c := range r.cores() {
		ran += c.Counters.Cycles
	}
	busy := ran - min(ran, stalls)
	for _, p := range []struct {
		name string
		n    uint64
	}{{"committing", busy}, {"memory", all.StallLoad}, {"synchronisation", all.StallSync}, {"stores", all.StallStore}, {"operands and units", all.StallUnit},
		{"mispredicted branches", all.StallBranch}, {"front end", all.StallEmpty}, {"idle", total - min(total, ran)}} {
		t.Time = append(t.Time, Part{p.name, p.n, share(p.n)})
	}
	t.Full = []Part{{"ROB", all.FullROB, share(all.FullROB)}, {"LQ", all.FullLQ, share(all.FullLQ)}, {"SQ", all.FullSQ, share(all.FullSQ)}}
	t.Branches, t.Mispredicted = all.Branches, all.Mispredicted
	r.caches(t)
	for k := range mem.NumClasses {
		t.Traffic = append(t.Traffic, Class{k.String(), m.Network.Messages[k], m.Network.Bytes[k], m.Network.ByteHops[k]})
	}
	r.memory(t)
	t.Bounds = r.bounds(t)
	t.Stages = r.stageReport(t)
	if t.Sample = r.sampler.report(t.Cycles); t.Sample != nil {
		t.Cycles = r.sampler.cycles(t.Cycles)
		t.Seconds = float64(t.Cycles) / t.ClockGHz / 1e9
		t.MicroOps += t.Sample.Forwarded
	}
	t.Host.Seconds = time.Since(r.start).Seconds()
	t.Host.MicroOpsRate = ratio(float64(t.MicroOps), t.Host.Seconds)
	t.stats = r.snapshot()
	return t
}

func (r *runner) caches(t *Report) {
	kilo := float64(t.MicroOps) / 1000
	l1, l2, l3 := Level{Name: "L1"}, Level{Name: "L2"}, Level{Name: "L3"}
	var wait [3]uint64
	for i, c := range r.m.Caches[r.first : r.first+r.opt.Threads] {
		for k, x := range []struct {
			level *Level
			n     *mem.LevelCounters
		}{{&l1, &c.Counters.L1}, {&l2, &c.Counters.L2}} {
			x.level.Accesses += x.n.Loads + x.n.Writes
			x.level.Misses += x.n.LoadMisses + x.n.WriteMisses
			x.level.Prefetches += x.n.Prefetches
			x.level.Used += x.n.PrefetchesUsed
			wait[k] += x.n.MissLatency
		}
		if i += r.first; i < len(r.m.TLBs) {
			n := &r.m.TLBs[i].Counters
			t.TLB.Accesses += n.Accesses
			t.TLB.Misses += n.L1Misses
			t.TLB.Walks += n.L2Misses
		}
	}
	for _, h := range r.m.Homes {
		l3.Accesses += h.Counters.Reads + h.Counters.Writes
		l3.Misses += h.Counters.Misses
		wait[2] += h.Counters.MissLatency
		t.Direct += h.Counters.Direct
	}
	t.Levels = []Level{l1, l2, l3}
	for k := range t.Levels {
		l := &t.Levels[k]
		filled := l.Misses
		if k == 2 {
			filled -= t.Direct
		}
		l.MPKI, l.MissLatency = ratio(float64(l.Misses), kilo), ratio(float64(wait[k]), float64(filled))
	}
}

func (r *runner) memory(t *Report) {
	var latency uint64
	var all dram.Counters
	for _, d := range r.m.DDR {
		t.Memory.Reads += d.Counters.Reads
		t.Memory.Writes += d.Counters.Writes
		latency += d.Counters.Latency
		for _, c := range d.Channels() {
			all.Reads += c.Reads
			all.ReadHits += c.ReadHits
			all.Writes += c.Writes
			all.WriteHits += c.WriteHits
		}
	}
	if s := r.spec.Memory.DRAM; s != nil {
		t.Memory.PeakGBs = s.PeakGBs() * float64(len(r.m.DDR))
	}
	for _, d := range r.m.Fixed {
		t.Memory.Reads += d.Counters.Reads
		t.Memory.Writes += d.Counters.Writes
		latency += d.Counters.Latency
	}
	t.Memory.Bytes = (t.Memory.Reads + t.Memory.Writes) * mem.LineBytes
	t.Memory.GBs = ratio(float64(t.Memory.Bytes)/1e9, t.Seconds)
	t.Memory.ReadHitRate, t.Memory.WriteHitRate = all.ReadHitRate(), all.WriteHitRate()
	t.Memory.ReadLatency = ratio(float64(latency), float64(t.Memory.Reads))
}

// snapshot has the counters of all parts.
func (r *runner) snapshot() *stats.Snapshot {
	all := stats.New()
	m := r.m
	for i := r.first; i < r.first+r.opt.Threads; i++ {
		all.Register(fmt.Sprintf("system.cores[%d]", i), &m.Cores[i].Counters)
		all.Register(fmt.Sprintf("system.caches[%d]", i), &m.Caches[i].Counters)
		if i < len(m.TLBs) {
			all.Register(fmt.Sprintf("system.tlbs[%d]", i), &m.TLBs[i].Counters)
		}
	}
	for i, h := range m.Homes {
		all.Register(fmt.Sprintf("system.homes[%d]", i), &h.Counters)
	}
	for i, d := range m.DDR {
		all.Register(fmt.Sprintf("system.controllers[%d]", i), &d.Counters)
		for k, c := range d.Channels() {
			all.Register(fmt.Sprintf("system.controllers[%d].channels[%d]", i, k), &c)
		}
	}
	for i, d := range m.Fixed {
		all.Register(fmt.Sprintf("system.controllers[%d]", i), &d.Counters)
	}
	all.Register("system.network", m.Network)
	if m.Mesh != nil {
		n := m.Mesh.Counters()
		all.Register("system.mesh", &n)
	}
	return all.Snapshot(m.Engine.Now())
}

// Stats returns all counters.
func (t *Report) Stats() *stats.Snapshot { return t.stats }
