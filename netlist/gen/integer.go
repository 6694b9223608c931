package gen

import "github.com/bitsched/bitsched/netlist"

// This file has what a processor does with integer registers of up to 64 bits,
// other than products and quotients. Results have the length of the operands;
// signed numbers are in two's complement.

// maxWord is the largest register.
const maxWord = 64

func wordWidth(what string) Param { return bitsOf(what, 32, maxWord) }

// signedParams is for kinds with signed operands.
var signedParams = []Param{signedParam}

var signedParam = Param{Name: "signed", Doc: "1: operands are signed", Min: 0, Max: 1}

// top returns the sign of a word if signed is set.
func top(word []lit, signed bool) lit {
	if signed {
		return word[len(word)-1]
	}
	return netlist.False
}

// resized is word cut off, or extended by its sign or by zeros.
func resized(word []lit, width int, signed bool) []lit {
	out := make([]lit, width)
	for i := range out {
		out[i] = top(word, signed)
	}
	copy(out, word)
	return out
}

func integerAdd(b *builder, p params) {
	sum, _ := b.ripple(b.input("a", p.width), b.input("b", p.width), netlist.False)
	b.output("y", sum)
}

func integerSub(b *builder, p params) {
	diff, _ := b.subtract(b.input("a", p.width), b.input("b", p.width), netlist.False)
	b.output("y", diff)
}

// negateIf is -word if s is set, else word: two gates a bit, since the carry of
// the complement plus one is s until the first bit that is set.
func (b *builder) negateIf(word []lit, s lit) []lit {
	out := make([]lit, len(word))
	carry := s
	for i, l := range word {
		out[i] = b.Xor3(l, s, carry)
		carry = b.And(carry, l.Not())
	}
	return out
}

func integerNeg(b *builder, p params) { b.output("y", b.negateIf(b.input("a", p.width), netlist.True)) }

func integerAbs(b *builder, p params) {
	x := b.input("a", p.width)
	b.output("y", b.negateIf(x, x[p.width-1]))
}

// lessThan tells whether x < y, or with equal whether x <= y: one gate a bit.
// The highest bits of signed numbers count the other way round.
func (b *builder) lessThan(x, y []lit, signed, equal bool) lit {
	less := netlist.False.NotIf(equal)
	last := len(x) - 1
	for i := range x {
		u, v := x[i], y[i]
		if signed && i == last {
			u, v = v, u
		}
		less = b.Maj(u.Not(), v, less)
	}
	return less
}

// integerOrder returns a builder of a < b, of a <= b, or of their complements.
func integerOrder(equal, not bool) func(b *builder, p params) {
	return func(b *builder, p params) {
		x, y := b.input("a", p.width), b.input("b", p.width)
		b.flag("y", b.lessThan(x, y, p.extra[0] != 0, equal).NotIf(not))
	}
}

func integerEqual(not bool) func(b *builder, p params) {
	return func(b *builder, p params) {
		x, y := b.input("a", p.width), b.input("b", p.width)
		differ := make([]lit, p.width)
		for i := range differ {
			differ[i] = b.Xor(x[i], y[i])
		}
		b.flag("y", b.OrAll(differ).NotIf(!not))
	}
}

func integerPick(largest bool) func(b *builder, p params) {
	return func(b *builder, p params) {
		x, y := b.input("a", p.width), b.input("b", p.width)
		b.output("y", b.choose(b.lessThan(x, y, p.extra[0] != 0, false).NotIf(largest), x, y))
	}
}

func integerSelect(b *builder, p params) {
	x, y := b.input("a", p.width), b.input("b", p.width)
	b.output("y", b.choose(b.input("s", 1)[0], x, y))
}

// bitwise returns a builder of a gate for each bit.
func bitwise(gate func(b *builder, x, y lit) lit) func(b *builder, p params) {
	return func(b *builder, p params) {
		x, y := b.input("a", p.width), b.input("b", p.width)
		out := make([]lit, p.width)
		for i := range out {
			out[i] = gate(b, x[i], y[i])
		}
		b.output("y", out)
	}
}

func bitwiseNot(b *builder, p params) { b.output("y", complement(b.input("a", p.width))) }

func integerReLU(b *builder, p params) {
	x := b.input("a", p.width)
	b.output("y", b.masked(x, x[p.width-1].Not()))
}

func integerResize(b *builder, p params) {
	b.output("y", resized(b.input("a", p.width), p.extra[0], p.extra[1] != 0))
}
