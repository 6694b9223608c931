package benchmarks

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/internal/position"
	"github.com/bitsched/bitsched/sram"
)

// SyntaxError says where a file of this package is wrong, and what was expected.
type SyntaxError = position.Error

// ReadRows reads a rows file: the rows of an array for each circuit, as NAME
// ROWS on a line each. `#` starts a comment. What is wrong with the text is
// a [*SyntaxError].
func ReadRows(r io.Reader, file string) (map[string]int, error) {
	rows := map[string]int{}
	at := map[string]int{}
	s := bufio.NewScanner(r)
	line := 0
	fail := func(format string, args ...any) (map[string]int, error) {
		return nil, &SyntaxError{File: file, Line: line, Msg: fmt.Sprintf(format, args...)}
	}
	for s.Scan() {
		line++
		text, _, _ := strings.Cut(s.Text(), "#")
		f := strings.Fields(text)
		switch {
		case len(f) == 0:
			continue
		case len(f) != 2:
			return fail("%d words, expected NAME ROWS", len(f))
		}
		n, err := strconv.Atoi(f[1])
		if err != nil || n < 1 || n > sram.MaxRows {
			return fail("rows %.40q, expected a number from 1 to %d", f[1], sram.MaxRows)
		}
		if first := at[f[0]]; first > 0 {
			return fail("%q is on line %d already", f[0], first)
		}
		rows[f[0]], at[f[0]] = n, line
	}
	if err := s.Err(); err != nil {
		line++
		if errors.Is(err, bufio.ErrTooLong) {
			return fail("line of more than %d bytes, expected NAME ROWS", bufio.MaxScanTokenSize)
		}
		return nil, fmt.Errorf("%s:%d: %w", file, line, err)
	}
	return rows, nil
}
