package search_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
	"github.com/bitsched/bitsched/lowering/mapping/search"
)

// The best mapping of a small product, which is proved to be so.
func ExampleOptimizer() {
	ctx := context.Background()
	p, err := platform.Load("logic-sram")
	if err != nil {
		fmt.Println(err)
		return
	}
	op, err := dnn.Parse("gemm:M=2,K=5,N=2", dnn.DefaultBits)
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := mapping.New(ctx, op, p, mapping.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := search.Lookup("bitsched")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := o.Search(ctx, q, search.Options{Evals: 300, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Found, q.Check(&r.Mapping), r.Cost.Cycles >= q.LowerBound().Cycles, r.Evaluations <= 300)
	// Output:
	// true <nil> true true
}
