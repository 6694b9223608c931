package arith

import (
	"math/bits"

	"github.com/bitsched/bitsched/sram"
)

// addition adds or subtracts. The operand of lesser magnitude moves down to the
// other, which gives two bits more and a sticky one; the sum moves up in one
// normalisation, no further than to the place of subnormal numbers.
//
// Where signs differ, the lesser significand is complemented as it is copied, and
// what moves in is ones. That also gives the comparison of the fractions, which is
// asked for there only. The greater one is never copied: the sum takes a pass for
// each operand.
type addition struct {
	*asm
	f       *Format
	u, v    unpacked
	sub     bool
	p       int  // bits of a significand
	differ  bit  // the sum is a difference
	plain   bit  // its complement
	first   bit  // u stays, else v
	sign    bit  // of the operand that stays
	exp     word // its exponent, 0 counting as 1 without FTZ
	w       word // the lesser significand, then the sum: sticky, two bits, significand, carry
	special bit  // an operand is infinite or NaN
	lost    bit  // both are, and there is no infinite sum of them
	most    bit  // the exponent is all ones, but perhaps for its lowest bit
}

func ncFloatAdd(subtract bool) func(*asm, Type, []word, word) {
	return func(a *asm, t Type, x []word, d word) {
		f := t.Float
		s := &addition{asm: a, f: f, u: split(f, x[0]), v: split(f, x[1]), sub: subtract, p: f.Man + 1}
		s.w = make(word, f.Man+5)
		for i := range s.w {
			s.w[i] = none
		}
		dist := s.order()
		s.align(dist)
		s.sum()
		s.normalize(d)
	}
}

// order finds which operand is the lesser one, where it matters, and begins w, exp
// and sign. It returns how far w is to move.
func (s *addition) order() (dist word) {
	f, p, n := s.f, s.p, s.f.Exp
	s.differ, s.plain = s.row(), s.row()
	op, not := opXor, opXnor
	if s.sub {
		op, not = not, op
	}
	s.fn(op, s.differ, s.u.sign, s.v.sign)
	s.fn(not, s.plain, s.u.sign, s.v.sign)
	s.u.hidden, s.v.hidden = s.row(), s.row()
	s.reduce(opOr, s.u.hidden, s.u.exp)
	s.reduce(opOr, s.v.hidden, s.v.exp)

	// The exponent of u and the complement of that of v.
	s.exp = append(word{s.row()}, s.u.exp[1:]...)
	notV := s.rows(n)
	if f.FTZ {
		s.copy(s.exp[0], s.u.exp[0])
		s.not(notV[0], s.v.exp[0])
	} else {
		s.fn(opXnor, s.exp[0], s.u.exp[0], s.u.hidden)
		s.fn(opXor, notV[0], s.v.exp[0], s.v.hidden)
	}
	for i := 1; i < n; i++ {
		s.not(notV[i], s.v.exp[i])
	}
	// The carry of u - v. It is right where the exponents differ, and where the
	// fractions are subtracted. It enters the difference of the exponents, which is
	// then the distance or its complement.
	w := s.w[3 : p+3]
	copy(w, s.rows(p))
	s.loadCarry(one1)
	u, v := s.u.significand(), s.v.significand()
	for i := range p {
		s.fn(opXor, w[i], v[i], s.differ)
		if i < f.Man || !f.FTZ { // equal exponents have equal hidden bits there
			s.carry(w[i], u[i])
		}
	}
	for i := range n {
		s.carry(notV[i], s.exp[i])
	}
	dist = s.rows(n)
	for i := range n {
		s.add(dist[i], notV[i], s.exp[i])
	}
	s.free(notV...)
	s.first = s.row()
	s.writeCarry(s.first)

	s.sign = s.row()
	s.copy(s.sign, s.u.sign)
	for i := 1; i < n; i++ {
		s.exp[i] = s.row()
		s.copy(s.exp[i], s.u.exp[i])
	}
	s.tagNot(s.first)
	for _, b := range dist {
		s.fnm(opNand, b, b, b)
	}
	for i, b := range u {
		s.fnm(opXor, w[i], b, s.differ)
	}
	if f.FTZ {
		s.copym(s.exp[0], s.v.exp[0])
	} else {
		s.fnm(opXnor, s.exp[0], s.v.exp[0], s.v.hidden)
	}
	for i := 1; i < n; i++ {
		s.copym(s.exp[i], s.v.exp[i])
	}
	if s.sub {
		s.fnm(opNand, s.sign, s.v.sign, s.v.sign)
	} else {
		s.copym(s.sign, s.v.sign)
	}
	return dist
}

