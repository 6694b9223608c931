package sparse

import "math"

// linkLoads counts what each link of the stack carries: a lower bound of the time in
// which pairs move, by the link with the most of them.
type linkLoads struct {
	n     *network
	line  []int64      // pairs that reach the dispatcher's stop, by bank
	ring  [][2][]int64 // by layer and direction: pairs that enter a segment less those that left the one before
	wrap  [][2]int64   // pairs that pass from the last bank to the first
	tsv   [][2][]int64 // likewise by column; segment 0 is next to the logic layer
	store []int64      // pairs for a dispatcher
	vault []int64
}

func newLinkLoads(n *network) *linkLoads {
	b := &linkLoads{n: n, line: make([]int64, len(n.stations)), ring: make([][2][]int64, n.layers), wrap: make([][2]int64, n.layers), tsv: make([][2][]int64, n.banks), store: make([]int64, len(n.stations)), vault: make([]int64, len(n.vaultDone))}
	for l := range b.ring {
		b.ring[l] = [2][]int64{make([]int64, n.banks+1), make([]int64, n.banks+1)}
	}
	for c := range b.tsv {
		b.tsv[c] = [2][]int64{make([]int64, n.layers+1), make([]int64, n.layers+1)}
	}
	return b
}

// column sends a pair along a column from one level to another; the logic layer is 0.
func (b *linkLoads) column(c, from, to int) {
	d, lo, hi := 0, from, to
	if to < from {
		d, lo, hi = 1, to, from
	}
	b.tsv[c][d][lo]++
	b.tsv[c][d][hi]--
	b.n.tsvH[c] += int64(hi - lo)
}

// around sends a pair round the ring of a layer.
func (b *linkLoads) around(l, from, to int) {
	if from == to {
		return
	}
	d, h := b.n.way(from, to)
	first := from
	if d == 1 {
		first = to // segments are counted clockwise
	}
	b.ring[l][d][first]++
	if end := first + h; end <= b.n.banks {
		b.ring[l][d][end]--
	} else {
		b.wrap[l][d]++
		b.ring[l][d][end-b.n.banks]--
	}
	g := &b.n.rings[l]
	g.hops += int64(h)
	g.busy += int64(h)
	g.pairs++
}

// busiest is the most cycles that a link needs.
func (b *linkLoads) busiest() (most int64) {
	sums := func(diff []int64, from int64) {
		for _, v := range diff {
			from += v
			most = max(most, from)
		}
	}
	for l := range b.ring {
		for d := range 2 {
			sums(b.ring[l][d], b.wrap[l][d])
		}
	}
	for c := range b.tsv {
		for d := range 2 {
			sums(b.tsv[c][d], 0)
		}
	}
	n := b.n
	for g := range b.line {
		most = max(most, b.line[g])
		if n.wordly > 0 {
			most = max(most, b.store[g]*n.wordly)
		} else {
			most = max(most, b.store[g]/int64(n.rowFill)*n.rowLink)
		}
	}
	reduce := int64(math.Round(n.r.m.Logic.Reduce * n.r.m.linkMHz()))
	for _, v := range b.vault {
		most = max(most, v*reduce/1000)
	}
	return most
}

// bound lets SPUs send all their pairs at once, and takes the busiest link for the
// time. Dispatchers have room for all.
func (n *network) bound(from *spuSet, next senders) (end int64) {
	r := n.r
	b := newLinkLoads(n)
	from.each(func(s int) {
		u := &r.spus[s]
		g, q := s/n.pairs, s%n.pairs
		l, bank := g/n.banks, g%n.banks
		for n.resume(next, s, 0) {
			u.state &^= stPending
			f := r.ports[s]
			n.lineH[l] += int64(q) + 1
			b.line[g]++
			if f.way == wayLogic {
				b.column(bank, l+1, 0)
				b.vault[int(f.idx())%len(b.vault)]++
				r.down(f.flit)
				continue
			}
			dst := f.layer()
			to := dst*n.banks + f.bank()
			if dst != l {
				at := bank
				if n.ringWay {
					b.around(l, bank, f.bank())
					at = f.bank()
				}
				b.column(at, l+1, dst+1)
			}
			if !n.ringWay || dst == l {
				b.around(dst, bank, f.bank())
			}
			b.store[to]++
			n.reserved[to]++
			st := &n.stations[to].store
			st.pairs = append(st.pairs, f.pair)
			if r.log != nil {
				r.log.arrived(to, f.flit)
			}
		}
	})
	return b.busiest()
}

// receiveBound is the fewest cycles in which an SPU takes a number of pairs: their
// instructions and rows, and one row of outputs.
func (r *runner) receiveBound(pairs int64) int64 {
	rows := (2*pairs + r.time.mask) >> r.time.shift
	return 1 + 3*pairs + (rows+2)*r.time.row
}
