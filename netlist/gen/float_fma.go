package gen

import (
	"math/bits"

	"github.com/bitsched/bitsched/netlist"
)

// floatFMA is a * b + c, rounded once. The product is exact and stays where it
// is; the addend moves over it.
//
// The frame for both has the product of 2 frac + 2 bits at its lower end, with
// three bits below for an addend below a product of a subnormal operand, and at
// its upper end the addend where it is highest: two bits apart, so that a
// product below that never counts but as something. An addend higher than that
// stays there, and the exponent is the addend's. Thus the exponent of the frame
// is never negative, and no result has to move down.
func floatFMA(b *builder, p params) {
	f, flush := floatFormat(p)
	x, y, z := b.floatInput("a", f), b.floatInput("b", f), b.floatInput("c", f)
	u, v, w := b.unpack(x, flush), b.unpack(y, flush), b.unpack(z, flush)
	none := b.Or(u.zero, v.zero)
	m := u.significand
	if flush {
		m = b.masked(m, none.Not())
	}
	product := b.multiply(m, v.significand)
	signP := b.Xor(x.sign, y.sign)
	minus := b.Xor(signP, z.sign)

	// The places from the upper end to the addend, in two's complement: the
	// exponent of the product and frac + 4, less the addend's exponent.
	const under, apart = 3, 2
	frame := under + 2*f.frac + 2 + apart + f.frac + 1
	width := bits.Len(uint(3<<f.exp+f.frac+apart+2)) + 1
	offset := constant(f.frac+apart+2-(1<<(f.exp-1)-1), width)
	places, _ := b.ripple(offset, extended(u.exp, width), netlist.False)
	places, _ = b.ripple(places, extended(v.exp, width), netlist.False)
	places, _ = b.subtract(places, extended(w.exp, width), netlist.False)
	places = b.masked(places[:width-1], b.Or(places[width-1], none).Not())
	exp, _ := b.ripple(places, extended(w.exp, width-1), netlist.False)
	gone := netlist.False
	if flush {
		gone = w.zero
	}
	addend, lost := b.shiftSticky(joined(zeros(frame-f.frac-1), w.significand), b.saturated(places, frame, gone))
	if flush {
		lost = b.And(lost, gone.Not())
	}

	// Addend plus or minus product. If that is negative the product is larger
	// and nothing is left above it; what the addend lost then makes the
	// difference less by a part of the last bit.
	sum := make([]lit, frame)
	carry := minus
	for i := range sum {
		s := minus
		if j := i - under; j < 0 || j >= len(product) {
			sum[i], carry = b.FullAdd(addend[i], s, carry)
		} else {
			sum[i], carry = b.FullAdd(addend[i], b.Xor(product[j], s), carry)
		}
	}
	negative := b.And(minus, carry.Not())
	most := under + len(product)
	carry = b.And(negative, lost.Not())
	for i, l := range sum {
		if i >= most {
			sum[i] = b.And(l, negative.Not())
			continue
		}
		c := b.Xor(l, negative)
		sum[i], carry = b.HalfAdd(c, carry)
	}

	// A zero above makes the exponent that of the frame less one, for pack.
	var limit []lit
	if !flush {
		limit = exp
	}
	norm, below, by := b.normalise(append(sum, netlist.False), frame-under, frame-f.frac-1, 0, limit)
	below = b.Or(below, lost)
	zero := b.Or(b.OrAll(norm), below).Not()
	if flush {
		// In two's complement, with a leading bit that is set.
		width = max(width, len(by)+1)
		exp, _ = b.subtract(extended(exp, width), extended(by, width), netlist.False)
		norm[f.frac+1] = netlist.True
	} else {
		exp, _ = b.subtract(exp, extended(by, width-1), netlist.False)
	}
	frac, exp := b.rounded(exp, norm, below)
	none = zero
	if flush {
		none = b.OrAll([]lit{zero, exp[width-1], b.OrAll(exp).Not()})
		exp = exp[:width-1]
	}
	over := b.Or(b.OrAll(exp[f.exp:]), b.AndAll(exp[:f.exp]))
	special := b.Or(u.special, v.special)
	infinite := b.OrAll([]lit{special, w.special, b.And(over, none.Not())})
	nan := b.OrAll([]lit{u.nan, v.nan, w.nan, b.And(u.special, v.zero), b.And(u.zero, v.special), b.AndAll([]lit{special, w.special, minus})})
	sign := b.Mux(b.Or(special, b.And(negative, w.special.Not())), signP, z.sign)
	kill := infinite
	if flush {
		kill = b.Or(kill, none)
	}
	cancelled := b.AndAll([]lit{minus, zero, infinite.Not()})
	b.floatOutput("y", float{
		frac: b.special(frac, kill, nan),
		exp:  b.extreme(exp[:f.exp], infinite, none),
		sign: b.And(sign, b.Or(cancelled, nan).Not()),
	})
}

// constant is a number in two's complement.
func constant(v, width int) []lit {
	out := make([]lit, width)
	for i := range out {
		out[i] = netlist.False.NotIf(v>>i&1 != 0)
	}
	return out
}
