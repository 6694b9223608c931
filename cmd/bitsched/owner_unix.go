//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// writable reports why a regular file must not be replaced: others own it, and it is
// read-only, or it may not be written at all. To root everything is writable.
func writable(path string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() && info.Mode().Perm()&0o222 == 0 {
		return errors.New("is a read-only file of another owner")
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return cause(err)
	}
	return f.Close()
}
