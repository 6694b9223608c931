package gen

import "github.com/bitsched/bitsched/netlist"

// columns are bits to be added, by weight: column i has weight 2^i. Bits whose
// weight is beyond the columns are left out: the sum is taken modulo 2^width.
type columns [][]lit

// newColumns makes columns with room for height bits each.
func newColumns(width, height int) columns {
	c := make(columns, width)
	room := make([]lit, width*height)
	for i := range c {
		c[i] = room[i*height : i*height : (i+1)*height]
	}
	return c
}

// add puts a bit in column i; False and what is beyond the columns is dropped.
func (c columns) add(i int, l lit) {
	if i < len(c) && l != netlist.False {
		c[i] = append(c[i], l)
	}
}

// reduce adds up the columns with as few full and half adders as reduce them to
// two rows in the least number of stages (Dadda, Alta Frequenza 1965), and then
// a ripple-carry adder. There is no carry out of the last column.
func (b *builder) reduce(c columns) []lit {
	height := 0
	for _, col := range c {
		height = max(height, len(col))
	}
	var stages []int // 2, 3, 4, 6, 9, 13, ...
	for d := 2; d < height; d += d / 2 {
		stages = append(stages, d)
	}
	for s := len(stages) - 1; s >= 0; s-- {
		for i := range c {
			b.lower(c, i, stages[s])
		}
	}
	sum := make([]lit, len(c))
	carry := netlist.False
	for i, col := range c {
		x, y := at(col, 0), at(col, 1)
		if i == len(c)-1 {
			sum[i] = b.Xor3(x, y, carry)
			break
		}
		sum[i], carry = b.FullAdd(x, y, carry)
	}
	return sum
}

// lower brings column i, which has the carries of the column below already,
// down to at most d bits. A constant comes last and is thus seldom touched.
func (b *builder) lower(c columns, i, d int) {
	col := c[i]
	excess := len(col) - d
	if excess <= 0 {
		return
	}
	var (
		used int
		sums = make([]lit, 0, (excess+1)/2)
		last = i == len(c)-1
	)
	for ; excess > 0; excess -= 2 {
		var x, y, z lit
		x, y = col[used], col[used+1]
		used += 2
		if excess > 1 {
			z = col[used]
			used++
		}
		if last {
			sums = append(sums, b.Xor3(x, y, z))
			continue
		}
		sum, carry := b.FullAdd(x, y, z)
		sums = append(sums, sum)
		c.add(i+1, carry)
	}
	c[i] = append(append(col[:0], col[used:]...), sums...)
}

// count adds up bits of one weight: the number of bits that are set, as log2 of
// one more than their number bits. For 2^k-1 bits it takes 2^k-1-k full adders
// and no half adder (Foster and Stockton, IEEE ToC 1971).
//
// The lowest unused bits of the result are not wanted: they are left False.
func (b *builder) count(word []lit, unused int) []lit {
	var out []lit
	queue := append([]lit(nil), word...)
	for len(queue) > 0 {
		wanted := len(out) >= unused
		var carries []lit
		// First in, first out: a balanced tree.
		head := 0
		for len(queue)-head > 1 {
			var z, sum, carry lit
			x, y := queue[head], queue[head+1]
			head += 2
			if head < len(queue) {
				z = queue[head]
				head++
			}
			if head == len(queue) && !wanted {
				carry = b.Maj(x, y, z)
			} else {
				sum, carry = b.FullAdd(x, y, z)
			}
			queue, carries = append(queue, sum), append(carries, carry)
		}
		out = append(out, queue[head])
		queue = carries
	}
	return out
}
