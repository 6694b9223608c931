package multicore

import (
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/se"
)

// Configuration is a way to run a program on a machine.
type Configuration struct {
	Name  string
	Doc   string
	level micro.StreamLevel
	// free promises that streams are not aliased, decouple lets loops vanish.
	free, decouple bool
	rival          micro.Rival
	strands        bool
}

// Base is the name of the configuration without streams.
const Base = "base"

// Configurations are those of Near-Stream Computing (section VI) that exist.
var Configurations = []Configuration{
	{Name: Base, Doc: "cores with caches and prefetchers"},
	{Name: "ns-core", Doc: "streams fetch lines into a FIFO of the core, in place of prefetchers", level: micro.Prefetch},
	{Name: "ns-no-comp", Doc: "streams read at the L3 and send their elements to the core", level: micro.Float},
	{Name: "inst", Doc: "each iteration of the core is computed at the bank where its operands meet; streams fetch the rest into the core's FIFO", level: micro.Compute, free: true, rival: micro.Meeting},
	{Name: "single", Doc: "functions of one line are computed at its bank and go on to the next line; streams fetch the rest into the core's FIFO", level: micro.Compute, free: true, decouple: true, rival: micro.Chained},
	{Name: "ns", Doc: "streams compute, reduce and write at the L3, and the core lets them commit", level: micro.Compute},
	{Name: "ns-no-sync", Doc: "the same without commits, as if all loops had #pragma s_sync_free", level: micro.Compute, free: true},
	{Name: "ns-decouple", Doc: "and loops of which nothing is left for the core vanish", level: micro.Compute, free: true, decouple: true},
	{Name: "near-l3", Doc: "ns-decouple, as Infinity Stream compares with: streams of loops that vanish are split into strands over banks, and lines that several read are sent by multicast", level: micro.Compute, free: true, decouple: true, strands: true},
}

// FindConfiguration returns the configuration of a name.
func FindConfiguration(name string) (*Configuration, error) {
	var names []string
	for i := range Configurations {
		if Configurations[i].Name == name {
			return &Configurations[i], nil
		}
		names = append(names, Configurations[i].Name)
	}
	return nil, fmt.Errorf("multicore: configuration %q, expected %s", name, strings.Join(names, ", "))
}

// StreamInterleave is the lines of the L3 that lie in a bank together where streams are
// offloaded: 1 kB (both papers' configurations of the authors' simulator; table V prints
// 64 B).
const StreamInterleave = 1024 / mem.LineBytes

// apply changes a machine to what a configuration says.
func (c *Configuration) apply(spec *machine.Spec, opt *Options) error {
	m := opt.Machine
	switch {
	case c.level == micro.NoStreams:
		return nil
	case opt.Sample != nil && opt.Inject != nil:
		return fmt.Errorf("multicore: samples with streams that are ended on purpose, expected one of them: what is injected follows the time")
	}
	if opt.Keeps == nil {
		spec.Private.L1.Prefetcher, spec.Private.L2.Prefetcher = "", ""
	}
	core := m.CoreVariant()
	if core.StreamLoadPorts > 0 {
		spec.Core.LoadPorts = core.StreamLoadPorts
	}
	if core.StreamStorePorts > 0 {
		spec.Core.StorePorts = core.StreamStorePorts
	}
	l3 := &m.Streams.L3
	spec.Streams = &se.Spec{
		Timeout: m.Streams.Core.TimeoutCycles, LockTimeout: m.Streams.Core.LockTimeoutCycles,
		Streams: m.Streams.Core.Streams, FIFO: m.CoreVariant().StreamFIFOBytes, Ranges: max(1, m.Streams.L2.Slices/l3.RangeIterations), Indirect: m.Streams.L2.IndirectSlices, Segments: m.Streams.L2.Segments, Init: l3.ComputeInitCycles, Width: m.CoreVariant().Units.IntALU.Count, Contexts: m.Streams.Core.SCCs, ContextROB: m.CoreVariant().SCCROB, Computations: m.CoreVariant().Computations, ScalarPE: l3.ScalarPE, Elementwise: !l3.Vectorize,
		Private: int64(m.L2.Bytes), First: int64(m.L1D.Bytes),
		Issue: l3.IssueWidth, Ahead: l3.Order == "ahead", Patience: l3.PatienceCycles, Queue: l3.QueueFlits, Requests: l3.Requests, Window: spec.Core.ROB, Broken: opt.Broken, SendRanges: l3.AffineRanges == "l3", MultiReader: l3.Locks == "multi-reader", Remember: l3.Migrate == "changed",
	}
	spec.Streams.Instant[se.MsgEnd], spec.Streams.Instant[se.MsgCredit], spec.Streams.Instant[se.MsgDone] = l3.InstantEnd, l3.InstantFlow, l3.InstantAck && c.strands
	spec.Streams.KeepOperands, spec.Streams.KeepPatterns = c.strands && l3.KeepOperands, c.strands && l3.KeepPatterns
	if c.strands && l3.Broadcast {
		width, longest := 1, 4*mem.LineBytes // of a mesh of one node, which sends nothing
		if spec.Mesh != nil {
			width, longest = spec.Mesh.Width, spec.Mesh.Depth*spec.Mesh.LinkBytes
		}
		s := spec.Streams
		s.Teams = make([]int32, mem.MaxCores)
		for core := range s.Teams {
			s.Teams[core] = int32(core/width/l3.Multicast*width + core%width/l3.Multicast)
		}
		s.Broadcast, s.Wait, s.Unit = true, l3.BroadcastWaitCycles, uint64(StreamInterleave*mem.LineBytes)
		s.Targets = func(bytes int) int { return se.TargetsOf(bytes, longest) }
	}
	spec.Streams.Room, spec.Streams.Sharing = c.room(m), l3.Sharing == "dynamic"
	tlb := *spec.TLB
	tlb.L1Entries, tlb.L1Ways = 1, 1 // that of the access before
	tlb.L2Entries, tlb.L2Ways, tlb.L2Latency = m.TLB.Streams.Entries, m.TLB.Streams.Ways, m.TLB.Streams.LatencyCycles
	if err := tlb.Validate(); err != nil {
		return err
	}
	spec.Streams.TLB = &tlb
	if opt.Inject != nil {
		inject := *opt.Inject
		inject.Seed = opt.Seed
		spec.Streams.Inject = &inject
	}
	if c.level != micro.Prefetch {
		spec.Interleave = StreamInterleave
	}
	return nil
}

