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

// Prefetchers are those that a cache may have.
var Prefetchers = map[string]func() Prefetcher{
	"ip_stride": func() Prefetcher { return &ipStride{} },
	"stride":    func() Prefetcher { return newStride(DefaultStride()) },
	"bingo":     func() Prefetcher { return newBingo(DefaultBingo()) },
}

func prefetcherNames() string { return strings.Join(slices.Sorted(maps.Keys(Prefetchers)), ", ") }
