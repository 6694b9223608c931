package arith_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/lowering/arith"
)

// A program is built once and run on as many words as there are.
func ExampleRun() {
	ctx := context.Background()
	p, err := arith.Build(ctx, arith.Spec{Op: "int32.add", Tech: "neural-cache"})
	if err != nil {
		fmt.Println(err)
		return
	}
	sums := make([]uint32, 3)
	if err := arith.Run(ctx, p, 1, sums, []uint32{1, 2, 3}, []uint32{10, 20, 30}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sums, "in", p.Latency(), "cycles")
	// Output: [11 22 33] in 33 cycles
}
