//go:build !amd64 || purego

package prefetch

import "unsafe"

// Lines does nothing here.
func Lines(unsafe.Pointer, int) {}
