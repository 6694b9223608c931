//go:build amd64 && !purego

package bitmatrix

import "golang.org/x/sys/cpu"

var vectors = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512GFNI

// Transpose32 transposes two matrices of 32 x 32 bits, one in the low halves of the
// words and one in the high halves.
func Transpose32(m *[32]uint64) {
	if vectors { // no function value: m would be moved to the heap
		transpose32AVX512(m)
	} else {
		transpose32(m)
	}
}

// Transpose64 transposes a matrix of 64 x 64 bits, a row in each word.
func Transpose64(m *[64]uint64) {
	if vectors {
		transpose64AVX512(m)
	} else {
		transpose64(m)
	}
}

//go:noescape
func transpose32AVX512(m *[32]uint64)

//go:noescape
func transpose64AVX512(m *[64]uint64)
