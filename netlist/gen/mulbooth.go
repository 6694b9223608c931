package gen

import (
	"math/big"

	"github.com/bitsched/bitsched/netlist"
)

// boothDigit is a digit of -2 to 2 in signs: two and one tell the magnitude,
// neg that it is negative (or a zero that is written as one).
type boothDigit struct{ neg, two, one lit }

// booth recodes the bits hi, mid, lo: the digit is lo + mid - 2 hi.
func (b *builder) booth(hi, mid, lo lit) boothDigit {
	d := boothDigit{neg: hi}
	switch netlist.False {
	case lo:
		d.one, d.two = mid, b.And(hi, mid.Not())
	case hi:
		d.one, d.two = b.HalfAdd(mid, lo)
	default:
		d.one = b.Xor(mid, lo)
		d.two = b.And(b.Xor(hi, mid), d.one.Not())
	}
	return d
}

// multiplierBooth recodes b in digits of radix 4 (MacSorley, Proc. IRE 1961):
// half the partial products, each of a few more gates, reduced as Dadda does.
//
// A negative partial product is a complement plus one. Its sign would extend to
// the top of the sum; -neg 2^k is ~neg 2^k - 2^k instead, and the constants
// -2^k of all rows are added up beforehand.
func multiplierBooth(b *builder, p params) {
	n, m := p.width, p.extra[0]
	x, y := b.input("a", n), b.input("b", m)
	c := newColumns(n+m, m/2+4)
	var offset, bit big.Int
	for j := 0; j <= m; j += 2 {
		d := b.booth(at(y, j+1), at(y, j), at(y, j-1))
		for i := 0; i <= n && i+j < n+m; i++ {
			mag := b.Or(b.And(d.one, at(x, i)), b.And(d.two, at(x, i-1)))
			c.add(i+j, b.Xor(d.neg, mag))
		}
		if d.neg == netlist.False {
			continue
		}
		c.add(j, d.neg)
		if k := j + n + 1; k < n+m {
			c.add(k, d.neg.Not())
			offset.Sub(&offset, bit.SetBit(new(big.Int), k, 1))
		}
	}
	// Two's complement: Bit of a negative big.Int is that of its infinite form.
	for i := range c {
		if offset.Bit(i) != 0 {
			c.add(i, netlist.True)
		}
	}
	b.output("y", b.reduce(c))
}

func sizeBooth(p params) tally {
	n, m := int64(p.width), int64(p.extra[0])
	cells := (n + 1) * (m/2 + 1)
	return tally{inputs: n + m, and: 3*cells + m/2 + 1, xor: cells + m + 2, full: cells + 3*(n+m)}
}
