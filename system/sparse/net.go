package sparse

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/bitsched/bitsched/internal/prefetch"
)

// flit is a pair on its way, with the bank of its layer that it goes to.
// Two words are passed in registers.
type flit struct {
	pair uint64 // index and value
	way  uint64 // when it is ready, its source, its layer, its bank
}

// newFlit makes a pair that SPU src has for a bank of a layer (toLogicLayer: down), and
// that may go on from link cycle ready on, which is below maxCycle.
func newFlit(idx, val uint32, ready int64, src int, layer, bank uint8) flit {
	return flit{uint64(idx)<<32 | uint64(val), uint64(ready)<<32 | uint64(src)<<16 | uint64(layer)<<8 | uint64(bank)}
}

func (f flit) idx() uint32  { return uint32(f.pair >> 32) }
func (f flit) val() uint32  { return uint32(f.pair) }
func (f flit) ready() int64 { return int64(f.way >> 32) }
func (f flit) src() uint16  { return uint16(f.way >> 16) }
func (f flit) layer() int   { return int(f.way >> 8 & 0xff) }
func (f flit) bank() int    { return int(f.way & 0xff) }

// from is the pair, ready from another cycle on.
func (f flit) from(ready int64) flit {
	f.way = f.way&math.MaxUint32 | uint64(ready)<<32
	return f
}

// maxCycle is the most link cycles of a part of a step in which pairs move.
const maxCycle = math.MaxUint32 - 1<<16

const toLogicLayer = 0xff

// fifo is a queue of pairs in the order in which they become ready. The length of
// its buffer is a power of two.
type fifo struct {
	buf        []flit
	head, tail uint32 // counted modulo 2^32: pairs head to tail-1 wait
	last       int64  // no pair that waits is ready later
}

func (q *fifo) size() int { return int(q.tail - q.head) }

// at is the n-th pair.
func (q *fifo) at(n int) *flit { return &q.buf[(int(q.head)+n)&(len(q.buf)-1)] }

func (q *fifo) front() flit { return q.buf[int(q.head)&(len(q.buf)-1)] }

// next is when the front is ready, or never.
func (q *fifo) next() int64 {
	if q.head == q.tail {
		return math.MaxInt64
	}
	return q.front().ready()
}

func (q *fifo) pop() { q.head++ }

// push adds a pair behind those that are ready no later.
func (q *fifo) push(f flit) {
	if f.ready() < q.last || q.tail-q.head == uint32(len(q.buf)) {
		q.place(f)
		return
	}
	q.last = f.ready()
	q.buf[int(q.tail)&(len(q.buf)-1)] = f
	q.tail++
}

// place is push where there is no room, or others may be ready later.
func (q *fifo) place(f flit) {
	switch {
	case q.head == q.tail: // from the beginning, so that what is used of the buffer is little
		q.head, q.tail, q.last = 0, 0, 0
	case q.size() == len(q.buf):
		q.grow()
	}
	if len(q.buf) == 0 {
		q.grow()
	}
	if f.ready() >= q.last {
		q.push(f)
		return
	}
	q.tail++
	q.insert(f)
}

// insert moves those that are ready later than f, for whom there is a place at the end.
func (q *fifo) insert(f flit) {
	n := q.size() - 1
	for n > 0 && q.at(n-1).ready() > f.ready() {
		*q.at(n) = *q.at(n - 1)
		n--
	}
	*q.at(n) = f
}

func (q *fifo) grow() {
	next := make([]flit, max(16, 2*len(q.buf)))
	for k := range q.size() {
		next[k] = *q.at(k)
	}
	q.buf, q.tail, q.head = next, uint32(q.size()), 0
}

// restart makes all that wait ready.
func (q *fifo) restart() {
	for k := range q.size() {
		*q.at(k) = q.at(k).from(0)
	}
}

// store is a dispatcher taking pairs: row by row into two walkers in turn.
type store struct {
	pairs []uint64
	last  int64    // when the latest pair was taken
	free  [2]int64 // when a walker has stored its row
}

// empty forgets what was dispatched.
func (s *store) empty() {
	s.pairs, s.last, s.free = s.pairs[:0], -1, [2]int64{}
}

// station is what a bank has of the network.
type station struct {
	direct fifo // arrivals that need no ring
	store  store
	lastA  int64  // latest slot of the line that was taken
	port   uint64 // SPUs that have a pair
	most   int32  // pairs that waited at most for the ring
}

