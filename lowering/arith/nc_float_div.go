package arith

import "math/bits"

// normalized returns the significand of a number with its top bit set, in rows of
// ours, and the exponent that goes with it as a signed number of n bits. With FTZ
// there is nothing to move.
func (a *asm) normalized(f *Format, u *unpacked, n int) (sig, exp word) {
	p := f.Man + 1
	sig, exp = a.rows(p), a.rows(n)
	a.copyWord(sig, u.significand())
	if f.FTZ {
		for i := range n {
			if i < f.Exp {
				a.copy(exp[i], u.exp[i])
			} else {
				a.copy(exp[i], zero)
			}
		}
		return sig, exp
	}
	sig, notMoved := a.normalize(sig, p, shiftBits(p), limit{unbounded: one1})
	// The exponent 0 counts as 1, and what was moved comes off: add 1 for the
	// complement, and another where the hidden bit is zero.
	t := a.row()
	a.not(t, u.hidden)
	a.loadCarry(t)
	for i := range n {
		x, m := bit(zero), bit(one1)
		if i < f.Exp {
			x = u.exp[i]
		}
		if i < len(notMoved) {
			m = notMoved[i]
		}
		a.add(exp[i], x, m)
	}
	a.free(t)
	a.free(notMoved...)
	a.loadCarry(one1)
	for i := range n {
		a.add(exp[i], exp[i], zero)
	}
	return sig, exp
}

// addConst adds a constant to a signed number.
func (a *asm) addConst(x word, v int) {
	a.loadCarry(zero)
	for i, c := range constWord(uint64(v), len(x)) {
		a.add(x[i], x[i], c)
	}
}

// ncFloatDiv divides: both significands are normalised, p+2 bits of the quotient
// found one by one, and what remains is the sticky bit.
func ncFloatDiv(a *asm, t Type, x []word, d word) {
	f := t.Float
	u, v := split(f, x[0]), split(f, x[1])
	p, n := f.Man+1, bits.Len(uint(3<<(f.Exp-1)+2*f.Man+4))+1
	a.classify(&u, true)
	a.classify(&v, true)
	a.fn(opXor, d[p+f.Exp-1], u.sign, v.sign)

	num, exp := a.normalized(f, &u, n)
	den, expV := a.normalized(f, &v, n)
	a.loadCarry(one1)
	for i := range exp {
		a.not(expV[i], expV[i])
		a.add(exp[i], exp[i], expV[i])
	}
	a.free(expV...)
	offset := f.Bias() - 1
	if !f.FTZ {
		offset += p + 1
	}
	a.addConst(exp, offset)

	for i := range den {
		a.not(den[i], den[i])
	}
	den = append(den, one1)
	left := append(num, a.row())
	a.copy(left[p], zero)
	quotient := a.rows(p + 3)
	for i := p + 2; i >= 1; i-- {
		a.loadCarry(one1)
		for j := range left {
			a.carry(left[j], den[j])
		}
		a.tagCarry()
		a.writeTag(quotient[i])
		// The carry is set where the tag is.
		for j := range left {
			a.addm(left[j], left[j], den[j])
		}
		if i > 1 { // the remainder is less than the divisor: its top bit is zero
			top := left[p]
			a.copy(top, zero)
			left = append(word{top}, left[:p]...)
		}
	}
	a.reduce(opOr, quotient[0], left)
	a.free(left...)
	a.free(den...)

	// Zero where a is or b is infinite; infinite where a is or b is zero; NaN where
	// an operand is, and for 0 by 0 and infinity by infinity.
	nan, s, null, special := a.row(), a.row(), a.row(), a.row()
	a.fn(opAnd, nan, u.special, u.fraction)
	a.fn(opAnd, s, v.special, v.fraction)
	a.fn(opOr, nan, nan, s)
	if !f.FTZ { // from now on: not zero
		a.fn(opOr, u.hidden, u.hidden, u.fraction)
		a.fn(opOr, v.hidden, v.hidden, v.fraction)
	}
	a.fn(opAnd, s, u.special, v.special)
	a.fn(opOr, nan, nan, s)
	a.fn(opNor, s, u.hidden, v.hidden)
	a.fn(opOr, nan, nan, s)
	a.not(null, u.hidden)
	a.fn(opOr, null, null, v.special)
	a.not(special, v.hidden)
	a.fn(opOr, special, special, u.special)
	a.fn(opOr, special, special, nan)
	a.not(s, null)
	over := a.place(f, d, quotient, exp, s, 1)
	a.free(s, u.hidden, v.hidden, u.special, v.special, u.fraction, v.fraction)
	a.finish(d, finish{f, over, special, nan, null})
}

