package benchmarks

import (
	"errors"
	"strings"
	"testing"

	"github.com/bitsched/bitsched/sram"
)

// FuzzReadRows holds what is accepted to rows that an array may have, and what is
// refused to an error with a place.
func FuzzReadRows(f *testing.F) {
	f.Add("adder 64\nsin 256 # both\n")
	f.Add("a 0\n")
	f.Add("a 1\na 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := ReadRows(strings.NewReader(text), "f")
		var e *SyntaxError
		if err != nil && (!errors.As(err, &e) || e.Line < 1) {
			t.Fatalf("an error without a place: %v", err)
		}
		for name, n := range rows {
			if name == "" || n < 1 || n > sram.MaxRows {
				t.Fatalf("%q has %d rows", name, n)
			}
		}
	})
}
