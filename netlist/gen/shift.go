package gen

// barrel returns a builder of a logarithmic shifter: stage k moves the word by
// 2^k places if bit k of the amount is set. from tells where bit i of the moved
// word comes from: a bit of the word, or what fills it.
func barrel(up bool, from func(word []lit, i, by int) lit) func(b *builder, p params) {
	return func(b *builder, p params) {
		word := b.input("a", p.width)
		amount := b.input("s", log2(p.width))
		for k, s := range amount {
			// From the top down where bits move up, so that a bit that was the
			// choice if s is set is next the other one: its Xor with s, of which
			// a Mux of two gates is made, serves both.
			next := make([]lit, len(word))
			for j := range next {
				i := j
				if up {
					i = len(word) - 1 - j
				}
				next[i] = b.Mux(s, from(word, i, 1<<k), word[i])
			}
			word = next
		}
		b.output("y", word)
	}
}

func rotateLeft(word []lit, i, by int) lit {
	if i -= by; i < 0 {
		i += len(word)
	}
	return word[i]
}

func rotateRight(word []lit, i, by int) lit { return word[(i+by)%len(word)] }

func shiftLeft(word []lit, i, by int) lit  { return at(word, i-by) }
func shiftRight(word []lit, i, by int) lit { return at(word, i+by) }

func shiftArithmetic(word []lit, i, by int) lit { return word[min(i+by, len(word)-1)] }

func sizeBarrel(p params) tally {
	n, k := int64(p.width), int64(log2(p.width))
	return tally{inputs: n + k, mux: n * k}
}

// shifted is a word moved down by a constant, zeros from above.
func shifted(word []lit, by, width int) []lit {
	out := make([]lit, width)
	for i := range out {
		out[i] = at(word, i+by)
	}
	return out
}
