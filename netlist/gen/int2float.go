package gen

import (
	"errors"
	"math/bits"

	"github.com/bitsched/bitsched/netlist"
)

// intToFloat makes a small float of an unsigned integer of n bits: mantissa M
// of m bits and exponent E, for the value M 2^E. E is the least exponent for
// which M holds the integer, 0 to n-m in as few bits as hold n-m, so M has its
// top bit set unless E is 0: nothing is hidden and there is no bias.
//
// With round 1 the bit below M rounds, half up; a mantissa that overflows to
// 2^m becomes 2^(m-1) with the next exponent, and at the largest exponent stays
// all ones. With round 0 it is cut off. Width 11, mantissa 4 and round 1 is the
// function of int2float in the EPFL benchmarks.
func intToFloat(b *builder, p params) {
	n, m, round := p.width, p.extra[0], p.extra[1] != 0
	x := b.input("a", n)

	// rest is what is left of x on its way down to its low m bits, with one more
	// below them that rounds. A stage moves it by 2^k if a bit is set that the
	// stages below, with at most 2^k-1 places, would leave above the mantissa.
	rest, low := x, 0
	if round {
		rest, low = append([]lit{netlist.False}, x...), 1
	}
	exp := make([]lit, bits.Len(uint(n-m)))
	for k := len(exp) - 1; k >= 0; k-- {
		by := 1 << k
		width := low + m - 1 + by // what the stages below can still reach
		exp[k] = b.OrAll(rest[width:])
		rest = b.choose(exp[k], shifted(rest, by, width), rest[:width])
	}
	man := rest[low:]
	if round && len(exp) > 0 {
		guard := rest[0]
		// The exponent is the largest one if the top bit of x is set.
		largest := b.And(b.AndAll(man), x[n-1])
		up := b.And(guard, largest.Not())
		for i := range man {
			man[i], up = b.HalfAdd(man[i], up)
		}
		man[m-1] = b.Or(man[m-1], up)
		for i := range exp {
			if i == len(exp)-1 {
				exp[i] = b.Xor(exp[i], up)
				break
			}
			exp[i], up = b.HalfAdd(exp[i], up)
		}
	}
	b.output("m", man)
	b.output("e", exp)
}

func checkIntToFloat(p params) error {
	if p.extra[0] > p.width {
		return errors.New("mantissa is larger than width, expected at most the width")
	}
	return nil
}

func sizeIntToFloat(p params) tally {
	n, m := int64(p.width), int64(p.extra[0])
	k := int64(bits.Len(uint(n - m)))
	// A stage keeps m + 2^i bits and half of top.
	return tally{inputs: n, mux: k*(m+1) + 2*(n-m) + n + 2, and: 2*(n-m) + m + 2, half: m + k}
}
