package mapping

import "github.com/bitsched/bitsched/lowering/mapping/platform"

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
	return q.sizesBound(&x, 0)
}

// sizesBound is SizesBound of a mapping whose waves are complete, without flags; of a
// quotient, classes from open on have no sizes yet.
func (q *Problem) sizesBound(x *Mapping, open int) (int64, Violation) {
	s := shape{m: x, open: open}
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
	p.load[Src1][q.levels], p.load[Src2][q.levels] = 0, 0
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
func (q *Problem) ScheduleBound(m *Mapping) (int64, Violation) {
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
	drain, _ := q.drainTime(&p)
	least := b.unit
	start, _ := q.loadTime(&p, b.startMask)
	if m.Double {
		least += start + drain
		least = max(least, b.links(q, &p))
	} else {
		least += max(b.links(q, &p)+b.latencies(q), start) + b.times[Dst]*drain
	}
	if q.buffer == 0 {
		return least, Legal
	}
	first, all, events := int64(0), int64(0), int64(0)
	for o := range 2 {
		x := &q.tensors[m.Tensor(o)]
		n := int64(1)
		for l := range q.loops {
			if x.indexed>>l&1 == 1 {
				n *= int64(m.Factor[SlotTile][l])
			}
		}
		if p.tileLoad[o] == 0 || x.static && !q.Options.Cold && n == 1 || !m.Keep[o] || q.Options.Resident[m.Tensor(o)] {
			continue // nothing is loaded: the weights are instructions, or it is there
		}
		events = max(events, n)
		first += p.tileLoad[o]
		all += n * p.tileLoad[o]
	}
	out := int64(1)
	for l := range q.loops {
		if q.tensors[Dst].indexed>>l&1 == 1 {
			out *= int64(m.Factor[SlotTile][l])
		}
	}
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
	for o := range 3 {
		b.unit -= b.times[o] * p.write[o]
	}
	finish := int64(0)
	for _, n := range p.finish {
		finish += n
	}
	b.unit -= b.times[Dst] * finish
	for o := range 3 {
		if b.times[o] == 0 {
			continue // loaded already
		}
		// From the outermost loop to the innermost that indexes the tensor.
		n, all := int64(1), int64(1)
		indexed := q.tensors[m.Tensor(o)].indexed
		for _, nest := range [2]struct {
			order *[MaxLoops]uint8
			slot  int
		}{{&m.Tile, SlotTile}, {&m.Wave, SlotWave}} {
			for i := range q.loops {
				l := nest.order[i]
				if f := int64(m.Factor[nest.slot][l]); f > 1 {
					all *= f
					if indexed>>l&1 == 1 {
						n = all
					}
				}
			}
		}
		b.unit += n * p.write[o]
		if o == Dst {
			b.unit += n * finish
		}
	}
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
	return b.unit + start + drain
}

// counted is how often things happen at least.
type counted struct {
	unit      int64    // cycles of a unit
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
