package masim

import (
	"errors"
	"strings"
	"testing"
)

// FuzzReadDistances holds what is accepted to a square of numbers in range, and what is
// refused to an error with a place.
func FuzzReadDistances(f *testing.F) {
	f.Add("0 1 2\n1 0 1.5 # near\n2 1 0\n")
	f.Add("0 1\n")
	f.Add("0 1e3\n-1 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ReadDistances(strings.NewReader(text), "f", 2)
		var e *SyntaxError
		if err != nil {
			if !errors.As(err, &e) || e.Line < 1 {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		if len(d) < 2 {
			t.Fatalf("%d rows for 2 arrays", len(d))
		}
		for _, row := range d {
			if len(row) != len(d) {
				t.Fatalf("a row of %d in a matrix of %d", len(row), len(d))
			}
			for _, x := range row {
				if !(x >= 0 && x <= maxDistance) {
					t.Fatalf("distance %v", x)
				}
			}
		}
	})
}
