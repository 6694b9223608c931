package arith

// mulPart is the part of a product that is asked for.
type mulPart uint8

const (
	mulLow mulPart = iota
	mulHigh
	mulFull
)

func ncMultiply(sgn bool, part mulPart) func(*asm, Type, []word, word) {
	return func(a *asm, _ Type, x []word, d word) {
		m, by := x[0], x[1]
		if isConst(m) { // the bits of a constant multiplier need no tag
			m, by = by, m
		}
		n := len(m)
		switch part {
		case mulLow:
			a.mulLow(d, m, by, nil)
		case mulFull:
			a.mulFull(d, m, by, sgn)
		case mulHigh:
			// Bit i of the low word is dead once row i of the product is added, when
			// bit i+n begins: they share a row.
			p := make(word, 2*n)
			copy(p, d)
			copy(p[n:], d)
			a.mulFull(p, m, by, sgn)
		}
	}
}

// mulLow adds m, shifted, where the bits of the multiplier are set: row i of the
// product takes a tag, a cleared carry and n-i additions. Where add is not nil,
// it is added. n^2/2 + 2.5n - 2 cycles, 2n more to add.
func (a *asm) mulLow(d, m, by, add word) {
	n := len(d)
	first := 0
	if add != nil {
		a.copyWord(d, add)
	} else {
		first = 1
		for j := range n {
			a.fn(opAnd, d[j], m[j], by[0])
		}
	}
	for i := first; i < n; i++ {
		if by[i] == zero {
			continue
		}
		masked := a.tagBit(by[i])
		if i == n-1 { // the last row is one bit, without a carry
			a.emit(opXor, masked, d[i], d[i], m[0])
			break
		}
		a.loadCarry(zero)
		for j := range n - i {
			a.addIf(masked, d[i+j], d[i+j], m[j])
		}
	}
}

// tagBit loads the tag with a bit of a multiplier and reports whether writes
// must be masked by it; a constant needs no tag.
func (a *asm) tagBit(x bit) bool {
	if x.IsConst() {
		return false
	}
	a.tag(x)
	return true
}

func (a *asm) addIf(masked bool, d, x, y bit) {
	if masked {
		a.addm(d, x, y)
	} else {
		a.add(d, x, y)
	}
}

// mulFull writes m * by, of as many bits as both together, to d, whose rows i and
// i+len(m) may be the same for any i. A row of the product takes a tag, a fresh
// top bit, the additions and the carry into the top bit, which leaves the carry
// clear: n^2+3n cycles for unsigned numbers. The top bit of a signed product
// begins as its sign so far, and the last row is subtracted: n^2+5n-2.
func (a *asm) mulFull(d, m, by word, sgn bool) {
	n, rows := len(m), len(by)
	if sgn && n == 1 {
		// -1 * -1 is 1: both bits have negative weight.
		a.fn(opAnd, d[0], m[0], by[0])
		a.copy(d[1], zero)
		return
	}
	for j := range n {
		a.fn(opAnd, d[j], m[j], by[0])
	}
	// fresh begins bit i+n of the product: with its sign so far, or zero.
	fresh := func(i int) {
		if sgn {
			a.copy(d[i+n], d[i+n-1])
		} else {
			a.copy(d[i+n], zero)
		}
	}
	fresh(0)
	t := a.row()
	clear := false
	for i := 1; i < rows; i++ {
		if by[i] == zero {
			fresh(i)
			continue
		}
		masked, last := a.tagBit(by[i]), sgn && i == rows-1
		switch {
		case last:
			a.loadCarry(one1)
		case !clear:
			a.loadCarry(zero)
		}
		clear = !sgn
		for j := range n {
			x := m[j]
			if last {
				x = a.complement(t, x)
			}
			if j == n-1 {
				fresh(i)
			}
			if j == 0 && d[i] == d[i+n] {
				a.carry(d[i], x) // the bit itself is not wanted
			} else {
				a.addIf(masked, d[i+j], d[i+j], x)
			}
			if j == n-1 {
				if !sgn {
					x = zero
				}
				a.addIf(masked, d[i+n], d[i+n], x)
			}
		}
	}
	a.free(t)
}

// copyAndTest copies w to d where the carry is set and leaves it so; elsewhere d
// gets something, its lowest bit the complement, and the carry becomes the
// disjunction of w: that is what the sum of a bit, one and the carry is.
func (a *asm) copyAndTest(d, w word) {
	for i, b := range w {
		a.add(d[i], b, one1)
	}
}

// mulUpon writes m * by to d as mulFull does without a sign, where row len(m)+i of
// d already is bit i of by or a copy of it, for all but bit 0 and constants. That
// is zero where a row of the product is not added, and the carry takes its place
// where it is: the row needs no fresh top bit. n^2+2n cycles. It leaves carry in
// the carry latch, which costs nothing; the top bit of by is not the constant zero.
func (a *asm) mulUpon(d, m, by word, carry bit) {
	n := len(m)
	for j := range n {
		a.fn(opAnd, d[j], m[j], by[0])
	}
	a.copy(d[n], zero)
	a.loadCarry(zero)
	for i := 1; i < n; i++ {
		if by[i] == zero {
			continue
		}
		masked := a.tagBit(by[i])
		for j := range n {
			a.addIf(masked, d[i+j], d[i+j], m[j])
		}
		next := zero
		if i == n-1 {
			next = carry
		}
		a.addIf(masked, d[i+n], next, next)
	}
}

// ncMac takes n^2/2 + 4.5n cycles, n less in place of c.
func ncMac(a *asm, _ Type, x []word, d word) {
	m, by := x[0], x[1]
	if isConst(m) {
		m, by = by, m
	}
	a.mulLow(d, m, by, x[2])
}
