//go:build !linux

package hugepage

// advise does nothing here.
func advise([]byte) {}

// collapse does nothing here.
func collapse(uintptr) {}