// column is a TSV column: for each direction, who was the last in each slot, and
// up to where.
type column struct {
	queue [2][64]fifo // what waits at each layer: up, down
	slot  [2][128]int64
	dest  [2][128]int16
}

// arrival is a pair in the logic layer.
type arrival struct {
	at  int64
	col uint8
	f   flit
}

// ringState is a ring of a layer, both directions. Slots are numbered in a frame that
// moves with them.
type ringState struct {
	occupied [2]uint64
	freed    [2][64]uint64 // by the cycle modulo 64
	ready    [2][64]uint64 // stations whose front becomes ready
	want     [2]uint64     // stations whose front is ready
	slot     [2][64]flit   // what an occupied slot carries
	queue    [2][64]fifo   // what waits at each station: clockwise, and the other way
	used     bool          // since the start of the step
	inFlight int
	busy     int64 // slots occupied, summed over cycles
	hops     int64
	pairs    int64
}

// backlog is the pairs that wait at a station.
func (g *ringState) backlog(b int) int { return g.queue[0][b&63].size() + g.queue[1][b&63].size() }

// network moves pairs from SPUs to dispatchers and to the logic layer: section 2.5.
// Time is cut into windows of credit cycles, at whose ends it is known everywhere
// which stations are full; within a window layers, and then columns, do not depend
// on each other.
type network struct {
	r       *runner
	layers  int
	banks   int // of a layer
	pairs   int // compute SPUs of a bank
	both    bool
	ringWay bool // other layers' pairs take the ring first
	port    int
	window  int64
	cap     int32 // pairs that a dispatcher holds
	rowLink int64 // link cycles of a row cycle
	rowFill int   // pairs of a row
	wordly  int64 // link cycles of taking a pair word by word; 0: by latch

	stations []station
	reserved []int32 // by bank: pairs that are stored or on their last way to its dispatcher
	columns  []column
	rings    []ringState
	logic    [][]arrival // of each column in this window

	// What holds pairs, so that steps cost what moves in them: banks of each layer.
	ports  []uint64    // with pairs in the ports of SPUs
	direct []uint64    // with arrivals that need no ring
	waits  []uint64    // with pairs that wait for the ring
	climbs [2][]uint64 // with pairs that wait to go up, or down, their column
	logics uint64      // columns with pairs in the logic layer
	used   uint64      // columns that something went along since the start of the step

	full   []uint64 // banks of a layer whose ring port is full, as known everywhere
	fuller []uint64 // as of the end of the latest window

	ringOnly bool                  // pairs end where they leave the ring
	arrived  func(t int64, f flit) // sees them there; nil outside tests
	threads  int
	signal   bool   // a dispatcher is full
	tooLong  bool   // a step takes more than maxCycle
	raised   []bool // by layer, then by column
	latest   []int64
	moved    []bool
	idle     []int64

	lineH     []int64 // by layer, then tsv by column
	tsvH      []int64
	vaultDone []int64 // in units of 1/1000 link cycles
	merged    []arrival
}

func newNetwork(r *runner) *network {
	m := r.m
	o := m.Organisation
	n := &network{
		r: r, layers: o.Layers, banks: o.Banks, pairs: m.ComputePairs(), both: m.Readings.Ring == "both", ringWay: m.Readings.Route == "ring",
		port: m.Links.Port, window: int64(m.Links.Credit), rowFill: m.Words() / 2, threads: r.threads,
		stations: make([]station, m.Banks()), reserved: make([]int32, m.Banks()), columns: make([]column, o.Banks), rings: make([]ringState, o.Layers), logic: make([][]arrival, o.Banks),
		full: make([]uint64, o.Layers), fuller: make([]uint64, o.Layers), raised: make([]bool, o.Layers+o.Banks), latest: make([]int64, o.Layers+o.Banks),
		moved: make([]bool, o.Layers+o.Banks), idle: make([]int64, o.Layers), lineH: make([]int64, o.Layers), tsvH: make([]int64, o.Banks),
		vaultDone: make([]int64, o.Vaults),
		ports:     make([]uint64, o.Layers), direct: make([]uint64, o.Layers), waits: make([]uint64, o.Layers), climbs: [2][]uint64{make([]uint64, o.Layers), make([]uint64, o.Layers)},
	}
	for c := range n.columns {
		n.columns[c].begin()
	}
	for g := range n.stations {
		n.stations[g].store.empty()
	}
	n.rowLink = r.link(m.RowCycles())
	// The row before the end raises the signal.
	n.cap = int32((m.RowsPerSPU() - 1) * n.rowFill)
	if r.bufferRows > 0 {
		n.cap = int32(max(1, r.bufferRows-1) * n.rowFill)
	}
	if m.Readings.Dispatch == "spu" {
		n.wordly = r.link(2)
	}
	return n
}

