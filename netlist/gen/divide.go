package gen

// divider is the restoring division of the school: a bit of the dividend at a
// time comes to the remainder, and the divisor is subtracted where it fits.
//
// By zero it fits always and takes nothing away: the quotient is all ones and
// the remainder is the dividend's low bits, as RISC-V defines it.
func divider(b *builder, p params) {
	n, m := p.width, p.extra[0]
	x, y := b.input("a", n), b.input("b", m)

	// high[k] tells that the divisor has a one at bit k or above; then it does
	// not fit in a remainder of k bits.
	high := make([]lit, m+1)
	for k := m - 1; k >= 1; k-- {
		high[k] = b.Or(y[k], high[k+1])
	}
	quotient := make([]lit, n)
	rem := make([]lit, 0, m) // k bits after k steps, at most m
	for i := n - 1; i >= 0; i-- {
		next := make([]lit, 0, m+1)
		next = append(append(next, x[i]), rem...)
		k := min(len(next), m)
		differ, borrow := b.trial(next[:k], y[:k])
		take := b.And(borrow.Not(), high[k].Not())
		if len(next) > m {
			take = b.Or(next[m], take) // it has a bit more than the divisor
		}
		quotient[i] = take
		rem = b.restore(next, differ, take)
	}
	for len(rem) < m {
		rem = append(rem, 0)
	}
	b.output("q", quotient)
	b.output("r", rem)
}

func sizeDivider(p params) tally {
	n, m := int64(p.width), int64(p.extra[0])
	// Step i has min(i, m) cells.
	k := min(n, m)
	cells := k*(k+1)/2 + (n-k)*m
	return tally{inputs: n + m, and: cells + 2*n + m, xor: 2 * cells, maj: cells}
}
