package arith

// ncFloatAdd adds or subtracts. The operand of lesser magnitude moves down to the
// other, which gives two bits more and a sticky one; the sum moves up in one
// normalisation, no further than to the place of subnormal numbers.
func ncFloatAdd(subtract bool) func(*asm, Type, []word, word) {
	return func(a *asm, t Type, x []word, d word) {
		f := t.Float
		w := f.Man + f.Exp
		u, v := x[0], x[1]
		differ, signV := a.row(), v[w]
		if subtract {
			a.fn(opXnor, differ, u[w], v[w])
			signV = a.row()
			a.not(signV, v[w])
		} else {
			a.fn(opXor, differ, u[w], v[w])
		}
		// d takes the number of greater magnitude, whose sign is that of the result.
		a.less(u[:w], v[:w], false, false)
		a.tagCarry()
		small := a.rows(w)
		a.copyWord(small, v[:w])
		a.copyWordm(small, u[:w])
		a.copyWord(d[:w], u[:w])
		a.copyWordm(d[:w], v[:w])
		a.copy(d[w], u[w])
		a.copym(d[w], signV)
		if subtract {
			a.free(signV)
		}
		a.addMagnitudes(f, d, small, differ)
	}
}

// addMagnitudes adds a number of lesser magnitude to d, or subtracts it where
// differ is set.
func (a *asm) addMagnitudes(f *Format, d, small word, differ bit) {
	m := f.Man
	p := m + 1
	b := split(f, d)
	s := unpacked{man: small[:m], exp: small[m:]}
	a.classify(&b, true)
	a.classify(&s, false)
	// NaN: the greater magnitude is one, or both are infinite and of other signs.
	nan := s.special
	a.fn(opAnd, nan, nan, differ)
	a.fn(opOr, nan, nan, b.fraction)
	a.fn(opAnd, nan, nan, b.special)
	a.free(b.fraction)
	if f.FTZ {
		a.tagNot(s.hidden)
		for _, r := range s.man {
			a.copym(r, zero)
		}
	}

	// The distance of the exponents, where an exponent of 0 counts as 1: that is
	// one less if only the lesser one is 0.
	dist := s.exp
	t := a.row()
	a.fn(opXnor, t, b.hidden, s.hidden)
	a.loadCarry(t)
	for i := range dist {
		a.not(dist[i], dist[i])
		a.add(dist[i], dist[i], b.exp[i])
	}
	stages := min(shiftBits(p+3), f.Exp)
	if stages < f.Exp {
		a.reduce(opOr, t, dist[stages:])
		for i := range stages {
			a.fn(opOr, dist[i], dist[i], t)
		}
	}
	low := 3 // guard, round and sticky
	sum := append(zeros(low), s.significand()...)
	a.shiftDown(sum, dist[:stages])
	a.free(dist...)

	a.loadCarry(differ)
	for i := range sum {
		bigBit := bit(zero)
		if i >= low {
			bigBit = b.significand()[i-low]
		}
		if sum[i] == zero {
			sum[i] = a.row()
			a.copy(sum[i], differ)
		} else {
			a.fn(opXor, sum[i], sum[i], differ)
		}
		a.add(sum[i], sum[i], bigBit)
	}
	// A subtraction carries out of the top, since big is not less.
	carry := a.row()
	a.add(carry, differ, zero)
	sum = append(sum, carry)

	// An exponent of 0 counts as 1. In sums of bits beyond those of the format
	// there are none yet.
	exp := append(word{}, b.exp...)
	if !f.FTZ {
		a.not(t, b.hidden)
		a.fn(opOr, exp[0], exp[0], t)
	}
	for range f.overBits(shiftBits(len(sum))) {
		exp = append(exp, a.row())
		a.copy(exp[len(exp)-1], zero)
	}
	over, null := a.settle(f, d, sum, exp, differ, b.hidden)
	a.free(t, differ, b.hidden)
	a.finish(d, finish{f, over, b.special, nan, null})
}

// settle normalises, rounds and packs a sum, the exponent of whose top bit is one
// more than exp. d has its sign, which a difference of zero loses. With FTZ the
// sum counts as zero also where present is not set. It gives back the rows of sum
// and exp, and returns where the result is zero.
func (a *asm) settle(f *Format, d, sum, exp word, differ, present bit) (over word, null bit) {
	p, stages := f.Man+1, shiftBits(len(sum))
	first := 1 << (stages - 1)
	top, nonzero := a.row(), a.row()
	null = a.row()
	a.reduce(opOr, top, sum[len(sum)-first:])
	a.reduce(opOr, nonzero, append(word{top}, sum[:len(sum)-first]...))
	if f.FTZ {
		a.fn(opAnd, nonzero, nonzero, present)
	}
	a.not(null, nonzero)
	a.tagOf(opAnd, null, differ)
	a.copym(d[p+f.Exp-1], zero)
	l := limit{unbounded: one1}
	if !f.FTZ { // zero must not rise, so that its exponent is zero
		for i := range exp {
			a.fn(opAnd, exp[i], exp[i], nonzero)
		}
		l = a.limitOf(exp, stages)
	}
	a.free(nonzero)
	kept, notMoved := a.normalize(sum, top, p+2, stages, l)
	a.free(top)
	if !f.FTZ {
		a.free(l.unbounded)
	}
	a.subtractMoved(exp, notMoved)
	over = a.roundPack(f, d, kept, exp)
	a.free(kept...)
	a.free(exp...)
	return over, null
}
