package gen

import (
	"math/bits"

	"github.com/bitsched/bitsched/netlist"
)

// floatDiv is a / b: operands are normalised, and the quotient is one or one
// half at least, so it takes a bit more than the significand and its half place.
func floatDiv(b *builder, p params) {
	f, flush := floatFormat(p)
	x, y := b.floatInput("a", f), b.floatInput("b", f)
	u, v := b.unpack(x, flush), b.unpack(y, flush)

	// The exponent, less one for pack, in two's complement.
	width := max(f.exp, bits.Len(uint(f.frac))) + 2
	exp := zeros(width)
	for i := 1; i < f.exp-1; i++ { // the bias less one
		exp[i] = netlist.True
	}
	m, d := u.significand, v.significand
	if !flush {
		var up, down []lit
		m, _, up = b.normalise(m, f.frac, 0, 0, nil)
		d, _, down = b.normalise(d, f.frac, 0, 0, nil)
		m[f.frac], d[f.frac] = netlist.True, netlist.True // or zero, which is told apart
		exp, _ = b.subtract(exp, extended(up, width), netlist.False)
		exp, _ = b.ripple(exp, extended(down, width), netlist.False)
	}
	exp, _ = b.ripple(exp, extended(u.exp, width), netlist.False)
	exp, _ = b.subtract(exp, extended(v.exp, width), netlist.False)

	quotient, rest := b.quotientBits(m, d, f.frac+3)
	zero := b.Or(u.zero, v.special)
	var frac []lit
	if flush {
		// There are no ties: the bit below the last place rounds.
		norm, _, places := b.normalise(quotient, 1, 1, 0, nil)
		norm[f.frac+1] = places[0].Not() // one more than the exponent, unless moved
		frac, exp = b.pack(exp, norm[1:], norm[0])
		under := b.Or(exp[width-1], b.OrAll(exp).Not())
		exp = exp[:width-1]
		zero = b.Or(zero, under)
	} else {
		negative := exp[width-1]
		limit := b.masked(exp[:width-1], negative.Not())
		norm, below, places := b.normalise(quotient, 1, 1, 0, limit)
		e, _ := b.subtract(limit, extended(places, len(limit)), netlist.False)
		norm, lost := b.shiftSticky(norm, b.saturated(b.descent(exp[:width-1], negative), f.frac+2, netlist.False))
		frac, exp = b.rounded(e, norm, b.OrAll([]lit{below, lost, b.inexact(rest, d)}))
	}
	over := b.Or(b.OrAll(exp[f.exp:]), b.AndAll(exp[:f.exp]))
	infinite := b.OrAll([]lit{u.special, v.zero, v.nan, b.And(over, zero.Not())})
	nan := b.OrAll([]lit{u.nan, v.nan, b.And(u.special, v.special), b.And(u.zero, v.zero)})
	b.floatOutput("y", float{
		frac: b.special(frac, b.Or(infinite, zero), nan),
		exp:  b.extreme(exp[:f.exp], infinite, zero),
		sign: b.And(b.Xor(x.sign, y.sign), nan.Not()),
	})
}

// quotientBits divides words of one length whose top bits are set without
// restoring: n bits of the quotient, of which the top one is its integer part,
// and the remainder in two's complement, which lacks d if it is negative.
func (b *builder) quotientBits(x, d []lit, n int) (q, rem []lit) {
	q = make([]lit, n)
	rem, borrow := b.subtract(x, d, netlist.False)
	q[n-1] = borrow.Not()
	rem = append(rem, borrow)
	for i := n - 2; i >= 0; i-- {
		// Twice the remainder, less d if the last bit is set, else and d.
		minus, carry := q[i+1], netlist.False
		next := make([]lit, len(rem))
		for j := range next {
			r, s := at(rem, j-1), at(d, j)
			next[j] = b.Xor3(r, s, carry)
			carry = b.Maj(b.Xor(r, minus), s, carry)
		}
		rem = next
		q[i] = rem[len(rem)-1].Not()
	}
	return q, rem
}

// inexact tells whether a remainder of quotientBits is neither zero nor -d: with
// d added if it is negative, whether the sum is zero, which is when each bit of
// both, taken as a sum without carries, is that of carries from every bit below
// that is set.
func (b *builder) inexact(rem, d []lit) lit {
	negative := rem[len(rem)-1]
	differ := make([]lit, len(d))
	carry := netlist.False
	for i := range d {
		s := b.And(d[i], negative)
		differ[i] = b.Xor3(rem[i], s, carry)
		carry = b.Or(rem[i], s)
	}
	return b.OrAll(differ)
}
