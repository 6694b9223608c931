package gen

import "github.com/bitsched/bitsched/netlist"

// multiply returns x * y, as long as both together, with few gates: rows of
// carry-save adders for short words, and for longer ones three products of half
// the length (Karatsuba and Ofman, Soviet Physics Doklady 1963), which pays from
// about 16 bits.
func (b *builder) multiply(x, y []lit) []lit {
	n, m := len(x), len(y)
	if n == 0 || m == 0 {
		return zeros(n + m)
	}
	if rows, parts := productGates(n, m); rows <= parts {
		return b.multiplyRows(x, y)
	}
	h := (max(n, m) + 1) / 2
	low := b.multiply(x[:h], y[:h])
	high := b.multiply(x[h:], y[h:])
	mid := b.multiply(b.sumOf(x[:h], x[h:]), b.sumOf(y[:h], y[h:]))
	// The middle part is less than the product of two words of h bits, twice.
	mid = mid[:2*h+1]
	mid, _ = b.subtract(mid, extended(low, len(mid)), netlist.False)
	mid, _ = b.subtract(mid, extended(high, len(mid)), netlist.False)
	rest := joined(low[h:], high)
	top, _ := b.ripple(rest, extended(mid, len(rest)), netlist.False)
	return joined(low[:h], top)
}

// sumOf is x + y, one bit longer than x; y is not longer than x.
func (b *builder) sumOf(x, y []lit) []lit {
	sum, carry := b.ripple(x, extended(y, len(x)), netlist.False)
	return append(sum, carry)
}

// multiplyRows adds row after row, x times a bit of y.
func (b *builder) multiplyRows(x, y []lit) []lit {
	n := len(x)
	out := make([]lit, 0, n+len(y))
	sum, carry := b.masked(x, y[0]), make([]lit, n)
	out = append(out, sum[0])
	for j := 1; j < len(y); j++ {
		for i := range n {
			sum[i], carry[i] = b.FullAdd(b.And(x[i], y[j]), at(sum, i+1), carry[i])
		}
		out = append(out, sum[0])
	}
	rest, last := b.ripple(sum[1:], carry[:n-1], netlist.False)
	out = append(out, rest...)
	return append(out, b.Xor(carry[n-1], last))
}

// productGates estimates the gates of a product of n by m bits, by rows and by
// three products of half the length.
func productGates(n, m int) (rows, parts int) {
	rows = 3*n*m - 2*max(n, m)
	h := (max(n, m) + 1) / 2
	if min(n, m) <= h || h < 4 {
		return rows, rows
	}
	parts = 2*2*h + 3*2*(2*h+1) + 2*(n+m-3*h-1)
	for _, part := range [][2]int{{h, h}, {n - h, m - h}, {h + 1, h + 1}} {
		parts += min(productGates(part[0], part[1]))
	}
	return rows, parts
}
