package gen

import "github.com/bitsched/bitsched/netlist"

// multiplierArray is the carry-save array of Braun: row j adds a times bit j of
// b to the sums and carries of the row above; a ripple adder ends it. Only one
// row of sums and carries is live at a time.
func multiplierArray(b *builder, p params) {
	n, m := p.width, p.extra[0]
	x, y := b.input("a", n), b.input("b", m)
	out := make([]lit, 0, n+m)

	// sum[i] and carry[i] have weight 2^(j+i) and 2^(j+i+1) after row j.
	sum, carry := make([]lit, n), make([]lit, n)
	for i := range sum {
		sum[i] = b.And(x[i], y[0])
	}
	out = append(out, sum[0])
	for j := 1; j < m; j++ {
		for i := range n {
			sum[i], carry[i] = b.FullAdd(b.And(x[i], y[j]), at(sum, i+1), carry[i])
		}
		out = append(out, sum[0])
	}
	// What is left: sums of weight 2^m up, and the carries. Nothing is carried
	// out of the product.
	rest, last := b.ripple(sum[1:], carry[:n-1], netlist.False)
	out = append(out, rest...)
	b.output("y", append(out, b.Xor(carry[n-1], last)))
}

func sizeMultiplier(p params) tally {
	n, m := int64(p.width), int64(p.extra[0])
	return tally{inputs: n + m, and: n * m, full: n * m}
}
