package arith

import "github.com/bitsched/bitsched/sram"

// Words and rows are transposes of each other: bit i of word j is bit j of row
// i. The matrices are turned block by block, halving the blocks each time
// (Warren, Hacker's Delight, section 7-3), all blocks of a size at once.

// Word is what operands and results lie in outside the arrays.
type Word interface{ ~uint32 | ~uint64 }

// transpose32 transposes two matrices of 32 x 32 bits, one in the low halves of
// the words and one in the high halves.
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

// transpose64 transposes a matrix of 64 x 64 bits.
func transpose64(m *[64]uint64) {
	for i := range 32 {
		a, b := m[i], m[i+32]
		t := (a>>32 ^ b) & 0x00000000ffffffff
		m[i], m[i+32] = a^t<<32, b^t
	}
	transpose32((*[32]uint64)(m[:32]))
	transpose32((*[32]uint64)(m[32:]))
}

// load64 sets the rows of a port for word k of the group from up to 64 words;
// lanes beyond them become zero.
func load64[T Word](s *sram.State, p sram.Port, k int, from []T) {
	if p.Width <= 32 {
		var m [32]uint64
		if len(from) >= 64 {
			lo, hi := from[:32:32], from[32:64:64]
			for j := range m {
				m[j] = uint64(uint32(lo[j])) | uint64(hi[j])<<32
			}
		} else {
			for j, x := range from {
				m[j%32] |= uint64(uint32(x)) << (j / 32 * 32)
			}
		}
		transpose32(&m)
		for i := range p.Width {
			s.Row(p.Base + i)[k] = m[i]
		}
		return
	}
	var m [64]uint64
	for j, x := range from[:min(64, len(from))] {
		m[j] = uint64(x)
	}
	transpose64(&m)
	for i := range p.Width {
		s.Row(p.Base + i)[k] = m[i]
	}
}

// store64 is the reverse; bits above the width are zero.
func store64[T Word](s *sram.State, p sram.Port, k int, to []T) {
	if p.Width <= 32 {
		var m [32]uint64
		for i := range p.Width {
			m[i] = s.Row(p.Base + i)[k]
		}
		transpose32(&m)
		if len(to) >= 64 {
			lo, hi := to[:32:32], to[32:64:64]
			for j, x := range m {
				lo[j], hi[j] = T(uint32(x)), T(x>>32)
			}
			return
		}
		for j := range to {
			to[j] = T(uint32(m[j%32] >> (j / 32 * 32)))
		}
		return
	}
	var m [64]uint64
	for i := range p.Width {
		m[i] = s.Row(p.Base + i)[k]
	}
	transpose64(&m)
	for j := range to[:min(64, len(to))] {
		to[j] = T(m[j])
	}
}

// loadGroup sets the rows of a port from at most a group of words.
func loadGroup[T Word](s *sram.State, p sram.Port, from []T) {
	for k := 0; 64*k < len(from); k++ {
		load64(s, p, k, from[64*k:min(64*k+64, len(from))])
	}
}

// storeGroup is the reverse.
func storeGroup[T Word](s *sram.State, p sram.Port, to []T) {
	for k := 0; 64*k < len(to); k++ {
		store64(s, p, k, to[64*k:min(64*k+64, len(to))])
	}
}
