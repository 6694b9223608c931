package arith

// ncFloatMul multiplies. The product of the significands is exact; it moves into
// place in one normalisation, which begins at the position of the least result so
// that subnormal results stay lower down: the limit is how far the exponent lets
// it rise. Without subnormal numbers, or where the product of two of them is zero,
// less will do.
func ncFloatMul(a *asm, t Type, x []word, d word) {
	f := t.Float
	u, v := split(f, x[0]), split(f, x[1])
	if isConst(x[0]) { // the bits of a constant multiplier need no tag, or no row
		u, v = v, u
	}
	switch {
	case f.FTZ:
		a.mulFlush(f, d, u, v)
		return
	case f.Bias() >= f.Man+2:
		a.mulGradual(f, d, u, v)
		return
	}
	p := f.Man + 1
	a.classify(&u, true)
	a.classify(&v, true)
	a.fn(opXor, d[p+f.Exp-1], u.sign, v.sign)
	sum := a.offsetExponent(f, &u, &v, p+1)

	// The low bits of the product are gathered in one before the result is written,
	// and lie where it will.
	low := p - 2
	product := append(append(word{}, d[:low]...), a.rows(2*p-low)...)
	a.mulFull(product, u.significand(), v.significand(), false)

	// One factor may be as low as the last place.
	nonzero := a.row()
	a.fn(opOr, u.hidden, u.hidden, u.fraction)
	a.fn(opOr, v.hidden, v.hidden, v.fraction)
	a.fn(opAnd, nonzero, u.hidden, v.hidden)
	over := a.place(f, d, product, sum, nonzero, p)
	a.free(nonzero)
	a.mulSpecial(f, d, &u, &v, over)
}

// offsetExponent returns that exponent and an offset as a signed number. A number
// with exponent 0 counts as with exponent 1.
func (a *asm) offsetExponent(f *Format, u, v *unpacked, offset int) word {
	n := f.sumBits(offset)
	sum, low := a.rows(n), a.row()
	a.not(low, u.hidden)
	a.loadCarry(low)
	for i := range f.Exp {
		a.add(sum[i], u.exp[i], v.exp[i])
	}
	a.writeCarry(sum[f.Exp])
	a.not(low, v.hidden)
	a.loadCarry(low)
	a.free(low)
	for i, c := range constWord(uint64(offset-f.Bias()), n) {
		if i > f.Exp {
			a.add(sum[i], zero, c)
		} else {
			a.add(sum[i], sum[i], c)
		}
	}
	return sum
}

// subtractMoved subtracts what was moved from an exponent, given the complement.
func (a *asm) subtractMoved(e, notMoved word) {
	a.loadCarry(one1)
	for i := range e {
		m := bit(one1)
		if i < len(notMoved) {
			m = notMoved[i]
		}
		a.add(e[i], e[i], m)
	}
	a.free(notMoved...)
}

// mulSpecial writes infinity where an operand is special or the exponent
// overflows, and NaN where there is one. hidden tells by now that an operand is
// not zero.
func (a *asm) mulSpecial(f *Format, d word, u, v *unpacked, over word) {
	// A NaN: a special operand with a fraction, or one beside a zero.
	nan, t, null := a.row(), a.row(), a.row()
	a.fn(opAnd, nan, u.special, u.fraction)
	a.fn(opAnd, t, v.special, v.fraction)
	a.fn(opOr, nan, nan, t)
	a.fn(opOr, u.special, u.special, v.special)
	a.fn(opNand, null, u.hidden, v.hidden)
	a.fn(opAnd, t, null, u.special)
	a.fn(opOr, nan, nan, t)
	a.free(t, v.special, u.hidden, v.hidden, u.fraction, v.fraction)
	a.finish(d, finish{f, over, u.special, nan, null})
}
