package arith

import "github.com/bitsched/bitsched/xmg"

// Circuits for integers, least significant bit first.

// xmgAdd has 2n-1 gates.
func xmgAdd(c *circuit, _ Type, x [][]lit) []lit {
	y, _ := c.sum(x[0], x[1], xmg.False)
	return y
}

func xmgSub(c *circuit, _ Type, x [][]lit) []lit {
	y, _ := c.sum(x[0], not(x[1]), xmg.True)
	return y
}

func xmgNeg(c *circuit, _ Type, x [][]lit) []lit { return c.negateIf(x[0], xmg.True) }

func xmgAbs(c *circuit, _ Type, x [][]lit) []lit {
	return c.negateIf(x[0], x[0][len(x[0])-1])
}

// negateIf returns -a where s is 1, else a: the carry runs while the bits are
// zero. Three gates a bit.
func (c *circuit) negateIf(a []lit, s lit) []lit {
	y := make([]lit, len(a))
	carry := s
	for i := range a {
		t := c.xor(a[i], s)
		y[i] = c.xor(t, carry)
		carry = c.and(t, carry)
	}
	return y
}

func xmgEqual(negate bool) func(*circuit, Type, [][]lit) []lit {
	return func(c *circuit, _ Type, x [][]lit) []lit {
		ne := xmg.False
		for i := range x[0] {
			ne = c.or(ne, c.xor(x[0][i], x[1][i]))
		}
		return []lit{ne.NotIf(!negate)}
	}
}

func xmgLess(sgn, swap, equal bool) func(*circuit, Type, [][]lit) []lit {
	return func(c *circuit, _ Type, x [][]lit) []lit {
		less, more := x[0], x[1]
		if swap != equal {
			less, more = more, less
		}
		return []lit{c.less(less, more, sgn, equal)}
	}
}

func xmgMinMax(sgn, max bool) func(*circuit, Type, [][]lit) []lit {
	return func(c *circuit, _ Type, x [][]lit) []lit {
		a, b := x[0], x[1]
		if max {
			a, b = b, a
		}
		return c.muxes(c.less(a, b, sgn, false), x[0], x[1])
	}
}

func xmgSelect(c *circuit, _ Type, x [][]lit) []lit { return c.muxes(x[0][0], x[1], x[2]) }

func xmgWiden(sgn bool) func(*circuit, Type, [][]lit) []lit {
	return func(_ *circuit, t Type, x [][]lit) []lit {
		y := append(append([]lit{}, x[0]...), constLits(0, t.Width)...)
		for i := range y[t.Width:] {
			if sgn {
				y[t.Width+i] = x[0][t.Width-1]
			}
		}
		return y
	}
}

func xmgReLU(c *circuit, _ Type, x [][]lit) []lit {
	n := len(x[0])
	y := make([]lit, n)
	for i := range n {
		y[i] = c.and(x[0][i], x[0][n-1].Not())
	}
	return y
}

// xmgShift shifts in stages, the widest first, so that the last ones to see the
// inputs are those that need few of them.
func xmgShift(kind shiftKind) func(*circuit, Type, [][]lit) []lit {
	return func(c *circuit, _ Type, x [][]lit) []lit {
		w := x[0]
		for k := len(x[1]) - 1; k >= 0; k-- {
			w = c.muxes(x[1][k], movedLits(w, kind, 1<<k), w)
		}
		return w
	}
}

// movedLits renames the bits of w as a shift by s does.
func movedLits(w []lit, kind shiftKind, s int) []lit {
	n := len(w)
	m := make([]lit, n)
	for i := range m {
		switch {
		case kind == shiftLeft && i >= s:
			m[i] = w[i-s]
		case kind == shiftRight && i+s < n:
			m[i] = w[i+s]
		case kind == shiftSigned:
			m[i] = w[min(i+s, n-1)]
		case kind == rotateLeft:
			m[i] = w[((i-s)%n+n)%n]
		case kind == rotateRight:
			m[i] = w[(i+s)%n]
		}
	}
	return m
}

// xmgMultiply adds a row of partial products at a time, three gates a bit.
// Signed numbers take the partial products of negative weight complemented and
// add 2^n and 2^(2n-1) (Baugh and Wooley, 1973).
func xmgMultiply(sgn bool, part mulPart) func(*circuit, Type, [][]lit) []lit {
	return func(c *circuit, _ Type, x [][]lit) []lit {
		n := len(x[0])
		if part == mulLow {
			return c.product(x[0], x[1], nil)
		}
		y := c.fullProduct(x[0], x[1], sgn)
		if part == mulHigh {
			return y[n:]
		}
		return y
	}
}

// product returns the low word of a * b + add.
func (c *circuit) product(a, b, add []lit) []lit {
	n := len(a)
	y := make([]lit, n)
	if add != nil {
		copy(y, add)
	}
	for i := range n {
		carry := xmg.False
		for j := range n - i {
			p := c.and(a[j], b[i])
			y[i+j], carry = c.xor3(y[i+j], p, carry), c.maj(y[i+j], p, carry)
		}
	}
	return y
}

