package mapping

import (
	"math"
	"math/bits"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// rowPlan is where words lie in the rows of an array: the sum, then what a product
// needs, then operands with their copies.
type rowPlan struct {
	column int    // bits of the sum of a bitline
	final  int    // bits after sums over bitlines and units
	temp   int    // first row of products and moved sums
	source [2]int // first row of an operand
	copies [2]int
	words  [2]int // words of an operand on a bitline
	width  [2]int // rows of a word
	used   int
}

// rows plans the rows of a shape.
func (q *Problem) rows(s *shape) rowPlan {
	t := q.mac
	var r rowPlan
	cap := q.maxWidth(t)
	// Terms that a bitline adds: its own products, as often as it goes round.
	k1 := int64(1)
	spread := int64(1) // over bitlines and units
	for d := range s.f.dims {
		if s.f.Reduction(d) {
			if s.f.indexes[Src1]>>d&1 == 1 && s.f.rowDims[d] {
				k1 *= s.size[d]
			} else {
				spread *= s.size[d]
			}
		}
	}
	r.column = min(cap, t.width+dnn.Log2(k1*s.timeRed))
	for i := range q.levels {
		spread *= s.reduce[i]
	}
	r.final = min(cap, r.column+dnn.Log2(spread))
	r.temp = r.final
	scratch := t.scratch
	if spread > 1 {
		scratch = max(scratch, r.final+t.add[r.final].Scratch)
	}
	if s.f.program {
		scratch = q.consts.scratch
		if spread > 1 {
			scratch += r.final
		}
	}
	at := r.temp + scratch
	time := s.waveLoop | s.tileLoop
	for o := range 2 {
		if o == Src2 && s.f.program {
			r.source[o], r.copies[o] = at, 1
			continue
		}
		r.words[o] = int(k1)
		tensor := &q.tensors[s.m.Tensor(o)]
		r.width[o] = int(tensor.bits)
		r.copies[o] = 1
		if s.m.Double && tensor.indexed&time != 0 {
			r.copies[o] = 2
		}
		r.source[o] = at
		at += r.words[o] * r.width[o] * r.copies[o]
	}
	r.used = at
	return r
}

// halves returns how many of n units stay as receivers, and how many send: half of them,
// rounded up, stay.
func halves(n int64) (stay, send int64) { return (n + 1) / 2, n / 2 }

// upper returns how many of n groups of columns stay as receivers: the largest power of two
// below n, so that distances have as few ones as the size of a group.
func upper(n int64) int64 { return 1 << (bits.Len64(uint64(n-1)) - 1) }

// shiftCycles returns the cycles of moving a row by a distance.
func (q *Problem) shiftCycles(dist int64) int64 {
	a := q.Platform.Array
	if a.ShiftSteps == "one" {
		return int64(a.ShiftCycles)
	}
	return int64(a.ShiftCycles) * int64(max(1, bits.OnesCount64(uint64(dist))))
}

// padded returns how many parallel places the columns of a unit might be padded to.
func (q *Problem) padded(s *shape) int64 {
	most := q.cols
	for d := range s.f.dims {
		switch {
		case s.f.Reduction(d) && s.f.colDims[d]:
			most /= s.size[d]
		case !s.f.Reduction(d) && !s.f.colDims[d]:
			return math.MaxInt64
		}
	}
	return most
}

// throttled returns the cycles of work with a number of activations in each of the
// active units of the first level.
func (q *Problem) throttled(t timing, active int64) int64 {
	h := q.Platform.Array.Throttle
	if h == nil {
		return t.cycles
	}
	return max(t.cycles, ceilDiv(t.activations*active*int64(h.WindowCycles), int64(h.Activations)))
}

// rowTime returns what writing, reading or shifting rows takes.
func (q *Problem) rowTime(rows, cycles, active int64) int64 {
	t := timing{cycles: rows * cycles}
	if h := q.Platform.Array.Throttle; h != nil {
		t.activations = rows * int64(h.PerRow)
	}
	return q.throttled(t, active)
}

func (q *Problem) priceArray(s *shape, p *price) Violation {
	a, t := q.Platform.Array, q.mac
	cols := int64(1)
	for d := range s.f.dims {
		if s.f.colDims[d] {
			cols *= s.size[d]
		}
	}
	if cols > q.cols {
		return BadColumns
	}
	r := q.rows(s)
	if r.used > t.usable {
		return BadRows
	}
	p.columns, p.column = cols, int64(r.column)
	active := s.spatial[0]
	k1 := int64(r.words[Src1])
	mac := timing{t.mulTime.cycles + t.addTime[r.column].cycles, t.mulTime.activations + t.addTime[r.column].activations}
	if s.f.program {
		p.constants = q.least(s, r.column)
	} else {
		p.unit[Compute] = k1 * q.throttled(mac, active)
	}
	for o := range 2 {
		p.write[o] = q.rowTime(int64(r.words[o]*r.width[o]), int64(a.RowWriteCycles), active)
	}
	p.write[Dst] = q.rowTime(int64(r.column), int64(a.RowWriteCycles), active)

	// Sums over the bitlines of a unit, then over units, level by level.
	width := r.column
	m := int64(1)
	for d := range s.f.dims {
		if !s.f.Reduction(d) {
			m *= s.size[d]
		}
	}
	for d := range s.f.dims {
		if s.f.Reduction(d) && s.f.colDims[d] {
			for n := s.size[d]; n > 1; {
				stay := upper(n)
				dist := m * stay
				if q.smooth {
					dist = 1<<leastOnes(m, q.padded(s)) - 1
				}
				p.finish[Reduce] += q.rowTime(int64(width), q.shiftCycles(dist), active)
				width = q.widen(width, &r, active, p)
				p.finish[Reduce] += q.throttled(t.addTime[width], active)
				n = stay
			}
		}
	}
	out := q.tensors[Dst].elements(&s.tileUnit)
	groups := int64(1) // results of a group of units
	for i := range q.levels {
		groups *= s.spatial[i] / s.reduce[i]
		for n := s.reduce[i]; n > 1; {
			stay, send := halves(n)
			b := bytesOf(out, int64(width)) * groups * send
			link := ceilDiv(b*1000, q.milli[i])
			p.summing += link
			p.finish[Reduce] += link + q.latency[i]
			p.finish[Reduce] += q.rowTime(int64(width), int64(a.RowWriteCycles), active)
			width = q.widen(width, &r, active, p)
			p.finish[Reduce] += q.throttled(t.addTime[width], active)
			n = stay
		}
	}
	p.finish[Drain] = q.rowTime(int64(width), int64(a.RowReadCycles), active)
	return Legal
}

// widen gives a sum one more bit, if it needs one: a row that takes its sign.
func (q *Problem) widen(width int, r *rowPlan, active int64, p *price) int {
	if width == r.final {
		return width
	}
	p.finish[Reduce] += q.rowTime(1, int64(q.Platform.Array.RowWriteCycles), active)
	return width + 1
}
