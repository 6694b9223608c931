package stream

import "github.com/bitsched/bitsched/lattice"

// symbolRange returns the values of a symbol as "[4,inf)".
func symbolRange(s lattice.Symbol) string {
	if !s.Bounded {
		return "[" + s.Lo.String() + ",inf)"
	}
	return "[" + s.Lo.String() + "," + s.Hi.Plus(1).String() + ")"
}
