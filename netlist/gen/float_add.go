package gen

import "github.com/bitsched/bitsched/netlist"

// floatAdd returns a builder of a + b, or of a - b.
func floatAdd(negate bool) func(b *builder, p params) {
	return func(b *builder, p params) {
		f, flush := floatFormat(p)
		x, y := b.floatInput("a", f), b.floatInput("b", f)
		y.sign = y.sign.NotIf(negate)
		b.floatOutput("y", b.addFloat(x, y, f, flush))
	}
}

// addFloat aligns the smaller operand to the larger one, adds or subtracts, and
// normalises: one path for all distances of exponents. Beyond the last place
// there are two more and one that stands for what was shifted out, which is
// enough for every rounding: a normalisation by more than one place happens only
// after an alignment by at most one.
func (b *builder) addFloat(x, y float, f format, flush bool) float {
	// The larger operand is x if it is not smaller. Of two equal ones it is the
	// positive one, so that its sign is that of an exact zero.
	small := x.sign
	mx, my := x.magnitude(), y.magnitude()
	for i := range mx {
		small = b.Maj(mx[i].Not(), my[i], small)
	}
	large := small.Not()
	l, s := make([]lit, len(mx)), make([]lit, len(mx))
	for i := range mx {
		l[i], s[i] = b.swap(large, mx[i], my[i])
	}
	lf, le, sf, se := l[:f.frac], l[f.frac:], s[:f.frac], s[f.frac:]
	leadL, leadS := b.OrAll(le), b.OrAll(se)
	minus := b.Xor(x.sign, y.sign)

	// A subnormal number has the exponent of the smallest normal one.
	places, _ := b.subtract(le, se, b.And(leadL, leadS.Not()))
	gone := netlist.False
	if flush { // shifted all the way the smaller operand is gone
		gone = leadS.Not()
	}
	amount := b.saturated(places, f.frac+3, gone)
	moved, lost := b.shiftSticky(joined(zeros(2), sf, []lit{leadS}), amount)
	if flush {
		lost = b.And(lost, leadS)
	}

	// Sum or difference: the carry of l + s or the borrow of l - s, which starts
	// at the bit that was lost. There is no borrow out.
	sum := make([]lit, f.frac+4)
	carry := b.And(minus, lost)
	for i, ll := range joined(zeros(2), lf, []lit{leadL}) {
		sum[i] = b.Xor3(ll, moved[i], carry)
		carry = b.Maj(b.Xor(ll, minus), moved[i], carry)
	}
	sum[f.frac+3] = carry

	// The exponent is one more than that of the larger operand, for the carry,
	// and one less, since pack adds the leading bit.
	exp := joined(le)
	exp[0] = b.Or(exp[0], leadL.Not())
	limit := exp
	if flush {
		limit = nil
	}
	norm, below, by := b.normalise(sum, f.frac+2, 2, 1, limit)
	width := f.exp
	if flush {
		width = max(width, len(by))
	}
	exp, under := b.subtract(extended(exp, width), extended(by, width), netlist.False)
	exp = exp[:f.exp]
	lead := norm[f.frac+1]
	up := b.roundUp(norm[1], norm[0], b.Or(below, lost))

	// An infinity or a NaN has the exponent 11..10 for the leading bit, and zero
	// has 0.
	infinite := b.AndAll(le)
	value := lead
	if flush {
		value = b.And(lead, b.And(under.Not(), leadL))
	}
	keep := b.Or(value, infinite)
	for i := range exp {
		if i == 0 {
			exp[i] = b.And(exp[i], b.And(value, infinite.Not()))
			continue
		}
		exp[i] = b.Maj(exp[i], keep, infinite)
	}
	significand := joined(norm[1:f.frac+1], []lit{keep})
	frac, exp := b.pack(exp, significand, b.And(up, infinite.Not()))
	kill := b.AndAll(exp)
	if flush {
		kill = b.Or(kill, value.Not())
	}
	// An infinity minus an infinity leaves no leading bit; anything else does, if
	// the limit is as large as that.
	cancelled := lead.Not()
	if f.frac+2 >= 1<<f.exp {
		cancelled = b.And(minus, b.AndAll(se))
	}
	nan := b.And(infinite, b.Or(cancelled, b.OrAll(lf)))
	which := b.Xor(large, x.sign.Not()) // as in swap
	if flush {                          // two zeros: negative if both are
		which = b.And(which, leadL)
	}
	sign := b.Maj(x.sign, y.sign, which)
	return float{b.special(frac, kill, nan), exp, b.And(sign, nan.Not())}
}
