package masim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/internal/position"
)

// SyntaxError says where a matrix of distances is wrong, and what was expected.
type SyntaxError = position.Error

// ReadDistances reads a matrix of distances between arrays for
// [Options.Distance]: a line for each source array with a number for each
// destination, separated by blanks; # starts a comment. The diagonal does not
// matter. It must have at least as many rows and columns as there are arrays;
// what is wrong with the text is a
// [*SyntaxError].
func ReadDistances(r io.Reader, file string, arrays int) ([][]float64, error) {
	var d [][]float64
	fail := func(line int, format string, args ...any) error {
		return &SyntaxError{File: file, Line: line, Msg: fmt.Sprintf(format, args...)}
	}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxDistanceLine)
	line := 0
	for sc.Scan() {
		line++
		text, _, _ := strings.Cut(sc.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		row := make([]float64, len(fields))
		for i, f := range fields {
			x, err := strconv.ParseFloat(f, 64)
			if err != nil || x < 0 || x > maxDistance || math.IsNaN(x) {
				return nil, fail(line, "distance %.40q, expected a number from 0 to %d", f, maxDistance)
			}
			row[i] = x
		}
		if len(d) > 0 && len(row) != len(d[0]) {
			return nil, fail(line, "%d distances, expected %d as in the first row", len(row), len(d[0]))
		}
		d = append(d, row)
	}
	switch err := sc.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fail(line+1, "line of more than %d bytes, expected a row of distances", maxDistanceLine)
	case err != nil:
		return nil, fmt.Errorf("%s:%d: %w", file, line+1, err)
	}
	if len(d) == 0 {
		return nil, fail(1, "no distances, expected a matrix of %d x %d", arrays, arrays)
	}
	if len(d) != len(d[0]) || len(d) < arrays {
		return nil, fail(line, "a matrix of %d x %d, expected at least %d x %d for the arrays", len(d), len(d[0]), arrays, arrays)
	}
	return d, nil
}

// maxDistanceLine is the most bytes of a line, enough for all arrays that there can be.
const maxDistanceLine = 1 << 20

// maxDistance keeps sums of copy costs small enough for whole numbers.
const maxDistance = 1000
