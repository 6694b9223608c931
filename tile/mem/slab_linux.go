package mem

import (
	"syscall"
	"unsafe"
)

// largePages asks for large pages. That there may be none changes nothing but speed.
func largePages(at unsafe.Pointer, bytes int) {
	page := uintptr(syscall.Getpagesize())
	skip := -uintptr(at) & (page - 1)
	if n := (uintptr(bytes) - skip) &^ (page - 1); uintptr(bytes) > skip && n > 0 {
		const hugePage = 14 // MADV_HUGEPAGE
		_ = syscall.Madvise(unsafe.Slice((*byte)(unsafe.Add(at, skip)), n), hugePage)
	}
}
