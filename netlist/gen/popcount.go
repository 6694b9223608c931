package gen

// popcount counts the set bits.
func popcount(b *builder, p params) { b.output("y", b.count(b.input("a", p.width), 0)) }

func sizePopcount(p params) tally {
	n := int64(p.width)
	return tally{inputs: n, full: n}
}
