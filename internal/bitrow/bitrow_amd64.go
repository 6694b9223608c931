//go:build amd64 && !purego

package bitrow

import "golang.org/x/sys/cpu"

func twins() []Set {
	var list []Set
	if cpu.X86.HasAVX512F {
		list = append(list, Set{"avx512", andAVX512, xorAVX512, xor3AVX512, majAVX512, muxAVX512})
	}
	if cpu.X86.HasAVX2 {
		list = append(list, Set{"avx2", andAVX2, xorAVX2, xor3AVX2, majAVX2, muxAVX2})
	}
	return list
}

//go:noescape
func andAVX512(d, a, b *Row, na, nb uint64)

//go:noescape
func xorAVX512(d, a, b *Row, na, nb uint64)

//go:noescape
func xor3AVX512(d, a, b, c *Row, na, nb, nc uint64)

//go:noescape
func majAVX512(d, a, b, c *Row, na, nb, nc uint64)

//go:noescape
func muxAVX512(d, a, b, c *Row, na, nb, nc uint64)

//go:noescape
func andAVX2(d, a, b *Row, na, nb uint64)

//go:noescape
func xorAVX2(d, a, b *Row, na, nb uint64)

//go:noescape
func xor3AVX2(d, a, b, c *Row, na, nb, nc uint64)

//go:noescape
func majAVX2(d, a, b, c *Row, na, nb, nc uint64)

//go:noescape
func muxAVX2(d, a, b, c *Row, na, nb, nc uint64)
