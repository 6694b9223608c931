package arith

import (
	"math/bits"

	"github.com/bitsched/bitsched/sram"
)

// fused multiplies exactly and adds before it rounds. The window is three bits below
// the product, the product, and two above it. Where the addend's place is at most one
// above the top of the product, the product stays there and the addend moves down.
// Else the addend stays at the bit above the product and the product moves down, of
// which the lower half counts only as whether it is zero.
//
// Where signs differ, what moves is complemented, and nothing more is added. So the
// sum is one too little where it is not negative: as if ones without end were below
// it. Where it is negative its complement is the magnitude.
type fused struct {
	*asm
	f       *Format
	u, v, c unpacked
	p, top  int // bits of a significand, the top bit of the window

	sign         bit // of the product
	finite       bit // u and v are neither infinite nor NaN
	special      bit // u, v or c is
	cReal        bit // c is not
	uReal, vReal bit // as in gradual
	null         bit // the product is zero
	nan          bit
	differ       bit  // the sum is a difference; not where anything is infinite or NaN
	plain        bit  // its complement
	product      word // of the significands
	lower        bit  // any bit of its lower half is set
	sum          word // of the exponents and 3
	stays        bit  // the addend does, else the product
	kill         bit  // what moves is zero, with FTZ only
	exp          word // of the top bit of the window, less one
	w            word // the window
	minus        bit  // the sum is negative
	ones         bit  // ones without end are below it
	none         bit  // there are none

	stages   int  // of the normalisation
	reach    bool // there is no limit, so that all that is not zero comes to the top
	flip     int  // from this bit on the sum is complemented where it is negative
	low      int  // the lowest bit that is not dropped yet
	before   bit  // what the first stage drops where it moves
	sticky   bit  // what was dropped: the disjunction, or the conjunction where ones are below
	late     word // dropped, but not in sticky yet
	zeros    bit  // the bits that the first stage looks at are zero
	empty    bit  // the sum is zero
	result   bit  // its sign
	limit    limit
	notMoved word
}

func ncFloatFMA(a *asm, t Type, x []word, d word) {
	f := t.Float
	p := f.Man + 1
	m := &fused{asm: a, f: f, u: split(f, x[0]), v: split(f, x[1]), c: split(f, x[2]), p: p, top: 2*p + 4}
	if isConst(x[0]) { // the bits of a constant multiplier need no tag
		m.u, m.v = m.v, m.u
	}
	m.flags(d)
	m.multiply()
	amount := m.align()
	m.exchange()
	m.sink(m.w[:m.top], amount, m.differ, m.plain)
	m.free(amount...)
	m.addition()
	m.inspect()
	m.rise()
	m.pack(d)
}

// flags looks at exponents and signs, and adds the exponents of u and v.
func (m *fused) flags(d word) {
	f, p, n := m.f, m.p, m.f.Exp
	w := f.Man + n
	below := min(w, 2*p-1)
	m.product = append(append(word{}, d[:below]...), m.rows(2*p-below)...)
	m.u.hidden, m.v.hidden, m.c.hidden = m.row(), m.product[2*p-1], m.row()
	m.uReal, m.vReal, m.cReal, m.special = m.row(), m.row(), m.row(), m.row()
	m.loadCarry(m.u.exp[n-1])
	m.ends(opNand, m.u.hidden, m.uReal, m.u.exp, m.v.exp[n-1])
	m.ends(opNand, m.v.hidden, m.vReal, m.v.exp, m.c.exp[n-1])
	m.ends(opNand, m.c.hidden, m.cReal, m.c.exp, one1)
	m.finite, m.sign, m.differ, m.plain, m.nan = m.row(), m.row(), m.row(), m.row(), m.row()
	m.fn(opAnd, m.finite, m.uReal, m.vReal)
	m.fn(opXor, m.sign, m.u.sign, m.v.sign)
	m.fn(opXnor, m.plain, m.sign, m.c.sign)
	m.fn(opOr, m.nan, m.finite, m.cReal) // infinities of other signs
	m.fn(opNor, m.nan, m.nan, m.plain)
	m.fn(opNand, m.special, m.cReal, m.finite)
	m.fn(opNor, m.differ, m.plain, m.special)
	m.not(m.plain, m.differ)

	m.sum = m.rows(n + 1)
	low := m.sum[n]
	m.effective(opXnor, m.sum[0], &m.u)
	m.effective(opXnor, low, &m.v)
	m.add(m.sum[0], m.sum[0], low)
	for i := 1; i < n; i++ {
		m.add(m.sum[i], m.u.exp[i], m.v.exp[i])
	}
	m.add(m.sum[n], m.finite, m.finite) // leaves finite in the carry
}

