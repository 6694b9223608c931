package invariants

import "math/rand/v2"

// Pick returns a number from 0 to n-1: always usual where nothing is shuffled, else
// another one each time. What it is used for must not change any result.
func Pick(n, usual int) int {
	if !Enabled {
		return usual
	}
	return rand.IntN(n)
}

// Draws is how many cases a test takes: few of them, or where the checks are compiled in,
// and so in a run of all tests that is to be thorough and not quick, more.
func Draws(few, more int) int {
	if Enabled {
		return more
	}
	return few
}
