package arith

import "math/bits"

// gradual is a multiplication of numbers of a format whose least normal number is
// so small that the product of two subnormal ones rounds to zero: its bias is at
// least Man+2. So at most one operand is subnormal where that matters.
//
// The exponent that the second bit of the product has, E, is known before the
// product. Where it is negative, the product begins base places further down; then
// it moves up in one normalisation, no further than what E leaves. Where the
// result is infinite, NaN or too small, the last stage makes the fraction zero.
//
// A move is an addition of one where it happens and the carry is set, which leaves
// it set. Elsewhere the carry gathers the disjunction of what is copied: it tells of
// leading zeros, and of bits that are dropped because they do not move.
type gradual struct {
	*asm
	f    *Format
	u, v unpacked
	p    int // bits of a significand

	// Stages of the normalisation, the first of 2^(stages-1) places, and how far the
	// product begins down where E is negative: p rounded up to a multiple of second,
	// what the second stage moves.
	stages, second, base int

	finite       bit  // neither operand is infinite or NaN
	uReal, vReal bit  // the operand is neither; in the end, where one is: u, v is neither NaN nor zero
	exp          word // E + 2^(Exp-1) in Exp+1 bits
	product      word
	low, high    bit  // E is negative, or not
	notInf       bit  // the result is finite
	good         bit  // it is, and is not zero because of E
	unbounded    bit  // E is beyond what the stages move
	may          bit  // E lets the first stage move
	zeros        bit  // no bit is set among those that the first stage looks at
	upper, next  bit  // any is among those that the second does; when the first has moved, or none if it is then
	w            word // the product in place: bit i in w[i+base-p]
	notMoved     word // bit k: stage k does not move
	sticky       bit  // any bit is set that was dropped
	inCarry      bool // sticky is to be written from the carry
}

// mulGradual multiplies with subnormal operands and results.
func (a *asm) mulGradual(f *Format, d word, u, v unpacked) {
	p := f.Man + 1
	g := &gradual{asm: a, f: f, u: u, v: v, p: p, stages: bits.Len(uint(p))}
	g.second = 1 << (g.stages - 2)
	g.base = (p + g.second - 1) / g.second * g.second

	// The low bits of the product lie where the result will.
	g.product = append(append(word{}, d[:p-2]...), a.rows(p+2)...)
	sign := d[p+f.Exp-1]
	a.fn(opXnor, sign, u.sign, v.sign)
	g.flags()
	g.exponents()
	g.multiplier()
	g.significands()
	g.decide()
	g.begin()
	for k := g.stages - 1; k > 0; k-- {
		g.stage(k)
	}
	g.lastStage()
	nan := g.uReal
	a.fn(opAnd, nan, g.uReal, g.vReal)
	a.fn(opNor, nan, nan, g.finite)
	g.pack(d, nan)
	a.fn(opNor, sign, sign, nan)
	a.free(g.uReal, g.vReal, g.finite)
}

// flags looks at the exponents of the operands, and sets the carry: 2Exp+4 cycles.
func (g *gradual) flags() {
	g.u.hidden, g.v.hidden = g.row(), g.product[2*g.p-1]
	g.uReal, g.vReal = g.row(), g.row()
	top := g.f.Exp - 1
	g.loadCarry(g.u.exp[top])
	g.ends(opNand, g.u.hidden, g.uReal, g.u.exp, g.v.exp[top])
	g.ends(opNand, g.v.hidden, g.vReal, g.v.exp, one1)
	g.finite = g.row()
	g.fn(opAnd, g.finite, g.uReal, g.vReal)
}

