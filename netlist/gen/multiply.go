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
		return b.multiplyRows(x, y, zeros(n+m), false)
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

// multiplyRows returns x * y + add, to the length of add. Rows of carry-save
// adders each add x times a bit of y, and the bit of add for which there is a
// place at their end; a ripple adder ends them.
//
// For signed numbers, of one length n, it is the array of Baugh and Wooley (IEEE
// ToC 1973): partial products with one sign bit count as their complements, and
// 2^n - 2^(2n-1) makes up for that. The first is the carry into the last adder,
// the second makes the sign of what is above the product.
func (b *builder) multiplyRows(x, y, add []lit, signed bool) []lit {
	n, m := len(x), len(y)
	cell := func(i, j int) lit {
		return b.And(x[i], y[j]).NotIf(signed && (i == n-1) != (j == n-1))
	}
	sum, carry := make([]lit, n), make([]lit, n)
	out := make([]lit, 0, max(len(add), n+m))
	for j := range m {
		for i := range n {
			above := at(sum, i+1)
			if j == 0 || i == n-1 {
				above = at(add, i+j)
			}
			sum[i], carry[i] = b.FullAdd(cell(i, j), above, carry[i])
		}
		out = append(out, sum[0])
	}
	if len(add) <= m {
		return out[:len(add)]
	}
	rest, carries := make([]lit, len(add)-m), make([]lit, len(add)-m)
	for k := range rest {
		rest[k], carries[k] = at(sum, k+1), at(carry, k)
		if k >= n-1 {
			rest[k] = at(add, m+k)
			if signed {
				carries[k] = carry[n-1].Not()
			}
		}
	}
	top, _ := b.ripple(rest, carries, netlist.False.NotIf(signed))
	return append(out, top...)
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
