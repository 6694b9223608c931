package gen

import (
	"errors"

	"github.com/bitsched/bitsched/netlist"
)

// checkFloatRoot refuses formats whose square roots may be subnormal.
func checkFloatRoot(p params) error {
	f, _ := floatFormat(p)
	if 1<<(f.exp-1)-1 <= f.frac {
		return errors.New("exponent is too short, expected a bias, which is 2^(exponent-1) - 1, larger than the fraction's length")
	}
	return checkFloat(p)
}

// floatSqrt is the square root of a. It lies never half-way between two numbers,
// so the bit below the last place rounds, and no remainder is needed.
func floatSqrt(b *builder, p params) {
	f, flush := floatFormat(p)
	x := b.floatInput("a", f)
	u := b.unpack(x, flush)
	norm, places := u.significand, []lit(nil)
	if !flush {
		norm, _, places = b.normalise(u.significand, f.frac, 0, 0, nil)
	}
	// The exponent is e = exp - places, and that of the root is half of e and
	// the bias; the bias is odd, so a significand twice as large goes with an
	// even e. The sum of exp, the complement of places and 2^(f.exp-1) is e and
	// the bias.
	bias := zeros(f.exp + 1)
	bias[f.exp-1] = netlist.True
	exp, _ := b.ripple(bias, complement(extended(places, f.exp+1)), netlist.False)
	exp, _ = b.ripple(exp, extended(u.exp, f.exp+1), netlist.False)
	twice := exp[0] // the parity of e and an odd bias
	norm[f.frac] = netlist.True
	word := make([]lit, f.frac+2)
	for i := len(word) - 1; i >= 0; i-- {
		word[i] = b.Mux(twice, at(norm, i-1), at(norm, i))
	}
	root := b.rootBits(word, f.frac+2, true)
	root[f.frac+1] = netlist.False // the exponent has it already
	frac, exp := b.pack(exp[1:], root[1:], root[0])

	wrong := b.And(x.sign, u.zero.Not())
	infinite := b.Or(u.special, wrong)
	nan := b.Or(u.nan, wrong)
	b.floatOutput("y", float{
		frac: b.special(frac, b.Or(infinite, u.zero), nan),
		exp:  b.extreme(exp, infinite, u.zero),
		sign: b.And(x.sign, u.zero),
	})
}