// exponents adds the exponents, 0 counting as 1, and 1, which is E + 2^(Exp-1). It
// leaves finite in the carry. Exp+3 cycles.
func (g *gradual) exponents() {
	n := g.f.Exp
	g.exp = g.rows(n + 1)
	y := g.row()
	// The lowest bit is zero where the hidden one is.
	g.fn(opXnor, g.exp[0], g.u.exp[0], g.u.hidden)
	g.fn(opXnor, y, g.v.exp[0], g.v.hidden)
	g.add(g.exp[0], g.exp[0], y)
	for i := 1; i < n; i++ {
		g.add(g.exp[i], g.u.exp[i], g.v.exp[i])
	}
	g.add(g.exp[n], g.finite, g.finite)
	g.free(y)
}

// multiplier copies the fraction of v to the upper half of the product and finds
// whether it is zero where an operand is special. There, the lowest bit becomes
// one. Man+3 cycles.
func (g *gradual) multiplier() {
	g.copyAndTest(g.product[g.p:], g.v.man)
	g.tagNotCarry()
	g.copym(g.vReal, g.v.hidden)
	g.fn(opOr, g.product[g.p], g.product[g.p], g.v.man[0])
}

// significands multiplies the significands. The carry is set where E is negative.
func (g *gradual) significands() {
	n := g.f.Exp
	g.low, g.high = g.row(), g.row()
	g.fn(opNor, g.low, g.exp[n], g.exp[n-1])
	g.fn(opOr, g.high, g.exp[n], g.exp[n-1])
	by := g.v.significand()
	by[0] = g.product[g.p]
	g.mulUpon(g.product, g.u.significand(), by, g.low)
}

// decide classifies the results by E and, where E is the greatest but one, by the
// top bit of the product. About Exp+8 cycles.
func (g *gradual) decide() {
	exp, n := g.exp, g.f.Exp
	a, b := exp[g.stages-1], exp[g.stages-2]
	mid := exp[g.stages : n-1]
	ones := g.row() // in mid
	if len(mid) > 0 {
		g.reduce(opAnd, ones, mid)
	}

	// E is at least -base where it is negative.
	t := g.row()
	var in word
	if len(mid) > 0 {
		in = append(in, ones)
	}
	switch g.base / g.second {
	case 2:
		in = append(in, a)
	case 3:
		g.fn(opOr, t, a, b)
		in = append(in, t)
	}
	fits := bit(one1)
	if len(in) > 0 {
		fits = t
		g.reduce(opAnd, t, in)
		g.fn(opOr, t, t, g.high)
	}

	// Infinite: E, or E+1 where the product has its top bit, is all ones or more.
	over := g.row()
	g.fn(opOr, over, exp[0], g.product[2*g.p-1])
	all := append(word{}, exp[1:g.stages]...)
	if len(mid) > 0 {
		all = append(all, ones)
	} else {
		all = exp[1 : n-1]
	}
	for _, x := range all {
		g.fn(opAnd, over, over, x)
	}
	g.fn(opOr, over, over, exp[n-1])
	g.fn(opNand, over, over, exp[n])
	g.fn(opAnd, over, over, g.finite)
	g.notInf, g.good = over, t
	g.fn(opAnd, g.good, fits, g.notInf)

	g.unbounded = ones
	if len(mid) == 0 {
		g.copy(ones, exp[n])
	} else {
		g.reduce(opOr, ones, append(word{exp[n]}, mid...))
	}
}

