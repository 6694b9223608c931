package mem

import (
	"sync"
	"unsafe"
)

// slab hands out parts of large pieces of memory, for which large pages are asked of
// the system: caches are looked up all over, and a miss of the host's TLB costs as much
// as one of its caches. A piece lives as long as any of its parts.
type slab[T any] struct {
	mu   sync.Mutex
	left []T
}

const (
	slabBytes = 16 << 20
	// leastPart is how many bytes of a part are worth a place in a slab.
	leastPart = 16 << 10
)

var (
	lineSlab  slab[Bytes]
	waySlab   slab[way]
	entrySlab slab[entry]
)

// take returns n zero values.
func (s *slab[T]) take(n int) []T {
	var v T
	size := int(unsafe.Sizeof(v))
	if n*size < leastPart {
		return make([]T, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > len(s.left) {
		if n*size >= slabBytes {
			piece := make([]T, n)
			largePages(unsafe.Pointer(unsafe.SliceData(piece)), n*size)
			return piece
		}
		s.left = make([]T, slabBytes/size)
		largePages(unsafe.Pointer(unsafe.SliceData(s.left)), len(s.left)*size)
	}
	part := s.left[:n:n]
	s.left = s.left[n:]
	return part
}
