package arith

import "math/bits"

// mulGradual multiplies numbers of a format whose least normal number is so small
// that the product of two subnormal ones rounds to zero: its bias is at least
// Man+2. So at most one operand is subnormal where that matters.
//
// The exponent that the second bit of the product has, E, is known before the
// product. Where it is negative, the product begins 2^stages places further down;
// then it moves up in one normalisation, no further than the low bits of E say.
// These are right in both cases: moving up by E modulo 2^stages from there is
// moving down by -E. Where the result is zero, infinite or NaN the product begins
// down there and stays below the fraction, which makes that zero.
func (a *asm) mulGradual(f *Format, d word, u, v unpacked) {
	p := f.Man + 1
	stages := bits.Len(uint(p))
	first := 1 << (stages - 1) // how far the first stage moves
	some := bit(none)
	if first >= 4 {
		// No one among the top first-1 bits of an operand.
		some = a.classifyFrom(&u, first-2)
		upper := a.classifyFrom(&v, first-2)
		a.fn(opAnd, some, some, upper)
		a.free(upper)
	} else {
		a.classify(&u, true)
		a.classify(&v, true)
	}
	sign := d[p+f.Exp-1]
	a.fn(opXor, sign, u.sign, v.sign)

	nan, inf, bad := a.row(), a.row(), a.row()
	a.fn(opAnd, nan, u.special, u.fraction)
	a.fn(opAnd, inf, v.special, v.fraction)
	a.fn(opOr, nan, nan, inf)
	a.fn(opOr, inf, u.special, v.special)
	a.fn(opOr, u.fraction, u.fraction, u.hidden)
	a.fn(opOr, v.fraction, v.fraction, v.hidden)
	a.fn(opNand, bad, u.fraction, v.fraction) // a zero
	a.fn(opAnd, u.special, inf, bad)
	a.fn(opOr, nan, nan, u.special)
	a.free(u.special, v.special, u.fraction, v.fraction)

	exp, negative := a.productExponent(f, &u, &v)

	// The low bits of the product lie where the result will.
	low := p - 2
	product := append(append(word{}, d[:low]...), a.rows(2*p-low)...)
	a.mulFull(product, u.significand(), v.significand(), false)
	a.free(u.hidden, v.hidden)

	// Infinite: E, or E+1 where the product has its top bit, is all ones or more.
	t, over := a.row(), exp[f.Exp]
	exp = exp[:f.Exp]
	a.fn(opOr, t, exp[0], product[2*p-1])
	for _, b := range exp[1:] {
		a.fn(opAnd, t, t, b)
	}
	a.fn(opOr, over, over, t)
	a.fn(opOr, inf, inf, over)
	a.free(over)
	positive, good := negative, t
	a.not(positive, negative)
	if between := exp[stages : f.Exp-1]; len(between) > 0 { // zero: E is below -2^stages
		a.reduce(opAnd, t, between)
		a.fn(opNor, t, t, positive)
		a.fn(opOr, bad, bad, t)
	}
	a.fn(opNor, good, bad, inf)
	high := bad
	a.fn(opAnd, high, positive, good)
	a.free(positive)
	for i, b := range exp {
		switch {
		case 1<<(i+1) <= 1<<stages-p: // brings no more than a sticky bit up
		case i < stages || i == f.Exp-1:
			a.fn(opAnd, b, b, good)
		default:
			a.fn(opAnd, b, b, high)
		}
	}
	a.free(good)

	if some != none {
		a.fn(opOr, some, some, product[2*p-first])
		a.fn(opAnd, some, some, high)
	}
	w := a.lower(product, high, p+1, stages)
	l := a.limitOf(exp, stages)
	kept, notMoved := a.normalize(w, some, p+2, stages, l)
	a.free(l.unbounded, some, high)
	a.subtractMoved(exp, notMoved)
	a.roundPack(f, d, kept, exp)
	a.free(kept...)
	a.free(exp...)

	a.tag(inf)
	for _, b := range d[f.Man : f.Man+f.Exp] {
		a.copym(b, one1)
	}
	a.tag(nan)
	a.copym(d[f.Man-1], one1)
	a.copym(sign, zero)
	a.free(inf, nan)
}

// productExponent returns E, the exponent that a product of 1 or more and less
// than 2 has, in Exp+1 bits with 2^(Exp-1) added where it is negative.
func (a *asm) productExponent(f *Format, u, v *unpacked) (exp word, negative bit) {
	exp, negative = a.exponentSum(f, u, v), a.row()
	n := f.Exp
	// The top two bits, less one.
	top, next := exp[n], exp[n-1]
	a.fn(opNor, negative, top, next)
	a.fn(opAnd, next, next, top)
	a.fn(opXor, top, top, next)
	exp[n], exp[n-1] = next, top
	return exp, negative
}

// exponentSum returns the sum of two exponents and 1 in Exp+1 bits, which is
// 2^(Exp-1) more than the exponent of a product of 1 or more and less than 2. The
// exponent 0 counts as 1, but once if both are 0; with FTZ it does not matter.
func (a *asm) exponentSum(f *Format, u, v *unpacked) word {
	n := f.Exp
	exp := a.rows(n + 1)
	x, y := u.exp[0], v.exp[0]
	if !f.FTZ {
		// Where an exponent is 0, the two lowest bits have a place left for the one.
		t := a.row()
		a.fn(opAnd, exp[0], x, y)
		a.fn(opNand, t, u.hidden, v.hidden)
		a.fn(opOr, exp[0], exp[0], t)
		a.fn(opOr, t, x, y)
		x, y = exp[0], t
	}
	a.loadCarry(one1)
	a.add(exp[0], x, y)
	for i := 1; i < n; i++ {
		a.add(exp[i], u.exp[i], v.exp[i])
	}
	a.writeCarry(exp[n])
	if !f.FTZ {
		a.free(y)
	}
	return exp
}

// lower puts a product below 2^stages zeros where high is not set, and gathers in
// the lowest bit what is then below the top keep bits of the product; where high
// is set zeros follow it. It returns keep+2^stages bits.
func (a *asm) lower(product word, high bit, keep, stages int) word {
	n, size := len(product), keep+1<<stages
	w := append(zeros(size-n), product...)
	down := product[n-keep:]
	sticky, isLow := a.row(), a.row()
	a.reduce(opOr, sticky, product[:n-keep])
	a.fn(opOr, sticky, sticky, down[0])
	a.not(isLow, high)
	a.tag(isLow)
	for i := range keep {
		from := down[i]
		if i == 0 {
			from = sticky
		}
		if w[i] == zero {
			w[i] = a.row()
			a.fn(opAnd, w[i], from, isLow)
		} else {
			a.copym(w[i], from)
		}
	}
	for _, b := range w[keep:] {
		a.copym(b, zero)
	}
	a.free(sticky, isLow)
	return w
}
