package gen

import (
	"context"
	"math"

	"github.com/bitsched/bitsched/netlist"
)

// Words builds operators on words for readers of circuits, with the structures of
// the kinds add, multiplier, quotient and the like: few XOR and MAJ gates. It is
// the netlist.Words of ReadOptions.
type Words struct{}

var _ netlist.Words = Words{}

// on returns a builder of gates at the end of a network.
func on(n *netlist.Network) *builder {
	return &builder{net: n, ctx: context.Background(), left: math.MaxInt}
}

func (Words) Add(n *netlist.Network, x, y []netlist.Lit, carry netlist.Lit) []netlist.Lit {
	sum := make([]lit, len(x))
	b := on(n)
	for i := range x {
		if i == len(x)-1 { // the last carry is not wanted
			sum[i] = b.Xor3(x[i], y[i], carry)
			break
		}
		sum[i], carry = b.FullAdd(x[i], y[i], carry)
	}
	return sum
}

// Multiply leaves out the copies of the sign, or the zeros, that words were extended
// by. Where the whole product of signed words fits it is the array of multiplyRows,
// extended; else rows of adders of the bits that are asked for.
func (Words) Multiply(n *netlist.Network, x, y []netlist.Lit, signed bool) []netlist.Lit {
	width := len(x)
	x, y = shortest(x, signed), shortest(y, signed)
	b := on(n)
	if k := max(len(x), len(y)); signed {
		if 2*k <= width {
			x, y = resized(x, k, true), resized(y, k, true)
			return resized(b.multiplyRows(x, y, zeros(2*k), true), width, true)
		}
		x, y = resized(x, width, true), resized(y, width, true)
	}
	return b.lowRows(x, y, width)
}

// lowRows returns the low bits of x * y: a ripple adder for each bit of y.
func (b *builder) lowRows(x, y []lit, width int) []lit {
	out := zeros(width)
	for j := range min(len(y), width) {
		carry := netlist.False
		for i := range x {
			switch k := i + j; {
			case k >= width:
			case k == width-1:
				out[k] = b.Xor3(out[k], b.And(x[i], y[j]), carry)
			default:
				out[k], carry = b.FullAdd(out[k], b.And(x[i], y[j]), carry)
			}
		}
		if k := len(x) + j; k < width {
			out[k] = carry
		}
	}
	return out
}

// shortest is a word without the bits at its top that only extend it.
func shortest(x []lit, signed bool) []lit {
	for len(x) > 1 {
		if last := x[len(x)-1]; signed && last != x[len(x)-2] || !signed && last != netlist.False {
			break
		}
		x = x[:len(x)-1]
	}
	return x
}

func (Words) Divide(n *netlist.Network, x, y []netlist.Lit, signed bool) (quotient, remainder []netlist.Lit) {
	return on(n).divide(x, y, signed)
}

func (Words) Less(n *netlist.Network, x, y []netlist.Lit, signed bool) netlist.Lit {
	return on(n).lessThan(x, y, signed, false)
}

func (Words) Equal(n *netlist.Network, x, y []netlist.Lit) netlist.Lit {
	b := on(n)
	differ := make([]lit, len(x))
	for i := range x {
		differ[i] = b.Xor(x[i], y[i])
	}
	return b.OrAll(differ).Not()
}

// Shift has a stage for each bit of the amount that moves by less than the word is
// long; if one of the others is set, nothing but fill is left.
func (Words) Shift(n *netlist.Network, x, by []netlist.Lit, left bool, fill netlist.Lit) []netlist.Lit {
	b := on(n)
	word := x
	stages := min(len(by), log2(len(x)))
	for k, s := range by[:stages] {
		next := make([]lit, len(word))
		for i := range next {
			from, other := i+1<<k, fill
			if left {
				from = i - 1<<k
			}
			if from >= 0 && from < len(word) {
				other = word[from]
			}
			next[i] = b.Mux(s, other, word[i])
		}
		word = next
	}
	if far := b.OrAll(by[stages:]); far != netlist.False {
		all := make([]lit, len(word))
		for i := range all {
			all[i] = b.Mux(far, fill, word[i])
		}
		word = all
	}
	return word
}
