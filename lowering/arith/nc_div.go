package arith

// Microcode of neural-cache for quotients and square roots, restoring, digit by
// digit. A step on a remainder of k bits costs two passes of k bits: one for the
// carry of the subtraction, one that subtracts where the carry says so.

// ncDivide takes n^2+7n cycles for unsigned numbers. Step k looks at a remainder
// of k bits only, so that the bits of the divisor above must be known to be zero;
// Neural Cache compares n bits in every step.
func ncDivide(sgn, rem bool) func(*asm, Type, []word, word) {
	return func(a *asm, _ Type, x []word, d word) {
		n, num, den := len(d), x[0], x[1]
		if !sgn {
			not := a.complements(den)
			if rem {
				a.divide(nil, d, num, not)
			} else {
				a.divide(d, a.rows(n), num, not)
			}
			return
		}
		// The quotient of the absolute values; its sign is that of a * b unless b is
		// zero, that of the remainder is that of a.
		u, v := a.rows(n), a.rows(n)
		a.negateIf(u, num, num[n-1])
		a.negateIf(v, den, den[n-1])
		sign := num[n-1]
		if !rem {
			sign = a.row()
			a.reduce(opOr, sign, den)
			t := a.row()
			a.fn(opXor, t, num[n-1], den[n-1])
			a.fn(opAnd, sign, sign, t)
			a.free(t)
		}
		for i := range v {
			a.not(v[i], v[i])
		}
		r := a.rows(n)
		if rem {
			a.divide(nil, r, u, v)
			a.negateIf(d, r, sign)
		} else {
			a.divide(d, r, u, v)
			a.negateIf(d, d, sign)
		}
	}
}

// complements returns the complements of w in scratch rows.
func (a *asm) complements(w word) word {
	c := a.rows(len(w))
	for i := range w {
		a.not(c[i], w[i])
	}
	return c
}

// divide leaves the quotient of num and the complement of notDen in q, unless
// that is nil, and the remainder in the rows r.
func (a *asm) divide(q, r, num, notDen word) {
	n := len(num)
	// Row n-k of high tells that the divisor has no bit from k up. Step k, which
	// finds bit n-k of the quotient, is the last to ask.
	high := q
	if q == nil {
		high = a.rows(n)
	}
	for k := n - 1; k >= 1; k-- {
		if k == n-1 {
			a.copy(high[n-k], notDen[k])
		} else {
			a.fn(opAnd, high[n-k], high[n-k-1], notDen[k])
		}
	}
	var left word // of the remainder, bit 0 first
	for k := 1; k <= n; k++ {
		// The remainder so far moves up by renaming its rows.
		left = append(word{r[n-k]}, left...)
		a.copy(left[0], num[n-k])
		a.loadCarry(one1)
		for j := range left {
			a.carry(left[j], notDen[j])
		}
		if k < n {
			a.carry(high[n-k], zero)
		}
		a.tagCarry()
		if q != nil {
			a.writeTag(q[n-k])
		}
		// The carry is set where the tag is.
		for j := range left {
			a.addm(left[j], left[j], notDen[j])
		}
	}
	if q == nil {
		a.free(high...)
	}
}

// ncSqrt takes about n^2/4 + 4.5n cycles.
func ncSqrt(a *asm, _ Type, x []word, d word) {
	w := x[0]
	if len(w)%2 != 0 {
		w = append(append(word{}, w...), zero)
	}
	m := len(d)
	not := a.rows(m) // complement of the root, bit i in row i
	var left word    // the remainder, bit 0 first, of at most k+2 bits in step k
	for k := 1; k <= m; k++ {
		i := m - k // the bit of the root that this step finds
		lo, hi := a.row(), a.row()
		a.copy(hi, w[2*i+1])
		a.copy(lo, w[2*i])
		left = append(word{lo, hi}, left...)
		if len(left) > k+2 {
			a.free(left[k+2:]...)
			left = left[:k+2] // a remainder is at most twice the root
		}
		a.rootStep(left, d[i], not, i, k)
	}
	a.free(left...)
	a.free(not...)
}
