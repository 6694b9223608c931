package sparse

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// ErrCheck is wrapped by the error of a check that failed: a result that differs
// from the reference, or an invariant that does not hold.
var ErrCheck = errors.New("sparse: check failed")

// Variant is one of the versions of table 4.
type Variant struct {
	Name      string `json:"name"`
	Rows      bool   `json:"rows"`      // processes rows
	Long      bool   `json:"long"`      // partitions long columns
	Replicate bool   `json:"replicate"` // long outputs in each SPU
	AllDown   bool   `json:"all_down"`  // all inputs and outputs in the logic layer
	Bank      bool   `json:"bank"`      // a core for each bank, see [Machine.BankLevel]
	Text      string `json:"text"`
}

// Variants returns the versions of table 4 in its order.
func Variants() []Variant {
	return []Variant{
		{Name: "v0", Rows: true, Text: "rows, frontier broadcast, sequential index matching"},
		{Name: "v1", Text: "columns, dispatching"},
		{Name: "hypo", Long: true, AllDown: true, Text: "columns, hybrid partitioning, all inputs and outputs in the logic layer (not buildable)"},
		{Name: "v2", Long: true, Text: "columns, dispatching, hybrid partitioning"},
		{Name: "v3", Long: true, Replicate: true, Text: "v2 with long outputs replicated in each SPU"},
	}
}

// bankLevel is no version of the paper's: what its steps take on the cores that others
// put at banks.
var bankLevel = Variant{Name: "bank", Long: true, Replicate: true, Bank: true, Text: "v3 with one core of 200 MHz a bank instead of its SPUs (not in the paper)"}

// LookupVariant returns a variant by name: one of [Variants], or bank.
func LookupVariant(name string) (Variant, error) {
	var names []string
	for _, v := range append(Variants(), bankLevel) {
		if v.Name == name {
			return v, nil
		}
		names = append(names, v.Name)
	}
	return Variant{}, fmt.Errorf("unknown variant %q, expected %v or all", name, names)
}

// Switched returns the version that differs from v in its orientation (columns or
// rows; "" = as it is) or in replicating long outputs (nil = as it is).
func (v Variant) Switched(orientation string, replicate *bool) (Variant, error) {
	want := v
	switch orientation {
	case "":
	case "rows":
		want.Rows, want.Long, want.Replicate = true, false, false
	case "columns":
		want.Rows = false
	default:
		return v, fmt.Errorf("orientation %q, expected rows or columns", orientation)
	}
	if replicate != nil {
		want.Replicate = *replicate
	}
	if want == v {
		return v, nil
	}
	for _, o := range Variants() {
		if o.Rows == want.Rows && o.Long == want.Long && o.Replicate == want.Replicate && o.AllDown == want.AllDown && o.Bank == want.Bank {
			return o, nil
		}
	}
	return v, fmt.Errorf("no version is %s with these switches, expected columns and long ones to replicate", v.Name)
}

// Config says how a kernel is executed.
type Config struct {
	Machine  *Machine
	Variant  Variant
	Type     Type
	Long     int    // long rows and columns; -1: by the machine's percentage
	Deal     string // "": by the machine's reading
	Seed     uint64
	Threads  int
	Instr    int // each Instr-th SPU is also interpreted, and compared; 0: none
	Check    bool
	Every    int     // each Every-th output of an f32 sum is added again in the same order; 0: none
	Buffer   int     // rows of a dispatcher's buffer; 0: its subarrays
	Flip     float64 // share of bytes with a flipped bit, see [RunFlipped]; 0: none
	Bound    bool    // no queues: the busiest link is the time, a lower bound
	Progress func(iteration int, step string)
}

// step names, in order.
var stepNames = [6]string{"FrontierDistribution", "OffsetPacking", "LocalAccumulations", "Dispatching", "RemoteAccumulations", "Applying"}

// Step is what a step of an iteration took.
type Step struct {
	Name    string  `json:"step"`
	Cycles  int64   `json:"link_cycles"`
	Busiest int64   `json:"busiest_spu_cycles"`
	Mean    float64 `json:"mean_spu_cycles"`
	Loads   int64   `json:"row_switches"`
}

// Iteration is what an iteration took and did.
type Iteration struct {
	Steps    [6]Step `json:"steps"`
	Rounds   int     `json:"rounds"`
	Columns  int64   `json:"active_columns"`
	Nonzeros int64   `json:"active_nonzeros"`
	Pairs    Pairs   `json:"pairs"`

	dispatched int64
}

// Cycles is the sum over the steps.
func (it *Iteration) Cycles() (c int64) {
	for _, s := range it.Steps {
		c += s.Cycles
	}
	return c
}

// Pairs are what became of the active nonzeros, and what crossed the network.
type Pairs struct {
	Local    int64 `json:"local"`
	Replica  int64 `json:"replica"`
	Remote   int64 `json:"remote"`
	Down     int64 `json:"down"`
	Dropped  int64 `json:"dropped"` // products equal to the clean value
	Clean    int64 `json:"clean_pairs"`
	Reduced  int64 `json:"reduced"` // replicas that went down
	SameBank int64 `json:"same_bank"`
}