// effective writes the lowest bit of an exponent, 0 counting as 1 but with FTZ; its
// complement for opXor.
func (m *fused) effective(op sram.Opcode, d bit, x *unpacked) {
	switch {
	case !m.f.FTZ:
		m.fn(op, d, x.exp[0], x.hidden)
	case op == opXor:
		m.not(d, x.exp[0])
	default:
		m.copy(d, x.exp[0])
	}
}

// multiply multiplies the significands, and finds NaNs among the operands and
// products of infinity and zero as gradual does.
func (m *fused) multiply() {
	p := m.p
	if m.f.FTZ {
		m.null = m.row()
		m.fn(opNand, m.null, m.u.hidden, m.v.hidden)
		m.fn(opAnd, m.uReal, m.uReal, m.u.hidden) // what is subnormal counts as zero
		m.fn(opAnd, m.vReal, m.vReal, m.v.hidden)
	}
	m.copyAndTest(m.product[p:], m.v.man)
	m.tagNotCarry()
	m.copym(m.vReal, m.v.hidden)
	m.fn(opOr, m.product[p], m.product[p], m.v.man[0])
	by := m.v.significand()
	by[0] = m.product[p]
	m.mulUpon(m.product, m.u.significand(), by, one1)

	m.lower = m.row()
	m.reduce(opOr, m.lower, m.product[:p-1])
	m.tagNot(m.lower)
	m.copym(m.uReal, m.u.hidden)
	m.fn(opOr, m.lower, m.lower, m.product[p-1])
	if !m.f.FTZ {
		m.null = m.row()
		m.reduceNot(opOr, m.null, append(word{m.lower}, m.product[p:]...))
	}
	m.fn(opAnd, m.uReal, m.uReal, m.vReal)
	m.fn(opNor, m.uReal, m.uReal, m.finite)
	m.fn(opOr, m.nan, m.nan, m.uReal)
	m.free(m.u.hidden, m.uReal, m.vReal)
}

// align finds which of the two stays and how far the other one moves, and leaves
// the tag set where the addend stays. With V the sum of the exponents and 3, C that
// of the addend, W = V - C is 2^(Exp-1) or more where the product stays, and then by
// that much more than the addend moves; else the product moves by 2^(Exp-1) - 1 - W.
func (m *fused) align() (amount word) {
	f, n := m.f, m.f.Exp
	v := m.sum
	// The carry is set: from the last row of the product.
	for i := 1; i <= n; i++ {
		m.add(v[i], v[i], zero)
	}
	dist := m.rows(n + 1)
	m.effective(opXor, dist[0], &m.c)
	for i := 1; i < n; i++ {
		m.not(dist[i], m.c.exp[i])
	}
	m.loadCarry(one1)
	for i := range n {
		m.add(dist[i], dist[i], v[i])
	}
	m.add(dist[n], v[n], one1)
	m.stays = m.row()
	positive, next := m.row(), dist[n-1]
	m.writeCarry(positive)
	m.fn(opOr, m.stays, next, dist[n])
	m.fn(opNand, m.stays, m.stays, positive)
	m.fn(opOr, m.stays, m.stays, m.special)
	m.fn(opOr, m.stays, m.stays, m.null)

	// The exponent: V - 2^(Exp-1), or that of the addend.
	y := m.row()
	m.fn(opAnd, y, v[n], v[n-1])
	m.not(v[n-1], v[n-1])
	m.free(v[n])
	m.exp = append(append(word{}, v[:n]...), y)

	stages := bits.Len(uint(m.top - 1))
	far := dist[n]
	amount = append(amount, dist[:n-1]...)
	if stages >= n { // beyond the lower bits, exactly
		m.fn(opXor, next, next, positive)
		m.fn(opAnd, next, next, far)
		m.fn(opXor, far, far, next)
		amount = append(amount, next)
	}
	m.free(positive)
	m.tag(m.stays)
	for _, b := range dist[:n-1] {
		m.fnm(opNand, b, b, b)
	}
	if f.FTZ {
		m.copym(m.exp[0], m.c.exp[0])
	} else {
		m.fnm(opXnor, m.exp[0], m.c.exp[0], m.c.hidden)
	}
	for i := 1; i < n; i++ {
		m.copym(m.exp[i], m.c.exp[i])
	}
	m.copym(y, zero)
	for len(amount) > stages {
		m.fn(opOr, far, far, amount[len(amount)-1])
		m.free(amount[len(amount)-1])
		amount = amount[:len(amount)-1]
	}
	if stages > n {
		amount = append(amount, far)
		far = m.row()
		m.copy(far, m.special)
	} else {
		m.fn(opOr, far, far, m.special)
	}
	if f.FTZ {
		m.kill = m.row()
		m.fn(opNor, m.kill, m.stays, m.c.hidden)
		m.fn(opOr, m.kill, m.kill, m.null)
		m.fn(opOr, far, far, m.kill)
	}
	for _, b := range amount {
		m.fn(opOr, b, b, far)
	}
	for len(amount) < stages {
		amount = append(amount, far)
	}
	if !f.FTZ {
		m.free(m.null)
	}
	if amount[stages-1] != far {
		m.free(far)
	}
	return amount
}

