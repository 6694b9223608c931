package superopt_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/lowering/arith/superopt"
	"github.com/bitsched/bitsched/sram"
)

// A bit of a comparison takes two instructions, since what the bitlines give is
// symmetric in the two rows.
func ExampleNeuralBody_Search() {
	a, b, carry := superopt.Var(0), superopt.Var(1), superopt.Var(2)
	body := superopt.NeuralBody{
		Vars: 3,
		Rows: []superopt.Place{
			{Name: "a", Start: &a, Fixed: true},
			{Name: "b", Start: &b, Fixed: true},
			{Name: "t"},
		},
		Carry: superopt.Place{Start: &carry, Goal: superopt.Known(superopt.Maj(a, ^b, carry))},
	}
	r, err := body.Search(context.Background(), 4, 1e6)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range r.Code {
		fmt.Println(sram.NeuralCache.Ops[m.Op].Name)
	}
	fmt.Println("at least", r.AtRest)
	// Output:
	// not
	// add
	// at least 2
}
