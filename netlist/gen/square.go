package gen

// addSquare puts the partial products of a word's square in columns. The pairs
// a[i] a[j] and a[j] a[i] are one bit of twice the weight, and a[i] a[i] is
// a[i]. Column 2i then holds a[i] and a[i] a[i-1], whose sum and carry need no
// adder: they are a[i] ~a[i-1] and a[i] a[i-1].
func (b *builder) addSquare(c columns, x []lit) {
	for i := range x {
		for j := range i {
			both := b.And(x[i], x[j])
			if j == i-1 {
				c.add(2*i+1, both)
				c.add(2*i, b.And(x[i], x[j].Not()))
			} else {
				c.add(i+j+1, both)
			}
		}
	}
	c.add(0, x[0])
}

// squarer squares with about half the gates of a multiplier.
func squarer(b *builder, p params) {
	x := b.input("a", p.width)
	c := newColumns(2*p.width, p.width/2+2)
	b.addSquare(c, x)
	b.output("y", b.reduce(c))
}

func sizeSquare(p params) tally {
	n := int64(p.width)
	return tally{inputs: n, and: n*(n+1)/2 + n, full: n*n/2 + n}
}
