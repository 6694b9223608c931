//go:build amd64 && !purego

package prefetch

import "unsafe"

// Lines asks for the n lines of 64 bytes from that of p on. It does not wait for them.
//
//go:noescape
func Lines(p unsafe.Pointer, n int)
