package multicore

import (
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

// Bound is what a part of the machine needs at the least for what it did in a run: no
// order of the same micro-ops, accesses and messages is faster.
type Bound struct {
	Name   string  `json:"name"`
	Of     string  `json:"of"`     // what was counted
	Cycles float64 `json:"cycles"` // of the busiest part of the kind
	Share  float64 `json:"share"`  // of the cycles of the run
}

// Bounds of the roofline of a machine. Each is the work of the busiest part by what the
// part does in a cycle.
func (r *runner) bounds(t *Report) []Bound {
	s := r.spec
	core := &s.Core
	var issue, units, ports, stores, second, l3, link, channel float64
	unit := "units"
	near, bank, far := r.idle()
	asked, missed := uint64(0), uint64(0)
	for _, h := range r.m.Homes {
		asked += h.Counters.Reads + h.Counters.Writes
		missed += h.Counters.Misses
	}
	memory := ratio(float64(missed), float64(asked))
	for i, c := range r.cores() {
		n := &c.Counters
		issue = max(issue, float64(n.Committed)/float64(min(core.Fetch, core.Dispatch, core.Issue, core.Commit)))
		for _, u := range core.Units {
			if u.Count == 0 {
				continue
			}
			busy := 0.0
			for _, run := range u.Runs {
				for k := range uop.NumKinds {
					if k.String() != run.Kind {
						continue
					}
					simd := n.SIMD[k]
					ops := n.Kinds[k]
					switch run.Width {
					case "simd":
						ops = simd
					case "scalar":
						ops -= simd
					}
					busy += float64(ops) * float64(max(1, run.Interval))
				}
			}
			if busy /= float64(u.Count); busy > units {
				units, unit = busy, "micro-ops of units "+u.Name
			}
		}
		p := &r.m.Caches[r.first+i].Counters
		ports = max(ports, float64(n.Kinds[uop.Load]+n.Kinds[uop.Gather])/float64(core.LoadPorts), float64(n.Kinds[uop.Store]+n.Kinds[uop.Scatter])/float64(core.StorePorts))
		// A miss register is busy from the miss to the answer of the L2, of the L3 or of
		// the memory at the least; those of lines that others have are taken as the L3's.
		wait := func(first, second uint64) float64 {
			return float64(first-min(first, second))*near + float64(second)*(1-memory)*bank + float64(second)*memory*far
		}
		second = max(second, (wait(p.L1.LoadMisses, p.L2.LoadMisses)+wait(p.L1.WriteMisses, p.L2.WriteMisses))/float64(s.Private.L1.MSHRs))
		if core.StoresInFlight == 1 {
			stores = max(stores, wait(p.L1.WriteMisses, p.L2.WriteMisses))
		}
	}
	for _, h := range r.m.Homes {
		l3 = max(l3, ratio(float64(h.Counters.Reads+h.Counters.Writes+h.Counters.GivenBack), float64(s.Home.Lookups)))
	}
	if r.m.Mesh != nil {
		for _, l := range r.m.Mesh.Links() {
			link = max(link, float64(l.Flits))
		}
	}
	if d := s.Memory.DRAM; d != nil {
		for _, c := range r.m.DDR {
			lines := c.Counters.Reads + c.Counters.Writes
			channel = max(channel, float64(lines*mem.LineBytes)/d.PeakGBs()*s.ClockGHz)
		}
	} else {
		for _, c := range r.m.Fixed {
			channel = max(channel, float64(c.Counters.Reads+c.Counters.Writes)*float64(s.Memory.Fixed.Bus))
		}
	}
	list := []Bound{
		{"issue width", "micro-ops of the busiest core", issue, 0},
		{"units", unit, units, 0},
		{"L1", "loads or stores of the busiest core, by ports", ports, 0},
		{"misses", "misses of the busiest L1, by latencies without load and its miss registers", second, 0},
		{"stores in order", "stores that miss the busiest L1, one after another, by latencies without load", stores, 0},
		{"L3", "requests to the busiest bank, by look-ups", l3, 0},
		{"NoC", "flits over the busiest link", link, 0},
		{"DRAM", "lines of the busiest controller, by its bus", channel, 0},
	}
	for i := range list {
		list[i].Share = ratio(list[i].Cycles, float64(t.Cycles))
	}
	return list
}

// idle returns the cycles of a miss of the L1 that the L2, the L3 and the memory answer, in
// a machine without other traffic, over ways of mean length.
func (r *runner) idle() (l2, l3, memory float64) {
	s := r.spec
	l2 = float64(s.Private.L2.Latency)
	hop := func(bytes int) float64 {
		if s.Mesh == nil {
			return 0
		}
		return s.Mesh.MeanLatency(s.Mesh.Flits(bytes))
	}
	l3 = l2 + hop(mem.ControlBytes) + float64(s.Home.Latency) + hop(mem.DataBytes)
	memory = l3 + hop(mem.ControlBytes) + hop(mem.DataBytes)
	if d := s.Memory.DRAM; d != nil {
		memory += float64(d.Timing.CL+d.Timing.Burst) * d.Timing.ClockNs * s.ClockGHz
	} else {
		memory += float64(s.Memory.Fixed.Latency)
	}
	return l2, l3, memory
}

// Nearest returns the bound that a run comes nearest to.
func (t *Report) Nearest() Bound {
	best := t.Bounds[0]
	for _, b := range t.Bounds {
		if b.Cycles > best.Cycles {
			best = b
		}
	}
	return best
}
