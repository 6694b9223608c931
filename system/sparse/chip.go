package sparse

import (
	"context"
	"fmt"
	"math"

	"github.com/bitsched/bitsched/system/sparse/matrix"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/noc"
)

// ChipConfig says how a kernel is executed on an SRAM chip: the same partitioning,
// steps, programs and checks on the chip of package tile.
type ChipConfig struct {
	Machine  *tile.Machine // nil: the default one
	Type     Type
	Seed     uint64
	Check    bool
	Instr    int    // each Instr-th SPU is also interpreted
	Coalesce int    // pairs of a packet, 1 to 8
	Apply    string // where PageRank's step 6 is: [ApplySPU] or [ApplyBits]; "": by SPUs
	Progress func(iteration int, step string)
}

// ChipResult is a result on an SRAM chip. Its link cycles are those of the chip.
type ChipResult struct {
	*Result
	Target     string  `json:"target"`
	Resident   bool    `json:"resident"` // the matrix stays in the arrays
	DRAMBytes  int64   `json:"dram_bytes_per_iteration"`
	DRAMMillis float64 `json:"dram_ms"` // of an iteration
	Packets    int64   `json:"packets"`
	PairsIn    int64   `json:"pairs_injected"` // into the mesh
	PairsOut   int64   `json:"pairs_ejected"`
	FlitHops   uint64  `json:"byte_hops"`
	Apply      string  `json:"apply"`             // where step 6 was
	ApplySPU   int64   `json:"apply_spu_cycles"`  // of PageRank, by SPUs
	ApplyBits  int64   `json:"apply_bits_cycles"` // and in bitlines
}

// Facts of the chip that its description does not have.
const (
	chipSPUArrays = 2         // arrays that share an SPU
	chipBytes     = 128 << 20 // of the arrays that hold matrices
	chipChannels  = 16
	chipLaunch    = 64 // cycles of starting a step and of its barrier: twice across the mesh [assumption]
	chipWaiting   = 64 // packets of a bank that have not arrived before its SPUs wait [assumption]
)

// chip moves pairs between the banks of an SRAM chip: from SPUs along the H-tree of
// their bank, 8 a cycle, and in packets through the mesh.
type chip struct {
	r        *runner
	mesh     *noc.Network
	cfg      noc.Config
	coalesce int
	buffer   int32
	levels   int64
	width    int // pairs that an H-tree carries a cycle
	gathered [][]packet
	open     []mask // of what each bank gathers: where it goes
	flying   map[uint64]packet
	tag      uint64
	away     []int
	stalled  bool
	now      int64
	done     []int64 // when the core of a tile has reduced what came
	latest   int64
	packets  int64
	in, out  int64
	heaps    [][]spuAt
	bits     *bitApply // of PageRank
	inBits   bool      // step 6 is in the bitlines
}

type packet struct {
	pairs []flit
	down  bool
}

// spuAt is an SPU with a pair, and when it has it.
type spuAt struct {
	at int64
	s  int
}

