package arith

// shiftKind is a direction of shifts and what comes in.
type shiftKind uint8

const (
	shiftLeft shiftKind = iota
	shiftRight
	shiftSigned
	rotateLeft
	rotateRight
)

// ncShift shifts in stages, one for each bit of the amount, each by a power of
// two where the bit is set: 2n+1 cycles for the first stage, then n+1 each, and
// up to n/2 more for rotations, which must save what they overwrite. Constant
// amounts take n cycles.
func ncShift(kind shiftKind) func(*asm, Type, []word, word) {
	return func(a *asm, _ Type, x []word, d word) {
		n, amount := len(d), x[1]
		w := x[0]
		// Constant bits of the amount only change which row is read.
		for k, s := range amount {
			if s == one1 {
				w = moved(w, kind, 1<<k)
			}
		}
		fill := zero
		if kind == shiftSigned && n > 0 {
			fill = a.row()
			a.copy(fill, x[0][n-1])
		}
		a.copyWord(d, w)
		for k, s := range amount {
			if !s.IsConst() {
				a.tag(s)
				a.shiftm(d, d, kind, 1<<k, fill)
			}
		}
		a.free(fill)
	}
}

// moved renames the bits of w as a shift by s does.
func moved(w word, kind shiftKind, s int) word {
	n := len(w)
	m := make(word, n)
	for i := range m {
		switch kind {
		case shiftLeft:
			m[i] = zero
			if i >= s {
				m[i] = w[i-s]
			}
		case shiftRight:
			m[i] = zero
			if i+s < n {
				m[i] = w[i+s]
			}
		case shiftSigned:
			m[i] = w[min(i+s, n-1)]
		case rotateLeft:
			m[i] = w[((i-s)%n+n)%n]
		case rotateRight:
			m[i] = w[(i+s)%n]
		}
	}
	return m
}

// shiftm shifts w by s to d where the tag is set; d may be w.
func (a *asm) shiftm(d, w word, kind shiftKind, s int, fill bit) {
	n := len(d)
	switch kind {
	case shiftLeft:
		for i := n - 1; i >= 0; i-- {
			if i >= s {
				a.copym(d[i], w[i-s])
			} else {
				a.copym(d[i], zero)
			}
		}
	case shiftRight, shiftSigned:
		for i := range n {
			if i+s < n {
				a.copym(d[i], w[i+s])
			} else {
				a.copym(d[i], fill)
			}
		}
	case rotateRight:
		a.rotatem(d, n-s%n)
	case rotateLeft:
		a.rotatem(d, s%n)
	}
}

// rotatem rotates w up by s places in place where the tag is set: it saves the
// lesser of the parts that change sides.
func (a *asm) rotatem(w word, s int) {
	n := len(w)
	if s %= n; s == 0 {
		return
	}
	if s <= n-s { // the upper s come to the bottom
		save := a.rows(s)
		a.copyWord(save, w[n-s:])
		for i := n - 1; i >= s; i-- {
			a.copym(w[i], w[i-s])
		}
		a.copyWordm(w[:s], save)
		a.free(save...)
		return
	}
	save := a.rows(n - s)
	a.copyWord(save, w[:n-s])
	for i := range s {
		a.copym(w[i], w[i+n-s])
	}
	a.copyWordm(w[s:], save)
	a.free(save...)
}
