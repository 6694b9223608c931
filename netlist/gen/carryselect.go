package gen

import "github.com/bitsched/bitsched/netlist"

// adderCarrySelect adds in blocks: each block but the first is computed for
// both carries in, and the real carry selects (Bedrij, IRE Trans. 1962).
//
// With block 0 the blocks grow by one bit each, from two, so that a block's
// chains are done when its carry comes; that is the usual square-root form.
func adderCarrySelect(b *builder, p params) {
	n, block := p.width, p.extra[0]
	x, y := b.input("a", n), b.input("b", n)
	grow := block == 0
	if grow {
		block = 2
	}
	first := min(block, n)
	sum, carry := b.ripple(x[:first], y[:first], netlist.False)
	for lo := first; lo < n; {
		hi := min(lo+block, n)
		if grow {
			block++
		}
		// The lowest cell of a block has the constants 0 and 1 as carries in:
		// it is a half adder, an OR, and one XOR for the real carry.
		h := b.half(x[lo], y[lo])
		c0, c1 := h.carry, b.Or(h.sum, h.carry)
		sum = append(sum, b.Xor(h.sum, carry))
		for i := lo + 1; i < hi; i++ {
			var s0, s1 lit
			if b.and {
				h := b.half(x[i], y[i])
				s0, c0 = b.addHalf(h, c0)
				s1, c1 = b.addHalf(h, c1)
			} else {
				s0, c0 = b.FullAdd(x[i], y[i], c0)
				s1, c1 = b.FullAdd(x[i], y[i], c1)
			}
			sum = append(sum, b.Mux(carry, s1, s0))
		}
		carry = b.Or(c0, b.And(carry, c1)) // c0 implies c1
		lo = hi
	}
	b.output("y", append(sum, carry))
}

func sizeCarrySelect(p params) tally {
	n := int64(p.width)
	return tally{inputs: 2 * n, full: 2 * n, mux: n, and: n}
}