// RunChip executes an application on an SRAM chip.
func RunChip(ctx context.Context, app string, m *matrix.Matrix, o AppOptions, c ChipConfig) (*ChipResult, error) {
	mach := c.Machine
	if mach == nil {
		mach = tile.Default()
	}
	if c.Coalesce < 1 || c.Coalesce > 8 {
		return nil, fmt.Errorf("packets of %d pairs, expected 1 to 8", c.Coalesce)
	}
	switch c.Apply {
	case "", ApplySPU, ApplyBits:
	default:
		return nil, fmt.Errorf("step 6 in %q, expected %s or %s", c.Apply, ApplySPU, ApplyBits)
	}
	if c.Apply == ApplyBits && app != "pagerank" {
		return nil, fmt.Errorf("step 6 of %s in bitlines, expected pagerank, which applies all outputs", app)
	}
	a, err := LookupApp(app)
	if err != nil {
		return nil, err
	}
	if m, err = prepare(app, m, o); err != nil {
		return nil, err
	}
	name, err := a.ring(o, c.Type)
	if err != nil {
		return nil, err
	}
	ring, _ := LookupSemiring(name)
	spus := mach.ArraysPerBank() / chipSPUArrays
	mhz := mach.ClockGHz * 1000
	stack := Default()
	stack.Name = mach.Name
	stack.Organisation = Organisation{Layers: 1, Vaults: mach.Banks(), Banks: mach.Banks(), Subarrays: 2 * (spus + 1), RowBytes: mach.Array.Cols / 8, RowsPerSubarray: 1 << 20}
	stack.Clocks = Clocks{SPU: mhz, Link: mhz, RowCycle: 1000 / mhz}
	if mach.Banks() > 64 || spus > maxPairs {
		return nil, fmt.Errorf("chip of %d banks with %d SPUs each, expected at most 64 and %d", mach.Banks(), spus, maxPairs)
	}
	v, err := LookupVariant("v3")
	if err != nil {
		return nil, err
	}
	cfg := Config{Machine: stack, Variant: v, Type: c.Type, Long: -1, Seed: c.Seed, Threads: 1, Check: c.Check, Instr: c.Instr, Progress: c.Progress}
	p, err := Place(m, stack, PlaceOptions{Long: -1, Deal: "same-bank", Balance: "count", Seed: c.Seed})
	if err != nil {
		return nil, err
	}
	r := newRunnerOn(ctx, p, ring, cfg)
	for d := range r.time.hit { // there is no one-hot position to shift
		r.time.hit[d], r.time.miss[d] = 0, r.time.row
	}
	net := mach.NoCConfig()
	mesh, err := noc.New(net)
	if err != nil {
		return nil, err
	}
	banks := mach.Banks()
	ch := &chip{r: r, mesh: mesh, cfg: net, coalesce: c.Coalesce, buffer: int32(64 << 10 / 8), levels: int64(mach.HTree.Levels), width: max(1, mach.HTree.BandwidthBytes/8),
		gathered: make([][]packet, banks), open: make([]mask, banks), flying: map[uint64]packet{}, away: make([]int, banks), done: make([]int64, banks), heaps: make([][]spuAt, banks)}
	for b := range banks {
		ch.gathered[b] = make([]packet, 2*banks)
	}
	r.chip = ch
	if app == "pagerank" {
		if ch.bits, err = newBitApply(ctx, mach, ring); err != nil {
			return nil, err
		}
		ch.inBits = c.Apply == ApplyBits
	}
	bytes := 8 * (int64(m.Cols) + m.NNZ())
	out := &ChipResult{Target: "sram", Resident: bytes <= chipBytes}
	if !out.Resident {
		out.DRAMBytes = bytes
		out.DRAMMillis = float64(bytes) / (chipChannels * mach.DRAM.BandwidthGBs * 1e9) * 1e3
	}
	mesh.OnDelivery = ch.deliver
	res, err := runOn(a, m, o, cfg, r, nil)
	if err != nil {
		return nil, err
	}
	if ch.in != ch.out {
		return nil, fmt.Errorf("%w: %d pairs left the mesh of %d that entered", ErrCheck, ch.out, ch.in)
	}
	// An iteration takes as long as its cycles, or as the matrix takes to come.
	if !out.Resident {
		res.Seconds = 0
		for i := range res.Iterations {
			res.Seconds += max(float64(res.Iterations[i].Cycles())/(mhz*1e6), out.DRAMMillis/1e3)
		}
	}
	out.Result, out.Packets, out.PairsIn, out.PairsOut, out.FlitHops = res, ch.packets, ch.in, ch.out, mesh.ByteHops()
	out.Apply = ApplySPU
	if ch.bits != nil {
		out.ApplySPU, out.ApplyBits = ch.bits.spuCycles, ch.bits.cycles
		if ch.inBits {
			out.Apply = ApplyBits
		}
	}
	return out, nil
}

// deliver stores the pairs of a packet.
func (ch *chip) deliver(d noc.Delivery) {
	p := ch.flying[d.Tag]
	delete(ch.flying, d.Tag)
	ch.away[d.Src]--
	ch.out += int64(len(p.pairs))
	at := d.At - ch.now
	for _, f := range p.pairs {
		if p.down {
			ch.done[d.Dst] = max(at, ch.done[d.Dst]) + 1
			ch.latest = max(ch.latest, ch.done[d.Dst])
			ch.r.down(f)
			continue
		}
		ch.store(d.Dst, f, at)
	}
}

// store puts a pair into the buffer of a bank's stream engine.
func (ch *chip) store(bank int, f flit, at int64) {
	st := &ch.r.net.stations[bank].store
	st.pairs = append(st.pairs, f.pair)
	ch.latest = max(ch.latest, at+1)
}

