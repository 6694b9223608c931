package scalar_test

import (
	"fmt"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

func ExampleEval() {
	sum := scalar.Eval(scalar.Add, scalar.Int8, scalar.FromInt(scalar.Int8, 127), scalar.FromInt(scalar.Int8, 1))
	fmt.Println("127 + 1 =", scalar.Format(scalar.Int8, sum))

	third := scalar.Eval(scalar.Div, scalar.FP16, scalar.FromFloat(scalar.FP16, 1), scalar.FromFloat(scalar.FP16, 3))
	fmt.Printf("1 / 3 = %v, %#x\n", scalar.ToFloat(scalar.FP16, third), third)
	// Output:
	// 127 + 1 = -128
	// 1 / 3 = 0.333251953125, 0x3555
}