// exchange begins the window with what moves, where the tag is set the product.
func (m *fused) exchange() {
	p := m.p
	m.w = make(word, m.top+1)
	for i := range m.w {
		m.w[i] = none
	}
	m.w[0] = m.row()
	m.copy(m.w[0], m.differ)
	m.fnm(opXor, m.w[0], m.lower, m.differ)
	c := m.c.significand()
	for i := p + 2; i < m.top; i++ {
		b := m.row()
		m.w[i] = b
		if j := i - p - 4; j >= 0 {
			m.fn(opXor, b, c[j], m.differ)
		} else {
			m.copy(b, m.differ)
		}
		if i-2 < 2*p {
			m.fnm(opXor, b, m.product[i-2], m.differ)
		} else {
			m.copym(b, m.differ)
		}
	}
	m.free(m.lower)
}

// addition adds what stays: the product in one pass, the addend in the other.
func (m *fused) addition() {
	w, p := m.w, m.p
	if m.f.FTZ {
		m.tag(m.kill)
		m.copym(w[0], m.differ)
		m.free(m.kill)
	}
	w[m.top] = m.product[2*p-1]
	m.tagNot(m.stays)
	m.loadCarry(zero)
	for i, b := range m.product {
		m.addm(w[i+3], w[i+3], b)
	}
	m.addm(w[m.top-1], w[m.top-1], zero)
	m.add(w[m.top], m.differ, zero)
	m.tag(m.stays)
	m.loadCarry(zero)
	for i, b := range m.c.significand() {
		m.addm(w[i+p+4], w[i+p+4], b)
	}
	m.addm(w[m.top], m.differ, zero)
	m.free(m.product[:2*p-1]...)
}

// lowest is the lowest bit that may come to be kept after stage k of 2^k places.
func (m *fused) lowest(k int) int { return max(0, m.top-m.p-(1<<k-1)) }

