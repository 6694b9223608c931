package tdfg_test

import (
	"fmt"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// B[i] = A[i-1] + A[i+1] for 1 <= i < N-1.
func ExampleBuilder() {
	n := lattice.Sym("N")
	space := lattice.NewSpace()
	if err := space.Declare("N", lattice.Const(2), lattice.Expr{}, false); err != nil {
		fmt.Println(err)
		return
	}
	scope := tdfg.Scope{Space: space, Dims: 1, Arrays: []*tdfg.Array{
		{Name: "A", Type: scalar.Int32, Size: []lattice.Expr{n}, Axes: []int{0}},
		{Name: "B", Type: scalar.Int32, Size: []lattice.Expr{n}, Axes: []int{0}},
	}}
	b := tdfg.NewBuilder("neighbours", scope)
	left := b.Move(b.Tensor(0, lattice.Rect{{Lo: lattice.Const(0), Hi: n.Plus(-2)}}), 0, lattice.Const(1))
	right := b.Move(b.Tensor(0, lattice.Rect{{Lo: lattice.Const(2), Hi: n}}), 0, lattice.Const(-1))
	b.Store(b.Compute(scalar.Add, left, right), 1)
	g, err := b.Finish()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(g)
	// Output:
	// graph neighbours dims 1
	// symbol N in [2,inf)
	// array A int32[N] on 0
	// array B int32[N] on 0
	// %0 = tensor A [0,N-2)                    # int32 [0,N-2)
	// %1 = mv %0 dim 0 dist 1                  # int32 [1,N-1)
	// %2 = tensor A [2,N)                      # int32 [2,N)
	// %3 = mv %2 dim 0 dist -1                 # int32 [1,N-1)
	// %4 = cmp add %1 %3                       # int32 [1,N-1)
	// store %4 B
}