// begin makes the slots of a column free.
func (col *column) begin() {
	for d := range 2 {
		for k := range col.slot[d] {
			col.slot[d][k] = math.MinInt64
		}
	}
}

// reset forgets the times of a step; what waits in queues stays.
func (n *network) reset() {
	for m := n.used; m != 0; m &= m - 1 {
		n.columns[bits.TrailingZeros64(m)].begin()
	}
	for l := range n.layers {
		g := &n.rings[l]
		for m := n.direct[l]; m != 0; m &= m - 1 {
			n.stations[l*n.banks+bits.TrailingZeros64(m)].direct.restart()
		}
		for m := n.waits[l]; m != 0; m &= m - 1 {
			b := bits.TrailingZeros64(m)
			g.queue[0][b].restart()
			g.queue[1][b].restart()
		}
		for d := range 2 {
			for m := n.climbs[d][l]; m != 0; m &= m - 1 {
				n.columns[bits.TrailingZeros64(m)].queue[d][l].restart()
			}
		}
		if g.used {
			g.occupied, g.freed = [2]uint64{}, [2][64]uint64{}
			g.inFlight, g.used = 0, false
		}
	}
	n.used = 0
	clear(n.full)
	clear(n.fuller)
	clear(n.raised)
	clear(n.latest)
	clear(n.vaultDone)
	n.signal = false
}

// note keeps what waits at a bank of a layer.
func (n *network) note(l, b int) {
	bit := uint64(1) << b
	mark := func(m *uint64, waits int) {
		if *m &^= bit; waits > 0 {
			*m |= bit
		}
	}
	mark(&n.direct[l], n.stations[l*n.banks+b].direct.size())
	mark(&n.waits[l], n.rings[l].backlog(b))
	mark(&n.climbs[0][l], n.columns[b].queue[0][l].size())
	mark(&n.climbs[1][l], n.columns[b].queue[1][l].size())
}

// senders is one of the things that SPUs send in.
type senders func(s int, free int64) bool

// run moves pairs until the SPUs of a set have sent all, or a dispatcher is full. It
// returns the link cycle at which all has come to rest.
func (n *network) run(from *spuSet, next senders) (end int64, full bool) {
	n.reset()
	banks := from.list(make([]int, 0, len(n.stations)))
	n.parallel(n.layers, len(banks), func(l int) {
		for _, g := range banks {
			if g/n.banks == l {
				n.open(g, from.banks[g], next)
			}
		}
	})
	var t int64
	var before int64 = -1 // start of the window whose rings are still to run
	for {
		if t > maxCycle {
			n.tooLong = true
			return t, false
		}
		stop := n.signal
		copy(n.full, n.fuller)
		t1 := t + n.window
		rung := before
		n.parallel(n.layers, n.busy(), func(l int) {
			n.moved[l] = false
			if rung >= 0 {
				n.ring(l, rung, rung+n.window)
			}
			n.idle[l] = math.MaxInt64
			if !stop {
				n.lines(l, t, t1, next)
			}
		})
		if rung >= 0 {
			n.vaults(t)
		}
		moved := n.tsvs(t, t1)
		for i, v := range n.raised {
			if v {
				n.signal = true
				n.raised[i] = false
			}
		}
		before = t
		active := false
		for l := range n.rings {
			active = active || n.rings[l].inFlight > 0
			moved = moved || n.moved[l]
		}
		soon := int64(math.MaxInt64)
		if !stop {
			for _, v := range n.idle {
				soon = min(soon, v)
			}
		}
		if !active && !n.waiting() && n.logics == 0 {
			if soon == math.MaxInt64 && !(n.signal && !stop) {
				// The rings of the last window have nothing either.
				if n.signal {
					return n.atRest(), n.pending()
				}
				return n.atRest(), false
			}
			if soon > t1 && soon != math.MaxInt64 {
				// Nothing moves until then; the window before is done.
				n.parallel(n.layers, n.busy(), func(l int) { n.ring(l, before, before+n.window) })
				before = -1
				t = soon
				continue
			}
		}
		if n.signal && stop && !active && !moved && n.logics == 0 {
			// Only pairs to full dispatchers are left.
			n.parallel(n.layers, n.busy(), func(l int) { n.moved[l] = false; n.ring(l, before, before+n.window) })
			before = -1
			still := false
			for l := range n.rings {
				still = still || n.moved[l] || n.rings[l].inFlight > 0
				still = still || n.direct[l] != 0 // on their last way down or up a column
			}
			if !still {
				return n.atRest(), true
			}
		}
		t = t1
	}
}

