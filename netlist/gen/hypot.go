package gen

// hypot adds the partial products of both squares in one set of columns, and
// takes the root.
func hypot(b *builder, p params) {
	x, y := b.input("a", p.width), b.input("b", p.width)
	c := newColumns(2*p.width+1, p.width+4)
	b.addSquare(c, x)
	b.addSquare(c, y)
	b.output("y", b.root(b.reduce(c)))
}

func sizeHypot(p params) tally {
	s := sizeSquare(p)
	return s.plus(s).plus(tally{full: 2 * int64(p.width)}).plus(sizeRoot(2*int64(p.width) + 1))
}
