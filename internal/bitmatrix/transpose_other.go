//go:build !amd64 || purego

package bitmatrix

// Transpose32 transposes two matrices of 32 x 32 bits, one in the low halves of the
// words and one in the high halves.
func Transpose32(m *[32]uint64) { transpose32(m) }

// Transpose64 transposes a matrix of 64 x 64 bits, a row in each word.
func Transpose64(m *[64]uint64) { transpose64(m) }
