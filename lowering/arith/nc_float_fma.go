package arith

import "math/bits"

// ncFloatFMA multiplies exactly and adds before it rounds. The one of product and
// addend whose top bit has the greater exponent stays; the other one moves down,
// beside it, to three bits below the product. The product has at most p zeros at
// its top unless it is zero or no number is less than the addend, so that nothing
// that falls off can come back by a normalisation.
func ncFloatFMA(a *asm, t Type, x []word, d word) {
	f := t.Float
	u, v, c := split(f, x[0]), split(f, x[1]), split(f, x[2])
	p := f.Man + 1
	n := f.Exp + max(2, f.overBits(shiftBits(2*p+4)))
	for _, y := range []*unpacked{&u, &v, &c} {
		a.classify(y, true)
	}
	differ, nan, s := a.row(), a.row(), a.row()
	a.fn(opXor, differ, u.sign, v.sign)
	a.fn(opXor, differ, differ, c.sign)

	// NaN: an operand, infinity by zero, infinities of other signs.
	a.fn(opAnd, nan, u.special, u.fraction)
	for _, y := range []*unpacked{&v, &c} {
		a.fn(opAnd, s, y.special, y.fraction)
		a.fn(opOr, nan, nan, s)
	}
	null := u.fraction // the product is zero
	if f.FTZ {
		a.fn(opNand, null, u.hidden, v.hidden)
	} else {
		a.fn(opOr, null, u.hidden, u.fraction)
		a.fn(opOr, s, v.hidden, v.fraction)
		a.fn(opNand, null, null, s)
	}
	a.free(v.fraction, c.fraction)
	special := u.special // of the product
	a.fn(opOr, special, u.special, v.special)
	a.free(v.special)
	a.fn(opAnd, s, special, null)
	a.fn(opOr, nan, nan, s)
	a.fn(opAnd, s, special, c.special)
	a.fn(opAnd, s, s, differ)
	a.fn(opOr, nan, nan, s)

	// The exponent of the product's top bit, less one. The exponents and their
	// distance lie where the result will.
	exp := append(append(word{}, d[f.Man:f.Man+f.Exp]...), a.rows(n-f.Exp)...)
	a.not(s, u.hidden)
	a.loadCarry(s)
	for i := range f.Exp {
		a.add(exp[i], u.exp[i], v.exp[i])
	}
	a.writeCarry(exp[f.Exp])
	for _, b := range exp[f.Exp+1:] {
		a.copy(b, zero)
	}
	a.not(s, v.hidden)
	a.loadCarry(s)
	for i, k := range constWord(uint64(-f.Bias()), n) {
		a.add(exp[i], exp[i], k)
	}
	free := d[min(n, f.Man):f.Man] // beside the distance
	product := append(append(word{}, free...), a.rows(2*p-len(free))...)
	a.mulFull(product, u.significand(), v.significand(), false)
	a.free(u.hidden, v.hidden)
	if f.FTZ {
		a.tag(null)
		for _, b := range product {
			a.copym(b, zero)
		}
	}

	// How far the addend's is above it.
	dist := a.rows(max(0, n-f.Man))
	dist = append(append(word{}, d[:min(n, f.Man)]...), dist...)
	a.not(s, c.hidden)
	a.loadCarry(s)
	for i := range dist {
		a.not(dist[i], exp[i])
		if i < f.Exp {
			a.add(dist[i], dist[i], c.exp[i])
		} else {
			a.add(dist[i], dist[i], zero)
		}
	}
	addend := d[f.Man+f.Exp] // stays
	a.not(addend, dist[n-1])
	a.fn(opOr, addend, addend, null)
	a.free(null)
	sign := dist[n-1]
	a.loadCarry(sign)
	for i := range n - 1 {
		a.fn(opXor, dist[i], dist[i], sign)
		a.add(dist[i], dist[i], zero)
	}
	a.addConst(exp, 1)
	a.tag(addend)
	for i := range exp {
		if i < f.Exp {
			a.copym(exp[i], c.exp[i])
		} else {
			a.copym(exp[i], zero)
		}
	}
	a.tagOf(opAnd, addend, s) // the exponent 0 counts as 1
	a.copym(exp[0], one1)

	// Exchange where the addend stays. Below its last place it is zero.
	moved := a.rows(2 * p)
	a.tag(addend)
	sig := c.significand()
	for i := range product {
		if i < p {
			a.fn(opAnd, moved[i], product[i], addend)
			a.copym(product[i], zero)
			continue
		}
		if f.FTZ {
			a.fn(opAnd, s, sig[i-p], c.hidden)
		} else {
			a.copy(s, sig[i-p])
		}
		a.copy(moved[i], s)
		a.copym(moved[i], product[i])
		a.copym(product[i], s)
	}
	a.free(c.hidden)
	low := 3
	sum := append(zeros(low), moved...)
	stages := bits.Len(uint(len(sum)))
	if stages < n-1 {
		a.reduce(opOr, s, dist[stages:n-1])
		for i := range stages {
			a.fn(opOr, dist[i], dist[i], s)
		}
	}
	amount := append(append(word{}, dist[:n-1]...), zeros(stages)...)[:stages]
	a.shiftDown(sum, amount)
	a.free(dist...)

	// The difference may be negative; then its sign is that of the other.
	a.loadCarry(differ)
	for i := range sum {
		stay := bit(zero)
		if i >= low {
			stay = product[i-low]
		}
		if sum[i] == zero {
			sum[i] = a.row()
			a.copy(sum[i], differ)
		} else {
			a.fn(opXor, sum[i], sum[i], differ)
		}
		a.add(sum[i], sum[i], stay)
	}
	top := product[2*p-1]
	a.add(top, differ, zero)
	a.free(product[:2*p-1]...)
	a.fn(opAnd, s, top, differ) // negative: no carry out
	sum = append(sum, top)
	a.loadCarry(s)
	for i := range sum {
		a.fn(opXor, sum[i], sum[i], s)
		a.add(sum[i], sum[i], zero)
	}

	// The sign of the addend where it stayed, the other one where the difference
	// was negative.
	w := f.Man + f.Exp
	a.fn(opAnd, d[w], differ, addend)
	a.fn(opXor, d[w], d[w], s)
	a.fn(opXor, s, differ, c.sign) // that of the product
	a.fn(opXor, d[w], d[w], s)
	if !f.FTZ { // positive: no sign
		a.free(exp[n-1])
		exp = exp[:n-1]
	}
	over, zeroed := a.settle(f, d, sum, exp, differ, one1)
	a.tag(special)
	a.copym(d[w], s)
	a.tag(c.special)
	a.copym(d[w], c.sign)
	a.fn(opOr, special, special, c.special)
	a.free(s, differ, c.special)
	a.finish(d, finish{f, over, special, nan, zeroed})
}