func (p *Pairs) add(q Pairs) {
	p.Local += q.Local
	p.Replica += q.Replica
	p.Remote += q.Remote
	p.Down += q.Down
	p.Dropped += q.Dropped
	p.Clean += q.Clean
	p.Reduced += q.Reduced
	p.SameBank += q.SameBank
}

// Counters are what energy is counted from.
type Counters struct {
	Loads    int64 `json:"row_switches"`
	ALU      int64 `json:"alu_ops"`
	Compare  int64 `json:"logic_ops"`
	LineHops int64 `json:"line_hops"`
	RingHops int64 `json:"ring_hops"`
	TSVHops  int64 `json:"tsv_hops"`
	Shifts   int64 `json:"shift_outs"`
	RingUsed int64 `json:"ring_pairs"`
	Reduced  int64 `json:"logic_layer_ops"`
	Launches int64 `json:"launches"`
}

// runner executes iterations of an SpM(Sp)V on a placed matrix.
type runner struct {
	ctx   context.Context
	cfg   Config
	m     *Machine
	p     *Placement
	ring  Semiring
	time  timing
	pairs int    // compute SPUs of a bank
	banks int    // of a layer
	homes []home // by SPU

	threads    int
	bufferRows int
	replicate  bool
	allDown    bool
	allRemote  bool // reading local: last-long
	checkClean bool

	spus    []spu
	ports   []port
	out     []uint32 // by new row; of long ones, what the logic layer has
	rep     []uint32 // replicas, by SPU
	touched [][]uint32

	// Sets of SPUs: all, and those with entries of the frontier, of clean lists, of results
	// of Applying, and with replicas that were touched.
	whole, withFront, withClean, withTemp, withTouched spuSet
	visited                                            spuSet

	logicTouched []uint32 // outputs of the logic layer that are not clean, in sparse iterations
	y            []uint32
	front        []uint64
	frontLen     []int32
	longFront    []uint64
	scale        []uint32 // of dense frontiers, by new column
	temp         []uint64
	tempLen      []int32
	cleanArr     [][]uint32
	cleanLen     []int32
	active       []int64 // nonzeros of active columns, by SPU
	recvCap      []int32
	downTo       func(f flit)
	flips        *flips
	arrivedDown  int64 // pairs that the logic layer got since the step began

	net      *network
	log      *sourceLog
	shadow   *shadow
	counters Counters
	iters    []Iteration
	it       *Iteration
	toLink   ratio // link cycles of an SPU cycle
	toSPU    ratio
	trace    *Trace
	chip     *chip // nil: a stack
	clock    int64
	rowVal   []uint32 // of v0: values in the order of the matrix
	cursor   int      // SPU of the latest column that activate1 took
}

// maxPairs is the most compute SPUs of a bank.
const maxPairs = 128

// linkMHz is the rate at which a link carries pairs.
func (m *Machine) linkMHz() float64 { return m.Clocks.Link * float64(m.Links.Lanes) / 64 }

// ratio is that of two clocks. Divisions by it are multiplications where these are exact:
// there are two for each pair.
type ratio struct{ num, den, inverse, limit uint64 }

// newRatio returns a/b, both in MHz, to a kHz.
func newRatio(a, b float64) ratio {
	q := ratio{num: uint64(math.Round(a * 1000)), den: uint64(math.Round(b * 1000))}
	x, y := q.num, q.den
	for y != 0 {
		x, y = y, x%y
	}
	q.num, q.den = q.num/x, q.den/x
	if q.den > 1 {
		q.inverse = math.MaxUint64/q.den + 1
		q.limit = math.MaxUint64 / q.den
	}
	return q
}

// of returns the whole part of (c·num + plus) / den.
func (q *ratio) of(c int64, plus uint64) int64 {
	p := uint64(c)*q.num + plus
	if p >= q.limit {
		return int64(p / q.den)
	}
	hi, _ := bits.Mul64(p, q.inverse)
	return int64(hi)
}

// link is the link cycle in which SPU cycle c ends.
func (r *runner) link(c int64) int64 { return r.toLink.of(c, r.toLink.den-1) }

// spuAfter is the first SPU cycle that begins no earlier than link cycle t.
func (r *runner) spuAfter(t int64) int64 {
	if t <= 0 {
		return 0
	}
	return r.toSPU.of(t-1, 0) + 1
}

func (r *runner) cleanList(s int) []uint32 { return r.cleanArr[s] }

func (r *runner) appendClean(s int, i uint32) {
	if r.cleanLen[s] == 0 {
		r.withClean.add(s)
	}
	r.cleanArr[s] = append(r.cleanArr[s][:r.cleanLen[s]], i)
	r.cleanLen[s]++
}

func (r *runner) down(f flit) {
	r.counters.Reduced++
	r.arrivedDown++
	r.downTo(f)
}

