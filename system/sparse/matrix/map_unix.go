//go:build unix

package matrix

import (
	"os"
	"syscall"
)

// mapFile is the contents of a file as memory of which the system may give pages back
// when it runs short. Writes to it do not reach the file. It stays until the program
// ends, as matrices do.
func mapFile(f *os.File, size int64) ([]byte, error) {
	return syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
}
