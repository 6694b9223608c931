package lowering

import "math"

// linear is a number of a region: v now, and v + s*t after t more steps, when the
// symbols have changed t times by the same.
type linear struct{ v, s int64 }

func fixed(v int64) linear                    { return linear{v: v} }
func (a linear) plus(b linear) linear         { return linear{a.v + b.v, a.s + b.s} }
func (a linear) minus(b linear) linear        { return linear{a.v - b.v, a.s - b.s} }
func (a linear) add(k int64) linear           { return linear{a.v + k, a.s} }
func (a linear) times(k int64) linear         { return linear{a.v * k, a.s * k} }
func (a linear) negative() linear             { return linear{-a.v, -a.s} }
func (a linear) mod(n int64, q linear) linear { return a.minus(q.times(n)) }

// span is a range of linear numbers.
type span struct{ lo, hi linear }

// course is for how many steps the decisions hold that were taken on linear numbers:
// from lo, which is at most 0, to hi, which is at least 0. Numbers with a slope need
// one, those without do not.
type course struct{ lo, hi int64 }

// newCourse is the course of no decision. Its bounds leave room for sums.
func newCourse() *course { return &course{math.MinInt32, math.MaxInt32} }

func (c *course) has(t int64) bool { return c.lo <= t && t <= c.hi }

func (c *course) restrict(d course) { c.lo, c.hi = max(c.lo, d.lo), min(c.hi, d.hi) }

// above restricts the course to the steps at which d is at least 1.
func (c *course) above(d linear) {
	switch {
	case d.s > 0:
		c.lo = max(c.lo, -floor(d.v-1, d.s))
	case d.s < 0:
		c.hi = min(c.hi, floor(d.v-1, -d.s))
	}
}

// less reports whether a < b, as it does from now on.
func (c *course) less(a, b linear) bool {
	d := b.minus(a)
	if d.s == 0 {
		return d.v > 0
	}
	if d.v > 0 {
		c.above(d)
		return true
	}
	c.above(d.negative().add(1))
	return false
}

// equal reports whether a == b, as it does from now on.
func (c *course) equal(a, b linear) bool {
	d := b.minus(a)
	switch {
	case d.s == 0:
		return d.v == 0
	case d.v == 0:
		c.here()
		return true
	case d.v > 0:
		c.above(d)
	default:
		c.above(d.negative())
	}
	return false
}

// here ends the course: what was found holds now and no longer.
func (c *course) here() { c.lo, c.hi = 0, 0 }

func (c *course) min(a, b linear) linear {
	if c.less(b, a) {
		return b
	}
	return a
}

func (c *course) max(a, b linear) linear {
	if c.less(a, b) {
		return b
	}
	return a
}

// intersect returns the common part of two ranges, perhaps with hi below lo.
func (c *course) intersect(a, b span) span { return span{c.max(a.lo, b.lo), c.min(a.hi, b.hi)} }

// div returns a/n rounded down.
func (c *course) div(a linear, n int64) linear {
	if a.s%n == 0 {
		return linear{floor(a.v, n), a.s / n}
	}
	return fixed(c.stay(a, n))
}

// stay returns a/n rounded down, as it stays.
func (c *course) stay(a linear, n int64) int64 {
	q := floor(a.v, n)
	c.above(a.add(1 - q*n)) // q*n <= a
	c.above(a.negative().add((q + 1) * n))
	return q
}

// up returns a/n rounded up.
func (c *course) up(a linear, n int64) linear { return c.div(a.add(n-1), n) }

// product returns a*b.
func (c *course) product(a, b linear) linear {
	if a.s != 0 && b.s != 0 {
		c.here()
		return fixed(a.v * b.v)
	}
	return linear{a.v * b.v, a.v*b.s + a.s*b.v}
}

// floor returns a/n rounded down, n being positive.
func floor(a, n int64) int64 {
	q := a / n
	if a%n < 0 {
		q--
	}
	return q
}
