package gen

import "github.com/bitsched/bitsched/netlist"

// ripple returns x + y + carry, and the carry out. The words have one length.
func (b *builder) ripple(x, y []lit, carry lit) (sum []lit, out lit) {
	sum = make([]lit, len(x))
	for i := range x {
		sum[i], carry = b.FullAdd(x[i], y[i], carry)
	}
	return sum, carry
}

// adderRipple is a chain of full adders: the fewest gates.
func adderRipple(b *builder, p params) {
	x, y := b.input("a", p.width), b.input("b", p.width)
	sum, carry := b.ripple(x, y, netlist.False)
	b.output("y", append(sum, carry))
}

func sizeRipple(p params) tally {
	n := int64(p.width)
	return tally{inputs: 2 * n, full: n}
}

// subtractor adds the complement of b and one; the complement of the carry out
// is the borrow, which as the top bit of the difference is its sign.
func subtractor(b *builder, p params) {
	x, y := b.input("a", p.width), b.input("b", p.width)
	diff, carry := b.ripple(x, complement(y), netlist.True)
	b.output("y", append(diff, carry.Not()))
}

// complement returns the literals of a word complemented.
func complement(word []lit) []lit {
	c := make([]lit, len(word))
	for i, l := range word {
		c[i] = l.Not()
	}
	return c
}
