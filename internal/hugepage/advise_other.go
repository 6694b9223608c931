//go:build !linux

package hugepage

// advise does nothing here.
func advise([]byte) {}
