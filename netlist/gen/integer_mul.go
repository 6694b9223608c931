package gen

import "github.com/bitsched/bitsched/netlist"

// product returns x * y for words of one length, to twice the length. By parts
// the product of signed numbers is that of unsigned ones less the other operand,
// moved up by its length, for each that is negative.
func (b *builder) product(x, y []lit, signed bool) []lit {
	n := len(x)
	rows, parts := productGates(n, n)
	if !signed {
		return b.multiply(x, y)
	}
	if rows <= parts+6*n {
		return b.multiplyRows(x, y, zeros(2*n), true)
	}
	out := b.multiply(x, y)
	high, _ := b.subtract(out[n:], b.masked(y, x[n-1]), netlist.False)
	high, _ = b.subtract(high, b.masked(x, y[n-1]), netlist.False)
	return joined(out[:n], high)
}

// productLow returns the low half of x * y: rows, or the product of the low
// halves and the low halves of the two mixed ones.
func (b *builder) productLow(x, y, add []lit) []lit {
	n := len(x)
	h := (n + 1) / 2
	if rows, parts := productGates(h, h); rows <= parts+2*h {
		return b.multiplyRows(x, y, add, false)
	}
	low, _ := b.ripple(b.multiply(x[:h], y[:h])[:n], add, netlist.False)
	high := b.productLow(x[h:], y[:n-h], low[h:])
	return joined(low[:h], b.productLow(x[:n-h], y[h:], high))
}

func integerMulLow(b *builder, p params) {
	b.output("y", b.productLow(b.input("a", p.width), b.input("b", p.width), zeros(p.width)))
}

func integerMulHigh(b *builder, p params) {
	x, y := b.input("a", p.width), b.input("b", p.width)
	b.output("y", b.product(x, y, p.extra[0] != 0)[p.width:])
}

func integerMulFull(b *builder, p params) {
	x, y := b.input("a", p.width), b.input("b", p.width)
	b.output("y", b.product(x, y, p.extra[0] != 0))
}

// integerMulAdd adds a product to a word of another length. Rows of adders take
// the word in where a row has a place free.
func integerMulAdd(b *builder, p params) {
	n, signed := p.width, p.extra[1] != 0
	x, y, z := b.input("a", n), b.input("b", n), b.input("c", p.extra[0])
	if len(z) <= n {
		b.output("y", b.productLow(x[:len(z)], y[:len(z)], z))
		return
	}
	rows, parts := productGates(n, n)
	if signed {
		parts += 6 * n
	}
	if rows <= parts+2*n {
		b.output("y", b.multiplyRows(x, y, z, signed))
		return
	}
	sum, _ := b.ripple(resized(b.product(x, y, signed), len(z), signed), z, netlist.False)
	b.output("y", sum)
}