// room is the bytes that a core has of the buffer of each bank; rivals have no such buffer.
func (c *Configuration) room(m *tile.Machine) int64 {
	if c.rival != micro.NoRival || m.Streams.L3.Sharing == "none" {
		return 0
	}
	return int64(m.Streams.L3.BufferBytes / m.Banks())
}

// streams are those of the program's loops in a configuration.
func (c *Configuration) streams(p *Program, m *tile.Machine, opt *Options) (*micro.Streams, error) {
	if c.level == micro.NoStreams {
		return nil, nil
	}
	plan, err := nearstream.Analyze(p.Graph)
	if err != nil {
		return nil, err
	}
	strands := 0
	if c.strands && m.Streams.L3.Strands {
		strands = m.Banks()
	}
	return &micro.Streams{Room: c.room(m), Strands: strands, Interleave: StreamInterleave * mem.LineBytes, Plan: plan, Level: c.level, Range: m.Streams.L3.RangeIterations, SyncFree: c.free, Decouple: c.decouple, Rival: c.rival, Adaptive: m.Streams.L3.RangePolicy == "adaptive", Ahead: m.Streams.L2.Slices, Banks: m.Banks(), Private: int64(m.L2.Bytes), History: m.Streams.Core.Offload != "always" && c.rival == micro.NoRival && c.level != micro.Prefetch, Rows: m.Streams.L3.AffineRanges == "l3", ComputeAlways: m.Streams.Core.Offload == "computation", Keep: opt.Keeps}, nil
}

// StreamReport is what streams did.
type StreamReport struct {
	Loops     []micro.StreamLoop `json:"loops"` // nil without streams
	Core      se.CoreCounters    `json:"core"`
	Bank      se.BankCounters    `json:"bank"`
	Ended     []Ending           `json:"ended"`
	Messages  []Class            `json:"messages"`
	Offloaded uint64             `json:"offloaded_byte_hops"` // of messages for streams
	Control   uint64             `json:"control_byte_hops"`   // coherence
	Data      uint64             `json:"data_byte_hops"`      // lines, and elements for the core
}

// Total is all traffic.
func (s *StreamReport) Total() uint64 { return s.Offloaded + s.Control + s.Data }

// streamReport sums up what the engines of all tiles did.
func (r *runner) streamReport() *StreamReport {
	s := &StreamReport{}
	t := r.m.Network
	for c := range mem.NumClasses {
		// Messages with a line are mostly the line.
		all, n := t.ByteHops[c], t.Messages[c]
		if n == 0 {
			continue
		}
		data := float64(t.Bytes[c]-mem.ControlBytes*n) / float64(t.Bytes[c])
		s.Data += uint64(float64(all) * data)
		s.Control += all - uint64(float64(all)*data)
	}
	s.Offloaded += r.tensorTraffic()
	if r.m.StreamCores == nil {
		return s
	}
	s.Loops = r.code.StreamLoops()
	for _, c := range r.m.StreamCores {
		s.Core.Add(&c.Counters)
	}
	for _, b := range r.m.StreamBanks {
		s.Bank.Add(&b.Counters)
	}
	for k := range se.NumReasons {
		s.Ended = append(s.Ended, Ending{k.String(), s.Core.Ended[k], endings[k]})
	}
	for k := range se.NumMessages {
		n := &r.m.StreamTraffic
		s.Messages = append(s.Messages, Class{Name: k.String(), Messages: n.Messages[k], Bytes: n.Bytes[k], ByteHops: n.ByteHops[k]})
		if k == se.MsgData {
			s.Data += n.ByteHops[k]
		} else {
			s.Offloaded += n.ByteHops[k]
		}
	}
	return s
}
