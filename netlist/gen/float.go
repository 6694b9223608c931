package gen

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/bitsched/bitsched/netlist"
)

// Floating-point circuits work on words of IEEE 754 binary formats: fraction,
// biased exponent and sign, from the lowest bit up. They round to nearest, ties
// to even, have subnormals, infinities and signed zeros, and give the canonical
// NaN, which is positive and quiet with no other bit of the fraction set.
//
// The gates of a circuit are what counts, not its depth. What they save on:
//
//   - Operands are swapped by a Xor and two Maj a bit (swap), shifters take 1.5
//     gates a bit and stage (Mux), additions ripple.
//   - Normalisation finds the leading one stage by stage while it shifts, so
//     that there is neither a count of zeros nor a separate limit for
//     subnormals (normalise).
//   - The leading bit of a significand is added to the exponent and not masked
//     out of the fraction (pack).

// maxFloatExp is the longest exponent, that of the 128-bit format.
const maxFloatExp = 15

// format is the shape of a floating-point word.
type format struct{ exp, frac int }

// exponentOf is the default length of the exponent; all other parameters are 0.
func exponentOf(width, i int) int {
	if i > 0 {
		return 0
	}
	return max(2, bits.Len(uint(width*width*width))-8)
}

// The parameters of floating-point kinds.
var (
	exponentParam = Param{
		Name: "exponent",
		Doc:  "bits of exponent, the fraction has the others but the sign (default: 3 log2(width) - 7, as in IEEE 754 for 16, 32 and 64)",
		Min:  2, Max: maxFloatExp,
	}
	flushParam = Param{Name: "flush", Doc: "1: subnormal operands and results count as zeros of their sign", Min: 0, Max: 1}
)

var floatParams = []Param{exponentParam, flushParam}

func floatWidth(def int) Param {
	return Param{Name: "width", Doc: "bits of a floating-point word", Default: def, Min: 4, Max: 64}
}

// checkFloat refuses formats without a fraction.
func checkFloat(p params) error { return checkFormat(format{p.extra[0], p.width - 1 - p.extra[0]}) }

func checkFormat(f format) error {
	if f.frac < 1 {
		return errors.New("exponent leaves no fraction, expected at most width - 2 bits")
	}
	return nil
}

// float is a floating-point word in its parts.
type float struct {
	frac, exp []lit
	sign      lit
}

// floatFormat is the format of a kind whose parameters are exponent and flush.
func floatFormat(p params) (f format, flush bool) {
	return format{p.extra[0], p.width - 1 - p.extra[0]}, p.extra[1] != 0
}

func (b *builder) floatInput(name string, f format) float {
	w := b.input(name, 1+f.exp+f.frac)
	return float{w[:f.frac], w[f.frac : f.frac+f.exp], w[f.frac+f.exp]}
}

func (b *builder) floatOutput(name string, x float) { b.output(name, x.word()) }

func (x float) word() []lit { return joined(x.frac, x.exp, []lit{x.sign}) }

// magnitude is the word without its sign, which orders as the values do.
func (x float) magnitude() []lit { return joined(x.frac, x.exp) }

// joined is words one above the other, the first lowest, as a new word.
func joined(words ...[]lit) []lit { return slices.Concat(words...) }

// zeros is a word of zeros.
func zeros(n int) []lit { return make([]lit, n) }

// swap returns x and y if s is set, else y and x: where they differ, the
// majority of both and s ^ !x is the first of them.
func (b *builder) swap(s, x, y lit) (first, second lit) {
	switch {
	case x == y:
		return x, x
	case x&^1 == netlist.False || y&^1 == netlist.False:
		return b.Mux(s, x, y), b.Mux(s, y, x)
	}
	t := b.Xor(s, x.Not())
	return b.Maj(x, y, t), b.Maj(x, y, t.Not())
}

// subtract returns x - y - borrow, and the borrow out. The words have one length.
func (b *builder) subtract(x, y []lit, borrow lit) (diff []lit, out lit) {
	diff = make([]lit, len(x))
	for i := range x {
		diff[i] = b.Xor3(x[i], y[i], borrow)
		borrow = b.Maj(x[i].Not(), y[i], borrow)
	}
	return diff, borrow
}

// masked is word if keep is set, else 0.
func (b *builder) masked(word []lit, keep lit) []lit {
	out := make([]lit, len(word))
	for i, l := range word {
		out[i] = b.And(l, keep)
	}
	return out
}

// extended is word with False above it, or cut off.
func extended(word []lit, width int) []lit {
	out := make([]lit, width)
	copy(out, word)
	return out
}

// shiftSticky moves word down by amount. lost tells whether a bit that is set
// fell off.
func (b *builder) shiftSticky(word, amount []lit) (moved []lit, lost lit) {
	for k, s := range amount {
		by := min(1<<k, len(word))
		lost = b.Or(lost, b.And(s, b.OrAll(word[:by])))
		next := make([]lit, len(word))
		for i := range next {
			next[i] = b.Mux(s, at(word, i+by), word[i])
		}
		word = next
	}
	return word, lost
}

