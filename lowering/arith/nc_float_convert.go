package arith

import "math/bits"

// ncFloatConvert converts between formats: to more exponents what is subnormal
// must rise, to less it must stay lower.
func ncFloatConvert(to *Format) func(*asm, Type, []word, word) {
	return func(a *asm, t Type, x []word, d word) {
		f, g := t.Float, *to
		g.FTZ = f.FTZ
		u := split(f, x[0])
		a.classify(&u, true)
		p := g.Man + 1
		// The exponent that the top bit gives in the other format, less one.
		offset := g.Bias() - f.Bias() - 1
		if !f.FTZ {
			offset += p + 1
		}
		span := bits.Len(uint(1<<f.Exp + max(offset, -offset)))
		exp := a.rows(max(span, g.Exp) + 2)
		low := a.row()
		a.not(low, u.hidden)
		a.loadCarry(low)
		a.free(low)
		for i, c := range constWord(uint64(offset), len(exp)) {
			e := bit(zero)
			if i < f.Exp {
				e = u.exp[i]
			}
			a.add(exp[i], e, c)
		}
		sig := a.rows(f.Man + 1)
		a.copyWord(sig, u.significand())
		rise := f.Man
		nonzero, null, nan := a.row(), a.row(), a.row()
		if f.FTZ {
			rise = 0
			a.copy(nonzero, u.hidden)
		} else {
			a.fn(opOr, nonzero, u.hidden, u.fraction)
		}
		a.not(null, nonzero)
		a.fn(opAnd, nan, u.special, u.fraction)
		a.copy(d[g.Man+g.Exp], u.sign)
		over := a.place(&g, d, sig, exp, nonzero, rise)
		a.free(nonzero, u.hidden, u.fraction)
		a.finish(d, finish{&g, over, u.special, nan, null})
	}
}

// ncFloatFromInt normalises the absolute value. No integer is subnormal.
func ncFloatFromInt(a *asm, t Type, x []word, d word) {
	f := t.Float
	p, n := f.Man+1, len(x[0])
	sign := x[0][n-1]
	w := a.rows(n)
	a.negateIf(w, x[0], sign)
	stages := shiftBits(n)
	kept, notMoved := a.normalize(a.fit(w, p+2, stages), p+2, stages, limit{unbounded: one1})
	// The top bit of the integer has the exponent of 2^(n-1); the hidden bit adds
	// one.
	exp := a.rows(max(f.Exp, bits.Len(uint(f.Bias()+n))) + 2)
	a.loadCarry(one1)
	for i, c := range constWord(uint64(f.Bias()+n-2), len(exp)) {
		m := bit(one1)
		if i < len(notMoved) {
			m = notMoved[i]
		}
		a.add(exp[i], c, m)
	}
	a.free(notMoved...)
	hidden := kept[p+1]
	for i := range exp {
		a.fn(opAnd, exp[i], exp[i], hidden)
	}
	over := a.roundPack(f, d, kept, exp)
	null, never, nan := a.row(), a.row(), a.row()
	a.not(null, hidden)
	a.copy(never, zero)
	a.copy(nan, zero)
	a.free(kept...)
	a.free(exp...)
	a.copy(d[p+f.Exp-1], sign)
	a.finish(d, finish{f, over, never, nan, null})
}

// ncFloatToInt moves the significand down from the top of a word to its place,
// cutting off what is below one.
func ncFloatToInt(a *asm, t Type, x []word, d word) {
	f := t.Float
	u := split(f, x[0])
	a.classify(&u, true)
	n, p := len(d), f.Man+1
	// The distance from where the top bit of the word would be the hidden one.
	dist := a.rows(max(f.Exp, bits.Len(uint(f.Bias()+n))) + 2)
	a.loadCarry(one1)
	for i, c := range constWord(uint64(f.Bias()+n-1), len(dist)) {
		e := bit(one1)
		if i < f.Exp {
			e = dist[i]
			a.not(e, u.exp[i])
		}
		a.add(dist[i], e, c)
	}
	w := zeros(n)
	if p <= n {
		copy(w[n-p:], a.rows(p))
		a.copyWord(w[n-p:], u.significand())
	} else {
		w = a.rows(n)
		a.copyWord(w, u.significand()[p-n:])
	}
	stages := shiftBits(n)
	// Beyond the word: too large where the distance is not positive, zero where it
	// is too far or the number subnormal.
	large, gone := a.row(), a.row()
	top := len(dist) - 1
	a.reduce(opOr, large, dist[:top])
	a.not(large, large)
	a.fn(opOr, large, large, dist[top])
	a.fn(opOr, large, large, u.special)
	a.reduce(opOr, gone, dist[stages:])
	for k := stages - 1; k >= 0; k-- {
		s := 1 << k
		a.tag(dist[k])
		moves := bit(zero)
		for i := range w {
			from := zero
			if i+s < n {
				from = w[i+s]
			}
			a.moveBit(w, i, from, &moves)
		}
		a.free(moves)
	}
	// Zero where the amount is beyond the word; large ones are overwritten.
	a.tag(gone)
	for _, b := range w {
		if b != zero {
			a.copym(b, zero)
		}
	}
	a.negateIf(d, w, u.sign)
	a.free(w...)
	// The most of either sign; the largest for a NaN.
	nan := a.row()
	a.fn(opAnd, nan, u.special, u.fraction)
	a.tag(large)
	for i, b := range d {
		if i == n-1 {
			a.copym(b, one1)
		} else {
			a.copym(b, zero)
		}
	}
	a.not(gone, u.sign)
	a.fn(opAnd, gone, gone, large)
	a.tagOf(opOr, gone, nan)
	for i, b := range d {
		if i == n-1 {
			a.copym(b, zero)
		} else {
			a.copym(b, one1)
		}
	}
	a.free(nan, large, gone, u.hidden, u.special, u.fraction)
	a.free(dist...)
}
