package interp_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Elements that are shifted to the right and added to what was there.
func ExampleRunGraph() {
	n := lattice.Sym("N")
	space := lattice.NewSpace()
	if err := space.Declare("N", lattice.Const(1), lattice.Expr{}, false); err != nil {
		fmt.Println(err)
		return
	}
	b := tdfg.NewBuilder("shift", tdfg.Scope{Space: space, Dims: 1,
		Arrays: []*tdfg.Array{{Name: "A", Type: scalar.Int32, Size: []lattice.Expr{n}, Axes: []int{0}}}})
	a := b.Tensor(0, lattice.Rect{lattice.Upto(n)})
	b.Store(b.Compute(scalar.Add, a, b.Move(a, 0, lattice.Const(1))), 0)
	g, err := b.Finish()
	if err != nil {
		fmt.Println(err)
		return
	}
	m := memory.New()
	array := m.Add("A", scalar.Int32, []int64{5}, []scalar.Value{1, 10, 100, 1000, 10000})
	err = interp.RunGraph(context.Background(), g, map[string]int64{"N": 5}, m, interp.Options{})
	fmt.Println(array.Elems, err)
	// Output:
	// [1 11 110 1100 11000] <nil>
}
