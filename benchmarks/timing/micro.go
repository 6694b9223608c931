package timing

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tile/mem/dram"
	"github.com/bitsched/bitsched/tile/uop"
)

// Micro is a microbenchmark of a machine.
type Micro struct {
	Name string
	Text string // what it measures, and its unit
	Unit string
	// Footprint tells whether it goes over as many bytes as it is told.
	Footprint bool
	// threads makes what the first n cores execute over so many bytes.
	threads func(n int, bytes uint64) []uop.Thread
	value   func(r *MicroResult) float64
}

// Micros are all microbenchmarks.
func Micros() []Micro {
	return []Micro{
		{"stream", "c[i] = a[i] + b[i] in vectors of 64 bytes, from cold caches: bytes a cycle that all cores read and write", "B/cycle", true, streamThreads(1),
			func(r *MicroResult) float64 { return float64(r.Work) * 3 * lineBytes / float64(r.Cycles) }},
		{"stream-again", "the same ten times over the same arrays", "B/cycle", true, streamThreads(10),
			func(r *MicroResult) float64 { return float64(r.Work) * 3 * lineBytes / float64(r.Cycles) }},
		{"chase", "loads one after another through all lines, on each core its own: cycles a load", "cycles", true, chaseThreads,
			func(r *MicroResult) float64 { return float64(r.Cycles) / float64(r.Work/uint64(r.Threads)) }},
		{"false-sharing", "stores of each core to a word of its own in one line: cycles a store of a core", "cycles", false, sharedThreads(8),
			func(r *MicroResult) float64 { return float64(r.Cycles) / float64(r.Work/uint64(r.Threads)) }},
		{"padded", "the same, each core in a line of its own: cycles a store", "cycles", false, sharedThreads(lineBytes),
			func(r *MicroResult) float64 { return float64(r.Cycles) / float64(r.Work/uint64(r.Threads)) }},
		{"barrier", "barriers that reverse their sense, by an atomic counter: cycles a barrier", "cycles", false, barrierThreads,
			func(r *MicroResult) float64 { return float64(r.Cycles) / barriers }},
	}
}

// MicroResult is what a microbenchmark has found.
type MicroResult struct {
	Micro      string  `json:"micro"`
	Threads    int     `json:"threads"`
	Bytes      uint64  `json:"bytes"`
	Cycles     int64   `json:"cycles"`
	Work       uint64  `json:"work"` // elements, loads or stores of all threads
	MicroOps   uint64  `json:"micro_ops"`
	Value      float64 `json:"value"`
	Unit       string  `json:"unit"`
	L1Misses   uint64  `json:"l1_misses"`
	L2Misses   uint64  `json:"l2_misses"`
	L3Misses   uint64  `json:"l3_misses"`
	DRAMReads  uint64  `json:"dram_reads"`
	DRAMWrites uint64  `json:"dram_writes"`
	RowHits    float64 `json:"row_hit_rate"`
	FlitHops   uint64  `json:"flit_hops"`
}

// Run executes a microbenchmark on the first n cores of a machine, over so many bytes
// in all.
func (b *Micro) Run(ctx context.Context, spec *machine.Spec, n int, bytes uint64) (*MicroResult, error) {
	if n < 1 || n > spec.Cores {
		return nil, fmt.Errorf("timing: %d threads, expected 1 to %d", n, spec.Cores)
	}
	if bytes < uint64(n)*16*lineBytes || bytes > 1<<32 {
		return nil, fmt.Errorf("timing: %d bytes for %d threads, expected %d to %d", bytes, n, n*16*lineBytes, uint64(1)<<32)
	}
	m, err := machine.New(spec)
	if err != nil {
		return nil, err
	}
	threads := b.threads(n, bytes)
	if err := m.Run(ctx, threads...); err != nil {
		return nil, err
	}
	r := &MicroResult{Micro: b.Name, Threads: n, Bytes: bytes, Unit: b.Unit}
	for i, t := range threads {
		c := &m.Cores[i].Counters
		r.Cycles = max(r.Cycles, int64(c.Cycles))
		r.MicroOps += c.Committed
		r.Work += t.(*loop).work
		p := &m.Caches[i].Counters
		r.L1Misses += p.L1.LoadMisses + p.L1.WriteMisses
		r.L2Misses += p.L2.LoadMisses + p.L2.WriteMisses
	}
	for _, h := range m.Homes {
		r.L3Misses += h.Counters.Misses
	}
	var all dram.Counters
	for _, d := range m.DDR {
		r.DRAMReads += d.Counters.Reads
		r.DRAMWrites += d.Counters.Writes
		for _, c := range d.Channels() {
			all.Reads += c.Reads
			all.ReadHits += c.ReadHits
		}
	}
	r.RowHits = all.ReadHitRate()
	if m.Mesh != nil {
		r.FlitHops = m.Mesh.Counters().FlitHops
	}
	r.Value = b.value(r)
	return r, nil
}

