package gen

import (
	"math/bits"

	"github.com/bitsched/bitsched/netlist"
)

// voter counts the set bits and compares the count with half of them.
func voter(b *builder, p params) {
	most := p.width/2 + 1
	// The bits of the count below the constant's lowest one cannot decide.
	count := b.count(b.input("a", p.width), bits.TrailingZeros(uint(most)))
	b.flag("y", b.atLeast(count, most))
}

// atLeast tells whether a word is at least a constant that is larger than 0 and
// fits it: the carry chain of the comparison, in which constants leave one gate
// a bit at most.
func (b *builder) atLeast(word []lit, constant int) lit {
	geq := netlist.True
	for i, l := range word {
		if constant>>i&1 != 0 {
			geq = b.And(l, geq)
		} else {
			geq = b.Or(l, geq)
		}
	}
	return geq
}

func sizeVoter(p params) tally {
	n := int64(p.width)
	return tally{inputs: n, full: n, and: int64(log2(int(n) + 1))}
}
