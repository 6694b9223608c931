package gen_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/netlist/gen"
)

func ExampleBuild() {
	n, err := gen.Build(context.Background(), "adder", gen.Options{Width: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(n.NumInputs(), "inputs,", n.NumOutputs(), "outputs,", n.NumGates(), "gates")
	// Output:
	// 16 inputs, 9 outputs, 16 gates
}
