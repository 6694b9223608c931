package tile

import (
	"fmt"

	"github.com/bitsched/bitsched/internal/bitmatrix"
)

// The tensor transpose unit of a bank turns cache lines into bitlines and back
// (Infinity Stream, section 5.2): bit i of an element is in row wl+i of its
// bitline.

// LoadWord transposes 64 elements of a width of at most 64 bits onto bitlines 64k
// to 64k+63 of an array, from row wl on; those of the mask are written.
func (c *Cells) LoadWord(array, k, wl, width int, elems *[64]uint64, mask uint64) {
	var m [64]uint64
	if width <= 32 { // two matrices at once
		low := (*[32]uint64)(m[:])
		for i := range low {
			low[i] = elems[i]&0xffffffff | elems[i+32]<<32
		}
		bitmatrix.Transpose32(low)
	} else {
		m = *elems
		bitmatrix.Transpose64(&m)
	}
	at := array%c.lanes*c.words + k
	g := c.groups[array/c.lanes]
	for i := range width {
		w := &g.Row(wl + i)[at]
		*w ^= (*w ^ m[i]) & mask
	}
}

// StoreWord is the reverse of LoadWord, for all 64 bitlines.
func (c *Cells) StoreWord(array, k, wl, width int, elems *[64]uint64) {
	at := array%c.lanes*c.words + k
	g := c.groups[array/c.lanes]
	*elems = [64]uint64{}
	for i := range width {
		elems[i] = g.Row(wl + i)[at]
	}
	if width > 32 {
		bitmatrix.Transpose64(elems)
		return
	}
	low := (*[32]uint64)(elems[:])
	bitmatrix.Transpose32(low)
	for i, x := range low {
		elems[i], elems[i+32] = x&0xffffffff, x>>32
	}
}

// LoadLine transposes a cache line, or a part of one, onto the bitlines of an
// array from bitline on: elements of elemBytes bytes, least first, bit 0 in row wl.
func (c *Cells) LoadLine(array, bitline, wl, elemBytes int, line []byte) error {
	n, err := c.checkLine(array, bitline, wl, elemBytes, line)
	if err != nil {
		return err
	}
	for first := 0; first < n; {
		b := bitline + first
		m := min(n-first, 64-b%64)
		var elems [64]uint64
		for i := range m {
			for j := range elemBytes {
				elems[b%64+i] |= uint64(line[(first+i)*elemBytes+j]) << (8 * j)
			}
		}
		c.LoadWord(array, b/64, wl, 8*elemBytes, &elems, (1<<m-1)<<(b%64))
		first += m
	}
	return nil
}

// StoreLine is the reverse of LoadLine.
func (c *Cells) StoreLine(array, bitline, wl, elemBytes int, line []byte) error {
	n, err := c.checkLine(array, bitline, wl, elemBytes, line)
	if err != nil {
		return err
	}
	for first := 0; first < n; {
		b := bitline + first
		m := min(n-first, 64-b%64)
		var elems [64]uint64
		c.StoreWord(array, b/64, wl, 8*elemBytes, &elems)
		for i := range m {
			for j := range elemBytes {
				line[(first+i)*elemBytes+j] = byte(elems[b%64+i] >> (8 * j))
			}
		}
		first += m
	}
	return nil
}

// checkLine returns the number of elements of a line.
func (c *Cells) checkLine(array, bitline, wl, elemBytes int, line []byte) (int, error) {
	n := 0
	if elemBytes > 0 {
		n = len(line) / elemBytes
	}
	switch {
	case elemBytes < 1 || elemBytes > 8 || len(line)%elemBytes != 0:
		return 0, fmt.Errorf("tile: line of %d bytes of elements of %d, expected a whole number of elements of 1 to 8 bytes", len(line), elemBytes)
	case array < 0 || array >= c.arrays:
		return 0, fmt.Errorf("tile: line for array %d, expected 0 to %d", array, c.arrays-1)
	case bitline < 0 || bitline+n > c.cols:
		return 0, fmt.Errorf("tile: line of %d elements for bitline %d on, expected bitlines below %d", n, bitline, c.cols)
	case wl < 0 || wl+8*elemBytes > c.rows:
		return 0, fmt.Errorf("tile: line for rows %d to %d, expected rows below %d", wl, wl+8*elemBytes-1, c.rows)
	}
	return n, nil
}