// align moves w down. An operand beside infinity or NaN moves out of the way, into
// the sticky bit, and without a hidden bit if it is one too.
func (s *addition) align(dist word) {
	f, p, n := s.f, s.p, s.f.Exp
	stages := bits.Len(uint(p + 2))
	s.most, s.special = s.row(), s.row()
	s.reduce(opAnd, s.most, s.exp[1:])
	s.fn(opNand, s.special, s.most, s.exp[0])
	far, both := s.row(), s.row()
	if stages < n {
		s.reduce(opOr, far, dist[stages:])
	} else {
		s.copy(far, zero)
	}
	s.reduce(opOr, both, append(word{far}, dist[:min(stages, n)]...))
	s.fn(opNor, both, both, s.special)
	s.fn(opNand, s.special, s.special, s.special)
	// out is where nothing must remain.
	out := s.special
	if f.FTZ {
		out = s.row()
		s.fn(opNand, out, s.u.hidden, s.v.hidden)
		s.fn(opOr, out, out, s.special)
	}
	s.fn(opOr, far, far, out)
	for _, b := range dist[:min(stages, n)] {
		s.fn(opOr, b, b, far)
	}
	amount := append(word{}, dist[:min(stages, n)]...)
	for len(amount) < stages {
		amount = append(amount, far)
	}
	s.tag(both)
	s.copym(s.w[p+2], zero)
	s.sink(s.w[:p+3], amount, s.differ, s.plain)
	s.free(dist...)

	s.lost = far
	s.fn(opOr, s.lost, s.w[0], s.differ)
	s.fn(opAnd, s.lost, s.lost, both)
	s.tag(out)
	s.copym(s.w[0], s.differ)
	s.free(both)
	if f.FTZ {
		s.free(out)
	}
}

// sink moves w down by the number in amount, in small stages first. fill comes in
// from above, and is in the rows that are none yet, of which bit 0 is one or not.
// What falls off is gathered in bit 0: where fill is set, the complement of the
// disjunction of complements. plain is the complement of fill.
//
// The last stage comes before the one before it, of half its places, if that is worth
// it: they fill the upper half of what the last one leaves behind in one go. It uses
// up the lowest row of amount.
func (a *asm) sink(w, amount word, fill, plain bit) {
	low := 1
	for w[low] == none {
		low++
	}
	n, last := len(w), len(amount)-1
	for k, t := range amount {
		if k == last-1 && k >= 2 {
			break
		}
		a.tag(t)
		low = a.sinkStage(w, 1<<k, low, n, fill, plain)
		if k == last {
			return
		}
	}
	s := 1 << (last - 1)
	small, big, both := amount[last-1], amount[last], amount[0]
	a.tag(big)
	low = a.sinkStage(w, 2*s, low, max(0, n-s), fill, plain)
	a.tag(small)
	a.sinkStage(w, s, low, max(0, n-2*s), fill, plain)
	a.fn(opAnd, both, small, big)
	a.tagOf(opXor, small, both)
	for i := max(1, n-2*s); i < n-s; i++ {
		a.copym(w[i], w[i+s])
	}
	a.tagOf(opOr, small, big)
	for _, b := range w[max(1, n-s):] {
		a.copym(b, fill)
	}
}

// sinkStage moves the bits of w below n down by s where the tag is set, and returns
// the lowest bit that has a row then; low is the one that has before, but for bit 0.
func (a *asm) sinkStage(w word, s, low, n int, fill, plain bit) int {
	next := max(0, low-s)
	i := next
	if low < s || low == s && w[0] != none { // what lands on bit 0 is not alone
		start := w[0]
		if start == none {
			start, w[0] = fill, a.row()
			a.copy(w[0], fill)
		}
		a.loadCarry(start)
		for _, b := range w[max(low, 1):min(s+1, len(w))] {
			a.carry(b, plain)
		}
		a.emit(sram.NCWriteCarry, true, w[0], 0, 0)
		i = 1
	}
	for ; i < n; i++ {
		from := fill
		if i+s < len(w) && w[i+s] != none {
			from = w[i+s]
		}
		if w[i] == none {
			w[i] = a.row()
			a.copy(w[i], fill)
			if from == fill {
				continue
			}
		}
		a.copym(w[i], from)
	}
	return next
}

// sum adds what stays: u in one pass, v in the other.
func (s *addition) sum() {
	w, p := s.w, s.p
	s.loadCarry(s.differ)
	for _, b := range w[:3] {
		s.add(b, b, zero)
	}
	carry := s.row()
	w[p+3] = s.row()
	s.writeCarry(carry)
	s.tag(s.first)
	for _, x := range []unpacked{s.u, s.v} {
		s.loadCarry(carry)
		for i, b := range x.significand() {
			s.addm(w[i+3], w[i+3], b)
		}
		// A difference carries out of the top.
		s.addm(w[p+3], s.differ, zero)
		s.tagNot(s.first)
	}
	s.free(carry, s.first)
}

