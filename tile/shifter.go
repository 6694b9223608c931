package tile

import "github.com/bitsched/bitsched/sram"

// shifter moves the bits of a row of an array by a distance, where a mask says.
type shifter struct {
	words    int
	whole    bool // no distance, all bitlines
	right    bool
	q, r     int                     // distance in words, and in bits of a word
	mask, to [sram.GroupWords]uint64 // bitlines that are read, and written
}

func newShifter(c *Cells, op *Op) shifter {
	s := shifter{words: c.words, whole: op.dist == 0 && op.on.Bitlines == nil}
	d := op.dist
	if d < 0 {
		s.right, d = true, -d
	}
	s.q, s.r = d/64, d%64
	for k := range s.words {
		s.mask[k] = op.on.word(k)
	}
	s.apply(s.to[:s.words], s.mask[:s.words])
	return s
}

// apply sets out to the bits of in at their new bitlines.
func (s *shifter) apply(out, in []uint64) {
	at := func(k int) uint64 {
		if k < 0 || k >= s.words {
			return 0
		}
		return in[k]
	}
	for k := range out {
		if s.right {
			out[k] = at(k+s.q)>>s.r | at(k+s.q+1)<<(64-s.r)
		} else {
			out[k] = at(k-s.q)<<s.r | at(k-s.q-1)>>(64-s.r)
		}
	}
}

// move moves the bits of a row; dst and src may be the same.
func (s *shifter) move(dst, src []uint64) {
	if s.whole {
		copy(dst, src)
		return
	}
	var in, out [sram.GroupWords]uint64
	for k, x := range src {
		in[k] = x & s.mask[k]
	}
	s.apply(out[:s.words], in[:s.words])
	for k := range dst {
		dst[k] ^= (dst[k] ^ out[k]) & s.to[k]
	}
}
