package arith

import (
	"math/bits"

	"github.com/bitsched/bitsched/sram"
)

// Microcode of neural-cache for floating-point numbers: what the operations
// share.

// unpacked is a number taken apart; the rows of man and exp may be those of an
// operand. The hidden bit is one unless the exponent is zero.
type unpacked struct {
	man, exp word
	sign     bit
	hidden   bit // exponent not zero
	special  bit // exponent all ones: infinity or NaN
	fraction bit // fraction not zero
}

// split names the parts of a number without any cycle.
func split(f *Format, x word) unpacked {
	return unpacked{man: x[:f.Man], exp: x[f.Man : f.Man+f.Exp], sign: x[f.Man+f.Exp]}
}

// classify finds the flags of a number in Exp+2 cycles for the exponent's and Man-1 for
// the fraction's.
func (a *asm) classify(u *unpacked, fraction bool) {
	u.hidden, u.special = a.row(), a.row()
	a.loadCarry(u.exp[len(u.exp)-1])
	a.ends(opAnd, u.hidden, u.special, u.exp, zero)
	if fraction {
		u.fraction = a.row()
		a.reduce(opOr, u.fraction, u.man)
	}
}

// significand is the fraction with the hidden bit.
func (u *unpacked) significand() word { return append(append(word{}, u.man...), u.hidden) }

// zeros is a word of n constant zeros.
func zeros(n int) word { return constWord(0, n) }

// limit bounds a normalisation: no more places than the number in bits, unless
// unbounded is set.
type limit struct {
	bits      word
	unbounded bit
}

// limitOf is the limit of a normalisation by the number in bits.
func (a *asm) limitOf(bits word, stages int) limit {
	l := limit{bits: append(append(word{}, bits...), zeros(stages)...), unbounded: a.row()}
	if len(bits) > stages {
		a.reduce(opOr, l.unbounded, bits[stages:])
	} else {
		a.copy(l.unbounded, zero)
	}
	return l
}

// normalize moves w up until its top bit is one, by at most 2^stages-1 places and
// the limit, and returns its top keep bits, of which the lowest is one if any bit
// at or below it is; and the complement of how far it moved, bit 0 first. Rows of
// w that are not kept are given back; constant zeros get rows when they must.
//
// A limit with unbounded one1 is none. A stage looks at as many top bits as it
// moves. Bits that no later stage can bring into what is kept are gathered in the
// lowest bit, so that a stage of s takes about keep+3s cycles.
func (a *asm) normalize(w word, keep, stages int, l limit) (kept, notMoved word) {
	notMoved = a.rows(stages)
	for k := stages - 1; k >= 0; k-- {
		s, n := 1<<k, len(w)
		cut := max(0, n-(keep+s-1))
		if cut > s {
			panic("arith: normalization of more bits than its stages reach")
		}
		// The complement of the tag: a top bit is one, or the limit forbids it.
		stay := notMoved[k]
		var top word
		for _, b := range w[max(0, n-s):] {
			if b != zero {
				top = append(top, b)
			}
		}
		some, own := zero, false
		if len(top) == 1 {
			some = top[0]
		} else if len(top) > 1 {
			some, own = a.row(), true
			a.reduce(opOr, some, top)
		}
		if l.unbounded == one1 {
			a.copy(stay, some)
		} else {
			bound := a.row()
			a.fn(opNor, bound, l.bits[k], l.unbounded)
			a.fn(opOr, stay, some, bound)
			if k > 0 { // a limit that is not met now is never met
				a.fn(opAnd, bound, some, l.bits[k])
				a.fn(opOr, l.unbounded, l.unbounded, bound)
			}
			a.free(bound)
		}
		if own {
			a.free(some)
		}
		a.tagNot(stay)
		moves := bit(zero)
		for i := n - 1; i >= cut; i-- {
			from := zero
			if i >= s {
				from = w[i-s]
			}
			a.moveBit(w, i, from, &moves)
		}
		a.free(moves)
		if cut > 0 {
			a.tag(stay)
			for _, b := range w[:cut] {
				if b != zero {
					a.fnm(opOr, w[cut], w[cut], b)
				}
			}
			a.free(w[:cut]...)
			w = w[cut:]
		}
	}
	return w, notMoved
}

// moveBit makes bit i of w the one given where the tag is set. A constant zero
// gets a row; moves is a row that holds the tag then, zero until there is one.
func (a *asm) moveBit(w word, i int, from bit, moves *bit) {
	switch {
	case w[i] != zero:
		a.copym(w[i], from)
	case from != zero:
		if *moves == zero {
			*moves = a.row()
			a.writeTag(*moves)
		}
		w[i] = a.row()
		a.fn(opAnd, w[i], from, *moves)
	}
}

// roundPack rounds a window, the significand with a guard and a sticky bit below
// it, to even, adds the hidden bit to the exponent, and writes fraction and
// exponent to d. Bits of the exponent beyond d are returned, in rows of ours.
func (a *asm) roundPack(f *Format, d, window, exp word) (over word) {
	guard, sticky, lsb := window[1], window[0], window[2]
	t := a.row()
	a.fn(opOr, t, sticky, lsb)
	a.loadCarry(guard)
	a.carry(t, zero)
	a.free(t)
	for i := range f.Man {
		a.add(d[i], window[i+2], zero)
	}
	for i, e := range exp {
		hidden := zero
		if i == 0 {
			hidden = window[f.Man+2]
		}
		r := bit(0)
		if i < f.Exp {
			r = d[f.Man+i]
		} else {
			r = a.row()
			over = append(over, r)
		}
		a.add(r, e, hidden)
	}
	return over
}

