package gen

import "github.com/bitsched/bitsched/netlist"

// comparator takes less from the borrow of a - b and equality bit by bit.
func comparator(b *builder, p params) {
	x, y := b.input("a", p.width), b.input("b", p.width)
	same := make([]lit, p.width)
	less := netlist.False
	for i := range same {
		if b.and { // the borrow shares the three gates of the XOR
			h := b.half(x[i].Not(), y[i])
			same[i], less = h.sum, b.Or(h.carry, b.And(h.sum, less))
			continue
		}
		same[i] = b.Xor(x[i], y[i]).Not()
		less = b.Maj(x[i].Not(), y[i], less)
	}
	equal := b.AndAll(same)
	b.flag("lt", less)
	b.flag("eq", equal)
	b.flag("gt", b.And(less.Not(), equal.Not()))
}

func sizeComparator(p params) tally {
	n := int64(p.width)
	return tally{inputs: 2 * n, maj: n, xor: n, and: n}
}
