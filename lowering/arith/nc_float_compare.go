package arith

// floatOrder is a comparison.
type floatOrder uint8

const (
	orderEqual floatOrder = iota
	orderNotEqual
	orderLess
	orderLessEqual
	orderGreater
	orderGreaterEqual
)

// flipped returns the comparison and the operands in the other order where that
// makes it one of less.
func flipped[T any](order floatOrder, x []T) (floatOrder, []T) {
	switch order {
	case orderGreater:
		return orderLess, []T{x[1], x[0]}
	case orderGreaterEqual:
		return orderLessEqual, []T{x[1], x[0]}
	}
	return order, x
}

// below sets d to whether u is before v in the order of all numbers, where -0 is
// before +0; equal words are below each other if equal is set, and not
// otherwise. The carry of the magnitudes, which begins as what equal ones give,
// tells which is less; between negative numbers it is the other way round.
// 2w+6 cycles for w bits of magnitude.
func (a *asm) below(d bit, u, v word, equal bool) {
	w := len(u) - 1
	t := a.row()
	if equal {
		a.not(t, u[w])
		a.loadCarry(t)
	} else {
		a.loadCarry(u[w])
	}
	for i := range w {
		a.not(t, u[i])
		a.carry(t, v[i])
	}
	a.writeCarry(d)
	a.fn(opXor, d, d, u[w])
	// Signs that differ decide alone.
	a.loadCarry(d)
	a.not(t, v[w])
	a.carry(t, u[w])
	a.writeCarry(d)
	a.free(t)
}

// isNaN sets d where a number is none.
func (a *asm) isNaN(f *Format, d bit, x word) {
	t := a.row()
	a.reduce(opAnd, d, x[f.Man:f.Man+f.Exp])
	a.reduce(opOr, t, x[:f.Man])
	a.fn(opAnd, d, d, t)
	a.free(t)
}

// ncFloatCompare compares two numbers.
func ncFloatCompare(order floatOrder) func(*asm, Type, []word, word) {
	return func(a *asm, t Type, x []word, d word) {
		f := t.Float
		w := f.Man + f.Exp
		r, s, z := a.row(), a.row(), a.row()
		order, x := flipped(order, x)
		unequal := order == orderNotEqual
		if unequal || order == orderEqual {
			ncEqual(false)(a, t, x, word{r})
		} else {
			a.below(r, x[0], x[1], order == orderLessEqual)
		}
		// Zeros of either sign are equal.
		low := 0
		if f.FTZ {
			low = f.Man
		}
		a.reduce(opOr, z, x[0][low:w])
		a.reduce(opOr, s, x[1][low:w])
		a.fn(opNor, z, z, s)
		if order == orderLess {
			a.not(z, z)
			a.fn(opAnd, r, r, z)
		} else {
			a.fn(opOr, r, r, z)
		}
		a.isNaN(f, z, x[0])
		a.isNaN(f, s, x[1])
		a.fn(opNor, z, z, s)
		if unequal {
			a.fn(opNand, d[0], r, z)
		} else {
			a.fn(opAnd, d[0], r, z)
		}
		a.free(r, s, z)
	}
}

// ncFloatMinMax picks one of two numbers.
func ncFloatMinMax(max bool) func(*asm, Type, []word, word) {
	return func(a *asm, t Type, x []word, d word) {
		f := t.Float
		first, nanA, nanB := a.row(), a.row(), a.row()
		if max {
			a.below(first, x[1], x[0], false)
		} else {
			a.below(first, x[0], x[1], false)
		}
		a.isNaN(f, nanA, x[0])
		a.isNaN(f, nanB, x[1])
		a.fn(opOr, first, first, nanB)
		a.not(nanA, nanA)
		a.tagOf(opAnd, first, nanA)
		a.copyWord(d, x[1])
		a.copyWordm(d, x[0])
		if f.FTZ {
			a.reduce(opOr, first, d[f.Man:f.Man+f.Exp])
			a.tagNot(first)
			for _, b := range d[:f.Man] {
				a.copym(b, zero)
			}
		}
		a.not(nanA, nanA)
		a.tagOf(opAnd, nanA, nanB)
		a.copyWordm(d, constWord(f.NaN(), f.Width()))
		a.free(first, nanA, nanB)
	}
}

// ncFloatSign changes or clears the sign.
func ncFloatSign(negate bool) func(*asm, Type, []word, word) {
	return func(a *asm, _ Type, x []word, d word) {
		n := len(d) - 1
		a.copyWord(d[:n], x[0][:n])
		if negate {
			a.not(d[n], x[0][n])
		} else {
			a.copy(d[n], zero)
		}
	}
}
