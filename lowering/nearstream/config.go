package nearstream

import (
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// Bits of the fields of a configuration (table IV). Strides and lengths are those of three
// loops; arguments and their sizes those of eight inputs. A constant argument has the size
// of its type.
const (
	coreBits    = 6  // cid
	streamBits  = 4  // sid
	addressBits = 48 // base, strd, ptbl, iter, len, fptr
	sizeBits    = 8  // of an element
	typeBits    = 4  // of the computation
	retBits     = 3
	argBits     = 3 // size of an argument, as a power of two
)

// affineBits are the fields of an affine pattern.
const affineBits = coreBits + streamBits + addressBits + stream.MaxDims*addressBits + addressBits + addressBits + sizeBits + stream.MaxDims*addressBits

// indirectBits are the fields of an indirect pattern.
const indirectBits = streamBits + addressBits + sizeBits

// chaseBits are the fields of a pattern that chases pointers, of which table IV has no row: those of an
// affine one without strides and lengths, as its addresses follow from the pointer, which is the
// base, and its end from a condition.
const chaseBits = coreBits + streamBits + addressBits + addressBits + addressBits + sizeBits

// ConfigBits is how many bits the message has that configures a stream at the L3 (table IV):
// its own pattern and computation, and the pattern of each stream that it sends its
// elements to, which says where they go. plan is the one that the stream is of.
func (s *Stream) ConfigBits(plan *Plan) int {
	bits := s.patternBits() + s.computeBits(MaxInputs)
	for _, t := range plan.Streams {
		if t.Place != Near {
			continue
		}
		for _, in := range t.Inputs {
			if in == s && t.Array != "" && s.Address != PointerChasing {
				bits += t.patternBits()
			}
		}
	}
	return bits
}

// ConfigBytes is the same in whole bytes.
func (s *Stream) ConfigBytes(plan *Plan) int { return (s.ConfigBits(plan) + 7) / 8 }

// ValueBytes is how many of these are values that the loop does not change, and that may be others when it
// is configured again.
func (s *Stream) ValueBytes() int { return s.Invariants * scalar.Int64.Bytes() }

// computeBits are the fields of the computation, with so many arguments.
func (s *Stream) computeBits(args int) int {
	if len(s.Ops) == 0 && s.Kind == stream.Load {
		return 0
	}
	bits := typeBits + retBits + args*(streamBits+argBits) + s.Invariants*scalar.Int64.Bits()
	if !s.Scalar() {
		bits += addressBits // fptr
	}
	return bits
}

// ChaseBytes is how many bytes configure a loop that chases pointers, which goes from bank to bank
// as one: the pattern once, a member of what the pointer points to for each further load, as of an
// indirect one, and the computations with the arguments that they take. What they give each other
// does not leave the bank, so that no pattern says where it goes.
func ChaseBytes(streams []*Stream) int {
	bits := 0
	for i, s := range streams {
		switch {
		case i == 0:
			bits += chaseBits
		case s.Array != "":
			bits += indirectBits
		default:
			bits += streamBits
		}
		bits += s.computeBits(min(len(s.Inputs)+s.Invariants+1, MaxInputs))
	}
	return (bits + 7) / 8
}

// patternBits are those of the address pattern, without that of the stream that an indirect
// one follows from, which is configured with it.
func (s *Stream) patternBits() int {
	switch {
	case s.Address == Indirect:
		return indirectBits
	case s.Address == PointerChasing:
		return chaseBits
	}
	return affineBits
}

// StillBytes is how many bytes the message has that configures an affine load whose element is an
// operand of all iterations of a row: its own pattern, and that of the stream that takes it.
func (p *Plan) StillBytes() int { return (2*affineBits + 7) / 8 }