// inspect finds what is to be known of the sum before it is normalised: whether it is
// negative or zero, its sign, what its first stages drop, and NaNs.
func (m *fused) inspect() {
	f, p, w, top := m.f, m.p, m.w, m.top
	m.stages = min(bits.Len(uint(top-2)), f.Exp+1)
	m.reach = f.FTZ && 1<<m.stages > top-2
	size := 1 << (m.stages - 1)
	first := top - size + 1 // of the bits that the first stage looks at
	m.low = max(0, m.lowest(m.stages-1)-size)
	cut := m.lowest(m.stages - 1)
	if cut == 0 {
		cut = m.lowest(m.stages - 2)
	}
	// What is dropped in the first stage that drops anything, where it moves and
	// where it does not; and whether there is anything below what the first one
	// looks at. Conjunctions where signs differ.
	m.minus, m.ones, m.none = m.row(), m.row(), m.row()
	m.before, m.sticky, m.empty = m.differ, m.row(), m.row()
	m.loadCarry(m.differ)
	for i := 0; i <= max(cut, first); i++ {
		if i == m.low && i > 0 {
			m.before = m.row()
			m.writeCarry(m.before)
		}
		if i == cut {
			m.writeCarry(m.sticky)
		}
		if i < max(cut, first) {
			m.carry(w[i], m.plain)
		}
	}
	m.writeCarry(m.empty)
	m.fn(opAnd, m.minus, w[top], m.differ)
	m.fn(opXor, m.ones, m.differ, m.minus)
	m.not(m.none, m.ones)
	// Where the sum is negative, bits from flip on are complemented now, those below
	// when they come up.
	m.flip = min(first, m.lowest(0)-1)
	for _, b := range w[m.flip:] {
		m.fn(opXor, b, b, m.minus)
	}

	// The fraction of an addend beside which nothing is, as it is infinite or NaN.
	t, zeros := m.row(), m.row()
	m.zeros = zeros
	m.reduceNot(opOr, zeros, w[first:top-1])
	nothing := zeros
	if first > p+4 {
		nothing = t
		m.reduce(opOr, t, append(word{zero}, w[p+4:first]...))
		m.fn(opNand, t, t, t)
		m.fn(opAnd, t, t, zeros)
	}
	m.fn(opNor, t, m.cReal, nothing)
	m.fn(opOr, m.nan, m.nan, t)
	m.fn(opNor, t, w[top-1], w[top])
	m.fn(opAnd, zeros, zeros, t)

	// The sign; a difference of zero has been taken for negative.
	m.result = m.row()
	m.copy(m.result, m.sign)
	m.tagOf(opAnd, m.stays, m.finite)
	m.copym(m.result, m.c.sign)
	m.fn(opXor, m.result, m.result, m.minus)
	if !m.reach {
		m.fn(opAnd, m.empty, m.empty, zeros)
		m.fn(opAnd, m.empty, m.empty, m.minus)
	}
	m.free(t)
}

// rise moves the sum up until its top bit is one, but for the last stage, no further
// than the exponent lets it.
func (m *fused) rise() {
	f, w, top, stages := m.f, m.w, m.top, m.stages
	if !f.FTZ {
		m.limit = m.limitOf(m.exp, stages)
	}
	m.notMoved = m.rows(stages)
	inverted, t := false, m.row()
	for k := stages - 1; k > 0; k-- {
		size, next, zeros := 1<<k, m.lowest(k), m.zeros
		if k < stages-1 {
			zeros = t
			m.reduceNot(opOr, zeros, w[top-size+1:])
		}
		dropped, was := w[m.low:next], m.sticky
		later := false
		switch {
		case k == stages-1 || k == stages-2 && m.low == 0:
			was = m.before
		case len(dropped) <= 2 && m.low >= m.flip:
			m.late, later = append(m.late, dropped...), true
		default:
			m.sticky = m.row()
			inverted = m.drop(m.sticky, was, next, inverted)
		}
		if f.FTZ {
			m.not(m.notMoved[k], zeros)
			m.tag(zeros)
		} else {
			m.bounded(m.notMoved[k], zeros, &m.limit, k)
		}
		if was != m.sticky {
			m.copym(m.sticky, was)
			if was != m.differ {
				m.free(was)
			}
		}
		for i := top; i >= next; i-- {
			switch j := i - size; {
			case j < m.low && i < m.flip:
				m.copym(w[i], m.differ)
			case j < m.low:
				m.copym(w[i], m.ones)
			case i >= m.flip && j < m.flip:
				m.fnm(opXor, w[i], w[j], m.minus)
			default:
				m.copym(w[i], w[j])
			}
		}
		if later {
			for _, b := range dropped {
				m.copym(b, m.ones)
			}
		}
		m.low = next
	}
	if !inverted {
		m.fn(opXor, m.sticky, m.sticky, m.minus)
	}
}

