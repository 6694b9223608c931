package main

import (
	"errors"
	"fmt"
	"path"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPackageNames sees that the names of all packages are known that the command
// uses itself.
func TestPackageNames(t *testing.T) {
	for _, name := range mayImport()["cmd/bitsched"] {
		require.Contains(t, packageNames, path.Base(name))
	}
}

func TestPlain(t *testing.T) {
	for _, c := range []struct{ err, want string }{
		{"sram: 3 rows, expected 4", "bitsched: 3 rows, expected 4"},
		{"masim: verify: sram: instruction 3 (maj): no", "bitsched: verify: instruction 3 (maj): no"},
		{"bitsched: arith: int8.add: sram: 9 cells", "bitsched: int8.add: 9 cells"},
		{"bitsched ops: arith: xmg: no", "bitsched ops: no"},
		{"arith.v:3: no gate, expected xmg: or so", "arith.v:3: no gate, expected xmg: or so"},
		{"gen.blif:1: empty", "gen.blif:1: empty"},
		{"two\n\tlines", "two; lines"},
		{"a \x1b[31mred\x07 \xff file: é \ufffd", `a \x1b[31mred\a \xff file: é ` + "\ufffd"},
	} {
		require.Equal(t, c.want, plain(errors.New(c.err)))
	}
	require.Equal(t, "no", reason(fmt.Errorf("sram: %w", errors.New("no"))))
}