// saturated is amount in as few bits as hold most; where it is larger, or all is
// set, these are all ones. It is for shifts that leave nothing from most places
// on.
func (b *builder) saturated(amount []lit, most int, all lit) []lit {
	out := extended(amount, bits.Len(uint(most)))
	if len(amount) > len(out) {
		all = b.Or(b.OrAll(amount[len(out):]), all)
	}
	for i := range out {
		out[i] = b.Or(out[i], all)
	}
	return out
}

// descent is how far a significand must move down: the magnitude of a negative
// exponent, of which exp has the bits but the sign, and 0 if it is not negative.
func (b *builder) descent(exp []lit, negative lit) []lit {
	out := make([]lit, len(exp)+1)
	carry := negative
	for i, l := range exp {
		out[i], carry = b.HalfAdd(b.And(l.Not(), negative), carry)
	}
	out[len(exp)] = carry
	return out
}

// normalise moves word up until its top bit is set, by at most most places and,
// unless limit is nil, by no more than the number limit; it returns by how
// many, in as many bits as hold most.
//
// From the highest bit of the number of places down, a stage moves if it moves
// nothing but zeros out, and if the number stays within the limit: either its
// bits above are less than the limit's (below) or the limit has this bit too.
//
// Of the word only what ends above the lowest drop bits is returned; below
// tells whether anything is set in these. The lowest still bits are known to be
// zero if the move is by more than two places.
func (b *builder) normalise(word []lit, most, drop, still int, limit []lit) (moved []lit, below lit, places []lit) {
	n := len(word)
	places = make([]lit, bits.Len(uint(most)))
	less := netlist.True
	if limit != nil {
		less = b.OrAll(limit[min(len(limit), len(places)):])
	}
	// Bits under dead will not rise to bit drop in the stages that are left.
	dead := max(0, drop+1-1<<len(places))
	below = b.OrAll(word[:dead])
	for k := len(places) - 1; k >= 0; k-- {
		by := min(1<<k, n)
		empty := b.OrAll(word[n-by:]).Not()
		s := b.And(empty, b.Or(less, at(limit, k)))
		less = b.Or(less, b.And(at(limit, k), empty.Not()))
		places[k] = s
		next := make([]lit, n)
		for i := n - 1; i >= 0; i-- {
			switch from := i - by; {
			case from >= still || k < 2 && from >= 0:
				next[i] = b.Mux(s, word[from], word[i])
			case i >= n-by || k >= 2 && i < still: // zero already where s is set
				next[i] = word[i]
			default:
				next[i] = b.And(s.Not(), word[i])
			}
		}
		// What becomes dead was not dead before unless it is moved there.
		if end := drop + 1 - by; end > dead {
			below = b.Or(below, b.And(s.Not(), b.OrAll(word[dead:end])))
			dead = end
		}
		word = next
	}
	return word[drop:], below, places
}

// roundUp tells whether a significand with the lowest bit even, the next bit
// half and anything below that rounds up to the nearest, ties to even.
func (b *builder) roundUp(even, half, below lit) lit { return b.And(half, b.Or(even, below)) }

// pack adds a significand, one bit longer than the fraction, to an exponent that
// is one less than it should be, or right for a subnormal number, whose leading
// bit is not set. It adds up, too, which may carry into the exponent. The sum
// has as many bits as frac and exp together.
func (b *builder) pack(exp, significand []lit, up lit) (frac, out []lit) {
	f := len(significand) - 1
	frac, out = make([]lit, f), make([]lit, len(exp))
	for i := range frac {
		frac[i], up = b.HalfAdd(significand[i], up)
	}
	lead := significand[f]
	for i := range out {
		out[i], up = b.FullAdd(exp[i], lead, up)
		lead = netlist.False
	}
	return frac, out
}

// rounded rounds a normalised significand, whose lowest bit is half of the last
// place, and packs it with its exponent.
func (b *builder) rounded(exp, significand []lit, below lit) (frac, out []lit) {
	return b.pack(exp, significand[1:], b.roundUp(significand[1], significand[0], below))
}

// extreme is an exponent of all ones where infinite is set, else 0 where zero is
// set, else exp.
func (b *builder) extreme(exp []lit, infinite, zero lit) []lit {
	out := make([]lit, len(exp))
	keep := b.Or(infinite, zero.Not())
	for i, l := range exp {
		out[i] = b.Maj(l, infinite, keep)
	}
	return out
}

// special clears the fraction where kill is set and sets its top bit for a NaN.
func (b *builder) special(frac []lit, kill, nan lit) []lit {
	frac = b.masked(frac, kill.Not())
	frac[len(frac)-1] = b.Or(frac[len(frac)-1], nan)
	return frac
}
