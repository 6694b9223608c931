package gen

import "github.com/bitsched/bitsched/netlist"

// comparison is what the comparing circuits need of two operands, as they are
// asked for: gates that no output needs are swept.
type comparison struct {
	b            *builder
	x, y         float
	flush        bool
	someX, someY lit // the fraction is not zero
}

func (b *builder) compare(p params) *comparison {
	f, flush := floatFormat(p)
	c := &comparison{b: b, x: b.floatInput("a", f), y: b.floatInput("b", f), flush: flush}
	c.someX, c.someY = b.OrAll(c.x.frac), b.OrAll(c.y.frac)
	return c
}

// atMost compares magnitudes: |x| < |y|, or if equal is set |x| <= |y|.
func (c *comparison) atMost(equal lit) lit {
	mx, my := c.x.magnitude(), c.y.magnitude()
	for i := range mx {
		equal = c.b.Maj(mx[i].Not(), my[i], equal)
	}
	return equal
}

// below orders all numbers, -0 below +0, given whether |x| < |y| for positive
// numbers and whether |x| <= |y| for negative ones; or the other way round, and
// then equal words are below each other.
func (c *comparison) below(magnitudes lit) lit {
	return c.b.Maj(c.x.sign, c.y.sign.Not(), c.b.Xor(magnitudes, c.x.sign))
}

func (c *comparison) nanX() lit { return c.b.And(c.b.AndAll(c.x.exp), c.someX) }
func (c *comparison) nanY() lit { return c.b.And(c.b.AndAll(c.y.exp), c.someY) }

func (c *comparison) unordered() lit { return c.b.Or(c.nanX(), c.nanY()) }

// zeros tells whether both operands are zeros.
func (c *comparison) zeros() lit {
	some := c.b.Or(c.b.OrAll(c.x.exp), c.b.OrAll(c.y.exp))
	if !c.flush {
		some = c.b.Or(some, c.b.Or(c.someX, c.someY))
	}
	return some.Not()
}

// less tells whether x < y, orEqual whether x <= y.
func (c *comparison) less() lit {
	below := c.below(c.atMost(c.x.sign))
	return c.b.And(below, c.b.Or(c.zeros(), c.unordered()).Not())
}

func (c *comparison) orEqual() lit {
	below := c.below(c.atMost(c.x.sign.Not()))
	return c.b.And(c.b.Or(below, c.zeros()), c.unordered().Not())
}

// equal tells whether x = y. Of two equal magnitudes both are NaNs or none is,
// and both are zeros or none is.
func (c *comparison) equal(magnitudes lit) lit {
	b := c.b
	zero := b.Or(b.OrAll(c.x.exp), c.someX).Not()
	same := b.Xor(c.x.sign, c.y.sign).Not()
	if c.flush {
		return b.And(b.Or(c.zeros(), b.And(magnitudes, same)), c.nanX().Not())
	}
	return b.And(b.And(magnitudes, b.Or(same, zero)), c.nanX().Not())
}

func floatCompare(b *builder, p params) {
	c := b.compare(p)
	least, most := c.atMost(netlist.False), c.atMost(netlist.True)
	unordered := c.unordered()
	less := b.And(c.below(b.Mux(c.x.sign, most, least)), b.Or(c.zeros(), unordered).Not())
	equal := c.equal(b.And(most, least.Not()))
	b.flag("lt", less)
	b.flag("eq", equal)
	b.flag("gt", b.OrAll([]lit{less, equal, unordered}).Not())
	b.flag("un", unordered)
}

func floatEqual(b *builder, p params) {
	c := b.compare(p)
	b.flag("y", c.equal(b.And(c.atMost(netlist.True), c.atMost(netlist.False).Not())))
}

func floatLess(b *builder, p params)      { b.flag("y", b.compare(p).less()) }
func floatLessEqual(b *builder, p params) { b.flag("y", b.compare(p).orEqual()) }

// floatPick returns a builder of minimumNumber or maximumNumber: if largest is
// set the one that is not below.
func floatPick(largest bool) func(b *builder, p params) {
	return func(b *builder, p params) {
		c := b.compare(p)
		nanX, nanY := c.nanX(), c.nanY()
		below := c.below(c.atMost(c.x.sign)).NotIf(largest)
		first := b.Or(nanY, b.And(below, nanX.Not()))
		word := b.choose(first, c.x.word(), c.y.word())
		f := len(c.x.frac)
		y := float{word[:f], word[f : len(word)-1], word[len(word)-1]}
		nan := b.And(nanX, nanY)
		kill := nan
		if c.flush {
			kill = b.Or(kill, b.OrAll(y.exp).Not())
		}
		y.frac = b.special(y.frac, kill, nan)
		y.sign = b.And(y.sign, nan.Not())
		b.floatOutput("y", y)
	}
}

// floatSign returns a builder of the operand with another sign.
func floatSign(sign func(l lit) lit) func(b *builder, p params) {
	return func(b *builder, p params) {
		word := b.input("a", p.width)
		word[p.width-1] = sign(word[p.width-1])
		b.output("y", word)
	}
}
