package gen

import (
	"errors"

	"github.com/bitsched/bitsched/netlist"
)

// The parameters of conversions, after those of all floating-point kinds.
var (
	convertParams = []Param{
		exponentParam, flushParam,
		{Name: "width-y", Doc: "bits of y (default: width)", Min: 4, Max: maxWord},
		{Name: "exponent-y", Doc: "bits of exponent of y (default: as for width, from width-y)", Min: 2, Max: maxFloatExp},
	}
	toIntParams = []Param{
		exponentParam, flushParam,
		{Name: "width-y", Doc: "bits of y (default: width)", Min: 1, Max: maxWord},
		{Name: "signed", Doc: "1: y is signed", Min: 0, Max: 1},
		{Name: "round", Doc: "1: to nearest, ties to even, 0: towards zero", Min: 0, Max: 1},
	}
	fromIntParams = []Param{
		{Name: "width-y", Doc: "bits of y (default: width, at least 16)", Min: 4, Max: maxWord},
		{Name: "exponent-y", Doc: "bits of exponent of y (default: 3 log2(width-y) - 7, as in IEEE 754 for 16, 32 and 64)", Min: 2, Max: maxFloatExp},
		{Name: "signed", Doc: "1: a is signed", Min: 0, Max: 1},
	}
)

// convertDefaults are those of convertParams and toIntParams. An exponent of 0
// stands for that of its width.
func convertDefaults(width, i int) int {
	switch i {
	case 0:
		return exponentOf(width, 0)
	case 2:
		return width
	}
	return 0
}

func fromIntDefaults(width, i int) int {
	if i == 0 {
		return max(16, width)
	}
	return 0
}

// target is the format of y, given the parameters of its width and exponent.
func target(width, exponent int) format {
	if exponent == 0 {
		exponent = exponentOf(width, 0)
	}
	return format{exponent, width - 1 - exponent}
}

func checkConvert(p params) error {
	if err := checkFloat(p); err != nil {
		return err
	}
	return checkTarget(target(p.extra[2], p.extra[3]))
}

func checkFromInt(p params) error { return checkTarget(target(p.extra[0], p.extra[1])) }

func checkTarget(f format) error {
	if f.frac < 1 {
		return errors.New("exponent-y leaves no fraction, expected at most width-y - 2 bits")
	}
	return nil
}

func (f format) bias() int { return 1<<(f.exp-1) - 1 }

// window is a significand of f, half of its last place and whether there is
// anything below, from the top of a word.
func (b *builder) window(word []lit, f format) (significand []lit, below lit) {
	n := f.frac + 2
	if drop := len(word) - n; drop > 0 {
		return word[drop:], b.OrAll(word[:drop])
	}
	return joined(zeros(n-len(word)), word), netlist.False
}

// floatConvert is a in another format.
func floatConvert(b *builder, p params) {
	f, flush := floatFormat(p)
	g := target(p.extra[2], p.extra[3])
	x := b.floatInput("a", f)
	u := b.unpack(x, false)
	zero := u.zero
	if flush {
		zero = b.OrAll(x.exp).Not()
	}
	rebias := g.bias() - f.bias()
	var frac, exp []lit
	switch {
	case rebias == 0: // subnormals are subnormal in both
		significand, below := b.window(joined(x.frac, []lit{netlist.False}), g)
		frac, exp = b.rounded(x.exp, significand, below)
	case rebias > 0: // subnormals become normal if there are exponents enough
		limit := joined(u.exp, zeros(g.exp-f.exp+1))
		limit, _ = b.ripple(limit, constant(rebias-1, g.exp+1), netlist.False)
		word, places := u.significand, []lit(nil)
		switch {
		case flush:
		case rebias >= f.frac:
			word, _, places = b.normalise(word, f.frac, 0, 0, nil)
		default:
			word, _, places = b.normalise(word, f.frac, 0, 0, limit)
		}
		exp, _ = b.subtract(limit, extended(places, g.exp+1), netlist.False)
		significand, below := b.window(word, g)
		frac, exp = b.rounded(exp, significand, below)
	default: // a small exponent is none, and the significand moves down
		exp, _ = b.ripple(joined(u.exp, zeros(1)), constant(rebias-1, f.exp+1), netlist.False)
		negative := exp[f.exp]
		significand, below := b.window(u.significand, g)
		if !flush {
			var lost lit
			significand, lost = b.shiftSticky(significand, b.saturated(b.descent(exp[:f.exp], negative), g.frac+2, netlist.False))
			below = b.Or(below, lost)
			exp = b.masked(exp[:f.exp], negative.Not())
			frac, exp = b.rounded(exp, significand, below)
			break
		}
		significand[g.frac+1] = netlist.True
		frac, exp = b.rounded(exp, significand, below)
		zero = b.OrAll([]lit{zero, exp[f.exp], b.OrAll(exp).Not()})
		exp = exp[:f.exp]
	}
	over := b.Or(b.OrAll(exp[g.exp:]), b.AndAll(exp[:g.exp]))
	infinite := b.Or(u.special, b.And(over, zero.Not()))
	kill := infinite
	if flush {
		kill = b.Or(kill, zero)
	}
	b.floatOutput("y", float{
		frac: b.special(frac, kill, u.nan),
		exp:  b.extreme(exp[:g.exp], infinite, zero),
		sign: b.And(x.sign, u.nan.Not()),
	})
}