// fullProduct returns all bits of a * b.
func (c *circuit) fullProduct(a, b []lit, sgn bool) []lit {
	n, rows := len(a), len(b)
	y := make([]lit, n+rows)
	for i := range rows {
		carry := xmg.False
		if sgn && i == 0 && n == rows { // the constant 2^n, where row 0 leaves its carry
			carry = xmg.True
			if n == 1 {
				return []lit{c.and(a[0], b[0]), xmg.False}
			}
		}
		in := carry
		carry = xmg.False
		for j := range n {
			p := c.and(a[j], b[i])
			p = p.NotIf(sgn && (i == rows-1) != (j == n-1))
			y[i+j], carry = c.xor3(y[i+j], p, carry), c.maj(y[i+j], p, carry)
		}
		if i == 0 {
			carry = in // nothing carries out of the first row
		}
		y[i+n] = carry
	}
	if sgn {
		y[n+rows-1] = y[n+rows-1].Not()
	}
	return y
}

func xmgMac(c *circuit, _ Type, x [][]lit) []lit { return c.product(x[0], x[1], x[2]) }

func xmgDivide(sgn, rem bool) func(*circuit, Type, [][]lit) []lit {
	return func(c *circuit, _ Type, x [][]lit) []lit {
		n, num, den := len(x[0]), x[0], x[1]
		sa, sb := num[n-1], den[n-1]
		if sgn {
			num, den = c.negateIf(num, sa), c.negateIf(den, sb)
		}
		q, r := c.divide(num, den)
		switch {
		case rem && sgn:
			return c.negateIf(r, sa)
		case rem:
			return r
		case sgn:
			return c.negateIf(q, c.and(c.xor(sa, sb), c.any(x[1])))
		}
		return q
	}
}

// divide is restoring division; step k looks at a remainder of k bits.
func (c *circuit) divide(num, den []lit) (q, r []lit) {
	n := len(num)
	q = make([]lit, n)
	high := make([]lit, n+1) // high[k]: the divisor has no bit from k up
	high[n] = xmg.True
	for k := n - 1; k >= 0; k-- {
		high[k] = c.and(high[k+1], den[k].Not())
	}
	for k := 1; k <= n; k++ {
		r = append([]lit{num[n-k]}, r...)
		carry := xmg.True
		diff := make([]lit, k)
		for j := range k {
			diff[j] = c.xor3(r[j], den[j].Not(), carry)
			carry = c.maj(r[j], den[j].Not(), carry)
		}
		fits := c.and(carry, high[k])
		q[n-k] = fits
		r = c.muxes(fits, diff, r)
	}
	return q, r
}

func xmgSqrt(c *circuit, _ Type, x [][]lit) []lit {
	w := x[0]
	if len(w)%2 != 0 {
		w = append(append([]lit{}, w...), xmg.False)
	}
	m := len(w) / 2
	root := make([]lit, m)
	var left []lit
	for k := 1; k <= m; k++ {
		i := m - k
		left = append([]lit{w[2*i], w[2*i+1]}, left...)
		left = left[:min(len(left), k+2)]
		carry := xmg.True
		diff := make([]lit, len(left))
		for j := range left {
			t := xmg.True // complement of 4 root + 1
			switch {
			case j == 0:
				t = xmg.False
			case j >= 2 && j-2 < k-1:
				t = root[i+1+j-2].Not()
			}
			diff[j] = c.xor3(left[j], t, carry)
			carry = c.maj(left[j], t, carry)
		}
		root[i] = carry
		left = c.muxes(carry, diff, left)
	}
	return root
}

func xmgPopcount(c *circuit, t Type, x [][]lit) []lit {
	w := c.count(x[0])
	for len(w) < countBits(t) {
		w = append(w, xmg.False)
	}
	return w[:countBits(t)]
}

// count returns the number of ones of x.
func (c *circuit) count(x []lit) []lit {
	if len(x) <= 1 {
		return x
	}
	m := (len(x) - 1) / 2
	p, q := c.count(x[:len(x)-1-m]), c.count(x[len(x)-1-m:len(x)-1])
	for len(q) < len(p) {
		q = append(q[:len(q):len(q)], xmg.False)
	}
	y, carry := c.sum(p, q, x[len(x)-1])
	return append(y, carry)
}

// xmgLeadingZeros halves the word: is the upper half zero, then the lower one
// takes its place.
func xmgLeadingZeros(c *circuit, t Type, x [][]lit) []lit {
	n := t.Width
	k := 0
	for 1<<k < n {
		k++
	}
	w := append(constLits(^uint64(0), 1<<k-n), x[0]...)
	y := make([]lit, countBits(t))
	for s := k - 1; s >= 0; s-- {
		low, high := w[:1<<s], w[1<<s:]
		y[s] = c.any(high).Not()
		w = c.muxes(y[s], low, high)
	}
	if n == 1<<k {
		y[k] = w[0].Not()
		for s := range k {
			y[s] = c.and(y[s], w[0])
		}
	}
	return y
}
