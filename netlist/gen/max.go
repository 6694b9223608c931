package gen

import (
	"fmt"
	"strconv"

	"github.com/bitsched/bitsched/netlist"
)

// maximum is a knockout tournament of neighbours. The winner's index gets a bit
// a round: whether the right one won, which is only if it is larger.
func maximum(b *builder, p params) {
	words := make([][]lit, p.extra[0])
	for i := range words {
		words[i] = b.input("x"+strconv.Itoa(i), p.width)
	}
	index := make([][]lit, len(words)) // of the rounds so far
	rounds := log2(len(words))
	for range rounds {
		half := (len(words) + 1) / 2
		for i := range half {
			l, r := 2*i, 2*i+1
			if r == len(words) { // no opponent
				words[i], index[i] = words[l], append(index[l], netlist.False)
				continue
			}
			right := b.borrow(words[l], words[r])
			words[i] = b.choose(right, words[r], words[l])
			index[i] = append(b.choose(right, index[r], index[l]), right)
		}
		words, index = words[:half], index[:half]
	}
	b.output("y", words[0])
	b.output("i", index[0])
}

// choose is s ? t : e for words of one length.
func (b *builder) choose(s lit, t, e []lit) []lit {
	out := make([]lit, len(t))
	for i := range out {
		out[i] = b.Mux(s, t[i], e[i])
	}
	return out
}

// checkMaximum limits the inputs: their names take more memory than gates do.
func checkMaximum(p params) error {
	if total := int64(p.width) * int64(p.extra[0]); total > maxLinear {
		return fmt.Errorf("%d words of %d bits are %d inputs, expected at most %d", p.extra[0], p.width, total, maxLinear)
	}
	return nil
}

func sizeMaximum(p params) tally {
	n, w := int64(p.width), int64(p.extra[0])
	return tally{inputs: n * w, maj: n * (w - 1), mux: (n + int64(log2(int(w)))) * (w - 1)}
}
