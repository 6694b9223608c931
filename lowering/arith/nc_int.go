package arith

import "github.com/bitsched/bitsched/sram"

// Microcode of neural-cache for integers, apart from products and quotients.
// The cycle counts in the comments are for operands in rows; n is the width.

// ncAdd takes n+1 cycles.
func ncAdd(a *asm, _ Type, x []word, d word) {
	a.loadCarry(zero)
	for i := range d {
		a.add(d[i], x[0][i], x[1][i])
	}
}

// ncSub adds the complement, which must be written first, since the bitlines
// give symmetric functions only: 2n+1 cycles.
func ncSub(a *asm, _ Type, x []word, d word) {
	t := a.row()
	a.loadCarry(one1)
	for i := range d {
		a.add(d[i], x[0][i], a.complement(t, x[1][i]))
	}
	a.free(t)
}

// ncNeg takes 2n+1 cycles.
func ncNeg(a *asm, t Type, x []word, d word) {
	ncSub(a, t, []word{constWord(0, len(d)), x[0]}, d)
}

// ncAbs is (a ^ s) + s for the sign s: 2n+1 cycles.
func ncAbs(a *asm, _ Type, x []word, d word) {
	a.negateIf(d, x[0], x[0][len(d)-1])
}

// negateIf writes -x where s is 1, else x.
func (a *asm) negateIf(d, x word, s bit) {
	t := a.row()
	a.loadCarry(s)
	for i := range d {
		a.fn(opXor, t, x[i], s)
		a.add(d[i], t, zero)
	}
	a.free(t)
}

// ncEqual ors the differences in the carry, or ands the agreements: 2n+1
// cycles.
func ncEqual(negate bool) func(*asm, Type, []word, word) {
	op, fold := opXnor, zero
	if negate {
		op, fold = opXor, one1
	}
	return func(a *asm, _ Type, x []word, d word) {
		t := a.row()
		for i := range x[0] {
			a.fn(op, t, x[0][i], x[1][i])
			if i == 0 {
				a.loadCarry(t)
			} else {
				a.carry(t, fold)
			}
		}
		a.writeCarry(d[0])
		a.free(t)
	}
}

// ncLess looks at the carry of b + ~a, which is a < b, or with a carry in
// a <= b; swap exchanges a and b. It takes 2n+2 cycles. The sign bits of signed
// numbers count the other way round.
func ncLess(sgn, swap, equal bool) func(*asm, Type, []word, word) {
	return func(a *asm, _ Type, x []word, d word) {
		less, more := x[0], x[1]
		// a >= b is b <= a and a > b is b < a.
		if swap != equal {
			less, more = more, less
		}
		a.less(less, more, sgn, equal)
		a.writeCarry(d[0])
	}
}

// less sets the carry to x < y, or x <= y, in 2n+1 cycles.
func (a *asm) less(x, y word, sgn, equal bool) {
	t := a.row()
	if equal {
		a.loadCarry(one1)
	} else {
		a.loadCarry(zero)
	}
	for i := range x {
		p, q := x[i], y[i]
		if sgn && i == len(x)-1 {
			p, q = q, p
		}
		a.carry(a.complement(t, p), q)
	}
	a.free(t)
}

// ncMinMax compares, then writes b, and a where it is the one: 4n+2 cycles, 3n+2
// in place of b.
func ncMinMax(sgn, max bool) func(*asm, Type, []word, word) {
	return func(a *asm, _ Type, x []word, d word) {
		if max {
			a.less(x[1], x[0], sgn, false)
		} else {
			a.less(x[0], x[1], sgn, false)
		}
		a.tagCarry()
		a.copyWord(d, x[1])
		a.copyWordm(d, x[0])
	}
}

// ncSelect takes 2n+1 cycles, n+1 in place of b.
func ncSelect(a *asm, _ Type, x []word, d word) {
	a.tag(x[0][0])
	a.copyWord(d, x[2])
	a.copyWordm(d, x[1])
}

