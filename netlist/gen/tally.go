package gen

// tally is an upper bound on the gates of a circuit, by what they are, for the
// size check and for reserving memory in one piece. Counts are 64-bit since the
// bound of an oversized circuit must not overflow.
type tally struct {
	inputs int64
	and    int64 // And, Or
	xor    int64 // two-input Xor
	mux    int64
	maj    int64 // Maj alone
	full   int64 // full adder
	half   int64 // half adder
	cell   int64 // operator of a prefix adder: two Maj, or three And
}

// nodes is the number of nodes of the network, the constant included.
func (t tally) nodes(andInverter bool) int64 {
	if andInverter {
		return 1 + t.inputs + t.and + 3*t.xor + 3*t.mux + 4*t.maj + 7*t.full + 3*t.half + 3*t.cell
	}
	return 1 + t.inputs + t.and + t.xor + t.mux + t.maj + 2*t.full + 2*t.half + 2*t.cell
}

// plus adds two bounds.
func (t tally) plus(u tally) tally {
	return tally{t.inputs + u.inputs, t.and + u.and, t.xor + u.xor, t.mux + u.mux, t.maj + u.maj,
		t.full + u.full, t.half + u.half, t.cell + u.cell}
}
