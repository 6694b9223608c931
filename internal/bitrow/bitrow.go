// Package bitrow computes functions of rows of 2048 bits: the gates of circuits on
// many patterns at once.
//
// [Fastest] is for the processor that the program runs on. The plain Go functions
// are there everywhere, are what the others are compared with, and are all that
// the build tag purego leaves.
package bitrow

// Words is the number of words of a row.
const Words = 32

// Row is 2048 bits.
type Row [Words]uint64

// Set is the functions in one form. The last operands are masks, all zeros or all
// ones, that complement a, b and c. A destination may be an operand.
type Set struct {
	Name string
	And  func(d, a, b *Row, na, nb uint64)
	Xor  func(d, a, b *Row, na, nb uint64)
	Xor3 func(d, a, b, c *Row, na, nb, nc uint64)
	Maj  func(d, a, b, c *Row, na, nb, nc uint64)
	Mux  func(d, a, b, c *Row, na, nb, nc uint64) // b where a is 1, else c
}

// Sets are the forms for this processor, the fastest first, plain Go last.
var Sets = append(twins(), Set{"go", and, xor, xor3, maj, mux})

// Fastest is the first of Sets.
var Fastest = Sets[0]

func and(d, a, b *Row, na, nb uint64) {
	for k := range d {
		d[k] = (a[k] ^ na) & (b[k] ^ nb)
	}
}

func xor(d, a, b *Row, na, nb uint64) {
	n := na ^ nb
	for k := range d {
		d[k] = a[k] ^ b[k] ^ n
	}
}

func xor3(d, a, b, c *Row, na, nb, nc uint64) {
	n := na ^ nb ^ nc
	for k := range d {
		d[k] = a[k] ^ b[k] ^ c[k] ^ n
	}
}

func maj(d, a, b, c *Row, na, nb, nc uint64) {
	for k := range d {
		x, y, z := a[k]^na, b[k]^nb, c[k]^nc
		d[k] = x&y | (x|y)&z
	}
}

func mux(d, a, b, c *Row, na, nb, nc uint64) {
	for k := range d {
		x := a[k] ^ na
		d[k] = x&(b[k]^nb) | ^x&(c[k]^nc)
	}
}
