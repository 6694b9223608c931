package gen

import (
	"slices"

	"github.com/bitsched/bitsched/netlist"
)

// divide returns quotient and remainder of words of one length by the restoring
// division of divider. Signed numbers are divided by their magnitudes; by zero
// the quotient is -1 and the remainder is x, as RISC-V defines it, and the
// quotient of the least number by -1, which is not representable, is itself.
func (b *builder) divide(x, y []lit, signed bool) (q, r []lit) {
	negX, negY := top(x, signed), top(y, signed)
	if signed {
		some := b.OrAll(y)
		q, r = b.divideUnsigned(b.negateIf(x, negX), b.negateIf(y, negY))
		return b.negateIf(q, b.And(b.Xor(negX, negY), some)), b.negateIf(r, negX)
	}
	return b.divideUnsigned(x, y)
}

// divideUnsigned has a bit of the quotient a step. While the remainder is
// shorter than y, y fits only if all its higher bits are zero.
func (b *builder) divideUnsigned(x, y []lit) (q, r []lit) {
	n := len(x)
	high := make([]lit, n+1)
	for k := n - 1; k >= 1; k-- {
		high[k] = b.Or(y[k], high[k+1])
	}
	q = make([]lit, n)
	for i := n - 1; i >= 0; i-- {
		next := joined(x[i:i+1], r)
		k := len(next)
		differ, borrow := b.trial(next, y[:k])
		q[i] = b.Or(borrow, high[k]).Not()
		r = b.restore(next, differ, q[i])
	}
	return q, r
}

func integerQuotient(b *builder, p params) {
	x, y := b.input("a", p.width), b.input("b", p.width)
	q, _ := b.divide(x, y, p.extra[0] != 0)
	b.output("y", q)
}

func integerRemainder(b *builder, p params) {
	x, y := b.input("a", p.width), b.input("b", p.width)
	_, r := b.divide(x, y, p.extra[0] != 0)
	b.output("y", r)
}

// rootBits returns the highest h bits of the square root of word, of whose bits
// pairs are taken from the top and which zeros follow below; without restoring,
// three gates a bit. The highest bit of the root is known to be set if first is.
//
// The remainder is in two's complement and may be negative, by at most the
// double root and one. If it is not, the next step subtracts 4 root + 1, else it
// adds 4 root + 3; both are the root or its complement, with 11 below, to add.
func (b *builder) rootBits(word []lit, h int, first bool) []lit {
	bit := func(i int) lit { return at(word, len(word)-1-i) } // from the top
	out := make([]lit, h)                                     // from the top
	var rem []lit
	sign := netlist.False
	for step := range h {
		next := joined([]lit{bit(2*step + 1), bit(2 * step)}, rem)
		add := []lit{netlist.True, netlist.True}
		for i := step - 1; i >= 0; i-- {
			add = append(add, b.Xor(out[i], sign.Not()))
		}
		add = append(add, sign.Not()) // above the root are zeros
		rem, _ = b.ripple(extended(next, len(add)), add, netlist.False)
		if step == 0 && first {
			rem[2] = netlist.False
		}
		sign = rem[len(rem)-1]
		out[step] = sign.Not()
	}
	slices.Reverse(out)
	return out
}

func integerRoot(b *builder, p params) {
	word := joined(b.input("a", p.width), zeros(p.width%2))
	b.output("y", b.rootBits(word, len(word)/2, false))
}
