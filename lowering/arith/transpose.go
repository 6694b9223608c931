package arith

import (
	"github.com/bitsched/bitsched/internal/bitmatrix"
	"github.com/bitsched/bitsched/sram"
)

// Words and rows are transposes of each other: bit i of word j is bit j of row i.

// Word is what operands and results lie in outside the arrays.
type Word interface{ ~uint32 | ~uint64 }

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
		bitmatrix.Transpose32(&m)
		for i := range p.Width {
			s.Row(p.Base + i)[k] = m[i]
		}
		return
	}
	var m [64]uint64
	for j, x := range from[:min(64, len(from))] {
		m[j] = uint64(x)
	}
	bitmatrix.Transpose64(&m)
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
		bitmatrix.Transpose32(&m)
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
	bitmatrix.Transpose64(&m)
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
