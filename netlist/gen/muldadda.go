package gen

// multiplierDadda forms all partial products and reduces their columns.
func multiplierDadda(b *builder, p params) {
	n, m := p.width, p.extra[0]
	x, y := b.input("a", n), b.input("b", m)
	c := newColumns(n+m, min(n, m)+1)
	for j := range y {
		for i := range x {
			c.add(i+j, b.And(x[i], y[j]))
		}
	}
	b.output("y", b.reduce(c))
}