// normalize moves the sum up until its top bit is one, as far as the exponent lets
// it, rounds it to even and writes the result. What moves by more than two places
// had no distance to speak of: the lowest two bits are zero there.
func (s *addition) normalize(d word) {
	f, p, n, w := s.f, s.p, s.f.Exp, s.w
	top := p + 3
	stages := min(bits.Len(uint(p+1)), n)
	size := 1 << (stages - 1)

	// Infinite: the exponent is all ones, or will be with the carry.
	finite := s.most
	t, some, rest := s.row(), s.row(), s.row()
	s.fn(opOr, t, s.exp[0], w[top])
	s.fn(opNand, finite, s.most, t)
	// Of the fraction, what the first stage looks at and the rest.
	s.reduce(opOr, rest, w[2:top-size+1])
	s.reduce(opOr, some, w[top-size+1:top-1])
	nan := s.lost
	s.fn(opOr, t, some, rest)
	s.fn(opAnd, t, t, s.special)
	s.fn(opOr, nan, nan, t)
	s.fn(opOr, some, some, w[top-1])
	s.fn(opNor, some, some, w[top])
	// Differences of zero are positive, as is a NaN.
	zeros := rest
	s.fn(opNor, zeros, rest, s.plain)
	s.fn(opAnd, zeros, zeros, some)
	if f.FTZ {
		s.fn(opNor, t, s.u.hidden, s.v.hidden)
		s.fn(opAnd, t, t, s.differ)
		s.fn(opOr, zeros, zeros, t)
	}
	s.fn(opNor, zeros, zeros, nan)
	s.fn(opAnd, d[p+n-1], s.sign, zeros)
	s.free(zeros, s.special, s.sign, s.u.hidden, s.v.hidden, s.differ, s.plain)

	var l limit
	if !f.FTZ {
		l = s.limitOf(s.exp, stages)
	}
	lowest := s.row() // the disjunction of the lowest two bits
	s.fn(opOr, lowest, w[0], w[1])
	notMoved := s.rows(stages)
	for k := stages - 1; k > 0; k-- {
		size, zeros := 1<<k, some
		if k < stages-1 {
			zeros = t
			s.reduceNot(opOr, zeros, w[top-size+1:])
		}
		if f.FTZ {
			s.not(notMoved[k], zeros)
			s.tag(zeros)
		} else {
			s.bounded(notMoved[k], zeros, &l, k)
		}
		low := 2
		if size == 2 {
			low = 0
			s.copym(lowest, zero)
		}
		for i := top; i >= 2; i-- {
			switch {
			case i-size >= low:
				s.copym(w[i], w[i-size])
			case i <= top-size: // what is above was looked at
				s.copym(w[i], zero)
			}
		}
	}

	// The last stage also makes the fraction zero where the result is infinite, or
	// zero because of its exponent.
	exp, good, stay := d[f.Man:p+n-1], finite, notMoved[0]
	var moved word
	for i := range exp {
		m := bit(one1)
		if i < stages {
			m = notMoved[i]
		}
		moved = append(moved, m)
	}
	if f.FTZ {
		s.copy(stay, w[top])
		s.loadCarry(one1)
		for i := range exp {
			s.add(exp[i], s.exp[i], moved[i])
		}
		good = some
		s.writeCarry(good)
		s.fn(opAnd, good, good, finite)
		s.fn(opOr, t, w[top], w[top-1])
		s.fn(opAnd, good, good, t)
	} else {
		s.fn(opNor, t, s.exp[0], l.unbounded)
		s.fn(opOr, stay, t, w[top])
	}
	s.tagOf(opNand, stay, good)
	for i := top; i > 2; i-- {
		s.fnm(opAnd, w[i], w[i-1], good)
	}
	s.copym(w[2], lowest)
	if f.FTZ {
		s.tagNot(good)
		for _, b := range exp {
			s.fnm(opNand, b, finite, finite)
		}
		s.loadCarry(one1)
	} else {
		for _, b := range exp {
			s.not(b, finite)
		}
		s.tag(w[top])
		s.loadCarry(one1)
		for i := range exp {
			s.addm(exp[i], s.exp[i], moved[i])
		}
	}

	// The carry is set: no more was moved than the exponent.
	s.carry(w[2], lowest)
	s.carry(w[4], one1)
	s.carry(w[3], zero)
	s.roundUp(f, d, w[4:], nan)
}

// bounded says whether a stage of 2^k places moves: where the bits that it looks at
// are all zero, and l leaves room. Then it sets the tag.
func (a *asm) bounded(stay, zeros bit, l *limit, k int) {
	may := a.row()
	a.fn(opOr, may, l.bits[k], l.unbounded)
	a.fn(opNand, stay, zeros, may)
	a.tagNot(stay)
	// It bounds what comes if it did so far; it does not where it would have let it
	// move and a one was in the way.
	a.copym(may, l.unbounded)
	a.free(l.unbounded)
	l.unbounded = may
}