// run moves pairs until SPUs have sent all, or a buffer is full; as network.run.
func (ch *chip) run(from *spuSet, next senders) (end int64, full bool) {
	r := ch.r
	ch.now, ch.latest, ch.stalled = ch.mesh.Now(), 0, false
	clear(ch.done)
	for b := range ch.heaps {
		ch.heaps[b] = ch.heaps[b][:0]
	}
	from.each(func(s int) {
		u := &r.spus[s]
		if u.state&stPending != 0 {
			r.ports[s].flit = r.ports[s].from(0)
		} else {
			ch.resume(next, s, 0)
		}
		if u.state&stPending != 0 {
			ch.push(s/r.pairs, spuAt{r.ports[s].ready(), s})
		}
	})
	for t := int64(0); ; t++ {
		waits := false
		soon := int64(math.MaxInt64)
		for b := range ch.heaps {
			for k := 0; k < ch.width && len(ch.heaps[b]) > 0 && !ch.stalled; k++ {
				e := ch.heaps[b][0]
				if e.at > t {
					soon = min(soon, e.at)
					break
				}
				u := &r.spus[e.s]
				if ch.away[b] >= chipWaiting && r.ports[e.s].way != wayBank {
					soon = t + 1
					break
				}
				if !ch.enter(b, e.s, t) {
					ch.stalled = true
					break
				}
				ch.pop(b)
				u.state &^= stPending
				if ch.resume(next, e.s, r.spuAfter(t+1)); u.state&stPending != 0 {
					ch.push(b, spuAt{max(r.ports[e.s].ready(), t+1), e.s})
				}
				soon = t + 1
			}
			waits = waits || len(ch.heaps[b]) > 0
		}
		if !waits || ch.stalled {
			// What has not filled a packet goes at the end of a step, or of a round.
			for b := range ch.heaps {
				ch.open[b].each(func(to int) { ch.flush(b, to, t) })
			}
			for !ch.mesh.Idle() {
				ch.mesh.AdvanceTo(ch.mesh.NextEvent())
			}
			ch.latest = max(ch.latest, t)
			return ch.latest + ch.levels, ch.stalled
		}
		if soon > t+1 && soon != math.MaxInt64 {
			t = soon - 1
		}
		ch.mesh.AdvanceTo(ch.now + t + 1)
	}
}

func (ch *chip) resume(next senders, s int, free int64) {
	ok := next(s, free)
	if sh := ch.r.shadow; sh != nil {
		sh.resume(s, free, ok)
	}
}

// enter takes a pair off an SPU's port; false if the buffer that it goes to is full.
func (ch *chip) enter(b, s int, t int64) bool {
	banks := ch.r.banks
	f := ch.r.ports[s]
	to := f.bank()
	if f.way == wayLogic {
		to = banks + int(f.idx())%banks
	} else {
		if ch.r.net.reserved[to] >= ch.buffer {
			return false
		}
		ch.r.net.reserved[to]++
	}
	ch.r.counters.LineHops += ch.levels
	if to == b {
		ch.store(b, f.flit, t+ch.levels)
		return true
	}
	p := &ch.gathered[b][to]
	p.pairs = append(p.pairs, f.flit)
	ch.open[b][to/64] |= 1 << (to % 64)
	if len(p.pairs) == ch.coalesce {
		ch.flush(b, to, t)
	}
	return true
}

// flush sends the packet that a bank has gathered for another, or for its core.
func (ch *chip) flush(b, to int, t int64) {
	p := ch.gathered[b][to]
	if len(p.pairs) == 0 {
		return
	}
	ch.gathered[b][to] = packet{}
	ch.open[b][to/64] &^= 1 << (to % 64)
	dst := to % ch.r.banks
	p.down = to >= ch.r.banks
	ch.in += int64(len(p.pairs))
	if dst == b { // down to the core of the own tile
		ch.out += int64(len(p.pairs))
		for _, f := range p.pairs {
			ch.done[b] = max(t+ch.levels, ch.done[b]) + 1
			ch.latest = max(ch.latest, ch.done[b])
			ch.r.down(f)
		}
		return
	}
	ch.tag++
	ch.packets++
	ch.away[b]++
	ch.flying[ch.tag] = p
	if err := ch.mesh.Inject(noc.Packet{Src: b, Dst: dst, Flits: ch.cfg.Flits(8 * len(p.pairs)), Tag: ch.tag}); err != nil {
		panic(fmt.Sprintf("sparse: a packet of %d pairs from %d to %d: %v", len(p.pairs), b, dst, err)) // sizes are checked
	}
}

// push and pop keep a heap by time and SPU.
func (ch *chip) push(b int, e spuAt) {
	h := append(ch.heaps[b], e)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !before(h[i], h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	ch.heaps[b] = h
}

func before(a, b spuAt) bool { return a.at < b.at || a.at == b.at && a.s < b.s }

func (ch *chip) pop(b int) {
	h := ch.heaps[b]
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && before(h[c+1], h[c]) {
			c++
		}
		if !before(h[c], h[i]) {
			break
		}
		h[c], h[i] = h[i], h[c]
		i = c
	}
	ch.heaps[b] = h
}

// broadcast is the cycles of a multicast of k pairs to all SPUs.
func (ch *chip) broadcast(k int) int64 {
	if k == 0 {
		return 0
	}
	across := int64(ch.cfg.Width+ch.cfg.Height-2) * int64(ch.cfg.RouterCycles+ch.cfg.LinkCycles)
	flits := int64(ch.cfg.Flits(8*ch.coalesce)) * int64((k+ch.coalesce-1)/ch.coalesce)
	return across + flits + ch.levels
}
