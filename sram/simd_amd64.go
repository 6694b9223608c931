//go:build amd64 && !purego

package sram

import "golang.org/x/sys/cpu"

// simdMasks are the words of which AVX2 makes masks: none and all.
var simdMasks = [2]uint64{0, ^uint64(0)}

// simdOnes is the mask of what is not masked. The row of ones of a machine may be
// faulty.
var simdOnes = func() (r [groupWords]uint64) {
	for k := range r {
		r[k] = ^uint64(0)
	}
	return r
}()

// neuralTerms says of which terms a function of two rows is the sum modulo 2, by
// kind: 0xff in byte 0 for a, in byte 1 for b, in byte 2 for a&b.
var neuralTerms = [4]uint32{ncAnd: 0xff0000, ncOr: 0xffffff, ncXor: 0x00ffff, ncMove: 0x0000ff}

// neuralMasks are, by kind, the row whose majority with two others is their function, and
// then whether that is their parity instead.
var neuralMasks = [8]uint32{ncOr: ^uint32(0), 4 + ncXor: 0xff}

var _ = [...]any{&simdMasks, &simdOnes, &neuralTerms, &neuralMasks} // read by the assembly

//go:noescape
func execLargeAVX512(ops *microOp, n int, rows *[groupWords]uint64)

//go:noescape
func execLargeAVX2(ops *microOp, n int, rows *[groupWords]uint64)

//go:noescape
func execNeuralAVX512(ops *microOp, n int, rows *[groupWords]uint64, carry, tag uint64)

//go:noescape
func execNeuralAVX2(ops *microOp, n int, rows *[groupWords]uint64, carry, tag uint64)

// simdTwins are the executors of this processor, the fastest first. Plain Go comes
// last everywhere.
func simdTwins() []twin {
	var list []twin
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL {
		list = append(list, twin{"avx512", wrapLarge(execLargeAVX512), wrapNeural(execNeuralAVX512)})
	}
	if cpu.X86.HasAVX2 {
		list = append(list, twin{"avx2", wrapLarge(execLargeAVX2), wrapNeural(execNeuralAVX2)})
	}
	return list
}

func wrapLarge(f func(*microOp, int, *[groupWords]uint64)) execFunc {
	return func(ops []microOp, rows [][groupWords]uint64) {
		if len(ops) > 0 {
			f(&ops[0], len(ops), &rows[0])
		}
	}
}

func wrapNeural(f func(*microOp, int, *[groupWords]uint64, uint64, uint64)) execFunc {
	carry, tag := uint64(Carry.slot()), uint64(Tag.slot())
	return func(ops []microOp, rows [][groupWords]uint64) {
		if len(ops) > 0 {
			f(&ops[0], len(ops), &rows[0], carry, tag)
		}
	}
}