// newRunner places a matrix and makes everything clean.
func newRunner(ctx context.Context, m *matrix.Matrix, ring Semiring, cfg Config) (*runner, error) {
	if cfg.Variant.Bank {
		cfg.Machine = cfg.Machine.BankLevel()
	}
	mach := cfg.Machine
	o := PlaceOptions{Long: cfg.Long, Deal: cfg.Deal, Balance: mach.Readings.Balance, Seed: cfg.Seed, Rows: cfg.Variant.Rows}
	if !cfg.Variant.Long {
		o.Long = 0
	}
	if o.Deal == "" {
		o.Deal = mach.Readings.Place
		if cfg.Variant.Name == "v1" {
			o.Deal = mach.Readings.V1Place
		}
	}
	p, err := Place(m, mach, o)
	if err != nil {
		return nil, err
	}
	if cfg.Variant.Long && !cfg.Variant.AllDown {
		if need := 16 * max(p.Long, p.LongRows); need > mach.Logic.SRAM*mach.Organisation.Vaults {
			return nil, infeasible(fmt.Sprintf("long entries need %d bytes, the logic layer has %d", need, mach.Logic.SRAM*mach.Organisation.Vaults))
		}
	}
	return newRunnerOn(ctx, p, ring, cfg), nil
}

// newRunnerOn makes a runner for a placement.
func newRunnerOn(ctx context.Context, p *Placement, ring Semiring, cfg Config) *runner {
	mach := cfg.Machine
	spus := mach.SPUs()
	r := &runner{
		ctx: ctx, cfg: cfg, m: mach, p: p, ring: ring, time: newTiming(mach), pairs: mach.ComputePairs(), banks: mach.Organisation.Banks, homes: newHomes(mach),
		threads: max(1, cfg.Threads), bufferRows: cfg.Buffer, replicate: cfg.Variant.Replicate, allDown: cfg.Variant.AllDown,
		allRemote: mach.Readings.Local == "last-long",
		spus:      make([]spu, spus), ports: make([]port, spus), out: make([]uint32, p.Matrix.Rows), front: make([]uint64, p.Matrix.Cols-p.Long), frontLen: make([]int32, spus),
		temp: make([]uint64, p.Matrix.Rows-p.LongRows), tempLen: make([]int32, spus), cleanArr: make([][]uint32, spus), cleanLen: make([]int32, spus),
		active: make([]int64, spus), touched: make([][]uint32, spus), recvCap: make([]int32, spus),
		toLink: newRatio(mach.linkMHz(), mach.Clocks.SPU), toSPU: newRatio(mach.Clocks.SPU, mach.linkMHz()),
	}
	for _, x := range []*spuSet{&r.whole, &r.withFront, &r.withClean, &r.withTemp, &r.withTouched, &r.visited} {
		*x = newSPUSet(mach.Banks(), r.pairs)
	}
	for s := range spus {
		r.whole.add(s)
	}
	fill(r.out, ring.Clean)
	if r.replicate {
		r.rep = make([]uint32, int64(spus)*int64(p.LongRows))
		fill(r.rep, ring.Clean)
	}
	for s := range spus {
		a := arrays(p, mach, s)
		r.recvCap[s] = int32((a.rowsOf(arrReceived) - 1) * mach.Words() / 2)
	}
	r.downTo = func(f flit) {
		if r.flips != nil && int64(f.idx()) >= int64(len(r.out)) {
			r.flips.lost.Add(1)
			return
		}
		r.logicAcc(f.idx(), f.val())
		if r.log != nil {
			r.log.logic(f)
		}
	}
	if cfg.Flip > 0 {
		r.flips = newFlips(p, cfg.Flip, cfg.Seed)
	}
	r.net = newNetwork(r)
	if cfg.Check && ring.Float && cfg.Every > 0 {
		r.log = newSourceLog(r, uint32(cfg.Every))
	}
	return r
}

// logicAcc accumulates onto an output of the logic layer.
func (r *runner) logicAcc(i, v uint32) {
	old := r.out[i]
	if old == r.ring.Clean && r.checkClean {
		r.logicTouched = append(r.logicTouched, i)
	}
	r.out[i] = acc(r.ring.Acc, r.ring.Clean, old, v)
}

func fill(list []uint32, v uint32) {
	if v == 0 {
		clear(list)
		return
	}
	for i := range list {
		list[i] = v
	}
}

// move lets SPUs send through the network of the stack, or of the chip.
func (r *runner) move(from *spuSet, next senders) (end int64, full bool) {
	switch {
	case r.chip != nil:
		return r.chip.run(from, next)
	case r.cfg.Bound:
		return r.net.bound(from, next), false
	}
	return r.net.run(from, next)
}

// clearFront empties the frontier but for its long entries.
func (r *runner) clearFront() {
	r.withFront.each(func(s int) { r.frontLen[s] = 0 })
	r.withFront.clear()
}

// launch starts a step.
func (r *runner) launch() int64 {
	r.counters.Launches++
	return r.launchCycles()
}

// launchCycles is the link cycles of starting a step and of the barrier at its end.
func (r *runner) launchCycles() int64 {
	if r.chip != nil {
		return chipLaunch
	}
	return 2*int64(r.m.Launch) + r.link(r.time.row)
}

// step records a step that takes link cycles besides its launch, over the SPU cycles
// of each SPU that of gives.
func (r *runner) step(k int, cycles int64, busiest, sum int64, loads int64) {
	st := &r.it.Steps[k]
	st.Name = stepNames[k]
	took := cycles + r.launch()
	r.trace.step(k, took)
	r.clock += took
	st.Cycles += took
	st.Busiest += busiest
	st.Mean += float64(sum) / float64(len(r.spus))
	st.Loads += loads
	r.counters.Loads += loads
}