// begin moves the product down by base where E is negative, with what is then
// below all that may come up gathered in sticky. The copies tell of leading zeros
// where it is not.
func (g *gradual) begin() {
	p, q := g.p, g.second
	g.w = append(zeros(g.base-p), g.product...)
	g.sticky = g.orOf(g.product[:p-1])
	g.testU(g.sticky)
	g.fn(opOr, g.sticky, g.sticky, g.product[p-1])
	g.fn(opAnd, g.sticky, g.sticky, g.low)

	g.tag(g.low)
	var group word // whether a bit is set in the top q, the next, and those below
	for i := 2*p - 1; i >= p; i-- {
		looks := len(group) < 3 && (len(group) < 2 || p >= 3*q)
		switch d := i - g.base; {
		case d < p-g.base:
			panic("arith: a product begins below its window")
		case g.at(d) == zero:
			g.w[d+g.base-p] = g.row()
			g.fn(opAnd, g.at(d), g.product[i], g.low)
			if looks {
				g.carry(g.product[i], one1)
			}
		case looks:
			g.addm(g.at(d), g.product[i], one1)
		default:
			g.copym(g.at(d), g.product[i])
		}
		if looks && (2*p-i)%q == 0 {
			t := g.row()
			g.add(t, g.low, g.low)
			group = append(group, t)
		}
	}

	// The bits of E that say how far it rises again: less 2^stages-base.
	a, b := g.exp[g.stages-1], g.exp[g.stages-2]
	g.may = g.row()
	g.fn(opOr, g.may, a, g.unbounded)
	switch g.base / q {
	case 2:
		g.copym(g.may, zero)
	case 3:
		g.fnm(opAnd, g.may, a, b)
		g.fnm(opXor, b, a, g.may)
	default:
		g.copym(g.may, a)
	}
	g.copym(g.unbounded, zero)

	// There are none to find where E is negative.
	g.zeros, g.upper, g.next = group[1], group[0], none
	g.fn(opOr, g.zeros, group[0], group[1])
	g.fn(opNand, g.zeros, g.zeros, g.high)
	g.fn(opNand, g.upper, g.upper, g.high)
	if len(group) > 2 {
		g.next = group[2]
	}
	g.notMoved = g.rows(g.stages)
}

// testU finds whether u is zero or NaN where an operand is special. The multiplier
// is odd there: the disjunction of the low Man bits of the product is that of the
// fraction of u.
func (g *gradual) testU(any bit) {
	g.tagNot(any)
	g.copym(g.uReal, g.u.hidden)
	g.free(g.u.hidden)
}

// orOf writes the disjunction of w to a new row.
func (g *gradual) orOf(w word) bit {
	t := g.row()
	g.reduce(opOr, t, w)
	return t
}

// at is bit i of the product in place; below, it is zero.
func (g *gradual) at(i int) bit {
	if i += g.base - g.p; i >= 0 {
		return g.w[i]
	}
	return zero
}

// stage moves up by 2^k where the top 2^k bits are zero and E leaves room. What no
// later stage can bring up to the guard bit is gathered in sticky.
func (g *gradual) stage(k int) {
	p, n, s, q := g.p, 2*g.p, 1<<k, g.second
	first, second := k == g.stages-1, k == g.stages-2
	// What moves in the first stage has only zeros where the second drops bits, unless
	// the base is more than both move. So these bits need not be moved.
	short := g.base <= 3*q
	stay := g.notMoved[k]
	last, from := n-1, p-s // the lowest bit that may come up
	may, seen := g.may, g.zeros
	if !first {
		may, seen = g.row(), g.upper
		g.fn(opOr, may, g.exp[k], g.unbounded)
	}
	if !first && !second {
		seen = g.row()
		g.top(seen, s)
	}
	g.fn(opNand, stay, seen, may)
	if first {
		if short {
			from = p - q
		}
		if p == 3*q { // a guard bit if it moves in both
			from--
		}
		g.zeroAndMove(stay, may, s)
		last = n - g.base - 1
	}
	g.tagNot(stay)
	// E bounds what comes if it did so far; it does not where it would have let it
	// move and a one was in the way.
	g.copym(may, g.unbounded)
	g.free(g.unbounded, seen)
	g.unbounded = may

	moved, all := g.row(), []bit{stay} // the stages that must not have moved, for sticky
	if s < 4 && !first && !second {    // as many cycles to look at them
		t := g.row()
		g.spill()
		g.reduce(opOr, t, append(word{g.sticky}, g.w[p-2*s+g.base-p:p-s+g.base-p]...))
		for i := last; i >= from; i-- {
			g.copym(g.at(i), g.at(i-s))
		}
		g.copym(t, g.sticky)
		g.free(g.sticky, moved)
		g.sticky = t
		return
	}
	if second && short {
		all = append(all, g.notMoved[k+1])
		g.fn(opNand, moved, stay, all[1])
	} else {
		g.writeTag(moved)
	}
	if g.inCarry {
		g.add(g.sticky, moved, moved)
	} else {
		g.loadCarry(moved)
	}
	for i := p - 1; i > last; i-- {
		g.carry(g.at(i-s), one1)
	}
	for i := last; i >= from; i-- {
		if x := g.at(i - s); i < p && x != zero {
			g.addm(g.at(i), x, one1)
		} else {
			g.copym(g.at(i), x)
		}
	}
	for _, x := range all {
		g.carry(x, zero)
	}
	g.carry(g.sticky, one1)
	g.inCarry = true
	g.free(moved)
	if first {
		if g.next != none {
			g.fnm(opNand, g.upper, g.next, g.high)
		} else { // what moves has a one among the bits that the second stage looks at
			g.copym(g.upper, g.low)
		}
		g.free(g.next, g.high, g.low)
	}
}