// open lets SPUs of a bank go on to their first pair, or again to the one in their port.
func (n *network) open(g int, senders mask, next senders) {
	r := n.r
	st := &n.stations[g]
	st.port, st.lastA = 0, -1
	senders.each(func(q int) {
		s := g*n.pairs + q
		u := &r.spus[s]
		if u.state&stPending != 0 {
			r.ports[s].flit = r.ports[s].from(0)
		} else {
			n.resume(next, s, 0)
		}
		if u.state&stPending != 0 {
			st.port |= 1 << q
		}
	})
	l, b := g/n.banks, g%n.banks
	if n.ports[l] &^= 1 << b; st.port != 0 {
		n.ports[l] |= 1 << b
	}
}

// atRest is the link cycle at which the last pair is where it goes.
func (n *network) atRest() (end int64) {
	for _, v := range n.latest {
		end = max(end, v)
	}
	for _, v := range n.vaultDone {
		end = max(end, (v+999)/1000)
	}
	return end
}

// ended says whether what was moved came to its end.
func (n *network) ended() error {
	if n.tooLong {
		return infeasible(fmt.Sprintf("pairs move for more than %d link cycles in a step", int64(maxCycle)))
	}
	return nil
}

// pending says whether SPUs still have pairs.
func (n *network) pending() bool { return slices.ContainsFunc(n.ports, notZero) }

func notZero(m uint64) bool { return m != 0 }

// waiting says whether pairs wait in a station.
func (n *network) waiting() bool {
	for l := range n.layers {
		if n.direct[l]|n.waits[l]|n.climbs[0][l]|n.climbs[1][l] != 0 {
			return true
		}
	}
	return false
}

// busy is how many banks have something to do.
func (n *network) busy() (banks int) {
	for l := range n.layers {
		banks += bits.OnesCount64(n.ports[l]|n.direct[l]|n.waits[l]) + n.rings[l].inFlight
	}
	return banks
}

// worthThreads is from how many banks on threads take less time than their start.
const worthThreads = 32

