package prefetch

import (
	"testing"
	"unsafe"
)

// TestLines asks for lines within and beyond what is allocated: neither faults.
func TestLines(t *testing.T) {
	b := make([]byte, 64)
	for _, n := range []int{0, 1, 2, 1 << 12} {
		Lines(unsafe.Pointer(&b[0]), n)
	}
	for i := range b {
		if b[i] != 0 {
			t.Fatalf("byte %d is %d, expected 0", i, b[i])
		}
	}
}