// top writes whether the top s bits are all zero.
func (g *gradual) top(d bit, s int) { g.reduceNot(opOr, d, g.w[len(g.w)-s:]) }

// spill writes sticky if it is in the carry only.
func (g *gradual) spill() {
	if g.inCarry {
		g.writeCarry(g.sticky)
		g.inCarry = false
	}
}

// zeroAndMove moves the top bits of the product in the first stage: where E is
// negative those that are zero then, but for what comes up from below them. They
// are zeroed in the same go. Where E is negative, may says what moves.
func (g *gradual) zeroAndMove(stay, may bit, s int) {
	n := 2 * g.p
	g.tagOf(opNand, stay, g.high)
	for i := n - 1; i >= n-g.base; i-- {
		m := g.high
		if i-s < n-g.base {
			m = may
		}
		g.fnm(opAnd, g.at(i), g.at(i-s), m)
	}
}

// lastStage moves up by one place, and makes zero what is not good.
func (g *gradual) lastStage() {
	p, n := g.p, 2*g.p
	stay, t := g.notMoved[0], g.row()
	g.spill()
	g.fn(opNor, t, g.exp[0], g.unbounded)
	g.fn(opOr, stay, t, g.at(n-1))
	g.fn(opOr, t, g.sticky, g.at(p-2))
	g.tagOf(opNand, stay, g.good)
	for i := n - 1; i >= p-1; i-- {
		g.fnm(opAnd, g.at(i), g.at(i-1), g.good)
	}
	g.copym(t, g.sticky)
	g.free(g.sticky)
	g.sticky = t
}

// pack rounds to even and writes the result but its sign. A NaN has a fraction of
// zero so far. Where the top bit is set the exponent is E+1 less what was moved;
// else it is zero, or all ones.
func (g *gradual) pack(d word, nan bit) {
	f, p := g.f, g.p
	exp := d[f.Man : f.Man+f.Exp]
	for _, b := range exp {
		g.not(b, g.notInf)
	}
	g.tag(g.at(2*p - 1))
	g.loadCarry(one1)
	e := append(append(word{}, g.exp[:f.Exp-1]...), g.exp[f.Exp])
	for i := range exp {
		m := bit(one1)
		if i < g.stages {
			m = g.notMoved[i]
		}
		g.addm(exp[i], e[i], m)
	}
	// No more was moved than E: the carry is set where the guard bit may be.
	g.carry(g.sticky, g.at(p))
	g.carry(g.at(p-1), zero)
	g.roundUp(f, d, g.w[g.base:], nan)
	g.free(g.w...)
	g.free(g.notMoved...)
	g.free(g.exp...)
	g.free(g.sticky, g.unbounded, g.good, g.notInf)
}
