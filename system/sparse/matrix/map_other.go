//go:build !unix

package matrix

import (
	"errors"
	"os"
)

// mapFile is there on Unix only; others read.
func mapFile(*os.File, int64) ([]byte, error) { return nil, errors.ErrUnsupported }