// ncLogic takes n cycles.
func ncLogic(op sram.Opcode) func(*asm, Type, []word, word) {
	return func(a *asm, _ Type, x []word, d word) {
		for i := range d {
			a.fn(op, d[i], x[0][i], x[1][i])
		}
	}
}

// ncNot takes n cycles.
func ncNot(a *asm, _ Type, x []word, d word) {
	for i := range d {
		a.not(d[i], x[0][i])
	}
}

// ncWiden takes 2n cycles.
func ncWiden(sgn bool) func(*asm, Type, []word, word) {
	return func(a *asm, t Type, x []word, d word) {
		n, top := t.Width, zero
		if sgn {
			top = x[0][n-1]
		}
		a.copyWord(d[:n], x[0])
		for _, b := range d[n:] {
			a.copy(b, top)
		}
	}
}

// ncReLU takes n+1 cycles.
func ncReLU(a *asm, _ Type, x []word, d word) {
	n, t := len(d), a.row()
	a.not(t, x[0][n-1])
	for i := range n - 1 {
		a.fn(opAnd, d[i], x[0][i], t)
	}
	a.copy(d[n-1], zero)
	a.free(t)
}

// ncPopcount adds numbers of equal width with a further bit as the carry in, so
// that a sum of 2^k-1 bits takes k+2 cycles more than its halves: about 2n
// cycles.
func ncPopcount(a *asm, _ Type, x []word, d word) {
	w := a.count(x[0])
	for i := range d {
		if i < len(w) {
			a.copy(d[i], w[i])
		} else {
			a.copy(d[i], zero)
		}
	}
	a.free(w...)
}

// count returns the number of ones of x in scratch rows, or rows of x itself.
func (a *asm) count(x word) word {
	if len(x) <= 1 {
		return x
	}
	m := (len(x) - 1) / 2
	p, q := a.count(x[:len(x)-1-m]), a.count(x[len(x)-1-m:len(x)-1])
	// The sum can be as wide as the count of all; rows of p are used again.
	n := countBits(Type{Width: len(x)})
	a.loadCarry(x[len(x)-1])
	sum := make(word, 0, n)
	for i := range n {
		u, v := zero, zero
		if i < len(p) {
			u = p[i]
		}
		if i < len(q) {
			v = q[i]
		}
		r := a.row()
		if u == zero && v == zero {
			a.writeCarry(r)
		} else {
			a.add(r, u, v)
		}
		a.free(u, v)
		sum = append(sum, r)
	}
	return sum
}

// ncLeadingZeros halves the word: is the upper half zero, then the lower one
// takes its place. A width that is no power of two is filled up with ones from
// below. About 2.5n cycles.
func ncLeadingZeros(a *asm, t Type, x []word, d word) {
	n := t.Width
	k := shiftBits(n)
	if n == 1 {
		k = 0
	}
	w := append(constWord(^uint64(0), 1<<k-n), x[0]...)
	own := false // w is in rows of ours
	for s := k - 1; s >= 0; s-- {
		half := 1 << s
		low, high := w[:half], w[half:]
		t := a.row()
		a.reduce(opOr, t, high)
		a.tagNot(t)
		a.free(t)
		a.writeTag(d[s])
		if s == 0 && n != 1<<k {
			break // no one asks for the last bit
		}
		next := high
		if !own {
			next, own = a.rows(half), true
			a.copyWord(next, high)
		}
		a.copyWordm(next, low)
		if len(next) < len(w) {
			w = next
		}
	}
	if n == 1<<k { // the last bit of a power of two tells whether there is a one
		a.tagNot(w[0])
		for s := range k {
			a.copym(d[s], zero)
		}
		a.writeTag(d[k])
	}
	if own {
		a.free(a.scratch()...)
	}
}

// scratch returns all scratch rows taken.
func (a *asm) scratch() word {
	var w word
	for i, u := range a.used {
		if u {
			w = append(w, bit(2*(a.base+i)))
		}
	}
	return w
}
