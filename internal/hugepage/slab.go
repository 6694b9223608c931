package hugepage

import "unsafe"

const (
	line  = 64      // of the host; what is handed out begins with one
	huge  = 2 << 20 // bytes of a huge page, as most hosts have it
	least = 64 << 10
	most  = 16 * huge // of a chunk, unless more is asked for at once
)

// Slab has memory of which parts are handed out. The zero value has none yet. It must not be
// used by several goroutines at a time.
type Slab struct {
	rest   []byte
	next   int // bytes of the next chunk
	backed map[uintptr]bool
}

// Make returns n values of zero bits. T has no pointers: the garbage collector does not look
// into a slab.
func Make[T any](s *Slab, n int) []T {
	var t T
	if n == 0 || unsafe.Sizeof(t) == 0 {
		return make([]T, n)
	}
	b := s.take(n * int(unsafe.Sizeof(t)))
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

// take returns bytes that begin with a line.
func (s *Slab) take(n int) []byte {
	n = (n + line - 1) &^ (line - 1)
	if n > len(s.rest) {
		s.next = min(max(2*s.next, least), most)
		s.rest = chunk(max(n, s.next))
	}
	b := s.rest[:n:n]
	s.rest = s.rest[n:]
	return b
}

// chunk returns zero bytes that begin with a line, and with a huge page if there are
// several of them.
func chunk(n int) []byte {
	align := line
	if n >= 2*huge {
		align = huge
	}
	b := make([]byte, n+align)
	at := -int(uintptr(unsafe.Pointer(&b[0]))) & (align - 1)
	b = b[at : at+n]
	if align == huge {
		advise(b)
	}
	return b
}

// Back asks for huge pages where a table lies that is not from the slab, since it has pointers,
// and where its neighbours in the heap lie, which is to be done when these have been made too.
func Back[T any](s *Slab, table []T) {
	if len(table) == 0 {
		return
	}
	if s.backed == nil {
		s.backed = map[uintptr]bool{}
	}
	last := uintptr(unsafe.Pointer(&table[len(table)-1]))
	for at := uintptr(unsafe.Pointer(&table[0])) &^ (huge - 1); at <= last; at += huge {
		if !s.backed[at] {
			s.backed[at] = true
			collapse(at) // the heap has whole ones
		}
	}
}
