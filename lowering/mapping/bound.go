package mapping

import (
	"fmt"
	"math"

	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// Bound is cycles below which no mapping can be, and why.
type Bound struct {
	Cycles int64
	Reason string
}

// LowerBound returns the greatest of several bounds that follow from operator and
// platform alone: products over units, results and operands over each link.
func (q *Problem) LowerBound() Bound {
	best := Bound{0, "nothing to do"}
	take := func(cycles int64, format string, args ...any) {
		if cycles > best.Cycles {
			best = Bound{cycles, fmt.Sprintf(format, args...)}
		}
	}
	b := q.ComputeBound()
	take(b.Cycles, "%s", b.Reason)
	if q.buffer > 0 {
		bytes := int64(0)
		for t := range 2 {
			if (!q.tensors[t].static || q.Options.Cold && q.consts == nil) && !q.Options.Resident[t] {
				bytes += bytesOf(q.tensors[t].touched, q.tensors[t].bits)
			}
		}
		take(ceilDiv(bytes*1000, q.offMilli), "%d bytes from off-chip memory", bytes)
		out := bytesOf(q.tensors[Dst].touched, int64(q.outBits))
		if !q.Options.Resident[Dst] {
			take(ceilDiv(out*1000, q.offMilli), "%d bytes to off-chip memory", out)
		}
	}
	if q.Platform.Executor != platform.SIMDExecutor {
		// Every result leaves through a link of the outermost level, at most all of them at once.
		i := q.levels - 1
		b := bytesOf(q.tensors[Dst].touched, int64(q.accBits))
		take(ceilDiv(b*1000, q.milli[i]), "%d bytes of results over the link of level %s", b, q.Platform.Levels[i].Name)
	}
	return best
}

// ComputeBound is the bound of products alone, spread over all units.
func (q *Problem) ComputeBound() Bound {
	best := Bound{0, "nothing to do"}
	macs := float64(q.Op.MACs())
	take := func(cycles int64, format string, args ...any) {
		if cycles > best.Cycles {
			best = Bound{cycles, fmt.Sprintf(format, args...)}
		}
	}
	units := float64(q.Platform.Units())
	switch {
	case q.mac != nil:
		bitlines := units * float64(q.Platform.Array.Cols)
		operands := int64(math.MaxInt64)
		for i := range q.functions {
			if !q.functions[i].program && q.functions[i].ok[0] {
				operands = int64(math.Ceil(q.ProductCycles(macs)))
			}
		}
		if q.consts == nil {
			take(operands, "%.0f products with their sums of %d cycles on %.0f bitlines", macs, int64(q.productTime()), bitlines)
			break
		}
		sums, digits := q.digitBound()
		if n := int64(math.Ceil(sums / bitlines)); n < operands {
			take(n, "%.0f sums of digits of weights on %.0f bitlines", digits, bitlines)
		} else {
			take(operands, "%.0f products with their sums of %d cycles on %.0f bitlines", macs, int64(q.productTime()), bitlines)
		}
	case q.Platform.Executor == platform.CrossbarExecutor:
		least := int64(math.MaxInt64)
		var why string
		for swap := range 2 {
			perStep, step := q.crossbarStep(swap)
			n := int64(math.Ceil(macs/perStep/units)) * step
			if n < least {
				least, why = n, fmt.Sprintf("%.0f products, %.0f a step of %d cycles on each of %.0f crossbars", macs, perStep, step, units)
			}
		}
		take(least, "%s", why)
	default:
		s := q.Platform.SIMD
		take(int64(math.Ceil(macs/units/float64(s.Lanes)))*int64(s.MACCycles), "%.0f products on %.0f lanes, %d cycles each", macs, units*float64(s.Lanes), s.MACCycles)
	}
	return best
}

// ProductCycles returns the cycles of so many products as operands, if all places of all units
// are busy all the time.
func (q *Problem) ProductCycles(products float64) float64 {
	units := float64(q.Platform.Units())
	switch {
	case q.mac != nil:
		return products * q.productTime() / (units * float64(q.Platform.Array.Cols))
	case q.Platform.Executor == platform.CrossbarExecutor:
		least := math.Inf(1)
		for swap := range 2 {
			perStep, step := q.crossbarStep(swap)
			least = min(least, products/perStep/units*float64(step))
		}
		return least
	}
	s := q.Platform.SIMD
	return products / units / float64(s.Lanes) * float64(s.MACCycles)
}

// productTime is the cycles of a product with its sum on a bitline, at least. Activations of one unit
// come at least as seldom as all units of a group share them.
func (q *Problem) productTime() float64 {
	t := q.mac
	mac := timing{t.mulTime.cycles + t.addTime[t.width].cycles, t.mulTime.activations + t.addTime[t.width].activations}
	took := float64(q.throttled(mac, 1))
	if h := q.Platform.Array.Throttle; h != nil {
		took = max(took, float64(mac.activations)*float64(q.fanOut[0])*float64(h.WindowCycles)/float64(h.Activations))
	}
	return took
}

// crossbarStep returns the products of a step of a crossbar at most, and its cycles, by order
// of operands.
func (q *Problem) crossbarStep(swap int) (products float64, cycles int64) {
	c := q.Platform.Crossbar
	return float64(c.Rows) * float64(int64(c.Cols)/q.cells(q.tensors[swap].bits)), q.mvmCycles(q.tensors[1-swap].bits)
}

// touched returns the elements of a tensor that the nest needs at least: those that it
// reads at some iteration, counted from below.
func (q *Problem) touched(t int) int64 {
	var e [MaxLoops]int64
	for l := range q.loops {
		e[l] = int64(q.extent[l])
	}
	at := func(i int) int64 {
		d := &q.tensors[t].dims[i]
		if d.insert > 1 || len(d.terms) > 2 {
			return 1
		}
		return d.distinct(&e)
	}
	n := int64(1)
	for i := range q.tensors[t].dims {
		if q.tensors[t].shared == nil {
			n *= at(i)
		}
	}
	for _, group := range q.tensors[t].shared { // at least as many as along one of them
		most := int64(1)
		for _, i := range group {
			most = max(most, at(i))
		}
		n *= most
	}
	return n
}

// digitBound returns the cycles of bitlines that all digits of weights take at least, and how
// many sums those are, where weights are instructions.
func (q *Problem) digitBound() (cycles, sums float64) {
	c, a := q.consts, q.Platform.Array
	each := 1.0 // products of a weight
	for l := range q.loops {
		if q.tensors[c.tensor].indexed>>l&1 == 0 {
			each *= float64(q.extent[l])
		}
	}
	for v, n := range c.count {
		for _, d := range signedDigits(int64(v)) {
			t := q.time(q.digitInstrs(q.mac.width, d, q.anywhere(), 0, true), q.mac.tech)
			took := float64(q.throttled(t, 1))
			if h := a.Throttle; h != nil {
				took = max(took, float64(t.activations)*float64(q.fanOut[0])*float64(h.WindowCycles)/float64(h.Activations))
			}
			cycles += took * float64(n) * each
			sums += float64(n) * each
		}
	}
	return cycles, sums
}
