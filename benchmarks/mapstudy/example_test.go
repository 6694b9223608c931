package mapstudy_test

import (
	"fmt"

	"github.com/bitsched/bitsched/benchmarks/mapstudy"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// Steps of a convolution on crossbars, by two ways to lay its filters out.
func ExampleComputeOnly() {
	p, err := platform.Load("mvm-reram")
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, _, err := mapstudy.ComputeOnly(p, dnn.Table4Operators(dnn.DefaultBits))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rows[:2] {
		fmt.Printf("%s: %d crossbars and %d steps, against %d and %d\n", r.Operator, r.Baseline, r.Before, r.Im2col, r.After)
	}
	// Output:
	// C0: 98 crossbars and 50176 steps, against 4 and 784
	// C1: 18 crossbars and 12544 steps, against 10 and 502
}
