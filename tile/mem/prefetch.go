package mem

import (
	"maps"
	"slices"
	"strings"
)

// Prefetcher sees the accesses of a cache and says which lines to fetch in advance.
type Prefetcher interface {
	// Observe sees an access, whether the line was there, and whether it is to be
	// written. It appends lines.
	Observe(pc uint32, line Line, found, write bool, lines []Line) []Line
}

// Paced is a prefetcher that hands out the lines of the newest access one a cycle.
type Paced interface {
	Prefetcher
	// Next returns a line and the access that it is for, false if there is none.
	Next() (line Line, pc uint32, ok bool)
}

// Prefetchers are those that a cache may have.
var Prefetchers = map[string]func(s *CacheSpec) Prefetcher{
	"ip_stride": func(*CacheSpec) Prefetcher { return &ipStride{} },
	"stride": func(s *CacheSpec) Prefetcher {
		if s.Stride == nil {
			return newStride(DefaultStride())
		}
		return newStride(*s.Stride)
	},
	"bingo": func(s *CacheSpec) Prefetcher {
		if s.Bingo == nil {
			return newBingo(DefaultBingo())
		}
		return newBingo(*s.Bingo)
	},
}

func prefetcherNames() string { return strings.Join(slices.Sorted(maps.Keys(Prefetchers)), ", ") }