// eachOf calls f for 0 to k-1, in parallel, and adds up what it returns.
func (r *runner) eachOf(k int, f func(i int) (busiest, sum, loads int64)) (busiest, sum, loads int64) {
	type result struct{ busiest, sum, loads int64 }
	parts := make([]result, r.threads)
	r.net.parallel(r.threads, k, func(w int) {
		for i := w * k / r.threads; i < (w+1)*k/r.threads; i++ {
			b, s, l := f(i)
			parts[w].busiest = max(parts[w].busiest, b)
			parts[w].sum += s
			parts[w].loads += l
		}
	})
	for _, p := range parts {
		busiest = max(busiest, p.busiest)
		sum += p.sum
		loads += p.loads
	}
	return busiest, sum, loads
}

// eachSPU calls f for each SPU of a set, in parallel.
func (r *runner) eachSPU(of *spuSet, f func(s int, loads *uint32) (cycles int64)) (busiest, sum, loads int64) {
	banks := of.list(nil)
	return r.eachOf(len(banks), func(i int) (busiest, sum, loads int64) {
		var n uint32
		g := banks[i]
		of.banks[g].each(func(q int) {
			s := g*r.pairs + q
			c := f(s, &n)
			r.trace.spuCycles(s, c)
			busiest = max(busiest, c)
			sum += c
		})
		return busiest, sum, int64(n)
	})
}

// broadcast is the cycles of sending k pairs from the logic layer to every SPU, where
// they are appended to arrays.
func (r *runner) broadcast(k int) int64 {
	if k == 0 {
		return 0
	}
	if r.chip != nil {
		return r.chip.broadcast(k)
	}
	o := r.m.Organisation
	r.counters.TSVHops += int64(k) * int64(o.Layers) * int64(o.Banks)
	r.counters.LineHops += int64(k) * int64(r.pairs) * int64(r.m.Banks())
	slowest, loads := r.net.stored(0, int64(k))
	r.counters.Loads += loads * int64(len(r.spus))
	if !r.cfg.Variant.Rows { // where the chunk has rows of its own
		r.withFront.each(func(s int) {
			cycles, more := r.net.stored(int64(r.frontLen[s]), int64(k))
			slowest = max(slowest, cycles)
			r.counters.Loads += more - loads
		})
	}
	return 1 + int64(o.Layers) + int64(r.pairs) + slowest
}

// deliver is the cycles of sending each SPU the entries of its own frontier from the
// logic layer: one pair a cycle up each column.
func (r *runner) deliver() int64 {
	o := r.m.Organisation
	var most, slowest int64
	n := make([]int64, o.Banks) // of each column
	r.withFront.each(func(s int) {
		at, k := r.homes[s], int64(r.frontLen[s])
		n[at.col] += k
		cycles, loads := r.net.stored(0, k)
		slowest = max(slowest, cycles)
		r.counters.Loads += loads
		r.counters.TSVHops += k * int64(at.layer+1)
		r.counters.LineHops += k * int64(s-int(at.bank)*r.pairs+1)
		most = max(most, n[at.col])
	})
	if most == 0 {
		return 0
	}
	return 1 + int64(o.Layers) + int64(r.pairs) + max(most+r.net.rowLink, slowest)
}

// begin starts an iteration, which is the one that was not complete if the run stops.
func (r *runner) begin() error {
	r.iters = append(r.iters, Iteration{})
	r.it = &r.iters[len(r.iters)-1]
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if r.cfg.Progress != nil {
		r.cfg.Progress(len(r.iters), stepNames[0])
	}
	r.it.Columns = int64(len(r.longFront))
	r.withFront.each(func(s int) { r.it.Columns += int64(r.frontLen[s]) })
	return nil
}

// distribute is step 1: the entries of the logic layer go to all SPUs; those of the
// host, in the first iteration of a sparse kernel, to their owners.
func (r *runner) distribute(host bool) {
	if r.cfg.Variant.Rows {
		r.step(0, r.broadcast(int(r.it.Columns)), 0, 0, 0)
		return
	}
	cycles := r.broadcast(len(r.longFront))
	if host || r.allDown {
		cycles += r.deliver()
	}
	if r.shadow != nil && r.chip == nil {
		r.eachSPU(r.multipliers(), func(s int, _ *uint32) int64 {
			r.shadow.distribute(s, host || r.allDown)
			return 0
		})
	}
	r.step(0, cycles, 0, 0, 0)
}

// multipliers are the SPUs that have columns of the frontier, which all have of long ones.
func (r *runner) multipliers() *spuSet {
	if len(r.longFront) > 0 {
		return &r.whole
	}
	return &r.withFront
}

