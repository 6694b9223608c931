package mapping

import (
	"math"

	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// SizesBound returns cycles below which no mapping with the factors of m in dimensions
// and levels can be, whatever goes round in waves or tiles, in which order and with
// which flags; or the rule that all of them break.
func (q *Problem) SizesBound(m *Mapping) (int64, Violation) {
	x := *m
	for l := range q.loops {
		x.Factor[SlotTile][l] = 1
		x.Factor[SlotWave][l] = uint32(ceilDiv(int64(q.extent[l]), x.Below(l, SlotWave)))
	}
	x.Double, x.DoubleTile, x.Keep = false, false, [3]bool{}
	return q.sizesBound(&x, 0, true)
}

// sizesBound is SizesBound of a mapping whose waves are complete, without flags; of a
// quotient, classes from open on have no sizes in units yet, and some have none in levels unless leveled.
func (q *Problem) sizesBound(x *Mapping, open int, leveled bool) (int64, Violation) {
	s := shape{m: x, open: open, leveled: leveled}
	var p price
	if v := q.shape(&s); v != Legal {
		return 0, v
	}
	if v := q.price(&s, &p); v != Legal {
		return 0, v
	}
	through := [3]int64{p.load[Src1][q.levels], p.load[Src2][q.levels], p.drain[q.levels]}
	// The first operands come from off-chip memory and the last results go there, whether
	// the buffer keeps them or not.
	if q.buffer > 0 && !q.Options.Resident[Dst] {
		p.drain[q.levels] = bytesOf(q.tensors[Dst].elements(&s.tile[q.levels-1]), int64(q.outBits))
		through[Dst] = p.drain[q.levels]
	}
	b := q.times(&s, &p)
	if !q.Options.Cold { // static operands may lie in the buffer
		for o := range 2 {
			if q.tensors[x.Tensor(o)].static {
				p.load[o][q.levels] = 0
			}
		}
	}
	start, _ := q.loadTime(&p, b.startMask)
	drain, _ := q.drainTime(&p)
	least := b.unit + start + drain
	p.load[Src1][q.levels], p.load[Src2][q.levels], p.drain[q.levels] = 0, 0, 0
	if q.relaxed && open <= q.loops/2 {
		least = max(least+b.reduced(q, &s, &p), start+b.drained(q, &s, &p))
	} else {
		least += b.exposed(q, &p, 0)
	}
	least = max(least, b.links(q, &p))
	if q.buffer > 0 {
		out := min(bytesOf(q.tensors[Dst].touched, int64(q.outBits)), b.times[Dst]*through[Dst])
		bytes := int64(0)
		for o := range 2 {
			t := x.Tensor(o)
			if (!q.tensors[t].static || q.Options.Cold) && !q.Options.Resident[t] {
				bytes += min(bytesOf(q.tensors[t].touched, q.tensors[t].bits), b.times[o]*through[o])
			}
		}
		if !q.Options.Resident[Dst] {
			least = max(least, ceilDiv(out*1000, q.offMilli))
		}
		least = max(least, ceilDiv(bytes*1000, q.offMilli))
	}
	return least, Legal
}

// ScheduleBound is SizesBound with the factors of waves and tiles and the flags given:
// only orders are open.
func (q *Problem) ScheduleBound(m *Mapping) (int64, Violation) { return q.scheduleBound(m, false) }

// TilesBound is ScheduleBound with the flags open too: without those that m has, as if all loads and drains
// were double and off-chip memory had no end of bandwidth.
func (q *Problem) TilesBound(m *Mapping) int64 {
	s := shape{m: m}
	var p price
	if q.shape(&s) != Legal || q.price(&s, &p) != Legal {
		return 0
	}
	p.load[Src1][q.levels], p.load[Src2][q.levels], p.drain[q.levels] = 0, 0, 0
	b := q.times(&s, &p)
	start, _ := q.loadTime(&p, b.startMask)
	drain, _ := q.drainTime(&p)
	least := b.unit + start + drain
	least += b.between(q, &s, &p, func(x *tensorInfo) int64 { return q.tilesOf(m, x) })
	return least + b.exposed(q, &p, 0)
}

// tilesOf returns the tiles of the buffer that a tensor comes in at least.
func (q *Problem) tilesOf(m *Mapping, x *tensorInfo) int64 {
	n := int64(1)
	for l := range q.loops {
		if x.indexed>>l&1 == 1 {
			n *= int64(m.Factor[SlotTile][l])
		}
	}
	return n
}

// OrderedBound is ScheduleBound with the orders of m.
func (q *Problem) OrderedBound(m *Mapping) (int64, Violation) { return q.scheduleBound(m, true) }

func (q *Problem) scheduleBound(m *Mapping, ordered bool) (int64, Violation) {
	s := shape{m: m}
	var p price
	if v := q.shape(&s); v != Legal {
		return 0, v
	}
	if v := q.price(&s, &p); v != Legal {
		return 0, v
	}
	if p.spills {
		return 0, BadBuffer
	}
	b := q.times(&s, &p)
	if ordered {
		b.order(q, m, &p)
	}
	drain, _ := q.drainTime(&p)
	least := b.unit
	start, _ := q.loadTime(&p, b.startMask)
	tiles := func(x *tensorInfo) int64 { // that a tensor comes in
		if ordered {
			n, _ := turns(q, m, x.indexed, SlotTile, 1)
			return n
		}
		return q.tilesOf(m, x)
	}
	if m.Double {
		first := int64(0)
		if ordered {
			first = q.firstLoads(m, &p)
		}
		links := b.links(q, &p)
		least += start + drain + b.between(q, &s, &p, tiles) + b.exposed(q, &p, first)
		least = max(least, links)
	} else {
		least += max(b.links(q, &p)+b.latencies(q), start) + b.times[Dst]*drain
	}
	if q.buffer == 0 {
		return least, Legal
	}
	first, all, events := int64(0), int64(0), int64(0)
	for o := range 2 {
		x := &q.tensors[m.Tensor(o)]
		n := tiles(x)
		if p.tileLoad[o] == 0 || x.static && !q.Options.Cold && n == 1 || !m.Keep[o] || q.Options.Resident[m.Tensor(o)] {
			continue // nothing is loaded: the weights are instructions, or it is there
		}
		events = max(events, n)
		first += p.tileLoad[o]
		all += n * p.tileLoad[o]
	}
	out := tiles(&q.tensors[Dst])
	if m.DoubleTile && s.tileLoop != 0 {
		least += q.offTime(first) + q.offTime(p.tileDrain)
		return max(least, ceilDiv((all+out*p.tileDrain)*1000, q.offMilli)), Legal
	}
	if !m.Keep[Dst] {
		out = 0
	}
	return least + ceilDiv(all*1000, q.offMilli) + events*q.offLatency + out*q.offTime(p.tileDrain), Legal
}

// OrderBound is cycles below which no mapping with the factors and orders of m is, whatever
// its flags: work of units, and first loads and last drains, which nothing can hide. Its sizes are legal.
func (q *Problem) OrderBound(m *Mapping, open int) int64 {
	s := shape{m: m, open: open}
	var p price
	if q.shape(&s) != Legal || q.price(&s, &p) != Legal {
		return 0
	}
	b := q.times(&s, &p)
	b.order(q, m, &p)
	if !q.Options.Cold {
		for o := range 2 {
			if q.tensors[m.Tensor(o)].static {
				p.load[o][q.levels] = 0
			}
		}
	}
	p.drain[q.levels] = 0
	start, _ := q.loadTime(&p, b.startMask)
	drain, _ := q.drainTime(&p)
	p.load[Src1][q.levels], p.load[Src2][q.levels] = 0, 0
	return b.unit + start + drain + b.exposed(q, &p, 0)
}

// turns returns how often a tensor changes in a nest, from the outermost loop to the innermost that
// indexes it, and the iterations of all, within a number of those outside of it.
func turns(q *Problem, m *Mapping, indexed uint16, slot int, outside int64) (n, all int64) {
	n, all = 1, outside
	order := &m.Wave
	if slot == SlotTile {
		order = &m.Tile
	}
	for i := range q.loops {
		l := order[i]
		if f := int64(m.Factor[slot][l]); f > 1 {
			all *= f
			if indexed>>l&1 == 1 {
				n = all
			}
		}
	}
	return n, all
}

// order counts what happens in the orders of m.
func (b *counted) order(q *Problem, m *Mapping, p *price) {
	finish := int64(0)
	for _, n := range p.finish {
		finish += n
	}
	for o := range 3 {
		if b.times[o] == 0 {
			continue // loaded already
		}
		each := p.write[o]
		if o == Dst {
			each += finish
		}
		indexed := q.tensors[m.Tensor(o)].indexed
		n, tiles := turns(q, m, indexed, SlotTile, 1)
		if k, _ := turns(q, m, indexed, SlotWave, tiles); k > 1 {
			n = k
		}
		b.unit += (n - b.times[o]) * each
		b.times[o] = n
	}
}

// counted is how often things happen at least.
type counted struct {
	unit      int64    // cycles of a unit
	waves     int64    // all of them
	times     [3]int64 // that an operand is taken, or a result leaves
	startMask uint8
}

func (q *Problem) times(s *shape, p *price) counted {
	b := counted{startMask: 3}
	waves := int64(1)
	for l := range q.loops {
		waves *= int64(s.m.Factor[SlotWave][l]) * int64(s.m.Factor[SlotTile][l])
	}
	var unit, finish int64
	for i := range NumParts {
		unit += p.unit[i]
		finish += p.finish[i]
	}
	b.unit = p.bankWrite + p.constants + waves*unit
	b.waves = waves
	if q.relaxed && s.open <= q.loops/2 { // classes without sizes may go round more often
		b.waves = math.MaxInt64
	}
	for o := range 3 {
		x := &q.tensors[s.m.Tensor(o)]
		n := int64(1)
		for l := range q.loops {
			if x.indexed>>l&1 == 1 {
				n *= int64(s.m.Factor[SlotWave][l]) * int64(s.m.Factor[SlotTile][l])
			}
		}
		if o == Src2 && s.f.program || o < Dst && n == 1 && x.static && !q.Options.Cold {
			n = 0
			b.startMask &^= 1 << o
		}
		b.times[o] = n
		b.unit += n * p.write[o]
	}
	b.unit += b.times[Dst] * finish
	return b
}

// links returns the cycles of all loads on the slowest link.
func (b *counted) links(q *Problem, p *price) int64 {
	if q.Platform.Executor == platform.SIMDExecutor {
		return 0
	}
	least := int64(0)
	for i := range q.levels {
		least = max(least, ceilDiv((b.times[Src1]*p.load[Src1][i]+b.times[Src2]*p.load[Src2][i])*1000, q.milli[i]))
	}
	if q.buffer > 0 {
		least = max(least, ceilDiv((b.times[Src1]*p.load[Src1][q.levels]+b.times[Src2]*p.load[Src2][q.levels])*1000, q.offMilli))
	}
	return least
}

// results returns the cycles that a number of copies of all results take on the link of a level at
// least, each in as many bits as the sum of a unit has: groups that work on other results have links of their own.
func (q *Problem) results(s *shape, p *price, level int, copies int64) int64 {
	width := int64(q.accBits)
	if q.mac != nil {
		width = p.column
	}
	groups := int64(1)
	for i := level + 1; i < q.levels; i++ {
		if s.leveled {
			groups *= s.spatial[i] / s.reduce[i]
		} else {
			groups *= int64(q.fanOut[i]) / s.reduce[i]
		}
	}
	return int64(float64(q.tensors[Dst].touched) * float64(width*copies) * 125 / float64(groups) / float64(q.milli[level]) * (1 - 1e-9))
}

// reduced returns what sums over units take on links beyond what work of units without all sizes has.
func (b *counted) reduced(q *Problem, s *shape, p *price) int64 {
	all := int64(0)
	for i := range q.levels {
		if s.reduce[i] > 1 && q.Platform.Executor != platform.SIMDExecutor {
			all += q.results(s, p, i, s.reduce[i]-1)
		}
	}
	return max(0, all-b.times[Dst]*p.summing)
}

// drained returns the cycles of drains, and of the waves that do not lie beside one, where not all sizes are known.
func (b *counted) drained(q *Problem, s *shape, p *price) int64 {
	if q.Platform.Executor == platform.SIMDExecutor {
		return 0
	}
	n := int64(0)
	for i := range q.levels {
		n = max(n, q.results(s, p, i, 1))
	}
	if s.timeRed > 1 { // the wave beside which a result leaves is not the one that finishes the next
		unit, finish := int64(0), b.reduced(q, s, p)
		for i := range NumParts {
			unit += p.unit[i]
			finish += b.times[Dst] * p.finish[i]
		}
		n += b.times[Dst]*(s.timeRed-1)*unit + finish
	}
	return n
}

// exposed returns cycles of links that no work of units hides, beside those of the first load and
// the last drain: a load or a drain lies beside one wave at most. First are those of loads beside waves before
// which nothing leaves.
func (b *counted) exposed(q *Problem, p *price, first int64) int64 {
	if q.Platform.Executor == platform.SIMDExecutor {
		return 0
	}
	wave := int64(0) // the work of one, at most
	for i := range NumParts {
		wave += p.unit[i] + p.finish[i]
	}
	for o := range 3 {
		wave += p.write[o]
	}
	over := func(cycles int64) int64 { return max(0, cycles-wave) }
	drain, _ := q.linkTime(&p.drain, true)
	most := first + (b.times[Dst]-1)*over(drain)
	var alone, n [2]int64
	for o := range 2 {
		if n[o] = max(0, b.times[o]-1); n[o] > 0 {
			t, _ := q.loadTime(p, 1<<o)
			alone[o] = over(t)
		}
	}
	most = max(most, n[Src1]*alone[Src1], n[Src2]*alone[Src2])
	// Both at once as seldom, or as often, as can be.
	if both := min(n[Src1], n[Src2]); both > 0 {
		t, _ := q.loadTime(p, 3)
		together := func(both int64) int64 {
			return both*over(t) + (n[Src1]-both)*alone[Src1] + (n[Src2]-both)*alone[Src2]
		}
		most = max(most, min(together(both), together(max(0, n[Src1]+n[Src2]-b.waves+1))))
	}
	return most
}

// between returns what is loaded and drained between tiles, beside no work, and leaves it out of what is counted.
func (b *counted) between(q *Problem, s *shape, p *price, tiles func(*tensorInfo) int64) int64 {
	if s.tileLoop == 0 || q.Platform.Executor == platform.SIMDExecutor {
		return 0
	}
	ends := int64(1)
	for l := range q.loops {
		ends *= int64(s.m.Factor[SlotTile][l])
	}
	ends--
	var n [3]int64
	for o := range 3 {
		x := &q.tensors[s.m.Tensor(o)]
		if n[o] = tiles(x) - 1; x.indexed&s.waveLoop != 0 {
			n[o] = ends // it begins anew with each tile
		}
		n[o] = max(0, min(n[o], b.times[o]-1))
		b.times[o] -= n[o]
	}
	drain, _ := q.linkTime(&p.drain, true)
	one, _ := q.loadTime(p, 1)
	two, _ := q.loadTime(p, 2)
	both, _ := q.loadTime(p, 3)
	together := func(k int64) int64 { return k*both + (n[Src1]-k)*one + (n[Src2]-k)*two }
	return n[Dst]*drain + min(together(min(n[Src1], n[Src2])), together(max(0, n[Src1]+n[Src2]-ends)))
}

// firstLoads returns what the first wave of each tile waits for the operands of the second.
func (q *Problem) firstLoads(m *Mapping, p *price) int64 {
	mask, tiles := uint8(0), int64(1)
	for i := range q.loops {
		l := m.Wave[i]
		tiles *= int64(m.Factor[SlotTile][l])
		if m.Factor[SlotWave][l] > 1 { // the innermost is the last
			mask = 0
			for o := range 3 {
				mask |= uint8(q.tensors[m.Tensor(o)].indexed>>l&1) << o
			}
		}
	}
	wave := int64(0)
	for i := range NumParts {
		wave += p.unit[i]
		if mask>>Dst&1 == 1 {
			wave += p.finish[i]
		}
	}
	for o := range 3 {
		wave += p.write[o] * int64(mask>>o&1)
	}
	load, _ := q.loadTime(p, mask)
	return tiles * max(0, load-wave)
}

// latencies are those of the loads that do not overlap.
func (b *counted) latencies(q *Problem) int64 {
	if q.Platform.Executor == platform.SIMDExecutor {
		return 0
	}
	n := int64(0)
	for i := range q.levels {
		n += q.latency[i]
	}
	return n * max(b.times[Src1], b.times[Src2])
}

func (q *Problem) drainTime(p *price) (int64, Part) {
	if q.Platform.Executor == platform.SIMDExecutor {
		return 0, Drain
	}
	return q.linkTime(&p.drain, true)
}
