package multicore_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
)

// A sum on one core, compared with what the graph means.
func ExampleRun() {
	g, err := stream.Parse(`graph total
array A int32[4]
array S int32[1]
for i in [0,4) {
	reduce sum: A[i] over i from int32(0) = add(sum, @)
}
store out: S[0] = sum
`, "total.sdfg")
	if err != nil {
		fmt.Println(err)
		return
	}
	p := &multicore.Program{Graph: g, Memory: stream.Memory{"A": {1, 2, 3, 4}, "S": {0}}}
	before := stream.Memory{"A": {1, 2, 3, 4}, "S": {0}}
	o := multicore.Options{Machine: tile.Default(), Threads: 1}
	report, err := multicore.Run(context.Background(), p, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	verdict, err := multicore.Check(context.Background(), p, before, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Memory["S"][0], "by", report.MicroOps, "micro-ops;", verdict.Equal, "of", verdict.Elements, "elements equal")
	// Output:
	// 10 by 22 micro-ops; 5 of 5 elements equal
}