// parallel calls f for 0 to k-1, in any order where there is more than one thread and
// work for it.
func (n *network) parallel(k, work int, f func(int)) {
	if n.threads <= 1 || k <= 1 || work < worthThreads {
		for i := range k {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	for w := range n.threads {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := w * k / n.threads; i < (w+1)*k/n.threads; i++ {
				f(i)
			}
		}()
	}
	wg.Wait()
}

// resume lets an SPU go on to its next pair.
func (n *network) resume(next senders, s int, free int64) bool {
	ok := next(s, free)
	if sh := n.r.shadow; sh != nil {
		sh.resume(s, free, ok)
	}
	return ok
}

// lines runs the lines of a layer for the slots that reach dispatchers in a window.
// An SPU takes the first free slot that passes; those farther off come first.
func (n *network) lines(l int, t0, t1 int64, next senders) {
	r := n.r
	soon := int64(math.MaxInt64)
	var hops int64
	idx := r.p.Idx
	for banks := n.ports[l]; banks != 0; banks &= banks - 1 {
		b := bits.TrailingZeros64(banks)
		g := l*n.banks + b
		st := &n.stations[g]
		first := g * n.pairs
		blocked := n.blocked(l, b)
		a := max(st.lastA+1, t0)
		// A window has at most 64 cycles: SPUs by the one from which their pair may go.
		var ready, cycles uint64
		var begin [64]uint64
		for m := st.port; m != 0; m &= m - 1 {
			q := bits.TrailingZeros64(m)
			p := &r.ports[first+q]
			key := p.ready() + int64(q) + 1
			switch {
			case blocked>>p.way&1 != 0:
				soon = min(soon, t1)
				continue
			case key <= a:
				ready |= 1 << q
			case key < t1:
				begin[(key-t0)&63] |= 1 << q
				cycles |= 1 << ((key - t0) & 63)
			default:
				soon = min(soon, key)
				continue
			}
			// What these SPUs go on with is loaded for all at once: each alone would wait.
			prefetch.Lines(unsafe.Pointer(&r.spus[first+q]), 1)
			if p.next < int64(len(idx)) {
				prefetch.Lines(unsafe.Pointer(&idx[p.next]), 1)
			}
		}
		for a < t1 {
			at := uint(a-t0) & 63
			if ready |= begin[at]; ready == 0 {
				later := cycles >> at
				if later == 0 {
					break
				}
				a += int64(bits.TrailingZeros64(later))
				continue
			}
			begin[at] = 0
			cycles &^= 1 << at
			best := 63 - bits.LeadingZeros64(ready)
			s := first + best
			u, p := &r.spus[s], &r.ports[s]
			ready &^= 1 << best
			if p.way == wayBank && n.reserved[g] >= n.cap {
				n.raised[l] = true
				soon = min(soon, t1)
				continue
			}
			n.enter(st, l, b, p.way, p.from(a))
			hops += int64(best) + 1
			st.lastA = a
			u.state &^= stPending
			n.resume(next, s, r.spuAfter(a-int64(best)-1))
			a++
			key := p.ready() + int64(best) + 1
			switch {
			case u.state&stPending == 0:
				st.port &^= 1 << best
			case blocked>>p.way&1 != 0:
				soon = min(soon, t1)
			case key <= a:
				ready |= 1 << best
			case key < t1:
				begin[(key-t0)&63] |= 1 << best
				cycles |= 1 << ((key - t0) & 63)
			default:
				soon = min(soon, key)
			}
		}
		if ready != 0 {
			soon = min(soon, t1)
		}
		if st.port == 0 {
			n.ports[l] &^= 1 << b
		}
		n.note(l, b)
	}
	n.idle[l] = soon
	n.lineH[l] += hops
}

// Bits of what a bank's SPUs must not send now: a bit for each layer, and these.
const (
	wayLogic = 63
	wayBank  = 62
)

// blocked tells which pairs must not enter a bank's station.
func (n *network) blocked(l, b int) (mask uint64) {
	if n.rings[l].backlog(b) >= n.port {
		mask |= 1 << l
		if n.ringWay {
			mask |= 1<<n.layers - 1
		}
	}
	up, down := n.columns[b].queue[0][l].size() >= n.port, n.columns[b].queue[1][l].size() >= n.port
	if down {
		mask |= 1 << wayLogic
	}
	for other := range n.layers {
		if n.ringWay {
			break
		}
		if other > l && up || other < l && down || other != l && n.full[other]>>b&1 != 0 {
			mask |= 1 << other
		}
	}
	return mask
}

// enter puts a pair that came along the line into the queue of its way.
func (n *network) enter(st *station, l, b int, way uint8, f flit) {
	switch way {
	case wayBank:
		n.reserved[l*n.banks+b]++
		st.direct.push(f)
	case wayLogic:
		n.columns[b].queue[1][l].push(f)
	default:
		n.route(st, l, b, f)
	}
}

// route puts a pair at a station of layer l and bank b into its next queue; false if
// its dispatcher, which it is at, has no place.
func (n *network) route(st *station, l, b int, f flit) bool {
	if f.layer() != l && (!n.ringWay || f.bank() == b) {
		d := 0
		if f.layer() < l {
			d = 1
		}
		n.columns[b].queue[d][l].push(f)
		return true
	}
	if f.bank() == b {
		if n.reserved[l*n.banks+b] >= n.cap {
			return false
		}
		n.reserved[l*n.banks+b]++
		st.direct.push(f)
		return true
	}
	d, _ := n.way(b, f.bank())
	g := &n.rings[l]
	g.queue[d][b].push(f)
	st.most = max(st.most, int32(g.backlog(b)))
	return true
}

// way is the direction from one bank of a ring to another, and the hops: the shorter
// way where there are two, clockwise from even banks where both are equal. Where a
// pair goes cannot be predicted, so there is no branch here, nor in [wrap].
func (n *network) way(from, to int) (d, hops int) {
	h := wrap(to-from, n.banks)
	d = int(uint(n.banks-2*h-from&1) >> 63)
	if !n.both {
		d = 0
	}
	return d, h + d*(n.banks-2*h)
}

// wrap returns b, which is from -k to 2k-1, modulo k.
func wrap(b, k int) int {
	if k == 64 {
		return b & 63
	}
	b += k & (b >> 63)
	return b - k&^((b-k)>>63)
}

// tsvs runs the columns that have pairs for a window, and says whether anything moved.
func (n *network) tsvs(t0, t1 int64) (moved bool) {
	var columns uint64
	for l := range n.layers {
		columns |= n.climbs[0][l] | n.climbs[1][l]
	}
	if columns == 0 {
		return false
	}
	n.used |= columns
	var list [64]uint8
	k := 0
	for m := columns; m != 0; m &= m - 1 {
		list[k] = uint8(bits.TrailingZeros64(m))
		k++
	}
	n.parallel(k, k, func(i int) {
		c := int(list[i])
		n.moved[n.layers+c] = n.tsv(c, t0, t1)
	})
	for _, c := range list[:k] {
		moved = moved || n.moved[n.layers+int(c)]
		for l := range n.layers {
			n.note(l, int(c))
		}
		if len(n.logic[c]) > 0 {
			n.logics |= 1 << c
		}
	}
	return moved
}

// tsv runs a column for a window and says whether anything moved.
func (n *network) tsv(c int, t0, t1 int64) (moved bool) {
	for d := range 2 {
		// A window has at most 64 cycles: layers by the one from which their front may go.
		var ready, cycles uint64
		for l := range n.layers {
			if n.climbs[d][l]>>c&1 == 0 {
				continue
			}
			if next := n.columns[c].queue[d][l].next(); next <= t0 {
				ready |= 1 << l
			} else if next < t1 {
				cycles |= 1 << ((next - t0) & 63)
			}
		}
		if ready|cycles != 0 && n.climb(c, d, t0, t1, ready, cycles) {
			moved = true
		}
	}
	return moved
}

// climb runs one direction of a column, where some layers have a pair from the start,
// and others from some cycles on.
func (n *network) climb(c, d int, t0, t1 int64, ready, cycles uint64) (moved bool) {
	col := &n.columns[c]
	var hops int64
	var begin [64]uint64
	for l := range n.layers {
		if next := col.queue[d][l].next(); next > t0 && next < t1 {
			begin[(next-t0)&63] |= 1 << l
		}
	}
	sign := int64(1 - 2*d)
	for t := t0; t < t1; t++ {
		at := uint(t-t0) & 63
		if ready |= begin[at]; ready == 0 {
			later := cycles >> at
			if later == 0 {
				break
			}
			t += int64(bits.TrailingZeros64(later)) - 1
			continue
		}
		for m := ready; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			level := int64(l + 1) // the logic layer is 0
			slot := t - sign*level
			if was := &col.slot[d][slot&127]; *was == slot {
				if (int64(col.dest[d][slot&127])-level)*sign > 0 {
					continue // occupied
				}
			}
			q := &col.queue[d][l]
			f := q.front()
			to := int64(f.layer()) + 1
			if f.layer() == toLogicLayer {
				to = 0
			}
			dist := (to - level) * sign
			f = f.from(t + dist)
			if to == 0 {
				n.logic[c] = append(n.logic[c], arrival{at: t + dist, col: uint8(c), f: f})
			} else if !n.route(&n.stations[f.layer()*n.banks+c], f.layer(), c, f) {
				n.raised[n.layers+c] = true
				continue
			}
			col.slot[d][slot&127], col.dest[d][slot&127] = slot, int16(to)
			q.pop()
			hops += dist
			moved = true
			if next := q.next(); next > t+1 {
				ready &^= 1 << l
				if next < t1 {
					begin[(next-t0)&63] |= 1 << l
					cycles |= 1 << ((next - t0) & 63)
				}
			}
		}
	}
	n.tsvH[c] += hops
	return moved
}

