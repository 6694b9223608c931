package mapping_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// A product of matrices, one multiplication after the other on one unit: the price, by
// the closed form and by a clock, and the result, bit by bit.
func ExampleProblem() {
	ctx := context.Background()
	p, err := platform.Load("logic-sram")
	if err != nil {
		fmt.Println(err)
		return
	}
	op, err := dnn.NewGEMM("product", 1, 2, 3, 4, true, dnn.DefaultBits)
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := mapping.New(ctx, op, p, mapping.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := mapping.Unit()
	q.Complete(&m)
	var c mapping.Cost
	if v := q.Cost(&m, &c); v != mapping.Legal {
		fmt.Println(v)
		return
	}
	clocked, err := q.Clock(ctx, &m)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Waves, "waves", clocked.Cycles == c.Cycles, c.Cycles >= q.LowerBound().Cycles)
	// Output:
	// 24 waves true true
}