// roundUp writes a significand to the fraction of d, and the carry and its hidden bit,
// the last, to the exponent that is there. nan goes to the top bit of a fraction that
// is zero.
func (a *asm) roundUp(f *Format, d, significand word, nan bit) {
	for i := range f.Man {
		x := zero
		if i == f.Man-1 {
			x = nan
		}
		a.add(d[i], significand[i], x)
	}
	for i, b := range d[f.Man : f.Man+f.Exp] {
		hidden := zero
		if i == 0 {
			hidden = significand[f.Man]
		}
		a.add(b, b, hidden)
	}
}

// none is no row.
const none = sram.Operand(0xFFFD)

// finish is what remains to do for a rounded result.
type finish struct {
	f       *Format
	over    word // bits of the exponent beyond those of the format; with FTZ the last is its sign
	special bit  // an operand was infinite or no number
	nan     bit  // the result is no number; special is set too
	null    bit  // the result is zero; with FTZ only
}

// place finds the place of a significand w above the least normal number and
// rounds it: x, a signed number, is the exponent that its top bit would give, less
// one, and p+1 more without FTZ; its highest one is at most rise places below the
// top. Where nonzero is not set the result is zero, but with FTZ that is left to
// finish. The rows of w and x are given back.
func (a *asm) place(f *Format, d, w, x word, nonzero bit, rise int) (over word) {
	p := f.Man + 1
	var kept, notMoved word
	if f.FTZ {
		stages := shiftBits(rise + 1)
		w = a.fit(w, p+2, stages)
		kept, notMoved = a.normalize(w, p+2, stages, limit{unbounded: one1})
	} else {
		// What would be below the normal numbers must not rise at all.
		n := len(x)
		may := a.row()
		a.not(may, x[n-1])
		a.fn(opAnd, may, may, nonzero)
		for _, b := range x[:n-1] {
			a.fn(opAnd, b, b, may)
		}
		a.free(may, x[n-1])
		x = x[:n-1]
		stages := shiftBits(rise + p + 2)
		l := a.limitOf(x, stages)
		kept, notMoved = a.normalize(a.fit(append(append(word{}, w...), zeros(p+1)...), p+2, stages), p+2, stages, l)
		a.free(l.unbounded)
	}
	a.subtractMoved(x, notMoved)
	over = a.roundPack(f, d, kept, x)
	a.free(kept...)
	a.free(x...)
	return over
}

// fit makes w as wide as a normalisation wants it: zeros below, or the lowest
// bits gathered in one.
func (a *asm) fit(w word, keep, stages int) word {
	if len(w) < keep {
		return append(zeros(keep-len(w)), w...)
	}
	most := keep + 1<<stages - 1
	for len(w) > most {
		a.fn(opOr, w[1], w[1], w[0])
		a.free(w[0])
		w = w[1:]
	}
	return w
}

// sumBits is the width of a signed number that holds the exponent of a product
// above an offset.
func (f *Format) sumBits(offset int) int {
	return max(f.Exp+1, bits.Len(uint(2*int(mask(f.Exp))-f.Bias()+offset))) + 1
}

// finish writes infinity where an operand is special or the exponent overflows,
// NaN where there is one, and with FTZ zero where the result is below the normal
// numbers. It takes about Exp+Man+Exp cycles, Exp+Man more with FTZ, and gives
// the rows of e back.
func (a *asm) finish(d word, e finish) {
	f := e.f
	exp, t := d[f.Man:f.Man+f.Exp], a.row()
	a.reduce(opAnd, t, exp)
	if f.FTZ {
		top := len(e.over) - 1
		below, sign := a.row(), e.over[top] // the exponent is zero or negative
		a.reduce(opOr, below, append(append(word{}, e.over[:top]...), exp...))
		a.not(below, below)
		a.fn(opOr, below, below, sign)
		for _, o := range e.over[:top] {
			a.fn(opOr, t, t, o)
		}
		a.not(sign, sign)
		a.fn(opAnd, t, t, sign)
		a.fn(opOr, below, below, e.null)
		a.fn(opOr, t, t, e.special)
		a.tag(below)
		a.copyWordm(exp, zeros(f.Exp))
		a.tagOf(opOr, below, t)
		a.copyWordm(d[:f.Man], zeros(f.Man))
		a.tag(t)
		a.free(below)
	} else {
		for _, o := range e.over {
			a.fn(opOr, t, t, o)
		}
		a.tagOf(opOr, t, e.special)
		a.copyWordm(d[:f.Man], zeros(f.Man))
	}
	for _, b := range exp {
		a.copym(b, one1)
	}
	a.tag(e.nan)
	a.copym(d[f.Man-1], one1)
	a.copym(d[f.Man+f.Exp], zero)
	a.free(t, e.special, e.nan, e.null)
	a.free(e.over...)
}