// rotate turns the low k bits of x left by by.
func rotate(x uint64, by, k int) uint64 {
	if k == 64 {
		return bits.RotateLeft64(x, by)
	}
	by %= k
	if by < 0 {
		by += k
	}
	return (x<<by | x>>(k-by)) & (1<<k - 1)
}

// ring runs the ring of a layer, and the stores of its banks, for a window.
func (n *network) ring(l int, t0, t1 int64) {
	g := &n.rings[l]
	base := l * n.banks
	waits := n.waits[l]
	direct := n.direct[l] // arrivals that need no ring
	work := g.inFlight > 0
	if work || waits != 0 {
		g.used, g.want, g.ready = true, [2]uint64{}, [2][64]uint64{}
	}
	for m := waits; m != 0; m &= m - 1 {
		b := bits.TrailingZeros64(m)
		for d := range 2 {
			if ready := g.queue[d][b].next(); ready <= t0 {
				g.want[d] |= 1 << b
				work = true
			} else if ready < t1 {
				g.ready[d][ready&63] |= 1 << b
				work = true
			}
		}
	}
	if work {
		n.turn(l, t0, t1)
	}
	for m := direct; m != 0; m &= m - 1 {
		b := bits.TrailingZeros64(m)
		st := &n.stations[base+b]
		n.flushDirect(l, st, b, t1)
		if st.direct.size() == 0 {
			n.direct[l] &^= 1 << b
		}
	}
	full := uint64(0)
	for m := waits; m != 0; m &= m - 1 {
		b := bits.TrailingZeros64(m)
		switch left := g.backlog(b); {
		case left >= n.port:
			full |= 1 << b
		case left == 0:
			n.waits[l] &^= 1 << b
		}
	}
	n.fuller[l] = full
}

