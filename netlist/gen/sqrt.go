package gen

import "github.com/bitsched/bitsched/netlist"

// root returns the integer square root of a word, of half its length rounded
// up: two bits of the radicand at a time come to the remainder, and
// 4 root + 1 is subtracted where it fits.
func (b *builder) root(x []lit) []lit {
	h := (len(x) + 1) / 2
	out := make([]lit, h)
	var rem []lit // at most 2 root: a bit more than the root has
	for i := h - 1; i >= 0; i-- {
		next := append([]lit{at(x, 2*i), at(x, 2*i+1)}, rem...)
		sub := append([]lit{netlist.True, netlist.False}, out[i+1:]...)
		k := len(sub)
		if i == 0 { // the remainder is not wanted
			out[i] = b.Or(at(next, k), b.borrow(next[:k], sub).Not())
			break
		}
		differ, borrow := b.trial(next[:k], sub)
		out[i] = b.Or(at(next, k), borrow.Not()) // bit k: more than sub has
		rem = b.restore(next, differ, out[i])
	}
	return out
}

// squareRoot is the restoring square root.
func squareRoot(b *builder, p params) {
	b.output("y", b.root(b.input("a", p.width)))
}

// sizeRoot bounds root for a radicand of n bits.
func sizeRoot(n int64) tally {
	h := (n + 1) / 2
	cells := h*(h+1)/2 + h
	return tally{and: cells + h, xor: 2 * cells, maj: cells}
}

func sizeSquareRoot(p params) tally {
	n := int64(p.width)
	return sizeRoot(n).plus(tally{inputs: n})
}
