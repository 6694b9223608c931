package uop

import (
	"encoding/binary"
	"math"
)

// Apply performs an atomic operation: the bytes that memory has after it. old, a and
// e have the same length of 1, 2, 4 or 8 bytes; e counts for CompareSwap only.
func (r RMW) Apply(dst, old, a, e []byte) {
	m, x := word(old), word(a)
	bits := uint(8 * len(old))
	signed := func(v uint64) int64 { return int64(v<<(64-bits)) >> (64 - bits) }
	switch r {
	case Exchange:
		m = x
	case Add:
		m += x
	case And:
		m &= x
	case Or:
		m |= x
	case Xor:
		m ^= x
	case Min:
		if signed(x) < signed(m) {
			m = x
		}
	case Max:
		if signed(x) > signed(m) {
			m = x
		}
	case UMin:
		m = min(m, x)
	case UMax:
		m = max(m, x)
	case CompareSwap:
		if m == word(e) {
			m = x
		}
	case FAdd:
		if len(old) == 4 {
			m = uint64(math.Float32bits(math.Float32frombits(uint32(m)) + math.Float32frombits(uint32(x))))
		} else {
			m = math.Float64bits(math.Float64frombits(m) + math.Float64frombits(x))
		}
	}
	var full [8]byte
	binary.LittleEndian.PutUint64(full[:], m)
	copy(dst, full[:len(old)])
}

func word(b []byte) uint64 {
	var full [8]byte
	copy(full[:], b)
	return binary.LittleEndian.Uint64(full[:])
}