// pack rounds to even and writes the result.
func (m *fused) pack(d word) {
	f, p, n, w, top := m.f, m.p, m.f.Exp, m.w, m.top
	t := m.row()
	// The last stage, which also makes the fraction zero where the result is
	// infinite, or zero because of its exponent.
	stay, exp, last := m.notMoved[0], d[f.Man:f.Man+n], m.row()
	m.late = append(m.late, w[top-p-1])
	if f.FTZ {
		m.copy(stay, w[top])
	} else {
		m.fn(opNor, t, m.exp[0], m.limit.unbounded)
		m.fn(opOr, stay, t, w[top])
	}
	m.loadCarry(one1)
	for i, e := range m.exp {
		moved, to := bit(one1), last
		if i < m.stages {
			moved = m.notMoved[i]
		}
		if i < n {
			to = exp[i]
		}
		m.add(to, e, moved)
	}
	infinite, good, below := m.row(), t, m.row()
	m.reduce(opAnd, infinite, exp[1:])
	if f.FTZ {
		// One below the normal numbers rounds to the least of these or to zero.
		positive := m.row()
		m.writeCarry(positive)
		m.fn(opAnd, below, infinite, exp[0])
		if m.stages > n {
			m.fn(opAnd, below, below, last)
		}
		m.fn(opNor, positive, positive, positive)
		m.fn(opAnd, below, below, positive)
		m.fn(opOr, infinite, infinite, last)
		m.fn(opNor, good, positive, positive)
		m.fn(opAnd, infinite, infinite, good)
		m.fn(opOr, infinite, infinite, m.special)
		m.fn(opOr, good, good, below)
		zeros := m.row()
		m.fn(opNor, zeros, w[top], w[top-1])
		m.fn(opNor, last, infinite, zeros)
		m.fn(opAnd, good, good, last)
		m.fn(opAnd, below, below, good)
		if m.reach {
			m.fn(opAnd, m.empty, zeros, m.minus)
		}
		m.fn(opNor, infinite, infinite, infinite)
	} else {
		m.fn(opOr, infinite, infinite, last)
		m.fn(opNor, good, infinite, m.special)
		infinite = good
	}
	finite := infinite
	m.tagOf(opNand, stay, good)
	for i := top; i >= top-p; i-- {
		m.fnm(opAnd, w[i], w[i-1], good)
	}
	m.copym(w[top-p-1], m.ones)
	m.tagNot(w[top])
	for _, b := range exp {
		m.fnm(opNand, b, finite, finite)
	}

	m.loadCarry(m.sticky)
	for _, b := range m.late {
		m.carry(b, m.none)
	}
	m.carry(w[top-p+1], m.none)
	m.carry(w[top-p], m.ones)
	m.roundUp(f, d, w[top-p+1:], m.nan)
	if f.FTZ {
		m.tag(below)
		for _, b := range d[:f.Man] {
			m.copym(b, zero)
		}
		// Beside an addend of zero the sign is that of the product.
		m.fn(opNand, t, m.null, m.differ)
		m.fn(opAnd, t, t, m.sign)
		m.tagNot(m.c.hidden)
		m.copym(m.result, t)
		m.copym(m.empty, zero)
	}
	m.fn(opNor, m.empty, m.empty, m.nan)
	m.fn(opAnd, d[f.Man+n], m.result, m.empty)
}

// drop gathers the bits below next that are not dropped yet in to, of what is in from: those below flip
// are not inverted where the sum is negative.
func (m *fused) drop(to, from bit, next int, inverted bool) bool {
	low, flip, start := m.low, m.flip, from
	if low < flip {
		m.loadCarry(from)
		for _, b := range m.w[low:min(next, flip)] {
			m.carry(b, m.plain)
		}
		m.writeCarry(to)
		start = to
	}
	if next <= flip {
		return inverted
	}
	if !inverted {
		m.fn(opXor, from, from, m.minus)
		if start != from {
			m.fn(opXor, start, start, m.minus)
		}
	}
	m.loadCarry(start)
	for _, b := range m.w[max(low, flip):next] {
		m.carry(b, m.none)
	}
	m.writeCarry(to)
	return true
}