// turn moves a ring cycle by cycle.
func (n *network) turn(l int, t0, t1 int64) {
	g := &n.rings[l]
	base := l * n.banks
	k := n.banks
	ways := 1
	if n.both {
		ways = 2
	}
	shift := int(t0 % int64(k))
	reserved := n.reserved[base : base+k]
	busy, hops, pairs := int64(0), int64(0), 0
	for t := t0; t < t1; t++ {
		now := t & 63
		if here := [2]uint64{g.freed[0][now], g.freed[1][now]}; here[0]|here[1] != 0 {
			g.freed[0][now], g.freed[1][now] = 0, 0
			g.occupied[0] &^= here[0]
			g.occupied[1] &^= here[1]
			if n.ringOnly {
				n.latest[l] = t
			}
			if !n.ringOnly || n.arrived != nil {
				n.leave(l, t, shift, here)
			}
		}
		for d := range ways {
			occupied := g.occupied[d]
			want := g.want[d] | g.ready[d][now]
			if want != 0 {
				turn, sign := -shift, 1
				if d == 1 {
					turn, sign = shift, -1
				}
				slots, freed, queues := &g.slot[d], &g.freed[d], &g.queue[d]
				grants := rotate(want, turn, k) &^ occupied
				for ; grants != 0; grants &= grants - 1 {
					j := bits.TrailingZeros64(grants)
					b := wrap(j-turn, k)
					q := &queues[b&63]
					f := q.front()
					to := f.bank()
					if f.layer() == l {
						if reserved[to] >= n.cap {
							n.raised[l] = true
							want &^= 1 << b
							continue
						}
						reserved[to]++
					}
					h := wrap((to-b)*sign, k)
					freed[(t+int64(h))&63] |= 1 << j
					slots[j] = f
					pairs++
					hops += int64(h)
					occupied |= 1 << j
					q.pop()
					if next := q.next(); next > t+1 {
						want &^= 1 << b
						if next < t1 {
							g.ready[d][next&63] |= 1 << b
						}
					}
				}
			}
			g.want[d], g.occupied[d] = want, occupied
			busy += int64(bits.OnesCount64(occupied))
		}
		if g.occupied[0]|g.occupied[1]|g.want[0]|g.want[1] == 0 && g.ready == [2][64]uint64{} {
			break
		}
		if shift++; shift == k {
			shift = 0
		}
	}
	g.busy += busy
	g.hops += hops
	g.pairs += int64(pairs)
	n.moved[l] = n.moved[l] || pairs > 0
	g.inFlight = bits.OnesCount64(g.occupied[0]) + bits.OnesCount64(g.occupied[1])
}

