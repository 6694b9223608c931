package gen

import "math/bits"

// priority finds the highest set bit, half by half.
func priority(b *builder, p params) {
	index, valid := b.highest(b.input("a", p.width))
	b.output("y", index)
	b.flag("valid", valid)
}

// highest returns the index of the highest set bit, 0 if there is none, and
// whether there is one. The lower part is a power of two, so that the index in
// the upper part only gets a bit in front.
func (b *builder) highest(word []lit) (index []lit, any lit) {
	if len(word) == 1 {
		return nil, word[0]
	}
	half := 1 << (bits.Len(uint(len(word)-1)) - 1)
	low, anyLow := b.highest(word[:half])
	high, anyHigh := b.highest(word[half:])
	index = make([]lit, 0, len(low)+1)
	for i := range low {
		// An index is 0 where there is no bit: no need to mask the upper one.
		index = append(index, b.Or(at(high, i), b.And(low[i], anyHigh.Not())))
	}
	return append(index, anyHigh), b.Or(anyHigh, anyLow)
}

func sizePriority(p params) tally {
	n := int64(p.width)
	return tally{inputs: n, and: 3*n + 2*int64(log2(p.width))}
}
