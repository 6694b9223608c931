package plan_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/plan"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// A product of matrices is mapped, executed and compared.
func ExampleMap() {
	op, err := dnn.Parse("gemm:M=2,K=5,N=2", dnn.DefaultBits)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := platform.Load("logic-sram")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	r, err := plan.Map(ctx, ctx, dnn.Single(op), p, plan.Options{Evals: 100, Seed: 1, Threads: 1, Execute: "gate"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Outputs, "of", r.All, "outputs compared; at the bound:", r.Cycles == r.Bound)
	// Output:
	// 4 of 4 outputs compared; at the bound: false
}
