package benchmarks

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestReadRows(t *testing.T) {
	rows, err := ReadRows(strings.NewReader("# sizes\nadder 256\n\n  log2\t64  # small\r\nx 1"), "rows.txt")
	require.NoError(t, err)
	require.Equal(t, map[string]int{"adder": 256, "log2": 64, "x": 1}, rows)

	for text, want := range map[string]string{
		"a 1\nadder":               `rows.txt:2: 1 words, expected NAME ROWS`,
		"adder 1 2":                `rows.txt:1: 3 words, expected NAME ROWS`,
		"adder x":                  `rows.txt:1: rows "x", expected a number from 1 to `,
		"adder 0":                  `rows.txt:1: rows "0", expected a number from 1 to `,
		"adder -4":                 `rows.txt:1: rows "-4", expected`,
		"adder 99999999999999":     `rows.txt:1: rows "99999999999999", expected`,
		"a 1\n#\na 2":              `rows.txt:3: "a" is on line 1 already`,
		strings.Repeat("x", 1<<20): `rows.txt:1: line of more than 65536 bytes, expected NAME ROWS`,
	} {
		_, err := ReadRows(strings.NewReader(text), "rows.txt")
		require.Error(t, err)
		require.True(t, strings.HasPrefix(err.Error(), want), "%v", err)
	}
	broken := errors.New("broken")
	_, err = ReadRows(iotest.ErrReader(broken), "rows.txt")
	require.ErrorIs(t, err, broken)
}
