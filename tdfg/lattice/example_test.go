package lattice_test

import (
	"fmt"

	"github.com/bitsched/bitsched/tdfg/lattice"
)

// Where A[i] and A[i+2] both are, for an array of any size from 4 on.
func ExampleSpace_Intersect() {
	s := lattice.NewSpace()
	if err := s.Declare("N", lattice.Const(4), lattice.Expr{}, false); err != nil {
		fmt.Println(err)
		return
	}
	here := lattice.Rect{lattice.Upto(lattice.Sym("N"))}
	moved := lattice.Rect{{Lo: lattice.Const(-2), Hi: lattice.Sym("N").Plus(-2)}}
	both, err := s.Intersect(here, moved)
	fmt.Println(both, err)

	_, err = s.Min(lattice.Sym("N"), lattice.Const(100))
	fmt.Println(err)
	// Output:
	// [0,N-2) <nil>
	// lattice: cannot tell whether N or 100 is less: bind their sizes, or give them bounds
}
