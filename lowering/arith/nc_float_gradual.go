package arith

import "math/bits"

// gradual is a multiplication of numbers of a format whose least normal number is
// so small that the product of two subnormal ones rounds to zero: its bias is at
// least Man+2. So at most one operand is subnormal where that matters.
//
// The exponent that the second bit of the product has, E, is known before the
// product. Where it is negative, the product begins base places further down; then
// it moves up in one normalisation, no further than what E leaves. Where the
// result is infinite, NaN or too small, the product begins down there and stays,
// which makes the fraction zero.
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
	both         bit  // the two bits of E that the first two stages obey
	notInf       bit  // the result is finite
	high         bit  // it is, and E is not negative
	good         bit  // it is, and is not zero because of E
	unbounded    bit  // E is beyond what the stages move
	w            word // the product in place: bit i in w[i+base-p]
	notMoved     word // bit k: stage k does not move
	sticky       bit  // any bit is set that was dropped
	ahead        ahead
}

// ahead is what is known of the first two stages before them. What moves in the
// first has only zeros where the second drops bits, unless the base is more than
// both move. So what is dropped is known, and these bits need not be moved.
type ahead struct {
	moves, stays bit // sticky, for what moves in the second stage only, and in none
	down         bit // the complement of sticky for what moves in the first stage, if it began low
	upper        bit // no bit is set among those that the second stage looks at
	lower        bit // any bit is set among those that the first looks at beside them
	next         bit // as upper, when the first has moved; none if the second cannot move then
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
	g.place()
	for k := g.stages - 1; k >= 0; k-- {
		g.stage(k)
	}
	nan := g.uReal
	a.fn(opAnd, nan, g.uReal, g.vReal)
	a.fn(opNor, nan, nan, g.finite)
	g.pack(d, nan)
	a.fn(opNor, sign, sign, nan)
	a.free(g.uReal, g.vReal, g.finite)
}

// flags looks at the exponents of the operands: 4(Exp-1)+1 cycles.
func (g *gradual) flags() {
	g.u.hidden, g.v.hidden = g.row(), g.product[2*g.p-1]
	g.uReal, g.vReal = g.row(), g.row()
	g.reduce(opOr, g.u.hidden, g.u.exp)
	g.reduce(opOr, g.v.hidden, g.v.exp)
	g.reduceNot(opAnd, g.uReal, g.u.exp)
	g.reduceNot(opAnd, g.vReal, g.v.exp)
	g.finite = g.row()
	g.fn(opAnd, g.finite, g.uReal, g.vReal)
}

// exponents adds the exponents, 0 counting as 1, and 1, which is E + 2^(Exp-1). It
// leaves finite in the carry. Exp+4 cycles.
func (g *gradual) exponents() {
	n := g.f.Exp
	g.exp = g.rows(n + 1)
	y := g.row()
	// The lowest bit is zero where the hidden one is.
	g.fn(opXnor, g.exp[0], g.u.exp[0], g.u.hidden)
	g.fn(opXnor, y, g.v.exp[0], g.v.hidden)
	g.loadCarry(one1)
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

// significands multiplies the significands. The carry is left set, and nothing
// changes it before pack.
func (g *gradual) significands() {
	by := g.v.significand()
	by[0] = g.product[g.p]
	g.mulUpon(g.product, g.u.significand(), by, one1)
}

// decide classifies the results by E and, where E is the greatest but one, by the
// top bit of the product. About Exp+10 cycles.
func (g *gradual) decide() {
	exp, n := g.exp, g.f.Exp
	a, b := exp[g.stages-1], exp[g.stages-2]
	mid := exp[g.stages : n-1]
	both := g.row()
	g.fn(opAnd, both, a, b)
	ones := g.row() // in mid
	if len(mid) > 0 {
		g.reduce(opAnd, ones, mid)
	}

	// E is at least -base where it is negative.
	t, notLow := g.row(), g.row()
	g.fn(opOr, notLow, exp[n], exp[n-1])
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
		g.fn(opOr, t, t, notLow)
	}

	// Infinite: E, or E+1 where the product has its top bit, is all ones or more.
	over := g.row()
	g.fn(opOr, over, exp[0], g.product[2*g.p-1])
	all := append(word{}, exp[1:n-1]...)
	if g.stages > 2 {
		all = append(append(word{}, exp[1:g.stages-2]...), both)
		if len(mid) > 0 {
			all = append(all, ones)
		}
	}
	for _, x := range all {
		g.fn(opAnd, over, over, x)
	}
	g.fn(opOr, over, over, exp[n-1])
	g.fn(opNand, over, over, exp[n])
	g.fn(opAnd, over, over, g.finite)
	g.notInf = over
	g.high, g.good = notLow, t
	g.fn(opAnd, g.high, notLow, g.notInf)
	g.fn(opAnd, g.good, fits, g.notInf)

	g.unbounded = ones
	if len(mid) == 0 {
		g.copy(ones, exp[n])
	} else {
		g.reduce(opOr, ones, append(word{exp[n]}, mid...))
	}
	g.both = both
}

