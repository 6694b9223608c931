package gen

import "github.com/bitsched/bitsched/netlist"

// span is a group of adjacent bit positions in a parallel-prefix adder: g is
// its carry out for a carry in of 0, p for a carry in of 1, so g implies p and
// the carry out for a carry in of c is maj(g, p, c). In majority logic that
// makes both halves of the prefix operator a single gate. A span of one bit is
// a pair of operand bits (x, y), for maj(x, y, c) is its carry out too; x & y
// and x | y are built when the span is the lower of two, which happens to a
// span of one bit at most once.
//
// With And nodes only, the operator is the usual one, g | p & c, whose p need
// not be implied by g: three gates instead of eight.
type span struct {
	g, p   lit
	single bool // g and p are the operand bits
}

// prefix holds the running spans of an adder: spans[i] ends at bit i, and
// start[i] is its lowest bit.
type prefix struct {
	b     *builder
	spans []span
	start []int
}

// zero is a span's carry out for a carry in of 0.
func (f *prefix) zero(i int) lit {
	s := &f.spans[i]
	if s.single {
		return f.b.And(s.g, s.p)
	}
	return s.g
}

// one is a span's carry out for a carry in of 1.
func (f *prefix) one(i int) lit {
	s := &f.spans[i]
	if s.single {
		return f.b.Or(s.g, s.p)
	}
	return s.p
}

// through is the carry out of span i for the carry in c.
func (f *prefix) through(i int, c lit) lit {
	s := &f.spans[i]
	if f.b.and {
		return f.b.Or(s.g, f.b.And(s.p, c))
	}
	return f.b.Maj(s.g, s.p, c)
}

// join returns span i with span j, which ends where i starts, in front.
func (f *prefix) join(i, j int) span {
	r := span{g: f.through(i, f.zero(j))}
	if f.start[j] > 0 { // at bit 0 there is no carry in
		if f.b.and {
			r.p = f.b.And(f.spans[i].p, f.one(j))
		} else {
			r.p = f.through(i, f.one(j))
		}
	}
	return r
}

// merge makes spans[i] reach down over spans[j].
func (f *prefix) merge(i, j int) {
	f.spans[i], f.start[i] = f.join(i, j), f.start[j]
}

// prefixAdder returns a builder of an adder whose carries come from the prefix
// network that network merges: at its end every span reaches down to bit 0.
func prefixAdder(network func(f *prefix)) func(b *builder, p params) {
	return func(b *builder, p params) {
		n := p.width
		x, y := b.input("a", n), b.input("b", n)
		f := &prefix{b: b, spans: make([]span, n), start: make([]int, n)}
		var sums []lit // x ^ y, with And nodes only: from the g and p of a bit
		for i := range f.spans {
			f.start[i] = i
			if b.and || i == 0 {
				f.spans[i] = span{g: b.And(x[i], y[i])}
				if b.and {
					f.spans[i].p = b.Or(x[i], y[i])
					sums = append(sums, b.And(f.spans[i].g.Not(), f.spans[i].p))
				}
			} else {
				f.spans[i] = span{g: x[i], p: y[i], single: true}
			}
		}
		network(f)
		out := make([]lit, n+1)
		carry := netlist.False
		for i := range n {
			if b.and {
				out[i] = b.Xor(sums[i], carry)
			} else {
				out[i] = b.Xor3(x[i], y[i], carry)
			}
			carry = f.spans[i].g
		}
		out[n] = carry
		b.output("y", out)
	}
}

// koggeStone doubles every span at every level: least depth, fan-out of two,
// most gates (Kogge and Stone, IEEE ToC 1973).
func koggeStone(f *prefix) {
	n := len(f.spans)
	for d := 1; d < n; d *= 2 {
		for i := n - 1; i >= d; i-- { // downwards: i-d is still of the level before
			f.merge(i, i-d)
		}
	}
}

// sklansky puts a block's carry on all of the block above: least depth, large
// fan-out (Sklansky, IRE Trans. 1960).
func sklansky(f *prefix) {
	n := len(f.spans)
	for d := 1; d < n; d *= 2 {
		for i := d; i < n; i++ {
			if i&d != 0 {
				f.merge(i, i&^(d-1)-1)
			}
		}
	}
}

// brentKung builds a tree and walks back down it: about twice the depth, fewest
// gates (Brent and Kung, IEEE ToC 1982).
func brentKung(f *prefix) {
	n := len(f.spans)
	d := 1
	for ; d < n; d *= 2 {
		for i := 2*d - 1; i < n; i += 2 * d {
			f.merge(i, i-d)
		}
	}
	for ; d > 0; d /= 2 {
		for i := 3*d - 1; i < n; i += 2 * d {
			f.merge(i, i-d)
		}
	}
}

// sizePrefix bounds an adder with that many cells of the prefix network.
func sizePrefix(cells func(n int64) int64) func(p params) tally {
	return func(p params) tally {
		n := int64(p.width)
		return tally{inputs: 2 * n, and: n, xor: 2 * n, cell: cells(n)}
	}
}

func cellsKoggeStone(n int64) int64 { return n * int64(log2(int(n))) }
func cellsSklansky(n int64) int64   { return (n + 1) / 2 * int64(log2(int(n))) }
func cellsBrentKung(n int64) int64  { return 2 * n }