// ncFloatSqrt finds the p+1 bits of the root of the significand, or of twice the
// significand where the exponent is odd, one by one. The root is never subnormal
// and never overflows.
func ncFloatSqrt(a *asm, t Type, x []word, d word) {
	f := t.Float
	u := split(f, x[0])
	p, n := f.Man+1, bits.Len(uint(2<<f.Exp+f.Man))+1
	a.classify(&u, true)
	sig, exp := a.normalized(f, &u, n)
	a.addConst(exp, f.Bias())
	// Twice the significand where the sum with the bias is odd.
	rad := append(sig, a.row())
	a.copy(rad[p], zero)
	a.tag(exp[0])
	for i := p; i > 0; i-- {
		a.copym(rad[i], rad[i-1])
	}
	a.copym(rad[0], zero)
	a.free(exp[0])
	exp = exp[1:] // the half

	// The fraction of the root is made where the result wants it.
	root := append(word{a.row(), a.row()}, append(append(word{}, d[:f.Man]...), a.row())...)
	a.root(root, rad)
	a.addConst(exp, -1)
	over := a.roundPack(f, d, root, exp)
	a.free(root...)
	a.free(exp...)

	// A zero stays as it is; what else is negative has no root.
	w := f.Man + f.Exp
	nan, s := a.row(), a.row()
	a.fn(opAnd, nan, u.special, u.fraction)
	if f.FTZ {
		a.copy(s, u.hidden)
	} else {
		a.fn(opOr, s, u.hidden, u.fraction)
	}
	a.tagNot(s)
	for _, b := range d[:w] {
		a.copym(b, zero)
	}
	a.fn(opAnd, s, s, u.sign)
	a.fn(opOr, nan, nan, s)
	a.copy(d[w], u.sign)
	a.tagOf(opOr, nan, u.special)
	for _, b := range d[:f.Man] {
		a.copym(b, zero)
	}
	for _, b := range d[f.Man:w] {
		a.copym(b, one1)
	}
	a.tag(nan)
	a.copym(d[f.Man-1], one1)
	a.copym(d[w], zero)
	a.free(nan, s, u.hidden, u.special, u.fraction)
	a.free(over...)
}

// root writes the bits of the root of rad, whose top two bits are its integer
// part, to the rows of root above the lowest, which is sticky. It uses up the
// rows of rad.
func (a *asm) root(root, rad word) {
	m := len(root) - 1
	not := a.rows(m)
	next := func(i int) bit { // from the top, in a row of ours
		if i < len(rad) {
			return rad[len(rad)-1-i]
		}
		r := a.row()
		a.copy(r, zero)
		return r
	}
	var left word
	for k := 1; k <= m; k++ {
		i := m - k
		hi := next(2*k - 2)
		left = append(word{next(2*k - 1), hi}, left...)
		if len(left) > k+2 {
			a.free(left[k+2:]...)
			left = left[:k+2]
		}
		a.rootStep(left, root[i+1], not, i, k)
	}
	a.reduce(opOr, root[0], left)
	a.free(left...)
	a.free(not...)
}

// rootStep finds bit i, the k-th, of a root: whether 4q+1 for the root q so far
// fits in what is left. not holds the complement of the root.
func (a *asm) rootStep(left word, root bit, not word, i, k int) {
	// The complement of 4q+1: 0, 1, the complement of q, ones.
	trial := func(j int) bit {
		switch {
		case j == 0:
			return zero
		case j == 1 || j-2 >= k-1:
			return one1
		}
		return not[i+1+j-2]
	}
	a.loadCarry(one1)
	for j := range left {
		a.carry(left[j], trial(j))
	}
	a.tagCarry()
	a.writeTag(root)
	a.not(not[i], root)
	// The carry is set where the tag is.
	for j := range left {
		a.addm(left[j], left[j], trial(j))
	}
}