// floatFromInt is the integer a as a floating-point number.
func floatFromInt(b *builder, p params) {
	f := target(p.extra[0], p.extra[1])
	word := b.input("a", p.width)
	sign := top(word, p.extra[2] != 0)
	magnitude := b.negateIf(word, sign)
	norm, _, places := b.normalise(magnitude, p.width-1, 0, 0, nil)
	lead := norm[p.width-1]
	significand, below := b.window(norm, f)
	// The exponent is that of the top bit, less one for pack and less places.
	width := max(f.exp, len(places)) + 2
	exp, _ := b.subtract(constant(f.bias()+p.width-2, width), extended(places, width), netlist.False)
	frac, exp := b.rounded(exp, significand, below)
	infinite := b.And(lead, b.Or(b.OrAll(exp[f.exp:]), b.AndAll(exp[:f.exp])))
	b.floatOutput("y", float{b.masked(frac, infinite.Not()), b.extreme(exp[:f.exp], infinite, lead.Not()), sign})
}

// floatToInt is a as an integer, the nearest one that there is, and the largest
// one for a NaN. The significand starts at the top of the word and moves down.
func floatToInt(b *builder, p params) {
	f, flush := floatFormat(p)
	n, signed, nearest := p.extra[2], p.extra[3] != 0, p.extra[4] != 0
	x := b.floatInput("a", f)
	lead, exp := netlist.True, joined(x.exp)
	if f.exp == 2 { // else a subnormal number is as good as the double, 0
		lead = b.OrAll(x.exp)
		exp[0] = b.Or(exp[0], lead.Not())
	}
	frac := x.frac
	if f.exp == 2 && flush {
		frac = b.masked(frac, lead)
	}
	// A bit below the word is its half.
	half := 0
	if nearest {
		half = 1
	}
	word, lost := joined(zeros(max(0, n+half-f.frac-1)), frac, []lit{lead}), netlist.False
	if drop := len(word) - n - half; drop > 0 {
		word, lost = word[drop:], b.OrAll(word[:drop])
	}
	width := max(f.exp, log2(n)) + 2
	places, _ := b.subtract(constant(n-1+f.bias(), width), extended(exp, width), netlist.False)
	beyond := places[width-1]
	word, more := b.shiftSticky(word, b.saturated(places[:width-1], n+half, netlist.False))
	up := netlist.False
	if nearest {
		up = b.roundUp(word[1], word[0], b.Or(lost, more))
		word = word[1:]
	}

	special := b.AndAll(x.exp)
	nan := b.And(special, b.OrAll(x.frac))
	negative := b.And(x.sign, nan.Not())
	over := beyond
	if f.bias()+1 <= n-1 { // infinities are not beyond by their exponent
		over = b.Or(over, special)
	}
	out := make([]lit, n)
	if !signed {
		for i := range out {
			out[i], up = b.HalfAdd(word[i], up)
		}
		over = b.Or(over, up)
		// All ones if it is over, and zeros if it is negative.
		high := b.And(over, negative.Not())
		for i, l := range out {
			out[i] = b.Maj(l, high, negative.Not())
		}
		b.output("y", out)
		return
	}
	// The complement of a sum plus one: the complement, plus one if nothing is
	// added.
	carry := b.Xor(x.sign, up)
	for i := range out {
		out[i], carry = b.HalfAdd(b.Xor(word[i], x.sign), carry)
	}
	over = b.OrAll([]lit{over, word[n-1], b.And(out[n-1], x.sign.Not())})
	high := b.And(over, negative.Not())
	keep := b.Or(over.Not(), negative.Not())
	for i, l := range out {
		if i == n-1 {
			out[i] = b.Mux(over, negative, l)
			continue
		}
		out[i] = b.Maj(l, high, keep)
	}
	b.output("y", out)
}