// product runs steps 2 to 5: outputs become what they were and the products of the
// matrix and the frontier.
func (r *runner) product() error {
	if r.cfg.Variant.Rows {
		return r.rowsProduct()
	}
	of := r.multipliers()
	busiest, sum, loads := r.eachSPU(of, func(s int, loads *uint32) int64 {
		before := *loads
		c := r.pack(s, loads)
		if r.shadow != nil {
			r.shadow.pack(s, c, int64(*loads-before))
		}
		return c
	})
	r.step(1, r.link(busiest), busiest, sum, loads)

	r.resetSPUs(of)
	r.arrivedDown = 0
	for {
		r.it.Rounds++
		if r.cfg.Progress != nil {
			r.cfg.Progress(len(r.iters), stepNames[2])
		}
		end, full := r.move(of, r.accumulate)
		if err := r.net.ended(); err != nil {
			return err
		}
		busiest, sum, loads = r.pause(of, full)
		r.trace.moved()
		r.step(2, max(end, r.link(busiest)), busiest, sum, loads)
		if err := r.dispatch(); err != nil {
			return err
		}
		if !full {
			break
		}
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
	}
	return r.conserve(of)
}

// resetSPUs prepares SPUs for a step in which they send.
func (r *runner) resetSPUs(of *spuSet) {
	of.each(func(s int) {
		r.spus[s] = spu{w1: noRow, w2: noRow, w3: walker{row: noRow}}
		r.active[s] = 0
	})
}

// pause stores what is dirty when the senders have stopped, and takes the cycles of
// the round.
func (r *runner) pause(of *spuSet, full bool) (busiest, sum, loads int64) {
	of.each(func(s int) {
		u := &r.spus[s]
		if full && u.state&stDone == 0 {
			u.cycles += r.time.flush(u.w3.dirty, &u.loads)
			u.w1, u.w2, u.w3 = noRow, noRow, walker{row: noRow, pos: u.w3.pos}
		}
		if r.shadow != nil {
			r.shadow.pause(s, full && u.state&stDone == 0)
		}
		r.trace.spuCycles(s, u.cycles)
		busiest = max(busiest, u.cycles)
		sum += u.cycles
		loads += int64(u.loads)
		u.cycles, u.loads = 0, 0
	})
	return busiest, sum, loads
}

// sendTime is the cycle in which a dispatcher sends its pair j, rows being loaded
// into two walkers in turn.
func (r *runner) sendTime(j int64) int64 {
	if r.chip != nil {
		return r.chip.levels + j/int64(r.chip.width)
	}
	fill, row := int64(r.net.rowFill), r.net.rowLink
	if r.net.wordly > 0 {
		return r.link(2*(j+1) + r.time.row*(j/fill+1))
	}
	return max(row+j, row*(j/fill+1)+j%fill)
}

