package potential_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/benchmarks/potential"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// How many of the micro-ops of a loop belong to streams.
func ExampleMicroOps() {
	g, err := stream.Parse(`graph scale
array A fp32[1024]
for i in [0,1024) {
	rmw a: A[i] = mul(@, @)
}
`, "scale.sdfg")
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := potential.MicroOps(context.Background(), &potential.Program{Graph: g, Memory: stream.Memory{"A": make([]scalar.Value, 1024)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.Load, o.Store, o.Other)
	// Output:
	// 0 192 192
}
