package egraph_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/egraph"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Twice a move of the same distance is a move of a sum, once.
func ExampleOptimize() {
	n := lattice.Const(64)
	scope := tdfg.Scope{Space: lattice.NewSpace(), Dims: 1, Arrays: []*tdfg.Array{
		{Name: "A", Type: scalar.Int32, Size: []lattice.Expr{n}, Axes: []int{0}},
		{Name: "B", Type: scalar.Int32, Size: []lattice.Expr{n}, Axes: []int{0}},
		{Name: "C", Type: scalar.Int32, Size: []lattice.Expr{n}, Axes: []int{0}},
	}}
	b := tdfg.NewBuilder("moves", scope)
	all := lattice.Rect{lattice.Upto(n)}
	x := b.Move(b.Tensor(0, all), 0, lattice.Const(1))
	y := b.Move(b.Tensor(1, all), 0, lattice.Const(1))
	b.Store(b.Compute(scalar.Add, x, y), 2)
	g, err := b.Finish()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, stats, err := egraph.Optimize(context.Background(), g, egraph.Options{Cost: egraph.DefaultCost(1 << 20)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stats.Stop, stats.Before.Moves, "moves before,", stats.After.Moves, "after")
	// Output:
	// saturated 2 moves before, 1 after
}
