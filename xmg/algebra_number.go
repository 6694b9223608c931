package xmg

import "math/bits"

// power returns 2^k.
func power(k int) (c coefficient) {
	c[k/64] = 1 << (k % 64)
	return c
}

func (c coefficient) plus(d coefficient) coefficient {
	var carry uint64
	for i := range c {
		c[i], carry = bits.Add64(c[i], d[i], carry)
	}
	return c
}

func (c coefficient) minus() coefficient {
	carry := uint64(1)
	for i := range c {
		c[i], carry = bits.Add64(^c[i], 0, carry)
	}
	return c
}

// bit returns bit k.
func (c coefficient) bit(k int) bool { return c[k/64]>>(k%64)&1 != 0 }

// times returns c k.
func (c coefficient) times(k uint64) coefficient {
	var carry uint64
	for i := range c {
		high, low := bits.Mul64(c[i], k)
		var over uint64
		c[i], over = bits.Add64(low, carry, 0)
		carry = high + over
	}
	return c
}

// half returns half of an even number.
func (c coefficient) half() coefficient {
	for i := range c {
		c[i] >>= 1
		if i+1 < len(c) {
			c[i] |= c[i+1] << 63
		}
	}
	return c
}
