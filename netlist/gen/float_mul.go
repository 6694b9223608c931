package gen

import (
	"math/bits"

	"github.com/bitsched/bitsched/netlist"
)

// floatMul is a * b.
func floatMul(b *builder, p params) {
	f, flush := floatFormat(p)
	x, y := b.floatInput("a", f), b.floatInput("b", f)
	b.floatOutput("y", b.mulFloat(x, y, f, flush))
}

// unpacked is an operand of a product.
type unpacked struct {
	significand   []lit
	exp           []lit // that of the smallest normal number for a subnormal one
	zero, special lit   // special: an infinity or a NaN
	nan           lit
}

// unpack takes a word apart. With flush the leading bit of the significand is
// set even for zero.
func (b *builder) unpack(x float, flush bool) unpacked {
	lead, some := b.OrAll(x.exp), b.OrAll(x.frac)
	u := unpacked{exp: joined(x.exp), special: b.AndAll(x.exp)}
	u.nan = b.And(u.special, some)
	if flush {
		u.significand = joined(x.frac, []lit{netlist.True})
		u.zero = lead.Not()
		return u
	}
	u.significand = joined(x.frac, []lit{lead})
	u.zero = b.Or(lead, some).Not()
	u.exp[0] = b.Or(u.exp[0], lead.Not())
	return u
}

// productExponent is the sum of two exponents less the bias, in two's complement
// with two bits more than an exponent has.
func (b *builder) productExponent(x, y []lit) []lit {
	// The bias is a power of two less one.
	sum, carry := b.ripple(x, y, netlist.True)
	last := len(sum) - 1
	negative := b.Or(sum[last], carry).Not()
	return joined(sum[:last], []lit{sum[last].Not(), b.Or(b.And(carry, sum[last]), negative), negative})
}

// settle gives a significand the place that its exponent allows: it moves word
// up until its top bit is set or the exponent 0 is reached, or down if the
// exponent, which is in two's complement, is negative. It returns what is above
// the lowest drop bits, with the lowest bit half of the last place, whether
// anything is set below, and the exponent then, one bit shorter. One shifter
// does both: for a negative exponent the word first moves down by a power of two
// that loses it all, and then up as far as the exponent, modulo that power,
// allows. most is how far up a word with a positive exponent may have to go.
func (b *builder) settle(word []lit, most, drop int, exp []lit) (moved []lit, below lit, out []lit) {
	last := len(exp) - 1
	negative := exp[last]
	k := bits.Len(uint(max(most, len(word)-drop-1)))
	by := 1 << k
	limit := make([]lit, max(last, k))
	for i := range limit {
		limit[i] = exp[min(i, last)]
	}
	near := b.Or(negative.Not(), b.AndAll(limit[k:]))
	for i := range limit {
		if i < k {
			limit[i] = b.And(limit[i], near)
		} else {
			limit[i] = b.And(limit[i], negative.Not())
		}
	}
	// Bits that end below can come up again only by what one move less does.
	room := max(0, by-1-drop)
	placed := make([]lit, room+len(word))
	for i := range placed {
		placed[i] = b.Mux(negative, at(word, i-room+by), at(word, i-room))
	}
	lost := b.And(negative, b.OrAll(word[:min(max(0, by-room), len(word))]))
	moved, below, places := b.normalise(placed, by-1, drop+room, 0, limit)
	out, _ = b.subtract(limit, extended(places, len(limit)), netlist.False)
	return moved, b.Or(lost, below), out[:last]
}

// mulFloat multiplies the significands as they are, and then moves the product
// up if one was subnormal and down if the result is. Never both: the move up
// ends at the smallest exponent.
func (b *builder) mulFloat(x, y float, f format, flush bool) float {
	u, v := b.unpack(x, flush), b.unpack(y, flush)
	product := b.multiply(u.significand, v.significand)
	sum := b.productExponent(u.exp, v.exp)
	zero, special := b.Or(u.zero, v.zero), b.Or(u.special, v.special)
	var (
		frac, exp []lit
	)
	if flush {
		norm, below, places := b.normalise(product, 1, f.frac, 0, nil)
		// The exponent is that of a product of two or more, which pack's leading
		// bit adds to, unless the product was moved.
		norm[f.frac+1] = places[0].Not()
		frac, exp = b.rounded(sum, norm, below)
		sign := exp[f.exp+1]
		under := b.Or(sign, b.OrAll(exp[:f.exp+1]).Not())
		exp = exp[:f.exp+1]
		zero = b.Or(zero, under)
	} else {
		norm, below, e := b.settle(product, f.frac+1, f.frac, sum)
		frac, exp = b.rounded(e, norm, below)
	}
	over := b.Or(exp[f.exp], b.AndAll(exp[:f.exp]))
	infinite := b.Or(special, b.And(over, zero.Not()))
	nan := b.OrAll([]lit{u.nan, v.nan, b.And(special, b.Or(u.zero, v.zero))})
	exp = b.extreme(exp[:f.exp], infinite, zero)
	kill := infinite
	if flush {
		kill = b.Or(kill, zero)
	}
	sign := b.And(b.Xor(x.sign, y.sign), nan.Not())
	return float{b.special(frac, kill, nan), exp, sign}
}
