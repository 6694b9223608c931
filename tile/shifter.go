package tile

import (
	"math/bits"

	"github.com/bitsched/bitsched/sram"
)

// shifter moves rows of bits by a distance, to where a mask says.
//
// A row of a group is shifted as one long number. What comes from the array beside
// is then in the places that no bit of the own array goes to, and those are not in
// the mask of what is written: it is the mask of what is read, shifted within one
// array.
type shifter struct {
	words int
	whole bool // no distance, all bitlines
	right bool
	q     int                     // distance in words
	r     uint                    // and in bits of a word
	to    [sram.GroupWords]uint64 // bitlines that are written, in all lanes

	// Word k of eight is one of sixteen, eight that follow each other and the next,
	// shifted up by some bits, with another one shifted down.
	upFrom, downFrom [8]uint64
	up, down         uint64
}

// newShifter prepares an op, whose dist is 0 if it does not move anything.
func newShifter(c *Cells, op *Op) shifter {
	s := shifter{words: c.words, whole: op.dist == 0 && op.on.Bitlines == nil}
	d := op.dist
	if d < 0 {
		s.right, d = true, -d
	}
	if d >= c.cols {
		return s // all bits leave their arrays
	}
	s.q, s.r = d/64, uint(d%64)
	s.up, s.down = uint64(s.r), 64-uint64(s.r)
	for k := range s.upFrom {
		s.upFrom[k], s.downFrom[k] = uint64(8+k-s.q), uint64(7+k-s.q)
		if s.right {
			s.upFrom[k], s.downFrom[k] = uint64(k+s.q+1), uint64(k+s.q)
		}
	}
	if s.right {
		s.up, s.down = s.down, s.up
	}
	var read, all [sram.GroupWords]uint64
	for k := range s.words {
		read[k], all[k] = op.on.word(k), ^uint64(0)
	}
	s.move(s.to[:s.words], read[:s.words], all[:s.words], new(rowBuffer))
	for k := s.words; k < len(s.to); k++ {
		s.to[k] = s.to[k-s.words]
	}
	return s
}

// mask returns the bitlines that are written where only some lanes are enabled.
func (s *shifter) mask(lanes uint32) (to [sram.GroupWords]uint64) {
	for ; lanes != 0; lanes &= lanes - 1 {
		at := bits.TrailingZeros32(lanes) * s.words
		copy(to[at:at+s.words], s.to[:s.words])
	}
	return to
}

// rowBuffer is a row with room for a row before and behind it, whatever is there.
type rowBuffer [3*sram.GroupWords + 1]uint64

// mover moves a row of a group.
type mover struct {
	name string
	move func(s *shifter, dst, src, to *[sram.GroupWords]uint64, buf *rowBuffer)
}

// movers are those of this processor, the fastest first, plain Go last.
var movers = append(vectorMovers(), mover{"go", move})

// move moves the bits of src to those of dst that are in to. All have the same
// length; dst and src may be the same row.
func (s *shifter) move(dst, src, to []uint64, buf *rowBuffer) {
	const n = sram.GroupWords
	if len(dst) == n {
		movers[0].move(s, (*[n]uint64)(dst), (*[n]uint64)(src), (*[n]uint64)(to), buf)
		return
	}
	s.moveWords(dst, src, to, buf)
}

func move(s *shifter, dst, src, to *[sram.GroupWords]uint64, buf *rowBuffer) {
	s.moveWords(dst[:], src[:], to[:], buf)
}

func (s *shifter) moveWords(dst, src, to []uint64, buf *rowBuffer) {
	const first = sram.GroupWords
	n := len(dst)
	copy(buf[first:first+n], src)
	to = to[:n]
	r, rest := s.r&63, 63-s.r&63 // a shift by 64-r in two, since r may be 0
	if s.right {
		near, far := buf[first+s.q:][:n], buf[first+s.q+1:][:n]
		for k := range dst {
			v := near[k]>>r | far[k]<<1<<rest
			dst[k] ^= (dst[k] ^ v) & to[k]
		}
		return
	}
	near, far := buf[first-s.q:][:n], buf[first-s.q-1:][:n]
	for k := range dst {
		v := near[k]<<r | far[k]>>1>>rest
		dst[k] ^= (dst[k] ^ v) & to[k]
	}
}