// dispatch runs steps 4 and 5 until the dispatchers are empty; SPUs that are full
// make a round of their own.
func (r *runner) dispatch() error {
	var banks []int // whose dispatchers have pairs
	for g, n := range r.net.reserved {
		if n > 0 {
			banks = append(banks, g)
		}
	}
	next, upto := make([]int, len(banks)), make([]int, len(banks))
	lineHops, rowsIn, overfull := make([]int64, len(banks)), make([]int64, len(banks)), make([]int32, len(banks))
	for {
		// The last pair before which an SPU would be full, and when it is sent.
		stop := int64(math.MaxInt64)
		counts := make([]int32, r.pairs)
		for k, g := range banks {
			list := r.net.stations[g].store.pairs
			room := int32(math.MaxInt32)
			for q := range r.pairs {
				room = min(room, r.recvCap[g*r.pairs+q])
			}
			if r.cfg.Bound {
				break
			}
			if int32(len(list)-next[k]) <= room {
				continue
			}
			clear(counts)
			for j := next[k]; j < len(list); j++ {
				s, ok := r.receiverOf(g, uint32(list[j]>>32))
				if !ok {
					continue
				}
				q := s % r.pairs
				if counts[q]++; counts[q] >= r.recvCap[s] && j+1 < len(list) {
					stop = min(stop, r.sendTime(int64(j-next[k])))
					break
				}
			}
		}
		var cycles int64
		var hops, shifts, loads4 int64
		for k, g := range banks {
			n := len(r.net.stations[g].store.pairs) - next[k]
			if stop != math.MaxInt64 {
				n = min(n, searchTime(r, n, stop))
			}
			upto[k] = next[k] + n
			if n == 0 {
				continue
			}
			last := r.sendTime(int64(n - 1))
			r.trace.sent(g, n, last+1)
			cycles = max(cycles, last+int64(r.pairs)+1+r.net.rowLink)
			shifts += int64(n)
			loads4 += int64((n + r.net.rowFill - 1) / r.net.rowFill)
		}
		clear(rowsIn)
		var received []int64 // cycles of each SPU, for a trace
		if r.trace != nil {
			received = make([]int64, len(r.spus))
		}
		busiest, sum, loads := r.eachOf(len(banks), func(k int) (busiest, sum, loads int64) {
			g := banks[k]
			list := r.net.stations[g].store.pairs[next[k]:upto[k]]
			if lineHops[k] = 0; len(list) == 0 {
				return 0, 0, 0
			}
			var state [maxPairs]receiver
			for q := range r.pairs {
				state[q].w1, state[q].w3.row, state[q].w2.row = noRow, noRow, noRow
			}
			first := g * r.pairs
			var hops int64
			var cleanBefore [maxPairs]int32
			copy(cleanBefore[:], r.cleanLen[first:first+r.pairs])
			for _, e := range list {
				i := uint32(e >> 32)
				s, ok := r.receiverOf(g, i)
				if !ok {
					r.flips.lost.Add(1)
					continue
				}
				q := s - first
				hops += int64(q) + 1
				r.receive(s, &state[q], i, uint32(e))
			}
			lineHops[k] = hops
			if r.shadow != nil && r.chip == nil {
				r.shadow.dispatch(g, list, state[:r.pairs])
			}
			for q := range r.pairs {
				v := &state[q]
				if v.pairs == 0 {
					continue
				}
				if !r.cfg.Bound && v.pairs > int64(r.recvCap[first+q])+int64(r.m.Words()/2) {
					overfull[k] = int32(first+q) + 1
				}
				_, stored := r.net.stored(0, v.pairs)
				rowsIn[k] += stored
				v.finish(&r.time)
				if r.shadow != nil {
					r.shadow.receive(first+q, v, list, cleanBefore[q])
				}
				if r.cfg.Bound {
					v.cycles = min(v.cycles, r.receiveBound(v.pairs))
				}
				if received != nil {
					received[first+q] = v.cycles
				}
				busiest = max(busiest, v.cycles)
				sum += v.cycles
				loads += int64(v.loads)
			}
			return busiest, sum, loads
		})
		for k := range banks {
			hops += lineHops[k]
			loads4 += rowsIn[k]
			if s := overfull[k] - 1; s >= 0 {
				return fmt.Errorf("%w: SPU %d got more pairs than the %d that its rows hold", ErrCheck, s, int(r.recvCap[s])+r.m.Words()/2)
			}
		}
		r.counters.LineHops += hops
		r.counters.Shifts += shifts
		r.step(3, cycles, 0, 0, loads4)
		for s, c := range received {
			r.trace.spuCycles(s, c)
		}
		r.step(4, r.link(busiest), busiest, sum, loads)
		copy(next, upto)
		if stop == math.MaxInt64 {
			break
		}
		r.it.Rounds++
	}
	if r.log != nil {
		r.log.endRound()
	}
	for k, g := range banks {
		st := &r.net.stations[g].store
		if n := int32(len(st.pairs)); n != r.net.reserved[g] {
			return fmt.Errorf("%w: bank %d stored %d pairs, %d were on their way to it", ErrCheck, g, n, r.net.reserved[g])
		}
		if r.chip == nil && !r.cfg.Bound && len(st.pairs) > int(r.net.cap) {
			return fmt.Errorf("%w: bank %d stored %d pairs, its dispatcher has room for %d", ErrCheck, g, len(st.pairs), r.net.cap)
		}
		if next[k] != len(st.pairs) {
			return fmt.Errorf("%w: bank %d dispatched %d pairs of %d", ErrCheck, g, next[k], len(st.pairs))
		}
		r.it.dispatched += int64(len(st.pairs))
		st.empty()
		r.net.reserved[g] = 0
	}
	return nil
}

// receiverOf is the SPU of a bank that owns row i; there is one but for flipped bits.
func (r *runner) receiverOf(g int, i uint32) (s int, ok bool) {
	if r.flips != nil && (int(i) < r.p.LongRows || int64(i) >= int64(len(r.out))) {
		return 0, false
	}
	s = r.p.owner.of(i)
	return s, r.flips == nil || s/r.pairs == g
}