// leave lets stations take the pairs in slots that are where these go in cycle t: one of
// each direction, that of the lesser source first.
func (n *network) leave(l int, t int64, shift int, here [2]uint64) {
	g := &n.rings[l]
	k := n.banks
	// Slots become stations.
	at := [2]uint64{rotate(here[0], shift, k), rotate(here[1], -shift, k)}
	for m := at[0] | at[1]; m != 0; m &= m - 1 {
		b := bits.TrailingZeros64(m)
		j := [2]int{wrap(b-shift, k), wrap(b+shift, k)}
		first := 0
		if at[0]>>b&1 == 0 || at[1]>>b&1 != 0 && g.slot[1][j[1]].src() < g.slot[0][j[0]].src() {
			first = 1
		}
		for _, d := range [2]int{first, 1 - first} {
			if at[d]>>b&1 != 0 {
				n.drop(l, t, g.slot[d][j[d]])
			}
		}
	}
}

// drop is what a station does with a pair that leaves the ring.
func (n *network) drop(l int, t int64, f flit) {
	f = f.from(t)
	if n.ringOnly {
		n.arrived(t, f)
		return
	}
	st := &n.stations[l*n.banks+f.bank()]
	if f.layer() != l { // by ring first
		d := 0
		if f.layer() < l {
			d = 1
		}
		n.columns[f.bank()].queue[d][l].push(f)
		n.climbs[d][l] |= 1 << f.bank()
		return
	}
	if st.direct.size() > 0 {
		n.flushDirect(l, st, f.bank(), t+1)
	}
	n.take(l, st, f)
}

// flushDirect stores arrivals that need no ring up to a cycle.
func (n *network) flushDirect(l int, st *station, b int, before int64) {
	for st.direct.size() > 0 {
		f := st.direct.front()
		if f.ready() >= before {
			return
		}
		n.take(l, st, f)
		st.direct.pop()
		n.moved[l] = true
	}
}

// take stores a pair that has arrived at its dispatcher.
func (n *network) take(l int, st *station, f flit) {
	s := &st.store
	at := max(f.ready(), s.last+1)
	k := len(s.pairs)
	if n.wordly > 0 {
		at = max(f.ready(), s.last+n.wordly)
		if k > 0 && k%n.rowFill == 0 {
			at += n.rowLink
		}
	} else {
		w := k / n.rowFill & 1
		if k%n.rowFill == 0 {
			at = max(at, s.free[w])
		}
		if k%n.rowFill == n.rowFill-1 {
			s.free[w] = max(at+1, s.free[1-w]) + n.rowLink
		}
	}
	s.last = at
	n.latest[l] = max(n.latest[l], at+n.rowLink) // the last row is stored
	if len(s.pairs) == cap(s.pairs) {            // append would copy five times as much
		s.pairs = slices.Grow(s.pairs, max(32, min(len(s.pairs), int(n.cap)-len(s.pairs))))
	}
	s.pairs = append(s.pairs, f.pair)
	if n.r.log != nil {
		n.r.log.arrived(l*n.banks+f.bank(), f)
	}
}

// vaults reduces what has come down before a cycle: in the order of arrival, then of
// columns.
func (n *network) vaults(before int64) {
	r := n.r
	n.merged = n.merged[:0]
	for m := n.logics; m != 0; m &= m - 1 {
		c := bits.TrailingZeros64(m)
		list := n.logic[c]
		later := list[:0]
		for _, a := range list {
			if a.at < before {
				n.merged = append(n.merged, a)
			} else {
				later = append(later, a)
			}
		}
		if n.logic[c] = later; len(later) == 0 {
			n.logics &^= 1 << c
		}
	}
	if len(n.merged) == 0 {
		return
	}
	sortArrivals(n.merged)
	reduce := int64(math.Round(r.m.Logic.Reduce * r.m.linkMHz()))
	for i := range n.merged {
		a := &n.merged[i]
		v := int(a.f.idx()) % len(n.vaultDone)
		n.vaultDone[v] = max((a.at+1)*1000, n.vaultDone[v]) + reduce
		r.down(a.f)
	}
}

// sortArrivals sorts by cycle and column.
func sortArrivals(list []arrival) {
	slices.SortFunc(list, func(a, b arrival) int {
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		return cmp.Compare(a.col, b.col)
	})
}