// loop is a thread that appends bodies until it is done.
type loop struct {
	b    *uop.Batch
	work uint64
	body func(t *loop) uop.Status
	got  func(t *loop, old []byte)
}

// Next implements uop.Thread.
func (t *loop) Next(b *uop.Batch, n int) (uop.Status, error) {
	for t.b = b; len(b.Ops) < n; {
		if s := t.body(t); s != uop.More {
			return s, nil
		}
	}
	return uop.More, nil
}

// Resolve implements uop.Thread.
func (t *loop) Resolve(old []byte) error {
	t.got(t, old)
	return nil
}

func (t *loop) add(op uop.Op, data []byte) {
	op.Lanes = max(1, op.Lanes)
	op.Data = uint32(len(t.b.Data))
	t.b.Data = append(t.b.Data, data...)
	t.b.Ops = append(t.b.Ops, op)
}

func word(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// Arrays begin neither in the same set of a cache nor in the same bank of DRAM, as
// regions that are 4 GB apart would: with BRRIP, which inserts most lines as the next
// to go, streams in one set throw each other's lines out, and in one bank they close
// each other's rows.
const (
	staggerB = (85 + 2560) * lineBytes
	staggerC = (170 + 5120) * lineBytes
)

// streamThreads share an addition of vectors out in contiguous parts, and execute it
// so many times. Memory is zero, so that all sums are.
func streamThreads(passes int) func(n int, bytes uint64) []uop.Thread {
	zeros := make([]byte, lineBytes)
	return func(n int, bytes uint64) (list []uop.Thread) {
		lines := bytes / 3 / lineBytes
		for k := range uint64(n) {
			first, end := lines*k/uint64(n), lines*(k+1)/uint64(n)
			at, left := first, passes
			list = append(list, &loop{body: func(t *loop) uop.Status {
				for u := 0; u < 4 && at < end; u++ {
					off, r, pc := at*lineBytes, uop.Reg(10+4*u), uint32(10*u)
					t.add(uop.Op{PC: pc, Kind: uop.Load, Lanes: 16, Dst: r, Src: [3]uop.Reg{1}, Size: 64, Addr: regionA + off}, zeros)
					t.add(uop.Op{PC: pc + 1, Kind: uop.Load, Lanes: 16, Dst: r + 1, Src: [3]uop.Reg{1}, Size: 64, Addr: regionB + staggerB + off}, zeros)
					t.add(uop.Op{PC: pc + 2, Kind: uop.FPAdd, Lanes: 16, Dst: r + 2, Src: [3]uop.Reg{r, r + 1}}, nil)
					t.add(uop.Op{PC: pc + 3, Kind: uop.Store, Lanes: 16, Src: [3]uop.Reg{r + 2, 1}, Size: 64, Addr: regionC + staggerC + off}, zeros)
					at++
					t.work++
				}
				t.add(uop.Op{PC: 50, Kind: uop.IntALU, Dst: 1, Src: [3]uop.Reg{1}}, nil)
				branch := uop.Op{PC: 51, Kind: uop.Branch, Flags: uop.Backward, Src: [3]uop.Reg{1}}
				if at == end {
					if left--; left > 0 {
						at = first
					}
				}
				if at == end {
					t.add(branch, nil)
					return uop.Done
				}
				branch.Flags |= uop.Taken
				t.add(branch, nil)
				return uop.More
			}})
		}
		return list
	}
}

// chaseLoads is how many loads a thread of chase executes at least, beside the pass
// that touches all lines.
const chaseLoads = 20_000

// chaseThreads go through their lines twice or more.
func chaseThreads(n int, bytes uint64) (list []uop.Thread) {
	lines := bytes / lineBytes / uint64(n)
	for k := range uint64(n) {
		t := &stream{k: &Kernel{Name: "chase", Bytes: lines * lineBytes}, state: k + 1}
		next := t.cycle(lines)
		at, left := uint32(0), max(chaseLoads, 2*lines)
		base := regionA + k*lines*lineBytes
		list = append(list, &loop{body: func(t *loop) uop.Status {
			t.add(uop.Op{PC: 1, Kind: uop.Load, Dst: 1, Src: [3]uop.Reg{1}, Size: 8, Addr: base + uint64(at)*lineBytes}, word(0))
			at = next[at]
			t.work++
			if left--; left == 0 {
				return uop.Done
			}
			return uop.More
		}})
	}
	return list
}

// sharedStores is how many stores each thread of false-sharing executes.
const sharedStores = 400

// sharedThreads store to words that are so many bytes apart.
func sharedThreads(apart uint64) func(n int, _ uint64) []uop.Thread {
	return func(n int, _ uint64) (list []uop.Thread) {
		for k := range uint64(n) {
			addr := regionA + k*apart
			// More than eight words do not fit a line: the others share further ones.
			done := uint64(0)
			list = append(list, &loop{body: func(t *loop) uop.Status {
				t.add(uop.Op{PC: 1, Kind: uop.Load, Flags: uop.Racy, Dst: 1, Size: 8, Addr: addr}, word(0))
				t.add(uop.Op{PC: 2, Kind: uop.IntALU, Dst: 1, Src: [3]uop.Reg{1}}, nil)
				t.add(uop.Op{PC: 3, Kind: uop.Store, Src: [3]uop.Reg{1}, Size: 8, Addr: addr}, word(done))
				t.work++
				if done++; done == sharedStores {
					return uop.Done
				}
				return uop.More
			}})
		}
		return list
	}
}

// barriers is how many barriers there are.
const barriers = 20

// barrierThreads meet at barriers: the last that adds to the counter resets it and
// turns the sense that the others load until it turns.
func barrierThreads(n int, _ uint64) (list []uop.Thread) {
	const counter, sense = regionA, regionA + lineBytes
	for range n {
		phase, spins, last := uint64(0), false, false
		list = append(list, &loop{
			body: func(t *loop) uop.Status {
				switch {
				case last:
					last = false
					t.add(uop.Op{PC: 4, Kind: uop.Store, Size: 8, Addr: counter}, word(0))
					t.add(uop.Op{PC: 5, Kind: uop.Store, Size: 8, Addr: sense}, word(phase))
					if phase == barriers {
						return uop.Done
					}
				case spins:
					t.add(uop.Op{PC: 3, Kind: uop.Load, Flags: uop.Blocking | uop.Racy, Dst: 1, Size: 8, Addr: sense}, word(0))
					return uop.Wait
				case phase == barriers:
					return uop.Done
				}
				phase++
				t.work++
				t.add(uop.Op{PC: 1, Kind: uop.Atomic, RMW: uop.Add, Flags: uop.Blocking, Dst: 1, Size: 8, Addr: counter}, word(1))
				return uop.Wait
			},
			got: func(t *loop, old []byte) {
				v := binary.LittleEndian.Uint64(old)
				if spins {
					spins = v < phase
					return
				}
				if last = v == uint64(n-1); !last {
					spins = true
				}
			},
		})
	}
	return list
}
