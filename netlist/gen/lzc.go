package gen

import (
	"math/bits"

	"github.com/bitsched/bitsched/netlist"
)

// leadingZeros counts the zeros above the highest set bit. Ones below the word,
// up to a power of two, end the count of a word that is zero; they fold away.
func leadingZeros(b *builder, p params) {
	word := b.input("a", p.width)
	size := 1 << bits.Len(uint(len(word))) // larger than the word
	padded := make([]lit, size)
	for i := range padded {
		padded[i] = netlist.True
	}
	copy(padded[size-len(word):], word)
	count, _ := b.zeros(padded)
	b.output("y", count)
}

// zeros counts the leading zeros of a word that has 2^k bits, as k bits, and
// tells whether any bit is set; if none is the count is not used.
func (b *builder) zeros(word []lit) (count []lit, any lit) {
	if len(word) == 1 {
		return nil, word[0]
	}
	half := len(word) / 2
	low, anyLow := b.zeros(word[:half])
	high, anyHigh := b.zeros(word[half:])
	return append(b.choose(anyHigh, high, low), anyHigh.Not()), b.Or(anyHigh, anyLow)
}

func sizeLeadingZeros(p params) tally {
	n := int64(p.width)
	return tally{inputs: n, mux: n + int64(bits.Len(uint(n))), and: n}
}
