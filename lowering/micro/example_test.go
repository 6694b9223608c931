package micro_test

import (
	"fmt"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

// Micro-ops of an iteration of a loop, scalar and with registers of 64 bytes.
func ExampleNew() {
	g, err := stream.Parse(`graph add
array A fp32[64]
array B fp32[64]
for i in [0,64) {
	load a: A[i]
	rmw b: B[i] = add(@, a)
}
`, "add.sdfg")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, vector := range []int{0, 64} {
		m := stream.Memory{"A": make([]scalar.Value, 64), "B": make([]scalar.Value, 64)}
		p, err := micro.New(g, m, stream.Args{}, micro.Options{Threads: 1, Vector: vector})
		if err != nil {
			fmt.Println(err)
			return
		}
		var b uop.Batch
		if _, err := p.Threads()[0].Next(&b, 1000); err != nil {
			fmt.Println(err)
			return
		}
		var loads int
		for _, op := range b.Ops {
			if op.Kind == uop.Load {
				loads++
			}
		}
		fmt.Println(loads, "loads of", len(b.Ops), "micro-ops")
	}
	// Output:
	// 128 loads of 448 micro-ops
	// 8 loads of 28 micro-ops
}
