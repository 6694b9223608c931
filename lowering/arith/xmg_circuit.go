package arith

import "github.com/bitsched/bitsched/xmg"

type lit = xmg.Lit

// circuit builds the circuit of an operation. Constants fold as it grows. Gates
// come in an order that keeps few values alive, since a row holds each.
type circuit struct {
	g   *xmg.Graph
	err error
}

func (c *circuit) and(a, b lit) lit     { return c.g.And(a, b) }
func (c *circuit) or(a, b lit) lit      { return c.g.Or(a, b) }
func (c *circuit) xor(a, b lit) lit     { return c.g.Xor2(a, b) }
func (c *circuit) mux(s, t, e lit) lit  { return c.g.Mux(s, t, e) }
func (c *circuit) maj(x, y, z lit) lit  { return c.g.Maj(x, y, z) }
func (c *circuit) xor3(x, y, z lit) lit { return c.g.Xor(x, y, z) }

// each applies f bit by bit.
func (c *circuit) each(a, b []lit, f func(a, b lit) lit) []lit {
	y := make([]lit, len(a))
	for i := range y {
		y[i] = f(a[i], b[i])
	}
	return y
}

// muxes chooses between words.
func (c *circuit) muxes(s lit, t, e []lit) []lit {
	return c.each(t, e, func(a, b lit) lit { return c.mux(s, a, b) })
}

// not returns the complement of a word.
func not(a []lit) []lit {
	y := make([]lit, len(a))
	for i := range y {
		y[i] = a[i].Not()
	}
	return y
}

// sum adds words of equal width and a carry in, two gates a bit, and returns the
// carry out.
func (c *circuit) sum(a, b []lit, carry lit) ([]lit, lit) {
	y := make([]lit, len(a))
	for i := range y {
		in := carry
		carry = c.maj(a[i], b[i], in) // before the sum, which may take the row of an operand
		y[i] = c.xor3(a[i], b[i], in)
	}
	return y, carry
}

// less returns a < b, or a <= b, one gate a bit.
func (c *circuit) less(a, b []lit, sgn, equal bool) lit {
	carry := xmg.False.NotIf(equal)
	for i := range a {
		x, y := a[i], b[i]
		if sgn && i == len(a)-1 {
			x, y = y, x
		}
		carry = c.maj(x.Not(), y, carry)
	}
	return carry
}

// any returns the disjunction of a.
func (c *circuit) any(a []lit) lit {
	y := xmg.False
	for _, x := range a {
		y = c.or(y, x)
	}
	return y
}

// constLits is a constant as a word of a circuit.
func constLits(v uint64, n int) []lit {
	w := make([]lit, n)
	for i := range w {
		w[i] = xmg.False.NotIf(i < 64 && v>>i&1 != 0)
	}
	return w
}
