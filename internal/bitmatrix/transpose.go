// Package bitmatrix transposes matrices of bits, which is how words become rows of an
// array and back.
//
// [Transpose32] and [Transpose64] turn 64 bytes at a time where the processor can; the
// plain Go functions are there everywhere, are what the others are compared with, and
// are all that the build tag purego leaves.
package bitmatrix

// Matrices are turned block by block, halving the blocks each time (Warren, Hacker's
// Delight, section 7-3), all blocks of a size at once.

// transpose32 is [Transpose32] in plain Go.
func transpose32(m *[32]uint64) {
	for i := range 16 {
		a, b := m[i], m[i+16]
		t := (a>>16 ^ b) & 0x0000ffff0000ffff
		m[i], m[i+16] = a^t<<16, b^t
	}
	for h := 0; h < 32; h += 16 {
		for i := h; i < h+8; i++ {
			a, b := m[i&31], m[(i+8)&31]
			t := (a>>8 ^ b) & 0x00ff00ff00ff00ff
			m[i&31], m[(i+8)&31] = a^t<<8, b^t
		}
	}
	for h := 0; h < 32; h += 8 {
		for i := h; i < h+4; i++ {
			a, b := m[i&31], m[(i+4)&31]
			t := (a>>4 ^ b) & 0x0f0f0f0f0f0f0f0f
			m[i&31], m[(i+4)&31] = a^t<<4, b^t
		}
	}
	for h := 0; h < 32; h += 4 { // the last two sizes at once
		a, b, c, d := m[h], m[(h+1)&31], m[(h+2)&31], m[(h+3)&31]
		t, u := (a>>2^c)&0x3333333333333333, (b>>2^d)&0x3333333333333333
		a, c, b, d = a^t<<2, c^t, b^u<<2, d^u
		t, u = (a>>1^b)&0x5555555555555555, (c>>1^d)&0x5555555555555555
		m[h], m[(h+1)&31], m[(h+2)&31], m[(h+3)&31] = a^t<<1, b^t, c^u<<1, d^u
	}
}

// transpose64 is [Transpose64] in plain Go.
func transpose64(m *[64]uint64) {
	for i := range 32 {
		a, b := m[i], m[i+32]
		t := (a>>32 ^ b) & 0x00000000ffffffff
		m[i], m[i+32] = a^t<<32, b^t
	}
	transpose32((*[32]uint64)(m[:32]))
	transpose32((*[32]uint64)(m[32:]))
}
