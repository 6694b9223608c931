package xmg

import "math/bits"

// placement6 is how a function follows from its NPN representative.
type placement6 struct {
	order      [6]uint8 // by input of the representative: the function's input
	neg        uint8    // set of the function's inputs that are complemented
	complement bool
}

// op gives operand op of the representative's recipe, whose inputs are items 1
// to 6, in terms of the items of the function.
func (p *placement6) op(op uint8, in *[6]uint8) uint8 {
	j := p.order[op>>1-1]
	return in[j] ^ op&1 ^ p.neg>>j&1
}

// canonical returns the representative of the NPN class of a function of n
// inputs, on which it may depend or not: the smallest function that comes of it
// by order and negation of these inputs and negation of the output. It tries all
// n! 2^n ways: 6 us for five inputs, 70 us for six.
func (t truth6) canonical(n int) (truth6, placement6) {
	c := canonizer{t: t, n: n, best: ^truth6(0)}
	for j := range c.order {
		c.order[j] = uint8(j)
	}
	c.permute(0)
	return c.best, c.place
}

// canonizer walks over the transforms of a function: t(y) is the function at x,
// if y is x transformed.
type canonizer struct {
	t     truth6
	n     int
	order [6]uint8 // by input of the function: the input of t
	best  truth6
	place placement6
}

func (c *canonizer) permute(i int) {
	if i < c.n-1 {
		for j := i; j < c.n; j++ {
			c.swap(i, j)
			c.permute(i + 1)
			c.swap(i, j)
		}
		return
	}
	neg := uint8(0) // of the inputs of t
	for k := range 1 << c.n {
		u := c.t ^ -(c.t & 1)
		if u < c.best {
			c.best = u
			c.place = placement6{complement: c.t&1 != 0}
			for x, y := range c.order[:c.n] {
				c.place.order[y] = uint8(x)
				c.place.neg |= neg >> y & 1 << x
			}
		}
		j := min(bits.TrailingZeros(uint(k+1)), c.n-1) // Gray code, back to the start
		if c.n == 0 {
			break
		}
		m := sixTruth[j]
		c.t = c.t&m>>(1<<j) | c.t&^m<<(1<<j)
		neg ^= 1 << j
	}
}

func (c *canonizer) swap(i, j int) {
	if i == j {
		return
	}
	c.t = c.t.swap(i, j)
	for x, y := range c.order {
		switch int(y) {
		case i:
			c.order[x] = uint8(j)
		case j:
			c.order[x] = uint8(i)
		}
	}
}
