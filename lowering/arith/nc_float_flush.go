package arith

// mulFlush multiplies numbers of a format without subnormal ones. As in mulGradual,
// the multiplier is copied to where the product's upper half begins, on the way to
// know whether its fraction is zero; and it is made odd where an operand is
// special, so that the sticky bit tells that of the other one.
func (a *asm) mulFlush(f *Format, d word, u, v unpacked) {
	p, n := f.Man+1, f.Exp
	product := append(append(word{}, d[:p-2]...), a.rows(p+2)...)
	a.fn(opXor, d[f.Man+n], u.sign, v.sign)
	u.hidden, v.hidden = a.row(), a.row()
	uReal, vReal, finite, null := a.row(), a.row(), a.row(), a.row()
	a.loadCarry(u.exp[n-1])
	a.ends(opNand, u.hidden, uReal, u.exp, v.exp[n-1])
	a.ends(opNand, v.hidden, vReal, v.exp, one1)
	a.fn(opAnd, finite, uReal, vReal)
	a.fn(opNand, null, u.hidden, v.hidden)

	// E, the exponent of a product of 1 or more and less than 2, as a signed number
	// of Exp+2 bits. The sum of the exponents and 1 is 2^(Exp-1) more.
	exp := a.rows(n + 2)
	for i := range n {
		a.add(exp[i], u.exp[i], v.exp[i])
	}
	a.add(exp[n], finite, finite)
	top, next, sign := exp[n], exp[n-1], exp[n+1]
	a.fn(opNor, sign, top, next)
	a.fn(opXnor, top, top, next)
	a.not(next, next)

	// That the exponent is not zero becomes: where an operand is special, this one
	// is neither zero nor NaN.
	a.copyAndTest(product[p:], v.man)
	a.tagCarry()
	a.fnm(opAnd, v.hidden, v.hidden, vReal)
	a.fn(opOr, product[p], product[p], v.man[0])

	// Where a hidden bit is zero the result is.
	m, by := append(append(word{}, u.man...), one1), append(append(word{}, v.man...), one1)
	by[0] = product[p]
	a.mulUpon(product, m, by, zero)

	// The product has its highest one in one of two places.
	sticky, below := a.row(), a.row()
	a.reduce(opOr, below, product[:p-2])
	a.fn(opOr, sticky, below, product[p-2])
	a.tag(sticky)
	a.fnm(opAnd, u.hidden, u.hidden, uReal)
	high := product[2*p-1]
	a.tagNot(high)
	for i := 2*p - 2; i >= p-1; i-- {
		a.copym(product[i], product[i-1])
	}
	a.copym(sticky, below)
	a.free(below, uReal, vReal)

	// The exponent is E+1 where the product has its top bit, else E.
	over := a.roundPack(f, d, append(word{sticky}, product[p-1:]...), exp)
	a.free(sticky)
	a.free(product...)
	a.free(exp...)
	nan, special := u.hidden, v.hidden
	a.fn(opAnd, nan, u.hidden, v.hidden)
	a.fn(opNor, nan, nan, finite)
	a.not(special, finite)
	a.free(finite)
	a.finish(d, finish{f, over, special, nan, null})
}
