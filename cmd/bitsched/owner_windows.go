package main

import (
	"io/fs"
	"os"
)

// writable reports why a regular file must not be replaced.
func writable(path string, _ fs.FileInfo) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return cause(err)
	}
	return f.Close()
}
