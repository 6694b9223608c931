package se

import "unsafe"

// slab hands out values of which many are alive for a short time, from memory that it takes
// from the collector at once.
type slab[T any] struct{ rest []T }

// slabBytes is how much that is.
const slabBytes = 8 << 10

// make returns n values of zero bits.
func (s *slab[T]) make(n int) []T {
	if n > len(s.rest) {
		var t T
		s.rest = make([]T, max(n, slabBytes/int(unsafe.Sizeof(t))))
	}
	list := s.rest[:n:n]
	s.rest = s.rest[n:]
	return list
}

// put returns a place with a value.
func (s *slab[T]) put(v T) *T {
	p := &s.make(1)[0]
	*p = v
	return p
}