// searchTime counts the pairs of n that are sent no later than a cycle.
func searchTime(r *runner, n int, stop int64) int {
	lo, hi := 0, n
	for lo < hi {
		mid := (lo + hi) / 2
		if r.sendTime(int64(mid)) <= stop {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// conserve asserts that every active nonzero was processed once, and every pair that
// was sent accumulated.
func (r *runner) conserve(of *spuSet) (err error) {
	var all Pairs
	of.each(func(s int) {
		u := &r.spus[s]
		n := int64(u.local) + int64(u.replica) + int64(u.sent) + int64(u.down) + int64(u.dropped)
		switch {
		case err != nil:
			return
		case u.misplaced > 0 && r.flips == nil:
			err = fmt.Errorf("%w: SPU %d has %d nonzeros of long columns in rows of others", ErrCheck, s, u.misplaced)
		case n != r.active[s]:
			err = fmt.Errorf("%w: SPU %d processed %d nonzeros of %d in active columns", ErrCheck, s, n, r.active[s])
		}
		r.it.Nonzeros += n
		all.add(Pairs{Local: int64(u.local), Replica: int64(u.replica), Remote: int64(u.sent), Down: int64(u.down), Dropped: int64(u.dropped), Clean: int64(u.clean)})
	})
	if err != nil {
		return err
	}
	if want := r.activeNonzeros(); r.it.Nonzeros != want {
		return fmt.Errorf("%w: %d nonzeros processed, the active columns have %d", ErrCheck, r.it.Nonzeros, want)
	}
	if r.arrivedDown != all.Down {
		return fmt.Errorf("%w: %d pairs reached the logic layer of %d that were sent down", ErrCheck, r.arrivedDown, all.Down)
	}
	if got := r.it.dispatched; got != all.Remote+all.Clean {
		return fmt.Errorf("%w: %d pairs accumulated of %d remote and %d clean ones that were sent", ErrCheck, got, all.Remote, all.Clean)
	}
	r.it.Pairs.add(all)
	r.counters.ALU += 2*(all.Local+all.Replica) + all.Remote + all.Down + all.Remote + all.Clean
	r.counters.Compare += 3 * r.it.Nonzeros
	r.counters.Shifts += all.Remote + all.Down + all.Clean
	return r.settleNetwork()
}

// activeNonzeros adds up the lengths of the active columns of the matrix itself.
func (r *runner) activeNonzeros() (n int64) {
	m, p := r.p.Matrix, r.p
	count := func(c uint32) {
		old := p.ColFrom[c]
		n += m.Ptr[old+1] - m.Ptr[old]
	}
	for _, e := range r.longFront {
		count(uint32(e >> 32))
	}
	r.withFront.each(func(s int) {
		for i := range r.frontLen[s] {
			e, _ := r.frontier(s, i)
			count(uint32(e >> 32))
		}
	})
	return n
}

// settleNetwork takes the counters of the network, which must be at rest.
func (r *runner) settleNetwork() error {
	n := r.net
	for l := range n.rings {
		g := &n.rings[l]
		if g.inFlight != 0 || g.occupied[0] != 0 && g.occupied[0]&^g.freedAll(0) != 0 {
			return fmt.Errorf("%w: %d pairs on the ring of layer %d after the barrier", ErrCheck, g.inFlight, l)
		}
		if g.busy != g.hops {
			return fmt.Errorf("%w: the slots of the ring of layer %d were taken for %d cycles, the hops of its pairs are %d", ErrCheck, l, g.busy, g.hops)
		}
		r.counters.RingHops += g.hops
		r.counters.RingUsed += g.pairs
		g.busy, g.hops, g.pairs = 0, 0, 0
		r.counters.LineHops += n.lineH[l]
		n.lineH[l] = 0
	}
	r.trace.settled()
	for c := range n.columns {
		r.counters.TSVHops += n.tsvH[c]
		n.tsvH[c] = 0
	}
	return nil
}

// freedAll is the slots that have been left since.
func (g *ringState) freedAll(d int) (m uint64) {
	for _, f := range g.freed[d] {
		m |= f
	}
	return m
}

// applySparse is step 6 where few outputs changed. op makes the new value of y.
func (r *runner) applySparse(op Op) error {
	of := r.gatherAll()
	r.visited.clear()
	r.visited.join(of)
	r.visited.join(&r.withFront)
	b, s, l := r.eachSPU(&r.visited, func(s int, loads *uint32) int64 {
		before := *loads
		c := r.settle(s, op, loads)
		if r.shadow != nil {
			r.shadow.settle(s, op, c, int64(*loads-before))
		}
		if r.tempLen[s] = 0; r.frontLen[s] == 0 {
			r.withFront.remove(s)
		}
		return c
	})
	r.withTemp.clear()
	r.step(5, r.link(b), b, s, l)
	if r.cfg.Variant.Rows {
		return r.rowsSend()
	}
	if err := r.reduceReplicas(); err != nil {
		return err
	}
	var applied int64
	r.longFront = r.longFront[:0]
	slices.Sort(r.logicTouched)
	for _, i := range r.logicTouched {
		v := r.out[i]
		if v == r.ring.Clean {
			continue // there twice
		}
		applied++
		now := acc(op, r.ring.Clean, r.y[i], v)
		if now != r.y[i] {
			r.y[i] = now
			r.activate(i, v)
		}
		r.out[i] = r.ring.Clean
	}
	r.logicTouched = r.logicTouched[:0]
	r.logicOps(applied)
	return nil
}

// gatherAll is the first part of Applying in sparse iterations. It returns the SPUs that
// may have results.
func (r *runner) gatherAll() *spuSet {
	of, results := &r.withClean, &r.withTemp
	if r.cfg.Variant.Rows {
		of, results = &r.whole, &r.whole
	}
	b, s, l := r.eachSPU(of, func(s int, loads *uint32) int64 {
		c := r.gatherShadowed(s, loads)
		if r.tempLen[s] > 0 {
			r.withTemp.add(s)
		}
		return c
	})
	r.withClean.clear()
	r.step(5, r.link(b), b, s, l)
	return results
}

// gatherShadowed is gather, interpreted too where that is asked for.
func (r *runner) gatherShadowed(s int, loads *uint32) int64 {
	switch {
	case r.cfg.Variant.Rows:
		before := *loads
		c := r.rowsGather(s, loads)
		if r.shadow != nil {
			r.shadow.gatherRows(s, c, int64(*loads-before))
		}
		return c
	case r.shadow == nil:
		return r.gather(s, loads)
	}
	before, list := *loads, r.cleanList(s)[:r.cleanLen[s]]
	c := r.gather(s, loads)
	r.shadow.gather(s, list, c, int64(*loads-before))
	return c
}

// logicOps adds the time in which the vault cores do n operations on long entries.
func (r *runner) logicOps(n int64) {
	if n == 0 {
		return
	}
	vaults := int64(r.m.Organisation.Vaults)
	r.counters.Reduced += n
	cycles := int64(math.Ceil(float64((n+vaults-1)/vaults) * r.m.Logic.Reduce * r.m.linkMHz() / 1000))
	r.it.Steps[5].Cycles += cycles
	r.clock += cycles
}

// reduceReplicas sends replicas that are not clean down, where they are reduced in
// the order of layers, banks and SPUs.
func (r *runner) reduceReplicas() error {
	if !r.replicate || r.p.LongRows == 0 {
		return nil
	}
	n := int64(r.p.LongRows)
	var sent int64
	r.withTouched.each(func(s int) {
		slices.Sort(r.touched[s])
		r.touched[s] = dedupe(r.touched[s], func(i uint32) bool { return r.rep[int64(s)*n+int64(i)] != r.ring.Clean })
		for _, i := range r.touched[s] {
			r.logicAcc(i, r.rep[int64(s)*n+int64(i)])
		}
		sent += int64(len(r.touched[s]))
		if r.shadow != nil {
			r.shadow.scan(s)
		}
	})
	err := r.sendDown(&r.withTouched, r.scan, sent, func(flit) {}, func(s int) { r.touched[s] = r.touched[s][:0] })
	r.withTouched.clear()
	return err
}

// dedupe keeps the first of equal neighbours that keep is true for.
func dedupe(list []uint32, keep func(uint32) bool) []uint32 {
	out := list[:0]
	for k, v := range list {
		if (k == 0 || list[k-1] != v) && keep(v) {
			out = append(out, v)
		}
	}
	return out
}

// sendDown runs a part of step 6 in which SPUs send pairs to the logic layer.
func (r *runner) sendDown(of *spuSet, next senders, want int64, to func(flit), after func(s int)) error {
	r.resetSPUs(of)
	old, got := r.downTo, int64(0)
	r.downTo = func(f flit) { got++; to(f) }
	if r.shadow != nil {
		r.shadow.scanning = true
	}
	end, _ := r.move(of, next)
	if err := r.net.ended(); err != nil {
		return err
	}
	if r.shadow != nil {
		r.shadow.scanning = false
	}
	r.downTo = old
	busiest, sum, loads := int64(0), int64(0), int64(0)
	of.each(func(s int) {
		u := &r.spus[s]
		r.trace.spuCycles(s, u.cycles)
		busiest = max(busiest, u.cycles)
		sum += u.cycles
		loads += int64(u.loads)
		after(s)
	})
	if got != want {
		return fmt.Errorf("%w: %d pairs reached the logic layer of %d that were sent", ErrCheck, got, want)
	}
	r.it.Pairs.Reduced += got
	r.counters.Shifts += got
	r.trace.moved()
	r.step(5, max(end, r.link(busiest)), busiest, sum, loads)
	return r.settleNetwork()
}

// denseOut is the first part of Applying for SPU s where all outputs count: y
// becomes the output plus a constant.
func (r *runner) denseOut(s int, base uint32, loads *uint32) (cycles int64, change float64) {
	t, p := &r.time, r.p
	n := int64(p.RowFirst[s+1] - p.RowFirst[s])
	if n == 0 {
		return 0, 0
	}
	rows := (n + t.mask) >> t.shift
	*loads += uint32(3 * rows)
	cycles = 1 + 3*n + 2*rows*t.row // outputs and old values are loaded
	cycles += rows*t.row + t.row    // new values and the last row of outputs are stored
	*loads++
	if t.serial {
		cycles += (rows - 1) * t.row
	}
	sum := float32(0)
	for i := p.RowFirst[s]; i < p.RowFirst[s+1]; i++ {
		old, now := r.y[i], r.addBase(r.out[i], base)
		r.y[i] = now
		r.out[i] = r.ring.Clean
		if r.ring.Float {
			sum += float32(math.Abs(float64(math.Float32frombits(now) - math.Float32frombits(old))))
		} else if now != old {
			sum++
		}
	}
	return cycles, float64(sum)
}

// addBase is the operation of Applying on one output.
func (r *runner) addBase(out, base uint32) uint32 {
	if out == r.ring.Clean {
		out = 0
	}
	if r.ring.Float {
		return math.Float32bits(math.Float32frombits(out) + math.Float32frombits(base))
	}
	return out + base
}

// denseFront is the second part: the frontier is y times a factor of each column.
func (r *runner) denseFront(s int, scale []uint32, loads *uint32) (cycles int64, dangling float32) {
	t, p := &r.time, r.p
	n := int64(p.ColFirst[s+1] - p.ColFirst[s])
	r.frontLen[s] = 0
	if n == 0 {
		return 0, 0
	}
	rows, out := (n+t.mask)>>t.shift, (2*n+t.mask)>>t.shift
	*loads += uint32(2*rows + out)
	cycles = 1 + 2*n + (2*rows+out)*t.row
	for i := p.ColFirst[s]; i < p.ColFirst[s+1]; i++ {
		y := r.y[i]
		r.setFrontier(s, i, mul(r.ring.Mul, y, scale[i]))
		if scale[i] == 0 && r.ring.Float {
			dangling += math.Float32frombits(y)
		}
	}
	return cycles, dangling
}
