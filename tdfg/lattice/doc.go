// Package lattice is the geometry of tensors: points of the global lattice space
// (Infinity Stream, section 3.2), boxes of them, and boxes whose bounds are not
// known yet.
//
// A [Box] is a hyperrectangle [Lo, Hi) of integer coordinates. A [Rect] is one
// whose bounds are affine expressions, [Expr], of symbols: sizes of arrays and
// variables of loops. A [Space] has the symbols with their ranges, decides what it
// can of such bounds ("is N-2 at most N for every N?") and says so where it can
// not; it never guesses.
//
// Dimension 0 is the innermost one, contiguous in memory.
//
//	s := lattice.NewSpace()
//	s.Declare("N", lattice.Const(4), lattice.Expr{}, false)       // 4 <= N
//	a := lattice.Rect{{lattice.Const(0), lattice.Sym("N").Plus(-2)}}
//	b, err := s.Intersect(a, lattice.Rect{{lattice.Const(1), lattice.Sym("N")}}) // [1, N-2)
package lattice