// place moves the product down by base where high is not set, with what is then
// below all that may come up gathered in sticky. The guard bit of a result that is
// not good becomes zero; the bits above it follow in the first stage.
func (g *gradual) place() {
	p := g.p
	g.w = append(zeros(g.base-p), g.product...)
	low := bit(zero)
	if g.base > 3*g.second {
		sticky := g.orOf(zero, g.product[:p-1])
		g.testU(sticky)
		g.fn(opNor, sticky, sticky, g.product[p-1])
		g.fn(opNor, sticky, sticky, g.high)
		g.sticky = sticky
		g.tagNot(g.high)
	} else {
		g.lookAhead()
	}
	for i, b := range g.product[p:] {
		if i+p-g.base == p-1 { // the guard bit
			g.fnm(opAnd, g.w[i], b, g.good)
			continue
		}
		g.moveBit(g.w, i, b, &low)
	}
	// The bits of E that say how far it rises again: less 2^stages-base. A result
	// that is not good does not move in the first stage.
	a, b, both := g.exp[g.stages-1], g.exp[g.stages-2], g.both
	switch g.base / g.second {
	case 2:
		g.copym(a, zero)
	case 3:
		g.fnm(opXor, b, a, both)
		g.fnm(opAnd, a, both, g.good)
	default:
		g.fnm(opAnd, a, a, g.good)
	}
	g.copym(g.unbounded, zero)
	g.free(low, both)
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

// orOf writes the disjunction of x and w to a new row.
func (g *gradual) orOf(x bit, w word) bit {
	if x != zero {
		w = append(word{x}, w...)
	}
	t := g.row()
	if len(w) == 0 {
		g.copy(t, zero)
	} else {
		g.reduce(opOr, t, w)
	}
	return t
}

// orNot writes the complement of the disjunction of w to a new row.
func (g *gradual) orNot(w word) bit {
	t := g.row()
	if len(w) == 1 {
		g.not(t, w[0])
	} else {
		g.reduceNot(opOr, t, w)
	}
	return t
}

// lookAhead gathers what the first two stages need to know of the product, which
// share much of it. It leaves the tag set where the product begins low.
func (g *gradual) lookAhead() {
	w, p, s, q, b := g.product, g.p, 2*g.second, g.second, g.base
	h := &g.ahead
	h.moves = g.orOf(zero, w[:p-s])
	h.stays = g.orOf(h.moves, w[p-s:p-q])
	sticky := g.orOf(h.stays, w[p-q:p-1])
	g.testU(sticky)
	h.down = sticky
	g.fn(opNor, h.down, sticky, w[p-1])

	h.lower, h.upper = g.orOf(zero, w[2*p-s:2*p-q]), g.orNot(w[2*p-q:])
	h.next = none
	if p == 3*q {
		h.next = g.orNot(w[p : p+q])
	}
	// What begins low drops other bits of the product, and moves unless it is not
	// good.
	g.tagNot(g.high)
	if h.next != none {
		g.fnm(opNand, h.moves, h.down, h.next)
	} else {
		g.fnm(opNand, h.moves, h.down, h.down)
		for _, x := range w[p : p+b-s] {
			g.fnm(opOr, h.moves, h.moves, x)
		}
	}
	if b == p {
		g.fnm(opOr, h.stays, h.moves, h.lower)
	} else {
		g.copym(h.stays, h.moves)
		for _, x := range w[p-s+b : p-q+b] {
			g.fnm(opOr, h.stays, h.stays, x)
		}
	}
	g.copym(h.upper, g.good)
}

// at is bit i of the product in place; below, it is zero.
func (g *gradual) at(i int) bit {
	if i += g.base - g.p; i >= 0 {
		return g.w[i]
	}
	return zero
}

// gather writes the disjunction of x and the bits from i up to j to a new row.
func (g *gradual) gather(x bit, i, j int) bit {
	var w word
	for ; i < j; i++ {
		if b := g.at(i); b != zero {
			w = append(w, b)
		}
	}
	return g.orOf(x, w)
}

// stage moves up by 2^k where the top 2^k bits are zero and E leaves room. What no
// later stage can bring up to the guard bit is gathered in sticky.
func (g *gradual) stage(k int) {
	p, n, s := g.p, 2*g.p, 1<<k
	from := p - s // the lowest bit that may come up
	first, h := k == g.stages-1, &g.ahead
	known := g.base <= 3*g.second && k >= g.stages-2
	stay, may := g.notMoved[k], g.row()
	var t bit
	if !known {
		t = g.gather(g.sticky, p-2*s, p-s)
	}
	if known || s > 1 {
		g.fn(opOr, may, g.exp[k], g.unbounded)
	}
	switch {
	case known && first:
		from = p - g.second
		if p == 3*g.second { // a guard bit if it moves in both
			from--
		}
		g.fn(opNand, h.lower, h.lower, g.high)
		g.fn(opAnd, h.lower, h.lower, h.upper)
		g.fn(opNand, stay, h.lower, may)
	case known:
		g.fn(opNand, stay, h.upper, may)
	case first:
		g.reduce(opOr, stay, g.w[len(g.w)-s:])
		g.fn(opNand, stay, stay, g.high)
		g.fn(opNand, stay, stay, may)
	case s == 1:
		g.fn(opNor, may, g.exp[k], g.unbounded)
		g.fn(opOr, stay, may, g.at(n-1))
	default:
		g.reduceNot(opOr, stay, g.w[len(g.w)-s:])
		g.fn(opNand, stay, stay, may)
	}
	last := n - 1
	if first {
		g.zeroAndMove(stay, may, s)
		last = n - g.base - 1
	}
	g.tagNot(stay)
	// E bounds what comes if it did so far; it does not where it would have let it
	// move and a one was in the way.
	g.copym(may, g.unbounded)
	g.free(g.unbounded)
	g.unbounded = may

	for i := last; i >= from; i-- {
		g.copym(g.at(i), g.at(i-s))
	}
	switch {
	case !known:
		g.copym(t, g.sticky)
		g.free(g.sticky)
		g.sticky = t
	case first:
		// What moves in both leaves no guard bit, so that sticky does not matter.
		g.fnm(opNor, h.stays, h.down, g.high)
		if h.next != none {
			g.copym(h.upper, h.next)
		} else {
			g.copym(h.upper, zero)
		}
		g.free(h.down, h.lower, h.next)
	default:
		g.copym(h.stays, h.moves)
		g.free(h.moves, h.upper)
		g.sticky = h.stays
	}
	if first {
		g.free(g.high)
	}
}

// zeroAndMove moves the top bits of the product in the first stage: where E is
// negative those that are zero then, but for what comes up from below them. They
// are zeroed in the same go. The top one becomes one where the result is not good.
// Where E is negative, may says what moves.
func (g *gradual) zeroAndMove(stay, may bit, s int) {
	n := 2 * g.p
	g.tagOf(opNand, stay, g.high)
	for i := n - 1; i >= n-g.base; i-- {
		m := g.high
		if i-s < n-g.base {
			m = may
		}
		if i < n-1 {
			g.fnm(opAnd, g.at(i), g.at(i-s), m)
			continue
		}
		t := g.row()
		g.fn(opNand, t, g.at(i-s), m)
		g.fnm(opNand, g.at(i), t, g.good)
		g.free(t)
	}
}

// pack rounds to even and writes the result but its sign. A NaN has a fraction of
// zero so far. Where the top bit is set the exponent is E+1 less what was moved;
// else it is zero, or all ones.
func (g *gradual) pack(d word, nan bit) {
	f, p := g.f, g.p
	exp := d[f.Man : f.Man+f.Exp]
	top := g.at(2*p - 1)
	// A result that is not good has a one on top, which is added below.
	g.fn(opXor, exp[0], g.good, g.notInf)
	for _, b := range exp[1:] {
		g.not(b, g.good)
	}
	g.tagOf(opAnd, top, g.good)
	e := append(append(word{}, g.exp[:f.Exp-1]...), g.exp[f.Exp])
	for i := range exp {
		m := bit(one1)
		if i < g.stages {
			m = g.notMoved[i]
		}
		g.addm(exp[i], e[i], m)
	}
	// No more was moved than E: the carry is set.
	g.carry(g.sticky, g.at(p))
	g.carry(g.at(p-1), zero)
	g.roundUp(f, d, g.w[g.base:], nan)
	g.free(g.w...)
	g.free(g.notMoved...)
	g.free(g.exp...)
	g.free(g.sticky, g.unbounded, g.good, g.notInf)
}
