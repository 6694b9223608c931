//go:build amd64 && !purego

package tile

import (
	"golang.org/x/sys/cpu"

	"github.com/bitsched/bitsched/sram"
)

// vectorMovers are the ways of this processor to move rows of groups, the fastest first.
func vectorMovers() []mover {
	var list []mover
	if cpu.X86.HasAVX512F {
		list = append(list, mover{"avx512", func(s *shifter, dst, src, to *[sram.GroupWords]uint64, buf *rowBuffer) {
			if s.q >= len(s.upFrom) {
				move(s, dst, src, to, buf)
				return
			}
			moveAVX512(dst, src, to, s)
		}})
	}
	if cpu.X86.HasAVX2 {
		list = append(list, mover{"avx2", func(s *shifter, dst, src, to *[sram.GroupWords]uint64, buf *rowBuffer) {
			const first = sram.GroupWords
			copy(buf[first:], src[:])
			up, down := first-s.q, first-s.q-1
			if s.right {
				up, down = first+s.q+1, first+s.q
			}
			moveAVX2(dst, to, &buf[up], &buf[down], s.up, s.down)
		}})
	}
	return list
}

// moveAVX512 takes words from a register and the next, by the indices of the shifter.
//
//go:noescape
func moveAVX512(dst, src, to *[sram.GroupWords]uint64, s *shifter)

// moveAVX2 joins words from one place on, shifted up, and from another, shifted down.
//
//go:noescape
func moveAVX2(dst, to *[sram.GroupWords]uint64, upFrom, downFrom *uint64, up, down uint64)
